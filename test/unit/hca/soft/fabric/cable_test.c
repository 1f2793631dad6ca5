/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slow and lossy cables: rules for the packets that leave a switch, and where the far port of the
 * cable counts what the cable does. The subnet is a ring of three switches with an HCA each: port 1
 * of a switch leads to port 2 of the next, port 3 to the HCA. What HCA 0 sends to HCA 1 leaves
 * switch 0 by port 1.
 */
#include "switch_bed.h"

static void ring(const char *settings)
{
	ck_assert_int_eq(shape_ring(&topology, 3, 1, 0x100), AL_SUCCESS);
	managed(settings);
	manage();
	members_up(3, &ud);
}

static void end(void)
{
	members_down(3);
	finish();
}

static void send_to(uint32_t from, uint32_t to)
{
	send_by(&member[from], port_of(&hca[to], 1).lid, member[to].qp->ci->qp_num, 0);
}

/* Sends a datagram, which arrives or does not. */
static void expect_arrives(uint32_t from, uint32_t to, bool arrives)
{
	send_to(from, to);
	if (arrives)
		expect_from(&member[to], &member[from]);
	else
		expect_empty(member[to].cq);
}

/* Errors that the port of a node has counted: received errors, errors of symbols. */
static void expect_errors(const struct hca *h, uint8_t port, uint64_t received, uint64_t symbols)
{
	const struct ib_port_counters counters = port_of(h, port).counters;

	ck_assert_uint_eq(counters.rcv_errors, received);
	ck_assert_uint_eq(counters.symbol_errors, symbols);
}

/* Adds a rule for the second and the third packet of a port. */
static void bad_cable(struct hca *h, uint32_t port, uint32_t action)
{
	fault(h, (struct soft_fault){ .action = action, .port = port, .n = 2, .count = 2 });
}

static void expect_second_and_third_missing(uint32_t from, uint32_t to)
{
	uint32_t i;

	receive(&member[to]);
	receive(&member[to]);
	for (i = 1; i <= 4; i++)
		expect_arrives(from, to, i != 2 && i != 3);
}

/* _i: between two switches, or between a switch and an HCA. */
START_TEST(a_damaged_packet_is_dropped_by_the_next_port_for_its_vcrc)
{
	const uint8_t far_port = _i ? 1 : 2;
	const struct hca *far;
	uint64_t sent, taken;

	ring("");
	far = _i ? &hca[1] : &sw[1];
	sent = port_of(&sw[_i], _i ? 3 : 1).counters.xmit_packets;
	taken = port_of(far, far_port).counters.rcv_packets;
	bad_cable(&sw[_i], _i ? 3 : 1, SOFT_FAULT_CORRUPT);
	expect_second_and_third_missing(0, 1);
	ck_assert_uint_eq(port_of(&sw[_i], _i ? 3 : 1).counters.xmit_packets, sent + 4);
	ck_assert_uint_eq(port_of(far, far_port).counters.rcv_packets, taken + 2);
	expect_errors(far, far_port, 2, 2);
	expect_errors(&sw[_i], _i ? 3 : 1, 0, 0);
	ck_assert_uint_eq(fault_met(&sw[_i]), 2);
	end();
}
END_TEST

START_TEST(a_lost_packet_is_an_error_of_symbols_only)
{
	ring("");
	receive(&member[1]);
	expect_arrives(0, 1, true); /* sent before the rule, which does not count this packet */
	bad_cable(&sw[0], 1, SOFT_FAULT_DROP);
	expect_second_and_third_missing(0, 1);
	expect_errors(&sw[1], 2, 0, 2);
	ck_assert_uint_eq(port_of(&sw[0], 1).counters.xmit_discards, 0);
	end();
}
END_TEST

START_TEST(the_other_direction_and_other_ports_are_well)
{
	ring("");
	fault(&sw[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .port = 1 });
	receive(&member[0]);
	expect_arrives(1, 0, true);
	receive(&member[2]);
	expect_arrives(0, 2, true);
	receive(&member[1]);
	expect_arrives(0, 1, false);
	ck_assert_int_eq(vendor(&sw[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	expect_arrives(0, 1, true);
	ck_assert_uint_eq(fault_met(&sw[0]), 1);
	end();
}
END_TEST

/* A chance depends on the seed only, so a second subnet, with the rule from IBAL_FAULT, loses the
 * same packets. */
START_TEST(a_rule_without_a_port_is_for_each_and_chances_are_those_of_the_seed)
{
	uint64_t lost[2][2];
	uint32_t run, i;

	for (run = 0; run < 2; run++) {
		if (run)
			setenv("IBAL_FAULT", "corrupt,switch=0x100,chance=50%", 1);
		ring(run ? "seed=7" : "seed=7 fault=corrupt,switch=0x100,chance=50%");
		for (i = 0; i < 200; i++) {
			send_to(0, 1);
			send_to(0, 2);
		}
		lost[run][0] = port_of(&sw[1], 2).counters.rcv_errors;
		lost[run][1] = port_of(&sw[2], 1).counters.rcv_errors;
		ck_assert_uint_eq(fault_met(&sw[0]), lost[run][0] + lost[run][1]);
		end();
	}
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(lost[0][i], lost[1][i]);
		ck_assert_uint_gt(lost[0][i], 60);
		ck_assert_uint_lt(lost[0][i], 140);
	}
	unsetenv("IBAL_FAULT");
	ck_assert_uint_ne(lost[0][0], lost[0][1]); /* the ports draw on their own */
}
END_TEST

/* In virtual time. The second packet and the fourth are slow, and the third overtakes the second.
 */
START_TEST(a_slow_cable_delivers_each_packet_at_its_time)
{
	const uint64_t ms = 1000000;
	int i;

	ring("progress=manual fault=delay,switch=0x100,port=1,n=2,time=2ms;"
	     "delay,switch=0x100,port=1,n=4,count=0,time=5ms");
	for (i = 0; i < 5; i++)
		receive(&member[1]);
	for (i = 0; i < 4; i++)
		send_to(0, 1);
	for (i = 0; i < 2; i++)
		expect_wc(member[1].cq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(soft_clock(), 0);
	expect_wc(member[1].cq, 2, IB_WC_SUCCESS);
	ck_assert_uint_ge(soft_clock(), 2 * ms);
	ck_assert_uint_lt(soft_clock(), 2 * ms + 4096);
	expect_wc(member[1].cq, 2, IB_WC_SUCCESS);
	ck_assert_uint_ge(soft_clock(), 5 * ms);
	ck_assert_uint_lt(soft_clock(), 5 * ms + 4096);
	expect_errors(&sw[1], 2, 0, 0);
	send_to(0, 1); /* still on its way when the subnet goes down */
	end();
}
END_TEST

/* Without manual progress the fabric's engine delivers late packets. */
START_TEST(a_delay_needs_no_thread_that_polls)
{
	ring("");
	fault(&sw[0], (struct soft_fault){ .action = SOFT_FAULT_DELAY, .delay_ns = 1000000 });
	receive(&member[1]);
	send_to(0, 1);
	while (!port_of(&hca[1], 1).counters.rcv_packets)
		usleep(0);
	expect_from(&member[1], &member[0]);
	end();
}
END_TEST

static struct soft_fault_words words;

static void explain(const char *text)
{
	static struct soft_fault_text in;
	struct ci_vendor_call call = { .code = SOFT_FAULT_EXPLAIN,
				       .in = &in,
				       .in_len = sizeof(in),
				       .out = &words,
				       .out_len = sizeof(words) };

	snprintf(in.text, sizeof(in.text), "%s", text);
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_SUCCESS);
}

START_TEST(rules_for_switches_are_explained)
{
	ring("");
	explain("drop,switch=0x100");
	ck_assert_str_eq(words.why, "");
	ck_assert_str_eq(words.words[0],
			 "switch 0x0000000000000100: each packet by each port is lost");
	explain("delay,port=3,time=2ms,switch=768,n=2,chance=1%");
	ck_assert_str_eq(words.why, "");
	ck_assert_str_eq(
		words.words[0],
		"switch 0x0000000000000300: packet 2 by port 3 arrives later by 2 ms, by a chance of 1 %");
	explain("slow,switch=0x100,port=3,rate=2500KB");
	ck_assert_str_eq(words.why, "");
	ck_assert_str_eq(words.words[0],
			 "switch 0x0000000000000100: each packet by port 3 waits for the cable, "
			 "which carries 2500 KB per second in each direction");
	explain("mark,switch=0x100,n=2;overrun,switch=0x100,n=3;recover,switch=0x100,n=4;"
		"flap,switch=0x100,port=3,chance=0.1%");
	ck_assert_str_eq(words.why, "");
	ck_assert_str_eq(
		words.words[0],
		"switch 0x0000000000000100: packet 2 by each port is marked as bad by the switch, and is "
		"dropped by the next port");
	ck_assert_str_eq(words.words[1],
			 "switch 0x0000000000000100: packet 3 by each port finds no buffer at "
			 "the next port, and is lost");
	ck_assert_str_eq(words.words[2],
			 "switch 0x0000000000000100: packet 4 by each port is lost, and the "
			 "cable's link recovers");
	ck_assert_str_eq(
		words.words[3],
		"switch 0x0000000000000100: each packet by port 3 is lost, and the cable's link goes down "
		"and trains again, by a chance of 0.1 %");
	explain("drop,switch=0x100,port=4,n=1");
	ck_assert_str_eq(words.why, "the switch has no such port");
	ck_assert_uint_eq(words.at, 23);
	explain("drop,switch=0x400,port=1");
	ck_assert_str_eq(words.why, "there is no such switch");
	ck_assert_uint_eq(words.at, 12);
	/* a rate does not compete with the other rules */
	explain("slow,switch=0x100,rate=1MB;delay,switch=0x100,time=1ms;drop,switch=0x100,port=3;"
		"drop,switch=0x200;slow,switch=0x100,port=1,rate=2MB");
	ck_assert_str_eq(words.why, "");
	ck_assert_ptr_null(strstr(words.words[0], "never"));
	ck_assert_ptr_null(strstr(words.words[1], "never"));
	ck_assert_str_eq(words.words[2],
			 "switch 0x0000000000000100: each packet by port 3 is lost, "
			 "but never: rule 2 takes each of them before");
	ck_assert_ptr_null(strstr(words.words[3], "never"));
	ck_assert_ptr_null(strstr(words.words[4], "never"));
	end();
}
END_TEST

/* A rule for each port is one rule of each port; a rate is one of both ends. */
START_TEST(rules_in_force_are_listed_by_ports)
{
	const struct soft_fault_list *list;

	ring("fault=slow,switch=0x100,port=1,rate=1GB;drop,switch=0x300,port=3,n=7 "
	     "[hca 2] fault=drop,n=99");
	bad_cable(&sw[0], 0, SOFT_FAULT_CORRUPT);
	expect_second_and_third_missing(0, 1);
	list = rules_in_force(&sw[2], 0);
	ck_assert_uint_eq(list->num, 7);
	ck_assert_uint_eq(list->rules[0].guid, hca[2].attr.node_guid);
	ck_assert_str_eq(list->rules[1].words,
			 "switch 0x0000000000000100: each packet by port 1 waits for the cable, "
			 "which carries 1 GB per second in each direction");
	ck_assert_uint_eq(list->rules[1].met, SOFT_NOT_COUNTED);
	ck_assert_uint_eq(list->rules[2].fault.port, 1);
	ck_assert_uint_eq(list->rules[2].met, 2);
	ck_assert_uint_eq(list->rules[3].fault.port, 2);
	ck_assert_uint_eq(list->rules[3].met, 0);
	ck_assert_uint_eq(list->rules[4].fault.port, 3);
	ck_assert_uint_eq(list->rules[5].guid, 0x200);
	ck_assert_uint_eq(list->rules[5].fault.rate, 1000000000);
	ck_assert_str_eq(list->rules[6].words,
			 "switch 0x0000000000000300: packet 7 by port 3 is lost");
	fault(&sw[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .port = 1, .n = 99 });
	list = rules_in_force(&hca[0], 0);
	ck_assert_uint_eq(list->num, 8);
	ck_assert_uint_eq(list->rules[2].met, 2);
	ck_assert_uint_eq(list->rules[3].met, 0);
	ck_assert_int_eq(vendor(&sw[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	ck_assert_uint_eq(rules_in_force(&hca[0], 0)->num, 2); /* the rate is gone at both ends */
	end();
}
END_TEST

START_TEST(rules_that_no_cable_has_are_refused)
{
	const struct soft_fault wrong[] = {
		{ .action = SOFT_FAULT_DUPLICATE },
		{ .action = SOFT_FAULT_DROP, .port = 4 },
		{ .action = SOFT_FAULT_DROP, .qpn = 1 },
		{ .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST },
		{ .action = SOFT_FAULT_DROP, .match = SOFT_MATCH_PSN },
		{ .action = SOFT_FAULT_DELAY },
		{ .action = SOFT_FAULT_SLOW },
		{ .action = SOFT_FAULT_SLOW, .rate = 999 },
		{ .action = SOFT_FAULT_SLOW, .rate = 1000000000001 },
		{ .action = SOFT_FAULT_SLOW, .rate = 1000, .n = 1 },
		{ .action = SOFT_FAULT_SLOW, .rate = 1000, .chance = 1 },
		{ .action = SOFT_FAULT_DROP, .rate = 1000 },
	};
	const struct soft_fault good = { .action = SOFT_FAULT_DROP, .port = 3 };
	uint32_t i;

	ring("");
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ck_assert_int_eq(vendor(sw, SOFT_FAULT_ADD, &wrong[i], sizeof(*wrong)),
				 AL_INVALID_PARAMETER);
	for (i = 0; i < SOFT_FAULT_RULES; i++)
		ck_assert_int_eq(vendor(sw, SOFT_FAULT_ADD, &good, sizeof(good)), AL_SUCCESS);
	ck_assert_int_eq(vendor(sw, SOFT_FAULT_ADD, &good, sizeof(good)), AL_LIMIT_EXCEEDED);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: fabric: cables");
	TCase *t = tcase_create("cables");

	tcase_add_loop_test(t, a_damaged_packet_is_dropped_by_the_next_port_for_its_vcrc, 0, 2);
	tcase_add_test(t, a_lost_packet_is_an_error_of_symbols_only);
	tcase_add_test(t, the_other_direction_and_other_ports_are_well);
	tcase_add_test(t, a_rule_without_a_port_is_for_each_and_chances_are_those_of_the_seed);
	tcase_add_test(t, a_slow_cable_delivers_each_packet_at_its_time);
	tcase_add_test(t, a_delay_needs_no_thread_that_polls);
	tcase_add_test(t, rules_for_switches_are_explained);
	tcase_add_test(t, rules_in_force_are_listed_by_ports);
	tcase_add_test(t, rules_that_no_cable_has_are_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
