/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Making the socket on which the agent listens. A socket of the service manager's is in
 * systemd.c. */
#include "al/agent/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <iba/ib_hca.h>

/* True: an agent listens on the socket. False: the socket was left by an agent that was killed. */
static bool in_use(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool used = fd >= 0 && !connect(fd, (const struct sockaddr *)addr, sizeof(*addr));

	if (fd >= 0)
		close(fd);
	return used;
}

int socket_listen(const char *path, mode_t mode)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		ib_log(IB_LOG_ERROR, "ald", "socket %s: the path is longer than %zu characters; choose a shorter path", path,
		       sizeof(addr.sun_path) - 1);
		return -1;
	}
	strcpy(addr.sun_path, path);
	if (!lstat(path, &st)) {
		if (!S_ISSOCK(st.st_mode) || in_use(&addr)) {
			ib_log(IB_LOG_ERROR, "ald", "socket %s: %s", path,
			       S_ISSOCK(st.st_mode) ? "another agent listens there; stop it first"
						    : "a file of that name is no socket; remove it or choose another path");
			return -1;
		}
		unlink(path);
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* fchmod() before bind(), so that the socket never has more permissions; chmod() after
	 * bind(), which applies the umask. */
	if (fd >= 0 && !fchmod(fd, mode) && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    !chmod(path, mode) && !listen(fd, 512))
		return fd;
	ib_log(IB_LOG_ERROR, "ald", "socket %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}
