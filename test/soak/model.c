/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The model: see model.h. */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(status) (1u << (status))
#define NEVER       UINT32_MAX

void model_error(struct model *m, const char *fmt, ...)
{
	va_list args;

	if (*m->error)
		return;
	va_start(args, fmt);
	vsnprintf(m->error, sizeof(m->error), fmt, args);
	va_end(args);
}

/* ------------------------------------------------------------ what requests are */

static bool is_read(const struct m_send *s)
{
	return s->opcode == IB_WR_RDMA_READ;
}

static bool is_atomic(const struct m_send *s)
{
	return s->opcode == IB_WR_ATOMIC_CMP_AND_SWP || s->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_write(const struct m_send *s)
{
	return s->opcode == IB_WR_RDMA_WRITE || s->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_send(const struct m_send *s)
{
	return s->opcode == IB_WR_SEND || s->opcode == IB_WR_SEND_WITH_IMM;
}

static bool has_imm(const struct m_send *s)
{
	return s->opcode == IB_WR_SEND_WITH_IMM || s->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static bool takes_recv(const struct m_send *s)
{
	return is_send(s) || s->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static bool signalled(const struct m_qp *qp, const struct m_send *s)
{
	return qp->attr.sig_all || s->flags & IB_SEND_SIGNALED;
}

static bool alive(ib_qp_state state)
{
	return state == IB_QPS_RTR || state == IB_QPS_RTS || state == IB_QPS_SQD;
}

static bool reliable(const struct m_qp *qp)
{
	return qp->attr.type == IB_QPT_RC;
}

/* Bytes before the message in a receive. */
static uint32_t grh(const struct m_qp *qp)
{
	return qp->attr.type == IB_QPT_UD ? IB_GRH_BYTES : 0;
}

/* Unreliable: may messages have been lost, doubled or reordered? */
static bool faulty(const struct m_qp *qp)
{
	const struct model *m = qp->model;

	return m->faults != qp->first_faults || m->ports != qp->first_ports || m->ports_down ||
	       model_broken(qp);
}

/* The receive that a request takes; NULL: not posted, or none. */
static const struct m_recv *recv_of(const struct m_qp *qp, const struct m_send *s)
{
	const struct m_qp *peer = qp->peer;

	return takes_recv(s) && s->turn < peer->recvs ? &peer->recv[s->turn] : NULL;
}

/* Statuses that the request itself is the cause of; 0: it is good. */
static uint32_t causes(const struct m_qp *qp, const struct m_send *s)
{
	static const uint32_t of[] = {
		[WRONG_LKEY] = BIT(IB_WC_LOC_PROT_ERR),
		[WRONG_LENGTH] = BIT(IB_WC_LOC_LEN_ERR),
		[WRONG_RKEY] = BIT(IB_WC_REM_ACCESS_ERR),
		[WRONG_ALIGNMENT] = BIT(IB_WC_REM_INV_REQ_ERR),
		[WRONG_NOTHING] = 0,
	};
	const struct m_recv *r = recv_of(qp, s);
	uint32_t bits = of[s->wrong];

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

#define REMOTE_CAUSES \
	(BIT(IB_WC_REM_ACCESS_ERR) | BIT(IB_WC_REM_INV_REQ_ERR) | BIT(IB_WC_REM_OP_ERR))

/* Was it in vain for another reason that so many retries were made? */
static bool excuse(const struct m_qp *qp, uint32_t index)
{
	const struct model *m = qp->model;
	const struct m_send *s = &qp->send[index];
	uint64_t met = m->faults - s->faults;

	if (m->ports != s->ports || m->ports_down || qp->peer->killed || !alive(qp->peer->state) ||
	    met >= (qp->attr.retry_cnt + 1) / 2 + !qp->attr.retry_cnt)
		return true;
	/* of one that ends its responder, sent already, one answer is all that there is */
	for (; met && index < qp->sends; index++)
		if ((causes(qp, &qp->send[index]) | qp->send[index].extra) & REMOTE_CAUSES)
			return true;
	return false;
}

/* ---------------------------------------------------------------- memory */

/* Copies a part of a request's data. What a request sends of a read's result is there when it is
 * sent. */
static void gather(const struct m_qp *qp, const struct m_send *s, uint32_t from, uint32_t length,
		   uint8_t *to)
{
	uint32_t i, n;

	if (s->flags & IB_SEND_INLINE) {
		memcpy(to, s->data + from, length);
		return;
	}
	for (i = 0; length && i < s->num; i++) {
		const struct piece *p = &s->piece[i];
		const struct area *a = &qp->area[p->area];

		if (from >= p->length) {
			from -= p->length;
			continue;
		}
		n = p->length - from < length ? p->length - from : length;
		memcpy(to, (p->area == AREA_RESULT ? a->real : a->copy) + p->offset + from, n);
		from = 0;
		to += n;
		length -= n;
	}
}

/* Calls for each contiguous part of pieces: the bytes that belong there. False: one said so. */
static bool each_part(const struct m_qp *qp, const struct piece *piece, uint32_t num, uint32_t from,
		      const uint8_t *data, uint32_t length,
		      bool (*part)(const struct area *a, uint32_t offset, const uint8_t *data,
				   uint32_t n))
{
	uint32_t n;

	for (; length && num; piece++, num--) {
		if (from >= piece->length) {
			from -= piece->length;
			continue;
		}
		n = piece->length - from < length ? piece->length - from : length;
		if (!part(&qp->area[piece->area], piece->offset + from, data, n))
			return false;
		from = 0;
		data += n;
		length -= n;
	}
	return true;
}

static bool is_there(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n)
{
	return !memcmp(a->real + offset, data, n);
}

static bool to_copy(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n)
{
	memcpy(a->copy + offset, data, n);
	return true;
}

/* Either the bytes are there, or what was there before. */
static bool there_or_before(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (a->real[offset + i] != data[i] && a->real[offset + i] != a->copy[offset + i])
			return false;
	memcpy(a->copy + offset, a->real + offset, n);
	return true;
}

static const char *const area_name[] = { "source", "receive", "result", "target" };

static void compare(const struct m_qp *qp, uint32_t area, const char *when)
{
	const struct area *a = &qp->area[area];
	uint32_t i;

	if (!memcmp(a->real, a->copy, a->size))
		return;
	for (i = 0; a->real[i] == a->copy[i]; i++)
		;
	model_error(qp->model, "%s: byte %u of the %s memory of %s is %#x, and should be %#x", when,
		    i, area_name[area], qp->name, a->real[i], a->copy[i]);
}

/* Executes an atomic on a copy of the target; returns what was there. */
static uint64_t atomic(const struct m_send *s, uint8_t *target)
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

/* May a byte of the target have been changed by a request after a read, while that was not
 * completed? */
static bool changed_later(const struct m_qp *qp, uint32_t index, uint32_t offset, uint8_t value)
{
	const struct m_send *s;
	uint8_t byte;

	for (index++; index < qp->sends; index++) {
		s = &qp->send[index];
		if (s->flags & IB_SEND_FENCE)
			return false; /* it waited for the read, and so did what is after it */
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

/* What a read has brought: what was in the target in its turn, or what has come there since. */
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

/* --------------------------------------------------------------- resolving */

/* It is said to be done: is that possible, and what does it do? */
static void succeed(struct m_qp *qp, uint32_t index)
{
	struct m_send *s = &qp->send[index];

	s->status = IB_WC_SUCCESS;
	qp->done = index + 1;
	if (qp->state == IB_QPS_SQD && index >= qp->held_from)
		model_error(qp->model, "%s: request %#llx was sent in state SQD", qp->name,
			    (unsigned long long)s->wr_id);
	if (!reliable(qp))
		return;
	qp->applied = index + 1;
	if (qp->executed < qp->done)
		qp->executed = qp->done;
	if (causes(qp, s))
		model_error(qp->model, "%s: request %#llx succeeded, though it is wrong", qp->name,
			    (unsigned long long)s->wr_id);
	if (takes_recv(s) && !recv_of(qp, s))
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
	uint32_t possible =
		causes(qp, s) | s->extra | BIT(IB_WC_WR_FLUSH_ERR) | BIT(IB_WC_RETRY_EXC_ERR);
	uint64_t least = 0;

	if (s->short_of_recv && qp->attr.rnr_retry < 7)
		possible |= BIT(IB_WC_RNR_RETRY_EXC_ERR);
	if (wc->status > IB_WC_CQ_OVERFLOW_ERR || !(possible & BIT(wc->status))) {
		model_error(m, "%s: request %#llx failed with status %d; possible were %#x",
			    qp->name, (unsigned long long)s->wr_id, wc->status, possible);
		return;
	}
	/* not sooner than the retries take */
	if (wc->status == IB_WC_RNR_RETRY_EXC_ERR)
		least = qp->attr.rnr_retry * qp->peer->attr.rnr_ns;
	/* what is on its way when the peer ends may say at once that something was lost */
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

	/* requests that complete invisibly have succeeded when a later one completes */
	for (; i < qp->sends && qp->send[i].wr_id != wc->wr_id; i++)
		if (qp->failed != NEVER || signalled(qp, &qp->send[i]))
			break;
	if (i == qp->sends || qp->send[i].wr_id != wc->wr_id) {
		model_error(m, "%s: a completion of request %#llx, too early, twice or of none",
			    qp->name, (unsigned long long)wc->wr_id);
		return;
	}
	while (qp->done < i)
		succeed(qp, qp->done);
	s = &qp->send[i];
	if (wc->status == IB_WC_SUCCESS) {
		if (qp->failed != NEVER || !signalled(qp, s))
			model_error(m, "%s: request %#llx completed with success, which %s",
				    qp->name, (unsigned long long)s->wr_id,
				    qp->failed != NEVER ? "comes after a failed one"
							: "should not be seen");
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
	if (qp->failed == NEVER) {
		qp->failed = i;
		check_failure(qp, i, wc);
	} else if (wc->status != IB_WC_WR_FLUSH_ERR) {
		model_error(m, "%s: request %#llx failed with status %d after another had failed",
			    qp->name, (unsigned long long)s->wr_id, wc->status);
	}
}

/* The message that the next receive gets. */
static uint32_t next_message(const struct m_qp *from)
{
	uint32_t i = from->next_taker;

	while (i < from->sends && !takes_recv(&from->send[i]))
		i++;
	return i < from->sends ? i : NEVER;
}

static uint8_t message[1 << 17];

/* Are the completion and the bytes those of this message? */
static bool fits(const struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc,
		 const struct m_send *s)
{
	uint32_t flags = (has_imm(s) ? IB_WC_WITH_IMM : 0) |
			 (s->flags & IB_SEND_SOLICITED ? IB_WC_SOLICITED : 0);

	if (wc->byte_len != s->length + grh(qp) || wc->wc_flags != flags ||
	    (has_imm(s) && wc->imm_data != s->imm) ||
	    wc->opcode != (is_send(s) ? IB_WC_RECV : IB_WC_RECV_RDMA_WITH_IMM))
		return false;
	if (!is_send(s))
		return true;
	gather(qp->peer, s, 0, s->length, message);
	return each_part(qp, r->piece, r->num, grh(qp), message, s->length, is_there);
}

/* The message of a receive, where messages may be lost: the next that fits, or any. */
static uint32_t find_message(const struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc)
{
	const struct m_qp *from = qp->peer;
	uint32_t i;

	for (i = from->next_taker; i < from->sends; i++) {
		if (!takes_recv(&from->send[i]))
			continue;
		if (fits(qp, r, wc, &from->send[i]))
			return i;
		if (!from->lossy && !faulty(from))
			return NEVER;
	}
	for (i = 0; i < from->next_taker && faulty(from); i++)
		if (takes_recv(&from->send[i]) && fits(qp, r, wc, &from->send[i]))
			return i;
	return NEVER;
}

/* A piece of memory may hold anything, such as the first part of a message that was lost. */
static void anything(const struct m_qp *qp, const struct piece *p, uint32_t num)
{
	for (; num; p++, num--)
		memcpy(qp->area[p->area].copy + p->offset, qp->area[p->area].real + p->offset,
		       p->length);
}

static void received(struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc)
{
	struct m_qp *from = qp->peer;
	uint32_t i = reliable(qp) ? next_message(from) : find_message(qp, r, wc);
	const struct m_send *s;

	if (i == NEVER) {
		model_error(qp->model,
			    "%s: receive %#llx completed without a message that it could be: "
			    "opcode %d, %u bytes, flags %#x",
			    qp->name, (unsigned long long)r->wr_id, wc->opcode, wc->byte_len,
			    wc->wc_flags);
		return;
	}
	s = &from->send[i];
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
		return is_send(s) && r->wrong && s->length;
	case IB_WC_LOC_ACCESS_ERR: /* a write with immediate that may not write */
		return has_imm(s) && !is_send(s) &&
		       (causes(from, s) | s->extra) & BIT(IB_WC_REM_ACCESS_ERR);
	default:
		return false;
	}
}

/* A message that did not fit, or a receive whose key is bad. */
static void recv_failure(struct m_qp *qp, const struct m_recv *r, const struct ib_wc *wc)
{
	struct m_qp *from = qp->peer;
	uint32_t i = next_message(from);
	static uint8_t data[1 << 17];
	const struct m_send *s = i == NEVER ? NULL : &from->send[i];

	if (!s || qp->recv_failed || !recv_failure_fits(from, s, r, wc->status)) {
		model_error(qp->model, "%s: receive %#llx failed with status %d without a cause",
			    qp->name, (unsigned long long)r->wr_id, wc->status);
		return;
	}
	qp->recv_status = wc->status;
	if (!is_send(s))
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

void model_completion(struct m_qp *qp, const struct ib_wc *wc)
{
	qp->model->completions++;
	if (qp->state == IB_QPS_RESET)
		model_error(qp->model, "%s: a completion of %#llx after Reset", qp->name,
			    (unsigned long long)wc->wr_id);
	if (wc->wr_id >> 63)
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
	s->faults = m->faults;
	s->ports = m->ports;
	if (takes_recv(s)) {
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

	/* what was sent of a read's result stays until its receive has been compared */
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
	struct m_qp *who = area == AREA_TARGET ? qp->peer : qp;
	uint32_t i;

	for (i = who->done; i < who->sends; i++) {
		struct m_send *s = &who->send[i];

		if (area == AREA_TARGET && !is_send(s) && s->length)
			s->extra |= BIT(IB_WC_REM_ACCESS_ERR) | BIT(IB_WC_RETRY_EXC_ERR);
		if (area != AREA_TARGET && overlaps(s->piece, s->num, area, 0, UINT32_MAX))
			s->extra |= BIT(IB_WC_LOC_PROT_ERR);
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
	qp->recv_failed = qp->killed = qp->excused = false;
	qp->recv_status = IB_WC_SUCCESS;
	qp->held_from = qp->drains = 0;
	qp->first_faults = qp->model->faults;
	qp->first_ports = qp->model->ports;
	qp->lossy = false;
	memset(qp->events, 0, sizeof(qp->events));
}

/* ------------------------------------------------------------------ at rest */

/* The peer's request that certainly ended this queue pair, as its responder; NULL: none. */
static const struct m_send *killer(const struct m_qp *qp)
{
	const struct m_qp *peer = qp->peer;
	const struct m_send *s;

	if (peer->failed == NEVER)
		return NULL;
	s = &peer->send[peer->failed];
	return REMOTE_CAUSES & BIT(s->status) ? s : NULL;
}

/* Is there one that may have, without its sender being told: the NAK was lost, or he has ended
 * himself? */
static bool maybe_killed(const struct m_qp *qp)
{
	const struct m_qp *peer = qp->peer;
	uint32_t i = peer->failed == NEVER ? peer->done : peer->failed;
	const struct m_send *s;

	if (peer->failed == NEVER ? !peer->killed : !(peer->killed || peer->excused))
		return false;
	for (; i < peer->sends; i++) {
		s = &peer->send[i];
		if ((causes(peer, s) | s->extra) & REMOTE_CAUSES)
			return true;
	}
	return false;
}

static uint32_t failure(const struct m_qp *qp)
{
	return qp->failed == NEVER ? IB_WC_SUCCESS : qp->send[qp->failed].status;
}

/* Is there a cause for its end, of its own or the peer's requests'? */
static bool explained(const struct m_qp *qp)
{
	uint32_t status = failure(qp);

	return qp->killed || killer(qp) || maybe_killed(qp) || qp->recv_status ||
	       (status == IB_WC_RETRY_EXC_ERR && qp->excused) ||
	       (status != IB_WC_SUCCESS && status != IB_WC_WR_FLUSH_ERR &&
		status != IB_WC_RETRY_EXC_ERR);
}

static void check_dead(struct m_qp *qp)
{
	struct model *m = qp->model;

	if (!explained(qp) &&
	    !(failure(qp) == IB_WC_RETRY_EXC_ERR && !alive(qp->peer->state) && explained(qp->peer)))
		model_error(m, "%s is in the Error state, first status %u, without a cause",
			    qp->name, failure(qp));
	/* those that are not seen have succeeded before */
	while (qp->failed == NEVER && qp->done < qp->sends && !signalled(qp, &qp->send[qp->done]) &&
	       !*m->error)
		succeed(qp, qp->done);
	if (qp->done != qp->sends)
		model_error(m, "%s is in the Error state, and request %#llx was not completed",
			    qp->name, (unsigned long long)qp->send[qp->done].wr_id);
	if (qp->received != qp->recvs)
		model_error(m, "%s is in the Error state, and receive %#llx was not completed",
			    qp->name, (unsigned long long)qp->recv[qp->received].wr_id);
}

static void check_alive(struct m_qp *qp)
{
	struct model *m = qp->model;

	if (qp->failed != NEVER || qp->recv_failed)
		model_error(m, "%s: requests failed, and it is not in the Error state", qp->name);
	if (killer(qp))
		model_error(m, "%s is not in the Error state after request %#llx", qp->name,
			    (unsigned long long)killer(qp)->wr_id);
	while (qp->state != IB_QPS_SQD && qp->done < qp->sends && !*m->error) {
		if (signalled(qp, &qp->send[qp->done]))
			model_error(m, "%s: request %#llx was never completed", qp->name,
				    (unsigned long long)qp->send[qp->done].wr_id);
		succeed(qp, qp->done);
	}
	if (qp->done == qp->sends && alive(qp->peer->state) && next_message(qp) != NEVER &&
	    (reliable(qp) || !(qp->lossy || faulty(qp))))
		model_error(m, "%s: message %#llx was never received", qp->name,
			    (unsigned long long)qp->send[next_message(qp)].wr_id);
}

static void check_events(struct m_qp *qp)
{
	const struct m_send *s = killer(qp);
	/* a receive that fails says it as well */
	uint32_t access =
		s && s->status == IB_WC_REM_ACCESS_ERR && qp->recv_status != IB_WC_LOC_ACCESS_ERR;
	uint32_t request = s && s->status == IB_WC_REM_INV_REQ_ERR && s->wrong == WRONG_ALIGNMENT;
	uint32_t maybe = maybe_killed(qp);
	uint32_t *e = qp->events;

	if (qp->state == IB_QPS_RESET)
		return;
	if (s && ((s->status == IB_WC_REM_OP_ERR && qp->recv_status != IB_WC_LOC_PROT_ERR) ||
		  (s->status == IB_WC_REM_INV_REQ_ERR && !s->wrong &&
		   qp->recv_status != IB_WC_LOC_LEN_ERR)))
		model_error(qp->model, "%s: no receive failed with request %#llx", qp->name,
			    (unsigned long long)s->wr_id);
	if (e[IB_EVENT_QP_FATAL] || e[IB_EVENT_COMM_EST])
		model_error(qp->model, "%s: an event that nothing is the cause of", qp->name);
	if (e[IB_EVENT_QP_ACCESS_ERR] < access || e[IB_EVENT_QP_ACCESS_ERR] > access + maybe ||
	    e[IB_EVENT_QP_REQ_ERR] < request || e[IB_EVENT_QP_REQ_ERR] > request + maybe)
		model_error(qp->model, "%s: %u access and %u request events; %u and %u belong here",
			    qp->name, e[IB_EVENT_QP_ACCESS_ERR], e[IB_EVENT_QP_REQ_ERR], access,
			    request);
	if (e[IB_EVENT_SQ_DRAINED] > qp->drains ||
	    (qp->state == IB_QPS_SQD && e[IB_EVENT_SQ_DRAINED] < qp->drains))
		model_error(qp->model, "%s: %u events that the send queue is drained, of %u",
			    qp->name, e[IB_EVENT_SQ_DRAINED], qp->drains);
}

/* Everything is done: the lists begin anew, with the receives that are still there. */
static void compact(struct m_qp *qp)
{
	struct m_qp *peer = qp->peer;

	qp->sends = qp->done = qp->applied = qp->executed = qp->takers = qp->next_taker = 0;
	if (peer->recvs != peer->received)
		memmove(peer->recv, peer->recv + peer->received,
			(peer->recvs - peer->received) * sizeof(*peer->recv));
	peer->recvs -= peer->received;
	peer->received = peer->good = 0;
	qp->lossy = false;
}

/* May a write have brought this byte? */
static bool written(const struct m_qp *qp, uint32_t offset, uint8_t value)
{
	const struct m_send *s;
	uint8_t byte;

	for (s = qp->send; s < qp->send + qp->sends; s++) {
		if (!is_write(s) || offset < s->target || offset - s->target >= s->length)
			continue;
		gather(qp, s, offset - s->target, 1, &byte);
		if (byte == value)
			return true;
	}
	return false;
}

/* What the writes of an unreliable connection have done, and lost messages to receives. */
static void check_unreliable(struct m_qp *qp, const char *when)
{
	struct m_qp *peer = qp->peer;
	struct area *target = &peer->area[AREA_TARGET];
	bool exact = !qp->lossy && !faulty(qp);
	uint32_t i;

	for (i = 0; i < qp->sends && exact; i++)
		if (is_write(&qp->send[i]))
			gather(qp, &qp->send[i], 0, qp->send[i].length,
			       target->copy + qp->send[i].target);
	for (i = 0; i < target->size && !exact; i++)
		if (target->real[i] != target->copy[i] && written(qp, i, target->real[i]))
			target->copy[i] = target->real[i];
	for (i = peer->received; i < peer->recvs && !exact; i++)
		anything(peer, peer->recv[i].piece, peer->recv[i].num);
	compare(qp, AREA_SOURCE, when);
	compare(peer, AREA_TARGET, when);
	compare(peer, AREA_RECEIVE, when);
}

void model_rest(struct model *m, const ib_qp_state *state)
{
	struct m_qp *qp;

	for (qp = m->qp; qp < m->qp + m->qps; qp++)
		if (state[qp - m->qp] == IB_QPS_ERR || qp->state != state[qp - m->qp]) {
			if (state[qp - m->qp] != IB_QPS_ERR)
				model_error(m, "%s is in state %d, and should be in %d", qp->name,
					    state[qp - m->qp], qp->state);
			qp->state = state[qp - m->qp];
		}
	for (qp = m->qp; qp < m->qp + m->qps && !*m->error; qp++)
		if (qp->state == IB_QPS_ERR)
			check_dead(qp);
		else if (alive(qp->state))
			check_alive(qp);
	for (qp = m->qp; qp < m->qp + m->qps && !*m->error; qp++) {
		check_events(qp);
		if (model_broken(qp) || qp->done != qp->sends)
			continue;
		if (!reliable(qp)) {
			check_unreliable(qp, "at rest");
			/* a packet may still be held back */
			if (qp->state == IB_QPS_RTS && !faulty(qp))
				compact(qp);
			continue;
		}
		compare(qp, AREA_SOURCE, "at rest");
		compare(qp, AREA_RESULT, "at rest");
		compare(qp->peer, AREA_RECEIVE, "at rest");
		compare(qp->peer, AREA_TARGET, "at rest");
		if (qp->state == IB_QPS_RTS)
			compact(qp);
	}
}

/* ------------------------------------------------------------- after an end */

static bool same(const struct area *a)
{
	return !memcmp(a->real, a->copy, a->size);
}

/* Does the next packet of a request; false: that was its last. */
static bool packet(struct m_qp *qp, const struct m_send *s, uint32_t *at)
{
	struct m_qp *peer = qp->peer;
	const struct m_recv *r = recv_of(qp, s);
	uint32_t n = s->length - *at < qp->attr.mtu ? s->length - *at : qp->attr.mtu;
	uint8_t data[4096];

	if (is_atomic(s)) {
		atomic(s, peer->area[AREA_TARGET].copy);
		return false;
	}
	if (is_read(s))
		return false;
	gather(qp, s, *at, n, data);
	if (is_write(s))
		memcpy(peer->area[AREA_TARGET].copy + s->target + *at, data, n);
	else if (r && s->turn >= peer->good)
		each_part(peer, r->piece, r->num, *at, data, n, to_copy);
	*at += n;
	return *at < s->length;
}

/* Is there a first part of the requests whose effect is the memory as it is? */
void model_disconnected(struct m_qp *qp)
{
	struct m_qp *peer = qp->peer;
	uint32_t i, at, k;
	struct m_send *s;

	if (!reliable(qp)) {
		check_unreliable(qp, "after the end");
		return;
	}
	/* what failed reads and atomics have brought is anything */
	for (i = qp->applied; i < qp->sends; i++)
		for (k = 0, s = &qp->send[i]; k < s->num && (is_read(s) || is_atomic(s)); k++)
			memcpy(qp->area[s->piece[k].area].copy + s->piece[k].offset,
			       qp->area[s->piece[k].area].real + s->piece[k].offset,
			       s->piece[k].length);
	compare(qp, AREA_SOURCE, "after the end");
	compare(qp, AREA_RESULT, "after the end");
	/* messages that are acknowledged are received, seen or not */
	for (i = qp->next_taker; i < qp->applied; i++)
		for (at = 0; is_send(&qp->send[i]) && packet(qp, &qp->send[i], &at);)
			;
	for (i = qp->applied, at = 0;;) {
		if (i >= qp->executed && same(&peer->area[AREA_TARGET]) &&
		    same(&peer->area[AREA_RECEIVE]))
			return;
		s = &qp->send[i];
		/* wrong ones do nothing, but for a message that is too long: its first packets */
		if (i == qp->sends ||
		    (causes(qp, s) && (s->wrong || s->length <= at + qp->attr.mtu)))
			break;
		if (causes(qp, s) && recv_of(qp, s)->length < at + qp->attr.mtu)
			break;
		if (!packet(qp, s, &at)) {
			at = 0;
			i++;
		}
	}
	compare(peer, AREA_RECEIVE, "after the end, whatever was executed");
	compare(peer, AREA_TARGET, "after the end, whatever was executed");
}
