/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Unreliable datagrams (IBTA 9.8.3, 10.2.5). Each message is one packet, and the work request names
 * its destination. A queue pair of type UD takes the datagram if both have the same Q_Key. The
 * responder acknowledges nothing, and datagrams arrive in the order in which the path delivers
 * them.
 *
 * The special queue pairs are datagram services, too (IBTA 3.9.3, 13.5.3). QP0 (type SMI) sends and
 * takes subnet management packets on virtual lane 15, without keys. QP1 (type GSI) takes the P_Key
 * of each request and any P_Key of the port's table, and has the well-known Q_Key.
 */
#include <string.h>

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/multicast.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/shared/wr.h"
#include "hca/soft/transport/ah.h"
#include "hca/soft/transport/qp.h"
#include "hca/soft/transport/stage.h"

#define QKEY_OWN 0x80000000u /* bit of a work request's Q_Key: send the queue pair's Q_Key instead (IBTA 10.2.5) */

/* ----------------------------------------------------------------- requester */

/* True: the queue pair is a special one of a switch. */
static bool is_switch(const struct soft_qp *qp)
{
	const struct soft_port *port = qp->conn.source.port;

	return port && !port->number;
}

al_status ud_find_path(const struct soft_qp *qp, const struct ib_send_wr *wr, struct ib_flat_path *path)
{
	struct soft_ah *ah = (struct soft_ah *)ci_wr_ah(&qp->ci, wr->wr.ud.ah);

	if (UNLIKELY(!ah))
		return wr_refuse_ah();
	fmutex_lock(&ah->lock);
	*path = ah->path;
	fmutex_unlock(&ah->lock);
	if (UNLIKELY(qp->ci.qp_type == IB_QPT_GSI && wr->wr.ud.pkey_index >= SOFT_MAX_PKEYS))
		return ib_refuse(AL_INVALID_PKEY_INDEX,
				 "pkey_index is %u, and the P_Key table has %u entries",
				 wr->wr.ud.pkey_index, SOFT_MAX_PKEYS);
	if (UNLIKELY(is_switch(qp) && qp->ci.qp_type == IB_QPT_SMI &&
		     wr->wr.ud.port_num >= qp->conn.source.port->ports->num))
		return ib_refuse(AL_INVALID_PORT, "port_num is %u, and the switch has %u ports",
				 wr->wr.ud.port_num, qp->conn.source.port->ports->num - 1);
	return wr_check_datagram(&qp->ci, qp_port_num(qp), ah->ci.pd, path->port_num,
				 wr->wr.ud.remote_qpn);
}

void ud_address_packet(const struct soft_qp *qp, const struct send_wqe *wqe, struct packet *pkt)
{
	const struct ib_flat_path *path = &wqe->wr.path;
	const struct address to = {
		.dgid = path->dgid,
		.class_flow = path->grh_word & 0xfffffff, /* without the IP version */
		.dlid = path->dlid,
		.src_path_bits = path->src_path_bits,
		.sl = path->sl,
		.sgid_index = path->sgid_index,
		.hop_limit = path->hop_limit,
		.global = path->grh_word != 0,
	};

	port_route(qp->conn.source.port, &to, &pkt->route);
	pkt->dest_qpn = wqe->wr.key;
	pkt->qkey = path->qkey & QKEY_OWN ? qp->conn.attr.qkey : path->qkey;
	pkt->pkey = source_pkey(&qp->conn.source);
	if (LIKELY(qp->ci.qp_type == IB_QPT_UD))
		return;
	if (qp->ci.qp_type == IB_QPT_GSI) {
		pkt->pkey = port_pkey(qp->conn.source.port, wqe->wr.ex);
		return;
	}
	if (is_switch(qp))
		pkt->route.out_port = (uint8_t)wqe->wr.ex;
	pkt->flags |= PKT_VL15;
	pkt->pkey = IB_PKEY_DEFAULT;
	pkt->qkey = 0;
}

/* ----------------------------------------------------------------- responder */

static bool check_any_pkey(struct soft_port *port, const struct packet *pkt)
{
	if (port_find_pkey(port, pkt->pkey) >= 0)
		return true;
	port_bad_key(port, CNT_BAD_PKEY, pkt, pkt->dest_qpn);
	return false;
}

/* Multicast: the group of the GID has been matched, by the queue pair's membership. */
static bool is_for_port(const struct soft_port *port, const struct packet *pkt)
{
	return !pkt->route.global || packet_is_multicast(pkt) ||
	       port_has_gid(port, &pkt->route.dgid);
}

/* Checks a datagram's length, GID, lane, P_Key and Q_Key. Returns why it is dropped; NULL: it is
 * not. Counts the port error of a bad length, P_Key or Q_Key. */
static const char *check_datagram(struct soft_qp *qp, const struct packet *pkt)
{
	struct soft_port *port = qp->conn.source.port;

	if (pkt->length > 1u << qp->conn.source.mtu_shift) {
		port_count(port, CNT_RCV_ERRORS, 1);
		return "it is longer than the path MTU";
	}
	if (!is_for_port(port, pkt))
		return "its destination GID is not the port's";
	if ((qp->ci.qp_type == IB_QPT_SMI) != !!(pkt->flags & PKT_VL15))
		return "lane 15 is for queue pair 0 alone";
	if (qp->ci.qp_type == IB_QPT_SMI)
		return NULL;
	if (qp->ci.qp_type == IB_QPT_GSI ? !check_any_pkey(port, pkt) : !resp_check_pkey(qp, pkt))
		return "its P_Key is not the port's";
	if (pkt->qkey == qp->conn.attr.qkey)
		return NULL;
	port_bad_key(port, CNT_BAD_QKEY, pkt, qp->ci.qp_num);
	return "its Q_Key is not the queue pair's";
}

/*
 * Encodes the GRH of a received datagram. A datagram that has come in on IPv4 has its IP header in the last 20 bytes
 * of the GRH's place (IBTA A17.4.5.1).
 */
static void make_grh(const struct soft_port *port, const struct packet *pkt, uint8_t grh[GRH_BYTES])
{
	const struct wire_op *op = &wire_ops[wire_opcode(WIRE_UD, pkt->kind, PLACE_ONLY)];
	const size_t length = (port->ethernet ? UDP_BYTES : 0) + BTH_BYTES + op->ext_bytes +
			      ((pkt->length + 3u) & ~3u) + ICRC_BYTES;
	struct wire_packet headers = { 0 };

	pkt_set_global_headers(pkt, &headers);
	if (port->ethernet && ib_gid_is_ip4(&pkt->route.sgid)) {
		memset(grh, 0, GRH_BYTES - IP4_BYTES);
		wire_ip4(grh + GRH_BYTES - IP4_BYTES, &headers, length);
		return;
	}
	wire_grh(grh, &headers, length, port->ethernet);
}

/*
 * Moves GRH and payload to the held receive. If a datagram has no GRH, the first 40 bytes of the receive stay
 * unchanged.
 */
static enum copy_result deliver(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	const struct recv_wqe *wqe = qp->conn.resp.recv;
	struct place to = {
		.view = { qp->conn.own.memory, qp->ci.pd, IB_ACCESS_LOCAL_WRITE },
		.sge = wqe->sge,
		.num = wqe->wr.num_sge,
	};
	uint8_t grh[GRH_BYTES];
	const struct payload_head head = { grh, sizeof(grh) };

	r->bytes -= pkt->length;
	if (pkt->route.global) {
		make_grh(qp->conn.source.port, pkt, grh);
		return stage_move_request(qp, pkt, &head, &to);
	}
	to.skip = IB_GRH_BYTES;
	return pkt->length ? stage_move_request(qp, pkt, NULL, &to) : COPY_DONE;
}

/* A multicast LID has no path bits. */
static uint8_t path_bits(const struct soft_port *port, const struct packet *pkt)
{
	if (packet_is_multicast(pkt))
		return 0;
	return (uint8_t)(pkt->route.dlid & ((1u << port_lids(port).lmc) - 1));
}

/* Completes the held receive of a datagram. */
static void complete(struct runner *r, struct soft_qp *qp, const struct packet *pkt)
{
	const struct soft_port *port = qp->conn.source.port;
	struct ib_wc wc = {
		.opcode = IB_WC_RECV,
		.byte_len = IB_GRH_BYTES + pkt->length,
		.wc_flags = (pkt->route.global ? IB_WC_GRH : 0) |
			    (pkt->flags & PKT_SOLICITED ? IB_WC_SOLICITED : 0),
		.src_qp = pkt->src_qpn,
		.slid = pkt->route.slid,
		.sl = pkt->route.sl,
		.dlid_path_bits = path_bits(port, pkt),
		.pkey_index = qp->conn.source.pkey_index,
		.port_num = pkt->in_port,
	};
	int index;

	if (UNLIKELY(port->ethernet))
		wc.wc_flags |= ib_gid_is_ip4(&pkt->route.sgid) ? IB_WC_IP4 : IB_WC_IP6;
	if (UNLIKELY(qp->ci.qp_type == IB_QPT_GSI)) {
		index = port_find_pkey(port,
				       pkt->pkey); /* -1: the table has changed since the check */
		wc.pkey_index = index < 0 ? 0 : (uint16_t)index;
	}

	if (pkt->kind == PKT_SEND_IMM) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.imm_data = pkt->ex;
	}
	IB_TRACE("soft", "data transferred: qp=%#x datagram %u bytes", qp->ci.qp_num, pkt->length);
	qp_complete_recv(r, qp, &wc);
}

/* Drops a datagram, and counts the drop at the port that the datagram came in by. Consumes the packet. */
static void drop(struct runner *r, struct soft_qp *qp, struct packet *pkt, const char *why)
{
	resp_trace_drop(qp, pkt, why);
	port_count(port_of_hca(qp->conn.source.port, pkt->in_port), CNT_RCV_DROPPED, 1);
	pkt_release(r, qp, pkt);
}

/* Drops a datagram that there is no receive for. Consumes the packet. */
static void drop_unwanted(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	if (pkt->flags & PKT_VL15)
		port_count(qp->conn.source.port, CNT_VL15_DROPPED, 1);
	drop(r, qp, pkt, "no receive is posted");
}

/* Ends a datagram whose copy into its receive has ended with `result`. Consumes the packet. */
void ud_end_copy(struct runner *r, struct soft_qp *qp, struct packet *pkt, enum copy_result result)
{
	switch (result) {
	case COPY_DONE:
		complete(r, qp, pkt);
		pkt_release(r, qp, pkt);
		return;
	case COPY_NO_MEMORY:
		drop(r, qp, pkt, "there is no memory to copy it");
		return;
	case COPY_BAD_SOURCE:
		pkt->flags |= PKT_BAD_SOURCE; /* tells the sender that the payload's memory was deregistered */
		drop(r, qp, pkt, "the sender has deregistered its payload");
		return;
	default:
		resp_end_qp(r, qp, pkt, IB_WC_LOC_PROT_ERR);
	}
}

/* Queue pair numbers are unique in an HCA, but a queue pair takes datagrams from its own port only.
 * To port 0 of a switch all ports lead. */
static bool came_by_own_port(const struct soft_qp *qp, const struct packet *pkt)
{
	return pkt->in_port == qp->conn.source.port->number || is_switch(qp);
}

void ud_request(struct runner *r, struct soft_qp *qp, struct packet *pkt)
{
	enum copy_result result;
	const char *why;

	if (!is_send(pkt->kind))
		why = "it is no send";
	else if (!came_by_own_port(qp, pkt))
		why = "it came by another port than the queue pair's";
	else
		why = check_datagram(qp, pkt);
	if (UNLIKELY(why)) {
		drop(r, qp, pkt, why);
		return;
	}
	/* the port has counted a multicast datagram, once for all members */
	if (!packet_is_multicast(pkt))
		pkt_count_received(qp, pkt);
	if (!resp_take_recv(qp)) {
		drop_unwanted(r, qp, pkt);
		return;
	}
	if (qp->conn.resp.recv->wr.length < IB_GRH_BYTES + pkt->length) {
		drop(r, qp, pkt, "the receive is too short"); /* class D of IBTA 9.9.3; with a shared receive queue class E */
		return;
	}
	result = deliver(r, qp, pkt);
	if (UNLIKELY(result == COPY_LATER))
		resp_suspend(qp, pkt);
	else
		ud_end_copy(r, qp, pkt, result);
}
