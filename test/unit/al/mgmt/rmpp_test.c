/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RMPP's sender and receiver: their packets byte by byte, transfers over a link that loses, duplicates and delays
 * packets, and each side against a peer that breaks a rule. The test's own al_alloc() counts the receiver's memory.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_hca.h>

#include "al/mgmt/rmpp.h"

#define MS         UINT64_C(1000000)
#define MAX_BYTES  300000
#define SA_HEADERS 56 /* MAD header 24, RMPP header 12, SA header 20 */
#define SA_DATA    200

/* -------------------------------------------------------------------- memory */

static size_t live_bytes, peak_bytes, allocations;
static unsigned int fail_at; /* allocation that fails, counted from 1; 0: none */

void *al_alloc(size_t size)
{
	size_t *mem;

	if (fail_at && !--fail_at)
		return NULL;
	mem = calloc(1, 16 + size);
	ck_assert_ptr_nonnull(mem);
	*mem = size;
	allocations++;
	live_bytes += size;
	if (live_bytes > peak_bytes)
		peak_bytes = live_bytes;
	return mem + 2;
}

void al_free(void *mem)
{
	size_t *start = mem;

	if (!start)
		return;
	live_bytes -= start[-2];
	free(start - 2);
}

/* ------------------------------------------------------------------ datagrams */

static uint8_t datagram[MAX_BYTES];

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * n >> 32);
}

/* The MAD header of an SA table response and the SA header, from IBTA's tables. The sender fills in the RMPP header. */
static const uint8_t sa_headers[SA_HEADERS] = {
	0x01, 0x03, 0x02, 0x92, 0x00, 0x00, 0x00, 0x00, /* base version, SA, version 2,
							   GetTableResp, status */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* transaction */
	0x00, 0x35, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* PathRecord, attribute modifier */
	0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, /* ignored by the receiver */
	0xee, 0xee, 0xee, 0xee, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, /* SM_Key */
	0x00, 0x08, 0x00, 0x00,                         /* attribute offset */
	0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, /* component mask */
};

static uint8_t data_byte(size_t i)
{
	return (uint8_t)(i * 7 + i / 200 + 1);
}

/* Makes a datagram of a class, with so many bytes of data behind the class header. Returns its length. */
static size_t make_datagram(uint8_t mgmt_class, size_t data)
{
	size_t headers = 36 + (size_t)rmpp_class_bytes(mgmt_class), i;

	ck_assert_uint_le(headers + data, sizeof(datagram));
	memset(datagram, 0xc0, headers);
	memcpy(datagram, sa_headers, headers < SA_HEADERS ? headers : SA_HEADERS);
	datagram[1] = mgmt_class;
	for (i = 0; i < data; i++)
		datagram[headers + i] = data_byte(i);
	return headers + data;
}

static const struct rmpp_send_attr send_attr = {
	.ack_timeout = 10 * MS,
	.total_timeout = 1000 * MS,
	.retries = 3,
	.first_window = 1,
};

static const struct rmpp_recv_attr recv_attr = {
	.idle_timeout = 100 * MS,
	.total_timeout = 1000 * MS,
	.linger = 50 * MS,
	.max_bytes = MAX_BYTES,
	.window = 4,
};

static struct rmpp_send sender;
static struct rmpp_recv receiver;
static struct ib_rmpp_mad packet, answer;

static void start_send(size_t data)
{
	ck_assert_int_eq(rmpp_send_init(&sender, &send_attr, datagram,
					make_datagram(IB_CLASS_SUBN_ADM, data), 0),
			 AL_SUCCESS);
}

static uint32_t be32_at(const void *bytes, size_t offset)
{
	const uint8_t *b = (const uint8_t *)bytes + offset;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put_be32(void *bytes, size_t offset, uint32_t value)
{
	uint8_t *b = (uint8_t *)bytes + offset;

	b[0] = (uint8_t)(value >> 24);
	b[1] = (uint8_t)(value >> 16);
	b[2] = (uint8_t)(value >> 8);
	b[3] = (uint8_t)value;
}

/* An SA packet of the peer, made without the code under test. */
static struct ib_rmpp_mad peer_packet(uint8_t method, uint8_t type, uint8_t flags, uint8_t status,
				      uint32_t word3, uint32_t word4)
{
	struct ib_rmpp_mad made;
	uint8_t *bytes = (uint8_t *)&made;

	memset(&made, 0x5a, sizeof(made));
	memcpy(bytes, sa_headers, SA_HEADERS);
	bytes[3] = method;
	bytes[24] = 1;
	bytes[25] = type;
	bytes[26] = (uint8_t)(0xf8 | flags);
	bytes[27] = status;
	put_be32(bytes, 28, word3);
	put_be32(bytes, 32, word4);
	return made;
}

#define ACTIVE 1
#define FIRST  3
#define LAST   5
#define ONLY   7

static struct ib_rmpp_mad peer_data(uint8_t flags, uint32_t segment, uint32_t length)
{
	return peer_packet(0x92, 1, flags, 0, segment, length);
}

static struct ib_rmpp_mad peer_ack(uint32_t segment, uint32_t window)
{
	return peer_packet(0x12, 2, ACTIVE, 0, segment, window);
}

static bool give(struct ib_rmpp_mad from_peer)
{
	memset(&answer, 0xdd, sizeof(answer));
	return rmpp_recv_packet(&receiver, 0, &from_peer, &answer);
}

static void give_ack(uint32_t segment, uint32_t window)
{
	struct ib_rmpp_mad ack = peer_ack(segment, window);

	rmpp_send_packet(&sender, 0, &ack);
}

/* Takes every packet that the sender has to send, and returns the segment numbers as digits. */
static const char *handed_out(void)
{
	static char text[256];
	size_t n = 0;

	while (rmpp_send_next(&sender, 0, &packet) && n < sizeof(text) - 1) {
		ck_assert_uint_eq(packet.rmpp.type, IB_RMPP_DATA);
		text[n++] = (char)('0' + be32_at(&packet, 28));
	}
	text[n] = 0;
	return text;
}

static void expect_control(const struct ib_rmpp_mad *got, uint8_t method, uint8_t type,
			   uint8_t status, uint32_t word3, uint32_t word4)
{
	struct ib_rmpp_mad want = peer_packet(method, type, ACTIVE, status, word3, word4);

	memset((uint8_t *)&want + SA_HEADERS, 0, IB_MAD_BYTES - SA_HEADERS);
	ck_assert_mem_eq(got, &want, IB_MAD_BYTES);
}

static void expect_failed_send(uint8_t status)
{
	ck_assert_int_eq(sender.state, RMPP_FAILED);
	ck_assert_uint_eq(sender.status, status);
	ck_assert(rmpp_send_next(&sender, 0, &packet));
	expect_control(&packet, 0x92, 4, status, 0, 0);
	ck_assert(!rmpp_send_next(&sender, 0, &packet));
	ck_assert_uint_eq(rmpp_send_deadline(&sender), RMPP_NO_DEADLINE);
}

static void start_recv(void)
{
	rmpp_recv_init(&receiver, &recv_attr, 0);
}

static void set_up(void)
{
	live_bytes = peak_bytes = allocations = 0;
	fail_at = 0;
	start_recv();
}

static void tear_down(void)
{
	rmpp_recv_destroy(&receiver);
	ck_assert_uint_eq(live_bytes, 0);
}

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
	size_t length;

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
	size_t length;

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
 * A packet that the sender gets, and the status of the abort that the sender answers. 0: no answer, and the transfer
 * continues.
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

/*
 * A packet that the receiver gets after segment 1 with window 5, and the status of the abort that the receiver
 * answers. 0: no answer.
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
		/* The packets that the sender sent before its abort are refused too, and do not revive the transfer. */
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

/* -------------------------------------------------------------- the receiver */

START_TEST(a_segment_that_is_not_the_next_is_dropped_and_the_ones_before_are_acknowledged_again)
{
	size_t length;

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
	size_t length;

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
	size_t length;

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
	tcase_add_test(
		tc,
		a_bad_packet_to_the_receiver_is_answered_with_ibtas_status_and_frees_the_memory);
	tcase_add_test(tc, only_a_good_first_segment_begins_a_transfer_and_others_can_be_refused);
	tcase_add_test(tc,
		       a_stop_or_an_abort_ends_a_transfer_with_its_status_and_is_never_answered);
	tcase_add_test(tc, a_packet_of_another_transfer_changes_nothing);
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
