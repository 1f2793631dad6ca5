# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of handles, objects and HCAs.

check_PROGRAMS += test/unit/al/object/handle_test

check_PROGRAMS += test/unit/al/object/port_test

check_PROGRAMS += test/unit/al/object/source_test

check_PROGRAMS += test/unit/al/object/strand_test

check_PROGRAMS += test/unit/al/object/dispatcher_test
test_unit_al_object_dispatcher_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_dispatcher_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/destroy_test
test_unit_al_object_destroy_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_destroy_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/context_test
test_unit_al_object_context_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_context_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/quiesce_test
test_unit_al_object_quiesce_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_quiesce_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/reason_test
test_unit_al_object_reason_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_reason_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/race_test
test_unit_al_object_race_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_race_test_LDADD = $(API_LIBS)

# Internals below the public API: the module finds the library in the program.
check_PROGRAMS += test/unit/al/object/grace_test
test_unit_al_object_grace_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_grace_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic -Wl,--wrap=strand_wake,--wrap=strand_stop

check_PROGRAMS += test/unit/al/object/reaper_test
test_unit_al_object_reaper_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_reaper_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic

# A client's thread and memory.
check_PROGRAMS += test/unit/al/object/client_test

check_PROGRAMS += test/unit/al/object/device_test
test_unit_al_object_device_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_device_test_LDADD = $(API_LIBS)
