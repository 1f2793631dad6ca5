/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The operations, as tables (opcode.c): work requests by ib_wr_opcode, packets by wire opcode, codes of the AETH.
 * Headers of packets are in packet/wire.h.
 */
#ifndef SOFT_OPCODE_H
#define SOFT_OPCODE_H

#include <iba/ib_verbs.h>

/* The operation that a packet belongs to, without the packet's place in the message. */
enum pkt_kind {
	PKT_NONE, /* no operation: a node on its way home */
	/* requests */
	PKT_SEND,
	PKT_SEND_IMM,
	PKT_SEND_INV, /* send with invalidate: only the codec knows this kind; the HCA does not offer the operation */
	PKT_WRITE,
	PKT_WRITE_IMM,
	PKT_READ,
	PKT_COMP_SWAP,
	PKT_FETCH_ADD,
	/* responses */
	PKT_READ_RESP,
	PKT_ACK,
	PKT_ATOMIC_ACK,
	PKT_KINDS
};

/* The place of a packet or train in its message: bits. */
enum pkt_place {
	PLACE_MIDDLE = 0,
	PLACE_FIRST = 1 << 0,
	PLACE_LAST = 1 << 1,
	PLACE_ONLY = PLACE_FIRST | PLACE_LAST,
};

/* Properties of a work request: bits. */
enum wr_op_flags {
	WR_REMOTE = 1 << 0,    /* the request names the peer's memory */
	WR_READ = 1 << 1,      /* the request is an RDMA read */
	WR_ATOMIC = 1 << 2,    /* the request is a 64-bit atomic */
	WR_INLINE = 1 << 3,    /* the request may carry its data inline */
	WR_RECV = 1 << 4,      /* the request consumes a receive of the peer's */
	WR_RD_ATOMIC = WR_READ | WR_ATOMIC, /* the response carries data */
};

struct wr_op {
	const char *name;
	uint32_t qp_types; /* bits 1 << ib_qp_type: types of queue pair that offer the operation; 0: none does */
	uint8_t flags;     /* enum wr_op_flags */
	uint8_t kind;      /* enum pkt_kind of the request's packets */
	uint8_t wc_opcode; /* ib_wc_opcode of the requester's completion */
};

extern const struct wr_op wr_ops[IB_WR_OPCODES];

/* Names for reasons of refusals, as the Access Layer has them. */
const char *qp_state_name(ib_qp_state state);
const char *qp_type_name(ib_qp_type type);

/* Properties of a packet: bits. */
enum wire_op_flags {
	WIRE_REQUEST = 1 << 0,
	WIRE_RESPONSE = 1 << 1,
	WIRE_PAYLOAD = 1 << 2, /* the packet may have a payload */
	WIRE_RETH = 1 << 3,
	WIRE_ATOMIC_ETH = 1 << 4,
	WIRE_IMM = 1 << 5,
	WIRE_AETH = 1 << 6,
	WIRE_ATOMIC_ACK_ETH = 1 << 7,
	WIRE_DETH = 1 << 8,
	WIRE_IETH = 1 << 9,
};

/* Transport service: the upper three bits of an opcode. */
enum wire_service { WIRE_RC = 0, WIRE_UC = 1, WIRE_RD = 2, WIRE_UD = 3 };

struct wire_op {
	const char *name;
	uint16_t flags;    /* enum wire_op_flags */
	uint8_t ext_bytes; /* bytes of the extended headers, which follow the BTH */
	uint8_t kind;      /* enum pkt_kind */
	uint8_t place;     /* enum pkt_place */
};

/* Indexed by BTH opcode. A row without a name is no opcode of RC, UC or UD. */
extern const struct wire_op wire_ops[256];

/* BTH opcodes of a reliable connection, by enum pkt_kind and enum pkt_place. */
extern const uint8_t rc_opcode[PKT_KINDS][4];

/* Returns the BTH opcode of any service. The lower five bits have the same meaning in all services that offer them. */
static inline uint8_t wire_opcode(enum wire_service service, uint8_t kind, uint8_t place)
{
	return (uint8_t)(service << 5 | rc_opcode[kind][place]);
}

static inline enum wire_service wire_service(uint8_t opcode)
{
	return (enum wire_service)(opcode >> 5);
}

/* AETH syndromes, IBTA 9.7.5.2: kind in the upper three bits. */
#define AETH_KIND 0xe0
#define AETH_ACK 0x00
#define AETH_RNR_NAK 0x20
#define AETH_NAK 0x60
#define AETH_CREDITS 0x1f    /* mask, in an ACK: the code of the receives that are posted (credit_code()) */
#define AETH_NO_CREDITS 0x1f /* value of these bits: the responder does no end-to-end flow control */
#define NAK_PSN_SEQ (AETH_NAK | 0)
#define NAK_INVALID_REQUEST (AETH_NAK | 1)
#define NAK_REMOTE_ACCESS (AETH_NAK | 2)
#define NAK_REMOTE_OPERATION (AETH_NAK | 3)

/*
 * Convert a number of receives to the code of an ACK, and back. The codes mean 0, 1, 2, 3, 4, 6, 8, 12, ... 32768
 * receives; credit_code() rounds down (IBTA 9.7.5.1.2, table 43).
 */
uint8_t credit_code(uint32_t receives);
uint32_t credits_of_code(uint8_t code);

/* Time for which an RNR NAK delays the requester, in units of 10 us, by timer code (IBTA table 45). */
extern const uint32_t rnr_timer[32];

#endif
