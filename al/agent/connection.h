/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections: each has one request at a time, which is answered before the next is read. On the loop; while a worker carries
 * out the request, the worker alone reads and writes what belongs to it.
 */
#ifndef AL_AGENT_CONNECTION_H
#define AL_AGENT_CONNECTION_H

#include "al/agent/session.h"

/* From accept() on; of a session once its hello has been heard. */
struct connection {
	struct connection **list, *next; /* the list that it is in; the session's or the strangers' (door.c) */
	struct watched watched;
	int fd;
	struct session *session; /* NULL: a stranger */
	bool busy;             /* a request is being executed */
	bool resting;          /* not watched meanwhile */
	bool dead;             /* to be freed when it is not busy */

	struct job job;        /* the request being executed */
	struct ci_client_job copied; /* it is answered when the client's thread comes to this */
	enum agent_command command;
	uint32_t count[2];
	struct al_udata udata; /* the client, and what its provider and the module say to each other */
	struct descriptors came; /* with the request */
	const int *own_fds;    /* of these, those before the provider's, in the order of the row's FD() */
	uint64_t handles[3];   /* of the Access Layer, as checked; 0: none */
	struct object *object[3];
	struct hca *hca;       /* on which they are, and its removals then */
	uint32_t removals;
	al_status status;
	uint32_t out_count;
	bool resets;           /* a queue pair: its requests' memory is no longer used */
	char *snapshot;        /* the last, as it crosses, and its size */
	struct SNAPSHOT_answer snapshot_head;
	const void *made;      /* a new object's handle */
	struct object *making; /* its place */
	char request[AGENT_RECORD] __attribute__((aligned(8)));
	char answer[AGENT_RECORD] __attribute__((aligned(8)));
	char said[UVP_MAX_DATA] __attribute__((aligned(8))); /* by the provider to the module */
	char told[UVP_MAX_DATA] __attribute__((aligned(8))); /* and back */
};

static inline const struct agent_head *connection_head(const struct connection *connection)
{
	return (const struct agent_head *)connection->request;
}

static inline void *connection_request(struct connection *connection)
{
	return connection->request + sizeof(struct agent_head);
}

static inline void *connection_in(struct connection *connection, int array)
{
	const struct agent_sizes *sizes = &agent_sizes[connection->command];
	char *at = (char *)connection_request(connection) + sizes->request;

	return array ? at + (size_t)connection->count[0] * sizes->in[0].size : at;
}

static inline void *connection_answer(struct connection *connection)
{
	return connection->answer + sizeof(struct agent_answer);
}

static inline void *connection_out(struct connection *connection)
{
	return (char *)connection_answer(connection) + agent_sizes[connection->command].answer;
}

/* Puts the connection into a list, out of the one that it is in. */
void connection_move(struct connection *connection, struct connection **list);
/* When it is not busy any more. */
void connection_free(struct connection *connection);
/* Frees all connections of a session. */
void connections_end(struct session *session);

/* The connection is not watched until its request has been answered. */
void connection_rest(struct connection *connection);
/* Sends the answer record in connection->answer to the client. */
void connection_send(struct connection *connection);
/* Closes what descriptors are left of a request. */
void connection_drop_fds(struct connection *connection);
/* The request has been executed: answers it, and frees the connection if it is dead. */
void connection_answered(struct connection *connection);
/* The same, when copies from or to the client's memory that were under way have ended. */
void connection_answered_after_copies(struct connection *connection);

#endif
