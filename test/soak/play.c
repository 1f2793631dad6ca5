/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Plays an episode: does each operation to the HCA, tells the model, and lets it judge. Objects and
 * connections are here, work requests in post.c.
 */
#include "play_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t area_size[AREAS] = {
	[AREA_SOURCE] = 1 << 16,
	[AREA_RECEIVE] = 1 << 17,
	[AREA_RESULT] = 1 << 16,
	[AREA_TARGET] = 1 << 15,
};

static const uint32_t area_access[AREAS] = {
	[AREA_RECEIVE] = IB_ACCESS_LOCAL_WRITE,
	[AREA_RESULT] = IB_ACCESS_LOCAL_WRITE,
	[AREA_TARGET] = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			IB_ACCESS_REMOTE_ATOMIC,
};

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

static void must(struct play *p, al_status status, const char *what)
{
	if (status)
		model_error(&p->m, "%s: %d (%s)", what, status, bed_log);
}

/* ------------------------------------------------------------------- objects */

static uint32_t fast(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return (uint32_t)(*x >> 32);
}

static void fill(uint8_t *mem, uint32_t size, uint64_t seed)
{
	uint64_t x = seed | 1;
	uint32_t i, word;

	for (i = 0; i < size; i += 4) {
		word = fast(&x);
		memcpy(mem + i, &word, 4);
	}
}

struct ci_mr *new_mr(struct play *p, struct ci_pd *pd, void *addr, uint64_t length, uint32_t access)
{
	struct ci_mem mem = {
		.addr = addr, .length = length, .iova = (uintptr_t)addr, .fd = -1, .access = access
	};
	struct ci_mr *mr = bed_object(CI_OBJ_MR, sizeof(*mr));

	mr->pd = pd;
	must(p, bed_ops.register_mr(mr, &mem, NULL), "register_mr");
	return mr;
}

void free_mr(struct ci_mr *mr)
{
	bed_ops.deregister_mr(mr);
	al_free(mr);
}

static struct end *end_of(struct play *p, const struct m_qp *m)
{
	return &p->end[m - p->m.qp];
}

struct end *peer_of(struct play *p, const struct end *e)
{
	return end_of(p, e->m->peer);
}

static void qp_event(void *ctx, ib_event_type type)
{
	model_event(ctx, type);
}

static void new_qp(struct play *p, struct end *e, uint64_t *x)
{
	struct al_qp_init attr = { .qp_type = e->attr.type };
	struct ci_qp_init init = { .attr = &attr };
	struct ci_pd *pd = bed_hca[e->hca].pd;

	attr.sq_sig_all = one_in(x, 8);
	e->depth = 2 + below(x, one_in(x, 4) ? 63 : 14);
	e->recv_depth = 1 + below(x, 16);
	e->sges = 1 + below(x, MAX_PIECES);
	e->inline_data = one_in(x, 2) ? 0 : below(x, MAX_INLINE + 1);
	init.cap = (struct ib_qp_cap){
		.max_send_wr = e->depth,
		.max_recv_wr = e->recv_depth,
		.max_send_sge = e->sges,
		.max_recv_sge = e->sges,
		.max_inline_data = e->inline_data,
	};
	e->ci = bed_object(CI_OBJ_QP, sizeof(*e->ci));
	e->ci->ctx = e->m;
	e->ci->owner_context = e;
	e->ci->pd = pd;
	e->send_cq = &p->cq[e->hca][below(x, CQS)];
	e->recv_cq = &p->cq[e->hca][below(x, CQS)];
	e->ci->send_cq = e->send_cq->bed.ci;
	e->ci->recv_cq = e->recv_cq->bed.ci;
	must(p, bed_ops.create_qp(e->ci, &init, NULL), "create_qp");
	e->attr.sig_all = attr.sq_sig_all;
}

static void free_qp(struct end *e)
{
	bed_ops.destroy_qp(e->ci);
	al_free(e->ci);
	e->ci = NULL;
}

static al_status modify(struct end *e, ib_qp_state state, struct ib_qp_attr *attr, uint32_t mask)
{
	attr->qp_state = state;
	return bed_ops.modify_qp(e->ci, attr, mask | IB_QP_STATE, NULL);
}

/* ----------------------------------------------------------------- connection */

/* IBTA table 45, by code, in units of 10 us. */
static const uint32_t rnr_units[] = { 65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 };

/* What both sides of a connection have in common, and what each has of its own. */
static void draw_attributes(struct end *a, struct end *b, uint64_t *x)
{
	struct end *end[2] = { a, b };
	uint32_t i, mtu = below(x, 3) ? below(x, 3) : below(x, 5);

	for (i = 0; i < 2; i++) {
		struct end *e = end[i];

		e->mtu = (ib_mtu)(IB_MTU_256 + mtu);
		e->attr.mtu = 256u << mtu;
		e->timeout = (uint8_t)(1 + below(x, 14));
		e->attr.timeout_ns = 4096ull << e->timeout;
		e->attr.retry_cnt = one_in(x, 3) ? below(x, 8) : 7;
		e->attr.rnr_retry = one_in(x, 2) ? below(x, 7) : 7;
		e->rnr_timer = (uint8_t)below(x, sizeof(rnr_units) / sizeof(*rnr_units));
		e->attr.rnr_ns = rnr_units[e->rnr_timer] * 10000ull;
		e->attr.max_rd_atomic = one_in(x, 16) ? 0 : 1 + below(x, 4);
		e->dest_rd_atomic = (uint8_t)(e->attr.max_rd_atomic + below(x, 3));
		e->psn = one_in(x, 2) ? (0xffffff - below(x, 64)) & 0xffffff
				      : (uint32_t)draw(x) & 0xffffff;
		if (e->attr.type == IB_QPT_UD) { /* one packet, of the port's MTU */
			e->mtu = IB_MTU_4096;
			e->attr.mtu = 4096;
		}
		if (e->attr.type != IB_QPT_RC)
			e->attr.rnr_retry = e->attr.max_rd_atomic = 0;
		e->max_message = 1 + below(x, one_in(x, 4) ? 12 * 1024 : 5 * e->attr.mtu);
	}
	for (i = 0; i < 2 && a->attr.type == IB_QPT_UD; i++)
		end[i]->max_message = 1 + below(x, 2048);
	/* the responder's resources are for what the peer may have on its way */
	i = a->dest_rd_atomic;
	a->dest_rd_atomic = b->dest_rd_atomic;
	b->dest_rd_atomic = (uint8_t)i;
}

static void to_init(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = { .port_num = 1,
				   .qp_access_flags = IB_ACCESS_REMOTE_WRITE |
						      IB_ACCESS_REMOTE_READ |
						      IB_ACCESS_REMOTE_ATOMIC };

	attr.qkey = SOAK_QKEY;
	must(p,
	     modify(e, IB_QPS_INIT, &attr,
		    IB_QP_PORT | IB_QP_PKEY_INDEX |
			    (e->attr.type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS)),
	     "to Init");
}

static void to_rtr(struct play *p, struct end *e, const struct end *peer)
{
	struct ib_port_attr port;
	struct ib_qp_attr attr = {
		.path_mtu = e->mtu,
		.rq_psn = peer->psn,
		.dest_qp_num = peer->ci->qp_num,
		.max_dest_rd_atomic = e->dest_rd_atomic,
		.min_rnr_timer = e->rnr_timer,
	};

	uint32_t mask = 0;

	must(p, bed_ops.query_port(bed_hca[peer->hca].ca, 1, &port), "query_port");
	e->peer_qpn = peer->ci->qp_num;
	attr.ah_attr.dlid = port.lid;
	attr.ah_attr.port_num = 1;
	if (e->attr.type != IB_QPT_UD)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN;
	if (e->attr.type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	must(p, modify(e, IB_QPS_RTR, &attr, mask), "to RTR");
	if (e->attr.type != IB_QPT_UD || e->ah)
		return;
	e->ah = bed_object(CI_OBJ_AH, sizeof(*e->ah));
	e->ah->pd = bed_hca[e->hca].pd;
	must(p, bed_ops.create_ah(e->ah, &attr.ah_attr, NULL), "create_ah");
}

static void to_rts(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = {
		.sq_psn = e->psn,
		.timeout = e->timeout,
		.retry_cnt = (uint8_t)e->attr.retry_cnt,
		.rnr_retry = (uint8_t)e->attr.rnr_retry,
		.max_rd_atomic = (uint8_t)e->attr.max_rd_atomic,
	};

	uint32_t mask = IB_QP_SQ_PSN;

	if (e->attr.type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
	must(p, modify(e, IB_QPS_RTS, &attr, mask), "to RTS");
}

static void connect_pair(struct play *p, struct end *a, uint64_t *x)
{
	struct end *b = peer_of(p, a);

	if (!a->ci)
		new_qp(p, a, x);
	if (!b->ci)
		new_qp(p, b, x);
	draw_attributes(a, b, x);
	a->read_length = b->read_length = 0;
	to_init(p, a);
	to_init(p, b);
	to_rtr(p, a, b);
	to_rtr(p, b, a);
	to_rts(p, a);
	to_rts(p, b);
	p->m.faults = bed_faults();
	model_connect(a->m, b->m, &a->attr);
	model_connect(b->m, a->m, &b->attr);
	say(p,
	    "  %s and %s are connected: type %d, MTU %u, PSN %#x %#x, timeout %u %u, retries %u %u, RNR %u %u timer %u %u, "
	    "reads %u %u\n",
	    a->m->name, b->m->name, a->attr.type, a->attr.mtu, a->psn, b->psn, a->timeout,
	    b->timeout, a->attr.retry_cnt, b->attr.retry_cnt, a->attr.rnr_retry, b->attr.rnr_retry,
	    a->rnr_timer, b->rnr_timer, a->attr.max_rd_atomic, b->attr.max_rd_atomic);
}

/* Ends a queue pair's part in a connection. */
static void end_one(struct play *p, struct end *e, uint64_t *x)
{
	struct ib_qp_attr attr = { 0 };

	if (!e->ci)
		return;
	switch (below(x, 3)) {
	case 0:
		say(p, "  %s is destroyed\n", e->m->name);
		free_qp(e);
		break;
	case 1:
		must(p, modify(e, IB_QPS_ERR, &attr, 0), "to Error");
		/* fall through */
	default:
		say(p, "  %s is reset\n", e->m->name);
		must(p, modify(e, IB_QPS_RESET, &attr, 0), "to Reset");
	}
	model_modified(e->m, IB_QPS_RESET, false);
}

static void end_pair(struct play *p, struct end *a, uint64_t *x)
{
	struct end *b = peer_of(p, a);

	end_one(p, a, x);
	end_one(p, b, x);
	model_disconnected(a->m);
	model_disconnected(b->m);
}

/* -------------------------------------------------------------- time, polling */

static uint32_t step(struct play *p, uint64_t choice)
{
	uint32_t did = bed_step(choice, &p->m.now);

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

/* Would it satisfy what the queue is armed for? */
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
	    (wc->src_qp != e->peer_qpn || wc->port_num != 1))
		model_error(&p->m, "%s: a datagram of queue pair %#x by port %u, and not of %#x",
			    e->m->name, wc->src_qp, wc->port_num, e->peer_qpn);
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

static uint32_t poll_queue(struct play *p, uint32_t hca, struct queue *q, uint32_t num)
{
	struct ib_wc wc[16];
	uint32_t count = 0, i;

	num = num < 16 ? num : 16;
	must(p, bed_ops.poll_cq(q->bed.ci, num, wc, &count), "poll_cq");
	if (count > num)
		model_error(&p->m, "a poll for %u returned %u", num, count);
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

/* Every queue is empty: what was armed and not satisfied has not been notified. */
static void check_arms(struct play *p)
{
	uint32_t h, i;

	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++) {
			struct queue *q = &p->cq[h][i];

			/* a reset may have taken away what it was notified of */
			if (q->bed.notified > (q->satisfied || p->cleaned))
				model_error(&p->m,
					    "completion queue %u of HCA %u was notified %u times",
					    i, h, q->bed.notified);
			if (q->bed.errors)
				model_error(&p->m, "completion queue %u of HCA %u had an error", i,
					    h);
		}
}

/* ----------------------------------------------------------------------- rest */

/* How long nothing may be heard while the HCA is still at work: all retries of everything, and
 * some. */
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

/* Posts what messages that are retried for ever wait for. False: nothing. */
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
	for (i = 0; i < p->m.qps && !*p->m.error; i += 2)
		if (model_broken(&p->m.qp[i])) {
			end_pair(p, &p->end[i], x);
			p->cleaned = true;
			if (!*p->m.error)
				connect_pair(p, &p->end[i], x);
		}
}

/* ----------------------------------------------------------------- operations */

void plug(struct play *p, bool in)
{
	uint32_t port = 1;

	must(p, bed_vendor(0, in ? SOFT_PORT_UP : SOFT_PORT_DOWN, &port, sizeof(port), NULL, 0),
	     "port");
	p->m.ports++;
	p->m.ports_down = !in;
}

void leave_sqd(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = { 0 };
	al_status status = modify(e, IB_QPS_RTS, &attr, 0);

	say(p, "  %s leaves SQD\n", e->m->name);
	/* it may have failed by itself since */
	if (status == AL_INVALID_TRANSITION)
		return;
	must(p, status, "from SQD to RTS");
	model_modified(e->m, IB_QPS_RTS, false);
}

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
	p->cleaned = true;
	model_modified(e->m, IB_QPS_RESET, false);
}

static void do_deregister(struct play *p, struct end *e, uint64_t *x)
{
	uint32_t area = one_in(x, 2) ? AREA_TARGET : AREA_SOURCE;
	struct area *a = &e->m->area[area];

	if (e->attr.type != IB_QPT_RC)
		return;
	say(p, "  %s: area %u\n", e->m->name, area);
	e->stale_key[area] = e->mr[area]->rkey;
	free_mr(e->mr[area]);
	e->mr[area] = new_mr(p, bed_hca[e->hca].pd, a->real, a->size, area_access[area]);
	model_deregistered(e->m, area);
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

	if (f.action == SOFT_FAULT_HOLD)
		f.by = 1 + below(x, 6);
	if (f.action == SOFT_FAULT_DELAY)
		f.delay_ns = (1 + below(x, 1000)) << below(x, 16);
	if (p->rules[hca] > 6)
		return;
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
		p->rules[i] = 0;
	}
}

/* Of an empty queue, so that it is certain what satisfies it. */
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
	must(p, bed_ops.arm_cq(q->bed.ci, q->armed, &present), "arm_cq");
	if (present)
		model_error(&p->m, "an empty completion queue says that there are completions");
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
};

static void do_op(struct play *p, const struct op *op)
{
	uint64_t x = op->seed;
	struct end *e = &p->end[below(&x, p->m.qps)];
	uint32_t i, hca;

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
	}
}

/* -------------------------------------------------------------------- episode */

static void set_up(struct play *p, uint64_t *x)
{
	static uint8_t *memory[MAX_MODELS][AREAS][2];
	static const char *const names[] = { "A0", "B0", "A1", "B1", "A2", "B2", "A3", "B3" };
	uint32_t h, i, k;

	p->eager = one_in(x, 4);
	p->wrong = one_in(x, 2) ? 0 : one_in(x, 2) ? 30 : 300;
	p->m.qps = 2 * (1 + below(x, 4));
	bed_qp_event = qp_event;
	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++) {
			struct queue *q = &p->cq[h][i];
			struct ci_cq_init init = { .cqe = 2048, .notify = AL_CQ_NOTIFY_NEXT };

			q->bed.ci = bed_object(CI_OBJ_CQ, sizeof(*q->bed.ci));
			q->bed.ci->ctx = &q->bed;
			q->bed.ci->pd = bed_hca[h].pd;
			must(p, bed_ops.create_cq(q->bed.ci, &init, NULL), "create_cq");
		}
	for (i = 0; i < p->m.qps; i++) {
		struct end *e = &p->end[i];

		e->m = &p->m.qp[i];
		*e->m = (struct m_qp){ .name = names[i], .model = &p->m, .peer = &p->m.qp[i ^ 1] };
		/* cabled: 0 and 1, 2 and 3; and some pairs within one HCA */
		e->attr.type = i & 1          ? p->end[i - 1].attr.type
			       : one_in(x, 4) ? IB_QPT_UC
			       : one_in(x, 4) ? IB_QPT_UD
					      : IB_QPT_RC;
		e->hca = i & 1 ? p->end[i - 1].hca ^ !one_in(x, 8) : below(x, bed_hcas);
		for (k = 0; k < AREAS; k++) {
			struct area *a = &e->m->area[k];

			if (!memory[i][k][0]) {
				memory[i][k][0] = aligned_alloc(64, area_size[k]);
				memory[i][k][1] = aligned_alloc(64, area_size[k]);
			}
			*a = (struct area){ memory[i][k][0], memory[i][k][1], area_size[k] };
			fill(a->real, a->size, draw(x));
			memcpy(a->copy, a->real, a->size);
			e->mr[k] = new_mr(p, bed_hca[e->hca].pd, a->real, a->size, area_access[k]);
		}
		e->foreign = new_mr(p, bed_hca[e->hca].other_pd, e->m->area[AREA_TARGET].real,
				    area_size[AREA_TARGET], area_access[AREA_TARGET]);
		e->write_only = new_mr(p, bed_hca[e->hca].pd, e->m->area[AREA_TARGET].real,
				       area_size[AREA_TARGET],
				       IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
		e->read_only = new_mr(p, bed_hca[e->hca].pd, e->m->area[AREA_TARGET].real,
				      area_size[AREA_TARGET], IB_ACCESS_REMOTE_READ);
	}
	for (i = 0; i < p->m.qps; i += 2)
		connect_pair(p, &p->end[i], x);
}

static void take_down(struct play *p, uint64_t *x)
{
	uint32_t h, i, k;

	for (i = 0; i < p->m.qps; i += 2)
		end_pair(p, &p->end[i], x);
	for (i = 0; i < p->m.qps; i++) {
		struct end *e = &p->end[i];

		if (e->ci)
			free_qp(e);
		if (e->ah) {
			bed_ops.destroy_ah(e->ah);
			al_free(e->ah);
		}
		for (k = 0; k < AREAS; k++)
			free_mr(e->mr[k]);
		free_mr(e->foreign);
		free_mr(e->write_only);
		free_mr(e->read_only);
		free(e->m->send);
		free(e->m->recv);
	}
	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++) {
			bed_ops.destroy_cq(p->cq[h][i].bed.ci);
			al_free(p->cq[h][i].bed.ci);
		}
}

void play(const struct episode *e, bool verbose, struct outcome *o)
{
	static struct play p;
	char settings[256];
	uint64_t x = e->seed, left;
	uint32_t i;

	memset(&p, 0, sizeof(p));
	memset(o, 0, sizeof(*o));
	p.verbose = verbose;
	p.trace = 0xcbf29ce484222325ull;
	snprintf(settings, sizeof(settings),
		 "progress=manual hcas=%u seed=%llu max_qp=64 max_mr=256 max_cq=16 max_pd=16",
		 e->hcas, (unsigned long long)(draw(&x) >> 32));
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
