/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads of the library: starting one, which callbacks a thread makes, and how long a thread waits before the log says so. */
#ifndef AL_OBJECT_THREAD_H
#define AL_OBJECT_THREAD_H

#include <pthread.h>
#include <time.h>

#include <iba/ib_types.h>

/* What kind of callback this thread is in. */
enum thread_context {
	CONTEXT_NONE,   /* a thread of the caller's */
	CONTEXT_ATOMIC, /* a dispatcher: nothing that sleeps */
	CONTEXT_PNP     /* the PnP thread: everything */
};
extern __thread enum thread_context thread_context;

/* A thread of the library: all signals blocked. name: for messages. */
al_status thread_start(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);
/* First of all in such a thread. It names itself: naming another one opens a file that a fork elsewhere would inherit. */
void thread_begin(const char *name, enum thread_context context);

/* Nothing is decided by a time-out; but a wait that takes longer than this many seconds is told of in the log. */
extern unsigned int patience;
/* That many seconds from now, CLOCK_MONOTONIC. */
struct timespec patience_end(void);

#endif
