/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Changes of completion queues of the software HCA: embedded; with its provider, whose queues are
 * rings in shared memory; and without a provider.
 */
#include "test/e2e/agent_uvp.h"

#include <pthread.h>
#include <stdatomic.h>

static al_status resize(al_cq_h cq, uint32_t cqe)
{
	struct al_cq_attr attr;
	uint32_t made = cqe;
	al_status status = al_resize_cq(cq, &made);

	ck_assert_uint_eq(made, !status && cqe < 16 ? 16 : cqe);
	if (status)
		return status;
	ck_ok(al_query_cq(cq, &attr));
	ck_assert_uint_eq(attr.cqe, made);
	return AL_SUCCESS;
}

static void receive(al_cq_h cq, uint64_t first, uint64_t end_of)
{
	for (; first < end_of; first++)
		test_poll_ok(cq, first);
}

START_TEST(completions_and_arms_stay_when_it_is_resized)
{
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_NEXT);
	for (int i = 0; i < 10; i++)
		message(0);
	ck_status(resize(cq, 9), AL_TOO_SMALL);
	ck_ok(al_arm_cq(cq, AL_ARM_SOLICITED, NULL));
	ck_ok(resize(cq, 16));
	ck_assert_int_eq(armed(cq), AL_ARM_SOLICITED);
	message(0);
	expect_told(0);
	message(IB_SEND_SOLICITED);
	expect_told(1);
	expect_count(cq, 12);
	receive(cq, 0, 7);
	ck_ok(resize(cq, 200));
	for (int i = 0; i < 15; i++)
		message(0);
	receive(cq, 7, 27);
	expect_empty(cq);
	ck_ok(al_arm_cq_n(cq, 150));
	ck_ok(resize(cq, 17));
	ck_status(al_arm_cq_n(cq, 18), AL_INVALID_PARAMETER);
	for (int i = 0; i < 5; i++)
		message(0);
	receive(cq, 27, 32);
	expect_told(0);
	finish_pair();
}
END_TEST

/*
 * After the resize the arm is for more completions than the queue has room for. _i: role, and
 * whether the queue is full already.
 */
START_TEST(an_arm_for_more_than_fit_in_waits_for_a_full_queue)
{
	bool full = _i >= ROLES;
	al_cq_h cq;

	begin_pair(_i % ROLES);
	cq = make_watched(AL_CQ_NOTIFY_NEXT);
	ck_ok(al_arm_cq_n(cq, 60));
	for (int i = 0; i < 20; i++)
		message(0);
	ck_ok(resize(cq, full ? 20 : 22));
	expect_told(full);
	for (int i = 0; !full && i < 2; i++) {
		expect_told(0);
		message(0);
	}
	expect_told(!full);
	receive(cq, 0, full ? 20 : 22);
	finish_pair();
}
END_TEST

START_TEST(it_overflows_at_its_new_size_and_then_can_not_be_resized)
{
	struct ib_wc wc;
	uint32_t count;
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_NEXT);
	ck_ok(resize(cq, 18));
	ck_ok(al_arm_cq(cq, AL_ARM_ERRORS, NULL));
	for (int i = 0; i < 18; i++)
		message(0);
	expect_told(0);
	message(0);
	expect_told(1);
	ck_status(resize(cq, 100), AL_CQ_ERROR);
	receive(cq, 0, 18);
	wc = test_poll(cq);
	ck_assert_uint_eq(wc.wr_id, 18);
	ck_assert_int_eq(wc.status, IB_WC_CQ_OVERFLOW_ERR);
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_CQ_ERROR);
	finish_pair();
}
END_TEST

START_TEST(nothing_is_left_of_the_smaller_queue)
{
	int maps;
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_NEXT);
	ck_ok(resize(cq, 100));
	maps = shared_files();
	for (uint32_t i = 0; i < 50; i++)
		ck_ok(resize(cq, 20 + 100 * (i % 3)));
	ck_assert_int_eq(shared_files(), maps);
	finish_pair();
}
END_TEST

/* --------------------------------------------------------------------- moderation */

static void moderate(al_cq_h cq, uint16_t count, uint16_t period)
{
	struct al_cq_attr attr;

	ck_ok(al_modify_cq(cq, count, period));
	ck_ok(al_query_cq(cq, &attr));
	ck_assert_uint_eq(attr.moderation_count, count);
	ck_assert_uint_eq(attr.moderation_period, period);
}

/* Without a period only the number of completions ends the moderation. */
START_TEST(notifications_are_held_back_and_never_lost)
{
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_NEXT);
	moderate(cq, 3, 0);
	ck_ok(al_arm_cq(cq, AL_ARM_SOLICITED, NULL));
	message(0);
	message(IB_SEND_SOLICITED);
	ck_assert_int_eq(armed(cq), AL_ARM_SOLICITED);
	ck_ok(al_arm_cq(cq, AL_ARM_ERRORS, NULL)); /* notified together with the first arm */
	message(0);
	expect_told(0);
	message(0);
	expect_told(1);
	ck_assert_int_eq(armed(cq), AL_ARM_NONE);
	message(0);
	expect_told(0);
	/* the period notifies */
	ck_ok(al_modify_cq(cq, 100, 500));
	for (int i = 0; i < 5; i++) {
		ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
		message(0);
		expect_told(1);
	}
	/* a change of the moderation, and a resize that fills the queue, notify */
	ck_ok(al_modify_cq(cq, 100, 0));
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	message(0);
	expect_told(0);
	moderate(cq, 90, 0);
	expect_told(1);
	receive(cq, 0, 11);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	for (int i = 0; i < 17; i++)
		message(0);
	expect_told(0);
	ck_ok(resize(cq, 17));
	expect_told(1);
	receive(cq, 11, 28);
	/* one notification after the other, each for so many completions */
	moderate(cq, 1, 0);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	message(0);
	expect_told(1);
	finish_pair();
}
END_TEST

/* An arm that completions in the queue satisfy notifies at once, and ends the moderation of the
 * former arm. */
START_TEST(an_arm_that_is_satisfied_at_once_ends_what_was_held_back)
{
	al_cq_h cq;

	begin_pair(_i);
	cq = make_watched(AL_CQ_NOTIFY_PENDING);
	moderate(cq, 3, 0);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	message(0);
	expect_told(0);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	expect_told(1);
	/* the completions held back are no errors */
	ck_ok(al_arm_cq(cq, AL_ARM_ERRORS, NULL));
	for (int i = 0; i < 4; i++)
		message(0);
	expect_told(0);
	ck_assert_int_eq(armed(cq), AL_ARM_ERRORS);
	ck_ok(al_arm_cq_n(cq, 6));
	message(0);
	expect_told(1);
	finish_pair();
}
END_TEST

/* ------------------------------------------------------------------------ threads */

#define MESSAGES 3000u
static al_cq_h busy;
static _Atomic uint32_t received;
static _Atomic bool over;

static void *resize_for_ever(void *arg)
{
	static const uint32_t sizes[] = { 300, 40, 64, 90, 41 };
	al_status status;

	for (uint32_t i = 0; !atomic_load(&over); i++) {
		uint32_t cqe = sizes[i % 5];

		status = al_resize_cq(busy, &cqe);
		if (status)
			return (void *)(uintptr_t)al_status_str(status);
	}
	return arg;
}

/* Polls after each notification, and sleeps otherwise: the loss of one notification would stop the
 * test. */
static void *poll_when_told(void *arg)
{
	struct ib_wc wc[4];
	uint32_t count;
	bool present;

	while (atomic_load(&received) < MESSAGES) {
		if (al_arm_cq(busy, AL_ARM_ANY, &present))
			return "an arm failed";
		if (!present)
			test_wait(&told);
		do {
			if (al_poll_cq(busy, 4, wc, &count))
				return "a poll failed";
			for (uint32_t i = 0; i < count; i++)
				if (wc[i].status || wc[i].wr_id != atomic_fetch_add(&received, 1))
					return "a completion is missing, or came twice";
		} while (count);
	}
	return arg;
}

/* _i: role, and whether notifications are moderated. */
START_TEST(nothing_is_lost_that_comes_meanwhile)
{
	struct timespec deadline;
	pthread_t thread[2];
	void *wrong;

	begin_pair(_i % ROLES);
	busy = make_watched(AL_CQ_NOTIFY_NEXT);
	if (_i >= ROLES)
		moderate(busy, 5, 20);
	ck_assert_int_eq(pthread_create(&thread[0], NULL, resize_for_ever, NULL), 0);
	ck_assert_int_eq(pthread_create(&thread[1], NULL, poll_when_told, NULL), 0);
	deadline = test_deadline();
	deadline.tv_sec += 60;
	for (uint32_t i = 0; i < MESSAGES; i++) {
		while (i >= atomic_load(&received) + 32)
			ck_assert_msg(!test_expired(&deadline), "%u of %u came", atomic_load(&received), i);
		if (i >= 32)
			ck_ok(test_post_recv(&end[0], i, 0, 8));
		message(0);
	}
	ck_assert_int_eq(pthread_join(thread[1], &wrong), 0);
	ck_assert_msg(!wrong, "%s", (char *)wrong);
	atomic_store(&over, true);
	ck_assert_int_eq(pthread_join(thread[0], &wrong), 0);
	ck_assert_msg(!wrong, "%s", (char *)wrong);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RTS);
	finish_pair();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/uvp_cq");
	TCase *tcase = tcase_create("completion queues");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, completions_and_arms_stay_when_it_is_resized, 0, ROLES);
	tcase_add_loop_test(tcase, an_arm_for_more_than_fit_in_waits_for_a_full_queue, 0, 2 * ROLES);
	tcase_add_loop_test(tcase, it_overflows_at_its_new_size_and_then_can_not_be_resized, 0, ROLES);
	tcase_add_loop_test(tcase, nothing_is_left_of_the_smaller_queue, 0, ROLES);
	tcase_add_loop_test(tcase, notifications_are_held_back_and_never_lost, 0, ROLES);
	tcase_add_loop_test(tcase, an_arm_that_is_satisfied_at_once_ends_what_was_held_back, 0, ROLES);
	tcase_add_loop_test(tcase, nothing_is_lost_that_comes_meanwhile, 0, 2 * ROLES);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
