/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Draws of fault rules: numbers that depend on seeds and on the number of a packet only. */
#ifndef SOFT_DRAW_H
#define SOFT_DRAW_H

#include <stdint.h>

#include <iba/ib_soft.h>

#define DRAW_ALWAYS UINT64_MAX /* a threshold that needs no draw */

static inline uint64_t draw_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Returns the threshold of soft_fault.chance: a rule meets a packet whose draw is below. */
static inline uint64_t draw_threshold(uint32_t chance)
{
	if (!chance || chance == 1000000)
		return DRAW_ALWAYS;
	return chance == SOFT_NEVER ? 0 : UINT64_MAX / 1000000 * chance;
}

/* True: a rule with a threshold and a key meets packet number n. */
static inline bool draw_meets(uint64_t threshold, uint64_t key, uint64_t n)
{
	return threshold == DRAW_ALWAYS || draw_mix(key + n) < threshold;
}

/* True: packet number n, from 1, is among those that a rule names by n and count. */
static inline bool draw_in_range(const struct soft_fault *f, uint64_t n)
{
	return n >= f->n && (!f->n || !f->count || n - f->n < f->count);
}

#endif
