/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests that fail, each with the status of its completion and the exact sentence of
 * al_query_failure(), through the whole stack on the software HCA, in every role.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include <iba/ib_hca.h>

#include "test/unit/al/al_test.h"

static al_h al;
static struct test_end end[2]; /* a connected RC pair */

static struct ib_send_wr *make_wr(ib_wr_opcode opcode, uint32_t length, uint32_t lkey)
{
	static struct ib_send_wr wr;
	static struct ib_sge sge;

	sge = (struct ib_sge){ .addr = (uintptr_t)end[0].mem, .length = length, .lkey = lkey };
	wr = (struct ib_send_wr){ .wr_id = 77,
				  .opcode = opcode,
				  .send_flags = IB_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)end[1].mem;
	wr.wr.rdma.rkey = end[1].rkey;
	return &wr;
}

static void post(const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	ck_ok(al_post_send(end[0].qp, wr, &bad));
}

/* The next completion fails so, and the queue pair says why. */
static void expect_failure(const struct test_end *e, uint64_t wr_id, ib_wc_status status,
			   const char *fmt, ...) IB_PRINTF(4, 5);
static void expect_failure(const struct test_end *e, uint64_t wr_id, ib_wc_status status,
			   const char *fmt, ...)
{
	struct timespec deadline = test_deadline();
	struct ib_wc wc = test_poll(e->cq);
	struct al_qp_failure failure;
	char want[256];
	va_list ap;

	ck_assert_msg(wc.status == status, "%s", al_wc_status_str(wc.status));
	ck_assert_uint_eq(wc.wr_id, wr_id);
	/* through an agent the reason comes by itself */
	while (al_query_failure(e->qp, &failure))
		ck_assert(!test_expired(&deadline));
	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
	ck_assert_str_eq(failure.reason, want);
	ck_assert_uint_eq(failure.wr_id, wr_id);
	ck_assert_int_eq(failure.status, status);
	ck_assert_uint_eq(failure.count, 1);
}

static void set_up(void)
{
	al = test_open();
	test_make_pair(al, end);
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* The queue pair's failures, as snapshots show them. */
static struct al_snap_qp shown(const struct test_end *e)
{
	struct al_snap_qp found = { 0 };
	struct al_snapshot *snap;
	uint32_t qpn;

	ck_ok(al_qp_num(e->qp, &qpn));
	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_objects; i++)
		if (snap->objects[i].type == AL_OBJ_QP && snap->objects[i].number == qpn &&
		    snap->objects[i].detail.qp.peer_lid == end[e == end].lid)
			found = snap->objects[i].detail.qp;
	al_free_snapshot(snap);
	return found;
}

START_TEST(a_snapshot_shows_the_last_failure_of_a_queue_pair)
{
	struct timespec deadline = test_deadline();
	struct al_snap_qp qp = shown(&end[0]);

	ck_assert_uint_eq(qp.max_send_wr > 0, 1);
	ck_assert_uint_eq(qp.failed, 0);
	post(make_wr(IB_WR_RDMA_WRITE, 8, 0x1234));
	ck_assert_int_eq(test_poll(end[0].cq).status, IB_WC_LOC_PROT_ERR);
	/* the reason may come a moment after the completion */
	for (qp = shown(&end[0]); !qp.failed; qp = shown(&end[0]))
		ck_assert(!test_expired(&deadline));
	ck_assert_uint_eq(qp.failed, 1);
	ck_assert_uint_eq(qp.failed_wr_id, 77);
	ck_assert_uint_eq(qp.failed_status, IB_WC_LOC_PROT_ERR);
	ck_assert_uint_eq(shown(&end[1]).failed, 0);
}
END_TEST

START_TEST(a_queue_pair_without_a_failure_has_none)
{
	struct al_qp_failure failure;

	ck_status(al_query_failure(end[0].qp, &failure), AL_NOT_FOUND);
	ck_assert_str_eq(al_reason(), "no request of the queue pair has failed");
}
END_TEST

START_TEST(a_key_of_no_region)
{
	post(make_wr(IB_WR_RDMA_WRITE, 8, 0x00777700));
	expect_failure(&end[0], 77, IB_WC_LOC_PROT_ERR,
		       "the lkey 0x777700 of element 0 is of no region");
}
END_TEST

START_TEST(a_range_beyond_the_region)
{
	post(make_wr(IB_WR_RDMA_WRITE, TEST_MEM + 1, end[0].lkey));
	expect_failure(
		&end[0], 77, IB_WC_LOC_PROT_ERR,
		"the lkey %#x of element 0 is of a region of %u bytes at %#llx, and the access is of %u at %#llx",
		end[0].lkey, TEST_MEM, (unsigned long long)(uintptr_t)end[0].mem, TEST_MEM + 1,
		(unsigned long long)(uintptr_t)end[0].mem);
}
END_TEST

START_TEST(a_region_of_another_domain)
{
	struct al_mr_init init = { .addr = end[0].mem, .length = 64, .access = TEST_ALL_ACCESS };
	uint32_t lkey, rkey;
	al_pd_h pd;
	al_mr_h mr;

	ck_ok(al_alloc_pd(end[0].ca, NULL, &pd));
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	post(make_wr(IB_WR_RDMA_WRITE, 8, lkey));
	expect_failure(&end[0], 77, IB_WC_LOC_PROT_ERR,
		       "the lkey %#x of element 0 is of a region in another protection domain",
		       lkey);
}
END_TEST

START_TEST(a_read_into_memory_that_may_not_be_written)
{
	struct al_mr_init init = { .addr = end[0].mem, .length = 64 };
	uint32_t lkey, rkey;
	al_mr_h mr;

	ck_ok(al_reg_mr(end[0].pd, &init, NULL, &lkey, &rkey, &mr));
	post(make_wr(IB_WR_RDMA_READ, 8, lkey));
	expect_failure(&end[0], 77, IB_WC_LOC_PROT_ERR,
		       "the lkey %#x of element 0 is of a region that does not permit local writes",
		       lkey);
}
END_TEST

START_TEST(the_peer_refuses_a_key)
{
	struct ib_send_wr *wr = make_wr(IB_WR_RDMA_WRITE, 8, end[0].lkey);

	wr->wr.rdma.rkey = 0x00888800;
	post(wr);
	expect_failure(
		&end[0], 77, IB_WC_REM_ACCESS_ERR,
		"the peer answered NAK \"Remote Access Error\" to the RDMA write of 8 bytes at %#llx with rkey 0x888800",
		(unsigned long long)(uintptr_t)end[1].mem);
}
END_TEST

START_TEST(a_message_longer_than_its_receive)
{
	ck_ok(test_post_recv(&end[1], 5, 0, 16));
	post(make_wr(IB_WR_SEND, 17, end[0].lkey));
	expect_failure(&end[1], 5, IB_WC_LOC_LEN_ERR,
		       "the message is longer than the receive, which has 16 bytes");
	expect_failure(&end[0], 77, IB_WC_REM_INV_REQ_ERR,
		       "the peer answered NAK \"Invalid Request\" to the send of 17 bytes");
}
END_TEST

/* Connects the pair anew, the requester with few retries. */
static void reconnect(uint8_t retries, uint8_t rnr_retries, uint32_t qpn)
{
	struct ib_qp_attr attr = test_attr(end[1].lid, qpn, IB_MTU_1024);

	ck_ok(test_modify(end[0].qp, IB_QPS_RESET, attr, IB_QP_STATE));
	attr.timeout = 1;
	attr.retry_cnt = retries;
	attr.rnr_retry = rnr_retries;
	ck_ok(test_modify(end[0].qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(test_modify(end[0].qp, IB_QPS_RTR, attr, TEST_RC_RTR));
	ck_ok(test_modify(end[0].qp, IB_QPS_RTS, attr, TEST_RC_RTS));
}

START_TEST(a_peer_without_a_receive)
{
	reconnect(7, 2, end[1].qpn);
	post(make_wr(IB_WR_SEND, 8, end[0].lkey));
	expect_failure(
		&end[0], 77, IB_WC_RNR_RETRY_EXC_ERR,
		"the peer had no receive posted (RNR NAK) though the message was sent to qp %#x at LID %#x 3 times",
		end[1].qpn, end[1].lid);
}
END_TEST

START_TEST(a_peer_that_does_not_answer)
{
	reconnect(2, 7, 0xfffffe);
	post(make_wr(IB_WR_SEND, 8, end[0].lkey));
	expect_failure(
		&end[0], 77, IB_WC_RETRY_EXC_ERR,
		"no answer came though the packet was sent to qp 0xfffffe at LID %#x 3 times",
		end[1].lid);
}
END_TEST

START_TEST(requests_that_are_flushed_are_no_failures)
{
	struct ib_qp_attr attr = { 0 };
	struct al_qp_failure failure;

	ck_ok(test_post_recv(&end[0], 5, 0, 16));
	ck_ok(test_modify(end[0].qp, IB_QPS_ERR, attr, IB_QP_STATE));
	ck_assert_int_eq(test_poll(end[0].cq).status, IB_WC_WR_FLUSH_ERR);
	ck_status(al_query_failure(end[0].qp, &failure), AL_NOT_FOUND);
}
END_TEST

/* ------------------------------------------------------------------------ log */

static struct {
	pthread_mutex_t lock;
	char line[512];
} logged = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void keep_line(void *context, ib_log_level level, const char *text)
{
	(void)context;
	if (level != IB_LOG_DEBUG || !strstr(text, "failed:"))
		return;
	pthread_mutex_lock(&logged.lock);
	snprintf(logged.line, sizeof(logged.line), "%s", text);
	pthread_mutex_unlock(&logged.lock);
}

START_TEST(the_log_names_request_queue_pair_program_and_process)
{
	char want[512];

	al_set_log(keep_line, NULL);
	post(make_wr(IB_WR_RDMA_WRITE, 8, 0x00777700));
	expect_failure(&end[0], 77, IB_WC_LOC_PROT_ERR,
		       "the lkey 0x777700 of element 0 is of no region");
	snprintf(
		want, sizeof(want),
		"al: request 0x4d of qp %#x of %.15s[%d] failed: the lkey 0x777700 of element 0 is of no region (%s)",
		end[0].qpn, program_invocation_short_name, (int)getpid(),
		al_wc_status_str(IB_WC_LOC_PROT_ERR));
	pthread_mutex_lock(&logged.lock);
	ck_assert_str_eq(logged.line, want);
	pthread_mutex_unlock(&logged.lock);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("e2e/failure");
	TCase *tc = tcase_create("failure");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_queue_pair_without_a_failure_has_none);
	tcase_add_test(tc, a_snapshot_shows_the_last_failure_of_a_queue_pair);
	tcase_add_test(tc, a_key_of_no_region);
	tcase_add_test(tc, a_range_beyond_the_region);
	tcase_add_test(tc, a_region_of_another_domain);
	tcase_add_test(tc, a_read_into_memory_that_may_not_be_written);
	tcase_add_test(tc, the_peer_refuses_a_key);
	tcase_add_test(tc, a_message_longer_than_its_receive);
	tcase_add_test(tc, a_peer_without_a_receive);
	tcase_add_test(tc, a_peer_that_does_not_answer);
	tcase_add_test(tc, requests_that_are_flushed_are_no_failures);
	tcase_add_test(tc, the_log_names_request_queue_pair_program_and_process);
	suite_add_tcase(s, tc);
	return test_run(s);
}
