/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The model, see model.h: the effects of work requests, computed when they are posted and completed. */
#include "model_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_error(struct model *m, const char *fmt, ...)
{
	va_list args;

	if (*m->error)
		return;
	va_start(args, fmt);
	vsnprintf(m->error, sizeof(m->error), fmt, args);
	va_end(args);
}

/* ------------------------------------------------------------ effects of requests */

/* Unreliable: true if messages may have been lost, duplicated or reordered. */
bool faulty(const struct m_qp *qp)
{
	const struct model *m = qp->model;

	return m->faults != qp->first_faults || m->ports != qp->first_ports || m->ports_down ||
	       model_broken(qp);
}

/* Returns the receive that a request consumes; NULL: none is posted, or the request needs none. */
const struct m_recv *recv_of(const struct m_qp *qp, const struct m_send *s)
{
	const struct m_qp *peer = qp->peer;

	return takes_recv(qp, s) && s->turn < peer->recvs ? &peer->recv[s->turn] : NULL;
}

/* Returns the statuses that the request's own faults permit, as bits; 0: the request is correct. */
uint32_t causes(const struct m_qp *qp, const struct m_send *s)
{
	static const uint32_t of[] = {
		[WRONG_LKEY] = BIT(IB_WC_LOC_PROT_ERR),
		[WRONG_LENGTH] = BIT(IB_WC_LOC_LEN_ERR),
		[WRONG_RKEY] = BIT(IB_WC_REM_ACCESS_ERR),
		[WRONG_ALIGNMENT] = BIT(IB_WC_REM_INV_REQ_ERR),
		[WRONG_ADDRESS] = 0,
		[WRONG_NOTHING] = 0,
	};
	const struct m_recv *r = recv_of(qp, s);
	uint32_t bits = of[s->wrong];

	if (!reliable(qp)) /* an unreliable requester gets no remote errors */
		return bits & ~REMOTE_CAUSES;
	if ((is_read(s) || is_atomic(s)) && !qp->attr.max_rd_atomic)
		bits |= BIT(IB_WC_LOC_QP_OP_ERR);
	if (r && is_send(s)) {
		if (r->length < s->length)
			bits |= BIT(IB_WC_REM_INV_REQ_ERR);
		if (r->wrong && s->length)
			bits |= BIT(IB_WC_REM_OP_ERR);
	}
	return bits;
}

/* True if a retry error has a known cause: a port, the end of the peer, or packets that met faults. */
static bool excuse(const struct m_qp *qp, uint32_t index)
{
	const struct model *m = qp->model;
	const struct m_send *s = &qp->send[index];
	uint64_t met = m->faults - s->faults;

	if (m->ports != s->ports || m->ports_down || qp->peer->killed || !alive(qp->peer->state) ||
	    met >= (qp->attr.retry_cnt + 1) / 2 + !qp->attr.retry_cnt)
		return true;
	/* a request that ends its responder, once sent, gets only one response */
	for (; met && index < qp->sends; index++)
		if ((causes(qp, &qp->send[index]) | qp->send[index].extra) & REMOTE_CAUSES)
			return true;
	return false;
}

/* ------------------------------------------------------- reads and atomics */

/* Executes an atomic on a copy of the target. Returns the value before. */
uint64_t atomic(const struct m_send *s, uint8_t *target)
{
	uint64_t old, new;

	memcpy(&old, target + s->target, sizeof(old));
	if (s->opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		new = old + s->compare_add;
	else
		new = old == s->compare_add ? s->swap : old;
	memcpy(target + s->target, &new, sizeof(new));
	return old;
}

/* True if a request behind a read may have changed a byte of the target before the read completed. */
static bool changed_later(const struct m_qp *qp, uint32_t index, uint32_t offset, uint8_t value)
{
	const struct m_send *s;
	uint8_t byte;

	for (index++; index < qp->sends; index++) {
		s = &qp->send[index];
		if (s->flags & IB_SEND_FENCE)
			return false; /* this request waited for the read, and so did all behind it */
		if (offset < s->target || offset - s->target >= s->length)
			continue;
		if (is_atomic(s))
			return true;
		if (!is_write(s))
			continue;
		gather(qp, s, offset - s->target, 1, &byte);
		if (byte == value)
			return true;
	}
	return false;
}

/* Checks the bytes of a read: the target's bytes in the read's turn, or bytes written since. */
static void check_read(struct m_qp *qp, uint32_t index)
{
	const struct m_send *s = &qp->send[index];
	const uint8_t *data = qp->peer->area[AREA_TARGET].copy + s->target;
	uint32_t i, k, at = 0;

	if (each_part(qp, s->piece, s->num, 0, data, s->length, is_there)) {
		each_part(qp, s->piece, s->num, 0, data, s->length, to_copy);
		return;
	}
	for (i = 0; i < s->num; i++) {
		const struct area *a = &qp->area[s->piece[i].area];

		for (k = 0; k < s->piece[i].length; k++, at++) {
			uint8_t real = a->real[s->piece[i].offset + k];

			if (real != data[at] && !changed_later(qp, index, s->target + at, real)) {
				model_error(qp->model,
					    "%s: byte %u of read %#llx is %#x, and should be %#x",
					    qp->name, at, (unsigned long long)s->wr_id, real,
					    data[at]);
				return;
			}
			a->copy[s->piece[i].offset + k] = real;
		}
	}
}

static void check_atomic(struct m_qp *qp, const struct m_send *s)
{
	uint64_t old = atomic(s, qp->peer->area[AREA_TARGET].copy);

	if (!each_part(qp, s->piece, s->num, 0, (uint8_t *)&old, sizeof(old), is_there))
		model_error(qp->model, "%s: atomic %#llx did not return %#llx", qp->name,
			    (unsigned long long)s->wr_id, (unsigned long long)old);
	each_part(qp, s->piece, s->num, 0, (uint8_t *)&old, sizeof(old), to_copy);
}

/* ------------------------------------------------------------- completions */

/* A request has completed with success: checks that the success is possible, and applies the request's effect. */
void succeed(struct m_qp *qp, uint32_t index)
{
	struct m_send *s = &qp->send[index];

	s->status = IB_WC_SUCCESS;
	qp->done = index + 1;
	if (qp->state == IB_QPS_SQD && index >= qp->held_from)
		model_error(qp->model, "%s: request %#llx was sent in state SQD", qp->name,
			    (unsigned long long)s->wr_id);
	if (causes(qp, s) || s->doomed)
		model_error(qp->model, "%s: request %#llx succeeded, though %s wrong", qp->name,
			    (unsigned long long)s->wr_id, s->doomed ? "one before it is" : "it is");
	if (!reliable(qp))
		return;
	qp->applied = index + 1;
	if (qp->executed < qp->done)
		qp->executed = qp->done;
	if (takes_recv(qp, s) && !recv_of(qp, s))
		model_error(qp->model, "%s: request %#llx succeeded without a receive", qp->name,
			    (unsigned long long)s->wr_id);
	if (is_write(s))
		gather(qp, s, 0, s->length, qp->peer->area[AREA_TARGET].copy + s->target);
	else if (is_read(s))
		check_read(qp, index);
	else if (is_atomic(s))
		check_atomic(qp, s);
}

static void check_failure(struct m_qp *qp, uint32_t index, const struct ib_wc *wc)
{
	const struct m_send *s = &qp->send[index];
	struct model *m = qp->model;
	uint32_t possible = causes(qp, s) | s->extra | BIT(IB_WC_WR_FLUSH_ERR);
	uint64_t least = 0;

	if (reliable(qp))
		possible |= BIT(IB_WC_RETRY_EXC_ERR);
	if (reliable(qp) && m->forced)
		possible |= REMOTE_CAUSES;
	if (reliable(qp) && (s->short_of_recv || m->rnr_forced) && qp->attr.rnr_retry < 7)
		possible |= BIT(IB_WC_RNR_RETRY_EXC_ERR);
	if (wc->status > IB_WC_CQ_OVERFLOW_ERR || !(possible & BIT(wc->status))) {
		model_error(m, "%s: request %#llx failed with status %d; possible were %#x",
			    qp->name, (unsigned long long)s->wr_id, wc->status, possible);
		return;
	}
	/* not before the time that the RNR retries take */
	if (wc->status == IB_WC_RNR_RETRY_EXC_ERR && !m->rnr_forced)
		least = qp->attr.rnr_retry * qp->peer->attr.rnr_ns;
	/* a packet under way when the peer ends may report a loss at once */
	if (wc->status == IB_WC_RETRY_EXC_ERR && m->faults == s->faults && m->ports == s->ports &&
	    !s->extra)
		least = (qp->attr.retry_cnt + !(qp->peer->killed && index + 1 < qp->sends)) *
			qp->attr.timeout_ns;
	if (m->now - s->posted_ns < least)
		model_error(
			m,
			"%s: request %#llx failed with status %d after %llu ns, before its retries",
			qp->name, (unsigned long long)s->wr_id, wc->status,
			(unsigned long long)(m->now - s->posted_ns));
	qp->excused = excuse(qp, index) || s->extra & BIT(wc->status);
}

static const uint8_t wc_opcode[] = {
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
};

static void send_completion(struct m_qp *qp, const struct ib_wc *wc)
{
	struct model *m = qp->model;
	uint32_t i = qp->done;
	struct m_send *s;
	bool stopped;

	/* unsignalled requests in front of one that completes have succeeded */
	for (; i < qp->sends && qp->send[i].wr_id != wc->wr_id; i++)
		if (stopped_before(qp, qp->send[i].epoch) || signalled(qp, &qp->send[i]))
			break;
	if (i == qp->sends || qp->send[i].wr_id != wc->wr_id) {
		model_error(m, "%s: a completion of request %#llx, too early, twice or of none",
			    qp->name, (unsigned long long)wc->wr_id);
		return;
	}
	while (qp->done < i)
		succeed(qp, qp->done);
	s = &qp->send[i];
	stopped = stopped_before(qp, s->epoch);
	if (s->epoch && !stopped && !stopped_before(qp, s->epoch - 1))
		model_error(m, "%s: request %#llx was posted after an SQE state without a cause",
			    qp->name, (unsigned long long)s->wr_id);
	if (wc->status == IB_WC_SUCCESS) {
		if (stopped || !signalled(qp, s))
			model_error(m, "%s: request %#llx completed with success, which %s",
				    qp->name, (unsigned long long)s->wr_id,
				    stopped ? "comes after a failed one" : "should not be seen");
		succeed(qp, i);
		if (wc->opcode != wc_opcode[s->opcode] || wc->wc_flags ||
		    ((is_read(s) || is_atomic(s)) && wc->byte_len != s->length))
			model_error(
				m,
				"%s: the completion of request %#llx has opcode %d, flags %#x, byte_len %u",
				qp->name, (unsigned long long)s->wr_id, wc->opcode, wc->wc_flags,
				wc->byte_len);
		return;
	}
	s->status = (uint8_t)wc->status;
	qp->done = i + 1;
	if (!stopped) {
		qp->failed = i;
		check_failure(qp, i, wc);
		if (!reliable(qp) && wc->status != IB_WC_WR_FLUSH_ERR && s->epoch == qp->epoch) {
			qp->doomed = true;
			if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD)
				qp->state = IB_QPS_SQE;
		}
	} else if (wc->status != IB_WC_WR_FLUSH_ERR) {
		model_error(m, "%s: request %#llx failed with status %d after another had failed",
			    qp->name, (unsigned long long)s->wr_id, wc->status);
	}
}

static uint8_t message[1 << 17];

/* Writes the GRH that a datagram arrives with. */
static void datagram_grh(const struct m_qp *from, const struct m_send *s, uint8_t *header)
{
	/* from BTH to ICRC, with the payload padded to words */
	uint32_t length = 12 + 8 + (has_imm(s) ? 4 : 0) + (s->length + 3) / 4 * 4 + 4;

	memcpy(header, from->attr.grh, IB_GRH_BYTES);
	header[4] = (uint8_t)(length >> 8);
	header[5] = (uint8_t)length;
}

/* True if the message writes into the receive's memory. */
static bool touches(const struct m_qp *from, const struct m_send *s)
{
	return is_send(s) && (s->length || has_grh(from));
}

/* Unreliable: true if the message is dropped and the receive kept, because the receive is too short. */
static bool too_long(const struct m_qp *from, const struct m_recv *r, const struct m_send *s)
{
	return !reliable(from) && is_send(s) && r->length < grh(from) + s->length;
}

/* Unreliable: returns the status with which the receive fails for this message; 0: the receive does not fail. */
static ib_wc_status misfit(const struct m_qp *from, const struct m_recv *r, const struct m_send *s)
{
	return !reliable(from) && r->wrong && touches(from, s) ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS;
}

/* Returns the receive for the next message; NULL: none. */
static const struct m_recv *first_recv(const struct m_qp *qp)
{
	return qp->received < qp->recvs ? &qp->recv[qp->received] : NULL;
}

/* Returns the message for the next receive. */
uint32_t next_message(const struct m_qp *from)
{
	const struct m_recv *r = first_recv(from->peer);
	const struct m_send *s;
	uint32_t i;

	for (i = from->next_taker; i < from->sends; i++) {
		s = &from->send[i];
		if (takes_recv(from, s) && !(r && too_long(from, r, s)))
			return i;
	}
	return NEVER;
}

/* A message that is too long may have written its first packets into the receive that stays. */
static void dropped_into(const struct m_qp *from, const struct m_recv *r, uint32_t before)
{
	uint32_t i;

	for (i = from->next_taker; i < before; i++)
		if (takes_recv(from, &from->send[i]) && too_long(from, r, &from->send[i]))
			anything(from->peer, r->piece, r->num);
}

void dropped_at_rest(const struct m_qp *from)
{
	const struct m_recv *r = first_recv(from->peer);

	if (r)
		dropped_into(from, r, from->sends);
}

/* True if the completion and the bytes are those of this message. */
static bool fits(const struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc,
		 const struct m_send *s)
{
	uint32_t flags = (has_imm(s) ? IB_WC_WITH_IMM : 0) |
			 (s->flags & IB_SEND_SOLICITED ? IB_WC_SOLICITED : 0) |
			 (has_grh(qp->peer) ? IB_WC_GRH : 0);

	if (wc->byte_len != s->length + grh(qp) || wc->wc_flags != flags ||
	    (has_imm(s) && wc->imm_data != s->imm) || misfit(qp->peer, r, s) ||
	    wc->opcode != (is_send(s) ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM))
		return false;
	if (!is_send(s))
		return true;
	if (has_grh(qp->peer)) {
		uint8_t header[IB_GRH_BYTES];

		datagram_grh(qp->peer, s, header);
		if (!each_part(qp, r->piece, r->num, 0, header, sizeof(header), is_there))
			return false;
	}
	gather(qp->peer, s, 0, s->length, message);
	return each_part(qp, r->piece, r->num, grh(qp), message, s->length, is_there);
}

/* True if this message may have caused the receive's completion. */
static bool belongs(const struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc,
		    const struct m_send *s)
{
	if (too_long(qp->peer, r, s))
		return false;
	if (wc->status == IB_WC_LOC_PROT_ERR && r->gone && touches(qp->peer, s))
		return true;
	if (wc->status != IB_WC_SUCCESS)
		return misfit(qp->peer, r, s) == wc->status;
	return fits(qp, r, wc, s);
}

/* Returns the message of a receive where messages may be lost: the next one that fits, or any. */
static uint32_t find_message(const struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc)
{
	const struct m_qp *from = qp->peer;
	uint32_t i;

	for (i = from->next_taker; i < from->sends; i++) {
		if (!takes_recv(from, &from->send[i]))
			continue;
		if (belongs(qp, r, wc, &from->send[i]))
			return i;
		if (!from->lossy && !faulty(from) && !too_long(from, r, &from->send[i]))
			return NEVER;
	}
	for (i = 0; i < from->next_taker && faulty(from); i++)
		if (takes_recv(from, &from->send[i]) && belongs(qp, r, wc, &from->send[i]))
			return i;
	return NEVER;
}

static void received(struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc)
{
	struct m_qp *from = qp->peer;
	uint32_t i = reliable(qp) ? next_message(from) : find_message(qp, r, wc);
	const struct m_send *s;
	uint8_t header[IB_GRH_BYTES];

	if (i == NEVER) {
		model_error(qp->model,
			    "%s: receive %#llx completed without a message that it could be: "
			    "opcode %d, %u bytes, flags %#x",
			    qp->name, (unsigned long long)r->wr_id, wc->opcode, wc->byte_len,
			    wc->wc_flags);
		return;
	}
	s = &from->send[i];
	dropped_into(from, r, i);
	if (from->next_taker <= i)
		from->next_taker = i + 1;
	if (from->executed <= i)
		from->executed = i + 1;
	qp->good++;
	if (causes(from, s) || !fits(qp, r, wc, s)) {
		model_error(
			qp->model,
			"%s: receive %#llx is not that of message %#llx%s: opcode %d, %u bytes, "
			"flags %#x, immediate %#x; it was sent with opcode %d, %u bytes, flags %#x, "
			"immediate %#x",
			qp->name, (unsigned long long)r->wr_id, (unsigned long long)s->wr_id,
			causes(from, s) ? ", which is wrong" : "", wc->opcode, wc->byte_len,
			wc->wc_flags, wc->imm_data, s->opcode, s->length, s->flags, s->imm);
		return;
	}
	if (has_grh(from)) {
		datagram_grh(from, s, header);
		each_part(qp, r->piece, r->num, 0, header, sizeof(header), to_copy);
	}
	if (is_send(s))
		each_part(qp, r->piece, r->num, grh(qp), message, s->length, to_copy);
	if (!reliable(qp) && (from->lossy || faulty(from)))
		anything(qp, r->piece, r->num);
}

static bool recv_failure_fits(const struct m_qp *from, const struct m_send *s,
			      const struct m_recv *r, ib_wc_status status)
{
	switch (status) {
	case IB_WC_LOC_LEN_ERR:
		return is_send(s) && r->length < s->length;
	case IB_WC_LOC_PROT_ERR:
		return (r->wrong || r->gone) && touches(from, s);
	case IB_WC_LOC_ACCESS_ERR: /* a write with immediate without the permission to write */
		return has_imm(s) && !is_send(s) &&
		       (causes(from, s) | s->extra) & BIT(IB_WC_REM_ACCESS_ERR);
	default:
		return false;
	}
}

/* Checks a receive's failure: its message does not fit, or one of its keys is wrong. */
static void recv_failure(struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc)
{
	struct m_qp *from = qp->peer;
	uint32_t i = reliable(qp) ? next_message(from) : find_message(qp, r, wc);
	static uint8_t data[1 << 17];
	const struct m_send *s = i == NEVER ? NULL : &from->send[i];

	/* the first packets of a message that is too long may meet a wrong key */
	if (!s && !reliable(qp) && qp->model->by_value && wc->status == IB_WC_LOC_PROT_ERR &&
	    (r->wrong || r->gone))
		s = from->sends ? &from->send[from->sends - 1] : NULL;
	if (!s || qp->recv_failed || (reliable(qp) && !recv_failure_fits(from, s, r, wc->status))) {
		model_error(qp->model, "%s: receive %#llx failed with status %d without a cause",
			    qp->name, (unsigned long long)r->wr_id, wc->status);
		return;
	}
	qp->recv_status = wc->status;
	if (!reliable(qp))
		anything(qp, r->piece, r->num);
	if (!is_send(s) || !reliable(qp))
		return;
	if (from->executed < i)
		from->executed = i;
	gather(from, s, 0, s->length, data);
	if (!each_part(qp, r->piece, r->num, 0, data, s->length, there_or_before))
		model_error(qp->model, "%s: failed receive %#llx has other bytes than its message",
			    qp->name, (unsigned long long)r->wr_id);
}

static void recv_completion(struct m_qp *qp, const struct ib_wc *wc)
{
	struct model *m = qp->model;
	const struct m_recv *r = &qp->recv[qp->received];

	if (qp->received == qp->recvs || r->wr_id != wc->wr_id) {
		model_error(m, "%s: a completion of receive %#llx, too early, twice or of none",
			    qp->name, (unsigned long long)wc->wr_id);
		return;
	}
	qp->received++;
	if (wc->status == IB_WC_SUCCESS) {
		if (qp->recv_failed)
			model_error(m,
				    "%s: receive %#llx completed with success after a failed one",
				    qp->name, (unsigned long long)wc->wr_id);
		received(qp, r, wc);
		return;
	}
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		recv_failure(qp, r, wc);
	else if (!reliable(qp))
		anything(qp, r->piece, r->num);
	qp->recv_failed = true;
}

/* The last completion of an overflowed queue: of its content only the queue pair is known. */
static void overflow_completion(struct m_qp *qp, const struct ib_wc *wc)
{
	bool recv = wc->wr_id >> 63;
	uint32_t i;

	if (!(recv ? qp->recvs_lost : qp->sends_lost))
		model_error(qp->model, "%s: completion %#llx overflowed, and no queue has",
			    qp->name, (unsigned long long)wc->wr_id);
	if (recv) {
		if (qp->received == qp->recvs || qp->recv[qp->received].wr_id != wc->wr_id)
			model_error(qp->model, "%s: receive %#llx overflowed out of its turn",
				    qp->name, (unsigned long long)wc->wr_id);
		return;
	}
	for (i = qp->done; i < qp->sends && qp->send[i].wr_id != wc->wr_id; i++)
		if (signalled(qp, &qp->send[i]))
			break;
	if (i == qp->sends || qp->send[i].wr_id != wc->wr_id)
		model_error(qp->model, "%s: request %#llx overflowed out of its turn", qp->name,
			    (unsigned long long)wc->wr_id);
}

void model_completion(struct m_qp *qp, const struct ib_wc *wc)
{
	qp->model->completions++;
	if (qp->state == IB_QPS_RESET)
		model_error(qp->model, "%s: a completion of %#llx after Reset", qp->name,
			    (unsigned long long)wc->wr_id);
	if (wc->status == IB_WC_CQ_OVERFLOW_ERR)
		overflow_completion(qp, wc);
	else if (wc->wr_id >> 63)
		recv_completion(qp, wc);
	else
		send_completion(qp, wc);
}

void model_event(struct m_qp *qp, ib_event_type type)
{
	if (type > IB_EVENT_SQ_DRAINED)
		model_error(qp->model, "%s: event %d", qp->name, type);
	else
		qp->events[type]++;
}

/* ------------------------------------------------------------------ posting */

static void *room(void *array, uint32_t num, uint32_t *there, size_t size)
{
	if (num < *there)
		return array;
	*there = *there ? 2 * *there : 64;
	array = realloc(array, *there * size);
	if (!array)
		abort();
	return array;
}

struct m_send *model_new_send(struct m_qp *qp)
{
	qp->send = room(qp->send, qp->sends, &qp->send_room, sizeof(*qp->send));
	memset(&qp->send[qp->sends], 0, offsetof(struct m_send, data));
	return &qp->send[qp->sends];
}

struct m_recv *model_new_recv(struct m_qp *qp)
{
	qp->recv = room(qp->recv, qp->recvs, &qp->recv_room, sizeof(*qp->recv));
	memset(&qp->recv[qp->recvs], 0, sizeof(*qp->recv));
	return &qp->recv[qp->recvs];
}

void model_posted_send(struct m_qp *qp)
{
	struct m_send *s = &qp->send[qp->sends++];
	const struct model *m = qp->model;

	s->posted_ns = m->now;
	/* an earlier packet that is delayed may arrive after this request */
	s->faults = qp->sends - 1 > qp->done ? s[-1].faults : m->faults;
	s->ports = m->ports;
	s->epoch = qp->epoch;
	s->doomed = qp->doomed;
	qp->doomed |= !reliable(qp) && causes(qp, s);
	if (takes_recv(qp, s)) {
		s->turn = qp->takers++;
		s->short_of_recv = s->turn >= qp->peer->recvs;
		qp->lossy |= s->short_of_recv;
	}
}

void model_posted_recv(struct m_qp *qp)
{
	qp->recvs++;
}

uint32_t model_sends_out(const struct m_qp *qp)
{
	return qp->sends - qp->done;
}

uint32_t model_recvs_out(const struct m_qp *qp)
{
	return qp->recvs - qp->received;
}

uint32_t model_recvs_lacking(const struct m_qp *qp)
{
	return qp->peer->takers > qp->recvs ? qp->peer->takers - qp->recvs : 0;
}

static bool overlaps(const struct piece *p, uint32_t num, uint32_t area, uint32_t offset,
		     uint32_t length)
{
	for (; num; p++, num--)
		if (p->area == area && p->offset < offset + length &&
		    offset < p->offset + p->length)
			return true;
	return false;
}

bool model_busy(const struct m_qp *qp, uint32_t area, uint32_t offset, uint32_t length)
{
	uint32_t i;

	/*
	 * bytes of a read's result that were sent again keep the result's place in use until their receive has been
	 * checked
	 */
	i = qp->next_taker < qp->applied ? qp->next_taker : qp->applied;
	for (; i < qp->sends; i++)
		if (overlaps(qp->send[i].piece, qp->send[i].num, area, offset, length))
			return true;
	for (i = qp->received; area == AREA_RECEIVE && i < qp->recvs; i++)
		if (overlaps(qp->recv[i].piece, qp->recv[i].num, area, offset, length))
			return true;
	return false;
}

void model_deregistered(struct m_qp *qp, uint32_t area)
{
	struct m_qp *who = area == AREA_TARGET || area == AREA_RECEIVE ? qp->peer : qp;
	uint32_t i;

	if (qp->model->by_value) /* a completed request of `who` may still be on the link */
		who->lossy = true;
	for (i = qp->received; i < qp->recvs && area == AREA_RECEIVE; i++) {
		qp->recv[i].gone = true;
		if (reliable(qp) && i >= who->takers) /* this request's message can not have begun */
			qp->recv[i].wrong = true;
	}
	for (i = who->done; i < who->sends; i++) {
		struct m_send *s = &who->send[i];

		if (area == AREA_TARGET && !is_send(s) && s->length && reliable(who))
			s->extra |= BIT(IB_WC_REM_ACCESS_ERR) | BIT(IB_WC_RETRY_EXC_ERR);
		else if (area == AREA_RECEIVE && touches(who, s) && reliable(who))
			s->extra |= BIT(IB_WC_REM_OP_ERR);
		else if (area != AREA_TARGET && overlaps(s->piece, s->num, area, 0, UINT32_MAX))
			s->extra |= BIT(IB_WC_LOC_PROT_ERR);
		who->lossy = true; /* only unreliable queue pairs look at the flag */
	}
}

/* ------------------------------------------------------------------- states */

void model_modified(struct m_qp *qp, ib_qp_state state, bool notify)
{
	if (state == IB_QPS_RESET || state == IB_QPS_ERR)
		qp->killed = true;
	if (state == IB_QPS_SQD && qp->state == IB_QPS_RTS)
		qp->held_from = qp->sends;
	if (state == IB_QPS_SQD) {
		qp->drains = notify;
		qp->events[IB_EVENT_SQ_DRAINED] = 0;
	}
	qp->state = state;
}

void model_overflowed(struct m_qp *qp, bool sends, bool recvs)
{
	qp->was_alive |= alive(qp->state) && !model_broken(qp);
	qp->sends_lost |= sends;
	qp->recvs_lost |= recvs;
	qp->killed = true;
}

void model_recovered(struct m_qp *qp)
{
	qp->epoch++;
	qp->doomed = false;
	qp->state = IB_QPS_RTS;
}

bool model_broken(const struct m_qp *qp)
{
	return qp->killed || qp->state == IB_QPS_ERR || qp->peer->killed ||
	       qp->peer->state == IB_QPS_ERR;
}

void model_connect(struct m_qp *qp, struct m_qp *peer, const struct m_attr *attr)
{
	qp->peer = peer;
	qp->attr = *attr;
	qp->state = IB_QPS_RTS;
	qp->sends = qp->done = qp->applied = qp->executed = qp->takers = qp->next_taker = 0;
	qp->recvs = qp->received = qp->good = 0;
	qp->failed = NEVER;
	qp->epoch = 0;
	qp->doomed = false;
	qp->recv_failed = qp->killed = qp->excused = false;
	qp->sends_lost = qp->recvs_lost = qp->was_alive = false;
	qp->recv_status = IB_WC_SUCCESS;
	qp->held_from = qp->drains = 0;
	qp->first_faults = qp->model->faults;
	qp->first_ports = qp->model->ports;
	qp->lossy = false;
	memset(qp->events, 0, sizeof(qp->events));
}
