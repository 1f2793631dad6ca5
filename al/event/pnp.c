/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PnP. There is no queue of things to tell: each registration keeps, per HCA, what it was told last
 * and what holds now, and the PnP thread tells the difference, one step at a time. So nothing is
 * allocated to deliver an event, events merge as they should, and the order is one rule,
 * next_event(): removals, then HCAs in their order, each with its ports. Among registrations the
 * older hears first of what comes, and the younger of what goes: it may build on the other.
 *
 * pnp_lock guards all of it and is never held during a callback. Outside tree_lock.
 */
#include "al/event/pnp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "al/event/channel.h"
#include "al/object/thread.h"

enum ca_state {
	CA_ANNOUNCED, /* the client does not know of it */
	CA_ADDING,    /* its add runs */
	CA_ADDED,
	CA_REMOVING, /* its remove runs, or has been read from a channel and not acknowledged */
	CA_SILENT    /* refused, removed, or gone before it was told */
};

/* An HCA in a registration. */
struct pnp_ca {
	struct pnp_ca *next;
	struct al_dev *dev; /* referenced */
	enum ca_state state;
	bool going;              /* the HCA is being removed */
	void *context;           /* al_set_client_context() */
	struct dev_port ports[]; /* attr.num_ports + 1 */
};

static pthread_mutex_t pnp_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pnp_changed = PTHREAD_COND_INITIALIZER;
static struct al_pnp *registrations; /* oldest first; each referenced */
static bool started;

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

/* -------------------------------------------------------- what to tell next */

static bool next_removal(struct al_pnp *reg, struct pnp_ca **found)
{
	*found = NULL;
	/* the youngest first: children, as it were, before parents */
	for (struct pnp_ca *ca = reg->cas; ca; ca = ca->next)
		if ((reg->ending || ca->going) && ca->state == CA_ADDED)
			*found = ca;
	return *found;
}

/* Would next_event() find one? */
static bool event_waits(const struct al_pnp *reg)
{
	for (const struct pnp_ca *ca = reg->cas; ca; ca = ca->next) {
		if ((reg->ending || ca->going) && ca->state == CA_ADDED)
			return true;
		if (reg->ending || ca->going)
			continue;
		if (ca->state == CA_ANNOUNCED)
			return true;
		if (ca->state == CA_ADDED && reg->ports &&
		    port_waits(ca->ports, ca->dev->attr.num_ports))
			return true;
	}
	return !reg->ending && !reg->replayed;
}

/* The one rule of order. */
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
	for (ca = reg->cas; ca; ca = ca->next) {
		if (ca->going)
			continue;
		if (ca->state == CA_ANNOUNCED) {
			event->type = AL_PNP_CA_ADD;
			goto found;
		}
		if (ca->state != CA_ADDED || !reg->ports)
			continue;
		if (port_take(ca->ports, ca->dev->attr.num_ports, &port_event, &port)) {
			event->type = pnp_of_event[port_event];
			event->port_num = (uint8_t)port;
			goto found;
		}
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

static void told(struct al_pnp *reg, const struct al_pnp_event *event, struct pnp_ca *ca,
		 al_status answer)
{
	if (!ca) /* of no HCA is only the end of the replay */
		reg->replayed = true;
	else if (event->type == AL_PNP_CA_ADD)
		ca->state = answer ? CA_SILENT : CA_ADDED;
	else if (event->type == AL_PNP_CA_REMOVE)
		ca->state = reg->cb ? CA_SILENT : CA_REMOVING;
}

static void free_ca(struct pnp_ca *ca)
{
	dev_put(ca->dev);
	al_free(ca);
}

/* HCAs that have gone, and been told to be, need no place any more. */
static void prune(struct al_pnp *reg)
{
	struct pnp_ca **p = &reg->cas, *ca;

	while ((ca = *p)) {
		if (!ca->going || (ca->state != CA_SILENT && ca->state != CA_ANNOUNCED)) {
			p = &ca->next;
			continue;
		}
		*p = ca->next;
		free_ca(ca);
	}
}

static void unlink_registration(struct al_pnp *reg)
{
	struct al_pnp **p;

	for (p = &registrations; *p != reg; p = &(*p)->next)
		;
	*p = reg->next;
	obj_put(&reg->obj);
}

/* ------------------------------------------------------------- the thread */

static bool can_be_told(const struct al_pnp *reg, bool ending_only)
{
	return reg->cb && !reg->busy && (reg->ending || !ending_only);
}

/* Who is told next, and what; NULL: nobody. One that is at its end is taken out of the list. */
static struct al_pnp *next_to_tell(bool ending_only, struct al_pnp_event *event, struct pnp_ca **ca)
{
	struct al_pnp *reg, *next, *removal = NULL;

	for (reg = registrations; reg; reg = reg->next)
		if (can_be_told(reg, ending_only) && next_removal(reg, ca))
			removal = reg;
	if (removal) {
		next_event(removal, event, ca);
		return removal;
	}
	for (reg = registrations; reg; reg = next) {
		next = reg->next;
		if (!can_be_told(reg, ending_only))
			continue;
		if (next_event(reg, event, ca))
			return reg;
		if (reg->ending)
			unlink_registration(reg);
	}
	return NULL;
}

/* Tells one thing, if there is one. Under the lock, which is dropped for the callback. */
static bool tell_one(bool ending_only)
{
	struct pnp_ca *ca = NULL;
	struct al_pnp_event event;
	struct al_pnp *reg = next_to_tell(ending_only, &event, &ca);
	al_status answer;

	if (!reg)
		return false;
	if (ca && event.type == AL_PNP_CA_ADD)
		ca->state = CA_ADDING;
	if (ca && event.type == AL_PNP_CA_REMOVE)
		ca->state = CA_REMOVING;
	reg->busy = true;
	pthread_mutex_unlock(&pnp_lock);
	IB_TRACE("al", "PnP: %s, HCA 0x%016llx", al_pnp_type_str(event.type),
		 (unsigned long long)event.ca_guid);
	answer = reg->cb(reg->obj.context, &event);
	pthread_mutex_lock(&pnp_lock);
	reg->busy = false;
	told(reg, &event, ca, answer);
	prune(reg);
	pthread_cond_broadcast(&pnp_changed);
	return true;
}

/* Tells registrations that are being ended. */
static void wait_telling(struct obj_waiter *waiter)
{
	pthread_mutex_lock(&pnp_lock);
	while (!atomic_load(&waiter->done))
		if (!tell_one(true))
			pthread_cond_wait(&pnp_changed, &pnp_lock);
	pthread_mutex_unlock(&pnp_lock);
}

static void kick(void)
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
		found |= reg->busy && (obj == &reg->obj || obj == reg->obj.al);
	pthread_mutex_unlock(&pnp_lock);
	return found;
}

static const struct obj_wait waits = {
	.deadlocks = would_deadlock, .wait = wait_telling, .kick = kick
};

static void *pnp_main(void *arg)
{
	thread_begin(arg, CONTEXT_PNP);
	obj_wait = &waits;
	pthread_mutex_lock(&pnp_lock);
	for (;;)
		if (!tell_one(false))
			pthread_cond_wait(&pnp_changed, &pnp_lock);
	return NULL;
}

/* ----------------------------------------------------------- HCAs and ports */

static struct pnp_ca *new_ca(struct al_dev *dev)
{
	struct pnp_ca *ca =
		al_alloc(sizeof(*ca) + (dev->attr.num_ports + 1) * sizeof(ca->ports[0]));

	if (!ca)
		return NULL;
	dev_ref(dev);
	ca->dev = dev;
	for (uint32_t i = 1; i <= dev->attr.num_ports; i++)
		atomic_init(&ca->ports[i].ladder.now, atomic_load(&dev->ports[i].ladder.told));
	return ca;
}

static void append(struct al_pnp *reg, struct pnp_ca *ca)
{
	struct pnp_ca **p;

	for (p = &reg->cas; *p; p = &(*p)->next)
		;
	*p = ca;
}

/* A channel's reader finds by itself what to tell. */
static void kick_channel(struct al_pnp *reg)
{
	if (!reg->cb && event_waits(reg))
		ev_raise_locked(&reg->obj.ev, 1); /* dying() takes pnp_lock */
}

al_status pnp_dev_add(struct al_dev *dev)
{
	struct pnp_ca *ca, *list = NULL;
	struct al_pnp *reg;

	pthread_mutex_lock(&pnp_lock);
	for (reg = registrations; reg; reg = reg->next) {
		if (obj_agent(&reg->obj) != dev->agent)
			continue;
		ca = new_ca(dev);
		if (!ca)
			goto err;
		ca->next = list;
		list = ca;
	}
	for (reg = registrations; reg && list; reg = reg->next) {
		if (obj_agent(&reg->obj) != dev->agent)
			continue;
		ca = list;
		list = ca->next;
		ca->next = NULL;
		append(reg, ca);
		kick_channel(reg);
	}
	dev_insert(dev); /* under the lock: a registration finds it either here or in the list */
	pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
	return AL_SUCCESS;
err:
	for (; list; list = ca) {
		ca = list->next;
		free_ca(list);
	}
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

/* A client that still holds on to it, and in which state, or NULL. */
static const struct al_pnp *holder_of(const struct al_dev *dev, enum ca_state *state)
{
	for (const struct al_pnp *reg = registrations; reg; reg = reg->next)
		for (const struct pnp_ca *ca = reg->cas; ca; ca = ca->next) {
			*state = ca->state;
			if (ca->dev == dev && *state != CA_SILENT && *state != CA_ANNOUNCED)
				return reg;
		}
	return NULL;
}

/* What a removal waits for. */
static void describe_wait(const struct al_pnp *reg, enum ca_state state, char *text, size_t size)
{
	const char *comm = reg->obj.comm;
	int pid = (int)reg->obj.pid;

	if (reg->cb)
		snprintf(text, size,
			 "a PnP callback of %s[%d], or one that it waits for, to return", comm,
			 pid);
	else
		snprintf(text, size, "%s[%d] to %s channel %#llx", comm, pid,
			 state == CA_REMOVING ? "acknowledge the removal by reading on from"
					      : "read the removal from",
			 (unsigned long long)reg->obj.uses[0]->handle);
}

/* Under the lock, which is dropped for the log. */
static void wait_for_holders(const struct al_dev *dev)
{
	struct timespec until = patience_end();
	const struct al_pnp *reg;
	unsigned int waited = 0;
	enum ca_state state;
	char text[160];

	while (holder_of(dev, &state)) {
		if (pthread_cond_clockwait(&pnp_changed, &pnp_lock, CLOCK_MONOTONIC, &until) !=
		    ETIMEDOUT)
			continue;
		until = patience_end();
		waited += patience;
		reg = holder_of(dev, &state);
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
	struct pnp_ca *ca;

	pthread_mutex_lock(&pnp_lock);
	for (reg = registrations; reg; reg = reg->next) {
		for (ca = reg->cas; ca; ca = ca->next)
			if (ca->dev == dev)
				ca->going = true;
		kick_channel(reg);
	}
	pthread_cond_broadcast(&pnp_changed);
	wait_for_holders(dev);
	for (reg = registrations; reg; reg = reg->next)
		if (!reg->busy)
			prune(reg);
	pthread_mutex_unlock(&pnp_lock);
}

void pnp_acknowledge(struct al_obj *registration)
{
	struct al_pnp *reg = (struct al_pnp *)registration;

	pthread_mutex_lock(&pnp_lock);
	for (struct pnp_ca *ca = reg->cas; ca; ca = ca->next)
		if (ca->state == CA_REMOVING)
			ca->state = CA_SILENT;
	prune(reg);
	pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
}

void pnp_port_event(struct al_dev *dev, uint32_t port, ib_event_type type)
{
	struct al_pnp *reg;
	struct pnp_ca *ca;

	if (!port || !pnp_of_event[type])
		return;
	pthread_mutex_lock(&pnp_lock);
	for (reg = registrations; reg; reg = reg->next) {
		for (ca = reg->cas; ca && ca->dev != dev; ca = ca->next)
			;
		if (!ca || !reg->ports)
			continue;
		port_set(&ca->ports[port], type);
		kick_channel(reg);
	}
	pthread_cond_broadcast(&pnp_changed);
	pthread_mutex_unlock(&pnp_lock);
}

/* ------------------------------------------------------------ registration */

static uint32_t take_pnp(struct ev_source *source, uint32_t pending, struct al_channel_event *out)
{
	struct al_pnp *reg = (struct al_pnp *)source->obj;
	struct pnp_ca *ca;

	pthread_mutex_lock(&pnp_lock);
	if (next_event(reg, &out->pnp, &ca)) {
		out->type = AL_CHANNEL_PNP;
		out->context = reg->obj.context;
		told(reg, &out->pnp, ca, AL_SUCCESS);
	}
	prune(reg);
	if (!event_waits(reg))
		pending = 0;
	pthread_mutex_unlock(&pnp_lock);
	return pending;
}

/* Under the lock. */
static al_status start_thread(void)
{
	pthread_t thread;
	al_status status;

	if (started)
		return AL_SUCCESS;
	status = thread_start(&thread, "al-pnp", pnp_main, "al-pnp");
	if (status)
		return status;
	pthread_detach(thread);
	started = true;
	return AL_SUCCESS;
}

static void free_cas(struct al_pnp *reg)
{
	struct pnp_ca *ca;

	while ((ca = reg->cas)) {
		reg->cas = ca->next;
		free_ca(ca);
	}
}

/* Under the lock: room for every HCA that is there. */
static al_status fill(struct al_pnp *reg)
{
	al_status status = AL_SUCCESS;
	struct pnp_ca *ca;

	pthread_mutex_lock(&tree_lock);
	for (struct al_dev *dev = dev_first(); dev; dev = dev->next) {
		if (dev->going || dev->agent != obj_agent(&reg->obj))
			continue;
		ca = new_ca(dev);
		if (!ca) {
			status = AL_INSUFFICIENT_MEMORY;
			break;
		}
		append(reg, ca);
	}
	pthread_mutex_unlock(&tree_lock);
	return status;
}

static al_status use_channel(struct al_pnp *reg, al_channel_h handle)
{
	struct al_obj *channel = obj_get(handle, AL_OBJ_CHANNEL);
	al_status status;

	if (!channel)
		return AL_INVALID_HANDLE;
	status = obj_use(&reg->obj, channel);
	obj_put(channel);
	if (status)
		return status;
	atomic_store(&reg->obj.ev.queue, channel_queue(channel));
	reg->obj.ev.take = take_pnp;
	return AL_SUCCESS;
}

static void dying(struct al_obj *obj)
{
	struct al_pnp *reg, *it;

	pthread_mutex_lock(&pnp_lock);
	for (it = registrations; it && &it->obj != obj; it = it->next)
		;
	if (it) {
		reg = it;
		reg->ending = true;
		if (!reg->cb) /* nobody reads what would be told */
			unlink_registration(reg);
		pthread_cond_broadcast(&pnp_changed);
	}
	pthread_mutex_unlock(&pnp_lock);
}

static void gone(struct al_obj *obj)
{
	free_cas((struct al_pnp *)obj);
}

static const struct obj_type pnp_type = {
	.id = AL_OBJ_PNP,
	.size = sizeof(struct al_pnp),
	.ci = OBJ_NO_CI,
	.dying = dying,
	.gone = gone,
};

al_status al_reg_pnp(al_h al, const struct al_pnp_attr *attr, void *context, al_pnp_cb cb,
		     al_pnp_h *pnp)
{
	static const struct al_pnp_attr none;
	struct al_pnp *reg, **last;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	attr = attr ? attr : &none;
	if (!pnp || !cb == !attr->channel ||
	    memcmp(attr->reserved, none.reserved, sizeof(none.reserved)))
		return AL_INVALID_PARAMETER;
	status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return status;
	status = obj_new(&pnp_type, call.obj, NULL, context, &obj);
	if (status)
		goto out;
	reg = (struct al_pnp *)obj;
	reg->cb = cb;
	reg->ports = attr->ports;
	if (attr->channel)
		status = use_channel(reg, attr->channel);
	if (status)
		goto err;

	pthread_mutex_lock(&pnp_lock);
	status = cb ? start_thread() : AL_SUCCESS;
	if (!status)
		status = fill(reg);
	if (status)
		goto err_unlock;
	/* The list's reference, and this call's: it may be deregistered as soon as it is published.
	 */
	obj_ref(obj);
	obj_ref(obj);
	status = obj_publish(obj, pnp);
	if (status)
		goto err_unlock;
	for (last = &registrations; *last; last = &(*last)->next)
		;
	*last = reg;
	reg->ending = obj_dying(obj); /* then dying() has not found it */
	kick_channel(reg);
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
	call_end(&call);
	return status;
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
		return AL_INVALID_HANDLE;
	pthread_mutex_lock(&pnp_lock);
	ca = find_ca((struct al_pnp *)obj, guid);
	if (ca && read)
		*read = ca->context;
	else if (ca)
		ca->context = written;
	pthread_mutex_unlock(&pnp_lock);
	obj_put(obj);
	return ca ? AL_SUCCESS : AL_NOT_FOUND;
}

al_status al_set_client_context(al_pnp_h pnp, uint64_t ca_guid, void *ca_context)
{
	return client_context(pnp, ca_guid, NULL, ca_context);
}

al_status al_get_client_context(al_pnp_h pnp, uint64_t ca_guid, void **ca_context)
{
	if (!ca_context)
		return AL_INVALID_PARAMETER;
	return client_context(pnp, ca_guid, ca_context, NULL);
}

void pnp_child(void)
{
	pthread_mutex_init(&pnp_lock, NULL);
	pthread_cond_init(&pnp_changed, NULL);
	registrations = NULL;
	started = false;
}
