/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections: each has one request at a time, which the agent answers before it reads the next
 * request. Everything here is the loop's; while a thread executes a request off the loop, that
 * thread alone reads and writes the fields of the request.
 */
#ifndef AL_AGENT_CONNECTION_H
#define AL_AGENT_CONNECTION_H

#include "al/agent/session.h"

/* A connection from accept() on. It is a stranger until door.c has read its hello, and then belongs
 * to a session. */
struct connection {
	struct connection **list, *next; /* the list with this connection: the session's or the strangers' (door.c) */
	struct watched watched;  /* of fd */
	int fd;                  /* -1: closed, or handed to the session as its event connection */
	struct account *user;    /* the peer's */
	struct session *session; /* NULL: a stranger */
	bool busy;               /* a request is being executed */
	bool dead;               /* connection_answered() frees the connection */

	/* The request that is being checked and executed, and its answer. */
	struct job job;              /* executes the request off the loop */
	struct ci_client_job copied; /* the client's thread comes to it after the copies that are under way */
	enum agent_command command;
	const struct agent_sizes *sizes; /* sizes of the answer: of the command's answer, or of the
					    answer to a breach of the protocol */
	size_t length;               /* bytes of the record in request */
	uint32_t count[2];           /* elements of the request's arrays */
	struct al_udata udata;       /* what the provider sends to the module, and the module's answer */
	struct descriptors received; /* with the request: the library's, then the provider's */
	const int *library_fds;      /* the library's descriptors in received, in the order of the row's FD() */
	uint64_t handles[3];         /* the Access Layer's handles of the request's objects; 0: none */
	struct object *object[3];    /* the request's objects */
	struct hca *hca;             /* of the request's objects */
	uint32_t removals;           /* hca_removals() of hca when the handles were checked */
	al_status status;            /* of the answer */
	char reason[AGENT_REASON];   /* why the request is refused, for the client */
	uint16_t reason_length;      /* bytes of reason; 0: no function gave a reason */
	uint32_t out_count;          /* elements of the answer's array */
	bool leaves;                 /* a charge for a multicast membership is to be returned */
	bool resets;                 /* MODIFY_QP to RESET: no copy for the queue pair may follow the answer */
	const void *made;            /* the Access Layer's handle of a new object */
	struct object *making;       /* the place of a new object in the client's table */

	char *snapshot;              /* the last snapshot of this connection, as the client reads it, or NULL */
	struct SNAPSHOT_answer snapshot_head; /* of snapshot */

	char request[AGENT_RECORD] __attribute__((aligned(8)));
	char answer[AGENT_RECORD] __attribute__((aligned(8)));
	char vendor_in[UVP_MAX_DATA] __attribute__((aligned(8)));  /* from the provider to the module */
	char vendor_out[UVP_MAX_DATA] __attribute__((aligned(8))); /* from the module to the provider */
};

/* The connection whose request the calling thread executes; NULL: the thread executes none. */
extern __thread struct connection *executing;
/* Keeps the calling thread's reason as the request's, if the request is refused. */
void connection_keep_reason(struct connection *connection);

static inline const struct agent_head *connection_head(const struct connection *connection)
{
	return (const struct agent_head *)connection->request;
}

/* The struct of the command in the request. */
static inline void *connection_request(struct connection *connection)
{
	return connection->request + sizeof(struct agent_head);
}

/* An array of the request: 0 or 1. */
static inline void *connection_in(struct connection *connection, int array)
{
	const struct agent_sizes *sizes = &agent_sizes[connection->command];
	char *at = (char *)connection_request(connection) + sizes->request;

	return array ? at + (size_t)connection->count[0] * sizes->in[0].size : at;
}

/* The struct of the command in the answer. */
static inline void *connection_answer(struct connection *connection)
{
	return connection->answer + sizeof(struct agent_answer);
}

/* The array of the answer. */
static inline void *connection_out(struct connection *connection)
{
	return (char *)connection_answer(connection) + agent_sizes[connection->command].answer;
}

/* Takes the connection out of its list, and puts it first into another list. */
void connection_move(struct connection *connection, struct connection **list);
/* Closes the connection. Frees it too, or if it is busy leaves that to connection_answered(). */
void connection_free(struct connection *connection);
/* Frees all connections of a session. */
void connections_end(struct session *session);

/* Before a request is executed: the loop does not watch the connection until the request has been
 * answered. */
void connection_begin(struct connection *connection);
/* Closes the descriptors that are left of a request and of its answer. */
void connection_drop_fds(struct connection *connection);
/* After the request has been executed: answers the request, or frees a connection that is dead. */
void connection_answered(struct connection *connection);
/* Calls connection_answered() when the copies from and to the client's memory that are under way
 * have ended. */
void connection_answered_after_copies(struct connection *connection);

#endif
