/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client's objects: its handles for them, and what they are charged. All of it is the loop's. */
#ifndef AL_AGENT_OBJECT_H
#define AL_AGENT_OBJECT_H

#include <iba/ib_al.h>

#include "al/agent/account.h"
#include "al/agent/event.h"
#include "al/agent/hca.h"
#include "al/agent/memory.h"
#include "al/agent/pool.h"

struct connection;

struct object {
	struct objects *objects;
	al_object_type type;
	uint32_t generation;
	uint32_t index;
	union {
		const void *handle; /* in the agent's Access Layer */
		al_ca_h ca;
		al_pd_h pd;
		al_mr_h mr;
		al_cq_h cq;
		al_qp_h qp;
	};
	uint64_t bytes;         /* charged */
	uint64_t rings;         /* charged */
	struct mapping mapping; /* MR: memory that the client shares */
	bool ready;             /* it can be found: it has been made */
	bool dying;
	struct source source;   /* CQ, QP; cookie: the client's */
	ib_qp_type qp_type;
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

/* NULL: no memory. object_free() gives back what has been charged for it. */
struct object *object_new(struct objects *objects, al_object_type type);
/* NULL: the client has no such object. */
struct object *object_find(const struct objects *objects, uint64_t handle);
/* Was this an object that went with its HCA? The client asks for it until it has heard of the removal. */
bool object_removed(const struct objects *objects, uint64_t handle);
uint64_t object_handle(const struct object *object);
void object_free(struct object *object);
/* The resource of which an object of the type is one. */
extern const al_resource object_resources[AL_OBJ_TYPES];

#endif
