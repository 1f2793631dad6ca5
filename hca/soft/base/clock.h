/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The module's clock (clock.c): the machine's monotonic clock, or a virtual clock that only a test moves. Timers are in
 * timer.h.
 */
#ifndef SOFT_CLOCK_H
#define SOFT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the time in ns. */
uint64_t clock_ns(void);

/* is_virtual: the clock is virtual from now on and stands at 0. No other thread reads the clock yet. */
void clock_start(bool is_virtual);
bool clock_is_virtual(void);
/* Moves the virtual clock forward; an earlier time is ignored. */
void clock_move(uint64_t ns);

#endif
