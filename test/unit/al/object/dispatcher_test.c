/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Delivery of callbacks: the thread, one callback at a time, deferred and never lost, and the delays that a blocking
 * callback causes.
 */
#include <unistd.h>

#include "test/unit/al/bed.h"

/* -------------------------------------------------- threads of callbacks */

static __thread bool in_call; /* this thread is inside a call of the library */

struct watch {
	atomic_uint running, overlaps, in_calls, runs;
	_Atomic pthread_t thread;
	sem_t ran;
};

static void watch_init(struct watch *watch)
{
	memset(watch, 0, sizeof(*watch));
	sem_init(&watch->ran, 0, 0);
}

static void watched(void *context)
{
	struct watch *watch = context;

	if (watch->running++)
		watch->overlaps++;
	watch->in_calls += in_call;
	watch->thread = pthread_self();
	for (int i = 0; i < 20; i++)
		sched_yield(); /* gives two callbacks the chance to overlap */
	watch->running--;
	watch->runs++;
	sem_post(&watch->ran);
}

static void watched_event(void *context, const struct al_event *event)
{
	(void)event;
	watched(context);
}

START_TEST(callbacks_never_come_from_the_call_chain)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;
	struct test_end end[2];
	struct watch watch;
	struct ib_wc wc;
	uint32_t count;
	al_cq_h cq;
	al_h al;

	watch_init(&watch);
	test_fake()->hcas = 2;
	al = test_open();
	test_make_pair(al, end);
	cq = bed_cq(end[0].pd, 0, &watch, watched);
	ck_ok(al_destroy_qp(end[0].qp, AL_DESTROY_SYNC, NULL));
	end[0].qp = bed_qp(end[0].pd, cq, NULL, NULL);
	test_to_rts(end[0].qp, 1, 1, IB_MTU_1024);
	for (int i = 0; i < 50; i++) {
		in_call = true;
		ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
		/* the fake completes and notifies inside its post_send */
		ck_ok(al_post_send(end[0].qp, &wr, &bad));
		in_call = false;
		test_wait(&watch.ran);
		ck_assert(!pthread_equal(watch.thread, pthread_self()));
		ck_ok(al_poll_cq(cq, 1, &wc, &count));
	}
	ck_assert_uint_eq(watch.in_calls, 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	free(end[0].mem);
	free(end[1].mem);
}
END_TEST

/* ----------------------------------------------- one callback at a time */

static void raise_much(struct crew *crew, unsigned int index)
{
	void **ctx = crew->arg;

	for (int i = 0; i < 2000; i++) {
		ib_cq_notify(ctx[0]);
		if (index)
			bed_object_event(ctx[0], IB_EVENT_CQ_ERR);
		else
			bed_object_event(ctx[1], i % 2 ? IB_EVENT_COMM_EST : IB_EVENT_SQ_DRAINED);
	}
}

START_TEST(callbacks_of_one_object_never_overlap)
{
	struct bed bed = bed_make();
	struct al_cq_init init = { .cqe = 1, .comp_vector = 1 };
	struct watch of_cq, of_qp, of_handler;
	al_event_handler_h handler;
	struct crew crew;
	void *ctx[2];
	al_cq_h cq;

	watch_init(&of_cq);
	watch_init(&of_qp);
	watch_init(&of_handler);
	ck_ok(al_create_cq(bed.pd, &init, &of_cq, watched, watched_event, &cq));
	bed_qp(bed.pd, cq, &of_qp, watched_event);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &of_handler, watched_event, &handler));
	ctx[0] = bed.fake->last_cq->cq.ctx;
	ctx[1] = bed.fake->last_qp->qp.ctx;
	crew_make(&crew, 3, raise_much, ctx);
	crew_go(&crew);
	crew_end(&crew);
	test_wait(&of_cq.ran);
	test_wait(&of_qp.ran);
	test_wait(&of_handler.ran);
	bed_end(&bed);
	ck_assert_uint_eq(of_cq.overlaps + of_qp.overlaps + of_handler.overlaps, 0);
}
END_TEST

START_TEST(a_notification_during_a_callback_comes_after_it)
{
	struct bed bed = bed_make();
	struct crossing crossing;
	struct gate gate;
	void *cq;

	gate_init(&gate);
	crossing_make(&crossing, &bed, 1);
	bed_cq(bed.pd, 0, &gate, gate_pass);
	cq = bed.fake->last_cq->cq.ctx;
	ib_cq_notify(cq);
	for (unsigned int i = 1; i <= 20; i++) {
		test_wait(&gate.in);
		/* Several notifications during one callback become one callback. */
		ib_cq_notify(cq);
		ib_cq_notify(cq);
		cross(&crossing);
		ck_assert_uint_eq(gate.runs, i);
		sem_post(&gate.out);
	}
	test_wait(&gate.in);
	sem_post(&gate.out);
	crossing_end(&crossing);
	bed_end(&bed);
	ck_assert_uint_eq(gate.runs, 21);
	ck_assert_uint_eq(gate.returned, 21);
}
END_TEST

/* The consumer's loop of seed 000: poll and arm; no completion stays unread. */
struct loop {
	al_cq_h cq;
	atomic_uint seen;
	sem_t all;
};
#define LOOPED 20000

static void poll_and_arm(void *context)
{
	struct loop *loop = context;
	struct ib_wc wc[8];
	uint32_t count;

	do {
		if (al_poll_cq(loop->cq, 8, wc, &count))
			return;
		if (atomic_fetch_add(&loop->seen, count) + count == LOOPED && count)
			sem_post(&loop->all);
	} while (count);
	al_arm_cq(loop->cq, AL_ARM_ANY, NULL);
}

START_TEST(no_completion_is_left_lying_by_poll_and_arm_in_the_callback)
{
	struct bed bed = bed_make();
	const struct ib_wc wc = { .status = IB_WC_SUCCESS };
	struct loop loop = { 0 };
	struct fake_cq *fake_cq;

	sem_init(&loop.all, 0, 0);
	loop.cq = bed_cq(bed.pd, 0, &loop, poll_and_arm);
	fake_cq = bed.fake->last_cq;
	ck_ok(al_arm_cq(loop.cq, AL_ARM_ANY, NULL));
	for (unsigned int i = 0; i < LOOPED; i++) {
		while (i - loop.seen >= fake_cq->cq.cqe)
			sched_yield();
		bed.fake->complete(fake_cq, &wc);
	}
	test_wait(&loop.all);
	bed_end(&bed);
}
END_TEST

/* --------------------------------------------------- delays by a callback */

START_TEST(a_callback_that_stays_on_one_vector_delays_nothing_on_another)
{
	struct bed bed = bed_make();
	struct watch watch, events;
	struct fake_cq *other;
	struct gate stuck;
	sem_t gone;
	al_cq_h cq;
	al_qp_h qp;

	gate_init(&stuck);
	watch_init(&watch);
	watch_init(&events);
	sem_init(&gone, 0, 0);
	bed_cq(bed.pd, 0, &stuck, gate_pass);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&stuck.in);

	/* Completions of another vector, events of any object, and both kinds of destroys are not delayed. */
	cq = bed_cq(bed.pd, 1, &watch, watched);
	other = bed.fake->last_cq;
	qp = bed_qp(bed.pd, cq, &events, watched_event);
	for (int i = 0; i < 100; i++) {
		ib_cq_notify(other->cq.ctx);
		test_wait(&watch.ran);
		bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
		test_wait(&events.ran);
	}
	ck_ok(al_destroy_qp(qp, test_post, &gone));
	test_wait(&gone);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	bed_settle(bed.ca);
	ck_assert_uint_eq(stuck.returned, 0);
	sem_post(&stuck.out);
	bed_end(&bed);
}
END_TEST

/*
 * architecture.md: a completion vector has one thread, so the vector's other queues wait; not for ever, and no event
 * is lost.
 */
START_TEST(a_callback_that_stays_delays_only_its_own_vectors_queues)
{
	struct bed bed = bed_make();
	struct watch watch;
	struct gate stuck;
	sem_t gone;
	al_cq_h cq;

	gate_init(&stuck);
	watch_init(&watch);
	sem_init(&gone, 0, 0);
	bed_cq(bed.pd, 0, &stuck, gate_pass);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&stuck.in);
	cq = bed_cq(bed.pd, 0, &watch, watched);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	bed_settle(bed.ca);
	ck_assert_uint_eq(watch.runs, 0);
	sem_post(&stuck.out);
	test_wait(&watch.ran);
	ck_ok(al_destroy_cq(cq, test_post, &gone));
	test_wait(&gone);
	bed_end(&bed);
}
END_TEST

START_TEST(an_event_callback_that_stays_delays_no_completion)
{
	struct bed bed = bed_make();
	struct watch watch;
	struct gate stuck;

	gate_init(&stuck);
	watch_init(&watch);
	bed_qp(bed.pd, bed_cq(bed.pd, 0, &watch, watched), &stuck, gate_event);
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_QP_FATAL);
	test_wait(&stuck.in);
	for (int i = 0; i < 20; i++) {
		ib_cq_notify(bed.fake->last_cq->cq.ctx);
		test_wait(&watch.ran);
	}
	ck_assert_uint_eq(stuck.returned, 0);
	sem_post(&stuck.out);
	bed_end(&bed);
}
END_TEST

static al_status gate_pnp(void *context, const struct al_pnp_event *event)
{
	if (event->type == AL_PNP_LID_CHANGE)
		gate_pass(context);
	return AL_SUCCESS;
}

START_TEST(a_pnp_callback_that_stays_delays_no_completion_event_or_destroy)
{
	const struct al_pnp_attr ports = { .ports = true };
	struct bed bed = bed_make();
	struct watch watch, events;
	al_event_handler_h handler;
	struct gate stuck;
	al_pnp_h pnp;
	al_cq_h cq;

	gate_init(&stuck);
	watch_init(&watch);
	watch_init(&events);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &events, watched_event, &handler));
	ck_ok(al_reg_pnp(bed.al, &ports, &stuck, gate_pnp, &pnp));
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	test_wait(&stuck.in);
	test_wait(&events.ran);
	cq = bed_cq(bed.pd, 0, &watch, watched);
	for (int i = 0; i < 10; i++) {
		ib_cq_notify(bed.fake->last_cq->cq.ctx);
		test_wait(&watch.ran);
		bed_port_event(&bed, IB_EVENT_SM_CHANGE, 1);
		test_wait(&events.ran);
	}
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(stuck.returned, 0);
	sem_post(&stuck.out);
	bed_end(&bed);
}
END_TEST

/* ---------------------------------------------------------------- idle */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

START_TEST(an_idle_library_uses_no_processor_time)
{
	const struct timespec second = { .tv_sec = 1 };
	struct bed bed = bed_make();
	struct watch watch;
	al_event_handler_h handler;
	uint64_t before, used;
	struct gate unused;
	al_pnp_h pnp;

	watch_init(&watch);
	ck_ok(al_reg_pnp(bed.al, NULL, &unused, gate_pnp, &pnp));
	bed_qp(bed.pd, bed_cq(bed.pd, 0, &watch, watched), NULL, NULL);
	bed_cq(bed.pd, 1, &watch, watched);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &watch, watched_event, &handler));
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&watch.ran);
	bed_settle(bed.ca);
	before = cpu_ns();
	clock_nanosleep(CLOCK_MONOTONIC, 0, &second, NULL); /* no wait for an event: the idle time itself is measured */
	used = cpu_ns() - before;
	/* A thread that spins, or that polls by a timer of a millisecond, uses far more time. */
	ck_assert_uint_lt(used, 20000000);
	bed_end(&bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dispatcher");
	TCase *tc = tcase_create("callbacks");

	tcase_add_test(tc, callbacks_never_come_from_the_call_chain);
	tcase_add_test(tc, callbacks_of_one_object_never_overlap);
	tcase_add_test(tc, a_notification_during_a_callback_comes_after_it);
	tcase_add_test(tc, no_completion_is_left_lying_by_poll_and_arm_in_the_callback);
	suite_add_tcase(suite, tc);
	tc = tcase_create("delays");
	tcase_add_test(tc, a_callback_that_stays_on_one_vector_delays_nothing_on_another);
	tcase_add_test(tc, a_callback_that_stays_delays_only_its_own_vectors_queues);
	tcase_add_test(tc, an_event_callback_that_stays_delays_no_completion);
	tcase_add_test(tc, a_pnp_callback_that_stays_delays_no_completion_event_or_destroy);
	suite_add_tcase(suite, tc);
	tc = tcase_create("idle");
	tcase_add_test(tc, an_idle_library_uses_no_processor_time);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
