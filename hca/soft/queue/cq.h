/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues (cq.c). The operations of the Channel Interface, with their checks, are in object/cq.c. */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <iba/ib_hca.h>

#include "hca/soft/base/timer.h"
#include "hca/soft/shared/lock.h"

struct actor;
struct engine;
struct ring_cq;
struct runner;

struct soft_cq {
	struct ci_cq ci;
	_Alignas(64) struct fmutex lock; /* guards the fields up to qps_lock, and the moderation fields */
	uint32_t prod, cons;   /* count up for ever; the entry of an index is index & mask */
	uint32_t notified;     /* prod at the last notification */
	uint32_t mask;         /* entries of the ring - 1; the ring has room for one completion more than `size` */
	uint32_t size;         /* entries, as ci.cqe, which the Access Layer sets */
	struct ib_wc *ring;
	uint8_t armed;         /* al_arm, and RING_HELD */
	bool overflowed;
	/* completions that moderation gathers for a notification; 0 and 1: no moderation */
	uint16_t moderation_count;
	uint32_t armed_n;      /* cq_arm_n(): completions that the queue must hold for a notification; 0: not armed */
	struct ring_cq *shared; /* head of a queue that is shared with a client; NULL: the queue is not shared */
	struct fmutex qps_lock; /* guards qps; taken before lock */
	struct cq_link *qps;   /* queue pairs that complete here */
	struct engine *engine;
	uint32_t number;       /* number of the queue in traces */
	uint16_t moderation_period;       /* us for which moderation delays a notification at most; 0: without limit */
	uint16_t moderation_left;         /* completions that moderation still waits for, while the arm has RING_HELD */
	struct timer timer;    /* runs while moderation delays a notification */
};

/* A queue pair's membership in a completion queue, so that an overflow finds it. */
struct cq_link {
	struct cq_link *next, **pprev;
	struct actor *actor;
};

static inline struct soft_cq *soft_cq(struct ci_cq *cq)
{
	return (struct soft_cq *)cq;
}

/* Initializes a zeroed queue. The caller sets ring and mask. number: the queue's number in traces. */
void cq_init(struct soft_cq *cq, struct engine *engine, uint32_t size, uint32_t number);
/* Registers a queue pair's actor, which gets SIGNAL_CQ_ERROR when the queue overflows, until cq_detach(). */
void cq_attach(struct soft_cq *cq, struct cq_link *link, struct actor *actor);
void cq_detach(struct cq_link *link, struct soft_cq *cq);
/* Adds a completion and notifies a satisfied arm. An overflowed queue ignores the completion. */
void cq_add(struct runner *r, struct soft_cq *cq, const struct ib_wc *wc);
/* Makes the queue overflow even if the queue has room. The queue's last completion names the given queue pair. */
void cq_overflow(struct runner *r, struct soft_cq *cq, void *qp_context, uint32_t qp_num);
/*
 * Asks moderation about an arm that a completion has satisfied. True: notify now. False: moderation delays the
 * notification, and the caller marks the arm with RING_HELD. held: the arm has RING_HELD already. The caller holds
 * cq->lock.
 */
bool cq_notification_due(struct soft_cq *cq, bool held);
/*
 * Removes the completions of a queue pair. port: port of a special queue pair, whose number is not
 * its own; else 0. A shared queue is not changed, since the client's provider removes those.
 */
void cq_clean(struct soft_cq *cq, uint32_t qp_num, uint8_t port);

/* Execute the operations of the same names (seed 001). The queue is not shared with a client. */
al_status cq_arm(struct soft_cq *cq, al_arm type, bool *present);
al_status cq_arm_n(struct soft_cq *cq, uint32_t num);
al_status cq_poll(struct soft_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
/* Returns the number of completions in the queue. */
uint32_t cq_peek(struct soft_cq *cq);
/*
 * Moves the queue to the ring *ring of *size entries. Afterwards *ring and *size are the ring that the caller must
 * free: the old ring, or after a failure the new one. AL_TOO_SMALL: the queue holds more completions than `asked`.
 * AL_CQ_ERROR: the queue has overflowed.
 */
al_status cq_resize(struct soft_cq *cq, uint32_t asked, uint32_t *size, struct ib_wc **ring);
/*
 * Sets the moderation, and notifies an arm that moderation has held back until now. AL_CQ_ERROR: the queue has
 * overflowed.
 */
al_status cq_modify(struct soft_cq *cq, uint16_t count, uint16_t period);
/* Fills all attributes but the completion vector and the notify mode. */
void cq_query(struct soft_cq *cq, struct al_cq_attr *attr);

#endif
