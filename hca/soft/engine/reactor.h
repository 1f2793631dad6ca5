/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The reactor, on which the engine thread sleeps (reactor.c): a futex while no descriptor is watched, and a poll of
 * the watched descriptors from the first watch on. The engine limits both sleeps by its next timer. After each sleep
 * the engine thread looks at its run queue, its timers and its descriptors.
 */
#ifndef SOFT_REACTOR_H
#define SOFT_REACTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <iba/ib_types.h>

#include "hca/soft/shared/lock.h"

struct runner;

/*
 * A descriptor that an engine watches: a link's socket, a doorbell. The watch's owner keeps the watch until
 * reactor_unwatch().
 */
struct watch {
	int fd;
	/*
	 * The descriptor has become readable (edge-triggered). Called with the reactor's lock held, on the engine
	 * thread or in a step of manual progress: may kick actors, and may neither sleep nor watch or unwatch
	 * descriptors.
	 */
	void (*ready)(struct watch *watch, struct runner *r);
};

struct reactor {
	_Atomic uint32_t wake_count; /* the futex */
	_Atomic bool polls;          /* a descriptor has been watched, so each sleep is a poll */
	struct fmutex lock;          /* held during ready(), so that reactor_unwatch() waits for ready() */
	int epoll;                   /* holds the watched descriptors; -1: no descriptor has been watched yet */
	int event;                   /* eventfd that ends a poll; -1: no descriptor has been watched yet */
};

void reactor_init(struct reactor *reactor);
/* Frees the reactor's descriptors. No descriptor is watched, and no thread sleeps. */
void reactor_end(struct reactor *reactor);
/*
 * Watches a descriptor. The caller wakes the engine afterwards. AL_INSUFFICIENT_RESOURCES: the process has no
 * descriptor left.
 */
al_status reactor_watch(struct reactor *reactor, struct watch *watch);
/* Ends a watch. Afterwards the watch's ready() does not run and is never called again. */
void reactor_unwatch(struct reactor *reactor, struct watch *watch);
/*
 * Sleeps until a wake-up that came after `seen` was read from wake_count, a readable descriptor, or the time-out
 * (NULL: none).
 */
void reactor_sleep(struct reactor *reactor, uint32_t seen, const struct timespec *timeout);
/* Ends the present sleep, or the next sleep. */
void reactor_wake(struct reactor *reactor);
/* Calls ready() of each watch whose descriptor has become readable. False: no descriptor has. */
bool reactor_poll(struct reactor *reactor, struct runner *r);

#endif
