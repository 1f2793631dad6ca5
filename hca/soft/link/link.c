/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Code common to all links: packets that come in at a port, and pollers. Each link's operations are in the link's own
 * file.
 */
#include "hca/soft/link/link.h"

#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/multicast.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

const struct link_ops *link_of_ports = &link_loop;

void link_resolve(const struct soft_port *from, const struct packet *pkt, struct path *path)
{
	*path = (struct path){ 0 };
	if (!packet_is_multicast(pkt))
		from->link->resolve(from, &pkt->route, path);
	else if (from->link->resolve_group)
		from->link->resolve_group(from, &pkt->route, path);
}

bool link_pass(struct runner *r, struct soft_port *from, struct packet *pkt)
{
	struct path path;

	if (packet_is_multicast(pkt))
		multicast_leaves(r, from, pkt);
	link_resolve(from, pkt, &path);
	return from->link->send(r, &path, pkt);
}

bool link_receive(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	if (UNLIKELY(!port_takes(port, pkt->flags & PKT_VL15)))
		return false;
	if (UNLIKELY(!(pkt->flags & PKT_VL15) && !lane_operates(&port->lanes, pkt->route.lane))) {
		port_count(port, CNT_RCV_ERRORS, pkt->num);
		return false;
	}
	if (UNLIKELY(port_state(port) == IB_PORT_ARMED) && !(pkt->flags & PKT_VL15))
		port_activate(port);
	pkt->in_port = port->number;
	return link_hand_over(r, port, pkt);
}

bool link_hand_over(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	struct actor *a;

	/* SOFT_INJECT has shown an injected packet (PKT_WIRE) already, as the bytes that the caller gave */
	if (link_watched() && !(pkt->flags & PKT_WIRE))
		link_hooks->received(port, pkt);
	if (UNLIKELY(packet_is_multicast(pkt))) {
		multicast_received(r, port, pkt);
		return false;
	}
	if (UNLIKELY(pkt->dest_qpn < SPECIAL_QPS && port->ports->own) &&
	    port->ports->own->take(r, port, pkt))
		return false;
	a = port_actor(port, pkt->dest_qpn);
	if (LIKELY(a && actor_push(r, a, pkt)))
		return true;
	IB_TRACE("soft", "dropped: port %u has no queue pair %#x that takes packets", port->number,
		 pkt->dest_qpn);
	port_count(port, CNT_RCV_DROPPED, pkt->num);
	return false;
}

/* ------------------------------------------------------------------- pollers */

static bool poll_port(struct runner *r, struct actor *a)
{
	struct soft_port *port = ((struct poller *)a->self)->port;

	actor_take(a); /* clears the kick; pollers get no packets by their inbox */
	return port->link->poll(r, port);
}

static const struct actor_ops poller_ops = { .run = poll_port };

void poller_start(struct poller *poller, struct soft_port *port, struct engine *engine)
{
	poller->port = port;
	poller->actor.self = poller;
	poller->actor.engine = engine;
	poller->actor.ops = &poller_ops;
	/* release: pairs with the acquire in actor_kick() and actor_try_own(); publishes the fields above */
	atomic_store_explicit(&poller->actor.inbox, INBOX_IDLE, memory_order_release);
}

void poller_kick(struct runner *r, struct poller *poller)
{
	actor_kick(r, &poller->actor);
}

void poller_stop(struct poller *poller)
{
	if (!actor_claim(&poller->actor))
		return;
	do
		actor_take(&poller->actor);
	while (!actor_kill(&poller->actor));
}
