/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The responder of unreliable connections (IBTA 9.8.2). The responder answers no packet. A packet
 * that can not be executed is dropped, and so is the rest of its message. A message's first packet
 * is executed with any PSN, and later packets only in sequence. If a message loses a packet, or is
 * longer than its receive, the next message uses the receive. The functions that UC shares with RC
 * are in resp.c.
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

/* Drops a packet and the message in progress. Consumes the packet. */
static void drop(struct runner *r, struct soft_qp *qp, struct packet *pkt, const char *why)
{
	resp_trace_drop(qp, pkt, why);
	qp->conn.resp.kind = PKT_NONE;
	port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
	pkt_release(r, qp, pkt);
}

void resp_end_qp(struct runner *r, struct soft_qp *qp, struct packet *pkt, ib_wc_status status)
{
	/* IBTA 10.10.2 */
	pkt_release(r, qp, pkt);
	resp_fail_recv(r, qp, status);
	qp_error(r, qp, NO_EVENT);
}

/* Checks that a packet is the next packet of the message in progress, or the first packet of a message. */
static bool fits_message(const struct soft_qp *qp, const struct packet *pkt)
{
	if (!is_send(pkt->kind) && pkt->kind != PKT_WRITE && pkt->kind != PKT_WRITE_IMM)
		return false;
	if (pkt->place & PLACE_FIRST)
		return true;
	return qp->conn.resp.kind != PKT_NONE &&
	       is_send(qp->conn.resp.kind) == is_send(pkt->kind) && pkt->psn == qp->conn.resp.epsn;
}

/*
 * Checks that all packets of a train are as long as the path MTU, except a message's last packet, which is not
 * longer.
 */
static bool has_valid_length(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t full = (uint64_t)pkt->num << qp->conn.source.mtu_shift;

	if (!(pkt->place & PLACE_LAST))
		return pkt->length == full;
	return pkt->length <= full && (pkt->length > full - (1u << qp->conn.source.mtu_shift) ||
				       (pkt->num == 1 && pkt->place == PLACE_ONLY));
}

/*
 * Begins a message with its first packet. False: no receive is posted for a SEND, or a write has no access; no
 * message begins.
 */
static bool begin_message(struct soft_qp *qp, const struct packet *pkt)
{
	bool permitted;

	if (is_send(pkt->kind))
		permitted = resp_take_recv(qp) != NULL;
	else
		permitted = pkt->dma_len <= SOFT_MAX_MSG &&
			    resp_may_access(qp, pkt, IB_ACCESS_REMOTE_WRITE, pkt->dma_len);
	if (!permitted)
		return false;
	qp->conn.resp.kind = pkt->kind;
	qp->conn.resp.done = 0;
	qp->conn.resp.va = pkt->va;
	qp->conn.resp.rkey = pkt->rkey;
	qp->conn.resp.dma_len = pkt->dma_len;
	return true;
}

/* Checks that a write has as many bytes as the DMA length in its RETH says. */
static bool fits_dma_length(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t left = qp->conn.resp.dma_len - qp->conn.resp.done;

	return pkt->place & PLACE_LAST ? pkt->length == left : pkt->length <= left;
}

/*
 * Ends the execution of a train whose payload copy has ended with `result`. Consumes the packet. lacks_receive: one
 * more packet follows the train, whose write with immediate lacks a receive.
 */
static void end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result,
		     bool lacks_receive)
{
	if (result == COPY_BAD_TARGET && is_send(pkt->kind)) {
		resp_end_qp(r, qp, pkt, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (result == COPY_BAD_SOURCE)
		pkt->flags |= PKT_BAD_SOURCE; /* tells the sender that the payload's memory was deregistered */
	if (result != COPY_DONE || lacks_receive) {
		if (lacks_receive) /* the packet that the drop counts */
			pkt->num = 1;
		drop(r, qp, pkt, lacks_receive ? "no receive is posted" : "its payload could not be copied");
		return;
	}
	qp->conn.resp.done += pkt->length;
	qp->conn.resp.epsn = psn_add(pkt->psn, pkt->num);
	if (pkt->place & PLACE_LAST)
		resp_finish_message(r, qp, pkt);
	pkt_release(r, qp, pkt);
}

void uc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	enum copy_result result = COPY_DONE;
	bool lacks_receive;

	if (UNLIKELY(!resp_check_packet(qp, pkt))) {
		port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		pkt_release(r, qp, pkt);
		return;
	}
	pkt_count_received(qp, pkt);
	resp_note_arrival(qp);
	if (!fits_message(qp, pkt) || !has_valid_length(qp, pkt) ||
	    (pkt->place & PLACE_FIRST && !begin_message(qp, pkt)) ||
	    (!is_send(pkt->kind) && !fits_dma_length(qp, pkt))) {
		drop(r, qp, pkt,
		     "its PSN or length does not fit the message, no receive is posted, or its rkey permits no access");
		return;
	}
	if (is_send(pkt->kind) && pkt->length > qp->conn.resp.recv->wr.length - qp->conn.resp.done) {
		drop(r, qp, pkt, "the receive is too short"); /* class D of IBTA 9.9.3; with a shared receive queue class E */
		return;
	}
	/* only the last packet needs the receive, so the packets before the last are executed */
	lacks_receive = pkt->kind == PKT_WRITE_IMM && pkt->place & PLACE_LAST && !resp_take_recv(qp);
	if (lacks_receive) {
		pkt->num--;
		pkt->length = pkt->num << qp->conn.source.mtu_shift;
	}
	if (pkt->length)
		result = resp_copy_payload(r, qp, pkt);
	if (UNLIKELY(result == COPY_LATER)) {
		resp_suspend(qp, pkt);
		qp->conn.stage->lacks_receive = lacks_receive;
		return;
	}
	end_copy(r, qp, pkt, result, lacks_receive);
}

void uc_end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result)
{
	end_copy(r, qp, pkt, result, qp->conn.stage->lacks_receive);
}
