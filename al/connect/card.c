/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cards of queue pairs: the check of their values, and their form on the wire. */
#include "al/connect/connect.h"

#include <string.h>

#include "al/object/object.h"
#include "ci/ci.h"

#define CARD_MAGIC   0x69627163u /* "ibqc" */
#define CARD_VERSION 1

/* ------------------------------------------------------------------- checking */

static bool is_zero(const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	while (size && !byte[size - 1])
		size--;
	return !size;
}

/* A value of a card, and the values that it may have. */
struct range {
	const char *name;
	uint64_t value, least, most;
};

static al_status check_ranges(const struct range *range, size_t count, const char *whose)
{
	for (; count; range++, count--)
		if (range->value < range->least || range->value > range->most)
			return ib_refuse(AL_INVALID_PARAMETER,
					 "%s card: %s is %#llx, and the range is %#llx to %#llx",
					 whose, range->name, (unsigned long long)range->value,
					 (unsigned long long)range->least,
					 (unsigned long long)range->most);
	return AL_SUCCESS;
}

static al_status check_type(const struct al_qp_card *card, const char *whose)
{
	if (card->qp_type == IB_QPT_RC || card->qp_type == IB_QPT_UC || card->qp_type == IB_QPT_UD)
		return AL_SUCCESS;
	return ib_refuse(AL_INVALID_PARAMETER, "%s card: qp_type is %d, and must be RC, UC or UD",
			 whose, (int)card->qp_type);
}

/* By what a packet finds the port: the LID, or on Ethernet the GID. */
static al_status check_place(const struct al_qp_card *card, const char *whose)
{
	const bool ethernet = card->link_layer == IB_LINK_LAYER_ETHERNET;

	if (is_zero(&card->gid, sizeof(card->gid)) || card->gid.raw[0] == 0xff)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "%s card: gid is %s, and must be the GID of a port", whose,
				 card->gid.raw[0] ? "a multicast GID" : "zero");
	if (ethernet ? !card->lid
		     : card->lid >= IB_LID_UNICAST_FIRST && card->lid <= IB_LID_UNICAST_LAST)
		return AL_SUCCESS;
	return ib_refuse(AL_INVALID_PARAMETER, "%s card: lid is %#x, and must be %s", whose,
			 card->lid, ethernet ? "0 on Ethernet" : "a unicast LID, 0x1 to 0xbfff");
}

al_status card_check(const struct al_qp_card *card, const char *whose)
{
	const struct range ranges[] = {
		{ "node_guid", card->node_guid, 1, UINT64_MAX },
		{ "mtu", card->mtu, IB_MTU_256, IB_MTU_4096 },
		{ "link_layer", card->link_layer, IB_LINK_LAYER_INFINIBAND,
		  IB_LINK_LAYER_ETHERNET },
		{ "qpn", card->qpn, 2, IB_QPN_MULTICAST - 1 },
		{ "psn", card->psn, 0, IB_PSN_MASK },
		{ "max_msg_size", card->max_msg_size, 1, 1u << 31 },
		{ "pkey", card->pkey & IB_PKEY_VALUE_MASK, 1, IB_PKEY_VALUE_MASK },
		{ "port_num", card->port_num, 1, UINT8_MAX },
	};
	al_status status;

	if (card->pad || !is_zero(card->reserved, sizeof(card->reserved)))
		return ib_refuse(AL_INVALID_PARAMETER, "%s card: reserved is not zero", whose);
	status = check_type(card, whose);
	if (!status)
		status = check_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), whose);
	return status ? status : check_place(card, whose);
}

/* ----------------------------------------------------------------- on the wire */

static void put(uint8_t **wire, uint64_t value, unsigned int bytes)
{
	while (bytes)
		*(*wire)++ = (uint8_t)(value >> 8 * --bytes);
}

static uint64_t get(const uint8_t **wire, unsigned int bytes)
{
	uint64_t value = 0;

	for (; bytes; bytes--)
		value = value << 8 | *(*wire)++;
	return value;
}

void al_card_encode(const struct al_qp_card *card, void *wire)
{
	uint8_t *at = wire;

	memset(wire, 0, AL_CARD_BYTES);
	put(&at, CARD_MAGIC, 4);
	put(&at, CARD_VERSION, 2);
	put(&at, card->qp_type, 1);
	put(&at, card->port_num, 1);
	put(&at, card->node_guid, 8);
	memcpy(at, card->gid.raw, sizeof(card->gid.raw));
	at += sizeof(card->gid.raw);
	put(&at, card->qpn, 4);
	put(&at, card->psn, 4);
	put(&at, card->qkey, 4);
	put(&at, card->max_msg_size, 4);
	put(&at, card->lid, 2);
	put(&at, card->pkey, 2);
	put(&at, card->mtu, 1);
	put(&at, card->link_layer, 1);
	put(&at, card->initiator_depth, 1);
	put(&at, card->responder_resources, 1);
	/* The remaining 8 bytes are zero. */
}

static void decode(const uint8_t *at, struct al_qp_card *card)
{
	card->qp_type = (ib_qp_type)get(&at, 1);
	card->port_num = (uint8_t)get(&at, 1);
	card->node_guid = get(&at, 8);
	memcpy(card->gid.raw, at, sizeof(card->gid.raw));
	at += sizeof(card->gid.raw);
	card->qpn = (uint32_t)get(&at, 4);
	card->psn = (uint32_t)get(&at, 4);
	card->qkey = (uint32_t)get(&at, 4);
	card->max_msg_size = (uint32_t)get(&at, 4);
	card->lid = (uint16_t)get(&at, 2);
	card->pkey = (uint16_t)get(&at, 2);
	card->mtu = (ib_mtu)get(&at, 1);
	card->link_layer = (ib_link_layer)get(&at, 1);
	card->initiator_depth = (uint8_t)get(&at, 1);
	card->responder_resources = (uint8_t)get(&at, 1);
	card->reserved[0] = get(&at, 8); /* refused by card_check() unless zero */
}

al_status al_card_decode(const void *wire, struct al_qp_card *card)
{
	struct al_qp_card decoded = { 0 };
	const uint8_t *at = wire;
	uint64_t version;
	al_status status;

	if (!wire || !card)
		return REFUSE(AL_INVALID_PARAMETER, "wire or card is NULL");
	if (get(&at, 4) != CARD_MAGIC)
		return REFUSE(AL_INVALID_PARAMETER, "the bytes are no card of a queue pair");
	version = get(&at, 2);
	if (version != CARD_VERSION)
		return REFUSE(AL_INVALID_PARAMETER,
			      "the card has version %u, and this library reads version %u",
			      (unsigned int)version, CARD_VERSION);
	decode(at, &decoded);
	status = card_check(&decoded, "the peer's");
	if (!status)
		*card = decoded;
	return SETTLED(status);
}
