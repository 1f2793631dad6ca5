/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Strands: work in order, and threads that do not grow with the number of strands. */
#include "al/object/strand.h"

#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY (3 * POOL_MAX_THREADS)

static struct thread_pool pool = THREAD_POOL("strands", CONTEXT_ATOMIC, POOL_MAX_THREADS, NULL);

/* A strand whose work counts. */
struct counting {
	struct strand strand;
	atomic_uint asked, done; /* pieces of work */
	atomic_uint inside;      /* threads in run(), at most 1 */
	sem_t *in, *out; /* run() posts `in` and waits for `out`; NULL: run() does not wait */
	sem_t ran;       /* posted at the end of each run() */
};
static struct counting strands[MANY];

static atomic_bool refuse_threads;

/* The program's own pthread_create(), which fails when the test says so. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
		   void *arg)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
			RTLD_NEXT, "pthread_create");

	return refuse_threads ? EAGAIN : create(thread, attr, function, arg);
}

static void count(struct strand *strand)
{
	struct counting *c =
		(struct counting *)((char *)strand - offsetof(struct counting, strand));
	unsigned int asked = atomic_load(&c->asked);

	ck_assert_uint_eq(atomic_fetch_add(&c->inside, 1), 0);
	ck_assert_int_eq(thread_context, CONTEXT_ATOMIC);
	if (c->in) {
		sem_post(c->in);
		while (sem_wait(c->out))
			;
	}
	atomic_store(&c->done, asked);
	atomic_fetch_sub(&c->inside, 1);
	sem_post(&c->ran);
}

static void start(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		strands[i] = (struct counting){ .in = NULL };
		sem_init(&strands[i].ran, 0, 0);
		ck_assert_int_eq(strand_start(&strands[i].strand, &pool, count), AL_SUCCESS);
	}
}

static void stop(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		strand_stop(&strands[i].strand);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

static void ask(struct counting *c)
{
	atomic_fetch_add(&c->asked, 1);
	strand_wake(&c->strand);
}

/* Number of threads of the pool, as the kernel counts them. */
static unsigned int threads(void)
{
	char path[64], name[32];
	unsigned int found = 0;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	FILE *file;

	ck_assert_ptr_nonnull(tasks);
	while ((task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		found += fgets(name, sizeof(name), file) && !strncmp(name, "strands-", 8);
		fclose(file);
	}
	closedir(tasks);
	return found;
}

START_TEST(all_work_is_done_by_one_thread_at_a_time)
{
	start(MANY);
	for (unsigned int round = 0; round < 2000; round++)
		ask(&strands[round * 7 % MANY]);
	stop(MANY); /* waits for the work */
	for (unsigned int i = 0; i < MANY; i++)
		ck_assert_uint_eq(strands[i].done, strands[i].asked);
}
END_TEST

START_TEST(work_that_comes_while_a_strand_runs_is_not_lost)
{
	sem_t in, out;

	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	start(1);
	strands[0].in = &in;
	strands[0].out = &out;
	for (unsigned int round = 1; round < 100; round++) {
		ask(&strands[0]);
		wait_for(&in);
		ask(&strands[0]); /* run() has read `asked` */
		sem_post(&out);
		wait_for(&strands[0].ran);
		wait_for(&in);
		sem_post(&out);
		wait_for(&strands[0].ran);
		ck_assert_uint_eq(strands[0].done, 2 * round);
	}
	stop(1);
}
END_TEST

START_TEST(there_are_as_many_threads_as_strands_up_to_a_limit)
{
	for (unsigned int i = 1; i <= MANY; i++) {
		ck_assert_int_eq(strand_start(&strands[i - 1].strand, &pool, count), AL_SUCCESS);
		ck_assert_uint_eq(pool.threads, i < POOL_MAX_THREADS ? i : POOL_MAX_THREADS);
	}
	for (unsigned int i = MANY; i-- > 0;) {
		strand_stop(&strands[i].strand);
		ck_assert_uint_eq(pool.threads, i < POOL_MAX_THREADS ? i : POOL_MAX_THREADS);
	}
	ck_assert_uint_eq(threads(), 0); /* each has been joined */
}
END_TEST

/* All threads but one are held by strands that do not come to an end: the others all go on. */
START_TEST(strands_that_wait_delay_no_other_while_a_thread_is_left)
{
	const unsigned int held = POOL_MAX_THREADS - 1;
	sem_t in, out;

	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	start(MANY);
	for (unsigned int i = 0; i < held; i++) {
		strands[i].in = &in;
		strands[i].out = &out;
		ask(&strands[i]);
		wait_for(&in);
	}
	for (unsigned int i = held; i < MANY; i++) {
		ask(&strands[i]);
		wait_for(&strands[i].ran);
	}
	for (unsigned int i = 0; i < held; i++)
		ck_assert_uint_eq(strands[i].done, 0);
	for (unsigned int i = 0; i < held; i++)
		sem_post(&out); /* for any of those that are held */
	stop(MANY);
	ck_assert_uint_eq(strands[0].done, 1);
}
END_TEST

/* A strand that has much to do takes its turn like the others. */
START_TEST(ready_strands_take_turns)
{
	static struct thread_pool one = THREAD_POOL("one", CONTEXT_ATOMIC, 1, NULL);
	sem_t in, out;

	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	for (unsigned int i = 0; i < 2; i++) {
		strands[i] = (struct counting){ .in = &in, .out = &out };
		sem_init(&strands[i].ran, 0, 0);
		ck_assert_int_eq(strand_start(&strands[i].strand, &one, count), AL_SUCCESS);
	}
	ck_assert_uint_eq(one.threads, 1);
	ask(&strands[0]);
	wait_for(&in);
	ask(&strands[0]); /* more for the first, and then something for the second */
	ask(&strands[1]);
	sem_post(&out);
	wait_for(&strands[0].ran);
	wait_for(&in);
	ck_assert_uint_eq(strands[1].inside,
			  1); /* the second strand was ready before the first had ended */
	sem_post(&out);
	sem_post(&out);
	stop(2);
	ck_assert_uint_eq(strands[0].done, 2);
}
END_TEST

START_TEST(a_strand_without_a_thread_is_not_started)
{
	struct strand strand;

	refuse_threads = true;
	ck_assert_int_eq(strand_start(&strand, &pool, count), AL_INSUFFICIENT_RESOURCES);
	ck_assert_ptr_null(strand.pool);
	strand_stop(&strand); /* does nothing */
	refuse_threads = false;
	start(POOL_MAX_THREADS);
	refuse_threads = true; /* the pool has its threads: one more strand needs none */
	ck_assert_int_eq(strand_start(&strand, &pool, count), AL_SUCCESS);
	refuse_threads = false;
	strand_stop(&strand);
	stop(POOL_MAX_THREADS);
	ck_assert_uint_eq(pool.threads + pool.strands, 0);
}
END_TEST

static void *start_and_stop(void *arg)
{
	struct counting c = { .in = NULL };

	sem_init(&c.ran, 0, 0);
	for (unsigned int i = 0; i < 500; i++) {
		ck_assert_int_eq(strand_start(&c.strand, &pool, count), AL_SUCCESS);
		ask(&c);
		strand_stop(&c.strand);
	}
	ck_assert_uint_eq(c.done, 500);
	return arg;
}

START_TEST(strands_start_and_stop_beside_one_another)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, start_and_stop, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(pool.threads + pool.strands + pool.ended, 0);
	ck_assert_uint_eq(pool.names, 0);
}
END_TEST

/* ---------------------------------------------- work in place of the pool's threads */

static unsigned int runs_left; /* that may_go_on() allows */
static unsigned int wakes;     /* that carried() makes of its own strand */
static pthread_t carried_by[4];
static atomic_uint num_carried;
static sem_t carried_ran;

static bool may_go_on(void)
{
	return runs_left-- > 0;
}

static void carried(struct strand *strand)
{
	carried_by[atomic_load(&num_carried)] = pthread_self();
	if (wakes && wakes--)
		strand_wake(strand);
	atomic_fetch_add(&num_carried, 1);
	sem_post(&carried_ran);
}

START_TEST(a_thread_that_claims_a_strand_does_its_work_until_it_may_not_go_on)
{
	struct strand strand;
	pthread_t self = pthread_self();

	sem_init(&carried_ran, 0, 0);
	ck_assert_int_eq(strand_start(&strand, &pool, carried), AL_SUCCESS);
	ck_assert(strand_claim(&strand));
	ck_assert(!strand_claim(&strand)); /* by no two threads at once */
	wakes = 2;
	strand_wake(&strand);
	ck_assert_uint_eq(num_carried, 0); /* no thread of the pool has been woken for it */
	runs_left = 2;
	strand_carry(&strand, may_go_on);
	wait_for(&carried_ran);
	wait_for(&carried_ran);
	wait_for(&carried_ran); /* by the pool's thread, which does the rest */
	ck_assert_uint_eq(num_carried, 3);
	ck_assert(pthread_equal(carried_by[0], self));
	ck_assert(pthread_equal(carried_by[1], self));
	ck_assert(!pthread_equal(carried_by[2], self));
	strand_stop(&strand);
}
END_TEST

START_TEST(a_strand_without_work_is_given_back)
{
	struct strand strand = { .pool = NULL };

	ck_assert(!strand_claim(&strand)); /* it is not started */
	sem_init(&carried_ran, 0, 0);
	ck_assert_int_eq(strand_start(&strand, &pool, carried), AL_SUCCESS);
	ck_assert(strand_claim(&strand));
	strand_carry(&strand, may_go_on);
	ck_assert_uint_eq(num_carried, 0);
	strand_wake(&strand);
	wait_for(&carried_ran);
	ck_assert(!pthread_equal(carried_by[0], pthread_self()));
	strand_stop(&strand);
}
END_TEST

START_TEST(a_strand_that_runs_is_not_claimed)
{
	sem_t in, out;

	sem_init(&in, 0, 0);
	sem_init(&out, 0, 0);
	start(1);
	strands[0].in = &in;
	strands[0].out = &out;
	ask(&strands[0]);
	wait_for(&in);
	ck_assert(!strand_claim(&strands[0].strand));
	sem_post(&out);
	stop(1);
	ck_assert_uint_eq(strands[0].done, 1);
}
END_TEST

/* ------------------------------------------------------------- what is due */

static atomic_uint due_runs;
static _Atomic uint64_t due_at = UINT64_MAX;
static sem_t due_in;

static uint64_t run_due(void)
{
	due_runs++;
	sem_post(&due_in);
	return due_at;
}

START_TEST(what_is_due_is_done_before_each_wait_and_at_its_time)
{
	static struct thread_pool timed = THREAD_POOL("timed", CONTEXT_ATOMIC, 1, run_due);
	struct counting c = { .in = NULL };
	struct timespec now;

	sem_init(&due_in, 0, 0);
	sem_init(&c.ran, 0, 0);
	ck_assert_int_eq(strand_start(&c.strand, &timed, count), AL_SUCCESS);
	wait_for(&due_in);
	clock_gettime(CLOCK_MONOTONIC, &now);
	due_at =
		(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec; /* has passed already */
	strand_wake(&c.strand);
	for (int i = 0; i < 10; i++)
		wait_for(&due_in); /* without a wake */
	due_at = UINT64_MAX;
	while (!sem_trywait(&due_in))
		;
	/* also while another thread has the strand, which keeps no timer waiting */
	ck_assert(strand_claim(&c.strand));
	due_runs = 0;
	for (unsigned int i = 1; i < 10; i++) {
		thread_pool_poke(&timed);
		while (due_runs < i)
			wait_for(&due_in);
	}
	strand_carry(&c.strand, may_go_on);
	strand_stop(&c.strand);
	ck_assert_uint_eq(timed.threads, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/strand");
	TCase *tcase = tcase_create("strands");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, all_work_is_done_by_one_thread_at_a_time);
	tcase_add_test(tcase, work_that_comes_while_a_strand_runs_is_not_lost);
	tcase_add_test(tcase, there_are_as_many_threads_as_strands_up_to_a_limit);
	tcase_add_test(tcase, strands_that_wait_delay_no_other_while_a_thread_is_left);
	tcase_add_test(tcase, ready_strands_take_turns);
	tcase_add_test(tcase, a_strand_without_a_thread_is_not_started);
	tcase_add_test(tcase, strands_start_and_stop_beside_one_another);
	tcase_add_test(tcase, a_thread_that_claims_a_strand_does_its_work_until_it_may_not_go_on);
	tcase_add_test(tcase, a_strand_without_work_is_given_back);
	tcase_add_test(tcase, a_strand_that_runs_is_not_claimed);
	tcase_add_test(tcase, what_is_due_is_done_before_each_wait_and_at_its_time);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
