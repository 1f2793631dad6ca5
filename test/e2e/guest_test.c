/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libibal as a guest in a program that loads it at run time: properties of the shared object
 * itself, before any function is called. The functions are tested elsewhere.
 */
#include <check.h>
#include <dlfcn.h>
#include <stdlib.h>

START_TEST(library_stays_mapped_after_dlclose)
{
	void *lib = dlopen(LIBIBAL, RTLD_NOW | RTLD_LOCAL);

	ck_assert_msg(lib, "%s", dlerror());
	ck_assert_int_eq(dlclose(lib), 0);
	ck_assert_ptr_nonnull(dlopen(LIBIBAL, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guest");
	TCase *tc = tcase_create("shared object");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, library_stays_mapped_after_dlclose);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
