/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The performance management agent: datagrams written byte by byte from IBTA's tables of 13.4.8.1
 * and 16.1.3 to 16.1.4, over a hardware whose counters the tests set.
 */
#include <stdlib.h>

#include "mad/pma.h"
#include "test/unit/mad/datagram.h"

#define PORTS 3
#define US    UINT64_C(1000)

struct bed {
	struct ib_port_counters hardware[PORTS + 1];
	struct pma_port port[PORTS + 1];
	struct pma_node node;
	bool port_0_counts;
};

static bool read_counters(void *hw, uint8_t port, struct ib_port_counters *to)
{
	struct bed *bed = hw;

	ck_assert_uint_le(port, PORTS);
	*to = bed->hardware[port];
	return port || bed->port_0_counts;
}

static const struct pma_ops ops = { .counters = read_counters };
static struct bed bed;

static void set_up(void)
{
	bed = (struct bed){ .node = { .ops = &ops,
				      .hw = &bed,
				      .num_ports = PORTS,
				      .resp_time = 0x12,
				      .ports = bed.port } };
}

/* base, class, version, method; status; reserved; TID; attribute; 0; modifier; 40 reserved bytes */
static void request(struct ib_mad *mad, uint8_t method, uint16_t attr_id, const char *attribute)
{
	char head[128];

	snprintf(head, sizeof(head), "01 04 01 %02x 0000 0000 1122334455667788 %04x 0000 00000000",
		 method, attr_id);
	write_datagram(mad, head, 64, attribute);
}

static unsigned int ask(uint8_t in_port, const struct ib_mad *mad, uint64_t now_ns,
			struct ib_mad *got)
{
	uint8_t want[64];

	memset(got, 0xee, sizeof(*got));
	ck_assert(pma_answer(&bed.node, in_port, mad, now_ns, got));
	memcpy(want, mad, sizeof(want));
	want[3] = want[3] == 2 ? 0x81 : want[3] | 0x80;
	memcpy(want + 4, (uint8_t *)got + 4, 2);
	ck_assert_mem_eq(got, want, sizeof(want));
	return (unsigned int)((uint8_t *)got)[4] << 8 | ((uint8_t *)got)[5];
}

static void expect_at(uint8_t in_port, uint8_t method, uint16_t attr_id, const char *attribute,
		      uint64_t now_ns, const char *answer)
{
	uint8_t want[192] = { 0 };
	struct ib_mad mad, got;

	request(&mad, method, attr_id, attribute);
	write_hex(want, sizeof(want), answer);
	ck_assert_uint_eq(ask(in_port, &mad, now_ns, &got), 0);
	for (size_t i = 0; i < sizeof(want); i++)
		ck_assert_msg(((uint8_t *)&got)[64 + i] == want[i], "byte %zu is %02x, not %02x", i,
			      ((uint8_t *)&got)[64 + i], want[i]);
}

static void expect(uint8_t method, uint16_t attr_id, const char *attribute, const char *answer)
{
	expect_at(1, method, attr_id, attribute, 0, answer);
}

/* -------------------------------------------------------------------- counters */

/* The counters of a port, each with a value of its own. */
static const struct ib_port_counters some = {
	.xmit_bytes = 0x40000,
	.rcv_bytes = 0x80003, /* 0x20000 units of 4 bytes, and 3 bytes */
	.xmit_packets = 0x1001,
	.rcv_packets = 0x1002,
	.unicast_xmit_packets = 0x1003,
	.unicast_rcv_packets = 0x1004,
	.multicast_xmit_packets = 0x1005,
	.multicast_rcv_packets = 0x1006,
	.symbol_errors = 0x2001,
	.link_error_recovery = 0x21,
	.link_downed = 0x22,
	.rcv_errors = 0x2002,
	.rcv_remote_phys_errors = 0x2003,
	.rcv_switch_relay_errors = 0x2004,
	.xmit_discards = 0x2005,
	.xmit_constraint_errors = 0x23,
	.rcv_constraint_errors = 0x24,
	.link_integrity_errors = 0x5,
	.buffer_overrun_errors = 0x6,
	.vl15_dropped = 0x2006,
	.xmit_wait = 0x3001,
	.rcv_dropped = 0xdead,
	.retransmits = 0xdead,
	.rnr_naks = 0xdead,
	.seq_naks = 0xdead,
};

/* reserved, PortSelect, CounterSelect; errors; select 2; 4 + 4 bits; QP1; VL 15; data, packets,
 * wait */
#define SOME \
	"2001 21 22 2002 2003 2004 2005 23 24 00 56 0000 2006 00010000 00020000 00001001 00001002 00003001"
#define NOTHING \
	"0000 00 00 0000 0000 0000 0000 00 00 00 00 0000 0000 00000000 00000000 00000000 00000000 00000000"

#define SOME_EXT_PACKETS                                                      \
	"0000000000010000 0000000000020000 0000000000001001 0000000000001002" \
	"0000000000001003 0000000000001004 0000000000001005 0000000000001006"
#define SOME_EXT_ERRORS                                                                                         \
	"0000000000002001 0000000000000021 0000000000000022 0000000000002002 0000000000002003 0000000000002004" \
	"0000000000002005 0000000000000023 0000000000000024 0000000000000005 0000000000000006 0000000000002006" \
	"0000000000003001 0000000000000000"

START_TEST(get_port_counters_is_answered_byte_by_byte)
{
	struct ib_mad mad, want, got;

	bed.hardware[2] = some;
	request(&mad, 1, 0x12, "00 02 0000");
	write_datagram(&want, "01 04 01 81 0000 0000 1122334455667788 0012 0000 00000000", 64,
		       "00 02 0000" SOME);
	ck_assert(pma_answer(&bed.node, 1, &mad, 0, &got));
	ck_assert_mem_eq(&got, &want, 256);
	ck_assert(pma_answer(&bed.node, 1, &mad, 0,
			     &mad)); /* the response may take the request's place */
	ck_assert_mem_eq(&mad, &want, 256);
}
END_TEST

START_TEST(get_port_counters_extended_has_all_64_bits)
{
	bed.hardware[2] = some;
	expect(1, 0x1d, "00 02 0000 00000000",
	       "00 02 0000 00000000" SOME_EXT_PACKETS SOME_EXT_ERRORS);
	bed.hardware[2].rcv_packets = UINT64_C(0xfedcba9876543210);
	bed.hardware[2].xmit_bytes = UINT64_MAX;
	expect(1, 0x1d, "00 02 0000 00000000",
	       "00 02 0000 00000000 3fffffffffffffff 0000000000020000 0000000000001001 fedcba9876543210"
	       "0000000000001003 0000000000001004 0000000000001005 0000000000001006" SOME_EXT_ERRORS);
}
END_TEST

START_TEST(each_counter_stops_at_its_width)
{
	uint64_t *counter = (uint64_t *)&bed.hardware[1];

	for (size_t i = 0; i < sizeof(some) / sizeof(*counter); i++)
		counter[i] = UINT64_MAX;
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 ffff ff ff ffff ffff ffff ffff ff ff 00 ff 0000 ffff"
	       "ffffffff ffffffff ffffffff ffffffff ffffffff");
	for (size_t i = 0; i < sizeof(some) / sizeof(*counter); i++)
		counter[i] = 0x10; /* one more than a field of four bits holds */
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 0010 10 10 0010 0010 0010 0010 10 10 00 ff 0000 0010"
	       "00000004 00000004 00000010 00000010 00000010");
	for (size_t i = 0; i < sizeof(some) / sizeof(*counter); i++)
		counter[i] = 0x100;
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 0100 ff ff 0100 0100 0100 0100 ff ff 00 ff 0000 0100"
	       "00000040 00000040 00000100 00000100 00000100");
	for (size_t i = 0; i < sizeof(some) / sizeof(*counter); i++)
		counter[i] = UINT64_C(0x400000000);
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 ffff ff ff ffff ffff ffff ffff ff ff 00 ff 0000 ffff"
	       "ffffffff ffffffff ffffffff ffffffff ffffffff");
}
END_TEST

START_TEST(a_set_writes_the_selected_counters_of_its_view_only)
{
	bed.hardware[1] = bed.hardware[2] = some;
	/* bits 0, 6, 10, 15: symbol errors, discards, overruns, received packets */
	expect(2, 0x12, "00 01 8441" NOTHING,
	       "00 01 8441 0000 21 22 2002 2003 2004 0000 23 24 00 50 0000 2006"
	       "00010000 00020000 00001001 00000000 00003001");
	expect(1, 0x12, "00 02 0000", "00 02 0000" SOME);
	expect(1, 0x1d, "00 01 0000 00000000",
	       "00 01 0000 00000000" SOME_EXT_PACKETS SOME_EXT_ERRORS);
	/* the counters continue */
	bed.hardware[1].symbol_errors += 7;
	bed.hardware[1].rcv_packets += 9;
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 0007 21 22 2002 2003 2004 0000 23 24 00 50 0000 2006"
	       "00010000 00020000 00001001 00000009 00003001");
	/* all others; the wait counter by CounterSelect2 */
	expect(2, 0x12, "00 01 7bbe 0000 00 00 0000 0000 0000 0000 00 00 01",
	       "00 01 7bbe 0007 00 00 0000 0000 0000 0000 00 00 01 00 0000 0000 00000000 00000000 00000000 00000009");
	/* the other view of the counters */
	expect(2, 0x1d, "00 01 00ff 00000001",
	       "00 01 00ff 00000001 0000000000000000 0000000000000000 0000000000000000 0000000000000000"
	       "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
	       "0000000000000000 0000000000000021 0000000000000022 0000000000002002 0000000000002003 0000000000002004"
	       "0000000000002005 0000000000000023 0000000000000024 0000000000000005 0000000000000006"
	       "0000000000002006 0000000000003001");
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 0007 00 00 0000 0000 0000 0000 00 00 00 00 0000 0000 00000000 00000000 00000000 00000009");
}
END_TEST

START_TEST(a_set_writes_the_value_from_which_the_counter_goes_on)
{
	bed.hardware[1] = some;
	expect(2, 0x12,
	       "00 01 f002 0000 fe 00 0000 0000 0000 0000 00 00 00 00 0000 0000"
	       "00000100 00000200 fffffffe 00000400",
	       "00 01 f002 2001 fe 22 2002 2003 2004 2005 23 24 00 56 0000 2006"
	       "00000100 00000200 fffffffe 00000400 00003001");
	bed.hardware[1].link_error_recovery += 5;
	bed.hardware[1].xmit_bytes += 8;
	bed.hardware[1].xmit_packets += 2;
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 2001 ff 22 2002 2003 2004 2005 23 24 00 56 0000 2006"
	       "00000102 00000200 ffffffff 00000400 00003001");
	expect(2, 0x1d, "00 01 0004 00000000 0000000000000000 0000000000000000 fffffffffffffffe",
	       "00 01 0004 00000000 0000000000010002 0000000000020000 fffffffffffffffe 0000000000001002"
	       "0000000000001003 0000000000001004 0000000000001005 0000000000001006"
	       "0000000000002001 0000000000000026 0000000000000022 0000000000002002 0000000000002003 0000000000002004"
	       "0000000000002005 0000000000000023 0000000000000024 0000000000000005 0000000000000006"
	       "0000000000002006 0000000000003001");
	bed.hardware[1].xmit_packets += 5;
	expect(1, 0x1d, "00 01 0000 00000000",
	       "00 01 0000 00000000 0000000000010002 0000000000020000 ffffffffffffffff 0000000000001002"
	       "0000000000001003 0000000000001004 0000000000001005 0000000000001006"
	       "0000000000002001 0000000000000026 0000000000000022 0000000000002002 0000000000002003 0000000000002004"
	       "0000000000002005 0000000000000023 0000000000000024 0000000000000005 0000000000000006"
	       "0000000000002006 0000000000003001");
}
END_TEST

START_TEST(a_port_that_comes_up_anew_counts_from_0)
{
	bed.hardware[1].rcv_packets = 1000;
	expect(2, 0x12, "00 01 ffff" NOTHING, "00 01 ffff" NOTHING);
	bed.hardware[1].rcv_packets = 3;
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 0000 00 00 0000 0000 0000 0000 00 00 00 00 0000 0000 00000000 00000000 00000000 00000003");
	bed.hardware[1].rcv_packets = 1001;
	expect(1, 0x12, "00 01 0000",
	       "00 01 0000 0000 00 00 0000 0000 0000 0000 00 00 00 00 0000 0000 00000000 00000000 00000000 000003e9");
}
END_TEST

START_TEST(all_ports_are_the_sum_of_the_physical_ports_and_are_set_together)
{
	for (int i = 0; i <= PORTS; i++) {
		bed.hardware[i].rcv_packets = 0x60000000;
		bed.hardware[i].symbol_errors = 0x100;
		bed.hardware[i].link_downed = 0x60;
		bed.hardware[i].link_integrity_errors = 4;
	}
	expect(1, 0x12, "00 ff 0000",
	       "00 ff 0000 0300 00 ff 0000 0000 0000 0000 00 00 00 c0 0000 0000 00000000 00000000 00000000 ffffffff");
	bed.hardware[1].link_integrity_errors = 8;
	expect(1, 0x12, "00 ff 0000",
	       "00 ff 0000 0300 00 ff 0000 0000 0000 0000 00 00 00 f0 0000 0000 00000000 00000000 00000000 ffffffff");
	bed.hardware[1].rcv_packets = UINT64_MAX - 1;
	expect(2, 0x1d, "00 ff 0000 00000001",
	       "00 ff 0000 00000001 0000000000000000 0000000000000000 0000000000000000"
	       "ffffffffffffffff 00000000000000000000000000000000"
	       "00000000000000000000000000000000 0000000000000000 0000000000000000"
	       "0000000000000120 0000000000000000 0000000000000000 0000000000000000"
	       "0000000000000000 0000000000000000 0000000000000000 0000000000000010");
	expect(2, 0x12, "00 ff ffff" NOTHING, "00 ff ffff" NOTHING);
	expect(1, 0x12, "00 03 0000", "00 03 0000" NOTHING);
}
END_TEST

/* --------------------------------------------------------------- ClassPortInfo */

#define NO_TRAPS                                                                                  \
	"00000000000000000000000000000000 00 000000 0000 0000 00 000000 00000000" /* GID to Q_Key \
										   */

/* AllPortSelect, extended width, PortXmitWait; the additional extended counters and the response
 * time; no redirect */
#define CLASS_PORT_INFO "01 01 1300 00000052" NO_TRAPS

START_TEST(class_port_info_says_what_the_agent_can_do)
{
	expect(1, 0x01, "", CLASS_PORT_INFO);
}
END_TEST

START_TEST(only_the_trap_members_of_class_port_info_are_set)
{
#define TRAPS "fe800000000000000000000000000009 20 512345 0044 ffff 40 000077 80010000"
	expect(2, 0x01,
	       "07 07 ffff ffffffff fe800000000000000000000000000008 11 222222 3333 4444 55 666666 77777777" TRAPS,
	       CLASS_PORT_INFO TRAPS);
	expect(1, 0x01, "", CLASS_PORT_INFO TRAPS);
	expect_at(2, 1, 0x01, "", 0, CLASS_PORT_INFO); /* another port's agent */
}
END_TEST

/* --------------------------------------------------------------------- samples */

/* mechanism, port, tick, width; masks: 1 for each counter; mechanisms, status; options, vendor's;
 * start, interval, tag */
#define CONTROL(port, status, start, interval, tag, select)                                      \
	"00 " port " f9 04 09249249 1249 00 " status " 0000000000000000 0000000000000000 " start \
	" " interval " " tag " " select
#define SET_CONTROL(port, start, interval, tag, select)                                  \
	"00 " port " 00 00 00000000 0000 00 00 0000000000000000 0000000000000000 " start \
	" " interval " " tag " " select
#define SELECT "0001 0002 0003 0004 0005 0000 0004"

START_TEST(a_sample_counts_from_its_start_for_its_interval)
{
	struct ib_port_counters *c = &bed.hardware[2];

	expect(1, 0x10, "00 02", CONTROL("02", "00", "00000000", "00000000", "0000", ""));
	expect(1, 0x11, "", "0000 0000");
	ck_assert_uint_eq(pma_due(&bed.node, 1), PMA_NEVER);
	c->rcv_packets = 100;
	/* starts in 1000 ticks of a microsecond, and lasts 500 */
	expect_at(1, 2, 0x10, SET_CONTROL("02", "000003e8", "000001f4", "abcd", SELECT), 7 * US,
		  CONTROL("02", "01", "000003e8", "000001f4", "abcd", SELECT));
	expect_at(1, 1, 0x11, "", 7 * US, "abcd 0001");
	ck_assert_uint_eq(pma_due(&bed.node, 1), 1007 * US);
	ck_assert_uint_eq(pma_due(&bed.node, 2), PMA_NEVER);
	c->rcv_packets = 110;
	pma_poll(&bed.node, 1, 1007 * US - 1);
	expect_at(1, 1, 0x11, "", 1007 * US - 1, "abcd 0001");
	pma_poll(&bed.node, 1, 1007 * US);
	expect_at(1, 1, 0x11, "", 1007 * US, "abcd 0002");
	ck_assert_uint_eq(pma_due(&bed.node, 1), 1507 * US);
	c->xmit_bytes += 41;
	c->rcv_bytes += 80;
	c->xmit_packets += 5;
	c->rcv_packets += 6;
	c->xmit_wait += 7;
	pma_poll(&bed.node, 1, 1507 * US);
	ck_assert_uint_eq(pma_due(&bed.node, 1), PMA_NEVER);
	c->rcv_packets += 1000; /* too late */
	expect_at(1, 1, 0x11, "", 9999 * US,
		  "abcd 0000 0000000a 00000014 00000005 00000006 00000007 00000000 00000006");
	expect_at(1, 1, 0x10, "00 02", 9999 * US,
		  CONTROL("02", "00", "000003e8", "000001f4", "abcd", SELECT));
}
END_TEST

START_TEST(a_set_during_a_sample_changes_nothing)
{
	expect_at(1, 2, 0x10, SET_CONTROL("02", "00000000", "000001f4", "abcd", SELECT), 0,
		  CONTROL("02", "02", "00000000", "000001f4", "abcd", SELECT));
	expect_at(1, 2, 0x10, SET_CONTROL("01", "00000005", "00000006", "1111", "0001"), 400 * US,
		  CONTROL("02", "02", "00000000", "000001f4", "abcd", SELECT));
	/* a request after the end of the interval ends the sample, even if the caller has not run
	 * the timer */
	expect_at(1, 2, 0x10, SET_CONTROL("01", "00000005", "00000006", "1111", "0001"), 500 * US,
		  CONTROL("01", "01", "00000005", "00000006", "1111", "0001"));
}
END_TEST

START_TEST(a_samples_counters_stop_at_32_bits_and_survive_a_port_that_comes_up_anew)
{
	bed.hardware[1].rcv_packets = 1000;
	bed.hardware[1].xmit_packets = 1000;
	expect_at(1, 2, 0x10, SET_CONTROL("01", "00000000", "00000001", "0001", "0004 0003"), 0,
		  CONTROL("01", "02", "00000000", "00000001", "0001", "0004 0003"));
	bed.hardware[1].rcv_packets += UINT64_C(0x100000000);
	bed.hardware[1].xmit_packets = 7;
	expect_at(1, 1, 0x11, "", 1 * US, "0001 0000 ffffffff 00000007");
}
END_TEST

START_TEST(the_longest_sample_does_not_wrap)
{
	expect_at(1, 2, 0x10, SET_CONTROL("01", "ffffffff", "ffffffff", "0001", "0004"),
		  UINT64_MAX - 1, CONTROL("01", "01", "ffffffff", "ffffffff", "0001", "0004"));
	expect_at(1, 1, 0x11, "", UINT64_MAX - 1, "0001 0001");
}
END_TEST

/* -------------------------------------------------------------------- refusals */

static const struct refusal {
	uint8_t method;
	uint16_t attr_id;
	unsigned int status;
	const char *attribute;
} refusals[] = {
	{ 1, 0x0000, 0x0c, "" },
	{ 1, 0x0002, 0x0c, "" }, /* Notice */
	{ 1, 0x0013, 0x0c, "" },
	{ 2, 0x0011, 0x0c, "" }, /* the result is read-only */
	{ 0x12, 0x0012, 0x08, "00 01" },
	{ 0x00, 0x0012, 0x08, "00 01" },
	{ 1, 0x0012, 0x1c, "00 00" }, /* an HCA has no port 0 */
	{ 1, 0x0012, 0x1c, "00 04" },
	{ 2, 0x0012, 0x1c, "00 04 ffff" },
	{ 1, 0x0012, 0x1c, "00 fe" },
	{ 1, 0x001d, 0x1c, "00 00" },
	{ 2, 0x001d, 0x1c, "00 04 ffff" },
	{ 1, 0x0010, 0x1c, "00 00" },
	{ 1, 0x0010, 0x1c, "00 04" },
	{ 1, 0x0010, 0x1c, "00 ff" },
	{ 1, 0x0010, 0x1c, "01 01" }, /* an HCA has no port 0 */
	{ 2, 0x0010, 0x1c, SET_CONTROL("04", "00000001", "00000001", "0001", "0001") },
	{ 2, 0x0010, 0x1c, SET_CONTROL("ff", "00000001", "00000001", "0001", "0001") },
	{ 2, 0x0010, 0x1c, SET_CONTROL("01", "00000001", "00000001", "0001", "0006") },
	{ 2, 0x0010, 0x1c,
	  SET_CONTROL(
		  "01", "00000001", "00000001", "0001",
		  "0001 0001 0001 0001 0001 0001 0001 0001 0001 0001 0001 0001 0001 0001 8000") },
};

START_TEST(what_the_agent_refuses_is_answered_with_ibtas_status_and_changes_nothing)
{
	const struct refusal *r = &refusals[_i];
	struct pma_port before[PORTS + 1];
	struct ib_mad mad, got;

	memcpy(before, bed.port, sizeof(before));
	request(&mad, r->method, r->attr_id, r->attribute);
	ck_assert_msg(ask(1, &mad, 0, &got) == r->status, "method %x, attribute %x, %s", r->method,
		      r->attr_id, r->attribute);
	ck_assert_mem_eq(before, bed.port, sizeof(before));
}
END_TEST

START_TEST(every_attribute_wants_modifier_0)
{
	static const uint16_t attributes[] = { 0x01, 0x10, 0x11, 0x12, 0x1d };
	struct ib_mad mad, got;

	for (size_t i = 0; i < 5; i++) {
		request(&mad, 1, attributes[i], "00 01");
		ck_assert_uint_eq(ask(1, &mad, 0, &got), 0);
		((uint8_t *)&mad)[23] = 1;
		ck_assert_uint_eq(ask(1, &mad, 0, &got), 0x1c);
	}
}
END_TEST

START_TEST(versions_classes_ports_and_methods_are_checked)
{
	struct ib_mad mad, got;

	request(&mad, 1, 0x12, "00 01");
	((uint8_t *)&mad)[2] = 2;
	ck_assert_uint_eq(ask(1, &mad, 0, &got), 0x04);
	((uint8_t *)&mad)[2] = 1;
	ck_assert(!pma_answer(&bed.node, 0, &mad, 0, &got));
	ck_assert(!pma_answer(&bed.node, PORTS + 1, &mad, 0, &got));
	((uint8_t *)&mad)[1] = 3;
	ck_assert(!pma_answer(&bed.node, 1, &mad, 0, &got));
	for (unsigned int method = 0; method < 256; method++) {
		bool want =
			method != 3 && method != 5 && method != 6 && method != 7 && method < 0x80;

		request(&mad, (uint8_t)method, 0x12, "00 01");
		ck_assert_int_eq(pma_answer(&bed.node, 1, &mad, 0, &got), want);
	}
}
END_TEST

START_TEST(a_switch_has_a_port_0_that_counts_or_not)
{
	struct ib_mad mad, got;

	bed.node.is_switch = true;
	request(&mad, 1, 0x12, "00 00 0000");
	ck_assert_uint_eq(ask(0, &mad, 0, &got), 0x1c);
	bed.port_0_counts = true;
	bed.hardware[0] = some;
	expect(1, 0x12, "00 00 0000", "00 00 0000" SOME);
	/* the node has one agent, which takes requests by any port */
	expect_at(3, 2, 0x10, SET_CONTROL("02", "00000001", "00000001", "0001", "0001"), 0,
		  CONTROL("02", "01", "00000001", "00000001", "0001", "0001"));
	expect_at(1, 1, 0x11, "", 0, "0001 0001");
	ck_assert_uint_eq(pma_due(&bed.node, 0), 1 * US);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pma");
	TCase *tc = tcase_create("counters");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, get_port_counters_is_answered_byte_by_byte);
	tcase_add_test(tc, get_port_counters_extended_has_all_64_bits);
	tcase_add_test(tc, each_counter_stops_at_its_width);
	tcase_add_test(tc, a_set_writes_the_selected_counters_of_its_view_only);
	tcase_add_test(tc, a_set_writes_the_value_from_which_the_counter_goes_on);
	tcase_add_test(tc, a_port_that_comes_up_anew_counts_from_0);
	tcase_add_test(tc, all_ports_are_the_sum_of_the_physical_ports_and_are_set_together);
	tcase_add_test(tc, class_port_info_says_what_the_agent_can_do);
	tcase_add_test(tc, only_the_trap_members_of_class_port_info_are_set);
	suite_add_tcase(suite, tc);
	tc = tcase_create("samples");
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, a_sample_counts_from_its_start_for_its_interval);
	tcase_add_test(tc, a_set_during_a_sample_changes_nothing);
	tcase_add_test(tc,
		       a_samples_counters_stop_at_32_bits_and_survive_a_port_that_comes_up_anew);
	tcase_add_test(tc, the_longest_sample_does_not_wrap);
	suite_add_tcase(suite, tc);
	tc = tcase_create("refusals");
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_loop_test(
		tc, what_the_agent_refuses_is_answered_with_ibtas_status_and_changes_nothing, 0,
		(int)(sizeof(refusals) / sizeof(*refusals)));
	tcase_add_test(tc, every_attribute_wants_modifier_0);
	tcase_add_test(tc, versions_classes_ports_and_methods_are_checked);
	tcase_add_test(tc, a_switch_has_a_port_0_that_counts_or_not);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
