/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables of numbered elements: taking and giving back of numbers. The look-up is in table.h. */

#include "hca/soft/base/table.h"

#include <iba/ib_hca.h>

#include "hca/soft/shared/lock.h"

al_status table_create(struct table *t, uint32_t elem_size, uint32_t max, uint32_t base)
{
	uint32_t chunks = (max + TABLE_CHUNK - 1) / TABLE_CHUNK;

	*t = (struct table){ .elem_size = elem_size, .max = max, .base = base };
	t->chunk = al_alloc(chunks * sizeof(*t->chunk));
	return t->chunk ? AL_SUCCESS : AL_INSUFFICIENT_MEMORY;
}

void table_destroy(struct table *t)
{
	uint32_t i;

	if (!t->chunk)
		return;
	for (i = 0; i < (t->max + TABLE_CHUNK - 1) / TABLE_CHUNK; i++)
		al_free(atomic_load_explicit(&t->chunk[i], memory_order_relaxed));
	al_free(t->chunk);
	t->chunk = NULL;
}

static uint32_t *link_of(struct table *t, uint32_t index)
{
	char *chunk = atomic_load_explicit(&t->chunk[index / TABLE_CHUNK], memory_order_relaxed);

	return (uint32_t *)(chunk + (size_t)TABLE_CHUNK * t->elem_size) + index % TABLE_CHUNK;
}

static al_status add_chunk(struct table *t, uint32_t index)
{
	_Atomic(char *) *chunk = &t->chunk[index / TABLE_CHUNK];
	char *mem;

	if (atomic_load_explicit(chunk, memory_order_relaxed))
		return AL_SUCCESS;
	mem = al_alloc_aligned(64, TABLE_CHUNK * (t->elem_size + sizeof(uint32_t)));
	if (!mem)
		return AL_INSUFFICIENT_MEMORY;
	atomic_store_explicit(chunk, mem, memory_order_release);
	return AL_SUCCESS;
}

al_status table_take(struct table *t, uint32_t *number, void **elem)
{
	al_status status = AL_SUCCESS;
	uint32_t index;

	fmutex_lock(&t->lock);
	if (t->fresh < t->max && t->free_count < TABLE_REUSE) {
		index = t->fresh;
		status = add_chunk(t, index);
		if (!status)
			t->fresh++;
	} else if (t->free_count) {
		index = t->free_head;
		t->free_head = *link_of(t, index);
		t->free_count--;
	} else {
		index = 0;
		status = AL_LIMIT_EXCEEDED;
	}
	fmutex_unlock(&t->lock);
	if (status)
		return status;
	*number = (t->base + index) & ((1u << TABLE_BITS) - 1);
	*elem = table_index(t, index);
	return AL_SUCCESS;
}

void table_give(struct table *t, uint32_t number)
{
	uint32_t index = (number - t->base) & ((1u << TABLE_BITS) - 1);

	fmutex_lock(&t->lock);
	if (t->free_count)
		*link_of(t, t->free_tail) = index;
	else
		t->free_head = index;
	t->free_tail = index;
	t->free_count++;
	fmutex_unlock(&t->lock);
}
