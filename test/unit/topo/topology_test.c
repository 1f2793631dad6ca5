/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The text of a topology: the output of old and new programs is read; a contradiction is refused
 * with line and reason.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/topo/same.h"

#define SWITCH_A "Switch 4 \"A\"\n"
#define HCA_B    "Ca 2 \"B\"\n"

static struct topology t;
static struct topology_error error;

static al_status parse(const char *text)
{
	return topology_parse(&t, TOPOLOGY_TO_SIMULATE, "net", text, strlen(text), &error);
}

static void parse_well(const char *text)
{
	ck_assert_msg(parse(text) == AL_SUCCESS, "%s", error.text);
}

static void parse_to_show(const char *text)
{
	ck_assert_msg(topology_parse(&t, TOPOLOGY_TO_SHOW, "net", text, strlen(text), &error) ==
			      AL_SUCCESS,
		      "%s", error.text);
}

static void read_sample(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[512], text[8192];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s/test/data/topology/%s", top ? top : ".", name);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s", path);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = 0;
	parse_well(text);
}

static const struct topology_port *port(uint32_t node, uint32_t number)
{
	return &t.ports[topology_port_index(&t.nodes[node], number)];
}

static void expect_node(uint32_t node, ib_node_type type, uint32_t ports, uint64_t guid,
			const char *description)
{
	ck_assert_uint_lt(node, t.num_nodes);
	ck_assert_int_eq(t.nodes[node].type, type);
	ck_assert_uint_eq(t.nodes[node].num_ports, ports);
	ck_assert_uint_eq(t.nodes[node].guid, guid);
	ck_assert_str_eq(t.nodes[node].description, description);
}

/* Expects a cable, with one width and speed at both ends. */
static void expect_cable(uint32_t node_a, uint32_t a, uint32_t node_b, uint32_t b, uint32_t width,
			 uint32_t speed)
{
	ck_assert_uint_eq(port(node_a, a)->peer, topology_port_index(&t.nodes[node_b], b));
	ck_assert_uint_eq(port(node_b, b)->peer, topology_port_index(&t.nodes[node_a], a));
	ck_assert_uint_eq(port(node_a, a)->width, width);
	ck_assert_uint_eq(port(node_b, b)->width, width);
	ck_assert_uint_eq(port(node_a, a)->speed, speed);
	ck_assert_uint_eq(port(node_b, b)->speed, speed);
}

static void expect_end_port(const struct topology_port *p, uint64_t guid, uint32_t lid,
			    uint32_t lmc)
{
	ck_assert_uint_eq(p->guid, guid);
	ck_assert_uint_eq(p->lid, lid);
	ck_assert_uint_eq(p->lmc, lmc);
}

/* ----------------------------------------------------------------- samples */

START_TEST(a_text_of_2024_is_read)
{
	read_sample("new.txt");
	ck_assert_uint_eq(t.num_nodes, 6);
	ck_assert_uint_eq(t.num_ports, 42 + 66 + 4);
	expect_node(0, IB_NODE_SWITCH, 41, 0xe8ebd30300000001, "MF0;leaf-1:MQM8700/U1");
	expect_node(1, IB_NODE_SWITCH, 65, 0xe8ebd30300000002, "MF0;spine-1:MQM9700/U1");
	expect_node(5, IB_NODE_CA, 1, 0xe8ebd30300000009, "Mellanox Technologies Aggregation Node");
	ck_assert(t.nodes[0].enhanced);
	ck_assert_uint_eq(t.nodes[0].vendor, 0x2c9);
	ck_assert_uint_eq(t.nodes[0].device, 0xd2f0);
	ck_assert_uint_eq(t.nodes[5].system_guid, 0xe8ebd30300000001);
	expect_end_port(port(0, 0), 0xe8ebd30300000001, 2, 0);
	expect_end_port(port(4, 1), 0xe8ebd30300000040, 8, 0);
	expect_end_port(port(0, 31), 0, 0, 0);
	expect_cable(0, 32, 1, 2, IB_WIDTH_4X, IB_SPEED_HDR);
	expect_cable(0, 2, 3, 1, IB_WIDTH_2X, IB_SPEED_HDR);
	expect_cable(1, 65, 4, 1, IB_WIDTH_4X, IB_SPEED_NDR);
	ck_assert_uint_eq(port(0, 33)->peer, TOPOLOGY_NONE);
	topology_free(&t);
}
END_TEST

START_TEST(a_text_of_2006_is_read_whose_descriptions_have_no_quotes)
{
	read_sample("old.txt");
	ck_assert_uint_eq(t.num_nodes, 3);
	expect_node(0, IB_NODE_SWITCH, 8, 0x2c90000000001, "Eight ports in rack 1");
	expect_node(1, IB_NODE_CA, 2, 0x2c90000000010, "Host one");
	ck_assert(!t.nodes[0].enhanced);
	expect_end_port(port(0, 0), 0x2c90000000001, 3, 0);
	expect_end_port(port(1, 1), 0x2c90000000011, 4, 1);
	expect_end_port(port(2, 2), 0x2c90000000022, 6, 0);
	expect_cable(0, 1, 1, 1, 0, 0);
	expect_cable(0, 8, 2, 2, 0, 0);
	topology_free(&t);
}
END_TEST

START_TEST(a_text_with_chassis_and_full_information_is_read)
{
	read_sample("chassis.txt");
	ck_assert_uint_eq(t.num_nodes, 4);
	expect_node(2, IB_NODE_CA, 2, 0x8f10400000100, "node \"one\"");
	ck_assert_uint_eq(t.nodes[1].system_guid, 0x8f10400000010);
	expect_end_port(port(2, 1), 0x8f10400000101, 12, 2);
	expect_cable(0, 1, 1, 13, IB_WIDTH_12X, IB_SPEED_DDR);
	expect_cable(1, 24, 2, 1, IB_WIDTH_1X, IB_SPEED_SDR);
	expect_cable(2, 2, 3, 1, IB_WIDTH_4X, IB_SPEED_FDR10);
	topology_free(&t);
}
END_TEST

START_TEST(a_text_for_ibsim_is_read_and_gets_the_guids_that_ibsim_gives)
{
	read_sample("short.txt");
	ck_assert_uint_eq(t.num_nodes, 7);
	expect_node(0, IB_NODE_SWITCH, 8, 0x200000, "Switch1");
	expect_node(1, IB_NODE_SWITCH, 8, 0x200001, "Switch2");
	expect_node(2, IB_NODE_CA, 2, 0x100000, "Hca1");
	expect_node(3, IB_NODE_CA, 2, 0x100003, "Hca2");
	expect_node(4, IB_NODE_SWITCH, 4, 0x300000, "rack#Switch1");
	expect_node(5, IB_NODE_CA, 1, 0x100006, "rack#Hca1");
	expect_node(6, IB_NODE_CA, 1, 0x100008, "east#Hca1");
	expect_end_port(port(3, 2), 0x100005, 0, 0);
	expect_cable(0, 1, 2, 1, IB_WIDTH_4X, 0);
	expect_cable(0, 2, 3, 2, IB_WIDTH_12X, 0);
	expect_cable(0, 3, 1, 3, IB_WIDTH_12X, IB_SPEED_DDR);
	expect_cable(0, 4, 1, 4, IB_WIDTH_4X, 0);
	expect_cable(4, 2, 6, 1, IB_WIDTH_4X, 0);
	topology_free(&t);
}
END_TEST

/* ------------------------------------------------------------------- rules */

START_TEST(a_cable_that_one_end_describes_is_there_with_lid_and_guid)
{
	parse_well(SWITCH_A "[2] \"B\"[1](77) # \"b\" lid 5 4xEDR\n" HCA_B);
	expect_cable(0, 2, 1, 1, IB_WIDTH_4X, IB_SPEED_EDR);
	expect_end_port(port(1, 1), 0x77, 5, 0);
	topology_free(&t);
	parse_well(SWITCH_A HCA_B "[1](77) \"A\"[2] # lid 5 lmc 3 \"a\" lid 9 4xEDR\n");
	expect_cable(0, 2, 1, 1, IB_WIDTH_4X, IB_SPEED_EDR);
	expect_end_port(port(0, 0), 0x200000, 9, 0);
	expect_end_port(port(1, 1), 0x77, 5, 3);
	topology_free(&t);
}
END_TEST

START_TEST(the_lesser_of_two_widths_and_speeds_counts)
{
	static const struct {
		const char *a, *b;
		uint32_t width, speed;
	} cases[] = {
		{ "4xSDR", "1xSDR", IB_WIDTH_1X, IB_SPEED_SDR },
		{ "2xNDR", "4xHDR", IB_WIDTH_2X, IB_SPEED_HDR },
		{ "8xFDR", "12xEDR", IB_WIDTH_8X, IB_SPEED_FDR },
		{ "??QDR", "4x???", IB_WIDTH_4X, IB_SPEED_QDR },
		{ "?????", "?????", 0, 0 },
		{ "", "4xFDR10", IB_WIDTH_4X, IB_SPEED_FDR10 },
	};
	char text[256];
	size_t i, turn;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (turn = 0; turn < 2; turn++) {
			snprintf(text, sizeof(text),
				 SWITCH_A "[1] \"B\"[1] # \"b\" lid 0 %s\n" HCA_B
					  "[1] \"A\"[1] # lid 0 lmc 0 \"a\" lid 0 %s\n",
				 turn ? cases[i].a : cases[i].b, turn ? cases[i].b : cases[i].a);
			parse_well(text);
			expect_cable(0, 1, 1, 1, cases[i].width, cases[i].speed);
			topology_free(&t);
		}
}
END_TEST

START_TEST(an_hca_may_be_cabled_to_an_hca_and_a_switch_to_itself)
{
	parse_well(HCA_B "[1] \"B\"[2]\n" SWITCH_A "[1] \"A\"[4]\n");
	expect_cable(0, 1, 0, 2, 0, 0);
	expect_cable(1, 1, 1, 4, 0, 0);
	topology_free(&t);
}
END_TEST

START_TEST(lines_may_end_with_cr_and_the_last_one_without_newline)
{
	parse_well("Switch 4 \"A\"\r\n\r\n  [1]\t\"B\"[1]\r\nCa 1 \"B\"  # \"b\"");
	expect_cable(0, 1, 1, 1, 0, 0);
	ck_assert_str_eq(t.nodes[1].description, "b");
	topology_free(&t);
}
END_TEST

START_TEST(a_long_description_is_cut_at_the_end_of_a_character)
{
	char text[256], want[65];

	memset(want, 'x', 63);
	want[63] = 0;
	snprintf(text, sizeof(text), "Ca 1 \"B\" # \"%s\xc3\xa9y\"\n",
		 want); /* e acute: bytes 63 and 64 */
	parse_well(text);
	ck_assert_str_eq(t.nodes[0].description, want);
	topology_free(&t);
	snprintf(text, sizeof(text), "Ca 1 \"B\" # \"%sab\"\n", want);
	parse_well(text);
	ck_assert_uint_eq(strlen(t.nodes[0].description), 64);
	topology_free(&t);
}
END_TEST

START_TEST(an_empty_description_stays_empty_and_none_is_the_name)
{
	parse_well("Ca 1 \"B\" # \"\"\nCa 1 \"C\"\n");
	ck_assert_str_eq(t.nodes[0].description, "");
	ck_assert_str_eq(t.nodes[1].description, "C");
	topology_free(&t);
}
END_TEST

START_TEST(values_are_of_the_next_node_only)
{
	parse_well("vendid=0x2c9\ndevid=7\nsysimgguid=0x99\nswitchguid=0x10(55)\n" SWITCH_A
		   "Switch 4 \"C\"\n");
	ck_assert_uint_eq(t.nodes[0].guid, 0x10);
	ck_assert_uint_eq(port(0, 0)->guid, 0x55);
	ck_assert_uint_eq(t.nodes[0].vendor, 0x2c9);
	ck_assert_uint_eq(t.nodes[0].device, 7);
	ck_assert_uint_eq(t.nodes[0].system_guid, 0x99);
	ck_assert_uint_eq(t.nodes[1].guid, 0x11);
	ck_assert_uint_eq(port(1, 0)->guid, 0x11);
	ck_assert_uint_eq(t.nodes[1].vendor + t.nodes[1].device, 0);
	ck_assert_uint_eq(t.nodes[1].system_guid, 0);
	topology_free(&t);
}
END_TEST

/* ------------------------------------------------------------------ to show */

START_TEST(a_subnet_to_show_keeps_what_cannot_be_simulated)
{
	parse_to_show("rtguid=0x20\nRt 2 \"R-0000000000000020\" # \"r\"\n"
		      "[1](5) \"H-0000000000000030\"[1](5) # lid 3 lmc 0 \"h\" lid 4 4xEDR\n"
		      "Ca 2 \"H-0000000000000030\" # \"h\"\n"
		      "[1](5) \"R-0000000000000020\"[1](5) # lid 4 lmc 0 \"r\" lid 3 1xSDR\n");
	expect_node(0, IB_NODE_ROUTER, 2, 0x20, "r");
	expect_end_port(port(0, 1), 5, 3, 0);
	expect_end_port(port(1, 1), 5, 4, 0);
	expect_end_port(port(1, 2), 0, 0, 0);
	ck_assert_uint_eq(port(0, 1)->width, IB_WIDTH_4X);
	ck_assert_uint_eq(port(0, 1)->speed, IB_SPEED_EDR);
	ck_assert_uint_eq(port(1, 1)->width, IB_WIDTH_1X);
	ck_assert_uint_eq(port(1, 1)->speed, IB_SPEED_SDR);
	ck_assert(is_read_as_same(&t, TOPOLOGY_TO_SHOW));
	topology_free(&t);
}
END_TEST

START_TEST(a_cable_to_show_that_one_end_describes_has_one_rate)
{
	parse_to_show(SWITCH_A "[2] \"B\"[1](77) # \"b\" lid 5 4xEDR\n" HCA_B);
	expect_cable(0, 2, 1, 1, IB_WIDTH_4X, IB_SPEED_EDR);
	expect_end_port(port(1, 1), 0x77, 5, 0);
	topology_free(&t);
}
END_TEST

START_TEST(a_router_has_a_guid_of_the_text_only)
{
	static const char text[] = "Rt 2 \"A\"\n";

	ck_assert_int_eq(topology_parse(&t, TOPOLOGY_TO_SHOW, "net", text, strlen(text), &error),
			 AL_BAD_CONFIG);
	ck_assert_ptr_nonnull(strstr(error.text, "net:1: \"A\" has the GUID 0"));
}
END_TEST

/* ---------------------------------------------------------------- refusals */

/* A text, the line that the message names (0: none), and words of the reason. */
static const struct {
	const char *text;
	uint32_t line;
	const char *why;
} refusals[] = {
	{ "", 0, "there is no node in the text" },
	{ "# nothing\n", 0, "there is no node in the text" },
	{ SWITCH_A "hello\n", 2, "hello: ibnetdiscover prints no such line" },
	{ SWITCH_A "Switches 4 \"B\"\n", 2, "ibnetdiscover prints no such line" },
	{ SWITCH_A "\x7f"
		   "ELF\n",
	  2, "byte 1 of the line is 0x7f: the file is no text" },
	{ "Rt 2 \"R-0000000000000001\"\n", 1, "routers are not simulated" },
	{ "rtguid=0x1\nRt 2 \"A\"\n", 2, "routers are not simulated" },
	{ "include \"other\"\n", 1, "other files are not included" },
	{ "do Unlink \"A\"\n", 1, "commands of ibsim are not executed" },
	{ SWITCH_A "@[1] \"x\"\n", 2, "aliases are not supported" },
	{ SWITCH_A "[1] \"m@x\"\n", 2, "aliases are not supported" },
	{ "Switch \"A\"\n", 1, "the number of ports is missing" },
	{ "Switch 0 \"A\"\n", 1, "a node has 1 to 254 ports, not 0" },
	{ "Switch 255 \"A\"\n", 1, "a node has 1 to 254 ports, not 255" },
	{ "Ca 4294967297 \"A\"\n", 1, "the number of ports is missing" },
	{ "Switch 4 A\n", 1, "the node's name is missing" },
	{ "Switch 4 \"A\n", 1, "the node's name is missing" },
	{ "Switch 4 \"\"\n", 1, "the node's name is missing" },
	{ "Switch 4 \"A#B\"\n", 1, "a name has no # and no @" },
	{ "Switch 4 \"A\" here\n", 1, "here after the name" },
	{ "Switch 4 \"A\" # \"a\" base port 0 lid x\n", 1, "lid is not followed by a number" },
	{ "Switch 4 \"A\" # \"a\" base port 0 lid 65536\n", 1, "lid is not followed by a number" },
	{ "Switch 4 \"A\" # \"a\" base port 0 lid 4 lmc 8\n", 1,
	  "lmc is not followed by a number" },
	{ SWITCH_A HCA_B SWITCH_A, 3, "node \"A\" is in line 1 already" },
	{ "switchguid=0x9\n" SWITCH_A "switchguid=0x9\nSwitch 4 \"C\"\n", 4,
	  "node \"C\" has the GUID 0x9 of node \"A\" in line 2" },
	{ "switchguid=0x9\nSwitch 4 \"S-0000000000000008\"\n", 2,
	  "another GUID in its name than line 1 gives: 0x9" },
	{ "switchguid=0\n" SWITCH_A, 2, "the GUID 0, which is none; give it another" },
	{ "switchguid=0xffffffffffffffff\n" SWITCH_A, 2, "the GUID of all ones, which is none" },
	{ HCA_B "[1](5) \"C\"[1]\nCa 1 \"C\"\n[1](5) \"B\"[1]\n", 4,
	  "has the GUID 0x5 of port 1 of \"B\"" },
	{ "caguid=0x10\n" HCA_B "caguid=0x11\nCa 1 \"C\"\n[1](12) \"B\"[1]\n", 5,
	  "port 1 of \"C\" has the GUID 0x12 of port 2 of \"B\"" },
	{ SWITCH_A "[1] \"B\"[1](5)\n" HCA_B "[1](6) \"A\"[1]\n", 2,
	  "port 1 of \"B\" has the GUID 0x5 here, and 0x6 elsewhere" },
	{ SWITCH_A "[1] \"B\"[1] # \"b\" lid 5\n" HCA_B "[1] \"A\"[1] # lid 6 lmc 0 \"a\" lid 0\n",
	  2, "port 1 of \"B\" has LID 5 here, and 6 elsewhere" },
	{ "[1] \"A\"[1]\n", 1, "a port without a node" },
	{ SWITCH_A "vendid=1\n[1] \"A\"[2]\n", 3, "a port without a node" },
	{ SWITCH_A "[0] \"B\"[1]\n" HCA_B, 2, "port 0 of \"A\", which has ports 1 to 4" },
	{ SWITCH_A "[5] \"B\"[1]\n" HCA_B, 2, "port 5 of \"A\", which has ports 1 to 4" },
	{ SWITCH_A "[1] \"B\"[3]\n" HCA_B, 2, "port 3 of \"B\", which has ports 1 to 2" },
	{ SWITCH_A "[1] \"B\"[0]\n" HCA_B, 2, "ports are numbered from 1 to 254" },
	{ SWITCH_A "[1] \"B\"[255]\n" HCA_B, 2, "ports are numbered from 1 to 254" },
	{ SWITCH_A "[1] \"B\"[1\n" HCA_B, 2, "the peer's port is not readable" },
	{ SWITCH_A "[1 \"B\"[1]\n" HCA_B, 2, "the port is not readable" },
	{ SWITCH_A "[-1] \"B\"[1]\n" HCA_B, 2, "the port is not readable" },
	{ HCA_B "[1](x) \"B\"[2]\n", 2, "the port is not readable" },
	{ HCA_B "[1](0) \"B\"[2]\n", 2, "the port is not readable" },
	{ HCA_B "[1](12345678123456781) \"B\"[2]\n", 2, "the port is not readable" },
	{ SWITCH_A "[1] \"B\"[1](g)\n" HCA_B, 2, "the GUID of the peer's port is not readable" },
	{ SWITCH_A "[1]\n", 2, "the peer's name is missing" },
	{ SWITCH_A "[1] \"B\"[1] more\n" HCA_B, 2, "behind the peer's port" },
	{ SWITCH_A "[1] \"B\"[1] w=0\n" HCA_B, 2, "behind the peer's port" },
	{ SWITCH_A "[1] \"B\"[1] s=8\n" HCA_B, 2, "behind the peer's port" },
	{ SWITCH_A "[1] \"B\"[1]\n[1] \"B\"[2]\n" HCA_B, 3,
	  "port 1 of \"A\" is in line 2 already" },
	{ SWITCH_A "[1] \"C\"[1]\n" HCA_B, 2, "there is no node \"C\"" },
	{ SWITCH_A "[1] \"A\"[1]\n", 2, "a cable from the port to itself" },
	{ SWITCH_A "[1] \"B\"[1]\n" HCA_B "[1] \"A\"[2]\n", 2,
	  "a cable to port 1 of \"B\", which line 4 joins to port 2 of \"A\"" },
	{ SWITCH_A "[1] \"B\"[1]\n[2] \"B\"[1]\n" HCA_B, 3,
	  "a cable to port 1 of \"B\", which line 2 joins to port 1 of \"A\"" },
	{ SWITCH_A "[1] \"B\"[1] # \"b\" lid 1 3xEDR\n" HCA_B, 2, "3xEDR: the widths are" },
	{ SWITCH_A "[1] \"B\"[1] # \"b\" lid 1 4xGDR\n" HCA_B, 2, "4xGDR: the speeds are" },
	{ "vendid\n", 1, "= is missing" },
	{ "vendid=\n", 1, "after = there is no number" },
	{ "vendid=0x1000000\n", 1, "after = there is no number up to 0xffffff" },
	{ "devid=0x10000\n", 1, "after = there is no number up to 0xffff" },
	{ "sysimgguid=0x10000000000000000\n", 1, "after = there is no number" },
	{ "caguid=0x1 0x2\n", 1, "after the value: 0x2" },
	{ "switchguid=0x1(\n", 1, "the GUID of port 0 is not readable" },
	{ "width=0\n", 1, "width is a mask" },
	{ "width=32\n", 1, "width is a mask" },
	{ "speed=8\n", 1, "speed is a mask" },
	{ "module = rack\n", 1, "the module's name is missing" },
};

START_TEST(a_wrong_text_is_refused_with_its_line_and_the_reason)
{
	char where[32] = "net: ";

	ck_assert_int_eq(parse(refusals[_i].text), AL_BAD_CONFIG);
	if (refusals[_i].line)
		snprintf(where, sizeof(where), "net:%u: ", refusals[_i].line);
	ck_assert_msg(!strncmp(error.text, where, strlen(where)) &&
			      strstr(error.text, refusals[_i].why),
		      "\"%s\" is not \"%s... %s\"", error.text, where, refusals[_i].why);
	ck_assert_uint_eq(error.line, refusals[_i].line);
	ck_assert(!t.nodes && !t.ports && !t.num_nodes && !t.num_ports);
}
END_TEST

START_TEST(a_byte_order_mark_says_nothing_where_the_text_begins)
{
	parse_well("\xef\xbb\xbf" SWITCH_A);
	ck_assert_uint_eq(t.num_nodes, 1);
	topology_free(&t);
	ck_assert_int_eq(parse(SWITCH_A "\xef\xbb\xbf" HCA_B), AL_BAD_CONFIG);
	ck_assert_uint_eq(error.line, 2);
	ck_assert_int_eq(parse("\xef\xbb"), AL_BAD_CONFIG);
}
END_TEST

START_TEST(each_byte_that_no_text_has_is_refused)
{
	char text[] = SWITCH_A "# ?\n";
	char *at = strchr(text, '?');
	int c;

	for (c = 0; c < 256; c++) {
		bool good = c == '\t' || c == '\n' || c == '\r' || (c >= ' ' && c != 0x7f);

		*at = (char)c;
		ck_assert_int_eq(topology_parse(&t, TOPOLOGY_TO_SIMULATE, "net", text,
						sizeof(text) - 1, &error),
				 good ? AL_SUCCESS : AL_BAD_CONFIG);
		ck_assert_uint_eq(error.line, good ? 0 : 2);
		topology_free(&t);
	}
}
END_TEST

START_TEST(a_line_has_1024_bytes_at_most)
{
	char text[1200] = SWITCH_A;
	size_t start = strlen(text);

	memset(text + start, '#', 1024);
	parse_well(text);
	topology_free(&t);
	text[start + 1024] = '#';
	ck_assert_int_eq(parse(text), AL_BAD_CONFIG);
	ck_assert_uint_eq(error.line, 2);
	ck_assert_ptr_nonnull(strstr(error.text, "more than 1024 bytes"));
}
END_TEST

/* Returns the text of a topology of `nodes` nodes, which the caller frees. */
static char *many(uint32_t nodes, const char *type, uint32_t ports)
{
	char *text = malloc((size_t)nodes * 32 + 1), *at = text;
	uint32_t i;

	*text = 0;
	for (i = 0; i < nodes; i++)
		at += sprintf(at, "%s %u \"N%u\"\n", type, ports, i);
	return text;
}

START_TEST(there_are_65536_nodes_at_most)
{
	char *text = many(65536, "Ca", 1);

	parse_well(text);
	ck_assert_uint_eq(t.num_nodes, 65536);
	topology_free(&t);
	free(text);
	text = many(65537, "Ca", 1);
	ck_assert_int_eq(parse(text), AL_BAD_CONFIG);
	ck_assert_uint_eq(error.line, 65537);
	ck_assert_ptr_nonnull(strstr(error.text, "more than 65536 nodes"));
	free(text);
}
END_TEST

START_TEST(there_are_two_to_the_20_ports_at_most)
{
	char *text = many(8192, "Switch", 127);

	parse_well(text);
	ck_assert_uint_eq(t.num_ports, 1 << 20);
	topology_free(&t);
	free(text);
	text = many(8193, "Switch", 127);
	ck_assert_int_eq(parse(text), AL_BAD_CONFIG);
	ck_assert_uint_eq(error.line, 8193);
	ck_assert_ptr_nonnull(strstr(error.text, "more than 1048576 ports"));
	free(text);
}
END_TEST

START_TEST(a_long_name_does_not_make_the_message_too_long)
{
	char text[2100], name[1000];

	memset(name, 'n', 980);
	name[980] = 0;
	snprintf(text, sizeof(text), "Ca 1 \"%s\"\nCa 1 \"%s\"\n", name, name);
	ck_assert_int_eq(parse(text), AL_BAD_CONFIG);
	ck_assert_ptr_nonnull(strstr(error.text, "in line 1 already: remove or rename"));
}
END_TEST

/* ----------------------------------------------------------------- writing */

/* Expects that the text of t is read as t. */
static void expect_round(void)
{
	ck_assert(is_read_as_same(&t, TOPOLOGY_TO_SIMULATE));
	topology_free(&t);
}

START_TEST(what_is_written_is_read_as_the_same_topology)
{
	static const char *const samples[] = { "old.txt", "new.txt", "chassis.txt", "short.txt" };
	size_t i;

	for (i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		read_sample(samples[i]);
		expect_round();
	}
}
END_TEST

/* Other programs split the text by columns, so each byte counts. */
START_TEST(the_text_is_written_in_the_columns_of_ibnetdiscover)
{
	static const char want[] =
		"\nvendid=0x2c9\ndevid=0x5a30\nsysimgguid=0x12\nswitchguid=0x10(11)\n"
		"Switch\t4 \"S-0000000000000010\"\t\t# \"a b\" enhanced port 0 lid 3 lmc 1\n"
		"[2]\t\"H-0000000000000020\"[1](21) \t\t# \"C\" lid 4 4xEDR\n"
		"\nvendid=0x0\ndevid=0x0\ncaguid=0x20\n"
		"Ca\t2 \"H-0000000000000020\"\t\t# \"C\"\n"
		"[1](21) \t\"S-0000000000000010\"[2]\t\t# lid 4 lmc 2 \"a b\" lid 3 4xEDR\n"
		"[2](22) \t\"H-0000000000000030\"[1] (31) \t\t# lid 5 lmc 0 \"D\" lid 0 ?????\n"
		"\nvendid=0x0\ndevid=0x0\ncaguid=0x30\n"
		"Ca\t1 \"H-0000000000000030\"\t\t# \"D\"\n"
		"[1](31) \t\"H-0000000000000020\"[2] (22) \t\t# lid 0 lmc 0 \"C\" lid 5 ?????\n";
	char *text;
	size_t length;

	parse_well(want);
	text = text_of(&t, &length);
	ck_assert_str_eq(text, want);
	free(text);
	topology_free(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topology");
	TCase *tc = tcase_create("samples");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, a_text_of_2024_is_read);
	tcase_add_test(tc, a_text_of_2006_is_read_whose_descriptions_have_no_quotes);
	tcase_add_test(tc, a_text_with_chassis_and_full_information_is_read);
	tcase_add_test(tc, a_text_for_ibsim_is_read_and_gets_the_guids_that_ibsim_gives);
	suite_add_tcase(suite, tc);
	tc = tcase_create("rules");
	tcase_add_test(tc, a_cable_that_one_end_describes_is_there_with_lid_and_guid);
	tcase_add_test(tc, the_lesser_of_two_widths_and_speeds_counts);
	tcase_add_test(tc, an_hca_may_be_cabled_to_an_hca_and_a_switch_to_itself);
	tcase_add_test(tc, lines_may_end_with_cr_and_the_last_one_without_newline);
	tcase_add_test(tc, a_long_description_is_cut_at_the_end_of_a_character);
	tcase_add_test(tc, an_empty_description_stays_empty_and_none_is_the_name);
	tcase_add_test(tc, values_are_of_the_next_node_only);
	suite_add_tcase(suite, tc);
	tc = tcase_create("to show");
	tcase_add_test(tc, a_subnet_to_show_keeps_what_cannot_be_simulated);
	tcase_add_test(tc, a_cable_to_show_that_one_end_describes_has_one_rate);
	tcase_add_test(tc, a_router_has_a_guid_of_the_text_only);
	suite_add_tcase(suite, tc);
	tc = tcase_create("refusals");
	tcase_add_loop_test(tc, a_wrong_text_is_refused_with_its_line_and_the_reason, 0,
			    (int)(sizeof(refusals) / sizeof(*refusals)));
	tcase_add_test(tc, each_byte_that_no_text_has_is_refused);
	tcase_add_test(tc, a_byte_order_mark_says_nothing_where_the_text_begins);
	tcase_add_test(tc, a_line_has_1024_bytes_at_most);
	tcase_add_test(tc, there_are_65536_nodes_at_most);
	tcase_add_test(tc, there_are_two_to_the_20_ports_at_most);
	tcase_add_test(tc, a_long_name_does_not_make_the_message_too_long);
	suite_add_tcase(suite, tc);
	tc = tcase_create("writing");
	tcase_add_test(tc, what_is_written_is_read_as_the_same_topology);
	tcase_add_test(tc, the_text_is_written_in_the_columns_of_ibnetdiscover);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
