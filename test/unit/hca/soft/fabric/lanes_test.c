/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Virtual lanes: which packets leave on which lane, and the packets that wait for a slow cable. The
 * subnet is a star of a switch and three HCAs: HCA i has LID i + 1 and is at port i + 1. Where
 * packets wait, time is virtual, so that each packet has its moment.
 */
#include "switch_bed.h"

#include "hca/soft/port/lanes.h"

#define TWO_LANES 2                                   /* PortInfo.OperationalVLs */
#define LIFE_NONE 20                                  /* PortInfo.HOQLife: without limit */
#define SLOW      "slow,switch=0x100,port=3,rate=1MB" /* a byte takes a microsecond */

static const struct qp_options deep = { .type = IB_QPT_UD, .qkey = QKEY, .depth = 60 };

static void lanes_of(const struct hca *h, uint8_t port, uint32_t code, uint32_t hoq_life,
		     uint8_t high_limit)
{
	struct ib_port_info info = port_info(h, port);

	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	ib_port_info_set_operational_vls(&info, code);
	ib_port_info_set_hoq_life(&info, hoq_life);
	info.vl_high_limit = high_limit;
	ck_assert_uint_eq(
		attribute(h, port, IB_METHOD_SET, IB_SMP_PORT_INFO, port, &info, sizeof(info)), 0);
}

/* Sets a table in which a service level has a lane, and all others lane 0. mod: at a switch, input
 * and output port. */
static void map(const struct hca *h, uint32_t mod, unsigned int sl, uint8_t lane)
{
	struct ib_sl_to_vl table = { 0 };

	ib_sl_to_vl_set(&table, sl, lane);
	ck_assert_uint_eq(attribute(h, (uint8_t)(h == sw ? mod & 0xff : 1), IB_METHOD_SET,
				    IB_SMP_SL_TO_VL, mod, &table, sizeof(table)),
			  0);
}

static void weigh(uint8_t port, enum ib_vl_arb_part part, uint8_t weight_0, uint8_t weight_1)
{
	struct ib_vl_arb_table table = { .entry = { { 0, weight_0 }, { 1, weight_1 } } };

	ck_assert_uint_eq(attribute(sw, port, IB_METHOD_SET, IB_SMP_VL_ARB,
				    (uint32_t)part << 16 | port, &table, sizeof(table)),
			  0);
}

/* Makes the star with two lanes at each port, and service level 1 on lane 1 everywhere. */
static void start(const char *settings)
{
	uint32_t in, out;

	ck_assert_int_eq(shape_star(&topology, 3, 0x100), AL_SUCCESS);
	managed(settings);
	give_lids();
	activate_star();
	for (in = 0; in <= 3; in++)
		for (out = 1; out <= 3; out++)
			map(sw, in << 8 | out, 1, 1);
	for (out = 1; out <= 3; out++) {
		map(&hca[out - 1], 0, 1, 1);
		lanes_of(&hca[out - 1], 1, TWO_LANES, LIFE_NONE, 0);
		lanes_of(sw, (uint8_t)out, TWO_LANES, LIFE_NONE, 0);
	}
	members_up(3, &deep);
	member[1].sl = 1;
}

static void end(void)
{
	members_down(3);
	finish();
}

static void send_to(uint32_t from, uint32_t to)
{
	send_by(&member[from], (uint16_t)(to + 1), member[to].qp->ci->qp_num, 0);
}

static void send_many(uint32_t num, uint32_t from, uint32_t to)
{
	while (num--)
		send_to(from, to);
}

/* Posts datagrams, whose completions come when they have left. */
static void post_many(struct member *from, const struct member *to, uint32_t num)
{
	const struct ib_ah_attr attr = { .dlid = 3, .sl = from->sl, .port_num = 1 };
	struct ci_ah *ah = new_ah(from->h, NULL, &attr);
	struct ib_sge sge = sge_of(from->mr, 0, MAD);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED);

	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = to->qp->ci->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	while (num--)
		post(from->qp, &wr);
	free_ah(ah);
}

static void receive_many(uint32_t num, struct member *at)
{
	while (num--)
		receive(at);
}

/* Returns the index of the member that has sent the next datagram. */
static uint32_t next_sender(struct member *at)
{
	struct ib_wc wc = expect_wc(at->cq, 2, IB_WC_SUCCESS);
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (member[i].h != at->h && wc.slid == i + 1)
			return i;
	ck_abort_msg("a datagram from LID %u", wc.slid);
}

static void expect_arrives(uint32_t from, uint32_t to, bool arrives)
{
	receive(&member[to]);
	send_to(from, to);
	if (arrives)
		expect_from(&member[to], &member[from]);
	else
		expect_empty(member[to].cq);
}

static struct ib_port_counters counters_of(const struct hca *h, uint8_t port)
{
	return port_of(h, port).counters;
}

/* ----------------------------------------------------------------- which lane */

START_TEST(a_service_level_without_a_lane_does_not_leave_an_hca)
{
	start("");
	expect_arrives(1, 2, true);
	map(&hca[1], 0, 1, LANE_NONE);
	expect_arrives(1, 2, false);
	map(&hca[1], 0, 1, 2); /* two lanes operate: 0 and 1 */
	expect_arrives(1, 2, false);
	ck_assert_uint_eq(counters_of(&hca[1], 1).xmit_discards, 2);
	member[1].sl = 0;
	expect_arrives(1, 2, true);
	end();
}
END_TEST

START_TEST(a_switch_has_a_lane_for_each_pair_of_ports)
{
	start("");
	map(sw, 2 << 8 | 3, 1, LANE_NONE);
	expect_arrives(1, 2, false);
	expect_arrives(1, 0, true);
	map(sw, 2 << 8 | 3, 1, 2);
	expect_arrives(1, 2, false);
	ck_assert_uint_eq(counters_of(sw, 2).rcv_switch_relay_errors, 2);
	member[0].sl = 1;
	expect_arrives(0, 2, true);
	ck_assert_uint_eq(counters_of(sw, 1).rcv_switch_relay_errors, 0);
	end();
}
END_TEST

/* _i: at a switch, or at an HCA. */
START_TEST(a_port_takes_no_packet_on_a_lane_that_does_not_operate)
{
	const uint8_t port = _i ? 1 : 2;
	const struct hca *at;

	start("");
	at = _i ? &hca[2] : sw;
	lanes_of(at, port, 1, LIFE_NONE, 0);
	expect_arrives(1, 2, false);
	ck_assert_uint_eq(counters_of(at, port).rcv_errors, 1);
	member[1].sl = 0;
	expect_arrives(1, 2, true);
	ck_assert_uint_eq(counters_of(at, port).rcv_errors, 1);
	end();
}
END_TEST

START_TEST(lanes_count_as_their_code_says_and_the_port_has_eight)
{
	struct ib_port_info info;

	start("");
	info = port_info(&hca[0], 1);
	ck_assert_uint_eq(ib_port_info_vl_cap(&info), 4);
	ck_assert_uint_eq(port_of(&hca[0], 1).max_vl_num, 8);
	map(&hca[1], 0, 1, 7);
	map(sw, 2 << 8 | 3, 1, 7);
	lanes_of(&hca[1], 1, 4, LIFE_NONE, 0);
	lanes_of(&hca[2], 1, 4, LIFE_NONE, 0);
	lanes_of(sw, 2, 4, LIFE_NONE, 0);
	lanes_of(sw, 3, 4, LIFE_NONE, 0);
	expect_arrives(1, 2, true);
	lanes_of(&hca[2], 1, 3, LIFE_NONE, 0); /* lanes 0 to 3 */
	expect_arrives(1, 2, false);
	map(sw, 2 << 8 | 3, 1, 3);
	expect_arrives(1, 2, true);
	end();
}
END_TEST

/* ------------------------------------------------------------------ slow cables */

static uint64_t wire_bytes(void)
{
	const struct ib_port_counters c = counters_of(sw, 3);

	return c.xmit_bytes / c.xmit_packets;
}

/* Waits for a datagram, and checks the time at which it comes: so many packets after the start. */
static void expect_at(struct member *at, uint64_t packets)
{
	uint64_t due;

	expect_wc(at->cq, 2, IB_WC_SUCCESS);
	due = packets * wire_bytes() * 1000;
	ck_assert_uint_ge(soft_clock(), due);
	ck_assert_uint_lt(soft_clock(), due + 2 * 4096); /* two ticks of the timer */
}

/* _i: the packets leave the switch by the slow cable, or come to the switch. */
START_TEST(a_slow_cable_carries_one_packet_after_the_other_at_its_rate)
{
	const uint32_t from = _i ? 2 : 0, to = _i ? 0 : 2;
	uint32_t i;

	start("progress=manual fault=" SLOW);
	receive_many(10, &member[to]);
	receive(&member[2]);
	send_to(1, 2); /* the first packet tells the bytes that a packet has on the wire */
	expect_wc(member[2].cq, 2, IB_WC_SUCCESS);
	send_many(5, from, to);
	for (i = 2; i <= 6; i++)
		expect_at(&member[to], i);
	ck_assert_uint_eq(counters_of(&hca[to], 1).rcv_packets, _i ? 5 : 6);
	end();
}
END_TEST

START_TEST(a_cable_that_is_mended_sends_what_waits_at_once)
{
	uint64_t now;

	start("progress=manual fault=" SLOW);
	receive_many(10, &member[2]);
	send_many(10, 0, 2);
	expect_wc(member[2].cq, 2, IB_WC_SUCCESS);
	now = soft_clock();
	ck_assert_int_eq(vendor(sw, SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	for (uint32_t i = 0; i < 9; i++)
		expect_wc(member[2].cq, 2, IB_WC_SUCCESS);
	ck_assert_uint_lt(soft_clock(), now + 2 * 4096);
	now = soft_clock();
	receive(&member[2]);
	send_to(0, 2);
	expect_wc(member[2].cq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(soft_clock(), now);
	end();
}
END_TEST

/* Counts the first num datagrams at HCA 2 by their senders. */
static void count_arrivals(uint32_t num, uint32_t count[2])
{
	uint32_t from;

	count[0] = count[1] = 0;
	while (num--) {
		from = next_sender(&member[2]);
		ck_assert_uint_lt(from, 2);
		count[from]++;
	}
}

START_TEST(lanes_share_a_slow_cable_by_their_weights)
{
	uint32_t count[2];

	start("progress=manual fault=" SLOW);
	weigh(3, IB_VL_ARB_LOW_1, 5, 15); /* a packet has five units of 64 bytes */
	receive_many(40, &member[2]);
	send_many(20, 0, 2);
	send_many(20, 1, 2);
	count_arrivals(1, count); /* was alone when it came */
	count_arrivals(20, count);
	ck_assert_uint_eq(count[0], 5);
	ck_assert_uint_eq(count[1], 15);
	count_arrivals(19, count); /* lane 1 is empty now and then */
	ck_assert_uint_eq(count[0] + count[1], 19);
	end();
}
END_TEST

START_TEST(the_high_table_goes_first_up_to_its_limit)
{
	uint32_t count[2];

	start("progress=manual fault=" SLOW);
	weigh(3, IB_VL_ARB_LOW_1, 5, 0);
	weigh(3, IB_VL_ARB_HIGH_1, 0, 255);
	lanes_of(sw, 3, TWO_LANES, LIFE_NONE, 255);
	receive_many(30, &member[2]);
	send_many(10, 0, 2);
	send_many(20, 1, 2);
	count_arrivals(1, count);
	count_arrivals(10, count);
	ck_assert_uint_eq(count[1], 10);
	lanes_of(sw, 3, TWO_LANES, LIFE_NONE, 0);
	count_arrivals(10, count); /* of these one is on the cable already */
	ck_assert_uint_ge(count[0], 4);
	ck_assert_uint_le(count[0], 5);
	end();
}
END_TEST

/* One port's lanes do not wait for each other: each has packets of its own. */
START_TEST(a_full_lane_of_an_hca_does_not_hold_up_another)
{
	struct member second;
	struct ib_port_counters c;

	start("progress=manual fault=slow,switch=0x100,port=1,rate=1MB");
	member_up(&second, &hca[0], &ud);
	second.sl = 1;
	receive_many(41, &member[2]);
	post_many(&member[0], &member[2], 40); /* more than the port may have under way */
	while (counters_of(&hca[0], 1).xmit_packets < 24)
		step();
	ck_assert_uint_eq(soft_clock(), 0);
	send_by(&second, 3, member[2].qp->ci->qp_num, 0);
	expect_wc(member[2].cq, 2, IB_WC_SUCCESS); /* was on the cable */
	ck_assert_uint_eq(expect_wc(member[2].cq, 2, IB_WC_SUCCESS).src_qp, second.qp->ci->qp_num);
	for (uint32_t i = 0; i < 39; i++)
		expect_wc(member[2].cq, 2, IB_WC_SUCCESS);
	/* the sender has waited for as long as the packets beyond those under way took */
	c = counters_of(&hca[0], 1);
	ck_assert_uint_gt(c.xmit_wait, wire_bytes());
	member_down(&second);
	end();
}
END_TEST

START_TEST(subnet_management_overtakes_data_that_wait)
{
	struct member manager, agent;

	start("progress=manual fault=" SLOW);
	weigh(3, IB_VL_ARB_LOW_1, 5, 5);
	member_up(&manager, &hca[0], &smi);
	member_up(&agent, &hca[2], &smi);
	receive_many(10, &member[2]);
	receive_many(2, &agent);
	send_many(10, 0, 2);
	send_by(&manager, 3, 0, 0);
	expect_from(&agent, &manager);
	ck_assert_uint_eq(counters_of(&hca[2], 1).rcv_packets, 2);
	lanes_of(sw, 3, TWO_LANES, 0, 0); /* data may wait for 4 us, and management for ever */
	send_by(&manager, 3, 0, 0);
	expect_from(&agent, &manager);
	ck_assert_uint_gt(counters_of(sw, 3).xmit_discards, 0);
	member_down(&manager);
	member_down(&agent);
	end();
}
END_TEST

/* ---------------------------------------------------------------------- discards */

/* _i: packets grow too old at the head of their lane, or in the switch. */
START_TEST(a_switch_discards_packets_that_are_too_old)
{
	struct ib_switch_info info = { 0 };
	uint32_t count[2];

	start("progress=manual fault=" SLOW);
	if (!_i)
		lanes_of(sw, 3, TWO_LANES, 9, 255); /* 2.1 ms: seven packets */
	lanes_of(sw, 3, TWO_LANES, _i ? LIFE_NONE : 9, 255);
	if (_i) {
		attribute(sw, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info));
		ib_switch_info_set_life_time(&info, 9);
		attribute(sw, 0, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info));
	}
	weigh(3, IB_VL_ARB_LOW_1, 5, 0);
	weigh(3, IB_VL_ARB_HIGH_1, 0, 255);
	receive_many(30, &member[2]);
	send_many(2, 0, 2);
	send_many(12, 1, 2);
	count_arrivals(_i ? 8 : 13, count);
	ck_assert_uint_eq(count[0], 1); /* the one that was on the cable */
	run_all();
	expect_empty(member[2].cq);
	ck_assert_uint_eq(counters_of(sw, 3).xmit_discards, _i ? 6 : 1);
	ck_assert_uint_eq(counters_of(sw, 3).xmit_packets, _i ? 8 : 13);
	end();
}
END_TEST

static void set_stall_count(uint32_t count)
{
	struct ib_port_info info = port_info(sw, 3);

	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	ib_port_info_set_vl_stall_count(&info, count);
	ck_assert_uint_eq(attribute(sw, 3, IB_METHOD_SET, IB_SMP_PORT_INFO, 3, &info, sizeof(info)),
			  0);
}

/* Lane 1 goes first, and packets of lane 0 may be the first of their lane for the time of one
 * packet and a half. */
static void start_stalling(uint32_t count)
{
	start("progress=manual fault=" SLOW);
	lanes_of(sw, 3, TWO_LANES, 7, 255);
	weigh(3, IB_VL_ARB_LOW_1, 5, 0);
	weigh(3, IB_VL_ARB_HIGH_1, 0, 255);
	set_stall_count(count);
	receive_many(40, &member[2]);
}

/* Sends packets on both lanes, the first on lane 0, and waits until no packet is left. Returns how
 * many of lane 0 arrive. */
static uint32_t send_on_both(uint32_t lane_0, uint32_t lane_1)
{
	const uint64_t before = counters_of(&hca[2], 1).rcv_packets;

	send_many(lane_0, 0, 2);
	send_many(lane_1, 1, 2);
	run_all();
	return (uint32_t)(counters_of(&hca[2], 1).rcv_packets - before) - lane_1;
}

/* Without a stall the third packet of lane 0 goes when lane 1 is empty. */
START_TEST(a_lane_stalls_after_a_row_of_discards)
{
	start_stalling(2);
	ck_assert_uint_eq(send_on_both(4, 4), 1); /* two are too long at the head of the lane */
	ck_assert_uint_eq(counters_of(sw, 3).xmit_discards, 3);
	ck_assert_uint_eq(send_on_both(2, 0), 0); /* though the cable is free */
	ck_assert_uint_eq(counters_of(sw, 3).xmit_discards, 5);
	ck_assert_uint_eq(send_on_both(0, 6), 0); /* the other lane goes on */
	ck_assert_uint_eq(send_on_both(1, 0), 0);
	ck_assert_uint_eq(send_on_both(0, 8), 0); /* eight times HOQLife have passed */
	ck_assert_uint_eq(send_on_both(1, 0), 1);
	ck_assert_uint_eq(counters_of(sw, 3).xmit_discards, 6);
	end();
}
END_TEST

/* _i: VLStallCount; 0 is none. */
START_TEST(a_lane_does_not_stall_after_fewer_discards)
{
	start_stalling(_i);
	ck_assert_uint_eq(send_on_both(4, 4), 2);
	ck_assert_uint_eq(send_on_both(4, 4), 2);
	ck_assert_uint_eq(counters_of(sw, 3).xmit_discards, 4);
	end();
}
END_TEST

START_TEST(packets_that_wait_for_a_pulled_cable_are_discarded)
{
	uint32_t count[2];

	start("progress=manual fault=" SLOW);
	receive_many(10, &member[2]);
	send_many(10, 0, 2);
	count_arrivals(2, count);
	ck_assert_int_eq(vendor(&hca[2], SOFT_PORT_DOWN, &(uint32_t){ 1 }, sizeof(uint32_t)),
			 AL_SUCCESS);
	run_all();
	expect_empty(member[2].cq);
	ck_assert_uint_eq(counters_of(sw, 3).xmit_packets, 3); /* one was on the cable */
	ck_assert_uint_eq(counters_of(sw, 3).xmit_discards, 7);
	end();
}
END_TEST

START_TEST(a_subnet_goes_down_while_packets_wait)
{
	start("progress=manual fault=" SLOW);
	receive_many(10, &member[2]);
	send_many(10, 0, 2);
	send_many(10, 1, 2);
	end();
}
END_TEST

/* Without manual progress the fabric's engine sends what waits. */
START_TEST(a_slow_cable_needs_no_thread_that_polls)
{
	uint32_t i;

	start("fault=slow,switch=0x100,port=3,rate=10MB");
	receive_many(20, &member[2]);
	send_many(20, 0, 2);
	while (counters_of(&hca[2], 1).rcv_packets < 20)
		usleep(0);
	for (i = 0; i < 20; i++)
		expect_wc(member[2].cq, 2, IB_WC_SUCCESS);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: fabric: lanes");
	TCase *t = tcase_create("lanes");

	tcase_add_test(t, a_service_level_without_a_lane_does_not_leave_an_hca);
	tcase_add_test(t, a_switch_has_a_lane_for_each_pair_of_ports);
	tcase_add_loop_test(t, a_port_takes_no_packet_on_a_lane_that_does_not_operate, 0, 2);
	tcase_add_test(t, lanes_count_as_their_code_says_and_the_port_has_eight);
	tcase_add_loop_test(t, a_slow_cable_carries_one_packet_after_the_other_at_its_rate, 0, 2);
	tcase_add_test(t, a_cable_that_is_mended_sends_what_waits_at_once);
	tcase_add_test(t, lanes_share_a_slow_cable_by_their_weights);
	tcase_add_test(t, the_high_table_goes_first_up_to_its_limit);
	tcase_add_test(t, a_full_lane_of_an_hca_does_not_hold_up_another);
	tcase_add_test(t, subnet_management_overtakes_data_that_wait);
	tcase_add_loop_test(t, a_switch_discards_packets_that_are_too_old, 0, 2);
	tcase_add_test(t, a_lane_stalls_after_a_row_of_discards);
	tcase_add_loop_test(t, a_lane_does_not_stall_after_fewer_discards, 0, 1);
	tcase_add_loop_test(t, a_lane_does_not_stall_after_fewer_discards, 3, 4);
	tcase_add_test(t, packets_that_wait_for_a_pulled_cable_are_discarded);
	tcase_add_test(t, a_subnet_goes_down_while_packets_wait);
	tcase_add_test(t, a_slow_cable_needs_no_thread_that_polls);
	suite_add_tcase(s, t);
	return run_suite(s);
}
