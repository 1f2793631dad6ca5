/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reasons of refusals: whose they are, how long they last, and what the log gets of them. The
 * sentences themselves are in test/e2e/mistakes_test.c. */
#include "test/unit/al/bed.h"

static struct bed bed;

static void set_up(void)
{
	bed = bed_make();
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	bed_end(&bed);
}

/* The sentence that the module gives; NULL: none. */
static const char *sentence;

static void give_sentence(void *object)
{
	(void)object;
	if (sentence)
		ib_refuse(bed.fake->fail[FAKE_create_cq], "%s", sentence);
}

/* Creates a completion queue, which the module refuses. */
static al_status refused_by_module(const char *reason, al_status status)
{
	struct al_cq_init init = { .cqe = 16 };
	al_cq_h cq;

	sentence = reason;
	bed.fake->fail[FAKE_create_cq] = status;
	bed.fake->hook[FAKE_create_cq] = give_sentence;
	status = al_create_cq(bed.pd, &init, NULL, NULL, NULL, &cq);
	bed.fake->hook[FAKE_create_cq] = NULL;
	bed.fake->fail[FAKE_create_cq] = AL_SUCCESS;
	return status;
}

START_TEST(a_thread_without_a_refusal_has_no_reason)
{
	ck_assert_str_eq(al_reason(), "");
}
END_TEST

START_TEST(the_modules_sentence_is_the_reason)
{
	ck_status(refused_by_module("the moon is full", AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_assert_str_eq(al_reason(), "the moon is full");
}
END_TEST

START_TEST(control_characters_of_a_sentence_become_blanks)
{
	ck_status(refused_by_module("a\nb\033[31mc\177d", AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_assert_str_eq(al_reason(), "a b [31mc d");
}
END_TEST

START_TEST(a_call_that_succeeds_leaves_the_reason)
{
	al_pd_h pd;

	ck_status(refused_by_module("the moon is full", AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_ok(al_alloc_pd(bed.ca, NULL, &pd));
	ck_assert_str_eq(al_reason(), "the moon is full");
}
END_TEST

/* A module that gives no sentence: never the sentence of an earlier refusal, not even with the same
 * status. */
START_TEST(a_refusal_without_a_sentence_gets_one_and_no_older_one)
{
	ck_status(refused_by_module("the moon is full", AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_status(refused_by_module(NULL, AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_assert_str_eq(al_reason(),
			 "create_cq of module fake refuses without a reason: this HCA, port or build does not offer the operation");
}
END_TEST

START_TEST(a_sentence_for_another_status_is_not_the_reason)
{
	ib_refuse(AL_PERMISSION, "left by something that did not fail the call");
	ck_status(refused_by_module(NULL, AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_assert_ptr_null(strstr(al_reason(), "left by"));
}
END_TEST

/* ------------------------------------------------------------------------ log */

#define LINES 64
static struct {
	char line[LINES][512];
	atomic_int count;
} logged;

static void keep_line(void *context, ib_log_level level, const char *text)
{
	int at;

	(void)context;
	if (level != IB_LOG_DEBUG || !strstr(text, "is refused"))
		return;
	at = atomic_fetch_add(&logged.count, 1);
	if (at < LINES)
		snprintf(logged.line[at], sizeof(logged.line[at]), "%s", text);
}

START_TEST(the_log_names_function_object_program_and_process)
{
	char want[512];

	al_set_log(keep_line, NULL);
	ck_status(refused_by_module("the moon is full", AL_UNSUPPORTED), AL_UNSUPPORTED);
	al_set_log(test_ignore_log, NULL);
	snprintf(want, sizeof(want),
		 "al: al_create_cq of %.15s[%d] is refused for pd %#llx: the moon is full (AL_UNSUPPORTED)",
		 program_invocation_short_name, (int)getpid(),
		 (unsigned long long)(uintptr_t)bed.pd);
	ck_assert_int_ge(logged.count, 1);
	/* in the role of a user the agent logs its own line first */
	ck_assert_str_eq(logged.line[logged.count - 1], want);
}
END_TEST

START_TEST(refusals_in_a_row_do_not_fill_the_log)
{
	al_set_log(keep_line, NULL);
	for (int i = 0; i < 100000; i++)
		ck_status(al_query_qp(NULL, &(struct ib_qp_attr){ 0 }, NULL), AL_INVALID_HANDLE);
	al_set_log(test_ignore_log, NULL);
	ck_assert_int_ge(logged.count, 20);
	/* 20 in each second; a hundred thousand refusals take less than two */
	ck_assert_int_le(logged.count, LINES);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("al/object/reason");
	TCase *tc = tcase_create("reason");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_thread_without_a_refusal_has_no_reason);
	tcase_add_test(tc, the_modules_sentence_is_the_reason);
	tcase_add_test(tc, control_characters_of_a_sentence_become_blanks);
	tcase_add_test(tc, a_call_that_succeeds_leaves_the_reason);
	tcase_add_test(tc, a_refusal_without_a_sentence_gets_one_and_no_older_one);
	tcase_add_test(tc, a_sentence_for_another_status_is_not_the_reason);
	tcase_add_test(tc, the_log_names_function_object_program_and_process);
	tcase_add_test(tc, refusals_in_a_row_do_not_fill_the_log);
	suite_add_tcase(s, tc);
	return test_run(s);
}
