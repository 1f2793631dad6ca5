/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Unreliable datagram: errors and the queues that they stop, bad requests, and many threads. */
#include "ud_test.h"

#include <sched.h>

/* -------------------------------------------------------------------- errors */

/* Class D of IBTA 9.9.3. */
START_TEST(a_datagram_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next)
{
	static const char zero[1000];

	start("", NULL);
	receive(1, GRH + 99);
	receive(2, SIZE);
	send(3, 100);
	check_silence(1);
	ck_assert_mem_eq(p.bm->buf, zero, sizeof(zero));
	send(4, 99);
	ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).byte_len, GRH + 99);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 99);
	ck_assert_mem_eq(p.bm->buf + GRH + 99, zero, sizeof(zero));
	send(5, 100);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	check_silence(1);
	finish();
}
END_TEST

START_TEST(a_receive_without_room_for_the_grh_takes_no_datagram)
{
	start("", NULL);
	receive(1, GRH - 1);
	send(2, 0);
	send(3, 1);
	check_silence(2);
	finish();
}
END_TEST

START_TEST(a_receive_with_a_wrong_key_ends_the_receiver)
{
	struct ib_sge sge;

	start("", NULL);
	sge = sge_of(p.bm, 0, 200);
	sge.lkey ^= 1;
	post_recv(p.b, 1, &sge, 1);
	send(3, 8);
	expect_wc(p.bcq, 1, IB_WC_LOC_PROT_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
	finish();
}
END_TEST

/* _i: more than the MTU; a wrong key */
START_TEST(a_local_error_stops_the_send_queue_and_nothing_else)
{
	struct ib_sge sge[4];
	struct ib_send_wr wr[4];
	int i;

	start("mtu=1024", NULL);
	for (i = 0; i < 4; i++) {
		sge[i] = sge_of(p.am, 0, 1024);
		wr[i] = datagram((uint64_t)i, &sge[i], i ? 0 : IB_SEND_SIGNALED);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
		receive((uint64_t)i + 10, SIZE);
	}
	if (_i)
		sge[1].lkey ^= 1;
	else
		sge[1].length++;
	post(p.a, wr);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, _i ? IB_WC_LOC_PROT_ERR : IB_WC_LOC_LEN_ERR);
	expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.bcq, 10, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	ck_assert_int_eq(state_of(p.a), IB_QPS_SQE);

	/* messages are still received */
	sge[0] = sge_of(p.am, SIZE / 2, 100);
	post_recv(p.a, 20, &sge[0], 1);
	{
		struct ib_ah_attr path = path_to(&hca[0], 1);
		struct ci_ah *back = new_ah(&hca[1], NULL, &path);

		wr[0] = datagram(21, NULL, IB_SEND_SIGNALED);
		wr[0].wr.ud.ah = (al_ah_h)back;
		wr[0].wr.ud.remote_qpn = p.a->ci->qp_num;
		post(p.b, &wr[0]);
		expect_wc(p.bcq, 21, IB_WC_SUCCESS);
		expect_wc(p.acq, 20, IB_WC_SUCCESS);
		free_ah(back);
	}
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_CUR_STATE | IB_QP_QKEY,
				&(struct ib_qp_attr){ .cur_qp_state = IB_QPS_SQE, .qkey = QKEY }),
			 AL_SUCCESS);
	send(22, 1024);
	expect_wc(p.bcq, 11, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 1024);
	finish();
}
END_TEST

/* A port with a smaller MTU does not take the packet. */
START_TEST(a_packet_larger_than_the_receivers_mtu_is_an_error_there)
{
	start("[hca 1] mtu=512", NULL);
	receive(1, SIZE);
	send(2, 513);
	check_silence(1);
	ck_assert_uint_eq(counters(&hca[1]).rcv_errors, 1);
	send(3, 512);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	finish();
}
END_TEST

/* The faults of a request that its post refuses. */
enum wrong { OPCODE, FLAGS, SGES, OVERFLOW, INLINE, NO_AH, FOREIGN_AH, OTHER_PORT, QPN };

static const struct {
	enum wrong what;
	uint32_t value;
	al_status want;
} bad_wrs[] = {
	{ OPCODE, IB_WR_RDMA_WRITE, AL_INVALID_OPCODE },
	{ OPCODE, IB_WR_RDMA_WRITE_WITH_IMM, AL_INVALID_OPCODE },
	{ OPCODE, IB_WR_RDMA_READ, AL_INVALID_OPCODE },
	{ OPCODE, IB_WR_ATOMIC_CMP_AND_SWP, AL_INVALID_OPCODE },
	{ OPCODE, IB_WR_ATOMIC_FETCH_AND_ADD, AL_INVALID_OPCODE },
	{ OPCODE, IB_WR_SEND_WITH_INV, AL_UNSUPPORTED },
	{ OPCODE, IB_WR_OPCODES, AL_INVALID_OPCODE },
	{ FLAGS, 1 << 4, AL_INVALID_OPCODE },
	{ SGES, 5, AL_INVALID_SGE },
	{ OVERFLOW, UINT32_MAX, AL_INVALID_SGE },
	{ INLINE, 65, AL_INVALID_SGE },
	{ NO_AH, 0, AL_INVALID_HANDLE },
	{ FOREIGN_AH, 0, AL_INVALID_PD },
	{ OTHER_PORT, 0, AL_INVALID_PORT },
	{ QPN, 1 << 24, AL_INVALID_PARAMETER },
};

START_TEST(a_bad_request_stops_the_chain_there_and_nothing_else)
{
	struct ci_ah *other = NULL;
	struct ci_pd *pd = NULL;
	struct ib_ah_attr path;
	struct ib_sge sge[4];
	struct ib_send_wr wr[3];
	const struct ib_send_wr *bad = NULL;
	int i;

	start("ports=2", &(struct qp_options){ .inline_data = 64 });
	path = path_to(&hca[1], 1);
	for (i = 0; i < 3; i++) {
		wr[i] = datagram((uint64_t)i, NULL, IB_SEND_SIGNALED);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		receive((uint64_t)i, GRH);
	}
	for (i = 0; i < 4; i++)
		sge[i] = sge_of(p.am, 0, 8);
	wr[1].sg_list = sge;
	wr[1].num_sge = 1;
	switch (bad_wrs[_i].what) {
	case OPCODE:
		wr[1].opcode = (ib_wr_opcode)bad_wrs[_i].value;
		break;
	case FLAGS:
		wr[1].send_flags |= bad_wrs[_i].value;
		break;
	case SGES:
		wr[1].num_sge = bad_wrs[_i].value;
		break;
	case OVERFLOW:
		sge[0].length = sge[1].length = bad_wrs[_i].value;
		wr[1].num_sge = 2;
		break;
	case INLINE:
		wr[1].send_flags |= IB_SEND_INLINE;
		sge[0].length = bad_wrs[_i].value;
		break;
	case NO_AH:
		wr[1].wr.ud.ah = NULL;
		break;
	case FOREIGN_AH:
		pd = new_pd(&hca[0]);
		other = new_ah(&hca[0], pd, &path);
		wr[1].wr.ud.ah = (al_ah_h)other;
		break;
	case OTHER_PORT:
		path.port_num = 2;
		other = new_ah(&hca[0], NULL, &path);
		wr[1].wr.ud.ah = (al_ah_h)other;
		break;
	case QPN:
		wr[1].wr.ud.remote_qpn = bad_wrs[_i].value;
	}
	ck_assert_int_eq(ops->post_send(p.a->ci, wr, &bad), bad_wrs[_i].want);
	ck_assert_ptr_eq(bad, &wr[1]);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	expect_wc(p.bcq, 0, IB_WC_SUCCESS);
	check_silence(0);
	post(p.a, &wr[2]);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	if (other)
		free_ah(other);
	if (pd)
		free_pd(pd);
	finish();
}
END_TEST

/* ------------------------------------------------------------------- threads */

#define SENDERS 3
#define SLOT    2048
#define SLOTS   64
#define ROUNDS  (400 * effort())

static struct sender {
	struct qp *qp;
	struct cq *cq;
	struct mr *mr;
	pthread_t thread;
} senders[SENDERS];

static _Atomic uint32_t received, sent; /* the sum of all threads; limits messages that find no receive */
static _Atomic uint32_t ended;

/* Immediate data: the numbers of the sender and the message, which determine length and bytes. */
static uint32_t length_of(uint32_t imm)
{
	return imm * 37 % SLOT;
}

static void *send_many(void *arg)
{
	struct sender *me = arg;
	uint32_t who = (uint32_t)(me - senders) << 24, i, done = 0, patience;

	for (i = 0; i < ROUNDS; i++) {
		uint32_t imm = who | i, at = i % 8 * SLOT;
		struct ib_sge sge = sge_of(me->mr, at, length_of(imm));
		struct ib_send_wr wr = datagram(i, &sge, IB_SEND_SIGNALED);

		while (i - done >= 8)
			expect_wc(me->cq, done++, IB_WC_SUCCESS);
		for (patience = 500;
		     patience && atomic_load(&sent) - atomic_load(&received) > SLOTS / 2;
		     patience--)
			sched_yield();
		fill(me->mr->buf + at, sge.length, imm);
		wr.opcode = IB_WR_SEND_WITH_IMM;
		wr.ex.imm_data = imm;
		atomic_fetch_add(&sent, 1);
		post(me->qp, &wr);
	}
	while (done < ROUNDS)
		expect_wc(me->cq, done++, IB_WC_SUCCESS);
	atomic_fetch_add(&ended, 1);
	return NULL;
}

/*
 * A message that arrives is complete, has the source that it names, and is in that sender's order; lost messages are
 * counted.
 */
START_TEST(many_send_to_one_and_order_is_kept)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = QKEY, .depth = SLOTS };
	static char want[SLOT];
	uint32_t i, got = 0, count, who, last[SENDERS] = { 0 };
	struct ib_wc wc;
	bool over;

	start("", &o);
	atomic_store(&received, 0);
	atomic_store(&sent, 0);
	atomic_store(&ended, 0);
	for (i = 0; i < SLOTS; i++) {
		struct ib_sge sge = sge_of(p.bm, (uint64_t)i * 4096, 4096);

		post_recv(p.b, i, &sge, 1);
	}
	for (i = 0; i < SENDERS; i++) {
		senders[i].cq = new_cq(&hca[0], 64, AL_CQ_NOTIFY_PENDING);
		senders[i].mr = new_mr(&hca[0], 8 * SLOT, 0);
		senders[i].qp = new_qp(&hca[0], senders[i].cq, senders[i].cq, &o);
		to_init(senders[i].qp, &o);
		to_rtr(senders[i].qp, NULL, &o);
		to_rts(senders[i].qp, &o);
	}
	for (i = 0; i < SENDERS; i++)
		ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]),
				 0);
	for (;;) {
		struct ib_sge sge;

		over = atomic_load(&ended) == SENDERS;
		ck_assert_int_eq(ops->poll_cq(p.bcq->ci, 1, &wc, &count), AL_SUCCESS);
		if (!count && over)
			break;
		if (!count)
			continue;
		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		ck_assert_uint_eq(wc.wr_id, got % SLOTS);
		who = wc.imm_data >> 24;
		ck_assert_uint_lt(who, SENDERS);
		ck_assert_uint_eq(wc.src_qp, senders[who].qp->ci->qp_num);
		ck_assert_uint_eq(wc.byte_len, GRH + length_of(wc.imm_data));
		ck_assert_uint_ge((wc.imm_data & 0xffffff) + 1, last[who] + 1);
		last[who] = (wc.imm_data & 0xffffff) + 1;
		fill(want, length_of(wc.imm_data), wc.imm_data);
		ck_assert_mem_eq(p.bm->buf + wc.wr_id * 4096 + GRH, want, length_of(wc.imm_data));
		sge = sge_of(p.bm, wc.wr_id * 4096, 4096);
		post_recv(p.b, wc.wr_id, &sge, 1);
		got++;
		atomic_fetch_add(&received, 1);
	}
	for (i = 0; i < SENDERS; i++) {
		pthread_join(senders[i].thread, NULL);
		free_qp(senders[i].qp);
		free_cq(senders[i].cq);
		free_mr(senders[i].mr);
	}
	ck_assert_uint_ge(got, SLOTS);
	ck_assert_uint_eq(got + counters(&hca[1]).rcv_dropped, SENDERS * ROUNDS);
	finish();
}
END_TEST

static _Atomic bool stop;

#define TARGETS 4

static _Atomic uint32_t target_qpn[TARGETS];

/* Posts sends in every state of the queue pair; refusals do not matter. */
static void *spray(void *arg)
{
	struct qp *qp = arg;
	const struct ib_send_wr *bad;
	struct ib_sge sge = sge_of(p.am, 0, 1000);
	struct ib_wc wc[16];
	uint32_t count, i = 0;

	while (!atomic_load(&stop)) {
		struct ib_send_wr wr = datagram(1, &sge, 0);

		wr.wr.ud.remote_qpn = atomic_load(&target_qpn[i++ % TARGETS]);
		ops->post_send(qp->ci, &wr, &bad);
		ck_assert_int_eq(ops->poll_cq(qp->send_cq->ci, 16, wc, &count), AL_SUCCESS);
	}
	return NULL;
}

START_TEST(either_side_may_go_while_packets_are_on_their_way)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = QKEY, .depth = 64 };
	struct qp *target[TARGETS];
	struct cq *drain;
	pthread_t thread[2];
	uint32_t i, k;

	start("", &o);
	drain = new_cq(&hca[1], 4096, AL_CQ_NOTIFY_PENDING);
	atomic_store(&stop, false);
	for (i = 0; i < TARGETS; i++) {
		target[i] = new_qp(&hca[1], drain, drain, &o);
		atomic_store(&target_qpn[i], target[i]->ci->qp_num);
	}
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, spray, p.a), 0);
	for (i = 0; i < 80 * effort(); i++) {
		struct ib_wc wc[64];
		uint32_t count;

		k = i % TARGETS;
		free_qp(target[k]);
		target[k] = new_qp(&hca[1], drain, drain, &o);
		to_init(target[k], &o);
		to_rtr(target[k], NULL, &o);
		atomic_store(&target_qpn[k], target[k]->ci->qp_num);
		/* each target has memory of its own: two may receive at the same time */
		post_recv(target[k], i,
			  &(struct ib_sge){ (uintptr_t)p.bm->buf + k * 4096, 4096, p.bm->ci->lkey },
			  1);
		ck_assert_int_eq(ops->poll_cq(drain->ci, 64, wc, &count), AL_SUCCESS);
		if (i % 3 == 1)
			ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
		if (i % 3 == 2) {
			ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			to_init(p.a, &o);
			to_rtr(p.a, NULL, &o);
			to_rts(p.a, &o);
		}
		sched_yield();
	}
	atomic_store(&stop, true);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < TARGETS; i++)
		free_qp(target[i]);
	free_cq(drain);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: UD errors");
	TCase *t = tcase_create("UD errors");

	tcase_add_test(
		t, a_datagram_longer_than_its_receive_is_dropped_and_the_receive_serves_the_next);
	tcase_add_test(t, a_receive_without_room_for_the_grh_takes_no_datagram);
	tcase_add_test(t, a_receive_with_a_wrong_key_ends_the_receiver);
	tcase_add_loop_test(t, a_local_error_stops_the_send_queue_and_nothing_else, 0, 2);
	tcase_add_test(t, a_packet_larger_than_the_receivers_mtu_is_an_error_there);
	tcase_add_loop_test(t, a_bad_request_stops_the_chain_there_and_nothing_else, 0,
			    sizeof(bad_wrs) / sizeof(*bad_wrs));
	tcase_add_test(t, many_send_to_one_and_order_is_kept);
	tcase_add_test(t, either_side_may_go_while_packets_are_on_their_way);
	suite_add_tcase(s, t);
	return run_suite(s);
}
