/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Asynchronous events: from the upcall to the object's callback, the handlers of the HCA handle that the object was
 * made through, and the PnP clients.
 */
#ifndef AL_EVENT_ASYNC_H
#define AL_EVENT_ASYNC_H

#include "al/object/device.h"

/* What objects have that raise events of their own: CQ, QP, SRQ, EEC. Begins their Access Layer's part. */
struct al_evobj {
	struct al_obj obj;
	al_comp_cb comp_cb;           /* CQ; may be NULL */
	al_event_cb event_cb;         /* may be NULL */
	struct ev_source to_handlers; /* a home other than the async dispatcher passes events on by this */
	struct ev_source to_channel;  /* for a handler with a channel */
};

/*
 * After obj_new(): callbacks on a dispatcher's queue (dev_start_vector(), or dev->async.queue), or events in a
 * channel's (channel_queue()).
 */
void evobj_init(struct al_evobj *e, al_comp_cb comp_cb, al_event_cb event_cb, struct ev_queue *home);

/* Delivers unaffiliated events; the run function of al_dev.ev. */
void dev_run_events(struct ev_source *source, uint32_t pending);

/* The handle of the HCA that an object was made through. */
struct al_obj *obj_ca(struct al_obj *obj);

/* published() and dying() of kinds of objects that begin with struct al_evobj. */
void evobj_published(struct al_obj *obj);
void evobj_dying(struct al_obj *obj);

/* A registration for the events of an HCA. Its callback runs on the HCA's async dispatcher only. */
struct al_event_handler {
	struct al_obj obj;             /* with a channel its source lives there, and uses[0] is the channel */
	al_event_cb cb;                /* NULL: a channel */
	struct dev_port *ports;        /* for a channel: what is not taken yet; like al_dev.ports */
	struct al_event_handler *next; /* guarded by handlers_lock */
	struct al_event_handler **prev;
};

void async_child(void);

#endif
