/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The peer's view when a queue pair and then its region are destroyed without waiting: the queue
 * pair does not exist any more; it is never a queue pair without its memory. On the software HCA,
 * with a peer that sends all the time.
 */
#include "test/unit/al/bed.h"

#define LENGTH 2048u

/* The side that is destroyed, and the peer that continues. */
struct scene {
	al_h al;
	struct test_end near, peer;
	struct gate gate; /* entered by the near queue pair's event */
	bool held;        /* the event stays in its callback */
};

static void near_event(void *context, const struct al_event *event)
{
	struct scene *s = context;

	if (s->held)
		gate_event(&s->gate, event);
}

/* The near side stays in RTR: its first message raises "communication established". */
static void scene_make(struct scene *s, bool held)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 64, 64, 1, 1, 0 } };
	struct ib_qp_attr attr;
	uint64_t guids[2];

	memset(s, 0, sizeof(*s));
	gate_init(&s->gate);
	s->held = held;
	s->al = test_open();
	test_guids(s->al, guids, 2);
	test_make_end(&s->near, s->al, guids[0], IB_QPT_RC);
	test_make_end(&s->peer, s->al, guids[1], IB_QPT_RC);
	ck_ok(al_destroy_qp(s->near.qp, AL_DESTROY_SYNC, NULL));
	init.send_cq = init.recv_cq = s->near.cq;
	ck_ok(al_create_qp(s->near.pd, &init, s, near_event, &s->near.qp));
	ck_ok(al_qp_num(s->near.qp, &s->near.qpn));
	attr = test_attr(s->peer.lid, s->peer.qpn, s->near.mtu);
	ck_ok(test_modify(s->near.qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(s->near.qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	attr = test_attr(s->near.lid, s->near.qpn, s->peer.mtu);
	attr.timeout = 10; /* 4 ms: the peer soon notices the destroyed queue pair */
	attr.retry_cnt = 3;
	ck_ok(test_modify(s->peer.qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(s->peer.qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	ck_ok(test_modify(s->peer.qp, IB_QPS_RTS, attr, TEST_RC_RTS));
	for (uint64_t i = 0; i < 64; i++)
		ck_ok(test_post_recv(&s->near, i, 0, LENGTH));
}

static void scene_end(struct scene *s)
{
	ck_ok(al_close(s->al, AL_DESTROY_SYNC, NULL));
	free(s->near.mem);
	free(s->peer.mem);
}

static void post(struct scene *s, ib_wr_opcode opcode)
{
	struct ib_sge sge = { .addr = (uintptr_t)s->peer.mem, .length = LENGTH, .lkey = s->peer.lkey };
	struct ib_send_wr wr = { .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = IB_SEND_SIGNALED,
				 .wr.rdma = { .remote_addr = (uintptr_t)s->near.mem, .rkey = s->near.rkey } };
	const struct ib_send_wr *bad;

	ck_ok(al_post_send(s->peer.qp, &wr, &bad));
}

static void expect_gone(const struct ib_wc *wc)
{
	ck_assert_msg(wc->status == IB_WC_RETRY_EXC_ERR, "the peer saw: %s", al_wc_status_str(wc->status));
}

/* Loop: sends and writes. */
START_TEST(a_queue_pair_held_by_a_callback_takes_nothing_when_its_region_goes)
{
	ib_wr_opcode opcode = _i ? IB_WR_RDMA_WRITE : IB_WR_SEND;
	struct scene s;
	struct ib_wc wc;

	scene_make(&s, true);
	post(&s, opcode);
	test_poll_ok(s.peer.cq, 0);
	test_wait(&s.gate.in); /* from now on the callback holds the queue pair */
	ck_ok(al_destroy_qp(s.near.qp, NULL, NULL));
	ck_ok(al_dereg_mr(s.near.mr, AL_DESTROY_SYNC, NULL));
	memset(s.near.mem, 0x5a, TEST_MEM);
	post(&s, opcode);
	wc = test_poll(s.peer.cq);
	expect_gone(&wc);
	for (uint32_t i = 0; i < TEST_MEM; i++)
		ck_assert_uint_eq(s.near.mem[i], 0x5a);
	ck_assert_uint_eq(s.gate.returned, 0);
	sem_post(&s.gate.out);
	scene_end(&s);
}
END_TEST

/*
 * The peer always has requests under way. A peer that sends finds receives on the near side. Loop:
 * sends and writes, with a synchronous and an asynchronous destroy.
 */
START_TEST(a_peer_that_never_stops_sees_a_queue_pair_that_is_gone)
{
	ib_wr_opcode opcode = _i % 2 ? IB_WR_RDMA_WRITE : IB_WR_SEND;

	for (int round = 0; round < test_rounds(8); round++) {
		struct ib_wc wc = { .status = IB_WC_SUCCESS };
		struct scene s;

		scene_make(&s, false);
		for (int i = 0; i < 32; i++)
			post(&s, opcode);
		for (int i = 0; i < 8; i++)
			test_poll_ok(s.peer.cq, 0);
		ck_ok(al_destroy_qp(s.near.qp, NULL, NULL));
		ck_ok(al_dereg_mr(s.near.mr, _i < 2 ? NULL : AL_DESTROY_SYNC, NULL));
		while (!wc.status) { /* until a completion with an error */
			wc = test_poll(s.peer.cq);
			if (!wc.status)
				post(&s, opcode);
		}
		expect_gone(&wc);
		scene_end(&s);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/destroy_order");
	TCase *tcase = tcase_create("peer");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_queue_pair_held_by_a_callback_takes_nothing_when_its_region_goes, 0, 2);
	tcase_add_loop_test(tcase, a_peer_that_never_stops_sees_a_queue_pair_that_is_gone, 0, 4);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
