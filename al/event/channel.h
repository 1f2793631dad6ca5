/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Channels: an event queue whose consumer is the caller's event loop. */
#ifndef AL_EVENT_CHANNEL_H
#define AL_EVENT_CHANNEL_H

#include "al/object/object.h"

struct al_channel {
	struct al_obj obj;
	struct ev_queue queue;
	int wakes;                 /* eventfd: readable while something is queued or unacknowledged */
	int fd;                    /* the program's: an epoll instance that shows wakes, and that nobody can read or write */
	pthread_mutex_t lock;      /* the consumer's side: readers, and destroys that take their events back. Outside pnp_lock. */
	struct ev_source *first;   /* taken from the queue, oldest first; guarded by lock */
	struct al_obj *removal;    /* PnP registration whose removal was read last and is not acknowledged yet, or NULL;
				      channel_forget() clears it before the registration's end; guarded by lock */
};

/* The queue of a channel object, to be an event source's home. */
static inline struct ev_queue *channel_queue(struct al_obj *channel)
{
	return &((struct al_channel *)channel)->queue;
}

/* Takes the undelivered events of a user of a channel back, and acknowledges a removal that was read: a channel keeps no object alive. */
void channel_forget(struct al_obj *channel, const struct al_obj *obj);
/* The same for every source that matches. */
void channel_forget_if(struct al_obj *channel, bool (*match)(const struct ev_source *, const void *), const void *arg);

#endif
