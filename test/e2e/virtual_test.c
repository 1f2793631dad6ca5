/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Virtual time under the whole stack: with progress=manual the same program has the same trace of
 * the software HCA, byte for byte except real times, processes and threads, on one processor and on
 * many.
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iba/ib_soft.h>
#include "test/unit/al/al_test.h"

static struct soft_step step(al_ca_h ca)
{
	struct soft_step did = { 0 };
	uint32_t room = sizeof(did);

	ck_ok(al_vendor_call(ca, SOFT_STEP, NULL, 0, &did, &room));
	return did;
}

/* Sends of several packets, some of which are lost. */
static void program(void)
{
	struct test_end end[2];
	al_h al = test_open();
	struct ib_wc wc[32];
	uint32_t count;
	int i;

	test_make_pair(al, end);
	for (i = 0; i < 8; i++) {
		ck_ok(test_post_recv(&end[1], (uint64_t)i, 0, 20000));
		ck_ok(test_post_send(&end[0], (uint64_t)i, 0, 20000));
	}
	ck_ok(al_poll_cq(end[0].cq, 32, wc, &count));
	ck_assert_uint_eq(count, 0); /* no progress without a step */
	while (step(end[0].ca).did != SOFT_STEP_NOTHING)
		;
	for (i = 0; i < 2; i++) {
		ck_ok(al_poll_cq(end[i].cq, 32, wc, &count));
		ck_assert_uint_eq(count, 8);
		ck_assert_int_eq(wc[7].status, IB_WC_SUCCESS);
	}
	al_set_log(test_ignore_log, NULL); /* the close destroys the remaining objects on purpose */
	for (i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* Returns the HCA's lines of the trace, without time, process, thread and the thread's name. */
static char *read_trace(const char *path, size_t *lines)
{
	FILE *file = fopen(path, "r");
	char line[512], *text = calloc(1, 1 << 20), *at = text;
	int skip;

	ck_assert_ptr_nonnull(file);
	for (*lines = 0; fgets(line, sizeof(line), file);) {
		skip = 0;
		ck_assert_int_eq(sscanf(line, "%*s %*d %*d %*s %n", &skip), 0);
		if (strncmp(line + skip, "soft ", 5))
			continue;
		ck_assert_int_lt(at - text, (1 << 20) - 512);
		at = stpcpy(at, line + skip);
		++*lines;
	}
	fclose(file);
	return text;
}

static char *trace_of_run(const char *seed, bool one_processor)
{
	char path[] = "/tmp/ibal-virtual-XXXXXX", soft[128], *text;
	cpu_set_t one;
	size_t lines;
	int status, fd = mkstemp(path);
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	close(fd);
	pid = fork(); /* before the library's first use, since it reads the environment once */
	if (!pid) {
		CPU_ZERO(&one);
		CPU_SET((size_t)sched_getcpu(), &one);
		if (one_processor && sched_setaffinity(0, sizeof(one), &one))
			_exit(2);
		snprintf(soft, sizeof(soft), "progress=manual seed=%s fault=drop,chance=10%%", seed);
		setenv("IBAL_SOFT", soft, 1);
		setenv("IBAL_TRACE", path, 1);
		program();
		exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	text = read_trace(path, &lines);
	unlink(path);
	ck_assert_uint_gt(lines, 50);
	ck_assert_ptr_nonnull(strstr(text, "fault: drop"));
	ck_assert_ptr_nonnull(strstr(text, "soft clock: "));
	return text;
}

START_TEST(the_same_seed_is_the_same_trace_whatever_the_processors)
{
	char *first = trace_of_run("3", false), *again = trace_of_run("3", false), *one = trace_of_run("3", true),
	     *other = trace_of_run("4", false);

	ck_assert_str_eq(first, again);
	ck_assert_str_eq(first, one);
	ck_assert_str_ne(first, other);
	free(first);
	free(again);
	free(one);
	free(other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("virtual time");
	TCase *tc = tcase_create("trace");

	tcase_add_test(tc, the_same_seed_is_the_same_trace_whatever_the_processors);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
