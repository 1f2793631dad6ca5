/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events of completions and asynchronous events. Their descriptors are the program's own, which may
 * change their flags and wait for them by poll(2): each is an epoll descriptor over that of a channel
 * of the Access Layer.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "al/compat/verbs/verbs.h"

static bool watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd < 0 || !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int event_descriptor(al_channel_h channel, int other)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), fd, error;

	if (epoll < 0)
		return -1;
	if (!verbs_result(al_channel_fd(channel, &fd)) && watch(epoll, fd) && watch(epoll, other))
		return epoll;
	error = errno;
	close(epoll);
	errno = error;
	return -1;
}

/* Waits as a read of the descriptor would: not at all if the program has set O_NONBLOCK. */
static bool wait_for_input(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return false;
	if (flags & O_NONBLOCK) {
		errno = EAGAIN;
		return false;
	}
	return poll(&pfd, 1, -1) >= 0;
}

void event_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		      uint32_t reported)
{
	pthread_mutex_lock(mutex);
	while (*completed != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed, uint32_t num)
{
	pthread_mutex_lock(mutex);
	*completed += num;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

/* --------------------------------------------------------- completion channels */

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ibv)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	al_h al;

	if (!channel)
		return NULL;
	al = context_of(ibv)->al;
	channel->ibv.context = ibv;
	if (verbs_result(al_create_channel(al, NULL, &channel->al))) {
		free(channel);
		return NULL;
	}
	channel->ibv.fd = event_descriptor(channel->al, -1);
	if (channel->ibv.fd < 0) {
		al_destroy_channel(channel->al, NULL, NULL);
		free(channel);
		return NULL;
	}
	context_ref(ibv);
	return &channel->ibv;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct channel *channel = verbs_of(ibv, struct channel, ibv);
	const al_status status = al_destroy_channel(channel->al, AL_DESTROY_SYNC, NULL);

	if (status == AL_RESOURCE_BUSY)
		return verbs_result(status);
	close(ibv->fd);
	context_put(ibv->context);
	free(channel);
	return 0;
}

/* The queue of an event, counted as reported; NULL: an event of another type, or of a queue that has
 * been destroyed. */
static struct cq *report(struct objects *objects, const struct al_channel_event *event)
{
	struct cq *cq = NULL;

	if (event->type != AL_CHANNEL_COMPLETION)
		return NULL;
	pthread_mutex_lock(&objects->lock);
	cq = objects_find(objects, event->context);
	if (cq)
		cq->comp_reported++;
	pthread_mutex_unlock(&objects->lock);
	return cq;
}

LATEST(int, ibv_get_cq_event)(struct ibv_comp_channel *ibv, struct ibv_cq **cq, void **cq_context)
{
	struct channel *channel = verbs_of(ibv, struct channel, ibv);
	struct objects *objects = &context_of(ibv->context)->objects;
	struct al_channel_event event;
	struct cq *found;
	al_status status;

	for (;;) {
		status = al_channel_next(channel->al, &event);
		if (status == AL_NOT_FOUND) {
			if (!wait_for_input(ibv->fd))
				return -1;
			continue;
		}
		if (verbs_result(status))
			return -1;
		found = report(objects, &event);
		if (!found)
			continue;
		*cq = &found->ex.base;
		*cq_context = found->ex.base.cq_context;
		return 0;
	}
}

LATEST(void, ibv_ack_cq_events)(struct ibv_cq *cq, unsigned int num)
{
	acknowledge(&cq->mutex, &cq->cond, &cq->comp_events_completed, num);
}

/* -------------------------------------------------------- asynchronous events */

/* The event of the interface; -1: verbs have none, such as for a port that initialises. */
static int event_type(ib_event_type al)
{
	static const struct {
		unsigned int al;
		int type;
	} types[] = {
#define TYPE(name, value, al, text) { (al), (value) },
		IBV_EVENT_LIST(TYPE)
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].al == (unsigned int)al)
			return types[i].type;
	return -1;
}

/* Fills in the object of an event, and counts the event as reported. False: the object has been
 * destroyed, or is of a kind that verbs programs have not. */
static bool set_element(struct context *context, const struct al_event *al, struct ibv_async_event *event)
{
	struct cq *cq;
	struct qp *qp;
	void *object;

	if (al->object == AL_OBJ_NONE) {
		event->element.port_num = al->port_num;
		return true;
	}
	pthread_mutex_lock(&context->objects.lock);
	object = objects_find(&context->objects, al->object_context);
	if (object && al->object == AL_OBJ_CQ) {
		cq = object;
		cq->async_reported++;
		event->element.cq = &cq->ex.base;
	} else if (object && al->object == AL_OBJ_QP) {
		qp = object;
		qp->reported++;
		event->element.qp = &qp->ex.qp_base;
	} else {
		object = NULL;
	}
	pthread_mutex_unlock(&context->objects.lock);
	return object != NULL;
}

/* True: the HCA has been removed, which is told once. */
static bool take_removal(const struct context *context, struct ibv_async_event *event)
{
	eventfd_t times;

	if (eventfd_read(context->removed_fd, &times))
		return false;
	event->event_type = IBV_EVENT_DEVICE_FATAL;
	event->element.port_num = 0;
	return true;
}

LATEST(int, ibv_get_async_event)(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct context *context = context_of(ibv);
	struct al_channel_event al;
	al_status status;
	int type;

	for (;;) {
		status = al_channel_next(context->events, &al);
		if (status == AL_NOT_FOUND) {
			if (take_removal(context, event))
				return 0;
			if (!wait_for_input(ibv->async_fd))
				return -1;
			continue;
		}
		if (verbs_result(status))
			return -1;
		if (al.type != AL_CHANNEL_ASYNC)
			continue;
		type = event_type(al.async.type);
		if (type < 0 || !set_element(context, &al.async, event))
			continue;
		event->event_type = (unsigned int)type;
		return 0;
	}
}

LATEST(void, ibv_ack_async_event)(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed, 1);
		break;
	default: /* of the port or the device: nothing waits for it */
		break;
	}
}
