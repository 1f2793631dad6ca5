/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What sends packets from a port: the part of a queue pair that links, and the hooks of tests, know. */
#ifndef SOFT_SOURCE_H
#define SOFT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/link/link.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"

/* All of a source is its owner's to write. */
struct source {
	struct traffic traffic;
	uint64_t flow[2];        /* packets sent since Reset, by enum flow_index */
	uint64_t spared[2];      /* no fault rule meets a packet of the flow from that one to before this number */
	struct soft_port *port;  /* NULL: none yet */
	struct path path;        /* to the peer; a datagram has one of its own */
	uint32_t qpn, dest_qpn;
	uint16_t pkey;
	uint8_t mtu_shift;       /* log2 of the path MTU */
	bool global;             /* packets have a GRH */
	uint32_t spared_by;      /* faults.generation of the rules by which spared[] was drawn */
	uint8_t service;         /* enum wire_service */
};

/* Packets of a flow that the source may send now; 0: none, and its actor is kicked when the link has room again. */
static inline uint32_t source_room(const struct source *src, enum flow_index flow)
{
	const struct link_ops *link = src->port->link;

	return LIKELY(!link->room) ? UINT32_MAX : link->room(src, flow);
}

#endif
