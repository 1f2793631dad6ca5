/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * progress = manual: nothing moves but by a step, and time is the module's own (SOFT_STEP). Runners
 * have no budget there, so that posts, polls and control operations leave on the run queues
 * whatever they have made runnable.
 */
#include <iba/ib_soft.h>

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/shared/base.h"

static struct {
	_Atomic uint64_t now; /* ns; atomic, so that a second thread finds no garbage */
	bool on;
	uint32_t turn; /* HCA to serve next */
} manual;

void manual_start(bool on)
{
	atomic_store(&manual.now, 0);
	manual.on = on;
	manual.turn = 0;
	engine_budget(on);
}

bool manual_clock(uint64_t *now)
{
	if (LIKELY(!manual.on))
		return false;
	*now = atomic_load_explicit(&manual.now, memory_order_relaxed);
	return true;
}

static uint32_t waiting(struct soft_hca *hca)
{
	return atomic_load_explicit(&hca->run_waiting, memory_order_relaxed);
}

/* Runs the runnable queue pair number `index`, counted from the first of an HCA and on to the next.
 */
static bool run_one_of(struct soft_hca *hcas, uint32_t count, uint32_t first, uint32_t index)
{
	struct soft_hca *hca;
	uint32_t i;

	for (i = 0; i < count; i++) {
		hca = &hcas[(first + i) % count];
		if (index < waiting(hca)) {
			manual.turn = (first + i + 1) % count;
			return engine_step(hca, index);
		}
		index -= waiting(hca);
	}
	return false;
}

/* The clock jumps to the next timer of all, which runs out. */
static bool expire_next(struct soft_hca *hcas, uint32_t count)
{
	struct soft_hca *next;
	uint64_t when, at;
	struct runner r;
	uint32_t i;

	runner_start(&r);
	do { /* the wheel may have to turn before it comes to the timer */
		next = NULL;
		when = UINT64_MAX;
		for (i = 0; i < count; i++) {
			at = timers_next(&hcas[i]);
			if (at >= when)
				continue;
			when = at;
			next = &hcas[i];
		}
		if (!next)
			return false;
		if (when > atomic_load(&manual.now))
			atomic_store(&manual.now, when);
	} while (!timers_expire(next, &r));
	IB_TRACE("soft", "clock: %llu ns", (unsigned long long)when);
	runner_run(&r);
	return true;
}

al_status manual_step(struct soft_hca *hcas, uint32_t count, const uint64_t *choice,
		      struct soft_step *step)
{
	uint32_t runnable = 0, i;
	bool taken = false;

	if (!manual.on)
		return AL_INVALID_STATE;
	for (i = 0; i < count; i++) {
		taken |= rings_step(&hcas[i].rings);
		runnable += waiting(&hcas[i]);
	}
	if ((runnable && run_one_of(hcas, count, choice ? 0 : manual.turn,
				    choice ? (uint32_t)(*choice % runnable) : 0)) ||
	    taken)
		step->did = SOFT_STEP_QP;
	else if (!runnable && expire_next(hcas, count))
		step->did = SOFT_STEP_TIMER;
	else
		step->did = SOFT_STEP_NOTHING;
	step->now_ns = clock_ns();
	return AL_SUCCESS;
}
