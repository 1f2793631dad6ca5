/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/log.c: one message is one line and one write; destinations and levels of messages. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

/* Redirects standard error to a packet pipe, of which one read returns one write. */
static int catch_stderr(void)
{
	int fd[2];

	ck_assert_int_eq(pipe2(fd, O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(fd[1], STDERR_FILENO), STDERR_FILENO);
	return fd[0];
}

static const char *caught(int fd)
{
	static char line[4096];
	ssize_t got = read(fd, line, sizeof(line) - 1);

	line[got > 0 ? got : 0] = '\0';
	return line;
}

START_TEST(a_message_is_one_line_in_one_write)
{
	int fd = catch_stderr();

	ib_log(IB_LOG_ERROR, "soft", "HCA %d: %s", 7, "no such port");
	ck_assert_str_eq(caught(fd), "ibal: error: soft: HCA 7: no such port\n");
	ib_log(IB_LOG_WARNING, NULL, "without a name");
	ck_assert_str_eq(caught(fd), "ibal: warning: without a name\n");
	ck_assert_str_eq(caught(fd), "");
}
END_TEST

START_TEST(new_lines_in_a_message_stay_in_its_line)
{
	int fd = catch_stderr();

	ib_log(IB_LOG_ERROR, "soft", "%s", "a\nibal: error: b\r");
	ck_assert_str_eq(caught(fd), "ibal: error: soft: a ibal: error: b \n");
}
END_TEST

START_TEST(a_long_message_is_cut_and_still_a_line)
{
	int fd = catch_stderr();
	char text[3000];
	const char *line;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ib_log(IB_LOG_ERROR, "soft", "%s", text);
	line = caught(fd);
	ck_assert_uint_gt(strlen(line), 1000);
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
}
END_TEST

START_TEST(standard_error_gets_warnings_unless_told_otherwise)
{
	int fd = catch_stderr();

	ib_log(IB_LOG_INFO, "a", "not shown");
	ib_log(IB_LOG_DEBUG, "a", "not shown");
	ck_assert_str_eq(caught(fd), "");
	ci_log_set_level(IB_LOG_DEBUG);
	ib_log(IB_LOG_DEBUG, "a", "shown");
	ck_assert_str_eq(caught(fd), "ibal: debug: a: shown\n");
	ci_log_set_level(IB_LOG_ERROR);
	ib_log(IB_LOG_WARNING, "a", "not shown");
	ck_assert_str_eq(caught(fd), "");
}
END_TEST

START_TEST(an_unknown_log_level_counts_as_error)
{
	int fd = catch_stderr();

	ib_log((ib_log_level)99, "a", "b");
	ck_assert_str_eq(caught(fd), "ibal: error: a: b\n");
}
END_TEST

static struct {
	void *ctx;
	int level;
	char text[100];
} got;

static void sink(void *ctx, ib_log_level level, const char *text)
{
	got.ctx = ctx;
	got.level = level;
	snprintf(got.text, sizeof(got.text), "%s", text);
	errno = EBADF;
}

START_TEST(a_programs_own_sink_gets_every_level)
{
	int fd = catch_stderr();

	ci_log_set_sink(sink, &got);
	ib_log(IB_LOG_DEBUG, "soft", "step %d", 3);
	ck_assert_ptr_eq(got.ctx, &got);
	ck_assert_int_eq(got.level, IB_LOG_DEBUG);
	ck_assert_str_eq(got.text, "soft: step 3");
	ck_assert_str_eq(caught(fd), "");
	ci_log_set_sink(NULL, NULL);
	ib_log(IB_LOG_ERROR, "soft", "default again");
	ck_assert_str_eq(caught(fd), "ibal: error: soft: default again\n");
}
END_TEST

static void logs_and_sets(void *ctx, ib_log_level level, const char *text)
{
	(void)level;
	(void)text;
	if (ctx) {
		ci_log_set_sink(logs_and_sets, NULL);
		ib_log(IB_LOG_ERROR, "sink", "from within");
	}
	got.level++;
}

START_TEST(a_sink_may_log_and_change_the_sink)
{
	ci_log_set_sink(logs_and_sets, &got);
	ib_log(IB_LOG_ERROR, "a", "b");
	ck_assert_int_eq(got.level, 2);
}
END_TEST

START_TEST(errno_is_left_alone_and_can_be_shown)
{
	int fd = catch_stderr();

	errno = ENOENT;
	ib_log(IB_LOG_ERROR, "a", "%m");
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(caught(fd), "ibal: error: a: No such file or directory\n");
	ci_log_set_sink(sink, NULL);
	ib_log(IB_LOG_ERROR, "a", "b");
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(a_sentence_too_long_to_keep_shows_that_it_was_cut)
{
	char text[CI_TEXT_MAX];

	ci_set_text(text, "%300s", "end");
	ck_assert_uint_eq(strlen(text), CI_TEXT_MAX - 1);
	ck_assert_str_eq(text + strlen(text) - 3, "...");
	ci_copy(text, 4, "abcdef");
	ck_assert_str_eq(text, "abc");
}
END_TEST

START_TEST(statuses_have_names)
{
	ck_assert_str_eq(ci_status_text(AL_MODULE_ABI), "AL_MODULE_ABI");
	ck_assert_str_eq(ci_status_text((al_status)9999), "9999, which is no status");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");

	tcase_add_test(tc, a_message_is_one_line_in_one_write);
	tcase_add_test(tc, new_lines_in_a_message_stay_in_its_line);
	tcase_add_test(tc, a_long_message_is_cut_and_still_a_line);
	tcase_add_test(tc, standard_error_gets_warnings_unless_told_otherwise);
	tcase_add_test(tc, an_unknown_log_level_counts_as_error);
	tcase_add_test(tc, a_programs_own_sink_gets_every_level);
	tcase_add_test(tc, a_sink_may_log_and_change_the_sink);
	tcase_add_test(tc, errno_is_left_alone_and_can_be_shown);
	tcase_add_test(tc, a_sentence_too_long_to_keep_shows_that_it_was_cut);
	tcase_add_test(tc, statuses_have_names);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
