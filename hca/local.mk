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
	hca/soft/ah.c \
	hca/soft/base.h \
	hca/soft/capture.c hca/soft/capture.h \
	hca/soft/comp.c \
	hca/soft/config.c hca/soft/config.h \
	hca/soft/counters.c \
	hca/soft/cq.c hca/soft/cq.h \
	hca/soft/device.c \
	hca/soft/engine.c hca/soft/engine.h \
	hca/soft/errand.c hca/soft/errand.h \
	hca/soft/fault.c hca/soft/fault.h \
	hca/soft/fault_text.c \
	hca/soft/hca.h \
	hca/soft/icrc.c hca/soft/icrc.h \
	hca/soft/inject.c \
	hca/soft/link_loop.c \
	hca/soft/lock.h \
	hca/soft/manual.c \
	hca/soft/module.c \
	hca/soft/mr.c hca/soft/mr.h \
	hca/soft/opcode.c hca/soft/opcode.h \
	hca/soft/packet.c hca/soft/packet.h \
	hca/soft/port.c hca/soft/port.h \
	hca/soft/qp.c hca/soft/qp.h \
	hca/soft/req.c \
	hca/soft/resp.c \
	hca/soft/ring.h \
	hca/soft/ring_qp.c \
	hca/soft/rings.c hca/soft/rings.h \
	hca/soft/serial.c \
	hca/soft/shortcut.c \
	hca/soft/soft.h \
	hca/soft/soft_vendor.h \
	hca/soft/table.c hca/soft/table.h \
	hca/soft/timer.c \
	hca/soft/uc.c \
	hca/soft/ud.c \
	hca/soft/wire.c hca/soft/wire.h \
	hca/soft/wr.h
hca_soft_libsoft_core_la_LIBADD = $(ISAL_LIBS)

module_LTLIBRARIES += hca/soft/soft.la
hca_soft_soft_la_SOURCES =
hca_soft_soft_la_LDFLAGS = $(MODULE_LINK)
hca_soft_soft_la_LIBADD = hca/soft/libsoft-core.la libibal.la
