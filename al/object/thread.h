/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Threads of the library: starting a thread, which kind of callback a thread is in, and after how
 * long a wait is logged. dispatcher.c, reaper.c and al/event/pnp.c have the work of the threads.
 */
#ifndef AL_OBJECT_THREAD_H
#define AL_OBJECT_THREAD_H

#include <pthread.h>
#include <time.h>

#include <iba/ib_types.h>

/* The kind of callback that the calling thread is in. */
enum thread_context {
	CONTEXT_NONE,   /* a thread of the application, outside callbacks */
	CONTEXT_ATOMIC, /* a dispatcher's callback: calls that may sleep are refused */
	CONTEXT_PNP     /* a callback of the PnP thread: calls that sleep are allowed */
};
extern __thread enum thread_context thread_context;

/* Starts a thread of the library, with all signals blocked. name: for messages.
 * AL_INSUFFICIENT_RESOURCES. */
al_status library_thread_start(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);
/*
 * Names the calling thread and sets its context: the first call in a thread of the library. A
 * thread names itself, because naming another thread opens a file that a fork elsewhere would
 * inherit.
 */
void library_thread_begin(const char *name, enum thread_context context);

/*
 * Seconds after which a wait for another thread or module is logged. The wait itself goes on: no
 * time-out decides anything.
 */
extern unsigned int wait_log_seconds;
/* The time wait_log_seconds from now, CLOCK_MONOTONIC. */
struct timespec wait_log_deadline(void);

#endif
