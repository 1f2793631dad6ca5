/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of objects: refusals, order, callbacks under way, cascades. Races are in race_test.c. */
#include "test/unit/al/bed.h"

/* --------------------------------------------------------------- refusals */

START_TEST(a_parent_with_live_children_is_busy_and_stays_valid)
{
	struct bed bed = bed_make();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL), more;

	ck_status(al_dealloc_pd(bed.pd, NULL, NULL), AL_RESOURCE_BUSY);
	ck_status(al_dealloc_pd(bed.pd, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	more = bed_cq(bed.pd, 0, NULL, NULL);
	ck_ok(al_destroy_cq(more, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(bed.pd, AL_DESTROY_SYNC, NULL));
	bed_end(&bed);
}
END_TEST

START_TEST(a_used_object_is_busy_though_its_user_is_in_another_pd)
{
	struct bed bed = bed_make();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	struct ib_wc wc;
	uint32_t count;
	al_pd_h other;
	al_qp_h qp;

	ck_ok(al_alloc_pd(bed.ca, NULL, &other));
	qp = bed_qp(other, cq, NULL, NULL);
	ck_status(al_destroy_cq(cq, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_status(al_dealloc_pd(other, NULL, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	bed_end(&bed);
}
END_TEST

static struct ci_mr *made_mr;

static void keep_mr(void *mr)
{
	made_mr = mr;
}

START_TEST(a_modules_reason_refuses_a_destroy_and_not_a_cascade)
{
	struct bed bed = bed_make();
	struct ib_ca_attr attr;
	al_mr_h mr;

	bed.fake->hook[FAKE_register_mr] = keep_mr;
	ck_ok(try_mr(bed.pd, &mr));
	__atomic_store_n(&made_mr->bound_windows, 1, __ATOMIC_RELEASE);
	ck_status(al_dereg_mr(mr, NULL, NULL), AL_RESOURCE_BUSY);
	ck_status(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_query_ca(bed.ca, &attr));
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(bed.fake->calls[FAKE_deregister_mr], 1);
	bed_end(&bed);
}
END_TEST

START_TEST(a_destroyed_handle_is_invalid_when_the_call_returns)
{
	struct bed bed = bed_make();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	struct ib_wc wc;
	uint32_t count;

	ck_ok(al_destroy_cq(cq, NULL, NULL));
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_INVALID_HANDLE);
	ck_status(al_destroy_cq(cq, NULL, NULL), AL_INVALID_HANDLE);
	ck_status(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL), AL_INVALID_HANDLE);
	bed_end(&bed);
}
END_TEST

START_TEST(dying_children_and_users_do_not_count)
{
	struct journal journal;
	struct bed bed = bed_make();
	struct gate gate;
	struct note qp_gone = { &journal, "qp" }, cq_gone = { &journal, "cq" }, pd_gone = { &journal, "pd" };
	al_cq_h cq;
	al_qp_h qp;

	gate_init(&gate);
	journal_init(&journal);
	cq = bed_cq(bed.pd, 0, NULL, NULL);
	qp = bed_qp(bed.pd, cq, &gate, gate_event);
	/* The callback under way keeps the queue pair from ending. */
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	test_wait(&gate.in);
	ck_ok(al_destroy_qp(qp, note_cb, &qp_gone));
	ck_ok(al_destroy_cq(cq, note_cb, &cq_gone));
	ck_ok(al_dealloc_pd(bed.pd, note_cb, &pd_gone));
	ck_assert_uint_eq(journal.count, 0);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_qp], 0);
	sem_post(&gate.out);
	journal_wait(&journal, 3);
	journal_expect(&journal, 3, (const char *const[]){ "qp", "cq", "pd" });
	bed_end(&bed);
}
END_TEST

/* -------------------------------------------------------------- destroyed */

START_TEST(the_destroyed_callback_comes_once_with_its_context_after_other_callbacks)
{
	struct journal journal;
	struct bed bed = bed_make();
	struct gate gate;
	struct note gone = { &journal, "gone" };
	al_cq_h cq;

	gate_init(&gate);
	journal_init(&journal);
	cq = bed_cq(bed.pd, 0, &gate, gate_pass);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&gate.in);
	ck_ok(al_destroy_cq(cq, note_cb, &gone));
	bed_settle(bed.ca);
	ck_assert_uint_eq(journal.count, 0);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 0);
	sem_post(&gate.out);
	journal_wait(&journal, 1);
	ck_assert_uint_eq(gate.returned, 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 1);
	bed_end(&bed);
	ck_assert_uint_eq(journal.count, 1);
}
END_TEST

START_TEST(no_callback_begins_after_the_destroy_call_has_returned)
{
	struct bed bed = bed_make();
	struct gate gate;
	al_cq_h cq;

	gate_init(&gate);
	cq = bed_cq(bed.pd, 0, &gate, gate_pass);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&gate.in);
	/* The second callback waits for the first to return, and is dropped then. */
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	ck_ok(al_destroy_cq(cq, NULL, NULL));
	sem_post(&gate.out);
	bed_end(&bed);
	ck_assert_uint_eq(gate.runs, 1);
}
END_TEST

struct sync_destroy {
	al_cq_h cq;
	al_status status;
	atomic_bool returned;
	sem_t called;
};

static void destroy_sync(struct crew *crew, unsigned int index)
{
	struct sync_destroy *job = crew->arg;

	(void)index;
	job->status = al_destroy_cq(job->cq, AL_DESTROY_SYNC, NULL);
	job->returned = true;
}

START_TEST(a_synchronous_destroy_waits_for_a_callback_in_flight_on_another_thread)
{
	struct bed bed = bed_make();
	struct sync_destroy job = { 0 };
	struct crew crew;
	struct gate gate;
	struct ib_wc wc;
	uint32_t count;

	gate_init(&gate);
	job.cq = bed_cq(bed.pd, 0, &gate, gate_pass);
	ib_cq_notify(bed.fake->last_cq->cq.ctx);
	test_wait(&gate.in);
	crew_make(&crew, 1, destroy_sync, &job);
	crew_go(&crew);
	while (al_poll_cq(job.cq, 1, &wc, &count) == AL_SUCCESS)
		sched_yield(); /* until the other thread has made the handle invalid */
	bed_settle(bed.ca);
	ck_assert(!job.returned);
	sem_post(&gate.out);
	crew_end(&crew);
	ck_assert_int_eq(job.status, AL_SUCCESS);
	ck_assert_uint_eq(gate.returned, 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 1);
	bed_end(&bed);
}
END_TEST

START_TEST(without_a_callback_an_object_goes_all_the_same)
{
	struct bed bed = bed_make();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);

	ck_ok(al_destroy_cq(cq, NULL, NULL));
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 1);
}
END_TEST

START_TEST(no_object_reports_destroyed_before_its_dependents)
{
	static const char *const order[] = { "qp", "cq", "pd", "ca", "al" };

	for (int round = 0; round < 20; round++) {
		struct journal journal;
		struct bed bed = bed_make();
		struct note note[5];
		al_cq_h cq = bed_cq(bed.pd, round % 2, NULL, NULL);
		al_qp_h qp = bed_qp(bed.pd, cq, NULL, NULL);

		journal_init(&journal);
		for (int i = 0; i < 5; i++)
			note[i] = (struct note){ &journal, order[i] };
		ck_ok(al_destroy_qp(qp, note_cb, &note[0]));
		ck_ok(al_destroy_cq(cq, note_cb, &note[1]));
		ck_ok(al_dealloc_pd(bed.pd, note_cb, &note[2]));
		ck_ok(al_close_ca(bed.ca, note_cb, &note[3]));
		ck_ok(al_close(bed.al, note_cb, &note[4]));
		journal_wait(&journal, 5);
		journal_expect(&journal, 5, order);
	}
}
END_TEST

START_TEST(a_destroyed_object_has_left_the_limit_before_its_callback)
{
	struct bed bed;
	sem_t gone;

	test_fake()->ca_attr.max_pd = 1;
	bed = bed_make();
	sem_init(&gone, 0, 0);
	for (int i = 0; i < 50; i++) {
		al_pd_h no;

		ck_status(al_alloc_pd(bed.ca, NULL, &no), AL_LIMIT_EXCEEDED);
		ck_ok(al_dealloc_pd(bed.pd, test_post, &gone));
		test_wait(&gone);
		ck_ok(al_alloc_pd(bed.ca, NULL, &bed.pd));
	}
	bed_end(&bed);
}
END_TEST

/* ------------------------------------------------------------ early callbacks */

static void notify_early(void *cq)
{
	ib_cq_notify(((struct ci_cq *)cq)->ctx);
}

struct early {
	al_cq_h cq;
	al_status status;
	sem_t done;
};

static void destroy_myself(void *context)
{
	struct early *early = context;

	early->status = al_destroy_cq(early->cq, test_post, &early->done);
}

START_TEST(a_callback_may_destroy_the_object_before_its_create_call_has_returned)
{
	struct bed bed = bed_make();

	bed.fake->hook[FAKE_create_cq] = notify_early;
	for (int i = 0; i < test_rounds(300); i++) {
		struct al_cq_init init = { .cqe = 1, .comp_vector = (uint32_t)i % 2 };
		struct early early = { .status = AL_NOT_FOUND };

		sem_init(&early.done, 0, 0);
		ck_ok(al_create_cq(bed.pd, &init, &early, destroy_myself, NULL, &early.cq));
		test_wait(&early.done);
		ck_status(early.status, AL_SUCCESS);
	}
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_cq], bed.fake->calls[FAKE_destroy_cq]);
}
END_TEST

static void event_early(void *cq)
{
	bed_object_event(((struct ci_cq *)cq)->ctx, IB_EVENT_CQ_ERR);
}

static void count_event(void *context, const struct al_event *event)
{
	(void)event;
	sem_post(context);
}

/* If a creation fails, an event that the module has raised inside its create operation is dropped. */
START_TEST(events_of_an_object_whose_creation_fails_are_not_delivered)
{
	struct bed bed = bed_make();
	struct al_cq_init init = { .cqe = 1 };
	al_event_handler_h handler;
	al_channel_h channel;
	int told = 0;
	sem_t seen;
	al_cq_h cq;

	sem_init(&seen, 0, 0);
	ck_ok(al_reg_event_handler(bed.ca, NULL, &seen, count_event, &handler));
	ck_ok(al_create_channel(bed.al, NULL, &channel));
	bed.fake->hook[FAKE_create_cq] = event_early;
	bed.fake->fail[FAKE_create_cq] = AL_INSUFFICIENT_RESOURCES;
	for (int i = 0; i < 100; i++) {
		init.channel = i % 2 ? channel : NULL;
		ck_status(al_create_cq(bed.pd, &init, NULL, NULL, NULL, &cq), AL_INSUFFICIENT_RESOURCES);
	}
	bed_settle(bed.ca);
	ck_assert_int_eq(sem_getvalue(&seen, &told), 0);
	ck_assert_int_eq(told, 0);
	/* The object ends after a successful creation: the handler gets the event. */
	bed.fake->fail[FAKE_create_cq] = AL_SUCCESS;
	for (int i = 0; i < 2; i++) {
		init.channel = i % 2 ? channel : NULL;
		ck_ok(al_create_cq(bed.pd, &init, NULL, NULL, NULL, &cq));
		test_wait(&seen);
	}
	bed_end(&bed);
}
END_TEST

/* ---------------------------------------------------------------- cascades */

static struct journal ended;

static void ended_qp(void *object)
{
	(void)object;
	journal_add(&ended, "qp");
}

static void ended_cq(void *object)
{
	(void)object;
	journal_add(&ended, "cq");
}

static void ended_pd(void *object)
{
	(void)object;
	journal_add(&ended, "pd");
}

static void keep_log(void *context, ib_log_level level, const char *text)
{
	(void)level;
	if (strstr(text, "left behind"))
		journal_add(context, text);
}

static unsigned int count_entries(const struct journal *journal, const char *what)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < journal->count; i++)
		found += strstr(journal->entry[i], what) != NULL;
	return found;
}

static void make_all(struct bed *bed)
{
	al_event_handler_h handler;
	al_channel_h channel;
	al_ah_h ah;
	al_mr_h mr;

	bed_qp(bed->pd, bed_cq(bed->pd, 0, NULL, NULL), NULL, NULL);
	ck_ok(try_ah(bed->pd, &ah));
	ck_ok(try_mr(bed->pd, &mr));
	ck_ok(al_create_channel(bed->al, NULL, &channel));
	ck_ok(al_reg_event_handler(bed->ca, channel, NULL, NULL, &handler));
}

START_TEST(closing_an_hca_takes_everything_along_children_first_and_names_it)
{
	struct bed bed = bed_make();
	struct journal log;
	al_ca_h ca;

	journal_init(&log);
	journal_init(&ended);
	make_all(&bed);
	bed.fake->hook[FAKE_destroy_qp] = ended_qp;
	bed.fake->hook[FAKE_destroy_cq] = ended_cq;
	bed.fake->hook[FAKE_deallocate_pd] = ended_pd;
	al_set_log(keep_log, &log);
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	journal_expect(&ended, 3, (const char *const[]){ "qp", "cq", "pd" });
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_ah], test_ah_calls(1));
	ck_assert_uint_eq(bed.fake->calls[FAKE_deregister_mr], 1);
	ck_assert_uint_eq(log.count, 6);
	ck_assert_uint_eq(count_entries(&log, "pd 0x"), 1);
	ck_assert_uint_eq(count_entries(&log, "event_handler 0x"), 1);
	/* The opening keeps the channel, and can still be used. */
	test_expect_count(bed.al, 2, 0);
	ca = test_open_ca(bed.al, FAKE_GUID);
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	bed_end(&bed);
}
END_TEST

START_TEST(what_is_left_behind_is_logged_in_one_line_for_each_kind)
{
	enum { MANY = 1000 };
	struct bed bed = bed_make();
	struct journal log;
	al_ah_h ah;

	journal_init(&log);
	for (int i = 0; i < MANY; i++)
		ck_ok(try_ah(bed.pd, &ah));
	bed_cq(bed.pd, 0, NULL, NULL);
	bed_cq(bed.pd, 0, NULL, NULL);
	al_set_log(keep_log, &log);
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 3);
	ck_assert_uint_eq(count_entries(&log, "1000 objects of kind ah, among them 0x"), 1);
	ck_assert_uint_eq(count_entries(&log, "2 objects of kind cq, among them 0x"), 1);
	ck_assert_uint_eq(count_entries(&log, "were left behind and are destroyed with their ca"),
			  2);
	ck_assert_uint_eq(count_entries(&log, "pd 0x"), 1);
	bed_end(&bed);
}
END_TEST

START_TEST(closing_an_opening_leaves_another_openings_objects)
{
	struct bed bed = bed_make();
	al_h other = test_open();
	al_ca_h ca = test_open_ca(other, FAKE_GUID);
	struct journal log;
	al_pd_h pd;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	journal_init(&log);
	al_set_log(keep_log, &log);
	bed_end(&bed);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 2);
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(closing_the_library_takes_everything_along)
{
	struct bed bed = bed_make();
	struct journal log;

	journal_init(&log);
	make_all(&bed);
	al_set_log(keep_log, &log);
	bed_end(&bed);
	al_set_log(NULL, NULL);
	ck_assert_uint_eq(log.count, 8);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_qp], 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_deallocate_pd], 1);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_ah], test_ah_calls(1));
	ck_assert_uint_eq(bed.fake->calls[FAKE_deregister_mr], 1);
	/* Handles of a closed opening do not name objects of a new opening. */
	bed.al = test_open();
	test_expect_count(bed.al, 1, 0);
	bed_end(&bed);
}
END_TEST

START_TEST(one_opening_closes_without_the_others_objects)
{
	struct bed bed = bed_make();
	al_h other = test_open();
	al_ca_h ca = test_open_ca(other, FAKE_GUID);
	struct ib_ca_attr attr;
	al_pd_h pd;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	bed_end(&bed);
	ck_ok(al_query_ca(ca, &attr));
	ck_ok(al_dealloc_pd(pd, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

static void forget(void *context)
{
	(void)context;
}

static struct gate at_destroy;

/* The first queue pair destroyed blocks in the module's destroy_qp. */
static void stay(void *object)
{
	(void)object;
	if (!at_destroy.runs)
		gate_pass(&at_destroy);
}

static const al_destroyed_cb kinds_of_end[] = { NULL, forget, AL_DESTROY_SYNC };

START_TEST(a_close_is_refused_while_an_object_of_another_handle_uses_one_of_this_handle)
{
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);
	struct ib_ca_attr attr;
	uint32_t count;
	al_pd_h pd;
	al_cq_h cq;
	al_qp_h qp;

	ck_ok(al_alloc_pd(other, NULL, &pd));
	cq = bed_cq(pd, 0, NULL, NULL);
	bed_qp(pd, cq, NULL, NULL); /* the HCA handle's own references do not count */
	qp = bed_qp(bed.pd, cq, NULL, NULL);
	ck_status(al_close_ca(other, kinds_of_end[_i], NULL), AL_RESOURCE_BUSY);
	/* The refused call has changed nothing. */
	ck_ok(al_query_ca(other, &attr));
	ck_ok(al_poll_cq(cq, 1, &(struct ib_wc){ 0 }, &count));
	bed_qp(pd, cq, NULL, NULL);
	/* A dying user does not count; the synchronous destroy waits for the dying user. */
	gate_init(&at_destroy);
	if (kinds_of_end[_i] != AL_DESTROY_SYNC)
		bed.fake->hook[FAKE_destroy_qp] = stay;
	ck_ok(al_destroy_qp(qp, NULL, NULL));
	if (kinds_of_end[_i] != AL_DESTROY_SYNC)
		test_wait(&at_destroy.in);
	ck_ok(al_close_ca(other, kinds_of_end[_i], NULL));
	sem_post(&at_destroy.out);
	ck_status(al_query_ca(other, &attr), AL_INVALID_HANDLE);
	bed_end(&bed);
}
END_TEST

START_TEST(the_handle_of_the_user_closes_before_that_of_the_used)
{
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);
	struct journal journal;
	struct note gone = { &journal, "used" }, user_gone = { &journal, "user" };
	al_pd_h pd;

	journal_init(&journal);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_alloc_pd(other, NULL, &pd));
	bed_qp(bed.pd, bed_cq(pd, 0, NULL, NULL), NULL, NULL);
	ck_ok(al_close_ca(bed.ca, note_cb, &user_gone));
	ck_ok(al_close_ca(other, note_cb, &gone));
	journal_wait(&journal, 2);
	journal_expect(&journal, 2, (const char *const[]){ "user", "used" });
	bed_end(&bed);
}
END_TEST

START_TEST(an_opening_closes_whichever_of_its_handles_uses_the_other)
{
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);
	al_pd_h pd;

	al_set_log(test_ignore_log, NULL);
	ck_ok(al_alloc_pd(other, NULL, &pd));
	bed_qp(bed.pd, bed_cq(pd, 0, NULL, NULL), NULL, NULL);
	bed_qp(pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	ck_status(al_close_ca(other, NULL, NULL), AL_RESOURCE_BUSY);
	ck_status(al_close_ca(bed.ca, NULL, NULL), AL_RESOURCE_BUSY);
	bed_end(&bed);
}
END_TEST

START_TEST(a_cascade_keeps_the_notices_that_were_asked_for_before)
{
	struct journal journal;
	struct bed bed = bed_make();
	struct note qp_gone = { &journal, "qp" }, al_gone = { &journal, "al" };
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	al_qp_h qp = bed_qp(bed.pd, cq, NULL, NULL);

	journal_init(&journal);
	ck_ok(al_destroy_qp(qp, note_cb, &qp_gone));
	ck_ok(al_close(bed.al, note_cb, &al_gone));
	journal_wait(&journal, 2);
	journal_expect(&journal, 2, (const char *const[]){ "qp", "al" });
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("destroy");
	TCase *tc = tcase_create("refusals");

	tcase_add_test(tc, a_parent_with_live_children_is_busy_and_stays_valid);
	tcase_add_test(tc, a_used_object_is_busy_though_its_user_is_in_another_pd);
	tcase_add_test(tc, a_modules_reason_refuses_a_destroy_and_not_a_cascade);
	tcase_add_test(tc, a_destroyed_handle_is_invalid_when_the_call_returns);
	tcase_add_test(tc, dying_children_and_users_do_not_count);
	suite_add_tcase(suite, tc);
	tc = tcase_create("destroyed");
	tcase_add_test(tc, the_destroyed_callback_comes_once_with_its_context_after_other_callbacks);
	tcase_add_test(tc, no_callback_begins_after_the_destroy_call_has_returned);
	tcase_add_test(tc, a_synchronous_destroy_waits_for_a_callback_in_flight_on_another_thread);
	tcase_add_test(tc, without_a_callback_an_object_goes_all_the_same);
	tcase_add_test(tc, no_object_reports_destroyed_before_its_dependents);
	tcase_add_test(tc, a_destroyed_object_has_left_the_limit_before_its_callback);
	suite_add_tcase(suite, tc);
	tc = tcase_create("early callbacks");
	tcase_add_test(tc, a_callback_may_destroy_the_object_before_its_create_call_has_returned);
	tcase_add_test(tc, events_of_an_object_whose_creation_fails_are_not_delivered);
	suite_add_tcase(suite, tc);
	tc = tcase_create("cascades");
	tcase_add_test(tc, closing_an_hca_takes_everything_along_children_first_and_names_it);
	tcase_add_test(tc, closing_the_library_takes_everything_along);
	tcase_add_test(tc, what_is_left_behind_is_logged_in_one_line_for_each_kind);
	tcase_add_test(tc, closing_an_opening_leaves_another_openings_objects);
	tcase_add_test(tc, one_opening_closes_without_the_others_objects);
	tcase_add_loop_test(tc, a_close_is_refused_while_an_object_of_another_handle_uses_one_of_this_handle, 0, 3);
	tcase_add_test(tc, the_handle_of_the_user_closes_before_that_of_the_used);
	tcase_add_test(tc, an_opening_closes_whichever_of_its_handles_uses_the_other);
	tcase_add_test(tc, a_cascade_keeps_the_notices_that_were_asked_for_before);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
