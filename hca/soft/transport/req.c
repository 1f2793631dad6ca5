/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The requester: makes packets of send queue elements in order, and sends packets again from req.una on when the
 * completer or the ACK timer rewinds the requester. The completer (comp.c) handles the answers. Elements from acked
 * to before fresh are started: they have PSNs. next and send_psn name the next packet; next differs from fresh only
 * after a rewind or within a message.
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

/*
 * Checks an element before its first packet is sent, and sets wqe->client. A status is a locally detected error (IBTA
 * 10.7.3.1).
 */
static ib_wc_status check_element(const struct soft_qp *qp, struct send_wqe *wqe)
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

/*
 * Halts the requester at an element that can not be sent. A reliable service still retries and completes the elements
 * before, and then fails the element (req_run()). An unreliable service counts the element as sent; comp_retire()
 * completes the element in its turn with `status`, and stops the send queue.
 */
static void halt_at(struct soft_qp *qp, uint32_t index, ib_wc_status status)
{
	qp->conn.req.halted = true;
	qp->conn.req.halt_index = index;
	if (qp->service->reliable) {
		qp->conn.req.halt_status = (uint8_t)status;
		return;
	}
	sq_at(&qp->sq, index)->status = (uint8_t)status;
	qp->conn.req.fresh++;
	qp->conn.req.next = qp->conn.req.fresh;
	qp->conn.req.acked = qp->conn.req.fresh;
}

/*
 * Starts the element at req.fresh: gives PSNs to the element. NULL: the element may not start now, or has failed its
 * check.
 */
static struct send_wqe *start_element(struct soft_qp *qp)
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
	if (wqe->wr.flags & IB_SEND_FENCE && qp->conn.req.rd_atomic_out)
		return NULL;
	status = check_element(qp, wqe);
	if (UNLIKELY(status)) {
		halt_at(qp, index, status);
		return NULL;
	}
	if (rd_atomic && qp->conn.req.rd_atomic_out >= qp->conn.attr.max_rd_atomic)
		return NULL;
	if (rd_atomic)
		qp->conn.req.rd_atomic_out++;
	wqe->first_psn = qp->conn.req.next_psn;
	qp->conn.req.next_psn = psn_add(wqe->first_psn, req_count_packets(qp, wqe));
	wqe->last_psn = psn_sub(qp->conn.req.next_psn, 1);
	qp->conn.req.fresh++;
	return wqe;
}

/*
 * Reports whether an element needs a receive that the peer has not advertised (IBTA 9.7.7.2). Messages are numbered
 * from 1 in the order of the send queue, as the responder's MSN counts. No element lacks credit before the first ACK,
 * nor does a message whose first packet is acknowledged.
 */
static bool lacks_credit(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	return qp->conn.req.credit_known && wr_ops[wqe->wr.opcode].flags & WR_RECV &&
	       psn_diff(qp->conn.req.credit_limit, psn_add(qp->conn.req.next, 1)) < 0 &&
	       psn_diff(qp->conn.req.una, wqe->first_psn) <= 0;
}

/*
 * Reports whether the requester may send the first packet of an element that lacks credit. All earlier packets must
 * be acknowledged, and the packet travels alone until an ACK or RNR NAK answers the packet. Such a probe finds
 * receives that the peer has posted since the last ACK.
 */
static bool may_probe(const struct soft_qp *qp, const struct send_wqe *wqe)
{
	return qp->conn.req.una == wqe->first_psn && qp->conn.req.send_psn == wqe->first_psn;
}

/* Makes a packet refer to the element's payload. The receiver, or a link by value, copies the payload. */
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

/*
 * Sets the members of a packet that depend on the operation. pkt->psn is set. Returns the number of PSNs that the
 * packet uses.
 */
static uint32_t build_packet(struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt)
{
	uint32_t done = (uint32_t)psn_diff(pkt->psn, wqe->first_psn);
	uint32_t left = req_count_packets(qp, wqe) - done;
	uint32_t num;

	pkt->offset = (uint64_t)done << qp->conn.source.mtu_shift;
	pkt->va = wqe->wr.remote.addr;
	pkt->rkey = wqe->wr.key;
	pkt->ex = wqe->wr.ex;
	pkt->kind = wr_ops[wqe->wr.opcode].kind;
	switch (pkt->kind) {
	case PKT_READ: /* a retry asks only for the data that has not come */
		pkt->va += pkt->offset;
		pkt->dma_len = wqe->wr.length - (uint32_t)pkt->offset;
		break;
	case PKT_COMP_SWAP:
	case PKT_FETCH_ADD:
		pkt->compare_add = wqe->wr.remote.compare_add;
		pkt->swap = wqe->wr.remote.swap;
		break;
	default:
		num = pkt_set_train(qp, pkt, FLOW_REQUEST, !done, left);
		if (num > 1 && lacks_credit(qp, wqe)) {
			num = 1;
			pkt->num = 1;
			pkt->place &= PLACE_FIRST;
		}
		pkt->length = num == left ? wqe->wr.length - (uint32_t)pkt->offset
					  : num << qp->conn.source.mtu_shift;
		pkt->dma_len = wqe->wr.length;
		set_payload(qp, wqe, pkt);
		if (is_ud(qp))
			ud_address_packet(qp, wqe, pkt);
		return num;
	}
	pkt->num = 1;
	pkt->place = PLACE_ONLY;
	pkt->length = 0;
	return left;
}

/* Fails an element whose payload can not be read. A reliable service halts at the element. */
static void fail_element(struct soft_qp *qp, struct send_wqe *wqe, ib_wc_status status)
{
	uint32_t index = sq_index(&qp->sq, wqe);

	if (!qp->service->reliable) {
		if (!wqe->status)
			wqe->status = status;
		return;
	}
	/*
	 * another copy of the packet may have been acknowledged, or the requester may have halted at an earlier
	 * element
	 */
	if ((int32_t)(index - qp->conn.req.acked) < 0 ||
	    (qp->conn.req.halted && (int32_t)(index - qp->conn.req.halt_index) >= 0))
		return;
	halt_at(qp, index, status);
}

/* Fails an element whose payload can not be fetched. An unreliable service counts the element as sent. */
static void abandon_element(struct soft_qp *qp, struct send_wqe *wqe, ib_wc_status status)
{
	uint32_t psn = psn_add(wqe->last_psn, 1);

	fail_element(qp, wqe, status);
	if (qp->service->reliable)
		return;
	qp->conn.req.send_psn = psn;
	qp->conn.req.high_psn = psn;
	qp->conn.req.una = psn;
	qp->conn.req.next++;
	qp->conn.req.acked = qp->conn.req.next;
}

/*
 * Fetches the payload of a packet from a client's memory. False: the fetch is under way or has failed, and the node
 * is free again.
 */
static bool fetch_payload(struct soft_qp *qp, struct send_wqe *wqe, struct packet *pkt)
{
	enum copy_result result = COPY_NO_MEMORY;

	if (stage_of(qp))
		result = errand_fetch(qp->actor, &qp->conn.stage->request_fetch,
				      &qp->conn.stage->request_wait, pkt, &qp->conn.own, wqe->sge,
				      wqe->wr.num_sge, pkt->offset);
	if (result == COPY_DONE)
		return true;
	wqe->refs--;
	pkt->wqe = NULL;
	pkt->next = qp->conn.req.nodes;
	qp->conn.req.nodes = pkt;
	if (result != COPY_LATER)
		abandon_element(qp, wqe,
				result == COPY_NO_MEMORY ? IB_WC_LOC_QP_OP_ERR : IB_WC_LOC_PROT_ERR);
	return false;
}

/* Sends the next train of an element on a free node. False: the payload is being fetched, or can not be fetched. */
static bool send_train(struct runner *r, struct soft_qp *qp, struct send_wqe *wqe)
{
	struct packet *pkt = qp->conn.req.nodes;
	uint32_t psn = qp->conn.req.send_psn;

	qp->conn.req.nodes = pkt->next;
	pkt->wqe = wqe;
	wqe->refs++;
	pkt->psn = psn;
	/*
	 * every train of a reliable service asks for an ACK, because the train's node goes home anyway and carries
	 * the ACK
	 */
	pkt->flags = (qp->service->reliable ? PKT_ACK_REQ : 0) |
		     (wqe->wr.flags & IB_SEND_SOLICITED ? PKT_SOLICITED : 0);
	pkt->syndrome = 0;
	psn = psn_add(psn, build_packet(qp, wqe, pkt));
	if (UNLIKELY(wqe->client) && pkt->length && !fetch_payload(qp, wqe, pkt))
		return false;
	if (UNLIKELY(psn_diff(pkt->psn, qp->conn.req.high_psn) < 0))
		port_count(qp->conn.source.port, CNT_RETRANSMITS, pkt->num);
	if (psn_diff(psn, qp->conn.req.high_psn) > 0)
		qp->conn.req.high_psn = psn;
	qp->conn.req.send_psn = psn;
	if (psn_diff(psn, wqe->last_psn) > 0)
		qp->conn.req.next++;
	if (!qp->service->reliable) { /* a packet that has been sent counts as acknowledged */
		qp->conn.req.acked = qp->conn.req.next;
		qp->conn.req.una = psn;
	}
	pkt_send(r, qp, pkt, FLOW_REQUEST);
	return true;
}

bool req_run(struct runner *r, struct soft_qp *qp)
{
	struct send_wqe *wqe;
	bool more = false;

	/* the element that could not be sent again has been acknowledged: an earlier copy of its packets arrived */
	if (UNLIKELY(qp->conn.req.halted && qp->service->reliable &&
		     (int32_t)(qp->conn.req.acked - qp->conn.req.halt_index) > 0))
		qp->conn.req.halted = false;
	for (;;) {
		if (qp->conn.req.rnr_waiting || !qp->conn.req.nodes || qp_state(qp) < IB_QPS_RTS)
			break;
		if (UNLIKELY(qp->conn.req.halted &&
			     (int32_t)(qp->conn.req.next - qp->conn.req.halt_index) >= 0))
			break;
		if (qp->conn.req.next != qp->conn.req.fresh)
			wqe = sq_at(&qp->sq, qp->conn.req.next);
		else
			wqe = start_element(qp);
		if (!wqe || (lacks_credit(qp, wqe) && !may_probe(qp, wqe)))
			break;
		if (runner_spent(r))
			return true;
		if (is_ud(qp)) /* each datagram has its own */
			qp->conn.source.sl = wqe->wr.path.sl;
		if (UNLIKELY(!source_room(&qp->conn.source, FLOW_REQUEST)) || !send_train(r, qp, wqe))
			break;
		if (UNLIKELY(is_ud(qp) && wqe->wr.key == IB_QPN_MULTICAST)) {
			/* the members run before the next datagram, so that few copies exist at
			 * once */
			more = true;
			break;
		}
	}
	if (!qp->service->reliable) /* a packet that the link did not deliver is at home already */
		comp_retire(r, qp);
	/* the element that can not be sent fails in its turn: after all elements before */
	if (UNLIKELY(qp->conn.req.halted && qp->conn.req.acked == qp->conn.req.halt_index))
		comp_fail(r, qp, (ib_wc_status)qp->conn.req.halt_status);
	return more;
}

void req_fail_source(struct soft_qp *qp, struct send_wqe *wqe)
{
	fail_element(qp, wqe, IB_WC_LOC_PROT_ERR);
}

/*
 * Reports whether the requester waits for a client's thread: a thread of our client that copies a response or fetches
 * the next payload, or a thread of the peer's client that copies a request of ours. No packet is lost then.
 */
static bool awaits_client(const struct soft_qp *qp)
{
	const struct errand *payload = qp->conn.stage ? qp->conn.stage->request_fetch : NULL;

	return qp->conn.req.copying || (payload && !errand_done(payload)) ||
	       (qp->conn.stage && ledger_waits(&qp->conn.stage->request_wait)) ||
	       atomic_load_explicit(&qp->actor->held, memory_order_relaxed);
}

void req_rewind(struct soft_qp *qp)
{
	qp->conn.req.next = qp->conn.req.acked;
	qp->conn.req.send_psn = qp->conn.req.una;
}

void req_time_out(struct runner *r, struct soft_qp *qp)
{
	/* the signal of an earlier time-out: the timer has been started again since */
	if (atomic_load_explicit(&qp->conn.timer.running, memory_order_relaxed))
		return;
	if (qp->conn.req.rnr_waiting) {
		qp->conn.req.rnr_waiting = false;
		req_rewind(qp);
		return;
	}
	if (qp->conn.req.una == qp->conn.req.next_psn || qp->conn.req.progress)
		return; /* start_ack_timer() starts the timer again while a packet is not acknowledged */
	if (UNLIKELY(awaits_client(qp)))
		return;
	if (!qp->conn.req.retry_left) {
		comp_fail(r, qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->conn.req.retry_left--;
	qp->conn.req.implied_retry = false;
	IB_TRACE("soft", "time-out: qp=%#x psn=%#x retries left %u", qp->ci.qp_num,
		 qp->conn.req.una, qp->conn.req.retry_left);
	req_rewind(qp);
}

void req_reset(struct soft_qp *qp)
{
	struct packet *nodes = qp->conn.req.nodes;

	qp->conn.req = (__typeof__(qp->conn.req)){ .nodes = nodes };
}
