/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asynchronous events: a module's upcalls, objects' callbacks, and the registration of event
 * handlers. */
#include "al/event/async.h"

#include "al/event/channel.h"
#include "al/event/pnp.h"

/* Guards the list of handlers. A handler stays in the list until its release_handler(). Leaf. */
static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct al_event_handler *handlers;
/* Held while a handler registers, so that two channels can not register for one HCA handle at once.
 * Outside tree_lock. */
static pthread_mutex_t registration_lock = PTHREAD_MUTEX_INITIALIZER;

static const al_object_type event_object[] = {
#define EVENT_OBJECT(name, value, text, object) [value] = object,
	IB_EVENT_LIST(EVENT_OBJECT)
};

#define EVENT_BIT(name, value, text, object) | 1u << value
static const uint32_t known_events = 0 IB_EVENT_LIST(EVENT_BIT);

/* ---------------------------------------------------------------- upcalls */

_Static_assert(offsetof(struct al_obj, type) == offsetof(struct ci_registration, no_object),
	       "an HCA's ctx differs from an object's ctx in its first word");

/* Names the object of a ctx that a module passed to an upcall. */
static const char *ctx_name(const struct al_obj *ctx)
{
	return !ctx ? "NULL" : ctx->type ? obj_name(ctx) : "an HCA";
}

void ib_cq_notify(void *cq_ctx)
{
	struct al_obj *obj = cq_ctx;

	if (__builtin_expect(!obj || !obj->type || obj->type->id != AL_OBJ_CQ, 0)) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_cq_notify: a module passed the ctx of %s instead of a completion queue's; the notification is dropped",
		       ctx_name(obj));
		return;
	}
	ev_raise(&obj->ev, EV_COMPLETION);
}

static void dispatch_affiliated(struct al_obj *obj, ib_event_type type)
{
	bool in_channel;

	/* A channel runs no callbacks, so the source to_handlers notifies the event handlers of an
	 * object with a channel. */
	in_channel = atomic_load(&obj->ev.queue)->withdraw;
	/* The reader of the channel may destroy the object at once: the reference keeps it for the
	 * second ev_raise(). */
	if (in_channel && !obj_try_ref(obj))
		return;
	ev_raise(&obj->ev, 1u << type);
	if (!in_channel)
		return;
	ev_raise(&((struct al_evobj *)obj)->to_handlers, 1u << type);
	obj_put(obj);
}

void dev_raise(struct al_dev *dev, ib_event_type type, uint8_t port)
{
	ladder_add(&dev->ports[port].ladder, type);
	ev_raise(&dev->ev, 1u << type);
}

/* The events that ib_mad_seen() raises if a value differs from the value before. */
#define SEEN_CHANGES \
	(1u << IB_EVENT_LID_CHANGE | 1u << IB_EVENT_GID_CHANGE | 1u << IB_EVENT_SM_CHANGE)

static void dispatch_unaffiliated(struct al_dev *dev, ib_event_type type, uint8_t port)
{
	if (port > dev->attr.num_ports || (PORT_STATES & 1u << type && !dev_has_port(dev, port))) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_dispatch_event: module %s raised \"%s\" for port %u of an HCA with %u ports; the event is dropped",
		       dev->module, al_event_type_str(type), port, dev->attr.num_ports);
		return;
	}
	if (SEEN_CHANGES &
	    1u << type) /* the values of the last Set(PortInfo) do not hold any more */
		atomic_store(&dev->ports[port].seen, 0);
	dev_raise(dev, type, port);
}

void ib_dispatch_event(const struct ci_event *event)
{
	const struct al_obj *obj;
	struct ci_registration *reg;
	struct al_dev *dev;

	if (!event) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_dispatch_event: a module passed NULL instead of an event; the call is dropped");
		return;
	}
	if ((unsigned int)event->type >= 32 || !(known_events & 1u << event->type)) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_dispatch_event: a module raised an event of the unknown type %u; the event is dropped",
		       (unsigned int)event->type);
		return;
	}
	obj = event->object_ctx;
	if (!obj || (obj->type ? obj->type->id : AL_OBJ_NONE) != event_object[event->type]) {
		ib_log(IB_LOG_ERROR, "al",
		       "ib_dispatch_event: a module raised \"%s\" for the ctx of %s; the event is dropped",
		       al_event_type_str(event->type), ctx_name(obj));
		return;
	}
	if (event_object[event->type] != AL_OBJ_NONE) {
		dispatch_affiliated(event->object_ctx, event->type);
		return;
	}
	reg = event->object_ctx;
	rcu_enter(); /* dev_remove_end() clears reg->al and then waits for this read section */
	dev = atomic_load(&reg->al);
	if (dev)
		dispatch_unaffiliated(dev, event->type, event->port_num);
	rcu_leave();
}

/* --------------------------------------------------------------- handlers */

struct al_obj *obj_ca(struct al_obj *obj)
{
	while (obj->type->id != AL_OBJ_CA)
		obj = obj->parent;
	return obj;
}

/* Finds the first handler, from h on, of the HCA dev (ca not NULL: registered with the HCA handle
 * ca) and takes a reference. NULL: there is none. Under handlers_lock. */
static struct al_event_handler *find_handler(struct al_event_handler *h, const struct al_dev *dev,
					     const struct al_obj *ca)
{
	for (; h; h = h->next)
		if (h->obj.dev == dev && (!ca || h->obj.parent == ca) && obj_try_ref(&h->obj))
			return h;
	return NULL;
}

static struct al_event_handler *first_handler(const struct al_dev *dev, const struct al_obj *ca)
{
	struct al_event_handler *h;

	pthread_mutex_lock(&handlers_lock);
	h = find_handler(handlers, dev, ca);
	pthread_mutex_unlock(&handlers_lock);
	return h;
}

static struct al_event_handler *next_handler(struct al_event_handler *h, const struct al_dev *dev,
					     const struct al_obj *ca)
{
	struct al_event_handler *next;

	pthread_mutex_lock(&handlers_lock);
	next = find_handler(h->next, dev, ca);
	pthread_mutex_unlock(&handlers_lock);
	obj_put(&h->obj);
	return next;
}

/* Calls the body for each handler of dev (and ca, unless NULL), with a reference. A body must not
 * leave the loop early. */
#define for_each_handler(h, dev, ca) \
	for (h = first_handler(dev, ca); h; h = next_handler(h, dev, ca))

/* Passes an unaffiliated event to the event handlers and to PnP. On the async dispatcher. */
static void notify_handlers(struct al_dev *dev, ib_event_type type, uint32_t port)
{
	struct al_event event = { .type = type, .ca_guid = dev->guid, .port_num = (uint8_t)port };
	struct al_event_handler *h;

	for_each_handler(h, dev, NULL)
	{
		if (obj_dying(&h->obj))
			continue;
		if (h->cb) {
			h->cb(h->obj.context, &event);
			continue;
		}
		ladder_follow(&h->ports[port].ladder, type);
		ev_raise(&h->obj.ev, 1u << type);
	}
	pnp_port_event(dev, port, type);
}

void dev_run_events(struct ev_source *source, uint32_t pending)
{
	struct al_dev *dev = (struct al_dev *)((char *)source - offsetof(struct al_dev, ev));
	ib_event_type type;
	uint32_t port;

	(void)pending; /* dev->ports has the events with their ports */
	while (port_take_event(dev->ports, dev->attr.num_ports, &type, &port)) {
		if (type == IB_EVENT_GID_CHANGE)
			dev_gids_changed(dev, port);
		notify_handlers(dev, type, port);
	}
}

/* ---------------------------------------------------------- objects' events */

static struct al_event affiliated(const struct al_obj *obj, ib_event_type type)
{
	return (struct al_event){ .type = type,
				  .object = obj->type->id,
				  .object_context = obj->context,
				  .ca_guid = obj->dev->guid };
}

/* Passes an affiliated event of an object to the event handlers of its HCA handle. On the async
 * dispatcher. */
static void notify_object_handlers(struct al_evobj *e, ib_event_type type)
{
	struct al_event event = affiliated(&e->obj, type);
	struct al_event_handler *h;

	for_each_handler(h, e->obj.dev, obj_ca(&e->obj))
	{
		if (obj_dying(&h->obj))
			continue;
		if (h->cb) {
			h->cb(h->obj.context, &event);
			continue;
		}
		/* to_channel is in no other channel's queue: al_reg_event_handler() permits one
		 * channel per HCA handle. */
		atomic_store(&e->to_channel.queue, channel_queue(h->obj.uses[0]));
		ev_raise(&e->to_channel, 1u << type);
	}
}

static void run_to_handlers(struct ev_source *source, uint32_t pending)
{
	struct al_evobj *e = (struct al_evobj *)source->obj;

	for (pending &= EV_ASYNC_MASK; pending; pending &= pending - 1)
		notify_object_handlers(e, (ib_event_type)__builtin_ctz(pending));
}

static void (*failure_owner)(void *context);

void async_set_failure_owner(void (*cb)(void *context))
{
	failure_owner = cb;
}

static void run_evobj(struct ev_source *source, uint32_t pending)
{
	struct al_evobj *e = (struct al_evobj *)source->obj;
	bool on_async_dispatcher = atomic_load(&source->queue) == &e->obj.dev->async.queue;

	if (pending & EV_COMPLETION && e->comp_cb && !obj_dying(&e->obj)) {
		IB_TRACE("al", "completion callback of cq %#llx",
			 (unsigned long long)e->obj.handle);
		e->comp_cb(e->obj.context);
	}
	if (pending & EV_FAILURE && failure_owner && !obj_dying(&e->obj))
		failure_owner(e->obj.context);
	for (pending &= EV_ASYNC_MASK; pending; pending &= pending - 1) {
		ib_event_type type = (ib_event_type)__builtin_ctz(pending);
		struct al_event event = affiliated(&e->obj, type);

		if (obj_dying(&e->obj))
			return;
		IB_TRACE("al", "event \"%s\" of %s %#llx", al_event_type_str(type),
			 obj_name(&e->obj), (unsigned long long)e->obj.handle);
		if (e->event_cb)
			e->event_cb(e->obj.context, &event);
		if (on_async_dispatcher)
			notify_object_handlers(e, type);
		else
			ev_raise(&e->to_handlers, 1u << type);
	}
}

/* Takes the next event of an object from the object's own channel (al_cq_init.channel). */
static uint32_t take_object_event(struct ev_source *source, uint32_t pending,
				  struct al_channel_event *out)
{
	struct al_obj *obj = source->obj;
	uint32_t bit = pending & EV_COMPLETION ? EV_COMPLETION : pending & -pending;

	out->context = obj->context;
	out->type = bit == EV_COMPLETION ? AL_CHANNEL_COMPLETION : AL_CHANNEL_ASYNC;
	if (bit != EV_COMPLETION)
		out->async = affiliated(obj, (ib_event_type)__builtin_ctz(bit));
	return pending & ~bit;
}

/* Takes the next event of an object from the channel of an event handler. Writes no event if the
 * handler has ended. */
static uint32_t take_handler_event(struct ev_source *source, uint32_t pending,
				   struct al_channel_event *out)
{
	struct al_evobj *e = (struct al_evobj *)source->obj;
	uint32_t bit = pending & -pending;
	struct al_event_handler *h;

	for_each_handler(h, e->obj.dev, obj_ca(&e->obj))
	{
		if (h->cb || obj_dying(&h->obj))
			continue;
		out->type = AL_CHANNEL_ASYNC;
		out->context = h->obj.context;
		out->async = affiliated(&e->obj, (ib_event_type)__builtin_ctz(bit));
	}
	return pending & ~bit;
}

void evobj_init(struct al_evobj *e, al_comp_cb comp_cb, al_event_cb event_cb, struct ev_queue *home)
{
	e->comp_cb = comp_cb;
	e->event_cb = event_cb;
	atomic_store(&e->obj.ev.queue, home);
	if (home->withdraw)
		e->obj.ev.take = take_object_event;
	else
		e->obj.ev.run = run_evobj;
	ev_init(&e->to_handlers, &e->obj, &e->obj.dev->async.queue, run_to_handlers, true);
	ev_init(&e->to_channel, &e->obj, NULL, NULL, false);
	e->to_channel.take = take_handler_event;
}

void evobj_published(struct al_obj *obj)
{
	ev_release(&((struct al_evobj *)obj)->to_handlers);
}

void evobj_invalidated(struct al_obj *obj)
{
	struct al_event_handler *h;

	for_each_handler(h, obj->dev, obj_ca(obj))
	{
		if (!h->cb)
			channel_withdraw_user(h->obj.uses[0], obj);
	}
}

/* ----------------------------------------------------------- registration */

static uint32_t take_port_event(struct ev_source *source, uint32_t pending,
				struct al_channel_event *out)
{
	struct al_event_handler *h = (struct al_event_handler *)source->obj;
	ib_event_type type;
	uint32_t port;

	if (!port_take_event(h->ports, h->obj.dev->attr.num_ports, &type, &port))
		return 0;
	out->type = AL_CHANNEL_ASYNC;
	out->context = h->obj.context;
	out->async = (struct al_event){ .type = type,
					.ca_guid = h->obj.dev->guid,
					.port_num = (uint8_t)port };
	return port_has_event(h->ports, h->obj.dev->attr.num_ports) ? pending : 0;
}

static void link_handler(struct al_event_handler *h)
{
	struct al_event_handler **p;

	pthread_mutex_lock(&handlers_lock);
	for (p = &handlers; *p; p = &(*p)->next)
		;
	h->prev = p;
	*p = h;
	pthread_mutex_unlock(&handlers_lock);
}

static void unlink_handler(struct al_event_handler *h)
{
	pthread_mutex_lock(&handlers_lock);
	*h->prev = h->next;
	if (h->next)
		h->next->prev = h->prev;
	pthread_mutex_unlock(&handlers_lock);
}

/* True: a handler with a channel is registered with the HCA handle ca. A handler that is being
 * destroyed counts until its release, since its channel may still have events of the HCA handle's
 * objects. */
static bool has_channel_handler(const struct al_obj *ca)
{
	bool found = false;

	pthread_mutex_lock(&handlers_lock);
	for (struct al_event_handler *h = handlers; h; h = h->next)
		found |= h->obj.parent == ca && !h->cb;
	pthread_mutex_unlock(&handlers_lock);
	return found;
}

static al_status use_channel(struct al_event_handler *h, al_channel_h channel)
{
	struct al_obj *obj = obj_get(channel, AL_OBJ_CHANNEL);
	struct al_dev *dev = h->obj.dev;
	al_status status;

	if (!obj)
		return refuse_handle(channel, AL_OBJ_CHANNEL);
	status = obj_use(&h->obj, obj);
	obj_put(obj);
	if (status)
		return status;
	h->ports = al_alloc((dev->attr.num_ports + 1) * sizeof(*h->ports));
	if (!h->ports)
		return AL_INSUFFICIENT_MEMORY;
	atomic_store(&h->obj.ev.queue, channel_queue(obj));
	h->obj.ev.take = take_port_event;
	return AL_SUCCESS;
}

static bool is_for_handler(const struct ev_source *source, const void *ca)
{
	return source->take == take_handler_event && obj_ca(source->obj) == ca;
}

static void release_handler(struct al_obj *obj)
{
	struct al_event_handler *h = (struct al_event_handler *)obj;

	unlink_handler(h);
	if (!h->cb)
		channel_withdraw_matching(obj->uses[0], is_for_handler, obj->parent);
	al_free(h->ports);
}

static const struct obj_type event_handler_type = {
	.id = AL_OBJ_EVENT_HANDLER,
	.size = sizeof(struct al_event_handler),
	.ci = OBJ_NO_CI,
	.release = release_handler,
};

al_status al_reg_event_handler(al_ca_h ca, al_channel_h channel, void *context, al_event_cb cb,
			       al_event_handler_h *handler)
{
	struct al_event_handler *h;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	if (!handler)
		return REFUSE(AL_INVALID_PARAMETER, "handler is NULL");
	if (!cb == !channel)
		return REFUSE(AL_INVALID_PARAMETER, "a handler has either a callback or a channel");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	pthread_mutex_lock(&registration_lock);
	if (ops_dead(call.ops)) {
		status = ops_dead_status(call.ops);
		goto out;
	}
	if (channel && has_channel_handler(call.obj)) {
		status = ib_refuse(
			AL_DUPLICATE,
			"the HCA handle has a handler with a channel already, and one is possible");
		goto out;
	}
	status = obj_new(&event_handler_type, call.obj, call.obj->dev, context, &obj);
	if (status)
		goto out;
	h = (struct al_event_handler *)obj;
	h->cb = cb;
	if (channel)
		status = use_channel(h, channel);
	obj_ref(obj); /* another thread may destroy the handler as soon as it is published */
	if (!status)
		status = obj_publish(obj, handler);
	if (status) {
		al_free(h->ports);
		obj_abort(obj);
		goto out;
	}
	link_handler(h);
	obj_put(obj);
out:
	pthread_mutex_unlock(&registration_lock);
	return CALL_FINISH(&call, status);
}

al_status al_dereg_event_handler(al_event_handler_h handler, al_destroyed_cb cb, void *context)
{
	return obj_destroy(handler, AL_OBJ_EVENT_HANDLER, cb, context);
}

void async_after_fork(void)
{
	pthread_mutex_init(&handlers_lock, NULL);
	pthread_mutex_init(&registration_lock, NULL);
	handlers = NULL;
}
