/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Set-up of the tests of RMPP: datagrams, a sender and a receiver, and the packets of a peer that
 * are made without the code under test. The test's own al_alloc() counts the receiver's memory.
 */
#ifndef IBAL_TEST_RMPP_BED_H
#define IBAL_TEST_RMPP_BED_H

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

/* The MAD header of an SA table response and the SA header, from IBTA's tables. The sender fills in
 * the RMPP header. */
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

static inline uint8_t data_byte(size_t i)
{
	return (uint8_t)(i * 7 + i / 200 + 1);
}

/* Makes a datagram of a class, with so many bytes of data behind the class header. Returns its
 * length. */
static inline size_t make_datagram(uint8_t mgmt_class, size_t data)
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

static inline void start_send(size_t data)
{
	ck_assert_int_eq(rmpp_send_init(&sender, &send_attr, datagram,
					make_datagram(IB_CLASS_SUBN_ADM, data), 0),
			 AL_SUCCESS);
}

static inline uint32_t be32_at(const void *bytes, size_t offset)
{
	const uint8_t *b = (const uint8_t *)bytes + offset;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static inline void put_be32(void *bytes, size_t offset, uint32_t value)
{
	uint8_t *b = (uint8_t *)bytes + offset;

	b[0] = (uint8_t)(value >> 24);
	b[1] = (uint8_t)(value >> 16);
	b[2] = (uint8_t)(value >> 8);
	b[3] = (uint8_t)value;
}

/* An SA packet of the peer, made without the code under test. */
static inline struct ib_rmpp_mad peer_packet(uint8_t method, uint8_t type, uint8_t flags,
					     uint8_t status, uint32_t word3, uint32_t word4)
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

static inline struct ib_rmpp_mad peer_data(uint8_t flags, uint32_t segment, uint32_t length)
{
	return peer_packet(0x92, 1, flags, 0, segment, length);
}

static inline struct ib_rmpp_mad peer_ack(uint32_t segment, uint32_t window)
{
	return peer_packet(0x12, 2, ACTIVE, 0, segment, window);
}

static inline bool give(struct ib_rmpp_mad from_peer)
{
	memset(&answer, 0xdd, sizeof(answer));
	return rmpp_recv_packet(&receiver, 0, &from_peer, &answer);
}

static inline void give_ack(uint32_t segment, uint32_t window)
{
	struct ib_rmpp_mad ack = peer_ack(segment, window);

	rmpp_send_packet(&sender, 0, &ack);
}

/* Takes every packet that the sender has to send, and returns the segment numbers as digits. */
static inline const char *handed_out(void)
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

static inline void expect_control(const struct ib_rmpp_mad *got, uint8_t method, uint8_t type,
				  uint8_t status, uint32_t word3, uint32_t word4)
{
	struct ib_rmpp_mad want = peer_packet(method, type, ACTIVE, status, word3, word4);

	memset((uint8_t *)&want + SA_HEADERS, 0, IB_MAD_BYTES - SA_HEADERS);
	ck_assert_mem_eq(got, &want, IB_MAD_BYTES);
}

static inline void start_recv(void)
{
	rmpp_recv_init(&receiver, &recv_attr, 0);
}

static inline void set_up(void)
{
	live_bytes = peak_bytes = allocations = 0;
	fail_at = 0;
	start_recv();
}

static inline void tear_down(void)
{
	rmpp_recv_destroy(&receiver);
	ck_assert_uint_eq(live_bytes, 0);
}

#endif
