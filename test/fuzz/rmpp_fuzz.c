/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RMPP's sender and receiver, with an attacker between them. The first four bytes describe the datagram, the rest the
 * attacker's actions: it delivers packets in any order, loses, duplicates and changes them, makes its own, and lets
 * time pass. For every input the receiver's memory keeps to its bound and is freed, every answer is a correct packet,
 * and a final state is kept; as long as the attacker has changed no packet, an arriving datagram equals the datagram
 * sent.
 */
#include <stdlib.h>
#include <string.h>

#include <iba/ib_hca.h>

#include "al/mgmt/rmpp.h"
#include "fuzz.h"

#define MS        UINT64_C(1000000)
#define DATAGRAM  4096
#define IN_FLIGHT 16

static size_t live_bytes;
static unsigned int fail_at; /* allocation that fails, counted from 1; 0: none */

void *al_alloc(size_t size)
{
	size_t *mem = fail_at && !--fail_at ? NULL : calloc(1, 16 + size);

	if (!mem)
		return NULL;
	*mem = size;
	live_bytes += size;
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

static void expect(int condition)
{
	if (!condition)
		abort();
}

/* ---------------------------------------------------------------- the input */

static const uint8_t *input, *input_end;

static uint8_t next_byte(void)
{
	return input < input_end ? *input++ : 0;
}

/* A packet's number: small numbers are frequent, and all are possible. */
static uint32_t next_number(void)
{
	uint32_t value = next_byte();

	if (value < 0xf0)
		return value;
	value = next_byte();
	value = value << 8 | next_byte();
	value = value << 8 | next_byte();
	return value << 8 | next_byte();
}

/* ----------------------------------------------------------------- the link */

struct queue {
	struct ib_rmpp_mad packets[IN_FLIGHT];
	size_t count;
};

static uint8_t datagram[DATAGRAM];
static size_t length;
static struct rmpp_send sender;
static struct rmpp_recv receiver;
static struct queue to_receiver, to_sender;
static uint64_t now;
static int tampered;

static void push(struct queue *queue, const struct ib_rmpp_mad *packet)
{
	expect(rmpp_is_packet(packet));
	expect(packet->rmpp.version == IB_RMPP_VERSION);
	expect(packet->rmpp.type >= IB_RMPP_DATA && packet->rmpp.type <= IB_RMPP_ABORT);
	if (queue->count < IN_FLIGHT)
		queue->packets[queue->count++] = *packet;
}

static void post_all(void)
{
	struct ib_rmpp_mad packet;
	int n = 0;

	while (to_receiver.count < IN_FLIGHT && rmpp_send_next(&sender, now, &packet)) {
		expect(rmpp_check(&packet) == IB_RMPP_STATUS_NORMAL || sender.state == RMPP_FAILED);
		push(&to_receiver, &packet);
		expect(n++ < IN_FLIGHT);
	}
}

/* Both sides get a packet in memory of exactly its size, so that a sanitizer sees a read beyond. */
static void give_receiver(const struct ib_rmpp_mad *packet)
{
	struct ib_rmpp_mad *copy = malloc(sizeof(*copy)), *answer = malloc(sizeof(*answer));
	enum rmpp_state before = receiver.state;

	expect(copy && answer);
	*copy = *packet;
	if (rmpp_recv_packet(&receiver, now, copy, answer)) {
		expect(answer->rmpp.type != IB_RMPP_DATA);
		expect(packet->rmpp.type != IB_RMPP_STOP && packet->rmpp.type != IB_RMPP_ABORT);
		push(&to_sender, answer);
	}
	expect(before == RMPP_ACTIVE || before == receiver.state);
	free(copy);
	free(answer);
}

static void give_sender(const struct ib_rmpp_mad *packet)
{
	struct ib_rmpp_mad *copy = malloc(sizeof(*copy));
	enum rmpp_state before = sender.state;

	expect(copy != NULL);
	*copy = *packet;
	rmpp_send_packet(&sender, now, copy);
	expect(before == RMPP_ACTIVE || before == sender.state);
	free(copy);
}

/* Removes a packet from a queue. 0: the queue is empty. */
static int pop(struct queue *queue, size_t which, struct ib_rmpp_mad *packet)
{
	if (!queue->count)
		return 0;
	which %= queue->count;
	*packet = queue->packets[which];
	memmove(&queue->packets[which], &queue->packets[which + 1],
		(--queue->count - which) * sizeof(*packet));
	return 1;
}

static void deliver(struct queue *queue, size_t which)
{
	struct ib_rmpp_mad packet;

	if (!pop(queue, which, &packet))
		return;
	if (queue == &to_receiver)
		give_receiver(&packet);
	else
		give_sender(&packet);
}

static void lose(struct queue *queue)
{
	struct ib_rmpp_mad packet;

	pop(queue, next_byte(), &packet);
}

static void repeat(struct queue *queue)
{
	if (queue->count && queue->count < IN_FLIGHT) {
		queue->packets[queue->count] = queue->packets[next_byte() % queue->count];
		queue->count++;
	}
}

static void change(struct queue *queue)
{
	uint8_t offset = next_byte() % 64, value = next_byte();

	if (!queue->count)
		return;
	((uint8_t *)&queue->packets[next_byte() % queue->count])[offset] ^= value;
	tampered = 1;
}

/* A packet with the transfer's MAD header, and RMPP fields of the attacker's choice. */
static void forge(struct queue *queue)
{
	struct ib_rmpp_mad packet;

	memset(&packet, 0x77, sizeof(packet));
	memcpy(&packet, datagram, sizeof(packet.hdr));
	if (queue == &to_sender)
		packet.hdr.method ^= IB_METHOD_RESP;
	packet.rmpp.version = IB_RMPP_VERSION;
	packet.rmpp.type = next_byte() % 6;
	packet.rmpp.resp_time_flags = next_byte();
	packet.rmpp.status = next_byte();
	packet.rmpp.seg_num = ib_be32_of(next_number());
	packet.rmpp.paylen_newwin = ib_be32_of(next_number());
	tampered = 1;
	if (queue == &to_receiver)
		give_receiver(&packet);
	else
		give_sender(&packet);
}

/* 0: lets time pass up to the next time-out. */
static void let_time_pass(uint64_t ns)
{
	struct ib_rmpp_mad answer;
	uint64_t deadline = rmpp_send_deadline(&sender);

	if (rmpp_recv_deadline(&receiver) < deadline)
		deadline = rmpp_recv_deadline(&receiver);
	if (!ns && deadline > now)
		now = deadline;
	now += ns;
	rmpp_send_time(&sender, now);
	if (rmpp_recv_time(&receiver, now, &answer))
		push(&to_sender, &answer);
}

static void cancel(void)
{
	struct ib_rmpp_mad answer;
	uint8_t who = next_byte();

	tampered = 1;
	if (who & 1)
		rmpp_send_abort(&sender, IB_RMPP_STATUS_UNSPEC);
	else if (rmpp_recv_abort(&receiver, now, IB_RMPP_STATUS_UNSPEC, &answer))
		push(&to_sender, &answer);
}

static void take(void)
{
	size_t got_length = 0;
	uint8_t *got = rmpp_recv_take(&receiver, &got_length);

	if (!got)
		return;
	expect(receiver.state == RMPP_DONE && got_length <= receiver.attr.max_bytes);
	if (!tampered)
		expect(got_length == length && !memcmp(got, datagram, 24) &&
		       !memcmp(got + 36, datagram + 36, length - 36));
	al_free(got);
}

static void step(void)
{
	uint8_t op = next_byte();
	struct queue *queue = op & 0x80 ? &to_sender : &to_receiver;

	post_all();
	switch (op & 0x0f) {
	case 8:
		lose(queue);
		break;
	case 9:
		repeat(queue);
		break;
	case 10:
		change(queue);
		break;
	case 11:
	case 12:
		forge(queue);
		break;
	case 13:
		let_time_pass(next_byte() * MS);
		break;
	case 14:
		cancel();
		break;
	case 15:
		take();
		break;
	default:
		deliver(queue, op & 7);
	}
	expect(live_bytes < 2 * receiver.attr.max_bytes);
	expect(receiver.length <= receiver.attr.max_bytes);
	expect(receiver.state == RMPP_ACTIVE || receiver.state == RMPP_DONE || !live_bytes);
}

static void start(void)
{
	static const uint8_t classes[] = { 0x03, 0x06, 0x30, 0x4f };
	uint8_t how = next_byte();
	struct rmpp_send_attr send = {
		.ack_timeout = 10 * MS,
		.total_timeout = 100 * MS,
		.retries = how >> 4 & 3,
		.first_window = 1,
		.reply_window = how >> 6,
	};
	struct rmpp_recv_attr recv = {
		.idle_timeout = 200 * MS,
		.total_timeout = 2000 * MS,
		.linger = 100 * MS,
		.window = how >> 2 & 3,
	};
	size_t headers;

	memset(datagram, 0x33, 36);
	datagram[1] = classes[how & 3];
	headers = 36 + (size_t)rmpp_class_bytes(datagram[1]);
	length = headers + next_byte() * (size_t)12;
	recv.max_bytes = 1 + next_byte() * (size_t)16;
	fail_at = next_byte();
	for (size_t i = headers; i < length; i++)
		datagram[i] = (uint8_t)(i * 31 + i / 256);
	expect(rmpp_send_init(&sender, &send, datagram, length, now) == AL_SUCCESS);
	rmpp_recv_init(&receiver, &recv, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	input_end = data + size;
	now = 0;
	tampered = 0;
	to_receiver.count = to_sender.count = 0;
	live_bytes = 0;
	start();
	while (input < input_end)
		step();
	take();
	rmpp_recv_destroy(&receiver);
	expect(!live_bytes);
	return 0;
}
