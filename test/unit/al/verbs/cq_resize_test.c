/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Resizing completion queues: checks, the module's argument and answer, and operations meanwhile. */
#include "test/unit/al/al_test.h"

#include <pthread.h>

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;

static atomic_uint calls, inside_now, most;
static struct {
	al_status status;
	uint32_t made; /* 0: as many as requested */
} answer;
static bool stays;
static sem_t inside, go_on;

/* The module's operation. */
static al_status resize(struct ci_cq *ci, uint32_t *cqe, struct ci_udata *udata)
{
	unsigned int now = atomic_fetch_add(&inside_now, 1) + 1;

	(void)ci;
	(void)udata;
	atomic_fetch_add(&calls, 1);
	if (now > atomic_load(&most))
		atomic_store(&most, now);
	if (stays) {
		sem_post(&inside);
		test_wait(&go_on);
	}
	if (answer.made)
		*cqe = answer.made;
	atomic_fetch_sub(&inside_now, 1);
	return answer.status;
}

static al_status arm_cq_n(struct ci_cq *ci, uint32_t num)
{
	(void)ci;
	(void)num;
	return AL_SUCCESS;
}

static void open_world(void)
{
	struct al_cq_init init = { .cqe = 8 };

	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
}

static void set_up(void)
{
	fake = test_fake();
	fake->ops.resize_cq = resize;
	fake->ops.arm_cq_n = arm_cq_n;
	open_world();
}

static void set_up_without(void)
{
	fake = test_fake();
	open_world();
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* The number of entries, as al_snapshot() and al_arm_cq_n() report it. */
static void expect_entries(uint32_t cqe)
{
	struct al_snapshot *snap;
	uint32_t shown = 0;

	ck_ok(al_arm_cq_n(cq, cqe));
	ck_status(al_arm_cq_n(cq, cqe + 1), AL_INVALID_PARAMETER);
	if (test_in_user_role())
		return; /* a snapshot has the agent's objects */
	ck_ok(al_snapshot(al, &snap));
	for (size_t i = 0; i < snap->num_objects; i++)
		if (snap->objects[i].type == AL_OBJ_CQ)
			shown = snap->objects[i].number;
	ck_assert_uint_eq(shown, cqe);
	al_free_snapshot(snap);
}

START_TEST(entries_there_are_written_back_and_hold_from_then_on)
{
	uint32_t cqe = 20;

	expect_entries(8);
	ck_ok(al_resize_cq(cq, &cqe));
	ck_assert_uint_eq(cqe, 20);
	expect_entries(20);
	answer.made = 31; /* more entries are allowed */
	cqe = 28;
	ck_ok(al_resize_cq(cq, &cqe));
	ck_assert_uint_eq(cqe, 31);
	expect_entries(31);
	answer.made = 0;
	cqe = 1;
	ck_ok(al_resize_cq(cq, &cqe));
	ck_assert_uint_eq(cqe, 1);
	expect_entries(1);
	ck_assert_uint_eq(calls, 3);
}
END_TEST

START_TEST(what_can_not_be_does_not_come_to_the_module)
{
	uint32_t cqe = 0;

	ck_status(al_resize_cq(cq, NULL), AL_INVALID_PARAMETER);
	ck_status(al_resize_cq(cq, &cqe), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(cqe, 0);
	cqe = 4097;
	ck_status(al_resize_cq(cq, &cqe), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(cqe, 4096);
	ck_assert_uint_eq(calls, 0);
	ck_ok(al_resize_cq(cq, &cqe));
	expect_entries(4096);
}
END_TEST

START_TEST(a_refusal_of_the_module_leaves_the_size)
{
	static const al_status statuses[] = { AL_TOO_SMALL, AL_CQ_ERROR, AL_INSUFFICIENT_MEMORY };
	uint32_t cqe;

	for (int i = 0; i < 3; i++) {
		answer.status = statuses[i];
		cqe = 5;
		ck_status(al_resize_cq(cq, &cqe), statuses[i]);
		ck_assert_uint_eq(cqe, 5);
		expect_entries(8);
	}
	answer.status = AL_LIMIT_EXCEEDED;
	answer.made = 100;
	cqe = 200;
	ck_status(al_resize_cq(cq, &cqe), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(cqe, 100);
	expect_entries(8);
}
END_TEST

START_TEST(a_module_that_leaves_fewer_entries_than_requested_has_failed)
{
	uint32_t cqe = 20;

	al_set_log(test_ignore_log, NULL);
	answer.made = 19;
	ck_status(al_resize_cq(cq, &cqe), AL_MODULE_FAILED);
	ck_assert_uint_eq(cqe, 20);
	answer.made = 0;
	answer.status = (al_status)7777;
	ck_status(al_resize_cq(cq, &cqe), AL_MODULE_FAILED);
}
END_TEST

START_TEST(a_module_without_it_says_so)
{
	uint32_t cqe = 20;

	ck_status(al_resize_cq(cq, &cqe), AL_UNSUPPORTED);
	ck_assert_uint_eq(cqe, 20);
}
END_TEST

START_TEST(of_a_removed_hca_no_queue_is_resized)
{
	uint32_t cqe = 20;

	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	ck_status(al_resize_cq(cq, &cqe), AL_CA_REMOVED);
	ck_assert_uint_eq(cqe, 20);
	ck_assert_uint_eq(calls, 0);
}
END_TEST

static void *resize_once(void *entries)
{
	uint32_t cqe = (uint32_t)(uintptr_t)entries;

	return (void *)(uintptr_t)al_resize_cq(cq, &cqe);
}

START_TEST(a_queue_is_resized_once_at_a_time)
{
	pthread_t threads[3];
	void *result;

	stays = true;
	for (uintptr_t i = 0; i < 3; i++)
		ck_assert(!pthread_create(&threads[i], NULL, resize_once, (void *)(10 + i)));
	for (int i = 0; i < 3; i++) {
		test_wait(&inside);
		sem_post(&go_on);
	}
	for (int i = 0; i < 3; i++) {
		ck_assert(!pthread_join(threads[i], &result));
		ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	}
	ck_assert_uint_eq(most, 1);
}
END_TEST

START_TEST(polls_and_arms_go_on_and_a_destroy_waits)
{
	struct ib_wc wc;
	uint32_t count;
	pthread_t thread;
	void *result;
	sem_t gone;

	sem_init(&gone, 0, 0);
	stays = true;
	ck_assert(!pthread_create(&thread, NULL, resize_once, (void *)10));
	test_wait(&inside);
	fake->complete(fake->last_cq, &(const struct ib_wc){ .wr_id = 5 });
	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(wc.wr_id, 5);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	ck_ok(al_arm_cq_n(cq, 8));
	ck_ok(al_destroy_cq(cq, test_post, &gone));
	ck_assert_uint_eq(fake->calls[FAKE_destroy_cq], 0);
	sem_post(&go_on);
	test_wait(&gone);
	ck_assert(!pthread_join(thread, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_cq], 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/cq_resize");
	TCase *tcase = tcase_create("resize"), *without = tcase_create("without");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, entries_there_are_written_back_and_hold_from_then_on);
	tcase_add_test(tcase, what_can_not_be_does_not_come_to_the_module);
	tcase_add_test(tcase, a_refusal_of_the_module_leaves_the_size);
	tcase_add_test(tcase, a_module_that_leaves_fewer_entries_than_requested_has_failed);
	tcase_add_test(tcase, of_a_removed_hca_no_queue_is_resized);
	tcase_add_test(tcase, a_queue_is_resized_once_at_a_time);
	tcase_add_test(tcase, polls_and_arms_go_on_and_a_destroy_waits);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(without, set_up_without, tear_down);
	tcase_add_test(without, a_module_without_it_says_so);
	suite_add_tcase(suite, without);
	return test_run(suite);
}
