/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The responder of reliable connections: executes the peer's requests in the order of their PSNs
 * and answers the requests. The responder executes one packet (train) after the other. What it
 * shares with the responders of unreliable services is in resp.c.
 */
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"
#include "hca/soft/transport/stage.h"

/* ----------------------------------------------------------------- answers */

/* The syndrome of an ACK, with the number of posted receives as end-to-end credits (IBTA 9.7.7.2).
 */
static uint8_t ack_syndrome(struct soft_qp *qp)
{
	uint32_t receives = rq_count(&qp->rq);

	if (UNLIKELY(qp->shared) && receives < RING_FILL && ring_fill(qp, RING_FILL))
		receives = rq_count(&qp->rq);
	return AETH_ACK | credit_code(receives);
}

/*
 * Takes a node for the response to a request. Consumes the request. The request's node serves if it
 * belongs to another queue pair: the response then takes the node home. Otherwise the request is
 * released, and the node is one of our response nodes. request is NULL if its node is in use
 * already. Returns NULL if no response node is free: the response is lost, and the requester
 * retries its request.
 */
static struct packet *take_answer_node(struct runner *r, struct soft_qp *qp, struct packet *request)
{
	struct packet *pkt;

	if (request && request->home && request->home != qp->actor)
		return request;
	pkt = qp->conn.resp.nodes;
	if (pkt)
		qp->conn.resp.nodes = pkt->next;
	if (request)
		pkt_release(r, qp, request);
	return pkt;
}

/* Sends an Acknowledge packet, whose syndrome is an ACK or a NAK. Consumes the request. */
static void send_ack(struct runner *r, struct soft_qp *qp, struct packet *request, uint8_t syndrome,
		     uint32_t psn)
{
	struct packet *pkt = take_answer_node(r, qp, request);

	if (!pkt)
		return;
	pkt->kind = PKT_ACK;
	pkt->place = PLACE_ONLY;
	/* PKT_FETCHED stays: pkt_take_home() frees the request's payload, which an errand has
	 * fetched */
	pkt->flags &= PKT_FETCHED;
	pkt->syndrome = syndrome;
	pkt->psn = psn;
	pkt->num = 1;
	pkt->length = 0;
	pkt->ex = qp->conn.resp.msn;
	pkt_send(r, qp, pkt, FLOW_RESPONSE);
}

/* Acknowledges a request if the request asks for an ACK. Consumes the request. */
static void acknowledge(struct runner *r, struct soft_qp *qp, struct packet *request, uint32_t psn)
{
	if (request->flags & PKT_ACK_REQ)
		send_ack(r, qp, request, ack_syndrome(qp), psn);
	else
		pkt_release(r, qp, request);
}

/*
 * Ends the connection: the requester gets the NAK, and our queue pair moves to Error. Consumes the
 * request (NULL: none).
 */
static void refuse(struct runner *r, struct soft_qp *qp, struct packet *request, uint32_t psn,
		   uint8_t nak, int event)
{
	IB_TRACE("soft", "NAK %#x: qp=%#x psn=%#x", nak, qp->ci.qp_num, psn);
	send_ack(r, qp, request, nak, psn);
	qp_error(r, qp, event);
}

/*
 * Consumes the request. The requester sends the packet of that PSN again after the RNR pause, and
 * all packets that follow.
 */
static void send_rnr_nak(struct runner *r, struct soft_qp *qp, struct packet *request, uint32_t psn)
{
	port_count(qp->conn.source.port, CNT_RNR_NAKS, 1);
	qp->conn.resp.nak_sent = true;
	send_ack(r, qp, request, AETH_RNR_NAK | qp->conn.attr.min_rnr_timer, psn);
}

/*
 * Refuses a request whose rkey or range permits no access. If the request is the last packet of a
 * write with immediate, and a receive is posted, the receive reports the error; otherwise an event
 * does (IBTA 10.10.2.2, 11.6.2).
 */
static void refuse_access(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int event = IB_EVENT_QP_ACCESS_ERR;

	if (pkt->kind == PKT_WRITE_IMM && pkt->num == 1 && pkt->place & PLACE_LAST &&
	    resp_take_recv(qp)) {
		resp_fail_recv(r, qp, IB_WC_LOC_ACCESS_ERR);
		event = NO_EVENT;
	}
	refuse(r, qp, pkt, pkt->psn, NAK_REMOTE_ACCESS, event);
}

/* ------------------------------------------------------------ send and write */

/*
 * Checks a train's length (IBTA 9.7.4.1.6): each packet but a message's last carries exactly the
 * path MTU, and the last packet carries at least one byte, unless the message is one empty packet.
 */
static bool has_valid_length(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t full = (uint64_t)pkt->num << qp->conn.source.mtu_shift;

	if (!(pkt->place & PLACE_LAST))
		return pkt->length == full;
	if (!pkt->length)
		return pkt->num == 1 && pkt->place & PLACE_FIRST;
	return pkt->length <= full && pkt->length > full - (1ull << qp->conn.source.mtu_shift);
}

/* Checks that a packet begins a message while no message is in progress, or continues the message
 * in progress. */
static bool fits_message(const struct soft_qp *qp, const struct packet *pkt)
{
	if (pkt->place & PLACE_FIRST)
		return qp->conn.resp.kind == PKT_NONE;
	/* a packet from a wire has immediate data in the message's last packet only, so the kinds
	 * may differ */
	return qp->conn.resp.kind != PKT_NONE && is_send(qp->conn.resp.kind) == is_send(pkt->kind);
}

/*
 * Ends the execution of a train of a SEND or write whose payload copy has ended with `result`.
 * Answers and consumes the packet. lacks_receive: the last packet of a write with immediate has
 * been cut off the train, because no receive is posted for that packet; it gets an RNR NAK.
 */
static void end_message_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt,
			     enum copy_result result, bool lacks_receive)
{
	uint32_t next_psn = psn_add(pkt->psn, pkt->num);

	if (UNLIKELY(result == COPY_BAD_SOURCE || result == COPY_NO_MEMORY)) {
		/*
		 * The packet counts as lost. If the sender has deregistered the payload's memory,
		 * PKT_BAD_SOURCE takes that fact home to the sender.
		 */
		if (pkt->place & PLACE_FIRST)
			qp->conn.resp.kind = PKT_NONE;
		if (result == COPY_BAD_SOURCE)
			pkt->flags |= PKT_BAD_SOURCE;
		pkt_release(r, qp, pkt);
		return;
	}
	if (UNLIKELY(result == COPY_BAD_TARGET)) {
		if (is_send(pkt->kind)) {
			resp_fail_recv(r, qp, IB_WC_LOC_PROT_ERR);
			refuse(r, qp, pkt, pkt->psn, NAK_REMOTE_OPERATION, NO_EVENT);
		} else {
			refuse_access(r, qp, pkt);
		}
		return;
	}
	qp->conn.resp.done += pkt->length;
	qp->conn.resp.epsn = next_psn;
	if (pkt->place & PLACE_LAST)
		resp_finish_message(r, qp, pkt);
	if (lacks_receive)
		send_rnr_nak(r, qp, pkt, next_psn);
	else
		acknowledge(r, qp, pkt, psn_sub(next_psn, 1));
}

/*
 * Takes what a train needs before its payload is copied: a SEND's first packet and the last packet
 * of a write with immediate need a receive, and a write's first packet needs access to the whole
 * range. If the train ends with the last packet of a write with immediate and no receive is posted,
 * that packet alone is cut off the train, and *lacks_receive is set. False: the request was
 * refused, and the packet is consumed.
 */
static bool prepare_target(struct runner *r, struct soft_qp *qp, struct packet *pkt,
			   bool *lacks_receive)
{
	const bool first = pkt->place & PLACE_FIRST;

	if (first && is_send(pkt->kind) && !resp_take_recv(qp)) {
		send_rnr_nak(r, qp, pkt, pkt->psn);
		return false;
	}
	if (first && !is_send(pkt->kind) &&
	    !resp_may_access(qp, pkt, IB_ACCESS_REMOTE_WRITE, pkt->dma_len)) {
		refuse_access(r, qp, pkt);
		return false;
	}
	if (pkt->kind != PKT_WRITE_IMM || !(pkt->place & PLACE_LAST) || resp_take_recv(qp))
		return true;
	if (pkt->num == 1) {
		send_rnr_nak(r, qp, pkt, pkt->psn);
		return false;
	}
	*lacks_receive = true;
	pkt->num--;
	pkt->length = pkt->num << qp->conn.source.mtu_shift;
	pkt->place &= PLACE_FIRST;
	return true;
}

/*
 * Checks that a train's payload fits the rest of its target: the receive of a SEND, the range of a
 * write, which the last packet of the write fills exactly. False: the request was refused, and the
 * packet is consumed.
 */
static bool check_target(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	const struct responder *resp = &qp->conn.resp;
	uint64_t left;

	if (is_send(pkt->kind)) {
		if (pkt->length <= resp->recv->wr.length - resp->done)
			return true;
		resp_fail_recv(r, qp, IB_WC_LOC_LEN_ERR);
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, NO_EVENT);
		return false;
	}
	left = resp->dma_len - resp->done;
	if (pkt->place & PLACE_LAST ? pkt->length == left : pkt->length <= left)
		return true;
	refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
	return false;
}

/* Executes a train of a SEND or write in sequence. Consumes the packet. */
static void execute_message(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	struct responder *resp = &qp->conn.resp;
	enum copy_result result = COPY_DONE;
	bool lacks_receive = false;

	if (!fits_message(qp, pkt) || !has_valid_length(qp, pkt) ||
	    (!is_send(pkt->kind) && pkt->dma_len > SOFT_MAX_MSG)) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (!prepare_target(r, qp, pkt, &lacks_receive))
		return;
	if (pkt->place & PLACE_FIRST) {
		resp->kind = pkt->kind;
		resp->done = 0;
		resp->va = pkt->va;
		resp->rkey = pkt->rkey;
		resp->dma_len = pkt->dma_len;
	}
	if (!check_target(r, qp, pkt))
		return;
	if (pkt->length)
		result = resp_copy_payload(r, qp, pkt);
	if (UNLIKELY(result == COPY_LATER)) {
		resp_suspend(qp, pkt);
		qp->conn.stage->lacks_receive = lacks_receive;
		return;
	}
	end_message_copy(r, qp, pkt, result, lacks_receive);
}

/* ---------------------------------------------------------- read and atomic */

/* Records a read or atomic of num PSNs in the oldest responder resource. */
static struct resource *record_resource(struct soft_qp *qp, const struct packet *pkt, uint32_t num)
{
	struct resource *res = &qp->conn.resp.resources[qp->conn.resp.next_resource];

	qp->conn.resp.next_resource =
		(uint8_t)((qp->conn.resp.next_resource + 1u) % qp->conn.resp.num_resources);
	*res = (struct resource){
		.va = pkt->va,
		.rkey = pkt->rkey,
		.dma_len = pkt->dma_len,
		.first_psn = pkt->psn,
		.last_psn = psn_add(pkt->psn, num - 1),
		.kind = pkt->kind,
	};
	return res;
}

/*
 * Finds the responder resource of an executed read or atomic by any of its PSNs. NULL: no resource
 * has the PSN. The search begins at the newest resource, because an old resource's PSNs may be in
 * use again.
 */
static struct resource *find_resource(const struct soft_qp *qp, uint32_t psn)
{
	const uint32_t num = qp->conn.resp.num_resources;
	struct resource *res;
	uint32_t i;

	for (i = 1; i <= num; i++) {
		res = &qp->conn.resp.resources[(qp->conn.resp.next_resource + num - i) % num];
		if (res->kind != PKT_NONE && psn_diff(psn, res->first_psn) >= 0 &&
		    psn_diff(res->last_psn, psn) >= 0)
			return res;
	}
	return NULL;
}

/*
 * Fetches the payload of a read response from a client's memory, into the buffer of an errand.
 * False: the errand is under way or has failed; the node is free again, and the next call takes a
 * node and the errand's buffer.
 */
static bool fetch_response_payload(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	enum copy_result result = COPY_NO_MEMORY;

	if (stage_of(qp))
		result = errand_fetch(qp->actor, &qp->conn.stage->response_fetch,
				      &qp->conn.stage->response_wait, pkt, &qp->conn.lent,
				      &pkt->lent, 1, 0);
	if (result == COPY_DONE)
		return true;
	pkt->next = qp->conn.resp.nodes;
	qp->conn.resp.nodes = pkt;
	if (result != COPY_LATER)
		qp->conn.resp.reading.num =
			0; /* no more responses; without memory for an errand they count as lost */
	if (result == COPY_BAD_SOURCE)
		refuse(r, qp, NULL, pkt->psn, NAK_REMOTE_ACCESS, IB_EVENT_QP_ACCESS_ERR);
	return false;
}

/*
 * Sends the next train of the read in progress on the node pkt. False: the read has to wait, or has
 * ended in an error.
 */
static bool send_read_train(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	struct reading *rd = &qp->conn.resp.reading;
	const uint32_t psn = rd->psn;
	uint32_t num;

	pkt->kind = PKT_READ_RESP;
	pkt->psn = rd->psn;
	num = pkt_set_train(qp, pkt, FLOW_RESPONSE, rd->first, rd->num);
	pkt->flags = 0;
	pkt->syndrome = ack_syndrome(qp);
	pkt->ex = rd->msn;
	pkt->length = num == rd->num ? rd->left : num << qp->conn.source.mtu_shift;
	pkt->lent = (struct ib_sge){ rd->va, pkt->length, rd->rkey };
	pkt->view = &qp->conn.lent;
	pkt->sge = &pkt->lent;
	pkt->num_sge = 1;
	pkt->offset = 0;
	if (UNLIKELY(rd->client) && !fetch_response_payload(r, qp, pkt))
		return false;
	rd->first = false;
	rd->psn = psn_add(rd->psn, num);
	rd->num -= num;
	rd->va += pkt->length;
	rd->left -= pkt->length;
	pkt_send(r, qp, pkt, FLOW_RESPONSE);
	if (LIKELY(!qp->conn.resp.source_gone))
		return true;
	/* a link by value has copied the payload during pkt_send(), and found the memory
	 * deregistered */
	qp->conn.resp.source_gone = false;
	rd->num = 0;
	refuse(r, qp, NULL, psn, NAK_REMOTE_ACCESS, IB_EVENT_QP_ACCESS_ERR);
	return false;
}

bool rc_continue_reading(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while (qp->conn.resp.reading.num) {
		if (runner_spent(r))
			return false;
		pkt = qp->conn.resp.nodes;
		if (!pkt || UNLIKELY(!source_room(&qp->conn.source, FLOW_RESPONSE)))
			return false;
		qp->conn.resp.nodes = pkt->next;
		if (!send_read_train(r, qp, pkt))
			return !qp->conn.resp.reading.num;
	}
	return true;
}

/* Begins to send the responses of a read of num packets. Consumes the request. */
static void start_reading(struct runner *r, struct soft_qp *qp, struct packet *pkt, uint32_t num)
{
	qp->conn.resp.reading = (struct reading){
		.va = pkt->va,
		.left = pkt->dma_len,
		.psn = pkt->psn,
		.num = num,
		.rkey = pkt->rkey,
		.msn = qp->conn.resp.msn,
		.first = true,
		.client = pkt->dma_len && qp->conn.resp.client_memory,
	};
	/*
	 * Memory of a client: the request waits until all responses have been sent, on nodes of
	 * this queue pair. Without memory for a stage the responses count as lost.
	 */
	if (UNLIKELY(qp->conn.resp.reading.client)) {
		if (stage_of(qp)) {
			resp_suspend(qp, pkt);
		} else {
			qp->conn.resp.reading.num = 0;
			pkt_release(r, qp, pkt);
		}
		return;
	}
	if (UNLIKELY(!source_room(&qp->conn.source, FLOW_RESPONSE))) {
		/* rc_continue_reading() sends the responses when the link has room */
		pkt_release(r, qp, pkt);
		return;
	}
	/*
	 * The first train takes the request's node home. If no node is free, rc_continue_reading() sends
	 * the train later.
	 */
	pkt = take_answer_node(r, qp, pkt);
	if (pkt)
		send_read_train(r, qp, pkt);
}

static uint32_t count_read_packets(const struct soft_qp *qp, uint32_t length)
{
	return length ? (length + (1u << qp->conn.source.mtu_shift) - 1) >>
				qp->conn.source.mtu_shift
		      : 1;
}

static void execute_read(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	uint32_t num = count_read_packets(qp, pkt->dma_len);

	if (!qp->conn.resp.num_resources || pkt->dma_len > SOFT_MAX_MSG) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (!resp_may_access(qp, pkt, IB_ACCESS_REMOTE_READ, pkt->dma_len)) {
		refuse_access(r, qp, pkt);
		return;
	}
	record_resource(qp, pkt, num);
	qp->conn.resp.epsn = psn_add(pkt->psn, num);
	qp->conn.resp.msn = psn_add(qp->conn.resp.msn, 1);
	start_reading(r, qp, pkt, num);
}

/* Sends the ACK of an atomic. Consumes the request. */
static void answer_atomic(struct runner *r, struct soft_qp *qp, struct packet *pkt, uint32_t psn,
			  uint64_t orig)
{
	pkt = take_answer_node(r, qp, pkt);
	if (!pkt)
		return;
	pkt->kind = PKT_ATOMIC_ACK;
	pkt->place = PLACE_ONLY;
	pkt->flags = 0;
	pkt->syndrome = ack_syndrome(qp);
	pkt->psn = psn;
	pkt->num = 1;
	pkt->length = 0;
	pkt->ex = qp->conn.resp.msn;
	pkt->compare_add = orig;
	pkt_send(r, qp, pkt, FLOW_RESPONSE);
}

/* Starts an errand that executes an atomic on a client's memory: atomic with respect to queue pairs
 * only. */
static enum copy_result start_client_atomic(struct soft_qp *qp, const struct packet *pkt,
					    struct ci_client *client, const char *mem)
{
	if (!stage_of(qp))
		return COPY_NO_MEMORY;
	return payload_atomic_by_errand(qp->actor, &qp->conn.stage->request_copy, pkt, client, mem);
}

/* Records an atomic that was executed, and answers the request. */
static void finish_atomic(struct runner *r, struct soft_qp *qp, struct packet *pkt, uint64_t orig)
{
	record_resource(qp, pkt, 1)->orig = orig;
	qp->conn.resp.epsn = psn_add(pkt->psn, 1);
	qp->conn.resp.msn = psn_add(qp->conn.resp.msn, 1);
	answer_atomic(r, qp, pkt, pkt->psn, orig);
}

static void execute_atomic(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	const struct mem_view view = { qp->conn.own.memory, qp->ci.pd, IB_ACCESS_REMOTE_ATOMIC };
	enum copy_result result = COPY_DONE;
	const struct mr_slot *slot;
	uint64_t orig = 0;
	char *mem;

	if (!qp->conn.resp.num_resources || !qp->atomics || pkt->va % sizeof(uint64_t)) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	slot = qp->conn.attr.qp_access_flags & IB_ACCESS_REMOTE_ATOMIC
		       ? mr_find(&view, pkt->rkey, pkt->va, sizeof(uint64_t), &mem)
		       : NULL;
	/* an iova may be aligned where its memory is not */
	if (slot && (uintptr_t)mem % sizeof(uint64_t))
		slot = NULL;
	if (!slot) {
		refuse_access(r, qp, pkt);
		return;
	}
	if (LIKELY(!slot->client))
		orig = payload_execute_atomic(pkt, (uint64_t *)mem);
	else
		result = start_client_atomic(qp, pkt, slot->client, mem);
	if (LIKELY(result == COPY_DONE))
		finish_atomic(r, qp, pkt, orig);
	else if (result == COPY_LATER)
		resp_suspend(qp, pkt);
	else
		pkt_release(r, qp, pkt); /* no memory: the packet counts as lost */
}

void rc_end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result)
{
	if (pkt->kind != PKT_COMP_SWAP && pkt->kind != PKT_FETCH_ADD)
		end_message_copy(r, qp, pkt, result, qp->conn.stage->lacks_receive);
	else if (result == COPY_DONE)
		finish_atomic(r, qp, pkt, qp->conn.stage->atomic_orig);
	else
		refuse_access(r, qp, pkt);
}

/* -------------------------------------------------------------- order of PSNs */

/* Repeats the answer of a request that was executed before, without executing the request
 * (IBTA 9.7.5.1.2). */
static void repeat_answer(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	struct resource *res;
	uint64_t skipped;

	if (pkt->kind != PKT_READ && pkt->kind != PKT_COMP_SWAP && pkt->kind != PKT_FETCH_ADD) {
		acknowledge(r, qp, pkt, psn_sub(qp->conn.resp.epsn, 1));
		return;
	}
	res = find_resource(qp, pkt->psn);
	if (!res || res->kind != pkt->kind)
		goto drop;
	if (pkt->kind != PKT_READ) {
		if (pkt->psn != res->first_psn)
			goto drop;
		answer_atomic(r, qp, pkt, pkt->psn, res->orig);
		return;
	}
	/* a duplicate read asks for the original range, or for the end of that range */
	skipped = (uint64_t)(uint32_t)psn_diff(pkt->psn, res->first_psn)
		  << qp->conn.source.mtu_shift;
	if (pkt->rkey != res->rkey || pkt->va - res->va != skipped ||
	    pkt->dma_len != res->dma_len - skipped)
		goto drop;
	if (!resp_may_access(qp, pkt, IB_ACCESS_REMOTE_READ, pkt->dma_len)) {
		/*
		 * A requester that still waits for this read gets the NAK. The duplicate may as
		 * well be a late copy of a read that is complete, so the connection stays.
		 */
		send_ack(r, qp, pkt, NAK_REMOTE_ACCESS, pkt->psn);
		return;
	}
	start_reading(r, qp, pkt, count_read_packets(qp, pkt->dma_len));
	return;

drop:
	resp_trace_drop(qp, pkt, "it repeats no request that the responder has recorded");
	port_count(qp->conn.source.port, CNT_RCV_DROPPED, 1);
	pkt_release(r, qp, pkt);
}

/* Removes from a train its first num packets, which were executed before. */
static void trim_executed(struct soft_qp *qp, struct packet *pkt, uint32_t num)
{
	pkt->psn = psn_add(pkt->psn, num);
	pkt->num -= num;
	pkt->offset += (uint64_t)num << qp->conn.source.mtu_shift;
	pkt->length -= num << qp->conn.source.mtu_shift;
	pkt->place &= PLACE_LAST;
}

/* Sends the NAK whose syndrome fault injection has put into the request. The request is not
 * executed. */
static void send_forced_nak(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	uint8_t syndrome = pkt->syndrome;
	int event = NO_EVENT;

	if ((syndrome & AETH_KIND) == AETH_RNR_NAK || syndrome == NAK_PSN_SEQ) {
		port_count(qp->conn.source.port,
			   syndrome == NAK_PSN_SEQ ? CNT_SEQ_NAKS : CNT_RNR_NAKS, 1);
		qp->conn.resp.nak_sent = true;
		send_ack(r, qp, pkt, syndrome, pkt->psn);
		return;
	}
	if (syndrome == NAK_INVALID_REQUEST)
		event = IB_EVENT_QP_REQ_ERR;
	else if (syndrome == NAK_REMOTE_ACCESS)
		event = IB_EVENT_QP_ACCESS_ERR;
	refuse(r, qp, pkt, pkt->psn, syndrome, event);
}

/* Executes a request whose PSN is the expected PSN. */
static void execute_new(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	if (UNLIKELY(pkt->syndrome)) {
		send_forced_nak(r, qp, pkt);
		return;
	}
	qp->conn.resp.nak_sent = false;
	resp_note_arrival(qp);
	switch (pkt->kind) {
	case PKT_SEND_INV: /* this HCA does not offer SEND with invalidate */
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	case PKT_READ:
	case PKT_COMP_SWAP:
	case PKT_FETCH_ADD:
		if (qp->conn.resp.kind != PKT_NONE) {
			refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
			return;
		}
		if (pkt->kind == PKT_READ)
			execute_read(r, qp, pkt);
		else
			execute_atomic(r, qp, pkt);
		return;
	default:
		execute_message(r, qp, pkt);
	}
}

void rc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int32_t behind; /* PSNs from the packet to the expected PSN; negative: packets were lost
			   before this packet */

	if (UNLIKELY(!resp_check_packet(qp, pkt))) {
		port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		pkt_release(r, qp, pkt);
		return;
	}
	pkt_count_received(qp, pkt);
	behind = psn_diff(qp->conn.resp.epsn, pkt->psn);
	if (LIKELY(!behind)) {
		execute_new(r, qp, pkt);
	} else if (behind < 0) {
		if (qp->conn.resp.nak_sent) {
			resp_trace_drop(qp, pkt, "its PSN is ahead, and the NAK has been sent");
			pkt_release(r, qp, pkt);
			return;
		}
		qp->conn.resp.nak_sent = true;
		port_count(qp->conn.source.port, CNT_SEQ_NAKS, 1);
		send_ack(r, qp, pkt, NAK_PSN_SEQ, qp->conn.resp.epsn);
	} else if ((uint32_t)behind < pkt->num) {
		trim_executed(qp, pkt, (uint32_t)behind);
		execute_new(r, qp, pkt);
	} else {
		repeat_answer(r, qp, pkt);
	}
}
