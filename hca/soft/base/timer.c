/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A hierarchical wheel of timers. A timer lies in the level of the highest bits in which its tick differs from the
 * present tick. So all timers of a level run out before all timers of the next level. Threads that sleep until a
 * timer are in engine/.
 */
#include "hca/soft/base/timer.h"

#include "hca/soft/base/clock.h"

#define SLOTS (1u << WHEEL_BITS)

void timers_init(struct timers *w)
{
	*w = (struct timers){ .now = clock_ns() >> TICK_SHIFT };
}

static void put_first(struct timer **list, struct timer *t)
{
	t->next = *list;
	if (t->next)
		t->next->pprev = &t->next;
	t->pprev = list;
	*list = t;
}

static void insert(struct timers *w, struct timer *t)
{
	uint64_t differ = t->tick ^ w->now;
	unsigned int level = differ ? (63 - (unsigned int)__builtin_clzll(differ)) / WHEEL_BITS : 0;
	unsigned int slot;

	if (level >= WHEEL_LEVELS) /* the clock has run for 36 years */
		level = WHEEL_LEVELS - 1;
	slot = (unsigned int)(t->tick >> (level * WHEEL_BITS)) % SLOTS;
	put_first(&w->slot[level][slot], t);
	w->filled[level] |= 1ull << slot;
}

static void detach(struct timer *t)
{
	*t->pprev = t->next;
	if (t->next)
		t->next->pprev = t->pprev;
	t->pprev = NULL;
}

/* Returns the earliest tick at which a slot expires, and the slot; UINT64_MAX: no timer is running. */
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
			w->filled[*level] &= w->filled[*level] - 1; /* every timer of the slot has been stopped */
		}
	}
	return UINT64_MAX;
}

static uint64_t tick_ns(uint64_t tick)
{
	return tick >= UINT64_MAX >> TICK_SHIFT ? UINT64_MAX : tick << TICK_SHIFT;
}

uint64_t timers_next(struct timers *w)
{
	unsigned int level, slot;
	uint64_t tick;

	fmutex_lock(&w->lock);
	tick = next_tick(w, &level, &slot);
	fmutex_unlock(&w->lock);
	return tick_ns(tick);
}

uint64_t timer_set(struct timers *w, struct timer *t, uint64_t delay_ns)
{
	/* rounded up, so that no timer runs out early */
	uint64_t tick = (clock_ns() + delay_ns + (1u << TICK_SHIFT) - 1) >> TICK_SHIFT;

	fmutex_lock(&w->lock);
	if (t->pprev)
		detach(t);
	t->tick = tick > w->now ? tick : w->now + 1;
	tick = t->tick;
	insert(w, t);
	t->running = true;
	fmutex_unlock(&w->lock);
	return tick_ns(tick);
}

void timer_stop(struct timers *w, struct timer *t)
{
	fmutex_lock(&w->lock);
	if (t->pprev)
		detach(t);
	t->running = false;
	fmutex_unlock(&w->lock);
}

/* Expires the due timers of a slot's list and moves the other timers to lower levels. False: no timer was due. */
static bool expire_list(struct timers *w, struct timer *list, uint64_t now, struct runner *r)
{
	struct timer *t;
	bool any = false;

	while (list) {
		t = list;
		list = t->next;
		t->pprev = NULL;
		if (t->tick > now) {
			insert(w, t);
			continue;
		}
		t->running = false;
		any = true;
		if (t->without_lock)
			put_first(&w->due, t);
		else
			t->run_out(t, r);
	}
	return any;
}

/* Calls run_out() of one timer of the list `due`. False: the list is empty. */
static bool run_out_one(struct timers *w, struct runner *r)
{
	struct timer *t;

	fmutex_lock(&w->running_out);
	fmutex_lock(&w->lock);
	t = w->due;
	if (t)
		detach(t);
	fmutex_unlock(&w->lock);
	if (t)
		t->run_out(t, r);
	fmutex_unlock(&w->running_out);
	return t;
}

void timer_end(struct timers *w, struct timer *t)
{
	timer_stop(w, t);
	fmutex_lock(&w->running_out);
	timer_stop(w, t); /* run_out() may have set the timer again */
	fmutex_unlock(&w->running_out);
}

bool timers_expire(struct timers *w, struct runner *r)
{
	uint64_t now = clock_ns() >> TICK_SHIFT, tick;
	struct timer *list;
	unsigned int level, slot;
	bool any = false;

	fmutex_lock(&w->lock);
	while ((tick = next_tick(w, &level, &slot)) <= now) {
		if (tick > w->now)
			w->now = tick;
		list = w->slot[level][slot];
		w->slot[level][slot] = NULL;
		w->filled[level] &= ~(1ull << slot);
		any |= expire_list(w, list, now, r);
	}
	if (now > w->now)
		w->now = now;
	fmutex_unlock(&w->lock);
	while (any && run_out_one(w, r))
		;
	return any;
}
