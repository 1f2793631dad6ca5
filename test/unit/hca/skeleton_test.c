/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hca/skeleton through the public API: the example from which vendors begin must be correct in the little that it
 * does. The queue pair of these tests has no peer. test/e2e/skeleton_ports_test.c moves data between the ports.
 */
#include "test/unit/al/al_test.h"

#define GUID 0x0200005ce1e70001ULL

static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;
static al_qp_h qp;
static sem_t notified, event_seen, drained;
static ib_event_type last_event;

static void on_cq(void *context)
{
	(void)context;
	sem_post(&notified);
}

static void on_event(void *context, const struct al_event *event)
{
	(void)context;
	last_event = event->type;
	sem_post(event->type == IB_EVENT_SQ_DRAINED ? &drained : &event_seen);
}

static al_status make_qp(al_cq_h of, ib_qp_type type, al_qp_h *result)
{
	struct al_qp_init init = {
		.qp_type = type,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.send_cq = of,
		.recv_cq = of,
	};

	return al_create_qp(pd, &init, &qp, on_event, result);
}

static void start(void)
{
	struct al_cq_init init = { .cqe = 32 };

	sem_init(&notified, 0, 0);
	sem_init(&event_seen, 0, 0);
	sem_init(&drained, 0, 0);
	setenv("IBAL_MODULE_PATH", SKELETON_DIR, 1);
	al = test_open();
	ca = test_open_ca(al, GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &init, NULL, on_cq, on_event, &cq));
	ck_ok(make_qp(cq, IB_QPT_RC, &qp));
}

static void stop(void)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void to(ib_qp_state state)
{
	struct ib_qp_attr attr = test_attr(2, 1000, IB_MTU_1024);

	attr.max_rd_atomic = attr.max_dest_rd_atomic = 0;
	if (state >= IB_QPS_INIT)
		ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	if (state >= IB_QPS_RTR)
		ck_ok(test_modify(qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	if (state >= IB_QPS_RTS)
		ck_ok(test_modify(qp, IB_QPS_RTS, attr, TEST_RC_RTS));
}

static al_status move(ib_qp_state state, uint32_t more)
{
	return test_modify(qp, state, (struct ib_qp_attr){ .en_sqd_async_notify = true },
			   IB_QP_STATE | more);
}

static al_status post_send(uint64_t wr_id)
{
	struct ib_send_wr wr = { .wr_id = wr_id, .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad = NULL;

	return al_post_send(qp, &wr, &bad);
}

static al_status post_recv(uint64_t wr_id)
{
	struct ib_recv_wr wr = { .wr_id = wr_id };
	const struct ib_recv_wr *bad = NULL;

	return al_post_recv(qp, &wr, &bad);
}

static void expect(uint64_t wr_id, ib_wc_status status)
{
	struct ib_wc wc;
	uint32_t count;

	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(wc.wr_id, wr_id);
	ck_assert_int_eq(wc.status, status);
	ck_assert_ptr_eq(wc.qp_context, &qp);
}

static void expect_none(void)
{
	struct ib_wc wc;
	uint32_t count;

	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
}

START_TEST(the_hca_is_what_it_says)
{
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	uint16_t pkey;
	ib_gid gid;

	ck_ok(al_query_ca(ca, &attr));
	ck_assert_uint_eq(attr.node_guid, GUID);
	ck_assert_uint_eq(attr.num_ports, 2);
	for (uint8_t i = 1; i <= 2; i++) {
		ck_ok(al_query_port(ca, i, &port));
		ck_assert_int_eq(port.state, IB_PORT_ACTIVE);
		ck_assert_uint_eq(port.lid, i);
		ck_ok(al_query_gid(ca, i, 0, &gid));
		ck_assert_uint_eq(gid.raw[0], 0xfe);
		ck_assert_uint_eq(gid.raw[1], 0x80);
		ck_assert_uint_eq(gid.raw[8], port.port_guid >> 56);
		ck_assert_uint_eq(gid.raw[15], port.port_guid & 0xff);
	}
	ck_ok(al_query_pkey(ca, 1, 0, &pkey));
	ck_assert_uint_eq(pkey, IB_PKEY_DEFAULT);
}
END_TEST

START_TEST(a_send_without_a_peer_fails_and_the_rest_is_flushed)
{
	to(IB_QPS_RTS);
	ck_ok(post_recv(10));
	ck_ok(al_arm_cq(cq, AL_ARM_ERRORS, NULL));
	ck_ok(post_send(1));
	test_wait(&notified);
	ck_assert_int_eq(test_state(qp), IB_QPS_ERR);
	ck_ok(post_send(2));
	ck_ok(post_recv(11));
	expect(1, IB_WC_RETRY_EXC_ERR);
	expect(10, IB_WC_WR_FLUSH_ERR);
	expect(2, IB_WC_WR_FLUSH_ERR);
	expect(11, IB_WC_WR_FLUSH_ERR);
	expect_none();
	ck_status(move(IB_QPS_RTS, 0), AL_INVALID_TRANSITION);
}
END_TEST

START_TEST(moving_to_error_flushes_in_order)
{
	to(IB_QPS_RTR);
	for (uint64_t i = 0; i < 4; i++)
		ck_ok(post_recv(i));
	ck_ok(move(IB_QPS_ERR, 0));
	for (uint64_t i = 0; i < 4; i++)
		expect(i, IB_WC_WR_FLUSH_ERR);
	expect_none();
}
END_TEST

START_TEST(reset_takes_requests_and_completions_away)
{
	to(IB_QPS_RTS);
	ck_ok(post_send(1));
	ck_ok(move(IB_QPS_RESET, 0));
	expect_none();
	to(IB_QPS_INIT);
	ck_ok(post_recv(5));
	ck_ok(move(IB_QPS_RESET, 0));
	to(IB_QPS_INIT);
	ck_ok(move(IB_QPS_ERR, 0));
	expect_none();
}
END_TEST

START_TEST(a_drained_queue_holds_requests_until_it_sends_again)
{
	to(IB_QPS_RTS);
	ck_ok(move(IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY));
	test_wait(&drained);
	ck_ok(post_send(1));
	expect_none();
	ck_ok(move(IB_QPS_RTS, 0));
	expect(1, IB_WC_RETRY_EXC_ERR);
}
END_TEST

START_TEST(destroy_takes_the_completions_of_its_queue_pair_only)
{
	al_qp_h first = qp, second;

	ck_ok(make_qp(cq, IB_QPT_RC, &second));
	to(IB_QPS_RTS);
	ck_ok(post_send(1));
	qp = second;
	to(IB_QPS_RTS);
	ck_ok(post_send(2));
	ck_ok(al_destroy_qp(first, AL_DESTROY_SYNC, NULL));
	expect(2, IB_WC_RETRY_EXC_ERR);
	expect_none();
}
END_TEST

START_TEST(what_it_can_not_take_it_refuses)
{
	struct ib_sge sge[2] = { { .length = 0 } };
	struct ib_send_wr wr[2] = { { .next = &wr[1], .opcode = IB_WR_SEND },
				    { .opcode = IB_WR_SEND_WITH_INV } };
	const struct ib_send_wr *bad = NULL;
	struct ib_recv_wr recv = { .sg_list = sge, .num_sge = 2 };
	const struct ib_recv_wr *bad_recv = NULL;
	al_qp_h other;

	ck_status(make_qp(cq, IB_QPT_UC, &other), AL_UNSUPPORTED);
	ck_status(post_recv(1), AL_INVALID_STATE);
	ck_status(post_send(1), AL_INVALID_STATE);
	to(IB_QPS_RTS);
	ck_status(al_post_recv(qp, &recv, &bad_recv), AL_INVALID_SGE);
	ck_assert_ptr_eq(bad_recv, &recv);
	for (uint64_t i = 0; i < 4; i++)
		ck_ok(post_recv(i));
	ck_status(post_recv(4), AL_QUEUE_FULL);
	ck_status(al_post_send(qp, wr, &bad), AL_INVALID_OPCODE);
	ck_assert_ptr_eq(bad, &wr[1]);
	ck_assert_str_eq(al_reason(), "the HCA has plain sends only");
	wr[1].opcode = IB_WR_SEND;
	wr[1].send_flags = IB_SEND_INLINE;
	ck_status(al_post_send(qp, &wr[1], &bad), AL_INVALID_OPCODE);
	wr[1] = (struct ib_send_wr){ .sg_list = sge, .num_sge = 2 };
	ck_status(al_post_send(qp, &wr[1], &bad), AL_INVALID_SGE);
	wr[1] = (struct ib_send_wr){ .num_sge = 1 };
	ck_status(al_post_send(qp, &wr[1], &bad), AL_INVALID_SGE);
}
END_TEST

START_TEST(an_arm_is_satisfied_by_what_came_since_the_last_notification)
{
	bool present = false;

	to(IB_QPS_RTS);
	ck_ok(post_send(1));
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, &present));
	ck_assert(present);
	test_wait(&notified);
	/* All completions were there at the last notification, so only a new completion satisfies this arm. */
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	expect(1, IB_WC_RETRY_EXC_ERR);
	ck_ok(post_send(2));
	test_wait(&notified);
	ck_assert_int_eq(sem_trywait(&notified), -1);
}
END_TEST

START_TEST(a_queue_that_overflows_says_so)
{
	struct al_cq_init init = { .cqe = 2 };
	struct ib_wc wc[4];
	uint32_t count;
	al_cq_h small;

	ck_ok(al_create_cq(pd, &init, NULL, on_cq, on_event, &small));
	ck_ok(make_qp(small, IB_QPT_RC, &qp));
	to(IB_QPS_RTR);
	for (uint64_t i = 0; i < 4; i++)
		ck_ok(post_recv(i));
	ck_ok(move(IB_QPS_ERR, 0));
	test_wait(&event_seen);
	ck_assert_int_eq(last_event, IB_EVENT_CQ_ERR);
	ck_ok(al_poll_cq(small, 4, wc, &count));
	ck_assert_uint_eq(count, 2);
	ck_status(al_poll_cq(small, 4, wc, &count), AL_CQ_ERROR);
	ck_status(al_arm_cq(small, AL_ARM_ANY, NULL), AL_CQ_ERROR);
	ck_ok(post_recv(9)); /* is flushed, and its completion lost, too */
	ck_status(al_poll_cq(small, 4, wc, &count), AL_CQ_ERROR);
}
END_TEST

START_TEST(memory_has_keys_that_are_its_own)
{
	static char memory[4096];
	struct al_mr_init init = { .addr = memory,
				   .length = sizeof(memory),
				   .access = IB_ACCESS_LOCAL_WRITE };
	uint32_t lkey[3], rkey[3];
	al_mr_h mr[3];

	for (int i = 0; i < 3; i++)
		ck_ok(al_reg_mr(pd, &init, NULL, &lkey[i], &rkey[i], &mr[i]));
	ck_assert(lkey[0] != lkey[1] && lkey[1] != lkey[2] && lkey[0] != lkey[2]);
	ck_assert_uint_eq(rkey[0], 0);
	ck_ok(al_dereg_mr(mr[1], AL_DESTROY_SYNC, NULL));
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey[1], &rkey[1], &mr[1]));
	ck_assert(lkey[1] != lkey[0] && lkey[1] != lkey[2]);
}
END_TEST

START_TEST(it_is_unloaded_when_it_is_closed_and_comes_back)
{
	ck_status(al_unload_module(al, "skeleton", 0), AL_MODULE_IN_USE);
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_unload_module(al, "skeleton", 0));
	ck_status(al_open_ca(al, GUID, NULL, &ca), AL_NOT_FOUND);
	ck_ok(al_load_module(al, SKELETON_DIR "/skeleton.so"));
	ca = test_open_ca(al, GUID);
}
END_TEST

/* ------------------------------------------------------------------------ settings */

static char logged[2000];

static void keep_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged), "%s\n", text);
}

START_TEST(a_setting_is_refused_by_its_name)
{
	const struct al_open_attr attr = { .agent = "off", .config = "" };

	setenv("IBAL_MODULE_PATH", SKELETON_DIR, 1);
	al_set_log(keep_log, NULL);
	setenv("IBAL_SKELETON", "guid=1", 1);
	ck_status(al_open(&attr, &al), AL_BAD_CONFIG);
	ck_assert_msg(strstr(logged, "IBAL_SKELETON: guid: the module has no settings"), "%s", logged);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("skeleton");
	TCase *tc = tcase_create("hca");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, start, stop);
	tcase_add_test(tc, the_hca_is_what_it_says);
	tcase_add_test(tc, a_send_without_a_peer_fails_and_the_rest_is_flushed);
	tcase_add_test(tc, moving_to_error_flushes_in_order);
	tcase_add_test(tc, reset_takes_requests_and_completions_away);
	tcase_add_test(tc, a_drained_queue_holds_requests_until_it_sends_again);
	tcase_add_test(tc, destroy_takes_the_completions_of_its_queue_pair_only);
	tcase_add_test(tc, what_it_can_not_take_it_refuses);
	tcase_add_test(tc, an_arm_is_satisfied_by_what_came_since_the_last_notification);
	tcase_add_test(tc, a_queue_that_overflows_says_so);
	tcase_add_test(tc, memory_has_keys_that_are_its_own);
	tcase_add_test(tc, it_is_unloaded_when_it_is_closed_and_comes_back);
	suite_add_tcase(suite, tc);
	tc = tcase_create("settings");
	tcase_add_test(tc, a_setting_is_refused_by_its_name);
	suite_add_tcase(suite, tc);

	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
