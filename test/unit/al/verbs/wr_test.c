/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Work requests with each field wrong in turn, through the Access Layer to the software HCA: the post names the
 * refused request exactly, posts the requests before it, and does not touch those after it. A request that is
 * accepted and then fails ends the connection, in its turn, with the error of IBTA 11.6.2.
 */
#include "test/unit/al/al_test.h"

#define CHAIN 5
#define ROOM  4096u /* bytes of each request, in both regions */

static al_h al;
static struct test_end end[2];
static al_pd_h other_pd[2];
static struct {
	al_mr_h mr;
	uint8_t mem[64];
	uint32_t lkey, rkey;
} other[2]; /* an end in another protection domain */

static void set_up(void)
{
	struct al_mr_init init = { .length = sizeof(other[0].mem), .access = TEST_ALL_ACCESS };

	al = test_open();
	test_make_pair(al, end);
	for (int i = 0; i < 2; i++) {
		ck_ok(al_alloc_pd(end[i].ca, NULL, &other_pd[i]));
		init.addr = other[i].mem;
		ck_ok(al_reg_mr(other_pd[i], &init, NULL, &other[i].lkey, &other[i].rkey,
				&other[i].mr));
	}
}

static void tear_down(void)
{
	test_free_end(&end[0]);
	test_free_end(&end[1]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

struct chain {
	struct ib_send_wr wr[CHAIN];
	struct ib_sge sge[CHAIN][5];
};

/* Signalled writes of 8 bytes, each to its own place. */
static void make_chain(struct chain *c)
{
	for (unsigned int i = 0; i < CHAIN; i++) {
		memset(end[0].mem + i * ROOM, 0x10 + (int)i, ROOM);
		for (int j = 0; j < 5; j++)
			c->sge[i][j] =
				(struct ib_sge){ (uintptr_t)end[0].mem + i * ROOM, 8, end[0].lkey };
		c->wr[i] = (struct ib_send_wr){
			.next = i < CHAIN - 1 ? &c->wr[i + 1] : NULL,
			.wr_id = i,
			.sg_list = c->sge[i],
			.num_sge = 1,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)end[1].mem + i * ROOM, end[1].rkey },
		};
	}
}

static void check_written(unsigned int i, bool written)
{
	for (unsigned int j = 0; j < 8; j++)
		ck_assert_uint_eq(end[1].mem[i * ROOM + j], written ? 0x10 + i : 0);
}

static void check_silence(al_cq_h cq)
{
	struct ib_wc wc;
	uint32_t count;

	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
}

/* ------------------------------------------------------------- refused posts */

static const struct bad_send {
	ib_wr_opcode opcode;
	uint32_t flags, num_sge, length;
	al_status want;
	bool no_list;
} bad_sends[] = {
	{ IB_WR_OPCODES, 0, 1, 8, AL_INVALID_OPCODE, false },
	{ (ib_wr_opcode)0x7fffffff, 0, 1, 8, AL_INVALID_OPCODE, false },
	{ (ib_wr_opcode)-1, 0, 1, 8, AL_INVALID_OPCODE, false },
	{ IB_WR_LOCAL_INV, 0, 0, 8, AL_UNSUPPORTED, false },
	{ IB_WR_BIND_MW, 0, 0, 8, AL_UNSUPPORTED, false },
	{ IB_WR_REG_MR, 0, 0, 8, AL_UNSUPPORTED, false },
	{ IB_WR_RDMA_WRITE, 1u << 4, 1, 8, AL_INVALID_OPCODE, false },
	{ IB_WR_RDMA_WRITE, 1u << 31, 1, 8, AL_INVALID_OPCODE, false },
	{ IB_WR_RDMA_READ, IB_SEND_INLINE, 1, 8, AL_INVALID_OPCODE, false },
	{ IB_WR_ATOMIC_CMP_AND_SWP, IB_SEND_INLINE, 1, 8, AL_INVALID_OPCODE, false },
	{ IB_WR_ATOMIC_FETCH_AND_ADD, IB_SEND_INLINE, 1, 8, AL_INVALID_OPCODE, false },
	{ IB_WR_RDMA_WRITE, 0, 5, 8, AL_INVALID_SGE, false },
	{ IB_WR_RDMA_WRITE, 0, UINT32_MAX, 8, AL_INVALID_SGE, false },
	{ IB_WR_RDMA_WRITE, 0, 1, 8, AL_INVALID_SGE, true },
	{ IB_WR_RDMA_WRITE, 0, 2, 1u << 31, AL_INVALID_SGE, false }, /* 4 GiB in sum */
	{ IB_WR_RDMA_WRITE, 0, 4, UINT32_MAX, AL_INVALID_SGE, false },
	{ IB_WR_RDMA_WRITE, IB_SEND_INLINE, 4, 1u << 30, AL_INVALID_SGE, false },
	{ IB_WR_RDMA_WRITE, IB_SEND_INLINE, 1, 33, AL_INVALID_SGE, false },
	{ IB_WR_SEND, IB_SEND_INLINE, 3, 11, AL_INVALID_SGE, false },
};
#define BAD_SENDS (int)(sizeof(bad_sends) / sizeof(bad_sends[0]))

/* _i: the fault, in the first, a middle or the last request of a chain */
START_TEST(a_bad_request_is_named_and_those_behind_it_are_untouched)
{
	const struct bad_send *bad = &bad_sends[_i / 3];
	unsigned int at = (unsigned int)(_i % 3) * 2;
	const struct ib_send_wr *bad_wr = NULL;
	struct chain c;

	make_chain(&c);
	c.wr[at].opcode = bad->opcode;
	c.wr[at].send_flags |= bad->flags;
	c.wr[at].num_sge = bad->num_sge;
	if (bad->no_list)
		c.wr[at].sg_list = NULL;
	for (int j = 0; j < 5; j++)
		c.sge[at][j].length = bad->length;
	ck_status(al_post_send(end[0].qp, c.wr, &bad_wr), bad->want);
	ck_assert_ptr_eq(bad_wr, &c.wr[at]);
	for (unsigned int i = 0; i < at; i++)
		test_poll_ok(end[0].cq, i);
	check_silence(end[0].cq);
	for (unsigned int i = 0; i < CHAIN; i++)
		check_written(i, i < at);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RTS);
	ck_assert_int_eq(test_state(end[1].qp), IB_QPS_RTS);
	/* the requests that were not posted may be posted now */
	if (at == CHAIN - 1)
		return;
	ck_ok(al_post_send(end[0].qp, &c.wr[at + 1], &bad_wr));
	for (unsigned int i = at + 1; i < CHAIN; i++) {
		test_poll_ok(end[0].cq, i);
		check_written(i, true);
	}
}
END_TEST

static const struct bad_recv {
	uint32_t num_sge, length;
	bool no_list;
} bad_recvs[] = { { 5, 8, false },
		  { UINT32_MAX, 8, false },
		  { 2, 1u << 31, false },
		  { 4, UINT32_MAX, false },
		  { 1, 8, true } };
#define BAD_RECVS (int)(sizeof(bad_recvs) / sizeof(bad_recvs[0]))

START_TEST(a_bad_receive_is_named_and_those_behind_it_are_untouched)
{
	const struct bad_recv *bad = &bad_recvs[_i / 3];
	unsigned int at = (unsigned int)(_i % 3) * 2;
	const struct ib_recv_wr *bad_wr = NULL;
	struct ib_sge good = { (uintptr_t)end[1].mem, 8, end[1].lkey }, wrong[5];
	struct ib_recv_wr wr[CHAIN];

	for (int j = 0; j < 5; j++)
		wrong[j] = (struct ib_sge){ (uintptr_t)end[1].mem, bad->length, end[1].lkey };
	for (unsigned int i = 0; i < CHAIN; i++)
		wr[i] = (struct ib_recv_wr){ i < CHAIN - 1 ? &wr[i + 1] : NULL, i, &good, 1, 0 };
	wr[at].sg_list = bad->no_list ? NULL : wrong;
	wr[at].num_sge = bad->num_sge;
	ck_status(al_post_recv(end[1].qp, wr, &bad_wr), AL_INVALID_SGE);
	ck_assert_ptr_eq(bad_wr, &wr[at]);
	ck_ok(test_post_recv(&end[1], 100, 0, 8)); /* one more than the posted requests */
	for (unsigned int i = 0; i <= at; i++) {
		ck_ok(test_post_send(&end[0], 200 + i, 0, 8));
		test_poll_ok(end[0].cq, 200 + i);
		test_poll_ok(end[1].cq, i < at ? i : 100);
	}
	check_silence(end[1].cq);
}
END_TEST

/* ----------------------------------------------------------- posted, and failed */

static void long_message(struct chain *c)
{
	/* 1 GiB and one byte: longer than any message, so the module does not look at the memory */
	c->wr[2].num_sge = 2;
	c->sge[2][0].length = 1u << 30;
	c->sge[2][1].length = 1;
}
static void unknown_lkey(struct chain *c)
{
	c->sge[2][0].lkey ^= 0x100;
}
static void old_lkey(struct chain *c)
{
	c->sge[2][0].lkey ^= 1;
}
static void second_lkey(struct chain *c)
{
	c->wr[2].num_sge = 2;
	c->sge[2][1].lkey ^= 1;
}
static void lkey_of_another_pd(struct chain *c)
{
	c->sge[2][0].addr = (uintptr_t)other[0].mem;
	c->sge[2][0].lkey = other[0].lkey;
}
static void address_before_the_region(struct chain *c)
{
	c->sge[2][0].addr = (uintptr_t)end[0].mem - 1;
}
static void address_that_wraps(struct chain *c)
{
	c->sge[2][0].addr = UINT64_MAX - 3;
}
static void past_the_region(struct chain *c)
{
	c->sge[2][0].addr = (uintptr_t)end[0].mem + TEST_MEM - 7;
}
static void atomic(struct chain *c)
{
	c->wr[2].opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
	c->wr[2].wr.atomic.remote_addr = (uintptr_t)end[1].mem + 2 * ROOM;
	c->wr[2].wr.atomic.rkey = end[1].rkey;
}
static void short_atomic(struct chain *c)
{
	atomic(c);
	c->sge[2][0].length = 4;
}
static void long_atomic(struct chain *c)
{
	atomic(c);
	c->wr[2].num_sge = 2;
}
static void crooked_atomic(struct chain *c)
{
	atomic(c);
	c->wr[2].wr.atomic.remote_addr += 4;
}
static void unknown_rkey(struct chain *c)
{
	c->wr[2].wr.rdma.rkey ^= 0x100;
}
static void old_rkey(struct chain *c)
{
	c->wr[2].wr.rdma.rkey ^= 1;
}
static void rkey_of_another_pd(struct chain *c)
{
	c->wr[2].wr.rdma.remote_addr = (uintptr_t)other[1].mem;
	c->wr[2].wr.rdma.rkey = other[1].rkey;
}
static void remote_past_the_region(struct chain *c)
{
	c->wr[2].wr.rdma.remote_addr = (uintptr_t)end[1].mem + TEST_MEM - 7;
}
static void remote_that_wraps(struct chain *c)
{
	c->wr[2].wr.rdma.remote_addr = UINT64_MAX - 3;
}
static void read_of_nothing(struct chain *c)
{
	c->wr[2].opcode = IB_WR_RDMA_READ;
	old_rkey(c);
}

static const struct failing {
	void (*make)(struct chain *c);
	ib_wc_status status;
} failing[] = {
	{ long_message, IB_WC_LOC_LEN_ERR },
	{ short_atomic, IB_WC_LOC_LEN_ERR },
	{ long_atomic, IB_WC_LOC_LEN_ERR },
	{ unknown_lkey, IB_WC_LOC_PROT_ERR },
	{ old_lkey, IB_WC_LOC_PROT_ERR },
	{ second_lkey, IB_WC_LOC_PROT_ERR },
	{ lkey_of_another_pd, IB_WC_LOC_PROT_ERR },
	{ address_before_the_region, IB_WC_LOC_PROT_ERR },
	{ address_that_wraps, IB_WC_LOC_PROT_ERR },
	{ past_the_region, IB_WC_LOC_PROT_ERR },
	{ crooked_atomic, IB_WC_REM_INV_REQ_ERR },
	{ unknown_rkey, IB_WC_REM_ACCESS_ERR },
	{ old_rkey, IB_WC_REM_ACCESS_ERR },
	{ rkey_of_another_pd, IB_WC_REM_ACCESS_ERR },
	{ remote_past_the_region, IB_WC_REM_ACCESS_ERR },
	{ remote_that_wraps, IB_WC_REM_ACCESS_ERR },
	{ read_of_nothing, IB_WC_REM_ACCESS_ERR },
};
#define FAILING (int)(sizeof(failing) / sizeof(failing[0]))

/* _i: the fault in the third of five requests, signalled or unsignalled: an error always completes */
START_TEST(a_request_that_fails_has_its_status_and_the_rest_is_flushed)
{
	const struct failing *f = &failing[_i / 2];
	bool remote = f->status == IB_WC_REM_ACCESS_ERR || f->status == IB_WC_REM_INV_REQ_ERR;
	const struct ib_send_wr *bad;
	struct ib_wc wc;
	struct chain c;

	make_chain(&c);
	f->make(&c);
	if (_i % 2)
		c.wr[2].send_flags = 0;
	ck_ok(al_post_send(end[0].qp, c.wr, &bad));
	test_poll_ok(end[0].cq, 0);
	test_poll_ok(end[0].cq, 1);
	for (unsigned int i = 2; i < CHAIN; i++) {
		wc = test_poll(end[0].cq);
		ck_assert_uint_eq(wc.wr_id, i);
		ck_assert_int_eq(wc.status, i == 2 ? f->status : IB_WC_WR_FLUSH_ERR);
	}
	check_silence(end[0].cq);
	for (unsigned int i = 0; i < CHAIN; i++)
		check_written(i, i < 2);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_ERR);
	ck_assert_int_eq(test_state(end[1].qp), remote ? IB_QPS_ERR : IB_QPS_RTS);
	for (unsigned int i = 0; i < sizeof(other[1].mem); i++)
		ck_assert_uint_eq(other[0].mem[i] | other[1].mem[i], 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/wr");
	TCase *tcase = tcase_create("work requests");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, a_bad_request_is_named_and_those_behind_it_are_untouched, 0,
			    3 * BAD_SENDS);
	tcase_add_loop_test(tcase, a_bad_receive_is_named_and_those_behind_it_are_untouched, 0,
			    3 * BAD_RECVS);
	tcase_add_loop_test(tcase, a_request_that_fails_has_its_status_and_the_rest_is_flushed, 0,
			    2 * FAILING);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
