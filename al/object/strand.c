/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Strands and the threads that run them. */
#include "al/object/strand.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Prepares the members that THREAD_POOL() can not. Called under the pool's lock, before the first
 * strand. */
static void prepare(struct thread_pool *pool)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->work, &monotonic);
	pthread_cond_init(&pool->settled, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pool->last = &pool->first;
}

static void append(struct thread_pool *pool, struct strand *strand)
{
	strand->next = NULL;
	*pool->last = strand;
	pool->last = &strand->next;
}

/* Takes the strand that has been ready for the longest time. NULL: no strand is ready. */
static struct strand *take(struct thread_pool *pool)
{
	struct strand *strand = pool->first;

	if (!strand)
		return NULL;
	pool->first = strand->next;
	if (!pool->first)
		pool->last = &pool->first;
	return strand;
}

/* Runs a strand's work without the pool's lock, which the caller holds. */
static void run(struct thread_pool *pool, struct strand *strand)
{
	strand->ready = false;
	strand->running = true;
	pthread_mutex_unlock(&pool->lock);
	strand->run(strand);
	pthread_mutex_lock(&pool->lock);
	strand->running = false;
	if (strand->ready) /* behind the strands that wait already */
		append(pool, strand);
	else
		pthread_cond_broadcast(&pool->settled);
}

/* Waits for work. The caller holds the pool's lock. */
static void wait_for_work(struct thread_pool *pool)
{
	struct timespec end;
	uint64_t until = UINT64_MAX;

	if (pool->run_due) {
		pool->poked = false;
		pthread_mutex_unlock(&pool->lock);
		until = pool->run_due();
		pthread_mutex_lock(&pool->lock);
		if (pool->first || pool->poked || pool->threads > pool->strands)
			return;
	}
	if (until == UINT64_MAX) {
		pthread_cond_wait(&pool->work, &pool->lock);
		return;
	}
	end = (struct timespec){ .tv_sec = (time_t)(until / 1000000000u),
				 .tv_nsec = (long)(until % 1000000000u) };
	pthread_cond_timedwait(&pool->work, &pool->lock, &end);
}

static void *pool_main(void *arg)
{
	struct thread_pool *pool = arg;
	struct strand *strand;
	unsigned int number;
	char name[16];

	pthread_mutex_lock(&pool->lock);
	number = (unsigned int)__builtin_ctz(~pool->names);
	pool->names |= 1u << number;
	pthread_mutex_unlock(&pool->lock);
	snprintf(name, sizeof(name), "%s-%u", pool->name, number);
	library_thread_begin(name, pool->context);

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		strand = take(pool);
		if (strand)
			run(pool, strand);
		else if (pool->threads > pool->strands)
			break;
		else
			wait_for_work(pool);
	}
	pool->names &= ~(1u << number);
	pool->threads--;
	pool->ended_threads[pool->ended++] = pthread_self();
	pthread_cond_broadcast(&pool->settled);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Joins the threads that have ended. The caller holds the pool's lock, which is released meanwhile:
 * a thread that ends may wait for a reader, and a reader in strand_wake() for the lock. */
static void join_ended(struct thread_pool *pool)
{
	pthread_t thread;

	while (pool->ended) {
		thread = pool->ended_threads[--pool->ended];
		pthread_mutex_unlock(&pool->lock);
		pthread_join(thread, NULL);
		pthread_mutex_lock(&pool->lock);
	}
}

/* Reserves the number of one more thread where the pool's strands need it. The caller holds the
 * pool's lock. */
static bool needs_thread(struct thread_pool *pool)
{
	join_ended(pool); /* so no more than POOL_MAX_THREADS threads run or are to be joined */
	if (pool->threads >= pool->strands || pool->threads >= pool->max_threads)
		return false;
	pool->threads++;
	return true;
}

al_status strand_start(struct strand *strand, struct thread_pool *pool,
		       void (*work)(struct strand *strand))
{
	pthread_t thread;
	al_status status = AL_SUCCESS;
	bool start;

	*strand = (struct strand){ .pool = pool, .run = work };
	pthread_mutex_lock(&pool->lock);
	if (!pool->last)
		prepare(pool);
	pool->strands++;
	start = needs_thread(pool);
	/* the thread that strand_stop() waits for may be needed again */
	pthread_cond_broadcast(&pool->settled);
	pthread_mutex_unlock(&pool->lock);
	if (start)
		status = library_thread_start(&thread, pool->name, pool_main, pool);
	if (!status)
		return AL_SUCCESS;
	pthread_mutex_lock(&pool->lock);
	pool->threads--;
	pool->strands--;
	pthread_cond_broadcast(&pool->settled);
	pthread_mutex_unlock(&pool->lock);
	strand->pool = NULL;
	return status;
}

void strand_wake(struct strand *strand)
{
	struct thread_pool *pool = strand->pool;
	bool wake;

	pthread_mutex_lock(&pool->lock);
	wake = !strand->ready && !strand->running;
	strand->ready = true;
	if (wake)
		append(pool, strand);
	pthread_mutex_unlock(&pool->lock);
	/* without the lock, for which a thread that is woken at once would only wait */
	if (wake)
		pthread_cond_signal(&pool->work);
}

void thread_pool_poke(struct thread_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->poked = true;
	pthread_mutex_unlock(&pool->lock);
	pthread_cond_signal(&pool->work);
}

bool strand_claim(struct strand *strand)
{
	struct thread_pool *pool = strand->pool;
	bool idle;

	if (!pool)
		return false;
	pthread_mutex_lock(&pool->lock);
	idle = !strand->ready && !strand->running;
	if (idle)
		strand->running = true;
	pthread_mutex_unlock(&pool->lock);
	return idle;
}

void strand_carry(struct strand *strand, bool (*may_go_on)(void))
{
	struct thread_pool *pool = strand->pool;
	bool left;

	pthread_mutex_lock(&pool->lock);
	while (strand->ready && may_go_on()) {
		strand->ready = false;
		pthread_mutex_unlock(&pool->lock);
		strand->run(strand);
		pthread_mutex_lock(&pool->lock);
	}
	strand->running = false;
	left = strand->ready;
	if (left)
		append(pool, strand);
	else
		pthread_cond_broadcast(&pool->settled);
	pthread_mutex_unlock(&pool->lock);
	if (left)
		pthread_cond_signal(&pool->work);
}

void strand_stop(struct strand *strand)
{
	struct thread_pool *pool = strand->pool;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	while (strand->ready || strand->running)
		pthread_cond_wait(&pool->settled, &pool->lock);
	pool->strands--;
	pthread_cond_broadcast(&pool->work);
	while (pool->threads > pool->strands)
		pthread_cond_wait(&pool->settled, &pool->lock);
	join_ended(pool);
	pthread_mutex_unlock(&pool->lock);
	strand->pool = NULL;
}

void thread_pool_after_fork(struct thread_pool *pool)
{
	pthread_mutex_init(&pool->lock, NULL);
	pool->first = NULL;
	pool->last = NULL; /* the next strand prepares the pool */
	pool->strands = pool->threads = pool->ended = 0;
	pool->names = 0;
	pool->poked = false;
}
