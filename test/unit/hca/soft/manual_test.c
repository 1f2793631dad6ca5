/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * progress = manual: only steps make progress, time is virtual, and the same calls with the same seed are the same
 * run on every machine.
 */
#include "harness.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MTU           256
#define TIMEOUT(code) (4096ull << (code)) /* a code's time-out in ns: IBTA 9.7.6.1.3 */

static void manual_up(void)
{
	up("progress=manual seed=1");
}

static uint32_t steps_until_nothing(void)
{
	uint32_t steps = 0;

	while (step().did != SOFT_STEP_NOTHING)
		ck_assert_uint_lt(++steps, 100000);
	return steps;
}

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = -2; /* not the entries . and .. */

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

START_TEST(posts_and_polls_only_queue)
{
	struct pair p;
	int i, before = threads();

	manual_up();
	ck_assert_int_eq(threads(), before);
	pair_up(&p, NULL, 4096);
	fill(p.am->buf, 700, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 700);
	for (i = 0; i < 1000; i++)
		expect_empty(p.acq);
	ck_assert_uint_eq(counters(&hca[0]).xmit_packets, 0);
	ck_assert_int_eq(p.bm->buf[0], 0);
	ck_assert_uint_gt(steps_until_nothing(), 2);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 700);
	pair_down(&p);
	down();
}
END_TEST

/* A message of several trains: no step sends two trains. */
START_TEST(a_step_sends_at_most_one_train)
{
	const uint32_t length = 1 << 20, train = (256 << 10) / MTU;
	uint64_t sent, before[2] = { 0, 0 };
	struct pair p;
	int i, moved, trains = 0;

	manual_up();
	pair_up(&p, NULL, length);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, length);
	while (step().did == SOFT_STEP_QP) {
		moved = 0;
		for (i = 0; i < 2; i++) {
			sent = counters(&hca[i]).xmit_packets;
			ck_assert_uint_le(sent - before[i], train);
			moved += sent != before[i];
			before[i] = sent;
		}
		ck_assert_int_le(moved, 1);
		trains += moved;
	}
	ck_assert_int_eq(trains, 8); /* four trains and an ACK for each */
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	pair_down(&p);
	down();
}
END_TEST

START_TEST(the_clock_is_moved_by_timers_alone)
{
	struct pair p;
	struct soft_step s;

	manual_up();
	ck_assert_uint_eq(soft_clock(), 0);
	s = step();
	ck_assert_uint_eq(s.did, SOFT_STEP_NOTHING);
	ck_assert_uint_eq(s.now_ns, 0);
	pair_up(&p, &(struct qp_options){ .dlid = 77, .timeout = 14, .retry_cnt = 1 }, 4096);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	do
		s = step();
	while (s.did == SOFT_STEP_QP && !s.now_ns);
	ck_assert_uint_eq(s.did, SOFT_STEP_TIMER);
	ck_assert_uint_eq(s.now_ns, TIMEOUT(14)); /* exactly */
	ck_assert_uint_eq(soft_clock(), s.now_ns);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	pair_down(&p);
	down();
}
END_TEST

/* Each retry may take one to four time-outs. */
START_TEST(days_of_retries_take_a_moment)
{
	struct pair p;

	manual_up();
	pair_up(&p, &(struct qp_options){ .dlid = 77, .timeout = 31, .retry_cnt = 7 }, 4096);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_uint_ge(soft_clock(), 8 * TIMEOUT(31));
	ck_assert_uint_le(soft_clock(), 32 * TIMEOUT(31));
	pair_down(&p);
	down();
}
END_TEST

/* Every RNR NAK asks for a pause of 655 ms. */
START_TEST(rnr_pauses_are_kept_in_virtual_time)
{
	const uint64_t hours = 3 * 3600 * 1000000000ull, pause = 655360000;
	struct ib_send_wr wr;
	struct pair p;

	manual_up();
	pair_up(&p, &(struct qp_options){ .rnr_retry = 7, .rnr_timer = 0xff }, 4096);
	wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	post(p.a, &wr);
	while (step().now_ns < hours)
		;
	ck_assert_uint_ge(counters(&hca[1]).rnr_naks, hours / pause);
	ck_assert_uint_le(counters(&hca[1]).rnr_naks, hours / pause + 1);
	post_recv(p.b, 2, NULL, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_lt(soft_clock(), hours + 2 * pause);
	pair_down(&p);
	down();
}
END_TEST

/*
 * The request is delayed, so that the time-out expires at the moment at which the RNR NAK arrives. In either order
 * the expired time-out does not end the RNR pause.
 */
START_TEST(a_timeout_that_ran_out_does_not_end_an_rnr_pause)
{
	const uint64_t pause = 80000;
	struct soft_fault late = { .action = SOFT_FAULT_DELAY,
				   .flow = SOFT_FLOW_REQUEST,
				   .n = 1,
				   .count = 1,
				   .delay_ns = TIMEOUT(1) };
	uint64_t order = (uint64_t)_i;
	struct ib_send_wr wr;
	struct pair p;

	manual_up();
	pair_up(&p,
		&(struct qp_options){
			.timeout = 1, .retry_cnt = 7, .rnr_retry = 3, .rnr_timer = 6 },
		4096);
	fault(&hca[0], late);
	wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	post(p.a, &wr);
	while (step_choice(order & 1).did != SOFT_STEP_NOTHING)
		order >>= 1;
	expect_wc(p.acq, 1, IB_WC_RNR_RETRY_EXC_ERR);
	ck_assert_uint_ge(soft_clock(), 3 * pause);
	pair_down(&p);
	down();
}
END_TEST

/*
 * _i: steps before the reset of b, to which a was connected before: the reset takes what is in a's
 * inbox, a read's response by c among it, whose payload is copied as in a pass. A build with a
 * sanitizer ends the test if that copy is in no read section.
 */
START_TEST(a_reset_of_an_old_peer_copies_responses_as_a_pass_does)
{
	struct pair p;
	struct qp *c;

	manual_up();
	pair_up(&p, NULL, 4096);
	c = new_qp(&hca[hcas - 1], p.bcq, p.bcq, &p.o);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	connect_qps(p.a, c, &p.o);
	fill(p.bm->buf, 700, 1);
	rdma(&p, IB_WR_RDMA_READ, 1, 0, 0, 700);
	for (int i = 0; i < _i; i++)
		step();
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	run_all();
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 700);
	free_qp(c);
	pair_down(&p);
	down();
}
END_TEST

/* A destroy completes in its call, without steps. */
START_TEST(control_operations_need_no_step)
{
	struct pair p;

	manual_up();
	pair_up(&p, NULL, 4096);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 700);
	step(); /* a packet is in b's inbox */
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 700);
	step();
	ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	connect_qps(p.a, p.a, &(struct qp_options){ .dlid = 1 });
	rdma(&p, IB_WR_RDMA_READ, 3, 0, 0, 700);
	pair_down(&p);
	down();
}
END_TEST

START_TEST(a_choice_picks_who_is_run)
{
	uint64_t choice;
	struct pair p, q;

	for (choice = 0; choice < 4; choice++) {
		manual_up();
		pair_up(&p, NULL, 4096);
		pair_up(&q, NULL, 4096);
		steps_until_nothing();
		rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
		rdma(&q, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
		*p.am->buf = *q.am->buf = 1;
		step_choice(choice); /* one queue pair sends */
		step_choice(
			1); /* of the other queue pair on HCA 0 and the receiver on HCA 1, the receiver */
		ck_assert_int_eq(*p.bm->buf, choice % 2 == 0);
		ck_assert_int_eq(*q.bm->buf, choice % 2 == 1);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		expect_wc(q.acq, 2, IB_WC_SUCCESS);
		pair_down(&p);
		pair_down(&q);
		down();
	}
}
END_TEST

START_TEST(without_a_choice_each_queue_pair_has_its_turn)
{
	struct pair p[4];
	int i;

	up("progress=manual hcas=2");
	for (i = 0; i < 4; i++) {
		pair_up(&p[i], NULL, 4096);
		rdma(&p[i], IB_WR_RDMA_WRITE, (uint64_t)i, 0, 0, 3000);
	}
	for (i = 0; i < 4; i++)
		expect_wc(p[i].acq, (uint64_t)i, IB_WC_SUCCESS);
	for (i = 0; i < 4; i++)
		pair_down(&p[i]);
	down();
}
END_TEST

START_TEST(without_manual_progress_there_are_no_steps)
{
	struct soft_step did;
	struct ci_vendor_call call = { .code = SOFT_STEP, .out = &did, .out_len = sizeof(did) };
	uint64_t now;

	up("");
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_INVALID_STATE);
	now = soft_clock();
	ck_assert_uint_ge(soft_clock(), now);
	ck_assert_uint_gt(now, 0);
	down();
	manual_up();
	call.in = &now;
	call.in_len = 4;
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_INVALID_PARAMETER);
	down();
}
END_TEST

START_TEST(numbers_and_keys_are_the_seeds)
{
	uint32_t qpn[3], rkey[3];
	uint64_t guid[3];
	struct pair p;
	int i;

	for (i = 0; i < 3; i++) {
		up(i < 2 ? "progress=manual seed=1" : "progress=manual seed=2");
		pair_up(&p, NULL, 64);
		qpn[i] = p.b->ci->qp_num;
		rkey[i] = p.bm->ci->rkey;
		guid[i] = hca[1].attr.node_guid;
		ck_assert_uint_eq(hca[1].attr.num_comp_vectors, 1);
		pair_down(&p);
		down();
	}
	ck_assert(qpn[0] == qpn[1] && rkey[0] == rkey[1] && guid[0] == guid[1]);
	ck_assert(qpn[0] != qpn[2] && rkey[0] != rkey[2] && guid[0] != guid[2]);
}
END_TEST

/* ------------------------------------------------------------ repeated runs */

extern bool ib_trace_on;

struct run {
	uint32_t seed;    /* a setting */
	uint64_t choices; /* seed of the steps' choices; 0: no choices */
	bool one_processor;
};

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* All operations of two pairs at the same time, under faults; the trace has every step. */
static void scenario(const struct run *run)
{
	uint64_t random = run->choices;
	char settings[128];
	struct pair p[2];
	struct ib_wc wc;
	uint32_t i, n;

	snprintf(
		settings, sizeof(settings),
		"progress=manual seed=%u fault=drop,chance=50000;duplicate,chance=50000;hold,chance=50000",
		run->seed);
	up(settings);
	for (i = 0; i < 2; i++) {
		pair_up(&p[i], &(struct qp_options){ .sig_all = true, .depth = 32 }, 1 << 16);
		for (n = 0; n < 8; n++) {
			struct ib_sge to = sge_of(p[i].bm, 4096 * n, 4096),
				      from = sge_of(p[i].am, 4096 * n, 4096);
			struct ib_send_wr wr = send_wr(n, IB_WR_SEND, &from, 0);

			post_recv(p[i].b, n, &to, 1);
			post(p[i].a, &wr);
			rdma(&p[i], n % 2 ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, 100 + n, 0, 0,
			     300 * n);
		}
	}
	ib_trace_on = true;
	while ((run->choices ? step_choice(next_random(&random)) : step()).did != SOFT_STEP_NOTHING)
		for (i = 0; i < 2; i++)
			while (ops->poll_cq(p[i].acq->ci, 1, &wc, &n) == AL_SUCCESS && n)
				;
	fprintf(stderr, "clock %llu\n", (unsigned long long)soft_clock());
	for (i = 0; i < 2; i++)
		pair_down(&p[i]);
	down();
}

static char *trace_of(const struct run *run, size_t *size)
{
	char path[] = "/tmp/ibal-manual-XXXXXX", *text;
	int fd = mkstemp(path), status;
	cpu_set_t one;
	off_t end;
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	unlink(path);
	pid = fork();
	if (!pid) {
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		if (run->one_processor && sched_setaffinity(0, sizeof(one), &one))
			_exit(2);
		dup2(fd, 2);
		scenario(run);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	end = lseek(fd, 0, SEEK_END);
	ck_assert_int_gt(end, 10000);
	*size = (size_t)end;
	text = malloc(*size);
	ck_assert_int_eq(pread(fd, text, *size, 0), end);
	close(fd);
	return text;
}

static bool same_trace(const struct run *a, const struct run *b)
{
	size_t sizes[2];
	char *texts[2] = { trace_of(a, &sizes[0]), trace_of(b, &sizes[1]) };
	bool same = sizes[0] == sizes[1] && !memcmp(texts[0], texts[1], sizes[0]);

	free(texts[0]);
	free(texts[1]);
	return same;
}

START_TEST(the_same_seed_is_the_same_trace)
{
	const struct run run = { 1, 0, false }, chosen = { 1, 99, false };

	ck_assert(same_trace(&run, &run));
	ck_assert(same_trace(&chosen, &chosen));
	ck_assert(!same_trace(&run, &(struct run){ 2, 0, false }));
	ck_assert(!same_trace(&chosen, &(struct run){ 1, 98, false }));
}
END_TEST

START_TEST(the_number_of_processors_makes_no_difference)
{
	ck_assert(same_trace(&(struct run){ 1, 5, false }, &(struct run){ 1, 5, true }));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: manual progress");
	TCase *t = tcase_create("manual");

	tcase_add_test(t, posts_and_polls_only_queue);
	tcase_add_test(t, a_step_sends_at_most_one_train);
	tcase_add_test(t, the_clock_is_moved_by_timers_alone);
	tcase_add_test(t, days_of_retries_take_a_moment);
	tcase_add_test(t, rnr_pauses_are_kept_in_virtual_time);
	tcase_add_loop_test(t, a_timeout_that_ran_out_does_not_end_an_rnr_pause, 0, 64);
	tcase_add_loop_test(t, a_reset_of_an_old_peer_copies_responses_as_a_pass_does, 0, 8);
	tcase_add_test(t, control_operations_need_no_step);
	tcase_add_test(t, a_choice_picks_who_is_run);
	tcase_add_test(t, without_a_choice_each_queue_pair_has_its_turn);
	tcase_add_test(t, without_manual_progress_there_are_no_steps);
	tcase_add_test(t, numbers_and_keys_are_the_seeds);
	tcase_add_test(t, the_same_seed_is_the_same_trace);
	tcase_add_test(t, the_number_of_processors_makes_no_difference);
	suite_add_tcase(s, t);
	return run_suite(s);
}
