/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The measurement of al_perf at the near end: latency and bandwidth of each operation and size, row
 * by row. Queue pairs and messages are in perf_flow.c, the far end in its own process is in
 * perf_far.c. */
#include "al/tools/perf_meet.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

const struct perf_op perf_ops[PERF_OPS] = {
	{ "send", IB_WR_SEND, 1 << IB_QPT_RC | 1 << IB_QPT_UC | 1 << IB_QPT_UD, .receives = TRUE },
	{ "send-imm", IB_WR_SEND_WITH_IMM, 1 << IB_QPT_RC | 1 << IB_QPT_UC | 1 << IB_QPT_UD,
	  .receives = TRUE },
	{ "write", IB_WR_RDMA_WRITE, 1 << IB_QPT_RC | 1 << IB_QPT_UC, IB_ACCESS_REMOTE_WRITE },
	{ "write-imm", IB_WR_RDMA_WRITE_WITH_IMM, 1 << IB_QPT_RC | 1 << IB_QPT_UC,
	  IB_ACCESS_REMOTE_WRITE, .receives = TRUE },
	{ "read", IB_WR_RDMA_READ, 1 << IB_QPT_RC, IB_ACCESS_REMOTE_READ, .fetches = TRUE },
	{ "cas", IB_WR_ATOMIC_CMP_AND_SWP, 1 << IB_QPT_RC, IB_ACCESS_REMOTE_ATOMIC, .fetches = TRUE,
	  .atomic = TRUE },
	{ "fadd", IB_WR_ATOMIC_FETCH_AND_ADD, 1 << IB_QPT_RC, IB_ACCESS_REMOTE_ATOMIC,
	  .fetches = TRUE, .atomic = TRUE },
};

guint64 perf_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (guint64)ts.tv_sec * 1000000000u + (guint64)ts.tv_nsec;
}

/* -------------------------------------------------------------------- latency */

static gboolean has_arrived(const struct run *r, guint at, const struct flow *f, guint64 number)
{
	const struct half *h = &f->half[at];
	guint8 tag;

	if (!run_waits_for_memory(r))
		return h->arrived > number;
	tag = run_tag(number);
	return run_same_bytes(run_in_slot(r, h, 0) + r->row->size - 1, &tag, 1);
}

/* Polls an end until its own message of that number has completed, or (arrival) the peer's message
 * of that number has come. Returns TRUE too if the messages under way are given up. */
static gboolean wait_for(struct run *r, guint i, struct flow *f, guint64 number, gboolean arrival,
			 GError **err)
{
	const guint at = r->here[i] ? i : !i; /* with one end here, its polls count for both ends */

	while (!r->given_up &&
	       (arrival ? !has_arrived(r, i, f, number) : f->half[i].done <= number)) {
		guint handled = 0;

		if (!run_poll(r, at, &handled, err))
			return FALSE;
		if (handled) {
			run_not_idle(r);
			continue;
		}
		if (!run_idle(r, err))
			return FALSE;
		/* The sender's queue may have the error because of which the message does not
		 * come. */
		if (!r->spins && arrival && r->both && !run_poll(r, !i, &handled, err))
			return FALSE;
	}
	if (arrival && !r->given_up) { /* polls do not count a message that shows in memory only */
		f->half[i].arrived = MAX(f->half[i].arrived, number + 1);
		r->heard = TRUE;
	}
	return TRUE;
}

/* Sends one message, and waits until it has come. Returns TRUE too if it is given up. */
static gboolean send_one(struct run *r, guint from, struct flow *f, GError **err)
{
	guint64 number = f->half[from].sent;

	return run_post(r, from, f, 1, err) && wait_for(r, !from, f, number, TRUE, err);
}

/* Sends one message and its answer between two ends in this process. */
static gboolean ping_pong_here(struct run *r, struct flow *f, GError **err)
{
	guint64 number = f->half[NEAR].sent;

	return send_one(r, NEAR, f, err) && (r->given_up || send_one(r, FAR, f, err)) &&
	       wait_for(r, NEAR, f, number, FALSE, err);
}

/* Sends one message to a far end in another process, and waits for its answer. */
static gboolean ping_pong_there(struct run *r, struct flow *f, GError **err)
{
	guint64 number = f->half[NEAR].sent;

	if (!run_post(r, NEAR, f, 1, err))
		return FALSE;
	f->half[FAR].sent = number + 1;
	if (!wait_for(r, NEAR, f, number, TRUE, err) || !wait_for(r, NEAR, f, number, FALSE, err))
		return FALSE;
	if (!r->given_up)
		f->half[FAR].arrived = number + 1;
	return TRUE;
}

static gboolean is_right(struct run *r, struct flow *f, guint64 number, GError **err)
{
	return r->both || !r->job->check || !run_waits_for_memory(r) || r->given_up ||
	       run_check_placed(r, NEAR, f, number, err);
}

/* Takes one sample of latency. The time of a message that is given up is no sample. */
static gboolean sample(struct run *r, struct flow *f, gboolean counts, GError **err)
{
	gboolean ping_pong = r->row->mode == PERF_PING_PONG;
	guint64 number = f->half[NEAR].sent, start, ns;

	if (r->job->check || run_waits_for_memory(r)) {
		run_fill_message(r, NEAR, f, 0);
		if (ping_pong && r->both)
			run_fill_message(r, FAR, f, 0);
	}
	start = perf_now();
	if (!(ping_pong ? (r->both ? ping_pong_here : ping_pong_there)(r, f, err)
			: run_post(r, NEAR, f, 1, err) && wait_for(r, NEAR, f, number, FALSE, err)))
		return FALSE;
	ns = perf_now() - start;
	/* The far end's next message needs the memory of this one. */
	if (ping_pong && r->both && !wait_for(r, FAR, f, f->half[FAR].sent - 1, FALSE, err))
		return FALSE;
	if (ping_pong && !is_right(r, f, number, err))
		return FALSE;
	if (!ping_pong && r->op->receives && !wait_for(r, FAR, f, number, TRUE, err))
		return FALSE;
	if (r->given_up)
		return run_give_up(r, err);
	if (counts)
		perf_hist_add(r->hist, ping_pong ? ns / 2 : ns);
	return TRUE;
}

/* Takes samples on the queue pairs in turn. */
static gboolean samples(struct run *r, guint64 count, guint64 deadline, gboolean counts,
			GError **err)
{
	for (guint64 i = 0; (deadline ? perf_now() < deadline : i < count) && !tool_interrupted;
	     i++)
		if (!sample(r, &r->flow[i % r->job->qps], counts, err))
			return FALSE;
	return TRUE;
}

/* ------------------------------------------------------------------ bandwidth */

/* Number of messages whose slots are free again at both ends. */
static guint64 finished(const struct run *r, const struct flow *f)
{
	return r->op->receives ? MIN(f->half[NEAR].done, f->half[FAR].arrived) : f->half[NEAR].done;
}

static gboolean post_what_fits(struct run *r, struct flow *f, GError **err)
{
	struct half *h = &f->half[NEAR];
	guint64 end = finished(r, f) + r->job->depth;

	while (h->sent < h->quota) {
		guint count = (guint)MIN(r->job->chain, h->quota - h->sent);

		if (h->sent + count > end)
			break;
		for (guint i = 0; r->job->check && i < count; i++)
			run_fill_message(r, NEAR, f, i);
		if (!run_post(r, NEAR, f, count, err))
			return FALSE;
	}
	return TRUE;
}

/* Ends the posting. If the last message was not signalled, one more signalled message follows. */
static void stop_posting(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		struct half *h = &r->flow[n].half[NEAR];

		h->quota = MIN(h->quota, h->sent + (h->unsignalled ? 1 : 0));
	}
}

/* Sends count messages, or messages until the deadline, and waits until all have completed and have
 * come. */
static gboolean stream(struct run *r, guint64 count, guint64 deadline, GError **err)
{
	gboolean stopped = FALSE, busy = TRUE;
	const guint qps = r->job->qps;

	for (guint n = 0; n < qps; n++)
		r->flow[n].half[NEAR].quota =
			deadline ? G_MAXUINT64
				 : r->flow[n].half[NEAR].sent + count / qps + (n < count % qps);
	while (busy) {
		guint handled = 0;

		if (!stopped && (tool_interrupted || (deadline && perf_now() >= deadline))) {
			stop_posting(r);
			stopped = TRUE;
		}
		busy = FALSE;
		for (guint n = 0; n < qps; n++) {
			struct flow *f = &r->flow[n];

			if (!post_what_fits(r, f, err))
				return FALSE;
			busy |= finished(r, f) < f->half[NEAR].quota;
		}
		if (!run_poll(r, NEAR, &handled, err) ||
		    (r->op->receives && r->both && !run_poll(r, FAR, &handled, err)))
			return FALSE;
		if (handled)
			run_not_idle(r);
		else if (busy && !run_idle(r, err))
			return FALSE;
		if (r->given_up && !run_give_up(r, err))
			return FALSE;
	}
	return TRUE;
}

/* ------------------------------------------------------------------------ rows */

/* Takes the warm-up out of the counts. */
static void start_counting(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		struct flow *f = &r->flow[n];

		r->row->messages -= f->half[NEAR].sent + f->half[FAR].sent;
		f->half[NEAR].lost = f->half[FAR].lost = f->checked = 0;
	}
	r->silence = 0;
}

static void count(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		const struct flow *f = &r->flow[n];

		r->row->messages += f->half[NEAR].sent + f->half[FAR].sent;
		r->row->lost += f->half[NEAR].lost + f->half[FAR].lost;
		r->row->checked += f->checked;
	}
}

static gboolean measure_in(struct run *r, GError **err)
{
	const struct perf_job *job = r->job;
	gboolean latency = r->row->test == PERF_LATENCY;
	guint64 start, deadline;
	gboolean good;

	if (!(latency ? samples(r, job->warmup, 0, FALSE, err) : stream(r, job->warmup, 0, err)))
		return FALSE;
	if (!perf_ask_count(r, err))
		return FALSE;
	start_counting(r);
	start = perf_now();
	deadline = job->duration > 0 ? start + (guint64)(job->duration * 1e9) : 0;
	good = latency ? samples(r, job->iters, deadline, TRUE, err)
		       : stream(r, job->iters, deadline, err);
	r->row->seconds = (double)(perf_now() - start - r->silence) / 1e9;
	count(r);
	if (good && !tool_interrupted && r->row->messages && r->row->lost >= r->row->messages)
		return run_nothing_comes(r, r->row->lost, err);
	r->row->latency = perf_hist_latency(r->hist);
	r->row->interrupted = tool_interrupted != 0;
	return good && perf_ask_over(r, err);
}

struct run perf_new_run(struct perf_job *job, struct perf_row *row)
{
	return (struct run){
		.job = job,
		.row = row,
		.op = row->op,
		.end = { &job->near, &job->far },
		.here = { job->near_here, job->far_here },
		.both = job->near_here && job->far_here,
		.peer = job->peer,
	};
}

/* Only while measuring: threads that the library starts would inherit the processor. */
gboolean perf_on_cpu(struct run *r, gboolean (*what)(struct run *r, GError **err), GError **err)
{
	cpu_set_t before, here;
	gboolean good;

	if (r->job->cpu < 0)
		return what(r, err);
	CPU_ZERO(&here);
	CPU_SET((size_t)r->job->cpu, &here);
	if (sched_getaffinity(0, sizeof(before), &before) ||
	    sched_setaffinity(0, sizeof(here), &here))
		return tool_misuse(err, "--cpu %d: this process cannot run there: %s", r->job->cpu,
				   g_strerror(errno));
	good = what(r, err);
	sched_setaffinity(0, sizeof(before), &before);
	return good;
}

/* No ping-pong by plain writes with --events: a write does not wake a far end that sleeps. */
static enum perf_mode mode_of(const struct perf_job *job, const struct perf_op *op,
			      enum perf_test test)
{
	if (test == PERF_BANDWIDTH)
		return PERF_STREAM;
	if (job->completion || op->fetches || (job->events && !op->receives))
		return PERF_COMPLETION;
	return PERF_PING_PONG;
}

static gboolean measure(struct perf_job *job, enum perf_test test, const struct perf_op *op,
			guint64 size, GError **err)
{
	struct perf_row *row = g_new0(struct perf_row, 1);
	struct run r;
	gboolean good;

	row->op = op;
	row->test = test;
	row->mode = mode_of(job, op, test);
	row->size = size;
	r = perf_new_run(job, row);
	good = run_make(&r, err) && perf_on_cpu(&r, measure_in, err);
	run_end(&r);
	/* A row without messages is dropped. */
	if (!good || !row->messages) {
		g_free(row);
		return FALSE;
	}
	g_ptr_array_add(job->rows, row);
	job->measured(job, row);
	return !tool_interrupted &&
	       !ferror(stdout); /* if rows can not be printed, the measurement ends */
}

/* ------------------------------------------------------------------------- job */

static gboolean check_type(const struct perf_job *job, const struct pair_end *end, GError **err)
{
	static const guint32 cap[IB_QPT_COUNT] = {
		[IB_QPT_UC] = IB_CA_CAP_UC, [IB_QPT_UD] = IB_CA_CAP_UD
	};

	if ((end->attr.caps & cap[job->type]) == cap[job->type])
		return TRUE;
	return tool_misuse(err,
			   "HCA 0x%016" G_GINT64_MODIFIER
			   "x does not offer %s (%s); \"al_query caps\" shows what it does",
			   end->guid, al_qp_type_str(job->type), al_ca_cap_str(cap[job->type]));
}

guint32 perf_op_bit(const struct perf_op *op)
{
	return 1u << (op - perf_ops);
}

guint32 perf_op_bits(const struct perf_job *job)
{
	guint32 bits = 0;

	for (guint i = 0; i < job->num_ops; i++)
		bits |= perf_op_bit(job->ops[i]);
	return bits;
}

void perf_leave_out(struct perf_job *job, const struct perf_op *op, const char *why)
{
	guint kept = 0;

	for (guint i = 0; i < job->num_ops; i++)
		if (job->ops[i] != op)
			job->ops[kept++] = job->ops[i];
	job->num_ops = kept;
	job->left_out |= perf_op_bit(op);
	fprintf(stderr, "al_perf: %s is left out: %s\n", op->name, why);
}

/* The capability that the operation needs and the HCA lacks; NULL: none. */
static const char *missing(const struct perf_op *op, const struct ib_ca_attr *attr)
{
	if (op->atomic && attr->atomic_cap == IB_ATOMIC_NONE)
		return "atomics";
	if (op->fetches && !MIN(attr->max_qp_rd_atom, attr->max_qp_init_rd_atom))
		return "reads and atomics";
	return NULL;
}

static gboolean check_ops(struct perf_job *job, const struct pair_end *end, GError **err)
{
	for (guint i = 0; i < PERF_OPS; i++) {
		const struct perf_op *op = &perf_ops[i];
		const char *lack = missing(op, &end->attr);
		g_autofree char *why = NULL;

		if (!lack || !(perf_op_bits(job) & perf_op_bit(op)))
			continue;
		why = g_strdup_printf("HCA 0x%016" G_GINT64_MODIFIER "x has no %s", end->guid,
				      lack);
		if (!(job->optional & perf_op_bit(op)))
			return tool_misuse(err, "%s: not %s", why, op->name);
		perf_leave_out(job, op, why);
	}
	return TRUE;
}

static gboolean check_limits(const struct perf_job *job, const struct pair_end *end, GError **err)
{
	const struct ib_ca_attr *attr = &end->attr;
	const struct {
		const char *option;
		guint64 value, most;
	} limits[] = {
		{ "--depth", job->depth, attr->max_qp_wr },
		{ "--inline", job->inline_max, attr->max_inline_data },
		{ "--qps", job->qps, attr->max_qp },
		{ "--mtu", job->mtu, ib_mtu_bytes(end->port.active_mtu) },
	};

	for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
		if (limits[i].value > limits[i].most)
			return tool_misuse(err,
					   "%s %" G_GUINT64_FORMAT ": HCA 0x%016" G_GINT64_MODIFIER
					   "x can do at most %" G_GUINT64_FORMAT,
					   limits[i].option, limits[i].value, end->guid,
					   limits[i].most);
	return TRUE;
}

gboolean perf_check_end(struct perf_job *job, const struct pair_end *end, GError **err)
{
	return check_type(job, end, err) && check_limits(job, end, err) && check_ops(job, end, err);
}

static guint64 largest_message(const struct perf_job *job)
{
	guint32 mtu = ib_mtu_bytes(MIN(job->near.port.active_mtu, job->far.port.active_mtu));

	if (job->type == IB_QPT_UD)
		return job->mtu ? MIN(job->mtu, mtu) : mtu;
	return MIN(job->near.port.max_msg_size, job->far.port.max_msg_size);
}

static gboolean check_sizes(struct perf_job *job, GError **err)
{
	guint64 most = largest_message(job);

	for (guint i = 0; i < job->sizes->len; i++) {
		if (g_array_index(job->sizes, guint64, i) <= most)
			continue;
		if (!job->all_sizes)
			return tool_misuse(err,
					   "--size %" G_GUINT64_FORMAT
					   ": a message of %s has at most %" G_GUINT64_FORMAT
					   " bytes here",
					   g_array_index(job->sizes, guint64, i),
					   al_qp_type_str(job->type), most);
		g_array_set_size(job->sizes, i);
	}
	return TRUE;
}

/* Nanoseconds of one call of perf_now(): the clock's own part in each latency. */
static double cost_of_clock(void)
{
	g_autofree struct perf_hist *hist = g_new0(struct perf_hist, 1);

	for (guint i = 0; i < 1000; i++) {
		guint64 start = perf_now();

		perf_hist_add(hist, perf_now() - start);
	}
	return (double)perf_hist_percentile(hist, 50);
}

static gboolean measure_all(struct perf_job *job, GError **err)
{
	static const guint64 atomic_size = 8;

	for (guint test = PERF_LATENCY; test <= PERF_BANDWIDTH; test <<= 1)
		for (guint i = 0; job->tests & test && i < job->num_ops; i++) {
			const struct perf_op *op = job->ops[i];
			guint num = op->atomic ? 1 : job->sizes->len;

			for (guint j = 0; j < num; j++)
				if (!measure(job, test, op,
					     op->atomic ? atomic_size
							: g_array_index(job->sizes, guint64, j),
					     err))
					return FALSE;
		}
	return TRUE;
}

static gboolean open_ends(struct perf_job *job, GError **err)
{
	return pair_choose(job->al, &job->near, &job->far, err) &&
	       (!job->near_here || pair_open(job->al, &job->near, err)) &&
	       (!job->far_here || pair_open(job->al, &job->far, err));
}

/* Measures at the near end, and serves a far end in this process. */
static gboolean measure_job(struct perf_job *job, GError **err)
{
	return perf_check_end(job, &job->near, err) &&
	       (job->far_here ? perf_check_end(job, &job->far, err) : perf_exchange_hello(job, err)) &&
	       check_sizes(job, err) && measure_all(job, err) &&
	       (job->far_here || perf_send_bye(job, err));
}

/* Sends the other end the reason why this end ends without a bye. */
static void send_reason(const struct perf_job *job, const GError *why)
{
	g_autoptr(GError) interrupted = NULL;

	tool_fail(&interrupted, "interrupted");
	meet_send_failure(job->peer, why ? why : interrupted);
}

gboolean perf_run(struct perf_job *job, GError **err)
{
	al_status st = al_open(NULL, &job->al);
	GError *why = NULL;
	gboolean good;

	if (st)
		return tool_fail(
			err, "the Access Layer cannot be opened: %s; \"al_query doctor\" says more",
			al_status_str(st));
	job->clock_ns = cost_of_clock();
	good = open_ends(job, &why) &&
	       (job->near_here ? measure_job(job, &why) : perf_serve(job, &why));
	if (!good && job->peer >= 0)
		send_reason(job, why);
	if (why)
		g_propagate_error(err, why);
	pair_close(&job->far);
	pair_close(&job->near);
	al_close(job->al, AL_DESTROY_SYNC, NULL);
	return good;
}
