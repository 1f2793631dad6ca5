/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults on purpose (fault.c): an HCA's rules and their effects on packets. The text of rules is in
 * base/fault_text.c.
 */
#ifndef SOFT_FAULT_H
#define SOFT_FAULT_H

#include <iba/ib_soft.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/link/hooks.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/shared/lock.h"

struct soft_hca;
struct soft_port;
struct source;

struct fault_table;
struct tally;

struct faults {
	struct soft_hca *hca;
	_Atomic(struct fault_table *) table; /* the rules in force; never changed, but replaced */
	_Atomic uint32_t generation;         /* counts the tables that have been in force */
	_Atomic uint32_t held_num;           /* packets in held */
	_Atomic uint64_t met;                /* packets and allocations that a rule has met */
	struct pool pool;                    /* SOFT_KEPT packets; made at the first rule or injected packet */
	_Atomic uint64_t allocs;             /* allocations since the first rule about allocations */
	struct fmutex lock;                  /* guards the fields below */
	struct fault_table *all;             /* tables that are not freed, the newest first */
	struct tally *tallies;               /* of the rules of these tables */
	struct pooled *held;                 /* packets that leave after a later packet of their flow */
	struct pooled *late;                 /* packets that leave at a later time, the earliest first */
	struct timer timer;                  /* runs out at the time of the first packet of `late` */
	uint64_t seed;                       /* the HCA's seed */
};

#define SOFT_KEPT 32 /* packets that rules and injections of an HCA can keep at a time */

/* Makes hca->faults. AL_INSUFFICIENT_MEMORY. */
al_status fault_create(struct soft_hca *hca);
/* Returns the number of packets and allocations that a rule has met. */
uint64_t fault_count(const struct soft_hca *hca);
/*
 * Adds a rule. AL_INVALID_PARAMETER: the rule contradicts itself, or the HCA has no such port.
 * AL_INSUFFICIENT_MEMORY.
 */
al_status fault_add(struct soft_hca *hca, const struct soft_fault *rule);
/*
 * Reads the rule in force at an index, and how many packets or allocations it has met. False: there
 * are fewer rules.
 */
bool fault_get(const struct soft_hca *hca, uint32_t index, struct soft_fault *fault, uint64_t *met);
/* Removes all rules, and drops the packets that the rules keep. */
void fault_clear(struct soft_hca *hca);
void fault_destroy(struct soft_hca *hca);
/*
 * Returns how many of the stretch's first `limit` packets may leave as one train, at least 1. A train ends before a
 * packet that a rule meets, and after a packet that a held packet waits for.
 */
uint32_t fault_clip(const struct source *src, const struct stretch *s, uint32_t limit);
/* True: no rule meets a packet of the stretch, and the HCA holds no packet. The caller owns the source. */
bool fault_passes(struct source *src, const struct stretch *s);
/* Executes the first rule that meets packet number n of a flow, which is about to leave. */
enum verdict fault_packet(struct runner *r, struct source *src, struct packet *pkt, enum flow_index flow,
				uint64_t n);
/* Sends the held packets that are due when packet number n of the flow has left. */
void fault_release(struct runner *r, struct source *src, enum flow_index flow, uint64_t n);
/* Takes a packet of the HCA's pool, for an injected packet. NULL: no memory, or the pool is empty. */
struct pooled *fault_room(struct soft_hca *hca);
/* Drops the kept packets of a source that leaves its port. */
void fault_forget(struct source *src);

#endif
