/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The destroy thread: takes objects that have been destroyed, in batches and in order, and ends them. One per HCA, and one
 * for objects of none. There is no order between two of these threads.
 */
#ifndef AL_OBJECT_REAPER_H
#define AL_OBJECT_REAPER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_types.h>

struct al_obj;
struct al_dev;

/* Something else for the destroy thread to do, between two objects. */
struct reaper_job {
	void (*fn)(struct reaper_job *job); /* may free the job */
	struct reaper_job *next;
};

struct reaper {
	_Atomic(struct al_obj *) head;
	_Atomic(struct reaper_job *) jobs;
	sem_t sem;
	pthread_t thread;
	char name[16];
	bool started;
	_Atomic bool stop;
	uint64_t graced;  /* objects stamped with less have had their grace period; its own thread's */
};

/* The one for objects of no HCA; also ends the threads of HCAs that are gone. */
extern struct reaper reaper_common;

al_status reaper_start(struct reaper *r, const char *name);
void reaper_stop(struct reaper *r);
/* An object with its existence reference, which is the destroy thread's from now on, or one without any. Any context. */
void reaper_queue(struct reaper *r, struct al_obj *obj);
void reaper_run(struct reaper *r, struct reaper_job *job);
/* The moment of marking, for al_obj.grace_stamp. */
uint64_t reaper_stamp(void);

/* A thread that waits for an object's end; on its stack, so that nothing of it is touched after done is set. */
struct obj_waiter {
	atomic_bool done;
	const struct obj_wait *how; /* NULL: it sleeps */
};
/* Waits until CLOCK_MONOTONIC has reached a time; false: it has, and the object is still there. */
bool waiter_wait(struct obj_waiter *waiter, const struct timespec *until);

/*
 * How a thread waits for an object's end, if it must not sleep: the PnP thread goes on telling registrations meanwhile,
 * since one of them may be what it waits for.
 */
struct obj_wait {
	bool (*deadlocks)(const struct al_obj *obj); /* would it wait for the callback that the calling thread is in? */
	void (*wait)(struct obj_waiter *waiter);     /* returns when the waiter is done */
	void (*kick)(void);                          /* a waiter is done: any thread */
};
extern __thread const struct obj_wait *obj_wait; /* of this thread, which sets it itself; NULL: it sleeps */

/* In a forked child. */
void reaper_child(void);

#endif
