/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query capture: runs a command whose software HCAs write their packets to a file. Each process
 * has software HCAs of its own, and reads their settings from its environment. So capture starts a
 * command, and cannot look at a process that already runs.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "al/tools/query.h"

#define DEFAULT_FILE "capture.pcapng"

/* FALSE: the file's name has characters that the settings of one line cannot hold
 * (ibal-soft(5)). */
static gboolean can_be_set(const char *file)
{
	return !file[strcspn(file, " \t\n\"'[]")];
}

/* Puts the setting before the settings of the environment: a later setting replaces an earlier one,
 * and the environment's may end within a section. */
static char **environment(const struct query *q, const char *file)
{
	char **env = g_get_environ();
	const char *old = g_environ_getenv(env, "IBAL_SOFT");
	g_autofree char *settings = g_strdup_printf("capture=%s capture_port=%d %s", file, q->port, old ? old : "");

	return g_environ_setenv(env, "IBAL_SOFT", settings, TRUE);
}

static int exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void say_result(struct query *q, const char *file, int status)
{
	struct stat st;

	if (stat(file, &st)) {
		if (!strstr(file, "%p"))
			query_error(q, TOOL_FAILED, "nothing was captured: the command opened no software HCA");
	} else if (!q->json) {
		fprintf(stderr, "al_query: the packets are in %s, %lld bytes\n", file, (long long)st.st_size);
	}
	json_object_set_string_member(q->out, "file", file);
	json_object_set_int_member(q->out, "status", status);
	if (q->json)
		query_print_line(json_object_ref(q->out));
	q->status = status ? status : q->status;
}

void run_capture(struct query *q)
{
	char **command = q->args && *q->args && !strcmp(*q->args, "--") ? q->args + 1 : q->args;
	g_autofree char *file = g_canonicalize_filename(q->output ? q->output : DEFAULT_FILE, NULL);
	g_autoptr(GError) err = NULL;
	g_auto(GStrv) env = NULL;
	struct stat st;
	int status;

	if (!command || !*command) {
		query_error(q, TOOL_USAGE, "capture: which command is to be captured? al_query capture -- COMMAND...");
		return;
	}
	if (!can_be_set(file)) {
		query_error(q, TOOL_USAGE, "capture: %s: blanks, quotes and brackets can not be in its name", file);
		return;
	}
	if (!stat(file, &st) && S_ISREG(st.st_mode)) /* an old file must not pass for the command's capture */
		unlink(file);
	env = environment(q, file);
	if (!g_spawn_sync(NULL, command, env, G_SPAWN_SEARCH_PATH | G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL, NULL,
			  &status, &err)) {
		query_error(q, TOOL_FAILED, "capture: %s", err->message);
		return;
	}
	say_result(q, file, exit_status(status));
}
