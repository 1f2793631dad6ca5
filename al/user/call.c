/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls to an agent: a line each, one request and its answer. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "al/user/user.h"

/* Whoever finds the agent gone; the event thread does the rest. */
static void lose(struct user_conn *conn)
{
	atomic_store(&conn->lost, true);
	pthread_mutex_lock(&conn->lock);
	if (conn->events >= 0)
		shutdown(conn->events, SHUT_RDWR);
	pthread_mutex_unlock(&conn->lock);
}

static struct user_line *free_line(const struct user_conn *conn, bool fast)
{
	int first = fast ? 0 : USER_FAST_LINES, end = fast ? USER_FAST_LINES : USER_LINES;

	for (int i = first; i < end; i++)
		if (!conn->lines[i].busy)
			return &conn->lines[i];
	return NULL;
}

al_status user_begin(struct user_call *call, struct user_conn *conn, enum agent_command command)
{
	bool fast = agent_sizes[command].where == AGENT_LOOP;
	struct user_turn *turn = &conn->turns[fast];
	struct user_line *line;
	uint32_t mine;
	int cancels;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
	pthread_mutex_lock(&conn->lock);
	/* It is waited for the agent only: whoever has a line gets his answer. */
	mine = turn->last++;
	while (mine != turn->next || !(line = free_line(conn, fast)))
		pthread_cond_wait(&conn->freed, &conn->lock);
	if (++turn->next != turn->last)
		pthread_cond_broadcast(&conn->freed);
	line->busy = true;
	pthread_mutex_unlock(&conn->lock);

	memset(line->request, 0, sizeof(struct agent_head) + agent_sizes[command].request);
	memset(line->answer, 0, sizeof(struct agent_answer) + agent_sizes[command].answer);
	*call = (struct user_call){
		.cancels = cancels,
		.conn = conn,
		.line = line,
		.command = command,
		.request = line->request + sizeof(struct agent_head),
		.answer = line->answer + sizeof(struct agent_answer),
		.in = { line->array, line->array + (size_t)agent_sizes[command].in[0].size *
							   agent_sizes[command].in[0].most },
		.out = line->array,
		.memory = -1,
	};
	return AL_SUCCESS;
}

void user_end(struct user_call *call)
{
	struct user_conn *conn = call->conn;

	pthread_mutex_lock(&conn->lock);
	call->line->busy = false;
	if (atomic_load(&conn->lost))
		user_close(&call->line->fd);
	pthread_cond_broadcast(&conn->freed);
	pthread_mutex_unlock(&conn->lock);
	pthread_setcancelstate(call->cancels, NULL);
}

/* What came for the provider stays good after the call, in the room that hooks.c has made for it.
 */
static void keep_told(struct uvp_call *vendor, const struct agent_answer *answer, const char *data,
		      const int *fds)
{
	if (answer->data)
		memcpy((void *)(uintptr_t)vendor->out, data, answer->data);
	else
		vendor->out = NULL;
	vendor->out_len = answer->data;
	vendor->num_out_fds = answer->fds;
	if (answer->fds)
		memcpy(vendor->out_fds, fds, answer->fds * sizeof(*fds));
}

/* Is the answer as long as it says, and no more than was asked for? */
static bool answer_fits(const struct user_call *call, size_t length, uint32_t num_fds)
{
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	const struct agent_answer *answer = (const struct agent_answer *)call->line->answer;
	size_t fixed = sizeof(*answer) + sizes->answer;

	return length >= fixed && answer->count <= sizes->out.most && answer->fds == num_fds &&
	       num_fds <= (call->vendor ? UVP_MAX_FDS : 0) &&
	       answer->data <= (call->vendor ? call->vendor->out_room : 0) &&
	       length == fixed + (size_t)answer->count * sizes->out.size + answer->data;
}

static void clear_answer(struct user_call *call)
{
	memset(call->line->answer, 0,
	       sizeof(struct agent_answer) + agent_sizes[call->command].answer);
}

/* The answer's descriptors are more than this process may have: what the agent has made goes again.
 */
static al_status undo(struct user_call *call)
{
	const struct agent_answer *answer = (const struct agent_answer *)call->line->answer;
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

/* The answer's status. AL_AGENT_LOST: what came is no answer. */
static al_status hear(struct user_call *call)
{
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	struct user_line *line = call->line;
	const struct agent_answer *answer = (const struct agent_answer *)line->answer;
	struct iovec from[2] = { { line->answer, sizeof(*answer) + sizes->answer },
				 { line->array, sizeof(line->array) } };
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));
	struct msghdr in = { .msg_iov = from,
			     .msg_iovlen = 2,
			     .msg_control = control,
			     .msg_controllen = sizeof(control) };
	int fds[AGENT_MAX_FDS];
	uint32_t num_fds;
	bool fits, whole;
	ssize_t n = TEMP_FAILURE_RETRY(recvmsg(line->fd, &in, MSG_CMSG_CLOEXEC));

	if (n < 0)
		return AL_AGENT_LOST;
	num_fds = agent_take_fds(&in, fds);
	whole = !(in.msg_flags & MSG_CTRUNC);
	fits = !(in.msg_flags & MSG_TRUNC) &&
	       answer_fits(call, (size_t)n, whole ? num_fds : answer->fds);
	if (!fits || !whole) {
		while (num_fds)
			close(fds[--num_fds]);
		return fits ? undo(call) : AL_AGENT_LOST;
	}
	if (call->vendor)
		keep_told(call->vendor, answer,
			  line->array + (size_t)answer->count * sizes->out.size, fds);
	call->out_count = answer->count;
	return (al_status)answer->status;
}

/* Nothing has crossed. A destroy can not fail: its object ends with the session. */
static al_status not_sent(const struct user_call *call, int error)
{
	al_status status = user_shortage(error);

	if (call->command == AGENT_DESTROY)
		return AL_AGENT_LOST;
	if (status)
		return status;
	if (error != EBADF || !call->vendor)
		return AL_AGENT_LOST;
	ib_log(IB_LOG_ERROR, "user",
	       "%s fails: the provider's pre-hook names a descriptor that is none",
	       agent_names[call->command]);
	return AL_INVALID_PARAMETER;
}

al_status user_ask(struct user_call *call)
{
	static const struct uvp_call nothing;
	const struct uvp_call *vendor = call->vendor ? call->vendor : &nothing;
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	struct agent_head *head = (struct agent_head *)call->line->request;
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
	if (TEMP_FAILURE_RETRY(sendmsg(call->line->fd, &out, MSG_NOSIGNAL)) < 0)
		status = not_sent(call, errno);
	else
		status = hear(call);
	if (status == AL_AGENT_LOST) {
		clear_answer(call);
		lose(call->conn);
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
