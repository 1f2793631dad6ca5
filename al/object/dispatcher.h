/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event delivery: event sources, their queues, and the dispatchers. An event source is part of the
 * object whose events it carries. Raising an event sets a bit in the source and, if the source is
 * not queued yet, pushes the source to its queue: from any context, without an allocation. A
 * dispatcher or the reader of a channel empties a queue. The object's own file decides which
 * callback a bit stands for.
 */
#ifndef AL_OBJECT_DISPATCHER_H
#define AL_OBJECT_DISPATCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_al.h>

#include "al/object/strand.h"

struct al_obj;
struct ev_source;

/* Bits of ev_source.pending. The bits of EV_ASYNC_MASK are asynchronous events, 1 << enum
 * ib_event_type. */
#define EV_ASYNC_MASK 0x03ffffffu
#define EV_COMPLETION (1u << 28) /* completion notification */
#define EV_FAILURE    (1u << 27) /* a request of a client's queue pair has failed: for the agent */
#define EV_DESTROYED \
	(1u << 29) /* the object has ended: the consumer tells the program and frees the object */
#define EV_HELD (1u << 30)       /* the object is not published yet: events stay pending until ev_release() */
#define EV_QUEUED (1u << 31)     /* the source is in its queue */

/* A queue of event sources. */
struct ev_queue {
	_Atomic(struct ev_source *) head;     /* the source pushed last; the consumer reverses the list */
	void (*wake)(struct ev_queue *queue); /* wakes the consumer: called after a push to an empty queue. Any
					       * context. */
	/* Removes a source from the queue. NULL: the consumer is a dispatcher, which takes every
	 * source in time. */
	void (*withdraw)(struct ev_queue *queue, struct ev_source *source);
};

struct ev_source {
	_Atomic uint32_t pending;  /* pending events and state, EV_* */
	struct ev_source *next;    /* next source in the queue */
	_Atomic(struct ev_queue *) queue; /* queue to which the source is pushed; changes only while the source is not
					   * queued */
	struct al_obj *obj;        /* object of the source, referenced while the source is queued; NULL: an HCA's own
				    * source */
	union {
		/* In a dispatcher's queue: calls the callbacks of the pending events. */
		void (*run)(struct ev_source *source, uint32_t pending);
		/*
		 * In a channel's queue: writes one event to *out and returns the bits still
		 * pending. No event: out->type stays 0.
		 */
		uint32_t (*take)(struct ev_source *source, uint32_t pending, struct al_channel_event *out);
	};
};

/* Delivers the events of its queue, one after the other, oldest source first. */
struct dispatcher {
	struct ev_queue queue; /* first member: dispatcher_wake() casts */
	struct strand strand;
	struct thread_pool *pool;
};

/* The threads of all dispatchers that make callbacks of channel drivers. */
extern struct thread_pool event_threads;

/* Prepares a source of obj (NULL: an HCA's own source). held: raised events wait for
 * ev_release(). */
void ev_init(struct ev_source *source, struct al_obj *obj, struct ev_queue *queue,
	     void (*run)(struct ev_source *, uint32_t), bool held);
/* Raises the events in bits. An object that is dying or has no reference raises nothing. Any
 * context. */
void ev_raise(struct ev_source *source, uint32_t bits);
/*
 * Raises events like ev_raise(), without withdrawing them from a channel. The caller holds a lock
 * that the object's destroy also takes between setting OBJ_DYING and withdrawing events from
 * channels.
 */
void ev_raise_locked(struct ev_source *source, uint32_t bits);
/* Ends the hold of ev_init(): the object is published, and events that were raised meanwhile are
 * delivered. */
void ev_release(struct ev_source *source);
/* Raises the object's last event. No reference is left; the dispatcher calls destroyed_cb, or the
 * channel delivers the event, and frees the object. */
void ev_raise_destroyed(struct ev_source *source);
/* Takes all queued sources, oldest first. */
struct ev_source *ev_take_all(struct ev_queue *queue);

/* Prepares a dispatcher. pool: &event_threads, unless the dispatcher makes no callbacks of channel
 * drivers. */
void dispatcher_init(struct dispatcher *d, struct thread_pool *pool);
/* Starts the dispatcher unless it is started. The caller serialises. AL_INSUFFICIENT_RESOURCES. */
al_status dispatcher_start(struct dispatcher *d);
/* Waits until all queued events are delivered, and ends the dispatcher. Not called by an event of
 * the dispatcher. */
void dispatcher_stop(struct dispatcher *d);

#endif
