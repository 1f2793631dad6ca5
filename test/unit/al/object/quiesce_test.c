/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Destroys take effect in the order of one thread's calls: the order in which objects end in the module, and queue
 * pairs that are still in use when their turn comes. The peer's view is in destroy_order_test.c.
 */
#include "test/unit/al/bed.h"

/* The journal of the module's operations. */
static struct journal done;

#define NOTE(op)                                       \
	static void note_##op(void *object)            \
	{                                              \
		char text[64];                         \
                                                       \
		snprintf(text, sizeof(text), #op " %p", object); \
		journal_add(&done, text);              \
	}
NOTE(deregister_mr)
NOTE(destroy_cq)
NOTE(destroy_qp)

static void expect_entry(unsigned int i, const char *format, const struct ci_qp *qp)
{
	char want[64];

	snprintf(want, sizeof(want), format, (const void *)qp);
	ck_assert_str_eq(done.entry[i], want);
}

static void expect_begins(unsigned int i, const char *want)
{
	ck_assert_msg(!strncmp(done.entry[i], want, strlen(want)), "%s, not %s", done.entry[i], want);
}

static void note_modify(struct ci_qp *qp, ib_qp_state state)
{
	char text[64];

	snprintf(text, sizeof(text), "modify_qp %p to %s", (void *)qp, al_qp_state_str(state));
	journal_add(&done, text);
}

/* Replaces operations of fake.so. */
static struct {
	al_status (*modify)(struct ci_qp *, const struct ib_qp_attr *, uint32_t, struct ci_udata *);
	struct gate *hold;       /* a modification to Init blocks there */
	bool event;              /* a modification to Reset raises an event */
	al_status refuse_reset;
	atomic_uint under_way;
	atomic_bool met;         /* two modifications were there at the same time */
} module;

static al_status modify_qp(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, struct ci_udata *udata)
{
	al_status status;

	if (module.under_way++)
		module.met = true;
	if (module.hold && attr->qp_state == IB_QPS_INIT)
		gate_pass(module.hold);
	if (module.event && attr->qp_state == IB_QPS_RESET)
		bed_object_event(qp->ctx, IB_EVENT_COMM_EST);
	status = attr->qp_state == IB_QPS_RESET && module.refuse_reset ? module.refuse_reset
								       : module.modify(qp, attr, mask, udata);
	if (!status)
		note_modify(qp, attr->qp_state);
	module.under_way--;
	return status;
}

static struct bed make(void)
{
	struct fake *fake = test_fake();

	memset(&module, 0, sizeof(module));
	module.modify = fake->ops.modify_qp;
	fake->ops.modify_qp = modify_qp;
	fake->hook[FAKE_deregister_mr] = note_deregister_mr;
	fake->hook[FAKE_destroy_cq] = note_destroy_cq;
	fake->hook[FAKE_destroy_qp] = note_destroy_qp;
	journal_init(&done);
	return bed_make();
}

/* ------------------------------------------------------------------- order */

static struct ci_mr *last_mr;

static void keep_mr(void *mr)
{
	last_mr = mr;
}

static struct gate stop;

static void hold_pd(void *pd)
{
	(void)pd;
	gate_pass(&stop);
}

/* A queue pair, its region and its completion queue, destroyed in this order as most programs do. */
struct family {
	al_qp_h qp;
	al_mr_h mr;
	al_cq_h cq;
	char want[3][64];
};

static void make_family(struct bed *bed, struct family *f)
{
	f->cq = bed_cq(bed->pd, 0, NULL, NULL);
	snprintf(f->want[2], sizeof(f->want[2]), "destroy_cq %p", (void *)bed->fake->last_cq);
	f->qp = bed_qp(bed->pd, f->cq, NULL, NULL);
	snprintf(f->want[0], sizeof(f->want[0]), "destroy_qp %p", (void *)bed->fake->last_qp);
	ck_ok(try_mr(bed->pd, &f->mr));
	snprintf(f->want[1], sizeof(f->want[1]), "deregister_mr %p", (void *)last_mr);
}

START_TEST(queued_objects_end_in_the_order_of_the_destroy_calls)
{
	enum { FAMILIES = 20 };
	static struct family family[FAMILIES];
	struct bed bed = make();
	al_pd_h first;

	gate_init(&stop);
	bed.fake->hook[FAKE_register_mr] = keep_mr;
	bed.fake->hook[FAKE_deallocate_pd] = hold_pd;
	for (int i = 0; i < FAMILIES; i++)
		make_family(&bed, &family[i]);
	ck_ok(al_alloc_pd(bed.ca, NULL, &first));
	ck_ok(al_dealloc_pd(first, NULL, NULL));
	test_wait(&stop.in);
	bed.fake->hook[FAKE_deallocate_pd] = NULL;
	for (int i = 0; i < FAMILIES; i++) {
		ck_ok(al_destroy_qp(family[i].qp, NULL, NULL));
		ck_ok(al_dereg_mr(family[i].mr, NULL, NULL));
		ck_ok(al_destroy_cq(family[i].cq, NULL, NULL));
	}
	sem_post(&stop.out);
	journal_wait(&done, 3 * FAMILIES);
	for (int i = 0; i < 3 * FAMILIES; i++)
		ck_assert_str_eq(done.entry[i], family[i / 3].want[i % 3]);
	bed_end(&bed);
}
END_TEST

/* -------------------------------------------------------- objects in use */

struct held {
	struct bed bed;
	struct gate gate;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;
	struct ci_qp *ci;
};

/* A queue pair whose callback has begun, and a region. */
static void hold(struct held *h)
{
	h->bed = make();
	gate_init(&h->gate);
	h->cq = bed_cq(h->bed.pd, 0, NULL, NULL);
	h->qp = bed_qp(h->bed.pd, h->cq, &h->gate, gate_event);
	h->ci = &h->bed.fake->last_qp->qp;
	ck_ok(try_mr(h->bed.pd, &h->mr));
	test_to_rts(h->qp, 1, 1, IB_MTU_1024);
	bed_object_event(h->ci->ctx, IB_EVENT_COMM_EST);
	test_wait(&h->gate.in);
	journal_init(&done);
}

START_TEST(a_queue_pair_that_is_held_is_reset_before_the_next_object_ends)
{
	struct held h;

	hold(&h);
	ck_ok(al_destroy_qp(h.qp, NULL, NULL));
	/* returns: the deregistration does not wait for the queue pair */
	ck_ok(al_dereg_mr(h.mr, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(done.count, 2);
	expect_entry(0, "modify_qp %p to Reset", h.ci);
	expect_begins(1, "deregister_mr");
	sem_post(&h.gate.out);
	bed_end(&h.bed);
	ck_assert_uint_eq(done.count, 4);
	expect_entry(2, "destroy_qp %p", h.ci);
}
END_TEST

START_TEST(an_unheld_queue_pair_is_destroyed_and_not_reset)
{
	struct bed bed = make();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	int rounds = test_rounds(2000);

	/* With every schedule the thread that destroys drops its reference before the destroy
	 * thread looks. */
	for (int i = 0; i < rounds; i++)
		ck_ok(al_destroy_qp(bed_qp(bed.pd, cq, NULL, NULL), i % 2 ? NULL : AL_DESTROY_SYNC, NULL));
	bed_end(&bed);
	ck_assert_int_eq((int)bed.fake->calls[FAKE_destroy_qp], rounds);
	ck_assert_uint_eq(bed.fake->calls[FAKE_modify_qp], 0);
}
END_TEST

START_TEST(events_raised_by_the_reset_of_a_destroyed_queue_pair_are_not_delivered)
{
	struct held h;
	sem_t gone;

	hold(&h);
	sem_init(&gone, 0, 0);
	module.event = true;
	ck_ok(al_destroy_qp(h.qp, test_post, &gone));
	ck_ok(al_dereg_mr(h.mr, AL_DESTROY_SYNC, NULL));
	expect_entry(0, "modify_qp %p to Reset", h.ci);
	sem_post(&h.gate.out);
	test_wait(&gone);
	ck_assert_uint_eq(h.gate.runs, 1);
	bed_end(&h.bed);
	ck_assert_uint_eq(h.gate.runs, 1);
}
END_TEST

static void keep_errors(void *context, ib_log_level level, const char *text)
{
	if (level == IB_LOG_ERROR && strstr(text, "failed to reset"))
		journal_add(context, text);
}

/* Loop: a module that fails; an HCA or agent that is gone, which is no fault. */
START_TEST(a_refused_reset_is_logged_and_the_queue_pair_still_ends)
{
	static const al_status refusal[] = { AL_IO_ERROR, AL_CA_REMOVED, AL_AGENT_LOST };
	struct journal log;
	struct held h;

	hold(&h);
	journal_init(&log);
	al_set_log(keep_errors, &log);
	module.refuse_reset = refusal[_i];
	ck_ok(al_destroy_qp(h.qp, NULL, NULL));
	ck_ok(al_dereg_mr(h.mr, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	ck_assert_msg(log.count == (_i ? 0 : 1), "%u errors, the last: %s", log.count, log.entry[0]);
	if (!_i) {
		ck_assert_ptr_nonnull(strstr(log.entry[0], "module"));
		ck_assert_ptr_nonnull(strstr(log.entry[0], al_status_str(AL_IO_ERROR)));
	}
	sem_post(&h.gate.out);
	bed_end(&h.bed);
	/* a client whose agent is lost leaves the end to that agent */
	ck_soon(h.bed.fake->calls[FAKE_destroy_qp] == 1);
}
END_TEST

/* Loop: by closing the HCA, and the library. */
START_TEST(a_cascade_resets_what_is_held_before_regions_end)
{
	struct held h;
	sem_t gone;

	hold(&h);
	sem_init(&gone, 0, 0);
	al_set_log(test_ignore_log, NULL);
	if (_i)
		ck_ok(al_close(h.bed.al, test_post, &gone));
	else
		ck_ok(al_close_ca(h.bed.ca, test_post, &gone));
	journal_wait(&done, 2);
	expect_entry(0, "modify_qp %p to Reset", h.ci);
	expect_begins(1, "deregister_mr");
	sem_post(&h.gate.out);
	test_wait(&gone);
	ck_assert_uint_eq(done.count, 4);
	expect_entry(2, "destroy_qp %p", h.ci);
	if (!_i)
		bed_end(&h.bed);
}
END_TEST

/* The older region is older than its queue pair, the other region is younger. */
START_TEST(a_cascade_ends_queue_pairs_before_regions_and_those_before_completion_queues)
{
	struct bed bed = make();
	al_mr_h mr;

	ck_ok(try_mr(bed.pd, &mr));
	bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	ck_ok(try_mr(bed.pd, &mr));
	al_set_log(test_ignore_log, NULL);
	bed_end(&bed);
	ck_assert_uint_eq(done.count, 4);
	expect_begins(0, "destroy_qp");
	expect_begins(1, "deregister_mr");
	expect_begins(2, "deregister_mr");
	expect_begins(3, "destroy_cq");
}
END_TEST

START_TEST(an_hca_that_is_removed_while_a_destroyed_queue_pair_is_held_ends_it_once)
{
	struct held h;

	hold(&h);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_destroy_qp(h.qp, NULL, NULL));
	ck_ok(al_dereg_mr(h.mr, AL_DESTROY_SYNC, NULL));
	bed_withdraw(&h.bed, 0);
	ck_soon(h.bed.fake->calls[FAKE_destroy_qp] == 1);
	sem_post(&h.gate.out);
	bed_end(&h.bed);
	ck_assert_uint_eq(h.bed.fake->calls[FAKE_destroy_qp], 1);
}
END_TEST

START_TEST(a_removal_does_not_end_an_object_again_that_waits_for_its_callback)
{
	struct held h;
	sem_t gone;

	hold(&h); /* and ends the thread of its callback */
	sem_init(&gone, 0, 0);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_dereg_mr(h.mr, test_post, &gone));
	journal_wait(&done, 1);
	expect_begins(0, "deregister_mr");
	bed_withdraw(&h.bed, 0);
	ck_assert_uint_eq(h.bed.fake->calls[FAKE_deregister_mr], 1);
	sem_post(&h.gate.out);
	test_wait(&gone);
	bed_end(&h.bed);
	ck_assert_uint_eq(h.bed.fake->calls[FAKE_deregister_mr], 1);
}
END_TEST

START_TEST(a_held_queue_pair_of_a_removed_hca_is_not_reset)
{
	struct held h;
	unsigned int calls;

	hold(&h);
	al_set_log(test_ignore_log, NULL);
	bed_withdraw(&h.bed, 0);
	calls = h.bed.fake->calls[FAKE_modify_qp];
	ck_ok(al_destroy_qp(h.qp, NULL, NULL));
	ck_ok(al_dereg_mr(h.mr, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(h.bed.fake->calls[FAKE_modify_qp], calls);
	sem_post(&h.gate.out);
	bed_end(&h.bed);
}
END_TEST

/* ------------------------------------------------- modifications under way */

struct modifier {
	al_qp_h qp;
	al_status status;
};

static void modify(struct crew *crew, unsigned int index)
{
	struct modifier *m = crew->arg;

	(void)index;
	m->status = test_modify(m->qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT);
}

/* The wait of a destroy for a modification under way is tested in reaper_test.c. */
START_TEST(a_modification_under_way_ends_before_what_is_destroyed_meanwhile)
{
	struct bed bed = make();
	struct modifier m;
	struct crew crew;
	struct gate gate;
	struct ci_qp *ci;
	al_mr_h mr;

	gate_init(&gate);
	ck_ok(try_mr(bed.pd, &mr));
	m.qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	ci = &bed.fake->last_qp->qp;
	module.hold = &gate;
	crew_make(&crew, 1, modify, &m);
	crew_go(&crew);
	test_wait(&gate.in);
	ck_ok(al_destroy_qp(m.qp, NULL, NULL));
	ck_ok(al_dereg_mr(mr, NULL, NULL));
	sem_post(&gate.out);
	crew_end(&crew);
	ck_status(m.status, AL_SUCCESS);
	bed_end(&bed);
	ck_assert(!module.met);
	/* the Reset may come too late, when it is not needed any more */
	expect_entry(0, "modify_qp %p to Init", ci);
	if (strstr(done.entry[1], "modify"))
		expect_entry(1, "modify_qp %p to Reset", ci);
	else
		expect_entry(1, "destroy_qp %p", ci);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/quiesce");
	TCase *tcase = tcase_create("order");

	tcase_add_test(tcase, queued_objects_end_in_the_order_of_the_destroy_calls);
	tcase_add_test(tcase, a_cascade_ends_queue_pairs_before_regions_and_those_before_completion_queues);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("held");
	tcase_add_test(tcase, a_queue_pair_that_is_held_is_reset_before_the_next_object_ends);
	tcase_add_test(tcase, an_unheld_queue_pair_is_destroyed_and_not_reset);
	tcase_add_test(tcase, events_raised_by_the_reset_of_a_destroyed_queue_pair_are_not_delivered);
	tcase_add_loop_test(tcase, a_refused_reset_is_logged_and_the_queue_pair_still_ends, 0, 3);
	tcase_add_loop_test(tcase, a_cascade_resets_what_is_held_before_regions_end, 0, 2);
	tcase_add_test(tcase, an_hca_that_is_removed_while_a_destroyed_queue_pair_is_held_ends_it_once);
	tcase_add_test(tcase, a_removal_does_not_end_an_object_again_that_waits_for_its_callback);
	tcase_add_test(tcase, a_held_queue_pair_of_a_removed_hca_is_not_reset);
	tcase_add_test(tcase, a_modification_under_way_ends_before_what_is_destroyed_meanwhile);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
