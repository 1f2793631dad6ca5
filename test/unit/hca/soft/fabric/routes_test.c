/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Forwarding tables: they lead from every port to every port on a shortest path, and spread LIDs
 * evenly. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hca/soft/fabric/routes.h"
#include "hca/soft/fabric/shapes.h"

#define FAR UINT32_MAX

static struct topology t;
static struct routes r;

/* Hops from each node to the destination, found without the tables: rounds over all cables until nothing changes. */
static uint32_t *hops;

static void parse(const char *text)
{
	struct topology_error error;

	ck_assert_msg(!topology_parse(&t, TOPOLOGY_TO_SIMULATE, "net", text, strlen(text), &error),
		      "%s", error.text);
}

static void make(void)
{
	ck_assert_int_eq(routes_make(&r, &t), AL_SUCCESS);
}

static void end(void)
{
	routes_free(&r);
	topology_free(&t);
}

static bool is_switch(uint32_t node)
{
	return t.nodes[node].type == IB_NODE_SWITCH;
}

/* The node behind a port of a node, or TOPOLOGY_NONE. */
static uint32_t behind(uint32_t node, uint32_t number)
{
	uint32_t peer = t.ports[topology_port_index(&t.nodes[node], number)].peer;

	return peer == TOPOLOGY_NONE ? TOPOLOGY_NONE : t.ports[peer].node;
}

/* Measures the number of switches on the way from each switch to one switch. */
static void measure(uint32_t to)
{
	bool again = true;
	uint32_t i, p, far;

	memset(hops, 0xff, t.num_nodes * sizeof(*hops));
	hops[to] = 0;
	while (again)
		for (again = false, i = 0; i < t.num_nodes; i++)
			for (p = 1; is_switch(i) && p <= t.nodes[i].num_ports; p++) {
				far = behind(i, p);
				if (far == TOPOLOGY_NONE || !is_switch(far) || hops[far] == FAR ||
				    hops[far] + 1 >= hops[i])
					continue;
				hops[i] = hops[far] + 1;
				again = true;
			}
}

/*
 * Returns the switch that connects an end port: the port's own switch, or the switch at the other end of its cable.
 * TOPOLOGY_NONE: the other end is an HCA.
 */
static uint32_t home_of(uint32_t port)
{
	uint32_t peer;

	if (is_switch(t.ports[port].node))
		return t.ports[port].node;
	peer = t.ports[port].peer;
	if (peer == TOPOLOGY_NONE || !is_switch(t.ports[peer].node))
		return TOPOLOGY_NONE;
	return t.ports[peer].node;
}

/* Follows the tables from a switch; each step must be one hop nearer. True: the last port has the LID. */
static bool leads_there(uint32_t from, uint32_t lid)
{
	uint32_t node = from, out, port, left;

	for (left = hops[from];; left--) {
		out = routes_lookup(&r, node, lid);
		if (out > t.nodes[node].num_ports)
			return false;
		port = topology_port_index(&t.nodes[node], out);
		if (out)
			port = t.ports[port].peer;
		if (!left || port == TOPOLOGY_NONE)
			break;
		node = t.ports[port].node;
		if (!is_switch(node) || hops[node] != left - 1)
			return false;
	}
	return port == r.port_of[lid];
}

/* Checks the tables of every switch for every LID. */
static void expect_shortest_paths(void)
{
	uint32_t lid, node, home, last = TOPOLOGY_NONE, wrong = 0;

	hops = calloc(t.num_nodes, sizeof(*hops));
	for (lid = 1; lid <= r.top_lid; lid++) {
		home = r.port_of[lid] == TOPOLOGY_NONE ? TOPOLOGY_NONE : home_of(r.port_of[lid]);
		if (home != last && home != TOPOLOGY_NONE)
			measure(home);
		last = home == TOPOLOGY_NONE ? last : home;
		for (node = 0; node < t.num_nodes; node++)
			if (is_switch(node) && home != TOPOLOGY_NONE && hops[node] != FAR)
				wrong += !leads_there(node, lid);
			else if (is_switch(node))
				wrong += routes_lookup(&r, node, lid) != ROUTES_UNREACHABLE;
	}
	free(hops);
	ck_assert_uint_eq(wrong, 0);
}

/* Expects that every end port with a cable has LIDs of its own, and that no other port has LIDs. */
static void expect_lids(void)
{
	uint32_t i, j;

	for (i = 0; i < t.num_ports; i++) {
		if (!topology_is_end_port(&t, i) ||
		    (t.ports[i].number && t.ports[i].peer == TOPOLOGY_NONE)) {
			ck_assert_uint_eq(r.lid[i], 0);
			continue;
		}
		ck_assert_uint_ge(r.lid[i], IB_LID_UNICAST_FIRST);
		for (j = 0; j < 1u << r.lmc[i]; j++)
			ck_assert_uint_eq(r.port_of[r.lid[i] + j], i);
	}
}

/* Counts the LIDs of HCAs by the port to which a switch forwards them. */
static void count_loads(uint32_t node, uint32_t load[256])
{
	uint32_t lid;

	memset(load, 0, 256 * sizeof(*load));
	for (lid = 1; lid <= r.top_lid; lid++)
		if (r.port_of[lid] != TOPOLOGY_NONE && !is_switch(t.ports[r.port_of[lid]].node))
			load[routes_lookup(&r, node, lid)]++;
}

/*
 * Of a switch's ports from first to last with a cable, expects that the largest load is at most `most` above the
 * smallest.
 */
static void expect_even(uint32_t node, uint32_t first, uint32_t last, uint32_t most)
{
	uint32_t load[256], p, low = UINT32_MAX, high = 0;

	count_loads(node, load);
	for (p = first; p <= last; p++) {
		if (behind(node, p) == TOPOLOGY_NONE)
			continue;
		low = load[p] < low ? load[p] : low;
		high = load[p] > high ? load[p] : high;
	}
	ck_assert_msg(low == UINT32_MAX || high - low <= most, "%s: %u to %u",
		      t.nodes[node].description, low, high);
}

/*
 * Expects that no port of a switch in a torus has more than 5/4 of the average of its four ports, rounded up: the
 * bound that routes.h states.
 */
static void expect_no_crowd(uint32_t node)
{
	uint32_t load[256], p;

	count_loads(node, load);
	for (p = 1; p <= 4; p++)
		ck_assert_uint_lt(16 * load[p], 5 * (load[1] + load[2] + load[3] + load[4]) + 16);
}

static void expect_all(void)
{
	make();
	expect_lids();
	expect_shortest_paths();
}

/* ----------------------------------------------------------------- shapes */

static const struct fat_tree trees[] = {
	{ .levels = 2, .radix = 4, .hcas = 8 },
	{ .levels = 2, .radix = 24, .hcas = 216, .down = 9, .up = 12 },
	{ .levels = 2, .radix = 12, .hcas = 50 },
	{ .levels = 2, .radix = 36, .hcas = 90 },
	{ .levels = 3, .radix = 4, .hcas = 16 },
	{ .levels = 3, .radix = 8, .hcas = 100 },
	{ .levels = 3, .radix = 8, .hcas = 21, .down = 5, .up = 3 },
	{ .levels = 3, .radix = 16, .hcas = 1000 },
};

START_TEST(tables_of_a_fat_tree_lead_everywhere_on_shortest_paths)
{
	ck_assert_int_eq(shape_fat_tree(&t, &trees[_i], 1), AL_SUCCESS);
	expect_all();
	end();
}
END_TEST

/* The bound that routes.h states. */
START_TEST(a_switch_of_a_fat_tree_spreads_lids_evenly_over_its_ports_upwards)
{
	const struct fat_tree *f = &trees[_i];
	uint32_t i, down = f->down ? f->down : f->radix / 2;

	ck_assert_int_eq(shape_fat_tree(&t, f, 1), AL_SUCCESS);
	make();
	for (i = 0; i < t.num_nodes; i++)
		if (!strncmp(t.nodes[i].description, "leaf", 4))
			expect_even(i, down + 1, f->radix, 1);
		else if (f->levels == 3 && !strncmp(t.nodes[i].description, "spine", 5))
			expect_even(i, f->radix / 2 + 1, f->radix, 1);
	end();
}
END_TEST

START_TEST(parallel_cables_share_lids_evenly)
{
	uint32_t i, j, load[256];

	ck_assert_int_eq(
		shape_fat_tree(&t, &(struct fat_tree){ .levels = 2, .radix = 36, .hcas = 90 }, 1),
		AL_SUCCESS);
	make(); /* 5 leaves; 3 spines with 6 cables to each leaf */
	for (i = 5; i < 8; i++) {
		count_loads(i, load);
		for (j = 1; j <= 30; j++)
			ck_assert_uint_eq(load[j], 3);
	}
	end();
}
END_TEST

START_TEST(tables_of_a_ring_lead_everywhere_and_use_both_directions)
{
	static const uint32_t sizes[] = { 2, 3, 4, 7, 10 };
	uint32_t i, j;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		ck_assert_int_eq(shape_ring(&t, sizes[i], 3, 1), AL_SUCCESS);
		expect_all();
		for (j = 0; j < sizes[i]; j++)
			expect_even(j, 1, 2, 1);
		end();
	}
}
END_TEST

START_TEST(tables_of_a_torus_lead_everywhere_and_use_all_directions)
{
	static const uint32_t sizes[][2] = { { 2, 2 }, { 2, 5 }, { 3, 3 },
					     { 4, 4 }, { 6, 3 }, { 8, 8 } };
	uint32_t i, j;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		ck_assert_int_eq(shape_torus(&t, sizes[i][0], sizes[i][1], 2, 1), AL_SUCCESS);
		expect_all();
		for (j = 0; j < sizes[i][0] * sizes[i][1] && sizes[i][0] == sizes[i][1]; j++)
			expect_no_crowd(j);
		end();
	}
}
END_TEST

START_TEST(tables_of_a_star_lead_everywhere)
{
	ck_assert_int_eq(shape_star(&t, 254, 1), AL_SUCCESS);
	expect_all();
	ck_assert_uint_eq(routes_lookup(&r, 0, r.lid[0]), 0);
	ck_assert_uint_eq(r.top_lid, 255);
	end();
}
END_TEST

START_TEST(two_hcas_without_a_switch_have_lids_and_no_tables)
{
	ck_assert_int_eq(shape_back_to_back(&t, 1), AL_SUCCESS);
	make();
	ck_assert_uint_eq(r.lid[0], 1);
	ck_assert_uint_eq(r.lid[1], 2);
	ck_assert_uint_eq(r.num_switches, 0);
	end();
}
END_TEST

/* -------------------------------------------------------- odd topologies */

START_TEST(what_no_cable_leads_to_is_unreachable)
{
	parse("Switch 4 \"A\"\n[1] \"C\"[1]\nSwitch 4 \"B\"\n[1] \"D\"[1]\nCa 2 \"C\"\nCa 1 \"D\"\n");
	expect_all();
	ck_assert_uint_eq(r.top_lid, 4);
	ck_assert_uint_eq(routes_lookup(&r, 0, r.lid[topology_port_index(&t.nodes[3], 1)]), 255);
	ck_assert_uint_eq(routes_lookup(&r, 0, 5), 255);
	ck_assert_uint_eq(routes_lookup(&r, 0, 0xffff), 255);
	ck_assert_uint_eq(routes_lookup(&r, 0, 0), 255);
	end();
}
END_TEST

/* An HCA forwards no packet. */
START_TEST(no_path_leads_through_an_hca)
{
	parse("Switch 4 \"A\"\n[1] \"C\"[1]\nSwitch 4 \"B\"\n[1] \"C\"[2]\nCa 2 \"C\"\n");
	expect_all();
	ck_assert_uint_eq(routes_lookup(&r, 0, r.lid[t.nodes[1].first_port]), 255);
	end();
}
END_TEST

/* -------------------------------------------------------------------- LIDs */

START_TEST(right_lids_of_the_text_stay_and_others_are_given_in_order)
{
	parse("Switch 8 \"A\" # \"a\" base port 0 lid 2 lmc 1\n"
	      "[1] \"B\"[1] # \"b\" lid 0\n"     /* LID 0 is none: 1 */
	      "[2] \"C\"[1] # \"c\" lid 2\n"     /* taken: 3 */
	      "[3] \"D\"[1] # \"d\" lid 49152\n" /* a multicast LID: 4 */
	      "[4] \"E\"[1] # \"e\" lid 49151\n"
	      "[5] \"F\"[1] # \"f\" lid 65535\n" /* the permissive LID: 5 */
	      "Ca 1 \"B\"\nCa 1 \"C\"\nCa 1 \"D\"\nCa 1 \"E\"\nCa 1 \"F\"\n");
	expect_all();
	ck_assert_uint_eq(r.lid[t.nodes[0].first_port], 2);
	ck_assert_uint_eq(r.lmc[t.nodes[0].first_port], 0); /* a base port 0 has one LID */
	ck_assert_uint_eq(r.lid[t.nodes[1].first_port], 1);
	ck_assert_uint_eq(r.lid[t.nodes[2].first_port], 3);
	ck_assert_uint_eq(r.lid[t.nodes[3].first_port], 4);
	ck_assert_uint_eq(r.lid[t.nodes[4].first_port], 49151);
	ck_assert_uint_eq(r.lid[t.nodes[5].first_port], 5);
	ck_assert_uint_eq(r.top_lid, 49151);
	end();
}
END_TEST

START_TEST(a_port_with_lmc_has_a_range_that_begins_at_a_multiple)
{
	parse("Switch 8 \"A\" # \"a\" enhanced port 0 lid 0 lmc 1\n"
	      "Ca 1 \"B\"\n[1] \"A\"[1] # lid 12 lmc 2 \"a\" lid 0\n"
	      "Ca 1 \"C\"\n[1] \"A\"[2] # lid 18 lmc 2 \"a\" lid 0\n"    /* no multiple of 4: 4 */
	      "Ca 1 \"D\"\n[1] \"A\"[3] # lid 49148 lmc 3 \"a\" lid 0\n" /* LIDs up to 49151: 16 */
	      "Ca 1 \"E\"\n[1] \"A\"[4] # lid 14 lmc 1 \"a\" lid 0\n"    /* within B's: 8 */
	      "Ca 1 \"F\"\n[1] \"A\"[5]\n");
	expect_all();
	ck_assert_uint_eq(r.lid[t.nodes[0].first_port], 2);
	ck_assert_uint_eq(r.lmc[t.nodes[0].first_port], 1);
	ck_assert_uint_eq(r.lid[t.nodes[1].first_port], 12);
	ck_assert_uint_eq(r.lid[t.nodes[2].first_port], 4);
	ck_assert_uint_eq(r.lid[t.nodes[3].first_port], 16);
	ck_assert_uint_eq(r.lid[t.nodes[4].first_port], 8);
	ck_assert_uint_eq(r.lid[t.nodes[5].first_port], 1);
	ck_assert_uint_eq(r.top_lid, 23);
	end();
}
END_TEST

START_TEST(the_lids_of_a_port_take_different_paths)
{
	uint32_t i, port;

	ck_assert_int_eq(shape_fat_tree(&t, &trees[1], 1), AL_SUCCESS);
	port = t.nodes[t.num_nodes - 1].first_port;
	t.ports[port].lmc = 3;
	expect_all();
	for (i = 1; i < 8; i++)
		ck_assert_uint_ne(routes_lookup(&r, 0, r.lid[port] + i),
				  routes_lookup(&r, 0, r.lid[port]));
	end();
}
END_TEST

START_TEST(more_ports_than_lids_are_refused)
{
	uint32_t i;

	for (i = 0; i < 49152 / 2; i++)
		topology_connect(&t, topology_add_node(&t, IB_NODE_CA, 1),
				 topology_add_node(&t, IB_NODE_CA, 1));
	ck_assert_int_eq(routes_make(&r, &t), AL_LIMIT_EXCEEDED);
	ck_assert(!r.lid && !r.tables && !r.top_lid);
	t.ports[49150].peer = t.ports[49151].peer = TOPOLOGY_NONE;
	make();
	ck_assert_uint_eq(r.top_lid, 49150);
	end();
}
END_TEST

START_TEST(tables_above_the_limit_are_refused)
{
	uint32_t i;

	for (i = 0; i < 16384; i++)
		topology_add_node(&t, IB_NODE_SWITCH, 1);
	ck_assert_int_eq(routes_make(&r, &t), AL_LIMIT_EXCEEDED);
	ck_assert(!r.lid && !r.tables && !r.top_lid);
	topology_free(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("routes");
	TCase *tc = tcase_create("shapes");
	SRunner *runner = srunner_create(suite);
	int failed, num_trees = (int)(sizeof(trees) / sizeof(*trees));

	tcase_add_loop_test(tc, tables_of_a_fat_tree_lead_everywhere_on_shortest_paths, 0,
			    num_trees);
	tcase_add_loop_test(tc, a_switch_of_a_fat_tree_spreads_lids_evenly_over_its_ports_upwards,
			    0, num_trees);
	tcase_add_test(tc, parallel_cables_share_lids_evenly);
	tcase_add_test(tc, tables_of_a_ring_lead_everywhere_and_use_both_directions);
	tcase_add_test(tc, tables_of_a_torus_lead_everywhere_and_use_all_directions);
	tcase_add_test(tc, tables_of_a_star_lead_everywhere);
	tcase_add_test(tc, two_hcas_without_a_switch_have_lids_and_no_tables);
	suite_add_tcase(suite, tc);
	tc = tcase_create("odd");
	tcase_add_test(tc, what_no_cable_leads_to_is_unreachable);
	tcase_add_test(tc, no_path_leads_through_an_hca);
	suite_add_tcase(suite, tc);
	tc = tcase_create("LIDs");
	tcase_add_test(tc, right_lids_of_the_text_stay_and_others_are_given_in_order);
	tcase_add_test(tc, a_port_with_lmc_has_a_range_that_begins_at_a_multiple);
	tcase_add_test(tc, the_lids_of_a_port_take_different_paths);
	tcase_add_test(tc, more_ports_than_lids_are_refused);
	tcase_add_test(tc, tables_above_the_limit_are_refused);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
