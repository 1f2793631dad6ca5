/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which lane the arbiter of a port lets send, beside IBTA 7.6.9. */
#include "hca/soft/fabric/arbiter.h"

#include <string.h>

#include "../harness.h"

#define LARGE 4096u /* bytes: 64 units */

static struct arbiter arbiter;
static struct lanes lanes;
static uint32_t sent[LANES]; /* packets, by lane */

/* Sets the first entries of a table. */
static void weigh(uint32_t part, uint32_t num, const uint8_t (*entry)[2])
{
	struct ib_vl_arb_table table = { 0 };
	uint32_t i;

	for (i = 0; i < num; i++) {
		table.entry[i].vl = entry[i][0];
		table.entry[i].weight = entry[i][1];
	}
	ck_assert(lanes_weights_attr(&lanes, part, true, (uint8_t *)&table));
}

#define WEIGH(part, ...) \
	weigh(part, sizeof((uint8_t[][2]){ __VA_ARGS__ }) / 2, (const uint8_t[][2]){ __VA_ARGS__ })

static void start(uint32_t high_limit)
{
	struct ib_port_info info = { .vl_high_limit = (uint8_t)high_limit };

	memset(&arbiter, 0, sizeof(arbiter));
	memset(&sent, 0, sizeof(sent));
	lanes_init(&lanes);
	lanes_set_info(&lanes, &info);
}

/* Sends one packet of a lane that is ready. */
static uint8_t send_one(uint32_t ready, uint32_t bytes)
{
	const uint8_t lane = arbiter_choose(&arbiter, &lanes, ready);

	ck_assert(ready & 1u << lane);
	arbiter_charge(&arbiter, bytes);
	sent[lane]++;
	return lane;
}

static void send_many(uint32_t num, uint32_t ready, uint32_t bytes)
{
	while (num--)
		send_one(ready, bytes);
}

START_TEST(lanes_that_are_always_ready_share_the_port_by_their_weights)
{
	start(0);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 64 }, { 1, 128 }, { 2, 192 });
	send_many(600, 7, LARGE);
	ck_assert_uint_eq(sent[0], 100);
	ck_assert_uint_eq(sent[1], 200);
	ck_assert_uint_eq(sent[2], 300);
}
END_TEST

START_TEST(a_lane_with_any_weight_left_sends_a_whole_packet)
{
	start(0);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 1 }, { 1, 3 });
	send_many(400, 3, 64);
	ck_assert_uint_eq(sent[1], 3 * sent[0]);
	start(0);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 1 }, { 1, 3 });
	send_many(300, 3, 65); /* two units: the second packet has one unit left */
	ck_assert_uint_eq(sent[1], 2 * sent[0]);
	start(0);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 1 }, { 1, 3 });
	send_many(300, 3, LARGE);
	ck_assert_uint_eq(sent[1], sent[0]);
}
END_TEST

START_TEST(a_lane_that_is_not_ready_gives_its_turn_away)
{
	start(0);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 255 }, { 1, 1 });
	send_many(10, 2, LARGE);
	ck_assert_uint_eq(sent[1], 10);
	send_many(10, 1, LARGE);
	ck_assert_uint_eq(sent[0], 10);
}
END_TEST

START_TEST(a_lane_without_a_weight_sends_when_no_other_is_ready)
{
	start(0);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 64 }, { 1, 0 });
	send_many(50, 1 << 0 | 1 << 1 | 1 << 5, LARGE);
	ck_assert_uint_eq(sent[0], 50);
	send_many(50, 1 << 1 | 1 << 5, LARGE);
	ck_assert_uint_eq(sent[1], 25);
	ck_assert_uint_eq(sent[5], 25);
}
END_TEST

START_TEST(lanes_take_turns_where_no_table_has_been_set)
{
	const uint8_t order[] = { 4, 14, 0, 4, 14, 0 };
	uint32_t i;

	start(0);
	for (i = 0; i < 6; i++)
		ck_assert_uint_eq(send_one(1 << 0 | 1 << 4 | 1 << 14, LARGE), order[i]);
	ck_assert_uint_eq(arbiter_choose(&arbiter, NULL, 1 << 3 | 1 << 0), 3);
}
END_TEST

/* Lane 1 is in the high table, lane 0 in the low one. */
static void high_and_low(uint32_t limit)
{
	start(limit);
	WEIGH(IB_VL_ARB_LOW_1, { 0, 64 });
	WEIGH(IB_VL_ARB_HIGH_1, { 1, 64 });
	send_one(1, LARGE); /* the low table has had its chance */
	sent[0] = 0;
}

START_TEST(the_high_table_gives_the_low_one_a_chance_at_its_limit)
{
	high_and_low(255);
	send_many(1000, 3, LARGE);
	ck_assert_uint_eq(sent[0], 0);
	send_many(600000, 3, LARGE); /* more than 2 GiB */
	ck_assert_uint_eq(sent[0], 0);
	high_and_low(0); /* one packet */
	send_many(100, 3, 64);
	ck_assert_uint_eq(sent[0], 50);
	high_and_low(3); /* three times 4096 bytes */
	send_many(100, 3, LARGE);
	ck_assert_uint_eq(sent[0], 25);
	ck_assert_uint_eq(sent[1], 75);
}
END_TEST

START_TEST(a_chance_that_no_low_lane_takes_is_gone)
{
	high_and_low(2);
	send_many(2, 2, LARGE); /* the limit is reached */
	send_many(1, 2, LARGE); /* low lanes had their chance */
	ck_assert_uint_eq(send_one(3, LARGE), 1);
	ck_assert_uint_eq(send_one(3, LARGE), 0);
	ck_assert_uint_eq(send_one(3, LARGE), 1);
}
END_TEST

START_TEST(a_part_that_no_port_has_is_refused)
{
	struct ib_vl_arb_table table = { .entry[0] = { 1, 2 } };

	start(0);
	ck_assert(!lanes_weights_attr(&lanes, 0, true, (uint8_t *)&table));
	ck_assert(!lanes_weights_attr(&lanes, IB_VL_ARB_LOW_2, true, (uint8_t *)&table));
	ck_assert(!lanes_weights_attr(&lanes, IB_VL_ARB_HIGH_2, true, (uint8_t *)&table));
	ck_assert(!lanes_weights_attr(&lanes, 5, true, (uint8_t *)&table));
	ck_assert(lanes_weights_attr(&lanes, IB_VL_ARB_LOW_1, false, (uint8_t *)&table));
	ck_assert_uint_eq(table.entry[0].weight, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: fabric: arbiter");
	TCase *t = tcase_create("arbiter");

	tcase_add_test(t, lanes_that_are_always_ready_share_the_port_by_their_weights);
	tcase_add_test(t, a_lane_with_any_weight_left_sends_a_whole_packet);
	tcase_add_test(t, a_lane_that_is_not_ready_gives_its_turn_away);
	tcase_add_test(t, a_lane_without_a_weight_sends_when_no_other_is_ready);
	tcase_add_test(t, lanes_take_turns_where_no_table_has_been_set);
	tcase_add_test(t, the_high_table_gives_the_low_one_a_chance_at_its_limit);
	tcase_add_test(t, a_chance_that_no_low_lane_takes_is_gone);
	tcase_add_test(t, a_part_that_no_port_has_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
