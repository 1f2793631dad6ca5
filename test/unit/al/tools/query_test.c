/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query in a process that has objects, HCAs that fail, and HCAs that come and go: cases that a run of the program
 * alone never has. The program alone is tested in test/e2e/al_query.sh.
 */
#include <pthread.h>
#include <signal.h>

#include "test/unit/al/tools/query_run.h"

/* ------------------------------------------------------------- HCAs that fail */

static struct fake *failing;

/* Queries of the first HCA's port fail; queries of the other HCA's port succeed. */
static void fail_first(void *object)
{
	const struct ci_ca *ca = object;

	failing->fail[FAKE_query_port] = (uint64_t)(uintptr_t)ca->hca == FAKE_GUID ? AL_CA_ERROR : AL_SUCCESS;
}

START_TEST(one_hca_that_fails_does_not_hide_the_other)
{
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;
	al_h al;

	failing = two_hcas();
	al = test_open(); /* the library refuses an HCA that fails from the start */
	failing->hook[FAKE_query_port] = fail_first;
	answer = run_json("ca", TOOL_FAILED);
	ck_assert_uint_eq(count(answer, "cas"), 2);
	ck_assert_uint_eq(count(row(answer, "cas", 0), "ports"), 0);
	ck_assert_uint_eq(count(row(answer, "cas", 1), "ports"), 1);
	ck_assert_uint_eq(count(answer, "errors"), 1);
	ck_assert_ptr_nonnull(strstr(json_object_get_string_member(row(answer, "errors", 0), "text"), "0x00feed0000000001, port 1"));
	text = run("port", TOOL_FAILED);
	ck_assert_ptr_nonnull(strstr(text, "0x00feed0000000102"));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

static void ck_said(JsonObject *answer, guint number, const char *text)
{
	const char *said = json_object_get_string_member(row(answer, "errors", number), "text");

	ck_assert_msg(strstr(said, text), "\"%s\" is not in: %s", text, said);
}

START_TEST(a_table_that_cannot_be_read_is_said_and_the_rest_is_shown)
{
	struct fake *fake = two_hcas();
	g_autoptr(JsonObject) gids = NULL, pkeys = NULL, ports = NULL;
	al_h al = test_open();

	fake->fail[FAKE_query_gid] = AL_CA_ERROR;
	gids = run_json("gid", TOOL_FAILED);
	ck_assert_uint_eq(count(gids, "gids"), 0);
	ck_assert_uint_eq(count(gids, "errors"), 2);
	ck_said(gids, 0, "0x00feed0000000001, port 1: its GID table cannot be read");
	ports = run_json("port", TOOL_FAILED);
	ck_assert_uint_eq(count(ports, "ports"), 2);
	ck_assert(!json_object_has_member(row(ports, "ports", 0), "gid"));
	ck_assert(json_object_has_member(row(ports, "ports", 0), "counters"));
	ck_said(ports, 1, "port 1: GID 0 cannot be read");
	fake->fail[FAKE_query_pkey] = AL_CA_ERROR;
	pkeys = run_json("pkey", TOOL_FAILED);
	ck_assert_uint_eq(count(pkeys, "pkeys"), 0);
	ck_said(pkeys, 0, "0x00feed0000000001, port 1: its P_Key table cannot be read");
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(where_no_port_is_let_through_that_is_what_is_said)
{
	g_autofree char *port = NULL, *ca = NULL;

	two_hcas();
	port = run("port --state Down", TOOL_OK);
	ck_assert_str_eq(port, "No such port.\n");
	ca = run("ca --state Down", TOOL_OK);
	ck_assert_ptr_nonnull(strstr(ca, "\n  no such port\n"));
}
END_TEST

START_TEST(a_name_from_a_module_can_not_steer_the_terminal)
{
	struct fake *fake = two_hcas();
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;

	strcpy(fake->ca_attr.node_desc, "\033[2Jbad\nname\xff");
	text = run("ca", TOOL_OK);
	ck_assert_ptr_null(strchr(text, '\033'));
	ck_assert_ptr_nonnull(strstr(text, "?[2Jbad?name"));
	answer = run_json("ca", TOOL_OK);
	ck_assert_str_eq(json_object_get_string_member(row(answer, "cas", 0), "description"), "?[2Jbad?name\xef\xbf\xbd");
}
END_TEST

START_TEST(prometheus_text_escapes_names_and_has_base_units)
{
	struct fake *fake = two_hcas();
	g_autofree char *text = NULL;

	strcpy(fake->ca_attr.node_desc, "a\"b\\c\n\xf0\x9f\x98\x80\xff");
	fake->port_attr.counters.xmit_bytes = 1ull << 63;
	fake->port_attr.counters.xmit_wait = 1500001;
	fake->port_attr.counters.symbol_errors = 3;
	text = run("prom", TOOL_OK);
	ck_assert_ptr_nonnull(strstr(text, "description=\"a\\\"b\\\\c?\xf0\x9f\x98\x80\xef\xbf\xbd\","));
	ck_assert_ptr_nonnull(strstr(text, "# TYPE ibal_port_xmit_bytes_total counter\n"));
	ck_assert_ptr_nonnull(strstr(text, "port=\"1\"} 9223372036854775808\n"));
	ck_assert_ptr_nonnull(strstr(text, "ibal_port_xmit_wait_seconds_total{"));
	ck_assert_ptr_nonnull(strstr(text, "port=\"1\"} 1.500001\n"));
	ck_assert_ptr_nonnull(strstr(text, "# HELP ibal_port_symbol_errors_total Number of minor errors of the link.\n"));
	ck_assert_ptr_nonnull(strstr(text, "state=\"Active\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "state=\"Down\"} 0\n"));
	ck_assert_ptr_null(strstr(text, "NoChange"));
	ck_assert_ptr_nonnull(strstr(text, "ibal_answer_errors 0\n"));
}
END_TEST

START_TEST(prometheus_text_says_what_it_lacks)
{
	g_autofree char *text = NULL;

	failing = two_hcas();
	failing->fail[FAKE_query_gid] = AL_INSUFFICIENT_RESOURCES;
	text = run("prom", TOOL_FAILED);
	ck_assert_ptr_nonnull(strstr(text, "ibal_answer_errors 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "state=\"Active\"} 1\n"));
}
END_TEST

START_TEST(a_number_above_2_to_the_53_is_a_string)
{
	struct fake *fake = two_hcas();
	g_autoptr(JsonObject) answer = NULL;
	JsonObject *counters;

	fake->port_attr.counters.xmit_bytes = (1ull << 53) + 1;
	fake->port_attr.counters.rcv_bytes = 1ull << 53;
	answer = run_json("port", TOOL_OK);
	counters = json_object_get_object_member(row(answer, "ports", 0), "counters");
	ck_assert_str_eq(json_object_get_string_member(counters, "xmit_bytes"), "0x20000000000001");
	ck_assert_int_eq(json_object_get_int_member(counters, "rcv_bytes"), 1ll << 53);
}
END_TEST

static void other_limits(void *object)
{
	const struct ci_ca *ca = object;

	failing->ca_attr.max_qp = (uint64_t)(uintptr_t)ca->hca == FAKE_GUID ? 1000 : 17;
}

START_TEST(diff_shows_what_differs_and_nothing_else)
{
	g_autofree char *same = NULL, *differ = NULL, *one = NULL, *gone = NULL;

	failing = two_hcas();
	same = run("caps --diff 0 1", TOOL_OK);
	ck_assert_str_eq(same, "These two HCAs can do the same, with the same limits.\n");
	failing->hook[FAKE_query_ca] = other_limits;
	differ = run("caps --diff 0x00feed0000000001 1", TOOL_OK);
	ck_assert_ptr_nonnull(strstr(differ, "queue pairs"));
	ck_assert_ptr_nonnull(strstr(differ, "1000"));
	ck_assert_ptr_nonnull(strstr(differ, "17\n"));
	ck_assert_ptr_null(strstr(differ, "completion queues"));
	one = run("caps --diff 0", TOOL_USAGE);
	gone = run("caps --diff 0 7", TOOL_USAGE);
}
END_TEST

START_TEST(without_any_hca_that_is_what_is_said)
{
	struct fake *fake = test_fake();
	g_autofree char *text = NULL, *caps = NULL, *port = NULL;

	fake->hcas = 0;
	text = run("ca", TOOL_OK);
	ck_assert_ptr_nonnull(strstr(text, "al_query doctor"));
	caps = run("caps", TOOL_OK);
	port = run("port --ca 0", TOOL_USAGE);
}
END_TEST

/* ---------------------------------------------------------------- objects */

/* Objects that a test leaves to al_close() cause no warning. */
static struct bed quiet_bed(void)
{
	al_set_log(test_ignore_log, NULL);
	return bed_make();
}

/* Expects a member of that name; a missing member would read as 0. */
static gint64 number(JsonObject *obj, const char *name)
{
	ck_assert_msg(json_object_has_member(obj, name), "there is no \"%s\"", name);
	return json_object_get_int_member(obj, name);
}

static JsonObject *count_of(JsonObject *answer, const char *type)
{
	for (guint i = 0; i < count(answer, "counts"); i++)
		if (!strcmp(json_object_get_string_member(row(answer, "counts", i), "type"), type))
			return row(answer, "counts", i);
	ck_abort_msg("no count of %s", type);
	return NULL;
}

/* An agent's object may outlive the answer to its destroy. */
static bool only_one_is_left(void)
{
	g_autoptr(JsonObject) answer = run_json("res qp", TOOL_OK);

	return count(answer, "objects") == 1 && number(count_of(answer, "qp"), "now") == 1;
}

START_TEST(res_shows_each_object_with_its_owner_parent_and_counts)
{
	struct bed bed = quiet_bed();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	al_qp_h qp = bed_qp(bed.pd, cq, NULL, NULL), gone = bed_qp(bed.pd, cq, NULL, NULL);
	g_autoptr(JsonObject) answer = NULL;
	JsonObject *obj, *counts;
	uint32_t qpn;

	ck_ok(al_qp_num(qp, &qpn));
	ck_ok(al_destroy_qp(gone, AL_DESTROY_SYNC, NULL));
	ck_soon(only_one_is_left());
	answer = run_json("res qp", TOOL_OK);
	ck_assert_uint_eq(count(answer, "objects"), 1);
	obj = row(answer, "objects", 0);
	ck_assert_str_eq(json_object_get_string_member(obj, "type"), "qp");
	ck_assert_str_eq(json_object_get_string_member(obj, "state"), "Reset");
	ck_assert_str_eq(json_object_get_string_member(obj, "parent_type"), "pd");
	ck_assert_int_eq(number(obj, "qpn"), qpn);
	ck_assert_int_eq(number(obj, "pid"), getpid());
	ck_assert_str_eq(json_object_get_string_member(obj, "command"), "query_test");
	ck_assert_int_ge(number(obj, "age_ns"), 0);
	ck_assert_int_eq(number(obj, "ca"), 0);
	ck_assert_int_eq(number(obj, "uid"), getuid());
	ck_assert_str_eq(json_object_get_string_member(obj, "qp_type"), "RC");
	ck_assert_int_eq(number(obj, "qp_type_code"), IB_QPT_RC);
	ck_assert_int_ge(number(obj, "send_depth"), 1);
	ck_assert(!json_object_has_member(obj, "peer_qpn")); /* it is in Reset */
	counts = count_of(answer, "qp");
	ck_assert_int_eq(number(counts, "now"), 1);
	ck_assert_int_eq(number(counts, "high"), 2);
	ck_assert_int_eq(number(counts, "max"), 1000);
	bed_end(&bed);
}
END_TEST

START_TEST(filters_let_through_what_they_say)
{
	struct bed bed = quiet_bed();
	al_cq_h cq = bed_cq(bed.pd, 0, NULL, NULL);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	const struct { const char *line; guint count; } lines[] = {
		{ "qp", 2 }, { "qp --state Init", 1 }, { "qp --state reset", 1 }, { "qp --state RTS", 0 },
		{ "qp --pid 1", 0 }, { "res --type cq", 1 }, { "res pd", 1 }, { "res --type qp --state INIT", 1 },
		{ "cq", 1 }, { "qp --qpn 0-0xffffff", 2 }, { "qp --ca 0", 2 }, { "pd", 1 },
		{ "ah", 0 }, { "mr", 0 }, { "qp --where qp_type=rc", 2 }, { "qp --where qp_type=UD", 0 },
		{ "qp --where state=Init --where ca=0", 1 }, { "qp --where port=1", 1 },
		{ "res --where command=query_test --type qp", 2 }, { "qp --where parent_type=pd", 2 },
		{ "cq --where users=4", 1 }, { "cq --where overflow=yes", 0 },
	};
	al_qp_h first, second;
	uint32_t qpn;

	first = bed_qp(bed.pd, cq, NULL, NULL);
	second = bed_qp(bed.pd, cq, NULL, NULL);
	ck_ok(al_modify_qp(first, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS));
	for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autoptr(JsonObject) answer = run_json(lines[i].line, TOOL_OK);
		g_autofree char *text = run(lines[i].line, TOOL_OK);

		ck_assert_msg(count(answer, "objects") == lines[i].count, "%s", lines[i].line);
		ck_assert(*text);
	}
	ck_ok(al_qp_num(second, &qpn));
	{
		g_autofree char *line = g_strdup_printf("qp --qpn %u", qpn), *one = g_strdup_printf("qp %u", qpn);
		g_autoptr(JsonObject) by_range = run_json(line, TOOL_OK), by_number = run_json(one, TOOL_OK);

		ck_assert_uint_eq(count(by_range, "objects"), 1);
		ck_assert_uint_eq(count(by_number, "objects"), 1);
		ck_assert_int_eq(number(row(by_number, "objects", 0), "qpn"), qpn);
	}
	bed_end(&bed);
}
END_TEST

START_TEST(a_table_shows_numbers_of_queue_pairs_in_hexadecimal_form)
{
	struct bed bed = quiet_bed();
	al_qp_h qp = bed_qp(bed.pd, bed_cq(bed.pd, 0, NULL, NULL), NULL, NULL);
	g_autofree char *table = NULL, *sheet = NULL, *hex = NULL, *line = NULL, *wrong = NULL;
	uint32_t qpn;

	ck_ok(al_qp_num(qp, &qpn));
	hex = g_strdup_printf("  0x%x  ", qpn);
	table = run("qp", TOOL_OK);
	ck_assert_msg(strstr(table, hex) != NULL, "%s is not in\n%s", hex, table);
	ck_assert(g_regex_match_simple("^Id +HCA +State +QPN +Type ", table, 0, 0));
	ck_assert(g_regex_match_simple(" pd 0x[0-9a-f]+ ", table, 0, 0));
	line = g_strdup_printf("qp 0x%x", qpn);
	sheet = run(line, TOOL_OK);
	ck_assert(g_regex_match_simple("^Type +RC$", sheet, G_REGEX_MULTILINE, 0));
	ck_assert(g_regex_match_simple("^QPN +0x", sheet, G_REGEX_MULTILINE, 0));
	wrong = run("qp --where colour=red", TOOL_USAGE);
	bed_end(&bed);
}
END_TEST

START_TEST(a_completion_queue_is_found_by_its_id)
{
	struct bed bed = quiet_bed();
	g_autoptr(JsonObject) all = NULL, one = NULL;
	g_autofree char *line = NULL, *none = NULL, *no_cq = NULL, *wrong = NULL;
	const char *id;

	bed_cq(bed.pd, 0, NULL, NULL);
	all = run_json("cq", TOOL_OK);
	id = json_object_get_string_member(row(all, "objects", 0), "id");
	line = g_strdup_printf("cq %s", id);
	one = run_json(line, TOOL_OK);
	ck_assert_str_eq(json_object_get_string_member(row(one, "objects", 0), "id"), id);
	ck_assert_int_eq(number(row(one, "objects", 0), "cqe"), 64);
	none = run("cq 0x1234567812345678", TOOL_USAGE);
	wrong = g_strdup_printf("cq %s", json_object_get_string_member(row(all, "objects", 0), "parent"));
	no_cq = run(wrong, TOOL_USAGE); /* its PD is no completion queue */
	bed_end(&bed);
}
END_TEST

START_TEST(a_queue_pair_that_is_not_there_is_not_found)
{
	g_autofree char *absent = NULL, *wrong = NULL, *kind = NULL;

	test_fake();
	absent = run("qp 77", TOOL_USAGE);
	wrong = run("qp 0x1000000", TOOL_USAGE);
	kind = run("res queue", TOOL_USAGE);
}
END_TEST

/* ------------------------------------------------------------------ events */

/* al_query's output comes in at fd; the reader withdraws and announces the HCA as the lines ask. */
struct reader {
	int fd;
	struct fake *fake;
	char *said; /* all lines of the output */
	int step;
};

static void *follow(void *arg)
{
	static const char *const steps[] = { "replay complete", "HCA removed", "HCA added" };
	struct reader *r = arg;
	FILE *in = fdopen(r->fd, "r");
	GString *said = g_string_new(NULL);
	char line[200];
	al_h al = NULL;

	while (fgets(line, sizeof(line), in)) {
		g_string_append(said, line);
		if (r->step == 3 || !strstr(line, steps[r->step]))
			continue;
		if (r->step == 0) {
			/*
			 * libc's pipe orders this announcement after al_query's own opening, but ThreadSanitizer
			 * knows only the library's lock
			 */
			al = test_open();
			r->fake->withdraw(1, 0);
		} else if (r->step == 1)
			r->fake->announce(1);
		else
			kill(getpid(), SIGTERM);
		r->step++;
	}
	r->said = g_string_free(said, FALSE);
	al_close(al, AL_DESTROY_SYNC, NULL);
	fclose(in);
	return NULL;
}

START_TEST(events_come_as_they_happen_until_a_signal)
{
	char *argv[] = { (char *)"al_query", (char *)"events", NULL };
	struct reader reader = { .fake = two_hcas() };
	int pipes[2], out = dup(STDOUT_FILENO), status;
	pthread_t thread;

	ck_assert_int_eq(pipe(pipes), 0);
	reader.fd = pipes[0];
	fflush(stdout);
	dup2(pipes[1], STDOUT_FILENO);
	close(pipes[1]);
	ck_assert_int_eq(pthread_create(&thread, NULL, follow, &reader), 0);
	status = query_main(2, argv);
	dup2(out, STDOUT_FILENO); /* closes the last writing end of the pipe */
	pthread_join(thread, NULL);
	ck_assert_int_eq(status, TOOL_OK);
	ck_assert_int_eq(reader.step, 3);
	ck_assert_ptr_nonnull(strstr(reader.said, "0x00feed0000000001  port 1    port active"));
	g_free(reader.said);
	close(out);
}
END_TEST

START_TEST(count_ends_events_and_json_has_a_line_for_each)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	two_hcas();
	text = run("events --json --count 3 --timeout 60", TOOL_OK);
	lines = g_strsplit(text, "\n", -1);
	ck_assert_uint_eq(g_strv_length(lines), 4); /* four parts: the last line ends with a newline */
	for (int i = 0; i < 3; i++) {
		JsonNode *node = json_from_string(lines[i], NULL);

		ck_assert_ptr_nonnull(node);
		ck_assert_ptr_nonnull(json_object_get_string_member(json_node_get_object(node), "event"));
		json_node_unref(node);
	}
}
END_TEST

/* ------------------------------------------------------------------ doctor */

static JsonObject *finding(JsonObject *answer, const char *about)
{
	for (guint i = 0; i < count(answer, "findings"); i++)
		if (!strcmp(json_object_get_string_member(row(answer, "findings", i), "about"), about))
			return row(answer, "findings", i);
	ck_abort_msg("no finding about %s", about);
	return NULL;
}

START_TEST(doctor_ends_with_the_worst_it_found)
{
	struct fake *fake = test_fake();
	g_autoptr(JsonObject) well = NULL, down = NULL, failed = NULL;

	well = run_json("doctor", TOOL_OK);
	ck_assert_str_eq(json_object_get_string_member(finding(well, "HCA 0x00feed0000000001"), "level"), "ok");
	fake->port_attr.state = IB_PORT_DOWN;
	down = run_json("doctor", TOOL_WARNING);
	ck_assert_str_eq(json_object_get_string_member(down, "worst"), "warning");
	ck_assert_ptr_nonnull(json_object_get_string_member(finding(down, "HCA 0x00feed0000000001"), "remedy"));
	fake->fail[FAKE_query_port] = AL_CA_ERROR;
	failed = run_json("doctor", TOOL_BROKEN);
	ck_assert_str_eq(json_object_get_string_member(failed, "worst"), "error");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query");
	TCase *tc = tcase_create("al_query");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, one_hca_that_fails_does_not_hide_the_other);
	tcase_add_test(tc, a_table_that_cannot_be_read_is_said_and_the_rest_is_shown);
	tcase_add_test(tc, where_no_port_is_let_through_that_is_what_is_said);
	tcase_add_test(tc, a_name_from_a_module_can_not_steer_the_terminal);
	tcase_add_test(tc, prometheus_text_escapes_names_and_has_base_units);
	tcase_add_test(tc, prometheus_text_says_what_it_lacks);
	tcase_add_test(tc, a_number_above_2_to_the_53_is_a_string);
	tcase_add_test(tc, diff_shows_what_differs_and_nothing_else);
	tcase_add_test(tc, without_any_hca_that_is_what_is_said);
	tcase_add_test(tc, res_shows_each_object_with_its_owner_parent_and_counts);
	tcase_add_test(tc, filters_let_through_what_they_say);
	tcase_add_test(tc, a_table_shows_numbers_of_queue_pairs_in_hexadecimal_form);
	tcase_add_test(tc, a_completion_queue_is_found_by_its_id);
	tcase_add_test(tc, a_queue_pair_that_is_not_there_is_not_found);
	tcase_add_test(tc, events_come_as_they_happen_until_a_signal);
	tcase_add_test(tc, count_ends_events_and_json_has_a_line_for_each);
	tcase_add_test(tc, doctor_ends_with_the_worst_it_found);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
