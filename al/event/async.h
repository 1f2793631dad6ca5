/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Asynchronous events: the way from a module's upcall to the object's callback, to the event
 * handlers registered with the HCA handle of the object, and to PnP. The queues and threads are
 * al/object/dispatcher.h's.
 */
#ifndef AL_EVENT_ASYNC_H
#define AL_EVENT_ASYNC_H

#include "al/object/device.h"

/* The first member of the Access Layer's part of objects that raise affiliated events: CQ, QP, SRQ,
 * EEC. */
struct al_evobj {
	struct al_obj obj;
	al_comp_cb comp_cb;           /* completion callback of a CQ; may be NULL */
	al_event_cb event_cb;         /* callback of asynchronous events; may be NULL */
	struct ev_source to_handlers; /* runs handlers on the async dispatcher, for an object whose events another queue
				       * delivers */
	struct al_qp_failure
		*failure; /* of a queue pair: its last failed request, which failure.c guards */
	struct ev_source to_channel;  /* carries the object's events to the channel of an event handler */
};

/*
 * Prepares the event members, after obj_new(). home: queue that delivers the object's events. On a
 * dispatcher's queue (dev_start_vector(), or dev->async.queue) the events become callbacks; in a
 * channel's queue (channel_queue()) the application reads them.
 */
void evobj_init(struct al_evobj *e, al_comp_cb comp_cb, al_event_cb event_cb, struct ev_queue *home);

/* Sets the function that hears of failed requests of clients' queue pairs, on the HCA's dispatcher:
 * the agent's. context: the queue pair's. Called once, before the first client. */
void async_set_failure_owner(void (*cb)(void *context));

/* Raises an unaffiliated event of a port that exists. Any context. */
void dev_raise(struct al_dev *dev, ib_event_type type, uint8_t port);
/* Delivers an HCA's unaffiliated events: the run function of al_dev.ev. */
void dev_run_events(struct ev_source *source, uint32_t pending);

/* The object of the HCA handle (AL_OBJ_CA) below which obj was created. */
struct al_obj *obj_ca(struct al_obj *obj);

/* obj_type.published and obj_type.invalidated of objects that begin with struct al_evobj. */
void evobj_published(struct al_obj *obj);
void evobj_invalidated(struct al_obj *obj);

/* An event handler: a registration for the events of an HCA. Its callback runs on the HCA's async
 * dispatcher only. */
struct al_event_handler {
	struct al_obj obj;             /* a handler with a channel has the channel in uses[0] and its queue in
					* ev.queue */
	al_event_cb cb;                /* callback; NULL: the handler has a channel */
	struct dev_port *ports;        /* pending unaffiliated events of a handler with a channel; indexed like
					* al_dev.ports */
	struct al_event_handler *next; /* list of handlers; guarded by handlers_lock */
	struct al_event_handler **prev;
};

/* Copies the last failed request of a queue pair. False: there is none, or no such queue pair. */
bool failure_find(al_qp_h qp, struct al_qp_failure *failure);

/* Empties the list of handlers in a forked child. */
void async_after_fork(void);
/* Frees the lock of failed requests in a forked child. */
void failure_after_fork(void);

#endif
