/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches of a managed fabric: nodes with a port 0, which forward by the tables that a subnet
 * manager sets. Their links are in switch_link_test.c.
 */
#include "switch_bed.h"

static const uint32_t in_al = CI_PORT_SMA_IN_AL | CI_PORT_PMA_IN_AL | CI_PORT_MAD_ANY_CONTEXT;

/* ----------------------------------------------------------------------- nodes */

START_TEST(a_managed_topology_has_its_switches_as_nodes)
{
	uint8_t port;

	ck_assert_int_eq(shape_star(&topology, 3, 0x100), AL_SUCCESS);
	for (uint32_t node = 0; node < 2; node++) { /* the switch and an HCA */
		topology.nodes[node].system_guid = 0x7700 + node;
		topology.nodes[node].vendor = 0x2c9 + node;
		topology.nodes[node].device = 0xd2f0 + node;
	}
	managed("");
	for (uint32_t node = 0; node < 2; node++) {
		const struct ib_ca_attr *attr = &(node ? &hca[0] : sw)->attr;

		ck_assert_uint_eq(attr->sys_image_guid, 0x7700 + node);
		ck_assert_uint_eq(attr->vendor_id, 0x2c9 + node);
		ck_assert_uint_eq(attr->vendor_part_id, 0xd2f0 + node);
	}
	ck_assert_uint_eq(num_ends, 3);
	ck_assert_int_eq(sw->attr.node_type, IB_NODE_SWITCH);
	ck_assert_uint_eq(sw->attr.num_ports, 3);
	ck_assert_uint_eq(sw->attr.node_guid, 0x100);
	ck_assert_str_eq(sw->attr.node_desc, topology.nodes[0].description);
	ck_assert_uint_eq(port_of(sw, 0).port_guid, 0x100);
	ck_assert_uint_ge(port_of(sw, 0).gid_tbl_len, 1);
	ck_assert_uint_eq(port_of(sw, 0).ci_caps, in_al);
	for (port = 1; port <= 3; port++) {
		ck_assert_uint_eq(port_of(sw, port).gid_tbl_len, 0);
		ck_assert_uint_eq(port_of(sw, port).ci_caps, 0);
	}
	finish();
}
END_TEST

/* [soft] speaks of HCAs and switches, [soft hca 0] of an HCA. */
START_TEST(a_switch_has_the_agents_that_all_have)
{
	ck_assert_int_eq(shape_star(&topology, 2, 0x100), AL_SUCCESS);
	managed("agents=hardware [hca 0] agents=al");
	ck_assert_uint_eq(port_of(sw, 0).ci_caps, 0);
	ck_assert_uint_eq(port_of(&hca[0], 1).ci_caps, in_al);
	ck_assert_uint_eq(port_of(&hca[1], 1).ci_caps, 0);
	finish();
}
END_TEST

/* Byte 32 of PortInfo: PortState in bits 3:0. Byte 33: PortPhysicalState in bits 7:4. */
START_TEST(ports_come_up_in_init_and_port_0_is_active)
{
	uint8_t info[64] = { 0 };
	uint8_t port;

	star(3);
	topology_free(&topology);
	for (port = 0; port <= 3; port++) {
		ck_assert_uint_eq(
			attribute(sw, port, IB_METHOD_GET, IB_SMP_PORT_INFO, port, info, 64), 0);
		ck_assert_uint_eq(info[16] << 8 | info[17], 0); /* LID */
		ck_assert_uint_eq(info[32] & 15, port ? IB_PORT_INIT : IB_PORT_ACTIVE);
		ck_assert_uint_eq(info[33] >> 4, IB_PHYS_LINK_UP);
		ck_assert_uint_eq(info[50], port ? 0 : 8);       /* GUIDCap */
		ck_assert_uint_eq(info[51] & 31, port ? 0 : 18); /* SubnetTimeOut */
		ck_assert_uint_eq(info[52] & 31, port ? 0 : 18); /* RespTimeValue */
	}
	ck_assert_int_eq(state_at(&hca[0], 1), IB_PORT_INIT);
	ck_assert_uint_eq(port_of(&hca[0], 1).lid, 0);
	down();
}
END_TEST

/* SwitchInfo and the tables are the switch's, PortInfo is the port's. */
START_TEST(each_switch_has_registers_of_its_own)
{
	static const uint8_t table[] = { 0xff, 2, 1 };
	struct ib_pkey_table keys = { 0 };
	uint8_t info[64] = { 0 };

	ck_assert_int_eq(shape_ring(&topology, 2, 1, 0x100), AL_SUCCESS);
	managed("");
	set_table(&sw[0], table, 3);
	ck_assert_uint_eq(attribute(&sw[0], 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, info, 64), 0);
	ck_assert_uint_eq(info[6] << 8 | info[7], 2); /* LinearFDBTop */
	ck_assert_uint_eq(attribute(&sw[0], 0, IB_METHOD_GET, IB_SMP_LFT, 0, info, 64), 0);
	ck_assert_mem_eq(info, table, 3);
	ck_assert_uint_eq(attribute(&sw[1], 0, IB_METHOD_GET, IB_SMP_LFT, 0, info, 64), 0);
	ck_assert_mem_eq(info, "\xff\xff\xff", 3);
	/* the P_Keys of an external port */
	keys.pkey[31] = ib_be16_of(0x8123);
	ck_assert_uint_eq(
		attribute(&sw[0], 2, IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0x20000, &keys, 64), 0);
	ck_assert_uint_eq(
		attribute(&sw[0], 1, IB_METHOD_GET, IB_SMP_PKEY_TABLE, 0x10000, &keys, 64), 0);
	ck_assert_uint_eq(ib_be16_get(keys.pkey[31]), 0);
	ck_assert_uint_eq(
		attribute(&sw[0], 2, IB_METHOD_GET, IB_SMP_PKEY_TABLE, 0x20000, &keys, 64), 0);
	ck_assert_uint_eq(ib_be16_get(keys.pkey[31]), 0x8123);
	finish();
}
END_TEST

/* ------------------------------------------------------------------- port 0 */

START_TEST(qp0_of_a_switch_sends_by_the_port_that_the_request_names)
{
	struct member at0;
	struct ib_wc wc;
	uint32_t i;

	star(3);
	members_up(3, &smi);
	member_up(&at0, sw, &smi);
	for (i = 0; i < 3; i++)
		receive(&member[i]);
	send_by(&at0, IB_LID_PERMISSIVE, 0, 2);
	wc = expect_from(&member[1], &at0);
	ck_assert_uint_eq(wc.slid, IB_LID_PERMISSIVE);
	for (i = 0; i < 3; i++)
		expect_empty(member[i].cq);
	member_down(&at0);
	members_down(3);
	finish();
}
END_TEST

START_TEST(qp0_of_a_switch_refuses_a_port_that_the_switch_lacks)
{
	const struct ib_ah_attr attr = { .dlid = IB_LID_PERMISSIVE };
	const struct ib_send_wr *bad = NULL;
	struct ib_send_wr wr;
	struct member at0;
	struct ib_sge sge;
	struct ci_ah *ah;

	star(3);
	member_up(&at0, sw, &smi);
	ah = new_ah(sw, NULL, &attr);
	sge = sge_of(at0.mr, 0, MAD);
	wr = send_wr(1, IB_WR_SEND, &sge, 0);
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.port_num = 4;
	ck_assert_int_eq(sw->ci->post_send(at0.qp->ci, &wr, &bad), AL_INVALID_PORT);
	ck_assert_ptr_eq(bad, &wr);
	free_ah(ah);
	member_down(&at0);
	finish();
}
END_TEST

/* Each HCA's packet with the permissive LID ends at port 0, which says by which port the packet
 * came. */
START_TEST(qp0_of_a_switch_tells_by_which_port_a_packet_came)
{
	struct member at0;
	uint32_t i;

	star(3);
	members_up(3, &smi);
	member_up(&at0, sw, &smi);
	for (i = 0; i < 3; i++) {
		receive(&at0);
		send_by(&member[i], IB_LID_PERMISSIVE, 0, 0);
		ck_assert_uint_eq(expect_from(&at0, &member[i]).port_num, i + 1);
		expect_empty(member[i].cq);
	}
	member_down(&at0);
	members_down(3);
	finish();
}
END_TEST

/* By LID, both ways, and from port 0 to the switch's own LID. */
START_TEST(port_0_has_a_lid_for_qp0_and_qp1)
{
	const struct qp_options *const types[] = { &smi, &gsi };
	const uint32_t qpn = (uint32_t)_i;
	struct member at0;

	star(3);
	give_lids();
	activate_star();
	members_up(3, types[_i]);
	member_up(&at0, sw, types[_i]);
	receive(&at0);
	send_by(&member[2], 40, qpn, 0);
	ck_assert_uint_eq(expect_from(&at0, &member[2]).slid, 3);
	receive(&member[1]);
	send_by(&at0, 2, qpn, 0);
	ck_assert_uint_eq(expect_from(&member[1], &at0).slid, 40);
	receive(&at0);
	send_by(&at0, 40, qpn, 0);
	ck_assert_uint_eq(expect_from(&at0, &at0).port_num, 0);
	member_down(&at0);
	members_down(3);
	finish();
}
END_TEST

/* ------------------------------------------------------------------ forwarding */

START_TEST(a_switch_forwards_by_the_table_that_is_set)
{
	uint8_t table[] = { 0xff, 1, 2, 3 };
	uint32_t a, b;

	star(3);
	give_lids();
	activate_star();
	members_up(3, &ud);
	for (a = 0; a < 3; a++)
		for (b = 0; b < 3; b++) {
			receive(&member[b]);
			send_by(&member[a], (uint16_t)(b + 1), member[b].qp->ci->qp_num, 0);
			expect_from(&member[b], &member[a]);
		}
	table[2] = 3; /* leads HCA 1's packets astray: the port there drops them */
	set_table(sw, table, 4);
	receive(&member[1]);
	receive(&member[2]);
	send_by(&member[0], 2, member[2].qp->ci->qp_num, 0); /* a number that the wrong HCA has */
	expect_empty(member[1].cq);
	expect_empty(member[2].cq);
	ck_assert_uint_eq(counters(&hca[2]).rcv_dropped, 1);
	members_down(3);
	finish();
}
END_TEST

/* To the port that the packet came in by, to a port that the switch lacks, and above LinearFDBTop.
 */
START_TEST(what_can_not_be_forwarded_is_counted_where_it_came_in)
{
	static const uint8_t table[] = { 0xff, 1, 1, 9, 255 };

	star(2);
	give_lids();
	activate_star();
	set_table(sw, table, 5);
	members_up(2, &ud);
	receive(&member[1]);
	for (uint16_t lid = 2; lid <= 5; lid++) {
		send_by(&member[0], lid, member[1].qp->ci->qp_num, 0);
		ck_assert_uint_eq(port_of(sw, 1).counters.rcv_switch_relay_errors, lid - 1u);
	}
	expect_empty(member[1].cq);
	members_down(2);
	finish();
}
END_TEST

/* LRH 8, BTH 12, DETH 8, payload 256, ICRC 4, VCRC 2. */
START_TEST(external_ports_count_packets_and_their_bytes)
{
	struct ib_port_counters in, out;

	star(2);
	give_lids();
	activate_star();
	members_up(2, &ud);
	receive(&member[1]);
	send_by(&member[0], 2, member[1].qp->ci->qp_num, 0);
	expect_from(&member[1], &member[0]);
	in = port_of(sw, 1).counters;
	out = port_of(sw, 2).counters;
	ck_assert_uint_eq(in.rcv_packets, 1);
	ck_assert_uint_eq(in.rcv_bytes, 290);
	ck_assert_uint_eq(in.xmit_packets, 0);
	ck_assert_uint_eq(out.xmit_packets, 1);
	ck_assert_uint_eq(out.xmit_bytes, 290);
	ck_assert_uint_eq(out.rcv_packets, 0);
	members_down(2);
	finish();
}
END_TEST

START_TEST(datagrams_pass_a_managed_tree_from_everywhere_to_everywhere)
{
	uint32_t a, b;

	ck_assert_int_eq(shape_fat_tree(&topology,
					&(struct fat_tree){ .levels = 2, .radix = 6, .hcas = 18 },
					0x100),
			 AL_SUCCESS);
	managed(_i ? "progress=manual seed=3" : "");
	manage();
	members_up(num_ends, &ud);
	for (a = 0; a < num_ends; a++)
		for (b = 0; b < num_ends; b++) {
			receive(&member[b]);
			send_by(&member[a], port_of(&hca[b], 1).lid, member[b].qp->ci->qp_num, 0);
			expect_from(&member[b], &member[a]);
		}
	members_down(num_ends);
	finish();
}
END_TEST

/* ---------------------------------------------------------------------- states */

/* ------------------------------------------------------------------- multicast */

static const ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, [15] = 1 } };
#define MLID 0xc001

static void send_to_group(struct member *from)
{
	const struct ib_ah_attr attr = { .dlid = MLID,
					 .port_num = 1,
					 .is_global = true,
					 .grh = { .dgid = mgid, .hop_limit = 1 } };
	struct ci_ah *ah = new_ah(from->h, NULL, &attr);
	struct ib_sge sge = sge_of(from->mr, 0, MAD);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED);

	fill(from->mr->buf, MAD, 77);
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	wr.wr.ud.remote_qkey = QKEY;
	post(from->qp, &wr);
	expect_wc(from->cq, 1, IB_WC_SUCCESS);
	free_ah(ah);
}

/* HCAs 0, 1 and 2 are members, HCA 3 is attached but not in the table. Each HCA sends. */
START_TEST(multicast_goes_to_the_ports_of_the_table_once_and_not_back)
{
	uint32_t from, i;

	star(5);
	give_lids();
	activate_star();
	set_group(sw, MLID, 0x0e); /* ports 1, 2 and 3 */
	members_up(5, &ud);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(hca[i].ci->attach_mcast(member[i].qp->ci, &mgid, MLID),
				 AL_SUCCESS);
	for (from = 0; from < 5; from++) {
		for (i = 0; i < 5; i++)
			receive(&member[i]);
		send_to_group(&member[from]);
		for (i = 0; i < 5; i++)
			/* a member's own copy is made in the HCA */
			if (i < 3 || (i == 3 && from == 3))
				expect_from(&member[i], &member[from]);
		for (i = 0; i < 5; i++)
			expect_empty(member[i].cq);
	}
	members_down(5);
	finish();
}
END_TEST

/* A ring of three switches with a tree in the tables: no packet comes twice. */
START_TEST(multicast_passes_several_switches)
{
	uint32_t i;

	ck_assert_int_eq(shape_ring(&topology, 3, 1, 0x100), AL_SUCCESS);
	managed("");
	manage();
	/* ports 1 and 2 are the ring's, and the HCA is at port 3 */
	set_group(&sw[0], MLID, 0x0a); /* to switch 1, and the HCA */
	set_group(&sw[1], MLID, 0x0e); /* to switches 2 and 0, and the HCA */
	set_group(&sw[2], MLID, 0x0c); /* to switch 1, and the HCA */
	members_up(3, &ud);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(hca[i].ci->attach_mcast(member[i].qp->ci, &mgid, MLID),
				 AL_SUCCESS);
		receive(&member[i]);
		receive(&member[i]);
	}
	send_to_group(&member[0]);
	for (i = 0; i < 3; i++) {
		expect_from(&member[i], &member[0]);
		expect_empty(member[i].cq);
	}
	members_down(3);
	finish();
}
END_TEST

/* The table has a bit for each port in groups of 16: port 18 is bit 2 of the second group. */
START_TEST(multicast_goes_to_ports_from_16_on)
{
	uint8_t block[64] = { [2] = 0x00, [3] = 0x04 };

	star(20);
	give_lids();
	activate_star();
	ck_assert_uint_eq(attribute(sw, 0, IB_METHOD_SET, IB_SMP_MFT, 0x10000000, block, 64), 0);
	members_up(20, &ud);
	for (uint32_t i = 0; i < 20; i++) {
		ck_assert_int_eq(hca[i].ci->attach_mcast(member[i].qp->ci, &mgid, MLID),
				 AL_SUCCESS);
		receive(&member[i]);
	}
	send_to_group(&member[1]);
	expect_from(&member[17], &member[1]);
	expect_from(&member[1], &member[1]); /* in the HCA */
	for (uint32_t i = 0; i < 20; i++)
		expect_empty(member[i].cq);
	members_down(20);
	finish();
}
END_TEST

/* Width and speed of the topology, at both ends. Bytes of PortInfo: 30 and 31 LinkWidthSupported
 * and Active, 35 LinkSpeedActive in bits 7:4, 62 LinkSpeedExtActive in bits 7:4 and Supported in
 * bits 3:0. */
START_TEST(ports_have_the_rate_of_their_cable)
{
	static const struct {
		uint8_t width, speed, supported, ext;
	} rates[] = {
		{ IB_WIDTH_1X, IB_SPEED_DDR, 3, 0x00 },
		{ IB_WIDTH_4X, IB_SPEED_QDR, 3, 0x00 },
		{ IB_WIDTH_4X, IB_SPEED_HDR, 3, 0x47 },
		{ IB_WIDTH_12X, IB_SPEED_FDR, 3 | IB_WIDTH_12X, 0x11 },
	};
	const struct hca *ends[] = { &hca[0], NULL };
	uint8_t info[64] = { 0 };
	uint32_t i, at;

	ck_assert_int_eq(shape_star(&topology, 1, 0x100), AL_SUCCESS);
	at = topology_port_index(&topology.nodes[0], 1);
	for (i = 0; i < 2; i++, at = topology.ports[at].peer) {
		topology.ports[at].width = rates[_i].width;
		topology.ports[at].speed = rates[_i].speed;
	}
	managed("");
	ends[1] = sw;
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(
			attribute(ends[i], 1, IB_METHOD_GET, IB_SMP_PORT_INFO, 1, info, 64), 0);
		ck_assert_uint_eq(info[30], rates[_i].supported);
		ck_assert_uint_eq(info[31], rates[_i].width);
		ck_assert_uint_eq(info[35] >> 4, rates[_i].speed > 4 ? 4 : rates[_i].speed);
		ck_assert_uint_eq(info[62], rates[_i].ext);
		ck_assert_uint_eq(port_of(ends[i], 1).active_speed, rates[_i].speed);
	}
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: switches of a managed fabric");
	TCase *t = tcase_create("nodes");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_managed_topology_has_its_switches_as_nodes);
	tcase_add_test(t, a_switch_has_the_agents_that_all_have);
	tcase_add_test(t, ports_come_up_in_init_and_port_0_is_active);
	tcase_add_test(t, each_switch_has_registers_of_its_own);
	tcase_add_test(t, qp0_of_a_switch_sends_by_the_port_that_the_request_names);
	tcase_add_test(t, qp0_of_a_switch_refuses_a_port_that_the_switch_lacks);
	tcase_add_test(t, qp0_of_a_switch_tells_by_which_port_a_packet_came);
	tcase_add_loop_test(t, port_0_has_a_lid_for_qp0_and_qp1, 0, 2);
	tcase_add_loop_test(t, ports_have_the_rate_of_their_cable, 0, 4);
	suite_add_tcase(s, t);
	t = tcase_create("forwarding");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_switch_forwards_by_the_table_that_is_set);
	tcase_add_test(t, what_can_not_be_forwarded_is_counted_where_it_came_in);
	tcase_add_test(t, external_ports_count_packets_and_their_bytes);
	tcase_add_loop_test(t, datagrams_pass_a_managed_tree_from_everywhere_to_everywhere, 0, 2);
	tcase_add_test(t, multicast_goes_to_the_ports_of_the_table_once_and_not_back);
	tcase_add_test(t, multicast_goes_to_ports_from_16_on);
	tcase_add_test(t, multicast_passes_several_switches);
	suite_add_tcase(s, t);
	return run_suite(s);
}
