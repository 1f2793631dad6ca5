/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Starting the library's threads. */
#include "al/object/thread.h"

#include <signal.h>
#include <string.h>

#include <iba/ib_hca.h>

__thread enum thread_context thread_context;

al_status thread_start(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
	sigset_t all, old;
	int error;

	/* A thread inherits its creator's mask: signals stay the process's own business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error) {
		ib_log(IB_LOG_ERROR, "al",
		       "thread %s could not be started: %s; raise the limit of processes (ulimit -u)",
		       name, strerrordesc_np(error));
		return AL_INSUFFICIENT_RESOURCES;
	}
	return AL_SUCCESS;
}

void thread_begin(const char *name, enum thread_context context)
{
	pthread_setname_np(pthread_self(), name);
	thread_context = context;
}

unsigned int patience = 10;

struct timespec patience_end(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += patience;
	return end;
}
