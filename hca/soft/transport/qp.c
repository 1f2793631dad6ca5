/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The pass in which the owner of a queue pair runs responder, completer and requester; the state changes that the
 * queue pair makes by itself (Error, SQE), with flush and drain; and the table of transport services. State changes
 * by verbs are in object/qp.c.
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
_Static_assert(sizeof(struct soft_qp) <= 704,
	       "an idle queue pair, with the Access Layer's part, takes less than 4 KiB");
_Static_assert(sizeof(struct actor) == 64, "an actor is one cache line");
_Static_assert(sizeof(struct mr_slot) == 64, "what a key names is one cache line");

const struct service services[IB_QPT_COUNT] = {
	[IB_QPT_RC] = { rc_request, rc_end_copy, WIRE_RC, true },
	[IB_QPT_UC] = { uc_request, uc_end_copy, WIRE_UC, false },
	[IB_QPT_UD] = { ud_request, ud_end_copy, WIRE_UD, false },
	[IB_QPT_SMI] = { ud_request, ud_end_copy, WIRE_UD, false },
	[IB_QPT_GSI] = { ud_request, ud_end_copy, WIRE_UD, false },
};

void qp_find_path(struct soft_qp *qp)
{
	struct source *src = &qp->conn.source;
	struct route route;
	uint32_t moves;

	if (!src->port)
		return;
	/* acquire: pairs with the release in port_set_lids(); a change after this line is found by
	 * the next pass */
	moves = atomic_load_explicit(&port_moves, memory_order_acquire);
	src->sl = qp->conn.to.sl;
	port_route(src->port, &qp->conn.to, &route);
	src->port->link->resolve(src->port, &route, &src->path);
	src->path.moves = moves;
}

void qp_event(struct soft_qp *qp, ib_event_type type)
{
	struct ci_event event = { .type = type, .object_ctx = qp->ci.ctx };

	IB_TRACE("soft", "event %d: qp=%#x", type, qp->ci.qp_num);
	ib_dispatch_event(&event);
}

void qp_set_state(struct soft_qp *qp, ib_qp_state state)
{
	/* under both locks, so that each post is either complete before the change or sees the new state */
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
		resp_resume_timer(backlog);
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
	if (UNLIKELY(qp->special_port))
		wc->port_num = qp->special_port;
	qp->conn.resp.recv = NULL;
	rq_complete(&qp->rq);
	if (UNLIKELY(qp->shared))
		ring_received(qp, atomic_load_explicit(&qp->rq.cons, memory_order_relaxed));
	cq_add(r, soft_cq(qp->ci.recv_cq), wc);
}

/* Error state: completes each send and receive once, in order; a send as soon as its packets are at home. */
static void flush_all(struct runner *r, struct soft_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };

	/* a completion permits the application to reuse the memory, so the copies to client memory end first */
	if (UNLIKELY(qp->conn.stage) && !stage_quiet(qp))
		return;
	comp_flush(r, qp);
	if (UNLIKELY(qp->shared)) /* called once, so that a client that keeps posting does not keep the owner here */
		ring_fill(qp, UINT32_MAX);
	while (resp_hold_recv(qp))
		qp_complete_recv(r, qp, &wc);
}

static bool is_request(const struct packet *pkt)
{
	return pkt->kind >= PKT_SEND && pkt->kind <= PKT_FETCH_ADD;
}

/* Checks that a packet from a wire may be an answer to this queue pair. */
static bool is_answer(struct soft_qp *qp, const struct packet *pkt)
{
	return pkt->service == qp->service->wire && qp_state(qp) >= IB_QPS_RTS &&
	       resp_check_packet(qp, pkt);
}

void qp_receive(struct runner *r, struct soft_qp *qp, struct packet *list)
{
	struct packet *pkt;

	while (list) {
		pkt = list;
		list = pkt->next;
		if (is_request(pkt)) {
			if (pkt->service == qp->service->wire && qp_state(qp) >= IB_QPS_RTR &&
			    qp_state(qp) != IB_QPS_ERR) {
				resp_enqueue(qp, pkt);
				continue;
			}
			resp_trace_drop(qp, pkt,
					pkt->service == qp->service->wire
						? "the queue pair's state takes no requests"
						: "it is of another service than the queue pair");
			if (qp->conn.source.port)
				port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		} else if (UNLIKELY(pkt->flags & PKT_WIRE) && !is_answer(qp, pkt)) {
			if (qp->conn.source.port)
				port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		} else if (pkt->kind != PKT_NONE && qp_state(qp) >= IB_QPS_RTS &&
			   qp_state(qp) != IB_QPS_ERR) {
			pkt_count_received(qp, pkt);
			if (UNLIKELY(qp->conn.req.copying)) {
				comp_suspend(qp, pkt);
				continue;
			}
			comp_take_response(r, qp, pkt);
		}
		pkt_release(r, qp, pkt);
	}
}

/* Handles the signals that other threads have set in the actor. */
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
		req_time_out(r, qp);
}

/*
 * SQD: once all started elements have completed, records that and raises Send Queue Drained, if en_sqd_async_notify
 * asks.
 */
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
 * Starts the ACK timer if a packet is not acknowledged and the timer does not run. Later packets do not restart the
 * timer: at its end, req.progress says whether an answer has come meanwhile. So the requester notices a loss after
 * one to two time-outs (IBTA 9.7.6.1.3: up to four).
 */
static void start_ack_timer(struct soft_qp *qp)
{
	if (qp->conn.req.una == qp->conn.req.next_psn || !qp->conn.attr.timeout ||
	    qp->conn.req.rnr_waiting ||
	    atomic_load_explicit(&qp->conn.timer.running, memory_order_relaxed))
		return;
	qp->conn.req.progress = false;
	engine_set_timer(qp->actor->engine, &qp->conn.timer, 4096ull << qp->conn.attr.timeout);
}

/* Operation `run` of the actor. Returns true if the queue pair has more to do, and the budget ended the pass. */
static bool run_pass(struct runner *r, struct actor *a)
{
	struct soft_qp *qp = actor_qp(a);
	struct packet *list = actor_take(qp->actor);
	bool more;

	qp_follow_path(qp);
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
		start_ack_timer(qp);
	}
	if (LIKELY(qp_state(qp) < IB_QPS_SQE))
		return more;
	if (qp_state(qp) == IB_QPS_SQE) {
		comp_flush_sends(r, qp);
		return more;
	}
	flush_all(r, qp);
	return false;
}

static void receive(struct runner *r, struct actor *a, struct packet *list)
{
	qp_receive(r, actor_qp(a), list);
}

static struct packet *recall_packets(struct actor *a, const struct recall *what)
{
	return resp_recall(actor_qp(a), what);
}

const struct actor_ops qp_actor_ops = { .run = run_pass, .receive = receive, .recall = recall_packets };
