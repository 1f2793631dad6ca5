/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The responses to datagrams that no service takes (IBTA 13.4.5 to 13.4.7), and datagrams that get
 * no response. */
#include <stdlib.h>

#include "mad/gsi.h"
#include "test/unit/mad/datagram.h"

/* base, class, version, method; status; reserved; TID; attribute; 0; modifier */
#define HEAD(cls, method, status) \
	"01 " cls " 01 " method " " status " 0000 1122334455667788 0011 0000 00000005"

START_TEST(a_request_of_a_class_without_a_service_is_told_so)
{
	static const char *const rows[][2] = {
		/*
		 * pairs of a method and the method of its response: Get, Set, GetTable,
		 * GetTraceTable, GetMulti, Delete, a method of no class
		 */
		{ "01", "81" }, { "02", "81" }, { "12", "92" }, { "13", "92" },
		{ "14", "94" }, { "15", "95" }, { "7f", "ff" }, { "00", "80" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ib_mad mad, want, got;
		char head[128];

		snprintf(head, sizeof(head), HEAD("05", "%s", "0000"), rows[i][0]);
		write_datagram(&mad, head, 24, "0102030405");
		snprintf(head, sizeof(head), HEAD("05", "%s", "0004"), rows[i][1]);
		write_datagram(&want, head, 24, "0102030405");
		ck_assert(gsi_answer_unserved(&mad, &got));
		ck_assert_mem_eq(&got, &want, 256);
		ck_assert(gsi_answer_unserved(&mad, &mad));
		ck_assert_mem_eq(&mad, &want, 256);
	}
}
END_TEST

START_TEST(another_base_version_is_answered_with_ours)
{
	struct ib_mad mad, got;

	write_datagram(&mad, "80 04 01 01", 24, "");
	ck_assert(gsi_answer_unserved(&mad, &got));
	ck_assert_uint_eq(((uint8_t *)&got)[0], 1);
	ck_assert_uint_eq(((uint8_t *)&got)[5], 4);
}
END_TEST

START_TEST(what_expects_no_response_gets_none)
{
	/* no response: Send, Trap, Report, TrapRepress, and every response */
	for (unsigned int method = 0; method < 256; method++) {
		bool want =
			method != 3 && method != 5 && method != 6 && method != 7 && method < 0x80;
		struct ib_mad mad, got;

		write_datagram(&mad, HEAD("04", "00", "0000"), 24, "");
		mad.hdr.method = (uint8_t)method;
		ck_assert_int_eq(gsi_answer_unserved(&mad, &got), want);
	}
}
END_TEST

START_TEST(segments_and_acknowledgements_of_rmpp_get_none)
{
	static const struct {
		const char *cls;
		bool rmpp;
	} rows[] = { { "03", true },  { "10", true },  { "12", true },
		     { "30", true },  { "4f", true },  { "04", false },
		     { "06", false }, { "2f", false }, { "50", false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ib_mad mad, got;
		char head[128];

		snprintf(head, sizeof(head), HEAD("%s", "12", "0000"), rows[i].cls);
		write_datagram(&mad, head, 24, "01 02 01"); /* version, acknowledgement, active */
		ck_assert_int_eq(gsi_answer_unserved(&mad, &got), !rows[i].rmpp);
		write_datagram(&mad, head, 24, "01 00 00");
		ck_assert(gsi_answer_unserved(&mad, &got));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gsi");
	TCase *tc = tcase_create("responses");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, a_request_of_a_class_without_a_service_is_told_so);
	tcase_add_test(tc, another_base_version_is_answered_with_ours);
	tcase_add_test(tc, what_expects_no_response_gets_none);
	tcase_add_test(tc, segments_and_acknowledgements_of_rmpp_get_none);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
