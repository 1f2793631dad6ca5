/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RMPP's sender: its window, repetitions and time limits, and a peer that breaks a rule. */
#include "test/unit/al/mgmt/rmpp_bed.h"

static void expect_failed_send(uint8_t status)
{
	ck_assert_int_eq(sender.state, RMPP_FAILED);
	ck_assert_uint_eq(sender.status, status);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	expect_control(&packet, 0x92, 4, status, 0, 0);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
	ck_assert_uint_eq(rmpp_send_deadline(&sender), RMPP_NO_DEADLINE);
}

/* -------------------------------------------------------- the sender's window */

START_TEST(the_sender_begins_with_one_segment_and_then_keeps_to_the_window)
{
	start_send(1000);
	ck_assert_str_eq(handed_out(), "1");
	give_ack(1, 3);
	ck_assert_str_eq(handed_out(), "23");
	give_ack(2, 4);
	ck_assert_str_eq(handed_out(), "4");
	give_ack(4, UINT32_MAX);
	ck_assert_str_eq(handed_out(), "5");
	give_ack(5, UINT32_MAX);
	ck_assert_int_eq(sender.state, RMPP_DONE);
	ck_assert_uint_eq(sender.status, 0);
}
END_TEST

START_TEST(an_old_acknowledgement_changes_nothing)
{
	start_send(1600);
	handed_out();
	give_ack(1, 4);
	ck_assert_str_eq(handed_out(), "234");
	give_ack(3, 6);
	ck_assert_str_eq(handed_out(), "56");
	give_ack(1, 8);
	give_ack(3, 3);
	ck_assert_str_eq(handed_out(), "");
	ck_assert_int_eq(sender.state, RMPP_ACTIVE);
	give_ack(4, 5); /* the window does not shrink */
	rmpp_send_time(&sender, 10 * MS);
	ck_assert_str_eq(handed_out(), "56");
}
END_TEST

START_TEST(the_sender_goes_back_to_the_first_segment_that_is_not_acknowledged)
{
	start_send(1000);
	handed_out();
	ck_assert_uint_eq(rmpp_send_deadline(&sender), 10 * MS);
	rmpp_send_time(&sender, 10 * MS - 1);
	ck_assert_str_eq(handed_out(), "");
	rmpp_send_time(&sender, 10 * MS);
	ck_assert_str_eq(handed_out(), "1");
	give_ack(1, 5);
	ck_assert_str_eq(handed_out(), "2345");
	give_ack(3, 5);
	rmpp_send_time(&sender, 10 * MS);
	give_ack(4, 5);
	ck_assert_str_eq(handed_out(), "5");
}
END_TEST

START_TEST(only_progress_renews_the_retries_and_without_the_sender_gives_up)
{
	start_send(1000);
	handed_out();
	for (int i = 0; i < 3; i++) {
		rmpp_send_time(&sender, 10 * MS);
		ck_assert_str_eq(handed_out(), "1");
	}
	give_ack(1, 2);
	ck_assert_str_eq(handed_out(), "2");
	for (int i = 0; i < 3; i++) {
		rmpp_send_time(&sender, 10 * MS);
		give_ack(1, 2);
		ck_assert_str_eq(handed_out(), "2");
	}
	rmpp_send_time(&sender, 10 * MS);
	expect_failed_send(IB_RMPP_STATUS_TMR);
}
END_TEST

START_TEST(repeated_acknowledgements_do_not_postpone_the_time_out)
{
	struct ib_rmpp_mad ack = peer_ack(1, 2);

	start_send(1000);
	handed_out();
	give_ack(1, 2);
	handed_out();
	rmpp_send_packet(&sender, 9 * MS, &ack);
	ck_assert_uint_eq(rmpp_send_deadline(&sender), 10 * MS);
	ack = peer_ack(2, 3);
	rmpp_send_packet(&sender, 9 * MS, &ack);
	ck_assert_uint_eq(rmpp_send_deadline(&sender), 19 * MS);
}
END_TEST

START_TEST(a_closed_window_is_probed_with_the_last_acknowledged_segment)
{
	start_send(1000);
	handed_out();
	give_ack(1, 1);
	ck_assert_str_eq(handed_out(), "");
	rmpp_send_time(&sender, 10 * MS);
	ck_assert_str_eq(handed_out(), "1");
	give_ack(1, 3);
	ck_assert_str_eq(handed_out(), "23");
}
END_TEST

START_TEST(the_whole_transfer_has_a_time_limit_although_it_advances)
{
	uint64_t now = 0;
	uint32_t segment = 0;

	start_send(100000);
	while (sender.state == RMPP_ACTIVE && rmpp_send_next(&sender, now, &packet)) {
		struct ib_rmpp_mad ack = peer_ack(segment + 1, segment + 2);

		segment++;
		now += 9 * MS;
		rmpp_send_time(&sender, now);
		rmpp_send_packet(&sender, now, &ack);
		ck_assert_uint_lt(segment, 200);
	}
	ck_assert_uint_ge(now, 1000 * MS);
	ck_assert_uint_le(now, 1009 * MS);
	ck_assert_int_eq(sender.state, RMPP_FAILED);
	ck_assert_uint_eq(sender.status, IB_RMPP_STATUS_T2L);
}
END_TEST

START_TEST(a_time_out_that_is_as_good_as_never_does_not_wrap)
{
	struct rmpp_send_attr attr = send_attr;

	attr.ack_timeout = attr.total_timeout = UINT64_MAX;
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram,
					make_datagram(IB_CLASS_SUBN_ADM, 1), 12345),
			 AL_SUCCESS);
	ck_assert(rmpp_send_next(&sender, 12345, &packet));
	ck_assert_uint_eq(rmpp_send_deadline(&sender), RMPP_NO_DEADLINE);
}
END_TEST

START_TEST(a_cancelled_transfer_ends_with_an_abort)
{
	start_send(1000);
	handed_out();
	rmpp_send_abort(&sender, IB_RMPP_STATUS_UNSPEC);
	expect_failed_send(IB_RMPP_STATUS_UNSPEC);
	start_send(0);
	handed_out();
	give_ack(1, 2);
	rmpp_send_abort(&sender, IB_RMPP_STATUS_UNSPEC);
	ck_assert_int_eq(sender.state, RMPP_DONE);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));

	ck_assert(give(peer_data(FIRST, 1, 0)));
	ck_assert(rmpp_recv_abort(&receiver, 0, IB_RMPP_STATUS_UNSPEC, &answer));
	expect_control(&answer, 0x12, 4, 127, 0, 0);
	ck_assert_uint_eq(live_bytes, 0);
	ck_assert(!rmpp_recv_abort(&receiver, 0, IB_RMPP_STATUS_UNSPEC, &answer));
	start_recv();
	ck_assert(!rmpp_recv_abort(&receiver, 0, IB_RMPP_STATUS_UNSPEC, &answer));
	ck_assert_int_eq(receiver.state, RMPP_FAILED);
}
END_TEST

/* ----------------------------------------------- a peer that breaks a rule */

/*
 * A packet that the sender gets, and the status of the abort that the sender answers. 0: no answer,
 * and the transfer continues.
 */
static const struct {
	uint8_t type, flags, status;
	uint32_t segment, window;
	uint8_t version, answer;
} bad_acks[] = {
	{ 2, ACTIVE, 0, 3, 5, 1, 123 }, /* acknowledges a segment that was not sent */
	{ 2, ACTIVE, 0, UINT32_MAX, UINT32_MAX, 1, 123 },
	{ 2, ACTIVE, 0, 2, 1, 1, 122 }, /* the window ends before the acknowledged segment */
	{ 2, ACTIVE, 1, 2, 4, 1, 124 }, /* acknowledgement with a status */
	{ 2, ACTIVE, 127, 2, 4, 1, 124 },
	{ 0, ACTIVE, 0, 2, 4, 1, 121 }, /* types that do not exist */
	{ 5, ACTIVE, 0, 2, 4, 1, 121 },
	{ 255, ACTIVE, 0, 2, 4, 1, 121 },
	{ 2, ACTIVE, 0, 2, 4, 0, 125 }, /* versions that do not exist */
	{ 2, ACTIVE, 0, 2, 4, 2, 125 },
	{ 3, ACTIVE, 1, 0, 0, 2, 125 }, /* a stop of such a version */
	{ 2, 0, 0, 9, 4, 1, 0 },        /* the RMPPActive bit is 0 */
	{ 1, ONLY, 0, 1, 20, 1, 0 },    /* a data packet, which a sender must not get */
};

START_TEST(a_bad_packet_to_the_sender_is_answered_with_ibtas_status)
{
	for (size_t i = 0; i < sizeof(bad_acks) / sizeof(bad_acks[0]); i++) {
		struct ib_rmpp_mad bad =
			peer_packet(0x12, bad_acks[i].type, bad_acks[i].flags, bad_acks[i].status,
				    bad_acks[i].segment, bad_acks[i].window);

		bad.rmpp.version = bad_acks[i].version;
		start_send(1000);
		handed_out();
		give_ack(1, 2);
		handed_out();
		rmpp_send_packet(&sender, 0, &bad);
		if (bad_acks[i].answer) {
			expect_failed_send(bad_acks[i].answer);
			continue;
		}
		ck_assert_int_eq(sender.state, RMPP_ACTIVE);
		ck_assert(!rmpp_send_next(&sender, 0, &packet));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/mgmt/rmpp sender");
	TCase *tc = tcase_create("sender");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_sender_begins_with_one_segment_and_then_keeps_to_the_window);
	tcase_add_test(tc, an_old_acknowledgement_changes_nothing);
	tcase_add_test(tc, the_sender_goes_back_to_the_first_segment_that_is_not_acknowledged);
	tcase_add_test(tc, only_progress_renews_the_retries_and_without_the_sender_gives_up);
	tcase_add_test(tc, repeated_acknowledgements_do_not_postpone_the_time_out);
	tcase_add_test(tc, a_closed_window_is_probed_with_the_last_acknowledged_segment);
	tcase_add_test(tc, the_whole_transfer_has_a_time_limit_although_it_advances);
	tcase_add_test(tc, a_time_out_that_is_as_good_as_never_does_not_wrap);
	tcase_add_test(tc, a_cancelled_transfer_ends_with_an_abort);
	tcase_add_test(tc, a_bad_packet_to_the_sender_is_answered_with_ibtas_status);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
