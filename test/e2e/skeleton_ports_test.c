/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hca/skeleton moves data between its two ports, for a program that has the module in its own process and for the client
 * of an agent; and its upcalls end with their objects.
 */
#include "test/e2e/agent.h"

#include <iba/ib_hca.h>

#include <pthread.h>
#include <stdatomic.h>

#define GUID   0x0200005ce1e70001ULL
#define MEM    131072u /* bytes of an end's region, the first half to send from, the second to receive in */
#define HALF   (MEM / 2)
#define MOST   65536u /* the HCA's longest message */
#define ROUNDS 300

/* One end of a connection. */
struct end {
	al_pd_h pd;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;
	uint8_t *mem; /* that requests name: own, but in a test that names other memory */
	uint8_t *own;
	uint32_t lkey, qpn;
	uint8_t port;
	atomic_bool gone; /* the completion queue has been destroyed: no callback may come */
	sem_t notified;
};

static al_h al;
static al_ca_h ca;
static struct end ends[2];
static atomic_uint late; /* callbacks after the destroy of their completion queue */

static void on_completion(void *context)
{
	struct end *end = context;

	if (end->gone)
		late++;
	sem_post(&end->notified);
}

static void make_queues(struct end *end, uint32_t cqe)
{
	struct al_cq_init cq = { .cqe = cqe };
	struct al_qp_init qp = { .qp_type = IB_QPT_RC,
				 .cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1 } };

	end->gone = false;
	ck_ok(al_create_cq(end->pd, &cq, end, on_completion, NULL, &end->cq));
	qp.send_cq = qp.recv_cq = end->cq;
	ck_ok(al_create_qp(end->pd, &qp, end, NULL, &end->qp));
	ck_ok(al_qp_num(end->qp, &end->qpn));
}

/* Memory that an agent can reach, too. */
static void make_end(struct end *end, uint8_t port)
{
	struct al_mr_init mr = { .length = MEM, .access = IB_ACCESS_LOCAL_WRITE };
	void *mem;
	uint64_t dma;
	uint32_t rkey;

	end->port = port;
	sem_init(&end->notified, 0, 0);
	ck_ok(al_alloc_pd(ca, NULL, &end->pd));
	ck_ok(al_dma_alloc_coherent(ca, MEM, &mem, &dma));
	mr.addr = end->mem = end->own = mem;
	ck_ok(al_reg_mr(end->pd, &mr, NULL, &end->lkey, &rkey, &end->mr));
	make_queues(end, 256);
}

static uint8_t rnr_retry = 7;

static void connect_end(const struct end *end, const struct end *peer)
{
	struct ib_qp_attr attr = test_attr(peer->port, peer->qpn, IB_MTU_4096);

	attr.port_num = attr.ah_attr.port_num = end->port;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 0;
	attr.rnr_retry = rnr_retry;
	ck_ok(test_modify(end->qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(end->qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	ck_ok(test_modify(end->qp, IB_QPS_RTS, attr, TEST_RC_RTS));
}

static void connect_ends(void)
{
	connect_end(&ends[0], &ends[1]);
	connect_end(&ends[1], &ends[0]);
}

static void open_hca(bool by_agent)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/hca/skeleton/.libs", getenv("top_builddir"));
	ck_assert(!setenv("IBAL_MODULE_PATH", path, 1));
	if (by_agent)
		agent_start(NULL, NULL);
	al = by_agent ? agent_open() : test_open_owner();
	ca = test_open_ca(al, GUID);
}

static void close_hca(void)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}

static void set_up(bool by_agent)
{
	open_hca(by_agent);
	make_end(&ends[0], 1);
	make_end(&ends[1], 2);
	connect_ends();
}

static al_status post_send(struct end *end, uint64_t wr_id, uint32_t length, uint32_t flags)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->mem, .length = length, .lkey = end->lkey };
	struct ib_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = length > 0, .send_flags = flags };

	return al_post_send(end->qp, &wr, NULL);
}

static al_status post_receive(struct end *end, uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->mem + HALF, .length = length, .lkey = end->lkey };
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = length > 0 };

	return al_post_recv(end->qp, &wr, NULL);
}

static struct ib_wc next(struct end *end)
{
	struct timespec deadline = test_deadline();
	struct ib_wc wc;
	uint32_t count;

	do {
		ck_assert_msg(!test_expired(&deadline), "there is no completion");
		ck_ok(al_poll_cq(end->cq, 1, &wc, &count));
	} while (!count);
	return wc;
}

static void expect(struct end *end, uint64_t wr_id, ib_wc_status status)
{
	const struct ib_wc wc = next(end);

	ck_assert_uint_eq(wc.wr_id, wr_id);
	ck_assert_msg(wc.status == status, "request %u: %s, not %s", (unsigned int)wr_id, al_wc_status_str(wc.status),
		      al_wc_status_str(status));
	ck_assert_uint_eq(wc.qp_num, end->qpn);
	ck_assert_ptr_eq(wc.qp_context, end);
}

static void expect_none(struct end *end)
{
	struct ib_wc wc;
	uint32_t count;

	ck_ok(al_poll_cq(end->cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
}

/* _i of each test: 0 with the module in this process, 1 through an agent. */

START_TEST(messages_cross_the_cable_both_ways)
{
	static const uint32_t lengths[] = { 0, 1, 4096, HALF };

	set_up(_i);
	for (int from = 0; from < 2; from++) {
		struct end *a = &ends[from], *b = &ends[!from];

		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			struct ib_wc wc;

			memset(b->mem + HALF, 0, HALF);
			for (uint32_t at = 0; at < HALF; at++)
				a->mem[at] = (uint8_t)(at * 7 + at / 251 + i);
			ck_ok(post_receive(b, 10, HALF));
			ck_ok(al_arm_cq(b->cq, AL_ARM_SOLICITED, NULL));
			ck_ok(post_send(a, 20, lengths[i], IB_SEND_SIGNALED | IB_SEND_SOLICITED));
			test_wait(&b->notified);
			wc = next(b);
			ck_assert_uint_eq(wc.wr_id, 10);
			ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
			ck_assert_int_eq(wc.opcode, IB_WC_RECV);
			ck_assert_uint_eq(wc.byte_len, lengths[i]);
			ck_assert_uint_eq(wc.wc_flags, IB_WC_SOLICITED);
			expect(a, 20, IB_WC_SUCCESS);
			ck_assert(!memcmp(a->mem, b->mem + HALF, lengths[i]));
			ck_assert(lengths[i] == HALF || !b->mem[HALF + lengths[i]]);
		}
	}
	close_hca();
}
END_TEST

START_TEST(requests_of_one_queue_keep_their_order)
{
	set_up(_i);
	for (uint64_t i = 0; i < 64; i++)
		ck_ok(post_send(&ends[0], i, 4, i % 8 == 7 ? IB_SEND_SIGNALED : 0));
	ck_status(post_send(&ends[0], 64, 4, 0), AL_QUEUE_FULL);
	expect_none(&ends[0]); /* without a receive a send waits */
	for (uint64_t i = 0; i < 64; i++)
		ck_ok(post_receive(&ends[1], i, 4));
	for (uint64_t i = 0; i < 64; i++)
		expect(&ends[1], i, IB_WC_SUCCESS);
	for (uint64_t i = 7; i < 64; i += 8)
		expect(&ends[0], i, IB_WC_SUCCESS);
	expect_none(&ends[0]);
	close_hca();
}
END_TEST

START_TEST(a_port_reaches_itself)
{
	open_hca(_i);
	make_end(&ends[0], 2);
	make_end(&ends[1], 2);
	connect_ends();
	ck_ok(post_receive(&ends[1], 1, 4));
	ck_ok(post_send(&ends[0], 2, 4, IB_SEND_SIGNALED));
	expect(&ends[0], 2, IB_WC_SUCCESS);
	expect(&ends[1], 1, IB_WC_SUCCESS);
	close_hca();
}
END_TEST

/* ------------------------------------------------------------------------ errors */

/* The reason can come to an agent's client after the completion. */
static struct al_qp_failure reason_of_failure(al_qp_h qp)
{
	struct timespec deadline = test_deadline();
	struct al_qp_failure failure;

	while (al_query_failure(qp, &failure) == AL_NOT_FOUND)
		ck_assert_msg(!test_expired(&deadline), "there is no reason");
	return failure;
}

/* What one end does wrong, and both completions; a receive that stays with its queue pair is not completed. */
static const struct {
	const char *why; /* what al_query_failure() tells the sender */
	uint32_t length, room;
	bool bad_send_key, bad_recv_key, no_recv, peer_in_error, deregistered;
	bool others_domain; /* the sender names the memory of the other domain */
	bool read_only;     /* the receive's region permits no local write */
	bool beyond;        /* the receive ends behind its region */
	ib_wc_status sent, received;
} mistakes[] = {
	{ "the message exceeds the receive, or max_msg_size", MOST + 1, 4, .sent = IB_WC_LOC_LEN_ERR },
	{ "lkey permits no such access", 4, 4, .bad_send_key = true, .sent = IB_WC_LOC_PROT_ERR },
	{ "lkey permits no such access", 4, 4, .deregistered = true, .sent = IB_WC_LOC_PROT_ERR },
	{ "no connected peer receives", 4, 4, .peer_in_error = true, .sent = IB_WC_RETRY_EXC_ERR },
	{ "the peer has no receive", 4, 4, .no_recv = true, .sent = IB_WC_RNR_RETRY_EXC_ERR },
	{ "the message exceeds the peer's receive", 5, 4, .sent = IB_WC_REM_INV_REQ_ERR, .received = IB_WC_LOC_LEN_ERR },
	{ "lkey of the peer's receive permits no such access", 4, 4, .bad_recv_key = true, .sent = IB_WC_REM_OP_ERR,
	  .received = IB_WC_LOC_PROT_ERR },
	{ "lkey permits no such access", 4, 4, .others_domain = true, .sent = IB_WC_LOC_PROT_ERR },
	{ "lkey of the peer's receive permits no such access", 4, 4, .read_only = true, .sent = IB_WC_REM_OP_ERR,
	  .received = IB_WC_LOC_PROT_ERR },
	{ "lkey of the peer's receive permits no such access", 4, 4, .beyond = true, .sent = IB_WC_REM_OP_ERR,
	  .received = IB_WC_LOC_PROT_ERR },
};

START_TEST(each_mistake_has_its_status)
{
	const int m = _i / 2;
	struct al_qp_failure failure;
	struct end *a = &ends[0], *b = &ends[1];

	open_hca(_i % 2);
	make_end(a, 1);
	make_end(b, 2);
	rnr_retry = mistakes[m].no_recv ? 0 : 7;
	connect_ends();
	a->lkey ^= mistakes[m].bad_send_key ? 1 : 0;
	b->lkey += mistakes[m].bad_recv_key ? 0x1000 : 0;
	b->mem += mistakes[m].beyond ? HALF - 2 : 0;
	if (mistakes[m].others_domain) {
		a->mem = b->mem;
		a->lkey = b->lkey;
	}
	if (mistakes[m].read_only) {
		struct al_mr_init mr = { .addr = b->mem, .length = MEM };
		uint32_t rkey;
		al_mr_h other;

		ck_ok(al_reg_mr(b->pd, &mr, NULL, &b->lkey, &rkey, &other));
	}
	if (mistakes[m].deregistered)
		ck_ok(al_dereg_mr(a->mr, AL_DESTROY_SYNC, NULL));
	if (!mistakes[m].no_recv)
		ck_ok(post_receive(b, 1, mistakes[m].room));
	if (mistakes[m].peer_in_error) {
		ck_ok(test_modify(b->qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
		expect(b, 1, IB_WC_WR_FLUSH_ERR);
	}
	ck_ok(post_send(a, 2, mistakes[m].length, 0));
	expect(a, 2, mistakes[m].sent);
	ck_assert_int_eq(test_state(a->qp), IB_QPS_ERR);
	failure = reason_of_failure(a->qp);
	ck_assert_str_eq(failure.reason, mistakes[m].why);
	ck_assert_uint_eq(failure.wr_id, 2);
	ck_assert_int_eq(failure.status, mistakes[m].sent);
	if (mistakes[m].received) {
		expect(b, 1, mistakes[m].received);
		ck_assert_int_eq(test_state(b->qp), IB_QPS_ERR);
	}
	expect_none(b);
	close_hca();
}
END_TEST

/* A send that waits for a receive does not wait for a queue pair that has gone. */
START_TEST(the_end_of_a_peer_ends_what_waits_for_it)
{
	set_up(_i % 2);
	ck_ok(post_send(&ends[0], 1, 4, 0));
	expect_none(&ends[0]);
	if (_i / 2)
		ck_ok(test_modify(ends[1].qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	else
		ck_ok(al_destroy_qp(ends[1].qp, AL_DESTROY_SYNC, NULL));
	expect(&ends[0], 1, IB_WC_RETRY_EXC_ERR);
	close_hca();
}
END_TEST

/* A queue pair whose peer is another one, or another port's, receives nothing. */
START_TEST(a_stranger_is_no_peer)
{
	struct end *a = &ends[0], *b = &ends[1];
	struct ib_qp_attr attr;

	open_hca(_i % 2);
	make_end(a, 1);
	make_end(b, 2);
	connect_end(a, b);
	attr = test_attr(_i / 2 == 1 ? 2 : 1, a->qpn + (_i / 2 == 2), IB_MTU_4096);
	attr.port_num = attr.ah_attr.port_num = _i / 2 == 0 ? 1 : 2;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 0;
	ck_ok(test_modify(b->qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(b->qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	ck_ok(post_receive(b, 1, 4));
	ck_ok(post_send(a, 2, 4, 0));
	expect(a, 2, IB_WC_RETRY_EXC_ERR);
	expect_none(b);
	close_hca();
}
END_TEST

/* ------------------------------------------------- upcalls, and the end of their objects */

static struct {
	atomic_bool stop;
	atomic_uint sent, removed;
} traffic;

/* Posts on one end until the end of the test or of the HCA. What an end can not take is left out. */
static void *keep_sending(void *arg)
{
	struct end *end = arg;
	struct ib_wc wc[8];
	uint32_t count;

	while (!traffic.stop) {
		al_status status = post_send(end, 1, 64, IB_SEND_SIGNALED);

		traffic.sent += status == AL_SUCCESS;
		post_receive(end, 2, 64);
		al_poll_cq(end->cq, 8, wc, &count);
		al_arm_cq(end->cq, AL_ARM_ANY, NULL);
		if (status == AL_CA_REMOVED || status == AL_AGENT_LOST || status == AL_INVALID_HANDLE) {
			traffic.removed++;
			break;
		}
	}
	return NULL;
}

/* The module's upcall comes here first; a test can keep it from being made. */
static struct {
	atomic_bool keep;
	sem_t begun, go_on;
} upcall;

void ib_cq_notify(void *ctx)
{
	void (*notify)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "ib_cq_notify");

	if (atomic_exchange(&upcall.keep, false)) {
		sem_post(&upcall.begun);
		test_wait(&upcall.go_on);
	}
	notify(ctx);
}

/* Ends the SQD of a queue pair, so that its send reaches its peer, and the peer's completion queue has an upcall. */
static void *send_again(void *arg)
{
	struct end *end = arg;

	ck_ok(test_modify(end->qp, IB_QPS_RTS, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	return NULL;
}

/* True: the semaphore is posted within the time. */
static bool posted_within(sem_t *sem, unsigned int ms)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	test_add_ms(&end, ms);
	return !sem_timedwait(sem, &end);
}

START_TEST(a_destroy_waits_for_the_upcall_of_its_completion_queue)
{
	struct end *sender = &ends[0], *end = &ends[1];
	pthread_t thread;
	sem_t destroyed;

	sem_init(&destroyed, 0, 0);
	sem_init(&upcall.begun, 0, 0);
	sem_init(&upcall.go_on, 0, 0);
	set_up(false);
	ck_ok(post_receive(end, 1, 4));
	ck_ok(al_arm_cq(end->cq, AL_ARM_ANY, NULL));
	ck_ok(test_modify(sender->qp, IB_QPS_SQD, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	ck_ok(post_send(sender, 2, 4, 0));
	upcall.keep = true;
	ck_assert(!pthread_create(&thread, NULL, send_again, sender));
	test_wait(&upcall.begun);
	ck_ok(al_destroy_qp(end->qp, NULL, NULL));
	ck_ok(al_destroy_cq(end->cq, test_post, &destroyed));
	ck_assert(!posted_within(&destroyed, 100));
	sem_post(&upcall.go_on);
	test_wait(&destroyed);
	pthread_join(thread, NULL);
	close_hca();
}
END_TEST

static void reset_and_connect(struct end *end, const struct end *peer)
{
	ck_ok(test_modify(end->qp, IB_QPS_RESET, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	connect_end(end, peer);
}

/* One thread posts on one end, which notifies the completion queue of the other end. The other end comes and goes. */
START_TEST(no_upcall_follows_the_destroy_of_a_completion_queue)
{
	struct end *sender = &ends[0], *end = &ends[1];
	pthread_t thread;

	set_up(_i);
	ck_assert(!pthread_create(&thread, NULL, keep_sending, sender));
	for (int round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < 16; i++) {
			ck_ok(post_receive(end, i, 64));
			ck_ok(al_arm_cq(end->cq, AL_ARM_ANY, NULL));
		}
		ck_ok(al_destroy_qp(end->qp, NULL, NULL));
		ck_ok(al_destroy_cq(end->cq, AL_DESTROY_SYNC, NULL));
		end->gone = true;
		make_queues(end, 256);
		connect_end(end, sender);
		reset_and_connect(sender, end);
	}
	traffic.stop = true;
	pthread_join(thread, NULL);
	ck_assert_uint_gt(traffic.sent, 0);
	ck_assert_uint_eq(late, 0);
	close_hca();
}
END_TEST

START_TEST(the_hca_is_removed_under_traffic)
{
	pthread_t threads[2];

	set_up(_i);
	for (int i = 0; i < 2; i++)
		ck_assert(!pthread_create(&threads[i], NULL, keep_sending, &ends[i]));
	while (traffic.sent < 1000)
		poll(NULL, 0, 1);
	if (_i)
		agent_kill(SIGTERM);
	else
		ck_ok(al_unload_module(al, "skeleton", AL_UNLOAD_REMOVE));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(traffic.removed, 2);
	close_hca();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/skeleton_ports");
	TCase *tc = tcase_create("ports");

	tcase_add_loop_test(tc, messages_cross_the_cable_both_ways, 0, 2);
	tcase_add_loop_test(tc, requests_of_one_queue_keep_their_order, 0, 2);
	tcase_add_loop_test(tc, a_port_reaches_itself, 0, 2);
	tcase_add_loop_test(tc, each_mistake_has_its_status, 0, 2 * (int)(sizeof(mistakes) / sizeof(mistakes[0])));
	tcase_add_loop_test(tc, the_end_of_a_peer_ends_what_waits_for_it, 0, 4);
	tcase_add_loop_test(tc, a_stranger_is_no_peer, 0, 6);
	tcase_add_test(tc, a_destroy_waits_for_the_upcall_of_its_completion_queue);
	tcase_add_loop_test(tc, no_upcall_follows_the_destroy_of_a_completion_queue, 0, 2);
	tcase_add_loop_test(tc, the_hca_is_removed_under_traffic, 0, 2);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
