/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric and its link: how packets leave a port of an HCA, and how they come in there. Switches
 * are in switch.c. */
#include "hca/soft/fabric/fabric.h"

#include <string.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/link/multicast.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/link/source.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

#define COPIES  4096 /* copies of multicast packets that all switches may have under way */
#define PACKETS 36  /* packets that a port may have under way on a data lane */
/* Packets of these that only responses may use, so that two ports full of requests can not wait for
 * each other. */
#define RESERVED 8
/* Packets of lane 0 that only lane 15 may use, so that data never hold up subnet management. */
#define MANAGEMENT 4
#define TICK_NS    1000u /* unit of the counter of waits */

/* A way out of a port: by the cable, or back to the port itself. The `to` of a path. */
struct way {
	struct fabric_port *from;
	struct fabric_end *by; /* the end by which a packet leaves; NULL: it takes no cable */
	struct fabric_end *to; /* the end at which a packet arrives; NULL: no cable */
};

/* Packets of one lane of a port. */
struct lane_pool {
	struct pool pool; /* first member: packet_came_home() casts the pool to its lane */
	struct fabric_port *fp;
};

/* The fabric's part of an HCA's port: soft_port.link_state. */
struct fabric_port {
	/*
	 * By data lane, so that no lane waits for another's packets to arrive. NULL: no packet has
	 * left on the lane. Lane 15 shares the packets of lane 0.
	 */
	_Atomic(struct lane_pool *) lane[LANES];
	struct soft_port *port;
	_Atomic uint64_t full_since; /* time at which a sender found no room; 0: none waits */
	struct actor actor; /* takes packets that have come in to their queue pairs */
	struct arrivals arrivals;
	struct waiting waiting; /* queue pairs of this port that found no room */
	struct way out, self;
};

/* ------------------------------------------------------------------- arrivals */

void arrivals_init(struct arrivals *a)
{
	a->lane[0].last = &a->lane[0].first;
	a->lane[1].last = &a->lane[1].first;
}

static void put_in_lanes(struct arrivals *a, struct packet *list)
{
	struct packet *pkt;
	int lane;

	while ((pkt = list)) {
		list = pkt->next;
		lane = pkt->flags & PKT_VL15 ? 1 : 0;
		pkt->next = NULL;
		*a->lane[lane].last = pkt;
		a->lane[lane].last = &pkt->next;
	}
}

struct pooled *arrivals_take(struct arrivals *a, struct actor *owned)
{
	struct packet *pkt;
	int lane;

	put_in_lanes(a, actor_take(owned));
	lane = a->lane[1].first ? 1 : 0;
	pkt = a->lane[lane].first;
	if (pkt) {
		a->lane[lane].first = pkt->next;
		if (!pkt->next)
			a->lane[lane].last = &a->lane[lane].first;
	}
	return (struct pooled *)pkt; /* pkt is the first member */
}

bool arrivals_empty(const struct arrivals *a)
{
	return !a->lane[0].first && !a->lane[1].first;
}

void arrivals_end(struct arrivals *a, struct actor *actor)
{
	struct pooled *p;

	if (!actor_claim(actor))
		return;
	do
		while ((p = arrivals_take(a, actor)))
			pool_home(NULL, &p->pkt);
	while (!actor_kill(actor));
}

/* Returns the actor of the node at an end. NULL: the topology's HCA is not this process's. */
static struct actor *actor_at(const struct fabric_end *at)
{
	struct fabric_port *fp;

	if (at->sw)
		return &at->sw->actor;
	if (!at->port)
		return NULL;
	fp = at->port->link_state;
	return &fp->actor;
}

void fabric_arrive(struct runner *r, struct fabric_end *at, struct pooled *p)
{
	struct actor *a = actor_at(at);

	p->pkt.in_port = at->number;
	if (!a || !actor_push(r, a, &p->pkt))
		pool_home(r, &p->pkt);
}

/* ----------------------------------------------------------------- operations */

/* Counts the time for which senders have waited. */
static void count_wait(struct fabric_port *fp)
{
	uint64_t since;

	if (LIKELY(!atomic_load_explicit(&fp->full_since, memory_order_relaxed)))
		return;
	since = atomic_exchange_explicit(&fp->full_since, 0, memory_order_relaxed);
	if (since)
		port_count(fp->port, CNT_XMIT_WAIT, (clock_ns() - since) / TICK_NS);
}

static void packet_came_home(struct runner *r, struct pool *pool)
{
	struct fabric_port *fp = ((struct lane_pool *)pool)->fp; /* pool is the first member */

	count_wait(fp);
	if (r) /* else payload_keep() has given the packet back, and fabric_send() kicks */
		waiting_kick(r, &fp->waiting);
}

/* Makes the packets of a lane. NULL: no memory. */
static struct lane_pool *make_lane(struct fabric_port *fp)
{
	struct lane_pool *lane = al_alloc_aligned(64, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->fp = fp;
	lane->pool.came_home = packet_came_home;
	if (!pool_create(&lane->pool, PACKETS, fp->port->ports->mtu))
		return lane;
	al_free(lane);
	return NULL;
}

static void free_lane(struct lane_pool *lane)
{
	if (lane)
		pool_destroy(&lane->pool);
	al_free(lane);
}

/* Returns the packets of a lane, which the first packet of the lane makes. A lane for which there
 * is no memory shares those of lane 0. */
static struct pool *pool_of_lane(struct fabric_port *fp, uint8_t number)
{
	const uint8_t index = number == LANE_MANAGEMENT ? 0 : number;
	/* acquire: pairs with the release below and in fabric_attach() */
	struct lane_pool *lane = atomic_load_explicit(&fp->lane[index], memory_order_acquire);
	struct lane_pool *made;

	if (LIKELY(lane))
		return &lane->pool;
	made = make_lane(fp);
	if (!made)
		return pool_of_lane(fp, 0);
	if (atomic_compare_exchange_strong_explicit(&fp->lane[index], &lane, made,
						    memory_order_acq_rel, memory_order_acquire))
		return &made->pool;
	free_lane(made);
	return &lane->pool;
}

static uint32_t room_now(struct pool *pool, uint32_t reserved)
{
	uint32_t left;

	fmutex_lock(&pool->lock);
	left = pool->left;
	fmutex_unlock(&pool->lock);
	return left > reserved ? left - reserved : 0;
}

static uint32_t fabric_room(const struct source *src, enum flow_index flow)
{
	struct fabric_port *fp = src->port->link_state;
	const bool management = !src->qpn;
	const uint8_t number =
		management ? LANE_MANAGEMENT : lanes_choose(&src->port->lanes, src->sl);
	const uint32_t reserved =
		management ? 0 : MANAGEMENT + (flow == FLOW_REQUEST ? RESERVED : 0);
	struct pool *pool = pool_of_lane(fp, number);
	uint32_t count = room_now(pool, reserved);
	uint64_t nobody = 0;

	if (count)
		return count;
	waiting_add(&fp->waiting, src->qpn);
	atomic_compare_exchange_strong_explicit(&fp->full_since, &nobody, clock_ns(),
						memory_order_relaxed, memory_order_relaxed);
	count = room_now(pool, reserved);
	if (count) /* packets may have come home before the time was noted */
		count_wait(fp);
	return count;
}

/* Multicast goes to the next node, which knows where members are. The sender's own port is not
 * among the ways. */
static void fabric_resolve_group(const struct soft_port *from, const struct route *route,
				 struct path *path)
{
	struct fabric_port *fp = from->link_state;

	*path = (struct path){ .lid = route->dlid };
	if (fp->out.to)
		path->to = &fp->out;
}

static void fabric_resolve(const struct soft_port *from, const struct route *route,
			   struct path *path)
{
	struct fabric_port *fp = from->link_state;

	*path = (struct path){ 0 };
	if (port_has_lid(from, route->dlid))
		path->to = &fp->self;
	else if (fp->out.to)
		path->to = &fp->out;
	path->lid = route->dlid;
	path->lid_mask =
		0xffff; /* the sender of a connection uses the source LID that our packets go to */
}

static void take_way(struct runner *r, const struct way *way, struct pooled *p)
{
	p->wire_bytes = packet_wire_bytes(&p->pkt);
	/* acquire: pairs with the release in output_set_rate() */
	if (UNLIKELY(way->by && atomic_load_explicit(&way->by->output, memory_order_acquire)))
		output_send(r, way->by, p);
	else
		fabric_arrive(r, way->to, p);
}

static bool fabric_send(struct runner *r, const struct path *path, struct packet *pkt)
{
	const struct way *way = path->to;
	enum copy_result result = COPY_DONE;
	struct packet one;
	struct pooled *p;
	struct pool *pool;
	uint32_t i;

	if (!way || !way->to || packet_lacks_lane(pkt))
		return false;
	pool = pool_of_lane(way->from, packet_lane(pkt));
	for (i = 0; i < pkt->num && result == COPY_DONE; i++) {
		one = packet_of_train(pkt, i);
		p = payload_keep(pool, &one, &result);
		if (p)
			take_way(r, way, p);
	}
	if (result == COPY_BAD_SOURCE) {
		pkt->flags |= PKT_BAD_SOURCE;
		packet_came_home(r, pool);
	}
	return false;
}

/* True: the packet's destination is the port. A wrong table leads packets astray, which then count
 * as dropped. */
static bool is_for(struct soft_port *port, const struct packet *pkt)
{
	if (port_has_lid(port, pkt->route.dlid) || packet_is_multicast(pkt) ||
	    (pkt->route.dlid == IB_LID_PERMISSIVE && pkt->flags & PKT_VL15))
		return true;
	port_count(port, CNT_RCV_DROPPED, 1);
	return false;
}

/* Hands a packet that has come in to its queue pair. False: the packet is still the caller's. */
static bool take_in(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	const struct fabric_port *fp = port->link_state;

	if (UNLIKELY(pkt->flags & PKT_BAD)) {
		cable_bad(fp->self.to, pkt->flags & PKT_MARKED);
		return false;
	}
	port_take_good(port);
	return is_for(port, pkt) && link_receive(r, port, pkt);
}

static bool run_port(struct runner *r, struct actor *a)
{
	struct soft_port *port = a->self;
	struct fabric_port *fp = port->link_state;
	struct pooled *p;

	while ((p = arrivals_take(&fp->arrivals, a))) {
		r->trains--;
		if (!take_in(r, port, &p->pkt))
			pool_home(r, &p->pkt);
		if (runner_spent(r))
			return !arrivals_empty(&fp->arrivals);
	}
	return false;
}

static const struct actor_ops port_ops = { .run = run_port };

/* Packets by value refer to nothing of their sender's, so none has to come back. */
static void fabric_recall(const struct soft_port *from, uint32_t qpn, const struct recall *recall)
{
	(void)from, (void)qpn, (void)recall;
}

static bool fabric_count_receive_error(const struct path *path)
{
	const struct way *way = path->to;

	if (!way || !way->to)
		return false;
	cable_bad(way->to, false);
	return true;
}

static struct actor *fabric_near(const struct path *path, uint32_t qpn)
{
	(void)path, (void)qpn;
	return NULL;
}

static al_status fabric_attach(struct soft_port *port, struct engine *engine)
{
	struct fabric_port *fp = al_alloc_aligned(64, sizeof(*fp));
	struct lane_pool *lane;

	if (!fp)
		return AL_INSUFFICIENT_MEMORY;
	fp->port = port;
	lane = make_lane(fp);
	if (!lane || waiting_create(&fp->waiting, port)) {
		free_lane(lane);
		al_free(fp);
		return AL_INSUFFICIENT_MEMORY;
	}
	atomic_store_explicit(&fp->lane[0], lane, memory_order_release);
	fp->out.from = fp->self.from = fp;
	port->link_state = fp;
	arrivals_init(&fp->arrivals);
	fp->actor.self = port;
	fp->actor.engine = engine;
	fp->actor.ops = &port_ops;
	/* release: pairs with the acquire in actor_push() and actor_try_own(); publishes the fields
	 * above */
	atomic_store_explicit(&fp->actor.inbox, INBOX_IDLE, memory_order_release);
	return AL_SUCCESS;
}

static void fabric_detach(struct soft_port *port)
{
	struct fabric_port *fp = port->link_state;
	uint32_t i;

	port->link_state = NULL;
	for (i = 0; i < LANES; i++)
		free_lane(atomic_load_explicit(&fp->lane[i], memory_order_relaxed));
	waiting_destroy(&fp->waiting);
	al_free(fp);
}

const struct link_ops link_fabric = {
	.name = "fabric",
	.attach = fabric_attach,
	.detach = fabric_detach,
	.resolve = fabric_resolve,
	.resolve_group = fabric_resolve_group,
	.room = fabric_room,
	.send = fabric_send,
	.recall = fabric_recall,
	.count_receive_error = fabric_count_receive_error,
	.near = fabric_near,
};

/* ----------------------------------------------------------------- the fabric */

void fabric_join(struct fabric *fabric, uint32_t index, struct soft_port *port)
{
	struct fabric_end *end = &fabric->ends[index];
	struct fabric_port *fp = port->link_state;

	end->port = port;
	if (end->peer && end->peer->port) {
		port->cable = end->peer->port;
		port->cable->cable = port;
	}
	if (end->sw)
		counters_join(port, &end->counted, &end->traffic);
	if (!fp)
		return;
	/* what port 0 of a switch sends arrives at the switch itself */
	fp->out.to = end->sw ? end : end->peer;
	fp->out.by = end->sw ? NULL : end;
	fp->self.to = end;
}

static void connect_ends(struct fabric *f)
{
	const struct topology *t = &f->topology;
	uint32_t i;

	for (i = 0; i < t->num_ports; i++) {
		f->ends[i].fabric = f;
		f->ends[i].number = t->ports[i].number;
		if (t->ports[i].peer != TOPOLOGY_NONE)
			f->ends[i].peer = &f->ends[t->ports[i].peer];
	}
}

static al_status make_switch(struct fabric *f, struct fabric_switch *sw, uint32_t node)
{
	const struct topology_node *n = &f->topology.nodes[node];
	uint32_t i;

	sw->fabric = f;
	sw->node = node;
	sw->num_ports = n->num_ports;
	sw->end = &f->ends[n->first_port];
	for (i = 0; i <= n->num_ports; i++)
		sw->end[i].sw = sw;
	switch_start(sw);
	return f->managed ? switch_registers_create(&sw->registers, n->num_ports, n->enhanced)
			  : AL_SUCCESS;
}

static uint32_t count_switches(const struct topology *t)
{
	uint32_t i, num = 0;

	for (i = 0; i < t->num_nodes; i++)
		num += t->nodes[i].type == IB_NODE_SWITCH;
	return num;
}

/* Adds the neighbours of a switch that no tree has reached to the tree, and to the list at *last.
 */
static struct fabric_switch **reach_neighbours(struct fabric_switch *sw,
					       struct fabric_switch **last)
{
	struct fabric_end *end, *peer;

	for (end = sw->end + 1; end <= sw->end + sw->num_ports; end++) {
		peer = end->peer;
		if (!peer || !peer->sw || peer->sw->reached)
			continue;
		peer->sw->reached = true;
		end->in_tree = peer->in_tree = true;
		*last = peer->sw;
		last = &peer->sw->next;
	}
	return last;
}

/* Makes a tree of the switches that cables join, by breadth: multicast takes each cable of the tree
 * once, and no other. */
static void grow_trees(struct fabric *f)
{
	struct fabric_switch *root, *sw, **last;

	for (root = f->switches; root < f->switches + f->num_switches; root++) {
		if (root->reached)
			continue;
		root->reached = true;
		last = &root->next;
		for (sw = root; sw; sw = sw->next)
			last = reach_neighbours(sw, last);
	}
}

static al_status make_switches(struct fabric *f)
{
	al_status status = AL_SUCCESS;
	uint32_t i;

	for (i = 0; i < f->topology.num_nodes && !status; i++)
		if (f->topology.nodes[i].type == IB_NODE_SWITCH)
			status = make_switch(f, &f->switches[f->num_switches++], i);
	if (!status && !f->managed)
		grow_trees(f);
	if (!status && f->num_switches &&
	    pool_create(&f->copies, COPIES, ib_mtu_bytes(IB_MTU_4096)))
		status = AL_INSUFFICIENT_MEMORY;
	return status;
}

al_status fabric_create(struct fabric **fabric, struct topology *topology, struct routes *routes)
{
	struct fabric *f = al_alloc_aligned(64, sizeof(*f));
	al_status status;

	*fabric = f;
	if (!f) {
		topology_free(topology);
		if (routes)
			routes_free(routes);
		return AL_INSUFFICIENT_MEMORY;
	}
	f->topology = *topology;
	memset(topology, 0, sizeof(*topology));
	f->managed = !routes;
	if (routes) {
		f->routes = *routes;
		memset(routes, 0, sizeof(*routes));
	}
	engine_init(&f->engine, "fabric");
	cables_start(f);
	f->ends = al_alloc(f->topology.num_ports * sizeof(*f->ends));
	f->switches =
		al_alloc_aligned(64, (count_switches(&f->topology) + 1) * sizeof(*f->switches));
	if (!f->ends || !f->switches)
		return AL_INSUFFICIENT_MEMORY;
	connect_ends(f);
	status = make_switches(f);
	return status ? status : engine_start(&f->engine);
}

/* Ends a port's actor, and drops the packets that have come in at the port. */
static void stop_port(struct soft_port *port)
{
	struct fabric_port *fp = port->link_state;

	arrivals_end(&fp->arrivals, &fp->actor);
}

void fabric_stop(struct fabric *f)
{
	uint32_t i;

	for (i = 0; i < f->num_switches; i++)
		switch_stop(&f->switches[i]);
	cables_stop(f);
	for (i = 0; f->ends && i < f->topology.num_ports; i++)
		if (f->ends[i].port && f->ends[i].port->link_state)
			stop_port(f->ends[i].port);
	engine_stop(&f->engine);
}

void fabric_destroy(struct fabric *f)
{
	uint32_t i;

	if (!f)
		return;
	engine_end(&f->engine);
	for (i = 0; i < f->num_switches; i++)
		switch_registers_destroy(&f->switches[i].registers);
	cables_destroy(f);
	pool_destroy(&f->copies);
	al_free(f->switches);
	al_free(f->ends);
	routes_free(&f->routes);
	topology_free(&f->topology);
	al_free(f);
}
