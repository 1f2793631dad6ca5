/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The engine's reactor: descriptors, timers and wake-ups end the engine thread's sleep, and none of them is lost. */
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/link/link.h"
#include "hca/soft/port/port.h"
#include "harness.h"

#define ROUNDS 200

static struct engine engine;
static struct bell {
	struct watch watch;
	_Atomic uint32_t rung;
} bells[2];

static void rung(struct watch *watch, struct runner *r)
{
	struct bell *bell = (struct bell *)((char *)watch - offsetof(struct bell, watch));

	(void)r;
	atomic_fetch_add(&bell->rung, 1);
}

static void start(void)
{
	memset(&engine, 0, sizeof(engine));
	memset(bells, 0, sizeof(bells));
	for (int i = 0; i < 2; i++)
		bells[i].watch = (struct watch){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
						 .ready = rung };
	engine_init(&engine, "of the test");
	ck_assert_int_eq(engine_start(&engine), AL_SUCCESS);
}

static void finish(void)
{
	engine_stop(&engine);
	engine_end(&engine);
	close(bells[0].watch.fd);
	close(bells[1].watch.fd);
}

static void wait_asleep(void)
{
	while (!atomic_load(&engine.asleep))
		usleep(0);
}

static void wait_rung(struct bell *bell, uint32_t times)
{
	while (atomic_load(&bell->rung) < times)
		usleep(0);
}

static void ring(struct bell *bell)
{
	ck_assert_int_eq(eventfd_write(bell->watch.fd, 1), 0);
}

START_TEST(each_write_to_a_watched_descriptor_is_heard)
{
	start();
	wait_asleep(); /* sleeps in the futex: no descriptor is watched yet */
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(engine_watch(&engine, &bells[i].watch), AL_SUCCESS);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		ring(&bells[i & 1]);
		wait_rung(&bells[i & 1], (i + 1) / 2);
	}
	ck_assert_uint_eq(bells[0].rung, ROUNDS / 2);
	ck_assert_uint_eq(bells[1].rung, ROUNDS / 2);
	for (int i = 0; i < 2; i++)
		engine_unwatch(&engine, &bells[i].watch);
	finish();
}
END_TEST

START_TEST(a_descriptor_that_is_not_watched_any_more_is_not_heard)
{
	start();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(engine_watch(&engine, &bells[i].watch), AL_SUCCESS);
	engine_unwatch(&engine, &bells[0].watch);
	ring(&bells[0]);
	ring(&bells[1]);
	wait_rung(&bells[1], 1);
	engine_unwatch(&engine, &bells[1].watch);
	finish();
	ck_assert_uint_eq(bells[0].rung, 0);
}
END_TEST

static struct timer_of_test {
	struct timer timer;
	_Atomic uint32_t out;
} timer;

static void run_out(struct timer *t, struct runner *r)
{
	(void)t, (void)r;
	atomic_fetch_add(&timer.out, 1);
}

/* _i: number of descriptors that are watched. */
START_TEST(a_timer_ends_the_sleep_whatever_is_watched)
{
	start();
	memset(&timer, 0, sizeof(timer));
	timer.timer.run_out = run_out;
	if (_i)
		ck_assert_int_eq(engine_watch(&engine, &bells[0].watch), AL_SUCCESS);
	for (uint32_t i = 1; i <= 5; i++) {
		wait_asleep();
		engine_set_timer(&engine, &timer.timer, 1000000);
		while (atomic_load(&timer.out) < i) /* if the timer fails, Check's time-out ends the wait */
			usleep(0);
	}
	if (_i)
		engine_unwatch(&engine, &bells[0].watch);
	finish();
}
END_TEST

static _Atomic uint32_t polls;

static bool count_poll(struct runner *r, struct soft_port *port)
{
	(void)r, (void)port;
	atomic_fetch_add(&polls, 1);
	return false;
}

/*
 * Work comes while the engine sleeps or is about to sleep: a thread polls with a runner of no budget, so that the
 * engine must run the queue pair.
 */
START_TEST(work_ends_the_sleep_whatever_is_watched)
{
	const struct link_ops link = { .poll = count_poll };
	struct soft_port port = { .link = &link };
	struct poller poller = { .port = NULL };

	start();
	atomic_store(&polls, 0);
	poller_start(&poller, &port, &engine);
	if (_i)
		ck_assert_int_eq(engine_watch(&engine, &bells[0].watch), AL_SUCCESS);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		struct runner r = { .tail = &r.head };

		poller_kick(&r, &poller);
		runner_run(&r);
		while (atomic_load(&polls) < i)
			usleep(0);
		while (atomic_load(&poller.actor.inbox) != INBOX_IDLE)
			usleep(0);
	}
	poller_stop(&poller);
	if (_i)
		engine_unwatch(&engine, &bells[0].watch);
	finish();
}
END_TEST

START_TEST(without_descriptors_a_watch_is_refused)
{
	struct rlimit limit, none;

	start();
	getrlimit(RLIMIT_NOFILE, &limit);
	none = (struct rlimit){ 0, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert_int_eq(engine_watch(&engine, &bells[0].watch), AL_INSUFFICIENT_RESOURCES);
	setrlimit(RLIMIT_NOFILE, &limit);
	ck_assert_int_eq(engine_watch(&engine, &bells[0].watch), AL_SUCCESS);
	ring(&bells[0]);
	wait_rung(&bells[0], 1);
	engine_unwatch(&engine, &bells[0].watch);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: reactor");
	TCase *t = tcase_create("reactor");

	tcase_add_test(t, each_write_to_a_watched_descriptor_is_heard);
	tcase_add_test(t, a_descriptor_that_is_not_watched_any_more_is_not_heard);
	tcase_add_loop_test(t, a_timer_ends_the_sleep_whatever_is_watched, 0, 2);
	tcase_add_loop_test(t, work_ends_the_sleep_whatever_is_watched, 0, 2);
	tcase_add_test(t, without_descriptors_a_watch_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
