/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Runs al_query in a test's own process, and reads the answer. */
#ifndef IBAL_TEST_UNIT_AL_TOOLS_QUERY_RUN_H
#define IBAL_TEST_UNIT_AL_TOOLS_QUERY_RUN_H

#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <unistd.h>

#include "al/tools/query.h"
#include "test/unit/al/al_test.h"
#ifdef FAKE_DIR
#include "test/unit/al/bed.h"
#endif

/* Standard output goes to a file meanwhile, and standard error is discarded. */
struct capture {
	FILE *file;
	int out, err;
};

static inline void capture_begin(struct capture *c)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	c->file = tmpfile();
	ck_assert_ptr_nonnull(c->file);
	c->out = dup(STDOUT_FILENO);
	c->err = dup(STDERR_FILENO);
	dup2(fileno(c->file), STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

static inline char *capture_end(struct capture *c)
{
	char *text;
	off_t len;

	fflush(stdout);
	dup2(c->out, STDOUT_FILENO);
	dup2(c->err, STDERR_FILENO);
	close(c->out);
	close(c->err);
	len = lseek(fileno(c->file), 0, SEEK_END);
	text = g_malloc0((gsize)len + 1);
	ck_assert_int_eq(pread(fileno(c->file), text, (size_t)len, 0), len);
	fclose(c->file);
	return text;
}

/* Runs "al_query LINE", expects the exit code, and returns the output. */
static inline char *run(const char *line, int status)
{
	g_autofree char *command = g_strconcat("al_query ", line, NULL);
	g_auto(GStrv) argv = g_strsplit(command, " ", -1);
	struct capture capture;
	char *text;
	int got;

	capture_begin(&capture);
	got = query_main((int)g_strv_length(argv), argv);
	text = capture_end(&capture);
	ck_assert_msg(got == status, "\"%s\" ended with %d, not %d, and said:\n%s", command, got, status, text);
	return text;
}

static inline JsonObject *run_json(const char *line, int status)
{
	g_autofree char *command = g_strconcat("--json ", line, NULL), *text = run(command, status);
	g_autoptr(GError) err = NULL;
	JsonNode *root = json_from_string(text, &err);
	JsonObject *obj;

	ck_assert_msg(root && JSON_NODE_HOLDS_OBJECT(root), "no JSON object: %s", text);
	obj = json_node_dup_object(root);
	json_node_unref(root);
	ck_assert_int_eq(json_object_get_int_member(obj, "schema"), 1);
	return obj;
}

static inline JsonObject *row(JsonObject *answer, const char *array, guint index)
{
	JsonArray *rows = json_object_get_array_member(answer, array);

	ck_assert_ptr_nonnull(rows);
	ck_assert_uint_lt(index, json_array_get_length(rows));
	return json_array_get_object_element(rows, index);
}

static inline guint count(JsonObject *answer, const char *array)
{
	return json_object_has_member(answer, array) ? json_array_get_length(json_object_get_array_member(answer, array)) : 0;
}

#ifdef FAKE_DIR
static inline struct fake *two_hcas(void)
{
	struct fake *fake = test_fake();

	fake->hcas = 2;
	return fake;
}
#endif

#endif
