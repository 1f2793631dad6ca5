/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ledgers (hca/soft/memory/ledger.c): which of the actors that wait for their client's bytes is
 * served next. The test is the client's thread, and decides when a job runs. The actors are the
 * test's own.
 */
#include "hca/soft/memory/ledger.h"

#include "hca/soft/engine/engine.h"
#include "harness.h"

#undef ops /* the harness's HCA, of which nothing is used here */
#define ACTORS 4

static struct ci_client *const client = (struct ci_client *)"a client";
static struct ci_client_job *job; /* that the client's thread has to run */

/* An actor that wants bytes, and takes them when it runs. */
static struct eater {
	struct actor actor; /* first member */
	struct ledger_wait wait;
	uint32_t wants, entered;
	unsigned int took; /* when it took them: 1 is the first; 0: it has not */
} eater[ACTORS];
static unsigned int taken; /* how often an eater has taken */

void ci_client_run(struct ci_client *whose, struct ci_client_job *new_job)
{
	ck_assert_ptr_eq(whose, client);
	ck_assert_ptr_null(job);
	job = new_job;
}

static void run_job(void)
{
	struct ci_client_job *now = job;

	ck_assert_ptr_nonnull(now);
	job = NULL;
	__atomic_fetch_sub(now->under_way, 1, __ATOMIC_SEQ_CST);
	now->run(now);
}

static bool try_to_eat(struct eater *e, uint32_t wants)
{
	e->wants = wants;
	e->took = 0;
	if (ledger_take(client, wants, &e->entered, &e->actor, &e->wait))
		e->took = ++taken;
	return e->took;
}

static bool run(struct runner *r, struct actor *a)
{
	struct eater *e = (struct eater *)a; /* the actor is the first member */

	(void)r;
	if (e->wants && !e->took)
		try_to_eat(e, e->wants);
	return false;
}

static const struct actor_ops eater_ops = { .run = run };

static void setup(void)
{
	taken = 0;
	for (unsigned int i = 0; i < ACTORS; i++)
		eater[i] = (struct eater){ .actor = { .inbox = INBOX_IDLE, .ops = &eater_ops } };
	ck_assert_uint_eq(ledger_add(client, LEDGER_MAX), LEDGER_MAX);
}

/* Takes all bytes out. Then there is no ledger any more, which the sanitizers check. */
static void teardown(void)
{
	for (unsigned int i = 0; i < ACTORS; i++)
		ledger_leave(&eater[i].wait);
	ledger_give(client, (uint32_t)ledger_bytes(client));
	ck_assert_ptr_null(job);
	ck_assert_uint_eq(ledger_bytes(client), 0);
}

START_TEST(a_newcomer_does_not_overtake_an_actor_that_waits)
{
	ck_assert(!try_to_eat(&eater[0], 100));
	ledger_give(client, 1000);
	ck_assert(
		!try_to_eat(&eater[1], 100)); /* there is room, and the first one has not run yet */
	run_job();
	ck_assert_uint_eq(eater[0].took, 1);
	ck_assert_uint_eq(eater[1].took, 2);
	ck_assert_uint_eq(ledger_bytes(client), LEDGER_MAX - 800);
}
END_TEST

START_TEST(actors_are_served_in_the_order_in_which_they_came)
{
	for (unsigned int i = 0; i < ACTORS; i++)
		ck_assert(!try_to_eat(&eater[i], 100));
	for (unsigned int i = 0; i < ACTORS; i++) {
		ledger_give(client, 100);
		run_job();
		for (unsigned int j = 0; j < ACTORS; j++)
			ck_assert_uint_eq(eater[j].took, j <= i ? j + 1 : 0);
	}
}
END_TEST

/* An actor that was kicked takes although others wait, and then once only. */
START_TEST(a_turn_is_for_one_taking)
{
	ck_assert(!try_to_eat(&eater[0], 100));
	ck_assert(!try_to_eat(&eater[1], 200));
	ledger_give(client, 299);
	run_job();
	ck_assert_uint_eq(eater[0].took, 1);
	ck_assert_uint_eq(eater[1].took, 0);
	ck_assert(!try_to_eat(&eater[0], 1));
	ledger_give(client, 1);
	run_job();
	ck_assert_uint_eq(eater[1].took, 2);
	ck_assert_uint_eq(eater[0].took, 0);
}
END_TEST

/* What comes free in small pieces is kept for the actor that wants much, while actors that want
 * little wait behind it. */
START_TEST(an_actor_that_wants_much_is_not_overtaken_by_those_that_want_little)
{
	ck_assert(!try_to_eat(&eater[0], 1000));
	for (unsigned int i = 1; i < ACTORS; i++)
		ck_assert(!try_to_eat(&eater[i], 10));
	for (unsigned int i = 0; i < 99; i++)
		ledger_give(client, 10);
	ck_assert_ptr_null(job);
	ledger_give(client, 10);
	run_job();
	ck_assert_uint_eq(eater[0].took, 1);
	ck_assert_uint_eq(taken, 1);
}
END_TEST

/* Bytes that need not wait (ledger_add()) come between the kick and the actor's taking. */
START_TEST(an_actor_that_finds_too_little_in_its_turn_keeps_its_place)
{
	ck_assert(!try_to_eat(&eater[0], 1000));
	ck_assert(!try_to_eat(&eater[1], 10));
	eater[0].actor.inbox = INBOX_BUSY; /* its owner has not yet come to it */
	ledger_give(client, 1000);
	run_job();
	ck_assert_uint_eq(ledger_add(client, 500), 500);
	ck_assert(!try_to_eat(&eater[0], 1000));
	eater[0].actor.inbox = INBOX_IDLE;
	ck_assert(!try_to_eat(&eater[1], 10));
	ledger_give(client, 500);
	run_job();
	ck_assert_uint_eq(eater[0].took, 1);
	ck_assert_uint_eq(eater[1].took, 0);
}
END_TEST

/* Its copy frees the buffers of others, so it waits for none of them, and has half of the ledger.
 */
START_TEST(an_actor_that_others_wait_for_does_not_wait)
{
	eater[1].actor.held = 1;
	ck_assert(!try_to_eat(&eater[0], LEDGER_MAX));
	ledger_give(client, LEDGER_MAX / 2);
	ck_assert(!try_to_eat(&eater[1], 1));
	ck_assert(!ledger_waits(&eater[1].wait));
	ledger_give(client, 1);
	ck_assert(try_to_eat(&eater[1], 1));
	ck_assert(ledger_waits(&eater[0].wait));
}
END_TEST

START_TEST(the_last_bytes_of_a_client_wake_all)
{
	ck_assert(!try_to_eat(&eater[0], LEDGER_MAX));
	ck_assert(!try_to_eat(&eater[1], LEDGER_MAX));
	ledger_give(client, LEDGER_MAX);
	run_job();
	ck_assert_uint_eq(eater[0].took, 1);
	ck_assert_uint_eq(eater[1].took, 0);
	ck_assert(ledger_waits(&eater[1].wait));
	ledger_give(client, LEDGER_MAX);
	run_job();
	ck_assert_uint_eq(eater[1].took, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: ledgers");
	TCase *t = tcase_create("ledgers");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_newcomer_does_not_overtake_an_actor_that_waits);
	tcase_add_test(t, actors_are_served_in_the_order_in_which_they_came);
	tcase_add_test(t, a_turn_is_for_one_taking);
	tcase_add_test(t, an_actor_that_wants_much_is_not_overtaken_by_those_that_want_little);
	tcase_add_test(t, an_actor_that_finds_too_little_in_its_turn_keeps_its_place);
	tcase_add_test(t, an_actor_that_others_wait_for_does_not_wait);
	tcase_add_test(t, the_last_bytes_of_a_client_wake_all);
	suite_add_tcase(s, t);
	return run_suite(s);
}
