/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The requester: makes packets out of send queue elements, in order, and goes back when told so.
 * Elements between acked and fresh are started: they have PSNs. next and send_psn say what is sent
 * next, which is something started before only after a retry.
 */
#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"

/* What is wrong with an element, before any of it is sent (IBTA 10.7.3.1: found locally). */
static ib_wc_status check(const struct soft_qp *qp, struct send_wqe *wqe)
{
	const struct wr_op *op = &wr_ops[wqe->opcode];
	const struct mem_view view = {
		.memory = qp->own.memory,
		.pd = qp->ci.pd,
		.access = op->flags & WR_RD_ATOMIC ? IB_ACCESS_LOCAL_WRITE : 0,
	};

	if (wqe->length > SOFT_MAX_MSG || (is_ud(qp) && wqe->length > 1u << qp->mtu_shift) ||
	    (op->flags & WR_ATOMIC && wqe->length != sizeof(uint64_t)))
		return IB_WC_LOC_LEN_ERR;
	if ((op->flags & WR_RD_ATOMIC && !qp->attr.max_rd_atomic) ||
	    (op->flags & WR_ATOMIC && !qp->atomics))
		return IB_WC_LOC_QP_OP_ERR;
	wqe->client = false;
	if (!(wqe->flags & IB_SEND_INLINE) &&
	    !mr_check_sges(&view, wqe->sge, wqe->num_sge, &wqe->client))
		return IB_WC_LOC_PROT_ERR;
	return IB_WC_SUCCESS;
}

/* Nothing from this element on is sent; what is before is completed first, and sent again if need
 * be. */
static void halt(struct soft_qp *qp, uint32_t index, ib_wc_status status)
{
	qp->req.halted = true;
	qp->req.bad = index;
	if (qp->service->reliable) {
		qp->req.bad_status = (uint8_t)status;
	} else { /* done with: completes in its turn, and stops the queue */
		sq_at(qp, index)->status = (uint8_t)status;
		qp->req.acked = qp->req.next = ++qp->req.fresh;
	}
}

/* Starts the next element if it may be; NULL: not now. */
static struct send_wqe *start(struct soft_qp *qp)
{
	uint32_t index = qp->req.fresh;
	struct send_wqe *wqe;
	ib_wc_status status;
	bool rd_atomic;

	/* acquire: pairs with the release in soft_post_send() */
	if (index == atomic_load_explicit(&qp->sq_prod, memory_order_acquire) ||
	    qp_state(qp) != IB_QPS_RTS ||
	    psn_diff(qp->req.next_psn, qp->req.una) >= SOFT_PSN_WINDOW)
		return NULL;
	wqe = sq_at(qp, index);
	rd_atomic = wr_ops[wqe->opcode].flags & WR_RD_ATOMIC;
	if (wqe->flags & IB_SEND_FENCE && qp->req.rd_out)
		return NULL;
	status = check(qp, wqe);
	if (UNLIKELY(status)) {
		halt(qp, index, status);
		return NULL;
	}
	if (rd_atomic && qp->req.rd_out >= qp->attr.max_rd_atomic)
		return NULL;
	qp->req.rd_out += rd_atomic;
	wqe->first_psn = qp->req.next_psn;
	qp->req.next_psn = psn_add(wqe->first_psn, req_packets(qp, wqe));
	wqe->last_psn = psn_add(qp->req.next_psn, IB_PSN_MASK);
	qp->req.fresh++;
	return wqe;
}

/*
 * Does the next element need a receive that the peer, as far as he has told, has not posted
 * (IBTA 9.7.7.2)? Messages are numbered from 1 in the order of the queue, as the responder's MSN
 * counts them. Until an ACK has told there is no limit; and a message whose first packet was taken
 * goes on.
 */
static bool lacks_credit(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	return qp->req.limited && wr_ops[wqe->opcode].flags & WR_RECV &&
	       psn_diff(qp->req.limit, psn_add(qp->req.next, 1)) < 0 &&
	       psn_diff(qp->req.una, wqe->first_psn) <= 0;
}

/*
 * Without credit the first packet goes, alone and with nothing unanswered before it, and nothing
 * more until it is answered: an ACK or an RNR NAK. What was told may be old, so this is what finds
 * new receives.
 */
static bool may_probe(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	return qp->req.una == wqe->first_psn && qp->req.send_psn == wqe->first_psn;
}

/* The payload stays where it is until it is copied. */
static void set_payload(const struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt)
{
	if (wqe->flags & IB_SEND_INLINE) {
		pkt->view = NULL;
		pkt->data = (char *)wqe->sge;
		return;
	}
	pkt->view = &qp->own;
	pkt->sge = wqe->sge;
	pkt->num_sge = wqe->num_sge;
}

/* Fills in what depends on the operation; returns the PSNs used. */
static uint32_t build(struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt)
{
	uint32_t done = (uint32_t)psn_diff(pkt->psn, wqe->first_psn);
	uint32_t left = req_packets(qp, wqe) - done;
	uint32_t num;

	pkt->offset = (uint64_t)done << qp->mtu_shift;
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->rkey;
	pkt->ex = wqe->ex;
	pkt->kind = wr_ops[wqe->opcode].kind;
	switch (pkt->kind) {
	case PKT_READ: /* what has been read already is not asked again */
		pkt->va += pkt->offset;
		pkt->dma_len = wqe->length - (uint32_t)pkt->offset;
		break;
	case PKT_COMP_SWAP:
	case PKT_FETCH_ADD:
		pkt->compare_add = wqe->compare_add;
		pkt->swap = wqe->swap;
		break;
	default:
		num = pkt_train(qp, pkt, FLOW_REQUEST, !done, left);
		if (num > 1 && lacks_credit(qp, wqe)) {
			num = pkt->num = 1;
			pkt->place &= PLACE_FIRST;
		}
		pkt->length =
			num == left ? wqe->length - (uint32_t)pkt->offset : num << qp->mtu_shift;
		pkt->dma_len = wqe->length;
		set_payload(qp, wqe, pkt);
		if (is_ud(qp))
			ud_build(qp, wqe, pkt);
		return num;
	}
	pkt->num = 1;
	pkt->place = PLACE_ONLY;
	pkt->length = 0;
	return left;
}

/* The element's payload is not to be had: it is done with, as if it had been sent. */
static void give_up(struct soft_qp *qp, struct send_wqe *wqe)
{
	uint32_t psn = psn_add(wqe->last_psn, 1);

	req_bad_source(qp, wqe);
	if (qp->service->reliable) /* halted */
		return;
	qp->req.send_psn = qp->req.high_psn = qp->req.una = psn;
	qp->req.acked = ++qp->req.next;
}

/* The payload is in a client. False: the packet can not be sent, or not yet; the node is back. */
static bool fetch(struct soft_qp *qp, struct send_wqe *wqe, struct packet *pkt)
{
	enum copy_result result = COPY_BAD_SOURCE;

	if (stage_of(qp))
		result = errand_fetch(qp, &qp->stage->request, pkt, &qp->own, wqe->sge, wqe->num_sge,
				      pkt->offset);
	if (result == COPY_DONE)
		return true;
	wqe->refs--;
	pkt->wqe = NULL;
	pkt->next = qp->req.nodes;
	qp->req.nodes = pkt;
	if (result == COPY_BAD_SOURCE)
		give_up(qp, wqe);
	return false;
}

/* False: its payload is still to come, or never will. */
static bool send_one(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe)
{
	struct packet *pkt = qp->req.nodes;
	uint32_t psn = qp->req.send_psn;

	qp->req.nodes = pkt->next;
	pkt->wqe = wqe;
	wqe->refs++;
	pkt->psn = psn;
	/* every train of a reliable service asks: its node goes home anyway, and carries the answer
	 */
	pkt->flags = (qp->service->reliable ? PKT_ACK_REQ : 0) |
		     (wqe->flags & IB_SEND_SOLICITED ? PKT_SOLICITED : 0);
	pkt->syndrome = 0;
	psn = psn_add(psn, build(qp, wqe, pkt));
	if (UNLIKELY(wqe->client) && pkt->length && !fetch(qp, wqe, pkt))
		return false;
	if (UNLIKELY(psn_diff(pkt->psn, qp->req.high_psn) < 0))
		port_count(qp->port, CNT_RETRANSMITS, pkt->num);
	if (psn_diff(psn, qp->req.high_psn) > 0)
		qp->req.high_psn = psn;
	qp->req.send_psn = psn;
	if (psn_diff(psn, wqe->last_psn) > 0)
		qp->req.next++;
	if (!qp->service->reliable) { /* sent is done, as soon as it is at home */
		qp->req.acked = qp->req.next;
		qp->req.una = psn;
	}
	pkt_send(r, qp, pkt, FLOW_REQUEST);
	return true;
}

bool req_run(struct runner *r, struct soft_qp *qp)
{
	struct send_wqe *wqe;

	/* what could not be sent again need not be: a copy of it was answered */
	if (UNLIKELY(qp->req.halted && qp->service->reliable &&
		     (int32_t)(qp->req.acked - qp->req.bad) > 0))
		qp->req.halted = false;
	for (;;) {
		if (qp->req.waiting || !qp->req.nodes || qp_state(qp) < IB_QPS_RTS)
			break;
		if (UNLIKELY(qp->req.halted && (int32_t)(qp->req.next - qp->req.bad) >= 0))
			break;
		if (qp->req.next != qp->req.fresh)
			wqe = sq_at(qp, qp->req.next);
		else
			wqe = start(qp);
		if (!wqe || (lacks_credit(qp, wqe) && !may_probe(qp, wqe)))
			break;
		if (runner_spent(r))
			return true;
		if (!send_one(r, qp, wqe))
			break;
	}
	if (!qp->service->reliable) /* what nobody took is at home already */
		comp_retire(r, qp);
	/* what can not be sent completes in its turn */
	if (UNLIKELY(qp->req.halted && qp->req.acked == qp->req.bad))
		comp_fail(r, qp, (ib_wc_status)qp->req.bad_status);
	return false;
}

void req_bad_source(struct soft_qp *qp, struct send_wqe *wqe)
{
	uint32_t cons = atomic_load_explicit(&qp->sq_cons, memory_order_relaxed);
	uint32_t slot = (uint32_t)((size_t)((const char *)wqe - qp->sq) / qp->sq_stride);
	uint32_t index = cons + ((slot - cons) & qp->sq_mask);

	if (!qp->service->reliable) {
		if (!wqe->status)
			wqe->status = IB_WC_LOC_PROT_ERR;
		return;
	}
	/* a copy of the packet may have been answered; an earlier element may be the first bad one
	 */
	if ((int32_t)(index - qp->req.acked) < 0 ||
	    (qp->req.halted && (int32_t)(index - qp->req.bad) >= 0))
		return;
	halt(qp, index, IB_WC_LOC_PROT_ERR);
}

/* Nothing is lost: a client's thread, our own or the peer's, takes its time with what we wait for.
 */
static bool client_at_work(const struct soft_qp *qp)
{
	const struct errand *payload = qp->stage ? qp->stage->request : NULL;

	return qp->req.copying || (payload && !errand_done(payload)) ||
	       atomic_load_explicit(&qp->actor->held, memory_order_relaxed);
}

void req_rewind(struct soft_qp *qp)
{
	qp->req.next = qp->req.acked;
	qp->req.send_psn = qp->req.una;
}

void req_timer(struct runner *r, struct soft_qp *qp)
{
	/* it ran out unseen before it was set again: for an RNR NAK's pause, or for later packets
	 */
	if (atomic_load_explicit(&qp->timer.running, memory_order_relaxed))
		return;
	if (qp->req.waiting) {
		qp->req.waiting = false;
		req_rewind(qp);
		return;
	}
	if (qp->req.una == qp->req.next_psn || qp->req.progress)
		return; /* started anew as long as something is not answered */
	if (UNLIKELY(client_at_work(qp)))
		return;
	if (!qp->req.retry_left) {
		comp_fail(r, qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->req.retry_left--;
	qp->req.rewound = false;
	IB_TRACE("soft", "time-out: qp=%#x psn=%#x retries left %u", qp->ci.qp_num, qp->req.una,
		 qp->req.retry_left);
	req_rewind(qp);
}

void req_reset(struct soft_qp *qp)
{
	struct packet *nodes = qp->req.nodes;

	qp->req = (__typeof__(qp->req)){ .nodes = nodes };
}
