/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections to agents: reaching and trusting one, its session, and the end of a process's
 * connections. */
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

#include "al/event/dispatcher.h"

static struct user_conn *connections, *parents_connections;

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

/* A user's number, by that or by his name. */
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

/* Memory is shared with nobody else's agent than root's, our own, and that of the user who is named
 * as trusted. */
static bool trusted(struct user_conn *conn)
{
	const char *name = ci_env("IBAL_AGENT_USER");
	struct ucred peer;
	socklen_t len = sizeof(peer);
	uid_t uid;

	if (!name)
		name = ci_conf_get("agent_user");
	if (getsockopt(conn->events, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	if (!peer.uid || peer.uid == geteuid())
		return true;
	if (name && !find_user(name, &uid)) {
		say_why(conn, "agent_user is %.32s, whom this system does not know", name);
		return false;
	}
	if (name && peer.uid == uid)
		return true;
	say_why(conn,
		"it is user %u's, neither root's nor yours, and not trusted with your memory unless agent_user names him",
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
	user_close(&conn->events);
	for (int i = 0; conn->lines && i < USER_LINES; i++)
		user_close(&conn->lines[i].fd);
}

/* Both or none; one that has them stays, even if the agent is lost at once. */
static al_status start_threads(struct user_conn *conn)
{
	pthread_t events, plugs;
	al_status status;

	status = thread_start(&plugs, "al-user-plug", user_plug_main, conn);
	if (status)
		return status;
	status = thread_start(&events, "al-user-event", user_event_main, conn);
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
