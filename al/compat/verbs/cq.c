/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues. */
#include <stdlib.h>

#include "al/compat/verbs/verbs.h"

/* Programs ask for fewer entries than the requests that they have outstanding, since adapters round the number up. */
#define LEAST_ENTRIES 16

static void free_cq(struct cq *cq)
{
	pthread_mutex_destroy(&cq->ex.base.mutex);
	pthread_cond_destroy(&cq->ex.base.cond);
	pthread_mutex_destroy(&cq->poll_lock);
	free(cq);
}

static struct cq *new_cq(struct context *context, const struct ibv_cq_init_attr_ex *init)
{
	struct cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	cq->ex.base.context = &context->verbs.context;
	cq->ex.base.channel = init->channel;
	cq->ex.base.cq_context = init->cq_context;
	pthread_mutex_init(&cq->ex.base.mutex, NULL);
	pthread_cond_init(&cq->ex.base.cond, NULL);
	pthread_mutex_init(&cq->poll_lock, NULL);
	cq->cookie = objects_add(&context->objects, cq);
	if (cq->cookie)
		return cq;
	free_cq(cq);
	return NULL;
}

struct cq *cq_create(struct context *context, const struct ibv_cq_init_attr_ex *init)
{
	struct al_cq_init al = { .cqe = init->cqe,
				 .comp_vector = init->comp_vector,
				 .notify = AL_CQ_NOTIFY_NEXT };
	struct cq *cq;

	if (!init->cqe || (init->channel && init->channel->context != &context->verbs.context)) {
		errno = EINVAL;
		return NULL;
	}
	if (al.cqe < LEAST_ENTRIES)
		al.cqe = LEAST_ENTRIES;
	if (init->channel)
		al.channel = verbs_of(init->channel, struct channel, ibv)->al;
	cq = new_cq(context, init);
	if (!cq) {
		errno = ENOMEM;
		return NULL;
	}
	if (verbs_result(al_create_cq(context->pd, &al, cq->cookie, NULL, NULL, &cq->al))) {
		objects_remove(&context->objects, cq->cookie);
		free_cq(cq);
		return NULL;
	}
	cq->ex.base.cqe = (int)al.cqe;
	context_ref(&context->verbs.context);
	return cq;
}

LATEST(struct ibv_cq *, ibv_create_cq)(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	const struct ibv_cq_init_attr_ex init = { .cqe = cqe < 0 ? 0 : (uint32_t)cqe,
						  .cq_context = cq_context,
						  .channel = channel,
						  .comp_vector = (uint32_t)comp_vector };
	struct cq *cq = cq_create(context_of(context), &init);

	return cq ? &cq->ex.base : NULL;
}

LATEST(int, ibv_resize_cq)(struct ibv_cq *cq, int cqe)
{
	uint32_t granted = cqe < LEAST_ENTRIES ? LEAST_ENTRIES : (uint32_t)cqe;
	int error;

	if (cqe <= 0)
		return verbs_fail(EINVAL);
	error = verbs_result(al_resize_cq(cq_of(cq)->al, &granted));
	if (!error)
		cq->cqe = (int)granted;
	return error;
}

/* Waits until the program has acknowledged every event of the queue that it has got. */
LATEST(int, ibv_destroy_cq)(struct ibv_cq *ibv)
{
	struct cq *cq = cq_of(ibv);
	struct context *context = context_of(ibv->context);
	const al_status status = al_destroy_cq(cq->al, AL_DESTROY_SYNC, NULL);

	if (status == AL_RESOURCE_BUSY)
		return verbs_result(status);
	objects_remove(&context->objects, cq->cookie);
	event_wait_acked(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, cq->comp_reported);
	event_wait_acked(&ibv->mutex, &ibv->cond, &ibv->async_events_completed, cq->async_reported);
	free_cq(cq);
	context_put(&context->verbs.context);
	return 0;
}

int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return verbs_result(
		al_arm_cq(cq_of(cq)->al, solicited_only ? AL_ARM_SOLICITED : AL_ARM_ANY, NULL));
}

int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	if (!attr || attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return verbs_fail(EINVAL);
	if (!attr->attr_mask)
		return 0;
	return verbs_result(
		al_modify_cq(cq_of(cq)->al, attr->moderate.cq_count, attr->moderate.cq_period));
}
