/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which thread waits for which by a grace period: a thread that is about to end an object, for threads that may have
 * found the object. The program has its own urcu_bp_synchronize_rcu(), which tells the test that a thread has begun
 * to wait.
 */
#include <dlfcn.h>

#include "al/object/device.h"
#include "test/unit/al/bed.h"

static atomic_bool watching;
static sem_t begun; /* posted for each grace period that begins while the test is watching */

void urcu_bp_synchronize_rcu(void)
{
	void (*wait)(void) = (void (*)(void))dlsym(RTLD_NEXT, "urcu_bp_synchronize_rcu");

	if (watching)
		sem_post(&begun);
	wait();
}

static void watch(void)
{
	sem_init(&begun, 0, 0);
	watching = true;
}

/* A thread that stays in the module, or in an upcall, until the test releases the thread. */
static struct gate inside;
static atomic_bool ended_under_it; /* the object in use was ended meanwhile */

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

/* An event of a port that does not exist: the upcall writes to the log, and blocks there. */
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
	sem_post(&begun); /* no further wait: the event has not come */
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

/* An object is destroyed while a grace period of an earlier destroy runs: that grace period is not enough. */
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
	test_wait(&begun); /* the first object's grace period */
	start(&late, post, &w);
	test_wait(&inside.in);
	ck_ok(al_destroy_qp(w.qp, test_post, &gone));
	sem_post(&inside.out); /* one of the two threads */
	sem_post(&inside.out);
	test_wait(&begun); /* the second object's own grace period */
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

/* Runs on the destroy thread, after the removal has waited for calls: an upcall begins. */
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

/* Runs on the thread that registers, when upcalls are possible already; the registration fails then. */
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

/* --------------------------------------------------------- the end of an HCA */

/*
 * A thread that hands an object to one of an HCA's strands wakes the strand afterwards, when the
 * HCA may have come to its end. So the linker puts the functions below in place of strand_wake()
 * and strand_stop() (--wrap): the first wake of the watched strand waits until the test continues
 * it, the HCA's end waits for the strand that wakes, or the HCA's end has stopped the watched
 * strand.
 */
static struct {
	_Atomic(struct strand *) first;  /* the watched strand, until its first wake */
	_Atomic(struct strand *) strand; /* the watched strand */
	_Atomic(struct strand *) waits; /* the strand that wakes the watched one: who stops it waits
					   for it; or NULL */
	atomic_bool inside, under_it;
	sem_t in, let_go, stopped;
} wake_of;

void __real_strand_wake(struct strand *strand);
void __real_strand_stop(struct strand *strand);
void __wrap_strand_wake(struct strand *strand);
void __wrap_strand_stop(struct strand *strand);

void __wrap_strand_wake(struct strand *strand)
{
	struct strand *want = strand;

	if (atomic_compare_exchange_strong(&wake_of.first, &want, NULL)) {
		wake_of.inside = true;
		sem_post(&wake_of.in);
		while (sem_wait(&wake_of.let_go))
			;
		wake_of.inside = false;
		if (wake_of.under_it)
			return;
	}
	__real_strand_wake(strand);
}

void __wrap_strand_stop(struct strand *strand)
{
	if (wake_of.inside && strand == wake_of.waits)
		sem_post(&wake_of.let_go);
	__real_strand_stop(strand);
	if (strand == wake_of.strand) {
		wake_of.under_it = wake_of.inside;
		sem_post(&wake_of.let_go);
		sem_post(&wake_of.stopped);
	}
}

static void hold_wake(struct strand *strand, struct strand *waits)
{
	sem_init(&wake_of.in, 0, 0);
	sem_init(&wake_of.let_go, 0, 0);
	sem_init(&wake_of.stopped, 0, 0);
	wake_of.waits = waits;
	wake_of.strand = strand;
	wake_of.first = strand;
}

/* Makes a removed HCA of which one handle is left. */
static struct al_dev *make_removed(struct work *w)
{
	struct al_dev *dev;

	*w = (struct work){ .bed = bed_make() };
	al_set_log(test_ignore_log, NULL);
	dev = dev_find(NULL, FAKE_GUID);
	dev_put(dev);
	ck_ok(al_dealloc_pd(w->bed.pd, AL_DESTROY_SYNC, NULL));
	w->bed.fake->withdraw(0, 0);
	return dev;
}

static void put(struct crew *crew, unsigned int index)
{
	(void)index;
	obj_put(crew->arg);
}

START_TEST(an_hca_ends_after_the_thread_that_has_given_it_its_last_object)
{
	struct al_dev *dev;
	struct al_obj *obj;
	struct crew crew;
	struct work w;

	dev = make_removed(&w);
	obj = obj_get(w.bed.ca, AL_OBJ_CA);
	ck_ok(al_close_ca(w.bed.ca, NULL, NULL));
	while (atomic_load(&obj->refs) != 1)
		sched_yield();
	hold_wake(&dev->reaper.strand, NULL);
	crew_make(&crew, 1, put, obj);
	crew_go(&crew);
	test_wait(&wake_of.in);
	ck_assert_uint_eq(atomic_load(&dev->refs), 2); /* the object's reference, and that of the waking thread */
	sem_post(&wake_of.let_go);
	crew_end(&crew);
	test_wait(&wake_of.stopped);
	ck_assert(!wake_of.under_it);
	bed_end(&w.bed);
}
END_TEST

START_TEST(an_hca_ends_after_its_destroy_thread_has_given_the_last_callback_away)
{
	struct al_dev *dev;
	struct work w;
	sem_t gone;

	sem_init(&gone, 0, 0);
	dev = make_removed(&w);
	hold_wake(&dev->async.strand, &dev->reaper.strand);
	ck_ok(al_close_ca(w.bed.ca, test_post, &gone));
	test_wait(&wake_of.in);
	strand_wake(&dev->async.strand); /* wakes the dispatcher in place of the held thread; then
					    the HCA ends */
	test_wait(&wake_of.stopped);
	ck_assert(!wake_of.under_it);
	test_wait(&gone);
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
	tcase = tcase_create("end");
	tcase_add_test(tcase, an_hca_ends_after_the_thread_that_has_given_it_its_last_object);
	tcase_add_test(tcase, an_hca_ends_after_its_destroy_thread_has_given_the_last_callback_away);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
