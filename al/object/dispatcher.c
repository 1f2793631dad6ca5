/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event sources, their queues, and the dispatchers. The queue of a channel is emptied in
 * al/event/channel.c. */
#include "al/object/dispatcher.h"

#include <stddef.h>

#include "al/object/object.h"

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

struct thread_pool event_threads = THREAD_POOL("al-event", CONTEXT_ATOMIC, POOL_MAX_THREADS, NULL);

static void deliver_all(struct strand *strand)
{
	struct dispatcher *d =
		(struct dispatcher *)((char *)strand - offsetof(struct dispatcher, strand));
	struct ev_source *source, *next;

	for (source = ev_take_all(&d->queue); source; source = next) {
		next = source->next;
		deliver(source);
	}
}

static void dispatcher_wake(struct ev_queue *queue)
{
	/* the queue is the first member of struct dispatcher */
	strand_wake(&((struct dispatcher *)queue)->strand);
}

void dispatcher_init(struct dispatcher *d, struct thread_pool *pool)
{
	*d = (struct dispatcher){ .queue.wake = dispatcher_wake, .pool = pool };
}

al_status dispatcher_start(struct dispatcher *d)
{
	return d->strand.pool ? AL_SUCCESS : strand_start(&d->strand, d->pool, deliver_all);
}

void dispatcher_stop(struct dispatcher *d)
{
	strand_stop(&d->strand);
}
