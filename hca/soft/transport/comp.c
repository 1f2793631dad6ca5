/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The completer: handles answers, and completes the requester's elements. acked (the oldest element that is not
 * acknowledged) and una (the oldest packet that is not acknowledged) advance together. Elements complete in order,
 * once their packets are at home. The requester (req.c) sends again what the completer rewinds.
 */
#include <string.h>

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/explain.h"
#include "hca/soft/transport/qp.h"
#include "hca/soft/transport/stage.h"

static struct send_wqe *oldest_unanswered(const struct soft_qp *qp)
{
	return sq_at(&qp->sq, qp->conn.req.acked);
}

static bool all_answered(const struct soft_qp *qp)
{
	return qp->conn.req.acked == qp->conn.req.fresh;
}

/* Moves una forward. An acknowledged packet is progress, which restarts the retry counters and the ACK time-out. */
static void record_progress(struct soft_qp *qp, uint32_t una)
{
	qp->conn.req.una = una;
	qp->conn.req.progress = true;
	qp->conn.req.implied_retry = false;
	qp->conn.req.retry_left = qp->conn.attr.retry_cnt;
	qp->conn.req.rnr_left = qp->conn.attr.rnr_retry;
	/* the answer acknowledges packets that a retry would send again: the retry skips those packets */
	if (psn_diff(una, qp->conn.req.send_psn) > 0)
		req_rewind(qp);
}

/* Acknowledges all packets before `upto`. False: a read or atomic before `upto` lacks its response, and stays open. */
static bool acknowledge_until(struct soft_qp *qp, uint32_t upto)
{
	struct send_wqe *wqe;

	while (!all_answered(qp) && psn_diff(upto, qp->conn.req.una) > 0) {
		wqe = oldest_unanswered(qp);
		if (wr_ops[wqe->wr.opcode].flags & WR_RD_ATOMIC)
			return false;
		if (psn_diff(upto, wqe->last_psn) <= 0) {
			record_progress(qp, upto);
			break;
		}
		qp->conn.req.acked++;
		record_progress(qp, psn_add(wqe->last_psn, 1));
	}
	return true;
}

/* Records that all data of the oldest element, a read or atomic, has come. */
static void record_answer(struct soft_qp *qp, struct send_wqe *wqe)
{
	wqe->answered = true;
	qp->conn.req.rd_atomic_out--;
	qp->conn.req.acked++;
	record_progress(qp, psn_add(wqe->last_psn, 1));
}

void comp_fail(struct runner *r, struct soft_qp *qp, ib_wc_status status)
{
	oldest_unanswered(qp)->status = status;
	IB_TRACE("soft", "request failed: qp=%#x wr_id=%#llx status=%d", qp->ci.qp_num,
		 (unsigned long long)oldest_unanswered(qp)->wr.wr_id, status);
	qp_error(r, qp, NO_EVENT);
}

/*
 * Reports whether no packet from una on has been sent since the last rewind. A NAK is then about an earlier
 * transmission.
 */
static bool nothing_in_flight(const struct soft_qp *qp)
{
	return qp->conn.req.send_psn == qp->conn.req.una;
}

/* Sends again from the oldest packet that is not acknowledged; fails the oldest element if its retries are used up. */
static void retry(struct runner *r, struct soft_qp *qp)
{
	if (nothing_in_flight(qp))
		return;
	/* the packet can not be sent again: req_run() fails its element with the status of halt_at() */
	if (qp->conn.req.halted && qp->conn.req.acked == qp->conn.req.halt_index)
		return;
	if (!qp->conn.req.retry_left) {
		comp_fail(r, qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->conn.req.retry_left--;
	qp->conn.req.progress = true; /* the time-out counts from now */
	req_rewind(qp);
}

/*
 * Handles an implied NAK: an answer to a later request shows that an earlier request or response was lost (IBTA
 * 9.7.5.1.1). Only the first implied NAK since the last progress causes a retry.
 */
static void handle_implied_nak(struct runner *r, struct soft_qp *qp)
{
	if (qp->conn.req.implied_retry)
		return;
	qp->conn.req.implied_retry = true;
	retry(r, qp);
}

static void handle_rnr_nak(struct runner *r, struct soft_qp *qp, uint8_t code)
{
	if (qp->conn.req.rnr_waiting || nothing_in_flight(qp))
		return; /* a second RNR NAK for the same packet */
	if (!qp->conn.req.rnr_left) {
		comp_fail(r, qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->conn.attr.rnr_retry != 7) /* 7: without limit */
		qp->conn.req.rnr_left--;
	qp->conn.req.rnr_waiting = true;
	engine_set_timer(qp->actor->engine, &qp->conn.timer, rnr_timer[code & 31] * 10000ull);
}

/* ib_wc_status of the request, by the low bits of the NAK code. */
static const uint8_t nak_status[4] = {
	[NAK_INVALID_REQUEST & 3] = IB_WC_REM_INV_REQ_ERR,
	[NAK_REMOTE_ACCESS & 3] = IB_WC_REM_ACCESS_ERR,
	[NAK_REMOTE_OPERATION & 3] = IB_WC_REM_OP_ERR,
};

/* Handles an ACK or NAK. */
static void handle_ack(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	uint8_t syndrome = pkt->syndrome;

	if ((syndrome & AETH_KIND) == AETH_ACK) {
		if (!acknowledge_until(qp, psn_add(pkt->psn, 1)))
			handle_implied_nak(r, qp);
		return;
	}
	/* a NAK acknowledges all packets before its own PSN */
	if (!acknowledge_until(qp, pkt->psn)) {
		handle_implied_nak(r, qp);
		return;
	}
	if ((syndrome & AETH_KIND) == AETH_RNR_NAK) {
		handle_rnr_nak(r, qp, syndrome);
		return;
	}
	if (syndrome == NAK_PSN_SEQ) {
		retry(r, qp);
		return;
	}
	if ((syndrome & AETH_KIND) != AETH_NAK ||
	    (syndrome & 0x1f) > (NAK_REMOTE_OPERATION & 0x1f)) {
		comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
		return;
	}
	comp_fail(r, qp, (ib_wc_status)nak_status[syndrome & 3]);
}

/*
 * Returns the oldest element if pkt is its next response. Otherwise returns NULL, after a retry or an error
 * completion has handled the response.
 */
static struct send_wqe *expected_element(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe;

	if (!acknowledge_until(qp, pkt->psn) || qp->conn.req.una != pkt->psn) {
		handle_implied_nak(r, qp);
		return NULL;
	}
	if ((pkt->syndrome & AETH_KIND) != AETH_ACK) {
		comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
		return NULL;
	}
	wqe = oldest_unanswered(qp);
	if (wr_ops[wqe->wr.opcode].flags & (pkt->kind == PKT_READ_RESP ? WR_READ : WR_ATOMIC))
		return wqe;
	comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
	return NULL;
}

/*
 * Requests a response again whose data is lost. Either memory for the copy was short, or the peer has deregistered
 * the source, and its responder refuses the repeated request. No retry is counted.
 */
static void request_again(struct soft_qp *qp)
{
	if (qp->conn.req.implied_retry)
		return;
	qp->conn.req.implied_retry = true;
	req_rewind(qp);
}

/* Returns the scatter list of an element from byte `skip` on, as a place to copy to. */
static struct place element_place(const struct soft_qp *qp, const struct send_wqe *wqe,
				  uint64_t skip)
{
	return (struct place){
		.view = { qp->conn.own.memory, qp->ci.pd, IB_ACCESS_LOCAL_WRITE },
		.sge = wqe->sge,
		.num = wqe->wr.num_sge,
		.skip = skip,
	};
}

/* Ends a read response to the oldest element, whose payload copy has ended with `result`. */
static void end_read_copy(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe,
			  const struct packet *pkt, enum copy_result result)
{
	if (result == COPY_BAD_SOURCE || result == COPY_NO_MEMORY) {
		request_again(qp);
		return;
	}
	if (result == COPY_BAD_TARGET) {
		comp_fail(r, qp, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (pkt->place & PLACE_LAST)
		record_answer(qp, wqe);
	else
		record_progress(qp, psn_add(pkt->psn, pkt->num));
}

static void handle_read_response(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe = expected_element(r, qp, pkt);
	enum copy_result result = COPY_DONE;
	struct place to;
	uint64_t offset, left;
	uint32_t due, full;
	bool fits;

	if (!wqe)
		return;
	offset = (uint64_t)(uint32_t)psn_diff(pkt->psn, wqe->first_psn)
		 << qp->conn.source.mtu_shift;
	left = wqe->wr.length - offset;
	due = (uint32_t)psn_diff(wqe->last_psn, pkt->psn) + 1;
	full = (uint32_t)pkt->num << qp->conn.source.mtu_shift;
	/* exactly the last packet ends the read, and all packets before the last are full */
	if (pkt->place & PLACE_LAST)
		fits = pkt->num == due && pkt->length == left;
	else
		fits = pkt->num < due && pkt->length == full;
	if (!fits) {
		comp_fail(r, qp, IB_WC_LOC_LEN_ERR);
		return;
	}
	if (pkt->length) {
		to = element_place(qp, wqe, offset);
		result = stage_move_response(qp, pkt, NULL, &to);
		r->bytes -= pkt->length;
	}
	if (LIKELY(result != COPY_LATER))
		end_read_copy(r, qp, wqe, pkt, result);
}

/* Ends an atomic's response to the oldest element, whose copy of the original value has ended with `result`. */
static void end_atomic_copy(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe,
			    enum copy_result result)
{
	if (result == COPY_DONE)
		record_answer(qp, wqe);
	else if (result == COPY_NO_MEMORY)
		request_again(qp);
	else
		comp_fail(r, qp, IB_WC_LOC_PROT_ERR);
}

static void handle_atomic_response(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe = expected_element(r, qp, pkt);
	const struct payload_head value = { &pkt->compare_add, sizeof(pkt->compare_add) };
	enum copy_result result;
	struct place to;

	if (!wqe)
		return;
	to = element_place(qp, wqe, 0);
	result = stage_move_response(qp, pkt, &value, &to);
	if (LIKELY(result != COPY_LATER))
		end_atomic_copy(r, qp, wqe, result);
}

/*
 * Records the end-to-end credits of an ACK. Only our messages consume the peer's receives, so the limit never falls:
 * an ACK with a lower limit is a late ACK.
 */
static void record_credits(struct soft_qp *qp, const struct packet *pkt)
{
	uint8_t code = pkt->syndrome & AETH_CREDITS;
	uint32_t limit = psn_add(pkt->ex, credits_of_code(code));

	if ((pkt->syndrome & AETH_KIND) != AETH_ACK)
		return;
	if (!qp->conn.req.credit_known || psn_diff(limit, qp->conn.req.credit_limit) > 0)
		qp->conn.req.credit_limit = limit;
	qp->conn.req.credit_known = code != AETH_NO_CREDITS;
}

void comp_take_response(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int32_t after = psn_diff(pkt->psn, qp->conn.req.una);

	/* a ghost: the response answers no packet that was sent and is not acknowledged */
	if (after < -1 || psn_diff(pkt->psn, qp->conn.req.high_psn) >= 0)
		return;
	record_credits(qp, pkt);
	if (after < 0) /* an ACK sent again to update the credits (IBTA 9.7.7.2) */
		return;
	switch (pkt->kind) {
	case PKT_ACK:
		handle_ack(r, qp, pkt);
		break;
	case PKT_READ_RESP:
		handle_read_response(r, qp, pkt);
		break;
	case PKT_ATOMIC_ACK:
		handle_atomic_response(r, qp, pkt);
		break;
	}
}

void comp_suspend(struct soft_qp *qp, struct packet *pkt)
{
	pkt->next = NULL;
	*qp->conn.stage->waiting_tail = pkt;
	qp->conn.stage->waiting_tail = &pkt->next;
}

/* Handles the waiting responses, until one of them starts a copy of its own. */
static void handle_waiting(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while (qp->conn.stage->waiting && !qp->conn.req.copying && qp_state(qp) != IB_QPS_ERR) {
		pkt = qp->conn.stage->waiting;
		qp->conn.stage->waiting = pkt->next;
		if (!pkt->next)
			qp->conn.stage->waiting_tail = &qp->conn.stage->waiting;
		if (pkt->kind != PKT_NONE) /* PKT_NONE: a recall by the sender has emptied the packet */
			comp_take_response(r, qp, pkt);
		pkt_release(r, qp, pkt);
	}
}

void comp_resume(struct runner *r, struct soft_qp *qp)
{
	struct stage *stage = qp->conn.stage;
	enum copy_result result;

	while (qp->conn.req.copying && qp_state(qp) != IB_QPS_ERR && errand_done(stage->response_copy)) {
		result = stage->response_copy->succeeded ? COPY_DONE : COPY_BAD_TARGET;
		errand_abandon(&stage->response_copy);
		qp->conn.req.copying = false;
		if (stage->copied_response.kind == PKT_READ_RESP)
			end_read_copy(r, qp, oldest_unanswered(qp), &stage->copied_response, result);
		else
			end_atomic_copy(r, qp, oldest_unanswered(qp), result);
		handle_waiting(r, qp);
	}
}

/* Builds the completion of an element. False: the element succeeded unsignaled, and has no completion. */
static bool make_completion(const struct soft_qp *qp, const struct send_wqe *wqe, ib_wc_status status,
			    struct ib_wc *wc)
{
	const struct wr_op *op = &wr_ops[wqe->wr.opcode];

	if (status == IB_WC_SUCCESS && !(wqe->wr.flags & IB_SEND_SIGNALED))
		return false;
	*wc = (struct ib_wc){
		.wr_id = wqe->wr.wr_id,
		.qp_context = qp->ci.owner_context,
		.status = status,
		.opcode = (ib_wc_opcode)op->wc_opcode,
		.byte_len = op->flags & WR_RD_ATOMIC ? wqe->wr.length : 0,
		.qp_num = qp->ci.qp_num,
		.port_num = qp->special_port,
	};
	return true;
}

/*
 * Removes the oldest element from the send queue, then adds its completion: a thread that polls the completion may
 * post at once.
 */
static void retire_element(struct runner *r, struct soft_qp *qp, uint32_t index, ib_wc_status status)
{
	struct ib_wc wc;
	bool visible = make_completion(qp, sq_at(&qp->sq, index), status, &wc);

	/* release: pairs with the acquire in sq_has_room(): a post may write the slot again */
	atomic_store_explicit(&qp->sq.cons, index + 1, memory_order_release);
	if (UNLIKELY(qp->shared))
		ring_retired(qp, index + 1);
	if (visible)
		cq_add(r, soft_cq(qp->ci.send_cq), &wc);
}

/* Fails every element of the send queue with a flush error, even if the element's packets have arrived. */
static void stop_sends(struct soft_qp *qp)
{
	uint32_t i = atomic_load_explicit(&qp->sq.cons, memory_order_relaxed);
	/* acquire: pairs with the release in soft_post_send() */
	uint32_t prod = atomic_load_explicit(&qp->sq.prod, memory_order_acquire);

	for (; i != prod; i++)
		sq_at(&qp->sq, i)->status = IB_WC_WR_FLUSH_ERR;
	qp->conn.req.next = prod;
	qp->conn.req.fresh = prod;
	qp->conn.req.acked = prod;
	qp->conn.req.send_psn = qp->conn.req.next_psn;
	qp->conn.req.una = qp->conn.req.next_psn;
	qp->conn.req.halted = false;
}

void comp_retire(struct runner *r, struct soft_qp *qp)
{
	uint32_t cons = atomic_load_explicit(&qp->sq.cons, memory_order_relaxed);

	for (; cons != qp->conn.req.acked && !sq_at(&qp->sq, cons)->refs; cons++) {
		ib_wc_status status = (ib_wc_status)sq_at(&qp->sq, cons)->status;

		if (UNLIKELY(status) && status != IB_WC_WR_FLUSH_ERR)
			explain_send_failure(qp, sq_at(&qp->sq, cons), status);
		retire_element(r, qp, cons, status);
		if (UNLIKELY(status) && status != IB_WC_WR_FLUSH_ERR) {
			qp_send_error(qp);
			stop_sends(qp);
		}
	}
}

void comp_flush_sends(struct runner *r, struct soft_qp *qp)
{
	stop_sends(qp);
	comp_retire(r, qp);
}

bool comp_flush(struct runner *r, struct soft_qp *qp)
{
	uint32_t cons, prod;
	struct send_wqe *wqe;

	comp_retire(r, qp);
	cons = atomic_load_explicit(&qp->sq.cons, memory_order_relaxed);
	if (cons != qp->conn.req.acked)
		return false; /* an acknowledged element waits for its packets */
	/* acquire: pairs with the release in soft_post_send() */
	prod = atomic_load_explicit(&qp->sq.prod, memory_order_acquire);
	for (; cons != prod; cons++) {
		wqe = sq_at(&qp->sq, cons);
		if (wqe->refs)
			return false;
		if (wqe->status && wqe->status != IB_WC_WR_FLUSH_ERR)
			explain_send_failure(qp, wqe, (ib_wc_status)wqe->status);
		retire_element(r, qp, cons,
			       wqe->status ? (ib_wc_status)wqe->status : IB_WC_WR_FLUSH_ERR);
		qp->conn.req.acked = cons + 1;
	}
	return true;
}
