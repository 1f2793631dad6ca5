/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The pass in which a queue pair's owner does all that there is to do, what every transport does to its queue pair on
 * the way, and the states that it takes by itself.
 */
#include "hca/soft/transport/qp.h"

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"

_Static_assert(sizeof(struct send_wqe) == 64,
	       "the header of a send queue element is one cache line");
_Static_assert(offsetof(struct soft_qp, resp.va) - offsetof(struct soft_qp, resp) == 64,
	       "what a responder looks at for each request is one cache line");
_Static_assert(offsetof(struct soft_qp, tx_bytes) - offsetof(struct soft_qp, port) == 64,
	       "the path is one cache line");
_Static_assert(sizeof(struct actor) == 64, "an actor is one cache line");
_Static_assert(sizeof(struct mr_slot) == 64, "what a key names is one cache line");

const struct service services[IB_QPT_COUNT] = {
	[IB_QPT_RC] = { rc_request, rc_taken, WIRE_RC, true },
	[IB_QPT_UC] = { uc_request, uc_taken, WIRE_UC, false },
	[IB_QPT_UD] = { ud_request, ud_taken, WIRE_UD, false },
};

void qp_event(struct soft_qp *qp, ib_event_type type)
{
	struct ci_event event = { .type = type, .object_ctx = qp->ci.ctx };

	IB_TRACE("soft", "event %d: qp=%#x", type, qp->ci.qp_num);
	ib_dispatch_event(&event);
}

void qp_set_state(struct soft_qp *qp, ib_qp_state state)
{
	/* under both locks: who posts has either posted before, or sees the new state */
	fmutex_lock(&qp->sq_lock);
	fmutex_lock(&qp->rq_lock);
	atomic_store_explicit(&qp->state, state, memory_order_relaxed);
	if (UNLIKELY(qp->shared))
		ring_state(qp, state);
	fmutex_unlock(&qp->rq_lock);
	fmutex_unlock(&qp->sq_lock);
}

void qp_stop(struct runner *r, struct soft_qp *qp)
{
	struct packet *backlog = qp->resp.backlog;

	timer_stop(&qp->actor->engine->timers, &qp->timer);
	qp->resp.backlog = NULL;
	qp->resp.backlog_tail = &qp->resp.backlog;
	qp->resp.reading.num = 0;
	if (UNLIKELY(qp->resp.copying && backlog))
		resp_unhold(backlog);
	pkt_release_all(r, qp, backlog);
	if (UNLIKELY(qp->stage))
		stage_stop(r, qp);
}

void qp_error(struct runner *r, struct soft_qp *qp, int event)
{
	if (qp_state(qp) == IB_QPS_ERR)
		return;
	IB_TRACE("soft", "to the Error state: qp=%#x", qp->ci.qp_num);
	qp_set_state(qp, IB_QPS_ERR);
	qp_stop(r, qp);
	if (event >= 0)
		qp_event(qp, (ib_event_type)event);
}

void qp_send_error(struct soft_qp *qp)
{
	if (qp_state(qp) != IB_QPS_RTS && qp_state(qp) != IB_QPS_SQD)
		return;
	IB_TRACE("soft", "to the SQE state: qp=%#x", qp->ci.qp_num);
	qp_set_state(qp, IB_QPS_SQE);
}

void qp_complete_recv(struct runner *r, struct soft_qp *qp, struct ib_wc *wc)
{
	uint32_t cons = atomic_load_explicit(&qp->rq_cons, memory_order_relaxed);

	wc->wr_id = rq_at(qp, cons)->wr_id;
	wc->qp_context = qp->ci.owner_context;
	wc->qp_num = qp->ci.qp_num;
	/* release: pairs with the acquire in soft_post_recv(), which will write here again */
	atomic_store_explicit(&qp->rq_cons, cons + 1, memory_order_release);
	if (UNLIKELY(qp->shared))
		ring_received(qp, cons + 1);
	cq_add(r, soft_cq(qp->ci.recv_cq), wc);
}

/* In the Error state: each request once, in order, as soon as its packets are at home. */
static void flush(struct runner *r, struct soft_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };

	/* who is told that a request is done may use its memory for something else */
	if (UNLIKELY(qp->stage) && !stage_quiet(qp))
		return;
	comp_flush(r, qp);
	if (UNLIKELY(qp->shared)) /* once: the client can not post faster than we flush */
		ring_fill(qp, UINT32_MAX);
	/* acquire: pairs with the release in soft_post_recv() */
	while (atomic_load_explicit(&qp->rq_cons, memory_order_relaxed) !=
	       atomic_load_explicit(&qp->rq_prod, memory_order_acquire))
		qp_complete_recv(r, qp, &wc);
}

static bool is_request(const struct packet *pkt)
{
	return pkt->kind >= PKT_SEND && pkt->kind <= PKT_FETCH_ADD;
}

/* Could what came off a cable be an answer to us? */
static bool may_answer(struct soft_qp *qp, const struct packet *pkt)
{
	return pkt->service == qp->service->wire && qp_state(qp) >= IB_QPS_RTS &&
	       resp_acceptable(qp, pkt);
}

void qp_receive(struct runner *r, struct soft_qp *qp, struct packet *list)
{
	struct packet *pkt;

	while ((pkt = list)) {
		list = pkt->next;
		if (is_request(pkt)) {
			if (pkt->service == qp->service->wire && qp_state(qp) >= IB_QPS_RTR &&
			    qp_state(qp) != IB_QPS_ERR) {
				resp_queue(qp, pkt);
				continue;
			}
			if (qp->port)
				port_count(qp->port, CNT_RCV_DROPPED, pkt->num);
		} else if (UNLIKELY(pkt->flags & PKT_WIRE) && !may_answer(qp, pkt)) {
			if (qp->port)
				port_count(qp->port, CNT_RCV_DROPPED, pkt->num);
		} else if (pkt->kind != PKT_NONE && qp_state(qp) >= IB_QPS_RTS &&
			   qp_state(qp) != IB_QPS_ERR) {
			pkt_received(qp, pkt);
			if (UNLIKELY(qp->req.copying)) {
				comp_wait(qp, pkt);
				continue;
			}
			comp_response(r, qp, pkt);
		}
		pkt_release(r, qp, pkt);
	}
}

static void take_signals(struct runner *r, struct soft_qp *qp)
{
	/* acquire: pairs with the release in actor_signal(); the announced writes are seen */
	uint32_t signals = atomic_exchange_explicit(&qp->actor->signals, 0, memory_order_acquire);

	if (signals & SIGNAL_CQ_ERROR && qp_state(qp) != IB_QPS_RESET)
		qp_error(r, qp, IB_EVENT_QP_FATAL);
	if (signals & SIGNAL_BAD_SEND && qp_state(qp) != IB_QPS_RESET)
		ring_failed(r, qp, false);
	if (signals & SIGNAL_BAD_RECV && qp_state(qp) != IB_QPS_RESET)
		ring_failed(r, qp, true);
	if (signals & SIGNAL_TIMER && qp_state(qp) >= IB_QPS_RTS && qp_state(qp) != IB_QPS_ERR)
		req_timer(r, qp);
}

/* Send queue drain: everything that was started is done. */
static void check_drained(struct soft_qp *qp)
{
	if (qp->drained ||
	    atomic_load_explicit(&qp->sq_cons, memory_order_relaxed) != qp->req.fresh)
		return;
	qp->drained = true;
	if (qp->en_sqd_async_notify)
		qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/*
 * Something waits for an answer and no timer runs. It is not set again by later packets: when it
 * runs out, progress says whether anything was answered meanwhile. So a loss is noticed after one
 * to two time-outs (IBTA 9.7.6.1.3: up to four).
 */
static void watch(struct soft_qp *qp)
{
	if (qp->req.una == qp->req.next_psn || !qp->attr.timeout || qp->req.waiting ||
	    atomic_load_explicit(&qp->timer.running, memory_order_relaxed))
		return;
	qp->req.progress = false;
	engine_timer(qp->actor->engine, &qp->timer, 4096ull << qp->attr.timeout);
}

static bool pass(struct runner *r, struct actor *a)
{
	struct soft_qp *qp = actor_qp(a);
	struct packet *list = actor_take(qp->actor);
	bool more;

	if (list)
		qp_receive(r, qp, list);
	if (UNLIKELY(atomic_load_explicit(&qp->actor->signals, memory_order_relaxed)))
		take_signals(r, qp);
	if (qp_state(qp) < IB_QPS_RTR)
		return false;
	more = resp_pending(qp) && resp_run(r, qp);
	if (UNLIKELY(qp->req.copying))
		comp_resume(r, qp);
	if (qp_state(qp) >= IB_QPS_RTS && qp_state(qp) != IB_QPS_ERR) {
		comp_retire(r, qp);
		more |= req_run(r, qp);
		if (UNLIKELY(qp_state(qp) == IB_QPS_SQD))
			check_drained(qp);
		watch(qp);
	}
	if (LIKELY(qp_state(qp) < IB_QPS_SQE))
		return more;
	if (qp_state(qp) == IB_QPS_SQE) {
		comp_flush_sends(r, qp);
		return more;
	}
	flush(r, qp);
	return false;
}

static void receive(struct runner *r, struct actor *a, struct packet *list)
{
	qp_receive(r, actor_qp(a), list);
}

static struct packet *recall(struct actor *a, const struct recall *what)
{
	return resp_recall(actor_qp(a), what);
}

const struct actor_ops qp_actor_ops = { .run = pass, .receive = receive, .recall = recall };
