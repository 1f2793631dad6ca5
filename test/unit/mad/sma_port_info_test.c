/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PortInfo and PortInfoExtended: each field of a Set against the port's current values, for ports
 * of HCAs, and internal and external ports of switches. The offsets of bytes are those of IBTA's
 * table in 14.2.5.6.
 */
#include <stdlib.h>

#include "test/unit/mad/hardware.h"

enum { CA = IB_NODE_CA, SW = IB_NODE_SWITCH };

/* A Set that repeats the current values, without transitions. */
#define UNCHANGED PORT_INFO_OF("0", "0000000000000000", "0000", "00", "0", "ffff")

static void set_request(struct ib_smp *smp, uint32_t attr_mod, int at, const char *digits)
{
	request(smp, 2, 0x15, attr_mod, UNCHANGED);
	smp->data[33] &= 0x0f; /* no transition of the physical state */
	write_hex(smp->data + at, (size_t)(64 - at), digits);
}

START_TEST(get_port_info_shows_the_hardwares_values_and_the_agents)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	bed.port[2].mkey = UINT64_C(0x0102030405060708);
	bed.port[2].mkey_protect = 1;
	bed.port[2].mkey_lease_period = 0x0e10;
	bed.port[2].mkey_violations = 0x0011;
	request(&smp, 1, 0x15, 2, "");
	/* The request arrives by port 1, and lacks the key of port 2. */
	expect_attribute(&bed, 1, &smp,
			 PORT_INFO_OF("4", "0000000000000000", "0e10", "01", "4", "0011"));
	write_hex((uint8_t *)&smp + 24, 8, "0102030405060708");
	expect_attribute(&bed, 1, &smp,
			 PORT_INFO_OF("4", "0102030405060708", "0e10", "01", "4", "0011"));
	/* port number 0 names the port of arrival */
	request(&smp, 1, 0x15, 0, "");
	write_hex((uint8_t *)&smp + 24, 8, "0102030405060708");
	expect_attribute(&bed, 2, &smp,
			 PORT_INFO_OF("4", "0102030405060708", "0e10", "02", "4", "0011"));
	request(&smp, 1, 0x15, 0x80000000, ""); /* the subnet manager supports extended speeds */
	write_hex((uint8_t *)&smp + 24, 8, "0102030405060708");
	expect_attribute(&bed, 2, &smp,
			 PORT_INFO_OF("4", "0102030405060708", "0e10", "02", "4", "0011"));
}
END_TEST

START_TEST(a_switch_shows_the_agents_values_at_port_0_only)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp;

	bed.port[0].mkey = UINT64_C(0x0102030405060708);
	bed.port[0].mkey_lease_period = 0x0e10;
	bed.port[0].mkey_violations = 0x0011;
	request(&smp, 1, 0x15, 0, "");
	expect_attribute(&bed, 3, &smp,
			 PORT_INFO_OF("4", "0102030405060708", "0e10", "03", "0", "0011"));
	request(&smp, 1, 0x15, 2, "");
	expect_attribute(&bed, 3, &smp,
			 PORT_INFO_OF("4", "0000000000000000", "0000", "03", "0", "0000"));
}
END_TEST

START_TEST(set_port_info_keeps_the_key_and_its_period)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	bed.port[1].mkey_violations = 7;
	set_request(&smp, 1, 0, "0102030405060708");
	write_hex(smp.data + 26, 2, "0e10");
	smp.data[34] |= 0x80; /* protection level 2 */
	expect_attribute(&bed, 1, &smp,
			 PORT_INFO_OF("4", "0102030405060708", "0e10", "01", "8", "0007"));
	ck_assert_uint_eq(bed.port[1].mkey, UINT64_C(0x0102030405060708));
	ck_assert_uint_eq(bed.port[1].mkey_lease_period, 0x0e10);
	ck_assert_uint_eq(bed.port[1].mkey_protect, 2);
	/* the hardware gets none of these fields */
	ck_assert_mem_eq(bed.hardware.set.data, "\0\0\0\0\0\0\0\0", 8);
	ck_assert_uint_eq(bed.hardware.set.data[34], 0x02);
	ck_assert_uint_eq(bed.hardware.set.data[26] + bed.hardware.set.data[27] +
				  bed.hardware.set.data[44] + bed.hardware.set.data[45],
			  0);
	/* a Set of 0 clears the violation counters */
	write_hex((uint8_t *)&smp + 24, 8, "0102030405060708");
	write_hex(smp.data + 44, 2, "0000");
	expect_attribute(&bed, 1, &smp,
			 PORT_INFO_OF("4", "0102030405060708", "0e10", "01", "8", "0000"));
}
END_TEST

START_TEST(a_refused_set_changes_nothing_and_answers_the_values_that_stay)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;
	uint8_t want[64] = { 0 };

	set_request(&smp, 1, 0,
		    "0102030405060708 fec0000000000001 c000"); /* M_Key, prefix, multicast LID */
	write_hex(want, 64, PORT_INFO_OF("4", "0000000000000000", "0000", "01", "0", "0000"));
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_REPLY);
	ck_assert_mem_eq(response.data, want, 64);
	ck_assert_uint_eq(bed.port[1].mkey, 0);
	ck_assert_uint_eq(bed.hardware.sets, 0);
	/* a Set that the hardware refuses changes no member either */
	set_request(&smp, 1, 0, "0102030405060708");
	bed.hardware.fail_with = AL_INSUFFICIENT_MEMORY;
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x01);
	ck_assert_uint_eq(bed.port[1].mkey, 0);
}
END_TEST

/*
 * A Set that changes some bytes: the response's status, and the bytes that the hardware gets; NULL:
 * the bytes of the request.
 */
static const struct set_row {
	int type;
	uint32_t attr_mod;
	unsigned int status;
	int at;
	const char *bytes;
	const char *hardware;
} rows[] = {
	/* prefix and LIDs */
	{ CA, 1, 0x00, 8, "fec0000000000077", NULL },
	{ CA, 1, 0x00, 16, "0010", NULL },
	{ CA, 1, 0x00, 16, "bffc", NULL }, /* the last four unicast LIDs */
	{ CA, 1, 0x1c, 16, "0000", NULL },
	{ CA, 1, 0x1c, 16, "c000", NULL },
	{ CA, 1, 0x1c, 16, "ffff", NULL },
	{ CA, 1, 0x1c, 16, "0006", NULL }, /* LMC 2: the last two bits are 0 */
	{ CA, 1, 0x00, 18, "0002", NULL },
	{ CA, 1, 0x1c, 18, "0000", NULL },
	{ CA, 1, 0x1c, 18, "ffff", NULL },
	/* read-only: capability mask, diagnostics, port number, supported and active */
	{ CA, 1, 0x00, 20, "ffffffff ffff", "0600d24e 0000" },
	{ CA, 1, 0x00, 28, "07", "00" },
	{ CA, 1, 0x00, 30, "ff ff", "03 02" },
	{ CA, 1, 0x00, 32, "f0", "70" },
	{ CA, 1, 0x00, 39, "ff ff", "10 08" },
	{ CA, 1, 0x00, 50, "ff", "0a" },
	{ CA, 1, 0x00, 52, "ff", "10" },
	{ CA, 1, 0x00, 54, "ffff ffffffff ffff", "0000 00000000 0003" },
	{ CA, 1, 0x00, 62, "ff", "17" },
	/* widths: 0 no change, 255 all supported; others must be supported */
	{ CA, 1, 0x00, 29, "02", NULL },
	{ CA, 1, 0x00, 29, "00", "03" },
	{ CA, 1, 0x00, 29, "ff", "03" },
	{ CA, 1, 0x1c, 29, "04", NULL },
	{ CA, 1, 0x1c, 29, "0b", NULL },
	/* default state when down: 0 no change, 1 Sleep, 2 Polling */
	{ CA, 1, 0x00, 33, "01", NULL },
	{ CA, 1, 0x00, 33, "00", "02" },
	{ CA, 1, 0x1c, 33, "03", NULL },
	{ CA, 1, 0x1c, 33, "0f", NULL },
	/* LMC */
	{ CA, 1, 0x00, 34, "00", NULL },
	{ CA, 1, 0x1c, 34, "03", NULL }, /* LID 4 is not a multiple of 8 */
	{ CA, 1, 0x00, 34, "3a", "02" }, /* the bits between are reserved */
	/* speeds: 0 no change, 15 all supported; others must be supported; the active speed is
	   read-only */
	{ CA, 1, 0x00, 35, "f1", "41" },
	{ CA, 1, 0x00, 35, "40", "47" },
	{ CA, 1, 0x00, 35, "4f", "47" },
	{ CA, 1, 0x1c, 35, "48", NULL },
	/* MTU, service level */
	{ CA, 1, 0x00, 36, "53", NULL },
	{ CA, 1, 0x00, 36, "1f", NULL },
	{ CA, 1, 0x1c, 36, "03", NULL },
	{ CA, 1, 0x1c, 36, "63", NULL },
	{ CA, 1, 0x1c, 36, "f3", NULL },
	{ CA, 1, 0x00, 37, "f7", "40" }, /* VLCap and InitType are read-only */
	{ CA, 1, 0x00, 38, "ff", NULL },
	{ CA, 1, 0x00, 41, "3f", "35" }, /* InitTypeReply; MTUCap is read-only */
	/* stall count and enforcement are for switches */
	{ CA, 1, 0x00, 42, "13", "f3" },
	{ SW, 1, 0x00, 42, "13", "13" },
	{ CA, 1, 0x00, 43, "1f", "10" },
	{ SW, 1, 0x00, 43, "1f", "1f" },
	{ CA, 1, 0x00, 43, "00", "40" },
	{ CA, 1, 0x1c, 43, "50", NULL }, /* 15 lanes of 8 */
	{ SW, 1, 0x1c, 43, "50", NULL },
	/* P_Key and Q_Key violations */
	{ CA, 1, 0x00, 46, "0000 0000", NULL },
	{ CA, 1, 0x00, 46, "0001 ffff", "0022 0033" },
	/* registration; no suppression without its capability; time-out */
	{ CA, 1, 0x00, 51, "92", NULL },
	{ CA, 1, 0x00, 51, "7f", "1f" },
	{ CA, 1, 0x00, 53, "12", NULL },
	/*
	 * extended speeds: 0 no change, 30 disabled, 31 all supported, others must be supported;
	 * for a subnet manager that supports extended speeds
	 */
	{ CA, 0x80000001, 0x00, 63, "03", NULL },
	{ CA, 0x80000001, 0x00, 63, "00", "07" },
	{ CA, 0x80000001, 0x00, 63, "1e", NULL },
	{ CA, 0x80000001, 0x00, 63, "1f", "07" },
	{ CA, 0x80000001, 0x1c, 63, "08", NULL },
	{ CA, 1, 0x00, 63, "03", "07" },
	{ CA, 1, 0x00, 63, "08", "07" },
	/* an external port of a switch has no LID, no manager, no violations */
	{ SW, 1, 0x00, 8, "fec0000000000077 c000 ffff", "fe80000000000000 0004 0001" },
	{ SW, 1, 0x00, 34, "05", "02" },
	{ SW, 1, 0x00, 36, "5f", "53" },
	{ SW, 1, 0x00, 46, "0000 0000", "0022 0033" },
	{ SW, 1, 0x00, 51, "9f", "12" },
	{ SW, 1, 0x1c, 29, "04", NULL },
	/* a base port 0 has no link, lanes or LMC */
	{ SW, 0, 0x00, 8, "fec0000000000077 0010 0002", NULL },
	{ SW, 0, 0x00, 29, "04", "03" },
	{ SW, 0, 0x00, 34, "00", NULL },
	{ SW, 0, 0x1c, 34, "01", NULL },
	{ SW, 0, 0x00, 36, "f7", "47" },
	{ SW, 0, 0x00, 43, "ff", "40" },
	{ SW, 0, 0x1c, 16, "c000", NULL },
};

START_TEST(each_field_of_a_set_is_checked_against_the_current_port_info)
{
	const struct set_row *row = &rows[_i];
	struct bed bed = bed_of((ib_node_type)row->type);
	uint8_t want[64] = { 0 };
	struct ib_smp smp;

	set_request(&smp, row->attr_mod, row->at, row->bytes);
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), row->status);
	ck_assert_uint_eq(bed.hardware.sets, row->status ? 0 : 1);
	if (row->status)
		return;
	write_hex(want, 64, PORT_INFO_OF("0", "0000000000000000", "0000", "00", "0", "0000"));
	want[33] &= 0x0f;
	write_hex(want + row->at, (size_t)(64 - row->at),
		  row->hardware ? row->hardware : row->bytes);
	for (size_t i = 0; i < sizeof(want); i++)
		ck_assert_msg(bed.hardware.set.data[i] == want[i], "byte %zu is %02x, not %02x", i,
			      bed.hardware.set.data[i], want[i]);
}
END_TEST

START_TEST(values_that_stay_are_never_refused)
{
	struct bed bed = bed_of(IB_NODE_CA);
	uint8_t *now = hardware_row(&bed.hardware, 1, 0x15, 1);
	struct ib_smp smp;

	/* a port without LIDs and MTU, whose enabled width and speed are not supported */
	write_hex(now + 16, 4, "0000 0000");
	now[29] = 0x10;
	now[36] = 0x03;
	set_request(&smp, 1, 16, "0000 0000");
	smp.data[29] = 0x10;
	smp.data[36] = 0x03;
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0);
}
END_TEST

START_TEST(an_enhanced_port_0_has_lanes_and_an_lmc)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp;

	hardware_row(&bed.hardware, 0, 0x12, 0)[16] = 0x08;
	set_request(&smp, 0, 34, "01");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0);
	ck_assert_uint_eq(bed.hardware.set.data[34], 0x01);
	set_request(&smp, 0, 36, "63");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
}
END_TEST

START_TEST(port_states_move_as_ibta_permits)
{
	/* port states (first index) and the commands (second index) that a port takes in this state
	 */
	static const bool may[5][16] = {
		[1] = { [0] = true, [1] = true },
		[2] = { [0] = true, [1] = true, [3] = true },
		[3] = { [0] = true, [1] = true, [4] = true },
		[4] = { [0] = true, [1] = true },
	};

	for (int type = CA; type <= SW; type++)
		for (uint8_t now = 1; now <= 4; now++)
			for (uint8_t to = 0; to < 16; to++) {
				struct bed bed = bed_of((ib_node_type)type);
				uint8_t *stored = hardware_row(&bed.hardware, 1, 0x15, 1);
				struct ib_smp smp;

				stored[32] = (uint8_t)(0x70 | now);
				set_request(&smp, 1, 33, "02");
				smp.data[32] = (uint8_t)(0x70 | to);
				ck_assert_uint_eq(ask_for_status(&bed, 2, &smp),
						  may[now][to] ? 0 : 0x1c);
				if (may[now][to])
					ck_assert_uint_eq(bed.hardware.set.data[32] & 0x0f, to);
				ck_assert_uint_eq(bed.hardware.sets, may[now][to] ? 1 : 0);
			}
}
END_TEST

START_TEST(physical_states_move_with_no_change_or_down_only)
{
	for (uint8_t state = 0; state <= 4; state++)
		for (uint8_t phys = 0; phys < 16; phys++) {
			struct bed bed = bed_of(IB_NODE_CA);
			bool may = phys == 0 || (phys <= 3 && state <= 1);
			struct ib_smp smp;

			if (state == 2)
				continue; /* Initialize is no valid command */
			hardware_row(&bed.hardware, 1, 0x15, 1)[32] =
				(uint8_t)(0x70 | (state ? state - 1 : 4));
			set_request(&smp, 1, 33, "02");
			smp.data[32] = (uint8_t)(0x70 | state);
			smp.data[33] |= (uint8_t)(phys << 4);
			ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), may ? 0 : 0x1c);
			if (may)
				ck_assert_uint_eq(bed.hardware.set.data[33], phys << 4 | 2);
		}
}
END_TEST

START_TEST(a_base_port_0_makes_no_transitions)
{
	struct bed bed = bed_of(IB_NODE_SWITCH);
	struct ib_smp smp;

	set_request(&smp, 0, 32, "71 32");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0);
	ck_assert_uint_eq(bed.hardware.set.data[32] & 0x0f, 0);
	ck_assert_uint_eq(bed.hardware.set.data[33] >> 4, 0);
}
END_TEST

START_TEST(reregistration_is_confirmed_in_the_response_and_not_kept)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp, response;

	set_request(&smp, 1, 51, "92");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_REPLY);
	ck_assert_uint_eq(response.data[51], 0x92);
	request(&smp, 1, 0x15, 1, "");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_REPLY);
	ck_assert_uint_eq(response.data[51], 0x12);
	/* without the capability the bit is reserved */
	hardware_row(&bed.hardware, 1, 0x15, 1)[20] &= 0xfd;
	set_request(&smp, 1, 51, "92");
	ck_assert_int_eq(ask(&bed, 1, &smp, &response), SMA_REPLY);
	ck_assert_uint_eq(response.data[51], 0x12);
	ck_assert_uint_eq(bed.hardware.set.data[51], 0x12);
}
END_TEST

START_TEST(port_info_extended_enables_supported_fec_modes_only)
{
	struct bed bed = bed_of(IB_NODE_CA);
	struct ib_smp smp;

	/* capability, active, and pairs of supported and enabled for FDR, EDR, HDR, NDR */
	hardware_put(&bed.hardware, 1, 0x33, 1,
		     "00000001 0002 000f 0001 0006 0002 000c 0004 0008 0008");
	request(&smp, 1, 0x33, 0, "");
	expect_attribute(&bed, 1, &smp, "00000001 0002 000f 0001 0006 0002 000c 0004 0008 0008");
	request(&smp, 2, 0x33, 1, "ffffffff ffff ffff 000f ffff 0004 ffff 0008 ffff 0000");
	expect_attribute(&bed, 1, &smp, "00000001 0002 000f 000f 0006 0004 000c 0008 0008 0000");
	request(&smp, 2, 0x33, 1, "00000001 0002 000f 0001 0006 0001 000c 0004 0008 0008");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
	request(&smp, 2, 0x33, 1, "00000001 0002 000f 0010 0006 0002 000c 0004 0008 0008");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
	request(&smp, 2, 0x33, 1, "00000001 0002 000f 0001 0006 0002 000c 0002 0008 0008");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
	request(&smp, 2, 0x33, 1, "00000001 0002 000f 0001 0006 0002 000c 0004 0008 0004");
	ck_assert_uint_eq(ask_for_status(&bed, 1, &smp), 0x1c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sma_port_info");
	TCase *tc = tcase_create("fields");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, get_port_info_shows_the_hardwares_values_and_the_agents);
	tcase_add_test(tc, a_switch_shows_the_agents_values_at_port_0_only);
	tcase_add_test(tc, set_port_info_keeps_the_key_and_its_period);
	tcase_add_test(tc, a_refused_set_changes_nothing_and_answers_the_values_that_stay);
	tcase_add_loop_test(tc, each_field_of_a_set_is_checked_against_the_current_port_info, 0,
			    (int)(sizeof(rows) / sizeof(*rows)));
	tcase_add_test(tc, values_that_stay_are_never_refused);
	tcase_add_test(tc, an_enhanced_port_0_has_lanes_and_an_lmc);
	suite_add_tcase(suite, tc);
	tc = tcase_create("states");
	tcase_add_test(tc, port_states_move_as_ibta_permits);
	tcase_add_test(tc, physical_states_move_with_no_change_or_down_only);
	tcase_add_test(tc, a_base_port_0_makes_no_transitions);
	tcase_add_test(tc, reregistration_is_confirmed_in_the_response_and_not_kept);
	tcase_add_test(tc, port_info_extended_enables_supported_fec_modes_only);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
