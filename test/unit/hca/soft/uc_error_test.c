/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Unreliable connection: a fault of the receiver drops the message silently or ends the receiver; an error of the
 * sender stops the sender's send queue and nothing else; bad requests are refused.
 */
#include "uc_test.h"

/* -------------------------------------------------------- errors at the receiver */

/* _i: refused by the key, by the queue pair's permissions, by the region's bounds */
START_TEST(a_write_that_is_not_permitted_is_dropped_silently)
{
	static const char zero[3 * MTU];
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(&(struct qp_options){ .no_access = _i == 1 ? IB_ACCESS_REMOTE_WRITE : 0 });
	sge = sge_of(p.am, 0, 3 * MTU);
	wr = send_wr(1, IB_WR_RDMA_WRITE, &sge, IB_SEND_SIGNALED);
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf + (_i == 2 ? SIZE - 3 * MTU + 1 : 0);
	wr.wr.rdma.rkey = p.bm->ci->rkey ^ (_i == 0);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	check_silence();
	ck_assert_mem_eq(p.bm->buf, zero, 3 * MTU);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 3);
	receive(2, 8);
	send(3, 8);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
}
END_TEST

/* Class D of IBTA 9.9.3. _i: packets of the message; each of two, as one train or packet by packet. */
START_TEST(a_message_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next)
{
	static const char zero[SIZE / 2];
	uint32_t packets = 1 + (uint32_t)_i / 2, room = packets * MTU - 1;
	bool one_by_one = _i % 2;

	start(NULL);
	if (one_by_one)
		/* the cable is in, so the rule has no effect but to meet each packet */
		fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_PORT_UP });
	receive(1, room);
	receive(2, SIZE);
	send(3, packets * MTU);
	send(4, (packets + 1) * MTU);
	check_silence();
	ck_assert_mem_eq(p.bm->buf + room, zero, SIZE / 2);
	/* the last two packets of the second message: the packet behind one that does not fit is lost, too */
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped,
			  one_by_one ? 1 + 2 : packets + packets + 1);
	fill(p.am->buf, room, 2);
	send(5, room);
	ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).byte_len, room);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, room);
	ck_assert_mem_eq(p.bm->buf + room, zero, SIZE / 2);
	send(6, 3 * MTU);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	check_silence();
}
END_TEST

START_TEST(a_receive_with_a_wrong_key_ends_the_receiver)
{
	struct ib_sge sge;

	start(NULL);
	sge = sge_of(p.bm, 0, 100);
	sge.lkey ^= 1;
	post_recv(p.b, 1, &sge, 1);
	send(3, 8);
	expect_wc(p.bcq, 1, IB_WC_LOC_PROT_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
}
END_TEST

/* _i: 0 the sender is UC and the receiver RC, 1 the reverse */
START_TEST(a_queue_pair_of_another_type_drops_and_counts)
{
	struct qp_options o = { .type = _i ? IB_QPT_UC : IB_QPT_RC },
			  other = { .timeout = 5, .retry_cnt = 0xff };
	struct qp *b;

	start(NULL);
	if (_i)
		other.type = IB_QPT_RC;
	else
		other.type = IB_QPT_UC;
	b = new_qp(&hca[1], p.bcq, p.bcq, &o);
	to_init(b, &o);
	to_rtr(b, p.a, &o);
	modify(p.a, IB_QPS_RESET, 0, NULL);
	free_qp(p.a);
	p.a = new_qp(&hca[0], p.acq, p.acq, &other);
	to_init(p.a, &other);
	to_rtr(p.a, b, &other);
	to_rts(p.a, &other);
	post_recv(b, 1, NULL, 0);
	post(p.a, &(struct ib_send_wr){
			  .wr_id = 2, .send_flags = IB_SEND_SIGNALED, .opcode = IB_WR_SEND });
	expect_wc(p.acq, 2, _i ? IB_WC_RETRY_EXC_ERR : IB_WC_SUCCESS);
	expect_empty(p.bcq);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 1);
	ck_assert_int_eq(state_of(b), IB_QPS_RTR);
	free_qp(b);
}
END_TEST

/* The sender cuts packets otherwise than the receiver expects. */
START_TEST(a_peer_with_another_mtu_is_not_heard)
{
	struct qp_options o = { .type = IB_QPT_UC, .mtu = IB_MTU_512 };

	start(NULL);
	modify(p.b, IB_QPS_RESET, 0, NULL);
	to_init(p.b, &o);
	to_rtr(p.b, p.a, &o);
	receive(1, SIZE);
	send(2, 3 * MTU);
	expect_empty(p.bcq);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 3);
	send(3, MTU); /* a message of one packet, within both MTUs */
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
}
END_TEST

/* --------------------------------------------------------- errors at the sender */

/* A chain of five requests, of which the third fails; _i: the error. */
static const ib_wc_status local_errors[] = { IB_WC_LOC_PROT_ERR, IB_WC_LOC_LEN_ERR };

static void break_sends(ib_wc_status status)
{
	struct ib_sge sge[5];
	struct ib_send_wr wr[5];
	int i;

	for (i = 0; i < 5; i++) {
		sge[i] = sge_of(p.am, 0, 2 * MTU);
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, &sge[i], i == 1 ? IB_SEND_SIGNALED : 0);
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	if (status == IB_WC_LOC_PROT_ERR)
		sge[2].lkey ^= 1;
	else
		sge[2].length = (1u << 30) + 1;
	post(p.a, wr);
}

START_TEST(a_local_error_stops_the_send_queue_and_nothing_else)
{
	struct ib_sge sge;
	int i;

	start(NULL);
	for (i = 0; i < 3; i++)
		receive((uint64_t)i + 10, SIZE);
	break_sends(local_errors[_i]);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, local_errors[_i]);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 4, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);
	ck_assert_int_eq(state_of(p.a), IB_QPS_SQE);
	ck_assert_uint_eq(p.a->events, 0);
	expect_wc(p.bcq, 10, IB_WC_SUCCESS);
	expect_wc(p.bcq, 11, IB_WC_SUCCESS);
	expect_empty(p.bcq);

	/* in SQE: posted receives stay, messages are received, sends are flushed */
	sge = sge_of(p.am, SIZE / 2, 700);
	post_recv(p.a, 20, &sge, 1);
	fill(p.bm->buf, 700, 9);
	sge = sge_of(p.bm, 0, 700);
	post(p.b, &(struct ib_send_wr){ .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND });
	expect_wc(p.acq, 20, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf + SIZE / 2, p.bm->buf, 700);
	post(p.a, &(struct ib_send_wr){ .wr_id = 21, .opcode = IB_WR_SEND });
	expect_wc(p.acq, 21, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.bcq);

	/* and back to RTS */
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_CUR_STATE,
				&(struct ib_qp_attr){ .cur_qp_state = IB_QPS_SQE }),
			 AL_SUCCESS);
	send(22, 5 * MTU);
	expect_wc(p.bcq, 12, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 5 * MTU);
	check_silence();
}
END_TEST

START_TEST(from_sqe_it_may_be_reset_or_ended)
{
	start(NULL);
	break_sends(IB_WC_LOC_PROT_ERR);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_LOC_PROT_ERR);
	post_recv(p.a, 20, NULL, 0);
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, 0, NULL), AL_INVALID_TRANSITION);
	ck_assert_int_eq(modify(p.a, IB_QPS_SQE, 0, NULL), AL_INVALID_TRANSITION);
	if (_i) {
		ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		expect_empty(p.acq);
		return;
	}
	ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 4, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 20, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);
}
END_TEST

START_TEST(sqe_is_entered_by_itself_only)
{
	start(NULL);
	ck_assert_int_eq(modify(p.a, IB_QPS_SQE, 0, NULL), AL_INVALID_TRANSITION);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
}
END_TEST

START_TEST(sqd_drains)
{
	start(NULL);
	receive(1, SIZE);
	receive(2, SIZE);
	send(1, 100);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY,
				&(struct ib_qp_attr){ .en_sqd_async_notify = true }),
			 AL_SUCCESS);
	wait_bits(&p.a->events, 1u << IB_EVENT_SQ_DRAINED);
	post(p.a, &(struct ib_send_wr){
			  .wr_id = 2, .send_flags = IB_SEND_SIGNALED, .opcode = IB_WR_SEND });
	expect_empty(p.acq);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
}
END_TEST

/*
 * A started request is drained, and its memory is deregistered meanwhile. _i: steps before the queue is told to
 * drain. In virtual time; a rule of faults that meets no packet makes the HCA send packet by packet.
 */
START_TEST(an_error_while_draining_leads_from_sqd_to_sqe)
{
	struct qp_options o = { .type = IB_QPT_UC };
	struct ib_send_wr wr[2];
	struct ib_qp_attr attr = { .en_sqd_async_notify = true };
	struct ib_sge sge;
	struct mr *gone;
	int i;

	up("progress=manual seed=1");
	start(&o);
	drop(1ull << 60, 1);
	gone = new_mr(&hca[0], 3 << 20, 0);
	sge = sge_of(gone, 0, 3 << 20);
	wr[0] = send_wr(1, IB_WR_RDMA_WRITE, &sge, IB_SEND_SIGNALED);
	wr[0].wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr[0].wr.rdma.rkey = p.bm->ci->rkey;
	wr[0].next = &wr[1];
	wr[1] = send_wr(2, IB_WR_SEND, NULL, 0);
	post(p.a, wr);
	for (i = 0; i < _i; i++)
		step();
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY, &attr), AL_SUCCESS);
	ck_assert_int_eq(ops->query_qp(p.a->ci, &attr), AL_SUCCESS);
	ck_assert(attr.sq_draining);
	free_mr(gone);
	expect_wc(p.acq, 1, IB_WC_LOC_PROT_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_SQE);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	ck_assert_uint_eq(p.a->events, 0); /* the queue has not drained */

	attr.cur_qp_state = IB_QPS_SQD; /* the state before */
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_CUR_STATE, &attr), AL_INVALID_STATE);
	attr.cur_qp_state = IB_QPS_SQE;
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_CUR_STATE, &attr), AL_SUCCESS);
	receive(3, 100);
	send(4, 100);
	expect_wc(p.bcq, 3, IB_WC_SUCCESS);
	expect_empty(p.acq);
	teardown();
}
END_TEST

/* Posts three sends; the second send's memory stays registered. */
static void post_three(const struct mr *gone)
{
	struct ib_sge sge[3] = { sge_of(gone, 0, 100), sge_of(p.am, 0, 100), sge_of(gone, 0, 100) };
	struct ib_send_wr wr[3];
	int i;

	for (i = 0; i < 3; i++) {
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, &sge[i], IB_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	post(p.a, wr);
}

/*
 * All three sends are under way when the memory of the first and the third is deregistered: they complete in one
 * pass.
 */
START_TEST(after_a_failed_send_none_succeeds_and_none_fails_by_itself)
{
	struct mr *gone;
	int i;

	up("progress=manual seed=1");
	start(NULL);
	gone = new_mr(&hca[0], 4096, 0);
	for (i = 0; i < 3; i++)
		receive((uint64_t)i, 100);
	post_three(gone);
	for (i = 0; i < 3; i++)
		step_choice(0); /* runs the sender */
	free_mr(gone);
	expect_wc(p.acq, 0, IB_WC_LOC_PROT_ERR);
	expect_wc(p.acq, 1, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_SQE);
	teardown();
}
END_TEST

START_TEST(what_was_posted_in_sqe_is_not_sent_after_it)
{
	up("progress=manual seed=1");
	start(NULL);
	receive(10, SIZE);
	break_sends(IB_WC_LOC_LEN_ERR);
	receive(11, SIZE);
	receive(12, SIZE);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_LOC_LEN_ERR);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 4, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.bcq, 10, IB_WC_SUCCESS);
	expect_wc(p.bcq, 11, IB_WC_SUCCESS);
	post(p.a, &(struct ib_send_wr){ .wr_id = 20, .opcode = IB_WR_SEND });
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_CUR_STATE,
				&(struct ib_qp_attr){ .cur_qp_state = IB_QPS_SQE }),
			 AL_SUCCESS);
	expect_wc(p.acq, 20, IB_WC_WR_FLUSH_ERR);
	send(21, 100);
	ck_assert_uint_eq(expect_wc(p.bcq, 12, IB_WC_SUCCESS).byte_len, 100);
	teardown();
}
END_TEST

/* ------------------------------------------------------------- bad work requests */

static const struct {
	ib_wr_opcode opcode;
	uint32_t flags, num_sge, length;
	al_status want;
} bad_wrs[] = {
	{ IB_WR_RDMA_READ, 0, 1, 8, AL_INVALID_OPCODE },
	{ IB_WR_ATOMIC_CMP_AND_SWP, 0, 1, 8, AL_INVALID_OPCODE },
	{ IB_WR_ATOMIC_FETCH_AND_ADD, 0, 1, 8, AL_INVALID_OPCODE },
	{ IB_WR_SEND_WITH_INV, 0, 1, 8, AL_UNSUPPORTED },
	{ IB_WR_BIND_MW, 0, 1, 8, AL_UNSUPPORTED },
	{ IB_WR_OPCODES, 0, 1, 8, AL_INVALID_OPCODE },
	{ (ib_wr_opcode)0x7fffffff, 0, 1, 8, AL_INVALID_OPCODE },
	{ IB_WR_SEND, 1 << 4, 1, 8, AL_INVALID_OPCODE },
	{ IB_WR_SEND, 0, 5, 8, AL_INVALID_SGE },
	{ IB_WR_SEND, 0, UINT32_MAX, 8, AL_INVALID_SGE },
	{ IB_WR_SEND, 0, 2, UINT32_MAX, AL_INVALID_SGE },
	{ IB_WR_SEND, IB_SEND_INLINE, 1, 65, AL_INVALID_SGE },
	{ IB_WR_RDMA_WRITE, IB_SEND_INLINE, 1, 65, AL_INVALID_SGE },
};

START_TEST(a_bad_request_stops_the_chain_there_and_nothing_else)
{
	struct ib_sge sge[4];
	struct ib_send_wr wr[3];
	const struct ib_send_wr *bad = NULL;
	int i;

	start(&(struct qp_options){ .inline_data = 64 });
	for (i = 0; i < 4; i++)
		sge[i] = sge_of(p.am, 0, bad_wrs[_i].length);
	for (i = 0; i < 3; i++) {
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		post_recv(p.b, (uint64_t)i, NULL, 0);
	}
	wr[1].opcode = bad_wrs[_i].opcode;
	wr[1].send_flags |= bad_wrs[_i].flags;
	wr[1].sg_list = sge;
	wr[1].num_sge = bad_wrs[_i].num_sge;
	ck_assert_int_eq(ops->post_send(p.a->ci, wr, &bad), bad_wrs[_i].want);
	ck_assert_ptr_eq(bad, &wr[1]);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	expect_wc(p.bcq, 0, IB_WC_SUCCESS);
	check_silence();
	post(p.a, &wr[2]);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: UC errors");
	TCase *t = tcase_create("UC errors");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_write_that_is_not_permitted_is_dropped_silently, 0, 3);
	tcase_add_loop_test(
		t, a_message_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next, 0,
		6);
	tcase_add_test(t, a_receive_with_a_wrong_key_ends_the_receiver);
	tcase_add_loop_test(t, a_queue_pair_of_another_type_drops_and_counts, 0, 2);
	tcase_add_test(t, a_peer_with_another_mtu_is_not_heard);
	tcase_add_loop_test(t, a_local_error_stops_the_send_queue_and_nothing_else, 0, 2);
	tcase_add_loop_test(t, from_sqe_it_may_be_reset_or_ended, 0, 2);
	tcase_add_test(t, sqe_is_entered_by_itself_only);
	tcase_add_test(t, sqd_drains);
	tcase_add_loop_test(t, a_bad_request_stops_the_chain_there_and_nothing_else, 0,
			    sizeof(bad_wrs) / sizeof(*bad_wrs));
	suite_add_tcase(s, t);
	t = tcase_create("in virtual time");
	tcase_add_loop_test(t, an_error_while_draining_leads_from_sqd_to_sqe, 1, 5);
	tcase_add_test(t, after_a_failed_send_none_succeeds_and_none_fails_by_itself);
	tcase_add_test(t, what_was_posted_in_sqe_is_not_sent_after_it);
	suite_add_tcase(s, t);
	return run_suite(s);
}
