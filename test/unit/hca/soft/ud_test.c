/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Unreliable datagram: addresses, the GRH area, the receivers of a datagram (Q_Key, P_Key, GID), and datagrams that
 * are lost silently.
 */
#include "ud_test.h"

/* ------------------------------------------------------------------ transfer */

static const uint32_t sizes[] = { 0, 1, 3, 4, 255, 256, 1000, MTU - 1, MTU };
#define SIZES ((int)(sizeof(sizes) / sizeof(*sizes)))

START_TEST(a_message_arrives_behind_the_grh_area_and_names_its_sender)
{
	static const char zero[64];
	struct ib_wc wc;

	start("lmc=1", NULL);
	receive(5, SIZE);
	receive(6, SIZE);
	send(9, sizes[_i]);
	wc = expect_wc(p.bcq, 5, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_RECV);
	ck_assert_uint_eq(wc.byte_len, GRH + sizes[_i]);
	ck_assert_uint_eq(wc.wc_flags, 0);
	ck_assert_uint_eq(wc.src_qp, p.a->ci->qp_num);
	ck_assert_uint_eq(wc.slid, port_of(&hca[0], 1).lid);
	ck_assert_uint_eq(wc.sl, 0);
	ck_assert_uint_eq(wc.dlid_path_bits, 0);
	ck_assert_uint_eq(wc.port_num, 1);
	ck_assert_uint_eq(wc.qp_num, p.b->ci->qp_num);
	ck_assert_ptr_eq(wc.qp_context, p.b);
	ck_assert_mem_eq(p.bm->buf, zero, GRH); /* no GRH: the area is not written */
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, sizes[_i]);
	ck_assert_mem_eq(p.bm->buf + GRH + sizes[_i], zero, 64);
	check_silence(0);
	finish();
}
END_TEST

START_TEST(path_bits_and_service_level_arrive)
{
	struct ib_ah_attr path;
	struct ib_wc wc;

	start("lmc=3", NULL);
	path = path_to(&hca[1], 1);
	path.dlid = (uint16_t)(path.dlid + 5);
	path.src_path_bits = 6;
	path.sl = 11;
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	receive(1, GRH);
	send(2, 0);
	wc = expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.dlid_path_bits, 5);
	ck_assert_uint_eq(wc.slid, port_of(&hca[0], 1).lid + 6);
	ck_assert_uint_eq(wc.sl, 11);
	finish();
}
END_TEST

START_TEST(immediate_and_solicited_arrive)
{
	struct ib_send_wr wr;
	struct ib_wc wc;

	start("", NULL);
	wr = datagram(1, NULL, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	wr.opcode = IB_WR_SEND_WITH_IMM;
	wr.ex.imm_data = 0x12345678;
	ck_assert_int_eq(ops->arm_cq(p.bcq->ci, AL_ARM_SOLICITED, NULL), AL_SUCCESS);
	receive(2, GRH);
	receive(3, GRH);
	send(7, 0);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(p.bcq->notified, 0);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	wc = expect_wc(p.bcq, 3, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.imm_data, 0x12345678);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_WITH_IMM | IB_WC_SOLICITED);
	ck_assert_uint_eq(p.bcq->notified, 1);
	finish();
}
END_TEST

START_TEST(inline_data_is_taken_at_the_post)
{
	char data[100];
	struct ib_sge sge = { (uintptr_t)data, 100, 0 };
	struct ib_send_wr wr;

	start("", &(struct qp_options){ .inline_data = 100 });
	memcpy(data, p.am->buf, 100);
	wr = datagram(1, &sge, IB_SEND_INLINE | IB_SEND_SIGNALED);
	receive(2, GRH + 100);
	post(p.a, &wr);
	memset(data, 0, sizeof(data));
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 100);
	finish();
}
END_TEST

/* The GRH area and the message may be split over any pieces; _i: length of the first piece. */
START_TEST(data_is_gathered_and_scattered)
{
	struct ib_sge from[2], to[3];
	struct ib_send_wr wr;
	struct ib_ah_attr path;
	char got[GRH + 600];

	start("", NULL);
	path = path_to(&hca[1], 1);
	path.is_global = true;
	ops->query_gid(hca[1].ca, 1, 0, &path.grh.dgid);
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	from[0] = sge_of(p.am, 0, 250);
	from[1] = sge_of(p.am, 1000, 350);
	to[0] = sge_of(p.bm, 0, (uint32_t)_i * 19);
	to[1] = sge_of(p.bm, 4096, 300);
	to[2] = sge_of(p.bm, 8192, 1000);
	wr = datagram(1, from, IB_SEND_SIGNALED);
	wr.num_sge = 2;
	post_recv(p.b, 2, to, 3);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	memcpy(got, p.bm->buf, to[0].length);
	memcpy(got + to[0].length, p.bm->buf + 4096, 300);
	memcpy(got + to[0].length + 300, p.bm->buf + 8192, sizeof(got) - 300 - to[0].length);
	ck_assert_uint_eq((uint8_t)got[0] >> 4, 6);
	ck_assert_mem_eq(got + 24, path.grh.dgid.raw, 16);
	ck_assert_mem_eq(got + GRH, p.am->buf, 250);
	ck_assert_mem_eq(got + GRH + 250, p.am->buf + 1000, 350);
	finish();
}
END_TEST

/* Every field of the GRH, and each of the ports' GIDs. */
START_TEST(a_grh_fills_the_area)
{
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct ib_ah_attr path;
	struct ib_wc wc;
	ib_gid sgid;

	start("gids=3", NULL);
	path = path_to(&hca[1], 1);
	path.is_global = true;
	path.grh.sgid_index = (uint16_t)_i;
	path.grh.flow_label = 0xabcde;
	path.grh.traffic_class = 0x5a;
	path.grh.hop_limit = 63;
	ops->query_gid(hca[0].ca, 1, (uint32_t)_i, &sgid);
	ops->query_gid(hca[1].ca, 1, 2 - (uint32_t)_i, &path.grh.dgid);
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	sge = sge_of(p.am, 0, 101);
	wr = datagram(1, &sge, IB_SEND_SIGNALED);
	wr.opcode = IB_WR_SEND_WITH_IMM;
	receive(2, SIZE);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	wc = expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_GRH | IB_WC_WITH_IMM);
	ck_assert_uint_eq(wc.byte_len, GRH + 101);
	ck_assert_uint_eq(be(p.bm->buf, 4), 0x65aabcdeu);
	ck_assert_uint_eq(be(p.bm->buf + 4, 2),
			  12 + 8 + 4 + 104 + 4); /* BTH DETH ImmDt, padded payload, ICRC */
	ck_assert_uint_eq(be(p.bm->buf + 6, 1), 0x1b);
	ck_assert_uint_eq(be(p.bm->buf + 7, 1), 63);
	ck_assert_mem_eq(p.bm->buf + 8, sgid.raw, 16);
	ck_assert_mem_eq(p.bm->buf + 24, path.grh.dgid.raw, 16);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 101);
	finish();
}
END_TEST

START_TEST(the_gid_table_holds_what_was_asked_for)
{
	static const ib_gid none;
	struct ib_ah_attr path;
	ib_gid gid[4];
	uint32_t i;

	start("gids=3", NULL);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(ops->query_gid(hca[0].ca, 1, i, &gid[i]), AL_SUCCESS);
	ck_assert_uint_eq(be((char *)gid[2].raw + 12, 4) - be((char *)gid[0].raw + 12, 4), 32);
	ck_assert_mem_eq(gid[1].raw, gid[0].raw, 8);
	ck_assert_mem_eq(&gid[3], &none, sizeof(none));
	path = path_to(&hca[1], 1);
	path.is_global = true;
	path.grh.sgid_index = 3;
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_INVALID_GID_INDEX);
	path.is_global = false;
	path.src_path_bits = 1;
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->query_ah(ah, &path), AL_SUCCESS);
	ck_assert_uint_eq(path.src_path_bits, 0);
	finish();
}
END_TEST

START_TEST(a_grh_for_another_gid_is_dropped)
{
	struct ib_ah_attr path;

	start("", NULL);
	path = path_to(&hca[1], 1);
	path.is_global = true;
	ops->query_gid(hca[0].ca, 1, 0, &path.grh.dgid);
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	receive(1, 100);
	send(2, 8);
	check_silence(1);
	finish();
}
END_TEST

START_TEST(a_posted_request_keeps_its_path)
{
	struct ib_ah_attr path;
	struct ib_send_wr wr;

	start("", NULL);
	path = path_to(&hca[1], 1);
	receive(1, 100);
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, 0, NULL), AL_SUCCESS);
	wr = datagram(2, NULL, IB_SEND_SIGNALED);
	post(p.a, &wr);
	path.dlid = 99;
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	free_ah(ah);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	path = path_to(&hca[1], 1);
	ah = new_ah(&hca[0], NULL, &path);
	finish();
}
END_TEST

/* ----------------------------------------------- destinations that are reached */

START_TEST(a_queue_pair_sends_to_itself)
{
	struct ib_ah_attr path;
	struct ib_send_wr wr;
	struct ib_sge from, to;
	uint32_t i;

	start("", NULL);
	path = path_to(&hca[0], 1);
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	from = sge_of(p.am, 0, 500);
	to = sge_of(p.am, SIZE / 2, GRH + 500);
	for (i = 0; i < 20; i++) {
		fill(p.am->buf, 500, i);
		post_recv(p.a, 1, &to, 1);
		wr = datagram(2, &from, IB_SEND_SIGNALED);
		wr.wr.ud.remote_qpn = p.a->ci->qp_num;
		post(p.a, &wr);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		expect_wc(p.acq, 2, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.am->buf + SIZE / 2 + GRH, p.am->buf, 500);
	}
	finish();
}
END_TEST

/* Two ports on an HCA: a packet reaches a queue pair only by the queue pair's own port. */
START_TEST(ports_are_told_apart)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = QKEY, .port = 2 };
	struct ci_ah *by2;
	struct ib_ah_attr path;
	struct ib_send_wr wr;
	struct qp *a2;

	start("ports=2", NULL);
	a2 = new_qp(&hca[0], p.acq, p.acq, &o);
	to_init(a2, &o);
	to_rtr(a2, NULL, &o);
	to_rts(a2, &o);
	path = path_to(&hca[1], 2);
	path.port_num = 2;
	by2 = new_ah(&hca[0], NULL, &path);
	receive(1, 100);
	wr = datagram(2, NULL, IB_SEND_SIGNALED);
	wr.wr.ud.ah = (al_ah_h)by2;
	post(a2, &wr); /* b is on port 1; this port has no queue pair of that number */
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	ck_assert_uint_eq(port_of(&hca[1], 2).counters.rcv_dropped, 1);
	modify(p.b, IB_QPS_RESET, 0, NULL);
	to_init(p.b, &o);
	to_rtr(p.b, NULL, &o);
	receive(1, 100);
	post(a2, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).port_num, 2);
	free_ah(by2);
	free_qp(a2);
	finish();
}
END_TEST

/* By the loopback plug of a port without a cable. */
START_TEST(an_hca_alone_reaches_its_other_queue_pairs)
{
	start("hcas=1", NULL);
	receive(1, 100);
	send(2, 60);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 60);
	finish();
}
END_TEST

START_TEST(the_q_key_must_be_the_queue_pairs)
{
	struct ib_send_wr wr;
	struct ib_port_modify none = { 0 };

	start("", NULL);
	receive(1, 100);
	wr = datagram(2, NULL, IB_SEND_SIGNALED);
	wr.wr.ud.remote_qkey = QKEY + 1;
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	check_silence(1);
	ck_assert_uint_eq(port_of(&hca[1], 1).qkey_viol_cntr, 1);
	ck_assert_uint_eq(port_of(&hca[1], 1).bad_pkey_cntr, 0);
	ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_RESET_QKEY_CNTR, &none),
			 AL_SUCCESS);
	ck_assert_uint_eq(port_of(&hca[1], 1).qkey_viol_cntr, 0);
	/* with the top bit set the sender's own Q_Key is used, which equals the receiver's here */
	wr.wr.ud.remote_qkey = 0x80000000u | 77;
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	/* and differs here */
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_QKEY, &(struct ib_qp_attr){ .qkey = 5 }),
			 AL_SUCCESS);
	receive(3, 100);
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	ck_assert_int_eq(modify(p.b, IB_QPS_RTS, IB_QP_QKEY, &(struct ib_qp_attr){ .qkey = 5 }),
			 AL_SUCCESS);
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 3, IB_WC_SUCCESS);
	finish();
}
END_TEST

static const struct {
	const char *settings;
	uint16_t index;
	bool match;
} partitions[] = {
	{ "pkeys=0x8001,0x8002", 1, true },
	{ "[hca 0] pkeys=0x8001 [hca 1] pkeys=0x0001", 0, true },
	{ "[hca 0] pkeys=0x0001 [hca 1] pkeys=0x8001", 0, true },
	{ "pkeys=0x0001", 0, false },
	{ "[hca 0] pkeys=0x8001 [hca 1] pkeys=0x8002", 0, false },
};

START_TEST(partitions_must_match_and_violations_are_counted)
{
	start(partitions[_i].settings, &(struct qp_options){ .pkey_index = partitions[_i].index });
	receive(1, 100);
	send(2, 10);
	ck_assert_uint_eq(port_of(&hca[1], 1).bad_pkey_cntr, !partitions[_i].match);
	ck_assert_uint_eq(port_of(&hca[1], 1).qkey_viol_cntr, 0);
	if (partitions[_i].match)
		ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).pkey_index,
				  partitions[_i].index);
	else
		check_silence(1);
	finish();
}
END_TEST

/*
 * A destination that can not take the datagram: no port with the LID, no queue pair of the number, another type, not
 * yet in RTR, in Error.
 */
START_TEST(a_datagram_that_no_queue_pair_can_take_is_dropped_silently)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = QKEY }, rc = { 0 };
	struct ib_ah_attr path;
	struct ib_send_wr wr;
	struct qp *other = NULL;

	start("", NULL);
	wr = datagram(2, NULL, IB_SEND_SIGNALED);
	switch (_i) {
	case 0:
		path = path_to(&hca[1], 1);
		path.dlid = 77;
		ops->modify_ah(ah, &path);
		break;
	case 1:
		wr.wr.ud.remote_qpn = 1;
		break;
	case 2:
		wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
		break;
	case 3:
		other = new_qp(&hca[1], p.bcq, p.bcq, &rc);
		to_init(other, &rc);
		to_rtr(other, p.a, &rc);
		break;
	case 4:
		other = new_qp(&hca[1], p.bcq, p.bcq, &o);
		to_init(other, &o);
		break;
	case 5:
		other = new_qp(&hca[1], p.bcq, p.bcq, &o);
		modify(other, IB_QPS_ERR, 0, NULL);
		break;
	}
	if (other) {
		if (_i < 5)
			post_recv(other, 1, NULL, 0);
		wr.wr.ud.remote_qpn = other->ci->qp_num;
	}
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	check_silence(_i == 0 || _i == 5 ? 0 : 1);
	if (other)
		free_qp(other);
	finish();
}
END_TEST

/* The receiver's HCA has a queue pair of that number, but of another type. */
START_TEST(a_datagram_queue_pair_hears_no_connection)
{
	struct qp_options rc = { .timeout = 5, .retry_cnt = 0xff };
	struct ib_send_wr wr = send_wr(4, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	struct qp *a;

	start("", NULL);
	rc.type = _i ? IB_QPT_UC : IB_QPT_RC;
	receive(1, 100);
	a = new_qp(&hca[0], p.acq, p.acq, &rc);
	to_init(a, &rc);
	to_rtr(a, p.b, &rc);
	to_rts(a, &rc);
	post(a, &wr);
	expect_wc(p.acq, 4, _i ? IB_WC_SUCCESS : IB_WC_RETRY_EXC_ERR);
	check_silence(1);
	free_qp(a);
	finish();
}
END_TEST

START_TEST(one_receives_from_many)
{
	struct qp_options o = { .type = IB_QPT_UD, .qkey = QKEY };
	struct qp *a[5];
	struct ib_sge sge;
	struct ib_send_wr wr;
	uint32_t i;

	start("", NULL);
	for (i = 0; i < 5; i++) {
		a[i] = new_qp(&hca[0], p.acq, p.acq, &o);
		to_init(a[i], &o);
		to_rtr(a[i], NULL, &o);
		to_rts(a[i], &o);
		sge = sge_of(p.am, i * 100, 100);
		wr = datagram(i, &sge, IB_SEND_SIGNALED);
		receive(10 + i, 200);
		post(a[i], &wr);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
		ck_assert_uint_eq(expect_wc(p.bcq, 10 + i, IB_WC_SUCCESS).src_qp, a[i]->ci->qp_num);
		ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf + i * 100, 100);
	}
	for (i = 0; i < 5; i++)
		free_qp(a[i]);
	finish();
}
END_TEST

/* ---------------------------------------------------------------------- loss */

START_TEST(without_a_receive_a_message_is_lost_and_no_later_one)
{
	start("", NULL);
	send(1, 100);
	check_silence(1);
	receive(2, SIZE);
	check_silence(1);
	send(3, 99);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, GRH + 99);
	finish();
}
END_TEST

/*
 * Flows are those of requests: the third datagram is lost, the fifth is duplicated, the seventh comes after the
 * eighth.
 */
START_TEST(faults_meet_datagrams_by_number)
{
	static const uint32_t want[] = { 1, 2, 4, 5, 5, 6, 8, 7 };
	struct ib_send_wr wr;
	uint32_t i;

	start("", NULL);
	fault(&hca[0],
	      (struct soft_fault){
		      .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST, .n = 3, .count = 1 });
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE,
					    .flow = SOFT_FLOW_REQUEST,
					    .n = 5,
					    .count = 1 });
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_HOLD,
					    .flow = SOFT_FLOW_REQUEST,
					    .n = 7,
					    .count = 1,
					    .by = 1 });
	for (i = 1; i <= 8; i++) {
		struct ib_sge sge = sge_of(p.am, i * 10, 10), to = sge_of(p.bm, i * 100, 100);

		post_recv(p.b, i, &to, 1);
		wr = datagram(i, &sge, IB_SEND_SIGNALED);
		wr.opcode = IB_WR_SEND_WITH_IMM;
		wr.ex.imm_data = i;
		post(p.a, &wr);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
	}
	for (i = 1; i <= 8; i++) {
		ck_assert_uint_eq(expect_wc(p.bcq, i, IB_WC_SUCCESS).imm_data, want[i - 1]);
		ck_assert_mem_eq(p.bm->buf + i * 100 + GRH, p.am->buf + want[i - 1] * 10, 10);
	}
	finish();
}
END_TEST

START_TEST(counters_count_headers_and_pad)
{
	struct ib_ah_attr path;
	struct ib_port_counters c;
	/* LRH BTH DETH payload pad ICRC VCRC */
	const uint64_t plain = 8 + 12 + 8 + 8 + 6;

	start("", NULL);
	receive(1, 100);
	receive(2, 100);
	send(1, 5);
	c = counters(&hca[1]);
	ck_assert_uint_eq(c.rcv_packets, 1);
	ck_assert_uint_eq(c.rcv_bytes, plain);
	path = path_to(&hca[1], 1);
	path.is_global = true;
	ops->query_gid(hca[1].ca, 1, 0, &path.grh.dgid);
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	send(2, 8);
	ck_assert_uint_eq(counters(&hca[1]).rcv_bytes, 2 * plain + GRH);
	ck_assert_uint_eq(counters(&hca[0]).xmit_bytes, 2 * plain + GRH);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: UD");
	TCase *t = tcase_create("UD");

	tcase_add_loop_test(t, a_message_arrives_behind_the_grh_area_and_names_its_sender, 0,
			    SIZES);
	tcase_add_test(t, path_bits_and_service_level_arrive);
	tcase_add_test(t, immediate_and_solicited_arrive);
	tcase_add_test(t, inline_data_is_taken_at_the_post);
	tcase_add_loop_test(t, data_is_gathered_and_scattered, 0, 4);
	tcase_add_loop_test(t, a_grh_fills_the_area, 0, 3);
	tcase_add_test(t, the_gid_table_holds_what_was_asked_for);
	tcase_add_test(t, a_grh_for_another_gid_is_dropped);
	tcase_add_test(t, a_posted_request_keeps_its_path);
	tcase_add_test(t, a_queue_pair_sends_to_itself);
	tcase_add_test(t, ports_are_told_apart);
	tcase_add_test(t, an_hca_alone_reaches_its_other_queue_pairs);
	tcase_add_test(t, the_q_key_must_be_the_queue_pairs);
	tcase_add_loop_test(t, partitions_must_match_and_violations_are_counted, 0,
			    sizeof(partitions) / sizeof(*partitions));
	tcase_add_loop_test(t, a_datagram_that_no_queue_pair_can_take_is_dropped_silently, 0, 6);
	tcase_add_loop_test(t, a_datagram_queue_pair_hears_no_connection, 0, 2);
	tcase_add_test(t, one_receives_from_many);
	tcase_add_test(t, without_a_receive_a_message_is_lost_and_no_later_one);
	tcase_add_test(t, faults_meet_datagrams_by_number);
	tcase_add_test(t, counters_count_headers_and_pad);
	suite_add_tcase(s, t);
	return run_suite(s);
}
