/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The tools' reading of command lines, and their output for users: al/tools/tool.c. */
#include <check.h>
#include <stdlib.h>

#include "al/tools/tool.h"

#define ck_text(expression, wanted) do { \
	g_autofree char *text_ = (expression); \
	ck_assert_str_eq(text_, wanted); \
} while (0)

START_TEST(a_size_has_a_unit_of_1024_or_none)
{
	guint64 n = 7;

	ck_assert(tool_parse_size("4096", 1, 1 << 20, &n) && n == 4096);
	ck_assert(tool_parse_size("64K", 1, 1 << 20, &n) && n == 65536);
	ck_assert(tool_parse_size("64k", 1, 1 << 20, &n) && n == 65536);
	ck_assert(tool_parse_size("1M", 1, 1 << 20, &n) && n == 1 << 20);
	ck_assert(tool_parse_size("3T", 1, G_MAXUINT64, &n) && n == 3ull << 40);
}
END_TEST

START_TEST(a_wrong_size_is_refused_and_changes_nothing)
{
	static const char *const wrong[] = { "", "K", "-1", "1.5M", "1MB", "0x10", " 1", "1 K", "2M", "0", "17179869184G" };
	guint64 n = 7;

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		ck_assert_msg(!tool_parse_size(wrong[i], 1, 1 << 20, &n), "\"%s\"", wrong[i]);
	ck_assert_uint_eq(n, 7);
}
END_TEST

START_TEST(a_guid_has_16_digits_however_they_are_written_or_fewer_behind_0x)
{
	static const char *const right[] = { "0x0002c90300ef5ba1",  "0002c90300ef5ba1",
					     "0002:c903:00ef:5ba1", "00:02:c9:03:00:ef:5b:a1",
					     "0x0002C90300EF5BA1",  "0x2c90300ef5ba1" };
	static const char *const wrong[] = { "",
					     "0x",
					     "1",
					     "2c90300ef5ba1",
					     "0002c90300ef5ba",
					     "0002c90300ef5bag",
					     "0002c90300ef5ba12",
					     "-002c90300ef5ba1",
					     "0x00002c90300ef5ba1",
					     "0x2:c9" };
	guint64 n = 7;

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		ck_assert_msg(!tool_parse_guid(wrong[i], &n), "\"%s\"", wrong[i]);
	ck_assert_uint_eq(n, 7);
	for (guint i = 0; i < G_N_ELEMENTS(right); i++) {
		n = 0;
		ck_assert_msg(tool_parse_guid(right[i], &n), "\"%s\"", right[i]);
		ck_assert_uint_eq(n, 0x0002c90300ef5ba1);
	}
}
END_TEST

START_TEST(a_range_may_be_one_number_or_have_no_end)
{
	guint64 a = 1, b = 1;

	ck_assert(tool_parse_range("17", 100, &a, &b) && a == 17 && b == 17);
	ck_assert(tool_parse_range("3-9", 100, &a, &b) && a == 3 && b == 9);
	ck_assert(tool_parse_range("0x10-0x20", 100, &a, &b) && a == 16 && b == 32);
	ck_assert(tool_parse_range("5-", 100, &a, &b) && a == 5 && b == 100);
	ck_assert(!tool_parse_range("9-3", 100, &a, &b));
	ck_assert(!tool_parse_range("-3", 100, &a, &b));
	ck_assert(!tool_parse_range("1-101", 100, &a, &b));
	ck_assert(!tool_parse_range("x", 100, &a, &b));
	ck_assert(!tool_parse_range("", 100, &a, &b));
	ck_assert(a == 5 && b == 100);
}
END_TEST

START_TEST(numbers_are_written_as_people_read_them)
{
	const ib_gid gid = { .raw = { 0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 0xef, 0x5b, 0xa1 } };

	ck_text(tool_guid_text(0x2c90300ef5ba1), "0x0002c90300ef5ba1");
	ck_text(tool_gid_text(&gid), "fe80::2:c903:ef:5ba1");
	ck_text(tool_bytes_text(0), "0 B");
	ck_text(tool_bytes_text(999), "999 B");
	ck_text(tool_bytes_text(1000), "1.0 kB");
	ck_text(tool_bytes_text(268435456), "268 MB");
	ck_text(tool_bytes_text(99.96e6), "100 MB");
	ck_text(tool_bytes_text(999.7e6), "1.0 GB");
	ck_text(tool_age_text(12345678), "12 ms");
	ck_text(tool_age_text(3290000000), "3.2 s");
	ck_text(tool_age_text(61000000000), "1 min 1 s");
	ck_text(tool_age_text(7500000000000), "2 h 5 min");
}
END_TEST

START_TEST(a_name_from_outside_can_not_steer_the_terminal)
{
	ck_text(tool_clean("soft HCA 0"), "soft HCA 0");
	ck_text(tool_clean("\033[2Jx\n"), "?[2Jx?");
	ck_text(tool_clean("gr\xc3\xbcn"), "gr\xc3\xbcn");
	ck_text(tool_clean("a\xff"), "a\xef\xbf\xbd");
	ck_assert_int_eq(tool_width("gr\xc3\xbcn"), 4);
}
END_TEST

START_TEST(the_rate_of_a_port_is_lanes_by_speed)
{
	ck_assert_uint_eq(tool_rate_mbps(IB_WIDTH_4X, IB_SPEED_EDR), 100000);
	ck_assert_uint_eq(tool_rate_mbps(IB_WIDTH_1X, IB_SPEED_SDR), 2500);
	ck_assert_uint_eq(tool_rate_mbps(IB_WIDTH_12X, IB_SPEED_HDR), 600000);
	ck_assert_uint_eq(tool_rate_mbps((ib_width)0, IB_SPEED_EDR), 0);
	ck_assert_uint_eq(tool_rate_mbps(IB_WIDTH_4X, (ib_speed)0), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tool");
	TCase *tc = tcase_create("text");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, a_size_has_a_unit_of_1024_or_none);
	tcase_add_test(tc, a_wrong_size_is_refused_and_changes_nothing);
	tcase_add_test(tc, a_guid_has_16_digits_however_they_are_written_or_fewer_behind_0x);
	tcase_add_test(tc, a_range_may_be_one_number_or_have_no_end);
	tcase_add_test(tc, numbers_are_written_as_people_read_them);
	tcase_add_test(tc, a_name_from_outside_can_not_steer_the_terminal);
	tcase_add_test(tc, the_rate_of_a_port_is_lanes_by_speed);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
