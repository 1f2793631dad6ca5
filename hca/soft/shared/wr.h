/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a work request or an address must be to be taken. The module checks each by these, wherever it comes from, and
 * the provider (uvp/soft) before it puts one into a ring, so that the caller hears the same from both.
 */
#ifndef SOFT_WR_H
#define SOFT_WR_H

#include <iba/ib_hca.h>

#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* Is the request one of this queue pair's kind? Adds up its length. */
static inline al_status wr_check_send(const struct ci_qp *qp, const struct ib_send_wr *wr,
				      uint32_t *length)
{
	const uint32_t all_flags =
		IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE;
	const struct wr_op *op;
	uint64_t sum = 0;
	uint32_t i;

	if ((uint32_t)wr->opcode >= IB_WR_OPCODES || wr->send_flags & ~all_flags)
		return AL_INVALID_OPCODE;
	op = &wr_ops[wr->opcode];
	if (!op->qp_types)
		return AL_UNSUPPORTED;
	if (!(op->qp_types & 1u << qp->qp_type) ||
	    (wr->send_flags & IB_SEND_INLINE && !(op->flags & WR_INLINE)))
		return AL_INVALID_OPCODE;
	if (wr->num_sge > qp->cap.max_send_sge || (wr->num_sge && !wr->sg_list))
		return AL_INVALID_SGE;
	for (i = 0; i < wr->num_sge; i++)
		sum += wr->sg_list[i].length;
	if (sum > UINT32_MAX ||
	    (wr->send_flags & IB_SEND_INLINE && sum > qp->cap.max_inline_data))
		return AL_INVALID_SGE;
	*length = (uint32_t)sum;
	return AL_SUCCESS;
}

static inline al_status wr_check_recv(const struct ci_qp *qp, const struct ib_recv_wr *wr,
				      uint32_t *length)
{
	uint64_t sum = 0;
	uint32_t i;

	if (wr->num_sge > qp->cap.max_recv_sge || (wr->num_sge && !wr->sg_list))
		return AL_INVALID_SGE;
	for (i = 0; i < wr->num_sge; i++)
		sum += wr->sg_list[i].length;
	if (sum > UINT32_MAX)
		return AL_INVALID_SGE;
	*length = (uint32_t)sum;
	return AL_SUCCESS;
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
