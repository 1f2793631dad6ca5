/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A subnet's text, differences and pictures: al/tools/net*.c. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "al/tools/net_layout.h"
#include "al/tools/svg.h"

static struct net *read_good(const char *text)
{
	g_autoptr(GError) err = NULL;
	struct net *net = net_read_text("file", text, &err);

	ck_assert_msg(net != NULL, "%s", err ? err->message : "");
	return net;
}

/* -------------------------------------------------------------------------- text */

/* Returns the path of a file of test/data/topology, which the caller frees. */
static char *sample_path(const char *file)
{
	const char *top = g_getenv("top_srcdir");

	return g_build_filename(top ? top : ".", "test/data/topology", file, NULL);
}

static struct net *read_sample(const char *file)
{
	g_autofree char *path = sample_path(file);
	g_autoptr(GError) err = NULL;
	struct net *net = net_read_file(path, &err);

	ck_assert_msg(net != NULL, "%s", err ? err->message : "");
	return net;
}

START_TEST(what_ibnetdiscover_has_written_is_written_again)
{
	g_autofree char *path = sample_path("new.txt"), *before = NULL, *after = NULL;
	struct net *net = read_sample("new.txt");

	ck_assert(g_file_get_contents(path, &before, NULL, NULL));
	after = net_write_text(net, NULL);
	/* But for the comment at the head. */
	ck_assert_str_eq(strstr(after, "\nvendid"), strstr(before, "\nvendid"));
	net_free(net);
}
END_TEST

#define LEAF \
	"switchguid=0x10(10)\nSwitch\t4 \"S-0000000000000010\"\t\t# \"leaf\" base port 0 lid 1 lmc 0\n"

START_TEST(each_form_of_the_text_is_read)
{
	static const struct {
		const char *file;
		guint hcas, switches, cables;
	} samples[] = {
		{ "new.txt", 4, 2, 6 },
		{ "old.txt", 2, 1, 2 },
		{ "chassis.txt", 2, 2, 3 },
		{ "short.txt", 4, 3, 6 },
	};
	struct net *net = read_sample(samples[_i].file);

	ck_assert_uint_eq(net_count(net, IB_NODE_CA), samples[_i].hcas);
	ck_assert_uint_eq(net_count(net, IB_NODE_SWITCH), samples[_i].switches);
	ck_assert_uint_eq(net_count_cables(net), samples[_i].cables);
	net_free(net);
}
END_TEST

START_TEST(a_wrong_text_is_refused_with_its_line_and_the_reason)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "", "file: there is no node in the text" },
		{ LEAF "[5]\t\"H-0000000000000001\"[1](2) \t\t# \"x\" lid 1 4xEDR\n",
		  "file:3: port 5 of \"S-0000000000000010\", which has ports 1 to 4" },
		{ LEAF LEAF, "file:4: node \"S-0000000000000010\" is in line 2 already" },
		{ "\xff", "file:1: \xef\xbf\xbd: ibnetdiscover prints no such line" },
	};
	g_autoptr(GError) err = NULL;

	ck_assert_ptr_null(net_read_text("file", wrong[_i].text, &err));
	ck_assert_msg(g_str_has_prefix(err->message, wrong[_i].why), "%s", err->message);
}
END_TEST

START_TEST(a_router_a_lid_that_is_none_and_a_name_that_is_no_text)
{
	struct net *net =
		read_good("Rt\t2 \"R-0000000000000030\"\t\t# \"\xff\xff\"\n"
			  "[1]\t\"H-0000000000000005\"[1]\t\t# lid 65535 lmc 0 \"h\" lid 49151\n"
			  "Ca\t1 \"H-0000000000000005\"\t\t# \"h\"\n");

	ck_assert_uint_eq(net_find(net, 0x30)->type, IB_NODE_ROUTER);
	ck_assert_str_eq(net_find(net, 0x30)->name, "\xef\xbf\xbd\xef\xbf\xbd");
	ck_assert_uint_eq(net_find(net, 0x30)->ports[1].lid, 0);
	ck_assert_uint_eq(net_find(net, 5)->ports[1].lid, 49151);
	net_free(net);
}
END_TEST

START_TEST(a_cable_that_is_told_at_one_end_is_a_cable)
{
	struct net *net =
		read_good(LEAF "[1]\t\"H-0000000000000005\"[1](6) \t\t# \"host\" lid 7 4xEDR\n"
			       "caguid=0x5\nCa\t1 \"H-0000000000000005\"\t\t# \"host\"\n");
	const struct net_port *port = &net_find(net, 5)->ports[1];

	ck_assert_ptr_eq(port->peer, &net_find(net, 0x10)->ports[1]);
	ck_assert_uint_eq(port->guid, 6);
	ck_assert_uint_eq(port->speed, IB_SPEED_EDR);
	ck_assert_uint_eq(net_count_cables(net), 1);
	net_free(net);
}
END_TEST

/* --------------------------------------------------------------------- differences */

#define GUID             "000000000000000"
#define HOST(guid, name) "Ca\t2 \"H-" GUID guid "\"\t\t# \"" name "\"\n"
#define CABLE(port, guid, peer, rate) \
	"[" port "]\t\"" guid "\"[" peer "]\t\t# \"x\" lid 1 " rate "\n"
#define HOSTS HOST("1", "one") HOST("2", "two")

START_TEST(each_difference_is_told_once)
{
	static const struct {
		const char *before, *after, *said;
	} pairs[] = {
		{ LEAF HOSTS, LEAF HOSTS, "" },
		{ LEAF HOST("1", "one"), LEAF HOSTS, "new HCA two (0x0000000000000002);" },
		{ LEAF HOSTS, LEAF HOST("1", "one"), "missing HCA two (0x0000000000000002);" },
		{ LEAF CABLE("1", "H-" GUID "1", "1", "4xEDR") HOSTS, LEAF HOSTS,
		  "missing cable from leaf, port 1 to one, port 1;" },
		{ LEAF HOSTS, LEAF CABLE("1", "H-" GUID "1", "1", "4xEDR") HOSTS,
		  "new cable from leaf, port 1 to one, port 1;" },
		{ LEAF CABLE("1", "H-" GUID "1", "1", "4xEDR") HOSTS,
		  LEAF CABLE("3", "H-" GUID "1", "1", "4xEDR") HOSTS,
		  "moved one, port 1: was at leaf, port 1, is at leaf, port 3;" },
		{ LEAF CABLE("1", "H-" GUID "1", "1", "4xEDR") HOSTS,
		  LEAF CABLE("1", "H-" GUID "2", "1", "4xEDR") HOSTS,
		  "moved leaf, port 1: was at one, port 1, is at two, port 1;" },
		{ LEAF CABLE("1", "H-" GUID "1", "1", "4xEDR") HOSTS,
		  LEAF CABLE("1", "H-" GUID "1", "1", "1xEDR") HOSTS,
		  "changed cable from leaf, port 1 to one, port 1: was 4xEDR, is 1xEDR;" },
		{ LEAF HOST("1", "one"), LEAF HOST("1", "first"),
		  "changed HCA 0x0000000000000001: was named one, is named first;" },
		{ "Switch\t4 \"S-" GUID "1\" # \"n\"\n", HOST("1", "n"),
		  "changed HCA n: was of type switch with 4 ports, is of type HCA with 2 ports;" },
	};
	struct net *before = read_good(pairs[_i].before), *after = read_good(pairs[_i].after);
	g_autoptr(GPtrArray) changes = net_diff(before, after);
	g_autoptr(GString) said = g_string_new(NULL);

	for (guint i = 0; i < changes->len; i++) {
		const struct net_change *change = g_ptr_array_index(changes, i);

		g_string_append_printf(said, "%s %s;", net_change_word(change->kind), change->text);
	}
	ck_assert_str_eq(said->str, pairs[_i].said);
	net_free(before);
	net_free(after);
}
END_TEST

/* ------------------------------------------------------------------------- pictures */

/* A tree of leaves with HCAs, and spines. */
static struct net *make_tree(guint leaves, guint spines, guint hcas)
{
	struct net *net = net_new();

	for (guint s = 0; s < spines; s++)
		net_add(net, 0x2000 + s, IB_NODE_SWITCH, leaves);
	for (guint l = 0; l < leaves; l++) {
		struct net_node *leaf = net_add(net, 0x1000 + l, IB_NODE_SWITCH, hcas + spines);

		for (guint s = 0; s < spines; s++)
			net_connect(&leaf->ports[hcas + 1 + s],
				    &net_find(net, 0x2000 + s)->ports[l + 1]);
		for (guint h = 0; h < hcas; h++)
			net_connect(&leaf->ports[h + 1],
				    &net_add(net, 0x10000 + l * 256 + h, IB_NODE_CA, 1)->ports[1]);
	}
	return net;
}

static gboolean overlap(const struct net_box *a, const struct net_box *b)
{
	return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
	       b->y < a->y + a->height;
}

START_TEST(no_node_lies_upon_another_nor_outside)
{
	static const struct {
		guint leaves, spines, hcas;
	} trees[] = { { 1, 0, 1 }, { 1, 0, 4 },   { 1, 0, 12 }, { 1, 0, 13 }, { 2, 1, 2 },
		      { 3, 2, 4 }, { 24, 12, 9 }, { 2, 30, 1 }, { 1, 0, 60 } };
	struct net *net = make_tree(trees[_i].leaves, trees[_i].spines, trees[_i].hcas);
	struct net_layout *layout = net_layout_new(net);

	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_box *box = &layout->boxes[i];

		ck_assert(box->x >= 0 && box->x + box->width <= layout->width && box->y >= 60 &&
			  box->y + box->height <= layout->height);
		for (guint j = 0; j < i; j++)
			ck_assert_msg(!overlap(box, &layout->boxes[j]), "%u upon %u", i, j);
	}
	net_layout_free(layout);
	net_free(net);
}
END_TEST

START_TEST(spines_are_above_leaves_and_hcas_below_their_switch)
{
	struct net *net = make_tree(3, 2, 4);
	struct net_layout *layout = net_layout_new(net);
	const struct net_box *spine = &layout->boxes[net_find(net, 0x2000)->index],
			     *leaf = &layout->boxes[net_find(net, 0x1001)->index],
			     *hca = &layout->boxes[net_find(net, 0x10100)->index];

	ck_assert(spine->y + spine->height < leaf->y && leaf->y + leaf->height < hca->y);
	ck_assert_ptr_eq(hca->home, net_find(net, 0x1001));
	ck_assert(layout->large);
	net_layout_free(layout);
	net_free(net);
}
END_TEST

static guint count_of(const char *text, const char *part)
{
	guint count = 0;

	for (text = strstr(text, part); text; text = strstr(text + 1, part))
		count++;
	return count;
}

START_TEST(a_picture_has_each_node_and_cable_and_marks_what_is_wrong)
{
	struct net *net = make_tree(24, 12, 9);
	struct net_port *bad = &net_find(net, 0x1003)->ports[2],
			*down = &net_find(net, 0x1003)->ports[12];
	g_autofree char *svg = NULL;

	for (guint i = 0; i < net->nodes->len; i++) {
		struct net_node *node = g_ptr_array_index(net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++) {
			node->ports[p].state = IB_PORT_ACTIVE;
			node->ports[p].width = IB_WIDTH_4X;
			node->ports[p].speed = IB_SPEED_HDR;
		}
	}
	bad->counted = TRUE;
	bad->errors[PORT_ERROR_link_downed] = 3;
	down->state = IB_PORT_INIT;
	svg = net_write_svg(net);
	ck_assert_ptr_nonnull(strstr(svg, "216 HCAs, 36 switches, 504 cables"));
	ck_assert_uint_eq(count_of(svg, "class=\"switch\""), 36);
	ck_assert_uint_eq(count_of(svg, "class=\"hca active\""), 216);
	ck_assert_uint_eq(count_of(svg, "class=\"port active\""), 24 * 21 + 12 * 24 - 2);
	ck_assert_uint_eq(count_of(svg, "class=\"port active bad\""), 1);
	ck_assert_uint_eq(count_of(svg, "class=\"port init\""), 1);
	ck_assert_uint_eq(count_of(svg, "class=\"mark\""), 2); /* one in the legend */
	ck_assert_uint_eq(count_of(svg, "class=\"cable init faint\""), 1);
	ck_assert_ptr_nonnull(strstr(svg, "port 2: link_downed 3"));
	/* What is wrong is drawn behind all that is right, so it is not covered. */
	ck_assert(g_strrstr(svg, "class=\"cable active faint\"") <
		  strstr(svg, "class=\"cable init faint\""));
	/* The mark covers the nodes, and they do not cover it. */
	ck_assert(g_strrstr(svg, "class=\"hca ") < strstr(svg, "class=\"mark\""));
	ck_assert(g_strrstr(svg, "class=\"port ") < strstr(svg, "class=\"mark\""));
	ck_assert_uint_eq(count_of(svg, "style=\"font-size:8.5px\""), 1);
	net_free(net);
}
END_TEST

static void name_node(struct net *net, guint64 guid, const char *name)
{
	struct net_node *node = net_find(net, guid);

	g_free(node->name);
	node->name = g_strdup(name);
}

START_TEST(switches_have_their_own_names_where_there_is_little_room)
{
	struct net *net = make_tree(24, 12, 9);
	g_autofree char *svg = NULL;

	name_node(net, 0x1000, "MF0;ib-leaf01:MQM8700/U1");
	name_node(net, 0x1001, "MF0;ibc:CS7500/L01/U1");
	name_node(net, 0x1002, "MF;a:b");
	name_node(net, 0x1003, "row-7-rack-12-leaf-3");
	svg = net_write_svg(net);
	ck_assert_ptr_nonnull(strstr(svg, ">ib-leaf01</text>"));
	ck_assert_ptr_nonnull(strstr(svg, ">ibc/L01/U1</text>"));
	ck_assert_ptr_nonnull(strstr(svg, ">MF;a:b</text>"));
	ck_assert_ptr_nonnull(strstr(svg, ">row-\xe2\x80\xa6" "2-leaf-3</text>"));
	ck_assert_ptr_nonnull(strstr(svg, "<title>MF0;ib-leaf01:MQM8700/U1: switch 0x"));
	net_free(net);
}
END_TEST

START_TEST(a_text_in_a_picture_is_text)
{
	g_autofree char *escaped = svg_escape("<a href=\"x\">&'\001\033\xef\xbf\xbf\nnext");

	ck_assert_str_eq(escaped, "&lt;a href=&quot;x&quot;&gt;&amp;&apos;???\nnext");
}
END_TEST

START_TEST(thresholds_of_errors_count_from_their_value_on)
{
	guint64 errors[PORT_ERRORS] = { 0 };

	ck_assert(!port_errors_are_many(errors));
	errors[PORT_ERROR_symbol_errors] = 9;
	ck_assert(!port_errors_are_many(errors));
	errors[PORT_ERROR_symbol_errors] = 10;
	ck_assert(port_errors_are_many(errors));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("net");
	TCase *tc = tcase_create("forms");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, what_ibnetdiscover_has_written_is_written_again);
	tcase_add_loop_test(tc, each_form_of_the_text_is_read, 0, 4);
	tcase_add_loop_test(tc, a_wrong_text_is_refused_with_its_line_and_the_reason, 0, 4);
	tcase_add_test(tc, a_router_a_lid_that_is_none_and_a_name_that_is_no_text);
	tcase_add_test(tc, a_cable_that_is_told_at_one_end_is_a_cable);
	tcase_add_loop_test(tc, each_difference_is_told_once, 0, 10);
	tcase_add_loop_test(tc, no_node_lies_upon_another_nor_outside, 0, 9);
	tcase_add_test(tc, spines_are_above_leaves_and_hcas_below_their_switch);
	tcase_add_test(tc, a_picture_has_each_node_and_cable_and_marks_what_is_wrong);
	tcase_add_test(tc, switches_have_their_own_names_where_there_is_little_room);
	tcase_add_test(tc, a_text_in_a_picture_is_text);
	tcase_add_test(tc, thresholds_of_errors_count_from_their_value_on);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
