/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operations of completion queues: checks of arguments, and the memory of entries. The queue itself is in queue/cq.c.
 */
#include <sys/mman.h>

#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/ring.h"

static al_status refuse_shared(void)
{
	return ib_refuse(
		AL_INVALID_STATE,
		"the completion queue has a ring, which its program polls without a command");
}

al_status soft_arm_cq(struct ci_cq *ci, al_arm type, bool *present)
{
	struct soft_cq *cq = soft_cq(ci);

	if (type != AL_ARM_ERRORS && type != AL_ARM_SOLICITED && type != AL_ARM_ANY)
		return AL_INVALID_PARAMETER;
	return cq->shared ? refuse_shared() : cq_arm(cq, type, present);
}

al_status soft_arm_cq_n(struct ci_cq *ci, uint32_t num)
{
	struct soft_cq *cq = soft_cq(ci);

	return cq->shared ? refuse_shared() : cq_arm_n(cq, num);
}

al_status soft_poll_cq(struct ci_cq *ci, uint32_t num, struct ib_wc *wc, uint32_t *count)
{
	struct soft_cq *cq = soft_cq(ci);

	return UNLIKELY(cq->shared) ? refuse_shared() : cq_poll(cq, num, wc, count);
}

al_status soft_peek_cq(struct ci_cq *ci, uint32_t max, uint32_t *count)
{
	struct soft_cq *cq = soft_cq(ci);
	uint32_t n;

	if (cq->shared)
		return refuse_shared();
	n = cq_peek(cq);
	*count = n < max ? n : max;
	return AL_SUCCESS;
}

/* Allocates the entries of a queue whose entries no client shares. */
static al_status alloc_entries(struct soft_hca *hca, uint32_t size, struct ib_wc **ring)
{
	*ring = alloc_fails(&hca->alloc) ? NULL : al_alloc_aligned(64, ring_wc_bytes(size));
	return *ring ? AL_SUCCESS : AL_INSUFFICIENT_MEMORY;
}

/* Frees entries that alloc_entries() has allocated or ring_cq_map() has mapped. */
static void free_entries(const struct soft_cq *cq, struct ib_wc *ring, uint32_t size)
{
	if (cq->shared)
		munmap(ring, ring_wc_bytes(size));
	else
		al_free(ring);
}

al_status soft_create_cq(struct ci_cq *ci, struct ci_cq_init *init, struct ci_udata *udata)
{
	struct soft_hca *hca = pd_hca(ci->pd);
	struct soft_cq *cq = soft_cq(ci);
	al_status status;

	if (init->cqe > hca->attr.max_cqe) {
		status = ib_refuse(AL_LIMIT_EXCEEDED, "cqe is %u, and the most is %u", init->cqe,
				   hca->attr.max_cqe);
		init->cqe = hca->attr.max_cqe;
		return status;
	}
	init->cqe = ring_cqe(init->cqe);
	ci->comp_vector = init->comp_vector;
	ci->notify = init->notify;
	cq_init(cq, hca->engine, init->cqe,
		atomic_fetch_add_explicit(&hca->cqs_made, 1, memory_order_relaxed));
	if (rings_asked(udata))
		return ring_cq_create(cq, udata);
	cq->mask = ring_cq_slots(cq->size) - 1;
	return alloc_entries(hca, cq->size, &cq->ring);
}

void soft_destroy_cq(struct ci_cq *ci)
{
	struct soft_cq *cq = soft_cq(ci);

	timer_end(&cq->engine->timers, &cq->timer);
	free_entries(cq, cq->ring, cq->size);
	if (cq->shared)
		ring_cq_destroy(cq);
}

al_status soft_resize_cq(struct ci_cq *ci, uint32_t *cqe, struct ci_udata *udata)
{
	struct soft_hca *hca = pd_hca(ci->pd);
	struct soft_cq *cq = soft_cq(ci);
	uint32_t size = ring_cqe(*cqe), unused = size;
	struct ib_wc *ring;
	al_status status;

	if (*cqe > hca->attr.max_cqe) {
		status = ib_refuse(AL_LIMIT_EXCEEDED, "cqe is %u, and the most is %u", *cqe,
				   hca->attr.max_cqe);
		*cqe = hca->attr.max_cqe;
		return status;
	}
	if ((cq->shared != NULL) != rings_asked(udata))
		return AL_INVALID_PARAMETER;
	status = cq->shared ? ring_cq_map(udata, size, &ring) : alloc_entries(hca, size, &ring);
	if (status)
		return status;
	status = cq_resize(cq, *cqe, &unused, &ring);
	free_entries(cq, ring, unused);
	if (!status)
		*cqe = size;
	return status;
}

al_status soft_modify_cq(struct ci_cq *ci, uint16_t count, uint16_t period)
{
	return cq_modify(soft_cq(ci), count, period);
}

al_status soft_query_cq(struct ci_cq *ci, struct al_cq_attr *attr)
{
	*attr = (struct al_cq_attr){
		.comp_vector = ci->comp_vector,
		.notify = ci->notify,
	};
	cq_query(soft_cq(ci), attr);
	return AL_SUCCESS;
}
