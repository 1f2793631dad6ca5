# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of the management agents, which are pure code.

noinst_HEADERS += test/unit/mad/hardware.h test/unit/mad/datagram.h
check_PROGRAMS += test/unit/mad/smi_test
check_PROGRAMS += test/unit/mad/sma_test
check_PROGRAMS += test/unit/mad/sma_port_info_test
check_PROGRAMS += test/unit/mad/sma_trap_test
check_PROGRAMS += test/unit/mad/gsi_test
check_PROGRAMS += test/unit/mad/pma_test
