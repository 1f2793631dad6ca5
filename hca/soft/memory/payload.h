/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Payload of packets (payload.c): reading payload from its source, and moving payload to its target now or by an
 * errand. Only a thread of the client's can reach the memory of a client of the agent, so errands serve such targets
 * (errand.h).
 */
#ifndef SOFT_PAYLOAD_H
#define SOFT_PAYLOAD_H

#include "hca/soft/memory/mr.h"

struct actor;
struct errand;
struct packet;
struct pool;
struct pooled;

/* The target of a payload: a list of pieces, from byte `skip` of the list on. */
struct place {
	struct mem_view view;
	const struct ib_sge *sge; /* the pieces */
	uint32_t num;             /* pieces at sge */
	uint64_t skip;            /* bytes of the list before the target */
};

/* Bytes that are written before the payload: the GRH of a datagram, or the original value of an atomic. */
struct payload_head {
	const void *data;
	uint32_t bytes;
};

/* Opens a cursor on the payload. False: the sender's memory key is no longer valid. */
bool payload_open(struct cursor *from, const struct packet *pkt);
/* Copies the whole payload. COPY_BAD_SOURCE: the sender's memory key is no longer valid. */
enum copy_result payload_copy(void *to, const struct packet *pkt);

/*
 * Returns a copy of a packet, from the pool, with its payload by value. NULL: the pool has no packet left (*result is
 * COPY_NO_MEMORY), or the sender's memory key is no longer valid (COPY_BAD_SOURCE).
 */
struct pooled *payload_keep(struct pool *pool, const struct packet *pkt, enum copy_result *result);

/*
 * Moves the head (NULL: none) and the payload of a packet to a place. COPY_CLIENT: some of the place is a client's
 * memory.
 */
enum copy_result payload_move(const struct packet *pkt, const struct payload_head *head, const struct place *to);
/*
 * Starts an errand that moves head and payload to a place for which payload_move() has returned COPY_CLIENT. The
 * errand is kept at *errand and kicks the actor when the errand is done. Returns COPY_LATER, COPY_BAD_SOURCE,
 * COPY_BAD_TARGET or COPY_NO_MEMORY.
 */
enum copy_result payload_move_by_errand(struct actor *actor, struct errand **errand, const struct packet *pkt,
				    const struct payload_head *head, const struct place *to);

/* Executes the atomic of a request packet with the processor's own atomics. Returns the original value. */
uint64_t payload_execute_atomic(const struct packet *pkt, uint64_t *target);
/*
 * Starts an errand that executes the atomic on a client's memory. mem: the address in the client. When the errand is
 * done, its data holds the original value. The errand is kept at *errand. Returns COPY_LATER or COPY_NO_MEMORY.
 */
enum copy_result payload_atomic_by_errand(struct actor *actor, struct errand **errand, const struct packet *pkt,
				      struct ci_client *client, const char *mem);

#endif
