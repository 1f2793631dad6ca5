/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The completer: what answers do to the requester's elements. acked and una advance together: the
 * oldest element that is not answered, and its oldest packet that is not. Elements complete in
 * order, once their packets are at home.
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
#include "hca/soft/transport/qp.h"

static struct send_wqe *oldest(const struct soft_qp *qp)
{
	return sq_at(qp, qp->req.acked);
}

static bool all_answered(const struct soft_qp *qp)
{
	return qp->req.acked == qp->req.fresh;
}

/* Something was answered: counters start afresh. */
static void progress(struct soft_qp *qp, uint32_t una)
{
	qp->req.una = una;
	qp->req.progress = true;
	qp->req.rewound = false;
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
	/* an answer to what a retry was about to send again */
	if (psn_diff(una, qp->req.send_psn) > 0)
		req_rewind(qp);
}

/* All packets before upto have been executed. False: a read or atomic among them has not been
 * answered with data. */
static bool advance(struct soft_qp *qp, uint32_t upto)
{
	struct send_wqe *wqe;

	while (!all_answered(qp) && psn_diff(upto, qp->req.una) > 0) {
		wqe = oldest(qp);
		if (wr_ops[wqe->opcode].flags & WR_RD_ATOMIC)
			return false;
		if (psn_diff(upto, wqe->last_psn) <= 0) {
			progress(qp, upto);
			break;
		}
		qp->req.acked++;
		progress(qp, psn_add(wqe->last_psn, 1));
	}
	return true;
}

/* The answer to the oldest element has come, whole. */
static void answered(struct soft_qp *qp, struct send_wqe *wqe)
{
	wqe->answered = true;
	qp->req.rd_out--;
	qp->req.acked++;
	progress(qp, psn_add(wqe->last_psn, 1));
}

void comp_fail(struct runner *r, struct soft_qp *qp, ib_wc_status status)
{
	oldest(qp)->status = (uint8_t)status;
	IB_TRACE("soft", "request failed: qp=%#x wr_id=%#llx status=%d", qp->ci.qp_num,
		 (unsigned long long)oldest(qp)->wr_id, status);
	qp_error(r, qp, -1);
}

/* Nothing has been sent since we went back, or ever: what is said about it is old. */
static bool gone_back(const struct soft_qp *qp)
{
	return qp->req.send_psn == qp->req.una;
}

/* Something before was lost: again from the oldest packet that is not answered. */
static void retry(struct runner *r, struct soft_qp *qp)
{
	if (gone_back(qp))
		return;
	/* what is asked for again can not be sent: the requester says why */
	if (qp->req.halted && qp->req.acked == qp->req.bad)
		return;
	if (!qp->req.retry_left) {
		comp_fail(r, qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->req.retry_left--;
	qp->req.progress = true; /* the time-out counts from now */
	req_rewind(qp);
}

/* An answer to something later: what it skips was lost (IBTA 9.7.5.1.1). Later ones say so again:
 * once is enough. */
static void implied_nak(struct runner *r, struct soft_qp *qp)
{
	if (qp->req.rewound)
		return;
	qp->req.rewound = true;
	retry(r, qp);
}

static void rnr_nak(struct runner *r, struct soft_qp *qp, uint8_t code)
{
	if (qp->req.waiting || gone_back(qp))
		return; /* told twice */
	if (!qp->req.rnr_left) {
		comp_fail(r, qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->attr.rnr_retry != 7) /* 7: without limit */
		qp->req.rnr_left--;
	qp->req.waiting = true;
	engine_timer(qp->actor->engine, &qp->timer, rnr_timer[code & 31] * 10000ull);
}

/* What a NAK code does to the request, by code. */
static const uint8_t nak_status[4] = {
	[NAK_INVALID_REQUEST & 3] = IB_WC_REM_INV_REQ_ERR,
	[NAK_REMOTE_ACCESS & 3] = IB_WC_REM_ACCESS_ERR,
	[NAK_REMOTE_OPERATION & 3] = IB_WC_REM_OP_ERR,
};

static void acknowledge(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	uint8_t syndrome = pkt->syndrome;

	if ((syndrome & AETH_KIND) == AETH_ACK) {
		if (!advance(qp, psn_add(pkt->psn, 1)))
			implied_nak(r, qp);
		return;
	}
	/* a NAK is about its own PSN, and acknowledges what is before */
	if (!advance(qp, pkt->psn)) {
		implied_nak(r, qp);
		return;
	}
	if ((syndrome & AETH_KIND) == AETH_RNR_NAK) {
		rnr_nak(r, qp, syndrome);
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

/* The oldest element, if the response is its next one; else NULL, and what is due to that is done.
 */
static struct send_wqe *expecting(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe;

	if (!advance(qp, pkt->psn) || qp->req.una != pkt->psn) {
		implied_nak(r, qp);
		return NULL;
	}
	if ((pkt->syndrome & AETH_KIND) != AETH_ACK) {
		comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
		return NULL;
	}
	wqe = oldest(qp);
	if (wr_ops[wqe->opcode].flags & (pkt->kind == PKT_READ_RESP ? WR_READ : WR_ATOMIC))
		return wqe;
	comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
	return NULL;
}

/* What was asked for goes to a client: an errand that has it. */
static enum copy_result send_off(struct soft_qp *qp, struct errand *e, const struct send_wqe *wqe,
				 uint64_t offset, const struct packet *pkt)
{
	const struct mem_view here = { qp->own.memory, qp->ci.pd, IB_ACCESS_LOCAL_WRITE };

	if (!stage_of(qp) || !errand_add(e, &here, wqe->sge, wqe->num_sge, offset)) {
		al_free(e);
		return COPY_BAD_TARGET;
	}
	qp->req.copying = true;
	qp->stage->answered = *pkt;
	errand_start(&qp->stage->answer, e);
	return COPY_LATER;
}

static enum copy_result read_to_client(struct soft_qp *qp, const struct send_wqe *wqe,
				       uint64_t offset, const struct packet *pkt)
{
	struct errand *e = errand_new(qp, ERRAND_SCATTER, pkt->length, wqe->num_sge);
	enum copy_result result;

	if (!e)
		return COPY_BAD_TARGET;
	result = payload_copy(e->data, pkt);
	if (result == COPY_DONE)
		return send_off(qp, e, wqe, offset, pkt);
	al_free(e);
	return result;
}

/* What a response to the oldest element has brought is where it belongs, or not. */
static void took_read(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe,
		      const struct packet *pkt, enum copy_result result)
{
	if (result == COPY_BAD_SOURCE) {
		/* deregistered since: asked again, the peer says so */
		if (!qp->req.rewound) {
			qp->req.rewound = true;
			req_rewind(qp);
		}
		return;
	}
	if (result == COPY_BAD_TARGET) {
		comp_fail(r, qp, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (pkt->place & PLACE_LAST)
		answered(qp, wqe);
	else
		progress(qp, psn_add(pkt->psn, pkt->num));
}

static void read_response(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe = expecting(r, qp, pkt);
	const struct mem_view here = { qp->own.memory, qp->ci.pd, IB_ACCESS_LOCAL_WRITE };
	enum copy_result result = COPY_DONE;
	struct cursor from, to = { .slot = NULL };
	uint64_t offset, left;
	uint32_t due;

	if (!wqe)
		return;
	offset = (uint64_t)(uint32_t)psn_diff(pkt->psn, wqe->first_psn) << qp->mtu_shift;
	left = wqe->length - offset;
	due = (uint32_t)psn_diff(wqe->last_psn, pkt->psn) + 1;
	/* a last packet ends the read, and no other does; the others are full */
	if (pkt->place & PLACE_LAST ? pkt->length != left || pkt->num != due
				    : pkt->num >= due || pkt->length != (uint32_t)pkt->num << qp->mtu_shift) {
		comp_fail(r, qp, IB_WC_LOC_LEN_ERR);
		return;
	}
	if (pkt->length) {
		if (!payload_open(&from, pkt))
			result = COPY_BAD_SOURCE;
		else if (!cursor_sges(&to, &here, wqe->sge, wqe->num_sge, offset))
			result = COPY_BAD_TARGET;
		else
			result = cursor_copy(&to, &from, pkt->length);
		cursor_end(&from);
		cursor_end(&to);
		r->bytes -= pkt->length;
	}
	if (UNLIKELY(result == COPY_CLIENT))
		result = read_to_client(qp, wqe, offset, pkt);
	if (LIKELY(result != COPY_LATER))
		took_read(r, qp, wqe, pkt, result);
}

static enum copy_result value_to_client(struct soft_qp *qp, const struct send_wqe *wqe,
					uint64_t value, const struct packet *pkt)
{
	struct errand *e = errand_new(qp, ERRAND_SCATTER, sizeof(value), wqe->num_sge);

	if (!e)
		return COPY_BAD_TARGET;
	memcpy(e->data, &value, sizeof(value));
	return send_off(qp, e, wqe, 0, pkt);
}

static void took_value(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe,
		       enum copy_result result)
{
	if (result == COPY_DONE)
		answered(qp, wqe);
	else
		comp_fail(r, qp, IB_WC_LOC_PROT_ERR);
}

static void atomic_response(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe = expecting(r, qp, pkt);
	const struct mem_view here = { qp->own.memory, qp->ci.pd, IB_ACCESS_LOCAL_WRITE };
	uint64_t value = pkt->compare_add;
	enum copy_result result = COPY_BAD_TARGET;
	struct cursor from, to;

	if (!wqe)
		return;
	cursor_plain(&from, &value, sizeof(value));
	if (cursor_sges(&to, &here, wqe->sge, wqe->num_sge, 0))
		result = cursor_copy(&to, &from, sizeof(value));
	cursor_end(&to);
	if (UNLIKELY(result == COPY_CLIENT))
		result = value_to_client(qp, wqe, value, pkt);
	if (LIKELY(result != COPY_LATER))
		took_value(r, qp, wqe, result);
}

/* What an ACK says of receives. They do not go away but by our messages, so that no answer, which
 * may have been on its way for long, lowers what is known. */
static void take_credits(struct soft_qp *qp, const struct packet *pkt)
{
	uint8_t code = pkt->syndrome & AETH_CREDITS;
	uint32_t limit = psn_add(pkt->ex, credits_of_code(code));

	if ((pkt->syndrome & AETH_KIND) != AETH_ACK)
		return;
	if (!qp->req.limited || psn_diff(limit, qp->req.limit) > 0)
		qp->req.limit = limit;
	qp->req.limited = code != AETH_NO_CREDITS;
}

void comp_response(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int32_t after = psn_diff(pkt->psn, qp->req.una);

	/* not about anything that was sent and waits for an answer: a ghost */
	if (after < -1 || psn_diff(pkt->psn, qp->req.high_psn) >= 0)
		return;
	take_credits(qp, pkt);
	if (after < 0) /* the last one again: it came for the credits only (IBTA 9.7.7.2) */
		return;
	switch (pkt->kind) {
	case PKT_ACK:
		acknowledge(r, qp, pkt);
		break;
	case PKT_READ_RESP:
		read_response(r, qp, pkt);
		break;
	case PKT_ATOMIC_ACK:
		atomic_response(r, qp, pkt);
		break;
	}
}

void comp_wait(struct soft_qp *qp, struct packet *pkt)
{
	pkt->next = NULL;
	*qp->stage->answers_tail = pkt;
	qp->stage->answers_tail = &pkt->next;
}

/* Those that have come meanwhile. */
static void take_waiting(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while ((pkt = qp->stage->answers) && !qp->req.copying && qp_state(qp) != IB_QPS_ERR) {
		qp->stage->answers = pkt->next;
		if (!pkt->next)
			qp->stage->answers_tail = &qp->stage->answers;
		if (pkt->kind != PKT_NONE) /* its sender's end has made it empty */
			comp_response(r, qp, pkt);
		pkt_release(r, qp, pkt);
	}
}

void comp_resume(struct runner *r, struct soft_qp *qp)
{
	struct stage *stage = qp->stage;
	enum copy_result result;

	while (qp->req.copying && qp_state(qp) != IB_QPS_ERR && errand_done(stage->answer)) {
		result = stage->answer->good ? COPY_DONE : COPY_BAD_TARGET;
		errand_leave(&stage->answer);
		qp->req.copying = false;
		if (stage->answered.kind == PKT_READ_RESP)
			took_read(r, qp, oldest(qp), &stage->answered, result);
		else
			took_value(r, qp, oldest(qp), result);
		take_waiting(r, qp);
	}
}

/* The completion of an element; false: nobody asked for it. */
static bool completion(const struct soft_qp *qp, const struct send_wqe *wqe, ib_wc_status status,
		       struct ib_wc *wc)
{
	const struct wr_op *op = &wr_ops[wqe->opcode];

	if (status == IB_WC_SUCCESS && !(wqe->flags & IB_SEND_SIGNALED))
		return false;
	*wc = (struct ib_wc){
		.wr_id = wqe->wr_id,
		.qp_context = qp->ci.owner_context,
		.status = status,
		.opcode = (ib_wc_opcode)op->wc_opcode,
		.byte_len = op->flags & WR_RD_ATOMIC ? wqe->length : 0,
		.qp_num = qp->ci.qp_num,
	};
	return true;
}

/* The oldest element leaves the queue: who finds its completion may post another at once. */
static void retire_one(struct runner *r, struct soft_qp *qp, uint32_t index, ib_wc_status status)
{
	struct ib_wc wc;
	bool visible = completion(qp, sq_at(qp, index), status, &wc);

	/* release: pairs with the acquire in soft_post_send(), which will write here again */
	atomic_store_explicit(&qp->sq_cons, index + 1, memory_order_release);
	if (UNLIKELY(qp->shared))
		ring_retired(qp, index + 1);
	if (visible)
		cq_add(r, soft_cq(qp->ci.send_cq), &wc);
}

/* Nothing in the queue has success any more, whatever became of its packets. */
static void stop_sends(struct soft_qp *qp)
{
	uint32_t i = atomic_load_explicit(&qp->sq_cons, memory_order_relaxed);
	/* acquire: pairs with the release in soft_post_send() */
	uint32_t prod = atomic_load_explicit(&qp->sq_prod, memory_order_acquire);

	for (; i != prod; i++)
		sq_at(qp, i)->status = IB_WC_WR_FLUSH_ERR;
	qp->req.next = qp->req.fresh = qp->req.acked = prod;
	qp->req.send_psn = qp->req.una = qp->req.next_psn;
	qp->req.halted = false;
}

void comp_retire(struct runner *r, struct soft_qp *qp)
{
	uint32_t cons = atomic_load_explicit(&qp->sq_cons, memory_order_relaxed);

	for (; cons != qp->req.acked && !sq_at(qp, cons)->refs; cons++) {
		ib_wc_status status = (ib_wc_status)sq_at(qp, cons)->status;

		retire_one(r, qp, cons, status);
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
	cons = atomic_load_explicit(&qp->sq_cons, memory_order_relaxed);
	if (cons != qp->req.acked)
		return false; /* an answered one waits for its packets */
	/* acquire: pairs with the release in soft_post_send() */
	prod = atomic_load_explicit(&qp->sq_prod, memory_order_acquire);
	for (; cons != prod; cons++) {
		wqe = sq_at(qp, cons);
		if (wqe->refs)
			return false;
		retire_one(r, qp, cons,
			   wqe->status ? (ib_wc_status)wqe->status : IB_WC_WR_FLUSH_ERR);
		qp->req.acked = cons + 1;
	}
	return true;
}
