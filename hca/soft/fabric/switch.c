/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Virtual switches: an actor each, which forwards the packets in its arrivals by the linear
 * forwarding table (IBTA 18.2.4). The node that puts a packet into the arrivals kicks the
 * actor, so on an idle machine the sender's thread takes a packet through all switches.
 */
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

/* Returns the end that a packet leaves by. NULL: the switch drops the packet. */
static struct fabric_end *route(const struct fabric_switch *sw, const struct packet *pkt)
{
	uint32_t number = routes_lookup(&sw->fabric->routes, sw->node, pkt->route.dlid);

	/* port 0 is the switch itself, which has no agents yet; a packet never leaves by the port
	 * that it came in by */
	if (!number || number > sw->num_ports || number == pkt->in_port)
		return NULL;
	return sw->end[number].peer ? &sw->end[number] : NULL;
}

static void forward(struct runner *r, struct fabric_switch *sw, struct pooled *p)
{
	struct fabric_end *in = &sw->end[p->pkt.in_port], *out = route(sw, &p->pkt);

	counter_add(&in->rcv_packets, 1);
	counter_add(&in->rcv_bytes, p->pkt.length);
	if (!out) {
		counter_add(&in->relay_errors, 1);
		pool_home(r, &p->pkt);
		return;
	}
	counter_add(&out->xmit_packets, 1);
	counter_add(&out->xmit_bytes, p->pkt.length);
	fabric_arrive(r, out->peer, p);
}

static bool run_switch(struct runner *r, struct actor *a)
{
	struct fabric_switch *sw = a->self;
	struct pooled *p;

	actor_take(a); /* clears the kick; packets come by the arrivals */
	while ((p = arrivals_take(&sw->arrivals))) {
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
	/* release: pairs with the acquire in actor_kick() and actor_try_own(); publishes the fields
	 * above */
	atomic_store_explicit(&sw->actor.inbox, INBOX_IDLE, memory_order_release);
}

void switch_stop(struct fabric_switch *sw)
{
	struct pooled *p;

	if (actor_claim(&sw->actor))
		do
			actor_take(&sw->actor);
		while (!actor_kill(&sw->actor));
	while ((p = arrivals_take(&sw->arrivals)))
		pool_home(NULL, &p->pkt);
}
