# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#
# A test of internals (links libibal-core and Check) is one line:
#     check_PROGRAMS += test/unit/al/object/handle_test
# A test of the public API never links the internals:
#     check_PROGRAMS += test/unit/al/verbs/qp_test
#     test_unit_al_verbs_qp_test_LDADD = $(API_LIBS)
# A script is named in dist_check_SCRIPTS; one too long for "make check" in LONG_TESTS instead.
# Programs that tests run, and that are no tests themselves, go to noinst_PROGRAMS.

API_LIBS = libibal.la $(CHECK_LIBS) $(GLIB_LIBS)
TEST_EXTENSIONS = .sh .py .role
TESTS = $(check_PROGRAMS) $(dist_check_SCRIPTS) $(ROLE_TESTS)
EXTRA_DIST += test/tally $(LONG_TESTS)

# The tests see this build and nothing of the machine: no agent, no installed modules, providers or configuration.
# Check's own limit for one test is for what hangs, not for a machine that is busy; TEST_TIMEOUT_SCALE multiplies it,
# and ours for one event. ThreadSanitizer would wait a second at the end of each process with threads, of which each test is one.
AM_TESTS_ENVIRONMENT = \
	IBAL_AGENT=off; export IBAL_AGENT; \
	IBAL_UVP_PATH=; export IBAL_UVP_PATH; \
	IBAL_MODULE_PATH='$(abs_top_builddir)/hca/soft/.libs'; export IBAL_MODULE_PATH; \
	IBAL_UVP_PATH=; export IBAL_UVP_PATH; \
	IBAL_CONF=; export IBAL_CONF; \
	IBAL_PCI_DUMP='$(abs_top_srcdir)/test/data/pci/no-adapter.dump'; export IBAL_PCI_DUMP; \
	TEST_TIMEOUT_SCALE=$${TEST_TIMEOUT_SCALE-$(timeout_scale)}; export TEST_TIMEOUT_SCALE; \
	CK_DEFAULT_TIMEOUT=120; export CK_DEFAULT_TIMEOUT; \
	CK_TIMEOUT_MULTIPLIER=$$TEST_TIMEOUT_SCALE; export CK_TIMEOUT_MULTIPLIER; \
	CK_VERBOSITY=normal; export CK_VERBOSITY; \
	TSAN_OPTIONS=$${TSAN_OPTIONS-atexit_sleep_ms=10:suppressions=$(abs_top_srcdir)/test/data/tsan.supp}; export TSAN_OPTIONS; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; SANITIZE='$(build_cflags)'; export SANITIZE;

include test/modules/local.mk
include test/unit/ci/local.mk
include test/unit/al/verbs/local.mk
include test/unit/al/connect/local.mk
include test/unit/al/object/local.mk
include test/unit/al/event/local.mk
include test/unit/al/mgmt/local.mk
include test/unit/mad/local.mk
include test/unit/topo/local.mk
include test/unit/al/library/local.mk
include test/soak/local.mk

# Small bugs in all of the tree, one at a time: the tests find each.
LONG_TESTS += test/e2e/mutants.sh
EXTRA_DIST += test/mutants/run $(wildcard $(srcdir)/test/mutants/*.txt)
# What tests load and start, without the tests.
test-loads: $(BUILT_SOURCES) $(lib_LTLIBRARIES) $(module_LTLIBRARIES) $(uvp_LTLIBRARIES) $(check_LTLIBRARIES) $(sbin_PROGRAMS)

check_PROGRAMS += test/e2e/guest_test
test_e2e_guest_test_CPPFLAGS = $(AM_CPPFLAGS) -DLIBIBAL='"$(abs_top_builddir)/.libs/libibal.so.1"'
test_e2e_guest_test_LDADD = $(CHECK_LIBS)
EXTRA_test_e2e_guest_test_DEPENDENCIES = libibal.la

dist_check_SCRIPTS += test/e2e/units.sh test/e2e/systemd.sh test/e2e/headers.sh test/e2e/symbols.sh test/e2e/outside.sh \
	test/e2e/examples.sh
EXTRA_DIST += test/e2e/outside_driver.c
# They install, and libtool links installed modules anew in the build's own directories: after all others.
test/e2e/systemd.log: $(filter-out test/e2e/systemd.log test/e2e/examples_alone.log test/e2e/examples.log test/e2e/outside.log,$(TEST_LOGS))
test/e2e/examples_alone.log: $(filter-out test/e2e/examples_alone.log test/e2e/examples.log test/e2e/outside.log,$(TEST_LOGS))
test/e2e/examples.log: $(filter-out test/e2e/examples.log test/e2e/outside.log,$(TEST_LOGS))
test/e2e/outside.log: $(filter-out test/e2e/outside.log,$(TEST_LOGS))
check_PROGRAMS += test/unit/include/iba/ib_mad_test
check_PROGRAMS += test/unit/include/iba/ib_flat_wr_test test/unit/include/iba/ib_hca_test

check_PROGRAMS += test/unit/al/tools/tool_test
test_unit_al_tools_tool_test_LDADD = al/tools/libtools.la $(CHECK_LIBS) $(GLIB_LIBS)

check_PROGRAMS += test/unit/al/tools/sweep_test test/unit/al/tools/net_test
test_unit_al_tools_sweep_test_CFLAGS = $(TOOL_CFLAGS)
test_unit_al_tools_sweep_test_LDADD = al/tools/libquery.la $(TOOL_LIBS) $(CHECK_LIBS)
test_unit_al_tools_net_test_CFLAGS = $(TOOL_CFLAGS)
test_unit_al_tools_net_test_LDADD = al/tools/libquery.la $(TOOL_LIBS) $(CHECK_LIBS)

check_PROGRAMS += test/unit/al/tools/perf_stat_test
test_unit_al_tools_perf_stat_test_LDADD = al/tools/libperf.la al/tools/libtools.la $(CHECK_LIBS) $(GLIB_LIBS) -lm

dist_check_SCRIPTS += test/e2e/al_cp.sh test/e2e/al_cp_agent.sh test/e2e/al_perf.sh \
	test/e2e/al_perf_agent.sh test/e2e/al_query.sh test/e2e/al_query_agent.sh \
	test/e2e/topology.sh test/e2e/al_query_topology.sh test/e2e/laptop.sh test/e2e/al_cp_files.sh test/e2e/al_cp_holes.sh test/e2e/tools_output.sh test/e2e/tools_ports.sh test/e2e/completion.sh test/e2e/objects.sh test/e2e/port_set.sh test/e2e/options.py
EXTRA_DIST += test/e2e/tools.sh test/e2e/subnet.sh test/e2e/al_perf_report.py test/e2e/al_perf_hostile.py
check_PROGRAMS += test/unit/al/tools/query_test
test_unit_al_tools_query_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_tools_query_test_CFLAGS = $(TOOL_CFLAGS)
test_unit_al_tools_query_test_LDADD = al/tools/libquery.la $(TOOL_LIBS) $(CHECK_LIBS)
noinst_HEADERS += test/unit/al/tools/query_run.h
check_PROGRAMS += test/unit/al/tools/query_mad_test
test_unit_al_tools_query_mad_test_CFLAGS = $(TOOL_CFLAGS)
test_unit_al_tools_query_mad_test_LDADD = al/tools/libquery.la $(TOOL_LIBS) $(CHECK_LIBS)
EXTRA_test_unit_al_tools_query_mad_test_DEPENDENCIES = hca/soft/soft.la
# al_cp without its command line; the calls of the library that the test wants to fail or to lie go through it.
check_PROGRAMS += test/unit/al/tools/cp_test
test_unit_al_tools_cp_test_SOURCES = test/unit/al/tools/cp_test.c al/tools/cp_digest.c al/tools/cp_file.c al/tools/cp_meet.c \
	al/tools/cp_rdma.c al/tools/meet.c al/tools/pair.c
test_unit_al_tools_cp_test_CFLAGS = $(TOOL_CFLAGS) $(CRYPTO_CFLAGS)
test_unit_al_tools_cp_test_LDADD = $(TOOL_LIBS) $(CRYPTO_LIBS) $(CHECK_LIBS)
test_unit_al_tools_cp_test_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=al_open_ca,--wrap=al_query_ca,--wrap=al_alloc_pd,--wrap=al_dma_alloc_coherent,--wrap=al_reg_mr \
	-Wl,--wrap=al_create_cq,--wrap=al_create_qp,--wrap=al_qp_num,--wrap=al_connect_qp,--wrap=al_post_recv \
	-Wl,--wrap=al_post_send,--wrap=al_arm_cq,--wrap=al_channel_fd,--wrap=al_create_channel \
	-Wl,--wrap=al_get_ca_guids,--wrap=al_query_port,--wrap=al_poll_cq
EXTRA_test_unit_al_tools_cp_test_DEPENDENCIES = hca/soft/soft.la
check_PROGRAMS += test/unit/al/tools/query_fields_test
test_unit_al_tools_query_fields_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_tools_query_fields_test_CFLAGS = $(TOOL_CFLAGS)
test_unit_al_tools_query_fields_test_LDADD = al/tools/libquery.la $(TOOL_LIBS) $(CHECK_LIBS)

check_PROGRAMS += test/unit/al/tools/query_check_test
test_unit_al_tools_query_check_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_tools_query_check_test_CFLAGS = $(TOOL_CFLAGS)
test_unit_al_tools_query_check_test_LDADD = al/tools/libquery.la $(TOOL_LIBS) $(CHECK_LIBS)

# Destroying and removing under traffic.
check_PROGRAMS += test/e2e/life_test
test_e2e_life_test_CPPFLAGS = $(FAKE_FLAGS)
test_e2e_life_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_life_test_DEPENDENCIES = hca/soft/soft.la

# A queue pair and its region destroyed under a peer's traffic.
check_PROGRAMS += test/e2e/destroy_order_test
test_e2e_destroy_order_test_CPPFLAGS = $(FAKE_FLAGS)
test_e2e_destroy_order_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_destroy_order_test_DEPENDENCIES = hca/soft/soft.la

# The examples hotplug and fault_injection, built and run with what is installed; hotplug beside an agent in hotplug_test.
dist_check_SCRIPTS += test/e2e/examples_alone.sh
noinst_PROGRAMS += test/e2e/hotplug_test
test_e2e_hotplug_test_LDADD = al/agent/libagent.la $(API_LIBS)

# The module from which vendors begin, embedded and in an agent.
check_PROGRAMS += test/e2e/skeleton_ports_test
test_e2e_skeleton_ports_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_skeleton_ports_test_DEPENDENCIES = hca/skeleton/skeleton.la ald$(EXEEXT)

# The steps of a transfer, in the trace.
check_PROGRAMS += test/e2e/figures_test
test_e2e_figures_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_figures_test_DEPENDENCIES = hca/soft/soft.la

# Datagrams, from the public API to the wire and back.
check_PROGRAMS += test/e2e/roce_test
test_e2e_roce_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_roce_test_DEPENDENCIES = hca/soft/soft.la
check_PROGRAMS += test/e2e/datagram_test
test_e2e_datagram_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_datagram_test_DEPENDENCIES = hca/soft/soft.la

# attributes out of range in every modification
check_PROGRAMS += test/e2e/modify_test
test_e2e_modify_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_modify_test_DEPENDENCIES = hca/soft/soft.la

# the usual mistakes, each with the sentence of its refusal
check_PROGRAMS += test/e2e/mistakes_test
test_e2e_mistakes_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_mistakes_test_DEPENDENCIES = hca/soft/soft.la

# requests that fail, each with its sentence
check_PROGRAMS += test/e2e/failure_test
test_e2e_failure_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_failure_test_DEPENDENCIES = hca/soft/soft.la

# RMPP without a queue pair; the allocations are the test's own.
RMPP_BED = test/unit/al/mgmt/rmpp_bed.h al/mgmt/rmpp.c
check_PROGRAMS += test/unit/al/mgmt/rmpp_test test/unit/al/mgmt/rmpp_send_test test/unit/al/mgmt/rmpp_recv_test
test_unit_al_mgmt_rmpp_test_SOURCES = test/unit/al/mgmt/rmpp_test.c $(RMPP_BED)
test_unit_al_mgmt_rmpp_test_LDADD = $(CHECK_LIBS)
test_unit_al_mgmt_rmpp_send_test_SOURCES = test/unit/al/mgmt/rmpp_send_test.c $(RMPP_BED)
test_unit_al_mgmt_rmpp_send_test_LDADD = $(CHECK_LIBS)
test_unit_al_mgmt_rmpp_recv_test_SOURCES = test/unit/al/mgmt/rmpp_recv_test.c $(RMPP_BED)
test_unit_al_mgmt_rmpp_recv_test_LDADD = $(CHECK_LIBS)

# Every function of the API in every kind of callback.
check_PROGRAMS += test/e2e/callback_test
test_e2e_callback_test_CPPFLAGS = $(FAKE_FLAGS)
test_e2e_callback_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_callback_test_DEPENDENCIES = hca/soft/soft.la
dist_check_SCRIPTS += test/e2e/contexts.py

# Virtual time under the whole stack.
check_PROGRAMS += test/e2e/virtual_test
test_e2e_virtual_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_virtual_test_DEPENDENCIES = hca/soft/soft.la

# The API's tests once more in the user role, without providers and with them: the same programs, started by test/role.
# test/roles.txt names them all, with what is exempt; test/e2e/roles.py holds both lists together.
API_TESTS = \
	test/unit/al/compat/umad_switch_test \
	test/unit/al/compat/umad_test \
	test/unit/al/connect/connect_test \
	test/unit/al/event/async_test \
	test/unit/al/event/channel_test \
	test/unit/al/event/ladder_test \
	test/unit/al/event/pnp_test \
	test/unit/al/event/removal_test \
	test/unit/al/event/wake_test \
	test/unit/al/library/library_test \
	test/unit/al/library/open_test \
	test/unit/al/library/snapshot_test \
	test/unit/al/mgmt/agents_test \
	test/unit/al/mgmt/fabric_test \
	test/unit/al/mgmt/mad_test \
	test/unit/al/mgmt/match_test \
	test/unit/al/mgmt/send_test \
	test/unit/al/mgmt/spl_qp_test \
	test/unit/al/mgmt/sweep_test \
	test/unit/al/object/alloc_test \
	test/unit/al/object/context_test \
	test/unit/al/object/destroy_test \
	test/unit/al/object/device_test \
	test/unit/al/object/dispatcher_test \
	test/unit/al/object/order_test \
	test/unit/al/object/quiesce_test \
	test/unit/al/object/race_test \
	test/unit/al/object/reason_test \
	test/unit/al/object/strings_test \
	test/unit/al/tools/query_mad_test \
	test/unit/al/tools/query_test \
	test/unit/al/verbs/ah_test \
	test/unit/al/verbs/ca_test \
	test/unit/al/verbs/cq_resize_test \
	test/unit/al/verbs/cq_test \
	test/unit/al/verbs/check_test \
	test/unit/al/verbs/crossing_test \
	test/unit/al/verbs/handles_test \
	test/unit/al/verbs/mcast_test \
	test/unit/al/verbs/mr_test \
	test/unit/al/verbs/qp_modify_test \
	test/unit/al/verbs/qp_post_test \
	test/unit/al/verbs/qp_test \
	test/unit/al/verbs/switch_test \
	test/unit/al/verbs/wr_test \
	test/e2e/callback_test \
	test/e2e/datagram_test test/e2e/roce_test \
	test/e2e/destroy_order_test \
	test/e2e/failure_test \
	test/e2e/life_test \
	test/e2e/mistakes_test \
	test/e2e/modify_test \
	test/e2e/virtual_test
ROLE_TESTS = $(API_TESTS:=-user.role) $(API_TESTS:=-uvp.role)
ROLE_LOG_COMPILER = $(abs_top_srcdir)/test/role
%-user.role: %$(EXEEXT)
	$(AM_V_GEN)echo 'See test/role.' >$@
%-uvp.role: %$(EXEEXT)
	$(AM_V_GEN)echo 'See test/role.' >$@
CLEANFILES += $(ROLE_TESTS)
noinst_HEADERS += test/unit/al/role.h
EXTRA_DIST += test/role test/roles.txt
dist_check_SCRIPTS += test/e2e/roles.py

# Processes that share an agent.
noinst_HEADERS += test/e2e/agent.h test/e2e/agent_door.h test/e2e/agent_uvp.h
SOFT_UVP_FLAGS = -DUVP_DIR='"$(abs_top_builddir)/uvp/soft/.libs"'
check_PROGRAMS += test/e2e/agent_test
test_e2e_agent_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_agent_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
# The replacement of libibumad.
check_PROGRAMS += test/unit/al/compat/umad_test
test_unit_al_compat_umad_test_LDADD = al/compat/umad/libibumad.la $(API_LIBS)
EXTRA_test_unit_al_compat_umad_test_DEPENDENCIES = hca/soft/soft.la
check_PROGRAMS += test/unit/al/compat/umad_switch_test
test_unit_al_compat_umad_switch_test_LDADD = al/compat/umad/libibumad.la $(API_LIBS)
EXTRA_test_unit_al_compat_umad_switch_test_DEPENDENCIES = hca/soft/soft.la
dist_check_SCRIPTS += test/e2e/umad_symbols.sh test/e2e/al_run.sh test/e2e/opensm.sh test/e2e/opensm_large.sh test/e2e/diags.sh test/e2e/bad_cable.sh test/e2e/check_subnet.sh test/e2e/lanes.sh test/e2e/ibsim.sh test/e2e/sa.sh
test/e2e/al_run.log test/e2e/bad_cable.log test/e2e/lanes.log: al/compat/umad/libibumad.la al/compat/sysfs/libredirect.la al/compat/sysfs/al_sysfs al/compat/al_run ald$(EXEEXT) al_query$(EXEEXT) hca/soft/soft.la
test/e2e/bad_cable.log: al_cp$(EXEEXT)
test/e2e/lanes.log: al_perf$(EXEEXT)
test/e2e/ibsim.log: test/e2e/smp_round_trip$(EXEEXT)
test/e2e/opensm.log test/e2e/opensm_large.log test/e2e/diags.log test/e2e/ibsim.log test/e2e/sa.log: al/compat/umad/libibumad.la ald$(EXEEXT) test/e2e/subnet_client$(EXEEXT) hca/soft/soft.la
test/e2e/sa.log: test/e2e/subnet_group$(EXEEXT)
EXTRA_DIST += test/data/umad-symbols.txt
# The replacement of libibverbs, with the distribution's programs.
dist_check_SCRIPTS += test/e2e/verbs_symbols.sh test/e2e/verbs_pingpong.sh test/e2e/verbs_perftest.sh test/e2e/verbs_pyverbs.sh test/e2e/verbs_program.sh test/e2e/verbs_fabric.sh test/e2e/verbs_fault.sh test/e2e/verbs_roce.sh test/e2e/verbs_subnet.sh test/e2e/capture_subnet.sh test/e2e/verbs_guide.sh
test/e2e/verbs_symbols.log: al/compat/verbs/libibverbs.la
test/e2e/verbs_roce.log: uvp/soft/soft.la
test/e2e/verbs_subnet.log test/e2e/capture_subnet.log: al/compat/umad/libibumad.la
test/e2e/verbs_roce.log test/e2e/verbs_subnet.log test/e2e/capture_subnet.log test/e2e/verbs_pingpong.log test/e2e/verbs_perftest.log test/e2e/verbs_fabric.log test/e2e/verbs_fault.log test/e2e/verbs_guide.log: al/compat/verbs/libibverbs.la al/compat/sysfs/libredirect.la al/compat/sysfs/al_sysfs al/compat/al_run ald$(EXEEXT) al_query$(EXEEXT) hca/soft/soft.la
test/e2e/verbs_pyverbs.log test/e2e/verbs_program.log: al/compat/verbs/libibverbs.la ald$(EXEEXT) hca/soft/soft.la uvp/soft/soft.la
EXTRA_DIST += test/data/verbs-symbols.txt test/e2e/verbs.sh test/e2e/verbs_program.c test/e2e/verbs_cases.py
dist_check_SCRIPTS += test/e2e/vendor_mad.sh
test/e2e/vendor_mad.log: doc/examples/vendor_mad/vendor_mad$(EXEEXT) ald$(EXEEXT) hca/soft/soft.la
check_PROGRAMS += test/e2e/agent_mad_test
test_e2e_agent_mad_test_SOURCES = test/e2e/agent_mad_test.c test/e2e/agent_mads.h al/protocol/protocol.c
test_e2e_agent_mad_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_agent_mad_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_mad_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/idle_test
test_e2e_idle_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_idle_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_idle_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/agent_log_test
test_e2e_agent_log_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_log_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/agent_ahead_test
test_e2e_agent_ahead_test_SOURCES = test/e2e/agent_ahead_test.c test/e2e/agent_mads.h al/protocol/protocol.c
test_e2e_agent_ahead_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_agent_ahead_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_ahead_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/agent_switch_test
test_e2e_agent_switch_test_SOURCES = test/e2e/agent_switch_test.c al/protocol/protocol.c
test_e2e_agent_switch_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_agent_switch_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_switch_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/agent_kill_test
test_e2e_agent_kill_test_SOURCES = test/e2e/agent_kill_test.c al/protocol/protocol.c
test_e2e_agent_kill_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_agent_kill_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_agent_kill_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
# The software HCA's own provider.
check_PROGRAMS += test/e2e/uvp_soft_test
test_e2e_uvp_soft_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_uvp_soft_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_uvp_soft_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/uvp_arm_test
test_e2e_uvp_arm_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_uvp_arm_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_uvp_arm_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/uvp_cq_test
test_e2e_uvp_cq_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_uvp_cq_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_uvp_cq_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/uvp_hostile_test
test_e2e_uvp_hostile_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_uvp_hostile_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_uvp_hostile_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
# What its clients ask of the system, told by strace.
noinst_PROGRAMS += test/e2e/strace_client test/e2e/subnet_client test/e2e/subnet_group test/e2e/smp_round_trip
test_e2e_subnet_client_LDADD = $(API_LIBS)
test_e2e_subnet_group_LDADD = $(API_LIBS)
test_e2e_strace_client_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_strace_client_LDADD = $(API_LIBS)
dist_check_SCRIPTS += test/e2e/strace.sh
# The agent's socket without the library.
check_PROGRAMS += test/e2e/agent_door_test
test_e2e_agent_door_test_SOURCES = test/e2e/agent_door_test.c al/protocol/protocol.c
test_e2e_agent_door_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_door_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
# The agent's loop and threads alone.
check_PROGRAMS += test/unit/al/agent/descriptor_test
test_unit_al_agent_descriptor_test_LDADD = al/agent/libagent.la $(API_LIBS)
check_PROGRAMS += test/unit/al/agent/pool_test
test_unit_al_agent_pool_test_LDADD = al/agent/libagent.la $(API_LIBS)
# Events of a client that does not read them, with the agent's sources in the test's hands.
check_PROGRAMS += test/e2e/agent_event_test
test_e2e_agent_event_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_agent_event_test_DEPENDENCIES = hca/soft/soft.la
# What clients leave in the agent.
check_PROGRAMS += test/e2e/agent_left_test
test_e2e_agent_left_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_agent_left_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
# Memory that clients share with it.
check_PROGRAMS += test/e2e/agent_memory_test
test_e2e_agent_memory_test_SOURCES = test/e2e/agent_memory_test.c al/protocol/protocol.c
test_e2e_agent_memory_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_agent_memory_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
# Memory that blocks.
check_PROGRAMS += test/e2e/agent_block_test
test_e2e_agent_block_test_CPPFLAGS = $(AM_CPPFLAGS) $(SOFT_UVP_FLAGS)
test_e2e_agent_block_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_agent_block_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
# The agent as a service, also within the test's process.
check_PROGRAMS += test/e2e/service_test
test_e2e_service_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_service_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/limits_test
test_e2e_limits_test_SOURCES = test/e2e/limits_test.c al/agent/settings.c
test_e2e_limits_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_limits_test_DEPENDENCIES = hca/soft/soft.la
# One user against another, who are both other users than the test.
check_PROGRAMS += test/e2e/users_test
test_e2e_users_test_SOURCES = test/e2e/users_test.c al/protocol/protocol.c
test_e2e_users_test_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_e2e_users_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la doc/examples/rpc_echo/rpc_echo$(EXEEXT)
# User-mode providers, with an agent that serves fake.so.
check_PROGRAMS += test/e2e/provider_test
test_e2e_provider_test_CPPFLAGS = $(FAKE_FLAGS) $(PROVIDER_FLAGS)
test_e2e_provider_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_provider_test_DEPENDENCIES = ald$(EXEEXT) hca/skeleton/skeleton.la uvp/skeleton/skeleton.la
check_PROGRAMS += test/e2e/refusal_test
test_e2e_refusal_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_refusal_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/late_test
test_e2e_late_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_late_test_DEPENDENCIES = hca/soft/soft.la ald$(EXEEXT)
check_PROGRAMS += test/e2e/client_test
test_e2e_client_test_CPPFLAGS = $(FAKE_FLAGS) $(PROVIDER_FLAGS) $(SOFT_UVP_FLAGS)
test_e2e_client_test_LDADD = $(API_LIBS)
EXTRA_test_e2e_client_test_DEPENDENCIES = hca/soft/soft.la uvp/soft/soft.la ald$(EXEEXT)
noinst_HEADERS += test/e2e/provider.h
check_PROGRAMS += test/e2e/provider_path_test
test_e2e_provider_path_test_CPPFLAGS = $(FAKE_FLAGS) $(PROVIDER_FLAGS)
test_e2e_provider_path_test_LDADD = $(API_LIBS) $(URCU_LIBS)
EXTRA_test_e2e_provider_path_test_DEPENDENCIES = ald$(EXEEXT)

# The tests' own tools.
dist_check_SCRIPTS += test/e2e/tally.sh test/e2e/late_tools.sh test/e2e/mutants_fit.sh
noinst_HEADERS += test/unit/scale.h
check_PROGRAMS += test/unit/scale_test
test_unit_scale_test_LDADD = $(CHECK_LIBS)

# Which folder uses which.
dist_check_SCRIPTS += test/e2e/rooms.py

# The software HCA over a link by value.
dist_check_SCRIPTS += test/e2e/second_link.py

# The documents against the tree.
# The reference: its pages, and the table of transitions as the library has it.
noinst_PROGRAMS += test/e2e/qp_states
test_e2e_qp_states_LDADD = libibal-core.la
dist_check_SCRIPTS += test/e2e/reference.py test/e2e/reference_examples.sh
dist_check_SCRIPTS += test/e2e/names.py test/e2e/keys.py test/e2e/requirements.py test/e2e/pages.sh
EXTRA_DIST += test/data/names.txt test/data/requirements.txt

# The programs (not the scripts) under valgrind, with wider limits, since it is slow. What they start runs without it; but
# for the programs of ALD_VALGRIND ald runs under it, too. pidfd.so has what valgrind 3.19 lacks (test/modules/pidfd.c).
check-valgrind: all
	TEST_TIMEOUT_SCALE=$${TEST_TIMEOUT_SCALE-20}; export TEST_TIMEOUT_SCALE; status=0; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(VALGRIND_TESTS)' LOG_COMPILER='$(LIBTOOL) --mode=execute $(VALGRIND)' || \
		status=1; \
	TEST_ALD='$(LIBTOOL) --mode=execute $(VALGRIND) $(abs_top_builddir)/ald'; export TEST_ALD; \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(ALD_VALGRIND)' LOG_COMPILER='$(LIBTOOL) --mode=execute $(VALGRIND)' || \
		status=1; \
	exit $$status
VALGRIND_TESTS = $(filter-out $(NO_VALGRIND) $(ALD_VALGRIND),$(check_PROGRAMS))
ALD_VALGRIND = test/e2e/agent_test test/e2e/agent_memory_test test/e2e/provider_test
VALGRIND = env TEST_VALGRIND=1 LD_PRELOAD=$(abs_builddir)/test/modules/pidfd/.libs/pidfd.so \
	valgrind -q --fair-sched=yes --error-exitcode=99 --leak-check=full \
	--errors-for-leak-kinds=definite --show-leak-kinds=definite --child-silent-after-fork=no \
	--suppressions=$(abs_srcdir)/test/data/valgrind.supp
EXTRA_DIST += test/data/valgrind.supp test/data/tsan.supp test/data/pci/adapters.dump test/data/pci/no-adapter.dump
# Programs that do not run there, each with its reason.
# elf_flip_test: starts some thousands of processes; elf_test reads the same.
# refusal_test: counts its descriptors and lowers their limit, and valgrind has some of its own and a limit of its own.
NO_VALGRIND = test/unit/ci/elf_flip_test test/e2e/refusal_test

# Line coverage of what the tests run, in a build of its own under coverage/.
coverage:
	$(MKDIR_P) coverage
	test -e coverage/Makefile || (cd coverage && $(abs_srcdir)/configure -q --enable-coverage)
	$(abs_srcdir)/test/coverage '$(abs_srcdir)' '$(abs_builddir)/coverage'
EXTRA_DIST += test/coverage

# The long runs: the same tests with more of everything that is random (IBAL_TEST_LONG=1), then the
# scripts that are long by nature.
check-long: all
	IBAL_TEST_LONG=1 TEST_TIMEOUT_SCALE=20 $(MAKE) $(AM_MAKEFLAGS) check
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(LONG_TESTS)'
LONG_TESTS += test/e2e/quickstart.sh test/e2e/distcheck.sh test/e2e/coverage.sh test/e2e/sanitizers.sh test/e2e/soak.sh test/e2e/other_builds.sh test/e2e/arm64.sh

# One line per measurement, each with its reference taken in the same run, and the same as JSON in bench.json.
# "short" in the last column is the report; the exit status says only that everything could be measured.
bench: all $(check_LTLIBRARIES)
	IBAL_AGENT=off IBAL_MODULE_PATH='$(abs_top_builddir)/hca/soft/.libs' \
		test/bench/bench --json bench.json $(BENCH_ARGS)
	IBAL_AGENT=off IBAL_MODULE_PATH='$(abs_top_builddir)/hca/soft/.libs' test/bench/growth --quick
CLEANFILES += bench.json

noinst_PROGRAMS += test/bench/bench
noinst_HEADERS += test/bench/bench.h test/bench/manage.h
test_bench_bench_SOURCES = test/bench/bench.c test/bench/compare.c test/bench/ald.c test/bench/link.c test/bench/cost.c test/bench/layer.c test/bench/message.c \
	test/bench/bandwidth.c test/bench/fabric.c test/bench/object.c test/bench/many.c test/bench/agent.c \
	test/bench/manage.c test/bench/user.c test/bench/worker.c test/bench/worker.h test/bench/locked.c test/bench/verb.c \
	test/bench/notify.c test/bench/pair.c test/bench/client.c test/bench/growth_region.c test/bench/growth_idle.c
test_bench_bench_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_SO='"$(abs_top_builddir)/test/modules/fake/.libs/fake.so"' \
	-DVERBS_SO='"$(abs_top_builddir)/al/compat/verbs/.libs/libibverbs.so.1"' \
	-DALD='"$(abs_top_builddir)/ald"' $(SOFT_UVP_FLAGS)
test_bench_bench_LDADD = libibal.la
noinst_PROGRAMS += test/bench/growth
noinst_HEADERS += test/bench/growth.h
test_bench_growth_SOURCES = test/bench/growth.c test/bench/growth_region.c test/bench/growth_close.c test/bench/growth_idle.c \
	test/bench/compare.c test/bench/ald.c test/bench/link.c
test_bench_growth_CPPFLAGS = $(test_bench_bench_CPPFLAGS)
test_bench_growth_LDADD = libibal.la
dist_check_SCRIPTS += test/e2e/bench.sh test/e2e/dist.sh
noinst_HEADERS += test/unit/al/bed.h test/unit/al/subnet_text.h
noinst_HEADERS += test/unit/al/port_history.h test/unit/al/mgmt/mad_bed.h test/unit/al/mgmt/match_bed.h test/unit/al/fork.h

# For analysers, which parse without building (.ci/run).
print-flags:
	@echo $(DEFS) $(AM_CPPFLAGS) -std=gnu17 $(GLIB_CFLAGS) $(GIO_CFLAGS) $(JSON_CFLAGS) \
		$(GMODULE_CFLAGS) $(URCU_CFLAGS) $(PCI_CFLAGS) $(ISAL_CFLAGS) $(CHECK_CFLAGS)

# What "make check" runs, for .ci/run: the files of the results, less .trs.
print-tests:
	@printf '%s\n' $(TEST_LOGS:.log=)

# "make check" without the tests that look at sources, pages and scripts, and run nothing that the compiler made of them: they find the
# same in each build, so .ci/run leaves them out of the sanitizers' builds.
check-compiled:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out $(SOURCE_TESTS),$(TESTS))'
print-compiled-tests:
	@$(MAKE) -s print-tests TESTS='$(filter-out $(SOURCE_TESTS),$(TESTS))'
SOURCE_TESTS = test/e2e/contexts.py test/e2e/dist.sh test/e2e/headers.sh test/e2e/keys.py test/e2e/late_tools.sh test/e2e/mutants_fit.sh \
	test/e2e/names.py test/e2e/pages.sh test/e2e/reference.py test/e2e/requirements.py test/e2e/roles.py test/e2e/rooms.py \
	test/e2e/tally.sh test/e2e/units.sh

# What the release archive holds, for test/e2e/dist.sh.
print-distfiles:
	@printf '%s\n' $(DISTFILES)

# distcheck with fewer tests, for .ci/run: a test that runs programs for long, or a program once more in another role, finds
# in the archive what it finds in the tree. "make check-long" runs all tests in the archive.
distcheck-short:
	$(MAKE) $(AM_MAKEFLAGS) distcheck TESTS='$(filter-out $(ROLE_TESTS) $(LONG_IN_ARCHIVE),$(TESTS))'
# Programs that read nothing but what they were built from need not run again: that they were built shows that the archive has it.
LONG_IN_ARCHIVE = test/soak/soak test/e2e/second_link.py test/e2e/systemd.sh test/e2e/al_perf.sh test/e2e/al_perf_agent.sh \
	test/e2e/opensm.sh test/e2e/opensm_large.sh test/e2e/diags.sh test/e2e/lanes.sh test/e2e/sa.sh test/e2e/ibsim.sh \
	test/e2e/verbs_perftest.sh test/e2e/verbs_fabric.sh test/e2e/verbs_fault.sh test/e2e/verbs_roce.sh test/e2e/verbs_subnet.sh test/e2e/capture_subnet.sh test/e2e/objects.sh test/e2e/%_test \
	test/unit/al/agent/% test/unit/al/event/% test/unit/al/mgmt/% test/unit/al/object/% test/unit/al/verbs/%

.PHONY: check-long check-valgrind check-compiled test-loads coverage bench print-flags print-tests print-compiled-tests print-distfiles

# The software HCA alone, under a fake upper half.
SOFT_HARNESS = test/unit/hca/soft/harness.c test/unit/hca/soft/harness.h \
	test/link/queue_link.c test/link/queue_link.h
SOFT_TEST_LIBS = hca/soft/libsoft-core.la $(CHECK_LIBS)
check_PROGRAMS += \
	test/unit/hca/soft/access_test \
	test/unit/hca/soft/config_test \
	test/unit/hca/soft/cq_test \
	test/unit/hca/soft/fault_test \
	test/unit/hca/soft/firmware_test \
	test/unit/hca/soft/load_test \
	test/unit/hca/soft/loss_test \
	test/unit/hca/soft/manual_test \
	test/unit/hca/soft/mcast_copy_test \
	test/unit/hca/soft/mcast_test \
	test/unit/hca/soft/moderation_test \
	test/unit/hca/soft/port_test \
	test/unit/hca/soft/qp_test \
	test/unit/hca/soft/reactor_test test/unit/hca/soft/waiting_test \
	test/unit/hca/soft/resize_test test/unit/hca/soft/roce_test \
	test/unit/hca/soft/shortcut_test \
	test/unit/hca/soft/transfer_test \
	test/unit/hca/soft/fabric/fabric_test \
	test/unit/hca/soft/special_test \
	test/unit/hca/soft/subnet_test \
	test/unit/hca/soft/ud_test \
	test/unit/hca/soft/ud_error_test \
	test/unit/hca/soft/uc_test \
	test/unit/hca/soft/uc_error_test
test_unit_hca_soft_access_test_SOURCES = test/unit/hca/soft/access_test.c $(SOFT_HARNESS)
test_unit_hca_soft_config_test_SOURCES = test/unit/hca/soft/config_test.c $(SOFT_HARNESS)
test_unit_hca_soft_cq_test_SOURCES = test/unit/hca/soft/cq_test.c $(SOFT_HARNESS)
test_unit_hca_soft_fault_test_SOURCES = test/unit/hca/soft/fault_test.c $(SOFT_HARNESS)
test_unit_hca_soft_firmware_test_SOURCES = test/unit/hca/soft/firmware_test.c test/unit/hca/soft/special.h $(SOFT_HARNESS)
test_unit_hca_soft_firmware_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_load_test_SOURCES = test/unit/hca/soft/load_test.c $(SOFT_HARNESS)
test_unit_hca_soft_loss_test_SOURCES = test/unit/hca/soft/loss_test.c $(SOFT_HARNESS)
test_unit_hca_soft_manual_test_SOURCES = test/unit/hca/soft/manual_test.c $(SOFT_HARNESS)
MCAST_BED = test/unit/hca/soft/mcast_bed.h test/unit/hca/soft/ud_test.h $(SOFT_HARNESS)
test_unit_hca_soft_mcast_copy_test_SOURCES = test/unit/hca/soft/mcast_copy_test.c $(MCAST_BED)
test_unit_hca_soft_mcast_copy_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_mcast_test_SOURCES = test/unit/hca/soft/mcast_test.c $(MCAST_BED)
test_unit_hca_soft_mcast_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_moderation_test_SOURCES = test/unit/hca/soft/moderation_test.c $(SOFT_HARNESS)
test_unit_hca_soft_port_test_SOURCES = test/unit/hca/soft/port_test.c $(SOFT_HARNESS)
test_unit_hca_soft_qp_test_SOURCES = test/unit/hca/soft/qp_test.c $(SOFT_HARNESS)
test_unit_hca_soft_reactor_test_SOURCES = test/unit/hca/soft/reactor_test.c $(SOFT_HARNESS)
test_unit_hca_soft_reactor_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_waiting_test_SOURCES = test/unit/hca/soft/waiting_test.c $(SOFT_HARNESS)
test_unit_hca_soft_waiting_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_resize_test_SOURCES = test/unit/hca/soft/resize_test.c $(SOFT_HARNESS)
test_unit_hca_soft_roce_test_SOURCES = test/unit/hca/soft/roce_test.c test/unit/hca/soft/ud_test.h $(SOFT_HARNESS)
test_unit_hca_soft_roce_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_shortcut_test_SOURCES = test/unit/hca/soft/shortcut_test.c $(SOFT_HARNESS)
test_unit_hca_soft_transfer_test_SOURCES = test/unit/hca/soft/transfer_test.c $(SOFT_HARNESS)
test_unit_hca_soft_access_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_config_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_cq_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_fault_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_load_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_loss_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_manual_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_moderation_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_port_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_qp_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_resize_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_shortcut_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_fabric_fabric_test_SOURCES = test/unit/hca/soft/fabric/fabric_test.c $(SOFT_HARNESS)
test_unit_hca_soft_fabric_fabric_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_special_test_SOURCES = test/unit/hca/soft/special_test.c test/unit/hca/soft/special.h $(SOFT_HARNESS)
test_unit_hca_soft_special_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_subnet_test_SOURCES = test/unit/hca/soft/subnet_test.c test/unit/hca/soft/ud_test.h $(SOFT_HARNESS)
test_unit_hca_soft_subnet_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_ud_test_SOURCES = test/unit/hca/soft/ud_test.c test/unit/hca/soft/ud_test.h $(SOFT_HARNESS)
test_unit_hca_soft_ud_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_ud_error_test_SOURCES = test/unit/hca/soft/ud_error_test.c test/unit/hca/soft/ud_test.h $(SOFT_HARNESS)
test_unit_hca_soft_ud_error_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_uc_test_SOURCES = test/unit/hca/soft/uc_test.c test/unit/hca/soft/uc_test.h $(SOFT_HARNESS)
test_unit_hca_soft_uc_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_uc_error_test_SOURCES = test/unit/hca/soft/uc_error_test.c test/unit/hca/soft/uc_test.h $(SOFT_HARNESS)
test_unit_hca_soft_uc_error_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_transfer_test_LDADD = $(SOFT_TEST_LIBS)

# Fuzz targets: clang and libFuzzer run them ("make fuzz"); here each replays its corpus.
check_PROGRAMS += test/fuzz/wire_fuzz
test_fuzz_wire_fuzz_SOURCES = test/fuzz/wire_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h
test_fuzz_wire_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"wire"'
test_fuzz_wire_fuzz_LDADD = hca/soft/libsoft-core.la
check_PROGRAMS += test/fuzz/wr_fuzz
test_fuzz_wr_fuzz_SOURCES = test/fuzz/wr_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h test/fuzz/check.h \
	al/object/strings.c al/verbs/qp_table.c $(SOFT_HARNESS)
test_fuzz_wr_fuzz_CPPFLAGS = -I$(srcdir)/test/fuzz $(AM_CPPFLAGS) -DFUZZ_CORPUS='"wr"'
test_fuzz_wr_fuzz_LDADD = hca/soft/libsoft-core.la
check_PROGRAMS += test/fuzz/rings_fuzz
test_fuzz_rings_fuzz_SOURCES = test/fuzz/rings_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h test/fuzz/check.h \
	$(SOFT_HARNESS)
test_fuzz_rings_fuzz_CPPFLAGS = -I$(srcdir)/test/fuzz $(AM_CPPFLAGS) -DFUZZ_CORPUS='"rings"'
test_fuzz_rings_fuzz_LDADD = hca/soft/libsoft-core.la
check_PROGRAMS += test/fuzz/rmpp_fuzz
test_fuzz_rmpp_fuzz_SOURCES = test/fuzz/rmpp_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h al/mgmt/rmpp.c
test_fuzz_rmpp_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"rmpp"'
test_fuzz_rmpp_fuzz_LDADD =
check_PROGRAMS += test/fuzz/topology_fuzz
test_fuzz_topology_fuzz_SOURCES = test/fuzz/topology_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h
test_fuzz_topology_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"topology"'
test_fuzz_topology_fuzz_LDADD = hca/soft/libsoft-core.la
check_PROGRAMS += test/fuzz/mgmt_fuzz
test_fuzz_mgmt_fuzz_SOURCES = test/fuzz/mgmt_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h
test_fuzz_mgmt_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"mgmt"'
check_PROGRAMS += test/fuzz/subnet_fuzz
test_fuzz_subnet_fuzz_SOURCES = test/fuzz/subnet_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h
test_fuzz_subnet_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"subnet"'
test_fuzz_subnet_fuzz_CFLAGS = $(TOOL_CFLAGS)
test_fuzz_subnet_fuzz_LDADD = al/tools/libquery.la $(TOOL_LIBS)
check_PROGRAMS += test/fuzz/agent_fuzz
test_fuzz_agent_fuzz_SOURCES = test/fuzz/agent_fuzz.c test/fuzz/main.c test/fuzz/fuzz.h al/protocol/protocol.c
test_fuzz_agent_fuzz_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CORPUS='"agent"'
test_fuzz_agent_fuzz_LDADD = al/agent/libagent.la $(API_LIBS)
EXTRA_test_fuzz_agent_fuzz_DEPENDENCIES = hca/soft/soft.la
EXTRA_DIST += test/fuzz/run test/fuzz/record test/fuzz/corpus
FUZZ_SECONDS = 40
fuzz:
	$(abs_srcdir)/test/fuzz/run -d fuzz -s $(FUZZ_SECONDS) $(FUZZ_TARGETS)
.PHONY: fuzz

# The packet codec alone.
check_PROGRAMS += test/unit/hca/soft/wire_test
test_unit_hca_soft_wire_test_LDADD = $(SOFT_TEST_LIBS)
EXTRA_DIST += test/data/vectors/README.md \
	test/data/vectors/atomic_cs_bw.pcap \
	test/data/vectors/atomic_fa_bw.pcap \
	test/data/vectors/mckey.pcap \
	test/data/vectors/rc_pingpong.pcap \
	test/data/vectors/rc_pingpong_mtu256.pcap \
	test/data/vectors/rc_pingpong_v6.pcap \
	test/data/vectors/rdma_client.pcap \
	test/data/vectors/read_bw.pcap \
	test/data/vectors/rnr_nak.pcap \
	test/data/vectors/rping.pcap \
	test/data/vectors/send_bw.pcap \
	test/data/vectors/srq_pingpong.pcap \
	test/data/vectors/uc_pingpong.pcap \
	test/data/vectors/ucmatose.pcap \
	test/data/vectors/ud_pingpong.pcap \
	test/data/vectors/udaddy.pcap \
	test/data/vectors/write_bw.pcap \
	test/data/vectors/write_bw_uc.pcap

# Rules of RC; bugs of others, each with its test; requests with every field wrong in turn.
check_PROGRAMS += test/unit/hca/soft/explain_test
test_unit_hca_soft_explain_test_SOURCES = test/unit/hca/soft/explain_test.c $(SOFT_HARNESS)
test_unit_hca_soft_explain_test_LDADD = $(SOFT_TEST_LIBS)
# The provider alone, with the test in place of library and module.
UVP_SOFT_UNDER_TEST = test/unit/uvp/soft/support.c uvp/soft/cq.c uvp/soft/provider.c uvp/soft/provider.h uvp/soft/qp.c \
	hca/soft/shared/opcode.c
noinst_HEADERS += test/unit/uvp/soft/support.h
check_PROGRAMS += test/unit/uvp/soft/provider_test test/unit/uvp/soft/cq_test
test_unit_uvp_soft_provider_test_SOURCES = test/unit/uvp/soft/provider_test.c $(UVP_SOFT_UNDER_TEST)
test_unit_uvp_soft_provider_test_LDADD = $(CHECK_LIBS)
test_unit_uvp_soft_cq_test_SOURCES = test/unit/uvp/soft/cq_test.c $(UVP_SOFT_UNDER_TEST)
test_unit_uvp_soft_cq_test_LDADD = $(CHECK_LIBS)
check_PROGRAMS += test/unit/hca/soft/ledger_test
test_unit_hca_soft_ledger_test_SOURCES = test/unit/hca/soft/ledger_test.c $(SOFT_HARNESS)
test_unit_hca_soft_ledger_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/errand_test
test_unit_hca_soft_errand_test_SOURCES = test/unit/hca/soft/errand_test.c $(SOFT_HARNESS)
test_unit_hca_soft_errand_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/ring_test
test_unit_hca_soft_ring_test_SOURCES = test/unit/hca/soft/ring_test.c $(SOFT_HARNESS)
test_unit_hca_soft_ring_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/corner_test
test_unit_hca_soft_corner_test_SOURCES = test/unit/hca/soft/corner_test.c $(SOFT_HARNESS)
test_unit_hca_soft_corner_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/rc_test
test_unit_hca_soft_rc_test_SOURCES = test/unit/hca/soft/rc_test.c $(SOFT_HARNESS)
test_unit_hca_soft_rc_test_LDADD = $(SOFT_TEST_LIBS)

# The shape of a simulated subnet.
check_PROGRAMS += test/unit/hca/soft/fabric/read_test test/unit/hca/soft/fabric/shapes_test test/unit/hca/soft/fabric/routes_test \
	test/unit/hca/soft/fabric/registers_test
test_unit_hca_soft_fabric_read_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_fabric_shapes_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_fabric_routes_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/switch_test
test_unit_hca_soft_fabric_switch_test_SOURCES = test/unit/hca/soft/fabric/switch_test.c test/unit/hca/soft/fabric/switch_bed.h $(SOFT_HARNESS)
test_unit_hca_soft_fabric_switch_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/switch_link_test
test_unit_hca_soft_fabric_switch_link_test_SOURCES = test/unit/hca/soft/fabric/switch_link_test.c test/unit/hca/soft/fabric/switch_bed.h $(SOFT_HARNESS)
test_unit_hca_soft_fabric_switch_link_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/arrivals_test
test_unit_hca_soft_fabric_arrivals_test_SOURCES = test/unit/hca/soft/fabric/arrivals_test.c $(SOFT_HARNESS)
test_unit_hca_soft_fabric_arrivals_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/arbiter_test
test_unit_hca_soft_fabric_arbiter_test_SOURCES = test/unit/hca/soft/fabric/arbiter_test.c $(SOFT_HARNESS)
test_unit_hca_soft_fabric_arbiter_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/lanes_test
test_unit_hca_soft_fabric_lanes_test_SOURCES = test/unit/hca/soft/fabric/lanes_test.c test/unit/hca/soft/fabric/switch_bed.h $(SOFT_HARNESS)
test_unit_hca_soft_fabric_lanes_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/link_error_test
test_unit_hca_soft_fabric_link_error_test_SOURCES = test/unit/hca/soft/fabric/link_error_test.c test/unit/hca/soft/fabric/switch_bed.h $(SOFT_HARNESS)
test_unit_hca_soft_fabric_link_error_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/cable_test
test_unit_hca_soft_fabric_cable_test_SOURCES = test/unit/hca/soft/fabric/cable_test.c test/unit/hca/soft/fabric/switch_bed.h $(SOFT_HARNESS)
test_unit_hca_soft_fabric_cable_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/fabric/partition_test
test_unit_hca_soft_fabric_partition_test_SOURCES = test/unit/hca/soft/fabric/partition_test.c test/unit/hca/soft/fabric/switch_bed.h $(SOFT_HARNESS)
test_unit_hca_soft_fabric_partition_test_LDADD = $(SOFT_TEST_LIBS)
test_unit_hca_soft_fabric_registers_test_SOURCES = test/unit/hca/soft/fabric/registers_test.c $(SOFT_HARNESS)
test_unit_hca_soft_fabric_registers_test_LDADD = $(SOFT_TEST_LIBS)
EXTRA_DIST += test/data/topology/chassis.txt \
	test/data/topology/new.txt \
	test/data/topology/old.txt \
	test/data/topology/short.txt

# Captures, read by hand.
check_PROGRAMS += test/unit/hca/soft/capture_test
test_unit_hca_soft_capture_test_SOURCES = test/unit/hca/soft/capture_test.c $(SOFT_HARNESS)
test_unit_hca_soft_capture_test_LDADD = $(SOFT_TEST_LIBS)
# Hostile packets.
check_PROGRAMS += test/unit/hca/soft/hostile_test
test_unit_hca_soft_hostile_test_SOURCES = test/unit/hca/soft/hostile_test.c $(SOFT_HARNESS)
test_unit_hca_soft_hostile_test_LDADD = $(SOFT_TEST_LIBS)
# The same by tshark.
dist_check_SCRIPTS += test/e2e/capture.sh
EXTRA_DIST += test/e2e/capture_report.py
test/e2e/capture.log: test/unit/hca/soft/capture_test hca/soft/soft.la
check_PROGRAMS += test/unit/hca/soft/bugclass_unreliable_test
test_unit_hca_soft_bugclass_unreliable_test_SOURCES = test/unit/hca/soft/bugclass_unreliable_test.c $(SOFT_HARNESS)
test_unit_hca_soft_bugclass_unreliable_test_LDADD = $(SOFT_TEST_LIBS)
check_PROGRAMS += test/unit/hca/soft/bugclass_test
test_unit_hca_soft_bugclass_test_SOURCES = test/unit/hca/soft/bugclass_test.c $(SOFT_HARNESS)
test_unit_hca_soft_bugclass_test_LDADD = $(SOFT_TEST_LIBS)
