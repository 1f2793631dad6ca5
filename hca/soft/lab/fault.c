/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults on purpose: the effects of rules on the packets that a port sends, and on their sender. The seed, the flow
 * and the packet's number in the flow alone decide which rule meets a packet. The look-up takes no lock, since the
 * table of rules in force is never changed, only replaced. A packet that a rule keeps is a copy with its payload by
 * value. The text of rules is in base/fault_text.c.
 */

#include "hca/soft/lab/fault.h"

#include <string.h>
#include <iba/ib_soft.h>

#include "hca/soft/base/config.h"
#include "hca/soft/base/draw.h"
#include "hca/soft/base/table.h"
#include "hca/soft/base/tally.h"
#include "hca/soft/base/clock.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/link.h"
#include "hca/soft/link/serial.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/transport/qp.h"

struct fault_rule {
	struct soft_fault fault;
	uint64_t salt;      /* start of the rule's draws: a mix of both seeds, the HCA and the place in the table */
	uint64_t threshold; /* the rule meets a packet whose draw is below; DRAW_ALWAYS: the rule
			       meets without a draw */
	struct tally *tally;
};

struct fault_table {
	struct fault_table *older; /* next on the list faults.all */
	uint32_t num;              /* rules */
	bool allocs;               /* some rule is about allocations */
	struct fault_rule rule[];
};

#define SPARED_AHEAD 64 /* packets for which look_ahead() draws in advance */

/* ----------------------------------------------------------------- deciding */

static struct soft_hca *source_hca(const struct source *src)
{
	return port_hca(src->port);
}

/* The queue pair that the source is a part of. The source is not of_agents. */
static struct soft_qp *source_qp(struct source *src)
{
	return (struct soft_qp *)((char *)src - offsetof(struct soft_qp, conn.source));
}

static struct fault_table *in_force(const struct soft_hca *hca)
{
	/* acquire: pairs with the release in put_in_force() */
	return atomic_load_explicit(&hca->faults->table, memory_order_acquire);
}

/*
 * Identifies a flow for draws, by the queue pair's index in order of creation, since queue pair numbers differ
 * between runs.
 */
static uint64_t flow_id(const struct source *src, enum flow_index flow)
{
	uint32_t index = (src->qpn - source_hca(src)->qps.base) & ((1u << TABLE_BITS) - 1);

	return (uint64_t)src->of_agents << 32 | (uint64_t)index << 1 | flow;
}

static bool concerns(const struct fault_rule *rule, const struct source *src, enum flow_index flow)
{
	const struct soft_fault *f = &rule->fault;

	if (f->action == SOFT_FAULT_ALLOC)
		return false;
	if (f->action == SOFT_FAULT_NAK && (flow != FLOW_REQUEST || src->service != WIRE_RC))
		return false;
	if (src->of_agents && fault_is_about_qp(f))
		return false;
	return (!f->flow || f->flow == SOFT_FLOW_REQUEST + (uint32_t)flow) &&
	       (!f->port || f->port == src->port->number) && (!f->qpn || f->qpn == src->qpn);
}

/* Returns the key of a rule's draws for a flow. */
static uint64_t key_of(const struct fault_rule *rule, const struct source *src,
		       enum flow_index flow)
{
	return draw_mix(rule->salt ^ flow_id(src, flow));
}

static bool drawn(const struct fault_rule *rule, uint64_t key, uint64_t n)
{
	return draw_meets(rule->threshold, key, n);
}

/* True: a rule that concerns the flow meets packet number i of a stretch. */
static bool meets(const struct fault_rule *rule, const struct source *src, const struct stretch *s,
		  uint64_t key, uint32_t i)
{
	const struct soft_fault *f = &rule->fault;
	uint8_t place;

	if (!draw_in_range(f, s->first + i))
		return false;
	if (f->match & SOFT_MATCH_PSN && f->psn != psn_add(s->psn, i))
		return false;
	place = (uint8_t)((i ? 0 : s->place & PLACE_FIRST) |
			  (i + 1 == s->count ? s->place & PLACE_LAST : 0));
	if (f->match & SOFT_MATCH_OPCODE && f->opcode != wire_opcode(src->service, s->kind, place))
		return false;
	return drawn(rule, key, s->first + i);
}

/*
 * Returns the index of the first packet of a stretch, before `limit`, that a rule meets, and sets *met to the first
 * rule that meets the packet. Returns `limit` and sets *met to NULL if no rule meets a packet.
 */
static uint32_t first_met(const struct source *src, const struct stretch *s, uint32_t limit,
			  const struct fault_rule **met)
{
	const struct fault_table *t = in_force(source_hca(src));
	const struct fault_rule *rule;
	uint64_t key;
	uint32_t i;

	*met = NULL;
	for (rule = t ? t->rule : NULL; t && rule < t->rule + t->num; rule++) {
		if (!concerns(rule, src, s->flow))
			continue;
		key = key_of(rule, src, s->flow);
		for (i = 0; i < limit; i++) {
			if (!meets(rule, src, s, key, i))
				continue;
			limit = i;
			*met = rule;
		}
	}
	return limit;
}

static bool is_from(const struct pooled *k, const struct source *src)
{
	return k->source == src;
}

/*
 * Shortens a stretch so that it ends with the first packet after which a held packet is due. Returns the number of
 * packets.
 */
static uint32_t until_due(const struct source *src, const struct stretch *s, uint32_t limit)
{
	struct faults *f = source_hca(src)->faults;
	const struct pooled *k;

	/* relaxed: only the caller, the source's owner, adds held packets of this flow */
	if (LIKELY(!atomic_load_explicit(&f->held_num, memory_order_relaxed)))
		return limit;
	fmutex_lock(&f->lock);
	for (k = f->held; k; k = k->next)
		if (is_from(k, src) && k->flow == s->flow && k->due - s->first < limit)
			limit = (uint32_t)(k->due - s->first) + 1;
	fmutex_unlock(&f->lock);
	return limit;
}

uint32_t fault_clip(const struct source *src, const struct stretch *s, uint32_t limit)
{
	const struct fault_rule *met;
	uint32_t num = first_met(src, s, until_due(src, s, limit), &met);

	return num ? num : 1;
}

/*
 * Returns the first packet number from n on that a rule may meet, with any opcode and PSN, or the end of the numbers
 * tried.
 */
static uint64_t may_be_met(const struct source *src, enum flow_index flow, uint64_t n)
{
	const struct fault_table *t = in_force(source_hca(src));
	const struct fault_rule *rule;
	uint64_t end = n + SPARED_AHEAD, key, i;

	for (rule = t ? t->rule : NULL; t && rule < t->rule + t->num; rule++) {
		if (!concerns(rule, src, flow))
			continue;
		key = key_of(rule, src, flow);
		for (i = n; i < end; i++)
			if (draw_in_range(&rule->fault, i) && drawn(rule, key, i))
				end = i;
	}
	return end;
}

/*
 * Draws for the next SPARED_AHEAD packets of a flow, so that most messages need no draw. True: no rule meets the
 * stretch.
 */
static __attribute__((noinline)) bool look_ahead(struct source *src, const struct stretch *s,
						 uint32_t generation)
{
	const struct fault_rule *met;

	if (src->spared_by != generation)
		src->spared[FLOW_REQUEST] = src->spared[FLOW_RESPONSE] = 0;
	src->spared_by = generation;
	src->spared[s->flow] = may_be_met(src, s->flow, s->first);
	if (s->first + s->count <= src->spared[s->flow])
		return true;
	first_met(src, s, s->count, &met);
	return !met;
}

bool fault_passes(struct source *src, const struct stretch *s)
{
	struct faults *f = source_hca(src)->faults;
	/* Acquire: pairs with the increment in put_in_force(); the table is at least as new as the generation. */
	uint32_t generation = atomic_load_explicit(&f->generation, memory_order_acquire);

	/* held packets become due by the numbers of later packets, so each packet must be counted */
	if (UNLIKELY(atomic_load_explicit(&f->held_num, memory_order_relaxed)))
		return false;
	if (LIKELY(src->spared_by == generation && s->first + s->count <= src->spared[s->flow]))
		return true;
	return look_ahead(src, s, generation);
}

static bool fail_alloc(struct alloc_gate *gate)
{
	struct soft_hca *hca = (struct soft_hca *)((char *)gate - offsetof(struct soft_hca, alloc));
	const struct fault_table *t = in_force(hca);
	const struct fault_rule *rule;
	uint64_t n;

	if (LIKELY(!t || !t->allocs))
		return false;
	n = atomic_fetch_add(&hca->faults->allocs, 1) + 1;
	for (rule = t->rule; rule < t->rule + t->num; rule++) {
		if (rule->fault.action != SOFT_FAULT_ALLOC || !draw_in_range(&rule->fault, n) ||
		    !draw_meets(rule->threshold, draw_mix(rule->salt), n))
			continue;
		atomic_fetch_add(&hca->faults->met, 1);
		tally_count(rule->tally);
		IB_TRACE("soft", "fault: allocation %llu fails", (unsigned long long)n);
		return true;
	}
	return false;
}

/* -------------------------------------------------------- packets that are kept */

/*
 * Returns a copy of a packet with its payload by value. NULL: the pool is empty, or the payload's memory region is
 * gone.
 */
static struct pooled *copy_of(struct source *src, const struct packet *pkt, enum flow_index flow)
{
	enum copy_result result;
	struct pooled *k = payload_keep(&source_hca(src)->faults->pool, pkt, &result);

	if (!k)
		return NULL;
	k->flow = flow;
	k->source = src;
	k->from = src->port;
	return k;
}

/* Keeps a copy of a packet until number `due` of its flow has left. */
static bool keep(struct source *src, const struct packet *pkt, enum flow_index flow, uint64_t due)
{
	struct faults *f = source_hca(src)->faults;
	struct pooled *k = copy_of(src, pkt, flow), **tail = &f->held;

	if (!k)
		return false;
	k->due = due;
	k->next = NULL;
	fmutex_lock(&f->lock);
	while (*tail)
		tail = &(*tail)->next;
	*tail = k;
	atomic_fetch_add(&f->held_num, 1);
	fmutex_unlock(&f->lock);
	return true;
}

static void send_kept(struct runner *r, struct pooled *k)
{
	if (!link_pass(r, k->from, &k->pkt))
		pool_home(r, &k->pkt);
}

void fault_release(struct runner *r, struct source *src, enum flow_index flow, uint64_t n)
{
	struct faults *f = source_hca(src)->faults;
	struct pooled **at = &f->held, *due = NULL, **tail = &due, *k;

	/* relaxed: only the caller, the source's owner, adds held packets of this flow */
	if (LIKELY(!atomic_load_explicit(&f->held_num, memory_order_relaxed)))
		return;
	fmutex_lock(&f->lock);
	while ((k = *at)) {
		if (!is_from(k, src) || k->flow != flow || k->due > n) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		k->next = NULL;
		*tail = k;
		tail = &k->next;
		atomic_fetch_sub(&f->held_num, 1);
	}
	fmutex_unlock(&f->lock);
	while ((k = due)) {
		due = k->next;
		send_kept(r, k);
	}
}

/* Sets the timer to the first delayed packet, or stops the timer. The caller holds the lock. */
static void set_timer(struct soft_hca *hca)
{
	struct faults *f = hca->faults;
	uint64_t now = clock_ns();

	if (!f->late)
		timer_stop(&hca->engine->timers, &f->timer);
	else
		engine_set_timer(hca->engine, &f->timer,
				 f->late->due > now ? f->late->due - now : 0);
}

static bool keep_for(struct source *src, const struct packet *pkt, enum flow_index flow,
		     uint64_t ns)
{
	struct soft_hca *hca = source_hca(src);
	struct pooled *k = copy_of(src, pkt, flow), **at = &hca->faults->late;

	if (!k)
		return false;
	k->due = clock_ns() + ns;
	fmutex_lock(&hca->faults->lock);
	while (*at && (*at)->due <= k->due)
		at = &(*at)->next;
	k->next = *at;
	*at = k;
	if (hca->faults->late == k)
		set_timer(hca);
	fmutex_unlock(&hca->faults->lock);
	return true;
}

static void send_late(struct timer *timer, struct runner *r)
{
	struct faults *f = (struct faults *)((char *)timer - offsetof(struct faults, timer));
	struct soft_hca *hca = f->hca;
	struct pooled *due, **tail = &due, *k;
	uint64_t now = clock_ns();

	fmutex_lock(&f->lock);
	while ((k = f->late) && k->due <= now) {
		f->late = k->next;
		*tail = k;
		tail = &k->next;
	}
	*tail = NULL;
	set_timer(hca);
	fmutex_unlock(&f->lock);
	while ((k = due)) {
		due = k->next;
		send_kept(r, k);
	}
}

static uint32_t drop_from(struct pooled **at, const struct source *src)
{
	uint32_t dropped = 0;
	struct pooled *k;

	while ((k = *at)) {
		if (src && !is_from(k, src)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		pool_home(NULL, &k->pkt);
		dropped++;
	}
	return dropped;
}

/* Drops the kept packets of one queue pair, or (src NULL) of all queue pairs. The caller holds the lock. */
static void drop_kept(struct soft_hca *hca, const struct source *src)
{
	struct faults *f = hca->faults;

	atomic_fetch_sub(&f->held_num, drop_from(&f->held, src));
	if (drop_from(&f->late, src))
		set_timer(hca);
}

void fault_forget(struct source *src)
{
	struct soft_hca *hca = source_hca(src);

	fmutex_lock(&hca->faults->lock);
	drop_kept(hca, src);
	fmutex_unlock(&hca->faults->lock);
}

/* ------------------------------------------------------------------- actions */

/* A packet that a rule has met. */
struct meeting {
	struct runner *r;
	struct source *src;
	struct packet *pkt;
	enum flow_index flow;
	uint64_t n;
	const struct fault_rule *rule;
};

static enum verdict drop(const struct meeting *m)
{
	(void)m;
	return PACKET_LOST;
}

static enum verdict duplicate(const struct meeting *m)
{
	keep(m->src, m->pkt, m->flow, m->n);
	return PACKET_PASSES;
}

static enum verdict hold(const struct meeting *m)
{
	return keep(m->src, m->pkt, m->flow, m->n + m->rule->fault.by) ? PACKET_TAKEN : PACKET_LOST;
}

static enum verdict delay(const struct meeting *m)
{
	return keep_for(m->src, m->pkt, m->flow, m->rule->fault.delay_ns) ? PACKET_TAKEN
									  : PACKET_LOST;
}

/*
 * Changes one to three bits of the packet, drawn as chances are. The CRCs detect so few bits (their Hamming distance
 * is 4; on Ethernet that of the frame check sequence, which covers what the ICRC leaves out), so the far port counts an
 * error and drops the packet.
 */
static enum verdict corrupt(const struct meeting *m)
{
	const struct soft_port *port = m->src->port;
	struct path path;
	uint8_t bytes[WIRE_MAX_BYTES], sent[WIRE_MAX_BYTES];
	struct wire_packet wire;
	uint64_t draw;
	size_t bits;

	bits = 8 * pkt_bytes_of(port, m->pkt, 0, bytes);
	if (!bits) /* the payload's memory region is gone */
		return PACKET_LOST;
	memcpy(sent, bytes, bits / 8);
	draw = draw_mix(draw_mix(m->rule->salt + 1) + flow_id(m->src, m->flow) + (m->n << 32));
	for (uint64_t flips = 1 + draw % 3; flips; flips--) {
		draw = draw_mix(draw + 1);
		bytes[draw % bits / 8] ^= (uint8_t)(1u << draw % bits % 8);
	}
	IB_TRACE("soft", "fault: bits changed: %s",
		 wire_refusal_text(wire_decode(&wire, pkt_framing(port, m->pkt), bytes, bits / 8)));
	if (!memcmp(sent, bytes, bits / 8)) /* the same bit was drawn twice */
		return PACKET_PASSES;
	link_resolve(port, m->pkt, &path);
	return port->link->count_receive_error(&path) ? PACKET_TAKEN : PACKET_LOST;
}

/* The responder sees the syndrome and refuses the request. */
static enum verdict nak(const struct meeting *m)
{
	m->pkt->syndrome = (uint8_t)m->rule->fault.code;
	return PACKET_PASSES;
}

static enum verdict pull_cable(const struct meeting *m)
{
	port_plug(m->src->port, false);
	return PACKET_PASSES;
}

static enum verdict plug_cable(const struct meeting *m)
{
	port_plug(m->src->port, true);
	return PACKET_PASSES;
}

static enum verdict remove_hca(const struct meeting *m)
{
	source_hca(m->src)->remove(source_hca(m->src), CI_HCA_GONE);
	return PACKET_PASSES;
}

static enum verdict raise_event(const struct meeting *m)
{
	struct ci_event event = { .type = (ib_event_type)m->rule->fault.code };

	if (event.type >= IB_EVENT_PORT_DOWN) {
		port_raise(m->src->port, event.type);
		return PACKET_PASSES;
	}
	event.object_ctx = event.type == IB_EVENT_CQ_ERR ? source_qp(m->src)->ci.send_cq->ctx
							 : source_qp(m->src)->ci.ctx;
	ib_dispatch_event(&event);
	return PACKET_PASSES;
}

static enum verdict overflow(const struct meeting *m)
{
	cq_overflow(m->r, soft_cq(source_qp(m->src)->ci.send_cq),
		    source_qp(m->src)->ci.owner_context, m->src->qpn);
	return PACKET_PASSES;
}

static enum verdict (*const actions[])(const struct meeting *m) = {
	[SOFT_FAULT_DROP] = drop,
	[SOFT_FAULT_DUPLICATE] = duplicate,
	[SOFT_FAULT_HOLD] = hold,
	[SOFT_FAULT_DELAY] = delay,
	[SOFT_FAULT_CORRUPT] = corrupt,
	[SOFT_FAULT_NAK] = nak,
	[SOFT_FAULT_PORT_DOWN] = pull_cable,
	[SOFT_FAULT_PORT_UP] = plug_cable,
	[SOFT_FAULT_REMOVE] = remove_hca,
	[SOFT_FAULT_RAISE] = raise_event,
	[SOFT_FAULT_CQ_OVERFLOW] = overflow,
};

enum verdict fault_packet(struct runner *r, struct source *src, struct packet *pkt,
			  enum flow_index flow, uint64_t n)
{
	const struct stretch one = { n, pkt->psn, 1, pkt->kind, pkt->place, flow };
	struct meeting m = { r, src, pkt, flow, n, NULL };

	if (pkt->num != 1) /* fault_clip() makes a train only of packets that no rule met when the train was made */
		return PACKET_PASSES;
	first_met(src, &one, 1, &m.rule);
	if (!m.rule)
		return PACKET_PASSES;
	atomic_fetch_add_explicit(&source_hca(src)->faults->met, 1, memory_order_relaxed);
	tally_count(m.rule->tally);
	IB_TRACE("soft", "fault: %s packet %llu of qp=%#x psn=%#x",
		 fault_action_name(m.rule->fault.action), (unsigned long long)n, src->qpn,
		 pkt->psn);
	return actions[m.rule->fault.action](&m);
}

/* ------------------------------------------------------------------- rules */

static bool packet_action(uint32_t action)
{
	return action >= SOFT_FAULT_DROP && action <= SOFT_FAULT_CQ_OVERFLOW;
}

static void set_faulty(struct soft_hca *hca, const struct fault_table *t)
{
	const struct soft_fault *f;
	uint32_t i, n;
	bool faulty;

	for (i = 0; hca->ports.port && i < hca->conf.ports; i++) {
		faulty = false;
		for (n = 0; t && n < t->num; n++) {
			f = &t->rule[n].fault;
			faulty |= packet_action(f->action) && (!f->port || f->port == i + 1);
		}
		atomic_store_explicit(&hca->ports.port[i].faulty, faulty, memory_order_relaxed);
	}
}

/* Makes the pool for kept packets, at the first rule or injected packet. The caller holds the lock. */
static al_status make_room(struct soft_hca *hca)
{
	struct pool *pool = &hca->faults->pool;

	return pool->mem ? AL_SUCCESS : pool_create(pool, SOFT_KEPT, ib_mtu_bytes(IB_MTU_4096));
}

struct pooled *fault_room(struct soft_hca *hca)
{
	al_status status;

	fmutex_lock(&hca->faults->lock);
	status = make_room(hca);
	fmutex_unlock(&hca->faults->lock);
	return status ? NULL : pool_take(&hca->faults->pool);
}

static void free_tables(struct faults *f)
{
	struct fault_table *t;

	while ((t = f->all)) {
		f->all = t->older;
		al_free(t);
	}
	if (!atomic_load_explicit(&f->table, memory_order_relaxed))
		tallies_free(&f->tallies);
}

/*
 * Replaces the table in force. Other threads may still read the old table, which is therefore kept until the HCA is
 * destroyed. With manual progress there is only one thread, and old tables are freed at once. The caller holds the
 * lock.
 */
static void put_in_force(struct soft_hca *hca, struct fault_table *t)
{
	struct faults *f = hca->faults;

	/* release: pairs with the acquire in in_force(); publishes the table's content */
	atomic_store_explicit(&f->table, t, memory_order_release);
	/* release: pairs with the acquire in fault_passes(); the table is published first */
	atomic_fetch_add_explicit(&f->generation, 1, memory_order_release);
	set_faulty(hca, t);
	if (clock_is_virtual())
		free_tables(f);
	if (t) {
		t->older = f->all;
		f->all = t;
	}
}

/* Returns a new table: the rules in force and one more rule. NULL: no memory. */
static struct fault_table *table_with(struct soft_hca *hca, const struct soft_fault *fault)
{
	struct fault_table *old = in_force(hca), *t;
	uint32_t num = old ? old->num : 0;
	struct tally *tally = tally_add(&hca->faults->tallies);
	struct fault_rule *rule;

	if (!tally)
		return NULL;
	t = al_alloc(sizeof(*t) + (num + 1) * sizeof(*rule));
	if (!t)
		return NULL;
	if (old)
		memcpy(t->rule, old->rule, num * sizeof(*rule));
	rule = &t->rule[num];
	rule->fault = *fault;
	rule->threshold = draw_threshold(fault->chance);
	rule->tally = tally;
	rule->salt = draw_mix(draw_mix(draw_mix(hca->faults->seed) + fault->seed) +
			      ((uint64_t)hca->index << 32) + num + 1);
	t->num = num + 1;
	t->allocs = (old && old->allocs) || fault->action == SOFT_FAULT_ALLOC;
	return t;
}

uint64_t fault_count(const struct soft_hca *hca)
{
	return atomic_load(&hca->faults->met);
}

al_status fault_create(struct soft_hca *hca)
{
	hca->faults = al_alloc(sizeof(*hca->faults));
	if (!hca->faults)
		return AL_INSUFFICIENT_MEMORY;
	hca->faults->hca = hca;
	hca->faults->seed = hca->conf.seed;
	hca->faults->timer.run_out = send_late;
	hca->faults->timer.without_lock = true;
	hca->alloc.fails = fail_alloc;
	return AL_SUCCESS;
}

al_status fault_add(struct soft_hca *hca, const struct soft_fault *fault)
{
	struct faults *f = hca->faults;
	struct fault_table *t;
	al_status status;

	if (fault_wrong(fault) || fault->port > hca->conf.ports)
		return AL_INVALID_PARAMETER;
	fmutex_lock(&f->lock);
	status = make_room(hca);
	if (!status) {
		t = table_with(hca, fault);
		if (t)
			put_in_force(hca, t);
		else
			status = AL_INSUFFICIENT_MEMORY;
	}
	fmutex_unlock(&f->lock);
	return status;
}

bool fault_get(const struct soft_hca *hca, uint32_t index, struct soft_fault *fault, uint64_t *met)
{
	const struct fault_table *t = in_force(hca);

	if (!t || index >= t->num)
		return false;
	*fault = t->rule[index].fault;
	*met = tally_read(t->rule[index].tally);
	return true;
}

void fault_clear(struct soft_hca *hca)
{
	fmutex_lock(&hca->faults->lock);
	put_in_force(hca, NULL);
	drop_kept(hca, NULL);
	atomic_store(&hca->faults->allocs, 0);
	fmutex_unlock(&hca->faults->lock);
}

void fault_destroy(struct soft_hca *hca)
{
	if (!hca->faults)
		return;
	fault_clear(hca);
	timer_end(&hca->engine->timers, &hca->faults->timer);
	free_tables(hca->faults);
	pool_destroy(&hca->faults->pool);
	al_free(hca->faults);
	hca->faults = NULL;
}
