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
#include "hca/soft/transport/stage.h"

static struct send_wqe *oldest(const struct soft_qp *qp)
{
	return sq_at(&qp->sq, qp->conn.req.acked);
}

static bool all_answered(const struct soft_qp *qp)
{
	return qp->conn.req.acked == qp->conn.req.fresh;
}

/* Something was answered: counters start afresh. */
static void progress(struct soft_qp *qp, uint32_t una)
{
	qp->conn.req.una = una;
	qp->conn.req.progress = true;
	qp->conn.req.rewound = false;
	qp->conn.req.retry_left = qp->conn.attr.retry_cnt;
	qp->conn.req.rnr_left = qp->conn.attr.rnr_retry;
	/* an answer to what a retry was about to send again */
	if (psn_diff(una, qp->conn.req.send_psn) > 0)
		req_rewind(qp);
}

/* All packets before upto have been executed. False: a read or atomic among them has not been
 * answered with data. */
static bool advance(struct soft_qp *qp, uint32_t upto)
{
	struct send_wqe *wqe;

	while (!all_answered(qp) && psn_diff(upto, qp->conn.req.una) > 0) {
		wqe = oldest(qp);
		if (wr_ops[wqe->wr.opcode].flags & WR_RD_ATOMIC)
			return false;
		if (psn_diff(upto, wqe->last_psn) <= 0) {
			progress(qp, upto);
			break;
		}
		qp->conn.req.acked++;
		progress(qp, psn_add(wqe->last_psn, 1));
	}
	return true;
}

/* The answer to the oldest element has come, whole. */
static void answered(struct soft_qp *qp, struct send_wqe *wqe)
{
	wqe->answered = true;
	qp->conn.req.rd_out--;
	qp->conn.req.acked++;
	progress(qp, psn_add(wqe->last_psn, 1));
}

void comp_fail(struct runner *r, struct soft_qp *qp, ib_wc_status status)
{
	oldest(qp)->status = status;
	IB_TRACE("soft", "request failed: qp=%#x wr_id=%#llx status=%d", qp->ci.qp_num,
		 (unsigned long long)oldest(qp)->wr.wr_id, status);
	qp_error(r, qp, -1);
}

/* Nothing has been sent since we went back, or ever: what is said about it is old. */
static bool gone_back(const struct soft_qp *qp)
{
	return qp->conn.req.send_psn == qp->conn.req.una;
}

/* Something before was lost: again from the oldest packet that is not answered. */
static void retry(struct runner *r, struct soft_qp *qp)
{
	if (gone_back(qp))
		return;
	/* what is asked for again can not be sent: the requester says why */
	if (qp->conn.req.halted && qp->conn.req.acked == qp->conn.req.bad)
		return;
	if (!qp->conn.req.retry_left) {
		comp_fail(r, qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->conn.req.retry_left--;
	qp->conn.req.progress = true; /* the time-out counts from now */
	req_rewind(qp);
}

/* An answer to something later: what it skips was lost (IBTA 9.7.5.1.1). Later ones say so again:
 * once is enough. */
static void implied_nak(struct runner *r, struct soft_qp *qp)
{
	if (qp->conn.req.rewound)
		return;
	qp->conn.req.rewound = true;
	retry(r, qp);
}

static void rnr_nak(struct runner *r, struct soft_qp *qp, uint8_t code)
{
	if (qp->conn.req.waiting || gone_back(qp))
		return; /* told twice */
	if (!qp->conn.req.rnr_left) {
		comp_fail(r, qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->conn.attr.rnr_retry != 7) /* 7: without limit */
		qp->conn.req.rnr_left--;
	qp->conn.req.waiting = true;
	engine_set_timer(qp->actor->engine, &qp->conn.timer, rnr_timer[code & 31] * 10000ull);
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

	if (!advance(qp, pkt->psn) || qp->conn.req.una != pkt->psn) {
		implied_nak(r, qp);
		return NULL;
	}
	if ((pkt->syndrome & AETH_KIND) != AETH_ACK) {
		comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
		return NULL;
	}
	wqe = oldest(qp);
	if (wr_ops[wqe->wr.opcode].flags & (pkt->kind == PKT_READ_RESP ? WR_READ : WR_ATOMIC))
		return wqe;
	comp_fail(r, qp, IB_WC_BAD_RESP_ERR);
	return NULL;
}

/*
 * The data of a response is lost: the peer has deregistered the memory since, and says so when it
 * is asked again, or there was no memory to move it.
 */
static void ask_again(struct soft_qp *qp)
{
	if (qp->conn.req.rewound)
		return;
	qp->conn.req.rewound = true;
	req_rewind(qp);
}

/* The list of an element, from byte `skip` on. */
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

/* What a response to the oldest element has brought is where it belongs, or not. */
static void took_read(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe,
		      const struct packet *pkt, enum copy_result result)
{
	if (result == COPY_BAD_SOURCE || result == COPY_NO_MEMORY) {
		ask_again(qp);
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
	enum copy_result result = COPY_DONE;
	struct place to;
	uint64_t offset, left;
	uint32_t due;

	if (!wqe)
		return;
	offset = (uint64_t)(uint32_t)psn_diff(pkt->psn, wqe->first_psn)
		 << qp->conn.source.mtu_shift;
	left = wqe->wr.length - offset;
	due = (uint32_t)psn_diff(wqe->last_psn, pkt->psn) + 1;
	/* a last packet ends the read, and no other does; the others are full */
	if (pkt->place & PLACE_LAST
		    ? pkt->length != left || pkt->num != due
		    : pkt->num >= due || pkt->length != (uint32_t)pkt->num
								<< qp->conn.source.mtu_shift) {
		comp_fail(r, qp, IB_WC_LOC_LEN_ERR);
		return;
	}
	if (pkt->length) {
		to = element_place(qp, wqe, offset);
		result = stage_move_response(qp, pkt, NULL, &to);
		r->bytes -= pkt->length;
	}
	if (LIKELY(result != COPY_LATER))
		took_read(r, qp, wqe, pkt, result);
}

static void took_value(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe,
		       enum copy_result result)
{
	if (result == COPY_DONE)
		answered(qp, wqe);
	else if (result == COPY_NO_MEMORY)
		ask_again(qp);
	else
		comp_fail(r, qp, IB_WC_LOC_PROT_ERR);
}

static void atomic_response(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct send_wqe *wqe = expecting(r, qp, pkt);
	const struct payload_head value = { &pkt->compare_add, sizeof(pkt->compare_add) };
	enum copy_result result;
	struct place to;

	if (!wqe)
		return;
	to = element_place(qp, wqe, 0);
	result = stage_move_response(qp, pkt, &value, &to);
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
	if (!qp->conn.req.limited || psn_diff(limit, qp->conn.req.limit) > 0)
		qp->conn.req.limit = limit;
	qp->conn.req.limited = code != AETH_NO_CREDITS;
}

void comp_response(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int32_t after = psn_diff(pkt->psn, qp->conn.req.una);

	/* not about anything that was sent and waits for an answer: a ghost */
	if (after < -1 || psn_diff(pkt->psn, qp->conn.req.high_psn) >= 0)
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
	*qp->conn.stage->answers_tail = pkt;
	qp->conn.stage->answers_tail = &pkt->next;
}

/* Those that have come meanwhile. */
static void take_waiting(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while ((pkt = qp->conn.stage->answers) && !qp->conn.req.copying &&
	       qp_state(qp) != IB_QPS_ERR) {
		qp->conn.stage->answers = pkt->next;
		if (!pkt->next)
			qp->conn.stage->answers_tail = &qp->conn.stage->answers;
		if (pkt->kind != PKT_NONE) /* its sender's end has made it empty */
			comp_response(r, qp, pkt);
		pkt_release(r, qp, pkt);
	}
}

void comp_resume(struct runner *r, struct soft_qp *qp)
{
	struct stage *stage = qp->conn.stage;
	enum copy_result result;

	while (qp->conn.req.copying && qp_state(qp) != IB_QPS_ERR && errand_done(stage->answer)) {
		result = stage->answer->succeeded ? COPY_DONE : COPY_BAD_TARGET;
		errand_abandon(&stage->answer);
		qp->conn.req.copying = false;
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
	};
	return true;
}

/* The oldest element leaves the queue: who finds its completion may post another at once. */
static void retire_one(struct runner *r, struct soft_qp *qp, uint32_t index, ib_wc_status status)
{
	struct ib_wc wc;
	bool visible = completion(qp, sq_at(&qp->sq, index), status, &wc);

	/* release: pairs with the acquire in soft_post_send(), which will write here again */
	atomic_store_explicit(&qp->sq.cons, index + 1, memory_order_release);
	if (UNLIKELY(qp->shared))
		ring_retired(qp, index + 1);
	if (visible)
		cq_add(r, soft_cq(qp->ci.send_cq), &wc);
}

/* Nothing in the queue has success any more, whatever became of its packets. */
static void stop_sends(struct soft_qp *qp)
{
	uint32_t i = atomic_load_explicit(&qp->sq.cons, memory_order_relaxed);
	/* acquire: pairs with the release in soft_post_send() */
	uint32_t prod = atomic_load_explicit(&qp->sq.prod, memory_order_acquire);

	for (; i != prod; i++)
		sq_at(&qp->sq, i)->status = IB_WC_WR_FLUSH_ERR;
	qp->conn.req.next = qp->conn.req.fresh = qp->conn.req.acked = prod;
	qp->conn.req.send_psn = qp->conn.req.una = qp->conn.req.next_psn;
	qp->conn.req.halted = false;
}

void comp_retire(struct runner *r, struct soft_qp *qp)
{
	uint32_t cons = atomic_load_explicit(&qp->sq.cons, memory_order_relaxed);

	for (; cons != qp->conn.req.acked && !sq_at(&qp->sq, cons)->refs; cons++) {
		ib_wc_status status = (ib_wc_status)sq_at(&qp->sq, cons)->status;

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
	cons = atomic_load_explicit(&qp->sq.cons, memory_order_relaxed);
	if (cons != qp->conn.req.acked)
		return false; /* an answered one waits for its packets */
	/* acquire: pairs with the release in soft_post_send() */
	prod = atomic_load_explicit(&qp->sq.prod, memory_order_acquire);
	for (; cons != prod; cons++) {
		wqe = sq_at(&qp->sq, cons);
		if (wqe->refs)
			return false;
		retire_one(r, qp, cons,
			   wqe->status ? (ib_wc_status)wqe->status : IB_WC_WR_FLUSH_ERR);
		qp->conn.req.acked = cons + 1;
	}
	return true;
}
