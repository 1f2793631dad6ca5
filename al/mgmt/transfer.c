/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RMPP transfers of MAD services: which packet belongs to which of rmpp.h's machines, their time,
 * their packets, and their bounds. A send with a machine is posted segment by segment, in turns
 * with other sends (send.c). A receiver is made for the first segment of a datagram that answers a
 * request, or that a service wants; it stays for some time after the datagram is delivered, to
 * answer segments that the peer repeats.
 */
#include <string.h>

#include "al/mgmt/mgmt.h"

#define NS_PER_S UINT64_C(1000000000)

static const struct rmpp_send_attr send_attr = {
	.ack_timeout = NS_PER_S,
	.total_timeout = 300 * NS_PER_S,
	.retries = 7,
	.first_window = 1,
};
static const struct rmpp_recv_attr recv_attr = {
	.idle_timeout = 10 * NS_PER_S,
	.total_timeout = 300 * NS_PER_S,
	.linger = 5 * NS_PER_S,
	.window = 64,
	.first_window = 1,
};

#define RECVS_MAX 16u /* receivers of a service, those that stay after their datagram included */

struct mgmt_recv {
	struct mgmt_link link; /* mgmt_port.receivers, oldest first */
	struct rmpp_recv machine;
	struct al_mad_svc *svc; /* a service ends its receivers before it ends */
	struct mgmt_send
		*send;     /* request that the datagram answers; NULL: unsolicited, or delivered */
	struct ib_mad mad; /* first segment */
	struct mgmt_received from; /* sender; from.mad is the member mad */
	uint64_t charged; /* bytes of the machine's buffer that the service's owner pays for */
	bool unpaid;      /* the owner does not pay for the datagram, which is dropped */
};

static const struct ib_rmpp_mad *packet_of(const struct mgmt_received *r)
{
	return (const void *)r->mad;
}

bool transfer_is_packet(const struct mgmt_received *r)
{
	return rmpp_is_packet(packet_of(r));
}

/* --------------------------------------------------------------------- sends */

al_status transfer_begin(struct mgmt_send *send)
{
	struct rmpp_send_attr attr = send_attr;

	attr.reply_window =
		send->expects_answer; /* a request with a response ends with a direction switch */
	return rmpp_send_init(send->transfer, &attr, send->long_mad, send->long_bytes, mgmt_now());
}

bool transfer_next(struct mgmt_send *send, void *packet)
{
	return rmpp_send_next(send->transfer, mgmt_now(), packet);
}

/* The status of a send whose transfer has ended. */
static al_status outcome(enum rmpp_state state, uint8_t status)
{
	if (state == RMPP_DONE)
		return AL_SUCCESS;
	return status == IB_RMPP_STATUS_TMR || status == IB_RMPP_STATUS_T2L ? AL_TIMEOUT
									    : AL_IO_ERROR;
}

void transfer_pause(struct mgmt_port *port, struct mgmt_send *send)
{
	const struct rmpp_send *machine = send->transfer;

	if (machine->state == RMPP_ACTIVE)
		send_wait_until(port, send, rmpp_send_deadline(machine));
	else if (machine->state != RMPP_DONE)
		send_end(send, AL_MAD_FAILED, outcome(machine->state, machine->status));
	else if (!send->expects_answer)
		send_end(send, AL_MAD_SENT, AL_SUCCESS);
	else if (send->transferred) /* a repeated acknowledgement prolongs no wait */
		send_wait_until(port, send, send->deadline);
	else
		send_wait_for_answer(port, send);
}

void transfer_expire(struct mgmt_send *send, uint64_t now)
{
	if (send->transfer->state == RMPP_ACTIVE)
		rmpp_send_time(send->transfer, now);
}

/* Posts a packet of a transfer to its peer. A packet that can not be sent is lost, and the peer
 * repeats its own. */
static void answer_peer(struct al_mad_svc *svc, const struct mgmt_received *to,
			const struct ib_rmpp_mad *packet)
{
	const struct al_mad_send s = { .mad = packet,
				       .length = IB_MAD_BYTES,
				       .remote_qpn = to->src_qp,
				       .remote_qkey = IB_QKEY_WELL_KNOWN,
				       .pkey_index = to->pkey_index,
				       .path = to->path };

	send_silent(svc, &s, NULL);
}

void transfer_abort(struct mgmt_send *send)
{
	const struct al_mad_send s = { .length = IB_MAD_BYTES,
				       .remote_qpn = send->remote_qpn,
				       .remote_qkey = send->remote_qkey,
				       .pkey_index = send->pkey_index,
				       .path = send->path };
	struct al_mad_send abort = s;
	struct ib_rmpp_mad packet;

	if (!send->transfer || send->transfer->state != RMPP_ACTIVE)
		return;
	rmpp_send_abort(send->transfer, IB_RMPP_STATUS_UNSPEC);
	abort.mad = &packet;
	while (rmpp_send_next(send->transfer, mgmt_now(), &packet))
		send_silent(send->svc, &abort, NULL);
}

/* ----------------------------------------------------------------- receivers */

/* The machine has freed its buffer, or is about to. */
static void stop_paying(struct mgmt_recv *recv)
{
	svc_discharge(recv->svc, recv->charged);
	recv->charged = 0;
}

static void end_recv(struct mgmt_recv *recv)
{
	link_remove(&recv->link);
	recv->svc->num_recvs--;
	if (recv->send)
		recv->send->recv = NULL;
	stop_paying(recv);
	rmpp_recv_destroy(&recv->machine);
	al_free(recv);
}

void transfer_drop_all(struct al_mad_svc *svc)
{
	struct mgmt_link *l = svc->port->receivers.next, *next;

	for (; l != &svc->port->receivers; l = next) {
		next = l->next;
		if (LINK_OWNER(l, struct mgmt_recv, link)->svc == svc)
			end_recv(LINK_OWNER(l, struct mgmt_recv, link));
	}
}

void transfer_forget(struct mgmt_recv *recv)
{
	struct ib_rmpp_mad answer;

	recv->send = NULL;
	if (rmpp_recv_abort(&recv->machine, mgmt_now(), IB_RMPP_STATUS_UNSPEC, &answer) &&
	    !obj_dying(&recv->svc->obj))
		answer_peer(recv->svc, &recv->from, &answer);
}

/* Ends the oldest receiver of the service whose datagram is delivered. */
static void make_room(struct al_mad_svc *svc)
{
	struct mgmt_recv *recv;

	for (struct mgmt_link *l = svc->port->receivers.next; l != &svc->port->receivers;
	     l = l->next) {
		recv = LINK_OWNER(l, struct mgmt_recv, link);
		if (recv->svc != svc || recv->machine.state == RMPP_ACTIVE)
			continue;
		end_recv(recv);
		return;
	}
}

/* Makes a receiver for a first segment. NULL: the service has no room; the peer is told. */
static struct mgmt_recv *new_recv(struct al_mad_svc *svc, struct mgmt_send *send,
				  const struct mgmt_received *r)
{
	struct rmpp_recv_attr attr = recv_attr;
	struct mgmt_recv *recv = NULL;
	struct ib_rmpp_mad answer;

	if (svc->num_recvs == RECVS_MAX)
		make_room(svc);
	if (svc->num_recvs < RECVS_MAX)
		recv = al_alloc(sizeof(*recv));
	if (!recv) {
		if (!send)
			mad_count(&svc->counts.dropped);
		if (rmpp_refuse(packet_of(r), IB_RMPP_STATUS_RESX, &answer))
			answer_peer(svc, r, &answer);
		return NULL;
	}
	attr.max_bytes = send ? AL_MAD_ANSWER_BYTES_MAX : AL_MAD_RECEIVE_BYTES_MAX;
	rmpp_recv_init(&recv->machine, &attr, mgmt_now());
	recv->svc = svc;
	recv->from = *r;
	recv->mad = *r->mad;
	recv->from.mad = &recv->mad;
	recv->send = send;
	if (send)
		send_receives(send, recv);
	svc->num_recvs++;
	link_insert(&svc->port->receivers, &recv->link);
	return recv;
}

/* Delivers a datagram that is complete, and ends the request of one that has failed. */
static void settle(struct mgmt_port *port, struct mgmt_recv *recv)
{
	struct mgmt_send *send = recv->send;
	struct mgmt_message message = { .charged = recv->charged };
	size_t length = 0;

	if (recv->machine.state == RMPP_ACTIVE)
		return;
	message.bytes = rmpp_recv_take(&recv->machine, &length);
	message.length = (uint32_t)length;
	recv->send = NULL;
	if (send)
		send->recv = NULL;
	if (message.bytes && !recv->unpaid) {
		recv->charged = 0;
		mad_deliver_long(port, recv->svc, send, &recv->from, &message);
		return;
	}
	al_free(message.bytes);
	stop_paying(recv);
	if (!send && recv->unpaid)
		mad_count(&recv->svc->counts.dropped);
	if (send)
		send_end(send, AL_MAD_FAILED,
			 recv->unpaid ? AL_LIMIT_EXCEEDED
				      : outcome(recv->machine.state, recv->machine.status));
}

/*
 * Lets the service's owner pay for the buffer of an arriving datagram. If the owner does not pay,
 * the transfer ends, and the answer is to be posted to the peer. Returns what "answers" is to be.
 */
static bool pay(struct mgmt_recv *recv, struct ib_rmpp_mad *answer, bool answers)
{
	uint64_t room = rmpp_recv_room(&recv->machine);

	if (room <= recv->charged)
		return answers;
	if (svc_charge(recv->svc, room - recv->charged)) {
		recv->charged = room;
		return answers;
	}
	recv->unpaid = true;
	return rmpp_recv_abort(&recv->machine, mgmt_now(), IB_RMPP_STATUS_RESX, answer) || answers;
}

static void take_packet(struct mgmt_port *port, struct mgmt_recv *recv,
			const struct ib_rmpp_mad *packet)
{
	struct ib_rmpp_mad answer;
	bool answers = rmpp_recv_packet(&recv->machine, mgmt_now(), packet, &answer);

	if (pay(recv, &answer, answers))
		answer_peer(recv->svc, &recv->from, &answer);
	settle(port, recv);
	mgmt_port_wake_at(port, rmpp_recv_deadline(&recv->machine));
}

uint64_t transfer_expire_recvs(struct mgmt_port *port, uint64_t now)
{
	struct mgmt_link *l = port->receivers.next, *next;
	uint64_t deadline = RMPP_NO_DEADLINE;
	struct ib_rmpp_mad answer;
	struct mgmt_recv *recv;

	for (; l != &port->receivers; l = next) {
		next = l->next;
		recv = LINK_OWNER(l, struct mgmt_recv, link);
		if (rmpp_recv_deadline(&recv->machine) <= now) {
			if (recv->machine.state != RMPP_ACTIVE) {
				end_recv(recv);
				continue;
			}
			if (rmpp_recv_time(&recv->machine, now, &answer))
				answer_peer(recv->svc, &recv->from, &answer);
			settle(port, recv);
		}
		if (rmpp_recv_deadline(&recv->machine) < deadline)
			deadline = rmpp_recv_deadline(&recv->machine);
	}
	return deadline;
}

/* ------------------------------------------------------------------- packets */

static bool is_same_transfer(const struct ib_mad_hdr *a, const struct ib_mad_hdr *b)
{
	return a->mgmt_class == b->mgmt_class && a->class_version == b->class_version &&
	       a->method == b->method && ib_be64_get(a->tid) == ib_be64_get(b->tid);
}

static struct mgmt_recv *find_recv(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct mgmt_recv *recv;

	for (struct mgmt_link *l = port->receivers.next; l != &port->receivers; l = l->next) {
		recv = LINK_OWNER(l, struct mgmt_recv, link);
		if (is_same_transfer(&recv->mad.hdr, &r->mad->hdr) &&
		    recv->from.src_qp == r->src_qp &&
		    mad_is_same_sender(&recv->from.path, &r->path))
			return recv;
	}
	return NULL;
}

/* Takes a first segment to a new receiver of the service that gets the datagram. False: no service
 * with RMPP gets it. */
static bool begin_recv(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct mgmt_send *send = NULL;
	struct al_mad_svc *svc;
	struct mgmt_recv *recv;

	if (mad_is_response(&r->mad->hdr)) {
		send = send_find_request(port, r);
		svc = send ? send->svc : NULL;
	} else {
		svc = mad_find_service(port, r->mad);
	}
	if (!svc || !svc->init.rmpp)
		return false;
	if (!rmpp_begins(packet_of(r)) || (send && send->recv))
		return true;
	recv = new_recv(svc, send, r);
	if (recv)
		take_packet(port, recv, packet_of(r));
	return true;
}

bool transfer_received(struct mgmt_port *port, const struct mgmt_received *r)
{
	struct mgmt_send *send = send_find_transfer(port, r);
	struct mgmt_recv *recv;

	if (packet_of(r)->rmpp.type != IB_RMPP_DATA && send) {
		rmpp_send_packet(send->transfer, mgmt_now(), packet_of(r));
		send_continue(send);
		return true;
	}
	recv = find_recv(port, r);
	if (!recv)
		return begin_recv(port, r);
	take_packet(port, recv, packet_of(r));
	return true;
}
