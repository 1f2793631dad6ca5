/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a queue pair's transport has under way with memory of clients: moves of payload, and the packets that wait for them. */
#ifndef SOFT_STAGE_H
#define SOFT_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/soft/memory/mr.h"
#include "hca/soft/memory/payload.h"
#include "hca/soft/packet/packet.h"

struct errand;
struct runner;
struct soft_qp;

/* Allocated with the first move. The owner's. */
struct stage {
	struct errand *request;  /* payload of the request that is sent next */
	struct errand *reply;    /* payload of the read response that is sent next */
	struct errand *taken;    /* of the request at the head of the backlog (responder.copying); NULL: it is being read for */
	bool short_receive;      /* taken: its last packet lacks a receive */
	uint64_t orig;           /* taken, an atomic: what was there */
	struct errand *answer;   /* of a response (requester.copying), which was: */
	struct packet answered;
	struct packet *answers, **answers_tail; /* responses that have come since */
};

/* The queue pair's; NULL: no memory. */
struct stage *stage_of(struct soft_qp *qp);
/* The transport stops: only what is being written to a client's memory goes on. */
void stage_stop(struct runner *r, struct soft_qp *qp);
/* Is nothing being written to a client's memory any more? If not, the end of the last move kicks the queue pair. */
bool stage_quiet(struct soft_qp *qp);
void stage_free(struct soft_qp *qp);

/*
 * Moves head and payload of a packet to its place (payload_move()). COPY_LATER: the place is in a client's memory; the move is
 * under way as stage->taken (of a request) or stage->answer (of a response), and kicks the queue pair when it is done.
 */
enum copy_result stage_move_request(struct soft_qp *qp, const struct packet *pkt, const struct payload_head *head,
				    const struct place *to);
enum copy_result stage_move_response(struct soft_qp *qp, const struct packet *pkt, const struct payload_head *head,
				     const struct place *to);

#endif
