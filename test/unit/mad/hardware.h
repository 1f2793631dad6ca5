/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Nodes whose hardware is a store of attributes. Gets of the agent read the store, and sets write
 * the store; an attribute that is not in the store reads as 0. The transitions of PortInfo take
 * effect at once.
 */
#ifndef TEST_MGMT_HARDWARE_H
#define TEST_MGMT_HARDWARE_H

#include "mad/sma.h"
#include "test/unit/mad/datagram.h"

#define HARDWARE_ROWS 64

struct hardware {
	struct {
		uint8_t port;
		uint16_t attr_id;
		uint32_t attr_mod;
		uint8_t data[IB_SMP_DATA_BYTES];
	} row[HARDWARE_ROWS];
	unsigned int rows;
	unsigned int sets;          /* calls with Set */
	uint8_t set_port;           /* port of the last Set */
	struct ci_local_mad_in set; /* the last Set */
	al_status fail_with;        /* status of the call with Set, if not AL_SUCCESS */
	uint16_t set_status;        /* MAD status of Set */
	unsigned int notices;       /* calls of ops.notice */
	struct ib_notice notice;    /* the last notice */
	unsigned int descriptions;  /* calls of ops.node_desc */
};

static inline uint8_t *hardware_row(struct hardware *h, uint8_t port, uint16_t attr_id,
				    uint32_t attr_mod)
{
	for (unsigned int i = 0; i < h->rows; i++)
		if (h->row[i].port == port && h->row[i].attr_id == attr_id &&
		    h->row[i].attr_mod == attr_mod)
			return h->row[i].data;
	ck_assert_uint_lt(h->rows, HARDWARE_ROWS);
	h->row[h->rows].port = port;
	h->row[h->rows].attr_id = attr_id;
	h->row[h->rows].attr_mod = attr_mod;
	return h->row[h->rows++].data;
}

/* The physical state is in the upper half of byte 33, the port state in the lower half of byte 32,
 * bit 7 of byte 51 is ClientReregister. */
static inline void hardware_make_transition(uint8_t *stored, const uint8_t *set)
{
	uint8_t state = set[32] & 0x0f, phys = set[33] >> 4;

	state = state ? state : stored[32] & 0x0f;
	phys = phys ? phys : stored[33] >> 4;
	memcpy(stored, set, IB_SMP_DATA_BYTES);
	stored[32] = (uint8_t)((set[32] & 0xf0) | state);
	stored[33] = (uint8_t)((set[33] & 0x0f) | phys << 4);
	stored[51] &= 0x7f;
}

static inline al_status hardware_mad(void *hw, uint8_t port, const struct ci_local_mad_in *in,
				     struct ci_local_mad_out *out)
{
	struct hardware *h = hw;
	uint8_t *stored = hardware_row(h, port, in->attr_id, in->attr_mod);

	ck_assert_uint_eq(in->mgmt_class, 1);
	ck_assert_uint_eq(in->length, IB_SMP_DATA_BYTES);
	if (in->method == IB_METHOD_SET) {
		h->sets++;
		h->set = *in;
		h->set_port = port;
		if (h->fail_with != AL_SUCCESS)
			return h->fail_with;
		out->status = h->set_status;
		if (in->attr_id == 0x15)
			hardware_make_transition(stored, in->data);
		else
			memcpy(stored, in->data, IB_SMP_DATA_BYTES);
	}
	out->length = IB_SMP_DATA_BYTES;
	memcpy(out->data, stored, IB_SMP_DATA_BYTES);
	return AL_SUCCESS;
}

static inline void hardware_notice(void *hw, uint8_t port, const struct ib_notice *notice)
{
	struct hardware *h = hw;

	(void)port;
	h->notices++;
	h->notice = *notice;
}

static inline void hardware_node_desc(void *hw, const struct ib_node_desc *desc)
{
	struct hardware *h = hw;

	(void)desc;
	h->descriptions++;
}

static const struct sma_ops hardware_ops = {
	.local_mad = hardware_mad,
	.notice = hardware_notice,
	.node_desc = hardware_node_desc,
};

static inline void hardware_put(struct hardware *h, uint8_t port, uint16_t attr_id,
				uint32_t attr_mod, const char *digits)
{
	uint8_t *data = hardware_row(h, port, attr_id, attr_mod);

	memset(data, 0, IB_SMP_DATA_BYTES);
	write_hex(data, IB_SMP_DATA_BYTES, digits);
}

#define TEST_PORTS 3

/* A node with its hardware. */
struct bed {
	struct hardware hardware;
	struct sma_port port[TEST_PORTS + 1];
	struct sma_node node;
};

/*
 * PortInfo of a port with LIDs 4 to 7 and subnet manager 1, 4X QDR, Active: by IBTA's table
 * of 14.2.5.6. Capability mask 0x0600d24e: subnet manager, notices, traps, SL mapping, LedInfo,
 * P_Key traps, extended speeds, mask 2, reregistration and other local changes. Capability mask 2:
 * Set(NodeDescription) and PortInfoExtended.
 */
#define PORT_INFO_OF(state, mkey, lease, in_port, protect, violations)                           \
	mkey " fe80000000000000 0004 0001 0600d24e 0000 " lease " " in_port                      \
	     " 03 03 02" /* width enabled, supported, active */                                  \
	     " 7" state " 52 " protect                                                           \
	     "2 47" /* speed and state, physical and default, protection and LMC, speed */       \
	     " 43 40 0c 10 08 05" /* MTU and SL, lanes, high limit, arbitration caps, MTU cap */ \
	     " e8 40 " violations " 0022 0033"       /* stall and life, lanes, violations */     \
	     " 0a 12 10 88 0000 00000000 0003 17 07" /* GUID cap, time-outs, thresholds, mask 2, \
							extended speed */

/* The attribute as the hardware stores it: without the members that the agent keeps. */
#define HARDWARE_PORT_INFO(state) PORT_INFO_OF(state, "0000000000000000", "0000", "00", "0", "0000")

static inline struct bed bed_of(ib_node_type type)
{
	struct bed bed = {
		.node = {
			.ops = &hardware_ops,
			.type = type,
			.num_ports = TEST_PORTS,
			.partition_cap = 40,
			.device_id = 0x1003,
			.vendor_id = 0x0002c9,
			.revision = 0xb0,
			.node_guid = UINT64_C(0x0002c90300000a00),
			.sys_image_guid = UINT64_C(0x0002c90300000a0f),
			.next_tid = UINT64_C(0x7700000000000001),
			.desc = { "the node" },
		},
	};

	for (uint8_t i = 0; i <= TEST_PORTS; i++) {
		bed.port[i].guid = UINT64_C(0x0002c90300000a00) + i;
		if (i || type == IB_NODE_SWITCH)
			hardware_put(&bed.hardware, i, 0x15, i, HARDWARE_PORT_INFO("4"));
	}
	/* linear cap 0x100, multicast cap 0x40, top 0xff, ports, life 18 and changed, enforcement
	 * 64, 8: enhanced port 0 */
	if (type == IB_NODE_SWITCH)
		hardware_put(&bed.hardware, 0, 0x12, 0,
			     "0100 0000 0040 00ff ff ff ff 94 0000 0040 00 00 0000");
	return bed;
}

/* Returns the node, after setting its pointers into the bed: a copy of a bed has the pointers of
 * the original. */
static inline struct sma_node *bed_node(struct bed *bed)
{
	bed->node.hw = &bed->hardware;
	bed->node.ports = bed->port;
	return &bed->node;
}

/* A LID-routed request of method and attribute with key 0. */
static inline void request(struct ib_smp *smp, uint8_t method, uint16_t attr_id, uint32_t attr_mod,
			   const char *attribute)
{
	char head[128];

	snprintf(head, sizeof(head), "01 01 01 %02x 0000 0000 1122334455667788 %04x 0000 %08x",
		 method, attr_id, attr_mod);
	write_datagram(smp, head, 64, attribute);
}

#define AT_START UINT64_C(1000000000)

static inline enum sma_verdict ask(struct bed *bed, uint8_t in_port, const struct ib_smp *smp,
				   struct ib_smp *response)
{
	memset(response, 0xee, sizeof(*response));
	return sma_answer(bed_node(bed), in_port, 0x0009, smp, AT_START, response);
}

/* Returns the status of the response, and checks the rest of the response's header. */
static inline unsigned int ask_for_status(struct bed *bed, uint8_t in_port,
					  const struct ib_smp *smp)
{
	uint8_t want[24];
	struct ib_smp response;
	const uint8_t *got = (const uint8_t *)&response;

	ck_assert_int_eq(ask(bed, in_port, smp, &response), SMA_REPLY);
	memcpy(want, smp, sizeof(want));
	want[3] = want[3] == 2 ? 0x81 : want[3] | 0x80;
	memcpy(want + 4, got + 4, 2);
	ck_assert_mem_eq(got, want, sizeof(want));
	return (unsigned int)got[4] << 8 | got[5];
}

/* Expects a response of status 0 with an attribute. */
static inline void expect_attribute(struct bed *bed, uint8_t in_port, const struct ib_smp *smp,
				    const char *attribute)
{
	uint8_t want[IB_SMP_DATA_BYTES] = { 0 };
	struct ib_smp response;

	write_hex(want, sizeof(want), attribute);
	ck_assert_int_eq(ask(bed, in_port, smp, &response), SMA_REPLY);
	ck_assert_uint_eq(((uint8_t *)&response)[4] << 8 | ((uint8_t *)&response)[5], 0);
	for (size_t i = 0; i < sizeof(want); i++)
		ck_assert_msg(((uint8_t *)&response)[64 + i] == want[i],
			      "byte %zu is %02x, not %02x", i, ((uint8_t *)&response)[64 + i],
			      want[i]);
}

#endif
