# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of management datagrams.

check_PROGRAMS += test/unit/al/mgmt/mad_test
test_unit_al_mgmt_mad_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_mgmt_mad_test_DEPENDENCIES = hca/soft/soft.la

# Tests of the management agents, which are pure code.
noinst_HEADERS += test/unit/al/mgmt/hardware.h test/unit/al/mgmt/datagram.h
check_PROGRAMS += test/unit/al/mgmt/smi_test
check_PROGRAMS += test/unit/al/mgmt/sma_test
check_PROGRAMS += test/unit/al/mgmt/sma_port_info_test
check_PROGRAMS += test/unit/al/mgmt/sma_trap_test
check_PROGRAMS += test/unit/al/mgmt/gsi_test
check_PROGRAMS += test/unit/al/mgmt/pma_test
check_PROGRAMS += test/unit/al/mgmt/match_test
test_unit_al_mgmt_match_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_mgmt_match_test_LDADD = $(API_LIBS)
