/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HCAs: their arrival, calls on their modules, copies of their GID tables, and their removal under
 * their users. */
#include "al/object/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "al/object/thread.h"

struct dispatcher dispatcher_common;

static struct al_dev *devices; /* list of HCAs, newest last; guarded by tree_lock */

struct al_dev *dev_first(void)
{
	return devices;
}

struct al_dev *dev_find(const void *agent, uint64_t guid)
{
	struct al_dev *dev;

	pthread_mutex_lock(&tree_lock);
	for (dev = devices; dev; dev = dev->next)
		if (dev->guid == guid && dev->agent == agent && !dev->removing)
			break;
	if (dev)
		dev_ref(dev);
	pthread_mutex_unlock(&tree_lock);
	return dev;
}

const void *obj_agent(const struct al_obj *obj)
{
	return ((const struct al_instance *)obj->al)->agent;
}

const uint32_t *dev_limit(const struct al_dev *dev, al_object_type kind)
{
	static const size_t limits[AL_OBJ_TYPES] = {
		[AL_OBJ_PD] = offsetof(struct ib_ca_attr, max_pd),
		[AL_OBJ_AH] = offsetof(struct ib_ca_attr, max_ah),
		[AL_OBJ_MR] = offsetof(struct ib_ca_attr, max_mr),
		[AL_OBJ_CQ] = offsetof(struct ib_ca_attr, max_cq),
		[AL_OBJ_QP] = offsetof(struct ib_ca_attr, max_qp),
	};
	size_t limit = limits[kind];

	return limit ? (const uint32_t *)((const char *)&dev->attr + limit) : NULL;
}

void dev_ref(struct al_dev *dev)
{
	atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------ calls */

/* Number of nested module operations that this thread is inside. Calls of the data path count as
 * read sections instead. */
static _Thread_local unsigned int inside;

bool dev_inside(void)
{
	return inside || rcu_reading();
}

static void leave(struct al_dev *dev)
{
	inside--;
	if (atomic_fetch_sub(&dev->inflight, 1) == (DEV_REMOVING | 1))
		sem_post(&dev->drained);
}

const struct ci_interface *dev_enter(struct al_dev *dev)
{
	/* Sequentially consistent with dev_remove_end(): the removal sees this call in inflight, or
	 * this call sees the dead table. */
	const struct ci_interface *ops;

	inside++;
	atomic_fetch_add(&dev->inflight, 1);
	ops = atomic_load(&dev->ops);
	/* A removal waits for calls on the module only, so a call on the dead table is not counted.
	 */
	if (ops_dead(ops))
		leave(dev);
	return ops;
}

void dev_leave(struct al_dev *dev, const struct ci_interface *ops)
{
	if (!ops_dead(ops))
		leave(dev);
}

void dev_run_in_module(struct al_obj *obj,
		       void (*step)(struct al_obj *, const struct ci_interface *))
{
	inside++;
	step(obj, &obj->dev->reg->ops);
	inside--;
}

bool dev_revoke(struct al_obj *obj)
{
	bool begun;

	if (!obj->type->revoke || obj->revoked)
		return false;
	inside++;
	begun = obj->type->revoke(obj, &obj->dev->reg->ops);
	inside--;
	obj->revoked = true;
	return begun;
}

/* ---------------------------------------------------------------- threads */

al_status dev_start_vector(struct al_dev *dev, uint32_t vector, struct ev_queue **queue)
{
	al_status status;

	pthread_mutex_lock(&dev->threads_lock);
	status = dispatcher_start(&dev->vectors[vector]);
	pthread_mutex_unlock(&dev->threads_lock);
	*queue = &dev->vectors[vector].queue;
	return status;
}

/* Stops the destroy thread before the dispatchers, since the destroy thread wakes dispatchers. */
static void stop_threads(struct al_dev *dev)
{
	reaper_stop(&dev->reaper);
	dispatcher_stop(&dev->async);
	for (uint32_t i = 0; i < dev->attr.num_comp_vectors; i++)
		dispatcher_stop(&dev->vectors[i]);
}

static void dev_free(struct al_dev *dev)
{
	stop_threads(dev);
	sem_destroy(&dev->drained);
	pthread_mutex_destroy(&dev->threads_lock);
	pthread_mutex_destroy(&dev->gids_lock);
	for (uint32_t i = 0; dev->ports && i <= dev->attr.num_ports; i++)
		al_free(dev->ports[i].gids);
	qpns_free(&dev->qpns);
	al_free(dev->vectors);
	al_free(dev->ports);
	al_free(dev);
}

/* Frees an HCA. Runs on the common destroy thread, since a thread of the HCA may have dropped the
 * last reference, and a thread can not wait for its own end. */
static void end_dev(struct reaper_job *job)
{
	struct al_dev *dev = (struct al_dev *)((char *)job - offsetof(struct al_dev, end_job));
	struct al_dev **p;

	pthread_mutex_lock(&tree_lock);
	for (p = &devices; *p != dev; p = &(*p)->next)
		;
	*p = dev->next;
	pthread_mutex_unlock(&tree_lock);
	dev_free(dev);
}

void dev_put(struct al_dev *dev)
{
	if (atomic_fetch_sub_explicit(&dev->refs, 1, memory_order_acq_rel) == 1) {
		dev->end_job.fn = end_dev;
		reaper_queue_job(&reaper_common, &dev->end_job);
	}
}

/* ------------------------------------------------------------------- GIDs */

/* Number of GID table entries that ib_global_route.sgid_index, 16 bits wide, can name. */
static uint32_t num_gids(const struct dev_port *port)
{
	return port->gid_tbl_len < UINT16_MAX ? port->gid_tbl_len : UINT16_MAX;
}

/* Copies a port's GID table from the module. A failed query leaves zeros in the copy, which are no
 * valid GID. The caller is inside a call, or has not inserted the HCA yet. */
static void read_gids(struct al_dev *dev, const struct ci_interface *ops, uint32_t port)
{
	struct dev_port *p = &dev->ports[port];
	ib_gid gid;

	for (uint32_t i = 0; i < num_gids(p); i++) {
		if (ops->query_gid(dev->reg->ca, (uint8_t)port, i, &gid))
			memset(&gid, 0, sizeof(gid));
		pthread_mutex_lock(&dev->gids_lock);
		p->gids[i] = gid;
		pthread_mutex_unlock(&dev->gids_lock);
	}
}

void dev_gids_changed(struct al_dev *dev, uint32_t port)
{
	const struct ci_interface *ops = dev_enter(dev);
	const bool all = !dev_has_port(dev, port); /* a module may name the HCA itself */

	for (uint32_t i = ci_first_port(&dev->attr); !ops_dead(ops) && i <= dev->attr.num_ports;
	     i++)
		if (all || i == port)
			read_gids(dev, ops, i);
	dev_leave(dev, ops);
}

al_status dev_find_gid(struct al_dev *dev, uint8_t port, const uint8_t gid[16], uint16_t *index)
{
	static const ib_gid none;
	const struct dev_port *p = &dev->ports[port];
	uint32_t i = 0;

	if (!memcmp(gid, none.raw, sizeof(none.raw)))
		return AL_NOT_FOUND;
	pthread_mutex_lock(&dev->gids_lock);
	while (i < num_gids(p) && memcmp(p->gids[i].raw, gid, sizeof(none.raw)))
		i++;
	pthread_mutex_unlock(&dev->gids_lock);
	if (i == num_gids(p))
		return AL_NOT_FOUND;
	*index = (uint16_t)i;
	return AL_SUCCESS;
}

/* ---------------------------------------------------------------- arrival */

/* True: a present HCA of this process has the name. Under tree_lock. */
static bool has_name(const char *name)
{
	for (const struct al_dev *dev = devices; dev; dev = dev->next)
		if (!dev->agent && !dev->removing && !strcmp(dev->attr.name, name))
			return true;
	return false;
}

/* Names an HCA by its module and the lowest number that is free. Under tree_lock. */
static void set_name(struct al_dev *dev)
{
	char name[sizeof(dev->attr.name)];
	unsigned int number = 0;

	dev->attr.name[0] = '\0';
	do
		snprintf(name, sizeof(name), "%.12s%u", dev->module, number++);
	while (has_name(name));
	memcpy(dev->attr.name, name, sizeof(name));
}

void dev_insert(struct al_dev *dev)
{
	struct al_dev **p;

	pthread_mutex_lock(&tree_lock);
	if (!dev->agent && !dev_is_switch(dev)) /* an agent has named its HCAs */
		set_name(dev);
	for (p = &devices; *p; p = &(*p)->next)
		;
	*p = dev;
	pthread_mutex_unlock(&tree_lock);
}

static al_status start_threads(struct al_dev *dev)
{
	al_status status = reaper_start(&dev->reaper);

	return status ? status : dispatcher_start(&dev->async);
}

/* Reads the ports' attributes, states and GIDs. The module's upcalls are accepted already, so no
 * change between the queries and the first event is lost. */
static al_status init_ports(struct al_dev *dev)
{
	struct ci_registration *reg = dev->reg;
	char why[CI_TEXT_MAX];
	struct ib_port_attr port;
	al_status status;

	for (uint32_t i = ci_first_port(&dev->attr); i <= dev->attr.num_ports; i++) {
		status = ci_query_port(&reg->ops, reg->ca, (uint8_t)i, &port, why);
		if (status)
			return status;
		dev->ports[i].gid_tbl_len = port.gid_tbl_len;
		dev->ports[i].pkey_tbl_len = port.pkey_tbl_len;
		dev->ports[i].max_mtu = port.max_mtu;
		dev->ports[i].link_layer = port.link_layer;
		dev->ports[i].port_guid = port.port_guid;
		dev->ports[i].ci_caps = port.ci_caps;
		if (port.link_layer == IB_LINK_LAYER_ETHERNET)
			ladder_skip_steps(&dev->ports[i].ladder);
		ladder_init(&dev->ports[i].ladder, port.state);
		if (!num_gids(&dev->ports[i]))
			continue;
		dev->ports[i].gids = al_alloc(num_gids(&dev->ports[i]) * sizeof(ib_gid));
		if (!dev->ports[i].gids)
			return AL_INSUFFICIENT_MEMORY;
		read_gids(dev, &reg->ops, i);
	}
	return AL_SUCCESS;
}

/* The operations that CI_SERIALISE_CQ makes exclusive on one completion queue. */
#define SERIALISED (CI_MAY_BLOCK(poll_cq) | CI_MAY_BLOCK(arm_cq) | CI_MAY_BLOCK(arm_cq_n))

al_status dev_new(struct ci_registration *reg, void (*run)(struct ev_source *, uint32_t),
		  struct al_dev **out)
{
	struct al_dev *dev = al_alloc_aligned(64, sizeof(*dev));
	al_status status = AL_INSUFFICIENT_MEMORY;

	if (!dev)
		return status;
	dev->attr = reg->attr;
	dev->guid = reg->attr.node_guid;
	dev->reg = reg;
	dev->agent = ci_module_agent(reg->module);
	dev->may_block = reg->ops.may_block;
	dev->serialise_cq = reg->ops.flags & CI_SERIALISE_CQ;
	/* If one of these operations blocks, the others may block on the queue's lock. */
	if (dev->serialise_cq && dev->may_block & SERIALISED)
		dev->may_block |= SERIALISED;
	snprintf(dev->module, sizeof(dev->module), "%s", ci_module_name(reg->module));
	snprintf(dev->module_version, sizeof(dev->module_version), "%s",
		 ci_module_version(reg->module));
	atomic_init(&dev->refs, 1);
	atomic_init(&dev->ops, &reg->ops);
	sem_init(&dev->drained, 0, 0);
	pthread_mutex_init(&dev->threads_lock, NULL);
	pthread_mutex_init(&dev->gids_lock, NULL);
	qpns_init(&dev->qpns);
	dispatcher_init(&dev->async, &event_threads);
	ev_init(&dev->ev, NULL, &dev->async.queue, run, true);
	for (int i = 0; i < CI_OBJ_KINDS; i++)
		dev->ci_bytes[i] = ci_obj_bytes(&reg->ops, (enum ci_obj)i);

	dev->ports = al_alloc((dev->attr.num_ports + 1) * sizeof(*dev->ports));
	dev->vectors = al_alloc(dev->attr.num_comp_vectors * sizeof(*dev->vectors));
	if (!dev->ports || !dev->vectors)
		goto err_alloc;
	for (uint32_t i = 0; i < dev->attr.num_comp_vectors; i++)
		dispatcher_init(&dev->vectors[i], &event_threads);
	status = start_threads(dev);
	if (status)
		goto err;
	*out = dev;
	return AL_SUCCESS;

err_alloc:
	dev->attr.num_comp_vectors = dev->vectors ? dev->attr.num_comp_vectors : 0;
err:
	dev_free(dev);
	return status;
}

al_status dev_listen(struct al_dev *dev)
{
	atomic_store(&dev->reg->al, dev);
	return init_ports(dev);
}

void dev_abort(struct al_dev *dev)
{
	atomic_store(&dev->reg->al, NULL);
	rcu_wait(); /* wait for upcalls that have read reg->al */
	dev_free(dev);
}

/* ---------------------------------------------------------------- removal */

/* The job that destroys a removed HCA's objects in the module. */
struct end_objects {
	struct reaper_job job; /* first member: end_objects() casts */
	struct al_dev *dev;
	sem_t done; /* posted when all objects are destroyed in the module */
};

/* Takes the objects of one rank that still exist in the module, youngest first, and clears their
 * ci_created. One grace period serves all of them. */
static struct al_obj *take_rank(struct al_dev *dev, enum obj_rank rank)
{
	struct al_obj *list = NULL, **last = &list;
	bool revoked = false;

	pthread_mutex_lock(&tree_lock);
	for (struct al_obj *obj = dev->objects; obj; obj = obj->list_next) {
		if (!obj->ci_created || obj->type->rank != rank)
			continue;
		obj->ci_created = false;
		*last = obj;
		last = &obj->end_next;
	}
	*last = NULL;
	pthread_mutex_unlock(&tree_lock);
	for (struct al_obj *obj = list; obj; obj = obj->end_next)
		revoked |= dev_revoke(obj);
	if (revoked)
		rcu_wait();
	return list;
}

static void log_left(const struct obj_tally *tally, const struct al_dev *dev)
{
	const struct obj_left *left;

	for (left = tally->left; left < tally->left + AL_OBJ_TYPES; left++)
		if (left->count == 1)
			ib_log(IB_LOG_WARNING, "al",
			       "HCA 0x%016llx is removed: %s %#llx of %s[%d] was left on it",
			       (unsigned long long)dev->guid, left->name,
			       (unsigned long long)left->handle, left->comm, (int)left->pid);
		else if (left->count)
			ib_log(IB_LOG_WARNING, "al",
			       "HCA 0x%016llx is removed: %u objects of kind %s, among them %#llx of %s[%d], were left on it",
			       (unsigned long long)dev->guid, left->count, left->name,
			       (unsigned long long)left->handle, left->comm, (int)left->pid);
}

static void end_objects_of_rank(struct al_dev *dev, enum obj_rank rank)
{
	struct al_obj *list = take_rank(dev, rank), *obj;
	struct obj_tally tally = { 0 };

	for (obj = list; obj; obj = obj->end_next)
		if (!obj_dying(obj))
			obj_tally(&tally, obj);
	log_left(&tally, dev);
	for (obj = list; obj; obj = obj->end_next)
		dev_run_in_module(obj, obj->type->destroy);
}

/*
 * Destroys the HCA's remaining objects in the module, users before the objects they use. Runs on
 * the HCA's destroy thread, so that no object is destroyed twice. The list stays valid meanwhile:
 * an object with a part in the module is freed only by this thread, or by a dispatcher after this
 * thread has passed the object on.
 */
static void end_objects(struct reaper_job *job)
{
	struct end_objects *end = (struct end_objects *)job;

	for (int rank = 0; rank < OBJ_RANKS; rank++)
		end_objects_of_rank(end->dev, (enum obj_rank)rank);
	sem_post(&end->done);
}

static void wait_sem(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

/* Waits until no call is in progress, and logs once if that takes longer than wait_log_seconds.
 * sem_timedwait() is used because ThreadSanitizer does not know sem_clockwait(); a step of
 * CLOCK_REALTIME only moves the log line. */
static void wait_for_calls(struct al_dev *dev)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_log_seconds;
	while (sem_timedwait(&dev->drained, &until))
		if (errno == ETIMEDOUT) {
			ib_log(IB_LOG_WARNING, "al",
			       "removal of HCA 0x%016llx waits for %u calls in module %s to return",
			       (unsigned long long)dev->guid,
			       atomic_load(&dev->inflight) & ~DEV_REMOVING, dev->module);
			wait_sem(&dev->drained);
			return;
		}
}

static void install_dead_ops(struct al_dev *dev)
{
	/* Sequentially consistent with dev_enter(). */
	atomic_store(&dev->ops, dev->agent_lost ? &ci_dead_agent : &ci_dead_ca);
}

static void raise_fatal_event(struct al_dev *dev)
{
	ladder_add(&dev->ports[0].ladder, IB_EVENT_DEVICE_FATAL);
	ev_raise(&dev->ev, 1u << IB_EVENT_DEVICE_FATAL);
}

void dev_remove_begin(struct al_dev *dev, uint32_t flags)
{
	IB_TRACE("al", "HCA 0x%016llx: removal begins", (unsigned long long)dev->guid);
	pthread_mutex_lock(&tree_lock);
	dev->removing = true;
	pthread_mutex_unlock(&tree_lock);
	dev->agent_lost = flags & CI_AGENT_LOST;
	if (flags & (CI_HCA_GONE | CI_AGENT_LOST)) {
		install_dead_ops(dev);
		raise_fatal_event(dev);
	}
}

void dev_remove_end(struct al_dev *dev)
{
	struct end_objects end = { .job.fn = end_objects, .dev = dev };

	install_dead_ops(dev);
	rcu_wait(); /* wait for calls of the data path */
	if (atomic_fetch_or(&dev->inflight, DEV_REMOVING))
		wait_for_calls(dev);

	sem_init(&end.done, 0, 0);
	reaper_queue_job(&dev->reaper, &end.job);
	wait_sem(&end.done);
	sem_destroy(&end.done);

	atomic_store(&dev->reg->al, NULL);
	rcu_wait(); /* wait for upcalls in progress */
	pthread_mutex_lock(&tree_lock);
	dev->reg = NULL;
	pthread_mutex_unlock(&tree_lock);
	IB_TRACE("al", "HCA 0x%016llx: no client, object or upcall is left",
		 (unsigned long long)dev->guid);
	dev_put(dev);
}

struct user_list {
	const struct al_dev *dev;
	char *buf;
	size_t len, used;
};

static void add_user(struct al_obj *obj, void *arg)
{
	struct user_list *list = arg;
	int n;

	if (obj->type->id != AL_OBJ_CA || obj->dev != list->dev || obj_internal(obj) ||
	    list->used >= list->len)
		return;
	n = snprintf(list->buf + list->used, list->len - list->used, "%s%s (pid %d%s)",
		     list->used ? ", " : "", obj->comm, (int)obj->pid,
		     obj_dying(obj) ? ", closing" : "");
	list->used += n > 0 ? (size_t)n : 0;
}

void dev_users(const struct al_dev *dev, char *buf, size_t len)
{
	struct user_list list = { .dev = dev, .buf = buf, .len = len };

	if (len)
		buf[0] = 0;
	obj_for_each(add_user, &list);
}

void dev_after_fork(void)
{
	devices = NULL;
	reaper_after_fork();
	thread_pool_after_fork(&event_threads);
	memset(&dispatcher_common, 0, sizeof(dispatcher_common));
}
