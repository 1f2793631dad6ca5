/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reapers, also called destroy threads: a reaper takes objects that obj_destroy() has accepted, in
 * batches and in order, and ends them. Each HCA has a reaper, and one more serves the objects that
 * belong to no HCA. Two reapers keep no order between them. Reapers are strands, which share
 * threads (strand.h).
 */
#ifndef AL_OBJECT_REAPER_H
#define AL_OBJECT_REAPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_types.h>

#include "al/object/strand.h"

struct al_obj;
struct al_dev;

/* A function that the destroy thread calls after its current batch of objects. */
struct reaper_job {
	void (*fn)(struct reaper_job *job); /* may free the job */
	struct reaper_job *next;
};

struct reaper {
	_Atomic(struct al_obj *) head;     /* queued objects, newest first */
	_Atomic(struct reaper_job *) jobs; /* queued jobs, newest first */
	struct strand strand;
	/*
	 * Grace clock of the last grace period waited for: it covers objects with a smaller
	 * grace_stamp. Used by the strand only.
	 */
	uint64_t last_grace_period;
};

/* The destroy thread of objects that belong to no HCA. This thread also frees removed HCAs. */
extern struct reaper reaper_common;

/* Starts a destroy thread unless it is started. The caller serialises. AL_INSUFFICIENT_RESOURCES.
 */
al_status reaper_start(struct reaper *r);
/* Waits until the queued objects and jobs are done, and ends the destroy thread. Not called by a
 * job of this reaper. */
void reaper_stop(struct reaper *r);
/*
 * Queues an object for the destroy thread: with its existence reference, which passes to the
 * destroy thread, or, when the last reference has been dropped, with none. Any context.
 */
void reaper_queue_object(struct reaper *r, struct al_obj *obj);
/* Queues a job for the destroy thread. Any context. */
void reaper_queue_job(struct reaper *r, struct reaper_job *job);
/* Reads the grace clock, for al_obj.grace_stamp. */
uint64_t reaper_grace_clock(void);

/* A thread that waits in AL_DESTROY_SYNC. Lives on the thread's stack, so nobody touches it after
 * done is set. */
struct destroy_waiter {
	atomic_bool done;                   /* the object has ended */
	const struct destroy_wait_ops *ops; /* thread_wait_ops of the waiting thread */
};
/*
 * Sleeps until the waiter is done or CLOCK_MONOTONIC reaches the time "until". False: the object
 * has not ended by then.
 */
bool waiter_wait_until(struct destroy_waiter *waiter, const struct timespec *until);

/*
 * How a thread that must not sleep waits for an object's end. The PnP thread goes on calling PnP
 * callbacks during the wait, since the object may be held by a registration that waits for its
 * callback.
 */
struct destroy_wait_ops {
	bool (*deadlocks)(const struct al_obj *obj);  /* true: the wait would be for the callback that the thread is
						       * in */
	void (*wait)(struct destroy_waiter *waiter);  /* returns when waiter->done is set */
	void (*wake)(void);                           /* wakes wait(): a waiter is done. Called by any thread */
};
/* The wait operations of the calling thread, which sets them itself. NULL: the thread sleeps in
 * waiter_wait_until(). */
extern __thread const struct destroy_wait_ops *thread_wait_ops;

/* Makes the locks of synchronous destroys usable in a forked child. */
void reaper_after_fork(void);

#endif
