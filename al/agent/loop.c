/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's loop, on epoll. Several threads may wait in epoll, so each descriptor is reported
 * once (EPOLLONESHOT) and waited for again after its function has been called. What epoll reports
 * names a place in a table and the place's generation: a thread that comes late with the report of
 * a descriptor that is not watched any more finds another generation, and touches nothing else.
 */
#include "al/agent/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <iba/ib_hca.h>

/* After so many jobs in a row the descriptors that are ready have a turn: the queue may never be
 * empty, since a connection that has been answered is asked for its next request. */
#define TURN 16

#define GATHER 64 /* descriptors that are asked for at a time */

/* A descriptor that the loop watches; loop.places has them by their numbers. */
struct place {
	struct watched *watched; /* NULL: the descriptor is not watched */
	uint32_t generation; /* changes with each loop_watch(), loop_change() and loop_unwatch() */
	uint32_t events;     /* EPOLL* bits to wait for */
	bool held;           /* between loop_hold() and loop_resume() */
};

static struct {
	pthread_mutex_t
		lock; /* guards everything here but epoll_wait(). Outside the pool's lock. */
	int epoll;
	int wake; /* eventfd, reported at each write; -1: no loop */
	struct place *places;
	uint32_t num_places;
	struct turns turns;       /* the queue */
	bool taken;               /* a thread does the jobs of the queue */
} loop = { .lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1, .wake = -1, .turns.queue = QUEUE_LOOP };

/* ----------------------------------------------------------------- the queue */

/* The counter is not read: epoll reports each write. Under the lock, since loop_close() closes the
 * descriptor. */
static void write_wake(void)
{
	const uint64_t one = 1;

	if (loop.wake >= 0 && write(loop.wake, &one, sizeof(one)) < 0)
		abort(); /* can not happen: the counter has room, and the descriptor is open */
}

/* Without a loop the job is of a client that has outlasted its agent: the loop of the process's
 * next agent does the job. */
void loop_post(struct job *job)
{
	bool first;

	pthread_mutex_lock(&loop.lock);
	first = turns_empty(&loop.turns);
	turns_add(&loop.turns, job);
	if (first && !loop.taken) /* else a thread has been woken, or does the job next */
		write_wake();
	pthread_mutex_unlock(&loop.lock);
}

void loop_add(struct job *job)
{
	pthread_mutex_lock(&loop.lock);
	turns_add(&loop.turns, job);
	pthread_mutex_unlock(&loop.lock);
}

void loop_wake(void)
{
	pthread_mutex_lock(&loop.lock);
	write_wake();
	pthread_mutex_unlock(&loop.lock);
}

/* ------------------------------------------------------------- descriptors */

/* Waits for the descriptor, which is reported at once if it is ready. */
static void wait_for(int fd, int op)
{
	const struct place *place = &loop.places[fd];
	struct epoll_event event = { .events = place->events | EPOLLONESHOT,
				     .data.u64 = (uint64_t)place->generation << 32 | (uint32_t)fd };

	epoll_ctl(loop.epoll, op, fd, &event);
}

/* The job of a descriptor that is ready. see() may free the struct. */
static void call_see(struct job *job)
{
	struct watched *watched = container_of(job, struct watched, ready);
	const struct place *place;
	uint32_t events, generation;
	int fd;

	pthread_mutex_lock(&loop.lock);
	watched->queued = false;
	events = watched->events;
	watched->events = 0;
	fd = watched->fd;
	generation = loop.places[fd].generation;
	pthread_mutex_unlock(&loop.lock);

	watched->see(watched, events);

	pthread_mutex_lock(&loop.lock);
	place = &loop.places[fd];
	if (place->generation == generation && !place->held && !watched->queued)
		wait_for(fd, EPOLL_CTL_MOD);
	pthread_mutex_unlock(&loop.lock);
}

/* Queues the job of a descriptor. */
static void queue_ready(struct watched *watched, uint32_t events)
{
	watched->events |= events;
	if (!watched->queued) {
		watched->ready.account = watched->account;
		turns_add(&loop.turns, &watched->ready);
	}
	watched->queued = true;
}

static void forget_ready(struct watched *watched)
{
	if (watched->queued)
		turns_take_out(&loop.turns, &watched->ready);
	watched->queued = false;
}

/* The place of a descriptor that is watched, or NULL. */
static struct place *place_of(int fd)
{
	struct place *place = (uint32_t)fd < loop.num_places ? &loop.places[fd] : NULL;

	return place && place->watched ? place : NULL;
}

static bool make_room(uint32_t places)
{
	uint32_t room = loop.num_places ? loop.num_places : 64;
	struct place *grown;

	if (places <= loop.num_places)
		return true;
	while (room < places)
		room *= 2;
	grown = al_alloc(room * sizeof(*grown));
	if (!grown)
		return false;
	if (loop.num_places)
		memcpy(grown, loop.places, loop.num_places * sizeof(*grown));
	al_free(loop.places);
	loop.places = grown;
	loop.num_places = room;
	return true;
}

static void set_place(int fd, struct watched *watched, uint32_t events)
{
	struct place *place = &loop.places[fd];

	place->watched = watched;
	place->generation++;
	place->events = events;
	place->held = false;
	watched->ready.done = call_see;
	watched->fd = fd;
}

int loop_watch(int fd, struct watched *watched, uint32_t events)
{
	struct epoll_event none = { 0 };
	int failed = -1;

	pthread_mutex_lock(&loop.lock);
	if (!make_room((uint32_t)fd + 1)) {
		errno = ENOMEM;
	} else if (!epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &none)) {
		set_place(fd, watched, events);
		wait_for(fd, EPOLL_CTL_MOD);
		failed = 0;
	}
	pthread_mutex_unlock(&loop.lock);
	return failed;
}

void loop_change(int fd, struct watched *watched, uint32_t events)
{
	struct place *place;

	pthread_mutex_lock(&loop.lock);
	place = place_of(fd);
	if (place) {
		if (place->watched != watched)
			forget_ready(place->watched);
		set_place(fd, watched, events);
		wait_for(fd, EPOLL_CTL_MOD);
	}
	pthread_mutex_unlock(&loop.lock);
}

void loop_unwatch(int fd)
{
	struct place *place;

	pthread_mutex_lock(&loop.lock);
	place = place_of(fd);
	if (place) {
		forget_ready(place->watched);
		place->watched = NULL;
		place->generation++;
		epoll_ctl(loop.epoll, EPOLL_CTL_DEL, fd, NULL);
	}
	pthread_mutex_unlock(&loop.lock);
}

void loop_hold(int fd)
{
	pthread_mutex_lock(&loop.lock);
	loop.places[fd].held = true;
	pthread_mutex_unlock(&loop.lock);
}

void loop_resume(int fd)
{
	struct place *place;

	pthread_mutex_lock(&loop.lock);
	place = &loop.places[fd];
	place->held = false;
	queue_ready(place->watched, place->events);
	pthread_mutex_unlock(&loop.lock);
}

/* Queues the jobs of descriptors that are ready. most: how many at a time; timeout: -1, to wait
 * until one is, or 0. Returns the number. */
static int gather(int most, int timeout)
{
	struct epoll_event events[GATHER];
	const int num = epoll_wait(loop.epoll, events, most, timeout);

	pthread_mutex_lock(&loop.lock);
	for (int i = 0; i < num; i++) {
		const struct place *place = &loop.places[(uint32_t)events[i].data.u64];

		if (place->watched && place->generation == events[i].data.u64 >> 32)
			queue_ready(place->watched, events[i].events);
	}
	pthread_mutex_unlock(&loop.lock);
	return num;
}

void loop_look(void)
{
	gather(GATHER, 0);
}

void loop_wait(void)
{
	gather(1, -1);
}

/* Queues the jobs of all descriptors that are ready, since whose turn it is can be told of all
 * only. Each descriptor is reported once, so this ends. */
static void gather_all(void)
{
	while (gather(GATHER, 0) == GATHER)
		;
}

/* ------------------------------------------------------------------ the jobs */

enum loop_state loop_run(bool (*enough)(void))
{
	enum loop_state state = LOOP_TAKEN;
	uint32_t jobs = 0;
	struct job *job;

	pthread_mutex_lock(&loop.lock);
	if (!loop.taken) {
		loop.taken = true;
		while ((job = turns_take(&loop.turns, NULL))) {
			pthread_mutex_unlock(&loop.lock);
			job->done(job);
			if (++jobs % TURN == 0)
				gather_all();
			pthread_mutex_lock(&loop.lock);
			if (enough && enough())
				break;
		}
		loop.taken = false;
		state = turns_empty(&loop.turns) ? LOOP_EMPTY : LOOP_LEFT;
	}
	pthread_mutex_unlock(&loop.lock);
	return state;
}

/* ------------------------------------------------------------ start and end */

/* The eventfd has a place which is never watched, so that loop_wait() queues nothing for it. */
static bool report_wake(int op, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint32_t)loop.wake };

	return make_room((uint32_t)loop.wake + 1) && !epoll_ctl(loop.epoll, op, loop.wake, &event);
}

bool loop_open(void)
{
	bool opened;

	pthread_mutex_lock(&loop.lock);
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	loop.wake = loop.epoll >= 0 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	opened = loop.wake >= 0 && report_wake(EPOLL_CTL_ADD, EPOLLIN | EPOLLET);
	pthread_mutex_unlock(&loop.lock);
	return opened;
}

void loop_wake_all(void)
{
	pthread_mutex_lock(&loop.lock);
	write_wake();
	if (loop.wake >= 0)
		report_wake(EPOLL_CTL_MOD, EPOLLIN);
	pthread_mutex_unlock(&loop.lock);
}

void loop_close(void)
{
	pthread_mutex_lock(&loop.lock);
	if (loop.epoll >= 0)
		close(loop.epoll);
	if (loop.wake >= 0)
		close(loop.wake);
	loop.epoll = loop.wake = -1;
	al_free(loop.places);
	loop.places = NULL;
	loop.num_places = 0;
	pthread_mutex_unlock(&loop.lock);
}
