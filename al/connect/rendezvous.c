/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How two programs meet: listening at a place, accepting and connecting. The records between them
 * are in record.c.
 */
#include "al/connect/meet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "al/object/object.h"
#include "al/object/thread.h"
#include "ci/ci.h"

#define LONGEST_NAME 64 /* of agent:NAME */
#define BACKLOG      64

/* --------------------------------------------------------------------- places */

/* A place, of which a host may have several addresses. */
struct place {
	struct sockaddr_un un; /* file: and agent: */
	socklen_t un_size;     /* 0: a TCP place */
	struct addrinfo *tcp;  /* to free by freeaddrinfo() */
};

static al_status parse_file(const char *path, struct place *place)
{
	const size_t length = strlen(path);

	if (!length || length >= sizeof(place->un.sun_path))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "the path of the place has %zu bytes, and the range is 1 to %zu",
				 length, sizeof(place->un.sun_path) - 1);
	place->un.sun_family = AF_UNIX;
	memcpy(place->un.sun_path, path, length);
	place->un_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	return AL_SUCCESS;
}

static al_status parse_agent(const char *name, struct place *place)
{
	const size_t length = strlen(name);
	int written;

	if (!length || length > LONGEST_NAME ||
	    strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") !=
		    length)
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"\"%s\" is no name to meet by: 1 to %d letters, digits and \"._-\"", name,
			LONGEST_NAME);
	place->un.sun_family = AF_UNIX;
	/* An abstract name begins with a zero byte, and ends with its socket. */
	written = snprintf(place->un.sun_path + 1, sizeof(place->un.sun_path) - 1, "ibal/meet/%s",
			   name);
	place->un_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)written);
	return AL_SUCCESS;
}

/* Splits HOST:PORT, of which HOST may stand in brackets. */
static bool split(char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':');

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > UINT16_MAX)
		return false;
	*colon = '\0';
	*host = text;
	*port = colon + 1;
	if (*text == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		*host = text + 1;
		return strchr(*host, ':');
	}
	return !strpbrk(text, "[]:");
}

static al_status parse_tcp(const char *text, bool listen, struct place *place)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICSERV | (listen ? AI_PASSIVE : 0) };
	char copy[300], *host, *port;
	int error;

	if (strlen(text) >= sizeof(copy))
		return ib_refuse(AL_INVALID_PARAMETER, "the host of the place is too long");
	memcpy(copy, text, strlen(text) + 1);
	if (!split(copy, &host, &port) || (!listen && !atoi(port)))
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"\"tcp:%s\" is no place: tcp:HOST:PORT, an IPv6 address in brackets, and a port from %d to 65535",
			text, !listen);
	error = getaddrinfo(*host ? host : NULL, port, &hints, &place->tcp);
	if (!error)
		return AL_SUCCESS;
	place->tcp = NULL;
	return ib_refuse(error == EAI_MEMORY ? AL_INSUFFICIENT_MEMORY : AL_NOT_FOUND,
			 "the host of \"tcp:%s\" is not found: %s", text, gai_strerror(error));
}

static al_status parse(const char *text, bool listen, struct place *place)
{
	*place = (struct place){ 0 };
	if (!text)
		return ib_refuse(AL_INVALID_PARAMETER, "place is NULL");
	if (!strncmp(text, "file:", 5))
		return parse_file(text + 5, place);
	if (!strncmp(text, "agent:", 6))
		return parse_agent(text + 6, place);
	if (!strncmp(text, "tcp:", 4))
		return parse_tcp(text + 4, listen, place);
	return ib_refuse(AL_INVALID_PARAMETER,
			 "\"%s\" is no place: file:PATH, agent:NAME or tcp:HOST:PORT", text);
}

static void forget(struct place *place)
{
	if (place->tcp)
		freeaddrinfo(place->tcp);
}

/* A system call about a place has failed, with errno. */
static al_status refuse_place(const char *place, const char *what)
{
	al_status status = meet_status(errno);

	if (errno == EADDRINUSE)
		return ib_refuse(AL_DUPLICATE,
				 "\"%s\" is taken: another program listens there, or a file of "
				 "that name exists",
				 place);
	return ib_refuse(status, "\"%s\" %s: %s", place, what, strerrordesc_np(errno));
}

/* ------------------------------------------------------------------ listening */

static int new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Locks the directory of a file, until the descriptor that is returned is closed; -1: errno. */
static int lock_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)] = ".";
	int fd;

	if (slash)
		snprintf(directory, sizeof(directory), "%.*s",
			 slash == path ? 1 : (int)(slash - path), path);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		const int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* Removes the file of a listener that is gone. Nobody listens at the file anew in the meantime,
 * since the directory is locked. A failure stays for bind() to find. */
static void remove_stale(const struct sockaddr_un *addr, socklen_t size)
{
	struct stat st;
	int fd;

	if (lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = new_socket(AF_UNIX);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)addr, size) && errno == ECONNREFUSED)
		unlink(addr->sun_path);
	close(fd);
}

/* Binds and listens; -1: errno. */
static int listen_unix(const struct place *place)
{
	const bool file = place->un.sun_path[0];
	int lock = -1, fd = -1, error = 0;

	if (file) {
		lock = lock_directory(place->un.sun_path);
		if (lock < 0)
			return -1;
		remove_stale(&place->un, place->un_size);
	}
	fd = new_socket(AF_UNIX);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&place->un, place->un_size) ||
	    listen(fd, BACKLOG)) {
		error = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (lock >= 0)
		close(lock);
	errno = error;
	return fd;
}

/* Listens at the first address that permits it; -1: errno. */
static int listen_tcp(const struct addrinfo *at)
{
	const int on = 1;
	int error = EADDRNOTAVAIL;

	for (; at; at = at->ai_next) {
		const int fd = new_socket(at->ai_family);

		if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
		    !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, BACKLOG))
			return fd;
		error = errno;
		if (fd >= 0)
			close(fd);
	}
	errno = error;
	return -1;
}

static al_status may_wait(void)
{
	return thread_context == CONTEXT_ATOMIC ? refuse_context() : AL_SUCCESS;
}

al_status al_meet_listen(const char *place, int *fd)
{
	struct place parsed = { 0 };
	al_status status = may_wait();
	int listener;

	if (!status)
		status = fd ? parse(place, true, &parsed)
			    : ib_refuse(AL_INVALID_PARAMETER, "fd is NULL");
	if (status)
		return SETTLED(status);
	listener = parsed.un_size ? listen_unix(&parsed) : listen_tcp(parsed.tcp);
	if (listener < 0)
		status = refuse_place(place, "cannot be listened at");
	else
		*fd = listener;
	forget(&parsed);
	return SETTLED(status);
}

al_status al_meet_end(int listener)
{
	struct sockaddr_un addr = { 0 };
	socklen_t size = sizeof(addr), flag = sizeof(int);
	int listens = 0;

	if (may_wait())
		return SETTLED(AL_INVALID_CONTEXT);
	if (getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &flag) || !listens ||
	    getsockname(listener, (struct sockaddr *)&addr, &size))
		return REFUSE(AL_INVALID_PARAMETER, "descriptor %d is no listener", listener);
	if (addr.sun_family == AF_UNIX && addr.sun_path[0] &&
	    memchr(addr.sun_path, '\0', sizeof(addr.sun_path)))
		unlink(addr.sun_path);
	close(listener);
	return AL_SUCCESS;
}

/* ----------------------------------------------------- accepting, connecting */

/* Refuses another user's process at the other end of a Unix socket. */
static al_status check_user(int fd, uint32_t flags)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int family = 0;
	socklen_t family_size = sizeof(family);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_size))
		return ib_refuse(meet_status(errno), "the kind of the socket is unknown: %s",
				 strerrordesc_np(errno));
	if (family != AF_UNIX || flags & AL_MEET_ANY_USER)
		return AL_SUCCESS;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return ib_refuse(meet_status(errno), "the user of the other end is unknown: %s",
				 strerrordesc_np(errno));
	if (peer.uid == geteuid())
		return AL_SUCCESS;
	return ib_refuse(
		AL_PERMISSION,
		"the other end is of user %u, this one of %u, and AL_MEET_ANY_USER was not "
		"given at both ends",
		(unsigned int)peer.uid, (unsigned int)geteuid());
}

/* Accepts the connection that is there. AL_TIMEOUT: there is none, or the one that was is gone, or
 * it was another user's. */
static al_status accept_one(int listener, uint32_t flags, int *fd)
{
	/* cppcheck-suppress nullPointer ; accept4() needs no room for the peer's address */
	const int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	char why[256];

	if (peer < 0 &&
	    (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR || errno == EPROTO))
		return AL_TIMEOUT;
	if (peer < 0 &&
	    (errno == EINVAL || errno == ENOTSOCK || errno == EBADF || errno == EOPNOTSUPP))
		return ib_refuse(AL_INVALID_PARAMETER, "descriptor %d is no listener", listener);
	if (peer < 0)
		return ib_refuse(meet_status(errno), "no connection can be accepted: %s",
				 strerrordesc_np(errno));
	if (!check_user(peer, flags)) {
		*fd = peer;
		return AL_SUCCESS;
	}
	snprintf(why, sizeof(why), "%s", al_reason());
	al_meet_refuse(peer, why);
	close(peer);
	return AL_TIMEOUT;
}

al_status al_meet_accept(int listener, uint32_t flags, int timeout_ms, int *fd)
{
	const struct meet_limit limit = meet_limit(timeout_ms);
	al_status status = may_wait();

	if (!status && (!fd || flags & ~(uint32_t)AL_MEET_ANY_USER))
		status = ib_refuse(AL_INVALID_PARAMETER,
				   "fd is NULL, or flags %#x has unknown bits", flags);
	while (!status) {
		status = meet_wait(listener, POLLIN, &limit);
		if (status)
			break;
		status = accept_one(listener, flags, fd);
		if (status != AL_TIMEOUT)
			break;
		status = AL_SUCCESS;
	}
	return SETTLED(status);
}

/* Connects a Unix socket. A listener that has many connections to accept lets connect() wait, and
 * no event tells when that is over, so the socket's own time-out ends the wait. */
static al_status connect_unix(int fd, const struct place *to, const char *place,
			      const struct meet_limit *limit)
{
	const int left = meet_left(limit);
	/* Without a time-out a signal handler might not end the wait (SA_RESTART): 68 years. */
	const struct timeval wait = { .tv_sec = left < 0 ? INT_MAX : left / 1000,
				      .tv_usec = left < 0 ? 0 : left % 1000 * 1000 };
	const struct timeval none = { 0 };

	if (!connect(fd, (const struct sockaddr *)&to->un, to->un_size))
		return AL_SUCCESS;
	if (errno == EAGAIN && left &&
	    !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) &&
	    !fcntl(fd, F_SETFL, 0) && !connect(fd, (const struct sockaddr *)&to->un, to->un_size) &&
	    !fcntl(fd, F_SETFL, O_NONBLOCK) &&
	    !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none)))
		return AL_SUCCESS;
	if (errno == EAGAIN)
		return ib_refuse(AL_TIMEOUT, "\"%s\" accepts no connection within the limit",
				 place);
	return refuse_place(place, "cannot be reached");
}

static al_status connect_tcp(int fd, const struct addrinfo *to, const char *place,
			     const struct meet_limit *limit)
{
	socklen_t size = sizeof(int);
	int error = 0;
	al_status status;

	if (!connect(fd, to->ai_addr, to->ai_addrlen))
		return AL_SUCCESS;
	if (errno != EINPROGRESS)
		return refuse_place(place, "cannot be reached");
	status = meet_wait(fd, POLLOUT, limit);
	if (status)
		return status;
	if (!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) && !error)
		return AL_SUCCESS;
	errno = error ? error : errno;
	return refuse_place(place, "cannot be reached");
}

/* Connects a new socket: to a host's address; tcp is NULL: to a Unix socket. */
static al_status connect_new(const struct place *to, const struct addrinfo *tcp, const char *place,
			     const struct meet_limit *limit, int *fd)
{
	const int peer = new_socket(tcp ? tcp->ai_family : AF_UNIX);
	al_status status;

	if (peer < 0)
		return ib_refuse(meet_status(errno), "there is no socket to meet by: %s",
				 strerrordesc_np(errno));
	status = tcp ? connect_tcp(peer, tcp, place, limit) : connect_unix(peer, to, place, limit);
	if (status)
		close(peer);
	else
		*fd = peer;
	return status;
}

/* Connects to the first address of a place that can be reached. */
static al_status connect_place(const struct place *to, const char *place,
			       const struct meet_limit *limit, int *fd)
{
	al_status status = AL_NOT_FOUND;

	if (to->un_size)
		return connect_new(to, NULL, place, limit, fd);
	for (const struct addrinfo *at = to->tcp; at; at = at->ai_next) {
		status = connect_new(to, at, place, limit, fd);
		if (!status || status == AL_TIMEOUT || status == AL_CANCELLED)
			break;
	}
	return status;
}

al_status al_meet_connect(const char *place, uint32_t flags, int timeout_ms, int *fd)
{
	const struct meet_limit limit = meet_limit(timeout_ms);
	struct place parsed = { 0 };
	al_status status = may_wait();
	int peer = -1;

	if (!status && (!fd || flags & ~(uint32_t)AL_MEET_ANY_USER))
		status = ib_refuse(AL_INVALID_PARAMETER,
				   "fd is NULL, or flags %#x has unknown bits", flags);
	if (!status)
		status = parse(place, false, &parsed);
	if (status)
		return SETTLED(status);
	status = connect_place(&parsed, place, &limit, &peer);
	forget(&parsed);
	if (!status) {
		status = check_user(peer, flags);
		if (status)
			close(peer);
		else
			*fd = peer;
	}
	return SETTLED(status);
}
