/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ladder of a port's states and the changes between its rungs: the ladder alone, without a thread that delivers. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "al/object/port.h"
#include "test/unit/al/port_history.h"
#include "test/unit/scale.h"

static struct ladder at(ib_port_state state)
{
	struct ladder l = { 0 };

	ladder_init(&l, state);
	return l;
}

static struct ladder newcomer(ib_port_state state)
{
	const struct ladder of = { 0 };
	struct ladder l;

	ladder_replay(&l, &of, state);
	return l;
}

/* Events are letters: D I R A the states Down, Initialize, Armed, Active; l p g s r f the changes.
 */
static const char letters[] = "DIRAlpgsrf";

static ib_event_type event_of(char letter)
{
	return (ib_event_type)(IB_EVENT_PORT_DOWN + (strchr(letters, letter) - letters));
}

static void add(struct ladder *l, const char *events)
{
	for (; *events; events++)
		ladder_add(l, event_of(*events));
}

/* Takes num events, and compares them with the expected ones. */
static void expect_some(struct ladder *l, int num, const char *want)
{
	char got[64] = "";
	ib_event_type type;
	int n = 0;

	while (n < num && ladder_take(l, &type))
		got[n++] = letters[type - IB_EVENT_PORT_DOWN];
	ck_assert_str_eq(got, want);
}

static void expect(struct ladder *l, const char *want)
{
	expect_some(l, 63, want);
	ck_assert(!ladder_has_event(l));
}

/* ------------------------------------------------------------------ states */

START_TEST(the_first_port_state_is_not_reported)
{
	for (int state = IB_PORT_DOWN; state <= IB_PORT_ACTIVE; state++) {
		struct ladder l = at((ib_port_state)state);

		expect(&l, "");
		ck_assert_int_eq(ladder_told(&l), state);
	}
}
END_TEST

START_TEST(every_step_between_two_port_states_is_delivered_in_order)
{
	static const char *const want[5][5] = {
		[1] = { [1] = "", [2] = "I", [3] = "IR", [4] = "IRA" },
		[2] = { [1] = "D", [2] = "", [3] = "R", [4] = "RA" },
		[3] = { [1] = "D", [2] = "DI", [3] = "", [4] = "A" },
		[4] = { [1] = "D", [2] = "DI", [3] = "DIR", [4] = "" },
	};

	for (int from = 1; from <= 4; from++)
		for (int to = 1; to <= 4; to++) {
			struct ladder l = at((ib_port_state)from);

			ladder_add(&l, (ib_event_type)(IB_EVENT_PORT_DOWN + to - 1));
			expect(&l, want[from][to]);
			ck_assert_int_eq(ladder_told(&l), to);
		}
}
END_TEST

/* Ethernet: also by ladders that follow or replay another one. */
START_TEST(a_port_without_steps_is_told_down_and_active_only)
{
	struct ladder of = { 0 }, follower = { 0 }, replay;
	ib_event_type type;

	ladder_skip_steps(&of);
	ladder_init(&of, IB_PORT_DOWN);
	ladder_replay(&replay, &of, IB_PORT_ACTIVE);
	expect(&replay, "A");
	add(&replay, "lDpA");
	expect(&replay, "lDpA");
	add(&of, "gA");
	expect(&of, "gA");
	add(&of, "DA");
	while (ladder_take(&of, &type))
		ladder_follow(&follower, type);
	expect(&follower, "DA");
	ladder_follow(&follower, IB_EVENT_PORT_DOWN);
	expect(&follower, "D");
	ladder_follow(&follower, IB_EVENT_PORT_ACTIVE);
	expect(&follower, "A");
}
END_TEST

START_TEST(a_fall_through_down_is_never_merged_away)
{
	struct ladder l = at(IB_PORT_ACTIVE);

	add(&l, "DIRA");
	expect(&l, "DIRA");
}
END_TEST

START_TEST(a_fall_in_the_middle_of_the_walk_begins_again_with_down)
{
	struct ladder l = at(IB_PORT_DOWN);

	add(&l, "A");
	expect_some(&l, 1, "I");
	add(&l, "DR");
	expect(&l, "DIR");
}
END_TEST

START_TEST(several_falls_before_a_report_merge)
{
	struct ladder l = at(IB_PORT_ACTIVE);

	add(&l, "DADADA");
	expect(&l, "DIRA");
}
END_TEST

START_TEST(a_fall_of_a_port_that_is_known_to_be_down_is_no_news)
{
	struct ladder l = at(IB_PORT_DOWN);

	add(&l, "ADI");
	expect(&l, "I");
}
END_TEST

START_TEST(the_same_state_again_is_no_news)
{
	struct ladder l = at(IB_PORT_ARMED);

	add(&l, "R");
	expect(&l, "");
	l = at(IB_PORT_DOWN);
	add(&l, "D");
	expect(&l, "");
}
END_TEST

/* A client that registers late gets the states as the events that led to them. */
START_TEST(a_newcomer_hears_of_the_steps_from_down)
{
	static const char *const want[] = { "", "D", "I", "IR", "IRA" };

	for (int state = IB_PORT_NOP; state <= IB_PORT_ACTIVE; state++) {
		struct ladder l = newcomer((ib_port_state)state);

		expect(&l, want[state]);
	}
}
END_TEST

START_TEST(an_event_that_came_before_the_first_state_wins)
{
	struct ladder l = { 0 };

	add(&l, "A");
	ladder_init(&l, IB_PORT_INIT);
	expect(&l, "");
	ck_assert_int_eq(ladder_told(&l), IB_PORT_ACTIVE);
	add(&l, "D");
	expect(&l, "D");
	l = (struct ladder){ 0 };
	add(&l, "lAIg"); /* the fall was before the first state known */
	ladder_init(&l, IB_PORT_ACTIVE);
	expect(&l, "lg");
}
END_TEST

START_TEST(a_state_that_is_none_is_not_climbed_to)
{
	struct ladder l = at((ib_port_state)200);

	expect(&l, "");
	add(&l, "DA");
	expect(&l, "DIRA");
}
END_TEST

START_TEST(a_follower_knows_from_the_first_state_what_was_told_before)
{
	static const char *const first[] = { "D", "I", "R", "A" };
	struct ladder l;

	for (int i = 0; i < 4; i++) {
		l = (struct ladder){ 0 };
		ladder_follow(&l, IB_EVENT_SM_CHANGE);
		ladder_follow(&l, event_of(*first[i]));
		expect_some(&l, 1, "s");
		expect(&l, first[i]);
	}
	/* A fall that begins is delivered even if the port is up again. */
	l = (struct ladder){ 0 };
	for (const char *c = "DIRA"; *c; c++)
		ladder_follow(&l, event_of(*c));
	expect(&l, "DIRA");
}
END_TEST

/* ----------------------------------------------------------------- changes */

static const struct {
	const char *before, *added, *want; /* before: added and taken, from Active */
} orders
	[] = {
		{ "", "lDIRA", "lDIRA" }, /* before the fall */
		{ "", "DlIRA", "DlIRA" }, /* in each place of the climb */
		{ "", "DIlRA", "DIlRA" },
		{ "", "DIRlA", "DIRlA" },
		{ "", "DIRAl", "DIRAl" },
		{ "", "lDlIlRlAl", "lDlIlRlAl" },
		{ "", "DIpllRp", "DIlpRp" }, /* changes merged between two steps, in the order of their types */
		{ "", "frsgpl", "lpgsrf" },
		/* a climb that is left out: before the Down that stands for the last fall */
		{ "", "lDIgRApDIR", "lpgDIR" },
		{ "", "lIgRpDsI", "lpgDsI" },
		{ "D", "lIgRApDsI", "lpgsI" }, /* Down is the last state delivered: before Initialize */
		{ "D", "lIgRApDsIr", "lpgsIr" },
		{ "DIR", "lAg", "lAg" },
		{ "DIR", "lDg", "lDg" },
		{ "DIR", "lIg", "lDIg" }, /* a fall without Down */
		{ "D", "lAg", "lIRAg" },  /* a jump over rungs: changes between those rungs come before the jump */
	};

START_TEST(a_change_is_told_between_the_steps_between_which_it_came)
{
	struct ladder l = at(IB_PORT_ACTIVE);

	add(&l, orders[_i].before);
	expect(&l, orders[_i].before);
	add(&l, orders[_i].added);
	expect(&l, orders[_i].want);
}
END_TEST

START_TEST(a_change_that_was_told_and_comes_again_is_told_again)
{
	struct ladder l = at(IB_PORT_INIT);

	add(&l, "l");
	expect(&l, "l");
	add(&l, "lRg");
	expect_some(&l, 1, "l");
	add(&l, "lD");
	expect(&l, "lgD");
}
END_TEST

START_TEST(a_newcomer_hears_of_changes_where_they_came)
{
	struct ladder l = newcomer(IB_PORT_DOWN);

	add(&l, "l");
	expect(&l, "Dl");
	l = newcomer(IB_PORT_INIT);
	add(&l, "lRg");
	expect(&l, "IlRg");
	l = newcomer(IB_PORT_DOWN);
	add(&l, "lI");
	expect(&l, "lI");
}
END_TEST

/* ------------------------------------------------------------------- model */

/*
 * A model with a list of the events that are not delivered yet, without bits and without merging in advance. Each
 * call finds the next event anew.
 */
struct model {
	uint32_t start, known; /* the port's state before the list; the last state delivered */
	struct history list;
};

/* Removes the events of this type (0: all states) before index end. */
static void model_remove(struct model *m, uint32_t end, ib_event_type type)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->list.num; i++) {
		ib_event_type e = m->list.event[i];

		if (i >= end || (type ? e != type : !history_state(e)))
			m->list.event[kept++] = e;
	}
	m->list.num = kept;
}

/* Returns the lowest change before index end; 0: none. */
static ib_event_type model_change(const struct model *m, uint32_t end)
{
	ib_event_type found = (ib_event_type)0;

	for (uint32_t i = 0; i < end; i++)
		if (!history_state(m->list.event[i]) && (!found || m->list.event[i] < found))
			found = m->list.event[i];
	return found;
}

/* Returns the index after the last fall (0: none), and the port's state. */
static uint32_t model_fall(const struct model *m, uint32_t *state)
{
	uint32_t fall = 0;

	*state = m->start;
	for (uint32_t i = 0; i < m->list.num; i++) {
		uint32_t s = history_state(m->list.event[i]);

		if (s && s < *state)
			fall = i + 1;
		*state = s ? s : *state;
	}
	return fall;
}

/*
 * Removes all events up to the last fall. The state to which the port fell stays, as the first state of a climb from
 * Down.
 */
static void model_fell(struct model *m, uint32_t fall)
{
	ib_event_type last = m->list.event[fall - 1];

	model_remove(m, fall, (ib_event_type)0);
	memmove(&m->list.event[1], m->list.event, m->list.num * sizeof(*m->list.event));
	m->list.event[0] = last;
	m->list.num++;
	m->start = IB_PORT_DOWN;
}

/* Returns the next event; 0: none. */
static ib_event_type model_take(struct model *m)
{
	uint32_t state, fall = model_fall(m, &state), end = fall;
	ib_event_type type;

	if (!fall) /* the changes from before the port was above the known rung */
		while (end < m->list.num && history_state(m->list.event[end]) <= m->known)
			end++;
	type = model_change(m, end);
	if (type) {
		model_remove(m, end, type);
		return type;
	}
	if (fall) {
		model_fell(m, fall);
		if (m->known == IB_PORT_DOWN)
			return model_take(m);
		m->known = IB_PORT_DOWN;
		return IB_EVENT_PORT_DOWN;
	}
	if (m->known == state) {
		m->list.num = 0;
		m->start = state;
		return (ib_event_type)0;
	}
	m->known++;
	return (ib_event_type)(IB_EVENT_PORT_DOWN + m->known - IB_PORT_DOWN);
}

/* 100,000 random events for each seed. */
START_TEST(a_slow_client_is_told_what_the_model_says)
{
	uint32_t state = IB_PORT_DOWN + (uint32_t)_i % 4, x = (uint32_t)_i * 7919 + 1, slow = 0;
	struct model m = { .start = state, .known = state };
	struct ladder l = at((ib_port_state)state);
	ib_event_type type, want, added;

	for (int i = 0; i < 100000;) {
		if (i % 64 == 0)
			slow = (x >> 16) % 8;
		if (m.list.num < HISTORY_MAX / 2 && (x >> 20) % 8 < slow) {
			added = history_random(&x, &state);
			ladder_add(&l, added);
			history_add(&m.list, added);
			i++;
			continue;
		}
		i += !slow;
		x = x * 1664525 + 1013904223;
		want = model_take(&m);
		ck_assert_int_eq(ladder_has_event(&l), want != 0);
		ck_assert_int_eq(ladder_take(&l, &type), want != 0);
		if (want)
			ck_assert_int_eq(type, want);
		ck_assert_int_eq(ladder_told(&l), m.known);
	}
}
END_TEST

/* ----------------------------------------------------- ladders behind ladders */

#define CHAIN 4

/*
 * Moves one event from a ladder of the chain to the next ladder; the client behind the last ladder records its event.
 */
static bool move(struct ladder *chain, int i, struct history *told)
{
	ib_event_type type;

	if (!ladder_take(&chain[i], &type))
		return false;
	if (i == CHAIN - 1)
		history_add(told, type);
	else if (i == 0)
		ladder_follow(&chain[1], type); /* an agent for its client, or a channel */
	else
		ladder_add(&chain[i + 1], type);
	return true;
}

static void drain(struct ladder *chain, struct history *told)
{
	for (int i = 0; i < CHAIN; i++)
		while (move(chain, i, told))
			;
}

START_TEST(the_rule_holds_for_ladders_that_are_fed_by_ladders)
{
	uint32_t state = IB_PORT_DOWN + (uint32_t)_i % 4, start = state, x = (uint32_t)_i + 99;
	struct history happened = { .num = 0 }, told = { .num = 0 };
	struct ladder chain[CHAIN] = {
		at((ib_port_state)state), { 0 }, at((ib_port_state)state), at((ib_port_state)state)
	};
	ib_event_type type;

	for (int i = 0; i < 20000; i++) {
		type = history_random(&x, &state);
		ladder_add(&chain[0], type);
		history_add(&happened, type);
		for (uint32_t moves = (x >> 12) % 8; moves; moves--) {
			x = x * 1664525 + 1013904223;
			move(chain, (int)(x >> 24) % CHAIN, &told);
		}
		if (happened.num < 20 + (uint32_t)i % 64)
			continue;
		drain(chain, &told);
		history_expect(start, &happened, &told);
		start = state;
	}
}
END_TEST

/* One thread adds events while another thread takes events. */
struct race {
	struct ladder ladder;
	pthread_barrier_t begin, end;
	struct history happened;
	atomic_bool all;
};

#define ROUNDS 2000

static void *add_all(void *arg)
{
	struct race *r = arg;
	uint32_t x = 4711, state = IB_PORT_ACTIVE;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&r->begin);
		while (r->happened.num < 50) {
			ib_event_type type = history_random(&x, &state);

			history_add(&r->happened, type);
			ladder_add(&r->ladder, type);
		}
		atomic_store(&r->all, true);
		pthread_barrier_wait(&r->end);
	}
	return NULL;
}

START_TEST(nothing_is_lost_while_one_thread_adds_and_another_one_takes)
{
	static struct race r;
	struct history told = { .num = 0 };
	ib_event_type type;
	pthread_t thread;
	uint32_t start;
	bool all;

	ladder_init(&r.ladder, IB_PORT_ACTIVE);
	pthread_barrier_init(&r.begin, NULL, 2);
	pthread_barrier_init(&r.end, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, add_all, &r), 0);
	for (int round = 0; round < ROUNDS; round++) {
		start = ladder_told(&r.ladder);
		atomic_store(&r.all, false);
		pthread_barrier_wait(&r.begin);
		do {
			all = atomic_load(&r.all);
			while (ladder_take(&r.ladder, &type))
				history_add(&told, type);
		} while (!all);
		pthread_barrier_wait(&r.end);
		history_expect(start, &r.happened, &told);
	}
	pthread_join(thread, NULL);
}
END_TEST

/* The thread adds each change, and all changes again once they have been taken, so that adds and takes often meet. */
#define MEETINGS 20000u

struct meeting {
	struct ladder ladder;
	atomic_uint told;
	atomic_bool stop;
};

/* Spins at first, because only threads that run at the same moment meet. */
static void wait_a_little(unsigned int *times)
{
	if (++*times % 256 == 0)
		sched_yield();
}

static void *add_when_told(void *arg)
{
	struct meeting *m = arg;
	unsigned int times = 0;

	for (unsigned int i = 1; i <= MEETINGS; i++) {
		for (int type = 0; type < HISTORY_CHANGES; type++)
			ladder_add(&m->ladder, (ib_event_type)(IB_EVENT_LID_CHANGE + type));
		while (atomic_load(&m->told) < i * HISTORY_CHANGES && !atomic_load(&m->stop))
			wait_a_little(&times);
	}
	return NULL;
}

static bool passed(const struct timespec *deadline)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline->tv_sec;
}

START_TEST(events_that_are_added_while_others_are_taken_are_told)
{
	static struct meeting m;
	struct timespec deadline;
	unsigned int times = 0;
	ib_event_type type;
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	test_add_ms(&deadline, test_scaled_ms(20000));
	ladder_init(&m.ladder, IB_PORT_ACTIVE);
	ck_assert_int_eq(pthread_create(&thread, NULL, add_when_told, &m), 0);
	while (atomic_load(&m.told) < MEETINGS * HISTORY_CHANGES &&
	       !(times % 256 == 0 && passed(&deadline)))
		if (ladder_take(&m.ladder, &type))
			atomic_fetch_add(&m.told, 1);
		else
			wait_a_little(&times);
	atomic_store(&m.stop, true);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(atomic_load(&m.told), MEETINGS * HISTORY_CHANGES);
}
END_TEST

/* ------------------------------------------------------------------ the rule */

static struct history history(const char *letter)
{
	struct history h = { .num = 0 };

	for (; *letter; letter++)
		history_add(&h, event_of(*letter));
	return h;
}

/* From Active: sequences of events that a client may get, and sequences that a client must not get. */
static const struct {
	const char *happened, *told;
	bool right;
} questions[] = {
	{ "", "", true },
	{ "lDIRA", "lDIRA", true },
	{ "lDIRA", "DlIRA", false },
	{ "lDIRA", "DIRA", false },
	{ "lDIRA", "lDIR", false },
	{ "lDIRA", "l", false },
	{ "DIRA", "DRA", false },
	{ "DIRA", "DDIRA", false },
	{ "DlIRA", "lDIRA", false },
	{ "DIlRA", "DIRlA", false },
	{ "DIlRA", "DlIRA", false },
	{ "A", "DIRA", false },
	{ "ll", "l", true },
	{ "ll", "ll", true },
	{ "l", "ll", false },
	{ "lDlI", "lDI", false },
	{ "lDlI", "DlI", false },
	{ "DlADI", "lDI", true },
	{ "DlADI", "DlI", true }, /* the first Down was delivered before the second fall */
	{ "DlADI", "DIl", false },
	{ "DlADI", "DIRAlDI", false },
	{ "lI", "lDI", true },
	{ "DlA", "DIRlA", false },
};

START_TEST(the_question_of_the_random_tests_has_the_right_answers)
{
	struct history happened = history(questions[_i].happened),
		       told = history(questions[_i].told);
	const char *why = history_wrong(IB_PORT_ACTIVE, &happened, &told);

	ck_assert_msg(!why == questions[_i].right, "%s", why);
}
END_TEST

/* ------------------------------------------------------------------- ports */

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
			ladder_add(&ports[1 + (x >> 16) % 2].ladder, events[(x >> 20) % 6]);
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

	ladder_add(&ports[2].ladder, IB_EVENT_LID_CHANGE);
	ladder_add(&ports[2].ladder, IB_EVENT_LID_CHANGE);
	ladder_add(&ports[1].ladder, IB_EVENT_LID_CHANGE);
	ladder_add(&ports[2].ladder, IB_EVENT_SM_CHANGE);
	ladder_add(&ports[0].ladder, IB_EVENT_DEVICE_FATAL);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_DEVICE_FATAL && port == 0);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_LID_CHANGE && port == 1);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_LID_CHANGE && port == 2);
	ck_assert(port_take_event(ports, 2, &type, &port) && type == IB_EVENT_SM_CHANGE && port == 2);
	ck_assert(!port_take_event(ports, 2, &type, &port));
}
END_TEST

static void add_random_tests(Suite *suite)
{
	TCase *tc = tcase_create("random");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, the_question_of_the_random_tests_has_the_right_answers, 0,
			    sizeof(questions) / sizeof(questions[0]));
	tcase_add_loop_test(tc, a_slow_client_is_told_what_the_model_says, 0, 20);
	tcase_add_loop_test(tc, the_rule_holds_for_ladders_that_are_fed_by_ladders, 0, 10);
	tcase_add_test(tc, nothing_is_lost_while_one_thread_adds_and_another_one_takes);
	tcase_add_test(tc, events_that_are_added_while_others_are_taken_are_told);
	suite_add_tcase(suite, tc);
}

int main(void)
{
	Suite *suite = suite_create("ladder");
	TCase *tc = tcase_create("steps");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, the_first_port_state_is_not_reported);
	tcase_add_test(tc, every_step_between_two_port_states_is_delivered_in_order);
	tcase_add_test(tc, a_port_without_steps_is_told_down_and_active_only);
	tcase_add_test(tc, a_fall_through_down_is_never_merged_away);
	tcase_add_test(tc, a_fall_in_the_middle_of_the_walk_begins_again_with_down);
	tcase_add_test(tc, several_falls_before_a_report_merge);
	tcase_add_test(tc, a_fall_of_a_port_that_is_known_to_be_down_is_no_news);
	tcase_add_test(tc, the_same_state_again_is_no_news);
	tcase_add_test(tc, a_newcomer_hears_of_the_steps_from_down);
	tcase_add_test(tc, an_event_that_came_before_the_first_state_wins);
	tcase_add_test(tc, a_state_that_is_none_is_not_climbed_to);
	tcase_add_test(tc, a_follower_knows_from_the_first_state_what_was_told_before);
	suite_add_tcase(suite, tc);
	tc = tcase_create("changes");
	tcase_add_loop_test(tc, a_change_is_told_between_the_steps_between_which_it_came, 0,
			    sizeof(orders) / sizeof(orders[0]));
	tcase_add_test(tc, a_change_that_was_told_and_comes_again_is_told_again);
	tcase_add_test(tc, a_newcomer_hears_of_changes_where_they_came);
	suite_add_tcase(suite, tc);
	tc = tcase_create("ports");
	tcase_add_test(tc, port_has_event_agrees_with_port_take_event);
	tcase_add_test(tc, events_of_one_kind_and_port_merge_others_do_not);
	suite_add_tcase(suite, tc);
	add_random_tests(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
