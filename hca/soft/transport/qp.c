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
#include "hca/soft/transport/stage.h"

_Static_assert(sizeof(struct send_wqe) == 64,
	       "the header of a send queue element is one cache line");
_Static_assert(offsetof(struct connection, resp) == 64, "a requester is one cache line");
_Static_assert(offsetof(struct responder, va) == 64,
	       "what a responder looks at for each request is one cache line");
_Static_assert(offsetof(struct connection, source) % 64 == 0 &&
		       offsetof(struct source, port) == 64 &&
		       offsetof(struct connection, to) - offsetof(struct connection, source) == 128,
	       "a source with the attributes of its packets is two cache lines: traffic, and path");
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
	fmutex_lock(&qp->sq.lock);
	fmutex_lock(&qp->rq.lock);
	atomic_store_explicit(&qp->state, state, memory_order_relaxed);
	if (UNLIKELY(qp->shared))
		ring_state(qp, state);
	fmutex_unlock(&qp->rq.lock);
	fmutex_unlock(&qp->sq.lock);
}

void qp_stop(struct runner *r, struct soft_qp *qp)
{
	struct packet *backlog = qp->conn.resp.backlog;

	timer_stop(&qp->actor->engine->timers, &qp->conn.timer);
	qp->conn.resp.backlog = NULL;
	qp->conn.resp.backlog_tail = &qp->conn.resp.backlog;
	qp->conn.resp.reading.num = 0;
	if (UNLIKELY(qp->conn.resp.copying && backlog))
		resp_unhold(backlog);
	pkt_release_all(r, qp, backlog);
	if (UNLIKELY(qp->conn.stage))
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
	wc->wr_id = qp->conn.resp.recv->wr.wr_id;
	wc->qp_context = qp->ci.owner_context;
	wc->qp_num = qp->ci.qp_num;
	qp->conn.resp.recv = NULL;
	rq_complete(&qp->rq);
	if (UNLIKELY(qp->shared))
		ring_received(qp, atomic_load_explicit(&qp->rq.cons, memory_order_relaxed));
	cq_add(r, soft_cq(qp->ci.recv_cq), wc);
}

/* In the Error state: each request once, in order, as soon as its packets are at home. */
static void flush(struct runner *r, struct soft_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };

	/* who is told that a request is done may use its memory for something else */
	if (UNLIKELY(qp->conn.stage) && !stage_quiet(qp))
		return;
	comp_flush(r, qp);
	if (UNLIKELY(qp->shared)) /* once: the client can not post faster than we flush */
		ring_fill(qp, UINT32_MAX);
	while (resp_hold_recv(qp))
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
			if (qp->conn.source.port)
				port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		} else if (UNLIKELY(pkt->flags & PKT_WIRE) && !may_answer(qp, pkt)) {
			if (qp->conn.source.port)
				port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		} else if (pkt->kind != PKT_NONE && qp_state(qp) >= IB_QPS_RTS &&
			   qp_state(qp) != IB_QPS_ERR) {
			pkt_received(qp, pkt);
			if (UNLIKELY(qp->conn.req.copying)) {
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
	if (qp->conn.attr.drained ||
	    atomic_load_explicit(&qp->sq.cons, memory_order_relaxed) != qp->conn.req.fresh)
		return;
	qp->conn.attr.drained = true;
	if (qp->conn.en_sqd_async_notify)
		qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/*
 * Something waits for an answer and no timer runs. It is not set again by later packets: when it
 * runs out, progress says whether anything was answered meanwhile. So a loss is noticed after one
 * to two time-outs (IBTA 9.7.6.1.3: up to four).
 */
static void watch(struct soft_qp *qp)
{
	if (qp->conn.req.una == qp->conn.req.next_psn || !qp->conn.attr.timeout ||
	    qp->conn.req.waiting ||
	    atomic_load_explicit(&qp->conn.timer.running, memory_order_relaxed))
		return;
	qp->conn.req.progress = false;
	engine_set_timer(qp->actor->engine, &qp->conn.timer, 4096ull << qp->conn.attr.timeout);
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
	if (UNLIKELY(qp->conn.req.copying))
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
