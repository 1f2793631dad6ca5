/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Send queues: a ring of elements, which a post fills and a requester sends and completes in order. The checks of a
 * request are in shared/wr.h and object/post.c.
 */
#ifndef SOFT_SEND_H
#define SOFT_SEND_H

#include <stdatomic.h>
#include <stddef.h>
#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>

#include "hca/soft/shared/lock.h"

/*
 * Element of a send queue: a flat request. The queue's own state of the element lies in the bytes that a flat request
 * has for its holder, so that a post makes the state zero.
 */
struct send_wqe {
	union {
		struct ib_flat_send wr;
		struct {
			uint8_t head[offsetof(struct ib_flat_send, holder)];
			uint32_t first_psn : 24; /* once started, as last_psn */
			uint32_t refs : 8;       /* packets not at home */
			uint32_t last_psn : 24;
			uint32_t status : 6;     /* ib_wc_status of the element's completion */
			uint32_t answered : 1;   /* read, atomic: all data has come */
			uint32_t client : 1;     /* once started: some of its payload is in a client */
		};
	};
	struct ib_sge sge[]; /* the tail; no operation of this HCA has masks */
};

_Static_assert(sizeof(struct send_wqe) == sizeof(struct ib_flat_send), "the state fits into the holder's bytes");

/* Indices count up for ever; the slot of an index is index & mask. */
struct send_queue {
	struct fmutex lock;    /* guards posting */
	_Atomic uint32_t prod; /* guarded by lock */
	_Atomic uint32_t cons; /* oldest not completed; the requester's to write */
	uint32_t mask;
	uint32_t stride;       /* bytes of a slot: an element with its list or inline data */
	char *mem;
};

static inline struct send_wqe *sq_at(const struct send_queue *sq, uint32_t index)
{
	return (struct send_wqe *)(sq->mem + (size_t)(index & sq->mask) * sq->stride);
}

/* True: the slot of an index is free. most: elements that the queue may hold. */
static inline bool sq_has_room(const struct send_queue *sq, uint32_t index, uint32_t most)
{
	/* acquire: pairs with the release in comp.c; the slot is no longer read */
	return index - atomic_load_explicit(&sq->cons, memory_order_acquire) < most;
}

/* Returns the number of requests that are posted and not completed. */
static inline uint32_t sq_count(const struct send_queue *sq)
{
	return atomic_load_explicit(&sq->prod, memory_order_relaxed) -
	       atomic_load_explicit(&sq->cons, memory_order_relaxed);
}

/* Returns the index of an element that is posted and not completed. */
static inline uint32_t sq_index(const struct send_queue *sq, const struct send_wqe *wqe)
{
	uint32_t cons = atomic_load_explicit(&sq->cons, memory_order_relaxed);
	uint32_t slot = (uint32_t)((size_t)((const char *)wqe - sq->mem) / sq->stride);

	return cons + ((slot - cons) & sq->mask);
}

#endif
