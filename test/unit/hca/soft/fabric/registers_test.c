/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registers of a switch: a Get returns the values that a subnet manager has set, in IBTA's forms, and lookups use
 * them.
 */
#include <string.h>

#include "../harness.h"
#include "hca/soft/fabric/registers.h"

static struct switch_registers r;
static uint8_t data[IB_SMP_DATA_BYTES];

static void make(uint8_t ports, bool enhanced)
{
	ck_assert_int_eq(switch_registers_create(&r, ports, enhanced), AL_SUCCESS);
}

static uint16_t get(uint16_t attr, uint32_t modifier)
{
	memset(data, 0xee, sizeof(data));
	return switch_attr(&r, attr, modifier, false, data);
}

static uint16_t set(uint16_t attr, uint32_t modifier, const void *bytes, size_t length)
{
	memset(data, 0, sizeof(data));
	memcpy(data, bytes, length);
	return switch_attr(&r, attr, modifier, true, data);
}

static void expect(const void *bytes, size_t length)
{
	static const uint8_t zero[IB_SMP_DATA_BYTES];

	ck_assert_mem_eq(data, bytes, length);
	ck_assert_mem_eq(data + length, zero, sizeof(data) - length);
}

/* ------------------------------------------------------------------ SwitchInfo */

/* LinearFDBCap 49152, MulticastFDBCap 1024, three default ports 255, LifeTimeValue 18 in the upper five bits,
 * LIDsPerPort 1, PartitionEnforcementCap 32, EnhancedPort0 (bit 4 from the left). */
static const uint8_t fresh[20] = { 0xc0, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0xff, 0xff,
				   0xff, 0x90, 0x00, 0x01, 0x00, 0x20, 0x08, 0x00, 0x00, 0x00 };

/* _i: port 0 is enhanced */
START_TEST(a_fresh_switch_info_says_what_the_switch_can_do)
{
	uint8_t wanted[20];

	memcpy(wanted, fresh, sizeof(wanted));
	if (!_i)
		wanted[16] = 0;
	make(36, _i);
	ck_assert_uint_eq(get(IB_SMP_SWITCH_INFO, 0), IB_MAD_STATUS_OK);
	expect(wanted, sizeof(wanted));
	switch_registers_destroy(&r);
}
END_TEST

/* A Set changes LinearFDBTop, the default ports, LifeTimeValue and MulticastFDBTop, and no other member. */
START_TEST(a_set_of_switch_info_changes_what_may_change)
{
	static const uint8_t wish[20] = { 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x01, 0x02, 0x03, 0x04,
					  0x05, 0x50, 0x77, 0x77, 0x88, 0x88, 0xf7, 0x00, 0xc0, 0x10 };
	static const uint8_t wanted[20] = { 0xc0, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01, 0x02, 0x03, 0x04,
					    0x05, 0x50, 0x00, 0x01, 0x00, 0x20, 0x08, 0x00, 0xc0, 0x10 };

	make(36, true);
	ck_assert_uint_eq(set(IB_SMP_SWITCH_INFO, 0, wish, sizeof(wish)), IB_MAD_STATUS_OK);
	expect(wanted, sizeof(wanted));
	ck_assert_uint_eq(get(IB_SMP_SWITCH_INFO, 0), IB_MAD_STATUS_OK);
	expect(wanted, sizeof(wanted));
	switch_registers_destroy(&r);
}
END_TEST

/* PortStateChange: bit 5 of byte 11 */
START_TEST(port_state_change_stays_until_a_set_with_1_clears_the_bit)
{
	static const uint8_t leave[20] = { [11] = 0x90 }, clear[20] = { [11] = 0x94 };

	make(4, true);
	switch_state_changed(&r);
	get(IB_SMP_SWITCH_INFO, 0);
	ck_assert_uint_eq(data[11], 0x94);
	set(IB_SMP_SWITCH_INFO, 0, leave, sizeof(leave));
	ck_assert_uint_eq(data[11], 0x94);
	set(IB_SMP_SWITCH_INFO, 0, clear, sizeof(clear));
	ck_assert_uint_eq(data[11], 0x90);
	switch_registers_destroy(&r);
}
END_TEST

START_TEST(a_linear_top_beyond_the_table_is_refused)
{
	static const uint8_t top[20] = { [6] = 0xc0, [7] = 0x00 }; /* 49152 */

	make(4, true);
	ck_assert_uint_eq(set(IB_SMP_SWITCH_INFO, 0, top, sizeof(top)), IB_MAD_STATUS_BAD_FIELD);
	get(IB_SMP_SWITCH_INFO, 0);
	expect(fresh, sizeof(fresh));
	switch_registers_destroy(&r);
}
END_TEST

/* -------------------------------------------------------------- forwarding tables */

static void set_tops(uint16_t linear, uint16_t mcast)
{
	uint8_t info[20] = { [6] = (uint8_t)(linear >> 8),
			     [7] = (uint8_t)linear,
			     [18] = (uint8_t)(mcast >> 8),
			     [19] = (uint8_t)mcast };

	ck_assert_uint_eq(set(IB_SMP_SWITCH_INFO, 0, info, sizeof(info)), IB_MAD_STATUS_OK);
}

START_TEST(a_fresh_switch_forwards_nothing)
{
	uint8_t none[64];
	uint32_t lid;

	memset(none, 0xff, sizeof(none));
	make(4, true);
	for (lid = 0; lid <= 0xffff; lid++)
		ck_assert_uint_eq(switch_lookup(&r, lid), 255);
	set_tops(0xbfff, 0);
	for (lid = 0; lid <= 0xbfff; lid++)
		ck_assert_uint_eq(switch_lookup(&r, lid), 255);
	ck_assert_uint_eq(get(IB_SMP_LFT, 767), IB_MAD_STATUS_OK);
	expect(none, sizeof(none));
	for (lid = 0xc000; lid <= 0xfffe; lid++)
		ck_assert_uint_eq(switch_lookup_group(&r, lid, 0), 0);
	switch_registers_destroy(&r);
}
END_TEST

/* A block has 64 LIDs, from 64 * the modifier on. */
START_TEST(a_linear_block_leads_its_64_lids)
{
	uint8_t block[64];
	uint32_t i;

	for (i = 0; i < 64; i++)
		block[i] = (uint8_t)(i % 36 + 1);
	make(36, true);
	set_tops(0xbfff, 0);
	ck_assert_uint_eq(set(IB_SMP_LFT, 2, block, sizeof(block)), IB_MAD_STATUS_OK);
	expect(block, sizeof(block));
	ck_assert_uint_eq(set(IB_SMP_LFT, 767, block, sizeof(block)), IB_MAD_STATUS_OK);
	for (i = 0; i < 64; i++) {
		ck_assert_uint_eq(switch_lookup(&r, 128 + i), block[i]);
		ck_assert_uint_eq(switch_lookup(&r, 49088 + i), block[i]);
	}
	ck_assert_uint_eq(switch_lookup(&r, 127), 255);
	ck_assert_uint_eq(switch_lookup(&r, 192), 255);
	ck_assert_uint_eq(get(IB_SMP_LFT, 2), IB_MAD_STATUS_OK);
	expect(block, sizeof(block));
	ck_assert_uint_eq(set(IB_SMP_LFT, 768, block, sizeof(block)), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(get(IB_SMP_LFT, UINT32_MAX), IB_MAD_STATUS_BAD_FIELD);
	switch_registers_destroy(&r);
}
END_TEST

START_TEST(lids_above_the_linear_top_are_dropped)
{
	uint8_t block[64];

	memset(block, 3, sizeof(block));
	make(4, true);
	ck_assert_uint_eq(set(IB_SMP_LFT, 0, block, sizeof(block)), IB_MAD_STATUS_OK);
	set_tops(9, 0);
	ck_assert_uint_eq(switch_lookup(&r, 9), 3);
	ck_assert_uint_eq(switch_lookup(&r, 10), 255);
	switch_registers_destroy(&r);
}
END_TEST

/* The block is in bits 8:0 of the modifier, 32 LIDs each, and the group of 16 ports in bits 31:28. */
START_TEST(a_multicast_block_names_16_ports_for_32_lids)
{
	uint8_t block[64] = { 0 };

	block[2 * 5] = 0x80; /* LID 5 of the block: ports 15 and 1 of the group */
	block[2 * 5 + 1] = 0x02;
	make(36, true);
	ck_assert_uint_eq(set(IB_SMP_MFT, 0x20000003, block, sizeof(block)), IB_MAD_STATUS_OK);
	expect(block, sizeof(block));
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc065, 2), 0x8002);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc065, 1), 0);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc064, 2), 0);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc066, 2), 0);
	ck_assert_uint_eq(get(IB_SMP_MFT, 0x20000003), IB_MAD_STATUS_OK);
	expect(block, sizeof(block));
	ck_assert_uint_eq(get(IB_SMP_MFT, 0x10000003), IB_MAD_STATUS_OK);
	expect("", 0);
	ck_assert_uint_eq(get(IB_SMP_MFT, 32), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(get(IB_SMP_MFT, 0x30000000), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(get(IB_SMP_MFT, 31), IB_MAD_STATUS_OK);
	switch_registers_destroy(&r);
}
END_TEST

/* 0: all entries are valid; 0xbfff: none is. */
START_TEST(multicast_lids_above_the_top_lead_nowhere)
{
	uint8_t block[64] = { 0x00, 0x04, 0x00, 0x04 };

	make(4, true);
	ck_assert_uint_eq(set(IB_SMP_MFT, 0, block, sizeof(block)), IB_MAD_STATUS_OK);
	set_tops(0, 0);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc001, 0), 4);
	set_tops(0, 0xc000);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc000, 0), 4);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc001, 0), 0);
	set_tops(0, 0xbfff);
	ck_assert_uint_eq(switch_lookup_group(&r, 0xc000, 0), 0);
	switch_registers_destroy(&r);
}
END_TEST

/* ------------------------------------------------------------- other attributes */

/* The modifier has the input port in bits 15:8 and the output port in bits 7:0. */
START_TEST(each_pair_of_ports_has_its_mapping_of_service_levels)
{
	static const uint8_t map[8] = { 0x01, 0x23, 0x45, 0x67, 0x76, 0x54, 0x32, 0x10 };

	make(4, true);
	ck_assert_uint_eq(set(IB_SMP_SL_TO_VL, 0x0104, map, sizeof(map)), IB_MAD_STATUS_OK);
	ck_assert_uint_eq(get(IB_SMP_SL_TO_VL, 0x0104), IB_MAD_STATUS_OK);
	expect(map, sizeof(map));
	ck_assert_uint_eq(get(IB_SMP_SL_TO_VL, 0x0401), IB_MAD_STATUS_OK);
	expect("", 0);
	ck_assert_uint_eq(set(IB_SMP_SL_TO_VL, 0x0404, map, sizeof(map)), IB_MAD_STATUS_OK);
	ck_assert_uint_eq(get(IB_SMP_SL_TO_VL, 0x0500), IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(get(IB_SMP_SL_TO_VL, 0x0005), IB_MAD_STATUS_BAD_FIELD);
	switch_registers_destroy(&r);
}
END_TEST

START_TEST(a_reset_makes_all_registers_fresh)
{
	uint8_t block[64];

	memset(block, 1, sizeof(block));
	make(4, true);
	set_tops(100, 0xc100);
	set(IB_SMP_LFT, 0, block, sizeof(block));
	set(IB_SMP_MFT, 0, block, sizeof(block));
	set(IB_SMP_SL_TO_VL, 0x0101, block, 8);
	switch_state_changed(&r);
	switch_registers_reset(&r);
	get(IB_SMP_SWITCH_INFO, 0);
	expect(fresh, sizeof(fresh));
	memset(block, 0xff, sizeof(block));
	get(IB_SMP_LFT, 0);
	expect(block, sizeof(block));
	get(IB_SMP_MFT, 0);
	expect("", 0);
	get(IB_SMP_SL_TO_VL, 0x0101);
	expect("", 0);
	switch_registers_destroy(&r);
}
END_TEST

START_TEST(other_attributes_are_none_of_the_switchs)
{
	make(4, true);
	ck_assert_uint_eq(get(IB_SMP_PORT_INFO, 0), IB_MAD_STATUS_BAD_METHOD_ATTR);
	ck_assert_uint_eq(get(0x1a, 0), IB_MAD_STATUS_BAD_METHOD_ATTR); /* RandomForwardingTable */
	switch_registers_destroy(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: registers of a switch");
	TCase *t = tcase_create("registers");

	tcase_add_loop_test(t, a_fresh_switch_info_says_what_the_switch_can_do, 0, 2);
	tcase_add_test(t, a_set_of_switch_info_changes_what_may_change);
	tcase_add_test(t, port_state_change_stays_until_a_set_with_1_clears_the_bit);
	tcase_add_test(t, a_linear_top_beyond_the_table_is_refused);
	tcase_add_test(t, a_fresh_switch_forwards_nothing);
	tcase_add_test(t, a_linear_block_leads_its_64_lids);
	tcase_add_test(t, lids_above_the_linear_top_are_dropped);
	tcase_add_test(t, a_multicast_block_names_16_ports_for_32_lids);
	tcase_add_test(t, multicast_lids_above_the_top_lead_nowhere);
	tcase_add_test(t, each_pair_of_ports_has_its_mapping_of_service_levels);
	tcase_add_test(t, a_reset_makes_all_registers_fresh);
	tcase_add_test(t, other_attributes_are_none_of_the_switchs);
	suite_add_tcase(s, t);
	return run_suite(s);
}
