/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ledgers: how many bytes the buffers of errands (errand.h) of each client take, and the actors of
 * queue pairs that wait until their client has fewer. A client's thread copies one errand after
 * another, so more buffers would only wait for it. What the buffers hold is errand.c's.
 */
#ifndef SOFT_LEDGER_H
#define SOFT_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct actor;
struct ci_client;

#define LEDGER_MAX                                                                               \
	(16u << 20) /* bytes of a client's buffers, but for those whose copy frees other buffers \
		     */

struct ledger;

/* An actor that waits for its client's ledger: a member of what the actor's owner owns. Zeroed
 * memory waits for none. */
struct ledger_wait {
	struct ledger_wait *next; /* guarded by the ledgers' lock, as all members */
	struct actor *actor;
	struct ledger *ledger; /* of the client; NULL: the actor does not wait */
	uint32_t bytes;        /* which the actor wants */
	bool turn;	       /* the actor was kicked, and takes before those that wait */
};

/*
 * Enters bytes of a client, *entered in number, which is 0 if there is no memory for a ledger.
 * False: the client has so many that these would be too many, and nothing is entered; the actor is
 * kicked when they would no longer be too many. Actors that wait are served in turn, whatever they
 * want. The only bytes of a client are never too many. Actors whose requests wait for the memory of
 * a peer's client (actor.held) have half of the ledger only, so that such a peer does not hold up
 * the client's other queue pairs; they run again when the request that waits comes home.
 */
bool ledger_take(struct ci_client *client, uint32_t bytes, uint32_t *entered, struct actor *actor,
		 struct ledger_wait *wait);
/* Enters bytes of a client however many it has. Returns how many are entered. */
uint32_t ledger_add(struct ci_client *client, uint32_t bytes);
/* Takes bytes out again, and lets actors that wait try again, by way of the client's thread. */
void ledger_give(struct ci_client *client, uint32_t bytes);
/* The bytes that a client has. */
uint64_t ledger_bytes(const struct ci_client *client);
/* Ends a wait: the owner of wait is about to free it, or to need nothing any more. */
void ledger_leave(struct ledger_wait *wait);
/* True: the actor waits. The caller owns the actor. */
bool ledger_waits(struct ledger_wait *wait);

#endif
