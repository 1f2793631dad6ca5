/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A queue of jobs with turns: first the agent's own jobs, then users in turn, of each user its
 * clients in turn, and of each client its oldest job. So the job of a client waits for one job of
 * each other user at most, and for one of each other client of its own user, however many jobs
 * those have. The owner of a queue guards the queue and its part of the accounts by a lock of its
 * own.
 */
#ifndef AL_AGENT_TURN_H
#define AL_AGENT_TURN_H

#include "al/agent/account.h"

/* A member of the struct that the job is for. The owner queues a job again only after done() has
 * been called. */
struct job {
	struct job *next;
	struct account *account; /* of the client, or the user, for whom the job is; NULL: the
				    agent's own */
	void (*work)(
		struct job *job); /* called off the loop, before done(); only pool_work() uses it */
	void (*done)(struct job *job); /* called on the loop, last: it may free the job */
};

struct turns {
	enum account_queue queue;     /* the part of the accounts that is this queue's */
	struct jobs own;              /* jobs without an account */
	struct account *first, **end; /* users with jobs, by turn */
};

/* True: the queue has no job. */
bool turns_empty(const struct turns *turns);
/* True: the queue has a job of the agent's own, or of a user for whom may() is true. */
bool turns_any(const struct turns *turns, bool (*may)(struct account *user));
void turns_add(struct turns *turns, struct job *job);
/* Takes the job whose turn it is, of a user for whom may() is true. NULL for may: of any user. The
 * result is NULL if there is no such job. */
struct job *turns_take(struct turns *turns, bool (*may)(struct account *user));
/* Takes a job out that is in the queue. */
void turns_take_out(struct turns *turns, const struct job *job);

#endif
