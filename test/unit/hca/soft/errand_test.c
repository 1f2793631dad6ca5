/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errands (hca/soft/memory/errand.c): copies of payload from and to a client's memory, step by step in virtual time.
 * The test is the client's thread: it decides when a job runs, and which copies fail.
 */
#include "hca/soft/memory/errand.h"

#include "harness.h"

#define MTU  256u
#define SIZE 8192u

static struct ci_client *const client = (struct ci_client *)"a client";
static struct pair p; /* b's region and a's region `far` are a client's memory */
static struct mr *far, *near; /* far: on b's HCA a region of this process, on a's HCA one of the client */
static struct ci_client_job *jobs, **last_job = &jobs;
static uint32_t copies, fail_from; /* copies made; number of the first copy that fails, from 1; 0: none */
static bool at_once; /* jobs run as soon as they come */
static uint8_t retries; /* retry_cnt; 0xff: 0 */

/* ------------------------------------------------------- functions of the Access Layer */

static void run_job(struct ci_client_job *job)
{
	uint32_t *under_way = job->under_way;

	job->run(job);
	__atomic_fetch_sub(under_way, 1, __ATOMIC_SEQ_CST);
}

void ci_client_run(struct ci_client *whose, struct ci_client_job *job)
{
	ck_assert_ptr_eq(whose, client);
	if (at_once) {
		run_job(job);
		return;
	}
	job->next = NULL;
	*last_job = job;
	last_job = &job->next;
}

static al_status copy(struct ci_client *whose, void *to, const void *from, uint64_t length)
{
	ck_assert_ptr_eq(whose, client);
	if (++copies == fail_from)
		return AL_INVALID_ADDRESS;
	memcpy(to, from, length);
	return AL_SUCCESS;
}

al_status ci_client_read(struct ci_client *whose, uint64_t addr, void *to, uint64_t length)
{
	return copy(whose, to, (const void *)(uintptr_t)addr, length);
}

al_status ci_client_write(struct ci_client *whose, uint64_t addr, const void *from, uint64_t length)
{
	return copy(whose, (void *)(uintptr_t)addr, from, length);
}

/* Runs the jobs that have come until now. Returns how many. */
static uint32_t run_jobs(void)
{
	struct ci_client_job *job = jobs, *next;
	uint32_t count = 0;

	jobs = NULL;
	last_job = &jobs;
	for (; job; job = next, count++) {
		next = job->next;
		run_job(job);
	}
	return count;
}

static struct mr *client_mr(struct hca *h)
{
	struct mr *mr = calloc(1, sizeof(*mr));
	struct ci_mem mem = { .length = SIZE, .fd = -1, .client = client,
			      .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
					IB_ACCESS_REMOTE_ATOMIC };

	mr->size = SIZE;
	mr->buf = aligned_alloc(64, SIZE);
	memset(mr->buf, 0, SIZE);
	mem.addr = mr->buf;
	mem.iova = (uintptr_t)mr->buf;
	mr->ci = al_alloc_aligned(64, ops->obj_size[CI_OBJ_MR]);
	mr->ci->pd = h->pd;
	ck_assert_int_eq(ops->register_mr(mr->ci, &mem, NULL), AL_SUCCESS);
	return mr;
}

/* Makes at most 100 steps: while a copy is under way a timer repeats, so that steps never end. */
static void some_steps(void)
{
	for (uint32_t i = 0; i < 100 && step().did; i++)
		;
}

static void setup(void)
{
	copies = fail_from = 0;
	at_once = false;
	retries = 0xff;
	up("progress=manual seed=1");
}

static void start(ib_qp_type type)
{
	pair_up(&p, &(struct qp_options){ .type = type, .retry_cnt = retries, .qkey = 7 }, SIZE);
	near = client_mr(&hca[0]);
	far = p.bm;
	p.bm = client_mr(&hca[1]);
	fill(p.am->buf, SIZE, 1);
	fill(near->buf, SIZE, 2);
}

static void teardown(void)
{
	free_mr(far);
	free_mr(near);
	pair_down(&p);
	run_jobs();
	errands_wait(); /* no errand is under way */
	down();
}

/* ------------------------------------------------------------------- copies */

/*
 * Copies from and to lists of which every other piece is the client's memory; no piece ends where a packet ends. _i:
 * type; as one train, or packet by packet.
 */
START_TEST(lists_of_both_kinds_of_memory_are_gathered_and_scattered)
{
	const uint32_t length = 3 * MTU + 57;
	char sent[3 * MTU + 57];
	struct ib_sge from[3], to[3];
	struct ib_send_wr wr;

	at_once = true;
	start(_i % 2 ? IB_QPT_UC : IB_QPT_RC);
	if (_i / 2) /* the cable is in, so the rule has no effect but to meet each packet */
		fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_PORT_UP });
	from[0] = sge_of(near, 8, 100);
	from[1] = sge_of(p.am, 16, 301);
	from[2] = sge_of(near, 1000, length - 401);
	to[0] = sge_of(p.bm, 40, 222);
	to[1] = sge_of(far, 24, 333);
	to[2] = sge_of(p.bm, 2000, length - 555 + 10);
	memcpy(sent, near->buf + 8, 100);
	memcpy(sent + 100, p.am->buf + 16, 301);
	memcpy(sent + 401, near->buf + 1000, length - 401);
	memset(p.bm->buf, 0x55, SIZE);
	post_recv(p.b, 2, to, 3);
	wr = send_wr(1, IB_WR_SEND, from, IB_SEND_SIGNALED);
	wr.num_sge = 3;
	post(p.a, &wr);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, length);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + 40, sent, 222);
	ck_assert_mem_eq(far->buf + 24, sent + 222, 333);
	ck_assert_mem_eq(p.bm->buf + 2000, sent + 555, length - 555);
	for (uint32_t i = 0; i < 10; i++)
		ck_assert_int_eq(p.bm->buf[2000 + length - 555 + i], 0x55);
	ck_assert_int_eq(p.bm->buf[39], 0x55);
	ck_assert_int_eq(p.bm->buf[262], 0x55);
	ck_assert_uint_gt(copies, 0);
}
END_TEST

/* _i: write, read, fetch and add, compare and swap; a's list has memory of the client, too */
START_TEST(what_goes_to_a_clients_memory_does_so_on_its_thread)
{
	static const ib_wr_opcode opcodes[] = { IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_ATOMIC_FETCH_AND_ADD,
						IB_WR_ATOMIC_CMP_AND_SWP };
	bool is_atomic = _i >= 2;
	uint32_t length = is_atomic ? 8 : 2 * MTU + 9, ran = 0;
	struct ib_sge sge;
	struct ib_send_wr wr;
	uint64_t *counter;

	start(IB_QPT_RC);
	fill(p.bm->buf, SIZE, 3);
	counter = (uint64_t *)(p.bm->buf + 64);
	*counter = 40;
	sge = sge_of(near, 0, length);
	wr = send_wr(1, opcodes[_i], &sge, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)counter;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	if (is_atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)counter;
		wr.wr.atomic.rkey = p.bm->ci->rkey;
		wr.wr.atomic.compare_add = _i == 2 ? 2 : 40;
		wr.wr.atomic.swap = 99;
	}
	post(p.a, &wr);
	some_steps();
	expect_empty(p.acq); /* the request waits for the client's thread only */
	ck_assert_uint_eq(copies, 0);
	for (uint32_t n = 1; n; ran += n) {
		n = run_jobs();
		some_steps();
	}
	ck_assert_uint_ge(ran, 2);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	if (is_atomic) {
		ck_assert_uint_eq(*counter, _i == 2 ? 42 : 99);
		ck_assert_uint_eq(*(uint64_t *)near->buf, 40);
	} else {
		ck_assert_mem_eq(near->buf, counter, length);
	}
}
END_TEST

/* ------------------------------------------------------------------ failures */

static void wait_for_all(void)
{
	do
		some_steps();
	while (run_jobs());
}

/*
 * A copy fails. _i: source of a send, its target, target of a write, source of a read, the read's target, first and
 * second copy of an atomic, the atomic's response.
 */
START_TEST(a_copy_that_fails_is_told_as_what_it_was_for)
{
	static const struct {
		ib_wr_opcode opcode;
		uint32_t fail;
		bool near, far; /* client memory */
		ib_wc_status status, recv;
	} cases[] = {
		{ IB_WR_SEND, 1, true, false, IB_WC_LOC_PROT_ERR, IB_WC_SUCCESS },
		{ IB_WR_SEND, 1, false, true, IB_WC_REM_OP_ERR, IB_WC_LOC_PROT_ERR },
		{ IB_WR_RDMA_WRITE, 1, false, true, IB_WC_REM_ACCESS_ERR, IB_WC_SUCCESS },
		{ IB_WR_RDMA_READ, 1, false, true, IB_WC_REM_ACCESS_ERR, IB_WC_SUCCESS },
		{ IB_WR_RDMA_READ, 1, true, false, IB_WC_LOC_PROT_ERR, IB_WC_SUCCESS },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, 1, false, true, IB_WC_REM_ACCESS_ERR, IB_WC_SUCCESS },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, 2, false, true, IB_WC_REM_ACCESS_ERR, IB_WC_SUCCESS },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, 1, true, false, IB_WC_LOC_PROT_ERR, IB_WC_SUCCESS },
	};
	struct ib_sge from, to;
	struct ib_send_wr wr;
	struct mr *there;

	start(IB_QPT_RC);
	there = cases[_i].far ? p.bm : far;
	from = sge_of(cases[_i].near ? near : p.am, 0, 8);
	to = sge_of(there, 0, 8);
	if (cases[_i].opcode == IB_WR_SEND)
		post_recv(p.b, 2, &to, 1);
	wr = send_wr(1, cases[_i].opcode, &from, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)there->buf;
	wr.wr.rdma.rkey = there->ci->rkey;
	if (cases[_i].opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)there->buf;
		wr.wr.atomic.rkey = there->ci->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	fail_from = cases[_i].fail;
	post(p.a, &wr);
	wait_for_all();
	expect_wc(p.acq, 1, cases[_i].status);
	if (cases[_i].recv)
		expect_wc(p.bcq, 2, cases[_i].recv);
	if (cases[_i].far && cases[_i].opcode != IB_WR_RDMA_READ)
		ck_assert_uint_eq(*(uint64_t *)there->buf, 0);
}
END_TEST

/*
 * An allocation for a copy fails once. At the sender a payload that cannot be fetched ends the
 * request in error; everywhere else the packet counts as lost, so that the request is sent again
 * and succeeds, executed once. _i / 2: source of a send, its target, target of a write, source of a
 * read, target of that, an atomic's memory, its answer. _i % 2: the first allocation, which is the
 * stage, or the second, which is the errand.
 */
START_TEST(a_copy_without_memory_counts_as_a_lost_packet)
{
	static const struct {
		ib_wr_opcode opcode;
		bool near, far; /* client memory */
		ib_wc_status status;
	} cases[] = {
		{ IB_WR_SEND, true, false, IB_WC_LOC_QP_OP_ERR },
		{ IB_WR_SEND, false, true, IB_WC_SUCCESS },
		{ IB_WR_RDMA_WRITE, false, true, IB_WC_SUCCESS },
		{ IB_WR_RDMA_READ, false, true, IB_WC_SUCCESS },
		{ IB_WR_RDMA_READ, true, false, IB_WC_SUCCESS },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, false, true, IB_WC_SUCCESS },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, true, false, IB_WC_SUCCESS },
	};
	const int n = _i / 2;
	const bool atomic = cases[n].opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
	struct ib_sge from, to;
	struct mr *here, *there;
	struct ib_send_wr wr;
	uint64_t before;

	retries = 7;
	start(IB_QPT_RC);
	here = cases[n].near ? near : p.am;
	there = cases[n].far ? p.bm : far;
	fill(there->buf, SIZE, 3);
	memcpy(&before, there->buf, sizeof(before));
	from = sge_of(here, 0, 8);
	to = sge_of(there, 0, 8);
	if (cases[n].opcode == IB_WR_SEND)
		post_recv(p.b, 2, &to, 1);
	wr = send_wr(1, cases[n].opcode, &from, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)there->buf;
	wr.wr.rdma.rkey = there->ci->rkey;
	if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)there->buf;
		wr.wr.atomic.rkey = there->ci->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	al_fail_alloc(1 + (uint64_t)_i % 2);
	post(p.a, &wr);
	wait_for_all();
	ck_assert_uint_eq(al_fail_alloc(0), 0); /* the allocation has failed */
	expect_wc(p.acq, 1, cases[n].status);
	if (cases[n].status) {
		ck_assert_mem_eq(there->buf, &before, 8);
		return;
	}
	if (cases[n].opcode == IB_WR_SEND)
		expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	if (!atomic) {
		ck_assert_mem_eq(there->buf, here->buf, 8);
		return;
	}
	ck_assert_mem_eq(here->buf, &before, 8);
	before++;
	ck_assert_mem_eq(there->buf, &before, 8);
}
END_TEST

/* If the copy of one piece fails, the remaining pieces are not written either. */
START_TEST(after_a_piece_that_fails_no_more_is_copied)
{
	struct ib_sge from, to[3];
	struct ib_send_wr wr;

	start(IB_QPT_RC);
	from = sge_of(p.am, 0, 24);
	for (int i = 0; i < 3; i++)
		to[i] = sge_of(p.bm, (uint64_t)i * 100, 8);
	post_recv(p.b, 2, to, 3);
	wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	fail_from = 2;
	post(p.a, &wr);
	wait_for_all();
	expect_wc(p.acq, 1, IB_WC_REM_OP_ERR);
	expect_wc(p.bcq, 2, IB_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(copies, 2);
}
END_TEST

/* ---------------------------------------------------------- abandoned errands */

/*
 * down() checks that nothing is left. _i: the queue pair is reset before the client's thread has copied, or after the
 * copy, when the queue pair has not run yet; a send's payload, or a read's response.
 */
START_TEST(a_copy_for_a_queue_pair_that_was_reset_is_freed)
{
	bool done = _i % 2, read = _i / 2;
	struct ib_sge from;
	struct ib_send_wr wr;

	start(IB_QPT_RC);
	from = sge_of(read ? p.am : near, 0, 100);
	wr = send_wr(1, read ? IB_WR_RDMA_READ : IB_WR_SEND, &from, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	some_steps();
	ck_assert_ptr_nonnull(jobs);
	if (done)
		ck_assert_uint_eq(run_jobs(), 1);
	ck_assert_int_eq(modify(read ? p.b : p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_uint_eq(copies, done);
	run_jobs();
	ck_assert_uint_eq(copies, done); /* an abandoned errand is not copied any more */
}
END_TEST

/* _i: a send's payload; a read's response */
START_TEST(a_queue_pair_waits_until_its_client_has_fewer_buffers)
{
	const bool read = _i;
	struct ib_sge from;
	struct ib_send_wr wr;

	retries = 1;
	start(IB_QPT_RC);
	ck_assert_uint_eq(ledger_add(client, LEDGER_MAX - 50), LEDGER_MAX - 50);
	from = sge_of(read ? p.am : near, 0, 100);
	wr = send_wr(1, read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, &from, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = read ? (uintptr_t)p.bm->buf : (uintptr_t)far->buf;
	wr.wr.rdma.rkey = read ? p.bm->ci->rkey : far->ci->rkey;
	post(p.a, &wr);
	for (int i = 0; i < (read ? 1 : 20); i++) /* no time-out takes a retry */
		some_steps();
	ck_assert_ptr_null(jobs);
	ledger_give(client, 49); /* not enough */
	some_steps();
	ck_assert_ptr_null(jobs);
	ledger_give(client, 1);
	wait_for_all();
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ledger_give(client, LEDGER_MAX - 100);
	ck_assert_mem_eq(read ? p.am->buf : far->buf, read ? p.bm->buf : near->buf, 100);
}
END_TEST

/* down() and the sanitizers check that nothing is left. */
START_TEST(a_queue_pair_that_is_reset_waits_for_no_buffer)
{
	struct ib_sge from;
	struct ib_send_wr wr;

	start(IB_QPT_RC);
	ledger_add(client, LEDGER_MAX);
	from = sge_of(near, 0, 100);
	wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	post(p.a, &wr);
	some_steps();
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ledger_give(client, LEDGER_MAX);
	ck_assert_ptr_null(jobs);
}
END_TEST

/* The errand that copies a send has its payload; the sender's buffer is free while the copy waits.
 */
START_TEST(a_request_that_waits_for_a_copy_holds_no_buffer_of_its_sender)
{
	struct ib_sge from, to;
	struct ib_send_wr wr;

	start(IB_QPT_RC);
	from = sge_of(near, 0, 100);
	to = sge_of(p.bm, 0, 100);
	post_recv(p.b, 3, &to, 1);
	wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	post(p.a, &wr);
	some_steps();
	ck_assert_uint_eq(run_jobs(), 1);
	some_steps();
	ck_assert_ptr_nonnull(jobs); /* the copy to b's client, who is the same one here */
	ck_assert_uint_eq(ledger_bytes(client), 100);
	wait_for_all();
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.bcq, 3, IB_WC_SUCCESS);
	ck_assert_uint_eq(ledger_bytes(client), 0);
	ck_assert_mem_eq(p.bm->buf, near->buf, 100);
}
END_TEST

/* Packets keep their order behind a copy under way; after Reset the queue pair begins anew. */
START_TEST(a_queue_pair_goes_on_after_copies_that_were_left)
{
	struct ib_sge from, to;
	struct ib_send_wr wr;

	start(IB_QPT_RC);
	from = sge_of(near, 0, 100);
	wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	post(p.a, &wr);
	some_steps();
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	connect_qps(p.a, p.b, &p.o);
	fill(near->buf, 200, 9);
	from = sge_of(near, 50, 100);
	to = sge_of(p.bm, 0, 100);
	post_recv(p.b, 3, &to, 1);
	wr = send_wr(2, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	post(p.a, &wr);
	wait_for_all();
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 3, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, near->buf + 50, 100);
}
END_TEST

/* The first of two sends finds no receive, and is sent again while the payload of the second is being copied. */
START_TEST(a_request_that_is_sent_again_has_its_own_payload)
{
	struct ib_sge from[2], to[2];
	struct ib_send_wr wr;

	retries = 7;
	start(IB_QPT_RC);
	for (uint64_t i = 0; i < 2; i++) {
		from[i] = sge_of(near, i * 1000, 100);
		to[i] = sge_of(far, i * 1000, 100);
	}
	wr = send_wr(1, IB_WR_SEND, &from[0], IB_SEND_SIGNALED);
	post(p.a, &wr);
	some_steps();
	wr = send_wr(2, IB_WR_SEND, &from[1], IB_SEND_SIGNALED);
	post(p.a, &wr);
	ck_assert_uint_eq(run_jobs(), 1);
	some_steps(); /* the RNR NAK and its timer */
	ck_assert_uint_ge(counters(&hca[1]).rnr_naks, 1);
	for (uint64_t i = 0; i < 2; i++)
		post_recv(p.b, i, &to[i], 1);
	wait_for_all();
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(far->buf, near->buf, 100);
	ck_assert_mem_eq(far->buf + 1000, near->buf + 1000, 100);
}
END_TEST

/* Two of the train's four packets were executed and no ACK has arrived: the whole train is sent again. */
START_TEST(of_a_train_that_was_executed_in_part_the_rest_has_its_own_payload)
{
	const struct soft_fault lost = { .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST, .n = 3, .count = 1 };
	const struct soft_fault untold = { .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_RESPONSE, .n = 1, .count = 2 };
	struct ib_sge from;
	struct ib_send_wr wr;

	retries = 7;
	start(IB_QPT_RC);
	fault(&hca[0], lost);
	fault(&hca[1], untold);
	from = sge_of(near, 0, 4 * MTU);
	wr = send_wr(1, IB_WR_RDMA_WRITE, &from, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)far->buf;
	wr.wr.rdma.rkey = far->ci->rkey;
	post(p.a, &wr);
	wait_for_all();
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(far->buf, near->buf, 4 * MTU);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: errands");
	TCase *t = tcase_create("errands");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, lists_of_both_kinds_of_memory_are_gathered_and_scattered, 0, 4);
	tcase_add_loop_test(t, what_goes_to_a_clients_memory_does_so_on_its_thread, 0, 4);
	tcase_add_loop_test(t, a_copy_that_fails_is_told_as_what_it_was_for, 0, 8);
	tcase_add_loop_test(t, a_copy_without_memory_counts_as_a_lost_packet, 0, 14);
	tcase_add_test(t, after_a_piece_that_fails_no_more_is_copied);
	tcase_add_loop_test(t, a_copy_for_a_queue_pair_that_was_reset_is_freed, 0, 4);
	tcase_add_loop_test(t, a_queue_pair_waits_until_its_client_has_fewer_buffers, 0, 2);
	tcase_add_test(t, a_queue_pair_that_is_reset_waits_for_no_buffer);
	tcase_add_test(t, a_request_that_waits_for_a_copy_holds_no_buffer_of_its_sender);
	tcase_add_test(t, a_queue_pair_goes_on_after_copies_that_were_left);
	tcase_add_test(t, a_request_that_is_sent_again_has_its_own_payload);
	tcase_add_test(t, of_a_train_that_was_executed_in_part_the_rest_has_its_own_payload);
	suite_add_tcase(s, t);
	return run_suite(s);
}
