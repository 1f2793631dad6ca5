/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event delivery. An event source is part of the object whose events it carries: raising one sets a bit and, if the
 * source is not queued yet, pushes it to its queue: lock-free, from any context, without an allocation. A queue is
 * emptied by a dispatcher thread or by the reader of a channel. Which callback a bit means is the object's.
 */
#ifndef AL_OBJECT_DISPATCHER_H
#define AL_OBJECT_DISPATCHER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_al.h>

struct al_obj;
struct ev_source;

/* Bits of ev_source.pending. Those below are asynchronous events, 1 << enum ib_event_type. */
#define EV_ASYNC_MASK 0x03ffffffu
#define EV_COMPLETION (1u << 28)
#define EV_DESTROYED (1u << 29)
#define EV_HELD (1u << 30)   /* the object is not published yet: keep what comes */
#define EV_QUEUED (1u << 31)

/* Where sources wait. */
struct ev_queue {
	_Atomic(struct ev_source *) head;     /* last in first; the consumer reverses it */
	void (*wake)(struct ev_queue *queue); /* called when it was empty; any context */
	/* Takes a source out again; NULL: the consumer is ours and will come to it. */
	void (*forget)(struct ev_queue *queue, struct ev_source *source);
};

struct ev_source {
	_Atomic uint32_t pending;  /* EV_* */
	struct ev_source *next;    /* in the queue */
	_Atomic(struct ev_queue *) queue; /* home; changes only while it is not queued */
	struct al_obj *obj;        /* whose, referenced while queued; NULL: an HCA's own */
	union {
		/* On a dispatcher: makes the callbacks. */
		void (*run)(struct ev_source *source, uint32_t pending);
		/* In a channel: writes one event, if it finds one (type is not 0), and returns what is left pending. */
		uint32_t (*take)(struct ev_source *source, uint32_t pending, struct al_channel_event *out);
	};
};

/* A thread that delivers what is in its queue, in order. */
struct dispatcher {
	struct ev_queue queue;
	sem_t sem;
	pthread_t thread;
	bool started; /* guarded by the lock of who owns the dispatcher */
	_Atomic bool stop;
	char name[16];
};

/* Prepares a source of obj. Held: raised events wait for ev_release(). */
void ev_init(struct ev_source *source, struct al_obj *obj, struct ev_queue *queue,
	     void (*run)(struct ev_source *, uint32_t), bool held);
/* Raises bits: any context. Nothing happens when the object has no reference left. */
void ev_raise(struct ev_source *source, uint32_t bits);
/* The same under a lock that who destroys takes, too, after marking and before taking events back from channels. */
void ev_raise_locked(struct ev_source *source, uint32_t bits);
/* The object is published: what was raised meanwhile is delivered now. */
void ev_release(struct ev_source *source);
/* The last event of all, raised when no reference is left; the consumer frees the object. */
void ev_raise_destroyed(struct ev_source *source);
/* Takes everything that is queued, oldest first. */
struct ev_source *ev_take_all(struct ev_queue *queue);

void dispatcher_init(struct dispatcher *d, const char *name);
/* Starts its thread if it does not run; the caller serialises. */
al_status dispatcher_start(struct dispatcher *d);
/* Ends the thread after what is queued, and waits for it; not from itself. */
void dispatcher_stop(struct dispatcher *d);

#endif
