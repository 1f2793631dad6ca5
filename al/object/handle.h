/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The handle table: from a handle's bits to an object, without a lock. Bits: type 8, generation 32, index 24. A slot
 * is reused first-in first-out, with the next generation; one whose generation is used up is retired. What an object
 * is, and how it lives and dies, is object.h's.
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
	_Atomic uint64_t handle;       /* 0: nothing to be found here */
	_Atomic(struct al_obj *) obj;  /* valid while handle is not 0, and a grace period longer */
	uint32_t generation;           /* of the last handle; guarded by the table's lock */
	uint32_t next_free;            /* guarded by the table's lock */
};

struct handle_table {
	_Atomic(struct handle_slot *) chunk[HANDLE_CHUNKS];
};

/* Swapped for an empty one in a forked child. */
extern _Atomic(struct handle_table *) handle_root;

static inline al_object_type handle_type(uint64_t handle)
{
	return (al_object_type)(handle >> 56);
}

/* The object of a handle of any value, or NULL. Inside a read section; the object is good until it is left. */
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
	/* acquire: pairs with the release in handle_publish(): who sees the handle sees the object whole */
	if (atomic_load_explicit(&chunk->handle, memory_order_acquire) != handle || !handle)
		return NULL;
	return atomic_load_explicit(&chunk->obj, memory_order_relaxed);
}

/* A handle of this type that nobody can find yet. */
al_status handle_reserve(al_object_type type, uint64_t *handle);
/* From now on the handle is found. */
void handle_publish(uint64_t handle, struct al_obj *obj);
/* From now on it is not; readers that have found it may still use the object, for a grace period. */
void handle_revoke(uint64_t handle);
/* Gives the slot back: after a grace period, or when it was never published. */
void handle_release(uint64_t handle);
/* In a forked child: every handle that was inherited is invalid. */
void handle_child(void);

#endif
