/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What comes in at a node of the fabric: the order in which the node takes packets, and the node's
 * end. */
#include "hca/soft/fabric/fabric.h"

/* the harness gives `ops` a meaning of its own */
#include "../harness.h"

static struct fabric_switch node;
static struct fabric_end end = { .sw = &node, .number = 3 };
static struct pool pool;
static struct runner runner;
static struct pooled *sent[6];

static void start(void)
{
	memset(&node, 0, sizeof(node));
	arrivals_init(&node.arrivals);
	atomic_store(&node.actor.inbox, INBOX_BUSY); /* the test owns the actor */
	ck_assert_int_eq(pool_create(&pool, 6, 0), AL_SUCCESS);
}

static void finish(void)
{
	ck_assert_uint_eq(pool.left, 6);
	pool_destroy(&pool);
}

static void arrive(uint32_t i, uint8_t flags)
{
	sent[i] = pool_take(&pool);
	sent[i]->pkt.flags = flags;
	fabric_arrive(&runner, &end, sent[i]);
}

static void expect_next(uint32_t i)
{
	struct pooled *p = arrivals_take(&node.arrivals, &node.actor);

	ck_assert_ptr_eq(p, sent[i]);
	ck_assert_uint_eq(p->pkt.in_port, 3);
	pool_home(NULL, &p->pkt);
}

START_TEST(lane_15_goes_before_all_data_and_each_lane_keeps_its_order)
{
	start();
	ck_assert_ptr_null(arrivals_take(&node.arrivals, &node.actor));
	arrive(0, 0);
	arrive(1, PKT_VL15);
	arrive(2, 0);
	arrive(3, PKT_VL15);
	expect_next(1);
	expect_next(3);
	expect_next(0);
	/* a packet that comes between two takes overtakes the data that has come before */
	arrive(4, 0);
	arrive(5, PKT_VL15);
	expect_next(5);
	ck_assert(!arrivals_empty(&node.arrivals));
	expect_next(2);
	expect_next(4);
	ck_assert(arrivals_empty(&node.arrivals));
	ck_assert_ptr_null(arrivals_take(&node.arrivals, &node.actor));
	finish();
}
END_TEST

START_TEST(a_node_that_ends_sends_packets_home_and_so_do_those_that_come_later)
{
	struct fabric_end empty = { .number = 1 };

	start();
	arrive(0, 0);
	arrive(1, PKT_VL15);
	expect_next(1);
	arrive(0, 0);
	atomic_store(&node.actor.parked, 1); /* the owner lets go */
	arrivals_end(&node.arrivals, &node.actor);
	ck_assert_uint_eq(pool.left, 6);
	arrive(2, 0);
	ck_assert_uint_eq(pool.left, 6);
	fabric_arrive(&runner, &empty, pool_take(&pool));
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: fabric: arrivals");
	TCase *t = tcase_create("arrivals");

	tcase_add_test(t, lane_15_goes_before_all_data_and_each_lane_keeps_its_order);
	tcase_add_test(t, a_node_that_ends_sends_packets_home_and_so_do_those_that_come_later);
	suite_add_tcase(s, t);
	return run_suite(s);
}
