/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Injected packets: bytes that come in at a port as if they had come off the port's cable. The packet's form,
 * addresses and queue pair are checked here. The transport then executes an injected packet as any other packet,
 * except that the packet names no sending queue pair (PKT_WIRE).
 */
#include "hca/soft/lab/inject.h"

#include <string.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/lab/capture.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/link/multicast.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/opcode.h"

/* The GIDs of a frame that has come in on IPv4 (IBTA A17.4.1.1). */
static void set_ip4(struct route *route, const struct wire_packet *w)
{
	route->sgid = ib_gid_of_ip4(w->ip4.src);
	route->dgid = ib_gid_of_ip4(w->ip4.dst);
	route->hop_limit = w->ip4.ttl;
	route->class_flow = (uint32_t)w->ip4.tos << 20;
}

static void set_route(struct route *route, const struct wire_packet *w)
{
	*route = (struct route){
		.slid = w->lrh.slid,
		.dlid = w->lrh.dlid,
		.sl = w->lrh.sl,
		.lane = w->lrh.vl,
		.global = w->lrh.global || w->framing != WIRE_IB,
		.hop_limit = w->grh.hop_limit,
		.class_flow = (uint32_t)w->grh.tclass << 20 | w->grh.flow_label,
	};
	memcpy(route->sgid.raw, w->grh.sgid, sizeof(route->sgid.raw));
	memcpy(route->dgid.raw, w->grh.dgid, sizeof(route->dgid.raw));
	if (w->framing == WIRE_ROCE4)
		set_ip4(route, w);
}

static void set_connected(struct packet *pkt, const struct wire_packet *w)
{
	if (wire_ops[w->bth.opcode].flags & WIRE_ATOMIC_ETH) {
		pkt->va = w->atomic.va;
		pkt->rkey = w->atomic.rkey;
		pkt->swap = w->atomic.swap_add;
		pkt->compare_add =
			pkt->kind == PKT_FETCH_ADD ? w->atomic.swap_add : w->atomic.compare;
		return;
	}
	pkt->va = w->reth.va;
	pkt->rkey = w->reth.rkey;
	pkt->dma_len = w->reth.dma_len;
	if (wire_ops[w->bth.opcode].flags & WIRE_ATOMIC_ACK_ETH)
		pkt->compare_add = w->orig;
}

/* Fills a packet of the pool from a decoded packet. */
static void make(struct pooled *k, const struct wire_packet *w)
{
	const struct wire_op *op = &wire_ops[w->bth.opcode];
	struct packet *pkt = &k->pkt;

	*pkt = (struct packet){
		.dest_qpn = w->bth.dest_qpn,
		.psn = w->bth.psn,
		.num = 1,
		.kind = op->kind,
		.place = op->place,
		.flags = PKT_WIRE | (w->bth.ack_req ? PKT_ACK_REQ : 0) |
			 (w->bth.solicited ? PKT_SOLICITED : 0) |
			 (w->lrh.vl == LANE_MANAGEMENT ? PKT_VL15 : 0),
		.syndrome = w->aeth.syndrome,
		.pkey = w->bth.pkey,
		.service = (uint8_t)wire_service(w->bth.opcode),
		.ex = op->flags & WIRE_AETH ? w->aeth.msn : w->imm,
		.length = w->length,
		.data = k->data,
	};
	set_route(&pkt->route, w);
	if (pkt->service == WIRE_UD) {
		pkt->qkey = w->deth.qkey;
		pkt->src_qpn = w->deth.src_qpn;
	} else {
		set_connected(pkt, w);
	}
	if (w->length)
		memcpy(k->data, w->payload, w->length);
}

/* True: the destination address is not the port's, or no port has the source address. */
static bool is_stray(const struct soft_port *port, const struct wire_packet *w)
{
	struct route route, back;
	struct path path;

	set_route(&route, w);
	if (port->ethernet ? !mcast_is_gid(&route.dgid)
			   : route.dlid != IB_LID_PERMISSIVE && !mcast_is_lid(route.dlid))
		if (!port_is_destination(port, &route))
			return true;
	back = (struct route){ .dlid = route.slid, .sgid = route.sgid, .dgid = route.sgid };
	port->link->resolve(port, &back, &path);
	return !path.to;
}

/* True: a multicast datagram, of which queue pairs at the port get copies. */
static bool has_members(const struct soft_port *port, const struct packet *pkt)
{
	return packet_is_multicast(pkt) && !port_is_source(port, &pkt->route) &&
	       mcast_is_wanted(&port->ports->mcast, port->number, &pkt->route.dgid,
			       pkt->route.dlid);
}

/* Hands a decoded packet to its queue pair, or to its group's members, and runs them. */
static enum soft_inject_outcome hand_over(struct soft_port *port, const struct wire_packet *w)
{
	struct runner r;
	struct pooled *k;
	bool delivered;

	if (is_stray(port, w))
		return SOFT_INJECT_STRAY;
	k = fault_room(port_hca(port));
	if (!k)
		return SOFT_INJECT_NO_ROOM;
	make(k, w);
	runner_start(&r);
	delivered = has_members(port, &k->pkt);
	if (link_receive(&r, port, &k->pkt))
		delivered = true;
	else
		pool_home(&r, &k->pkt);
	runner_run(&r);
	return delivered ? SOFT_INJECT_DELIVERED : SOFT_INJECT_NO_QP;
}

struct soft_injected inject(struct soft_port *port, const uint8_t *bytes, size_t len)
{
	struct soft_injected result = { SOFT_INJECT_MALFORMED, 0 };
	struct wire_packet w;

	if (port_state(port) < IB_PORT_INIT) {
		result.outcome = SOFT_INJECT_DOWN;
		return result;
	}
	result.refusal = wire_decode(&w, port->ethernet ? WIRE_ROCE6 : WIRE_IB, bytes, len);
	if (!result.refusal && w.length > port->ports->mtu)
		result.refusal = WIRE_TOO_LONG;
	if (result.refusal) {
		IB_TRACE("soft", "port %u: no packet: %s", port->number,
			 wire_refusal_text(result.refusal));
		port_count(port, CNT_RCV_ERRORS, 1);
		return result;
	}
	if (link_watched())
		capture_bytes(port, bytes, len);
	result.outcome = hand_over(port, &w);
	if (result.outcome == SOFT_INJECT_STRAY)
		port_count(port, CNT_RCV_DROPPED, 1);
	return result;
}
