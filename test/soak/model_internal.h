/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions that model.c and model_rest.c share. */
#ifndef SOAK_MODEL_INTERNAL_H
#define SOAK_MODEL_INTERNAL_H

#include "model.h"

#define BIT(status) (1u << (status))
#define NEVER       UINT32_MAX

#define REMOTE_CAUSES \
	(BIT(IB_WC_REM_ACCESS_ERR) | BIT(IB_WC_REM_INV_REQ_ERR) | BIT(IB_WC_REM_OP_ERR))

static inline bool is_read(const struct m_send *s)
{
	return s->opcode == IB_WR_RDMA_READ;
}

static inline bool is_atomic(const struct m_send *s)
{
	return s->opcode == IB_WR_ATOMIC_CMP_AND_SWP || s->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static inline bool is_write(const struct m_send *s)
{
	return s->opcode == IB_WR_RDMA_WRITE || s->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool is_send(const struct m_send *s)
{
	return s->opcode == IB_WR_SEND || s->opcode == IB_WR_SEND_WITH_IMM;
}

static inline bool has_imm(const struct m_send *s)
{
	return s->opcode == IB_WR_SEND_WITH_IMM || s->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool signalled(const struct m_qp *qp, const struct m_send *s)
{
	return qp->attr.sig_all || s->flags & IB_SEND_SIGNALED;
}

static inline bool alive(ib_qp_state state)
{
	return state == IB_QPS_RTR || state == IB_QPS_RTS || state == IB_QPS_SQD ||
	       state == IB_QPS_SQE;
}

static inline bool reliable(const struct m_qp *qp)
{
	return qp->attr.type == IB_QPT_RC;
}

/* True if no part of the request arrives: the request is wrong, or its queue has stopped before. */
static inline bool in_vain(const struct m_qp *qp, const struct m_send *s)
{
	return !reliable(qp) && (s->wrong || s->doomed);
}

static inline bool takes_recv(const struct m_qp *qp, const struct m_send *s)
{
	return (is_send(s) || s->opcode == IB_WR_RDMA_WRITE_WITH_IMM) && !in_vain(qp, s);
}

/* True if a request of this epoch has failed, which stops the request. */
static inline bool stopped_before(const struct m_qp *qp, uint32_t epoch)
{
	return qp->failed != NEVER && qp->send[qp->failed].epoch == epoch;
}

/* Bytes before the message in a receive. */
static inline uint32_t grh(const struct m_qp *qp)
{
	return qp->attr.type == IB_QPT_UD ? IB_GRH_BYTES : 0;
}

static inline bool has_grh(const struct m_qp *from)
{
	return from->attr.type == IB_QPT_UD && from->attr.global;
}

/* Functions of model.c. */

/* Unreliable: true if messages may have been lost, duplicated or reordered. */
bool faulty(const struct m_qp *qp);
/* Returns the receive that a request consumes; NULL: none is posted, or the request needs none. */
const struct m_recv *recv_of(const struct m_qp *qp, const struct m_send *s);
/* Returns the statuses that the request's own faults permit, as bits; 0: the request is correct. */
uint32_t causes(const struct m_qp *qp, const struct m_send *s);
/* Executes an atomic on a copy of the target. Returns the value before. */
uint64_t atomic(const struct m_send *s, uint8_t *target);
/* A request has completed with success: checks that the success is possible, and applies the request's effect. */
void succeed(struct m_qp *qp, uint32_t index);
/* Returns the message for the next receive. */
uint32_t next_message(const struct m_qp *from);
/* Messages that are too long for the first receive that is left may have written into it. */
void dropped_at_rest(const struct m_qp *from);

/* Functions of model_rest.c. */

/* Copies a part of a request's data. A part of a read's result is there when the request sends it. */
void gather(const struct m_qp *qp, const struct m_send *s, uint32_t from, uint32_t length, uint8_t *to);
/*
 * Calls a function for each contiguous part of the pieces, with the bytes that belong there. False: one call returned
 * false.
 */
bool each_part(const struct m_qp *qp, const struct piece *piece, uint32_t num, uint32_t from,
	       const uint8_t *data, uint32_t length,
	       bool (*part)(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n));
/*
 * Functions for each_part(). is_there() checks that the bytes are in memory. there_or_before() also allows the bytes
 * before, and copies the bytes found. to_copy() puts the bytes into the copy.
 */
bool is_there(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n);
bool there_or_before(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n);
bool to_copy(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n);
/* A piece of memory may hold anything, such as the first part of a message that was lost. */
void anything(const struct m_qp *qp, const struct piece *p, uint32_t num);

#endif
