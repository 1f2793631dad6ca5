/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ledgers of clients, in a table by the client. A ledger is there while its client has bytes in it,
 * actors that wait, or a job that kicks them.
 */
#include "hca/soft/memory/ledger.h"

#include <iba/ib_hca.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/memory/errand.h"
#include "hca/soft/shared/lock.h"

#define BUCKETS 64

struct ledger {
	struct ci_client_job job; /* first member: kicks actors that wait */
	struct ledger *next;      /* in its bucket */
	struct ci_client *client;
	uint64_t bytes;
	struct ledger_wait *first, **end; /* actors that wait, oldest first */
	bool kicking;                     /* job is the client's thread's */
};

static struct {
	struct fmutex lock; /* guards everything here. Leaf. */
	struct ledger *bucket[BUCKETS];
} ledgers;

/* The place of a client's ledger, or of none, in its bucket. Under the lock, as the next ones. */
static struct ledger **place_of(const struct ci_client *client)
{
	struct ledger **p = &ledgers.bucket[((uintptr_t)client >> 6) % BUCKETS];

	while (*p && (*p)->client != client)
		p = &(*p)->next;
	return p;
}

/* NULL: no memory. */
static struct ledger *ledger_of(struct ci_client *client)
{
	struct ledger **p = place_of(client);

	if (!*p) {
		*p = al_alloc(sizeof(**p));
		if (*p) {
			(*p)->client = client;
			(*p)->end = &(*p)->first;
		}
	}
	return *p;
}

static void try_free(struct ledger *ledger)
{
	if (ledger->bytes || ledger->first || ledger->kicking)
		return;
	*place_of(ledger->client) = ledger->next;
	al_free(ledger);
}

/* True: the client may have so many bytes more. The only bytes of a client are never too many. */
static bool fits(const struct ledger *ledger, uint64_t bytes, uint64_t most)
{
	return !ledger->bytes || ledger->bytes + bytes <= most;
}

/*
 * An actor that was kicked and found too little waits before all others again: behind them, an
 * actor that wants many bytes would wait without end, since actors that want few take what comes
 * free.
 */
static void line_up(struct ledger *ledger, struct ledger_wait *wait)
{
	struct ledger_wait **p = wait->turn ? &ledger->first : ledger->end;

	wait->ledger = ledger;
	wait->next = *p;
	*p = wait;
	if (!wait->next)
		ledger->end = &wait->next;
}

static void take_out(struct ledger_wait *wait)
{
	struct ledger *ledger = wait->ledger;
	struct ledger_wait **p;

	for (p = &ledger->first; *p != wait; p = &(*p)->next)
		;
	*p = wait->next;
	if (!*p)
		ledger->end = p;
	wait->ledger = NULL;
}

/* The actor to kick next; NULL: those that wait have to wait on, or none does. */
static struct actor *next_actor(struct ledger *ledger, uint64_t *promised)
{
	struct ledger_wait *wait = ledger->first;
	struct actor *actor;

	/* the last bytes of a client wake all, since nothing wakes them later */
	if (!wait || !fits(ledger, *promised + wait->bytes, LEDGER_MAX))
		return NULL;
	*promised += wait->bytes;
	actor = wait->actor;
	wait->turn = true;
	take_out(wait);
	return actor;
}

/* On the client's thread. */
static void kick(struct ci_client_job *job)
{
	struct ledger *ledger = (struct ledger *)job; /* job is the first member */
	uint64_t promised = 0;
	struct actor *actor;
	struct runner r;

	runner_start(&r);
	for (;;) {
		fmutex_lock(&ledgers.lock);
		actor = next_actor(ledger, &promised);
		if (!actor)
			break;
		fmutex_unlock(&ledgers.lock);
		actor_kick(&r, actor);
	}
	ledger->kicking = false;
	try_free(ledger);
	fmutex_unlock(&ledgers.lock);
	runner_run(&r);
}

/* Enters bytes. Returns how many. */
static uint32_t enter(struct ledger *ledger, uint32_t bytes)
{
	if (!ledger)
		return 0;
	ledger->bytes += bytes;
	return bytes;
}

bool ledger_take(struct ci_client *client, uint32_t bytes, uint32_t *entered, struct actor *actor,
		 struct ledger_wait *wait)
{
	const bool held = atomic_load_explicit(&actor->held, memory_order_relaxed);
	struct ledger *ledger, *before;
	bool may, first;

	fmutex_lock(&ledgers.lock);
	ledger = ledger_of(client);
	before = wait->ledger;
	if (before && before != ledger) {
		take_out(wait);
		try_free(before);
	}
	/* no actor overtakes one that waits, which would wait without end */
	first = !ledger || !ledger->first || ledger->first == wait || wait->turn || held;
	may = !ledger || !ledger->bytes ||
	      (first && fits(ledger, bytes, held ? LEDGER_MAX / 2 : LEDGER_MAX));
	if (may) {
		if (wait->ledger)
			take_out(wait);
		*entered = enter(ledger, bytes);
	} else if (!held) {
		wait->actor = actor;
		wait->bytes = bytes;
		if (!wait->ledger)
			line_up(ledger, wait);
	}
	wait->turn = false;
	fmutex_unlock(&ledgers.lock);
	return may;
}

uint32_t ledger_add(struct ci_client *client, uint32_t bytes)
{
	uint32_t entered;

	fmutex_lock(&ledgers.lock);
	entered = enter(ledger_of(client), bytes);
	fmutex_unlock(&ledgers.lock);
	return entered;
}

void ledger_give(struct ci_client *client, uint32_t bytes)
{
	struct ledger *ledger;
	bool kicks;

	if (!bytes)
		return;
	fmutex_lock(&ledgers.lock);
	ledger = *place_of(client);
	ledger->bytes -= bytes;
	kicks = ledger->first && !ledger->kicking && fits(ledger, ledger->first->bytes, LEDGER_MAX);
	ledger->kicking |= kicks;
	try_free(ledger);
	fmutex_unlock(&ledgers.lock);
	if (!kicks)
		return;
	ledger->job.run = kick;
	errand_run_job(client, &ledger->job);
}

uint64_t ledger_bytes(const struct ci_client *client)
{
	const struct ledger *ledger;
	uint64_t bytes;

	fmutex_lock(&ledgers.lock);
	ledger = *place_of(client);
	bytes = ledger ? ledger->bytes : 0;
	fmutex_unlock(&ledgers.lock);
	return bytes;
}

void ledger_leave(struct ledger_wait *wait)
{
	struct ledger *ledger;

	fmutex_lock(&ledgers.lock);
	wait->turn = false;
	ledger = wait->ledger;
	if (ledger) {
		take_out(wait);
		try_free(ledger);
	}
	fmutex_unlock(&ledgers.lock);
}

bool ledger_waits(struct ledger_wait *wait)
{
	bool waits;

	fmutex_lock(&ledgers.lock);
	waits = wait->ledger;
	fmutex_unlock(&ledgers.lock);
	return waits;
}
