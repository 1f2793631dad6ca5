/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every request is checked here, once, by the command table, before anything of it is used; then it is carried out. The values
 * in it are left to the Access Layer, which checks them for each of its callers.
 */
#include "al/agent/command.h"

#include <errno.h>
#include <string.h>

#include "al/agent/verbs.h"

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
static al_status breach(struct connection *connection, const char *what)
{
	session_complain(connection->session, COMPLAINT_PROTOCOL, "breaks the protocol", what);
	return AL_AGENT_PROTOCOL;
}

static al_status check_right(struct connection *connection, const struct row *row)
{
	static const char *const names[] = {
		[RIGHT_OWN] = "own", [RIGHT_TEST] = "test", [RIGHT_MANAGE] = "manage"
	};

	if (row->right <= connection->session->right)
		return AL_SUCCESS;
	session_complain(connection->session, COMPLAINT_RIGHT, "has not the right", names[row->right]);
	return AL_PERMISSION;
}

/* Is the record exactly as long as its own counts say, and are those within the table's? */
static al_status check_size(struct connection *connection, size_t length)
{
	const struct agent_head *head = connection_head(connection);
	const struct agent_sizes *sizes;
	size_t want;

	if (length < sizeof(*head))
		return breach(connection, "a record without a head");
	if (head->command >= AGENT_NUM_COMMANDS)
		return breach(connection, "no such command");
	sizes = &agent_sizes[head->command];
	if (head->fds != connection->came.num || head->fds > AGENT_MAX_FDS || head->data > UVP_MAX_DATA ||
	    head->room > UVP_MAX_DATA)
		return breach(connection, "other descriptors or more data than its head says");
	if (!sizes->vendor && (head->fds || head->data || head->room))
		return breach(connection, "descriptors or data where there is no vendor to take them");
	want = sizeof(*head) + sizes->request + head->data;
	for (int i = 0; i < 2; i++) {
		if (head->count[i] > sizes->in[i].most)
			return breach(connection, "an array that is too long");
		want += (size_t)head->count[i] * sizes->in[i].size;
		connection->count[i] = head->count[i];
	}
	if (length != want)
		return breach(connection, "a record of a wrong length");
	connection->command = (enum agent_command)head->command;
	connection->udata.ci = (struct ci_udata){
		.client = &connection->session->client,
		.in = head->data
			      ? memcpy(connection->said, connection->request + length - head->data, head->data)
			      : NULL,
		.in_len = head->data,
		.out = head->room ? memset(connection->told, 0, head->room) : NULL,
		.out_len = head->room,
		.fds = head->fds ? connection->came.fd : NULL,
		.num_fds = head->fds,
	};
	return AL_SUCCESS;
}

static al_status check_bytes(struct connection *connection, const struct row *row)
{
	const uint8_t *request = connection_request(connection);

	for (const uint16_t *at = row->bytes; *at; at++)
		if (request[*at - 1] > 1)
			return breach(connection, "a truth value that is neither 0 nor 1");
	return AL_SUCCESS;
}

/* Descriptors that are not the provider's: the memory of a region that is to be mapped. */
static al_status check_fds(struct connection *connection)
{
	const struct REG_MR_request *mr = connection_request(connection);
	uint32_t own = connection->command == AGENT_REG_MR && mr->mapped;

	if (connection->came.num < own)
		return breach(connection, "memory to be mapped without its descriptor");
	if (connection->came.num - own > UVP_MAX_FDS)
		return breach(connection, "more descriptors than a provider may send");
	return AL_SUCCESS;
}

/* Handles are the client's own, of the right kind, and not stale. */
static al_status check_handles(struct connection *connection, const struct row *row)
{
	const uint64_t *handle = connection_request(connection);
	struct object *object;

	memset(connection->handles, 0, sizeof(connection->handles));
	connection->hca = NULL;
	for (int i = 0; row->handles[i]; i++, handle++) {
		if (!*handle && row->handles[i] & OPTIONAL)
			continue;
		object = object_find(&connection->session->objects, *handle);
		if (!object || (row->handles[i] != ANY &&
				object->type != (al_object_type)(row->handles[i] & ~OPTIONAL))) {
			if (object_removed(&connection->session->objects, *handle))
				return AL_CA_REMOVED;
			session_complain(connection->session, COMPLAINT_HANDLE,
					 "names what it does not have", agent_names[connection->command]);
			return AL_INVALID_HANDLE;
		}
		connection->object[i] = object;
		connection->handles[i] = (uintptr_t)object->handle;
		if (!connection->hca && object->hca) {
			connection->hca = object->hca;
			connection->removals = hca_removals(object->hca);
			if (hca_leaving(object->hca) && connection->command != AGENT_DESTROY)
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
static uint64_t rings_of(struct connection *connection, al_object_type kind)
{
	const struct CREATE_CQ_request *cq = connection_request(connection);
	const struct CREATE_QP_request *qp = connection_request(connection);
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
static al_status reserve(struct connection *connection, const struct row *row)
{
	const struct REG_MR_request *mr = connection_request(connection);
	struct account *account = &connection->session->account;
	al_object_type kind = (al_object_type)row->makes;
	const struct {
		al_resource resource;
		uint64_t amount;
	} costs[] = {
		{ object_resources[kind], 1 },
		{ AL_RESOURCE_BYTES, kind == AL_OBJ_MR ? mr->length : 0 },
		{ AL_RESOURCE_RINGS, kind ? rings_of(connection, kind) : 0 },
	};
	al_status status = AL_SUCCESS;
	int i;

	connection->making = NULL;
	if (!kind)
		return AL_SUCCESS;
	for (i = 0; i < 3; i++) {
		status = account_charge(account, costs[i].resource, costs[i].amount);
		if (status)
			goto give_back;
	}
	connection->making = object_new(&connection->session->objects, kind);
	if (!connection->making) {
		status = AL_INSUFFICIENT_MEMORY;
		goto give_back;
	}
	if (kind != AL_OBJ_CA) {
		connection->making->hca = connection->object[0]->hca;
		connection->making->hca->num_objects++;
	}
	connection->making->bytes = costs[1].amount;
	connection->making->rings = costs[2].amount;
	return AL_SUCCESS;
give_back:
	while (i--)
		account_return(account, costs[i].resource, costs[i].amount);
	return status;
}

static al_status check(struct connection *connection, size_t length, bool whole)
{
	const struct row *row;
	al_status status;

	if (!whole)
		return breach(connection, "a record or descriptors that are too long");
	status = check_size(connection, length);
	if (status)
		return status;
	row = &rows[connection->command];
	status = check_right(connection, row);
	if (!status)
		status = check_bytes(connection, row);
	if (!status)
		status = check_fds(connection);
	if (!status)
		status = check_handles(connection, row);
	return status ? status : reserve(connection, row);
}

/* ---------------------------------------------------------------- execution */

/* On the loop: what was made becomes the client's, or its place is given back. */
static void finish(struct connection *connection)
{
	struct made_answer *made = connection_answer(connection); /* each that makes begins so */

	if (connection->making && !connection->status) {
		connection->making->handle = connection->made;
		connection->making->ready = true;
		made->handle = object_handle(connection->making);
		IB_TRACE("ald", "%s: is %s[%d]'s, and told of events", agent_names[connection->command],
			 connection->session->client.comm, (int)connection->session->client.pid);
	} else if (connection->making) {
		object_free(connection->making);
	}
	connection->making = NULL;
}

static void (*const functions[AGENT_NUM_COMMANDS])(struct connection *connection) = {
#define COMMAND(name, ...) [AGENT_##name] = command_##name,
#include "al/agent/commands.def"
};

/* A LATER command may have been answered, and its connection freed, on return. */
static void execute(struct connection *connection)
{
	al_act_for(&connection->udata.ci);
	functions[connection->command](connection);
	al_act_for(NULL);
}

static void work(struct job *job)
{
	execute(container_of(job, struct connection, job));
}

static void done(struct job *job)
{
	struct connection *connection = container_of(job, struct connection, job);

	if (connection->status == AL_INVALID_DESCRIPTOR)
		session_complain(connection->session, COMPLAINT_MEMORY, "shares memory",
				 al_status_str(connection->status));
	finish(connection);
	if (connection->resets)
		connection_answered_after_copies(connection);
	else
		connection_answered(connection);
}

static void run(struct connection *connection, size_t length, bool whole)
{
	struct session *session = connection->session;
	enum agent_where where;

	memset(connection->answer, 0, sizeof(struct agent_answer) + 1024);
	connection->out_count = 0;
	connection->resets = false;
	connection->udata.num_given = 0;
	connection->status = check(connection, length, whole);
	if (connection->status) {
		if (connection->status == AL_AGENT_PROTOCOL)
			connection->command = AGENT_DESTROY; /* any, with the shortest answer */
		connection_send(connection);
		return;
	}
	IB_TRACE("ald", "%s of %s[%d]", agent_names[connection->command], session->client.comm,
		 (int)session->client.pid);
	where = agent_sizes[connection->command].where;
	connection->busy = true;
	session->jobs++;
	if (where != AGENT_LOOP)
		connection_rest(connection);
	if (where == AGENT_WORKER) {
		connection->job = (struct job){ .work = work, .done = done };
		pool_work(&connection->job);
		return;
	}
	execute(connection);
	if (where == AGENT_LOOP)
		connection_answered(connection);
}

void command_readable(struct watched *watched, uint32_t events)
{
	struct connection *connection = container_of(watched, struct connection, watched);
	ssize_t n = descriptors_receive(connection->fd, connection->request, sizeof(connection->request),
					&connection->came);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		run(connection, (size_t)n, connection->came.whole);
	else
		connection_free(connection);
}
