/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reapers: strands that destroy objects and run jobs. Each HCA has a reaper. reaper_common destroys
 * objects without an HCA and runs the jobs that end an HCA. A synchronous destroy waits here for
 * its reaper. object.c decides which objects are destroyed.
 *
 * The destroys of one calling thread take effect in the order of the calls: the destroy thread
 * destroys or quiesces each object before it takes the next object, and a quiesced object accepts
 * nothing from the wire. An object that is still referenced is queued a second time when its last
 * reference is dropped.
 *
 * One grace period serves a batch of objects. The grace clock counts the grace periods that have
 * *started*. An object stores the clock's value at the time its handle becomes invalid. A grace
 * period with a greater number covers the object.
 */
#include "al/object/reaper.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "al/object/device.h"

struct reaper reaper_common;
static struct thread_pool destroy_threads =
	THREAD_POOL("al-destroy", CONTEXT_NONE, POOL_MAX_THREADS, NULL);
__thread const struct destroy_wait_ops *thread_wait_ops;
static _Atomic uint64_t grace_clock;

/* Guards the completion of all synchronous destroys. One lock serves all waiters: they are few, and
 * a lock on a waiter's stack could vanish while it is being released. No thread takes another lock
 * while it holds this one. */
static pthread_mutex_t waiters_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t waiters_changed = PTHREAD_COND_INITIALIZER;

static void waiter_complete(struct destroy_waiter *waiter)
{
	const struct destroy_wait_ops *ops = waiter->ops; /* the waiter may be gone after the unlock */

	pthread_mutex_lock(&waiters_lock);
	atomic_store(&waiter->done, true);
	pthread_cond_broadcast(&waiters_changed);
	pthread_mutex_unlock(&waiters_lock);
	if (ops)
		ops->wake();
}

bool waiter_wait_until(struct destroy_waiter *waiter, const struct timespec *until)
{
	int error = 0;

	pthread_mutex_lock(&waiters_lock);
	while (!atomic_load(&waiter->done) && error != ETIMEDOUT)
		error = pthread_cond_clockwait(&waiters_changed, &waiters_lock, CLOCK_MONOTONIC,
					       until);
	pthread_mutex_unlock(&waiters_lock);
	return atomic_load(&waiter->done);
}

void reaper_after_fork(void)
{
	thread_pool_after_fork(&destroy_threads);
	memset(&reaper_common, 0, sizeof(reaper_common));
	pthread_mutex_init(&waiters_lock, NULL);
	pthread_cond_init(&waiters_changed, NULL);
}

uint64_t reaper_grace_clock(void)
{
	return atomic_load(&grace_clock);
}

static void wait_grace_period(struct reaper *r)
{
	uint64_t started = atomic_fetch_add(&grace_clock, 1) + 1;

	rcu_wait();
	r->last_grace_period = started;
}

/* Ends an object that has no reference and that no reader can find. */
static void reap(struct al_obj *obj)
{
	struct destroy_waiter *waiter = obj->waiter;

	if (obj->ci_created) {
		IB_TRACE("al", "%s %#llx: no references left; destroying in the module",
			 obj_name(obj), (unsigned long long)obj->handle);
		dev_run_in_module(obj, obj->type->destroy);
		obj->ci_created = false;
	}
	obj_release_resources(obj);
	if (waiter) {
		obj_free(obj);
		waiter_complete(waiter);
		return;
	}
	if (!obj->destroyed_cb) {
		obj_free(obj);
		return;
	}
	if (obj->destroyed_cb == AL_DESTROY_CHANNEL) {
		obj_free_by_channel(obj);
		return;
	}
	if (atomic_load(&obj->ev.queue)->withdraw) /* a channel delivers no callbacks */
		atomic_store(&obj->ev.queue,
			     obj->dev ? &obj->dev->async.queue : &dispatcher_common.queue);
	ev_raise_destroyed(&obj->ev);
}

/* Processes one queued object. An object that is queued the first time has its existence reference,
 * which this function drops. An object that is queued the second time has no reference left, and
 * ends. */
static void process_object(struct al_obj *obj)
{
	if (!atomic_load_explicit(&obj->refs, memory_order_relaxed) || obj_drop(obj))
		reap(obj);
	/* obj is usable without a reference: only this thread ends the object, and the last
	 * obj_put() queues the object for this thread. */
	else if (obj->type->quiesce && obj->ci_created)
		dev_run_in_module(obj, obj->type->quiesce);
}

/* Takes the queued objects, oldest first. */
static struct al_obj *take_objects(struct reaper *r)
{
	struct al_obj *obj = atomic_exchange(&r->head, NULL), *next, *list = NULL;

	for (; obj; obj = next) {
		next = obj->reap_next;
		obj->reap_next = list;
		list = obj;
	}
	return list;
}

/* Begins to end an object in the module. True: the object ends after another grace period. */
static bool revoke_object(struct al_obj *obj)
{
	if (!obj->ci_created || !dev_revoke(obj))
		return false;
	obj->grace_stamp = reaper_grace_clock();
	return true;
}

/* Processes an object when the grace period that covers the object is over. */
static void process_in_grace(struct reaper *r, struct al_obj *obj)
{
	if (obj->grace_stamp >= r->last_grace_period)
		wait_grace_period(r);
	process_object(obj);
}

/*
 * Processes a batch within two grace periods. A revoked object has taken effect, in its turn, and
 * is processed behind the batch, when one grace period has passed for all revoked objects. The
 * objects with which the batch begins need not wait for the effect of others, so they are revoked
 * before the batch's first grace period, which serves them.
 */
static void process_batch(struct reaper *r, struct al_obj *batch)
{
	struct al_obj *obj, *next, *revoked = NULL, **last = &revoked;

	for (obj = batch; obj && revoke_object(obj); obj = obj->reap_next)
		;
	for (obj = batch; obj; obj = next) {
		next = obj->reap_next;
		if (revoke_object(obj)) {
			*last = obj;
			last = &obj->reap_next;
		} else {
			process_in_grace(r, obj);
		}
	}
	*last = NULL;
	for (obj = revoked; obj; obj = next) {
		next = obj->reap_next;
		process_in_grace(r, obj);
	}
}

static void reap_all(struct strand *strand)
{
	struct reaper *r = (struct reaper *)((char *)strand - offsetof(struct reaper, strand));
	struct al_obj *batch = take_objects(r);
	struct reaper_job *job = atomic_exchange(&r->jobs, NULL), *next_job;

	process_batch(r, batch);
	for (; job; job = next_job) {
		next_job = job->next;
		job->fn(job);
	}
}

al_status reaper_start(struct reaper *r)
{
	return r->strand.pool ? AL_SUCCESS : strand_start(&r->strand, &destroy_threads, reap_all);
}

void reaper_stop(struct reaper *r)
{
	strand_stop(&r->strand);
}

void reaper_queue_object(struct reaper *r, struct al_obj *obj)
{
	struct al_obj *head = atomic_load_explicit(&r->head, memory_order_relaxed);

	do
		obj->reap_next = head;
	while (!atomic_compare_exchange_weak(&r->head, &head, obj));
	if (!head)
		strand_wake(&r->strand);
}

void reaper_queue_job(struct reaper *r, struct reaper_job *job)
{
	struct reaper_job *head = atomic_load_explicit(&r->jobs, memory_order_relaxed);

	do
		job->next = head;
	while (!atomic_compare_exchange_weak(&r->jobs, &head, job));
	strand_wake(&r->strand);
}
