/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The packet codec: golden packets of other implementations, every opcode in every framing, and every rule by which
 * bytes are refused.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/soft/packet/icrc.h"
#include "hca/soft/packet/wire.h"
#include "hca/soft/shared/opcode.h"

/* Well formed packets in the four shapes that there are. */
enum shape { IB_LOCAL, IB_GLOBAL, ROCE_IP4, ROCE_IP6, SHAPES };

static uint8_t payload[WIRE_MAX_PAYLOAD];

/* Returns a random number, never equal to the last. */
static uint32_t some(void)
{
	static uint32_t x = 0x12345678;

	x = x * 1664525 + 1013904223;
	return x;
}

/* Sets every field that the opcode and the framing have to a random value. */
static struct wire_packet packet_of(enum shape shape, uint8_t opcode, uint32_t length)
{
	const struct wire_op *op = &wire_ops[opcode];
	struct wire_packet p;
	size_t i;

	memset(&p, 0, sizeof(p));
	p.framing = shape == ROCE_IP4 ? WIRE_ROCE4 : shape == ROCE_IP6 ? WIRE_ROCE6 : WIRE_IB;
	if (p.framing == WIRE_IB) {
		p.lrh.vl = 3;
		p.lrh.sl = 5;
		p.lrh.dlid = 0x1234;
		p.lrh.slid = 0xbfff;
		p.lrh.global = shape == IB_GLOBAL;
	} else {
		memcpy(p.eth.dst, "\x02\x11\x22\x33\x44\x55", 6);
		memcpy(p.eth.src, "\x02\x66\x77\x88\x99\xaa", 6);
		p.udp.src_port = 0xc0de;
	}
	if (shape == ROCE_IP4) {
		p.ip4.tos = 0x1a;
		p.ip4.ttl = 63;
		p.ip4.id = 0x4321;
		p.ip4.dont_fragment = true;
		memcpy(p.ip4.src, "\x0a\x00\x00\x01", 4);
		memcpy(p.ip4.dst, "\x0a\x00\x00\x02", 4);
	}
	if (shape == ROCE_IP6 || shape == IB_GLOBAL) {
		p.grh.tclass = 0xa5;
		p.grh.flow_label = 0x54321;
		p.grh.hop_limit = 64;
		p.grh.sgid[0] = p.grh.dgid[0] = 0xfe;
		p.grh.sgid[15] = 1;
		p.grh.dgid[15] = 2;
	}
	p.bth.opcode = opcode;
	p.bth.solicited = some() & 0x100;
	p.bth.migrated = some() & 0x100;
	p.bth.ack_req = some() & 0x100;
	p.bth.pad = -length & 3;
	p.bth.fecn = some() & 0x100;
	p.bth.becn = some() & 0x100;
	p.bth.pkey = (uint16_t)some();
	p.bth.dest_qpn = 0xabcdef;
	p.bth.psn = some() >> 8;
	if (op->flags & WIRE_RETH) {
		p.reth.va = (uint64_t)some() << 32 | some();
		p.reth.rkey = some();
		p.reth.dma_len = some();
	}
	if (op->flags & WIRE_ATOMIC_ETH) {
		p.atomic.va = (uint64_t)some() << 32 | some();
		p.atomic.rkey = some();
		p.atomic.swap_add = (uint64_t)some() << 32 | some();
		p.atomic.compare = (uint64_t)some() << 32 | some();
	}
	if (op->flags & WIRE_AETH) {
		p.aeth.syndrome = (uint8_t)(some() >> 8);
		p.aeth.msn = some() >> 8;
	}
	if (op->flags & WIRE_ATOMIC_ACK_ETH)
		p.orig = (uint64_t)some() << 32 | some();
	if (op->flags & WIRE_DETH) {
		p.deth.qkey = some();
		p.deth.src_qpn = some() >> 8;
	}
	if (op->flags & WIRE_IMM)
		p.imm = some();
	if (op->flags & WIRE_IETH)
		p.inv_rkey = some();
	for (i = 0; i < length; i++)
		payload[i] = (uint8_t)some();
	p.payload = payload;
	p.length = length;
	return p;
}

/* Decodes from memory that ends where the packet ends, so that a sanitizer sees a read beyond. */
static enum wire_refusal decode(struct wire_packet *p, enum wire_framing framing,
				const uint8_t *bytes, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum wire_refusal why;

	memcpy(exact, bytes, len);
	why = wire_decode(p, framing, exact, len);
	if (!why && p->length) {
		ck_assert(p->payload >= exact && p->payload + p->length <= exact + len);
		p->payload = bytes + (p->payload - exact);
	}
	free(exact);
	return why;
}

static bool well_formed(enum wire_framing framing, const uint8_t *bytes, size_t len)
{
	struct wire_packet p;

	return decode(&p, framing, bytes, len) == WIRE_OK;
}

/* ------------------------------------------------------------- golden packets */

static uint32_t opcodes_seen[256];

static void check_frame(const char *name, const uint8_t *frame, size_t len)
{
	uint8_t again[WIRE_MAX_BYTES];
	enum wire_refusal why;
	struct wire_packet p;

	why = decode(&p, WIRE_ROCE4, frame, len);
	ck_assert_msg(why == WIRE_OK, "%s: %s", name, wire_refusal_text(why));
	opcodes_seen[p.bth.opcode]++;
	ck_assert_uint_eq(wire_encode(&p, again, sizeof(again)), len);
	ck_assert_mem_eq(again, frame, len);
}

static uint32_t check_file(const char *dir, const char *name)
{
	uint32_t header[6], record[4], packets = 0;
	uint8_t frame[WIRE_MAX_BYTES];
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	ck_assert_msg(f, "%s", path);
	ck_assert_uint_eq(fread(header, sizeof(header), 1, f), 1);
	ck_assert_uint_eq(header[0], 0xa1b2c3d4);
	ck_assert_uint_eq(header[5], 1); /* Ethernet */
	while (fread(record, sizeof(record), 1, f) == 1) {
		ck_assert_uint_le(record[2], sizeof(frame));
		ck_assert_uint_eq(fread(frame, record[2], 1, f), 1);
		check_frame(name, frame, record[2]);
		packets++;
	}
	fclose(f);
	return packets;
}

static uint32_t check_directory(const char *under, bool needed)
{
	const char *top = getenv("top_srcdir");
	struct dirent *entry;
	uint32_t packets = 0;
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", under);
	dir = opendir(path);
	ck_assert_msg(dir || !needed, "%s", path);
	while (dir && (entry = readdir(dir)))
		if (strlen(entry->d_name) > 5 &&
		    !strcmp(entry->d_name + strlen(entry->d_name) - 5, ".pcap"))
			packets += check_file(path, entry->d_name);
	if (dir)
		closedir(dir);
	return packets;
}

START_TEST(golden_packets_come_apart_and_together_byte_for_byte)
{
	static const uint8_t seen[] = { 0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0a, 0x0c,
					0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x20,
					0x21, 0x22, 0x26, 0x27, 0x28, 0x64, 0x65 };
	size_t i;

	ck_assert_uint_gt(check_directory("test/data/vectors", true), 100);
	for (i = 0; i < sizeof(seen); i++)
		ck_assert_msg(opcodes_seen[seen[i]], "opcode %#x", seen[i]);
	check_directory("../shared/vectors", false);
}
END_TEST

/* The example of IBTA 7.8: local, an RDMA write of 14 bytes. */
static const uint8_t sample[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87,
	0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02,
	0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c,
	0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a,
};

/* The register of IBTA figure 57, bit by bit. */
static uint16_t slow_vcrc(const uint8_t *from, size_t len)
{
	uint32_t reg = 0xffff, out = 0, bit, i;

	for (i = 0; i < len * 8; i++) {
		bit = (from[i / 8] >> i % 8 & 1) ^ reg >> 15;
		reg = (reg << 1 & 0xffff) ^ (bit ? 0x100b : 0);
	}
	for (i = 0; i < 16; i++) /* it leaves with its highest bit first */
		out |= (~reg >> (15 - i) & 1) << i;
	return (uint16_t)out;
}

START_TEST(the_specification_s_example_has_its_icrc)
{
	uint8_t bytes[sizeof(sample) + VCRC_BYTES], again[sizeof(bytes)];
	struct wire_packet p;
	uint16_t crc = slow_vcrc(sample, sizeof(sample));

	ck_assert_uint_eq(icrc(WIRE_IB, sample, LRH_BYTES, sizeof(sample) - 4), 0x5ab72596);
	ck_assert_uint_eq(vcrc(sample, sizeof(sample)), crc);
	memcpy(bytes, sample, sizeof(sample));
	bytes[sizeof(sample)] = (uint8_t)crc;
	bytes[sizeof(sample) + 1] = (uint8_t)(crc >> 8);
	ck_assert_int_eq(decode(&p, WIRE_IB, bytes, sizeof(bytes)), WIRE_OK);
	ck_assert_uint_eq(p.lrh.vl, 7);
	ck_assert_uint_eq(p.lrh.sl, 1);
	ck_assert_uint_eq(p.lrh.dlid, 0x375c);
	ck_assert_uint_eq(p.lrh.slid, 0x17d2);
	ck_assert_uint_eq(p.bth.opcode, 0x0a);
	ck_assert_uint_eq(p.bth.pad, 2);
	ck_assert_uint_eq(p.bth.pkey, 0x2487);
	ck_assert_uint_eq(p.bth.dest_qpn, 0x87b1b3);
	ck_assert_uint_eq(p.bth.psn, 0x0dec2a);
	ck_assert_uint_eq(p.reth.va, 0x01710a1c015d4002);
	ck_assert_uint_eq(p.reth.rkey, 0x38f27a05);
	ck_assert_uint_eq(p.reth.dma_len, 14);
	ck_assert_uint_eq(p.length, 14);
	ck_assert_uint_eq(wire_encode(&p, again, sizeof(again)), sizeof(bytes));
	ck_assert_mem_eq(again, bytes, sizeof(bytes));
}
END_TEST

/* --------------------------------------------------------------- every opcode */

static void check_same(const struct wire_packet *a, const struct wire_packet *b)
{
	struct wire_packet x = *a, y = *b;

	ck_assert_mem_eq(a->payload, b->payload, a->length);
	x.payload = y.payload = NULL;
	ck_assert_mem_eq(&x, &y, sizeof(x));
}

static void check_round_trip(const struct wire_packet *p)
{
	uint8_t bytes[WIRE_MAX_BYTES], again[WIRE_MAX_BYTES];
	size_t len = wire_encode(p, bytes, sizeof(bytes));
	enum wire_refusal why;
	struct wire_packet q;

	ck_assert_uint_ge(len, wire_header_bytes(p) + p->length + ICRC_BYTES);
	why = decode(&q, p->framing, bytes, len);
	ck_assert_msg(!why, "opcode %#x: %s", p->bth.opcode, wire_refusal_text(why));
	check_same(p, &q);
	ck_assert_uint_eq(wire_encode(p, again, len), len);
	ck_assert_mem_eq(again, bytes, len);
	ck_assert_uint_eq(wire_encode(p, again, len - 1), 0);
}

/* _i: the packet's shape */
START_TEST(every_opcode_is_decoded_as_it_was_encoded)
{
	static const uint32_t lengths[] = { 0, 1, 2, 3, 4, 255, 256, 4093, 4096 };
	struct wire_packet p;
	uint32_t opcode, num = 0;
	size_t i;

	for (opcode = 0; opcode < 256; opcode++) {
		if (!wire_ops[opcode].name)
			continue;
		num++;
		for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			if (i && !(wire_ops[opcode].flags & WIRE_PAYLOAD))
				break;
			p = packet_of((enum shape)_i, (uint8_t)opcode, lengths[i]);
			check_round_trip(&p);
			p.udp.checksum = p.framing != WIRE_IB;
			check_round_trip(&p);
		}
	}
	ck_assert_uint_eq(num, 23 + 12 + 2); /* of RC, UC, UD */
}
END_TEST

START_TEST(what_is_no_packet_is_not_encoded)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	struct wire_packet p = packet_of(IB_LOCAL, 0x04, 16);

	p.bth.opcode = 0x15;
	ck_assert_uint_eq(wire_encode(&p, bytes, sizeof(bytes)), 0);
	p.bth.opcode = 0x0c; /* a read request has no payload */
	ck_assert_uint_eq(wire_encode(&p, bytes, sizeof(bytes)), 0);
	p.bth.opcode = 0x04;
	p.length = WIRE_MAX_PAYLOAD + 1;
	ck_assert_uint_eq(wire_encode(&p, bytes, sizeof(bytes)), 0);
}
END_TEST

START_TEST(a_payload_may_lie_where_it_goes)
{
	uint8_t bytes[WIRE_MAX_BYTES], other[WIRE_MAX_BYTES];
	struct wire_packet p = packet_of(IB_GLOBAL, 0x0a, 77);
	size_t len = wire_encode(&p, other, sizeof(other));

	memcpy(bytes + wire_header_bytes(&p), payload, 77);
	p.payload = bytes + wire_header_bytes(&p);
	ck_assert_uint_eq(wire_encode(&p, bytes, sizeof(bytes)), len);
	ck_assert_mem_eq(bytes, other, len);
}
END_TEST

/* --------------------------------------------------------------- changed bits */

/*
 * True if a bit may change without a refusal. No checksum of the codec covers the bit: Ethernet's frame check is not
 * the codec's, and the ICRC leaves out the fields that change on the way, so over IPv6 nothing covers those.
 */
static bool uncovered(const struct wire_packet *p, size_t at, uint8_t bit)
{
	size_t bth = wire_header_bytes(p) - BTH_BYTES - wire_ops[p->bth.opcode].ext_bytes;

	if (p->framing == WIRE_IB)
		return false; /* the VCRC covers all */
	if (at < 12)
		return true; /* Ethernet addresses */
	if (p->framing == WIRE_ROCE6 && at >= ETH_BYTES && at < ETH_BYTES + 8) {
		at -= ETH_BYTES;
		return at == 0 ? bit < 0x10
			       : at < 4 || at == 7; /* traffic class, flow label, hop limit */
	}
	return at == bth + 4 && !p->udp.checksum; /* FECN, BECN, Resv6 */
}

static void flip_all(const struct wire_packet *p)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	size_t len = wire_encode(p, bytes, sizeof(bytes)), at;
	uint32_t bit;

	for (at = 0; at < len; at++)
		for (bit = 1; bit < 256; bit <<= 1) {
			bytes[at] ^= (uint8_t)bit;
			ck_assert_msg(well_formed(p->framing, bytes, len) ==
					      uncovered(p, at, (uint8_t)bit),
				      "opcode %#x, byte %zu, bit %#x", p->bth.opcode, at, bit);
			bytes[at] ^= (uint8_t)bit;
		}
}

/* _i: the packet's shape */
START_TEST(a_flipped_bit_is_refused_unless_nothing_covers_it)
{
	struct wire_packet p;
	uint32_t opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		if (!wire_ops[opcode].name)
			continue;
		p = packet_of((enum shape)_i, (uint8_t)opcode,
			      wire_ops[opcode].flags & WIRE_PAYLOAD ? 41 : 0);
		flip_all(&p);
		p.udp.checksum = p.framing != WIRE_IB;
		flip_all(&p);
	}
}
END_TEST

START_TEST(a_packet_cut_short_is_refused)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	struct wire_packet p;
	size_t len, cut;
	int shape;

	for (shape = 0; shape < SHAPES; shape++) {
		p = packet_of((enum shape)shape, 0x0b, 41);
		len = wire_encode(&p, bytes, sizeof(bytes));
		for (cut = 0; cut < len; cut++) {
			ck_assert(!well_formed(p.framing, bytes, cut));
			if (wire_seal(p.framing, bytes, cut)) /* not even with correct CRCs */
				ck_assert(!well_formed(p.framing, bytes, cut));
			len = wire_encode(&p, bytes, sizeof(bytes));
		}
	}
}
END_TEST

/* A switch changes a packet's VL and VCRC, a router also its hop limit and other fields. */
START_TEST(what_changes_on_the_way_is_not_covered_by_the_icrc)
{
	uint8_t bytes[WIRE_MAX_BYTES], before[ICRC_BYTES];
	struct wire_packet p = packet_of(IB_GLOBAL, 0x04, 8);
	size_t len;

	len = wire_encode(&p, bytes, sizeof(bytes));
	memcpy(before, bytes + len - CRC_BYTES, ICRC_BYTES);
	p.lrh.vl = 9;
	p.grh.tclass = 0;
	p.grh.flow_label = 0;
	p.grh.hop_limit = 1;
	p.bth.fecn = !p.bth.fecn;
	p.bth.becn = !p.bth.becn;
	ck_assert_uint_eq(wire_encode(&p, bytes, sizeof(bytes)), len);
	ck_assert_mem_eq(before, bytes + len - CRC_BYTES, ICRC_BYTES);
	p.lrh.sl = 0;
	wire_encode(&p, bytes, sizeof(bytes));
	ck_assert_mem_ne(before, bytes + len - CRC_BYTES, ICRC_BYTES);
}
END_TEST

/* ---------------------------------------------------------------- every rule */

/* A change to a correct packet whose CRCs are then recomputed. from_bth: counted from the BTH. */
struct wrong {
	enum shape shape;
	uint8_t opcode;
	bool from_bth;
	uint8_t at, clear, set;
	enum wire_refusal why;
};

static const struct wrong wrongs[] = {
	{ IB_LOCAL, 0x04, false, 0, 0x0f, 0x01, WIRE_BAD_LVER },
	{ IB_LOCAL, 0x04, false, 1, 0x03, 0x00, WIRE_BAD_LNH },
	{ IB_LOCAL, 0x04, false, 1, 0x03, 0x01, WIRE_BAD_LNH },
	{ IB_LOCAL, 0x04, false, 5, 0xff, 0x01, WIRE_BAD_PKTLEN },
	{ IB_LOCAL, 0x04, false, 4, 0x07, 0x07, WIRE_BAD_PKTLEN },
	{ IB_LOCAL, 0x04, false, 6, 0xff, 0xc0, WIRE_BAD_SLID },
	{ IB_LOCAL, 0x04, false, 0, 0xf0, 0xf0, WIRE_BAD_VL },
	{ IB_LOCAL, 0x04, false, 1, 0x03, 0x03, WIRE_TRUNCATED },
	{ IB_GLOBAL, 0x04, false, 8, 0xf0, 0x40, WIRE_BAD_IPVER },
	{ IB_GLOBAL, 0x04, false, 14, 0xff, 0x11, WIRE_BAD_NXTHDR },
	{ IB_GLOBAL, 0x04, false, 13, 0xff, 0x00, WIRE_BAD_PAYLEN },
	{ ROCE_IP4, 0x04, false, 12, 0xff, 0x81, WIRE_BAD_ETHERTYPE },
	{ ROCE_IP4, 0x04, false, 14, 0xf0, 0x60, WIRE_BAD_IP_VERSION },
	{ ROCE_IP6, 0x04, false, 14, 0xf0, 0x40, WIRE_BAD_IP_VERSION },
	{ ROCE_IP4, 0x04, false, 14, 0x0f, 0x06, WIRE_BAD_IP_OPTIONS },
	{ ROCE_IP4, 0x04, false, 17, 0xff, 0x00, WIRE_BAD_IP_LENGTH },
	{ ROCE_IP6, 0x04, false, 19, 0xff, 0x00, WIRE_BAD_IP_LENGTH },
	{ ROCE_IP4, 0x04, false, 20, 0xff, 0x20, WIRE_BAD_IP_FRAGMENT },
	{ ROCE_IP4, 0x04, false, 21, 0xff, 0x01, WIRE_BAD_IP_FRAGMENT },
	{ ROCE_IP4, 0x04, false, 20, 0x80, 0x80, WIRE_BAD_IP_FRAGMENT },
	{ ROCE_IP4, 0x04, false, 23, 0xff, 0x06, WIRE_BAD_IP_PROTOCOL },
	{ ROCE_IP6, 0x04, false, 20, 0xff, 0x06, WIRE_BAD_IP_PROTOCOL },
	{ ROCE_IP4, 0x04, false, 36, 0xff, 0x00, WIRE_BAD_UDP_PORT },
	{ ROCE_IP6, 0x04, false, 57, 0xff, 0x00, WIRE_BAD_UDP_PORT },
	{ ROCE_IP4, 0x04, false, 39, 0xff, 0x00, WIRE_BAD_UDP_LENGTH },
	{ IB_LOCAL, 0x04, true, 1, 0x0f, 0x01, WIRE_BAD_TVER },
	{ ROCE_IP6, 0x04, true, 1, 0x0f, 0x08, WIRE_BAD_TVER },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x15, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x18, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x2c, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x44, WIRE_BAD_OPCODE }, /* RD */
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x60, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x81, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0xc0, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0xff, WIRE_BAD_OPCODE },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x0b, WIRE_SHORT },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x13, WIRE_SHORT },
	{ ROCE_IP4, 0x04, true, 0, 0xff, 0x14, WIRE_SHORT },
	{ IB_LOCAL, 0x04, true, 0, 0xff, 0x11, WIRE_BAD_PAYLOAD },
	{ IB_LOCAL, 0x11, true, 1, 0x30, 0x10, WIRE_BAD_PAYLOAD },
	{ IB_LOCAL, 0x03, true, 0, 0xff, 0x12, WIRE_BAD_PAYLOAD },
};

/* 12 bytes of payload, if any. */
START_TEST(each_rule_refuses_with_its_own_reason)
{
	const struct wrong *w = &wrongs[_i];
	uint8_t bytes[WIRE_MAX_BYTES];
	struct wire_packet p =
		packet_of(w->shape, w->opcode, wire_ops[w->opcode].flags & WIRE_PAYLOAD ? 12 : 0);
	size_t len = wire_encode(&p, bytes, sizeof(bytes)), at = w->at;
	enum wire_refusal why;

	ck_assert(well_formed(p.framing, bytes, len));
	if (w->from_bth)
		at += wire_header_bytes(&p) - BTH_BYTES - wire_ops[w->opcode].ext_bytes;
	bytes[at] = (uint8_t)((bytes[at] & ~w->clear) | w->set);
	wire_seal(p.framing, bytes, len);
	why = decode(&p, p.framing, bytes, len);
	ck_assert_msg(why == w->why, "%s, not %s", wire_refusal_text(why),
		      wire_refusal_text(w->why));
}
END_TEST

static enum wire_refusal after(const struct wire_packet *p)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	size_t len = wire_encode(p, bytes, sizeof(bytes));
	struct wire_packet q;

	ck_assert_uint_ne(len, 0);
	return decode(&q, p->framing, bytes, len);
}

START_TEST(lids_and_virtual_lanes_have_their_rules)
{
	struct wire_packet p = packet_of(IB_LOCAL, 0x64, 4);

	p.lrh.dlid = 0;
	ck_assert_int_eq(after(&p), WIRE_BAD_DLID);
	p.lrh.dlid = 0xffff;
	ck_assert_int_eq(after(&p), WIRE_BAD_DLID);
	p.bth.dest_qpn = 0;
	ck_assert_int_eq(after(&p), WIRE_BAD_VL);
	p.lrh.vl = 15;
	ck_assert_int_eq(after(&p), WIRE_OK);
	p.lrh.slid = 0xffff;
	ck_assert_int_eq(after(&p), WIRE_OK);
	p.lrh.slid = 0;
	ck_assert_int_eq(after(&p), WIRE_BAD_SLID);
	p.lrh.slid = 1;
	p.lrh.global = true;
	ck_assert_int_eq(after(&p), WIRE_BAD_VL);
	p.bth.dest_qpn = 5;
	p.lrh.global = false;
	ck_assert_int_eq(after(&p), WIRE_BAD_VL);
}
END_TEST

START_TEST(multicast_is_ud_with_a_grh_to_its_own_number)
{
	struct wire_packet p = packet_of(IB_GLOBAL, 0x64, 4);

	p.lrh.dlid = 0xc001;
	ck_assert_int_eq(after(&p), WIRE_BAD_MULTICAST);
	p.bth.dest_qpn = 0xffffff;
	ck_assert_int_eq(after(&p), WIRE_OK);
	p.bth.opcode = 0x04;
	ck_assert_int_eq(after(&p), WIRE_BAD_MULTICAST);
	p.bth.opcode = 0x65;
	p.lrh.global = false;
	ck_assert_int_eq(after(&p), WIRE_BAD_MULTICAST);
	p.lrh.global = true;
	p.lrh.dlid = 1;
	ck_assert_int_eq(after(&p), WIRE_BAD_MULTICAST);
	p = packet_of(ROCE_IP4, 0x64, 4);
	p.ip4.dst[0] = 225;
	ck_assert_int_eq(after(&p), WIRE_BAD_MULTICAST);
	p.bth.dest_qpn = 0xffffff;
	ck_assert_int_eq(after(&p), WIRE_OK);
	p = packet_of(ROCE_IP6, 0x64, 4);
	p.grh.dgid[0] = 0xff;
	ck_assert_int_eq(after(&p), WIRE_BAD_MULTICAST);
}
END_TEST

/* Bytes that the encoder never makes: lengths that are valid for the link, but not for the transport. */
START_TEST(lengths_and_pads_are_the_opcode_s)
{
	uint8_t bytes[WIRE_MAX_BYTES + 64] = { 0 };
	struct wire_packet p, q;
	size_t len;

	/* more pad than payload: 3 bytes of pad in an empty payload */
	p = packet_of(IB_LOCAL, 0x04, 0);
	len = wire_encode(&p, bytes, sizeof(bytes));
	bytes[LRH_BYTES + 1] |= 0x30;
	wire_seal(WIRE_IB, bytes, len);
	ck_assert_int_eq(decode(&q, WIRE_IB, bytes, len), WIRE_BAD_PAD);

	/* one word beyond the largest MTU */
	p = packet_of(IB_LOCAL, 0x04, WIRE_MAX_PAYLOAD);
	len = wire_encode(&p, bytes, sizeof(bytes)) + 4;
	bytes[5]++;
	wire_seal(WIRE_IB, bytes, len);
	ck_assert_int_eq(decode(&q, WIRE_IB, bytes, len), WIRE_TOO_LONG);

	/* three bytes more than whole words */
	p = packet_of(ROCE_IP4, 0x04, 64);
	len = wire_encode(&p, bytes, sizeof(bytes)) + 3;
	bytes[17] = (uint8_t)(bytes[17] + 3);
	bytes[39] = (uint8_t)(bytes[39] + 3);
	wire_seal(WIRE_ROCE4, bytes, len);
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, len), WIRE_BAD_LENGTH);
}
END_TEST

START_TEST(a_checksum_that_is_wrong_is_found)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	struct wire_packet p = packet_of(ROCE_IP4, 0x04, 64), q;
	size_t len = wire_encode(&p, bytes, sizeof(bytes));

	bytes[ETH_BYTES + 8]--; /* a smaller hop limit without the change of the checksum */
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, len), WIRE_BAD_IP_CHECKSUM);
	bytes[ETH_BYTES + 8]++;
	bytes[40] = 1;
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, len), WIRE_BAD_UDP_CHECKSUM);
	wire_seal(WIRE_ROCE4, bytes, len);
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, len), WIRE_OK);
	ck_assert(q.udp.checksum);
	bytes[len - 1] ^= 1;
	bytes[40] = bytes[41] = 0;
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, len), WIRE_BAD_ICRC);
	p = packet_of(IB_LOCAL, 0x04, 64);
	len = wire_encode(&p, bytes, sizeof(bytes));
	bytes[len - 3] ^= 1;
	ck_assert_int_eq(decode(&q, WIRE_IB, bytes, len), WIRE_BAD_VCRC);
	bytes[len - 2] = (uint8_t)vcrc(bytes, len - 2);
	bytes[len - 1] = (uint8_t)(vcrc(bytes, len - 2) >> 8);
	ck_assert_int_eq(decode(&q, WIRE_IB, bytes, len), WIRE_BAD_ICRC);
}
END_TEST

/*
 * IBTA: transmitted as 0, ignored when received. The codec keeps these fields, so that a forwarded packet does not
 * change.
 */
START_TEST(reserved_fields_are_ignored_and_kept)
{
	struct wire_packet p = packet_of(IB_LOCAL, 0x64, 3);

	p.lrh.reserved2 = 2;
	p.lrh.reserved5 = 21;
	p.bth.reserved6 = 33;
	p.bth.reserved7 = 99;
	p.deth.reserved8 = 250;
	check_round_trip(&p);
}
END_TEST

/* Ethernet pads short frames. */
START_TEST(a_short_frame_may_be_filled_up)
{
	uint8_t bytes[ETH_BYTES + 64] = { 0 };
	struct wire_packet p = packet_of(ROCE_IP4, 0x04, 0), q;
	size_t len = wire_encode(&p, bytes, sizeof(bytes));

	ck_assert_uint_eq(len, 58);
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, 60), WIRE_OK);
	check_same(&p, &q);
	ck_assert_int_eq(decode(&q, WIRE_ROCE4, bytes, 61), WIRE_BAD_IP_LENGTH);
}
END_TEST

START_TEST(every_reason_has_a_text_of_its_own)
{
	int i, j;

	for (i = 0; i < WIRE_REFUSED; i++)
		for (j = 0; j < i; j++)
			ck_assert_str_ne(wire_refusal_text((enum wire_refusal)i),
					 wire_refusal_text((enum wire_refusal)j));
	ck_assert_ptr_nonnull(wire_refusal_text(WIRE_REFUSED));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("wire");
	TCase *t = tcase_create("wire");
	SRunner *sr;
	int failed;

	tcase_add_test(t, golden_packets_come_apart_and_together_byte_for_byte);
	tcase_add_test(t, the_specification_s_example_has_its_icrc);
	tcase_add_loop_test(t, every_opcode_is_decoded_as_it_was_encoded, 0, SHAPES);
	tcase_add_test(t, what_is_no_packet_is_not_encoded);
	tcase_add_test(t, a_payload_may_lie_where_it_goes);
	tcase_add_loop_test(t, a_flipped_bit_is_refused_unless_nothing_covers_it, 0, SHAPES);
	tcase_add_test(t, a_packet_cut_short_is_refused);
	tcase_add_test(t, what_changes_on_the_way_is_not_covered_by_the_icrc);
	tcase_add_loop_test(t, each_rule_refuses_with_its_own_reason, 0,
			    sizeof(wrongs) / sizeof(*wrongs));
	tcase_add_test(t, lids_and_virtual_lanes_have_their_rules);
	tcase_add_test(t, multicast_is_ud_with_a_grh_to_its_own_number);
	tcase_add_test(t, lengths_and_pads_are_the_opcode_s);
	tcase_add_test(t, a_checksum_that_is_wrong_is_found);
	tcase_add_test(t, reserved_fields_are_ignored_and_kept);
	tcase_add_test(t, a_short_frame_may_be_filled_up);
	tcase_add_test(t, every_reason_has_a_text_of_its_own);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
