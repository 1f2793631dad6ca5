/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stage: the errands (memory/errand.h) by which a queue pair's transport reads and writes memory of clients, and the
 * responses that wait for an errand. How an errand copies is in memory/errand.c.
 */
#ifndef SOFT_STAGE_H
#define SOFT_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/memory/ledger.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"

struct errand;
struct runner;
struct soft_qp;

/* Allocated with the queue pair's first errand, and freed by Reset. Only the owner of the actor uses a stage. */
struct stage {
	struct errand *request_fetch;  /* reads the payload of the next request */
	struct errand *response_fetch; /* reads the payload of the next read response */
	struct ledger_wait request_wait, response_wait; /* those two wait for the client's ledger */
	/*
	 * Writes the payload of the request at the head of the backlog (responder.copying). NULL:
	 * the request is a read, which waits until its responses have been sent.
	 */
	struct errand *request_copy;
	bool lacks_receive;            /* request_copy: one more packet follows, which lacks a receive */
	uint64_t atomic_orig;          /* request_copy of an atomic, done: the original value */
	struct errand *response_copy;  /* writes the payload of copied_response (requester.copying) */
	struct packet copied_response;
	struct packet *waiting, **waiting_tail; /* responses that came after copied_response, oldest first */
};

/* Returns the queue pair's stage, and allocates the stage at the first call. NULL: no memory. */
struct stage *stage_of(struct soft_qp *qp);
/* Stops fetches and releases waiting responses. Copies to a client's memory go on until stage_quiet() is true. */
void stage_stop(struct runner *r, struct soft_qp *qp);
/*
 * Returns whether no copy to a client's memory is under way. If false, the end of the last copy kicks the queue pair.
 */
bool stage_quiet(struct soft_qp *qp);
/* Abandons all errands and frees the stage, if there is one. */
void stage_free(struct soft_qp *qp);

/*
 * Moves head and payload of a request (as stage.request_copy) or of a response (as stage.response_copy) to their
 * place, as payload_move() does. COPY_LATER: the place is in a client's memory; the errand is under way and kicks the
 * queue pair at its end.
 */
enum copy_result stage_move_request(struct soft_qp *qp, const struct packet *pkt, const struct payload_head *head,
				    const struct place *to);
enum copy_result stage_move_response(struct soft_qp *qp, const struct packet *pkt, const struct payload_head *head,
				     const struct place *to);

#endif
