/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * On whose behalf a call is made: nobody's but the process's own, or, in the agent, a client's. The
 * agent says so around each call (al_act_for()); from there the module gets it as struct ci_udata,
 * objects get their owner, and memory is the client's.
 *
 * The functions al_* are exported for the agent alone, as those of al/library/private.h are.
 */
#ifndef AL_OBJECT_CLIENT_H
#define AL_OBJECT_CLIENT_H

#include <pthread.h>
#include <sys/types.h>

#include <iba/ib_uvp.h>

/* A client. The agent makes and frees it: after its last object. */
struct ci_client {
	int memory; /* its /proc/self/mem, opened by itself; -1: none */
	pid_t pid;
	uid_t uid;
	char comm[16];

	pthread_mutex_t lock; /* guards what follows; of a client with memory. Leaf. */
	pthread_cond_t more;
	struct ci_client_job *jobs, **jobs_end;
	bool started;         /* its thread has been, for its first region that is copied */
	void (*ended)(void *context); /* al_client_end() */
	void *ended_context;
};

/* Around a client's life: after it has been filled in, and before it is freed. */
void al_client_begin(struct ci_client *client);
/* The job is run when the client's thread has done what it was given before. False: it has none, and copies nothing. */
bool al_client_after(struct ci_client *client, struct ci_client_job *job);
/* Its last object is gone, and its opening. True: it had a thread, which calls ended when that ends. */
bool al_client_end(struct ci_client *client, void (*ended)(void *context), void *context);
void al_client_free(struct ci_client *client);

/* Its thread, if it has none yet. */
al_status client_start(struct ci_client *client);

/* What the agent passes with a client's request; ci is what a module sees. */
struct al_udata {
	struct ci_udata ci;
	uint32_t num_given; /* ci_client_give_fd(): duplicates, the agent's to send and close */
	int given[UVP_MAX_FDS];
};

extern __thread struct ci_udata *acting_for;

/* The calling thread's calls are a client's from now on; NULL: its own. udata stays the caller's. */
void al_act_for(struct ci_udata *udata);

static inline const struct ci_client *acting_client(void)
{
	return acting_for ? acting_for->client : NULL;
}

#endif
