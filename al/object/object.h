/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Objects: what everything behind a handle has in common. How they live:
 *
 *   obj_new()      allocates the Access Layer's part and the module's part of the object in one block, counts the
 *                  object against the HCA's limit and makes the object a live child of its parent. Only the caller can
 *                  reach the object. obj_abort() undoes obj_new().
 *   obj_use()      makes the object a live user of a further object (a QP of its CQs).
 *   obj_publish()  writes the handle for the caller, then makes the handle valid, then lets events through: an event's
 *                  callback may destroy the object before the create call has returned. The reference that remains
 *                  after obj_publish() is the *existence reference*; destroying the object drops this reference.
 *   obj_destroy()  refuses or accepts the call. On acceptance obj_destroy() makes the handle invalid, stops counting
 *                  the object as live in its parent and in the objects it uses, and gives the existence reference to
 *                  the HCA's destroy thread.
 *   reaper         the destroy thread takes objects in the order of the calls, waits one grace period for the whole
 *                  batch, and drops the existence reference. If that was the last reference, the object ends: the
 *                  thread destroys the object in the module and calls obj_release_resources(), so that the destroyed
 *                  callback finds memory, numbers and the place in the HCA's limit given back. Then the destroyed
 *                  callback runs; then obj_free(). Children, users, calls that may sleep and callbacks in flight each
 *                  hold a reference. If any reference is left, the thread quiesces the object in the module and goes on
 *                  to the next object. The last obj_put() queues the object again, and the object ends then. So the
 *                  thread never waits for references of an object. While quiescing, the thread waits only for an
 *                  al_modify_qp() or al_query_mr() that is inside the module with this object.
 *
 * An object keeps its references on its parent and on the objects it uses until obj_free(), so no object reports
 * "destroyed" before its dependents have.
 *
 * Lock: tree_lock guards the lists of objects, and makes obj_publish() and cascades exclude each other. The only lock
 * taken under tree_lock is the handle table's.
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
struct destroy_waiter;

#define OBJ_USES 5             /* most objects that an object uses beside its parent: two CQs, SRQ, RDD, XRCD; or a
				* channel */
#define OBJ_DYING 0x80000000u  /* bit of al_obj.live: the handle is invalid, the object is being destroyed */
#define OBJ_NO_CI (-1)         /* obj_type.ci of objects that have no part in the module */

struct al_obj {
	/* read on the data path; constant once published */
	const struct obj_type *type; /* first member: a module's upcall may pass a ctx of an HCA, whose first word is
				      * 0 */
	uint64_t handle;             /* handle that the caller has */
	struct al_dev *dev;          /* HCA of the object, referenced; NULL: the object belongs to no HCA */
	void *ci;                    /* the module's part of the block; NULL: the object has none */
	void *context;               /* context pointer of the application */
	struct al_obj *al;           /* opening that the object belongs to; an opening points to itself */
	struct al_obj *parent;       /* parent object, referenced; NULL: the object is an opening */
	struct al_obj *uses[OBJ_USES]; /* objects that this object uses, referenced; ends at the first NULL */

	_Atomic uint32_t refs;       /* references; the destroy thread ends the object at 0 */
	_Atomic uint32_t live;       /* number of live children and users, and the bit OBJ_DYING */
	struct ev_source ev;         /* events of the object; ev.queue is the dispatcher or channel that delivers
				      * them */

	/* destroying */
	al_destroyed_cb destroyed_cb;
	void *destroyed_context; /* with AL_DESTROY_CHANNEL: the channel's handle, which may be
				  * invalid by the time of the object's end */
	struct destroy_waiter *waiter; /* thread that waits with AL_DESTROY_SYNC; NULL: none */
	struct al_obj *reap_next;    /* next object in the destroy thread's queue */
	struct al_obj *end_next;     /* next object in the list of end_objects() in device.c */
	uint64_t grace_stamp;        /* grace clock at the time the handle became invalid: reaper.c */
	bool ci_created;             /* the module's part exists; written by the creator until publish, then by the
				      * destroy thread */

	bool revoked;                /* dev_revoke() has been called; the destroy thread's */
	bool published;              /* the handle has been valid; guarded by tree_lock */

	/* monitoring; guarded by tree_lock */
	struct al_obj *list_next, *list_prev;
	/* The opening's objects: the end of an opening is linear in them, however many there are of
	 * other openings. */
	struct al_obj *own_next, *own_prev;
	struct al_obj *own;          /* of an opening: the list's first object, the youngest */
	uint64_t created_ns;         /* time of obj_new(), CLOCK_MONOTONIC */
	pid_t pid;                   /* process, name and user that own the object: this process, or a client of the
				      * agent */
	char comm[16];
	uid_t uid;
	bool foreign;                /* a client of the agent owns the object: objects it leaves behind are logged as
				      * debug only */
};

/* An opening of the library: the object behind al_h. */
struct al_instance {
	struct al_obj obj;
	void *agent; /* connection to the agent whose HCAs the opening sees (al/user); NULL: it sees this process's
		      * HCAs */
	/*
	 * Not NULL: the opening is the library's own (al/mgmt), and this queue delivers the
	 * completions of its CQs. Objects of such an opening count against no limit, are in no
	 * snapshot and in no list of users, and are not logged as left behind.
	 */
	struct ev_queue *internal_queue;
	ib_log_level left_behind; /* of the messages about objects that a close destroys */
};

/* True: the object belongs to the library's own opening. */
static inline bool obj_internal(const struct al_obj *obj)
{
	return ((const struct al_instance *)obj->al)->internal_queue;
}

/* Order in which an HCA's objects end when several end at once: users before the objects they
 * use. */
enum obj_rank { RANK_FIRST, RANK_QP, RANK_MR, RANK_CQ, RANK_PD, RANK_CA, OBJ_RANKS };

/*
 * The type of an object: the operations and sizes that all objects of a kind share. The file that
 * creates the objects defines their type and passes the type to obj_new(). dev_limit() knows the
 * kind's limit.
 */
struct obj_type {
	al_object_type id;
	size_t size;         /* bytes of the Access Layer's part, which begins with struct al_obj */
	int ci;              /* kind of the module's part, enum ci_obj; OBJ_NO_CI: the module has no part */
	enum obj_rank rank;
	/*
	 * The object stands for one of another owner. Functions that look for an object of the kind
	 * do not find the alias, since its handles are of the type OBJ_ALIAS(id). It counts against
	 * no limit of the HCA, and the module does not know its part.
	 */
	bool alias;
	bool cascades;       /* destroying the object destroys its dependents; otherwise dependents refuse the
			      * destroy */
	/* True: the module has a reason to refuse the destroy. Under tree_lock. May be NULL. */
	bool (*busy)(struct al_obj *obj);
	/* The handle has become valid: lets further events through. May be NULL. */
	void (*published)(struct al_obj *obj);
	/* The object's handle has become invalid. Any context. May be NULL. */
	void (*invalidated)(struct al_obj *obj);
	/* The handle of a user of the object has become invalid. Any context. May be NULL. */
	void (*user_invalidated)(struct al_obj *obj, const struct al_obj *user);
	/*
	 * Of channels: queues the event that "ended" has ended. Nobody else can reach ended, whose
	 * references are dropped; the channel frees its memory. NULL: the object is no channel.
	 */
	void (*tell_end)(struct al_obj *obj, struct al_obj *ended);
	/*
	 * Begins to end the object in the module, whether references are left or not. True: a grace
	 * period has to pass before quiesce or destroy. NULL, or false: the object ends by quiesce
	 * or destroy alone.
	 */
	bool (*revoke)(struct al_obj *obj, const struct ci_interface *ops);
	/*
	 * Stops the object in the module while references are left: afterwards the object accepts
	 * nothing from the wire. May destroy the module's part, and then clears ci_created. NULL:
	 * such objects receive nothing from the wire.
	 */
	void (*quiesce)(struct al_obj *obj, const struct ci_interface *ops);
	/* Destroys the module's part. NULL: the module has no part. */
	void (*destroy)(struct al_obj *obj, const struct ci_interface *ops);
	/* Releases the resources that the Access Layer's part owns, before the destroyed callback.
	 * May be NULL. */
	void (*release)(struct al_obj *obj);
};
#define OBJ_ALIAS(id) ((al_object_type)((id) | HANDLE_ALIAS))
static inline const char *obj_name(const struct al_obj *obj)
{
	return al_object_type_str(obj->type->id);
}

extern pthread_mutex_t tree_lock;

/* What is left of one kind when it is ended for its owner: the log has one line for all objects of
 * the kind. */
struct obj_left {
	uint32_t count;
	/* of the first of them */
	const char *name;
	uint64_t handle;
	pid_t pid;
	char comm[16];
	bool foreign;
};

struct obj_tally {
	struct obj_left left[AL_OBJ_TYPES];
};

/* Counts an object, unless it is internal. */
void obj_tally(struct obj_tally *tally, const struct al_obj *obj);

/*
 * Makes an object that only the caller can reach. dev: HCA of the object, or NULL. The caller holds
 * a reference on parent (a call in progress). Statuses: AL_INVALID_HANDLE (parent is dying),
 * AL_LIMIT_EXCEEDED, AL_INSUFFICIENT_MEMORY.
 */
al_status obj_new(const struct obj_type *type, struct al_obj *parent, struct al_dev *dev, void *context, struct al_obj **obj);
/*
 * Makes obj a user of the object "used". The caller holds a reference on both. AL_INVALID_HANDLE:
 * the used object is dying. AL_INVALID_CA: the two objects belong to different openings or HCAs.
 */
al_status obj_use(struct al_obj *obj, struct al_obj *used);
/*
 * Writes *handle and then makes the handle valid. AL_INVALID_HANDLE: the parent or a used object
 * began to die since obj_new(); then the object is not published, and the caller undoes its own
 * steps and calls obj_abort().
 */
al_status obj_publish(struct al_obj *obj, void *handle);
/* Undoes obj_new() and obj_use(). The caller has already destroyed the module's part. */
void obj_abort(struct al_obj *obj);

/* Takes a reference. False: the last reference has been dropped, and the object is ending. */
bool obj_try_ref(struct al_obj *obj);
/* Takes a further reference. The caller already holds a reference. */
static inline void obj_ref(struct al_obj *obj)
{
	atomic_fetch_add_explicit(&obj->refs, 1, memory_order_relaxed);
}
/* Drops a reference. The last obj_put() queues the object for the destroy thread. Any context. */
void obj_put(struct al_obj *obj);
/*
 * Drops a reference. True: that was the last reference, and the caller owns the object. For
 * obj_put() and the reaper.
 */
static inline bool obj_drop(struct al_obj *obj)
{
	/* release and acquire: the caller that drops the last reference sees the writes of every
	 * earlier holder */
	return atomic_fetch_sub_explicit(&obj->refs, 1, memory_order_acq_rel) == 1;
}
static inline bool obj_dying(const struct al_obj *obj)
{
	return atomic_load_explicit(&obj->live, memory_order_acquire) & OBJ_DYING;
}

/* Finds a handle's object and takes a reference. NULL: the handle is invalid. Any context. */
struct al_obj *obj_get(const void *handle, al_object_type type);
/*
 * Finds a handle's object for the data path: the object is good until the read section ends. NULL:
 * the handle is invalid.
 */
static inline struct al_obj *obj_peek(const void *handle, al_object_type type)
{
	uint64_t bits = (uint64_t)(uintptr_t)handle;

	return __builtin_expect(handle_type(bits) == type, 1) ? handle_find(bits) : NULL;
}

/*
 * The implementation of every al_destroy_*, al_dealloc_*, al_dereg_* and al_close*. Refusals are
 * returned at once. After that the destroy is asynchronous; with AL_DESTROY_SYNC the call waits for
 * the object's end.
 */
al_status obj_destroy(const void *handle, al_object_type type, al_destroyed_cb cb, void *context);
/*
 * Releases the resources of the Access Layer's part, the handle's slot and the place in the HCA's
 * limit. Called by the destroy thread after the module's part is destroyed.
 */
void obj_release_resources(struct al_obj *obj);
/*
 * Frees the object's memory and drops its references on other objects. Called once, by the destroy
 * thread or a dispatcher.
 */
void obj_free(struct al_obj *obj);
/*
 * As obj_free(), for an object that was destroyed with AL_DESTROY_CHANNEL: the channel, if it still
 * exists, gets the memory for its event before the references are dropped, so that the parent's
 * event comes later.
 */
void obj_free_by_channel(struct al_obj *obj);
/* Calls fn for every object of the process, under tree_lock. */
void obj_for_each(void (*fn)(struct al_obj *obj, void *arg), void *arg);

/*
 * A call on an object outside the data path. The call holds a reference on the object and keeps the
 * HCA's module loaded. ops is the table of operations to call: after a removal, the dead table.
 */
struct al_call {
	struct al_obj *obj;
	const struct ci_interface *ops; /* NULL: the object belongs to no HCA */
};
/* Begins a call that may sleep. AL_INVALID_CONTEXT: the thread is in an atomic callback.
 * AL_INVALID_HANDLE. */
al_status call_begin(struct al_call *call, const void *handle, al_object_type type);
/* Begins a call whose documentation says "Context: any". AL_INVALID_HANDLE. */
al_status call_begin_any(struct al_call *call, const void *handle, al_object_type type);
void call_end(struct al_call *call);

/*
 * Reasons of refusals (al_reason()). Each function of the API settles the reason of the status that
 * it returns, as its last step: a status for which nothing called ib_refuse() gets the text of the
 * status. The log gets a line (debug). function: name in the API. obj: the object of the call;
 * NULL: none. Return status.
 */
al_status reason_settle(al_status status, const char *function, const struct al_obj *obj)
	__attribute__((cold));
/* Refuses a call of the function that uses this macro, before the call has an object. */
#define REFUSE(status, ...) reason_settle(ib_refuse(status, __VA_ARGS__), __func__, NULL)
/* Returns status, which is settled if it is a refusal. */
#define SETTLED(status) \
	((status) ? ((void)reason_settle(status, __func__, NULL), (status)) : AL_SUCCESS)
/* Ends the call, and settles the reason of a refusal. Returns status. */
#define CALL_FINISH(call, status) call_finish(call, status, __func__)
al_status call_finish(struct al_call *call, al_status status, const char *function);
/* Refuses a handle that names no live object of the type: AL_INVALID_HANDLE. */
al_status refuse_handle(const void *handle, al_object_type type) __attribute__((cold));
/* Refuses a call that may sleep, made from an atomic callback: AL_INVALID_CONTEXT. */
al_status refuse_context(void) __attribute__((cold));

/* Empties the lists of objects in a forked child, whose copies of the objects are unusable. */
void obj_after_fork(void);

#endif
