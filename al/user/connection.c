/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections to agents: finding and trusting an agent, beginning the session with it, and closing
 * the connections in a forked child. Requests on a connection are in call.c, its events and its
 * threads in event.c.
 */
#include "al/user/user.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "al/object/thread.h"

static struct user_conn *connections;
static struct user_conn *parents_connections; /* in a forked child: unused, but the child's objects may refer to them */

static al_status refuse(struct user_conn *conn, al_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the status, and notes the cause and the way out for the log. */
static al_status refuse(struct user_conn *conn, al_status status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(conn->why, sizeof(conn->why), format, args);
	va_end(args);
	return status;
}

#define START_IT "start ald there, or set IBAL_AGENT=off to do without"

al_status user_shortage(int error)
{
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ETOOMANYREFS:
		return AL_INSUFFICIENT_RESOURCES;
	case ENOMEM:
	case ENOBUFS:
		return AL_INSUFFICIENT_MEMORY;
	default:
		return AL_SUCCESS;
	}
}

/* A system call of this process has failed; the agent is not at fault. */
static al_status local_failure(struct user_conn *conn, int error)
{
	switch (user_shortage(error)) {
	case AL_INSUFFICIENT_RESOURCES:
		return refuse(conn, AL_INSUFFICIENT_RESOURCES,
			      "%s: a connection takes %d descriptors; raise the limit (ulimit -n)",
			      strerror(error), 1 + USER_SOCKETS + 2);
	case AL_INSUFFICIENT_MEMORY:
		return refuse(conn, AL_INSUFFICIENT_MEMORY, "out of memory");
	default:
		return refuse(conn, AL_IO_ERROR, "%s", strerror(error));
	}
}

static al_status does_not_answer(struct user_conn *conn)
{
	return refuse(
		conn, AL_TIMEOUT,
		"the agent does not answer within %u s: ald is stopped or busy, or another program listens there; let ald go on, or raise agent_wait in ibal.conf or IBAL_AGENT_WAIT",
		conn->patience);
}

/* Why no socket at the path could be connected. */
static al_status connect_failure(struct user_conn *conn, int error)
{
	struct stat st;
	bool there = !stat(conn->path, &st);

	if (error == EPROTOTYPE || (there && !S_ISSOCK(st.st_mode)))
		return refuse(conn, AL_INVALID_PARAMETER,
			      "the path is no socket of an agent; name ald's socket");
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return refuse(conn, AL_NOT_FOUND, "there is no such socket; " START_IT);
	case ECONNREFUSED:
		return refuse(
			conn, AL_AGENT_REFUSED,
			"no agent listens: an ald that was killed has left the socket; " START_IT);
	case EACCES:
	case EPERM:
		if (!there)
			return refuse(
				conn, AL_PERMISSION,
				"you may not search a directory on the way; let this user search it");
		return refuse(
			conn, AL_PERMISSION,
			"the socket is user %u's, group %u's, with mode %o: you may not connect; ald's --mode, or SocketMode= and SocketGroup= of ald.socket, say who may",
			(unsigned int)st.st_uid, (unsigned int)st.st_gid,
			(unsigned int)st.st_mode & 0777);
	case ETIMEDOUT:
		return does_not_answer(conn);
	default:
		return local_failure(conn, error);
	}
}

/* An agent may be stopped for a while or busy, so the library waits for its answers, logs that it
 * waits, and gives up at last. Returns for how many seconds it waits until the next report. */
static unsigned int next_wait(const struct user_conn *conn)
{
	unsigned int left = conn->patience - conn->waited;

	return left < wait_log_seconds ? left : wait_log_seconds;
}

/* After next_wait() seconds without an answer. False: that was the last wait. */
static bool wait_on(struct user_conn *conn)
{
	conn->waited += next_wait(conn);
	if (conn->waited == conn->patience)
		return false;
	ib_log(IB_LOG_WARNING, "user",
	       "al_open has waited %u s for an answer of agent %s: the agent is stopped or busy, or another program than ald listens there",
	       conn->waited, conn->path);
	return true;
}

static bool await_record(struct user_conn *conn, int fd)
{
	struct pollfd record = { .fd = fd, .events = POLLIN };

	while (!TEMP_FAILURE_RETRY(poll(&record, 1, (int)(1000 * next_wait(conn)))))
		if (!wait_on(conn))
			return false;
	return true;
}

/* Not sem_clockwait(), which ThreadSanitizer does not know. */
static bool await_ready(struct user_conn *conn)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += next_wait(conn);
	while (sem_timedwait(&conn->ready, &until))
		if (errno == ETIMEDOUT) {
			if (!wait_on(conn))
				return false;
			until.tv_sec += next_wait(conn);
		}
	return true;
}

/* As long as the socket's queue is full, connect() waits for room in it. Returns what connect()
 * returns, but for EINTR and EAGAIN; ETIMEDOUT: there was no room for too long. */
static int connect_patiently(struct user_conn *conn, int fd, const struct sockaddr_un *addr)
{
	struct timeval once;
	int failed;

	do {
		once = (struct timeval){ .tv_sec = next_wait(conn) };
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &once, sizeof(once));
		failed = connect(fd, (const struct sockaddr *)addr, sizeof(*addr));
		if (failed && errno == EAGAIN && !wait_on(conn))
			errno = ETIMEDOUT;
	} while (failed && (errno == EINTR || errno == EAGAIN));
	if (!failed)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ 0 }, sizeof(once));
	return failed;
}

/* Returns a socket that is connected to the agent; -1: errno says why there is none. */
static int connect_agent(struct user_conn *conn)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	strcpy(addr.sun_path, conn->path); /* user_connect() has checked the length */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect_patiently(conn, fd, &addr)) {
		int error = errno;

		close(fd);
		errno = error;
		fd = -1;
	}
	return fd;
}

/* The number of a user, whom name gives by name or number. */
static bool find_user(const char *name, uid_t *uid)
{
	char room[4096], *end;
	struct passwd user, *found;
	unsigned long number = strtoul(name, &end, 10);

	if (*name >= '0' && *name <= '9' && !*end && number < UINT32_MAX) {
		*uid = (uid_t)number;
		return true;
	}
	if (getpwnam_r(name, &user, room, sizeof(room), &found) || !found)
		return false;
	*uid = user.pw_uid;
	return true;
}

/* This process shares its memory with an agent of root's, of its own user's, or of the user that
 * agent_user names, and with no other agent. */
static al_status check_trust(struct user_conn *conn, int fd)
{
	const char *name = ci_env("IBAL_AGENT_USER");
	struct ucred peer;
	socklen_t len = sizeof(peer);
	uid_t uid;

	if (!name)
		name = ci_conf_get("agent_user");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return local_failure(conn, errno);
	if (!peer.uid || peer.uid == geteuid())
		return AL_SUCCESS;
	if (name && !find_user(name, &uid))
		return refuse(
			conn, AL_BAD_CONFIG,
			"agent_user is %.32s, a user that this system does not know; correct it in ibal.conf or IBAL_AGENT_USER",
			name);
	if (name && peer.uid == uid)
		return AL_SUCCESS;
	return refuse(
		conn, AL_AGENT_UNTRUSTED,
		"the agent is user %u's, neither root's nor yours, and not trusted with your memory unless agent_user names him",
		(unsigned int)peer.uid);
}

/* Connects a socket to the agent. Each socket's peer is checked, since another program may have
 * taken the path in between. */
static al_status connect_trusted(struct user_conn *conn, int *fd)
{
	*fd = connect_agent(conn);
	return *fd < 0 ? connect_failure(conn, errno) : check_trust(conn, *fd);
}

/* Why the agent refuses the hello. */
static al_status hello_failure(struct user_conn *conn, const struct agent_welcome *welcome,
			     enum agent_role role)
{
	al_status status = (al_status)welcome->status;

	if (status == AL_LIMIT_EXCEEDED && role == AGENT_EVENTS)
		return refuse(
			conn, status,
			"the agent has as many clients as it may, or as this user may have; end others, or raise clients in its ibal.conf");
	if (status == AL_LIMIT_EXCEEDED)
		return refuse(
			conn, status,
			"the agent gives a client fewer connections than the %d that this library takes; raise connections in its ibal.conf",
			USER_SOCKETS);
	return refuse(conn, status, "the agent serves no further program: %s; its log may say more",
		      al_status_str(status));
}

/* Sends the hello of a connection, with descriptors, and receives the agent's welcome. */
static al_status exchange_hello(struct user_conn *conn, int fd, struct agent_hello *hello,
			   const int *fds, uint32_t num_fds, struct agent_welcome *welcome)
{
	char control[AGENT_FDS_ROOM] __attribute__((aligned(8)));
	struct iovec iov = { hello, sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	agent_put_fds(&msg, control, fds, num_fds);
	if (TEMP_FAILURE_RETRY(sendmsg(fd, &msg, MSG_NOSIGNAL)) < 0 && user_shortage(errno))
		return local_failure(conn, errno);
	if (!await_record(conn, fd))
		return does_not_answer(conn);
	/* Also after a send() that has failed: an agent may send its refusal before it closes the
	 * connection. */
	n = TEMP_FAILURE_RETRY(recv(fd, welcome, sizeof(*welcome), 0));
	if (n <= 0)
		return refuse(conn, AL_AGENT_LOST,
			      "the agent has closed the connection: it ends, or has too much to do; try again");
	if ((size_t)n < offsetof(struct agent_welcome, status) || welcome->magic != AGENT_MAGIC)
		return refuse(conn, AL_AGENT_PROTOCOL,
			      "another program than ald listens there; name ald's socket");
	if (welcome->protocol != AGENT_PROTOCOL || n != sizeof(*welcome))
		return refuse(
			conn, AL_AGENT_PROTOCOL,
			"the agent speaks protocol %u, this library %u: install both from one version",
			welcome->protocol, AGENT_PROTOCOL);
	return welcome->status ? hello_failure(conn, welcome, hello->role) : AL_SUCCESS;
}

static al_status begin_session(struct user_conn *conn, struct agent_hello *hello)
{
	struct agent_welcome welcome = { 0 };
	al_status status;
	int fds[2], error;

	fds[0] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fds[0] < 0)
		return local_failure(conn, errno);
	fds[1] = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	error = fds[1] < 0 ? errno : 0;
	hello->role = AGENT_EVENTS;
	status = user_shortage(error) /* another error: this process is not dumpable, and can not open its own memory */
			 ? local_failure(conn, error)
			 : exchange_hello(conn, conn->events, hello, fds, error ? 1 : 2, &welcome);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (status)
		return status;
	memcpy(hello->token, welcome.token, sizeof(hello->token));
	conn->copies = welcome.copies;
	if (!conn->copies)
		ib_log(IB_LOG_WARNING, "user",
		       "agent %s can not reach this program's memory, since the program is not dumpable or in a namespace of its own: the program can register only memory from al_dma_alloc_coherent",
		       conn->path);
	return AL_SUCCESS;
}

/* Makes the command connections. */
static al_status open_command_connections(struct user_conn *conn, struct agent_hello *hello)
{
	struct agent_welcome welcome;
	al_status status = AL_SUCCESS;

	hello->role = AGENT_COMMANDS;
	for (int i = 0; !status && i < USER_SOCKETS; i++) {
		status = connect_trusted(conn, &conn->sockets[i].fd);
		if (!status)
			status = exchange_hello(conn, conn->sockets[i].fd, hello, NULL, 0, &welcome);
	}
	return status;
}

static void close_all(struct user_conn *conn)
{
	user_close(&conn->events);
	for (int i = 0; conn->sockets && i < USER_SOCKETS; i++)
		user_close(&conn->sockets[i].fd);
}

#define NO_THREAD \
	"no thread could be started for the agent's events; raise the limits of threads (ulimit -u) and memory"

/* Starts both threads, or after a failure none. A connection with threads is never freed, also if
 * the agent is lost at once. */
static al_status start_threads(struct user_conn *conn)
{
	pthread_t events, plugs;
	al_status status;

	status = library_thread_start(&plugs, "al-user-plug", user_plug_main, conn);
	if (status)
		return refuse(conn, status, NO_THREAD);
	status = library_thread_start(&events, "al-user-event", user_event_main, conn);
	if (status) {
		sem_post(&conn->plugged); /* the plug thread finds its queue empty, and ends */
		pthread_join(plugs, NULL);
		return refuse(conn, status, NO_THREAD);
	}
	pthread_detach(plugs);
	pthread_detach(events);
	conn->served = true;
	if (!await_ready(conn)) {
		pthread_mutex_lock(&conn->lock); /* the agent may end just now, and the event thread closes the number */
		shutdown(conn->events, SHUT_RDWR); /* for the event thread the agent is lost */
		pthread_mutex_unlock(&conn->lock);
		TEMP_FAILURE_RETRY(sem_wait(&conn->ready));
		return does_not_answer(conn);
	}
	return atomic_load(&conn->lost)
		       ? refuse(conn, AL_AGENT_LOST, "the agent has ended since; try again")
		       : AL_SUCCESS;
}

/* Makes the event connection and the command connections. */
static al_status open_session(struct user_conn *conn)
{
	struct agent_hello hello = { .magic = AGENT_MAGIC, .protocol = AGENT_PROTOCOL };
	al_status status;

	strncpy(hello.comm, program_invocation_short_name, sizeof(hello.comm) - 1);
	status = connect_trusted(conn, &conn->events);
	if (!status)
		status = begin_session(conn, &hello);
	return status ? status : open_command_connections(conn, &hello);
}

#define PATIENCE_SECONDS 60

/* The configuration has been checked when it was read. */
static al_status find_patience(struct user_conn *conn)
{
	const char *text = ci_env("IBAL_AGENT_WAIT");

	conn->patience = PATIENCE_SECONDS;
	if (!text)
		text = ci_conf_get("agent_wait");
	if (text && !ci_seconds_parse(text, &conn->patience))
		return refuse(conn, AL_BAD_CONFIG,
			      "IBAL_AGENT_WAIT=%.32s is no number of seconds from 1 to %d", text,
			      CI_SECONDS_MOST);
	return AL_SUCCESS;
}

static struct user_conn *new_conn(const char *path)
{
	struct user_conn *conn = al_alloc(sizeof(*conn));

	if (!conn)
		return NULL;
	conn->sockets = al_alloc(USER_SOCKETS * sizeof(*conn->sockets));
	if (!conn->sockets) {
		al_free(conn);
		return NULL;
	}
	for (int i = 0; i < USER_SOCKETS; i++)
		conn->sockets[i].fd = -1;
	strncpy(conn->path, path, sizeof(conn->path) - 1);
	conn->events = -1;
	conn->plugs_end = &conn->plugs;
	pthread_mutex_init(&conn->lock, NULL);
	pthread_cond_init(&conn->freed, NULL);
	pthread_mutex_init(&conn->cookie_lock, NULL);
	pthread_mutex_init(&conn->plug_lock, NULL);
	pthread_mutex_init(&conn->hcas_lock, NULL);
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
	al_free(conn->sockets);
	al_free(conn);
}

/* False: the agent is lost, also if the event thread has not noticed that yet; the path may have
 * another agent now. */
static bool is_alive(struct user_conn *conn)
{
	struct pollfd events = { .fd = -1 };

	pthread_mutex_lock(&conn->lock);
	events.fd = conn->events;
	if (events.fd < 0 || TEMP_FAILURE_RETRY(poll(&events, 1, 0)) > 0)
		atomic_store(&conn->lost, true);
	pthread_mutex_unlock(&conn->lock);
	return !atomic_load(&conn->lost);
}

al_status user_connect(const char *path, struct user_conn **result)
{
	struct user_conn *conn;
	char why[sizeof(conn->why)] = "";
	size_t length = strlen(path);
	al_status status;

	for (conn = connections; conn; conn = conn->next)
		if (!strcmp(conn->path, path) && is_alive(conn)) {
			*result = conn;
			return AL_SUCCESS;
		}
	if (!length || length >= sizeof(conn->path)) {
		ib_log(IB_LOG_ERROR, "user",
		       "agent \"%s\": the path of a socket has from 1 to %zu characters; name ald's, or set IBAL_AGENT=off to do without",
		       path, sizeof(conn->path) - 1);
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"the path of the agent's socket has %zu characters, and may have 1 to %zu",
			length, sizeof(conn->path) - 1);
	}
	conn = new_conn(path);
	if (!conn)
		return AL_INSUFFICIENT_MEMORY;
	status = find_patience(conn);
	if (!status)
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
	/* The threads of the connection use it from here on, also if the agent is lost already: it
	 * stays in the list. */
	conn->next = connections;
	connections = conn;
	ci_conf_settle();
	if (status)
		goto refused;
	*result = conn;
	return AL_SUCCESS;

refused:
	ib_log(IB_LOG_ERROR, "user", "agent %s: %s", path, *why ? why : al_status_str(status));
	return ib_refuse(status, "agent %.64s: %s", path, *why ? why : al_status_str(status));
}

void user_after_fork(void)
{
	struct user_conn **end = &parents_connections;

	user_provider_after_fork();
	for (struct user_conn *conn = connections; conn; conn = conn->next)
		close_all(conn);
	while (*end)
		end = &(*end)->next;
	*end = connections;
	connections = NULL;
}
