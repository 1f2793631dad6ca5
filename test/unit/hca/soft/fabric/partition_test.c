/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Partitions that a switch enforces: a subnet manager gives an external port a P_Key table and says
 * in which directions the port compares packets with the table (IBTA 10.9.6, 14.2.5.6).
 */
#include "hca/soft/port/port.h"
#include "switch_bed.h"

#define OURS  0x8012 /* full member */
#define GUEST 0x0012 /* limited member of the same partition */
#define OTHER 0x8034

static bool posted; /* the receiver has a receive that nothing has come to */

/* Sets the first two P_Keys of a port, and clears the others. port: of a switch; an HCA has port 1.
 */
static void set_pkeys(const struct hca *h, uint8_t port, uint16_t first, uint16_t second)
{
	const uint32_t mod = h->attr.node_type == IB_NODE_SWITCH ? (uint32_t)port << 16 : 0;
	struct ib_pkey_table table = { .pkey = { ib_be16_of(first), ib_be16_of(second) } };

	ck_assert_uint_eq(
		attribute(h, port, IB_METHOD_SET, IB_SMP_PKEY_TABLE, mod, &table, sizeof(table)),
		0);
}

static void enforce(uint8_t port, unsigned int directions)
{
	struct ib_port_info info = port_info(sw, port);

	ib_port_info_set_enforce_inbound(&info, directions & ENFORCE_IN ? 1 : 0);
	ib_port_info_set_enforce_outbound(&info, directions & ENFORCE_OUT ? 1 : 0);
	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	ck_assert_uint_eq(
		attribute(sw, port, IB_METHOD_SET, IB_SMP_PORT_INFO, port, &info, sizeof(info)), 0);
}

static struct ib_port_counters counters_of(uint8_t port)
{
	return port_of(sw, port).counters;
}

/* Two HCAs at a switch, each with a queue pair of the HCA's first P_Key. */
static void begin(uint16_t first, uint16_t second)
{
	ck_assert_int_eq(shape_star(&topology, 2, 0x100), AL_SUCCESS);
	managed("progress=manual seed=1");
	give_lids();
	activate_star();
	set_pkeys(&hca[0], 1, first, 0xffff);
	set_pkeys(&hca[1], 1, second, 0xffff);
	members_up(2, &ud);
	memset(&last_trap, 0, sizeof(last_trap));
	posted = false;
}

static void end(void)
{
	members_down(2);
	finish();
}

static void expect_passes(void)
{
	if (!posted)
		receive(&member[1]);
	posted = false;
	send_by(&member[0], 2, member[1].qp->ci->qp_num, 0);
	expect_from(&member[1], &member[0]);
}

/* Sends a datagram that the switch drops and counts. The receive stays posted, for the next one
 * that passes. */
static void expect_dropped(void)
{
	const uint64_t before =
		counters_of(1).rcv_constraint_errors + counters_of(2).xmit_constraint_errors;

	if (!posted)
		receive(&member[1]);
	posted = true;
	send_by(&member[0], 2, member[1].qp->ci->qp_num, 0);
	run_all();
	expect_empty(member[1].cq);
	ck_assert_uint_eq(counters_of(1).rcv_constraint_errors +
				  counters_of(2).xmit_constraint_errors,
			  before + 1);
}

/* _i: the port of the sender checks what comes in, or the port of the receiver what goes out. */
START_TEST(a_packet_of_another_partition_is_dropped_where_the_port_enforces)
{
	const uint8_t port = _i ? 2 : 1, other = _i ? 1 : 2;
	const unsigned int direction = _i ? ENFORCE_OUT : ENFORCE_IN;
	const struct ib_trap_switch_bad_pkey *details = &last_trap.notice.details.switch_bad_pkey;

	begin(OURS, OURS);
	set_pkeys(sw, port, OTHER, 0);
	expect_passes(); /* no port enforces anything yet */
	enforce(port, direction ^ (ENFORCE_IN | ENFORCE_OUT));
	expect_passes(); /* only in the direction that no packet takes here */
	enforce(other, ENFORCE_IN | ENFORCE_OUT);
	set_pkeys(sw, other, OTHER, OURS);
	expect_passes(); /* by the second entry */
	ck_assert_uint_eq(last_trap.number, 0);
	enforce(port, direction);
	expect_dropped();
	ck_assert_uint_eq(_i ? counters_of(2).xmit_constraint_errors
			     : counters_of(1).rcv_constraint_errors,
			  1);
	ck_assert_uint_eq(last_trap.number, 1);
	ck_assert_uint_eq(last_trap.port, 0); /* the switch tells by its port 0 */
	ck_assert_uint_eq(ib_be16_get(last_trap.notice.trap_num), IB_TRAP_SWITCH_BAD_PKEY);
	ck_assert_uint_eq(ib_be16_get(details->sw_lid), 40);
	ck_assert_uint_eq(details->port_num, port);
	ck_assert_uint_eq(ib_be16_get(details->lid1), 1);
	ck_assert_uint_eq(ib_be16_get(details->lid2), 2);
	ck_assert_uint_eq(ib_be16_get(details->pkey), OURS);
	ck_assert_uint_eq(ib_be32_get(details->qp2), member[1].qp->ci->qp_num);
	set_pkeys(sw, port, OTHER, OURS); /* the change holds for the next packet */
	expect_passes();
	set_pkeys(sw, port, OTHER, 0);
	expect_dropped();
	enforce(port, 0);
	expect_passes();
	end();
}
END_TEST

/* A port of a switch has the P_Keys of the HCA at its cable, as OpenSM sets them. */
START_TEST(limited_members_reach_full_members_with_the_tables_of_their_hcas)
{
	begin(GUEST, OURS);
	set_pkeys(sw, 1, GUEST, 0xffff);
	set_pkeys(sw, 2, OURS, 0xffff);
	enforce(1, ENFORCE_IN | ENFORCE_OUT);
	enforce(2, ENFORCE_IN | ENFORCE_OUT);
	expect_passes();
	ck_assert_uint_eq(last_trap.number, 0);
	set_pkeys(sw, 2, GUEST, 0xffff); /* two limited members do not match (IBTA 10.9.3) */
	expect_dropped();
	ck_assert_uint_eq(counters_of(2).xmit_constraint_errors, 1);
	set_pkeys(sw, 2, OURS, 0);
	set_pkeys(sw, 1, OURS, 0);
	expect_passes();
	set_pkeys(sw, 1, OTHER, 0);
	expect_dropped();
	set_pkeys(sw, 1, 0, 0); /* an empty table lets nothing pass */
	expect_dropped();
	end();
	begin(OURS, GUEST); /* and back */
	set_pkeys(sw, 1, OURS, 0xffff);
	set_pkeys(sw, 2, GUEST, 0xffff);
	enforce(1, ENFORCE_IN | ENFORCE_OUT);
	enforce(2, ENFORCE_IN | ENFORCE_OUT);
	expect_passes();
	end();
}
END_TEST

START_TEST(subnet_management_passes_a_port_without_partitions)
{
	begin(OURS, OURS);
	members_down(2);
	for (uint8_t port = 1; port <= 2; port++) {
		set_pkeys(sw, port, 0, 0);
		enforce(port, ENFORCE_IN | ENFORCE_OUT);
	}
	members_up(2, &smi);
	receive(&member[1]);
	send_by(&member[0], 2, 0, 0);
	expect_from(&member[1], &member[0]);
	members_down(2);
	members_up(2, &gsi); /* QP1 has a P_Key, as every queue pair but QP0 */
	receive(&member[1]);
	send_by(&member[0], 2, 1, 0);
	run_all();
	expect_empty(member[1].cq);
	ck_assert_uint_eq(counters_of(1).rcv_constraint_errors, 1);
	end();
}
END_TEST

START_TEST(a_reboot_ends_the_enforcement)
{
	struct ib_port_info info;

	begin(OURS, OURS);
	set_pkeys(sw, 1, OTHER, 0);
	enforce(1, ENFORCE_IN);
	ck_assert_int_eq(vendor(sw, SOFT_REBOOT, NULL, 0), AL_SUCCESS);
	info = port_info(sw, 1);
	ck_assert_uint_eq(ib_port_info_enforce_inbound(&info), 0);
	give_lids();
	activate_star();
	expect_passes();
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: partitions that a switch enforces");
	TCase *t = tcase_create("partitions");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_packet_of_another_partition_is_dropped_where_the_port_enforces, 0,
			    2);
	tcase_add_test(t, limited_members_reach_full_members_with_the_tables_of_their_hcas);
	tcase_add_test(t, subnet_management_passes_a_port_without_partitions);
	tcase_add_test(t, a_reboot_ends_the_enforcement);
	suite_add_tcase(s, t);
	return run_suite(s);
}
