/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The short way of messages between idle queue pairs, compared with the way of packets: both must leave the same
 * state behind. A message of one piece takes the short way; a message that is gathered from two pieces can not.
 */
#include "harness.h"

#define ROOM (128u << 10)

static struct pair p;

static void setup(void)
{
	struct qp_options o = { .mtu = IB_MTU_1024, .inline_data = 64, .psn = 0xfffff0 /* PSNs wrap soon */ };

	up("");
	pair_up(&p, &o, ROOM);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

/* The effects of a message beside the memory. */
struct outcome {
	struct ib_port_counters here, there;
	uint32_t sq_psn[2], rq_psn[2];
	struct ib_wc sent, received;
};

static struct ib_port_counters since(struct hca *h, const struct ib_port_counters *before)
{
	struct ib_port_counters c = counters(h);

	c.xmit_bytes -= before->xmit_bytes;
	c.rcv_bytes -= before->rcv_bytes;
	c.xmit_packets -= before->xmit_packets;
	c.rcv_packets -= before->rcv_packets;
	c.unicast_xmit_packets -= before->unicast_xmit_packets;
	c.unicast_rcv_packets -= before->unicast_rcv_packets;
	return c;
}

static void psns(uint32_t sq_psn[2], uint32_t rq_psn[2])
{
	struct qp *qp[2] = { p.a, p.b };
	struct ib_qp_attr attr;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ops->query_qp(qp[i]->ci, &attr), AL_SUCCESS);
		sq_psn[i] = attr.sq_psn;
		rq_psn[i] = attr.rq_psn;
	}
}

/*
 * A send by packets, whose ACK reports the number of receives. Without that, a longer send would begin with one
 * packet and wait for its ACK.
 */
static void tell_credits(void)
{
	struct ib_sge sge[2] = { sge_of(p.am, 0, 4), sge_of(p.am, 4, 4) };
	struct ib_send_wr wr = send_wr(5, IB_WR_RDMA_WRITE, sge, IB_SEND_SIGNALED);

	wr.num_sge = 2;
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	expect_wc(p.acq, 5, IB_WC_SUCCESS);
}

/* One message, of adjacent pieces. */
static struct outcome message(ib_wr_opcode opcode, uint32_t length, uint32_t pieces, uint32_t flags)
{
	uint32_t first = pieces > 1 ? length / 2 : length;
	struct ib_sge from[2] = { sge_of(p.am, 0, first), sge_of(p.am, first, length - first) };
	struct ib_sge to[2] = { sge_of(p.bm, 0, first), sge_of(p.bm, first, length - first) };
	struct ib_send_wr wr = send_wr(3, opcode, from, flags | IB_SEND_SIGNALED);
	struct ib_port_counters here, there;
	uint32_t sq_psn[2], rq_psn[2];
	struct outcome out = { 0 };

	wr.num_sge = pieces;
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	if (opcode == IB_WR_SEND) {
		post_recv(p.b, 4, to, pieces);
		tell_credits();
	}
	fill(p.am->buf, ROOM, length + pieces);
	memset(p.bm->buf, 0, ROOM);
	here = counters(p.a->hca);
	there = counters(p.b->hca);
	psns(sq_psn, rq_psn);
	post(p.a, &wr);
	out.sent = expect_wc(p.acq, 3, IB_WC_SUCCESS);
	if (opcode == IB_WR_SEND)
		out.received = expect_wc(p.bcq, 4, IB_WC_SUCCESS);
	expect_empty(p.acq);
	expect_empty(p.bcq);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, length);
	/* all bytes zero if the first is zero and each equals the one before */
	if (length < ROOM)
		ck_assert(!p.bm->buf[length] && !memcmp(p.bm->buf + length, p.bm->buf + length + 1, ROOM - length - 1));
	psns(out.sq_psn, out.rq_psn);
	for (int i = 0; i < 2; i++) {
		out.sq_psn[i] = (out.sq_psn[i] - sq_psn[i]) & IB_PSN_MASK;
		out.rq_psn[i] = (out.rq_psn[i] - rq_psn[i]) & IB_PSN_MASK;
	}
	out.here = since(p.a->hca, &here);
	out.there = since(p.b->hca, &there);
	return out;
}

static const struct {
	ib_wr_opcode opcode;
	uint32_t flags;
	uint32_t length;
} messages[] = {
	{ IB_WR_RDMA_WRITE, 0, 1 },
	{ IB_WR_RDMA_WRITE, 0, 1023 },
	{ IB_WR_RDMA_WRITE, 0, 1024 },
	{ IB_WR_RDMA_WRITE, 0, 1025 },
	{ IB_WR_RDMA_WRITE, 0, ROOM },
	{ IB_WR_RDMA_WRITE, IB_SEND_FENCE, 8 },
	{ IB_WR_SEND, 0, 1 },
	{ IB_WR_SEND, 0, 1024 },
	{ IB_WR_SEND, 0, 5000 },
	{ IB_WR_SEND, IB_SEND_SOLICITED, 64 },
	{ IB_WR_SEND, 0, ROOM },
};

START_TEST(the_short_way_leaves_behind_what_packets_leave)
{
	struct outcome by_packets, in_short;

	message(IB_WR_RDMA_WRITE, 8, 1, 0); /* the first one establishes the connection */
	by_packets = message(messages[_i].opcode, messages[_i].length, 2, messages[_i].flags);
	in_short = message(messages[_i].opcode, messages[_i].length, 1, messages[_i].flags);
	ck_assert_uint_eq(in_short.here.xmit_packets, (messages[_i].length + 1023) / 1024);
	ck_assert_mem_eq(&in_short, &by_packets, sizeof(in_short));
}
END_TEST

/* Short messages stay in order with messages that go by packets between them. */
START_TEST(both_ways_keep_the_order)
{
	uint32_t pieces[] = { 1, 2, 1, 1, 2, 2, 1 };
	struct ib_sge sge[2], all = sge_of(p.bm, 0, 64);
	struct ib_send_wr wr;

	for (uint32_t i = 0; i < 7; i++)
		post_recv(p.b, 100 + i, &all, 1);
	for (uint32_t i = 0; i < 7; i++) {
		sge[0] = sge_of(p.am, 0, 10 + i);
		sge[1] = sge_of(p.am, 10 + i, 1);
		wr = send_wr(i, IB_WR_SEND, sge, IB_SEND_SIGNALED);
		wr.num_sge = pieces[i];
		post(p.a, &wr);
	}
	for (uint32_t i = 0; i < 7; i++) {
		expect_wc(p.acq, i, IB_WC_SUCCESS);
		ck_assert_uint_eq(expect_wc(p.bcq, 100 + i, IB_WC_SUCCESS).byte_len, 9 + i + pieces[i]);
	}
}
END_TEST

#define EACH 2000
#define WINDOW 8

/* One side of a conversation: sends numbers, and receives the peer's numbers. */
struct side {
	struct qp *qp;
	struct cq *cq;
	struct mr *mr;      /* WINDOW numbers to send, then WINDOW to receive */
	const char *failed; /* the fault; the test reports it, because a thread can not */
};

static void post_number(struct side *s, uint64_t n)
{
	struct ib_sge sge = sge_of(s->mr, n % WINDOW * 8, 8);
	struct ib_send_wr wr = send_wr(n, IB_WR_SEND, &sge, IB_SEND_SIGNALED);
	const struct ib_send_wr *bad;

	((uint64_t *)s->mr->buf)[n % WINDOW] = n;
	if (ops->post_send(s->qp->ci, &wr, &bad) != AL_SUCCESS)
		s->failed = "a send was not taken";
}

static void post_room(struct side *s, uint64_t n)
{
	struct ib_sge sge = sge_of(s->mr, (WINDOW + n % WINDOW) * 8, 8);
	struct ib_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	if (ops->post_recv(s->qp->ci, &wr, &bad) != AL_SUCCESS)
		s->failed = "a receive was not taken";
}

static void *converse(void *arg)
{
	struct side *s = arg;
	uint64_t posted = 0, sent = 0, received = 0;
	const uint64_t limit = now_ms() + 60000;

	while ((sent < EACH || received < EACH) && !s->failed) {
		struct ib_wc wc;
		uint32_t count;

		if (posted < EACH && posted - sent < WINDOW)
			post_number(s, posted++);
		ops->poll_cq(s->cq->ci, 1, &wc, &count);
		if (now_ms() > limit)
			s->failed = "the conversation has stopped";
		if (!count)
			continue;
		if (wc.status != IB_WC_SUCCESS)
			s->failed = "a completion in error";
		else if (wc.opcode == IB_WC_SEND)
			s->failed = wc.wr_id == sent++ ? s->failed : "a send completed out of turn";
		else if (wc.wr_id != received || ((uint64_t *)s->mr->buf)[WINDOW + received % WINDOW] != received)
			s->failed = "not the next number";
		else
			post_room(s, WINDOW + received++);
	}
	return NULL;
}

/* Two threads at the same time, so that the ways alternate at random: each number comes once, and in order. */
START_TEST(both_sides_may_send_at_once)
{
	struct side side[2] = { { p.a, p.acq, p.am, NULL }, { p.b, p.bcq, p.bm, NULL } };
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		for (uint64_t n = 0; n < WINDOW; n++)
			post_room(&side[i], n);
	ck_assert_int_eq(pthread_create(&thread, NULL, converse, &side[1]), 0);
	converse(&side[0]);
	pthread_join(thread, NULL);
	ck_assert_msg(!side[0].failed, "%s", side[0].failed);
	ck_assert_msg(!side[1].failed, "%s", side[1].failed);
}
END_TEST

/* A message that can not take the short way gets the usual response. */
START_TEST(a_wrong_key_is_refused)
{
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	p.bm->ci->rkey ^= 1;
	memset(p.bm->buf, 0, 8);
	fill(p.am->buf, 8, 9);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
	p.bm->ci->rkey ^= 1;
	expect_wc(p.acq, 2, IB_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(p.bm->buf[i], 0);
}
END_TEST

START_TEST(a_send_too_long_for_its_receive_is_an_error_on_both_sides)
{
	struct ib_sge from = sge_of(p.am, 0, 9), to = sge_of(p.bm, 0, 8);
	struct ib_send_wr wr = send_wr(6, IB_WR_SEND, &from, IB_SEND_SIGNALED);

	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	post_recv(p.b, 5, &to, 1);
	post(p.a, &wr);
	expect_wc(p.bcq, 5, IB_WC_LOC_LEN_ERR);
	expect_wc(p.acq, 6, IB_WC_REM_INV_REQ_ERR);
}
END_TEST

START_TEST(a_write_past_the_region_is_refused)
{
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, ROOM - 7, 8);
	expect_wc(p.acq, 2, IB_WC_REM_ACCESS_ERR);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: shortcut");
	TCase *t = tcase_create("shortcut");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_short_way_leaves_behind_what_packets_leave, 0,
			    (int)(sizeof(messages) / sizeof(messages[0])));
	tcase_add_test(t, both_ways_keep_the_order);
	tcase_add_test(t, both_sides_may_send_at_once);
	tcase_add_test(t, a_wrong_key_is_refused);
	tcase_add_test(t, a_send_too_long_for_its_receive_is_an_error_on_both_sides);
	tcase_add_test(t, a_write_past_the_region_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
