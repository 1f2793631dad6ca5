/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults on purpose (fault.c): what the rules of an HCA do to its packets. Their text: fault_text.c. */
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

struct faults {
	struct soft_hca *hca;
	_Atomic(struct fault_table *) table; /* the rules in force; never changed, but replaced */
	_Atomic uint32_t generation;         /* counts the tables that have been in force */
	_Atomic uint32_t held_num;           /* packets in held */
	_Atomic uint64_t met;
	struct pool pool;                    /* of SOFT_KEPT packets, once there is a rule or an injected packet */
	_Atomic uint64_t allocs;             /* allocations since there are rules about them */
	struct fmutex lock;                  /* guards what follows */
	struct fault_table *all;
	struct pooled *held; /* until a packet of their flow has left */
	struct pooled *late; /* until their time has come, the first first */
	struct timer timer; /* for that */
	uint64_t seed;
};

#define SOFT_KEPT 32

/* Makes hca->faults. AL_INSUFFICIENT_MEMORY. */
al_status fault_create(struct soft_hca *hca);
/* Packets that a rule has met. */
uint64_t fault_count(const struct soft_hca *hca);
al_status fault_add(struct soft_hca *hca, const struct soft_fault *rule);
void fault_clear(struct soft_hca *hca);
void fault_destroy(struct soft_hca *hca);
/* Those of the first `limit` packets of a stretch that may leave as one train, at least 1: up to where a rule meets one, or
 * one that is held back is to come. */
uint32_t fault_clip(const struct source *src, const struct stretch *s, uint32_t limit);
/* Will no rule meet any of them, and is nothing held back that counts them? The caller owns the source. */
bool fault_passes(struct source *src, const struct stretch *s);
/* Does what is to be done to the packet number n of a flow, which is about to leave. */
enum verdict fault_packet(struct runner *r, struct source *src, struct packet *pkt, enum flow_index flow,
				uint64_t n);
/* All up to number n have left: sends those that were to come after them. */
void fault_release(struct runner *r, struct source *src, enum flow_index flow, uint64_t n);
/* A packet of the HCA's pool; NULL: there is none. */
struct pooled *fault_room(struct soft_hca *hca);
/* A source leaves its port: its flows end. */
void fault_forget(struct source *src);

#endif
