# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The text of a subnet, which ibnetdiscover prints: its reader and writer as pure code, in the software HCA, which simulates
# the subnet of a text, and in al_query, which compares and draws subnets.

noinst_LTLIBRARIES += topo/libtopo.la
topo_libtopo_la_CFLAGS = $(AM_CFLAGS) -fno-semantic-interposition
topo_libtopo_la_SOURCES = \
	topo/record.c \
	topo/settle.c \
	topo/text.c topo/text.h \
	topo/topology.c topo/topology.h \
	topo/words.c topo/words.h \
	topo/write.c
