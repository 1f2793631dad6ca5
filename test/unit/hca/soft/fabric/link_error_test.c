/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errors of links: what the ports at both ends of a bad cable count, the thresholds of PortInfo
 * with their traps 129 and 130, links that recover, and links that go down. The subnet is a ring of
 * three switches with an HCA each: port 1 of a switch leads to port 2 of the next, port 3 to the
 * HCA. HCA 0 sends to HCA 1, by port 1 of switch 0 and port 3 of switch 1. The bad cable is one of
 * these two.
 */
#include "switch_bed.h"

#define PERIOD 262144u /* ns: flow control period */

/* The ends of the bad cable: the switch that sends, and the port that takes the packets. */
static struct hca *near, *far;
static uint8_t near_port, far_port;

/* to_hca: the cable from switch 1 to HCA 1 is the bad one, and else that to switch 1. */
static void start(const char *settings, bool to_hca)
{
	ck_assert_int_eq(shape_ring(&topology, 3, 1, 0x100), AL_SUCCESS);
	managed(settings);
	manage();
	members_up(3, &ud);
	near = &sw[to_hca];
	near_port = to_hca ? 3 : 1;
	far = to_hca ? &hca[1] : &sw[1];
	far_port = to_hca ? 1 : 2;
	memset(&last_trap, 0, sizeof(last_trap));
}

static void end(void)
{
	members_down(3);
	finish();
}

static void set_thresholds(uint32_t phy_errors, uint32_t overruns)
{
	struct ib_port_info info = port_info(far, far_port);

	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	ib_port_info_set_local_phy_errors(&info, phy_errors);
	ib_port_info_set_overrun_errors(&info, overruns);
	ck_assert_uint_eq(attribute(far, far_port, IB_METHOD_SET, IB_SMP_PORT_INFO, far_port, &info,
				    sizeof(info)),
			  0);
}

static void send_to(uint32_t to)
{
	send_by(&member[0], port_of(&hca[to], 1).lid, member[to].qp->ci->qp_num, 0);
	run_all();
}

/* Sends datagrams, to all of which the bad cable does the same. action: 0: the cable is well. */
static void meet(uint32_t action, uint32_t num)
{
	if (action)
		fault(near, (struct soft_fault){ .action = action, .port = near_port });
	while (num--)
		send_to(1);
	ck_assert_int_eq(vendor(near, SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
}

static struct ib_port_counters far_counters(void)
{
	return port_of(far, far_port).counters;
}

/* Errors of the link's integrity, and recoveries at both ends. */
static void expect_integrity(uint64_t errors, uint64_t recoveries)
{
	ck_assert_uint_eq(far_counters().link_integrity_errors, errors);
	ck_assert_uint_eq(far_counters().link_error_recovery, recoveries);
	ck_assert_uint_eq(port_of(near, near_port).counters.link_error_recovery, recoveries);
	ck_assert_uint_eq(port_of(near, near_port).counters.link_integrity_errors, 0);
}

static void expect_trap(uint32_t number, ib_trap trap)
{
	const uint8_t agent = far == &hca[1] ? 1 : 0;

	ck_assert_uint_eq(last_trap.number, number);
	ck_assert_uint_eq(last_trap.port, agent);
	ck_assert_uint_eq(ib_be16_get(last_trap.notice.trap_num), trap);
	ck_assert_uint_eq(ib_be16_get(last_trap.notice.details.port.lid), port_of(far, agent).lid);
	ck_assert_uint_eq(last_trap.notice.details.port.port_num, far_port);
}

/* ------------------------------------------------------------------ damaged packets */

/* _i: the far port is a switch's, or an HCA's. */
START_TEST(more_damaged_packets_than_the_threshold_are_an_error_of_integrity)
{
	start("progress=manual", _i);
	set_thresholds(2, 8);
	meet(SOFT_FAULT_CORRUPT, 2);
	expect_integrity(0, 0);
	ck_assert_uint_eq(last_trap.number, 0);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(1, 1);
	expect_trap(1, IB_TRAP_LINK_INTEGRITY);
	meet(SOFT_FAULT_CORRUPT, 2);
	expect_integrity(1, 1); /* the count has begun again */
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(2, 2);
	expect_trap(2, IB_TRAP_LINK_INTEGRITY);
	ck_assert_uint_eq(far_counters().rcv_errors, 6);
	ck_assert_uint_eq(far_counters().symbol_errors, 6);
	ck_assert_int_eq(state_at(far, far_port), IB_PORT_ACTIVE);
	end();
}
END_TEST

START_TEST(good_packets_make_up_for_damaged_ones)
{
	start("progress=manual", _i);
	set_thresholds(2, 8);
	meet(SOFT_FAULT_CORRUPT, 2);
	meet(0, 1);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(0, 0);
	meet(SOFT_FAULT_CORRUPT, 1); /* the good packet has made up for one */
	expect_integrity(1, 1);
	meet(SOFT_FAULT_CORRUPT, 2);
	meet(0, 10); /* no more than there are damaged packets to make up for */
	meet(SOFT_FAULT_CORRUPT, 2);
	expect_integrity(1, 1);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(2, 2);
	end();
}
END_TEST

START_TEST(lost_packets_are_no_errors_of_integrity)
{
	start("progress=manual", false);
	set_thresholds(0, 8);
	meet(SOFT_FAULT_DROP, 3);
	expect_integrity(0, 0);
	ck_assert_uint_eq(far_counters().symbol_errors, 3);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(1, 1);
	end();
}
END_TEST

START_TEST(a_port_begins_with_the_thresholds_of_opensm)
{
	struct ib_port_info info;

	start("progress=manual", _i);
	info = port_info(far, far_port);
	ck_assert_uint_eq(ib_port_info_local_phy_errors(&info), 8);
	ck_assert_uint_eq(ib_port_info_overrun_errors(&info), 8);
	meet(SOFT_FAULT_CORRUPT, 8);
	expect_integrity(0, 0);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(1, 1);
	end();
}
END_TEST

/* The direction from an HCA to a switch has the rules of the HCA. */
START_TEST(packets_that_an_hca_damages_count_at_the_switch)
{
	start("progress=manual", false);
	near = &hca[0];
	near_port = 1;
	far = &sw[0];
	far_port = 3;
	set_thresholds(1, 8);
	meet(SOFT_FAULT_CORRUPT, 1);
	meet(0, 1);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(0, 0);
	meet(SOFT_FAULT_CORRUPT, 1);
	expect_integrity(1, 1);
	expect_trap(1, IB_TRAP_LINK_INTEGRITY);
	end();
}
END_TEST

/* ------------------------------------------------------------------------ overruns */

/* Has the clock go on to the beginning of a flow control period. */
static void go_to_period(uint64_t period)
{
	fault(&sw[2], (struct soft_fault){ .action = SOFT_FAULT_DELAY,
					   .port = 3,
					   .delay_ns = period * PERIOD - soft_clock() });
	send_to(2);
	ck_assert_uint_eq(soft_clock() / PERIOD, period);
	ck_assert_int_eq(vendor(&sw[2], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
}

static void overrun_in_periods(uint64_t first, uint64_t last)
{
	for (; first <= last; first++) {
		go_to_period(first);
		meet(SOFT_FAULT_OVERRUN, 2);
	}
}

static void expect_overruns(uint64_t errors)
{
	ck_assert_uint_eq(far_counters().buffer_overrun_errors, errors);
	ck_assert_uint_eq(far_counters().link_error_recovery, errors);
	ck_assert_uint_eq(far_counters().link_integrity_errors, 0);
}

START_TEST(overruns_in_consecutive_periods_are_excessive)
{
	start("progress=manual", _i);
	set_thresholds(0, 3);
	overrun_in_periods(1, 2);
	expect_overruns(0);
	ck_assert_uint_eq(last_trap.number, 0);
	overrun_in_periods(3, 3);
	expect_overruns(1);
	expect_trap(1, IB_TRAP_BUFFER_OVERRUN);
	ck_assert_uint_eq(far_counters().rcv_errors, 6);
	ck_assert_uint_eq(far_counters().symbol_errors, 0);
	overrun_in_periods(4, 5);
	overrun_in_periods(7, 8); /* the gap ends the run */
	expect_overruns(1);
	overrun_in_periods(9, 9);
	expect_overruns(2);
	expect_trap(2, IB_TRAP_BUFFER_OVERRUN);
	end();
}
END_TEST

START_TEST(an_overrun_of_subnet_management_is_a_dropped_packet)
{
	struct member manager;

	start("progress=manual", false);
	set_thresholds(0, 1);
	member_up(&manager, &hca[0], &smi);
	fault(near, (struct soft_fault){ .action = SOFT_FAULT_OVERRUN, .port = near_port });
	send_by(&manager, port_of(&hca[1], 1).lid, 0, 0);
	run_all();
	expect_overruns(0);
	ck_assert_uint_eq(far_counters().vl15_dropped, 1);
	ck_assert_uint_eq(far_counters().rcv_errors, 0);
	meet(SOFT_FAULT_OVERRUN, 1);
	expect_overruns(1);
	member_down(&manager);
	end();
}
END_TEST

/* -------------------------------------------------------------- what else cables do */

START_TEST(a_packet_that_is_marked_as_bad_is_an_error_of_another_link)
{
	start("progress=manual", _i);
	set_thresholds(0, 1);
	receive(&member[1]);
	meet(SOFT_FAULT_MARK, 2);
	ck_assert_uint_eq(far_counters().rcv_remote_phys_errors, 2);
	ck_assert_uint_eq(far_counters().rcv_errors, 0);
	ck_assert_uint_eq(far_counters().symbol_errors, 0);
	expect_integrity(0, 0);
	expect_empty(member[1].cq);
	send_to(1);
	expect_from(&member[1], &member[0]);
	end();
}
END_TEST

START_TEST(a_link_that_recovers_stays_up)
{
	start("progress=manual", _i);
	receive(&member[1]);
	meet(SOFT_FAULT_RECOVER, 2);
	expect_integrity(0, 2);
	expect_empty(member[1].cq);
	ck_assert_int_eq(state_at(far, far_port), IB_PORT_ACTIVE);
	ck_assert_uint_eq(last_trap.number, 0);
	send_to(1);
	expect_from(&member[1], &member[0]);
	end();
}
END_TEST

START_TEST(a_link_that_flaps_needs_its_manager_again)
{
	start("progress=manual", _i);
	receive(&member[1]);
	meet(SOFT_FAULT_FLAP, 1);
	ck_assert_uint_eq(far_counters().link_downed, 1);
	ck_assert_uint_eq(port_of(near, near_port).counters.link_downed, 1);
	ck_assert_int_eq(state_at(far, far_port), IB_PORT_INIT);
	ck_assert_int_eq(state_at(near, near_port), IB_PORT_INIT);
	ck_assert_int_eq(state_at(near, 2), IB_PORT_ACTIVE); /* of another cable */
	ck_assert_uint_eq(ib_be16_get(last_trap.notice.trap_num), IB_TRAP_LINK_STATE);
	expect_integrity(0, 0);
	expect_empty(member[1].cq);
	activate(near, near_port);
	activate(far, far_port);
	send_to(1);
	expect_from(&member[1], &member[0]);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: fabric: errors of links");
	TCase *t = tcase_create("link errors");

	tcase_add_loop_test(t, more_damaged_packets_than_the_threshold_are_an_error_of_integrity, 0,
			    2);
	tcase_add_loop_test(t, good_packets_make_up_for_damaged_ones, 0, 2);
	tcase_add_test(t, lost_packets_are_no_errors_of_integrity);
	tcase_add_test(t, packets_that_an_hca_damages_count_at_the_switch);
	tcase_add_loop_test(t, a_port_begins_with_the_thresholds_of_opensm, 0, 2);
	tcase_add_loop_test(t, overruns_in_consecutive_periods_are_excessive, 0, 2);
	tcase_add_test(t, an_overrun_of_subnet_management_is_a_dropped_packet);
	tcase_add_loop_test(t, a_packet_that_is_marked_as_bad_is_an_error_of_another_link, 0, 2);
	tcase_add_loop_test(t, a_link_that_recovers_stays_up, 0, 2);
	tcase_add_loop_test(t, a_link_that_flaps_needs_its_manager_again, 0, 2);
	suite_add_tcase(s, t);
	return run_suite(s);
}
