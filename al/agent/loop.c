/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's loop and its pool of workers: their beginning, work and end. */
#include "al/agent/agent.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of each kind of object per client; of users none. */
#define OBJECTS 4096

const struct agent_limits ald_default_limits = {
	.sessions = 1024,
	.workers = 4,
	.client = {
		[AL_RESOURCE_CLIENTS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CONNECTIONS] = 16,
		[AL_RESOURCE_CAS] = OBJECTS,
		[AL_RESOURCE_PDS] = OBJECTS,
		[AL_RESOURCE_MRS] = OBJECTS,
		[AL_RESOURCE_CQS] = OBJECTS,
		[AL_RESOURCE_QPS] = OBJECTS,
		[AL_RESOURCE_BYTES] = 1ull << 30,
		[AL_RESOURCE_RINGS] = 64ull << 20,
	},
	.user = {
		[AL_RESOURCE_CLIENTS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CONNECTIONS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CAS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_PDS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_MRS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_CQS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_QPS] = AGENT_NO_LIMIT,
		[AL_RESOURCE_BYTES] = AGENT_NO_LIMIT,
		[AL_RESOURCE_RINGS] = AGENT_NO_LIMIT,
	},
};

static int epoll_fd = -1, listener = -1;
static bool stopping, draining;
static void (*on_drained)(void);
static al_h library; /* keeps the HCAs' modules */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int loop_watch(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watched };

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int loop_change(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watched };

	return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void loop_unwatch(int fd)
{
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* ------------------------------------------------------------------ workers */

static struct {
	pthread_mutex_t lock; /* guards both lists. Leaf. */
	pthread_cond_t more;
	struct job *work, **work_end;
	struct job *done, **done_end;
	int event;    /* wakes the loop */
	bool closing; /* workers end when there is no work */
	pthread_t *workers;
	uint32_t num_workers;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .more = PTHREAD_COND_INITIALIZER,
	   .work_end = &pool.work,
	   .done_end = &pool.done,
	   .event = -1 };

void pool_work(struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&pool.lock);
	*pool.work_end = job;
	pool.work_end = &job->next;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
}

void pool_done(struct job *job)
{
	const uint64_t one = 1;
	bool first;

	job->next = NULL;
	pthread_mutex_lock(&pool.lock);
	first = !pool.done;
	*pool.done_end = job;
	pool.done_end = &job->next;
	/* Under the lock: when the loop has seen the job, this is no longer needed. Without a loop
	 * the job is that of a client which has outlasted its agent: another one sees to it. */
	if (first && pool.event >= 0 && write(pool.event, &one, sizeof(one)) < 0)
		abort(); /* a counter that is read before it is full */
	pthread_mutex_unlock(&pool.lock);
}

/* NULL: the pool is closed. */
static struct job *next_work(void)
{
	struct job *job;

	pthread_mutex_lock(&pool.lock);
	while (!pool.work && !pool.closing)
		pthread_cond_wait(&pool.more, &pool.lock);
	job = pool.work;
	if (job && !(pool.work = job->next))
		pool.work_end = &pool.work;
	pthread_mutex_unlock(&pool.lock);
	return job;
}

static void *worker_main(void *arg)
{
	struct job *job;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-worker");
	while ((job = next_work())) {
		job->work(job);
		pool_done(job);
	}
	return NULL;
}

static void see_done(void)
{
	struct job *job, *next;
	uint64_t count;

	if (read(pool.event, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&pool.lock);
	job = pool.done;
	pool.done = NULL;
	pool.done_end = &pool.done;
	pthread_mutex_unlock(&pool.lock);
	for (; job; job = next) {
		next = job->next;
		job->done(job);
	}
}

static bool pool_open(void)
{
	const uint64_t one = 1;

	pool.closing = false;
	pthread_mutex_lock(&pool.lock);
	pool.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool.event >= 0 && pool.done && write(pool.event, &one, sizeof(one)) < 0)
		close_fd(&pool.event);
	pthread_mutex_unlock(&pool.lock);
	pool.workers = al_alloc(limits.workers * sizeof(*pool.workers));
	if (pool.event < 0 || !pool.workers)
		return false;
	for (; pool.num_workers < limits.workers; pool.num_workers++)
		if (pthread_create(&pool.workers[pool.num_workers], NULL, worker_main, NULL))
			return false;
	return true;
}

static void pool_close(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.closing = true;
	pthread_cond_broadcast(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	while (pool.num_workers)
		pthread_join(pool.workers[--pool.num_workers], NULL);
	see_done(); /* what nobody waited for */
	al_free(pool.workers);
	pool.workers = NULL;
	pthread_mutex_lock(&pool.lock);
	close_fd(&pool.event);
	pthread_mutex_unlock(&pool.lock);
}

/* --------------------------------------------------------------------- loop */

static void see(const struct watched *watched, uint32_t events)
{
	switch (watched->what) {
	case WATCH_LISTEN:
		connection_accept(listener);
		break;
	case WATCH_DONE:
		see_done();
		break;
	case WATCH_STRANGER:
		connection_hello(watched->of);
		break;
	case WATCH_LINE:
		line_readable(watched->of);
		break;
	case WATCH_EVENTS:
		/* A client says nothing here: whatever can be read is its end. */
		if (events & ~(uint32_t)EPOLLOUT)
			session_end(watched->of, "its connection is closed");
		else
			session_flush(watched->of);
		break;
	case WATCH_PIDFD:
		session_end(watched->of, "it is dead");
		break;
	}
}

bool loop_draining(void)
{
	return draining;
}

static void see_drained(void)
{
	void (*drained)(void) = on_drained;

	if (!draining || sessions || !drained)
		return;
	on_drained = NULL;
	drained();
}

static void *loop_main(void *arg)
{
	struct epoll_event event;

	(void)arg;
	pthread_setname_np(pthread_self(), "ald-loop");
	/* One at a time: what is seen to may free what the next would be about. */
	while (!stopping || sessions)
		if (epoll_wait(epoll_fd, &event, 1, -1) == 1) {
			see(event.data.ptr, event.events);
			see_drained();
		}
	return NULL;
}

/* ------------------------------------------------------------ start and end */

static pthread_t loop_thread;
static char socket_path[108]; /* ours to remove; empty: the service manager's */
static struct stat socket_file;

static al_status open_loop(void)
{
	static struct watched on_listen = { WATCH_LISTEN }, on_done = { WATCH_DONE };

	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (connection_init() && epoll_fd >= 0 && pool_open() &&
	    !loop_watch(listener, &on_listen, EPOLLIN) &&
	    !loop_watch(pool.event, &on_done, EPOLLIN))
		return AL_SUCCESS;
	ib_log(IB_LOG_ERROR, "ald", "can not start: %s", strerror(errno));
	return AL_INSUFFICIENT_RESOURCES;
}

/* Unless another agent has made its own there meanwhile. */
static void remove_socket(void)
{
	struct stat now;

	if (*socket_path && !stat(socket_path, &now) && now.st_dev == socket_file.st_dev &&
	    now.st_ino == socket_file.st_ino)
		unlink(socket_path);
	*socket_path = '\0';
}

static void close_loop(void)
{
	pool_close();
	connection_end();
	remove_socket(); /* while it is ours for certain: the listener keeps its number from others */
	close_fd(&listener);
	close_fd(&epoll_fd);
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
	stopping = draining = false;
	on_drained = NULL;
	listener = attr->listener ? attr->listener : socket_listen(attr->socket, attr->mode);
	if (listener < 0)
		return AL_IO_ERROR;
	snprintf(socket_path, sizeof(socket_path), "%s", attr->listener ? "" : attr->socket);
	if (*socket_path && stat(socket_path, &socket_file))
		*socket_path = '\0';
	status = open_loop();
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
	const struct ald_attr *to;
	sem_t done;
};

static void change(struct job *job)
{
	struct change *change = (struct change *)((char *)job - offsetof(struct change, job));

	account_limits(&change->to->limits);
	rights_set(change->to->grants);
	for (struct session *s = sessions; s; s = s->next)
		s->right = right_of(s->events);
	sem_post(&change->done);
}

void ald_configure(const struct ald_attr *attr)
{
	struct change c = { .job.done = change, .to = attr };

	sem_init(&c.done, 0, 0);
	pool_done(&c.job);
	while (sem_wait(&c.done))
		;
	sem_destroy(&c.done);
}

static void close_door(void)
{
	if (listener < 0)
		return;
	loop_unwatch(listener);
	/* First, so that who comes finds none, and not one that nobody listens on. */
	remove_socket();
	close_fd(&listener);
	connection_end_strangers();
}

static void drain(struct job *job)
{
	(void)job;
	draining = true;
	close_door();
	for (struct session *next, *s = sessions; s; s = next) {
		next = s->next;
		if (!session_try_finish(s))
			source_raise(&s->ready, SOURCE_ENDING);
	}
}

void ald_drain(void (*drained)(void))
{
	static struct job job = { .done = drain };

	on_drained = drained;
	pool_done(&job);
}

/* Those that are still here find the agent lost. */
static void stop(struct job *job)
{
	(void)job;
	stopping = true;
	close_door();
	for (struct session *next, *s = sessions; s; s = next) {
		next = s->next;
		session_end(s, "the agent stops");
	}
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
