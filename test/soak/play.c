/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Plays an episode: makes each operation with the HCA, tells the model, and has the model check the results. Objects
 * and connections are in pair.c, work requests in post.c.
 */
#include "play_internal.h"
#include "test/link/queue_link.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void say(struct play *p, const char *fmt, ...)
{
	va_list args;

	if (!p->verbose)
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
}

void note(struct play *p, uint64_t value)
{
	p->trace = (p->trace ^ value) * 0x100000001b3ull;
	p->trace ^= p->trace >> 29;
}

void must(struct play *p, al_status status, const char *what)
{
	if (status)
		model_error(&p->m, "%s: %d (%s)", what, status, bed_log);
}

/* -------------------------------------------------------------- time, polling */

/* Tells the model which queues have overflowed. Those were full at that moment. */
static void notice_overflows(struct play *p)
{
	uint32_t h, i;
	struct end *e;

	for (h = 0; h < bed_hcas && p->wide; h++)
		for (i = 0; i < CQS; i++) {
			struct queue *q = &p->cq[h][i];

			if (q->over || !q->bed.errors)
				continue;
			say(p, "    completion queue %u of HCA %u overflows\n", i, h);
			q->over = true;
			q->left = q->cqe + 1;
			q->unsure = false;
			for (e = p->end; e < p->end + p->m.qps; e++)
				if (e->ci && (e->send_cq == q || e->recv_cq == q))
					model_overflowed(e->m, e->send_cq == q, e->recv_cq == q);
		}
}

static uint32_t step(struct play *p, uint64_t choice)
{
	uint32_t did = bed_step(choice, &p->m.now);

	notice_overflows(p);
	note(p, p->m.now << 2 | did);
	p->steps++;
	return did;
}

static struct end *find_qp(struct play *p, uint32_t hca, uint32_t qpn)
{
	struct end *e;

	for (e = p->end; e < p->end + p->m.qps; e++)
		if (e->ci && e->hca == hca && e->ci->qp_num == qpn)
			return e;
	return NULL;
}

/* True if the completion would satisfy the arm of the queue. */
static bool wanted(const struct queue *q, const struct ib_wc *wc)
{
	return q->armed == AL_ARM_ANY || (q->armed && wc->status != IB_WC_SUCCESS) ||
	       (q->armed == AL_ARM_SOLICITED && wc->wc_flags & IB_WC_SOLICITED);
}

static void one_completion(struct play *p, uint32_t hca, struct queue *q, const struct ib_wc *wc)
{
	struct end *e = find_qp(p, hca, wc->qp_num);

	say(p, "    %s: completion of %#llx, status %d, opcode %d, %u bytes, flags %#x\n",
	    e ? e->m->name : "?", (unsigned long long)wc->wr_id, wc->status, wc->opcode,
	    wc->byte_len, wc->wc_flags);
	note(p, wc->wr_id);
	note(p, (uint64_t)wc->status << 32 | wc->byte_len);
	if (!e || wc->qp_context != e) {
		model_error(
			&p->m,
			"a completion of queue pair %#x, which is not there, or not with its context",
			wc->qp_num);
		return;
	}
	if ((wc->wr_id >> 63 ? e->recv_cq : e->send_cq) != q)
		model_error(&p->m, "%s: a completion in the wrong queue", e->m->name);
	if (e->attr.type == IB_QPT_UD && wc->wr_id >> 63 && !wc->status &&
	    (wc->src_qp != e->peer_qpn || wc->port_num != e->port || wc->slid != e->peer_lid ||
	     wc->sl != peer_of(p, e)->sl))
		model_error(
			&p->m,
			"%s: a datagram of queue pair %#x by port %u, LID %#x, SL %u, and not of %#x",
			e->m->name, wc->src_qp, wc->port_num, wc->slid, wc->sl, e->peer_qpn);
	if (wanted(q, wc)) {
		if (!q->bed.notified)
			model_error(&p->m, "%s: no notification of completion %#llx", e->m->name,
				    (unsigned long long)wc->wr_id);
		q->armed = AL_ARM_NONE;
		q->satisfied = true;
	}
	p->m.faults = bed_faults();
	model_completion(e->m, wc);
}

/* Polls an overflowed queue: it still has as many completions as entries, and the one that found no room. */
static void polled_overflowed(struct play *p, struct queue *q, al_status status,
			      const struct ib_wc *wc, uint32_t count)
{
	bool last = count && wc[count - 1].status == IB_WC_CQ_OVERFLOW_ERR;

	if (count > q->left || (status ? status != AL_CQ_ERROR : !count) ||
	    (!q->unsure && ((status && q->left) || (count == q->left) != (last || !q->left))))
		model_error(&p->m,
			    "an overflowed completion queue of %u, of which %u were left, was "
			    "polled with %d: %u of them%s",
			    q->cqe, q->left, status, count, last ? ", and its last" : "");
	q->left -= count;
}

static uint32_t poll_queue(struct play *p, uint32_t hca, struct queue *q, uint32_t num)
{
	struct ib_wc wc[16];
	uint32_t count = 0, i;
	al_status status;

	num = num < 16 ? num : 16;
	status = bed_ops.poll_cq(q->bed.ci, num, wc, &count);
	if (count > num)
		model_error(&p->m, "a poll for %u returned %u", num, count);
	if (q->over)
		polled_overflowed(p, q, status, wc, count);
	else
		must(p, status, "poll_cq");
	for (i = 0; i < count && !*p->m.error; i++)
		one_completion(p, hca, q, &wc[i]);
	return count;
}

static void poll_all(struct play *p)
{
	uint32_t h, i;

	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++)
			while (poll_queue(p, h, &p->cq[h][i], 16) && !*p->m.error)
				;
}

/* Every queue is empty: an arm that no completion has satisfied must not have been notified. */
static void check_arms(struct play *p)
{
	uint32_t h, i;

	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++) {
			struct queue *q = &p->cq[h][i];

			/* a reset may have removed the completion that satisfied the arm */
			if (q->bed.notified > (q->satisfied || p->cleaned))
				model_error(&p->m,
					    "completion queue %u of HCA %u was notified %u times",
					    i, h, q->bed.notified);
			if (q->bed.errors != q->over)
				model_error(&p->m, "completion queue %u of HCA %u had %u errors", i,
					    h, q->bed.errors);
		}
}

/* ----------------------------------------------------------------------- rest */

/* Returns the longest time without a completion while the HCA is at work: all retries of all queue pairs, and more. */
static uint64_t patience(struct play *p)
{
	uint64_t most = 0, t;
	struct end *e;

	for (e = p->end; e < p->end + p->m.qps; e++) {
		t = e->depth * (8 * 4 * e->attr.timeout_ns + 8 * peer_of(p, e)->attr.rnr_ns);
		most = most > t ? most : t;
	}
	return 10 * most + 1000000000;
}

#define MOST_STEPS 1000000

/* Posts receives for messages that are retried without limit. False: none was missing. */
static bool lacking_recvs(struct play *p, uint64_t *x)
{
	uint32_t before;
	bool posted = false;
	struct end *e;

	for (e = p->end; e < p->end + p->m.qps && !*p->m.error; e++)
		if (!model_broken(e->m) && !e->m->recv_failed && model_recvs_lacking(e->m) &&
		    peer_of(p, e)->attr.rnr_retry == 7) {
			before = e->m->recvs;
			post_recvs(p, e, model_recvs_lacking(e->m), x);
			posted |= e->m->recvs != before;
		}
	return posted;
}

static void plug(struct play *p, bool in)
{
	uint32_t port = p->m.ports / 2 % p->ports + 1; /* each port in turn */

	must(p, bed_vendor(0, in ? SOFT_PORT_UP : SOFT_PORT_DOWN, &port, sizeof(port), NULL, 0),
	     "port");
	p->m.ports++;
	p->m.ports_down = !in;
}

static void leave_sqd(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = { .cur_qp_state = IB_QPS_SQD };
	al_status status = modify(e, IB_QPS_RTS, &attr, IB_QP_CUR_STATE);

	say(p, "  %s leaves SQD\n", e->m->name);
	/* the queue pair may have failed by itself since */
	if (status == AL_INVALID_STATE)
		return;
	must(p, status, "from SQD to RTS");
	model_modified(e->m, IB_QPS_RTS, false);
}

/* Puts a queue pair from SQE into RTS, whether or not its owner has polled the failure. */
static void recover(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = { .cur_qp_state = IB_QPS_SQE };
	al_status status = modify(e, IB_QPS_RTS, &attr, IB_QP_CUR_STATE);

	/* the queue pair is not in SQE, or a receive has failed */
	if (status == AL_INVALID_STATE && e->attr.type != IB_QPT_RC) {
		must(p, bed_ops.query_qp(e->ci, &attr), "query_qp");
		if (e->m->state != IB_QPS_SQE || attr.qp_state == IB_QPS_ERR)
			return;
	}
	if (status == AL_INVALID_STATE && e->attr.type == IB_QPT_RC)
		return;
	must(p, status, "from SQE to RTS");
	say(p, "  %s recovers\n", e->m->name);
	model_recovered(e->m);
}

/* Replaces a queue that has overflowed, after destroying the queue pairs that complete there. */
static void replace_overflowed(struct play *p, uint64_t *x)
{
	uint32_t h, i;
	struct end *e;

	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++) {
			struct queue *q = &p->cq[h][i];

			if (!q->over || *p->m.error)
				continue;
			for (e = p->end; e < p->end + p->m.qps; e++)
				if (e->ci && (e->send_cq == q || e->recv_cq == q)) {
					free_qp(e);
					model_modified(e->m, IB_QPS_RESET, false);
				}
			free_cq(q);
			new_cq(p, h, q, x);
		}
}

static void rest(struct play *p, uint64_t *x)
{
	ib_qp_state state[MAX_MODELS];
	struct ib_qp_attr attr;
	uint64_t since, seen, steps, limit = patience(p);
	uint32_t i, did;
	struct end *e;

	if (p->m.ports_down && one_in(x, 2))
		plug(p, true);
	for (e = p->end; e < p->end + p->m.qps; e++)
		if (e->m->state == IB_QPS_SQD && !one_in(x, 4))
			leave_sqd(p, e);
		else if (e->m->state == IB_QPS_SQE && !one_in(x, 4))
			recover(p, e);
	do {
		since = p->m.now;
		seen = p->m.completions;
		steps = p->steps;
		do {
			did = step(p, draw(x));
			if (p->m.now - since > limit || p->steps - steps > MOST_STEPS)
				model_error(&p->m,
					    "no end: %llu steps, %llu ns without a completion",
					    (unsigned long long)(p->steps - steps),
					    (unsigned long long)(p->m.now - since));
			if (did != SOFT_STEP_NOTHING && !(p->steps & 63)) {
				poll_all(p);
				lacking_recvs(p, x);
			}
			if (seen != p->m.completions) {
				seen = p->m.completions;
				since = p->m.now;
				steps = p->steps;
			}
		} while (did != SOFT_STEP_NOTHING && !*p->m.error);
		seen = p->m.completions;
		poll_all(p);
	} while ((lacking_recvs(p, x) || seen != p->m.completions) && !*p->m.error);
	p->m.faults = bed_faults();
	for (i = 0; i < p->m.qps; i++) {
		state[i] = IB_QPS_RESET;
		if (!p->end[i].ci)
			continue;
		must(p, bed_ops.query_qp(p->end[i].ci, &attr), "query_qp");
		state[i] = attr.qp_state;
	}
	if (*p->m.error)
		return;
	check_arms(p);
	model_rest(&p->m, state);
	replace_overflowed(p, x);
	for (i = 0; i < p->m.qps && !*p->m.error; i++)
		if (is_first(p, &p->end[i]) && model_broken(&p->m.qp[i])) {
			end_pair(p, &p->end[i], x);
			p->cleaned = true;
			if (!*p->m.error)
				connect_pair(p, &p->end[i], x);
		}
}

/* ----------------------------------------------------------------- operations */

static void do_sqd(struct play *p, struct end *e, uint64_t *x)
{
	struct ib_qp_attr attr = { .en_sqd_async_notify = one_in(x, 2) };
	al_status status;

	if (e->m->state == IB_QPS_SQD) {
		leave_sqd(p, e);
		return;
	}
	if (e->m->state != IB_QPS_RTS)
		return;
	say(p, "  %s\n", e->m->name);
	status = modify(e, IB_QPS_SQD, &attr, IB_QP_EN_SQD_ASYNC_NOTIFY);
	if (status == AL_INVALID_TRANSITION)
		return;
	must(p, status, "to SQD");
	model_modified(e->m, IB_QPS_SQD, attr.en_sqd_async_notify);
}

static void do_error(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = { 0 };

	if (e->m->state == IB_QPS_RESET)
		return;
	say(p, "  %s\n", e->m->name);
	must(p, modify(e, IB_QPS_ERR, &attr, 0), "to Error");
	model_modified(e->m, IB_QPS_ERR, false);
}

static void do_reset(struct play *p, struct end *e, bool destroy)
{
	struct ib_qp_attr attr = { 0 };

	if (e->m->state == IB_QPS_RESET)
		return;
	say(p, "  %s\n", e->m->name);
	if (destroy)
		free_qp(e);
	else
		must(p, modify(e, IB_QPS_RESET, &attr, 0), "to Reset");
	cleaned(e);
	p->cleaned = true;
	model_modified(e->m, IB_QPS_RESET, false);
}

static void do_deregister(struct play *p, struct end *e, uint64_t *x)
{
	uint32_t area = one_in(x, 2) ? AREA_TARGET : AREA_SOURCE;
	struct area *a;

	if (p->wide && one_in(x, 3))
		area = one_in(x, 2) ? AREA_RECEIVE : AREA_RESULT;
	a = &e->m->area[area];
	if (e->attr.type != IB_QPT_RC && !p->wide)
		return;
	say(p, "  %s: area %u\n", e->m->name, area);
	e->stale_key[area] = e->mr[area]->rkey;
	free_mr(e->mr[area]);
	e->mr[area] = new_mr(p, bed_hca[e->hca].pd, a->real, a->size, area_access[area]);
	model_deregistered(e->m, area);
}

/* Draws the syndrome of a forced NAK: mostly of those that do not end the requester. */
static uint32_t draw_nak(struct play *p, uint64_t *x)
{
	switch (below(x, 6)) {
	case 0: /* invalid request, access, operation */
		p->m.forced = true;
		return 0x61 + below(x, 3);
	case 1:
	case 2:
		return 0x60; /* PSN sequence */
	default:
		p->m.rnr_forced = true;
		return 0x20 | (1 + below(x, 12)); /* RNR, with its timer */
	}
}

/* Makes some allocations fail from now on. */
static void starve(struct play *p, uint64_t *x)
{
	const struct soft_fault f = {
		.action = SOFT_FAULT_ALLOC,
		.n = 1 + below(x, 6),
		.count = 1 + below(x, 3),
	};
	uint32_t hca = below(x, bed_hcas);

	if (p->rules[hca] > 6)
		return;
	p->rules[hca]++;
	p->no_memory[hca] += (uint32_t)f.count;
	say(p, "  HCA %u: %llu allocations fail from number %llu on\n", hca,
	    (unsigned long long)f.count, (unsigned long long)f.n);
	must(p, bed_vendor(hca, SOFT_FAULT_ADD, &f, sizeof(f), NULL, 0), "fault");
}

static void do_fault(struct play *p, uint64_t *x)
{
	static const uint32_t actions[] = { SOFT_FAULT_DROP, SOFT_FAULT_DROP,  SOFT_FAULT_DUPLICATE,
					    SOFT_FAULT_HOLD, SOFT_FAULT_DELAY, SOFT_FAULT_CORRUPT };
	struct soft_fault f = {
		.action = actions[below(x, 6)],
		.flow = below(x, 3),
		.n = 1,
		.chance = 500 + below(x, one_in(x, 4) ? 150000 : 20000),
	};
	uint32_t hca = below(x, bed_hcas);
	uint64_t y = aside(*x);

	if (f.action == SOFT_FAULT_HOLD)
		f.by = 1 + below(x, 6);
	if (f.action == SOFT_FAULT_DELAY)
		f.delay_ns = (1 + below(x, 1000)) << below(x, 16);
	if (p->rules[hca] > 6)
		return;
	if (p->wide && one_in(&y, 3)) {
		f.action = SOFT_FAULT_NAK;
		f.flow = SOFT_FLOW_REQUEST;
		f.code = draw_nak(p, &y);
		f.by = 0;
		f.delay_ns = 0;
	}
	p->rules[hca]++;
	say(p, "  HCA %u: action %u, flow %u, chance %u, by %u, delay %llu\n", hca, f.action,
	    f.flow, f.chance, f.by, (unsigned long long)f.delay_ns);
	must(p, bed_vendor(hca, SOFT_FAULT_ADD, &f, sizeof(f), NULL, 0), "fault");
}

static void do_clear(struct play *p)
{
	uint32_t i;

	for (i = 0; i < bed_hcas; i++) {
		bed_vendor(i, SOFT_FAULT_CLEAR, NULL, 0, NULL, 0);
		p->rules[i] = p->no_memory[i] = 0;
	}
}

/* Arms a queue that is empty, so that the completion that satisfies the arm is certain. */
static void do_arm(struct play *p, uint64_t *x)
{
	static const al_arm kinds[] = { AL_ARM_ANY, AL_ARM_SOLICITED, AL_ARM_ERRORS };
	uint32_t hca = below(x, bed_hcas);
	struct queue *q = &p->cq[hca][below(x, CQS)];
	bool present = true;

	while (poll_queue(p, hca, q, 16) && !*p->m.error)
		;
	if (q->armed)
		return;
	q->bed.notified = 0;
	q->satisfied = false;
	q->armed = kinds[below(x, 3)];
	if (q->over) {
		if (bed_ops.arm_cq(q->bed.ci, q->armed, &present) != AL_CQ_ERROR)
			model_error(&p->m, "an overflowed completion queue can be armed");
		q->armed = AL_ARM_NONE;
		return;
	}
	must(p, bed_ops.arm_cq(q->bed.ci, q->armed, &present), "arm_cq");
	if (present)
		model_error(&p->m, "an empty completion queue says that there are completions");
}

/* Takes the completions that refuse a queue its new size: more than fit. */
static void too_small(struct play *p, uint32_t hca, struct queue *q, uint32_t asked)
{
	uint32_t got = 0, count;

	do {
		count = poll_queue(p, hca, q, 16);
		got += count;
	} while (count && !*p->m.error);
	if (got <= asked)
		model_error(&p->m, "%u entries were refused to a queue of %u completions", asked,
			    got);
}

/* Resizes a queue, with completions in it or without. Only in wide episodes it can overflow then.
 */
static void do_resize(struct play *p, uint64_t *x)
{
	uint32_t hca = below(x, bed_hcas), asked, cqe;
	struct queue *q = &p->cq[hca][below(x, CQS)];
	al_status status;

	while (one_in(x, 2) && poll_queue(p, hca, q, 16) && !*p->m.error)
		;
	asked = p->wide && one_in(x, 2) ? 1 + below(x, 128) : 2048 + below(x, 2048);
	do {
		cqe = asked;
		status = bed_ops.resize_cq(q->bed.ci, &cqe, NULL);
	} while (no_memory(p, q->bed.ci->pd, status));
	say(p, "    resize of completion queue %u of HCA %u from %u to %u: status %d\n",
	    (uint32_t)(q - p->cq[hca]), hca, q->cqe, asked, status);
	note(p, (uint64_t)status << 32 | cqe);
	if (q->over) {
		if (status != AL_CQ_ERROR)
			model_error(&p->m, "an overflowed completion queue can be resized");
	} else if (status == AL_TOO_SMALL) {
		too_small(p, hca, q, asked);
	} else {
		must(p, status, "resize_cq");
		if (cqe < asked)
			model_error(&p->m, "%u entries of %u were granted", cqe, asked);
		q->cqe = cqe;
	}
}

static const char *const op_name[] = {
	[OP_SEND] = "send",
	[OP_RECV] = "receive",
	[OP_STEP] = "step",
	[OP_POLL] = "poll",
	[OP_REST] = "rest",
	[OP_ARM] = "arm",
	[OP_FAULT] = "fault",
	[OP_CLEAR] = "clear faults",
	[OP_PORT] = "port",
	[OP_SQD] = "SQD",
	[OP_DEREGISTER] = "deregister",
	[OP_ERROR] = "Error",
	[OP_RESET] = "Reset",
	[OP_DESTROY] = "destroy",
	[OP_RECOVER] = "recover",
};

static void do_op(struct play *p, const struct op *op)
{
	uint64_t x = op->seed;
	struct end *e = &p->end[below(&x, p->m.qps)];
	uint64_t y = ~aside(x); /* of resizes only: all other draws stay the same without them */
	uint32_t i, hca;

	if (p->resize && one_in(&y, 8))
		do_resize(p, &y);
	switch (op->kind) {
	case OP_SEND:
		if (e->m->state != IB_QPS_RESET)
			post_sends(p, e, &x);
		break;
	case OP_RECV:
		if (e->m->state != IB_QPS_RESET)
			post_recvs(p, e, 1 + below(&x, 4), &x);
		break;
	case OP_STEP:
		for (i = below(&x, 64) + 1; i && step(p, draw(&x)); i--)
			if (p->eager)
				poll_all(p);
		break;
	case OP_POLL:
		hca = below(&x, bed_hcas);
		poll_queue(p, hca, &p->cq[hca][below(&x, CQS)], 1 + below(&x, 16));
		break;
	case OP_REST:
		rest(p, &x);
		break;
	case OP_ARM:
		do_arm(p, &x);
		break;
	case OP_FAULT:
		if (p->wide && one_in(&x, 3))
			starve(p, &x);
		else
			do_fault(p, &x);
		break;
	case OP_CLEAR:
		do_clear(p);
		break;
	case OP_PORT:
		plug(p, p->m.ports_down);
		break;
	case OP_SQD:
		do_sqd(p, e, &x);
		break;
	case OP_DEREGISTER:
		do_deregister(p, e, &x);
		break;
	case OP_ERROR:
		do_error(p, e);
		break;
	case OP_RESET:
	case OP_DESTROY:
		do_reset(p, e, op->kind == OP_DESTROY);
		break;
	case OP_RECOVER:
		for (i = 0; i < p->m.qps; i++)
			if (p->end[i].m->state != IB_QPS_RESET && one_in(&x, 3))
				recover(p, &p->end[i]);
		break;
	}
	notice_overflows(p);
}

/* -------------------------------------------------------------------- episode */

void play(const struct episode *e, bool verbose, struct outcome *o)
{
	static struct play p;
	char settings[256];
	uint64_t x = e->seed, y = aside(x), left;
	uint32_t i;

	memset(&p, 0, sizeof(p));
	memset(o, 0, sizeof(*o));
	p.verbose = verbose;
	p.m.by_value = queue_link_in_use();
	p.wide = e->wide;
	p.resize = e->resize;
	p.ports = e->wide ? 1 + below(&y, 3) : 1;
	bed_ports = (uint8_t)p.ports;
	p.trace = 0xcbf29ce484222325ull;
	snprintf(
		settings, sizeof(settings),
		"progress=manual hcas=%u ports=%u seed=%llu max_qp=64 max_mr=256 max_cq=16 max_pd=16",
		e->hcas, p.ports, (unsigned long long)(draw(&x) >> 32));
	if (!bed_up(settings)) {
		snprintf(o->error, sizeof(o->error), "the module does not start: %s", bed_log);
		return;
	}
	set_up(&p, &x);
	for (i = 0; i < e->num && !*p.m.error; i++) {
		say(&p, "%u: %s\n", e->op[i].number, op_name[e->op[i].kind]);
		do_op(&p, &e->op[i]);
	}
	o->at = i;
	if (!*p.m.error && !one_in(&x, 4))
		rest(&p, &x);
	o->packets = bed_packets();
	if (!*p.m.error) {
		take_down(&p, &x);
		left = bed_down();
		if (left && !*p.m.error)
			model_error(&p.m, "%llu allocations are left", (unsigned long long)left);
	}
	o->completions = p.m.completions;
	o->trace = p.trace;
	memcpy(o->error, p.m.error, sizeof(p.m.error));
}
