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

struct agent_limits {
	uint32_t sessions;
	uint32_t objects; /* of each kind, per client */
	uint64_t bytes;   /* registered, per client */
	uint64_t rings;   /* bytes of queues, per client */
	uint32_t lines;   /* command connections, per client */
	uint32_t workers;
};
extern const struct agent_limits ald_default_limits;

struct ald_attr {
	const char *socket; /* its path */
	mode_t mode;        /* its permissions */
	const char *config; /* as al_open_attr.config */
	struct agent_limits limits;
};

/*
 * Serves from now on; attr is not looked at any more. Threads inherit the caller's signal mask. Not
 * AL_SUCCESS: nothing is left of it, and the log says why; AL_DUPLICATE: there is one already.
 */
al_status ald_start(const struct ald_attr *attr);
/* Ends all sessions, and then the agent. Only after ald_start() has succeeded. */
void ald_stop(void);

#endif
