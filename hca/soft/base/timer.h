/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Timers: a hierarchical wheel, one per HCA (timer.c). A timer that runs out calls a function. The clock is in
 * clock.h.
 */
#ifndef SOFT_TIMER_H
#define SOFT_TIMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/shared/lock.h"

struct runner;

/*
 * A timer. A queue pair sets its timer only when the timer is not running, never for each packet. When the timer runs
 * out, the queue pair looks whether packets have come meanwhile.
 */
struct timer {
	struct timer *next, **pprev; /* guarded by timers.lock; pprev NULL: the timer is not in the wheel */
	uint64_t tick;               /* tick at which the timer runs out; guarded by timers.lock */
	/*
	 * Called when the timer runs out. The caller holds timers.lock, so the function may only signal; an owner
	 * calls timer_stop() before the owner frees the timer. With without_lock the caller holds timers.running_out
	 * only, and an owner calls timer_end().
	 */
	void (*run_out)(struct timer *t, struct runner *r);
	_Atomic bool running;
	bool without_lock; /* run_out() may take locks and make upcalls */
};

#define WHEEL_BITS 6
#define WHEEL_LEVELS 8
#define TICK_SHIFT 12 /* a tick is 2^12 ns */

struct timers {
	/* held while run_out() of a timer with without_lock runs; before most locks: README.md */
	struct fmutex running_out;
	struct fmutex lock; /* guards the fields below */
	struct timer *due; /* expired timers with without_lock, whose run_out() has not been called */
	uint64_t now; /* tick up to which all timers have been expired */
	uint64_t filled[WHEEL_LEVELS]; /* a bit for each slot that may hold timers */
	struct timer *slot[WHEEL_LEVELS][1 << WHEEL_BITS];
};

void timers_init(struct timers *w);
/*
 * Starts or restarts a timer. Returns the time at which the timer runs out, in ns. A thread that sleeps until the
 * next timer must not sleep past that time.
 */
uint64_t timer_set(struct timers *w, struct timer *t, uint64_t delay_ns);
/* Stops a timer. A run_out() with without_lock may still be running. */
void timer_stop(struct timers *w, struct timer *t);
/* Stops a timer and waits for its run_out(). No thread sets the timer any more. May sleep. */
void timer_end(struct timers *w, struct timer *t);
/* Returns a time in ns before which no timer runs out; UINT64_MAX: no timer is running. */
uint64_t timers_next(struct timers *w);
/* Calls run_out() of each timer that is due. False: no timer was due. */
bool timers_expire(struct timers *w, struct runner *r);

#endif
