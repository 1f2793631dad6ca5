/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs. */
#include <stdlib.h>
#include <string.h>

#include "al/compat/verbs/verbs.h"

/* ------------------------------------------------------------------- creation */

/* Queue pairs of the other types need what no HCA of ibal has yet. */
static ib_qp_type type_to_al(unsigned int type)
{
	switch (type) {
	case IBV_QPT_RC:
		return IB_QPT_RC;
	case IBV_QPT_UC:
		return IB_QPT_UC;
	case IBV_QPT_UD:
		return IB_QPT_UD;
	default:
		return IB_QPT_NONE;
	}
}

static struct ib_qp_cap cap_to_al(const struct ibv_qp_cap *cap)
{
	return (struct ib_qp_cap){ cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
				   cap->max_recv_sge, cap->max_inline_data };
}

static struct ibv_qp_cap cap_from_al(const struct ib_qp_cap *cap)
{
	return (struct ibv_qp_cap){ cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
				    cap->max_recv_sge, cap->max_inline_data };
}

static void free_qp(struct qp *qp)
{
	builder_free(qp->builder);
	pthread_mutex_destroy(&qp->ex.qp_base.mutex);
	pthread_cond_destroy(&qp->ex.qp_base.cond);
	free(qp);
}

static struct qp *new_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct qp *qp = calloc(1, sizeof(*qp));
	struct ibv_qp *ibv;

	if (!qp)
		return NULL;
	ibv = &qp->ex.qp_base;
	ibv->context = pd->context;
	ibv->qp_context = init->qp_context;
	ibv->pd = pd;
	ibv->send_cq = init->send_cq;
	ibv->recv_cq = init->recv_cq;
	ibv->qp_type = init->qp_type;
	ibv->state = IB_QPS_RESET;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	qp->cookie = objects_add(&context_of(pd->context)->objects, qp);
	if (qp->cookie)
		return qp;
	free_qp(qp);
	return NULL;
}

/* 0, or why the attributes cannot be those of a queue pair. */
static int check(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init, uint32_t create_flags)
{
	if (init->srq || type_to_al(init->qp_type) == IB_QPT_NONE ||
	    create_flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
		return EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq || init->send_cq->context != pd->context ||
	    init->recv_cq->context != pd->context)
		return EINVAL;
	return 0;
}

struct qp *qp_create(struct ibv_pd *pd, const struct ibv_qp_init_attr *init,
		     struct ibv_qp_cap *granted, uint32_t create_flags)
{
	struct context *context = context_of(pd->context);
	struct al_qp_init al = {
		.qp_type = type_to_al(init->qp_type),
		.sq_sig_all = init->sq_sig_all,
		.block_mcast_loopback = create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
		.cap = cap_to_al(&init->cap),
	};
	struct qp *qp;

	errno = check(pd, init, create_flags);
	if (errno)
		return NULL;
	al.send_cq = cq_of(init->send_cq)->al;
	al.recv_cq = cq_of(init->recv_cq)->al;
	qp = new_qp(pd, init);
	if (!qp) {
		errno = ENOMEM;
		return NULL;
	}
	if (verbs_result(al_create_qp(pd_of(pd)->al, &al, qp->cookie, NULL, &qp->al))) {
		objects_remove(&context->objects, qp->cookie);
		free_qp(qp);
		return NULL;
	}
	al_qp_num(qp->al, &qp->ex.qp_base.qp_num);
	*granted = cap_from_al(&al.cap);
	context_ref(pd->context);
	return qp;
}

LATEST(struct ibv_qp *, ibv_create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct qp *qp = qp_create(pd, init, &init->cap, 0);

	return qp ? &qp->ex.qp_base : NULL;
}

/* Drops completions of the queue pair that extended polling has taken out of its queue. */
static void drop_completions(struct ibv_cq *ibv, uint32_t qp_num)
{
	struct cq *cq = cq_of(ibv);
	uint32_t kept;

	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->poll_lock);
	kept = cq->next_wc;
	for (uint32_t i = cq->next_wc; i < cq->num_wc; i++)
		if (cq->wc[i].qp_num != qp_num)
			cq->wc[kept++] = cq->wc[i];
	cq->num_wc = kept;
	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
}

/* Waits until the program has acknowledged every event of the queue pair that it has got. */
LATEST(int, ibv_destroy_qp)(struct ibv_qp *ibv)
{
	struct qp *qp = qp_of(ibv);
	struct context *context = context_of(ibv->context);
	const al_status status = al_destroy_qp(qp->al, AL_DESTROY_SYNC, NULL);

	if (status == AL_RESOURCE_BUSY)
		return verbs_result(status);
	objects_remove(&context->objects, qp->cookie);
	drop_completions(ibv->send_cq, ibv->qp_num);
	drop_completions(ibv->recv_cq, ibv->qp_num);
	event_wait_acked(&ibv->mutex, &ibv->cond, &ibv->events_completed, qp->reported);
	free_qp(qp);
	context_put(&context->verbs.context);
	return 0;
}

/* ----------------------------------------------------------------- attributes */

/* The bits of a mask are those of enum ib_qp_attr_mask. */
#define KNOWN_MASK ((1 << 21) - 1)
_Static_assert((int)IB_QP_DEST_QPN == 1 << 20 && (int)IB_QP_STATE == (int)IBV_QP_STATE,
	       "masks have the same bits");

LATEST(int, ibv_modify_qp)(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct ib_qp_attr al = {
		.qp_state = (ib_qp_state)attr->qp_state,
		.cur_qp_state = (ib_qp_state)attr->cur_qp_state,
		.path_mtu = (ib_mtu)attr->path_mtu,
		.path_mig_state = (ib_mig_state)attr->path_mig_state,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn & IB_PSN_MASK,
		.sq_psn = attr->sq_psn & IB_PSN_MASK,
		.dest_qp_num = attr->dest_qp_num,
		.cap = cap_to_al(&attr->cap),
		.pkey_index = attr->pkey_index,
		.alt_pkey_index = attr->alt_pkey_index,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.alt_port_num = attr->alt_port_num,
		.alt_timeout = attr->alt_timeout,
	};
	int error;

	if (mask & (int)IB_QP_AV)
		al.ah_attr = path_to_al(ibv->context, &attr->ah_attr);
	if (mask & (int)IB_QP_ALT_PATH)
		al.alt_ah_attr = path_to_al(ibv->context, &attr->alt_ah_attr);
	if (mask & ~KNOWN_MASK)
		return verbs_fail(EOPNOTSUPP);
	if (!access_to_al(attr->qp_access_flags, &al.qp_access_flags) && mask & (int)IB_QP_ACCESS_FLAGS)
		return verbs_fail(EINVAL);
	error = verbs_result(al_modify_qp(qp_of(ibv)->al, &al, (uint32_t)mask));
	if (!error && mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	return error;
}

static void fill_attr(struct ibv_qp_attr *attr, const struct ib_qp_attr *al)
{
	*attr = (struct ibv_qp_attr){
		.qp_state = (unsigned int)al->qp_state,
		.cur_qp_state = (unsigned int)al->qp_state,
		.path_mtu = (unsigned int)al->path_mtu,
		.path_mig_state = (unsigned int)al->path_mig_state,
		.qkey = al->qkey,
		.rq_psn = al->rq_psn,
		.sq_psn = al->sq_psn,
		.dest_qp_num = al->dest_qp_num,
		.qp_access_flags = access_from_al(al->qp_access_flags),
		.cap = cap_from_al(&al->cap),
		.ah_attr = ah_from_al(&al->ah_attr),
		.alt_ah_attr = ah_from_al(&al->alt_ah_attr),
		.pkey_index = al->pkey_index,
		.alt_pkey_index = al->alt_pkey_index,
		.en_sqd_async_notify = al->en_sqd_async_notify,
		.sq_draining = al->sq_draining,
		.max_rd_atomic = al->max_rd_atomic,
		.max_dest_rd_atomic = al->max_dest_rd_atomic,
		.min_rnr_timer = al->min_rnr_timer,
		.port_num = al->port_num,
		.timeout = al->timeout,
		.retry_cnt = al->retry_cnt,
		.rnr_retry = al->rnr_retry,
		.alt_port_num = al->alt_port_num,
		.alt_timeout = al->alt_timeout,
	};
}

/* The call fills in every attribute, also those that mask does not name. */
LATEST(int, ibv_query_qp)(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	struct ib_qp_attr al;
	struct al_qp_init al_init;
	const int error = verbs_result(al_query_qp(qp_of(ibv)->al, &al, &al_init));

	(void)mask;
	if (error)
		return error;
	fill_attr(attr, &al);
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.cap = attr->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = al_init.sq_sig_all,
	};
	ibv->state = attr->qp_state;
	return 0;
}

/* Data of a message is not promised to arrive in order. */
EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, unsigned int opcode, uint32_t flags)
{
	(void)qp;
	(void)opcode;
	(void)flags;
	return 0;
}
