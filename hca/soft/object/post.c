/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Post operations: work requests become elements of a queue pair's own queues. A client's requests come by rings
 * instead (client/ring_qp.c).
 */
#include <string.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/shared/wr.h"
#include "hca/soft/transport/qp.h"

/* Refuses a post for the queue pair's state, or since its requests come by rings. */
static al_status refuse_post(const struct soft_qp *qp, const char *queue)
{
	if (qp->shared)
		return ib_refuse(
			AL_INVALID_STATE,
			"the queue pair has rings, by which its program posts without a command");
	return wr_refuse_state(queue, atomic_load_explicit(&qp->state, memory_order_relaxed));
}

void qp_accept_send(const struct soft_qp *qp, struct send_wqe *wqe)
{
	if (qp->ci.sq_sig_all)
		wqe->wr.flags |= IB_SEND_SIGNALED;
	IB_TRACE("soft", "post_send: WQE built qp=%#x wr_id=%#llx %s %u bytes", qp->ci.qp_num,
		 (unsigned long long)wqe->wr.wr_id, wr_ops[wqe->wr.opcode].name, wqe->wr.length);
}

/* Writes a request into the element at `index`, if the send queue has room. The caller holds the send queue's lock. */
static al_status add_send(struct soft_qp *qp, const struct ib_send_wr *wr, uint32_t index)
{
	struct send_wqe *wqe = sq_at(&qp->sq, index);
	struct ib_flat_path path;
	uint32_t length;
	al_status status;

	if (UNLIKELY(!sq_has_room(&qp->sq, index, qp->ci.cap.max_send_wr)))
		return wr_refuse_full("send", qp->ci.cap.max_send_wr);
	status = wr_check_send(&qp->ci, wr, &length);
	if (!status && is_ud(qp))
		status = ud_find_path(qp, wr, &path);
	if (UNLIKELY(status))
		return status;
	ib_flat_pack_send(&wqe->wr, wr, length, is_ud(qp) ? IB_QPT_UD : qp->ci.qp_type, &path);
	if (UNLIKELY(qp->ci.qp_type == IB_QPT_GSI))
		wqe->wr.ex = wr->wr.ud.pkey_index; /* requests of QP1 have no immediate data */
	if (UNLIKELY(qp->ci.qp_type == IB_QPT_SMI))
		wqe->wr.ex = wr->wr.ud.port_num; /* nor have requests of QP0 */
	ib_flat_pack_tail(&wqe->wr, wqe->sge, wr);
	qp_accept_send(qp, wqe);
	return AL_SUCCESS;
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
	first = atomic_load_explicit(&qp->sq.prod, memory_order_relaxed);
	prod = first;
	/* a queue pair with rings accepts sends from its rings only */
	if (UNLIKELY(atomic_load_explicit(&qp->state, memory_order_relaxed) < IB_QPS_RTS ||
		     qp->shared))
		status = refuse_post(qp, "send");
	for (; !status && wr; wr = wr->next) {
		status = add_send(qp, wr, prod);
		if (UNLIKELY(status))
			break;
		prod++;
	}
	/* release: pairs with the acquire in start_element() of req.c: the elements are written */
	atomic_store_explicit(&qp->sq.prod, prod, memory_order_release);
	fmutex_unlock(&qp->sq.lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (prod != first)
		qp_sends_added(qp);
	return status;
}

void qp_accept_recv(const struct soft_qp *qp, const struct recv_wqe *wqe)
{
	IB_TRACE("soft", "post_recv: WQE built qp=%#x wr_id=%#llx %u bytes", qp->ci.qp_num,
		 (unsigned long long)wqe->wr.wr_id, wqe->wr.length);
}

/*
 * Writes a request into the element at `index`, if the receive queue has room. The caller holds the receive queue's
 * lock.
 */
static al_status add_recv(struct soft_qp *qp, const struct ib_recv_wr *wr, uint32_t index)
{
	struct recv_wqe *wqe = rq_at(&qp->rq, index);
	uint32_t length;
	al_status status;

	if (UNLIKELY(!rq_has_room(&qp->rq, index, qp->ci.cap.max_recv_wr)))
		return wr_refuse_full("receive", qp->ci.cap.max_recv_wr);
	status = wr_check_recv(&qp->ci, wr, &length);
	if (UNLIKELY(status))
		return status;
	ib_flat_pack_recv(&wqe->wr, wqe->sge, wr, length);
	qp_accept_recv(qp, wqe);
	return AL_SUCCESS;
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
		status = refuse_post(qp, "receive");
	for (; !status && wr; wr = wr->next) {
		status = add_recv(qp, wr, prod);
		if (UNLIKELY(status))
			break;
		prod++;
	}
	/* release: pairs with the acquire in rq_take(): the elements are written */
	atomic_store_explicit(&qp->rq.prod, prod, memory_order_release);
	failed = atomic_load_explicit(&qp->state, memory_order_relaxed) == IB_QPS_ERR;
	fmutex_unlock(&qp->rq.lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (LIKELY(!failed))
		return status;
	/* in Error the owner flushes the receive at once; in other states a receive waits for a message */
	runner_start(&r);
	actor_kick(&r, qp->actor);
	runner_run(&r);
	return status;
}
