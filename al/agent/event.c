/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events on their way to a client. The thread of an Access Layer's callback writes the event to the client's socket, without
 * the loop. Events for which the socket has no room stay pending in their sources, until the loop calls outbox_flush().
 */
#include "al/agent/event.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "al/protocol/protocol.h"

/* Takes the next event of a source but those of a MAD service. False: the source has no event. */
static bool take_event(struct source *s, struct agent_event *event)
{
	uint32_t bit = s->pending & SOURCE_REMOVE ? SOURCE_REMOVE : s->pending & -s->pending;
	ib_event_type type;

	s->pending &= ~bit;
	if (bit == SOURCE_REMOVE) {
		event->kind = AGENT_EVENT_CA_REMOVE;
	} else if (bit == SOURCE_COMPLETION) {
		event->kind = AGENT_EVENT_COMPLETION;
	} else if (bit == SOURCE_ADD) {
		event->kind = AGENT_EVENT_CA_ADD;
	} else if (bit == SOURCE_READY) {
		event->kind = AGENT_EVENT_READY;
	} else if (bit == SOURCE_ENDING) {
		event->kind = AGENT_EVENT_ENDING;
	} else if (bit) {
		event->kind = s->kind;
		event->type = (uint32_t)__builtin_ctz(bit);
	} else {
		if (!ladder_take(&s->ladder, &type))
			return false;
		event->kind = s->kind;
		event->type = type;
	}
	return true;
}

/* Makes the record of the next event of a MAD service. Returns its bytes; 0: the source has no
 * event. */
static size_t take_mad(struct source *s, union agent_event_record *record)
{
	size_t bytes;
	bool more;

	if (!(s->pending & SOURCE_MAD) || s->ahead->sending)
		return 0;
	bytes = ahead_next(s->ahead, &record->mad, &more);
	if (bytes) {
		record->event.kind = AGENT_EVENT_MAD_AHEAD;
		return bytes;
	}
	s->pending &= ~SOURCE_MAD;
	record->event.kind = AGENT_EVENT_MAD;
	return more ? sizeof(record->event) : 0;
}

/* Makes the record of a queue pair's last failed request. Returns its bytes; 0: there is none. */
static size_t take_failure(struct source *s, union agent_event_record *record)
{
	if (!s->qp || !(s->pending & SOURCE_FAILURE))
		return 0;
	s->pending &= ~SOURCE_FAILURE;
	if (al_query_failure((al_qp_h)(uintptr_t)s->qp, &record->failure.failure))
		return 0;
	record->event.kind = AGENT_EVENT_FAILURE;
	return sizeof(record->failure);
}

/* Makes the record of the next event of a source. Returns its bytes; 0: the source has no event. */
static size_t take_record(struct source *s, union agent_event_record *record)
{
	size_t bytes;

	record->event =
		(struct agent_event){ .cookie = s->cookie, .guid = s->guid, .port = s->port };
	if (s->ahead)
		return take_mad(s, record);
	bytes = take_failure(s, record);
	if (bytes)
		return bytes;
	return take_event(s, &record->event) ? sizeof(record->event) : 0;
}

/* Sends pending events until none is left or the socket is full. Under the lock. */
static void send_pending(struct outbox *outbox)
{
	union agent_event_record record;
	struct source *s, left;
	size_t bytes;

	while (!outbox->full && outbox->queue) {
		s = outbox->queue;
		left = *s; /* the source without the event that is being sent */
		while ((bytes = take_record(&left, &record))) {
			if (TEMP_FAILURE_RETRY(send(outbox->fd, &record, bytes,
						    MSG_NOSIGNAL | MSG_DONTWAIT)) < 0) {
				/* The socket is full, or the kernel has no memory for the record. If the
				 * client has closed the socket, see_events() ends the session. */
				outbox->full = true;
				loop_change(outbox->fd, &outbox->watched, EPOLLIN | EPOLLOUT);
				return;
			}
			if (record.event.kind == AGENT_EVENT_MAD_AHEAD)
				ahead_sent(s->ahead);
			s->pending = left.pending;
			s->ladder = left.ladder;
		}
		s->pending = left.pending;
		outbox->queue = s->next;
		if (!outbox->queue)
			outbox->queue_end = &outbox->queue;
		s->queued = false;
	}
}

void outbox_init(struct outbox *outbox, int fd, void (*see)(struct watched *watched, uint32_t events))
{
	outbox->fd = fd;
	outbox->watched.see = see;
	outbox->queue_end = &outbox->queue;
	pthread_mutex_init(&outbox->lock, NULL);
	loop_change(fd, &outbox->watched, EPOLLIN);
}

void outbox_destroy(struct outbox *outbox)
{
	pthread_mutex_destroy(&outbox->lock);
}

/* Under the lock. */
static void raise_locked(struct source *s, uint32_t bits)
{
	struct outbox *outbox = s->outbox;

	s->pending |= bits;
	if (!s->pending && !ladder_has_event(&s->ladder))
		return;
	if (!s->queued) {
		s->queued = true;
		s->next = NULL;
		*outbox->queue_end = s;
		outbox->queue_end = &s->next;
	}
	send_pending(outbox);
}

void source_set_qp(struct source *s, const void *qp)
{
	pthread_mutex_lock(&s->outbox->lock);
	s->qp = qp;
	pthread_mutex_unlock(&s->outbox->lock);
}

void source_raise(struct source *s, uint32_t bits)
{
	pthread_mutex_lock(&s->outbox->lock);
	/* An HCA that is removed before the client has heard of its arrival: the client hears of neither. */
	if (bits == SOURCE_REMOVE && s->pending & SOURCE_ADD)
		s->pending &= ~SOURCE_ADD;
	else
		raise_locked(s, bits);
	pthread_mutex_unlock(&s->outbox->lock);
}

void source_port(struct source *s, ib_event_type type)
{
	pthread_mutex_lock(&s->outbox->lock);
	ladder_follow(&s->ladder, type);
	raise_locked(s, 0);
	pthread_mutex_unlock(&s->outbox->lock);
}

void source_mad(struct source *s, al_mad_svc_h svc)
{
	pthread_mutex_lock(&s->outbox->lock);
	s->ahead->svc = svc;
	raise_locked(s, SOURCE_MAD);
	pthread_mutex_unlock(&s->outbox->lock);
}

al_status source_mad_next(struct source *s, uint64_t taken, const struct ahead_want *want,
			  struct al_mad_part *part)
{
	al_status status;

	pthread_mutex_lock(&s->outbox->lock);
	status = ahead_fetch(s->ahead, taken, want, part);
	pthread_mutex_unlock(&s->outbox->lock);
	return status;
}

void source_mad_sending(struct source *s, uint64_t taken)
{
	pthread_mutex_lock(&s->outbox->lock);
	ahead_taken(s->ahead, taken);
	s->ahead->sending = true;
	pthread_mutex_unlock(&s->outbox->lock);
}

/* Makes the record for an answer. True: there is one. Under the lock. */
static bool take_for_answer(struct source *s, struct agent_mad_event *record)
{
	/* record->left of an event that is held was counted when the event was taken out of the
	 * service, which may have got events since */
	const bool held = s->ahead->held;
	bool more;

	record->event = (struct agent_event){ .kind = AGENT_EVENT_MAD_AHEAD, .cookie = s->cookie };
	if (!(s->pending & SOURCE_MAD) || !ahead_next(s->ahead, record, &more))
		return false;
	ahead_sent(s->ahead);
	if (!record->left && !held)
		s->pending &= ~SOURCE_MAD;
	return true;
}

bool source_mad_sent(struct source *s, struct agent_mad_event *record)
{
	bool taken;

	pthread_mutex_lock(&s->outbox->lock);
	s->ahead->sending = false;
	taken = record && take_for_answer(s, record);
	raise_locked(s, 0);
	pthread_mutex_unlock(&s->outbox->lock);
	return taken;
}

void source_forget(struct source *s)
{
	struct outbox *outbox = s->outbox;
	struct source **p;

	if (!outbox)
		return;
	pthread_mutex_lock(&outbox->lock);
	s->pending = 0;
	s->ladder = (struct ladder){ 0 };
	if (s->queued) {
		for (p = &outbox->queue; *p != s; p = &(*p)->next)
			;
		*p = s->next;
		if (outbox->queue_end == &s->next)
			outbox->queue_end = p;
		s->queued = false;
	}
	pthread_mutex_unlock(&outbox->lock);
}

void outbox_flush(struct outbox *outbox)
{
	pthread_mutex_lock(&outbox->lock);
	outbox->full = false;
	loop_change(outbox->fd, &outbox->watched, EPOLLIN);
	send_pending(outbox);
	pthread_mutex_unlock(&outbox->lock);
}
