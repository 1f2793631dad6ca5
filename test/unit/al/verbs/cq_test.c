/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: limits, polling, arming, the targets of notifications, and calls of the module. */
#include "test/unit/al/al_test.h"

#include <poll.h>
#include <pthread.h>

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static sem_t told;

static void open_world(void)
{
	sem_init(&told, 0, 0);
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
}

static void set_up(void)
{
	fake = test_fake();
	open_world();
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static al_cq_h make(struct al_cq_init init, al_comp_cb cb)
{
	al_cq_h cq;

	init.cqe = 8;
	ck_ok(al_create_cq(pd, &init, &told, cb, NULL, &cq));
	return cq;
}

static void complete(uint64_t wr_id)
{
	fake->complete(fake->last_cq, &(const struct ib_wc){ .wr_id = wr_id });
}

/* --------------------------------------------------------------- creation */

static void check_refused(struct al_cq_init *init, al_comp_cb cb, al_status want)
{
	unsigned int calls = fake->calls[FAKE_create_cq];
	size_t objects = test_count(al, AL_OBJ_NONE);
	al_cq_h cq = (al_cq_h)&al;

	ck_status(al_create_cq(pd, init, NULL, cb, NULL, &cq), want);
	ck_assert_ptr_eq(cq, &al);
	ck_assert_uint_eq(fake->calls[FAKE_create_cq], calls);
	ck_assert_uint_eq(test_count(al, AL_OBJ_NONE), objects);
}

START_TEST(entries_are_limited_exactly_and_the_limit_written_back)
{
	struct al_cq_init init = { .cqe = 4096 };
	al_cq_h cq;

	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
	ck_assert_uint_eq(init.cqe, 4096);
	init.cqe = 4097;
	check_refused(&init, NULL, AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(init.cqe, 4096);
}
END_TEST

START_TEST(unknown_attributes_are_refused)
{
	struct al_cq_init init;
	al_cq_h cq;

	init = (struct al_cq_init){ .cqe = 0 };
	check_refused(&init, NULL, AL_INVALID_PARAMETER);
	init = (struct al_cq_init){ .cqe = 4, .comp_vector = 2 };
	check_refused(&init, NULL, AL_INVALID_PARAMETER);
	init = (struct al_cq_init){ .cqe = 4, .notify = (al_cq_notify)2 };
	check_refused(&init, NULL, AL_INVALID_PARAMETER);
	init = (struct al_cq_init){ .cqe = 4, .reserved = { 0, 0, 0, 1 } };
	check_refused(&init, NULL, AL_INVALID_PARAMETER);
	ck_status(al_create_cq(pd, NULL, NULL, NULL, NULL, &cq), AL_INVALID_PARAMETER);
	init = (struct al_cq_init){ .cqe = 4 };
	ck_status(al_create_cq(pd, &init, NULL, NULL, NULL, NULL), AL_INVALID_PARAMETER);
	/* a channel or a callback, not both */
	ck_ok(al_create_channel(al, NULL, &init.channel));
	check_refused(&init, test_post, AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(a_channel_of_another_opening_is_refused)
{
	struct al_cq_init init = { .cqe = 4 };
	al_h other = test_open();

	ck_ok(al_create_channel(other, NULL, &init.channel));
	check_refused(&init, NULL, AL_INVALID_CA);
	ck_ok(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

static al_status query_cq(struct ci_cq *cq, struct al_cq_attr *attr)
{
	attr->cqe = cq->cqe;
	attr->comp_vector = cq->comp_vector;
	attr->notify = cq->notify;
	attr->armed = AL_ARM_SOLICITED;
	return AL_SUCCESS;
}

static al_status peek_cq(struct ci_cq *cq, uint32_t max, uint32_t *count)
{
	uint32_t there = ((struct fake_cq *)cq)->count;

	*count = there < max ? there : max;
	return AL_SUCCESS;
}

static uint32_t moderated[2];

static al_status modify_cq(struct ci_cq *cq, uint16_t count, uint16_t period)
{
	(void)cq;
	moderated[0] = count;
	moderated[1] = period;
	return count == 99 ? AL_CQ_ERROR : AL_SUCCESS;
}

static uint32_t armed_n;

static al_status arm_cq_n(struct ci_cq *cq, uint32_t num)
{
	(void)cq;
	armed_n = num;
	return AL_SUCCESS;
}

static void set_up_optional(void)
{
	fake = test_fake();
	fake->ops.query_cq = query_cq;
	fake->ops.peek_cq = peek_cq;
	fake->ops.arm_cq_n = arm_cq_n;
	fake->ops.modify_cq = modify_cq;
	open_world();
}

START_TEST(what_the_module_offers_beyond_the_required_goes_through)
{
	al_cq_h cq = make((struct al_cq_init){ .comp_vector = 1, .notify = AL_CQ_NOTIFY_NEXT }, NULL);
	struct al_cq_attr attr;
	uint32_t count;

	ck_ok(al_query_cq(cq, &attr));
	ck_assert_uint_eq(attr.cqe, 8);
	ck_assert_uint_eq(attr.comp_vector, 1);
	ck_assert_int_eq(attr.notify, AL_CQ_NOTIFY_NEXT);
	ck_assert_int_eq(attr.armed, AL_ARM_SOLICITED);
	ck_status(al_query_cq(cq, NULL), AL_INVALID_PARAMETER);
	complete(1);
	complete(2);
	ck_ok(al_peek_cq(cq, 1, &count));
	ck_assert_uint_eq(count, 1);
	ck_ok(al_peek_cq(cq, 9, &count));
	ck_assert_uint_eq(count, 2);
	ck_ok(al_modify_cq(cq, UINT16_MAX, 7));
	ck_assert_uint_eq(moderated[0], UINT16_MAX);
	ck_assert_uint_eq(moderated[1], 7);
	ck_status(al_modify_cq(cq, 99, UINT16_MAX), AL_CQ_ERROR);
	ck_assert_uint_eq(moderated[1], UINT16_MAX);
	ck_ok(al_arm_cq_n(cq, 8)); /* of eight */
	ck_assert_uint_eq(armed_n, 8);
}
END_TEST

static al_status create_with(struct ci_cq *cq, struct ci_cq_init *init, struct ci_udata *udata)
{
	bool fits = init->cqe <= 100;

	(void)cq;
	(void)udata;
	init->cqe = 100;
	return fits ? AL_SUCCESS : AL_LIMIT_EXCEEDED;
}

static void destroy_nothing(struct ci_cq *cq)
{
	(void)cq;
}

static void set_up_hundred(void)
{
	fake = test_fake();
	fake->ops.create_cq = create_with;
	fake->ops.destroy_cq = destroy_nothing;
	open_world();
}

START_TEST(entries_there_are_written_back_and_so_is_the_limit_of_the_module)
{
	struct al_cq_init init = { .cqe = 3 };
	al_cq_h cq;

	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
	ck_assert_uint_eq(init.cqe, 100);
	init.cqe = 101;
	ck_status(al_create_cq(pd, &init, NULL, NULL, NULL, &cq), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(init.cqe, 100);
	ck_assert_uint_eq(test_count(al, AL_OBJ_CQ), 1);
}
END_TEST

static void set_up_three(void)
{
	fake = test_fake();
	fake->ca_attr.max_cq = 3;
	open_world();
}

START_TEST(as_many_as_the_limit_says_and_not_one_more)
{
	struct al_cq_init init = { .cqe = 4 };
	al_cq_h cq[3];

	for (int i = 0; i < 3; i++)
		ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq[i]));
	check_refused(&init, NULL, AL_LIMIT_EXCEEDED);
	ck_ok(al_destroy_cq(cq[1], AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq[1]));
}
END_TEST

/* ---------------------------------------------------------------- polling */

START_TEST(completions_are_polled_in_order_and_none_is_success)
{
	struct ib_wc wc[8];
	uint32_t count = 77;
	al_cq_h cq = make((struct al_cq_init){ 0 }, NULL);

	ck_ok(al_poll_cq(cq, 8, wc, &count));
	ck_assert_uint_eq(count, 0);
	for (uint64_t i = 0; i < 5; i++)
		complete(i);
	ck_ok(al_poll_cq(cq, 2, wc, &count));
	ck_assert_uint_eq(count, 2);
	ck_ok(al_poll_cq(cq, 8, wc + 2, &count));
	ck_assert_uint_eq(count, 3);
	for (uint64_t i = 0; i < 5; i++)
		ck_assert_uint_eq(wc[i].wr_id, i);
}
END_TEST

START_TEST(polling_without_room_is_refused)
{
	al_cq_h cq = make((struct al_cq_init){ 0 }, NULL);
	struct ib_wc wc;
	uint32_t count;

	ck_status(al_poll_cq(cq, 0, &wc, &count), AL_INVALID_PARAMETER);
	ck_status(al_poll_cq(cq, 1, NULL, &count), AL_INVALID_PARAMETER);
	ck_status(al_poll_cq(cq, 1, &wc, NULL), AL_INVALID_PARAMETER);
	ck_status(al_poll_cq_ex(cq, 0, &wc, &count), AL_INVALID_PARAMETER);
	ck_status(al_poll_cq_ex(cq, 1, NULL, &count), AL_INVALID_PARAMETER);
	ck_status(al_poll_cq_ex(cq, 1, &wc, NULL), AL_INVALID_PARAMETER);
	ck_status(al_peek_cq(cq, 1, NULL), AL_INVALID_PARAMETER);
}
END_TEST

/*
 * Seed 001: the plain poll returns the completion without the invalidated key; the extended poll returns the key too.
 */
START_TEST(only_the_extended_poll_reports_the_invalidated_key)
{
	const struct ib_wc invalidated = { .wc_flags = IB_WC_WITH_INVALIDATE | IB_WC_SOLICITED,
					   .invalidated_rkey = 0x1234,
					   .byte_len = 5 };
	al_cq_h cq = make((struct al_cq_init){ 0 }, NULL);
	struct ib_wc wc[2];
	uint32_t count;

	for (int i = 0; i < 3; i++)
		fake->complete(fake->last_cq, &invalidated);
	ck_ok(al_poll_cq_ex(cq, 1, wc, &count));
	ck_assert_uint_eq(wc[0].wc_flags, IB_WC_WITH_INVALIDATE | IB_WC_SOLICITED);
	ck_assert_uint_eq(wc[0].invalidated_rkey, 0x1234);
	ck_ok(al_poll_cq(cq, 2, wc, &count));
	ck_assert_uint_eq(count, 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(wc[i].wc_flags, IB_WC_SOLICITED);
		ck_assert_uint_eq(wc[i].invalidated_rkey, 0);
		ck_assert_uint_eq(wc[i].byte_len, 5);
	}
}
END_TEST

START_TEST(the_status_of_the_module_is_passed_on)
{
	al_cq_h cq = make((struct al_cq_init){ 0 }, NULL);
	struct al_cq_attr attr;
	struct ib_wc wc;
	uint32_t count = 77;

	fake->fail[FAKE_poll_cq] = fake->fail[FAKE_arm_cq] = AL_CQ_ERROR;
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_CQ_ERROR);
	ck_status(al_poll_cq_ex(cq, 1, &wc, &count), AL_CQ_ERROR);
	ck_status(al_arm_cq(cq, AL_ARM_ANY, NULL), AL_CQ_ERROR);
	/* optional operations that this module lacks */
	ck_status(al_peek_cq(cq, 1, &count), AL_UNSUPPORTED);
	ck_status(al_arm_cq_n(cq, 1), AL_UNSUPPORTED);
	ck_status(al_modify_cq(cq, 2, 2), AL_UNSUPPORTED);
	ck_status(al_query_cq(cq, &attr), AL_UNSUPPORTED);
	ck_assert_uint_eq(count, 77);
}
END_TEST

/* ----------------------------------------------------------------- arming */

START_TEST(one_callback_per_arm_with_the_context_of_the_queue)
{
	al_cq_h cq = make((struct al_cq_init){ 0 }, test_post);
	bool present = true;

	ck_ok(al_arm_cq(cq, AL_ARM_ANY, &present));
	ck_assert(!present);
	complete(1);
	complete(2);
	test_wait(&told);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, &present));
	ck_assert(present);
	complete(3);
	test_wait(&told);
	/* a synchronous destroy: no callback of the queue comes afterwards */
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(sem_trywait(&told), -1);
}
END_TEST

START_TEST(an_unknown_arm_type_is_refused)
{
	al_cq_h cq = make((struct al_cq_init){ 0 }, NULL);
	unsigned int calls = fake->calls[FAKE_arm_cq];

	ck_status(al_arm_cq(cq, AL_ARM_NONE, NULL), AL_INVALID_PARAMETER);
	ck_status(al_arm_cq(cq, (al_arm)4, NULL), AL_INVALID_PARAMETER);
	ck_status(al_arm_cq(cq, (al_arm)-1, NULL), AL_INVALID_PARAMETER);
	ck_status(al_arm_cq_n(cq, 0), AL_INVALID_PARAMETER);
	ck_status(al_arm_cq_n(cq, 9), AL_INVALID_PARAMETER); /* of eight */
	ck_assert_uint_eq(fake->calls[FAKE_arm_cq], calls);
}
END_TEST

static al_cq_h in_callback_cq;
static al_status in_callback[4];

static void call_everything(void *context)
{
	struct ib_wc wc;
	uint32_t count;
	al_pd_h new_pd;

	in_callback[0] = al_poll_cq(in_callback_cq, 1, &wc, &count);
	in_callback[1] = al_arm_cq(in_callback_cq, AL_ARM_ANY, NULL);
	in_callback[2] = al_alloc_pd(ca, NULL, &new_pd);
	in_callback[3] = al_destroy_cq(in_callback_cq, AL_DESTROY_SYNC, NULL);
	sem_post(context);
}

START_TEST(a_callback_may_poll_and_arm_and_is_refused_what_may_sleep)
{
	in_callback_cq = make((struct al_cq_init){ .comp_vector = 1 }, call_everything);
	ck_ok(al_arm_cq(in_callback_cq, AL_ARM_ANY, NULL));
	complete(1);
	test_wait(&told);
	ck_ok(in_callback[0]);
	ck_ok(in_callback[1]);
	ck_status(in_callback[2], AL_INVALID_CONTEXT);
	ck_status(in_callback[3], AL_INVALID_CONTEXT);
	complete(2); /* the callback has armed the queue again */
	test_wait(&told);
}
END_TEST

START_TEST(with_a_channel_notifications_come_there)
{
	struct al_cq_init init = { .cqe = 4 };
	struct al_channel_event event;
	struct pollfd fd = { .events = POLLIN };
	al_cq_h cq;

	ck_ok(al_create_channel(al, NULL, &init.channel));
	ck_ok(al_channel_fd(init.channel, &fd.fd));
	ck_ok(al_create_cq(pd, &init, &told, NULL, NULL, &cq));
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	ck_status(al_channel_next(init.channel, &event), AL_NOT_FOUND);
	complete(1);
	ck_assert_int_eq(poll(&fd, 1, 5000), 1);
	ck_ok(al_channel_next(init.channel, &event));
	ck_assert_int_eq(event.type, AL_CHANNEL_COMPLETION);
	ck_assert_ptr_eq(event.context, &told);
	ck_status(al_channel_next(init.channel, &event), AL_NOT_FOUND);
	/* the queue uses the channel */
	ck_status(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_channel(init.channel, AL_DESTROY_SYNC, NULL));
}
END_TEST

/* ----------------------------------------------------------- calls of the module */

static sem_t inside, go_on;
static atomic_int in_module, most;

static void stay_a_while(void *object)
{
	int now = atomic_fetch_add(&in_module, 1) + 1, seen = atomic_load(&most);

	(void)object;
	while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now))
		;
	sem_post(&inside);
	test_wait(&go_on);
	atomic_fetch_sub(&in_module, 1);
}

static void *poll_once(void *cq)
{
	struct ib_wc wc;
	uint32_t count;

	return (void *)(uintptr_t)al_poll_cq(cq, 1, &wc, &count);
}

static void *arm_once(void *cq)
{
	return (void *)(uintptr_t)al_arm_cq(cq, AL_ARM_ANY, NULL);
}

static void *arm_for_one(void *cq)
{
	return (void *)(uintptr_t)al_arm_cq_n(cq, 1);
}

/* Polls and arms one queue from several threads. The calls stay in the module until all have arrived there. */
static void call_at_once(al_cq_h cq, int calls, int expected)
{
	void *(*const mains[])(void *) = { poll_once, poll_once, arm_once, arm_for_one };
	pthread_t threads[4];
	void *result;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	fake->hook[FAKE_poll_cq] = fake->hook[FAKE_arm_cq] = stay_a_while;
	for (int i = 0; i < calls; i++)
		ck_assert(!pthread_create(&threads[i], NULL, mains[i], cq));
	for (int i = 0; i < expected; i++)
		test_wait(&inside);
	for (int i = 0; i < calls; i++)
		sem_post(&go_on);
	for (int i = 0; i < calls; i++) {
		ck_assert(!pthread_join(threads[i], &result));
		ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	}
	ck_assert_int_eq(most, expected);
}

START_TEST(polls_and_arms_of_one_queue_are_not_serialised)
{
	call_at_once(make((struct al_cq_init){ 0 }, NULL), 3, 3);
}
END_TEST

static al_status arm_slowly(struct ci_cq *cq, uint32_t num)
{
	(void)num;
	stay_a_while(cq);
	return AL_SUCCESS;
}

static void set_up_serialised(void)
{
	fake = test_fake();
	fake->ops.arm_cq_n = arm_slowly;
	fake->ops.flags = CI_SERIALISE_CQ;
	open_world();
}

START_TEST(polls_and_arms_are_serialised_for_a_module_that_asks)
{
	call_at_once(make((struct al_cq_init){ 0 }, NULL), 4, 1);
}
END_TEST

static void set_up_blocking(void)
{
	fake = test_fake();
	fake->ops.may_block = CI_MAY_BLOCK(poll_cq);
	open_world();
}

START_TEST(an_operation_that_may_block_holds_up_no_destroy)
{
	al_cq_h cq = make((struct al_cq_init){ 0 }, NULL);
	pthread_t poller;
	al_pd_h other;
	void *result;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	fake->hook[FAKE_poll_cq] = stay_a_while;
	ck_assert(!pthread_create(&poller, NULL, poll_once, cq));
	test_wait(&inside);
	/* Waits until every read section has been left. */
	ck_ok(al_alloc_pd(ca, NULL, &other));
	ck_ok(al_dealloc_pd(other, AL_DESTROY_SYNC, NULL));
	/* The call itself keeps the queue alive. */
	ck_ok(al_destroy_cq(cq, test_post, &told));
	ck_assert_uint_eq(fake->calls[FAKE_destroy_cq], 0);
	sem_post(&go_on);
	test_wait(&told);
	ck_assert(!pthread_join(poller, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_cq], 1);
}
END_TEST

/* ------------------------------------------------------------------- busy */

START_TEST(a_queue_in_use_refuses_and_works_on)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ib_wc wc;
	uint32_t count;
	al_qp_h qp;
	al_cq_h cq = make((struct al_cq_init){ 0 }, test_post);

	init.send_cq = init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_status(al_destroy_cq(cq, test_post, &told), AL_RESOURCE_BUSY);
	ck_status(al_destroy_cq(cq, NULL, NULL), AL_RESOURCE_BUSY);
	ck_status(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	ck_assert_int_eq(sem_trywait(&told), -1);
	/* decided before the handle becomes invalid */
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	complete(9);
	test_wait(&told);
	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(wc.wr_id, 9);
	/* a dying queue pair is no user */
	ck_ok(al_destroy_qp(qp, NULL, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_INVALID_HANDLE);
}
END_TEST

static void add_case(Suite *suite, const char *name, void (*fixture)(void), const TTest *test)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, fixture, tear_down);
	tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("al/verbs/cq");
	TCase *tcase = tcase_create("completion queues");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, entries_are_limited_exactly_and_the_limit_written_back);
	tcase_add_test(tcase, unknown_attributes_are_refused);
	tcase_add_test(tcase, a_channel_of_another_opening_is_refused);
	tcase_add_test(tcase, completions_are_polled_in_order_and_none_is_success);
	tcase_add_test(tcase, polling_without_room_is_refused);
	tcase_add_test(tcase, only_the_extended_poll_reports_the_invalidated_key);
	tcase_add_test(tcase, the_status_of_the_module_is_passed_on);
	tcase_add_test(tcase, one_callback_per_arm_with_the_context_of_the_queue);
	tcase_add_test(tcase, an_unknown_arm_type_is_refused);
	tcase_add_test(tcase, a_callback_may_poll_and_arm_and_is_refused_what_may_sleep);
	tcase_add_test(tcase, with_a_channel_notifications_come_there);
	tcase_add_test(tcase, polls_and_arms_of_one_queue_are_not_serialised);
	tcase_add_test(tcase, a_queue_in_use_refuses_and_works_on);
	suite_add_tcase(suite, tcase);
	add_case(suite, "a hundred entries", set_up_hundred,
		 entries_there_are_written_back_and_so_is_the_limit_of_the_module);
	add_case(suite, "optional operations", set_up_optional, what_the_module_offers_beyond_the_required_goes_through);
	add_case(suite, "three at most", set_up_three, as_many_as_the_limit_says_and_not_one_more);
	add_case(suite, "serialised", set_up_serialised, polls_and_arms_are_serialised_for_a_module_that_asks);
	add_case(suite, "may block", set_up_blocking, an_operation_that_may_block_holds_up_no_destroy);
	return test_run(suite);
}
