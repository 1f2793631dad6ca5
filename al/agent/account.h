/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The use of each resource by clients and users, and its limits. Every client has an account, which
 * is part of its session. Every user has an account. The agent charges both accounts for each
 * object of a client.
 *
 * SHARES. What the process has only so much of is a budget (agent_limits.total, or what the machine
 * gives, whichever is less). A user may have at most agent_limits.share percent of what the other
 * users leave of a budget, of which a tenth is kept for root and the agent's own user. Those two may
 * have all that the others leave. So one user, however many clients he has, leaves to the next one
 * at least (100 - share) percent of share percent of nine tenths of the budget, which with the
 * default share of 75 is more than a tenth of the budget.
 */
#ifndef AL_AGENT_ACCOUNT_H
#define AL_AGENT_ACCOUNT_H

#include <stdbool.h>

#include "al/agent/ald.h"

struct account {
	struct account *next;       /* in the list of clients or users */
	struct account *user;       /* account of a client's user; NULL in an account of a user */
	bool privileged;            /* in an account of a user: root's, or the agent's own */
	struct al_snap_client show; /* use and limits, as a snapshot shows them */
	bool refusal_logged;        /* the log has a refusal of this client already */
};

/* The limits in force. The loop alone reads them. */
extern struct agent_limits limits;
/* Replaces the limits, also those of the clients and users that are there. */
void account_limits(const struct agent_limits *limits);

/* Opens the account of a new client, and charges its user for one client. AL_LIMIT_EXCEEDED:
 * nothing was opened. */
al_status account_open(struct account *client, int32_t pid, uint32_t uid, const char *comm);
/* Returns what the client is still charged to its user's account, and forgets the client. */
void account_close(struct account *client);

#define AGENT_TOO_MUCH UINT64_MAX /* an amount that is beyond every limit */
/*
 * Charges a client and its user. AL_LIMIT_EXCEEDED: a limit or the user's share is reached, and
 * nothing was charged; the refusal is counted, and logged once per client. Any thread.
 */
al_status account_charge(struct account *account, al_resource resource, uint64_t amount);
/* The most that a client may have of a resource: its own limit or its user's, whichever is less.
 * The user's share, which changes with what others have, does not count. Any thread. */
uint64_t account_limit(const struct account *client, al_resource resource);
/* Undoes a charge. Any thread. */
void account_return(struct account *account, al_resource resource, uint64_t amount);

/*
 * Copies the accounts of clients, and behind them the accounts of users: all accounts, or the
 * accounts of one user. *to is from al_alloc(), or NULL after a failure. Any thread.
 */
al_status account_show(bool all, uint32_t uid, struct al_snap_client **to, uint64_t *num_clients,
		       uint64_t *num_users);

/* Frees the accounts of users, but for users that have clients still. */
void account_end(void);

/* True: the caller may log a message about a client now. Limits how many such messages the log
 * gets. Any thread. */
bool account_may_log(void);

#endif
