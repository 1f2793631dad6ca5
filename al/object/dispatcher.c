/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event sources, their queues, and the dispatcher threads. The queue of a channel is emptied in
 * al/event/channel.c. */
#include "al/object/dispatcher.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <iba/ib_hca.h>

#include "al/object/object.h"
#include "al/object/thread.h"

static void push(struct ev_source *source)
{
	struct ev_queue *queue = atomic_load_explicit(&source->queue, memory_order_relaxed);
	struct ev_source *head = atomic_load_explicit(&queue->head, memory_order_relaxed);

	do
		source->next = head;
	while (!atomic_compare_exchange_weak(&queue->head, &head, source));
	if (!head)
		queue->wake(queue);
}

/* Sets bits in pending. True: the source was not queued; the caller pushes it with a reference
 * taken here. */
static bool set_pending(struct ev_source *source, uint32_t bits)
{
	if (source->obj && obj_dying(source->obj))
		return false;
	/* acquire and release: pairs with the exchange in the consumer */
	if (atomic_fetch_or_explicit(&source->pending, bits | EV_QUEUED, memory_order_acq_rel) &
	    EV_QUEUED)
		return false;
	return !source->obj || obj_try_ref(source->obj);
}

void ev_init(struct ev_source *source, struct al_obj *obj, struct ev_queue *queue,
	     void (*run)(struct ev_source *, uint32_t), bool held)
{
	atomic_init(&source->pending, held ? EV_HELD | EV_QUEUED : 0);
	source->next = NULL;
	atomic_init(&source->queue, queue);
	source->obj = obj;
	source->run = run;
}

/*
 * Pushes a source. The application drains a channel's queue, so the queue must not pin a dying
 * object: the destroying thread sets OBJ_DYING and then withdraws the source; the pushing thread
 * pushes and then checks OBJ_DYING. Both are sequentially consistent, so one of the two withdraws
 * the source. The second reference keeps the object for the check.
 */
static void push_unless_dying(struct ev_source *source)
{
	struct ev_queue *queue = atomic_load_explicit(&source->queue, memory_order_relaxed);
	struct al_obj *obj = source->obj;

	if (!queue->withdraw) {
		push(source);
		return;
	}
	obj_ref(obj);
	push(source);
	if (atomic_load(&obj->live) & OBJ_DYING)
		queue->withdraw(queue, source);
	obj_put(obj);
}

void ev_raise(struct ev_source *source, uint32_t bits)
{
	if (!set_pending(source, bits))
		return;
	push_unless_dying(source);
}

void ev_raise_locked(struct ev_source *source, uint32_t bits)
{
	if (set_pending(source, bits))
		push(source);
}

void ev_release(struct ev_source *source)
{
	uint32_t held = EV_HELD | EV_QUEUED;

	if (atomic_compare_exchange_strong(&source->pending, &held, 0))
		return;
	/* events were raised while the source was held: push the source */
	atomic_fetch_and(&source->pending, ~EV_HELD);
	if (source->obj)
		obj_ref(source->obj);
	push_unless_dying(source);
}

void ev_raise_destroyed(struct ev_source *source)
{
	atomic_store(&source->pending, EV_DESTROYED | EV_QUEUED);
	push(source);
}

struct ev_source *ev_take_all(struct ev_queue *queue)
{
	struct ev_source *source = atomic_exchange(&queue->head, NULL), *next, *list = NULL;

	for (; source; source = next) {
		next = source->next;
		source->next = list;
		list = source;
	}
	return list;
}

static void deliver(struct ev_source *source)
{
	struct al_obj *obj = source->obj;
	/* From here on a further event queues the source again, behind the sources that are queued
	 * now. */
	uint32_t pending = atomic_exchange_explicit(&source->pending, 0, memory_order_acq_rel);

	if (pending & EV_DESTROYED) {
		if (obj->destroyed_cb)
			obj->destroyed_cb(obj->destroyed_context);
		obj_free(obj);
		return;
	}
	if (!obj) {
		source->run(source, pending & ~EV_QUEUED);
		return;
	}
	if (!obj_dying(obj))
		source->run(source, pending & ~EV_QUEUED);
	obj_put(obj);
}

/* Sleeps until the dispatcher is woken, or until CLOCK_MONOTONIC reaches "until". */
static void wait_for_events(struct dispatcher *d, uint64_t until)
{
	const struct timespec end = { .tv_sec = (time_t)(until / 1000000000u),
				      .tv_nsec = (long)(until % 1000000000u) };

	if (until == UINT64_MAX)
		while (sem_wait(&d->sem))
			;
	else
		while (sem_clockwait(&d->sem, CLOCK_MONOTONIC, &end) && errno != ETIMEDOUT)
			;
}

static void *dispatcher_main(void *arg)
{
	struct dispatcher *d = arg;
	struct ev_source *source, *next;

	library_thread_begin(d->name, d->may_sleep ? CONTEXT_NONE : CONTEXT_ATOMIC);
	for (;;) {
		for (source = ev_take_all(&d->queue); source; source = next) {
			next = source->next;
			deliver(source);
		}
		if (atomic_load_explicit(&d->stop, memory_order_acquire) &&
		    !atomic_load_explicit(&d->queue.head, memory_order_acquire))
			return NULL;
		wait_for_events(d, d->run_due ? d->run_due() : UINT64_MAX);
	}
}

static void dispatcher_wake(struct ev_queue *queue)
{
	struct dispatcher *d =
		(struct dispatcher *)queue; /* the queue is the first member of struct dispatcher */

	sem_post(&d->sem);
}

void dispatcher_init(struct dispatcher *d, const char *name)
{
	memset(d, 0, sizeof(*d));
	d->queue.wake = dispatcher_wake;
	sem_init(&d->sem, 0, 0);
	snprintf(d->name, sizeof(d->name), "%s", name);
}

al_status dispatcher_start(struct dispatcher *d)
{
	al_status status;

	if (d->started)
		return AL_SUCCESS;
	status = library_thread_start(&d->thread, d->name, dispatcher_main, d);
	d->started = status == AL_SUCCESS;
	return status;
}

void dispatcher_stop(struct dispatcher *d)
{
	if (d->started) {
		/* release: pairs with the acquire in dispatcher_main() */
		atomic_store_explicit(&d->stop, true, memory_order_release);
		sem_post(&d->sem);
		pthread_join(d->thread, NULL);
	}
	sem_destroy(&d->sem);
}
