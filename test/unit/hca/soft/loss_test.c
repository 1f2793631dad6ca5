/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RC under loss: the retry, NAK and RNR flows, each caused by a fault on a chosen packet. The requests of HCA 0 and
 * the responses of HCA 1 are flows of their own; a flow's packets are counted from 1 since the queue pair left Reset.
 */
#include "harness.h"

#define MTU 256

static struct pair p;

static void setup(void)
{
	up("");
}

static void start(const struct qp_options *o)
{
	pair_up(&p, o, 1 << 20);
	fill(p.am->buf, 1 << 19, 1);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

/* 17 ms: short, but longer than a busy machine's delays */
static const struct qp_options quick = { .timeout = 12 };

static void drop(struct hca *h, uint32_t flow, uint64_t n, uint64_t count)
{
	fault(h, (struct soft_fault){ .action = SOFT_FAULT_DROP, .flow = flow, .n = n, .count = count });
}

static void write_and_check(uint32_t packets)
{
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, packets * MTU);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, packets * MTU);
	expect_empty(p.acq);
}

/* _i: which of five packets is lost */
START_TEST(a_lost_request_is_sent_again)
{
	start(&quick);
	drop(&hca[0], SOFT_FLOW_REQUEST, (uint64_t)_i, 1);
	write_and_check(5);
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
	ck_assert_uint_ge(counters(&hca[0]).retransmits, 1);
	/* only a time-out reveals the loss of the last packet; the next packet reveals the loss of an earlier one */
	ck_assert_uint_eq(counters(&hca[1]).seq_naks, _i < 5 ? 1 : 0);
}
END_TEST

START_TEST(a_lost_acknowledge_is_repeated_and_nothing_done_twice)
{
	uint64_t *target, *result;
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(&quick);
	target = (uint64_t *)p.bm->buf;
	result = (uint64_t *)p.am->buf;
	sge = sge_of(p.am, 0, 8);
	wr = send_wr(2, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);
	wr.wr.atomic.remote_addr = (uintptr_t)target;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 5;
	*target = 100;
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 2);
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(*result, 100);
	ck_assert_uint_eq(*target, 105);
	ck_assert_uint_eq(fault_met(&hca[1]), 2);
}
END_TEST

/* The send is repeated, and consumes one receive. */
START_TEST(a_send_whose_acknowledge_was_lost_is_received_once)
{
	struct ib_sge from, to;
	struct ib_send_wr wr;

	start(&quick);
	from = sge_of(p.am, 0, 700);
	to = sge_of(p.bm, 0, 700);
	wr = send_wr(2, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 3);
	post_recv(p.b, 5, &to, 1);
	post_recv(p.b, 6, &to, 1);
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 5, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 700);
}
END_TEST

/* _i: the response that is lost; the requester repeats only the missing part of the read. */
START_TEST(a_lost_read_response_is_asked_for_again)
{
	start(&quick);
	fill(p.bm->buf, 7 * MTU, 3);
	drop(&hca[1], SOFT_FLOW_RESPONSE, (uint64_t)_i, 1);
	rdma(&p, IB_WR_RDMA_READ, 1, 0, 0, 7 * MTU - 3);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 7 * MTU - 3);
	ck_assert_uint_eq(fault_met(&hca[1]), 1);
}
END_TEST

/* A response to a later request implies that the read's own response was lost. */
START_TEST(an_implied_nak_repeats_a_read)
{
	struct ib_send_wr wr[2];
	struct ib_sge sge[2];
	int i;

	start(&(struct qp_options){ .timeout = 14 });
	fill(p.bm->buf, 2 * MTU, 3);
	for (i = 0; i < 2; i++) {
		sge[i] = sge_of(p.am, (uint64_t)i * MTU, MTU);
		wr[i] = send_wr((uint64_t)i, IB_WR_RDMA_READ, &sge[i], IB_SEND_SIGNALED);
		wr[i].wr.rdma.remote_addr = (uintptr_t)p.bm->buf + (uint64_t)i * MTU;
		wr[i].wr.rdma.rkey = p.bm->ci->rkey;
	}
	wr[0].next = &wr[1];
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 1);
	post(p.a, wr);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 2 * MTU);
}
END_TEST

/* _i: the packet that is duplicated, of requests and of responses */
START_TEST(duplicates_change_nothing)
{
	struct soft_fault rule = { .action = SOFT_FAULT_DUPLICATE, .n = (uint64_t)_i, .count = 3 };
	struct ib_sge from, to;
	struct ib_send_wr wr;

	start(&quick);
	fault(&hca[0], rule);
	fault(&hca[1], rule);
	write_and_check(4);
	fill(p.bm->buf, 4 * MTU, 9);
	rdma(&p, IB_WR_RDMA_READ, 2, 0, 0, 4 * MTU);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 4 * MTU);
	from = sge_of(p.am, 0, 3 * MTU);
	to = sge_of(p.bm, 8192, 3 * MTU);
	wr = send_wr(3, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	post_recv(p.b, 4, &to, 1);
	post_recv(p.b, 5, &to, 1);
	post(p.a, &wr);
	expect_wc(p.acq, 3, IB_WC_SUCCESS);
	expect_wc(p.bcq, 4, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	expect_empty(p.acq);
	ck_assert_mem_eq(p.bm->buf + 8192, p.am->buf, 3 * MTU);
}
END_TEST

/* _i: the packet that is overtaken by the next two */
START_TEST(a_packet_held_back_is_replaced_or_comes_as_a_duplicate)
{
	start(&quick);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_HOLD, .flow = SOFT_FLOW_REQUEST,
					    .n = (uint64_t)_i, .count = 1, .by = 2 });
	write_and_check(6);
	write_and_check(6);
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
}
END_TEST

/* A delayed atomic arrives after its retry, and is not executed again. */
START_TEST(a_late_atomic_is_a_duplicate)
{
	uint64_t *target;
	struct ib_sge sge;
	struct ib_send_wr wr;
	int i;

	start(&quick);
	target = (uint64_t *)p.bm->buf;
	*target = 0;
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_HOLD, .flow = SOFT_FLOW_REQUEST, .n = 1,
					    .count = 1, .by = 2 });
	sge = sge_of(p.am, 0, 8);
	wr = send_wr(1, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);
	wr.wr.atomic.remote_addr = (uintptr_t)target;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 1;
	for (i = 0; i < 6; i++) {
		post(p.a, &wr);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		ck_assert_uint_eq(*(uint64_t *)p.am->buf, (uint64_t)i);
	}
	ck_assert_uint_eq(*target, 6);
}
END_TEST

START_TEST(retries_end_with_the_retry_error_and_the_rest_is_flushed)
{
	struct ib_send_wr wr[3];
	int i;

	start(&(struct qp_options){ .timeout = 5, .retry_cnt = 2 });
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	for (i = 0; i < 3; i++) {
		wr[i] = send_wr((uint64_t)i + 1, IB_WR_SEND, NULL, 0);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	post(p.a, wr);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);
	ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	ck_assert_uint_eq(p.a->events, 0);
	/* each of three packets was sent three times: once, and in two retries */
	ck_assert_uint_eq(fault_met(&hca[0]), 9);
}
END_TEST

START_TEST(retry_counters_start_afresh_after_a_success)
{
	uint32_t i;

	start(&(struct qp_options){ .timeout = 15, .retry_cnt = 2 });
	/* each write's packet is lost twice, and passes the third time */
	for (i = 0; i < 4; i++)
		drop(&hca[0], SOFT_FLOW_REQUEST, 3 * i + 1, 2);
	for (i = 0; i < 4; i++)
		write_and_check(1);
	ck_assert_uint_eq(fault_met(&hca[0]), 8);
}
END_TEST

START_TEST(without_retries_the_first_loss_is_the_end)
{
	start(&(struct qp_options){ .timeout = 5, .retry_cnt = 0xff });
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
}
END_TEST

START_TEST(a_peer_that_is_not_there_is_a_retry_error)
{
	start(&(struct qp_options){ .timeout = 5, .retry_cnt = 1, .dlid = 77 });
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
}
END_TEST

START_TEST(a_peer_that_is_not_ready_to_receive_drops)
{
	struct qp *b;

	start(&(struct qp_options){ .timeout = 5, .retry_cnt = 1 });
	b = new_qp(&hca[1], p.bcq, p.bcq, &p.o);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	to_init(b, &p.o);
	to_init(p.a, &p.o);
	to_rtr(p.a, b, &p.o);
	to_rts(p.a, &p.o);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	free_qp(b);
}
END_TEST

/* ----------------------------------------------------------------------- RNR */

START_TEST(a_send_waits_for_its_receive)
{
	struct ib_sge from, to;
	struct ib_send_wr wr;

	start(NULL);
	from = sge_of(p.am, 0, 3 * MTU);
	to = sge_of(p.bm, 0, 3 * MTU);
	wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	post(p.a, &wr);
	while (counters(&hca[1]).rnr_naks < 3)
		expect_empty(p.acq);
	post_recv(p.b, 2, &to, 1);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 3 * MTU);
}
END_TEST

/* The message's data arrive, except for the last packet, which needs the receive. */
START_TEST(a_write_with_immediate_waits_for_its_receive)
{
	struct ib_sge from;
	struct ib_send_wr wr;

	start(NULL);
	from = sge_of(p.am, 0, 3 * MTU);
	wr = send_wr(1, IB_WR_RDMA_WRITE_WITH_IMM, &from, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	while (counters(&hca[1]).rnr_naks < 2)
		expect_empty(p.acq);
	post_recv(p.b, 2, NULL, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, 3 * MTU);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 3 * MTU);
}
END_TEST

START_TEST(rnr_retries_end_with_their_own_error)
{
	struct ib_send_wr wr;

	start(&(struct qp_options){ .rnr_retry = 3 });
	wr = send_wr(1, IB_WR_SEND, NULL, 0);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_RNR_RETRY_EXC_ERR);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 4);
	ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
}
END_TEST

/* Three sends get RNR NAKs, with two retries each: 655 ms suffice to post the receive. */
START_TEST(rnr_counters_start_afresh_after_a_success)
{
	struct ib_send_wr wr;
	int i;

	start(&(struct qp_options){ .rnr_retry = 2, .rnr_timer = 30 });
	wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	for (i = 0; i < 3; i++) {
		post(p.a, &wr);
		ck_assert_uint_eq(counters(&hca[1]).rnr_naks, i + 1);
		post_recv(p.b, 2, NULL, 0);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
	}
}
END_TEST

START_TEST(seven_rnr_retries_are_without_limit)
{
	struct ib_send_wr wr;

	start(&(struct qp_options){ .rnr_retry = 7 });
	wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	post(p.a, &wr);
	while (counters(&hca[1]).rnr_naks < 20)
		expect_empty(p.acq);
	post_recv(p.b, 2, NULL, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

/* The requester keeps the pause that the RNR NAK asks for: no second NAK comes within 163.84 ms. */
START_TEST(the_rnr_timer_is_honoured)
{
	struct ib_send_wr wr;
	uint64_t begun;

	start(&(struct qp_options){ .rnr_timer = 28 });
	wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	begun = now_ms();
	post(p.a, &wr);
	while (counters(&hca[1]).rnr_naks < 2)
		expect_empty(p.acq);
	ck_assert_uint_ge(now_ms() - begun, 163);
	post_recv(p.b, 2, NULL, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

/* Random loss, duplication and reordering. */
START_TEST(everything_arrives_under_random_faults)
{
	static const uint32_t lengths[] = { 0, 1, MTU, 3 * MTU + 1, 9 * MTU };
	uint32_t i, length, rounds = 100 * effort();

	start(&(struct qp_options){ .timeout = 12, .psn = 0xffff00 });
	for (i = 0; i < 2; i++) {
		fault(&hca[i], (struct soft_fault){ .action = SOFT_FAULT_DROP, .chance = 20000 });
		fault(&hca[i], (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE, .chance = 50000 });
		fault(&hca[i], (struct soft_fault){ .action = SOFT_FAULT_HOLD, .chance = 20000, .by = 1 + i });
	}
	for (i = 0; i < rounds; i++) {
		length = lengths[i % 5];
		fill(p.am->buf, length, i);
		rdma(&p, IB_WR_RDMA_WRITE, i, 0, 0, length);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.bm->buf, p.am->buf, length);
		rdma(&p, IB_WR_RDMA_READ, i, 1 << 19, 0, length);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.am->buf + (1 << 19), p.am->buf, length);
	}
}
END_TEST

/* A delayed packet of a flow that has ended is not delivered, and its memory is freed. */
START_TEST(a_reset_drops_what_is_held_back)
{
	start(&quick);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_HOLD, .n = 1, .count = 1, .by = 100 });
	write_and_check(1);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: loss");
	TCase *t = tcase_create("loss");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_lost_request_is_sent_again, 1, 6);
	tcase_add_test(t, a_lost_acknowledge_is_repeated_and_nothing_done_twice);
	tcase_add_test(t, a_send_whose_acknowledge_was_lost_is_received_once);
	tcase_add_loop_test(t, a_lost_read_response_is_asked_for_again, 1, 8);
	tcase_add_test(t, an_implied_nak_repeats_a_read);
	tcase_add_loop_test(t, duplicates_change_nothing, 1, 6);
	tcase_add_loop_test(t, a_packet_held_back_is_replaced_or_comes_as_a_duplicate, 1, 6);
	tcase_add_test(t, a_late_atomic_is_a_duplicate);
	tcase_add_test(t, retries_end_with_the_retry_error_and_the_rest_is_flushed);
	tcase_add_test(t, retry_counters_start_afresh_after_a_success);
	tcase_add_test(t, without_retries_the_first_loss_is_the_end);
	tcase_add_test(t, a_peer_that_is_not_there_is_a_retry_error);
	tcase_add_test(t, a_peer_that_is_not_ready_to_receive_drops);
	tcase_add_test(t, a_send_waits_for_its_receive);
	tcase_add_test(t, a_write_with_immediate_waits_for_its_receive);
	tcase_add_test(t, rnr_retries_end_with_their_own_error);
	tcase_add_test(t, rnr_counters_start_afresh_after_a_success);
	tcase_add_test(t, seven_rnr_retries_are_without_limit);
	tcase_add_test(t, the_rnr_timer_is_honoured);
	tcase_add_test(t, everything_arrives_under_random_faults);
	tcase_add_test(t, a_reset_drops_what_is_held_back);
	suite_add_tcase(s, t);
	return run_suite(s);
}
