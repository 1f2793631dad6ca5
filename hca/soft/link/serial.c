/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Makes the packets of a train, and the bytes that each packet has on a wire, InfiniBand's or RoCEv2's. The codec is
 * packet/wire.c.
 */
#include <string.h>

#include "hca/soft/link/serial.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

struct packet packet_of_train(const struct packet *train, uint32_t i)
{
	uint32_t skip = i << train->mtu_shift;
	struct packet one = *train;
	bool last = i + 1 == train->num;

	one.num = 1;
	one.psn = psn_add(train->psn, i);
	one.place = (uint8_t)((i ? 0 : train->place & PLACE_FIRST) |
			      (last ? train->place & PLACE_LAST : 0));
	one.length = last ? train->length - skip : 1u << train->mtu_shift;
	one.offset += skip;
	/* only the train's last packet asks for an ACK, and only the message's last packet is solicited */
	if (!last)
		one.flags &= (uint8_t) ~(PKT_ACK_REQ | PKT_SOLICITED);
	return one;
}

uint32_t packet_wire_bytes(const struct packet *pkt)
{
	const struct wire_op *op = &wire_ops[wire_opcode(pkt->service, pkt->kind, pkt->place)];

	return LRH_BYTES + (pkt->route.global ? GRH_BYTES : 0) + BTH_BYTES + op->ext_bytes +
	       ((pkt->length + 3u) & ~3u) + CRC_BYTES;
}

static void put_gid(uint8_t *to, ib_gid gid)
{
	memcpy(to, gid.raw, sizeof(gid.raw));
}

enum wire_framing pkt_framing(const struct soft_port *port, const struct packet *pkt)
{
	if (!port->ethernet)
		return WIRE_IB;
	return ib_gid_is_ip4(&pkt->route.sgid) ? WIRE_ROCE4 : WIRE_ROCE6;
}

/*
 * The UDP source port names the flow, so that switches keep its order (IBTA A17.5.3): from the flow label, or if there
 * is none from the queue pairs.
 */
static uint16_t udp_source(const struct packet *pkt)
{
	uint32_t flow = pkt->route.class_flow & 0xfffff;

	if (!flow)
		flow = (pkt->src_qpn * 31 + pkt->dest_qpn) & 0xfffff;
	return (uint16_t)(0xc000 | ((flow ^ flow >> 14) & 0x3fff));
}

static void set_ethernet(struct wire_packet *w, const struct soft_port *port, const struct packet *pkt)
{
	port_mac_of(port, &pkt->route.sgid, w->eth.src);
	port_mac_of(port, &pkt->route.dgid, w->eth.dst);
	w->udp.src_port = udp_source(pkt);
}

static void set_local_route(struct wire_packet *w, const struct route *route)
{
	w->lrh.sl = route->sl;
	w->lrh.dlid = route->dlid;
	w->lrh.slid = route->slid;
	w->lrh.global = route->global;
}

void pkt_set_global_headers(const struct packet *pkt, struct wire_packet *w)
{
	const struct route *route = &pkt->route;

	w->grh.tclass = (uint8_t)(route->class_flow >> 20);
	w->grh.flow_label = route->class_flow & 0xfffff;
	w->grh.hop_limit = route->hop_limit;
	put_gid(w->grh.sgid, route->sgid);
	put_gid(w->grh.dgid, route->dgid);
	if (LIKELY(!ib_gid_is_ip4(&route->sgid)))
		return;
	w->ip4.tos = w->grh.tclass;
	w->ip4.ttl = w->grh.hop_limit;
	w->ip4.dont_fragment = true;
	memcpy(w->ip4.src, route->sgid.raw + 12, sizeof(w->ip4.src));
	memcpy(w->ip4.dst, route->dgid.raw + 12, sizeof(w->ip4.dst));
}

static void set_transport(struct wire_packet *w, const struct packet *pkt)
{
	bool add = pkt->kind == PKT_FETCH_ADD;

	w->bth.opcode = wire_opcode(pkt->service, pkt->kind, pkt->place);
	w->bth.solicited = pkt->flags & PKT_SOLICITED && pkt->place & PLACE_LAST;
	w->bth.migrated = true;
	w->bth.ack_req = pkt->flags & PKT_ACK_REQ && pkt->service == WIRE_RC;
	w->bth.pkey = pkt->pkey;
	w->bth.dest_qpn = pkt->dest_qpn;
	w->bth.psn = pkt->psn;
	w->reth.va = pkt->va;
	w->reth.rkey = pkt->rkey;
	w->reth.dma_len = pkt->dma_len;
	w->atomic.va = pkt->va;
	w->atomic.rkey = pkt->rkey;
	w->atomic.swap_add = add ? pkt->compare_add : pkt->swap;
	w->atomic.compare = add ? 0 : pkt->compare_add;
	w->aeth.syndrome = pkt->syndrome;
	w->aeth.msn = pkt->ex;
	w->orig = pkt->compare_add;
	w->imm = pkt->ex;
	if (pkt->service != WIRE_UD)
		return;
	w->deth.qkey = pkt->qkey;
	w->deth.src_qpn = pkt->src_qpn;
}

size_t pkt_bytes_of(const struct soft_port *port, const struct packet *train, uint32_t i, uint8_t *bytes)
{
	struct packet one = packet_of_train(train, i);
	uint8_t *payload;
	struct wire_packet w;

	memset(&w, 0, sizeof(w));
	w.framing = pkt_framing(port, &one);
	set_local_route(&w, &one.route);
	if (one.route.global)
		pkt_set_global_headers(&one, &w);
	if (port->ethernet)
		set_ethernet(&w, port, &one);
	w.lrh.vl = packet_lane(&one);
	set_transport(&w, &one);
	w.length = one.length;
	w.payload = payload = bytes + wire_header_bytes(&w);
	if (one.length && payload_copy(payload, &one) != COPY_DONE)
		return 0;
	return wire_encode(&w, bytes, WIRE_MAX_BYTES);
}
