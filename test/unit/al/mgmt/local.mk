# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of management datagrams.

check_PROGRAMS += test/unit/al/mgmt/mad_test
test_unit_al_mgmt_mad_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_mgmt_mad_test_DEPENDENCIES = hca/soft/soft.la
check_PROGRAMS += test/unit/al/mgmt/fabric_test
test_unit_al_mgmt_fabric_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_mgmt_fabric_test_DEPENDENCIES = hca/soft/soft.la
check_PROGRAMS += test/unit/al/mgmt/agents_test
test_unit_al_mgmt_agents_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_mgmt_agents_test_DEPENDENCIES = hca/soft/soft.la
check_PROGRAMS += test/unit/al/mgmt/sweep_test
test_unit_al_mgmt_sweep_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_mgmt_sweep_test_DEPENDENCIES = hca/soft/soft.la

check_PROGRAMS += test/unit/al/mgmt/match_test
test_unit_al_mgmt_match_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_mgmt_match_test_LDADD = $(API_LIBS)
check_PROGRAMS += test/unit/al/mgmt/send_test
test_unit_al_mgmt_send_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_mgmt_send_test_LDADD = $(API_LIBS)
check_PROGRAMS += test/unit/al/mgmt/spl_qp_test
test_unit_al_mgmt_spl_qp_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_mgmt_spl_qp_test_LDADD = $(API_LIBS)

# With handles of the test's own.
check_PROGRAMS += test/unit/al/mgmt/path_test
test_unit_al_mgmt_path_test_SOURCES = test/unit/al/mgmt/path_test.c al/mgmt/path.c
test_unit_al_mgmt_path_test_LDADD = $(CHECK_LIBS)
