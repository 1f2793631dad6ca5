/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_cp SOURCE DEST: the command line, the progress bar and the report. The transfer is in
 * cp_rdma.c, the files are in cp_file.c.
 */
#include <iba/ib_al.h>

#include <json-glib/json-glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "al/tools/cp_rdma.h"
#include "al/tools/meet.h"
#include "al/tools/tool.h"

static struct {
	char *chunk, *window, *from, *to, *from_port, *to_port, *listen;
	gint64 flip;
	gboolean any_user, quiet, json, version;
	char **files;
	const char *source, *dest; /* of files; source: NULL at a far end */
} opt = { .flip = -1 };

static const GOptionEntry entries[] = {
	{ "chunk", 'c', 0, G_OPTION_ARG_STRING, &opt.chunk,
	  "Bytes of one RDMA write, such as 64K or 1M (128K)", "SIZE" },
	{ "window", 'w', 0, G_OPTION_ARG_STRING, &opt.window, "Chunks on their way at once (8)",
	  "N" },
	{ "from", 0, 0, G_OPTION_ARG_STRING, &opt.from, "The HCA that sends (the first that can)",
	  "HCA" },
	{ "to", 0, 0, G_OPTION_ARG_STRING, &opt.to, "The HCA that receives (the next, or the same)",
	  "HCA" },
	{ "from-port", 0, 0, G_OPTION_ARG_STRING, &opt.from_port, "Its port (the first active one)",
	  "N" },
	{ "to-port", 0, 0, G_OPTION_ARG_STRING, &opt.to_port, "Its port (the first active one)",
	  "N" },
	{ "listen", 'l', 0, G_OPTION_ARG_STRING, &opt.listen,
	  "Be the far end of one copy to " MEET_PREFIX "NAME", "NAME" },
	{ "any-user", 0, 0, G_OPTION_ARG_NONE, &opt.any_user, "The other end may be another user's",
	  NULL },
	{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &opt.quiet, "Print nothing but errors", NULL },
	{ "json", 'j', 0, G_OPTION_ARG_NONE, &opt.json, "Report in JSON", NULL },
	{ "flip-byte", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT64, &opt.flip,
	  "Spoil a byte at the far end", "OFFSET" },
	{ "version", 'V', 0, G_OPTION_ARG_NONE, &opt.version, "Print the version", NULL },
	{ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &opt.files, NULL, "SOURCE DEST" },
	G_OPTION_ENTRY_NULL
};

/* ------------------------------------------------------------- command line */

static gboolean read_options(struct cp_job *job, GError **err)
{
	guint64 chunk = 128 << 10, window = 8, from_port = 0, to_port = 0;

	if (opt.chunk && !tool_parse_size(opt.chunk, 1, CP_CHUNK_MAX, &chunk))
		return tool_misuse(err, "--chunk %s: from 1 to 1G bytes, such as 64K or 1M",
				   opt.chunk);
	if (opt.window && !tool_parse_number(opt.window, 1, CP_WINDOW_MAX, &window))
		return tool_misuse(err, "--window %s: a number from 1 to 4096", opt.window);
	if (opt.from_port && !tool_parse_number(opt.from_port, 1, 255, &from_port))
		return tool_misuse(err, "--from-port %s: a number from 1 to 255", opt.from_port);
	if (opt.to_port && !tool_parse_number(opt.to_port, 1, 255, &to_port))
		return tool_misuse(err, "--to-port %s: a number from 1 to 255", opt.to_port);
	if (!opt.files || g_strv_length(opt.files) != (opt.listen ? 1 : 2))
		return tool_misuse(
			err,
			"say which file and where to: al_cp SOURCE DEST, or al_cp --listen NAME DEST; "
			"\"al_cp --help\" shows the options");
	opt.source = opt.listen ? NULL : opt.files[0];
	opt.dest = opt.files[opt.listen ? 0 : 1];
	job->meet_name = opt.listen;
	if (!opt.listen && g_str_has_prefix(opt.dest, MEET_PREFIX))
		job->meet_name = opt.dest + strlen(MEET_PREFIX);
	job->near.here = !opt.listen;
	job->far.here = opt.listen || !job->meet_name;
	if (((opt.from || from_port) && !job->near.here) || ((opt.to || to_port) && !job->far.here))
		return tool_misuse(err, "%s belongs on the other end's command line",
				   job->near.here ? "--to or --to-port" : "--from or --from-port");
	if (opt.listen && (opt.chunk || opt.window))
		return tool_misuse(err, "--chunk and --window belong on the other end's command line");
	job->any_user = opt.any_user;
	job->quiet = opt.quiet;
	job->dest_path = opt.dest;
	job->near.end.name = opt.from;
	job->far.end.name = opt.to;
	job->near.end.port_num = (guint8)from_port;
	job->far.end.port_num = (guint8)to_port;
	job->chunk = (gsize)chunk;
	job->window = (gsize)window;
	job->flip = opt.flip;
	return TRUE;
}

/* ---------------------------------------------------------- progress and result */

static void no_progress(const struct cp_job *job)
{
	(void)job;
}

/* Draws the progress bar on a terminal, at most ten times a second: the bytes that are copied and
 * in the digests. 100 % appears only after the digests were compared. */
static void show_progress(const struct cp_job *job)
{
	static const char hashes[] = "##############################";
	static gint64 shown_us;
	gint64 now = g_get_monotonic_time();
	int percent = job->src.size ? (int)((double)job->checked * 100 / (double)job->src.size) : 0;
	g_autofree char *done = NULL, *rate = NULL;

	if (now - shown_us < 100000 && !job->compared)
		return;
	shown_us = now;
	percent = job->compared ? 100 : MIN(percent, 99);
	done = tool_bytes_text((double)job->checked);
	rate = tool_bytes_text((double)job->checked * 1e6 / (double)MAX(now - job->start_us, 1));
	fprintf(stderr, "\r[%-30.*s] %3d %%  %s, %s/s\033[K", percent * 30 / 100, hashes, percent,
		done, rate);
}

static void report_side(JsonBuilder *b, const char *name, const struct cp_side *side)
{
	g_autofree char *guid = tool_guid_text(side->end.guid);

	json_builder_set_member_name(b, name);
	json_builder_begin_object(b);
	json_builder_set_member_name(b, "guid");
	json_builder_add_string_value(b, guid);
	json_builder_set_member_name(b, "port");
	json_builder_add_int_value(b, side->end.port_num);
	if (side->here) {
		json_builder_set_member_name(b, "xmit_bytes");
		json_builder_add_int_value(b, (gint64)side->xmit_bytes);
	}
	if (side->here || side->rcv_bytes) {
		json_builder_set_member_name(b, "rcv_bytes");
		json_builder_add_int_value(b, (gint64)side->rcv_bytes);
	}
	json_builder_end_object(b);
}

static void print_json(const struct cp_job *job, const char *dest, const GError *err)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	g_autofree char *text = NULL;

	json_builder_begin_object(b);
	json_builder_set_member_name(b, "schema");
	json_builder_add_int_value(b, TOOL_SCHEMA);
	json_builder_set_member_name(b, "copied");
	json_builder_add_boolean_value(b, !err);
	if (err) {
		json_builder_set_member_name(b, "error");
		json_builder_add_string_value(b, err->message);
	} else {
		json_builder_set_member_name(b, "source");
		json_builder_add_string_value(b, job->src.name);
		json_builder_set_member_name(b, "dest");
		json_builder_add_string_value(b, dest);
		json_builder_set_member_name(b, "bytes");
		json_builder_add_int_value(b, (gint64)job->received);
		json_builder_set_member_name(b, "hole_bytes");
		json_builder_add_int_value(b, (gint64)(job->received - job->carried));
		json_builder_set_member_name(b, "seconds");
		json_builder_add_double_value(b, job->seconds);
		json_builder_set_member_name(b, "file_seconds");
		json_builder_add_double_value(b, (double)job->files_us / 1e6);
		json_builder_set_member_name(b, "sha256");
		json_builder_add_string_value(b, job->sha256);
		report_side(b, "from", &job->near);
		report_side(b, "to", &job->far);
	}
	json_builder_end_object(b);
	root = json_builder_get_root(b);
	text = json_to_string(root, TRUE);
	printf("%s\n", text);
}

static void print_text(const struct cp_job *job, const char *dest)
{
	g_autofree char *rate = tool_bytes_text((double)job->received / MAX(job->seconds, 1e-6));
	g_autofree char *from = tool_guid_text(job->near.end.guid),
			*to = tool_guid_text(job->far.end.guid);

	printf("%s: %" G_GUINT64_FORMAT
	       " bytes in %.2f s, %s/s (%.2f s of it for files and for waiting for digests)\n",
	       dest, job->received, job->seconds, rate, (double)job->files_us / 1e6);
	if (job->received > job->carried)
		printf("  %" G_GUINT64_FORMAT " of them are holes, which were not sent\n",
		       job->received - job->carried);
	printf("  from HCA %s port %u", from, job->near.end.port_num);
	if (job->near.here)
		printf(", which sent     %" G_GUINT64_FORMAT " bytes", job->near.xmit_bytes);
	printf("\n  to   HCA %s port %u, which received %" G_GUINT64_FORMAT " bytes\n", to,
	       job->far.end.port_num, job->far.rcv_bytes);
	printf("  SHA-256 of the far HCA's memory and of the file:\n  %s\n", job->sha256);
}

/* --------------------------------------------------------------------- main */

static gboolean copy_file(struct cp_job *job, GError **err)
{
	if (job->near.here && !cp_source_open(&job->src, opt.source, err))
		return FALSE;
	if (!job->near.here) {
		job->listener = meet_listen("al_cp", job->meet_name, err);
		if (job->listener < 0)
			return FALSE;
		if (!opt.quiet)
			fprintf(stderr, "al_cp: waiting for \"al_cp FILE " MEET_PREFIX "%s\"\n",
				job->meet_name);
	} else if (!job->far.here) {
		job->peer = meet_connect("al_cp", job->meet_name, job->any_user, err);
		if (job->peer < 0)
			return FALSE;
	}
	return cp_transfer(job, err);
}

/* The name of the destination in the report. The caller frees it. */
static char *dest_name(const struct cp_job *job)
{
	return job->dest.name || !opt.dest ? g_strdup(job->dest.name) : tool_clean(opt.dest);
}

int main(int argc, char **argv)
{
	int status;
	gboolean bar;
	struct cp_job job = { .src.fd = -1, .dest.fd = -1, .listener = -1, .peer = -1 };
	g_autofree char *dest = NULL;
	g_autoptr(GOptionContext) context =
		g_option_context_new("- copy a file through the Access Layer");
	g_autoptr(GError) err = NULL;

	tool_begin("al_cp");
	tool_catch_signals();
	g_option_context_set_summary(
		context,
		"Copies a file from one HCA to another, by RDMA write, and checks what arrived.");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &err)) {
		fprintf(stderr, "al_cp: %s; \"al_cp --help\" shows the options\n", err->message);
		return TOOL_USAGE;
	}
	if (opt.version) {
		printf("al_cp %s\n", al_version());
		return TOOL_OK;
	}
	bar = !opt.quiet && isatty(STDERR_FILENO);
	job.progress = bar ? show_progress : no_progress;
	if (read_options(&job, &err))
		copy_file(&job, &err);
	if (bar)
		fprintf(stderr, "\r\033[K");
	if (err)
		fprintf(stderr, "al_cp: %s\n", err->message);
	dest = dest_name(&job);
	if (opt.json)
		print_json(&job, dest, err);
	else if (!err && !opt.quiet)
		print_text(&job, dest);
	status = err ? TOOL_USAGE : TOOL_OK; /* close_output() of tool.c exits with TOOL_FAILED if only the report fails */
	cp_dest_close(&job.dest);
	cp_source_close(&job.src);
	if (job.listener >= 0)
		close(job.listener);
	if (job.peer >= 0)
		close(job.peer);
	g_free(job.sha256);
	g_strfreev(opt.files);
	return status;
}
