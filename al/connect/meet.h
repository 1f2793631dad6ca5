/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What rendezvous.c and record.c have in common: waits with a limit, and statuses of system calls.
 */
#ifndef AL_CONNECT_MEET_H
#define AL_CONNECT_MEET_H

#include <poll.h>

#include <iba/ib_connect.h>

/* The end of a wait. */
struct meet_limit {
	bool none;        /* no limit */
	int64_t until_ms; /* CLOCK_MONOTONIC */
};

struct meet_limit meet_limit(int timeout_ms);
/* Milliseconds that are left, for poll(): -1 without a limit. */
int meet_left(const struct meet_limit *limit);
/* Waits for events of poll(). AL_TIMEOUT. AL_CANCELLED: the thread has run a signal handler. */
al_status meet_wait(int fd, short events, const struct meet_limit *limit);
/* The status of a system call that has failed with that errno. */
al_status meet_status(int error);

#endif
