/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a request failed, in a sentence for people: derived from the failed element and its queue
 * pair when the request has failed, so that a request which succeeds pays nothing.
 */
#include "hca/soft/transport/explain.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"

#define TEXT 160

/* Why no piece of a list may be accessed; "" if every piece may. */
static const char *explain_list(const struct soft_qp *qp, const struct ib_sge *sge, uint32_t num,
				uint32_t access, char text[TEXT])
{
	const struct mem_view view = { qp->conn.own.memory, qp->ci.pd, access };
	char why[TEXT - 48];

	for (uint32_t i = 0; i < num; i++)
		if (sge[i].length &&
		    mr_explain(&view, sge[i].lkey, sge[i].addr, sge[i].length, why, sizeof(why))) {
			snprintf(text, TEXT, "the lkey %#x of element %u %s", sge[i].lkey, i, why);
			return text;
		}
	return "an lkey of the list was of a region that has been deregistered since";
}

static const char *explain_length(const struct soft_qp *qp, const struct send_wqe *wqe,
				  char text[TEXT])
{
	const uint32_t mtu = 1u << qp->conn.source.mtu_shift;

	if (wqe->wr.length > SOFT_MAX_MSG)
		snprintf(text, TEXT, "the message has %u bytes, and the most is %u", wqe->wr.length,
			 SOFT_MAX_MSG);
	else if (is_ud(qp) && wqe->wr.length > mtu)
		snprintf(text, TEXT, "the datagram has %u bytes, and the path MTU is %u",
			 wqe->wr.length, mtu);
	else if (wr_ops[wqe->wr.opcode].flags & WR_ATOMIC && wqe->wr.length != sizeof(uint64_t))
		snprintf(text, TEXT, "the list of an atomic has %u bytes, and must have 8",
			 wqe->wr.length);
	else
		snprintf(
			text, TEXT,
			"the peer's response is longer or shorter than the %u bytes that were asked for",
			wqe->wr.length);
	return text;
}

/* How often the requester tried. */
static const char *explain_retries(const struct soft_qp *qp, const char *what, uint32_t retries,
				   char text[TEXT])
{
	char gid[INET6_ADDRSTRLEN];

	if (qp->conn.source.port->ethernet)
		snprintf(text, TEXT, "%s qp %#x at GID %s %u times", what, qp->conn.source.dest_qpn,
			 inet_ntop(AF_INET6, qp->conn.to.dgid.raw, gid, sizeof(gid)), retries + 1);
	else
		snprintf(text, TEXT, "%s qp %#x at LID %#x %u times", what, qp->conn.source.dest_qpn,
			 qp->conn.source.path.lid, retries + 1);
	return text;
}

static const char *explain_nak(const struct send_wqe *wqe, const char *nak, char text[TEXT])
{
	const struct wr_op *op = &wr_ops[wqe->wr.opcode];

	if (op->flags & WR_REMOTE)
		snprintf(
			text, TEXT,
			"the peer answered NAK \"%s\" to the %s of %u bytes at %#llx with rkey %#x",
			nak, op->name, wqe->wr.length, (unsigned long long)wqe->wr.remote.addr,
			wqe->wr.key);
	else
		snprintf(text, TEXT, "the peer answered NAK \"%s\" to the %s of %u bytes", nak,
			 op->name, wqe->wr.length);
	return text;
}

static const char *explain_send(const struct soft_qp *qp, const struct send_wqe *wqe,
				ib_wc_status status, char text[TEXT])
{
	const bool reads = wr_ops[wqe->wr.opcode].flags & WR_RD_ATOMIC;

	switch ((int)status) {
	case IB_WC_LOC_LEN_ERR:
		return explain_length(qp, wqe, text);
	case IB_WC_LOC_QP_OP_ERR:
		if (reads && !qp->conn.attr.max_rd_atomic)
			return "max_rd_atomic of the queue pair is 0, so it sends no reads and atomics";
		if (wr_ops[wqe->wr.opcode].flags & WR_ATOMIC && !qp->atomics)
			return "the HCA has no atomics";
		return "there was no memory to copy the data from the program";
	case IB_WC_LOC_PROT_ERR:
		return explain_list(qp, wqe->sge, wqe->wr.num_sge,
				    reads ? IB_ACCESS_LOCAL_WRITE : 0, text);
	case IB_WC_RETRY_EXC_ERR:
		return explain_retries(qp, "no answer came though the packet was sent to",
				       qp->conn.attr.retry_cnt, text);
	case IB_WC_RNR_RETRY_EXC_ERR:
		return explain_retries(
			qp,
			"the peer had no receive posted (RNR NAK) though the message was sent to",
			qp->conn.attr.rnr_retry, text);
	case IB_WC_REM_INV_REQ_ERR:
		return explain_nak(wqe, "Invalid Request", text);
	case IB_WC_REM_ACCESS_ERR:
		return explain_nak(wqe, "Remote Access Error", text);
	case IB_WC_REM_OP_ERR:
		return explain_nak(wqe, "Remote Operational Error", text);
	case IB_WC_BAD_RESP_ERR:
		return "the peer's answer does not belong to the request";
	default:
		return "the HCA gives no reason";
	}
}

void explain_send_failure(const struct soft_qp *qp, const struct send_wqe *wqe, ib_wc_status status)
{
	char text[TEXT];

	ib_request_failed(qp->ci.ctx, wqe->wr.wr_id, status, "%s",
			  explain_send(qp, wqe, status, text));
}

void explain_recv_failure(const struct soft_qp *qp, const struct recv_wqe *wqe, ib_wc_status status)
{
	const char *why = "the peer's request may not access its memory";
	char text[TEXT];

	if (status == IB_WC_LOC_LEN_ERR) {
		snprintf(text, sizeof(text),
			 "the message is longer than the receive, which has %u bytes",
			 wqe->wr.length);
		why = text;
	} else if (status == IB_WC_LOC_PROT_ERR) {
		why = explain_list(qp, wqe->sge, wqe->wr.num_sge, IB_ACCESS_LOCAL_WRITE, text);
	}
	ib_request_failed(qp->ci.ctx, wqe->wr.wr_id, status, "%s", why);
}
