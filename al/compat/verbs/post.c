/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Posting of requests. A chain is converted on the stack, piece by piece; scatter/gather lists have
 * the same layout in both interfaces and are passed on. */
#include <arpa/inet.h>

#include "al/compat/verbs/verbs.h"

#define PIECE 16 /* requests that are posted at once */

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct ib_sge) &&
		       offsetof(struct ibv_sge, addr) == offsetof(struct ib_sge, addr) &&
		       offsetof(struct ibv_sge, length) == offsetof(struct ib_sge, length) &&
		       offsetof(struct ibv_sge, lkey) == offsetof(struct ib_sge, lkey),
	       "scatter/gather lists have the same layout");

#define SEND_FLAGS (IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)
_Static_assert(SEND_FLAGS == 15 && (int)IBV_SEND_INLINE == (int)IB_SEND_INLINE,
	       "flags have the same bits");

/* Opcodes in the order of the interface's numbers: X(number, opcode of the Access Layer). Those
 * that are missing need what no HCA of ibal has yet. */
#define OPCODE_LIST(X)                   \
	X(0, IB_WR_RDMA_WRITE)           \
	X(1, IB_WR_RDMA_WRITE_WITH_IMM)  \
	X(2, IB_WR_SEND)                 \
	X(3, IB_WR_SEND_WITH_IMM)        \
	X(4, IB_WR_RDMA_READ)            \
	X(5, IB_WR_ATOMIC_CMP_AND_SWP)   \
	X(6, IB_WR_ATOMIC_FETCH_AND_ADD) \
	X(7, IB_WR_LOCAL_INV)            \
	X(9, IB_WR_SEND_WITH_INV)
#define NO_OPCODE IB_WR_OPCODES

static ib_wr_opcode opcode_to_al(unsigned int opcode)
{
	static const ib_wr_opcode opcodes[] = { [8] = NO_OPCODE, /* a bind of a window */
#define OPCODE(number, al) [number] = (al),
						OPCODE_LIST(OPCODE) };

	return opcode < sizeof(opcodes) / sizeof(opcodes[0]) ? opcodes[opcode] : NO_OPCODE;
}

/* The members that depend on opcode and type. False: the request has no address handle. */
static bool operation_to_al(const struct ibv_qp *qp, const struct ibv_send_wr *wr,
			    struct ib_send_wr *al)
{
	if (qp->qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return false;
		al->wr.ud.ah = verbs_of(wr->wr.ud.ah, struct ah, ibv)->al;
		al->wr.ud.remote_qpn = wr->wr.ud.remote_qpn;
		al->wr.ud.remote_qkey = wr->wr.ud.remote_qkey;
	} else if (al->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
		   al->opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		al->wr.atomic.remote_addr = wr->wr.atomic.remote_addr;
		al->wr.atomic.compare_add = wr->wr.atomic.compare_add;
		al->wr.atomic.swap = wr->wr.atomic.swap;
		al->wr.atomic.rkey = wr->wr.atomic.rkey;
	} else {
		al->wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		al->wr.rdma.rkey = wr->wr.rdma.rkey;
	}
	return true;
}

/* Immediate data is in network byte order in verbs, and a key is not. */
static uint32_t extra_to_al(ib_wr_opcode opcode, const struct ibv_send_wr *wr)
{
	if (opcode == IB_WR_SEND_WITH_INV || opcode == IB_WR_LOCAL_INV)
		return wr->invalidate_rkey;
	return ntohl(wr->imm_data);
}

static bool send_to_al(const struct ibv_qp *qp, const struct ibv_send_wr *wr, struct ib_send_wr *al)
{
	al->next = NULL;
	al->wr_id = wr->wr_id;
	al->sg_list = (const struct ib_sge *)wr->sg_list;
	al->num_sge = (uint32_t)wr->num_sge;
	al->opcode = opcode_to_al(wr->opcode);
	al->send_flags = wr->send_flags;
	al->ex.imm_data = extra_to_al(al->opcode, wr);
	al->remote_srqn = al->pad = 0;
	return al->opcode != NO_OPCODE && wr->num_sge >= 0 &&
	       !(wr->send_flags & ~(unsigned int)SEND_FLAGS) && operation_to_al(qp, wr, al);
}

int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	al_qp_h handle = qp_of(qp)->al;
	const struct ib_send_wr *bad;
	struct ib_send_wr al[PIECE];
	struct ibv_send_wr *first;
	al_status status;
	uint32_t num;

	while (wr) {
		first = wr;
		for (num = 0; wr && num < PIECE && send_to_al(qp, wr, &al[num]); wr = wr->next) {
			if (num)
				al[num - 1].next = &al[num];
			num++;
		}
		if (!num)
			break; /* the first request is none that can be posted */
		status = al_post_send(handle, al, &bad);
		if (status) {
			for (; bad != al && first->next; bad--)
				first = first->next;
			*bad_wr = first;
			return verbs_result(status);
		}
	}
	if (!wr)
		return 0;
	*bad_wr = wr;
	return verbs_fail(EINVAL);
}

int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	al_qp_h handle = qp_of(qp)->al;
	const struct ib_recv_wr *bad;
	struct ib_recv_wr al[PIECE];
	struct ibv_recv_wr *first;
	al_status status;
	uint32_t num;

	while (wr) {
		first = wr;
		for (num = 0; wr && num < PIECE && wr->num_sge >= 0; wr = wr->next, num++) {
			al[num] =
				(struct ib_recv_wr){ .wr_id = wr->wr_id,
						     .sg_list = (const struct ib_sge *)wr->sg_list,
						     .num_sge = (uint32_t)wr->num_sge };
			if (num)
				al[num - 1].next = &al[num];
		}
		if (!num)
			break;
		status = al_post_recv(handle, al, &bad);
		if (status) {
			for (; bad != al && first->next; bad--)
				first = first->next;
			*bad_wr = first;
			return verbs_result(status);
		}
	}
	if (!wr)
		return 0;
	*bad_wr = wr;
	return verbs_fail(EINVAL);
}
