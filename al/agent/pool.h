/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's workers, which carry out what may sleep, and the way back from any thread to the loop. */
#ifndef AL_AGENT_POOL_H
#define AL_AGENT_POOL_H

#include "al/agent/loop.h"

/* Part of the struct that it is about; never two jobs of one such part at once. */
struct job {
	struct job *next;
	void (*work)(struct job *job); /* on a worker; unused by pool_done() */
	void (*done)(struct job *job); /* on the loop */
};

/* Starts the workers. False: errno says why; pool_close() is still to be called. */
bool pool_open(uint32_t workers);
/* Ends the workers when their jobs are done. Only when the loop's thread has ended. */
void pool_close(void);

/* A worker calls job->work(), then the loop job->done(). Any thread. */
void pool_work(struct job *job);
/* The loop calls job->done(). Any thread. */
void pool_done(struct job *job);

#endif
