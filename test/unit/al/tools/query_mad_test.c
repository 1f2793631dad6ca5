/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* "al_query mad" over services of the test's own on the software HCA. */
#include "test/unit/al/tools/query_run.h"

#include "test/unit/al/mgmt/mad_bed.h"

static al_h al;
static struct side side;

static void set_up(void)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_port_attr port;
	uint64_t guid;

	al = test_open();
	test_guids(al, &guid, 1);
	side_init(&side, test_open_ca(al, guid));
	ck_ok(al_query_port(side.ca, 1, &port));
	side.lid = port.lid;
	side_register(&side, &init);
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* A request to the service itself, which does not answer. */
static void send_in_vain(uint16_t retries)
{
	const struct ib_mad request = mad_of(VENDOR, IB_METHOD_GET, 1, 0);
	struct al_mad_send send = send_of(&request, side.lid, SHORT_MS, 1);

	send.retries = retries;
	ck_ok(al_send_mad(side.svc, &send));
	for (unsigned int i = 0; i < retries + 2u; i++)
		test_wait(&side.sem);
}

static gint64 figure(JsonObject *answer, const char *name)
{
	return json_object_get_int_member(row(answer, "services", 0), name);
}

START_TEST(json_has_every_figure_of_a_service)
{
	g_autoptr(JsonObject) before = NULL, after = NULL;

	before = run_json("mad", TOOL_OK);
	ck_assert_uint_eq(count(before, "services"), 1);
	ck_assert_int_eq(figure(before, "sent"), 0);
	send_in_vain(2);
	after = run_json("mad", TOOL_OK);
	ck_assert_int_eq(figure(after, "sent"), 1);
	ck_assert_int_eq(figure(after, "repeated"), 2);
	ck_assert_int_eq(figure(after, "answered"), 0);
	ck_assert_int_eq(figure(after, "timed_out"), 1);
	ck_assert_int_eq(figure(after, "failed"), 0);
	ck_assert_int_eq(figure(after, "received"), 3);
	ck_assert_int_eq(figure(after, "dropped"), 0);
}
END_TEST

START_TEST(a_second_table_has_the_figures)
{
	g_autofree char *text = NULL;

	send_in_vain(1);
	text = run("mad", TOOL_OK);
	ck_assert_msg(
		g_regex_match_simple(
			"\n\nHCA +Port +Class +PID +Sent +Repeated +Answered +Timed out +Failed +"
			"Received +Dropped\n"
			"0x[0-9a-f]{16} +1 +0xa +[0-9]+ +1 +1 +0 +1 +0 +2 +0\n$",
			text, 0, 0),
		"%s", text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query_mad");
	TCase *tc = tcase_create("over the software HCA");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, json_has_every_figure_of_a_service);
	tcase_add_test(tc, a_second_table_has_the_figures);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
