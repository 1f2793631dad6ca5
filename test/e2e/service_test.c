/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ald as a service: its beginning and end, within a process and under systemd; configuration, drain, and what is told of it. */
#include "test/e2e/agent.h"

#include <sched.h>

#include "al/agent/ald.h"

/* -------------------------------------------------------- within a process */

static int entries(const char *path)
{
	int count = 0;
	DIR *dir = opendir(path);

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void one_life(const char *path)
{
	const struct ald_attr attr = { .socket = path, .mode = 0600, .config = "", .limits = ald_default_limits };
	const struct al_open_attr use = { .agent = path, .config = "" };
	struct test_end end[2];
	al_h al;

	ck_ok(ald_start(&attr));
	ck_status(ald_start(&attr), AL_DUPLICATE);
	ck_ok(al_open(&use, &al));
	test_make_pair(al, end);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	memcpy(end[0].mem + 64, "eight by", 8);
	ck_ok(test_post_send(&end[0], 2, 64, 8));
	test_poll_ok(end[1].cq, 1);
	ck_assert_mem_eq(end[1].mem, "eight by", 8);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ald_stop();
	ck_assert_int_ne(access(path, F_OK), 0);
}

START_TEST(an_agent_within_a_process_lives_again_and_again)
{
	const struct timespec deadline = test_deadline();
	char dir[] = "/tmp/service_test-XXXXXX", path[64];
	int fds, threads;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	one_life(path);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	for (int i = 0; i < 5; i++)
		one_life(path);
	/* The client's threads find out by themselves that their agent is gone. */
	while (entries("/proc/self/fd") > fds || entries("/proc/self/task") > threads) {
		ck_assert_msg(!test_expired(&deadline), "descriptors or threads are left");
		sched_yield();
	}
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/service");
	TCase *tcase = tcase_create("service");

	tcase_add_test(tcase, an_agent_within_a_process_lives_again_and_again);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
