/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast datagrams: how a datagram leaves a port for the subnet and for members at the port
 * itself, and how the members at a port that the datagram has come in by get their copies
 * (multicast.c). The groups are in port/mcast.h.
 */
#ifndef SOFT_MULTICAST_H
#define SOFT_MULTICAST_H

#include "hca/soft/link/link.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/mcast.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

struct runner;

/*
 * True: a multicast datagram, as IBTA 9.6.1.1.2 and 10.5.2 want such a datagram: the destination is
 * a multicast LID (from an Ethernet port: LID 0), queue pair 0xffffff and, in a GRH, a multicast GID.
 */
static inline bool packet_is_multicast(const struct packet *pkt)
{
	return UNLIKELY(pkt->dest_qpn == IB_QPN_MULTICAST) && pkt->service == WIRE_UD &&
	       !(pkt->flags & PKT_VL15) && pkt->route.global &&
	       (mcast_is_lid(pkt->route.dlid) || !pkt->route.dlid) &&
	       mcast_is_gid(&pkt->route.dgid);
}

/*
 * Gives a copy of a multicast datagram that leaves a port to each member at that port, in the HCA,
 * for the subnet never sends the datagram back.
 */
void multicast_leaves(struct runner *r, struct soft_port *port, struct packet *pkt);
/*
 * Gives a copy of a multicast datagram that has come in at a port to each member at that port. The
 * packet stays the caller's.
 */
void multicast_received(struct runner *r, struct soft_port *port, struct packet *pkt);

#endif
