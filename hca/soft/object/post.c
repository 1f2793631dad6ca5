/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Posting: work requests become elements of a queue pair's own queues. */
#include <string.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/shared/wr.h"
#include "hca/soft/transport/qp.h"

static void copy_inline(struct send_wqe *wqe, const struct ib_send_wr *wr)
{
	char *to = (char *)wqe->sge;
	uint32_t i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length)
			memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr,
			       wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

static al_status build_send(struct soft_qp *qp, const struct ib_send_wr *wr, struct send_wqe *wqe)
{
	const struct wr_op *op;
	uint32_t length;
	al_status status = wr_check_send(&qp->ci, wr, &length);

	if (UNLIKELY(status))
		return status;
	op = &wr_ops[wr->opcode];
	wqe->wr_id = wr->wr_id;
	wqe->ex = wr->ex.imm_data;
	wqe->length = length;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)(wr->send_flags | (qp->ci.sq_sig_all ? IB_SEND_SIGNALED : 0));
	wqe->num_sge = (uint8_t)wr->num_sge;
	wqe->status = IB_WC_SUCCESS;
	wqe->refs = 0;
	wqe->answered = false;
	if (op->flags & WR_ATOMIC) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
	} else if (op->flags & WR_REMOTE) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	} else if (is_ud(qp)) {
		status = ud_post(qp, wr, wqe);
		if (UNLIKELY(status))
			return status;
	}
	if (wr->send_flags & IB_SEND_INLINE)
		copy_inline(wqe, wr);
	else
		for (uint32_t i = 0; i < wr->num_sge; i++)
			wqe->sge[i] = wr->sg_list[i];
	IB_TRACE("soft", "post_send: WQE built qp=%#x wr_id=%#llx %s %u bytes", qp->ci.qp_num,
		 (unsigned long long)wr->wr_id, op->name, length);
	return AL_SUCCESS;
}

al_status qp_add_send(struct soft_qp *qp, const struct ib_send_wr *wr, uint32_t index)
{
	/* acquire: pairs with the release in comp.c; the slot is no longer read */
	if (UNLIKELY(index - atomic_load_explicit(&qp->sq.cons, memory_order_acquire) >=
		     qp->ci.cap.max_send_wr))
		return AL_QUEUE_FULL;
	return build_send(qp, wr, sq_at(&qp->sq, index));
}

void qp_sends_added(struct soft_qp *qp)
{
	struct runner r;

	IB_TRACE("soft", "post_send: doorbell qp=%#x", qp->ci.qp_num);
	runner_start(&r);
	if (!qp_shortcut(&r, qp))
		actor_kick(&r, qp->actor);
	runner_run(&r);
}

al_status soft_post_send(struct ci_qp *ci, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad)
{
	struct soft_qp *qp = soft_qp(ci);
	al_status status = AL_SUCCESS;
	uint32_t first, prod;

	fmutex_lock(&qp->sq.lock);
	first = prod = atomic_load_explicit(&qp->sq.prod, memory_order_relaxed);
	/* those of a client with rings come from there only */
	if (UNLIKELY(atomic_load_explicit(&qp->state, memory_order_relaxed) < IB_QPS_RTS ||
		     qp->shared))
		status = AL_INVALID_STATE;
	for (; !status && wr; wr = wr->next) {
		status = qp_add_send(qp, wr, prod);
		if (UNLIKELY(status))
			break;
		prod++;
	}
	/* release: pairs with the acquire in req.c */
	atomic_store_explicit(&qp->sq.prod, prod, memory_order_release);
	fmutex_unlock(&qp->sq.lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (prod != first)
		qp_sends_added(qp);
	return status;
}

static al_status build_recv(const struct soft_qp *qp, const struct ib_recv_wr *wr,
			    struct recv_wqe *wqe)
{
	uint32_t length;
	al_status status = wr_check_recv(&qp->ci, wr, &length);

	if (UNLIKELY(status))
		return status;
	wqe->wr_id = wr->wr_id;
	wqe->length = length;
	wqe->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	IB_TRACE("soft", "post_recv: WQE built qp=%#x wr_id=%#llx %u bytes", qp->ci.qp_num,
		 (unsigned long long)wr->wr_id, wqe->length);
	return AL_SUCCESS;
}

al_status qp_add_recv(struct soft_qp *qp, const struct ib_recv_wr *wr, uint32_t index)
{
	/* acquire: pairs with the release in qp_complete_recv(); the slot is no longer read */
	if (UNLIKELY(index - atomic_load_explicit(&qp->rq.cons, memory_order_acquire) >=
		     qp->ci.cap.max_recv_wr))
		return AL_QUEUE_FULL;
	return build_recv(qp, wr, rq_at(&qp->rq, index));
}

al_status soft_post_recv(struct ci_qp *ci, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	struct soft_qp *qp = soft_qp(ci);
	al_status status = AL_SUCCESS;
	struct runner r;
	uint32_t prod;
	bool failed;

	fmutex_lock(&qp->rq.lock);
	prod = atomic_load_explicit(&qp->rq.prod, memory_order_relaxed);
	if (UNLIKELY(atomic_load_explicit(&qp->state, memory_order_relaxed) == IB_QPS_RESET ||
		     qp->shared))
		status = AL_INVALID_STATE;
	for (; !status && wr; wr = wr->next) {
		status = qp_add_recv(qp, wr, prod);
		if (UNLIKELY(status))
			break;
		prod++;
	}
	/* release: pairs with the acquire in resp.c */
	atomic_store_explicit(&qp->rq.prod, prod, memory_order_release);
	failed = atomic_load_explicit(&qp->state, memory_order_relaxed) == IB_QPS_ERR;
	fmutex_unlock(&qp->rq.lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (LIKELY(!failed))
		return status;
	/* flushed at once; otherwise a receive is looked at when a message comes */
	runner_start(&r);
	actor_kick(&r, qp->actor);
	runner_run(&r);
	return status;
}
