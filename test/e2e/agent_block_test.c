/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A client whose memory blocks each access, as memory of a FUSE file can: only the client's own
 * requests wait. */
#include "test/e2e/agent.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "al/agent/ald.h"
#include <iba/ib_soft.h>

/* ------------------------------------------------------- memory that blocks */

static uint8_t pattern(uint32_t i)
{
	return (uint8_t)(i * 13 + i / 249);
}

/* The addresses of a client process at which each access blocks. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pid_t pid;
	uint64_t first, end;
	bool waits; /* a thread blocks there */
} trap = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void trap_set(pid_t pid, uint64_t addr)
{
	pthread_mutex_lock(&trap.lock);
	trap.pid = pid;
	trap.first = addr;
	trap.end = addr + TEST_MEM;
	trap.waits = false;
	pthread_mutex_unlock(&trap.lock);
}

/* Other clients have the same addresses, so the process counts too. */
static bool is_trapped(int fd)
{
	char name[64], path[64] = "";
	int pid = 0;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return readlink(name, path, sizeof(path) - 1) > 0 && sscanf(path, "/proc/%d/mem", &pid) == 1 && pid == trap.pid;
}

static void trap_pass(int fd, uint64_t addr)
{
	bool trapped;

	pthread_mutex_lock(&trap.lock);
	trapped = is_trapped(fd);
	while (trapped && addr >= trap.first && addr < trap.end) {
		trap.waits = true;
		pthread_cond_broadcast(&trap.changed);
		pthread_cond_wait(&trap.changed, &trap.lock);
	}
	pthread_mutex_unlock(&trap.lock);
}

/* Waits until a thread of the agent blocks on the memory. */
static void trap_wait(void)
{
	pthread_mutex_lock(&trap.lock);
	while (!trap.waits) /* until Check's time limit */
		pthread_cond_wait(&trap.changed, &trap.lock);
	pthread_mutex_unlock(&trap.lock);
}

static void trap_release(void)
{
	pthread_mutex_lock(&trap.lock);
	trap.end = trap.first;
	pthread_cond_broadcast(&trap.changed);
	pthread_mutex_unlock(&trap.lock);
}

/* These replace libc's functions, with which the agent in this process copies from and to the
 * memory of its clients. */
ssize_t pread(int fd, void *to, size_t length, off_t at)
{
	trap_pass(fd, (uint64_t)at);
	return syscall(SYS_pread64, fd, to, length, at);
}

ssize_t pwrite(int fd, const void *from, size_t length, off_t at)
{
	trap_pass(fd, (uint64_t)at);
	return syscall(SYS_pwrite64, fd, from, length, at);
}

/* Makes a pair whose requests wait without limit. */
static void make_patient_pair(al_h al, struct test_end end[2])
{
	uint64_t guids[2];

	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		test_make_end(&end[i], al, guids[i], IB_QPT_RC);
	for (int i = 0; i < 2; i++) {
		struct ib_qp_attr attr = test_attr(end[!i].lid, end[!i].qpn, end[i].mtu);

		attr.timeout = 0;
		ck_ok(test_modify(end[i].qp, IB_QPS_INIT, attr, TEST_RC_INIT));
		ck_ok(test_modify(end[i].qp, IB_QPS_RTR, attr, TEST_RC_RTR));
		ck_ok(test_modify(end[i].qp, IB_QPS_RTS, attr, TEST_RC_RTS));
	}
}

/* ---------------------------------------------------------- the blocked client */

/* A request, and the end whose memory blocks. */
static const struct block_case {
	ib_wr_opcode opcode;
	int blocked;
} cases[] = {
	{ IB_WR_RDMA_WRITE, 0 },           { IB_WR_RDMA_WRITE, 1 },           { IB_WR_SEND, 0 },
	{ IB_WR_SEND, 1 },                 { IB_WR_RDMA_READ, 0 },            { IB_WR_RDMA_READ, 1 },
	{ IB_WR_ATOMIC_FETCH_AND_ADD, 0 }, { IB_WR_ATOMIC_FETCH_AND_ADD, 1 },
};

static void post_case(const struct block_case *c, struct test_end end[2])
{
	bool atomic = c->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
	struct ib_sge sge = { (uintptr_t)end[0].mem, atomic ? 8 : TEST_MEM, end[0].lkey };
	struct ib_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = c->opcode,
				 .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;

	if (c->opcode == IB_WR_SEND)
		ck_ok(test_post_recv(&end[1], 9, 0, TEST_MEM));
	if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)end[1].mem;
		wr.wr.atomic.rkey = end[1].rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)end[1].mem;
		wr.wr.rdma.rkey = end[1].rkey;
	}
	ck_ok(al_post_send(end[0].qp, &wr, &bad));
}

/* A client process that names its memory, and posts the case's request when the test says so. */
static void blocked(int fd)
{
	const struct block_case *c;
	struct test_end end[2];
	struct ib_qp_attr attr;
	al_h al = agent_open();
	uint8_t *from, *to;
	uint64_t addr;
	char which;

	al_set_log(test_ignore_log, NULL);
	hear(fd, &which, 1);
	c = &cases[(int)which];
	make_patient_pair(al, end);
	from = end[c->opcode == IB_WR_RDMA_READ].mem;
	to = end[c->opcode != IB_WR_RDMA_READ].mem;
	for (uint32_t i = 0; i < TEST_MEM; i++)
		from[i] = pattern(i);
	addr = (uintptr_t)end[c->blocked].mem;
	say(fd, &addr, sizeof(addr));
	hear(fd, &which, 1);
	post_case(c, end);
	/* the blocked client's own control verbs go on, too */
	for (int i = 0; i < 2; i++)
		ck_ok(al_query_qp(end[i].qp, &attr, NULL));
	say(fd, "", 1);
	hear(fd, &which, 1);
	test_poll_ok(end[0].cq, 1);
	if (c->opcode == IB_WR_SEND)
		test_poll_ok(end[1].cq, 9);
	if (c->opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		ck_assert_uint_eq(*(uint64_t *)end[0].mem, 0); /* the value before the addition of 5 */
		ck_assert_uint_eq(*(uint64_t *)end[1].mem, 5);
	} else {
		for (uint32_t i = 0; i < TEST_MEM; i++)
			ck_assert_uint_eq(to[i], pattern(i));
	}
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* A client with many queue pairs, of which each has more to copy than the agent may have in buffers
 * for all of them. */
enum { CROWD = 512, CROWD_BUFFERS = 16 << 20 };

static void crowd(int fd)
{
	static struct test_end end[CROWD][2];
	al_h al = agent_open();
	char go;

	for (int i = 0; i < CROWD; i++) {
		make_patient_pair(al, end[i]);
		memset(end[i][0].mem, i, TEST_MEM);
	}
	say(fd, "", 1);
	hear(fd, &go, 1);
	for (int i = 0; i < CROWD; i++)
		for (int n = 0; n < 4; n++)
			post_case(&cases[0], end[i]);
	say(fd, "", 1);
	for (int i = 0; i < CROWD; i++)
		for (int n = 0; n < 4; n++)
			test_poll_ok(end[i][0].cq, 1);
	for (int i = 0; i < CROWD; i++)
		ck_assert_mem_eq(end[i][1].mem, end[i][0].mem, TEST_MEM);
	say(fd, "", 1);
	hear(fd, &go, 1);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* ---------------------------------------------------------------- other clients */

/* A client process that connects, uses each kind of object, and ends. */
static void passer_by(int fd)
{
	al_h al = agent_open();
	struct test_end end[2];

	(void)fd;
	al_set_log(test_ignore_log, NULL); /* al_close() destroys the objects that are left, and would log them */
	test_make_pair(al, end);
	for (int i = 0; i < 10; i++) {
		ck_ok(test_post_recv(&end[1], 1, 0, TEST_MEM));
		memset(end[0].mem, i + 1, TEST_MEM);
		ck_ok(test_post_send(&end[0], 2, 0, TEST_MEM));
		test_poll_ok(end[1].cq, 1);
		test_poll_ok(end[0].cq, 2);
		ck_assert_mem_eq(end[1].mem, end[0].mem, TEST_MEM);
	}
	for (int i = 0; i < 2; i++) {
		ck_ok(al_dereg_mr(end[i].mr, AL_DESTROY_SYNC, NULL));
		ck_ok(al_destroy_qp(end[i].qp, AL_DESTROY_SYNC, NULL));
		test_free_end(&end[i]);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void others_go_on(void)
{
	ck_assert_int_eq(wait_for(agent_client("passer_by", -1)), 0);
}

/* Waits until ald has no more objects than before. */
static void wait_for_objects(al_h al, size_t want)
{
	struct timespec deadline = test_deadline();
	size_t now;

	while ((now = test_count(al, AL_OBJ_NONE)) > want)
		ck_assert_msg(!test_expired(&deadline), "%zu objects instead of %zu", now, want);
}

static void wait_for_threads(int want)
{
	struct timespec deadline = test_deadline();

	while (agent_entries("task") > want)
		ck_assert_msg(!test_expired(&deadline), "%d threads instead of %d", agent_entries("task"), want);
}

/* Waits until a thread of the agent blocks on the client's memory. */
static pid_t start_blocked(int fd[2], char which)
{
	uint64_t addr;
	pid_t pid;

	two_ends(fd);
	pid = agent_client("blocked", fd[1]);
	close(fd[1]);
	say(fd[0], &which, 1);
	hear(fd[0], &addr, sizeof(addr));
	trap_set(pid, addr);
	say(fd[0], "", 1);
	trap_wait();
	hear(fd[0], &which, 1);
	return pid;
}

START_TEST(a_client_whose_memory_blocks_delays_no_other_client_and_is_served_afterwards)
{
	int fd[2];
	pid_t pid = start_blocked(fd, (char)_i);

	others_go_on();
	trap_release();
	say(fd[0], "", 1);
	ck_assert_int_eq(wait_for(pid), 0);
	close(fd[0]);
}
END_TEST

static uint64_t allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Without a bound the buffers would take 32 MiB, one for each queue pair. */
START_TEST(a_clients_queue_pairs_wait_for_one_anothers_copies)
{
	uint64_t before, during;
	int fd[2];
	pid_t pid;
	char done;

	two_ends(fd);
	pid = agent_client("crowd", fd[1]);
	close(fd[1]);
	hear(fd[0], &done, 1);
	trap_set(pid, 0);
	pthread_mutex_lock(&trap.lock);
	trap.end = UINT64_MAX; /* all its memory blocks */
	pthread_mutex_unlock(&trap.lock);
	before = allocated();
	say(fd[0], "", 1);
	hear(fd[0], &done, 1); /* everything is posted */
	trap_wait();
	others_go_on();
	during = allocated();
	ck_assert_msg(during < before + CROWD_BUFFERS + CROWD_BUFFERS / 4,
		      "the agent has %llu bytes more", (unsigned long long)(during - before));
	trap_release();
	hear(fd[0], &done, 1);
	say(fd[0], "", 1);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_le(allocated(), before);
	close(fd[0]);
}
END_TEST

/* The access to a client's memory may still block after the client has ended. */
START_TEST(a_blocked_client_that_is_killed_holds_up_no_other_client_and_leaves_nothing)
{
	al_h al = agent_open();
	size_t before = test_count(al, AL_OBJ_NONE);
	int fd[2], threads;
	pid_t pid;

	others_go_on(); /* starts the threads that stay */
	wait_for_objects(al, before);
	threads = agent_entries("task");
	pid = start_blocked(fd, (char)_i);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_for(pid);
	close(fd[0]);
	others_go_on();
	wait_for_objects(al, before);
	trap_release();
	wait_for_threads(threads);
	others_go_on();
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* A message to the blocked client, or a read from it, is not given up as lost. */
START_TEST(requests_to_memory_that_blocks_outlast_their_time_outs)
{
	struct timespec limit, now;
	struct test_end end[2];
	al_h al = agent_open();

	test_make_pair(al, end);
	trap_set(getpid(), (uintptr_t)end[1].mem);
	post_case(&cases[4 * _i + 1], end); /* a write to the memory, a read from it */
	trap_wait();
	/* all retries together last for about a second */
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += 2;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (others_go_on(), now.tv_sec < limit.tv_sec);
	trap_release();
	test_poll_ok(end[0].cq, 1);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* all retries together last about a second */

static void wait_for_hcas(al_h al, size_t want)
{
	struct timespec deadline = test_deadline();
	struct al_snapshot *snap;
	size_t now;

	do {
		ck_ok(al_snapshot(al, &snap));
		now = snap->num_cas;
		al_free_snapshot(snap);
		ck_assert_msg(!test_expired(&deadline), "%zu HCAs instead of %zu", now, want);
	} while (now != want);
}

START_TEST(an_hca_goes_under_a_blocked_client)
{
	const struct al_open_attr own = { .agent = "off", .config = "" };
	al_h al = agent_open();
	uint32_t none = 0;
	uint64_t guids[2];
	int fd[2];
	pid_t pid;
	al_ca_h ca;

	test_guids(al, guids, 2);
	pid = start_blocked(fd, 1);
	for (int i = 0; i < 2; i++) {
		ck_ok(al_open_ca(al, guids[i], NULL, &ca));
		ck_ok(al_vendor_call(ca, SOFT_REMOVE, &none, sizeof(none), NULL, NULL));
		ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	}
	wait_for_hcas(al, 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	trap_release();
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_for(pid);
	close(fd[0]);
	/* the module ends the threads that have removed its HCAs, and waits for clients */
	ck_ok(al_open(&own, &al));
	ck_ok(al_unload_module(al, "soft", 0));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

static void serve(void)
{
	struct ald_attr attr = { .socket = agent_socket, .mode = 0600, .config = "", .limits = ald_default_limits };

	attr.limits.workers = 1; /* a blocked worker would stop all other commands */
	ck_ok(ald_start(&attr));
}

/* The next agent of the process frees the memory that the last agent has left. */
START_TEST(an_agent_stops_under_a_blocked_client)
{
	int fd[2], threads;
	pid_t pid;

	others_go_on();
	threads = agent_entries("task");
	pid = start_blocked(fd, 1);
	ald_stop();
	serve();
	others_go_on();
	trap_release();
	wait_for_threads(threads);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_for(pid);
	close(fd[0]);
	others_go_on();
}
END_TEST

/* ---------------------------------------- ends of the blocked client's objects */

static const bool ends_region[] = { true, false };

START_TEST(a_region_or_queue_pair_of_a_copy_is_gone_when_that_is_over)
{
	al_h al = agent_open();
	struct test_end end[2];
	sem_t gone;

	sem_init(&gone, 0, 0);
	make_patient_pair(al, end);
	trap_set(getpid(), (uintptr_t)end[1].mem);
	post_case(&cases[1], end); /* a write to the second's memory */
	trap_wait();
	if (ends_region[_i])
		ck_ok(al_dereg_mr(end[1].mr, test_post, &gone));
	else
		ck_ok(al_destroy_qp(end[1].qp, test_post, &gone));
	others_go_on();
	ck_assert_int_lt(sem_trywait(&gone), 0);
	trap_release();
	test_wait(&gone);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

static sem_t reset_done;

static void *resetting(void *arg)
{
	ck_ok(test_modify(arg, IB_QPS_RESET, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	test_post(&reset_done);
	return NULL;
}

START_TEST(a_queue_pair_is_reset_when_its_memory_is_no_longer_written_to)
{
	al_h al = agent_open();
	struct test_end end[2];
	pthread_t thread;

	sem_init(&reset_done, 0, 0);
	make_patient_pair(al, end);
	trap_set(getpid(), (uintptr_t)end[1].mem);
	post_case(&cases[1], end); /* a write to the second's memory */
	trap_wait();
	ck_assert_int_eq(pthread_create(&thread, NULL, resetting, end[1].qp), 0);
	others_go_on();
	ck_assert_int_lt(sem_trywait(&reset_done), 0);
	trap_release();
	test_wait(&reset_done);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(requests_are_flushed_when_their_memory_is_no_longer_written_to)
{
	struct test_end end[2];
	al_h al = agent_open();
	uint32_t count = 0;
	struct ib_wc wc;

	make_patient_pair(al, end);
	trap_set(getpid(), (uintptr_t)end[1].mem);
	post_case(&cases[3], end); /* a send to the second's memory */
	trap_wait();
	ck_ok(test_modify(end[1].qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	ck_ok(al_poll_cq(end[1].cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
	others_go_on();
	trap_release();
	wc = test_poll(end[1].cq);
	ck_assert_int_eq(wc.status, IB_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(wc.wr_id, 9);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* The agent runs in this process. */
static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	agent_pid = getpid();
	serve();
}

static void set_up_provider(void)
{
	ck_assert(!setenv("IBAL_UVP_PATH", UVP_DIR, 1));
	set_up();
}

static void tear_down(void)
{
	ald_stop();
	rmdir(agent_dir);
}

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "blocked", blocked },
						       { "passer_by", passer_by },
						       { "crowd", crowd },
						       { NULL, NULL } };
	const int num = sizeof(cases) / sizeof(*cases);
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent_block");
	for (int with = 0; with < 2; with++) {
		tcase = tcase_create(with ? "block, with a provider" : "block");
		tcase_add_checked_fixture(tcase, with ? set_up_provider : set_up, tear_down);
		tcase_add_loop_test(
			tcase,
			a_client_whose_memory_blocks_delays_no_other_client_and_is_served_afterwards,
			0, num);
		tcase_add_loop_test(
			tcase,
			a_blocked_client_that_is_killed_holds_up_no_other_client_and_leaves_nothing,
			0, num);
		if (!with)
			tcase_add_loop_test(tcase, requests_to_memory_that_blocks_outlast_their_time_outs, 0, 2);
		tcase_add_test(tcase, a_clients_queue_pairs_wait_for_one_anothers_copies);
		tcase_add_test(tcase, an_hca_goes_under_a_blocked_client);
		tcase_add_test(tcase, an_agent_stops_under_a_blocked_client);
		tcase_add_loop_test(tcase, a_region_or_queue_pair_of_a_copy_is_gone_when_that_is_over, 0, 2);
		tcase_add_test(tcase, a_queue_pair_is_reset_when_its_memory_is_no_longer_written_to);
		tcase_add_test(tcase, requests_are_flushed_when_their_memory_is_no_longer_written_to);
		suite_add_tcase(suite, tcase);
	}
	return test_run(suite);
}
