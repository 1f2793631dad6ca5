/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Destroys while other threads use the objects: rules that hold whichever thread comes first. Best under
 * ThreadSanitizer. The removal of an HCA is in device_test.c.
 */
#include "test/unit/al/bed.h"

/* ---------------------------------------------------------- two destroys */

struct duel {
	al_cq_h cq;
	atomic_uint wins, losses, other;
	atomic_uint told;
	sem_t gone;
};

static void duel_gone(void *context)
{
	struct duel *duel = context;

	duel->told++;
	sem_post(&duel->gone);
}

static void fight(struct crew *crew, unsigned int index)
{
	struct duel *duel = crew->arg;
	al_status st = index ? al_destroy_cq(duel->cq, duel_gone, duel) : al_destroy_cq(duel->cq, AL_DESTROY_SYNC, NULL);

	if (st == AL_SUCCESS && !index)
		duel_gone(duel);
	if (st == AL_SUCCESS)
		duel->wins++;
	else if (st == AL_INVALID_HANDLE)
		duel->losses++;
	else
		duel->other++;
}

START_TEST(of_several_destroys_of_one_handle_exactly_one_wins)
{
	struct bed bed = bed_make();

	for (int i = 0; i < test_rounds(50); i++) {
		struct duel duel = { .cq = bed_cq(bed.pd, 0, NULL, NULL) };
		struct crew crew;

		sem_init(&duel.gone, 0, 0);
		crew_make(&crew, 4, fight, &duel);
		crew_go(&crew);
		crew_end(&crew);
		test_wait(&duel.gone);
		ck_assert_uint_eq(duel.wins, 1);
		ck_assert_uint_eq(duel.losses, 3);
		ck_assert_uint_eq(duel.told, 1);
	}
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_cq], bed.fake->calls[FAKE_destroy_cq]);
}
END_TEST

/* ------------------------------------------------- destroying a parent */

struct race {
	al_pd_h pd;
	al_cq_h cq;
	al_status made, ended;
	al_qp_h qp;
	al_ah_h ah;
};

static void create_or_end_pd(struct crew *crew, unsigned int index)
{
	struct race *race = crew->arg;

	if (index)
		race->ended = al_dealloc_pd(race->pd, NULL, NULL);
	else
		race->made = try_ah(race->pd, &race->ah);
}

START_TEST(either_the_child_is_refused_or_the_parent_is_busy)
{
	struct bed bed = bed_make();

	for (int i = 0; i < test_rounds(400); i++) {
		struct race race = { 0 };
		struct crew crew;

		/* Destroyed objects count against the limit until they are freed: gives the destroy thread time. */
		while ((race.made = al_alloc_pd(bed.ca, NULL, &race.pd)) == AL_LIMIT_EXCEEDED)
			ck_ok(al_destroy_cq(bed_cq(bed.pd, 0, NULL, NULL), AL_DESTROY_SYNC, NULL));
		ck_ok(race.made);
		crew_make(&crew, 2, create_or_end_pd, &race);
		crew_go(&crew);
		crew_end(&crew);
		ck_assert((race.made == AL_SUCCESS && race.ended == AL_RESOURCE_BUSY) ||
			  (race.made == AL_INVALID_HANDLE && race.ended == AL_SUCCESS));
		if (race.made == AL_SUCCESS) {
			ck_ok(al_destroy_ah(race.ah, NULL, NULL));
			ck_ok(al_dealloc_pd(race.pd, NULL, NULL));
		}
	}
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_ah], bed.fake->calls[FAKE_destroy_ah]);
}
END_TEST

static void create_or_end_cq(struct crew *crew, unsigned int index)
{
	struct race *race = crew->arg;

	if (index)
		race->ended = al_destroy_cq(race->cq, NULL, NULL);
	else
		race->made = try_qp(race->pd, race->cq, NULL, NULL, &race->qp);
}

START_TEST(either_the_user_is_refused_or_what_it_uses_is_busy)
{
	struct bed bed = bed_make();

	for (int i = 0; i < test_rounds(400); i++) {
		struct race race = { .pd = bed.pd, .cq = bed_cq(bed.pd, 0, NULL, NULL) };
		struct crew crew;

		crew_make(&crew, 2, create_or_end_cq, &race);
		crew_go(&crew);
		crew_end(&crew);
		ck_assert((race.made == AL_SUCCESS && race.ended == AL_RESOURCE_BUSY) ||
			  (race.made == AL_INVALID_HANDLE && race.ended == AL_SUCCESS));
		if (race.made == AL_SUCCESS) {
			ck_ok(al_destroy_qp(race.qp, NULL, NULL));
			ck_ok(al_destroy_cq(race.cq, NULL, NULL));
		}
	}
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_qp], bed.fake->calls[FAKE_destroy_qp]);
}
END_TEST

/* ------------------------------------------------ destroying under traffic */

struct traffic {
	_Atomic(al_qp_h) qp;
	_Atomic(al_cq_h) cq;
	atomic_uint posted, polled, wrong;
	_Atomic al_status first_wrong;
};

static void expect_any(struct traffic *t, al_status st, al_status a, al_status b)
{
	if (st == AL_SUCCESS || st == a || st == b)
		return;
	t->first_wrong = st;
	t->wrong++;
}

/* Posts and polls on the current handles, which may become stale at any moment. */
static void pump(struct crew *crew, unsigned int index)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	struct traffic *t = crew->arg;
	const struct ib_send_wr *bad;
	struct ib_wc wc[4];
	uint32_t count;
	al_status st;

	while (!crew->stop) {
		if (index % 2) {
			st = al_post_send(t->qp, &wr, &bad);
			t->posted += st == AL_SUCCESS;
			expect_any(t, st, AL_INVALID_HANDLE, AL_INVALID_STATE);
		} else {
			st = al_poll_cq(t->cq, 4, wc, &count);
			t->polled += st ? 0 : count;
			expect_any(t, st, AL_INVALID_HANDLE, AL_INVALID_HANDLE);
			expect_any(t, al_arm_cq(t->cq, AL_ARM_ANY, NULL), AL_INVALID_HANDLE, AL_INVALID_HANDLE);
		}
	}
}

static void count_comp(void *context)
{
	atomic_fetch_add((atomic_uint *)context, 1);
}

START_TEST(destroying_races_with_post_poll_arm_and_callbacks)
{
	struct bed bed = bed_make();
	struct traffic t = { .qp = NULL };
	atomic_uint comps = 0;
	struct crew crew;
	sem_t gone;

	sem_init(&gone, 0, 0);
	crew_make(&crew, 4, pump, &t);
	crew_go(&crew);
	for (int i = 0; i < test_rounds(60); i++) {
		al_cq_h cq = bed_cq(bed.pd, (uint32_t)i % 2, &comps, count_comp);
		al_qp_h qp = bed_qp(bed.pd, cq, NULL, NULL);

		test_to_rts(qp, 1, 1, IB_MTU_1024);
		t.cq = cq;
		t.qp = qp;
		while (!t.posted || !t.polled)
			sched_yield();
		t.posted = t.polled = 0;
		if (i % 3) {
			ck_ok(al_destroy_qp(qp, test_post, &gone));
			ck_ok(al_destroy_cq(cq, test_post, &gone));
			test_wait(&gone);
			test_wait(&gone);
		} else {
			ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
			ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
		}
	}
	crew_end(&crew);
	ck_assert_msg(!t.wrong, "%u wrong answers, such as %s", t.wrong, al_status_name(t.first_wrong));
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_cq], bed.fake->calls[FAKE_destroy_cq]);
}
END_TEST

/* -------------------------------------------------- cascades under traffic */

struct family {
	_Atomic(al_h) al;
	atomic_uint wrong;
	_Atomic al_status first_wrong;
};

static void unexpected(struct family *f, al_status st)
{
	/* Statuses of a stale or dying handle, or of the fake's full CQ. */
	if (st == AL_SUCCESS || st == AL_INVALID_HANDLE || st == AL_RESOURCE_BUSY)
		return;
	f->first_wrong = st;
	f->wrong++;
}

static al_status let_in(void *context, const struct al_pnp_event *event)
{
	(void)context;
	(void)event;
	return AL_SUCCESS;
}

static void quiet(void *context, const struct al_event *event)
{
	(void)context;
	(void)event;
}

/* Makes groups of objects below the current opening, destroys some of the objects, and leaves the others. */
static void breed(struct crew *crew, unsigned int index)
{
	struct family *f = crew->arg;

	for (unsigned int i = index; !crew->stop; i++) {
		struct al_cq_init init = { .cqe = 4, .comp_vector = i % 2 };
		al_event_handler_h handler;
		al_channel_h channel;
		al_pnp_h pnp;
		al_ca_h ca;
		al_pd_h pd;
		al_cq_h cq;
		al_qp_h qp;
		al_mr_h mr;
		al_h al = f->al; /* one opening: the other opening's handles would be refused */
		al_status st = al_open_ca(al, FAKE_GUID, NULL, &ca);

		unexpected(f, st);
		if (st)
			continue;
		unexpected(f, al_reg_event_handler(ca, NULL, NULL, quiet, &handler));
		if (i % 4 == 0)
			unexpected(f, al_reg_pnp(al, NULL, NULL, let_in, &pnp));
		if (al_create_channel(al, NULL, &channel) == AL_SUCCESS && i % 2)
			init.channel = channel;
		st = al_alloc_pd(ca, NULL, &pd);
		unexpected(f, st);
		if (!st)
			unexpected(f, try_mr(pd, &mr));
		if (!st)
			st = al_create_cq(pd, &init, NULL, NULL, NULL, &cq);
		unexpected(f, st);
		if (!st)
			st = try_qp(pd, cq, NULL, NULL, &qp);
		unexpected(f, st);
		if (!st && i % 3 == 0)
			unexpected(f, al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
		if (!st && i % 3 == 1)
			unexpected(f, al_close_ca(ca, NULL, NULL));
	}
}

static void no_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

/* In every second round another thread closes than the one that opened, and two openings are alive at a time. */
START_TEST(an_opening_closes_over_everything_while_more_is_being_made)
{
	struct ib_ca_attr *attr = &test_fake()->ca_attr;
	struct family f = { .al = NULL };
	struct crew crew;
	struct bed bed;
	sem_t gone;

	attr->max_pd = attr->max_mr = attr->max_cq = attr->max_qp = UINT32_MAX;
	bed = bed_make();
	sem_init(&gone, 0, 0);
	al_set_log(no_log, NULL);
	f.al = test_open();
	crew_make(&crew, 3, breed, &f);
	crew_go(&crew);
	for (int i = 0; i < test_rounds(25); i++) {
		al_h old = f.al;

		for (int k = 0; k < 20; k++)
			sched_yield();
		f.al = test_open();
		if (i % 2) {
			ck_ok(al_close(old, AL_DESTROY_SYNC, NULL));
		} else {
			ck_ok(al_close(old, test_post, &gone));
			test_wait(&gone);
		}
	}
	crew_end(&crew);
	ck_ok(al_close(f.al, AL_DESTROY_SYNC, NULL));
	ck_assert_msg(!f.wrong, "%u wrong answers, such as %s", f.wrong, al_status_name(f.first_wrong));
	/* The objects that are left belong to the bed. */
	test_expect_count(bed.al, 3, 1);
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(bed.fake->calls[FAKE_allocate_pd], bed.fake->calls[FAKE_deallocate_pd]);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_cq], bed.fake->calls[FAKE_destroy_cq]);
	ck_assert_uint_eq(bed.fake->calls[FAKE_create_qp], bed.fake->calls[FAKE_destroy_qp]);
	ck_assert_uint_eq(bed.fake->calls[FAKE_register_mr], bed.fake->calls[FAKE_deregister_mr]);
	bed_end(&bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("race");
	TCase *tc = tcase_create("handles");

	tcase_add_test(tc, of_several_destroys_of_one_handle_exactly_one_wins);
	tcase_add_test(tc, either_the_child_is_refused_or_the_parent_is_busy);
	tcase_add_test(tc, either_the_user_is_refused_or_what_it_uses_is_busy);
	suite_add_tcase(suite, tc);
	tc = tcase_create("traffic");
	tcase_add_test(tc, destroying_races_with_post_poll_arm_and_callbacks);
	tcase_add_test(tc, an_opening_closes_over_everything_while_more_is_being_made);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
