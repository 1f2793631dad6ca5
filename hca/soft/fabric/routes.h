/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * LIDs and linear forwarding tables of a topology, for a subnet without a subnet manager (`subnet =
 * static`): every packet takes a shortest path. Deadlock is no subject, since simulated switches
 * have no buffers that could fill.
 */
#ifndef SOFT_ROUTES_H
#define SOFT_ROUTES_H

#include "topo/topology.h"

/* The entry of a LID that the switch drops, as in IBTA's tables. */
#define ROUTES_UNREACHABLE 255u
#define ROUTES_MAX_TABLES  (256u << 20) /* bytes of all forwarding tables together */

/* Indices of nodes and ports are the topology's. */
struct routes {
	uint16_t *lid;     /* by port: the base LID of an end port; 0: none, as without a cable */
	uint8_t *lmc;      /* by port */
	uint32_t *port_of; /* by LID up to top_lid: the end port, or TOPOLOGY_NONE */
	uint32_t *row;     /* by node: index of a switch's table, or TOPOLOGY_NONE for an HCA */
	uint8_t *tables;   /* of all switches; each has top_lid + 1 entries: the port to leave by */
	uint32_t num_switches;
	uint32_t top_lid; /* the highest LID in use */
};

/*
 * Makes LIDs and tables. An end port keeps the LID of the text if that is a unicast LID, a multiple
 * of 2^LMC, and no LID of an end port before; others get the lowest LIDs that are free, in the
 * order of ports[]. An HCA's port without a cable gets none. A base port 0 of a switch has LMC 0
 * (IBTA 14.2.5.6).
 *
 * Of several ports on shortest paths a switch takes the one with the fewest LIDs of HCAs so far,
 * the lowest of those; LIDs to which one port only leads have been counted before. So the numbers
 * of LIDs differ by 1 at most between the ports upwards of a switch in a fat tree, and between both
 * directions of a ring; in a square torus no port has more than 5/4 of the average, rounded up.
 *
 * AL_LIMIT_EXCEEDED: there are fewer unicast LIDs than the subnet needs, or the tables are larger
 * than ROUTES_MAX_TABLES; *r is then empty. AL_INSUFFICIENT_MEMORY: likewise.
 */
al_status routes_make(struct routes *r, const struct topology *t);
void routes_free(struct routes *r);

/*
 * Returns the port by which a switch forwards a LID: 0 for the switch's own LIDs,
 * ROUTES_UNREACHABLE for LIDs that the switch drops.
 */
static inline uint32_t routes_lookup(const struct routes *r, uint32_t node, uint32_t lid)
{
	return lid > r->top_lid ? ROUTES_UNREACHABLE
				: r->tables[(size_t)r->row[node] * (r->top_lid + 1) + lid];
}

#endif
