/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The text of every value of every list, and of values without a text. */
#include "config.h"

#include "test/unit/al/al_test.h"

#define CHECK_TEXT(name, value, text) ck_assert_str_eq(STR(name), text);
#define CHECK_TEXT_4(name, value, text, more) ck_assert_str_eq(STR(name), text);

/* Values between and beyond the list's values have no text; all lists' values are below 1024. */
#define CHECK_LIST(function, type, list, check)                                       \
	do {                                                                          \
		const char *(*str)(type) = function;                                  \
		unsigned int texts = 0;                                               \
		list(check)                                                           \
		for (int v = -2; v < 1024; v++)                                       \
			texts += strcmp(str((type)v), "unknown") != 0;                \
		ck_assert_msg(texts == 0 list(COUNT), "%s has a text too many", #function); \
		ck_assert_str_eq(str((type)0x7fffffff), "unknown");                   \
	} while (0)
#define STR(v) str(v)
#define COUNT(...) +1

START_TEST(every_value_has_its_text_and_no_other_has_one)
{
	CHECK_LIST(al_status_str, al_status, AL_STATUS_LIST, CHECK_TEXT);
	CHECK_LIST(al_object_type_str, al_object_type, AL_OBJECT_LIST, CHECK_TEXT_4);
	CHECK_LIST(al_resource_str, al_resource, AL_RESOURCE_LIST, CHECK_TEXT);
	CHECK_LIST(al_arm_str, al_arm, AL_ARM_LIST, CHECK_TEXT);
	CHECK_LIST(al_cq_notify_str, al_cq_notify, AL_CQ_NOTIFY_LIST, CHECK_TEXT);
	CHECK_LIST(al_pnp_type_str, al_pnp_type, AL_PNP_LIST, CHECK_TEXT);
	CHECK_LIST(al_channel_event_type_str, al_channel_event_type, AL_CHANNEL_EVENT_LIST, CHECK_TEXT);
	CHECK_LIST(al_mad_event_type_str, al_mad_event_type, AL_MAD_EVENT_LIST, CHECK_TEXT);
	CHECK_LIST(al_event_type_str, ib_event_type, IB_EVENT_LIST, CHECK_TEXT_4);
	CHECK_LIST(al_link_layer_str, ib_link_layer, IB_LINK_LAYER_LIST, CHECK_TEXT);
	CHECK_LIST(al_gid_type_str, ib_gid_type, IB_GID_TYPE_LIST, CHECK_TEXT);
	CHECK_LIST(al_port_state_str, ib_port_state, IB_PORT_STATE_LIST, CHECK_TEXT);
	CHECK_LIST(al_phys_state_str, ib_phys_state, IB_PHYS_STATE_LIST, CHECK_TEXT);
	CHECK_LIST(al_mtu_str, ib_mtu, IB_MTU_LIST, CHECK_TEXT);
	CHECK_LIST(al_width_str, ib_width, IB_WIDTH_LIST, CHECK_TEXT);
	CHECK_LIST(al_speed_str, ib_speed, IB_SPEED_LIST, CHECK_TEXT);
	CHECK_LIST(al_rate_str, ib_rate, IB_RATE_LIST, CHECK_TEXT);
	CHECK_LIST(al_node_type_str, ib_node_type, IB_NODE_TYPE_LIST, CHECK_TEXT);
	CHECK_LIST(al_atomic_cap_str, ib_atomic_cap, IB_ATOMIC_CAP_LIST, CHECK_TEXT);
	CHECK_LIST(al_mw_type_str, ib_mw_type, IB_MW_TYPE_LIST, CHECK_TEXT);
	CHECK_LIST(al_dma_direction_str, ib_dma_direction, IB_DMA_DIRECTION_LIST, CHECK_TEXT);
	CHECK_LIST(al_wc_status_str, ib_wc_status, IB_WC_STATUS_LIST, CHECK_TEXT);
	CHECK_LIST(al_wc_opcode_str, ib_wc_opcode, IB_WC_OPCODE_LIST, CHECK_TEXT);
	CHECK_LIST(al_wr_opcode_str, ib_wr_opcode, IB_WR_OPCODE_LIST, CHECK_TEXT);
	CHECK_LIST(al_qp_type_str, ib_qp_type, IB_QP_TYPE_LIST, CHECK_TEXT);
	CHECK_LIST(al_qp_state_str, ib_qp_state, IB_QP_STATE_LIST, CHECK_TEXT);
	CHECK_LIST(al_mig_state_str, ib_mig_state, IB_MIG_STATE_LIST, CHECK_TEXT);
	CHECK_LIST(al_srq_type_str, ib_srq_type, IB_SRQ_TYPE_LIST, CHECK_TEXT);
}
END_TEST

START_TEST(a_status_has_a_name_too)
{
#define CHECK_NAME(name, value, text) ck_assert_str_eq(al_status_name(name), #name);
	AL_STATUS_LIST(CHECK_NAME)
	ck_assert_str_eq(al_status_name((al_status)0x7fffffff), "unknown");
	ck_assert_str_eq(al_status_name(AL_SUCCESS), "AL_SUCCESS");
}
END_TEST

START_TEST(an_ability_is_named_by_its_single_bit)
{
#define CHECK_CAP(name, bit, text) ck_assert_str_eq(al_ca_cap_str((unsigned int)name), text);
	IB_CA_CAP_LIST(CHECK_CAP)
	ck_assert_str_eq(al_ca_cap_str(0), "unknown");
	ck_assert_str_eq(al_ca_cap_str(3), "unknown");
}
END_TEST

START_TEST(the_version_is_that_of_the_package)
{
	ck_assert_str_eq(al_version(), PACKAGE_VERSION);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/strings");
	TCase *tcase = tcase_create("texts");

	tcase_add_test(tcase, every_value_has_its_text_and_no_other_has_one);
	tcase_add_test(tcase, a_status_has_a_name_too);
	tcase_add_test(tcase, an_ability_is_named_by_its_single_bit);
	tcase_add_test(tcase, the_version_is_that_of_the_package);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
