/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RMPP's sender and receiver (IBTA 13.6), as state machines. rmpp.h has the contracts. */
#include <string.h>

#include <iba/ib_hca.h>

#include "al/mgmt/rmpp.h"

/* Where the class header begins, in a packet and in a datagram. */
#define HEADER_BYTES offsetof(struct ib_rmpp_mad, data)

/* Value of the response time field: the packet does not say a time. */
#define NO_RESP_TIME 31

/* Statuses from here on are the class's and the vendor's, in STOP and in ABORT packets. */
#define FIRST_CLASS_STATUS 128

/* ------------------------------------------------------------------- packets */

/* The classes that use RMPP. */
static const struct rmpp_class {
	uint8_t first, last; /* classes */
	uint8_t bytes;       /* class header behind the RMPP header */
} classes[] = {
	{ IB_CLASS_SUBN_ADM, IB_CLASS_SUBN_ADM, 20 }, /* SM_Key, attribute offset, component mask */
	{ IB_CLASS_DEV_MGMT, IB_CLASS_DEV_MGMT, 28 }, /* reserved */
	{ IB_CLASS_DEV_ADM, IB_CLASS_DEV_ADM, 28 },   /* reserved */
	{ IB_CLASS_BIS, IB_CLASS_BIS, 28 },           /* reserved */
	{ IB_CLASS_VENDOR_2_FIRST, IB_CLASS_VENDOR_2_LAST, 4 }, /* OUI */
};
IBA_CHECK(offsetof(struct ib_sa_mad, data) == HEADER_BYTES + 20);
IBA_CHECK(offsetof(struct ib_vendor_mad, data) == HEADER_BYTES + 4);

int rmpp_class_bytes(uint8_t mgmt_class)
{
	size_t i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (mgmt_class >= classes[i].first && mgmt_class <= classes[i].last)
			return classes[i].bytes;
	return -1;
}

bool rmpp_is_packet(const struct ib_rmpp_mad *packet)
{
	return rmpp_class_bytes(packet->hdr.mgmt_class) >= 0 &&
	       (ib_rmpp_hdr_flags(&packet->rmpp) & IB_RMPP_ACTIVE);
}

static uint32_t segment_of(const struct ib_rmpp_mad *packet)
{
	return ib_be32_get(packet->rmpp.seg_num);
}

/* PayloadLength of a segment, NewWindowLast of an acknowledgement. */
static uint32_t length_of(const struct ib_rmpp_mad *packet)
{
	return ib_be32_get(packet->rmpp.paylen_newwin);
}

static bool has_flag(const struct ib_rmpp_mad *packet, enum ib_rmpp_flags flag)
{
	return ib_rmpp_hdr_flags(&packet->rmpp) & flag;
}

static uint8_t check_data(const struct ib_rmpp_mad *packet)
{
	uint32_t class_bytes = (uint32_t)rmpp_class_bytes(packet->hdr.mgmt_class);
	uint32_t segment = segment_of(packet), length = length_of(packet);

	if (packet->rmpp.status != IB_RMPP_STATUS_NORMAL)
		return IB_RMPP_STATUS_ILLEGAL;
	if (!segment || has_flag(packet, IB_RMPP_FIRST) != (segment == 1))
		return IB_RMPP_STATUS_BAD_SEG;
	if (has_flag(packet, IB_RMPP_LAST) && (length < class_bytes || length > IB_RMPP_DATA_BYTES))
		return IB_RMPP_STATUS_BAD_LEN;
	return IB_RMPP_STATUS_NORMAL;
}

static uint8_t check_ack(const struct ib_rmpp_mad *packet)
{
	if (packet->rmpp.status != IB_RMPP_STATUS_NORMAL)
		return IB_RMPP_STATUS_ILLEGAL;
	return length_of(packet) < segment_of(packet) ? IB_RMPP_STATUS_W2S : IB_RMPP_STATUS_NORMAL;
}

static uint8_t check_stop(const struct ib_rmpp_mad *packet)
{
	uint8_t status = packet->rmpp.status;

	return status == IB_RMPP_STATUS_RESX || status >= FIRST_CLASS_STATUS
		       ? IB_RMPP_STATUS_NORMAL
		       : IB_RMPP_STATUS_ILLEGAL;
}

static uint8_t check_abort(const struct ib_rmpp_mad *packet)
{
	return packet->rmpp.status >= IB_RMPP_STATUS_T2L ? IB_RMPP_STATUS_NORMAL
							 : IB_RMPP_STATUS_ILLEGAL;
}

uint8_t rmpp_check(const struct ib_rmpp_mad *packet)
{
	static uint8_t (*const checks[])(const struct ib_rmpp_mad *) = {
		[IB_RMPP_DATA] = check_data,
		[IB_RMPP_ACK] = check_ack,
		[IB_RMPP_STOP] = check_stop,
		[IB_RMPP_ABORT] = check_abort,
	};
	uint8_t type = packet->rmpp.type;

	if (packet->rmpp.version != IB_RMPP_VERSION)
		return IB_RMPP_STATUS_UNV;
	if (type >= sizeof(checks) / sizeof(checks[0]) || !checks[type])
		return IB_RMPP_STATUS_BADT;
	return checks[type](packet);
}

bool rmpp_begins(const struct ib_rmpp_mad *packet)
{
	return rmpp_is_packet(packet) && packet->rmpp.type == IB_RMPP_DATA &&
	       segment_of(packet) == 1 && rmpp_check(packet) == IB_RMPP_STATUS_NORMAL;
}

/* Begins a packet of a transfer, with the headers of the datagram or of another packet. */
static void begin_packet(struct ib_rmpp_mad *packet, const void *headers, enum ib_rmpp_type type)
{
	const struct ib_rmpp_mad *from = headers;

	memset(packet, 0, sizeof(*packet));
	packet->hdr = from->hdr;
	memcpy(packet->data, from->data, (size_t)rmpp_class_bytes(from->hdr.mgmt_class));
	packet->rmpp.version = IB_RMPP_VERSION;
	packet->rmpp.type = (uint8_t)type;
	ib_rmpp_hdr_set_resp_time(&packet->rmpp, NO_RESP_TIME);
	ib_rmpp_hdr_set_flags(&packet->rmpp, IB_RMPP_ACTIVE);
	if (type != IB_RMPP_DATA)
		packet->hdr.status = ib_be16_of(IB_MAD_STATUS_OK);
}

/* Begins a packet of the receiver, with the headers that the sender sent. */
static void begin_answer(struct ib_rmpp_mad *answer, const void *headers, enum ib_rmpp_type type)
{
	begin_packet(answer, headers, type);
	answer->hdr.method ^= IB_METHOD_RESP;
}

static enum ib_rmpp_type refusal_type(uint8_t status)
{
	return status == IB_RMPP_STATUS_RESX ? IB_RMPP_STOP : IB_RMPP_ABORT;
}

bool rmpp_refuse(const struct ib_rmpp_mad *packet, uint8_t status, struct ib_rmpp_mad *answer)
{
	if (packet->rmpp.type == IB_RMPP_STOP || packet->rmpp.type == IB_RMPP_ABORT)
		return false;
	begin_answer(answer, packet, refusal_type(status));
	answer->rmpp.status = status;
	return true;
}

/* True: the MAD headers are of one transfer, in the direction that the method says. */
static bool same_transfer(const struct ib_mad_hdr *a, uint8_t method, const struct ib_mad_hdr *b)
{
	return a->mgmt_class == b->mgmt_class && a->class_version == b->class_version &&
	       method == b->method && !memcmp(&a->tid, &b->tid, sizeof(a->tid));
}

/* The state in which a STOP or an ABORT packet from the peer leaves a machine, and the status to
 * report. */
static enum rmpp_state ended_by_peer(const struct ib_rmpp_mad *packet, uint8_t *status)
{
	*status = rmpp_check(packet) == IB_RMPP_STATUS_NORMAL ? packet->rmpp.status
							      : IB_RMPP_STATUS_ILLEGAL;
	return packet->rmpp.type == IB_RMPP_STOP ? RMPP_STOPPED : RMPP_ABORTED;
}

static bool ends(const struct ib_rmpp_mad *packet)
{
	return packet->rmpp.version == IB_RMPP_VERSION &&
	       (packet->rmpp.type == IB_RMPP_STOP || packet->rmpp.type == IB_RMPP_ABORT);
}

static uint64_t later(uint64_t now, uint64_t ns)
{
	return ns < RMPP_NO_DEADLINE - now ? now + ns : RMPP_NO_DEADLINE;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* -------------------------------------------------------------------- sender */

/* Data bytes of a full segment. */
static uint32_t full_bytes(uint32_t class_bytes)
{
	return IB_RMPP_DATA_BYTES - class_bytes;
}

/* Cuts a datagram into segments. False: the datagram has a class without RMPP, or a length that
 * cannot be sent. */
static bool cut(struct rmpp_send *send, const uint8_t *mad, size_t length)
{
	const struct ib_mad_hdr *hdr = (const void *)mad;
	uint64_t data_length, segments;
	uint32_t class_bytes;

	if (length < HEADER_BYTES || rmpp_class_bytes(hdr->mgmt_class) < 0)
		return false;
	class_bytes = (uint32_t)rmpp_class_bytes(hdr->mgmt_class);
	if (length < HEADER_BYTES + class_bytes || length > UINT32_MAX)
		return false;
	data_length = length - HEADER_BYTES - class_bytes;
	segments = (data_length + full_bytes(class_bytes) - 1) / full_bytes(class_bytes);
	if (!segments)
		segments = 1;
	send->mad = mad;
	send->data_length = data_length;
	send->class_bytes = class_bytes;
	send->segments = (uint32_t)segments;
	return data_length + segments * class_bytes <= UINT32_MAX; /* PayloadLength of the first */
}

al_status rmpp_send_init(struct rmpp_send *send, const struct rmpp_send_attr *attr, const void *mad,
			 size_t length, uint64_t now)
{
	if (!attr->ack_timeout || !attr->total_timeout || !attr->first_window)
		return AL_INVALID_PARAMETER;
	*send = (struct rmpp_send){
		.state = RMPP_ACTIVE,
		.attr = *attr,
		.next = 1,
		.window = attr->first_window,
		.retries_left = attr->retries,
		.deadline = RMPP_NO_DEADLINE,
		.end = later(now, attr->total_timeout),
	};
	return cut(send, mad, length) ? AL_SUCCESS : AL_INVALID_PARAMETER;
}

static void fail_send(struct rmpp_send *send, uint8_t status)
{
	send->state = RMPP_FAILED;
	send->status = status;
	send->control = (uint8_t)refusal_type(status);
}

void rmpp_send_abort(struct rmpp_send *send, uint8_t status)
{
	if (send->state == RMPP_ACTIVE)
		fail_send(send, status);
}

/* PayloadLength of a segment. */
static uint32_t payload_length(const struct rmpp_send *send, uint32_t segment, uint32_t bytes)
{
	if (segment == send->segments)
		return send->class_bytes + bytes;
	if (segment == 1)
		return (uint32_t)send->data_length + send->segments * send->class_bytes;
	return 0;
}

static void make_segment(const struct rmpp_send *send, uint32_t segment, struct ib_rmpp_mad *packet)
{
	uint32_t bytes = full_bytes(send->class_bytes);
	size_t offset = (size_t)(segment - 1) * bytes;
	uint32_t flags = IB_RMPP_ACTIVE;

	if (segment == 1)
		flags |= IB_RMPP_FIRST;
	if (segment == send->segments) {
		flags |= IB_RMPP_LAST;
		bytes = (uint32_t)(send->data_length - offset);
	}
	begin_packet(packet, send->mad, IB_RMPP_DATA);
	ib_rmpp_hdr_set_flags(&packet->rmpp, flags);
	packet->rmpp.seg_num = ib_be32_of(segment);
	packet->rmpp.paylen_newwin = ib_be32_of(payload_length(send, segment, bytes));
	memcpy(packet->data + send->class_bytes,
	       send->mad + HEADER_BYTES + send->class_bytes + offset, bytes);
}

/* A STOP or an ABORT, or the acknowledgement of segment 0, by which a double-sided transfer changes
 * its direction. */
static void make_control(struct rmpp_send *send, struct ib_rmpp_mad *packet)
{
	begin_packet(packet, send->mad, (enum ib_rmpp_type)send->control);
	if (send->control == IB_RMPP_ACK)
		packet->rmpp.paylen_newwin = ib_be32_of(send->attr.reply_window);
	else
		packet->rmpp.status = send->status;
	send->control = IB_RMPP_NONE;
}

bool rmpp_send_next(struct rmpp_send *send, uint64_t now, struct ib_rmpp_mad *packet)
{
	if (send->control != IB_RMPP_NONE) {
		make_control(send, packet);
		return true;
	}
	if (send->state != RMPP_ACTIVE || send->next > send->window || send->next > send->segments)
		return false;
	make_segment(send, send->next, packet);
	if (send->next > send->sent)
		send->sent = send->next;
	send->next++;
	send->deadline = later(now, send->attr.ack_timeout);
	return true;
}

static void take_ack(struct rmpp_send *send, uint64_t now, uint32_t segment, uint32_t window)
{
	if (segment > send->sent) {
		fail_send(send, IB_RMPP_STATUS_S2B);
		return;
	}
	if (segment < send->acked) /* overtaken by a later one */
		return;
	if (window > send->window)
		send->window = window;
	if (segment == send->acked)
		return;
	send->acked = segment;
	send->retries_left = send->attr.retries;
	send->deadline = later(now, send->attr.ack_timeout);
	if (send->next <= segment)
		send->next = segment + 1;
	if (segment < send->segments)
		return;
	send->state = RMPP_DONE;
	if (send->attr.reply_window)
		send->control = IB_RMPP_ACK;
}

/* The receiver repeats its last acknowledgement because it did not get the direction switch. */
static void take_late_ack(struct rmpp_send *send, const struct ib_rmpp_mad *packet)
{
	if (send->attr.reply_window && packet->rmpp.type == IB_RMPP_ACK &&
	    rmpp_check(packet) == IB_RMPP_STATUS_NORMAL && segment_of(packet) == send->segments)
		send->control = IB_RMPP_ACK;
}

void rmpp_send_packet(struct rmpp_send *send, uint64_t now, const struct ib_rmpp_mad *packet)
{
	const struct ib_mad_hdr *hdr = (const void *)send->mad;
	uint8_t status;

	if (!rmpp_is_packet(packet) ||
	    !same_transfer(hdr, hdr->method ^ IB_METHOD_RESP, &packet->hdr))
		return;
	if (send->state == RMPP_DONE)
		take_late_ack(send, packet);
	if (send->state != RMPP_ACTIVE)
		return;
	if (ends(packet)) {
		send->state = ended_by_peer(packet, &send->status);
		return;
	}
	status = rmpp_check(packet);
	if (status != IB_RMPP_STATUS_NORMAL)
		fail_send(send, status);
	else if (packet->rmpp.type == IB_RMPP_ACK)
		take_ack(send, now, segment_of(packet), length_of(packet));
}

uint64_t rmpp_send_deadline(const struct rmpp_send *send)
{
	return send->state == RMPP_ACTIVE ? earlier(send->deadline, send->end) : RMPP_NO_DEADLINE;
}

/*
 * Goes back to the first segment that is not acknowledged. If the window is closed, the last
 * acknowledged segment is sent again, since the acknowledgement that opened the window may be lost,
 * and a repeated segment makes the receiver repeat it.
 */
static void go_back(struct rmpp_send *send)
{
	send->next = send->acked < send->window ? send->acked + 1 : send->acked;
}

void rmpp_send_time(struct rmpp_send *send, uint64_t now)
{
	if (send->state != RMPP_ACTIVE)
		return;
	if (now >= send->end) {
		fail_send(send, IB_RMPP_STATUS_T2L);
		return;
	}
	if (now < send->deadline)
		return;
	if (!send->retries_left) {
		fail_send(send, IB_RMPP_STATUS_TMR);
		return;
	}
	send->retries_left--;
	send->deadline = later(now, send->attr.ack_timeout);
	go_back(send);
}

/* ------------------------------------------------------------------ receiver */

void rmpp_recv_init(struct rmpp_recv *recv, const struct rmpp_recv_attr *attr, uint64_t now)
{
	*recv = (struct rmpp_recv){
		.state = RMPP_ACTIVE,
		.attr = *attr,
		.expected = 1,
		.window = attr->first_window ? attr->first_window : 1,
		.deadline = later(now, attr->idle_timeout),
		.end = later(now, attr->total_timeout),
	};
	if (!recv->attr.window)
		recv->attr.window = 1;
}

static void free_datagram(struct rmpp_recv *recv)
{
	al_free(recv->mad);
	recv->mad = NULL;
	recv->length = recv->room = 0;
}

static void end_recv(struct rmpp_recv *recv, uint64_t now, enum rmpp_state state, uint8_t status)
{
	recv->state = state;
	recv->status = status;
	recv->deadline = later(now, recv->attr.linger);
	if (state != RMPP_DONE)
		free_datagram(recv);
}

/* Ends the transfer because of a packet. */
static bool fail_recv(struct rmpp_recv *recv, uint64_t now, uint8_t status,
		      const struct ib_rmpp_mad *packet, struct ib_rmpp_mad *answer)
{
	end_recv(recv, now, RMPP_FAILED, status);
	return rmpp_refuse(packet, status, answer);
}

bool rmpp_recv_abort(struct rmpp_recv *recv, uint64_t now, uint8_t status,
		     struct ib_rmpp_mad *answer)
{
	bool begun = recv->mad;

	if (recv->state != RMPP_ACTIVE)
		return false;
	if (begun) {
		begin_answer(answer, recv->mad, refusal_type(status));
		answer->rmpp.status = status;
	}
	end_recv(recv, now, RMPP_FAILED, status);
	return begun;
}

static bool make_ack(const struct rmpp_recv *recv, const struct ib_rmpp_mad *packet,
		     struct ib_rmpp_mad *answer)
{
	begin_answer(answer, packet, IB_RMPP_ACK);
	answer->rmpp.seg_num = ib_be32_of(recv->expected - 1);
	answer->rmpp.paylen_newwin = ib_be32_of(recv->window);
	return true;
}

/* Makes room for a datagram of so many bytes, in buffers that double. False: the cap or the memory
 * does not permit that. */
static bool reserve(struct rmpp_recv *recv, size_t bytes)
{
	size_t max = recv->attr.max_bytes;
	size_t room = recv->room < max / 2 ? 2 * recv->room : max;
	uint8_t *mad;

	if (bytes <= recv->room)
		return true;
	if (bytes > max)
		return false;
	if (room < bytes)
		room = bytes;
	mad = al_alloc(room);
	if (!mad)
		return false;
	if (recv->length)
		memcpy(mad, recv->mad, recv->length);
	al_free(recv->mad);
	recv->mad = mad;
	recv->room = room;
	return true;
}

/* Adds a checked segment to the datagram: the headers of the first, the data of each. */
static bool append(struct rmpp_recv *recv, const struct ib_rmpp_mad *packet)
{
	size_t class_bytes = (size_t)rmpp_class_bytes(packet->hdr.mgmt_class);
	size_t payload = has_flag(packet, IB_RMPP_LAST) ? length_of(packet) : IB_RMPP_DATA_BYTES;
	size_t skip = recv->length ? HEADER_BYTES + class_bytes : 0;
	size_t bytes = HEADER_BYTES + payload - skip;

	if (!reserve(recv, recv->length + bytes))
		return false;
	memcpy(recv->mad + recv->length, (const uint8_t *)packet + skip, bytes);
	recv->length += bytes;
	return true;
}

static bool take_data(struct rmpp_recv *recv, uint64_t now, const struct ib_rmpp_mad *packet,
		      struct ib_rmpp_mad *answer)
{
	uint32_t segment = segment_of(packet);

	if (segment > recv->window)
		return fail_recv(recv, now, IB_RMPP_STATUS_S2B, packet, answer);
	if (segment != recv->expected)
		return make_ack(recv, packet, answer);
	if (!append(recv, packet))
		return fail_recv(recv, now, IB_RMPP_STATUS_RESX, packet, answer);
	recv->expected++;
	recv->deadline = later(now, recv->attr.idle_timeout);
	if (has_flag(packet, IB_RMPP_LAST)) {
		end_recv(recv, now, RMPP_DONE, IB_RMPP_STATUS_NORMAL);
		return make_ack(recv, packet, answer);
	}
	if (segment < recv->window)
		return false;
	recv->window += recv->attr.window;
	return make_ack(recv, packet, answer);
}

static bool take_packet(struct rmpp_recv *recv, uint64_t now, const struct ib_rmpp_mad *packet,
			struct ib_rmpp_mad *answer)
{
	uint8_t status;

	enum rmpp_state state;

	if (ends(packet)) {
		state = ended_by_peer(packet, &status);
		end_recv(recv, now, state, status);
		return false;
	}
	status = rmpp_check(packet);
	if (status != IB_RMPP_STATUS_NORMAL)
		return fail_recv(recv, now, status, packet, answer);
	return packet->rmpp.type == IB_RMPP_DATA && take_data(recv, now, packet, answer);
}

/* After the last segment: repeated segments, and the direction switch. */
static bool take_late_packet(struct rmpp_recv *recv, const struct ib_rmpp_mad *packet,
			     struct ib_rmpp_mad *answer)
{
	if (rmpp_check(packet) != IB_RMPP_STATUS_NORMAL)
		return false;
	if (packet->rmpp.type == IB_RMPP_DATA)
		return make_ack(recv, packet, answer);
	if (packet->rmpp.type == IB_RMPP_ACK && !segment_of(packet))
		recv->reply_window = length_of(packet);
	return false;
}

bool rmpp_recv_packet(struct rmpp_recv *recv, uint64_t now, const struct ib_rmpp_mad *packet,
		      struct ib_rmpp_mad *answer)
{
	if (!rmpp_is_packet(packet))
		return false;
	if (!recv->hdr.mgmt_class && rmpp_begins(packet))
		recv->hdr = packet->hdr;
	if (!same_transfer(&recv->hdr, recv->hdr.method, &packet->hdr))
		return false;
	switch (recv->state) {
	case RMPP_ACTIVE:
		return take_packet(recv, now, packet, answer);
	case RMPP_DONE:
		return take_late_packet(recv, packet, answer);
	case RMPP_FAILED:
		return packet->rmpp.type == IB_RMPP_DATA &&
		       rmpp_refuse(packet, recv->status, answer);
	case RMPP_STOPPED:
	case RMPP_ABORTED:
		break;
	}
	return false;
}

uint64_t rmpp_recv_deadline(const struct rmpp_recv *recv)
{
	return recv->state == RMPP_ACTIVE ? earlier(recv->deadline, recv->end) : recv->deadline;
}

bool rmpp_recv_time(struct rmpp_recv *recv, uint64_t now, struct ib_rmpp_mad *answer)
{
	return now >= rmpp_recv_deadline(recv) &&
	       rmpp_recv_abort(recv, now, IB_RMPP_STATUS_T2L, answer);
}

size_t rmpp_recv_room(const struct rmpp_recv *recv)
{
	return recv->mad ? recv->room : 0;
}

void *rmpp_recv_take(struct rmpp_recv *recv, size_t *length)
{
	void *mad = recv->mad;

	if (recv->state != RMPP_DONE || !mad)
		return NULL;
	*length = recv->length;
	recv->mad = NULL;
	return mad;
}

void rmpp_recv_destroy(struct rmpp_recv *recv)
{
	free_datagram(recv);
}
