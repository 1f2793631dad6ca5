/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asynchronous events by callback: objects' own, and handlers of an HCA. By channel: channel_test.c. */
#include <iba/ib_mad.h>

#include "test/unit/al/bed.h"

/* The events that the callbacks have got, in order. */
struct told {
	atomic_uint count;
	struct al_event event[64];
	const char *by[64];
	sem_t sem;
};

static struct told told;

static void told_init(void)
{
	told.count = 0;
	sem_init(&told.sem, 0, 0);
}

/* Needs no lock: all callbacks of an HCA's events run on the HCA's one async dispatcher. */
static void tell(void *context, const struct al_event *event)
{
	unsigned int i = told.count;

	if (i < 64) {
		told.event[i] = *event;
		told.by[i] = context;
	}
	told.count = i + 1;
	sem_post(&told.sem);
}

static void told_wait(int num)
{
	while (num--)
		test_wait(&told.sem);
}

static void expect(unsigned int i, const char *by, ib_event_type type, uint8_t port)
{
	ck_assert_uint_lt(i, told.count);
	ck_assert_str_eq(told.by[i], by);
	ck_assert_int_eq(told.event[i].type, type);
	ck_assert_uint_eq(told.event[i].port_num, port);
	ck_assert_uint_eq(told.event[i].ca_guid, FAKE_GUID);
}

static al_event_handler_h handler(al_ca_h ca, const char *name)
{
	al_event_handler_h h;

	ck_ok(al_reg_event_handler(ca, NULL, (void *)name, tell, &h));
	return h;
}

START_TEST(an_objects_event_goes_to_its_callback_then_to_its_handles_handlers)
{
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);

	told_init();
	handler(other, "other");
	handler(bed.ca, "first");
	handler(bed.ca, "second");
	bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), "qp", tell);
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	told_wait(3);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 3);
	expect(0, "qp", IB_EVENT_COMM_EST, 0);
	expect(1, "first", IB_EVENT_COMM_EST, 0);
	expect(2, "second", IB_EVENT_COMM_EST, 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(told.event[i].object, AL_OBJ_QP);
		ck_assert_str_eq(told.event[i].object_context, "qp");
	}
	bed_end(&bed);
}
END_TEST

/* The completion queue has a completion callback, which runs on the thread of a completion vector. */
START_TEST(a_completion_queues_event_goes_to_its_callback_and_to_its_handles_handlers_too)
{
	struct al_cq_init init = { .cqe = 8, .comp_vector = 1 };
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);
	al_cq_h cq;

	told_init();
	handler(other, "other");
	handler(bed.ca, "first");
	handler(bed.ca, "second");
	ck_ok(al_create_cq(bed.pd, &init, "cq", NULL, tell, &cq));
	bed_object_event(bed.fake->last_cq->cq.ctx, IB_EVENT_CQ_ERR);
	told_wait(3);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 3);
	expect(0, "cq", IB_EVENT_CQ_ERR, 0);
	expect(1, "first", IB_EVENT_CQ_ERR, 0);
	expect(2, "second", IB_EVENT_CQ_ERR, 0);
	bed_end(&bed);
}
END_TEST

START_TEST(events_of_the_hca_and_its_ports_go_to_the_handlers_of_every_handle)
{
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);

	told_init();
	handler(other, "other");
	handler(bed.ca, "mine");
	bed_port_event(&bed, IB_EVENT_GID_CHANGE, 1);
	told_wait(2);
	bed_port_event(&bed, IB_EVENT_DEVICE_FATAL, 0);
	told_wait(2);
	expect(0, "other", IB_EVENT_GID_CHANGE, 1);
	expect(1, "mine", IB_EVENT_GID_CHANGE, 1);
	expect(2, "other", IB_EVENT_DEVICE_FATAL, 0);
	expect(3, "mine", IB_EVENT_DEVICE_FATAL, 0);
	ck_assert_int_eq(told.event[0].object, AL_OBJ_NONE);
	ck_assert_ptr_null(told.event[0].object_context);
	bed_end(&bed);
}
END_TEST

/* No event is lost for want of memory, since the thread that raises an event allocates nothing. */
START_TEST(an_event_is_raised_without_an_allocation)
{
	struct bed bed = bed_make();

	told_init();
	handler(bed.ca, "handler");
	bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), "qp", tell);
	al_fail_alloc(1);
	for (int i = 0; i < 4; i++) {
		bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
		bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
		told_wait(3);
	}
	ck_assert_uint_eq(al_fail_alloc(0), 1);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 12);
	bed_end(&bed);
}
END_TEST

static struct gate gate;

static void tell_slowly(void *context, const struct al_event *event)
{
	tell(context, event);
	if (event->type == IB_EVENT_LID_CHANGE)
		gate_pass(&gate);
}

START_TEST(port_states_are_delivered_step_by_step_to_a_slow_handler)
{
	struct bed bed = bed_make();
	struct crossing crossing;
	al_event_handler_h h;

	told_init();
	gate_init(&gate);
	crossing_make(&crossing, &bed, 0);
	ck_ok(al_reg_event_handler(bed.ca, NULL, "h", tell_slowly, &h));
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	test_wait(&gate.in);
	bed_port_event(&bed, IB_EVENT_PORT_DOWN, 1);
	bed_port_event(&bed, IB_EVENT_PORT_ACTIVE, 1);
	bed_port_event(&bed, IB_EVENT_SM_CHANGE, 1);
	bed_port_event(&bed, IB_EVENT_SM_CHANGE, 1);
	cross(&crossing);
	sem_post(&gate.out);
	told_wait(6);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 6);
	expect(1, "h", IB_EVENT_PORT_DOWN, 1);
	expect(2, "h", IB_EVENT_PORT_INIT, 1);
	expect(3, "h", IB_EVENT_PORT_ARMED, 1);
	expect(4, "h", IB_EVENT_PORT_ACTIVE, 1);
	expect(5, "h", IB_EVENT_SM_CHANGE, 1);
	crossing_end(&crossing);
	bed_end(&bed);
}
END_TEST

START_TEST(events_of_one_kind_merge_until_told_others_do_not)
{
	struct bed bed = bed_make();
	struct crossing crossing;
	al_event_handler_h h;
	void *qp;

	told_init();
	gate_init(&gate);
	crossing_make(&crossing, &bed, 0);
	bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), "qp", tell);
	qp = bed.fake->last_qp->qp.ctx;
	ck_ok(al_reg_event_handler(bed.ca, NULL, "h", tell_slowly, &h));
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	test_wait(&gate.in);
	for (int i = 0; i < 5; i++) {
		bed_object_event(qp, IB_EVENT_QP_ACCESS_ERR);
		bed_object_event(qp, IB_EVENT_COMM_EST);
	}
	cross(&crossing);
	sem_post(&gate.out);
	told_wait(5);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 5);
	crossing_end(&crossing);
	bed_end(&bed);
}
END_TEST

START_TEST(a_handler_hears_nothing_after_its_end_and_the_others_go_on)
{
	struct bed bed = bed_make();
	al_event_handler_h one;

	told_init();
	one = handler(bed.ca, "one");
	handler(bed.ca, "two");
	ck_ok(al_dereg_event_handler(one, AL_DESTROY_SYNC, NULL));
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	told_wait(1);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 1);
	expect(0, "two", IB_EVENT_LID_CHANGE, 1);
	bed_end(&bed);
}
END_TEST

struct ender {
	al_event_handler_h next;
};

static void end_next(void *context, const struct al_event *event)
{
	struct ender *ender = context;

	(void)event;
	al_dereg_event_handler(ender->next, NULL, NULL);
}

/* The library still walks the list of handlers when the object is destroyed. */
START_TEST(handlers_get_no_event_of_a_destroyed_object)
{
	struct al_cq_init init = { .cqe = 8, .comp_vector = 1 };
	struct bed bed = bed_make();
	sem_t behind;
	al_cq_h cq;
	void *ctx;

	told_init();
	gate_init(&gate);
	sem_init(&behind, 0, 0);
	ck_ok(al_reg_event_handler(bed.ca, NULL, "handler", tell_slowly, &(al_event_handler_h){ NULL }));
	ck_ok(al_create_cq(bed.pd, &init, "cq", NULL, tell, &cq));
	ctx = bed.fake->last_cq->cq.ctx;
	bed_cq(bed.pd, 1, &behind, test_post);
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	test_wait(&gate.in);
	/*
	 * The thread of the queue's callback hands the event to the handlers' thread, which is busy; the next
	 * callback of the queue's thread comes after that.
	 */
	bed_object_event(ctx, IB_EVENT_CQ_ERR);
	told_wait(2);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&behind);
	ck_ok(al_destroy_cq(cq, NULL, NULL));
	sem_post(&gate.out);
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 2);
	expect(0, "handler", IB_EVENT_LID_CHANGE, 1);
	expect(1, "cq", IB_EVENT_CQ_ERR, 0);
	bed_end(&bed);
}
END_TEST

START_TEST(a_handler_may_end_the_handler_after_it)
{
	struct bed bed = bed_make();
	al_event_handler_h h;
	struct ender ender;

	told_init();
	ck_ok(al_reg_event_handler(bed.ca, NULL, &ender, end_next, &h));
	ender.next = handler(bed.ca, "next");
	handler(bed.ca, "last");
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 1);
	told_wait(1);
	expect(0, "last", IB_EVENT_LID_CHANGE, 1);
	ck_assert_uint_eq(told.count, 1);
	bed_end(&bed);
}
END_TEST

/* -------------------------------------------------- events from any context */

static struct bed *raising;
static uint8_t raised;

static void raise_inside(void *object)
{
	(void)object;
	if (!raised++)
		bed_port_event(raising, IB_EVENT_LID_CHANGE, 1);
}

static void raise_in_callback(void *context)
{
	bed_port_event(raising, IB_EVENT_PKEY_CHANGE, 1);
	sem_post(context);
}

/* A module may raise an event in an atomic operation, as a polled device does, and within a notification. */
START_TEST(a_module_raises_events_inside_an_operation_and_in_its_clients_callback)
{
	struct bed bed = bed_make();
	struct ib_wc wc;
	uint32_t count;
	sem_t called;
	al_cq_h cq;

	told_init();
	sem_init(&called, 0, 0);
	raising = &bed;
	handler(bed.ca, "h");
	cq = bed_cq(bed.pd, 0, &called, raise_in_callback);
	bed.fake->hook[FAKE_poll_cq] = raise_inside;
	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	told_wait(1);
	expect(0, "h", IB_EVENT_LID_CHANGE, 1);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&called);
	told_wait(1);
	expect(1, "h", IB_EVENT_PKEY_CHANGE, 1);
	bed_end(&bed);
}
END_TEST

/* -------------------------------------------------------------- bad modules */

static void keep_text(void *context, ib_log_level level, const char *text)
{
	(void)level;
	journal_add(context, text);
}

START_TEST(wrong_events_of_a_module_are_dropped_and_logged)
{
	struct bed bed = bed_make();
	struct journal log;
	const struct ci_event none = { .type = (ib_event_type)200, .object_ctx = bed.fake->ca[0]->ctx };
	const struct ci_event hole = { .type = (ib_event_type)14, .object_ctx = bed.fake->ca[0]->ctx };
	const struct ci_event nobody = { .type = IB_EVENT_LID_CHANGE, .port_num = 1 };

	told_init();
	handler(bed.ca, "h");
	bed_cq(bed.pd, 0, NULL, NULL);
	journal_init(&log);
	al_set_log(keep_text, &log);
	ib_dispatch_event(&none);
	ib_dispatch_event(&hole);
	ib_dispatch_event(&nobody);
	bed_port_event(&bed, IB_EVENT_LID_CHANGE, 2);
	bed_port_event(&bed, IB_EVENT_PORT_DOWN, 0);
	bed_object_event(bed.fake->last_cq->cq.ctx, IB_EVENT_QP_FATAL);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 6);
	for (int i = 0; i < 6; i++)
		ck_assert_ptr_nonnull(strstr(log.entry[i], "dropped"));
	ck_assert_ptr_nonnull(strstr(log.entry[3], "fake"));
	bed_settle(bed.ca);
	ck_assert_uint_eq(told.count, 0);
	bed_end(&bed);
}
END_TEST

START_TEST(wrong_traps_of_a_module_are_dropped_and_logged)
{
	struct bed bed = bed_make();
	const struct ib_notice notice = { .trap_num = ib_be16_of(IB_TRAP_BAD_PKEY) };
	struct journal log;

	journal_init(&log);
	al_set_log(keep_text, &log);
	ib_port_trap(NULL, 1, &notice);
	ib_port_trap(bed.fake->ca[0]->ctx, 1, NULL);
	ib_port_trap(bed.fake->ca[0]->ctx, 1, &notice); /* no agent of the Access Layer there */
	ib_port_trap(bed.fake->ca[0]->ctx, 200, &notice);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_ptr_nonnull(strstr(log.entry[i], "dropped"));
	ck_assert_ptr_nonnull(strstr(log.entry[3], "fake"));
	bed_end(&bed);
}
END_TEST

START_TEST(a_handler_has_either_a_callback_or_a_channel)
{
	struct bed bed = bed_make();
	al_event_handler_h h;
	al_channel_h channel;

	ck_ok(al_create_channel(bed.al, NULL, &channel));
	ck_status(al_reg_event_handler(bed.ca, NULL, NULL, NULL, &h), AL_INVALID_PARAMETER);
	ck_status(al_reg_event_handler(bed.ca, channel, NULL, tell, &h), AL_INVALID_PARAMETER);
	ck_status(al_reg_event_handler(bed.ca, NULL, NULL, tell, NULL), AL_INVALID_PARAMETER);
	ck_status(al_reg_event_handler(bed.ca, (al_channel_h)bed.pd, NULL, NULL, &h), AL_INVALID_HANDLE);
	bed_end(&bed);
}
END_TEST

/*
 * Handlers are registered and ended while events are raised without pause: no handler is called after its end, and
 * the list of handlers stays whole.
 */
struct rain {
	struct bed *bed;
	atomic_uint late;
};

struct mortal {
	atomic_bool ended;
	struct rain *rain;
};

static void told_alive(void *context, const struct al_event *event)
{
	struct mortal *mortal = context;

	(void)event;
	if (mortal->ended)
		mortal->rain->late++;
}

static void reg_and_dereg(struct crew *crew, unsigned int index)
{
	struct rain *rain = crew->arg;

	for (int i = 0; !crew->stop; i++) {
		struct mortal mortal = { .rain = rain };
		al_event_handler_h h;

		if (index == 0) {
			bed_port_event(rain->bed, i % 2 ? IB_EVENT_PORT_DOWN : IB_EVENT_PORT_ACTIVE, 1);
			sched_yield();
			continue;
		}
		if (al_reg_event_handler(rain->bed->ca, NULL, &mortal, told_alive, &h) ||
		    al_dereg_event_handler(h, AL_DESTROY_SYNC, NULL))
			rain->late += 1000;
		mortal.ended = true;
	}
}

START_TEST(handlers_come_and_go_while_events_rain)
{
	struct bed bed = bed_make();
	struct rain rain = { &bed, 0 };
	struct crew crew;

	crew_make(&crew, 3, reg_and_dereg, &rain);
	crew_go(&crew);
	for (int i = 0; i < test_rounds(40); i++)
		bed_settle(bed.ca);
	crew_end(&crew);
	ck_assert_uint_eq(rain.late, 0);
	bed_end(&bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("async");
	TCase *tc = tcase_create("events");

	tcase_add_test(tc, an_objects_event_goes_to_its_callback_then_to_its_handles_handlers);
	tcase_add_test(tc, a_completion_queues_event_goes_to_its_callback_and_to_its_handles_handlers_too);
	tcase_add_test(tc, events_of_the_hca_and_its_ports_go_to_the_handlers_of_every_handle);
	tcase_add_test(tc, an_event_is_raised_without_an_allocation);
	tcase_add_test(tc, port_states_are_delivered_step_by_step_to_a_slow_handler);
	tcase_add_test(tc, events_of_one_kind_merge_until_told_others_do_not);
	suite_add_tcase(suite, tc);
	tc = tcase_create("handlers");
	tcase_add_test(tc, a_handler_hears_nothing_after_its_end_and_the_others_go_on);
	tcase_add_test(tc, handlers_get_no_event_of_a_destroyed_object);
	tcase_add_test(tc, a_handler_may_end_the_handler_after_it);
	tcase_add_test(tc, a_module_raises_events_inside_an_operation_and_in_its_clients_callback);
	tcase_add_test(tc, wrong_events_of_a_module_are_dropped_and_logged);
	tcase_add_test(tc, wrong_traps_of_a_module_are_dropped_and_logged);
	tcase_add_test(tc, a_handler_has_either_a_callback_or_a_channel);
	tcase_add_test(tc, handlers_come_and_go_while_events_rain);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
