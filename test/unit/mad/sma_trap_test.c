/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Notices and traps of the subnet management agent: their bytes by IBTA's tables in 13.4.8.2
 * and 14.2.5.1, their queues, and the times at which traps are sent. The test passes the time as a
 * number.
 */
#include <stdlib.h>

#include "test/unit/mad/hardware.h"

#define MS      UINT64_C(1000000)
#define SPACING (UINT64_C(4096) << 18) /* SubnetTimeOut is 18: 1.07 s */

static void expect_notice(const struct ib_notice *notice, const char *digits)
{
	uint8_t want[80] = { 0 };

	write_hex(want, 64, digits);
	for (size_t i = 0; i < sizeof(want); i++)
		ck_assert_msg(((const uint8_t *)notice)[i] == want[i], "byte %zu is %02x, not %02x",
			      i, ((const uint8_t *)notice)[i], want[i]);
}

/* Before the details: generic and type, producer, trap, issuer, toggle and count. */
START_TEST(notices_have_the_bytes_of_ibtas_tables)
{
	ib_gid gid1 = { .raw = { 0xfe, 0x80, [15] = 1 } },
	       gid2 = { .raw = { 0xfe, 0x80, [15] = 2 } };
	struct ib_bad_key bad = { .slid = 0x11,
				  .dlid = 0x22,
				  .key = 0x8001,
				  .sl = 5,
				  .src_qp = 0x123456,
				  .dst_qp = 0x234567,
				  .sgid = &gid1,
				  .dgid = &gid2 };
	struct ib_notice n;

	ib_notice_link_state(&n, 4);
	expect_notice(&n, "81 000000 0080 0000 0000  0004");
	ib_notice_port(&n, IB_TRAP_LINK_INTEGRITY, 4, 2);
	expect_notice(&n, "81 000000 0081 0000 0000  0000 0004 02");
	ib_notice_port(&n, IB_TRAP_BUFFER_OVERRUN, 4, 2);
	expect_notice(&n, "81 000000 0082 0000 0000  0000 0004 02");
	ib_notice_port(&n, IB_TRAP_WATCHDOG, 4, 2);
	expect_notice(&n, "81 000000 0083 0000 0000  0000 0004 02");
	ib_notice_local_change(&n, 4, 0x12345678, 0x0003, 0);
	expect_notice(&n, "84 000000 0090 0000 0000  0000 0004 00 00 12345678 0000 0003");
	ib_notice_local_change(&n, 4, 0x12345678, 0x0003,
			       IB_CHANGE_NODE_DESC | IB_CHANGE_LINK_SPEED);
	expect_notice(&n, "84 000000 0090 0000 0000  0000 0004 00 01 12345678 0005 0003");
	ib_notice_sys_image(&n, 4, UINT64_C(0x0002c90300000a0f));
	expect_notice(&n, "84 000000 0091 0000 0000  0000 0004 0000 0002c90300000a0f");
	ib_notice_bad_key(&n, IB_TRAP_BAD_PKEY, &bad);
	expect_notice(&n, "82 000000 0101 0000 0000  0000 0011 0022 00008001 50123456 00234567"
			  "fe800000000000000000000000000001 fe800000000000000000000000000002");
	bad.key = 0x80010000;
	bad.sgid = bad.dgid = NULL;
	ib_notice_bad_key(&n, IB_TRAP_BAD_QKEY, &bad);
	expect_notice(&n, "82 000000 0102 0000 0000  0000 0011 0022 80010000 50123456 00234567");
	bad.key = 0x8001;
	ib_notice_switch_bad_pkey(&n, 4, 2, &bad);
	expect_notice(&n,
		      "82 000000 0103 0000 0000  003f 0011 0022 8001 50123456 00234567"
		      "00000000000000000000000000000000 00000000000000000000000000000000 0004 02");
	bad.sgid = &gid1;
	bad.dgid = &gid2;
	ib_notice_switch_bad_pkey(&n, 4, 2, &bad);
	expect_notice(&n,
		      "82 000000 0103 0000 0000  00ff 0011 0022 8001 50123456 00234567"
		      "fe800000000000000000000000000001 fe800000000000000000000000000002 0004 02");
}
END_TEST

START_TEST(trap_256_names_the_packet_that_had_the_bad_key)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;

	bed.port[2].mkey = 1;
	request(&smp, 2, 0x15, 0x80000002, "");
	write_hex((uint8_t *)&smp + 24, 8, "aabbccdd00112233");
	ck_assert_int_eq(ask(&bed, 2, &smp, &response), SMA_DROP);
	expect_notice(
		&bed.hardware.notice,
		"82 000001 0100 0004 0000  0000 0009 0000 02 00 0015 80000002 aabbccdd00112233");
}
END_TEST

START_TEST(trap_256_has_the_return_path_of_a_directed_route)
{
	struct ib_notice n;
	struct ib_smp smp;

	request(&smp, 1, 0x11, 0, "");
	write_hex((uint8_t *)&smp + 1, 1, "81");
	write_hex((uint8_t *)&smp + 6, 2, "04 03");
	write_hex((uint8_t *)&smp + 32, 4, "ffff ffff");
	write_hex((uint8_t *)&smp + 192, 64, "99 01 02 03 04");
	sma_notice_bad_mkey(&n, 0xffff, &smp);
	expect_notice(
		&n,
		"82 000000 0100 0000 0000  0000 ffff ffff 01 00 0011 00000000 0000000000000000 00 83 010203");
	/* 31 hops: the details have no room for the last hop */
	((uint8_t *)&smp)[7] = 31;
	for (int i = 1; i <= 63; i++)
		((uint8_t *)&smp)[192 + i] = (uint8_t)i;
	sma_notice_bad_mkey(&n, 0xffff, &smp);
	expect_notice(
		&n,
		"82 000000 0100 0000 0000  0000 ffff ffff 01 00 0011 00000000 0000000000000000 00 df"
		"0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e");
	((uint8_t *)&smp)[7] = 30;
	sma_notice_bad_mkey(&n, 0xffff, &smp);
	ck_assert_uint_eq(((uint8_t *)&n)[33], 0x9e);
}
END_TEST

/* ------------------------------------------------------------------------ traps */

static void raise_port_trap(struct bed *bed, uint8_t port, uint8_t about, uint64_t now_ns)
{
	struct ib_notice n;

	ib_notice_port(&n, IB_TRAP_WATCHDOG, 4, about);
	sma_raise(bed_node(bed), port, &n, now_ns);
}

START_TEST(a_trap_is_a_lid_routed_packet_to_the_master_subnet_manager)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct sma_destination to;
	struct ib_smp got, want;

	ck_assert_uint_eq(sma_trap_due(bed_node(&bed), 0), SMA_NEVER);
	raise_port_trap(&bed, 0, 2, 5 * MS);
	ck_assert_uint_eq(sma_trap_due(&bed.node, 0), 5 * MS);
	ck_assert(!sma_trap_next(&bed.node, 0, 5 * MS - 1, &got, &to));
	ck_assert(sma_trap_next(&bed.node, 0, 5 * MS, &got, &to));
	ck_assert_uint_eq(to.dlid, 0x0001);
	ck_assert_uint_eq(to.sl, 3);
	write_datagram(&want, "01 01 01 05 0000 0000 7700000000000001 0002 0000 00000000", 64,
		       "81 000002 0083 0004 0000  0000 0004 02");
	ck_assert_mem_eq(&got, &want, 256);
}
END_TEST

START_TEST(a_trap_is_repeated_every_subnet_timeout_until_it_is_repressed)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct sma_destination to;
	struct ib_smp got, smp;

	raise_port_trap(&bed, 2, 2, 0);
	for (uint64_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(sma_trap_due(&bed.node, 2), i * SPACING);
		ck_assert(!i || !sma_trap_next(&bed.node, 2, i * SPACING - 1, &got, &to));
		ck_assert(sma_trap_next(&bed.node, 2, i * SPACING, &got, &to));
		ck_assert_uint_eq(((uint8_t *)&got)[15], 1);
	}
	ck_assert_uint_eq(sma_trap_due(&bed.node, 1), SMA_NEVER);
	request(&smp, 7, 0x02, 0, "");
	write_hex((uint8_t *)&smp + 8, 8, "7700000000000002"); /* another transaction ID */
	ck_assert_int_eq(ask(&bed, 2, &smp, &got), SMA_CONSUMED);
	ck_assert_uint_ne(sma_trap_due(&bed.node, 2), SMA_NEVER);
	write_hex((uint8_t *)&smp + 8, 8, "7700000000000001");
	ck_assert_int_eq(ask(&bed, 1, &smp, &got), SMA_CONSUMED); /* another port */
	ck_assert_uint_ne(sma_trap_due(&bed.node, 2), SMA_NEVER);
	ck_assert_int_eq(ask(&bed, 2, &smp, &got), SMA_CONSUMED);
	ck_assert_uint_eq(sma_trap_due(&bed.node, 2), SMA_NEVER);
}
END_TEST

START_TEST(a_short_subnet_timeout_does_not_make_a_storm)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct sma_destination to;
	struct ib_smp got;

	hardware_row(&bed.hardware, 1, 0x15, 1)[51] = 0;
	raise_port_trap(&bed, 1, 2, 0);
	ck_assert(sma_trap_next(&bed.node, 1, 0, &got, &to));
	ck_assert_uint_eq(sma_trap_due(&bed.node, 1), SMA_TRAP_REPEAT_NS);
}
END_TEST

START_TEST(two_traps_keep_their_distance_and_take_turns)
{
	static const uint8_t want[] = { 1, 2, 1, 2, 1 };
	struct bed bed = bed_of(IB_NODE_CA);
	struct sma_destination to;
	struct ib_smp got;

	raise_port_trap(&bed, 1, 1, 0);
	raise_port_trap(&bed, 1, 2, 0);
	for (uint64_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(sma_trap_due(&bed.node, 1), i * SPACING);
		ck_assert(sma_trap_next(&bed.node, 1, i * SPACING, &got, &to));
		ck_assert(!sma_trap_next(&bed.node, 1, i * SPACING, &got, &to));
		ck_assert_uint_eq(((uint8_t *)&got)[78], want[i]); /* port number in the details */
	}
}
END_TEST

START_TEST(the_same_event_waits_once_and_a_full_queue_counts)
{
	struct bed bed = bed_of(IB_NODE_CA);

	for (int i = 0; i < 3; i++)
		raise_port_trap(&bed, 1, 7, (uint64_t)i);
	ck_assert_uint_eq(bed.port[1].num_traps, 1);
	for (uint8_t i = 1; i <= SMA_TRAPS_MAX; i++)
		raise_port_trap(&bed, 1, (uint8_t)(100 + i), 0);
	ck_assert_uint_eq(bed.port[1].num_traps, SMA_TRAPS_MAX);
	ck_assert_uint_eq(bed.port[1].traps_dropped, 1);
}
END_TEST

START_TEST(a_trap_waits_for_an_active_port_and_a_subnet_manager)
{
	static const struct {
		int at;
		uint8_t value;
	} missing[] = { { 32, 0x73 }, { 32, 0x71 }, { 19, 0 }, { 18, 0xc0 } };

	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
		struct bed bed = bed_of(IB_NODE_CA);
		uint8_t *info = hardware_row(&bed.hardware, 1, 0x15, 1), was = info[missing[i].at];
		struct sma_destination to;
		struct ib_smp got;

		raise_port_trap(&bed, 1, 7, 0);
		info = hardware_row(&bed.hardware, 1, 0x15, 1);
		info[missing[i].at] = missing[i].value;
		ck_assert(!sma_trap_next(&bed.node, 1, 0, &got, &to));
		ck_assert_uint_eq(sma_trap_due(&bed.node, 1), SMA_TRAP_REPEAT_NS);
		info[missing[i].at] = was;
		info[17] = 0x44; /* the LID has changed */
		ck_assert(sma_trap_next(&bed.node, 1, SMA_TRAP_REPEAT_NS, &got, &to));
		ck_assert_uint_eq(((uint8_t *)&got)[71], 0x44);
	}
}
END_TEST

START_TEST(without_their_capabilities_there_are_no_traps_and_no_notices)
{
	struct bed bed = bed_of(IB_NODE_CA);

	hardware_row(&bed.hardware, 1, 0x15, 1)[23] &= 0xf3;
	raise_port_trap(&bed, 1, 7, 0);
	ck_assert_uint_eq(bed.port[1].num_traps + bed.port[1].num_notices, 0);
	hardware_row(&bed.hardware, 1, 0x15, 1)[23] |= 0x08;
	raise_port_trap(&bed, 1, 7, 0);
	ck_assert_uint_eq(bed.port[1].num_traps, 1);
	ck_assert_uint_eq(bed.port[1].num_notices, 0);
	hardware_row(&bed.hardware, 1, 0x15, 1)[23] ^= 0x0c;
	raise_port_trap(&bed, 1, 8, 0);
	ck_assert_uint_eq(bed.port[1].num_traps, 1);
	ck_assert_uint_eq(bed.port[1].num_notices, 1);
}
END_TEST

START_TEST(notices_are_read_and_cleared_by_their_toggle)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp get, set0, set1;

	request(&get, 1, 0x02, 0, "");
	request(&set0, 2, 0x02, 0, "00 000000 0000 0000 0000");
	request(&set1, 2, 0x02, 0, "00 000000 0000 0000 8000");
	expect_attribute(&bed, 1, &get, "7f 000000 0000 0000 0000");
	raise_port_trap(&bed, 1, 1, 0);
	raise_port_trap(&bed, 1, 2, 0);
	expect_attribute(&bed, 1, &get, "81 000001 0083 0004 0002  0000 0004 01");
	expect_attribute(&bed, 1, &set1, "81 000001 0083 0004 0002  0000 0004 01");
	expect_attribute(&bed, 1, &set0, "81 000001 0083 0004 8001  0000 0004 02");
	expect_attribute(
		&bed, 1, &set0,
		"81 000001 0083 0004 8001  0000 0004 02"); /* a late TrapRepress: changes nothing */
	expect_attribute(&bed, 1, &set1, "7f 000000 0000 0000 0000");
	expect_attribute(&bed, 1, &set0, "7f 000000 0000 0000 0000"); /* no notice is queued */
	for (uint8_t i = 0; i < SMA_NOTICES_MAX + 2; i++)
		raise_port_trap(&bed, 1, (uint8_t)(10 + i), 0);
	ck_assert_uint_eq(bed.port[1].num_notices, SMA_NOTICES_MAX);
}
END_TEST

START_TEST(times_near_the_end_of_the_clock_do_not_wrap)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct sma_destination to;
	struct ib_smp got;

	raise_port_trap(&bed, 1, 1, UINT64_MAX - 2);
	ck_assert(sma_trap_next(&bed.node, 1, UINT64_MAX - 2, &got, &to));
	ck_assert_uint_ge(sma_trap_due(&bed.node, 1), UINT64_MAX - 2);
	ck_assert_uint_ne(sma_trap_due(&bed.node, 1), SMA_NEVER);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sma_trap");
	TCase *tc = tcase_create("formats");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, notices_have_the_bytes_of_ibtas_tables);
	tcase_add_test(tc, trap_256_names_the_packet_that_had_the_bad_key);
	tcase_add_test(tc, trap_256_has_the_return_path_of_a_directed_route);
	suite_add_tcase(suite, tc);
	tc = tcase_create("traps");
	tcase_add_test(tc, a_trap_is_a_lid_routed_packet_to_the_master_subnet_manager);
	tcase_add_test(tc, a_trap_is_repeated_every_subnet_timeout_until_it_is_repressed);
	tcase_add_test(tc, a_short_subnet_timeout_does_not_make_a_storm);
	tcase_add_test(tc, two_traps_keep_their_distance_and_take_turns);
	tcase_add_test(tc, the_same_event_waits_once_and_a_full_queue_counts);
	tcase_add_test(tc, a_trap_waits_for_an_active_port_and_a_subnet_manager);
	tcase_add_test(tc, without_their_capabilities_there_are_no_traps_and_no_notices);
	tcase_add_test(tc, notices_are_read_and_cleared_by_their_toggle);
	tcase_add_test(tc, times_near_the_end_of_the_clock_do_not_wrap);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
