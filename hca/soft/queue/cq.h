/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues (cq.c). */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <iba/ib_hca.h>

#include "hca/soft/base/timer.h"
#include "hca/soft/shared/lock.h"

struct actor;
struct ring_cq;
struct runner;
struct soft_qp;

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

void cq_attach(struct soft_cq *cq, struct cq_link *link, struct actor *actor);
void cq_detach(struct cq_link *link, struct soft_cq *cq);
void cq_add(struct runner *r, struct soft_cq *cq, const struct ib_wc *wc);
/* It overflows, though there may be room, for the sake of one of its queue pairs. */
void cq_overflow(struct runner *r, struct soft_cq *cq, const struct soft_qp *qp);
/* A completion satisfies an arm: is it told of now? Or moderation holds it back, as it may have done (held) before. Under the lock. */
bool cq_due(struct soft_cq *cq, bool held);
/* Takes out a queue pair's completions. */
void cq_clean(struct soft_cq *cq, uint32_t qp_num);

#endif
