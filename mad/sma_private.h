/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Declarations that the sources of the subnet management agent share: the request that is being
 * answered, and the hardware's half. */
#ifndef IBAL_MAD_SMA_PRIVATE_H
#define IBAL_MAD_SMA_PRIVATE_H

#include "mad/sma.h"

/* A request that is being answered. */
struct sma_call {
	struct sma_node *node;
	uint8_t in_port;
	uint16_t slid;
	uint64_t now_ns;
	uint32_t attr_mod;
	struct ib_smp in; /* copy, since the caller may use the same memory for the response */
	uint8_t data[IB_SMP_DATA_BYTES]; /* attribute of the response; at first the request's */
};

/* The result of handlers: enum ib_mad_status of the response. */
typedef uint16_t (*sma_handler)(struct sma_call *call);

static inline bool sma_is_switch(const struct sma_node *node)
{
	return node->type == IB_NODE_SWITCH;
}

/* The port that keeps M_Key, notices and traps for a port. */
static inline struct sma_port *sma_keeper(const struct sma_node *node, uint8_t port)
{
	return &node->ports[sma_is_switch(node) ? 0 : port];
}

/* Asks the hardware. data: IB_SMP_DATA_BYTES bytes, in and out; unchanged on error. Returns enum
 * ib_mad_status. */
uint16_t sma_hardware(const struct sma_node *node, uint8_t port, ib_mad_method method,
		      ib_smp_attr attr, uint32_t attr_mod, void *data);

/* Get from the hardware. */
uint16_t sma_hardware_port_info(const struct sma_node *node, uint8_t port, struct ib_port_info *to);
uint16_t sma_hardware_switch_info(const struct sma_node *node, struct ib_switch_info *to);

/* Port of an attribute modifier that names a port in bits 7:0 and has no other bit of others. */
uint16_t sma_port_of_modifier(const struct sma_call *call, uint32_t others, uint8_t *port);

/* -------------------------------------------------- fields of a Set */

/* Roles of ports, since IBTA's attributes have fields for some of them only: bits. */
enum sma_role {
	SMA_CA = 1 << 0,                                /* port of an HCA or a router */
	SMA_BASE_0 = 1 << 1,                            /* base switch port 0 */
	SMA_ENH_0 = 1 << 2,                             /* enhanced switch port 0 */
	SMA_EXTERN = 1 << 3,                            /* external switch port */
	SMA_LID_PORT = SMA_CA | SMA_BASE_0 | SMA_ENH_0, /* has a LID and an M_Key */
	SMA_LINK_PORT = SMA_CA | SMA_EXTERN,            /* has a link */
	SMA_LANE_PORT = SMA_LINK_PORT | SMA_ENH_0,      /* has virtual lanes */
	SMA_ANY_PORT = SMA_LID_PORT | SMA_EXTERN,
};

/* A Set of an attribute. */
struct sma_change {
	const struct sma_node *node;
	const void *now;    /* current attribute */
	const void *want;   /* attribute of the request */
	uint32_t cap_mask;  /* of the port with the LID */
	uint16_t cap_mask2; /* as cap_mask */
	enum sma_role role;
	bool extended_speeds; /* the subnet manager knows extended speeds */
};

/* A field that Set may change. All other fields keep their values. */
struct sma_field {
	uint32_t at;        /* SMA_AT() */
	unsigned int roles; /* enum sma_role */
	/* Makes the value to store of a requested value that differs from the current one. false:
	 * the request is refused. NULL: every value is stored. */
	bool (*choose)(const struct sma_change *change, uint32_t now, uint32_t *value);
};

#define SMA_AT(offset, width) ((offset) << 8 | (width))
/* Makes an enumerator NAME_at of each row of a list of bit fields. */
#define SMA_FIELD_AT(layout, field, offset, width, text) \
	layout##_##field##_at = SMA_AT(offset, width),
#define SMA_MEMBER_AT(layout, member) \
	SMA_AT(8 * offsetof(struct layout, member), 8 * sizeof(((struct layout *)0)->member))

/* Applies the fields of want to *next, a copy of now. Returns enum ib_mad_status. */
uint16_t sma_merge(const struct sma_change *change, const struct sma_field *fields, size_t count,
		   void *next);

/* --------------------------------------------------------- handlers */

uint16_t sma_get_port_info(struct sma_call *call);
uint16_t sma_set_port_info(struct sma_call *call);
uint16_t sma_get_notice(struct sma_call *call);
uint16_t sma_set_notice(struct sma_call *call);
uint16_t sma_get_switch_info(struct sma_call *call);
uint16_t sma_set_switch_info(struct sma_call *call);
/* Tables: Get and Set alike. */
uint16_t sma_guid_info(struct sma_call *call);
uint16_t sma_pkey_table(struct sma_call *call);
uint16_t sma_sl_to_vl(struct sma_call *call);
uint16_t sma_vl_arb(struct sma_call *call);
uint16_t sma_lft(struct sma_call *call);
uint16_t sma_mft(struct sma_call *call);
uint16_t sma_led_info(struct sma_call *call);
uint16_t sma_get_port_info_ext(struct sma_call *call);
uint16_t sma_set_port_info_ext(struct sma_call *call);

#endif
