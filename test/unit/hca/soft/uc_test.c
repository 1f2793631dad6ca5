/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Unreliable connection: a message arrives complete, or is lost completely and silently. */
#include "uc_test.h"

#include <sched.h>

/* ------------------------------------------------------------------ transfer */

static const uint32_t sizes[] = {
	0,
	1,
	3,
	MTU - 1,
	MTU,
	MTU + 1,
	2 * MTU,
	17 * MTU + 5,
	(256 << 10) - 1,
	256 << 10,
	(256 << 10) + 1,
	(2 << 20) + 77,
	SIZE / 2,
};
#define SIZES ((int)(sizeof(sizes) / sizeof(*sizes)))

START_TEST(a_write_of_any_size_arrives)
{
	static const char zero[64];

	start(NULL);
	rdma(&p, IB_WR_RDMA_WRITE, 7, 0, 16, sizes[_i]);
	ck_assert_int_eq(expect_wc(p.acq, 7, IB_WC_SUCCESS).opcode, IB_WC_RDMA_WRITE);
	ck_assert_mem_eq(p.bm->buf, zero, 16);
	ck_assert_mem_eq(p.bm->buf + 16, p.am->buf, sizes[_i]);
	ck_assert_mem_eq(p.bm->buf + 16 + sizes[_i], zero, 64);
	check_silence();
}
END_TEST

START_TEST(a_send_of_any_size_arrives_in_the_oldest_receive)
{
	struct ib_wc wc;

	start(NULL);
	receive(5, SIZE);
	receive(6, SIZE);
	send(9, sizes[_i]);
	wc = expect_wc(p.bcq, 5, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_RECV);
	ck_assert_uint_eq(wc.byte_len, sizes[_i]);
	ck_assert_uint_eq(wc.wc_flags, 0);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, sizes[_i]);
	check_silence();
}
END_TEST

START_TEST(immediate_data_comes_with_a_send)
{
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct ib_wc wc;

	start(NULL);
	sge = sge_of(p.am, 0, sizes[_i]);
	wr = send_wr(1, IB_WR_SEND_WITH_IMM, &sge, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	wr.ex.imm_data = 0x12345678;
	receive(2, SIZE);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	wc = expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.imm_data, 0x12345678);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_WITH_IMM | IB_WC_SOLICITED);
	ck_assert_uint_eq(wc.byte_len, sizes[_i]);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, sizes[_i]);
}
END_TEST

static void write_imm(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.am, 0, length);
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_RDMA_WRITE_WITH_IMM, &sge, IB_SEND_SIGNALED);

	wr.ex.imm_data = 77;
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	expect_wc(p.acq, wr_id, IB_WC_SUCCESS);
}

START_TEST(immediate_data_of_a_write_consumes_a_receive_and_not_its_buffer)
{
	struct ib_wc wc;

	start(NULL);
	post_recv(p.b, 2, NULL, 0);
	write_imm(1, sizes[_i]);
	wc = expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	ck_assert_uint_eq(wc.imm_data, 77);
	ck_assert_uint_eq(wc.byte_len, sizes[_i]);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, sizes[_i]);
}
END_TEST

START_TEST(inline_data_is_taken_at_the_post)
{
	char data[100];
	struct ib_sge sge = { (uintptr_t)data, 100, 0 };
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED | IB_SEND_INLINE);

	start(&(struct qp_options){ .inline_data = 100 });
	memcpy(data, p.am->buf, 100);
	receive(2, 100);
	post(p.a, &wr);
	memset(data, 0, 100);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 100);
}
END_TEST

START_TEST(data_is_gathered_and_scattered)
{
	struct ib_sge from[4], to[3];
	struct ib_send_wr wr;
	uint32_t i, at = 0;

	start(NULL);
	for (i = 0; i < 4; i++)
		from[i] = sge_of(p.am, i * 1000, 300 - i);
	for (i = 0; i < 3; i++)
		to[i] = sge_of(p.bm, i * 1000, 500);
	wr = send_wr(1, IB_WR_SEND, from, IB_SEND_SIGNALED);
	wr.num_sge = 4;
	post_recv(p.b, 2, to, 3);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, 1194);
	for (i = 0; i < 4; i++) {
		uint32_t j;

		for (j = 0; j < 300 - i; j++, at++)
			ck_assert_int_eq(p.bm->buf[at / 500 * 1000 + at % 500],
					 p.am->buf[i * 1000 + j]);
	}
}
END_TEST

START_TEST(psns_go_round)
{
	uint32_t i;

	start(&(struct qp_options){ .psn = 0xfffffd });
	for (i = 0; i < 4; i++) {
		receive(i, SIZE);
		send(i, 3 * MTU);
		expect_wc(p.bcq, i, IB_WC_SUCCESS);
	}
}
END_TEST

START_TEST(an_unsignalled_request_completes_invisibly)
{
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);
	uint32_t i;

	start(NULL);
	for (i = 0; i < 40; i++) { /* more than the queue holds */
		post_recv(p.b, i, NULL, 0);
		post(p.a, &wr);
		expect_wc(p.bcq, i, IB_WC_SUCCESS);
		while (state_of(p.a) != IB_QPS_RTS)
			;
	}
	check_silence();
}
END_TEST

START_TEST(the_first_packet_raises_communication_established)
{
	struct qp_options o = { .type = IB_QPT_UC };

	start(NULL);
	modify(p.b, IB_QPS_RESET, 0, NULL);
	to_init(p.b, &o);
	to_rtr(p.b, p.a, &o);
	ck_assert_uint_eq(p.b->events, 0);
	receive(1, 8);
	send(2, 8);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(p.b->events, 1u << IB_EVENT_COMM_EST);
}
END_TEST

/* ---------------------------------------------------------------------- loss */

/* _i: which of five packets is lost */
START_TEST(one_lost_packet_loses_the_whole_message_and_its_receive_serves_the_next)
{
	start(NULL);
	drop((uint64_t)_i, 1);
	receive(5, SIZE);
	send(1, 5 * MTU);
	check_silence();
	fill(p.am->buf, 5 * MTU, 8);
	send(2, 5 * MTU - 3);
	ck_assert_uint_eq(expect_wc(p.bcq, 5, IB_WC_SUCCESS).byte_len, 5 * MTU - 3);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU - 3);
	check_silence();
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 5 - (uint64_t)_i);
	ck_assert_uint_eq(counters(&hca[1]).seq_naks, 0);
	ck_assert_uint_eq(counters(&hca[0]).retransmits, 0);
}
END_TEST

/* _i: which of five packets is lost; the packets before it have been written */
START_TEST(a_lost_packet_of_a_write_ends_it_and_consumes_no_receive)
{
	static const char zero[5 * MTU];
	uint32_t before = (uint32_t)(_i - 1) * MTU;

	start(NULL);
	drop((uint64_t)_i, 1);
	post_recv(p.b, 2, NULL, 0);
	write_imm(1, 5 * MTU);
	check_silence();
	ck_assert_mem_eq(p.bm->buf, p.am->buf, before);
	ck_assert_mem_eq(p.bm->buf + before, zero, 5 * MTU - before);
	write_imm(3, 5 * MTU);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU);
}
END_TEST

/* _i: which packet is overtaken by the next */
START_TEST(a_packet_out_of_order_loses_the_message)
{
	start(NULL);
	fault(&hca[0], (struct soft_fault){
			       .action = SOFT_FAULT_HOLD, .n = (uint64_t)_i, .count = 1, .by = 1 });
	receive(5, SIZE);
	send(1, 4 * MTU);
	check_silence();
	send(2, 3 * MTU);
	ck_assert_uint_eq(expect_wc(p.bcq, 5, IB_WC_SUCCESS).byte_len, 3 * MTU);
	check_silence();
}
END_TEST

/*
 * _i: which of three packets is duplicated; a second first packet begins the message again, so the rest is out of
 * sequence
 */
START_TEST(a_packet_that_comes_twice_loses_the_message_unless_it_is_the_last)
{
	start(NULL);
	fault(&hca[0],
	      (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE, .n = (uint64_t)_i, .count = 1 });
	receive(5, SIZE);
	send(1, 3 * MTU);
	/*
	 * the copy leaves directly after the packet: only a duplicated first packet is followed by a packet that fits
	 */
	if (_i == 2)
		check_silence();
	else
		expect_wc(p.bcq, 5, IB_WC_SUCCESS);
}
END_TEST

/* Unreliable: the receiver does not recognise duplicates. */
START_TEST(a_message_of_one_packet_that_comes_twice_is_received_twice)
{
	start(NULL);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE, .n = 1, .count = 1 });
	receive(5, SIZE);
	receive(6, SIZE);
	send(1, 8);
	expect_wc(p.bcq, 5, IB_WC_SUCCESS);
	expect_wc(p.bcq, 6, IB_WC_SUCCESS);
}
END_TEST

START_TEST(a_message_may_begin_at_any_psn)
{
	struct qp_options o = { .type = IB_QPT_UC, .psn = 5000 };

	start(NULL);
	modify(p.b, IB_QPS_RESET, 0, NULL);
	to_init(p.b, &o);
	to_rtr(p.b, p.a, &o);
	receive(1, SIZE);
	send(2, 3 * MTU);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 3 * MTU);
}
END_TEST

START_TEST(a_send_that_finds_no_receive_is_dropped_silently)
{
	start(NULL);
	send(1, sizes[_i]);
	check_silence();
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped,
			  sizes[_i] ? (sizes[_i] + MTU - 1) / MTU : 1);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 0);
	receive(2, SIZE);
	check_silence();
	send(3, 9);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, 9);
}
END_TEST

/* Only the last packet needs a receive. */
START_TEST(a_write_with_immediate_that_finds_no_receive_loses_its_last_packet)
{
	static const char zero[MTU];
	uint32_t before = sizes[_i] ? (sizes[_i] - 1) / MTU * MTU : 0;

	start(NULL);
	write_imm(1, sizes[_i]);
	check_silence();
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 1);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, before);
	ck_assert_mem_eq(p.bm->buf + before, zero, MTU);
	post_recv(p.b, 2, NULL, 0);
	write_imm(3, sizes[_i]);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, sizes[_i]);
}
END_TEST

START_TEST(a_port_that_is_down_loses_what_is_sent)
{
	uint32_t port = 1;

	start(NULL);
	receive(1, 100);
	vendor(&hca[0], SOFT_PORT_DOWN, &port, sizeof(port));
	send(1, 100);
	check_silence();
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 1);
	vendor(&hca[0], SOFT_PORT_UP, &port, sizeof(port));
	send(2, 100);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
}
END_TEST

/* --------------------------------------------------------------------- threads */

#define SLOT   4096
#define ROUNDS (400 * effort())

static _Atomic uint32_t seen; /* number of the newest message received */
static _Atomic bool stop;

/* Every message has its number as immediate data, which determines its bytes: a message that arrives is complete. */
static void *sender(void *arg)
{
	uint32_t i, patience, done = 0;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		/* limits the messages that find no receive; no message is certain to arrive */
		for (patience = 500; patience && i > atomic_load(&seen) + 12; patience--)
			sched_yield();
		uint32_t slot = i % 8 * SLOT;
		struct ib_sge sge = sge_of(p.am, slot, 1 + i * 37 % (SLOT - 1));
		struct ib_send_wr wr = send_wr(i, IB_WR_SEND_WITH_IMM, &sge, IB_SEND_SIGNALED);

		while (i - done >= 8)
			expect_wc(p.acq, done++, IB_WC_SUCCESS);
		fill(p.am->buf + slot, sge.length, i);
		wr.ex.imm_data = i;
		post(p.a, &wr);
	}
	while (done < ROUNDS)
		expect_wc(p.acq, done++, IB_WC_SUCCESS);
	atomic_store(&stop, true);
	return NULL;
}

START_TEST(what_arrives_under_random_faults_is_whole_and_in_order)
{
	static char want[SLOT];
	pthread_t thread;
	uint32_t i, got = 0, last = 0, count;
	bool ended;
	uint64_t posted = 0;
	struct ib_sge sge;
	struct ib_wc wc;

	start(NULL);
	atomic_store(&seen, 0);
	atomic_store(&stop, false);
	if (_i) {
		fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .chance = 20000 });
		fault(&hca[0],
		      (struct soft_fault){ .action = SOFT_FAULT_HOLD, .chance = 10000, .by = 2 });
	}
	for (; posted < 16; posted++) {
		sge = sge_of(p.bm, posted % 16 * SLOT, SLOT);
		post_recv(p.b, posted, &sge, 1);
	}
	ck_assert_int_eq(pthread_create(&thread, NULL, sender, NULL), 0);
	for (;;) {
		ended = atomic_load(&stop);
		ck_assert_int_eq(ops->poll_cq(p.bcq->ci, 1, &wc, &count), AL_SUCCESS);
		if (!count && ended)
			break;
		if (!count)
			continue;
		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		ck_assert_uint_eq(wc.wr_id, got);
		i = wc.imm_data;
		ck_assert_uint_eq(wc.byte_len, 1 + i * 37 % (SLOT - 1));
		fill(want, wc.byte_len, i);
		ck_assert_mem_eq(p.bm->buf + wc.wr_id % 16 * SLOT, want, wc.byte_len);
		if (!_i) /* a delayed message of one packet may be overtaken by others */
			ck_assert(!got || i > last);
		got++;
		last = i > last ? i : last;
		atomic_store(&seen, last);
		sge = sge_of(p.bm, posted % 16 * SLOT, SLOT);
		post_recv(p.b, posted++, &sge, 1);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_ge(got, 12);
}
END_TEST

/* Posts sends and writes in every state of the queue pair; refusals do not matter. */
static void *spray(void *arg)
{
	struct qp *qp = arg;
	const struct ib_send_wr *bad;
	struct ib_sge sge = sge_of(p.am, 0, 9 * MTU);
	struct ib_send_wr wr[2];
	struct ib_wc wc[16];
	uint32_t count;

	wr[0] = send_wr(1, IB_WR_SEND, &sge, 0);
	wr[1] = send_wr(2, IB_WR_RDMA_WRITE, &sge, 0);
	wr[0].next = &wr[1];
	wr[1].wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr[1].wr.rdma.rkey = p.bm->ci->rkey;
	while (!atomic_load(&stop)) {
		ops->post_send(qp->ci, wr, &bad);
		ck_assert_int_eq(ops->poll_cq(qp->send_cq->ci, 16, wc, &count), AL_SUCCESS);
	}
	return NULL;
}

START_TEST(either_side_may_go_while_packets_are_on_their_way)
{
	struct qp_options o = { .type = IB_QPT_UC, .depth = 64 };
	pthread_t thread;
	uint32_t i;

	start(&o);
	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, spray, p.a), 0);
	for (i = 0; i < 60 * effort(); i++) {
		receive(i, SIZE / 2);
		switch (i % 4) {
		case 0: /* the receiver is reset */
			free_qp(p.b);
			p.b = new_qp(&hca[1], p.bcq, p.bcq, &o);
			to_init(p.b, &o);
			to_rtr(p.b, p.a, &o);
			break;
		case 1: /* the sender is reset: queued requests do not complete */
			ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			break;
		case 2: /* the sender is put into Error: everything completes */
			ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
			break;
		default:
			ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			to_init(p.a, &o);
			to_rtr(p.a, p.b, &o);
			to_rts(p.a, &o);
			sched_yield();
		}
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}
END_TEST

/*
 * The source memory is deregistered: its request fails, and the requests behind are flushed; then the queue pair
 * continues.
 */
START_TEST(memory_that_goes_is_a_local_protection_error_or_was_sent)
{
	struct qp_options o = { .depth = 64 };
	uint32_t i, j, failed;

	start(&o);
	for (i = 0; i < 30 * effort(); i++) {
		struct mr *mr = new_mr(&hca[0], 3 << 20, 0);
		struct ib_send_wr wr[8];
		struct ib_sge sge;
		struct ib_wc wc;

		sge = sge_of(mr, 0, 3 << 20);
		for (j = 0; j < 8; j++) {
			wr[j] = send_wr(j, IB_WR_RDMA_WRITE, &sge, IB_SEND_SIGNALED);
			wr[j].next = j < 7 ? &wr[j + 1] : NULL;
			wr[j].wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
			wr[j].wr.rdma.rkey = p.bm->ci->rkey;
		}
		post(p.a, wr);
		free_mr(mr);
		failed = 0;
		for (j = 0; j < 8; j++) {
			wc = wait_wc(p.acq);
			ck_assert_uint_eq(wc.wr_id, j);
			ck_assert(wc.status == (failed ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS) ||
				  (!failed && wc.status == IB_WC_LOC_PROT_ERR));
			failed += wc.status != IB_WC_SUCCESS;
		}
		ck_assert_int_eq(state_of(p.a), failed ? IB_QPS_SQE : IB_QPS_RTS);
		if (failed)
			ck_assert_int_eq(modify(p.a, IB_QPS_RTS, 0, NULL), AL_SUCCESS);
	}
	expect_empty(p.acq);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: UC");
	TCase *t = tcase_create("UC");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_write_of_any_size_arrives, 0, SIZES);
	tcase_add_loop_test(t, a_send_of_any_size_arrives_in_the_oldest_receive, 0, SIZES);
	tcase_add_loop_test(t, immediate_data_comes_with_a_send, 0, SIZES);
	tcase_add_loop_test(t, immediate_data_of_a_write_consumes_a_receive_and_not_its_buffer, 0,
			    SIZES);
	tcase_add_test(t, inline_data_is_taken_at_the_post);
	tcase_add_test(t, data_is_gathered_and_scattered);
	tcase_add_test(t, psns_go_round);
	tcase_add_test(t, an_unsignalled_request_completes_invisibly);
	tcase_add_test(t, the_first_packet_raises_communication_established);
	tcase_add_loop_test(
		t, one_lost_packet_loses_the_whole_message_and_its_receive_serves_the_next, 1, 6);
	tcase_add_loop_test(t, a_lost_packet_of_a_write_ends_it_and_consumes_no_receive, 1, 6);
	tcase_add_loop_test(t, a_packet_out_of_order_loses_the_message, 1, 4);
	tcase_add_loop_test(t, a_packet_that_comes_twice_loses_the_message_unless_it_is_the_last, 1,
			    4);
	tcase_add_test(t, a_message_of_one_packet_that_comes_twice_is_received_twice);
	tcase_add_test(t, a_message_may_begin_at_any_psn);
	tcase_add_loop_test(t, a_send_that_finds_no_receive_is_dropped_silently, 0, SIZES);
	tcase_add_loop_test(t, a_write_with_immediate_that_finds_no_receive_loses_its_last_packet,
			    0, SIZES);
	tcase_add_test(t, a_port_that_is_down_loses_what_is_sent);
	tcase_add_loop_test(t, what_arrives_under_random_faults_is_whole_and_in_order, 0, 2);
	tcase_add_test(t, either_side_may_go_while_packets_are_on_their_way);
	tcase_add_test(t, memory_that_goes_is_a_local_protection_error_or_was_sent);
	suite_add_tcase(s, t);
	return run_suite(s);
}
