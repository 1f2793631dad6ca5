/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Time: the clock, and a hierarchical wheel of timers per HCA. An entry lies in the level of the
 * highest bits in which its time differs from now, so that all entries of a level come before all
 * of the next.
 */
#include <time.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

#define SLOTS (1u << WHEEL_BITS)

uint64_t clock_ns(void)
{
	struct timespec ts;
	uint64_t now;

	if (UNLIKELY(manual_clock(&now)))
		return now;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void timers_init(struct timers *w)
{
	*w = (struct timers){ .now = clock_ns() >> TICK_SHIFT };
}

static void insert(struct timers *w, struct timer *t)
{
	uint64_t differ = t->tick ^ w->now;
	unsigned int level = differ ? (63 - (unsigned int)__builtin_clzll(differ)) / WHEEL_BITS : 0;
	unsigned int slot;

	if (level >= WHEEL_LEVELS) /* the clock has run for 36 years */
		level = WHEEL_LEVELS - 1;
	slot = (unsigned int)(t->tick >> (level * WHEEL_BITS)) % SLOTS;
	t->next = w->slot[level][slot];
	if (t->next)
		t->next->pprev = &t->next;
	t->pprev = &w->slot[level][slot];
	*t->pprev = t;
	w->filled[level] |= 1ull << slot;
}

static void detach(struct timer *t)
{
	*t->pprev = t->next;
	if (t->next)
		t->next->pprev = t->pprev;
	t->pprev = NULL;
}

/* The tick at which something is to be done, and where; UINT64_MAX: nothing is there. */
static uint64_t next_tick(struct timers *w, unsigned int *level, unsigned int *slot)
{
	unsigned int shift;

	for (*level = 0; *level < WHEEL_LEVELS; ++*level) {
		while (w->filled[*level]) {
			*slot = (unsigned int)__builtin_ctzll(w->filled[*level]);
			shift = *level * WHEEL_BITS;
			if (w->slot[*level][*slot])
				return ((w->now >> shift >> WHEEL_BITS << WHEEL_BITS) | *slot)
				       << shift;
			w->filled[*level] &= w->filled[*level] - 1; /* stopped since */
		}
	}
	return UINT64_MAX;
}

static uint64_t tick_ns(uint64_t tick)
{
	return tick >= UINT64_MAX >> TICK_SHIFT ? UINT64_MAX : tick << TICK_SHIFT;
}

uint64_t timers_next(struct soft_hca *hca)
{
	unsigned int level, slot;
	uint64_t tick;

	fmutex_lock(&hca->timers.lock);
	tick = next_tick(&hca->timers, &level, &slot);
	fmutex_unlock(&hca->timers.lock);
	return tick_ns(tick);
}

void timer_start(struct soft_hca *hca, struct timer *t, uint64_t delay_ns)
{
	struct timers *w = &hca->timers;
	/* the first tick that is not too early */
	uint64_t tick = (clock_ns() + delay_ns + (1u << TICK_SHIFT) - 1) >> TICK_SHIFT;

	fmutex_lock(&w->lock);
	if (t->pprev)
		detach(t);
	t->tick = tick > w->now ? tick : w->now + 1;
	tick = t->tick;
	insert(w, t);
	t->running = true;
	fmutex_unlock(&w->lock);
	if (tick_ns(tick) < atomic_load(&hca->engine_until))
		engine_wake(hca);
}

void timer_stop(struct soft_hca *hca, struct timer *t)
{
	fmutex_lock(&hca->timers.lock);
	if (t->pprev)
		detach(t);
	t->running = false;
	fmutex_unlock(&hca->timers.lock);
}

bool timers_expire(struct soft_hca *hca, struct runner *r)
{
	struct timers *w = &hca->timers;
	uint64_t now = clock_ns() >> TICK_SHIFT, tick;
	unsigned int level, slot;
	struct timer *t, *list;
	bool any = false, fault = false;

	fmutex_lock(&w->lock);
	while ((tick = next_tick(w, &level, &slot)) <= now) {
		if (tick > w->now)
			w->now = tick;
		list = w->slot[level][slot];
		w->slot[level][slot] = NULL;
		w->filled[level] &= ~(1ull << slot);
		while ((t = list)) {
			list = t->next;
			t->pprev = NULL;
			if (t->tick > now) {
				insert(w, t);
				continue;
			}
			t->running = false;
			any = true;
			/* under the lock, so that the queue pair is there: it stops its timer
			 * before it goes */
			if (t->actor)
				actor_signal(r, t->actor, SIGNAL_TIMER);
			else
				fault = true;
		}
	}
	if (now > w->now)
		w->now = now;
	fmutex_unlock(&w->lock);
	if (fault)
		fault_timer(r, hca);
	return any;
}
