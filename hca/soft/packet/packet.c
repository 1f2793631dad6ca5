/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lists of packets. Pools of packets are in pool.c. */
#include "hca/soft/packet/packet.h"

#include <string.h>

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

/* True: a copy of a multicast datagram to the group of a route. */
static bool is_copy(const struct packet *pkt, const struct route *group)
{
	return !pkt->home && pkt->dest_qpn == IB_QPN_MULTICAST && pkt->route.dlid == group->dlid &&
	       !memcmp(&pkt->route.dgid, &group->dgid, sizeof(group->dgid));
}

static bool is_recalled(const struct packet *pkt, const struct recall *recall)
{
	return recall->group ? is_copy(pkt, recall->group) : pkt->home == recall->home;
}

struct packet *packets_recall(struct packet **list, const struct recall *recall)
{
	struct packet *recalled = NULL, *pkt;

	while ((pkt = *list)) {
		if (is_recalled(pkt, recall)) {
			*list = pkt->next;
			pkt->next = recalled;
			recalled = pkt;
			continue;
		}
		if (!recall->group && pkt->kind == PKT_READ_RESP && pkt->view == recall->lent)
			pkt->kind = PKT_NONE;
		list = &pkt->next;
	}
	return recalled;
}
