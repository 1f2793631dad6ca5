/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the engine thread sleeps on (reactor.c): a futex while no descriptor is watched, and a poll of the watched descriptors
 * from the first watch on. Timers limit both sleeps. Whatever wakes the thread, the thread then looks at its run queue, its
 * timers and its descriptors.
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

/* A descriptor that the engine watches: a link's socket, a doorbell. Its owner keeps it until reactor_unwatch(). */
struct watch {
	int fd;
	/*
	 * The descriptor has become readable (edge-triggered). Called with the reactor's lock held, on the engine thread or in
	 * a step of manual progress: may kick actors, and may neither sleep nor watch or unwatch descriptors.
	 */
	void (*ready)(struct watch *watch, struct runner *r);
};

struct reactor {
	_Atomic uint32_t seq;     /* counts wake-ups; the futex */
	_Atomic bool polls;       /* there has been a watch: sleeps are polls from now on */
	struct fmutex lock;       /* guards what is watched against its owner's unwatching */
	int epoll, event;         /* of the watched descriptors; an eventfd that ends a poll; -1: there was no watch yet */
};

void reactor_init(struct reactor *reactor);
/* Nothing is watched, and no thread sleeps. */
void reactor_end(struct reactor *reactor);
/* AL_INSUFFICIENT_RESOURCES: the process has no descriptor left. The caller wakes the engine afterwards. */
al_status reactor_watch(struct reactor *reactor, struct watch *watch);
/* The watch's ready() does not run and is never called again. */
void reactor_unwatch(struct reactor *reactor, struct watch *watch);
/* Sleeps until a wake-up that came after `seen` was read from seq, a readable descriptor, or the time-out (NULL: none). */
void reactor_sleep(struct reactor *reactor, uint32_t seen, const struct timespec *timeout);
/* Ends the sleep, or the next one. */
void reactor_wake(struct reactor *reactor);
/* Calls ready() of each watch whose descriptor has become readable. False: none has. */
bool reactor_poll(struct reactor *reactor, struct runner *r);

#endif
