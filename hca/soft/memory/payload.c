/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Payload of packets: by value, or read from the sender's memory when it is copied. */
#include "hca/soft/memory/payload.h"

#include "hca/soft/packet/packet.h"

bool payload_open(struct cursor *from, const struct packet *pkt)
{
	if (pkt->view)
		return cursor_sges(from, pkt->view, pkt->sge, pkt->num_sge, pkt->offset);
	cursor_plain(from, pkt->data + pkt->offset, pkt->length);
	return true;
}

enum copy_result payload_copy(void *to, const struct packet *pkt)
{
	enum copy_result result = COPY_BAD_SOURCE;
	struct cursor from, target;

	cursor_plain(&target, to, pkt->length);
	if (payload_open(&from, pkt))
		result = cursor_copy(&target, &from, pkt->length);
	cursor_end(&from);
	return result;
}
