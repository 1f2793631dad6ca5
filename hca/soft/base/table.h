/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Numbers with something behind them: queue pair numbers and memory keys. Elements live in chunks that are never moved
 * nor freed while the HCA is there, so that a look-up takes no lock and what it finds can always be read; whether it is
 * in use says the element itself.
 */
#ifndef SOFT_TABLE_H
#define SOFT_TABLE_H

#include <iba/ib_types.h>
#include <stdatomic.h>

#include "hca/soft/shared/lock.h"

#define TABLE_CHUNK 1024u       /* elements allocated at once */
#define TABLE_BITS 24           /* of a number */
#define TABLE_REUSE 64u         /* numbers that rest before one is given again */

struct table {
	struct fmutex lock; /* guards all but the look-up */
	uint32_t elem_size; /* a multiple of 64 */
	uint32_t max;       /* elements */
	uint32_t base;      /* number of the first */
	uint32_t fresh;     /* elements never used begin here */
	uint32_t free_head, free_tail, free_count; /* numbers given back, first in first out */
	_Atomic(char *) *chunk; /* each: TABLE_CHUNK elements, then TABLE_CHUNK links of the free list */
};

al_status table_create(struct table *t, uint32_t elem_size, uint32_t max, uint32_t base);
void table_destroy(struct table *t);

/* A free number and its element, or AL_LIMIT_EXCEEDED, AL_INSUFFICIENT_MEMORY. A new element is zero. */
al_status table_take(struct table *t, uint32_t *number, void **elem);
void table_give(struct table *t, uint32_t number);

/* The element at an index that was or is in use; NULL: none ever was. Context: any. */
static inline void *table_index(const struct table *t, uint32_t index)
{
	char *chunk;

	if (index >= t->max)
		return NULL;
	/* acquire: pairs with the release in table_take() */
	chunk = atomic_load_explicit(&t->chunk[index / TABLE_CHUNK], memory_order_acquire);
	return chunk ? chunk + (size_t)(index % TABLE_CHUNK) * t->elem_size : NULL;
}

/* The same for a number. */
static inline void *table_find(const struct table *t, uint32_t number)
{
	return table_index(t, (number - t->base) & ((1u << TABLE_BITS) - 1));
}

#endif
