/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sources: the part of a queue pair that sends packets from a port, which is all that links and the
 * hooks of tests know of a queue pair. The rest of a connection is in transport/qp.h. A port's own
 * management agents (firmware/) have sources, too.
 */
#ifndef SOFT_SOURCE_H
#define SOFT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/link/multicast.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* Only the owner of the queue pair's actor, or of the agents', writes a source. */
struct source {
	struct traffic traffic;  /* counters of packets and bytes */
	uint64_t flow[2];        /* packets sent since Reset, by enum flow_index */
	/* by flow: no fault rule meets the packets after the last one sent and before this number */
	uint64_t spared[2];
	struct soft_port *port;  /* port that packets leave; NULL: the queue pair has no port yet */
	struct path path; /* path to the peer of a connection; each datagram has its own path */
	uint32_t qpn, dest_qpn;  /* number of this queue pair, number of the peer's */
	uint8_t sl : 4;          /* service level of the next packet */
	bool of_agents : 1;  /* the source is of a port's own agents, and no queue pair has it */
	uint8_t pkey_index;  /* the P_Key is the port's at this index, at the time of each packet */
	uint8_t mtu_shift;   /* log2 of the path MTU */
	uint8_t service;         /* enum wire_service */
	uint32_t spared_by; /* faults.generation of the rules that spared[] was computed from */
};

static inline uint16_t source_pkey(const struct source *src)
{
	return port_pkey(src->port, src->pkey_index);
}

/*
 * Returns how many packets of a flow the source may send now. 0: none; the link kicks the source's actor when there
 * is room.
 */
static inline uint32_t source_room(const struct source *src, enum flow_index flow)
{
	const struct link_ops *link = src->port->link;

	return LIKELY(!link->room) ? UINT32_MAX : link->room(src, flow);
}

/* A connection has one path; the path of a datagram is that of the datagram's route. */
static inline bool source_pass(struct runner *r, const struct source *src, struct packet *pkt)
{
	if (LIKELY(src->service != WIRE_UD))
		return src->port->link->send(r, &src->path, pkt);
	return link_pass(r, src->port, pkt);
}

/*
 * Sends a train that is addressed: numbers the packets in their flow, lets faults decide, counts
 * the packets, and passes the train to the link. bytes: of the train on the wire. True: the train
 * goes home later. False: the train is still the caller's, who sends it home. Then the caller calls
 * source_sent(), in either case.
 */
static inline bool source_send(struct runner *r, struct source *src, struct packet *pkt,
			       enum flow_index flow, uint64_t bytes)
{
	struct soft_port *port = src->port;
	const uint64_t first = src->flow[flow] + 1;
	enum verdict verdict = PACKET_PASSES;

	src->flow[flow] += pkt->num;
	if (UNLIKELY(port_faulty(port)))
		verdict = link_hooks->leaves(r, src, pkt, flow, first);
	if (UNLIKELY(!port_sends(port, pkt->flags & PKT_VL15) || packet_lacks_lane(pkt))) {
		port_count(port, CNT_XMIT_DISCARDS, pkt->num);
		return false;
	}
	counter_add(&src->traffic.tx_bytes, bytes);
	counter_add(&src->traffic.tx_packets, pkt->num);
	if (packet_is_multicast(pkt))
		port_count(port, CNT_MULTICAST_XMIT, 1);
	if (link_watched())
		link_hooks->sent(src, pkt);
	if (UNLIKELY(verdict == PACKET_LOST))
		port_count(port, CNT_XMIT_DISCARDS, pkt->num);
	return LIKELY(!verdict) && source_pass(r, src, pkt);
}

/* Tells the faults that all packets of a flow up to the last one have left. */
static inline void source_sent(struct runner *r, struct source *src, enum flow_index flow)
{
	if (UNLIKELY(port_faulty(src->port)))
		link_hooks->left(r, src, flow, src->flow[flow]);
}

#endif
