/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The responder: executes the peer's requests in the order of their PSNs, and answers. It works on
 * one packet (train) after the other; while responses of a read are on their way out, later
 * requests wait in the backlog. What unreliable services do with a request is in uc.c and ud.c.
 */
#include <string.h>

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

/* An ACK says how many receives are there, so that the peer need not find out (IBTA 9.7.7.2). */
static uint8_t ack_syndrome(struct soft_qp *qp)
{
	uint32_t receives = rq_count(&qp->rq);

	if (UNLIKELY(qp->shared) && receives < RING_FILL && ring_fill(qp, RING_FILL))
		receives = rq_count(&qp->rq);
	return AETH_ACK | credit_code(receives);
}

/*
 * A node for a response. If the request's node is another queue pair's, the response uses it and so goes
 * home with it. Otherwise the request is released and one of our response nodes is taken. NULL: none is
 * free; the requester will send its request again.
 */
static struct packet *answer_node(struct runner *r, struct soft_qp *qp, struct packet *request)
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

static void answer(struct runner *r, struct soft_qp *qp, struct packet *request, uint8_t syndrome,
		   uint32_t psn)
{
	struct packet *pkt = answer_node(r, qp, request);

	if (!pkt)
		return;
	pkt->kind = PKT_ACK;
	pkt->place = PLACE_ONLY;
	pkt->flags &= PKT_FETCHED; /* what it brought is freed at home */
	pkt->syndrome = syndrome;
	pkt->psn = psn;
	pkt->num = 1;
	pkt->length = 0;
	pkt->ex = qp->conn.resp.msn;
	pkt_send(r, qp, pkt, FLOW_RESPONSE);
}

static void acknowledge(struct runner *r, struct soft_qp *qp, struct packet *request, uint32_t psn)
{
	if (request->flags & PKT_ACK_REQ)
		answer(r, qp, request, ack_syndrome(qp), psn);
	else
		pkt_release(r, qp, request);
}

/* An error that ends the connection: the requester is told, and so is our own side. */
static void refuse(struct runner *r, struct soft_qp *qp, struct packet *request, uint32_t psn,
		   uint8_t nak, int event)
{
	IB_TRACE("soft", "NAK %#x: qp=%#x psn=%#x", nak, qp->ci.qp_num, psn);
	answer(r, qp, request, nak, psn);
	qp_error(r, qp, event);
}

static void rnr_nak(struct runner *r, struct soft_qp *qp, struct packet *request, uint32_t psn)
{
	port_count(qp->conn.source.port, CNT_RNR_NAKS, 1);
	qp->conn.resp.nak_sent =
		true; /* the requester sends this request and all later ones again */
	answer(r, qp, request, AETH_RNR_NAK | qp->conn.attr.min_rnr_timer, psn);
}

void resp_fail_recv(struct runner *r, struct soft_qp *qp, ib_wc_status status)
{
	struct ib_wc wc = { .status = status, .opcode = IB_WC_RECV };

	qp_complete_recv(r, qp, &wc);
}

/* The memory that a request names is not ours to give. A write whose receive is there by now fails
 * that; else it is an event (IBTA 10.10.2.2, 11.6.2). */
static void refuse_access(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int event = IB_EVENT_QP_ACCESS_ERR;

	if (pkt->kind == PKT_WRITE_IMM && pkt->num == 1 && pkt->place & PLACE_LAST &&
	    resp_take_recv(qp)) {
		resp_fail_recv(r, qp, IB_WC_LOC_ACCESS_ERR);
		event = -1;
	}
	refuse(r, qp, pkt, pkt->psn, NAK_REMOTE_ACCESS, event);
}

/* ------------------------------------------------------------ send and write */

/* Suspends the requester's ACK timer while a client copy for its request is under way
 * (client_at_work()). */
static void hold(const struct packet *pkt)
{
	if (pkt->home)
		atomic_fetch_add_explicit(&pkt->home->held, 1, memory_order_relaxed);
}

void resp_unhold(const struct packet *pkt)
{
	if (pkt->home)
		atomic_fetch_sub_explicit(&pkt->home->held, 1, memory_order_relaxed);
}

void resp_wait(struct soft_qp *qp, struct packet *pkt, bool short_receive)
{
	hold(pkt);
	qp->conn.resp.copying = true;
	qp->conn.stage->short_receive = short_receive;
	pkt->next = qp->conn.resp.backlog;
	qp->conn.resp.backlog = pkt;
	if (!pkt->next)
		qp->conn.resp.backlog_tail = &pkt->next;
}

enum copy_result resp_payload(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	const struct responder *resp = &qp->conn.resp;
	const struct ib_sge range = { resp->va + resp->done, pkt->length, resp->rkey };
	struct place to = { .view = { qp->conn.own.memory, qp->ci.pd, IB_ACCESS_REMOTE_WRITE },
			    .sge = &range,
			    .num = 1 };
	enum copy_result result;

	if (is_send(pkt->kind)) {
		to.view.access = IB_ACCESS_LOCAL_WRITE;
		to.sge = resp->recv->sge;
		to.num = resp->recv->wr.num_sge;
		to.skip = resp->done;
	}
	result = stage_move_request(qp, pkt, NULL, &to);
	if (LIKELY(result != COPY_BAD_SOURCE))
		r->bytes -= pkt->length;
	if (result == COPY_DONE)
		IB_TRACE("soft", "data transferred: qp=%#x %s %u bytes", qp->ci.qp_num,
			 is_send(pkt->kind) ? "send" : "write", pkt->length);
	return result;
}

/* Is the memory that a request names ours to give? Without data no key is looked at
 * (IBTA 9.7.4.1.4). */
bool resp_may_access(struct soft_qp *qp, const struct packet *pkt, uint32_t access, uint32_t length)
{
	const struct mem_view view = { qp->conn.own.memory, qp->ci.pd, access };
	struct mr_slot *slot;
	char *mem;

	if (!(qp->conn.attr.qp_access_flags & access))
		return false;
	if (!length)
		return true;
	slot = mr_get(&view, pkt->rkey, pkt->va, length, &mem);
	if (!slot)
		return false;
	qp->conn.resp.client = slot->client;
	mr_put(slot);
	return true;
}

/* A message's last packet has at least a byte, unless it is the only one; those before are full
 * (IBTA 9.7.4.1.6). */
static bool right_length(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t full = (uint64_t)pkt->num << qp->conn.source.mtu_shift;

	if (!(pkt->place & PLACE_LAST))
		return pkt->length == full;
	if (!pkt->length)
		return pkt->num == 1 && pkt->place & PLACE_FIRST;
	return pkt->length <= full && pkt->length > full - (1ull << qp->conn.source.mtu_shift);
}

/* Do the packet's place and kind fit the message in progress? */
static bool in_sequence(const struct soft_qp *qp, const struct packet *pkt)
{
	if (pkt->place & PLACE_FIRST)
		return qp->conn.resp.kind == PKT_NONE;
	/* off a wire only the last packet says that there is immediate data */
	return qp->conn.resp.kind != PKT_NONE && is_send(qp->conn.resp.kind) == is_send(pkt->kind);
}

void resp_finish(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	struct ib_wc wc = { .opcode = IB_WC_RECV, .byte_len = (uint32_t)qp->conn.resp.done };

	qp->conn.resp.kind = PKT_NONE;
	qp->conn.resp.msn = psn_add(qp->conn.resp.msn, 1);
	if (!takes_recv(pkt))
		return;
	if (pkt->kind == PKT_WRITE_IMM)
		wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	if (pkt->kind != PKT_SEND) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.imm_data = pkt->ex;
	}
	if (pkt->flags & PKT_SOLICITED)
		wc.wc_flags |= IB_WC_SOLICITED;
	qp_complete_recv(r, qp, &wc);
}

/* The payload of its packets is there, or not. rnr: they are followed by one that lacks a receive.
 */
static void took_message(struct runner *r, struct soft_qp *qp, struct packet *pkt,
			 enum copy_result result, bool rnr)
{
	uint32_t last = psn_add(pkt->psn, pkt->num - 1 + rnr);

	if (UNLIKELY(result == COPY_BAD_SOURCE || result == COPY_NO_MEMORY)) {
		/* The packet is as good as lost. If the sender deregistered the memory after it
		 * sent the packet, the node tells the sender so. */
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
			refuse(r, qp, pkt, pkt->psn, NAK_REMOTE_OPERATION, -1);
		} else {
			refuse_access(r, qp, pkt);
		}
		return;
	}
	qp->conn.resp.done += pkt->length;
	qp->conn.resp.epsn = psn_add(pkt->psn, pkt->num);
	if (pkt->place & PLACE_LAST)
		resp_finish(r, qp, pkt);
	if (rnr)
		rnr_nak(r, qp, pkt, last);
	else
		acknowledge(r, qp, pkt, last);
}

static void take_message(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	enum copy_result result = COPY_DONE;
	bool rnr = false;

	if (!in_sequence(qp, pkt) || !right_length(qp, pkt) ||
	    (!is_send(pkt->kind) && pkt->dma_len > SOFT_MAX_MSG)) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (pkt->place & PLACE_FIRST) {
		if (is_send(pkt->kind) && !resp_take_recv(qp)) {
			rnr_nak(r, qp, pkt, pkt->psn);
			return;
		}
		if (!is_send(pkt->kind) &&
		    !resp_may_access(qp, pkt, IB_ACCESS_REMOTE_WRITE, pkt->dma_len)) {
			refuse_access(r, qp, pkt);
			return;
		}
	}
	if (pkt->kind == PKT_WRITE_IMM && pkt->place & PLACE_LAST && !resp_take_recv(qp)) {
		/* only the last packet needs the receive: those before it are done all the same */
		if (pkt->num == 1) {
			rnr_nak(r, qp, pkt, pkt->psn);
			return;
		}
		rnr = true;
		pkt->num--;
		pkt->length = pkt->num << qp->conn.source.mtu_shift;
		pkt->place &= PLACE_FIRST;
	}
	if (pkt->place & PLACE_FIRST) {
		qp->conn.resp.kind = pkt->kind;
		qp->conn.resp.done = 0;
		qp->conn.resp.va = pkt->va;
		qp->conn.resp.rkey = pkt->rkey;
		qp->conn.resp.dma_len = pkt->dma_len;
	}
	if (is_send(pkt->kind) && pkt->length > qp->conn.resp.recv->wr.length - qp->conn.resp.done) {
		resp_fail_recv(r, qp, IB_WC_LOC_LEN_ERR);
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, -1);
		return;
	}
	if (!is_send(pkt->kind) && (pkt->length > qp->conn.resp.dma_len - qp->conn.resp.done ||
				    (pkt->place & PLACE_LAST &&
				     pkt->length != qp->conn.resp.dma_len - qp->conn.resp.done))) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (pkt->length)
		result = resp_payload(r, qp, pkt);
	if (UNLIKELY(result == COPY_LATER))
		resp_wait(qp, pkt, rnr);
	else
		took_message(r, qp, pkt, result, rnr);
}

/* ---------------------------------------------------------- read and atomic */

static struct resource *remember(struct soft_qp *qp, const struct packet *pkt, uint32_t num)
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

/* The resource of a request that was answered, by any of its PSNs. The newest first: the others may
 * be older than a whole round of PSNs. */
static struct resource *recall(const struct soft_qp *qp, uint32_t psn)
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

/* Has the data of a read response fetched from a client's memory. False: the fetch is under way or has
 * failed, and the node is back with the free ones. */
static bool fetch_reply(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	enum copy_result result = COPY_NO_MEMORY;

	if (stage_of(qp))
		result = errand_fetch(qp->actor, &qp->conn.stage->reply, pkt, &qp->conn.lent,
				      &pkt->lent, 1, 0);
	if (result == COPY_DONE)
		return true;
	pkt->next = qp->conn.resp.nodes;
	qp->conn.resp.nodes = pkt;
	if (result != COPY_LATER)
		qp->conn.resp.reading.num = 0; /* no memory: as if the responses had been lost */
	if (result == COPY_BAD_SOURCE)
		refuse(r, qp, NULL, pkt->psn, NAK_REMOTE_ACCESS, IB_EVENT_QP_ACCESS_ERR);
	return false;
}

/* Sends the next train of the read in progress; false: not now. */
static bool read_train(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	struct reading *rd = &qp->conn.resp.reading;
	const uint32_t psn = rd->psn;
	uint32_t num;

	pkt->kind = PKT_READ_RESP;
	pkt->psn = rd->psn;
	num = pkt_train(qp, pkt, FLOW_RESPONSE, rd->first, rd->num);
	pkt->flags = 0;
	pkt->syndrome = ack_syndrome(qp);
	pkt->ex = rd->msn;
	pkt->length = num == rd->num ? rd->left : num << qp->conn.source.mtu_shift;
	pkt->lent = (struct ib_sge){ rd->va, pkt->length, rd->rkey };
	pkt->view = &qp->conn.lent;
	pkt->sge = &pkt->lent;
	pkt->num_sge = 1;
	pkt->offset = 0;
	if (UNLIKELY(rd->client) && !fetch_reply(r, qp, pkt))
		return false;
	rd->first = false;
	rd->psn = psn_add(rd->psn, num);
	rd->num -= num;
	rd->va += pkt->length;
	rd->left -= pkt->length;
	pkt_send(r, qp, pkt, FLOW_RESPONSE);
	if (LIKELY(!qp->conn.resp.gone))
		return true;
	qp->conn.resp.gone = false; /* a link by value has found so */
	rd->num = 0;
	refuse(r, qp, NULL, psn, NAK_REMOTE_ACCESS, IB_EVENT_QP_ACCESS_ERR);
	return false;
}

/* Goes on with the read in progress; false: it has to wait. */
static bool read_on(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while (qp->conn.resp.reading.num) {
		if (runner_spent(r))
			return false;
		pkt = qp->conn.resp.nodes;
		if (!pkt || UNLIKELY(!source_room(&qp->conn.source, FLOW_RESPONSE)))
			return false;
		qp->conn.resp.nodes = pkt->next;
		if (!read_train(r, qp, pkt))
			return false;
	}
	return true;
}

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
		.client = pkt->dma_len && qp->conn.resp.client,
	};
	/* it waits until the client's thread has brought all, which goes on nodes of ours */
	if (UNLIKELY(qp->conn.resp.reading.client)) {
		if (stage_of(qp))
			resp_wait(qp, pkt, false);
		else
			pkt_release(r, qp, pkt);
		return;
	}
	if (UNLIKELY(!source_room(&qp->conn.source, FLOW_RESPONSE))) {
		pkt_release(r, qp, pkt); /* read_on() goes on when there is room */
		return;
	}
	/* the first train rides home on the request's node; without any, read_on() goes on when
	 * there is one */
	pkt = answer_node(r, qp, pkt);
	if (pkt)
		read_train(r, qp, pkt);
}

static uint32_t read_packets(const struct soft_qp *qp, uint32_t length)
{
	return length ? (length + (1u << qp->conn.source.mtu_shift) - 1) >>
				qp->conn.source.mtu_shift
		      : 1;
}

static void take_read(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	uint32_t num = read_packets(qp, pkt->dma_len);

	if (!qp->conn.resp.num_resources || pkt->dma_len > SOFT_MAX_MSG) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (!resp_may_access(qp, pkt, IB_ACCESS_REMOTE_READ, pkt->dma_len)) {
		refuse_access(r, qp, pkt);
		return;
	}
	remember(qp, pkt, num);
	qp->conn.resp.epsn = psn_add(pkt->psn, num);
	qp->conn.resp.msn = psn_add(qp->conn.resp.msn, 1);
	start_reading(r, qp, pkt, num);
}

static void answer_atomic(struct runner *r, struct soft_qp *qp, struct packet *pkt, uint32_t psn,
			  uint64_t orig)
{
	pkt = answer_node(r, qp, pkt);
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

/* On a client's memory: atomic among queue pairs only. */
static enum copy_result atomic_on_client(struct soft_qp *qp, const struct packet *pkt,
					 struct ci_client *client, const char *mem)
{
	if (!stage_of(qp))
		return COPY_NO_MEMORY;
	return payload_atomic_by_errand(qp->actor, &qp->conn.stage->taken, pkt, client, mem);
}

/* It has been executed. */
static void did_atomic(struct runner *r, struct soft_qp *qp, struct packet *pkt, uint64_t orig)
{
	remember(qp, pkt, 1)->orig = orig;
	qp->conn.resp.epsn = psn_add(pkt->psn, 1);
	qp->conn.resp.msn = psn_add(qp->conn.resp.msn, 1);
	answer_atomic(r, qp, pkt, pkt->psn, orig);
}

static void take_atomic(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	const struct mem_view view = { qp->conn.own.memory, qp->ci.pd, IB_ACCESS_REMOTE_ATOMIC };
	enum copy_result result = COPY_DONE;
	struct mr_slot *slot;
	uint64_t orig = 0;
	char *mem;

	if (!qp->conn.resp.num_resources || !qp->atomics || pkt->va % sizeof(uint64_t)) {
		refuse(r, qp, pkt, pkt->psn, NAK_INVALID_REQUEST, IB_EVENT_QP_REQ_ERR);
		return;
	}
	slot = qp->conn.attr.qp_access_flags & IB_ACCESS_REMOTE_ATOMIC
		       ? mr_get(&view, pkt->rkey, pkt->va, sizeof(uint64_t), &mem)
		       : NULL;
	if (slot &&
	    (uintptr_t)mem % sizeof(uint64_t)) { /* an iova aligned otherwise than its memory */
		mr_put(slot);
		slot = NULL;
	}
	if (!slot) {
		refuse_access(r, qp, pkt);
		return;
	}
	if (LIKELY(!slot->client))
		orig = payload_execute_atomic(pkt, (uint64_t *)mem);
	else
		result = atomic_on_client(qp, pkt, slot->client, mem);
	mr_put(slot);
	if (LIKELY(result == COPY_DONE))
		did_atomic(r, qp, pkt, orig);
	else if (result == COPY_LATER)
		resp_wait(qp, pkt, false);
	else
		pkt_release(r, qp, pkt); /* no memory: as if the packet had been lost */
}

void rc_taken(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result)
{
	if (pkt->kind != PKT_COMP_SWAP && pkt->kind != PKT_FETCH_ADD)
		took_message(r, qp, pkt, result, qp->conn.stage->short_receive);
	else if (result == COPY_DONE)
		did_atomic(r, qp, pkt, qp->conn.stage->orig);
	else
		refuse_access(r, qp, pkt);
}

/* -------------------------------------------------------------- order of PSNs */

/* A request that was executed before: never again, but its answer is repeated (IBTA 9.7.5.1.2). */
static void take_duplicate(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	struct resource *res;
	uint64_t skipped;

	if (pkt->kind != PKT_READ && pkt->kind != PKT_COMP_SWAP && pkt->kind != PKT_FETCH_ADD) {
		acknowledge(r, qp, pkt, psn_add(qp->conn.resp.epsn, IB_PSN_MASK));
		return;
	}
	res = recall(qp, pkt->psn);
	if (!res || res->kind != pkt->kind)
		goto drop;
	if (pkt->kind != PKT_READ) {
		if (pkt->psn != res->first_psn)
			goto drop;
		answer_atomic(r, qp, pkt, pkt->psn, res->orig);
		return;
	}
	/* a part of what was read before, or all of it: nothing else is given under its PSNs */
	skipped = (uint64_t)(uint32_t)psn_diff(pkt->psn, res->first_psn)
		  << qp->conn.source.mtu_shift;
	if (pkt->rkey != res->rkey || pkt->va - res->va != skipped ||
	    pkt->dma_len != res->dma_len - skipped)
		goto drop;
	if (!resp_may_access(qp, pkt, IB_ACCESS_REMOTE_READ, pkt->dma_len)) {
		/* A requester that still waits for this read gets the NAK. The duplicate may as
		 * well be a late copy of a read that is complete, so the connection stays. */
		answer(r, qp, pkt, NAK_REMOTE_ACCESS, pkt->psn);
		return;
	}
	start_reading(r, qp, pkt, read_packets(qp, pkt->dma_len));
	return;

drop:
	port_count(qp->conn.source.port, CNT_RCV_DROPPED, 1);
	pkt_release(r, qp, pkt);
}

/* Drops the part of a train that was executed before. */
static void trim(struct soft_qp *qp, struct packet *pkt, uint32_t num)
{
	pkt->psn = psn_add(pkt->psn, num);
	pkt->num -= num;
	pkt->offset += (uint64_t)num << qp->conn.source.mtu_shift;
	pkt->length -= num << qp->conn.source.mtu_shift;
	pkt->place &= PLACE_LAST;
}

void resp_arrived(struct soft_qp *qp)
{
	if (LIKELY(qp->conn.resp.established))
		return;
	qp->conn.resp.established = true;
	if (qp_state(qp) == IB_QPS_RTR)
		qp_event(qp, IB_EVENT_COMM_EST);
}

/* Fault injection has put a NAK's syndrome into the request: sends that NAK, and does not execute
 * the request. */
static void forced_nak(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	uint8_t syndrome = pkt->syndrome;

	if ((syndrome & AETH_KIND) == AETH_RNR_NAK || syndrome == NAK_PSN_SEQ) {
		port_count(qp->conn.source.port,
			   syndrome == NAK_PSN_SEQ ? CNT_SEQ_NAKS : CNT_RNR_NAKS, 1);
		qp->conn.resp.nak_sent = true;
		answer(r, qp, pkt, syndrome, pkt->psn);
		return;
	}
	refuse(r, qp, pkt, pkt->psn, syndrome,
	       syndrome == NAK_INVALID_REQUEST ? IB_EVENT_QP_REQ_ERR
	       : syndrome == NAK_REMOTE_ACCESS ? IB_EVENT_QP_ACCESS_ERR
					       : -1);
}

static void take_new(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	if (UNLIKELY(pkt->syndrome)) {
		forced_nak(r, qp, pkt);
		return;
	}
	qp->conn.resp.nak_sent = false;
	resp_arrived(qp);
	switch (pkt->kind) {
	case PKT_SEND_INV: /* not offered */
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
			take_read(r, qp, pkt);
		else
			take_atomic(r, qp, pkt);
		return;
	default:
		take_message(r, qp, pkt);
	}
}

bool resp_pkey_matches(struct soft_qp *qp, const struct packet *pkt)
{
	/* a value of 0 is that of an empty entry, and no partition's (IBTA 10.9.1.1) */
	if (!((pkt->pkey ^ qp->conn.source.pkey) & IB_PKEY_VALUE_MASK) &&
	    pkt->pkey & IB_PKEY_VALUE_MASK &&
	    (pkt->pkey | qp->conn.source.pkey) & IB_PKEY_FULL_MEMBER)
		return true;
	port_count(qp->conn.source.port, CNT_BAD_PKEY, pkt->num);
	return false;
}

/* Is it from the peer, and of the same partition? (IBTA 9.6.1) */
bool resp_acceptable(struct soft_qp *qp, const struct packet *pkt)
{
	/* a packet on the wire names its port only; here we know the queue pair, and ask that it be
	 * the peer */
	return pkt->in_port == qp->conn.source.port->num &&
	       path_is_from(&qp->conn.source.path, pkt->route.slid) &&
	       (pkt->flags & PKT_WIRE || pkt->src_qpn == qp->conn.source.dest_qpn) &&
	       resp_pkey_matches(qp, pkt);
}

void rc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	int32_t early;

	if (UNLIKELY(!resp_acceptable(qp, pkt))) {
		port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		pkt_release(r, qp, pkt);
		return;
	}
	pkt_received(qp, pkt);
	early = psn_diff(qp->conn.resp.epsn, pkt->psn);
	if (LIKELY(!early)) {
		take_new(r, qp, pkt);
	} else if (early < 0) {
		if (qp->conn.resp.nak_sent) {
			pkt_release(r, qp, pkt);
			return;
		}
		qp->conn.resp.nak_sent = true;
		port_count(qp->conn.source.port, CNT_SEQ_NAKS, 1);
		answer(r, qp, pkt, NAK_PSN_SEQ, qp->conn.resp.epsn);
	} else if ((uint32_t)early < pkt->num) {
		trim(qp, pkt, (uint32_t)early);
		take_new(r, qp, pkt);
	} else {
		take_duplicate(r, qp, pkt);
	}
}

/* ------------------------------------------------------------------ backlog */

void resp_queue(struct soft_qp *qp, struct packet *pkt)
{
	pkt->next = NULL;
	*qp->conn.resp.backlog_tail = pkt;
	qp->conn.resp.backlog_tail = &pkt->next;
}

/* The request whose payload is on its way has been taken back. */
static void forget_taken(struct soft_qp *qp, const struct packet *pkt)
{
	resp_unhold(pkt);
	errand_abandon(&qp->conn.stage->taken);
	qp->conn.resp.copying = false;
	if (!qp->conn.resp.done)
		qp->conn.resp.kind = PKT_NONE;
}

struct packet *resp_recall(struct soft_qp *qp, const struct recall *what)
{
	const struct packet *first = qp->conn.resp.backlog;
	struct packet *taken = packets_recall(&qp->conn.resp.backlog, what);

	qp->conn.resp.backlog_tail = packets_end(&qp->conn.resp.backlog);
	if (LIKELY(!qp->conn.stage))
		return taken;
	if (qp->conn.resp.copying && qp->conn.resp.backlog != first)
		forget_taken(qp, first);
	packets_append(&taken, packets_recall(&qp->conn.stage->answers, what));
	qp->conn.stage->answers_tail = packets_end(&qp->conn.stage->answers);
	return taken;
}

/* Goes on with the request at the head of the backlog. A send, write or atomic goes on when its errand
 * is done; a read has no errand here, since all of its responses have been sent. False: the errand is
 * still under way. */
static bool resume(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt = qp->conn.resp.backlog;
	struct errand *e = qp->conn.stage->taken;
	enum copy_result result;

	if (e && !errand_done(e))
		return false;
	qp->conn.stage->taken = NULL;
	qp->conn.resp.copying = false;
	qp->conn.resp.backlog = pkt->next;
	if (!pkt->next)
		qp->conn.resp.backlog_tail = &qp->conn.resp.backlog;
	resp_unhold(pkt);
	if (!e) { /* all that it asks for is on its way */
		pkt_release(r, qp, pkt);
		return true;
	}
	result = e->succeeded ? COPY_DONE : COPY_BAD_TARGET;
	memcpy(&qp->conn.stage->orig, e->data, sizeof(qp->conn.stage->orig));
	al_free(e);
	qp->service->taken(r, qp, pkt, result);
	return true;
}

bool resp_run(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while (qp_state(qp) != IB_QPS_ERR) {
		if (UNLIKELY(qp->conn.resp.reading.num) && !read_on(r, qp))
			return runner_spent(r);
		if (UNLIKELY(qp->conn.resp.copying)) {
			if (!resume(r, qp))
				return false;
			continue;
		}
		pkt = qp->conn.resp.backlog;
		if (!pkt)
			break;
		if (runner_spent(r))
			return true;
		qp->conn.resp.backlog = pkt->next;
		if (!pkt->next)
			qp->conn.resp.backlog_tail = &qp->conn.resp.backlog;
		qp->service->request(r, qp, pkt);
	}
	return false;
}

void resp_reset(struct soft_qp *qp)
{
	struct packet *nodes = qp->conn.resp.nodes;
	struct resource *resources = qp->conn.resp.resources;
	uint8_t num = qp->conn.resp.num_resources;

	qp->conn.resp = (__typeof__(qp->conn.resp)){
		.nodes = nodes,
		.resources = resources,
		.num_resources = num,
	};
	qp->conn.resp.backlog_tail = &qp->conn.resp.backlog;
	if (resources)
		memset(resources, 0, num * sizeof(*resources));
}
