/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tests of internal state: the number of grace periods that destroys take, and the sizes of objects. */
#include <dirent.h>
#include <malloc.h>

#include "al/object/client.h"
#include "al/object/device.h"
#include "al/object/thread.h"
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
	test_wait(&held.in); /* the destroy thread is busy with the first object */
	before = reaper_grace_clock();
	for (int i = 1; i < MANY; i++)
		ck_ok(al_destroy_ah(ah[i], test_post, &gone));
	sem_post(&held.out);
	for (int i = 0; i < MANY; i++)
		test_wait(&gone);
	ck_assert_uint_eq(reaper_grace_clock() - before, 1);
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
	before = reaper_grace_clock();
	ck_ok(al_close_ca(bed.ca, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(reaper_grace_clock() - before, 1);
	bed_end(&bed);
}
END_TEST

/* What the module was asked: the calls by their first letter, and the grace clock at each
 * revocation. */
static char asked[64];
static atomic_uint num_asked;
static uint64_t revoked_at, deregistered_at;
static void (*module_deregister)(struct ci_mr *);
static void (*module_destroy_qp)(struct ci_qp *);

static void note(char call)
{
	asked[atomic_fetch_add(&num_asked, 1)] = call;
}

static void note_revoke(struct ci_mr *mr)
{
	(void)mr;
	revoked_at = reaper_grace_clock();
	note('r');
}

static void note_deregister(struct ci_mr *mr)
{
	deregistered_at = reaper_grace_clock();
	note('d');
	module_deregister(mr);
}

static void note_destroy_qp(struct ci_qp *qp)
{
	note('q');
	module_destroy_qp(qp);
}

/* A bed whose module revokes regions. The HCA is registered with the bed. */
static struct bed make_revoking_bed(void)
{
	struct fake *fake = test_fake();

	atomic_store(&num_asked, 0);
	memset(asked, 0, sizeof(asked));
	module_deregister = fake->ops.deregister_mr;
	module_destroy_qp = fake->ops.destroy_qp;
	fake->ops.revoke_mr = note_revoke;
	fake->ops.deregister_mr = note_deregister;
	fake->ops.destroy_qp = note_destroy_qp;
	return bed_make();
}

START_TEST(regions_are_revoked_in_their_turn_and_share_a_grace_period)
{
	struct bed bed = make_revoking_bed();
	al_mr_h mr[6];
	uint64_t before;
	al_ah_h first;
	sem_t gone;
	al_qp_h qp;

	gate_init(&held);
	sem_init(&gone, 0, 0);
	bed.fake->hook[FAKE_destroy_ah] = hold_first;
	for (int i = 0; i < 6; i++)
		ck_ok(try_mr(bed.pd, &mr[i]));
	qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	ck_ok(try_ah(bed.pd, &first));
	ck_ok(al_destroy_ah(first, test_post, &gone));
	test_wait(&held.in); /* the destroy thread is busy with the first object */
	before = reaper_grace_clock();
	ck_ok(al_dereg_mr(mr[0], test_post, &gone));
	ck_ok(al_dereg_mr(mr[1], test_post, &gone));
	ck_ok(al_destroy_qp(qp, test_post, &gone));
	for (int i = 2; i < 6; i++)
		ck_ok(al_dereg_mr(mr[i], test_post, &gone));
	sem_post(&held.out);
	for (int i = 0; i < 8; i++)
		test_wait(&gone);
	/* what precedes a region has taken effect when the region is revoked */
	ck_assert_str_eq(asked, "rrddqrrrrdddd");
	ck_assert_uint_gt(deregistered_at, revoked_at);
	ck_assert_uint_eq(reaper_grace_clock() - before, 2);
	bed_end(&bed);
}
END_TEST

START_TEST(regions_alone_take_the_one_grace_period_that_every_destroy_takes)
{
	struct bed bed = make_revoking_bed();
	uint64_t before;
	al_mr_h mr;

	ck_ok(try_mr(bed.pd, &mr));
	before = reaper_grace_clock();
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_assert_str_eq(asked, "rd");
	ck_assert_uint_gt(deregistered_at, revoked_at);
	ck_assert_uint_eq(reaper_grace_clock() - before, 1);
	bed_end(&bed);
}
END_TEST

/* -------------------------------------------------------- control under way */

/* A call that blocks in the module until the test releases it, and another call that waits for the first. */
struct control {
	struct bed bed;
	al_qp_h qp;
	al_mr_h mr;
	al_status status[2];
};

static atomic_uint under_way;
static atomic_bool met;     /* two calls were in the module at the same time */
static al_status (*fake_modify)(struct ci_qp *, const struct ib_qp_attr *, uint32_t, struct ci_udata *);
static void (*fake_deregister)(struct ci_mr *);

static void come_in(void)
{
	if (under_way++)
		met = true;
}

static al_status slow_modify(struct ci_qp *qp, const struct ib_qp_attr *attr, uint32_t mask, struct ci_udata *udata)
{
	al_status status;

	come_in();
	if (attr->qp_state != IB_QPS_RESET && !held.runs)
		gate_pass(&held);
	status = fake_modify(qp, attr, mask, udata);
	under_way--;
	return status;
}

static al_status slow_query(struct ci_mr *mr, struct ib_mr_attr *attr)
{
	(void)mr;
	(void)attr;
	come_in();
	if (!held.runs)
		gate_pass(&held);
	under_way--;
	return AL_SUCCESS;
}

static void deregister(struct ci_mr *mr)
{
	come_in();
	fake_deregister(mr);
	under_way--;
}

static void modify(struct crew *crew, unsigned int index)
{
	struct control *c = crew->arg;

	c->status[index] = test_modify(c->qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT);
}

static void query(struct crew *crew, unsigned int index)
{
	struct control *c = crew->arg;
	struct ib_mr_attr attr;

	c->status[index] = al_query_mr(c->mr, &attr);
}

static void make_control(struct control *c)
{
	struct fake *fake = test_fake();

	gate_init(&held);
	fake_modify = fake->ops.modify_qp;
	fake_deregister = fake->ops.deregister_mr;
	fake->ops.modify_qp = slow_modify;
	fake->ops.query_mr = slow_query;
	fake->ops.deregister_mr = deregister;
	c->bed = bed_make();
	ck_ok(try_mr(c->bed.pd, &c->mr));
	c->qp = bed_qp(c->bed.pd, bed_cq(c->bed.pd, 0, NULL, NULL), NULL, NULL);
}

/* True: every thread of the destroy threads' pool waits. */
static bool destroy_threads_sleep(void)
{
	char path[64], line[256];
	unsigned int found = 0, asleep = 0;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	FILE *file;

	ck_assert_ptr_nonnull(tasks);
	while ((task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", task->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(line, sizeof(line), file) && strstr(line, "(al-destroy-")) {
			found++;
			asleep += strchr(line, ')')[2] == 'S';
		}
		fclose(file);
	}
	closedir(tasks);
	ck_assert_uint_gt(found, 0);
	return found == asleep;
}

/*
 * obj: the object of both calls, with a reference of the test's, which this function drops. before: counter of the
 * operation that quiesces obj; the operation has been called `count` times when the next destroyed object ends.
 */
static void destroy_meanwhile(struct control *c, struct al_obj *obj, void (*work)(struct crew *, unsigned int),
			      al_status (*destroy)(struct control *c, sem_t *gone), const atomic_uint *before,
			      unsigned int count)
{
	atomic_uint *next_ends = &c->bed.fake->calls[FAKE_destroy_ah];
	struct crew crew;
	al_ah_h next;
	sem_t gone;

	sem_init(&gone, 0, 0);
	ck_ok(try_ah(c->bed.pd, &next));
	crew_make(&crew, 2, work, c);
	crew_go(&crew);
	test_wait(&held.in);
	while (atomic_load(&obj->refs) != 4) /* references: the object's own, the test's, and one of each call */
		sched_yield();
	ck_ok(destroy(c, &gone));
	ck_ok(al_destroy_ah(next, NULL, NULL));
	while (atomic_load(&obj->refs) != 3 || !destroy_threads_sleep())
		sched_yield();
	ck_assert(!met);
	sem_post(&held.out);
	crew_end(&crew);
	while (!*next_ends)
		sched_yield();
	ck_assert_uint_eq(*before, count); /* although the test still holds the object */
	obj_put(obj);
	test_wait(&gone);
	ck_assert(!met);
	ck_assert_int_eq((c->status[0] == AL_SUCCESS) + (c->status[1] == AL_SUCCESS), 1);
	ck_assert_int_eq((c->status[0] == AL_INVALID_HANDLE) + (c->status[1] == AL_INVALID_HANDLE), 1);
}

static al_status destroy_qp(struct control *c, sem_t *gone)
{
	return al_destroy_qp(c->qp, test_post, gone);
}

static al_status dereg_mr(struct control *c, sem_t *gone)
{
	return al_dereg_mr(c->mr, test_post, gone);
}

START_TEST(a_modification_under_way_ends_before_the_reset_and_later_ones_are_refused)
{
	struct control c;

	make_control(&c);
	destroy_meanwhile(&c, obj_get(c.qp, AL_OBJ_QP), modify, destroy_qp,
			  &c.bed.fake->calls[FAKE_modify_qp], 2);
	ck_assert_uint_eq(c.bed.fake->calls[FAKE_modify_qp], 2);
	bed_end(&c.bed);
	ck_assert_uint_eq(c.bed.fake->calls[FAKE_destroy_qp], 1);
}
END_TEST

START_TEST(a_query_under_way_ends_before_its_region_and_later_ones_are_refused)
{
	struct control c;

	make_control(&c);
	destroy_meanwhile(&c, obj_get(c.mr, AL_OBJ_MR), query, dereg_mr,
			  &c.bed.fake->calls[FAKE_deregister_mr], 1);
	bed_end(&c.bed);
	ck_assert_uint_eq(c.bed.fake->calls[FAKE_deregister_mr], 1);
}
END_TEST

/* --------------------------------------------------------- removal of an HCA */

/* A reader that enters a read section during a revocation, and stays until the destroy thread
 * waits. */
static struct {
	sem_t enter, entered;
	atomic_bool waiting; /* what the revoking thread waits for next is the grace period */
	atomic_bool left;
	bool had_left; /* when the region ended in the module */
} reader;

static void revoke_beside_reader(struct ci_mr *mr)
{
	(void)mr;
	sem_post(&reader.enter);
	test_wait(&reader.entered);
	atomic_store(&reader.waiting, true);
}

static void deregister_after_reader(struct ci_mr *mr)
{
	reader.had_left = atomic_load(&reader.left);
	note_deregister(mr);
}

static void read_until_the_destroy_thread_waits(struct crew *crew, unsigned int index)
{
	(void)crew;
	(void)index;
	test_wait(&reader.enter);
	rcu_enter();
	sem_post(&reader.entered);
	while (!atomic_load(&num_asked)) {
		if (atomic_load(&reader.waiting) && destroy_threads_sleep()) {
			atomic_store(&reader.left, true);
			break;
		}
		sched_yield();
	}
	rcu_leave();
}

START_TEST(regions_that_a_removal_finds_end_after_the_read_sections_that_may_know_them)
{
	struct fake *fake = test_fake();
	struct bed bed;
	struct crew crew;
	al_mr_h mr;

	sem_init(&reader.enter, 0, 0);
	sem_init(&reader.entered, 0, 0);
	module_deregister = fake->ops.deregister_mr;
	fake->ops.revoke_mr = revoke_beside_reader;
	fake->ops.deregister_mr = deregister_after_reader;
	bed = bed_make();
	ck_ok(try_mr(bed.pd, &mr));
	crew_make(&crew, 1, read_until_the_destroy_thread_waits, NULL);
	crew_go(&crew);
	bed_withdraw(&bed, 0);
	crew_end(&crew);
	ck_assert_uint_eq(num_asked, 1);
	ck_assert(reader.had_left);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(num_asked, 1);
	bed_end(&bed);
}
END_TEST

/* ---------------------------------------------------------------- destroying */

struct duel {
	al_cq_h cq;
	al_status status[2];
};

static void fight(struct crew *crew, unsigned int index)
{
	struct duel *duel = crew->arg;

	duel->status[index] = al_destroy_cq(duel->cq, NULL, NULL);
}

START_TEST(of_two_destroys_that_have_both_found_the_object_one_wins)
{
	struct bed bed = bed_make();
	struct duel duel = { .cq = bed_cq(bed.pd, 0, NULL, NULL) };
	struct al_obj *obj = obj_get(duel.cq, AL_OBJ_CQ);
	struct crew crew;

	pthread_mutex_lock(&tree_lock); /* neither call continues */
	crew_make(&crew, 2, fight, &duel);
	crew_go(&crew);
	while (atomic_load(&obj->refs) != 4) /* references: the object's own, the test's, and one of each call */
		sched_yield();
	pthread_mutex_unlock(&tree_lock);
	crew_end(&crew);
	obj_put(obj);
	ck_assert_int_eq((duel.status[0] == AL_SUCCESS) + (duel.status[1] == AL_SUCCESS), 1);
	ck_assert_int_eq((duel.status[0] == AL_INVALID_HANDLE) + (duel.status[1] == AL_INVALID_HANDLE), 1);
	bed_end(&bed);
	ck_assert_uint_eq(bed.fake->calls[FAKE_destroy_cq], 1);
}
END_TEST

static void keep_left(void *context, ib_log_level level, const char *text)
{
	if (level <= IB_LOG_WARNING && strstr(text, "left behind"))
		journal_add(context, text);
}

/* Loop: a client's object in the agent, and an object of the process itself. */
START_TEST(what_a_client_leaves_behind_in_the_agent_is_no_news)
{
	const struct al_open_attr attr = { .agent = "off", .config = "" };
	struct ci_client client = { .memory = -1, .pid = 1, .comm = "a client" };
	struct al_udata udata = { .ci.client = &client };
	struct bed bed = bed_make();
	struct journal log;
	al_h al;

	journal_init(&log);
	acting_for = _i ? NULL : &udata.ci;
	ck_ok(al_open(&attr, &al));
	test_open_ca(al, FAKE_GUID);
	al_set_log(keep_left, &log);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	acting_for = NULL;
	ck_assert_uint_eq(log.count, _i);
	bed_end(&bed);
}
END_TEST

/* ----------------------------------------------------------------- sizes */

/* A create that began before a removal continues with the module's operations, and its object has the module's size. */
START_TEST(an_object_has_the_modules_size_though_its_hca_goes_meanwhile)
{
	static const struct obj_type type = { .id = AL_OBJ_QP, .size = sizeof(struct al_obj), .ci = CI_OBJ_QP };
	struct bed bed = bed_make();
	struct al_dev *dev = dev_find(NULL, FAKE_GUID);
	const struct ci_interface *ops = dev_ops(dev);
	struct al_obj *pd = obj_get(bed.pd, AL_OBJ_PD), *obj;

	atomic_store(&dev->ops, &ci_dead_ca);
	ck_ok(obj_new(&type, pd, dev, NULL, &obj));
	ck_assert_uint_ge(malloc_usable_size(obj),
			  (size_t)((char *)obj->ci - (char *)obj) + sizeof(struct fake_qp));
	memset((char *)obj->ci + sizeof(struct ci_qp), 0xff, sizeof(struct fake_qp) - sizeof(struct ci_qp));
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

/* --------------------------------------------------------------- wait_log_seconds */

/* The first warning; longer than an entry of a journal. */
static char warning[1024];

static void keep_warnings(void *context, ib_log_level level, const char *text)
{
	if (level != IB_LOG_WARNING)
		return;
	if (!*warning)
		snprintf(warning, sizeof(warning), "%s", text);
	journal_add(context, text);
}

static void keep_waits(void *context, ib_log_level level, const char *text)
{
	if (strstr(text, "has waited"))
		keep_warnings(context, level, text);
}

static void let_go(struct crew *crew, unsigned int index)
{
	struct journal *log = crew->arg;

	(void)index;
	journal_wait(log, 1);
	sem_post(&held.out);
}

START_TEST(a_destroy_that_waits_long_is_logged_with_its_obstacles)
{
	struct bed bed = bed_make();
	struct journal log;
	struct crew crew;
	char qp_name[32];
	al_qp_h qp;

	wait_log_seconds = 1;
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

START_TEST(a_close_that_waits_long_names_what_still_uses_its_objects)
{
	struct bed bed = bed_make();
	al_ca_h other = test_open_ca(bed.al, FAKE_GUID);
	struct journal log;
	struct crew crew;
	char qp_name[32];
	al_pd_h pd;
	al_qp_h qp;

	wait_log_seconds = 1;
	gate_init(&held);
	journal_init(&log);
	ck_ok(al_alloc_pd(other, NULL, &pd));
	qp = bed_qp(bed.pd, bed_cq(pd, 0, NULL, NULL), &held, gate_event);
	snprintf(qp_name, sizeof(qp_name), "qp %#llx", (unsigned long long)(uintptr_t)qp);
	bed_object_event(bed.fake->last_qp->qp.ctx, IB_EVENT_COMM_EST);
	test_wait(&held.in);
	ck_ok(al_destroy_qp(qp, NULL, NULL));
	al_set_log(test_ignore_log, NULL);
	crew_make(&crew, 1, let_go, &log);
	crew_go(&crew);
	al_set_log(keep_waits, &log);
	ck_ok(al_close_ca(other, AL_DESTROY_SYNC, NULL));
	al_set_log(test_ignore_log, NULL);
	crew_end(&crew);
	ck_assert_ptr_nonnull(strstr(warning, "destroying ca"));
	ck_assert_ptr_nonnull(strstr(warning, qp_name));
	bed_end(&bed);
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

	wait_log_seconds = 1;
	gate_init(&held);
	journal_init(&log);
	ck_ok(al_reg_pnp(bed.al, NULL, NULL, stay_in_remove, &pnp));
	crew_make(&crew, 1, let_go, &log);
	crew_go(&crew);
	al_set_log(keep_warnings, &log);
	bed.fake->withdraw(0, 0);
	al_set_log(NULL, NULL);
	crew_end(&crew);
	ck_assert_ptr_nonnull(strstr(warning, "removal of HCA 0x00feed0000000001 has waited 1 s"));
	ck_assert_ptr_nonnull(strstr(warning, program_invocation_short_name));
	bed_end(&bed);
}
END_TEST

static al_status stay_in_add(void *context, const struct al_pnp_event *event)
{
	(void)context;
	if (event->type == AL_PNP_CA_ADD)
		gate_pass(&held);
	return AL_SUCCESS;
}

START_TEST(a_removal_waits_for_an_add_that_runs)
{
	struct bed bed = { .fake = test_fake(), .al = test_open() };
	struct journal log;
	struct crew crew;
	al_pnp_h pnp;

	wait_log_seconds = 1;
	gate_init(&held);
	journal_init(&log);
	bed.fake->withdraw(0, 0);
	ck_ok(al_reg_pnp(bed.al, NULL, NULL, stay_in_add, &pnp));
	ck_ok(bed.fake->announce(0));
	test_wait(&held.in);
	crew_make(&crew, 1, let_go, &log);
	crew_go(&crew);
	al_set_log(keep_waits, &log);
	bed.fake->withdraw(0, 0);
	al_set_log(NULL, NULL);
	crew_end(&crew);
	ck_assert_ptr_nonnull(strstr(warning, "removal of HCA 0x00feed0000000001 has waited 1 s"));
	ck_assert_uint_eq(held.returned, 1);
	bed_end(&bed);
}
END_TEST

static void withdraw_first(struct crew *crew, unsigned int index)
{
	struct bed *bed = crew->arg;

	(void)index;
	bed->fake->withdraw(0, 0);
}

/* Waits until the log has this message. */
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

	wait_log_seconds = 1;
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
	ck_assert_ptr_nonnull(strstr(log.entry[0], "removal of HCA 0x00feed0000000001 has waited 1 s"));
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

/* The interval of warnings is off: an end that does not wake the removal leaves the removal waiting. */
START_TEST(the_end_of_what_a_removal_waits_for_wakes_it)
{
	struct bed bed = bed_make();
	struct al_pnp_attr attr = { 0 };
	struct al_channel_event event;
	struct crew crew;
	al_pnp_h pnp;

	wait_log_seconds = 1000000;
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_create_channel(bed.al, NULL, &attr.channel));
	ck_ok(al_reg_pnp(bed.al, &attr, NULL, NULL, &pnp));
	while (al_channel_next(attr.channel, &event) == AL_SUCCESS)
		;
	crew_make(&crew, 1, withdraw_first, &bed);
	crew_go(&crew);
	while (al_channel_next(attr.channel, &event))
		sched_yield();
	ck_assert_int_eq(event.pnp.type, AL_PNP_CA_REMOVE);
	bed_settle(bed.ca);
	if (_i == 0)
		ck_status(al_channel_next(attr.channel, &event), AL_NOT_FOUND);
	else if (_i == 1)
		ck_ok(al_dereg_pnp(pnp, AL_DESTROY_SYNC, NULL));
	else
		ck_ok(al_close(bed.al, AL_DESTROY_SYNC, NULL));
	crew_end(&crew);
	if (_i != 2)
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

	wait_log_seconds = 1;
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
	tcase_add_test(tc, regions_are_revoked_in_their_turn_and_share_a_grace_period);
	tcase_add_test(tc, regions_alone_take_the_one_grace_period_that_every_destroy_takes);
	tcase_add_test(tc,
		       regions_that_a_removal_finds_end_after_the_read_sections_that_may_know_them);
	tcase_add_test(tc, an_object_has_the_modules_size_though_its_hca_goes_meanwhile);
	tcase_add_test(tc, calls_on_a_removed_hca_do_not_count_as_in_progress);
	tcase_add_test(tc, of_two_destroys_that_have_both_found_the_object_one_wins);
	tcase_add_loop_test(tc, what_a_client_leaves_behind_in_the_agent_is_no_news, 0, 2);
	suite_add_tcase(suite, tc);
	tc = tcase_create("control");
	tcase_add_test(tc, a_modification_under_way_ends_before_the_reset_and_later_ones_are_refused);
	tcase_add_test(tc, a_query_under_way_ends_before_its_region_and_later_ones_are_refused);
	suite_add_tcase(suite, tc);
	tc = tcase_create("wait_log_seconds");
	tcase_add_test(tc, a_destroy_that_waits_long_is_logged_with_its_obstacles);
	tcase_add_test(tc, a_close_that_waits_long_names_what_still_uses_its_objects);
	tcase_add_test(tc, a_removal_that_waits_long_names_its_client);
	tcase_add_test(tc, a_removal_waits_for_an_add_that_runs);
	tcase_add_test(tc, a_removal_that_waits_long_names_the_channel_and_what_its_reader_has_to_do);
	tcase_add_loop_test(tc, the_end_of_what_a_removal_waits_for_wakes_it, 0, 3);
	tcase_add_test(tc, a_removal_that_waits_long_for_calls_names_their_module);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
