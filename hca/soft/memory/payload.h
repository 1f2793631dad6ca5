/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Payload of packets (payload.c): where it is read from, and how it is moved to where it belongs, now or later. Later is for
 * memory of a client of the agent, which only that client's thread can reach (errand.h).
 */
#ifndef SOFT_PAYLOAD_H
#define SOFT_PAYLOAD_H

#include "hca/soft/memory/mr.h"

struct actor;
struct errand;
struct packet;
struct pool;
struct pooled;

/* Where payload goes: what a list of pieces has from byte `skip` on. */
struct place {
	struct mem_view view;
	const struct ib_sge *sge;
	uint32_t num;
	uint64_t skip;
};

/* Bytes that go before the payload: the GRH of a datagram, the value of an atomic's answer. */
struct payload_head {
	const void *data;
	uint32_t bytes;
};

/* Opens a cursor on the payload; false: its sender's key is no longer good. The caller ends the cursor either way. */
bool payload_open(struct cursor *from, const struct packet *pkt);
/* Copies all of it; COPY_BAD_SOURCE: its sender's key is no longer good. */
enum copy_result payload_copy(void *to, const struct packet *pkt);

/*
 * A copy of a packet that refers to nothing of its sender's. NULL: the pool has no packet left (*result is COPY_NO_MEMORY), or
 * the payload is no longer to be had (COPY_BAD_SOURCE).
 */
struct pooled *payload_keep(struct pool *pool, const struct packet *pkt, enum copy_result *result);

/* Moves head (NULL: none) and payload of a packet to a place. COPY_CLIENT: some of the place is a client's memory. */
enum copy_result payload_move(const struct packet *pkt, const struct payload_head *head, const struct place *to);
/*
 * The same where payload_move() has said COPY_CLIENT: an errand copies it, is kept at *errand, and kicks the actor when it is
 * done. Returns COPY_LATER, COPY_BAD_SOURCE, COPY_BAD_TARGET or COPY_NO_MEMORY.
 */
enum copy_result payload_move_later(struct actor *actor, struct errand **errand, const struct packet *pkt,
				    const struct payload_head *head, const struct place *to);

/* Executes the atomic of a request packet with the processor's own atomics; returns what was there. */
uint64_t payload_execute_atomic(const struct packet *pkt, uint64_t *target);
/* The same on memory of a client, at its address mem: an errand, which has the old value in its data. As payload_move_later(). */
enum copy_result payload_atomic_later(struct actor *actor, struct errand **errand, const struct packet *pkt,
				      struct ci_client *client, const char *mem);

#endif
