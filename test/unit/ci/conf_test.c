/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ci/conf.c: ibal.conf and the environment; every mistake in them is refused by name. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/ci/support.h"

static const char *path;

static al_status load(const char *content)
{
	path = temp_file("ibal.conf", content);
	return ci_conf_load(path);
}

static bool known(const char *module, void *ctx)
{
	(void)ctx;
	return !strcmp(module, "soft");
}

START_TEST(values_of_the_library_are_found)
{
	ck_assert_int_eq(
		load("# a comment\n[ibal]\nmodules = soft;other\nmodule_path=/a:/b\nagent=off\nagent_wait=86400\n"),
		AL_SUCCESS);
	ck_assert_str_eq(ci_conf_get("modules"), "soft;other");
	ck_assert_str_eq(ci_conf_get("module_path"), "/a:/b");
	ck_assert_str_eq(ci_conf_get("agent"), "off");
	ck_assert_str_eq(ci_conf_get("agent_wait"), "86400");
	ck_assert_ptr_null(ci_conf_get("pci_dump"));
	ck_assert_ptr_null(ci_conf_get("no such key"));
}
END_TEST

START_TEST(nothing_is_known_before_it_is_read)
{
	ck_assert_ptr_null(ci_conf_get("modules"));
}
END_TEST

START_TEST(mistakes_are_refused_by_name)
{
	static const struct {
		const char *content, *word[3];
	} wrong[] = {
		{ "[ibal]\nmodulepath=/a\n", { "[ibal]", "modulepath", "ibal.conf(5)" } },
		{ "[ibal]\nlog=loud\n", { "[ibal] log", "loud", "error, warning, info or debug" } },
		{ "[ibal]\nagent_wait=0\n",
		  { "[ibal] agent_wait", "0", "seconds from 1 to 86400" } },
		{ "[ibal]\nnonsense\n", { "nonsense", "", "" } },
		{ "key=value\n", { "correct the file", "", "" } },
		{ "[soft]\nkey=\\q\n", { "[soft] key", "correct the value", "" } },
		{ "[ibal\n", { "correct the file", "", "" } },
	};

	support_start();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		log_clear();
		ck_assert_int_eq(load(wrong[i].content), AL_BAD_CONFIG);
		ck_assert(log_has(IB_LOG_ERROR, path, wrong[i].word[0], wrong[i].word[1],
				  wrong[i].word[2], NULL));
		ck_assert_uint_eq(log_count(IB_LOG_ERROR), 1);
		ck_assert_ptr_null(ci_conf_get("log"));
	}
	/* The next correct configuration is read. */
	ck_assert_int_eq(load("[ibal]\nlog=info\n"), AL_SUCCESS);
	ck_assert_str_eq(ci_conf_get("log"), "info");
}
END_TEST

START_TEST(a_file_asked_for_must_be_there)
{
	support_start();
	ck_assert_int_eq(ci_conf_load("/nonexistent/ibal.conf"), AL_BAD_CONFIG);
	ck_assert(
		log_has(IB_LOG_ERROR, "/nonexistent/ibal.conf", "No such file", "IBAL_CONF", NULL));
	setenv("IBAL_CONF", "/nonexistent/env.conf", 1);
	ck_assert_int_eq(ci_conf_load(NULL), AL_BAD_CONFIG);
	ck_assert(log_has(IB_LOG_ERROR, "/nonexistent/env.conf", NULL));
}
END_TEST

START_TEST(the_callers_configuration_file_goes_first)
{
	setenv("IBAL_CONF", temp_file("env.conf", "[ibal]\nagent=env\n"), 1);
	ck_assert_int_eq(ci_conf_load(NULL), AL_SUCCESS);
	ck_assert_str_eq(ci_conf_get("agent"), "env");
	ck_assert_int_eq(load("[ibal]\nagent=call\n"), AL_SUCCESS);
	ck_assert_str_eq(ci_conf_get("agent"), "call");
	ck_assert_int_eq(ci_conf_load(""), AL_SUCCESS);
	ck_assert_ptr_null(ci_conf_get("agent"));
	ci_conf_settle();
	ck_assert_int_eq(load("[ibal]\nagent=late\n"), AL_INVALID_STATE);
	ck_assert_ptr_null(ci_conf_get("agent"));
	ck_assert_int_eq(ci_conf_load(""), AL_SUCCESS);
	ck_assert_int_eq(ci_conf_load(NULL), AL_SUCCESS);
	ck_assert_ptr_null(ci_conf_get("agent"));
}
END_TEST

START_TEST(groups_belong_to_modules_that_are_there)
{
	static const char *const wrong[] = { "[sofd]\nkey=1\n",
					     "[soft]\nkey=1\n[hard hca A]\nkey=1\n",
					     "[hard hca A]\n" };

	support_start();
	ck_assert_int_eq(load("[soft]\n[soft hca A]\nkey=1\n"), AL_SUCCESS);
	ck_assert_int_eq(ci_conf_check_groups(known, NULL), AL_SUCCESS);
	for (int i = 0; i < 3; i++) {
		log_clear();
		ck_assert_int_eq(load(wrong[i]), AL_SUCCESS);
		ck_assert_int_eq(ci_conf_check_groups(known, NULL), AL_BAD_CONFIG);
		ck_assert(log_has(IB_LOG_ERROR, path, i ? "[hard hca A]" : "[sofd] key",
				  "IBAL_MODULE_PATH", NULL));
	}
}
END_TEST

START_TEST(settings_reach_their_module_in_order)
{
	static const struct ci_param expected[] = {
		{ "", "hcas", "2", "file" },          { "hca A", "guid", "0x1", "file" },
		{ "hca A", "name", "a b", "file" },   { "", "hcas", "3", "IBAL_SOFT" },
		{ "hca B", "lid", "7", "IBAL_SOFT" }, { "", "mtu", "", "IBAL_SOFT" },
	};
	struct ci_params params;

	setenv("IBAL_SOFT", "  hcas=3 [hca B] lid=7\t[] mtu=", 1);
	ck_assert_int_eq(
		load("[soft]\nhcas=2\n[other]\nhcas=9\n[soft hca A]\nguid=0x1\nname=a b\n"),
		AL_SUCCESS);
	ck_assert_int_eq(ci_conf_params("soft", &params), AL_SUCCESS);
	ck_assert_uint_eq(params.count, 6);
	for (size_t i = 0; i < params.count; i++) {
		ck_assert_str_eq(params.param[i].section, expected[i].section);
		ck_assert_str_eq(params.param[i].key, expected[i].key);
		ck_assert_str_eq(params.param[i].value, expected[i].value);
		ck_assert_str_eq(params.param[i].origin, i < 3 ? path : expected[i].origin);
	}
	ci_conf_params_free(&params);
}
END_TEST

START_TEST(a_module_without_settings_gets_none)
{
	struct ci_params params;

	ck_assert_int_eq(ci_conf_load(""), AL_SUCCESS);
	ck_assert_int_eq(ci_conf_params("soft", &params), AL_SUCCESS);
	ck_assert_uint_eq(params.count, 0);
	ci_conf_params_free(&params);
}
END_TEST

START_TEST(variables_have_the_modules_name_in_capitals)
{
	struct ci_params params;

	setenv("IBAL_MY_MODULE_2", "a=1", 1);
	ck_assert_int_eq(ci_conf_load(""), AL_SUCCESS);
	ck_assert_int_eq(ci_conf_params("my-module_2", &params), AL_SUCCESS);
	ck_assert_uint_eq(params.count, 1);
	ck_assert_str_eq(params.param[0].origin, "IBAL_MY_MODULE_2");
	ci_conf_params_free(&params);
}
END_TEST

START_TEST(mistakes_in_a_variable_are_refused_by_name)
{
	static const char *const wrong[] = { "hcas", "hcas=2 =3", "hcas=2 [hca A", "[hca A] x" };
	struct ci_params params;

	support_start();
	ck_assert_int_eq(ci_conf_load(""), AL_SUCCESS);
	for (int i = 0; i < 4; i++) {
		log_clear();
		setenv("IBAL_SOFT", wrong[i], 1);
		ck_assert_int_eq(ci_conf_params("soft", &params), AL_BAD_CONFIG);
		ck_assert(log_has(IB_LOG_ERROR, "IBAL_SOFT: \"", "key=value", NULL));
	}
}
END_TEST

START_TEST(the_log_level_of_the_file_gives_way_to_the_environment)
{
	int fd[2];
	char line[64] = "";

	ck_assert_int_eq(pipe(fd), 0);
	ck_assert_int_eq(dup2(fd[1], STDERR_FILENO), STDERR_FILENO);
	if (_i)
		setenv("IBAL_LOG", "error", 1);
	ck_assert_int_eq(load("[ibal]\nlog=info\n"), AL_SUCCESS);
	ib_log(IB_LOG_INFO, "test", "info");
	ib_log(IB_LOG_ERROR, "test", "error");
	ck_assert_int_gt(read(fd[0], line, sizeof(line) - 1), 0);
	ck_assert_ptr_eq(strstr(line, _i ? "ibal: error" : "ibal: info"), line);
}
END_TEST

START_TEST(names_of_the_librarys_own_variables_are_reserved)
{
	ck_assert(ci_conf_reserved("log") && ci_conf_reserved("ibal") &&
		  ci_conf_reserved("module_path"));
	ck_assert(!ci_conf_reserved("soft"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conf");
	TCase *tc = tcase_create("file");

	tcase_add_test(tc, values_of_the_library_are_found);
	tcase_add_test(tc, nothing_is_known_before_it_is_read);
	tcase_add_test(tc, mistakes_are_refused_by_name);
	tcase_add_test(tc, a_file_asked_for_must_be_there);
	tcase_add_test(tc, the_callers_configuration_file_goes_first);
	tcase_add_test(tc, groups_belong_to_modules_that_are_there);
	suite_add_tcase(suite, tc);
	tc = tcase_create("modules");
	tcase_add_test(tc, settings_reach_their_module_in_order);
	tcase_add_test(tc, a_module_without_settings_gets_none);
	tcase_add_test(tc, variables_have_the_modules_name_in_capitals);
	tcase_add_test(tc, mistakes_in_a_variable_are_refused_by_name);
	tcase_add_loop_test(tc, the_log_level_of_the_file_gives_way_to_the_environment, 0, 2);
	tcase_add_test(tc, names_of_the_librarys_own_variables_are_reserved);
	suite_add_tcase(suite, tc);
	return support_run(suite);
}
