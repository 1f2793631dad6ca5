/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Protection: every key, protection domain, permission and range, locally and at the peer, and the status of the
 * completion error.
 */
#include "harness.h"

static struct pair p;

static void setup(void)
{
	up("");
}

static void start(const struct qp_options *o)
{
	pair_up(&p, o, 1 << 16);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

enum how { WRITE, READ, ATOMIC, SEND, HOWS };

static const ib_wr_opcode opcode_of[HOWS] = { IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_ATOMIC_FETCH_AND_ADD, IB_WR_SEND };

static void try(enum how how, uint64_t wr_id, struct ib_sge sge, uint64_t remote, uint32_t rkey)
{
	struct ib_send_wr wr = send_wr(wr_id, opcode_of[how], &sge, IB_SEND_SIGNALED);

	if (how == ATOMIC) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	post(p.a, &wr);
}

/* Expects that a request of a fails, and that a flushes requests in Error. b may be in any state. */
static void a_fails(uint64_t wr_id, ib_wc_status status)
{
	struct ib_send_wr wr = send_wr(99, IB_WR_SEND, NULL, 0);

	expect_wc(p.acq, wr_id, status);
	wait_state(p.a, IB_QPS_ERR);
	post(p.a, &wr);
	expect_wc(p.acq, 99, IB_WC_WR_FLUSH_ERR);
	expect_empty(p.acq);
	ck_assert_uint_eq(p.a->events, 0);
}

static uint64_t remote_at(int64_t offset)
{
	return (uintptr_t)p.bm->buf + (uint64_t)offset;
}

/* ------------------------------------------------------- remote protection */

/* _i: operation and case */
START_TEST(what_the_peer_does_not_permit_is_a_remote_access_error)
{
	enum how how = (enum how)(_i / 5);
	uint64_t remote = 0;
	uint32_t rkey, access[] = { IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_ATOMIC };
	struct ci_pd *pd = NULL;
	struct mr other;
	bool own = false;

	start(NULL);
	rkey = p.bm->ci->rkey;
	switch (_i % 5) {
	case 0: /* a key with a wrong key part */
		rkey ^= 1;
		remote = remote_at(0);
		break;
	case 1: /* one byte beyond; the address is still aligned */
		remote = remote_at((1 << 16) - 8);
		remote += how == ATOMIC ? 8 : 1;
		break;
	case 2: /* the end of the address space: a sum would wrap */
		remote = UINT64_MAX - 7;
		break;
	case 3: /* a key of another protection domain */
		pd = new_pd(&hca[1]);
		ck_assert_int_eq(try_mr(&other, &hca[1], pd, 64, 0x1f), AL_SUCCESS);
		own = true;
		break;
	case 4: /* a region without the permission */
		ck_assert_int_eq(try_mr(&other, &hca[1], NULL, 64, 0xf & ~access[how]), AL_SUCCESS);
		own = true;
		break;
	}
	if (own) {
		remote = (uintptr_t)other.buf;
		rkey = other.ci->rkey;
	}
	try(how, 1, sge_of(p.am, 0, 8), remote, rkey);
	a_fails(1, IB_WC_REM_ACCESS_ERR);
	wait_state(p.b, IB_QPS_ERR);
	wait_bits(&p.b->events, 1u << IB_EVENT_QP_ACCESS_ERR);
	ck_assert_uint_eq(p.b->event_count, 1);
	if (own) {
		end_mr(&other);
	}
	if (pd)
		free_pd(pd);
}
END_TEST

START_TEST(what_the_queue_pair_does_not_permit_is_a_remote_access_error)
{
	static const uint32_t access[] = { IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_ATOMIC };

	start(&(struct qp_options){ .no_access = access[_i] });
	try((enum how)_i, 1, sge_of(p.am, 0, 8), remote_at(0), p.bm->ci->rkey);
	a_fails(1, IB_WC_REM_ACCESS_ERR);
	wait_bits(&p.b->events, 1u << IB_EVENT_QP_ACCESS_ERR);
}
END_TEST

START_TEST(without_data_no_key_is_looked_at)
{
	start(NULL);
	try((enum how)_i, 1, sge_of(p.am, 0, 0), 12345, 0xdeadbeef);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

START_TEST(an_atomic_that_is_not_aligned_is_an_invalid_request)
{
	start(NULL);
	try(ATOMIC, 1, sge_of(p.am, 0, 8), remote_at(4), p.bm->ci->rkey);
	a_fails(1, IB_WC_REM_INV_REQ_ERR);
	wait_bits(&p.b->events, 1u << IB_EVENT_QP_REQ_ERR);
}
END_TEST

START_TEST(a_responder_without_resources_refuses_reads_and_atomics)
{
	start(&(struct qp_options){ .dest_rd_atomic = 0xff });
	try((enum how)_i, 1, sge_of(p.am, 0, 8), remote_at(0), p.bm->ci->rkey);
	a_fails(1, IB_WC_REM_INV_REQ_ERR);
	wait_bits(&p.b->events, 1u << IB_EVENT_QP_REQ_ERR);
}
END_TEST

START_TEST(a_message_longer_than_its_receive_fails_on_both_sides)
{
	struct ib_sge to;

	start(NULL);
	to = sge_of(p.bm, 0, 999);
	post_recv(p.b, 7, &to, 1);
	post_recv(p.b, 8, &to, 1);
	try(SEND, 1, sge_of(p.am, 0, 1000), 0, 0);
	a_fails(1, IB_WC_REM_INV_REQ_ERR);
	expect_wc(p.bcq, 7, IB_WC_LOC_LEN_ERR);
	expect_wc(p.bcq, 8, IB_WC_WR_FLUSH_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
}
END_TEST

START_TEST(a_receive_with_a_bad_key_is_a_local_protection_error_and_a_remote_operation_error)
{
	struct ib_sge to;

	start(NULL);
	to = sge_of(p.bm, 0, 100);
	to.lkey ^= 0x80;
	post_recv(p.b, 7, &to, 1);
	try(SEND, 1, sge_of(p.am, 0, 100), 0, 0);
	a_fails(1, IB_WC_REM_OP_ERR);
	expect_wc(p.bcq, 7, IB_WC_LOC_PROT_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
}
END_TEST

/* ---------------------------------------------------------- local protection */

START_TEST(what_is_not_ours_is_a_local_protection_error)
{
	enum how how = (enum how)(_i / 4);
	struct ib_sge sge, to;
	struct mr ro;

	start(NULL);
	ck_assert_int_eq(try_mr(&ro, &hca[0], NULL, 64, 0), AL_SUCCESS);
	to = sge_of(p.bm, 0, 64);
	post_recv(p.b, 7, &to, 1);
	sge = sge_of(p.am, 0, 8);
	switch (_i % 4) {
	case 0:
		sge.lkey ^= 0x100; /* a key with another index */
		break;
	case 1:
		sge.addr += (1 << 16) - 4;
		break;
	case 2:
		sge.lkey = p.bm->ci->lkey; /* a key of the other HCA */
		break;
	case 3: /* a source needs no permission; a target needs local write */
		sge = sge_of(&ro, 0, 8);
		break;
	}
	try(how, 1, sge, remote_at(0), p.bm->ci->rkey);
	if (_i % 4 == 3 && (how == WRITE || how == SEND))
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
	else
		a_fails(1, IB_WC_LOC_PROT_ERR);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS); /* no packet has reached the peer */
	end_mr(&ro);
}
END_TEST

START_TEST(earlier_requests_complete_before_the_one_that_fails)
{
	struct ib_sge good, bad;
	struct ib_send_wr wr[4];
	int i;

	start(NULL);
	good = bad = sge_of(p.am, 0, 8);
	bad.lkey++;
	for (i = 0; i < 4; i++) {
		wr[i] = send_wr((uint64_t)i, IB_WR_RDMA_READ, i == 2 ? &bad : &good, IB_SEND_SIGNALED);
		wr[i].wr.rdma.remote_addr = remote_at(0);
		wr[i].wr.rdma.rkey = p.bm->ci->rkey;
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	post(p.a, wr);
	expect_wc(p.acq, 0, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_LOC_PROT_ERR);
	expect_wc(p.acq, 3, IB_WC_WR_FLUSH_ERR);
}
END_TEST

START_TEST(an_atomic_of_another_length_is_a_local_length_error)
{
	start(NULL);
	try(ATOMIC, 1, sge_of(p.am, 0, 4), remote_at(0), p.bm->ci->rkey);
	a_fails(1, IB_WC_LOC_LEN_ERR);
}
END_TEST

START_TEST(a_requester_without_reads_outstanding_cannot_read)
{
	start(&(struct qp_options){ .rd_atomic = 0xff });
	try(READ, 1, sge_of(p.am, 0, 8), remote_at(0), p.bm->ci->rkey);
	a_fails(1, IB_WC_LOC_QP_OP_ERR);
}
END_TEST

/* ----------------------------------------------------------------- the region */

START_TEST(a_key_is_dead_after_deregistration)
{
	struct mr *mr;
	uint32_t rkey;
	uint64_t at;

	start(NULL);
	mr = new_mr(&hca[1], 64, 0);
	rkey = mr->ci->rkey;
	at = (uintptr_t)mr->buf;
	try(WRITE, 1, sge_of(p.am, 0, 8), at, rkey);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	free_mr(mr);
	try(WRITE, 2, sge_of(p.am, 0, 8), at, rkey);
	a_fails(2, IB_WC_REM_ACCESS_ERR);
}
END_TEST

START_TEST(a_zero_based_region_counts_from_zero)
{
	struct mr mr;

	start(NULL);
	ck_assert_int_eq(try_mr(&mr, &hca[1], NULL, 64, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_ZERO_BASED),
			 AL_SUCCESS);
	fill(p.am->buf, 8, 1);
	try(WRITE, 1, sge_of(p.am, 0, 8), 56, mr.ci->rkey);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(mr.buf + 56, p.am->buf, 8);
	try(WRITE, 2, sge_of(p.am, 0, 8), 57, mr.ci->rkey);
	a_fails(2, IB_WC_REM_ACCESS_ERR);
	end_mr(&mr);
}
END_TEST

START_TEST(a_region_tells_what_it_is)
{
	struct ib_mr_attr attr;
	struct mr ro;

	start(NULL);
	ck_assert_int_eq(ops->query_mr(p.am->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.addr, (uintptr_t)p.am->buf);
	ck_assert_uint_eq(attr.length, 1 << 16);
	ck_assert_uint_eq(attr.lkey, p.am->ci->lkey);
	ck_assert_uint_eq(attr.rkey, p.am->ci->rkey);
	ck_assert_int_eq(try_mr(&ro, &hca[0], NULL, 64, IB_ACCESS_LOCAL_WRITE), AL_SUCCESS);
	ck_assert_int_eq(ops->query_mr(ro.ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.rkey, 0); /* a region without remote permissions has no rkey */
	end_mr(&ro);
}
END_TEST

START_TEST(partitions_that_do_not_match_drop_and_count)
{
	struct ib_port_attr attr;

	down();
	up("[hca 0] pkeys=0x8001 [hca 1] pkeys=0x8002");
	start(&(struct qp_options){ .timeout = 5, .retry_cnt = 1 });
	try(WRITE, 1, sge_of(p.am, 0, 8), remote_at(0), p.bm->ci->rkey);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_int_eq(ops->query_port(hca[1].ca, 1, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.bad_pkey_cntr, 2);
	ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_RESET_PKEY_CNTR, &(struct ib_port_modify){ 0 }),
			 AL_SUCCESS);
	ck_assert_int_eq(ops->query_port(hca[1].ca, 1, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.bad_pkey_cntr, 0);
}
END_TEST

/* _i: P_Keys full and full, full and limited, limited and full; two limited members can not communicate */
START_TEST(one_of_two_members_must_be_full)
{
	static const char *const settings[] = {
		"[hca 0] pkeys=0x8005 [hca 1] pkeys=0x8005",
		"[hca 0] pkeys=0x8005 [hca 1] pkeys=0x0005",
		"[hca 0] pkeys=0x0005 [hca 1] pkeys=0x8005",
		"[hca 0] pkeys=0x0005 [hca 1] pkeys=0x0005",
	};

	down();
	up(settings[_i]);
	start(&(struct qp_options){ .timeout = _i == 3 ? 5 : 14, .retry_cnt = 1 });
	try(WRITE, 1, sge_of(p.am, 0, 8), remote_at(0), p.bm->ci->rkey);
	expect_wc(p.acq, 1, _i == 3 ? IB_WC_RETRY_EXC_ERR : IB_WC_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: access");
	TCase *t = tcase_create("access");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, what_the_peer_does_not_permit_is_a_remote_access_error, 0, 15);
	tcase_add_loop_test(t, what_the_queue_pair_does_not_permit_is_a_remote_access_error, WRITE, SEND);
	tcase_add_loop_test(t, without_data_no_key_is_looked_at, WRITE, ATOMIC);
	tcase_add_test(t, an_atomic_that_is_not_aligned_is_an_invalid_request);
	tcase_add_loop_test(t, a_responder_without_resources_refuses_reads_and_atomics, READ, SEND);
	tcase_add_test(t, a_message_longer_than_its_receive_fails_on_both_sides);
	tcase_add_test(t, a_receive_with_a_bad_key_is_a_local_protection_error_and_a_remote_operation_error);
	tcase_add_loop_test(t, what_is_not_ours_is_a_local_protection_error, 0, 4 * HOWS);
	tcase_add_test(t, earlier_requests_complete_before_the_one_that_fails);
	tcase_add_test(t, an_atomic_of_another_length_is_a_local_length_error);
	tcase_add_test(t, a_requester_without_reads_outstanding_cannot_read);
	tcase_add_test(t, a_key_is_dead_after_deregistration);
	tcase_add_test(t, a_zero_based_region_counts_from_zero);
	tcase_add_test(t, a_region_tells_what_it_is);
	tcase_add_test(t, partitions_that_do_not_match_drop_and_count);
	tcase_add_loop_test(t, one_of_two_members_must_be_full, 0, 4);
	suite_add_tcase(s, t);
	return run_suite(s);
}
