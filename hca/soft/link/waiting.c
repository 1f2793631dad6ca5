/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs that wait for a link's room: a bit for each, set and cleared without a lock. */
#include "hca/soft/link/waiting.h"

#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/link.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

/* Returns the index of a queue pair's bit. The special queue pairs are behind those of the HCA's
 * table. */
static uint32_t index_of(const struct soft_port *port, uint32_t qpn)
{
	if (qpn < SPECIAL_QPS)
		return port->ports->actors->max + qpn;
	return (qpn - port->ports->actors->base) & ((1u << TABLE_BITS) - 1);
}

static struct actor *actor_at(const struct soft_port *port, uint32_t index)
{
	const struct table *actors = port->ports->actors;

	return index < actors->max ? table_index(actors, index)
				   : &port->special[index - actors->max];
}

static uint32_t count_words(const struct soft_port *port)
{
	return (port->ports->actors->max + SPECIAL_QPS + 63) / 64;
}

al_status waiting_create(struct waiting *w, const struct soft_port *port)
{
	w->port = port;
	w->bits = al_alloc(count_words(port) * sizeof(*w->bits));
	return w->bits ? AL_SUCCESS : AL_INSUFFICIENT_MEMORY;
}

void waiting_destroy(struct waiting *w)
{
	al_free((void *)w->bits);
	w->bits = NULL;
}

void waiting_add(struct waiting *w, uint32_t qpn)
{
	uint32_t index = index_of(w->port, qpn);

	atomic_fetch_or(&w->bits[index / 64], 1ull << index % 64);
	atomic_store(&w->any, true);
}

static void kick_word(struct runner *r, struct waiting *w, uint32_t word)
{
	uint64_t bits = atomic_exchange(&w->bits[word], 0);

	for (; bits; bits &= bits - 1)
		actor_kick(r, actor_at(w->port, word * 64 + (uint32_t)__builtin_ctzll(bits)));
}

void waiting_kick(struct runner *r, struct waiting *w)
{
	uint32_t words, i;

	if (!atomic_exchange(&w->any, false))
		return;
	words = count_words(w->port);
	for (i = 0; i < words; i++)
		if (atomic_load_explicit(&w->bits[i], memory_order_relaxed))
			kick_word(r, w, i);
}
