/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's workers, which execute jobs that may sleep, and the way of a job from any thread to
 * the loop. */
#ifndef AL_AGENT_POOL_H
#define AL_AGENT_POOL_H

#include "al/agent/loop.h"

/* A member of the struct that the job is for. The owner queues a job again only after done() has
 * been called. */
struct job {
	struct job *next;
	void (*work)(struct job *job); /* called on a worker; pool_done() does not use it */
	void (*done)(struct job *job); /* called on the loop, last: it may free the job */
};

/* Starts the workers. False: errno says why; the caller still calls pool_close(). */
bool pool_open(uint32_t workers);
/* Ends the workers after their jobs. The caller has ended the loop's thread before. */
void pool_close(void);

/* Queues a job: a worker calls job->work(), then the loop calls job->done(). Any thread. */
void pool_work(struct job *job);
/* Queues a job for the loop alone, which calls job->done(). Any thread. */
void pool_done(struct job *job);

#endif
