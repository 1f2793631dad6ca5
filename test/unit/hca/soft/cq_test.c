/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: seed 001's table cell by cell, completions before the arm, arm_n, order, overflow. */
#include "harness.h"

static struct pair p;

static void setup(void)
{
	up("");
	pair_up(&p, NULL, 4096);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

/*
 * Makes a connected pair that completes a's sends and b's receives in cq; the other two queues complete in queues of
 * their own.
 */
static void connect_new(struct qp **a, struct qp **b, struct cq *cq)
{
	*a = new_qp(&hca[0], p.acq, p.acq, &p.o);
	*b = new_qp(&hca[1], cq, cq, &p.o);
	connect_qps(*a, *b, &p.o);
}

/* Puts one completion of a kind into b's completion queue. */
static void put(struct qp *a, struct qp *b, al_arm kind)
{
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, kind == AL_ARM_SOLICITED ? IB_SEND_SOLICITED : 0);

	post_recv(b, 7, NULL, 0);
	if (kind == AL_ARM_ERRORS)
		ck_assert_int_eq(modify(b, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	else
		post(a, &wr);
}

static const al_arm arms[] = { AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED };
/* Seed 001's table: rows the first arm, columns the second. */
static const al_arm merged[3][3] = {
	{ AL_ARM_ANY, AL_ARM_ANY, AL_ARM_ANY },
	{ AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED },
	{ AL_ARM_ANY, AL_ARM_SOLICITED, AL_ARM_SOLICITED },
};

/* True if a completion of this kind satisfies the arm. */
static bool hears(al_arm arm, al_arm kind)
{
	return kind <= arm;
}

static al_arm armed(struct cq *cq)
{
	struct al_cq_attr attr;

	ck_assert_int_eq(ops->query_cq(cq->ci, &attr), AL_SUCCESS);
	return attr.armed;
}

/* _i: notify mode, first arm, second arm, kind of the completion. */
START_TEST(arms_merge_as_seed_001_says)
{
	al_cq_notify mode = _i / 27 ? AL_CQ_NOTIFY_NEXT : AL_CQ_NOTIFY_PENDING;
	int first = _i / 9 % 3, second = _i / 3 % 3;
	al_arm kind = arms[_i % 3], both = merged[first][second];
	struct cq *cq = new_cq(&hca[1], 16, mode);
	struct qp *a, *b;

	connect_new(&a, &b, cq);
	ck_assert_int_eq(ops->arm_cq(cq->ci, arms[first], NULL), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq(cq->ci, arms[second], NULL), AL_SUCCESS);
	ck_assert_int_eq(armed(cq), both);
	put(a, b, kind);
	expect_wc(cq, 7, kind == AL_ARM_ERRORS ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS);
	ck_assert_uint_eq(cq->notified, hears(both, kind));
	ck_assert_int_eq(armed(cq), hears(both, kind) ? AL_ARM_NONE : both);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(one_notification_per_arm)
{
	struct cq *cq = new_cq(&hca[1], 16, (al_cq_notify)_i);
	struct qp *a, *b;
	int i;

	connect_new(&a, &b, cq);
	put(a, b, AL_ARM_ANY);
	wait_wc(cq);
	ck_assert_uint_eq(cq->notified, 0); /* not armed */
	ops->arm_cq(cq->ci, AL_ARM_ANY, NULL);
	for (i = 0; i < 3; i++) {
		put(a, b, AL_ARM_ANY);
		wait_wc(cq);
	}
	ck_assert_uint_eq(cq->notified, 1);
	ops->arm_cq(cq->ci, AL_ARM_ANY, NULL);
	put(a, b, AL_ARM_SOLICITED);
	wait_wc(cq);
	ck_assert_uint_eq(cq->notified, 2);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

static void fill_one(struct cq *cq, struct qp *a, struct qp *b)
{
	uint32_t before, count;

	ops->peek_cq(cq->ci, 100, &before);
	put(a, b, AL_ARM_ANY);
	do
		ops->peek_cq(cq->ci, 100, &count);
	while (count == before);
}

START_TEST(pending_a_newer_completion_satisfies_an_arm_of_any_type_at_once)
{
	struct cq *cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_PENDING);
	struct qp *a, *b;
	bool present = false;

	connect_new(&a, &b, cq);
	fill_one(cq, a, b);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ERRORS, &present), AL_SUCCESS);
	ck_assert(present);
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(armed(cq), AL_ARM_NONE);
	/* the queue has notified of this completion: not again, though the completion is still there */
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, &present), AL_SUCCESS);
	ck_assert(present);
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(armed(cq), AL_ARM_ANY);
	/* one more completion, newer than the notification */
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 2);
	wait_wc(cq);
	wait_wc(cq);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, &present), AL_SUCCESS);
	ck_assert(!present);
	ck_assert_uint_eq(cq->notified, 2);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(pending_what_was_polled_is_not_there_to_satisfy)
{
	struct cq *cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_PENDING);
	struct qp *a, *b;

	connect_new(&a, &b, cq);
	fill_one(cq, a, b);
	wait_wc(cq);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 0);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(next_only_what_comes_after_counts_and_the_call_says_what_is_there)
{
	struct cq *cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_NEXT);
	struct qp *a, *b;
	bool present = false;

	connect_new(&a, &b, cq);
	fill_one(cq, a, b);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, &present), AL_SUCCESS);
	ck_assert(present);
	ck_assert_uint_eq(cq->notified, 0);
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 1);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(arm_n_notifies_at_n_and_at_once_when_they_are_there)
{
	struct cq *cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_NEXT);
	struct qp *a, *b;
	int i;

	connect_new(&a, &b, cq);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 3), AL_SUCCESS);
	for (i = 0; i < 3; i++) {
		ck_assert_uint_eq(cq->notified, 0);
		fill_one(cq, a, b);
	}
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 3), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 2);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 5), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 4), AL_SUCCESS); /* the smaller number holds */
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 6), AL_SUCCESS);
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 3);
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 3);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 0), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, cq->ci->cqe + 1), AL_INVALID_PARAMETER);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(arm_and_arm_n_are_independent_and_one_notification_may_satisfy_both)
{
	struct cq *cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_NEXT);
	struct qp *a, *b;

	connect_new(&a, &b, cq);
	ops->arm_cq(cq->ci, AL_ARM_ANY, NULL);
	ops->arm_cq_n(cq->ci, 2);
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 1); /* the arm is satisfied; the arm_n still waits */
	ops->arm_cq(cq->ci, AL_ARM_ANY, NULL);
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 2); /* both */
	fill_one(cq, a, b);
	ck_assert_uint_eq(cq->notified, 2);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(an_arm_of_no_type_is_refused)
{
	ck_assert_int_eq(ops->arm_cq(p.acq->ci, AL_ARM_NONE, NULL), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->arm_cq(p.acq->ci, (al_arm)4, NULL), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(first_in_first_out_and_peek_removes_nothing)
{
	struct ib_wc wc[32];
	uint32_t count, i;

	for (i = 0; i < 10; i++)
		rdma(&p, IB_WR_RDMA_WRITE, i, 0, 0, 8);
	do
		ops->peek_cq(p.acq->ci, 100, &count);
	while (count < 10);
	ops->peek_cq(p.acq->ci, 4, &count);
	ck_assert_uint_eq(count, 4);
	ck_assert_int_eq(ops->poll_cq(p.acq->ci, 6, wc, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 6);
	ck_assert_int_eq(ops->poll_cq(p.acq->ci, 32, wc + 6, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 4);
	for (i = 0; i < 10; i++)
		ck_assert_uint_eq(wc[i].wr_id, i);
}
END_TEST

START_TEST(an_overflow_adds_one_error_raises_the_event_and_ends_the_queues)
{
	enum { ENTRIES = 17 };
	struct cq *cq = new_cq(&hca[1], ENTRIES, AL_CQ_NOTIFY_PENDING);
	struct qp *a, *b, *other = new_qp(&hca[1], cq, p.bcq, &p.o);
	struct ib_wc wc[ENTRIES + 2];
	uint32_t count, i;

	to_init(other, &p.o);
	connect_new(&a, &b, cq);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ERRORS, NULL), AL_SUCCESS);
	for (i = 0; i < ENTRIES + 1; i++)
		put(a, b, AL_ARM_ANY);
	wait_state(b, IB_QPS_ERR);
	wait_state(other, IB_QPS_ERR);
	wait_bits(&b->events, 1u << IB_EVENT_QP_FATAL);
	wait_bits(&other->events, 1u << IB_EVENT_QP_FATAL);
	wait_bits(&cq->notified, 1u << 16);
	ck_assert_uint_eq(cq->notified, (1u << 16) + 1); /* one CQ event, one notification */
	ck_assert_int_eq(ops->poll_cq(cq->ci, ENTRIES + 2, wc, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, ENTRIES + 1);
	for (i = 0; i < ENTRIES; i++)
		ck_assert_int_eq(wc[i].status, IB_WC_SUCCESS);
	ck_assert_int_eq(wc[ENTRIES].status, IB_WC_CQ_OVERFLOW_ERR);
	ck_assert_int_eq(ops->poll_cq(cq->ci, 8, wc, &count), AL_CQ_ERROR);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, NULL), AL_CQ_ERROR);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 1), AL_CQ_ERROR);
	free_qp(a);
	free_qp(b);
	free_qp(other);
	free_cq(cq);
}
END_TEST

/* As many adapters do, which programs have come to rely on. _i: entries asked for, less one. */
START_TEST(a_queue_for_few_has_room_for_16_and_says_so)
{
	struct cq *cq = new_cq(&hca[1], (uint32_t)_i + 1, AL_CQ_NOTIFY_PENDING);
	struct al_cq_attr attr;
	struct qp *a, *b;

	ck_assert_uint_eq(cq->ci->cqe, 16);
	ck_assert_int_eq(ops->query_cq(cq->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.cqe, 16);
	connect_new(&a, &b, cq);
	for (int i = 0; i < 16; i++)
		put(a, b, AL_ARM_ANY);
	ck_assert_int_eq(ops->query_cq(cq->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.count, 16);
	ck_assert(!attr.overflowed);
	free_qp(a);
	free_qp(b);
	free_cq(cq);
}
END_TEST

START_TEST(over_the_limit_the_limit_is_written_back)
{
	struct ci_cq *cq = al_alloc_aligned(64, ops->obj_size[CI_OBJ_CQ]);
	struct ci_cq_init init = { .cqe = hca[0].attr.max_cqe + 1 };

	cq->pd = hca[0].pd;
	ck_assert_int_eq(ops->create_cq(cq, &init, NULL), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(init.cqe, hca[0].attr.max_cqe);
	init.cqe = 16;
	al_fail_alloc(1);
	ck_assert_int_eq(ops->create_cq(cq, &init, NULL), AL_INSUFFICIENT_MEMORY);
	al_free(cq);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: cq");
	TCase *t = tcase_create("cq");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, arms_merge_as_seed_001_says, 0, 54);
	tcase_add_loop_test(t, one_notification_per_arm, AL_CQ_NOTIFY_PENDING, AL_CQ_NOTIFY_NEXT + 1);
	tcase_add_test(t, pending_a_newer_completion_satisfies_an_arm_of_any_type_at_once);
	tcase_add_test(t, pending_what_was_polled_is_not_there_to_satisfy);
	tcase_add_test(t, next_only_what_comes_after_counts_and_the_call_says_what_is_there);
	tcase_add_test(t, arm_n_notifies_at_n_and_at_once_when_they_are_there);
	tcase_add_test(t, arm_and_arm_n_are_independent_and_one_notification_may_satisfy_both);
	tcase_add_test(t, an_arm_of_no_type_is_refused);
	tcase_add_test(t, first_in_first_out_and_peek_removes_nothing);
	tcase_add_test(t, an_overflow_adds_one_error_raises_the_event_and_ends_the_queues);
	tcase_add_loop_test(t, a_queue_for_few_has_room_for_16_and_says_so, 0, 16);
	tcase_add_test(t, over_the_limit_the_limit_is_written_back);
	suite_add_tcase(s, t);
	return run_suite(s);
}
