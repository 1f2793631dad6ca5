/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RMPP's receiver: segments that are lost or repeated, its memory and time limits, and a peer that
 * breaks a rule. */
#include "test/unit/al/mgmt/rmpp_bed.h"

/* ----------------------------------------------- a peer that breaks a rule */

/*
 * A packet that the receiver gets after segment 1 with window 5, and the status of the abort that
 * the receiver answers. 0: no answer.
 */
static const struct {
	uint8_t type, flags, status;
	uint32_t segment, length;
	uint8_t version, answer;
} bad_segments[] = {
	{ 1, ACTIVE, 0, 0, 0, 1, 120 }, /* segment 0, with and without First */
	{ 1, FIRST, 0, 0, 0, 1, 120 },
	{ 1, FIRST, 0, 2, 0, 1, 120 }, /* First, but not segment 1 */
	{ 1, ONLY, 0, 2, 30, 1, 120 },
	{ 1, ACTIVE, 0, 1, 0, 1, 120 }, /* segment 1 without First */
	{ 1, LAST, 0, 2, 221, 1, 119 }, /* more bytes than a segment has */
	{ 1, LAST, 0, 2, 440, 1, 119 },
	{ 1, LAST, 0, 2, UINT32_MAX, 1, 119 },
	{ 1, LAST, 0, 2, 19, 1, 119 }, /* fewer bytes than the class header */
	{ 1, LAST, 0, 2, 0, 1, 119 },
	{ 1, ACTIVE, 1, 2, 0, 1, 124 }, /* a segment with a status */
	{ 1, ACTIVE, 200, 2, 0, 1, 124 },
	{ 1, ACTIVE, 0, 6, 0, 1, 123 }, /* beyond the window */
	{ 1, LAST, 0, UINT32_MAX, 30, 1, 123 },
	{ 0, ACTIVE, 0, 2, 0, 1, 121 }, /* types that do not exist */
	{ 5, ACTIVE, 0, 2, 0, 1, 121 },
	{ 1, ACTIVE, 0, 2, 0, 0, 125 }, /* versions that do not exist */
	{ 1, ACTIVE, 0, 2, 0, 2, 125 },
	{ 2, ACTIVE, 0, 5, 4, 1, 122 }, /* an acknowledgement that contradicts itself */
	{ 2, ACTIVE, 0, 0, 4, 1, 0 },   /* a direction switch too early */
	{ 1, 0, 0, 9, 0, 1, 0 },        /* the RMPPActive bit is 0 */
};

START_TEST(a_bad_packet_to_the_receiver_is_answered_with_ibtas_status_and_frees_the_memory)
{
	for (size_t i = 0; i < sizeof(bad_segments) / sizeof(bad_segments[0]); i++) {
		struct ib_rmpp_mad bad = peer_packet(
			0x92, bad_segments[i].type, bad_segments[i].flags, bad_segments[i].status,
			bad_segments[i].segment, bad_segments[i].length);

		bad.rmpp.version = bad_segments[i].version;
		start_recv();
		ck_assert(give(peer_data(FIRST, 1, 0)));
		ck_assert_uint_gt(live_bytes, 0);
		ck_assert_int_eq(give(bad), !!bad_segments[i].answer);
		if (!bad_segments[i].answer) {
			ck_assert_int_eq(receiver.state, RMPP_ACTIVE);
			rmpp_recv_destroy(&receiver);
			continue;
		}
		expect_control(&answer, 0x12, 4, bad_segments[i].answer, 0, 0);
		ck_assert_int_eq(receiver.state, RMPP_FAILED);
		ck_assert_uint_eq(receiver.status, bad_segments[i].answer);
		ck_assert_uint_eq(live_bytes, 0);
		/* The packets that the sender sent before its abort are refused too, and do not
		 * revive the transfer. */
		ck_assert(give(peer_data(ACTIVE, 2, 0)));
		expect_control(&answer, 0x12, 4, bad_segments[i].answer, 0, 0);
		ck_assert(give(peer_data(FIRST, 1, 0)));
		ck_assert_uint_eq(live_bytes, 0);
		ck_assert(!give(peer_packet(0x92, 4, ACTIVE, 127, 0, 0)));
	}
}
END_TEST

START_TEST(only_a_good_first_segment_begins_a_transfer_and_others_can_be_refused)
{
	struct ib_rmpp_mad bad = peer_data(ACTIVE, 2, 0);

	ck_assert(!rmpp_begins(&bad));
	ck_assert(!give(bad));
	bad = peer_data(FIRST & ~ACTIVE, 1, 0);
	ck_assert(!rmpp_begins(&bad));
	bad = peer_ack(1, 1);
	ck_assert(!rmpp_begins(&bad));
	bad = peer_data(FIRST, 1, 0);
	ck_assert(rmpp_begins(&bad));
	bad.hdr.mgmt_class = IB_CLASS_PERF;
	ck_assert(!rmpp_begins(&bad));
	bad = peer_data(ONLY, 1, 221);
	ck_assert(!rmpp_begins(&bad));
	ck_assert(!give(bad));
	ck_assert_int_eq(receiver.state, RMPP_ACTIVE);
	ck_assert_uint_eq(rmpp_check(&bad), 119);
	ck_assert(rmpp_refuse(&bad, rmpp_check(&bad), &answer));
	expect_control(&answer, 0x12, 4, 119, 0, 0);
	ck_assert(rmpp_refuse(&bad, IB_RMPP_STATUS_RESX, &answer));
	expect_control(&answer, 0x12, 3, 1, 0, 0);
	ck_assert_uint_eq(allocations, 0);
}
END_TEST

/* -------------------------------------------------------------- the receiver */

START_TEST(a_segment_that_is_not_the_next_is_dropped_and_the_ones_before_are_acknowledged_again)
{
	size_t length = 0;

	ck_assert(give(peer_data(FIRST, 1, 0)));
	ck_assert(give(peer_data(ACTIVE, 3, 0))); /* a gap */
	expect_control(&answer, 0x12, 2, 0, 1, 5);
	ck_assert(give(peer_data(FIRST, 1, 0))); /* repeated */
	expect_control(&answer, 0x12, 2, 0, 1, 5);
	ck_assert(!give(peer_data(ACTIVE, 2, 0)));
	ck_assert(give(peer_data(ACTIVE, 2, 0)));
	expect_control(&answer, 0x12, 2, 0, 2, 5);
	ck_assert(give(peer_data(LAST, 3, 21)));
	expect_control(&answer, 0x12, 2, 0, 3, 5);
	al_free(rmpp_recv_take(&receiver, &length));
	ck_assert_uint_eq(length, 56 + 401);
}
END_TEST

START_TEST(after_the_end_repeated_segments_are_acknowledged_and_nothing_else_is_answered)
{
	size_t length = 0;

	give(peer_data(ONLY, 1, 25));
	for (int taken = 0; taken < 2; taken++) {
		ck_assert(give(peer_data(ONLY, 1, 25)));
		expect_control(&answer, 0x12, 2, 0, 1, 1);
		ck_assert(!give(peer_data(LAST, 2, 500)));
		ck_assert(!give(peer_packet(0x92, 9, ACTIVE, 0, 0, 0)));
		ck_assert(!give(peer_packet(0x92, 4, ACTIVE, 127, 0, 0)));
		ck_assert_int_eq(receiver.state, RMPP_DONE);
		al_free(rmpp_recv_take(&receiver, &length));
	}
	ck_assert_uint_eq(length, 61);
	ck_assert_uint_eq(rmpp_recv_deadline(&receiver), 50 * MS);
	ck_assert(!rmpp_recv_time(&receiver, 50 * MS, &answer));
	ck_assert_int_eq(receiver.state, RMPP_DONE);
}
END_TEST

START_TEST(an_idle_transfer_ends_with_an_abort_and_only_new_segments_keep_it_alive)
{
	struct ib_rmpp_mad first = peer_data(FIRST, 1, 0), second = peer_data(ACTIVE, 2, 0);

	ck_assert(give(first));
	ck_assert_uint_eq(rmpp_recv_deadline(&receiver), 100 * MS);
	rmpp_recv_packet(&receiver, 60 * MS, &second, &answer);
	ck_assert_uint_eq(rmpp_recv_deadline(&receiver), 160 * MS);
	rmpp_recv_packet(&receiver, 90 * MS, &first, &answer);
	ck_assert(!rmpp_recv_time(&receiver, 160 * MS - 1, &answer));
	ck_assert(rmpp_recv_time(&receiver, 160 * MS, &answer));
	expect_control(&answer, 0x12, 4, 118, 0, 0);
	ck_assert_int_eq(receiver.state, RMPP_FAILED);
	ck_assert_uint_eq(receiver.status, IB_RMPP_STATUS_T2L);
	ck_assert_uint_eq(live_bytes, 0);
	ck_assert_uint_eq(rmpp_recv_deadline(&receiver), 210 * MS);
	ck_assert(!rmpp_recv_time(&receiver, 210 * MS, &answer));
}
END_TEST

START_TEST(a_slow_sender_has_a_limit_for_the_whole_transfer)
{
	struct ib_rmpp_mad segment = peer_data(FIRST, 1, 0);
	uint32_t n = 1;
	uint64_t now;

	for (now = 0; !rmpp_recv_time(&receiver, now, &answer); now += 90 * MS) {
		rmpp_recv_packet(&receiver, now, &segment, &answer);
		segment = peer_data(ACTIVE, ++n, 0);
	}
	ck_assert_uint_ge(now, 1000 * MS);
	ck_assert_uint_lt(now, 1090 * MS);
	ck_assert_uint_eq(receiver.status, IB_RMPP_STATUS_T2L);
}
END_TEST

/* ------------------------------------------------------------------- memory */

START_TEST(a_datagram_of_the_cap_arrives_and_one_byte_more_is_stopped)
{
	struct rmpp_recv_attr attr = recv_attr;
	size_t length = 0;

	attr.max_bytes = 56 + 407;
	for (uint32_t more = 0; more < 2; more++) {
		peak_bytes = 0;
		rmpp_recv_init(&receiver, &attr, 0);
		ck_assert(give(peer_data(FIRST, 1, 0)));
		ck_assert(!give(peer_data(ACTIVE, 2, 0)));
		ck_assert(give(peer_data(LAST, 3, 27 + more)));
		ck_assert_uint_lt(peak_bytes, 2 * attr.max_bytes);
		if (more)
			break;
		ck_assert_int_eq(receiver.state, RMPP_DONE);
		ck_assert_uint_le(live_bytes, attr.max_bytes);
		al_free(rmpp_recv_take(&receiver, &length));
		ck_assert_uint_eq(length, attr.max_bytes);
	}
	expect_control(&answer, 0x12, 3, 1, 0, 0);
	ck_assert_int_eq(receiver.state, RMPP_FAILED);
	ck_assert_uint_eq(receiver.status, IB_RMPP_STATUS_RESX);
	ck_assert_uint_eq(live_bytes, 0);
	ck_assert(give(peer_data(LAST, 3, 28))); /* the receiver's last ACK was lost */
	expect_control(&answer, 0x12, 3, 1, 0, 0);
}
END_TEST

START_TEST(a_sender_without_an_end_is_stopped_at_the_cap)
{
	struct rmpp_recv_attr attr = recv_attr;
	uint32_t n;

	attr.max_bytes = 10000;
	rmpp_recv_init(&receiver, &attr, 0);
	give(peer_data(FIRST, 1, UINT32_MAX));
	for (n = 2; receiver.state == RMPP_ACTIVE; n++) {
		give(peer_data(ACTIVE, n, 0));
		ck_assert_uint_lt(peak_bytes, 2 * attr.max_bytes);
		ck_assert_uint_le(n, 51);
	}
	ck_assert_uint_eq(n - 2, (10000 - 56) / 200);
	ck_assert_uint_eq(receiver.status, IB_RMPP_STATUS_RESX);
	ck_assert_uint_eq(live_bytes, 0);
}
END_TEST

START_TEST(a_transfer_for_which_there_is_no_memory_is_stopped)
{
	for (unsigned int nth = 1; nth <= 3; nth++) {
		uint32_t n = 1;

		start_recv();
		fail_at = nth;
		give(peer_data(FIRST, 1, 0));
		while (receiver.state == RMPP_ACTIVE)
			give(peer_data(ACTIVE, ++n, 0));
		expect_control(&answer, 0x12, 3, 1, 0, 0);
		ck_assert_uint_eq(receiver.status, IB_RMPP_STATUS_RESX);
		ck_assert_uint_eq(live_bytes, 0);
		ck_assert_uint_eq(n, nth);
	}
}
END_TEST

START_TEST(a_receiver_that_goes_away_in_the_middle_leaves_nothing)
{
	give(peer_data(FIRST, 1, 0));
	rmpp_recv_destroy(&receiver);
	ck_assert_uint_eq(live_bytes, 0);
	start_recv();
	give(peer_data(ONLY, 1, 30));
	rmpp_recv_destroy(&receiver); /* rmpp_recv_take() was not called */
	ck_assert_uint_eq(live_bytes, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/mgmt/rmpp receiver");
	TCase *tc = tcase_create("receiver");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(
		tc,
		a_bad_packet_to_the_receiver_is_answered_with_ibtas_status_and_frees_the_memory);
	tcase_add_test(tc, only_a_good_first_segment_begins_a_transfer_and_others_can_be_refused);
	tcase_add_test(
		tc,
		a_segment_that_is_not_the_next_is_dropped_and_the_ones_before_are_acknowledged_again);
	tcase_add_test(
		tc, after_the_end_repeated_segments_are_acknowledged_and_nothing_else_is_answered);
	tcase_add_test(tc, an_idle_transfer_ends_with_an_abort_and_only_new_segments_keep_it_alive);
	tcase_add_test(tc, a_slow_sender_has_a_limit_for_the_whole_transfer);
	tcase_add_test(tc, a_datagram_of_the_cap_arrives_and_one_byte_more_is_stopped);
	tcase_add_test(tc, a_sender_without_an_end_is_stopped_at_the_cap);
	tcase_add_test(tc, a_transfer_for_which_there_is_no_memory_is_stopped);
	tcase_add_test(tc, a_receiver_that_goes_away_in_the_middle_leaves_nothing);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
