/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Makes the packets of a train, and the bytes that each packet has on an InfiniBand wire. The codec is packet/wire.c.
 */
#include <string.h>

#include "hca/soft/link/serial.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"

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

static void set_route(struct wire_packet *w, const struct route *route)
{
	w->framing = WIRE_IB;
	w->lrh.sl = route->sl;
	w->lrh.dlid = route->dlid;
	w->lrh.slid = route->slid;
	w->lrh.global = route->global;
	if (!w->lrh.global)
		return;
	w->grh.tclass = (uint8_t)(route->class_flow >> 20);
	w->grh.flow_label = route->class_flow & 0xfffff;
	w->grh.hop_limit = route->hop_limit;
	put_gid(w->grh.sgid, route->sgid);
	put_gid(w->grh.dgid, route->dgid);
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

size_t pkt_bytes_of(const struct packet *train, uint32_t i, uint8_t *bytes)
{
	struct packet one = packet_of_train(train, i);
	uint8_t *payload;
	struct wire_packet w;

	memset(&w, 0, sizeof(w));
	set_route(&w, &one.route);
	w.lrh.vl = packet_lane(&one);
	set_transport(&w, &one);
	w.length = one.length;
	w.payload = payload = bytes + wire_header_bytes(&w);
	if (one.length && payload_copy(payload, &one) != COPY_DONE)
		return 0;
	return wire_encode(&w, bytes, WIRE_MAX_BYTES);
}
