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
#include "hca/soft/transport/stage.h"

/* What is wrong with an element, before any of it is sent (IBTA 10.7.3.1: found locally). */
static ib_wc_status check(const struct soft_qp *qp, struct send_wqe *wqe)
{
	const struct wr_op *op = &wr_ops[wqe->wr.opcode];
	const struct mem_view view = {
		.memory = qp->conn.own.memory,
		.pd = qp->ci.pd,
		.access = op->flags & WR_RD_ATOMIC ? IB_ACCESS_LOCAL_WRITE : 0,
	};
	bool client = false;

	if (wqe->wr.length > SOFT_MAX_MSG ||
	    (is_ud(qp) && wqe->wr.length > 1u << qp->conn.source.mtu_shift) ||
	    (op->flags & WR_ATOMIC && wqe->wr.length != sizeof(uint64_t)))
		return IB_WC_LOC_LEN_ERR;
	if ((op->flags & WR_RD_ATOMIC && !qp->conn.attr.max_rd_atomic) ||
	    (op->flags & WR_ATOMIC && !qp->atomics))
		return IB_WC_LOC_QP_OP_ERR;
	if (!(wqe->wr.flags & IB_SEND_INLINE) &&
	    !mr_check_sges(&view, wqe->sge, wqe->wr.num_sge, &client))
		return IB_WC_LOC_PROT_ERR;
	wqe->client = client;
	return IB_WC_SUCCESS;
}

/* Nothing from this element on is sent; what is before is completed first, and sent again if need
 * be. */
static void halt(struct soft_qp *qp, uint32_t index, ib_wc_status status)
{
	qp->conn.req.halted = true;
	qp->conn.req.bad = index;
	if (qp->service->reliable) {
		qp->conn.req.bad_status = (uint8_t)status;
	} else { /* done with: completes in its turn, and stops the queue */
		sq_at(&qp->sq, index)->status = (uint8_t)status;
		qp->conn.req.acked = qp->conn.req.next = ++qp->conn.req.fresh;
	}
}

/* Starts the next element if it may be; NULL: not now. */
static struct send_wqe *start(struct soft_qp *qp)
{
	uint32_t index = qp->conn.req.fresh;
	struct send_wqe *wqe;
	ib_wc_status status;
	bool rd_atomic;

	/* acquire: pairs with the release in soft_post_send() */
	if (index == atomic_load_explicit(&qp->sq.prod, memory_order_acquire) ||
	    qp_state(qp) != IB_QPS_RTS ||
	    psn_diff(qp->conn.req.next_psn, qp->conn.req.una) >= SOFT_PSN_WINDOW)
		return NULL;
	wqe = sq_at(&qp->sq, index);
	rd_atomic = wr_ops[wqe->wr.opcode].flags & WR_RD_ATOMIC;
	if (wqe->wr.flags & IB_SEND_FENCE && qp->conn.req.rd_out)
		return NULL;
	status = check(qp, wqe);
	if (UNLIKELY(status)) {
		halt(qp, index, status);
		return NULL;
	}
	if (rd_atomic && qp->conn.req.rd_out >= qp->conn.attr.max_rd_atomic)
		return NULL;
	qp->conn.req.rd_out += rd_atomic;
	wqe->first_psn = qp->conn.req.next_psn;
	qp->conn.req.next_psn = psn_add(wqe->first_psn, req_packets(qp, wqe));
	wqe->last_psn = psn_add(qp->conn.req.next_psn, IB_PSN_MASK);
	qp->conn.req.fresh++;
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
	return qp->conn.req.limited && wr_ops[wqe->wr.opcode].flags & WR_RECV &&
	       psn_diff(qp->conn.req.limit, psn_add(qp->conn.req.next, 1)) < 0 &&
	       psn_diff(qp->conn.req.una, wqe->first_psn) <= 0;
}

/*
 * Without credit the first packet goes, alone and with nothing unanswered before it, and nothing
 * more until it is answered: an ACK or an RNR NAK. What was told may be old, so this is what finds
 * new receives.
 */
static bool may_probe(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	return qp->conn.req.una == wqe->first_psn && qp->conn.req.send_psn == wqe->first_psn;
}

/* The payload stays where it is until it is copied. */
static void set_payload(const struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt)
{
	if (wqe->wr.flags & IB_SEND_INLINE) {
		pkt->view = NULL;
		pkt->data = (char *)wqe->sge;
		return;
	}
	pkt->view = &qp->conn.own;
	pkt->sge = wqe->sge;
	pkt->num_sge = wqe->wr.num_sge;
}

/* Fills in what depends on the operation; returns the PSNs used. */
static uint32_t build(struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt)
{
	uint32_t done = (uint32_t)psn_diff(pkt->psn, wqe->first_psn);
	uint32_t left = req_packets(qp, wqe) - done;
	uint32_t num;

	pkt->offset = (uint64_t)done << qp->conn.source.mtu_shift;
	pkt->va = wqe->wr.remote.addr;
	pkt->rkey = wqe->wr.key;
	pkt->ex = wqe->wr.ex;
	pkt->kind = wr_ops[wqe->wr.opcode].kind;
	switch (pkt->kind) {
	case PKT_READ: /* what has been read already is not asked again */
		pkt->va += pkt->offset;
		pkt->dma_len = wqe->wr.length - (uint32_t)pkt->offset;
		break;
	case PKT_COMP_SWAP:
	case PKT_FETCH_ADD:
		pkt->compare_add = wqe->wr.remote.compare_add;
		pkt->swap = wqe->wr.remote.swap;
		break;
	default:
		num = pkt_train(qp, pkt, FLOW_REQUEST, !done, left);
		if (num > 1 && lacks_credit(qp, wqe)) {
			num = pkt->num = 1;
			pkt->place &= PLACE_FIRST;
		}
		pkt->length = num == left ? wqe->wr.length - (uint32_t)pkt->offset
					  : num << qp->conn.source.mtu_shift;
		pkt->dma_len = wqe->wr.length;
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

/* The element's payload is not to be had: nothing from this element on is sent (halt()), if it is
 * reliable. */
static void fail_element(struct soft_qp *qp, struct send_wqe *wqe, ib_wc_status status)
{
	uint32_t index = sq_index(&qp->sq, wqe);

	if (!qp->service->reliable) {
		if (!wqe->status)
			wqe->status = status;
		return;
	}
	/* a copy of the packet may have been answered; an earlier element may be the first bad one
	 */
	if ((int32_t)(index - qp->conn.req.acked) < 0 ||
	    (qp->conn.req.halted && (int32_t)(index - qp->conn.req.bad) >= 0))
		return;
	halt(qp, index, status);
}

/* The element's payload is not to be had: it is done with, as if it had been sent. */
static void give_up(struct soft_qp *qp, struct send_wqe *wqe, ib_wc_status status)
{
	uint32_t psn = psn_add(wqe->last_psn, 1);

	fail_element(qp, wqe, status);
	if (qp->service->reliable) /* halted */
		return;
	qp->conn.req.send_psn = qp->conn.req.high_psn = qp->conn.req.una = psn;
	qp->conn.req.acked = ++qp->conn.req.next;
}

/* The payload is in a client. False: the packet can not be sent, or not yet; the node is back. */
static bool fetch(struct soft_qp *qp, struct send_wqe *wqe, struct packet *pkt)
{
	enum copy_result result = COPY_NO_MEMORY;

	if (stage_of(qp))
		result = errand_fetch(qp->actor, &qp->conn.stage->request, pkt, &qp->conn.own,
				      wqe->sge, wqe->wr.num_sge, pkt->offset);
	if (result == COPY_DONE)
		return true;
	wqe->refs--;
	pkt->wqe = NULL;
	pkt->next = qp->conn.req.nodes;
	qp->conn.req.nodes = pkt;
	if (result != COPY_LATER)
		give_up(qp, wqe,
			result == COPY_NO_MEMORY ? IB_WC_LOC_QP_OP_ERR : IB_WC_LOC_PROT_ERR);
	return false;
}

/* False: its payload is still to come, or never will. */
static bool send_one(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe)
{
	struct packet *pkt = qp->conn.req.nodes;
	uint32_t psn = qp->conn.req.send_psn;

	qp->conn.req.nodes = pkt->next;
	pkt->wqe = wqe;
	wqe->refs++;
	pkt->psn = psn;
	/* every train of a reliable service asks: its node goes home anyway, and carries the answer
	 */
	pkt->flags = (qp->service->reliable ? PKT_ACK_REQ : 0) |
		     (wqe->wr.flags & IB_SEND_SOLICITED ? PKT_SOLICITED : 0);
	pkt->syndrome = 0;
	psn = psn_add(psn, build(qp, wqe, pkt));
	if (UNLIKELY(wqe->client) && pkt->length && !fetch(qp, wqe, pkt))
		return false;
	if (UNLIKELY(psn_diff(pkt->psn, qp->conn.req.high_psn) < 0))
		port_count(qp->conn.source.port, CNT_RETRANSMITS, pkt->num);
	if (psn_diff(psn, qp->conn.req.high_psn) > 0)
		qp->conn.req.high_psn = psn;
	qp->conn.req.send_psn = psn;
	if (psn_diff(psn, wqe->last_psn) > 0)
		qp->conn.req.next++;
	if (!qp->service->reliable) { /* sent is done, as soon as it is at home */
		qp->conn.req.acked = qp->conn.req.next;
		qp->conn.req.una = psn;
	}
	pkt_send(r, qp, pkt, FLOW_REQUEST);
	return true;
}

bool req_run(struct runner *r, struct soft_qp *qp)
{
	struct send_wqe *wqe;

	/* what could not be sent again need not be: a copy of it was answered */
	if (UNLIKELY(qp->conn.req.halted && qp->service->reliable &&
		     (int32_t)(qp->conn.req.acked - qp->conn.req.bad) > 0))
		qp->conn.req.halted = false;
	for (;;) {
		if (qp->conn.req.waiting || !qp->conn.req.nodes || qp_state(qp) < IB_QPS_RTS)
			break;
		if (UNLIKELY(qp->conn.req.halted &&
			     (int32_t)(qp->conn.req.next - qp->conn.req.bad) >= 0))
			break;
		if (qp->conn.req.next != qp->conn.req.fresh)
			wqe = sq_at(&qp->sq, qp->conn.req.next);
		else
			wqe = start(qp);
		if (!wqe || (lacks_credit(qp, wqe) && !may_probe(qp, wqe)))
			break;
		if (runner_spent(r))
			return true;
		if (UNLIKELY(!source_room(&qp->conn.source, FLOW_REQUEST)) || !send_one(r, qp, wqe))
			break;
	}
	if (!qp->service->reliable) /* what nobody took is at home already */
		comp_retire(r, qp);
	/* what can not be sent completes in its turn */
	if (UNLIKELY(qp->conn.req.halted && qp->conn.req.acked == qp->conn.req.bad))
		comp_fail(r, qp, (ib_wc_status)qp->conn.req.bad_status);
	return false;
}

void req_bad_source(struct soft_qp *qp, struct send_wqe *wqe)
{
	fail_element(qp, wqe, IB_WC_LOC_PROT_ERR);
}

/* Nothing is lost: a client's thread, our own or the peer's, takes its time with what we wait for.
 */
static bool client_at_work(const struct soft_qp *qp)
{
	const struct errand *payload = qp->conn.stage ? qp->conn.stage->request : NULL;

	return qp->conn.req.copying || (payload && !errand_done(payload)) ||
	       atomic_load_explicit(&qp->actor->held, memory_order_relaxed);
}

void req_rewind(struct soft_qp *qp)
{
	qp->conn.req.next = qp->conn.req.acked;
	qp->conn.req.send_psn = qp->conn.req.una;
}

void req_timer(struct runner *r, struct soft_qp *qp)
{
	/* it ran out unseen before it was set again: for an RNR NAK's pause, or for later packets
	 */
	if (atomic_load_explicit(&qp->conn.timer.running, memory_order_relaxed))
		return;
	if (qp->conn.req.waiting) {
		qp->conn.req.waiting = false;
		req_rewind(qp);
		return;
	}
	if (qp->conn.req.una == qp->conn.req.next_psn || qp->conn.req.progress)
		return; /* started anew as long as something is not answered */
	if (UNLIKELY(client_at_work(qp)))
		return;
	if (!qp->conn.req.retry_left) {
		comp_fail(r, qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->conn.req.retry_left--;
	qp->conn.req.rewound = false;
	IB_TRACE("soft", "time-out: qp=%#x psn=%#x retries left %u", qp->ci.qp_num,
		 qp->conn.req.una, qp->conn.req.retry_left);
	req_rewind(qp);
}

void req_reset(struct soft_qp *qp)
{
	struct packet *nodes = qp->conn.req.nodes;

	qp->conn.req = (__typeof__(qp->conn.req)){ .nodes = nodes };
}
