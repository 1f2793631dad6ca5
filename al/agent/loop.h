/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's loop: a queue of jobs with turns (turn.h) that are done one after another, by
 * whichever thread of the pool (pool.c) comes to it. A job that is being done is *on the loop*. A
 * descriptor that is ready is such a job: the loop calls the descriptor's function. The files that
 * watch the descriptors say what each descriptor is for.
 */
#ifndef AL_AGENT_LOOP_H
#define AL_AGENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "al/agent/turn.h"

/* The struct of which *pointer is the member. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* A watched descriptor's part of the struct that owns the descriptor. */
struct watched {
	void (*see)(struct watched *watched, uint32_t events); /* called on the loop; events: EPOLL* bits */

	struct account
		*account; /* whose turn it is when the descriptor is ready; NULL: the agent's */

	/* loop.c's, under its lock: */
	struct job ready; /* calls see() */
	int fd;
	uint32_t events; /* for the next see() */
	bool queued;     /* ready is in the queue */
};

/* False: errno says why; loop_close() is still to be called. */
bool loop_open(void);
void loop_close(void);

/*
 * Watches a descriptor for EPOLL* bits. From the moment when the descriptor is ready until see()
 * has returned nobody waits for the descriptor. Returns 0, or -1 with errno set. Any thread.
 */
int loop_watch(int fd, struct watched *watched, uint32_t events);
/* Replaces the struct and the bits of a watched descriptor; changes nothing of one that is not
 * watched. Any thread. */
void loop_change(int fd, struct watched *watched, uint32_t events);
/* Stops watching. On the loop: no call of the descriptor's function follows. */
void loop_unwatch(int fd);
/* Nobody waits for the descriptor until loop_resume(), which reports the descriptor at once if it
 * is ready. On the loop, both. */
void loop_hold(int fd);
void loop_resume(int fd);

/* Queues the jobs of the descriptors that are ready, before what the caller queues next. On the
 * loop. */
void loop_look(void);

/* Queues a job, and sees to it that a thread comes. Any thread. */
void loop_post(struct job *job);

/* The rest is for the threads of the pool. */

/* Queues a job; the caller calls loop_run() next. */
void loop_add(struct job *job);
/* Waits until a descriptor is ready, which queues the descriptor's job, or until loop_wake(). */
void loop_wait(void);
/* Lets one thread return from loop_wait(): one that waits, or if none does the next that would. */
void loop_wake(void);
/* Lets every thread return from loop_wait(), from now on. */
void loop_wake_all(void);

enum loop_state {
	LOOP_EMPTY, /* the queue is empty */
	LOOP_LEFT,  /* enough() has stopped the caller, and there are jobs in the queue */
	LOOP_TAKEN  /* another thread does the jobs that are in the queue */
};
/* Does the jobs in the queue, until the queue is empty or enough() is true after a job. NULL: until
 * it is empty. */
enum loop_state loop_run(bool (*enough)(void));

#endif
