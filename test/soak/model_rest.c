/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The model, see model.h: memory, and the checks at rest and after an end. */
#include "model_internal.h"

#include <string.h>

/* ---------------------------------------------------------------- memory */

/* Copies a part of a request's data. A part of a read's result is there when the request sends it. */
void gather(const struct m_qp *qp, const struct m_send *s, uint32_t from, uint32_t length,
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

/*
 * Calls a function for each contiguous part of the pieces, with the bytes that belong there. False: one call returned
 * false.
 */
bool each_part(const struct m_qp *qp, const struct piece *piece, uint32_t num, uint32_t from,
	       const uint8_t *data, uint32_t length,
	       bool (*part)(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n))
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

bool is_there(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n)
{
	return !memcmp(a->real + offset, data, n);
}

bool to_copy(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n)
{
	memcpy(a->copy + offset, data, n);
	return true;
}

/* Checks that each byte is the new byte or the byte before, and copies the bytes found. */
bool there_or_before(const struct area *a, uint32_t offset, const uint8_t *data, uint32_t n)
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

/* A piece of memory may hold anything, such as the first part of a message that was lost. */
void anything(const struct m_qp *qp, const struct piece *p, uint32_t num)
{
	for (; num; p++, num--)
		memcpy(qp->area[p->area].copy + p->offset, qp->area[p->area].real + p->offset,
		       p->length);
}

/* ------------------------------------------------------------------ at rest */

/* Returns the peer's request that has certainly ended this queue pair, as its responder; NULL: none. */
static const struct m_send *killer(const struct m_qp *qp)
{
	const struct m_qp *peer = qp->peer;
	const struct m_send *s;

	if (peer->failed == NEVER)
		return NULL;
	s = &peer->send[peer->failed];
	return REMOTE_CAUSES & BIT(s->status) ? s : NULL;
}

/*
 * True if a request of the peer may have ended this queue pair without a status for the peer: the NAK was lost, or
 * the peer has ended itself.
 */
static bool maybe_killed(const struct m_qp *qp)
{
	const struct m_qp *peer = qp->peer;
	const bool any = qp->model->forced || qp->model->by_value;
	uint32_t i = any ? 0 : peer->failed == NEVER ? peer->done : peer->failed;
	const struct m_send *s;

	if (!reliable(qp))
		return false;
	if (peer != qp && !any &&
	    (peer->failed == NEVER ? !peer->killed : !(peer->killed || peer->excused)))
		return false;
	for (; i < peer->sends; i++) {
		s = &peer->send[i];
		if (i < peer->done && s->status == IB_WC_SUCCESS && !qp->model->forced)
			continue;
		if (qp->model->forced || (causes(peer, s) | s->extra) & REMOTE_CAUSES)
			return true;
	}
	return false;
}

static uint32_t failure(const struct m_qp *qp)
{
	return qp->failed == NEVER ? IB_WC_SUCCESS : qp->send[qp->failed].status;
}

/* True if the queue pair's end has a cause, among its own requests or the peer's. */
static bool explained(const struct m_qp *qp)
{
	uint32_t status = failure(qp);

	if (!reliable(qp)) /* a failed send stops only the send queue */
		return qp->killed || qp->recv_status;
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
	/* requests without a completion have succeeded before */
	while (!qp->sends_lost && qp->done < qp->sends &&
	       !stopped_before(qp, qp->send[qp->done].epoch) &&
	       !signalled(qp, &qp->send[qp->done]) && !*m->error)
		succeed(qp, qp->done);
	if (qp->done != qp->sends && !qp->sends_lost)
		model_error(m, "%s is in the Error state, and request %#llx was not completed",
			    qp->name, (unsigned long long)qp->send[qp->done].wr_id);
	if (qp->received != qp->recvs && !qp->recvs_lost)
		model_error(m, "%s is in the Error state, and receive %#llx was not completed",
			    qp->name, (unsigned long long)qp->recv[qp->received].wr_id);
}

static void check_alive(struct m_qp *qp)
{
	struct model *m = qp->model;

	bool stopped = stopped_before(qp, qp->epoch), sqe = qp->state == IB_QPS_SQE;

	if (qp->sends_lost || qp->recvs_lost)
		model_error(m, "%s is in state %d after its completion queue has overflowed",
			    qp->name, qp->state);
	if ((stopped && !sqe) || qp->recv_failed)
		model_error(m, "%s: requests failed, and it is in state %d", qp->name, qp->state);
	if (sqe && (!stopped || failure(qp) == IB_WC_WR_FLUSH_ERR))
		model_error(m, "%s is in the SQE state, first status %u, without a cause", qp->name,
			    stopped ? failure(qp) : 0);
	/* memory that was deregistered before a read was repeated ends only the requester */
	if (killer(qp) && !(killer(qp)->extra & BIT(IB_WC_REM_ACCESS_ERR)))
		model_error(m, "%s is not in the Error state after request %#llx", qp->name,
			    (unsigned long long)killer(qp)->wr_id);
	while (qp->state != IB_QPS_SQD && qp->done < qp->sends && !*m->error) {
		if (sqe || signalled(qp, &qp->send[qp->done]))
			model_error(m, "%s: request %#llx was never completed", qp->name,
				    (unsigned long long)qp->send[qp->done].wr_id);
		succeed(qp, qp->done);
	}
	if (qp->done == qp->sends && alive(qp->peer->state) && next_message(qp) != NEVER &&
	    (reliable(qp) || !(qp->lossy || faulty(qp))))
		model_error(m, "%s: message %#llx was never received", qp->name,
			    (unsigned long long)qp->send[next_message(qp)].wr_id);
}

/* True if an overflow has certainly ended the queue pair. */
static bool overflow_ended(const struct m_qp *qp)
{
	return qp->was_alive && reliable(qp) && !qp->sends_lost && !killer(qp) &&
	       !maybe_killed(qp) &&
	       (failure(qp) == IB_WC_SUCCESS || failure(qp) == IB_WC_WR_FLUSH_ERR);
}

static void check_events(struct m_qp *qp)
{
	const struct m_send *s = killer(qp);
	/* a failed receive reports that, too */
	uint32_t access =
		s && s->status == IB_WC_REM_ACCESS_ERR && qp->recv_status != IB_WC_LOC_ACCESS_ERR;
	uint32_t request = s && s->status == IB_WC_REM_INV_REQ_ERR && s->wrong == WRONG_ALIGNMENT;
	uint32_t maybe = maybe_killed(qp);
	/* memory that was deregistered before a read was repeated: only the requester gets a status */
	uint32_t unsaid = access && (s->extra & BIT(IB_WC_REM_ACCESS_ERR) || qp->recvs_lost);
	uint32_t *e = qp->events;

	if (qp->state == IB_QPS_RESET)
		return;
	if (s && !qp->model->forced && !qp->recvs_lost &&
	    ((s->status == IB_WC_REM_OP_ERR && qp->recv_status != IB_WC_LOC_PROT_ERR) ||
	     (s->status == IB_WC_REM_INV_REQ_ERR && !s->wrong &&
	      qp->recv_status != IB_WC_LOC_LEN_ERR)))
		model_error(qp->model, "%s: no receive failed with request %#llx", qp->name,
			    (unsigned long long)s->wr_id);
	if (e[IB_EVENT_COMM_EST] || e[IB_EVENT_QP_FATAL] > (qp->sends_lost || qp->recvs_lost))
		model_error(qp->model, "%s: an event that nothing is the cause of", qp->name);
	if (overflow_ended(qp) && !e[IB_EVENT_QP_FATAL])
		model_error(qp->model, "%s: no event that it has ended with its completion queue",
			    qp->name);
	if (e[IB_EVENT_QP_ACCESS_ERR] + unsaid < access ||
	    e[IB_EVENT_QP_ACCESS_ERR] > access + maybe || e[IB_EVENT_QP_REQ_ERR] < request ||
	    e[IB_EVENT_QP_REQ_ERR] > request + maybe)
		model_error(qp->model, "%s: %u access and %u request events; %u and %u belong here",
			    qp->name, e[IB_EVENT_QP_ACCESS_ERR], e[IB_EVENT_QP_REQ_ERR], access,
			    request);
	if (e[IB_EVENT_SQ_DRAINED] > qp->drains ||
	    (qp->state == IB_QPS_SQD && e[IB_EVENT_SQ_DRAINED] < qp->drains))
		model_error(qp->model, "%s: %u events that the send queue is drained, of %u",
			    qp->name, e[IB_EVENT_SQ_DRAINED], qp->drains);
}

/* Everything is resolved: empties the lists, but for the receives that are still posted. */
static void compact(struct m_qp *qp)
{
	struct m_qp *peer = qp->peer;

	qp->sends = qp->done = qp->applied = qp->executed = qp->takers = qp->next_taker = 0;
	qp->failed = NEVER; /* the queue pair has recovered from SQE */
	qp->epoch = 0;
	if (peer->recvs != peer->received)
		memmove(peer->recv, peer->recv + peer->received,
			(peer->recvs - peer->received) * sizeof(*peer->recv));
	peer->recvs -= peer->received;
	peer->received = peer->good = 0;
	qp->lossy = false;
}

/* True if a write may have written this byte. */
static bool written(const struct m_qp *qp, uint32_t offset, uint8_t value)
{
	const struct m_send *s;
	uint8_t byte;

	for (s = qp->send; s < qp->send + qp->sends; s++) {
		if (!is_write(s) || in_vain(qp, s) || offset < s->target ||
		    offset - s->target >= s->length)
			continue;
		gather(qp, s, offset - s->target, 1, &byte);
		if (byte == value)
			return true;
	}
	return false;
}

/* Checks the targets of an unreliable connection's writes, and the targets of lost messages. */
static void check_unreliable(struct m_qp *qp, const char *when)
{
	struct m_qp *peer = qp->peer;
	struct area *target = &peer->area[AREA_TARGET];
	bool exact = !qp->lossy && !faulty(qp);
	uint32_t i;

	for (i = 0; i < qp->sends && exact; i++)
		if (is_write(&qp->send[i]) && !in_vain(qp, &qp->send[i]))
			gather(qp, &qp->send[i], 0, qp->send[i].length,
			       target->copy + qp->send[i].target);
	for (i = 0; i < target->size && !exact; i++)
		if (target->real[i] != target->copy[i] && written(qp, i, target->real[i]))
			target->copy[i] = target->real[i];
	for (i = peer->received; i < peer->recvs && !exact; i++)
		anything(peer, peer->recv[i].piece, peer->recv[i].num);
	dropped_at_rest(qp);
	compare(qp, AREA_SOURCE, when);
	compare(peer, AREA_TARGET, when);
	compare(peer, AREA_RECEIVE, when);
}

void model_rest(struct model *m, const ib_qp_state *state)
{
	struct m_qp *qp;

	for (qp = m->qp; qp < m->qp + m->qps; qp++) {
		ib_qp_state is = state[qp - m->qp];

		if (qp->state != is && is != IB_QPS_ERR)
			model_error(m, "%s is in state %d, and should be in %d", qp->name, is,
				    qp->state);
		qp->state = is;
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
			/* a packet may still be delayed */
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

/* Applies the next packet of a request. False: that was the last packet. */
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

/* Looks for a first part of the requests that explains the memory. */
void model_disconnected(struct m_qp *qp)
{
	struct m_qp *peer = qp->peer;
	uint32_t i, at, k;
	struct m_send *s;

	if (!reliable(qp)) {
		check_unreliable(qp, "after the end");
		return;
	}
	/* the results of failed reads and atomics may be anything */
	for (i = qp->applied; i < qp->sends; i++)
		for (k = 0, s = &qp->send[i]; k < s->num && (is_read(s) || is_atomic(s)); k++)
			memcpy(qp->area[s->piece[k].area].copy + s->piece[k].offset,
			       qp->area[s->piece[k].area].real + s->piece[k].offset,
			       s->piece[k].length);
	compare(qp, AREA_SOURCE, "after the end");
	compare(qp, AREA_RESULT, "after the end");
	/* acknowledged messages are received, with or without a known completion */
	for (i = qp->next_taker; i < qp->applied; i++)
		for (at = 0; is_send(&qp->send[i]) && packet(qp, &qp->send[i], &at);)
			;
	for (i = qp->applied, at = 0;;) {
		if (i >= qp->executed && same(&peer->area[AREA_TARGET]) &&
		    same(&peer->area[AREA_RECEIVE]))
			return;
		s = &qp->send[i];
		/* a wrong request has no effect, except for the first packets of a message that is too long */
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
	compare(peer, AREA_RECEIVE, "after the end and what was executed by then");
	compare(peer, AREA_TARGET, "after the end and what was executed by then");
}
