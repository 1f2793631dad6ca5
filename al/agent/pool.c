/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's workers: the queue of jobs for them, and the queue of jobs that the loop finishes.
 * What the jobs do is in the files that queue them. */
#include "al/agent/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <iba/ib_hca.h>

static struct {
	pthread_mutex_t lock; /* guards both queues, event and closing. Leaf. */
	pthread_cond_t more;  /* wakes a worker: there is work, or the pool is closing */
	struct job *work, **work_end; /* for workers */
	struct job *done, **done_end; /* for the loop */
	int event;    /* eventfd that wakes the loop; -1: no loop */
	bool closing; /* workers end when the queue of work is empty */
	pthread_t *workers;
	uint32_t num_workers;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .more = PTHREAD_COND_INITIALIZER,
	   .work_end = &pool.work,
	   .done_end = &pool.done,
	   .event = -1 };

void pool_work(struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&pool.lock);
	*pool.work_end = job;
	pool.work_end = &job->next;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
}

void pool_done(struct job *job)
{
	const uint64_t one = 1;
	bool first;

	job->next = NULL;
	pthread_mutex_lock(&pool.lock);
	first = !pool.done;
	*pool.done_end = job;
	pool.done_end = &job->next;
	/* Under the lock: once the loop has finished the last job, pool_close() may close the
	 * descriptor. Without a loop the job is of a client that has outlasted its agent: the loop
	 * of the process's next agent finishes the job. */
	if (first && pool.event >= 0 && write(pool.event, &one, sizeof(one)) < 0)
		abort(); /* can not happen: the counter has room, and the descriptor is open */
	pthread_mutex_unlock(&pool.lock);
}

/* Waits for work. NULL: the pool is closing, and the worker ends. */
static struct job *next_work(void)
{
	struct job *job;

	pthread_mutex_lock(&pool.lock);
	while (!pool.work && !pool.closing)
		pthread_cond_wait(&pool.more, &pool.lock);
	job = pool.work;
	if (job) {
		pool.work = job->next;
		if (!pool.work)
			pool.work_end = &pool.work;
	}
	pthread_mutex_unlock(&pool.lock);
	return job;
}

static void *worker_main(void *arg)
{
	struct job *job;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-worker");
	for (job = next_work(); job; job = next_work()) {
		job->work(job);
		pool_done(job);
	}
	return NULL;
}

static void finish_jobs(void)
{
	struct job *job, *next;
	uint64_t count;

	if (read(pool.event, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&pool.lock);
	job = pool.done;
	pool.done = NULL;
	pool.done_end = &pool.done;
	pthread_mutex_unlock(&pool.lock);
	for (; job; job = next) {
		next = job->next;
		job->done(job);
	}
}

static void see_done(struct watched *watched, uint32_t events)
{
	(void)watched;
	(void)events;
	finish_jobs();
}

static void close_event(void)
{
	if (pool.event >= 0)
		close(pool.event);
	pool.event = -1;
}

bool pool_open(uint32_t workers)
{
	static struct watched watched = { see_done };
	const uint64_t one = 1;

	pool.closing = false;
	pthread_mutex_lock(&pool.lock);
	pool.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool.event >= 0 && pool.done && write(pool.event, &one, sizeof(one)) < 0)
		close_event();
	pthread_mutex_unlock(&pool.lock);
	pool.workers = al_alloc(workers * sizeof(*pool.workers));
	if (pool.event < 0 || !pool.workers || loop_watch(pool.event, &watched, EPOLLIN))
		return false;
	for (; pool.num_workers < workers; pool.num_workers++)
		if (pthread_create(&pool.workers[pool.num_workers], NULL, worker_main, NULL))
			return false;
	return true;
}

void pool_close(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.closing = true;
	pthread_cond_broadcast(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	while (pool.num_workers)
		pthread_join(pool.workers[--pool.num_workers], NULL);
	finish_jobs(); /* jobs of the workers' last moments: the loop has ended */
	al_free(pool.workers);
	pool.workers = NULL;
	pthread_mutex_lock(&pool.lock);
	close_event();
	pthread_mutex_unlock(&pool.lock);
}
