/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The classes of bugs of bugclass_test.c in UC and UD, under the same names, in virtual time; and those of every
 * type, RC too: completion queues, and sums of lengths. _i, or its lowest bit: UC or UD; 2, where used: RC.
 */
#include "hca/soft/queue/cq.h"
#include "hca/soft/transport/qp.h"

#include "harness.h"

#define MTU  256
#define SIZE (1u << 20)
#define GRH  40
#define QKEY 77u

static struct pair p;
static struct ci_ah *ah; /* of a, to b */

static void setup(void)
{
	up("progress=manual seed=1");
}

static const ib_qp_type types[] = { IB_QPT_UC, IB_QPT_UD, IB_QPT_RC };
#define TYPES (int)(sizeof(types) / sizeof(types[0]))

static struct ci_ah *ah_to(const struct hca *h, struct ci_pd *pd)
{
	struct ib_ah_attr path = { .port_num = 1, .is_global = true };
	struct ib_port_attr port;

	ck_assert_int_eq(ops->query_port(h->ca, 1, &port), AL_SUCCESS);
	ck_assert_int_eq(ops->query_gid(h->ca, 1, 0, &path.grh.dgid), AL_SUCCESS);
	path.dlid = port.lid;
	return new_ah(&hca[0], pd, &path);
}

static void start(int type)
{
	struct qp_options o = { .type = types[type], .qkey = QKEY, .inline_data = 64 };

	pair_up(&p, &o, SIZE);
	fill(p.am->buf, SIZE, 1);
	ah = ah_to(&hca[1], NULL);
}

static void finish(void)
{
	pair_down(&p);
	free_ah(ah);
}

static void teardown(void)
{
	finish();
	down();
}

/* A signalled request from a to qp, of one message. */
static struct ib_send_wr request(const struct qp *qp, uint64_t wr_id, struct ib_sge *sge)
{
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_SEND, sge, IB_SEND_SIGNALED);

	if (p.o.type == IB_QPT_UD) {
		wr.wr.ud.ah = (al_ah_h)ah;
		wr.wr.ud.remote_qpn = qp->ci->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	return wr;
}

static struct ib_send_wr write_request(uint64_t wr_id, struct ib_sge *sge)
{
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_RDMA_WRITE, sge, IB_SEND_SIGNALED);

	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	return wr;
}

static uint32_t area(void)
{
	return p.o.type == IB_QPT_UD ? GRH : 0;
}

/* ------------------------------------------------------------------- teardown */

/* _i: number of steps before one side is destroyed, then the other; some packets are delayed. */
START_TEST(teardown_use_after_free_of_packets_in_flight)
{
	struct ib_sge sge, to;
	struct ib_send_wr wr;
	struct qp *a, *b;
	bool ud = _i % 2;
	int i;

	start(ud);
	if (_i % 3)
		fault(&hca[0], (struct soft_fault){
				       .action = SOFT_FAULT_HOLD, .n = 2, .count = 3, .by = 1000 });
	a = new_qp(&hca[0], p.acq, p.acq, &p.o);
	b = new_qp(&hca[1], p.bcq, p.bcq, &p.o);
	connect_qps(a, b, &p.o);
	for (i = 0; i < 8; i++) {
		sge = sge_of(p.am, 0, ud ? MTU : 600 << 10);
		to = sge_of(p.bm, 0, SIZE);
		post_recv(b, 9, &to, 1);
		wr = request(b, 1, &sge);
		post(a, &wr);
	}
	for (i = 0; i < _i / 4; i++)
		step();
	free_qp(_i / 2 % 2 ? a : b);
	for (i = 0; i < 3; i++)
		step();
	run_all();
	free_qp(_i / 2 % 2 ? b : a);
	run_all();
}
END_TEST

START_TEST(teardown_a_module_that_will_not_unload)
{
	struct ib_sge sge, to;
	struct ib_send_wr wr;
	int i, k;

	for (i = 0; i < 20; i++) {
		start(_i);
		fault(&hca[0], (struct soft_fault){
				       .action = SOFT_FAULT_HOLD, .n = 2, .count = 1, .by = 1000 });
		for (k = 0; k < 4; k++) {
			sge = sge_of(p.am, 0, _i ? MTU : 300 << 10);
			to = sge_of(p.bm, 0, SIZE);
			post_recv(p.b, 9, &to, 1);
			wr = request(p.b, 1, &sge);
			post(p.a, &wr);
		}
		for (k = 0; k < i; k++)
			step();
		if (i % 3 == 1)
			ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
		finish();
		down(); /* checks that nothing is left */
		setup();
	}
	start(_i);
}
END_TEST

/* ----------------------------------------------------------- completion queues */

/* Indices that count up without limit pass 2^32, in the completion queue and in both work queues. */
START_TEST(cq_index_overrun)
{
	struct soft_cq *cq;
	struct soft_qp *qp;
	struct ib_send_wr wr;
	struct ib_sge to;
	uint32_t i, from = UINT32_MAX - 20;

	start(_i);
	cq = (struct soft_cq *)p.acq->ci;
	qp = (struct soft_qp *)p.a->ci;
	cq->prod = cq->cons = cq->notified = from;
	qp->sq.prod = qp->sq.cons = qp->conn.req.next = qp->conn.req.fresh = qp->conn.req.acked =
		from + 1;
	qp = (struct soft_qp *)p.b->ci;
	qp->rq.prod = qp->rq.cons = from + 2;
	for (i = 0; i < 60; i++) {
		to = sge_of(p.bm, 0, GRH);
		post_recv(p.b, i, &to, 1);
		wr = request(p.b, 100 + i, NULL);
		post(p.a, &wr);
		expect_wc(p.acq, 100 + i, IB_WC_SUCCESS);
		expect_wc(p.bcq, i, IB_WC_SUCCESS);
		expect_empty(p.acq);
	}
	ck_assert_uint_lt(cq->prod, 1000);
}
END_TEST

/* A completion that comes between the last empty poll and the arm. */
START_TEST(cq_lost_completion_event)
{
	struct ib_send_wr wr;
	uint32_t i, before;
	struct ib_sge to;

	start(_i);
	for (i = 0; i < 100; i++) {
		expect_empty(p.acq);
		before = p.acq->notified;
		to = sge_of(p.bm, 0, GRH);
		post_recv(p.b, i, &to, 1);
		wr = request(p.b, i, NULL);
		post(p.a, &wr);
		if (i % 2)
			run_all();
		ck_assert_int_eq(ops->arm_cq(p.acq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
		run_all();
		ck_assert_uint_eq(p.acq->notified, before + 1);
		expect_wc(p.acq, i, IB_WC_SUCCESS);
	}
}
END_TEST

/* ------------------------------------------------------------------ arithmetic */

/* Addresses whose sum with the length wraps. _i: remote, local, local of a datagram, in the receive. */
START_TEST(arithmetic_iova_plus_length_overflows)
{
	struct ib_sge sge, to;
	struct ib_send_wr wr;
	bool ud = _i >= 2;

	start(ud);
	sge = sge_of(p.am, 0, 8);
	to = sge_of(p.bm, 0, 100);
	wr = ud ? request(p.b, 1, &sge) : write_request(1, &sge);
	if (_i == 0)
		wr.wr.rdma.remote_addr = UINT64_MAX - 3;
	else if (_i == 3)
		to.addr = UINT64_MAX - 50;
	else
		sge.addr = UINT64_MAX - 3;
	post_recv(p.b, 2, &to, 1);
	post(p.a, &wr);
	expect_wc(p.acq, 1, _i == 1 || _i == 2 ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
	if (_i == 3)
		expect_wc(p.bcq, 2, IB_WC_LOC_PROT_ERR);
	else
		expect_empty(p.bcq);
	if (_i == 0)
		ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 1);
}
END_TEST

/* Lengths whose sum is 2^32 + 8, which 32 bits would cut to 8. _i: type, and a send or a write. */
START_TEST(arithmetic_inline_length_overflows)
{
	const struct ib_send_wr *bad = NULL;
	struct ib_sge sge[3];
	struct ib_send_wr wr;
	bool write;

	start(_i % TYPES);
	sge[0] = sge[1] = sge_of(p.am, 0, 1u << 31);
	sge[2] = sge_of(p.am, 0, 8);
	write = _i >= TYPES && p.o.type != IB_QPT_UD;
	wr = write ? write_request(1, sge) : request(p.b, 1, sge);
	wr.num_sge = 3;
	wr.send_flags |= IB_SEND_INLINE;
	ck_assert_int_eq(ops->post_send(p.a->ci, &wr, &bad), AL_INVALID_SGE);
	ck_assert_ptr_eq(bad, &wr);
	wr.send_flags &= ~(uint32_t)IB_SEND_INLINE;
	ck_assert_int_eq(ops->post_send(p.a->ci, &wr, &bad), AL_INVALID_SGE);
}
END_TEST

/* -------------------------------------------------------------------- protocol */

/* The peer does not answer: a request is sent once, and completes at once. */
START_TEST(protocol_endless_retry)
{
	struct ib_send_wr wr;

	start(_i);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .n = 1 });
	wr = request(p.b, 1, NULL);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	run_all();
	ck_assert_uint_eq(soft_clock(), 0);
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
	ck_assert_uint_eq(counters(&hca[0]).retransmits, 0);
}
END_TEST

/* No elements, or empty elements with invalid keys; the receiver sends no response to any of these messages. */
START_TEST(protocol_zero_length)
{
	struct ib_sge empty[2] = { { 1, 0, 2 }, { 3, 0, 4 } }, to;
	struct ib_send_wr wr;

	start(_i % 2);
	to = sge_of(p.bm, 0, area());
	post_recv(p.b, 9, &to, 1);
	wr = request(p.b, 1, empty);
	wr.num_sge = _i / 2 ? 2 : 0;
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(expect_wc(p.bcq, 9, IB_WC_SUCCESS).byte_len, area());
	if (_i % 2 == 0) {
		wr = write_request(2, empty);
		wr.num_sge = _i / 2 ? 2 : 0;
		wr.wr.rdma.rkey = 0xdead;
		post(p.a, &wr);
		expect_wc(p.acq, 2, IB_WC_SUCCESS);
		run_all();
		ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 0);
	}
	ck_assert_uint_eq(counters(&hca[1]).xmit_packets, 0);
}
END_TEST

/* One byte too few, one too many, and no room for the GRH; no byte is written behind the receive. */
START_TEST(protocol_responder_length_checks)
{
	static const struct {
		uint32_t sent, room[2]; /* room of UC, and of UD, behind the GRH area */
		bool fits;
	} cases[] = { { 200, { 200, 200 }, true },
		      { 200, { 199, 199 }, false },
		      { 1, { 0, 0 }, false },
		      { 256, { 255, 255 }, false } };
	static char want[4096];
	uint32_t room = cases[_i / 2].room[_i % 2];
	bool fits = cases[_i / 2].fits;
	struct ib_sge sge, to;
	struct ib_send_wr wr;

	start(_i % 2);
	room += area();
	sge = sge_of(p.am, 0, cases[_i / 2].sent);
	to = sge_of(p.bm, 0, room);
	post_recv(p.b, 8, &to, 1);
	post_recv(p.b, 9, &to, 1);
	wr = request(p.b, 1, &sge);
	memset(p.bm->buf, 0x55, sizeof(want));
	memset(want, 0x55, sizeof(want));
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	if (!fits) { /* dropped: both receives stay posted */
		expect_empty(p.bcq);
		ck_assert_mem_eq(p.bm->buf, want, sizeof(want));
		ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 1);
		sge.length = 0;
		wr = request(p.b, 2, &sge);
		post(p.a, &wr);
		expect_wc(p.acq, 2, IB_WC_SUCCESS);
	}
	ck_assert_uint_eq(expect_wc(p.bcq, 8, IB_WC_SUCCESS).byte_len, sge.length + area());
	ck_assert_mem_eq(p.bm->buf + room, want, sizeof(want) - room);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
}
END_TEST

/*
 * _i: number of steps before the sender's memory is deregistered. The requests behind are flushed, and the receiver
 * gets no more of the message.
 */
START_TEST(protocol_error_inside_a_write)
{
	struct mr *gone;
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct ib_wc wc;
	int i;

	start(false);
	fault(&hca[0],
	      (struct soft_fault){ .action = SOFT_FAULT_DROP, .n = 1ull << 60, .count = 1 });
	gone = new_mr(&hca[0], SIZE, 0);
	sge = sge_of(gone, 0, SIZE);
	wr = write_request(1, &sge);
	post(p.a, &wr);
	for (i = 0; i < _i; i++)
		step();
	free_mr(gone);
	wc = wait_wc(p.acq);
	if (wc.status != IB_WC_SUCCESS) {
		ck_assert_int_eq(wc.status, IB_WC_LOC_PROT_ERR);
		ck_assert_int_eq(state_of(p.a), IB_QPS_SQE);
	} else {
		ck_assert_int_ge(_i, 5);
	}
	run_all();
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	expect_empty(p.bcq);
}
END_TEST

/* ------------------------------------------------------------------ protection */

/*
 * _i / 2: the object of another protection domain: the source, the receive's memory, the target of a write, or the
 * address handle.
 */
START_TEST(protection_domain_never_checked)
{
	struct ci_pd *pd[2] = { new_pd(&hca[0]), new_pd(&hca[1]) };
	const struct ib_send_wr *bad = NULL;
	struct ci_ah *other_ah = NULL;
	struct ib_sge sge, to;
	struct ib_send_wr wr;
	bool ud = _i % 2;
	struct mr other[2];
	int i, which = _i / 2;

	start(ud);
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(try_mr(&other[i], &hca[i], pd[i], 64, 0xf), AL_SUCCESS);
	sge = which == 0 ? sge_of(&other[0], 0, 8) : sge_of(p.am, 0, 8);
	to = which == 1 ? sge_of(&other[1], 0, 64) : sge_of(p.bm, 0, 64);
	post_recv(p.b, 9, &to, 1);
	wr = which == 2 && !ud ? write_request(1, &sge) : request(p.b, 1, &sge);
	if (which == 2 && ud) {
		other_ah = ah_to(&hca[1], pd[0]);
		wr.wr.ud.ah = (al_ah_h)other_ah;
		ck_assert_int_eq(ops->post_send(p.a->ci, &wr, &bad), AL_INVALID_PD);
		ck_assert_ptr_eq(bad, &wr);
		free_ah(other_ah);
	} else {
		if (which == 2) {
			wr.wr.rdma.remote_addr = (uintptr_t)other[1].buf;
			wr.wr.rdma.rkey = other[1].ci->rkey;
		}
		post(p.a, &wr);
		expect_wc(p.acq, 1, which == 0 ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS);
	}
	if (which == 1)
		expect_wc(p.bcq, 9, IB_WC_LOC_PROT_ERR);
	else
		expect_empty(p.bcq);
	for (i = 0; i < 64; i++)
		ck_assert_int_eq(other[0].buf[i] | other[1].buf[i], 0);
	for (i = 0; i < 2; i++) {
		end_mr(&other[i]);
		free_pd(pd[i]);
	}
}
END_TEST

/* ---------------------------------------------------------------------- addresses */

/* A datagram to the port's own GID, at the default index. */
START_TEST(addresses_loopback_by_the_default_gid)
{
	struct ci_ah *self;
	struct ib_send_wr wr;
	struct ib_sge sge, to;

	start(true);
	self = ah_to(&hca[0], NULL);
	sge = sge_of(p.am, 0, MTU);
	to = sge_of(p.am, SIZE / 2, GRH + MTU);
	post_recv(p.a, 1, &to, 1);
	wr = request(p.a, 2, &sge);
	wr.wr.ud.ah = (al_ah_h)self;
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf + SIZE / 2 + 8, p.am->buf + SIZE / 2 + 24, 16); /* SGID, DGID */
	ck_assert_mem_eq(p.am->buf + SIZE / 2 + GRH, p.am->buf, MTU);
	free_ah(self);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: bug classes, UC and UD");
	TCase *t = tcase_create("bug classes");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, teardown_use_after_free_of_packets_in_flight, 0, 80);
	tcase_add_loop_test(t, teardown_a_module_that_will_not_unload, 0, 2);
	tcase_add_loop_test(t, cq_index_overrun, 0, TYPES);
	tcase_add_loop_test(t, cq_lost_completion_event, 0, TYPES);
	tcase_add_loop_test(t, arithmetic_iova_plus_length_overflows, 0, 4);
	tcase_add_loop_test(t, arithmetic_inline_length_overflows, 0, 2 * TYPES);
	tcase_add_loop_test(t, protocol_endless_retry, 0, 2);
	tcase_add_loop_test(t, protocol_zero_length, 0, 4);
	tcase_add_loop_test(t, protocol_responder_length_checks, 0, 8);
	tcase_add_loop_test(t, protocol_error_inside_a_write, 1, 14);
	tcase_add_loop_test(t, protection_domain_never_checked, 0, 6);
	tcase_add_test(t, addresses_loopback_by_the_default_gid);
	suite_add_tcase(s, t);
	return run_suite(s);
}
