/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events on their way to a client. A source (an object, a port, an HCA, the session itself) keeps what is pending of it, and
 * its place in the queue of the client's outbox: raising an event allocates nothing, and no event is lost while the client
 * does not read.
 */
#ifndef AL_AGENT_EVENT_H
#define AL_AGENT_EVENT_H

#include <pthread.h>

#include <iba/ib_types.h>

#include "al/agent/ahead.h"
#include "al/agent/loop.h"
#include "al/object/port.h"

struct source {
	struct outbox *outbox; /* of the client */
	struct source *next;   /* in the outbox's queue */
	bool queued;           /* in the outbox's queue */
	uint32_t kind;         /* enum agent_event_kind of the source's asynchronous events */
	uint32_t port;         /* number of the port; 0: no port */
	uint32_t pending;      /* events that are not sent yet: 1 << enum ib_event_type, and SOURCE_* */
	struct ladder ladder;  /* a port's events: those sent to the client, and those still to send */
	uint64_t cookie;       /* the client's name for the object */
	uint64_t guid;         /* of the HCA, in events of its arrival and removal */
	const void *qp; /* the Access Layer's handle of a queue pair, for SOURCE_FAILURE */
	struct ahead *ahead;   /* of a MAD service; NULL: the source is no MAD service */
};
/* Bits of pending beside those of the events that the source has. A queue pair has no event CQ_ERR.
 */
#define SOURCE_FAILURE    (1u << IB_EVENT_CQ_ERR)
#define SOURCE_MAD        (1u << 26)
#define SOURCE_ENDING     (1u << 27)
#define SOURCE_COMPLETION (1u << 28)
#define SOURCE_ADD        (1u << 29)
#define SOURCE_REMOVE     (1u << 30)
#define SOURCE_READY      (1u << 31)

/* A client's event connection, and the queue of sources with pending events. */
struct outbox {
	int fd;                 /* the event connection */
	struct watched watched; /* of fd; its function calls outbox_flush() at EPOLLOUT */
	/* guards the fields below, the client's sources, and its HCAs (hca.h). Inside it only the
	 * locks of al_mad_next_part(). */
	pthread_mutex_t lock;
	struct source *queue, **queue_end;
	bool full;              /* the socket had no room: the loop waits for EPOLLOUT */
};

/* Replaces the function that the loop calls for fd, which the loop watches already, by `see`. */
void outbox_init(struct outbox *outbox, int fd, void (*see)(struct watched *watched, uint32_t events));
void outbox_destroy(struct outbox *outbox);
/* Sends the pending events, after the client's socket has got room again. */
void outbox_flush(struct outbox *outbox);

/* Sets source.qp: before the client can make requests of the queue pair. */
void source_set_qp(struct source *source, const void *qp);
/* Raises events: bits of source.pending. Any thread. */
void source_raise(struct source *source, uint32_t bits);
/*
 * Raises an event of a port, as an event handler gets the event. The port's ladder orders and
 * merges what is not sent yet, so that the client's ladder, which adds what is sent, tells the same
 * as a ladder in the agent's process. Any thread.
 */
void source_port(struct source *source, ib_event_type type);
/* Raises SOURCE_MAD: the MAD service has events. Any thread. */
void source_mad(struct source *source, al_mad_svc_h svc);
/* Takes a part of a MAD service's oldest event for MAD_NEXT: ahead_fetch(). Any thread. */
al_status source_mad_next(struct source *source, uint64_t taken, const struct ahead_want *want,
			  struct al_mad_part *part);
/* SEND_MAD begins, and tells that the client's program has taken so many events of the service:
 * until source_mad_sent() the source announces nothing. Any thread. */
void source_mad_sending(struct source *source, uint64_t taken);
/*
 * SEND_MAD ends. With a record for its answer: takes the service's oldest event, if that is one to
 * send ahead, and returns true. What else has come is announced. Any thread.
 */
bool source_mad_sent(struct source *source, struct agent_mad_event *record);
/* Drops the source's pending events and takes it out of the queue. The caller raises nothing more. Any thread. */
void source_forget(struct source *source);

#endif
