/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What clients and users have, and what they may have. Every client has an account, which is part of
 * its session, and so has every user; what a client is charged, its user is charged too.
 */
#ifndef AL_AGENT_ACCOUNT_H
#define AL_AGENT_ACCOUNT_H

#include <stdbool.h>

#include "al/agent/ald.h"

struct account {
	struct account *next;
	struct account *user; /* of a client; NULL: is a user's own */
	struct al_snap_client show;
	bool told;            /* of a refusal, in the log */
};

/* The limits in force; the loop's to read. */
extern struct agent_limits limits;
void account_limits(const struct agent_limits *limits);

/* A client of this user: charged as one. AL_LIMIT_EXCEEDED: nothing was opened. */
al_status account_open(struct account *client, int32_t pid, uint32_t uid, const char *comm);
/* What it has is given back. */
void account_close(struct account *client);

#define AGENT_TOO_MUCH UINT64_MAX /* an amount that is beyond every limit */
/* AL_LIMIT_EXCEEDED: nothing was charged; the refusal is counted, and logged once per client. */
al_status account_charge(struct account *client, al_resource resource, uint64_t amount);
/* The most that a client may have of it: its own limit, or its user's if that is less. Any thread. */
uint64_t account_limit(const struct account *client, al_resource resource);
void account_return(struct account *client, al_resource resource, uint64_t amount);

/*
 * Copies the accounts, of clients and then of users, of one user or (all) of everybody; *to is NULL
 * or from al_alloc(). Any thread.
 */
al_status account_show(bool all, uint32_t uid, struct al_snap_client **to, uint64_t *num_clients,
		       uint64_t *num_users);

/* Forgets the users. Without clients only. */
void account_end(void);

/* Whether something about a client may be logged now: many do not fill the log. Any thread. */
bool account_may_log(void);

#endif
