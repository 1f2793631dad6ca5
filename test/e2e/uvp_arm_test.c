/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Notifications, and requests to the agent, with the software HCA's provider and without: both must
 * behave as embedded (seed 001).
 */
#include "test/e2e/agent_uvp.h"

#include <stdatomic.h>
#include <sys/syscall.h>

START_TEST(an_arm_is_satisfied_as_embedded)
{
	struct ib_wc wc[4];
	uint32_t count;
	bool present;
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_PENDING);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, &present));
	ck_assert(!present);
	ck_assert_int_eq(armed(cq), AL_ARM_ANY);
	message(0);
	expect_told(1);
	ck_assert_int_eq(armed(cq), AL_ARM_NONE);
	message(0); /* not armed: no notification */
	expect_told(0);
	/* the second completion is newer than the last notification: notifies at once */
	ck_ok(al_arm_cq(cq, AL_ARM_SOLICITED, &present));
	ck_assert(present);
	expect_told(1);
	/* the queue has notified of both */
	ck_ok(al_arm_cq(cq, AL_ARM_SOLICITED, &present));
	ck_assert(present);
	message(0);
	expect_told(0);
	ck_assert_int_eq(armed(cq), AL_ARM_SOLICITED);
	message(IB_SEND_SOLICITED);
	expect_told(1);
	ck_ok(al_poll_cq(cq, 4, wc, &count));
	ck_assert_uint_eq(count, 4);
	/* an arm for errors: a solicited completion does not satisfy the arm */
	ck_ok(al_arm_cq(cq, AL_ARM_ERRORS, &present));
	ck_assert(!present);
	message(IB_SEND_SOLICITED);
	expect_told(0);
	ck_ok(test_modify(end[0].qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	expect_told(1);
	finish_pair();
}
END_TEST

START_TEST(what_was_told_of_is_no_news_for_the_next_arm)
{
	bool present;
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_PENDING);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	message(0);
	expect_told(1);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, &present));
	ck_assert(present);
	ck_assert_int_eq(armed(cq), AL_ARM_ANY);
	expect_told(0);
	message(0);
	expect_told(1);
	finish_pair();
}
END_TEST

START_TEST(an_arm_for_the_next_or_for_so_many)
{
	uint32_t count;
	struct ib_wc wc[8];
	bool present;
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_NEXT);
	message(0);
	expect_count(cq, 1);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, &present));
	ck_assert(present);
	expect_told(0);
	message(0);
	expect_told(1);
	ck_ok(al_arm_cq_n(cq, 2)); /* enough completions are in the queue */
	expect_told(1);
	ck_ok(al_arm_cq_n(cq, 5));
	ck_ok(al_arm_cq_n(cq, 4)); /* the smaller number holds */
	ck_ok(al_arm_cq_n(cq, 6));
	message(0);
	expect_told(0);
	message(0);
	expect_told(1);
	ck_status(al_arm_cq_n(cq, 0), AL_INVALID_PARAMETER);
	ck_status(al_arm_cq_n(cq, 65), AL_INVALID_PARAMETER);
	ck_ok(al_poll_cq(cq, 8, wc, &count));
	ck_assert_uint_eq(count, 4);
	expect_told(0);
	finish_pair();
}
END_TEST

static const al_arm arms[] = { AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED };
/* Seed 001's table: rows the first arm, columns the second. */
static const al_arm merged[3][3] = {
	{ AL_ARM_ANY, AL_ARM_ANY, AL_ARM_ANY },
	{ AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED },
	{ AL_ARM_ANY, AL_ARM_SOLICITED, AL_ARM_SOLICITED },
};

/* Tests a cell of the table; kind: of the completion that comes after both arms. */
static al_cq_h try_arms(al_cq_notify mode, int first, int second, al_arm kind)
{
	al_arm both = merged[first][second];
	al_cq_h cq = make_watched(mode);
	uint32_t count;
	bool present;

	ck_ok(al_arm_cq(cq, arms[first], &present));
	ck_assert(!present);
	ck_ok(al_arm_cq(cq, arms[second], NULL));
	ck_assert_int_eq(armed(cq), both);
	if (kind == AL_ARM_ERRORS)
		ck_ok(test_modify(end[0].qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	else
		message(kind == AL_ARM_SOLICITED ? IB_SEND_SOLICITED : 0);
	do
		ck_ok(al_peek_cq(cq, 1, &count));
	while (!count);
	if (kind <= both)
		expect_told(1);
	ck_assert_int_eq(armed(cq), kind <= both ? AL_ARM_NONE : both);
	expect_told(0);
	return cq;
}

/* _i: role, and within each role the notify mode. */
START_TEST(arms_merge_as_seed_001_says)
{
	al_cq_h last = NULL, cq;

	begin_pair(_i / 2);
	for (int cell = 0; cell < 27; cell++, last = cq) {
		cq = try_arms(_i % 2 ? AL_CQ_NOTIFY_NEXT : AL_CQ_NOTIFY_PENDING, cell / 9, cell / 3 % 3, arms[cell % 3]);
		if (last) /* the queue pair of the completion is destroyed */
			ck_ok(al_destroy_cq(last, AL_DESTROY_SYNC, NULL));
	}
	finish_pair();
}
END_TEST

/* --------------------------------------------------------------------- requests to the agent */

static _Atomic uint32_t crossings;

/* Replaces the C library's function: a request to the agent is one message. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	atomic_fetch_add(&crossings, 1);
	return syscall(SYS_sendmsg, fd, message, flags);
}

/* _i: role. Without a provider a chain is one message to the agent; with a provider it is none. */
START_TEST(a_chain_crosses_once)
{
	enum { NUM = 40 };
	struct ib_send_wr wr[NUM];
	struct ib_recv_wr recv[NUM];
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;
	uint32_t before, expected = _i == WITHOUT;

	begin_pair(_i);
	for (uint32_t i = 0; i < NUM; i++) {
		wr[i] = (struct ib_send_wr){ .wr_id = i, .opcode = IB_WR_SEND,
					     .send_flags = IB_SEND_SIGNALED, .next = i < NUM - 1 ? &wr[i + 1] : NULL };
		recv[i] = (struct ib_recv_wr){ .wr_id = i, .next = i < NUM - 1 ? &recv[i + 1] : NULL };
	}
	before = atomic_load(&crossings);
	ck_ok(al_post_recv(end[1].qp, recv, &bad_recv));
	ck_assert_uint_eq(atomic_load(&crossings) - before, expected);
	before = atomic_load(&crossings);
	ck_ok(al_post_send(end[0].qp, wr, &bad));
	ck_assert_uint_eq(atomic_load(&crossings) - before, expected);
	for (uint64_t i = 0; i < NUM; i++) {
		test_poll_ok(end[1].cq, i);
		test_poll_ok(end[0].cq, i);
	}
	finish_pair();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/uvp_arm");
	TCase *tcase = tcase_create("arms");

	tcase_add_loop_test(tcase, an_arm_is_satisfied_as_embedded, 0, ROLES);
	tcase_add_loop_test(tcase, what_was_told_of_is_no_news_for_the_next_arm, 0, ROLES);
	tcase_add_loop_test(tcase, an_arm_for_the_next_or_for_so_many, 0, ROLES);
	tcase_add_loop_test(tcase, arms_merge_as_seed_001_says, 0, 2 * ROLES);
	tcase_add_loop_test(tcase, a_chain_crosses_once, 0, ROLES);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
