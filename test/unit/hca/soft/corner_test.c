/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Corners: two events at the same moment, and states that are hard to reach. In virtual time, except for tests that
 * need two threads.
 */
#include "hca/soft/shared/lock.h"
#include "hca/soft/transport/qp.h"

#include "harness.h"

#define MTU           256
#define TRAIN         (256u << 10)        /* bytes */
#define TIMEOUT(code) (4096ull << (code)) /* ns: IBTA 9.7.6.1.3 */

static struct pair p;

static void start(const char *settings, const struct qp_options *o, size_t size)
{
	up(settings);
	pair_up(&p, o, size);
	fill(p.am->buf, size, 1);
}

static void finish(void)
{
	pair_down(&p);
	down();
}

#define MANUAL "progress=manual seed=1"

/* Steps a's queue pair if it can run: a's HCA comes first. */
static void step_a(void)
{
	ck_assert_uint_eq(step_choice(0).did, SOFT_STEP_QP);
}

/* ------------------------------------------------------------------- timers */

/* In the middle of a pass of a: posts another request, and lets the time-out of the first request expire. */
static void post_and_time_out(struct cq *cq)
{
	on_notify = NULL;
	ck_assert_ptr_eq(cq, p.acq);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
	ck_assert_uint_eq(step().did, SOFT_STEP_TIMER);
}

START_TEST(a_timer_that_ran_out_before_a_request_was_sent_is_not_its_time_out)
{
	start(MANUAL, &(struct qp_options){ .timeout = 14, .retry_cnt = 0xff }, 4096);
	ck_assert_int_eq(ops->arm_cq(p.acq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
	on_notify = post_and_time_out;
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	while (on_notify)
		step();
	step_a(); /* before b runs: no request is answered yet */
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[0]).retransmits, 0);
	finish();
}
END_TEST

static void end_the_pause(struct cq *cq)
{
	(void)cq;
	on_notify = NULL;
	ck_assert_uint_eq(step().did, SOFT_STEP_TIMER);
}

/* The write's ACK and the send's RNR NAK come in one pass, and the RNR pause ends in the middle of that pass. */
START_TEST(a_pause_that_ends_before_it_is_looked_at_is_no_longer_than_it_was)
{
	struct ib_sge to;
	struct ib_send_wr wr;
	int i;

	start(MANUAL, &(struct qp_options){ .timeout = 20 }, 4096);
	ck_assert_int_eq(ops->arm_cq(p.acq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	to = sge_of(p.am, 0, 8);
	wr = send_wr(2, IB_WR_SEND, &to, IB_SEND_SIGNALED);
	post(p.a, &wr);
	for (i = 0; i < 2; i++) /* both are sent */
		step_a();
	step_choice(0); /* only b can run */
	step_choice(1); /* a can run too, and comes first */
	on_notify = end_the_pause;
	step_a();
	ck_assert_ptr_null(on_notify);
	to = sge_of(p.bm, 0, 8);
	post_recv(p.b, 3, &to, 1);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 1);
	ck_assert_uint_lt(soft_clock(), TIMEOUT(20));
	finish();
}
END_TEST

/* ---------------------------------------------------------------- send queue */

static _Atomic bool enough;

/* Posts requests, most of which are refused. */
static void *post_all_the_time(void *arg)
{
	struct ib_send_wr send = { .opcode = IB_WR_RDMA_WRITE };
	const struct ib_send_wr *bad_send;
	struct ib_recv_wr recv = { .wr_id = 1 };
	const struct ib_recv_wr *bad_recv;

	(void)arg;
	while (!atomic_load(&enough)) {
		ops->post_send(p.a->ci, &send, &bad_send);
		ops->post_recv(p.a->ci, &recv, &bad_recv);
	}
	return NULL;
}

START_TEST(a_reset_forgets_all_requests_while_another_thread_posts)
{
	const struct qp_options o = { .dlid = 77, .timeout = 31 };
	struct soft_qp *qp;
	pthread_t thread;
	uint32_t i;

	start("", &o, 4096);
	qp = soft_qp(p.a->ci);
	ck_assert_int_eq(pthread_create(&thread, NULL, post_all_the_time, NULL), 0);
	for (i = 0; i < 3000 * effort(); i++) {
		ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		fmutex_lock(&qp->sq.lock);
		fmutex_lock(&qp->rq.lock);
		ck_assert_uint_eq(qp->sq.prod, 0);
		ck_assert_uint_eq(qp->rq.prod, 0);
		fmutex_unlock(&qp->rq.lock);
		fmutex_unlock(&qp->sq.lock);
		to_init(p.a, &o);
		to_rtr(p.a, p.b, &o);
		to_rts(p.a, &o);
		sched_yield();
	}
	atomic_store(&enough, true);
	pthread_join(thread, NULL);
	finish();
}
END_TEST

/* ---------------------------------------------------------------- responder */

static void fetch_add(uint64_t wr_id)
{
	struct ib_sge sge = sge_of(p.am, 0, 8);
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);

	wr.wr.atomic.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 1;
	post(p.a, &wr);
	expect_wc(p.acq, wr_id, IB_WC_SUCCESS);
}

/* The effect of 2^24 packets between two atomics, which then have the same PSN. */
START_TEST(an_atomic_is_answered_again_with_its_own_value_after_a_round_of_psns)
{
	uint64_t value;

	start(MANUAL, NULL, 4096);
	fetch_add(1);
	soft_qp(p.a->ci)->conn.req.next_psn = soft_qp(p.a->ci)->conn.req.send_psn = 0;
	soft_qp(p.a->ci)->conn.req.una = soft_qp(p.a->ci)->conn.req.high_psn = 0;
	soft_qp(p.b->ci)->conn.resp.epsn = 0;
	fault(&hca[1],
	      (struct soft_fault){
		      .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_RESPONSE, .n = 2, .count = 1 });
	fetch_add(2);
	memcpy(&value, p.am->buf, sizeof(value));
	ck_assert_uint_eq(value, 1);
	finish();
}
END_TEST

/* --------------------------------------------------------------------- paths */

static void drain(struct qp *qp)
{
	ck_assert_int_eq(modify(qp, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY,
				&(struct ib_qp_attr){ .en_sqd_async_notify = true }),
			 AL_SUCCESS);
}

/* When a's path changes to a's own LID, b's second train of responses waits at a as a packet of b. */
START_TEST(answers_on_the_former_path_are_fetched_when_the_queue_pair_goes)
{
	struct ib_qp_attr attr = { .ah_attr = { .dlid = 2, .port_num = 1 } };
	struct ib_wc wc;

	start(MANUAL, &(struct qp_options){ .timeout = 5, .retry_cnt = 1 }, 2 * TRAIN);
	rdma(&p, IB_WR_RDMA_READ, 1, 0, 0, 2 * TRAIN);
	step_a();
	while (counters(&hca[1]).xmit_packets < 2 * TRAIN / MTU)
		step_choice(1);
	drain(p.b);
	while (!(p.b->events & 1u << IB_EVENT_SQ_DRAINED))
		step_choice(1);
	ck_assert_int_eq(modify(p.b, IB_QPS_SQD, IB_QP_AV, &attr), AL_SUCCESS);
	free_qp(p.b);
	wc = wait_wc(p.acq);
	ck_assert_int_eq(wc.status, IB_WC_RETRY_EXC_ERR);
	p.b = new_qp(&hca[1], p.bcq, p.bcq, &p.o);
	finish();
}
END_TEST

/* The LID is the same, but no port at the other port's cable has it. */
START_TEST(another_port_is_another_path)
{
	struct ib_qp_attr attr = { .port_num = 2 };

	start("ports=2 " MANUAL, &(struct qp_options){ .timeout = 5, .retry_cnt = 0xff }, 4096);
	drain(p.a);
	wait_bits(&p.a->events, 1u << IB_EVENT_SQ_DRAINED);
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_PORT, &attr), AL_SUCCESS);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, 0, NULL), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 0);
	finish();
}
END_TEST

/* -------------------------------------------------------------------- faults */

/* A packet is delayed until two later packets have left: the first two packets of a long message. */
START_TEST(a_packet_held_back_comes_after_so_many_packets_of_a_long_message)
{
	start(MANUAL, &(struct qp_options){ .type = IB_QPT_UC }, 64 * MTU);
	fault(&hca[0],
	      (struct soft_fault){ .action = SOFT_FAULT_HOLD, .n = 1, .count = 1, .by = 2 });
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 32 * MTU, MTU);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8 * MTU);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + 32 * MTU, p.am->buf, MTU);
	/* the delayed packet has come between the second and third packet, and has ended their message */
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 2 * MTU);
	ck_assert_int_eq(memcmp(p.bm->buf + 2 * MTU, p.am->buf + 2 * MTU, MTU) != 0, 1);
	finish();
}
END_TEST

START_TEST(an_overflow_on_purpose_is_notified_like_any_other)
{
	start(MANUAL, NULL, 4096);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_CQ_OVERFLOW, .n = 1, .count = 1 });
	ck_assert_int_eq(ops->arm_cq(p.acq->ci, AL_ARM_ERRORS, NULL), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	wait_state(p.a, IB_QPS_ERR);
	ck_assert_uint_eq(p.acq->notified & 0xffff, 1);
	finish();
}
END_TEST

/* ------------------------------------------------------------------- copies */

/*
 * A packet is duplicated, and its source memory is deregistered: a retry of the packet is due and can not be sent,
 * but the copy is executed. Both results are known in the same pass.
 */
START_TEST(a_request_whose_copy_is_answered_does_not_stop_the_queue)
{
	struct ib_send_wr wr;
	struct ib_sge sge;
	struct mr *gone;

	start(MANUAL, &(struct qp_options){ .timeout = 14, .retry_cnt = 0xff }, 4096);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE, .n = 1, .count = 1 });
	gone = new_mr(&hca[0], 64, 0);
	sge = sge_of(gone, 0, 64);
	memset(gone->buf, 0x77, 64);
	wr = send_wr(1, IB_WR_RDMA_WRITE, &sge, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	step_a();
	free_mr(gone);
	step_choice(0); /* b runs: the packet */
	step_choice(1); /* b runs again, before a: the copy */
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_int_eq(p.bm->buf[63], 0x77);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: corners");
	TCase *t = tcase_create("corners");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_timer_that_ran_out_before_a_request_was_sent_is_not_its_time_out);
	tcase_add_test(t, a_pause_that_ends_before_it_is_looked_at_is_no_longer_than_it_was);
	tcase_add_test(t, a_reset_forgets_all_requests_while_another_thread_posts);
	tcase_add_test(t, an_atomic_is_answered_again_with_its_own_value_after_a_round_of_psns);
	tcase_add_test(t, answers_on_the_former_path_are_fetched_when_the_queue_pair_goes);
	tcase_add_test(t, another_port_is_another_path);
	tcase_add_test(t, a_packet_held_back_comes_after_so_many_packets_of_a_long_message);
	tcase_add_test(t, an_overflow_on_purpose_is_notified_like_any_other);
	tcase_add_test(t, a_request_whose_copy_is_answered_does_not_stop_the_queue);
	suite_add_tcase(s, t);
	return run_suite(s);
}
