/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet management interface of a node, IBTA 14.2.2: the next step of a subnet management
 * packet. Pure functions of the packet and of the node's shape: the caller sends, looks up
 * forwarding tables, and knows the LIDs of the node.
 *
 * A directed route has up to three parts: a LID-routed part (unless DrSLID is the permissive LID),
 * the directed part, and another LID-routed part (unless DrDLID is the permissive LID). The hop
 * pointer is 0 before the directed part, from 1 to the hop count in the directed part, and the hop
 * count plus 1 behind the directed part. Neither function uses LIDs of the local route header: a
 * work completion does not tell the destination LID, and the hop pointer suffices.
 */
#ifndef IBAL_MAD_SMI_H
#define IBAL_MAD_SMI_H

#include <stdbool.h>

#include <iba/ib_mad.h>

enum smi_verdict {
	SMI_DROP,    /* the packet is malformed, or its path is impossible at this node */
	SMI_LOCAL,   /* for this node's agents or local managers */
	SMI_FORWARD, /* out of smi_way.port, with permissive LIDs in the local route header */
	SMI_ROUTE,   /* LID-routed to smi_way.dlid from one of this node's LIDs. If the LID is the
		      * node's own, the caller   calls smi_receive() with the packet as if the packet
		      * had come in by the node's own port. */
};

/* The node's shape. */
struct smi_node {
	bool is_switch;
	uint8_t num_ports; /* physical ports, 1 to 254 */
};

/* The next step of a packet. */
struct smi_way {
	uint8_t port;  /* SMI_FORWARD: port to leave by; else 0 */
	uint16_t dlid; /* SMI_ROUTE: destination LID; else the permissive LID */
};

/* Bit D of a directed route: the packet is on its way back. */
static inline bool smi_returning(const struct ib_smp *smp)
{
	return ib_be16_get(smp->status) & IB_SMP_DIRECTION;
}

/*
 * A packet that came in by a physical port, or (after SMI_ROUTE to an own LID) from the node
 * itself. Updates hop pointer and return path. in_port: 1 to num_ports; 0 on a switch for a packet
 * from the node itself.
 */
enum smi_verdict smi_receive(const struct smi_node *node, uint8_t in_port, struct ib_smp *smp,
			     struct smi_way *way);

/*
 * A packet that an agent or a local manager of this node sends from a port, to a LID that the
 * sender names. Updates the hop pointer. SMI_LOCAL: a hop count of 0, or a response to such a
 * request.
 */
enum smi_verdict smi_send(const struct smi_node *node, uint8_t port, uint16_t dlid,
			  struct ib_smp *smp, struct smi_way *way);

#endif
