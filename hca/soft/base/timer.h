/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A hierarchical wheel of timers, one per HCA; a timer that runs out calls a function. */
#ifndef SOFT_TIMER_H
#define SOFT_TIMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/shared/lock.h"

struct runner;

/*
 * A queue pair has one. It is set only when it is not running, never per packet; what has happened since is looked at
 * when it runs out.
 */
struct timer {
	struct timer *next, **pprev; /* guarded by timers.lock; pprev NULL: not running */
	uint64_t tick;               /* when; guarded by timers.lock */
	/*
	 * Called when the timer runs out, under timers.lock, so that its owner is there: the owner stops it before it
	 * goes. So the function may only signal.
	 */
	void (*run_out)(struct timer *t, struct runner *r);
	_Atomic bool running;
	bool without_lock; /* run_out is called so; an owner that goes before the wheel ends its timer by timer_end() */
};

#define WHEEL_BITS 6
#define WHEEL_LEVELS 8
#define TICK_SHIFT 12 /* ns */

struct timers {
	struct fmutex running_out; /* held while a function is called without lock. Outside the HCA's other locks. */
	struct fmutex lock;
	struct timer *due; /* whose functions are to be called without lock */
	uint64_t now; /* tick up to which all have been expired */
	uint64_t filled[WHEEL_LEVELS]; /* slots that hold any */
	struct timer *slot[WHEEL_LEVELS][1 << WHEEL_BITS];
};

void timers_init(struct timers *w);
/* (Re)starts a timer. Returns when it is due, in ns: whoever sleeps until the next one must not sleep longer. */
uint64_t timer_set(struct timers *w, struct timer *t, uint64_t delay_ns);
void timer_stop(struct timers *w, struct timer *t);
/* The same, and waits for the function if it is being called. Nobody sets the timer any more. */
void timer_end(struct timers *w, struct timer *t);
/* When the next one may be due, in ns; UINT64_MAX: never. */
uint64_t timers_next(struct timers *w);
/* Calls the functions of those that are due; false: there was none. */
bool timers_expire(struct timers *w, struct runner *r);

#endif
