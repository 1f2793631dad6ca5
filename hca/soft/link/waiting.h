/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The queue pairs of a port that wait until a link by value has room for their packets (waiting.c).
 */
#ifndef SOFT_WAITING_H
#define SOFT_WAITING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <iba/ib_types.h>

struct runner;
struct soft_port;

struct waiting {
	const struct soft_port *port;
	/* a bit for each queue pair of the port's HCA, by the index of its number */
	_Atomic uint64_t *bits;
	/* Where to look, so that a kick reads the words that count, and not those of all queue
	 * pairs: a bit for each word of `bits`, and bit n % 64 for each word n of `words`. Each is
	 * set after the bits below it, and cleared before. */
	_Atomic uint64_t *words;
	_Atomic uint64_t any;
};

/* Makes the set of a port empty. AL_INSUFFICIENT_MEMORY. */
al_status waiting_create(struct waiting *w, const struct soft_port *port);
void waiting_destroy(struct waiting *w);
/*
 * Adds a queue pair. The caller then looks at the link's room again, since room may have come
 * before the queue pair was added.
 */
void waiting_add(struct waiting *w, uint32_t qpn);
/* Empties the set, and kicks its queue pairs. Called when the link has room again. */
void waiting_kick(struct runner *r, struct waiting *w);

#endif
