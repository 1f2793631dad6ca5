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

/* The queues with turns (turn.h), of which each account has a part. */
enum account_queue { QUEUE_LOOP, QUEUE_POOL, QUEUE_CLOSERS, ACCOUNT_QUEUES };

/* Jobs, oldest first. */
struct job;
struct jobs {
	struct job *first, **end; /* end has a meaning only while there are jobs */
};

/* An account's part of a queue with turns, under the queue's lock. A user's account is also one of
 * its own clients, for jobs that outlive the client. */
struct account_turn {
	struct jobs jobs;             /* of the client */
	struct account *next;         /* a client's: the one whose turn is next, of the same user */
	struct account *first, **end; /* a user's: clients with jobs, by turn */
	struct account *next_user;    /* a user's: the one whose turn is next */
};

struct account {
	struct account *next;       /* in the list of clients or users */
	struct account *user;       /* account of a client's user; NULL in an account of a user */
	bool privileged;            /* in an account of a user: root's, or the agent's own */
	struct al_snap_client show; /* use and limits, as a snapshot shows them */
	bool refusal_logged;        /* the log has a refusal of this client already */
	struct account_turn turn[ACCOUNT_QUEUES];
};

/* True: the resource is counted for users, not for their clients. */
bool account_of_users_only(al_resource resource);

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
/* The account of a user, which is made if there is none. NULL: no memory. It stays as long as the
 * user is charged anything. On the loop. */
struct account *account_user(uint32_t uid);
/* As account_charge(), but charges nothing also if the amount is within limit and share. */
al_status account_check(struct account *account, al_resource resource, uint64_t amount);
/* Charges what is used already, whatever the limits. Any thread. */
void account_force(struct account *account, al_resource resource, uint64_t amount);
/* As account_charge(), but false is no refusal: the caller tries again later. */
bool account_take(struct account *account, al_resource resource, uint64_t amount);
/* What account_take() would return; charges nothing. */
bool account_could_take(struct account *account, al_resource resource, uint64_t amount);
/* The most that a client may have of a resource: its own limit or its user's, whichever is less.
 * The user's share, which changes with what others have, does not count. Any thread. */
uint64_t account_limit(const struct account *client, al_resource resource);
/* Undoes the client's part of a charge: the rest is the user's own, to be returned by the user's
 * account. Any thread. */
void account_leave_to_user(struct account *client, al_resource resource, uint64_t amount);
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

/* True: the caller may log a message about a client, or its user, now. Each user has a share of the
 * messages that the log gets. account: a client's or a user's. Any thread. */
bool account_may_log(struct account *account);

#endif
