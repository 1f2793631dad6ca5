/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sessions: one for each client, from the hello of its event connection on. Each session has an
 * opening of the Access Layer of its own. Closing that opening destroys the objects that the client
 * has left, children first.
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

/* The kinds of a client's misdeeds: the log has one line of each kind per client. */
enum complaint { COMPLAINT_PROTOCOL, COMPLAINT_RIGHT, COMPLAINT_HANDLE, COMPLAINT_MEMORY, NUM_COMPLAINTS };

/* The loop alone reads and writes a session, but for the fields whose comment says otherwise. */
struct session {
	struct session *next;        /* in sessions */
	struct ci_client client;     /* process, user, name, and the thread that copies */
	uint8_t token[AGENT_TOKEN];  /* a command connection joins the session by it */
	bool ended;                  /* session_end() has been called: no new request is read */
	bool closed;                 /* the client's objects are destroyed, and the session is no longer in sessions */
	bool copying;                /* closed, and the client's thread may still be making a copy */
	bool opening;                /* a thread is opening the Access Layer for the session */
	struct session *turn_next;   /* waits for a turn to do a part of its end */
	void (*turn)(struct session *session);
	uint32_t jobs;               /* requests and the opening that are under way */
	al_h al;                     /* the session's opening of the Access Layer */
	al_pnp_h pnp;                /* tells of HCAs that arrive and go */
	al_pnp_h switch_pnp;         /* the registration for the arrival and removal of switches */

	struct outbox outbox;        /* of the event connection; any thread, under the outbox's lock */
	struct hcas hcas;            /* any thread, under the outbox's lock */
	struct source ready;         /* of AGENT_EVENT_READY and AGENT_EVENT_ENDING; under the outbox's lock */
	struct objects objects;      /* the client's */
	struct account account;      /* the client's; under the lock in account.c */
	_Atomic(enum agent_right) right; /* the client's highest right; any thread reads it */
	struct connection *connections;  /* the client's command connections (connection.h) */
	void (*end_connections)(struct session *session);
	int pidfd;                   /* of the client's process */
	struct watched watched;      /* of pidfd */
	struct job job;              /* of the opening, later of the close */
	bool complained[NUM_COMPLAINTS]; /* the log has a complaint of this kind about the client */
};

extern struct session *sessions; /* the sessions that are not closed */

/*
 * Begins a session whose event connection is fd. Takes from the list, the descriptors of the hello,
 * the client's pidfd and its memory. AL_SUCCESS: the session owns fd, and answers the hello when
 * the Access Layer is open. end_connections() frees the session's connections when the session
 * ends.
 */
al_status session_begin(int fd, const struct agent_hello *hello, const struct ucred *peer, struct descriptors *list,
			void (*end_connections)(struct session *session));
/* Finds the session of a token, and charges its client for one more connection. AL_PERMISSION: no
 * session of the peer's process and user has the token. */
al_status session_find(const uint8_t token[AGENT_TOKEN], const struct ucred *peer, struct session **found);
/* Answers a hello. If the status is not AL_SUCCESS, session may be NULL. Any thread. */
void session_welcome(int fd, const struct session *session, al_status status);

/*
 * Logs what a client did and what the agent does about it: the first time for each kind of
 * complaint, and within account_may_log(). The format continues the name of the program: "asks for
 * ...; the agent refuses the command".
 */
void session_complain(struct session *session, enum complaint kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Ends the session, whose client finds the agent lost; why is for the trace. The session is freed
 * when nothing is under way.
 */
void session_end(struct session *session, const char *why);
/* Frees a session that is closed, unless a request or a copy is still under way. */
void session_try_free(struct session *session);
/* While sessions drain: ends the session if its client has no objects left. True: the session has
 * been ended. */
bool session_try_finish(struct session *session);

/* Tells all clients that the agent is about to end. Calls drained(), once, when no session is
 * left. */
void sessions_drain(void (*drained)(void));
/* Lets the loop call idle() whenever the last session is closed; NULL: no function. Called before
 * the loop runs.
 */
void sessions_tell_idle(void (*idle)(void));
/* Ends all sessions. Calls ended(), once, when no session is left. */
void sessions_end(const char *why, void (*ended)(void));
/* Gives each session the right that rights_set() has given to its user and groups. */
void sessions_update_rights(void);

#endif
