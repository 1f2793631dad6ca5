/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Channels: events are taken by the caller's loop instead of being delivered by a thread. */
#include "al/event/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "al/event/pnp.h"

static struct al_channel *of_queue(struct ev_queue *queue)
{
	return (struct al_channel *)((char *)queue - offsetof(struct al_channel, queue));
}

static void channel_wake(struct ev_queue *queue)
{
	/* It fails only when the counter is full, and a full counter is readable. */
	if (eventfd_write(of_queue(queue)->wakes, 1))
		return;
}

/* Appends all sources that have been queued to the channel's list. Under the channel's lock. */
static void refill(struct al_channel *c)
{
	struct ev_source **last = &c->first;

	while (*last)
		last = &(*last)->next;
	*last = ev_take_all(&c->queue);
}

/* Makes the descriptor readable exactly if the reader has an event to take or a removal to
 * acknowledge. Under the channel's lock, after each change of the list. */
static void settle(struct al_channel *c)
{
	eventfd_t count;

	if (c->first || c->removal)
		return;
	/* First the eventfd is cleared, then the list is filled: an event that is pushed before the
	 * clear is found here, and one that is pushed later makes the eventfd readable again. */
	if (eventfd_read(c->wakes, &count) && errno != EAGAIN)
		ib_log(IB_LOG_ERROR, "al", "a channel's descriptor failed: %s",
		       strerrordesc_np(errno));
	refill(c);
	if (c->first)
		channel_wake(&c->queue);
}

/* Unlinks the first source that matches. Under the channel's lock. */
static struct ev_source *unlink_match(struct al_channel *c,
				      bool (*match)(const struct ev_source *, const void *),
				      const void *arg)
{
	struct ev_source **p, *source;

	for (p = &c->first; (source = *p); p = &source->next)
		if (match(source, arg)) {
			*p = source->next;
			return source;
		}
	return NULL;
}

void channel_forget_if(struct al_obj *channel,
		       bool (*match)(const struct ev_source *, const void *), const void *arg)
{
	struct al_channel *c = (struct al_channel *)channel;
	struct ev_source *source;

	do {
		pthread_mutex_lock(&c->lock);
		refill(c);
		source = unlink_match(c, match, arg);
		if (source)
			atomic_exchange(&source->pending, 0);
		settle(c);
		pthread_mutex_unlock(&c->lock);
		if (source)
			obj_put(source->obj);
	} while (source);
}

static bool is_of(const struct ev_source *source, const void *obj)
{
	return source->obj == obj;
}

static bool is_it(const struct ev_source *source, const void *it)
{
	return source == it;
}

void channel_forget(struct al_obj *channel, const struct al_obj *obj)
{
	struct al_channel *c = (struct al_channel *)channel;

	pthread_mutex_lock(&c->lock);
	if (c->removal == obj) /* dying() of pnp.c acknowledges the removal when the registration ends */
		c->removal = NULL;
	pthread_mutex_unlock(&c->lock);
	channel_forget_if(channel, is_of, obj);
}

static void queue_forget(struct ev_queue *queue, struct ev_source *source)
{
	channel_forget_if(&of_queue(queue)->obj, is_it, source);
}

/* Writes one event of the oldest source, which stays the oldest while it has more. Returns the
 * object whose reference the caller has to drop, or NULL: the source is still in the list. Under
 * the lock. */
static struct al_obj *take_one(struct al_channel *c, struct al_channel_event *event)
{
	struct ev_source *source = c->first;
	uint32_t left;

	c->first = source->next;
	left = atomic_exchange_explicit(&source->pending, 0, memory_order_acq_rel) & ~EV_QUEUED;
	if (!obj_dying(source->obj))
		left = source->take(source, left, event);
	else
		left = 0;
	if (event->type == AL_CHANNEL_PNP && event->pnp.type == AL_PNP_CA_REMOVE)
		c->removal = source->obj;
	if (!left)
		return source->obj;
	if (atomic_fetch_or_explicit(&source->pending, left | EV_QUEUED, memory_order_acq_rel) &
	    EV_QUEUED)
		return source->obj; /* a new event has queued the source again, with a reference of
				       its own */
	source->next = c->first;
	c->first = source;
	return NULL;
}

/* A new call of al_channel_next() says that the reader has done with the removal that it was given
 * last. Under the lock. */
static void acknowledge(struct al_channel *c)
{
	if (!c->removal)
		return;
	pnp_acknowledge(c->removal);
	c->removal = NULL;
}

al_status al_channel_next(al_channel_h channel, struct al_channel_event *event)
{
	struct al_channel_event found = { 0 };
	struct al_obj *done, *obj;
	struct al_channel *c;

	if (!event)
		return AL_INVALID_PARAMETER;
	obj = obj_get(channel, AL_OBJ_CHANNEL);
	if (!obj)
		return AL_INVALID_HANDLE;
	c = (struct al_channel *)obj;
	/* One lock for both: a second reader that took a removal between them would have its removal
	 * overwritten here, and nobody would acknowledge that. */
	pthread_mutex_lock(&c->lock);
	acknowledge(c);
	do {
		refill(c);
		settle(c); /* a producer wakes after it has queued: its events may have been taken already */
		if (!c->first)
			break;
		done = take_one(c, &found);
		settle(c);
		if (done)
			obj_put(done);
	} while (!found.type);
	pthread_mutex_unlock(&c->lock);
	obj_put(obj);
	if (!found.type)
		return AL_NOT_FOUND;
	*event = found;
	return AL_SUCCESS;
}

/*
 * The program gets an epoll instance and never the eventfd inside. If the program could make the
 * eventfd blocking, settle() or channel_wake() could then wait for ever under the lock.
 */
static al_status open_fds(struct al_channel *c)
{
	struct epoll_event readable = { .events = EPOLLIN };

	c->wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->wakes < 0 || c->fd < 0 || epoll_ctl(c->fd, EPOLL_CTL_ADD, c->wakes, &readable))
		return AL_INSUFFICIENT_RESOURCES;
	return AL_SUCCESS;
}

static void gone(struct al_obj *obj)
{
	struct al_channel *c = (struct al_channel *)obj;

	pthread_mutex_destroy(&c->lock);
	if (c->fd >= 0)
		close(c->fd);
	if (c->wakes >= 0)
		close(c->wakes);
}

static const struct obj_type channel_type = {
	.id = AL_OBJ_CHANNEL,
	.size = sizeof(struct al_channel),
	.ci = OBJ_NO_CI,
	.user_dying = channel_forget,
	.gone = gone,
};

al_status al_create_channel(al_h al, void *context, al_channel_h *channel)
{
	struct al_channel *c;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	if (!channel)
		return AL_INVALID_PARAMETER;
	status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return status;
	status = obj_new(&channel_type, call.obj, NULL, context, &obj);
	if (status)
		goto out;
	c = (struct al_channel *)obj;
	c->queue.wake = channel_wake;
	c->queue.forget = queue_forget;
	pthread_mutex_init(&c->lock, NULL);
	status = open_fds(c);
	if (!status)
		status = obj_publish(obj, channel);
	if (status) {
		gone(obj);
		obj_abort(obj);
	}
out:
	call_end(&call);
	return status;
}

al_status al_channel_fd(al_channel_h channel, int *fd)
{
	struct al_obj *obj;

	if (!fd)
		return AL_INVALID_PARAMETER;
	obj = obj_get(channel, AL_OBJ_CHANNEL);
	if (!obj)
		return AL_INVALID_HANDLE;
	*fd = ((struct al_channel *)obj)->fd;
	obj_put(obj);
	return AL_SUCCESS;
}

al_status al_destroy_channel(al_channel_h channel, al_destroyed_cb cb, void *context)
{
	return obj_destroy(channel, AL_OBJ_CHANNEL, cb, context);
}
