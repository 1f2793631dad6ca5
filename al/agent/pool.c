/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's threads, leaders and followers. A thread *attends*: it waits for the loop's
 * descriptors and does the loop's jobs. If one of those is work that may sleep, the thread that has
 * found the work does it: no other thread is woken for it, and none to answer. Before that the
 * thread sees to it that another one attends. A thread that finds the loop taken by another rests,
 * so where nothing sleeps one thread attends, and no two of them meet.
 *
 * There is one thread more than may work at once, so one can always attend.
 */
#include "al/agent/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <iba/ib_hca.h>

static struct {
	pthread_mutex_t lock; /* guards everything but closing and threads. Outside account.c's. */
	pthread_cond_t called;    /* wakes a thread that rests */
	struct turns turns;       /* work that no thread has begun */
	uint32_t workers;         /* the most threads in work at once */
	uint32_t working;         /* threads in work */
	uint32_t attending;       /* threads that attend, and those that have been called */
	uint32_t resting;         /* threads that rest, but for those that have been called */
	uint32_t calls;           /* threads that have been called and rest still */
	atomic_bool closing;
	pthread_t *threads;
	uint32_t num_threads;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .called = PTHREAD_COND_INITIALIZER,
	   .turns.queue = QUEUE_POOL };

void pool_work(struct job *job)
{
	pthread_mutex_lock(&pool.lock);
	turns_add(&pool.turns, job);
	pthread_mutex_unlock(&pool.lock);
}

/* Takes one of the user's share of the threads. */
static bool may_work(struct account *user)
{
	return account_take(user, AL_RESOURCE_WORKERS, 1);
}

/* True: the user has some left of his share of the threads. */
static bool could_work(struct account *user)
{
	return account_could_take(user, AL_RESOURCE_WORKERS, 1);
}

/* Under the lock, and the next one. */
static bool can_work(void)
{
	return pool.working < pool.workers && turns_any(&pool.turns, could_work);
}

/* Calls a thread that rests to attend. False: none rests. */
static bool call_one(void)
{
	if (!pool.resting)
		return false;
	pool.resting--;
	pool.calls++;
	pool.attending++;
	return true;
}

/* True: there is work that the caller can begin, in place of more jobs of the loop. */
static bool work_waits(void)
{
	bool waits;

	pthread_mutex_lock(&pool.lock);
	waits = can_work();
	pthread_mutex_unlock(&pool.lock);
	return waits;
}

/* Takes work for a thread that attends, which then no longer does. left: the loop has jobs that
 * nobody does. NULL: there is no work, or others do as much as may be done at once. */
static struct job *begin_work(bool left)
{
	struct job *job = NULL;
	bool called = false, more = false;

	pthread_mutex_lock(&pool.lock);
	if (pool.working < pool.workers)
		job = turns_take(&pool.turns, may_work);
	if (job) {
		pool.working++;
		pool.attending--;
		more = left || can_work();
		if (more || !pool.attending)
			called = call_one();
	}
	pthread_mutex_unlock(&pool.lock);
	if (called)
		pthread_cond_signal(&pool.called);
	else if (more)
		loop_wake(); /* another one attends */
	return job;
}

static void end_work(const struct job *job)
{
	struct account *account = job->account;

	if (account)
		account_return(account->user ? account->user : account, AL_RESOURCE_WORKERS, 1);
	pthread_mutex_lock(&pool.lock);
	pool.working--;
	pool.attending++;
	pthread_mutex_unlock(&pool.lock);
}

/* Under the lock: waits until the thread, which counts as one that rests, is called to attend. */
static void wait_for_call(void)
{
	while (!pool.calls && !atomic_load(&pool.closing))
		pthread_cond_wait(&pool.called, &pool.lock);
	if (pool.calls)
		pool.calls--;
}

/* The thread attends no longer, unless it would be missed. */
static void rest(void)
{
	pthread_mutex_lock(&pool.lock);
	if (pool.attending > 1 && !can_work()) {
		pool.attending--;
		pool.resting++;
		wait_for_call();
	}
	pthread_mutex_unlock(&pool.lock);
}

static void *thread_main(void *arg)
{
	enum loop_state state;
	struct job *job;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-worker");
	pthread_mutex_lock(&pool.lock);
	wait_for_call();
	pthread_mutex_unlock(&pool.lock);
	for (;;) {
		state = loop_run(work_waits);
		while ((job = begin_work(state == LOOP_LEFT))) {
			job->work(job);
			end_work(job);
			loop_add(job);
			state = loop_run(work_waits);
		}
		if (atomic_load(&pool.closing))
			return NULL;
		if (state == LOOP_TAKEN)
			rest();
		else if (state == LOOP_EMPTY)
			loop_wait();
	}
}

bool pool_open(uint32_t workers)
{
	pthread_mutex_lock(&pool.lock);
	pool.workers = workers;
	pool.working = pool.attending = pool.calls = 0;
	pool.resting = workers + 1;
	pthread_mutex_unlock(&pool.lock);
	atomic_store(&pool.closing, false);
	pool.threads = al_alloc((workers + 1) * sizeof(*pool.threads));
	if (!pool.threads)
		return false;
	for (; pool.num_threads <= workers; pool.num_threads++) {
		errno = pthread_create(&pool.threads[pool.num_threads], NULL, thread_main, NULL);
		if (errno)
			return false;
	}
	pthread_mutex_lock(&pool.lock);
	call_one();
	pthread_mutex_unlock(&pool.lock);
	pthread_cond_signal(&pool.called);
	return true;
}

void pool_close(void)
{
	pthread_mutex_lock(&pool.lock);
	atomic_store(&pool.closing, true);
	pthread_cond_broadcast(&pool.called);
	pthread_mutex_unlock(&pool.lock);
	loop_wake_all();
	while (pool.num_threads)
		pthread_join(pool.threads[--pool.num_threads], NULL);
	loop_run(NULL); /* what the last work has left */
	al_free(pool.threads);
	pool.threads = NULL;
}
