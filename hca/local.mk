# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# HCA modules. Each shows one symbol, ci_module, and is linked as any vendor's would be: to libibal alone.

MODULE_LINK = $(AM_LDFLAGS) -module -avoid-version -shared $(no_undefined) \
	-export-symbols-regex '^ci_module$$'

# Installed as a vendor finds it: a source file and a Makefile that needs nothing but what is installed. Built here for
# the tests.
skeletondir = $(docdir)/examples/skeleton
dist_skeleton_DATA = hca/skeleton/Makefile hca/skeleton/skeleton.c
check_LTLIBRARIES += hca/skeleton/skeleton.la
hca_skeleton_skeleton_la_SOURCES = hca/skeleton/skeleton.c
hca_skeleton_skeleton_la_LDFLAGS = $(MODULE_LINK) -rpath /nowhere
hca_skeleton_skeleton_la_LIBADD = libibal.la

# The software HCA: its objects once, for the module and for tests of its insides.
noinst_LTLIBRARIES += hca/soft/libsoft-core.la
hca_soft_libsoft_core_la_CFLAGS = $(AM_CFLAGS) $(ISAL_CFLAGS) -fno-semantic-interposition
hca_soft_libsoft_core_la_SOURCES = \
	hca/soft/base/alloc.h \
	hca/soft/base/clock.c hca/soft/base/clock.h \
	hca/soft/base/config.c hca/soft/base/config.h hca/soft/base/settle.c \
	hca/soft/base/draw.h \
	hca/soft/base/tally.h \
	hca/soft/base/fault_text.c \
	hca/soft/base/reading.c hca/soft/base/reading.h \
	hca/soft/base/table.c hca/soft/base/table.h \
	hca/soft/base/timer.c hca/soft/base/timer.h \
	hca/soft/client/ring_qp.c \
	hca/soft/client/ring_thread.c hca/soft/client/ring_thread.h \
	hca/soft/client/rings.c hca/soft/client/rings.h \
	hca/soft/engine/engine.c hca/soft/engine/engine.h \
	hca/soft/engine/manual.c \
	hca/soft/engine/reactor.c hca/soft/engine/reactor.h \
	hca/soft/fabric/arbiter.c hca/soft/fabric/arbiter.h \
	hca/soft/fabric/cable.c \
	hca/soft/fabric/fabric.c hca/soft/fabric/fabric.h \
	hca/soft/fabric/output.c hca/soft/fabric/output.h \
	hca/soft/fabric/read.c \
	hca/soft/fabric/registers.c hca/soft/fabric/registers.h \
	hca/soft/fabric/routes.c hca/soft/fabric/routes.h \
	hca/soft/fabric/shapes.c hca/soft/fabric/shapes.h \
	hca/soft/fabric/switch.c \
	hca/soft/fabric/topology.h \
	hca/soft/firmware/firmware.c hca/soft/firmware/firmware.h \
	hca/soft/lab/capture.c hca/soft/lab/capture.h \
	hca/soft/lab/fault.c hca/soft/lab/fault.h \
	hca/soft/lab/inject.c hca/soft/lab/inject.h \
	hca/soft/lab/lab.c hca/soft/lab/lab.h \
	hca/soft/link/hooks.c hca/soft/link/hooks.h \
	hca/soft/link/link.c hca/soft/link/link.h \
	hca/soft/link/loop.c \
	hca/soft/link/multicast.c hca/soft/link/multicast.h \
	hca/soft/link/serial.c hca/soft/link/serial.h \
	hca/soft/link/source.h \
	hca/soft/link/waiting.c hca/soft/link/waiting.h \
	hca/soft/memory/errand.c hca/soft/memory/errand.h \
	hca/soft/memory/explain.c \
	hca/soft/memory/ledger.c hca/soft/memory/ledger.h \
	hca/soft/memory/mr.c hca/soft/memory/mr.h \
	hca/soft/memory/payload.c hca/soft/memory/payload.h \
	hca/soft/module/hca.c \
	hca/soft/module/module.c hca/soft/module/module.h \
	hca/soft/module/switch.c \
	hca/soft/module/vendor.c \
	hca/soft/object/ah.c \
	hca/soft/object/cq.c \
	hca/soft/object/device.c \
	hca/soft/object/hca.h \
	hca/soft/object/mcast.c \
	hca/soft/object/mr.c \
	hca/soft/object/port.c \
	hca/soft/object/post.c \
	hca/soft/object/qp.c \
	hca/soft/packet/icrc.c hca/soft/packet/icrc.h \
	hca/soft/packet/packet.c hca/soft/packet/packet.h \
	hca/soft/packet/pool.c hca/soft/packet/pool.h \
	hca/soft/packet/wire.c hca/soft/packet/wire.h \
	hca/soft/port/counters.c \
	hca/soft/port/errors.c \
	hca/soft/port/info.c hca/soft/port/info.h \
	hca/soft/port/lanes.c hca/soft/port/lanes.h \
	hca/soft/port/mcast.c hca/soft/port/mcast.h \
	hca/soft/port/port.c hca/soft/port/port.h \
	hca/soft/queue/cq.c hca/soft/queue/cq.h \
	hca/soft/queue/recv.h \
	hca/soft/queue/send.h \
	hca/soft/shared/base.h \
	hca/soft/shared/lock.h \
	hca/soft/shared/opcode.c hca/soft/shared/opcode.h \
	hca/soft/shared/ring.h \
	hca/soft/shared/wr.h \
	hca/soft/transport/ah.h \
	hca/soft/transport/comp.c \
	hca/soft/transport/explain.c hca/soft/transport/explain.h \
	hca/soft/transport/qp.c hca/soft/transport/qp.h \
	hca/soft/transport/req.c \
	hca/soft/transport/rc_resp.c \
	hca/soft/transport/resp.c \
	hca/soft/transport/send.c \
	hca/soft/transport/shortcut.c \
	hca/soft/transport/stage.c hca/soft/transport/stage.h \
	hca/soft/transport/uc.c \
	hca/soft/transport/ud.c
hca_soft_libsoft_core_la_LIBADD = mad/libmad.la topo/libtopo.la $(ISAL_LIBS) $(URCU_LIBS)

module_LTLIBRARIES += hca/soft/soft.la
hca_soft_soft_la_SOURCES =
hca_soft_soft_la_LDFLAGS = $(MODULE_LINK)
hca_soft_soft_la_LIBADD = hca/soft/libsoft-core.la libibal.la
