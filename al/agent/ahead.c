/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Outcomes of a MAD service's sends that go to the client with their announcement. */
#include "al/agent/ahead.h"

#include <stddef.h>
#include <string.h>

/* Takes the oldest event out of the service. Unsolicited datagrams stay in the service, whose room
 * for them is shared between their senders. */
static bool take(struct ahead *ahead, bool *more)
{
	struct al_mad_part part;
	al_status status = al_mad_next_outcome(ahead->svc, &ahead->record.datagram, &part);

	*more = status == AL_BUFFER_TOO_SMALL;
	if (status)
		return false;
	ahead->record.mad = part.event;
	ahead->record.left = part.left;
	ahead->events++;
	return true;
}

size_t ahead_next(struct ahead *ahead, struct agent_mad_event *record, bool *more)
{
	size_t body =
		offsetof(struct agent_mad_event, datagram) - offsetof(struct agent_mad_event, mad);

	*more = ahead->events - ahead->taken >= AGENT_AHEAD_MAX;
	if (!ahead->held)
		ahead->held = !*more && take(ahead, more);
	record->event.before = ahead->events - ahead->held;
	if (!ahead->held)
		return 0;
	body += ahead->record.mad.length;
	memcpy(&record->mad, &ahead->record.mad, body);
	return offsetof(struct agent_mad_event, mad) + body;
}

void ahead_sent(struct ahead *ahead)
{
	ahead->held = false;
}

void ahead_taken(struct ahead *ahead, uint64_t taken)
{
	if (taken > ahead->taken)
		ahead->taken = taken;
}

al_status ahead_fetch(struct ahead *ahead, uint64_t taken, const struct ahead_want *want,
		      struct al_mad_part *part)
{
	memset(part, 0, sizeof(*part));
	ahead_taken(ahead, taken);
	if (ahead->taken != ahead->events)
		return AL_NOT_FOUND;
	return al_mad_next_part(want->svc, want->size, want->offset, want->to, want->room, part);
}
