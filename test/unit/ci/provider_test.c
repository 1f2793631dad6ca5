/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/provider.c: which user-mode provider is found for a module, and refusals and their messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iba/ib_uvp.h>

#include "test/unit/ci/support.h"

static void look_in(const char *path)
{
	support_start();
	ck_assert_int_eq(setenv("IBAL_UVP_PATH", path, 1), 0);
	log_clear();
}

START_TEST(a_provider_is_found_by_its_modules_name_and_loaded_once)
{
	const struct uvp_interface *hooks;

	look_in("/nowhere:" PROVIDER_DIR);
	hooks = ci_provider("fake");
	ck_assert_ptr_nonnull(hooks);
	ck_assert_ptr_nonnull(hooks->pre_create_cq);
	ck_assert_ptr_null(hooks->poll_cq);
	ck_assert_ptr_eq(ci_provider("fake"), hooks);
	ck_assert_uint_eq(log_count(0), 0);
}
END_TEST

START_TEST(the_key_uvp_path_names_the_directories)
{
	const char *conf = temp_file("ibal.conf", "[ibal]\nuvp_path = /nowhere:" PROVIDER_DIR "\n");

	support_start();
	unsetenv("IBAL_UVP_PATH");
	ck_assert_int_eq(ci_conf_load(conf), AL_SUCCESS);
	ck_assert_ptr_nonnull(ci_provider("fake"));
	/* The variable has precedence. */
	ck_assert_int_eq(setenv("IBAL_UVP_PATH", "/nowhere", 1), 0);
	ck_assert_ptr_null(ci_provider("name"));
	ck_assert(!log_has(0, "name", NULL));
}
END_TEST

START_TEST(where_there_is_none_nothing_is_said)
{
	look_in("");
	ck_assert_ptr_null(ci_provider("fake"));
	ck_assert_ptr_null(ci_provider("other"));
	ck_assert_uint_eq(log_count(0), 0);
}
END_TEST

START_TEST(a_name_that_is_no_modules_finds_no_file)
{
	static const char *const names[] = { "", "../provider/fake", "fake.so", "Fake", "a/b",
					     "a-name-of-more-than-thirty-one-characters" };

	char outside[64];

	look_in(PROVIDER_DIR);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_ptr_null(ci_provider(names[i]));
	/* A name that leads out of the directory to a file that exists. */
	snprintf(outside, sizeof(outside), "..%s/fake", strrchr(PROVIDER_DIR, '/'));
	ck_assert_ptr_null(ci_provider(outside));
	ck_assert_uint_eq(log_count(0), 0);
}
END_TEST

static const struct {
	const char *name, *words;
} odd[] = {
	{ "abi", "rebuild" },
	{ "name", "\"another\"" },
	{ "flags", "flags must be 0" },
	{ "noops", "ops is NULL" },
	{ "hookflags", "only CI_SERIALISE_CQ" },
	{ "sizes", "struct ci_cq is 8" },
	{ "init", "init failed" },
};

START_TEST(an_unusable_provider_is_logged_and_not_used)
{
	look_in(PROVIDER_DIR);
	ck_assert_ptr_null(ci_provider(odd[_i].name));
	ck_assert_msg(log_has(IB_LOG_ERROR, odd[_i].name, odd[_i].words, "used without", NULL), "%s: not said so",
		      odd[_i].name);
	/* The message comes only once. */
	log_clear();
	ck_assert_ptr_null(ci_provider(odd[_i].name));
	ck_assert_uint_eq(log_count(0), 0);
}
END_TEST

START_TEST(a_file_that_is_no_provider_is_refused)
{
	temp_file("text.so", "this is no shared object\n");
	look_in(temp_dir());
	ck_assert_ptr_null(ci_provider("text"));
	ck_assert(log_has(IB_LOG_ERROR, "text", "used without", NULL));
	/* A module is no provider. */
	ck_assert_int_eq(setenv("IBAL_UVP_PATH", FAKE_DIR, 1), 0);
	ck_assert_ptr_null(ci_provider("fake"));
	ck_assert(log_has(IB_LOG_ERROR, "fake", "no symbol uvp_module", "no user-mode provider", NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("provider");
	TCase *tc = tcase_create("provider");

	tcase_add_test(tc, a_provider_is_found_by_its_modules_name_and_loaded_once);
	tcase_add_test(tc, the_key_uvp_path_names_the_directories);
	tcase_add_test(tc, where_there_is_none_nothing_is_said);
	tcase_add_test(tc, a_name_that_is_no_modules_finds_no_file);
	tcase_add_loop_test(tc, an_unusable_provider_is_logged_and_not_used, 0,
			    sizeof(odd) / sizeof(odd[0]));
	tcase_add_test(tc, a_file_that_is_no_provider_is_refused);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
