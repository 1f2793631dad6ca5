/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a work request or an address must be to be taken. The module checks each by these, wherever it comes from, and
 * the provider (uvp/soft) before it puts one into a ring, so that the caller hears the same from both.
 */
#ifndef SOFT_WR_H
#define SOFT_WR_H

#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>

#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* Does the HCA offer this operation, with these flags, to a queue pair of this type? */
static inline al_status wr_check_op(const struct ci_qp *qp, uint32_t opcode, uint32_t flags)
{
	const struct wr_op *op;

	if (opcode >= IB_WR_OPCODES || flags & ~(uint32_t)IB_FLAT_SEND_FLAGS)
		return AL_INVALID_OPCODE;
	op = &wr_ops[opcode];
	if (!op->qp_types)
		return AL_UNSUPPORTED;
	if (!(op->qp_types & 1u << qp->qp_type) ||
	    (flags & IB_SEND_INLINE && !(op->flags & WR_INLINE)))
		return AL_INVALID_OPCODE;
	return AL_SUCCESS;
}

/* May this queue pair send the request? Adds up the request's length. */
static inline al_status wr_check_send(const struct ci_qp *qp, const struct ib_send_wr *wr,
				      uint32_t *length)
{
	al_status status = wr_check_op(qp, (uint32_t)wr->opcode, wr->send_flags);

	if (status)
		return status;
	if (wr->num_sge > qp->cap.max_send_sge || (wr->num_sge && !wr->sg_list) ||
	    ib_flat_sum(wr->sg_list, wr->num_sge, length) ||
	    (wr->send_flags & IB_SEND_INLINE && *length > qp->cap.max_inline_data))
		return AL_INVALID_SGE;
	return AL_SUCCESS;
}

/* wr_check_send() for the head of a flat request, whose form has been checked. */
static inline al_status wr_check_flat(const struct ci_qp *qp, const struct ib_flat_send *head)
{
	al_status status = wr_check_op(qp, head->opcode, head->flags);

	if (status)
		return status;
	if (head->num_sge > qp->cap.max_send_sge ||
	    (head->flags & IB_SEND_INLINE && head->length > qp->cap.max_inline_data))
		return AL_INVALID_SGE;
	return AL_SUCCESS;
}

static inline al_status wr_check_recv(const struct ci_qp *qp, const struct ib_recv_wr *wr,
				      uint32_t *length)
{
	if (wr->num_sge > qp->cap.max_recv_sge || (wr->num_sge && !wr->sg_list))
		return AL_INVALID_SGE;
	return ib_flat_sum(wr->sg_list, wr->num_sge, length);
}

/* A datagram's destination. ah_port: the address handle's; qp_port: the queue pair's, 0: it went to Error before it had
 * one, and only flushes. */
static inline al_status wr_check_datagram(const struct ci_qp *qp, uint8_t qp_port,
					  const struct ci_pd *ah_pd, uint8_t ah_port,
					  uint32_t remote_qpn)
{
	if (UNLIKELY(ah_pd != qp->pd))
		return AL_INVALID_PD;
	if (UNLIKELY(remote_qpn & ~IB_QPN_MASK))
		return AL_INVALID_PARAMETER;
	if (UNLIKELY(qp_port && ah_port != qp_port))
		return AL_INVALID_PORT;
	return AL_SUCCESS;
}

/* Has a port with so many GIDs, and that LMC, what the address says of it? */
static inline al_status wr_check_address(const struct ib_ah_attr *attr, uint32_t gids, uint32_t lmc)
{
	if (attr->is_global && attr->grh.sgid_index >= gids)
		return AL_INVALID_GID_INDEX;
	return attr->src_path_bits >> lmc ? AL_INVALID_PARAMETER : AL_SUCCESS;
}

#endif
