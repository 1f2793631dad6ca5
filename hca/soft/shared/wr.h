/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Checks of work requests and addresses. The module checks every request by these functions. The provider (uvp/soft)
 * checks a request before the provider puts the request into a ring, so module and provider return the same status.
 * The layout of rings is in ring.h.
 */
#ifndef SOFT_WR_H
#define SOFT_WR_H

#include <iba/ib_flat_wr.h>
#include <iba/ib_hca.h>

#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* Checks that the HCA offers an operation, with these flags, to queue pairs of this type. */
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

/* Checks that the queue pair may send the request. *length becomes the sum of the list's lengths. */
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

/*
 * Checks the head of a flat request as wr_check_send() checks a request. ib_flat_check_send() has checked the head's
 * form.
 */
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

/*
 * Checks a datagram's destination. ah_pd, ah_port: domain and port of the address handle. qp_port: the queue pair's
 * port; 0: the queue pair went to Error before it had a port, and only flushes.
 */
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

/*
 * Checks the source GID index and path bits of an address. gids: filled entries of the port's GID table; lmc: the
 * port's LMC
 */
static inline al_status wr_check_address(const struct ib_ah_attr *attr, uint32_t gids, uint32_t lmc)
{
	if (attr->is_global && attr->grh.sgid_index >= gids)
		return AL_INVALID_GID_INDEX;
	return attr->src_path_bits >> lmc ? AL_INVALID_PARAMETER : AL_SUCCESS;
}

#endif
