/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The special queue pairs QP0 and QP1: the datagrams that they send and take; each port has one of each. */
#include <sched.h>

#include "special.h"

static struct end a, b;

static void both_up(const struct qp_options *o, uint16_t dlid)
{
	struct ib_ah_attr path = path_by(1, dlid ? dlid : lid_of(&hca[1], 1)),
			  back = path_by(1, lid_of(&hca[0], 1));

	end_up(&a, &hca[0], NULL, o, &path);
	end_up(&b, &hca[1], NULL, o, &back);
}

static void both_down(void)
{
	end_down(&a, true);
	end_down(&b, true);
	down();
}

static void expect_arrival(uint64_t wr_id)
{
	struct ib_wc wc = expect_wc(b.cq, wr_id, IB_WC_SUCCESS);

	ck_assert_uint_eq(wc.byte_len, GRH + MAD);
	ck_assert_uint_eq(wc.src_qp, a.qp->ci->qp_num);
	ck_assert_uint_eq(wc.port_num, 1);
	ck_assert_mem_eq(b.mr->buf + 2048 + GRH, a.mr->buf, MAD);
}

/* Waits for the drop, which another thread may do if the link has a queue. */
static void expect_drop(uint64_t before)
{
	while (counters(&hca[1]).rcv_dropped == before)
		sched_yield();
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, before + 1);
	expect_empty(b.cq);
}

/* _i: by LID, or by the permissive LID to the port at the other end of the cable. */
START_TEST(qp0_reaches_qp0_without_keys)
{
	struct ib_wc wc;

	up("pkeys=0x8001");
	both_up(&(struct qp_options){ .type = IB_QPT_SMI, .qkey = 5 }, _i ? IB_LID_PERMISSIVE : 0);
	ck_assert_uint_eq(a.qp->ci->qp_num, 0);
	receive(&b, 1);
	send_mad(&a, 2, 0, 77, 0);
	wc = expect_wc(b.cq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, GRH + MAD);
	ck_assert_uint_eq(wc.src_qp, 0);
	ck_assert_uint_eq(wc.slid, _i ? IB_LID_PERMISSIVE : lid_of(&hca[0], 1));
	ck_assert_mem_eq(b.mr->buf + 2048 + GRH, a.mr->buf, MAD);
	both_down();
}
END_TEST

/* _i: QP0, or QP1, which does not use lane 15 */
START_TEST(a_packet_on_lane_15_that_finds_no_receive_is_counted)
{
	const struct qp_options o = { .type = _i ? IB_QPT_GSI : IB_QPT_SMI, .qkey = WELL_KNOWN };
	uint64_t before;

	up("");
	both_up(&o, 0);
	before = counters(&hca[1]).rcv_dropped;
	send_mad(&a, 2, (uint32_t)_i, WELL_KNOWN, 0);
	expect_drop(before);
	ck_assert_uint_eq(counters(&hca[1]).vl15_dropped, _i ? 0 : 1);
	both_down();
}
END_TEST

START_TEST(qp1_sends_with_the_p_key_of_the_request_and_tells_which_one_came)
{
	const struct qp_options gsi = { .type = IB_QPT_GSI, .qkey = WELL_KNOWN };
	uint16_t i;

	up("pkeys=0xffff,0x8001,0x8002");
	both_up(&gsi, 0);
	ck_assert_uint_eq(a.qp->ci->qp_num, 1);
	for (i = 0; i < 3; i++) {
		receive(&b, i);
		send_mad(&a, 10 + i, 1, WELL_KNOWN, i);
		ck_assert_uint_eq(expect_wc(b.cq, i, IB_WC_SUCCESS).pkey_index, i);
		ck_assert_mem_eq(b.mr->buf + 2048 + GRH, a.mr->buf, MAD);
	}
	both_down();
}
END_TEST

/* The fourth entry of the sender's table is empty, and so in no partition. */
START_TEST(qp1_drops_what_has_no_p_key_of_its_port_or_another_q_key)
{
	struct ib_port_attr attr;
	uint64_t before;

	up("");
	both_up(&(struct qp_options){ .type = IB_QPT_GSI, .qkey = WELL_KNOWN }, 0);
	receive(&b, 1);
	before = counters(&hca[1]).rcv_dropped;
	send_mad(&a, 2, 1, WELL_KNOWN, 3);
	expect_drop(before);
	send_mad(&a, 3, 1, WELL_KNOWN & 0x7fffffff, 0);
	expect_drop(before + 1);
	ck_assert_int_eq(ops->query_port(hca[1].ca, 1, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.bad_pkey_cntr, 1);
	ck_assert_uint_eq(attr.qkey_viol_cntr, 1);
	send_mad(&a, 4, 1, WELL_KNOWN, 0);
	expect_arrival(1);
	both_down();
}
END_TEST

/* Only QP0 uses virtual lane 15, and QP0 takes packets of this lane only. _i: from QP0 to a
 * datagram queue pair, or back. */
START_TEST(qp0_and_other_queue_pairs_do_not_hear_each_other)
{
	const struct qp_options smi = { .type = IB_QPT_SMI }, ud = { .type = IB_QPT_UD };
	struct ib_ah_attr path, back;
	uint64_t before;

	up("");
	path = path_by(1, lid_of(&hca[1], 1));
	back = path_by(1, lid_of(&hca[0], 1));
	end_up(&a, &hca[0], NULL, _i ? &ud : &smi, &path);
	end_up(&b, &hca[1], NULL, _i ? &smi : &ud, &back);
	receive(&b, 1);
	before = counters(&hca[1]).rcv_dropped;
	send_mad(&a, 2, b.qp->ci->qp_num, 0, 0);
	expect_drop(before);
	both_down();
}
END_TEST

/* IBTA 10.2.5: a queue pair with the well-known Q_Key may send to QP1. */
START_TEST(a_datagram_queue_pair_reaches_qp1_with_the_well_known_q_key)
{
	const struct qp_options gsi = { .type = IB_QPT_GSI, .qkey = WELL_KNOWN },
				ud = { .type = IB_QPT_UD, .qkey = WELL_KNOWN };
	struct ib_ah_attr path, back;

	up("");
	path = path_by(1, lid_of(&hca[1], 1));
	back = path_by(1, lid_of(&hca[0], 1));
	end_up(&a, &hca[0], NULL, &ud, &path);
	end_up(&b, &hca[1], NULL, &gsi, &back);
	receive(&b, 1);
	send_mad(&a, 2, 1, WELL_KNOWN, 0);
	expect_arrival(1);
	both_down();
}
END_TEST

START_TEST(each_port_has_one_of_each)
{
	struct qp_options o = { .type = IB_QPT_SMI };
	struct qp *qp[2][2], *none;
	struct cq *cq;
	int i;

	up("ports=2");
	cq = new_cq(&hca[0], 64, AL_CQ_NOTIFY_NEXT);
	for (i = 0; i < 4; i++) {
		o.type = i & 1 ? IB_QPT_GSI : IB_QPT_SMI;
		o.port = (uint8_t)(1 + i / 2);
		qp[i / 2][i & 1] = new_qp(&hca[0], cq, cq, &o);
		ck_assert_uint_eq(qp[i / 2][i & 1]->ci->qp_num, i & 1);
		ck_assert_int_eq(try_qp(&hca[0], cq, cq, &o, &none), AL_RESOURCE_BUSY);
	}
	free_qp(qp[1][0]);
	o.type = IB_QPT_SMI;
	qp[1][0] = new_qp(&hca[0], cq, cq, &o); /* the port's QP1 may be created again */
	for (i = 0; i < 4; i++)
		free_qp(qp[i / 2][i & 1]);
	free_cq(cq);
	down();
}
END_TEST

/* The queue pairs of two ports have the same number, and share a completion queue. */
START_TEST(a_reset_removes_the_completions_of_its_own_port_only)
{
	struct qp_options o = { .type = IB_QPT_GSI, .qkey = WELL_KNOWN };
	struct ib_ah_attr path;
	struct end e[2];
	struct cq *cq;

	up("ports=2");
	cq = new_cq(&hca[0], 64, AL_CQ_NOTIFY_NEXT);
	for (uint8_t i = 0; i < 2; i++) {
		o.port = (uint8_t)(1 + i);
		path = path_by(o.port, 0x700); /* the LID of no port */
		end_up(&e[i], &hca[0], cq, &o, &path);
	}
	for (uint8_t i = 0; i < 2; i++) {
		struct ib_sge sge = sge_of(e[i].mr, 0, MAD);
		struct ib_send_wr wr = mad_to(&e[i], i, &sge, 1, WELL_KNOWN);

		post(e[i].qp, &wr);
		receive(&e[i], 10 + i);
		ck_assert_int_eq(modify(e[i].qp, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	}
	ck_assert_int_eq(modify(e[0].qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	expect_wc(cq, 1, IB_WC_SUCCESS);
	expect_wc(cq, 11, IB_WC_WR_FLUSH_ERR);
	expect_empty(cq);
	end_down(&e[0], false);
	end_down(&e[1], true);
	down();
}
END_TEST

START_TEST(after_a_reset_a_special_queue_pair_is_at_its_port_again)
{
	const struct qp_options gsi = { .type = IB_QPT_GSI, .qkey = WELL_KNOWN };
	struct ib_qp_attr attr;

	up("");
	both_up(&gsi, 0);
	ck_assert_int_eq(modify(b.qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(ops->query_qp(b.qp->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.port_num, 1);
	to_init(b.qp, &gsi);
	to_rtr(b.qp, NULL, &gsi);
	receive(&b, 1);
	send_mad(&a, 2, 1, WELL_KNOWN, 0);
	expect_arrival(1);
	both_down();
}
END_TEST

START_TEST(requests_that_no_management_datagram_has_are_refused)
{
	const struct ib_send_wr *bad;
	struct ib_send_wr wr;
	struct ib_sge sge;

	up("");
	both_up(&(struct qp_options){ .type = IB_QPT_GSI, .qkey = WELL_KNOWN }, 0);
	sge = sge_of(a.mr, 0, MAD);
	wr = mad_to(&a, 1, &sge, 1, WELL_KNOWN);
	wr.opcode = IB_WR_SEND_WITH_IMM;
	ck_assert_int_eq(ops->post_send(a.qp->ci, &wr, &bad), AL_INVALID_OPCODE);
	wr.opcode = IB_WR_SEND;
	wr.wr.ud.pkey_index = 32;
	ck_assert_int_eq(ops->post_send(a.qp->ci, &wr, &bad), AL_INVALID_PKEY_INDEX);
	ck_assert_ptr_eq(bad, &wr);
	both_down();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: special queue pairs");
	TCase *t = tcase_create("special");

	tcase_add_loop_test(t, qp0_reaches_qp0_without_keys, 0, 2);
	tcase_add_loop_test(t, a_packet_on_lane_15_that_finds_no_receive_is_counted, 0, 2);
	tcase_add_test(t, qp1_sends_with_the_p_key_of_the_request_and_tells_which_one_came);
	tcase_add_test(t, qp1_drops_what_has_no_p_key_of_its_port_or_another_q_key);
	tcase_add_loop_test(t, qp0_and_other_queue_pairs_do_not_hear_each_other, 0, 2);
	tcase_add_test(t, a_datagram_queue_pair_reaches_qp1_with_the_well_known_q_key);
	tcase_add_test(t, each_port_has_one_of_each);
	tcase_add_test(t, a_reset_removes_the_completions_of_its_own_port_only);
	tcase_add_test(t, after_a_reset_a_special_queue_pair_is_at_its_port_again);
	tcase_add_test(t, requests_that_no_management_datagram_has_are_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
