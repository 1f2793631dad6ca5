/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clients that write wrong values into the memory that they share with the agent, or die while they
 * use it; other clients, whose traffic continues meanwhile; and the number of system calls that a
 * correct client makes.
 */
#include "test/e2e/agent.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

#define FILES 32 /* largest number of this process's shared files */

static void set_up(void)
{
	ck_assert(!setenv("IBAL_UVP_PATH", UVP_DIR, 1));
	agent_start("--mode", "666");
}

/* ------------------------------------------------------------- another client */

/* A client that sends to itself, a new message each time, until the test stops it. */
static void bystander(int fd)
{
	al_h al = agent_open();
	struct test_end end[2];
	uint32_t round = 0;
	char byte;

	test_make_pair(al, end);
	say(fd, "", 1);
	for (; recv(fd, &byte, 1, MSG_DONTWAIT) < 0; round++) {
		uint32_t length = 1 + round * 13 % 2000;

		for (uint32_t i = 0; i < length; i++)
			end[0].mem[i] = (uint8_t)(round + i * 3);
		ck_ok(test_post_recv(&end[1], round, 4096, 2000));
		ck_ok(test_post_send(&end[0], round, 0, length));
		test_poll_ok(end[0].cq, round);
		ck_assert_uint_eq(test_poll_ok(end[1].cq, round).byte_len, length);
		ck_assert_mem_eq(end[1].mem + 4096, end[0].mem, length);
	}
	ck_assert_uint_gt(round, 0);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* --------------------------------------- clients that overwrite shared memory */

struct file {
	uint8_t *mem;
	size_t bytes;
};

static size_t find_files(struct file *files)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512];
	size_t num = 0;

	ck_assert_ptr_nonnull(maps);
	while (num < FILES && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:ibal-soft") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			files[num++] = (struct file){ (uint8_t *)from, to - from };
	fclose(maps);
	return num;
}

/* Writes values that are likely to do harm, at places that are in use. */
static void scribble(const struct file *file)
{
	static const uint32_t odd[] = { 0, 1, 2, 3, 5, 63, 64, 65, 255, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	/* the headers and the first slots more often than the rest */
	size_t room = rand() % 3 ? (file->bytes < 1024 ? file->bytes : 1024) : file->bytes;
	size_t at = (size_t)rand() % (room / 4) * 4;
	uint32_t value = rand() % 2 ? (uint32_t)rand() * 2u : odd[(size_t)rand() % (sizeof(odd) / sizeof(*odd))];

	/* near the value that is there: the indices of the other side */
	if (rand() % 3 == 0)
		value = __atomic_load_n((uint32_t *)(file->mem + at), __ATOMIC_RELAXED) + (uint32_t)(rand() % 5) - 2;
	if (at < file->bytes / 64 * 64)
		__atomic_store_n((uint32_t *)(file->mem + at), value, __ATOMIC_RELAXED);
}

/* Uses the objects in between; any status is allowed. */
static void use(struct test_end *end)
{
	struct ib_wc wc[4];
	uint32_t count;
	bool present;

	test_post_recv(&end[rand() % 2], 1, 0, 64);
	test_post_send(&end[rand() % 2], 2, 64, (uint32_t)rand() % 64);
	al_poll_cq(end[rand() % 2].cq, 4, wc, &count);
	if (rand() % 8 == 0)
		al_arm_cq(end[rand() % 2].cq, AL_ARM_ANY, &present);
	if (rand() % 64 == 0)
		test_modify(end[rand() % 2].qp, rand() % 2 ? IB_QPS_RESET : IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE);
}

static void vandal(int fd)
{
	const char *more = getenv("IBAL_TEST_LONG");
	int rounds = more ? 400 : 12;
	al_h al = agent_open();

	al_set_log(test_ignore_log, NULL);
	srand((unsigned int)getpid());
	for (int round = 0; round < rounds; round++) {
		struct file files[FILES];
		struct test_end end[2];
		size_t num;

		say(fd, "", 1);
		test_make_pair(al, end);
		num = find_files(files);
		ck_assert_uint_eq(num, 6);
		for (int i = 0; i < 300; i++) {
			for (int k = rand() % 4; k; k--)
				scribble(&files[(size_t)rand() % num]);
			use(end);
		}
		for (int i = 0; i < 2; i++)
			test_free_end(&end[i]);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* Waits until ald has no more objects, descriptors and threads than before. */
static void wait_until(al_h al, size_t objects, int fds, int threads)
{
	struct timespec deadline = test_deadline();
	size_t now;

	while ((now = test_count(al, AL_OBJ_NONE)) > objects || agent_entries("fd") > fds ||
	       agent_entries("task") > threads)
		ck_assert_msg(!test_expired(&deadline), "%zu objects instead of %zu, %d descriptors instead of %d", now,
			      objects, agent_entries("fd"), fds);
}

/* Of each pair of clients the test kills one at a random moment, and the other runs to its end. */
START_TEST(what_a_client_writes_there_hurts_no_other_client)
{
	int by_fd[2], fd[4][2], fds, threads;
	size_t objects;
	pid_t by, pid[4];
	char byte;
	al_h al;

	set_up();
	al = agent_open();
	two_ends(by_fd);
	by = agent_client("bystander", by_fd[1]);
	hear(by_fd[0], &byte, 1);
	objects = test_count(al, AL_OBJ_NONE);
	fds = agent_entries("fd");
	threads = agent_entries("task");
	for (int i = 0; i < 4; i++) {
		two_ends(fd[i]);
		pid[i] = agent_client("vandal", fd[i][1]);
		close(fd[i][1]);
	}
	for (int i = 0; i < 4; i += 2) {
		for (int steps = 0; steps < 3 + 4 * i; steps++)
			hear(fd[i][0], &byte, 1);
		ck_assert_int_eq(kill(pid[i], SIGKILL), 0);
		wait_for(pid[i]);
		close(fd[i][0]);
	}
	for (int i = 1; i < 4; i += 2) {
		ck_assert_int_eq(wait_for(pid[i]), 0);
		close(fd[i][0]);
	}
	wait_until(al, objects, fds, threads);
	say(by_fd[0], "", 1);
	ck_assert_int_eq(wait_for(by), 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_kill(SIGTERM); /* the agent has not been harmed either */
	agent_stop();
}
END_TEST

/* --------------------------------------------------------------- system calls */

#define ROUNDS 500u
/* messages of a round, so many that a busy machine need not switch threads for each: at least two
 * posts and two polls */
#define BATCH  50u

/* The client posts and polls between two stops. */
static void counted(int fd)
{
	al_h al = agent_open();
	struct test_end end[2];
	uint32_t count, have;
	uint64_t polls = 0;
	bool good = true;
	struct ib_wc wc;

	test_make_pair(al, end);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	ck_ok(test_post_send(&end[0], 2, 0, 8));
	test_poll_ok(end[0].cq, 2);
	test_poll_ok(end[1].cq, 1);
	raise(SIGSTOP); /* strace counts from here on */
	syscall(SYS_getppid);
	for (uint32_t i = 0; i < ROUNDS && good; i++) {
		for (uint32_t k = 0; k < BATCH && good; k++)
			good = !test_post_recv(&end[1], 1, 0, 8) && !test_post_send(&end[0], 2, 64, 8);
		for (have = 0; good && have < 2 * BATCH; have += count) {
			good = !al_poll_cq(end[++polls % 2].cq, 1, &wc, &count);
			good = good && (!count || !wc.status);
		}
	}
	syscall(SYS_getppid);
	ck_assert(good);
	say(fd, &polls, sizeof(polls));
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(posts_and_polls_make_no_system_calls)
{
	struct __ptrace_syscall_info info;
	int status, marks = 0, fd[2];
	uint64_t calls = 0, polls;
	pid_t pid;

	/* the module's thread stays awake, however busy the machine is */
	ck_assert(!setenv("IBAL_SOFT", "ring_spin=10000000", 1));
	set_up();
	two_ends(fd);
	pid = agent_client("counted", fd[1]);
	close(fd[1]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD)) {
		printf("SKIP posts_and_polls_make_no_system_calls: no process may be looked at here\n");
		kill(pid, SIGKILL);
		wait_for(pid);
		agent_stop();
		return;
	}
	do
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP && !ptrace(PTRACE_CONT, pid, NULL, 0));
	while (marks < 2) {
		ck_assert_msg(WIFSTOPPED(status), "it ended with status %#x", (unsigned int)status);
		ck_assert(!ptrace(PTRACE_SYSCALL, pid, NULL, 0));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		ck_assert_int_gt(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info), 0);
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == SYS_getppid)
			marks++;
		else
			calls++;
	}
	ck_assert(!ptrace(PTRACE_DETACH, pid, NULL, 0));
	hear(fd[0], &polls, sizeof(polls));
	close(fd[0]);
	ck_assert_int_eq(wait_for(pid), 0);
	/* fewer than 100 calls for a million polls, on a machine so busy that most polls find
	 * nothing */
	ck_assert_msg(calls < 30 + polls / 10000, "%llu system calls for %llu polls", (unsigned long long)calls,
		      (unsigned long long)polls);
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = {
		{ "bystander", bystander }, { "vandal", vandal }, { "counted", counted }, { NULL, NULL }
	};
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/uvp_hostile");
	tcase = tcase_create("clients");
	tcase_add_test(tcase, what_a_client_writes_there_hurts_no_other_client);
	tcase_add_test(tcase, posts_and_polls_make_no_system_calls);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
