/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent as a whole: its start, changes of its configuration, its end. Options and signals of
 * the program ald are in main.c.
 *
 * HOW IT WORKS
 *
 * One loop thread sleeps in epoll and owns all bookkeeping: sessions, connections, tables of
 * objects. The loop reads a request once, into memory of its connection. There the command table
 * (command.c) checks size, counts, flags, rights, handles (kind, owner, generation) and limits. The
 * loop itself executes the commands that never sleep. A bounded pool of workers executes the
 * commands that may sleep; workers see values only, never the tables. After a worker has executed a
 * command, the loop finishes the command: it enters the new object in the client's table or frees
 * its place, sends the answer, and reads the connection's next request. Destroys are asynchronous
 * in the Access Layer, so they need no worker. The loop sleeps nowhere but in epoll, and never
 * waits for a client.
 *
 * The memory of a client may be such that a thread which copies from or to it blocks. Only a thread
 * of that client copies (al/object/client.c). So only that client's own requests, and the end of
 * its session, wait for such a copy.
 *
 * Each file has a header of its own and includes only the headers before it in this list:
 *
 *     ald.h protocol    the interfaces to programs and to clients
 *     account right descriptor socket
 *     loop              watched descriptors; each brings the function that the loop calls
 *     pool              jobs for workers, and jobs from any thread for the loop; each brings its
 * functions event hca memory  events on their way to a client, the client's HCAs, its shared memory
 *     stage             datagrams that come from a client in several records
 *     object session    a client's objects; a client
 *     connection        a request and its answer
 *     guard             requests whose right depends on their content
 *     verbs post mad snapshot, then command, door, ald
 *
 * A session ends its connections, which are above it in the list: session_begin() takes the
 * function that does so.
 *
 * LOCKS: pool.c has one (both queues of jobs), each outbox one (event.h), account.c one,
 * descriptor.c one (descriptors that are to be closed). All are leaves.
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

static al_h library;  /* open as long as the agent runs, so that the HCAs' modules stay loaded */
static bool stopping; /* the loop's: loop_main() returns when the last session is gone */

static void *loop_main(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "ald-loop");
	while (!stopping || sessions)
		loop_once();
	return NULL;
}

/* ------------------------------------------------------------ start and end */

static pthread_t loop_thread;

static al_status open_loop(const struct ald_attr *attr)
{
	if (!door_open(attr))
		return AL_IO_ERROR;
	if (loop_open() && pool_open(attr->limits.workers) && door_watch())
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "ald", "can not start: %s", strerror(errno));
	return AL_INSUFFICIENT_RESOURCES;
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
	stopping = false;
	status = open_loop(attr);
	if (status)
		goto fail;
	status = al_open(&own, &library);
	if (status) {
		ib_log(IB_LOG_ERROR, "ald", "can not open the library: %s", al_status_str(status));
		goto fail;
	}
	if (!pthread_create(&loop_thread, NULL, loop_main, NULL))
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "ald", "can not start: no thread can be made");
	close_library();
	status = AL_INSUFFICIENT_RESOURCES;
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

	account_limits(&change->attr->limits);
	rights_set(change->attr->grants);
	sessions_update_rights();
	sem_post(&change->done);
}

void ald_configure(const struct ald_attr *attr)
{
	struct change c = { .job.done = apply_change, .attr = attr };

	sem_init(&c.done, 0, 0);
	pool_done(&c.job);
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
	pool_done(&d.job);
}

/* On the loop. Ends all sessions: their clients find the agent lost. */
static void stop(struct job *job)
{
	(void)job;
	stopping = true;
	door_shut();
	sessions_end("the agent stops");
}

void ald_stop(void)
{
	struct job job = { .done = stop };

	pool_done(&job);
	pthread_join(loop_thread, NULL);
	close_loop();
	close_library();
	account_end();
}
