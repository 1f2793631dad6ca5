/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Objects: making, publishing, destroying and freeing objects, and beginning calls on them. The
 * life of an object is described in object.h. Ending an object in its module is reaper.c's.
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
static struct al_obj *common_objects; /* objects that belong to no HCA; guarded by tree_lock */

static size_t round_up(size_t n)
{
	return (n + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

static al_status refuse_dying(const struct al_obj *obj)
{
	return ib_refuse(AL_INVALID_HANDLE, "another thread destroyed the %s during the call",
			 obj_name(obj));
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

/* Counts an object against its HCA's limit for the type. AL_LIMIT_EXCEEDED: the object is not
 * counted. dev NULL: the object is not counted either. */
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
		return ib_refuse(AL_LIMIT_EXCEEDED,
				 "the HCA already has its limit of %u %s objects", *limit,
				 al_object_type_str(type->id));
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

/* The HCA against whose limits an object of the opening al counts; NULL: none. */
static struct al_dev *charged_dev(const struct obj_type *type, const struct al_obj *al,
				  struct al_dev *dev)
{
	return type->alias || (al && obj_internal(al)) ? NULL : dev;
}

static void discharge_object(struct al_obj *obj)
{
	discharge(charged_dev(obj->type, obj->al, obj->dev), obj->type);
}

/* Counts one more live dependent of target and takes a reference on target. False: target is dying.
 * Under tree_lock. */
static bool add_dependent(struct al_obj *target)
{
	if (obj_dying(target))
		return false;
	atomic_fetch_add(&target->live, 1);
	obj_ref(target);
	return true;
}

/* Stops counting obj as live in its parent and in the objects it uses. The references stay until
 * obj_free(). */
static void stop_counting_as_live(struct al_obj *obj)
{
	if (obj->parent)
		atomic_fetch_sub(&obj->parent->live, 1);
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		atomic_fetch_sub(&obj->uses[i]->live, 1);
}

/* Adds an object to the list of its opening. Under tree_lock. */
static void join_opening(struct al_obj *obj)
{
	obj->own_next = obj->al->own;
	if (obj->own_next)
		obj->own_next->own_prev = obj;
	obj->al->own = obj;
}

/* The object's reference on its parent still keeps the opening. Under tree_lock. */
static void leave_opening(struct al_obj *obj)
{
	if (obj->own_next)
		obj->own_next->own_prev = obj->own_prev;
	if (obj->own_prev)
		obj->own_prev->own_next = obj->own_next;
	else
		obj->al->own = obj->own_next;
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
	struct al_dev *charged = charged_dev(type, parent ? parent->al : NULL, dev);
	struct al_obj *obj;
	al_status status = charge(charged, type);

	if (status)
		return status;
	status = AL_INSUFFICIENT_MEMORY;
	obj = al_alloc_aligned(BLOCK_ALIGN, size + ci_size);
	if (!obj)
		goto err_charge;
	status = handle_reserve(type->alias ? OBJ_ALIAS(type->id) : type->id, &obj->handle);
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
		*(void **)obj->ci =
			obj; /* the member ctx, which is first in every struct of the module */
	}

	pthread_mutex_lock(&tree_lock);
	if (parent && !add_dependent(parent)) {
		pthread_mutex_unlock(&tree_lock);
		status = refuse_dying(parent);
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
	if (parent)
		join_opening(obj);
	pthread_mutex_unlock(&tree_lock);
	*out = obj;
	return AL_SUCCESS;

err_handle:
	handle_release(obj->handle);
err_alloc:
	al_free(obj);
err_charge:
	discharge(charged, type);
	return status;
}

al_status obj_use(struct al_obj *obj, struct al_obj *used)
{
	al_status status = AL_SUCCESS;
	int i = 0;

	if (used->al != obj->al)
		return ib_refuse(AL_INVALID_CA,
				 "the %s belongs to another opening of the library than the new %s",
				 obj_name(used), obj_name(obj));
	if (used->dev && used->dev != obj->dev)
		return ib_refuse(AL_INVALID_CA,
				 "the %s is on HCA 0x%016llx, and the new %s is on HCA 0x%016llx",
				 obj_name(used), (unsigned long long)used->dev->guid, obj_name(obj),
				 (unsigned long long)obj->dev->guid);
	while (obj->uses[i])
		i++;
	pthread_mutex_lock(&tree_lock);
	if (add_dependent(used))
		obj->uses[i] = used;
	else
		status = refuse_dying(used);
	pthread_mutex_unlock(&tree_lock);
	return status;
}

al_status obj_publish(struct al_obj *obj, void *handle)
{
	bool dying;

	/* Under the lock: a cascade either finds this object published, or has already set
	 * OBJ_DYING in its parent. */
	pthread_mutex_lock(&tree_lock);
	dying = obj->parent && obj_dying(obj->parent);
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		dying |= obj_dying(obj->uses[i]);
	if (dying) {
		pthread_mutex_unlock(&tree_lock);
		return ib_refuse(
			AL_INVALID_HANDLE,
			"another thread destroyed an object that the new %s needs during the call",
			obj_name(obj));
	}
	obj->published = true;
	obj->ci_created = obj->type->destroy;
	obj_ref(obj); /* an event's callback may destroy the object before this function returns */
	memcpy(handle, &obj->handle, sizeof(obj->handle));
	handle_publish(obj->handle, obj);
	pthread_mutex_unlock(&tree_lock);
	IB_TRACE("al", "%s %#llx: created", obj_name(obj), (unsigned long long)obj->handle);
	ev_release(&obj->ev);
	if (obj->type->published)
		obj->type->published(obj);
	obj_put(obj);
	return AL_SUCCESS;
}

/* References of an object that is out of the lists of objects. */
struct ties {
	struct al_obj *parent;
	struct al_obj *uses[OBJ_USES];
	struct al_dev *dev;
};

/* Removes an object that has ended from the lists of objects. Returns the references that are to be
 * dropped. */
static struct ties unlink_object(struct al_obj *obj)
{
	struct ties ties = { .parent = obj->parent, .dev = obj->dev };

	memcpy(ties.uses, obj->uses, sizeof(ties.uses));
	pthread_mutex_lock(&tree_lock);
	if (obj->list_next)
		obj->list_next->list_prev = obj->list_prev;
	if (obj->list_prev)
		obj->list_prev->list_next = obj->list_next;
	else
		*list_of(obj) = obj->list_next;
	if (obj->parent)
		leave_opening(obj);
	pthread_mutex_unlock(&tree_lock);
	return ties;
}

static void drop_ties(const struct ties *ties)
{
	for (int i = 0; i < OBJ_USES && ties->uses[i]; i++)
		obj_put(ties->uses[i]);
	if (ties->parent)
		obj_put(ties->parent);
	if (ties->dev)
		dev_put(ties->dev);
}

void obj_free(struct al_obj *obj)
{
	const struct ties ties = unlink_object(obj);

	al_free(obj);
	drop_ties(&ties);
}

void obj_free_by_channel(struct al_obj *obj)
{
	struct al_obj *channel = obj_get(obj->destroyed_context, AL_OBJ_CHANNEL);
	struct ties ties;

	if (!channel) { /* the channel was destroyed before the object's end */
		obj_free(obj);
		return;
	}
	ties = unlink_object(obj);
	channel->type->tell_end(channel, obj); /* the channel's reader may free obj at once */
	drop_ties(&ties);
	obj_put(channel);
}

void obj_abort(struct al_obj *obj)
{
	stop_counting_as_live(obj);
	handle_release(obj->handle);
	discharge_object(obj);
	obj_free(obj);
}

void obj_release_resources(struct al_obj *obj)
{
	if (obj->type->release)
		obj->type->release(obj);
	handle_release(obj->handle);
	discharge_object(obj);
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
		reaper_queue_object(&reaper_common, obj);
		return;
	}
	/*
	 * Once the object is queued, the destroy thread may free the object and drop the last
	 * reference on the HCA. This reference keeps the HCA until the destroy thread's semaphore
	 * has been posted.
	 */
	dev_ref(dev);
	reaper_queue_object(&dev->reaper, obj);
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

/* Makes the handle invalid. The object is not dying yet. The caller passes the existence reference
 * on to the destroy thread. Under tree_lock. */
static void invalidate(struct al_obj *obj)
{
	atomic_fetch_or(&obj->live, OBJ_DYING);
	handle_revoke(obj->handle);
	obj->grace_stamp = reaper_grace_clock();
	stop_counting_as_live(obj);
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

/*
 * True: a live object outside root's tree uses an object inside, so the tree can not be destroyed.
 * An unpublished user does not count: its obj_publish() fails, since the used object is dying by
 * then. obj_use() keeps objects of another opening from using objects below this opening. Under
 * tree_lock.
 */
static bool used_from_outside(const struct al_obj *root)
{
	for (struct al_obj *obj = root->dev ? root->al->own : NULL; obj; obj = obj->own_next)
		if (obj->published && !obj_dying(obj) && !is_below(obj, root) &&
		    uses_below(obj, root))
			return true;
	return false;
}

/* True: obj_destroy() refuses with AL_RESOURCE_BUSY. Under tree_lock. */
static bool is_busy(struct al_obj *obj)
{
	if (obj->type->cascades)
		return used_from_outside(obj);
	return atomic_load(&obj->live) ||
	       (obj->type->busy && obj->ci_created && obj->type->busy(obj));
}

/* Objects that a refusal looks at to name an object's dependents. The limit bounds the time for
 * which tree_lock is held. */
#define MAX_NAMED 4096

/* True: obj keeps `on` busy. */
static bool depends_on(const struct al_obj *obj, const struct al_obj *on)
{
	if (on->type->cascades)
		return !is_below(obj, on) && uses_below(obj, on);
	if (obj->parent == on)
		return true;
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		if (obj->uses[i] == on)
			return true;
	return false;
}

/* Refuses to destroy an object with live dependents, and names their kinds and numbers. Under
 * tree_lock. */
static al_status refuse_busy(const struct al_obj *busy)
{
	const struct al_obj *obj = *list_of(busy);
	struct al_dev *dev =
		busy->dev ? NULL : dev_first(); /* of a channel: HCAs whose objects use it */
	uint32_t count[AL_OBJ_TYPES] = { 0 };
	char text[CI_TEXT_MAX / 2] = "";
	size_t used = 0;

	if (!busy->type->cascades && !atomic_load(&busy->live))
		return ib_refuse(AL_RESOURCE_BUSY,
				 "the HCA still uses the %s; memory windows are bound to it",
				 obj_name(busy));
	for (int seen = 0; (obj || dev) && seen < MAX_NAMED; seen++) {
		if (!obj) {
			obj = dev->objects;
			dev = dev->next;
			continue;
		}
		if (obj->published && !obj_dying(obj) && depends_on(obj, busy))
			count[obj->type->id]++;
		obj = obj->list_next;
	}
	for (uint32_t kind = 0; kind < AL_OBJ_TYPES && used < sizeof(text); kind++)
		if (count[kind])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u %s",
						 used ? ", " : "", count[kind],
						 al_object_type_str((al_object_type)kind));
	if (!used)
		return ib_refuse(AL_RESOURCE_BUSY, "live objects depend on the %s", obj_name(busy));
	return ib_refuse(AL_RESOURCE_BUSY, "the %s is in use by %s%s; destroy these first",
			 obj_name(busy), text, obj || dev ? " or more" : "");
}

/* The objects below the root of a tree that is destroyed, by rank: the order in which the destroy
 * thread gets them. */
struct doomed {
	struct al_obj *of_rank[OBJ_RANKS];
};

static void collect(struct al_obj *root, struct doomed *doomed)
{
	for (struct al_obj *obj = root->al->own; obj; obj = obj->own_next) {
		/* the obj_publish() of an object that is not published yet fails: its parent is
		 * dying */
		if (obj == root || !obj->published || obj_dying(obj) || !is_below(obj, root))
			continue;
		invalidate(obj);
		obj->reap_next = doomed->of_rank[obj->type->rank];
		doomed->of_rank[obj->type->rank] = obj;
	}
}

static void end_object(struct al_obj *obj)
{
	if (obj->type->invalidated)
		obj->type->invalidated(obj);
	for (int i = 0; i < OBJ_USES && obj->uses[i]; i++)
		if (obj->uses[i]->type->user_invalidated)
			obj->uses[i]->type->user_invalidated(obj->uses[i], obj);
	give_to_reaper(obj);
}

/* Makes the handles of root and of all objects below root invalid, in one step under tree_lock. */
static void invalidate_tree(struct al_obj *root, struct doomed *doomed)
{
	invalidate(root);
	if (root->type->cascades)
		collect(root, doomed);
}

static void log_left(const struct obj_tally *tally, const struct al_obj *root)
{
	const ib_log_level own = ((const struct al_instance *)root->al)->left_behind;
	const struct obj_left *left;

	for (left = tally->left; left < tally->left + AL_OBJ_TYPES; left++) {
		const ib_log_level level = left->foreign ? IB_LOG_DEBUG : own;

		if (left->count == 1)
			ib_log(level, "al",
			       "%s %#llx of %s[%d] was left behind and is destroyed with its %s",
			       left->name, (unsigned long long)left->handle, left->comm,
			       (int)left->pid, obj_name(root));
		else if (left->count)
			ib_log(level, "al",
			       "%u objects of kind %s, among them %#llx of %s[%d], were left behind and are destroyed with their %s",
			       left->count, left->name, (unsigned long long)left->handle,
			       left->comm, (int)left->pid, obj_name(root));
	}
}

void obj_tally(struct obj_tally *tally, const struct al_obj *obj)
{
	struct obj_left *left = &tally->left[obj->type->id];

	if (obj_internal(obj) || left->count++)
		return;
	left->name = obj_name(obj);
	left->handle = obj->handle;
	left->pid = obj->pid;
	left->foreign = obj->foreign;
	memcpy(left->comm, obj->comm, sizeof(left->comm));
}

static void end_tree(struct al_obj *root, const struct doomed *doomed)
{
	struct obj_tally tally = { 0 };
	struct al_obj *obj, *next;

	for (int rank = 0; rank < OBJ_RANKS; rank++)
		for (obj = doomed->of_rank[rank]; obj; obj = obj->reap_next)
			obj_tally(&tally, obj);
	log_left(&tally, root);
	for (int rank = 0; rank < OBJ_RANKS; rank++)
		for (obj = doomed->of_rank[rank]; obj; obj = next) {
			next = obj->reap_next;
			end_object(obj);
		}
	end_object(root);
}

/* ---------------------------------------------------------------- waiting */

/* A text that names the objects for which a destroy waits, cut off at the buffer's size. */
struct obstacles {
	const struct al_obj *root; /* object that is destroyed; only compared, since the object may
				      be freed already */
	uint64_t now;
	char text[512];
	size_t used; /* bytes of text that are written */
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

/*
 * Sleeps until the destroy is complete, and logs every wait_log_seconds which objects the destroy
 * waits for. obj may be freed already: it is only compared.
 */
static void wait_and_log(struct destroy_waiter *waiter, const struct al_obj *obj, const char *name,
			 uint64_t handle)
{
	struct timespec until = wait_log_deadline();

	for (unsigned int waited = wait_log_seconds; !waiter_wait_until(waiter, &until);
	     waited += wait_log_seconds) {
		struct obstacles o = { .root = obj, .now = now_ns() };

		obj_for_each(add_obstacle, &o);
		ib_log(IB_LOG_WARNING, "al",
		       "destroying %s %#llx has waited %u s for calls, callbacks or dependents to end: %s",
		       name, (unsigned long long)handle, waited, o.text);
		until = wait_log_deadline();
	}
}

/* Checks the channel that is to tell of obj's end. The channel may end before obj: destroying obj
 * keeps no reference on the channel, so two openings may tell each other's channels of their ends.
 */
static al_status check_end_channel(const struct al_obj *obj, const void *channel)
{
	struct al_obj *found = obj_get(channel, AL_OBJ_CHANNEL);
	al_status status = AL_SUCCESS;

	if (!found)
		return refuse_handle(channel, AL_OBJ_CHANNEL);
	if (is_below(found, obj))
		status = ib_refuse(
			AL_INVALID_PARAMETER,
			"the channel ends with the %s, so it can not tell of the end; give a channel of another opening",
			obj_name(obj));
	obj_put(found);
	return status;
}

al_status obj_destroy(const void *handle, al_object_type id, al_destroyed_cb cb, void *context)
{
	struct destroy_waiter waiter = { .ops = thread_wait_ops };
	bool sync = cb == AL_DESTROY_SYNC;
	al_status status = AL_SUCCESS;
	struct doomed doomed = { 0 };
	const char *name;
	struct al_obj *obj;

	if (sync && thread_context == CONTEXT_ATOMIC)
		return reason_settle(refuse_context(), "a destroy", NULL);
	obj = obj_get(handle, id);
	if (!obj)
		return reason_settle(refuse_handle(handle, id), "a destroy", NULL);
	name = obj_name(obj);
	if (sync && waiter.ops && waiter.ops->deadlocks(obj)) {
		status = ib_refuse(
			AL_INVALID_CONTEXT,
			"with AL_DESTROY_SYNC the thread would wait for its own callback; pass a callback, or NULL");
		goto out;
	}
	if (cb == AL_DESTROY_CHANNEL)
		status = check_end_channel(obj, context);
	if (status)
		goto out;

	pthread_mutex_lock(&tree_lock);
	if (obj_dying(obj)) {
		status = refuse_dying(obj);
	} else if (is_busy(obj)) {
		status = refuse_busy(obj);
	} else {
		obj->destroyed_cb = sync ? NULL : cb;
		obj->destroyed_context = context;
		obj->waiter = sync ? &waiter : NULL;
		invalidate_tree(obj, &doomed);
	}
	pthread_mutex_unlock(&tree_lock);
	if (status)
		goto out;

	/* Drop this call's reference before the destroy thread gets the object, or the destroy
	 * thread would find the object held and process it twice. The existence reference keeps the
	 * object. */
	obj_put(obj);
	end_tree(obj, &doomed);
	if (!sync)
		return AL_SUCCESS;
	if (waiter.ops)
		waiter.ops->wait(&waiter);
	else
		wait_and_log(&waiter, obj, name, (uint64_t)(uintptr_t)handle);
	return AL_SUCCESS;
out:
	reason_settle(status, "a destroy", obj);
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
	ci_reason.fresh = false;
	*call = (struct al_call){ .obj = obj_get(handle, type) };
	if (!call->obj)
		return refuse_handle(handle, type);
	if (call->obj->dev)
		call->ops = dev_enter(call->obj->dev);
	return AL_SUCCESS;
}

al_status call_begin(struct al_call *call, const void *handle, al_object_type type)
{
	*call = (struct al_call){ 0 };
	if (thread_context == CONTEXT_ATOMIC)
		return refuse_context();
	return call_begin_any(call, handle, type);
}

void call_end(struct al_call *call)
{
	if (call->obj->dev)
		dev_leave(call->obj->dev, call->ops);
	obj_put(call->obj);
}

al_status call_finish(struct al_call *call, al_status status, const char *function)
{
	if (status)
		reason_settle(status, function, call->obj);
	call_end(call);
	return status;
}

void obj_after_fork(void)
{
	pthread_mutex_init(&tree_lock, NULL);
	common_objects = NULL;
	thread_context = CONTEXT_NONE;
	thread_wait_ops = NULL;
}
