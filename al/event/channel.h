/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Channels: event queues that the application's event loop reads. async.c and pnp.c decide which
 * events are in a queue.
 */
#ifndef AL_EVENT_CHANNEL_H
#define AL_EVENT_CHANNEL_H

#include "al/object/object.h"

struct al_channel {
	struct al_obj obj;
	struct ev_queue queue;     /* sources that producers have pushed */
	int event_fd;              /* eventfd: readable while events are queued or a removal is not acknowledged */
	int fd;                    /* epoll instance with event_fd for the application, which can neither read nor write
				    * it */
	pthread_mutex_t lock;      /* guards first and removal, between readers and destroys. Outside pnp_lock. */
	struct ev_source *first;   /* sources taken from the queue, oldest first; guarded by lock */
	struct al_obj *removal;    /* PnP registration whose removal was read last and is not acknowledged yet, or NULL;
				      channel_withdraw_user() clears it before the registration's end; guarded by
				      lock */
};

/* The queue of a channel object, for ev_source.queue. */
static inline struct ev_queue *channel_queue(struct al_obj *channel)
{
	return &((struct al_channel *)channel)->queue;
}

/* Makes obj, which is not published, a user of the channel with the given handle, whose queue is
 * written. AL_INVALID_HANDLE; AL_INVALID_CA: the channel belongs to another opening. */
al_status channel_use(struct al_obj *obj, const void *channel, struct ev_queue **queue);
/*
 * Withdraws the undelivered events of obj, which uses the channel, and drops their references: the
 * channel keeps no object alive. obj_type.user_invalidated of channels.
 */
void channel_withdraw_user(struct al_obj *channel, const struct al_obj *obj);
/* Withdraws the undelivered events of every source for which match(source, arg) is true. */
void channel_withdraw_matching(struct al_obj *channel, bool (*match)(const struct ev_source *, const void *), const void *arg);

#endif
