/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Links of a managed fabric: both ends of a cable go up and down together, by a subnet manager's
 * Sets, by cables that are pulled and plugged, and when a node goes or is rebooted.
 */
#include "switch_bed.h"

START_TEST(an_init_port_carries_subnet_management_only)
{
	struct member sma[2];
	uint32_t i;

	star(2);
	give_lids();
	members_up(2, &ud);
	for (i = 0; i < 2; i++)
		member_up(&sma[i], &hca[i], &smi);
	/* the HCAs' ports are Active, the switch's in Init */
	for (i = 0; i < 2; i++)
		activate(&hca[i], 1);
	receive(&member[1]);
	send_by(&member[0], 2, member[1].qp->ci->qp_num, 0);
	expect_empty(member[1].cq);
	receive(&sma[1]);
	send_by(&sma[0], 2, 0, 0);
	expect_from(&sma[1], &sma[0]);
	/* an Active port takes what an Init port does not send */
	activate(sw, 1);
	send_by(&member[0], 2, member[1].qp->ci->qp_num, 0);
	expect_empty(member[1].cq);
	ck_assert_uint_eq(port_of(sw, 2).counters.xmit_discards, 1);
	for (i = 0; i < 2; i++)
		member_down(&sma[i]);
	members_down(2);
	finish();
}
END_TEST

START_TEST(an_armed_port_of_a_switch_takes_data_and_is_active_then)
{
	star(2);
	give_lids();
	members_up(2, &ud);
	arm(sw, 1);
	activate(sw, 2);
	activate(&hca[0], 1);
	activate(&hca[1], 1);
	atomic_store(&port_events[num_ends][1], 0);
	receive(&member[1]);
	send_by(&member[0], 2, member[1].qp->ci->qp_num, 0);
	expect_from(&member[1], &member[0]);
	ck_assert_int_eq(state_at(sw, 1), IB_PORT_ACTIVE);
	ck_assert_uint_eq(atomic_load(&port_events[num_ends][1]), 1u << IB_EVENT_PORT_ACTIVE);
	members_down(2);
	finish();
}
END_TEST

static bool state_change(void)
{
	uint8_t info[64] = { 0 };

	ck_assert_uint_eq(attribute(sw, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, info, 64), 0);
	return info[11] & 4;
}

static void clear_state_change(void)
{
	struct ib_switch_info info = { 0 };

	ck_assert_uint_eq(
		attribute(sw, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info)), 0);
	ib_switch_info_set_state_change(&info, 1);
	ck_assert_uint_eq(
		attribute(sw, 0, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info)), 0);
}

static void expect_link(uint8_t port, ib_port_state state)
{
	struct hca *end = &hca[port - 1];

	ck_assert_int_eq(state_at(sw, port), state);
	ck_assert_int_eq(state_at(end, 1), state);
	ck_assert_int_eq(port_of(sw, port).phys_state,
			 state == IB_PORT_DOWN ? IB_PHYS_POLLING : IB_PHYS_LINK_UP);
}

/* _i: pulled at the HCA, or at the switch. */
START_TEST(a_pulled_cable_takes_both_ends_down_and_a_plugged_one_up)
{
	const uint32_t port = _i ? 2 : 1;
	struct hca *at;

	star(3);
	at = _i ? sw : &hca[1];
	give_lids();
	activate_star();
	clear_state_change();
	memset(port_events, 0, sizeof(port_events));
	ck_assert_int_eq(vendor(at, SOFT_PORT_DOWN, &port, sizeof(port)), AL_SUCCESS);
	expect_link(2, IB_PORT_DOWN);
	ck_assert(state_change());
	ck_assert_uint_eq(atomic_load(&port_events[num_ends][2]), 1u << IB_EVENT_PORT_DOWN);
	ck_assert_uint_eq(atomic_load(&port_events[1][1]), 1u << IB_EVENT_PORT_DOWN);
	ck_assert_uint_eq(port_of(sw, 2).counters.link_downed, 1);
	ck_assert_uint_eq(port_of(&hca[1], 1).counters.link_downed, 1);
	ck_assert_int_eq(state_at(sw, 1), IB_PORT_ACTIVE); /* of another cable */
	clear_state_change();
	ck_assert_int_eq(vendor(at, SOFT_PORT_UP, &port, sizeof(port)), AL_SUCCESS);
	expect_link(2, IB_PORT_INIT);
	ck_assert(state_change());
	ck_assert_uint_eq(port_of(&hca[1], 1).lid, 2); /* the LID stays */
	finish();
}
END_TEST

START_TEST(a_cable_between_two_switches_can_be_pulled)
{
	const uint32_t port = 1;

	ck_assert_int_eq(shape_ring(&topology, 3, 1, 0x100), AL_SUCCESS);
	managed("");
	manage();
	ck_assert_int_eq(vendor(&sw[0], SOFT_PORT_DOWN, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_int_eq(state_at(&sw[0], 1), IB_PORT_DOWN);
	/* port 2 of the next switch is at the other end */
	ck_assert_int_eq(state_at(&sw[1], 2), IB_PORT_DOWN);
	ck_assert_int_eq(state_at(&sw[1], 1), IB_PORT_ACTIVE);
	ck_assert_int_eq(vendor(&sw[0], SOFT_PORT_UP, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_int_eq(state_at(&sw[1], 2), IB_PORT_INIT);
	finish();
}
END_TEST

/* _i: at the switch's end, or at the HCA's */
START_TEST(a_link_that_a_set_takes_down_trains_again)
{
	struct hca *at, *far;
	uint8_t port, far_port;

	star(2);
	at = _i ? &hca[0] : sw;
	far = _i ? sw : &hca[0];
	port = far_port = 1;
	give_lids();
	activate_star();
	memset(port_ladder, 0, sizeof(port_ladder));
	ck_assert_uint_eq(set_port(at, port, 0, IB_PHYS_NOP, IB_PORT_DOWN), 0);
	ck_assert_int_eq(state_at(at, port), IB_PORT_INIT);
	ck_assert_int_eq(state_at(far, far_port), IB_PORT_INIT);
	ck_assert_str_eq(port_ladder[0], "DI");
	ck_assert_str_eq(port_ladder[num_ends], "DI");
	/* disabled: both stay down, until polling is asked for */
	ck_assert_uint_eq(set_port(at, port, 0, IB_PHYS_DISABLED, IB_PORT_NOP), 0);
	ck_assert_int_eq(port_of(at, port).phys_state, IB_PHYS_DISABLED);
	ck_assert_int_eq(port_of(far, far_port).phys_state, IB_PHYS_POLLING);
	ck_assert_int_eq(state_at(far, far_port), IB_PORT_DOWN);
	ck_assert_uint_eq(set_port(at, port, 0, IB_PHYS_POLLING, IB_PORT_NOP), 0);
	ck_assert_int_eq(state_at(at, port), IB_PORT_INIT);
	ck_assert_int_eq(state_at(far, far_port), IB_PORT_INIT);
	finish();
}
END_TEST

START_TEST(a_change_by_a_set_is_no_port_state_change_until_the_link_trains)
{
	star(2);
	give_lids();
	activate_star();
	clear_state_change();
	ck_assert_uint_eq(set_port(sw, 1, 0, IB_PHYS_DISABLED, IB_PORT_NOP), 0);
	ck_assert(!state_change());
	ck_assert_uint_eq(set_port(sw, 1, 0, IB_PHYS_POLLING, IB_PORT_NOP), 0);
	ck_assert(state_change());
	clear_state_change();
	activate(sw, 1);
	ck_assert(!state_change());
	finish();
}
END_TEST

START_TEST(an_hca_that_goes_takes_its_link_down)
{
	const uint32_t flags = CI_HCA_GONE;

	star(2);
	give_lids();
	activate_star();
	ck_assert_int_eq(vendor(&hca[0], SOFT_REMOVE, &flags, sizeof(flags)), AL_SUCCESS);
	ck_assert_int_eq(state_at(sw, 1), IB_PORT_DOWN);
	ck_assert_int_eq(state_at(sw, 2), IB_PORT_ACTIVE);
	finish();
}
END_TEST

/* _i: the switch goes without notice, or is withdrawn */
START_TEST(a_switch_that_goes_takes_its_links_down)
{
	const uint32_t flags = _i ? 0 : CI_HCA_GONE;

	star(2);
	give_lids();
	activate_star();
	ck_assert_int_eq(vendor(sw, SOFT_REMOVE, &flags, sizeof(flags)), AL_SUCCESS);
	wait_bits(&port_events[0][1], 1u << IB_EVENT_PORT_DOWN);
	wait_bits(&port_events[1][1], 1u << IB_EVENT_PORT_DOWN);
	ck_assert_int_eq(state_at(&hca[0], 1), IB_PORT_DOWN);
	finish();
}
END_TEST

/* ---------------------------------------------------------------------- reboot */

START_TEST(a_rebooted_switch_has_forgotten_what_was_set)
{
	const uint32_t pulled = 3;
	uint8_t before[64] = { 0 }, now[64] = { 0 };

	star(3);
	ck_assert_uint_eq(attribute(sw, 1, IB_METHOD_GET, IB_SMP_PORT_INFO, 1, before, 64), 0);
	give_lids();
	activate_star();
	set_group(sw, 0xc001, 6);
	ck_assert_int_eq(vendor(sw, SOFT_PORT_DOWN, &pulled, sizeof(pulled)), AL_SUCCESS);
	memset(port_ladder, 0, sizeof(port_ladder));
	ck_assert_int_eq(vendor(sw, SOFT_REBOOT, NULL, 0), AL_SUCCESS);
	ck_assert_str_eq(port_ladder[0], "DI"); /* an HCA sees its link go and come */
	ck_assert_uint_eq(port_of(sw, 0).lid, 0);
	ck_assert_int_eq(state_at(sw, 0), IB_PORT_ACTIVE);
	ck_assert_int_eq(state_at(sw, 1), IB_PORT_INIT);
	ck_assert_int_eq(state_at(sw, 3), IB_PORT_DOWN); /* the cable is still out */
	ck_assert_uint_eq(attribute(sw, 1, IB_METHOD_GET, IB_SMP_PORT_INFO, 1, now, 64), 0);
	ck_assert_mem_eq(now, before, 64);
	ck_assert_uint_eq(attribute(sw, 0, IB_METHOD_GET, IB_SMP_LFT, 0, now, 64), 0);
	ck_assert_uint_eq(now[1], 255);
	ck_assert_uint_eq(attribute(sw, 0, IB_METHOD_GET, IB_SMP_MFT, 0, now, 64), 0);
	ck_assert_mem_eq(now + 2, "\0\0", 2);
	ck_assert_uint_eq(port_of(&hca[0], 1).lid, 1); /* the HCA was not rebooted */
	finish();
}
END_TEST

START_TEST(an_hca_can_not_be_rebooted)
{
	const uint32_t port = 1;

	star(2);
	ck_assert_int_eq(vendor(&hca[0], SOFT_REBOOT, NULL, 0), AL_UNSUPPORTED);
	ck_assert_int_eq(vendor(sw, SOFT_CAPTURE_STOP, &port, sizeof(port)), AL_UNSUPPORTED);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: links of a managed fabric");
	TCase *t;

	t = tcase_create("links");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, an_init_port_carries_subnet_management_only);
	tcase_add_test(t, an_armed_port_of_a_switch_takes_data_and_is_active_then);
	tcase_add_loop_test(t, a_pulled_cable_takes_both_ends_down_and_a_plugged_one_up, 0, 2);
	tcase_add_test(t, a_cable_between_two_switches_can_be_pulled);
	tcase_add_loop_test(t, a_link_that_a_set_takes_down_trains_again, 0, 2);
	tcase_add_test(t, a_change_by_a_set_is_no_port_state_change_until_the_link_trains);
	tcase_add_test(t, an_hca_that_goes_takes_its_link_down);
	tcase_add_loop_test(t, a_switch_that_goes_takes_its_links_down, 0, 2);
	tcase_add_test(t, a_rebooted_switch_has_forgotten_what_was_set);
	tcase_add_test(t, an_hca_can_not_be_rebooted);
	suite_add_tcase(s, t);
	return run_suite(s);
}
