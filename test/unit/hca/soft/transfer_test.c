/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Data that arrives: every operation, at every size around a limit of segmentation, byte by byte. */
#include "harness.h"

#define MTU 256
#define SIZE (4u << 20)

static struct pair p;

static void start(const struct qp_options *o)
{
	up("");
	pair_up(&p, o, SIZE);
}

static void setup(void)
{
	start(NULL);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

/* Sizes at the edges of packets, of trains (256 KiB) and of budgets (2 MiB). */
static const uint32_t sizes[] = {
	0, 1, 3, 4, MTU - 1, MTU, MTU + 1, 2 * MTU - 1, 2 * MTU, 2 * MTU + 1, 17 * MTU + 5,
	(256 << 10) - 1, 256 << 10, (256 << 10) + 1, (2 << 20) - 3, (2 << 20) + 77, SIZE - 64,
};
#define SIZES ((int)(sizeof(sizes) / sizeof(*sizes)))

/* Checks the target, and that no byte beyond it has changed. */
static void check_target(uint32_t at, uint32_t size, const char *from)
{
	static char zero[64];

	ck_assert_mem_eq(p.bm->buf + at, from, size);
	ck_assert_mem_eq(p.bm->buf, zero, at);
	ck_assert_mem_eq(p.bm->buf + at + size, zero, 32);
}

START_TEST(a_write_of_any_size_arrives)
{
	uint32_t size = sizes[_i];

	fill(p.am->buf, size, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 7, 0, 16, size);
	ck_assert_int_eq(expect_wc(p.acq, 7, IB_WC_SUCCESS).opcode, IB_WC_RDMA_WRITE);
	check_target(16, size, p.am->buf);
	expect_empty(p.acq);
	expect_empty(p.bcq);
}
END_TEST

START_TEST(a_read_of_any_size_arrives)
{
	uint32_t size = sizes[_i];
	struct ib_wc wc;

	fill(p.bm->buf + 8, size, 3);
	rdma(&p, IB_WR_RDMA_READ, 8, 16, 8, size);
	wc = expect_wc(p.acq, 8, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_RDMA_READ);
	ck_assert_uint_eq(wc.byte_len, size);
	ck_assert_mem_eq(p.am->buf + 16, p.bm->buf + 8, size);
}
END_TEST

START_TEST(a_send_of_any_size_arrives_in_the_oldest_receive)
{
	uint32_t size = sizes[_i];
	struct ib_sge from = sge_of(p.am, 0, size), to = sge_of(p.bm, 16, SIZE - 16);
	struct ib_send_wr wr = send_wr(9, IB_WR_SEND, &from, IB_SEND_SIGNALED);
	struct ib_wc wc;

	fill(p.am->buf, size, 2);
	post_recv(p.b, 5, &to, 1);
	post_recv(p.b, 6, &to, 1);
	post(p.a, &wr);
	wc = expect_wc(p.bcq, 5, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_RECV);
	ck_assert_uint_eq(wc.byte_len, size);
	ck_assert_uint_eq(wc.wc_flags, 0);
	ck_assert_ptr_eq(wc.qp_context, p.b);
	ck_assert_uint_eq(wc.qp_num, p.b->ci->qp_num);
	ck_assert_int_eq(expect_wc(p.acq, 9, IB_WC_SUCCESS).opcode, IB_WC_SEND);
	check_target(16, size, p.am->buf);
	expect_empty(p.bcq);
}
END_TEST

START_TEST(immediate_data_comes_with_a_send)
{
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND_WITH_IMM, NULL, IB_SEND_SIGNALED);
	struct ib_wc wc;

	wr.ex.imm_data = 0x12345678;
	post_recv(p.b, 2, NULL, 0);
	post(p.a, &wr);
	wc = expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.imm_data, 0x12345678);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_WITH_IMM);
	ck_assert_uint_eq(wc.byte_len, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

START_TEST(immediate_data_of_a_write_consumes_a_receive_and_not_its_buffer)
{
	uint32_t size = sizes[_i];
	struct ib_sge from = sge_of(p.am, 0, size), unused = sge_of(p.bm, SIZE - 32, 32);
	struct ib_send_wr wr = send_wr(1, IB_WR_RDMA_WRITE_WITH_IMM, &from, IB_SEND_SIGNALED);
	static const char zero[32];
	struct ib_wc wc;

	fill(p.am->buf, size, 4);
	wr.ex.imm_data = 77;
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post_recv(p.b, 2, &unused, 1);
	post(p.a, &wr);
	wc = expect_wc(p.bcq, 2, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	ck_assert_uint_eq(wc.imm_data, 77);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_WITH_IMM);
	ck_assert_uint_eq(wc.byte_len, size);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, size);
	ck_assert_mem_eq(p.bm->buf + SIZE - 32, zero, 32);
}
END_TEST

START_TEST(the_solicited_bit_arrives)
{
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, IB_SEND_SOLICITED);

	post_recv(p.b, 2, NULL, 0);
	post(p.a, &wr);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).wc_flags, IB_WC_SOLICITED);
}
END_TEST

START_TEST(compare_and_swap_stores_only_when_equal)
{
	uint64_t *target = (uint64_t *)p.bm->buf + 1, *result = (uint64_t *)p.am->buf;
	struct ib_sge sge = sge_of(p.am, 0, 8);
	struct ib_send_wr wr = send_wr(1, IB_WR_ATOMIC_CMP_AND_SWP, &sge, IB_SEND_SIGNALED);
	struct ib_wc wc;

	*target = 5;
	wr.wr.atomic.remote_addr = (uintptr_t)target;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 9;
	post(p.a, &wr);
	wc = expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_int_eq(wc.opcode, IB_WC_COMP_SWAP);
	ck_assert_uint_eq(wc.byte_len, 8);
	ck_assert_uint_eq(*result, 5);
	ck_assert_uint_eq(*target, 9);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(*result, 9);
	ck_assert_uint_eq(*target, 9);
}
END_TEST

START_TEST(fetch_and_add_returns_what_was_there_and_wraps)
{
	uint64_t *target = (uint64_t *)p.bm->buf, *result = (uint64_t *)p.am->buf;
	struct ib_sge sge = sge_of(p.am, 0, 8);
	struct ib_send_wr wr = send_wr(1, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);

	*target = UINT64_MAX;
	wr.wr.atomic.remote_addr = (uintptr_t)target;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 3;
	post(p.a, &wr);
	ck_assert_int_eq(expect_wc(p.acq, 1, IB_WC_SUCCESS).opcode, IB_WC_FETCH_ADD);
	ck_assert_uint_eq(*result, UINT64_MAX);
	ck_assert_uint_eq(*target, 2);
}
END_TEST

/* Pieces of unequal sizes on both sides, empty ones among them. */
START_TEST(scatter_and_gather_lists_split_anywhere)
{
	static const uint32_t out[4] = { 1, 300, 0, 723 }, in[4] = { 0, 511, 2, 511 };
	struct ib_sge from[4], to[4];
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, from, IB_SEND_SIGNALED);
	char whole[1024], got[1024];
	uint32_t i, at;

	fill(whole, sizeof(whole), 5);
	for (i = at = 0; i < 4; at += out[i++]) {
		memcpy(p.am->buf + i * 2000, whole + at, out[i]);
		from[i] = sge_of(p.am, i * 2000, out[i]);
		to[i] = sge_of(p.bm, i * 3000 + 1, in[i]);
	}
	to[0].lkey = 0xdead; /* an element without bytes: the key is not checked */
	wr.num_sge = 4;
	post_recv(p.b, 2, to, 4);
	post(p.a, &wr);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, 1024);
	for (i = at = 0; i < 4; at += in[i++])
		memcpy(got + at, p.bm->buf + i * 3000 + 1, in[i]);
	ck_assert_mem_eq(got, whole, 1024);

	/* the same lists as targets of reads and sources of writes */
	memset(p.bm->buf, 0, 16384);
	wr.opcode = IB_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf + 7;
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + 7, whole, 1024);
	memset(p.am->buf, 0, 16384);
	wr.opcode = IB_WR_RDMA_READ;
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	for (i = at = 0; i < 4; at += out[i++])
		ck_assert_mem_eq(p.am->buf + i * 2000, whole + at, out[i]);
}
END_TEST

START_TEST(inline_data_is_taken_at_the_post_and_needs_no_key)
{
	char text[300];
	struct ib_sge sge[2] = { { (uintptr_t)text, 100, 0xbad }, { (uintptr_t)text + 100, 200, 0xbad } };
	struct ib_sge to = sge_of(p.bm, 0, 300);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, sge, IB_SEND_SIGNALED | IB_SEND_INLINE);
	char was[300];

	fill(text, sizeof(text), 6);
	memcpy(was, text, sizeof(was));
	wr.num_sge = 2;
	post(p.a, &wr); /* b has no receive yet */
	memset(text, 0, sizeof(text));
	post_recv(p.b, 2, &to, 1);
	ck_assert_uint_eq(expect_wc(p.bcq, 2, IB_WC_SUCCESS).byte_len, 300);
	ck_assert_mem_eq(p.bm->buf, was, 300);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

static void setup_inline(void)
{
	start(&(struct qp_options){ .inline_data = 300 });
}

START_TEST(only_signalled_requests_complete_and_a_later_one_frees_the_earlier)
{
	int i;

	for (i = 0; i < 100; i++) {
		struct ib_sge sge = sge_of(p.am, 0, 8);
		struct ib_send_wr wr = send_wr((uint64_t)i, IB_WR_RDMA_WRITE, &sge, i % 10 ? 0 : IB_SEND_SIGNALED);

		wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
		wr.wr.rdma.rkey = p.bm->ci->rkey;
		post(p.a, &wr);
		if (i % 10 == 0)
			expect_wc(p.acq, (uint64_t)i, IB_WC_SUCCESS);
	}
	expect_empty(p.acq);
}
END_TEST

START_TEST(sig_all_signals_all)
{
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

	post_recv(p.b, 2, NULL, 0);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

static void setup_sig_all(void)
{
	start(&(struct qp_options){ .sig_all = true });
}

START_TEST(a_chain_is_executed_in_order)
{
	struct ib_send_wr wr[12];
	struct ib_sge sge[12];
	int i;

	for (i = 0; i < 12; i++) {
		p.am->buf[i] = (char)i;
		sge[i] = sge_of(p.am, (uint64_t)i, 1);
		wr[i] = send_wr((uint64_t)i, IB_WR_SEND, &sge[i], IB_SEND_SIGNALED);
		wr[i].next = i < 11 ? &wr[i + 1] : NULL;
	}
	for (i = 0; i < 12; i++) {
		struct ib_sge to = sge_of(p.bm, (uint64_t)i, 1);

		post_recv(p.b, 100 + (uint64_t)i, &to, 1);
	}
	post(p.a, wr);
	for (i = 0; i < 12; i++) {
		expect_wc(p.acq, (uint64_t)i, IB_WC_SUCCESS);
		expect_wc(p.bcq, 100 + (uint64_t)i, IB_WC_SUCCESS);
	}
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 12);
}
END_TEST

START_TEST(psns_wrap)
{
	uint32_t i;

	fill(p.am->buf, 100 * MTU, 7);
	for (i = 0; i < 4; i++) {
		rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 10 * MTU + i);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.bm->buf, p.am->buf, 10 * MTU + i);
		rdma(&p, IB_WR_RDMA_READ, 2, 200 * MTU, 0, 10 * MTU);
		expect_wc(p.acq, 2, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.am->buf + 200 * MTU, p.bm->buf, 10 * MTU);
	}
}
END_TEST

static void setup_wrap(void)
{
	start(&(struct qp_options){ .psn = 0xfffff0 });
}

START_TEST(more_reads_than_may_be_outstanding_wait_their_turn)
{
	uint32_t i;

	fill(p.bm->buf, 16 * 1000, 8);
	for (i = 0; i < 16; i++)
		rdma(&p, IB_WR_RDMA_READ, i, i * 1000, i * 1000, 1000);
	for (i = 0; i < 16; i++)
		expect_wc(p.acq, i, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 16 * 1000);
}
END_TEST

/* A fenced request that reads the memory finds the result of the read before it. */
START_TEST(a_fenced_request_waits_for_earlier_reads)
{
	struct ib_sge sge = sge_of(p.am, 0, 1 << 20);
	struct ib_send_wr wr = send_wr(2, IB_WR_RDMA_WRITE, &sge, IB_SEND_SIGNALED | IB_SEND_FENCE);

	fill(p.bm->buf, 1 << 20, 9);
	wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf + (2 << 20);
	wr.wr.rdma.rkey = p.bm->ci->rkey;
	rdma(&p, IB_WR_RDMA_READ, 1, 0, 0, 1 << 20);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + (2 << 20), p.bm->buf, 1 << 20);
}
END_TEST

START_TEST(a_queue_pair_may_be_its_own_peer)
{
	struct qp_options o = { 0 };
	struct qp *self = new_qp(&hca[0], p.acq, p.acq, &o);
	struct ib_sge from = sge_of(p.am, 0, 1000), to = sge_of(p.am, 2000, 1000);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &from, IB_SEND_SIGNALED);

	connect_qps(self, self, &o);
	fill(p.am->buf, 1000, 10);
	post_recv(self, 2, &to, 1);
	post(self, &wr);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf + 2000, p.am->buf, 1000);
	wr.opcode = IB_WR_RDMA_READ;
	wr.wr.rdma.remote_addr = (uintptr_t)p.am->buf + 2000;
	wr.wr.rdma.rkey = p.am->ci->rkey;
	memset(p.am->buf, 0, 1000);
	post(self, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.am->buf + 2000, 1000);
	free_qp(self);
}
END_TEST

START_TEST(every_mtu_carries_the_same_bytes)
{
	struct qp_options o = { .mtu = (uint32_t)_i };

	pair_down(&p);
	pair_up(&p, &o, SIZE);
	fill(p.am->buf, 10001, 11);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 10001);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	rdma(&p, IB_WR_RDMA_READ, 2, 20000, 0, 10001);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf + 20000, p.am->buf, 10001);
}
END_TEST

/* The engine continues when a budget is used up: no thread polls here, and the data arrive all the same. */
START_TEST(an_application_that_does_not_poll_still_gets_its_data)
{
	uint64_t total = 9ull * (SIZE - 64);
	int i;

	for (i = 0; i < 9; i++)
		rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, SIZE - 64);
	wait_received(&hca[1], total);
	for (i = 0; i < 9; i++)
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: transfer");
	TCase *t = tcase_create("transfer");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_write_of_any_size_arrives, 0, SIZES);
	tcase_add_loop_test(t, a_read_of_any_size_arrives, 0, SIZES);
	tcase_add_loop_test(t, a_send_of_any_size_arrives_in_the_oldest_receive, 0, SIZES);
	tcase_add_test(t, immediate_data_comes_with_a_send);
	tcase_add_loop_test(t, immediate_data_of_a_write_consumes_a_receive_and_not_its_buffer, 0, SIZES);
	tcase_add_test(t, the_solicited_bit_arrives);
	tcase_add_test(t, compare_and_swap_stores_only_when_equal);
	tcase_add_test(t, fetch_and_add_returns_what_was_there_and_wraps);
	tcase_add_test(t, scatter_and_gather_lists_split_anywhere);
	tcase_add_test(t, only_signalled_requests_complete_and_a_later_one_frees_the_earlier);
	tcase_add_test(t, a_chain_is_executed_in_order);
	tcase_add_test(t, more_reads_than_may_be_outstanding_wait_their_turn);
	tcase_add_test(t, a_fenced_request_waits_for_earlier_reads);
	tcase_add_test(t, a_queue_pair_may_be_its_own_peer);
	tcase_add_loop_test(t, every_mtu_carries_the_same_bytes, IB_MTU_256, IB_MTU_4096 + 1);
	tcase_add_test(t, an_application_that_does_not_poll_still_gets_its_data);
	suite_add_tcase(s, t);

	t = tcase_create("inline");
	tcase_add_checked_fixture(t, setup_inline, teardown);
	tcase_add_test(t, inline_data_is_taken_at_the_post_and_needs_no_key);
	suite_add_tcase(s, t);

	t = tcase_create("sig_all");
	tcase_add_checked_fixture(t, setup_sig_all, teardown);
	tcase_add_test(t, sig_all_signals_all);
	suite_add_tcase(s, t);

	t = tcase_create("wrap");
	tcase_add_checked_fixture(t, setup_wrap, teardown);
	tcase_add_test(t, psns_wrap);
	suite_add_tcase(s, t);
	return run_suite(s);
}
