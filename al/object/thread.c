/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Starting the library's threads, and the time after which a wait is logged. */
#include "al/object/thread.h"

#include <signal.h>
#include <string.h>

#include <iba/ib_hca.h>

__thread enum thread_context thread_context;

al_status library_thread_start(pthread_t *thread, const char *name, void *(*main)(void *),
			       void *arg)
{
	sigset_t all, old;
	int error;

	/* A new thread inherits its creator's signal mask. The application's threads handle the
	 * signals. */
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

void library_thread_begin(const char *name, enum thread_context context)
{
	pthread_setname_np(pthread_self(), name);
	thread_context = context;
}

unsigned int wait_log_seconds = 10;

struct timespec wait_log_deadline(void)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += wait_log_seconds;
	return end;
}
