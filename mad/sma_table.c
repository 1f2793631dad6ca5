/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SwitchInfo and the tables of the subnet management agent: attribute modifiers and capacities. The
 * hardware has the values. */
#include <string.h>

#include "mad/sma_private.h"

enum { IB_SWITCH_INFO_BITS(SMA_FIELD_AT) };

/* ---------------------------------------------------------------------- blocks */

/* Clears the entries of a block from the table's capacity on. */
static void clear_beyond(void *data, uint32_t first, uint32_t capacity, size_t entry_bytes)
{
	size_t count = IB_SMP_DATA_BYTES / entry_bytes;
	size_t good = capacity > first ? capacity - first : 0;

	if (good < count)
		memset((uint8_t *)data + good * entry_bytes, 0, (count - good) * entry_bytes);
}

/* Get or Set of a block of a table of capacity entries, of which the block's first one is given. */
static uint16_t serve_block(struct sma_call *call, uint8_t port, uint32_t attr_mod, uint32_t first,
			    uint32_t capacity, size_t entry_bytes)
{
	uint16_t status;

	if (first >= capacity)
		return IB_MAD_STATUS_BAD_FIELD;
	clear_beyond(call->data, first, capacity, entry_bytes);
	status = sma_hardware(call->node, port, (ib_mad_method)call->in.method,
			      (ib_smp_attr)ib_be16_get(call->in.attr_id), attr_mod, call->data);
	if (!status)
		clear_beyond(call->data, first, capacity, entry_bytes);
	return status;
}

/* ------------------------------------------------------------------- SwitchInfo */

static bool choose_linear_top(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)now;
	return *value < ib_be16_get(((const struct ib_switch_info *)change->now)->linear_fdb_cap);
}

/* 255 and other ports that the switch lacks mean that the packet is dropped. IBTA names 255 only.
 */
static bool choose_default_port(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)now;
	return *value <= change->node->num_ports || *value == 255;
}

/* 0: the whole table is valid; one below the first multicast LID: no entry is. */
static bool choose_mcast_top(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	const struct ib_switch_info *info = change->now;

	if (!(change->cap_mask & IB_PORT_CAP_MCAST_FDB_TOP))
		*value = now;
	if (*value == now || !*value)
		return true;
	return *value >= IB_LID_UNICAST_LAST &&
	       *value <= IB_LID_UNICAST_LAST + (uint32_t)ib_be16_get(info->mcast_fdb_cap);
}

static const struct sma_field switch_fields[] = {
	{ SMA_MEMBER_AT(ib_switch_info, linear_fdb_top), SMA_ANY_PORT, choose_linear_top },
	{ SMA_MEMBER_AT(ib_switch_info, default_port), SMA_ANY_PORT, choose_default_port },
	{ SMA_MEMBER_AT(ib_switch_info, default_mcast_primary), SMA_ANY_PORT, choose_default_port },
	{ SMA_MEMBER_AT(ib_switch_info, default_mcast_not_primary), SMA_ANY_PORT,
	  choose_default_port },
	{ ib_switch_info_life_time_at, SMA_ANY_PORT, NULL },
	{ ib_switch_info_state_change_at, SMA_ANY_PORT, NULL },
	{ SMA_MEMBER_AT(ib_switch_info, mcast_fdb_top), SMA_ANY_PORT, choose_mcast_top },
};

uint16_t sma_get_switch_info(struct sma_call *call)
{
	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	return sma_hardware(call->node, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, call->data);
}

uint16_t sma_set_switch_info(struct sma_call *call)
{
	uint8_t now[IB_SMP_DATA_BYTES] = { 0 }, next[IB_SMP_DATA_BYTES];
	struct sma_change change = {
		.node = call->node, .now = now, .want = call->in.data, .role = SMA_BASE_0
	};
	struct ib_port_info port_info;
	uint16_t status;

	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	status = sma_hardware_port_info(call->node, 0, &port_info);
	if (!status)
		status = sma_hardware(call->node, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, now);
	if (status)
		return status;
	change.cap_mask = ib_be32_get(port_info.cap_mask);
	memcpy(next, now, sizeof(next));
	status = sma_merge(&change, switch_fields, sizeof(switch_fields) / sizeof(*switch_fields),
			   next);
	if (!status)
		status = sma_hardware(call->node, 0, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, next);
	memcpy(call->data, status ? now : next, sizeof(now));
	return status;
}

/* ----------------------------------------------------------------- per-port tables */

uint16_t sma_guid_info(struct sma_call *call)
{
	uint8_t port = sma_is_switch(call->node) ? 0 : call->in_port;
	struct ib_guid_info *block = (struct ib_guid_info *)call->data;
	struct ib_port_info info;
	uint16_t status = sma_hardware_port_info(call->node, port, &info);

	if (status)
		return status;
	if (call->attr_mod > UINT8_MAX)
		return IB_MAD_STATUS_BAD_FIELD;
	if (!call->attr_mod) /* the port GUID is read-only */
		block->guid[0] = ib_be64_of(sma_keeper(call->node, port)->guid);
	return serve_block(call, port, call->attr_mod, call->attr_mod * 8, info.guid_cap,
			   sizeof(block->guid[0]));
}

/* Port in the upper half of an attribute modifier, which on an HCA is reserved. */
static uint16_t upper_port(const struct sma_call *call, uint8_t *port)
{
	uint32_t value = call->attr_mod >> 16;

	*port = call->in_port;
	if (!sma_is_switch(call->node))
		return IB_MAD_STATUS_OK;
	if (value > call->node->num_ports)
		return IB_MAD_STATUS_BAD_FIELD;
	*port = (uint8_t)value;
	return IB_MAD_STATUS_OK;
}

uint16_t sma_pkey_table(struct sma_call *call)
{
	uint32_t block = call->attr_mod & 0xffff, capacity = call->node->partition_cap;
	struct ib_switch_info info;
	uint8_t port;
	uint16_t status = upper_port(call, &port);

	if (status)
		return status;
	if (sma_is_switch(call->node) && port) {
		status = sma_hardware_switch_info(call->node, &info);
		if (status)
			return status;
		capacity = ib_be16_get(info.enforcement_cap);
	}
	return serve_block(call, port,
			   sma_is_switch(call->node) ? (uint32_t)port << 16 | block : block,
			   block * 32, capacity, sizeof(ib_be16));
}

/* On an HCA the attribute modifier is reserved; on a switch it has the input and the output port.
 */
uint16_t sma_sl_to_vl(struct sma_call *call)
{
	uint32_t in_port = call->attr_mod >> 8, out_port = call->attr_mod & 0xff;

	if (!sma_is_switch(call->node))
		return serve_block(call, call->in_port, 0, 0, 16 / 2, 1);
	if (in_port > call->node->num_ports || out_port > call->node->num_ports)
		return IB_MAD_STATUS_BAD_FIELD;
	return serve_block(call, (uint8_t)out_port, call->attr_mod, 0, 16 / 2, 1);
}

/* Capacity and first entry of a part of the arbitration table. */
static uint32_t arb_capacity(const struct ib_port_info *info, uint32_t part, uint32_t *first)
{
	*first = part == IB_VL_ARB_LOW_2 || part == IB_VL_ARB_HIGH_2 ? 32 : 0;
	if (part < IB_VL_ARB_LOW_1 || part > IB_VL_ARB_HIGH_2)
		return 0;
	return part <= IB_VL_ARB_LOW_2 ? info->vl_arb_low_cap : info->vl_arb_high_cap;
}

uint16_t sma_vl_arb(struct sma_call *call)
{
	uint32_t part = call->attr_mod >> 16, low = call->attr_mod & 0xffff, first, capacity;
	struct ib_vl_arb_table *table = (struct ib_vl_arb_table *)call->data;
	uint8_t port = sma_is_switch(call->node) ? (uint8_t)low : call->in_port;
	struct ib_port_info info;
	uint16_t status;

	if (sma_is_switch(call->node) && low > call->node->num_ports)
		return IB_MAD_STATUS_BAD_FIELD;
	status = sma_hardware_port_info(call->node, port, &info);
	if (status)
		return status;
	for (size_t i = 0; i < 32; i++) /* the upper half is reserved */
		table->entry[i].vl &= 0x0f;
	capacity = arb_capacity(&info, part, &first);
	return serve_block(call, port, part << 16 | (sma_is_switch(call->node) ? port : 0), first,
			   capacity, sizeof(table->entry[0]));
}

uint16_t sma_led_info(struct sma_call *call)
{
	struct ib_led_info *info = (struct ib_led_info *)call->data;
	uint8_t port;
	uint16_t status = sma_port_of_modifier(call, 0, &port);
	bool on = ib_led_info_on(info);

	if (status)
		return status;
	memset(call->data, 0, sizeof(call->data));
	ib_led_info_set_on(info, on);
	return sma_hardware(call->node, port, (ib_mad_method)call->in.method, IB_SMP_LED_INFO, port,
			    call->data);
}

/* -------------------------------------------------------------- forwarding tables */

uint16_t sma_lft(struct sma_call *call)
{
	struct ib_switch_info info;
	uint16_t status = sma_hardware_switch_info(call->node, &info);

	if (status)
		return status;
	if (call->attr_mod > UINT16_MAX)
		return IB_MAD_STATUS_BAD_FIELD;
	return serve_block(call, 0, call->attr_mod, call->attr_mod * 64,
			   ib_be16_get(info.linear_fdb_cap), 1);
}

uint16_t sma_mft(struct sma_call *call)
{
	uint32_t block = call->attr_mod & 0x1ff, position = call->attr_mod >> 28;
	struct ib_switch_info info;
	uint16_t status = sma_hardware_switch_info(call->node, &info);

	if (status)
		return status;
	if (position * 16 > call->node->num_ports)
		return IB_MAD_STATUS_BAD_FIELD;
	return serve_block(call, 0, position << 28 | block, block * 32,
			   ib_be16_get(info.mcast_fdb_cap), sizeof(ib_be16));
}
