/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Extended queue pairs: between ibv_wr_start() and ibv_wr_complete() a program builds requests, each
 * by a call for the operation and calls for its data, and posts them together. The memory for as
 * many requests as the send queue has is allocated with the queue pair.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "al/compat/verbs/verbs.h"

static struct builder *builder_of(struct ibv_qp_ex *ex)
{
	return verbs_of(ex, struct qp, ex)->builder;
}

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	pthread_mutex_destroy(&builder->lock);
	free(builder->wr);
	free(builder->sge);
	free(builder->data);
	free(builder);
}

static struct builder *new_builder(const struct ibv_qp_cap *cap)
{
	struct builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return NULL;
	pthread_mutex_init(&builder->lock, NULL);
	builder->room = cap->max_send_wr;
	builder->max_sge = cap->max_send_sge ? cap->max_send_sge : 1;
	builder->max_inline = cap->max_inline_data;
	builder->wr = calloc((size_t)builder->room + 1, sizeof(*builder->wr));
	builder->sge = calloc((size_t)builder->room + 1, builder->max_sge * sizeof(*builder->sge));
	builder->data = calloc((size_t)builder->room + 1, builder->max_inline + 1);
	if (builder->wr && builder->sge && builder->data)
		return builder;
	builder_free(builder);
	return NULL;
}

/* ----------------------------------------------------------------- operations */

/* The next request. If there is no room, the error comes with the completion of the chain, and the
 * request lies in the spare place behind the last. */
static struct ib_send_wr *add(struct ibv_qp_ex *ex, ib_wr_opcode opcode)
{
	struct builder *builder = builder_of(ex);
	struct ib_send_wr *wr = &builder->wr[builder->num];

	*wr = (struct ib_send_wr){ .wr_id = ex->wr_id,
				   .opcode = opcode,
				   .send_flags = ex->wr_flags,
				   .sg_list = &builder->sge[(size_t)builder->num * builder->max_sge] };
	if (builder->num == builder->room)
		builder->error = ENOMEM;
	else
		builder->num++;
	if (ex->wr_flags & ~(unsigned int)(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE))
		builder->error = EINVAL;
	return wr;
}

static struct ib_send_wr *add_rdma(struct ibv_qp_ex *ex, ib_wr_opcode opcode, uint32_t rkey,
				   uint64_t remote_addr)
{
	struct ib_send_wr *wr = add(ex, opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = remote_addr;
	return wr;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	add_rdma(ex, IB_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	add_rdma(ex, IB_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, be32 imm)
{
	add_rdma(ex, IB_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->ex.imm_data = ntohl(imm);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add(ex, IB_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, be32 imm)
{
	add(ex, IB_WR_SEND_WITH_IMM)->ex.imm_data = ntohl(imm);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct ib_send_wr *wr = add(ex, IB_WR_ATOMIC_CMP_AND_SWP);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t addend)
{
	struct ib_send_wr *wr = add(ex, IB_WR_ATOMIC_FETCH_AND_ADD);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = addend;
}

/* ----------------------------------------------------------------------- data */

/* The number of the request to which data is added: the last. */
static uint32_t last(const struct builder *builder)
{
	return builder->error || !builder->num ? builder->room : builder->num - 1;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct builder *builder = builder_of(ex);
	struct ib_send_wr *wr = &builder->wr[last(builder)];

	if (!ah) {
		builder->error = EINVAL;
		return;
	}
	wr->wr.ud.ah = verbs_of(ah, struct ah, ibv)->al;
	wr->wr.ud.remote_qpn = remote_qpn;
	wr->wr.ud.remote_qkey = remote_qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num, const struct ibv_sge *sges)
{
	struct builder *builder = builder_of(ex);
	const uint32_t at = last(builder);

	if (num > builder->max_sge) {
		builder->error = ENOMEM;
		return;
	}
	if (num)
		memcpy(&builder->sge[(size_t)at * builder->max_sge], sges, num * sizeof(*sges));
	builder->wr[at].num_sge = (uint32_t)num;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { addr, length, lkey };

	wr_set_sge_list(ex, 1, &sge);
}

/* The program may change its data as soon as the call returns, so the data is copied here. */
static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num, const struct ibv_data_buf *bufs)
{
	struct builder *builder = builder_of(ex);
	const uint32_t at = last(builder);
	uint8_t *data = builder->data + (size_t)at * (builder->max_inline + 1);
	size_t length = 0;

	for (size_t i = 0; i < num; i++) {
		if (bufs[i].length > builder->max_inline - length) {
			builder->error = ENOMEM;
			return;
		}
		if (bufs[i].length)
			memcpy(data + length, bufs[i].addr, bufs[i].length);
		length += bufs[i].length;
	}
	builder->sge[(size_t)at * builder->max_sge] =
		(struct ib_sge){ .addr = (uintptr_t)data, .length = (uint32_t)length };
	builder->wr[at].num_sge = 1;
	builder->wr[at].send_flags |= IB_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { addr, length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ------------------------------------------------------------------- the chain */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct builder *builder = builder_of(ex);

	pthread_mutex_lock(&builder->lock);
	builder->num = 0;
	builder->error = 0;
}

/* All requests are posted, or none. */
static int wr_complete(struct ibv_qp_ex *ex)
{
	struct builder *builder = builder_of(ex);
	const struct ib_send_wr *bad;
	int error = builder->error;

	for (uint32_t i = 1; i < builder->num; i++)
		builder->wr[i - 1].next = &builder->wr[i];
	if (!error && builder->num)
		error = verbs_errno(al_post_send(verbs_of(ex, struct qp, ex)->al, builder->wr, &bad));
	pthread_mutex_unlock(&builder->lock);
	return error;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&builder_of(ex)->lock);
}

/* -------------------------------------------------------------------- creation */

#define RDMA_WRITE (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define SEND       (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define READ       (IBV_QP_EX_WITH_RDMA_READ)
#define ATOMIC     (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/* The operations that a type of queue pair has. */
static uint64_t operations_of(unsigned int type)
{
	switch (type) {
	case IBV_QPT_RC:
		return SEND | RDMA_WRITE | READ | ATOMIC;
	case IBV_QPT_UC:
		return SEND | RDMA_WRITE;
	default:
		return SEND;
	}
}

static void set_calls(struct ibv_qp_ex *ex)
{
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

/* 0, or why the extended attributes cannot be granted. */
static int check(struct ibv_context *context, const struct ibv_qp_init_attr_ex *init)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (init->comp_mask & ~known)
		return EOPNOTSUPP;
	if (!(init->comp_mask & IBV_QP_INIT_ATTR_PD) || !init->pd || init->pd->context != context)
		return EINVAL;
	if (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    init->send_ops_flags & ~operations_of(init->qp_type))
		return EOPNOTSUPP;
	return 0;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	const struct ibv_qp_init_attr plain = { init->qp_context, init->send_cq, init->recv_cq,
						init->srq,	  init->cap,	 init->qp_type,
						init->sq_sig_all };
	struct qp *qp;

	errno = check(context, init);
	if (errno)
		return NULL;
	qp = qp_create(init->pd, &plain, &init->cap,
		       init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? init->create_flags : 0);
	if (!qp || !(init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return qp ? &qp->ex.qp_base : NULL;
	qp->builder = new_builder(&init->cap);
	if (!qp->builder) {
		ibv_destroy_qp_1_1(&qp->ex.qp_base);
		errno = ENOMEM;
		return NULL;
	}
	set_calls(&qp->ex);
	return &qp->ex.qp_base;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct qp *qp = qp_of(ibv);

	return qp->builder ? &qp->ex : NULL;
}
