/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The address handles that a port keeps for its sends. The test makes and destroys the handles. */
#include "al/mgmt/path.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

static char handles[64]; /* a handle is the address of its element */
static unsigned int made, destroyed;
static bool gone[64];
static al_status outcome;
static struct mgmt_paths paths;

al_status al_create_ah(al_pd_h pd, const struct ib_ah_attr *attr, al_ah_h *ah)
{
	(void)pd, (void)attr;
	if (!outcome)
		*ah = (al_ah_h)(void *)&handles[made++];
	return outcome;
}

al_status al_destroy_ah(al_ah_h ah, al_destroyed_cb cb, void *context)
{
	const unsigned int which = (unsigned int)((char *)ah - handles);

	(void)cb, (void)context;
	ck_assert_uint_lt(which, made);
	ck_assert(!gone[which]);
	gone[which] = true;
	destroyed++;
	return AL_SUCCESS;
}

static struct mgmt_hold take(const struct ib_ah_attr *attr)
{
	struct mgmt_hold hold;

	ck_assert_int_eq(paths_take(&paths, NULL, attr, &hold), AL_SUCCESS);
	return hold;
}

static struct mgmt_hold take_lid(uint16_t dlid)
{
	return take(&(struct ib_ah_attr){ .dlid = dlid, .port_num = 1 });
}

static void begin(void)
{
	paths_init(&paths);
}

START_TEST(sends_to_one_address_share_a_handle)
{
	struct mgmt_hold a, b, c;

	begin();
	a = take_lid(7);
	b = take_lid(7);
	c = take_lid(8);
	ck_assert_ptr_eq(a.ah, b.ah);
	ck_assert_ptr_ne(a.ah, c.ah);
	paths_drop(&paths, &a);
	paths_drop(&paths, &b);
	ck_assert_uint_eq(destroyed, 0);
	a = take_lid(7); /* also after the last send has ended */
	ck_assert_ptr_eq(a.ah, b.ah);
	ck_assert_uint_eq(made, 2);
}
END_TEST

/* _i: the member that differs. */
START_TEST(paths_that_differ_in_anything_have_handles_of_their_own)
{
	struct ib_ah_attr attr = { .dlid = 7, .sl = 1, .static_rate = 2, .port_num = 1 };
	struct mgmt_hold first, second;

	begin();
	first = take(&attr);
	attr.dlid += _i == 0;
	attr.sl += _i == 1;
	attr.static_rate += _i == 2;
	attr.port_num += _i == 3;
	second = take(&attr);
	ck_assert_ptr_ne(first.ah, second.ah);
}
END_TEST

/* What a module checks by the port's tables is not kept: _i: a GID index, low bits of the source
 * LID. */
START_TEST(handles_that_depend_on_tables_are_made_for_each_send)
{
	const struct ib_ah_attr attr = {
		.dlid = 7, .port_num = 1, .is_global = _i == 0, .src_path_bits = _i == 1
	};
	struct mgmt_hold first, second;

	begin();
	first = take(&attr);
	second = take(&attr);
	ck_assert_ptr_ne(first.ah, second.ah);
	paths_drop(&paths, &first);
	ck_assert_uint_eq(destroyed, 1);
	paths_drop(&paths, &second);
	ck_assert_uint_eq(destroyed, 2);
}
END_TEST

START_TEST(the_handle_that_was_used_longest_ago_makes_room)
{
	struct mgmt_hold hold[MGMT_PATHS], again, more;
	uint16_t i;

	begin();
	for (i = 0; i < MGMT_PATHS; i++)
		hold[i] = take_lid((uint16_t)(i + 1));
	for (i = 0; i < MGMT_PATHS; i++)
		paths_drop(&paths, &hold[i]);
	again = take_lid(1);
	paths_drop(&paths, &again); /* now that of LID 2 is the oldest */
	more = take_lid(100);
	ck_assert_uint_eq(destroyed, 1);
	ck_assert(gone[1]);
	again = take_lid(1);
	ck_assert_ptr_eq(again.ah, hold[0].ah);
	paths_drop(&paths, &more);
}
END_TEST

START_TEST(a_handle_in_use_is_never_destroyed)
{
	struct mgmt_hold hold[MGMT_PATHS], more, same;
	uint16_t i;

	begin();
	for (i = 0; i < MGMT_PATHS; i++)
		hold[i] = take_lid((uint16_t)(i + 1));
	more = take_lid(100); /* no entry is without sends: the handle is the send's own */
	ck_assert_uint_eq(destroyed, 0);
	same = take_lid(100);
	ck_assert_ptr_ne(more.ah, same.ah);
	paths_drop(&paths, &more);
	paths_drop(&paths, &same);
	ck_assert_uint_eq(destroyed, 2);
	paths_drop(&paths, &hold[3]);
	more = take_lid(101);
	ck_assert(gone[3]);
	ck_assert_uint_eq(destroyed, 3);
	paths_drop(&paths, &more);
}
END_TEST

START_TEST(a_handle_that_can_not_be_made_leaves_nothing)
{
	struct mgmt_hold hold;

	begin();
	outcome = AL_INSUFFICIENT_MEMORY;
	ck_assert_int_eq(paths_take(&paths, NULL, &(struct ib_ah_attr){ .dlid = 1 }, &hold),
			 AL_INSUFFICIENT_MEMORY);
	outcome = AL_SUCCESS;
	hold = take_lid(1);
	ck_assert_uint_eq(made, 1);
	paths_drop(&paths, &hold);
	ck_assert_uint_eq(destroyed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/mgmt/path");
	TCase *tcase = tcase_create("paths");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, sends_to_one_address_share_a_handle);
	tcase_add_loop_test(tcase, paths_that_differ_in_anything_have_handles_of_their_own, 0, 4);
	tcase_add_loop_test(tcase, handles_that_depend_on_tables_are_made_for_each_send, 0, 2);
	tcase_add_test(tcase, the_handle_that_was_used_longest_ago_makes_room);
	tcase_add_test(tcase, a_handle_in_use_is_never_destroyed);
	tcase_add_test(tcase, a_handle_that_can_not_be_made_leaves_nothing);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
