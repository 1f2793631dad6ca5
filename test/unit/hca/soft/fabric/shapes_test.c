/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shapes: their nodes and cables, and their text. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hca/soft/fabric/shapes.h"
#include "test/unit/topo/same.h"

static struct topology t;

static const struct topology_port *port(uint32_t node, uint32_t number)
{
	return &t.ports[topology_port_index(&t.nodes[node], number)];
}

static void expect_cable(uint32_t node_a, uint32_t a, uint32_t node_b, uint32_t b)
{
	ck_assert_uint_eq(port(node_a, a)->peer, topology_port_index(&t.nodes[node_b], b));
	ck_assert_uint_eq(port(node_b, b)->peer, topology_port_index(&t.nodes[node_a], a));
	ck_assert_uint_eq(port(node_b, b)->width, IB_WIDTH_4X);
	ck_assert_uint_eq(port(node_b, b)->speed, IB_SPEED_EDR);
}

/* Expects that the text of t is read as t. */
static void expect_round(void)
{
	ck_assert(is_read_as_same(&t, TOPOLOGY_TO_SIMULATE));
	topology_free(&t);
}

static uint32_t count(ib_node_type type)
{
	uint32_t i, n = 0;

	for (i = 0; i < t.num_nodes; i++)
		n += t.nodes[i].type == type;
	return n;
}

START_TEST(shapes_have_the_switches_and_hcas_that_are_asked_for)
{
	static const struct {
		struct fat_tree tree;
		uint32_t switches;
	} trees[] = {
		{ { .levels = 2, .radix = 4, .hcas = 8 }, 6 },
		{ { .levels = 2, .radix = 24, .hcas = 216, .down = 9, .up = 12 }, 36 },
		{ { .levels = 2, .radix = 36, .hcas = 648 }, 54 },
		{ { .levels = 2, .radix = 36, .hcas = 1 }, 2 },
		{ { .levels = 3, .radix = 4, .hcas = 16 }, 20 },
		{ { .levels = 3, .radix = 16, .hcas = 1000 }, 125 + 128 + 64 },
		{ { .levels = 3, .radix = 8, .hcas = 20 }, 5 + 8 + 4 },
	};
	size_t i;

	for (i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		ck_assert_int_eq(shape_fat_tree(&t, &trees[i].tree, 0x1000), AL_SUCCESS);
		ck_assert_uint_eq(count(IB_NODE_SWITCH), trees[i].switches);
		ck_assert_uint_eq(count(IB_NODE_CA), trees[i].tree.hcas);
		expect_round();
	}
	ck_assert_int_eq(shape_back_to_back(&t, 0x1000), AL_SUCCESS);
	ck_assert_uint_eq(t.num_nodes, 2);
	expect_cable(0, 1, 1, 1);
	expect_round();
	ck_assert_int_eq(shape_star(&t, 254, 0x1000), AL_SUCCESS);
	ck_assert_uint_eq(count(IB_NODE_CA), 254);
	expect_cable(0, 254, 254, 1);
	expect_round();
	ck_assert_int_eq(shape_ring(&t, 5, 2, 0x1000), AL_SUCCESS);
	ck_assert_uint_eq(count(IB_NODE_SWITCH), 5);
	ck_assert_uint_eq(count(IB_NODE_CA), 10);
	expect_cable(4, 1, 0, 2);
	expect_round();
	ck_assert_int_eq(shape_torus(&t, 3, 4, 1, 0x1000), AL_SUCCESS);
	ck_assert_uint_eq(count(IB_NODE_SWITCH), 12);
	expect_cable(2, 1, 0, 2);
	expect_cable(10, 3, 1, 4);
	expect_round();
}
END_TEST

START_TEST(a_full_tree_leaves_no_port_free)
{
	uint32_t i;

	ck_assert_int_eq(
		shape_fat_tree(&t, &(struct fat_tree){ .levels = 3, .radix = 4, .hcas = 16 }, 1),
		AL_SUCCESS);
	for (i = 0; i < t.num_ports; i++)
		if (!topology_is_end_port(&t, i))
			ck_assert_uint_ne(t.ports[i].peer, TOPOLOGY_NONE);
	topology_free(&t);
}
END_TEST

START_TEST(guids_of_a_shape_come_from_its_base)
{
	ck_assert_int_eq(shape_star(&t, 2, 0xabc000), AL_SUCCESS);
	ck_assert_uint_eq(t.nodes[0].guid, 0xabc000);
	ck_assert_uint_eq(port(0, 0)->guid, 0xabc000);
	ck_assert_uint_eq(t.nodes[2].guid, 0xabc200);
	ck_assert_uint_eq(port(2, 1)->guid, 0xabc201);
	topology_free(&t);
}
END_TEST

START_TEST(a_shape_that_does_not_exist_is_refused)
{
	static const struct fat_tree trees[] = {
		{ .levels = 1, .radix = 4, .hcas = 1 },
		{ .levels = 4, .radix = 4, .hcas = 1 },
		{ .levels = 2, .radix = 0, .hcas = 1 },
		{ .levels = 2, .radix = 5, .hcas = 1 },
		{ .levels = 2, .radix = 256, .hcas = 1 },
		{ .levels = 2, .radix = 4, .hcas = 0 },
		{ .levels = 2, .radix = 4, .hcas = 9 },
		{ .levels = 3, .radix = 4, .hcas = 17 },
		{ .levels = 2, .radix = 4, .hcas = 1, .down = 4 },
		{ .levels = 2, .radix = 4, .hcas = 1, .down = 3, .up = 2 },
		{ .levels = 2, .radix = 4, .hcas = UINT32_MAX },
	};
	size_t i;

	for (i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		ck_assert_int_eq(shape_fat_tree(&t, &trees[i], 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_star(&t, 0, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_star(&t, 255, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_star(&t, 1, 0), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_star(&t, 1, UINT64_MAX), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_back_to_back(&t, 0), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_ring(&t, 1, 1, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_ring(&t, 2, 254, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_torus(&t, 1, 2, 1, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_torus(&t, UINT32_MAX, UINT32_MAX, 1, 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(shape_torus(&t, 256, 256, 250, 1), AL_LIMIT_EXCEEDED);
	ck_assert(!t.nodes && !t.ports && !t.num_nodes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shapes");
	TCase *tc = tcase_create("shapes");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, shapes_have_the_switches_and_hcas_that_are_asked_for);
	tcase_add_test(tc, a_full_tree_leaves_no_port_free);
	tcase_add_test(tc, guids_of_a_shape_come_from_its_base);
	tcase_add_test(tc, a_shape_that_does_not_exist_is_refused);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
