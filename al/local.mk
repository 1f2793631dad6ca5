# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# libibal: all objects of al/ and ci/ once, as a convenience library that tests of internals link, and
# as the shared library that shows only what the public headers declare.

noinst_LTLIBRARIES += libibal-core.la
# The library calls itself directly: nobody may put a function of his own between its parts.
libibal_core_la_CFLAGS = $(AM_CFLAGS) -ftls-model=initial-exec -fno-semantic-interposition
libibal_core_la_LIBADD = mad/libmad.la $(GMODULE_LIBS) $(GLIB_LIBS) $(URCU_LIBS) $(PCI_LIBS)
libibal_core_la_SOURCES = \
	al/connect/card.c \
	al/connect/connect.c \
	al/connect/connect.h \
	al/connect/meet.h \
	al/connect/record.c \
	al/connect/rendezvous.c \
	al/event/async.c \
	al/event/async.h \
	al/event/channel.c \
	al/event/channel.h \
	al/event/failure.c \
	al/event/hca.c \
	al/event/hca.h \
	al/event/pnp.c \
	al/event/pnp.h \
	al/event/seen.c \
	al/library/library.c \
	al/library/private.c \
	al/library/private.h \
	al/library/snapshot.c \
	al/mgmt/agents.c \
	al/mgmt/agents.h \
	al/mgmt/link.h \
	al/mgmt/mad.c \
	al/mgmt/mgmt.h \
	al/mgmt/owner.h \
	al/mgmt/path.c \
	al/mgmt/path.h \
	al/mgmt/port.c \
	al/mgmt/remote.c \
	al/mgmt/remote.h \
	al/mgmt/rmpp.c \
	al/mgmt/rmpp.h \
	al/mgmt/send.c \
	al/mgmt/spl_qp.c \
	al/mgmt/transfer.c \
	al/object/client.c \
	al/object/client.h \
	al/object/device.c \
	al/object/device.h \
	al/object/dispatcher.c \
	al/object/dispatcher.h \
	al/object/handle.c \
	al/object/handle.h \
	al/object/object.c \
	al/object/object.h \
	al/object/port.c \
	al/object/port.h \
	al/object/qpns.c \
	al/object/qpns.h \
	al/object/rcu.h \
	al/object/reaper.c \
	al/object/reaper.h \
	al/object/reason.c \
	al/object/shared.c \
	al/object/shared.h \
	al/object/strings.c \
	al/object/strand.c \
	al/object/strand.h \
	al/object/thread.c \
	al/object/thread.h \
	al/protocol/commands.def \
	al/protocol/protocol.c \
	al/protocol/protocol.h \
	al/user/ask.c \
	al/user/call.c \
	al/user/connection.c \
	al/user/event.c \
	al/user/hooks.c \
	al/user/hooks.h \
	al/user/mad.c \
	al/user/memory.c \
	al/user/post.c \
	al/user/snapshot.c \
	al/user/user.h \
	al/verbs/ah.c \
	al/verbs/ca.c \
	al/verbs/cq.c \
	al/verbs/dma.c \
	al/verbs/check.c \
	al/verbs/mcast.c \
	al/verbs/mr.c \
	al/verbs/pd.c \
	al/verbs/qp.c \
	al/verbs/qp_table.c \
	al/verbs/range.c \
	al/verbs/verbs.h

lib_LTLIBRARIES += libibal.la
libibal_la_SOURCES =
libibal_la_LIBADD = libibal-core.la
# nodelete: the library has threads, whose code must not go when a program that loaded it unloads it.
libibal_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 $(no_undefined) -Wl,-z,nodelete \
	-Wl,-Bsymbolic-functions \
	-Wl,--version-script=al/libibal.map
EXTRA_libibal_la_DEPENDENCIES = al/libibal.map

# The contracts, and the little that the agent needs.
AGENT_CONTRACTS = al/library/private.h al/object/client.h
al/libibal.map: $(IBA_CONTRACTS) $(AGENT_CONTRACTS) al/mkmap.sh
	$(AM_V_GEN)$(MKDIR_P) al && cd $(top_srcdir) && \
		sh al/mkmap.sh $(IBA_CONTRACTS) $(AGENT_CONTRACTS) >$(abs_top_builddir)/$@.tmp && \
		mv $(abs_top_builddir)/$@.tmp $(abs_top_builddir)/$@
CLEANFILES += al/libibal.map
EXTRA_DIST += al/mkmap.sh

pkgconfig_DATA += al/ibal.pc

# The tools see ib_al.h and nothing else of the library.
noinst_LTLIBRARIES += al/tools/libtools.la
al_tools_libtools_la_CFLAGS = $(TOOL_CFLAGS)
al_tools_libtools_la_SOURCES = al/tools/svg.c al/tools/svg.h al/tools/tool.c al/tools/tool.h
TOOL_CFLAGS = $(AM_CFLAGS) $(GIO_CFLAGS) $(JSON_CFLAGS)
TOOL_LIBS = al/tools/libtools.la libibal.la $(JSON_LIBS) $(GIO_LIBS) $(GLIB_LIBS) -lm

# All of al_query but its main(), so that a test can run it in a process that has objects.
noinst_LTLIBRARIES += al/tools/libquery.la
al_tools_libquery_la_CFLAGS = $(TOOL_CFLAGS)
al_tools_libquery_la_LIBADD = topo/libtopo.la
al_tools_libquery_la_SOURCES = \
	al/tools/errors.c \
	al/tools/errors.h \
	al/tools/net.c \
	al/tools/net.h \
	al/tools/net_diff.c \
	al/tools/net_dot.c \
	al/tools/net_layout.c \
	al/tools/net_layout.h \
	al/tools/net_svg.c \
	al/tools/net_text.c \
	al/tools/port_info.c \
	al/tools/port_info.h \
	al/tools/query.c \
	al/tools/query.h \
	al/tools/query_ca.c \
	al/tools/query_caps.c \
	al/tools/query_capture.c \
	al/tools/query_check.c \
	al/tools/query_clients.c \
	al/tools/query_doctor.c \
	al/tools/query_events.c \
	al/tools/query_fault.c \
	al/tools/query_json.c \
	al/tools/query_mad.c \
	al/tools/query_object.c \
	al/tools/query_object.h \
	al/tools/query_prom.c \
	al/tools/query_res.c \
	al/tools/query_set.c \
	al/tools/query_sys.c \
	al/tools/query_table.c \
	al/tools/query_topology.c \
	al/tools/sweep.c \
	al/tools/sweep.h \
	al/tools/sweep_port.c \
	al/tools/sweep_reset.c

bin_PROGRAMS += al_query
al_query_CFLAGS = $(TOOL_CFLAGS)
al_query_LDADD = al/tools/libquery.la $(TOOL_LIBS)
al_query_SOURCES = al/tools/al_query.c

bin_PROGRAMS += al_cp
al_cp_CFLAGS = $(TOOL_CFLAGS) $(CRYPTO_CFLAGS)
al_cp_LDADD = $(TOOL_LIBS) $(CRYPTO_LIBS)
al_cp_SOURCES = al/tools/al_cp.c al/tools/cp_digest.c al/tools/cp_digest.h al/tools/cp_file.c al/tools/cp_file.h al/tools/cp_meet.c al/tools/cp_meet.h \
	al/tools/cp_rdma.c al/tools/cp_rdma.h al/tools/meet.c al/tools/meet.h al/tools/pair.c al/tools/pair.h

noinst_LTLIBRARIES += al/tools/libperf.la
al_tools_libperf_la_CFLAGS = $(TOOL_CFLAGS)
al_tools_libperf_la_SOURCES = al/tools/perf_stat.c al/tools/perf_stat.h

bin_PROGRAMS += al_perf
al_perf_CFLAGS = $(TOOL_CFLAGS)
al_perf_LDADD = al/tools/libperf.la $(TOOL_LIBS)
al_perf_SOURCES = al/tools/al_perf.c al/tools/meet.c al/tools/meet.h al/tools/pair.c al/tools/pair.h \
	al/tools/perf.h al/tools/perf_far.c al/tools/perf_flow.c al/tools/perf_flow.h al/tools/perf_meet.c \
	al/tools/perf_meet.h al/tools/perf_rdma.c al/tools/perf_report.c al/tools/perf_svg.c

# Completion in bash: one file, found under the name of each program.
completionsdir = $(datadir)/bash-completion/completions
EXTRA_DIST += al/tools/completion.bash
completed = al_query al_cp al_perf al_run ald
install-data-local: install-completions
uninstall-local: uninstall-completions
.PHONY: install-completions uninstall-completions
install-completions:
	$(MKDIR_P) '$(DESTDIR)$(completionsdir)'
	for name in $(completed); do \
		$(INSTALL_DATA) $(srcdir)/al/tools/completion.bash "$(DESTDIR)$(completionsdir)/$$name" || exit; \
	done
uninstall-completions:
	for name in $(completed); do rm -f "$(DESTDIR)$(completionsdir)/$$name"; done

# The agent. It sees the contracts, the protocol, and the little that the library exports for it. All
# of it but main(), so that a test can have one in its own process.
noinst_LTLIBRARIES += al/agent/libagent.la
al_agent_libagent_la_CFLAGS = $(AM_CFLAGS)
al_agent_libagent_la_SOURCES = \
	al/agent/account.c \
	al/agent/account.h \
	al/agent/ahead.c \
	al/agent/ahead.h \
	al/agent/ald.c \
	al/agent/ald.h \
	al/agent/command.c \
	al/agent/command.h \
	al/agent/connection.c \
	al/agent/connection.h \
	al/agent/descriptor.c \
	al/agent/descriptor.h \
	al/agent/door.c \
	al/agent/door.h \
	al/agent/event.c \
	al/agent/event.h \
	al/agent/guard.c \
	al/agent/guard.h \
	al/agent/hca.c \
	al/agent/hca.h \
	al/agent/kind.c \
	al/agent/kind.h \
	al/agent/kinds.def \
	al/agent/loop.c \
	al/agent/loop.h \
	al/agent/mad.c \
	al/agent/memory.c \
	al/agent/memory.h \
	al/agent/object.c \
	al/agent/object.h \
	al/agent/pool.c \
	al/agent/pool.h \
	al/agent/post.c \
	al/agent/right.c \
	al/agent/right.h \
	al/agent/session.c \
	al/agent/session.h \
	al/agent/snapshot.c \
	al/agent/socket.c \
	al/agent/socket.h \
	al/agent/stage.c \
	al/agent/stage.h \
	al/agent/turn.c \
	al/agent/turn.h \
	al/agent/verbs.c \
	al/agent/verbs.h \
	al/object/port.c \
	al/object/port.h \
	al/protocol/protocol.c

sbin_PROGRAMS += ald
ald_CFLAGS = $(TOOL_CFLAGS)
ald_LDADD = al/agent/libagent.la al/tools/libtools.la libibal.la $(GLIB_LIBS)
ald_SOURCES = al/agent/log.c al/agent/log.h al/agent/main.c al/agent/settings.c al/agent/settings.h al/agent/systemd.c al/agent/systemd.h

# Its units for systemd.
unitdir = $(prefix)/lib/systemd/system
dist_unit_DATA = al/agent/ald.socket
nodist_unit_DATA = al/agent/ald.service
al/agent/ald.service: al/agent/ald.service.in
	$(AM_V_GEN)$(MKDIR_P) al/agent && sed 's|[@]sbindir[@]|$(sbindir)|' $(srcdir)/al/agent/ald.service.in >$@.tmp && mv $@.tmp $@
EXTRA_DIST += al/agent/ald.service.in
CLEANFILES += al/agent/ald.service

# Figures for Prometheus, by the textfile collector of its node exporter.
dist_unit_DATA += al/tools/ibal-prom.timer
nodist_unit_DATA += al/tools/ibal-prom.service
al/tools/ibal-prom.service: al/tools/ibal-prom.service.in
	$(AM_V_GEN)$(MKDIR_P) al/tools && sed 's|[@]bindir[@]|$(bindir)|' $(srcdir)/al/tools/ibal-prom.service.in >$@.tmp && mv $@.tmp $@
EXTRA_DIST += al/tools/ibal-prom.service.in
CLEANFILES += al/tools/ibal-prom.service

# The replacement of libibumad. Its directory is on no search path, so it never stands in for the system's unless al_run says so.
# nodelete: as the library's, its threads run its code.
compatdir = $(pkglibdir)/compat
compat_LTLIBRARIES = al/compat/umad/libibumad.la al/compat/verbs/libibverbs.la
al_compat_umad_libibumad_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
al_compat_umad_libibumad_la_LIBADD = libibal.la
al_compat_umad_libibumad_la_LDFLAGS = $(AM_LDFLAGS) -version-info 3:0:0 $(no_undefined) -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/al/compat/umad/libibumad.map
EXTRA_al_compat_umad_libibumad_la_DEPENDENCIES = al/compat/umad/libibumad.map
al_compat_umad_libibumad_la_SOURCES = \
	al/compat/umad/buffer.c \
	al/compat/umad/device.c \
	al/compat/umad/device.h \
	al/compat/umad/issm.c \
	al/compat/umad/port.c \
	al/compat/umad/text.c \
	al/compat/umad/umad.h \
	al/compat/view.c \
	al/compat/view.h
EXTRA_DIST += al/compat/umad/libibumad.map

# The replacement of libibverbs, in the same directory.
al_compat_verbs_libibverbs_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden -Wno-missing-prototypes
al_compat_verbs_libibverbs_la_LIBADD = libibal.la
al_compat_verbs_libibverbs_la_LDFLAGS = $(AM_LDFLAGS) -version-info 2:0:1 $(no_undefined) -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/al/compat/verbs/libibverbs.map
EXTRA_al_compat_verbs_libibverbs_la_DEPENDENCIES = al/compat/verbs/libibverbs.map
al_compat_verbs_libibverbs_la_SOURCES = \
	al/compat/verbs/abi.h \
	al/compat/verbs/ah.c \
	al/compat/verbs/completion.c \
	al/compat/verbs/convert.c \
	al/compat/verbs/cq.c \
	al/compat/verbs/cq_ex.c \
	al/compat/verbs/device.c \
	al/compat/verbs/event.c \
	al/compat/verbs/layout.c \
	al/compat/verbs/layout.def \
	al/compat/verbs/mr.c \
	al/compat/verbs/object.c \
	al/compat/verbs/path.c \
	al/compat/verbs/pd.c \
	al/compat/verbs/port.c \
	al/compat/verbs/post.c \
	al/compat/verbs/qp.c \
	al/compat/verbs/qp_ex.c \
	al/compat/verbs/refuse.c \
	al/compat/verbs/status.c \
	al/compat/verbs/text.c \
	al/compat/verbs/verbs.h \
	al/compat/view.c \
	al/compat/view.h
EXTRA_DIST += al/compat/verbs/libibverbs.map

# What leads a command of al_run from /sys/class/infiniband and /dev/infiniband to a folder, and what fills the folder. Commands of all
# kinds load the library, so it is built without sanitizers.
compat_LTLIBRARIES += al/compat/sysfs/libredirect.la
al_compat_sysfs_libredirect_la_CFLAGS = -std=gnu17 -Wall -Wextra -Wshadow -fvisibility=hidden
al_compat_sysfs_libredirect_la_LDFLAGS = -avoid-version $(no_undefined)
al_compat_sysfs_libredirect_la_SOURCES = al/compat/sysfs/redirect.c
compatexecdir = $(compatdir)
compatexec_PROGRAMS = al/compat/sysfs/al_sysfs
al_compat_sysfs_al_sysfs_LDADD = libibal.la
al_compat_sysfs_al_sysfs_SOURCES = al/compat/sysfs/write.c al/compat/view.c al/compat/view.h

# al_run runs programs with that library.
bin_SCRIPTS = al/compat/al_run
al/compat/al_run: al/compat/al_run.in Makefile
	$(AM_V_GEN)$(MKDIR_P) al/compat && sed -e 's|[@]prefix[@]|$(prefix)|' -e 's|[@]libdir[@]|$(libdir)|' \
		-e 's|[@]compatdir[@]|$(compatdir)|' -e 's|[@]sbindir[@]|$(sbindir)|' -e 's|[@]bindir[@]|$(bindir)|' \
		-e 's|[@]moduledir[@]|$(moduledir)|' -e 's|[@]uvpdir[@]|$(uvpdir)|' $(srcdir)/al/compat/al_run.in >$@.tmp && \
		chmod +x $@.tmp && mv $@.tmp $@
EXTRA_DIST += al/compat/al_run.in
CLEANFILES += al/compat/al_run
