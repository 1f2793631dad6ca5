/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client's objects: handles, places, what they are charged. On the loop. */
#include "al/agent/object.h"

#include <string.h>

#include <iba/ib_hca.h>

#define INDEX_MASK 0xffffffu

uint64_t object_handle(const struct object *object)
{
	return (uint64_t)object->type << 56 | (uint64_t)object->generation << 24 | object->index;
}

struct object *object_find(const struct objects *objects, uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;
	struct object *object = index < objects->num_slots ? objects->at[index] : NULL;

	return object && object->ready && object_handle(object) == handle ? object : NULL;
}

const al_resource object_resources[AL_OBJ_TYPES] = {
	[AL_OBJ_CA] = AL_RESOURCE_CAS, [AL_OBJ_PD] = AL_RESOURCE_PDS, [AL_OBJ_MR] = AL_RESOURCE_MRS,
	[AL_OBJ_CQ] = AL_RESOURCE_CQS, [AL_OBJ_QP] = AL_RESOURCE_QPS,
};

bool object_removed(const struct objects *objects, uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;

	return index < objects->num_slots && objects->removed[index] &&
	       objects->removed[index] == (uint32_t)(handle >> 24);
}

static bool grow(struct objects *objects)
{
	uint32_t slots = objects->num_slots ? 2 * objects->num_slots : 64;
	struct object **grown = slots <= INDEX_MASK + 1 ? al_alloc(slots * sizeof(*grown)) : NULL;
	uint32_t *removed = al_alloc(slots * sizeof(*removed));

	if (!grown || !removed) {
		al_free(grown);
		al_free(removed);
		return false;
	}
	if (objects->num_slots) {
		memcpy(grown, objects->at, objects->num_slots * sizeof(*grown));
		memcpy(removed, objects->removed, objects->num_slots * sizeof(*removed));
	}
	al_free(objects->at);
	al_free(objects->removed);
	objects->at = grown;
	objects->removed = removed;
	objects->num_slots = slots;
	return true;
}

/* Places are reused in turn, each time with another generation: old handles mean nothing. */
struct object *object_new(struct objects *objects, al_object_type type)
{
	struct object *object;
	uint32_t i;

	if (objects->num_objects >= objects->num_slots - objects->num_slots / 4 && !grow(objects))
		return NULL;
	object = al_alloc(sizeof(*object));
	if (!object)
		return NULL;
	for (i = objects->last_slot + 1; objects->at[i % objects->num_slots]; i++)
		;
	i %= objects->num_slots;
	objects->last_slot = i;
	objects->at[i] = object;
	objects->num_objects++;
	object->objects = objects;
	object->type = type;
	object->index = i;
	object->generation = ++objects->generation;
	return object;
}

static void unmap(struct job *job)
{
	memory_unmap(&container_of(job, struct object, end)->mapping);
}

static void unmapped(struct job *job)
{
	al_free(container_of(job, struct object, end));
}

void object_free(struct object *object)
{
	struct objects *objects = object->objects;

	source_forget(&object->source);
	if (object->type != AL_OBJ_CA)
		object->hca->num_objects--;
	else if (object->hca)
		hca_closed(object->hca);
	objects->at[object->index] = NULL;
	objects->num_objects--;
	account_return(objects->account, object_resources[object->type], 1);
	account_return(objects->account, AL_RESOURCE_BYTES, object->bytes);
	account_return(objects->account, AL_RESOURCE_RINGS, object->rings);
	if (!object->mapping.addr) {
		al_free(object);
		return;
	}
	object->end = (struct job){ .work = unmap, .done = unmapped };
	pool_work(&object->end);
}

void objects_remove(struct objects *objects, const struct hca *hca)
{
	struct object *object;

	for (uint32_t i = 0; i < objects->num_slots; i++) {
		object = objects->at[i];
		if (!object || !object->ready || object->dying || object->hca != hca)
			continue;
		objects->removed[i] = object->generation;
		object_free(object);
	}
}

void objects_free(struct objects *objects)
{
	for (uint32_t i = 0; i < objects->num_slots; i++)
		if (objects->at[i])
			object_free(objects->at[i]);
	al_free(objects->at);
	al_free(objects->removed);
}
