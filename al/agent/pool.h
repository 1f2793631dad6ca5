/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's threads: they do the jobs of the loop, one of them at a time, and beside that the
 * work of jobs that may sleep. */
#ifndef AL_AGENT_POOL_H
#define AL_AGENT_POOL_H

#include "al/agent/loop.h"

/* Starts the threads, of which so many may be in work that sleeps at once. False: errno says why;
 * the caller still calls pool_close(). */
bool pool_open(uint32_t workers);
/* Ends the threads when they have no work left. Not called on the loop. */
void pool_close(void);

/*
 * A thread calls job->work(), and then job->done() on the loop. Users take turns, and then their
 * clients; a user who has his share of the threads waits for one of them. Called on the loop.
 */
void pool_work(struct job *job);

#endif
