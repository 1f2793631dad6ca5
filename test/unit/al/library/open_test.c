/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Opening the library: role, configuration, and the messages of failures. */
#include "test/unit/al/al_test.h"

#include <unistd.h>

static char said[4096]; /* all messages of the log */

static void hear(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	strncat(said, text, sizeof(said) - strlen(said) - 1);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

static void set_up(void)
{
	test_fake();
	al_set_log(hear, NULL);
}

static void close_again(al_h al)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

START_TEST(the_ordinary_way_needs_no_attributes)
{
	const struct al_open_attr zero = { 0 };
	al_h first, second;

	ck_ok(al_open(NULL, &first));
	ck_ok(al_open(&zero, &second));
	ck_assert_ptr_ne(first, second);
	close_again(first);
	test_expect_count(second, 1, 0);
	close_again(second);
	ck_ok(al_open(NULL, &first)); /* and once more when the last opening is closed */
	close_again(first);
}
END_TEST

START_TEST(what_means_nothing_is_refused)
{
	struct al_open_attr attr = { .reserved = { 0, 0, 1 } };
	al_h al = (al_h)said;

	ck_status(al_open(&attr, &al), AL_INVALID_PARAMETER);
	ck_status(al_open(NULL, NULL), AL_INVALID_PARAMETER);
	attr = (struct al_open_attr){ .left_behind = (ib_log_level)5 };
	ck_status(al_open(&attr, &al), AL_INVALID_PARAMETER);
	ck_assert_str_eq(al_reason(), "left_behind is 5, which is no level of a message");
	ck_assert_ptr_eq(al, said);
}
END_TEST

static ib_log_level level_left; /* of the message about what was left behind; 0: none */

static void hear_left(void *context, ib_log_level level, const char *text)
{
	(void)context;
	if (strstr(text, "left behind"))
		level_left = level;
}

START_TEST(the_opener_chooses_how_important_it_is_what_is_left_behind)
{
	struct al_open_attr attr = { 0 };
	al_h al;

	al_set_log(hear_left, NULL);
	for (int level = 0; level <= IB_LOG_DEBUG; level++) {
		attr.left_behind = (ib_log_level)level;
		level_left = (ib_log_level)0;
		ck_ok(al_open(&attr, &al));
		test_open_ca(al, FAKE_GUID);
		close_again(al);
		ck_assert_int_eq(level_left, level ? level : (int)IB_LOG_WARNING);
	}
}
END_TEST

START_TEST(an_agent_that_is_asked_for_is_refused_in_a_sentence)
{
	const struct al_open_attr attr = { .agent = "/nowhere/ald.socket" };
	al_h al;

	ck_status(al_open(&attr, &al), AL_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(said, "/nowhere/ald.socket"));
	ck_assert_ptr_nonnull(strstr(said, "IBAL_AGENT=off"));
	said[0] = 0;
	setenv("IBAL_AGENT", "/nowhere/by/environment", 1);
	ck_status(al_open(NULL, &al), AL_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(said, "/nowhere/by/environment"));
	/* the attribute has precedence over the environment */
	al = test_open();
	close_again(al);
}
END_TEST

START_TEST(without_a_word_of_an_agent_the_process_serves_itself)
{
	const struct al_open_attr attr = { .config = "" };
	size_t count = 0;
	al_h al;

	unsetenv("IBAL_AGENT");
	if (!access("/run/ibal/ald.socket", F_OK)) {
		ck_status(al_open(&attr, &al), AL_AGENT_REFUSED);
		return;
	}
	ck_ok(al_open(&attr, &al));
	ck_status(al_get_ca_guids(al, NULL, &count), AL_BUFFER_TOO_SMALL);
	ck_assert_uint_eq(count, 1);
	close_again(al);
}
END_TEST

/* Writes a configuration file of these lines. */
static const char *write_conf(const char *lines)
{
	static char name[32];
	int fd;

	strcpy(name, "/tmp/open_test-XXXXXX");
	fd = mkstemp(name);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, lines, strlen(lines)), (ssize_t)strlen(lines));
	close(fd);
	return name;
}

START_TEST(the_configuration_may_name_the_agent)
{
	const struct al_open_attr attr = { .config = write_conf("[ibal]\nagent=/nowhere/by/configuration\n") };
	al_h al;

	unsetenv("IBAL_AGENT");
	ck_status(al_open(&attr, &al), AL_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(said, "/nowhere/by/configuration"));
	unlink(attr.config);
}
END_TEST

START_TEST(a_wrong_configuration_is_named_and_the_next_open_works)
{
	const struct al_open_attr attr = { .config = write_conf("[ibal]\nnonsense=1\n") };
	size_t count = 0;
	al_h al = (al_h)said;

	ck_status(al_open(&attr, &al), AL_BAD_CONFIG);
	ck_assert_ptr_eq(al, said);
	ck_assert_ptr_nonnull(strstr(said, attr.config));
	ck_assert_ptr_nonnull(strstr(said, "nonsense"));
	unlink(attr.config);
	al = test_open();
	al_get_ca_guids(al, NULL, &count);
	ck_assert_uint_eq(count, 1);
	close_again(al);
}
END_TEST

/* In every role: a client of an agent has one configuration, too. */
START_TEST(another_configuration_than_the_first_openings_is_refused)
{
	struct al_open_attr attr = { .agent = test_agent(), .config = "" };
	const char *first = "", *other = strdup(write_conf("[ibal]\nlog=debug\n"));
	al_h al[3];

	if (!test_in_user_role()) /* whose agent has opened the library in this process without a configuration */
		first = attr.config = write_conf("[ibal]\nlog=error\n");
	ck_ok(al_open(&attr, &al[0]));
	attr.config = other;
	ck_status(al_open(&attr, &al[1]), AL_INVALID_STATE);
	ck_assert_ptr_nonnull(strstr(said, other));
	ck_assert_ptr_nonnull(strstr(said, first));
	attr.config = *first ? "" : "/nowhere/ibal.conf";
	ck_status(al_open(&attr, &al[1]), AL_INVALID_STATE);
	/*
	 * an opening with the same configuration, or with none, succeeds, also after the first opening has been
	 * closed
	 */
	attr.config = first;
	ck_ok(al_open(&attr, &al[1]));
	attr.config = NULL;
	ck_ok(al_open(&attr, &al[2]));
	for (int i = 0; i < 3; i++)
		close_again(al[i]);
	attr.config = other;
	ck_status(al_open(&attr, &al[0]), AL_INVALID_STATE);
	unlink(other);
	free((char *)other);
	if (*first)
		unlink(first);
}
END_TEST

START_TEST(a_key_that_the_module_does_not_know_is_named)
{
	const struct al_open_attr attr = { .config = write_conf("[fake]\nnonsense=1\n") };
	al_h al;

	ck_status(al_open(&attr, &al), AL_BAD_CONFIG);
	ck_assert_ptr_nonnull(strstr(said, "nonsense"));
	unlink(attr.config);
}
END_TEST

START_TEST(modules_are_managed_only_by_the_process_that_has_them)
{
	al_status want = test_in_user_role() ? AL_UNSUPPORTED : AL_NOT_FOUND;
	al_h al;

	test_fake();
	al = test_open();
	ck_status(al_load_module(al, "/nowhere/module.so"), want);
	ck_status(al_unload_module(al, "nobody", 0), want);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(modules_are_named_by_what_can_be_named)
{
	al_h al = test_open();

	ck_status(al_load_module(al, NULL), AL_INVALID_PARAMETER);
	ck_status(al_load_module(al, "/nowhere/module.so"), AL_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(said, "/nowhere/module.so"));
	ck_status(al_load_module(al, FAKE_DIR "/fake.so"), AL_DUPLICATE);
	ck_status(al_unload_module(al, NULL, 0), AL_INVALID_PARAMETER);
	ck_status(al_unload_module(al, "fake", AL_UNLOAD_REMOVE << 1), AL_INVALID_PARAMETER);
	ck_status(al_unload_module(al, "nonsense", 0), AL_NOT_FOUND);
	ck_ok(al_unload_module(al, "fake", 0));
	ck_ok(al_load_module(al, FAKE_DIR "/fake.so"));
	close_again(al);
}
END_TEST

START_TEST(an_unreadable_bus_is_logged_and_changes_nothing)
{
	size_t count = 0;
	al_h al = test_open();

	setenv("IBAL_PCI_DUMP", "/nowhere/at-all.dump", 1);
	ck_status(al_rescan(al), AL_PCI_UNREADABLE);
	ck_assert_ptr_nonnull(strstr(said, "/nowhere/at-all.dump"));
	al_get_ca_guids(al, NULL, &count);
	ck_assert_uint_eq(count, 1);
	close_again(al);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/open");
	TCase *tcase = tcase_create("opening");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, the_ordinary_way_needs_no_attributes);
	tcase_add_test(tcase, what_means_nothing_is_refused);
	tcase_add_test(tcase, the_opener_chooses_how_important_it_is_what_is_left_behind);
	tcase_add_test(tcase, an_agent_that_is_asked_for_is_refused_in_a_sentence);
	tcase_add_test(tcase, without_a_word_of_an_agent_the_process_serves_itself);
	tcase_add_test(tcase, the_configuration_may_name_the_agent);
	tcase_add_test(tcase, a_wrong_configuration_is_named_and_the_next_open_works);
	tcase_add_test(tcase, another_configuration_than_the_first_openings_is_refused);
	tcase_add_test(tcase, a_key_that_the_module_does_not_know_is_named);
	tcase_add_test(tcase, modules_are_managed_only_by_the_process_that_has_them);
	tcase_add_test(tcase, modules_are_named_by_what_can_be_named);
	tcase_add_test(tcase, an_unreadable_bus_is_logged_and_changes_nothing);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
