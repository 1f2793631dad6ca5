/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Accounts of clients and users: what each is charged, and the limits and shares beyond which an
 * account is charged no more. */
#include "al/agent/account.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <iba/ib_hca.h>

/* The limits without a configuration: each client has limits, users have shares of the agent's
 * budgets. */
#define OBJECTS     4096       /* of each kind, a client's */
#define ALL_OBJECTS (1u << 17) /* of each kind, all clients' */
#define KIND(NAME, ...) [AL_RESOURCE_##NAME##S] = OBJECTS,
#define NO_LIMIT(resource, value, text) [resource] = AGENT_NO_LIMIT,
const struct agent_limits ald_default_limits = {
	.workers = 4,
	.share = 75,
	.client = {
		[AL_RESOURCE_CLIENTS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CONNECTIONS] = 16,
		[AL_RESOURCE_BYTES] = 1ull << 30,
		[AL_RESOURCE_RINGS] = 64ull << 20,
		[AL_RESOURCE_MCASTS] = OBJECTS,
		[AL_RESOURCE_WORKERS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_MAPPINGS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_DESCRIPTORS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CLOSERS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_LOG_LINES] = AGENT_NO_LIMIT,
#include "al/agent/kinds.def"
	},
	.user = { AL_RESOURCE_LIST(NO_LIMIT) },
	.total = {
		[AL_RESOURCE_CLIENTS] = 1024,
		[AL_RESOURCE_CONNECTIONS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_BYTES] = AGENT_NO_LIMIT, /* the machine's memory bounds it, and the next */
		[AL_RESOURCE_RINGS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_MCASTS] = ALL_OBJECTS,
		[AL_RESOURCE_WORKERS] = AGENT_NO_LIMIT, /* agent_limits.workers bounds it */
		[AL_RESOURCE_MAPPINGS] = AGENT_NO_LIMIT, /* vm.max_map_count bounds it */
		[AL_RESOURCE_DESCRIPTORS] = AGENT_NO_LIMIT, /* RLIMIT_NOFILE bounds it */
		[AL_RESOURCE_CLOSERS] = 64,
		[AL_RESOURCE_LOG_LINES] = 10,
#define KIND(NAME, ...) [AL_RESOURCE_##NAME##S] = ALL_OBJECTS,
#include "al/agent/kinds.def"
	},
};

#define KIND(NAME, ...) +1
_Static_assert(AL_RESOURCES == 10
#include "al/agent/kinds.def"
	       ,
	       "every resource has a limit per client: a kind's, or one of the ten above");

#define MAX_USERS 1024 /* accounts of users without clients beyond this number are freed */

static struct {
	pthread_mutex_t lock; /* guards everything here, and all accounts in the lists. Leaf. */
	struct account *clients, *users;
	uint32_t num_users, num_clients;
	struct {
		uint64_t now;    /* what all clients and users have */
		uint64_t budget; /* AGENT_NO_LIMIT: there is none */
	} total[AL_RESOURCES];
	uint32_t share;          /* percent */
} accounts = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool account_of_users_only(al_resource resource)
{
	return resource == AL_RESOURCE_CLIENTS || resource == AL_RESOURCE_WORKERS ||
	       resource == AL_RESOURCE_DESCRIPTORS || resource == AL_RESOURCE_CLOSERS ||
	       resource == AL_RESOURCE_LOG_LINES;
}

struct agent_limits limits; /* the loop alone reads and writes */

static uint64_t limit_of(const struct account *account, al_resource resource)
{
	const uint64_t limit = account->user ? limits.client[resource] : limits.user[resource];

	if (account->user && account_of_users_only(resource))
		return AGENT_NO_LIMIT;
	if ((resource == AL_RESOURCE_WORKERS || resource == AL_RESOURCE_CLOSERS) && !limit)
		return 1; /* what waits for one would wait for ever */
	return limit;
}

#define KEPT 10 /* percent of each budget, for root and the agent's own user only */

static uint64_t percent(uint64_t of, uint32_t percent)
{
	return of / 100 * percent + of % 100 * percent / 100;
}

/* Mappings that the process may have, without an eighth for its own memory, threads and
 * libraries. */
static uint64_t mappings_of_process(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long most;
	bool good = file && fscanf(file, "%lu", &most) == 1;

	if (file)
		fclose(file);
	return good ? most - most / 8 : AGENT_NO_LIMIT;
}

/* Descriptors that the process may have, without an eighth for its own. */
static uint64_t descriptors_of_process(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return AGENT_NO_LIMIT;
	return limit.rlim_cur - limit.rlim_cur / 8;
}

/* What the machine has of a resource for clients; AGENT_NO_LIMIT: any amount, or it can not be
 * asked. */
static uint64_t machine_has(al_resource resource)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (pages <= 0 || page <= 0)
		return AGENT_NO_LIMIT;
	switch (resource) {
	case AL_RESOURCE_BYTES:
		return (uint64_t)pages * (uint64_t)page / 2;
	case AL_RESOURCE_RINGS:
		return (uint64_t)pages * (uint64_t)page / 8;
	case AL_RESOURCE_MAPPINGS:
		return mappings_of_process();
	case AL_RESOURCE_DESCRIPTORS:
		return descriptors_of_process();
	default:
		return AGENT_NO_LIMIT;
	}
}

/* The most that the user may have of a resource, as long as the others have what they have now.
 * Under the lock. */
static uint64_t share_of(const struct account *user, al_resource resource)
{
	const uint64_t budget = accounts.total[resource].budget;
	const uint64_t others = accounts.total[resource].now - user->show.use[resource].now;
	uint64_t left = budget > others ? budget - others : 0, share;

	if (budget == AGENT_NO_LIMIT)
		return AGENT_NO_LIMIT;
	if (user->privileged)
		return left;
	left -= left < percent(budget, KEPT) ? left : percent(budget, KEPT);
	share = percent(left, accounts.share);
	return share || !left ? share : 1; /* the last one is somebody's */
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
	accounts.share = to->share;
	for (int r = 0; r < AL_RESOURCES; r++) {
		const uint64_t most =
			r == AL_RESOURCE_WORKERS ? to->workers : machine_has((al_resource)r);

		accounts.total[r].budget = to->total[r] < most ? to->total[r] : most;
		if (r == AL_RESOURCE_CLOSERS && !accounts.total[r].budget)
			accounts.total[r].budget = 1; /* descriptors would wait for ever */
	}
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

/* What a charge would exceed. */
enum bound { BOUND_NONE, BOUND_CLIENT, BOUND_USER, BOUND_SHARE };

struct refusal {
	enum bound bound;
	uint64_t now, limit, budget; /* BOUND_SHARE: limit is the share, and now what the user has */
};

/* The reason for the client. */
static al_status refuse_for_client(const struct refusal *r, al_resource resource)
{
	if (r->bound == BOUND_SHARE)
		return ib_refuse(
			AL_LIMIT_EXCEEDED,
			"the user has %llu of the agent's %llu %s, and the user's share of what others leave is %llu; end programs of the user",
			(unsigned long long)r->now, (unsigned long long)r->budget,
			al_resource_str(resource), (unsigned long long)r->limit);
	return ib_refuse(
		AL_LIMIT_EXCEEDED,
		"the agent's limit for this %s is %llu %s, of which %llu are in use; ibal.conf(5) says how to raise it",
		r->bound == BOUND_CLIENT ? "client" : "user", (unsigned long long)r->limit,
		al_resource_str(resource), (unsigned long long)r->now);
}

/* True: nothing is beyond the limit. */
static bool fits(uint64_t now, uint64_t limit, uint64_t amount)
{
	if (!amount)
		return true; /* also if a lowered limit is below what the account has */
	return amount <= limit && now <= limit - amount && amount != AGENT_TOO_MUCH;
}

/* What the account's part of a charge would exceed. Under the lock. */
static struct refusal check(const struct account *account, al_resource resource, uint64_t amount)
{
	const struct al_snap_use *use = &account->show.use[resource];
	struct refusal r = { .now = use->now, .limit = use->limit };

	if (!fits(r.now, r.limit, amount)) {
		r.bound = account->user ? BOUND_CLIENT : BOUND_USER;
	} else if (!account->user) {
		r.limit = share_of(account, resource);
		r.budget = accounts.total[resource].budget;
		r.bound = fits(r.now, r.limit, amount) ? BOUND_NONE : BOUND_SHARE;
	}
	return r;
}

/* What a charge of the account and its user would exceed. Under the lock. */
static struct refusal check_all(const struct account *account, al_resource resource,
				uint64_t amount)
{
	struct refusal refusal = { .bound = BOUND_NONE };

	for (const struct account *a = account; a && !refusal.bound; a = a->user)
		refusal = check(a, resource, amount);
	return refusal;
}

/* Under the lock. */
static void add(struct account *account, al_resource resource, uint64_t amount)
{
	accounts.total[resource].now += amount;
	for (struct account *a = account; a; a = a->user) {
		struct al_snap_use *use = &a->show.use[resource];

		use->now += amount;
		use->high = use->high < use->now ? use->now : use->high;
	}
}

/* Charges the account and its user, or if the refusal has a bound neither. Under the lock. */
static struct refusal charge(struct account *account, al_resource resource, uint64_t amount)
{
	const struct refusal refusal = check_all(account, resource, amount);

	if (!refusal.bound)
		add(account, resource, amount);
	return refusal;
}

/* Counts a refusal. Under the lock. */
static void refuse(struct account *account, al_resource resource)
{
	for (struct account *a = account; a; a = a->user) {
		a->show.refused++;
		a->show.use[resource].refused++;
	}
}

#define LOG_SECONDS 10

/* A new stretch of time: nobody has used any line of it. Under the lock. */
static void renew_log_lines(void)
{
	for (struct account *a = accounts.users; a; a = a->next)
		a->show.use[AL_RESOURCE_LOG_LINES].now = 0;
	accounts.total[AL_RESOURCE_LOG_LINES].now = 0;
}

bool account_may_log(struct account *account)
{
	static time_t since;        /* both under the lock */
	static uint32_t suppressed; /* messages since `since` */
	struct account *user = account->user ? account->user : account;
	uint32_t to_report = 0;
	struct timespec now;
	bool may;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&accounts.lock);
	if (!since || now.tv_sec - since >= LOG_SECONDS) {
		since = now.tv_sec;
		to_report = suppressed;
		suppressed = 0;
		renew_log_lines();
	}
	may = !charge(user, AL_RESOURCE_LOG_LINES, 1).bound;
	if (!may) {
		suppressed++;
		refuse(user, AL_RESOURCE_LOG_LINES);
	}
	pthread_mutex_unlock(&accounts.lock);
	if (to_report)
		ib_log(IB_LOG_WARNING, "ald",
		       "%u more refusals of clients were not logged: each user has a share of \"log_lines\" of "
		       "[ald total] in ibal.conf(5)",
		       to_report);
	return may;
}

/* Logs that a client, or a user without one, is refused a resource. */
static void log_refusal(struct account *account, const struct refusal *r, al_resource resource)
{
	const struct al_snap_client *c = &account->show;
	char name[64] = "";

	if (!account_may_log(account))
		return;
	if (c->pid)
		snprintf(name, sizeof(name), "%s[%d] of ", c->comm, (int)c->pid);
	if (r->bound == BOUND_SHARE)
		ib_log(IB_LOG_WARNING, "ald",
		       "%suser %u is refused more: the user has %llu of ald's %llu %s, and the user's share of what others leave "
		       "is %llu; end programs of the user, or raise \"share\" or ald's budget in ibal.conf(5)",
		       name, (unsigned int)c->uid, (unsigned long long)r->now,
		       (unsigned long long)r->budget, al_resource_str(resource),
		       (unsigned long long)r->limit);
	else
		ib_log(IB_LOG_WARNING, "ald",
		       "%suser %u is refused more: the %s's limit is %llu %s; ibal.conf(5) says how to raise it",
		       name, (unsigned int)c->uid, r->bound == BOUND_CLIENT ? "client" : "user",
		       (unsigned long long)r->limit, al_resource_str(resource));
}

/* Charges the amount, or only looks whether it could. */
static al_status ask(struct account *account, al_resource resource, uint64_t amount, bool charges)
{
	struct refusal refusal;
	bool first = false;

	pthread_mutex_lock(&accounts.lock);
	refusal =
		charges ? charge(account, resource, amount) : check_all(account, resource, amount);
	if (refusal.bound) {
		refuse(account, resource);
		first = !account->refusal_logged;
		account->refusal_logged = true;
	}
	pthread_mutex_unlock(&accounts.lock);
	if (first)
		log_refusal(account, &refusal, resource);
	return refusal.bound ? refuse_for_client(&refusal, resource) : AL_SUCCESS;
}

bool account_take(struct account *account, al_resource resource, uint64_t amount)
{
	enum bound bound;

	pthread_mutex_lock(&accounts.lock);
	bound = charge(account, resource, amount).bound;
	pthread_mutex_unlock(&accounts.lock);
	return !bound;
}

bool account_could_take(struct account *account, al_resource resource, uint64_t amount)
{
	enum bound bound;

	pthread_mutex_lock(&accounts.lock);
	bound = check_all(account, resource, amount).bound;
	pthread_mutex_unlock(&accounts.lock);
	return !bound;
}

al_status account_charge(struct account *account, al_resource resource, uint64_t amount)
{
	return ask(account, resource, amount, true);
}

al_status account_check(struct account *account, al_resource resource, uint64_t amount)
{
	return ask(account, resource, amount, false);
}

void account_force(struct account *account, al_resource resource, uint64_t amount)
{
	pthread_mutex_lock(&accounts.lock);
	add(account, resource, amount);
	pthread_mutex_unlock(&accounts.lock);
}

/* Under the lock. */
static void give_back(struct account *account, al_resource resource, uint64_t amount)
{
	accounts.total[resource].now -= amount;
	for (struct account *a = account; a; a = a->user)
		a->show.use[resource].now -= amount;
}

void account_return(struct account *account, al_resource resource, uint64_t amount)
{
	pthread_mutex_lock(&accounts.lock);
	give_back(account, resource, amount);
	pthread_mutex_unlock(&accounts.lock);
}

void account_leave_to_user(struct account *client, al_resource resource, uint64_t amount)
{
	pthread_mutex_lock(&accounts.lock);
	client->show.use[resource].now -= amount;
	pthread_mutex_unlock(&accounts.lock);
}

/* ----------------------------------------------------------- clients, users */

static void unlink_account(struct account **list, const struct account *account)
{
	while (*list != account)
		list = &(*list)->next;
	*list = account->next;
}

/* True: the user is charged nothing, and has no clients. Under the lock. */
static bool is_idle(const struct account *user)
{
	for (int r = 0; r < AL_RESOURCES; r++)
		if (user->show.use[r].now && r != AL_RESOURCE_LOG_LINES)
			return false;
	return true;
}

/* Frees the account of a user, which is out of the list. Under the lock. */
static void free_user(struct account *user)
{
	give_back(user, AL_RESOURCE_LOG_LINES, user->show.use[AL_RESOURCE_LOG_LINES].now);
	accounts.num_users--;
	al_free(user);
}

/* Frees the oldest account of a user without clients. Under the lock. */
static void forget_idle_user(void)
{
	struct account *idle = NULL;

	for (struct account *a = accounts.users; a; a = a->next)
		if (is_idle(a))
			idle = a;
	if (!idle)
		return;
	unlink_account(&accounts.users, idle);
	free_user(idle);
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
	user->privileged = !uid || uid == geteuid();
	set_limits(user);
	user->next = accounts.users;
	accounts.users = user;
	accounts.num_users++;
	return user;
}

struct account *account_user(uint32_t uid)
{
	struct account *user;

	pthread_mutex_lock(&accounts.lock);
	user = find_user(uid);
	pthread_mutex_unlock(&accounts.lock);
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
		give_back(client, (al_resource)r, client->show.use[r].now);
	pthread_mutex_unlock(&accounts.lock);
}

void account_end(void)
{
	struct account **p = &accounts.users;

	while (*p) {
		struct account *user = *p;

		if (!is_idle(user)) { /* a client's, for whose copy ald_stop() does not wait */
			p = &user->next;
			continue;
		}
		*p = user->next;
		free_user(user);
	}
}

/* ----------------------------------------------------------------- watching */

/* Copies the accounts of one user, or all. Returns their number. */
static uint64_t copy_accounts(const struct account *from, bool all, uint32_t uid, struct al_snap_client *to)
{
	uint64_t num = 0;

	for (; from; from = from->next) {
		if (!all && from->show.uid != uid)
			continue;
		to[num] = from->show;
		for (int r = 0; r < AL_RESOURCES; r++)
			to[num].use[r].share = from->user ? AGENT_NO_LIMIT : share_of(from, (al_resource)r);
		num++;
	}
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
