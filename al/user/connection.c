/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections to agents: opening them, calls, events, HCAs that come and go, and the loss of an
 * agent. Two threads serve a connection: one sleeps on its events and only queues (upcalls never
 * block), the other registers and withdraws HCAs, which may wait for channel drivers.
 */
#include "al/user/user.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "al/event/dispatcher.h"

static struct user_conn *connections, *parents_connections;

/* ------------------------------------------------------------------ cookies */

al_status user_cookie_take(struct user_conn *conn, void *object, uint64_t *cookie)
{
	struct user_cookie *grown, *c;
	uint32_t i, room;

	pthread_mutex_lock(&conn->cookie_lock);
	if (!conn->free_cookie) {
		room = conn->num_cookies ? 2 * conn->num_cookies : 64;
		grown = al_alloc(room * sizeof(*grown));
		if (!grown) {
			pthread_mutex_unlock(&conn->cookie_lock);
			return AL_INSUFFICIENT_MEMORY;
		}
		if (conn->num_cookies)
			memcpy(grown, conn->cookies, conn->num_cookies * sizeof(*grown));
		for (i = conn->num_cookies; i < room; i++)
			grown[i].next_free = i + 1 < room ? i + 2 : 0;
		conn->free_cookie = conn->num_cookies + 1;
		al_free(conn->cookies);
		conn->cookies = grown;
		conn->num_cookies = room;
	}
	i = conn->free_cookie - 1;
	c = &conn->cookies[i];
	conn->free_cookie = c->next_free;
	c->object = object;
	c->generation++;
	*cookie = (uint64_t)c->generation << 32 | i;
	pthread_mutex_unlock(&conn->cookie_lock);
	return AL_SUCCESS;
}

void *user_cookie_find(struct user_conn *conn, uint64_t cookie)
{
	uint32_t i = (uint32_t)cookie;

	if (i >= conn->num_cookies || conn->cookies[i].generation != cookie >> 32)
		return NULL;
	return conn->cookies[i].object;
}

void user_cookie_drop(struct user_conn *conn, uint64_t cookie)
{
	uint32_t i = (uint32_t)cookie;

	pthread_mutex_lock(&conn->cookie_lock);
	conn->cookies[i].object = NULL;
	conn->cookies[i].next_free = conn->free_cookie;
	conn->free_cookie = i + 1;
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* -------------------------------------------------------------------- calls */

/* Whoever finds the agent gone; the event thread does the rest. */
static void lose(struct user_conn *conn)
{
	atomic_store(&conn->lost, true);
	pthread_mutex_lock(&conn->lock);
	if (conn->events >= 0)
		shutdown(conn->events, SHUT_RDWR);
	pthread_mutex_unlock(&conn->lock);
}

/* Under the lock: a descriptor that nobody uses. */
static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

al_status user_begin(struct user_call *call, struct user_conn *conn, enum agent_command command)
{
	bool fast = agent_sizes[command].where == AGENT_LOOP;
	int first = fast ? 0 : USER_FAST_LINES, end = fast ? USER_FAST_LINES : USER_LINES;
	struct user_line *line = NULL;

	pthread_mutex_lock(&conn->lock);
	while (!line) {
		for (int i = first; i < end && !line; i++)
			if (!conn->lines[i].busy)
				line = &conn->lines[i];
		/* For the agent only: whoever has a line gets his answer. */
		if (!line)
			pthread_cond_wait(&conn->freed, &conn->lock);
	}
	line->busy = true;
	pthread_mutex_unlock(&conn->lock);

	memset(line->request, 0, sizeof(struct agent_head) + agent_sizes[command].request);
	memset(line->answer, 0, sizeof(struct agent_answer) + agent_sizes[command].answer);
	*call = (struct user_call){
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
		close_fd(&call->line->fd);
	pthread_cond_broadcast(&conn->freed);
	pthread_mutex_unlock(&conn->lock);
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

/* The answer, or false: what came is none. */
static bool hear(struct user_call *call)
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
	ssize_t n = TEMP_FAILURE_RETRY(recvmsg(line->fd, &in, MSG_CMSG_CLOEXEC));

	if (n < 0)
		return false;
	num_fds = agent_take_fds(&in, fds);
	if (in.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || !answer_fits(call, (size_t)n, num_fds)) {
		while (num_fds)
			close(fds[--num_fds]);
		return false;
	}
	if (call->vendor)
		keep_told(call->vendor, answer,
			  line->array + (size_t)answer->count * sizes->out.size, fds);
	return true;
}

al_status user_ask(struct user_call *call)
{
	static const struct uvp_call nothing;
	const struct uvp_call *vendor = call->vendor ? call->vendor : &nothing;
	const struct agent_sizes *sizes = &agent_sizes[call->command];
	struct agent_head *head = (struct agent_head *)call->line->request;
	const struct agent_answer *answer = (const struct agent_answer *)call->line->answer;
	int fds[AGENT_MAX_FDS];
	uint32_t num_fds = 0;
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
	if (TEMP_FAILURE_RETRY(sendmsg(call->line->fd, &out, MSG_NOSIGNAL)) < 0 || !hear(call)) {
		memset(call->line->answer, 0, sizeof(*answer) + sizes->answer);
		lose(call->conn);
		return AL_AGENT_LOST;
	}
	call->out_count = answer->count;
	IB_TRACE("user", "%s: the agent answers %s", agent_names[call->command],
		 al_status_name((al_status)answer->status));
	return (al_status)answer->status;
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

/* ------------------------------------------------------------------- events */

static void plug(struct user_conn *conn, const struct agent_event *event)
{
	bool ready = event->kind == AGENT_EVENT_READY;
	struct user_plug *p = ready ? &conn->ready_plug : al_alloc(sizeof(*p));

	if (ready && p->event.kind == AGENT_EVENT_READY)
		return; /* it is said once, and al_open() waits for it: it needs no memory */
	if (!p) {
		ib_log(IB_LOG_ERROR, "user", "out of memory: HCA %#llx of agent %s is not seen to",
		       (unsigned long long)event->guid, conn->path);
		return;
	}
	p->event = *event;
	pthread_mutex_lock(&conn->plug_lock);
	*conn->plugs_end = p;
	conn->plugs_end = &p->next;
	pthread_mutex_unlock(&conn->plug_lock);
	sem_post(&conn->plugged);
}

static void notify(struct user_conn *conn, const struct agent_event *event)
{
	struct ci_cq *cq;

	pthread_mutex_lock(&conn->cookie_lock);
	cq = user_cookie_find(conn, event->cookie);
	if (cq)
		ib_cq_notify(cq->ctx);
	pthread_mutex_unlock(&conn->cookie_lock);
}

/* CQ, QP and CA alike begin with ctx. */
static void dispatch(struct user_conn *conn, const struct agent_event *event)
{
	struct ci_event up = { .type = (ib_event_type)event->type,
			       .port_num = (uint8_t)event->port };
	void **object;

	pthread_mutex_lock(&conn->cookie_lock);
	object = user_cookie_find(conn, event->cookie);
	if (object && event->type <= IB_EVENT_DEVICE_FATAL) {
		up.object_ctx = *object;
		ib_dispatch_event(&up);
	}
	pthread_mutex_unlock(&conn->cookie_lock);
}

static void tell_ending(struct user_conn *conn, const struct agent_event *event)
{
	(void)event;
	ib_log(IB_LOG_WARNING, "user", "agent %s is about to end, and waits for what is open here",
	       conn->path);
}

static void (*const event_actions[])(struct user_conn *, const struct agent_event *) = {
	[AGENT_EVENT_COMPLETION] = notify,  [AGENT_EVENT_ASYNC] = dispatch,
	[AGENT_EVENT_PORT] = dispatch,      [AGENT_EVENT_CA_ADD] = plug,
	[AGENT_EVENT_CA_REMOVE] = plug,     [AGENT_EVENT_READY] = plug,
	[AGENT_EVENT_ENDING] = tell_ending,
};

static void *event_main(void *arg)
{
	const uint32_t kinds = sizeof(event_actions) / sizeof(event_actions[0]);
	struct user_conn *conn = arg;
	struct agent_event event;

	thread_begin("al-user-event", CONTEXT_NONE);
	while (TEMP_FAILURE_RETRY(recv(conn->events, &event, sizeof(event), 0)) == sizeof(event))
		if (event.kind < kinds && event_actions[event.kind])
			event_actions[event.kind](conn, &event);
	atomic_store(&conn->lost, true);
	/* Calls that wait for an answer return, and close their lines themselves: user_end(). */
	pthread_mutex_lock(&conn->lock);
	close_fd(&conn->events);
	for (int i = 0; i < USER_LINES; i++)
		if (conn->lines[i].busy)
			shutdown(conn->lines[i].fd, SHUT_RDWR);
		else
			close_fd(&conn->lines[i].fd);
	pthread_mutex_unlock(&conn->lock);
	sem_post(&conn->plugged);
	return NULL;
}

/* -------------------------------------------------------------------- plugs */

/* The name of its module at the agent, as far as that knows the HCA still. */
static const struct user_provider *find_provider(struct user_conn *conn, uint64_t guid)
{
	const struct MODULE_OF_request request = { .guid = guid };
	struct MODULE_OF_answer answer = { 0 };

	if (user_simple(conn, AGENT_MODULE_OF, &request, &answer, NULL) ||
	    answer.name[sizeof(answer.name) - 1])
		answer.name[0] = 0;
	return user_provider(answer.name);
}

static void add_hca(struct user_conn *conn, uint64_t guid)
{
	const struct user_provider *provider = find_provider(conn, guid);
	struct user_hca *hca = provider ? al_alloc(sizeof(*hca)) : NULL;
	al_status status = AL_INSUFFICIENT_MEMORY;

	if (hca) {
		hca->conn = conn;
		hca->guid = guid;
		hca->provider = provider;
		status = ib_register_ci(conn->host, &provider->ops, hca, &hca->handle);
	}
	if (status) {
		ib_log(status == AL_NOT_FOUND ? IB_LOG_INFO : IB_LOG_ERROR, "user",
		       "HCA %#llx of agent %s can not be used: %s", (unsigned long long)guid,
		       conn->path, al_status_str(status));
		al_free(hca);
		return;
	}
	hca->next = conn->hcas;
	conn->hcas = hca;
}

static void remove_hca(struct user_conn *conn, uint64_t guid, uint32_t flags)
{
	struct user_hca **p, *hca;

	for (p = &conn->hcas; *p && (*p)->guid != guid; p = &(*p)->next)
		;
	if (!*p)
		return;
	hca = *p;
	*p = hca->next;
	ib_deregister_ci(hca->handle, flags);
	al_free(hca);
}

static struct user_plug *next_plug(struct user_conn *conn)
{
	struct user_plug *p;

	while (sem_wait(&conn->plugged))
		;
	pthread_mutex_lock(&conn->plug_lock);
	p = conn->plugs;
	if (p && !(conn->plugs = p->next))
		conn->plugs_end = &conn->plugs;
	pthread_mutex_unlock(&conn->plug_lock);
	return p; /* NULL: the agent is lost, and this was the last */
}

static void *plug_main(void *arg)
{
	struct user_conn *conn = arg;
	struct user_plug *p;

	thread_begin("al-user-plug", CONTEXT_NONE);
	while ((p = next_plug(conn))) {
		if (p->event.kind == AGENT_EVENT_CA_ADD)
			add_hca(conn, p->event.guid);
		else if (p->event.kind == AGENT_EVENT_CA_REMOVE)
			remove_hca(conn, p->event.guid, CI_HCA_GONE);
		else
			sem_post(&conn->ready);
		if (p != &conn->ready_plug)
			al_free(p);
	}
	if (conn->hcas)
		ib_log(IB_LOG_ERROR, "user", "agent %s is lost", conn->path);
	while (conn->hcas)
		remove_hca(conn, conn->hcas->guid, CI_HCA_GONE | CI_AGENT_LOST);
	sem_post(&conn->ready);
	return NULL;
}

/* ------------------------------------------------------------------ opening */

/* In a sentence that begins with the agent. */
static void say_why(struct user_conn *conn, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say_why(struct user_conn *conn, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(conn->why, sizeof(conn->why), format, args);
	va_end(args);
}

static void why_not_reached(struct user_conn *conn, int error)
{
	struct stat st;

	if (error == ECONNREFUSED)
		say_why(conn, "nobody listens: an ald that was killed has left the socket");
	else if (error == EACCES && !stat(conn->path, &st))
		say_why(conn,
			"the socket is user %u's, group %u's, with mode %o: you may not connect",
			(unsigned int)st.st_uid, (unsigned int)st.st_gid,
			(unsigned int)st.st_mode & 0777);
	else
		say_why(conn, "%s", strerror(error));
}

static int reach(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -1;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && TEMP_FAILURE_RETRY(connect(fd, (struct sockaddr *)&addr, sizeof(addr)))) {
		int error = errno;

		close(fd);
		errno = error;
		fd = -1;
	}
	return fd;
}

/* An agent is root's or our own: memory is shared with nobody else's. */
static bool trusted(struct user_conn *conn)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(conn->events, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	if (!peer.uid || peer.uid == geteuid())
		return true;
	say_why(conn, "it is user %u's, neither root's nor yours, and not trusted with your memory",
		(unsigned int)peer.uid);
	return false;
}

static al_status say_hello(int fd, struct agent_hello *hello, const int *fds, uint32_t num_fds,
			   struct agent_welcome *welcome)
{
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));
	struct iovec iov = { hello, sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	agent_put_fds(&msg, control, fds, num_fds);
	if (TEMP_FAILURE_RETRY(sendmsg(fd, &msg, MSG_NOSIGNAL)) < 0 ||
	    TEMP_FAILURE_RETRY(recv(fd, welcome, sizeof(*welcome), 0)) != sizeof(*welcome) ||
	    welcome->magic != AGENT_MAGIC)
		return AL_AGENT_REFUSED;
	if (welcome->protocol != AGENT_PROTOCOL)
		return AL_AGENT_PROTOCOL;
	return (al_status)welcome->status;
}

static al_status begin_session(struct user_conn *conn, struct agent_hello *hello)
{
	int fds[2] = { (int)syscall(SYS_pidfd_open, getpid(), 0),
		       open("/proc/self/mem", O_RDWR | O_CLOEXEC) };
	struct agent_welcome welcome = { 0 };
	al_status status = AL_AGENT_REFUSED;

	hello->role = AGENT_EVENTS;
	if (fds[0] < 0)
		status = AL_INSUFFICIENT_RESOURCES;
	else if (trusted(conn))
		status = say_hello(conn->events, hello, fds, fds[1] < 0 ? 1 : 2, &welcome);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (status == AL_AGENT_PROTOCOL)
		say_why(conn,
			"it speaks protocol %u, this library %u: install both from one version",
			welcome.protocol, AGENT_PROTOCOL);
	if (status)
		return status;
	memcpy(hello->token, welcome.token, sizeof(hello->token));
	conn->copies = welcome.copies;
	if (!conn->copies)
		ib_log(IB_LOG_WARNING, "user",
		       "agent %s can not reach this program's memory, since it is not dumpable or in a namespace of its own: it can register only what al_dma_alloc_coherent gives",
		       conn->path);
	return AL_SUCCESS;
}

static al_status open_lines(struct user_conn *conn, struct agent_hello *hello)
{
	struct agent_welcome welcome;
	al_status status = AL_SUCCESS;

	hello->role = AGENT_COMMANDS;
	for (int i = 0; !status && i < USER_LINES; i++) {
		conn->lines[i].fd = reach(conn->path);
		status = conn->lines[i].fd < 0
				 ? AL_AGENT_REFUSED
				 : say_hello(conn->lines[i].fd, hello, NULL, 0, &welcome);
	}
	return status;
}

static void close_all(struct user_conn *conn)
{
	close_fd(&conn->events);
	for (int i = 0; conn->lines && i < USER_LINES; i++)
		close_fd(&conn->lines[i].fd);
}

/* Both or none; one that has them stays, even if the agent is lost at once. */
static al_status start_threads(struct user_conn *conn)
{
	pthread_t events, plugs;
	al_status status;

	status = thread_start(&plugs, "al-user-plug", plug_main, conn);
	if (status)
		return status;
	status = thread_start(&events, "al-user-event", event_main, conn);
	if (status) {
		sem_post(&conn->plugged); /* nothing is plugged: it ends */
		pthread_join(plugs, NULL);
		return status;
	}
	pthread_detach(plugs);
	pthread_detach(events);
	conn->served = true;
	while (sem_wait(&conn->ready))
		;
	return atomic_load(&conn->lost) ? AL_AGENT_LOST : AL_SUCCESS;
}

static al_status open_session(struct user_conn *conn)
{
	struct agent_hello hello = { .magic = AGENT_MAGIC, .protocol = AGENT_PROTOCOL };
	al_status status;

	strncpy(hello.comm, program_invocation_short_name, sizeof(hello.comm) - 1);
	conn->events = reach(conn->path);
	if (conn->events < 0) {
		why_not_reached(conn, errno);
		return AL_AGENT_REFUSED;
	}
	status = begin_session(conn, &hello);
	return status ? status : open_lines(conn, &hello);
}

static struct user_conn *new_conn(const char *path)
{
	struct user_conn *conn = al_alloc(sizeof(*conn));

	if (!conn)
		return NULL;
	conn->lines = al_alloc(USER_LINES * sizeof(*conn->lines));
	if (!conn->lines) {
		al_free(conn);
		return NULL;
	}
	for (int i = 0; i < USER_LINES; i++)
		conn->lines[i].fd = -1;
	strncpy(conn->path, path, sizeof(conn->path) - 1);
	conn->events = -1;
	conn->plugs_end = &conn->plugs;
	pthread_mutex_init(&conn->lock, NULL);
	pthread_cond_init(&conn->freed, NULL);
	pthread_mutex_init(&conn->cookie_lock, NULL);
	pthread_mutex_init(&conn->plug_lock, NULL);
	sem_init(&conn->plugged, 0, 0);
	sem_init(&conn->ready, 0, 0);
	return conn;
}

static void free_conn(struct user_conn *conn)
{
	close_all(conn);
	if (conn->host)
		ci_agent_host_drop(conn->host);
	pthread_cond_destroy(&conn->freed);
	sem_destroy(&conn->plugged);
	sem_destroy(&conn->ready);
	al_free(conn->cookies);
	al_free(conn->lines);
	al_free(conn);
}

/* Its agent may be gone without its thread having noticed yet: then the next agent is to be asked.
 */
static bool is_there(struct user_conn *conn)
{
	struct pollfd events = { .fd = -1 };

	pthread_mutex_lock(&conn->lock);
	events.fd = conn->events;
	if (events.fd < 0 || poll(&events, 1, 0))
		atomic_store(&conn->lost, true);
	pthread_mutex_unlock(&conn->lock);
	return !atomic_load(&conn->lost);
}

al_status user_connect(const char *path, struct user_conn **result)
{
	struct user_conn *conn;
	char why[sizeof(conn->why)] = "";
	al_status status;

	for (conn = connections; conn; conn = conn->next)
		if (!strcmp(conn->path, path) && is_there(conn)) {
			*result = conn;
			return AL_SUCCESS;
		}
	if (strlen(path) >= sizeof(conn->path)) {
		ib_log(IB_LOG_ERROR, "user",
		       "agent %s: the path of a socket has at most %zu characters", path,
		       sizeof(conn->path) - 1);
		return AL_INVALID_PARAMETER;
	}
	conn = new_conn(path);
	if (!conn)
		return AL_INSUFFICIENT_MEMORY;
	status = ci_agent_host(conn, &conn->host);
	if (!status)
		status = open_session(conn);
	if (!status)
		status = start_threads(conn);
	memcpy(why, conn->why, sizeof(why));
	if (status && !conn->served) {
		free_conn(conn);
		goto refused;
	}
	/* Its threads look at it from now on, also when it is lost already. */
	conn->next = connections;
	connections = conn;
	if (status)
		goto refused;
	*result = conn;
	return AL_SUCCESS;

refused:
	ib_log(IB_LOG_ERROR, "user",
	       "agent %s: %s; start ald there, or set IBAL_AGENT=off to do without", path,
	       *why ? why : al_status_str(status));
	return status;
}

void user_child(void)
{
	struct user_conn **end = &parents_connections;

	user_memory_child();
	for (struct user_conn *conn = connections; conn; conn = conn->next)
		close_all(conn);
	while (*end)
		end = &(*end)->next;
	*end = connections;
	connections = NULL;
}
