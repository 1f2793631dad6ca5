/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A program's buffer: the address before the datagram, and texts of both for people. */
#include <stdio.h>
#include <string.h>

#include "al/compat/umad/umad.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT size_t umad_size(void)
{
	return sizeof(struct umad_buffer);
}

EXPORT void *umad_get_mad(void *buffer)
{
	return ((struct umad_buffer *)buffer)->mad;
}

EXPORT struct umad_address *umad_get_mad_addr(void *buffer)
{
	return &((struct umad_buffer *)buffer)->address;
}

EXPORT int umad_status(void *buffer)
{
	return (int)((struct umad_buffer *)buffer)->status;
}

/* The address has its flow label in host byte order here. NULL: the datagram has no GRH. */
EXPORT int umad_set_grh(void *buffer, const void *address)
{
	struct umad_address *to = umad_get_mad_addr(buffer);
	const struct umad_address *from = address;
	uint32_t flow_label;

	to->grh_present = from != NULL;
	if (!from)
		return 0;
	memcpy(to->gid, from->gid, sizeof(to->gid));
	memcpy(&flow_label, &from->flow_label, sizeof(flow_label));
	to->flow_label = ib_be32_of(flow_label);
	to->gid_index = from->gid_index;
	to->hop_limit = from->hop_limit;
	to->traffic_class = from->traffic_class;
	return 0;
}

EXPORT int umad_set_pkey(void *buffer, int index)
{
	umad_get_mad_addr(buffer)->pkey_index = (uint16_t)index;
	return 0;
}

EXPORT int umad_get_pkey(void *buffer)
{
	return umad_get_mad_addr(buffer)->pkey_index;
}

EXPORT int umad_set_addr_net(void *buffer, uint16_t dlid, uint32_t qpn, int sl, uint32_t qkey)
{
	struct umad_address *to = umad_get_mad_addr(buffer);

	memcpy(&to->lid, &dlid, sizeof(to->lid));
	memcpy(&to->qpn, &qpn, sizeof(to->qpn));
	memcpy(&to->qkey, &qkey, sizeof(to->qkey));
	to->sl = (uint8_t)sl;
	return 0;
}

EXPORT int umad_set_addr(void *buffer, int dlid, int qpn, int sl, int qkey)
{
	struct umad_address *to = umad_get_mad_addr(buffer);

	to->lid = ib_be16_of((uint16_t)dlid);
	to->qpn = ib_be32_of((uint32_t)qpn);
	to->qkey = ib_be32_of((uint32_t)qkey);
	to->sl = (uint8_t)sl;
	return 0;
}

EXPORT void umad_addr_dump(const struct umad_address *address)
{
	fprintf(stderr,
		"address: LID %u, queue pair 0x%x, Q_Key 0x%x, SL %u, path bits %u, P_Key index %u\n",
		ib_be16_get(address->lid), ib_be32_get(address->qpn), ib_be32_get(address->qkey),
		address->sl, address->path_bits, address->pkey_index);
	if (!address->grh_present)
		return;
	fputs("         GID ", stderr);
	for (size_t i = 0; i < sizeof(address->gid); i++)
		fprintf(stderr, "%02x%s", address->gid[i],
			i % 2 && i + 1 < sizeof(address->gid) ? ":" : "");
	fprintf(stderr, ", GID index %u, hop limit %u, traffic class %u, flow label 0x%x\n",
		address->gid_index, address->hop_limit, address->traffic_class,
		ib_be32_get(address->flow_label));
}

EXPORT void umad_dump(const void *buffer)
{
	const struct umad_buffer *umad = buffer;

	fprintf(stderr, "agent %u, status %u, time-out %u ms, %u bytes\n", umad->agent_id,
		umad->status, umad->timeout_ms, umad->length);
	umad_addr_dump(&umad->address);
}
