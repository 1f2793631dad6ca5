/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The packet codec (wire.c): a packet's headers as a struct, and as bytes on a wire. The codec checks that a packet
 * is well formed (IBTA 7, 8, 9.2 to 9.6.1, A17). Whether a queue pair or port expects the packet is checked in
 * transport/ and link/.
 */
#ifndef SOFT_WIRE_H
#define SOFT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LRH_BYTES        8
#define GRH_BYTES 40
#define BTH_BYTES 12
#define DETH_BYTES 8
#define ICRC_BYTES 4
#define VCRC_BYTES 2
#define CRC_BYTES (ICRC_BYTES + VCRC_BYTES)
#define ETH_BYTES 14
#define IP4_BYTES 20
#define IP6_BYTES 40
#define UDP_BYTES 8
#define ROCE_PORT 4791
#define WIRE_MAX_PAYLOAD 4096 /* IBTA's largest MTU */
#define WIRE_MAX_EXT 28       /* the longest extended headers: AtomicETH */
/* The length of the longest packet in any framing. */
#define WIRE_MAX_BYTES \
	(ETH_BYTES + IP6_BYTES + UDP_BYTES + BTH_BYTES + WIRE_MAX_EXT + WIRE_MAX_PAYLOAD + ICRC_BYTES)

enum wire_framing {
	WIRE_IB,   /* LRH [GRH] BTH ... ICRC VCRC */
	WIRE_ROCE4, /* Ethernet, IPv4, UDP, BTH ... ICRC */
	WIRE_ROCE6, /* Ethernet, IPv6, UDP, BTH ... ICRC */
};

/*
 * Reasons for which bytes are not a well-formed packet. A reserved field is no reason: a receiver ignores reserved
 * fields (IBTA 7.7, 8.3, 9.2), except that the CRCs cover them.
 */
#define WIRE_REFUSALS(X)                                                       \
	X(WIRE_OK, "well formed")                                              \
	X(WIRE_TRUNCATED, "shorter than the headers that it begins with")      \
	X(WIRE_BAD_VCRC, "VCRC does not match")                                \
	X(WIRE_BAD_LVER, "LRH: link version is not 0")                         \
	X(WIRE_BAD_LNH, "LRH: no IBA transport follows")                       \
	X(WIRE_BAD_PKTLEN, "LRH: packet length is not the packet's")           \
	X(WIRE_BAD_SLID, "LRH: source LID is no unicast LID")                  \
	X(WIRE_BAD_DLID, "LRH: destination LID is reserved")                   \
	X(WIRE_BAD_VL, "LRH: VL 15 and queue pair 0 go together, without GRH") \
	X(WIRE_BAD_IPVER, "GRH: version is not 6")                             \
	X(WIRE_BAD_NXTHDR, "GRH: next header is not IBA transport")            \
	X(WIRE_BAD_PAYLEN, "GRH: payload length is not the packet's")          \
	X(WIRE_BAD_ETHERTYPE, "Ethernet: neither IPv4 nor IPv6")               \
	X(WIRE_BAD_IP_VERSION, "IP: version is not that of the Ethertype")     \
	X(WIRE_BAD_IP_OPTIONS, "IP: header has options")                       \
	X(WIRE_BAD_IP_LENGTH, "IP: length is not the packet's")                \
	X(WIRE_BAD_IP_FRAGMENT, "IP: a fragment")                              \
	X(WIRE_BAD_IP_PROTOCOL, "IP: not UDP")                                 \
	X(WIRE_BAD_IP_CHECKSUM, "IP: header checksum does not match")          \
	X(WIRE_BAD_UDP_PORT, "UDP: destination port is not 4791")              \
	X(WIRE_BAD_UDP_LENGTH, "UDP: length is not that of the IP packet")     \
	X(WIRE_BAD_UDP_CHECKSUM, "UDP: checksum does not match")               \
	X(WIRE_BAD_ICRC, "ICRC does not match")                                \
	X(WIRE_BAD_TVER, "BTH: transport version is not 0")                    \
	X(WIRE_BAD_OPCODE, "BTH: no such opcode of RC, UC or UD")              \
	X(WIRE_BAD_MULTICAST, "multicast: UD with GRH to queue pair 0xffffff") \
	X(WIRE_BAD_LENGTH, "length is no multiple of 4")                       \
	X(WIRE_SHORT, "too short for the extended headers of its opcode")      \
	X(WIRE_BAD_PAD, "BTH: more pad than payload")                          \
	X(WIRE_BAD_PAYLOAD, "payload in a packet that has none")               \
	X(WIRE_TOO_LONG, "payload is more than 4096 bytes")

#define WIRE_ENUM(name, text) name,
enum wire_refusal { WIRE_REFUSALS(WIRE_ENUM) WIRE_REFUSED };
#undef WIRE_ENUM

/* Returns the reason in words; never NULL. */
const char *wire_refusal_text(enum wire_refusal why);

/*
 * A packet, in the host's byte order. Encoding computes lengths and checksums, so the struct has none. The opcode's
 * row in wire_ops tells which extended headers the packet has.
 */
struct wire_packet {
	enum wire_framing framing;
	struct {
		uint8_t vl, sl;
		uint16_t dlid, slid;
		uint8_t reserved2, reserved5;
		bool global; /* GRH follows */
	} lrh;                   /* WIRE_IB */
	struct {
		uint8_t tclass;
		uint32_t flow_label;
		uint8_t hop_limit;
		uint8_t sgid[16], dgid[16];
	} grh;                   /* WIRE_IB with lrh.global; WIRE_ROCE6: the IPv6 header */
	struct {
		uint8_t dst[6], src[6];
	} eth;                   /* WIRE_ROCE4, WIRE_ROCE6 */
	struct {
		uint8_t tos, ttl;
		uint16_t id;
		bool dont_fragment;
		uint8_t src[4], dst[4];
	} ip4;                   /* WIRE_ROCE4 */
	struct {
		uint16_t src_port;
		bool checksum;   /* the packet has a UDP checksum */
	} udp;                   /* WIRE_ROCE4, WIRE_ROCE6 */
	struct {
		uint8_t opcode;
		bool solicited, migrated, ack_req;
		uint8_t pad;     /* bytes after the payload, 0 to 3; encoding computes pad from the payload's length */
		bool fecn, becn;
		uint8_t reserved6, reserved7;
		uint16_t pkey;
		uint32_t dest_qpn, psn;
	} bth;
	struct {
		uint64_t va;
		uint32_t rkey, dma_len;
	} reth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint64_t swap_add, compare;
	} atomic;
	struct {
		uint8_t syndrome;
		uint32_t msn;
	} aeth;
	uint64_t orig;           /* AtomicAckETH */
	struct {
		uint32_t qkey, src_qpn;
		uint8_t reserved8;
	} deth;
	uint32_t imm;            /* immediate data: 0x12345678 is 12 34 56 78 on the wire */
	uint32_t inv_rkey;       /* IETH */
	const uint8_t *payload;  /* after decoding: points into the decoded bytes */
	uint32_t length;         /* bytes of the payload, without pad */
};

/* Returns the number of bytes before the payload. wire_ops has the packet's opcode. */
size_t wire_header_bytes(const struct wire_packet *pkt);
/*
 * Writes a packet's bytes. Returns their number; 0: `room` is too small, no such opcode exists, or the opcode has no
 * payload or a shorter one. The payload may lie at its place already, to + wire_header_bytes().
 */
size_t wire_encode(const struct wire_packet *pkt, uint8_t *to, size_t room);
/* Writes only the packet's GRH, or the IPv6 header of RoCEv2 (ip6). len: bytes after the header, with the ICRC. */
void wire_grh(uint8_t to[GRH_BYTES], const struct wire_packet *pkt, size_t len, bool ip6);
/* Writes only the packet's IPv4 header. len: bytes after the header, with the ICRC. */
void wire_ip4(uint8_t to[IP4_BYTES], const struct wire_packet *pkt, size_t len);
/*
 * Decodes and checks bytes. framing: WIRE_IB, or another value for an Ethernet frame, which may be padded to Ethernet's
 * minimum of 60 bytes. *pkt is valid only after WIRE_OK.
 */
enum wire_refusal wire_decode(struct wire_packet *pkt, enum wire_framing framing, const uint8_t *from, size_t len);
/*
 * Corrects the CRCs and checksums of a packet that a test has changed. False: the bytes are too short for CRCs, or
 * the frame is not IP.
 */
bool wire_seal(enum wire_framing framing, uint8_t *bytes, size_t len);

#endif
