/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A registered HCA as the Access Layer sees it: the HCA's dispatchers, destroy thread, table of
 * operations (the module's, or a dead table after a removal) and the event state of its ports.
 * struct al_dev outlives the registration while objects of the HCA exist. PnP events are
 * al/event's, the registry of modules is ci/'s.
 */
#ifndef AL_OBJECT_DEVICE_H
#define AL_OBJECT_DEVICE_H

#include <semaphore.h>

#include "al/object/dispatcher.h"
#include "al/object/object.h"
#include "al/object/port.h"
#include "al/object/qpns.h"
#include "al/object/reaper.h"
#include "ci/ci.h"

struct al_dev {
	/* read on the data path */
	_Atomic(const struct ci_interface *) ops; /* table of operations: the module's, or a dead table after a
						   * removal */
	uint64_t may_block;  /* CI_MAY_BLOCK() of the operations that are called outside a read section */
	bool serialise_cq;   /* CI_SERIALISE_CQ */

	_Atomic uint32_t refs; /* references: one for each object, and one for the registration */
	_Atomic uint32_t inflight; /* number of calls in progress on the module, and the bit DEV_REMOVING */
	sem_t drained;         /* posted by the last call that leaves the module during a removal */
	uint64_t guid;
	struct ib_ca_attr attr;
	size_t ci_bytes[CI_OBJ_KINDS]; /* sizes of the module's objects, copied since the dead tables have no sizes */
	struct ci_registration *reg; /* registration with the module; NULL after the removal; guarded by tree_lock */
	char module[32], module_version[32];
	const void *agent;     /* connection to the agent that has the HCA; NULL: the HCA is this process's */
	bool agent_lost;       /* calls return AL_AGENT_LOST after the removal; written before ops becomes a dead
				* table */
	bool removing;         /* dev_remove_begin() was called: new opens are refused; guarded by tree_lock */
	bool mgmt_ended;       /* al/mgmt serves the HCA's ports no longer; guarded by the lock of al/mgmt/port.c */
	struct reaper_job end_job; /* frees this struct, on the common destroy thread */

	pthread_mutex_t threads_lock; /* guards starting the threads below */
	struct dispatcher async;      /* dispatcher of asynchronous events and of destroyed callbacks */
	struct dispatcher *vectors;   /* dispatchers of the completion vectors; attr.num_comp_vectors elements */
	struct reaper reaper;         /* destroy thread */

	struct qpns qpns;
	atomic_uint module_errors; /* number of the module's errors that were logged; limits the log */

	struct ev_source ev;          /* source of the unaffiliated events, in the queue of async */
	struct dev_port *ports; /* attr.num_ports + 1 elements; element 0 is the HCA itself, or port
				   0 of a switch */
	pthread_mutex_t gids_lock;    /* guards the GIDs in ports[].gids. Leaf. */

	_Atomic uint32_t count[AL_OBJ_TYPES]; /* number of objects, by type */
	_Atomic uint32_t high[AL_OBJ_TYPES];  /* highest number of objects at once, by type */

	struct al_obj *objects;       /* list of the HCA's objects; guarded by tree_lock */
	struct pnp_ca
		*pnp; /* its places in PnP registrations; guarded by the lock of al/event/pnp.c */
	struct al_dev *next;          /* list of HCAs; guarded by tree_lock */
};
#define DEV_REMOVING 0x80000000u /* bit of al_dev.inflight: the removal waits until no call is in progress */

/* True: ops is the dead table of a removed HCA. */
static inline bool ops_dead(const struct ci_interface *ops)
{
	return ops == &ci_dead_ca || ops == &ci_dead_agent;
}

/* The status that all operations of a dead table return. */
static inline al_status ops_dead_status(const struct ci_interface *ops)
{
	return ops == &ci_dead_agent ? AL_AGENT_LOST : AL_CA_REMOVED;
}

static inline const struct ci_interface *dev_ops(struct al_dev *dev)
{
	/* acquire: pairs with the stores in dev_new() and install_dead_ops() */
	return atomic_load_explicit(&dev->ops, memory_order_acquire);
}

/* True: the HCA is a switch. Clients find a switch by its GUID only: lists, PnP and snapshots leave
 * a switch out. */
static inline bool dev_is_switch(const struct al_dev *dev)
{
	return dev->attr.node_type == IB_NODE_SWITCH;
}

/* True: the HCA has the port; a switch has a port 0, too. */
static inline bool dev_has_port(const struct al_dev *dev, uint32_t port)
{
	return port >= ci_first_port(&dev->attr) && port <= dev->attr.num_ports;
}

/* True: the HCA has the port, and the port has LIDs, QP0 and QP1: of a switch port 0 alone. */
static inline bool dev_has_end_port(const struct al_dev *dev, uint32_t port)
{
	return dev_is_switch(dev) ? !port : dev_has_port(dev, port);
}

/* First in the list of HCAs, which includes removed HCAs that still have objects. Under
 * tree_lock. */
struct al_dev *dev_first(void);
/*
 * Finds an HCA by its GUID and takes a reference. agent: the connection of the opening, as
 * obj_agent() returns it. NULL: there is no such HCA, or the HCA is being removed.
 */
struct al_dev *dev_find(const void *agent, uint64_t guid);
/* The connection to the agent whose HCAs the object's opening sees; NULL: the opening sees this
 * process's HCAs. */
const void *obj_agent(const struct al_obj *obj);
/* The HCA attribute that limits the number of objects of a kind; NULL: no attribute limits the
 * kind. */
const uint32_t *dev_limit(const struct al_dev *dev, al_object_type kind);
void dev_ref(struct al_dev *dev);
void dev_put(struct al_dev *dev);
/* Begins a call of this thread on the HCA's module. The returned table stays callable until
 * dev_leave(). */
const struct ci_interface *dev_enter(struct al_dev *dev);
void dev_leave(struct al_dev *dev, const struct ci_interface *ops);
/* Calls step (obj_type.quiesce or obj_type.destroy) with the module's table. On the HCA's destroy
 * thread. */
void dev_run_in_module(struct al_obj *obj,
		   void (*step)(struct al_obj *obj, const struct ci_interface *ops));
/* Revokes the object in the module, at its first call (obj_type.revoke). True: a grace period has
 * to pass before the object ends. On the HCA's destroy thread. */
bool dev_revoke(struct al_obj *obj);
/*
 * Starts the dispatcher of a completion vector unless it runs, and sets *queue to its queue.
 * AL_INSUFFICIENT_RESOURCES.
 */
al_status dev_start_vector(struct al_dev *dev, uint32_t vector, struct ev_queue **queue);
/*
 * Finds the index of a GID in a port's GID table. The search uses a copy of the table, read when
 * the HCA arrived and after each GID change event, because a module's query_gid may sleep.
 * AL_NOT_FOUND. Any context.
 */
al_status dev_find_gid(struct al_dev *dev, uint8_t port, const uint8_t gid[16], uint16_t *index);
/*
 * Reads the GID table of a port again; port 0: the tables of all ports. On the async dispatcher,
 * before the GID change event is delivered.
 */
void dev_gids_changed(struct al_dev *dev, uint32_t port);
/* Appends dev to the list of HCAs: dev_find() finds dev from now on. */
void dev_insert(struct al_dev *dev);

/* The dispatcher that delivers the callbacks of objects that belong to no HCA. */
extern struct dispatcher dispatcher_common;

/*
 * Enters a read section and finds the object of a call on the data path. No lock is taken and no
 * shared cache line is written. op is the CI_MAY_BLOCK() bit of the operation. NULL, and no read
 * section: the handle is invalid, or the module's operation may block; then the caller uses
 * call_begin_any().
 */
static inline struct al_obj *data_enter(const void *handle, al_object_type type, uint64_t op)
{
	struct al_obj *obj;

	rcu_enter();
	obj = obj_peek(handle, type);
	if (__builtin_expect(obj && !(obj->dev->may_block & op), 1))
		return obj;
	rcu_leave();
	return NULL;
}

/* Begins a call with data_enter(), or with call_begin_any() if the operation may block.
 * AL_INVALID_HANDLE. */
static inline al_status data_begin(struct al_call *call, const void *handle, al_object_type type,
				   uint64_t op)
{
	call->obj = data_enter(handle, type, op);
	if (__builtin_expect(!call->obj, 0))
		return call_begin_any(call, handle, type);
	call->ops = dev_ops(call->obj->dev);
	return AL_SUCCESS;
}

/* Ends a call that data_begin() began, with the same op. */
static inline void data_end(struct al_call *call, uint64_t op)
{
	if (__builtin_expect(call->obj->dev->may_block & op, 0))
		call_end(call);
	else
		rcu_leave();
}

/*
 * Arrival of an HCA. dev_new() makes struct al_dev and starts the HCA's threads. dev_listen() lets
 * the module's events in, which wait for ev_release(&dev->ev), and reads the ports' attributes and
 * GIDs. dev_insert() puts the HCA in the list of HCAs. dev_abort() undoes dev_new() and
 * dev_listen(), before dev_insert() only. run: delivers unaffiliated events, like the parameter run
 * of ev_init().
 */
al_status dev_new(struct ci_registration *reg, void (*run)(struct ev_source *, uint32_t), struct al_dev **dev);
al_status dev_listen(struct al_dev *dev);
void dev_abort(struct al_dev *dev);
/*
 * Removal of an HCA. After dev_remove_begin() no client can open the HCA; its users may close their
 * handles until dev_remove_end(). dev_remove_end() waits for the calls in progress, destroys the
 * remaining objects in the module, and drops the registration's reference. flags: enum
 * ci_deregister_flags.
 */
void dev_remove_begin(struct al_dev *dev, uint32_t flags);
void dev_remove_end(struct al_dev *dev);
/* Writes the names and process ids of the HCA's users to buf: the implementation of
 * ci_upper.users. */
void dev_users(const struct al_dev *dev, char *buf, size_t len);
/* True: the calling thread is inside a module's operation. The implementation of
 * ci_upper.inside. */
bool dev_inside(void);
/* Empties the list of HCAs in a forked child, and resets the common threads' state: a child
 * inherits no threads. */
void dev_after_fork(void);

#endif
