/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Idle costs nothing: no thread of a program that has the library open, nor of an agent, is woken
 * while neither has anything to do. The kernel counts the wake-ups as voluntary context switches.
 */
#include <stdio.h>
#include <time.h>

#include "test/e2e/agent_uvp.h"

#define WINDOW_S 2 /* something that happens twice a second happens in each window */
#define WINDOWS  15

/* Voluntary context switches of all threads of a process but the calling thread. */
static uint64_t switches_of(pid_t pid)
{
	char path[300], line[256];
	uint64_t sum = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		unsigned long long count;
		FILE *status;

		if (*entry->d_name == '.' || atoi(entry->d_name) == gettid())
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status))
			if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1)
				sum += count;
		if (status)
			fclose(status);
	}
	closedir(dir);
	return sum;
}

static uint64_t switches(void)
{
	return switches_of(getpid()) + (agent_pid ? switches_of(agent_pid) : 0);
}

/* Gives every kind of thread work: queue pairs, callbacks, destroys. */
static void work(void)
{
	const struct ib_ah_attr to = { .dlid = 1, .port_num = 1 };
	al_ah_h ah;

	ck_ok(test_post_recv(&end[1], 1, 0, 64));
	ck_ok(test_post_send(&end[0], 2, 0, 64));
	test_poll_ok(end[0].cq, 2);
	test_poll_ok(end[1].cq, 1);
	ck_ok(al_create_ah(end[0].pd, &to, &ah));
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
}

/*
 * A window that begins before the last work has come to rest, or while another program wakes a
 * thread by a signal, is followed by another.
 */
START_TEST(nothing_is_woken_while_there_is_nothing_to_do)
{
	const struct timespec window = { .tv_sec = WINDOW_S };
	uint64_t before = 1, after = 0;

	begin_pair(_i);
	work();
	for (int i = 0; i < WINDOWS && before != after; i++) {
		before = switches();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &window, NULL);
		after = switches();
	}
	ck_assert_msg(before == after, "%d s without work woke threads %llu times", WINDOW_S,
		      (unsigned long long)(after - before));
	work();
	finish_pair();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("idle");
	TCase *t = tcase_create("idle");

#ifdef __SANITIZE_THREAD__
	printf("SKIP idle_test: ThreadSanitizer has a thread of its own that wakes ten times a second\n");
	return 77;
#endif
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, nothing_is_woken_while_there_is_nothing_to_do, 0, ROLES);
	suite_add_tcase(s, t);
	return test_run(s);
}
