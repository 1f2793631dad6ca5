/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Processes that share an agent's HCAs: transfers between the processes, the agent's death, limits,
 * rights. */
#include "test/e2e/agent.h"

#include <pthread.h>
#include <stdatomic.h>

#include <iba/ib_soft.h>

/* Each test runs with the software HCA's provider and without: a client sees no difference. */
static void set_up(void)
{
	agent_start("--mode", "666");
}

static void set_up_provider(void)
{
	ck_assert(!setenv("IBAL_UVP_PATH", UVP_DIR, 1));
	set_up();
}

/* ---------------------------------------------------------------- transfers */

static uint8_t pattern(uint32_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

static void writer(int fd)
{
	al_h al = agent_open();
	struct test_end end;
	struct address to;
	uint64_t guids[2];
	struct ib_sge sge;
	struct ib_send_wr wr[3] = { 0 };
	const struct ib_send_wr *bad;
	char done;

	test_guids(al, guids, 2);
	test_make_end(&end, al, guids[0], IB_QPT_RC);
	to = agent_connect(&end, fd, 0, 0);
	for (uint32_t i = 0; i < TEST_MEM; i++)
		end.mem[i] = pattern(i);
	sge = (struct ib_sge){ (uintptr_t)end.mem, TEST_MEM - 16, end.lkey };
	wr[0] = (struct ib_send_wr){ .next = &wr[1], .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				     .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
				     .wr.rdma = { to.mem, to.rkey } };
	wr[1] = (struct ib_send_wr){ .next = &wr[2], .wr_id = 2, .sg_list = &(struct ib_sge){ (uintptr_t)end.mem, 8, end.lkey },
				     .num_sge = 1, .opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IB_SEND_SIGNALED,
				     .wr.atomic = { .remote_addr = to.mem + TEST_MEM - 16, .compare_add = 5, .rkey = to.rkey } };
	wr[2] = (struct ib_send_wr){ .wr_id = 3, .sg_list = &(struct ib_sge){ (uintptr_t)"eight by", 8, 0 }, .num_sge = 1,
				     .opcode = IB_WR_SEND_WITH_IMM, .send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
				     .ex.imm_data = 0x12345678 };
	ck_ok(al_post_send(end.qp, wr, &bad));
	for (uint64_t id = 1; id <= 3; id++)
		ck_assert_ptr_eq(test_poll_ok(end.cq, id).qp_context, &end);
	ck_assert_uint_eq(*(uint64_t *)end.mem, 37); /* the value before the addition of 5 */
	hear(fd, &done, 1);
	test_free_end(&end);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void reader(int fd)
{
	al_h al = agent_open();
	struct test_end end;
	uint64_t guids[2], *counter;
	struct ib_wc wc;

	test_guids(al, guids, 2);
	test_make_end(&end, al, guids[1], IB_QPT_RC);
	counter = (uint64_t *)(end.mem + TEST_MEM - 16);
	*counter = 37;
	agent_connect(&end, fd, TEST_MEM - 8, 8);
	wc = test_poll_ok(end.cq, 9);
	ck_assert_uint_eq(wc.imm_data, 0x12345678);
	ck_assert_uint_eq(wc.byte_len, 8);
	ck_assert_mem_eq(end.mem + TEST_MEM - 8, "eight by", 8);
	ck_assert_uint_eq(*counter, 42);
	for (uint32_t i = 0; i < TEST_MEM - 16; i++)
		ck_assert_uint_eq(end.mem[i], pattern(i));
	say(fd, "", 1);
	test_free_end(&end);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(two_processes_transfer_byte_for_byte)
{
	pid_t pid[2];
	int fd[2];

	two_ends(fd);
	pid[0] = agent_client("writer", fd[0]);
	pid[1] = agent_client("reader", fd[1]);
	close(fd[0]);
	close(fd[1]);
	ck_assert_int_eq(wait_for(pid[0]), 0);
	ck_assert_int_eq(wait_for(pid[1]), 0);
	agent_kill(SIGTERM);
	ck_assert_int_ne(access(agent_socket, F_OK), 0);
	agent_stop();
}
END_TEST

/* ---------------------------------------------------------------- callbacks */

struct pinger {
	struct test_end *end;
	sem_t done;
	int left;
	al_status status;
};

/* Calls every atomic verb of the data path from the callback: each is a request to the agent. */
static void on_completion(void *context)
{
	struct pinger *p = context;
	struct ib_wc wc;
	uint32_t count = 0;
	al_status status;

	do {
		status = al_poll_cq(p->end->cq, 1, &wc, &count);
		if (!status && count && wc.opcode == IB_WC_RECV && p->left-- > 0) {
			status = test_post_recv(p->end, 1, 0, 8);
			if (!status)
				status = test_post_send(p->end, 2, 16, 8);
		}
	} while (!status && count);
	if (!status)
		status = al_arm_cq(p->end->cq, AL_ARM_ANY, NULL);
	if (status)
		p->status = status;
	if (status || p->left <= 0)
		sem_post(&p->done);
}

START_TEST(a_callback_polls_posts_and_arms)
{
	struct pinger p = { .left = 20 };
	struct al_cq_init init = { .cqe = 64 };
	struct al_qp_init qp = { .qp_type = IB_QPT_RC, .cap = { 64, 64, 4, 4, 0 } };
	struct test_end end[2];
	al_h al = agent_open();
	uint64_t guids[2];

	sem_init(&p.done, 0, 0);
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		test_make_end(&end[i], al, guids[i], IB_QPT_RC);
	/* the second answers from its callback; the first is polled */
	ck_ok(al_destroy_qp(end[1].qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(end[1].cq, AL_DESTROY_SYNC, NULL));
	p.end = &end[1];
	ck_ok(al_create_cq(end[1].pd, &init, &p, on_completion, NULL, &end[1].cq));
	qp.send_cq = qp.recv_cq = end[1].cq;
	ck_ok(al_create_qp(end[1].pd, &qp, &end[1], NULL, &end[1].qp));
	ck_ok(al_qp_num(end[1].qp, &end[1].qpn));
	ck_ok(al_arm_cq(end[1].cq, AL_ARM_ANY, NULL));
	test_connect(&end[0], &end[1]);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	for (int i = 0; i < 20; i++) {
		ck_ok(test_post_recv(&end[0], 100, 0, 8));
		ck_ok(test_post_send(&end[0], 200, 16, 8));
		for (int j = 0; j < 2; j++)
			ck_assert_int_eq(test_poll(end[0].cq).status, IB_WC_SUCCESS);
	}
	test_wait(&p.done);
	ck_ok(p.status);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------------- death */

struct fatal {
	sem_t sem;
	atomic_int count;
};

static void on_event(void *context, const struct al_event *event)
{
	struct fatal *fatal = context;

	if (event->type == IB_EVENT_DEVICE_FATAL) {
		fatal->count++;
		sem_post(&fatal->sem);
	}
}

/* With a provider posts and polls send no request: the client learns of the agent's end when its
 * HCAs are removed. */
#define ck_lost(expr)                                                                                  \
	do {                                                                                           \
		struct timespec limit = test_deadline();                                               \
		while (!(status = (expr)))                                                             \
			ck_assert_msg(!test_expired(&limit), "%s still succeeds", #expr);              \
		ck_status(status, AL_AGENT_LOST);                                                      \
	} while (0)

START_TEST(an_agent_that_dies_is_told_of_and_the_next_one_serves)
{
	struct fatal fatal = { .count = 0 };
	struct ib_port_attr port;
	al_event_handler_h handler;
	struct test_end end[2];
	al_h al = agent_open(), next;
	struct timespec deadline;
	struct ib_wc wc;
	uint32_t count;
	al_pd_h pd;
	al_status status;

	al_set_log(test_ignore_log, NULL);
	sem_init(&fatal.sem, 0, 0);
	test_make_pair(al, end);
	ck_ok(al_reg_event_handler(end[0].ca, NULL, &fatal, on_event, &handler));
	agent_kill(SIGKILL);
	ck_status(al_query_port(end[0].ca, 1, &port), AL_AGENT_LOST);
	ck_lost(al_poll_cq(end[0].cq, 1, &wc, &count));
	ck_status(al_alloc_pd(end[1].ca, NULL, &pd), AL_AGENT_LOST);
	ck_lost(test_post_send(&end[0], 1, 0, 8));
	ck_lost(al_arm_cq(end[1].cq, AL_ARM_ANY, NULL));
	test_wait(&fatal.sem);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_assert_int_eq(fatal.count, 1);
	agent_start(NULL, NULL);
	/* al_open() may use the old connection until the library has noticed the agent's end */
	deadline = test_deadline();
	do {
		const struct al_open_attr attr = { .agent = agent_socket, .config = "" };

		status = al_open(&attr, &next);
		ck_assert(!test_expired(&deadline));
	} while (status);
	test_make_pair(next, end);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	ck_ok(test_post_send(&end[0], 2, 0, 8));
	test_poll_ok(end[1].cq, 1);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(next, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* --------------------------------------------------------------------- PnP */

struct seen {
	sem_t added, removed, down, active;
};

static void seen_init(struct seen *seen)
{
	sem_init(&seen->added, 0, 0);
	sem_init(&seen->removed, 0, 0);
	sem_init(&seen->down, 0, 0);
	sem_init(&seen->active, 0, 0);
}

static al_status on_pnp(void *context, const struct al_pnp_event *event)
{
	struct seen *seen = context;
	sem_t *sem = event->type == AL_PNP_CA_ADD      ? &seen->added
		     : event->type == AL_PNP_CA_REMOVE ? &seen->removed
		     : event->type == AL_PNP_PORT_DOWN ? &seen->down
		     : event->type == AL_PNP_PORT_ACTIVE ? &seen->active
							 : NULL;

	if (sem)
		sem_post(sem);
	return AL_SUCCESS;
}

START_TEST(ports_and_hcas_come_and_go_as_in_the_agent)
{
	const struct al_pnp_attr attr = { .ports = true };
	uint32_t one = 1, none = 0;
	struct ib_port_attr port;
	struct test_end end[2];
	al_h al = agent_open();
	struct seen seen;
	al_pnp_h pnp;

	seen_init(&seen);
	ck_ok(al_reg_pnp(al, &attr, &seen, on_pnp, &pnp));
	for (int i = 0; i < 2; i++) {
		test_wait(&seen.added);
		test_wait(&seen.active);
	}
	test_make_pair(al, end);
	ck_ok(al_vendor_call(end[0].ca, SOFT_PORT_DOWN, &one, sizeof(one), NULL, NULL));
	test_wait(&seen.down);
	test_wait(&seen.down); /* the peer's port goes down too */
	ck_ok(al_vendor_call(end[0].ca, SOFT_PORT_UP, &one, sizeof(one), NULL, NULL));
	test_wait(&seen.active);
	test_wait(&seen.active);
	/* the agent destroys the objects on the HCA; the client's handles stay, without an
	 * object */
	ck_ok(al_vendor_call(end[0].ca, SOFT_REMOVE, &none, sizeof(none), NULL, NULL));
	test_wait(&seen.removed);
	ck_status(al_query_port(end[0].ca, 1, &port), AL_CA_REMOVED);
	ck_ok(al_query_port(end[1].ca, 1, &port));
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

static int hangs_fd;

static al_status hang(void *context, const struct al_pnp_event *event)
{
	(void)context;
	if (event->type != AL_PNP_PORT_DOWN)
		return AL_SUCCESS;
	say(hangs_fd, "", 1);
	for (;;)
		pause();
}

/* A client whose PnP callback does not return from the first port event. */
static void hanger(int fd)
{
	const struct al_pnp_attr attr = { .ports = true };
	al_h al = agent_open();
	al_pnp_h pnp;

	hangs_fd = fd;
	ck_ok(al_reg_pnp(al, &attr, NULL, hang, &pnp));
	say(fd, "", 1);
	for (;;)
		pause();
}

/* One client hangs in its callback, another is stopped: a third one hears of everything, and the
 * HCA goes. */
START_TEST(clients_that_hang_delay_no_other_clients_pnp)
{
	const struct al_pnp_attr attr = { .ports = true };
	uint32_t one = 1, none = 0;
	al_h al = agent_open();
	struct seen seen;
	uint64_t guids[2];
	pid_t pid[2];
	al_pnp_h pnp;
	int fd[2][2];
	al_ca_h ca;
	char byte;

	seen_init(&seen);
	for (int i = 0; i < 2; i++) {
		two_ends(fd[i]);
		pid[i] = agent_client("hanger", fd[i][1]);
		hear(fd[i][0], &byte, 1);
	}
	ck_assert_int_eq(kill(pid[1], SIGSTOP), 0);
	ck_ok(al_reg_pnp(al, &attr, &seen, on_pnp, &pnp));
	test_guids(al, guids, 2);
	ca = test_open_ca(al, guids[0]);
	for (int i = 0; i < 2; i++)
		test_wait(&seen.active);
	for (int i = 0; i < 20; i++) {
		ck_ok(al_vendor_call(ca, SOFT_PORT_DOWN, &one, sizeof(one), NULL, NULL));
		test_wait(&seen.down);
		test_wait(&seen.down);
		if (!i)
			hear(fd[0][0], &byte, 1);
		ck_ok(al_vendor_call(ca, SOFT_PORT_UP, &one, sizeof(one), NULL, NULL));
		test_wait(&seen.active);
		test_wait(&seen.active);
	}
	ck_ok(al_vendor_call(ca, SOFT_REMOVE, &none, sizeof(none), NULL, NULL));
	test_wait(&seen.removed);
	for (int i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		ck_assert_int_ne(wait_for(pid[i]), 0);
	}
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* -------------------------------------------------------------- openings that fail */

static int own_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

START_TEST(a_lost_agent_leaves_no_descriptor)
{
	struct timespec deadline = test_deadline();
	int fds = own_fds();

	for (int i = 0; i < 3; i++) {
		al_h al = agent_open();
		struct test_end end[2];

		test_make_pair(al, end);
		agent_kill(SIGKILL);
		ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
		free(end[0].mem);
		free(end[1].mem);
		while (own_fds() != fds) /* a thread closes the descriptors after it has noticed the agent's end */
			ck_assert_msg(!test_expired(&deadline), "%d descriptors are left", own_fds() - fds);
		agent_start(NULL, NULL);
	}
	agent_stop();
}
END_TEST

/* The creation of a thread with this number from now on fails; 0: none fails. */
static atomic_uint creations_left;

/* Replaces libc's function: this program's symbols precede those of its libraries. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main_function)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
												"pthread_create");
	return creations_left && !--creations_left ? EAGAIN : real(thread, attr, main_function, arg);
}

/* The library starts two threads, and a connection two. If an HCA's thread can not be started, only
 * that HCA is missing. */
START_TEST(without_a_thread_the_opening_fails_and_the_next_one_serves)
{
	struct al_open_attr attr = { .agent = agent_socket, .config = "" };
	uint64_t guids[2];
	al_h al;

	al_set_log(test_ignore_log, NULL);
	creations_left = (unsigned int)_i + 1;
	ck_status(al_open(&attr, &al), AL_INSUFFICIENT_RESOURCES);
	ck_assert_uint_eq(creations_left, 0);
	ck_ok(al_open(&attr, &al));
	test_guids(al, guids, 2);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(a_path_that_is_too_long_for_a_socket_is_refused)
{
	char path[300];
	struct al_open_attr attr = { .agent = path, .config = "" };
	al_h al;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	ck_status(al_open(&attr, &al), AL_INVALID_PARAMETER);
	agent_stop();
}
END_TEST

/* ------------------------------------------------------------ limits, rights */

START_TEST(a_client_has_its_limits_and_gets_room_back)
{
	uint64_t guid;
	al_pd_h pd[4];
	al_ca_h ca;
	al_h al;

	agent_start("--max-objects", "3");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	for (int i = 0; i < 3; i++)
		ck_ok(al_alloc_pd(ca, NULL, &pd[i]));
	ck_status(al_alloc_pd(ca, NULL, &pd[3]), AL_LIMIT_EXCEEDED);
	ck_ok(al_dealloc_pd(pd[1], AL_DESTROY_SYNC, NULL));
	ck_ok(al_alloc_pd(ca, NULL, &pd[3]));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(registered_memory_is_charged)
{
	static char mem[8192];
	struct al_mr_init init = { .addr = mem, .length = 4096 };
	uint32_t lkey, rkey;
	uint64_t guid;
	al_mr_h mr;
	al_pd_h pd;
	al_ca_h ca;
	al_h al;

	agent_start("--max-bytes", "8191");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_LIMIT_EXCEEDED);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	init.length = 8192;
	ck_status(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr), AL_LIMIT_EXCEEDED);
	init.length = 8191;
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* After a refusal by the agent's limit the HCA's maximum is not written back. */
START_TEST(queues_are_charged)
{
	struct al_cq_init cq_init = { .cqe = 1000 };
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 1 << 15, 1 << 15, 32, 32, 1024 } };
	uint64_t guid;
	al_cq_h cq[2];
	al_qp_h qp;
	al_pd_h pd;
	al_ca_h ca;
	al_h al;

	agent_start("--max-rings", "100000");
	al = agent_open();
	test_guids(al, &guid, 1);
	ca = test_open_ca(al, guid);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq[0]));
	ck_status(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq[1]), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(cq_init.cqe, 1000);
	init.send_cq = init.recv_cq = cq[0];
	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(init.cap.max_send_wr, 1 << 15);
	ck_ok(al_destroy_cq(cq[0], AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq[1]));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(memory_that_goes_away_is_an_error_completion)
{
	struct test_end end[2];
	al_h al = agent_open();
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct al_mr_init init = { .addr = page, .length = 4096, .access = IB_ACCESS_LOCAL_WRITE };
	struct ib_sge sge = { (uintptr_t)page, 8, 0 };
	struct ib_send_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
				 .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;
	uint32_t rkey;
	al_mr_h mr;

	test_make_pair(al, end);
	ck_ok(al_reg_mr(end[0].pd, &init, NULL, &sge.lkey, &rkey, &mr));
	ck_assert_int_eq(munmap(page, 4096), 0);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	ck_ok(al_post_send(end[0].qp, &wr, &bad));
	ck_assert_int_eq(test_poll(end[0].cq).status, IB_WC_LOC_PROT_ERR);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* A program of another user sees only the objects of its own user, and may not manage the agent. */
static void foreigner(int fd)
{
	struct al_snapshot *snap;
	struct test_end end[2];
	uint32_t one = 1;
	al_h al;

	(void)fd;
	al = agent_open_as_another_user();
	test_make_pair(al, end);
	ck_ok(test_post_recv(&end[1], 1, 0, 8));
	ck_ok(test_post_send(&end[0], 2, 0, 8));
	test_poll_ok(end[1].cq, 1);
	ck_status(al_vendor_call(end[0].ca, SOFT_PORT_DOWN, &one, sizeof(one), NULL, NULL), AL_PERMISSION);
	ck_status(al_modify_port(end[0].ca, 1, IB_PORT_MODIFY_SHUTDOWN, &(struct ib_port_modify){ 0 }), AL_PERMISSION);
	ck_ok(al_snapshot(al, &snap));
	ck_assert_uint_gt(snap->num_objects, 0);
	for (size_t i = 0; i < snap->num_objects; i++)
		ck_assert_int_eq(snap->objects[i].pid, getpid());
	al_free_snapshot(snap);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	for (int i = 0; i < 2; i++)
		free(end[i].mem);
}

START_TEST(another_user_sees_his_own_and_manages_nothing)
{
	al_h al = agent_open();
	struct test_end end[2];

	if (geteuid()) {
		printf("SKIP another_user_sees_his_own_and_manages_nothing: needs root to become another user\n");
	} else {
		test_make_pair(al, end);
		ck_assert_int_eq(wait_for(agent_client("foreigner", -1)), 0);
		for (int i = 0; i < 2; i++)
			test_free_end(&end[i]);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* The numbers and keys of a connected pair, which an attacker might guess. */
struct secret {
	uint64_t mem;
	uint32_t qpn[2], lkey, rkey;
	uint16_t lid[2];
};

static ib_wc_status intrude(al_h al, const struct secret *s, ib_wr_opcode opcode, bool with_his_lkey, int to)
{
	struct test_end end[2];
	struct ib_sge sge = { 0, 8, 0 };
	struct ib_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
				 .send_flags = IB_SEND_SIGNALED };
	struct ib_qp_attr attr;
	const struct ib_send_wr *bad;
	ib_wc_status status;
	uint64_t guids[2];

	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		test_make_end(&end[i], al, guids[i], IB_QPT_RC);
	if (to < 0) {
		test_connect(&end[0], &end[1]);
		ck_ok(test_post_recv(&end[1], 2, 0, 8));
	} else { /* the attacker connects as if it were the victim's peer; the pair's ends are on the two HCAs in order */
		attr = test_attr(s->lid[to], s->qpn[to], end[!to].mtu);
		attr.timeout = 8;
		attr.retry_cnt = 2;
		ck_ok(test_modify(end[!to].qp, IB_QPS_INIT, attr, TEST_RC_INIT));
		ck_ok(test_modify(end[!to].qp, IB_QPS_RTR, attr, TEST_RC_RTR));
		ck_ok(test_modify(end[!to].qp, IB_QPS_RTS, attr, TEST_RC_RTS));
	}
	sge.addr = with_his_lkey ? s->mem : (uintptr_t)end[to == 0].mem;
	sge.lkey = with_his_lkey ? s->lkey : end[to == 0].lkey;
	if (opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.atomic = (typeof(wr.wr.atomic)){ .remote_addr = s->mem, .compare_add = 1, .rkey = s->rkey };
	else if (opcode != IB_WR_SEND)
		wr.wr.rdma = (typeof(wr.wr.rdma)){ s->mem, s->rkey };
	memset(end[to == 0].mem, 0xee, 8);
	ck_ok(al_post_send(end[to == 0].qp, &wr, &bad));
	status = test_poll(end[to == 0].cq).status;
	for (int k = 0; k < 8; k++)
		ck_assert_int_eq(end[to == 0].mem[k], 0xee); /* the attacker has read no byte */
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	return status;
}

/* The attacker knows every number and key, and reaches no memory. */
static void intruder(int fd)
{
	static const ib_wr_opcode with_rkey[] = { IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_ATOMIC_FETCH_AND_ADD };
	al_h al = agent_open_as_another_user();
	struct secret s;

	hear(fd, &s, sizeof(s));
	ck_assert_int_eq(intrude(al, &s, IB_WR_SEND, true, -1), IB_WC_LOC_PROT_ERR);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(intrude(al, &s, with_rkey[i], false, -1), IB_WC_REM_ACCESS_ERR);
	for (int to = 0; to < 2; to++) {
		ck_assert_int_eq(intrude(al, &s, IB_WR_SEND, false, to), IB_WC_RETRY_EXC_ERR);
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(intrude(al, &s, with_rkey[i], false, to), IB_WC_RETRY_EXC_ERR);
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(another_users_numbers_and_keys_open_nothing)
{
	al_h al = agent_open();
	struct test_end end[2];
	struct secret s;
	int fd[2];
	pid_t pid;

	if (geteuid()) {
		printf("SKIP another_users_numbers_and_keys_open_nothing: needs root to become another user\n");
	} else {
		test_make_pair(al, end);
		memset(end[1].mem, 0x5a, TEST_MEM);
		ck_ok(test_post_recv(&end[0], 3, 0, 8));
		ck_ok(test_post_recv(&end[1], 4, 64, 8));
		s = (struct secret){ .mem = (uintptr_t)end[1].mem, .lkey = end[1].lkey, .rkey = end[1].rkey };
		for (int i = 0; i < 2; i++) {
			s.qpn[i] = end[i].qpn;
			s.lid[i] = end[i].lid;
		}
		two_ends(fd);
		pid = agent_client("intruder", fd[1]);
		say(fd[0], &s, sizeof(s));
		ck_assert_int_eq(wait_for(pid), 0);
		for (uint32_t k = 0; k < TEST_MEM; k++)
			ck_assert_int_eq(end[1].mem[k], 0x5a);
		/* the connection still works */
		ck_ok(test_post_send(&end[0], 5, 128, 8));
		test_poll_ok(end[0].cq, 5);
		test_poll_ok(end[1].cq, 4);
		ck_assert_mem_eq(end[1].mem + 64, end[0].mem + 128, 8);
		ck_ok(test_post_send(&end[1], 6, 0, 8));
		test_poll_ok(end[1].cq, 6);
		test_poll_ok(end[0].cq, 3);
		for (int i = 0; i < 2; i++) {
			test_free_end(&end[i]);
			close(fd[i]);
		}
	}
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = {
		{ "writer", writer },     { "reader", reader }, { "foreigner", foreigner },
		{ "intruder", intruder }, { "hanger", hanger }, { NULL, NULL },
	};
	Suite *suite;
	TCase *tcase, *limited;

	agent_be_client(argc, argv, clients);
	suite = suite_create("e2e/agent");
	for (int with = 0; with < 2; with++) {
		tcase = tcase_create(with ? "clients with a provider" : "clients");
		tcase_add_checked_fixture(tcase, with ? set_up_provider : set_up, NULL);
		tcase_add_test(tcase, two_processes_transfer_byte_for_byte);
		tcase_add_test(tcase, a_callback_polls_posts_and_arms);
		tcase_add_test(tcase, an_agent_that_dies_is_told_of_and_the_next_one_serves);
		tcase_add_test(tcase, ports_and_hcas_come_and_go_as_in_the_agent);
		tcase_add_test(tcase, clients_that_hang_delay_no_other_clients_pnp);
		tcase_add_test(tcase, memory_that_goes_away_is_an_error_completion);
		tcase_add_test(tcase, a_lost_agent_leaves_no_descriptor);
		tcase_add_loop_test(tcase, without_a_thread_the_opening_fails_and_the_next_one_serves, 0, 4);
		tcase_add_test(tcase, a_path_that_is_too_long_for_a_socket_is_refused);
		tcase_add_test(tcase, another_user_sees_his_own_and_manages_nothing);
		tcase_add_test(tcase, another_users_numbers_and_keys_open_nothing);
		suite_add_tcase(suite, tcase);
	}
	limited = tcase_create("limits");
	tcase_add_test(limited, a_client_has_its_limits_and_gets_room_back);
	tcase_add_test(limited, registered_memory_is_charged);
	tcase_add_test(limited, queues_are_charged);
	suite_add_tcase(suite, limited);
	return test_run(suite);
}
