# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# User-mode providers. Each shows one symbol, uvp_module, and is linked as any vendor's would be: to libibal alone.

PROVIDER_LINK = $(AM_LDFLAGS) -module -avoid-version -shared $(no_undefined) -export-symbols-regex '^uvp_module$$'

# Installed as a vendor finds it, as hca/skeleton is; built here for the tests.
uvpskeletondir = $(docdir)/examples/skeleton-uvp
dist_uvpskeleton_DATA = uvp/skeleton/Makefile uvp/skeleton/skeleton.c
check_LTLIBRARIES += uvp/skeleton/skeleton.la
uvp_skeleton_skeleton_la_SOURCES = uvp/skeleton/skeleton.c
uvp_skeleton_skeleton_la_LDFLAGS = $(PROVIDER_LINK) -rpath /nowhere
uvp_skeleton_skeleton_la_LIBADD = libibal.la

# The software HCA's, with what it shares with the module: the tables by which requests are checked.
uvp_LTLIBRARIES += uvp/soft/soft.la
uvp_soft_soft_la_SOURCES = \
	hca/soft/shared/opcode.c \
	uvp/soft/cq.c \
	uvp/soft/provider.c uvp/soft/provider.h \
	uvp/soft/qp.c
uvp_soft_soft_la_CFLAGS = $(AM_CFLAGS)
uvp_soft_soft_la_LDFLAGS = $(PROVIDER_LINK)
uvp_soft_soft_la_LIBADD = libibal.la
