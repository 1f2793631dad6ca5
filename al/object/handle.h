/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The handle table finds the object of a handle without a lock. A handle has 8 bits of type, 32 of
 * generation and 24 of index. Slots are reused first-in first-out, each time with the next
 * generation. A slot whose generations are used up is retired. The life of the objects is described
 * in object.h.
 */
#ifndef AL_OBJECT_HANDLE_H
#define AL_OBJECT_HANDLE_H

#include <stdatomic.h>
#include <stdint.h>

#include <iba/ib_types.h>

_Static_assert(sizeof(void *) == 8, "handles need 64 bits");

struct al_obj;

#define HANDLE_CHUNK_BITS 10
#define HANDLE_CHUNK_SLOTS (1u << HANDLE_CHUNK_BITS)
#define HANDLE_INDEX_BITS 24
#define HANDLE_CHUNKS (1u << (HANDLE_INDEX_BITS - HANDLE_CHUNK_BITS))

struct handle_slot {
	_Atomic uint64_t handle;       /* the valid handle of this slot; 0: none */
	_Atomic(struct al_obj *) obj;  /* object of the handle; usable while handle is not 0, and a grace period
					* longer */
	uint32_t generation;           /* generation of the slot's latest handle; guarded by the table's lock */
	uint32_t next_free;            /* index of the next free slot, 0: none; guarded by the table's lock */
};

struct handle_table {
	_Atomic(struct handle_slot *) chunk[HANDLE_CHUNKS];
};

/* The table of this process. A forked child replaces the inherited table by an empty table. */
extern _Atomic(struct handle_table *) handle_root;

#define HANDLE_ALIAS 0x80u /* bit of the type in the handle of an alias: obj_type.alias */

static inline al_object_type handle_type(uint64_t handle)
{
	return (al_object_type)(handle >> 56);
}

/*
 * Finds the object of a handle. NULL: the handle is invalid; any 64 bits may be passed. The caller
 * is in a read section, and the object is usable until the read section ends.
 */
static inline struct al_obj *handle_find(uint64_t handle)
{
	uint32_t index = handle & ((1u << HANDLE_INDEX_BITS) - 1);
	struct handle_table *table = atomic_load_explicit(&handle_root, memory_order_acquire);
	/* acquire: pairs with the release in handle_reserve() that makes a chunk visible */
	struct handle_slot *chunk =
		atomic_load_explicit(&table->chunk[index >> HANDLE_CHUNK_BITS], memory_order_acquire);

	if (!chunk)
		return NULL;
	chunk += index & (HANDLE_CHUNK_SLOTS - 1);
	/*
	 * acquire: pairs with the release in handle_publish(): a reader that sees the handle sees
	 * the complete object
	 */
	if (atomic_load_explicit(&chunk->handle, memory_order_acquire) != handle || !handle)
		return NULL;
	return atomic_load_explicit(&chunk->obj, memory_order_relaxed);
}

/* Reserves a slot and its next handle. handle_find() does not find the handle before
 * handle_publish(). */
al_status handle_reserve(al_object_type type, uint64_t *handle);
/* Makes the handle valid: handle_find() finds obj from now on. */
void handle_publish(uint64_t handle, struct al_obj *obj);
/* Makes the handle invalid. Readers that have found the object may use it until the end of their
 * read section. */
void handle_revoke(uint64_t handle);
/* Frees the handle's slot: a grace period after handle_revoke(), or when the handle was never
 * published. */
void handle_release(uint64_t handle);
/* Makes every inherited handle invalid in a forked child. */
void handle_after_fork(void);

#endif
