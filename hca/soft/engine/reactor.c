/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The reactor: the sleep of an engine thread, and the watched descriptors that end the sleep. Timers are in
 * base/timer.c.
 */
#include "hca/soft/engine/reactor.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <iba/ib_hca.h>

#include "hca/soft/shared/lock.h"

#define MAX_EVENTS 16 /* descriptors that one call of epoll_wait() reports */

void reactor_init(struct reactor *reactor)
{
	*reactor = (struct reactor){ .epoll = -1, .event = -1 };
}

void reactor_end(struct reactor *reactor)
{
	if (reactor->epoll >= 0)
		close(reactor->epoll);
	if (reactor->event >= 0)
		close(reactor->event);
	reactor->epoll = reactor->event = -1;
}

/* Makes the reactor's descriptors at the first watch. */
static bool open_descriptors(struct reactor *reactor)
{
	if (reactor->epoll < 0)
		reactor->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (reactor->event < 0)
		reactor->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return reactor->epoll >= 0 && reactor->event >= 0;
}

al_status reactor_watch(struct reactor *reactor, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = watch };
	bool watched;

	fmutex_lock(&reactor->lock);
	watched = open_descriptors(reactor) && !epoll_ctl(reactor->epoll, EPOLL_CTL_ADD, watch->fd, &event);
	if (watched)
		atomic_store(&reactor->polls, true);
	fmutex_unlock(&reactor->lock);
	return watched ? AL_SUCCESS : AL_INSUFFICIENT_RESOURCES;
}

void reactor_unwatch(struct reactor *reactor, struct watch *watch)
{
	fmutex_lock(&reactor->lock);
	epoll_ctl(reactor->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	fmutex_unlock(&reactor->lock);
}

void reactor_sleep(struct reactor *reactor, uint32_t seen, const struct timespec *timeout)
{
	struct pollfd fds[2];
	uint64_t count;

	/*
	 * Sequentially consistent: reactor_watch() sets `polls` before its caller wakes the engine. So this load sees
	 * `polls`, or the wake-up increments wake_count and ends the sleep on the futex.
	 */
	if (!atomic_load(&reactor->polls)) {
		futex_wait(&reactor->wake_count, seen, timeout);
		return;
	}
	if (atomic_load(&reactor->wake_count) != seen)
		return;
	fds[0] = (struct pollfd){ .fd = reactor->epoll, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = reactor->event, .events = POLLIN };
	ppoll(fds, 2, timeout, NULL);
	if (fds[1].revents && read(reactor->event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		ib_log(IB_LOG_ERROR, "soft", "the engine's eventfd can not be read: %s",
		       strerror(errno));
}

void reactor_wake(struct reactor *reactor)
{
	const uint64_t one = 1;

	atomic_fetch_add(&reactor->wake_count, 1);
	futex_wake(&reactor->wake_count, 1);
	if (atomic_load(&reactor->polls) && write(reactor->event, &one, sizeof(one)) < 0 &&
	    errno != EAGAIN)
		ib_log(IB_LOG_ERROR, "soft", "the engine's eventfd can not be written: %s",
		       strerror(errno));
}

bool reactor_poll(struct reactor *reactor, struct runner *r)
{
	struct epoll_event events[MAX_EVENTS];
	int i, count;

	if (!atomic_load_explicit(&reactor->polls, memory_order_relaxed))
		return false;
	fmutex_lock(&reactor->lock);
	count = epoll_wait(reactor->epoll, events, MAX_EVENTS, 0);
	for (i = 0; i < count; i++) {
		struct watch *watch = events[i].data.ptr;

		watch->ready(watch, r);
	}
	fmutex_unlock(&reactor->lock);
	return count > 0;
}
