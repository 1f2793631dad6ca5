/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The packet codec, by the tables of shared/opcode.c. Each header has a function that writes the header, and a
 * function that reads and checks the header. The checksums are in icrc.c.
 */

#include "hca/soft/packet/wire.h"

#include <string.h>

#include "hca/soft/packet/icrc.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/opcode.h"

#define LNH_LOCAL        2 /* BTH follows the LRH */
#define LNH_GLOBAL       3 /* GRH follows */
#define NXTHDR_BTH       0x1b
#define PROTOCOL_UDP     17
#define ETHERTYPE_IP4    0x0800
#define ETHERTYPE_IP6    0x86dd
#define ETH_MIN_BYTES    60 /* of a frame, without its FCS */
#define LID_MULTICAST    0xc000
#define LID_PERMISSIVE   0xffff
#define QPN_MULTICAST    0xffffff
#define IP_DONT_FRAGMENT 0x4000

const char *wire_refusal_text(enum wire_refusal why)
{
#define WIRE_TEXT(name, text) [name] = text,
	static const char *const texts[] = { WIRE_REFUSALS(WIRE_TEXT) };
#undef WIRE_TEXT

	return (unsigned int)why < WIRE_REFUSED ? texts[why] : "no such reason";
}

/* --------------------------------------------------------------------- bytes */

/* Write and read numbers of n bytes, highest byte first. */
static uint8_t *put(uint8_t *to, uint64_t value, int n)
{
	int i;

	for (i = n - 1; i >= 0; i--, value >>= 8)
		to[i] = (uint8_t)value;
	return to + n;
}

static uint64_t get(const uint8_t *from, int n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | *from++;
	return value;
}

static uint16_t get16(const uint8_t *from)
{
	return (uint16_t)get(from, 2);
}

static uint32_t get32(const uint8_t *from)
{
	return (uint32_t)get(from, 4);
}

static uint32_t get24(const uint8_t *from)
{
	return (uint32_t)get(from, 3);
}

static void put_lowest_first(uint8_t *to, uint32_t value, int n)
{
	for (; n--; value >>= 8)
		*to++ = (uint8_t)value;
}

static uint32_t get_lowest_first(const uint8_t *from, int n)
{
	uint32_t value = 0;

	while (n--)
		value = value << 8 | from[n];
	return value;
}

/* --------------------------------------------------- headers below the transport */

static size_t below_transport(const struct wire_packet *pkt)
{
	switch (pkt->framing) {
	case WIRE_ROCE4:
		return ETH_BYTES + IP4_BYTES + UDP_BYTES;
	case WIRE_ROCE6:
		return ETH_BYTES + IP6_BYTES + UDP_BYTES;
	default:
		return LRH_BYTES + (pkt->lrh.global ? GRH_BYTES : 0);
	}
}

/* words: units of 4 bytes from the LRH to the ICRC */
static uint8_t *put_lrh(uint8_t *to, const struct wire_packet *pkt, size_t words)
{
	to = put(to, (uint64_t)pkt->lrh.vl << 4, 1);
	to = put(to,
		 (uint64_t)pkt->lrh.sl << 4 | (uint64_t)(pkt->lrh.reserved2 & 3) << 2 |
			 (pkt->lrh.global ? LNH_GLOBAL : LNH_LOCAL),
		 1);
	to = put(to, pkt->lrh.dlid, 2);
	to = put(to, (uint64_t)pkt->lrh.reserved5 << 11 | words, 2);
	return put(to, pkt->lrh.slid, 2);
}

/* Writes a GRH, or an IPv6 header, which has the same form. */
static uint8_t *put_grh(uint8_t *to, const struct wire_packet *pkt, uint8_t next, size_t len)
{
	to = put(to, 6ull << 28 | (uint64_t)pkt->grh.tclass << 20 | (pkt->grh.flow_label & 0xfffff),
		 4);
	to = put(to, len, 2);
	to = put(to, next, 1);
	to = put(to, pkt->grh.hop_limit, 1);
	memcpy(to, pkt->grh.sgid, 16);
	memcpy(to + 16, pkt->grh.dgid, 16);
	return to + 32;
}

void wire_grh(uint8_t to[GRH_BYTES], const struct wire_packet *pkt, size_t len, bool ip6)
{
	put_grh(to, pkt, ip6 ? PROTOCOL_UDP : NXTHDR_BTH, len);
}

static uint8_t *put_ip4(uint8_t *to, const struct wire_packet *pkt, size_t len)
{
	uint8_t *from = to;

	to = put(to, 0x45, 1);
	to = put(to, pkt->ip4.tos, 1);
	to = put(to, len, 2);
	to = put(to, pkt->ip4.id, 2);
	to = put(to, pkt->ip4.dont_fragment ? IP_DONT_FRAGMENT : 0, 2);
	to = put(to, pkt->ip4.ttl, 1);
	to = put(to, PROTOCOL_UDP, 1);
	to = put(to, 0, 2);
	memcpy(to, pkt->ip4.src, 4);
	memcpy(to + 4, pkt->ip4.dst, 4);
	put(from + 10, inet_checksum(inet_sum(0, from, IP4_BYTES)), 2);
	return to + 8;
}

void wire_ip4(uint8_t to[IP4_BYTES], const struct wire_packet *pkt, size_t len)
{
	put_ip4(to, pkt, IP4_BYTES + len);
}

/* len: bytes from the UDP header to the end of the packet */
static uint8_t *put_ip_udp(uint8_t *to, const struct wire_packet *pkt, size_t len)
{
	bool ip4 = pkt->framing == WIRE_ROCE4;

	memcpy(to, pkt->eth.dst, 6);
	memcpy(to + 6, pkt->eth.src, 6);
	to = put(to + 12, ip4 ? ETHERTYPE_IP4 : ETHERTYPE_IP6, 2);
	to = ip4 ? put_ip4(to, pkt, IP4_BYTES + len) : put_grh(to, pkt, PROTOCOL_UDP, len);
	to = put(to, pkt->udp.src_port, 2);
	to = put(to, ROCE_PORT, 2);
	to = put(to, len, 2);
	return put(to, 0, 2);
}

static enum wire_refusal get_lrh(struct wire_packet *pkt, const uint8_t *from, size_t len)
{
	uint8_t lnh = from[1] & 3;

	if (from[0] & 15)
		return WIRE_BAD_LVER;
	if (lnh != LNH_LOCAL && lnh != LNH_GLOBAL)
		return WIRE_BAD_LNH;
	if ((get16(from + 4) & 0x7ffu) * 4 + VCRC_BYTES != len)
		return WIRE_BAD_PKTLEN;
	pkt->lrh.vl = from[0] >> 4;
	pkt->lrh.sl = from[1] >> 4;
	pkt->lrh.reserved2 = from[1] >> 2 & 3;
	pkt->lrh.global = lnh == LNH_GLOBAL;
	pkt->lrh.dlid = get16(from + 2);
	pkt->lrh.reserved5 = from[4] >> 3;
	pkt->lrh.slid = get16(from + 6);
	return WIRE_OK;
}

static void get_grh(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->grh.tclass = (uint8_t)(get16(from) >> 4);
	pkt->grh.flow_label = get32(from) & 0xfffff;
	pkt->grh.hop_limit = from[7];
	memcpy(pkt->grh.sgid, from + 8, 16);
	memcpy(pkt->grh.dgid, from + 24, 16);
}

/* len: bytes from the GRH to the end of the ICRC */
static enum wire_refusal check_grh(const uint8_t *from, size_t len)
{
	if (len < GRH_BYTES + BTH_BYTES + ICRC_BYTES)
		return WIRE_TRUNCATED;
	if (from[0] >> 4 != 6)
		return WIRE_BAD_IPVER;
	if (from[6] != NXTHDR_BTH)
		return WIRE_BAD_NXTHDR;
	return get16(from + 4) == len - GRH_BYTES ? WIRE_OK : WIRE_BAD_PAYLEN;
}

/*
 * Checks the IP packet's length of an IP header. said: that length; room: bytes of the frame after the Ethernet
 * header.
 */
static enum wire_refusal check_ip_length(size_t said, size_t room)
{
	bool filled_up = room + ETH_BYTES <= ETH_MIN_BYTES;

	return said == room || (filled_up && said < room) ? WIRE_OK : WIRE_BAD_IP_LENGTH;
}

static enum wire_refusal get_ip4(struct wire_packet *pkt, const uint8_t *from, size_t room)
{
	if (from[0] >> 4 != 4)
		return WIRE_BAD_IP_VERSION;
	if ((from[0] & 15) * 4 != IP4_BYTES)
		return WIRE_BAD_IP_OPTIONS;
	if (check_ip_length(get16(from + 2), room))
		return WIRE_BAD_IP_LENGTH;
	if (get16(from + 6) & (uint16_t)~IP_DONT_FRAGMENT)
		return WIRE_BAD_IP_FRAGMENT;
	if (from[9] != PROTOCOL_UDP)
		return WIRE_BAD_IP_PROTOCOL;
	if (inet_checksum(inet_sum(0, from, IP4_BYTES)))
		return WIRE_BAD_IP_CHECKSUM;
	pkt->ip4.tos = from[1];
	pkt->ip4.id = get16(from + 4);
	pkt->ip4.dont_fragment = get16(from + 6) & IP_DONT_FRAGMENT;
	pkt->ip4.ttl = from[8];
	memcpy(pkt->ip4.src, from + 12, 4);
	memcpy(pkt->ip4.dst, from + 16, 4);
	return WIRE_OK;
}

static enum wire_refusal get_ip6(struct wire_packet *pkt, const uint8_t *from, size_t room)
{
	if (from[0] >> 4 != 6)
		return WIRE_BAD_IP_VERSION;
	if (check_ip_length((size_t)get16(from + 4) + IP6_BYTES, room))
		return WIRE_BAD_IP_LENGTH;
	if (from[6] != PROTOCOL_UDP)
		return WIRE_BAD_IP_PROTOCOL;
	get_grh(pkt, from);
	return WIRE_OK;
}

/*
 * Returns the checksum of the IP addresses, the UDP header and the bytes after the UDP header. len: bytes of the IP
 * packet
 */
static uint16_t udp_checksum(enum wire_framing framing, const uint8_t *ip, size_t len)
{
	size_t header = framing == WIRE_ROCE4 ? IP4_BYTES : IP6_BYTES;
	size_t addresses = framing == WIRE_ROCE4 ? 8 : 32;
	uint32_t sum = PROTOCOL_UDP + (uint32_t)(len - header);

	sum = inet_sum(sum, ip + header - addresses, addresses);
	return inet_checksum(inet_sum(sum, ip + header, len - header));
}

/* Writes the UDP checksum. A checksum of 0 is written as 0xffff, since 0 means that the packet has no checksum. */
static void put_udp_checksum(enum wire_framing framing, uint8_t *ip, size_t len)
{
	uint8_t *at = ip + (framing == WIRE_ROCE4 ? IP4_BYTES : IP6_BYTES) + 6;
	uint16_t sum;

	put(at, 0, 2);
	sum = udp_checksum(framing, ip, len);
	put(at, sum ? sum : 0xffff, 2);
}

/* ip: the IP header, whose length and version have been checked; ip_len: bytes of the IP packet */
static enum wire_refusal get_udp(struct wire_packet *pkt, const uint8_t *ip, size_t header,
				 size_t ip_len)
{
	const uint8_t *from = ip + header;

	if (ip_len < header + UDP_BYTES + BTH_BYTES + ICRC_BYTES)
		return WIRE_TRUNCATED;
	if (get16(from + 2) != ROCE_PORT)
		return WIRE_BAD_UDP_PORT;
	if (get16(from + 4) != ip_len - header)
		return WIRE_BAD_UDP_LENGTH;
	pkt->udp.src_port = get16(from);
	pkt->udp.checksum = get16(from + 6);
	if (pkt->udp.checksum && udp_checksum(pkt->framing, ip, ip_len))
		return WIRE_BAD_UDP_CHECKSUM;
	return WIRE_OK;
}

/* ------------------------------------------------------------ transport headers */

static uint8_t *put_bth(uint8_t *to, const struct wire_packet *pkt, uint8_t pad)
{
	to = put(to, pkt->bth.opcode, 1);
	to = put(to,
		 (uint64_t)pkt->bth.solicited << 7 | (uint64_t)pkt->bth.migrated << 6 |
			 (uint64_t)pad << 4,
		 1);
	to = put(to, pkt->bth.pkey, 2);
	to = put(to,
		 (uint64_t)pkt->bth.fecn << 7 | (uint64_t)pkt->bth.becn << 6 |
			 (pkt->bth.reserved6 & 63),
		 1);
	to = put(to, pkt->bth.dest_qpn, 3);
	to = put(to, (uint64_t)pkt->bth.ack_req << 7 | (pkt->bth.reserved7 & 127), 1);
	return put(to, pkt->bth.psn, 3);
}

static enum wire_refusal get_bth(struct wire_packet *pkt, const uint8_t *from)
{
	if (from[1] & 15)
		return WIRE_BAD_TVER;
	if (!wire_ops[from[0]].name)
		return WIRE_BAD_OPCODE;
	pkt->bth.opcode = from[0];
	pkt->bth.solicited = from[1] >> 7;
	pkt->bth.migrated = from[1] >> 6 & 1;
	pkt->bth.pad = from[1] >> 4 & 3;
	pkt->bth.pkey = get16(from + 2);
	pkt->bth.fecn = from[4] >> 7;
	pkt->bth.becn = from[4] >> 6 & 1;
	pkt->bth.reserved6 = from[4] & 63;
	pkt->bth.dest_qpn = get24(from + 5);
	pkt->bth.ack_req = from[8] >> 7;
	pkt->bth.reserved7 = from[8] & 127;
	pkt->bth.psn = get24(from + 9);
	return WIRE_OK;
}

static uint8_t *put_reth(uint8_t *to, const struct wire_packet *pkt)
{
	to = put(to, pkt->reth.va, 8);
	to = put(to, pkt->reth.rkey, 4);
	return put(to, pkt->reth.dma_len, 4);
}

static void get_reth(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->reth.va = get(from, 8);
	pkt->reth.rkey = get32(from + 8);
	pkt->reth.dma_len = get32(from + 12);
}

static uint8_t *put_atomic(uint8_t *to, const struct wire_packet *pkt)
{
	to = put(to, pkt->atomic.va, 8);
	to = put(to, pkt->atomic.rkey, 4);
	to = put(to, pkt->atomic.swap_add, 8);
	return put(to, pkt->atomic.compare, 8);
}

static void get_atomic(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->atomic.va = get(from, 8);
	pkt->atomic.rkey = get32(from + 8);
	pkt->atomic.swap_add = get(from + 12, 8);
	pkt->atomic.compare = get(from + 20, 8);
}

static uint8_t *put_aeth(uint8_t *to, const struct wire_packet *pkt)
{
	return put(put(to, pkt->aeth.syndrome, 1), pkt->aeth.msn, 3);
}

static void get_aeth(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->aeth.syndrome = from[0];
	pkt->aeth.msn = get24(from + 1);
}

static uint8_t *put_orig(uint8_t *to, const struct wire_packet *pkt)
{
	return put(to, pkt->orig, 8);
}

static void get_orig(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->orig = get(from, 8);
}

static uint8_t *put_deth(uint8_t *to, const struct wire_packet *pkt)
{
	to = put(to, pkt->deth.qkey, 4);
	to = put(to, pkt->deth.reserved8, 1);
	return put(to, pkt->deth.src_qpn, 3);
}

static void get_deth(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->deth.qkey = get32(from);
	pkt->deth.reserved8 = from[4];
	pkt->deth.src_qpn = get24(from + 5);
}

static uint8_t *put_imm(uint8_t *to, const struct wire_packet *pkt)
{
	return put(to, pkt->imm, 4);
}

static void get_imm(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->imm = get32(from);
}

static uint8_t *put_ieth(uint8_t *to, const struct wire_packet *pkt)
{
	return put(to, pkt->inv_rkey, 4);
}

static void get_ieth(struct wire_packet *pkt, const uint8_t *from)
{
	pkt->inv_rkey = get32(from);
}

/* The extended headers, in the order in which they follow the BTH. */
static const struct {
	uint16_t flag; /* enum wire_op_flags */
	uint8_t bytes;
	uint8_t *(*put)(uint8_t *to, const struct wire_packet *pkt);
	void (*get)(struct wire_packet *pkt, const uint8_t *from);
} ext_headers[] = {
	{ WIRE_DETH, 8, put_deth, get_deth },
	{ WIRE_RETH, 16, put_reth, get_reth },
	{ WIRE_ATOMIC_ETH, 28, put_atomic, get_atomic },
	{ WIRE_AETH, 4, put_aeth, get_aeth },
	{ WIRE_ATOMIC_ACK_ETH, 8, put_orig, get_orig },
	{ WIRE_IMM, 4, put_imm, get_imm },
	{ WIRE_IETH, 4, put_ieth, get_ieth },
};

#define EXT_HEADERS (sizeof(ext_headers) / sizeof(*ext_headers))

/* -------------------------------------------------------------------- encoding */

size_t wire_header_bytes(const struct wire_packet *pkt)
{
	return below_transport(pkt) + BTH_BYTES + wire_ops[pkt->bth.opcode].ext_bytes;
}

size_t wire_encode(const struct wire_packet *pkt, uint8_t *to, size_t room)
{
	const struct wire_op *op = &wire_ops[pkt->bth.opcode];
	size_t below = below_transport(pkt), head = wire_header_bytes(pkt), end, len, i;
	uint8_t pad = -pkt->length & 3;
	uint8_t *at = to, *ip = to + ETH_BYTES;

	if (!op->name || pkt->length > WIRE_MAX_PAYLOAD ||
	    (pkt->length && !(op->flags & WIRE_PAYLOAD)))
		return 0;
	end = head + pkt->length + pad;
	len = end + ICRC_BYTES + (pkt->framing == WIRE_IB ? VCRC_BYTES : 0);
	if (len > room)
		return 0;
	/* The payload moves first, because payload and headers may overlap in `to`. */
	if (pkt->length)
		memmove(to + head, pkt->payload, pkt->length);
	memset(to + head + pkt->length, 0, pad);
	if (pkt->framing == WIRE_IB) {
		at = put_lrh(at, pkt, (end + ICRC_BYTES) / 4);
		if (pkt->lrh.global)
			at = put_grh(at, pkt, NXTHDR_BTH, end + ICRC_BYTES - below);
	} else {
		at = put_ip_udp(at, pkt, UDP_BYTES + end + ICRC_BYTES - below);
	}
	at = put_bth(at, pkt, pad);
	for (i = 0; i < EXT_HEADERS; i++)
		if (op->flags & ext_headers[i].flag)
			at = ext_headers[i].put(at, pkt);
	if (pkt->framing == WIRE_IB) {
		put_lowest_first(to + end, icrc(WIRE_IB, to, below, end), ICRC_BYTES);
		put_lowest_first(to + end + ICRC_BYTES, vcrc(to, end + ICRC_BYTES), VCRC_BYTES);
		return len;
	}
	put_lowest_first(to + end, icrc(pkt->framing, ip, below - ETH_BYTES, end - ETH_BYTES),
			 ICRC_BYTES);
	if (pkt->udp.checksum)
		put_udp_checksum(pkt->framing, ip, len - ETH_BYTES);
	return len;
}

/* -------------------------------------------------------------------- decoding */

/* Checks that exactly packets to a multicast address are for queue pair 0xffffff (IBTA 9.6.1.1.2, 10.5.2). */
static enum wire_refusal check_multicast(const struct wire_packet *pkt)
{
	bool group;

	if (pkt->framing == WIRE_IB)
		group = pkt->lrh.dlid >= LID_MULTICAST && pkt->lrh.dlid != LID_PERMISSIVE;
	else if (pkt->framing == WIRE_ROCE4)
		group = pkt->ip4.dst[0] >> 4 == 14;
	else
		group = pkt->grh.dgid[0] == 0xff;
	if (group != (pkt->bth.dest_qpn == QPN_MULTICAST))
		return WIRE_BAD_MULTICAST;
	if (group && (wire_service(pkt->bth.opcode) != WIRE_UD ||
		      (pkt->framing == WIRE_IB && !pkt->lrh.global)))
		return WIRE_BAD_MULTICAST;
	return WIRE_OK;
}

/* Checks VL and LIDs. Only subnet management uses VL 15 and the permissive LID (IBTA 7.6.4, 9.6.1.1). */
static enum wire_refusal check_lids(const struct wire_packet *pkt)
{
	bool management = pkt->lrh.vl == LANE_MANAGEMENT;

	if (management != !pkt->bth.dest_qpn || (management && pkt->lrh.global))
		return WIRE_BAD_VL;
	if (!pkt->lrh.dlid || (pkt->lrh.dlid == LID_PERMISSIVE && !management))
		return WIRE_BAD_DLID;
	if (pkt->lrh.slid == LID_PERMISSIVE && management)
		return WIRE_OK;
	return pkt->lrh.slid && pkt->lrh.slid < LID_MULTICAST ? WIRE_OK : WIRE_BAD_SLID;
}

/* Decodes a packet from its BTH on. len: bytes from the BTH to the ICRC, without the ICRC */
static enum wire_refusal decode_transport(struct wire_packet *pkt, const uint8_t *from, size_t len)
{
	const struct wire_op *op;
	enum wire_refusal why;
	size_t i;

	why = get_bth(pkt, from);
	if (!why)
		why = check_multicast(pkt);
	if (!why && pkt->framing == WIRE_IB)
		why = check_lids(pkt);
	if (why)
		return why;
	op = &wire_ops[pkt->bth.opcode];
	if (len & 3)
		return WIRE_BAD_LENGTH;
	if (len < (size_t)BTH_BYTES + op->ext_bytes)
		return WIRE_SHORT;
	from += BTH_BYTES;
	len -= (size_t)BTH_BYTES + op->ext_bytes;
	for (i = 0; i < EXT_HEADERS; i++) {
		if (!(op->flags & ext_headers[i].flag))
			continue;
		ext_headers[i].get(pkt, from);
		from += ext_headers[i].bytes;
	}
	if ((len || pkt->bth.pad) && !(op->flags & WIRE_PAYLOAD))
		return WIRE_BAD_PAYLOAD;
	if (pkt->bth.pad > len)
		return WIRE_BAD_PAD;
	len -= pkt->bth.pad;
	if (len > WIRE_MAX_PAYLOAD)
		return WIRE_TOO_LONG;
	pkt->payload = from;
	pkt->length = (uint32_t)len;
	return WIRE_OK;
}

static enum wire_refusal decode_ib(struct wire_packet *pkt, const uint8_t *from, size_t len)
{
	size_t end = len - CRC_BYTES, bth = LRH_BYTES;
	enum wire_refusal why;

	if (len < LRH_BYTES + BTH_BYTES + CRC_BYTES)
		return WIRE_TRUNCATED;
	if (get_lowest_first(from + len - VCRC_BYTES, VCRC_BYTES) != vcrc(from, len - VCRC_BYTES))
		return WIRE_BAD_VCRC;
	why = get_lrh(pkt, from, len);
	if (why)
		return why;
	if (pkt->lrh.global) {
		why = check_grh(from + LRH_BYTES, end + ICRC_BYTES - LRH_BYTES);
		if (why)
			return why;
		get_grh(pkt, from + LRH_BYTES);
		bth += GRH_BYTES;
	}
	if (get_lowest_first(from + end, ICRC_BYTES) != icrc(WIRE_IB, from, bth, end))
		return WIRE_BAD_ICRC;
	return decode_transport(pkt, from + bth, end - bth);
}

/* Reads the IP version from the Ethernet header. False: the frame is not IP. */
static bool ip_framing(enum wire_framing *framing, const uint8_t *from)
{
	uint16_t type = get16(from + 12);

	*framing = type == ETHERTYPE_IP4 ? WIRE_ROCE4 : WIRE_ROCE6;
	return type == ETHERTYPE_IP4 || type == ETHERTYPE_IP6;
}

static enum wire_refusal decode_roce(struct wire_packet *pkt, const uint8_t *from, size_t len)
{
	const uint8_t *ip = from + ETH_BYTES;
	size_t header, bth, end, ip_len;
	enum wire_refusal why;

	if (len < ETH_BYTES + IP4_BYTES)
		return WIRE_TRUNCATED;
	if (!ip_framing(&pkt->framing, from))
		return WIRE_BAD_ETHERTYPE;
	memcpy(pkt->eth.dst, from, 6);
	memcpy(pkt->eth.src, from + 6, 6);
	header = pkt->framing == WIRE_ROCE4 ? IP4_BYTES : IP6_BYTES;
	if (len < ETH_BYTES + header)
		return WIRE_TRUNCATED;
	if (pkt->framing == WIRE_ROCE4)
		why = get_ip4(pkt, ip, len - ETH_BYTES);
	else
		why = get_ip6(pkt, ip, len - ETH_BYTES);
	if (why)
		return why;
	ip_len = pkt->framing == WIRE_ROCE4 ? get16(ip + 2) : (size_t)get16(ip + 4) + IP6_BYTES;
	why = get_udp(pkt, ip, header, ip_len);
	if (why)
		return why;
	bth = header + UDP_BYTES;
	end = ip_len - ICRC_BYTES;
	if (get_lowest_first(ip + end, ICRC_BYTES) != icrc(pkt->framing, ip, bth, end))
		return WIRE_BAD_ICRC;
	return decode_transport(pkt, ip + bth, end - bth);
}

enum wire_refusal wire_decode(struct wire_packet *pkt, enum wire_framing framing,
			      const uint8_t *from, size_t len)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->framing = framing;
	return framing == WIRE_IB ? decode_ib(pkt, from, len) : decode_roce(pkt, from, len);
}

/* --------------------------------------------------------------------- sealing */

static bool seal_ib(uint8_t *bytes, size_t len)
{
	size_t end = len - CRC_BYTES, bth = LRH_BYTES;

	if (len < LRH_BYTES + BTH_BYTES + CRC_BYTES)
		return false;
	if ((bytes[1] & 3) == LNH_GLOBAL && len >= LRH_BYTES + GRH_BYTES + BTH_BYTES + CRC_BYTES)
		bth += GRH_BYTES;
	put_lowest_first(bytes + end, icrc(WIRE_IB, bytes, bth, end), ICRC_BYTES);
	put_lowest_first(bytes + len - VCRC_BYTES, vcrc(bytes, len - VCRC_BYTES), VCRC_BYTES);
	return true;
}

static bool seal_roce(uint8_t *bytes, size_t len)
{
	uint8_t *ip = bytes + ETH_BYTES;
	enum wire_framing framing;
	size_t header, bth;

	if (len < ETH_BYTES + IP4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES ||
	    !ip_framing(&framing, bytes))
		return false;
	header = framing == WIRE_ROCE4 ? IP4_BYTES : IP6_BYTES;
	bth = header + UDP_BYTES;
	len -= ETH_BYTES;
	if (len < bth + BTH_BYTES + ICRC_BYTES)
		return false;
	if (framing == WIRE_ROCE4) {
		put(ip + 10, 0, 2);
		put(ip + 10, inet_checksum(inet_sum(0, ip, IP4_BYTES)), 2);
	}
	put_lowest_first(ip + len - ICRC_BYTES, icrc(framing, ip, bth, len - ICRC_BYTES),
			 ICRC_BYTES);
	if (get16(ip + header + 6))
		put_udp_checksum(framing, ip, len);
	return true;
}

bool wire_seal(enum wire_framing framing, uint8_t *bytes, size_t len)
{
	return framing == WIRE_IB ? seal_ib(bytes, len) : seal_roce(bytes, len);
}
