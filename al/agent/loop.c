/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's loop, on epoll. The functions of the watched descriptors are in the files that watch
 * them. */
#include "al/agent/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

static int epoll_fd = -1;

bool loop_open(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd >= 0;
}

void loop_close(void)
{
	if (epoll_fd >= 0)
		close(epoll_fd);
	epoll_fd = -1;
}

void loop_once(void)
{
	struct epoll_event event;
	struct watched *watched;

	if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
		return;
	watched = event.data.ptr;
	watched->see(watched, event.events);
}

int loop_watch(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watched };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int loop_change(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watched };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void loop_unwatch(int fd)
{
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}
