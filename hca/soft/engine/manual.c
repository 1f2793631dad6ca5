/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * progress = manual: nothing moves but by a step, and time is the module's own (SOFT_STEP). Runners
 * have no budget there, so that posts, polls and control operations leave on the run queues
 * whatever they have made runnable.
 */
#include <iba/ib_soft.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/timer.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/shared/base.h"

static struct {
	bool on;
	struct engine *first, **last; /* all, in the order of the HCAs */
	struct engine *turn;          /* to serve next; NULL: the first */
} manual;

void manual_start(bool on)
{
	clock_start(on);
	manual.on = on;
	manual.first = manual.turn = NULL;
	manual.last = &manual.first;
	engine_budget(on);
}

void manual_add(struct engine *engine)
{
	engine->next_step = NULL;
	*manual.last = engine;
	manual.last = &engine->next_step;
}

static uint32_t waiting(struct engine *engine)
{
	return atomic_load_explicit(&engine->waiting, memory_order_relaxed);
}

/* The engines are a ring, for those who take turns. */
static struct engine *after(const struct engine *engine)
{
	return engine->next_step ? engine->next_step : manual.first;
}

/* Runs the runnable queue pair number `index`, counted from the first of an HCA and on to the next. */
static bool run_one_of(struct engine *first, uint32_t index)
{
	struct engine *e = first;

	do {
		if (index < waiting(e)) {
			manual.turn = after(e);
			return engine_step(e, index);
		}
		index -= waiting(e);
		e = after(e);
	} while (e != first);
	return false;
}

/* The clock jumps to the next timer of all, which runs out. */
static bool expire_next(void)
{
	struct engine *next;
	uint64_t when, at;
	struct runner r;

	runner_start(&r);
	do { /* the wheel may have to turn before it comes to the timer */
		next = NULL;
		when = UINT64_MAX;
		for (struct engine *e = manual.first; e; e = e->next_step) {
			at = timers_next(&e->timers);
			if (at >= when)
				continue;
			when = at;
			next = e;
		}
		if (!next)
			return false;
		clock_move(when);
	} while (!timers_expire(&next->timers, &r));
	IB_TRACE("soft", "clock: %llu ns", (unsigned long long)when);
	runner_run(&r);
	return true;
}

al_status manual_step(const uint64_t *choice, struct soft_step *step)
{
	uint32_t runnable = 0;
	bool taken = false;
	struct runner r;

	if (!manual.on)
		return AL_INVALID_STATE;
	for (struct engine *e = manual.first; e; e = e->next_step) {
		taken |= e->step(e);
		runner_start(&r);
		taken |= reactor_poll(&e->reactor, &r);
		runner_run(&r);
		runnable += waiting(e);
	}
	if ((runnable && run_one_of(choice || !manual.turn ? manual.first : manual.turn,
				    choice ? (uint32_t)(*choice % runnable) : 0)) ||
	    taken)
		step->did = SOFT_STEP_QP;
	else if (!runnable && expire_next())
		step->did = SOFT_STEP_TIMER;
	else
		step->did = SOFT_STEP_NOTHING;
	step->now_ns = clock_ns();
	return AL_SUCCESS;
}
