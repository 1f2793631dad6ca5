/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The records between the two ends of al_perf (perf_meet.h): packing, sending, receiving,
 * checking. */
#include "al/tools/perf_meet.h"

#include <math.h>
#include <string.h>

#define PERF_VERSION 4

enum perf_flag {
	PERF_COMPLETION_FLAG = 1 << 0,
	PERF_EVENTS = 1 << 1,
	PERF_CHECKED = 1 << 2,
	PERF_MALLOC = 1 << 3,
	PERF_FLAGS = (1 << 4) - 1,
};

struct hello {
	guint32 version;
	guint32 type, flags, ops; /* ib_qp_type, enum perf_flag, bits of perf_ops */
	guint32 depth, signal, chain, qps, mtu, inline_max;
	guint32 rd_atomic;
	guint32 optional; /* bits of ops that the far end leaves out if its HCA lacks them */
	guint32 sl;
	guint32 zero; /* not in use */
	struct meet_card card;
};

struct welcome {
	guint32 rd_atomic;
	guint32 ops; /* the hello's operations that the far end's HCA has */
	struct meet_card card;
};

/* Numbers of queue pairs: a row with thousands of queue pairs needs several of these records. */
struct numbers {
	guint32 qpn[128];
};

/* ------------------------------------------------------------------ settings */

static guint32 rd_atomic_of(const struct pair_end *end)
{
	return MIN(end->attr.max_qp_init_rd_atom, end->attr.max_qp_rd_atom);
}

/* Makes an end of the other process's card. rd_atomic is the only attribute of that end's HCA that
 * this process learns. */
static gboolean accept_card(struct perf_job *job, const struct meet_card *card, guint32 rd_atomic,
			struct pair_end *end, GError **err)
{
	if (!meet_accept_card(job->al, card, end, err))
		return FALSE;
	end->attr.max_qp_init_rd_atom = end->attr.max_qp_rd_atom = rd_atomic;
	return TRUE;
}

/* Leaves out the operations that the far end's HCA lacks. */
static gboolean agree(struct perf_job *job, guint32 ops, GError **err)
{
	guint32 ours = perf_op_bits(job);

	if (!ops || ops & ~ours || ours & ~ops & ~job->optional)
		return tool_fail(err, "the other end answers with other operations than were asked for: nothing is measured");
	for (guint i = 0; i < PERF_OPS; i++)
		if (ours & ~ops & 1u << i)
			perf_leave_out(job, &perf_ops[i], "the other end's HCA cannot do it");
	return TRUE;
}

gboolean perf_exchange_hello(struct perf_job *job, GError **err)
{
	struct welcome welcome;
	struct hello hello = {
		.version = PERF_VERSION,
		.type = job->type,
		.flags = (job->completion ? PERF_COMPLETION_FLAG : 0) |
			 (job->events ? PERF_EVENTS : 0) | (job->check ? PERF_CHECKED : 0) |
			 (job->from_malloc ? PERF_MALLOC : 0),
		.depth = job->depth,
		.signal = job->signal,
		.chain = job->chain,
		.qps = job->qps,
		.mtu = job->mtu,
		.inline_max = job->inline_max,
		.sl = job->near.sl,
		.rd_atomic = rd_atomic_of(&job->near),
		.ops = perf_op_bits(job),
		.optional = job->optional & perf_op_bits(job),
		.card = meet_card_of(&job->near, 0),
	};

	return meet_send(job->peer, &hello, sizeof(hello), err) &&
	       meet_receive(job->peer, &welcome, sizeof(welcome), err) &&
	       accept_card(job, &welcome.card, welcome.rd_atomic, &job->far, err) &&
	       agree(job, welcome.ops, err);
}

static gboolean is_mtu(guint32 mtu)
{
	return !mtu || (mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1)));
}

/* FALSE: no command line can ask for such settings. Whether the HCA supports them is checked by
 * perf_check_end(). */
static gboolean is_possible(const struct hello *h)
{
	gboolean type = h->type == IB_QPT_RC || h->type == IB_QPT_UC || h->type == IB_QPT_UD;
	gboolean ops = h->ops && !(h->ops >> PERF_OPS) && !(h->optional & ~h->ops);

	for (guint i = 0; type && ops && i < PERF_OPS; i++)
		ops = !(h->ops & 1u << i) || perf_ops[i].types & 1u << h->type;
	return type && ops && !(h->flags & ~(guint32)PERF_FLAGS) && h->depth &&
	       h->depth <= PERF_DEPTH_MAX && h->signal && h->signal <= h->depth && h->chain &&
	       h->chain <= h->depth && h->qps && h->qps <= PERF_QPS_MAX && is_mtu(h->mtu) &&
	       h->inline_max <= PERF_INLINE_MAX && h->sl <= PERF_SL_MAX && !h->zero;
}

gboolean perf_receive_hello(struct perf_job *job, GError **err)
{
	struct hello h;

	if (!meet_receive(job->peer, &h, sizeof(h), err))
		return FALSE;
	if (h.version != PERF_VERSION)
		return tool_fail(err, "the other end is of another version: %u, and this one of %u",
				 h.version, PERF_VERSION);
	if (!is_possible(&h))
		return tool_fail(err, "the other end asks for settings that are not possible: nothing is measured");
	job->type = (ib_qp_type)h.type;
	job->completion = h.flags & PERF_COMPLETION_FLAG;
	job->events = h.flags & PERF_EVENTS;
	job->check = h.flags & PERF_CHECKED;
	job->from_malloc = h.flags & PERF_MALLOC;
	job->depth = h.depth;
	job->signal = h.signal;
	job->chain = h.chain;
	job->qps = h.qps;
	job->mtu = h.mtu;
	job->inline_max = h.inline_max;
	job->far.sl = (guint8)h.sl;
	job->optional = h.optional;
	job->num_ops = 0;
	for (guint i = 0; i < PERF_OPS; i++)
		if (h.ops & 1u << i)
			job->ops[job->num_ops++] = &perf_ops[i];
	return accept_card(job, &h.card, h.rd_atomic, &job->near, err);
}

gboolean perf_send_welcome(const struct perf_job *job, GError **err)
{
	const struct welcome welcome = { .rd_atomic = rd_atomic_of(&job->far),
					 .ops = perf_op_bits(job),
					 .card = meet_card_of(&job->far, 0) };

	return meet_send(job->peer, &welcome, sizeof(welcome), err);
}

/* -------------------------------------------------------------------- places */

static gboolean send_numbers(const struct run *r, guint i, GError **err)
{
	struct numbers numbers = { 0 };

	for (guint n = 0; n < r->job->qps; n++) {
		guint place = n % G_N_ELEMENTS(numbers.qpn);

		numbers.qpn[place] = r->flow[n].half[i].qpn;
		if ((place + 1 == G_N_ELEMENTS(numbers.qpn) || n + 1 == r->job->qps) &&
		    !meet_send(r->peer, &numbers, sizeof(numbers), err))
			return FALSE;
	}
	return TRUE;
}

static gboolean receive_numbers(struct run *r, guint i, GError **err)
{
	struct numbers numbers;

	for (guint n = 0; n < r->job->qps; n++) {
		guint place = n % G_N_ELEMENTS(numbers.qpn);

		if (!place && !meet_receive(r->peer, &numbers, sizeof(numbers), err))
			return FALSE;
		r->flow[n].half[i].qpn = numbers.qpn[place];
	}
	return TRUE;
}

gboolean perf_send_place(struct run *r, struct perf_request *request, GError **err)
{
	const struct perf_answer answer = { .addr = r->addr[FAR], .rkey = r->rkey[FAR] };

	if (!request)
		return perf_answer(r->job, &answer, err) && send_numbers(r, FAR, err);
	request->addr = r->addr[NEAR];
	request->rkey = r->rkey[NEAR];
	return meet_send(r->peer, request, sizeof(*request), err) && send_numbers(r, NEAR, err);
}

gboolean perf_receive_place(struct run *r, GError **err)
{
	struct perf_answer answer;
	struct perf_request row = {
		.step = PERF_ROW,
		.op = (guint32)(r->op - perf_ops),
		.test = r->row->test,
		.mode = r->row->mode,
		.size = r->row->size,
	};

	if (!r->here[NEAR])
		return receive_numbers(r, NEAR, err);
	if (!perf_send_place(r, &row, err) || !meet_receive(r->peer, &answer, sizeof(answer), err))
		return FALSE;
	r->addr[FAR] = answer.addr;
	r->rkey[FAR] = answer.rkey;
	return receive_numbers(r, FAR, err);
}

/* --------------------------------------------------------------------- words */

static gboolean ask(const struct run *r, const struct perf_request *request, struct perf_answer *answer,
		    GError **err)
{
	return meet_send(r->peer, request, sizeof(*request), err) &&
	       meet_receive(r->peer, answer, sizeof(*answer), err);
}

gboolean perf_ask_count(struct run *r, GError **err)
{
	const struct perf_request request = { .step = PERF_COUNT };
	struct perf_answer answer;

	return r->both || ask(r, &request, &answer, err);
}

gboolean perf_ask_check(struct run *r, struct flow *f, guint64 number, GError **err)
{
	const struct perf_request request = { .step = PERF_CHECK,
					.flow = (guint32)(f - r->flow),
					.number = number };
	struct perf_answer answer;

	if (!ask(r, &request, &answer, err))
		return FALSE;
	f->half[FAR].lost = answer.lost;
	return TRUE;
}

gboolean perf_ask_over(struct run *r, GError **err)
{
	struct perf_row *row = r->row;
	const struct perf_request request = {
		.step = PERF_OVER,
		.messages = row->messages,
		.lost = row->lost,
		.checked = row->checked,
		.interrupted = row->interrupted,
		.seconds = row->seconds,
		.latency = row->latency,
	};
	struct perf_answer answer;

	if (r->both)
		return TRUE;
	/* An interrupted near end does not wait for the answer. */
	if (tool_interrupted)
		return meet_send(r->peer, &request, sizeof(request), err);
	if (!ask(r, &request, &answer, err))
		return FALSE;
	row->checked += answer.checked;
	return TRUE;
}

gboolean perf_send_bye(const struct perf_job *job, GError **err)
{
	const struct perf_request request = { .step = PERF_BYE };

	return meet_send(job->peer, &request, sizeof(request), err);
}

/* Times are only printed: any finite number will do. */
gboolean perf_receive_request(const struct perf_job *job, struct perf_request *request, GError **err)
{
	return meet_receive(job->peer, request, sizeof(*request), err) &&
	       ((isfinite(request->seconds) && isfinite(request->latency.mean)) ||
		tool_fail(err, "the other end's record has times that are not possible"));
}

gboolean perf_answer(const struct perf_job *job, const struct perf_answer *answer, GError **err)
{
	return meet_send(job->peer, answer, sizeof(*answer), err);
}
