/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The handle table: reserving, publishing, revoking and releasing handles. The lookup is inline in
 * handle.h. */
#include "al/object/handle.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <iba/ib_hca.h>

#include "al/object/rcu.h"

#ifdef AL_TSAN
char rcu_tsan_tag;
#endif

/* Both tables are static: a process that never opened the library, or a forked child, has a table
 * without an allocation. */
static struct handle_table empty_table, first_table;
_Atomic(struct handle_table *) handle_root = &first_table;

/* Guards the free list, the generations and the allocation of chunks. Leaf. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t free_head,
	free_tail;         /* indices of free slots; 0: the list is empty (index 0 is never used) */
static uint32_t fresh = 1; /* lowest index that was never used */
static uint64_t random_state;

#define INDEX_MASK ((1u << HANDLE_INDEX_BITS) - 1)

/* A random first generation (splitmix64), so that a stale handle of another slot or process is not
 * valid here. */
static uint32_t first_generation(void)
{
	uint64_t z;

	if (!random_state &&
	    getrandom(&random_state, sizeof(random_state), GRND_NONBLOCK) != sizeof(random_state)) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		random_state = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uintptr_t)&now;
	}
	z = random_state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)(z >>
			  33); /* below 2^31: at least 2^31 generations are left for the slot */
}

static struct handle_slot *slot_at(uint32_t index)
{
	struct handle_table *table = atomic_load_explicit(&handle_root, memory_order_relaxed);
	struct handle_slot *chunk = atomic_load_explicit(&table->chunk[index >> HANDLE_CHUNK_BITS],
							 memory_order_relaxed);

	return chunk + (index & (HANDLE_CHUNK_SLOTS - 1));
}

/* Allocates the chunk of an index that was never used, and a table if the static empty table is in
 * use. */
static al_status make_room(uint32_t index)
{
	struct handle_table *table = atomic_load_explicit(&handle_root, memory_order_relaxed);
	struct handle_slot *chunk;

	if (table == &empty_table) {
		table = al_alloc(sizeof(*table));
		if (!table)
			return AL_INSUFFICIENT_MEMORY;
		atomic_store_explicit(&handle_root, table, memory_order_release);
	}
	if (atomic_load_explicit(&table->chunk[index >> HANDLE_CHUNK_BITS], memory_order_relaxed))
		return AL_SUCCESS;
	chunk = al_alloc_aligned(64, HANDLE_CHUNK_SLOTS * sizeof(*chunk));
	if (!chunk)
		return AL_INSUFFICIENT_MEMORY;
	/* release: pairs with the acquire in handle_find() */
	atomic_store_explicit(&table->chunk[index >> HANDLE_CHUNK_BITS], chunk,
			      memory_order_release);
	return AL_SUCCESS;
}

al_status handle_reserve(al_object_type type, uint64_t *handle)
{
	al_status status = AL_SUCCESS;
	struct handle_slot *slot;
	uint32_t index;

	pthread_mutex_lock(&lock);
	if (free_head) {
		index = free_head;
		slot = slot_at(index);
		free_head = slot->next_free;
		if (!free_head)
			free_tail = 0;
	} else {
		index = fresh;
		status = index > INDEX_MASK ? AL_LIMIT_EXCEEDED : make_room(index);
		if (status)
			goto out;
		fresh++;
		slot = slot_at(index);
		slot->generation = first_generation();
	}
	slot->generation++;
	*handle = (uint64_t)type << 56 | (uint64_t)slot->generation << HANDLE_INDEX_BITS | index;
out:
	pthread_mutex_unlock(&lock);
	return status;
}

void handle_publish(uint64_t handle, struct al_obj *obj)
{
	struct handle_slot *slot = slot_at(handle & INDEX_MASK);

	atomic_store_explicit(&slot->obj, obj, memory_order_relaxed);
	/* release: pairs with the acquire in handle_find() */
	atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

void handle_revoke(uint64_t handle)
{
	atomic_store(&slot_at(handle & INDEX_MASK)->handle, 0);
}

void handle_release(uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;
	struct handle_slot *slot;

	pthread_mutex_lock(&lock);
	slot = slot_at(index);
	if (slot->generation == UINT32_MAX)
		goto out; /* the slot is retired: its next handle would repeat an old handle */
	slot->next_free = 0;
	if (free_tail)
		slot_at(free_tail)->next_free = index;
	else
		free_head = index;
	free_tail = index;
out:
	pthread_mutex_unlock(&lock);
}

void handle_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	free_head = free_tail = 0;
	fresh = 1;
	random_state = 0; /* otherwise parent and child would issue equal handles */
	atomic_store_explicit(&handle_root, &empty_table, memory_order_release);
}
