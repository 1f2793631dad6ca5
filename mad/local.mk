# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The management agents as pure code, which need nothing but the contracts: in the library for ports whose agents are the
# Access Layer's, and in a module for ports that have agents of their own.

noinst_LTLIBRARIES += mad/libmad.la
mad_libmad_la_CFLAGS = $(AM_CFLAGS) -fno-semantic-interposition
mad_libmad_la_SOURCES = \
	mad/gsi.c mad/gsi.h \
	mad/node.c mad/node.h \
	mad/pma.c mad/pma.h \
	mad/sma.c mad/sma.h \
	mad/sma_port_info.c \
	mad/sma_private.h \
	mad/sma_table.c \
	mad/sma_trap.c \
	mad/smi.c mad/smi.h
