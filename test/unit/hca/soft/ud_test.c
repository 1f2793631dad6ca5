/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Unreliable datagram: addresses, the GRH area, who hears what (Q_Key, P_Key, GID), what is lost silently, and what
 * stops which queue.
 */
#include "harness.h"

#include <sched.h>

#define MTU 4096
#define GRH 40
#define SIZE (1u << 20)
#define QKEY 0x11223344u

static struct pair p;
static struct ci_ah *ah; /* from a to b */

static struct ib_ah_attr path_to(const struct hca *h, uint8_t port)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(h->ca, port, &attr), AL_SUCCESS);
	return (struct ib_ah_attr){ .dlid = attr.lid, .port_num = 1 };
}

static void start(const char *settings, const struct qp_options *o)
{
	struct qp_options ud = o ? *o : (struct qp_options){ 0 };
	struct ib_ah_attr path;

	up(settings);
	ud.type = IB_QPT_UD;
	ud.qkey = QKEY;
	pair_up(&p, &ud, SIZE);
	fill(p.am->buf, SIZE / 2, 1);
	path = path_to(&hca[hcas - 1], 1);
	ah = new_ah(&hca[0], NULL, &path);
}

static void finish(void)
{
	pair_down(&p);
	free_ah(ah);
	down();
}

static struct ib_send_wr datagram(uint64_t wr_id, struct ib_sge *sge, uint32_t flags)
{
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_SEND, sge, flags);

	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = p.b->ci->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	return wr;
}

/* Signalled, from the start of a's region. */
static void send(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.am, 0, length);
	struct ib_send_wr wr = datagram(wr_id, &sge, IB_SEND_SIGNALED);

	post(p.a, &wr);
	ck_assert_int_eq(expect_wc(p.acq, wr_id, IB_WC_SUCCESS).opcode, IB_WC_SEND);
}

static void receive(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.bm, 0, length);

	post_recv(p.b, wr_id, &sge, 1);
}

/* Nothing was said to either side, and both go on; so many packets were dropped at b's port. */
static void check_silence(uint64_t dropped)
{
	expect_empty(p.acq);
	expect_empty(p.bcq);
	ck_assert_uint_eq(p.a->events | p.b->events, 0);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	ck_assert_uint_eq(counters(&hca[hcas - 1]).rcv_dropped, dropped);
}

static struct ib_port_attr port_of(const struct hca *h, uint8_t num)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(h->ca, num, &attr), AL_SUCCESS);
	return attr;
}

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
	ck_assert_mem_eq(p.bm->buf, zero, GRH); /* no GRH: not touched */
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

/* The GRH area and the message may lie in any pieces; _i: length of the first. */
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

static uint32_t be(const char *at, int bytes)
{
	uint32_t value = 0;

	for (; bytes; bytes--)
		value = value << 8 | (uint8_t)*at++;
	return value;
}

/* Every field, and each of the ports' GIDs. */
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
	ck_assert_uint_eq(be(p.bm->buf + 4, 2), 12 + 8 + 4 + 104 + 4); /* BTH DETH ImmDt, padded payload, ICRC */
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

/* ------------------------------------------------------------ who reaches whom */

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

/* Two ports to an HCA: each queue pair is reached by its own port, and by no other. */
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
	post(a2, &wr); /* b is on port 1: this port has no such queue pair */
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

/* Over the loopback plug of a port that is left over. */
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
	ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_RESET_QKEY_CNTR, &none), AL_SUCCESS);
	ck_assert_uint_eq(port_of(&hca[1], 1).qkey_viol_cntr, 0);
	/* with the top bit the sender's own is taken, which is the same here */
	wr.wr.ud.remote_qkey = 0x80000000u | 77;
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	/* and here another */
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_QKEY, &(struct ib_qp_attr){ .qkey = 5 }), AL_SUCCESS);
	receive(3, 100);
	post(p.a, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_empty(p.bcq);
	ck_assert_int_eq(modify(p.b, IB_QPS_RTS, IB_QP_QKEY, &(struct ib_qp_attr){ .qkey = 5 }), AL_SUCCESS);
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
		ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).pkey_index, partitions[_i].index);
	else
		check_silence(1);
	finish();
}
END_TEST

/* A destination that is not there: nobody at the LID, no such number, another type, not yet ready, ended. */
START_TEST(what_nobody_can_take_is_dropped_silently)
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

/* It has the number in its receiver's table, but is of another type. */
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

/* Flows are those of requests: the third datagram is lost, the fifth comes twice, the seventh after the eighth. */
START_TEST(faults_meet_datagrams_by_number)
{
	static const uint32_t want[] = { 1, 2, 4, 5, 5, 6, 8, 7 };
	struct ib_send_wr wr;
	uint32_t i;

	start("", NULL);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST, .n = 3, .count = 1 });
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE, .flow = SOFT_FLOW_REQUEST, .n = 5,
					    .count = 1 });
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_HOLD, .flow = SOFT_FLOW_REQUEST, .n = 7, .count = 1,
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

/* -------------------------------------------------------------------- errors */

/* _i: by one byte; for want of the GRH area alone */
START_TEST(a_receive_that_is_too_short_ends_the_receiver)
{
	start("", NULL);
	receive(1, _i ? GRH - 1 : GRH + 99);
	receive(2, SIZE);
	send(3, _i ? 0 : 100);
	expect_wc(p.bcq, 1, IB_WC_LOC_LEN_ERR);
	expect_wc(p.bcq, 2, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.bcq);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
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

	/* messages come all the same */
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

/* A port of a smaller MTU does not take it. */
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

/* Where a request is refused at once. */
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
#define SLOT 2048
#define SLOTS 64
#define ROUNDS (400 * effort())

static struct sender {
	struct qp *qp;
	struct cq *cq;
	struct mr *mr;
	pthread_t thread;
} senders[SENDERS];

static _Atomic uint32_t received, sent; /* together: so that seldom a receive is missing */
static _Atomic uint32_t ended;

/* Immediate data: sender's number and message's; its length and bytes follow from that. */
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
		for (patience = 500; patience && atomic_load(&sent) - atomic_load(&received) > SLOTS / 2; patience--)
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

/* What arrives is whole, from whom it says, and in the order in which he sent it; all that did not is counted. */
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
		ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]), 0);
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

/* Sends to whatever is there, and does not mind. */
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
		post_recv(target[k], i, &(struct ib_sge){ (uintptr_t)p.bm->buf, 4096, p.bm->ci->lkey }, 1);
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
	Suite *s = suite_create("soft: UD");
	TCase *t = tcase_create("UD");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_message_arrives_behind_the_grh_area_and_names_its_sender, 0, SIZES);
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
	tcase_add_loop_test(t, what_nobody_can_take_is_dropped_silently, 0, 6);
	tcase_add_loop_test(t, a_datagram_queue_pair_hears_no_connection, 0, 2);
	tcase_add_test(t, one_receives_from_many);
	tcase_add_test(t, without_a_receive_a_message_is_lost_and_no_later_one);
	tcase_add_test(t, faults_meet_datagrams_by_number);
	tcase_add_test(t, counters_count_headers_and_pad);
	tcase_add_loop_test(t, a_receive_that_is_too_short_ends_the_receiver, 0, 2);
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
