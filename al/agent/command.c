/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The door: every request is checked here, once, by the command table, before anything of it is
 * used. What is left to the Access Layer are the values themselves, which it checks for everybody.
 */
#include "al/agent/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_HANDLES 3
#define MAX_BYTES   4

enum kind {
	NONE = AL_OBJ_NONE,
	CA = AL_OBJ_CA,
	PD = AL_OBJ_PD,
	MR = AL_OBJ_MR,
	CQ = AL_OBJ_CQ,
	QP = AL_OBJ_QP,
	ANY = 0x40,
	OPTIONAL = 0x80 /* a bit */
};

static const struct row {
	enum kind makes;
	enum agent_right right;
	uint8_t handles[MAX_HANDLES +
			1];            /* enum kind, the first members of the request; 0: no more */
	uint16_t bytes[MAX_BYTES + 1]; /* offset + 1; 0: no more */
} rows[AGENT_NUM_COMMANDS] = {
#define HANDLES(...)        \
	{                   \
		__VA_ARGS__ \
	}
#define BYTES(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define BYTE(name, member) offsetof(struct name##_request, member) + 1
#define COMMAND(name, where, right, makes, vendor, handles, bytes, ...) \
	[AGENT_##name] = { makes, RIGHT_##right, handles, bytes },
#include "al/agent/commands.def"
};

/* It may be an attack, or a library of another version. */
static al_status breach(struct line *line, const char *what)
{
	session_complain(line->session, COMPLAINT_PROTOCOL, "breaks the protocol", what);
	return AL_AGENT_PROTOCOL;
}

static al_status check_right(struct line *line, const struct row *row)
{
	static const char *const names[] = {
		[RIGHT_OWN] = "own", [RIGHT_TEST] = "test", [RIGHT_MANAGE] = "manage"
	};

	if (row->right <= line->session->right)
		return AL_SUCCESS;
	session_complain(line->session, COMPLAINT_RIGHT, "has not the right", names[row->right]);
	return AL_PERMISSION;
}

/* Is the record exactly as long as its own counts say, and are those within the table's? */
static al_status check_size(struct line *line, size_t length)
{
	const struct agent_head *head = line_head(line);
	const struct agent_sizes *sizes;
	size_t want;

	if (length < sizeof(*head))
		return breach(line, "a record without a head");
	if (head->command >= AGENT_NUM_COMMANDS)
		return breach(line, "no such command");
	sizes = &agent_sizes[head->command];
	if (head->fds != line->came.num || head->fds > AGENT_MAX_FDS || head->data > UVP_MAX_DATA ||
	    head->room > UVP_MAX_DATA)
		return breach(line, "other descriptors or more data than its head says");
	if (!sizes->vendor && (head->fds || head->data || head->room))
		return breach(line, "descriptors or data where there is no vendor to take them");
	want = sizeof(*head) + sizes->request + head->data;
	for (int i = 0; i < 2; i++) {
		if (head->count[i] > sizes->in[i].most)
			return breach(line, "an array that is too long");
		want += (size_t)head->count[i] * sizes->in[i].size;
		line->count[i] = head->count[i];
	}
	if (length != want)
		return breach(line, "a record of a wrong length");
	line->command = (enum agent_command)head->command;
	line->udata.ci = (struct ci_udata){
		.client = &line->session->client,
		.in = head->data
			      ? memcpy(line->said, line->request + length - head->data, head->data)
			      : NULL,
		.in_len = head->data,
		.out = head->room ? memset(line->told, 0, head->room) : NULL,
		.out_len = head->room,
		.fds = head->fds ? line->came.fd : NULL,
		.num_fds = head->fds,
	};
	return AL_SUCCESS;
}

static al_status check_bytes(struct line *line, const struct row *row)
{
	const uint8_t *request = line_request(line);

	for (const uint16_t *at = row->bytes; *at; at++)
		if (request[*at - 1] > 1)
			return breach(line, "a truth value that is neither 0 nor 1");
	return AL_SUCCESS;
}

/* Descriptors that are not the provider's: the memory of a region that is to be mapped. */
static al_status check_fds(struct line *line)
{
	const struct REG_MR_request *mr = line_request(line);
	uint32_t own = line->command == AGENT_REG_MR && mr->mapped;

	if (line->came.num < own)
		return breach(line, "memory to be mapped without its descriptor");
	if (line->came.num - own > UVP_MAX_FDS)
		return breach(line, "more descriptors than a provider may send");
	return AL_SUCCESS;
}

/* Handles are the client's own, of the right kind, and not stale. */
static al_status check_handles(struct line *line, const struct row *row)
{
	const uint64_t *handle = line_request(line);
	struct object *object;

	memset(line->handles, 0, sizeof(line->handles));
	line->hca = NULL;
	for (int i = 0; row->handles[i]; i++, handle++) {
		if (!*handle && row->handles[i] & OPTIONAL)
			continue;
		object = object_find(line->session, *handle);
		if (!object || (row->handles[i] != ANY &&
				object->type != (al_object_type)(row->handles[i] & ~OPTIONAL))) {
			if (object_removed(line->session, *handle))
				return AL_CA_REMOVED;
			session_complain(line->session, COMPLAINT_HANDLE,
					 "names what it does not have", agent_names[line->command]);
			return AL_INVALID_HANDLE;
		}
		line->object[i] = object;
		line->handles[i] = (uintptr_t)object->handle;
		if (!line->hca && object->hca) {
			line->hca = object->hca;
			line->removals = hca_removals(object->hca);
			if (hca_leaving(object->hca) && line->command != AGENT_DESTROY)
				return AL_CA_REMOVED;
		}
	}
	return AL_SUCCESS;
}

/* Memory of queues. */
static uint64_t ring(uint64_t entries, uint64_t bytes)
{
	uint64_t product;

	return __builtin_mul_overflow(entries, bytes, &product) ? AGENT_TOO_MUCH : product;
}

static uint64_t both(uint64_t one, uint64_t other)
{
	uint64_t sum;

	return __builtin_add_overflow(one, other, &sum) ? AGENT_TOO_MUCH : sum;
}

/* Of a queue pair or completion queue that is to be made: the like of what a module will need. */
static uint64_t rings_of(struct line *line, al_object_type kind)
{
	const struct CREATE_CQ_request *cq = line_request(line);
	const struct CREATE_QP_request *qp = line_request(line);
	const struct ib_qp_cap *cap = &qp->cap;
	uint64_t data;

	if (kind == AL_OBJ_CQ)
		return ring(cq->cqe, sizeof(struct ib_wc));
	if (kind != AL_OBJ_QP)
		return 0;
	data = (uint64_t)cap->max_send_sge * sizeof(struct ib_sge);
	data = data < cap->max_inline_data ? cap->max_inline_data : data;
	return both(
		ring(cap->max_send_wr, sizeof(struct agent_send) + data),
		ring(cap->max_recv_wr, sizeof(struct agent_recv) + (uint64_t)cap->max_recv_sge *
									   sizeof(struct ib_sge)));
}

/* Charges the client for what is to be made, and finds a place for it. */
static al_status reserve(struct line *line, const struct row *row)
{
	const struct REG_MR_request *mr = line_request(line);
	struct account *account = &line->session->account;
	al_object_type kind = (al_object_type)row->makes;
	const struct {
		al_resource resource;
		uint64_t amount;
	} costs[] = {
		{ object_resources[kind], 1 },
		{ AL_RESOURCE_BYTES, kind == AL_OBJ_MR ? mr->length : 0 },
		{ AL_RESOURCE_RINGS, kind ? rings_of(line, kind) : 0 },
	};
	al_status status = AL_SUCCESS;
	int i;

	line->making = NULL;
	if (!kind)
		return AL_SUCCESS;
	for (i = 0; i < 3; i++) {
		status = account_charge(account, costs[i].resource, costs[i].amount);
		if (status)
			goto give_back;
	}
	line->making = object_new(line->session, kind);
	if (!line->making) {
		status = AL_INSUFFICIENT_MEMORY;
		goto give_back;
	}
	if (kind != AL_OBJ_CA) {
		line->making->hca = line->object[0]->hca;
		line->making->hca->num_objects++;
	}
	line->making->bytes = costs[1].amount;
	line->making->rings = costs[2].amount;
	return AL_SUCCESS;
give_back:
	while (i--)
		account_return(account, costs[i].resource, costs[i].amount);
	return status;
}

static al_status check(struct line *line, size_t length, bool whole)
{
	const struct row *row;
	al_status status;

	if (!whole)
		return breach(line, "a record or descriptors that are too long");
	status = check_size(line, length);
	if (status)
		return status;
	row = &rows[line->command];
	status = check_right(line, row);
	if (!status)
		status = check_bytes(line, row);
	if (!status)
		status = check_fds(line);
	if (!status)
		status = check_handles(line, row);
	return status ? status : reserve(line, row);
}

/* ---------------------------------------------------------------- execution */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The module's; -1: taken. */
static void close_all(const int *fds, uint32_t *num)
{
	for (; *num; --*num)
		if (fds[*num - 1] >= 0)
			close(fds[*num - 1]);
}

void command_drop_fds(struct line *line)
{
	descriptors_close(&line->came);
	line->came.num = 0;
	close_all(line->udata.given, &line->udata.num_given);
}

void command_answer(struct line *line)
{
	struct agent_answer *answer = (struct agent_answer *)line->answer;
	const struct agent_sizes *sizes = &agent_sizes[line->command];
	struct al_udata *told = &line->udata;
	struct iovec from[2] = { { answer, sizeof(*answer) + sizes->answer }, { line->told, 0 } };
	struct msghdr msg = { .msg_iov = from, .msg_iovlen = 2 };
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));

	/* The handle was good: the object has gone with its HCA meanwhile. */
	if (line->status == AL_INVALID_HANDLE && line->hca &&
	    hca_removals(line->hca) != line->removals)
		line->status = AL_CA_REMOVED;
	if (line->status || !sizes->vendor)
		close_all(told->given, &told->num_given);
	answer->status = line->status;
	answer->count = line->status ? 0 : line->out_count;
	answer->fds = (uint16_t)told->num_given;
	/* A module can not say more than there was room for. */
	if (!line->status && sizes->vendor)
		answer->data = (uint16_t)least(told->ci.out_len, line_head(line)->room);
	from[0].iov_len += (size_t)answer->count * sizes->out.size;
	from[1].iov_len = answer->data;
	agent_put_fds(&msg, control, told->given, told->num_given);
	/* Who asks reads the answer before asking again: there is room, or it is no client of ours.
	 */
	if (TEMP_FAILURE_RETRY(sendmsg(line->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0)
		shutdown(line->fd, SHUT_RDWR);
	command_drop_fds(line);
}

/* On the loop: what was made becomes the client's, or its place is given back. */
static void finish(struct line *line)
{
	struct made_answer *made = line_answer(line); /* each that makes begins so */

	if (line->making && !line->status) {
		line->making->handle = line->made;
		line->making->ready = true;
		made->handle = object_handle(line->making);
		IB_TRACE("ald", "%s: is %s[%d]'s, and told of events", agent_names[line->command],
			 line->session->client.comm, (int)line->session->client.pid);
	} else if (line->making) {
		object_free(line->making);
	}
	line->making = NULL;
}

/* One that is answered later may have been answered, and its line freed, on return. */
static void execute(struct line *line)
{
	al_act_for(&line->udata.ci);
	command_functions[line->command](line);
	al_act_for(NULL);
}

static void work(struct job *job)
{
	execute((struct line *)((char *)job - offsetof(struct line, job)));
}

static void done(struct job *job)
{
	struct line *line = (struct line *)((char *)job - offsetof(struct line, job));

	if (line->status == AL_INVALID_DESCRIPTOR)
		session_complain(line->session, COMPLAINT_MEMORY, "shares memory",
				 al_status_str(line->status));
	finish(line);
	if (line->resets)
		line_answered_after_copies(line);
	else
		line_answered(line);
}

void command_run(struct line *line, size_t length, bool whole)
{
	struct session *session = line->session;
	enum agent_where where;

	memset(line->answer, 0, sizeof(struct agent_answer) + 1024);
	line->out_count = 0;
	line->resets = false;
	line->udata.num_given = 0;
	line->status = check(line, length, whole);
	if (line->status) {
		if (line->status == AL_AGENT_PROTOCOL)
			line->command = AGENT_DESTROY; /* any, with the shortest answer */
		command_answer(line);
		return;
	}
	IB_TRACE("ald", "%s of %s[%d]", agent_names[line->command], session->client.comm,
		 (int)session->client.pid);
	where = agent_sizes[line->command].where;
	line->busy = true;
	session->jobs++;
	if (where != AGENT_LOOP)
		line_rest(line);
	if (where == AGENT_WORKER) {
		line->job = (struct job){ .session = session, .work = work, .done = done };
		pool_work(&line->job);
		return;
	}
	execute(line);
	if (where == AGENT_LOOP)
		line_answered(line);
}
