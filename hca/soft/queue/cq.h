/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues (cq.c). */
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
	_Alignas(64) struct fmutex lock; /* guards what follows, up to qps_lock */
	uint32_t prod, cons;   /* count up for ever */
	uint32_t notified;     /* prod at the last notification */
	uint32_t mask;         /* ring size - 1; one more than size fit in */
	uint32_t size;         /* entries, as ci.cqe, which the Access Layer sets */
	struct ib_wc *ring;
	uint8_t armed;         /* al_arm, and RING_HELD */
	bool overflowed;
	uint16_t count;        /* moderation: completions that a notification waits for; 0 and 1: none */
	uint32_t armed_n;      /* 0: not armed */
	struct ring_cq *shared; /* with a client; NULL: it is our caller's alone */
	struct fmutex qps_lock; /* guards qps; outside lock */
	struct cq_link *qps;
	struct engine *engine;
	uint32_t number;       /* in traces */
	uint16_t period;       /* moderation: us that it waits at most; 0: for ever. Guarded by lock, and so is left */
	uint16_t left;         /* of count, since an arm has been held back */
	struct timer timer;    /* for period */
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

/* number: in traces. Its ring and mask are the caller's to set. */
void cq_init(struct soft_cq *cq, struct engine *engine, uint32_t size, uint32_t number);
void cq_attach(struct soft_cq *cq, struct cq_link *link, struct actor *actor);
void cq_detach(struct cq_link *link, struct soft_cq *cq);
void cq_add(struct runner *r, struct soft_cq *cq, const struct ib_wc *wc);
/* The queue overflows, though there may be room: its last completion is of that queue pair. */
void cq_overflow(struct runner *r, struct soft_cq *cq, void *qp_context, uint32_t qp_num);
/* A completion satisfies an arm: is it told of now? Or moderation holds it back, as it may have done (held) before. Under the lock. */
bool cq_due(struct soft_cq *cq, bool held);
/* Takes out a queue pair's completions. */
void cq_clean(struct soft_cq *cq, uint32_t qp_num);

/* What the operations of the same names do (seed 001). A queue that is shared with a client is armed and polled there only. */
al_status cq_arm(struct soft_cq *cq, al_arm type, bool *present);
al_status cq_arm_n(struct soft_cq *cq, uint32_t num);
al_status cq_poll(struct soft_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count);
/* Completions that are there. */
uint32_t cq_peek(struct soft_cq *cq);
/*
 * The queue moves to a ring of *size entries; *ring and *size are then those of the ring that is not used any more: after a
 * failure the new one. AL_TOO_SMALL: more are there than were asked for. AL_CQ_ERROR.
 */
al_status cq_resize(struct soft_cq *cq, uint32_t asked, uint32_t *size, struct ib_wc **ring);
/* An arm that moderation has held back until now is notified. AL_CQ_ERROR. */
al_status cq_modify(struct soft_cq *cq, uint16_t count, uint16_t period);
/* What changes of a queue: all but its vector and its mode. */
void cq_query(struct soft_cq *cq, struct al_cq_attr *attr);

#endif
