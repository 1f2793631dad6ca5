/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections: accepting them, their first record, the records after it, their end. Before its
 * hello a connection is a stranger; there are only so many, and the oldest makes room for the
 * newest.
 */
#include "al/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_STRANGERS 64 /* one that means it has said its hello before that many others came */

/* Newest first. */
static struct line *strangers;
static uint32_t num_strangers;

static void forget_stranger(struct line *line)
{
	struct line **p;

	for (p = &strangers; *p != line; p = &(*p)->next)
		;
	*p = line->next;
	num_strangers--;
}

static void add_stranger(struct line *line)
{
	struct line *oldest = line;

	line->next = strangers;
	strangers = line;
	if (++num_strangers <= MAX_STRANGERS)
		return;
	while (oldest->next)
		oldest = oldest->next;
	line_free(oldest);
}

/* A descriptor for when there is none left: without it the listener would stay ready for ever. */
static int spare = -1;

bool connection_init(void)
{
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return spare >= 0;
}

void connection_end(void)
{
	if (spare >= 0)
		close(spare);
	spare = -1;
}

static int accept_one(int listener)
{
	/* cppcheck-suppress nullPointer ; whose address it is does not matter: SO_PEERCRED says who
	 */
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		close(spare);
		/* cppcheck-suppress nullPointer ; as above */
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			descriptors_hang_up(fd); /* that is an answer too */
		fd = -1;
		connection_init();
	}
	return fd;
}

void connection_accept(int listener)
{
	int fd = accept_one(listener);
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
	add_stranger(line);
	if (loop_watch(fd, &line->watched, EPOLLIN))
		line_free(line);
}

void connection_end_strangers(void)
{
	while (strangers)
		line_free(strangers);
}

/* -------------------------------------------------------------------- hello */

void welcome(int fd, const struct session *session, al_status status)
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

/* From a stranger to a connection of the session. */
static void join(struct line *line, struct session *session)
{
	forget_stranger(line);
	line->session = session;
	line->watched.what = WATCH_LINE;
	line->next = session->lines;
	session->lines = line;
	welcome(line->fd, session, AL_SUCCESS);
}

/* A program of another version, or none of ours. */
static al_status stranger(const struct ucred *peer, uint32_t protocol)
{
	if (account_may_log())
		ib_log(IB_LOG_WARNING, "ald",
		       "process %d of user %u speaks another protocol than %u (%u?); refused",
		       (int)peer->pid, (unsigned int)peer->uid, AGENT_PROTOCOL, protocol);
	return AL_AGENT_PROTOCOL;
}

static al_status hear(struct line *line)
{
	const struct agent_hello *hello = (const struct agent_hello *)line->request;
	socklen_t len = sizeof(struct ucred);
	struct session *session;
	struct ucred peer;
	al_status status;

	if (getsockopt(line->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return AL_AGENT_PROTOCOL;
	if (hello->magic != AGENT_MAGIC || hello->zero || hello->protocol != AGENT_PROTOCOL)
		return stranger(&peer, hello->protocol);
	if (hello->role == AGENT_EVENTS)
		return session_begin(line, &peer, &line->came);
	if (hello->role != AGENT_COMMANDS || line->came.num)
		return AL_AGENT_PROTOCOL;
	status = session_find(hello->token, &peer, &session);
	if (!status)
		join(line, session);
	return status;
}

void connection_hello(struct line *line)
{
	al_status status = AL_AGENT_PROTOCOL;
	ssize_t n =
		descriptors_receive(line->fd, line->request, sizeof(line->request), &line->came);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n == sizeof(struct agent_hello) && line->came.whole)
		status = hear(line);
	command_drop_fds(line);
	if (line->session)
		return;
	if (status && n > 0)
		welcome(line->fd, NULL, status);
	line_free(line); /* refused; or its descriptor is the session's own now */
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
		descriptors_hang_up(line->fd);
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
		account_return(&session->account, AL_RESOURCE_CONNECTIONS, 1);
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
	if (line->resting && loop_watch(line->fd, &line->watched, EPOLLIN))
		line_free(line); /* nobody would hear it */
	else
		line->resting = false;
	session_try_finish(session);
}

static void copied(struct job *job)
{
	line_answered((struct line *)((char *)job - offsetof(struct line, job)));
}

static void on_copied(struct ci_client_job *job)
{
	struct line *line = (struct line *)((char *)job - offsetof(struct line, copied));

	pool_done(&line->job);
}

void line_answered_after_copies(struct line *line)
{
	line->job = (struct job){ .session = line->session, .done = copied };
	line->copied.run = on_copied;
	if (!al_client_after(&line->session->client, &line->copied))
		line_answered(line);
}

void line_readable(struct line *line)
{
	ssize_t n =
		descriptors_receive(line->fd, line->request, sizeof(line->request), &line->came);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		command_run(line, (size_t)n, line->came.whole);
	else
		line_free(line);
}
