/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent as a whole: its start, changes of its configuration, its end. Options and signals of
 * the program ald are in main.c.
 *
 * HOW IT WORKS
 *
 * The loop owns all bookkeeping: sessions, connections, tables of objects. A few threads do its
 * jobs, one thread at a time (loop.c, pool.c); most of the time one thread sleeps in epoll. It
 * reads a request once, into memory of its connection. There the command table (command.c) checks
 * size, counts, flags, rights, handles (kind, owner, generation) and limits. Commands that never
 * sleep are executed on the loop. For one that may sleep the thread leaves the loop to another one,
 * executes the command, and comes back; off the loop it sees values only, never the tables. On the
 * loop the command is finished: the new object is entered in the client's table or its place is
 * freed, the answer is sent, and the connection's next request is read. Destroys are asynchronous
 * in the Access Layer, so nothing waits for them. A thread that is on the loop sleeps nowhere, and
 * never waits for a client.
 *
 * The memory of a client may be such that a thread which copies from or to it blocks. Only a thread
 * of that client copies (al/object/client.c). So only that client's own requests, and the end of
 * its session, wait for such a copy.
 *
 * Each file has a header of its own and includes only the headers before it in this list:
 *
 *     ald.h protocol    the interfaces to programs and to clients
 *     account right socket
 *     turn descriptor   jobs in a queue, by user and client; records with descriptors
 *     loop              watched descriptors; each job brings the functions that are called
 *     pool              the threads; jobs that may sleep
 *     event hca memory  events on their way to a client, the client's HCAs, its shared memory
 *     stage             datagrams that come from a client in several records
 *     object session    a client's objects; a client
 *     connection        a request and its answer
 *     guard             requests whose right depends on their content
 *     verbs post mad snapshot, then command, door, ald
 *
 * A session ends its connections, which are above it in the list: session_begin() takes the
 * function that does so.
 *
 * LOCKS: loop.c and pool.c have one each, each outbox one (event.h), account.c one, descriptor.c
 * one (descriptors that are to be closed). An outbox's is outside the loop's, which is outside the
 * pool's, which is outside account.c's; no other one is taken under another.
 */
#include "al/agent/ald.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "al/agent/account.h"
#include "al/agent/door.h"
#include "al/agent/pool.h"
#include "al/agent/right.h"
#include "al/agent/session.h"
#include "al/agent/verbs.h"
#include "al/library/private.h"

static al_h library; /* open as long as the agent runs, so that the HCAs' modules stay loaded */

/* ------------------------------------------------------------ start and end */

static al_status no_resources(void)
{
	ib_log(IB_LOG_ERROR, "ald", "can not start: %s", strerror(errno));
	return AL_INSUFFICIENT_RESOURCES;
}

static al_status open_loop(const struct ald_attr *attr)
{
	if (!door_open(attr))
		return AL_IO_ERROR;
	return loop_open() && door_watch() ? AL_SUCCESS : no_resources();
}

static void close_loop(void)
{
	pool_close();
	door_close();
	loop_close();
}

static void close_library(void)
{
	al_close(library, AL_DESTROY_SYNC, NULL);
	library = NULL;
}

al_status ald_start(const struct ald_attr *attr)
{
	const struct al_open_attr own = { .agent = "off", .config = attr->config };
	al_status status;

	if (library)
		return AL_DUPLICATE;
	account_limits(&attr->limits);
	rights_set(attr->grants);
	sessions_tell_idle(attr->idle);
	status = open_loop(attr);
	if (status)
		goto fail;
	al_set_failure_owner(verbs_failed);
	status = al_open(&own, &library);
	if (status) {
		ib_log(IB_LOG_ERROR, "ald", "can not open the library: %s", al_status_str(status));
		goto fail;
	}
	if (pool_open(attr->limits.workers))
		return AL_SUCCESS;
	status = no_resources();
	close_library();
fail:
	close_loop();
	return status;
}

struct change {
	struct job job;
	const struct ald_attr *attr;
	sem_t done;
};

/* On the loop. */
static void apply_change(struct job *job)
{
	struct change *change = container_of(job, struct change, job);
	struct agent_limits to = change->attr->limits;

	to.workers = limits.workers; /* as many threads as the pool has, which stay */
	account_limits(&to);
	rights_set(change->attr->grants);
	sessions_update_rights();
	sem_post(&change->done);
}

void ald_configure(const struct ald_attr *attr)
{
	struct change c = { .job.done = apply_change, .attr = attr };

	sem_init(&c.done, 0, 0);
	loop_post(&c.job);
	while (sem_wait(&c.done))
		;
	sem_destroy(&c.done);
}

struct drain {
	struct job job;
	void (*drained)(void);
};

/* On the loop. */
static void drain(struct job *job)
{
	door_shut();
	sessions_drain(container_of(job, struct drain, job)->drained);
}

void ald_drain(void (*drained)(void))
{
	static struct drain d = { .job.done = drain };

	d.drained = drained;
	loop_post(&d.job);
}

struct stop {
	struct job job;
	sem_t stopped; /* no session is left */
};
static struct stop the_stop;

static void stopped(void)
{
	sem_post(&the_stop.stopped);
}

/* On the loop. Ends all sessions: their clients find the agent lost. */
static void stop(struct job *job)
{
	(void)job;
	door_shut();
	sessions_end("the agent stops", stopped);
}

void ald_stop(void)
{
	the_stop.job.done = stop;
	sem_init(&the_stop.stopped, 0, 0);
	loop_post(&the_stop.job);
	while (sem_wait(&the_stop.stopped))
		;
	close_loop();
	sem_destroy(&the_stop.stopped);
	close_library();
	account_end();
}
