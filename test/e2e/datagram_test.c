/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Datagrams through the whole stack over the software HCA, by the public API: a server answers each
 * client at the address that the request's completion and GRH contain (doc/guide-driver.md); and
 * the Access Layer's checks of datagrams.
 */
#include <stdatomic.h>

#include "test/unit/al/al_test.h"

#define QKEY 0x4242u
#define RECV_AT 0u
#define SEND_AT 8192u

static al_h al;
static struct test_end end[2]; /* client, server */

static void to_rts(struct test_end *e)
{
	struct ib_qp_attr attr = { .port_num = 1, .qkey = QKEY };

	ck_ok(test_modify(e->qp, IB_QPS_INIT, attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	ck_ok(test_modify(e->qp, IB_QPS_RTR, attr, IB_QP_STATE));
	ck_ok(test_modify(e->qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_SQ_PSN));
}

static void set_up(void)
{
	uint64_t guids[2];

	al = test_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++) {
		test_make_end(&end[i], al, guids[i], IB_QPT_UD);
		to_rts(&end[i]);
	}
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static struct ib_wc take(struct test_end *e)
{
	struct ib_wc wc = test_poll(e->cq);

	ck_assert_ptr_eq(wc.qp_context, e);
	return wc;
}

static al_status send_one(struct test_end *from, al_ah_h ah, uint32_t qpn, uint32_t length)
{
	struct ib_sge sge = { .addr = (uintptr_t)from->mem + SEND_AT, .length = length, .lkey = from->lkey };
	struct ib_send_wr wr = { .wr_id = 1,
				 .opcode = IB_WR_SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IB_SEND_SIGNALED,
				 .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY } };
	const struct ib_send_wr *bad = NULL;
	al_status status = al_post_send(from->qp, &wr, &bad);

	ck_assert(!status == !bad);
	return status;
}

/* _i: with a GRH, or without */
START_TEST(a_question_is_answered_to_the_queue_pair_that_asked)
{
	struct ib_ah_attr path = { .dlid = end[1].lid, .port_num = 1 };
	al_ah_h there, back;
	struct ib_wc wc;

	if (_i) {
		path.is_global = true;
		ck_ok(al_query_gid(end[1].ca, 1, 0, &path.grh.dgid));
	}
	memcpy(end[0].mem + SEND_AT, "question", 9);
	memcpy(end[1].mem + SEND_AT, "answer", 7);
	ck_ok(test_post_recv(&end[0], 10, RECV_AT, 100));
	ck_ok(test_post_recv(&end[1], 11, RECV_AT, 100));

	ck_ok(al_create_ah(end[0].pd, &path, &there));
	ck_ok(send_one(&end[0], there, end[1].qpn, 9));
	ck_ok(al_destroy_ah(there, NULL, NULL)); /* the posted request has copied the path */
	wc = take(&end[0]);
	ck_assert_uint_eq(wc.wr_id, 1);

	wc = take(&end[1]);
	ck_assert_uint_eq(wc.wr_id, 11);
	ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, IB_GRH_BYTES + 9);
	ck_assert_uint_eq(wc.wc_flags, _i ? IB_WC_GRH : 0);
	ck_assert_mem_eq(end[1].mem + RECV_AT + IB_GRH_BYTES, "question", 9);
	ck_ok(al_create_ah_from_wc(end[1].pd, &wc, end[1].mem + RECV_AT, wc.port_num, &back));
	ck_ok(send_one(&end[1], back, wc.src_qp, 7));
	ck_assert_int_eq(take(&end[1]).status, IB_WC_SUCCESS);

	wc = take(&end[0]);
	ck_assert_uint_eq(wc.wr_id, 10);
	ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.src_qp, end[1].qpn);
	ck_assert_uint_eq(wc.wc_flags, _i ? IB_WC_GRH : 0);
	ck_assert_mem_eq(end[0].mem + RECV_AT + IB_GRH_BYTES, "answer", 7);
	ck_ok(al_destroy_ah(back, AL_DESTROY_SYNC, NULL));
}
END_TEST

static atomic_int went_wrong; /* an al_status, from the callback */

/* Answers each request that has come, and arms the queue again. */
static void answer(void *context)
{
	struct test_end *server = context;
	al_status status = AL_SUCCESS;
	uint32_t count = 1;
	struct ib_wc wc;
	al_ah_h back;

	while (!status && !(status = al_poll_cq(server->cq, 1, &wc, &count)) && count) {
		if (wc.status || !(wc.opcode & IB_WC_RECV))
			continue;
		memcpy(server->mem + SEND_AT, server->mem + RECV_AT + IB_GRH_BYTES, 9);
		server->mem[SEND_AT]++;
		status = al_create_ah_from_wc(server->pd, &wc, server->mem + RECV_AT, wc.port_num, &back);
		if (!status)
			status = test_post_recv(server, 11, RECV_AT, 100);
		if (!status)
			status = send_one(server, back, wc.src_qp, 9);
		if (!status)
			status = al_destroy_ah(back, NULL, NULL);
	}
	if (!status)
		status = al_arm_cq(server->cq, AL_ARM_ANY, NULL);
	if (status)
		went_wrong = status;
}

/* _i: with a GRH, or without */
START_TEST(a_completion_callback_answers_too)
{
	struct ib_ah_attr path = { .port_num = 1 };
	struct test_end server;
	uint64_t guids[2];
	al_ah_h there;
	struct ib_wc wc;

	test_guids(al, guids, 2);
	test_make_end_told(&server, al, guids[1], IB_QPT_UD, answer);
	to_rts(&server);
	ck_ok(test_post_recv(&server, 11, RECV_AT, 100));
	ck_ok(al_arm_cq(server.cq, AL_ARM_ANY, NULL));
	path.dlid = server.lid;
	if (_i) {
		path.is_global = true;
		ck_ok(al_query_gid(server.ca, 1, 0, &path.grh.dgid));
	}
	ck_ok(al_create_ah(end[0].pd, &path, &there));
	for (int round = 0; round < 5; round++) {
		memcpy(end[0].mem + SEND_AT, "0uestion", 9);
		end[0].mem[SEND_AT] = (uint8_t)('a' + round);
		ck_ok(test_post_recv(&end[0], 10, RECV_AT, 100));
		ck_ok(send_one(&end[0], there, server.qpn, 9));
		for (int i = 0; i < 2; i++) { /* the request's completion, then the response */
			wc = take(&end[0]);
			ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
			if (!(wc.opcode & IB_WC_RECV))
				continue;
			ck_assert_uint_eq(wc.src_qp, server.qpn);
			ck_assert_uint_eq(wc.wc_flags, _i ? IB_WC_GRH : 0);
			ck_assert_int_eq(end[0].mem[RECV_AT + IB_GRH_BYTES], 'b' + round);
			ck_assert_mem_eq(end[0].mem + RECV_AT + IB_GRH_BYTES + 1, "uestion", 8);
		}
		ck_status((al_status)went_wrong, AL_SUCCESS);
	}
	ck_ok(al_destroy_ah(there, AL_DESTROY_SYNC, NULL));
	test_free_end(&server);
}
END_TEST

static uint64_t dropped_at(const struct test_end *e)
{
	struct ib_port_attr attr;

	ck_ok(al_query_port(e->ca, 1, &attr));
	return attr.counters.rcv_dropped;
}

/* A process that knows a queue pair's number and Q_Key can not put it into Error by a packet. */
START_TEST(a_datagram_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next)
{
	struct ib_ah_attr path = { .dlid = end[1].lid, .port_num = 1 };
	uint64_t dropped = dropped_at(&end[1]);
	struct ib_wc wc;
	al_ah_h ah;

	ck_ok(al_create_ah(end[0].pd, &path, &ah));
	ck_ok(test_post_recv(&end[1], 11, RECV_AT, IB_GRH_BYTES + 6));
	memset(end[0].mem + SEND_AT, 'x', 7);
	ck_ok(send_one(&end[0], ah, end[1].qpn, 7));
	ck_assert_int_eq(take(&end[0]).status, IB_WC_SUCCESS);
	memcpy(end[0].mem + SEND_AT, "short", 6);
	ck_ok(send_one(&end[0], ah, end[1].qpn, 6));
	ck_assert_int_eq(take(&end[0]).status, IB_WC_SUCCESS);
	wc = take(&end[1]);
	ck_assert_uint_eq(wc.wr_id, 11);
	ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, IB_GRH_BYTES + 6);
	ck_assert_mem_eq(end[1].mem + RECV_AT + IB_GRH_BYTES, "short", 6);
	ck_assert_uint_eq(dropped_at(&end[1]), dropped + 1);
	ck_assert_int_eq(test_state(end[1].qp), IB_QPS_RTS);
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(a_wrong_address_handle_is_refused)
{
	struct ib_ah_attr path = { .dlid = end[1].lid, .port_num = 1 };
	al_ah_h good, foreign, gone, other_ca;
	al_pd_h pd;

	ck_ok(al_alloc_pd(end[0].ca, NULL, &pd));
	ck_ok(al_create_ah(pd, &path, &foreign));
	ck_ok(al_create_ah(end[1].pd, &path, &other_ca));
	ck_ok(al_create_ah(end[0].pd, &path, &good));
	ck_ok(al_create_ah(end[0].pd, &path, &gone));
	ck_ok(al_destroy_ah(gone, AL_DESTROY_SYNC, NULL));
	ck_status(send_one(&end[0], foreign, end[1].qpn, 1), AL_INVALID_PD);
	ck_status(send_one(&end[0], other_ca, end[1].qpn, 1), AL_INVALID_HANDLE);
	ck_status(send_one(&end[0], gone, end[1].qpn, 1), AL_INVALID_HANDLE);
	ck_status(send_one(&end[0], NULL, end[1].qpn, 1), AL_INVALID_HANDLE);
	ck_status(send_one(&end[0], (al_ah_h)end[0].qp, end[1].qpn, 1), AL_INVALID_HANDLE);
	ck_ok(send_one(&end[0], good, end[1].qpn, 1));
	ck_assert_int_eq(take(&end[0]).status, IB_WC_SUCCESS);
}
END_TEST

/* The state table allows RTS from SQE, with the attributes that a datagram queue pair may change
 * then. */
START_TEST(the_send_queue_recovers_from_an_error)
{
	struct ib_ah_attr path = { .dlid = end[1].lid, .port_num = 1 };
	struct ib_qp_attr attr = { .cur_qp_state = IB_QPS_SQE, .qkey = QKEY };
	al_ah_h ah;

	ck_ok(al_create_ah(end[0].pd, &path, &ah));
	ck_ok(send_one(&end[0], ah, end[1].qpn, 5000)); /* more than the MTU */
	ck_assert_int_eq(take(&end[0]).status, IB_WC_LOC_LEN_ERR);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_SQE);
	ck_ok(send_one(&end[0], ah, end[1].qpn, 1));
	ck_assert_int_eq(take(&end[0]).status, IB_WC_WR_FLUSH_ERR);
	ck_status(test_modify(end[0].qp, IB_QPS_SQD, attr, IB_QP_STATE), AL_INVALID_TRANSITION);
	ck_status(test_modify(end[0].qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_SQ_PSN), AL_INVALID_ATTRIBUTE);
	ck_ok(test_modify(end[0].qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_QKEY));
	ck_ok(send_one(&end[0], ah, end[1].qpn, 1));
	ck_assert_int_eq(take(&end[0]).status, IB_WC_SUCCESS);
}
END_TEST

/* Both ends are members, and the client sends: each end gets one copy, the client through its own
 * HCA. */
START_TEST(a_multicast_datagram_comes_once_to_each_member)
{
	struct ib_ah_attr path = { .dlid = 0xc00a, .port_num = 1, .is_global = true };
	struct ib_wc wc;
	bool sent = false;
	uint32_t count;
	al_ah_h ah;

	memcpy(path.grh.dgid.raw, "\xff\x12\x40\x1b", 4);
	path.grh.dgid.raw[15] = 9;
	ck_ok(al_create_ah(end[0].pd, &path, &ah));
	memcpy(end[0].mem + SEND_AT, "to all", 7);
	for (int i = 0; i < 2; i++) {
		ck_ok(test_post_recv(&end[i], 10, RECV_AT, 100));
		ck_ok(test_post_recv(&end[i], 11, RECV_AT + 200, 100));
		ck_ok(al_attach_mcast(end[i].qp, &path.grh.dgid, path.dlid));
		ck_ok(al_attach_mcast(end[i].qp, &path.grh.dgid, path.dlid));
	}
	ck_ok(send_one(&end[0], ah, IB_QPN_MULTICAST, 7));
	for (int n = 0; n < 2; n++) { /* the completion of the send, and of the client's copy */
		wc = take(&end[0]);
		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		sent |= wc.wr_id == 1;
		ck_assert(wc.wr_id == 1 || wc.wr_id == 10);
	}
	ck_assert(sent);
	wc = take(&end[1]);
	ck_assert_uint_eq(wc.wr_id, 10);
	for (int i = 0; i < 2; i++) {
		ck_assert_mem_eq(end[i].mem + RECV_AT + IB_GRH_BYTES, "to all", 7);
		ck_assert_mem_eq(end[i].mem + RECV_AT + 24, path.grh.dgid.raw, 16);
	}
	ck_assert_uint_eq(wc.byte_len, IB_GRH_BYTES + 7);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_GRH);
	ck_assert_uint_eq(wc.src_qp, end[0].qpn);

	ck_ok(al_detach_mcast(end[0].qp, &path.grh.dgid, path.dlid));
	ck_ok(send_one(&end[0], ah, IB_QPN_MULTICAST, 7));
	ck_assert_uint_eq(take(&end[0]).wr_id, 1);
	ck_assert_uint_eq(take(&end[1]).wr_id, 11);
	for (int i = 0; i < 2; i++) {
		ck_ok(al_poll_cq(end[i].cq, 1, &wc, &count));
		ck_assert_uint_eq(count, 0);
	}
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("datagrams");
	TCase *tcase = tcase_create("public API");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, a_question_is_answered_to_the_queue_pair_that_asked, 0, 2);
	tcase_add_loop_test(tcase, a_completion_callback_answers_too, 0, 2);
	tcase_add_test(tcase, a_datagram_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next);
	tcase_add_test(tcase, a_multicast_datagram_comes_once_to_each_member);
	tcase_add_test(tcase, a_wrong_address_handle_is_refused);
	tcase_add_test(tcase, the_send_queue_recovers_from_an_error);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
