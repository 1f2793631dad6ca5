/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who waits for whom with a grace period: a thread that is about to end something, for threads that may have found it.
 * The program has its own urcu_bp_synchronize_rcu(), which tells the test that a thread has begun to wait.
 */
#include <dlfcn.h>

#include "al/object/device.h"
#include "test/unit/al/bed.h"

static atomic_bool watching;
static sem_t begun; /* posted for each grace period that begins while the test is watching */

void urcu_bp_synchronize_rcu(void)
{
	void (*real)(void) = (void (*)(void))dlsym(RTLD_NEXT, "urcu_bp_synchronize_rcu");

	if (watching)
		sem_post(&begun);
	real();
}

static void watch(void)
{
	sem_init(&begun, 0, 0);
	watching = true;
}

/* A thread that stays in the module, or in an upcall, until it is let go. */
static struct gate inside;
static atomic_bool ended_under_it; /* what it is about has been ended meanwhile */

static void hold(void *object)
{
	(void)object;
	gate_pass(&inside);
}

static void see_end(void *object)
{
	(void)object;
	if (inside.runs && !inside.returned)
		ended_under_it = true;
}

static void hold_log(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	if (strstr(text, "dropped"))
		gate_pass(&inside);
}

struct work {
	struct bed bed;
	al_qp_h qp;
	void *ca_ctx;
	atomic_bool returned;
	al_status status;
};

static void post(struct crew *crew, unsigned int index)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND }, *bad;
	struct work *w = crew->arg;

	(void)index;
	w->status = al_post_send(w->qp, &wr, &bad);
}

/* An event of a port that there is none of: the upcall logs that, and stays there. */
static void raise_event(struct crew *crew, unsigned int index)
{
	struct work *w = crew->arg;
	const struct ci_event event = { .type = IB_EVENT_LID_CHANGE, .port_num = 99, .object_ctx = w->ca_ctx };

	(void)index;
	ib_dispatch_event(&event);
}

static void withdraw(struct crew *crew, unsigned int index)
{
	struct work *w = crew->arg;

	(void)index;
	w->bed.fake->withdraw(0, 0);
	w->returned = true;
	sem_post(&begun); /* the test need not wait for what has not come */
}

static void start(struct crew *crew, void (*work)(struct crew *, unsigned int), struct work *w)
{
	crew_make(crew, 1, work, w);
	crew_go(crew);
}

static void make(struct work *w)
{
	*w = (struct work){ .bed = bed_make() };
	gate_init(&inside);
	ended_under_it = false;
	w->ca_ctx = w->bed.fake->ca[0]->ctx;
	w->qp = bed_qp(w->bed.pd, bed_cq(w->bed.pd, 0, NULL, NULL), NULL, NULL);
	w->bed.fake->hook[FAKE_destroy_qp] = see_end;
}

START_TEST(a_destroy_waits_for_a_post_in_the_module)
{
	struct crew poster;
	struct work w;
	sem_t gone;

	sem_init(&gone, 0, 0);
	make(&w);
	w.bed.fake->hook[FAKE_post_send] = hold;
	start(&poster, post, &w);
	test_wait(&inside.in);
	watch();
	ck_ok(al_destroy_qp(w.qp, test_post, &gone));
	test_wait(&begun);
	ck_assert_uint_eq(w.bed.fake->calls[FAKE_destroy_qp], 0);
	sem_post(&inside.out);
	crew_end(&poster);
	test_wait(&gone);
	ck_assert(!ended_under_it);
	bed_end(&w.bed);
}
END_TEST

/* Destroyed while a grace period runs that had begun before: that one is not enough. */
START_TEST(a_grace_period_that_runs_already_covers_nothing_that_is_destroyed_later)
{
	struct crew poster, late;
	struct work w, first;
	sem_t gone;

	sem_init(&gone, 0, 0);
	make(&w);
	first = w;
	first.qp = bed_qp(w.bed.pd, bed_cq(w.bed.pd, 0, NULL, NULL), NULL, NULL);
	w.bed.fake->hook[FAKE_post_send] = hold;
	start(&poster, post, &first);
	test_wait(&inside.in);
	watch();
	ck_ok(al_destroy_qp(first.qp, test_post, &gone));
	test_wait(&begun); /* the first's */
	start(&late, post, &w);
	test_wait(&inside.in);
	ck_ok(al_destroy_qp(w.qp, test_post, &gone));
	sem_post(&inside.out); /* one of the two */
	sem_post(&inside.out);
	test_wait(&begun); /* the later one's own */
	crew_end(&poster);
	crew_end(&late);
	test_wait(&gone);
	test_wait(&gone);
	bed_end(&w.bed);
}
END_TEST

START_TEST(a_removal_waits_for_a_post_in_the_module)
{
	struct crew poster, remover;
	struct work w;

	make(&w);
	al_set_log(test_ignore_log, NULL);
	w.bed.fake->hook[FAKE_post_send] = hold;
	start(&poster, post, &w);
	test_wait(&inside.in);
	watch();
	start(&remover, withdraw, &w);
	test_wait(&begun);
	ck_assert_uint_eq(w.bed.fake->calls[FAKE_destroy_qp], 0);
	sem_post(&inside.out);
	crew_end(&poster);
	crew_end(&remover);
	ck_assert(!ended_under_it);
	ck_assert_uint_eq(w.bed.fake->calls[FAKE_destroy_qp], 1);
	bed_end(&w.bed);
}
END_TEST

static struct crew upcaller;
static struct work *upcall;

/* On the destroy thread, when the removal has waited for calls: an upcall begins. */
static void upcall_begins(void *object)
{
	(void)object;
	start(&upcaller, raise_event, upcall);
	while (sem_wait(&inside.in))
		;
	watch();
}

START_TEST(a_removal_waits_for_an_upcall_in_progress)
{
	struct crew remover;
	struct work w;

	make(&w);
	al_set_log(hold_log, NULL);
	upcall = &w;
	w.bed.fake->hook[FAKE_destroy_qp] = upcall_begins;
	start(&remover, withdraw, &w);
	while (!watching)
		sched_yield();
	test_wait(&begun);
	ck_assert(!w.returned);
	sem_post(&inside.out);
	crew_end(&remover);
	crew_end(&upcaller);
	al_set_log(test_ignore_log, NULL);
	bed_end(&w.bed);
}
END_TEST

/* On the thread that registers, when upcalls come in already; the registration fails then. */
static void upcall_begins_early(void *object)
{
	struct ci_registration *reg = ((struct ci_ca *)object)->ctx;

	if (!atomic_load(&reg->al))
		return;
	upcall->bed.fake->fail[FAKE_query_port] = AL_IO_ERROR;
	upcall->ca_ctx = reg;
	upcall_begins(object);
}

static void announce(struct crew *crew, unsigned int index)
{
	struct work *w = crew->arg;

	(void)index;
	w->status = w->bed.fake->announce(1);
	w->returned = true;
	sem_post(&begun);
}

START_TEST(an_arrival_that_fails_waits_for_an_upcall_in_progress)
{
	struct crew registrar;
	struct work w;

	make(&w);
	al_set_log(hold_log, NULL);
	upcall = &w;
	w.bed.fake->hook[FAKE_query_port] = upcall_begins_early;
	start(&registrar, announce, &w);
	while (!watching)
		sched_yield();
	test_wait(&begun);
	ck_assert(!w.returned);
	sem_post(&inside.out);
	crew_end(&registrar);
	crew_end(&upcaller);
	ck_assert_int_ne(w.status, AL_SUCCESS);
	al_set_log(test_ignore_log, NULL);
	bed_end(&w.bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/grace");
	TCase *tcase = tcase_create("waiting");

	tcase_add_test(tcase, a_destroy_waits_for_a_post_in_the_module);
	tcase_add_test(tcase, a_grace_period_that_runs_already_covers_nothing_that_is_destroyed_later);
	tcase_add_test(tcase, a_removal_waits_for_a_post_in_the_module);
	tcase_add_test(tcase, a_removal_waits_for_an_upcall_in_progress);
	tcase_add_test(tcase, an_arrival_that_fails_waits_for_an_upcall_in_progress);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
