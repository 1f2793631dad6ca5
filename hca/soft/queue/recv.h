/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Receive queues: a ring of elements, which a post fills. A responder takes an element for the message that the
 * responder executes, and completes the element when the message has ended. The checks of a receive are in
 * object/post.c.
 */
#ifndef SOFT_RECV_H
#define SOFT_RECV_H

#include <stdatomic.h>
#include <stddef.h>
#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>

#include "hca/soft/shared/lock.h"

/* Element of a receive queue: a flat request. */
struct recv_wqe {
	struct ib_flat_recv wr;
	struct ib_sge sge[];
};

/* Indices count up for ever; the slot of an index is index & mask. */
struct recv_queue {
	struct fmutex lock;    /* guards posting */
	_Atomic uint32_t prod; /* guarded by lock */
	_Atomic uint32_t cons; /* index of the oldest element that is not completed; only the responder writes cons */
	uint32_t mask;         /* slots - 1 */
	uint32_t stride;       /* bytes of a slot: an element with its list */
	char *mem;             /* the slots */
};

static inline struct recv_wqe *rq_at(const struct recv_queue *rq, uint32_t index)
{
	return (struct recv_wqe *)(rq->mem + (size_t)(index & rq->mask) * rq->stride);
}

/* True: the slot of an index is free. most: elements that the queue may hold. */
static inline bool rq_has_room(const struct recv_queue *rq, uint32_t index, uint32_t most)
{
	/* acquire: pairs with the release in rq_complete(); the slot is no longer read */
	return index - atomic_load_explicit(&rq->cons, memory_order_acquire) < most;
}

/* Returns the number of receives that are posted and not completed. The receive that the responder holds counts. */
static inline uint32_t rq_count(const struct recv_queue *rq)
{
	return atomic_load_explicit(&rq->prod, memory_order_relaxed) -
	       atomic_load_explicit(&rq->cons, memory_order_relaxed);
}

/* Returns the element for the next message, which stays in its slot until rq_complete(). NULL: no receive is posted. */
static inline struct recv_wqe *rq_take(const struct recv_queue *rq)
{
	uint32_t cons = atomic_load_explicit(&rq->cons, memory_order_relaxed);

	/* acquire: pairs with the release in soft_post_recv() */
	if (cons == atomic_load_explicit(&rq->prod, memory_order_acquire))
		return NULL;
	return rq_at(rq, cons);
}

/* Completes the oldest element. A post may then fill the element's slot again. */
static inline void rq_complete(struct recv_queue *rq)
{
	uint32_t cons = atomic_load_explicit(&rq->cons, memory_order_relaxed);

	/* release: pairs with the acquire in soft_post_recv(), which writes the slot again */
	atomic_store_explicit(&rq->cons, cons + 1, memory_order_release);
}

#endif
