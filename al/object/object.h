/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Objects: what everything behind a handle has in common. How they live:
 *
 *   obj_new()      allocates the Access Layer's part and the module's in one block, counts it against the HCA's limit
 *                  and makes it a live child of its parent. Nobody else can see it. Unwound by obj_abort().
 *   obj_use()      makes it a live user of a further object (a QP of its CQs).
 *   obj_publish()  writes the handle for the caller, then makes it valid, then lets events through: an event's callback
 *                  may destroy the object before the create call has returned. What obj_publish() gives is the
 *                  *existence reference*; destroying drops it.
 *   obj_destroy()  decides refusals, then makes the handle invalid, stops counting as live in parent and used objects,
 *                  and gives the existence reference to the HCA's destroy thread.
 *   reaper         the destroy thread takes objects in the order of the calls, waits one grace period for the whole batch,
 *                  and drops the existence reference. If that was the last reference, the object ends: the thread destroys
 *                  it in the module, releases what the object owns and its place in the HCA's limit (obj_settle()), so that
 *                  a callback that is told "destroyed" finds all that given back. Then "destroyed" is delivered; then
 *                  obj_free(). If not, since children, users, calls that may sleep and callbacks in flight each hold a
 *                  reference, the thread quiesces the object in the module and goes on to the next. The object comes back
 *                  when its last reference goes, and ends then. So the thread waits for no single object; only, while
 *                  quiescing, for an al_modify_qp() or al_query_mr() of the object that is in the module already.
 *
 * References on parent and used objects are kept until obj_free(), so that nothing is told to be gone before what
 * depended on it.
 *
 * Lock: tree_lock guards the lists of objects and makes publish and cascade exclude each other. Leaf lock: nothing is
 * taken inside but the handle table's.
 */
#ifndef AL_OBJECT_OBJECT_H
#define AL_OBJECT_OBJECT_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include <iba/ib_al.h>
#include <iba/ib_hca.h>

#include "al/object/dispatcher.h"
#include "al/object/handle.h"
#include "al/object/rcu.h"

struct al_dev;
struct obj_waiter;

#define OBJ_USES 5             /* objects that one may use beside its parent: two CQs, SRQ, RDD, XRCD; or a channel */
#define OBJ_DYING 0x80000000u  /* bit of al_obj.live */
#define OBJ_NO_CI (-1)         /* obj_type.ci: the module knows nothing of such objects */

struct al_obj {
	/* read on the data path; constant once published */
	const struct obj_type *type; /* first: what a module gives back as a ctx may be an HCA's, whose first word is 0 */
	uint64_t handle;
	struct al_dev *dev;          /* HCA, referenced; NULL: of none */
	void *ci;                    /* the module's part of the block, or NULL */
	void *context;               /* the owner's */
	struct al_obj *al;           /* opening that it belongs to (itself for one) */
	struct al_obj *parent;       /* referenced; NULL: an opening */
	struct al_obj *uses[OBJ_USES]; /* referenced */

	_Atomic uint32_t refs;
	_Atomic uint32_t live;       /* live children and users, and OBJ_DYING */
	struct ev_source ev;         /* callbacks; its queue is the object's home */

	/* destroying */
	al_destroyed_cb destroyed_cb;
	void *destroyed_context;
	struct obj_waiter *waiter;   /* AL_DESTROY_SYNC */
	struct al_obj *reap_next;
	struct al_obj *end_next;     /* see end_objects() in device.c */
	uint64_t grace_stamp;        /* see reaper.c */
	bool ci_created;             /* the module has made its part; the reaper's or, before publish, the creator's */

	bool published;              /* the handle has been valid; guarded by tree_lock */

	/* watching; guarded by tree_lock */
	struct al_obj *list_next, *list_prev;
	uint64_t created_ns;
	pid_t pid;
	char comm[16];
	uid_t uid;
	bool foreign;                /* a client's, in the agent: what it leaves behind is no news */
};

/* An opening of the library. */
struct al_instance {
	struct al_obj obj;
	void *agent; /* connection to the agent whose HCAs it sees (al/user); NULL: this process's */
};

/* Order of ending within an HCA, when several objects end at once: users before the objects they use. */
enum obj_rank { RANK_FIRST, RANK_QP, RANK_MR, RANK_CQ, RANK_PD, RANK_CA, OBJ_RANKS };

/*
 * What all objects of a kind have in common. The file that makes the objects defines it and passes it to obj_new().
 * dev_limit() has the kind's limit.
 */
struct obj_type {
	al_object_type id;
	size_t size;         /* of the Access Layer's part, which begins with struct al_obj */
	int ci;              /* enum ci_obj, or OBJ_NO_CI */
	enum obj_rank rank;
	bool cascades;       /* destroying takes what depends on it along, instead of being refused */
	bool (*busy)(struct al_obj *obj);  /* a reason to refuse that only the module knows; may be NULL */
	void (*published)(struct al_obj *obj); /* just became valid: lets further events through; may be NULL */
	void (*dying)(struct al_obj *obj); /* just became invalid: any context; may be NULL */
	void (*user_dying)(struct al_obj *obj, const struct al_obj *user); /* a user of it just became invalid: any context; may be NULL */
	/*
	 * In the module, while references are left: the object takes nothing from the wire any more. May end it there, and say
	 * so in ci_created. NULL: nothing comes to such objects from the wire.
	 */
	void (*quiesce)(struct al_obj *obj, const struct ci_interface *ops);
	void (*destroy)(struct al_obj *obj, const struct ci_interface *ops); /* in the module; NULL: nothing */
	void (*gone)(struct al_obj *obj);  /* before "destroyed": releases what the AL's part owns; may be NULL */
};
static inline const char *obj_name(const struct al_obj *obj)
{
	return al_object_type_str(obj->type->id);
}

extern pthread_mutex_t tree_lock;

/*
 * Makes an object that nobody sees yet. dev: its HCA, or NULL. The caller holds a reference on parent (a call in
 * progress). Statuses: AL_INVALID_HANDLE (parent is dying), AL_LIMIT_EXCEEDED,
 * AL_INSUFFICIENT_MEMORY.
 */
al_status obj_new(const struct obj_type *type, struct al_obj *parent, struct al_dev *dev, void *context, struct al_obj **obj);
/* Uses a further object, which the caller holds a reference on; AL_INVALID_HANDLE: it is dying, AL_INVALID_CA: not of the same opening and HCA. */
al_status obj_use(struct al_obj *obj, struct al_obj *used);
/*
 * Valid from now on. *handle is written first. AL_INVALID_HANDLE: parent or a used object began to die meanwhile; then
 * nothing was published, and the caller undoes what it did and calls obj_abort().
 */
al_status obj_publish(struct al_obj *obj, void *handle);
/* Undoes obj_new() and obj_use(); what the module made has been undone. */
void obj_abort(struct al_obj *obj);

/* Takes one more reference, unless the last has gone. */
bool obj_try_ref(struct al_obj *obj);
/* Takes one more: the caller has one. */
static inline void obj_ref(struct al_obj *obj)
{
	atomic_fetch_add_explicit(&obj->refs, 1, memory_order_relaxed);
}
/* Drops one; the last queues the object for the reaper: any context. */
void obj_put(struct al_obj *obj);
/* Drops one; true: it was the last, and the object is the caller's. For obj_put() and the reaper. */
static inline bool obj_drop(struct al_obj *obj)
{
	/* release and acquire: the caller that drops the last one sees what every other holder did */
	return atomic_fetch_sub_explicit(&obj->refs, 1, memory_order_acq_rel) == 1;
}
static inline bool obj_dying(const struct al_obj *obj)
{
	return atomic_load_explicit(&obj->live, memory_order_acquire) & OBJ_DYING;
}

/* The object of a handle with a reference, or NULL. Any context. */
struct al_obj *obj_get(const void *handle, al_object_type type);
/* The object of a handle inside a read section, or NULL: the data path. */
static inline struct al_obj *obj_peek(const void *handle, al_object_type type)
{
	uint64_t bits = (uint64_t)(uintptr_t)handle;

	return __builtin_expect(handle_type(bits) == type, 1) ? handle_find(bits) : NULL;
}

/*
 * Every al_destroy_*, al_dealloc_*, al_dereg_* and al_close*: refusals first, then asynchronous, or waits with
 * AL_DESTROY_SYNC.
 */
al_status obj_destroy(const void *handle, al_object_type type, al_destroyed_cb cb, void *context);
/* Gives back what it stands for: by the reaper, when the module's part is destroyed. */
void obj_settle(struct al_obj *obj);
/* Frees it: called by the reaper and the dispatcher, once, at the very end. */
void obj_free(struct al_obj *obj);
/* Calls fn for every object there is, under tree_lock. */
void obj_for_each(void (*fn)(struct al_obj *obj, void *arg), void *arg);

/*
 * A call on an object, for everything but the data path: holds a reference on the object and keeps its HCA's module
 * from going away; ops is the table to call (the dead one after a removal).
 */
struct al_call {
	struct al_obj *obj;
	const struct ci_interface *ops; /* NULL for objects of no HCA */
};
/* AL_INVALID_CONTEXT in an atomic callback. */
al_status call_begin(struct al_call *call, const void *handle, al_object_type type);
/* The same, "Context: any". */
al_status call_begin_any(struct al_call *call, const void *handle, al_object_type type);
void call_end(struct al_call *call);

/* In a forked child: forget everything. */
void obj_child(void);

#endif
