/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client's objects: the client's handles, and what the client is charged for the objects. All
 * calls are on the loop. */
#ifndef AL_AGENT_OBJECT_H
#define AL_AGENT_OBJECT_H

#include <iba/ib_al.h>

#include "al/agent/account.h"
#include "al/agent/event.h"
#include "al/agent/hca.h"
#include "al/agent/kind.h"
#include "al/agent/memory.h"
#include "al/agent/pool.h"
#include "al/agent/stage.h"

struct connection;

/* The costs of an object: one of its kind's resource, bytes of registered memory, bytes of queues,
 * mappings, descriptors, memberships in multicast groups. */
enum {
	COST_OBJECT,
	COST_BYTES,
	COST_RINGS,
	COST_MAPPINGS,
	COST_DESCRIPTORS,
	COST_MCASTS,
	OBJECT_COSTS
};
struct cost {
	al_resource resource;
	uint64_t amount;
};

struct object {
	struct objects *objects; /* the table with this object */
	al_object_type type;
	uint32_t generation;     /* in the client's handle */
	uint32_t index;          /* of the place in the table */
	union {
		const void *handle; /* of the object in the agent's Access Layer */
#define KIND(NAME, name, ...) al_##name##_h name;
#include "al/agent/kinds.def"
	};
	struct cost costs[OBJECT_COSTS]; /* what the client is charged for the object */
	bool resizing;          /* CQ: between object_resize() and object_resized(); charged for the larger of both sizes */
	uint64_t rings;         /* CQ that is resizing: bytes of queues before */
	struct mapping mapping; /* MR: memory that the client shares */
	bool ready;             /* the object is made, and object_find() finds it */
	bool dying;             /* the Access Layer is destroying the object for a command of the client */
	struct source source;   /* of the object's events, with the client's cookie; used by kinds with events only */
	ib_qp_type qp_type;     /* QP */
	al_pd_h domain;         /* QP: its protection domain, which outlives the QP */
	struct stage stage;     /* MAD_SVC: a long datagram that is still to come */
	struct hca *hca;        /* on which the object is, or which it is; NULL: a CA that is being opened */
	struct connection *destroyer; /* its DESTROY command waits for the object's end */
	struct job end;         /* runs when the Access Layer has destroyed the object; then frees a mapping */
};

/* The objects of one client. The index of a handle is the object's place in at. */
struct objects {
	struct account *account; /* the client's */
	struct object **at;      /* num_slots places; NULL: free */
	uint32_t *removed;       /* by place: generation of the last object that went with its HCA; 0: none */
	uint32_t num_objects, num_slots;
	uint32_t last_slot;      /* the place taken last */
	uint32_t generation;     /* of the newest object; begins at a random number */
};

/* Frees the objects that are left, and the table. */
void objects_free(struct objects *objects);
/* The HCA has been removed, and the Access Layer has destroyed the objects on it: frees them. */
void objects_remove(struct objects *objects, const struct hca *hca);

/*
 * Charges the client for an object, which a request of the kind's maker asks for, and gives the
 * object a place in the table. files: number of descriptors that come with the request. hca: NULL
 * if the object is the HCA. object_free() returns charge and place.
 */
al_status object_new(struct objects *objects, al_object_type type, const void *request,
		     uint32_t files, struct hca *hca, struct object **object);
/*
 * Begins the resize of a completion queue to so many bytes: charges the client for the larger of
 * both sizes. AL_RESOURCE_BUSY: another resize of the queue is under way, which the client's
 * library never asks for.
 */
al_status object_resize(struct object *cq, uint64_t rings);
/* Ends a resize: charges the client for the new size, or if the resize was refused for the old
 * size. */
void object_resized(struct object *cq, uint64_t rings, bool refused);
/* Charges the client for one membership of the queue pair in a multicast group. object_leave()
 * returns the charge. */
al_status object_join(struct object *qp);
void object_leave(struct object *qp);
/* True: the object is an HCA with objects on it, which the client destroys first. */
bool object_busy(const struct object *object);
/* The object of a client's handle. NULL: the client has no such object. */
struct object *object_find(const struct objects *objects, uint64_t handle);
/* True: the handle's object went with its HCA. The client may use such a handle until it has heard
 * of the removal. */
bool object_removed(const struct objects *objects, uint64_t handle);
/* The client's handle of the object. */
uint64_t object_handle(const struct object *object);
/* Takes the object out of the client's table, returns its charges and frees it. */
void object_free(struct object *object);

#endif
