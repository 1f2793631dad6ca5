/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completions, in both interfaces. */
#include <arpa/inet.h>

#include "al/compat/verbs/verbs.h"

/* Statuses, which have the same numbers but for the last: X(status, number). */
#define SAME_STATUS(name, value, text) \
	_Static_assert((value) < 22 || (value) == IB_WC_CQ_OVERFLOW_ERR, "libibverbs' " text);
IB_WC_STATUS_LIST(SAME_STATUS)

#define IBV_WC_GENERAL_ERR 21

unsigned int wc_status_from_al(ib_wc_status status)
{
	return status == IB_WC_CQ_OVERFLOW_ERR ? IBV_WC_GENERAL_ERR : (unsigned int)status;
}

/* Opcodes of the interface. An operation that it does not know (masked atomics, registration by
 * request) cannot be posted by it either. Without a default, so that the compiler names an opcode
 * that is missing. */
unsigned int wc_opcode_from_al(ib_wc_opcode opcode)
{
	switch (opcode) {
	case IB_WC_SEND:
		return 0;
	case IB_WC_RDMA_WRITE:
		return 1;
	case IB_WC_RDMA_READ:
		return 2;
	case IB_WC_COMP_SWAP:
	case IB_WC_MASKED_COMP_SWAP:
		return 3;
	case IB_WC_FETCH_ADD:
	case IB_WC_MASKED_FETCH_ADD:
		return 4;
	case IB_WC_BIND_MW:
	case IB_WC_REG_MR:
		return 5;
	case IB_WC_LOCAL_INV:
		return 6;
	case IB_WC_RECV:
		return 128;
	case IB_WC_RECV_RDMA_WITH_IMM:
		return 129;
	}
	return 0; /* of a completion in error only bit 7 is defined */
}

unsigned int wc_flags_from_al(uint32_t flags)
{
	return (flags & IB_WC_GRH ? (unsigned int)IBV_WC_GRH : 0) |
	       (flags & IB_WC_WITH_IMM ? (unsigned int)IBV_WC_WITH_IMM : 0);
}

/*
 * The service level of a datagram. Of one from an Ethernet port libibverbs has no other place for the flag that IBTA
 * A17.4.5.1 demands; UCX looks for the flag there, as mlx5 gives it: bit 3, and 1 for IPv6 or 2 for IPv4.
 */
uint8_t wc_sl_from_al(const struct ib_wc *al)
{
	if (al->wc_flags & (IB_WC_IP4 | IB_WC_IP6))
		return al->wc_flags & IB_WC_IP4 ? 8 | 2 : 8 | 1;
	return al->sl;
}

void wc_from_al(struct ibv_wc *wc, const struct ib_wc *al)
{
	wc->wr_id = al->wr_id;
	wc->status = wc_status_from_al(al->status);
	wc->opcode = wc_opcode_from_al(al->opcode);
	wc->vendor_err = al->vendor_err;
	wc->byte_len = al->byte_len;
	wc->imm_data = htonl(al->imm_data);
	wc->qp_num = al->qp_num;
	wc->src_qp = al->src_qp;
	wc->wc_flags = wc_flags_from_al(al->wc_flags);
	wc->pkey_index = al->pkey_index;
	wc->slid = al->slid;
	wc->sl = wc_sl_from_al(al);
	wc->dlid_path_bits = al->dlid_path_bits;
}

/* Returns the number of completions; negative: the queue has overflowed, or its HCA has gone. */
int verbs_poll_cq(struct ibv_cq *ibv, int num, struct ibv_wc *wc)
{
	al_cq_h cq = cq_of(ibv)->al;
	struct ib_wc al[16];
	uint32_t count;
	int done = 0;

	while (done < num) {
		const uint32_t room = (uint32_t)(num - done) < 16 ? (uint32_t)(num - done) : 16;
		const al_status status = al_poll_cq(cq, room, al, &count);

		if (status)
			return done ? done : -verbs_result(status);
		for (uint32_t i = 0; i < count; i++)
			wc_from_al(&wc[done++], &al[i]);
		if (count < room)
			break;
	}
	return done;
}
