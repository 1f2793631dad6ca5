/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: posting into their rings. What a request must be is hca/soft/shared/wr.h's, as in the
 * module; how a request lies in a ring is iba/ib_flat_wr.h's. */
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/opcode.h"
#include "hca/soft/shared/ring.h"
#include "hca/soft/shared/wr.h"
#include "uvp/soft/provider.h"

/* -------------------------------------------------------------- create, destroy */

al_status pre_create_qp(struct ci_qp *base, struct ci_qp_init *init, struct uvp_call *call)
{
	struct provider_qp *qp = (struct provider_qp *)base;
	struct ring_make said = { .context = (uintptr_t)base->owner_context };

	qp->layout = ring_layout(&init->cap);
	said.bytes = qp->layout.bytes;
	call->out_room = sizeof(struct ring_made);
	return share(&qp->file, said.bytes, call, &said, sizeof(said));
}

/* The file was made for what was asked; what the agent answers may not be more. */
static bool has_room(const struct ring_layout *at, const struct ib_qp_cap *cap)
{
	size_t send = at->sq_stride - sizeof(struct ib_flat_send);
	size_t recv = at->rq_stride - sizeof(struct ib_flat_recv);

	return cap->max_send_wr <= at->sq_mask + 1 && cap->max_recv_wr <= at->rq_mask + 1 &&
	       cap->max_send_sge <= send / sizeof(struct ib_sge) && cap->max_inline_data <= send &&
	       cap->max_recv_sge <= recv / sizeof(struct ib_sge);
}

al_status post_create_qp(struct ci_qp *base, struct ci_qp_init *init, al_status status,
			 struct uvp_call *call)
{
	struct provider_qp *qp = (struct provider_qp *)base;
	const struct ring_made *heard = call->out;
	al_status kept = AL_SUCCESS;

	if (!status && (!heard || call->out_len != sizeof(*heard) || heard->bell >= RING_BELLS ||
			!has_room(&qp->layout, &init->cap)))
		kept = AL_MODULE_ABI;
	else if (!status)
		qp->bell = heard->bell;
	share_crossed(&qp->file, status ? status : kept);
	return kept;
}

static void clean(const struct ci_qp *base)
{
	cq_clean(base->send_cq, base->qp_num);
	if (base->recv_cq != base->send_cq)
		cq_clean(base->recv_cq, base->qp_num);
}

void post_destroy_qp(struct ci_qp *base, struct uvp_call *call)
{
	(void)call;
	clean(base);
	share_end(&((struct provider_qp *)base)->file);
}

/* The module has emptied its side; it takes nothing while the queue pair is in Reset. */
static void reset(struct provider_qp *qp)
{
	qp->sq_prod = qp->sq_cons = qp->rq_prod = qp->rq_cons = 0;
	qp->port_num = 0;
	atomic_store_explicit(&qp_map(qp)->sq_prod, 0, memory_order_relaxed);
	atomic_store_explicit(&qp_map(qp)->rq_prod, 0, memory_order_relaxed);
}

void post_modify_qp(struct ci_qp *base, const struct ib_qp_attr *attr, uint32_t mask,
		    al_status status, struct uvp_call *call)
{
	struct provider_qp *qp = (struct provider_qp *)base;
	bool emptied = mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET;

	(void)call;
	if (status)
		return;
	fmutex_lock(&qp->sq_lock);
	fmutex_lock(&qp->rq_lock);
	if (emptied)
		reset(qp);
	if (mask & IB_QP_PORT)
		qp->port_num = attr->port_num;
	fmutex_unlock(&qp->rq_lock);
	fmutex_unlock(&qp->sq_lock);
	if (emptied)
		clean(base);
}

/* ------------------------------------------------------------------------ sends */

static uint32_t state(const struct provider_qp *qp)
{
	return atomic_load_explicit(&qp_map(qp)->state, memory_order_relaxed);
}

static bool sq_full(struct provider_qp *qp)
{
	if (LIKELY(qp->sq_prod - qp->sq_cons < qp->qp.cap.max_send_wr))
		return false;
	/* acquire: pairs with the release in ring_retired(); the module has done with the slot */
	qp->sq_cons = atomic_load_explicit(&qp_map(qp)->sq_cons, memory_order_acquire);
	return qp->sq_prod - qp->sq_cons >= qp->qp.cap.max_send_wr;
}

/* The path of a datagram, as the address handle has it at the time of the post. */
static al_status get_path(const struct provider_qp *qp, const struct ib_send_wr *wr,
			  struct ib_flat_path *path)
{
	struct provider_ah *ah = (struct provider_ah *)ci_wr_ah(&qp->qp, wr->wr.ud.ah);

	if (UNLIKELY(!ah))
		return wr_refuse_ah();
	fmutex_lock(&ah->lock);
	*path = ah->path;
	fmutex_unlock(&ah->lock);
	return wr_check_datagram(&qp->qp, qp->port_num, ah->ah.pd, path->port_num,
				 wr->wr.ud.remote_qpn);
}

static al_status put_send(struct provider_qp *qp, const struct ib_send_wr *wr)
{
	struct ib_flat_send *to =
		(struct ib_flat_send *)((char *)qp->file.mem + qp->layout.sq +
					(size_t)(qp->sq_prod & qp->layout.sq_mask) *
						qp->layout.sq_stride);
	struct ib_flat_path path;
	al_status status;
	uint32_t length;

	if (UNLIKELY(sq_full(qp)))
		return wr_refuse_full("send", qp->qp.cap.max_send_wr);
	status = wr_check_send(&qp->qp, wr, &length);
	if (!status && ib_flat_has_path(qp->qp.qp_type, wr->opcode))
		status = get_path(qp, wr, &path);
	if (UNLIKELY(status))
		return status;
	ib_flat_pack_send(to, wr, length, qp->qp.qp_type, &path);
	ib_flat_pack_tail(to, ib_flat_tail(to), wr);
	IB_TRACE("soft", "post_send: written into the ring, wr_id=%#llx %s %u bytes",
		 (unsigned long long)wr->wr_id, wr_ops[wr->opcode].name, length);
	return AL_SUCCESS;
}

al_status provider_post_send(struct ci_qp *base, const struct ib_send_wr *wr,
			     const struct ib_send_wr **bad)
{
	struct provider_qp *qp = (struct provider_qp *)base;
	al_status status = AL_SUCCESS;
	uint32_t first;

	fmutex_lock(&qp->sq_lock);
	first = qp->sq_prod;
	if (UNLIKELY(state(qp) < IB_QPS_RTS))
		status = wr_refuse_state("send", (ib_qp_state)state(qp));
	for (; !status && wr; wr = wr->next) {
		status = put_send(qp, wr);
		if (UNLIKELY(status))
			break;
		qp->sq_prod++;
	}
	first ^= qp->sq_prod;
	/* release: pairs with the acquire in ring_take_sends() */
	if (first)
		atomic_store_explicit(&qp_map(qp)->sq_prod, qp->sq_prod, memory_order_release);
	fmutex_unlock(&qp->sq_lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (first)
		door_ring((const struct provider_ca *)base->pd->ca, qp->bell);
	return status;
}

/* --------------------------------------------------------------------- receives */

static bool rq_full(struct provider_qp *qp)
{
	if (LIKELY(qp->rq_prod - qp->rq_cons < qp->qp.cap.max_recv_wr))
		return false;
	/* acquire: pairs with the release in ring_received() */
	qp->rq_cons = atomic_load_explicit(&qp_map(qp)->rq_cons, memory_order_acquire);
	return qp->rq_prod - qp->rq_cons >= qp->qp.cap.max_recv_wr;
}

static al_status put_recv(struct provider_qp *qp, const struct ib_recv_wr *wr)
{
	struct ib_flat_recv *to =
		(struct ib_flat_recv *)((char *)qp->file.mem + qp->layout.rq +
					(size_t)(qp->rq_prod & qp->layout.rq_mask) *
						qp->layout.rq_stride);
	al_status status;
	uint32_t length;

	if (UNLIKELY(rq_full(qp)))
		return wr_refuse_full("receive", qp->qp.cap.max_recv_wr);
	status = wr_check_recv(&qp->qp, wr, &length);
	if (UNLIKELY(status))
		return status;
	ib_flat_pack_recv(to, ib_flat_recv_list(to), wr, length);
	IB_TRACE("soft", "post_recv: written into the ring, wr_id=%#llx %u bytes",
		 (unsigned long long)wr->wr_id, length);
	return AL_SUCCESS;
}

al_status provider_post_recv(struct ci_qp *base, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad)
{
	struct provider_qp *qp = (struct provider_qp *)base;
	al_status status = AL_SUCCESS;
	bool failed;

	fmutex_lock(&qp->rq_lock);
	if (UNLIKELY(state(qp) == IB_QPS_RESET))
		status = wr_refuse_state("receive", IB_QPS_RESET);
	for (; !status && wr; wr = wr->next) {
		status = put_recv(qp, wr);
		if (UNLIKELY(status))
			break;
		qp->rq_prod++;
	}
	/* Release: the slots are filled. In total order with the look at the state, as ring_state()
	 * and ring_fill() are: either the module, which goes to the Error state, finds these
	 * receives, or we find the state. */
	atomic_store(&qp_map(qp)->rq_prod, qp->rq_prod);
	failed = atomic_load(&qp_map(qp)->state) == IB_QPS_ERR;
	fmutex_unlock(&qp->rq_lock);
	if (UNLIKELY(status))
		*bad = wr;
	if (UNLIKELY(failed))
		door_ring((const struct provider_ca *)base->pd->ca, qp->bell);
	return status;
}
