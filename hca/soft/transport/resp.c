/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the responders of all services share: the backlog of requests, checks of a packet and of its
 * access to memory, and the copy of a message's payload. A request waits in the backlog while the
 * responder sends the responses of a read, or while an errand copies payload from or to a client's
 * memory. The responders themselves are in rc_resp.c, uc.c and ud.c.
 */
#include <string.h>

#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/explain.h"
#include "hca/soft/transport/qp.h"
#include "hca/soft/transport/stage.h"

/* ------------------------------------------------------------------ checks */

bool resp_check_pkey(struct soft_qp *qp, const struct packet *pkt)
{
	if (pkey_matches(source_pkey(&qp->conn.source), pkt->pkey))
		return true;
	port_bad_key(qp->conn.source.port, CNT_BAD_PKEY, pkt, qp->ci.qp_num);
	return false;
}

bool resp_is_from_peer(const struct soft_qp *qp, const struct route *route)
{
	return path_is_from(&qp->conn.source.path, route->slid) &&
	       (LIKELY(!qp->conn.source.port->ethernet) ||
		!memcmp(&qp->conn.to.dgid, &route->sgid, sizeof(route->sgid)));
}

bool resp_check_packet(struct soft_qp *qp, const struct packet *pkt)
{
	const char *why = NULL;

	/* a packet from a wire does not name its source queue pair; any other packet must name the
	 * peer */
	if (UNLIKELY(pkt->in_port != qp->conn.source.port->number))
		why = "it came by another port than the queue pair's";
	else if (UNLIKELY(!resp_is_from_peer(qp, &pkt->route)))
		why = "its source address is not the peer's";
	else if (UNLIKELY(!(pkt->flags & PKT_WIRE) && pkt->src_qpn != qp->conn.source.dest_qpn))
		why = "its source queue pair is not the peer";
	else if (UNLIKELY(!resp_check_pkey(qp, pkt)))
		why = "its P_Key is not the queue pair's";
	if (LIKELY(!why))
		return true;
	resp_trace_drop(qp, pkt, why);
	return false;
}

bool resp_may_access(struct soft_qp *qp, const struct packet *pkt, uint32_t access, uint32_t length)
{
	const struct mem_view view = { qp->conn.own.memory, qp->ci.pd, access };
	const struct mr_slot *slot;
	char *mem;

	if (!(qp->conn.attr.qp_access_flags & access))
		return false;
	if (!length) /* IBTA 9.7.4.1.4: the R_Key of an empty request is not checked */
		return true;
	slot = mr_find(&view, pkt->rkey, pkt->va, length, &mem);
	if (!slot)
		return false;
	qp->conn.resp.client_memory = slot->client;
	return true;
}

void resp_note_arrival(struct soft_qp *qp)
{
	if (LIKELY(qp->conn.resp.established))
		return;
	qp->conn.resp.established = true;
	if (qp_state(qp) == IB_QPS_RTR)
		qp_event(qp, IB_EVENT_COMM_EST);
}

/* ---------------------------------------------------------------- messages */

enum copy_result resp_copy_payload(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
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

void resp_finish_message(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
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

void resp_fail_recv(struct runner *r, struct soft_qp *qp, ib_wc_status status)
{
	struct ib_wc wc = { .status = status, .opcode = IB_WC_RECV };

	explain_recv_failure(qp, qp->conn.resp.recv, status);
	qp_complete_recv(r, qp, &wc);
}

/* ----------------------------------------------------------------- backlog */

void resp_enqueue(struct soft_qp *qp, struct packet *pkt)
{
	pkt->next = NULL;
	*qp->conn.resp.backlog_tail = pkt;
	qp->conn.resp.backlog_tail = &pkt->next;
}

/* Suspends the requester's ACK timer while a copy to a client's memory is under way
 * (awaits_client()). */
static void suspend_timer(const struct packet *pkt)
{
	if (pkt->home)
		atomic_fetch_add_explicit(&pkt->home->held, 1, memory_order_relaxed);
}

void resp_resume_timer(const struct packet *pkt)
{
	if (pkt->home)
		atomic_fetch_sub_explicit(&pkt->home->held, 1, memory_order_relaxed);
}

void resp_suspend(struct soft_qp *qp, struct packet *pkt)
{
	suspend_timer(pkt);
	/* the errand has the payload now, so the sender's buffer need not wait for our client */
	if (pkt->flags & PKT_FETCHED && qp->conn.stage->request_copy)
		errand_free_payload(pkt);
	qp->conn.resp.copying = true;
	qp->conn.stage->lacks_receive = false;
	pkt->next = qp->conn.resp.backlog;
	qp->conn.resp.backlog = pkt;
	if (!pkt->next)
		qp->conn.resp.backlog_tail = &pkt->next;
}

/* Abandons the copy for a request that its sender, which is being reset, has taken back from the head of the backlog. */
static void forget_copy(struct soft_qp *qp, const struct packet *pkt)
{
	resp_resume_timer(pkt);
	errand_abandon(&qp->conn.stage->request_copy);
	qp->conn.resp.copying = false;
	if (!qp->conn.resp.done)
		qp->conn.resp.kind = PKT_NONE;
}

struct packet *resp_recall(struct soft_qp *qp, const struct recall *what)
{
	const struct packet *first = qp->conn.resp.backlog;
	struct packet *recalled = packets_recall(&qp->conn.resp.backlog, what);

	qp->conn.resp.backlog_tail = packets_end(&qp->conn.resp.backlog);
	if (LIKELY(!qp->conn.stage))
		return recalled;
	if (qp->conn.resp.copying && qp->conn.resp.backlog != first)
		forget_copy(qp, first);
	packets_append(&recalled, packets_recall(&qp->conn.stage->waiting, what));
	qp->conn.stage->waiting_tail = packets_end(&qp->conn.stage->waiting);
	return recalled;
}

/*
 * Resumes the suspended request at the head of the backlog. A SEND, write or atomic resumes when its errand is done.
 * A read has no errand here, since all of its responses have been sent. False: the errand is still under way.
 */
static bool resume_backlog(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt = qp->conn.resp.backlog;
	struct errand *e = qp->conn.stage->request_copy;
	enum copy_result result;

	if (e && !errand_done(e))
		return false;
	qp->conn.stage->request_copy = NULL;
	qp->conn.resp.copying = false;
	qp->conn.resp.backlog = pkt->next;
	if (!pkt->next)
		qp->conn.resp.backlog_tail = &qp->conn.resp.backlog;
	resp_resume_timer(pkt);
	if (!e) { /* a read, whose responses have been sent */
		pkt_release(r, qp, pkt);
		return true;
	}
	result = e->succeeded ? COPY_DONE : COPY_BAD_TARGET;
	memcpy(&qp->conn.stage->atomic_orig, e->data, sizeof(qp->conn.stage->atomic_orig));
	errand_free(e);
	qp->service->end_copy(r, qp, pkt, result);
	return true;
}

bool resp_run(struct runner *r, struct soft_qp *qp)
{
	struct packet *pkt;

	while (qp_state(qp) != IB_QPS_ERR) {
		if (UNLIKELY(qp->conn.resp.reading.num)) {
			if (!rc_continue_reading(r, qp))
				return runner_spent(r);
			continue; /* the read may have ended in an error */
		}
		if (UNLIKELY(qp->conn.resp.copying)) {
			if (!resume_backlog(r, qp))
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
