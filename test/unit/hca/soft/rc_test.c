/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RC: rules of the requester and the responder beyond losses (loss_test.c) and keys (access_test.c): which request
 * completes with which error in which order, exact numbers of retries, PSNs that wrap in every flow, responder
 * resources, lengths of packets.
 */
#include "harness.h"
#include "hca/soft/shared/opcode.h"

#define MTU 256

static struct pair p;

/* Virtual time, so that a slow machine has no effect between a loss and its time-out. */
static void setup(void)
{
	up("progress=manual seed=1");
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

static void start(const struct qp_options *o)
{
	pair_up(&p, o, 1 << 16);
	fill(p.am->buf, 1 << 16, 1);
	fill(p.bm->buf, 1 << 16, 2);
}

/* 17 ms */
static const struct qp_options quick = { .timeout = 12 };

static void drop(struct hca *h, uint32_t flow, uint64_t n, uint64_t count)
{
	fault(h, (struct soft_fault){
			 .action = SOFT_FAULT_DROP, .flow = flow, .n = n, .count = count });
}

static struct ib_send_wr to_peer(uint64_t wr_id, ib_wr_opcode opcode, struct ib_sge *sge)
{
	struct ib_send_wr wr = send_wr(wr_id, opcode, sge, IB_SEND_SIGNALED);

	if (opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)p.bm->buf;
		wr.wr.atomic.rkey = p.bm->ci->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IB_WR_SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
		wr.wr.rdma.rkey = p.bm->ci->rkey;
	}
	return wr;
}

/* Connects the pair anew, with options for each side. */
static void reconnect(const struct qp_options *a, const struct qp_options *b)
{
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	to_init(p.a, a);
	to_init(p.b, b);
	to_rtr(p.a, p.b, a);
	to_rtr(p.b, p.a, b);
	to_rts(p.a, a);
	to_rts(p.b, b);
}

/* ----------------------------------------------------------- order of failures */

/* The second request can not be sent; the first, whose packet was lost, is retried all the same. */
START_TEST(what_can_not_be_sent_does_not_keep_what_is_before_it_from_its_retry)
{
	struct ib_sge good, bad;
	struct ib_send_wr wr[3];

	start(&quick);
	good = bad = sge_of(p.am, 0, 8);
	bad.lkey ^= 1;
	wr[0] = to_peer(1, IB_WR_RDMA_WRITE, &good);
	wr[1] = to_peer(2, IB_WR_RDMA_WRITE, &bad);
	wr[2] = to_peer(3, IB_WR_RDMA_WRITE, &good);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 1);
	post(p.a, wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_LOC_PROT_ERR);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
}
END_TEST

/* _i: a retry error ends the connection, or a modify to Error. */
START_TEST(only_the_request_that_ends_the_connection_has_a_status_of_its_own)
{
	struct ib_sge good, bad;
	struct ib_send_wr wr[2];

	start(&(struct qp_options){ .timeout = _i ? 20 : 1, .retry_cnt = 1 });
	good = bad = sge_of(p.am, 0, 8);
	bad.lkey ^= 1;
	wr[0] = to_peer(1, IB_WR_RDMA_WRITE, &good);
	wr[1] = to_peer(2, IB_WR_RDMA_WRITE, &bad);
	wr[0].next = &wr[1];
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	post(p.a, wr);
	while (!fault_met(&hca[0]))
		step();
	step();
	if (_i)
		ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 1, _i ? IB_WC_WR_FLUSH_ERR : IB_WC_RETRY_EXC_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);
}
END_TEST

/* The memory is deregistered between the post and the retry: a local protection error. */
START_TEST(a_source_deregistered_before_the_retry_is_a_local_protection_error)
{
	struct ib_sge gone, good;
	struct ib_send_wr wr[2];
	struct mr *mr;

	start(&quick);
	mr = new_mr(&hca[0], 4096, 0);
	good = sge_of(p.am, 0, 8);
	gone = sge_of(mr, 0, 3 * MTU);
	wr[0] = to_peer(1, IB_WR_RDMA_WRITE, &good);
	wr[1] = to_peer(2, IB_WR_RDMA_WRITE, &gone);
	wr[0].next = &wr[1];
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 4);
	post(p.a, wr);
	while (fault_met(&hca[0]) < 4)
		ck_assert_int_eq(step().did, SOFT_STEP_QP);
	free_mr(mr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_LOC_PROT_ERR);
	expect_empty(p.acq);
	ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
}
END_TEST

/*
 * _i: one packet, several packets, or one packet without a receive. Only in the first case the error concerns the
 * receive.
 */
START_TEST(a_write_with_immediate_that_may_not_write_fails_its_receive)
{
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(NULL);
	sge = sge_of(p.am, 0, _i == 1 ? 3 * MTU : MTU);
	wr = to_peer(1, IB_WR_RDMA_WRITE_WITH_IMM, &sge);
	wr.wr.rdma.rkey ^= 1;
	if (_i < 2)
		post_recv(p.b, 7, NULL, 0);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_REM_ACCESS_ERR);
	wait_state(p.b, IB_QPS_ERR);
	if (_i < 2)
		expect_wc(p.bcq, 7, _i ? IB_WC_WR_FLUSH_ERR : IB_WC_LOC_ACCESS_ERR);
	expect_empty(p.bcq);
	ck_assert_uint_eq(p.b->events, _i ? 1u << IB_EVENT_QP_ACCESS_ERR : 0);
}
END_TEST

/* The responder is in Error and silent: a requester whose NAK was lost uses up its retries. */
START_TEST(an_error_whose_nak_is_lost_is_a_retry_error)
{
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(&(struct qp_options){ .timeout = 5, .retry_cnt = 2 });
	sge = sge_of(p.am, 0, 8);
	wr = to_peer(1, IB_WR_RDMA_WRITE, &sge);
	wr.wr.rdma.rkey ^= 1;
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 0);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
	ck_assert_uint_eq(p.b->event_count, 1);
	ck_assert_uint_eq(fault_met(&hca[1]), 1);
}
END_TEST

/* -------------------------------------------------- exact numbers of retries */

START_TEST(a_packet_is_sent_once_and_then_retry_cnt_times)
{
	static const uint8_t given[] = { 0xff, 1, 2, 3, 4, 5, 6, 7 };

	start(&(struct qp_options){ .timeout = 1, .retry_cnt = given[_i] });
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(fault_met(&hca[0]), (uint64_t)_i + 1);
}
END_TEST

START_TEST(a_send_is_refused_once_and_then_rnr_retry_times)
{
	static const uint8_t given[] = { 0xff, 1, 2, 3, 4, 5, 6 };
	struct ib_send_wr wr;

	start(&(struct qp_options){ .rnr_retry = given[_i] });
	wr = to_peer(1, IB_WR_SEND, NULL);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_RNR_RETRY_EXC_ERR);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, _i + 1);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	ck_assert_uint_eq(p.b->events, 0);
}
END_TEST

/* A NAK is duplicated. The requester has sent nothing in between, so the second NAK is no second loss. */
START_TEST(a_nak_that_comes_twice_is_one_retry)
{
	start(&(struct qp_options){ .timeout = 14, .retry_cnt = 1 });
	fault(&hca[1], (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE,
					    .flow = SOFT_FLOW_RESPONSE,
					    .n = 1 });
	drop(&hca[0], SOFT_FLOW_REQUEST, 2, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8 * MTU);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[1]).seq_naks, 1);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 8 * MTU);
}
END_TEST

/*
 * Several messages of the maximum length, each of the maximum number of packets: the window stays below half of all
 * PSNs.
 */
START_TEST(never_more_than_half_of_all_psns_are_outstanding)
{
	const struct qp_options o = { .psn = 0xf00000, .sge = 16, .dlid = 77, .timeout = 31 };
	struct ib_sge sge[16];
	struct ib_send_wr wr;
	struct ib_qp_attr attr;
	struct mr *mr;
	int i;

	pair_up(&p, &o, 4096);
	mr = new_mr(&hca[0], 1 << 26, 0);
	for (i = 0; i < 16; i++)
		sge[i] = sge_of(mr, 0, 1 << 26);
	for (i = 0; i < 4; i++) {
		wr = to_peer((uint64_t)i, IB_WR_RDMA_WRITE, sge);
		wr.num_sge = 16;
		post(p.a, &wr);
	}
	while (step().did == SOFT_STEP_QP)
		;
	ck_assert_int_eq(ops->query_qp(p.a->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.sq_psn, (0xf00000 + (1u << 22)) & IB_PSN_MASK);
	ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	for (i = 0; i < 4; i++)
		expect_wc(p.acq, (uint64_t)i, IB_WC_WR_FLUSH_ERR);
	free_mr(mr);
}
END_TEST

static const ib_wr_opcode flows[] = { IB_WR_RDMA_WRITE, IB_WR_SEND, IB_WR_RDMA_WRITE_WITH_IMM,
				      IB_WR_RDMA_READ, IB_WR_ATOMIC_FETCH_AND_ADD };
#define LOST 5 /* which packet of a flow is lost: 1 to 5 */

/* _i: operation, side and packet lost. Five packets (an atomic: one) from PSN 0xfffffe on, and another message. */
START_TEST(every_flow_recovers_across_the_wrap_of_psns)
{
	const struct qp_options o = { .timeout = 12, .psn = 0xfffffe };
	ib_wr_opcode opcode = flows[_i / (2 * LOST)];
	bool answers = _i / LOST % 2;
	struct ib_sge from, to;
	struct ib_send_wr wr;
	uint64_t value;
	int i;

	start(&o);
	memset(p.bm->buf, 0, 8);
	from = sge_of(p.am, 0, opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? 8 : 5 * MTU - 3);
	to = sge_of(p.bm, 0, 5 * MTU);
	drop(&hca[answers], answers ? SOFT_FLOW_RESPONSE : SOFT_FLOW_REQUEST,
	     (uint64_t)(_i % LOST) + 1, 1);
	for (i = 0; i < 2; i++) {
		if (opcode == IB_WR_SEND || opcode == IB_WR_RDMA_WRITE_WITH_IMM)
			post_recv(p.b, 9, &to, 1);
		wr = to_peer(1, opcode, &from);
		post(p.a, &wr);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		if (opcode == IB_WR_SEND || opcode == IB_WR_RDMA_WRITE_WITH_IMM)
			expect_wc(p.bcq, 9, IB_WC_SUCCESS);
		if (opcode != IB_WR_ATOMIC_FETCH_AND_ADD)
			ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU - 3);
	}
	expect_empty(p.acq);
	expect_empty(p.bcq);
	memcpy(&value, p.bm->buf, 8);
	if (opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		ck_assert_uint_eq(value, 2);
}
END_TEST

/* ------------------------------------------------------- responder resources */

static void post_atomics(struct ib_send_wr *wr, struct ib_sge *sge, int num)
{
	int i;

	memset(p.bm->buf, 0, 8);
	for (i = 0; i < num; i++) {
		sge[i] = sge_of(p.am, (uint64_t)i * 8, 8);
		wr[i] = to_peer((uint64_t)i, IB_WR_ATOMIC_FETCH_AND_ADD, &sge[i]);
		wr[i].next = i < num - 1 ? &wr[i + 1] : NULL;
	}
	post(p.a, wr);
}

START_TEST(as_many_lost_atomics_as_there_are_resources_are_answered_again)
{
	struct ib_send_wr wr[8];
	struct ib_sge sge[8];
	uint64_t i, value;

	start(&(struct qp_options){ .timeout = 12, .rd_atomic = 4 });
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 4);
	drop(&hca[1], SOFT_FLOW_RESPONSE, 6, 2);
	post_atomics(wr, sge, 8);
	for (i = 0; i < 8; i++) {
		expect_wc(p.acq, i, IB_WC_SUCCESS);
		memcpy(&value, p.am->buf + i * 8, 8);
		ck_assert_uint_eq(value, i);
	}
	memcpy(&value, p.bm->buf, 8);
	ck_assert_uint_eq(value, 8);
}
END_TEST

/*
 * The requester has more atomics outstanding than the responder has resources: an atomic that has lost its resource
 * is not executed again.
 */
START_TEST(the_oldest_resource_is_replaced_and_its_atomic_not_done_twice)
{
	struct ib_send_wr wr[4];
	struct ib_sge sge[4];
	uint64_t value;
	int i;

	start(&(struct qp_options){
		.timeout = 10, .retry_cnt = 3, .rd_atomic = 4, .dest_rd_atomic = 2 });
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 4);
	post_atomics(wr, sge, 4);
	expect_wc(p.acq, 0, IB_WC_RETRY_EXC_ERR);
	for (i = 1; i < 4; i++)
		expect_wc(p.acq, (uint64_t)i, IB_WC_WR_FLUSH_ERR);
	memcpy(&value, p.bm->buf, 8);
	ck_assert_uint_eq(value, 4);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
}
END_TEST

/* A repeated read returns the memory's current content, but only for the missing packets. */
START_TEST(a_read_goes_on_where_its_answer_was_lost)
{
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(&quick);
	sge = sge_of(p.am, 0, 8 * MTU);
	wr = to_peer(1, IB_WR_RDMA_READ, &sge);
	drop(&hca[1], SOFT_FLOW_RESPONSE, 5, 4);
	post(p.a, &wr);
	while (fault_met(&hca[1]) < 4 || counters(&hca[0]).rcv_packets < 4)
		ck_assert_int_eq(step().did, SOFT_STEP_QP);
	memset(p.bm->buf, 0x11, 4 * MTU); /* the bytes that were received before */
	memset(p.bm->buf + 4 * MTU, 0x22, 4 * MTU);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	fill(p.bm->buf, 1 << 16, 2);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 4 * MTU);
	ck_assert_int_eq(p.am->buf[4 * MTU], 0x22);
	ck_assert_int_eq(p.am->buf[8 * MTU - 1], 0x22);
}
END_TEST

/* --------------------------------------------------------------------- credits */

START_TEST(credits_are_coded_rounded_down)
{
	uint32_t n;
	uint8_t code;

	start(NULL);
	for (code = 0; code < AETH_NO_CREDITS; code++)
		ck_assert_uint_eq(credit_code(credits_of_code(code)), code);
	for (n = 0; n < 40000; n++) {
		code = credit_code(n);
		ck_assert_uint_le(code, 30);
		ck_assert_uint_le(credits_of_code(code), n);
		if (code < 30)
			ck_assert_uint_gt(credits_of_code(code + 1), n);
	}
	ck_assert_uint_eq(credits_of_code(30), 32768);
	ck_assert_uint_eq(credits_of_code(7), 12);
}
END_TEST

/* Sends immediate data, which does not take the short way. */
static void send_packets(uint64_t wr_id, uint32_t packets)
{
	struct ib_sge sge = sge_of(p.am, 0, packets * MTU);
	struct ib_send_wr wr = to_peer(wr_id, IB_WR_SEND_WITH_IMM, &sge);

	post(p.a, &wr);
}

static void receive(uint64_t wr_id, uint32_t num)
{
	struct ib_sge to = sge_of(p.bm, 0, 8 * MTU);

	while (num--)
		post_recv(p.b, wr_id, &to, 1);
}

static uint64_t sent(void)
{
	return counters(&hca[0]).xmit_packets;
}

/* A message has been sent, and its ACK reports that no receive is left. */
static void start_without_credit(const struct qp_options *o)
{
	start(o);
	receive(10, 1);
	send_packets(1, 1);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.bcq, 10, IB_WC_SUCCESS);
}

static void wait_refused(uint64_t times)
{
	while (counters(&hca[1]).rnr_naks < times)
		ck_assert_int_ne(step().did, SOFT_STEP_NOTHING);
}

START_TEST(a_send_without_credit_goes_as_one_packet_until_that_is_answered)
{
	uint64_t before;

	start_without_credit(&(struct qp_options){ .rnr_timer = 0xff });
	before = sent();
	send_packets(2, 5);
	send_packets(3, 5);
	wait_refused(1);
	ck_assert_uint_eq(sent() - before, 1);
	receive(11, 2);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.acq, 3, IB_WC_SUCCESS);
	expect_wc(p.bcq, 11, IB_WC_SUCCESS);
	expect_wc(p.bcq, 11, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 1);
	ck_assert_uint_eq(sent() - before, 11);
}
END_TEST

/* Only the last packet of the message needs the receive. */
START_TEST(a_write_with_immediate_without_credit_begins_with_one_packet)
{
	struct ib_sge sge;
	struct ib_send_wr wr;
	uint64_t before;

	start_without_credit(&(struct qp_options){ .rnr_timer = 0xff });
	before = sent();
	sge = sge_of(p.am, 0, 5 * MTU);
	wr = to_peer(2, IB_WR_RDMA_WRITE_WITH_IMM, &sge);
	post(p.a, &wr);
	while (sent() == before)
		ck_assert_int_eq(step().did, SOFT_STEP_QP);
	ck_assert_uint_eq(sent() - before, 1);
	wait_refused(1);
	receive(11, 1);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 11, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU);
	ck_assert_uint_eq(sent() - before, 6); /* five packets, the last one sent twice */
}
END_TEST

START_TEST(without_credit_a_send_is_refused_once_and_then_rnr_retry_times)
{
	uint64_t before;

	start_without_credit(&(struct qp_options){ .rnr_retry = 3 });
	before = sent();
	send_packets(2, 5);
	send_packets(3, 1);
	expect_wc(p.acq, 2, IB_WC_RNR_RETRY_EXC_ERR);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 1 + 3);
	ck_assert_uint_eq(sent() - before, 1 + 3);
}
END_TEST

/* _i: the first packet is lost, or its response. */
START_TEST(what_finds_new_receives_may_be_lost)
{
	start_without_credit(&quick);
	drop(&hca[_i], _i ? SOFT_FLOW_RESPONSE : SOFT_FLOW_REQUEST, 2, 1);
	receive(11, 2);
	send_packets(2, 5);
	send_packets(3, 5);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.acq, 3, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU);
	ck_assert_uint_eq(fault_met(&hca[_i]), 1);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 0);
}
END_TEST

/*
 * The first copy of a request comes after its retry was answered: the ACK of that copy reports only the number of
 * receives.
 */
START_TEST(an_ack_once_more_tells_of_new_receives)
{
	uint64_t before;

	start(&quick);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DELAY,
					    .flow = SOFT_FLOW_REQUEST,
					    .n = 1,
					    .count = 1,
					    .delay_ns = 200000000 });
	receive(10, 1);
	send_packets(1, 1);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
	receive(11, 1);
	before = counters(&hca[0]).rcv_packets;
	while (counters(&hca[0]).rcv_packets == before)
		ck_assert_int_ne(step().did, SOFT_STEP_NOTHING);
	before = sent();
	send_packets(2, 5);
	while (sent() == before)
		ck_assert_int_eq(step().did, SOFT_STEP_QP);
	ck_assert_uint_eq(sent() - before, 5);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
}
END_TEST

/* Requests that need no receive are sent without credit; the first packet of a send discovers new receives. */
START_TEST(without_credit_writes_go_on_and_new_receives_are_found)
{
	int i;

	start(&(struct qp_options){ .rnr_timer = 0xff });
	for (i = 0; i < 5; i++) {
		receive(10, 1);
		send_packets(1, 8);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		expect_wc(p.bcq, 10, IB_WC_SUCCESS);
		rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 20 * MTU);
		rdma(&p, IB_WR_RDMA_READ, 3, 0, 0, 20 * MTU);
		expect_wc(p.acq, 2, IB_WC_SUCCESS);
		expect_wc(p.acq, 3, IB_WC_SUCCESS);
	}
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 0);
	ck_assert_uint_eq(counters(&hca[0]).retransmits, 0);
}
END_TEST

/* ------------------------------------------------------------------------ ACKs */

START_TEST(one_ack_answers_all_messages_before_it)
{
	uint64_t i;

	start(NULL);
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 3);
	for (i = 1; i <= 4; i++)
		rdma(&p, IB_WR_RDMA_WRITE, i, i * 4 * MTU, i * 4 * MTU, 3 * MTU);
	for (i = 1; i <= 4; i++)
		expect_wc(p.acq, i, IB_WC_SUCCESS);
	ck_assert_uint_eq(fault_met(&hca[1]), 3);
	ck_assert_uint_eq(counters(&hca[0]).rcv_packets, 1);
	ck_assert_uint_eq(counters(&hca[0]).retransmits, 0);
	for (i = 1; i <= 4; i++)
		ck_assert_mem_eq(p.bm->buf + i * 4 * MTU, p.am->buf + i * 4 * MTU, 3 * MTU);
}
END_TEST

/* 1025 packets: one ACK for each full train, and one for the rest. */
START_TEST(a_train_of_packets_is_answered_by_one_ack)
{
	const uint32_t train = 256 << 10;

	pair_up(&p, NULL, 2 * train);
	fill(p.am->buf, 2 * train, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, train);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[0]).rcv_packets, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, train + 1);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[0]).rcv_packets, 1 + 2);
	ck_assert_uint_eq(counters(&hca[0]).xmit_packets, 2 * train / MTU + 1);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, train + 1);
}
END_TEST

/* ---------------------------------------------------------- lengths of packets */

/* _i: the side with the larger MTU. Short messages fit both MTUs; packets of longer messages have a wrong length. */
START_TEST(packets_of_another_mtu_are_an_invalid_request)
{
	const struct qp_options o[2] = { { .mtu = IB_MTU_256 }, { .mtu = IB_MTU_1024 } };

	start(NULL);
	reconnect(&o[_i], &o[!_i]);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 200);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 200);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 4096, 1000);
	expect_wc(p.acq, 2, IB_WC_REM_INV_REQ_ERR);
	wait_state(p.b, IB_QPS_ERR);
	ck_assert_uint_eq(p.b->events, 1u << IB_EVENT_QP_REQ_ERR);
	ck_assert_mem_ne(p.bm->buf + 4096, p.am->buf, 1000);
}
END_TEST

START_TEST(a_read_answered_in_packets_of_another_length_is_a_local_length_error)
{
	const struct qp_options o[2] = { { .mtu = IB_MTU_256 }, { .mtu = IB_MTU_1024 } };

	start(NULL);
	reconnect(&o[_i], &o[!_i]);
	rdma(&p, IB_WR_RDMA_READ, 1, 0, 0, 1000);
	expect_wc(p.acq, 1, IB_WC_LOC_LEN_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
}
END_TEST

/* ----------------------------------------------------------------------- SQD */

/* Draining waits for retries. */
START_TEST(draining_waits_for_what_is_sent_again)
{
	struct ib_qp_attr attr = { .en_sqd_async_notify = true };

	start(&quick);
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 2);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 3 * MTU);
	while (fault_met(&hca[0]) < 2)
		step();
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY, &attr), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8); /* not started: b's queue drains */
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	wait_bits(&p.a->events, 1u << IB_EVENT_SQ_DRAINED);
	expect_empty(p.acq);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	/* the queue has drained again: the event is raised again */
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, 0, NULL), AL_SUCCESS);
	step();
	ck_assert_uint_eq(p.a->event_count, 2);
}
END_TEST

/*
 * A send waits for a receive, and its memory is deregistered meanwhile; the request behind it shows that the send is
 * missing.
 */
START_TEST(a_source_deregistered_while_it_waits_for_a_receive_is_a_local_protection_error)
{
	struct ib_send_wr wr[2];
	struct ib_sge gone, good, to;
	struct mr *mr;
	int i;

	start(&(struct qp_options){ .timeout = 12, .retry_cnt = 0xff });
	mr = new_mr(&hca[0], 4096, 0);
	gone = sge_of(mr, 0, 8);
	good = sge_of(p.am, 0, 8);
	wr[0] = to_peer(1, IB_WR_SEND, &gone);
	wr[1] = to_peer(2, IB_WR_RDMA_READ, &good);
	wr[0].next = &wr[1];
	post(p.a, wr);
	while (!counters(&hca[1]).rnr_naks)
		ck_assert_int_eq(step().did, SOFT_STEP_QP);
	free_mr(mr);
	to = sge_of(p.bm, 0, 8);
	post_recv(p.b, 3, &to, 1);
	while (step().did != SOFT_STEP_TIMER)
		; /* until the RNR pause is over */
	for (i = 0; i < 6; i++)
		step_choice(_i >> i & 1);
	expect_wc(p.acq, 1, IB_WC_LOC_PROT_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
}
END_TEST

/* The requester has completed its read, and the memory is deregistered; then a delayed copy of the request arrives. */
START_TEST(a_late_copy_of_a_read_ends_nothing)
{
	const struct soft_fault delay = {
		.action = SOFT_FAULT_DELAY,
		.flow = SOFT_FLOW_REQUEST,
		.n = 1,
		.count = 1,
		.delay_ns = 1000000000,
	};
	struct ib_send_wr wr;
	struct ib_sge sge;
	struct mr *mr;

	start(&quick);
	mr = new_mr(&hca[1], 4096, IB_ACCESS_REMOTE_READ);
	sge = sge_of(p.am, 0, 3 * MTU);
	wr = to_peer(1, IB_WR_RDMA_READ, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)mr->buf;
	wr.wr.rdma.rkey = mr->ci->rkey;
	fault(&hca[0], delay);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS); /* completed by the retry */
	ck_assert_mem_eq(p.am->buf, mr->buf, 3 * MTU);
	free_mr(mr);
	run_all();
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	ck_assert_uint_eq(p.b->events & ~(1u << IB_EVENT_COMM_EST), 0);
}
END_TEST

/* An error while the queue drains: the state is Error, the rest is flushed, and no SQ drained event is raised. */
START_TEST(an_error_while_draining_flushes)
{
	struct ib_qp_attr attr = { .en_sqd_async_notify = true };

	start(&(struct qp_options){ .timeout = 12, .retry_cnt = 0xff });
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	ck_assert_int_eq(step().did, SOFT_STEP_QP); /* sent, and the packet is lost */
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY, &attr), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
	ck_assert_uint_eq(p.a->events, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: rc");
	TCase *t = tcase_create("rc");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_can_not_be_sent_does_not_keep_what_is_before_it_from_its_retry);
	tcase_add_loop_test(t, only_the_request_that_ends_the_connection_has_a_status_of_its_own, 0,
			    2);
	tcase_add_loop_test(t, a_write_with_immediate_that_may_not_write_fails_its_receive, 0, 3);
	tcase_add_test(t, an_error_whose_nak_is_lost_is_a_retry_error);
	tcase_add_loop_test(t, a_packet_is_sent_once_and_then_retry_cnt_times, 0, 8);
	tcase_add_loop_test(t, a_send_is_refused_once_and_then_rnr_retry_times, 0, 7);
	tcase_add_test(t, a_nak_that_comes_twice_is_one_retry);
	tcase_add_test(t, never_more_than_half_of_all_psns_are_outstanding);
	tcase_add_loop_test(t, every_flow_recovers_across_the_wrap_of_psns, 0, 5 * 2 * LOST);
	tcase_add_test(t, as_many_lost_atomics_as_there_are_resources_are_answered_again);
	tcase_add_test(t, the_oldest_resource_is_replaced_and_its_atomic_not_done_twice);
	tcase_add_test(t, a_source_deregistered_before_the_retry_is_a_local_protection_error);
	tcase_add_loop_test(
		t, a_source_deregistered_while_it_waits_for_a_receive_is_a_local_protection_error,
		0, 64);
	tcase_add_test(t, a_read_goes_on_where_its_answer_was_lost);
	tcase_add_test(t, credits_are_coded_rounded_down);
	tcase_add_test(t, a_send_without_credit_goes_as_one_packet_until_that_is_answered);
	tcase_add_test(t, a_write_with_immediate_without_credit_begins_with_one_packet);
	tcase_add_test(t, without_credit_a_send_is_refused_once_and_then_rnr_retry_times);
	tcase_add_loop_test(t, what_finds_new_receives_may_be_lost, 0, 2);
	tcase_add_test(t, an_ack_once_more_tells_of_new_receives);
	tcase_add_test(t, without_credit_writes_go_on_and_new_receives_are_found);
	tcase_add_test(t, one_ack_answers_all_messages_before_it);
	tcase_add_test(t, a_train_of_packets_is_answered_by_one_ack);
	tcase_add_loop_test(t, packets_of_another_mtu_are_an_invalid_request, 0, 2);
	tcase_add_loop_test(t, a_read_answered_in_packets_of_another_length_is_a_local_length_error,
			    0, 2);
	tcase_add_test(t, draining_waits_for_what_is_sent_again);
	tcase_add_test(t, an_error_while_draining_flushes);
	tcase_add_test(t, a_late_copy_of_a_read_ends_nothing);
	suite_add_tcase(s, t);
	return run_suite(s);
}
