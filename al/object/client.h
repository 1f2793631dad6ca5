/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clients of the agent, as the Access Layer and modules see them. In the agent a thread makes calls
 * on behalf of a client: the agent names the client with al_act_for() around each call. During the
 * call the module gets the client's struct ci_udata, new objects belong to the client, and
 * addresses lie in the client's memory. In every other process the calls are the process's own. The
 * agent's own state of a client is al/agent/client.h's.
 *
 * The functions al_* are exported for the agent only, like the functions of al/library/private.h.
 */
#ifndef AL_OBJECT_CLIENT_H
#define AL_OBJECT_CLIENT_H

#include <pthread.h>
#include <sys/types.h>

#include <iba/ib_uvp.h>

/* A client of the agent. The agent allocates the struct, and frees it after the client's last
 * object has ended. */
struct ci_client {
	int memory; /* descriptor of the client's /proc/self/mem, opened by the client; -1: the client shares no
		     * memory */
	pid_t pid;
	uid_t uid;
	char comm[16];

	pthread_mutex_t lock; /* guards the members below, which serve clients with memory >= 0. Leaf. */
	pthread_cond_t work;  /* signalled when a job is added or ended is set */
	struct ci_client_job *jobs, **jobs_end; /* jobs for the client's thread, oldest first */
	bool started;         /* the client's thread has been started, for the client's first region that is copied */
	void (*ended)(void *context); /* callback of al_client_end(); NULL before */
	void *ended_context;
};

/* Prepares the members below "lock". Called after the agent has filled in the members above. */
void al_client_begin(struct ci_client *client);
/*
 * Queues a job behind the jobs that the client's thread already has. False: the client has no
 * thread, hence no copies are under way, and the job is not queued.
 */
bool al_client_after(struct ci_client *client, struct ci_client_job *job);
/*
 * Ends the client's thread; the client's last object and its opening have ended. True: the thread
 * calls ended(context) as its last step. False: the client had no thread, and ended is not called.
 */
bool al_client_end(struct ci_client *client, void (*ended)(void *context), void *context);
/* Releases the lock. Called before the agent frees the struct. */
void al_client_free(struct ci_client *client);

/* Starts the client's thread unless it has been started. */
al_status client_start(struct ci_client *client);

/* Data that the agent passes with a client's request. A module sees only the member ci. */
struct al_udata {
	struct ci_udata ci;
	uint32_t num_given; /* number of descriptors in given[] */
	int given[UVP_MAX_FDS]; /* duplicates made by ci_client_give_fd(); the agent sends and closes them */
};

/* The request that the calling thread serves for a client; NULL: the calls are the process's
 * own. */
extern __thread struct ci_udata *acting_for;

/* Makes the calling thread act for udata's client; NULL: for the process itself. The caller keeps
 * udata. */
void al_act_for(struct ci_udata *udata);

/* The client for which the calling thread acts; NULL: the process itself. */
static inline const struct ci_client *acting_client(void)
{
	return acting_for ? acting_for->client : NULL;
}

#endif
