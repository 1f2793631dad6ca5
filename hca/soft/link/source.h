/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sources: the part of a queue pair that sends packets from a port, which is all that links and the hooks of tests
 * know of a queue pair. The rest of a connection is in transport/qp.h.
 */
#ifndef SOFT_SOURCE_H
#define SOFT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/link/link.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"

/* Only the owner of the queue pair's actor writes a source. */
struct source {
	struct traffic traffic;  /* counters of packets and bytes */
	uint64_t flow[2];        /* packets sent since Reset, by enum flow_index */
	/* by flow: no fault rule meets the packets after the last one sent and before this number */
	uint64_t spared[2];
	struct soft_port *port;  /* port that packets leave; NULL: the queue pair has no port yet */
	struct path path; /* path to the peer of a connection; each datagram has its own path */
	uint32_t qpn, dest_qpn;  /* number of this queue pair, number of the peer's */
	uint8_t sl;              /* service level of the next packet */
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

#endif
