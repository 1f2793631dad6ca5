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
	int fds, threads;

	one_life(agent_socket);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	for (int i = 0; i < 5; i++)
		one_life(agent_socket);
	/* The client's threads find out by themselves that their agent is gone. */
	while (entries("/proc/self/fd") > fds || entries("/proc/self/task") > threads) {
		ck_assert_msg(!test_expired(&deadline), "descriptors or threads are left");
		sched_yield();
	}
}
END_TEST

/* ----------------------------------------------------------------- a daemon */

static char dir[] = "/tmp/service_test-XXXXXX", conf_file[64];

static struct {
	pid_t pid;
	FILE *says; /* standard output and error */
} ald;

static void write_conf(const char *text)
{
	FILE *file = fopen(conf_file, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", dir);
	snprintf(conf_file, sizeof(conf_file), "%s/ibal.conf", dir);
	write_conf("");
}

static void tear_down(void)
{
	unlink(conf_file);
	unlink(agent_socket);
	rmdir(dir);
}

/* With the configuration; before(), if there is one, is the child's. */
static void spawn(void (*before)(void))
{
	const char *build = getenv("top_builddir");
	char path[512];
	int out[2];

	ck_assert_ptr_nonnull(build);
	snprintf(path, sizeof(path), "%s/ald", build);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ald.pid = fork();
	ck_assert_int_ge(ald.pid, 0);
	if (!ald.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(out[1], 2);
		setenv("IBAL_LOG", "info", 1);
		if (before)
			before();
		execl(path, "ald", "--config", conf_file, "--socket", agent_socket, NULL);
		_exit(127);
	}
	close(out[1]);
	ald.says = fdopen(out[0], "r");
}

/* Reads on until it says this. */
static void expect(const char *text)
{
	char line[512];

	do
		ck_assert_msg(fgets(line, sizeof(line), ald.says) != NULL, "ald ended without \"%s\"", text);
	while (!strstr(line, text));
}

static int ended(void)
{
	int status = wait_for(ald.pid);

	fclose(ald.says);
	return status;
}

#ifdef __SANITIZE_THREAD__ /* it tells of threads of modules, which are loaded to the end */
#define ck_ended() (void)ended()
#else
#define ck_ended() ck_assert_int_eq(ended(), 0)
#endif

START_TEST(a_signal_reads_the_configuration_again_and_a_wrong_one_changes_nothing)
{
	al_pd_h pd[4];
	uint64_t guid;
	al_ca_h ca;
	al_h al;

	write_conf("[ald client]\npds = 1\n");
	spawn(NULL);
	expect("serving on");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd[0]));
	ck_status(al_alloc_pd(ca, NULL, &pd[1]), AL_LIMIT_EXCEEDED);
	write_conf("[ald]\nworkers = 5\n[ald client]\npds = 2\n");
	kill(ald.pid, SIGHUP);
	expect("workers stay as they are");
	expect("has been read again");
	ck_ok(al_alloc_pd(ca, NULL, &pd[1]));
	ck_status(al_alloc_pd(ca, NULL, &pd[2]), AL_LIMIT_EXCEEDED);
	write_conf("[ald client]\npds = 3\nqps = wrong\n");
	kill(ald.pid, SIGHUP);
	expect("ibal.conf:3: [ald client] qps = wrong: must be");
	expect("stays as it was");
	ck_status(al_alloc_pd(ca, NULL, &pd[2]), AL_LIMIT_EXCEEDED);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	kill(ald.pid, SIGTERM);
	ck_ended();
}
END_TEST

START_TEST(a_wrong_configuration_does_not_start)
{
	int status;

	write_conf("[ald]\nno_such_key = 1\n");
	spawn(NULL);
	expect("ibal.conf:2: [ald] no_such_key = 1: there is no such key");
	status = ended();
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	ck_assert_int_ne(access(agent_socket, F_OK), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/service");
	TCase *tcase = tcase_create("service");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_signal_reads_the_configuration_again_and_a_wrong_one_changes_nothing);
	tcase_add_test(tcase, a_wrong_configuration_does_not_start);
	tcase_add_test(tcase, an_agent_within_a_process_lives_again_and_again);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
