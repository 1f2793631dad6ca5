/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Management agents of the ports' own: see firmware.h. */
#include "hca/soft/firmware/firmware.h"

#include <string.h>

#include <iba/ib_notice.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/timer.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/link/link.h"
#include "hca/soft/link/multicast.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/link/source.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "mad/gsi.h"
#include "mad/node.h"

#define PACKETS 64 /* packets that the agents of a node may have under way */
#define NOTICES 16 /* notices that the agents have not taken */

/* The source of the agents' packets: one special queue pair number of a port. */
struct sender {
	struct source source;
	struct traffic_link counted;
};

struct waiting_notice {
	uint8_t port;
	struct ib_notice notice;
};

/* The agents of a node. The actor's owner has all but what lock guards. */
struct firmware {
	struct mad_node node;
	struct actor actor;
	struct pool pool;
	struct engine *engine;
	struct ports *ports;
	uint32_t num; /* ports with special queue pairs: ports->port[0] to [num - 1] */
	firmware_attr read_or_write;
	struct sender *senders;       /* SPECIAL_QPS for each of these ports */
	const struct ib_smp *request; /* request that is being carried out; NULL: none */
	struct soft_port *request_port;

	struct fmutex lock; /* guards the members below; a leaf but for timers.lock */
	struct timer timer;
	struct waiting_notice notices[NOTICES];
	uint32_t num_notices;
};

static struct firmware *firmware_of(const struct soft_port *port)
{
	return port->ports->firmware;
}

static struct ib_mad *mad_of(struct pooled *p)
{
	return (struct ib_mad *)p->data;
}

static struct ib_smp *smp_of(struct pooled *p)
{
	return (struct ib_smp *)p->data;
}

static bool is_smp(uint8_t mgmt_class)
{
	return mgmt_class == IB_CLASS_SUBN_LID || mgmt_class == IB_CLASS_SUBN_DIR;
}

/* ---------------------------------------------------------------------- hardware */

static al_status local_mad(void *hw, uint8_t port, const struct ci_local_mad_in *in,
			   struct ci_local_mad_out *out)
{
	struct firmware *fw = hw;

	memcpy(out->data, in->data, IB_SMP_DATA_BYTES);
	out->length = IB_SMP_DATA_BYTES;
	out->status = fw->read_or_write(fw->ports, port, in->attr_id, in->attr_mod,
					in->method == IB_METHOD_SET, out->data);
	return AL_SUCCESS;
}

static bool counters(void *hw, uint8_t port, struct ib_port_counters *to)
{
	const struct firmware *fw = hw;

	counters_read(&fw->ports->port[port - fw->ports->first], to);
	return true;
}

static void carried_out(struct soft_port *port)
{
	const struct firmware *fw = firmware_of(port);

	port_seen(fw->request_port, fw->request, sizeof(*fw->request));
}

/* ------------------------------------------------------------------------- sends */

static void drop(struct runner *r, struct soft_port *port, struct pooled *p,
		 enum port_counter counter)
{
	port_count(port, counter, 1);
	pool_home(r, &p->pkt);
}

/* Hands a packet over to the client of the special queue pair. */
static void pass_on(struct runner *r, struct soft_port *port, struct pooled *p)
{
	if (!actor_push(r, &port->special[p->pkt.dest_qpn], &p->pkt))
		drop(r, port, p, CNT_RCV_DROPPED);
}

/* The source and the counters of the agents at a port's special queue pair. */
static struct sender *sender_of(const struct soft_port *port, uint32_t qpn)
{
	const struct firmware *fw = firmware_of(port);

	return &fw->senders[(port->number - fw->ports->first) * SPECIAL_QPS + qpn];
}

/* Counts a packet that has come in and that the special queue pair will not count. */
static void count_received(const struct soft_port *port, const struct pooled *p)
{
	struct traffic *traffic = &sender_of(port, p->pkt.dest_qpn)->source.traffic;

	if (p->from)
		return;
	counter_add(&traffic->rx_packets, 1);
	counter_add(&traffic->rx_bytes, packet_wire_bytes(&p->pkt));
}

/* Sends a packet from a port. */
static void leave(struct runner *r, struct soft_port *port, struct pooled *p)
{
	struct sender *s = sender_of(port, p->pkt.src_qpn);

	s->source.sl = p->pkt.route.sl;
	if (!source_room(&s->source, FLOW_REQUEST)) {
		drop(r, port, p, CNT_XMIT_DISCARDS);
		return;
	}
	if (!source_send(r, &s->source, &p->pkt, FLOW_REQUEST, packet_wire_bytes(&p->pkt)))
		pool_home(r, &p->pkt);
	source_sent(r, &s->source, FLOW_REQUEST);
}

/* Sends a packet of a directed route on, as the subnet management interface says. */
static void follow(struct runner *r, struct soft_port *port, struct pooled *p,
		   const struct smi_way *way)
{
	const struct address to = { .dlid = way->dlid, .sl = p->pkt.route.sl };

	port_route(port, &to, &p->pkt.route);
	/* an HCA's packet leaves by the port that sends it */
	p->pkt.route.out_port = port->number ? 0 : way->port;
	p->pkt.flags = PKT_VL15;
	leave(r, port, p);
}

/* Gives a packet the addresses of its answer. */
static void turn(const struct soft_port *port, struct packet *pkt)
{
	const struct route came = pkt->route;
	const struct address to = {
		.dgid = came.sgid,
		.class_flow = came.class_flow,
		.dlid = came.slid,
		.src_path_bits = (uint8_t)(came.dlid & ((1u << port_lids(port).lmc) - 1)),
		.sl = came.sl,
		.hop_limit = UINT8_MAX,
		.global = came.global,
	};
	const uint32_t src_qpn = pkt->src_qpn;
	int index;

	port_route(port, &to, &pkt->route);
	pkt->route.sgid = came.dgid;
	pkt->src_qpn = pkt->dest_qpn;
	pkt->dest_qpn = src_qpn;
	pkt->flags &= PKT_VL15;
	if (pkt->flags & PKT_VL15)
		return;
	index = port_find_pkey(port, pkt->pkey);
	pkt->pkey = index < 0 ? pkt->pkey : port_pkey(port, (uint32_t)index);
	pkt->qkey = IB_QKEY_WELL_KNOWN;
}

/* ------------------------------------------------------- subnet management packets */

static void send_smp(struct runner *r, struct soft_port *port, struct pooled *p);

/* Takes a packet that is at the end of its route. */
static void end_of_route(struct runner *r, struct soft_port *port, struct pooled *p)
{
	struct firmware *fw = firmware_of(port);
	const struct ib_smp request = *smp_of(p);
	enum sma_verdict verdict;

	fw->request = &request;
	fw->request_port = port;
	verdict = sma_answer(&fw->node.sma, p->pkt.in_port, p->pkt.route.slid, &request, clock_ns(),
			     smp_of(p));
	fw->request = NULL;
	if (verdict == SMA_FOR_MANAGER) {
		*smp_of(p) = request;
		pass_on(r, port, p);
		return;
	}
	count_received(port, p);
	if (verdict != SMA_REPLY) {
		pool_home(r, &p->pkt);
		return;
	}
	turn(port, &p->pkt);
	send_smp(r, port, p);
}

/* Sends a packet of the agent, or one of QP0 on a directed route. */
static void send_smp(struct runner *r, struct soft_port *port, struct pooled *p)
{
	struct smi_way way;

	if (smp_of(p)->mgmt_class == IB_CLASS_SUBN_LID) {
		leave(r, port, p);
		return;
	}
	switch (smi_send(&firmware_of(port)->node.shape, port->number, p->pkt.route.dlid, smp_of(p),
			 &way)) {
	case SMI_DROP:
		drop(r, port, p, CNT_XMIT_DISCARDS);
		return;
	case SMI_LOCAL:
		p->pkt.in_port = port->number;
		end_of_route(r, port, p);
		return;
	case SMI_FORWARD:
	case SMI_ROUTE:
		follow(r, port, p, &way);
		return;
	}
}

static void receive_smp(struct runner *r, struct soft_port *port, struct pooled *p)
{
	struct smi_way way;

	switch (smi_receive(&firmware_of(port)->node.shape, p->pkt.in_port, smp_of(p), &way)) {
	case SMI_DROP:
		drop(r, port, p, CNT_RCV_DROPPED);
		return;
	case SMI_LOCAL:
		end_of_route(r, port, p);
		return;
	case SMI_FORWARD:
	case SMI_ROUTE:
		count_received(port, p);
		follow(r, port, p, &way);
		return;
	}
}

/* --------------------------------------------------------------- general services */

/* Asks the performance management agent; answers a datagram that no agent and no client at the port
 * serves. */
static bool answer(struct firmware *fw, uint8_t in_port, struct ib_mad *mad)
{
	if (mad->hdr.mgmt_class == IB_CLASS_PERF)
		return pma_answer(&fw->node.pma, in_port, mad, clock_ns(), mad);
	return gsi_answer_unserved(mad, mad);
}

static void receive_gmp(struct runner *r, struct soft_port *port, struct pooled *p)
{
	count_received(port, p);
	if (!answer(firmware_of(port), p->pkt.in_port, mad_of(p))) {
		drop(r, port, p, CNT_RCV_DROPPED);
		return;
	}
	turn(port, &p->pkt);
	leave(r, port, p);
}

/* ----------------------------------------------------------------- traps, samples */

static void raise_notice(struct soft_port *port, const struct ib_notice *notice)
{
	struct firmware *fw = firmware_of(port);

	fmutex_lock(&fw->lock);
	if (fw->num_notices < NOTICES)
		fw->notices[fw->num_notices++] = (struct waiting_notice){ port->number, *notice };
	engine_set_timer(fw->engine, &fw->timer, 0);
	fmutex_unlock(&fw->lock);
}

static void take_notices(struct firmware *fw)
{
	struct waiting_notice notices[NOTICES];
	uint32_t num, i;

	fmutex_lock(&fw->lock);
	num = fw->num_notices;
	memcpy(notices, fw->notices, num * sizeof(*notices));
	fw->num_notices = 0;
	fmutex_unlock(&fw->lock);
	for (i = 0; i < num; i++)
		sma_raise(&fw->node.sma, notices[i].port, &notices[i].notice, clock_ns());
}

/* Sends the traps of a port that are due. A trap that there is no packet for is repeated. */
static void send_traps(struct runner *r, struct soft_port *port)
{
	struct firmware *fw = firmware_of(port);
	struct sma_destination manager;
	struct address to;
	struct ib_smp trap;
	struct pooled *p;

	while (sma_trap_next(&fw->node.sma, port->number, clock_ns(), &trap, &manager)) {
		p = pool_take(&fw->pool);
		if (!p)
			return;
		memcpy(p->data, &trap, sizeof(trap));
		p->pkt = (struct packet){ .kind = PKT_SEND,
					  .place = PLACE_ONLY,
					  .num = 1,
					  .service = WIRE_UD,
					  .flags = PKT_VL15,
					  .pkey = IB_PKEY_DEFAULT,
					  .length = IB_MAD_BYTES };
		p->pkt.data = p->data;
		p->from = port;
		to = (struct address){ .dlid = manager.dlid, .sl = manager.sl };
		port_route(port, &to, &p->pkt.route);
		send_smp(r, port, p);
	}
}

/* Lets the timer run out when a trap or a sample is due next. */
static void set_timer(struct firmware *fw)
{
	const uint64_t now = clock_ns();
	uint64_t due = SMA_NEVER, next;
	uint32_t i;

	_Static_assert(SMA_NEVER == PMA_NEVER, "one value says that nothing is due");
	for (i = 0; i < fw->num; i++) {
		next = sma_trap_due(&fw->node.sma, fw->ports->port[i].number);
		due = next < due ? next : due;
		next = pma_due(&fw->node.pma, fw->ports->port[i].number);
		due = next < due ? next : due;
	}
	fmutex_lock(&fw->lock);
	if (fw->num_notices)
		due = now;
	if (due != SMA_NEVER)
		engine_set_timer(fw->engine, &fw->timer, due > now ? due - now : 0);
	fmutex_unlock(&fw->lock);
}

/* Under timers.lock. */
static void timer_ran_out(struct timer *t, struct runner *r)
{
	struct firmware *fw = (struct firmware *)((char *)t - offsetof(struct firmware, timer));

	actor_signal(r, &fw->actor, SIGNAL_TIMER);
}

/* ------------------------------------------------------------------------- actor */

static struct pooled *pooled_of(struct packet *pkt)
{
	return (struct pooled *)pkt; /* pkt is the first member */
}

/* Takes a packet that has come in (from: NULL), or that QP0 of the port `from` sends. */
static void take_one(struct runner *r, struct firmware *fw, struct pooled *p)
{
	struct soft_port *port = p->from;

	if (port) {
		send_smp(r, port, p);
		return;
	}
	/* port 0 of a switch takes packets that came in by any port */
	port = &fw->ports->port[fw->ports->first ? p->pkt.in_port - fw->ports->first : 0];
	if (p->pkt.dest_qpn)
		receive_gmp(r, port, p);
	else
		receive_smp(r, port, p);
}

static bool run(struct runner *r, struct actor *a)
{
	struct firmware *fw = a->self;
	struct packet *pkt, *next;
	uint32_t i;

	atomic_exchange(&a->signals, 0);
	for (pkt = actor_take(a); pkt; pkt = next) {
		next = pkt->next;
		r->trains--;
		take_one(r, fw, pooled_of(pkt));
	}
	take_notices(fw);
	for (i = 0; i < fw->num; i++) {
		send_traps(r, &fw->ports->port[i]);
		pma_poll(&fw->node.pma, fw->ports->port[i].number, clock_ns());
	}
	set_timer(fw);
	return false;
}

static const struct actor_ops firmware_actor_ops = { .run = run };

/* -------------------------------------------------------------------------- doors */

/* Reads a management datagram. False: the packet is none. */
static bool peek(const struct packet *pkt, struct ib_mad *mad)
{
	return pkt->service == WIRE_UD && pkt->kind == PKT_SEND && pkt->length == IB_MAD_BYTES &&
	       payload_copy(mad, pkt) == COPY_DONE && mad->hdr.base_version == IB_MAD_BASE_VERSION;
}

/* Gives the actor a copy of a packet. from: port whose QP0 sends the packet; NULL: the packet has
 * come in. */
static void give_copy(struct runner *r, struct soft_port *port, struct packet *pkt,
		      struct soft_port *from)
{
	struct firmware *fw = firmware_of(port);
	enum copy_result result;
	struct pooled *p = payload_keep(&fw->pool, pkt, &result);

	if (!p) {
		port_count(port, from ? CNT_XMIT_DISCARDS : CNT_RCV_DROPPED, 1);
		if (!from && pkt->flags & PKT_VL15)
			port_count(port, CNT_VL15_DROPPED, 1);
		return;
	}
	p->from = from;
	if (!actor_push(r, &fw->actor, &p->pkt))
		pool_home(r, &p->pkt);
}

/* Checks the keys of a datagram for QP1, and counts wrong ones. */
static bool check_keys(struct soft_port *port, const struct packet *pkt)
{
	enum port_counter bad = CNT_BAD_PKEY;

	if (port_find_pkey(port, pkt->pkey) >= 0) {
		if (pkt->qkey == IB_QKEY_WELL_KNOWN)
			return true;
		bad = CNT_BAD_QKEY;
	}
	port_bad_key(port, bad, pkt, pkt->dest_qpn);
	port_count(port, CNT_RCV_DROPPED, 1);
	return false;
}

/* True: a datagram for QP1 is the agents': a request to the performance management agent, and
 * anything while the port has no QP1 of a client's. */
static bool is_for_agents(const struct soft_port *port, const struct ib_mad *mad)
{
	return !atomic_load_explicit(&port->special_used[1], memory_order_relaxed) ||
	       (mad->hdr.mgmt_class == IB_CLASS_PERF && gsi_expects_response(mad));
}

static bool take(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	const bool vl15 = pkt->flags & PKT_VL15;
	struct ib_mad mad;

	if (vl15 == !!pkt->dest_qpn || (pkt->route.global && !port_has_gid(port, &pkt->route.dgid)))
		return false;
	if (!peek(pkt, &mad))
		return false;
	if (vl15 ? !is_smp(mad.hdr.mgmt_class) || pkt->src_qpn : !is_for_agents(port, &mad))
		return false;
	if (vl15 || check_keys(port, pkt))
		give_copy(r, port, pkt, NULL);
	return true;
}

static bool take_sent(struct runner *r, struct soft_port *port, struct packet *pkt)
{
	struct ib_mad mad;

	if (!peek(pkt, &mad) || mad.hdr.mgmt_class != IB_CLASS_SUBN_DIR)
		return false;
	give_copy(r, port, pkt, port);
	return true;
}

/* --------------------------------------------------------------------- begin, end */

static void start_actor(struct firmware *fw)
{
	fw->timer.run_out = timer_ran_out;
	fw->actor.self = fw;
	fw->actor.engine = fw->engine;
	fw->actor.ops = &firmware_actor_ops;
	/* release: pairs with the acquire in actor_push() and actor_kick(); publishes the fields
	 * above */
	atomic_store_explicit(&fw->actor.inbox, INBOX_IDLE, memory_order_release);
}

static void fill_sender(struct sender *s, struct soft_port *port, uint32_t qpn)
{
	s->source.port = port;
	s->source.qpn = qpn;
	s->source.service = WIRE_UD;
	s->source.of_agents = true;
	counters_join(port, &s->counted, &s->source.traffic);
}

static void fill_node(struct firmware *fw, const struct ib_ca_attr *attr)
{
	static const struct sma_ops sma_ops = { .local_mad = local_mad };
	static const struct pma_ops pma_ops = { .counters = counters };

	mad_node_init(&fw->node, attr, SOFT_MAX_PKEYS);
	fw->node.sma.ops = &sma_ops;
	fw->node.sma.hw = fw;
	fw->node.pma.ops = &pma_ops;
	fw->node.pma.hw = fw;
}

al_status firmware_create(struct ports *ports, const struct ib_ca_attr *attr, struct engine *engine,
			  firmware_attr read_or_write)
{
	static const struct port_agents agents = { take, take_sent, raise_notice, carried_out };
	struct firmware *fw = al_alloc_aligned(64, sizeof(*fw));
	const size_t num = (size_t)attr->num_ports + 1;
	uint32_t i;

	ports->firmware = fw;
	if (!fw)
		return AL_INSUFFICIENT_MEMORY;
	fw->engine = engine;
	fw->ports = ports;
	fw->num = ports->first ? ports->num : 1;
	fw->read_or_write = read_or_write;
	fill_node(fw, attr);
	fw->senders = al_alloc((size_t)fw->num * SPECIAL_QPS * sizeof(*fw->senders));
	fw->node.sma.ports = al_alloc(num * sizeof(*fw->node.sma.ports));
	fw->node.pma.ports = al_alloc(num * sizeof(*fw->node.pma.ports));
	if (!fw->senders || !fw->node.sma.ports || !fw->node.pma.ports ||
	    pool_create(&fw->pool, PACKETS, IB_MAD_BYTES))
		return AL_INSUFFICIENT_MEMORY;
	for (i = 0; i < fw->num * SPECIAL_QPS; i++)
		fill_sender(&fw->senders[i], &ports->port[i / SPECIAL_QPS], i % SPECIAL_QPS);
	for (i = 0; i < fw->num; i++)
		fw->node.sma.ports[ports->port[i].number].guid = ports->port[i].guid;
	start_actor(fw);
	ports->own = &agents;
	return AL_SUCCESS;
}

void firmware_destroy(struct ports *ports)
{
	struct firmware *fw = ports->firmware;

	if (!fw)
		return;
	timer_stop(&fw->engine->timers, &fw->timer);
	if (actor_claim(&fw->actor))
		do
			actor_take(&fw->actor); /* the packets are of the pool, which ends, too */
		while (!actor_kill(&fw->actor));
	pool_destroy(&fw->pool);
	al_free(fw->node.pma.ports);
	al_free(fw->node.sma.ports);
	al_free(fw->senders);
	al_free(fw);
	ports->own = NULL;
	ports->firmware = NULL;
}
