/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MAD services of HCAs behind an agent: their handles, events and sends in this process. remote.h
 * has the division of labour. */
#include "al/mgmt/remote.h"

#include <string.h>

#include <iba/ib_mad.h>

#include "al/event/channel.h"
#include "al/mgmt/link.h"
#include "al/mgmt/mgmt.h"
#include "al/verbs/verbs.h"
#include "al/object/device.h"

#define CALLBACKS_AT_ONCE                                                       \
	32 /* callbacks of a service before the dispatcher serves other objects \
	    */

/* A send whose event has not come. Guarded by remote_svc.lock. */
struct sent {
	struct mgmt_link link; /* remote_svc.sends */
	uint64_t id;           /* constant */
	bool asking; /* remote_send() has not returned, and frees the note if ended is set */
	bool ended;  /* the event has come, and the note is in no list */
};

/* An event that the agent has sent ahead. */
struct ahead {
	bool here;
	struct al_mad_event event;
	bool left; /* the agent has further events */
	struct ib_mad mad;
};

struct remote_svc {
	struct al_obj obj; /* the channel, if any, is in uses[0] */
	al_mad_cb cb;      /* callback; NULL: the service has a channel */
	struct mad_remote remote;
	struct al_mad_svc_init init;
	struct mgmt_link link; /* remote_svcs; guarded by remote_lock */
	atomic_uint announced; /* number of announcements */

	pthread_mutex_t lock;   /* guards all below, and admits one fetch of an event at a time.
				   Inside remote_lock. */
	struct mgmt_link sends; /* oldest first */
	uint32_t num_sends;     /* elements of sends */
	al_status gone;         /* why the HCA has gone; AL_SUCCESS: the agent has the service */
	bool failing; /* sends have been told as failed, and an outcome that comes late is not */

	struct ib_mad mad; /* first bytes of the datagram that is delivered by callback; the
			      dispatcher's */

	pthread_mutex_t ahead_lock; /* guards all below, and changes of remote.taken. Leaf. */
	struct ahead ahead[MAD_REMOTE_AHEAD_MAX]; /* a ring, by the number of the event */
	bool more;           /* the agent has announced events that it has not sent */
	uint64_t more_after; /* number of the first event behind which they are */
};

static const struct mad_remote_ops *ops;
static pthread_mutex_t remote_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list of services */
static struct mgmt_link remote_svcs = { &remote_svcs, &remote_svcs };

void mad_remote_set(const struct mad_remote_ops *to)
{
	ops = to;
}

void remote_after_fork(void)
{
	pthread_mutex_init(&remote_lock, NULL);
	link_init(&remote_svcs);
}

static struct remote_svc *svc_of(struct al_obj *obj)
{
	return (struct remote_svc *)obj;
}

/* ----------------------------------------------------------------- sends */

/* Takes a note out of the list. Under svc->lock. */
static void end_note(struct remote_svc *svc, struct sent *sent)
{
	link_remove(&sent->link);
	svc->num_sends--;
	sent->ended = true;
	if (!sent->asking)
		al_free(sent);
}

/* The event of a send with this identifier has come. Under svc->lock. */
static void end_noted(struct remote_svc *svc, uint64_t id)
{
	struct sent *sent;

	for (struct mgmt_link *l = svc->sends.next; l != &svc->sends; l = l->next) {
		sent = LINK_OWNER(l, struct sent, link);
		if (sent->id != id)
			continue;
		end_note(svc, sent);
		return;
	}
}

/* The oldest send that fails because the HCA has gone. NULL: there is none. Under svc->lock. */
static struct sent *failed_send(struct remote_svc *svc)
{
	struct sent *sent;

	for (struct mgmt_link *l = svc->sends.next; l != &svc->sends; l = l->next) {
		sent = LINK_OWNER(l, struct sent, link);
		if (!sent->asking)
			return sent;
	}
	return NULL;
}

/* remote_send() returns: the note stays if the agent has taken the send. */
static void settle(struct remote_svc *svc, struct sent *sent, al_status status)
{
	bool raise;

	pthread_mutex_lock(&svc->lock);
	sent->asking = false;
	if (status && sent->ended) /* the event was that of another send with the identifier */
		end_noted(svc, sent->id);
	if (sent->ended)
		al_free(sent);
	else if (status)
		end_note(svc, sent);
	raise = !status && svc->gone;
	pthread_mutex_unlock(&svc->lock);
	if (raise)
		ev_raise(&svc->obj.ev, 1);
}

al_status remote_send(struct al_obj *obj, const struct al_mad_send *send)
{
	struct remote_svc *svc = svc_of(obj);
	al_status status = mad_check_send(obj->dev, &svc->init, send);
	struct sent *sent;

	if (status)
		return status;
	sent = al_alloc(sizeof(*sent));
	if (!sent)
		return AL_INSUFFICIENT_MEMORY;
	sent->id = send->id;
	sent->asking = true;
	link_init(&sent->link);
	pthread_mutex_lock(&svc->lock);
	status = svc->num_sends < AL_MAD_SENDS_MAX ? svc->gone : mad_refuse_full();
	if (!status) {
		link_insert(&svc->sends, &sent->link);
		svc->num_sends++;
	}
	pthread_mutex_unlock(&svc->lock);
	if (status) {
		al_free(sent);
		return status;
	}
	status = ops->send(&svc->remote, send);
	settle(svc, sent, status);
	return status;
}

al_status remote_cancel(struct al_obj *obj, uint64_t id)
{
	struct remote_svc *svc = svc_of(obj);
	al_status status;

	pthread_mutex_lock(&svc->lock);
	status = svc->gone;
	pthread_mutex_unlock(&svc->lock);
	if (!status)
		status = ops->cancel(&svc->remote, id);
	/* of a service that goes or has gone every send has or gets its event */
	return status == AL_CA_REMOVED || status == AL_AGENT_LOST ? AL_NOT_FOUND : status;
}

/* ----------------------------------------------------------------- events */

/* An event that is being fetched. */
struct fetch {
	void *mad;     /* room for the datagram */
	uint32_t room; /* bytes of mad */
	uint32_t size; /* longest datagram that the caller takes */
	bool grows;    /* the datagram gets memory of its own if it is longer than room */
	bool lost;     /* there was no memory for it */
	struct al_mad_part part;
};

/* Gives a datagram that has begun to arrive memory of its own. */
static void grow(struct fetch *fetch)
{
	uint8_t *mad = al_alloc(fetch->part.event.length);

	if (mad)
		memcpy(mad, fetch->mad, fetch->part.bytes);
	fetch->lost = !mad;
	if (mad) {
		fetch->mad = mad;
		fetch->room = fetch->part.event.length;
	}
}

/* Fetches the oldest event from the agent, part by part. Under svc->lock. */
static al_status fetch_remote(struct remote_svc *svc, struct fetch *fetch)
{
	al_status status =
		ops->next(&svc->remote, fetch->size, 0, fetch->mad, fetch->room, &fetch->part);
	uint32_t have = fetch->part.bytes, at;

	if (!status && fetch->grows && fetch->part.event.length > fetch->room)
		grow(fetch);
	while (!status && have < fetch->part.event.length) {
		at = fetch->lost ? 0 : have; /* of a datagram without memory the parts overwrite one
						another */
		status = ops->next(&svc->remote, fetch->size, have, (uint8_t *)fetch->mad + at,
				   fetch->room - at, &fetch->part);
		if (!status && !fetch->part.bytes)
			status = AL_AGENT_PROTOCOL;
		have += fetch->part.bytes;
	}
	if (!status && fetch->part.event.type != AL_MAD_RECEIVED)
		end_noted(svc, fetch->part.event.id);
	/* the events come when the removal or the loss is known here */
	return status == AL_CA_REMOVED || status == AL_AGENT_LOST ? AL_NOT_FOUND : status;
}

/* The place of the oldest event that the agent sends ahead. Under svc->ahead_lock. */
static struct ahead *next_ahead(struct remote_svc *svc)
{
	return &svc->ahead[atomic_load(&svc->remote.taken) % MAD_REMOTE_AHEAD_MAX];
}

/* True: the agent has announced events behind one that is still on its way, whose arrival raises
 * the service's event. Under svc->ahead_lock. */
static bool is_on_its_way(const struct remote_svc *svc)
{
	return svc->more && svc->more_after > atomic_load(&svc->remote.taken);
}

/* Copies an event that the agent has sent ahead, and makes room for another. Under
 * svc->ahead_lock. */
static al_status take_ahead(struct remote_svc *svc, struct ahead *ahead, struct fetch *fetch)
{
	fetch->part.event = ahead->event;
	if (ahead->event.length > fetch->size)
		return AL_BUFFER_TOO_SMALL;
	if (ahead->event.length) /* else fetch->mad may be NULL */
		memcpy(fetch->mad, &ahead->mad, ahead->event.length);
	ahead->here = false;
	atomic_fetch_add(&svc->remote.taken, 1);
	fetch->part.left =
		next_ahead(svc)->here || ((ahead->left || svc->more) && !is_on_its_way(svc));
	return AL_SUCCESS;
}

/* Takes the oldest event if the agent sends it ahead. False: the agent has it, if there is one.
 * Under svc->lock. */
static bool fetch_ahead(struct remote_svc *svc, struct fetch *fetch, al_status *status)
{
	struct ahead *ahead;
	bool found, waits;

	pthread_mutex_lock(&svc->ahead_lock);
	ahead = next_ahead(svc);
	found = ahead->here;
	waits = !found && is_on_its_way(svc);
	if (found)
		*status = take_ahead(svc, ahead, fetch);
	else if (waits)
		*status = AL_NOT_FOUND;
	else
		svc->more = false; /* whether there are more is for fetch_remote() to find out */
	pthread_mutex_unlock(&svc->ahead_lock);
	if (found && !*status)
		end_noted(svc, fetch->part.event.id);
	return found || waits;
}

/* Makes the next event of a service whose HCA has gone. Under svc->lock. */
static al_status fetch_failed(struct remote_svc *svc, struct fetch *fetch)
{
	struct sent *sent = failed_send(svc);

	svc->failing = true;
	if (!sent)
		return AL_NOT_FOUND;
	fetch->part.event =
		(struct al_mad_event){ .type = AL_MAD_FAILED, .status = svc->gone, .id = sent->id };
	end_note(svc, sent);
	fetch->part.left = failed_send(svc);
	return AL_SUCCESS;
}

static al_status fetch_event(struct remote_svc *svc, struct fetch *fetch)
{
	al_status status = AL_NOT_FOUND;
	bool found;

	pthread_mutex_lock(&svc->lock);
	found = !svc->failing && fetch_ahead(svc, fetch, &status);
	if (svc->gone && (!found || status == AL_NOT_FOUND))
		status = fetch_failed(svc, fetch);
	else if (!found)
		status = fetch_remote(svc, fetch);
	pthread_mutex_unlock(&svc->lock);
	if (!status && fetch->part.event.length)
		fetch->part.event.mad = fetch->mad;
	return status;
}

/* The event in place of one whose datagram has got no memory. False: none, since no send ends with
 * it. */
static bool tell_lost(struct al_mad_event *event)
{
	if (event->type == AL_MAD_RECEIVED)
		return false;
	*event = (struct al_mad_event){ .type = AL_MAD_FAILED,
					.status = AL_INSUFFICIENT_MEMORY,
					.id = event->id };
	return true;
}

/* Delivers events by callback, on the HCA's async dispatcher. */
static void run_events(struct ev_source *source, uint32_t pending)
{
	struct remote_svc *svc = svc_of(source->obj);

	(void)pending;
	for (int i = 0; i < CALLBACKS_AT_ONCE; i++) {
		struct fetch fetch = { .mad = &svc->mad,
				       .room = sizeof(svc->mad),
				       .size = UINT32_MAX,
				       .grows = true };

		if (obj_dying(&svc->obj) || fetch_event(svc, &fetch))
			return;
		if (!fetch.lost || tell_lost(&fetch.part.event))
			svc->cb(svc->obj.context, &fetch.part.event);
		if (fetch.mad != &svc->mad)
			al_free(fetch.mad);
		if (!fetch.part.left)
			return;
	}
	ev_raise(source, 1);
}

/*
 * Makes the channel readable if the service has events, and not readable for its sake if it has
 * none. An announcement that comes between the fetch and the withdrawal is told by its number.
 */
static void announce_rest(struct remote_svc *svc, bool left, unsigned int announced)
{
	if (!left) {
		channel_withdraw_user(svc->obj.uses[0], &svc->obj);
		left = atomic_load(&svc->announced) != announced;
	}
	if (left)
		ev_raise(&svc->obj.ev, 1);
}

al_status remote_next(struct al_obj *obj, void *mad, uint32_t size, struct al_mad_event *event)
{
	struct fetch fetch = { .mad = mad, .room = size, .size = size };
	struct remote_svc *svc = svc_of(obj);
	unsigned int announced;
	al_status status;

	if (svc->cb)
		return AL_INVALID_PARAMETER;
	announced = atomic_load(&svc->announced);
	status = fetch_event(svc, &fetch);
	announce_rest(svc, status == AL_BUFFER_TOO_SMALL || (!status && fetch.part.left),
		      announced);
	if (!status)
		*event = fetch.part.event;
	else if (status == AL_BUFFER_TOO_SMALL)
		*event = (struct al_mad_event){ .type = fetch.part.event.type,
						.id = fetch.part.event.id,
						.length = fetch.part.event.length };
	return status;
}

void mad_remote_announced(void *announce, uint64_t before)
{
	struct remote_svc *svc = announce;

	pthread_mutex_lock(&svc->ahead_lock);
	svc->more = true;
	svc->more_after = before;
	pthread_mutex_unlock(&svc->ahead_lock);
	atomic_fetch_add(&svc->announced, 1);
	ev_raise(&svc->obj.ev, 1);
}

void mad_remote_ahead(void *announce, uint64_t before, const struct al_mad_event *event,
		      const void *mad, bool left)
{
	struct remote_svc *svc = announce;
	struct ahead *ahead = &svc->ahead[before % MAD_REMOTE_AHEAD_MAX];

	pthread_mutex_lock(&svc->ahead_lock);
	if (before - atomic_load(&svc->remote.taken) < MAD_REMOTE_AHEAD_MAX && !ahead->here) {
		ahead->here = true;
		ahead->event = *event;
		ahead->event.mad = NULL;
		ahead->left = left;
		memcpy(&ahead->mad, mad, event->length);
	}
	pthread_mutex_unlock(&svc->ahead_lock);
	atomic_fetch_add(&svc->announced, 1);
	ev_raise(&svc->obj.ev, 1);
}

/* ---------------------------------------------------------- life of a service */

void remote_leaving(const struct al_dev *dev)
{
	struct remote_svc *svc;

	pthread_mutex_lock(&remote_lock);
	for (struct mgmt_link *l = remote_svcs.next; l != &remote_svcs; l = l->next) {
		svc = LINK_OWNER(l, struct remote_svc, link);
		if (svc->obj.dev != dev)
			continue;
		pthread_mutex_lock(&svc->lock);
		svc->gone = dev->agent_lost ? AL_AGENT_LOST : AL_CA_REMOVED;
		pthread_mutex_unlock(&svc->lock);
		atomic_fetch_add(&svc->announced, 1);
		ev_raise(&svc->obj.ev, 1);
	}
	pthread_mutex_unlock(&remote_lock);
}

static void destroy_svc(struct al_obj *obj, const struct ci_interface *module)
{
	(void)module;
	ops->dereg(&svc_of(obj)->remote);
}

static void release_svc(struct al_obj *obj)
{
	struct remote_svc *svc = svc_of(obj);

	pthread_mutex_lock(&remote_lock);
	link_remove(&svc->link);
	pthread_mutex_unlock(&remote_lock);
	while (!link_alone(&svc->sends))
		end_note(svc, LINK_OWNER(svc->sends.next, struct sent, link));
	pthread_mutex_destroy(&svc->lock);
	pthread_mutex_destroy(&svc->ahead_lock);
}

static const struct obj_type remote_svc_type = {
	.id = AL_OBJ_MAD_SVC,
	.size = sizeof(struct remote_svc),
	.ci = OBJ_NO_CI,
	.destroy = destroy_svc,
	.release = release_svc,
};

static void list_svc(struct remote_svc *svc)
{
	pthread_mutex_lock(&remote_lock);
	link_insert(&remote_svcs, &svc->link);
	pthread_mutex_unlock(&remote_lock);
}

al_status remote_register(struct al_call *call, struct al_obj *channel,
			  const struct al_mad_svc_init *init, void *context, al_mad_cb cb,
			  al_mad_svc_h *handle)
{
	struct al_obj *obj;
	al_status status;

	if (ops_dead(call->ops))
		return ops_dead_status(call->ops);
	status = check_end_port(call->obj->dev, "port_num", init->port_num);
	if (!status)
		status = obj_new(&remote_svc_type, call->obj, call->obj->dev, context, &obj);
	if (status)
		return status;
	svc_of(obj)->cb = cb;
	svc_of(obj)->init = *init;
	link_init(&svc_of(obj)->sends);
	pthread_mutex_init(&svc_of(obj)->lock, NULL);
	pthread_mutex_init(&svc_of(obj)->ahead_lock, NULL);
	list_svc(svc_of(obj));
	status = mad_use_channel(obj, channel, run_events);
	if (!status)
		status = ops->reg(call->obj->ci, init, svc_of(obj), &svc_of(obj)->remote);
	if (!status) {
		status = obj_publish(obj, handle);
		if (status)
			ops->dereg(&svc_of(obj)->remote);
	}
	if (status) {
		release_svc(obj);
		obj_abort(obj);
	}
	return status;
}

al_status remote_local_mad(const struct al_obj *ca, uint8_t port_num, const struct ib_mad *request,
			   struct ib_mad *response)
{
	return ops->local_mad(ca->ci, port_num, request, response);
}

al_status remote_get_spl_qp(const struct al_obj *ca, uint8_t port_num, struct ci_qp *qp)
{
	return ops->get_spl_qp(ca->ci, port_num, qp);
}

void remote_put_spl_qp(const struct al_obj *ca, struct ci_qp *qp)
{
	ops->put_spl_qp(ca->ci, qp);
}

al_status remote_query_spl_qp(const struct al_obj *ca, const struct ci_qp *qp,
			      struct ib_qp_attr *attr)
{
	return ops->query_spl_qp(ca->ci, qp, attr);
}
