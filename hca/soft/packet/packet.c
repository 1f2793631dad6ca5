/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lists of packets. Pools of packets are in pool.c. */
#include "hca/soft/packet/packet.h"

#include "hca/soft/shared/opcode.h"

struct packet **packets_end(struct packet **list)
{
	while (*list)
		list = &(*list)->next;
	return list;
}

void packets_append(struct packet **list, struct packet *more)
{
	struct packet **end = packets_end(list);

	*end = more;
}

struct packet *packets_recall(struct packet **list, const struct recall *recall)
{
	struct packet *recalled = NULL, *pkt;

	while ((pkt = *list)) {
		if (pkt->home == recall->home) {
			*list = pkt->next;
			pkt->next = recalled;
			recalled = pkt;
			continue;
		}
		if (pkt->kind == PKT_READ_RESP && pkt->view == recall->lent)
			pkt->kind = PKT_NONE;
		list = &pkt->next;
	}
	return recalled;
}
