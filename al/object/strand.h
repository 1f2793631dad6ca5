/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Strands and the threads that run them. A strand is work that is done in order, by one thread at a
 * time: the events of a queue, the destroys of an HCA. A pool has as many threads as it has
 * strands, up to a limit. So the number of threads does not grow with the number of HCAs, and work
 * that does not end delays other strands only when it occupies every thread of the pool.
 */
#ifndef AL_OBJECT_STRAND_H
#define AL_OBJECT_STRAND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_types.h>

#include "al/object/thread.h"

struct strand;

/* Threads of a pool, at the most. */
#define POOL_MAX_THREADS 16

struct thread_pool {
	/* written once, before the first strand is started */
	const char *name;            /* of the threads, for a debugger: NAME-0, NAME-1, ... */
	enum thread_context context; /* of the work that the threads do */
	unsigned int max_threads;
	/*
	 * Runs the timers that have expired, and returns the time until which the thread may wait
	 * for work: CLOCK_MONOTONIC in nanoseconds; UINT64_MAX: without limit. The pool's thread
	 * calls the function before each wait. Only a pool of one thread may have the function;
	 * NULL: the threads wait for work only.
	 */
	uint64_t (*run_due)(void);

	pthread_mutex_t lock;         /* guards the members below. Leaf. */
	pthread_cond_t work;          /* a strand is ready, or a thread is to end */
	pthread_cond_t settled;       /* a strand has become idle, or a thread has ended */
	struct strand *first, **last; /* strands that are ready, oldest first */
	bool poked;                   /* run_due has to be called again before the next wait */
	unsigned int strands;         /* strands that are started */
	unsigned int threads;         /* threads that run */
	unsigned int ended;           /* threads that have ended and that are not joined yet */
	pthread_t ended_threads[POOL_MAX_THREADS];
	uint32_t names; /* a bit for each number that a thread's name has */
};

/* A pool without threads. */
#define THREAD_POOL(the_name, the_context, max, due)                                \
	{                                                                           \
		.name = (the_name), .context = (the_context), .max_threads = (max), \
		.run_due = (due), .lock = PTHREAD_MUTEX_INITIALIZER                 \
	}

/* The pool's lock guards the members that say "guarded". */
struct strand {
	struct thread_pool *pool; /* NULL: the strand is not started */
	/* Does all the work that there is. Called again after each strand_wake() that comes
	 * meanwhile. */
	void (*run)(struct strand *strand);
	struct strand *next; /* of the pool's ready strands; guarded */
	bool ready;          /* the strand has work, or may have; guarded */
	bool running;        /* a thread is in run(), or has claimed the strand; guarded */
};

/* Starts a strand, and a thread of the pool where that is needed. AL_INSUFFICIENT_RESOURCES: no
 * thread, which has been logged. Not called for a strand that is started. */
al_status strand_start(struct strand *strand, struct thread_pool *pool,
		       void (*run)(struct strand *strand));
/* Tells that the strand has work. Any context. */
void strand_wake(struct strand *strand);
/*
 * Takes the work of a strand that has none, in place of the pool's threads, until strand_carry():
 * what wakes the strand meanwhile wakes no thread. False: the strand has work already, or is not
 * started. Any context.
 */
bool strand_claim(struct strand *strand);
/*
 * Does the work for which the strand was woken since strand_claim(), and gives the strand back.
 * may_go_on is asked before each run(); where it says no, the pool's threads do the rest. Called
 * without locks.
 */
void strand_carry(struct strand *strand, bool (*may_go_on)(void));
/* Lets the pool's thread call run_due before it waits again. Any context. */
void thread_pool_poke(struct thread_pool *pool);
/*
 * Waits until all work of the strand is done, and ends the strand and the thread that is now one
 * too many. Nothing wakes the strand any more. Not called by the strand's own work. A strand that
 * is not started: nothing.
 */
void strand_stop(struct strand *strand);
/* Empties a pool in a forked child, which inherits no threads. */
void thread_pool_after_fork(struct thread_pool *pool);

#endif
