/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Virtual switches: an actor each, which forwards the packets in its inbox by the linear
 * forwarding table (IBTA 18.2.4). The node that puts a packet into the inbox of an idle actor
 * owns the actor then, so on an idle machine the sender's thread takes a packet through all
 * switches.
 *
 * A switch of a static fabric copies multicast packets along a tree of all switches.
 *
 * A switch of a managed fabric looks at the states of its ports, has the packets for port 0 handed
 * to the queue pairs there, and copies multicast packets by the multicast forwarding table.
 */
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/mcast.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

/* ----------------------------------------------------------------- ports */

static bool is_vl15(const struct packet *pkt)
{
	return pkt->flags & PKT_VL15;
}

/* Counts an event at a port, which a switch of a static fabric does not have. */
static void count(struct fabric_end *end, enum port_counter counter)
{
	if (end->port)
		port_count(end->port, counter, 1);
}

/* True: a port lets a packet pass by its P_Key. Subnet management packets have none. */
static bool may_pass(const struct fabric_end *end, enum port_enforce direction,
		     const struct packet *pkt)
{
	struct soft_port *port = end->port;

	if (LIKELY(!port ||
		   !(atomic_load_explicit(&port->enforce, memory_order_relaxed) & direction)))
		return true;
	return is_vl15(pkt) || port_pkey_passes(port, direction, pkt);
}

/* True: the port that the packet came in by takes the packet, by its state and lanes. */
static bool comes_in(const struct fabric_switch *sw, const struct packet *pkt)
{
	struct soft_port *port = sw->end[pkt->in_port].port;

	if (!port)
		return true;
	port_take_good(port);
	if (!port_takes(port, is_vl15(pkt)))
		return false;
	if (UNLIKELY(!is_vl15(pkt) && !lane_operates(&port->lanes, pkt->route.lane))) {
		port_count(port, CNT_RCV_ERRORS, 1);
		return false;
	}
	if (UNLIKELY(port_state(port) == IB_PORT_ARMED) && !is_vl15(pkt))
		port_activate(port);
	return true;
}

/* Sends a packet out of an external port. */
static void leave(struct runner *r, struct fabric_end *out, struct pooled *p)
{
	if (!out->peer || (out->port && !port_sends(out->port, is_vl15(&p->pkt)))) {
		count(out, CNT_XMIT_DISCARDS);
		pool_home(r, &p->pkt);
		return;
	}
	if (UNLIKELY(!may_pass(out, ENFORCE_OUT, &p->pkt))) {
		pool_home(r, &p->pkt);
		return;
	}
	/* acquire: pairs with the release in output_set_rate() */
	if (UNLIKELY(atomic_load_explicit(&out->output, memory_order_acquire))) {
		output_send(r, out, p);
		return;
	}
	cable_count(out, p);
	cable_cross(r, out, p);
}

/* Finds the virtual lane on which a data packet leaves by a port (IBTA 7.6.6, 18.2.4). False: none
 * leads there. A static fabric has one data lane. */
static bool find_lane(const struct fabric_switch *sw, uint32_t number, struct packet *pkt)
{
	const struct soft_port *port = sw->end[number].port;

	if (!port || is_vl15(pkt))
		return true;
	pkt->route.lane = switch_lane(&sw->registers, pkt->in_port, number, pkt->route.sl);
	return lane_operates(&port->lanes, pkt->route.lane);
}

/* Hands a packet to a queue pair of port 0. */
static void enter(struct runner *r, struct fabric_switch *sw, struct pooled *p)
{
	struct soft_port *port = sw->end[0].port;

	if (!port || !link_hand_over(r, port, &p->pkt))
		pool_home(r, &p->pkt);
}

/* ------------------------------------------------------------------- multicast */

/* Sends a copy of a packet out of one port. A copy that there is no room for is lost, as a datagram
 * may be anywhere. */
static void leave_copy(struct runner *r, struct fabric_switch *sw, uint32_t number,
		       const struct pooled *p)
{
	struct fabric_end *out = &sw->end[number];
	uint32_t *held = output_copies(out);
	enum copy_result result;
	struct pooled *copy = NULL;

	if (!held || pool_may_hold(&sw->fabric->copies, held))
		copy = payload_keep(&sw->fabric->copies, &p->pkt, &result);
	if (!copy) {
		count(out, CNT_XMIT_DISCARDS);
		return;
	}
	if (held)
		pool_hold(copy, held);
	copy->wire_bytes = p->wire_bytes;
	if (UNLIKELY(!find_lane(sw, number, &copy->pkt))) {
		count(&sw->end[p->pkt.in_port], CNT_RELAY_ERRORS);
		pool_home(r, &copy->pkt);
		return;
	}
	leave(r, out, copy);
}

/*
 * Copies a multicast packet to the neighbours in the tree, and to the HCAs that have members: in a
 * static fabric to attach a queue pair is to join.
 */
static void flood(struct runner *r, struct fabric_switch *sw, struct pooled *p)
{
	const struct route *route = &p->pkt.route;
	struct fabric_end *end;
	struct soft_port *port;

	for (end = sw->end + 1; end <= sw->end + sw->num_ports; end++) {
		if (end->number == p->pkt.in_port || !end->peer)
			continue;
		port = end->peer->port;
		if (end->in_tree || (port && mcast_is_wanted(&port->ports->mcast, port->number,
							     &route->dgid, route->dlid)))
			leave_copy(r, sw, end->number, p);
	}
	pool_home(r, &p->pkt);
}

/* Copies a multicast packet to the ports of the table but for the port that the packet came in by
 * (IBTA 18.2.4.3.3). Port 0 has no members. */
static void replicate(struct runner *r, struct fabric_switch *sw, struct pooled *p)
{
	uint32_t position, ports, number;
	bool any = false;

	for (position = 0; position < sw->registers.positions; position++) {
		ports = switch_lookup_group(&sw->registers, p->pkt.route.dlid, position);
		for (; ports; ports &= ports - 1) {
			number = position * 16 + (uint32_t)__builtin_ctz(ports);
			any = true;
			if (number && number <= sw->num_ports && number != p->pkt.in_port)
				leave_copy(r, sw, number, p);
		}
	}
	if (!any)
		count(&sw->end[p->pkt.in_port], CNT_RELAY_ERRORS);
	pool_home(r, &p->pkt);
}

/* --------------------------------------------------------------------- unicast */

static bool is_multicast(const struct packet *pkt)
{
	return pkt->route.dlid >= IB_LID_MULTICAST_FIRST && pkt->route.dlid != IB_LID_PERMISSIVE;
}

/* Returns the number of the port that leads to a packet's destination; 0: the switch itself;
 * SWITCH_DROPS: none. */
static uint32_t look_up(const struct fabric_switch *sw, const struct packet *pkt)
{
	if (!sw->fabric->managed)
		return routes_lookup(&sw->fabric->routes, sw->node, pkt->route.dlid);
	if (!pkt->in_port && pkt->route.out_port)
		return pkt->route.out_port;
	if (pkt->route.dlid == IB_LID_PERMISSIVE)
		return is_vl15(pkt) ? 0 : SWITCH_DROPS;
	if (sw->end[0].port && port_has_lid(sw->end[0].port, pkt->route.dlid))
		return 0;
	return switch_lookup(&sw->registers, pkt->route.dlid);
}

static void forward(struct runner *r, struct fabric_switch *sw, struct pooled *p)
{
	struct fabric_end *in = &sw->end[p->pkt.in_port];
	uint32_t number;

	if (UNLIKELY(p->pkt.flags & PKT_BAD)) {
		cable_bad(in, p->pkt.flags & PKT_MARKED);
		pool_home(r, &p->pkt);
		return;
	}
	if (UNLIKELY(!comes_in(sw, &p->pkt))) {
		pool_home(r, &p->pkt);
		return;
	}
	if (p->pkt.in_port) {
		counter_add(&in->traffic.rx_packets, 1);
		counter_add(&in->traffic.rx_bytes, p->wire_bytes);
	}
	if (UNLIKELY(!may_pass(in, ENFORCE_IN, &p->pkt))) {
		pool_home(r, &p->pkt);
		return;
	}
	if (UNLIKELY(is_multicast(&p->pkt))) {
		if (sw->fabric->managed)
			replicate(r, sw, p);
		else
			flood(r, sw, p);
		return;
	}
	number = look_up(sw, &p->pkt);
	if (!number) {
		enter(r, sw, p);
	} else if (number > sw->num_ports || number == SWITCH_DROPS || number == p->pkt.in_port ||
		   !find_lane(sw, number, &p->pkt)) {
		/* a packet never leaves by the port that it came in by */
		count(in, CNT_RELAY_ERRORS);
		pool_home(r, &p->pkt);
	} else {
		leave(r, &sw->end[number], p);
	}
}

/* ----------------------------------------------------------------------- actor */

static bool run_switch(struct runner *r, struct actor *a)
{
	struct fabric_switch *sw = a->self;
	struct pooled *p;

	while ((p = arrivals_take(&sw->arrivals, a))) {
		r->trains--;
		forward(r, sw, p);
		if (runner_spent(r))
			return !arrivals_empty(&sw->arrivals);
	}
	return false;
}

static const struct actor_ops switch_ops = { .run = run_switch };

void switch_start(struct fabric_switch *sw)
{
	arrivals_init(&sw->arrivals);
	sw->actor.self = sw;
	sw->actor.engine = &sw->fabric->engine;
	sw->actor.ops = &switch_ops;
	/* release: pairs with the acquire in actor_push() and actor_try_own(); publishes the fields
	 * above */
	atomic_store_explicit(&sw->actor.inbox, INBOX_IDLE, memory_order_release);
}

void switch_stop(struct fabric_switch *sw)
{
	arrivals_end(&sw->arrivals, &sw->actor);
}
