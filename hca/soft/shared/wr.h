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

	if (opcode >= IB_WR_OPCODES)
		return ib_refuse(AL_INVALID_OPCODE, "opcode is %u, which is no operation", opcode);
	if (flags & ~(uint32_t)IB_FLAT_SEND_FLAGS)
		return ib_refuse(AL_INVALID_OPCODE,
				 "send_flags has the bits %#x, which are no flags",
				 flags & ~(uint32_t)IB_FLAT_SEND_FLAGS);
	op = &wr_ops[opcode];
	if (!op->qp_types)
		return ib_refuse(AL_UNSUPPORTED, "the HCA has no operation \"%s\"", op->name);
	if (!(op->qp_types & 1u << qp->qp_type))
		return ib_refuse(AL_INVALID_OPCODE,
				 "opcode is \"%s\", which a queue pair of this type (%s) has not",
				 op->name, qp_type_name(qp->qp_type));
	if (flags & IB_SEND_INLINE && !(op->flags & WR_INLINE))
		return ib_refuse(AL_INVALID_OPCODE,
				 "send_flags has IB_SEND_INLINE, and \"%s\" takes no inline data",
				 op->name);
	return AL_SUCCESS;
}

/* Checks a scatter/gather list of a request. *length becomes the sum of the list's lengths. */
static inline al_status wr_check_list(const struct ib_sge *list, uint32_t num, uint32_t most,
				      uint32_t *length)
{
	*length = 0;
	if (UNLIKELY(num > most))
		return ib_refuse(AL_INVALID_SGE,
				 "num_sge is %u, and the queue was created for %u elements", num,
				 most);
	if (UNLIKELY(num && !list))
		return ib_refuse(AL_INVALID_SGE, "num_sge is %u, and sg_list is NULL", num);
	if (UNLIKELY(ib_flat_sum(list, num, length)))
		return ib_refuse(AL_INVALID_SGE,
				 "the lengths of sg_list are more than 4 GiB together");
	return AL_SUCCESS;
}

static inline al_status wr_refuse_inline(const struct ci_qp *qp, uint32_t length)
{
	return ib_refuse(AL_INVALID_SGE,
			 "%u bytes are inline, and the queue was created for %u (max_inline_data)",
			 length, qp->cap.max_inline_data);
}

static inline al_status wr_refuse_full(const char *queue, uint32_t size)
{
	return ib_refuse(AL_QUEUE_FULL,
			 "the %s queue holds %u requests, as many as it was created for", queue,
			 size);
}

/* The reason with AL_CQ_ERROR. */
#define WR_CQ_OVERFLOWED \
	"the completion queue has overflowed: a completion found it full; create a larger one (cqe)"

static inline al_status wr_refuse_ah(void)
{
	return ib_refuse(AL_INVALID_HANDLE,
			 "ah is no address handle of the queue pair's HCA and opening");
}

/* Refuses a post in a state that takes none. */
static inline al_status wr_refuse_state(const char *queue, ib_qp_state state)
{
	return ib_refuse(AL_INVALID_STATE, "the %s queue takes no requests in the state %s", queue,
			 qp_state_name(state));
}

/* Checks that the queue pair may send the request. *length becomes the sum of the list's lengths. */
static inline al_status wr_check_send(const struct ci_qp *qp, const struct ib_send_wr *wr,
				      uint32_t *length)
{
	al_status status = wr_check_op(qp, (uint32_t)wr->opcode, wr->send_flags);

	*length = 0;
	if (status)
		return status;
	status = wr_check_list(wr->sg_list, wr->num_sge, qp->cap.max_send_sge, length);
	if (!status && wr->send_flags & IB_SEND_INLINE && *length > qp->cap.max_inline_data)
		return wr_refuse_inline(qp, *length);
	return status;
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
	if (head->num_sge > qp->cap.max_send_sge)
		return ib_refuse(AL_INVALID_SGE,
				 "num_sge is %u, and the queue was created for %u elements",
				 head->num_sge, qp->cap.max_send_sge);
	if (head->flags & IB_SEND_INLINE && head->length > qp->cap.max_inline_data)
		return wr_refuse_inline(qp, head->length);
	return AL_SUCCESS;
}

static inline al_status wr_check_recv(const struct ci_qp *qp, const struct ib_recv_wr *wr,
				      uint32_t *length)
{
	return wr_check_list(wr->sg_list, wr->num_sge, qp->cap.max_recv_sge, length);
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
		return ib_refuse(AL_INVALID_PD,
				 "ah and the queue pair belong to different protection domains");
	if (UNLIKELY(remote_qpn & ~IB_QPN_MASK))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "remote_qpn is %#x, and numbers have 24 bits", remote_qpn);
	if (UNLIKELY(qp_port && ah_port != qp_port))
		return ib_refuse(AL_INVALID_PORT,
				 "ah leads out of port %u, and the queue pair's port is %u",
				 ah_port, qp_port);
	return AL_SUCCESS;
}

/*
 * Checks the source GID index and path bits of an address. gids: filled entries of the port's GID table; lmc: the
 * port's LMC
 */
static inline al_status wr_check_address(const struct ib_ah_attr *attr, uint32_t gids, uint32_t lmc)
{
	if (attr->is_global && attr->grh.sgid_index >= gids)
		return ib_refuse(AL_INVALID_GID_INDEX, "sgid_index is %u, and the port has %u GIDs",
				 attr->grh.sgid_index, gids);
	if (attr->src_path_bits >> lmc)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "src_path_bits is %u, and the port's LMC is %u",
				 attr->src_path_bits, lmc);
	return AL_SUCCESS;
}

#endif
