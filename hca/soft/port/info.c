/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The attributes of a port that subnet management reads and sets (IBTA 14.2.5), and what a Set
 * changes. Addresses and states are in port.c.
 */
#include "hca/soft/port/info.h"

#include <string.h>

#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

#define ALL_WIDTHS (IB_WIDTH_1X | IB_WIDTH_4X)
#define ALL_SPEEDS 7  /* SDR, DDR and QDR */
#define EXT_SHIFT  4  /* an ib_speed from FDR on, shifted: the code in LinkSpeedExtActive */
#define THRESHOLD  8  /* LocalPhyErrors and OverrunErrors: as OpenSM sets them */
#define TIMEOUT    18 /* 4.096 us * 2^18: about one second */

static ib_mtu mtu_code(uint32_t bytes)
{
	unsigned int code;

	for (code = IB_MTU_256; ib_mtu_bytes(code) < bytes; code++)
		;
	return (ib_mtu)code;
}

/* Sets width and speed of the link, and as supported all that are not above those. */
static void set_rate(struct ib_port_info *info, uint8_t width, uint8_t speed)
{
	const uint32_t ext = speed >= IB_SPEED_FDR ? speed >> EXT_SHIFT : 0;
	const uint32_t ext_supported = ext ? (ext << 1) - 1 : 0;

	info->link_width_supported = width | ALL_WIDTHS;
	info->link_width_enabled = info->link_width_supported;
	info->link_width_active = width;
	ib_port_info_set_link_speed_supported(info, ALL_SPEEDS);
	ib_port_info_set_link_speed_enabled(info, ALL_SPEEDS);
	ib_port_info_set_link_speed_active(info, speed >= IB_SPEED_QDR ? IB_SPEED_QDR : speed);
	ib_port_info_set_link_speed_ext_supported(info, ext_supported);
	ib_port_info_set_link_speed_ext_enabled(info, ext_supported);
	ib_port_info_set_link_speed_ext_active(info, ext);
}

void port_info_init(struct soft_port *port, uint32_t mtu)
{
	struct ib_port_info *info = &port->regs.info;

	info->local_port_num = port->number;
	set_rate(info, port->width ? port->width : IB_WIDTH_4X,
		 port->speed ? port->speed : IB_SPEED_EDR);
	ib_port_info_set_link_down_default(info, IB_PHYS_POLLING);
	ib_port_info_set_mtu_cap(info, mtu_code(mtu));
	ib_port_info_set_neighbor_mtu(info, mtu_code(mtu));
	ib_port_info_set_vl_cap(info, LANES_CAP_CODE);
	ib_port_info_set_operational_vls(info, LANES_CAP_CODE);
	info->vl_arb_high_cap = LANE_WEIGHTS;
	info->vl_arb_low_cap = LANE_WEIGHTS;
	ib_port_info_set_local_phy_errors(info, THRESHOLD);
	ib_port_info_set_overrun_errors(info, THRESHOLD);
	lanes_init(&port->lanes);
	lanes_set_info(&port->lanes, info);
	if (!port_is_external(port)) { /* what a port with a LID has */
		ib_port_info_set_subnet_timeout(info, TIMEOUT);
		ib_port_info_set_resp_time_value(info, TIMEOUT);
		info->guid_cap = SOFT_MAX_GIDS;
	}
}

static ib_be16 clamp16(uint64_t value)
{
	return ib_be16_of(value > UINT16_MAX ? UINT16_MAX : (uint16_t)value);
}

static uint64_t count_of(const struct soft_port *port, enum port_counter counter)
{
	return atomic_load_explicit(&port->count[counter], memory_order_relaxed);
}

void port_info_read(struct soft_port *port, struct ib_port_info *info)
{
	const struct port_lids lids = port_lids(port);

	port_lock();
	*info = port->regs.info;
	ib_port_info_set_port_state(info, port_state(port));
	ib_port_info_set_phys_state(info, port_phys_state(port));
	port_unlock();
	info->gid_prefix = ib_be64_of(atomic_load_explicit(&port->prefix, memory_order_relaxed));
	info->lid = ib_be16_of(lids.base);
	ib_port_info_set_lmc(info, lids.lmc);
	info->cap_mask = ib_be32_of(atomic_load_explicit(&port->cap_mask, memory_order_relaxed));
	info->pkey_violations = clamp16(count_of(port, CNT_BAD_PKEY));
	info->qkey_violations = clamp16(count_of(port, CNT_BAD_QKEY));
}

/* Copies a byte, or a bit field, from a Set to the registers. A Set of 0 leaves a "no change if 0"
 * field as it is. */
#define COPY(field)               (to->field = from->field)
#define COPY_BITS(field)          ib_port_info_set_##field(to, ib_port_info_##field(from))
#define COPY_UNLESS_0(field)      (from->field ? (void)(to->field = from->field) : (void)0)
#define COPY_BITS_UNLESS_0(field) (ib_port_info_##field(from) ? COPY_BITS(field) : (void)0)

/* Writes the registers that have no effect of their own. True: the subnet manager's address has
 * changed. */
static bool write_registers(struct ib_port_info *to, const struct ib_port_info *from)
{
	bool moved = ib_be16_get(to->master_sm_lid) != ib_be16_get(from->master_sm_lid) ||
		     ib_port_info_master_sm_sl(to) != ib_port_info_master_sm_sl(from);

	COPY(master_sm_lid);
	COPY_BITS(master_sm_sl);
	COPY_BITS(neighbor_mtu);
	COPY_BITS(init_type_reply);
	COPY_BITS(vl_stall_count);
	COPY_BITS(hoq_life);
	COPY_BITS(mcast_pkey_trap_suppress);
	COPY_BITS(subnet_timeout);
	COPY_BITS(enforce_inbound);
	COPY_BITS(enforce_outbound);
	COPY_BITS(filter_raw_inbound);
	COPY_BITS(filter_raw_outbound);
	COPY(vl_high_limit);
	COPY(thresholds);
	COPY_UNLESS_0(link_width_enabled);
	COPY_BITS_UNLESS_0(link_speed_enabled);
	COPY_BITS_UNLESS_0(link_speed_ext_enabled);
	COPY_BITS_UNLESS_0(link_down_default);
	COPY_BITS_UNLESS_0(operational_vls);
	return moved;
}

/* Agents of the port's own tell the Access Layer of changes themselves. */
static enum port_tell teller(const struct soft_port *port)
{
	return port->ports->own ? PORT_QUIET : PORT_TELLS;
}

/* Lets the port's own agents, if any, tell the Access Layer of the Set that they execute. */
static void carried_out(struct soft_port *port)
{
	if (port->ports->own)
		port->ports->own->carried_out(port);
}

/* Tells of a Set(PortInfo). moved: the subnet manager's address has changed. */
static void tell_of_set(struct soft_port *port, const struct ib_port_info *from, bool moved)
{
	carried_out(port);
	if (teller(port) == PORT_QUIET)
		return;
	if (moved)
		port_raise(port, IB_EVENT_SM_CHANGE);
	if (ib_port_info_client_reregister(from))
		port_raise(port, IB_EVENT_CLIENT_REREGISTER);
}

/* Makes what the registers say of P_Key enforcement hold for the packets from now on. Under
 * ports_lock. (After a reboot the first Set, without which no data pass, clears it.) */
static void set_enforcement(struct soft_port *port)
{
	const struct ib_port_info *info = &port->regs.info;

	atomic_store_explicit(&port->enforce,
			      (ib_port_info_enforce_inbound(info) ? ENFORCE_IN : 0) |
				      (ib_port_info_enforce_outbound(info) ? ENFORCE_OUT : 0),
			      memory_order_relaxed);
}

/* What a Set changes is told before the step of the port's state that the same Set asks for. */
static uint16_t write_port_info(struct soft_port *port, const struct ib_port_info *from)
{
	const enum port_tell tell = teller(port);
	bool moved;

	port_set_prefix(port, ib_be64_get(from->gid_prefix), tell);
	port_set_lids(port, ib_be16_get(from->lid), (uint8_t)ib_port_info_lmc(from), tell);
	port_lock();
	moved = write_registers(&port->regs.info, from);
	set_enforcement(port);
	lanes_set_info(&port->lanes, &port->regs.info);
	port_unlock();
	atomic_store(&port->count[CNT_BAD_PKEY], ib_be16_get(from->pkey_violations));
	atomic_store(&port->count[CNT_BAD_QKEY], ib_be16_get(from->qkey_violations));
	tell_of_set(port, from, moved);
	return port_set_state(port, (ib_phys_state)ib_port_info_phys_state(from),
			      (ib_port_state)ib_port_info_port_state(from))
		       ? IB_MAD_STATUS_OK
		       : IB_MAD_STATUS_BAD_FIELD;
}

static uint16_t port_info_attr(struct soft_port *port, uint32_t attr_mod, bool set, uint8_t *data)
{
	struct ib_port_info info;
	uint16_t status = IB_MAD_STATUS_OK;

	(void)attr_mod; /* the Access Layer has found the port by the modifier */
	if (set) {
		memcpy(&info, data, sizeof(info));
		status = write_port_info(port, &info);
	}
	port_info_read(port, &info);
	memcpy(data, &info, sizeof(info));
	return status;
}

static uint16_t pkey_attr(struct soft_port *port, uint32_t attr_mod, bool set, uint8_t *data)
{
	struct ib_pkey_table table;
	uint16_t pkeys[SOFT_MAX_PKEYS];
	uint32_t i;

	_Static_assert(sizeof(table.pkey) / sizeof(*table.pkey) == SOFT_MAX_PKEYS,
		       "the table is one block");
	if (attr_mod & 0xffff)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(&table, data, sizeof(table));
	for (i = 0; i < SOFT_MAX_PKEYS; i++)
		pkeys[i] = ib_be16_get(table.pkey[i]);
	if (set)
		port_set_pkeys(port, 0, SOFT_MAX_PKEYS, pkeys, teller(port));
	if (set)
		carried_out(port);
	for (i = 0; i < SOFT_MAX_PKEYS; i++)
		table.pkey[i] = ib_be16_of(port_pkey(port, i));
	memcpy(data, &table, sizeof(table));
	return IB_MAD_STATUS_OK;
}

static uint16_t guid_attr(struct soft_port *port, uint32_t attr_mod, bool set, uint8_t *data)
{
	struct ib_guid_info table;
	ib_gid gid;
	uint32_t i;

	_Static_assert(sizeof(table.guid) / sizeof(*table.guid) == SOFT_MAX_GIDS,
		       "the table is one block");
	if (attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(&table, data, sizeof(table));
	for (i = 1; set && i < SOFT_MAX_GIDS; i++) /* entry 0, the port GUID, is read only */
		port_set_guid(port, i, ib_be64_get(table.guid[i]), teller(port));
	if (set)
		carried_out(port);
	for (i = 0; i < SOFT_MAX_GIDS; i++) {
		gid = port_gid(port, i);
		memcpy(&table.guid[i], gid.raw + 8, sizeof(table.guid[i]));
	}
	memcpy(data, &table, sizeof(table));
	return IB_MAD_STATUS_OK;
}

/* Reads or writes a register that has no effect of its own. */
static uint16_t plain_attr(void *reg, size_t size, bool set, uint8_t *data)
{
	port_lock();
	if (set)
		memcpy(reg, data, size);
	else
		memcpy(data, reg, size);
	port_unlock();
	return IB_MAD_STATUS_OK;
}

static uint16_t sl_to_vl_attr(struct soft_port *port, uint32_t attr_mod, bool set, uint8_t *data)
{
	ib_be64 table;

	(void)attr_mod;
	memcpy(&table, data, sizeof(table));
	if (set)
		atomic_store_explicit(&port->lanes.of_sl, ib_be64_get(table), memory_order_relaxed);
	table = ib_be64_of(atomic_load_explicit(&port->lanes.of_sl, memory_order_relaxed));
	memcpy(data, &table, sizeof(table));
	return IB_MAD_STATUS_OK;
}

static uint16_t vl_arb_attr(struct soft_port *port, uint32_t attr_mod, bool set, uint8_t *data)
{
	return lanes_weights_attr(&port->lanes, attr_mod >> 16, set, data)
		       ? IB_MAD_STATUS_OK
		       : IB_MAD_STATUS_BAD_FIELD;
}

static uint16_t led_attr(struct soft_port *port, uint32_t attr_mod, bool set, uint8_t *data)
{
	(void)attr_mod;
	return plain_attr(&port->regs.led, sizeof(port->regs.led), set, data);
}

uint16_t port_attr(struct soft_port *port, uint16_t attr_id, uint32_t attr_mod, bool set,
		   uint8_t *data)
{
	static const struct {
		uint16_t id;
		uint16_t (*attr)(struct soft_port *port, uint32_t attr_mod, bool set,
				 uint8_t *data);
	} attrs[] = {
		{ IB_SMP_PORT_INFO, port_info_attr }, { IB_SMP_PKEY_TABLE, pkey_attr },
		{ IB_SMP_GUID_INFO, guid_attr },      { IB_SMP_SL_TO_VL, sl_to_vl_attr },
		{ IB_SMP_VL_ARB, vl_arb_attr },       { IB_SMP_LED_INFO, led_attr },
	};
	size_t i;

	for (i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		if (attrs[i].id == attr_id)
			return attrs[i].attr(port, attr_mod, set, data);
	return IB_MAD_STATUS_BAD_METHOD_ATTR;
}
