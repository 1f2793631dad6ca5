/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event sources, queues and the threads that empty them. */
#include "al/object/dispatcher.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* Marks bits as pending; true: it has to be pushed, and is referenced for that. */
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
 * A queue that a stranger empties must not keep a dying object: who destroys takes the source back
 * after having set the dying bit, who pushes looks at the bit after having pushed. Both are
 * sequentially consistent. The second reference keeps the object for that look.
 */
static void push_with_care(struct ev_source *source)
{
	struct ev_queue *queue = atomic_load_explicit(&source->queue, memory_order_relaxed);
	struct al_obj *obj = source->obj;

	if (!queue->forget) {
		push(source);
		return;
	}
	obj_ref(obj);
	push(source);
	if (atomic_load(&obj->live) & OBJ_DYING)
		queue->forget(queue, source);
	obj_put(obj);
}

void ev_raise(struct ev_source *source, uint32_t bits)
{
	if (!set_pending(source, bits))
		return;
	push_with_care(source);
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
	/* something came meanwhile: it is queued now */
	atomic_fetch_and(&source->pending, ~EV_HELD);
	if (source->obj)
		obj_ref(source->obj);
	push_with_care(source);
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
	/* From here on a further event queues the source again, behind what is queued now. */
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

static void *dispatcher_main(void *arg)
{
	struct dispatcher *d = arg;
	struct ev_source *source, *next;

	thread_begin(d->name, CONTEXT_ATOMIC);
	for (;;) {
		for (source = ev_take_all(&d->queue); source; source = next) {
			next = source->next;
			deliver(source);
		}
		if (atomic_load_explicit(&d->stop, memory_order_acquire) &&
		    !atomic_load_explicit(&d->queue.head, memory_order_acquire))
			return NULL;
		while (sem_wait(&d->sem))
			;
	}
}

static void dispatcher_wake(struct ev_queue *queue)
{
	struct dispatcher *d = (struct dispatcher *)queue; /* its first member */

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
	status = thread_start(&d->thread, d->name, dispatcher_main, d);
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
