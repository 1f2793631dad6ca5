/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables of numbered elements: queue pairs by number, memory regions by key (table.c). Elements live in chunks, which
 * are neither moved nor freed while the HCA exists. So a look-up takes no lock, and the caller can always read the
 * element that the look-up returns. The element itself tells whether the element is in use.
 */
#ifndef SOFT_TABLE_H
#define SOFT_TABLE_H

#include <iba/ib_types.h>
#include <stdatomic.h>

#include "hca/soft/shared/lock.h"

#define TABLE_CHUNK 1024u /* elements of a chunk, which is one allocation */
#define TABLE_BITS 24     /* bits of a number */
#define TABLE_REUSE 64u   /* free numbers that the table keeps back before it reuses the oldest of them */

struct table {
	struct fmutex lock; /* guards the fields below, except against look-ups */
	uint32_t elem_size; /* bytes of an element: a multiple of 64 */
	uint32_t max;       /* elements that the table may have */
	uint32_t base;      /* number of the element at index 0 */
	uint32_t fresh;     /* index from which on no element has been used */
	uint32_t free_head, free_tail, free_count; /* indices that were given back, first in, first out */
	_Atomic(char *) *chunk; /* each chunk: TABLE_CHUNK elements, then TABLE_CHUNK links of the free list */
};

/* Makes an empty table. base: the number of the first element. AL_INSUFFICIENT_MEMORY. */
al_status table_create(struct table *t, uint32_t elem_size, uint32_t max, uint32_t base);
void table_destroy(struct table *t);

/* Takes a free number and its element, which is zero at its first use. AL_LIMIT_EXCEEDED, AL_INSUFFICIENT_MEMORY. */
al_status table_take(struct table *t, uint32_t *number, void **elem);
/* Gives a number back. The element stays readable. */
void table_give(struct table *t, uint32_t number);

/* Returns the element at an index. NULL: the element's chunk has not been allocated. Context: any. */
static inline void *table_index(const struct table *t, uint32_t index)
{
	char *chunk;

	if (index >= t->max)
		return NULL;
	/* acquire: pairs with the release in table_take() */
	chunk = atomic_load_explicit(&t->chunk[index / TABLE_CHUNK], memory_order_acquire);
	return chunk ? chunk + (size_t)(index % TABLE_CHUNK) * t->elem_size : NULL;
}

/* Returns the element with a number. NULL: the element's chunk has not been allocated. Context: any. */
static inline void *table_find(const struct table *t, uint32_t number)
{
	return table_index(t, (number - t->base) & ((1u << TABLE_BITS) - 1));
}

#endif
