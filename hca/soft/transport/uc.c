/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The responder of unreliable connections (IBTA 9.8.2). Nothing is answered: what can not be
 * executed is dropped, and with it the rest of its message, until another message begins. A
 * message's first packet counts whatever its PSN; the later ones only in sequence. The receive of a
 * message that is lost half way, or that is longer than its receive, serves the next.
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

/* The packet is not executed, and the message in progress is lost. */
static void drop(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	IB_TRACE("soft", "dropped: qp=%#x psn=%#x", qp->ci.qp_num, pkt->psn);
	qp->conn.resp.kind = PKT_NONE;
	port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
	pkt_release(r, qp, pkt);
}

/* IBTA 10.10.2 */
void resp_end(struct runner *r, struct soft_qp *qp, struct packet *pkt, ib_wc_status status)
{
	pkt_release(r, qp, pkt);
	resp_fail_recv(r, qp, status);
	qp_error(r, qp, -1);
}

/* Is it the next one of the message in progress, or the first of another? */
static bool in_sequence(const struct soft_qp *qp, const struct packet *pkt)
{
	if (!is_send(pkt->kind) && pkt->kind != PKT_WRITE && pkt->kind != PKT_WRITE_IMM)
		return false;
	if (pkt->place & PLACE_FIRST)
		return true;
	return qp->conn.resp.kind != PKT_NONE &&
	       is_send(qp->conn.resp.kind) == is_send(pkt->kind) && pkt->psn == qp->conn.resp.epsn;
}

/* Are all packets as long as the path MTU, but for the message's last, which is no longer? */
static bool well_cut(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t full = (uint64_t)pkt->num << qp->conn.source.mtu_shift;

	if (!(pkt->place & PLACE_LAST))
		return pkt->length == full;
	return pkt->length <= full && (pkt->length > full - (1u << qp->conn.source.mtu_shift) ||
				       (pkt->num == 1 && pkt->place == PLACE_ONLY));
}

/* May a message begin so? */
static bool begin(struct soft_qp *qp, const struct packet *pkt)
{
	if (is_send(pkt->kind)
		    ? !resp_take_recv(qp)
		    : pkt->dma_len > SOFT_MAX_MSG ||
			      !resp_may_access(qp, pkt, IB_ACCESS_REMOTE_WRITE, pkt->dma_len))
		return false;
	qp->conn.resp.kind = pkt->kind;
	qp->conn.resp.done = 0;
	qp->conn.resp.va = pkt->va;
	qp->conn.resp.rkey = pkt->rkey;
	qp->conn.resp.dma_len = pkt->dma_len;
	return true;
}

/* A write brings what its first packet has announced, neither more nor less. */
static bool as_announced(const struct soft_qp *qp, const struct packet *pkt)
{
	uint64_t left = qp->conn.resp.dma_len - qp->conn.resp.done;

	return pkt->place & PLACE_LAST ? pkt->length == left : pkt->length <= left;
}

/* The payload of its packets is there, or not. */
static void took(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result,
		 bool no_receive)
{
	if (result == COPY_BAD_TARGET && is_send(pkt->kind)) {
		resp_end(r, qp, pkt, IB_WC_LOC_PROT_ERR);
		return;
	}
	if (result == COPY_BAD_SOURCE)
		pkt->flags |= PKT_BAD_SOURCE; /* he is told that his memory was gone */
	if (result != COPY_DONE || no_receive) {
		if (no_receive)
			pkt->num = 1;
		drop(r, qp, pkt);
		return;
	}
	qp->conn.resp.done += pkt->length;
	qp->conn.resp.epsn = psn_add(pkt->psn, pkt->num);
	if (pkt->place & PLACE_LAST)
		resp_finish(r, qp, pkt);
	pkt_release(r, qp, pkt);
}

void uc_request(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	enum copy_result result = COPY_DONE;
	bool no_receive;

	if (UNLIKELY(!resp_acceptable(qp, pkt))) {
		port_count(qp->conn.source.port, CNT_RCV_DROPPED, pkt->num);
		pkt_release(r, qp, pkt);
		return;
	}
	pkt_received(qp, pkt);
	resp_arrived(qp);
	if (!in_sequence(qp, pkt) || !well_cut(qp, pkt) ||
	    (pkt->place & PLACE_FIRST && !begin(qp, pkt)) ||
	    (!is_send(pkt->kind) && !as_announced(qp, pkt))) {
		drop(r, qp, pkt);
		return;
	}
	if (is_send(pkt->kind) && pkt->length > qp->conn.resp.recv->wr.length - qp->conn.resp.done) {
		drop(r, qp, pkt); /* class D of IBTA 9.9.3; with a shared receive queue class E */
		return;
	}
	/* only the last packet needs the receive: those before it are done all the same */
	no_receive = pkt->kind == PKT_WRITE_IMM && pkt->place & PLACE_LAST && !resp_take_recv(qp);
	if (no_receive)
		pkt->length = --pkt->num << qp->conn.source.mtu_shift;
	if (pkt->length)
		result = resp_payload(r, qp, pkt);
	if (UNLIKELY(result == COPY_LATER))
		resp_wait(qp, pkt, no_receive);
	else
		took(r, qp, pkt, result, no_receive);
}

void uc_taken(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result)
{
	took(r, qp, pkt, result, qp->conn.stage->short_receive);
}
