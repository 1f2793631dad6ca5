/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/trace.c: each step is one complete line of six fields, in the file that IBAL_TRACE names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

START_TEST(off_by_default)
{
	const char *const off[] = { NULL, "", "0" };

	for (int i = 0; i < 3; i++) {
		ci_trace_start(off[i]);
		ck_assert(!ib_trace_on);
	}
	/* A caller need not ask ib_tracing() first. */
	ib_trace("test", "nothing");
}
END_TEST

START_TEST(a_step_is_a_line_of_six_fields)
{
	const char *path = temp_path("trace");
	char name[32], actor[32], step[64];
	double time, before;
	int pid, tid;
	FILE *f;

	ci_trace_start(path);
	ck_assert(ib_trace_on);
	prctl(PR_SET_NAME, "two words");
	errno = EPIPE;
	IB_TRACE("test", "step %d of%sa test", 1, "\n");
	ck_assert_int_eq(errno, EPIPE);
	IB_TRACE("al", "next");

	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(
		fscanf(f, "%lf %d %d %31s %31s %63[^\n]\n", &time, &pid, &tid, name, actor, step),
		6);
	ck_assert_int_eq(pid, getpid());
	ck_assert_int_eq(tid, (int)syscall(SYS_gettid));
	ck_assert_str_eq(name, "two_words");
	ck_assert_str_eq(actor, "test");
	ck_assert_str_eq(step, "step 1 of a test");
	before = time;
	ck_assert_int_eq(
		fscanf(f, "%lf %d %d %31s %31s %63[^\n]\n", &time, &pid, &tid, name, actor, step),
		6);
	ck_assert_str_eq(step, "next");
	ck_assert(time >= before);
	ck_assert_int_eq(fgetc(f), EOF);
	fclose(f);
}
END_TEST

START_TEST(a_long_step_is_cut_and_still_a_line)
{
	const char *path = temp_path("trace");
	char line[2000];
	FILE *f;

	ci_trace_start(path);
	IB_TRACE("test", "%01500d", 0);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	ck_assert_ptr_nonnull(strchr(line, '\n'));
	ck_assert_int_eq(fgetc(f), EOF);
	fclose(f);
}
END_TEST

#define THREADS 4
#define STEPS   500

static void *take_steps(void *arg)
{
	for (int i = 0; i < STEPS; i++)
		IB_TRACE("test", "thread %d step %d", *(int *)arg, i);
	return NULL;
}

START_TEST(lines_of_several_threads_stay_whole)
{
	const char *path = temp_path("trace");
	int id[THREADS], next[THREADS] = { 0 };
	pthread_t thread[THREADS];
	char line[256];
	FILE *f;

	ci_trace_start(path);
	for (int i = 0; i < THREADS; i++) {
		id[i] = i;
		ck_assert_int_eq(pthread_create(&thread[i], NULL, take_steps, &id[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		int who, step;

		ck_assert_int_eq(
			sscanf(line, "%*f %*d %*d %*s test thread %d step %d\n", &who, &step), 2);
		ck_assert_int_eq(step, next[who]++);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(next[i], STEPS);
	fclose(f);
}
END_TEST

START_TEST(an_unwritable_trace_file_is_logged_and_the_trace_stays_off)
{
	support_start();
	ci_trace_start("/nonexistent/trace");
	ck_assert(!ib_trace_on);
	ck_assert(log_has(IB_LOG_ERROR, "/nonexistent/trace", "No such file", NULL));
}
END_TEST

START_TEST(the_environment_decides)
{
	const char *path = temp_path("trace");

	setenv("IBAL_TRACE", path, 1);
	ci_diag_start();
	ck_assert(ib_trace_on);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(standard_error_by_name_or_number)
{
	ci_trace_start(_i ? "1" : "stderr");
	ck_assert(ib_trace_on);
	ck_assert_int_ne(access("stderr", F_OK), 0);
	IB_TRACE("test", "seen by whoever watches this test");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *tc = tcase_create("trace");

	tcase_add_test(tc, off_by_default);
	tcase_add_test(tc, a_step_is_a_line_of_six_fields);
	tcase_add_test(tc, a_long_step_is_cut_and_still_a_line);
	tcase_add_test(tc, lines_of_several_threads_stay_whole);
	tcase_add_test(tc, an_unwritable_trace_file_is_logged_and_the_trace_stays_off);
	tcase_add_test(tc, the_environment_decides);
	tcase_add_loop_test(tc, standard_error_by_name_or_number, 0, 2);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
