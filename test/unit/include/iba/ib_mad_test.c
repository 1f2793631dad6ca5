/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The layouts of ib_mad.h, compared with known bytes: datagrams that two stock kernels exchanged, and attributes
 * written from IBTA's tables. The headers themselves assert sizes and offsets.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_mad.h>

/* Captured between two stock kernels: the REQ of a client, ... */
static const uint8_t req_mad[IB_MAD_BYTES] = {
	0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x9e, 0x53, 0x42, 0x0b,
	0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x42, 0x53, 0x9e, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x1d, 0x2f, 0x50, 0x54, 0x00, 0xff, 0xfe, 0x77, 0x00, 0x0b,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2e, 0x80, 0x00, 0x00, 0x00, 0x80,
	0x00, 0x00, 0x00, 0xa0, 0x8b, 0x62, 0x23, 0xa7, 0xff, 0xff, 0x37, 0xf0, 0xff, 0xff, 0xff, 0xff,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0a, 0x4d, 0x00, 0x0b,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x0a, 0x4d, 0x00, 0x0c,
	0x1c, 0xa3, 0x70, 0x00, 0x00, 0x40, 0x00, 0x98, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x91, 0xf8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x0a, 0x4d, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x0a, 0x4d, 0x00, 0x0c,
};

/* ... the REP that answered it (the RC packets that followed went to QP 0x2e with PSN 0x8b6223 and 0x7fd092), ... */
static const uint8_t rep_mad[IB_MAD_BYTES] = {
	0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x9e, 0x53, 0x42, 0x0b,
	0x00, 0x13, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xbd, 0x6c, 0xf6, 0x02, 0x0b, 0x42, 0x53, 0x9e,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0xd0, 0x92, 0x00,
	0x80, 0x80, 0x78, 0xe0, 0x50, 0x54, 0x00, 0xff, 0xfe, 0x77, 0x00, 0x0c,
};

/* ... and the answer to another client's SIDR_REQ (Q_Key 0x01234567 is librdmacm's own). */
static const uint8_t sidr_rep_mad[IB_MAD_BYTES] = {
	0x01, 0x07, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x9e, 0x53, 0x42, 0x02,
	0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x42, 0x53, 0x9e, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x26, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x11, 0x1c, 0x06, 0x01, 0x23, 0x45, 0x67,
};

START_TEST(big_endian_fields_convert_both_ways)
{
	static const uint8_t bytes[8] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	ib_be16 v16;
	ib_be24 v24;
	ib_be32 v32;
	ib_be64 v64;

	memcpy(&v16, bytes, sizeof(v16));
	memcpy(&v24, bytes, sizeof(v24));
	memcpy(&v32, bytes, sizeof(v32));
	memcpy(&v64, bytes, sizeof(v64));
	ck_assert_uint_eq(ib_be16_get(v16), 0x0123);
	ck_assert_uint_eq(ib_be24_get(v24), 0x012345);
	ck_assert_uint_eq(ib_be32_get(v32), 0x01234567);
	ck_assert_uint_eq(ib_be64_get(v64), UINT64_C(0x0123456789abcdef));

	v16 = ib_be16_of(0x0123);
	v24 = ib_be24_of(0x012345);
	v32 = ib_be32_of(0x01234567);
	v64 = ib_be64_of(UINT64_C(0x0123456789abcdef));
	ck_assert_mem_eq(&v16, bytes, sizeof(v16));
	ck_assert_mem_eq(&v24, bytes, sizeof(v24));
	ck_assert_mem_eq(&v32, bytes, sizeof(v32));
	ck_assert_mem_eq(&v64, bytes, sizeof(v64));
}
END_TEST

/* A row of every list of bit fields, for tests of all rows. */
struct bits_row {
	const char *layout;
	const char *field;
	unsigned int offset;
	unsigned int width;
	size_t size;
	uint32_t (*get)(const void *p);
	void (*set)(void *p, uint32_t value);
};

#define ALL_BITS(X) \
	IB_CLASS_PORT_INFO_BITS(X) \
	IB_NOTICE_BITS(X) \
	IB_INFORM_INFO_BITS(X) \
	IB_RMPP_HDR_BITS(X) \
	IB_SWITCH_INFO_BITS(X) \
	IB_PORT_INFO_BITS(X) \
	IB_SM_INFO_BITS(X) \
	IB_LED_INFO_BITS(X) \
	IB_PERF_PORT_COUNTERS_BITS(X) \
	IB_PERF_SAMPLES_CONTROL_BITS(X) \
	IB_PERF_SAMPLES_RESULT_BITS(X) \
	IB_PATH_RECORD_BITS(X) \
	IB_MCMEMBER_RECORD_BITS(X) \
	IB_CM_PATH_BITS(X) \
	IB_CM_REQ_BITS(X) \
	IB_CM_MRA_BITS(X) \
	IB_CM_REJ_BITS(X) \
	IB_CM_REP_BITS(X) \
	IB_CM_LAP_BITS(X)

#define UNTYPED(layout, field, offset, width, text) \
	static uint32_t get_##layout##_##field(const void *p) { return layout##_##field(p); } \
	static void set_##layout##_##field(void *p, uint32_t value) { layout##_set_##field(p, value); }
ALL_BITS(UNTYPED)

#define ROW(layout, field, offset, width, text) \
	{ #layout, #field, offset, width, sizeof(struct layout), get_##layout##_##field, set_##layout##_##field },
static const struct bits_row rows[] = { ALL_BITS(ROW) };
#define NUM_ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

/* Returns a bit, counted from the most significant bit as in IBTA. */
static bool bit(const uint8_t *bytes, unsigned int n)
{
	return bytes[n / 8] >> (7 - n % 8) & 1;
}

START_TEST(a_bit_field_is_its_own_bits_and_no_others)
{
	const struct bits_row *row = &rows[_i];
	uint32_t all = (uint32_t)((UINT64_C(1) << row->width) - 1);
	uint32_t pattern = UINT32_C(0x9d2c5681) & all;
	uint8_t bytes[IB_MAD_BYTES] = { 0 };
	unsigned int n;

	ck_assert_uint_le(row->size, sizeof(bytes));
	row->set(bytes, UINT32_MAX);
	for (n = 0; n < 8 * row->size; n++)
		ck_assert_msg(bit(bytes, n) == (n - row->offset < row->width), "%s.%s: bit %u", row->layout, row->field, n);
	ck_assert_uint_eq(row->get(bytes), all);

	memset(bytes, 0xff, sizeof(bytes));
	row->set(bytes, 0);
	for (n = 0; n < 8 * sizeof(bytes); n++)
		ck_assert_msg(bit(bytes, n) != (n - row->offset < row->width), "%s.%s: bit %u", row->layout, row->field, n);

	row->set(bytes, pattern);
	ck_assert_uint_eq(row->get(bytes), pattern);
}
END_TEST

START_TEST(bit_fields_of_a_layout_share_no_bit)
{
	int i, j;

	for (i = 0; i < NUM_ROWS; i++)
		for (j = i + 1; j < NUM_ROWS && !strcmp(rows[j].layout, rows[i].layout); j++)
			ck_assert_msg(rows[i].offset + rows[i].width <= rows[j].offset, "%s: %s and %s", rows[i].layout,
				      rows[i].field, rows[j].field);
}
END_TEST

START_TEST(a_captured_req_reads_as_what_the_kernel_meant)
{
	const struct ib_mad *mad = (const void *)req_mad;
	const struct ib_cm_req *req = (const void *)mad->data;
	static const uint8_t source[16] = { [10] = 0xff, 0xff, 10, 77, 0, 11 };
	static const uint8_t target[16] = { [10] = 0xff, 0xff, 10, 77, 0, 12 };

	ck_assert_uint_eq(mad->hdr.base_version, IB_MAD_BASE_VERSION);
	ck_assert_uint_eq(mad->hdr.mgmt_class, IB_CLASS_CM);
	ck_assert_uint_eq(mad->hdr.class_version, IB_CM_CLASS_VERSION);
	ck_assert_uint_eq(mad->hdr.method, IB_METHOD_SEND);
	ck_assert_uint_eq(ib_be64_get(mad->hdr.tid), UINT64_C(0x29e53420b));
	ck_assert_uint_eq(ib_be16_get(mad->hdr.attr_id), IB_CM_REQ);

	ck_assert_uint_eq(ib_be32_get(req->local_comm_id), 0x0b42539e);
	ck_assert_uint_eq(ib_be64_get(req->service_id), UINT64_C(0x01061d2f)); /* TCP port space, port 7471 */
	ck_assert_uint_eq(ib_be64_get(req->local_ca_guid), UINT64_C(0x505400fffe77000b));
	ck_assert_uint_eq(ib_be24_get(req->local_qpn), 0x2e);
	ck_assert_uint_eq(req->responder_resources, 128);
	ck_assert_uint_eq(req->initiator_depth, 128);
	ck_assert_uint_eq(ib_cm_req_remote_resp_timeout(req), 20);
	ck_assert_uint_eq(ib_cm_req_transport(req), 0);
	ck_assert_uint_eq(ib_cm_req_flow_control(req), 0);
	ck_assert_uint_eq(ib_be24_get(req->starting_psn), 0x8b6223);
	ck_assert_uint_eq(ib_cm_req_local_resp_timeout(req), 20);
	ck_assert_uint_eq(ib_cm_req_retry_count(req), 7);
	ck_assert_uint_eq(ib_be16_get(req->pkey), IB_PKEY_DEFAULT);
	ck_assert_uint_eq(ib_cm_req_path_mtu(req), IB_MTU_1024);
	ck_assert_uint_eq(ib_cm_req_rnr_retry(req), 7);
	ck_assert_uint_eq(ib_cm_req_max_cm_retries(req), 15);
	ck_assert_uint_eq(ib_cm_req_srq(req), 0);

	ck_assert_uint_eq(ib_be16_get(req->primary.local_lid), IB_LID_PERMISSIVE);
	ck_assert_mem_eq(req->primary.local_gid.raw, source, 16);
	ck_assert_mem_eq(req->primary.remote_gid.raw, target, 16);
	ck_assert_uint_eq(ib_cm_path_flow_label(&req->primary), 0x1ca37);
	ck_assert_uint_eq(req->primary.hop_limit, 64);
	ck_assert_uint_eq(ib_cm_path_subnet_local(&req->primary), 0);
	ck_assert_uint_eq(ib_cm_path_ack_timeout(&req->primary), 19);
	ck_assert_uint_eq(ib_be16_get(req->alternate.local_lid), 0);
	/* Private data begins with librdmacm's own header: version 0, IPv4, source port, addresses. */
	ck_assert_mem_eq(req->private_data, "\x00\x40\x91\xf8", 4);
	ck_assert_mem_eq(req->private_data + 16, &source[12], 4);
}
END_TEST

START_TEST(a_captured_rep_reads_as_what_the_kernel_meant)
{
	const struct ib_mad *mad = (const void *)rep_mad;
	const struct ib_cm_rep *rep = (const void *)mad->data;

	ck_assert_uint_eq(ib_be16_get(mad->hdr.attr_id), IB_CM_REP);
	ck_assert_uint_eq(ib_be32_get(rep->local_comm_id), 0xbd6cf602);
	ck_assert_uint_eq(ib_be32_get(rep->remote_comm_id), 0x0b42539e);
	ck_assert_uint_eq(ib_be24_get(rep->local_qpn), 0x2e);
	ck_assert_uint_eq(ib_be24_get(rep->starting_psn), 0x7fd092);
	ck_assert_uint_eq(rep->responder_resources, 128);
	ck_assert_uint_eq(rep->initiator_depth, 128);
	ck_assert_uint_eq(ib_cm_rep_target_ack_delay(rep), 15);
	ck_assert_uint_eq(ib_cm_rep_failover_accepted(rep), 0);
	ck_assert_uint_eq(ib_cm_rep_rnr_retry(rep), 7);
	ck_assert_uint_eq(ib_cm_rep_srq(rep), 0);
	ck_assert_uint_eq(ib_be64_get(rep->local_ca_guid), UINT64_C(0x505400fffe77000c));
}
END_TEST

START_TEST(a_captured_sidr_rep_reads_as_what_the_kernel_meant)
{
	const struct ib_mad *mad = (const void *)sidr_rep_mad;
	const struct ib_cm_sidr_rep *rep = (const void *)mad->data;

	ck_assert_uint_eq(ib_be16_get(mad->hdr.attr_id), IB_CM_SIDR_REP);
	ck_assert_uint_eq(ib_be32_get(rep->request_id), 0x0242539e);
	ck_assert_uint_eq(rep->status, IB_CM_SIDR_VALID);
	ck_assert_uint_eq(ib_be24_get(rep->qpn), 0x26);
	ck_assert_uint_eq(ib_be64_get(rep->service_id), UINT64_C(0x01111c06));
	ck_assert_uint_eq(ib_be32_get(rep->qkey), 0x01234567);
}
END_TEST

/* PortInfo byte by byte, as IBTA 14.2.5.6 lays it out: an Active 4X QDR port with LID 0x12 and LMC 2. */
START_TEST(port_info_is_laid_out_as_in_its_table)
{
	static const uint8_t bytes[64] = {
		0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		0x00, 0x12, 0x00, 0x07, 0x02, 0x51, 0x48, 0x6a, 0xb1, 0xb2, 0x00, 0x0f,
		0x01, 0x03, 0x03, 0x02, 0x74, 0x52, 0x42, 0x47, 0x5a, 0x48, 0x0c, 0x08,
		0x08, 0x95, 0xe9, 0x45, 0x00, 0x01, 0x00, 0x02, 0x00, 0x03, 0x20, 0xb2,
		0x10, 0x88, 0x00, 0x09, 0x00, 0x12, 0x34, 0x56, 0x00, 0x02, 0x27, 0x1f,
	};
	const struct ib_port_info *pi = (const void *)bytes;

	ck_assert_uint_eq(ib_be64_get(pi->mkey), UINT64_C(0xa1a2a3a4a5a6a7a8));
	ck_assert_uint_eq(ib_be64_get(pi->gid_prefix), UINT64_C(0xfe80000000000000));
	ck_assert_uint_eq(ib_be16_get(pi->lid), 0x12);
	ck_assert_uint_eq(ib_be16_get(pi->master_sm_lid), 7);
	ck_assert_uint_eq(ib_be32_get(pi->cap_mask), 0x0251486a);
	ck_assert_uint_eq(ib_be16_get(pi->mkey_lease_period), 15);
	ck_assert_uint_eq(pi->local_port_num, 1);
	ck_assert_uint_eq(pi->link_width_active, IB_WIDTH_4X);
	ck_assert_uint_eq(ib_port_info_link_speed_supported(pi), 7);
	ck_assert_uint_eq(ib_port_info_port_state(pi), IB_PORT_ACTIVE);
	ck_assert_uint_eq(ib_port_info_phys_state(pi), IB_PHYS_LINK_UP);
	ck_assert_uint_eq(ib_port_info_link_down_default(pi), 2);
	ck_assert_uint_eq(ib_port_info_mkey_protect(pi), 1);
	ck_assert_uint_eq(ib_port_info_lmc(pi), 2);
	ck_assert_uint_eq(ib_port_info_link_speed_active(pi), IB_SPEED_QDR);
	ck_assert_uint_eq(ib_port_info_link_speed_enabled(pi), 7);
	ck_assert_uint_eq(ib_port_info_neighbor_mtu(pi), IB_MTU_4096);
	ck_assert_uint_eq(ib_port_info_master_sm_sl(pi), 10);
	ck_assert_uint_eq(ib_port_info_vl_cap(pi), 4);
	ck_assert_uint_eq(ib_port_info_init_type(pi), 8);
	ck_assert_uint_eq(pi->vl_high_limit, 12);
	ck_assert_uint_eq(ib_port_info_init_type_reply(pi), 9);
	ck_assert_uint_eq(ib_port_info_mtu_cap(pi), IB_MTU_4096);
	ck_assert_uint_eq(ib_port_info_vl_stall_count(pi), 7);
	ck_assert_uint_eq(ib_port_info_hoq_life(pi), 9);
	ck_assert_uint_eq(ib_port_info_operational_vls(pi), 4);
	ck_assert_uint_eq(ib_port_info_enforce_inbound(pi), 0);
	ck_assert_uint_eq(ib_port_info_enforce_outbound(pi), 1);
	ck_assert_uint_eq(ib_port_info_filter_raw_inbound(pi), 0);
	ck_assert_uint_eq(ib_port_info_filter_raw_outbound(pi), 1);
	ck_assert_uint_eq(ib_be16_get(pi->mkey_violations), 1);
	ck_assert_uint_eq(ib_be16_get(pi->pkey_violations), 2);
	ck_assert_uint_eq(ib_be16_get(pi->qkey_violations), 3);
	ck_assert_uint_eq(pi->guid_cap, 32);
	ck_assert_uint_eq(ib_port_info_client_reregister(pi), 1);
	ck_assert_uint_eq(ib_port_info_mcast_pkey_trap_suppress(pi), 1);
	ck_assert_uint_eq(ib_port_info_subnet_timeout(pi), 18);
	ck_assert_uint_eq(ib_port_info_resp_time_value(pi), 16);
	ck_assert_uint_eq(ib_port_info_local_phy_errors(pi), 8);
	ck_assert_uint_eq(ib_port_info_overrun_errors(pi), 8);
	ck_assert_uint_eq(ib_be16_get(pi->max_credit_hint), 9);
	ck_assert_uint_eq(ib_port_info_link_round_trip(pi), 0x123456);
	ck_assert_uint_eq(ib_be16_get(pi->cap_mask2), IB_PORT_CAP2_PORT_INFO_EXT);
	ck_assert_uint_eq(ib_port_info_link_speed_ext_active(pi), 2);
	ck_assert_uint_eq(ib_port_info_link_speed_ext_supported(pi), 7);
	ck_assert_uint_eq(ib_port_info_link_speed_ext_enabled(pi), 31);
}
END_TEST

START_TEST(node_info_and_trap_144_are_laid_out_as_in_their_tables)
{
	static const uint8_t node[40] = {
		1, 1, 2, 36, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0, 128, 0xbd, 0x36, 0, 0, 0, 0xa0, 17, 0, 0x02, 0xc9,
	};
	static const uint8_t trap[80] = { 0x84, 0, 0, 1, 0, 144, 0, 9, 0x80, 3, 0, 0, 0, 9, 0, 1, 2, 0x51, 0x48, 0x6a, 0, 1, 0, 2 };
	const struct ib_node_info *ni = (const void *)node;
	const struct ib_notice *notice = (const void *)trap;
	const struct ib_trap_local_change *change = &notice->details.local_change;

	ck_assert_uint_eq(ni->node_type, IB_NODE_SWITCH);
	ck_assert_uint_eq(ni->num_ports, 36);
	ck_assert_uint_eq(ib_be64_get(ni->sys_image_guid), UINT64_C(0x0102030405060708));
	ck_assert_uint_eq(ib_be64_get(ni->node_guid), UINT64_C(0x1112131415161718));
	ck_assert_uint_eq(ib_be64_get(ni->port_guid), UINT64_C(0x2122232425262728));
	ck_assert_uint_eq(ib_be16_get(ni->partition_cap), 128);
	ck_assert_uint_eq(ib_be16_get(ni->device_id), 0xbd36);
	ck_assert_uint_eq(ib_be32_get(ni->revision), 0xa0);
	ck_assert_uint_eq(ni->local_port_num, 17);
	ck_assert_uint_eq(ib_be24_get(ni->vendor_id), 0x0002c9);

	ck_assert_uint_eq(ib_notice_is_generic(notice), 1);
	ck_assert_uint_eq(ib_notice_type(notice), IB_NOTICE_INFO);
	ck_assert_uint_eq(ib_be24_get(notice->producer), IB_NODE_CA);
	ck_assert_uint_eq(ib_be16_get(notice->trap_num), IB_TRAP_LOCAL_CHANGE);
	ck_assert_uint_eq(ib_be16_get(notice->issuer_lid), 9);
	ck_assert_uint_eq(ib_notice_toggle(notice), 1);
	ck_assert_uint_eq(ib_notice_count(notice), 3);
	ck_assert_uint_eq(ib_be16_get(change->lid), 9);
	ck_assert_uint_eq(change->other_changes, 1);
	ck_assert_uint_eq(ib_be32_get(change->cap_mask), 0x0251486a);
	ck_assert_uint_eq(ib_be16_get(change->changes), IB_CHANGE_NODE_DESC);
	ck_assert_uint_eq(ib_be16_get(change->cap_mask2), 2);
}
END_TEST

START_TEST(sl_to_vl_keeps_the_even_sl_in_the_upper_half)
{
	struct ib_sl_to_vl table = { { 0 } };
	unsigned int sl;

	for (sl = 0; sl < 16; sl++)
		ib_sl_to_vl_set(&table, sl, (uint8_t)(15 - sl));
	ck_assert_mem_eq(table.vl, "\xfe\xdc\xba\x98\x76\x54\x32\x10", 8);
	for (sl = 0; sl < 16; sl++)
		ck_assert_uint_eq(ib_sl_to_vl_get(&table, sl), 15 - sl);
}
END_TEST

START_TEST(a_path_record_is_laid_out_as_in_its_table)
{
	static const uint8_t tail[] = { 0x00, 0x0a, 0x00, 0x0b, 0x80, 0x12, 0x34, 0x3f, 0x21, 0x81, 0x80, 0x01,
					0xab, 0xc5, 0x85, 0x90, 0x92, 0x00 };
	struct ib_path_record path;

	memset(&path, 0, sizeof(path));
	memcpy((uint8_t *)&path + 40, tail, sizeof(tail));
	ck_assert_uint_eq(ib_be16_get(path.dlid), 10);
	ck_assert_uint_eq(ib_be16_get(path.slid), 11);
	ck_assert_uint_eq(ib_path_record_raw_traffic(&path), 1);
	ck_assert_uint_eq(ib_path_record_flow_label(&path), 0x01234);
	ck_assert_uint_eq(ib_path_record_hop_limit(&path), 0x3f);
	ck_assert_uint_eq(path.tclass, 0x21);
	ck_assert_uint_eq(ib_path_record_reversible(&path), 1);
	ck_assert_uint_eq(ib_path_record_num_path(&path), 1);
	ck_assert_uint_eq(ib_be16_get(path.pkey), 0x8001);
	ck_assert_uint_eq(ib_path_record_qos_class(&path), 0xabc);
	ck_assert_uint_eq(ib_path_record_sl(&path), 5);
	ck_assert_uint_eq(ib_path_record_mtu_selector(&path), IB_SA_EXACTLY);
	ck_assert_uint_eq(ib_path_record_mtu(&path), IB_MTU_4096);
	ck_assert_uint_eq(ib_path_record_rate(&path), IB_RATE_100_GBPS);
	ck_assert_uint_eq(ib_path_record_life(&path), 18);
	ck_assert_uint_eq(IB_SA_ATTR_OFFSET(struct ib_path_record), 8);
	ck_assert_uint_eq(IB_SA_ATTR_OFFSET(struct ib_mcmember_record), 7);
	ck_assert_uint_eq(IB_SA_ATTR_OFFSET(struct ib_node_record), 14);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ib_mad");
	TCase *tc = tcase_create("layouts");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, big_endian_fields_convert_both_ways);
	tcase_add_loop_test(tc, a_bit_field_is_its_own_bits_and_no_others, 0, NUM_ROWS);
	tcase_add_test(tc, bit_fields_of_a_layout_share_no_bit);
	tcase_add_test(tc, a_captured_req_reads_as_what_the_kernel_meant);
	tcase_add_test(tc, a_captured_rep_reads_as_what_the_kernel_meant);
	tcase_add_test(tc, a_captured_sidr_rep_reads_as_what_the_kernel_meant);
	tcase_add_test(tc, port_info_is_laid_out_as_in_its_table);
	tcase_add_test(tc, node_info_and_trap_144_are_laid_out_as_in_their_tables);
	tcase_add_test(tc, sl_to_vl_keeps_the_even_sl_in_the_upper_half);
	tcase_add_test(tc, a_path_record_is_laid_out_as_in_its_table);
	suite_add_tcase(suite, tc);

	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
