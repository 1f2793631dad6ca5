/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sends of MAD services: the turns of senders and their services at a port's queue pairs, posting,
 * time-outs, repetitions and cancelling. Every send ends in send_end() or, with its service, in
 * send_drop_all(), under the port's lock: so an answer, a time-out, a cancel, a removal and the end
 * of the service decide the outcome once.
 */
#include <string.h>

#include "al/mgmt/mgmt.h"
#include "al/mgmt/remote.h"
#include "al/verbs/verbs.h"

#define NS_PER_MS 1000000u

/* ----------------------------------------------------------------- queues */

/* Puts a send into its service's queue. first: before the sends that wait already. Under
 * port->lock. */
static void enqueue(struct mgmt_send *send, bool first)
{
	struct al_mad_svc *svc = send->svc;

	link_insert(first ? svc->unsent.next : &svc->unsent, &send->queue);
	if (link_alone(&svc->turn))
		link_insert(&svc->sender->services, &svc->turn);
	if (link_alone(&svc->sender->turn))
		link_insert(&svc->qp->turns, &svc->sender->turn);
}

/* Takes a send out of the queue or list in which it waits. Under port->lock. */
static void dequeue(struct mgmt_send *send)
{
	struct al_mad_svc *svc = send->svc;

	link_remove(&send->queue);
	if (link_alone(&svc->unsent))
		link_remove(&svc->turn);
	if (link_alone(&svc->sender->services))
		link_remove(&svc->sender->turn);
}

/* Takes a send out of all lists, and leaves a posted slot to its completion. Under port->lock. */
static void withdraw(struct mgmt_send *send)
{
	dequeue(send);
	link_remove(&send->all);
	link_remove(&send->bucket);
	if (send->slot)
		send->slot->send = NULL;
	send->slot = NULL;
	if (send->recv)
		transfer_forget(send->recv);
	send->recv = NULL;
	paths_drop(&send->svc->port->paths, &send->hold);
}

/* Counts the outcome of a send, which is no silent one. Under port->lock. */
static void count_outcome(struct mad_counts *counts, al_mad_event_type type, al_status status)
{
	if (type == AL_MAD_ANSWERED)
		mad_count(&counts->answered);
	else if (type == AL_MAD_FAILED)
		mad_count(status == AL_TIMEOUT ? &counts->timed_out : &counts->failed);
}

void send_end(struct mgmt_send *send, al_mad_event_type type, al_status status)
{
	withdraw(send);
	if (send->silent) {
		send_free(send);
		return;
	}
	count_outcome(&send->svc->counts, type, status);
	send->item.event.type = type;
	send->item.event.status = status;
	svc_add_event(send->svc, &send->item);
}

/* Frees a send that has never been in a list. */
static void discard(struct mgmt_send *send)
{
	paths_drop(&send->svc->port->paths, &send->hold);
	svc_discharge(send->svc, send->charged);
	al_free(send);
}

void send_free(struct mgmt_send *send)
{
	if (send->silent)
		send->svc->num_silent--;
	else
		send->svc->num_sends--;
	mad_free_message(send->svc, &send->item);
	svc_discharge(send->svc, send->charged);
	al_free(send);
}

void send_drop_all(struct al_mad_svc *svc)
{
	struct mgmt_send *send;

	while (!link_alone(&svc->sends)) {
		send = LINK_OWNER(svc->sends.next, struct mgmt_send, all);
		withdraw(send);
		send_free(send);
	}
}

void send_fail_all(struct mgmt_port *port, const struct mgmt_qp *qp, al_status status)
{
	struct al_mad_svc *svc;

	for (struct mgmt_link *l = port->services.next; l != &port->services; l = l->next) {
		svc = LINK_OWNER(l, struct al_mad_svc, link);
		while (svc->qp == qp && !link_alone(&svc->sends))
			send_end(LINK_OWNER(svc->sends.next, struct mgmt_send, all), AL_MAD_FAILED,
				 status);
	}
	if (port->own)
		send_drop_all(&port->own[qp - port->qp]);
}

/* ---------------------------------------------------------------- posting */

void send_wait_until(struct mgmt_port *port, struct mgmt_send *send, uint64_t deadline)
{
	struct mgmt_link *at = &port->waiting;

	send->deadline = deadline;
	/* sends mostly have one time-out, so the search from the end is short */
	while (at->prev != &port->waiting &&
	       LINK_OWNER(at->prev, struct mgmt_send, queue)->deadline > deadline)
		at = at->prev;
	link_insert(at, &send->queue);
	mgmt_port_wake_at(port, deadline);
}

void send_wait_for_answer(struct mgmt_port *port, struct mgmt_send *send)
{
	const uint64_t most = (uint64_t)AL_MAD_BACKOFF_MAX_MS * NS_PER_MS;
	uint64_t wait = send->wait_ns;

	if (wait < most)
		send->wait_ns = wait * 2 < most ? wait * 2 : most;
	send->transferred = true;
	send_wait_until(port, send, mgmt_now() + wait);
}

void send_continue(struct mgmt_send *send)
{
	if (send->recv) /* the answer has begun to arrive */
		return;
	dequeue(send);
	enqueue(send, false);
	send_next(send->svc->port, send->svc->qp);
}

void send_receives(struct mgmt_send *send, struct mgmt_recv *recv)
{
	dequeue(send);
	send->recv = recv;
}

/* Leaves a send to agents_run(). Under port->lock. */
static void post_to_self(struct mgmt_port *port, struct mgmt_send *send)
{
	link_insert(&port->to_self, &send->queue);
	mgmt_agents_wake_at(port, 0);
}

/* A datagram of a single packet is on its way. Under port->lock. */
static void wait_or_end(struct mgmt_port *port, struct mgmt_send *send)
{
	if (send->expects_answer)
		send_wait_for_answer(port, send);
	else
		send_end(send, AL_MAD_SENT, AL_SUCCESS);
}

bool send_take_to_self(struct mgmt_port *port, struct ib_mad *mad)
{
	struct mgmt_send *send;
	bool taken = false;

	pthread_mutex_lock(&port->lock);
	if (!link_alone(&port->to_self)) {
		send = LINK_OWNER(port->to_self.next, struct mgmt_send, queue);
		link_remove(&send->queue);
		*mad = send->mad;
		mad_count(&port->counters.sent);
		wait_or_end(port, send);
		taken = true;
	}
	pthread_mutex_unlock(&port->lock);
	return taken;
}

/* Posts a send's datagram, or the next packet of its transfer, in a free slot. Under port->lock. */
static void post(struct mgmt_port *port, struct mgmt_qp *qp, struct mgmt_send *send)
{
	struct mgmt_slot *slot = qp->free;
	struct ib_sge sge = { .addr = (uintptr_t)slot->buffer,
			      .length = IB_MAD_BYTES,
			      .lkey = port->lkey };
	struct ib_send_wr wr = { .wr_id = mgmt_send_wr_id(port, qp, slot),
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IB_WR_SEND,
				 .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;
	al_status status;

	wr.wr.ud.ah = send->hold.ah;
	wr.wr.ud.remote_qpn = send->remote_qpn;
	wr.wr.ud.remote_qkey = send->remote_qkey;
	wr.wr.ud.pkey_index = send->pkey_index;
	wr.wr.ud.port_num = send->way.out_port;
	if (send->way.to_self) {
		post_to_self(port, send);
		return;
	}
	if (!send->transfer) {
		memcpy(slot->buffer, &send->mad, IB_MAD_BYTES);
	} else if (!transfer_next(send, slot->buffer)) {
		transfer_pause(port, send);
		return;
	}
	status = al_post_send(qp->handle, &wr, &bad);
	if (status) {
		send_end(send, AL_MAD_FAILED, status);
		return;
	}
	qp->free = slot->next;
	qp->posted++;
	mad_count(&port->counters.sent);
	if (send->transfer) { /* the transfer repeats what is lost, so the slot's completion says
				 nothing of the send */
		slot->send = NULL;
		enqueue(send, false);
		return;
	}
	/* a repetition may overtake the completion of the attempt before, which then says nothing
	 * of the send */
	if (send->slot)
		send->slot->send = NULL;
	send->slot = slot;
	slot->send = send;
	if (send->expects_answer)
		send_wait_for_answer(port, send);
}

/* Moves a link to the end of its list; one that is in no list stays so. */
static void to_end(struct mgmt_link *list, struct mgmt_link *link)
{
	if (link_alone(link))
		return;
	link_remove(link);
	link_insert(list, link);
}

void send_next(struct mgmt_port *port, struct mgmt_qp *qp)
{
	struct mgmt_sender *sender;
	struct al_mad_svc *svc;
	struct mgmt_send *send;

	while (qp->free && !qp->stopped && !link_alone(&qp->turns)) {
		sender = LINK_OWNER(qp->turns.next, struct mgmt_sender, turn);
		svc = LINK_OWNER(sender->services.next, struct al_mad_svc, turn);
		send = LINK_OWNER(svc->unsent.next, struct mgmt_send, queue);
		dequeue(send);
		to_end(&sender->services, &svc->turn);
		to_end(&qp->turns, &sender->turn);
		post(port, qp, send);
	}
}

void send_completed(struct mgmt_port *port, struct mgmt_qp *qp, struct mgmt_slot *slot,
		    ib_wc_status status)
{
	struct mgmt_send *send = slot->send;

	slot->send = NULL;
	slot->next = qp->free;
	qp->free = slot;
	qp->posted--;
	if (status != IB_WC_SUCCESS)
		qp->stopped =
			true; /* the management thread calls recover() when no slot is posted */
	if (send) {
		send->slot = NULL;
		if (status == IB_WC_WR_FLUSH_ERR) { /* an earlier send has failed, and this one was
						       not sent */
			dequeue(send);
			enqueue(send, true);
		} else if (status != IB_WC_SUCCESS) {
			send_end(send, AL_MAD_FAILED, AL_IO_ERROR);
		} else if (!send->expects_answer) {
			send_end(send, AL_MAD_SENT, AL_SUCCESS);
		}
	}
	port->to_recover |= qp->stopped && !qp->posted;
	send_next(port, qp);
}

/* --------------------------------------------------------------- requests */

/* Sends a request again. False: it can not be sent again. Under port->lock. */
static bool repeat(struct mgmt_send *send)
{
	send->retries--;
	send->transferred = false;
	if (send->transfer && transfer_begin(send))
		return false;
	mad_count(&send->svc->counts.repeated);
	enqueue(send, false);
	return true;
}

void send_expire(struct mgmt_port *port, uint64_t now)
{
	struct mgmt_send *send;
	uint64_t deadline;

	pthread_mutex_lock(&port->lock);
	while (!link_alone(&port->waiting)) {
		send = LINK_OWNER(port->waiting.next, struct mgmt_send, queue);
		if (send->deadline > now)
			break;
		dequeue(send);
		if (send->transfer && !send->transferred) {
			transfer_expire(send, now);
			enqueue(send, false);
			continue;
		}
		if (send->retries && repeat(send))
			continue;
		mad_count(&port->counters.timed_out);
		send_end(send, AL_MAD_FAILED, AL_TIMEOUT);
	}
	deadline = transfer_expire_recvs(port, now);
	for (int i = 0; i < MGMT_QPS; i++)
		send_next(port, &port->qp[i]);
	if (!link_alone(&port->waiting)) {
		send = LINK_OWNER(port->waiting.next, struct mgmt_send, queue);
		deadline = send->deadline < deadline ? send->deadline : deadline;
	}
	atomic_store(&port->deadline, deadline);
	pthread_mutex_unlock(&port->lock);
}

/* True: a response comes from the place to which the request went (IBTA 13.5.4). */
static bool is_from_destination(const struct mgmt_send *send, const struct mgmt_received *r)
{
	const struct ib_ah_attr *to = &send->path, *from = &r->path;

	if (r->qpn == MGMT_QP1 && r->src_qp != send->remote_qpn)
		return false;
	if (to->is_global)
		return from->is_global &&
		       !memcmp(&to->grh.dgid, &from->grh.dgid, sizeof(to->grh.dgid));
	/* a directed route names no LID of the node at its end */
	if (send->mad.hdr.mgmt_class == IB_CLASS_SUBN_DIR || to->dlid == IB_LID_PERMISSIVE)
		return true;
	return to->dlid == from->dlid;
}

/* True: by its method the response answers the request. Only TrapRepress answers a trap. */
static bool answers(const struct ib_mad_hdr *response, const struct ib_mad_hdr *request)
{
	return (response->method == IB_METHOD_TRAP_REPRESS) == (request->method == IB_METHOD_TRAP);
}

struct mgmt_send *send_find_request(struct mgmt_port *port, const struct mgmt_received *r)
{
	const struct ib_mad_hdr *hdr = &r->mad->hdr;
	uint64_t tid = ib_be64_get(hdr->tid);
	struct mgmt_link *bucket = &port->requests[(tid >> 32) % MGMT_BUCKETS];

	for (struct mgmt_link *l = bucket->next; l != bucket; l = l->next) {
		struct mgmt_send *send = LINK_OWNER(l, struct mgmt_send, bucket);

		if (send->expects_answer && send->tid == tid &&
		    send->mad.hdr.mgmt_class == hdr->mgmt_class && answers(hdr, &send->mad.hdr) &&
		    is_from_destination(send, r))
			return send;
	}
	return NULL;
}

struct mgmt_send *send_find_transfer(struct mgmt_port *port, const struct mgmt_received *r)
{
	const struct ib_mad_hdr *hdr = &r->mad->hdr;
	uint64_t tid = ib_be64_get(hdr->tid);
	struct mgmt_link *bucket = &port->requests[(tid >> 32) % MGMT_BUCKETS];

	for (struct mgmt_link *l = bucket->next; l != bucket; l = l->next) {
		struct mgmt_send *send = LINK_OWNER(l, struct mgmt_send, bucket);

		if (send->transfer && send->tid == tid &&
		    send->mad.hdr.mgmt_class == hdr->mgmt_class &&
		    (send->mad.hdr.method ^ hdr->method) == IB_METHOD_RESP &&
		    is_from_destination(send, r))
			return send;
	}
	return NULL;
}

/* ------------------------------------------------------------- the service's calls */

al_status mad_check_send(const struct al_dev *dev, const struct al_mad_svc_init *init,
			 const struct al_mad_send *s)
{
	const struct ib_mad_hdr *hdr = s->mad;
	bool qp1 = mgmt_qpn_of(init->mgmt_class) == MGMT_QP1;

	if (s->length < sizeof(*hdr))
		return ib_refuse(AL_INVALID_PARAMETER, "length is %u, and a header has %zu bytes",
				 s->length, sizeof(*hdr));
	if (s->length > IB_MAD_BYTES && !init->rmpp)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "length is %u, and a service without rmpp sends at most %u bytes",
				 s->length, IB_MAD_BYTES);
	if (hdr->mgmt_class != init->mgmt_class)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "the datagram's class is %#x, and the service's is %#x",
				 hdr->mgmt_class, init->mgmt_class);
	if (s->retries && !s->timeout_ms)
		return ib_refuse(AL_INVALID_PARAMETER, "retries is %u, and timeout_ms is 0",
				 s->retries);
	if (s->timeout_ms && mad_is_response(hdr))
		return ib_refuse(AL_INVALID_PARAMETER,
				 "timeout_ms is %u, and a response (method %#x) is never answered",
				 s->timeout_ms, hdr->method);
	if (qp1 ? !s->remote_qpn || s->remote_qpn > IB_QPN_MASK : s->remote_qpn)
		return ib_refuse(AL_INVALID_PARAMETER, "remote_qpn is %#x, and must be %s",
				 s->remote_qpn, qp1 ? "from 1 to 0xffffff" : "0 for this class");
	if (s->path.port_num != init->port_num)
		return ib_refuse(AL_INVALID_PORT,
				 "port_num of the path is %u, and the service's port is %u",
				 s->path.port_num, init->port_num);
	return check_pkey_index(dev, "pkey_index", init->port_num, s->pkey_index);
}

al_status mad_refuse_full(void)
{
	return ib_refuse(AL_QUEUE_FULL,
			 "the service has %u datagrams on their way, as many as it can have",
			 AL_MAD_SENDS_MAX);
}

/* True: the datagram is sent by RMPP: it is longer than one packet, or the caller has set the flag
 * Active. */
static bool needs_transfer(const struct al_mad_svc *svc, const struct al_mad_send *s)
{
	return svc->init.rmpp &&
	       (s->length > IB_MAD_BYTES ||
		(s->length >= sizeof(struct ib_mad_hdr) + sizeof(struct ib_rmpp_hdr) &&
		 rmpp_is_packet(s->mad)));
}

/* Finds the way of a send, and an address handle for it. way NULL: by the send's path. */
static al_status set_way(struct mgmt_send *send, const struct agents_way *way)
{
	struct mgmt_port *port = send->svc->port;
	struct ib_ah_attr path = send->path;
	al_status status = AL_SUCCESS;

	if (way)
		send->way = *way;
	else
		status = agents_route(port, &send->mad, path.dlid, &send->way);
	if (status)
		return status;
	path.is_global = path.is_global && path.dlid == send->way.dlid;
	path.dlid = send->way.dlid;
	status = paths_take(&port->paths, port->pd, &path, &send->hold);
	/* the library's own domain ends with the HCA */
	return status == AL_INVALID_HANDLE ? AL_CA_REMOVED : status;
}

static al_status new_send(struct al_mad_svc *svc, const struct al_mad_send *s,
			  const struct agents_way *way, struct mgmt_send **out)
{
	bool transfer = needs_transfer(svc, s);
	uint64_t charged = transfer ? s->length : 0;
	struct mgmt_send *send;
	al_status status;

	if (charged && !svc_charge(svc, charged))
		return ib_refuse(
			AL_LIMIT_EXCEEDED,
			"the service's long datagrams on their way have no room for %u bytes more",
			s->length);
	send = al_alloc(sizeof(*send) +
			(transfer ? sizeof(*send->transfer) + (size_t)s->length : 0));
	if (!send) {
		svc_discharge(svc, charged);
		return AL_INSUFFICIENT_MEMORY;
	}
	link_init(&send->all);
	link_init(&send->queue);
	link_init(&send->bucket);
	send->item.send = send;
	send->item.event.id = s->id;
	send->svc = svc;
	send->charged = charged;
	send->path = s->path;
	send->remote_qpn = s->remote_qpn;
	send->remote_qkey = s->remote_qkey;
	send->pkey_index = s->pkey_index;
	send->retries = s->retries;
	send->expects_answer = s->timeout_ms;
	send->wait_ns = (uint64_t)s->timeout_ms * NS_PER_MS;
	memcpy(&send->mad, s->mad, s->length < IB_MAD_BYTES ? s->length : IB_MAD_BYTES);
	status = set_way(send, way);
	if (status) {
		svc_discharge(svc, charged);
		al_free(send);
		return status;
	}
	send->tid = ib_be64_get(send->mad.hdr.tid);
	if (transfer) {
		send->transfer = (struct rmpp_send *)(send + 1);
		send->long_mad = (uint8_t *)(send->transfer + 1);
		send->long_bytes = s->length;
		memcpy(send->long_mad, s->mad, s->length);
	}
	*out = send;
	return AL_SUCCESS;
}

/*
 * Lets received datagrams find the send. A request, and a transfer that is no response, get the
 * library's half of the transaction identifier. Under port->lock.
 */
static void begin_transaction(struct mgmt_port *port, struct mgmt_send *send)
{
	if (!send->expects_answer && !send->transfer)
		return;
	send->caller_tid = (uint32_t)(send->tid >> 32);
	if (!mad_is_response(&send->mad.hdr)) {
		if (++port->next_tid == MAD_TID_TRAPS)
			port->next_tid = 1;
		send->tid = (uint64_t)port->next_tid << 32 | (uint32_t)send->tid;
		send->mad.hdr.tid = ib_be64_of(send->tid);
	}
	if (send->transfer)
		memcpy(send->long_mad, &send->mad.hdr, sizeof(send->mad.hdr));
	link_insert(&port->requests[(send->tid >> 32) % MGMT_BUCKETS], &send->bucket);
}

/* Under port->lock. */
static al_status queue_send(struct al_mad_svc *svc, struct mgmt_send *send)
{
	struct mgmt_port *port = svc->port;

	if (obj_dying(&svc->obj))
		return ib_refuse(AL_INVALID_HANDLE,
				 "another thread destroyed the service during the call");
	if (port->ended)
		return ib_refuse(AL_CA_REMOVED, "the HCA has been removed");
	if (svc->qp->failed)
		return ib_refuse(AL_CA_ERROR, "the port's special queue pair has failed");
	if (svc->num_sends == AL_MAD_SENDS_MAX)
		return mad_refuse_full();
	begin_transaction(port, send);
	if (send->transfer && transfer_begin(send)) {
		link_remove(&send->bucket);
		return ib_refuse(AL_INVALID_PARAMETER,
				 "the datagram is too long for RMPP, or its RMPP header is wrong");
	}
	mad_count(&svc->counts.sent);
	svc->num_sends++;
	link_insert(&svc->sends, &send->all);
	enqueue(send, false);
	send_next(port, svc->qp);
	return AL_SUCCESS;
}

void send_init_service(struct al_mad_svc *svc, struct mgmt_port *port, enum mgmt_qpn qpn)
{
	svc->port = port;
	svc->qp = &port->qp[qpn];
	link_init(&svc->sends);
	link_init(&svc->unsent);
	link_init(&svc->turn);
}

void send_init_sender(struct mgmt_sender *sender, const struct ci_client *client)
{
	sender->client = client;
	link_init(&sender->turn);
	link_init(&sender->services);
}

void send_silent(struct al_mad_svc *svc, const struct al_mad_send *s, const struct agents_way *way)
{
	struct mgmt_send *send;

	if (svc->num_silent >= AL_MAD_SENDS_MAX || svc->port->ended || svc->qp->failed ||
	    new_send(svc, s, way, &send))
		return;
	send->silent = true;
	send->transfer = NULL;
	svc->num_silent++;
	link_insert(&svc->sends, &send->all);
	enqueue(send, false);
	send_next(svc->port, svc->qp);
}

static al_status send_mad(struct al_mad_svc *svc, const struct al_mad_send *s)
{
	struct mgmt_send *send;
	al_status status = mad_check_send(svc->port->dev, &svc->init, s);

	if (!status)
		status = new_send(svc, s, NULL, &send);
	if (status)
		return status;
	pthread_mutex_lock(&svc->port->lock);
	status = queue_send(svc, send);
	if (status)
		discard(send);
	pthread_mutex_unlock(&svc->port->lock);
	return status;
}

al_status al_send_mad(al_mad_svc_h handle, const struct al_mad_send *s)
{
	struct al_call call;
	struct ci_saved_reason mine;
	bool carries = false;
	al_status status;

	if (!s || !s->mad)
		return REFUSE(AL_INVALID_PARAMETER, "send or send->mad is NULL");
	if (s->pad || !RESERVED_IS_ZERO(s))
		return REFUSE(AL_INVALID_PARAMETER, "pad or reserved is not zero");
	status = call_begin_any(&call, handle, AL_OBJ_MAD_SVC);
	if (status)
		return SETTLED(status);
	if (ops_dead(call.ops)) {
		status = ops_dead_status(call.ops);
	} else if (obj_agent(call.obj)) {
		status = remote_send(call.obj, s);
	} else {
		carries = mgmt_claim();
		status = send_mad((struct al_mad_svc *)call.obj, s);
	}
	CALL_FINISH(&call, status);
	if (carries) {
		ci_reason_save(&mine);
		mgmt_carry_on(); /* may refuse others' datagrams */
		ci_reason_restore(&mine);
	}
	return status;
}

static al_status cancel_mad(struct al_mad_svc *svc, uint64_t id)
{
	al_status status = AL_NOT_FOUND;
	struct mgmt_send *send;

	pthread_mutex_lock(&svc->port->lock);
	for (struct mgmt_link *l = svc->sends.next; l != &svc->sends; l = l->next) {
		send = LINK_OWNER(l, struct mgmt_send, all);
		if (send->silent || send->item.event.id != id)
			continue;
		transfer_abort(send);
		send_end(send, AL_MAD_FAILED, AL_CANCELLED);
		status = AL_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&svc->port->lock);
	return status;
}

al_status al_cancel_mad(al_mad_svc_h handle, uint64_t id)
{
	struct al_obj *obj = obj_get(handle, AL_OBJ_MAD_SVC);
	al_status status;

	if (!obj)
		return reason_settle(refuse_handle(handle, AL_OBJ_MAD_SVC), __func__, NULL);
	status = obj_agent(obj) ? remote_cancel(obj, id) : cancel_mad((struct al_mad_svc *)obj, id);
	if (status == AL_NOT_FOUND)
		ib_refuse(status, "the service has no datagram with id %#llx on its way",
			  (unsigned long long)id);
	if (status)
		reason_settle(status, __func__, obj);
	obj_put(obj);
	return status;
}
