/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An agent within a process: ald's main() starts and stops one, and so do tests. A process has at
 * most one agent at a time. The agent has threads of its own, and touches nothing else of the
 * process: no signals, no standard output, no exit().
 */
#ifndef AL_AGENT_ALD_H
#define AL_AGENT_ALD_H

#include <sys/types.h>

#include <iba/ib_al.h>

#define AGENT_NO_LIMIT UINT64_MAX

struct agent_limits {
	uint32_t workers; /* the most commands that sleep at once; read by ald_start() only */
	uint32_t share;   /* percent of a budget, of what other users leave of it, that a user may have */
	uint64_t client[AL_RESOURCES]; /* limits of each client, but for what is of users only */
	uint64_t user[AL_RESOURCES];   /* limits of all clients of a user together */
	uint64_t total[AL_RESOURCES];  /* the agent's budgets: of all clients together */
};
extern const struct agent_limits ald_default_limits;

/* The users and groups that have a right. Root and the agent's own user have every right. */
#define AGENT_MAX_NAMES 32
struct agent_grant {
	uint32_t num_users, num_groups;
	uid_t users[AGENT_MAX_NAMES];
	gid_t groups[AGENT_MAX_NAMES];
};

enum agent_right {
	RIGHT_OWN,    /* to use the client's own objects: every client has it */
	RIGHT_TEST,   /* to use the vendor's calls: faults and captures */
	RIGHT_MANAGE, /* to modify HCAs and ports, to manage the subnet (guard.c), and to see other
			 users' objects in snapshots; includes RIGHT_TEST */
	NUM_RIGHTS
};

struct ald_attr {
	const char *socket; /* path of the socket on which the agent listens */
	mode_t mode;        /* permissions of the socket */
	int listener;       /* a listening socket in place of socket and mode, which the agent closes; 0: none */
	const char *config; /* as al_open_attr.config */
	struct agent_limits limits;
	struct agent_grant grants[NUM_RIGHTS];
	void (*idle)(void); /* called on a thread of the agent whenever the last client has gone;
			       may be NULL */
};

/*
 * Starts the agent, which serves clients from the return on. The agent's threads inherit the
 * caller's signal mask. attr may be freed after the return. After a failure nothing is left, and
 * the log says why. AL_DUPLICATE: the process has an agent already.
 */
al_status ald_start(const struct ald_attr *attr);
/*
 * Replaces limits and rights, for every request that a client sends after the return. A client that
 * has more objects than a new limit allows keeps its objects. The function ignores the members
 * socket, mode, listener, config, idle and limits.workers of attr.
 */
void ald_configure(const struct ald_attr *attr);
/* Returns the present number of clients. Any thread. */
uint32_t ald_clients(void);
/*
 * Accepts no new client, and tells the clients that have objects that the agent is about to end;
 * they may go on until their objects are destroyed. Calls drained(), on a thread of the agent's,
 * when no client is left. The caller still calls ald_stop(). At most once.
 */
void ald_drain(void (*drained)(void));
/*
 * Ends all sessions and then the agent, after ald_start() has succeeded. Does not wait for a copy
 * of a client's memory that is under way: the next ald_start() of the process frees what the
 * session of such a client has left (descriptors, memory).
 */
void ald_stop(void);

#endif
