/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PnP. There is no queue of PnP events: each registration stores, per HCA, the state that was
 * delivered last and the current state, and per port a ladder (al/object/port.h), and the PnP
 * thread delivers the difference, one event at a time. So delivering an event allocates nothing,
 * and events of one port merge, by the ladder's rule. Each registration knows the first and the
 * last HCA that may have something to deliver, so an event costs the same beside a thousand HCAs.
 * The order of all others is a single rule, next_event(): first removals, then HCAs in the order of
 * arrival, each with its port events. Of several registrations, the older one gets an arrival
 * first, and the younger one a removal first, because a younger client may build on an older
 * client.
 *
 * pnp_lock guards the registrations and is never held during a callback. Outside tree_lock.
 */
#include "al/event/pnp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "al/event/channel.h"
#include "al/object/thread.h"

enum ca_state {
	CA_ANNOUNCED, /* AL_PNP_CA_ADD is not delivered yet */
	CA_ADDING,    /* the callback for AL_PNP_CA_ADD runs */
	CA_ADDED,     /* the client uses the HCA */
	CA_REMOVING,  /* the callback for AL_PNP_CA_REMOVE runs, or a channel's reader has the
			 removal and has not acknowledged it */
	CA_DONE       /* the client refused the HCA, or its removal is complete */
};

/* An HCA in a registration. */
struct pnp_ca {
	struct al_pnp *reg;
	struct pnp_ca *next, *prev; /* in the registration's list */
	struct pnp_ca *next_of_dev; /* in dev->pnp */
	uint64_t place;             /* in the order of arrival */
	struct al_dev *dev;         /* HCA, referenced */
	enum ca_state state;
	bool removing;           /* the HCA is being removed */
	void *context;           /* client context of al_set_client_context() */
	struct dev_port ports[]; /* pending port events; dev->attr.num_ports + 1 elements */
};

static pthread_mutex_t pnp_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pnp_changed = PTHREAD_COND_INITIALIZER; /* any change of the registrations */
static struct al_pnp *registrations; /* oldest first; each referenced */
static bool started;                 /* the PnP thread runs */

static const al_pnp_type pnp_of_event[32] = {
	[IB_EVENT_PORT_DOWN] = AL_PNP_PORT_DOWN,
	[IB_EVENT_PORT_INIT] = AL_PNP_PORT_INIT,
	[IB_EVENT_PORT_ARMED] = AL_PNP_PORT_ARMED,
	[IB_EVENT_PORT_ACTIVE] = AL_PNP_PORT_ACTIVE,
	[IB_EVENT_LID_CHANGE] = AL_PNP_LID_CHANGE,
	[IB_EVENT_PKEY_CHANGE] = AL_PNP_PKEY_CHANGE,
	[IB_EVENT_GID_CHANGE] = AL_PNP_GID_CHANGE,
	[IB_EVENT_SM_CHANGE] = AL_PNP_SM_CHANGE,
	[IB_EVENT_CLIENT_REREGISTER] = AL_PNP_CLIENT_REREGISTER,
};

/* ----------------------------------------------------------- order of events */

/* The HCA may have an arrival or port events to deliver. */
static void set_due(struct pnp_ca *ca)
{
	struct al_pnp *reg = ca->reg;

	if (!reg->due || ca->place < reg->due->place)
		reg->due = ca;
}

/* The HCA may have a removal to deliver. */
static void set_leaving(struct pnp_ca *ca)
{
	struct al_pnp *reg = ca->reg;

	if (!reg->leaving || ca->place > reg->leaving->place)
		reg->leaving = ca;
}

/* Finds the HCA whose removal the registration gets next. */
static bool next_removal(struct al_pnp *reg, struct pnp_ca **found)
{
	/* backwards: HCAs are removed in the reverse order of their arrival */
	for (; reg->leaving; reg->leaving = reg->leaving->prev)
		if ((reg->ending || reg->leaving->removing) && reg->leaving->state == CA_ADDED)
			break;
	*found = reg->leaving;
	return *found;
}

static bool is_due(const struct pnp_ca *ca)
{
	if (ca->removing)
		return false;
	return ca->state == CA_ANNOUNCED || (ca->state == CA_ADDED && ca->reg->ports &&
					     port_has_event(ca->ports, ca->dev->attr.num_ports));
}

/* Finds the HCA whose arrival or port event the registration gets next. */
static struct pnp_ca *next_due(struct al_pnp *reg)
{
	while (reg->due && !is_due(reg->due))
		reg->due = reg->due->next;
	return reg->due;
}

/* True: next_event() would find an event. */
static bool has_event(struct al_pnp *reg)
{
	struct pnp_ca *ca;

	return next_removal(reg, &ca) || (!reg->ending && (next_due(reg) || !reg->replayed));
}

/* Finds the registration's next event, and the HCA of the event (*about; NULL:
 * AL_PNP_REPLAY_COMPLETE). False: no event is pending. This function is the rule of order. */
static bool next_event(struct al_pnp *reg, struct al_pnp_event *event, struct pnp_ca **about)
{
	ib_event_type port_event;
	struct pnp_ca *ca;
	uint32_t port;

	memset(event, 0, sizeof(*event));
	*about = NULL;
	if (next_removal(reg, &ca)) {
		event->type = AL_PNP_CA_REMOVE;
		goto found;
	}
	if (reg->ending)
		return false;
	ca = next_due(reg);
	if (ca && ca->state == CA_ANNOUNCED) {
		event->type = AL_PNP_CA_ADD;
		goto found;
	}
	if (ca && port_take_event(ca->ports, ca->dev->attr.num_ports, &port_event, &port)) {
		event->type = pnp_of_event[port_event];
		event->port_num = (uint8_t)port;
		goto found;
	}
	if (reg->replayed)
		return false;
	event->type = AL_PNP_REPLAY_COMPLETE;
	return true;
found:
	event->ca_guid = ca->dev->guid;
	event->ca_context = ca->context;
	*about = ca;
	return true;
}

static void record_event(struct al_pnp *reg, const struct al_pnp_event *event, struct pnp_ca *ca,
			 al_status answer)
{
	if (!ca) /* only AL_PNP_REPLAY_COMPLETE has no HCA */
		reg->replayed = true;
	else if (event->type == AL_PNP_CA_ADD)
		ca->state = answer ? CA_DONE : CA_ADDED;
	else if (event->type == AL_PNP_CA_REMOVE)
		ca->state = reg->cb ? CA_DONE : CA_REMOVING;
}

/* Takes an HCA out of its registration, and frees it. Under pnp_lock. */
static void free_ca(struct pnp_ca *ca)
{
	struct al_pnp *reg = ca->reg;
	struct pnp_ca **p;

	for (p = &ca->dev->pnp; *p != ca; p = &(*p)->next_of_dev)
		;
	*p = ca->next_of_dev;
	*(ca->prev ? &ca->prev->next : &reg->cas) = ca->next;
	*(ca->next ? &ca->next->prev : &reg->last_ca) = ca->prev;
	if (reg->due == ca)
		reg->due = ca->next;
	if (reg->leaving == ca)
		reg->leaving = ca->prev;
	reg->num_removing -= ca->removing;
	dev_put(ca->dev);
	al_free(ca);
}

/* Frees the registration's entries of HCAs whose removal is complete, or that were removed before
 * they were delivered. */
static void free_finished_cas(struct al_pnp *reg)
{
	struct pnp_ca *ca, *next;

	for (ca = reg->num_removing ? reg->cas : NULL; ca; ca = next) {
		next = ca->next;
		if (ca->removing && (ca->state == CA_DONE || ca->state == CA_ANNOUNCED))
			free_ca(ca);
	}
}

/* Under pnp_lock. */
static void free_cas(struct al_pnp *reg)
{
	while (reg->last_ca)
		free_ca(reg->last_ca);
}

/* The registration holds up no removal from here on. */
static void unlink_registration(struct al_pnp *reg)
{
	struct al_pnp **p;

	for (p = &registrations; *p != reg; p = &(*p)->next)
		;
	*p = reg->next;
	free_cas(reg);
	obj_put(&reg->obj);
}

/* ------------------------------------------------------------- the thread */

static bool may_deliver(const struct al_pnp *reg, bool ending_only)
{
	return reg->cb && !reg->in_callback && (reg->ending || !ending_only);
}

/* Finds the registration that gets the next event, and the event with its HCA. NULL: no
 * registration has an event. Takes registrations that are ending and have no event left out of the
 * list. */
static struct al_pnp *next_registration(bool ending_only, struct al_pnp_event *event,
					struct pnp_ca **ca)
{
	struct al_pnp *reg, *next, *removal = NULL;

	for (reg = registrations; reg; reg = reg->next)
		if (may_deliver(reg, ending_only) && next_removal(reg, ca))
			removal = reg;
	if (removal) {
		next_event(removal, event, ca);
		return removal;
	}
	for (reg = registrations; reg; reg = next) {
		next = reg->next;
		if (!may_deliver(reg, ending_only))
			continue;
		if (next_event(reg, event, ca))
			return reg;
		if (reg->ending)
			unlink_registration(reg);
	}
	return NULL;
}

/* Delivers one event. False: no event is pending. Under pnp_lock, which is dropped during the
 * callback. */
static bool deliver_event(bool ending_only)
{
	struct pnp_ca *ca = NULL;
	struct al_pnp_event event;
	struct al_pnp *reg = next_registration(ending_only, &event, &ca);
	al_status answer;

	if (!reg)
		return false;
	if (ca && event.type == AL_PNP_CA_ADD)
		ca->state = CA_ADDING;
	if (ca && event.type == AL_PNP_CA_REMOVE)
		ca->state = CA_REMOVING;
	reg->in_callback = true;
	pthread_mutex_unlock(&pnp_lock);
	IB_TRACE("al", "PnP: %s, HCA 0x%016llx", al_pnp_type_str(event.type),
		 (unsigned long long)event.ca_guid);
	answer = reg->cb(reg->obj.context, &event);
	pthread_mutex_lock(&pnp_lock);
	reg->in_callback = false;
	record_event(reg, &event, ca, answer);
	free_finished_cas(reg);
	pthread_cond_broadcast(&pnp_changed);
	return true;
}

/* Waits for an object's end and delivers the events of ending registrations meanwhile. */
static void wait_delivering(struct destroy_waiter *waiter)
{
	pthread_mutex_lock(&pnp_lock);
	while (!atomic_load(&waiter->done))
		if (!deliver_event(true))
			pthread_cond_wait(&pnp_changed, &pnp_lock);
	pthread_mutex_unlock(&pnp_lock);
}

static void wake_pnp_thread(void)
{
	pthread_mutex_lock(&pnp_lock);
	pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
}

static bool would_deadlock(const struct al_obj *obj)
{
	bool found = false;

	pthread_mutex_lock(&pnp_lock);
	for (struct al_pnp *reg = registrations; reg; reg = reg->next)
		found |= reg->in_callback && (obj == &reg->obj || obj == reg->obj.al);
	pthread_mutex_unlock(&pnp_lock);
	return found;
}

static const struct destroy_wait_ops pnp_wait_ops = { .deadlocks = would_deadlock,
						      .wait = wait_delivering,
						      .wake = wake_pnp_thread };

static void *pnp_main(void *arg)
{
	library_thread_begin(arg, CONTEXT_PNP);
	thread_wait_ops = &pnp_wait_ops;
	pthread_mutex_lock(&pnp_lock);
	for (;;)
		if (!deliver_event(false))
			pthread_cond_wait(&pnp_changed, &pnp_lock);
	return NULL;
}

/* ----------------------------------------------------------- HCAs and ports */

/* True: the registration gets the events of the HCA or switch. */
static bool is_told(const struct al_pnp *reg, const struct al_dev *dev)
{
	return obj_agent(&reg->obj) == dev->agent && dev_is_switch(dev) == reg->switches;
}

/* Adds an HCA to a registration. False: no memory. */
static bool add_ca(struct al_pnp *reg, struct al_dev *dev)
{
	struct pnp_ca *ca =
		al_alloc(sizeof(*ca) + (dev->attr.num_ports + 1) * sizeof(ca->ports[0]));
	struct pnp_ca **last;

	if (!ca)
		return false;
	dev_ref(dev);
	ca->dev = dev;
	for (uint32_t i = 1; i <= dev->attr.num_ports; i++)
		ladder_replay(&ca->ports[i].ladder, &dev->ports[i].ladder,
			      ladder_told(&dev->ports[i].ladder));
	for (last = &dev->pnp; *last; last = &(*last)->next_of_dev)
		;
	*last = ca;
	ca->reg = reg;
	ca->place = reg->arrivals++;
	ca->prev = reg->last_ca;
	*(ca->prev ? &ca->prev->next : &reg->cas) = ca;
	reg->last_ca = ca;
	set_due(ca);
	return true;
}

/* Makes the registration's channel readable if an event is pending. The reader finds the event with
 * take_pnp_event(). Under pnp_lock, which registration_invalidated() takes, too: ev_raise_locked()
 * needs that. */
static void wake_channel_reader(struct al_pnp *reg)
{
	if (!reg->cb && has_event(reg))
		ev_raise_locked(&reg->obj.ev, 1);
}

al_status pnp_dev_add(struct al_dev *dev)
{
	struct al_pnp *reg;

	pthread_mutex_lock(&pnp_lock);
	for (reg = registrations; reg; reg = reg->next)
		if (is_told(reg, dev) && !add_ca(reg, dev))
			goto err;
	for (const struct pnp_ca *ca = dev->pnp; ca; ca = ca->next_of_dev)
		wake_channel_reader(ca->reg);
	/* Under pnp_lock: a registration is in the list of registrations above, or finds dev in the
	 * list of HCAs. */
	dev_insert(dev);
	pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
	return AL_SUCCESS;
err:
	while (dev->pnp)
		free_ca(dev->pnp);
	pthread_mutex_unlock(&pnp_lock);
	return AL_INSUFFICIENT_MEMORY;
}

static struct pnp_ca *find_ca(struct al_pnp *reg, uint64_t guid)
{
	struct pnp_ca *ca;

	for (ca = reg->cas; ca; ca = ca->next)
		if (ca->dev->guid == guid &&
		    (ca->state == CA_ADDING || ca->state == CA_ADDED || ca->state == CA_REMOVING))
			break;
	return ca;
}

/* Finds a registration that still uses the HCA, and the state of the HCA there. NULL: no
 * registration does. */
static const struct al_pnp *find_holder(const struct al_dev *dev, enum ca_state *state)
{
	for (const struct pnp_ca *ca = dev->pnp; ca; ca = ca->next_of_dev) {
		*state = ca->state;
		if (*state != CA_DONE && *state != CA_ANNOUNCED)
			return ca->reg;
	}
	return NULL;
}

/* Writes for the log what the removal of an HCA waits for: a callback or the reader of a channel.
 */
static void describe_wait(const struct al_pnp *reg, enum ca_state state, char *text, size_t size)
{
	const char *comm = reg->obj.comm;
	int pid = (int)reg->obj.pid;

	if (reg->cb)
		snprintf(text, size, "a PnP callback of %s[%d], or an earlier PnP callback, to return",
			 comm, pid);
	else
		snprintf(text, size, "%s[%d] to %s channel %#llx", comm, pid,
			 state == CA_REMOVING ? "acknowledge the removal by reading on from"
					      : "read the removal from",
			 (unsigned long long)reg->obj.uses[0]->handle);
}

/* Waits until no registration uses the HCA, and logs the wait. Under pnp_lock, which is dropped
 * while logging. */
static void wait_for_holders(const struct al_dev *dev)
{
	struct timespec until = wait_log_deadline();
	const struct al_pnp *reg;
	unsigned int waited = 0;
	enum ca_state state;
	char text[160];

	while (find_holder(dev, &state)) {
		if (pthread_cond_clockwait(&pnp_changed, &pnp_lock, CLOCK_MONOTONIC, &until) !=
		    ETIMEDOUT)
			continue;
		until = wait_log_deadline();
		waited += wait_log_seconds;
		reg = find_holder(dev, &state);
		if (!reg)
			return;
		describe_wait(reg, state, text, sizeof(text));
		pthread_mutex_unlock(&pnp_lock);
		ib_log(IB_LOG_WARNING, "al", "removal of HCA 0x%016llx has waited %u s for %s",
		       (unsigned long long)dev->guid, waited, text);
		pthread_mutex_lock(&pnp_lock);
	}
}

void pnp_dev_remove(struct al_dev *dev)
{
	struct al_pnp *reg;

	pthread_mutex_lock(&pnp_lock);
	for (struct pnp_ca *ca = dev->pnp; ca; ca = ca->next_of_dev) {
		ca->removing = true;
		ca->reg->num_removing++;
		set_leaving(ca);
		wake_channel_reader(ca->reg);
	}
	pthread_cond_broadcast(&pnp_changed);
	wait_for_holders(dev);
	for (reg = registrations; reg; reg = reg->next)
		if (!reg->in_callback)
			free_finished_cas(reg);
	pthread_mutex_unlock(&pnp_lock);
}

void pnp_acknowledge(struct al_obj *registration)
{
	struct al_pnp *reg = (struct al_pnp *)registration;

	pthread_mutex_lock(&pnp_lock);
	for (struct pnp_ca *ca = reg->cas; ca; ca = ca->next)
		if (ca->state == CA_REMOVING)
			ca->state = CA_DONE;
	free_finished_cas(reg);
	pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
}

void pnp_port_event(struct al_dev *dev, uint32_t port, ib_event_type type)
{
	bool changed = false;

	if (!port || !pnp_of_event[type])
		return;
	pthread_mutex_lock(&pnp_lock);
	for (struct pnp_ca *ca = dev->pnp; ca; ca = ca->next_of_dev) {
		if (!ca->reg->ports)
			continue;
		ladder_add(&ca->ports[port].ladder, type);
		set_due(ca);
		wake_channel_reader(ca->reg);
		changed = true;
	}
	if (changed)
		pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
}

/* ------------------------------------------------------------ registration */

static uint32_t take_pnp_event(struct ev_source *source, uint32_t pending,
			       struct al_channel_event *out)
{
	struct al_pnp *reg = (struct al_pnp *)source->obj;
	struct pnp_ca *ca;

	pthread_mutex_lock(&pnp_lock);
	if (next_event(reg, &out->pnp, &ca)) {
		out->type = AL_CHANNEL_PNP;
		out->context = reg->obj.context;
		record_event(reg, &out->pnp, ca, AL_SUCCESS);
	}
	free_finished_cas(reg);
	if (!has_event(reg))
		pending = 0;
	pthread_mutex_unlock(&pnp_lock);
	return pending;
}

/* Starts the PnP thread unless it runs. Under pnp_lock. */
static al_status start_thread(void)
{
	pthread_t thread;
	al_status status;

	if (started)
		return AL_SUCCESS;
	status = library_thread_start(&thread, "al-pnp", pnp_main, "al-pnp");
	if (status)
		return status;
	pthread_detach(thread);
	started = true;
	return AL_SUCCESS;
}

/* Adds every HCA of the list of HCAs to a new registration. Under pnp_lock. */
static al_status add_present_cas(struct al_pnp *reg)
{
	al_status status = AL_SUCCESS;

	pthread_mutex_lock(&tree_lock);
	for (struct al_dev *dev = dev_first(); dev && !status; dev = dev->next)
		if (!dev->removing && is_told(reg, dev) && !add_ca(reg, dev))
			status = AL_INSUFFICIENT_MEMORY;
	pthread_mutex_unlock(&tree_lock);
	return status;
}

static al_status use_channel(struct al_pnp *reg, al_channel_h handle)
{
	struct al_obj *channel = obj_get(handle, AL_OBJ_CHANNEL);
	al_status status;

	if (!channel)
		return refuse_handle(handle, AL_OBJ_CHANNEL);
	status = obj_use(&reg->obj, channel);
	obj_put(channel);
	if (status)
		return status;
	atomic_store(&reg->obj.ev.queue, channel_queue(channel));
	reg->obj.ev.take = take_pnp_event;
	return AL_SUCCESS;
}

/* The client has ended the registration, which gets nothing but the removals of its HCAs from here
 * on. */
static void begin_end(struct al_pnp *reg)
{
	reg->ending = true;
	reg->leaving = reg->last_ca;
}

static void registration_invalidated(struct al_obj *obj)
{
	struct al_pnp *reg;

	pthread_mutex_lock(&pnp_lock);
	for (reg = registrations; reg && &reg->obj != obj; reg = reg->next)
		;
	if (reg) {
		begin_end(reg);
		if (!reg->cb) /* the channel's reader gets no further events of this registration */
			unlink_registration(reg);
		pthread_cond_broadcast(&pnp_changed);
	}
	pthread_mutex_unlock(&pnp_lock);
}

static void release_registration(struct al_obj *obj)
{
	pthread_mutex_lock(&pnp_lock);
	free_cas((struct al_pnp *)obj);
	pthread_mutex_unlock(&pnp_lock);
}

static const struct obj_type pnp_type = {
	.id = AL_OBJ_PNP,
	.size = sizeof(struct al_pnp),
	.ci = OBJ_NO_CI,
	.invalidated = registration_invalidated,
	.release = release_registration,
};

al_status pnp_register(al_h al, const struct al_pnp_attr *attr, bool switches, void *context,
		       al_pnp_cb cb, al_pnp_h *pnp)
{
	static const struct al_pnp_attr none;
	struct al_pnp *reg, **last;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	attr = attr ? attr : &none;
	if (!pnp)
		status = ib_refuse(AL_INVALID_PARAMETER, "pnp is NULL");
	else if (!cb == !attr->channel)
		status = ib_refuse(AL_INVALID_PARAMETER,
				   "a registration has either a callback or a channel");
	else if (memcmp(attr->reserved, none.reserved, sizeof(none.reserved)))
		status = ib_refuse(AL_INVALID_PARAMETER,
				   "a word of the member reserved is not zero");
	else
		status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return reason_settle(status, "al_reg_pnp", NULL);
	status = obj_new(&pnp_type, call.obj, NULL, context, &obj);
	if (status)
		goto out;
	reg = (struct al_pnp *)obj;
	reg->cb = cb;
	reg->ports = attr->ports;
	reg->switches = switches;
	if (attr->channel)
		status = use_channel(reg, attr->channel);
	if (status)
		goto err;

	pthread_mutex_lock(&pnp_lock);
	status = cb ? start_thread() : AL_SUCCESS;
	if (!status)
		status = add_present_cas(reg);
	if (status)
		goto err_unlock;
	/* One reference for the list and one for this call: another thread may deregister the
	 * registration as soon as it is published. */
	obj_ref(obj);
	obj_ref(obj);
	status = obj_publish(obj, pnp);
	if (status)
		goto err_unlock;
	for (last = &registrations; *last; last = &(*last)->next)
		;
	*last = reg;
	/* registration_invalidated() may have run before reg was in the list */
	if (obj_dying(obj))
		begin_end(reg);
	wake_channel_reader(reg);
	pthread_cond_broadcast(&pnp_changed);
	while (cb && !reg->replayed && !reg->ending && thread_context != CONTEXT_PNP)
		pthread_cond_wait(&pnp_changed, &pnp_lock);
	pthread_mutex_unlock(&pnp_lock);
	obj_put(obj);
	goto out;

err_unlock:
	free_cas(reg);
	pthread_mutex_unlock(&pnp_lock);
err:
	obj_abort(obj);
out:
	return call_finish(&call, status, "al_reg_pnp");
}

al_status al_reg_pnp(al_h al, const struct al_pnp_attr *attr, void *context, al_pnp_cb cb,
		     al_pnp_h *pnp)
{
	return pnp_register(al, attr, false, context, cb, pnp);
}

al_status al_dereg_pnp(al_pnp_h pnp, al_destroyed_cb cb, void *context)
{
	return obj_destroy(pnp, AL_OBJ_PNP, cb, context);
}

static al_status client_context(al_pnp_h pnp, uint64_t guid, void **read, void *written)
{
	struct al_obj *obj = obj_get(pnp, AL_OBJ_PNP);
	struct pnp_ca *ca;

	if (!obj)
		return refuse_handle(pnp, AL_OBJ_PNP);
	pthread_mutex_lock(&pnp_lock);
	ca = find_ca((struct al_pnp *)obj, guid);
	if (ca && read)
		*read = ca->context;
	else if (ca)
		ca->context = written;
	pthread_mutex_unlock(&pnp_lock);
	obj_put(obj);
	return ca ? AL_SUCCESS
		  : ib_refuse(AL_NOT_FOUND, "the registration has no HCA of GUID 0x%016llx",
			      (unsigned long long)guid);
}

al_status al_set_client_context(al_pnp_h pnp, uint64_t ca_guid, void *ca_context)
{
	const al_status status = client_context(pnp, ca_guid, NULL, ca_context);

	return SETTLED(status);
}

al_status al_get_client_context(al_pnp_h pnp, uint64_t ca_guid, void **ca_context)
{
	al_status status;

	if (!ca_context)
		return REFUSE(AL_INVALID_PARAMETER, "ca_context is NULL");
	status = client_context(pnp, ca_guid, ca_context, NULL);
	return SETTLED(status);
}

void pnp_after_fork(void)
{
	pthread_mutex_init(&pnp_lock, NULL);
	pthread_cond_init(&pnp_changed, NULL);
	registrations = NULL;
	started = false;
}
