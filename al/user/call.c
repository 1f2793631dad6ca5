/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls to an agent: each takes a command connection, sends one request and waits for its answer.
 * Connections are made in connection.c; the requests themselves are in ask.c, post.c and
 * snapshot.c. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "al/user/user.h"

/* The calling thread has found the agent lost. The shutdown wakes the event thread, which closes
 * the connection. */
static void mark_lost(struct user_conn *conn)
{
	atomic_store(&conn->lost, true);
	pthread_mutex_lock(&conn->lock);
	if (conn->events >= 0)
		shutdown(conn->events, SHUT_RDWR);
	pthread_mutex_unlock(&conn->lock);
}

/* Fast sockets are for commands that the agent's loop executes, the others for commands that may
 * sleep at the agent. */
static struct user_socket *find_idle(const struct user_conn *conn, bool fast)
{
	int first = fast ? 0 : USER_FAST_SOCKETS, end = fast ? USER_FAST_SOCKETS : USER_SOCKETS;

	for (int i = first; i < end; i++)
		if (!conn->sockets[i].busy)
			return &conn->sockets[i];
	return NULL;
}

al_status user_begin(struct user_call *call, struct user_conn *conn, enum agent_command command)
{
	bool fast = agent_sizes[command].where == AGENT_LOOP;
	struct user_tickets *tickets = &conn->tickets[fast];
	struct user_socket *sock = NULL;
	uint32_t ticket;
	int cancels;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&conn->lock);
	/* FIFO tickets prevent starvation. Each wait ends with an answer of the agent: a thread
	 * with a socket waits for nothing else. */
	ticket = tickets->issued++;
	while (!sock) {
		if (ticket == tickets->serving)
			sock = find_idle(conn, fast);
		if (!sock)
			pthread_cond_wait(&conn->freed, &conn->lock);
	}
	tickets->serving++;
	if (tickets->serving != tickets->issued)
		pthread_cond_broadcast(&conn->freed);
	sock->busy = true;
	pthread_mutex_unlock(&conn->lock);

	memset(sock->request, 0, sizeof(struct agent_head) + agent_sizes[command].request);
	memset(sock->answer, 0, sizeof(struct agent_answer) + agent_sizes[command].answer);
	*call = (struct user_call){
		.cancels = cancels,
		.conn = conn,
		.socket = sock,
		.command = command,
		.request = sock->request + sizeof(struct agent_head),
		.answer = sock->answer + sizeof(struct agent_answer),
		.in = { sock->array, sock->array + (size_t)agent_sizes[command].in[0].size *
							   agent_sizes[command].in[0].most },
		.out = sock->array,
		.memory = -1,
	};
	return AL_SUCCESS;
}

void user_end(struct user_call *call)
{
	struct user_conn *conn = call->conn;

	pthread_mutex_lock(&conn->lock);
	call->socket->busy = false;
	if (atomic_load(&conn->lost))
		user_close(&call->socket->fd);
	pthread_cond_broadcast(&conn->freed);
	pthread_mutex_unlock(&conn->lock);
	pthread_setcancelstate(call->cancels, NULL);
}

/* Copies the module's data and descriptors into the memory of hooks.c, where they stay valid after
 * user_end(). */
static void copy_vendor_answer(struct uvp_call *vendor, const struct agent_answer *answer, const char *data,
		      const int *fds)
{
	vendor->out_len = answer->status ? 0 : answer->data;
	if (vendor->out_len)
		memcpy((void *)(uintptr_t)vendor->out, data, vendor->out_len);
	else
		vendor->out = NULL;
	vendor->num_out_fds = answer->fds;
	if (answer->fds)
		memcpy(vendor->out_fds, fds, answer->fds * sizeof(*fds));
}

/* Bytes of data that the answer may have: of the module's answer, or of the reason of a refusal. */
static uint32_t most_data(const struct user_call *call, const struct agent_answer *answer)
{
	if (answer->status)
		return AGENT_REASON;
	return call->vendor ? call->vendor->out_room : 0;
}

/* Keeps the reason of a refusal for al_reason(). */
static void keep_reason(const struct user_call *call, const struct agent_answer *answer,
			const char *reason)
{
	if (answer->data)
		ib_refuse((al_status)answer->status, "%.*s", (int)answer->data, reason);
	else
		ib_refuse((al_status)answer->status, "the agent refuses %s: %s",
			  agent_names[call->command], al_status_str((al_status)answer->status));
}

/* True: the answer is as long as its head says, and has no more elements, data and descriptors than
 * the request allows. */
static bool answer_fits(const struct user_call *call, size_t length, uint32_t num_fds)
{
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	const struct agent_answer *answer = (const struct agent_answer *)call->socket->answer;
	size_t fixed = sizeof(*answer) + sizes->answer;

	return length >= fixed && answer->count <= sizes->out.most && answer->fds == num_fds &&
	       num_fds <= (call->vendor ? UVP_MAX_FDS : 0) &&
	       answer->data <= most_data(call, answer) &&
	       length == fixed + (size_t)answer->count * sizes->out.size + answer->data;
}

static void clear_answer(struct user_call *call)
{
	memset(call->socket->answer, 0,
	       sizeof(struct agent_answer) + agent_sizes[call->command].answer);
}

/* This process has no room for the descriptors of the answer: destroys the object that the agent
 * has made. Returns the call's status. */
static al_status destroy_made(struct user_call *call)
{
	const struct agent_answer *answer = (const struct agent_answer *)call->socket->answer;
	struct DESTROY_request *request = call->request;
	struct user_call destroy = *call;
	uint64_t made = 0;
	al_status status = AL_SUCCESS;

	if (!answer->status && agent_sizes[call->command].makes)
		memcpy(&made, call->answer, sizeof(made));
	if (made) {
		memset(request, 0, sizeof(*request));
		request->handle = made;
		destroy.command = AGENT_DESTROY;
		destroy.vendor = NULL;
		destroy.memory = -1;
		destroy.count[0] = destroy.count[1] = 0;
		status = user_ask(&destroy);
	}
	clear_answer(call);
	return status == AL_AGENT_LOST ? status : AL_INSUFFICIENT_RESOURCES;
}

/* Receives the answer, and returns its status. AL_AGENT_LOST: the agent has gone, or its record is
 * no answer. */
static al_status receive_answer(struct user_call *call)
{
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	struct user_socket *sock = call->socket;
	const struct agent_answer *answer = (const struct agent_answer *)sock->answer;
	struct iovec from[2] = { { sock->answer, sizeof(*answer) + sizes->answer },
				 { sock->array, sizeof(sock->array) } };
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));
	struct msghdr in = { .msg_iov = from,
			     .msg_iovlen = 2,
			     .msg_control = control,
			     .msg_controllen = sizeof(control) };
	int fds[AGENT_MAX_FDS];
	uint32_t num_fds;
	const char *data;
	bool fits, whole;
	ssize_t n = TEMP_FAILURE_RETRY(recvmsg(sock->fd, &in, MSG_CMSG_CLOEXEC));

	if (n < 0)
		return AL_AGENT_LOST;
	num_fds = agent_take_fds(&in, fds);
	whole = !(in.msg_flags & MSG_CTRUNC);
	fits = !(in.msg_flags & MSG_TRUNC) &&
	       answer_fits(call, (size_t)n, whole ? num_fds : answer->fds);
	if (!fits || !whole) {
		while (num_fds)
			close(fds[--num_fds]);
		return fits ? destroy_made(call) : AL_AGENT_LOST;
	}
	data = sock->array + (size_t)answer->count * sizes->out.size;
	if (call->vendor)
		copy_vendor_answer(call->vendor, answer, data, fds);
	if (answer->status)
		keep_reason(call, answer, data);
	call->out_count = answer->count;
	return (al_status)answer->status;
}

/* The status of a request that could not be sent. A destroy must not fail, so a destroy that can
 * not be sent ends the session, and the object with it. */
static al_status send_failure(const struct user_call *call, int error)
{
	al_status status = user_shortage(error);

	if (call->command == AGENT_DESTROY)
		return AL_AGENT_LOST;
	if (status)
		return status;
	if (error != EBADF || !call->vendor)
		return AL_AGENT_LOST;
	ib_log(IB_LOG_ERROR, "user",
	       "%s fails: a descriptor that the provider's pre-hook has put into the call is not open",
	       agent_names[call->command]);
	return AL_INVALID_PARAMETER;
}

al_status user_ask(struct user_call *call)
{
	static const struct uvp_call nothing;
	const struct uvp_call *vendor = call->vendor ? call->vendor : &nothing;
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	struct agent_head *head = (struct agent_head *)call->socket->request;
	int fds[AGENT_MAX_FDS];
	uint32_t num_fds = 0;
	al_status status;
	struct iovec to[4] = {
		{ head, sizeof(*head) + sizes->request },
		{ call->in[0], (size_t)call->count[0] * sizes->in[0].size },
		{ call->in[1], (size_t)call->count[1] * sizes->in[1].size },
		{ vendor->in, vendor->in_len },
	};
	struct msghdr out = { .msg_iov = to, .msg_iovlen = 4 };
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));

	if (atomic_load(&call->conn->lost))
		return AL_AGENT_LOST;
	IB_TRACE("user", "%s: asks the agent", agent_names[call->command]);
	if (call->memory >= 0)
		fds[num_fds++] = call->memory;
	for (uint32_t i = 0; i < vendor->num_in_fds; i++)
		fds[num_fds++] = vendor->in_fds[i];
	*head = (struct agent_head){ .command = (uint16_t)call->command,
				     .fds = (uint16_t)num_fds,
				     .count = { call->count[0], call->count[1] },
				     .data = (uint16_t)vendor->in_len,
				     .room = (uint16_t)vendor->out_room };
	agent_put_fds(&out, control, fds, num_fds);
	if (TEMP_FAILURE_RETRY(sendmsg(call->socket->fd, &out, MSG_NOSIGNAL)) < 0)
		status = send_failure(call, errno);
	else
		status = receive_answer(call);
	if (status == AL_AGENT_LOST) {
		clear_answer(call);
		mark_lost(call->conn);
	}
	IB_TRACE("user", "%s: the agent answers %s", agent_names[call->command],
		 al_status_name(status));
	return status;
}

al_status user_simple(struct user_conn *conn, enum agent_command command, const void *request,
		      void *answer, struct uvp_call *vendor)
{
	struct user_call call;
	al_status status = user_begin(&call, conn, command);

	if (status)
		return status;
	memcpy(call.request, request, agent_sizes[command].request);
	call.vendor = vendor;
	status = user_ask(&call);
	if (answer)
		memcpy(answer, call.answer, agent_sizes[command].answer);
	user_end(&call);
	return status;
}
