/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Channels: a channel delivers the events of many objects through one descriptor that its reader polls. A source is what has
 * events of one object. Producers push sources to the channel's queue without a lock; readers own the list "first". The
 * functions here make, read and destroy channels, and withdraw the events of objects that die.
 */
#include "al/event/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "al/event/pnp.h"

static struct al_channel *channel_of_queue(struct ev_queue *queue)
{
	return (struct al_channel *)((char *)queue - offsetof(struct al_channel, queue));
}

static void channel_wake(struct ev_queue *queue)
{
	/* eventfd_write() fails only when the counter is full, and then event_fd is readable
	 * anyway. */
	if (eventfd_write(channel_of_queue(queue)->event_fd, 1))
		return;
}

/* Moves all sources of the queue to the end of the list "first". Under the channel's lock. */
static void take_queued(struct al_channel *c)
{
	struct ev_source **last = &c->first;

	while (*last)
		last = &(*last)->next;
	*last = ev_take_all(&c->queue);
}

/*
 * Clears the eventfd if the reader has neither an event to take nor the removal of an HCA to acknowledge. (As long as there is
 * one, the eventfd is readable.) Under the channel's lock, after each change of the list.
 */
static void update_readable(struct al_channel *c)
{
	eventfd_t count;

	if (c->first || c->removal)
		return;
	/* First the eventfd is cleared, then the list is filled: an event that is pushed before the
	 * clear is found here, and one that is pushed later makes the eventfd readable again. */
	if (eventfd_read(c->event_fd, &count) && errno != EAGAIN)
		ib_log(IB_LOG_ERROR, "al", "a channel's descriptor failed: %s",
		       strerrordesc_np(errno));
	take_queued(c);
	if (c->first)
		channel_wake(&c->queue);
}

/* Unlinks the first source that matches. Under the channel's lock. */
static struct ev_source *unlink_match(struct al_channel *c,
				      bool (*match)(const struct ev_source *, const void *),
				      const void *arg)
{
	struct ev_source **p, *source;

	for (p = &c->first; *p; p = &(*p)->next) {
		source = *p;
		if (match(source, arg)) {
			*p = source->next;
			return source;
		}
	}
	return NULL;
}

void channel_withdraw_matching(struct al_obj *channel,
			       bool (*match)(const struct ev_source *, const void *),
			       const void *arg)
{
	struct al_channel *c = (struct al_channel *)channel;
	struct ev_source *source;

	do {
		pthread_mutex_lock(&c->lock);
		take_queued(c);
		source = unlink_match(c, match, arg);
		if (source)
			atomic_exchange(&source->pending, 0);
		update_readable(c);
		pthread_mutex_unlock(&c->lock);
		if (source)
			obj_put(source->obj);
	} while (source);
}

static bool belongs_to(const struct ev_source *source, const void *obj)
{
	return source->obj == obj;
}

static bool is_source(const struct ev_source *source, const void *wanted)
{
	return source == wanted;
}

void channel_withdraw_user(struct al_obj *channel, const struct al_obj *obj)
{
	struct al_channel *c = (struct al_channel *)channel;

	pthread_mutex_lock(&c->lock);
	/* registration_invalidated() of pnp.c acknowledges the removal when the registration ends */
	if (c->removal == obj)
		c->removal = NULL;
	pthread_mutex_unlock(&c->lock);
	channel_withdraw_matching(channel, belongs_to, obj);
}

static void channel_withdraw_source(struct ev_queue *queue, struct ev_source *source)
{
	channel_withdraw_matching(&channel_of_queue(queue)->obj, is_source, source);
}

/* Takes the event of an object that has ended, and frees the object, which has no reference. */
static void take_end(struct al_obj *ended, struct al_channel_event *event)
{
	event->type = AL_CHANNEL_DESTROYED;
	event->object = ended->type->id;
	event->context = ended->context;
	al_free(ended);
}

/* Takes one event of the oldest source. The source stays the oldest while it has more events.
 * Returns the object whose reference the caller drops; NULL: the source is still in the list, or
 * its object is freed. Under the channel's lock. */
static struct al_obj *take_event(struct al_channel *c, struct al_channel_event *event)
{
	struct ev_source *source = c->first;
	uint32_t left;

	c->first = source->next;
	left = atomic_exchange_explicit(&source->pending, 0, memory_order_acq_rel) & ~EV_QUEUED;
	if (left & EV_DESTROYED) {
		take_end(source->obj, event);
		return NULL;
	}
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

/* Acknowledges the removal that was read last: a new call of al_channel_next() means that the
 * reader has dealt with that removal. Under the channel's lock. */
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
		return REFUSE(AL_INVALID_PARAMETER, "event is NULL");
	obj = obj_get(channel, AL_OBJ_CHANNEL);
	if (!obj)
		return reason_settle(refuse_handle(channel, AL_OBJ_CHANNEL), __func__, NULL);
	c = (struct al_channel *)obj;
	/* acknowledge() and take_event() run under one lock: otherwise a second reader could store
	 * its removal between them, this reader would overwrite that removal, and nobody would
	 * acknowledge it. */
	pthread_mutex_lock(&c->lock);
	acknowledge(c);
	do {
		take_queued(c);
		/* a producer makes event_fd readable after its push, so the event may be read already */
		update_readable(c);
		if (!c->first)
			break;
		done = take_event(c, &found);
		update_readable(c);
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
 * Opens the channel's descriptors. The application gets the epoll instance and never the eventfd:
 * an application that made the eventfd blocking could make update_readable() or channel_wake() wait
 * for ever under the lock.
 */
static al_status open_fds(struct al_channel *c)
{
	struct epoll_event readable = { .events = EPOLLIN };

	c->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->event_fd < 0 || c->fd < 0 || epoll_ctl(c->fd, EPOLL_CTL_ADD, c->event_fd, &readable))
		return ib_refuse(
			AL_INSUFFICIENT_RESOURCES,
			"the process has no descriptors left for a channel; raise its limit (ulimit -n)");
	return AL_SUCCESS;
}

static void tell_end(struct al_obj *channel, struct al_obj *ended)
{
	atomic_store(&ended->ev.queue, channel_queue(channel));
	ev_raise_destroyed(&ended->ev);
}

/* Frees the objects whose ends the reader has not taken. All other sources are withdrawn. */
static void drop_ends(struct al_channel *c)
{
	struct ev_source *source, *next;

	take_queued(c);
	for (source = c->first; source; source = next) {
		next = source->next;
		al_free(source->obj);
	}
}

static void release_channel(struct al_obj *obj)
{
	struct al_channel *c = (struct al_channel *)obj;

	drop_ends(c);
	pthread_mutex_destroy(&c->lock);
	if (c->fd >= 0)
		close(c->fd);
	if (c->event_fd >= 0)
		close(c->event_fd);
}

static const struct obj_type channel_type = {
	.id = AL_OBJ_CHANNEL,
	.size = sizeof(struct al_channel),
	.ci = OBJ_NO_CI,
	.user_invalidated = channel_withdraw_user,
	.tell_end = tell_end,
	.release = release_channel,
};

al_status channel_use(struct al_obj *obj, const void *channel, struct ev_queue **queue)
{
	struct al_obj *used = obj_get(channel, AL_OBJ_CHANNEL);
	al_status status;

	if (!used)
		return refuse_handle(channel, AL_OBJ_CHANNEL);
	status = obj_use(obj, used);
	*queue = channel_queue(used);
	obj_put(used);
	return status;
}

al_status al_create_channel(al_h al, void *context, al_channel_h *channel)
{
	struct al_channel *c;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	if (!channel)
		return REFUSE(AL_INVALID_PARAMETER, "channel is NULL");
	status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return SETTLED(status);
	status = obj_new(&channel_type, call.obj, NULL, context, &obj);
	if (status)
		goto out;
	c = (struct al_channel *)obj;
	c->queue.wake = channel_wake;
	c->queue.withdraw = channel_withdraw_source;
	pthread_mutex_init(&c->lock, NULL);
	status = open_fds(c);
	if (!status)
		status = obj_publish(obj, channel);
	if (status) {
		release_channel(obj);
		obj_abort(obj);
	}
out:
	return CALL_FINISH(&call, status);
}

al_status al_channel_fd(al_channel_h channel, int *fd)
{
	struct al_obj *obj;

	if (!fd)
		return REFUSE(AL_INVALID_PARAMETER, "fd is NULL");
	obj = obj_get(channel, AL_OBJ_CHANNEL);
	if (!obj)
		return reason_settle(refuse_handle(channel, AL_OBJ_CHANNEL), __func__, NULL);
	*fd = ((struct al_channel *)obj)->fd;
	obj_put(obj);
	return AL_SUCCESS;
}

al_status al_destroy_channel(al_channel_h channel, al_destroyed_cb cb, void *context)
{
	return obj_destroy(channel, AL_OBJ_CHANNEL, cb, context);
}
