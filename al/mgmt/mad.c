/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MAD services: registration, the match of received datagrams to requests and services, and the
 * delivery of events by callback and by channel. */
#include <string.h>

#include "al/event/channel.h"
#include "al/mgmt/mgmt.h"
#include "al/mgmt/remote.h"
#include "al/object/client.h"
#include "al/verbs/verbs.h"

#define CALLBACKS_AT_ONCE                                                       \
	32 /* callbacks of a service before the dispatcher serves other objects \
	    */

/* ----------------------------------------------------------------- classes */

static bool has_oui(uint8_t mgmt_class)
{
	return mgmt_class >= IB_CLASS_VENDOR_2_FIRST && mgmt_class <= IB_CLASS_VENDOR_2_LAST;
}

/* True: IBTA 13.4.4 assigns the class, or leaves it to vendors or applications. */
static bool is_class(uint8_t mgmt_class)
{
	return (mgmt_class >= IB_CLASS_SUBN_LID && mgmt_class <= IB_CLASS_VENDOR_2_LAST) ||
	       mgmt_class == IB_CLASS_SUBN_DIR;
}

#define BM_RESPONSE                                                                       \
	1u /* bit of the attribute modifier that marks responses of baseboard management, \
	      IBTA 16.2.2 */

bool mad_is_response(const struct ib_mad_hdr *hdr)
{
	return hdr->method & IB_METHOD_RESP || hdr->method == IB_METHOD_TRAP_REPRESS ||
	       (hdr->mgmt_class == IB_CLASS_BM && ib_be32_get(hdr->attr_mod) & BM_RESPONSE);
}

/* ------------------------------------------------------------------ receives */

/* True: the service wants unsolicited datagrams like this one. */
static bool wants(const struct al_mad_svc *svc, const struct ib_mad *mad)
{
	const struct ib_vendor_mad *vendor = (const void *)mad;
	const struct ib_mad_hdr *hdr = &mad->hdr;

	return svc->init.mgmt_class == hdr->mgmt_class &&
	       svc->init.class_version == hdr->class_version &&
	       svc->init.methods[hdr->method / 64] >> hdr->method % 64 & 1 &&
	       (!has_oui(hdr->mgmt_class) || !memcmp(svc->init.oui, vendor->oui.b, 3));
}

struct al_mad_svc *mad_find_service(struct mgmt_port *port, const struct ib_mad *mad)
{
	struct al_mad_svc *svc;

	for (struct mgmt_link *l = port->services.next; l != &port->services; l = l->next) {
		svc = LINK_OWNER(l, struct al_mad_svc, link);
		if (wants(svc, mad))
			return svc;
	}
	return NULL;
}

bool mad_is_same_sender(const struct ib_ah_attr *a, const struct ib_ah_attr *b)
{
	return a->dlid == b->dlid && a->is_global == b->is_global &&
	       (!a->is_global || !memcmp(&a->grh.dgid, &b->grh.dgid, sizeof(a->grh.dgid)));
}

/* True: the sender already has half of the service's items. Under port->lock. */
static bool has_its_share(const struct al_mad_svc *svc, const struct ib_ah_attr *sender)
{
	const struct mgmt_item *item;
	uint32_t num = 0;

	for (struct mgmt_link *l = svc->events.next; l != &svc->events; l = l->next) {
		item = LINK_OWNER(l, struct mgmt_item, link);
		num += !item->send && mad_is_same_sender(&item->event.path, sender);
	}
	return num >= AL_MAD_RECEIVES_MAX / 2;
}

/* Stores a received datagram in an event. */
static void fill(struct mgmt_item *item, const struct mgmt_received *r)
{
	item->mad = *r->mad;
	item->event.length = IB_MAD_BYTES;
	item->event.path = r->path;
	item->event.src_qp = r->src_qp;
	item->event.pkey_index = r->pkey_index;
}

/* Delivers an unsolicited datagram. Returns its event; NULL: the service has no room for it. Under
 * port->lock. */
static struct mgmt_item *deliver(struct mgmt_port *port, struct al_mad_svc *svc,
				 const struct mgmt_received *r)
{
	struct mgmt_item *item;

	if (link_alone(&svc->free) || has_its_share(svc, &r->path)) {
		mad_count(&port->counters.overflow);
		mad_count(&svc->counts.dropped);
		return NULL;
	}
	mad_count(&svc->counts.received);
	item = LINK_OWNER(svc->free.next, struct mgmt_item, link);
	link_remove(&item->link);
	fill(item, r);
	item->event.type = AL_MAD_RECEIVED;
	svc_add_event(svc, item);
	return item;
}

/* Ends a request with its answer. Under port->lock. */
static void answer(struct mgmt_port *port, struct mgmt_send *send, const struct mgmt_received *r)
{
	fill(&send->item, r);
	send->item.mad.hdr.tid = ib_be64_of((uint64_t)send->caller_tid << 32 | (uint32_t)send->tid);
	mad_count(&port->counters.answered);
	send_end(send, AL_MAD_ANSWERED, AL_SUCCESS);
}

/* Under port->lock. */
static void deliver_response(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct mgmt_send *send = send_find_request(port, r);

	if (send && !send->recv) /* else the answer arrives in segments, and this is none of them */
		answer(port, send, r);
	else
		mad_count(&port->counters.unexpected);
}

/* Replaces an event's first segment by the whole datagram. */
static void set_message(struct mgmt_item *item, const struct mgmt_message *message)
{
	memcpy(message->bytes, &item->mad.hdr,
	       sizeof(item->mad.hdr)); /* the transaction identifier is the caller's */
	item->message = message->bytes;
	item->charged = message->charged;
	item->event.length = message->length;
}

void mad_deliver_long(struct mgmt_port *port, struct al_mad_svc *svc, struct mgmt_send *send,
		      const struct mgmt_received *r, const struct mgmt_message *message)
{
	struct mgmt_item *item;

	if (send) {
		answer(port, send, r);
		set_message(&send->item, message);
		return;
	}
	item = deliver(port, svc, r);
	if (item) {
		set_message(item, message);
		return;
	}
	svc_discharge(svc, message->charged);
	al_free(message->bytes);
}

void mad_free_message(const struct al_mad_svc *svc, struct mgmt_item *item)
{
	svc_discharge(svc, item->charged);
	al_free(item->message);
	item->message = NULL;
	item->charged = 0;
}

/* True: the datagram belonged to a service or a request, or was a response to none. Under
 * port->lock. */
static bool deliver_any(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct al_mad_svc *svc;

	if (transfer_is_packet(r) && transfer_received(port, r))
		return true;
	if (mad_is_response(&r->mad->hdr)) {
		deliver_response(port, r);
		return true;
	}
	svc = mad_find_service(port, r->mad);
	if (svc)
		deliver(port, svc, r);
	return svc;
}

/* Tells the owner of a service that the service has events, and drops the reference. */
static void tell_owner(struct al_mad_svc *svc)
{
	if (!obj_dying(&svc->obj))
		svc->owner->announce(svc->obj.context, (al_mad_svc_h)(uintptr_t)svc->obj.handle);
	obj_put(&svc->obj);
}

/* An agent is told by this thread: the HCA's dispatcher would be one more change of thread. */
bool mad_received(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct al_mad_svc *owned;
	bool delivered;

	pthread_mutex_lock(&port->lock);
	port->receiving = true;
	delivered = deliver_any(port, r);
	port->receiving = false;
	owned = port->owned;
	port->owned = NULL;
	pthread_mutex_unlock(&port->lock);
	if (owned)
		tell_owner(owned);
	return delivered;
}

/* -------------------------------------------------------------------- events */

void svc_add_event(struct al_mad_svc *svc, struct mgmt_item *item)
{
	struct mgmt_port *port = svc->port;

	link_insert(&svc->events, &item->link);
	if (port->receiving && svc->owner && !port->owned) {
		obj_ref(&svc->obj);
		port->owned = svc;
	} else if (port->owned != svc) {
		ev_raise(&svc->obj.ev, 1);
	}
}

/* Takes the oldest event. NULL: there is none. Under port->lock. */
static struct mgmt_item *take_event(struct al_mad_svc *svc)
{
	struct mgmt_item *item;

	if (link_alone(&svc->events))
		return NULL;
	item = LINK_OWNER(svc->events.next, struct mgmt_item, link);
	link_remove(&item->link);
	return item;
}

/* Ends a delivered event. Under port->lock. */
static void end_event(struct al_mad_svc *svc, struct mgmt_item *item)
{
	if (item->send) {
		send_free(item->send);
		return;
	}
	mad_free_message(svc, item);
	link_insert(&svc->free, &item->link);
}

/* The datagram of an event. NULL: it has none. */
static const void *datagram(const struct mgmt_item *item)
{
	if (!item->event.length)
		return NULL;
	return item->message ? item->message : &item->mad;
}

/* Delivers events by callback, on the HCA's async dispatcher. */
static void run_events(struct ev_source *source, uint32_t pending)
{
	struct al_mad_svc *svc = (struct al_mad_svc *)source->obj;
	struct mgmt_item *item;

	(void)pending;
	for (int i = 0; i < CALLBACKS_AT_ONCE; i++) {
		pthread_mutex_lock(&svc->port->lock);
		item = take_event(svc);
		pthread_mutex_unlock(&svc->port->lock);
		if (!item)
			return;
		item->event.mad = datagram(item);
		svc->cb(svc->obj.context, &item->event);
		pthread_mutex_lock(&svc->port->lock);
		end_event(svc, item);
		pthread_mutex_unlock(&svc->port->lock);
	}
	ev_raise(source, 1);
}

/* Tells the owner of a service that the service has events. */
static void run_announcement(struct ev_source *source, uint32_t pending)
{
	const struct al_mad_svc *svc = (const struct al_mad_svc *)source->obj;

	(void)pending;
	svc->owner->announce(svc->obj.context, (al_mad_svc_h)(uintptr_t)svc->obj.handle);
}

/* Tells a channel's reader that the service has events. Without a lock: the channel's lock is
 * inside port->lock. */
static uint32_t take_mad_event(struct ev_source *source, uint32_t pending,
			       struct al_channel_event *out)
{
	(void)pending;
	out->type = AL_CHANNEL_MAD;
	out->context = source->obj->context;
	return 0;
}

/* Copies the oldest event, and takes it if its datagram has room. *left: events remain. Under
 * port->lock. */
static al_status copy_event(struct al_mad_svc *svc, void *mad, uint32_t size,
			    struct al_mad_event *event, bool *left)
{
	struct mgmt_item *item = take_event(svc);

	*left = false;
	if (!item)
		return AL_NOT_FOUND;
	if (item->event.length > size) {
		link_insert(svc->events.next, &item->link);
		*left = true;
		memset(event, 0, sizeof(*event));
		event->type = item->event.type;
		event->id = item->event.id;
		event->length = item->event.length;
		return AL_BUFFER_TOO_SMALL;
	}
	*event = item->event;
	if (item->event.length) {
		memcpy(mad, datagram(item), item->event.length);
		event->mad = mad;
	}
	end_event(svc, item);
	*left = !link_alone(&svc->events);
	return AL_SUCCESS;
}

/* Copies a part of the oldest event, which ends with its last byte. Under port->lock. */
static al_status copy_part(struct al_mad_svc *svc, uint32_t size, uint32_t offset, void *to,
			   uint32_t room, struct al_mad_part *part)
{
	struct mgmt_item *item;
	uint32_t length;

	if (link_alone(&svc->events))
		return AL_NOT_FOUND;
	item = LINK_OWNER(svc->events.next, struct mgmt_item, link);
	length = item->event.length;
	part->event = item->event;
	part->event.mad = NULL;
	part->left = true;
	if (length > size)
		return AL_BUFFER_TOO_SMALL;
	if (offset > length || (offset == length && offset))
		return AL_INVALID_PARAMETER;
	part->bytes = length - offset < room ? length - offset : room;
	if (part->bytes)
		memcpy(to, (const uint8_t *)datagram(item) + offset, part->bytes);
	if (offset + part->bytes < length)
		return AL_SUCCESS;
	end_event(svc, take_event(svc));
	part->left = !link_alone(&svc->events);
	return AL_SUCCESS;
}

/* True: the oldest event is not the outcome of a send with a single packet at the most. Under
 * port->lock. */
static bool is_long_or_unsolicited(const struct al_mad_svc *svc)
{
	const struct mgmt_item *item;

	if (link_alone(&svc->events))
		return false;
	item = LINK_OWNER(svc->events.next, struct mgmt_item, link);
	return !item->send || item->event.length > IB_MAD_BYTES;
}

/* The parameters of mad_next_part(). */
struct wanted {
	bool outcome; /* the caller wants the outcome of a send with a single packet at the most */
	uint32_t size, offset, room;
	void *to;
};

static al_status next_owned(al_mad_svc_h handle, const struct wanted *w, struct al_mad_part *part)
{
	struct al_obj *obj = obj_get(handle, AL_OBJ_MAD_SVC);
	struct al_mad_svc *svc = (struct al_mad_svc *)obj;
	al_status status;

	memset(part, 0, sizeof(*part));
	if (!obj)
		return AL_INVALID_HANDLE;
	status = AL_INVALID_PARAMETER;
	if (!obj_agent(obj) && svc->owner) {
		pthread_mutex_lock(&svc->port->lock);
		status = w->outcome && is_long_or_unsolicited(svc)
				 ? AL_BUFFER_TOO_SMALL
				 : copy_part(svc, w->size, w->offset, w->to, w->room, part);
		pthread_mutex_unlock(&svc->port->lock);
	}
	obj_put(obj);
	return status;
}

al_status mad_next_part(al_mad_svc_h svc, uint32_t size, uint32_t offset, void *to, uint32_t room,
			struct al_mad_part *part)
{
	return next_owned(svc, &(struct wanted){ false, size, offset, room, to }, part);
}

al_status mad_next_outcome(al_mad_svc_h svc, struct ib_mad *mad, struct al_mad_part *part)
{
	return next_owned(svc, &(struct wanted){ true, IB_MAD_BYTES, 0, IB_MAD_BYTES, mad }, part);
}

/*
 * Makes the channel readable if the service has events, and not readable for its sake if it has
 * none. An event that is added between the withdrawal and the second look is announced by the
 * second look.
 */
static void announce_rest(struct al_mad_svc *svc, bool left)
{
	if (!left) {
		channel_withdraw_user(svc->obj.uses[0], &svc->obj);
		pthread_mutex_lock(&svc->port->lock);
		left = !link_alone(&svc->events);
		pthread_mutex_unlock(&svc->port->lock);
	}
	if (left)
		ev_raise(&svc->obj.ev, 1);
}

static al_status next_event(struct al_mad_svc *svc, void *mad, uint32_t size,
			    struct al_mad_event *event)
{
	al_status status;
	bool left;

	if (svc->cb || svc->owner)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "the service has a callback, which gets its events");
	pthread_mutex_lock(&svc->port->lock);
	status = copy_event(svc, mad, size, event, &left);
	pthread_mutex_unlock(&svc->port->lock);
	announce_rest(svc, left);
	return status;
}

al_status al_mad_next(al_mad_svc_h handle, void *mad, uint32_t size, struct al_mad_event *event)
{
	struct al_obj *obj;
	al_status status;

	if (!event || (size && !mad))
		return REFUSE(AL_INVALID_PARAMETER,
			      "event is NULL, or mad is NULL and size is not 0");
	obj = obj_get(handle, AL_OBJ_MAD_SVC);
	if (!obj)
		return reason_settle(refuse_handle(handle, AL_OBJ_MAD_SVC), __func__, NULL);
	status = obj_agent(obj) ? remote_next(obj, mad, size, event)
				: next_event((struct al_mad_svc *)obj, mad, size, event);
	if (status == AL_NOT_FOUND) /* no refusal */
		ci_reason.fresh = false;
	else if (status)
		reason_settle(status, __func__, obj);
	obj_put(obj);
	return status;
}

/* --------------------------------------------------------------- registration */

/* The service's handle has become invalid: drops its sends and events. Any context. */
static void svc_invalidated(struct al_obj *obj)
{
	struct al_mad_svc *svc = (struct al_mad_svc *)obj;
	struct mgmt_item *item;

	pthread_mutex_lock(&svc->port->lock);
	link_remove(&svc->link);
	transfer_drop_all(svc);
	send_drop_all(svc);
	while ((item = take_event(svc)))
		end_event(svc, item);
	pthread_mutex_unlock(&svc->port->lock);
}

/* Takes the service from its sender, if any; the last service frees the sender. */
static void leave_sender(struct al_mad_svc *svc)
{
	struct mgmt_sender *sender = svc->sender;
	bool last;

	if (!sender)
		return;
	pthread_mutex_lock(&svc->port->lock);
	last = !--sender->refs;
	pthread_mutex_unlock(&svc->port->lock);
	if (last)
		al_free(sender);
}

static void release_svc(struct al_obj *obj)
{
	struct al_mad_svc *svc = (struct al_mad_svc *)obj;

	leave_sender(svc);
	al_free(svc->items);
	mgmt_port_put(svc->port);
}

static const struct obj_type mad_svc_type = {
	.id = AL_OBJ_MAD_SVC,
	.size = sizeof(struct al_mad_svc),
	.ci = OBJ_NO_CI,
	.invalidated = svc_invalidated,
	.release = release_svc,
};

uint32_t mad_svc_number(const struct al_obj *obj)
{
	const struct al_mad_svc_init *init = &((const struct al_mad_svc *)obj)->init;

	return AL_SNAP_MAD_NUMBER(init->port_num, init->mgmt_class, init->class_version);
}

void mad_svc_counts(const struct al_obj *obj, struct al_snap_mad_svc *to)
{
	const struct mad_counts *counts = &((const struct al_mad_svc *)obj)->counts;

#define COPY_COUNT(name) to->name = atomic_load_explicit(&counts->name, memory_order_relaxed);
	MAD_COUNT_LIST(COPY_COUNT)
#undef COPY_COUNT
}

static al_status check_attributes(const struct al_mad_svc_init *init)
{
	static const uint8_t no_oui[3];

	if (init->pad || !RESERVED_IS_ZERO(init))
		return ib_refuse(AL_INVALID_PARAMETER, "pad or reserved is not zero");
	if (!is_class(init->mgmt_class))
		return ib_refuse(AL_INVALID_PARAMETER, "mgmt_class is %#x, which is no class",
				 init->mgmt_class);
	if (!init->class_version)
		return ib_refuse(AL_INVALID_PARAMETER, "class_version is 0");
	if (!has_oui(init->mgmt_class) && memcmp(init->oui, no_oui, sizeof(no_oui)))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "oui is not zero, and the class %#x has none (0x30 to 0x4f have)",
				 init->mgmt_class);
	if (init->rmpp && rmpp_class_bytes(init->mgmt_class) < 0)
		return ib_refuse(AL_INVALID_PARAMETER, "rmpp is set, and the class %#x has no RMPP",
				 init->mgmt_class);
	return AL_SUCCESS;
}

static al_status check(const struct al_mad_svc_init *init, al_mad_cb cb)
{
	if (!cb == !init->channel)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "a service has either a callback or a channel");
	return check_attributes(init);
}

al_status mad_use_channel(struct al_obj *obj, struct al_obj *channel,
			  void (*run)(struct ev_source *, uint32_t))
{
	al_status status = channel ? obj_use(obj, channel) : AL_SUCCESS;

	obj->ev.run = run;
	if (status || !channel)
		return status;
	atomic_store(&obj->ev.queue, channel_queue(channel));
	obj->ev.take = take_mad_event;
	return AL_SUCCESS;
}

static al_status make_items(struct al_mad_svc *svc)
{
	if (!svc->init.methods[0] && !svc->init.methods[1])
		return AL_SUCCESS;
	svc->items = al_alloc(AL_MAD_RECEIVES_MAX * sizeof(*svc->items));
	if (!svc->items)
		return AL_INSUFFICIENT_MEMORY;
	for (uint32_t i = 0; i < AL_MAD_RECEIVES_MAX; i++)
		link_insert(&svc->free, &svc->items[i].link);
	return AL_SUCCESS;
}

static bool overlap(const struct al_mad_svc_init *a, const struct al_mad_svc_init *b)
{
	return a->mgmt_class == b->mgmt_class && a->class_version == b->class_version &&
	       !memcmp(a->oui, b->oui, sizeof(a->oui)) &&
	       (a->methods[0] & b->methods[0] || a->methods[1] & b->methods[1]);
}

/* Adds a service to its port, and to the sender for whom the calling thread acts. AL_DUPLICATE:
 * another service wants the same unsolicited datagrams. AL_INSUFFICIENT_MEMORY. */
static al_status link_service(struct al_mad_svc *svc)
{
	struct mgmt_sender *made = al_alloc(sizeof(*made)), *sender = made;
	struct mgmt_port *port = svc->port;
	al_status status = AL_SUCCESS;
	struct al_mad_svc *other;

	if (!made)
		return AL_INSUFFICIENT_MEMORY;
	send_init_sender(made, acting_client());
	pthread_mutex_lock(&port->lock);
	for (struct mgmt_link *l = port->services.next; l != &port->services; l = l->next) {
		other = LINK_OWNER(l, struct al_mad_svc, link);
		if (overlap(&svc->init, &other->init))
			status = ib_refuse(
				AL_DUPLICATE,
				"a service of %s[%d] takes the same methods of class %#x version %u already",
				other->obj.comm, (int)other->obj.pid, other->init.mgmt_class,
				other->init.class_version);
		if (other->qp == svc->qp && other->sender->client == made->client)
			sender = other->sender;
	}
	if (!status) {
		link_insert(&port->services, &svc->link);
		svc->sender = sender;
		sender->refs++;
	}
	pthread_mutex_unlock(&port->lock);
	if (svc->sender != made)
		al_free(made);
	return status;
}

/* Where the events of a service go: to its channel if cb and owner are NULL. */
struct delivery {
	al_mad_cb cb;
	const struct al_mad_owner *owner;
};

/* Makes a service of a port, and publishes it. */
static al_status make_service(struct al_obj *obj, struct mgmt_port *port, struct al_obj *channel,
			      const struct al_mad_svc_init *init, const struct delivery *to,
			      al_mad_svc_h *handle)
{
	struct al_mad_svc *svc = (struct al_mad_svc *)obj;
	al_status status;

	svc->cb = to->cb;
	svc->owner = to->owner;
	svc->init = *init;
	link_init(&svc->link);
	link_init(&svc->free);
	link_init(&svc->events);
	send_init_service(svc, port, mgmt_qpn_of(init->mgmt_class));
	status = mad_use_channel(obj, channel, svc->owner ? run_announcement : run_events);
	if (!status)
		status = make_items(svc);
	if (!status)
		status = link_service(svc);
	if (!status)
		status = obj_publish(obj, handle);
	return status;
}

static al_status register_service(struct al_call *call, struct al_obj *channel,
				  const struct al_mad_svc_init *init, void *context,
				  const struct delivery *to, al_mad_svc_h *handle)
{
	struct al_dev *dev = call->obj->dev;
	struct mgmt_port *port;
	struct al_obj *obj;
	al_status status;

	if (ops_dead(call->ops))
		return ops_dead_status(call->ops);
	status = check_end_port(dev, "port_num", init->port_num);
	if (!status)
		status = mgmt_check_qpn(dev, init->port_num, mgmt_qpn_of(init->mgmt_class));
	if (!status)
		status = mgmt_serve(dev, init->port_num, &port);
	if (status)
		return status;
	status = obj_new(&mad_svc_type, call->obj, dev, context, &obj);
	if (status) {
		mgmt_port_put(port);
		return status;
	}
	status = make_service(obj, port, channel, init, to, handle);
	if (status) {
		svc_invalidated(obj);
		release_svc(obj);
		obj_abort(obj);
	}
	return status;
}

al_status al_reg_mad_svc(al_ca_h ca, const struct al_mad_svc_init *init, void *context,
			 al_mad_cb cb, al_mad_svc_h *svc)
{
	struct al_obj *channel = NULL;
	struct al_call call;
	al_status status;

	if (!init || !svc)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", init ? "svc" : "init");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	if (init->channel) {
		channel = obj_get(init->channel, AL_OBJ_CHANNEL);
		status = channel ? AL_SUCCESS : refuse_handle(init->channel, AL_OBJ_CHANNEL);
	}
	if (!status)
		status = check(init, cb);
	if (!status && obj_agent(call.obj))
		status = remote_register(&call, channel, init, context, cb, svc);
	else if (!status)
		status = register_service(&call, channel, init, context,
					  &(struct delivery){ .cb = cb }, svc);
	if (channel)
		obj_put(channel);
	return CALL_FINISH(&call, status);
}

al_status mad_reg_owned(al_ca_h ca, const struct al_mad_svc_init *init, void *context,
			const struct al_mad_owner *owner, al_mad_svc_h *svc)
{
	struct al_call call;
	al_status status = call_begin(&call, ca, AL_OBJ_CA);

	if (status)
		return status;
	status = init->channel ? AL_INVALID_PARAMETER : check_attributes(init);
	if (!status)
		status = register_service(&call, NULL, init, context,
					  &(struct delivery){ .owner = owner }, svc);
	call_end(&call);
	return status;
}

al_status al_dereg_mad_svc(al_mad_svc_h svc, al_destroyed_cb cb, void *context)
{
	return obj_destroy(svc, AL_OBJ_MAD_SVC, cb, context);
}

static al_status ask_agents(const struct al_obj *ca, uint8_t port_num, const struct ib_mad *request,
			    struct ib_mad *response)
{
	struct mgmt_port *port;
	al_status status = mgmt_serve(ca->dev, port_num, &port);

	if (status)
		return status;
	status = agents_ask(port, request, response);
	mgmt_port_put(port);
	return status;
}

al_status al_local_mad(al_ca_h ca, uint8_t port_num, const struct ib_mad *request,
		       struct ib_mad *response)
{
	struct al_call call;
	al_status status;

	if (!request || !response)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", request ? "response" : "request");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = check_end_port(call.obj->dev, "port_num", port_num);
	if (status)
		return CALL_FINISH(&call, status);
	if (ops_dead(call.ops))
		status = ops_dead_status(call.ops);
	else if (obj_agent(call.obj))
		status = remote_local_mad(call.obj, port_num, request, response);
	else
		status = ask_agents(call.obj, port_num, request, response);
	return CALL_FINISH(&call, status);
}
