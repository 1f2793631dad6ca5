/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/alloc.c: zeroed memory, alignment, and the countdown to a failure. */
#include <string.h>

#include "test/unit/ci/support.h"

static bool all_zero(const void *mem, size_t size)
{
	const char *c = mem;

	return !size || (!c[0] && !memcmp(c, c + 1, size - 1));
}

START_TEST(memory_is_zeroed_and_aligned)
{
	/* Twice, so that the second round gets memory that the first round has freed. */
	for (int i = 0; i < 2; i++) {
		for (size_t size = 1; size < 10000; size = size * 3 + 1) {
			char *mem = al_alloc(size);
			char *aligned = al_alloc_aligned(256, size);

			ck_assert_uint_eq((uintptr_t)mem % 16, 0);
			ck_assert_uint_eq((uintptr_t)aligned % 256, 0);
			ck_assert(all_zero(mem, size) && all_zero(aligned, size));
			memset(mem, 0xee, size);
			memset(aligned, 0xee, size);
			al_free(mem);
			al_free(aligned);
		}
	}
	al_free(NULL);
}
END_TEST

START_TEST(small_alignments_are_possible)
{
	void *mem = al_alloc_aligned(1, 1);

	ck_assert_ptr_nonnull(mem);
	al_free(mem);
}
END_TEST

START_TEST(exactly_the_nth_allocation_fails)
{
	void *mem[4];

	ck_assert_uint_eq(al_fail_alloc(3), 0);
	mem[0] = al_alloc(1);
	mem[1] = al_alloc_aligned(64, 1);
	mem[2] = al_alloc(1);
	mem[3] = al_alloc(1);
	ck_assert(mem[0] && mem[1] && !mem[2] && mem[3]);
	ck_assert_uint_eq(al_fail_alloc(0), 0);
	for (int i = 0; i < 4; i++)
		al_free(mem[i]);
}
END_TEST

START_TEST(aligned_allocation_fails_too)
{
	al_fail_alloc(1);
	ck_assert_ptr_null(al_alloc_aligned(64, 64));
}
END_TEST

START_TEST(says_how_many_were_still_to_come)
{
	al_fail_alloc(5);
	al_free(al_alloc(1));
	ck_assert_uint_eq(al_fail_alloc(0), 4);
	ck_assert_uint_eq(al_fail_alloc(0), 0);
}
END_TEST

static void *allocate(void *unused)
{
	(void)unused;
	return al_alloc(1);
}

START_TEST(countdown_is_of_one_thread)
{
	pthread_t thread;
	void *mem;

	al_fail_alloc(1);
	ck_assert_int_eq(pthread_create(&thread, NULL, allocate, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &mem), 0);
	ck_assert_ptr_nonnull(mem);
	al_free(mem);
	ck_assert_uint_eq(al_fail_alloc(0), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alloc");
	TCase *tc = tcase_create("alloc");

	tcase_add_test(tc, memory_is_zeroed_and_aligned);
	tcase_add_test(tc, small_alignments_are_possible);
	tcase_add_test(tc, exactly_the_nth_allocation_fails);
	tcase_add_test(tc, aligned_allocation_fails_too);
	tcase_add_test(tc, says_how_many_were_still_to_come);
	tcase_add_test(tc, countdown_is_of_one_thread);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
