/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ci/env.c: all reads of the environment use secure_getenv(), so a set-uid program ignores the environment. This
 * program makes a set-uid copy of itself, which needs root; without root the test says why it is skipped.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

START_TEST(an_ordinary_program_has_an_environment)
{
	setenv("IBAL_TEST", "value", 1);
	ck_assert_str_eq(ci_env("IBAL_TEST"), "value");
	ck_assert_ptr_null(ci_env("IBAL_TEST_NOT_SET"));
	ck_assert(!ci_secure());
}
END_TEST

START_TEST(the_log_level_comes_from_the_environment)
{
	int fd[2];
	char line[100];
	ssize_t got;

	ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(fd[1], STDERR_FILENO), STDERR_FILENO);
	setenv("IBAL_LOG", "debug", 1);
	ci_diag_start();
	ib_log(IB_LOG_DEBUG, "test", "seen");
	got = read(fd[0], line, sizeof(line));
	ck_assert_int_eq(got, (ssize_t)strlen("ibal: debug: test: seen\n"));
}
END_TEST

START_TEST(an_unknown_log_level_is_logged)
{
	support_start();
	setenv("IBAL_LOG", "loud", 1);
	ci_diag_start();
	ck_assert(log_has(IB_LOG_WARNING, "IBAL_LOG=loud", "info", NULL));
}
END_TEST

/* The set-uid copy's part. */
static int secure_child(void)
{
	if (!ci_secure()) {
		fprintf(stderr, "the copy is not set-uid: is its file system mounted nosuid?\n");
		return 77;
	}
	if (ci_env("IBAL_TEST") || ci_env("PATH"))
		return 1;
	if (ci_load_module(FAKE_SO) != AL_PERMISSION)
		return 2;
	return 0;
}

START_TEST(a_set_uid_program_has_none)
{
	char command[1024], program[256];
	const char *copy;
	ssize_t length;
	int status;

	if (geteuid()) {
		fprintf(stderr,
			"SKIP a_set_uid_program_has_none: only root can make a set-uid copy\n");
		return;
	}
	copy = temp_path("secure");
	/*
	 * The text of the link, not the file that the link opens: below valgrind that file is valgrind's own program.
	 * libtool's wrapper has started this program, so argv[0] may name the wrapper.
	 */
	length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	ck_assert_int_gt(length, 0);
	program[length] = '\0';
	snprintf(command, sizeof(command),
		 "cp '%s' %s && chown 65534:65534 %s && chmod 6755 %s && chmod 755 %s",
		 program, copy, copy, copy, temp_dir());
	ck_assert_int_eq(system(command), 0);
	setenv("IBAL_TEST", "value", 1);
	setenv("IBAL_TEST_SECURE", "1", 1);
	snprintf(command, sizeof(command), "%s", copy);
	status = system(command);
	ck_assert(WIFEXITED(status));
	ck_assert_msg(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77,
		      "the set-uid copy ended with %d", WEXITSTATUS(status));
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tc;

	/*
	 * getenv() and not the library's function, which is under test. _exit(), because a leak checker can not look
	 * into a set-uid program.
	 */
	if (getenv("IBAL_TEST_SECURE"))
		_exit(secure_child());
	suite = suite_create("env");
	tc = tcase_create("env");
	tcase_add_test(tc, an_ordinary_program_has_an_environment);
	tcase_add_test(tc, the_log_level_comes_from_the_environment);
	tcase_add_test(tc, an_unknown_log_level_is_logged);
	tcase_add_test(tc, a_set_uid_program_has_none);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
