/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The module's clock: the machine's monotonic one, or a virtual one that only a test moves. */
#ifndef SOFT_CLOCK_H
#define SOFT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t clock_ns(void);

/* True: the clock is virtual from now on and stands at 0. */
void clock_start(bool is_virtual);
bool clock_is_virtual(void);
/* Moves the virtual clock forward; an earlier time is ignored. */
void clock_move(uint64_t ns);

#endif
