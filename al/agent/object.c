/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client's objects: their handles, their places in the client's table, their charges. Everything
 * runs on the loop. What the kinds of objects differ in is in kind.c. */
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

bool object_removed(const struct objects *objects, uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;

	return index < objects->num_slots && objects->removed[index] &&
	       objects->removed[index] == (uint32_t)(handle >> 24);
}

/* Doubles the table. False: no memory. */
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

/* Gives the object a free place in the table, and a generation of its own, by which the handle of
 * an earlier object in the place is told from the object's. False: no memory. */
static bool place(struct objects *objects, struct object *object)
{
	uint32_t i;

	if (objects->num_objects >= objects->num_slots - objects->num_slots / 4 && !grow(objects))
		return false;
	for (i = objects->last_slot + 1; objects->at[i % objects->num_slots]; i++)
		;
	i %= objects->num_slots;
	objects->last_slot = i;
	objects->at[i] = object;
	objects->num_objects++;
	object->objects = objects;
	object->index = i;
	object->generation = ++objects->generation;
	return true;
}

/* Returns the first num charges. */
static void give_back(struct account *account, const struct cost *costs, int num)
{
	while (num--)
		account_return(account, costs[num].resource, costs[num].amount);
}

/* Charges all costs, or after a failure none. */
static al_status charge(struct account *account, const struct cost costs[OBJECT_COSTS])
{
	al_status status;

	for (int i = 0; i < OBJECT_COSTS; i++) {
		status = account_charge(account, costs[i].resource, costs[i].amount);
		if (status) {
			give_back(account, costs, i);
			return status;
		}
	}
	return AL_SUCCESS;
}

al_status object_new(struct objects *objects, al_object_type type, const void *request,
		     uint32_t files, struct hca *hca, struct object **made)
{
	const struct kind *kind = &kinds[type];
	const struct cost costs[OBJECT_COSTS] = {
		{ kind->resource, 1 },
		{ AL_RESOURCE_BYTES, kind->bytes(request) },
		{ AL_RESOURCE_RINGS, kind->rings(request) },
		{ AL_RESOURCE_MAPPINGS, (uint64_t)files * kind->maps },
		{ AL_RESOURCE_DESCRIPTORS,
		  kind->is_hca && files }, /* by which the provider wakes its module */
		{ AL_RESOURCE_MCASTS, 0 }
	};
	al_status status = charge(objects->account, costs);
	struct object *object;

	if (status)
		return status;
	object = al_alloc(sizeof(*object));
	if (!object || !place(objects, object)) {
		al_free(object);
		give_back(objects->account, costs, OBJECT_COSTS);
		return AL_INSUFFICIENT_MEMORY;
	}
	object->type = type;
	memcpy(object->costs, costs, sizeof(costs));
	object->hca = hca;
	object->stage.account = objects->account;
	if (hca)
		hca->num_objects++;
	if (hca && kind->cookie) { /* kind->cookie: the kind has events; all such kinds are ON_HCA */
		object->source = (struct source){ .outbox = hca->source.outbox, .kind = AGENT_EVENT_ASYNC };
		memcpy(&object->source.cookie, (const char *)request + kind->cookie, sizeof(uint64_t));
	}
	*made = object;
	return AL_SUCCESS;
}

al_status object_resize(struct object *cq, uint64_t rings)
{
	uint64_t now = cq->costs[COST_RINGS].amount, more = rings > now ? rings - now : 0;
	al_status status;

	if (cq->resizing)
		return ib_refuse(AL_RESOURCE_BUSY,
				 "another thread is resizing the completion queue");
	status = account_charge(cq->objects->account, AL_RESOURCE_RINGS, more);
	if (status)
		return status;
	cq->resizing = true;
	cq->rings = now;
	cq->costs[COST_RINGS].amount += more;
	return AL_SUCCESS;
}

void object_resized(struct object *cq, uint64_t rings, bool refused)
{
	struct cost *cost = &cq->costs[COST_RINGS];
	uint64_t left = refused ? cq->rings : rings;

	account_return(cq->objects->account, AL_RESOURCE_RINGS, cost->amount - left);
	cost->amount = left;
	cq->resizing = false;
}

al_status object_join(struct object *qp)
{
	al_status status = account_charge(qp->objects->account, AL_RESOURCE_MCASTS, 1);

	if (!status)
		qp->costs[COST_MCASTS].amount++;
	return status;
}

void object_leave(struct object *qp)
{
	qp->costs[COST_MCASTS].amount--;
	account_return(qp->objects->account, AL_RESOURCE_MCASTS, 1);
}

bool object_busy(const struct object *object)
{
	return kinds[object->type].is_hca && object->hca->num_objects;
}

static void unmap(struct job *job)
{
	memory_unmap(&container_of(job, struct object, end)->mapping);
}

static void unmapped(struct job *job)
{
	account_return(job->account, AL_RESOURCE_MAPPINGS, 1);
	al_free(container_of(job, struct object, end));
}

/* The mapping may last longer than the client, so it is left to the user. */
static void begin_unmap(struct object *object, struct account *client)
{
	account_leave_to_user(client, AL_RESOURCE_MAPPINGS, 1);
	object->costs[COST_MAPPINGS].amount--;
	object->end = (struct job){ .account = client->user, .work = unmap, .done = unmapped };
}

void object_free(struct object *object)
{
	struct objects *objects = object->objects;

	source_forget(&object->source);
	al_free(object->source.ahead);
	stage_drop(&object->stage);
	if (object->hca && kinds[object->type].is_hca)
		hca_closed(object->hca);
	else if (object->hca)
		object->hca->num_objects--;
	objects->at[object->index] = NULL;
	objects->num_objects--;
	if (object->mapping.addr)
		begin_unmap(object, objects->account);
	give_back(objects->account, object->costs, OBJECT_COSTS);
	if (object->mapping.addr)
		pool_work(&object->end);
	else
		al_free(object);
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
