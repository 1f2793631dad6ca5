/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test/unit/scale.h"

#include <check.h>

START_TEST(a_limit_is_multiplied_by_any_scale_above_none)
{
	static const struct {
		const char *scale;
		long ms;
	} rows[] = {
		{ "1", 5000 }, { "4", 20000 }, { "0.5", 2500 }, { "2.5", 12500 },
		{ "", 5000 },  { "0", 5000 },  { "-1", 5000 },	{ "much", 5000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(setenv("TEST_TIMEOUT_SCALE", rows[i].scale, 1), 0);
		ck_assert_int_eq(test_scaled_ms(5000), rows[i].ms);
	}
	unsetenv("TEST_TIMEOUT_SCALE");
	ck_assert_int_eq(test_scaled_ms(5000), 5000);
}
END_TEST

START_TEST(milliseconds_carry_into_seconds)
{
	struct timespec t = { .tv_sec = 7, .tv_nsec = 600000000 };

	test_add_ms(&t, 2500);
	ck_assert_int_eq(t.tv_sec, 10);
	ck_assert_int_eq(t.tv_nsec, 100000000);
	test_add_ms(&t, 899);
	ck_assert_int_eq(t.tv_sec, 10);
	ck_assert_int_eq(t.tv_nsec, 999000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("test/unit/scale");
	TCase *tcase = tcase_create("scale");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_limit_is_multiplied_by_any_scale_above_none);
	tcase_add_test(tcase, milliseconds_carry_into_seconds);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
