/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults of cables: rules for the packets that leave a switch by its external ports. A packet that
 * a cable loses or damages has been sent, so the far port counts it. The far port finds a damaged
 * packet by the VCRC: the packet itself, which nodes hand on without making bytes of it, has a flag
 * for that. What the far port does about errors is in port/errors.c.
 */
#include "hca/soft/fabric/fabric.h"

#include <stddef.h>
#include <string.h>

#include "hca/soft/base/clock.h"
#include "hca/soft/base/config.h"
#include "hca/soft/base/draw.h"
#include "hca/soft/base/tally.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

struct cable_rule {
	struct soft_fault fault;
	uint64_t key, threshold; /* of the rule's draws */
	uint64_t sent;           /* packets that the port had sent when the rule came */
	struct tally *tally;
};

/* The rules of one port. A table in force is never changed, but replaced. */
struct cable_rules {
	struct cable_rules *older; /* next on the list fabric.rules */
	uint32_t num;
	struct cable_rule rule[];
};

/* ----------------------------------------------------------- what the far port sees */

void cable_bad(struct fabric_end *at, bool marked)
{
	if (!at->port) /* a switch of a static fabric has no counters */
		return;
	if (marked)
		port_count(at->port, CNT_REMOTE_ERRORS, 1);
	else
		port_take_damaged(at->port);
}

/* Counts a packet that does not arrive. */
static void count_lost(struct soft_port *far, uint32_t action, const struct packet *pkt)
{
	if (!far)
		return;
	if (action == SOFT_FAULT_OVERRUN)
		port_overrun(far, pkt->flags & PKT_VL15);
	else if (action == SOFT_FAULT_RECOVER)
		port_recover_link(far);
	else if (action == SOFT_FAULT_FLAP)
		port_flap(far);
	else
		port_count(far, CNT_SYMBOL_ERRORS, 1);
}

/* ----------------------------------------------------------------- late packets */

/* Sets the timer to the first late packet. The caller holds the lock. */
static void set_timer(struct fabric *f)
{
	const uint64_t now = clock_ns();

	if (f->late)
		engine_set_timer(&f->engine, &f->timer,
				 f->late->due > now ? f->late->due - now : 0);
}

static void keep(struct fabric *f, struct fabric_end *to, struct pooled *p, uint64_t ns)
{
	struct pooled **at = &f->late;

	p->to = to;
	p->due = clock_ns() + ns;
	fmutex_lock(&f->lock);
	while (*at && (*at)->due <= p->due)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
	if (f->late == p)
		set_timer(f);
	fmutex_unlock(&f->lock);
}

static void arrive_late(struct timer *timer, struct runner *r)
{
	struct fabric *f = (struct fabric *)((char *)timer - offsetof(struct fabric, timer));
	struct pooled *due, **tail = &due, *p;
	const uint64_t now = clock_ns();

	fmutex_lock(&f->lock);
	while ((p = f->late) && p->due <= now) {
		f->late = p->next;
		*tail = p;
		tail = &p->next;
	}
	*tail = NULL;
	set_timer(f);
	fmutex_unlock(&f->lock);
	while ((p = due)) {
		due = p->next;
		fabric_arrive(r, p->to, p);
	}
}

/* -------------------------------------------------------------------- deciding */

static const struct cable_rule *first_met(const struct cable_rules *rules, uint64_t sent)
{
	const struct cable_rule *rule;

	for (rule = rules->rule; rule < rules->rule + rules->num; rule++)
		if (draw_in_range(&rule->fault, sent - rule->sent) &&
		    draw_meets(rule->threshold, rule->key, sent - rule->sent))
			return rule;
	return NULL;
}

bool cable_passes(struct runner *r, struct fabric_end *out, struct pooled *p)
{
	/* acquire: pairs with the release in put_in_force() */
	const struct cable_rules *rules = atomic_load_explicit(&out->rules, memory_order_acquire);
	const struct cable_rule *rule = rules ? first_met(rules, p->number) : NULL;

	if (!rule)
		return true;
	atomic_fetch_add_explicit(&out->sw->met, 1, memory_order_relaxed);
	tally_count(rule->tally);
	IB_TRACE("soft", "fault: %s packet %llu of port %u of switch %#llx",
		 fault_action_name(rule->fault.action),
		 (unsigned long long)(p->number - rule->sent), out->number,
		 (unsigned long long)out->fabric->topology.nodes[out->sw->node].guid);
	if (rule->fault.action == SOFT_FAULT_DELAY) {
		keep(out->fabric, out->peer, p, rule->fault.delay_ns);
		return false;
	}
	if (rule->fault.action == SOFT_FAULT_CORRUPT || rule->fault.action == SOFT_FAULT_MARK) {
		p->pkt.flags |= rule->fault.action == SOFT_FAULT_MARK ? PKT_MARKED : PKT_DAMAGED;
		return true;
	}
	count_lost(out->peer->port, rule->fault.action, &p->pkt);
	pool_home(r, &p->pkt);
	return false;
}

/* ----------------------------------------------------------------------- rules */

/* Replaces the rules of a port. The switch may still read the old ones, which are kept until the
 * fabric goes. The caller holds the lock. */
static void put_in_force(struct fabric_end *out, struct cable_rules *rules)
{
	struct fabric *f = out->fabric;

	if (rules) {
		rules->older = f->rules;
		f->rules = rules;
	}
	/* release: pairs with the acquire in cable_passes(); publishes the rules */
	atomic_store_explicit(&out->rules, rules, memory_order_release);
}

/* Returns the rules of a port and one more. NULL: no memory. The caller holds the lock. */
static struct cable_rules *rules_with(const struct fabric_end *out, const struct soft_fault *fault)
{
	struct fabric *f = out->fabric;
	const struct cable_rules *old = atomic_load_explicit(&out->rules, memory_order_relaxed);
	const uint32_t num = old ? old->num : 0;
	struct tally *tally = tally_add(&f->tallies);
	struct cable_rules *rules;

	if (!tally)
		return NULL;
	rules = al_alloc(sizeof(*rules) + (num + 1) * sizeof(*rules->rule));
	if (!rules)
		return NULL;
	if (old)
		memcpy(rules->rule, old->rule, num * sizeof(*old->rule));
	rules->num = num + 1;
	rules->rule[num] = (struct cable_rule){
		.fault = *fault,
		.key = draw_mix(draw_mix(draw_mix(f->seed) + fault->seed) +
				(uint64_t)(out - f->ends) * SOFT_FAULT_RULES + num),
		.threshold = draw_threshold(fault->chance),
		.sent = atomic_load_explicit(&out->traffic.tx_packets, memory_order_relaxed),
		.tally = tally,
	};
	return rules;
}

static bool has_room(const struct fabric_end *out)
{
	const struct cable_rules *rules = atomic_load_explicit(&out->rules, memory_order_relaxed);

	return !rules || rules->num < SOFT_FAULT_RULES;
}

/* Sets the rate of a cable, in both directions. The caller holds the lock. */
static al_status set_rate(struct fabric_end *out, uint64_t rate)
{
	al_status status = output_set_rate(out, rate);

	return status || !out->peer ? status : output_set_rate(out->peer, rate);
}

static al_status add_at(struct fabric_end *out, const struct soft_fault *fault)
{
	struct cable_rules *rules;

	if (fault->action == SOFT_FAULT_SLOW)
		return set_rate(out, fault->rate);
	if (!has_room(out))
		return AL_LIMIT_EXCEEDED;
	rules = rules_with(out, fault);
	if (!rules)
		return AL_INSUFFICIENT_MEMORY;
	put_in_force(out, rules);
	return AL_SUCCESS;
}

al_status cable_add_fault(struct fabric_switch *sw, const struct soft_fault *fault)
{
	const uint32_t first = fault->port ? fault->port : 1;
	const uint32_t last = fault->port ? fault->port : sw->num_ports;
	al_status status = AL_SUCCESS;
	uint32_t i;

	if (fault_wrong_at_switch(fault) || first > sw->num_ports)
		return AL_INVALID_PARAMETER;
	fmutex_lock(&sw->fabric->lock);
	for (i = first; i <= last && !status; i++)
		status = add_at(&sw->end[i], fault);
	fmutex_unlock(&sw->fabric->lock);
	return status;
}

bool cable_get_fault(const struct fabric_switch *sw, uint32_t port, uint32_t index,
		     struct soft_fault *fault, uint64_t *met)
{
	const struct fabric_end *out = &sw->end[port];
	/* acquire: pairs with the release in put_in_force() */
	const struct cable_rules *rules = atomic_load_explicit(&out->rules, memory_order_acquire);
	const uint64_t rate = output_rate(out);

	if (rate && !index--) {
		*fault = (struct soft_fault){ .action = SOFT_FAULT_SLOW, .rate = rate };
		*met = SOFT_NOT_COUNTED;
	} else if (rules && index < rules->num) {
		*fault = rules->rule[index].fault;
		*met = tally_read(rules->rule[index].tally);
	} else {
		return false;
	}
	fault->port = port;
	return true;
}

void cable_clear_faults(struct fabric_switch *sw)
{
	uint32_t i;

	fmutex_lock(&sw->fabric->lock);
	for (i = 1; i <= sw->num_ports; i++) {
		put_in_force(&sw->end[i], NULL);
		set_rate(&sw->end[i], 0); /* needs no memory */
	}
	fmutex_unlock(&sw->fabric->lock);
}

/* --------------------------------------------------------------- start and end */

void cables_start(struct fabric *f)
{
	f->timer.run_out = arrive_late;
	f->timer.without_lock = true;
}

void cables_stop(struct fabric *f)
{
	struct pooled *p;

	timer_end(&f->engine.timers, &f->timer);
	while ((p = f->late)) {
		f->late = p->next;
		pool_home(NULL, &p->pkt);
	}
	outputs_stop(f);
}

void cables_destroy(struct fabric *f)
{
	struct cable_rules *rules;

	outputs_destroy(f);

	while ((rules = f->rules)) {
		f->rules = rules->older;
		al_free(rules);
	}
	tallies_free(&f->tallies);
}
