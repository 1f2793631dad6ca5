/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Helpers for tests of the agent: an ald for each test on a socket of its own, and processes that
 * use that ald. */
#ifndef IBAL_TEST_AGENT_H
#define IBAL_TEST_AGENT_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/al/al_test.h"

static char agent_dir[] = "/tmp/agent_test-XXXXXX", agent_socket[64];
static pid_t agent_pid;

/*
 * Starts ald and waits until ald serves. ald ends with the test, also if the test fails. The shell
 * starts TEST_ALD in place of ald if that variable is set ("make check-valgrind").
 */
static inline void agent_start(const char *option, const char *value)
{
	const char *build = getenv("top_builddir"), *ald = getenv("TEST_ALD");
	char command[2048], word[128];
	int out[2];
	ssize_t n;

	ck_assert_ptr_nonnull(build);
	if (!*agent_socket) {
		ck_assert_ptr_nonnull(mkdtemp(agent_dir));
		ck_assert_int_eq(chmod(agent_dir, 0755), 0);
		snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	}
	if (ald)
		snprintf(command, sizeof(command), "exec %s \"$@\"", ald);
	else
		snprintf(command, sizeof(command), "exec '%s/ald' \"$@\"", build);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	agent_pid = fork();
	if (!agent_pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", command, "ald", "--socket", agent_socket, "--drain=0", option, value, NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], word, sizeof(word));
	ck_assert_msg(n > 0, "ald did not start");
	close(out[0]);
}

static inline int wait_for(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static inline void agent_kill(int sig)
{
	int status;

	ck_assert_int_eq(kill(agent_pid, sig), 0);
	status = wait_for(agent_pid);
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer reports the threads of modules, which stay loaded to the end */
	if (sig == SIGTERM)
		ck_assert_msg(status == 0, "ald ended with status %#x", (unsigned int)status);
#endif
	(void)status;
	agent_pid = 0;
}

/* Stops the agent until SIGCONT. */
static inline void agent_pause(void)
{
	int state;

	ck_assert_int_eq(kill(agent_pid, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(agent_pid, &state, WUNTRACED), agent_pid);
}

static inline void agent_stop(void)
{
	if (agent_pid)
		agent_kill(SIGTERM);
	unlink(agent_socket);
	rmdir(agent_dir);
}

static inline al_h agent_open(void)
{
	const struct al_open_attr attr = { .agent = agent_socket, .config = "" };
	al_h al;

	ck_ok(al_open(&attr, &al));
	return al;
}

/* Opens the agent as another user, which this process is from then on. Needs root. */
static inline al_h agent_open_as_another_user(void)
{
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
	return agent_open();
}

/* Starts this program in another process, which calls the function of that name and exits with 0
 * when the function returns. */
struct agent_client {
	const char *name;
	void (*fn)(int fd);
};

static inline pid_t agent_client(const char *name, int fd)
{
	char number[16], path[512];
	ssize_t length;
	pid_t pid;

	snprintf(number, sizeof(number), "%d", fd);
	/* By the program's path: /proc/self/exe would be valgrind itself. */
	length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	ck_assert_int_gt(length, 0);
	path[length] = '\0';
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fd >= 0)
			fcntl(fd, F_SETFD, 0);
		execl(path, name, "--client", name, number, agent_socket, NULL);
		_exit(127);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void (*client_fn)(int fd);
static int client_fd;

START_TEST(as_a_client)
{
	client_fn(client_fd);
}
END_TEST

/* The first call of main(). In a process of the function above, calls the function within a runner
 * of Check, which assertions need. */
static inline void agent_be_client(int argc, char **argv, const struct agent_client *clients)
{
	SRunner *runner;
	Suite *suite;
	TCase *tcase;

	if (argc != 5 || strcmp(argv[1], "--client"))
		return;
	snprintf(agent_socket, sizeof(agent_socket), "%s", argv[4]);
	while (clients->name && strcmp(clients->name, argv[2]))
		clients++;
	client_fn = clients->fn;
	client_fd = atoi(argv[3]);
	suite = suite_create("client");
	tcase = tcase_create("client");
	tcase_add_test(tcase, as_a_client);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	if (srunner_ntests_failed(runner))
		srunner_print(runner, CK_NORMAL);
	exit(srunner_ntests_failed(runner) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Number of entries of a directory of ald in /proc. */
static inline int agent_entries(const char *what)
{
	char path[64];
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)agent_pid, what);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		count += e->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* The record that two processes exchange before they connect their queue pairs. */
struct address {
	uint64_t mem;
	uint32_t qpn, rkey;
	uint16_t lid, zero[3]; /* in place of padding, whose bytes would be undefined */
};

static inline void say(int fd, const void *what, size_t size)
{
	ck_assert_int_eq(send(fd, what, size, MSG_NOSIGNAL), (ssize_t)size);
}

static inline void hear(int fd, void *what, size_t size)
{
	ck_assert_int_eq(recv(fd, what, size, MSG_WAITALL), (ssize_t)size);
}

/* Connects the end to the process at the other end of fd, and posts a receive (wr_id 9) if the
 * length is not 0. */
static inline struct address agent_connect(struct test_end *end, int fd, uint32_t offset, uint32_t length)
{
	struct address mine = { (uintptr_t)end->mem, end->qpn, end->rkey, end->lid }, other;
	char ready = 1;

	say(fd, &mine, sizeof(mine));
	hear(fd, &other, sizeof(other));
	test_to_rts(end->qp, other.lid, other.qpn, end->mtu);
	if (length)
		ck_ok(test_post_recv(end, 9, offset, length));
	say(fd, &ready, 1);
	hear(fd, &ready, 1);
	return other;
}

static inline void two_ends(int fd[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
}

/* What all clients of the agent are charged of a resource. */
static inline uint64_t clients_use(al_h al, al_resource resource)
{
	struct al_snapshot *snap;
	uint64_t now = 0;

	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_clients; i++)
		now += snap->clients[i].use[resource].now;
	al_free_snapshot(snap);
	return now;
}

#endif
