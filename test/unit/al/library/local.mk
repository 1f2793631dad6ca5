# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of opening, of the library as a guest in a process, and of snapshots.

check_PROGRAMS += test/unit/al/library/library_test
test_unit_al_library_library_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_library_library_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/library/open_test
test_unit_al_library_open_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_library_open_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/library/snapshot_test
test_unit_al_library_snapshot_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_library_snapshot_test_LDADD = $(API_LIBS)
