/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the examples with connections share: two programs that have met tell each other their queue
 * pairs and memory, and connect.
 */
#ifndef EXAMPLE_JOIN_H
#define EXAMPLE_JOIN_H

#include "end.h"

#include <endian.h>

/* What one program tells the other: its queue pair, and the memory that the peer may use. Numbers
 * are in network byte order. */
struct hello {
	uint8_t card[AL_CARD_BYTES];
	uint64_t addr;
	uint32_t rkey, bytes;
};

/* Connects a queue pair with that of the program at the other end of fd. */
static inline al_status join(struct end *end, al_qp_h qp, int fd, uint32_t bytes,
			     struct hello *theirs)
{
	struct hello mine = { .addr = htobe64((uintptr_t)end->memory),
			      .rkey = htobe32(end->rkey),
			      .bytes = htobe32(bytes) };
	struct al_qp_card card, peer;
	uint32_t size = sizeof(*theirs);
	al_status status = al_qp_card(end->ca, PORT, qp, NULL, &card);

	if (status)
		return status;
	al_card_encode(&card, mine.card);
	status = al_meet_send(fd, &mine, sizeof(mine), LIMIT);
	if (!status)
		status = al_meet_receive(fd, theirs, &size, LIMIT);
	if (!status && size != sizeof(*theirs))
		status = AL_INVALID_PARAMETER;
	if (!status)
		status = al_card_decode(theirs->card, &peer); /* checks what has come from a wire */
	return status ? status : al_connect_qp(qp, &card, &peer, NULL);
}

/* Waits until the other program is here, too: both send an empty record. */
static inline al_status agree(int fd)
{
	uint32_t size = 0;
	char none;
	al_status status = al_meet_send(fd, "", 0, LIMIT);

	return status ? status : al_meet_receive(fd, &none, &size, LIMIT);
}

#endif /* EXAMPLE_JOIN_H */
