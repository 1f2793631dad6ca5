/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The far end of al_perf, if the near end is in another process: what the far end does in each row.
 *
 *  - Ping-pong: the far end answers each message. It sees a message by a receive, or with a plain write by the message's changed
 *    last byte.
 *  - Bandwidth of operations with receives (send, immediate data): the far end posts receives again, and sends credits, which are
 *    messages of no bytes with the number of messages received. So the near end never has more messages under way than there are
 *    receives.
 *  - Other operations (write, read, atomics) need only the far end's memory. The far end compares that memory when the near end
 *    requests a check.
 */
#include <sched.h>

#include "al/tools/perf_meet.h"

#define SPINS_PER_CREDIT 32 /* empty polls after which also a few messages are worth a credit */

struct far {
	struct run *r;
	guint64 received;    /* messages since PERF_COUNT */
	guint64 replied;     /* time of the last answer's post; 0: none since PERF_COUNT */
	guint64 start, last; /* times of PERF_COUNT and of the last completion */
};

/* TRUE: the far end polls for messages in this row. */
static gboolean has_part(const struct run *r)
{
	return r->op->receives || r->row->mode == PERF_PING_PONG;
}

/* --------------------------------------------------------------------- ping-pong */

/* Finds the next message to answer. FALSE without an error: none has come. */
static gboolean find_message(struct run *r, struct flow *f, guint64 *number, GError **err)
{
	struct half *h = &f->half[FAR];
	guint8 news;

	if (!run_waits_for_memory(r)) {
		*number = h->arrived - 1;
		return h->received > h->credited;
	}
	/* The tag of the last message is the lowest byte of arrived. Lost messages (UC) have no
	 * answer. */
	news = (guint8)(run_last_tag(r, h) - (guint8)h->arrived);
	if (!news)
		return FALSE;
	*number = h->arrived + news - 1;
	h->arrived = *number + 1;
	h->received++;
	return !r->job->check || run_check_placed(r, FAR, f, *number, err);
}

static gboolean answer_message(struct far *s, struct flow *f, guint *handled, GError **err)
{
	struct run *r = s->r;
	struct half *h = &f->half[FAR];
	GError *why = NULL;
	guint64 number, now;

	if (h->done < h->sent) /* the memory of the last answer is in use until its completion */
		return TRUE;
	if (!find_message(r, f, &number, &why)) {
		if (why)
			g_propagate_error(err, why);
		return !why;
	}
	now = perf_now();
	if (s->replied)
		perf_hist_add(r->hist, (now - s->replied) / 2);
	h->credited = h->received;
	h->sent = h->done = number;
	s->received++;
	++*handled;
	if (r->job->check || run_waits_for_memory(r))
		run_fill_message(r, FAR, f, 0);
	s->replied = perf_now();
	return run_post(r, FAR, f, 1, err);
}

/* ------------------------------------------------------------------------ stream */

/* Sends a credit for the messages that have come, if there are enough of them. */
static gboolean send_credit(struct far *s, struct flow *f, GError **err)
{
	struct run *r = s->r;
	struct half *h = &f->half[FAR];
	guint64 news = h->received - h->credited;
	guint32 many = r->row->test == PERF_LATENCY ? 1 : MAX(r->job->depth / 4, 1);

	if (!news || h->sent - h->done >= r->job->depth ||
	    (news < many && r->spins < SPINS_PER_CREDIT && !r->job->events))
		return TRUE;
	s->received += news;
	return run_post_credit(r, f, err);
}

static gboolean take_part(struct far *s, guint *handled, GError **err)
{
	struct run *r = s->r;

	if (!run_poll(r, FAR, handled, err))
		return FALSE;
	for (guint n = 0; n < r->job->qps; n++)
		if (!(r->row->mode == PERF_PING_PONG ? answer_message(s, &r->flow[n], handled, err)
						     : send_credit(s, &r->flow[n], err)))
			return FALSE;
	if (!*handled)
		return TRUE;
	s->last = perf_now();
	run_not_idle(r);
	return TRUE;
}

/* ---------------------------------------------------------------------- requests */

static gboolean count(struct far *s, const struct perf_request *request, struct perf_answer *answer,
		      GError **err)
{
	struct run *r = s->r;

	(void)request;
	(void)answer;
	(void)err;
	*r->hist = (struct perf_hist){ 0 };
	s->received = s->replied = 0;
	for (guint n = 0; n < r->job->qps; n++)
		r->flow[n].checked = r->flow[n].half[FAR].lost = 0;
	s->start = s->last = perf_now();
	return TRUE;
}

static gboolean check(struct far *s, const struct perf_request *request, struct perf_answer *answer,
		      GError **err)
{
	struct run *r = s->r;
	struct half *h;
	struct flow *f;

	if (!r->job->check || has_part(r) || r->op->fetches || request->flow >= r->job->qps)
		return tool_fail(err, "the other end asks for a comparison that is not possible");
	f = &r->flow[request->flow];
	h = &f->half[FAR];
	if (request->number - h->arrived > r->slots)
		return tool_fail(err, "the other end asks for a comparison that is not possible");
	for (; h->arrived < request->number; h->arrived++)
		if (!run_check_placed(r, FAR, f, h->arrived, err))
			return FALSE;
	answer->lost = h->lost;
	return TRUE;
}

/* Completes the row: by this end's figures, or by the near end's figures (told) if this end has
 * measured nothing. */
static gboolean over(struct far *s, const struct perf_request *request, struct perf_answer *answer,
		     GError **err)
{
	struct run *r = s->r;
	struct perf_row *row = r->row;

	(void)err;
	for (guint n = 0; n < r->job->qps; n++)
		answer->checked += r->flow[n].checked;
	row->checked = request->checked + answer->checked;
	row->lost = request->lost;
	row->interrupted = request->interrupted != 0;
	row->told = !has_part(r) || (row->test == PERF_LATENCY && row->mode != PERF_PING_PONG);
	row->messages = row->told                     ? request->messages
			: row->mode == PERF_PING_PONG ? 2 * s->received
						      : s->received + request->lost;
	/* This end does not know the silences after messages that were lost. */
	row->seconds =
		row->told || row->lost ? request->seconds : (double)(s->last - s->start) / 1e9;
	row->latency = row->told ? request->latency : perf_hist_latency(r->hist);
	return TRUE;
}

static gboolean serve_request(struct far *s, gboolean *is_over, GError **err)
{
	static gboolean (*const steps[])(struct far * s, const struct perf_request *request,
					 struct perf_answer *answer, GError **err) = {
		[PERF_COUNT] = count,
		[PERF_CHECK] = check,
		[PERF_OVER] = over,
	};
	struct perf_answer answer = { 0 };
	struct perf_request request;

	if (!perf_receive_request(s->r->job, &request, err))
		return FALSE;
	if (request.step >= G_N_ELEMENTS(steps) || !steps[request.step])
		return tool_fail(err, "the other end's request is not possible in a row");
	*is_over = request.step == PERF_OVER;
	return steps[request.step](s, &request, &answer, err) && perf_answer(s->r->job, &answer, err);
}

/* -------------------------------------------------------------------------- rows */

/* After an empty poll: sleeps with --events. Else looks for a request once in SPINS_PER_LOOK
 * calls. */
static gboolean wait_a_while(struct run *r, gboolean *has_request, GError **err)
{
	*has_request = FALSE;
	if (r->job->events && !pair_wait(r->channel, NULL, r->cq[FAR], r->peer, r->end[FAR], err))
		return FALSE;
	if (!r->job->events && ++r->spins % SPINS_PER_LOOK)
		return TRUE;
	sched_yield();
	if (tool_interrupted)
		return tool_fail(err, "interrupted");
	*has_request = meet_has_input(r->peer, 0);
	return TRUE;
}

static gboolean serve_row(struct run *r, GError **err)
{
	struct far s = { .r = r };
	gboolean is_over = FALSE;

	while (!is_over) {
		gboolean has_request = !has_part(r);
		guint handled = 0;

		if (!has_request && !take_part(&s, &handled, err))
			return FALSE;
		if (handled)
			continue;
		if (!has_request && !wait_a_while(r, &has_request, err))
			return FALSE;
		if (has_request && !serve_request(&s, &is_over, err))
			return FALSE;
	}
	return TRUE;
}

/* TRUE: the request begins a row that the settings of hello and welcome allow. */
static gboolean is_row(const struct perf_job *job, const struct perf_request *request)
{
	const struct perf_op *op;
	gboolean latency = request->test == PERF_LATENCY, found = FALSE;

	if (request->step != PERF_ROW || request->op >= PERF_OPS ||
	    (!latency && request->test != PERF_BANDWIDTH))
		return FALSE;
	op = &perf_ops[request->op];
	for (guint i = 0; i < job->num_ops; i++)
		found |= job->ops[i] == op;
	if (!found || !request->size || request->size > job->far.port.max_msg_size ||
	    (op->atomic && request->size != 8))
		return FALSE;
	return request->mode == PERF_PING_PONG
		       ? latency && !op->fetches
		       : request->mode == (latency ? PERF_COMPLETION : PERF_STREAM);
}

static gboolean take_row(struct perf_job *job, const struct perf_request *request, GError **err)
{
	struct perf_row *row = g_new0(struct perf_row, 1);
	struct run r = perf_new_run(job, row);
	gboolean good;

	row->op = r.op = &perf_ops[request->op];
	row->test = (enum perf_test)request->test;
	row->mode = (enum perf_mode)request->mode;
	row->size = request->size;
	r.addr[NEAR] = request->addr;
	r.rkey[NEAR] = request->rkey;
	good = run_make(&r, err) && perf_on_cpu(&r, serve_row, err);
	run_end(&r);
	if (!good) {
		g_free(row);
		return FALSE;
	}
	g_ptr_array_add(job->rows, row);
	job->measured(job, row);
	return TRUE;
}

gboolean perf_serve(struct perf_job *job, GError **err)
{
	struct perf_request request;

	job->peer = meet_accept(job->al, job->listener, job->meet_name, job->any_user, err);
	if (job->peer < 0 || !perf_receive_hello(job, err) || !perf_check_end(job, &job->far, err) ||
	    !perf_send_welcome(job, err))
		return FALSE;
	for (;;) {
		if (!perf_receive_request(job, &request, err))
			return FALSE;
		if (request.step == PERF_BYE)
			return TRUE;
		if (!is_row(job, &request))
			return tool_fail(err,
					 "the other end asks for settings that are not possible: nothing is measured");
		if (!take_row(job, &request, err))
			return FALSE;
	}
}
