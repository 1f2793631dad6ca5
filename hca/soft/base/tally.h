/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counts of what each fault rule has met. A tally is not a part of a table of rules, since tables
 * are replaced while other threads count.
 */
#ifndef SOFT_TALLY_H
#define SOFT_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#include <iba/ib_hca.h>

struct tally {
	struct tally *next; /* on its owner's list */
	_Atomic uint64_t met;
};

/* Adds a tally of 0 to a list. NULL: no memory. */
static inline struct tally *tally_add(struct tally **all)
{
	struct tally *tally = al_alloc(sizeof(*tally));

	if (!tally)
		return NULL;
	tally->next = *all;
	*all = tally;
	return tally;
}

static inline void tally_count(struct tally *tally)
{
	atomic_fetch_add_explicit(&tally->met, 1, memory_order_relaxed);
}

static inline uint64_t tally_read(const struct tally *tally)
{
	return atomic_load_explicit(&tally->met, memory_order_relaxed);
}

static inline void tallies_free(struct tally **all)
{
	struct tally *tally;

	while ((tally = *all)) {
		*all = tally->next;
		al_free(tally);
	}
}

#endif
