# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of a topology's text, which is pure code.

noinst_HEADERS += test/unit/topo/same.h
check_PROGRAMS += test/unit/topo/topology_test
test_unit_topo_topology_test_LDADD = topo/libtopo.la $(CHECK_LIBS)
