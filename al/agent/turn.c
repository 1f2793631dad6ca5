/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queues of jobs with turns by user and by client. */
#include "al/agent/turn.h"

static void jobs_add(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	if (!jobs->first)
		jobs->end = &jobs->first;
	*jobs->end = job;
	jobs->end = &job->next;
}

static struct job *jobs_take(struct jobs *jobs)
{
	struct job *job = jobs->first;

	if (job)
		jobs->first = job->next;
	return job;
}

static void jobs_take_out(struct jobs *jobs, const struct job *job)
{
	struct job **p;

	for (p = &jobs->first; *p != job; p = &(*p)->next)
		;
	*p = job->next;
	if (!*p)
		jobs->end = p;
}

/* An account without a user is a user's. */
static struct account *user_of(struct account *account)
{
	return account->user ? account->user : account;
}

/* Puts a client with jobs last among its user's clients. A user's own account counts as a client.
 */
static void line_up(struct turns *turns, struct account *client)
{
	struct account_turn *turn = &client->turn[turns->queue],
			    *user = &user_of(client)->turn[turns->queue];

	turn->next = NULL;
	if (!user->first)
		user->end = &user->first;
	*user->end = client;
	user->end = &turn->next;
}

/* Puts a user with jobs last among the users. */
static void line_up_user(struct turns *turns, struct account *user)
{
	user->turn[turns->queue].next_user = NULL;
	if (!turns->first)
		turns->end = &turns->first;
	*turns->end = user;
	turns->end = &user->turn[turns->queue].next_user;
}

bool turns_empty(const struct turns *turns)
{
	return !turns->own.first && !turns->first;
}

bool turns_any(const struct turns *turns, bool (*may)(struct account *user))
{
	if (turns->own.first)
		return true;
	for (struct account *user = turns->first; user; user = user->turn[turns->queue].next_user)
		if (may(user))
			return true;
	return false;
}

void turns_add(struct turns *turns, struct job *job)
{
	struct account *client = job->account, *user;
	bool client_waits, user_waits;

	if (!client) {
		jobs_add(&turns->own, job);
		return;
	}
	user = user_of(client);
	client_waits = client->turn[turns->queue].jobs.first;
	user_waits = user->turn[turns->queue].first;
	jobs_add(&client->turn[turns->queue].jobs, job);
	if (!client_waits)
		line_up(turns, client);
	if (!user_waits)
		line_up_user(turns, user);
}

/* Takes the user at *place out of the queue of users. */
static void leave(struct turns *turns, struct account **place)
{
	*place = (*place)->turn[turns->queue].next_user;
	if (!*place)
		turns->end = place;
}

/* The first user for whom may() is true takes his turn, and is last from now on. */
static struct job *take_of_user(struct turns *turns, struct account **place)
{
	struct account *user = *place, *client;
	struct account_turn *turn = &user->turn[turns->queue];
	struct job *job;

	client = turn->first;
	turn->first = client->turn[turns->queue].next;
	job = jobs_take(&client->turn[turns->queue].jobs);
	if (client->turn[turns->queue].jobs.first)
		line_up(turns, client);
	leave(turns, place);
	if (turn->first)
		line_up_user(turns, user);
	return job;
}

struct job *turns_take(struct turns *turns, bool (*may)(struct account *user))
{
	struct account **place;

	if (turns->own.first)
		return jobs_take(&turns->own);
	for (place = &turns->first; *place; place = &(*place)->turn[turns->queue].next_user)
		if (!may || may(*place))
			return take_of_user(turns, place);
	return NULL;
}

void turns_take_out(struct turns *turns, const struct job *job)
{
	struct account *client = job->account, *user, **p;
	struct account_turn *turn;

	if (!client) {
		jobs_take_out(&turns->own, job);
		return;
	}
	jobs_take_out(&client->turn[turns->queue].jobs, job);
	if (client->turn[turns->queue].jobs.first)
		return;
	user = user_of(client);
	turn = &user->turn[turns->queue];
	for (p = &turn->first; *p != client; p = &(*p)->turn[turns->queue].next)
		;
	*p = client->turn[turns->queue].next;
	if (!*p)
		turn->end = p;
	if (turn->first)
		return;
	for (p = &turns->first; *p != user; p = &(*p)->turn[turns->queue].next_user)
		;
	leave(turns, p);
}
