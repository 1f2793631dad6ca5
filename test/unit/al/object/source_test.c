/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event sources and their queue alone: merging, the order of events, and references. A queue of the test's own is
 * called at the moment at which another thread could intervene.
 */
#include <check.h>
#include <stdlib.h>

#include "al/object/object.h"

static struct {
	struct ev_queue queue; /* first, so that a queue's address is the test's struct */
	unsigned int wakes, forgotten;
	struct ev_source *forgot;
	struct al_obj *dies; /* when the queue is woken */
} home;

static struct al_obj obj;
static struct ev_source source[3];

static void wake(struct ev_queue *queue)
{
	ck_assert_ptr_eq(queue, &home.queue);
	home.wakes++;
	if (home.dies)
		atomic_fetch_or(&home.dies->live, OBJ_DYING);
}

static void forget(struct ev_queue *queue, struct ev_source *it)
{
	ck_assert_ptr_eq(queue, &home.queue);
	home.forgotten++;
	home.forgot = it;
}

static void make(bool held)
{
	home.queue.wake = wake;
	home.queue.withdraw = forget;
	atomic_init(&obj.refs, 1);
	for (int i = 0; i < 3; i++)
		ev_init(&source[i], &obj, &home.queue, NULL, held);
}

START_TEST(queued_sources_are_taken_oldest_first_and_wake_once)
{
	struct ev_source *list;

	make(false);
	for (int i = 0; i < 3; i++)
		ev_raise(&source[i], 1u << i);
	ev_raise(&source[0], EV_COMPLETION); /* merges */
	ck_assert_uint_eq(home.wakes, 1);
	ck_assert_uint_eq(obj.refs, 4); /* one for each that is queued */
	list = ev_take_all(&home.queue);
	for (int i = 0; i < 3; i++, list = list->next)
		ck_assert_ptr_eq(list, &source[i]);
	ck_assert_ptr_null(list);
	ck_assert_uint_eq(source[0].pending, EV_QUEUED | EV_COMPLETION | 1u);
	ck_assert_uint_eq(source[1].pending, EV_QUEUED | 2u);
	ck_assert_ptr_null(ev_take_all(&home.queue));
	/* An event that is taken but not yet delivered is not queued a second time. */
	ev_raise(&source[0], 2u);
	ck_assert_ptr_null(ev_take_all(&home.queue));
	ck_assert_uint_eq(home.forgotten, 0);
}
END_TEST

START_TEST(events_before_publish_wait_and_then_reference_the_object)
{
	make(true);
	ev_raise(&source[0], 1u);
	ev_raise(&source[0], 2u);
	ck_assert_ptr_null(ev_take_all(&home.queue));
	ck_assert_uint_eq(obj.refs, 1);
	ev_release(&source[0]);
	ev_release(&source[1]); /* no event has come */
	ck_assert_uint_eq(home.wakes, 1);
	ck_assert_uint_eq(obj.refs, 2);
	ck_assert_ptr_eq(ev_take_all(&home.queue), &source[0]);
	ck_assert_uint_eq(source[0].pending, EV_QUEUED | 3u);
	ck_assert_uint_eq(source[1].pending, 0);
	ev_raise(&source[1], 4u);
	ck_assert_ptr_eq(ev_take_all(&home.queue), &source[1]);
}
END_TEST

START_TEST(of_a_dying_object_nothing_is_queued)
{
	make(false);
	atomic_fetch_or(&obj.live, OBJ_DYING);
	ev_raise(&source[0], 1u);
	ev_raise_locked(&source[1], 1u);
	ck_assert_ptr_null(ev_take_all(&home.queue));
	ck_assert_uint_eq(obj.refs, 1);
	ck_assert_uint_eq(home.forgotten, 0);
}
END_TEST

/*
 * A destroy that takes back the object's events marks the object first, and a thread that pushes after that checks
 * the mark.
 */
START_TEST(the_queued_event_of_a_dying_object_is_withdrawn)
{
	make(_i);
	home.dies = &obj;
	ev_raise(&source[0], 1u);
	if (_i)
		ev_release(&source[0]);
	ck_assert_uint_eq(home.wakes, 1);
	ck_assert_uint_eq(home.forgotten, 1);
	ck_assert_ptr_eq(home.forgot, &source[0]);
	ck_assert_uint_eq(obj.refs, 2); /* the queue's reference: this forget() has taken no event */
}
END_TEST

/* The library itself empties this queue, so the queued event is delivered in any case. */
START_TEST(without_a_reader_of_its_own_a_queue_takes_nothing_back)
{
	make(false);
	home.queue.withdraw = NULL;
	home.dies = &obj;
	ev_raise(&source[0], 1u);
	ck_assert_ptr_eq(ev_take_all(&home.queue), &source[0]);
	ck_assert_uint_eq(obj.refs, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source");
	TCase *tc = tcase_create("queue");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, queued_sources_are_taken_oldest_first_and_wake_once);
	tcase_add_test(tc, events_before_publish_wait_and_then_reference_the_object);
	tcase_add_test(tc, of_a_dying_object_nothing_is_queued);
	tcase_add_loop_test(tc, the_queued_event_of_a_dying_object_is_withdrawn, 0, 2);
	tcase_add_test(tc, without_a_reader_of_its_own_a_queue_takes_nothing_back);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
