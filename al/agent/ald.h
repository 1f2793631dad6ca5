/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An agent, as a program starts and stops it: ald's main() does, and a test that wants one within its
 * own process. One at a time in a process. It has threads of its own, and touches nothing else of
 * the process: no signals, no standard output, no exit().
 */
#ifndef AL_AGENT_ALD_H
#define AL_AGENT_ALD_H

#include <sys/types.h>

#include <iba/ib_al.h>

#define AGENT_NO_LIMIT UINT64_MAX

struct agent_limits {
	uint32_t sessions;             /* clients at once */
	uint32_t workers;              /* threads for what may sleep; only at the start */
	uint64_t client[AL_RESOURCES]; /* of each client; AL_RESOURCE_CLIENTS is not looked at */
	uint64_t user[AL_RESOURCES];   /* of all clients of a user */
};
extern const struct agent_limits ald_default_limits;

/* To whom a right is given; root and the agent's own user have each. */
#define AGENT_MAX_NAMES 32
struct agent_grant {
	uint32_t num_users, num_groups;
	uid_t users[AGENT_MAX_NAMES];
	gid_t groups[AGENT_MAX_NAMES];
};

enum agent_right {
	RIGHT_OWN,    /* everybody, to what is his own */
	RIGHT_TEST,   /* the vendor's calls: faults and captures */
	RIGHT_MANAGE, /* HCAs and ports, others' objects in snapshots; whoever may do that may test */
	NUM_RIGHTS
};

struct ald_attr {
	const char *socket; /* its path */
	mode_t mode;        /* its permissions */
	int listener;       /* in place of both: it listens already, and the agent closes it; 0: none */
	const char *config; /* as al_open_attr.config */
	struct agent_limits limits;
	struct agent_grant grants[NUM_RIGHTS];
};

/*
 * Serves from now on; attr is not looked at any more. Threads inherit the caller's signal mask. Not
 * AL_SUCCESS: nothing is left of it, and the log says why; AL_DUPLICATE: there is one already.
 */
al_status ald_start(const struct ald_attr *attr);
/*
 * Other limits and rights, for all that is asked for from the return on; what somebody has beyond a
 * new limit stays his.
 */
void ald_configure(const struct ald_attr *attr);
/*
 * Nobody new comes in; who has objects is told, and may go on until they are destroyed. When nobody
 * is left drained() is called, on a thread of the agent's, and ald_stop() is still to be called. Once.
 */
void ald_drain(void (*drained)(void));
/*
 * Ends all sessions, and then the agent. Only after ald_start() has succeeded. A copy of a client's memory that is under way
 * is not waited for: what its session has left (descriptors, memory) the next ald_start() of the process sees to.
 */
void ald_stop(void);

#endif
