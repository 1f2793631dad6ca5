# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of cards, of connecting by them, and of meeting.

check_PROGRAMS += test/unit/al/connect/connect_test test/unit/al/connect/meet_test
test_unit_al_connect_connect_test_LDADD = $(API_LIBS)
EXTRA_test_unit_al_connect_connect_test_DEPENDENCIES = hca/soft/soft.la
test_unit_al_connect_meet_test_LDADD = $(API_LIBS)
