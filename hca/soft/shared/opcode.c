/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The tables of operations: IBTA 9.2 (wire opcodes), 9.7.5.2.8 (RNR timer), 11.4.1.1 (work requests). The codec that
 * uses the tables is packet/wire.c.
 */
#include "hca/soft/shared/opcode.h"

#define RC (1u << IB_QPT_RC)
#define UC (1u << IB_QPT_UC)
#define UD (1u << IB_QPT_UD)
#define MAD (1u << IB_QPT_SMI | 1u << IB_QPT_GSI)

const struct wr_op wr_ops[IB_WR_OPCODES] = {
	[IB_WR_SEND] = { "send", RC | UC | UD | MAD, WR_INLINE | WR_RECV, PKT_SEND, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM] = { "send with immediate", RC | UC | UD, WR_INLINE | WR_RECV,
				  PKT_SEND_IMM, IB_WC_SEND },
	[IB_WR_RDMA_WRITE] = { "RDMA write", RC | UC, WR_REMOTE | WR_INLINE, PKT_WRITE,
			       IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { "RDMA write with immediate", RC | UC,
					WR_REMOTE | WR_INLINE | WR_RECV, PKT_WRITE_IMM,
					IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_READ] = { "RDMA read", RC, WR_REMOTE | WR_READ, PKT_READ, IB_WC_RDMA_READ },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { "compare and swap", RC, WR_REMOTE | WR_ATOMIC, PKT_COMP_SWAP,
				       IB_WC_COMP_SWAP },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { "fetch and add", RC, WR_REMOTE | WR_ATOMIC, PKT_FETCH_ADD,
					 IB_WC_FETCH_ADD },
};

#define NAME_CASE(name, value, text) \
	case name:                   \
		return text;

const char *qp_state_name(ib_qp_state state)
{
	switch ((int)state) {
		IB_QP_STATE_LIST(NAME_CASE)
	}
	return "unknown";
}

const char *qp_type_name(ib_qp_type type)
{
	switch ((int)type) {
		IB_QP_TYPE_LIST(NAME_CASE)
	}
	return "unknown";
}

#define REQ(extra)  (WIRE_REQUEST | WIRE_PAYLOAD | (extra))
#define RESP(extra) (WIRE_RESPONSE | (extra))

const struct wire_op wire_ops[256] = {
	[0x00] = { "RC_SEND_FIRST", REQ(0), 0, PKT_SEND, PLACE_FIRST },
	[0x01] = { "RC_SEND_MIDDLE", REQ(0), 0, PKT_SEND, PLACE_MIDDLE },
	[0x02] = { "RC_SEND_LAST", REQ(0), 0, PKT_SEND, PLACE_LAST },
	[0x03] = { "RC_SEND_LAST_IMM", REQ(WIRE_IMM), 4, PKT_SEND_IMM, PLACE_LAST },
	[0x04] = { "RC_SEND_ONLY", REQ(0), 0, PKT_SEND, PLACE_ONLY },
	[0x05] = { "RC_SEND_ONLY_IMM", REQ(WIRE_IMM), 4, PKT_SEND_IMM, PLACE_ONLY },
	[0x06] = { "RC_WRITE_FIRST", REQ(WIRE_RETH), 16, PKT_WRITE, PLACE_FIRST },
	[0x07] = { "RC_WRITE_MIDDLE", REQ(0), 0, PKT_WRITE, PLACE_MIDDLE },
	[0x08] = { "RC_WRITE_LAST", REQ(0), 0, PKT_WRITE, PLACE_LAST },
	[0x09] = { "RC_WRITE_LAST_IMM", REQ(WIRE_IMM), 4, PKT_WRITE_IMM, PLACE_LAST },
	[0x0a] = { "RC_WRITE_ONLY", REQ(WIRE_RETH), 16, PKT_WRITE, PLACE_ONLY },
	[0x0b] = { "RC_WRITE_ONLY_IMM", REQ(WIRE_RETH | WIRE_IMM), 20, PKT_WRITE_IMM, PLACE_ONLY },
	[0x0c] = { "RC_READ_REQUEST", WIRE_REQUEST | WIRE_RETH, 16, PKT_READ, PLACE_ONLY },
	[0x0d] = { "RC_READ_RESPONSE_FIRST", RESP(WIRE_PAYLOAD | WIRE_AETH), 4, PKT_READ_RESP,
		   PLACE_FIRST },
	[0x0e] = { "RC_READ_RESPONSE_MIDDLE", RESP(WIRE_PAYLOAD), 0, PKT_READ_RESP, PLACE_MIDDLE },
	[0x0f] = { "RC_READ_RESPONSE_LAST", RESP(WIRE_PAYLOAD | WIRE_AETH), 4, PKT_READ_RESP,
		   PLACE_LAST },
	[0x10] = { "RC_READ_RESPONSE_ONLY", RESP(WIRE_PAYLOAD | WIRE_AETH), 4, PKT_READ_RESP,
		   PLACE_ONLY },
	[0x11] = { "RC_ACK", RESP(WIRE_AETH), 4, PKT_ACK, PLACE_ONLY },
	[0x12] = { "RC_ATOMIC_ACK", RESP(WIRE_AETH | WIRE_ATOMIC_ACK_ETH), 12, PKT_ATOMIC_ACK,
		   PLACE_ONLY },
	[0x13] = { "RC_COMPARE_SWAP", WIRE_REQUEST | WIRE_ATOMIC_ETH, 28, PKT_COMP_SWAP,
		   PLACE_ONLY },
	[0x14] = { "RC_FETCH_ADD", WIRE_REQUEST | WIRE_ATOMIC_ETH, 28, PKT_FETCH_ADD, PLACE_ONLY },
	[0x16] = { "RC_SEND_LAST_INV", REQ(WIRE_IETH), 4, PKT_SEND_INV, PLACE_LAST },
	[0x17] = { "RC_SEND_ONLY_INV", REQ(WIRE_IETH), 4, PKT_SEND_INV, PLACE_ONLY },
	[0x20] = { "UC_SEND_FIRST", REQ(0), 0, PKT_SEND, PLACE_FIRST },
	[0x21] = { "UC_SEND_MIDDLE", REQ(0), 0, PKT_SEND, PLACE_MIDDLE },
	[0x22] = { "UC_SEND_LAST", REQ(0), 0, PKT_SEND, PLACE_LAST },
	[0x23] = { "UC_SEND_LAST_IMM", REQ(WIRE_IMM), 4, PKT_SEND_IMM, PLACE_LAST },
	[0x24] = { "UC_SEND_ONLY", REQ(0), 0, PKT_SEND, PLACE_ONLY },
	[0x25] = { "UC_SEND_ONLY_IMM", REQ(WIRE_IMM), 4, PKT_SEND_IMM, PLACE_ONLY },
	[0x26] = { "UC_WRITE_FIRST", REQ(WIRE_RETH), 16, PKT_WRITE, PLACE_FIRST },
	[0x27] = { "UC_WRITE_MIDDLE", REQ(0), 0, PKT_WRITE, PLACE_MIDDLE },
	[0x28] = { "UC_WRITE_LAST", REQ(0), 0, PKT_WRITE, PLACE_LAST },
	[0x29] = { "UC_WRITE_LAST_IMM", REQ(WIRE_IMM), 4, PKT_WRITE_IMM, PLACE_LAST },
	[0x2a] = { "UC_WRITE_ONLY", REQ(WIRE_RETH), 16, PKT_WRITE, PLACE_ONLY },
	[0x2b] = { "UC_WRITE_ONLY_IMM", REQ(WIRE_RETH | WIRE_IMM), 20, PKT_WRITE_IMM, PLACE_ONLY },
	[0x64] = { "UD_SEND_ONLY", REQ(WIRE_DETH), 8, PKT_SEND, PLACE_ONLY },
	[0x65] = { "UD_SEND_ONLY_IMM", REQ(WIRE_DETH | WIRE_IMM), 12, PKT_SEND_IMM, PLACE_ONLY },
};

/*
 * Only a message's last packet carries immediate data or a key to invalidate. So first and middle packets have the
 * opcodes of the plain kind.
 */
const uint8_t rc_opcode[PKT_KINDS][4] = {
	/*                  middle first last  only */
	[PKT_SEND] = { 0x01, 0x00, 0x02, 0x04 },       [PKT_SEND_IMM] = { 0x01, 0x00, 0x03, 0x05 },
	[PKT_SEND_INV] = { 0x01, 0x00, 0x16, 0x17 },   [PKT_WRITE] = { 0x07, 0x06, 0x08, 0x0a },
	[PKT_WRITE_IMM] = { 0x07, 0x06, 0x09, 0x0b },  [PKT_READ] = { 0x0c, 0x0c, 0x0c, 0x0c },
	[PKT_COMP_SWAP] = { 0x13, 0x13, 0x13, 0x13 },  [PKT_FETCH_ADD] = { 0x14, 0x14, 0x14, 0x14 },
	[PKT_READ_RESP] = { 0x0e, 0x0d, 0x0f, 0x10 },  [PKT_ACK] = { 0x11, 0x11, 0x11, 0x11 },
	[PKT_ATOMIC_ACK] = { 0x12, 0x12, 0x12, 0x12 },
};

const uint32_t rnr_timer[32] = {
	65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint8_t credit_code(uint32_t receives)
{
	unsigned int log;

	if (receives < 2)
		return (uint8_t)receives;
	if (receives > 32768)
		receives = 32768;
	log = 31 - (unsigned int)__builtin_clz(receives);
	return (uint8_t)(2 * log + (receives >> (log - 1) & 1));
}

uint32_t credits_of_code(uint8_t code)
{
	return code < 2 ? code : (2u | (code & 1u)) << (code / 2 - 1);
}
