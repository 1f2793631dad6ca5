/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table by which events find their objects (verbs.h). */
#include <stdlib.h>

#include "al/compat/verbs/verbs.h"

bool objects_init(struct objects *objects)
{
	return !pthread_mutex_init(&objects->lock, NULL);
}

void objects_free(struct objects *objects)
{
	pthread_mutex_destroy(&objects->lock);
	free(objects->slots);
}

/* Doubles the table. Under the lock. */
static bool grow(struct objects *objects)
{
	const uint32_t num = objects->num ? 2 * objects->num : 16;
	struct object_slot *slots = realloc(objects->slots, num * sizeof(*slots));

	if (!slots)
		return false;
	objects->slots = slots;
	for (uint32_t i = objects->num; i < num; i++) {
		slots[i] = (struct object_slot){ .next = objects->first_free };
		objects->first_free = i + 1;
	}
	objects->num = num;
	return true;
}

/* The upper half of a cookie is the slot's generation, the lower half the slot's index + 1. */
static void *make_cookie(const struct objects *objects, uint32_t index)
{
	return (void *)(uintptr_t)((uint64_t)objects->slots[index].generation << 32 | (index + 1));
}

static struct object_slot *slot_of(const struct objects *objects, const void *cookie)
{
	const uint32_t index = (uint32_t)(uintptr_t)cookie - 1;
	struct object_slot *slot;

	if (index >= objects->num)
		return NULL;
	slot = &objects->slots[index];
	return slot->object && slot->generation == (uint64_t)(uintptr_t)cookie >> 32 ? slot : NULL;
}

void *objects_add(struct objects *objects, void *object)
{
	void *cookie = NULL;
	uint32_t index;

	pthread_mutex_lock(&objects->lock);
	if (objects->first_free || grow(objects)) {
		index = objects->first_free - 1;
		objects->first_free = objects->slots[index].next;
		objects->slots[index].object = object;
		cookie = make_cookie(objects, index);
	}
	pthread_mutex_unlock(&objects->lock);
	return cookie;
}

void objects_remove(struct objects *objects, void *cookie)
{
	struct object_slot *slot;

	pthread_mutex_lock(&objects->lock);
	slot = slot_of(objects, cookie);
	if (slot) {
		slot->object = NULL;
		slot->generation++;
		slot->next = objects->first_free;
		objects->first_free = (uint32_t)(slot - objects->slots) + 1;
	}
	pthread_mutex_unlock(&objects->lock);
}

void *objects_find(const struct objects *objects, const void *cookie)
{
	const struct object_slot *slot = slot_of(objects, cookie);

	return slot ? slot->object : NULL;
}
