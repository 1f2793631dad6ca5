/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet management agent without PortInfo's fields and without traps: complete datagrams,
 * attribute modifiers and capacities, refusals, and the M_Key. Datagrams are written byte by byte
 * from IBTA's tables in 13.4.3, 14.2.1 and 14.2.5.
 */
#include <stdlib.h>

#include "test/unit/mad/hardware.h"

#define S UINT64_C(1000000000)

/* ---------------------------------------------------------------- whole datagrams */

/* base, class, version, method; status; pointer, count; TID; attribute; 0; modifier; M_Key; DrSLID,
 * DrDLID; 28 times 0 */
#define HEAD(cls, method, status, hops, attr, mod)                                         \
	"01 " cls " 01 " method " " status " " hops " 1122334455667788 " attr " 0000 " mod \
	" 0000000000000000 ffff ffff 00000000000000000000000000000000000000000000000000000000"

#define NODE_INFO(port_guid, port)                                                             \
	"01 01 01 03 0002c90300000a0f 0002c90300000a00 " port_guid " 0028 1003 000000b0 " port \
	" 0002c9"

START_TEST(get_node_info_is_answered_byte_by_byte)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, want, got;

	write_datagram(&smp, HEAD("01", "01", "0000", "0000", "0011", "00000000"), 64, "");
	write_datagram(&want, HEAD("01", "81", "0000", "0000", "0011", "00000000"), 64,
		       NODE_INFO("0002c90300000a02", "02"));
	ck_assert_int_eq(ask(&bed, 2, &smp, &got), SMA_REPLY);
	ck_assert_mem_eq(&got, &want, 256);
}
END_TEST

START_TEST(a_directed_route_is_answered_with_bit_d_and_its_paths)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, want, got;

	/* initial path from byte 128, return path from byte 192: 64 bytes of attribute and 1 byte
	 * unused before */
	write_datagram(&smp, HEAD("81", "01", "0000", "0302", "0011", "00000000"), 64, "");
	write_hex((uint8_t *)&smp + 128, 128, "00 01 07");
	write_hex((uint8_t *)&smp + 192, 64, "00 05 01");
	write_datagram(&want, HEAD("81", "81", "8000", "0302", "0011", "00000000"), 64,
		       NODE_INFO("0002c90300000a01", "01"));
	write_hex((uint8_t *)&want + 128, 128, "00 01 07");
	write_hex((uint8_t *)&want + 192, 64, "00 05 01");
	ck_assert_int_eq(ask(&bed, 1, &smp, &got), SMA_REPLY);
	ck_assert_mem_eq(&got, &want, 256);
}
END_TEST

START_TEST(a_refusal_of_a_directed_route_has_bit_d_too)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	write_datagram(&smp, HEAD("81", "01", "0000", "0302", "0012", "00000000"), 64, "");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x800c);
}
END_TEST

START_TEST(the_response_may_take_the_requests_place)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, want;

	write_datagram(&smp, HEAD("01", "01", "0000", "0000", "0011", "00000000"), 64, "");
	write_datagram(&want, HEAD("01", "81", "0000", "0000", "0011", "00000000"), 64,
		       NODE_INFO("0002c90300000a02", "02"));
	ck_assert_int_eq(sma_answer(bed_node(&bed), 2, 9, &smp, AT_START, &smp), SMA_REPLY);
	ck_assert_mem_eq(&smp, &want, 256);
}
END_TEST

START_TEST(set_is_answered_with_getresp)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, want, got;

	write_datagram(&smp, HEAD("01", "02", "0000", "0000", "0016", "00000001"), 64,
		       "ffff 8001 7fff");
	write_datagram(&want, HEAD("01", "81", "0000", "0000", "0016", "00000001"), 64,
		       "ffff 8001 7fff");
	ck_assert_int_eq(ask(&bed, 2, &smp, &got), SMA_REPLY);
	ck_assert_mem_eq(&got, &want, 256);
	ck_assert_uint_eq(bed.hardware.set_port, 2);
	ck_assert_uint_eq(bed.hardware.set.attr_id, 0x16);
	ck_assert_uint_eq(bed.hardware.set.attr_mod, 1);
	ck_assert_mem_eq(bed.hardware.set.data, want.data, 64);
}
END_TEST

START_TEST(a_switch_shows_port_0s_guid_and_the_port_of_arrival)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp;

	request(&smp, 1, 0x11, 0, "");
	for (uint8_t port = 0; port <= TEST_PORTS; port++) {
		uint8_t want[64] = { 0 };
		struct ib_smp got;

		write_hex(want, 64, NODE_INFO("0002c90300000a00", "00"));
		want[2] = 2; /* switch */
		want[36] = port;
		ck_assert_int_eq(ask(&bed, port, &smp, &got), SMA_REPLY);
		ck_assert_mem_eq(got.data, want, 64);
	}
}
END_TEST

/* ------------------------------------------------------------------- attributes */

#define NODE_DESC "746865206e6f6465" /* "the node" */
#define FULL                                                                              \
	"0001 0203 0405 0607 0809 0a0b 0c0d 0e0f 1011 1213 1415 1617 1819 1a1b 1c1d 1e1f" \
	"2021 2223 2425 2627 2829 2a2b 2c2d 2e2f 3031 3233 3435 3637 3839 3a3b 3c3d 3e3f"

START_TEST(node_description_is_read_and_set)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	request(&smp, 1, 0x10, 0, "");
	expect_attribute(&bed, 1, &smp, NODE_DESC);
	request(&smp, 2, 0x10, 0, FULL); /* 64 bytes, no zero at the end */
	expect_attribute(&bed, 1, &smp, FULL);
	ck_assert_uint_eq(bed.hardware.descriptions, 1);
	request(&smp, 1, 0x10, 0, "");
	expect_attribute(&bed, 2, &smp, FULL);
}
END_TEST

/* A table attribute of the hardware: a valid modifier, and the request that the hardware gets. */
static const struct table_row {
	ib_node_type type;
	uint16_t attr_id;
	uint32_t attr_mod;
	uint8_t hw_port; /* with requests by port 2 */
	uint32_t hw_mod;
	const char *want; /* the bytes of FULL that the hardware gets; NULL: all */
} tables[] = {
	/* 10 GUIDs: block 1 has two GUIDs */
	{ IB_NODE_CA, 0x14, 0, 2, 0,
	  "0002c90300000a02 08090a0b0c0d0e0f 1011121314151617 18191a1b1c1d1e1f"
	  "2021222324252627 28292a2b2c2d2e2f 3031323334353637 38393a3b3c3d3e3f" },
	{ IB_NODE_CA, 0x14, 1, 2, 1, "0001020304050607 08090a0b0c0d0e0f" },
	{ IB_NODE_SWITCH, 0x14, 1, 0, 1, "0001020304050607 08090a0b0c0d0e0f" },
	/* 40 P_Keys: block 1 has eight P_Keys; the upper half of an HCA's modifier is reserved */
	{ IB_NODE_CA, 0x16, 0, 2, 0, FULL },
	{ IB_NODE_CA, 0x16, 0x00030001, 2, 1, "0001 0203 0405 0607 0809 0a0b 0c0d 0e0f" },
	{ IB_NODE_SWITCH, 0x16, 0x00000001, 0, 1, "0001 0203 0405 0607 0809 0a0b 0c0d 0e0f" },
	{ IB_NODE_SWITCH, 0x16, 0x00030001, 3, 0x00030001, FULL }, /* 64 at an external port */
	{ IB_NODE_CA, 0x17, 0x12345678, 2, 0, "0001 0203 0405 0607" },
	{ IB_NODE_SWITCH, 0x17, 0x00000103, 3, 0x103, "0001 0203 0405 0607" },
	/* 16 entries of low priority, 8 of high; the upper half of a lane is reserved */
	{ IB_NODE_CA, 0x18, 0x00010000, 2, 0x00010000,
	  "0001 0203 0405 0607 0809 0a0b 0c0d 0e0f"
	  "0011 0213 0415 0617 0819 0a1b 0c1d 0e1f" },
	{ IB_NODE_CA, 0x18, 0x00030009, 2, 0x00030000, "0001 0203 0405 0607 0809 0a0b 0c0d 0e0f" },
	{ IB_NODE_SWITCH, 0x18, 0x00030002, 2, 0x00030002,
	  "0001 0203 0405 0607 0809 0a0b 0c0d 0e0f" },
	/* 256 LIDs, 64 multicast LIDs */
	{ IB_NODE_SWITCH, 0x19, 3, 0, 3, FULL },
	{ IB_NODE_SWITCH, 0x1b, 1, 0, 1, FULL },
	{ IB_NODE_SWITCH, 0x1b, 0x0ffffe01, 0, 1, FULL }, /* the bits between are reserved */
	{ IB_NODE_CA, 0x31, 1, 1, 1, "00000000" },
	{ IB_NODE_SWITCH, 0x31, 3, 3, 3, "00000000" },
};

START_TEST(a_block_of_a_table_is_written_and_read_as_far_as_there_are_entries)
{
	const struct table_row *row = &tables[_i];
	struct bed bed = bed_of(row->type);
	uint8_t want[64] = { 0 };
	struct ib_smp smp;

	hardware_row(&bed.hardware, 2, 0x15, 2)[39] = 8;  /* entries of high priority */
	hardware_row(&bed.hardware, 2, 0x15, 2)[40] = 16; /* entries of low priority */
	request(&smp, 2, row->attr_id, row->attr_mod, FULL);
	expect_attribute(&bed, 2, &smp, row->want);
	write_hex(want, 64, row->want);
	ck_assert_uint_eq(bed.hardware.sets, 1);
	ck_assert_uint_eq(bed.hardware.set_port, row->hw_port);
	ck_assert_uint_eq(bed.hardware.set.attr_mod, row->hw_mod);
	ck_assert_mem_eq(bed.hardware.set.data, want, 64);
	request(&smp, 1, row->attr_id, row->attr_mod, "");
	expect_attribute(&bed, 2, &smp, row->want);
	/* bytes of the hardware beyond the table's capacity are not sent */
	if (row->attr_id == 0x16 && row->hw_mod == 1) {
		memset(hardware_row(&bed.hardware, row->hw_port, 0x16, 1) + 16, 0xaa, 48);
		expect_attribute(&bed, 2, &smp, row->want);
	}
}
END_TEST

START_TEST(led_info_has_one_bit)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	request(&smp, 2, 0x31, 0, "ffffffff ffffffff");
	expect_attribute(&bed, 2, &smp, "80000000");
	ck_assert_uint_eq(bed.hardware.set_port, 2);
	request(&smp, 1, 0x31, 2, "");
	expect_attribute(&bed, 1, &smp, "80000000");
}
END_TEST

#define SWITCH_INFO "0100 0000 0040 00ff ff ff ff 94 0000 0040 08 00 0000"

START_TEST(switch_info_is_read_and_only_its_writable_fields_are_set)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp;

	hardware_put(&bed.hardware, 0, 0x12, 0, SWITCH_INFO);
	request(&smp, 1, 0x12, 0, "");
	expect_attribute(&bed, 1, &smp, SWITCH_INFO);
	/* capacities, LIDs per port, enforcement and flags are read-only; so is the top of the
	 * multicast table, without its capability. Life time 8, state change cleared: the hardware
	 * gets the bit. */
	request(&smp, 2, 0x12, 0, "ffff ffff ffff 0030 01 02 03 47 ffff ffff ff ff c00f");
	expect_attribute(&bed, 1, &smp, "0100 0000 0040 0030 01 02 03 44 0000 0040 08 00 0000");
	ck_assert_uint_eq(bed.hardware.set.data[11], 0x44);
	request(&smp, 2, 0x12, 0, "0000 0000 0000 0030 01 02 03 43 0000 0000 00 00 0000");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0);
	ck_assert_uint_eq(bed.hardware.set.data[11], 0x40);
}
END_TEST

START_TEST(the_top_of_the_multicast_table_is_set_with_its_capability)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp;

	hardware_row(&bed.hardware, 0, 0x15, 0)[20] |= 0x40;
	hardware_put(&bed.hardware, 0, 0x12, 0, SWITCH_INFO);
	request(&smp, 2, 0x12, 0, "0100 0000 0040 00ff ff ff ff 90 0000 0040 08 00 c03f");
	expect_attribute(&bed, 1, &smp, "0100 0000 0040 00ff ff ff ff 90 0000 0040 08 00 c03f");
	request(&smp, 2, 0x12, 0, "0100 0000 0040 00ff ff ff ff 90 0000 0040 08 00 bfff");
	expect_attribute(&bed, 1, &smp, "0100 0000 0040 00ff ff ff ff 90 0000 0040 08 00 bfff");
	request(&smp, 2, 0x12, 0, "0100 0000 0040 00ff ff ff ff 90 0000 0040 08 00 c040");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
	request(&smp, 2, 0x12, 0, "0100 0000 0040 00ff ff ff ff 90 0000 0040 08 00 bffe");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
}
END_TEST

/* --------------------------------------------------------------------- refusals */

enum { CA = IB_NODE_CA, SW = IB_NODE_SWITCH };

static const struct refusal {
	int type;
	uint8_t method;
	uint16_t attr_id;
	uint32_t attr_mod;
	unsigned int status;
	const char *attribute;
} refusals[] = {
	/* attributes and methods */
	{ CA, 1, 0x0000, 0, 0x0c, "" },
	{ CA, 1, 0x0001, 0, 0x0c, "" }, /* ClassPortInfo is not of this class */
	{ CA, 1, 0x0013, 0, 0x0c, "" },
	{ CA, 1, 0xff00, 0, 0x0c, "" },
	{ CA, 2, 0x0011, 0, 0x0c, "" }, /* NodeInfo is read-only */
	{ CA, 1, 0x0030, 0, 0x0c, "" },
	{ CA, 1, 0x0012, 0, 0x0c, "" }, /* switches only */
	{ CA, 2, 0x0012, 0, 0x0c, "" },
	{ CA, 1, 0x0019, 0, 0x0c, "" },
	{ CA, 1, 0x001b, 0, 0x0c, "" },
	{ CA, 1, 0x001a, 0, 0x0c, "" },
	{ SW, 1, 0x001a, 0, 0x0c, "" },
	{ SW, 2, 0x001a, 0, 0x0c, "" },
	{ CA, 0x12, 0x0011, 0, 0x08, "" },
	{ CA, 0x00, 0x0011, 0, 0x08, "" },
	{ CA, 0x7f, 0x0011, 0, 0x08, "" },
	/* modifiers */
	{ CA, 1, 0x0002, 1, 0x1c, "" },
	{ CA, 2, 0x0002, 1, 0x1c, "" },
	{ CA, 1, 0x0010, 1, 0x1c, "" },
	{ CA, 2, 0x0010, 1, 0x1c, "" },
	{ CA, 1, 0x0011, 1, 0x1c, "" },
	{ SW, 1, 0x0012, 1, 0x1c, "" },
	{ SW, 2, 0x0012, 1, 0x1c, "" },
	{ CA, 1, 0x0014, 2, 0x1c, "" },          /* 10 GUIDs: blocks 0 and 1 */
	{ CA, 2, 0x0014, 0x20000000, 0x1c, "" }, /* times 8 is 0 */
	{ CA, 1, 0x0014, 0xffffffff, 0x1c, "" },
	{ CA, 1, 0x0015, TEST_PORTS + 1, 0x1c, "" },
	{ CA, 2, 0x0015, TEST_PORTS + 1, 0x1c, "" },
	{ SW, 1, 0x0015, TEST_PORTS + 1, 0x1c, "" },
	{ CA, 1, 0x0015, 0x00000101, 0x1c, "" },
	{ CA, 1, 0x0015, 0x40000001, 0x1c, "" },
	{ CA, 1, 0x0016, 2, 0x1c, "" }, /* 40 P_Keys: blocks 0 and 1 */
	{ CA, 2, 0x0016, 0xffff, 0x1c, "" },
	{ SW, 1, 0x0016, 0x00000002, 0x1c, "" },
	{ SW, 1, 0x0016, 0x00010002, 0x1c, "" },
	{ SW, 1, 0x0016, 0x00040000, 0x1c, "" },
	{ SW, 1, 0x0016, 0x01000000, 0x1c, "" }, /* port 256 */
	{ SW, 1, 0x0017, 0x0004, 0x1c, "" },
	{ SW, 1, 0x0017, 0x0400, 0x1c, "" },
	{ SW, 2, 0x0017, 0x00010000, 0x1c, "" },
	{ CA, 1, 0x0018, 0, 0x1c, "" },
	{ CA, 1, 0x0018, 0x00020000, 0x1c, "" }, /* 16 entries: one part */
	{ CA, 1, 0x0018, 0x00040000, 0x1c, "" },
	{ CA, 1, 0x0018, 0x00050000, 0x1c, "" },
	{ CA, 1, 0x0018, 0x00010001 << 8, 0x1c, "" },
	{ SW, 1, 0x0018, 0x00010004, 0x1c, "" },
	{ SW, 1, 0x0018, 0x00010100, 0x1c, "" },
	{ SW, 1, 0x0019, 4, 0x1c, "" },          /* 256 LIDs */
	{ SW, 2, 0x0019, 0x04000000, 0x1c, "" }, /* times 64 is 0 */
	{ SW, 1, 0x001b, 2, 0x1c, "" },          /* 64 multicast LIDs */
	{ SW, 1, 0x001b, 0x10000000, 0x1c, "" }, /* ports 16 to 31 */
	{ SW, 2, 0x001b, 0xf0000000, 0x1c, "" },
	{ CA, 1, 0x0031, TEST_PORTS + 1, 0x1c, "" },
	{ CA, 2, 0x0031, 0x100, 0x1c, "" },
	{ CA, 1, 0x0033, TEST_PORTS + 1, 0x1c, "" },
	{ CA, 2, 0x0033, 0x101, 0x1c, "" },
	/* values */
	{ SW, 2, 0x0012, 0, 0x1c, "0100 0000 0040 0100 ff ff ff 90" }, /* top 0x100 of 0x100 LIDs */
	{ SW, 2, 0x0012, 0, 0x1c, "0100 0000 0040 00ff 04 ff ff 90" },
	{ SW, 2, 0x0012, 0, 0x1c, "0100 0000 0040 00ff ff 04 ff 90" },
	{ SW, 2, 0x0012, 0, 0x1c, "0100 0000 0040 00ff ff ff fe 90" },
	/* FEC modes: the hardware supports none of EDR's */
	{ CA, 2, 0x0033, 1, 0x1c, "00000001 0000 0000 0000 0000 0001" },
};

START_TEST(what_the_agent_refuses_is_answered_with_ibtas_status_and_changes_nothing)
{
	const struct refusal *r = &refusals[_i];
	struct bed bed = bed_of((ib_node_type)r->type);
	struct ib_smp smp;

	hardware_row(&bed.hardware, 1, 0x15, 1)[40] = 16;
	request(&smp, r->method, r->attr_id, r->attr_mod, r->attribute);
	ck_assert_msg(ask_for_status(&bed, 1, &smp) == r->status,
		      "method %x, attribute %x, modifier %x", r->method, r->attr_id, r->attr_mod);
	ck_assert_uint_eq(bed.hardware.sets + bed.hardware.descriptions, 0);
}
END_TEST

/* Attributes that need a bit of the capability masks; the masks' bytes lie at 20 and 60 of
 * PortInfo. */
static const struct optional {
	uint16_t attr_id;
	uint8_t method;
	int byte;
	uint8_t bit;
} optionals[] = {
	{ 0x02, 1, 23, 0x04 }, { 0x02, 2, 23, 0x04 }, { 0x17, 1, 23, 0x40 }, { 0x17, 2, 23, 0x40 },
	{ 0x31, 1, 22, 0x02 }, { 0x31, 2, 22, 0x02 }, { 0x33, 1, 61, 0x02 }, { 0x33, 2, 61, 0x02 },
	{ 0x10, 2, 61, 0x01 }, { 0x33, 1, 22, 0x80 }, { 0x10, 2, 22, 0x80 }, { 0x20, 1, 23, 0x02 },
	{ 0x20, 2, 23, 0x02 },
};

START_TEST(an_attribute_without_its_capability_is_unsupported)
{
	const struct optional *o = &optionals[_i];
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;

	request(&smp, o->method, o->attr_id, 0, "");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response),
			 o->attr_id == 0x20 ? SMA_FOR_MANAGER : SMA_REPLY);
	if (o->attr_id != 0x20)
		ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0);
	hardware_row(&bed.hardware, 1, 0x15, 1)[o->byte] ^= o->bit;
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x0c);
}
END_TEST

START_TEST(versions_and_classes_are_checked)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;

	request(&smp, 1, 0x11, 0, "");
	smp.class_version = 2;
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x04);
	smp.class_version = 1;
	smp.base_version = 0x80;
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_REPLY);
	ck_assert_uint_eq(((uint8_t *)&response)[0], 1);
	ck_assert_uint_eq(((uint8_t *)&response)[5], 0x04);
	smp.base_version = 1;
	smp.mgmt_class = 0x04;
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_DROP);
}
END_TEST

START_TEST(what_expects_no_response_gets_none)
{
	static const struct {
		uint8_t method;
		enum sma_verdict verdict, wrong_version;
	} methods[] = {
		{ 0x03, SMA_DROP, SMA_DROP },        /* Send */
		{ 0x05, SMA_FOR_MANAGER, SMA_DROP }, /* Trap */
		{ 0x06, SMA_DROP, SMA_DROP },        /* Report */
		{ 0x07, SMA_CONSUMED, SMA_DROP },    /* TrapRepress */
		{ 0x80, SMA_FOR_MANAGER, SMA_DROP }, { 0x81, SMA_FOR_MANAGER, SMA_DROP },
		{ 0x86, SMA_FOR_MANAGER, SMA_DROP }, { 0xff, SMA_FOR_MANAGER, SMA_DROP },
	};
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		request(&smp, methods[i].method, 0x11, 0, "");
		ck_assert_int_eq(ask(&bed, 1, &smp, &response), methods[i].verdict);
		smp.class_version = 9;
		ck_assert_int_eq(ask(&bed, 1, &smp, &response), methods[i].wrong_version);
	}
}
END_TEST

START_TEST(a_request_that_claims_to_be_on_its_way_back_is_dropped)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;

	write_datagram(&smp, HEAD("81", "01", "8000", "0000", "0011", "00000000"), 64, "");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_DROP);
	write_datagram(&smp, HEAD("81", "81", "8000", "0000", "0011", "00000000"), 64, "");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_FOR_MANAGER);
}
END_TEST

START_TEST(a_port_that_is_none_gets_nothing)
{
	struct bed ca = bed_of(IB_NODE_CA), sw = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp, response;

	request(&smp, 1, 0x11, 0, "");
	ck_assert_int_eq(ask(&ca, 0, &smp, &response), SMA_DROP);
	ck_assert_int_eq(ask(&ca, TEST_PORTS + 1, &smp, &response), SMA_DROP);
	ck_assert_int_eq(ask(&sw, TEST_PORTS + 1, &smp, &response), SMA_DROP);
	ck_assert_int_eq(ask(&sw, 0, &smp, &response), SMA_REPLY);
}
END_TEST

START_TEST(the_hardwares_failures_become_statuses)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	request(&smp, 2, 0x16, 0, "ffff");
	bed.hardware.fail_with = AL_UNSUPPORTED;
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x0c);
	bed.hardware.fail_with = AL_INSUFFICIENT_MEMORY;
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x01);
	bed.hardware.fail_with = AL_SUCCESS;
	bed.hardware.set_status =
		0xff1c; /* the agent ignores the upper byte of the hardware's status */
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
}
END_TEST

/* ------------------------------------------------------------------------ M_Key */

#define KEY UINT64_C(0x00c0ffee00c0ffee)

static struct bed locked(uint8_t protect)
{
	struct bed bed = bed_of(IB_NODE_CA);

	bed.port[1].mkey = KEY;
	bed.port[1].mkey_protect = protect;
	return bed;
}

static void put_key(struct ib_smp *smp, const char *digits)
{
	write_hex((uint8_t *)smp + 24, 8, digits);
}

/*
 * A request of a method and attribute, with the right key or with another key. Returns true if the
 * request is admitted.
 */
static bool admits(struct bed *bed, uint8_t in_port, uint8_t method, uint16_t attr_id,
		   uint32_t attr_mod, bool right, struct ib_smp *response)
{
	struct ib_smp smp;
	enum sma_verdict verdict;

	request(&smp, method, attr_id, attr_mod, "");
	put_key(&smp, right ? "00c0ffee00c0ffee" : "00c0ffee00c0ffef");
	verdict = ask(bed, in_port, &smp, response);
	ck_assert(verdict == SMA_DROP || verdict == (method == 7 ? SMA_CONSUMED : SMA_REPLY));
	return verdict != SMA_DROP;
}

START_TEST(protection_levels_refuse_what_ibta_says)
{
	static const uint8_t methods[] = { 1, 2, 7 };

	for (uint8_t protect = 0; protect <= 3; protect++)
		for (size_t i = 0; i < 3; i++)
			for (int right = 0; right <= 1; right++) {
				struct bed bed = locked(protect);
				bool want = right || (methods[i] == 1 && protect < 2);
				struct ib_smp response;

				ck_assert_int_eq(
					admits(&bed, 1, methods[i], 0x16, 0, right, &response),
					want);
				ck_assert_uint_eq(bed.port[1].mkey_violations, want ? 0 : 1);
				ck_assert_uint_eq(bed.hardware.notices, want ? 0 : 1);
				ck_assert_uint_eq(bed.hardware.sets,
						  want && methods[i] == 2 ? 1 : 0);
			}
}
END_TEST

START_TEST(a_port_without_a_key_admits_everything)
{
	struct bed bed = locked(3);
	struct ib_smp response;

	bed.port[1].mkey = 0;
	ck_assert(admits(&bed, 1, 2, 0x16, 0, false, &response));
	ck_assert_uint_eq(bed.port[1].mkey_violations, 0);
}
END_TEST

START_TEST(the_key_is_shown_where_the_level_permits)
{
	for (uint8_t protect = 0; protect <= 3; protect++)
		for (int right = 0; right <= 1; right++) {
			struct bed bed = locked(protect);
			struct ib_smp response;

			if (!admits(&bed, 1, 1, 0x15, 1, right, &response))
				continue;
			ck_assert_uint_eq(response.data[3], right || !protect ? 0xee : 0);
			ck_assert_uint_eq(response.data[7], right || !protect ? 0xee : 0);
			ck_assert_uint_eq(response.data[34] >> 6, protect);
		}
}
END_TEST

START_TEST(violations_stop_at_their_maximum)
{
	struct bed bed = locked(2);
	struct ib_smp response;

	bed.port[1].mkey_violations = 0xfffe;
	for (int i = 0; i < 3; i++)
		ck_assert(!admits(&bed, 1, 1, 0x11, 0, false, &response));
	ck_assert_uint_eq(bed.port[1].mkey_violations, 0xffff);
}
END_TEST

START_TEST(one_key_guards_all_ports_of_a_switch)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp response;

	bed.port[0].mkey = KEY;
	bed.port[0].mkey_protect = 2;
	for (uint8_t port = 0; port <= TEST_PORTS; port++) {
		ck_assert(!admits(&bed, port, 1, 0x15, 1, false, &response));
		ck_assert(admits(&bed, port, 1, 0x15, 1, true, &response));
		ck_assert_uint_eq(response.data[7], 0); /* the key is port 0's */
		ck_assert(admits(&bed, port, 1, 0x15, 0, true, &response));
		ck_assert_uint_eq(response.data[7], 0xee);
	}
	ck_assert_uint_eq(bed.port[0].mkey_violations, TEST_PORTS + 1);
}
END_TEST

START_TEST(each_port_of_an_hca_has_a_key_of_its_own)
{
	struct bed bed = locked(2);
	struct ib_smp response;

	ck_assert(admits(&bed, 2, 1, 0x11, 0, false, &response));
	ck_assert(admits(&bed, 2, 2, 0x16, 0, false, &response));
	/* port 2 does not bypass the key of port 1 */
	ck_assert(!admits(&bed, 2, 1, 0x15, 1, false, &response));
	ck_assert(!admits(&bed, 2, 2, 0x15, 1, false, &response));
	ck_assert(!admits(&bed, 2, 1, 0x15, 0x80000001, false, &response));
	ck_assert(!admits(&bed, 2, 1, 0x33, 1, false, &response));
	ck_assert(admits(&bed, 2, 1, 0x15, 1, true, &response));
	ck_assert_uint_eq(bed.port[1].mkey_violations, 4);
	ck_assert_uint_eq(bed.port[2].mkey_violations, 0);
}
END_TEST

static bool admits_at(struct bed *bed, uint64_t now_ns, uint8_t method, bool right)
{
	struct ib_smp smp, response;

	request(&smp, method, 0x11, 0, "");
	put_key(&smp, right ? "00c0ffee00c0ffee" : "ff");
	return sma_answer(bed_node(bed), 1, 9, &smp, now_ns, &response) == SMA_REPLY;
}

START_TEST(the_lease_begins_with_the_first_violation_and_its_end_unlocks_reading)
{
	struct bed bed = locked(2);

	bed.port[1].mkey_lease_period = 10;
	ck_assert(!admits_at(&bed, 100 * S, 1, false));
	ck_assert(!admits_at(&bed, 105 * S, 1, false)); /* the lease period does not begin anew */
	ck_assert(!admits_at(&bed, 110 * S - 1, 1, false));
	ck_assert(admits_at(&bed, 110 * S, 1, false));
	ck_assert_uint_eq(bed.port[1].mkey_protect, 0);
	ck_assert(!admits_at(&bed, 111 * S, 2, false)); /* M_Key itself stays */
}
END_TEST

START_TEST(the_right_key_stops_the_lease)
{
	struct bed bed = locked(2);

	bed.port[1].mkey_lease_period = 10;
	ck_assert(!admits_at(&bed, 100 * S, 1, false));
	ck_assert(admits_at(&bed, 109 * S, 1, true));
	ck_assert(!admits_at(&bed, 115 * S, 1, false));
	ck_assert(!admits_at(&bed, 124 * S, 1, false));
	ck_assert(admits_at(&bed, 125 * S, 1, false));
}
END_TEST

START_TEST(a_lease_period_of_0_never_ends)
{
	struct bed bed = locked(2);

	ck_assert(!admits_at(&bed, 100 * S, 1, false));
	ck_assert(!admits_at(&bed, 1000000 * S, 1, false));
}
END_TEST

START_TEST(sm_info_goes_to_the_manager_whatever_the_key_is)
{
	struct bed bed = locked(3);
	struct ib_smp smp, response;

	request(&smp, 1, 0x20, 0, "");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_FOR_MANAGER);
	request(&smp, 2, 0x20, 1, "");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_FOR_MANAGER);
	ck_assert_uint_eq(bed.port[1].mkey_violations, 0);
}
END_TEST

#define COUNT(array) (int)(sizeof(array) / sizeof(*(array)))

int main(void)
{
	Suite *suite = suite_create("sma");
	TCase *tc = tcase_create("datagrams");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, get_node_info_is_answered_byte_by_byte);
	tcase_add_test(tc, a_directed_route_is_answered_with_bit_d_and_its_paths);
	tcase_add_test(tc, a_refusal_of_a_directed_route_has_bit_d_too);
	tcase_add_test(tc, the_response_may_take_the_requests_place);
	tcase_add_test(tc, set_is_answered_with_getresp);
	tcase_add_test(tc, a_switch_shows_port_0s_guid_and_the_port_of_arrival);
	suite_add_tcase(suite, tc);
	tc = tcase_create("attributes");
	tcase_add_test(tc, node_description_is_read_and_set);
	tcase_add_loop_test(tc, a_block_of_a_table_is_written_and_read_as_far_as_there_are_entries,
			    0, COUNT(tables));
	tcase_add_test(tc, led_info_has_one_bit);
	tcase_add_test(tc, switch_info_is_read_and_only_its_writable_fields_are_set);
	tcase_add_test(tc, the_top_of_the_multicast_table_is_set_with_its_capability);
	suite_add_tcase(suite, tc);
	tc = tcase_create("refusals");
	tcase_add_loop_test(
		tc, what_the_agent_refuses_is_answered_with_ibtas_status_and_changes_nothing, 0,
		COUNT(refusals));
	tcase_add_loop_test(tc, an_attribute_without_its_capability_is_unsupported, 0,
			    COUNT(optionals));
	tcase_add_test(tc, versions_and_classes_are_checked);
	tcase_add_test(tc, what_expects_no_response_gets_none);
	tcase_add_test(tc, a_request_that_claims_to_be_on_its_way_back_is_dropped);
	tcase_add_test(tc, a_port_that_is_none_gets_nothing);
	tcase_add_test(tc, the_hardwares_failures_become_statuses);
	suite_add_tcase(suite, tc);
	tc = tcase_create("M_Key");
	tcase_add_test(tc, protection_levels_refuse_what_ibta_says);
	tcase_add_test(tc, a_port_without_a_key_admits_everything);
	tcase_add_test(tc, the_key_is_shown_where_the_level_permits);
	tcase_add_test(tc, violations_stop_at_their_maximum);
	tcase_add_test(tc, one_key_guards_all_ports_of_a_switch);
	tcase_add_test(tc, each_port_of_an_hca_has_a_key_of_its_own);
	tcase_add_test(tc, the_lease_begins_with_the_first_violation_and_its_end_unlocks_reading);
	tcase_add_test(tc, the_right_key_stops_the_lease);
	tcase_add_test(tc, a_lease_period_of_0_never_ends);
	tcase_add_test(tc, sm_info_goes_to_the_manager_whatever_the_key_is);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
