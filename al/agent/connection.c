/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections: how a request is answered, and how a connection ends. Requests are read and checked
 * in command.c. */
#include "al/agent/connection.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Closes descriptors that a module has given for the answer; -1 is a descriptor with another
 * owner. */
static void close_given(const int *fds, uint32_t *num)
{
	for (; *num; --*num)
		if (fds[*num - 1] >= 0)
			close(fds[*num - 1]);
}

void connection_drop_fds(struct connection *connection)
{
	descriptors_close(&connection->received);
	connection->received.num = 0;
	close_given(connection->udata.given, &connection->udata.num_given);
}

__thread struct connection *executing;

void connection_keep_reason(struct connection *connection)
{
	const char *reason = connection->status ? al_reason() : "";

	connection->reason_length = (uint16_t)strnlen(reason, sizeof(connection->reason));
	memcpy(connection->reason, reason, connection->reason_length);
}

/* Sends the answer record in connection->answer to the client. */
static void send_answer(struct connection *connection)
{
	struct agent_answer *answer = (struct agent_answer *)connection->answer;
	const struct agent_sizes *sizes = connection->sizes;
	struct al_udata *udata = &connection->udata;
	struct iovec from[2] = { { answer, sizeof(*answer) + sizes->answer }, { connection->vendor_out, 0 } };
	struct msghdr msg = { .msg_iov = from, .msg_iovlen = 2 };
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));

	/* The handle was valid when it was checked: since then the object has gone with its HCA. */
	if (connection->status == AL_INVALID_HANDLE && connection->hca &&
	    hca_removals(connection->hca) != connection->removals) {
		connection->status = ib_refuse(AL_CA_REMOVED, "the HCA of the object has been removed");
		connection_keep_reason(connection);
	}
	if (connection->status || !sizes->vendor)
		close_given(udata->given, &udata->num_given);
	answer->status = connection->status;
	answer->count = connection->status ? 0 : connection->out_count;
	answer->fds = (uint16_t)udata->num_given;
	/* A module may set out_len to more than the client has room for. */
	if (!connection->status && sizes->vendor)
		answer->data = (uint16_t)least(udata->ci.out_len, connection_head(connection)->room);
	if (executing == connection) {
		connection_keep_reason(connection);
		executing = NULL;
	}
	if (connection->status) {
		answer->data = connection->reason_length;
		from[1].iov_base = connection->reason;
	}
	from[0].iov_len += (size_t)answer->count * sizes->out.size;
	from[1].iov_len = answer->data;
	agent_put_fds(&msg, control, udata->given, udata->num_given);
	/* The library reads each answer before its next request, so the socket has room. A client
	 * whose socket has no room does not use the library: its connection ends. */
	if (TEMP_FAILURE_RETRY(sendmsg(connection->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0)
		shutdown(connection->fd, SHUT_RDWR);
	connection_drop_fds(connection);
}

static void leave_list(struct connection *connection)
{
	struct connection **p = connection->list;

	if (!p)
		return;
	while (*p != connection)
		p = &(*p)->next;
	*p = connection->next;
}

void connection_move(struct connection *connection, struct connection **list)
{
	leave_list(connection);
	connection->list = list;
	connection->next = *list;
	*list = connection;
}

void connection_free(struct connection *connection)
{
	if (connection->fd >= 0) {
		loop_unwatch(connection->fd);
		descriptors_hang_up(connection->fd, connection->user);
		connection->fd = -1;
	}
	connection->dead = true;
	if (connection->busy)
		return;
	leave_list(connection);
	if (connection->session)
		account_return(&connection->session->account, AL_RESOURCE_CONNECTIONS, 1);
	connection_drop_fds(connection);
	al_free(connection->snapshot);
	al_free(connection);
}

void connections_end(struct session *session)
{
	for (struct connection *next, *connection = session->connections; connection; connection = next) {
		next = connection->next;
		connection_free(connection);
	}
}

void connection_begin(struct connection *connection)
{
	connection->busy = true;
	connection->session->jobs++;
	loop_hold(connection->fd);
}

void connection_answered(struct connection *connection)
{
	struct session *session = connection->session;

	connection->busy = false;
	session->jobs--;
	if (connection->dead) {
		connection_free(connection);
		session_try_free(session);
		return;
	}
	send_answer(connection);
	loop_resume(connection->fd);
	session_try_finish(session);
}

static void copied(struct job *job)
{
	connection_answered(container_of(job, struct connection, job));
}

/* On the client's thread. */
static void on_copied(struct ci_client_job *job)
{
	loop_post(&container_of(job, struct connection, copied)->job);
}

void connection_answered_after_copies(struct connection *connection)
{
	connection->job.done = copied;
	connection->copied.run = on_copied;
	if (!al_client_after(&connection->session->client, &connection->copied))
		connection_answered(connection);
}
