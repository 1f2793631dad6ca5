/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Copies of multicast datagrams for the members at a port. Each copy has its payload by value and
 * comes from the pool of the members' HCA. A member that the pool has no copy for loses the
 * datagram, as a datagram may be lost anywhere.
 */
#include "hca/soft/link/multicast.h"

#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/packet/wire.h"

/* Gives a member a copy. Under mcast.lock. */
static void give_copy(struct runner *r, struct soft_port *port, struct mcast_qp *to,
		      struct packet *pkt)
{
	struct pool *pool = &port->ports->mcast.pool;
	enum copy_result result = COPY_NO_MEMORY;
	struct pooled *copy = NULL;

	if (pool_may_hold(pool, &to->copies))
		copy = payload_keep(pool, pkt, &result);
	if (!copy) {
		if (result == COPY_BAD_SOURCE)
			pkt->flags |= PKT_BAD_SOURCE; /* tells the sender that the payload's memory
							 was deregistered */
		else
			port_count(port, CNT_RCV_DROPPED, 1);
		return;
	}
	copy->pkt.in_port = port->number;
	pool_hold(copy, &to->copies);
	if (!actor_push(r, to->actor, &copy->pkt))
		pool_home(r, &copy->pkt);
}

/*
 * Gives each member at a port a copy, but for a sender at that port (source, 0: none) that blocks
 * its own datagrams. False: the group has no member at the port.
 */
static bool give_copies(struct runner *r, struct soft_port *port, struct packet *pkt,
			uint32_t source)
{
	struct mcast *m = &port->ports->mcast;
	const struct mcast_member *member;
	const struct mcast_group *group;
	bool any = false;

	fmutex_lock(&m->lock);
	group = mcast_find(m, &pkt->route.dgid, pkt->route.dlid);
	for (member = group ? group->members : NULL; member; member = member->next) {
		if (atomic_load_explicit(&member->qp->port, memory_order_relaxed) != port->number)
			continue;
		any = true;
		if (!member->qp->blocks_own || member->qp->qpn != source)
			give_copy(r, port, member->qp, pkt);
	}
	fmutex_unlock(&m->lock);
	return any;
}

void multicast_leaves(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	if (LIKELY(port_takes(port, false)))
		give_copies(r, port, pkt, pkt->src_qpn);
}

void multicast_received(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	const struct wire_op *op = &wire_ops[wire_opcode(WIRE_UD, pkt->kind, PLACE_ONLY)];

	port_count(port, CNT_MULTICAST_RCV, 1);
	port_count(port, CNT_MULTICAST_RCV_BYTES,
		   LRH_BYTES + GRH_BYTES + BTH_BYTES + op->ext_bytes + ((pkt->length + 3u) & ~3u) +
			   CRC_BYTES);
	/* source filtering: the members at the sender's port have got their copies when the
	 * datagram left */
	if (port_is_source(port, &pkt->route) || !give_copies(r, port, pkt, 0))
		port_count(port, CNT_RCV_DROPPED, 1);
}
