/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Objects: making, publishing, marking, freeing, and calls on them. Their life is told in object.h.
 */
#include "al/object/object.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "al/object/client.h"
#include "al/object/device.h"
#include "al/object/thread.h"

#define BLOCK_ALIGN 64

pthread_mutex_t tree_lock = PTHREAD_MUTEX_INITIALIZER;
static struct al_obj *common_objects; /* those of no HCA; guarded by tree_lock */

static size_t round_up(size_t n)
{
	return (n + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct al_obj **list_of(const struct al_obj *obj)
{
	return obj->dev ? &obj->dev->objects : &common_objects;
}

/* Counts an object against its HCA's limit. */
static al_status charge(struct al_dev *dev, const struct obj_type *type)
{
	const uint32_t *limit;
	uint32_t now, high;

	if (!dev)
		return AL_SUCCESS;
	limit = dev_limit(dev, type->id);
	now = atomic_fetch_add(&dev->count[type->id], 1) + 1;
	if (limit && now > *limit) {
		atomic_fetch_sub(&dev->count[type->id], 1);
		return AL_LIMIT_EXCEEDED;
	}
	high = atomic_load(&dev->high[type->id]);
	while (now > high && !atomic_compare_exchange_weak(&dev->high[type->id], &high, now))
		;
	return AL_SUCCESS;
}

static void discharge(struct al_dev *dev, const struct obj_type *type)
{
	if (dev)
		atomic_fetch_sub(&dev->count[type->id], 1);
}

/* Depends on another object from now on; under tree_lock. */
static bool depend(struct al_obj *on)
{
	if (obj_dying(on))
		return false;
	atomic_fetch_add(&on->live, 1);
	obj_ref(on);
	return true;
}

/* Stops counting as live where it depends; the references stay until obj_free(). */
static void stop_depending(struct al_obj *obj)
{
	if (obj->parent)
		atomic_fetch_sub(&obj->parent->live, 1);
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		atomic_fetch_sub(&obj->uses[i]->live, 1);
}

static void run_nothing(struct ev_source *source, uint32_t pending)
{
	(void)source;
	(void)pending;
}

al_status obj_new(const struct obj_type *type, struct al_obj *parent, struct al_dev *dev, void *context,
		  struct al_obj **out)
{
	size_t size = round_up(type->size);
	size_t ci_size = dev && type->ci != OBJ_NO_CI ? dev->ci_bytes[type->ci] : 0;
	const struct ci_client *client = acting_client();
	struct al_obj *obj;
	al_status status = charge(dev, type);

	if (status)
		return status;
	status = AL_INSUFFICIENT_MEMORY;
	obj = al_alloc_aligned(BLOCK_ALIGN, size + ci_size);
	if (!obj)
		goto err_charge;
	status = handle_reserve(type->id, &obj->handle);
	if (status)
		goto err_alloc;

	obj->type = type;
	obj->parent = parent;
	obj->al = parent ? parent->al : obj;
	obj->context = context;
	obj->created_ns = now_ns();
	obj->pid = client ? client->pid : getpid();
	obj->uid = client ? client->uid : geteuid();
	obj->foreign = client;
	snprintf(obj->comm, sizeof(obj->comm), "%.15s",
		 client ? client->comm : program_invocation_short_name);
	atomic_init(&obj->refs, 1);
	ev_init(&obj->ev, obj, dev ? &dev->async.queue : &dispatcher_common.queue, run_nothing,
		true);
	if (ci_size) {
		obj->ci = (char *)obj + size;
		*(void **)obj->ci = obj; /* ctx, the first member of each */
	}

	pthread_mutex_lock(&tree_lock);
	if (parent && !depend(parent)) {
		pthread_mutex_unlock(&tree_lock);
		status = AL_INVALID_HANDLE;
		goto err_handle;
	}
	if (dev) {
		dev_ref(dev);
		obj->dev = dev;
	}
	obj->list_next = *list_of(obj);
	if (obj->list_next)
		obj->list_next->list_prev = obj;
	*list_of(obj) = obj;
	pthread_mutex_unlock(&tree_lock);
	*out = obj;
	return AL_SUCCESS;

err_handle:
	handle_release(obj->handle);
err_alloc:
	al_free(obj);
err_charge:
	discharge(dev, type);
	return status;
}

al_status obj_use(struct al_obj *obj, struct al_obj *used)
{
	al_status status = AL_INVALID_HANDLE;
	int i = 0;

	if (used->al != obj->al || (used->dev && used->dev != obj->dev))
		return AL_INVALID_CA;
	while (obj->uses[i])
		i++;
	pthread_mutex_lock(&tree_lock);
	if (depend(used)) {
		obj->uses[i] = used;
		status = AL_SUCCESS;
	}
	pthread_mutex_unlock(&tree_lock);
	return status;
}

al_status obj_publish(struct al_obj *obj, void *handle)
{
	bool dying;

	/* Under the lock: a cascade either finds this object, or has marked what this looks at. */
	pthread_mutex_lock(&tree_lock);
	dying = obj->parent && obj_dying(obj->parent);
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		dying |= obj_dying(obj->uses[i]);
	if (dying) {
		pthread_mutex_unlock(&tree_lock);
		return AL_INVALID_HANDLE;
	}
	obj->published = true;
	obj->ci_created = obj->type->destroy;
	obj_ref(obj); /* a callback may destroy it before this returns */
	memcpy(handle, &obj->handle, sizeof(obj->handle));
	handle_publish(obj->handle, obj);
	pthread_mutex_unlock(&tree_lock);
	IB_TRACE("al", "%s %#llx is there", obj_name(obj), (unsigned long long)obj->handle);
	ev_release(&obj->ev);
	if (obj->type->published)
		obj->type->published(obj);
	obj_put(obj);
	return AL_SUCCESS;
}

void obj_free(struct al_obj *obj)
{
	struct al_dev *dev = obj->dev;

	pthread_mutex_lock(&tree_lock);
	if (obj->list_next)
		obj->list_next->list_prev = obj->list_prev;
	if (obj->list_prev)
		obj->list_prev->list_next = obj->list_next;
	else
		*list_of(obj) = obj->list_next;
	pthread_mutex_unlock(&tree_lock);

	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		obj_put(obj->uses[i]);
	if (obj->parent)
		obj_put(obj->parent);
	al_free(obj);
	if (dev)
		dev_put(dev);
}

void obj_abort(struct al_obj *obj)
{
	stop_depending(obj);
	handle_release(obj->handle);
	discharge(obj->dev, obj->type);
	obj_free(obj);
}

void obj_settle(struct al_obj *obj)
{
	if (obj->type->gone)
		obj->type->gone(obj);
	handle_release(obj->handle);
	discharge(obj->dev, obj->type);
}

bool obj_try_ref(struct al_obj *obj)
{
	uint32_t refs = atomic_load_explicit(&obj->refs, memory_order_relaxed);

	while (refs)
		if (atomic_compare_exchange_weak_explicit(&obj->refs, &refs, refs + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

static void give_to_reaper(struct al_obj *obj)
{
	struct al_dev *dev = obj->dev;

	if (!dev) {
		reaper_queue(&reaper_common, obj);
		return;
	}
	/* With the object its HCA may end, and the destroy thread is not woken yet. */
	dev_ref(dev);
	reaper_queue(&dev->reaper, obj);
	dev_put(dev);
}

void obj_put(struct al_obj *obj)
{
	if (obj_drop(obj))
		give_to_reaper(obj);
}

struct al_obj *obj_get(const void *handle, al_object_type type)
{
	struct al_obj *obj;

	rcu_enter();
	obj = obj_peek(handle, type);
	if (obj && !obj_try_ref(obj))
		obj = NULL;
	rcu_leave();
	return obj;
}

/* ------------------------------------------------------------- destroying */

/* Invalid from now on; under tree_lock, not dying yet. The existence reference is the caller's, for
 * the reaper. */
static void mark(struct al_obj *obj)
{
	atomic_fetch_or(&obj->live, OBJ_DYING);
	handle_revoke(obj->handle);
	obj->grace_stamp = reaper_stamp();
	stop_depending(obj);
}

static bool is_below(const struct al_obj *obj, const struct al_obj *root)
{
	while (obj && obj != root)
		obj = obj->parent;
	return obj;
}

static bool uses_below(const struct al_obj *obj, const struct al_obj *root)
{
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		if (is_below(obj->uses[i], root))
			return true;
	return false;
}

/* Does an object outside the tree of an HCA's handle use one inside? Then the tree can not end. One
 * that is still being made will find the used object dying: obj_publish(). Objects below an opening
 * are used by none outside: obj_use(). Under tree_lock. */
static bool used_from_outside(const struct al_obj *root)
{
	for (struct al_obj *obj = root->dev ? root->dev->objects : NULL; obj; obj = obj->list_next)
		if (obj->published && !obj_dying(obj) && !is_below(obj, root) &&
		    uses_below(obj, root))
			return true;
	return false;
}

/* A reason to refuse the end of an object. Under tree_lock. */
static bool is_busy(struct al_obj *obj)
{
	if (obj->type->cascades)
		return used_from_outside(obj);
	return atomic_load(&obj->live) ||
	       (obj->type->busy && obj->ci_created && obj->type->busy(obj));
}

/* The objects that end with the root of a tree, by rank: the order in which the reaper gets them. */
struct marked {
	struct al_obj *of_rank[OBJ_RANKS];
};

static void collect(struct al_obj *list, struct al_obj *root, struct marked *marked)
{
	for (struct al_obj *obj = list; obj; obj = obj->list_next) {
		/* one that is not published yet will find its parent dying: obj_publish() */
		if (obj == root || !obj->published || obj_dying(obj) || !is_below(obj, root))
			continue;
		mark(obj);
		obj->reap_next = marked->of_rank[obj->type->rank];
		marked->of_rank[obj->type->rank] = obj;
	}
}

static void end_marked(struct al_obj *obj)
{
	if (obj->type->dying)
		obj->type->dying(obj);
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		if (obj->uses[i]->type->user_dying)
			obj->uses[i]->type->user_dying(obj->uses[i], obj);
	give_to_reaper(obj);
}

/* Marks root and what is below it: the whole subtree before anything is waited for. Under
 * tree_lock. */
static void mark_tree(struct al_obj *root, struct marked *marked)
{
	mark(root);
	if (!root->type->cascades)
		return;
	collect(common_objects, root, marked);
	for (struct al_dev *dev = dev_first(); dev; dev = dev->next)
		collect(dev->objects, root, marked);
}

static void end_left(struct al_obj *left, const struct al_obj *root)
{
	struct al_obj *next;

	for (; left; left = next) {
		next = left->reap_next;
		ib_log(left->foreign ? IB_LOG_DEBUG : IB_LOG_WARNING, "al",
		       "%s %#llx of %s[%d] was left behind and is destroyed with its %s",
		       obj_name(left), (unsigned long long)left->handle, left->comm,
		       (int)left->pid, obj_name(root));
		end_marked(left);
	}
}

static void end_tree(struct al_obj *root, const struct marked *marked)
{
	for (int rank = 0; rank < OBJ_RANKS; rank++)
		end_left(marked->of_rank[rank], root);
	end_marked(root);
}

/* ---------------------------------------------------------------- waiting */

/* What a destroy waits for, as far as there is room to name it. */
struct obstacles {
	const struct al_obj *root; /* only compared: it may be gone */
	uint64_t now;
	char text[512];
	size_t used;
};

/* Under tree_lock. */
static void add_obstacle(struct al_obj *obj, void *arg)
{
	struct obstacles *o = arg;
	int n;

	if ((!is_below(obj, o->root) && !uses_below(obj, o->root)) || o->used >= sizeof(o->text))
		return;
	n = snprintf(o->text + o->used, sizeof(o->text) - o->used,
		     "%s%s %#llx of %s[%d], %llu s old, held %u times", o->used ? "; " : "",
		     obj_name(obj), (unsigned long long)obj->handle, obj->comm, (int)obj->pid,
		     (unsigned long long)((o->now - obj->created_ns) / 1000000000u),
		     atomic_load(&obj->refs));
	o->used += n > 0 ? (size_t)n : 0;
}

/* obj is only compared. */
static void wait_patiently(struct obj_waiter *waiter, const struct al_obj *obj, const char *name,
			   uint64_t handle)
{
	struct timespec until = patience_end();

	for (unsigned int waited = patience; !waiter_wait(waiter, &until); waited += patience) {
		struct obstacles o = { .root = obj, .now = now_ns() };

		obj_for_each(add_obstacle, &o);
		ib_log(IB_LOG_WARNING, "al",
		       "destroying %s %#llx has waited %u s for calls, callbacks or dependents to end: %s",
		       name, (unsigned long long)handle, waited, o.text);
		until = patience_end();
	}
}

al_status obj_destroy(const void *handle, al_object_type id, al_destroyed_cb cb, void *context)
{
	struct obj_waiter waiter = { .how = obj_wait };
	bool sync = cb == AL_DESTROY_SYNC;
	al_status status = AL_SUCCESS;
	struct marked marked = { 0 };
	struct al_obj *obj;

	if (sync && thread_context == CONTEXT_ATOMIC)
		return AL_INVALID_CONTEXT;
	obj = obj_get(handle, id);
	if (!obj)
		return AL_INVALID_HANDLE;
	if (sync && waiter.how && waiter.how->deadlocks(obj)) {
		status = AL_INVALID_CONTEXT;
		goto out;
	}

	pthread_mutex_lock(&tree_lock);
	if (obj_dying(obj)) {
		status = AL_INVALID_HANDLE;
	} else if (is_busy(obj)) {
		status = AL_RESOURCE_BUSY;
	} else {
		obj->destroyed_cb = sync ? NULL : cb;
		obj->destroyed_context = context;
		obj->waiter = sync ? &waiter : NULL;
		mark_tree(obj, &marked);
	}
	pthread_mutex_unlock(&tree_lock);
	if (status)
		goto out;

	/* This call's reference goes first, lest the destroy thread find the object held; the
	 * existence reference keeps the object. */
	obj_put(obj);
	end_tree(obj, &marked);
	if (!sync)
		return AL_SUCCESS;
	if (waiter.how)
		waiter.how->wait(&waiter);
	else
		wait_patiently(&waiter, obj, al_object_type_str(id), (uint64_t)(uintptr_t)handle);
	return AL_SUCCESS;
out:
	obj_put(obj);
	return status;
}

void obj_for_each(void (*fn)(struct al_obj *obj, void *arg), void *arg)
{
	pthread_mutex_lock(&tree_lock);
	for (struct al_obj *obj = common_objects; obj; obj = obj->list_next)
		fn(obj, arg);
	for (struct al_dev *dev = dev_first(); dev; dev = dev->next)
		for (struct al_obj *obj = dev->objects; obj; obj = obj->list_next)
			fn(obj, arg);
	pthread_mutex_unlock(&tree_lock);
}

/* ------------------------------------------------------------------ calls */

al_status call_begin_any(struct al_call *call, const void *handle, al_object_type type)
{
	call->obj = obj_get(handle, type);
	if (!call->obj)
		return AL_INVALID_HANDLE;
	call->ops = call->obj->dev ? dev_enter(call->obj->dev) : NULL;
	return AL_SUCCESS;
}

al_status call_begin(struct al_call *call, const void *handle, al_object_type type)
{
	if (thread_context == CONTEXT_ATOMIC)
		return AL_INVALID_CONTEXT;
	return call_begin_any(call, handle, type);
}

void call_end(struct al_call *call)
{
	if (call->obj->dev)
		dev_leave(call->obj->dev, call->ops);
	obj_put(call->obj);
}

void obj_child(void)
{
	pthread_mutex_init(&tree_lock, NULL);
	common_objects = NULL;
	thread_context = CONTEXT_NONE;
	obj_wait = NULL;
}
