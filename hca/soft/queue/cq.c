/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Completion queues: entries in order, arms and notifications (seed 001), moderation, overflow. The module fills a
 * queue that is shared with a client here too, but only the client polls and arms such a queue (shared/ring.h,
 * client/ring_qp.c). Argument checks and the memory of entries are in object/cq.c.
 */
#include "hca/soft/queue/cq.h"

#include <stddef.h>

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/shared/wr.h"

/* ----------------------------------------------------------- notification */

/*
 * Disarms the queue because a completion satisfies the arm. The notification covers every completion in the queue.
 * Returns true: the caller must call notify() after the caller has unlocked the queue. The caller holds cq->lock.
 */
static bool consume_arm(struct soft_cq *cq)
{
	cq->armed = AL_ARM_NONE;
	cq->notified = cq->prod;
	return true;
}

static void notify(struct soft_cq *cq)
{
	IB_TRACE("soft", "event queue: CQ event, notification delivered cq=%u", cq->number);
	ib_cq_notify(cq->ci.ctx);
}

static uint32_t cq_count(const struct soft_cq *cq)
{
	return cq->prod - cq->cons;
}

static al_status refuse_overflowed(void)
{
	return ib_refuse(AL_CQ_ERROR, WR_CQ_OVERFLOWED);
}

al_status cq_arm(struct soft_cq *cq, al_arm type, bool *present)
{
	uint32_t count;
	bool must_notify = false;

	fmutex_lock(&cq->lock);
	if (cq->overflowed) {
		fmutex_unlock(&cq->lock);
		return refuse_overflowed();
	}
	count = cq_count(cq);
	if (type > cq->armed)
		cq->armed = (uint8_t)type;
	/* the newest completion is still in the queue, and no notification has covered that completion */
	if (cq->ci.notify == AL_CQ_NOTIFY_PENDING && count && cq->notified != cq->prod)
		must_notify = consume_arm(cq);
	fmutex_unlock(&cq->lock);
	if (present)
		*present = count;
	if (must_notify)
		notify(cq);
	return AL_SUCCESS;
}

/* Consumes the arm of cq_arm_n() if the queue holds enough completions. Returns true: the caller must call notify(). */
static bool consume_arm_n(struct soft_cq *cq)
{
	if (!cq->armed_n || cq_count(cq) < cq->armed_n)
		return false;
	cq->armed_n = 0;
	cq->notified = cq->prod;
	return true;
}

al_status cq_arm_n(struct soft_cq *cq, uint32_t num)
{
	al_status status = AL_SUCCESS;
	bool must_notify = false;

	fmutex_lock(&cq->lock);
	if (!num || num > cq->size) {
		status = AL_INVALID_PARAMETER;
	} else if (cq->overflowed) {
		status = AL_CQ_ERROR;
	} else {
		/* of two arms that wait, the arm that is satisfied sooner holds, as with the types of cq_arm() */
		if (!cq->armed_n || num < cq->armed_n)
			cq->armed_n = num;
		must_notify = consume_arm_n(cq);
	}
	fmutex_unlock(&cq->lock);
	if (must_notify)
		notify(cq);
	return status;
}

bool cq_notification_due(struct soft_cq *cq, bool held)
{
	/* a full or overflowed queue takes no further completion, so moderation would wait for ever */
	if (LIKELY(cq->moderation_count <= 1) || cq->overflowed || cq_count(cq) >= cq->size)
		return true;
	if (!held) {
		cq->moderation_left = cq->moderation_count;
		if (cq->moderation_period)
			engine_set_timer(cq->engine, &cq->timer, cq->moderation_period * 1000ull);
	}
	return !--cq->moderation_left;
}

/* Consumes an arm that moderation holds back. Returns true: the caller must call notify(). */
static bool release_held_arm(struct soft_cq *cq)
{
	if (cq->shared)
		return ring_cq_release(cq);
	return cq->armed & RING_HELD && consume_arm(cq);
}

static void end_moderation(struct timer *t, struct runner *r)
{
	struct soft_cq *cq = (struct soft_cq *)((char *)t - offsetof(struct soft_cq, timer));
	bool must_notify;

	(void)r;
	fmutex_lock(&cq->lock);
	must_notify = release_held_arm(cq);
	fmutex_unlock(&cq->lock);
	if (must_notify)
		notify(cq);
}

/*
 * Consumes the arms that the newest completion satisfies. One notification may serve both an arm by type and an arm by
 * number. Returns true: the caller must call notify(). The caller holds cq->lock.
 */
static bool check_arms(struct soft_cq *cq, const struct ib_wc *wc)
{
	al_arm kind = wc->status != IB_WC_SUCCESS      ? AL_ARM_ERRORS
		      : wc->wc_flags & IB_WC_SOLICITED ? AL_ARM_SOLICITED
						       : AL_ARM_ANY;
	bool must_notify = false;

	if (UNLIKELY(cq->shared))
		return ring_cq_publish(cq, kind);
	if (cq->armed >= kind) {
		if (cq_notification_due(cq, cq->armed & RING_HELD))
			must_notify = consume_arm(cq);
		else
			cq->armed |= RING_HELD;
	}
	return consume_arm_n(cq) || must_notify;
}

/* --------------------------------------------------------------- content */

static void put(struct soft_cq *cq, const struct ib_wc *wc)
{
	uint32_t prod = cq->prod;

	cq->ring[prod & cq->mask] = *wc;
	cq->prod = prod + 1;
}

/*
 * Reports an overflow: raises the completion queue's event, and signals the queue pairs of the queue, which go to
 * Error. The caller has put the overflow's completion into the queue.
 */
static void overflow(struct runner *r, struct soft_cq *cq)
{
	struct ci_event event = { .type = IB_EVENT_CQ_ERR, .object_ctx = cq->ci.ctx };
	struct cq_link *link;

	ib_log(IB_LOG_ERROR, "soft",
	       "a completion queue of %u entries has overflowed; make it as large as its queues",
	       cq->size);
	ib_dispatch_event(&event);
	fmutex_lock(&cq->qps_lock);
	for (link = cq->qps; link; link = link->next)
		actor_signal(r, link->actor, SIGNAL_CQ_ERROR);
	fmutex_unlock(&cq->qps_lock);
}

void cq_add(struct runner *r, struct soft_cq *cq, const struct ib_wc *wc)
{
	bool must_notify = false, over = false;
	struct ib_wc last;

	fmutex_lock(&cq->lock);
	if (UNLIKELY(cq->overflowed)) {
		fmutex_unlock(&cq->lock);
		return;
	}
	if (UNLIKELY(cq->shared))
		cq->cons = ring_cq_cons(cq->shared);
	if (UNLIKELY(cq_count(cq) >= cq->size)) { /* greater only if a client has written a wrong index */
		cq->overflowed = over = true;
		last = *wc;
		last.status = IB_WC_CQ_OVERFLOW_ERR;
		wc = &last;
	}
	put(cq, wc);
	if (cq->armed | cq->armed_n)
		must_notify = check_arms(cq, wc);
	fmutex_unlock(&cq->lock);
	IB_TRACE("soft", "CQE written cq=%u qp=%#x wr_id=%#llx status=%d", cq->number, wc->qp_num,
		 (unsigned long long)wc->wr_id, wc->status);
	if (UNLIKELY(over))
		overflow(r, cq);
	if (must_notify)
		notify(cq);
}

void cq_overflow(struct runner *r, struct soft_cq *cq, void *qp_context, uint32_t qp_num)
{
	const struct ib_wc last = {
		.qp_context = qp_context,
		.status = IB_WC_CQ_OVERFLOW_ERR,
		.qp_num = qp_num,
	};
	bool over, must_notify = false;

	fmutex_lock(&cq->lock);
	over = !cq->overflowed;
	cq->overflowed = true;
	if (over) {
		put(cq, &last); /* the ring has one entry more than `size`, for this completion */
		must_notify = check_arms(cq, &last);
	}
	fmutex_unlock(&cq->lock);
	if (over)
		overflow(r, cq);
	if (must_notify)
		notify(cq);
}

al_status cq_poll(struct soft_cq *cq, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	uint32_t n, i;

	if (engine_has_work(cq->engine))
		engine_progress(cq->engine);
	fmutex_lock(&cq->lock);
	n = cq_count(cq);
	if (!n && UNLIKELY(cq->overflowed)) {
		fmutex_unlock(&cq->lock);
		return refuse_overflowed();
	}
	n = n < num ? n : num;
	for (i = 0; i < n; i++)
		wc[i] = cq->ring[(cq->cons + i) & cq->mask];
	cq->cons += n;
	fmutex_unlock(&cq->lock);
	*count = n;
	if (n)
		IB_TRACE("soft", "poll_cq: %u CQ entries copied cq=%u", n, cq->number);
	return AL_SUCCESS;
}

uint32_t cq_peek(struct soft_cq *cq)
{
	uint32_t n;

	fmutex_lock(&cq->lock);
	n = cq_count(cq);
	fmutex_unlock(&cq->lock);
	return n;
}

void cq_clean(struct soft_cq *cq, uint32_t qp_num, uint8_t port)
{
	uint32_t from, to, prod, notified;
	const struct ib_wc *wc;

	if (cq->shared) /* the client's provider removes the completions of a shared queue */
		return;
	fmutex_lock(&cq->lock);
	prod = cq->prod;
	notified = cq->notified;
	for (from = to = cq->cons; from != prod; from++) {
		wc = &cq->ring[from & cq->mask];
		if (wc->qp_num == qp_num && (!port || wc->port_num == port)) {
			/* `notified` counts this completion: keep `notified` behind the same completion as before */
			if ((int32_t)(from - cq->notified) < 0)
				notified--;
			continue;
		}
		cq->ring[to++ & cq->mask] = cq->ring[from & cq->mask];
	}
	cq->notified = notified;
	cq->prod = to;
	fmutex_unlock(&cq->lock);
}

/* ------------------------------------------------- queue pairs, size, moderation */

void cq_attach(struct soft_cq *cq, struct cq_link *link, struct actor *actor)
{
	fmutex_lock(&cq->qps_lock);
	link->actor = actor;
	link->next = cq->qps;
	link->pprev = &cq->qps;
	if (link->next)
		link->next->pprev = &link->next;
	cq->qps = link;
	fmutex_unlock(&cq->qps_lock);
}

void cq_detach(struct cq_link *link, struct soft_cq *cq)
{
	fmutex_lock(&cq->qps_lock);
	*link->pprev = link->next;
	if (link->next)
		link->next->pprev = link->pprev;
	fmutex_unlock(&cq->qps_lock);
}

/*
 * Moves the completions to a ring of another size. The indices of completions, and so prod, cons and notified, do not
 * change. The caller holds cq->lock.
 */
static void move_to_ring(struct soft_cq *cq, struct ib_wc *ring, uint32_t size)
{
	uint32_t mask = ring_cq_slots(size) - 1, i;

	if (cq->shared)
		ring_cq_moved(cq); /* the client moves the completions */
	else
		for (i = cq->cons; i != cq->prod; i++)
			ring[i & mask] = cq->ring[i & cq->mask];
	cq->ring = ring;
	cq->mask = mask;
	cq->size = size;
}

void cq_init(struct soft_cq *cq, struct engine *engine, uint32_t size, uint32_t number)
{
	cq->engine = engine;
	cq->size = size;
	cq->number = number;
	cq->timer.run_out = end_moderation;
	cq->timer.without_lock = true;
}

al_status cq_resize(struct soft_cq *cq, uint32_t asked, uint32_t *size, struct ib_wc **ring)
{
	struct ib_wc *old;
	uint32_t old_size;
	al_status status = AL_SUCCESS;
	bool must_notify = false;

	fmutex_lock(&cq->lock);
	if (cq->shared)
		cq->cons = ring_cq_cons(cq->shared);
	if (cq->overflowed) {
		status = AL_CQ_ERROR;
	} else if (asked < cq_count(cq)) {
		status = AL_TOO_SMALL;
	} else {
		old = cq->ring;
		old_size = cq->size;
		move_to_ring(cq, *ring, *size);
		if (cq->armed_n > *size) /* the smaller queue can never hold armed_n completions */
			cq->armed_n = *size;
		must_notify = consume_arm_n(cq);
		if (cq_count(cq) >= *size && release_held_arm(cq))
			must_notify = true;
		*ring = old;
		*size = old_size;
	}
	fmutex_unlock(&cq->lock);
	if (must_notify)
		notify(cq);
	return status;
}

al_status cq_modify(struct soft_cq *cq, uint16_t count, uint16_t period)
{
	al_status status = AL_SUCCESS;
	bool must_notify = false;

	fmutex_lock(&cq->lock);
	if (cq->overflowed) {
		status = AL_CQ_ERROR;
	} else {
		cq->moderation_count = count;
		cq->moderation_period = period;
		must_notify = release_held_arm(cq);
	}
	fmutex_unlock(&cq->lock);
	if (must_notify)
		notify(cq);
	return status;
}

void cq_query(struct soft_cq *cq, struct al_cq_attr *attr)
{
	fmutex_lock(&cq->lock);
	attr->cqe = cq->size;
	attr->moderation_count = cq->moderation_count;
	attr->moderation_period = cq->moderation_period;
	if (cq->shared)
		cq->cons = ring_cq_cons(cq->shared);
	else
		attr->armed = (al_arm)(cq->armed & ~RING_HELD);
	attr->count = cq_count(cq);
	attr->overflowed = cq->overflowed;
	fmutex_unlock(&cq->lock);
}
