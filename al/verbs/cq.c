/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: creating, resizing, moderating and querying them, and the data path: polling
 * and arming. al/event delivers the notifications. */
#include "al/event/channel.h"
#include "al/verbs/verbs.h"

static void destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	ops->destroy_cq(obj->ci);
}

static void release_cq(struct al_obj *obj)
{
	pthread_mutex_destroy(&((struct al_cq *)obj)->data_path_lock);
	pthread_mutex_destroy(&((struct al_cq *)obj)->resize_lock);
}

static const struct obj_type cq_type = {
	.id = AL_OBJ_CQ,
	.size = sizeof(struct al_cq),
	.ci = CI_OBJ_CQ,
	.rank = RANK_CQ,
	.published = evobj_published,
	.invalidated = evobj_invalidated,
	.destroy = destroy,
	.release = release_cq,
};

/* Finds the event queue of the completion queue's notifications: the channel's if init names one,
 * else the event queue of the thread that serves the completion vector. The object holds either.
 * The library's own opening has one queue for all. */
static al_status find_event_queue(struct al_obj *obj, const struct al_cq_init *init,
				  struct ev_queue **queue)
{
	*queue = ((const struct al_instance *)obj->al)->internal_queue;
	if (*queue)
		return AL_SUCCESS;
	if (!init->channel)
		return dev_start_vector(obj->dev, init->comp_vector, queue);
	return channel_use(obj, init->channel, queue);
}

/* Checks a number of entries. AL_LIMIT_EXCEEDED: *cqe becomes the limit, which al_query_ca() tells:
 * of a client of an agent it may be lower than the HCA's own. */
static al_status check_cqe(const struct al_call *call, uint32_t *cqe)
{
	const struct al_call ca = { .obj = obj_ca(call->obj), .ops = call->ops };
	struct ib_ca_attr attr;
	al_status status;

	if (*cqe <= call->obj->dev->attr.max_cqe)
		return AL_SUCCESS;
	status = query_ca_checked(&ca, &attr);
	if (status)
		return status;
	status = ib_refuse(AL_LIMIT_EXCEEDED, "cqe is %u, and the most is %u", *cqe, attr.max_cqe);
	*cqe = attr.max_cqe;
	return status;
}

static al_status create(struct al_call *call, struct al_obj *obj, struct al_cq_init *init,
			al_cq_h *cq)
{
	struct ci_cq_init ci_init = { .cqe = init->cqe,
				      .comp_vector = init->comp_vector,
				      .notify = init->notify };
	struct ci_cq *ci = obj->ci;
	al_status status;

	ci->pd = obj->parent->ci;
	ci->comp_vector = init->comp_vector;
	ci->notify = init->notify;
	IB_TRACE("al", "create_cq of module %s", obj->dev->module);
	status = CALL_MODULE(call, create_cq, ci, &ci_init, acting_for);
	if (status) {
		if (status == AL_LIMIT_EXCEEDED)
			init->cqe = ci_init.cqe;
		return status;
	}
	ci->cqe = ci_init.cqe;
	if (ci_init.cqe < init->cqe)
		status = report_module_error(
			obj->dev,
			"create_cq created a completion queue of %u entries; requested: %u",
			ci_init.cqe, init->cqe);
	else
		status = obj_publish(obj, cq);
	if (status)
		call->ops->destroy_cq(ci);
	else
		init->cqe = ci_init.cqe;
	return status;
}

al_status al_create_cq(al_pd_h pd, struct al_cq_init *init, void *context, al_comp_cb comp_cb,
		       al_event_cb event_cb, al_cq_h *cq)
{
	struct ev_queue *queue;
	struct al_call call;
	struct al_obj *obj;
	al_status status;

	IB_TRACE("al", "al_create_cq");
	if (!init || !cq)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", init ? "cq" : "init");
	if (!init->cqe)
		return REFUSE(AL_INVALID_PARAMETER,
			      "cqe is 0; a completion queue has at least one entry");
	if (!RESERVED_IS_ZERO(init))
		return REFUSE(AL_INVALID_PARAMETER, RESERVED_NOT_ZERO);
	if ((unsigned int)init->notify > AL_CQ_NOTIFY_NEXT)
		return REFUSE(AL_INVALID_PARAMETER, "notify is %u, which is no notification mode",
			      (unsigned int)init->notify);
	if (init->channel && (comp_cb || event_cb))
		return REFUSE(
			AL_INVALID_PARAMETER,
			"a completion queue has a channel or callbacks, and the call gives both");
	status = call_begin(&call, pd, AL_OBJ_PD);
	if (status)
		return SETTLED(status);
	status = check_most(AL_INVALID_PARAMETER, "comp_vector", init->comp_vector,
			    call.obj->dev->attr.num_comp_vectors - 1);
	if (!status)
		status = check_cqe(&call, &init->cqe);
	if (status)
		goto out;
	status = obj_new(&cq_type, call.obj, call.obj->dev, context, &obj);
	if (status)
		goto out;
	pthread_mutex_init(&((struct al_cq *)obj)->data_path_lock, NULL);
	pthread_mutex_init(&((struct al_cq *)obj)->resize_lock, NULL);
	status = find_event_queue(obj, init, &queue);
	if (!status) {
		evobj_init((struct al_evobj *)obj, comp_cb, event_cb, queue);
		status = create(&call, obj, init, cq);
	}
	if (status) {
		release_cq(obj);
		obj_abort(obj);
	}
out:
	return CALL_FINISH(&call, status);
}

static al_status resize(struct al_call *call, uint32_t *cqe)
{
	struct ci_cq *ci = call->obj->ci;
	uint32_t requested = *cqe, granted = requested;
	al_status status = CALL_MODULE(call, resize_cq, ci, &granted, acting_for);

	if (status) {
		if (status == AL_LIMIT_EXCEEDED)
			*cqe = granted;
		return status;
	}
	/* al_arm_cq_n() and al_snapshot() read cqe without a lock */
	__atomic_store_n(&ci->cqe, granted, __ATOMIC_RELAXED);
	if (granted < requested)
		return report_module_error(
			call->obj->dev,
			"resize_cq left the completion queue with %u entries; requested: %u",
			granted, requested);
	*cqe = granted;
	return AL_SUCCESS;
}

al_status al_resize_cq(al_cq_h cq, uint32_t *cqe)
{
	struct al_call call;
	struct al_cq *al_cq;
	al_status status;

	if (!cqe || !*cqe)
		return REFUSE(AL_INVALID_PARAMETER, "cqe is NULL or 0");
	status = call_begin(&call, cq, AL_OBJ_CQ);
	if (status)
		return SETTLED(status);
	status = check_cqe(&call, cqe);
	if (status)
		goto out;
	al_cq = (struct al_cq *)call.obj;
	pthread_mutex_lock(&al_cq->resize_lock);
	status = resize(&call, cqe);
	pthread_mutex_unlock(&al_cq->resize_lock);
out:
	return CALL_FINISH(&call, status);
}

al_status al_modify_cq(al_cq_h cq, uint16_t count, uint16_t period)
{
	struct al_call call;
	al_status status = call_begin(&call, cq, AL_OBJ_CQ);

	if (status)
		return SETTLED(status);
	status = CALL_MODULE(&call, modify_cq, call.obj->ci, count, period);
	return CALL_FINISH(&call, status);
}

al_status al_query_cq(al_cq_h cq, struct al_cq_attr *attr)
{
	struct al_cq_attr found = { 0 };
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	status = call_begin(&call, cq, AL_OBJ_CQ);
	if (status)
		return SETTLED(status);
	status = CALL_MODULE(&call, query_cq, call.obj->ci, &found);
	if (!status)
		*attr = found;
	return CALL_FINISH(&call, status);
}

al_status al_destroy_cq(al_cq_h cq, al_destroyed_cb cb, void *context)
{
	return obj_destroy(cq, AL_OBJ_CQ, cb, context);
}

/* -------------------------------------------------------------- data path */

/* Serialises polls and arms of one completion queue if the module sets CI_SERIALISE_CQ (seed 001,
 * NDKPI completion handling). */
static inline void lock_data_path(const struct al_obj *obj)
{
	if (__builtin_expect(obj->dev->serialise_cq, 0))
		pthread_mutex_lock(&((struct al_cq *)obj)->data_path_lock);
}

static inline void unlock_data_path(const struct al_obj *obj)
{
	if (__builtin_expect(obj->dev->serialise_cq, 0))
		pthread_mutex_unlock(&((struct al_cq *)obj)->data_path_lock);
}

/* Polls of this thread in a row that found nothing. Only the first of a row has its line in the
 * trace, which a program that polls all the time would fill otherwise. */
static _Thread_local uint32_t empty_polls;

static void trace_poll(const struct al_call *call)
{
	if (!empty_polls)
		IB_TRACE("al", "poll_cq: polls module %s for completions of cq %#llx",
			 call->obj->dev->module, (unsigned long long)call->obj->handle);
}

static void trace_polled(al_status status, uint32_t count)
{
	if (!status && !count) {
		empty_polls++;
		return;
	}
	if (empty_polls)
		IB_TRACE("al", "poll_cq: %u polls in a row found nothing", empty_polls);
	empty_polls = 0;
	IB_TRACE("al", "poll_cq returns to the channel driver: %s, %u completions",
		 al_status_str(status), count);
}

/* Polls for the cases that poll_cq() does not handle: the module serialises or may block, the trace
 * is on, or the handle is invalid. */
static __attribute__((cold, noinline)) al_status poll_slow(al_cq_h cq, uint32_t num,
							   struct ib_wc *wc, uint32_t *count)
{
	struct al_call call;
	uint32_t found = 0;
	al_status status = data_begin(&call, cq, AL_OBJ_CQ, CI_MAY_BLOCK(poll_cq));

	if (status)
		return reason_settle(status, "al_poll_cq", NULL);
	trace_poll(&call);
	lock_data_path(call.obj);
	status = CALL_MODULE(&call, poll_cq, call.obj->ci, num, wc, &found);
	unlock_data_path(call.obj);
	if (!status)
		*count = check_count(call.obj->dev, "poll_cq", num, found);
	else
		reason_settle(status, "al_poll_cq", call.obj);
	trace_polled(status, status ? 0 : *count);
	data_end(&call, CI_MAY_BLOCK(poll_cq));
	return status;
}

/* Refuses a call of al_poll_cq() or al_poll_cq_ex() that gives no room for its results. */
static __attribute__((cold, noinline)) al_status refuse_poll(uint32_t num, const struct ib_wc *wc)
{
	ib_refuse(AL_INVALID_PARAMETER, "%s",
		  !num  ? "num is 0, and wc has at least one element"
		  : !wc ? "wc is NULL"
			: "count is NULL, and only *count tells an empty queue");
	return reason_settle(AL_INVALID_PARAMETER, "al_poll_cq", NULL);
}

/* The body of al_poll_cq() and al_poll_cq_ex(). */
static inline __attribute__((always_inline)) al_status poll_cq(al_cq_h cq, uint32_t num,
							       struct ib_wc *wc, uint32_t *count)
{
	struct al_obj *obj;
	uint32_t found = 0;
	al_status status;

	if (__builtin_expect(!num || !wc || !count, 0))
		return refuse_poll(num, wc);
	if (__builtin_expect(ib_trace_on, 0))
		return poll_slow(cq, num, wc, count);
	obj = data_enter(cq, AL_OBJ_CQ, CI_MAY_BLOCK(poll_cq));
	if (__builtin_expect(!obj, 0))
		return poll_slow(cq, num, wc, count);
	if (__builtin_expect(obj->dev->serialise_cq, 0)) {
		rcu_leave();
		return poll_slow(cq, num, wc, count);
	}
	status = dev_ops(obj->dev)->poll_cq(obj->ci, num, wc, &found);
	if (__builtin_expect(status || found > num, 0)) {
		status = check_status(obj->dev, "poll_cq", status);
		if (status)
			reason_settle(status, "al_poll_cq", obj);
		found = status ? 0 : check_count(obj->dev, "poll_cq", num, found);
	}
	rcu_leave();
	if (__builtin_expect(!status, 1))
		*count = found;
	return status;
}

al_status al_poll_cq_ex(al_cq_h cq, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	return poll_cq(cq, num, wc, count);
}

al_status al_poll_cq(al_cq_h cq, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	al_status status = poll_cq(cq, num, wc, count);

	if (__builtin_expect(status != AL_SUCCESS, 0))
		return status;
	/* Only al_poll_cq_ex() reports the key that a completion has invalidated (seed 001). */
	for (uint32_t i = 0; i < *count; i++)
		if (__builtin_expect(wc[i].wc_flags & IB_WC_WITH_INVALIDATE, 0)) {
			wc[i].wc_flags &= ~(uint32_t)IB_WC_WITH_INVALIDATE;
			wc[i].invalidated_rkey = 0;
		}
	return AL_SUCCESS;
}

al_status al_peek_cq(al_cq_h cq, uint32_t max, uint32_t *count)
{
	struct al_call call;
	uint32_t found = 0;
	al_status status;

	if (!count)
		return REFUSE(AL_INVALID_PARAMETER, "count is NULL");
	status = data_begin(&call, cq, AL_OBJ_CQ, CI_MAY_BLOCK(peek_cq));
	if (status)
		return SETTLED(status);
	status = CALL_MODULE(&call, peek_cq, call.obj->ci, max, &found);
	if (!status)
		*count = check_count(call.obj->dev, "peek_cq", max, found);
	else
		reason_settle(status, __func__, call.obj);
	data_end(&call, CI_MAY_BLOCK(peek_cq));
	return status;
}

al_status al_arm_cq(al_cq_h cq, al_arm type, bool *present)
{
	struct al_call call;
	bool found = false;
	al_status status;

	if (type != AL_ARM_ERRORS && type != AL_ARM_SOLICITED && type != AL_ARM_ANY)
		return REFUSE(AL_INVALID_PARAMETER, "type is %u, which is no arm type",
			      (unsigned int)type);
	status = data_begin(&call, cq, AL_OBJ_CQ, CI_MAY_BLOCK(arm_cq));
	if (status)
		return SETTLED(status);
	lock_data_path(call.obj);
	status = CALL_MODULE(&call, arm_cq, call.obj->ci, type, &found);
	unlock_data_path(call.obj);
	if (status)
		reason_settle(status, __func__, call.obj);
	data_end(&call, CI_MAY_BLOCK(arm_cq));
	if (!status && present)
		*present = found;
	return status;
}

al_status al_arm_cq_n(al_cq_h cq, uint32_t num)
{
	struct al_call call;
	uint32_t cqe;
	al_status status = data_begin(&call, cq, AL_OBJ_CQ, CI_MAY_BLOCK(arm_cq_n));

	if (status)
		return SETTLED(status);
	cqe = __atomic_load_n(&((struct ci_cq *)call.obj->ci)->cqe, __ATOMIC_RELAXED);
	if (num && num <= cqe) {
		lock_data_path(call.obj);
		status = CALL_MODULE(&call, arm_cq_n, call.obj->ci, num);
		unlock_data_path(call.obj);
	} else {
		status = ib_refuse(
			AL_INVALID_PARAMETER,
			"num is %u, and the completion queue has 1 to %u entries to count", num,
			cqe);
	}
	if (status)
		reason_settle(status, __func__, call.obj);
	data_end(&call, CI_MAY_BLOCK(arm_cq_n));
	return status;
}
