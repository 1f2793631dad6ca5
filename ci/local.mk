# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The Channel Interface's own side: registry, loader, PCI bus. Part of libibal.

noinst_HEADERS += ci/ci.h ci/internal.h ci/ops.def ci/rows.h

libibal_core_la_SOURCES += \
	ci/alloc.c \
	ci/bus.c \
	ci/conf.c \
	ci/attr_check.c \
	ci/elf.c \
	ci/env.c \
	ci/library.c \
	ci/loader.c \
	ci/lockfile.c \
	ci/log.c \
	ci/module.c \
	ci/ops.c \
	ci/pci.c \
	ci/provider.c \
	ci/reason.c \
	ci/registry.c \
	ci/trace.c

pkgconfig_DATA += ci/ibal-ci.pc
