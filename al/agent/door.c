/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's door: the socket on which the agent listens, and connections until their first
 * record, the hello. Before its hello a connection is a stranger. At most MAX_STRANGERS connections
 * are strangers; one more ends the oldest of the user who has most of them, so a user who opens many
 * ends his own. Sessions are in session.c, their connections in connection.c.
 */
#include "al/agent/door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "al/agent/command.h"
#include "al/agent/connection.h"
#include "al/agent/socket.h"

#define MAX_STRANGERS 64 /* a client's hello arrives before so many other connections */

static struct connection *strangers; /* newest first */

/* Counts the strangers of a user, and finds the oldest of them. */
static uint32_t strangers_of(const struct account *user, struct connection **oldest)
{
	uint32_t num = 0;

	for (struct connection *s = strangers; s; s = s->next)
		if (s->user == user) {
			*oldest = s;
			num++;
		}
	return num;
}

static void add_stranger(struct connection *stranger)
{
	struct connection *oldest = NULL, *goes = NULL;
	uint32_t num, all = 0, most = 0;

	connection_move(stranger, &strangers);
	for (const struct connection *s = strangers; s; s = s->next)
		all++;
	if (all <= MAX_STRANGERS)
		return;
	for (const struct connection *s = strangers; s; s = s->next) {
		num = strangers_of(s->user, &oldest);
		if (num >= most) {
			most = num;
			goes = oldest;
		}
	}
	connection_free(goes);
}

/* The process at the other end, as the kernel knows it. */
static bool peer_of(int fd, struct ucred *peer)
{
	socklen_t length = sizeof(*peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &length);
}

/* The account of the user at the other end, which is charged for the connection. NULL: no memory.
 */
static struct account *charge_peer(int fd)
{
	struct ucred peer;
	struct account *user = peer_of(fd, &peer) ? account_user(peer.uid) : NULL;

	if (user)
		account_force(user, AL_RESOURCE_DESCRIPTORS, 1);
	return user;
}

/* An open descriptor in reserve: when the process has no other left, it makes room for a connection
 * that is closed at once. Else that connection would keep the listener ready for ever. */
static int spare = -1;

static bool open_spare(void)
{
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return spare >= 0;
}

static int accept_one(int listener)
{
	struct account *user;
	/* cppcheck-suppress nullPointer ; the address does not matter: SO_PEERCRED names the peer's
	 * process and user */
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		close(spare);
		/* cppcheck-suppress nullPointer ; as above */
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		user = fd >= 0 ? charge_peer(fd) : NULL;
		if (user)
			descriptors_hang_up(
				fd, user); /* the client sees a connection that the agent closes */
		else if (fd >= 0)
			close(fd);
		fd = -1;
		open_spare();
	}
	return fd;
}

/* Makes a stranger a connection of the session. */
static void join(struct connection *connection, struct session *session)
{
	connection_move(connection, &session->connections);
	connection->session = session;
	connection->watched.see = command_readable;
	connection->watched.account = &session->account;
	session_welcome(connection->fd, session, AL_SUCCESS);
}

/* The peer's library has another version, or the peer does not use the library. */
static al_status refuse_protocol(struct account *user, const struct ucred *peer, uint32_t protocol)
{
	if (account_may_log(user))
		ib_log(IB_LOG_WARNING, "ald",
		       "process %d of user %u speaks protocol %u, and ald speaks protocol %u; ald refuses the connection; "
		       "install ald and the program's libibal from one release",
		       (int)peer->pid, (unsigned int)peer->uid, protocol, AGENT_PROTOCOL);
	return AL_AGENT_PROTOCOL;
}

/* Begins a session, or joins one, as the hello in connection->request says. */
static al_status accept_hello(struct connection *connection)
{
	const struct agent_hello *hello = (const struct agent_hello *)connection->request;
	struct session *session;
	struct ucred peer;
	al_status status;

	if (!peer_of(connection->fd, &peer))
		return AL_AGENT_PROTOCOL;
	if (hello->magic != AGENT_MAGIC || hello->zero || hello->protocol != AGENT_PROTOCOL)
		return refuse_protocol(connection->user, &peer, hello->protocol);
	if (hello->role == AGENT_EVENTS) {
		status = session_begin(connection->fd, hello, &peer, &connection->received, connections_end);
		if (!status)
			connection->fd = -1; /* the session owns the descriptor */
		return status;
	}
	if (hello->role != AGENT_COMMANDS || connection->received.num)
		return AL_AGENT_PROTOCOL;
	status = session_find(hello->token, &peer, &session);
	if (!status)
		join(connection, session);
	return status;
}

static void see_stranger(struct watched *watched, uint32_t events)
{
	struct connection *connection = container_of(watched, struct connection, watched);
	al_status status = AL_AGENT_PROTOCOL;
	ssize_t n = descriptors_receive(connection->fd, connection->user, connection->request,
					sizeof(connection->request), &connection->received);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n == sizeof(struct agent_hello) && connection->received.whole)
		status = accept_hello(connection);
	connection_drop_fds(connection);
	if (connection->session)
		return;
	if (status && n > 0)
		session_welcome(connection->fd, NULL, status);
	connection_free(connection);
}

/* ----------------------------------------------------------------- the door */

static int listener = -1;
static char socket_path[108];   /* of the socket that door_shut() removes; empty: the socket is the service manager's */
static struct stat socket_file; /* the file at socket_path when the agent made it */

static void see_listener(struct watched *watched, uint32_t events)
{
	int fd = accept_one(listener);
	struct account *user = fd >= 0 ? charge_peer(fd) : NULL;
	struct connection *connection;

	(void)watched;
	(void)events;
	if (!user) {
		if (fd >= 0)
			close(fd);
		return;
	}
	connection = account_check(user, AL_RESOURCE_DESCRIPTORS, 1)
			     ? NULL
			     : al_alloc(sizeof(*connection));
	if (!connection) {
		descriptors_hang_up(fd, user);
		return;
	}
	connection->fd = fd;
	connection->user = user;
	connection->watched.see = see_stranger;
	/* A hello is the agent's own job, as an accept is: else hellos would come later than the
	 * accepts by which newer strangers end older ones. */
	add_stranger(connection);
	if (loop_watch(fd, &connection->watched, EPOLLIN))
		connection_free(connection);
}

bool door_open(const struct ald_attr *attr)
{
	listener = attr->listener ? attr->listener : socket_listen(attr->socket, attr->mode);
	if (listener < 0)
		return false;
	snprintf(socket_path, sizeof(socket_path), "%s", attr->listener ? "" : attr->socket);
	if (*socket_path && stat(socket_path, &socket_file))
		*socket_path = '\0';
	return true;
}

bool door_watch(void)
{
	static struct watched watched = { see_listener };

	return open_spare() && !loop_watch(listener, &watched, EPOLLIN);
}

/* Removes the socket's file, unless another agent has replaced it by its own. */
static void remove_socket(void)
{
	struct stat now;

	if (*socket_path && !stat(socket_path, &now) && now.st_dev == socket_file.st_dev &&
	    now.st_ino == socket_file.st_ino)
		unlink(socket_path);
	*socket_path = '\0';
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void door_shut(void)
{
	if (listener < 0)
		return;
	loop_unwatch(listener);
	/* Before the listener is closed, so that no client finds a socket on which no agent
	 * listens. */
	remove_socket();
	close_fd(&listener);
	while (strangers)
		connection_free(strangers);
}

void door_close(void)
{
	remove_socket(); /* while the listener is open: until then no other file has the inode number of its socket */
	close_fd(&listener);
	close_fd(&spare);
}
