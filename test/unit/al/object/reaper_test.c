/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What only the inside shows: how many grace periods destroys take, and how large objects are made. */
#include <malloc.h>

#include "al/object/device.h"
#include "test/unit/al/bed.h"

/* ---------------------------------------------------------- grace periods */

static struct gate held;

static void hold_first(void *object)
{
	(void)object;
	if (!held.runs)
		gate_pass(&held);
}

START_TEST(destroys_that_wait_together_share_one_grace_period)
{
	enum { MANY = 200 };
	static al_ah_h ah[MANY];
	struct bed bed = bed_make();
	uint64_t before;
	sem_t gone;

	gate_init(&held);
	sem_init(&gone, 0, 0);
	bed.fake->hook[FAKE_destroy_ah] = hold_first;
	for (int i = 0; i < MANY; i++)
		ck_ok(try_ah(bed.pd, &ah[i]));
	ck_ok(al_destroy_ah(ah[0], test_post, &gone));
	test_wait(&held.in); /* the destroy thread is busy with the first */
	before = reaper_stamp();
	for (int i = 1; i < MANY; i++)
		ck_ok(al_destroy_ah(ah[i], test_post, &gone));
	sem_post(&held.out);
	for (int i = 0; i < MANY; i++)
		test_wait(&gone);
	ck_assert_uint_eq(reaper_stamp() - before, 1);
	bed_end(&bed);
}
END_TEST

START_TEST(a_cascade_takes_one_grace_period_however_deep)
{
	struct bed bed = bed_make();
	uint64_t before;
	al_ah_h ah;

	for (int i = 0; i < 20; i++) {
		bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
		ck_ok(try_ah(bed.pd, &ah));
	}
	before = reaper_stamp();
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(reaper_stamp() - before, 1);
	bed_end(&bed);
}
END_TEST

/* ----------------------------------------------------------------- sizes */

/* A create that began before a removal goes on with the module's operations, and its object has the module's size. */
START_TEST(an_object_has_the_modules_size_though_its_hca_goes_meanwhile)
{
	struct bed bed = bed_make();
	struct al_dev *dev = dev_find(NULL, FAKE_GUID);
	const struct ci_interface *ops = dev_ops(dev);
	struct al_obj *pd = obj_get(bed.pd, AL_OBJ_PD), *obj;

	atomic_store(&dev->ops, &ci_dead_ca);
	ck_ok(obj_new(AL_OBJ_QP, pd, dev, NULL, &obj));
	ck_assert_uint_ge(malloc_usable_size(obj),
			  (size_t)((char *)obj->ci - (char *)obj) + sizeof(struct fake_qp));
	memset((char *)obj->ci + sizeof(struct ci_qp), 0xff, sizeof(struct fake_qp) - sizeof(struct ci_qp));
	obj->type->gone(obj);
	obj_abort(obj);
	atomic_store(&dev->ops, ops);
	obj_put(pd);
	dev_put(dev);
	bed_end(&bed);
}
END_TEST

START_TEST(calls_on_a_removed_hca_do_not_count_as_in_progress)
{
	struct bed bed = bed_make();
	struct al_dev *dev = dev_find(NULL, FAKE_GUID);
	const struct ci_interface *live = dev_enter(dev);

	ck_assert_uint_eq(dev->inflight, 1);
	atomic_store(&dev->ops, &ci_dead_ca);
	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_eq(dev_enter(dev), &ci_dead_ca);
		ck_assert_uint_eq(dev->inflight, 1);
	}
	for (int i = 0; i < 3; i++)
		dev_leave(dev, &ci_dead_ca);
	ck_assert_uint_eq(dev->inflight, 1);
	dev_leave(dev, live);
	ck_assert_uint_eq(dev->inflight, 0);
	atomic_store(&dev->ops, live);
	dev_put(dev);
	bed_end(&bed);
}
END_TEST

/* --------------------------------------------------------------- patience */

/* The first warning, longer than a journal keeps. */
static char warning[1024];

static void keep_warnings(void *context, ib_log_level level, const char *text)
{
	if (level != IB_LOG_WARNING)
		return;
	if (!*warning)
		snprintf(warning, sizeof(warning), "%s", text);
	journal_add(context, text);
}

static void let_go(struct crew *crew, unsigned int index)
{
	struct journal *log = crew->arg;

	(void)index;
	journal_wait(log, 1);
	sem_post(&held.out);
}

START_TEST(a_destroy_that_waits_long_is_told_of_with_what_it_waits_for)
{
	struct bed bed = bed_make();
	struct journal log;
	struct crew crew;
	char qp_name[32];
	al_qp_h qp;

	patience = 1;
	gate_init(&held);
	journal_init(&log);
	qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), &held, gate_event);
	snprintf(qp_name, sizeof(qp_name), "qp %#llx", (unsigned long long)(uintptr_t)qp);
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	test_wait(&held.in);
	ck_ok(al_destroy_qp(qp, NULL, NULL));
	crew_make(&crew, 1, let_go, &log);
	crew_go(&crew);
	ck_ok(al_close_ca(bed.ca, NULL, NULL));
	al_set_log(keep_warnings, &log);
	ck_ok(al_close(bed.al, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	crew_end(&crew);
	ck_assert_ptr_nonnull(strstr(warning, "destroying al"));
	ck_assert_ptr_nonnull(strstr(warning, qp_name));
	ck_assert_ptr_nonnull(strstr(warning, program_invocation_short_name));
}
END_TEST

static al_status stay_in_remove(void *context, const struct al_pnp_event *event)
{
	(void)context;
	if (event->type == AL_PNP_CA_REMOVE)
		gate_pass(&held);
	return AL_SUCCESS;
}

START_TEST(a_removal_that_waits_long_names_its_client)
{
	struct bed bed = bed_make();
	struct journal log;
	struct crew crew;
	al_pnp_h pnp;

	patience = 1;
	gate_init(&held);
	journal_init(&log);
	ck_ok(al_reg_pnp(bed.al, NULL, NULL, stay_in_remove, &pnp));
	crew_make(&crew, 1, let_go, &log);
	crew_go(&crew);
	al_set_log(keep_warnings, &log);
	bed.fake->withdraw(0, 0);
	al_set_log(NULL, NULL);
	crew_end(&crew);
	ck_assert_ptr_nonnull(strstr(warning, "removal of HCA 0xfeed0000000001 has waited 1 s"));
	ck_assert_ptr_nonnull(strstr(warning, program_invocation_short_name));
	bed_end(&bed);
}
END_TEST

static void withdraw_first(struct crew *crew, unsigned int index)
{
	struct bed *bed = crew->arg;

	(void)index;
	bed->fake->withdraw(0, 0);
}

/* Waits until the log says this. */
static void expect_warning(struct journal *log, const char *part)
{
	static unsigned int seen;

	do
		journal_wait(log, 1);
	while (!strstr(log->entry[seen++], part));
}

START_TEST(a_removal_that_waits_long_names_the_channel_and_what_its_reader_has_to_do)
{
	struct bed bed = bed_make();
	struct al_pnp_attr attr = { 0 };
	struct al_channel_event event;
	struct journal log;
	struct crew crew;
	char part[64];
	al_pnp_h pnp;

	patience = 1;
	journal_init(&log);
	ck_ok(al_create_channel(bed.al, NULL, &attr.channel));
	ck_ok(al_reg_pnp(bed.al, &attr, NULL, NULL, &pnp));
	while (al_channel_next(attr.channel, &event) == AL_SUCCESS)
		;
	al_set_log(keep_warnings, &log);
	crew_make(&crew, 1, withdraw_first, &bed);
	crew_go(&crew);
	snprintf(part, sizeof(part), "read the removal from channel %#llx",
		 (unsigned long long)(uintptr_t)attr.channel);
	expect_warning(&log, part);
	ck_assert_ptr_nonnull(strstr(log.entry[0], "removal of HCA 0xfeed0000000001 has waited 1 s"));
	ck_assert_ptr_nonnull(strstr(log.entry[0], program_invocation_short_name));
	ck_ok(al_channel_next(attr.channel, &event));
	ck_assert_int_eq(event.pnp.type, AL_PNP_CA_REMOVE);
	snprintf(part, sizeof(part), "acknowledge the removal by reading on from channel %#llx",
		 (unsigned long long)(uintptr_t)attr.channel);
	expect_warning(&log, part);
	ck_status(al_channel_next(attr.channel, &event), AL_NOT_FOUND);
	crew_end(&crew);
	al_set_log(NULL, NULL);
	bed_end(&bed);
}
END_TEST

static void call_in(struct crew *crew, unsigned int index)
{
	struct bed *bed = crew->arg;
	struct ib_ca_attr attr;

	(void)index;
	al_query_ca(bed->ca, &attr);
}

static void hold_call(void *object)
{
	(void)object;
	gate_pass(&held);
}

START_TEST(a_removal_that_waits_long_for_calls_names_their_module)
{
	struct bed bed = bed_make();
	struct journal log;
	struct crew crew, caller;

	patience = 1;
	gate_init(&held);
	journal_init(&log);
	bed.fake->hook[FAKE_query_ca] = hold_call;
	crew_make(&caller, 1, call_in, &bed);
	crew_go(&caller);
	test_wait(&held.in);
	crew_make(&crew, 1, let_go, &log);
	crew_go(&crew);
	al_set_log(keep_warnings, &log);
	bed.fake->withdraw(0, 0);
	al_set_log(NULL, NULL);
	crew_end(&crew);
	crew_end(&caller);
	ck_assert_ptr_nonnull(strstr(warning, "waits for 1 calls in module fake"));
	bed_end(&bed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reaper");
	TCase *tc = tcase_create("inside");

	tcase_add_test(tc, destroys_that_wait_together_share_one_grace_period);
	tcase_add_test(tc, a_cascade_takes_one_grace_period_however_deep);
	tcase_add_test(tc, an_object_has_the_modules_size_though_its_hca_goes_meanwhile);
	tcase_add_test(tc, calls_on_a_removed_hca_do_not_count_as_in_progress);
	suite_add_tcase(suite, tc);
	tc = tcase_create("patience");
	tcase_add_test(tc, a_destroy_that_waits_long_is_told_of_with_what_it_waits_for);
	tcase_add_test(tc, a_removal_that_waits_long_names_its_client);
	tcase_add_test(tc, a_removal_that_waits_long_names_the_channel_and_what_its_reader_has_to_do);
	tcase_add_test(tc, a_removal_that_waits_long_for_calls_names_their_module);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
