/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_perf [OP...] [agent:NAME]: the command line. The measurement is in perf_rdma.c and perf_far.c,
 * the reports are in perf_report.c and perf_svg.c. */
#include <iba/ib_al.h>

#include <string.h>
#include <unistd.h>

#include "al/tools/meet.h"
#include "al/tools/perf.h"

#define SIZE_MAX_TEXT "1G"
#define ALL_SIZES     "2..8M"

static struct {
	char *type, *size, *iters, *duration, *warmup, *depth, *signal, *chain, *qps, *mtu,
		*inline_max, *cpu, *sl;
	char *from, *to, *from_port, *to_port, *svg, *listen;
	gint64 flip;
	gboolean latency, bandwidth, all, completion, events, check, from_malloc, json, csv, version, keep,
		any_user;
	char **ops;
} opt = { .flip = -1 };

static const GOptionEntry what_entries[] = {
	{ "latency", 'l', 0, G_OPTION_ARG_NONE, &opt.latency, "Measure latency only", NULL },
	{ "bandwidth", 'b', 0, G_OPTION_ARG_NONE, &opt.bandwidth,
	  "Measure bandwidth and message rate only", NULL },
	{ "type", 't', 0, G_OPTION_ARG_STRING, &opt.type, "Transport: rc, uc or ud (rc)", "TYPE" },
	{ "size", 's', 0, G_OPTION_ARG_STRING, &opt.size,
	  "Bytes: one, a list, ranges, such as 8,64,1K..1M (8)", "SIZES" },
	{ "all", 'a', 0, G_OPTION_ARG_NONE, &opt.all,
	  "All sizes: " ALL_SIZES ", as far as possible", NULL },
	{ "completion", 0, 0, G_OPTION_ARG_NONE, &opt.completion,
	  "Latency from post to completion, not ping-pong", NULL },
	{ "from", 0, 0, G_OPTION_ARG_STRING, &opt.from, "The near HCA (the first)", "HCA" },
	{ "to", 0, 0, G_OPTION_ARG_STRING, &opt.to, "The far HCA (the next, or the same)", "HCA" },
	{ "from-port", 0, 0, G_OPTION_ARG_STRING, &opt.from_port, "Its port (the first active one)",
	  "N" },
	{ "to-port", 0, 0, G_OPTION_ARG_STRING, &opt.to_port, "Its port (the first active one)",
	  "N" },
	{ "listen", 0, 0, G_OPTION_ARG_STRING, &opt.listen,
	  "Be the far end of \"al_perf [OP...] " MEET_PREFIX "NAME\"", "NAME" },
	{ "keep", 'k', 0, G_OPTION_ARG_NONE, &opt.keep, "Be that of one after another", NULL },
	{ "any-user", 0, 0, G_OPTION_ARG_NONE, &opt.any_user, "The other end may be another user's",
	  NULL },
	{ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &opt.ops, NULL,
	  "[OP...] [" MEET_PREFIX "NAME]" },
	G_OPTION_ENTRY_NULL
};

static const GOptionEntry how_entries[] = {
	{ "iters", 'n', 0, G_OPTION_ARG_STRING, &opt.iters,
	  "Messages, or round trips, of a row (10000)", "N" },
	{ "duration", 'D', 0, G_OPTION_ARG_STRING, &opt.duration, "Seconds of a row, instead",
	  "SECONDS" },
	{ "warmup", 'w', 0, G_OPTION_ARG_STRING, &opt.warmup,
	  "Messages before it that do not count (100)", "N" },
	{ "depth", 'd', 0, G_OPTION_ARG_STRING, &opt.depth,
	  "Messages under way of a queue pair (64)", "N" },
	{ "signal", 0, 0, G_OPTION_ARG_STRING, &opt.signal,
	  "Every n-th message completes visibly (16)", "N" },
	{ "chain", 0, 0, G_OPTION_ARG_STRING, &opt.chain, "Requests of one post (1)", "N" },
	{ "qps", 'q', 0, G_OPTION_ARG_STRING, &opt.qps, "Queue pairs (1)", "N" },
	{ "mtu", 'm', 0, G_OPTION_ARG_STRING, &opt.mtu,
	  "Path MTU: 256, 512, 1024, 2048 or 4096 (the ports')", "BYTES" },
	{ "inline", 'I', 0, G_OPTION_ARG_STRING, &opt.inline_max,
	  "Messages up to so many bytes go inline (0)", "BYTES" },
	{ "sl", 0, 0, G_OPTION_ARG_STRING, &opt.sl, "Service level of the packets (0)", "N" },
	{ "malloc", 0, 0, G_OPTION_ARG_NONE, &opt.from_malloc,
	  "Buffers are not shared with the agent, which copies", NULL },
	{ "events", 'e', 0, G_OPTION_ARG_NONE, &opt.events,
	  "Sleep until a notification instead of polling", NULL },
	{ "cpu", 0, 0, G_OPTION_ARG_STRING, &opt.cpu, "Measure on this processor", "N" },
	{ "check", 'c', 0, G_OPTION_ARG_NONE, &opt.check, "Compare every message, byte for byte",
	  NULL },
	{ "flip-byte", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT64, &opt.flip,
	  "Spoil a byte of the first message", "OFFSET" },
	G_OPTION_ENTRY_NULL
};

static const GOptionEntry report_entries[] = {
	{ "json", 'j', 0, G_OPTION_ARG_NONE, &opt.json, "Report in JSON", NULL },
	{ "csv", 0, 0, G_OPTION_ARG_NONE, &opt.csv, "Report as comma-separated values", NULL },
	{ "svg", 0, 0, G_OPTION_ARG_FILENAME, &opt.svg, "Also plot the figures over size", "FILE" },
	{ "plot", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &opt.svg, "The same", "FILE" },
	{ "version", 'V', 0, G_OPTION_ARG_NONE, &opt.version, "Print the version", NULL },
	G_OPTION_ENTRY_NULL
};

/* --------------------------------------------------------------- command line */

static gboolean read_numbers(struct perf_job *job, GError **err)
{
	guint64 iters = 10000, warmup = 100, depth = 64, signal = 16, chain = 1, qps = 1, bytes = 0,
		cpu = 0, sl = 0;
	guint64 from_port = 0, to_port = 0;
	const struct {
		const char *name, *text;
		guint64 min, max, *value;
	} numbers[] = {
		{ "iters", opt.iters, 1, G_MAXINT64, &iters },
		{ "warmup", opt.warmup, 0, G_MAXINT64, &warmup },
		{ "depth", opt.depth, 1, PERF_DEPTH_MAX, &depth },
		{ "signal", opt.signal, 1, PERF_DEPTH_MAX, &signal },
		{ "chain", opt.chain, 1, PERF_DEPTH_MAX, &chain },
		{ "qps", opt.qps, 1, PERF_QPS_MAX, &qps },
		{ "inline", opt.inline_max, 0, PERF_INLINE_MAX, &bytes },
		{ "cpu", opt.cpu, 0, 1023, &cpu },
		{ "sl", opt.sl, 0, PERF_SL_MAX, &sl },
		{ "from-port", opt.from_port, 1, 255, &from_port },
		{ "to-port", opt.to_port, 1, 255, &to_port },
	};

	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		if (numbers[i].text && !tool_parse_number(numbers[i].text, numbers[i].min,
							  numbers[i].max, numbers[i].value))
			return tool_misuse(err,
					   "--%s %s: a number from %" G_GUINT64_FORMAT
					   " to %" G_GUINT64_FORMAT,
					   numbers[i].name, numbers[i].text, numbers[i].min,
					   numbers[i].max);
	if (chain > depth)
		return tool_misuse(err,
				   "--chain %" G_GUINT64_FORMAT
				   ": no longer than --depth, %" G_GUINT64_FORMAT,
				   chain, depth);
	job->iters = iters;
	job->warmup = warmup;
	job->depth = (guint32)depth;
	job->signal = (guint32)MIN(signal, depth);
	job->chain = (guint32)chain;
	job->qps = (guint32)qps;
	job->inline_max = (guint32)bytes;
	job->cpu = opt.cpu ? (int)cpu : -1;
	job->near.sl = job->far.sl = (guint8)sl;
	job->near.port_num = (guint8)from_port;
	job->far.port_num = (guint8)to_port;
	return TRUE;
}

static gboolean read_duration(struct perf_job *job, GError **err)
{
	char *end;

	if (!opt.duration)
		return TRUE;
	if (opt.iters)
		return tool_misuse(err, "--iters or --duration, not both");
	job->duration = g_ascii_strtod(opt.duration, &end);
	if (end == opt.duration || *end || !(job->duration > 0 && job->duration <= 1e6))
		return tool_misuse(err, "--duration %s: seconds, such as 2 or 0.5", opt.duration);
	return TRUE;
}

static gboolean read_type(struct perf_job *job, GError **err)
{
	static const ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };

	job->type = opt.type ? IB_QPT_NONE : IB_QPT_RC;
	for (guint i = 0; opt.type && i < G_N_ELEMENTS(types); i++)
		if (!g_ascii_strcasecmp(opt.type, al_qp_type_str(types[i])))
			job->type = types[i];
	return job->type || tool_misuse(err, "--type %s: must be rc, uc or ud", opt.type);
}

/* Adds an operation by name, unless the job has it already; "all" adds all operations that the
 * transport type has. */
static gboolean add_op(struct perf_job *job, const char *name, GError **err)
{
	gboolean all = !strcmp(name, "all"), found = FALSE;

	for (guint i = 0; i < PERF_OPS; i++) {
		const struct perf_op *op = &perf_ops[i];
		gboolean there = FALSE;

		if (all ? !(op->types & 1u << job->type) : strcmp(name, op->name))
			continue;
		found = TRUE;
		if (!all)
			job->optional &= ~perf_op_bit(op);
		if (!(op->types & 1u << job->type))
			return tool_misuse(err, "%s: %s has no such operation", name,
					   al_qp_type_str(job->type));
		for (guint j = 0; j < job->num_ops; j++)
			there |= job->ops[j] == op;
		if (there)
			continue;
		job->ops[job->num_ops++] = op;
		if (all)
			job->optional |= perf_op_bit(op);
	}
	return found ||
	       tool_misuse(
		       err,
		       "there is no operation \"%s\": all, send, send-imm, write, write-imm, read, cas or "
		       "fadd",
		       name);
}

static gboolean is_peer(const char *word)
{
	return g_str_has_prefix(word, MEET_PREFIX);
}

static gboolean read_ops(struct perf_job *job, GError **err)
{
	for (guint i = 0; opt.ops && opt.ops[i]; i++) {
		g_auto(GStrv) names = g_strsplit(is_peer(opt.ops[i]) ? "" : opt.ops[i], ",", -1);

		for (guint j = 0; names[j]; j++)
			if (!add_op(job, names[j], err))
				return FALSE;
	}
	return job->num_ops || add_op(job, job->type == IB_QPT_UD ? "send" : "write", err);
}

static gboolean read_sizes(struct perf_job *job, GError **err)
{
	const char *text = opt.all ? ALL_SIZES : opt.size ? opt.size : "8";

	if (opt.all && opt.size)
		return tool_misuse(err, "--all or --size, not both");
	job->all_sizes = opt.all;
	return perf_parse_sizes(text, 1, 1u << 30, job->sizes) ||
	       tool_misuse(err,
			   "--size %s: from 1 to " SIZE_MAX_TEXT
			   " bytes, such as 8, 64,4K or 8..1M",
			   text);
}

static gboolean read_mtu(struct perf_job *job, GError **err)
{
	guint64 bytes;

	if (!opt.mtu)
		return TRUE;
	if (!tool_parse_number(opt.mtu, 256, 4096, &bytes) || bytes & (bytes - 1))
		return tool_misuse(err, "--mtu %s: must be 256, 512, 1024, 2048 or 4096", opt.mtu);
	job->mtu = (guint32)bytes;
	return TRUE;
}

/* Refuses options of the other end, if that end is in another process. */
static gboolean check_sides(const struct perf_job *job, GError **err)
{
	const struct {
		const char *name;
		gboolean given, far; /* far: an option of the far end; else of the near end */
	} sides[] = {
		{ "--from", opt.from != NULL, FALSE },
		{ "--from-port", opt.from_port != NULL, FALSE },
		{ "--to", opt.to != NULL, TRUE },
		{ "--to-port", opt.to_port != NULL, TRUE },
		{ "--keep", opt.keep, TRUE },
		{ "--latency", opt.latency, FALSE },
		{ "--bandwidth", opt.bandwidth, FALSE },
		{ "--type", opt.type != NULL, FALSE },
		{ "--size", opt.size != NULL, FALSE },
		{ "--all", opt.all, FALSE },
		{ "--completion", opt.completion, FALSE },
		{ "--iters", opt.iters != NULL, FALSE },
		{ "--duration", opt.duration != NULL, FALSE },
		{ "--warmup", opt.warmup != NULL, FALSE },
		{ "--depth", opt.depth != NULL, FALSE },
		{ "--signal", opt.signal != NULL, FALSE },
		{ "--chain", opt.chain != NULL, FALSE },
		{ "--qps", opt.qps != NULL, FALSE },
		{ "--mtu", opt.mtu != NULL, FALSE },
		{ "--inline", opt.inline_max != NULL, FALSE },
		{ "--sl", opt.sl != NULL, FALSE },
		{ "--events", opt.events, FALSE },
		{ "--check", opt.check, FALSE },
		{ "--malloc", opt.from_malloc, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(sides); i++)
		if (sides[i].given && !(sides[i].far ? job->far_here : job->near_here))
			return tool_misuse(err, "%s belongs on the other end's command line", sides[i].name);
	return TRUE;
}

/* Finds out which ends are in this process: an argument "agent:NAME" names a far end in another
 * process. */
static gboolean read_ends(struct perf_job *job, GError **err)
{
	job->meet_name = opt.listen;
	for (guint i = 0; opt.ops && opt.ops[i]; i++) {
		if (opt.listen)
			return tool_misuse(err, "%s: operations belong on the other end's command line",
					   opt.ops[i]);
		if (!is_peer(opt.ops[i]))
			continue;
		if (job->meet_name)
			return tool_misuse(err, "%s: one other end is enough", opt.ops[i]);
		job->meet_name = opt.ops[i] + strlen(MEET_PREFIX);
	}
	job->near_here = !opt.listen;
	job->far_here = opt.listen || !job->meet_name;
	job->any_user = opt.any_user;
	job->keep = opt.keep;
	if (opt.keep && !opt.listen)
		return tool_misuse(err, "--keep is for --listen");
	return check_sides(job, err);
}

static gboolean read_options(struct perf_job *job, GError **err)
{
	if (opt.json && opt.csv)
		return tool_misuse(err, "--json or --csv, not both");
	if (!read_ends(job, err))
		return FALSE;
	job->near.name = opt.from;
	job->far.name = opt.to;
	job->tests = opt.latency == opt.bandwidth ? PERF_LATENCY | PERF_BANDWIDTH
		     : opt.latency                ? PERF_LATENCY
						  : PERF_BANDWIDTH;
	job->completion = opt.completion;
	job->events = opt.events;
	job->check = opt.check;
	job->from_malloc = opt.from_malloc;
	job->flip = opt.flip;
	return read_numbers(job, err) && read_duration(job, err) && read_type(job, err) &&
	       read_ops(job, err) && read_sizes(job, err) && read_mtu(job, err);
}

/* --------------------------------------------------------------------- report */

static void show_nothing(const struct perf_job *job, const struct perf_row *row)
{
	(void)job;
	(void)row;
}

/* Writes the plot, if there is a row to plot. An error of the run is kept before an error of the
 * plot. */
static void write_svg(const struct perf_job *job, GError **err)
{
	g_autoptr(GError) why = NULL;
	g_autofree char *svg = NULL;

	if (!opt.svg || !job->rows->len)
		return;
	svg = perf_svg(job);
	if (!g_file_set_contents(opt.svg, svg, -1, &why) && !*err)
		tool_fail(err, "--svg %s: the plot cannot be written: %s; name a file that can be made, such as plot.svg",
			  opt.svg, why->message);
}

static gboolean parse(int *argc, char ***argv, GError **err)
{
	g_autoptr(GOptionContext) context = g_option_context_new("- measure the Access Layer");

	g_option_context_set_summary(
		context, "Latency percentiles, bandwidth and message rate between two HCAs.\n"
			 "Operations: send send-imm write write-imm read cas fadd, or all (write)");
	g_option_context_add_main_entries(context, what_entries, NULL);
	g_option_context_add_main_entries(context, how_entries, NULL);
	g_option_context_add_main_entries(context, report_entries, NULL);
	return g_option_context_parse(context, argc, argv, err);
}

/* ----------------------------------------------------------------------- main */

/* Measures and reports. Returns the exit status. */
static int run(struct perf_job *job, GError *err)
{
	gboolean good = !err && perf_run(job, &err);
	int status;

	job->interrupted = tool_interrupted && !good;
	if (job->keep && tool_interrupted && job->peer < 0) { /* a far end with --keep ends by a signal, which is no failure */
		g_clear_error(&err);
		return TOOL_OK;
	}
	write_svg(job, &err);
	if (err)
		fprintf(stderr, "al_perf: %s\n", err->message);
	if (opt.json)
		perf_print_json(job, err);
	else if (opt.csv && job->rows->len)
		perf_print_csv(job);
	status = err ? err->code : good ? TOOL_OK : TOOL_FAILED;
	g_clear_error(&err);
	return status;
}

/* Serves the next near end on a copy of the job, since the near end's settings are for that near
 * end alone. *has_come: a near end has connected. */
static int run_with_next(const struct perf_job *job, gboolean *has_come)
{
	struct perf_job copy = *job;
	int status;

	copy.rows = g_ptr_array_new_with_free_func(g_free);
	status = run(&copy, NULL);
	*has_come = copy.peer >= 0;
	if (*has_come)
		close(copy.peer);
	g_ptr_array_unref(copy.rows);
	return status;
}

static int serve(struct perf_job *job)
{
	GError *err = NULL;
	gboolean has_come;
	int status;

	job->listener = meet_listen("al_perf", job->meet_name, &err);
	if (job->listener < 0)
		return run(job, err);
	fprintf(stderr, "al_perf: waiting for \"al_perf " MEET_PREFIX "%s\"\n", job->meet_name);
	do
		status = run_with_next(job, &has_come);
	while (job->keep && has_come && !tool_interrupted);
	close(job->listener);
	return status;
}

static int come(struct perf_job *job)
{
	GError *err = NULL;
	int status;

	job->peer = meet_connect("al_perf", job->meet_name, job->any_user, &err);
	status = run(job, err);
	if (job->peer >= 0)
		close(job->peer);
	return status;
}

int main(int argc, char **argv)
{
	struct perf_job job = { .cpu = -1, .listener = -1, .peer = -1 };
	GError *err = NULL;
	int status;

	tool_begin("al_perf");
	tool_catch_signals();
	if (!parse(&argc, &argv, &err)) {
		fprintf(stderr, "al_perf: %s; \"al_perf --help\" shows the options\n",
			err->message);
		g_error_free(err);
		return TOOL_USAGE;
	}
	if (opt.version) {
		printf("al_perf %s\n", al_version());
		return TOOL_OK;
	}
	job.measured = opt.json || opt.csv ? show_nothing : perf_print_row;
	job.sizes = g_array_new(FALSE, FALSE, sizeof(guint64));
	job.rows = g_ptr_array_new_with_free_func(g_free);
	if (!read_options(&job, &err) || !job.meet_name)
		status = run(&job, err);
	else
		status = job.far_here ? serve(&job) : come(&job);
	g_ptr_array_unref(job.rows);
	g_array_unref(job.sizes);
	g_strfreev(opt.ops);
	return status;
}
