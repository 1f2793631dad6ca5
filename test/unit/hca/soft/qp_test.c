/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: the effect of each state on requests, draining, flushing, reset, and refusals of posts. */
#include "harness.h"

static struct pair p;
static const struct qp_options plain;

static void setup(void)
{
	up("");
	pair_up(&p, NULL, 1 << 16);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

/* -------------------------------------------------------------------- states */

#define TO(state) (1u << IB_QPS_##state)

static const uint32_t allowed[IB_QPS_COUNT] = {
	[IB_QPS_RESET] = TO(RESET) | TO(INIT) | TO(ERR),
	[IB_QPS_INIT] = TO(RESET) | TO(INIT) | TO(RTR) | TO(ERR),
	[IB_QPS_RTR] = TO(RESET) | TO(RTR) | TO(RTS) | TO(ERR),
	[IB_QPS_RTS] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
	[IB_QPS_SQD] = TO(RESET) | TO(RTS) | TO(SQD) | TO(ERR),
	[IB_QPS_ERR] = TO(RESET) | TO(ERR),
};

static struct qp *qp_in(ib_qp_state state)
{
	struct qp *qp = new_qp(&hca[0], p.acq, p.acq, &plain);

	if (state == IB_QPS_RESET)
		return qp;
	to_init(qp, &plain);
	if (state == IB_QPS_INIT)
		return qp;
	to_rtr(qp, p.b, &plain);
	if (state == IB_QPS_RTR)
		return qp;
	to_rts(qp, &plain);
	if (state != IB_QPS_RTS)
		ck_assert_int_eq(modify(qp, state, 0, NULL), AL_SUCCESS);
	return qp;
}

/*
 * The Access Layer checks the state that the caller knows; the state may have changed meanwhile. _i is from * 7 + to.
 */
START_TEST(transitions_from_the_state_as_it_is)
{
	ib_qp_state from = (ib_qp_state)(_i / IB_QPS_COUNT), to = (ib_qp_state)(_i % IB_QPS_COUNT);
	struct ib_qp_attr attr = { .path_mtu = IB_MTU_256, .port_num = 1, .ah_attr = { .dlid = 2, .port_num = 1 } };
	uint32_t mask = to == IB_QPS_INIT ? IB_QP_PORT | IB_QP_PKEY_INDEX :
			to == IB_QPS_RTR && from == IB_QPS_INIT ? IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN :
			0;
	struct qp *qp;
	al_status status;

	if (from == IB_QPS_SQE) /* a reliable queue pair never has this state */
		return;
	qp = qp_in(from);
	status = modify(qp, to, mask, &attr);
	if (allowed[from] & 1u << to) {
		ck_assert_int_eq(status, AL_SUCCESS);
		ck_assert_int_eq(state_of(qp), to);
	} else {
		ck_assert_int_eq(status, AL_INVALID_TRANSITION);
		ck_assert_int_eq(state_of(qp), from);
	}
	free_qp(qp);
}
END_TEST

START_TEST(a_wrong_current_state_changes_nothing)
{
	struct ib_qp_attr attr = { .cur_qp_state = IB_QPS_SQD, .min_rnr_timer = 9 };

	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_CUR_STATE | IB_QP_MIN_RNR_TIMER, &attr), AL_INVALID_STATE);
	ck_assert_int_eq(ops->query_qp(p.a->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.min_rnr_timer, 1);
}
END_TEST

START_TEST(query_tells_what_modify_set)
{
	struct qp_options o = { .mtu = IB_MTU_1024, .psn = 0x123456, .timeout = 9, .retry_cnt = 5, .rnr_retry = 3,
				.rnr_timer = 7, .rd_atomic = 2 };
	struct qp *a = new_qp(&hca[0], p.acq, p.acq, &o), *b = new_qp(&hca[1], p.bcq, p.bcq, &o);
	struct ib_qp_attr attr;

	connect_qps(a, b, &o);
	ck_assert_int_eq(ops->query_qp(a->ci, &attr), AL_SUCCESS);
	ck_assert_int_eq(attr.qp_state, IB_QPS_RTS);
	ck_assert_int_eq(attr.cur_qp_state, IB_QPS_RTS);
	ck_assert_int_eq(attr.path_mtu, IB_MTU_1024);
	ck_assert_uint_eq(attr.sq_psn, 0x123456);
	ck_assert_uint_eq(attr.rq_psn, 0x123456);
	ck_assert_uint_eq(attr.dest_qp_num, b->ci->qp_num);
	ck_assert_uint_eq(attr.timeout, 9);
	ck_assert_uint_eq(attr.retry_cnt, 5);
	ck_assert_uint_eq(attr.rnr_retry, 3);
	ck_assert_uint_eq(attr.min_rnr_timer, 7);
	ck_assert_uint_eq(attr.max_rd_atomic, 2);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 2);
	ck_assert_uint_eq(attr.port_num, 1);
	ck_assert_uint_eq(attr.cap.max_send_wr, 16);
	ck_assert(!attr.sq_draining);
	free_qp(a);
	free_qp(b);
}
END_TEST

/* _i: RC, UD. After Reset a queue pair has the attributes of a new one. */
START_TEST(reset_forgets_every_attribute)
{
	struct qp_options o = { .type = _i ? IB_QPT_UD : IB_QPT_RC, .mtu = IB_MTU_1024, .psn = 0x123456, .timeout = 9,
				.retry_cnt = 5, .rnr_retry = 3, .rnr_timer = 7, .rd_atomic = 2, .qkey = 0x1234 };
	struct qp *a = new_qp(&hca[0], p.acq, p.acq, &o), *b = new_qp(&hca[1], p.bcq, p.bcq, &o);
	struct ib_qp_attr attr, fresh;

	ck_assert_int_eq(ops->query_qp(a->ci, &fresh), AL_SUCCESS);
	ck_assert_uint_eq(fresh.dest_qp_num, 0);
	connect_qps(a, b, &o);
	attr = (struct ib_qp_attr){ .en_sqd_async_notify = true };
	ck_assert_int_eq(modify(a, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY, &attr), AL_SUCCESS);
	ck_assert_int_eq(ops->query_qp(a->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.dest_qp_num, _i ? 0 : b->ci->qp_num);
	ck_assert_uint_eq(attr.ah_attr.dlid, _i ? 0 : 2);
	ck_assert_int_eq(modify(a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(ops->query_qp(a->ci, &attr), AL_SUCCESS);
	ck_assert_mem_eq(&attr, &fresh, sizeof(attr));
	free_qp(a);
	free_qp(b);
}
END_TEST

START_TEST(the_first_request_in_rtr_raises_communication_established_once)
{
	struct qp *a = new_qp(&hca[0], p.acq, p.acq, &plain), *b = new_qp(&hca[1], p.bcq, p.bcq, &plain);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	int i;

	to_init(a, &plain);
	to_init(b, &plain);
	to_rtr(a, b, &plain);
	to_rtr(b, a, &plain);
	to_rts(a, &plain);
	for (i = 0; i < 2; i++) {
		post_recv(b, 2, NULL, 0);
		post(a, &wr);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
	}
	ck_assert_uint_eq(b->events, 1u << IB_EVENT_COMM_EST);
	ck_assert_uint_eq(b->event_count, 1);
	ck_assert_uint_eq(a->events, 0);
	free_qp(a);
	free_qp(b);
}
END_TEST

START_TEST(posts_are_refused_where_the_state_forbids)
{
	static const struct {
		ib_qp_state state;
		al_status send, recv;
	} want[] = {
		{ IB_QPS_RESET, AL_INVALID_STATE, AL_INVALID_STATE },
		{ IB_QPS_INIT, AL_INVALID_STATE, AL_SUCCESS },
		{ IB_QPS_RTR, AL_INVALID_STATE, AL_SUCCESS },
		{ IB_QPS_RTS, AL_SUCCESS, AL_SUCCESS },
		{ IB_QPS_SQD, AL_SUCCESS, AL_SUCCESS },
		{ IB_QPS_ERR, AL_SUCCESS, AL_SUCCESS },
	};
	struct ib_send_wr swr = send_wr(1, IB_WR_SEND, NULL, 0);
	struct ib_recv_wr rwr = { .wr_id = 2 };
	const struct ib_send_wr *sbad;
	const struct ib_recv_wr *rbad;
	struct qp *qp = qp_in(want[_i].state);

	sbad = NULL;
	rbad = NULL;
	ck_assert_int_eq(ops->post_send(qp->ci, &swr, &sbad), want[_i].send);
	ck_assert_ptr_eq(sbad, want[_i].send ? &swr : NULL);
	ck_assert_int_eq(ops->post_recv(qp->ci, &rwr, &rbad), want[_i].recv);
	ck_assert_ptr_eq(rbad, want[_i].recv ? &rwr : NULL);
	if (want[_i].state == IB_QPS_ERR) {
		expect_wc(p.acq, 1, IB_WC_WR_FLUSH_ERR);
		expect_wc(p.acq, 2, IB_WC_WR_FLUSH_ERR);
	}
	expect_empty(p.acq);
	free_qp(qp);
}
END_TEST

/* From Reset directly to Error: requests are accepted and flushed in Error. */
START_TEST(an_unused_queue_pair_in_error_flushes)
{
	struct qp *qp = new_qp(&hca[0], p.acq, p.acq, &plain);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

	ck_assert_int_eq(modify(qp, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	post(qp, &wr);
	expect_wc(p.acq, 1, IB_WC_WR_FLUSH_ERR);
	free_qp(qp);
}
END_TEST

/* --------------------------------------------------------------------- drain */

START_TEST(sqd_finishes_what_was_started_and_starts_nothing)
{
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	struct ib_qp_attr attr = { .en_sqd_async_notify = true };

	post(p.a, &wr); /* no receive is posted: the send has started, and waits */
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY, &attr), AL_SUCCESS);
	ck_assert_int_eq(ops->query_qp(p.a->ci, &attr), AL_SUCCESS);
	ck_assert_int_eq(attr.qp_state, IB_QPS_SQD);
	ck_assert(attr.sq_draining);
	ck_assert_uint_eq(p.a->events, 0);
	/* while the queue pair drains, no other attribute may be changed */
	attr.min_rnr_timer = 5;
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_MIN_RNR_TIMER, &attr), AL_INVALID_STATE);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, IB_QP_MIN_RNR_TIMER, &attr), AL_INVALID_STATE);

	wr.wr_id = 2;
	post(p.a, &wr);
	post_recv(p.b, 10, NULL, 0);
	post_recv(p.b, 11, NULL, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	wait_bits(&p.a->events, 1u << IB_EVENT_SQ_DRAINED);
	ck_assert_uint_eq(p.a->event_count, 1);
	ck_assert_int_eq(ops->query_qp(p.a->ci, &attr), AL_SUCCESS);
	ck_assert(!attr.sq_draining);
	expect_empty(p.acq); /* the second request has not started */
	attr.min_rnr_timer = 5;
	ck_assert_int_eq(modify(p.a, IB_QPS_SQD, IB_QP_MIN_RNR_TIMER, &attr), AL_SUCCESS);
	ck_assert_int_eq(modify(p.a, IB_QPS_RTS, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
}
END_TEST

START_TEST(sqd_answers_the_peer_all_the_same)
{
	ck_assert_int_eq(modify(p.b, IB_QPS_SQD, 0, NULL), AL_SUCCESS);
	ck_assert_uint_eq(p.b->events, 0); /* the event was not asked for */
	fill(p.am->buf, 100, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 100);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 100);
}
END_TEST

/* --------------------------------------------------------------- flush, reset */

/* In the order of each queue; sends may wait for their packets while receives are flushed. */
START_TEST(error_flushes_each_request_once_in_order)
{
	uint64_t next[2] = { 0, 100 };
	struct ib_send_wr wr[4];
	struct ib_wc wc;
	int i;

	for (i = 0; i < 4; i++) {
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, NULL, 0);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
		post_recv(p.a, 100 + (uint64_t)i, NULL, 0);
	}
	post(p.a, wr); /* b has no receives, so they wait */
	ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	for (i = 0; i < 8; i++) {
		wc = wait_wc(p.acq);
		ck_assert_int_eq(wc.status, IB_WC_WR_FLUSH_ERR);
		ck_assert_uint_eq(wc.wr_id, next[wc.wr_id >= 100]++);
	}
	expect_empty(p.acq);
	ck_assert_uint_eq(p.a->events, 0);
}
END_TEST

START_TEST(reset_removes_requests_and_completions)
{
	struct ib_send_wr wr = send_wr(5, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	struct qp *other = new_qp(&hca[0], p.acq, p.acq, &plain);
	uint32_t count;

	ck_assert_int_eq(modify(other, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	post(other, &wr); /* a completion of another queue pair, between two of a */
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 0, 8);
	do
		ops->peek_cq(p.acq->ci, 10, &count);
	while (count < 3);
	post(p.a, &wr); /* waits for a receive */
	post_recv(p.a, 3, NULL, 0);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	expect_wc(p.acq, 5, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);

	/* the queue pair works like a new one */
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	connect_qps(p.a, p.b, &plain);
	fill(p.am->buf, 100, 2);
	rdma(&p, IB_WR_RDMA_WRITE, 9, 0, 0, 100);
	expect_wc(p.acq, 9, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 100);
	expect_empty(p.acq);
	free_qp(other);
}
END_TEST

START_TEST(destroy_removes_completions)
{
	struct qp *a = new_qp(&hca[0], p.acq, p.acq, &plain), *b = new_qp(&hca[1], p.bcq, p.bcq, &plain);
	struct ib_send_wr wr = send_wr(5, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
	uint32_t count;

	connect_qps(a, b, &plain);
	post_recv(b, 6, NULL, 0);
	post(a, &wr);
	do
		ops->peek_cq(p.bcq->ci, 10, &count);
	while (!count);
	free_qp(b);
	expect_empty(p.bcq);
	free_qp(a);
	expect_empty(p.acq);
}
END_TEST

/* Arms after completions were removed: completions that were notified of stay so, and others still satisfy an arm. */
START_TEST(removed_completions_leave_the_news_as_it_was)
{
	struct cq *cq = new_cq(&hca[0], 16, AL_CQ_NOTIFY_PENDING);
	struct qp *a = new_qp(&hca[0], cq, cq, &plain), *b = new_qp(&hca[0], cq, cq, &plain);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

	ck_assert_int_eq(modify(a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(modify(b, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	post(a, &wr);
	post(b, &wr);
	ops->arm_cq(cq->ci, AL_ARM_ANY, NULL);
	ck_assert_uint_eq(cq->notified, 1);
	free_qp(a);
	ops->arm_cq(cq->ci, AL_ARM_ANY, NULL);
	ck_assert_uint_eq(cq->notified, 1); /* b's completion was notified of */
	post(b, &wr);
	ck_assert_uint_eq(cq->notified, 2);
	free_qp(b);
	free_cq(cq);
}
END_TEST

/* ---------------------------------------------------------------------- posts */

START_TEST(bad_requests_are_refused_and_named)
{
	struct ib_sge sge[6] = { sge_of(p.am, 0, 8), sge_of(p.am, 0, UINT32_MAX), sge_of(p.am, 0, 1) };
	struct ib_send_wr wr[3];
	const struct ib_send_wr *bad = NULL;
	static const struct {
		ib_wr_opcode opcode;
		uint32_t flags, first, num;
		al_status status;
	} cases[] = {
		{ (ib_wr_opcode)99, 0, 0, 1, AL_INVALID_OPCODE },
		{ IB_WR_SEND, 1u << 9, 0, 1, AL_INVALID_OPCODE },
		{ IB_WR_RDMA_READ, IB_SEND_INLINE, 0, 1, AL_INVALID_OPCODE },
		{ IB_WR_SEND_WITH_INV, 0, 0, 1, AL_UNSUPPORTED },
		{ IB_WR_SEND, 0, 0, 5, AL_INVALID_SGE },
		{ IB_WR_SEND, 0, 1, 2, AL_INVALID_SGE },                /* the sum overflows */
		{ IB_WR_SEND, IB_SEND_INLINE, 0, 1, AL_INVALID_SGE },   /* more than max_inline_data */
	};
	uint32_t i;

	for (i = 0; i < 3; i++) {
		wr[i] = send_wr(i, IB_WR_RDMA_WRITE, &sge[0], IB_SEND_SIGNALED);
		wr[i].wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
		wr[i].wr.rdma.rkey = p.bm->ci->rkey;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].opcode = cases[_i].opcode;
	wr[1].send_flags = cases[_i].flags;
	wr[1].sg_list = &sge[cases[_i].first];
	wr[1].num_sge = cases[_i].num;
	ck_assert_int_eq(ops->post_send(p.a->ci, wr, &bad), cases[_i].status);
	ck_assert_ptr_eq(bad, &wr[1]);
	expect_wc(p.acq, 0, IB_WC_SUCCESS); /* the request before completes, and the request after is not posted */
	expect_empty(p.acq);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
}
END_TEST

START_TEST(queues_hold_exactly_what_they_were_made_for)
{
	struct ib_send_wr wr[17];
	const struct ib_send_wr *bad = NULL;
	struct ib_recv_wr rwr = { .wr_id = 1 };
	const struct ib_recv_wr *rbad = NULL;
	int i;

	for (i = 0; i < 17; i++) {
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, NULL, 0);
		wr[i].next = i < 16 ? &wr[i + 1] : NULL;
	}
	/* no request can complete: b has no receives */
	ck_assert_int_eq(ops->post_send(p.a->ci, wr, &bad), AL_QUEUE_FULL);
	ck_assert_ptr_eq(bad, &wr[16]);
	for (i = 0; i < 16; i++)
		ck_assert_int_eq(ops->post_recv(p.a->ci, &rwr, &rbad), AL_SUCCESS);
	ck_assert_int_eq(ops->post_recv(p.a->ci, &rwr, &rbad), AL_QUEUE_FULL);
	ck_assert_ptr_eq(rbad, &rwr);
}
END_TEST

static void post_another(struct cq *cq)
{
	struct ib_send_wr wr = send_wr(99, IB_WR_SEND, NULL, 0);

	(void)cq;
	on_notify = NULL;
	post(p.a, &wr);
}

/* The notification comes with the completion; the completion is not polled yet. */
START_TEST(who_is_told_of_a_completion_finds_room_for_another_request)
{
	struct ib_send_wr wr[16];
	int i;

	for (i = 0; i < 16; i++) {
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, NULL, IB_SEND_SIGNALED);
		wr[i].next = i < 15 ? &wr[i + 1] : NULL;
	}
	post(p.a, wr); /* the queue is full, since its requests wait for receives */
	on_notify = post_another;
	ck_assert_int_eq(ops->arm_cq(p.acq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
	post_recv(p.b, 100, NULL, 0);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	wait_bits(&p.acq->notified, 1);
	ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	for (i = 1; i < 16; i++)
		expect_wc(p.acq, (uint64_t)i, IB_WC_WR_FLUSH_ERR);
	expect_wc(p.acq, 99, IB_WC_WR_FLUSH_ERR);
}
END_TEST

START_TEST(over_the_limits_of_a_queue_pair_the_limits_are_written_back)
{
	struct ci_qp *qp = al_alloc_aligned(64, ops->obj_size[CI_OBJ_QP]);
	struct al_qp_init attr = { .qp_type = IB_QPT_RC };
	struct ci_qp_init init = { .attr = &attr };
	uint32_t *const member[] = { &init.cap.max_send_wr, &init.cap.max_recv_wr, &init.cap.max_send_sge,
				     &init.cap.max_recv_sge, &init.cap.max_inline_data };
	const uint32_t limit[] = { hca[0].attr.max_qp_wr, hca[0].attr.max_qp_wr, hca[0].attr.max_send_sge,
				   hca[0].attr.max_recv_sge, hca[0].attr.max_inline_data };
	int i, j;

	qp->pd = hca[0].pd;
	qp->send_cq = qp->recv_cq = p.acq->ci;
	for (i = 0; i < 5; i++) {
		memset(&init.cap, 0, sizeof(init.cap));
		*member[i] = limit[i] + 1;
		ck_assert_int_eq(ops->create_qp(qp, &init, NULL), AL_LIMIT_EXCEEDED);
		for (j = 0; j < 5; j++)
			ck_assert_uint_eq(*member[j], limit[j]);
	}
	attr.qp_type = IB_QPT_RD;
	memset(&init.cap, 0, sizeof(init.cap));
	ck_assert_int_eq(ops->create_qp(qp, &init, NULL), AL_UNSUPPORTED);
	al_free(qp);
}
END_TEST

START_TEST(numbers_are_unique_while_alive)
{
	struct qp *qp[200] = { NULL };

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++) {
			if (qp[i])
				continue;
			qp[i] = new_qp(&hca[0], p.acq, p.acq, &plain);
			ck_assert_uint_gt(qp[i]->ci->qp_num, 1);
			ck_assert_uint_le(qp[i]->ci->qp_num, IB_QPN_MASK);
			for (int j = 0; j < 200; j++)
				ck_assert(j == i || !qp[j] || qp[i]->ci->qp_num != qp[j]->ci->qp_num);
		}
		for (int i = round; i < 200; i += 3) {
			free_qp(qp[i]);
			qp[i] = NULL;
		}
	}
	for (int i = 0; i < 200; i++)
		if (qp[i])
			free_qp(qp[i]);
}
END_TEST

/* A modify that fails for want of memory leaves the queue pair unchanged. */
START_TEST(a_modify_without_memory_changes_nothing)
{
	struct ib_qp_attr attr = { .port_num = 1, .path_mtu = IB_MTU_256, .max_dest_rd_atomic = 4,
				   .ah_attr = { .dlid = 2, .port_num = 1 } };
	struct qp *qp = new_qp(&hca[0], p.acq, p.acq, &plain);

	al_fail_alloc(1);
	ck_assert_int_eq(modify(qp, IB_QPS_INIT, IB_QP_PORT | IB_QP_PKEY_INDEX, &attr), AL_INSUFFICIENT_MEMORY);
	ck_assert_int_eq(state_of(qp), IB_QPS_RESET);
	ck_assert_int_eq(modify(qp, IB_QPS_INIT, IB_QP_PORT | IB_QP_PKEY_INDEX, &attr), AL_SUCCESS);
	al_fail_alloc(1);
	ck_assert_int_eq(modify(qp, IB_QPS_RTR,
				IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_MAX_DEST_RD_ATOMIC, &attr),
			 AL_INSUFFICIENT_MEMORY);
	ck_assert_int_eq(state_of(qp), IB_QPS_INIT);
	al_fail_alloc(0);
	free_qp(qp);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: qp");
	TCase *t = tcase_create("qp");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, transitions_from_the_state_as_it_is, 0, IB_QPS_COUNT * IB_QPS_COUNT);
	tcase_add_test(t, a_wrong_current_state_changes_nothing);
	tcase_add_test(t, query_tells_what_modify_set);
	tcase_add_loop_test(t, reset_forgets_every_attribute, 0, 2);
	tcase_add_test(t, the_first_request_in_rtr_raises_communication_established_once);
	tcase_add_loop_test(t, posts_are_refused_where_the_state_forbids, 0, 6);
	tcase_add_test(t, an_unused_queue_pair_in_error_flushes);
	tcase_add_test(t, sqd_finishes_what_was_started_and_starts_nothing);
	tcase_add_test(t, sqd_answers_the_peer_all_the_same);
	tcase_add_test(t, error_flushes_each_request_once_in_order);
	tcase_add_test(t, reset_removes_requests_and_completions);
	tcase_add_test(t, destroy_removes_completions);
	tcase_add_test(t, removed_completions_leave_the_news_as_it_was);
	tcase_add_loop_test(t, bad_requests_are_refused_and_named, 0, 7);
	tcase_add_test(t, queues_hold_exactly_what_they_were_made_for);
	tcase_add_test(t, who_is_told_of_a_completion_finds_room_for_another_request);
	tcase_add_test(t, over_the_limits_of_a_queue_pair_the_limits_are_written_back);
	tcase_add_test(t, numbers_are_unique_while_alive);
	tcase_add_test(t, a_modify_without_memory_changes_nothing);
	suite_add_tcase(s, t);
	return run_suite(s);
}
