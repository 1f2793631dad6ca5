# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Tests of the verbs, of what is common to all objects seen through them, and of texts.

noinst_HEADERS += test/unit/al/al_test.h test/unit/al/verbs/qp_test.h

check_PROGRAMS += test/unit/al/verbs/qp_table_test

check_PROGRAMS += test/unit/al/verbs/handles_test
test_unit_al_verbs_handles_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_handles_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/qp_test
test_unit_al_verbs_qp_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_qp_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/qp_modify_test
test_unit_al_verbs_qp_modify_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_qp_modify_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/qp_post_test
test_unit_al_verbs_qp_post_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_qp_post_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/check_test
test_unit_al_verbs_check_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_check_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/block_test
test_unit_al_verbs_block_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_block_test_LDADD = $(API_LIBS) $(URCU_LIBS)

check_PROGRAMS += test/unit/al/verbs/crossing_test
test_unit_al_verbs_crossing_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_crossing_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/wr_test
test_unit_al_verbs_wr_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/cq_test
test_unit_al_verbs_cq_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_cq_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/cq_resize_test
test_unit_al_verbs_cq_resize_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_cq_resize_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/mcast_test
test_unit_al_verbs_mcast_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_mcast_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/mr_test
test_unit_al_verbs_mr_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_mr_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/switch_test
test_unit_al_verbs_switch_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_switch_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/ca_test
test_unit_al_verbs_ca_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_ca_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/verbs/ah_test
test_unit_al_verbs_ah_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_verbs_ah_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/order_test
test_unit_al_object_order_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_order_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/alloc_test
test_unit_al_object_alloc_test_CPPFLAGS = $(FAKE_FLAGS)
test_unit_al_object_alloc_test_LDADD = $(API_LIBS)

check_PROGRAMS += test/unit/al/object/strings_test
test_unit_al_object_strings_test_LDADD = $(API_LIBS)
