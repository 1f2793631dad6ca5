/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A subnet manager's Gets and Sets at a port of the software HCA (ci_local_mad()): PortInfo and tables, their events,
 * port states step by step, and addresses that change while packets pass.
 */
#include <iba/ib_mad.h>
#include <pthread.h>

#include "ud_test.h"

/* ------------------------------------------------------------------ attributes */

static uint16_t attribute(int h, uint8_t method, uint16_t id, uint32_t mod, void *data, size_t size)
{
	struct ci_local_mad_in in = { .mgmt_class = IB_CLASS_SUBN_LID,
				      .method = method,
				      .attr_id = id,
				      .attr_mod = mod,
				      .length = IB_SMP_DATA_BYTES };
	struct ci_local_mad_out out = { 0 };

	memcpy(in.data, data, size);
	ck_assert_int_eq(ops->local_mad(hca[h].ca, 1, NULL, &in, &out), AL_SUCCESS);
	memcpy(data, out.data, size);
	return out.status;
}

static struct ib_port_info port_info(int h)
{
	struct ib_port_info info = { 0 };

	ck_assert_uint_eq(attribute(h, IB_METHOD_GET, IB_SMP_PORT_INFO, 1, &info, sizeof(info)),
			  IB_MAD_STATUS_OK);
	return info;
}

/* Makes a Set as a subnet manager does: the values of a Get, with changes, and no change of a state unless asked. */
static struct ib_port_info port_info_to_set(int h)
{
	struct ib_port_info info = port_info(h);

	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	return info;
}

static uint16_t set_port_info(int h, struct ib_port_info info)
{
	return attribute(h, IB_METHOD_SET, IB_SMP_PORT_INFO, 1, &info, sizeof(info));
}

static uint16_t set_state(int h, ib_phys_state phys, ib_port_state state)
{
	struct ib_port_info info = port_info_to_set(h);

	ib_port_info_set_phys_state(&info, phys);
	ib_port_info_set_port_state(&info, state);
	return set_port_info(h, info);
}

static void set_lids(int h, uint16_t lid, uint8_t lmc)
{
	struct ib_port_info info = port_info_to_set(h);

	info.lid = ib_be16_of(lid);
	ib_port_info_set_lmc(&info, lmc);
	ck_assert_uint_eq(set_port_info(h, info), IB_MAD_STATUS_OK);
}

static void set_pkey(int h, uint32_t index, uint16_t pkey)
{
	struct ib_pkey_table table = { 0 };

	ck_assert_uint_eq(attribute(h, IB_METHOD_GET, IB_SMP_PKEY_TABLE, 0, &table, sizeof(table)),
			  0);
	table.pkey[index] = ib_be16_of(pkey);
	ck_assert_uint_eq(attribute(h, IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0, &table, sizeof(table)),
			  0);
}

static void set_guid(int h, uint32_t index, uint64_t guid)
{
	struct ib_guid_info table = { 0 };

	ck_assert_uint_eq(attribute(h, IB_METHOD_GET, IB_SMP_GUID_INFO, 0, &table, sizeof(table)),
			  0);
	table.guid[index] = ib_be64_of(guid);
	ck_assert_uint_eq(attribute(h, IB_METHOD_SET, IB_SMP_GUID_INFO, 0, &table, sizeof(table)),
			  0);
}

static void expect_events(int h, uint32_t bits)
{
	ck_assert_uint_eq(atomic_exchange(&port_events[h][1], 0), bits);
}

/* Bytes by IBTA's table of PortInfo, not by the accessors. */
START_TEST(port_info_has_the_ports_values_at_their_places)
{
	struct ib_port_attr attr;
	uint8_t info[64] = { 0 };

	up("lmc=2");
	attr = port_of(&hca[1], 1);
	ck_assert_uint_eq(attribute(1, IB_METHOD_GET, IB_SMP_PORT_INFO, 1, info, sizeof(info)), 0);
	ck_assert_mem_eq(info, "\0\0\0\0\0\0\0\0", 8);         /* M_Key */
	ck_assert_mem_eq(info + 8, "\xfe\x80\0\0\0\0\0\0", 8); /* GidPrefix */
	ck_assert_uint_eq(info[16] << 8 | info[17], attr.lid);
	ck_assert_uint_eq(info[28], 1);           /* LocalPortNum */
	ck_assert_uint_eq(info[31], IB_WIDTH_4X); /* LinkWidthActive */
	ck_assert_uint_eq(info[32] & 15, IB_PORT_ACTIVE);
	ck_assert_uint_eq(info[33] >> 4, IB_PHYS_LINK_UP);
	ck_assert_uint_eq(info[34] & 7, 2);            /* LMC */
	ck_assert_uint_eq(info[36] >> 4, IB_MTU_4096); /* NeighborMTU */
	ck_assert_uint_eq(info[41] & 15, IB_MTU_4096); /* MTUCap */
	/* OperationalVLs is VLCap: OpenSM takes a link down whose operational lanes it changes */
	ck_assert_uint_eq(info[43] >> 4, info[37] >> 4);
	ck_assert_uint_eq(info[50], 8);                /* GUIDCap */
	ck_assert_uint_eq(info[51] & 31, attr.subnet_timeout);
	ck_assert_uint_eq(info[62] >> 4, 2); /* a Set without changes */
	down();
}
END_TEST

START_TEST(a_set_is_told_by_the_events_of_what_it_changes)
{
	struct ib_port_info info;

	up("");
	atomic_store(&port_events[0][1], 0);
	ck_assert_uint_eq(set_port_info(0, port_info_to_set(0)), 0); /* nothing changes */
	expect_events(0, 0);
	set_lids(0, 77, 1);
	expect_events(0, 1u << IB_EVENT_LID_CHANGE);
	ck_assert_uint_eq(port_of(&hca[0], 1).lid, 77);
	ck_assert_uint_eq(port_of(&hca[0], 1).lmc, 1);
	info = port_info_to_set(0);
	info.master_sm_lid = ib_be16_of(9);
	ib_port_info_set_master_sm_sl(&info, 3);
	ck_assert_uint_eq(set_port_info(0, info), 0);
	expect_events(0, 1u << IB_EVENT_SM_CHANGE);
	ck_assert_uint_eq(port_of(&hca[0], 1).sm_lid, 9);
	ck_assert_uint_eq(port_of(&hca[0], 1).sm_sl, 3);
	info = port_info_to_set(0);
	info.gid_prefix = ib_be64_of(0xfec0000000000001);
	ib_port_info_set_client_reregister(&info, 1);
	ck_assert_uint_eq(set_port_info(0, info), 0);
	expect_events(0, 1u << IB_EVENT_GID_CHANGE | 1u << IB_EVENT_CLIENT_REREGISTER);
	info = port_info(0);
	ck_assert_uint_eq(ib_port_info_client_reregister(&info), 0);
	set_pkey(0, 5, 0x8123);
	expect_events(0, 1u << IB_EVENT_PKEY_CHANGE);
	set_guid(0, 3, 0x1122334455667788);
	expect_events(0, 1u << IB_EVENT_GID_CHANGE);
	set_guid(0, 0, 1); /* the port GUID is read only */
	expect_events(0, 0);
	down();
}
END_TEST

START_TEST(violation_counters_are_what_a_set_says)
{
	struct ib_port_info info;

	start("", &(struct qp_options){ 0 });
	ck_assert_int_eq(
		ops->modify_qp(p.b->ci, &(struct ib_qp_attr){ .qkey = QKEY + 1 }, IB_QP_QKEY, NULL),
		AL_SUCCESS);
	receive(1, GRH + 8);
	send(2, 8);
	ck_assert_uint_eq(ib_be16_get(port_info(1).qkey_violations), 1);
	info = port_info_to_set(1);
	info.qkey_violations = ib_be16_of(0);
	ck_assert_uint_eq(set_port_info(1, info), 0);
	ck_assert_uint_eq(ib_be16_get(port_info(1).qkey_violations), 0);
	finish();
}
END_TEST

START_TEST(tables_keep_what_is_set_and_blocks_that_are_not_there_are_refused)
{
	struct ib_vl_arb_table arb = { .entry[7] = { 3, 200 } }, got = { 0 };
	struct ib_sl_to_vl map = { .vl[7] = 0x2f };
	uint8_t data[64] = { 0 };

	up("");
	ck_assert_uint_eq(attribute(0, IB_METHOD_SET, IB_SMP_VL_ARB, IB_VL_ARB_HIGH_1 << 16, &arb,
				    sizeof(arb)),
			  0);
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_VL_ARB, IB_VL_ARB_HIGH_1 << 16, &got,
				    sizeof(got)),
			  0);
	ck_assert_mem_eq(&got, &arb, sizeof(arb));
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_VL_ARB, IB_VL_ARB_LOW_1 << 16, &got,
				    sizeof(got)),
			  0);
	ck_assert_uint_eq(got.entry[7].weight, 0);
	ck_assert_uint_eq(attribute(0, IB_METHOD_SET, IB_SMP_VL_ARB, IB_VL_ARB_HIGH_2 << 16, &arb,
				    sizeof(arb)),
			  IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(attribute(0, IB_METHOD_SET, IB_SMP_SL_TO_VL, 0, &map, sizeof(map)), 0);
	map = (struct ib_sl_to_vl){ 0 };
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_SL_TO_VL, 0, &map, sizeof(map)), 0);
	ck_assert_uint_eq(map.vl[7], 0x2f);
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_VL_ARB, 5u << 16, data, 64),
			  IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_VL_ARB, 0, data, 64),
			  IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_PKEY_TABLE, 1, data, 64),
			  IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_GUID_INFO, 1, data, 64),
			  IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(attribute(0, IB_METHOD_GET, IB_SMP_LFT, 0, data, 64),
			  IB_MAD_STATUS_BAD_METHOD_ATTR);
	down();
}
END_TEST

/* Each table of a port has values of its own, whichever table was set last. */
START_TEST(no_table_of_a_port_shows_the_values_of_another)
{
	static const struct {
		uint16_t attr;
		uint32_t mod;
		uint8_t value; /* of each byte that is set */
		size_t from, bytes;
	} tables[] = {
		{ IB_SMP_PKEY_TABLE, 0, 0x91, 2, 30 }, /* the first P_Key and GUID stay */
		{ IB_SMP_GUID_INFO, 0, 0x12, 8, 56 },
		{ IB_SMP_SL_TO_VL, 0, 0x03, 0, 8 },
		{ IB_SMP_VL_ARB, IB_VL_ARB_LOW_1 << 16, 0x04, 0, 16 }, /* eight entries */
		{ IB_SMP_VL_ARB, IB_VL_ARB_HIGH_1 << 16, 0x06, 0, 16 },
	};
	const size_t num = sizeof(tables) / sizeof(tables[0]);
	uint8_t data[64];

	up("");
	for (size_t i = 0; i < num; i++) {
		ck_assert_uint_eq(
			attribute(0, IB_METHOD_GET, tables[i].attr, tables[i].mod, data, 64), 0);
		memset(data + tables[i].from, tables[i].value, tables[i].bytes);
		ck_assert_uint_eq(
			attribute(0, IB_METHOD_SET, tables[i].attr, tables[i].mod, data, 64), 0);
	}
	for (size_t i = 0; i < num; i++) {
		ck_assert_uint_eq(
			attribute(0, IB_METHOD_GET, tables[i].attr, tables[i].mod, data, 64), 0);
		for (size_t b = tables[i].from; b < tables[i].from + tables[i].bytes; b++)
			ck_assert_msg(data[b] == tables[i].value, "byte %zu of table %zu is 0x%02x",
				      b, i, data[b]);
	}
	down();
}
END_TEST

/* ---------------------------------------------------------------------- states */

START_TEST(a_managed_port_waits_in_init_without_a_lid_and_climbs_step_by_step)
{
	up("subnet=managed");
	ck_assert_int_eq(port_of(&hca[0], 1).state, IB_PORT_INIT);
	ck_assert_uint_eq(port_of(&hca[0], 1).lid, 0);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ACTIVE), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_INIT), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_int_eq(port_of(&hca[0], 1).state, IB_PORT_INIT);
	atomic_store(&port_events[0][1], 0);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ARMED), 0);
	expect_events(0, 1u << IB_EVENT_PORT_ARMED);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ARMED), 0);
	expect_events(0, 0);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ACTIVE), 0);
	expect_events(0, 1u << IB_EVENT_PORT_ACTIVE);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ARMED), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_int_eq(port_of(&hca[1], 1).state,
			 IB_PORT_INIT); /* the other end has its own state */
	down();
}
END_TEST

/* Both ends go down, and train again. */
START_TEST(a_port_that_is_set_down_comes_back_in_init)
{
	up("subnet=managed");
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ARMED), 0);
	ck_assert_uint_eq(set_state(1, IB_PHYS_NOP, IB_PORT_ARMED), 0);
	atomic_store(&port_events[1][1], 0);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_DOWN), 0);
	ck_assert_int_eq(port_of(&hca[0], 1).state, IB_PORT_INIT);
	ck_assert_int_eq(port_of(&hca[1], 1).state, IB_PORT_INIT);
	expect_events(1, 1u << IB_EVENT_PORT_DOWN | 1u << IB_EVENT_PORT_INIT);
	down();
}
END_TEST

/* _i: Disabled, or Sleep. */
START_TEST(a_link_stays_down_while_one_end_is_not_polling)
{
	const ib_phys_state phys = _i ? IB_PHYS_SLEEP : IB_PHYS_DISABLED;

	up("subnet=managed");
	ck_assert_uint_eq(set_state(0, phys, IB_PORT_NOP), 0);
	ck_assert_int_eq(port_of(&hca[0], 1).state, IB_PORT_DOWN);
	ck_assert_int_eq(port_of(&hca[0], 1).phys_state, phys);
	ck_assert_int_eq(port_of(&hca[1], 1).state, IB_PORT_DOWN);
	ck_assert_int_eq(port_of(&hca[1], 1).phys_state, IB_PHYS_POLLING);
	ck_assert_uint_eq(set_state(0, IB_PHYS_LINK_UP, IB_PORT_NOP), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(set_state(0, IB_PHYS_POLLING, IB_PORT_NOP), 0);
	ck_assert_int_eq(port_of(&hca[0], 1).state, IB_PORT_INIT);
	ck_assert_int_eq(port_of(&hca[1], 1).state, IB_PORT_INIT);
	down();
}
END_TEST

/*
 * An Armed port that receives data from an Active port becomes Active; data from an Armed port, or to a port in Init,
 * is dropped.
 */
START_TEST(an_armed_port_takes_data_and_becomes_active)
{
	up("subnet=managed");
	set_lids(0, 1, 0);
	set_lids(1, 2, 0);
	pair_up(&p, &(struct qp_options){ .type = IB_QPT_UD, .qkey = QKEY }, 4096);
	fill(p.am->buf, 64, 1);
	ah = new_ah(&hca[0], NULL, &(struct ib_ah_attr){ .dlid = 2, .port_num = 1 });
	receive(1, GRH + 64);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ARMED), 0);
	send(2, 64);
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 1);
	ck_assert_uint_eq(set_state(0, IB_PHYS_NOP, IB_PORT_ACTIVE), 0);
	send(3, 64);
	expect_empty(p.bcq);
	ck_assert_uint_eq(set_state(1, IB_PHYS_NOP, IB_PORT_ARMED), 0);
	send(4, 64);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 64);
	ck_assert_int_eq(port_of(&hca[1], 1).state, IB_PORT_ACTIVE);
	finish();
}
END_TEST

START_TEST(qp0_passes_in_init)
{
	const struct qp_options smi = { .type = IB_QPT_SMI };
	struct ib_send_wr wr;
	struct ib_sge sge;

	up("subnet=managed");
	pair_up(&p, &smi, 4096);
	fill(p.am->buf, 256, 1);
	ah = new_ah(&hca[0], NULL,
		    &(struct ib_ah_attr){ .dlid = IB_LID_PERMISSIVE, .port_num = 1 });
	receive(1, GRH + 256);
	sge = sge_of(p.am, 0, 256);
	wr = datagram(2, &sge, IB_SEND_SIGNALED);
	post(p.a, &wr);
	ck_assert_uint_eq(expect_wc(p.bcq, 1, IB_WC_SUCCESS).slid, IB_LID_PERMISSIVE);
	ck_assert_mem_eq(p.bm->buf + GRH, p.am->buf, 256);
	finish();
}
END_TEST

/* ------------------------------------------------------ changes beside traffic */

/* _i: the end whose LID changes while the connection is idle. */
START_TEST(a_connection_is_broken_when_the_lid_of_an_end_has_changed)
{
	up("progress=manual seed=1"); /* in virtual time no time-out runs out on a machine that is
					 busy */
	pair_up(&p, &(struct qp_options){ .retry_cnt = 0xff, .timeout = 8 }, 4096);
	fill(p.am->buf, 64, 1);
	set_lids(_i, 60, 0);
	set_lids(_i, (uint16_t)(_i + 1), 0); /* changed and changed back: the path is the same as before */
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 64);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 64);
	set_lids(_i, 50, 0);
	rdma(&p, IB_WR_RDMA_WRITE, 2, 0, 100, 64);
	expect_wc(p.acq, 2, IB_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(p.bm->buf[100], 0);
	pair_down(&p);
	down();
}
END_TEST

static void set_lane(int h, unsigned int sl, uint8_t lane)
{
	struct ib_sl_to_vl table = { 0 };

	ib_sl_to_vl_set(&table, sl, lane);
	ck_assert_uint_eq(attribute(h, IB_METHOD_SET, IB_SMP_SL_TO_VL, 0, &table, sizeof(table)),
			  0);
}

static void set_lanes(int h, uint32_t code)
{
	struct ib_port_info info = port_info_to_set(h);

	ib_port_info_set_operational_vls(&info, code);
	ck_assert_uint_eq(set_port_info(h, info), 0);
}

/*
 * The service level of a connection is 0. _i: a message goes by packets (0), or directly into the
 * peer's memory, but for the lane that does not operate here (1) or at the peer (2).
 */
START_TEST(a_connection_is_broken_while_its_service_level_has_no_lane)
{
	up(_i ? "" : "progress=manual seed=1"); /* manual progress takes no short cut */
	pair_up(&p, &(struct qp_options){ .retry_cnt = 0xff, .timeout = 15, .mtu = IB_MTU_4096 },
		8192);
	fill(p.am->buf, 8192, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 8000, 64);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	set_lane(0, 0, _i < 2 ? 8 : 1); /* lanes 0 to 7 operate */
	if (_i == 2)
		set_lanes(1, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, _i ? 64 : 4096);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_uint_eq(p.bm->buf[0], 0);
	ck_assert_uint_gt(_i < 2 ? port_of(&hca[0], 1).counters.xmit_discards
				 : port_of(&hca[1], 1).counters.rcv_errors,
			  0);
	pair_down(&p);
	down();
}
END_TEST

START_TEST(all_lanes_operate_from_the_start)
{
	start("", &(struct qp_options){ 0 });
	set_lane(0, 0, 7);
	receive(1, GRH + 8);
	send(2, 8);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	finish();
}
END_TEST

START_TEST(a_port_takes_no_packet_on_a_lane_that_does_not_operate)
{
	start("", &(struct qp_options){ 0 });
	set_lanes(1, 1);
	set_lane(0, 0, 1);
	receive(1, GRH + 8);
	send(2, 8);
	expect_empty(p.bcq);
	ck_assert_uint_eq(port_of(&hca[1], 1).counters.rcv_errors, 1);
	set_lanes(1, 2);
	send(3, 8);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	finish();
}
END_TEST

START_TEST(a_queue_pair_has_the_p_key_that_its_index_names_now)
{
	start("pkeys=0x8001", &(struct qp_options){ 0 });
	set_pkey(1, 0, 0x8002);
	receive(1, GRH + 8);
	send(2, 8);
	check_silence(1);
	set_pkey(0, 0, 0x8002);
	send(3, 8);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	finish();
}
END_TEST

/*
 * A datagram is under way when the LID of its destination changes; a reset of its queue pair still takes the packet
 * back.
 */
START_TEST(a_reset_finds_its_packets_after_lids_have_changed)
{
	up("progress=manual seed=3");
	pair_up(&p, &(struct qp_options){ .type = _i ? IB_QPT_UD : IB_QPT_RC, .qkey = QKEY }, 4096);
	ah = new_ah(&hca[0], NULL, &(struct ib_ah_attr){ .dlid = 2, .port_num = 1 });
	if (_i) {
		struct ib_sge sge = sge_of(p.am, 0, 64);
		struct ib_send_wr wr = datagram(1, &sge, IB_SEND_SIGNALED);

		post(p.a, &wr);
	} else {
		rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 64);
	}
	ck_assert(step().did); /* the requester has sent, and the far queue pair has not run */
	set_lids(1, 99, 0);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	pair_down(&p);
	free_ah(ah);
	down();
}
END_TEST

static _Atomic bool stop;

/* Alternates LID 16 with LMC 4 and LID 1 with LMC 0, and a GID that is in the table or not. */
static void *flip(void *arg)
{
	for (uint32_t i = 0; !stop; i++) {
		set_lids(0, i & 1 ? 16 : 1, i & 1 ? 4 : 0);
		set_guid(0, 1, i & 1 ? 0x1111111111111111 : 0);
	}
	return arg;
}

/* The path bits 5 and the LMC make the source LID: 16 | 5, or 1. */
START_TEST(packets_carry_the_old_or_the_new_address_and_no_mixture)
{
	struct ib_ah_attr path;
	pthread_t thread;
	struct ib_wc wc;

	start("", NULL);
	set_lids(0, 16, 4);
	path = path_to(&hca[1], 1);
	path.src_path_bits = 5;
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	ck_assert_int_eq(pthread_create(&thread, NULL, flip, NULL), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		receive(1, GRH);
		send(2, 0);
		wc = expect_wc(p.bcq, 1, IB_WC_SUCCESS);
		ck_assert(wc.slid == 1 || wc.slid == (16 | 5));
	}
	stop = true;
	pthread_join(thread, NULL);
	set_lids(0, 1, 0);
	finish();
}
END_TEST

START_TEST(a_gid_is_read_whole_while_it_changes)
{
	static const char there[16] = "\xfe\x80\0\0\0\0\0\0\x11\x11\x11\x11\x11\x11\x11\x11", empty[16];
	pthread_t thread;
	ib_gid gid;

	up("");
	set_guid(0, 1, 0x1111111111111111);
	ck_assert_int_eq(pthread_create(&thread, NULL, flip, NULL), 0);
	for (uint32_t i = 0; i < 300000; i++) {
		ck_assert_int_eq(ops->query_gid(hca[0].ca, 1, 1, &gid), AL_SUCCESS);
		if (memcmp(gid.raw, there, 16))
			ck_assert_mem_eq(gid.raw, empty, 16);
	}
	stop = true;
	pthread_join(thread, NULL);
	down();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: what a subnet manager sets");
	TCase *t = tcase_create("subnet");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, port_info_has_the_ports_values_at_their_places);
	tcase_add_test(t, a_set_is_told_by_the_events_of_what_it_changes);
	tcase_add_test(t, violation_counters_are_what_a_set_says);
	tcase_add_test(t, tables_keep_what_is_set_and_blocks_that_are_not_there_are_refused);
	tcase_add_test(t, no_table_of_a_port_shows_the_values_of_another);
	tcase_add_test(t, a_managed_port_waits_in_init_without_a_lid_and_climbs_step_by_step);
	tcase_add_test(t, a_port_that_is_set_down_comes_back_in_init);
	tcase_add_loop_test(t, a_link_stays_down_while_one_end_is_not_polling, 0, 2);
	tcase_add_test(t, an_armed_port_takes_data_and_becomes_active);
	tcase_add_test(t, qp0_passes_in_init);
	tcase_add_loop_test(t, a_connection_is_broken_when_the_lid_of_an_end_has_changed, 0, 2);
	tcase_add_loop_test(t, a_connection_is_broken_while_its_service_level_has_no_lane, 0, 3);
	tcase_add_test(t, all_lanes_operate_from_the_start);
	tcase_add_test(t, a_port_takes_no_packet_on_a_lane_that_does_not_operate);
	tcase_add_test(t, a_queue_pair_has_the_p_key_that_its_index_names_now);
	tcase_add_loop_test(t, a_reset_finds_its_packets_after_lids_have_changed, 0, 2);
	tcase_add_test(t, packets_carry_the_old_or_the_new_address_and_no_mixture);
	tcase_add_test(t, a_gid_is_read_whole_while_it_changes);
	suite_add_tcase(s, t);
	return run_suite(s);
}
