/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Resizing a completion queue: its completions, its arms, its overflow, and operations meanwhile. */
#include "harness.h"

static struct pair p;
static struct cq *cq;     /* the queue that is resized: completes b's receives */
static struct qp *a, *b;
static uint64_t next;     /* the receive that completes next */

static void setup_with(const char *settings)
{
	up(settings);
	pair_up(&p, NULL, 4096);
	cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_PENDING);
	a = new_qp(&hca[0], p.acq, p.acq, &p.o);
	b = new_qp(&hca[1], cq, cq, &p.o);
	connect_qps(a, b, &p.o);
	next = 0;
}

static void setup(void)
{
	setup_with("");
}

static void teardown(void)
{
	free_qp(a);
	free_qp(b);
	free_cq(cq);
	pair_down(&p);
	down();
}

static uint32_t there(void)
{
	uint32_t count;

	ck_assert_int_eq(ops->peek_cq(cq->ci, UINT32_MAX, &count), AL_SUCCESS);
	return count;
}

/* Adds completions, and waits until they are in the queue. */
static void add(uint32_t num)
{
	const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);
	uint32_t want = there();

	while (num--) {
		post_recv(b, next++, NULL, 0);
		post(a, &wr);
		want++;
		while (there() != want)
			;
	}
}

static void take(uint64_t first, uint32_t num)
{
	while (num--)
		expect_wc(cq, first++, IB_WC_SUCCESS);
}

static al_status resize(uint32_t cqe)
{
	uint32_t made = cqe;
	al_status status = ops->resize_cq(cq->ci, &made, NULL);

	if (!status)
		ck_assert_uint_eq(made, cqe < 16 ? 16 : cqe);
	else if (status != AL_LIMIT_EXCEEDED)
		ck_assert_uint_eq(made, cqe);
	return status;
}

static uint32_t entries(void)
{
	struct al_cq_attr attr;

	ck_assert_int_eq(ops->query_cq(cq->ci, &attr), AL_SUCCESS);
	return attr.cqe;
}

/* _i: completions that have passed before, so that the completions wrap at the end of the ring. */
START_TEST(completions_keep_their_order_when_it_grows_and_when_it_shrinks)
{
	for (int i = 0; i < _i; i++) {
		add(1);
		take(next - 1, 1);
	}
	add(10);
	ck_assert_int_eq(resize(100), AL_SUCCESS);
	ck_assert_uint_eq(entries(), 100);
	add(60);
	take((uint64_t)_i, 30);
	ck_assert_int_eq(resize(40), AL_SUCCESS); /* as many entries as completions */
	ck_assert_uint_eq(entries(), 40);
	take((uint64_t)_i + 30, 40);
	expect_empty(cq);
	add(40);
	take((uint64_t)_i + 70, 40);
}
END_TEST

START_TEST(below_its_content_it_is_refused_and_nothing_changes)
{
	ck_assert_int_eq(resize(40), AL_SUCCESS);
	add(20);
	ck_assert_int_eq(resize(19), AL_TOO_SMALL);
	ck_assert_int_eq(resize(1), AL_TOO_SMALL);
	ck_assert_uint_eq(entries(), 40);
	add(20);
	take(0, 40);
	ck_assert_int_eq(resize(1), AL_SUCCESS);
	ck_assert_uint_eq(entries(), 16);
}
END_TEST

START_TEST(over_the_limit_the_limit_is_written_back_and_without_memory_nothing_changes)
{
	uint32_t cqe = hca[1].attr.max_cqe + 1;

	add(3);
	ck_assert_int_eq(ops->resize_cq(cq->ci, &cqe, NULL), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(cqe, hca[1].attr.max_cqe);
	al_fail_alloc(1);
	ck_assert_int_eq(resize(1000), AL_INSUFFICIENT_MEMORY);
	ck_assert_uint_eq(entries(), 16);
	ck_assert_int_eq(resize(hca[1].attr.max_cqe), AL_SUCCESS);
	take(0, 3);
}
END_TEST

/* _i: grown or shrunk before. */
START_TEST(it_overflows_at_its_new_size_and_then_can_not_be_resized)
{
	const uint32_t size = _i ? 30 : 17;
	const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);

	ck_assert_int_eq(resize(_i ? 20 : 100), AL_SUCCESS);
	ck_assert_int_eq(resize(size), AL_SUCCESS);
	add(size);
	ck_assert_int_eq(state_of(b), IB_QPS_RTS);
	post_recv(b, next, NULL, 0);
	post(a, &wr);
	wait_bits(&cq->notified, 1u << 16);
	wait_state(b, IB_QPS_ERR);
	ck_assert_int_eq(resize(1000), AL_CQ_ERROR);
	take(0, size);
	expect_wc(cq, size, IB_WC_CQ_OVERFLOW_ERR);
	ck_assert_int_eq(resize(1000), AL_CQ_ERROR);
}
END_TEST

START_TEST(arms_stay_and_what_was_told_of_is_no_news)
{
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_int_eq(resize(100), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 0);
	add(1);
	ck_assert_uint_eq(cq->notified, 1);
	ck_assert_int_eq(resize(16), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq(cq->ci, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 1);
	add(1);
	ck_assert_uint_eq(cq->notified, 2);
}
END_TEST

START_TEST(an_arm_for_more_than_fit_in_waits_for_a_full_queue)
{
	ck_assert_int_eq(resize(100), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 100), AL_SUCCESS);
	add(18);
	ck_assert_int_eq(resize(20), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 0);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 21), AL_INVALID_PARAMETER);
	add(1);
	ck_assert_uint_eq(cq->notified, 0);
	add(1);
	ck_assert_uint_eq(cq->notified, 1);
	/* an arm for fewer completions stays */
	take(0, 10);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 12), AL_SUCCESS);
	ck_assert_int_eq(resize(16), AL_SUCCESS);
	add(1);
	ck_assert_uint_eq(cq->notified, 1);
	add(1);
	ck_assert_uint_eq(cq->notified, 2);
	/* a queue that is full after the resize notifies at once */
	ck_assert_int_eq(resize(60), AL_SUCCESS);
	add(6);
	ck_assert_int_eq(ops->arm_cq_n(cq->ci, 60), AL_SUCCESS);
	ck_assert_int_eq(resize(18), AL_SUCCESS);
	ck_assert_uint_eq(cq->notified, 3);
}
END_TEST

/* ------------------------------------------------------------------- at once */

#define MESSAGES 20000u
#define MESSAGES_IN_VALGRIND 400u /* which runs one thread at a time, and takes 50 ms for each message */
static uint32_t messages;
static _Atomic uint32_t taken;
static _Atomic bool over;

static void *resize_for_ever(void *arg)
{
	static const uint32_t sizes[] = { 1000, 64, 70, 333, 65 };

	for (uint32_t i = 0; !atomic_load(&over); i++) {
		uint32_t cqe = sizes[i % 5];

		if (ops->resize_cq(cq->ci, &cqe, NULL))
			return "a resize was refused";
	}
	return arg;
}

static void *arm_for_ever(void *arg)
{
	while (!atomic_load(&over))
		if (ops->arm_cq(cq->ci, AL_ARM_ANY, NULL))
			return "an arm was refused";
	return arg;
}

/*
 * One poller gets the completions in order; each of two pollers gets its completions in order, and together they get
 * all.
 */
static void *poll_for_ever(void *seen)
{
	struct ib_wc wc[5];
	uint64_t last = 0;
	uint32_t count;

	while (!atomic_load(&over)) {
		if (ops->poll_cq(cq->ci, 5, wc, &count))
			return "a poll failed";
		for (uint32_t i = 0; i < count; i++) {
			if (wc[i].status || wc[i].wr_id < last || wc[i].wr_id >= messages)
				return "a completion out of order";
			last = wc[i].wr_id;
			if (atomic_fetch_add((_Atomic uint8_t *)seen + last, 1))
				return "a completion came twice";
		}
		atomic_fetch_add(&taken, count);
	}
	return NULL;
}

START_TEST(polls_arms_and_completions_go_on_meanwhile_and_none_is_lost)
{
	void *(*const mains[])(void *) = { resize_for_ever, arm_for_ever, poll_for_ever, poll_for_ever };
	const struct ib_send_wr wr = send_wr(1, IB_WR_SEND, NULL, 0);
	_Atomic uint8_t *seen = calloc(MESSAGES, 1);
	uint64_t limit = now_ms() + 60000;
	pthread_t threads[4];
	void *said;

	messages = getenv("TEST_VALGRIND") ? MESSAGES_IN_VALGRIND : MESSAGES;
	atomic_store(&taken, 0);
	atomic_store(&over, false);
	ck_assert_int_eq(resize(64), AL_SUCCESS);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, mains[i], i < 2 ? NULL : (void *)(uintptr_t)seen), 0);
	for (uint32_t i = 0; i < messages; i++) {
		while (i - atomic_load(&taken) >= 16)
			ck_assert_msg(now_ms() < limit, "%u of %u completions came", atomic_load(&taken), i);
		post_recv(b, i, NULL, 0);
		post(a, &wr);
	}
	while (atomic_load(&taken) < messages)
		ck_assert_msg(now_ms() < limit, "%u completions came", atomic_load(&taken));
	atomic_store(&over, true);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &said);
		ck_assert_msg(!said, "%s", (const char *)said);
	}
	for (uint32_t i = 0; i < messages; i++)
		ck_assert_uint_eq(seen[i], 1);
	free((void *)(uintptr_t)seen);
	ck_assert_int_eq(state_of(b), IB_QPS_RTS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: resize");
	TCase *t = tcase_create("resize");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, completions_keep_their_order_when_it_grows_and_when_it_shrinks, 0, 34);
	tcase_add_test(t, below_its_content_it_is_refused_and_nothing_changes);
	tcase_add_test(t, over_the_limit_the_limit_is_written_back_and_without_memory_nothing_changes);
	tcase_add_loop_test(t, it_overflows_at_its_new_size_and_then_can_not_be_resized, 0, 2);
	tcase_add_test(t, arms_stay_and_what_was_told_of_is_no_news);
	tcase_add_test(t, an_arm_for_more_than_fit_in_waits_for_a_full_queue);
	tcase_add_test(t, polls_arms_and_completions_go_on_meanwhile_and_none_is_lost);
	suite_add_tcase(s, t);
	return run_suite(s);
}
