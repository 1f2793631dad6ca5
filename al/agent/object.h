/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client's objects: its handles for them, and what they are charged. All of it is the loop's. */
#ifndef AL_AGENT_OBJECT_H
#define AL_AGENT_OBJECT_H

#include <iba/ib_al.h>

#include "al/agent/account.h"
#include "al/agent/event.h"
#include "al/agent/hca.h"
#include "al/agent/kind.h"
#include "al/agent/memory.h"
#include "al/agent/pool.h"

struct connection;

/* One of its kind, bytes of registered memory, bytes of queues. */
enum { COST_OBJECT, COST_BYTES, COST_RINGS, OBJECT_COSTS };
struct cost {
	al_resource resource;
	uint64_t amount;
};

struct object {
	struct objects *objects;
	al_object_type type;
	uint32_t generation;
	uint32_t index;
	union {
		const void *handle; /* in the agent's Access Layer */
#define KIND(NAME, name, ...) al_##name##_h name;
#include "al/agent/kinds.def"
	};
	struct cost costs[OBJECT_COSTS]; /* charged */
	bool resizing;          /* CQ: charged for the larger of two sizes; */
	uint64_t rings;         /* before, for so many bytes */
	struct mapping mapping; /* MR: memory that the client shares */
	bool ready;             /* it can be found: it has been made */
	bool dying;
	struct source source;   /* of a kind with events; cookie: the client's */
	ib_qp_type qp_type;     /* QP */
	al_pd_h domain;         /* QP: its protection domain, which lives as long */
	struct hca *hca;        /* on which it is; NULL: a CA that is being opened */
	struct connection *asker; /* waits for its end */
	struct job end;         /* destroyed in the Access Layer; then, freed */
};

/* The objects of one client, by the index of their handles. */
struct objects {
	struct account *account; /* the client's */
	struct object **at;
	uint32_t *removed;       /* generation of the last object in a place that went with its HCA */
	uint32_t num_objects, num_slots, last_slot;
	uint32_t generation;     /* of the last object; begins at random */
};

/* Frees what is left. */
void objects_free(struct objects *objects);
/* The HCA has been removed, and the Access Layer has destroyed the objects on it: frees them. */
void objects_remove(struct objects *objects, const struct hca *hca);

/*
 * An object to be made by a request of the kind's maker: charges the client for it, and finds a place. hca: NULL if the object
 * is the HCA. object_free() gives all that back.
 */
al_status object_new(struct objects *objects, al_object_type type, const void *request, struct hca *hca,
		     struct object **object);
/*
 * A completion queue is to have so many bytes: charges it for the larger of both sizes. AL_RESOURCE_BUSY: it is being resized
 * already, which the client's library never asks for.
 */
al_status object_resize(struct object *cq, uint64_t rings);
/* That is over: the queue has so many, or (refused) as many as before. */
void object_resized(struct object *cq, uint64_t rings, bool refused);
/* An HCA with objects on it, which its client destroys one by one. */
bool object_busy(const struct object *object);
/* NULL: the client has no such object. */
struct object *object_find(const struct objects *objects, uint64_t handle);
/* Was this an object that went with its HCA? The client asks for it until it has heard of the removal. */
bool object_removed(const struct objects *objects, uint64_t handle);
uint64_t object_handle(const struct object *object);
void object_free(struct object *object);

#endif
