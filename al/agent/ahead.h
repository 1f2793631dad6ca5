/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Outcomes of a MAD service's sends that go to the client with their announcement. The client's
 * program takes them in order, and each request of the client for the service tells how many it has
 * taken. All functions are called under the outbox's lock.
 */
#ifndef AL_AGENT_AHEAD_H
#define AL_AGENT_AHEAD_H

#include "al/library/private.h"
#include "al/protocol/protocol.h"

struct ahead {
	al_mad_svc_h svc; /* NULL: the service has had no event */
	uint64_t events;  /* taken out of the service for the client */
	uint64_t taken;   /* of these, taken by the program, as far as the client has told */
	bool held;        /* the newest of the events is in record, and still to be sent */
	bool sending;     /* SEND_MAD is at work, and its answer takes the next event */
	struct agent_mad_event record;
};

/* The part of an event that MAD_NEXT asks for. */
struct ahead_want {
	al_mad_svc_h svc;
	uint32_t size;   /* bytes of the longest datagram that the client takes */
	uint32_t offset; /* of the part */
	uint32_t room;   /* bytes of to */
	void *to;
};

/*
 * Makes a record of the service's oldest event. Of record->event only `before` is written, also
 * without an event; the rest is the caller's. Returns the record's bytes, and the same record again
 * until ahead_sent(). 0: there is no such event; *more: the client has to ask for the next event.
 */
size_t ahead_next(struct ahead *ahead, struct agent_mad_event *record, bool *more);
/* The record has been sent. */
void ahead_sent(struct ahead *ahead);
/* The program has taken so many events. A smaller number than before is that of a request which
 * another request of the client has overtaken. */
void ahead_taken(struct ahead *ahead, uint64_t taken);
/* As al_mad_next_part(). AL_NOT_FOUND: the client has not taken the events before. */
al_status ahead_fetch(struct ahead *ahead, uint64_t taken, const struct ahead_want *want,
		      struct al_mad_part *part);

#endif
