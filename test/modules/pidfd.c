/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For programs under valgrind, which up to 3.19 has no pidfd_open(): when preloaded, this library makes pidfd_open()
 * from SO_PEERPIDFD of a socket pair, which returns the process that created the pair. So a process can open itself,
 * and a forked child its parent.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

long syscall(long number, ...);

static pid_t first; /* the process that was started, before any fork */
static int made_by_first[2] = { -1, -1 };

__attribute__((constructor)) static void start(void)
{
	first = getpid();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made_by_first))
		made_by_first[0] = -1;
}

static int maker_of(int end)
{
	int fd = -1;
	socklen_t size = sizeof(fd);

	return getsockopt(end, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) ? -1 : fd;
}

static int open_pidfd(pid_t pid)
{
	int pair[2], fd;

	if (pid == first)
		return maker_of(made_by_first[0]);
	if (pid != getpid()) {
		errno = ENOSYS;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	fd = maker_of(pair[0]);
	close(pair[0]);
	close(pair[1]);
	return fd;
}

long syscall(long number, ...)
{
	long (*next)(long number, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long argument[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_pidfd_open)
		return open_pidfd((pid_t)argument[0]);
	return next(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
