# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of callbacks, events, channels and PnP.

check_PROGRAMS += test/unit/al/event/pnp_test
test_unit_al_event_pnp_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_pnp_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/event/async_test
test_unit_al_event_async_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_async_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/event/channel_test
test_unit_al_event_channel_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_channel_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/event/removal_test
test_unit_al_event_removal_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_removal_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/event/wake_test
test_unit_al_event_wake_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_wake_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/event/ladder_test
test_unit_al_event_ladder_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_ladder_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/event/seen_test
test_unit_al_event_seen_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_event_seen_test_LDADD = $(API_LIBS)
