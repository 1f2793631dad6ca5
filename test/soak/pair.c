/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The objects of an episode: memory, queues and queue pairs, and how two queue pairs are connected and disconnected.
 */
#include "play_internal.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t area_size[AREAS] = {
	[AREA_SOURCE] = 1 << 16,
	[AREA_RECEIVE] = 1 << 17,
	[AREA_RESULT] = 1 << 16,
	[AREA_TARGET] = 1 << 15,
};

const uint32_t area_access[AREAS] = {
	[AREA_RECEIVE] = IB_ACCESS_LOCAL_WRITE,
	[AREA_RESULT] = IB_ACCESS_LOCAL_WRITE,
	[AREA_TARGET] = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			IB_ACCESS_REMOTE_ATOMIC,
};

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

/* True if the call has failed for want of memory as planned. Each such failure uses up one of no_memory. */
bool no_memory(struct play *p, const struct ci_pd *pd, al_status status)
{
	uint32_t h = 0;

	if (status != AL_INSUFFICIENT_MEMORY)
		return false;
	while (pd != bed_hca[h].pd && pd != bed_hca[h].other_pd)
		h++;
	say(p, "  an allocation fails\n");
	return p->no_memory[h] && p->no_memory[h]--;
}

struct ci_mr *new_mr(struct play *p, struct ci_pd *pd, void *addr, uint64_t length, uint32_t access)
{
	struct ci_mem mem = {
		.addr = addr, .length = length, .iova = (uintptr_t)addr, .fd = -1, .access = access
	};
	al_status status;
	struct ci_mr *mr;

	for (;;) {
		mr = bed_object(CI_OBJ_MR, sizeof(*mr));
		mr->pd = pd;
		status = bed_ops.register_mr(mr, &mem, NULL);
		if (!no_memory(p, pd, status))
			break;
		al_free(mr);
	}
	must(p, status, "register_mr");
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

bool is_first(struct play *p, const struct end *e)
{
	return e <= peer_of(p, e);
}

void new_cq(struct play *p, uint32_t hca, struct queue *q, uint64_t *x)
{
	struct ci_cq_init init = { .cqe = 2048, .notify = AL_CQ_NOTIFY_NEXT };
	al_status status;

	if (p->wide && one_in(x, 4))
		init.cqe = 1 + below(x, 128);
	memset(q, 0, sizeof(*q));
	do {
		al_free(q->bed.ci);
		q->bed.ci = bed_object(CI_OBJ_CQ, sizeof(*q->bed.ci));
		q->bed.ci->ctx = &q->bed;
		q->bed.ci->pd = bed_hca[hca].pd;
		status = bed_ops.create_cq(q->bed.ci, &init, NULL);
	} while (no_memory(p, q->bed.ci->pd, status));
	must(p, status, "create_cq");
	q->cqe = init.cqe; /* number of entries granted */
}

void free_cq(struct queue *q)
{
	bed_ops.destroy_cq(q->bed.ci);
	al_free(q->bed.ci);
}

static void new_qp(struct play *p, struct end *e, uint64_t *x)
{
	struct al_qp_init attr = { .qp_type = e->attr.type };
	struct ci_qp_init init = { .attr = &attr };
	struct ci_pd *pd = bed_hca[e->hca].pd;
	al_status status;

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
	e->send_cq = &p->cq[e->hca][below(x, CQS)];
	e->recv_cq = &p->cq[e->hca][below(x, CQS)];
	do {
		al_free(e->ci);
		e->ci = bed_object(CI_OBJ_QP, sizeof(*e->ci));
		e->ci->ctx = e->m;
		e->ci->owner_context = e;
		e->ci->pd = pd;
		e->ci->send_cq = e->send_cq->bed.ci;
		e->ci->recv_cq = e->recv_cq->bed.ci;
		status = bed_ops.create_qp(e->ci, &init, NULL);
	} while (no_memory(p, pd, status));
	must(p, status, "create_qp");
	e->attr.sig_all = attr.sq_sig_all;
}

void free_qp(struct end *e)
{
	bed_ops.destroy_qp(e->ci);
	al_free(e->ci);
	e->ci = NULL;
	cleaned(e);
}

void cleaned(struct end *e)
{
	e->send_cq->unsure = e->recv_cq->unsure = true;
}

al_status modify(struct end *e, ib_qp_state state, struct ib_qp_attr *attr, uint32_t mask)
{
	attr->qp_state = state;
	return bed_ops.modify_qp(e->ci, attr, mask | IB_QP_STATE, NULL);
}

/*
 * Repeats a modification of a connection's set-up that fails for want of memory: a failed modification has changed
 * nothing.
 */
static void must_modify(struct play *p, struct end *e, ib_qp_state state, struct ib_qp_attr *attr,
			uint32_t mask, const char *what)
{
	struct ib_qp_attr before, after;
	al_status status;

	must(p, bed_ops.query_qp(e->ci, &before), "query_qp");
	while (no_memory(p, e->ci->pd, status = modify(e, state, attr, mask))) {
		must(p, bed_ops.query_qp(e->ci, &after), "query_qp");
		if (before.qp_state != after.qp_state || before.dest_qp_num != after.dest_qp_num ||
		    before.rq_psn != after.rq_psn || before.path_mtu != after.path_mtu ||
		    before.port_num != after.port_num ||
		    before.max_dest_rd_atomic != after.max_dest_rd_atomic)
			model_error(&p->m, "%s: it failed %s, and is not as before", e->m->name,
				    what);
	}
	must(p, status, what);
}

/* ----------------------------------------------------------------- connection */

/* IBTA table 45, by code, in units of 10 us. */
static const uint32_t rnr_units[] = { 65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 };

/* Draws the attributes of both sides of a connection, and of each side. */
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
		if (e->attr.type == IB_QPT_UD) { /* a datagram is one packet, of the port's MTU */
			e->mtu = IB_MTU_4096;
			e->attr.mtu = 4096;
		}
		if (e->attr.type != IB_QPT_RC)
			e->attr.rnr_retry = e->attr.max_rd_atomic = 0;
		e->max_message = 1 + below(x, one_in(x, 4) ? 12 * 1024 : 5 * e->attr.mtu);
	}
	for (i = 0; i < 2 && a->attr.type == IB_QPT_UD; i++)
		end[i]->max_message = 1 + below(x, 2048);
	/* the responder's resources are for the requests that the peer may have outstanding */
	i = a->dest_rd_atomic;
	a->dest_rd_atomic = b->dest_rd_atomic;
	b->dest_rd_atomic = (uint8_t)i;
}

static void to_init(struct play *p, struct end *e)
{
	struct ib_qp_attr attr = { .port_num = e->port,
				   .qp_access_flags = IB_ACCESS_REMOTE_WRITE |
						      IB_ACCESS_REMOTE_READ |
						      IB_ACCESS_REMOTE_ATOMIC };

	attr.qkey = SOAK_QKEY;
	must_modify(p, e, IB_QPS_INIT, &attr,
		    IB_QP_PORT | IB_QP_PKEY_INDEX |
			    (e->attr.type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS),
		    "to Init");
}

/* Makes the GRH of this path, as an IPv6 header (IBTA 8.3). */
static void expect_grh(struct play *p, struct end *e, const struct ib_global_route *to)
{
	uint32_t word = 6u << 28 | (uint32_t)to->traffic_class << 20 | to->flow_label, i;
	uint8_t *grh = e->attr.grh;
	ib_gid from;

	must(p, bed_ops.query_gid(bed_hca[e->hca].ca, e->port, 0, &from), "query_gid");
	for (i = 0; i < 4; i++)
		grh[i] = (uint8_t)(word >> (24 - 8 * i));
	grh[6] = 0x1b;
	grh[7] = to->hop_limit;
	memcpy(grh + 8, from.raw, 16);
	memcpy(grh + 24, to->dgid.raw, 16);
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

	must(p, bed_ops.query_port(bed_hca[peer->hca].ca, peer->port, &port), "query_port");
	e->peer_qpn = peer->ci->qp_num;
	attr.ah_attr.dlid = port.lid;
	e->peer_lid = port.lid;
	attr.ah_attr.port_num = e->port;
	attr.ah_attr.sl = e->sl;
	attr.ah_attr.is_global = e->attr.global;
	attr.ah_attr.grh = e->grh;
	must(p, bed_ops.query_gid(bed_hca[peer->hca].ca, peer->port, 0, &attr.ah_attr.grh.dgid),
	     "query_gid");
	if (e->attr.global)
		expect_grh(p, e, &attr.ah_attr.grh);
	if (e->attr.type != IB_QPT_UD)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN;
	if (e->attr.type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	must_modify(p, e, IB_QPS_RTR, &attr, mask, "to RTR");
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

void connect_pair(struct play *p, struct end *a, uint64_t *x)
{
	struct end *b = peer_of(p, a);

	if (!a->ci)
		new_qp(p, a, x);
	if (!b->ci)
		new_qp(p, b, x);
	draw_attributes(a, b, x);
	a->read_length = b->read_length = 0;
	to_init(p, a);
	if (b != a)
		to_init(p, b);
	to_rtr(p, a, b);
	if (b != a)
		to_rtr(p, b, a);
	to_rts(p, a);
	if (b != a)
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
		cleaned(e);
	}
	model_modified(e->m, IB_QPS_RESET, false);
}

void end_pair(struct play *p, struct end *a, uint64_t *x)
{
	struct end *b = peer_of(p, a);

	end_one(p, a, x);
	if (b != a)
		end_one(p, b, x);
	model_disconnected(a->m);
	if (b != a)
		model_disconnected(b->m);
}

/* ----------------------------------------------------------------- all objects */

static void qp_event(void *ctx, ib_event_type type)
{
	model_event(ctx, type);
}

/* Draws ports, paths, and queue pairs that are connected to themselves. */
static void draw_wide(struct play *p, uint32_t i, uint64_t x)
{
	struct end *e = &p->end[i], *other = &p->end[i ^ 1];

	e->port = 1;
	if (!p->wide)
		return;
	e->port = i & 1 ? other->port : (uint8_t)(1 + below(&x, p->ports));
	e->sl = (uint8_t)below(&x, 16);
	e->attr.global = one_in(&x, 2);
	e->grh.flow_label = below(&x, 1 << 20);
	e->grh.traffic_class = (uint8_t)below(&x, 256);
	e->grh.hop_limit = (uint8_t)below(&x, 256);
	if (i & 1 && other->m->peer == other->m)
		e->m->peer = e->m;
	else if (!(i & 1) && one_in(&x, 4))
		e->m->peer = e->m;
}

void set_up(struct play *p, uint64_t *x)
{
	static uint8_t *memory[MAX_MODELS][AREAS][2];
	static const char *const names[] = { "A0", "B0", "A1", "B1", "A2", "B2", "A3", "B3" };
	uint32_t h, i, k;

	p->eager = one_in(x, 4);
	p->wrong = one_in(x, 2) ? 0 : one_in(x, 2) ? 30 : 300;
	p->m.qps = 2 * (1 + below(x, 4));
	bed_qp_event = qp_event;
	for (h = 0; h < bed_hcas; h++)
		for (i = 0; i < CQS; i++)
			new_cq(p, h, &p->cq[h][i], x);
	for (i = 0; i < p->m.qps; i++) {
		struct end *e = &p->end[i];

		e->m = &p->m.qp[i];
		*e->m = (struct m_qp){ .name = names[i], .model = &p->m, .peer = &p->m.qp[i ^ 1] };
		/* with cables, on two HCAs: 0 and 1, 2 and 3; others within one HCA */
		e->attr.type = i & 1          ? p->end[i - 1].attr.type
			       : one_in(x, 4) ? IB_QPT_UC
			       : one_in(x, 4) ? IB_QPT_UD
					      : IB_QPT_RC;
		e->hca = i & 1 ? p->end[i - 1].hca ^ !one_in(x, 8) : below(x, bed_hcas);
		draw_wide(p, i, aside(*x));
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
	for (i = 0; i < p->m.qps; i++)
		if (is_first(p, &p->end[i]))
			connect_pair(p, &p->end[i], x);
}

void take_down(struct play *p, uint64_t *x)
{
	uint32_t h, i, k;

	for (i = 0; i < p->m.qps; i++)
		if (is_first(p, &p->end[i]))
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
		for (i = 0; i < CQS; i++)
			free_cq(&p->cq[h][i]);
}
