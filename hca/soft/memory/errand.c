/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errands: copies that a client's own thread makes from or to the client's memory. The thread touches only the
 * errand's own buffer, so no queue pair and no region waits for the thread. The thread frees an errand that has been
 * abandoned. What the transport does with errands is in transport/stage.c.
 */

#include "hca/soft/memory/errand.h"

#include <string.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/lock.h"

/* Errands that are started and not finished. The Access Layer counts an errand down (ci_client_job.under_way). */
static _Atomic uint32_t under_way;

/* -------------------------------------------------------- on the client's thread */

static bool copy_piece(const struct errand *e, const struct errand_piece *p)
{
	char *at = (char *)e->data + p->offset;

	return !(e->kind == ERRAND_GATHER ? ci_client_read(e->client, p->addr, at, p->length)
					  : ci_client_write(e->client, p->addr, at, p->length));
}

/* Atomic among queue pairs, because only this thread executes atomics on this client's memory. */
static bool execute_atomic(struct errand *e)
{
	uint64_t value, orig;

	if (ci_client_read(e->client, e->pieces->addr, &value, sizeof(value)))
		return false;
	orig = payload_execute_atomic((const struct packet *)e->data, &value);
	memcpy(e->data, &orig, sizeof(orig));
	return !ci_client_write(e->client, e->pieces->addr, &value, sizeof(value));
}

static bool execute(struct errand *e)
{
	if (e->kind == ERRAND_ATOMIC)
		return execute_atomic(e);
	for (uint32_t i = 0; i < e->num; i++)
		if (!copy_piece(e, &e->pieces[i]))
			return false;
	return true;
}

static void run_errand(struct ci_client_job *job)
{
	struct errand *e = (struct errand *)job; /* job is the first member */
	struct actor *actor = e->actor;          /* outlives the errand: actors live as long as the HCA */
	struct runner r;

	if (atomic_load(&e->state) != ERRAND_ABANDONED)
		e->succeeded = execute(e);
	/* release: pairs with the acquire in errand_done(); acquire: pairs with the exchange in errand_abandon() */
	if (atomic_exchange(&e->state, ERRAND_DONE) == ERRAND_ABANDONED) {
		errand_free(e);
	} else {
		runner_start(&r);
		actor_kick(&r, actor);
		runner_run(&r);
	}
}

/* ------------------------------------------------- on threads that own the queue pair */

struct errand *errand_new(struct actor *actor, enum errand_kind kind, uint32_t length,
			  uint32_t pieces)
{
	size_t data = (length + 15u) & ~(size_t)15;
	struct errand *e = al_alloc(sizeof(*e) + data + pieces * sizeof(*e->pieces));

	if (!e)
		return NULL;
	e->actor = actor;
	e->kind = (uint8_t)kind;
	e->length = length;
	e->pieces = (struct errand_piece *)(e->data + data);
	e->job.run = run_errand;
	return e;
}

void errand_free(struct errand *e)
{
	ledger_give(e->client, e->entered);
	al_free(e);
}

bool errand_add(struct errand *e, const struct mem_view *view, const struct ib_sge *sge,
		uint32_t num, uint64_t skip)
{
	uint32_t at = 0, n;
	const struct mr_slot *slot;
	char *mem;

	for (; at < e->length; sge++, num--) {
		if (!num)
			return false;
		if (sge->length <= skip) {
			skip -= sge->length;
			continue;
		}
		slot = mr_find(view, sge->lkey, sge->addr, sge->length, &mem);
		if (!slot)
			return false;
		mem += skip;
		n = sge->length - (uint32_t)skip;
		n = n < e->length - at ? n : e->length - at;
		if (slot->client) {
			e->client = slot->client;
			e->pieces[e->num++] = (struct errand_piece){ (uintptr_t)mem, at, n };
		} else if (e->kind == ERRAND_GATHER) {
			memcpy(e->data + at, mem, n);
		} else {
			memcpy(mem, e->data + at, n);
		}
		at += n;
		skip = 0;
	}
	return true;
}

void errand_start(struct errand **place, struct errand *e)
{
	*place = e;
	if (!e->client) { /* a region of this process has taken over the key, so errand_add() has copied everything */
		e->succeeded = true;
		atomic_store(&e->state, ERRAND_DONE);
		return;
	}
	if (e->kind != ERRAND_GATHER) /* it frees the buffer that its payload has come in, so it can
					 not wait for others */
		e->entered = ledger_add(e->client, e->length);
	errand_run_job(e->client, &e->job);
}

void errand_run_job(struct ci_client *client, struct ci_client_job *job)
{
	job->under_way = (uint32_t *)&under_way;
	atomic_fetch_add(&under_way, 1);
	ci_client_run(client, job);
}

void errand_abandon(struct errand **place)
{
	struct errand *e = *place;

	*place = NULL;
	/*
	 * release: pairs with the exchange in run_errand(), whose thread frees the errand; acquire: the thread has
	 * finished
	 */
	if (e && atomic_exchange(&e->state, ERRAND_ABANDONED) == ERRAND_DONE)
		errand_free(e);
}

/* ---------------------------------------------------------- payload of packets */

enum copy_result errand_fetch(struct actor *actor, struct errand **place, struct ledger_wait *wait,
			      struct packet *pkt, const struct mem_view *view,
			      const struct ib_sge *sge, uint32_t num, uint64_t skip)
{
	struct errand *e = *place;

	/* the errand was started for another packet: the queue pair has retransmitted or gone on since */
	if (e && (e->psn != pkt->psn || e->length != pkt->length || e->wqe != pkt->wqe))
		errand_abandon(place);
	if (!*place) {
		e = errand_new(actor, ERRAND_GATHER, pkt->length, num);
		if (!e)
			return COPY_NO_MEMORY;
		e->psn = pkt->psn;
		e->wqe = pkt->wqe;
		if (!errand_add(e, view, sge, num, skip)) {
			errand_free(e);
			return COPY_BAD_SOURCE;
		}
		if (e->client && !ledger_take(e->client, e->length, &e->entered, actor, wait)) {
			errand_free(e);
			return COPY_LATER;
		}
		errand_start(place, e);
	}
	e = *place;
	if (!errand_done(e))
		return COPY_LATER;
	*place = NULL;
	if (!e->succeeded) {
		errand_free(e);
		return COPY_BAD_SOURCE;
	}
	pkt->view = NULL;
	pkt->data = e->data;
	pkt->offset = 0;
	pkt->flags |= PKT_FETCHED;
	return COPY_DONE;
}

void errand_free_payload(struct packet *pkt)
{
	pkt->flags &= (uint8_t)~PKT_FETCHED;
	errand_free((struct errand *)(pkt->data - offsetof(struct errand, data)));
}

void errands_wait(void)
{
	uint32_t left;

	while ((left = atomic_load(&under_way)))
		futex_wait(&under_way, left, NULL);
}
