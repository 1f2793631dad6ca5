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

START_TEST(a_sentence_of_a_call_that_did_not_fail_is_not_the_next_calls_reason)
{
	ib_refuse(AL_UNSUPPORTED, "left by something that did not fail the call");
	ck_status(refused_by_module(NULL, AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_assert_ptr_null(strstr(al_reason(), "left by"));
}
END_TEST

/* A poll begins without the steps that other calls have. */
START_TEST(the_sentence_of_a_refused_call_is_not_a_polls_reason)
{
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	struct ib_wc wc;
	uint32_t count;

	ck_status(refused_by_module("the moon is full", AL_UNSUPPORTED), AL_UNSUPPORTED);
	bed.fake->fail[FAKE_poll_cq] = AL_UNSUPPORTED;
	ck_status(al_poll_cq(cq, 1, &wc, &count), AL_UNSUPPORTED);
	bed.fake->fail[FAKE_poll_cq] = AL_SUCCESS;
	ck_assert_str_eq(
		al_reason(),
		"poll_cq of module fake refuses without a reason: this HCA, port or build does not offer the operation");
}
END_TEST

static void speak_of_another_status(void *object)
{
	(void)object;
	ib_refuse(AL_PERMISSION, "the module tried something else first");
}

START_TEST(a_modules_sentence_for_another_status_is_not_the_reason)
{
	struct al_cq_init init = { .cqe = 16 };
	al_cq_h cq;

	bed.fake->fail[FAKE_create_cq] = AL_UNSUPPORTED;
	bed.fake->hook[FAKE_create_cq] = speak_of_another_status;
	ck_status(al_create_cq(bed.pd, &init, NULL, NULL, NULL, &cq), AL_UNSUPPORTED);
	bed.fake->hook[FAKE_create_cq] = NULL;
	bed.fake->fail[FAKE_create_cq] = AL_SUCCESS;
	ck_assert_str_eq(
		al_reason(),
		"create_cq of module fake refuses without a reason: this HCA, port or build does not offer the operation");
}
END_TEST

/* Nothing refuses for want of memory with a sentence of its own. */
START_TEST(a_status_without_any_sentence_gets_its_text)
{
	al_pd_h pd;

	ck_status(refused_by_module("the moon is full", AL_UNSUPPORTED), AL_UNSUPPORTED);
	al_fail_alloc(1);
	ck_status(al_alloc_pd(bed.ca, NULL, &pd), AL_INSUFFICIENT_MEMORY);
	al_fail_alloc(0);
	ck_assert_str_eq(al_reason(), al_status_str(AL_INSUFFICIENT_MEMORY));
}
END_TEST

START_TEST(letters_beyond_ascii_stay)
{
	ck_status(refused_by_module("M\303\274ller", AL_UNSUPPORTED), AL_UNSUPPORTED);
	ck_assert_str_eq(al_reason(), "M\303\274ller");
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

static char last[512];
static int lines;

static void keep_last(void *context, ib_log_level level, const char *text)
{
	(void)context;
	if (level != IB_LOG_DEBUG || !strstr(text, "is refused"))
		return;
	snprintf(last, sizeof(last), "%s", text);
	lines++;
}

static bool last_tells_of_others(void)
{
	return strstr(last, " lines before this one were left out") != NULL;
}

/* Refuses calls until the log gets a line. */
static void refuse_until_a_line(void)
{
	int before = lines;

	while (lines == before)
		ck_status(al_query_qp(NULL, &(struct ib_qp_attr){ 0 }, NULL), AL_INVALID_HANDLE);
}

START_TEST(the_first_line_after_lines_that_were_left_out_says_so_and_no_other)
{
	al_set_log(keep_last, NULL);
	do {
		refuse_until_a_line();
		ck_assert_int_lt(lines, 100);
	} while (!last_tells_of_others());
	ck_status(al_query_qp(NULL, &(struct ib_qp_attr){ 0 }, NULL), AL_INVALID_HANDLE);
	al_set_log(test_ignore_log, NULL);
	ck_assert(!last_tells_of_others());
}
END_TEST

START_TEST(the_line_of_a_queue_pair_has_its_number)
{
	al_qp_h qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	char want[64];
	uint32_t qpn;

	ck_ok(al_qp_num(qp, &qpn));
	snprintf(want, sizeof(want),
		 "is refused for qp %#llx (%#x): ", (unsigned long long)(uintptr_t)qp, qpn);
	al_set_log(keep_last, NULL);
	ck_status(al_modify_qp(qp, &attr, IB_QP_STATE), AL_INVALID_TRANSITION);
	al_set_log(test_ignore_log, NULL);
	ck_assert_msg(strstr(last, want) != NULL, "%s", last);
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
	tcase_add_test(tc, a_sentence_of_a_call_that_did_not_fail_is_not_the_next_calls_reason);
	tcase_add_test(tc, the_sentence_of_a_refused_call_is_not_a_polls_reason);
	tcase_add_test(tc, a_modules_sentence_for_another_status_is_not_the_reason);
	tcase_add_test(tc, a_status_without_any_sentence_gets_its_text);
	tcase_add_test(tc, letters_beyond_ascii_stay);
	tcase_add_test(tc, the_log_names_function_object_program_and_process);
	tcase_add_test(tc, refusals_in_a_row_do_not_fill_the_log);
	tcase_add_test(tc, the_first_line_after_lines_that_were_left_out_says_so_and_no_other);
	tcase_add_test(tc, the_line_of_a_queue_pair_has_its_number);
	suite_add_tcase(s, tc);
	return test_run(s);
}
