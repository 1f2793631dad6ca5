/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults on purpose: packets that are lost, doubled or held back. What happens to a packet is a
 * function of the seed, its flow and its number in the flow alone. A packet that is kept has a copy
 * of its payload and refers to nothing.
 */
#include <string.h>

#include "soft.h"

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static bool by_chance(uint64_t seed, uint32_t qpn, enum flow_index flow, uint64_t n,
		      uint32_t chance)
{
	return !chance || mix(mix(seed ^ ((uint64_t)qpn << 1 | flow)) + n) % 1000000 < chance;
}

static bool meets(const struct faults *f, const struct soft_fault *rule, const struct soft_qp *qp,
		  enum flow_index flow, uint64_t n)
{
	uint32_t this_flow = flow == FLOW_REQUEST ? SOFT_FLOW_REQUEST : SOFT_FLOW_RESPONSE;

	return (!rule->flow || rule->flow == this_flow) &&
	       (!rule->port || rule->port == qp->port->num) &&
	       (!rule->qpn || rule->qpn == qp->ci.qp_num) && n >= rule->n &&
	       (!rule->n || !rule->count || n - rule->n < rule->count) &&
	       by_chance(f->seed, qp->ci.qp_num, flow, n, rule->chance);
}

/* Keeps a copy of a packet until number `due` of its flow has left. Without room nothing is kept.
 */
static void keep(struct soft_qp *qp, const struct packet *pkt, enum flow_index flow, uint64_t due)
{
	struct faults *f = &qp->actor->hca->faults;
	struct kept *k = f->free, **tail = &f->held;
	struct cursor from, to;
	enum copy_result result = COPY_DONE;

	if (!k)
		return;
	if (pkt->length) {
		cursor_plain(&to, k->data, pkt->length);
		result = pkt_source(&from, pkt) ? cursor_copy(&to, &from, pkt->length)
						: COPY_BAD_SOURCE;
		cursor_end(&from);
	}
	if (result != COPY_DONE)
		return;
	f->free = k->next;
	k->pkt = *pkt;
	k->pkt.owner = NULL;
	k->pkt.wqe = NULL;
	if (pkt->length) {
		k->pkt.data = k->data;
		k->pkt.flags |= PKT_BY_VALUE;
	}
	k->flow = flow;
	k->due = due;
	k->next = NULL;
	while (*tail)
		tail = &(*tail)->next;
	*tail = k;
}

bool fault_packet(struct soft_qp *qp, const struct packet *pkt, enum flow_index flow, uint64_t n)
{
	struct faults *f = &qp->actor->hca->faults;
	const struct fault_rule *rule;
	bool passes = true;

	if (pkt->num != 1) /* built before there were rules */
		return true;
	fmutex_lock(&f->lock);
	for (rule = f->rules; rule; rule = rule->next)
		if (meets(f, &rule->rule, qp, flow, n))
			break;
	if (!rule)
		goto out;
	f->met++;
	switch (rule->rule.action) {
	case SOFT_FAULT_DUPLICATE:
		keep(qp, pkt, flow, n);
		break;
	case SOFT_FAULT_HOLD:
		keep(qp, pkt, flow, n + rule->rule.by);
		passes = false;
		break;
	default:
		passes = false;
	}
	IB_TRACE("soft", "fault: action %u on packet %llu of qp=%#x psn=%#x", rule->rule.action,
		 (unsigned long long)n, qp->ci.qp_num, pkt->psn);
out:
	fmutex_unlock(&f->lock);
	return passes;
}

static bool of_flow(const struct kept *k, const struct soft_qp *qp)
{
	return k->pkt.src_qpn == qp->ci.qp_num;
}

void fault_release(struct runner *r, struct soft_qp *qp, enum flow_index flow, uint64_t n)
{
	struct soft_hca *hca = qp->actor->hca;
	struct kept **at = &hca->faults.held, *due = NULL, **tail = &due, *k;

	fmutex_lock(&hca->faults.lock);
	while ((k = *at)) {
		if (!of_flow(k, qp) || k->flow != flow || k->due > n) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		k->next = NULL;
		*tail = k;
		tail = &k->next;
	}
	fmutex_unlock(&hca->faults.lock);
	while ((k = due)) {
		due = k->next;
		if (!qp->port->link->send(r, qp, &k->pkt))
			fault_home(hca, &k->pkt);
	}
}

void fault_home(struct soft_hca *hca, struct packet *pkt)
{
	struct kept *k = (struct kept *)pkt; /* its first member */

	fmutex_lock(&hca->faults.lock);
	k->next = hca->faults.free;
	hca->faults.free = k;
	fmutex_unlock(&hca->faults.lock);
}

/* Drops what is held back, of one queue pair or of all. */
static void drop_held(struct faults *f, const struct soft_qp *qp)
{
	struct kept **at = &f->held, *k;

	while ((k = *at)) {
		if (qp && !of_flow(k, qp)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		k->next = f->free;
		f->free = k;
	}
}

void fault_forget(struct soft_qp *qp)
{
	struct faults *f = &qp->actor->hca->faults;

	fmutex_lock(&f->lock);
	drop_held(f, qp);
	fmutex_unlock(&f->lock);
}

/* ------------------------------------------------------------------- rules */

static void set_faulty(struct soft_hca *hca, bool faulty)
{
	uint32_t i;

	for (i = 0; hca->ports && i < hca->conf.ports; i++)
		atomic_store_explicit(&hca->ports[i].faulty, faulty, memory_order_relaxed);
}

/* Room for what is kept: once there is a rule, until the HCA goes. */
static al_status make_room(struct faults *f)
{
	const size_t each = sizeof(struct kept) + ib_mtu_bytes(IB_MTU_4096);
	char *mem;
	int i;

	if (f->mem)
		return AL_SUCCESS;
	mem = al_alloc_aligned(64, SOFT_KEPT * each);
	if (!mem)
		return AL_INSUFFICIENT_MEMORY;
	f->mem = mem;
	for (i = 0; i < SOFT_KEPT; i++) {
		struct kept *k = (struct kept *)(mem + i * sizeof(*k));

		k->data = mem + SOFT_KEPT * sizeof(*k) + (size_t)i * ib_mtu_bytes(IB_MTU_4096);
		k->next = f->free;
		f->free = k;
	}
	return AL_SUCCESS;
}

al_status fault_add(struct soft_hca *hca, const struct soft_fault *fault)
{
	struct faults *f = &hca->faults;
	struct fault_rule *rule, **tail;
	al_status status;

	if (fault->action < SOFT_FAULT_DROP || fault->action > SOFT_FAULT_HOLD ||
	    fault->flow > SOFT_FLOW_RESPONSE || fault->port > hca->conf.ports ||
	    fault->chance > 1000000 || (fault->action == SOFT_FAULT_HOLD) != !!fault->by ||
	    (!fault->n && !fault->chance))
		return AL_INVALID_PARAMETER;
	rule = al_alloc(sizeof(*rule));
	if (!rule)
		return AL_INSUFFICIENT_MEMORY;
	rule->rule = *fault;
	fmutex_lock(&f->lock);
	status = make_room(f);
	if (!status) {
		for (tail = &f->rules; *tail; tail = &(*tail)->next)
			;
		*tail = rule;
		set_faulty(hca, true);
	}
	fmutex_unlock(&f->lock);
	if (status)
		al_free(rule);
	return status;
}

void fault_clear(struct soft_hca *hca)
{
	struct faults *f = &hca->faults;
	struct fault_rule *rule;

	fmutex_lock(&f->lock);
	set_faulty(hca, false);
	while ((rule = f->rules)) {
		f->rules = rule->next;
		al_free(rule);
	}
	drop_held(f, NULL);
	fmutex_unlock(&f->lock);
}

void fault_destroy(struct soft_hca *hca)
{
	fault_clear(hca);
	al_free(hca->faults.mem);
	hca->faults.mem = NULL;
}
