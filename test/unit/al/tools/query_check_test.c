/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query check: states, thresholds and exit statuses over HCAs that the test makes; and PortInfo
 * in words (port_info.c). */
#include "test/unit/al/tools/query_run.h"

#include "al/tools/errors.h"
#include "al/tools/port_info.h"

enum { OK, WARNING, CRITICAL, UNKNOWN };

/* ----------------------------------------------------------------------------- check */

static JsonObject *problem(JsonObject *answer, guint index)
{
	return row(answer, "problems", index);
}

static void ck_member(JsonObject *obj, const char *name, const char *text)
{
	const char *is = json_object_get_string_member(obj, name);

	ck_assert_msg(strstr(is, text), "\"%s\" is not in: %s", text, is);
}

START_TEST(ports_that_are_well_are_ok_in_one_line)
{
	g_autofree char *text = NULL;

	two_hcas();
	text = run("check", OK);
	ck_assert(g_str_has_prefix(
		text,
		"OK - 2 ports are Active, no error counter at its threshold | ports=2 active=2 "));
	ck_assert_ptr_nonnull(strstr(text, " symbol_errors=0c "));
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(a_state_other_than_active_is_a_problem)
{
	static const struct {
		ib_port_state state;
		int status;
		const char *level, *way_out;
	} states[] = {
		{ IB_PORT_DOWN, CRITICAL, "CRITICAL", "plug the cable in" },
		{ IB_PORT_INIT, WARNING, "WARNING", "al_run opensm" },
		{ IB_PORT_ARMED, WARNING, "WARNING", "log of the subnet manager" },
	};
	struct fake *fake = test_fake();
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;

	fake->port_attr.state = states[_i].state;
	answer = run_json("check", states[_i].status);
	ck_member(answer, "level", states[_i].level);
	ck_assert_uint_eq(count(answer, "problems"), 1);
	ck_member(problem(answer, 0), "way_out", states[_i].way_out);
	ck_member(problem(answer, 0), "where", "HCA 0x00feed0000000001");
	text = run("check", states[_i].status);
	ck_assert(g_str_has_prefix(text, states[_i].level));
	ck_assert_ptr_nonnull(strstr(text, "Way out: "));
}
END_TEST

START_TEST(a_counter_is_a_problem_from_its_threshold_on)
{
	static const struct {
		guint64 value;
		const char *line;
		int status;
	} counters[] = {
		{ 9, "check", OK },
		{ 10, "check", WARNING },
		{ 999, "check", WARNING },
		{ 1000, "check", CRITICAL },
		{ 10, "check --warn symbol_errors=11", OK },
		{ 11, "check --warn symbol_errors=11", WARNING },
		{ 11, "check --warn 12", OK },
		{ 12, "check --warn 12", WARNING },
		{ 999, "check --warn symbol_errors=0", OK },
		{ 5, "check --crit symbol_errors=5", CRITICAL },
		{ 4, "check --crit symbol_errors=5,link_downed=1", OK },
		{ 5, "check --warn 0 --crit 0", OK },
		{ 5, "check --warn 7,symbol_errors=5", WARNING },
		{ G_MAXUINT64, "check", CRITICAL },
	};
	struct fake *fake = test_fake();
	g_autoptr(JsonObject) answer = NULL;

	fake->port_attr.counters.symbol_errors = counters[_i].value;
	answer = run_json(counters[_i].line, counters[_i].status);
	ck_assert_uint_eq(count(answer, "problems"), counters[_i].status != OK);
	if (counters[_i].status != OK)
		ck_member(problem(answer, 0), "what", "symbol_errors");
}
END_TEST

START_TEST(every_counter_is_looked_at)
{
	struct fake *fake = test_fake();
	g_autoptr(JsonObject) answer = NULL;
	struct ib_port_counters *c = &fake->port_attr.counters;

#define BAD(name, warning, critical, text, way_out) c->name = warning;
	PORT_ERROR_LIST(BAD)
	answer = run_json("check", WARNING);
	ck_assert_uint_eq(count(answer, "problems"), PORT_ERRORS);
	for (guint i = 0; i < PORT_ERRORS; i++)
		ck_member(problem(answer, i), "what", port_error_kinds[i].name);
}
END_TEST

/* al_query(1) has the thresholds of each counter. */
START_TEST(the_manual_has_the_thresholds)
{
	g_autofree char *path = g_build_filename(
		g_getenv("top_srcdir") ? g_getenv("top_srcdir") : ".", "doc/man/al_query.1", NULL);
	g_autofree char *manual = NULL;

	ck_assert(g_file_get_contents(path, &manual, NULL, NULL));
	for (guint i = 0; i < PORT_ERRORS; i++) {
		const struct port_error_kind *kind = &port_error_kinds[i];
		g_autofree char *critical =
			kind->critical ? g_strdup_printf("%" G_GUINT64_FORMAT, kind->critical)
				       : g_strdup("none");
		g_autofree char *line = g_strdup_printf(".B %s\n%" G_GUINT64_FORMAT ", %s",
							kind->name, kind->warning, critical);

		ck_assert_msg(strstr(manual, line) != NULL, "%s", line);
	}
}
END_TEST

START_TEST(what_cannot_be_checked_is_unknown)
{
	static const char *const lines[] = {
		"check --ca 7",         "check --warn no_such=1", "check --warn symbol_errors=x",
		"check --crit -1",      "check --nonsense",       "check extra",
		"check --state Active", "check --port 9"
	};
	g_autofree char *text = NULL;

	test_fake();
	text = run(lines[_i], UNKNOWN);
}
END_TEST

static struct fake *failing;

/* Queries of the first HCA's port fail; queries of the other HCA's port succeed. */
static void fail_first(void *object)
{
	const struct ci_ca *ca = object;

	failing->fail[FAKE_query_port] =
		(uint64_t)(uintptr_t)ca->hca == FAKE_GUID ? (uint64_t)AL_CA_ERROR : AL_SUCCESS;
}

START_TEST(a_port_that_does_not_answer_is_unknown_unless_another_has_a_problem)
{
	g_autofree char *well = NULL, *worn = NULL, *down = NULL;
	al_h al;

	failing = two_hcas();
	al = test_open(); /* the library refuses an HCA that fails from the start */
	failing->hook[FAKE_query_port] = fail_first;
	well = run("check", UNKNOWN);
	ck_assert(g_str_has_prefix(
		well, "UNKNOWN - a part of the answer is missing | ports=1 active=1 "));
	down = run("check --crit 1 --ca 1", OK);
	failing->port_attr.counters.symbol_errors = 1;
	g_free(down);
	worn = run("check --warn 1", WARNING);
	ck_assert(g_str_has_prefix(
		worn, "WARNING - 1 problem at 1 port; a part of the answer is missing |"));
	down = run("check --crit 1", CRITICAL);
	ck_assert(g_str_has_prefix(
		down, "CRITICAL - 1 problem at 1 port; a part of the answer is missing |"));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(without_an_hca_check_is_unknown)
{
	g_autofree char *text = NULL;

	test_fake()->hcas = 0;
	text = run("check", UNKNOWN);
	ck_assert(g_str_has_prefix(text, "UNKNOWN - no port could be checked"));
}
END_TEST

START_TEST(a_module_without_special_queue_pairs_can_not_sweep_and_says_so)
{
	g_autofree char *text = NULL;
	g_autoptr(JsonObject) answer = NULL, port = NULL;

	test_fake();
	text = run("check --subnet", UNKNOWN);
	answer = run_json("topology", TOOL_FAILED);
	ck_member(row(answer, "errors", 0), "text", "no special queue pairs");
	port = run_json("port --long", TOOL_FAILED);
	ck_member(row(port, "ports", 0), "no_port_info", "no special queue pairs");
}
END_TEST

/* -------------------------------------------------------------------------- PortInfo */

/* "a,b": the strings of a list. The caller frees the text. */
static char *list(JsonObject *obj, const char *name)
{
	JsonArray *array = json_object_get_array_member(obj, name);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < json_array_get_length(array); i++)
		g_string_append_printf(text, "%s%s", i ? "," : "",
				       json_array_get_string_element(array, i));
	return g_string_free(text, FALSE);
}

#define ck_list(obj, name, wanted)                        \
	do {                                              \
		g_autofree char *text_ = list(obj, name); \
		ck_assert_str_eq(text_, wanted);          \
	} while (0)
#define ck_string(obj, name, wanted) \
	ck_assert_str_eq(json_object_get_string_member(obj, name), wanted)

START_TEST(port_info_is_told_in_names)
{
	g_autoptr(JsonObject) obj = json_object_new();
	struct ib_port_info info = { .cap_mask = ib_be32_of(IB_PORT_CAP_SM | IB_PORT_CAP_TRAP),
				     .cap_mask2 = ib_be16_of(IB_PORT_CAP2_LINK_SPEED_HDR),
				     .link_width_enabled = 255,
				     .link_width_supported = IB_WIDTH_1X | IB_WIDTH_4X,
				     .link_width_active = IB_WIDTH_4X };

	ib_port_info_set_port_state(&info, IB_PORT_ARMED);
	ib_port_info_set_phys_state(&info, IB_PHYS_LINK_UP);
	ib_port_info_set_link_down_default(&info, 2);
	ib_port_info_set_link_speed_supported(&info, 7);
	ib_port_info_set_link_speed_enabled(&info, 15);
	ib_port_info_set_link_speed_ext_supported(&info, 3);
	ib_port_info_set_link_speed_ext_enabled(&info, 31);
	ib_port_info_set_link_speed_active(&info, 4);
	ib_port_info_set_link_speed_ext_active(&info, 2);
	ib_port_info_set_vl_cap(&info, 5);
	ib_port_info_set_mtu_cap(&info, IB_MTU_4096);
	ib_port_info_set_mkey_protect(&info, 1);
	ib_port_info_set_subnet_timeout(&info, 18);
	ib_port_info_set_hoq_life(&info, 20);
	ib_port_info_set_init_type_reply(&info, 2);
	port_info_fill(obj, &info);
	ck_string(obj, "port_state", "Armed");
	ck_string(obj, "port_physical_state", "LinkUp");
	ck_string(obj, "link_down_default_state", "Polling");
	ck_list(obj, "capability_mask", "subnet manager,traps");
	ck_list(obj, "capability_mask2", "speed HDR");
	ck_list(obj, "link_width_enabled", "1X,4X");
	ck_list(obj, "link_width_active", "4X");
	ck_list(obj, "link_speed_supported", "SDR,DDR,QDR,FDR,EDR");
	ck_list(obj, "link_speed_enabled", "SDR,DDR,QDR,FDR,EDR");
	ck_list(obj, "link_speed_active", "EDR");
	ck_string(obj, "vl_cap", "VL0-14");
	ck_string(obj, "m_key_protect", "Set needs the M_Key; Get hides it");
	ck_list(obj, "init_type_reply", "preserve content");
	ck_assert_int_eq(json_object_get_int_member(obj, "mtu_cap"), 4096);
	ck_assert_int_eq(json_object_get_int_member(obj, "subnet_timeout_ns"), 4096ll << 18);
	ck_assert(json_object_get_null_member(obj, "hoq_life_ns"));
}
END_TEST

START_TEST(a_value_that_has_no_name_is_a_number)
{
	g_autoptr(JsonObject) obj = json_object_new();
	struct ib_port_info info;

	memset(&info, 0xff, sizeof(info));
	ib_port_info_set_link_speed_ext_enabled(&info, 30);
	port_info_fill(obj, &info);
	ck_string(obj, "port_state", "15");
	ck_string(obj, "vl_cap", "15");
	ck_list(obj, "link_width_active", "1X,4X,8X,12X,2X,bit 5,bit 6,bit 7");
	ck_list(obj, "link_speed_enabled", "SDR,DDR,QDR,FDR10");
	ck_assert_int_eq(json_object_get_int_member(obj, "mtu_cap"), 0);
}
END_TEST

START_TEST(each_member_of_port_info_has_its_line_in_the_sheet)
{
	g_autoptr(JsonObject) obj = json_object_new();
	const struct ib_port_info info = { 0 };
	g_autoptr(GList) members = NULL;

	port_info_fill(obj, &info);
	members = json_object_get_members(obj);
	for (GList *m = members; m; m = m->next) {
		const struct query_column *c = port_info_columns;

		while (c->key && strcmp(c->key, m->data))
			c++;
		ck_assert_msg(c->key != NULL, "%s", (char *)m->data);
	}
	for (const struct query_column *c = port_info_columns; c->key; c++)
		ck_assert_msg(json_object_has_member(obj, c->key), "%s", c->key);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query_check");
	TCase *tc = tcase_create("check");

	tcase_add_test(tc, ports_that_are_well_are_ok_in_one_line);
	tcase_add_loop_test(tc, a_state_other_than_active_is_a_problem, 0, 3);
	tcase_add_loop_test(tc, a_counter_is_a_problem_from_its_threshold_on, 0, 14);
	tcase_add_test(tc, every_counter_is_looked_at);
	tcase_add_test(tc, the_manual_has_the_thresholds);
	tcase_add_loop_test(tc, what_cannot_be_checked_is_unknown, 0, 8);
	tcase_add_test(tc, a_port_that_does_not_answer_is_unknown_unless_another_has_a_problem);
	tcase_add_test(tc, without_an_hca_check_is_unknown);
	tcase_add_test(tc, a_module_without_special_queue_pairs_can_not_sweep_and_says_so);
	tcase_add_test(tc, port_info_is_told_in_names);
	tcase_add_test(tc, a_value_that_has_no_name_is_a_number);
	tcase_add_test(tc, each_member_of_port_info_has_its_line_in_the_sheet);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
