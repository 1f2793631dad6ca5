/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Clients: their hello, connections, objects, and their end. All on the loop but for PnP callbacks.
 */
#include "al/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

struct session *sessions;
uint32_t num_sessions;

#define INDEX_MASK 0xffffffu

/* ------------------------------------------------------------------ objects */

uint64_t object_handle(const struct object *object)
{
	return (uint64_t)object->type << 56 | (uint64_t)object->generation << 24 | object->index;
}

struct object *object_find(struct session *session, uint64_t handle)
{
	uint32_t index = handle & INDEX_MASK;
	struct object *object = index < session->num_slots ? session->objects[index] : NULL;

	return object && object->ready && object_handle(object) == handle ? object : NULL;
}

static bool grow(struct session *session)
{
	uint32_t slots = session->num_slots ? 2 * session->num_slots : 64;
	struct object **grown = al_alloc(slots * sizeof(*grown));

	if (!grown)
		return false;
	if (session->num_slots)
		memcpy(grown, session->objects, session->num_slots * sizeof(*grown));
	al_free(session->objects);
	session->objects = grown;
	session->num_slots = slots;
	return true;
}

/* Places are reused in turn, each time with another generation: old handles mean nothing. */
struct object *object_new(struct session *session, al_object_type type)
{
	struct object *object;
	uint32_t i;

	if (session->num_objects >= session->num_slots - session->num_slots / 4 && !grow(session))
		return NULL;
	object = al_alloc(sizeof(*object));
	if (!object)
		return NULL;
	for (i = session->last_slot + 1; session->objects[i % session->num_slots]; i++)
		;
	i %= session->num_slots;
	session->last_slot = i;
	session->objects[i] = object;
	session->num_objects++;
	session->count[type]++;
	object->session = session;
	object->type = type;
	object->index = i;
	object->generation = ++session->generation;
	return object;
}

void object_free(struct object *object)
{
	struct session *session = object->session;

	source_forget(&object->source);
	if (object->hca) {
		pthread_mutex_lock(&session->event_lock);
		object->hca->ca = NULL;
		pthread_mutex_unlock(&session->event_lock);
	}
	session->objects[object->index] = NULL;
	session->num_objects--;
	session->count[object->type]--;
	session->bytes -= object->bytes;
	al_free(object);
}

void object_gone(struct object *object)
{
	struct line *line = object->line;

	object_free(object);
	line_answered(line);
}

/* ---------------------------------------------------------------------- PnP */

static struct hca *hca_of(struct session *session, uint64_t guid)
{
	struct hca *hca;

	pthread_mutex_lock(&session->event_lock);
	for (hca = session->hcas; hca && hca->guid != guid; hca = hca->next)
		;
	if (!hca) {
		hca = al_alloc(sizeof(*hca));
		if (hca) {
			hca->session = session;
			hca->guid = guid;
			hca->source = (struct source){ .session = session, .guid = guid };
			hca->next = session->hcas;
			session->hcas = hca;
		}
	}
	pthread_mutex_unlock(&session->event_lock);
	return hca;
}

/* The agent does not wait for the client: what it has on the HCA is ended, then it is told. */
static void remove_hca(struct session *session, struct hca *hca)
{
	al_ca_h ca;

	pthread_mutex_lock(&session->event_lock);
	ca = hca->ca;
	pthread_mutex_unlock(&session->event_lock);
	if (ca)
		al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	source_raise(&hca->source, SOURCE_REMOVE);
}

static al_status on_pnp(void *context, const struct al_pnp_event *event)
{
	struct session *session = context;
	struct hca *hca;

	if (event->type == AL_PNP_REPLAY_COMPLETE) {
		source_raise(&session->ready, SOURCE_READY);
		return AL_SUCCESS;
	}
	if (event->type != AL_PNP_CA_ADD && event->type != AL_PNP_CA_REMOVE)
		return AL_SUCCESS;
	hca = hca_of(session, event->ca_guid);
	if (!hca)
		return AL_INSUFFICIENT_MEMORY;
	if (event->type == AL_PNP_CA_ADD)
		source_raise(&hca->source, SOURCE_ADD);
	else
		remove_hca(session, hca);
	return AL_SUCCESS;
}

/* ---------------------------------------------------------------- beginning */

static void welcome(int fd, struct session *session, al_status status)
{
	struct agent_welcome w = { .magic = AGENT_MAGIC,
				   .protocol = AGENT_PROTOCOL,
				   .status = status };

	if (!status) {
		w.copies = session->client.memory >= 0;
		memcpy(w.token, session->token, sizeof(w.token));
	}
	/* The first record of a connection: there is room. */
	send(fd, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A worker's. */
static void open_work(struct job *job)
{
	static const struct al_open_attr own = { .agent = "off" };
	struct session *session = job->session;
	struct al_udata udata = { .ci.client = &session->client };
	al_status status;

	al_act_for(&udata.ci);
	status = al_open(&own, &session->al);
	welcome(session->events, session, status);
	if (!status)
		status = al_reg_pnp(session->al, NULL, session, on_pnp, &session->pnp);
	al_act_for(NULL);
	if (status) {
		ib_log(IB_LOG_ERROR, "ald", "no session for %s[%d]: %s", session->client.comm,
		       (int)session->client.pid, al_status_str(status));
		shutdown(session->events, SHUT_RDWR);
	}
}

static void close_session(struct session *session);

static void open_done(struct job *job)
{
	struct session *session = job->session;

	session->jobs--;
	session->opening = false;
	if (session->ended)
		close_session(session);
}

/* A file of the kernel's that a client can open for itself only: its own memory. */
static bool is_memory_of(int fd, pid_t pid)
{
	char link[64], path[64], want[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	snprintf(want, sizeof(want), "/proc/%d/mem", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return !strcmp(path, want) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

static bool is_pidfd_of(int fd, pid_t pid)
{
	char name[64], line[128];
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	file = fopen(name, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, "Pid:", 4) && strtol(line + 4, NULL, 10) == pid;
	fclose(file);
	return found;
}

/* Takes over the line's connection as the session's event connection. */
static al_status begin(struct line *line, const struct ucred *peer, int *fds, uint32_t num_fds)
{
	const struct agent_hello *hello = (const struct agent_hello *)line->request;
	struct session *session;

	if (num_sessions >= limits.sessions)
		return AL_LIMIT_EXCEEDED;
	if (num_fds < 1 || num_fds > 2 || !is_pidfd_of(fds[0], peer->pid))
		return AL_AGENT_PROTOCOL;
	session = al_alloc(sizeof(*session));
	if (!session)
		return AL_INSUFFICIENT_MEMORY;
	if (getrandom(session->token, sizeof(session->token), 0) != sizeof(session->token) ||
	    getrandom(&session->generation, sizeof(session->generation), 0) < 0) {
		al_free(session);
		return AL_IO_ERROR;
	}
	session->client = (struct ci_client){ .memory = -1, .pid = peer->pid, .uid = peer->uid };
	memcpy(session->client.comm, hello->comm, sizeof(session->client.comm) - 1);
	for (char *c = session->client.comm; *c; c++) /* for people's terminals */
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
	if (num_fds == 2 && is_memory_of(fds[1], peer->pid)) {
		session->client.memory = fds[1];
		fds[1] = -1;
	}
	session->pidfd = fds[0];
	fds[0] = -1;
	session->events = line->fd;
	session->queue_end = &session->queue;
	pthread_mutex_init(&session->event_lock, NULL);
	session->ready.session = session;
	session->watch_events = (struct watched){ WATCH_EVENTS, session };
	session->watch_pidfd = (struct watched){ WATCH_PIDFD, session };
	session->next = sessions;
	sessions = session;
	num_sessions++;
	loop_change(session->events, &session->watch_events, EPOLLIN);
	loop_watch(session->pidfd, &session->watch_pidfd, EPOLLIN);
	IB_TRACE("ald", "session of %s[%d], user %u", session->client.comm, (int)peer->pid,
		 (unsigned int)peer->uid);
	session->jobs++;
	session->opening = true;
	session->job = (struct job){ .session = session, .work = open_work, .done = open_done };
	pool_work(&session->job);
	line->fd = -1;
	return AL_SUCCESS;
}

static al_status join(struct line *line, const struct ucred *peer)
{
	const struct agent_hello *hello = (const struct agent_hello *)line->request;
	struct session *session;

	for (session = sessions; session; session = session->next)
		if (!memcmp(session->token, hello->token, sizeof(session->token)))
			break;
	if (!session || session->ended || session->client.pid != peer->pid ||
	    session->client.uid != peer->uid)
		return AL_PERMISSION;
	if (session->num_lines >= limits.lines)
		return AL_LIMIT_EXCEEDED;
	line->session = session;
	line->watched.what = WATCH_LINE;
	line->next = session->lines;
	session->lines = line;
	session->num_lines++;
	return AL_SUCCESS;
}

/* Connections without a hello. */
static struct line *strangers;

void session_accept(int listener)
{
	/* cppcheck-suppress nullPointer ; whose address it is does not matter: SO_PEERCRED says who */
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct line *line;

	if (fd < 0)
		return;
	line = al_alloc(sizeof(*line));
	if (!line) {
		close(fd);
		return;
	}
	line->fd = fd;
	line->watched = (struct watched){ WATCH_STRANGER, line };
	line->next = strangers;
	strangers = line;
	if (loop_watch(fd, &line->watched, EPOLLIN))
		line_free(line);
}

/* A record, and the descriptors that came with it: line->fds. Negative: the end. */
static ssize_t receive(struct line *line, bool *whole)
{
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));
	struct iovec iov = { line->request, sizeof(line->request) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = TEMP_FAILURE_RETRY(recvmsg(line->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));

	line->num_fds = n < 0 ? 0 : agent_take_fds(&msg, line->fds);
	/* More than there is room for are closed by the kernel. */
	*whole = !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	return n;
}

static void forget_stranger(struct line *line)
{
	struct line **p;

	for (p = &strangers; *p != line; p = &(*p)->next)
		;
	*p = line->next;
}

void session_hello(struct line *line)
{
	const struct agent_hello *hello = (const struct agent_hello *)line->request;
	al_status status = AL_AGENT_PROTOCOL;
	socklen_t len = sizeof(struct ucred);
	struct ucred peer;
	bool whole;
	ssize_t n = receive(line, &whole);

	if (n < 0 && errno == EAGAIN)
		return;
	forget_stranger(line);
	if (n == sizeof(*hello) && whole && hello->magic == AGENT_MAGIC && !hello->zero &&
	    hello->protocol == AGENT_PROTOCOL &&
	    !getsockopt(line->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		if (hello->role == AGENT_EVENTS)
			status = begin(line, &peer, line->fds, line->num_fds);
		else if (hello->role == AGENT_COMMANDS && !line->num_fds)
			status = join(line, &peer);
	}
	command_drop_fds(line);
	if (line->session) {
		welcome(line->fd, line->session, AL_SUCCESS);
	} else if (status) {
		if (n > 0)
			welcome(line->fd, NULL, status);
		line->next = strangers; /* where line_free() takes it from */
		strangers = line;
		line_free(line);
	} else {
		al_free(line); /* the session has its descriptor */
	}
}

/* -------------------------------------------------------------------- lines */

void line_rest(struct line *line)
{
	if (!line->resting)
		loop_unwatch(line->fd);
	line->resting = true;
}

/* Unless it is busy: then when that is over. */
void line_free(struct line *line)
{
	struct session *session = line->session;
	struct line **p;

	if (line->fd >= 0) {
		if (!line->resting)
			loop_unwatch(line->fd);
		close(line->fd);
		line->fd = -1;
		line->resting = true;
	}
	line->dead = true;
	if (line->busy)
		return;
	if (session) {
		for (p = &session->lines; *p != line; p = &(*p)->next)
			;
		*p = line->next;
		session->num_lines--;
	} else {
		forget_stranger(line);
	}
	command_drop_fds(line);
	al_free(line->snapshot);
	al_free(line);
}

void line_answered(struct line *line)
{
	struct session *session = line->session;

	line->busy = false;
	session->jobs--;
	if (line->dead) {
		line_free(line);
		session_try_free(session);
		return;
	}
	command_answer(line);
	if (line->resting && !loop_watch(line->fd, &line->watched, EPOLLIN))
		line->resting = false;
}

void line_readable(struct line *line)
{
	bool whole;
	ssize_t n = receive(line, &whole);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		command_run(line, (size_t)n, whole);
	else
		line_free(line);
}

/* ---------------------------------------------------------------------- end */

static void free_hcas(struct session *session)
{
	struct hca *hca;

	while ((hca = session->hcas)) {
		session->hcas = hca->next;
		al_free(hca->ports);
		al_free(hca);
	}
}

void session_try_free(struct session *session)
{
	struct session **p;

	if (!session->closed || session->jobs)
		return;
	IB_TRACE("ald", "session of %s[%d] has ended: nothing of it is left", session->client.comm,
		 (int)session->client.pid);
	for (uint32_t i = 0; i < session->num_slots; i++)
		if (session->objects[i])
			object_free(session->objects[i]);
	for (p = &sessions; *p != session; p = &(*p)->next)
		;
	*p = session->next;
	num_sessions--;
	close(session->events);
	close(session->pidfd);
	if (session->client.memory >= 0)
		close(session->client.memory);
	free_hcas(session);
	pthread_mutex_destroy(&session->event_lock);
	al_free(session->objects);
	al_free(session);
}

static void closed(struct job *job)
{
	struct session *session = job->session;

	session->closed = true;
	session_try_free(session);
}

static void on_closed(void *context)
{
	struct session *session = context;

	pool_done(&session->job);
}

/* Everything of the client's goes, children first; nobody waits for it here. */
static void close_session(struct session *session)
{
	session->job = (struct job){ .session = session, .done = closed };
	if (!session->al || al_close(session->al, on_closed, session))
		closed(&session->job);
}

void session_end(struct session *session, const char *why)
{
	struct line *next;

	if (session->ended)
		return;
	session->ended = true;
	IB_TRACE("ald", "session of %s[%d] ends: %s", session->client.comm,
		 (int)session->client.pid, why);
	loop_unwatch(session->events);
	loop_unwatch(session->pidfd);
	for (struct line *line = session->lines; line; line = next) {
		next = line->next;
		line_free(line);
	}
	if (!session->opening)
		close_session(session);
}
