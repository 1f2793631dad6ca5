/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ladder of a port's states, and what waits for a port: by themselves, without a thread that delivers. */
#include <check.h>
#include <stdlib.h>

#include "al/object/port.h"

static struct ladder at(ib_port_state state)
{
	struct ladder l = { 0 };

	ladder_init(&l, state);
	return l;
}

/* Walks to the end, and compares with what is expected: digits of enum ib_port_state. */
static void expect_walk(struct ladder *l, const char *want)
{
	char got[32] = "";
	ib_port_state step;
	int n = 0;

	while ((step = ladder_step(l)) != IB_PORT_NOP && n < 31)
		got[n++] = (char)('0' + step);
	ck_assert_str_eq(got, want);
}

START_TEST(the_first_port_state_is_not_reported)
{
	for (int state = IB_PORT_DOWN; state <= IB_PORT_ACTIVE; state++) {
		struct ladder l = at((ib_port_state)state);

		expect_walk(&l, "");
	}
}
END_TEST

START_TEST(every_step_between_two_port_states_is_delivered_in_order)
{
	static const char *const want[5][5] = {
		[1] = { [1] = "", [2] = "2", [3] = "23", [4] = "234" },
		[2] = { [1] = "1", [2] = "", [3] = "3", [4] = "34" },
		[3] = { [1] = "1", [2] = "12", [3] = "", [4] = "4" },
		[4] = { [1] = "1", [2] = "12", [3] = "123", [4] = "" },
	};

	for (int from = 1; from <= 4; from++)
		for (int to = 1; to <= 4; to++) {
			struct ladder l = at((ib_port_state)from);

			ladder_set(&l, (ib_port_state)to);
			expect_walk(&l, want[from][to]);
			expect_walk(&l, "");
		}
}
END_TEST

START_TEST(a_fall_through_down_is_never_merged_away)
{
	struct ladder l = at(IB_PORT_ACTIVE);

	ladder_set(&l, IB_PORT_DOWN);
	ladder_set(&l, IB_PORT_INIT);
	ladder_set(&l, IB_PORT_ARMED);
	ladder_set(&l, IB_PORT_ACTIVE);
	expect_walk(&l, "1234");
}
END_TEST

START_TEST(a_fall_in_the_middle_of_the_walk_begins_again_with_down)
{
	struct ladder l = at(IB_PORT_DOWN);

	ladder_set(&l, IB_PORT_ACTIVE);
	ck_assert_int_eq(ladder_step(&l), IB_PORT_INIT);
	ladder_set(&l, IB_PORT_DOWN);
	ladder_set(&l, IB_PORT_ARMED);
	expect_walk(&l, "123");
}
END_TEST

START_TEST(several_falls_before_a_report_merge)
{
	struct ladder l = at(IB_PORT_ACTIVE);

	for (int i = 0; i < 3; i++) {
		ladder_set(&l, IB_PORT_DOWN);
		ladder_set(&l, IB_PORT_ACTIVE);
	}
	expect_walk(&l, "1234");
}
END_TEST

START_TEST(the_same_state_again_is_no_news)
{
	struct ladder l = at(IB_PORT_ARMED);

	ladder_set(&l, IB_PORT_ARMED);
	expect_walk(&l, "");
	l = at(IB_PORT_DOWN);
	ladder_set(&l, IB_PORT_DOWN);
	expect_walk(&l, "");
}
END_TEST

/* Who registers late hears the states as the events that led to them. */
START_TEST(a_newcomer_hears_of_the_steps_from_down)
{
	static const char *const want[] = { [1] = "1", [2] = "2", [3] = "23", [4] = "234" };

	for (int state = IB_PORT_DOWN; state <= IB_PORT_ACTIVE; state++) {
		struct ladder l = { .state = (uint32_t)state };

		expect_walk(&l, want[state]);
	}
}
END_TEST

START_TEST(an_event_that_came_before_the_first_state_wins)
{
	struct ladder l = { 0 };

	ladder_set(&l, IB_PORT_ACTIVE);
	ladder_init(&l, IB_PORT_INIT);
	expect_walk(&l, "");
	ladder_set(&l, IB_PORT_DOWN);
	expect_walk(&l, "1");
}
END_TEST

START_TEST(a_state_that_is_none_is_not_climbed_to)
{
	struct ladder l = at((ib_port_state)200);

	expect_walk(&l, "");
	ladder_set(&l, IB_PORT_DOWN);
	ladder_set(&l, IB_PORT_ACTIVE);
	expect_walk(&l, "1234");
}
END_TEST

/* ------------------------------------------------------------ what waits */

START_TEST(port_has_event_agrees_with_port_take_event)
{
	static const ib_event_type events[] = { IB_EVENT_PORT_DOWN, IB_EVENT_LID_CHANGE, IB_EVENT_PORT_ACTIVE,
						IB_EVENT_PKEY_CHANGE, IB_EVENT_PORT_INIT, IB_EVENT_LID_CHANGE };
	struct dev_port ports[3] = { 0 };
	ib_event_type type;
	uint32_t port, x = 1;

	for (int i = 1; i < 3; i++)
		ladder_init(&ports[i].ladder, IB_PORT_ACTIVE);
	ck_assert(!port_has_event(ports, 2));
	for (int i = 0; i < 10000; i++) {
		x = x * 1103515245 + 12345;
		if (x >> 30)
			port_add_event(&ports[1 + (x >> 16) % 2], events[(x >> 20) % 6]);
		else
			ck_assert_int_eq(port_has_event(ports, 2), port_take_event(ports, 2, &type, &port));
	}
	while (port_has_event(ports, 2))
		ck_assert(port_take_event(ports, 2, &type, &port));
	ck_assert(!port_take_event(ports, 2, &type, &port));
}
END_TEST

START_TEST(events_of_one_kind_and_port_merge_others_do_not)
{
	struct dev_port ports[3] = { 0 };
	ib_event_type type;
	uint32_t port;

	port_add_event(&ports[2], IB_EVENT_LID_CHANGE);
	port_add_event(&ports[2], IB_EVENT_LID_CHANGE);
	port_add_event(&ports[1], IB_EVENT_LID_CHANGE);
	port_add_event(&ports[2], IB_EVENT_SM_CHANGE);
	port_add_event(&ports[0], IB_EVENT_DEVICE_FATAL);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_DEVICE_FATAL && port == 0);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_LID_CHANGE && port == 1);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_LID_CHANGE && port == 2);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_SM_CHANGE && port == 2);
	ck_assert(!port_take_event(ports, 2, &type, &port));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ladder");
	TCase *tc = tcase_create("steps");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, the_first_port_state_is_not_reported);
	tcase_add_test(tc, every_step_between_two_port_states_is_delivered_in_order);
	tcase_add_test(tc, a_fall_through_down_is_never_merged_away);
	tcase_add_test(tc, a_fall_in_the_middle_of_the_walk_begins_again_with_down);
	tcase_add_test(tc, several_falls_before_a_report_merge);
	tcase_add_test(tc, the_same_state_again_is_no_news);
	tcase_add_test(tc, a_newcomer_hears_of_the_steps_from_down);
	tcase_add_test(tc, an_event_that_came_before_the_first_state_wins);
	tcase_add_test(tc, a_state_that_is_none_is_not_climbed_to);
	suite_add_tcase(suite, tc);
	tc = tcase_create("ports");
	tcase_add_test(tc, port_has_event_agrees_with_port_take_event);
	tcase_add_test(tc, events_of_one_kind_and_port_merge_others_do_not);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
