/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Access Layer's side of a registered HCA: its dispatchers, its destroy thread, its operations (live, or dead after
 * a removal), its ports' event state. It outlives its registration while handles of it exist.
 */
#ifndef AL_OBJECT_DEVICE_H
#define AL_OBJECT_DEVICE_H

#include "al/object/dispatcher.h"
#include "al/object/object.h"
#include "al/object/port.h"
#include "al/object/qpns.h"
#include "al/object/reaper.h"
#include "ci/ci.h"

struct al_dev {
	/* read on the data path */
	_Atomic(const struct ci_interface *) ops;
	uint64_t may_block;  /* CI_MAY_BLOCK() of operations that are called outside a read section */
	bool serialise_cq;   /* CI_SERIALISE_CQ */

	_Atomic uint32_t refs; /* objects, and the registration */
	_Atomic uint32_t inflight; /* calls in progress on the module, and DEV_REMOVING */
	sem_t drained;         /* posted by the call that ends last while removing */
	uint64_t guid;
	struct ib_ca_attr attr;
	size_t ci_bytes[CI_OBJ_KINDS]; /* of the module's objects: the dead table knows nothing of them */
	struct ci_registration *reg; /* NULL once removed; guarded by tree_lock */
	char module[32], module_version[32];
	const void *agent;     /* connection that it is behind; NULL: of this process */
	bool agent_lost;       /* dead with AL_AGENT_LOST; before the dead table is seen */
	bool going;            /* no new opens; guarded by tree_lock */
	struct reaper_job end_job; /* frees it, on the common destroy thread */

	pthread_mutex_t threads_lock; /* guards starting the threads below */
	struct dispatcher async;      /* asynchronous events, and the home of most objects */
	struct dispatcher *vectors;   /* attr.num_comp_vectors of them */
	struct reaper reaper;

	struct qpns qpns;
	atomic_uint complaints; /* what its module got wrong, as far as it is counted */

	struct ev_source ev;          /* unaffiliated events; on async */
	struct dev_port *ports;       /* attr.num_ports + 1; [0] is the HCA itself */
	pthread_mutex_t gids_lock;    /* guards what the ports' gids point to. Leaf. */

	_Atomic uint32_t count[AL_OBJ_TYPES]; /* objects there */
	_Atomic uint32_t high[AL_OBJ_TYPES];  /* most at once */

	struct al_obj *objects;       /* guarded by tree_lock */
	struct al_dev *next;          /* list of HCAs; guarded by tree_lock */
};
#define DEV_REMOVING 0x80000000u

/* The table of an HCA that has gone? */
static inline bool ops_dead(const struct ci_interface *ops)
{
	return ops == &ci_dead_ca || ops == &ci_dead_agent;
}

/* What the operations of a dead table return. */
static inline al_status ops_dead_status(const struct ci_interface *ops)
{
	return ops == &ci_dead_agent ? AL_AGENT_LOST : AL_CA_REMOVED;
}

static inline const struct ci_interface *dev_ops(struct al_dev *dev)
{
	/* acquire: pairs with the stores in dev_new() and bury() */
	return atomic_load_explicit(&dev->ops, memory_order_acquire);
}

/* The HCAs, also those removed that still have handles; under tree_lock. */
struct al_dev *dev_first(void);
/* The HCA of a GUID that an opening sees, with a reference, or NULL: none, or going. */
struct al_dev *dev_find(const void *agent, uint64_t guid);
/* The connection to an agent whose HCAs an object's opening sees; NULL: those of this process. */
const void *obj_agent(const struct al_obj *obj);
/* The most objects of a kind that the HCA takes, in its attributes; NULL: the attributes do not limit the kind. */
const uint32_t *dev_limit(const struct al_dev *dev, al_object_type kind);
void dev_ref(struct al_dev *dev);
void dev_put(struct al_dev *dev);
/* A call begins on this thread: from now on the table returned stays callable until it is given to
 * dev_leave(). */
const struct ci_interface *dev_enter(struct al_dev *dev);
void dev_leave(struct al_dev *dev, const struct ci_interface *ops);
/* A step of an object's end in its module, on a destroy thread: a member of its struct obj_type. */
void dev_in_module(struct al_obj *obj,
		   void (*step)(struct al_obj *obj, const struct ci_interface *ops));
/* The dispatcher of a completion vector, its thread running. */
al_status dev_start_vector(struct al_dev *dev, uint32_t vector, struct ev_queue **queue);
/*
 * Where a GID is in a port's table, as that was when the HCA arrived or last told of a change: any context. Operations
 * of modules that read the table may sleep.
 */
al_status dev_find_gid(struct al_dev *dev, uint8_t port, const uint8_t gid[16], uint16_t *index);
/* The table of a port has changed, or with port 0 that of any: reads it again. On the async dispatcher, before the change is told. */
void dev_gids_changed(struct al_dev *dev, uint32_t port);
/* Makes it one of dev_first()'s. */
void dev_insert(struct al_dev *dev);

/* Callbacks of objects of no HCA. */
extern struct dispatcher dispatcher_common;

/*
 * The object of a call on the data path, in a read section: no lock, no shared cache line written. NULL, and no read
 * section: no such object, or the operation, whose CI_MAY_BLOCK() is op, may block, which makes it a call like any other.
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

/* The one or the other. */
static inline al_status data_begin(struct al_call *call, const void *handle, al_object_type type,
				   uint64_t op)
{
	call->obj = data_enter(handle, type, op);
	if (__builtin_expect(!call->obj, 0))
		return call_begin_any(call, handle, type);
	call->ops = dev_ops(call->obj->dev);
	return AL_SUCCESS;
}

static inline void data_end(struct al_call *call, uint64_t op)
{
	if (__builtin_expect(call->obj->dev->may_block & op, 0))
		call_end(call);
	else
		rcu_leave();
}

/*
 * An HCA comes: dev_new() makes it with its threads, and nobody knows it. From dev_listen() on its events come in and wait
 * for ev_release(&dev->ev), and its ports are known. dev_insert() makes it known; until then dev_abort() undoes it.
 * run: delivers unaffiliated events, as ev_init() has it.
 */
al_status dev_new(struct ci_registration *reg, void (*run)(struct ev_source *, uint32_t), struct al_dev **dev);
al_status dev_listen(struct al_dev *dev);
void dev_abort(struct al_dev *dev);
/*
 * It goes: nobody can open it after dev_remove_begin(), and whoever has it open may let go before dev_remove_end(), which
 * ends in the module what is left, and drops the registration's reference. flags: enum ci_deregister_flags.
 */
void dev_remove_begin(struct al_dev *dev, uint32_t flags);
void dev_remove_end(struct al_dev *dev);
/* As ci_upper.users. */
void dev_users(const struct al_dev *dev, char *buf, size_t len);
/* As ci_upper.inside. */
bool dev_inside(void);
/* In a forked child. */
void dev_child(void);

#endif
