/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests of clients: each is checked once, by the command table, before anything of the request
 * is used, and then executed. The check covers sizes, descriptors, rights, handles and limits. The
 * Access Layer checks the values in a request, as it does for each of its callers. The functions of
 * the commands are in verbs.c, post.c and snapshot.c.
 */
#include "al/agent/command.h"

#include <errno.h>
#include <string.h>

#include "al/agent/guard.h"
#include "al/agent/verbs.h"

#define MAX_HANDLES 3
#define MAX_BYTES   4
#define MAX_ANSWER  1024 /* of the struct of an answer, without its array */

#define COMMAND(name, ...) \
	_Static_assert(sizeof(struct name##_answer) <= MAX_ANSWER, "MAX_ANSWER is too small for " #name);
#include "al/protocol/commands.def"

/* A row's kind of object for a handle of the request: a kind of kinds.def, no handle, or a handle
 * of any kind. */
enum {
	NONE = AL_OBJ_NONE,
#define KIND(NAME, ...) NAME = AL_OBJ_##NAME,
#include "al/agent/kinds.def"
	ANY = 0x40,
	OPTIONAL = 0x80 /* a bit beside a kind: the handle may be 0 */
};
#define BRINGS_FD 0x8000 /* a bit of row.bytes: if the boolean field is 1, the record brings a descriptor for the agent */

static const struct row {
	al_object_type makes;             /* kind of the object that the command makes */
	enum agent_right right;           /* the right that the client needs */
	uint8_t handles[MAX_HANDLES + 1]; /* kinds of the handles with which the request begins; NONE ends the list */
	uint16_t bytes[MAX_BYTES + 1];    /* boolean fields: offset in the request + 1, with BRINGS_FD; 0 ends the list */
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

/* The functions of a kind's row in kinds.def read the request of the command that makes such an
 * object. Where several commands make one, they have the request in common. */
typedef void maker_request_of_NONE;
#define KIND(NAME, name, maker, ...) typedef struct maker##_request maker_request_of_##NAME;
#include "al/agent/kinds.def"
#define COMMAND(name, where, right, makes, ...)                                        \
	_Static_assert(__builtin_types_compatible_p(maker_request_of_##makes, void) || \
			       __builtin_types_compatible_p(maker_request_of_##makes,  \
							    struct name##_request),    \
		       "kinds.def has a maker with another request for what " #name " makes");
#include "al/protocol/commands.def"

/* The answer to a record that breaks the protocol: the record may name no command, so the answer
 * has the shortest struct. */
static const struct agent_sizes breach_sizes = { .answer = sizeof(struct none) };

/* Logs a breach of the protocol: the client is hostile, or its library has another version. */
static al_status breach(struct connection *connection, const char *what)
{
	const struct agent_head *head = connection_head(connection);
	const bool named = connection->length >= sizeof(*head) && head->command < AGENT_NUM_COMMANDS;

	session_complain(connection->session, COMPLAINT_PROTOCOL,
			 "breaks the protocol in the command %s: %s; the agent refuses the command; install ald and the program's "
			 "libibal from one release",
			 named ? agent_names[head->command] : "(unknown)", what);
	return ib_refuse(AL_AGENT_PROTOCOL,
			 "%s; install ald and the program's libibal from one release", what);
}

static al_status check_right(struct connection *connection, const struct row *row)
{
	static const char *const names[] = {
		[RIGHT_OWN] = "own", [RIGHT_TEST] = "test", [RIGHT_MANAGE] = "manage"
	};

	const enum agent_right guarded = guard_right(connection);
	const enum agent_right right = guarded > row->right ? guarded : row->right;

	if (right <= connection->session->right)
		return AL_SUCCESS;
	session_complain(
		connection->session, COMPLAINT_RIGHT,
		"asks for the command %s, which needs the right \"%s\"; the agent refuses the command. [ald] of "
		"ibal.conf(5) says how the administrator gives a user that right",
		agent_names[connection->command], names[right]);
	return ib_refuse(
		AL_PERMISSION,
		"the agent reserves this for users with the right \"%s\", which [ald] of ibal.conf(5) gives",
		names[right]);
}

/* The descriptors of a record, and the data that the provider and the module exchange. */
static al_status check_vendor_data(struct connection *connection, const struct agent_sizes *sizes)
{
	const struct agent_head *head = connection_head(connection);

	if (head->fds != connection->received.num)
		return breach(connection, "the record brings another number of descriptors than its head says");
	if (head->fds > AGENT_MAX_FDS)
		return breach(connection, "the record brings more descriptors than the protocol allows");
	if (head->data > UVP_MAX_DATA || head->room > UVP_MAX_DATA)
		return breach(connection, "the provider's data, or the room for the module's answer to it, is larger than the protocol allows");
	if (!sizes->vendor && (head->fds || head->data || head->room))
		return breach(connection, "the record brings descriptors or a provider's data, which the command has not");
	return AL_SUCCESS;
}

/* Checks that the record is exactly as long as its counts say, and that the counts are within the
 * limits of the command table. Sets what the rest of the check reads: command, sizes, count,
 * udata. */
static al_status check_size(struct connection *connection)
{
	const struct agent_head *head = connection_head(connection);
	const struct agent_sizes *sizes;
	const char *end = connection->request + connection->length;
	size_t want;
	al_status status;

	if (connection->length < sizeof(*head))
		return breach(connection, "the record is shorter than a head");
	if (head->command >= AGENT_NUM_COMMANDS)
		return breach(connection, "the protocol has no command of that number");
	sizes = &agent_sizes[head->command];
	status = check_vendor_data(connection, sizes);
	if (status)
		return status;
	want = sizeof(*head) + sizes->request + head->data;
	for (int i = 0; i < 2; i++) {
		if (head->count[i] > sizes->in[i].most)
			return breach(connection, "an array has more elements than the command allows");
		want += (size_t)head->count[i] * sizes->in[i].size;
		connection->count[i] = head->count[i];
	}
	if (connection->length != want)
		return breach(connection, "the record is not as long as its head says");
	connection->command = (enum agent_command)head->command;
	connection->sizes = sizes;
	connection->udata.ci = (struct ci_udata){ .client = &connection->session->client };
	if (head->data) {
		connection->udata.ci.in = memcpy(connection->vendor_in, end - head->data, head->data);
		connection->udata.ci.in_len = head->data;
	}
	if (head->room) {
		connection->udata.ci.out = memset(connection->vendor_out, 0, head->room);
		connection->udata.ci.out_len = head->room;
	}
	return AL_SUCCESS;
}

/* Checks the truth values of the request, and tells the library's descriptors from the
 * provider's. */
static al_status check_bytes(struct connection *connection, const struct row *row)
{
	const uint8_t *request = connection_request(connection);
	struct ci_udata *udata = &connection->udata.ci;
	uint32_t of_library = 0; /* descriptors before the provider's */

	for (const uint16_t *at = row->bytes; *at; at++) {
		const uint8_t value = request[(*at & ~BRINGS_FD) - 1];

		if (value > 1)
			return breach(connection, "a truth value is neither 0 nor 1");
		if (*at & BRINGS_FD)
			of_library += value;
	}
	if (connection->received.num < of_library)
		return breach(connection, "the request shares memory, and the record brings no descriptor of the memory");
	if (connection->received.num - of_library > UVP_MAX_FDS)
		return breach(connection, "the record brings more descriptors than a provider may send");
	connection->library_fds = connection->received.fd;
	udata->num_fds = connection->received.num - of_library;
	udata->fds = udata->num_fds ? connection->received.fd + of_library : NULL;
	return AL_SUCCESS;
}

/* Replaces the client's handles by the Access Layer's: each handle names an object of the client's
 * own, of the row's kind. */
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
				return ib_refuse(AL_CA_REMOVED,
						 "the HCA of the object has been removed");
			session_complain(connection->session, COMPLAINT_HANDLE,
					 "asks for the command %s with a handle that names no object of its own of the wanted "
					 "kind; the agent refuses the command",
					 agent_names[connection->command]);
			return ib_refuse(
				AL_INVALID_HANDLE,
				"a handle of the request is of no object of this client of the wanted kind");
		}
		connection->object[i] = object;
		connection->handles[i] = (uintptr_t)object->handle;
		if (!connection->hca && object->hca) {
			connection->hca = object->hca;
			connection->removals = hca_removals(object->hca);
			if (hca_leaving(object->hca) && connection->command != AGENT_DESTROY)
				return ib_refuse(AL_CA_REMOVED, "the HCA is being removed");
		}
	}
	return AL_SUCCESS;
}

/* Bytes of ring memory that the client is charged for a completion queue of the requested size. */
static uint64_t resized_rings(struct connection *connection)
{
	const struct RESIZE_CQ_request *request = connection_request(connection);

	return kinds[AL_OBJ_CQ].rings(&(const struct CREATE_CQ_request){ .cqe = request->cqe });
}

/* AL_SUCCESS: the request can be executed, and the client is charged for the object that the
 * request makes or resizes, or for the multicast membership. */
static al_status check(struct connection *connection)
{
	const struct row *row;
	al_status status;

	if (!connection->received.whole)
		return breach(connection, "the record is longer, or brings more descriptors, than any record may");
	status = check_size(connection);
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
		status = object_new(&connection->session->objects, row->makes,
				    connection_request(connection), connection->received.num,
				    connection->hca, &connection->making);
	if (!status && connection->command == AGENT_RESIZE_CQ)
		status = object_resize(connection->object[0], resized_rings(connection));
	if (!status && connection->command == AGENT_ATTACH_MCAST)
		status = object_join(connection->object[0]);
	return status;
}

/* ---------------------------------------------------------------- execution */

/* Runs on the agent's loop. Puts a new object into the client's table and its handle into the
 * answer; after a failure frees the place that the check has reserved for the object. */
static void finish_object(struct connection *connection)
{
	struct made_answer *made = connection_answer(connection); /* the answers of all commands that make an object begin so */

	if (connection->making && !connection->status) {
		connection->making->handle = connection->made;
		if (connection->making->type == AL_OBJ_QP)
			source_set_qp(&connection->making->source, connection->made);
		connection->making->ready = true;
		made->handle = object_handle(connection->making);
		IB_TRACE("ald", "%s: the object belongs to %s[%d], which gets its events", agent_names[connection->command],
			 connection->session->client.comm, (int)connection->session->client.pid);
	} else if (connection->making) {
		object_free(connection->making);
	}
	connection->making = NULL;
}

/* On the loop. Charges the completion queue for the size that it has now. A queue that the client
 * has destroyed meanwhile has returned its charge already. */
static void finish_resize(struct connection *connection)
{
	const struct RESIZE_CQ_request *request = connection_request(connection);
	struct object *cq = object_find(&connection->session->objects, request->cq);

	if (cq)
		object_resized(cq, resized_rings(connection), connection->status);
}

/* On the loop. A queue pair that the client has destroyed meanwhile has returned its charges
 * already. */
static void finish_leave(struct connection *connection)
{
	const uint64_t *handle = connection_request(connection);
	struct object *qp = object_find(&connection->session->objects, *handle);

	if (qp)
		object_leave(qp);
}

static void (*const functions[AGENT_NUM_COMMANDS])(struct connection *connection) = {
#define COMMAND(name, ...) [AGENT_##name] = command_##name,
#include "al/protocol/commands.def"
};

/* A command that the table marks LATER begins here and is answered from a callback. On return such
 * a command may have been answered already and its connection freed, so the caller no longer uses
 * the connection. */
static void execute(struct connection *connection)
{
	const bool later = connection->sizes->where == AGENT_LATER;

	al_reason_clear();
	executing = connection;
	al_act_for(&connection->udata.ci);
	functions[connection->command](connection);
	al_act_for(NULL);
	if (executing && !later) /* not answered yet */
		connection_keep_reason(connection);
	executing = NULL;
}

static void execute_off_loop(struct job *job)
{
	execute(container_of(job, struct connection, job));
}

/* On the loop, after the command has been executed off the loop. */
static void finish(struct job *job)
{
	struct connection *connection = container_of(job, struct connection, job);

	if (connection->status == AL_INVALID_DESCRIPTOR)
		session_complain(connection->session, COMPLAINT_MEMORY,
				 "shares memory by a file that is no memfd sealed against shrinking (%s); the agent refuses the "
				 "command",
				 agent_names[connection->command]);
	finish_object(connection);
	if (connection->command == AGENT_RESIZE_CQ)
		finish_resize(connection);
	if (connection->leaves)
		finish_leave(connection);
	if (connection->resets)
		connection_answered_after_copies(connection);
	else
		connection_answered(connection);
}

/* Checks the record in connection->request and executes its command, on the loop or off it. */
static void serve(struct connection *connection)
{
	const struct session *session = connection->session;
	enum agent_where where;

	memset(connection->answer, 0, sizeof(struct agent_answer) + MAX_ANSWER);
	connection->out_count = 0;
	connection->leaves = false;
	connection->resets = false;
	connection->udata.num_given = 0;
	al_reason_clear();
	connection->status = check(connection);
	connection_keep_reason(connection);
	connection_begin(connection);
	if (connection->status) {
		if (connection->status == AL_AGENT_PROTOCOL)
			connection->sizes = &breach_sizes;
		connection_answered(connection);
		return;
	}
	IB_TRACE("ald", "%s of %s[%d]", agent_names[connection->command], session->client.comm,
		 (int)session->client.pid);
	where = connection->sizes->where;
	if (where == AGENT_WORKER) {
		connection->job = (struct job){ .account = &connection->session->account,
						.work = execute_off_loop,
						.done = finish };
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
	ssize_t n = descriptors_receive(connection->fd, connection->user, connection->request,
					sizeof(connection->request), &connection->received);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		connection_free(connection);
		return;
	}
	connection->length = (size_t)n;
	serve(connection);
}
