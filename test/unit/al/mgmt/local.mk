# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of management datagrams.

check_PROGRAMS += test/unit/al/mgmt/mad_test
test_unit_al_mgmt_mad_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_mgmt_mad_test_DEPENDENCIES = hca/soft/soft.la
