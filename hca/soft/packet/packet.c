/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lists of packets. */
#include "hca/soft/packet/packet.h"

#include "hca/soft/shared/opcode.h"

struct packet **packets_end(struct packet **list)
{
	while (*list)
		list = &(*list)->next;
	return list;
}

struct packet *packets_recall(struct packet **list, const struct recall *what)
{
	struct packet *back = NULL, *pkt;

	while ((pkt = *list)) {
		if (pkt->home == what->home) {
			*list = pkt->next;
			pkt->next = back;
			back = pkt;
			continue;
		}
		if (pkt->kind == PKT_READ_RESP && pkt->view == what->lent)
			pkt->kind = PKT_NONE;
		list = &pkt->next;
	}
	return back;
}
