/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Completion queues of the software HCA's provider: polls, arms and notifications, resize. The test
 * is the library and the agent's module (support.h). Queue pairs and their requests are in
 * provider_test.c.
 */
#include "test/unit/uvp/soft/support.h"

#include <sys/mman.h>

/* ------------------------------------------------------------- completion queues */

/* The file of a completion queue that the agent refuses is closed and unmapped. */
START_TEST(a_completion_queue_that_is_not_created_leaves_nothing)
{
	struct ci_cq_init init = { .cqe = 1 };
	struct provider_cq none = { .cq.pd = &pd };
	int fds = count_entries("/proc/self/fd"), maps = count_shared_maps();

	ck_assert_int_eq(ops->pre_create_cq(&none.cq, &init, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(*(uint64_t *)call_in, ring_cq_bytes(16));
	ops->post_create_cq(&none.cq, &init, AL_LIMIT_EXCEEDED, &call);
	ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
	ck_assert_int_eq(count_shared_maps(), maps);
}
END_TEST

/* An agent answers with more entries than the library has asked for and than the file has slots for. */
START_TEST(a_completion_queue_that_is_longer_than_its_file_is_refused)
{
	const uint32_t cqes[] = { ring_cq_slots(CQE) - 1, ring_cq_slots(CQE), UINT32_MAX / 2 + 2,
				  UINT32_MAX };
	int fds = count_entries("/proc/self/fd"), maps = count_shared_maps();

	for (int i = 0; i < 4; i++) {
		struct provider_cq cq = { .cq.pd = &pd };
		struct ci_cq_init init = { .cqe = CQE };

		ck_assert_int_eq(ops->pre_create_cq(&cq.cq, &init, begin_call()), AL_SUCCESS);
		init.cqe = cq.cq.cqe = cqes[i];
		ck_assert_int_eq(ops->post_create_cq(&cq.cq, &init, AL_SUCCESS, &call),
				 i ? AL_MODULE_ABI : AL_SUCCESS);
		if (!i)
			ops->post_destroy_cq(&cq.cq, begin_call());
		ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
		ck_assert_int_eq(count_shared_maps(), maps);
	}
}
END_TEST

START_TEST(completions_are_polled_in_order_around_the_ring)
{
	struct ib_wc wc[CQE + 2];
	uint64_t next = 0, got = 0;
	uint32_t count;
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t n = round % (CQE + 1);

		for (uint32_t i = 0; i < n; i++)
			complete(&cq, next++, 7, AL_ARM_ANY);
		ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 100, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, n);
		ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 5, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, n < 5 ? n : 5);
		ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 3, wc, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, n < 3 ? n : 3);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_uint_eq(wc[i].wr_id, got++);
		ck_assert_uint_eq(atomic_load(&cq.ring->cons), got);
		count = poll_all(&cq, wc);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_uint_eq(wc[i].wr_id, got++);
		ck_assert_uint_eq(got, next);
	}
	free_cq(&cq);
}
END_TEST

START_TEST(an_overflow_is_reported_after_the_last_completion)
{
	struct ib_wc wc[CQE + 2];
	uint32_t count;
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	for (uint32_t i = 0; i < CQE + 1; i++)
		complete(&cq, i, 7, AL_ARM_ANY);
	atomic_store(&cq.ring->overflowed, 1);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_CQ_ERROR);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 1), AL_CQ_ERROR);
	ck_assert_uint_eq(poll_all(&cq, wc), CQE + 1);
	ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 8, wc, &count), AL_CQ_ERROR);
	ck_assert_uint_eq(atomic_load(&notifications), 0);
	free_cq(&cq);
}
END_TEST

/* The application has written over the index: a poll returns no entry that is not a completion. */
START_TEST(an_index_that_can_not_be_brings_nothing)
{
	struct ib_wc wc[4];
	uint32_t count;
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	atomic_store(&cq.ring->prod, CQE + 2);
	ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 4, wc, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 0);
	atomic_store(&cq.ring->prod, UINT32_MAX);
	ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 4, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 0);
	atomic_store(&cq.ring->prod, 0);
	free_cq(&cq);
}
END_TEST

/* ------------------------------------------------------------------- notification */

static const al_arm arms[] = { AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED };
/* The table of seed 001: the rows are the first arm, the columns the second arm. */
static const al_arm merged[3][3] = {
	{ AL_ARM_ANY, AL_ARM_ANY, AL_ARM_ANY },
	{ AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED },
	{ AL_ARM_ANY, AL_ARM_SOLICITED, AL_ARM_SOLICITED },
};

static al_arm armed(struct cq *cq)
{
	struct al_cq_attr attr = { 0 };

	ops->post_query_cq(&cq->p.cq, &attr, AL_SUCCESS, begin_call());
	ck_assert_uint_eq(attr.count, atomic_load(&cq->ring->prod) - atomic_load(&cq->ring->cons));
	return attr.armed;
}

/* _i: notify mode, first arm, second arm, kind of the completion. */
START_TEST(arms_merge_as_seed_001_says)
{
	al_cq_notify mode = _i / 27 ? AL_CQ_NOTIFY_NEXT : AL_CQ_NOTIFY_PENDING;
	int first = _i / 9 % 3, second = _i / 3 % 3;
	al_arm kind = arms[_i % 3], both = merged[first][second];
	bool present = true;
	struct cq cq;

	make_cq(&cq, mode);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, arms[first], &present), AL_SUCCESS);
	ck_assert(!present);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, arms[second], NULL), AL_SUCCESS);
	ck_assert_int_eq(armed(&cq), both);
	ck_assert_int_eq(complete(&cq, 1, 7, kind), kind <= both);
	ck_assert_int_eq(armed(&cq), kind <= both ? AL_ARM_NONE : both);
	ck_assert_uint_eq(atomic_load(&notifications), 0);
	free_cq(&cq);
}
END_TEST

/* _i: pending, next. Completions of which the module or the provider has notified do not satisfy another arm. */
START_TEST(completions_that_are_there_satisfy_an_arm_once_if_they_are_news)
{
	bool pending = !_i, present;
	struct ib_wc wc[8];
	struct cq cq;

	make_cq(&cq, _i ? AL_CQ_NOTIFY_NEXT : AL_CQ_NOTIFY_PENDING);
	complete(&cq, 1, 7, AL_ARM_ANY);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ERRORS, &present), AL_SUCCESS);
	ck_assert(present);
	ck_assert_uint_eq(atomic_load(&notifications), pending);
	ck_assert_int_eq(armed(&cq), pending ? AL_ARM_NONE : AL_ARM_ERRORS);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), pending); /* no completion since the notification */
	ck_assert_int_eq(armed(&cq), AL_ARM_ANY);
	ck_assert(complete(&cq, 2, 7, AL_ARM_ANY)); /* the module notifies */
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), pending);
	ck_assert_int_eq(armed(&cq), AL_ARM_ANY);
	ck_assert_uint_eq(poll_all(&cq, wc), 2);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, &present), AL_SUCCESS);
	ck_assert(!present);
	ck_assert_uint_eq(atomic_load(&notifications), pending);
	free_cq(&cq);
}
END_TEST

START_TEST(an_arm_for_so_many_is_the_smaller_of_two)
{
	struct ib_wc wc[8];
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 0), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, CQE + 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, CQE), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 2), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 3), AL_SUCCESS);
	ck_assert(!complete(&cq, 1, 7, AL_ARM_ANY));
	ck_assert(complete(&cq, 2, 7, AL_ARM_ANY));
	ck_assert_uint_eq(atomic_load(&notifications), 0);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 3), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), 0);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 2), AL_SUCCESS); /* the queue has two completions */
	ck_assert_uint_eq(atomic_load(&notifications), 1);
	ck_assert_uint_eq(atomic_load(&cq.ring->arm_n), 0);
	ck_assert_uint_eq(poll_all(&cq, wc), 2);
	/* an arm for one completion more than the queue has waits */
	complete(&cq, 3, 7, AL_ARM_ANY);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 2), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), 1);
	ck_assert(complete(&cq, 4, 7, AL_ARM_ANY));
	free_cq(&cq);
}
END_TEST

/* Completions 0 to 9 are of queue pairs 7 and 8 in turn. _i: number of completions before the notification. */
START_TEST(a_queue_pair_that_goes_takes_its_completions_and_leaves_the_news)
{
	struct ib_wc wc[16];
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	for (uint32_t i = 0; i < 30; i++) /* moves the indices beyond the end of the ring */
		complete(&cq, 99, 8, AL_ARM_ANY), poll_all(&cq, wc);
	for (uint32_t i = 0; i < 10; i++) {
		complete(&cq, i, 7 + i % 2, AL_ARM_ANY);
		if (i + 1 == (uint32_t)_i)
			ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	}
	ck_assert_uint_eq(atomic_load(&notifications), _i > 0);
	free_qp(&qp);
	/* completion 9, the newest, satisfies an arm unless the notification was for all completions */
	atomic_store(&notifications, 0);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), _i != 10);
	ck_assert_uint_eq(poll_all(&cq, wc), 5);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(wc[i].wr_id, 2 * i + 1);
		ck_assert_uint_eq(wc[i].qp_num, 8);
	}
	free_cq(&cq);
}
END_TEST

/*
 * The newest completion is removed with its queue pair. The completion that is left came before the notification, and
 * satisfies no arm.
 */
START_TEST(old_completions_are_no_news_when_newer_ones_have_gone)
{
	struct ib_wc wc[4];
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert(complete(&cq, 1, 8, AL_ARM_ANY));
	complete(&cq, 2, 7, AL_ARM_ANY);
	free_qp(&qp);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), 0);
	ck_assert_uint_eq(poll_all(&cq, wc), 1);
	ck_assert_uint_eq(wc[0].wr_id, 1);
	free_cq(&cq);
}
END_TEST

/* The module takes an arm as soon as the provider has set it, and notifies itself: the provider does not notify a second time. Here
 * AL_ARM_NONE stands for the arm that the module has taken. */
START_TEST(an_arm_that_the_module_has_taken_is_not_notified_again)
{
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	complete(&cq, 1, 7, AL_ARM_ANY);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_NONE, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), 0);
	/* the provider's next arm is still satisfied by the completion */
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), 1);
	poll_all(&cq, (struct ib_wc[4]){ 0 });
	free_cq(&cq);
}
END_TEST

/* --------------------------------------------------------------------------- resize */

static struct ib_wc *next_wc; /* entries that the provider offers */

static void ask_resize(struct cq *cq, uint32_t cqe)
{
	const struct ring_make *request = (const void *)call_in;

	ck_assert_int_eq(ops->pre_resize_cq(&cq->p.cq, &cqe, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(request->bytes, ring_wc_bytes(cqe));
	next_wc = accept_file(request->bytes);
	ck_assert_uint_eq(atomic_load(&cq->ring->moved), 0);
}

/* The module uses the new entries from now on, as ring_cq_moved() does. */
static void move(struct cq *cq, uint32_t cqe)
{
	cq->wc = next_wc;
	cq->mask = ring_cq_slots(cqe) - 1;
	atomic_store(&cq->ring->moved_at, atomic_load(&cq->ring->prod));
	atomic_store(&cq->ring->moved, 1);
}

static void end_resize(struct cq *cq, uint32_t cqe, al_status status)
{
	ops->post_resize_cq(&cq->p.cq, &cqe, status, &call);
}

static void expect(struct cq *cq, uint64_t first, uint32_t num)
{
	struct ib_wc wc[1];
	uint32_t count;

	for (; num--; first++) {
		ck_assert_int_eq(ops->poll_cq(&cq->p.cq, 1, wc, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(wc->wr_id, first);
	}
}

static void fill_cq(struct cq *cq, uint64_t first, uint32_t num)
{
	while (num--)
		complete(cq, first++, 7, AL_ARM_ANY);
}

/* _i: number of completions before the test, so that the indices pass the end of the old and of the new entries. Polls find all
 * completions before, during and after the resize. */
START_TEST(while_a_queue_is_resized_all_completions_are_there)
{
	const uint32_t first = (uint32_t)_i;
	int maps, fds;
	struct cq cq;
	struct ib_wc wc[8];
	uint32_t count;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	for (uint32_t i = 0; i < first; i++)
		fill_cq(&cq, i, 1), expect(&cq, i, 1);
	fds = count_entries("/proc/self/fd");
	maps = count_shared_maps();
	fill_cq(&cq, first, 10);
	ask_resize(&cq, 40);
	expect(&cq, first, 2);
	fill_cq(&cq, first + 10, 4);
	move(&cq, 40);
	fill_cq(&cq, first + 14, 20);
	ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 100, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 32);
	expect(&cq, first + 2, 7);
	ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 8, wc, &count), AL_SUCCESS); /* of the old and the new entries */
	ck_assert_uint_eq(count, 8);
	for (uint32_t i = 0; i < 8; i++)
		ck_assert_uint_eq(wc[i].wr_id, first + 9 + i);
	ck_assert_uint_eq(atomic_load(&cq.ring->cons), first + 17);
	end_resize(&cq, 40, AL_SUCCESS);
	ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
	fill_cq(&cq, first + 34, 23);
	expect(&cq, first + 17, 40);
	/* back to the first size, with completions that are older than the move */
	fill_cq(&cq, first + 57, 15);
	munmap(next_wc, ring_wc_bytes(40));
	ask_resize(&cq, CQE);
	move(&cq, CQE);
	fill_cq(&cq, first + 72, 5);
	end_resize(&cq, CQE, AL_SUCCESS);
	expect(&cq, first + 57, 20);
	munmap(next_wc, ring_wc_bytes(CQE));
	ck_assert_int_eq(count_shared_maps(), maps + 1); /* the head of the first file, and the entries */
	free_cq(&cq);
}
END_TEST

START_TEST(a_resize_that_is_refused_leaves_the_queue_and_nothing_else)
{
	struct cq cq;
	int maps, fds;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	fill_cq(&cq, 0, 10);
	fds = count_entries("/proc/self/fd");
	maps = count_shared_maps();
	ask_resize(&cq, 40);
	munmap(next_wc, ring_wc_bytes(40));
	end_resize(&cq, 40, AL_TOO_SMALL);
	ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
	ck_assert_int_eq(count_shared_maps(), maps);
	fill_cq(&cq, 10, 10);
	expect(&cq, 0, 20);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, CQE + 1), AL_INVALID_PARAMETER);
	free_cq(&cq);
}
END_TEST

/* The agent is lost before its answer, and the module uses the new entries already: no completion is lost. */
START_TEST(where_the_module_puts_completions_is_what_counts)
{
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	ask_resize(&cq, 40);
	move(&cq, 40);
	fill_cq(&cq, 0, 30);
	end_resize(&cq, 40, AL_AGENT_LOST);
	expect(&cq, 0, 30);
	munmap(next_wc, ring_wc_bytes(40));
	free_cq(&cq);
}
END_TEST

START_TEST(a_queue_pair_that_goes_meanwhile_takes_its_completions_from_both)
{
	struct cq cq;
	struct qp qp;
	struct ib_wc wc[16];

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	for (uint32_t i = 0; i < 5; i++)
		complete(&cq, i, 7 + i % 2, AL_ARM_ANY);
	ask_resize(&cq, 40);
	move(&cq, 40);
	for (uint32_t i = 5; i < 10; i++)
		complete(&cq, i, 7 + i % 2, AL_ARM_ANY);
	free_qp(&qp);
	end_resize(&cq, 40, AL_SUCCESS);
	ck_assert_uint_eq(poll_all(&cq, wc), 5);
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(wc[i].wr_id, 2 * i + 1);
	munmap(next_wc, ring_wc_bytes(40));
	free_cq(&cq);
}
END_TEST

/* _i: number of completions in the queue. */
START_TEST(an_arm_for_more_than_fit_in_is_for_a_full_queue)
{
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 20), AL_SUCCESS);
	fill_cq(&cq, 0, (uint32_t)_i);
	ask_resize(&cq, 17);
	move(&cq, 17);
	end_resize(&cq, 17, AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&notifications), _i == 17);
	ck_assert_uint_eq(atomic_load(&cq.ring->arm_n), _i == 17 ? 0 : 17);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 18), AL_INVALID_PARAMETER);
	munmap(next_wc, ring_wc_bytes(17));
	free_cq(&cq);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("completion queues");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_completion_queue_that_is_not_created_leaves_nothing);
	tcase_add_test(tcase, a_completion_queue_that_is_longer_than_its_file_is_refused);
	tcase_add_test(tcase, completions_are_polled_in_order_around_the_ring);
	tcase_add_test(tcase, an_overflow_is_reported_after_the_last_completion);
	tcase_add_test(tcase, an_index_that_can_not_be_brings_nothing);
	tcase_add_loop_test(tcase, arms_merge_as_seed_001_says, 0, 54);
	tcase_add_loop_test(tcase, completions_that_are_there_satisfy_an_arm_once_if_they_are_news,
			    0, 2);
	tcase_add_test(tcase, an_arm_for_so_many_is_the_smaller_of_two);
	tcase_add_loop_test(tcase, a_queue_pair_that_goes_takes_its_completions_and_leaves_the_news,
			    0, 11);
	tcase_add_test(tcase, old_completions_are_no_news_when_newer_ones_have_gone);
	tcase_add_test(tcase, an_arm_that_the_module_has_taken_is_not_notified_again);
	tcase_add_loop_test(tcase, while_a_queue_is_resized_all_completions_are_there, 0, 66);
	tcase_add_test(tcase, a_resize_that_is_refused_leaves_the_queue_and_nothing_else);
	tcase_add_test(tcase, where_the_module_puts_completions_is_what_counts);
	tcase_add_test(tcase, a_queue_pair_that_goes_meanwhile_takes_its_completions_from_both);
	tcase_add_loop_test(tcase, an_arm_for_more_than_fit_in_is_for_a_full_queue, 16, 18);
	return run_cases(&tcase, 1);
}
