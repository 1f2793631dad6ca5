/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * progress = manual: only SOFT_STEP runs queue pairs and moves the virtual clock. Runners have no budget, so posts,
 * polls and control operations leave each runnable actor on its run queue.
 */
#include <iba/ib_soft.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/timer.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/shared/base.h"

static struct {
	bool on;
	struct engine *first, **last; /* all engines, in the order of the HCAs */
	struct engine *turn;          /* the engine to step next; NULL: the first */
} manual;

void manual_start(bool on)
{
	clock_start(on);
	manual.on = on;
	manual.first = manual.turn = NULL;
	manual.last = &manual.first;
	engine_set_manual(on);
}

void manual_add(struct engine *engine)
{
	engine->next_step = NULL;
	*manual.last = engine;
	manual.last = &engine->next_step;
}

static uint32_t count_runnable(struct engine *engine)
{
	return atomic_load_explicit(&engine->queued_actors, memory_order_relaxed);
}

/* Returns the engine after this engine. The first engine follows the last. */
static struct engine *next_engine(const struct engine *engine)
{
	return engine->next_step ? engine->next_step : manual.first;
}

/*
 * Steps the runnable queue pair number `index`. The count starts at the run queue of `first` and goes on in the
 * engines after.
 */
static bool step_runnable(struct engine *first, uint32_t index)
{
	struct engine *e = first;

	do {
		if (index < count_runnable(e)) {
			manual.turn = next_engine(e);
			return engine_step(e, index);
		}
		index -= count_runnable(e);
		e = next_engine(e);
	} while (e != first);
	return false;
}

/* Moves the clock to the earliest timer of all engines and expires that timer. False: no timer is running. */
static bool expire_next_timer(void)
{
	struct engine *next;
	uint64_t when, at;
	struct runner r;

	runner_start(&r);
	do { /* timers_next() may name a time before the timer's, at which the wheel only turns */
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
	bool other_work = false;
	bool stepped = false;
	struct runner r;

	if (!manual.on)
		return AL_INVALID_STATE;
	for (struct engine *e = manual.first; e; e = e->next_step) {
		other_work |= e->step && e->step(e->step_arg);
		runner_start(&r);
		other_work |= reactor_poll(&e->reactor, &r);
		runner_run(&r);
		runnable += count_runnable(e);
	}
	if (runnable && choice)
		stepped = step_runnable(manual.first, (uint32_t)(*choice % runnable));
	else if (runnable)
		stepped = step_runnable(manual.turn ? manual.turn : manual.first, 0);
	if (stepped || other_work)
		step->did = SOFT_STEP_QP;
	else if (!runnable && expire_next_timer())
		step->did = SOFT_STEP_TIMER;
	else
		step->did = SOFT_STEP_NOTHING;
	step->now_ns = clock_ns();
	return AL_SUCCESS;
}
