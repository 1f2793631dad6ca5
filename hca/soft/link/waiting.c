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

/* Returns how many words have a bit for each of `count` things. */
static uint32_t words_for(uint32_t count)
{
	return (count + 63) / 64;
}

/* Returns the number of words at `bits`. Those at `words` follow. */
static uint32_t count_words(const struct soft_port *port)
{
	return words_for(port->ports->actors->max + SPECIAL_QPS);
}

al_status waiting_create(struct waiting *w, const struct soft_port *port)
{
	const uint32_t words = count_words(port);

	w->port = port;
	w->bits = al_alloc((words + words_for(words)) * sizeof(*w->bits));
	if (!w->bits)
		return AL_INSUFFICIENT_MEMORY;
	w->words = w->bits + words;
	return AL_SUCCESS;
}

void waiting_destroy(struct waiting *w)
{
	al_free((void *)w->bits);
	w->bits = w->words = NULL;
}

static void set(_Atomic uint64_t *words, uint32_t index)
{
	atomic_fetch_or(&words[index / 64], 1ull << index % 64);
}

void waiting_add(struct waiting *w, uint32_t qpn)
{
	uint32_t index = index_of(w->port, qpn);

	set(w->bits, index);
	set(w->words, index / 64);
	set(&w->any, index / 64 / 64 % 64);
}

static void kick_word(struct runner *r, struct waiting *w, uint32_t word)
{
	uint64_t bits = atomic_exchange(&w->bits[word], 0);

	for (; bits; bits &= bits - 1)
		actor_kick(r, actor_at(w->port, word * 64 + (uint32_t)__builtin_ctzll(bits)));
}

/* Kicks the queue pairs of the words of `bits` that a word of `words` names. */
static void kick_words(struct runner *r, struct waiting *w, uint32_t at)
{
	uint64_t words = atomic_exchange(&w->words[at], 0);

	for (; words; words &= words - 1)
		kick_word(r, w, at * 64 + (uint32_t)__builtin_ctzll(words));
}

void waiting_kick(struct runner *r, struct waiting *w)
{
	uint32_t num, at;
	uint64_t any;

	/* sequentially consistent: a queue pair that this load misses looks at the room afterwards
	 */
	if (LIKELY(!atomic_load(&w->any)))
		return;
	any = atomic_exchange(&w->any, 0);
	num = words_for(count_words(w->port));
	for (; any; any &= any - 1)
		for (at = (uint32_t)__builtin_ctzll(any); at < num; at += 64)
			if (atomic_load_explicit(&w->words[at], memory_order_relaxed))
				kick_words(r, w, at);
}
