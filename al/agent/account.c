/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Accounts of clients and users: what each is charged, and the limits beyond which an account is
 * charged no more. */
#include "al/agent/account.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include <iba/ib_hca.h>

/* The limits without a configuration: each client has limits, users have none. */
#define OBJECTS 4096 /* of each kind */
#define KIND(NAME, ...) [AL_RESOURCE_##NAME##S] = OBJECTS,
#define NO_LIMIT(resource, value, text) [resource] = AGENT_NO_LIMIT,
const struct agent_limits ald_default_limits = {
	.sessions = 1024,
	.workers = 4,
	.client = {
		[AL_RESOURCE_CLIENTS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CONNECTIONS] = 16,
		[AL_RESOURCE_BYTES] = 1ull << 30,
		[AL_RESOURCE_RINGS] = 64ull << 20,
		[AL_RESOURCE_MCASTS] = OBJECTS,
#include "al/agent/kinds.def"
	},
	.user = { AL_RESOURCE_LIST(NO_LIMIT) },
};

#define KIND(NAME, ...) +1
_Static_assert(AL_RESOURCES == 5
#include "al/agent/kinds.def"
	, "every resource has a limit per client: a kind's, or one of the five above");

#define MAX_USERS 1024 /* accounts of users without clients beyond this number are freed */

static struct {
	pthread_mutex_t lock; /* guards the lists and all accounts in them. Leaf. */
	struct account *clients, *users;
	uint32_t num_users, num_clients;
} accounts = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct agent_limits limits; /* the loop alone reads and writes */

static uint64_t limit_of(const struct account *account, al_resource resource)
{
	if (account->user)
		return resource == AL_RESOURCE_CLIENTS ? AGENT_NO_LIMIT : limits.client[resource];
	return limits.user[resource];
}

/* Copies the limits in force into the account. Under the lock. */
static void set_limits(struct account *account)
{
	for (int r = 0; r < AL_RESOURCES; r++)
		account->show.use[r].limit = limit_of(account, (al_resource)r);
}

void account_limits(const struct agent_limits *to)
{
	pthread_mutex_lock(&accounts.lock);
	limits = *to;
	for (struct account *a = accounts.clients; a; a = a->next)
		set_limits(a);
	for (struct account *a = accounts.users; a; a = a->next)
		set_limits(a);
	pthread_mutex_unlock(&accounts.lock);
}

uint64_t account_limit(const struct account *client, al_resource resource)
{
	uint64_t own, shared;

	pthread_mutex_lock(&accounts.lock);
	own = client->show.use[resource].limit;
	shared = client->user->show.use[resource].limit;
	pthread_mutex_unlock(&accounts.lock);
	return own < shared ? own : shared;
}

/* ----------------------------------------------------------------- charging */

#define LOG_SECONDS 10
#define LOG_MOST    10 /* messages within LOG_SECONDS */

bool account_may_log(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Leaf. */
	static time_t since;
	static uint32_t logged, suppressed; /* messages since `since` */
	uint32_t to_report = 0;
	struct timespec now;
	bool may;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&lock);
	if (!since || now.tv_sec - since >= LOG_SECONDS) {
		since = now.tv_sec;
		to_report = suppressed;
		logged = suppressed = 0;
	}
	may = logged < LOG_MOST;
	if (may)
		logged++;
	else
		suppressed++;
	pthread_mutex_unlock(&lock);
	if (to_report)
		ib_log(IB_LOG_WARNING, "ald", "%u more refusals of clients were not logged: at most %d in %d seconds are",
		       to_report, LOG_MOST, LOG_SECONDS);
	return may;
}

/* Logs that a client is refused a resource. account: the client's or its user's, whose limit is
 * reached. */
static void log_refusal(const struct account *client, const struct account *account, al_resource resource)
{
	const struct al_snap_client *c = &client->show;

	if (account_may_log())
		ib_log(IB_LOG_WARNING, "ald",
		       "%s[%d] of user %u is refused more: the %s's limit is %llu %s; ibal.conf(5) says how to raise it",
		       c->comm, (int)c->pid, (unsigned int)c->uid, account->user ? "client" : "user",
		       (unsigned long long)account->show.use[resource].limit,
		       al_resource_str(resource));
}

static bool fits(const struct account *account, al_resource resource, uint64_t amount)
{
	const struct al_snap_use *use = &account->show.use[resource];

	if (!amount)
		return true; /* also if a lowered limit is below what the account has */
	return amount <= use->limit && use->now <= use->limit - amount && amount != AGENT_TOO_MUCH;
}

/* Charges the client and its user. NULL: both are charged. Else neither is, and the result is the
 * account whose limit the charge would exceed. Under the lock. */
static struct account *charge(struct account *client, al_resource resource, uint64_t amount)
{
	for (struct account *a = client; a; a = a->user)
		if (!fits(a, resource, amount))
			return a;
	for (struct account *a = client; a; a = a->user) {
		struct al_snap_use *use = &a->show.use[resource];

		use->now += amount;
		use->high = use->high < use->now ? use->now : use->high;
	}
	return NULL;
}

al_status account_charge(struct account *client, al_resource resource, uint64_t amount)
{
	struct account *exceeded;
	struct al_snap_use use;
	bool first = false;

	pthread_mutex_lock(&accounts.lock);
	exceeded = charge(client, resource, amount);
	if (exceeded) {
		use = exceeded->show.use[resource];
		client->show.refused++;
		client->user->show.refused++;
		first = !client->refusal_logged;
		client->refusal_logged = true;
	}
	pthread_mutex_unlock(&accounts.lock);
	if (first)
		log_refusal(client, exceeded, resource);
	if (!exceeded)
		return AL_SUCCESS;
	return ib_refuse(
		AL_LIMIT_EXCEEDED,
		"the agent's limit for this %s is %llu %s, of which %llu are in use; ibal.conf(5) says how to raise it",
		exceeded->user ? "client" : "user", (unsigned long long)use.limit,
		al_resource_str(resource), (unsigned long long)use.now);
}

void account_return(struct account *client, al_resource resource, uint64_t amount)
{
	pthread_mutex_lock(&accounts.lock);
	for (struct account *a = client; a; a = a->user)
		a->show.use[resource].now -= amount;
	pthread_mutex_unlock(&accounts.lock);
}

/* ----------------------------------------------------------- clients, users */

static void unlink_account(struct account **list, const struct account *account)
{
	while (*list != account)
		list = &(*list)->next;
	*list = account->next;
}

/* Frees the oldest account of a user without clients. Under the lock. */
static void forget_idle_user(void)
{
	struct account *idle = NULL;

	for (struct account *a = accounts.users; a; a = a->next)
		if (!a->show.use[AL_RESOURCE_CLIENTS].now)
			idle = a;
	if (!idle)
		return;
	unlink_account(&accounts.users, idle);
	accounts.num_users--;
	al_free(idle);
}

/* The account of a user, which is made if there is none. NULL: no memory. Under the lock. */
static struct account *find_user(uint32_t uid)
{
	struct account *user;

	for (user = accounts.users; user && user->show.uid != uid; user = user->next)
		;
	if (user)
		return user;
	user = al_alloc(sizeof(*user));
	if (!user)
		return NULL;
	if (accounts.num_users >= MAX_USERS)
		forget_idle_user();
	user->show.uid = uid;
	set_limits(user);
	user->next = accounts.users;
	accounts.users = user;
	accounts.num_users++;
	return user;
}

al_status account_open(struct account *client, int32_t pid, uint32_t uid, const char *comm)
{
	al_status status;

	pthread_mutex_lock(&accounts.lock);
	client->user = find_user(uid);
	if (!client->user) {
		pthread_mutex_unlock(&accounts.lock);
		return AL_INSUFFICIENT_MEMORY;
	}
	client->show.pid = pid;
	client->show.uid = uid;
	strncpy(client->show.comm, comm, sizeof(client->show.comm) - 1);
	set_limits(client);
	client->next = accounts.clients;
	accounts.clients = client;
	accounts.num_clients++;
	pthread_mutex_unlock(&accounts.lock);
	status = account_charge(client, AL_RESOURCE_CLIENTS, 1);
	if (status)
		account_close(client);
	return status;
}

void account_close(struct account *client)
{
	pthread_mutex_lock(&accounts.lock);
	unlink_account(&accounts.clients, client);
	accounts.num_clients--;
	for (int r = 0; r < AL_RESOURCES; r++)
		client->user->show.use[r].now -= client->show.use[r].now;
	pthread_mutex_unlock(&accounts.lock);
}

void account_end(void)
{
	struct account **p = &accounts.users;

	while (*p) {
		struct account *user = *p;

		if (user->show.use[AL_RESOURCE_CLIENTS].now) { /* of a client whose copy ald_stop() does not wait for */
			p = &user->next;
			continue;
		}
		*p = user->next;
		al_free(user);
		accounts.num_users--;
	}
}

/* ----------------------------------------------------------------- watching */

/* Copies the accounts of one user, or all. Returns their number. */
static uint64_t copy_accounts(const struct account *from, bool all, uint32_t uid, struct al_snap_client *to)
{
	uint64_t num = 0;

	for (; from; from = from->next)
		if (all || from->show.uid == uid)
			to[num++] = from->show;
	return num;
}

al_status account_show(bool all, uint32_t uid, struct al_snap_client **to, uint64_t *num_clients,
		       uint64_t *num_users)
{
	pthread_mutex_lock(&accounts.lock);
	*to = al_alloc((accounts.num_clients + accounts.num_users + 1) * sizeof(**to));
	if (*to) {
		*num_clients = copy_accounts(accounts.clients, all, uid, *to);
		*num_users = copy_accounts(accounts.users, all, uid, *to + *num_clients);
	}
	pthread_mutex_unlock(&accounts.lock);
	return *to ? AL_SUCCESS : AL_INSUFFICIENT_MEMORY;
}
