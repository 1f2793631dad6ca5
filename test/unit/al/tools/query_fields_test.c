/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query shows each attribute of an HCA and of a port under its own name, in JSON and in its column of the table:
 * every attribute of the module has a value of its own.
 */
#include "test/unit/al/tools/query_run.h"

/* traffic, then errors */
#define COUNTERS(X) \
	X(xmit_bytes, 1001) \
	X(rcv_bytes, 1002) \
	X(xmit_packets, 1003) \
	X(rcv_packets, 1004) \
	X(unicast_xmit_packets, 1005) \
	X(unicast_rcv_packets, 1006) \
	X(multicast_xmit_packets, 1007) \
	X(multicast_rcv_packets, 1008) \
	X(rcv_dropped, 1011) \
	X(xmit_wait, 1012) \
	X(retransmits, 1013) \
	X(rnr_naks, 1014) \
	X(seq_naks, 1015) \
	X(symbol_errors, 1016) \
	X(link_error_recovery, 1017) \
	X(link_downed, 1018) \
	X(rcv_errors, 1010) \
	X(rcv_remote_phys_errors, 1019) \
	X(rcv_switch_relay_errors, 1020) \
	X(xmit_discards, 1009) \
	X(xmit_constraint_errors, 1021) \
	X(rcv_constraint_errors, 1022) \
	X(link_integrity_errors, 1023) \
	X(buffer_overrun_errors, 1024) \
	X(vl15_dropped, 1025)

#define LIMITS(X)                                                                                  \
	X(max_mr_size, 2001)                                                                       \
	X(max_mr, 2002) X(max_mw, 2003) X(max_fmr, 2004) X(max_map_per_fmr, 2005) X(               \
		max_fast_reg_pages, 2006) X(max_pd, 2007) X(max_rdd, 2008) X(max_eec, 2009)        \
		X(max_xrcd, 2010) X(max_ah, 2011) X(max_qp, 2012) X(max_qp_wr, 2013) X(            \
			max_send_sge, 2014) X(max_recv_sge, 2015) X(max_read_sge, 2016)            \
			X(max_inline_data, 2017) X(max_qp_rd_atom, 118) X(                         \
				max_qp_init_rd_atom, 119) X(max_res_rd_atom, 2020) X(max_cq, 2021) \
				X(max_cqe, 2022) X(max_srq, 2023) X(max_srq_wr, 2024)              \
					X(max_srq_sge, 2025) X(max_raw_ipv6_qp, 2026)              \
						X(max_raw_ethy_qp, 2027) X(max_mcast_grp, 2028)    \
							X(max_mcast_qp_attach,                     \
							  2029) X(max_total_mcast_qp_attach, 2030) \
								X(max_pkeys, 31)                   \
									X(num_comp_vectors, 5)     \
										X(num_ports, 2)

static struct fake *an_hca(void)
{
	struct fake *fake = test_fake();
	struct ib_ca_attr *ca = &fake->ca_attr;
	struct ib_port_attr *port = &fake->port_attr;

	strcpy(ca->node_desc, "the description");
	strcpy(ca->fw_ver, "firmware 7");
	strcpy(ca->location, "its place");
	ca->sys_image_guid = 0x1111222233334444;
	ca->vendor_id = 0xabc001;
	ca->vendor_part_id = 0xabc002;
	ca->hw_ver = 0xabc003;
	ca->page_size_cap = 0x201000;
	ca->atomic_cap = IB_ATOMIC_GLOBAL;
	ca->masked_atomic_cap = IB_ATOMIC_HCA;
	ca->caps = IB_CA_CAP_UC | IB_CA_CAP_RNR_NAK;
#define SET_LIMIT(name, value) ca->name = value;
	LIMITS(SET_LIMIT)
	port->subnet_prefix = 0xfec0000000000077;
	port->state = IB_PORT_ARMED;
	port->phys_state = IB_PHYS_LINK_UP;
	port->link_layer = IB_LINK_LAYER_INFINIBAND;
	port->max_mtu = IB_MTU_2048;
	port->active_mtu = IB_MTU_1024;
	port->active_width = IB_WIDTH_4X;
	port->active_speed = IB_SPEED_EDR;
	port->cap_mask = 0xabc004;
	port->max_msg_size = 3001;
	port->gid_tbl_len = 3;
	port->pkey_tbl_len = 4;
	port->bad_pkey_cntr = 3005;
	port->qkey_viol_cntr = 3006;
	port->lid = 3007;
	port->sm_lid = 3008;
	port->lmc = 6;
	port->sm_sl = 7;
#define SET_COUNTER(name, value) port->counters.name = value;
	COUNTERS(SET_COUNTER)
	return fake;
}

static void ck_number(JsonObject *obj, const char *name, gint64 value)
{
	ck_assert_msg(json_object_has_member(obj, name), "there is no \"%s\"", name);
	ck_assert_msg(json_object_get_int_member(obj, name) == value, "\"%s\" is %lld, not %lld",
		      name, (long long)json_object_get_int_member(obj, name), (long long)value);
}

static void ck_string(JsonObject *obj, const char *name, const char *value)
{
	ck_assert_msg(json_object_has_member(obj, name), "there is no \"%s\"", name);
	ck_assert_msg(!strcmp(json_object_get_string_member(obj, name), value),
		      "\"%s\" is \"%s\", not \"%s\"", name,
		      json_object_get_string_member(obj, name), value);
}

/* Returns a line of the text, with one blank between words. Owned by the caller. */
static char *line_of(const char *text, guint number)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autoptr(GPtrArray) words = g_ptr_array_new();
	g_auto(GStrv) parts = NULL;

	ck_assert_uint_lt(number, g_strv_length(lines));
	parts = g_strsplit(lines[number], " ", -1);
	for (guint i = 0; parts[i]; i++)
		if (*parts[i])
			g_ptr_array_add(words, parts[i]);
	g_ptr_array_add(words, NULL);
	return g_strjoinv(" ", (char **)words->pdata);
}

static void ck_line(const char *text, guint number, const char *wanted)
{
	g_autofree char *line = line_of(text, number);

	ck_assert_str_eq(line, wanted);
}

static void ck_counters(JsonObject *counters)
{
#define CK_COUNTER(name, value) ck_number(counters, #name, value);
	COUNTERS(CK_COUNTER)
}

static void ck_port(JsonObject *port, gint64 num)
{
	ck_number(port, "ca", 0);
	ck_string(port, "ca_guid", "0x00feed0000000001");
	ck_number(port, "port", num);
	ck_string(port, "state", "Armed");
	ck_string(port, "phys_state", "LinkUp");
	ck_number(port, "lid", 3007);
	ck_number(port, "lmc", 6);
	ck_number(port, "sm_lid", 3008);
	ck_number(port, "sm_sl", 7);
	ck_string(port, "width", "4X");
	ck_string(port, "speed", "EDR");
	ck_number(port, "rate_mbps", 100000);
	ck_number(port, "mtu", 1024);
	ck_number(port, "max_mtu", 2048);
	ck_number(port, "max_msg_size", 3001);
	ck_string(port, "link_layer", "InfiniBand");
	ck_string(port, "port_guid", num == 1 ? "0x00feed0000000002" : "0x00feed0000000003");
	ck_string(port, "subnet_prefix", "0xfec0000000000077");
	ck_string(port, "gid", num == 1 ? "fec0::77:fe:ed00:0:2" : "fec0::77:fe:ed00:0:3");
	ck_number(port, "gid_table_length", 3);
	ck_number(port, "pkey_table_length", 4);
	ck_string(port, "cap_mask", "0xabc004");
	ck_number(port, "bad_pkeys", 3005);
	ck_number(port, "qkey_violations", 3006);
	ck_counters(json_object_get_object_member(port, "counters"));
}

START_TEST(each_attribute_of_a_port_has_its_own_name_and_column)
{
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;

	an_hca();
	answer = run_json("port", TOOL_OK);
	ck_assert_uint_eq(count(answer, "ports"), 2);
	ck_port(row(answer, "ports", 0), 1);
	ck_port(row(answer, "ports", 1), 2);
	text = run("port", TOOL_OK);
	ck_line(text, 0, "HCA Port State Physical LID LMC SM Width Speed MTU GUID");
	ck_line(text, 1, "0 1 Armed LinkUp 3007 6 3008 4X EDR 1024 0x00feed0000000002");
	ck_line(text, 2, "0 2 Armed LinkUp 3007 6 3008 4X EDR 1024 0x00feed0000000003");
	ck_line(text, 5, "Bytes sent received Packets sent received Sent again Dropped");
	ck_line(text, 6, "1001 1002 1003 1004 1013 1011");
}
END_TEST

START_TEST(each_counter_has_its_own_name_and_line)
{
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;
	JsonObject *counters;
	guint line = 0;

	an_hca();
	answer = run_json("counters --port 2", TOOL_OK);
	ck_assert_uint_eq(count(answer, "ports"), 1);
	counters = json_object_get_object_member(row(answer, "ports", 0), "counters");
	ck_counters(counters);
	ck_number(counters, "bad_pkeys", 3005);
	ck_number(counters, "qkey_violations", 3006);
	text = run("counters --port 2", TOOL_OK);
	ck_line(text, line++, "Counter 0:2");
#define CK_COUNTER_LINE(name, value) ck_line(text, line++, #name " " #value);
	COUNTERS(CK_COUNTER_LINE)
	ck_line(text, line++, "bad_pkeys 3005");
	ck_line(text, line++, "qkey_violations 3006");
}
END_TEST

START_TEST(each_attribute_of_an_hca_has_its_own_name_and_place)
{
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;
	JsonObject *ca;
	al_h al;

	an_hca();
	al = test_open();
	answer = run_json("ca", TOOL_OK);
	ca = row(answer, "cas", 0);
	ck_number(ca, "index", 0);
	ck_string(ca, "guid", "0x00feed0000000001");
	ck_string(ca, "description", "the description");
	ck_string(ca, "module", "fake");
	ck_string(ca, "location", "its place");
	ck_string(ca, "fw_ver", "firmware 7");
	ck_string(ca, "vendor_id", "0xabc001");
	ck_string(ca, "vendor_part_id", "0xabc002");
	ck_string(ca, "hw_ver", "0xabc003");
	ck_string(ca, "sys_image_guid", "0x1111222233334444");
	ck_number(ca, "num_ports", 2);
	ck_number(ca, "num_comp_vectors", 5);
	ck_number(ca, "opens", 0);
	ck_port(json_array_get_object_element(json_object_get_array_member(ca, "ports"), 1), 2);
	text = run("ca", TOOL_OK);
	ck_line(text, 0, "HCA 0 the description");
	ck_assert_ptr_nonnull(strstr(text, "GUID 0x00feed0000000001  name fake0  module fake "));
	ck_assert_ptr_nonnull(strstr(text, "  at its place\n"));
	ck_line(text, 2, "Port State LID Rate MTU Link GID 0");
	ck_line(text, 3, "1 Armed 3007 100 Gb/s 1024 InfiniBand fec0::77:fe:ed00:0:2");
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(each_limit_and_ability_has_its_own_name_and_line)
{
	g_autoptr(JsonObject) answer = NULL;
	g_autofree char *text = NULL;
	JsonObject *ca, *limits, *caps;
	g_auto(GStrv) lines = NULL;
	guint line, given = 0;

	an_hca();
	answer = run_json("caps", TOOL_OK);
	ca = row(answer, "cas", 0);
	ck_string(ca, "atomics", "global");
	ck_string(ca, "masked_atomics", "hca");
	ck_string(ca, "page_sizes", "0x201000");
	limits = json_object_get_object_member(ca, "limits");
#define CK_LIMIT(name, value) ck_number(limits, #name, value);
	LIMITS(CK_LIMIT)
	caps = json_object_get_object_member(ca, "caps");
	ck_assert(json_object_get_boolean_member(caps, "uc"));
	ck_assert(json_object_get_boolean_member(caps, "rnr_nak"));
	{
		g_autoptr(GList) values = json_object_get_values(caps);

		for (GList *value = values; value; value = value->next)
			given += json_node_get_boolean(value->data) != 0;
	}
	ck_assert_uint_eq(given, 2);
	text = run("caps", TOOL_OK);
	lines = g_strsplit(g_strchomp(text), "\n", -1);
	line = g_strv_length(lines);
#define ONE(name, value) +1
	line -= 0 LIMITS(ONE);
	ck_assert(g_str_has_suffix(lines[line - 1], " 0x201000"));
#define CK_LIMIT_LINE(name, value)                                                    \
	ck_assert_msg(g_str_has_suffix(lines[line], " " #value), "%s is not " #value, \
		      lines[line]);                                                   \
	line++;
	LIMITS(CK_LIMIT_LINE)
}
END_TEST

static struct fake *growing;

/* Each query of a port finds more bytes, and above 2^53 more packets. */
static void grow(void *object)
{
	(void)object;
	growing->port_attr.counters.xmit_bytes += 1000000;
	growing->port_attr.counters.xmit_packets += 1000;
}

START_TEST(watch_shows_rates_beside_totals)
{
	g_autofree char *lines = NULL, *counters = NULL, *port = NULL;
	g_auto(GStrv) line = NULL;
	JsonObject *rates;
	JsonNode *root;

	growing = an_hca();
	growing->port_attr.counters.xmit_packets = 1ull << 60;
	growing->hook[FAKE_query_port] = grow;
	lines = run("counters --json --watch=0.05 --count 2", TOOL_OK);
	line = g_strsplit(lines, "\n", -1);
	ck_assert(!strstr(line[0], "rates"));
	root = json_from_string(line[1], NULL);
	rates = json_object_get_object_member(
		json_array_get_object_element(
			json_object_get_array_member(json_node_get_object(root), "ports"), 0),
		"rates");
	ck_assert(json_object_get_double_member(rates, "xmit_bytes") > 1e6); /* in far less than a second */
	ck_assert(json_object_get_double_member(rates, "xmit_packets") > 1e3);
	ck_assert(json_object_get_double_member(rates, "rcv_bytes") == 0);
	json_node_unref(root);
	counters = run("counters --watch=0.05 --count 2", TOOL_OK);
	ck_assert(g_regex_match_simple("^xmit_bytes +\\d+  +\\d{7,}\\.\\d", counters, G_REGEX_MULTILINE, 0));
	port = run("port --watch=0.05 --count 2", TOOL_OK);
	ck_assert(g_regex_match_simple("^Per second:\nBytes sent .*\n\\d{7,}\\.\\d +0\\.0 ", port, G_REGEX_MULTILINE, 0));
}
END_TEST

START_TEST(tables_of_a_port_show_what_is_in_each_place)
{
	g_autoptr(JsonObject) gids = NULL, pkeys = NULL;
	g_autofree char *gid_text = NULL, *pkey_text = NULL;

	an_hca();
	gids = run_json("gid", TOOL_OK);
	ck_assert_uint_eq(count(gids, "gids"), 2);
	ck_number(row(gids, "gids", 1), "port", 2);
	ck_number(row(gids, "gids", 1), "index", 0);
	ck_string(row(gids, "gids", 1), "gid", "fec0::77:fe:ed00:0:3");
	ck_string(row(gids, "gids", 1), "type", "InfiniBand");
	gid_text = run("gid", TOOL_OK);
	ck_line(gid_text, 2, "0 2 0 fec0::77:fe:ed00:0:3 InfiniBand");
	pkeys = run_json("pkey", TOOL_OK);
	ck_assert_uint_eq(count(pkeys, "pkeys"), 2);
	ck_string(row(pkeys, "pkeys", 0), "pkey", "0xffff");
	ck_string(row(pkeys, "pkeys", 0), "member", "full");
	pkey_text = run("pkey", TOOL_OK);
	ck_line(pkey_text, 1, "0 1 0 0xffff full");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query_fields");
	TCase *tc = tcase_create("al_query");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, each_attribute_of_a_port_has_its_own_name_and_column);
	tcase_add_test(tc, each_counter_has_its_own_name_and_line);
	tcase_add_test(tc, each_attribute_of_an_hca_has_its_own_name_and_place);
	tcase_add_test(tc, each_limit_and_ability_has_its_own_name_and_line);
	tcase_add_test(tc, watch_shows_rates_beside_totals);
	tcase_add_test(tc, tables_of_a_port_show_what_is_in_each_place);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
