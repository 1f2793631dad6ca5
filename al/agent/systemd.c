/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The service manager's protocols: notification (NOTIFY_SOCKET) and socket activation (LISTEN_FDS).
 * Both are implemented here without libsystemd, since they are only environment variables and a
 * datagram. A socket of ald's own is in socket.c.
 */
#include "al/agent/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#define FIRST_FD 3

/* -------------------------------------------------------------------- notify */

void systemd_notify(const char *state)
{
	const char *name = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t length = name ? strlen(name) : 0;
	int fd;

	if (!length || length >= sizeof(addr.sun_path) || (*name != '/' && *name != '@'))
		return;
	memcpy(addr.sun_path, name, length);
	if (*name == '@') /* an abstract name */
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		ib_log(IB_LOG_WARNING, "ald", "the state \"%s\" can not be sent to the service manager at %s: %s", state, name,
		       strerror(errno));
	if (fd >= 0)
		close(fd);
}

void systemd_notify_reloading(void)
{
	struct timespec now;
	char state[64];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
		 (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	systemd_notify(state);
}

/* ---------------------------------------------------------------- activation */

/* The value of a socket's option; -1: fd is no socket. */
static int option(int fd, int name)
{
	socklen_t length = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, name, &value, &length) ? -1 : value;
}

/* Why the agent can not listen on the socket; NULL: it can. */
static const char *find_fault(int fd, int count)
{
	if (count != 1)
		return "ald.socket must have exactly one socket";
	if (option(fd, SO_DOMAIN) != AF_UNIX || option(fd, SO_TYPE) != SOCK_SEQPACKET)
		return "ald.socket must say ListenSequentialPacket= with a path";
	if (option(fd, SO_ACCEPTCONN) != 1)
		return "the socket does not listen: ald.socket must say Accept=no";
	return NULL;
}

int systemd_socket(char *path, unsigned long size)
{
	const char *pid = secure_getenv("LISTEN_PID"), *fds = secure_getenv("LISTEN_FDS"), *wrong;
	struct sockaddr_un addr = { 0 };
	socklen_t length = sizeof(addr);
	long count = fds ? strtol(fds, NULL, 10) : 0;

	/* LISTEN_PID of another process: the variables were inherited from it by mistake. */
	if (!pid || strtol(pid, NULL, 10) != getpid() || !count)
		return 0;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	wrong = find_fault(FIRST_FD, (int)count);
	if (!wrong && (getsockname(FIRST_FD, (struct sockaddr *)&addr, &length) || !*addr.sun_path))
		wrong = "ald.socket must say ListenSequentialPacket= with a path";
	if (!wrong && (fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC) ||
		       fcntl(FIRST_FD, F_SETFL, fcntl(FIRST_FD, F_GETFL) | O_NONBLOCK)))
		wrong = strerror(errno);
	if (wrong) {
		ib_log(IB_LOG_ERROR, "ald",
		       "the %ld sockets from the service manager can not be used: %s", count, wrong);
		return -1;
	}
	snprintf(path, size, "%.*s", (int)sizeof(addr.sun_path), addr.sun_path);
	return FIRST_FD;
}
