/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RMPP's sender and receiver together: their packets byte by byte, what ends a transfer on either
 * side, double-sided transfers, and transfers over a link that loses, duplicates and delays
 * packets.
 */
#include "test/unit/al/mgmt/rmpp_bed.h"

/* --------------------------------------------------------------- golden bytes */

/* A segment, from its fields: MAD header and SA header as in the datagram. */
static void expect_segment(uint32_t segment, uint8_t flags, uint32_t payload_length, size_t bytes)
{
	struct ib_rmpp_mad want = peer_data(flags, segment, payload_length);
	size_t i;

	memset((uint8_t *)&want + SA_HEADERS, 0, SA_DATA);
	for (i = 0; i < bytes; i++)
		((uint8_t *)&want)[SA_HEADERS + i] = data_byte((segment - 1) * SA_DATA + i);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	ck_assert_mem_eq(&packet, &want, IB_MAD_BYTES);
}

START_TEST(the_segments_of_an_sa_datagram_are_what_ibta_says_byte_by_byte)
{
	static const uint8_t rmpp_header[12] = { 0x01, 0x01, 0xfb, 0x00, 0x00, 0x00,
						 0x00, 0x01, 0x00, 0x00, 0x01, 0xcd };

	start_send(401);
	expect_segment(1, FIRST, 401 + 3 * 20, 200);
	ck_assert_mem_eq((uint8_t *)&packet + 24, rmpp_header, sizeof(rmpp_header));
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
	give_ack(1, 9);
	expect_segment(2, ACTIVE, 0, 200);
	expect_segment(3, LAST, 21, 1);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
	give_ack(3, 9);
	ck_assert_int_eq(sender.state, RMPP_DONE);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
}
END_TEST

START_TEST(a_datagram_of_one_segment_is_first_and_last_and_its_length_counts_the_class_header)
{
	static const size_t sizes[] = { 0, 1, 199, 200 };

	for (size_t i = 0; i < 4; i++) {
		start_send(sizes[i]);
		expect_segment(1, ONLY, (uint32_t)sizes[i] + 20, sizes[i]);
		give_ack(1, 2);
		ck_assert_int_eq(sender.state, RMPP_DONE);
	}
	start_send(400); /* the second of two segments is full */
	expect_segment(1, FIRST, 440, 200);
	give_ack(1, 2);
	expect_segment(2, LAST, 220, 200);
}
END_TEST

START_TEST(a_vendor_segment_repeats_the_oui_and_has_216_bytes_of_data)
{
	size_t length = make_datagram(0x32, 217);

	ck_assert_int_eq(rmpp_send_init(&sender, &send_attr, datagram, length, 0), AL_SUCCESS);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	ck_assert_uint_eq(be32_at(&packet, 32), 217 + 2 * 4);
	ck_assert_mem_eq((uint8_t *)&packet + 36, datagram + 36, 4 + 216);
	packet.hdr.method ^= 0x80;
	packet.rmpp.type = IB_RMPP_ACK;
	rmpp_send_packet(&sender, 0, &packet); /* an ACK of segment 1 with a large window */
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	ck_assert_uint_eq(be32_at(&packet, 28), 2);
	ck_assert_uint_eq(be32_at(&packet, 32), 5);
	ck_assert_mem_eq((uint8_t *)&packet + 36, datagram + 36, 4);
	ck_assert_uint_eq(((uint8_t *)&packet)[40], data_byte(216));
}
END_TEST

START_TEST(the_class_header_has_the_bytes_of_ibtas_table)
{
	static const struct {
		uint8_t mgmt_class;
		int bytes;
	} rows[] = { { 0x01, -1 }, { 0x03, 20 }, { 0x04, -1 }, { 0x06, 28 }, { 0x07, -1 },
		     { 0x09, -1 }, { 0x0f, -1 }, { 0x10, 28 }, { 0x12, 28 }, { 0x21, -1 },
		     { 0x2f, -1 }, { 0x30, 4 },  { 0x4f, 4 },  { 0x50, -1 }, { 0x81, -1 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_int_eq(rmpp_class_bytes(rows[i].mgmt_class), rows[i].bytes);
}
END_TEST

START_TEST(
	acknowledgements_tell_the_last_segment_in_order_and_the_window_with_the_response_bit_inverted)
{
	ck_assert(give(peer_data(FIRST, 1, 0)));
	expect_control(&answer, 0x12, 2, 0, 1, 5);
	ck_assert(!give(peer_data(ACTIVE, 2, 0)));
	ck_assert(!give(peer_data(ACTIVE, 3, 0)));
	ck_assert(!give(peer_data(ACTIVE, 4, 0)));
	ck_assert(give(peer_data(ACTIVE, 5, 0)));
	expect_control(&answer, 0x12, 2, 0, 5, 9);
	ck_assert(give(peer_data(LAST, 6, 21)));
	expect_control(&answer, 0x12, 2, 0, 6, 9);
	ck_assert_int_eq(receiver.state, RMPP_DONE);
}
END_TEST

START_TEST(an_answer_to_an_error_response_has_no_status)
{
	struct ib_rmpp_mad failed = peer_data(ONLY, 1, 20);

	failed.hdr.status = ib_be16_of(0x0300);
	ck_assert(give(failed));
	expect_control(&answer, 0x12, 2, 0, 1, 1);
	start_send(0);
	datagram[4] = 3; /* each segment has the datagram's status */
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	ck_assert_uint_eq(ib_be16_get(packet.hdr.status), 0x0300);
}
END_TEST

/* ------------------------------------------------------------------- lengths */

START_TEST(the_joined_datagram_is_headers_once_and_the_data_of_all_segments_with_an_exact_length)
{
	struct ib_rmpp_mad first = peer_data(FIRST, 1, 0), last = peer_data(LAST, 2, 27);
	uint8_t *joined;
	size_t length = 0;

	memset(first.data + 20, 0x11, 200);
	memset(last.data + 20, 0x22, 200);
	give(first);
	ck_assert_ptr_null(rmpp_recv_take(&receiver, &length));
	give(last);
	joined = rmpp_recv_take(&receiver, &length);
	ck_assert_uint_eq(length, 56 + 200 + 7);
	ck_assert_mem_eq(joined, &first, 256);
	ck_assert_mem_eq(joined + 256, last.data + 20, 7);
	ck_assert_ptr_null(rmpp_recv_take(&receiver, &length));
	al_free(joined);
}
END_TEST

START_TEST(payload_length_of_the_first_and_of_middle_segments_is_not_believed)
{
	static const uint32_t lies[] = { 0, 1, 220, 5000, UINT32_MAX };
	size_t length = 0;

	for (size_t i = 0; i < 5; i++) {
		start_recv();
		peak_bytes = 0;
		give(peer_data(FIRST, 1, lies[i]));
		give(peer_data(ACTIVE, 2, lies[i]));
		give(peer_data(LAST, 3, 20));
		ck_assert_int_eq(receiver.state, RMPP_DONE);
		al_free(rmpp_recv_take(&receiver, &length));
		ck_assert_uint_eq(length, 56 + 400);
		ck_assert_uint_lt(peak_bytes, 2000);
	}
}
END_TEST

START_TEST(a_sender_refuses_a_datagram_that_it_cannot_send)
{
	struct rmpp_send_attr attr = send_attr;
	size_t length = make_datagram(IB_CLASS_SUBN_ADM, 0);

	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, 0, 0), AL_INVALID_PARAMETER);
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, length - 1, 0),
			 AL_INVALID_PARAMETER);
	/*
	 * The payloads' sum is the largest value of PayloadLength, and one byte more. The test never reads data of
	 * this length.
	 */
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, 56 + UINT64_C(3904515715), 0),
			 AL_SUCCESS);
	ck_assert_uint_eq(sender.segments, 19522579);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	ck_assert_uint_eq(be32_at(&packet, 32), UINT32_MAX);
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, 56 + UINT64_C(3904515716), 0),
			 AL_INVALID_PARAMETER);
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, UINT64_C(1) << 33, 0),
			 AL_INVALID_PARAMETER);
	datagram[1] = IB_CLASS_PERF;
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, length, 0), AL_INVALID_PARAMETER);
	datagram[1] = IB_CLASS_SUBN_ADM;
	attr.ack_timeout = 0;
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, length, 0), AL_INVALID_PARAMETER);
	attr = send_attr;
	attr.total_timeout = 0;
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, length, 0), AL_INVALID_PARAMETER);
	attr = send_attr;
	attr.first_window = 0;
	ck_assert_int_eq(rmpp_send_init(&sender, &attr, datagram, length, 0), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(a_stop_or_an_abort_ends_a_transfer_with_its_status_and_is_never_answered)
{
	static const struct {
		uint8_t type, status, reported;
		enum rmpp_state state;
	} rows[] = {
		{ 3, 1, 1, RMPP_STOPPED },     { 3, 128, 128, RMPP_STOPPED },
		{ 3, 0, 124, RMPP_STOPPED },   { 3, 127, 124, RMPP_STOPPED },
		{ 4, 118, 118, RMPP_ABORTED }, { 4, 255, 255, RMPP_ABORTED },
		{ 4, 117, 124, RMPP_ABORTED }, { 4, 0, 124, RMPP_ABORTED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ib_rmpp_mad end =
			peer_packet(0x92, rows[i].type, ACTIVE, rows[i].status, 0, 0);

		start_recv();
		ck_assert(give(peer_data(FIRST, 1, 0)));
		ck_assert(!give(end));
		ck_assert_int_eq(receiver.state, rows[i].state);
		ck_assert_uint_eq(receiver.status, rows[i].reported);
		ck_assert_uint_eq(live_bytes, 0);
		ck_assert(!give(peer_data(ACTIVE, 2, 0)));

		start_send(1000);
		handed_out();
		end.hdr.method = 0x12;
		rmpp_send_packet(&sender, 0, &end);
		ck_assert_int_eq(sender.state, rows[i].state);
		ck_assert_uint_eq(sender.status, rows[i].reported);
		ck_assert(!rmpp_send_next(&sender, 0, &packet));
		ck_assert(!rmpp_refuse(&end, 127, &answer));
	}
}
END_TEST

/* Byte 1 is the class, 2 the class version, 3 the method, 8 and 15 the transaction. */
START_TEST(a_packet_of_another_transfer_changes_nothing)
{
	static const size_t offsets[] = { 1, 2, 3, 8, 15 };

	for (size_t i = 0; i < 5; i++) {
		struct ib_rmpp_mad other = peer_ack(1, 9);

		((uint8_t *)&other)[offsets[i]] ^= 0x30;
		start_send(1000);
		handed_out();
		rmpp_send_packet(&sender, 0, &other);
		ck_assert_str_eq(handed_out(), "");

		start_recv();
		ck_assert(give(peer_data(FIRST, 1, 0)));
		other = peer_data(LAST, 2, 20);
		((uint8_t *)&other)[offsets[i]] ^= 0x30;
		ck_assert(!give(other));
		ck_assert_int_eq(receiver.state, RMPP_ACTIVE);
		rmpp_recv_destroy(&receiver);
	}
}
END_TEST

/* ------------------------------------------------- double-sided transfers */

START_TEST(a_request_with_a_response_ends_with_the_direction_switch)
{
	struct rmpp_send_attr attr = send_attr;
	struct ib_rmpp_mad repeated = peer_ack(1, 2);

	attr.reply_window = 7;
	ck_assert_int_eq(
		rmpp_send_init(&sender, &attr, datagram, make_datagram(IB_CLASS_SUBN_ADM, 1), 0),
		AL_SUCCESS);
	handed_out();
	give_ack(1, 2);
	ck_assert_int_eq(sender.state, RMPP_DONE);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	expect_control(&packet, 0x92, 2, 0, 0, 7);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
	rmpp_send_packet(&sender, 0, &repeated);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	expect_control(&packet, 0x92, 2, 0, 0, 7);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
}
END_TEST

START_TEST(the_direction_switch_gives_the_response_its_first_window)
{
	struct rmpp_send_attr attr = send_attr;

	give(peer_data(ONLY, 1, 20));
	ck_assert_uint_eq(receiver.reply_window, 0);
	ck_assert(!give(peer_packet(0x92, 2, ACTIVE, 0, 1, 5))); /* an ACK that is not of segment 0 */
	ck_assert_uint_eq(receiver.reply_window, 0);
	ck_assert(!give(peer_packet(0x92, 2, ACTIVE, 0, 0, 3)));
	ck_assert_uint_eq(receiver.reply_window, 3);
	attr.first_window = receiver.reply_window;
	ck_assert_int_eq(
		rmpp_send_init(&sender, &attr, datagram, make_datagram(IB_CLASS_SUBN_ADM, 1000), 0),
		AL_SUCCESS);
	ck_assert_str_eq(handed_out(), "123");
}
END_TEST

START_TEST(the_receiver_of_a_response_begins_with_the_window_that_the_switch_told)
{
	struct rmpp_recv_attr attr = recv_attr;

	attr.first_window = 3;
	rmpp_recv_init(&receiver, &attr, 0);
	ck_assert(!give(peer_data(ACTIVE, 2, 0))); /* a segment that overtook the first one */
	ck_assert(!give(peer_data(FIRST, 1, 0)));
	ck_assert(!give(peer_data(ACTIVE, 2, 0)));
	ck_assert(give(peer_data(ACTIVE, 3, 0)));
	expect_control(&answer, 0x12, 2, 0, 3, 7);
}
END_TEST

/* -------------------------------------------------------------- a bad link */

#define FLYING 4096

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * n >> 32);
}

static struct flying {
	uint64_t arrival;
	bool to_receiver;
	struct ib_rmpp_mad packet;
} flying[FLYING];
static size_t num_flying;
static uint32_t lose, repeat, delay; /* loss and repetition in per cent, largest delay in ns */

static void fly(uint64_t now, bool to_receiver, const struct ib_rmpp_mad *made)
{
	int copies = random_below(100) < repeat ? 2 : 1;

	if (random_below(100) < lose)
		return;
	while (copies--) {
		ck_assert_uint_lt(num_flying, FLYING);
		flying[num_flying++] =
			(struct flying){ now + 1 + random_below(delay), to_receiver, *made };
	}
}

static uint64_t next_arrival(size_t *which)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < num_flying; i++)
		if (flying[i].arrival < first) {
			first = flying[i].arrival;
			*which = i;
		}
	return first;
}

static void arrive(uint64_t now, size_t which)
{
	struct flying f = flying[which];

	flying[which] = flying[--num_flying];
	if (!f.to_receiver)
		rmpp_send_packet(&sender, now, &f.packet);
	else if (rmpp_recv_packet(&receiver, now, &f.packet, &answer))
		fly(now, false, &answer);
}

/* Runs both sides until the sender has ended and no packet is on its way. */
static void run_link(void)
{
	uint64_t now = 0, arrival, timer;
	size_t which = 0;

	num_flying = 0;
	while (true) {
		while (rmpp_send_next(&sender, now, &packet))
			fly(now, true, &packet);
		arrival = next_arrival(&which);
		timer = rmpp_send_deadline(&sender);
		if (receiver.state == RMPP_ACTIVE && rmpp_recv_deadline(&receiver) < timer &&
		    receiver.expected > 1)
			timer = rmpp_recv_deadline(&receiver);
		if (arrival == UINT64_MAX && timer == UINT64_MAX)
			return;
		now = arrival < timer ? arrival : timer;
		if (arrival <= timer)
			arrive(now, which);
		rmpp_send_time(&sender, now);
		if (rmpp_recv_time(&receiver, now, &answer))
			fly(now, false, &answer);
	}
}

static void expect_arrived(size_t length)
{
	size_t got_length;
	uint8_t *got;

	ck_assert_int_eq(receiver.state, RMPP_DONE);
	got = rmpp_recv_take(&receiver, &got_length);
	ck_assert_ptr_nonnull(got);
	ck_assert_uint_eq(got_length, length);
	ck_assert_mem_eq(got, datagram, 24);
	ck_assert_mem_eq(got + 36, datagram + 36, length - 36);
	al_free(got);
	ck_assert_uint_eq(live_bytes, 0);
}

static void run_transfer(uint8_t mgmt_class, size_t data, uint16_t window)
{
	struct rmpp_send_attr send = send_attr;
	struct rmpp_recv_attr recv = recv_attr;
	size_t length = make_datagram(mgmt_class, data);

	send.retries = 100;
	send.total_timeout = recv.total_timeout = recv.idle_timeout = UINT64_MAX;
	recv.window = window;
	recv.max_bytes = length;
	peak_bytes = 0;
	ck_assert_int_eq(rmpp_send_init(&sender, &send, datagram, length, 0), AL_SUCCESS);
	rmpp_recv_init(&receiver, &recv, 0);
	run_link();
	ck_assert_int_eq(sender.state, RMPP_DONE);
	ck_assert_uint_lt(peak_bytes, 2 * length);
	expect_arrived(length);
}

static const uint8_t rmpp_classes[] = { 0x03, 0x06, 0x10, 0x12, 0x30, 0x4f };

START_TEST(datagrams_of_every_length_at_the_edges_of_segments_arrive_in_every_class)
{
	static const size_t sizes[] = { 0,   1,   191, 192, 193, 199, 200, 201, 215, 216, 217,
					219, 220, 221, 399, 400, 401, 599, 600, 601, 5000 };

	lose = repeat = 0;
	delay = 1;
	for (size_t c = 0; c < sizeof(rmpp_classes); c++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (uint16_t window = 0; window < 6; window += 5)
				run_transfer(rmpp_classes[c], sizes[i], window);
}
END_TEST

START_TEST(datagrams_arrive_whole_over_a_link_that_loses_doubles_and_reorders)
{
	for (uint32_t seed = 0; seed < 4000; seed++) {
		random_state = seed * 2654435761u + 1;
		lose = random_below(30);
		repeat = random_below(30);
		delay = 1 + random_below(2) * random_below(9000000);
		run_transfer(rmpp_classes[random_below(sizeof(rmpp_classes))], random_below(6000),
			     (uint16_t)(1 + random_below(20)));
	}
}
END_TEST

START_TEST(a_datagram_of_many_segments_arrives_over_a_bad_link)
{
	random_state = 1;
	lose = repeat = 10;
	delay = 1000000;
	run_transfer(IB_CLASS_SUBN_ADM, MAX_BYTES - 56, 64);
}
END_TEST

START_TEST(a_link_that_loses_too_much_or_a_cap_that_is_too_small_ends_both_sides_and_leaves_nothing)
{
	struct rmpp_recv_attr recv = recv_attr;

	for (uint32_t seed = 0; seed < 2000; seed++) {
		random_state = seed * 2654435761u + 1;
		lose = seed % 2 ? 90 + seed % 20 : 10;
		repeat = 10;
		delay = 2000000;
		recv.max_bytes = 56 + random_below(3000);
		peak_bytes = 0;
		start_send(3000);
		rmpp_recv_init(&receiver, &recv, 0);
		run_link();
		ck_assert_int_ne(sender.state, RMPP_ACTIVE);
		ck_assert_int_ne(sender.state, RMPP_DONE);
		ck_assert_int_ne(receiver.state, RMPP_DONE);
		if (sender.state == RMPP_STOPPED)
			ck_assert_uint_eq(sender.status, IB_RMPP_STATUS_RESX);
		ck_assert_uint_lt(peak_bytes, 2 * recv.max_bytes);
		ck_assert(receiver.state != RMPP_ACTIVE || receiver.expected == 1);
		ck_assert_uint_eq(live_bytes, 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rmpp");
	TCase *tc = tcase_create("rmpp");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_segments_of_an_sa_datagram_are_what_ibta_says_byte_by_byte);
	tcase_add_test(
		tc,
		a_datagram_of_one_segment_is_first_and_last_and_its_length_counts_the_class_header);
	tcase_add_test(tc, a_vendor_segment_repeats_the_oui_and_has_216_bytes_of_data);
	tcase_add_test(tc, the_class_header_has_the_bytes_of_ibtas_table);
	tcase_add_test(
		tc,
		acknowledgements_tell_the_last_segment_in_order_and_the_window_with_the_response_bit_inverted);
	tcase_add_test(tc, an_answer_to_an_error_response_has_no_status);
	tcase_add_test(
		tc,
		the_joined_datagram_is_headers_once_and_the_data_of_all_segments_with_an_exact_length);
	tcase_add_test(tc, payload_length_of_the_first_and_of_middle_segments_is_not_believed);
	tcase_add_test(tc, a_sender_refuses_a_datagram_that_it_cannot_send);
	tcase_add_test(tc,
		       a_stop_or_an_abort_ends_a_transfer_with_its_status_and_is_never_answered);
	tcase_add_test(tc, a_packet_of_another_transfer_changes_nothing);
	tcase_add_test(tc, a_request_with_a_response_ends_with_the_direction_switch);
	tcase_add_test(tc, the_direction_switch_gives_the_response_its_first_window);
	tcase_add_test(tc, the_receiver_of_a_response_begins_with_the_window_that_the_switch_told);
	tcase_add_test(tc,
		       datagrams_of_every_length_at_the_edges_of_segments_arrive_in_every_class);
	tcase_add_test(tc, datagrams_arrive_whole_over_a_link_that_loses_doubles_and_reorders);
	tcase_add_test(tc, a_datagram_of_many_segments_arrives_over_a_bad_link);
	tcase_add_test(
		tc,
		a_link_that_loses_too_much_or_a_cap_that_is_too_small_ends_both_sides_and_leaves_nothing);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
