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

/* What a row names: a kind of kinds.def, none or any. */
enum {
	NONE = AL_OBJ_NONE,
#define KIND(NAME, ...) NAME = AL_OBJ_##NAME,
#include "al/agent/kinds.def"
	ANY = 0x40,
	OPTIONAL = 0x80 /* a bit */
};
#define BRINGS_FD 0x8000 /* a bit of row.bytes */

static const struct row {
	al_object_type makes;
	enum agent_right right;
	uint8_t handles[MAX_HANDLES + 1]; /* kinds of the first members of the request; NONE: no more */
	uint16_t bytes[MAX_BYTES + 1];    /* offset + 1, with BRINGS_FD; 0: no more */
} rows[AGENT_NUM_COMMANDS] = {
#define HANDLES(...)        \
	{                   \
		__VA_ARGS__ \
	}
#define BYTES(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define BYTE(name, member) (offsetof(struct name##_request, member) + 1)
#define FD(name, member)   (BYTE(name, member) | BRINGS_FD)
#define COMMAND(name, where, right, makes, vendor, handles, bytes, ...) \
	[AGENT_##name] = { (al_object_type)makes, RIGHT_##right, handles, bytes },
#include "al/protocol/commands.def"
};

/* The columns of a kind read the request of the command that makes one. */
enum {
	MAKER_OF_NONE = -1,
#define KIND(NAME, name, maker, ...) MAKER_OF_##NAME = AGENT_##maker,
#include "al/agent/kinds.def"
};
#define COMMAND(name, where, right, makes, ...)                                                         \
	_Static_assert(MAKER_OF_##makes == MAKER_OF_NONE || (int)MAKER_OF_##makes == (int)AGENT_##name, \
		       "kinds.def has another maker for what " #name " makes");
#include "al/protocol/commands.def"

/* Logs a breach of the protocol: the client is hostile, or its library has another version. */
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
	};
	return AL_SUCCESS;
}

/* Truth values, and the descriptors that the record has beside the provider's. */
static al_status check_bytes(struct connection *connection, const struct row *row)
{
	const uint8_t *request = connection_request(connection);
	struct ci_udata *udata = &connection->udata.ci;
	uint32_t own = 0;

	for (const uint16_t *at = row->bytes; *at; at++) {
		const uint8_t value = request[(*at & ~BRINGS_FD) - 1];

		if (value > 1)
			return breach(connection, "a truth value that is neither 0 nor 1");
		own += *at & BRINGS_FD ? value : 0;
	}
	if (connection->came.num < own)
		return breach(connection, "memory to be mapped without its descriptor");
	if (connection->came.num - own > UVP_MAX_FDS)
		return breach(connection, "more descriptors than a provider may send");
	connection->own_fds = connection->came.fd;
	udata->num_fds = connection->came.num - own;
	udata->fds = udata->num_fds ? connection->came.fd + own : NULL;
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

/* What a completion queue is charged when it has the size that the request asks for. */
static uint64_t resized_rings(struct connection *connection)
{
	const struct RESIZE_CQ_request *request = connection_request(connection);

	return kinds[AL_OBJ_CQ].rings(&(const struct CREATE_CQ_request){ .cqe = request->cqe });
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
		status = check_handles(connection, row);
	connection->making = NULL;
	if (!status && row->makes)
		status = object_new(&connection->session->objects, row->makes, connection_request(connection),
				    connection->hca, &connection->making);
	if (!status && connection->command == AGENT_RESIZE_CQ)
		status = object_resize(connection->object[0], resized_rings(connection));
	return status;
}

/* ---------------------------------------------------------------- execution */

/* On the loop. Puts a new object into the client's table and its handle into the answer; after a
 * failure frees the object's place. */
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

/* On the loop. Sets the completion queue's charge to that of its size now. A queue that was destroyed
 * meanwhile has returned its charge already. */
static void finish_resize(struct connection *connection)
{
	const struct RESIZE_CQ_request *request = connection_request(connection);
	struct object *cq = object_find(&connection->session->objects, request->cq);

	if (cq)
		object_resized(cq, resized_rings(connection), connection->status);
}

static void (*const functions[AGENT_NUM_COMMANDS])(struct connection *connection) = {
#define COMMAND(name, ...) [AGENT_##name] = command_##name,
#include "al/protocol/commands.def"
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
	if (connection->command == AGENT_RESIZE_CQ)
		finish_resize(connection);
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
			connection->command = AGENT_DESTROY; /* the record has no valid command: the answer has the size of the shortest */
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
