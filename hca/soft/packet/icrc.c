/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The checksums of a packet's bytes. ISA-L computes the CRC-32, with the processor's own instructions. The codec,
 * which uses these checksums, is in wire.c.
 */

#include "hca/soft/packet/icrc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "hca/soft/packet/wire.h"

/* Bits of a header that may change on the way, and so count as ones in the ICRC. */
struct variant {
	uint8_t at;   /* byte of the header */
	uint8_t mask; /* bits of that byte */
};

/* Each array ends with an empty mask. */
static const struct variant lrh[] = { { 0, 0xf0 }, { 0 } };                  /* VL */
static const struct variant ip6[] = { { 0, 0x0f }, { 1, 0xff }, { 2, 0xff }, /* class, flow */
				      { 3, 0xff }, { 7, 0xff }, { 0 } };     /* hop limit */
static const struct variant ip4[] = { { 1, 0xff },
				      { 8, 0xff },
				      { 10, 0xff }, /* TOS, TTL */
				      { 11, 0xff },
				      { 0 } };                           /* checksum */
static const struct variant udp[] = { { 6, 0xff }, { 7, 0xff }, { 0 } }; /* checksum */
static const struct variant bth_variant[] = { { 4, 0xff }, { 0 } };      /* FECN to Resv6 */

static void set_ones(uint8_t *header, const struct variant *v)
{
	for (; v->mask; v++)
		header[v->at] |= v->mask;
}

uint32_t icrc(enum wire_framing framing, const uint8_t *from, size_t bth, size_t end)
{
	uint8_t copy[LRH_BYTES + IP6_BYTES + UDP_BYTES + BTH_BYTES];
	uint8_t *header = copy;
	uint32_t crc;

	if (framing != WIRE_IB) { /* RoCE: 8 bytes of ones stand for the LRH (A17.3.3) */
		memset(copy, 0xff, LRH_BYTES);
		header += LRH_BYTES;
	}
	memcpy(header, from, bth + BTH_BYTES);
	if (framing == WIRE_IB) {
		set_ones(header, lrh);
		if (bth > LRH_BYTES)
			set_ones(header + LRH_BYTES, ip6);
	} else {
		set_ones(header, framing == WIRE_ROCE4 ? ip4 : ip6);
		set_ones(header + bth - UDP_BYTES, udp);
	}
	set_ones(header + bth, bth_variant);
	crc = crc32_gzip_refl(0, copy, (uint64_t)(header - copy) + bth + BTH_BYTES);
	return crc32_gzip_refl(crc, from + bth + BTH_BYTES, end - bth - BTH_BYTES);
}

/* The remainders of four bits by x^16 + x^12 + x^3 + x + 1, with the lowest bit first. */
static const uint16_t vcrc_table[16] = {
	0x0000, 0x1a01, 0x3402, 0x2e03, 0x6804, 0x7205, 0x5c06, 0x4607,
	0xd008, 0xca09, 0xe40a, 0xfe0b, 0xb80c, 0xa20d, 0x8c0e, 0x960f,
};

uint16_t vcrc(const uint8_t *from, size_t len)
{
	const uint8_t *end = from + len;
	uint16_t crc = 0xffff;

	for (; from < end; from++) {
		crc = (uint16_t)(crc >> 4 ^ vcrc_table[(crc ^ *from) & 15]);
		crc = (uint16_t)(crc >> 4 ^ vcrc_table[(crc ^ *from >> 4) & 15]);
	}
	return (uint16_t)~crc;
}

uint32_t inet_sum(uint32_t sum, const uint8_t *from, size_t len)
{
	const uint8_t *end = from + (len & ~(size_t)1);

	for (; from < end; from += 2)
		sum += (uint32_t)from[0] << 8 | from[1];
	return len & 1 ? sum + ((uint32_t)*from << 8) : sum;
}

uint16_t inet_checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}
