/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sessions: one for each client, from the hello of its event connection on. Each has an opening of the Access Layer of its
 * own; closing that destroys whatever the client has left, children first.
 */
#ifndef AL_AGENT_SESSION_H
#define AL_AGENT_SESSION_H

#include <stdatomic.h>
#include <sys/socket.h>

#include <iba/ib_hca.h>

#include "al/agent/descriptor.h"
#include "al/agent/object.h"
#include "al/object/client.h"
#include "al/protocol/protocol.h"

/* What the log tells of a client, once of each kind. */
enum complaint { COMPLAINT_PROTOCOL, COMPLAINT_RIGHT, COMPLAINT_HANDLE, COMPLAINT_MEMORY, NUM_COMPLAINTS };

/* The loop's, but for what says otherwise. */
struct session {
	struct session *next;
	struct ci_client client;
	uint8_t token[AGENT_TOKEN];
	bool ended;              /* takes no new request */
	bool closed;             /* its opening is gone, and it is no longer in the list */
	bool copying;            /* closed, but its thread may still be making a copy */
	bool opening;            /* a worker is opening it */
	uint32_t jobs;           /* that are under way */
	al_h al;
	al_pnp_h pnp;

	struct outbox outbox;    /* to its event connection; has a lock */
	struct hcas hcas;        /* under the outbox's lock */
	struct source ready;     /* of what concerns the session as a whole */
	struct objects objects;
	struct account account;
	_Atomic(enum agent_right) right; /* any thread reads it */
	struct connection *connections;  /* for its commands (connection.h) */
	void (*end_connections)(struct session *session);
	int pidfd;
	struct watched watched;  /* of pidfd */
	struct job job;          /* opening, then closing */
	bool complained[NUM_COMPLAINTS];
};

extern struct session *sessions; /* not closed */

/*
 * Begins a session whose event connection is fd, with what it likes of the descriptors that came with the hello. AL_SUCCESS:
 * fd is the session's, which answers the hello when it has been opened. end_connections() frees the session's connections
 * when it ends.
 */
al_status session_begin(int fd, const struct agent_hello *hello, const struct ucred *peer, struct descriptors *list,
			void (*end_connections)(struct session *session));
/* The session of the token, which is charged for one more connection of this peer's. */
al_status session_find(const uint8_t token[AGENT_TOKEN], const struct ucred *peer, struct session **found);
/* Answers a hello. status: if it is not AL_SUCCESS, there is no session. Any thread. */
void session_welcome(int fd, const struct session *session, al_status status);

/* Into the log; not too often. */
void session_complain(struct session *session, enum complaint kind, const char *does, const char *what);

void session_end(struct session *session, const char *why);
/* Frees an ended session, unless something of it is under way still. */
void session_try_free(struct session *session);
/* While sessions drain: ends the session if the client has nothing any more. True: it has been ended. */
bool session_try_finish(struct session *session);

/* Tells clients to finish; drained() is called, once, when no session is left. */
void sessions_drain(void (*drained)(void));
void sessions_end(const char *why);
/* The configuration has changed. */
void sessions_see_rights(void);

#endif
