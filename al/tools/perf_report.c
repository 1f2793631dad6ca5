/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reports of al_perf: its rows as a table, as JSON and as CSV. The plot is in perf_svg.c. */
#include <json-glib/json-glib.h>

#include "al/tools/perf.h"

/* The percentiles' names in JSON and CSV, and in the table. */
static const struct {
	const char *name, *title;
} percentiles[PERF_PERCENTILES] = {
	{ "p50", "p50" },
	{ "p90", "p90" },
	{ "p99", "p99" },
	{ "p99_9", "p99.9" },
};

double perf_bytes_per_second(const struct perf_row *row)
{
	return perf_messages_per_second(row) * (double)row->size;
}

double perf_messages_per_second(const struct perf_row *row)
{
	guint64 arrived = row->messages - MIN(row->lost, row->messages);

	return row->seconds > 0 ? (double)arrived / row->seconds : 0;
}

const char *perf_mode_text(enum perf_mode mode)
{
	static const char *const texts[] = {
		[PERF_STREAM] = "stream",
		[PERF_PING_PONG] = "ping-pong",
		[PERF_COMPLETION] = "completion",
	};

	return texts[mode];
}

static const char *test_text(enum perf_test test)
{
	return test == PERF_LATENCY ? "latency" : "bandwidth";
}

static char *type_text(const struct perf_job *job)
{
	return g_ascii_strdown(al_qp_type_str(job->type), -1);
}

/* ---------------------------------------------------------------------- table */

static void print_heading(const struct perf_job *job)
{
	g_autofree char *from = tool_guid_text(job->near.guid), *to = tool_guid_text(job->far.guid);

	printf("%s from HCA %s port %u to HCA %s port %u\n", al_qp_type_str(job->type), from,
	       job->near.port_num, to, job->far.port_num);
}

static void print_titles(enum perf_test test)
{
	if (test == PERF_LATENCY) {
		printf("\nlatency in us: ping-pong, half of there and back; completion, from post to completion\n"
		       "%-9s %9s %-10s %9s %9s %9s",
		       "op", "bytes", "mode", "samples", "min", "mean");
		for (guint i = 0; i < PERF_PERCENTILES; i++)
			printf(" %9s", percentiles[i].title);
		printf(" %9s\n", "max");
		return;
	}
	printf("\nbandwidth in MB/s of 1000000 bytes, rate in million messages/s\n"
	       "%-9s %9s %10s %12s %12s %12s\n",
	       "op", "bytes", "messages", "bandwidth", "rate", "ns/message");
}

static void print_latency(const struct perf_row *row)
{
	const struct perf_latency *ns = &row->latency;

	printf("%-9s %9" G_GUINT64_FORMAT " %-10s %9" G_GUINT64_FORMAT " %9.3f %9.3f",
	       row->op->name, row->size, perf_mode_text(row->mode), ns->samples,
	       (double)ns->min / 1e3, ns->mean / 1e3);
	for (guint i = 0; i < PERF_PERCENTILES; i++)
		printf(" %9.3f", (double)ns->percentile[i] / 1e3);
	printf(" %9.3f", (double)ns->max / 1e3);
}

static void print_bandwidth(const struct perf_row *row)
{
	double rate = perf_messages_per_second(row);

	printf("%-9s %9" G_GUINT64_FORMAT " %10" G_GUINT64_FORMAT " %12.1f %12.4f %12.1f",
	       row->op->name, row->size, row->messages, perf_bytes_per_second(row) / 1e6,
	       rate / 1e6, rate > 0 ? 1e9 / rate : 0);
}

void perf_print_row(const struct perf_job *job, const struct perf_row *row)
{
	const struct perf_row *before =
		job->rows->len > 1 ? g_ptr_array_index(job->rows, job->rows->len - 2) : NULL;

	if (!before)
		print_heading(job);
	if (!before || before->test != row->test)
		print_titles(row->test);
	if (row->test == PERF_LATENCY)
		print_latency(row);
	else
		print_bandwidth(row);
	if (row->lost)
		printf("  %" G_GUINT64_FORMAT " lost", row->lost);
	if (row->checked)
		printf("  %" G_GUINT64_FORMAT " checked", row->checked);
	printf("%s%s\n", row->told ? "  told" : "", row->interrupted ? "  interrupted" : "");
	fflush(stdout);
}

/* ----------------------------------------------------------------------- JSON */

static void add_int(JsonBuilder *b, const char *name, guint64 value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_int_value(b, (gint64)value);
}

static void add_double(JsonBuilder *b, const char *name, double value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_double_value(b, value);
}

static void add_text(JsonBuilder *b, const char *name, const char *value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_string_value(b, value);
}

static void add_bool(JsonBuilder *b, const char *name, gboolean value)
{
	json_builder_set_member_name(b, name);
	json_builder_add_boolean_value(b, value);
}

static void add_end(JsonBuilder *b, const char *name, const struct pair_end *end)
{
	g_autofree char *guid = tool_guid_text(end->guid);

	json_builder_set_member_name(b, name);
	json_builder_begin_object(b);
	add_text(b, "guid", guid);
	add_int(b, "port", end->port_num);
	json_builder_end_object(b);
}

static void add_row(JsonBuilder *b, const struct perf_row *row)
{
	const struct perf_latency *ns = &row->latency;

	json_builder_begin_object(b);
	add_text(b, "test", test_text(row->test));
	add_text(b, "op", row->op->name);
	add_int(b, "size", row->size);
	add_text(b, "mode", perf_mode_text(row->mode));
	add_int(b, "messages", row->messages);
	add_int(b, "lost", row->lost);
	add_int(b, "checked", row->checked);
	add_double(b, "seconds", row->seconds);
	add_bool(b, "interrupted", row->interrupted);
	add_bool(b, "told", row->told);
	if (row->test == PERF_BANDWIDTH) {
		add_double(b, "bytes_per_second", perf_bytes_per_second(row));
		add_double(b, "messages_per_second", perf_messages_per_second(row));
	} else {
		add_int(b, "samples", ns->samples);
		json_builder_set_member_name(b, "ns");
		json_builder_begin_object(b);
		add_int(b, "min", ns->min);
		add_double(b, "mean", ns->mean);
		for (guint i = 0; i < PERF_PERCENTILES; i++)
			add_int(b, percentiles[i].name, ns->percentile[i]);
		add_int(b, "max", ns->max);
		json_builder_end_object(b);
	}
	json_builder_end_object(b);
}

static void add_settings(JsonBuilder *b, const struct perf_job *job)
{
	g_autofree char *type = type_text(job);

	add_text(b, "type", type);
	if (job->meet_name) {
		add_text(b, "peer", job->meet_name);
		add_text(b, "end", job->near_here ? "near" : "far");
	}
	if (job->near.guid)
		add_end(b, "from", &job->near);
	if (job->far.guid)
		add_end(b, "to", &job->far);
	add_int(b, "depth", job->depth);
	add_int(b, "signal", job->signal);
	add_int(b, "chain", job->chain);
	add_int(b, "qps", job->qps);
	add_int(b, "inline", job->inline_max);
	add_int(b, "sl", job->far.sl);
	add_bool(b, "events", job->events);
	add_bool(b, "check", job->check);
	add_bool(b, "malloc", job->from_malloc);
	add_double(b, "clock_ns", job->clock_ns);
	json_builder_set_member_name(b, "left_out");
	json_builder_begin_array(b);
	for (guint i = 0; i < PERF_OPS; i++)
		if (job->left_out & 1u << i)
			json_builder_add_string_value(b, perf_ops[i].name);
	json_builder_end_array(b);
}

void perf_print_json(const struct perf_job *job, const GError *err)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;

	json_builder_begin_object(b);
	add_int(b, "schema", TOOL_SCHEMA);
	add_settings(b, job);
	add_bool(b, "interrupted", job->interrupted);
	if (err)
		add_text(b, "error", err->message);
	json_builder_set_member_name(b, "rows");
	json_builder_begin_array(b);
	for (guint i = 0; i < job->rows->len; i++)
		add_row(b, g_ptr_array_index(job->rows, i));
	json_builder_end_array(b);
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	text = json_to_string(root, !job->keep); /* with --keep each report is one line */
	printf("%s\n", text);
	fflush(stdout);
}

/* ------------------------------------------------------------------------ CSV */

/* Prints a number with a decimal point in every locale. */
static void print_number(double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	printf(",%s", g_ascii_formatd(text, sizeof(text), "%.6g", value));
}

static void print_csv_row(const char *type, const struct perf_row *row)
{
	gboolean latency = row->test == PERF_LATENCY;
	const struct perf_latency *ns = &row->latency;

	printf("%s,%s,%s,%" G_GUINT64_FORMAT ",%s,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT,
	       test_text(row->test), row->op->name, type, row->size, perf_mode_text(row->mode),
	       row->messages, row->lost);
	print_number(row->seconds);
	if (latency) {
		printf(",,,%" G_GUINT64_FORMAT, ns->min);
		print_number(ns->mean);
		for (guint i = 0; i < PERF_PERCENTILES; i++)
			printf(",%" G_GUINT64_FORMAT, ns->percentile[i]);
		printf(",%" G_GUINT64_FORMAT "\n", ns->max);
		return;
	}
	print_number(perf_bytes_per_second(row));
	print_number(perf_messages_per_second(row));
	printf(",,,,,,,\n");
}

void perf_print_csv(const struct perf_job *job)
{
	g_autofree char *type = type_text(job);

	printf("test,op,type,size,mode,messages,lost,seconds,bytes_per_second,messages_per_second,min_ns,mean_ns");
	for (guint i = 0; i < PERF_PERCENTILES; i++)
		printf(",%s_ns", percentiles[i].name);
	printf(",max_ns\n");
	for (guint i = 0; i < job->rows->len; i++)
		print_csv_row(type, g_ptr_array_index(job->rows, i));
	fflush(stdout);
}
