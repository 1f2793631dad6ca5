/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Moderation of a completion queue's notifications: they are delayed by number and by time, and never lost. In
 * virtual time.
 */
#include "harness.h"

#define US 1000ull
#define TICK 4096ull /* resolution of the timers */

static struct pair p;
static struct cq *cq; /* completes b's receives */
static struct qp *a, *b;
static uint64_t next;

static void make(al_cq_notify notify)
{
	cq = new_cq(&hca[1], 20, notify);
	a = new_qp(&hca[0], p.acq, p.acq, &p.o);
	b = new_qp(&hca[1], cq, cq, &p.o);
	connect_qps(a, b, &p.o);
	next = 0;
}

static void setup(void)
{
	up("progress=manual seed=1");
	pair_up(&p, NULL, 4096);
	make(AL_CQ_NOTIFY_NEXT);
}

static void end_qps(void)
{
	free_qp(a);
	free_qp(b);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

static void end(void)
{
	end_qps();
	free_cq(cq);
}

static uint32_t there(void)
{
	uint32_t count;

	ck_assert_int_eq(ops->peek_cq(cq->ci, UINT32_MAX, &count), AL_SUCCESS);
	return count;
}

/* Adds completions, without a jump of the clock. */
static void add(uint32_t num, uint32_t flags)
{
	const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, flags);
	uint32_t want = there();

	while (num--) {
		post_recv(b, next++, NULL, 0);
		post(a, &wr);
		want++;
		while (there() != want)
			ck_assert_uint_eq(step().did, SOFT_STEP_QP);
	}
}

static void take(uint32_t num)
{
	while (num--)
		wait_wc(cq);
}

static void moderate(uint16_t count, uint16_t period)
{
	struct al_cq_attr attr;

	ck_assert_int_eq(ops->modify_cq(cq->ci, count, period), AL_SUCCESS);
	ck_assert_int_eq(ops->query_cq(cq->ci, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.moderation_count, count);
	ck_assert_uint_eq(attr.moderation_period, period);
}

static void arm(al_arm type)
{
	ck_assert_int_eq(ops->arm_cq(cq->ci, type, NULL), AL_SUCCESS);
}

static al_arm armed(void)
{
	struct al_cq_attr attr;

	ck_assert_int_eq(ops->query_cq(cq->ci, &attr), AL_SUCCESS);
	return attr.armed;
}

START_TEST(so_many_completions_are_told_of_together)
{
	moderate(3, 0);
	add(5, 0); /* before the arm */
	take(5);
	for (uint32_t told = 0; told < 3; told++) {
		arm(AL_ARM_ANY);
		add(2, 0);
		run_all();
		ck_assert_uint_eq(cq->notified, told);
		ck_assert_int_eq(armed(), AL_ARM_ANY);
		take(2); /* polled completions count too */
		add(1, 0);
		ck_assert_uint_eq(cq->notified, told + 1);
		ck_assert_int_eq(armed(), AL_ARM_NONE);
		add(3, 0);
		ck_assert_uint_eq(cq->notified, told + 1);
		take(4);
	}
	end();
}
END_TEST

/* _i: count */
START_TEST(a_count_of_0_or_1_tells_of_each)
{
	moderate((uint16_t)_i, 100);
	for (uint32_t told = 0; told < 3; told++) {
		arm(AL_ARM_ANY);
		add(1, 0);
		ck_assert_uint_eq(cq->notified, told + 1);
	}
	end();
}
END_TEST

START_TEST(after_the_period_fewer_are_told_of)
{
	uint64_t begun;

	moderate(10, 100);
	for (uint32_t told = 0; told < 3; told++) {
		arm(AL_ARM_ANY);
		begun = soft_clock();
		add(3, 0);
		ck_assert_uint_eq(cq->notified, told);
		while (cq->notified == told)
			ck_assert_int_ne(step().did, SOFT_STEP_NOTHING);
		ck_assert_uint_ge(soft_clock() - begun, 100 * US);
		ck_assert_uint_le(soft_clock() - begun, 100 * US + 2 * TICK);
		take(3);
	}
	run_all();
	ck_assert_uint_eq(cq->notified, 3);
	end();
}
END_TEST

/* A queue that reaches its count leaves its timer running; the timer must not notify, nor count for the next arm. */
START_TEST(the_period_begins_with_the_first_completion_that_is_held_back)
{
	uint64_t begun;

	moderate(2, 100);
	arm(AL_ARM_ANY);
	add(2, 0);
	ck_assert_uint_eq(cq->notified, 1);
	run_all();
	ck_assert_uint_eq(cq->notified, 1);
	arm(AL_ARM_ANY);
	add(2, 0);
	ck_assert_uint_eq(cq->notified, 2);
	arm(AL_ARM_ANY);
	begun = soft_clock();
	add(1, 0);
	while (cq->notified == 2)
		step();
	ck_assert_uint_ge(soft_clock() - begun, 100 * US);
	end();
}
END_TEST

START_TEST(what_satisfies_the_arm_begins_it_and_anything_ends_it)
{
	moderate(3, 0);
	arm(AL_ARM_SOLICITED);
	add(4, 0);
	ck_assert_uint_eq(cq->notified, 0);
	add(1, IB_SEND_SOLICITED);
	add(1, 0);
	ck_assert_uint_eq(cq->notified, 0);
	ck_assert_int_eq(armed(), AL_ARM_SOLICITED);
	add(1, 0);
	ck_assert_uint_eq(cq->notified, 1);
	take(7);
	/* errors: flushed receives */
	arm(AL_ARM_ERRORS);
	add(5, IB_SEND_SOLICITED);
	ck_assert_uint_eq(cq->notified, 1);
	for (uint32_t i = 0; i < 3; i++)
		post_recv(b, i, NULL, 0);
	ck_assert_int_eq(modify(b, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	run_all();
	ck_assert_uint_eq(cq->notified, 2);
	end();
}
END_TEST

START_TEST(arms_while_one_is_held_back_are_served_with_it)
{
	moderate(2, 0);
	arm(AL_ARM_SOLICITED);
	add(1, IB_SEND_SOLICITED);
	take(1);
	arm(AL_ARM_ERRORS);
	arm(AL_ARM_ANY);
	add(1, 0);
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(armed(), AL_ARM_NONE);
	end();
}
END_TEST

START_TEST(what_is_there_already_and_arms_for_so_many_are_not_delayed)
{
	end();
	make(AL_CQ_NOTIFY_PENDING);
	moderate(10, 0);
	add(1, 0);
	arm(AL_ARM_ANY);
	ck_assert_uint_eq(cq->notified, 1);
	arm(AL_ARM_ANY);
	add(1, 0);
	ck_assert_uint_eq(cq->notified, 1);
	arm(AL_ARM_ANY); /* notifies at once, for the completions of the first arm too */
	ck_assert_uint_eq(cq->notified, 2);
	ck_assert_int_eq(armed(), AL_ARM_NONE);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 4), AL_SUCCESS);
	add(2, 0);
	ck_assert_uint_eq(cq->notified, 3);
	end();
}
END_TEST

START_TEST(a_full_queue_tells_at_once)
{
	moderate(1000, 0);
	arm(AL_ARM_ANY);
	add(19, 0);
	ck_assert_uint_eq(cq->notified, 0);
	add(1, 0);
	ck_assert_uint_eq(cq->notified, 1);
	/* a resize ends the moderation as well */
	take(5);
	arm(AL_ARM_ANY);
	add(1, 0);
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(ops->resize_cq(cq->ci, &(uint32_t){ 17 }, NULL), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(ops->resize_cq(cq->ci, &(uint32_t){ 16 }, NULL), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 2);
	end();
}
END_TEST

START_TEST(an_overflow_is_told_of_at_once_and_ends_moderation)
{
	const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

	moderate(1000, 0);
	add(20, 0);
	arm(AL_ARM_ANY);
	post_recv(b, next++, NULL, 0);
	post(a, &wr);
	run_all();
	ck_assert_uint_eq(cq->notified, (1u << 16) + 1); /* and the CQ error event */
	ck_assert_int_eq(ops->modify_cq(cq->ci, 0, 0), AL_CQ_ERROR);
	end();
}
END_TEST

START_TEST(a_change_tells_of_what_was_held_back)
{
	moderate(10, 50);
	moderate(10, 0);
	ck_assert_uint_eq(cq->notified, 0);
	arm(AL_ARM_ANY);
	moderate(10, 0);
	ck_assert_uint_eq(cq->notified, 0);
	add(2, 0);
	moderate(3, 0);
	ck_assert_uint_eq(cq->notified, 1);
	arm(AL_ARM_ANY);
	add(3, 0);
	ck_assert_uint_eq(cq->notified, 2);
	end();
}
END_TEST

START_TEST(of_a_queue_that_goes_nothing_is_told)
{
	moderate(10, 100);
	arm(AL_ARM_ANY);
	add(1, 0);
	end();
	run_all();
}
END_TEST

/* ------------------------------------------------------------------ in real time */

static void setup_real(void)
{
	up("");
	pair_up(&p, NULL, 4096);
}

/* Each queue is destroyed at about the moment at which its period ends. */
START_TEST(a_queue_goes_while_its_period_ends)
{
	for (uint32_t i = 0; i < 200; i++) {
		const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

		make(AL_CQ_NOTIFY_NEXT);
		moderate(10, (uint16_t)(1 + i));
		arm(AL_ARM_ANY);
		post_recv(b, 0, NULL, 0);
		post(a, &wr);
		while (!there())
			;
		end();
	}
}
END_TEST

START_TEST(each_period_ends_with_a_notification)
{
	uint64_t limit = now_ms() + 30000;

	make(AL_CQ_NOTIFY_NEXT);
	moderate(10, 300);
	for (uint32_t i = 0; i < 50; i++) {
		const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

		arm(AL_ARM_ANY);
		post_recv(b, i, NULL, 0);
		post(a, &wr);
		while (cq->notified == i)
			ck_assert_msg(now_ms() < limit, "notification %u did not come", i);
		take(1);
	}
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: moderation");
	TCase *t = tcase_create("virtual time"), *real = tcase_create("real time");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, so_many_completions_are_told_of_together);
	tcase_add_loop_test(t, a_count_of_0_or_1_tells_of_each, 0, 2);
	tcase_add_test(t, after_the_period_fewer_are_told_of);
	tcase_add_test(t, the_period_begins_with_the_first_completion_that_is_held_back);
	tcase_add_test(t, what_satisfies_the_arm_begins_it_and_anything_ends_it);
	tcase_add_test(t, arms_while_one_is_held_back_are_served_with_it);
	tcase_add_test(t, what_is_there_already_and_arms_for_so_many_are_not_delayed);
	tcase_add_test(t, a_full_queue_tells_at_once);
	tcase_add_test(t, an_overflow_is_told_of_at_once_and_ends_moderation);
	tcase_add_test(t, a_change_tells_of_what_was_held_back);
	tcase_add_test(t, of_a_queue_that_goes_nothing_is_told);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(real, setup_real, teardown);
	tcase_set_timeout(real, 60);
	tcase_add_test(real, a_queue_goes_while_its_period_ends);
	tcase_add_test(real, each_period_ends_with_a_notification);
	suite_add_tcase(s, real);
	return run_suite(s);
}
