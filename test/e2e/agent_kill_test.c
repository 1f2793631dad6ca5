/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The death of clients: at random moments under load, at each step of each command; of a stopped
 * client, and of a thousand clients. Afterwards the agent has the objects and the memory that it
 * had before, and the other clients have not noticed.
 */
#include "test/e2e/agent.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "al/agent/ald.h"
#include "al/protocol/protocol.h"
#include <iba/ib_mad.h>
#include <iba/ib_soft.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOW 10 /* a sanitizer is slow, and each process takes much memory */
#else
#define SLOW 1
#endif

/* The number of clients; IBAL_TEST_LONG makes it 10,000. */
static int kills(void)
{
	return getenv("IBAL_TEST_LONG") ? 10000 / SLOW : 500 / SLOW;
}

/* ----------------------------------------------- death at a random moment */

/* Lets the kernel kill this process in so many nanoseconds, by a timer. */
static void kill_in(long ns)
{
	struct sigevent by = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const struct itimerspec when = { .it_value = { ns / 1000000000, ns % 1000000000 } };
	timer_t timer;

	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &by, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &when, NULL), 0);
}

/* A client process that makes, uses and destroys objects until it is killed. */
static void busy_client(int fd)
{
	struct test_end end[2];
	uint32_t ns;
	al_h al;

	hear(fd, &ns, sizeof(ns));
	kill_in(ns);
	al = agent_open();
	for (;;) {
		test_make_pair(al, end);
		for (int i = 0; i < 20; i++) {
			ck_ok(test_post_recv(&end[1], 1, 0, 4096));
			ck_ok(test_post_send(&end[0], 2, 0, 4096));
			if (i % 2)
				test_poll_ok(end[0].cq, 2);
		}
		for (int i = 0; i < 2; i++)
			test_free_end(&end[i]);
	}
}

/* A client process that sends between its two ends and compares, until the test stops it. */
static void bystander(int fd)
{
	al_h al = agent_open();
	struct test_end end[2];
	uint32_t round = 0;
	char byte;

	test_make_pair(al, end);
	say(fd, "", 1);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0) {
		memset(end[0].mem, (int)++round, 1024);
		ck_ok(test_post_recv(&end[1], 1, 0, 1024));
		ck_ok(test_post_send(&end[0], 2, 0, 1024));
		test_poll_ok(end[0].cq, 2);
		test_poll_ok(end[1].cq, 1);
		ck_assert_mem_eq(end[1].mem, end[0].mem, 1024);
	}
	ck_assert_uint_gt(round, 1);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* The objects, descriptors and threads of the agent. */
struct estate {
	size_t objects;
	int fds, threads;
};

/* The least of some looks: the agent has some descriptors for a moment only, such as that of the
 * snapshot which counts the objects, and closes them after its answer. */
static struct estate estate(al_h al)
{
	struct estate least = { test_count(al, AL_OBJ_NONE), INT_MAX, INT_MAX };
	int fds, threads;

	for (int look = 0; look < 10; look++) {
		fds = agent_entries("fd");
		threads = agent_entries("task");
		least.fds = fds < least.fds ? fds : least.fds;
		least.threads = threads < least.threads ? threads : least.threads;
	}
	return least;
}

/* Waits until the agent has the objects that it had before, and no more descriptors and threads.
 * Returns the agent's objects, descriptors and threads. */
static struct estate wait_until(al_h al, const struct estate *before)
{
	struct timespec deadline = test_deadline();
	struct estate now;

	deadline.tv_sec += 60; /* up to a thousand clients have ended */
	do {
		now = estate(al);
		ck_assert_msg(!test_expired(&deadline),
			      "%zu objects instead of %zu, %d descriptors instead of %d, %d threads instead of %d", now.objects,
			      before->objects, now.fds, before->fds, now.threads, before->threads);
	} while (now.objects > before->objects || now.fds > before->fds || now.threads > before->threads);
	ck_assert_uint_eq(now.objects, before->objects);
	return now;
}

/* Runs a first client, after which the agent has the threads that stay, such as those of each
 * HCA. */
static struct estate settled(al_h al, struct estate before)
{
	before.threads = INT_MAX;
	return wait_until(al, &before);
}

/* Number of pages that the agent has. */
static long agent_pages(void)
{
	long total, resident;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)agent_pid);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld %ld", &total, &resident), 2);
	fclose(file);
	return resident;
}

/* A few clients at a time, each of which has up to 40 ms from its first step on: half of them have
 * traffic by then. */
static void kill_some(int count)
{
	enum { AT_ONCE = 4 };
	pid_t pid[AT_ONCE] = { 0 };
	int fd[2], status;

	for (int i = 0; i < count + AT_ONCE; i++) {
		const int at = i % AT_ONCE;
		uint32_t ns = (uint32_t)(rand() % 40000000 * SLOW) + 1;

		if (pid[at]) {
			status = wait_for(pid[at]);
			ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a client ended by itself: %#x",
				      (unsigned int)status);
		}
		if (i >= count)
			continue;
		two_ends(fd);
		pid[at] = agent_client("busy_client", fd[1]);
		say(fd[0], &ns, sizeof(ns));
		close(fd[0]);
		close(fd[1]);
	}
}

START_TEST(clients_killed_at_any_moment_leave_nothing_and_disturb_no_other_client)
{
	const unsigned int seed = 20261122;
	struct estate before;
	int fd[2];
	long pages;
	pid_t by;
	char byte;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	srand(seed);
	two_ends(fd);
	by = agent_client("bystander", fd[1]);
	hear(fd[0], &byte, 1);
	/* No other client has used this agent: the agent may have this much at the end. */
	before = estate(al);
	kill_some(kills() / 5);
	wait_until(al, &before);
	pages = agent_pages(); /* pages with full caches of the allocators; LeakSanitizer reports leaks */
	kill_some(kills() - kills() / 5);
	wait_until(al, &before);
	/* a sanitizer keeps freed memory */
	ck_assert_msg(SLOW > 1 || agent_pages() - pages < 1024, "the agent has grown from %ld to %ld pages", pages, agent_pages());
	say(fd[0], "", 1);
	ck_assert_int_eq(wait_for(by), 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* -------------------------------------------------- death at each step */

/*
 * Steps are the lines of the trace on standard error, all of which go through the write() below.
 * The client dies at one of the steps. At a step of its own the client kills itself. At a step of
 * the agent, which then runs in the test's process, the thread of the step kills the client, and
 * goes on when the client is dead.
 */
static atomic_bool tracing;       /* the lines are counted and not written */
static atomic_bool counting;
static atomic_int steps;      /* number of steps so far */
static atomic_int last_step;  /* the step at which the client dies; 0: none */
static atomic_int victim;     /* the process to kill; 0: this process */
static atomic_ullong seen;    /* commands named in lines: 1 << enum agent_command */

static void note_command(const char *line, size_t length)
{
	char text[256], *word, *rest = text;

	snprintf(text, sizeof(text), "%.*s", (int)length, line);
	while ((word = strsep(&rest, " :\n")))
		for (int i = 0; i < AGENT_NUM_COMMANDS; i++)
			if (!strcmp(word, agent_names[i]))
				atomic_fetch_or(&seen, 1ull << i);
}

static void step(const char *line, size_t length)
{
	const pid_t pid = atomic_load(&victim);
	siginfo_t info;

	note_command(line, length);
	if (atomic_fetch_add(&steps, 1) + 1 != last_step)
		return;
	if (!pid)
		raise(SIGKILL);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

/* Replaces the C library's function, also for the library under test. */
ssize_t write(int fd, const void *data, size_t size)
{
	if (fd != STDERR_FILENO || !atomic_load(&tracing))
		return syscall(SYS_write, fd, data, size);
	if (atomic_load(&counting))
		step(data, size);
	return (ssize_t)size;
}

/* The commands of management, each once: an alias, and a service with one send, whose event is
 * fetched when the channel tells of it. */
static void mad_commands(al_h al, const struct test_end *end)
{
	const struct ib_mad mad = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
					     .mgmt_class = IB_CLASS_VENDOR_1_FIRST,
					     .class_version = 1,
					     .method = IB_METHOD_SEND } };
	struct al_mad_svc_init init = { .port_num = 1,
					.mgmt_class = IB_CLASS_VENDOR_1_FIRST,
					.class_version = 1 };
	const struct al_mad_send send = { .mad = &mad,
					  .length = sizeof(mad),
					  .remote_qpn = 1,
					  .remote_qkey = IB_QKEY_WELL_KNOWN,
					  .path = { .dlid = end->lid, .port_num = 1 } };
	struct al_channel_event told;
	struct al_mad_event event;
	struct ib_mad answer;
	struct pollfd readable = { .events = POLLIN };
	al_mad_svc_h svc;
	al_qp_h alias;

	ck_ok(al_get_spl_qp(end->ca, 1, IB_QPT_SMI, NULL, NULL, &alias));
	ck_ok(al_destroy_qp(alias, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_channel(al, NULL, &init.channel));
	ck_ok(al_channel_fd(init.channel, &readable.fd));
	ck_ok(al_reg_mad_svc(end->ca, &init, NULL, NULL, &svc));
	ck_ok(al_send_mad(svc, &send));
	ck_assert_int_eq(poll(&readable, 1, -1), 1);
	ck_ok(al_channel_next(init.channel, &told));
	ck_ok(al_mad_next(svc, NULL, 0, &event));
	ck_assert_int_eq(event.type, AL_MAD_SENT);
	/* the outcome came with its announcement; the next event is asked for */
	ck_status(al_mad_next(svc, NULL, 0, &event), AL_NOT_FOUND);
	ck_status(al_cancel_mad(svc, 1), AL_NOT_FOUND);
	/* in this subnet the agents are not in the Access Layer */
	ck_status(al_local_mad(end->ca, 1, &mad, &answer), AL_UNSUPPORTED);
	ck_ok(al_dereg_mad_svc(svc, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL));
}

/* Lets the agent serve the first port: the library's own objects there stay, and their steps do not
 * come again. */
static void serve_port(al_h al)
{
	const struct al_mad_svc_init init = { .port_num = 1,
					      .mgmt_class = IB_CLASS_VENDOR_1_FIRST,
					      .class_version = 1 };
	al_mad_svc_h svc;
	uint64_t guid;
	al_ca_h ca;

	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_reg_mad_svc(ca, &init, NULL, test_ignore_mad, &svc));
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
}

/* Sends every command of the table at least once. */
static void all_commands(void)
{
	const struct ib_port_modify port = { 0 };
	al_h al = agent_open();
	struct test_end end[2];
	struct ib_mr_attr mr;
	struct al_cq_attr cq;
	struct ib_ca_attr ca;
	struct al_mr_init init = { .length = 8192, .access = TEST_ALL_ACCESS };
	struct al_qp_init datagrams = { .qp_type = IB_QPT_UD, .cap = { 1, 1, 1, 1, 0 } };
	static const ib_gid group = { { 0xff, 0x12 } };
	al_qp_h member;
	uint8_t *own[2];
	struct ib_wc wc;
	al_mr_h more[2];
	uint16_t pkey;
	uint64_t dma;
	uint32_t n;
	ib_gid gid;

	test_make_pair(al, end);
	/* shared memory is not copied: posted requests complete at once, so the number of polls is
	 * the same each time */
	for (int i = 0; i < 2; i++) {
		ck_ok(al_dma_alloc_coherent(end[i].ca, 8192, &init.addr, &dma));
		ck_ok(al_reg_mr(end[i].pd, &init, NULL, &end[i].lkey, &end[i].rkey, &more[i]));
		own[i] = end[i].mem;
		end[i].mem = init.addr;
	}
	ck_ok(al_query_ca(end[0].ca, &ca));
	ck_ok(al_query_gid(end[0].ca, 1, 0, &gid));
	ck_ok(al_query_pkey(end[0].ca, 1, 0, &pkey));
	al_modify_ca(end[0].ca, IB_CA_MODIFY_NODE_DESC, &ca); /* the HCA may refuse it */
	al_modify_port(end[0].ca, 1, IB_PORT_MODIFY_RESET_QKEY_CNTR, &port);
	ck_ok(al_vendor_call(end[0].ca, SOFT_FAULT_CLEAR, NULL, 0, NULL, NULL));
	ck_ok(al_query_mr(end[0].mr, &mr));
	datagrams.send_cq = datagrams.recv_cq = end[0].cq;
	ck_ok(al_create_qp(end[0].pd, &datagrams, NULL, NULL, &member));
	ck_ok(al_attach_mcast(member, &group, 0xc001));
	ck_ok(al_attach_mcast(member, &group, 0xc002));
	ck_ok(al_detach_mcast(member, &group, 0xc001));
	ck_ok(al_destroy_qp(member, AL_DESTROY_SYNC, NULL));
	ck_ok(al_resize_cq(end[0].cq, &(uint32_t){ 300 }));
	ck_ok(al_modify_cq(end[0].cq, 1, 0));
	ck_ok(al_query_cq(end[0].cq, &cq));
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RTS);
	ck_ok(al_arm_cq(end[1].cq, AL_ARM_ANY, NULL));
	ck_ok(al_arm_cq_n(end[1].cq, 1));
	ck_ok(al_peek_cq(end[1].cq, 1, &n));
	ck_ok(test_post_recv(&end[1], 1, 0, 4096));
	ck_ok(test_post_send(&end[0], 2, 0, 4096));
	test_poll_ok(end[0].cq, 2);
	test_poll_ok(end[1].cq, 1);
	ck_ok(al_poll_cq(end[1].cq, 1, &wc, &n));
	mad_commands(al, &end[0]);
	test_count(al, AL_OBJ_NONE);
	ck_ok(al_destroy_qp(end[0].qp, AL_DESTROY_SYNC, NULL));
	for (int i = 0; i < 2; i++) {
		ck_ok(al_dereg_mr(more[i], AL_DESTROY_SYNC, NULL));
		ck_ok(al_dma_free_coherent(end[i].ca, 8192, end[i].mem, (uintptr_t)end[i].mem));
		end[i].mem = own[i];
		test_free_end(&end[i]);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* A client process that dies at one of its steps; if it does not die, it reports the number of its
 * steps. */
static void stepping_client(int fd)
{
	unsigned long long named;
	int count, at;

	hear(fd, &at, sizeof(at));
	atomic_store(&last_step, at);
	atomic_store(&tracing, true);
	atomic_store(&counting, true);
	all_commands();
	atomic_store(&counting, false);
	count = atomic_load(&steps);
	named = atomic_load(&seen);
	say(fd, &count, sizeof(count));
	say(fd, &named, sizeof(named));
}

/* Runs a client until its end, or until one of its own or of the agent's steps. False: the client
 * has reached its end. */
static bool dies_at(int own, int agents, int *count, unsigned long long *named)
{
	int fd[2], status;
	pid_t pid;

	two_ends(fd);
	pid = agent_client("stepping_client", fd[1]);
	close(fd[1]);
	atomic_store(&victim, pid);
	atomic_store(&last_step, agents);
	atomic_store(&steps, 0);
	atomic_store(&tracing, true);
	atomic_store(&counting, true);
	say(fd[0], &own, sizeof(own));
	status = wait_for(pid);
	if (!WIFSIGNALED(status)) {
		ck_assert_int_eq(status, 0);
		hear(fd[0], count, sizeof(*count));
		hear(fd[0], named, sizeof(*named));
	}
	close(fd[0]);
	return WIFSIGNALED(status);
}

START_TEST(a_client_may_die_at_every_step_of_every_command)
{
	const unsigned long long all = (1ull << AGENT_NUM_COMMANDS) - 1;
	struct ald_attr attr = { .mode = 0600, .config = "", .limits = ald_default_limits };
	struct estate before;
	unsigned long long named;
	int own, agents, count, deaths = 0;
	al_h al;

	ck_assert_ptr_nonnull(mkdtemp(agent_dir));
	snprintf(agent_socket, sizeof(agent_socket), "%s/ald.socket", agent_dir);
	attr.socket = agent_socket;
	agent_pid = getpid();
	setenv("IBAL_TRACE", "stderr", 1);
	ck_ok(ald_start(&attr));
	al = test_open(); /* an opening of this process, which has the agent's HCAs */
	serve_port(al);
	before = estate(al);

	ck_assert(!dies_at(0, 0, &own, &named));
	ck_assert_msg(named == all, "the client asked %#llx of the commands %#llx", named, all);
	ck_assert_msg(atomic_load(&seen) == all, "the agent heard %#llx of the commands %#llx", atomic_load(&seen), all);
	atomic_store(&counting, false);
	before = settled(al, before);
	agents = atomic_load(&steps);
	ck_assert_int_gt(own, 2 * AGENT_NUM_COMMANDS);
	ck_assert_int_gt(agents, AGENT_NUM_COMMANDS);

	for (int i = 1; i <= own; i += SLOW) {
		deaths += dies_at(i, 0, &count, &named);
		atomic_store(&counting, false);
		wait_until(al, &before);
	}
	ck_assert_int_ge(deaths, own / SLOW);
	deaths = 0;
	for (int i = 1; i <= agents; i += SLOW) {
		deaths += dies_at(0, i, &count, &named);
		atomic_store(&counting, false);
		wait_until(al, &before);
	}
	/* the agent's last steps come after the end of the session */
	ck_assert_msg(deaths > agents / SLOW * 9 / 10, "%d of %d steps of the agent", deaths, agents);
	printf("%d steps of the client and %d of the agent\n", own, agents);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ald_stop();
	rmdir(agent_dir);
}
END_TEST

/* -------------------------------------------------------- a stopped client */

/* A client process that is stopped while its peer writes to its memory, with notifications that it
 * does not read. */
static void sleeper(int fd)
{
	al_h al = agent_open();
	struct test_end end;
	uint64_t guids[2];
	char byte;

	test_guids(al, guids, 2);
	test_make_end(&end, al, guids[1], IB_QPT_RC);
	ck_ok(al_arm_cq(end.cq, AL_ARM_ANY, NULL));
	agent_connect(&end, fd, 0, 0);
	for (int i = 0; i < 64; i++)
		ck_ok(test_post_recv(&end, 9, 0, 0));
	say(fd, "", 1);
	hear(fd, &byte, 1);
	for (int i = 0; i < 64; i++)
		test_poll_ok(end.cq, 9);
	for (int i = 0; i < 4096; i++)
		ck_assert_int_eq(end.mem[i], 199);
	test_free_end(&end);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(a_client_that_stands_still_delays_no_other_client)
{
	struct test_end end, other[2];
	struct ib_port_attr port;
	struct address to;
	uint64_t guids[2];
	int fd[2], status;
	pid_t pid;
	char byte;
	al_h al;

	agent_start("--mode", "666");
	al = agent_open();
	test_guids(al, guids, 2);
	test_make_end(&end, al, guids[0], IB_QPT_RC);
	test_make_pair(al, other);
	two_ends(fd);
	pid = agent_client("sleeper", fd[1]);
	to = agent_connect(&end, fd[0], 0, 0);
	hear(fd[0], &byte, 1);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	for (int i = 0; i < 200; i++) {
		struct ib_sge sge = { (uintptr_t)end.mem, 4096, end.lkey };
		struct ib_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
					 .send_flags = IB_SEND_SIGNALED, .wr.rdma = { to.mem, to.rkey } };
		const struct ib_send_wr *bad;

		if (i < 64)
			wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		memset(end.mem, i, 4096);
		ck_ok(al_post_send(end.qp, &wr, &bad));
		test_poll_ok(end.cq, 1);
		/* objects that have nothing to do with the stopped client */
		ck_ok(al_query_port(end.ca, 1, &port));
		ck_ok(test_post_recv(&other[1], 3, 0, 64));
		ck_ok(test_post_send(&other[0], 4, 0, 64));
		test_poll_ok(other[0].cq, 4);
		test_poll_ok(other[1].cq, 3);
	}
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	say(fd[0], "", 1);
	ck_assert_int_eq(wait_for(pid), 0);
	test_free_end(&end);
	for (int i = 0; i < 2; i++)
		test_free_end(&other[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------------------ a thousand clients */

static sem_t told; /* of either queue */

static void tell(void *context)
{
	(void)context;
	sem_post(&told);
}

/* Waits for a completion without polling all the time. */
static void wait_ok(struct test_end *end, uint64_t wr_id)
{
	struct ib_wc wc;
	uint32_t count;
	bool present;

	for (;;) {
		ck_ok(al_poll_cq(end->cq, 1, &wc, &count));
		if (count)
			break;
		ck_ok(al_arm_cq(end->cq, AL_ARM_ANY, &present));
		if (!present)
			test_wait(&told);
	}
	ck_assert_msg(wc.status == IB_WC_SUCCESS, "completion in error: %s", al_wc_status_str(wc.status));
	ck_assert_uint_eq(wc.wr_id, wr_id);
}

/* A client process that transfers, waits until all clients are there, and ends. */
static void one_of_many(int fd)
{
	al_h al = agent_open();
	struct test_end end[2];
	uint64_t guids[2];
	char byte;

	test_guids(al, guids, 2);
	sem_init(&told, 0, 0);
	for (int i = 0; i < 2; i++)
		test_make_end_told(&end[i], al, guids[i], IB_QPT_RC, tell);
	test_connect(&end[0], &end[1]);
	for (uint32_t i = 0; i < 10; i++) {
		memset(end[0].mem, (int)(getpid() + i), 4096);
		ck_ok(test_post_recv(&end[1], 1, 0, 4096));
		ck_ok(test_post_send(&end[0], 2, 0, 4096));
		wait_ok(&end[0], 2);
		wait_ok(&end[1], 1);
		ck_assert_mem_eq(end[1].mem, end[0].mem, 4096);
	}
	say(fd, "", 1);
	hear(fd, &byte, 1);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

#define MANY (1000 / (5 * SLOW - 4))

static void come_and_go(al_h al, size_t num)
{
	static pid_t pid[MANY];
	static int fd[MANY];
	int ends[2];
	char byte;

	for (size_t i = 0; i < num; i++) {
		two_ends(ends);
		pid[i] = agent_client("one_of_many", ends[1]);
		close(ends[1]);
		fd[i] = ends[0];
	}
	for (size_t i = 0; i < num; i++)
		hear(fd[i], &byte, 1);
	ck_assert_uint_eq(test_count(al, AL_OBJ_QP), 2 * num); /* the objects of all clients */
	for (size_t i = 0; i < num; i++)
		say(fd[i], "", 1);
	for (size_t i = 0; i < num; i++) {
		ck_assert_int_eq(wait_for(pid[i]), 0);
		close(fd[i]);
	}
}

static void a_thousand(const char *providers)
{
	struct estate before;
	al_h al;

	ck_assert(!setenv("IBAL_UVP_PATH", providers, 1));
	agent_start("--mode", "666");
	al = agent_open();
	test_count(al, AL_OBJ_NONE);
	before = estate(al);
	come_and_go(al, 1);
	before = settled(al, before);
	come_and_go(al, MANY);
	wait_until(al, &before);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}

START_TEST(a_thousand_clients_at_once)
{
	a_thousand("");
}
END_TEST

START_TEST(a_thousand_clients_at_once_with_a_provider)
{
	a_thousand(UVP_DIR);
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = {
		{ "busy_client", busy_client },
		{ "bystander", bystander },
		{ "stepping_client", stepping_client },
		{ "sleeper", sleeper },
		{ "one_of_many", one_of_many },
		{ NULL, NULL },
	};
	Suite *suite;
	TCase *tcase;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent: death of clients");
	tcase = tcase_create("death");
	tcase_set_timeout(tcase, 600); /* Check scales it */
	tcase_add_test(tcase,
		       clients_killed_at_any_moment_leave_nothing_and_disturb_no_other_client);
	tcase_add_test(tcase, a_client_may_die_at_every_step_of_every_command);
	tcase_add_test(tcase, a_client_that_stands_still_delays_no_other_client);
	tcase_add_test(tcase, a_thousand_clients_at_once);
	tcase_add_test(tcase, a_thousand_clients_at_once_with_a_provider);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
