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

#include "al/agent/loop.h"

struct source {
	struct outbox *outbox;
	struct source *next;  /* in the outbox's queue */
	bool queued;
	uint32_t kind;        /* enum agent_event_kind of its asynchronous events */
	uint32_t port;
	uint32_t pending;     /* 1 << enum ib_event_type, and SOURCE_* */
	uint64_t cookie, guid;
};
#define SOURCE_ENDING     (1u << 27)
#define SOURCE_COMPLETION (1u << 28)
#define SOURCE_ADD        (1u << 29)
#define SOURCE_REMOVE     (1u << 30)
#define SOURCE_READY      (1u << 31)

/* A client's event connection, and the sources that have something for it. */
struct outbox {
	int fd;
	struct watched watched; /* of fd; its owner calls outbox_flush() at EPOLLOUT */
	pthread_mutex_t lock;   /* guards the rest, the client's sources, and its HCAs (hca.h). Leaf. */
	struct source *queue, **queue_end;
	bool choked;            /* the socket is full */
};

/* Watches fd from now on, which is watched already. */
void outbox_init(struct outbox *outbox, int fd, void (*see)(struct watched *watched, uint32_t events));
void outbox_destroy(struct outbox *outbox);
/* The client's socket has room again. */
void outbox_flush(struct outbox *outbox);

/* Any thread, as the following. */
void source_raise(struct source *source, uint32_t bits);
/* A port's event. */
void source_port(struct source *source, ib_event_type type);
/* Takes it out of the queue: nothing is raised any more. */
void source_forget(struct source *source);

#endif
