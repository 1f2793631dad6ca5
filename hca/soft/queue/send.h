/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Send queues: a ring of elements, which a post fills and a requester sends and completes in order. */
#ifndef SOFT_SEND_H
#define SOFT_SEND_H

#include <stdatomic.h>
#include <stddef.h>
#include <iba/ib_hca.h>

#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/lock.h"

/* Element of a send queue, followed by its gather list or its inline data, and a datagram's address. */
struct send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add, swap;
	union {
		uint32_t rkey;
		uint32_t remote_qpn; /* datagram */
	};
	uint32_t ex;        /* immediate data */
	uint32_t length;    /* of the message */
	uint32_t first_psn, last_psn; /* once started */
	uint8_t opcode;     /* ib_wr_opcode */
	uint8_t flags;      /* enum ib_send_flags */
	uint8_t num_sge;
	uint8_t status;     /* ib_wc_status it will complete with */
	uint16_t refs;      /* packets not at home */
	bool answered;      /* read, atomic: all data has come */
	bool client;        /* once started: its payload, or some of it, is in a client */
	struct ib_sge sge[];
};

/* Indices count up for ever; the slot of an index is index & mask. */
struct send_queue {
	struct fmutex lock;    /* guards posting */
	_Atomic uint32_t prod; /* guarded by lock */
	_Atomic uint32_t cons; /* oldest not completed; the requester's to write */
	uint32_t mask;
	uint32_t stride;       /* bytes of an element with all that follows it */
	char *mem;
};

static inline struct send_wqe *sq_at(const struct send_queue *sq, uint32_t index)
{
	return (struct send_wqe *)(sq->mem + (size_t)(index & sq->mask) * sq->stride);
}

/* The index of an element that is in the queue. */
static inline uint32_t sq_index(const struct send_queue *sq, const struct send_wqe *wqe)
{
	uint32_t cons = atomic_load_explicit(&sq->cons, memory_order_relaxed);
	uint32_t slot = (uint32_t)((size_t)((const char *)wqe - sq->mem) / sq->stride);

	return cons + ((slot - cons) & sq->mask);
}

/* The last part of a datagram's element. */
static inline struct datagram *wqe_datagram(const struct send_queue *sq, const struct send_wqe *wqe)
{
	return (struct datagram *)((char *)wqe + sq->stride - sizeof(struct datagram));
}

#endif
