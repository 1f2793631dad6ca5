/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The destroy thread.
 *
 * The destroys that one caller's thread has made take effect in their order: this thread destroys or quiesces
 * each object before it takes the next one, and an object that is quiesced takes nothing from the wire any
 * more. An object that is still referenced comes here a second time, when its last reference is dropped.
 *
 * One grace period serves a batch of objects. A clock counts the grace periods that have *started*, and
 * an object keeps the clock's value of the time when its handle became invalid. A grace period with a
 * greater number covers the object.
 */
#include "al/object/reaper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "al/object/device.h"
#include "al/object/thread.h"

struct reaper reaper_common;
__thread const struct obj_wait *obj_wait;
static _Atomic uint64_t clock_started;

/* All synchronous destroys wait here: they are few, and a waiter's stack may be gone as soon as it
 * is done. Leaf. */
static pthread_mutex_t waiters_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t waiters_changed = PTHREAD_COND_INITIALIZER;

static void waiter_end(struct obj_waiter *waiter)
{
	const struct obj_wait *how = waiter->how;

	pthread_mutex_lock(&waiters_lock);
	atomic_store(&waiter->done, true);
	pthread_cond_broadcast(&waiters_changed);
	pthread_mutex_unlock(&waiters_lock);
	if (how)
		how->kick();
}

bool waiter_wait(struct obj_waiter *waiter, const struct timespec *until)
{
	int error = 0;

	pthread_mutex_lock(&waiters_lock);
	while (!atomic_load(&waiter->done) && error != ETIMEDOUT)
		error = pthread_cond_clockwait(&waiters_changed, &waiters_lock, CLOCK_MONOTONIC,
					       until);
	pthread_mutex_unlock(&waiters_lock);
	return atomic_load(&waiter->done);
}

void reaper_child(void)
{
	pthread_mutex_init(&waiters_lock, NULL);
	pthread_cond_init(&waiters_changed, NULL);
}

uint64_t reaper_stamp(void)
{
	return atomic_load(&clock_started);
}

static void grace(struct reaper *r)
{
	uint64_t started = atomic_fetch_add(&clock_started, 1) + 1;

	rcu_wait();
	r->graced = started;
}

/* Nothing refers to the object any more, and no reader can find it. */
static void reap(struct al_obj *obj)
{
	struct obj_waiter *waiter = obj->waiter;

	if (obj->ci_created) {
		IB_TRACE("al", "%s %#llx: nothing refers to it, it ends in the module",
			 obj_name(obj), (unsigned long long)obj->handle);
		dev_in_module(obj, obj->type->destroy);
		obj->ci_created = false;
	}
	obj_settle(obj);
	if (waiter) {
		obj_free(obj);
		waiter_end(waiter);
		return;
	}
	if (!obj->destroyed_cb) {
		obj_free(obj);
		return;
	}
	if (atomic_load(&obj->ev.queue)->forget) /* a channel delivers no callbacks */
		atomic_store(&obj->ev.queue,
			     obj->dev ? &obj->dev->async.queue : &dispatcher_common.queue);
	ev_raise_destroyed(&obj->ev);
}

/* Processes one object. The first time the object has its existence reference, which is dropped here;
 * the second time its last reference is gone, and the object ends. */
static void take_turn(struct al_obj *obj)
{
	if (!atomic_load_explicit(&obj->refs, memory_order_relaxed) || obj_drop(obj))
		reap(obj);
	/* The pointer stays good without a reference: only this thread ends the object, and the last
	 * obj_put() brings it here. */
	else if (obj->type->quiesce && obj->ci_created)
		dev_in_module(obj, obj->type->quiesce);
}

/* Oldest first. */
static struct al_obj *take_all(struct reaper *r)
{
	struct al_obj *obj = atomic_exchange(&r->head, NULL), *next, *list = NULL;

	for (; obj; obj = next) {
		next = obj->reap_next;
		obj->reap_next = list;
		list = obj;
	}
	return list;
}

static void *reaper_main(void *arg)
{
	struct reaper *r = arg;

	thread_begin(r->name, CONTEXT_NONE);
	for (;;) {
		struct al_obj *obj = take_all(r), *next;
		struct reaper_job *job = atomic_exchange(&r->jobs, NULL), *next_job;

		for (; obj; obj = next) {
			next = obj->reap_next;
			if (obj->grace_stamp >= r->graced)
				grace(r);
			take_turn(obj);
		}
		for (; job; job = next_job) {
			next_job = job->next;
			job->fn(job);
		}
		if (atomic_load(&r->head) || atomic_load(&r->jobs))
			continue;
		if (atomic_load_explicit(&r->stop, memory_order_acquire))
			return NULL;
		while (sem_wait(&r->sem))
			;
	}
}

al_status reaper_start(struct reaper *r, const char *name)
{
	al_status status;

	if (r->started)
		return AL_SUCCESS;
	memset(r, 0, sizeof(*r));
	sem_init(&r->sem, 0, 0);
	snprintf(r->name, sizeof(r->name), "%s", name);
	status = thread_start(&r->thread, name, reaper_main, r);
	r->started = status == AL_SUCCESS;
	return status;
}

void reaper_stop(struct reaper *r)
{
	if (!r->started)
		return;
	/* release: pairs with the acquire in reaper_main() */
	atomic_store_explicit(&r->stop, true, memory_order_release);
	sem_post(&r->sem);
	pthread_join(r->thread, NULL);
	sem_destroy(&r->sem);
	r->started = false;
}

void reaper_queue(struct reaper *r, struct al_obj *obj)
{
	struct al_obj *head = atomic_load_explicit(&r->head, memory_order_relaxed);

	do
		obj->reap_next = head;
	while (!atomic_compare_exchange_weak(&r->head, &head, obj));
	if (!head)
		sem_post(&r->sem);
}

void reaper_run(struct reaper *r, struct reaper_job *job)
{
	struct reaper_job *head = atomic_load_explicit(&r->jobs, memory_order_relaxed);

	do
		job->next = head;
	while (!atomic_compare_exchange_weak(&r->jobs, &head, job));
	sem_post(&r->sem);
}
