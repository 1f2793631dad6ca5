/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The far end of al_perf, alone in its process: the part that it has in each row.
 *
 *  - The near end waits for answers (ping-pong): each message is sent back, when a receive tells of
 * it or, with a plain write, when its last byte has changed.
 *  - Receives tell of messages (send, with immediate data): receives are posted again, and the near
 * end hears by a message of no bytes how many have come, so that it never has more under way than
 * there are receives.
 *  - Nothing tells of messages (write, read, atomics): no part but that of the memory, and to
 * compare it when asked to.
 */
#include <sched.h>

#include "al/tools/perf_meet.h"

#define SPINS_PER_CREDIT 32 /* polls in vain after which a few messages are worth telling of */

struct far {
	struct run *r;
	guint64 received;    /* since it counts */
	guint64 replied;     /* when the last answer was posted; 0: not yet */
	guint64 start, last; /* when it began to count, and when something came for the last time */
};

static gboolean has_part(const struct run *r)
{
	return r->op->receives || r->row->mode == PERF_PING_PONG;
}

/* --------------------------------------------------------------------- ping-pong */

/* The message to answer; FALSE: none has come. */
static gboolean find_message(struct run *r, struct flow *f, guint64 *number, GError **err)
{
	struct half *h = &f->half[FAR];
	guint8 news;

	if (!run_waits_for_memory(r)) {
		*number = h->arrived - 1;
		return h->received > h->told;
	}
	/* The tag of the last one is the lowest byte of arrived; lost ones (UC) are left out. */
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

	if (h->done < h->sent) /* the last answer may be needed still */
		return TRUE;
	if (!find_message(r, f, &number, &why)) {
		if (why)
			g_propagate_error(err, why);
		return !why;
	}
	now = perf_now();
	if (s->replied)
		perf_hist_add(r->hist, (now - s->replied) / 2);
	h->told = h->received;
	h->sent = h->done = number;
	s->received++;
	++*handled;
	if (r->job->check || run_waits_for_memory(r))
		run_dress(r, FAR, f, 0);
	s->replied = perf_now();
	return run_post(r, FAR, f, 1, err);
}

/* ------------------------------------------------------------------------ stream */

static gboolean tell_received(struct far *s, struct flow *f, GError **err)
{
	struct run *r = s->r;
	struct half *h = &f->half[FAR];
	guint64 news = h->received - h->told;
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
						     : tell_received(s, &r->flow[n], err)))
			return FALSE;
	if (!*handled)
		return TRUE;
	s->last = perf_now();
	run_not_idle(r);
	return TRUE;
}

/* ------------------------------------------------------------------------- words */

static gboolean count(struct far *s, const struct perf_word *word, struct perf_answer *answer,
		      GError **err)
{
	struct run *r = s->r;

	(void)word;
	(void)answer;
	(void)err;
	*r->hist = (struct perf_hist){ 0 };
	s->received = s->replied = 0;
	for (guint n = 0; n < r->job->qps; n++)
		r->flow[n].checked = r->flow[n].half[FAR].lost = 0;
	s->start = s->last = perf_now();
	return TRUE;
}

static gboolean check(struct far *s, const struct perf_word *word, struct perf_answer *answer,
		      GError **err)
{
	struct run *r = s->r;
	struct half *h;
	struct flow *f;

	if (!r->job->check || has_part(r) || r->op->fetches || word->flow >= r->job->qps)
		return tool_fail(err, "the other end asks for what cannot be compared");
	f = &r->flow[word->flow];
	h = &f->half[FAR];
	if (word->number - h->arrived > r->slots)
		return tool_fail(err, "the other end asks for what cannot be compared");
	for (; h->arrived < word->number; h->arrived++)
		if (!run_check_placed(r, FAR, f, h->arrived, err))
			return FALSE;
	answer->lost = h->lost;
	return TRUE;
}

/* The row is what this end has measured; what it has not, the near end has. */
static gboolean over(struct far *s, const struct perf_word *word, struct perf_answer *answer,
		     GError **err)
{
	struct run *r = s->r;
	struct perf_row *row = r->row;

	(void)err;
	for (guint n = 0; n < r->job->qps; n++)
		answer->checked += r->flow[n].checked;
	row->checked = word->checked + answer->checked;
	row->lost = word->lost;
	row->interrupted = word->interrupted != 0;
	row->told = !has_part(r) || (row->test == PERF_LATENCY && row->mode != PERF_PING_PONG);
	row->messages = row->told                     ? word->messages
			: row->mode == PERF_PING_PONG ? 2 * s->received
						      : s->received + word->lost;
	row->seconds = row->told ? word->seconds : (double)(s->last - s->start) / 1e9;
	row->latency = row->told ? word->latency : perf_hist_latency(r->hist);
	return TRUE;
}

static gboolean hear(struct far *s, gboolean *is_over, GError **err)
{
	static gboolean (*const steps[])(struct far * s, const struct perf_word *word,
					 struct perf_answer *answer, GError **err) = {
		[PERF_COUNT] = count,
		[PERF_CHECK] = check,
		[PERF_OVER] = over,
	};
	struct perf_answer answer = { 0 };
	struct perf_word word;

	if (!perf_hear_word(s->r->job, &word, err))
		return FALSE;
	if (word.step >= G_N_ELEMENTS(steps) || !steps[word.step])
		return tool_fail(err, "the other end says what cannot be now");
	*is_over = word.step == PERF_OVER;
	return steps[word.step](s, &word, &answer, err) && perf_answer(s->r->job, &answer, err);
}

/* -------------------------------------------------------------------------- rows */

/* Nothing was there to do: sleeps with --events, and looks now and then whether there is a word. */
static gboolean look_up(struct run *r, gboolean *is_word, GError **err)
{
	*is_word = FALSE;
	if (r->job->events && !pair_wait(r->channel, NULL, r->cq[FAR], r->peer, r->end[FAR], err))
		return FALSE;
	if (!r->job->events && ++r->spins % SPINS_PER_LOOK)
		return TRUE;
	sched_yield();
	if (tool_interrupted)
		return tool_fail(err, "interrupted");
	*is_word = meet_has_said(r->peer, 0);
	return TRUE;
}

static gboolean serve_row(struct run *r, GError **err)
{
	struct far s = { .r = r };
	gboolean is_over = FALSE;

	while (!is_over) {
		gboolean is_word = !has_part(r);
		guint handled = 0;

		if (!is_word && !take_part(&s, &handled, err))
			return FALSE;
		if (handled)
			continue;
		if (!is_word && !look_up(r, &is_word, err))
			return FALSE;
		if (is_word && !hear(&s, &is_over, err))
			return FALSE;
	}
	return TRUE;
}

/* Is it a row of what was agreed on? */
static gboolean is_row(const struct perf_job *job, const struct perf_word *word)
{
	const struct perf_op *op;
	gboolean latency = word->test == PERF_LATENCY, found = FALSE;

	if (word->step != PERF_ROW || word->op >= PERF_OPS ||
	    (!latency && word->test != PERF_BANDWIDTH))
		return FALSE;
	op = &perf_ops[word->op];
	for (guint i = 0; i < job->num_ops; i++)
		found |= job->ops[i] == op;
	if (!found || !word->size || word->size > job->far.port.max_msg_size ||
	    (op->atomic && word->size != 8))
		return FALSE;
	return word->mode == PERF_PING_PONG
		       ? latency && !op->fetches
		       : word->mode == (latency ? PERF_COMPLETION : PERF_STREAM);
}

static gboolean take_row(struct perf_job *job, const struct perf_word *word, GError **err)
{
	struct perf_row *row = g_new0(struct perf_row, 1);
	struct run r = perf_new_run(job, row);
	gboolean good;

	row->op = r.op = &perf_ops[word->op];
	row->test = (enum perf_test)word->test;
	row->mode = (enum perf_mode)word->mode;
	row->size = word->size;
	r.addr[NEAR] = word->addr;
	r.rkey[NEAR] = word->rkey;
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
	struct perf_word word;

	job->peer = meet_accept(job->al, job->listener, job->meet_name, job->any_user, err);
	if (job->peer < 0 || !perf_hear_hello(job, err) || !perf_check_end(job, &job->far, err) ||
	    !perf_tell_welcome(job, err))
		return FALSE;
	for (;;) {
		if (!perf_hear_word(job, &word, err))
			return FALSE;
		if (word.step == PERF_BYE)
			return TRUE;
		if (!is_row(job, &word))
			return tool_fail(err,
					 "the other end asks for what cannot be: not measured");
		if (!take_row(job, &word, err))
			return FALSE;
	}
}
