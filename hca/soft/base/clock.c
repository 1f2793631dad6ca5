/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The module's clock: the machine's monotonic clock, or a virtual clock. Timers are in timer.c. */
#include "hca/soft/base/clock.h"

#include <stdatomic.h>
#include <time.h>

#include "hca/soft/shared/base.h"

static bool is_virtual;
static _Atomic uint64_t virtual_ns; /* atomic, because other threads read the time that SOFT_STEP moves */

uint64_t clock_ns(void)
{
	struct timespec ts;

	if (UNLIKELY(is_virtual))
		return atomic_load_explicit(&virtual_ns, memory_order_relaxed);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void clock_start(bool virtual)
{
	is_virtual = virtual;
	atomic_store(&virtual_ns, 0);
}

bool clock_is_virtual(void)
{
	return is_virtual;
}

void clock_move(uint64_t ns)
{
	if (ns > atomic_load(&virtual_ns))
		atomic_store(&virtual_ns, ns);
}
