/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every function that makes an object, with each of its allocations failing in turn: the function returns a status,
 * and leaves nothing behind.
 */
#include "test/unit/al/al_test.h"

#include <limits.h>
#include <malloc.h>

static struct fake *fake;
static al_h al, made_al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;
static al_channel_h channel;
static void *made;
static uint32_t lkey, rkey;
static char memory[64];

static void set_up(void)
{
	struct al_cq_init init = { .cqe = 4 };

	al_set_log(test_ignore_log, NULL);
	fake = test_fake();
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
	ck_ok(al_create_channel(al, NULL, &channel));
}

static void tear_down(void)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static al_status ignore_pnp(void *context, const struct al_pnp_event *event)
{
	(void)context;
	(void)event;
	return AL_SUCCESS;
}

/* ------------------------------------------ functions that create objects */

static al_status make_al(void)
{
	const struct al_open_attr attr = { .agent = "off", .config = "" };

	return al_open(&attr, &made_al);
}
static al_status end_al(void)
{
	return al_close(made_al, AL_DESTROY_SYNC, NULL);
}

static al_status make_ca(void)
{
	return al_open_ca(al, FAKE_GUID, NULL, (al_ca_h *)&made);
}
static al_status end_ca(void)
{
	return al_close_ca(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_pd(void)
{
	return al_alloc_pd(ca, NULL, (al_pd_h *)&made);
}
static al_status end_pd(void)
{
	return al_dealloc_pd(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_ah(void)
{
	return al_create_ah(pd, &(const struct ib_ah_attr){ .dlid = 1, .port_num = 1 }, (al_ah_h *)&made);
}
static al_status end_ah(void)
{
	return al_destroy_ah(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_mr(void)
{
	return al_reg_mr(pd, &(const struct al_mr_init){ .addr = memory, .length = 64 }, NULL, &lkey, &rkey,
			 (al_mr_h *)&made);
}
static al_status end_mr(void)
{
	return al_dereg_mr(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_cq(void)
{
	return al_create_cq(pd, &(struct al_cq_init){ .cqe = 4 }, NULL, test_post, NULL, (al_cq_h *)&made);
}
static al_status make_cq_on_channel(void)
{
	return al_create_cq(pd, &(struct al_cq_init){ .cqe = 4, .channel = channel }, NULL, NULL, NULL,
			    (al_cq_h *)&made);
}
static al_status end_cq(void)
{
	return al_destroy_cq(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_qp(void)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 }, .send_cq = cq, .recv_cq = cq
	};

	return al_create_qp(pd, &init, NULL, test_ignore_event, (al_qp_h *)&made);
}
static al_status end_qp(void)
{
	return al_destroy_qp(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_channel(void)
{
	return al_create_channel(al, NULL, (al_channel_h *)&made);
}
static al_status end_channel(void)
{
	return al_destroy_channel(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_pnp(void)
{
	return al_reg_pnp(al, &(const struct al_pnp_attr){ .ports = true }, NULL, ignore_pnp, (al_pnp_h *)&made);
}
static al_status make_pnp_on_channel(void)
{
	return al_reg_pnp(al, &(const struct al_pnp_attr){ .channel = channel }, NULL, NULL, (al_pnp_h *)&made);
}
static al_status end_pnp(void)
{
	return al_dereg_pnp(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_handler(void)
{
	return al_reg_event_handler(ca, NULL, NULL, test_ignore_event, (al_event_handler_h *)&made);
}
static al_status make_handler_on_channel(void)
{
	return al_reg_event_handler(ca, channel, NULL, NULL, (al_event_handler_h *)&made);
}
static al_status end_handler(void)
{
	return al_dereg_event_handler(made, AL_DESTROY_SYNC, NULL);
}

static al_status make_snapshot(void)
{
	return al_snapshot(al, (struct al_snapshot **)&made);
}
static al_status end_snapshot(void)
{
	al_free_snapshot(made);
	return AL_SUCCESS;
}

static al_status make_hca(void)
{
	return fake->announce(1);
}
static al_status end_hca(void)
{
	fake->withdraw(1, 0);
	return AL_SUCCESS;
}

static const struct maker {
	const char *name;
	al_status (*make)(void);
	al_status (*end)(void);
} makers[] = {
	{ "al_open", make_al, end_al },
	{ "al_open_ca", make_ca, end_ca },
	{ "al_alloc_pd", make_pd, end_pd },
	{ "al_create_ah", make_ah, end_ah },
	{ "al_reg_mr", make_mr, end_mr },
	{ "al_create_cq", make_cq, end_cq },
	{ "al_create_cq with a channel", make_cq_on_channel, end_cq },
	{ "al_create_qp", make_qp, end_qp },
	{ "al_create_channel", make_channel, end_channel },
	{ "al_reg_pnp", make_pnp, end_pnp },
	{ "al_reg_pnp with a channel", make_pnp_on_channel, end_pnp },
	{ "al_reg_event_handler", make_handler, end_handler },
	{ "al_reg_event_handler with a channel", make_handler_on_channel, end_handler },
	{ "al_snapshot", make_snapshot, end_snapshot },
	{ "ib_register_ci", make_hca, end_hca },
};
#define MAKERS (sizeof(makers) / sizeof(makers[0]))
#define REGISTRATION (MAKERS - 1) /* of an HCA: a module registers; clients make all others */

/* ------------------------------------------------------------------- counts */

/* Counts everything that can be counted. */
static size_t everything(void)
{
	size_t guids = 0, objects = test_count(al, AL_OBJ_NONE);

	al_get_ca_guids(al, NULL, &guids);
	for (int op = 0; op < FAKE_OPS; op++)
		ck_assert(!fake->fail[op]);
	return objects + 1000 * guids;
}

/* Number of objects that the module was asked to create, less those that the module was asked to destroy. */
static int in_module(void)
{
	return (int)(fake->calls[FAKE_open_ca] - fake->calls[FAKE_close_ca] + fake->calls[FAKE_allocate_pd] -
		     fake->calls[FAKE_deallocate_pd] + fake->calls[FAKE_create_ah] - fake->calls[FAKE_destroy_ah] +
		     fake->calls[FAKE_register_mr] - fake->calls[FAKE_deregister_mr]);
}

/* Fails the n-th allocation of a maker. False: the maker has fewer allocations, and has succeeded. */
static bool fail_at(const struct maker *maker, uint64_t n)
{
	al_status status;

	al_fail_alloc(n);
	status = maker->make();
	if (al_fail_alloc(0)) {
		ck_assert_msg(status == AL_SUCCESS, "%s: %s", maker->name, al_status_name(status));
		return false;
	}
	ck_assert_msg(status == AL_INSUFFICIENT_MEMORY, "%s without its allocation %d: %s", maker->name, (int)n,
		      al_status_name(status));
	return true;
}

static void fail_each_in_turn(const struct maker *maker)
{
	size_t before = everything();
	int module = in_module();
	uint64_t n = 1;

	while (fail_at(maker, n)) {
		ck_assert_uint_eq(everything(), before);
		ck_assert_int_eq(in_module(), module);
		ck_assert_uint_lt(n++, 1000);
	}
	ck_assert_msg(n > 1, "%s allocates nothing by al_alloc()", maker->name);
	ck_ok(maker->end());
	ck_assert_uint_eq(everything(), before);
	ck_assert_int_eq(in_module(), module);
}

START_TEST(without_any_of_its_allocations_it_fails_and_leaves_nothing)
{
	fail_each_in_turn(&makers[_i]);
}
END_TEST

START_TEST(without_any_of_its_allocations_a_registration_fails_and_leaves_nothing)
{
	fail_each_in_turn(&makers[REGISTRATION]);
}
END_TEST

#define TIMES  2000
#define ROUNDS 4

/* Fails the n-th allocation so often. Returns the bytes by which the process's memory in use has grown. */
static long growth(const struct maker *maker, uint64_t n, int times)
{
	const size_t before = mallinfo2().uordblks;

	for (int i = 0; i < times; i++)
		fail_at(maker, n);
	return (long)(mallinfo2().uordblks - before);
}

/*
 * Sanitizers find leaks better; this test finds leaks in every build. A leak is in every round. What else grows is in
 * some: memory that the allocator keeps for a thread that has just begun, of the agent's, too, which is in this
 * process in a user role, and what such a thread has not yet freed.
 */
START_TEST(failing_over_and_over_uses_no_memory_up)
{
	const struct maker *maker = &makers[_i];
	uint64_t allocations = 1;

	while (fail_at(maker, allocations))
		allocations++;
	ck_ok(maker->end());
	for (uint64_t n = 1; n < allocations; n++) {
		long grown = LONG_MAX;

		growth(maker, n, TIMES / 4);
		for (int round = 0; round < ROUNDS && grown >= TIMES * 16; round++)
			grown = growth(maker, n, TIMES);
		ck_assert_msg(grown < TIMES * 16, "%s without its allocation %d leaks %ld", maker->name, (int)n,
			      grown);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/alloc");
	TCase *tcase = tcase_create("allocations that fail");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, without_any_of_its_allocations_it_fails_and_leaves_nothing, 0, REGISTRATION);
	tcase_add_test(tcase, without_any_of_its_allocations_a_registration_fails_and_leaves_nothing);
	tcase_add_loop_test(tcase, failing_over_and_over_uses_no_memory_up, 0, MAKERS);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
