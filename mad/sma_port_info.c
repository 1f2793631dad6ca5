/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PortInfo and PortInfoExtended of the subnet management agent: the members that Set may change,
 * and their valid values (IBTA 14.2.5.6). */
#include <string.h>

#include "mad/sma_private.h"

#define ALL_WIDTHS             255
#define ALL_SPEEDS             15
#define NO_EXT_SPEEDS          30
#define ALL_EXT_SPEEDS         31

enum { IB_PORT_INFO_BITS(SMA_FIELD_AT) };

/* ----------------------------------------------- values of the fields of a Set */

/* Bits of which each must be supported. 0: no change, all: all that are supported. */
static bool choose_subset(uint32_t supported, uint32_t all, uint32_t now, uint32_t *value)
{
	if (!*value)
		*value = now;
	else if (*value == all)
		*value = supported;
	else
		return !(*value & ~supported);
	return true;
}

static bool choose_width(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	return choose_subset(((const struct ib_port_info *)change->now)->link_width_supported,
			     ALL_WIDTHS, now, value);
}

static bool choose_speed(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	return choose_subset(ib_port_info_link_speed_supported(change->now), ALL_SPEEDS, now,
			     value);
}

static bool choose_ext_speed(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	if (!change->extended_speeds || !(change->cap_mask & IB_PORT_CAP_EXT_SPEEDS))
		*value = now;
	if (*value == now || *value == NO_EXT_SPEEDS)
		return true;
	return choose_subset(ib_port_info_link_speed_ext_supported(change->now), ALL_EXT_SPEEDS,
			     now, value);
}

static bool choose_lid(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)change;
	(void)now;
	return *value >= IB_LID_UNICAST_FIRST && *value <= IB_LID_UNICAST_LAST;
}

static bool choose_lmc(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)now;
	return !*value || change->role != SMA_BASE_0;
}

static bool choose_mtu(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)now;
	return *value >= IB_MTU_256 && *value <= ib_port_info_mtu_cap(change->now);
}

static bool choose_lanes(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	if (!*value)
		*value = now;
	return *value <= ib_port_info_vl_cap(change->now);
}

static bool choose_down_default(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)change;
	if (!*value)
		*value = now;
	return *value == now || *value == IB_PHYS_SLEEP || *value == IB_PHYS_POLLING;
}

/* A counter of violations is cleared by 0 and by nothing else. */
static bool choose_violations(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)change;
	if (*value)
		*value = now;
	return true;
}

static bool choose_reregister(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	(void)now;
	if (!(change->cap_mask & IB_PORT_CAP_CLIENT_REREG))
		*value = 0;
	return true;
}

static bool choose_trap_suppress(const struct sma_change *change, uint32_t now, uint32_t *value)
{
	if (!(change->cap_mask & IB_PORT_CAP_MCAST_PKEY_TRAP_SUPPRESS))
		*value = now;
	return true;
}

/* Members of PortInfo that Set changes, but for the M_Key's, GidPrefix, PortState and
 * PortPhysicalState. */
static const struct sma_field fields[] = {
	{ SMA_MEMBER_AT(ib_port_info, lid), SMA_LID_PORT, choose_lid },
	{ SMA_MEMBER_AT(ib_port_info, master_sm_lid), SMA_LID_PORT, choose_lid },
	{ SMA_MEMBER_AT(ib_port_info, link_width_enabled), SMA_LINK_PORT, choose_width },
	{ ib_port_info_link_down_default_at, SMA_LINK_PORT, choose_down_default },
	{ ib_port_info_lmc_at, SMA_LID_PORT, choose_lmc },
	{ ib_port_info_link_speed_enabled_at, SMA_LINK_PORT, choose_speed },
	{ ib_port_info_link_speed_ext_enabled_at, SMA_LINK_PORT, choose_ext_speed },
	{ ib_port_info_neighbor_mtu_at, SMA_LANE_PORT, choose_mtu },
	{ ib_port_info_master_sm_sl_at, SMA_LID_PORT, NULL },
	{ SMA_MEMBER_AT(ib_port_info, vl_high_limit), SMA_LANE_PORT, NULL },
	{ ib_port_info_init_type_reply_at, SMA_LID_PORT, NULL },
	{ ib_port_info_vl_stall_count_at, SMA_EXTERN, NULL },
	{ ib_port_info_hoq_life_at, SMA_LANE_PORT, NULL },
	{ ib_port_info_operational_vls_at, SMA_LANE_PORT, choose_lanes },
	{ ib_port_info_enforce_inbound_at, SMA_EXTERN, NULL },
	{ ib_port_info_enforce_outbound_at, SMA_EXTERN, NULL },
	{ ib_port_info_filter_raw_inbound_at, SMA_EXTERN, NULL },
	{ ib_port_info_filter_raw_outbound_at, SMA_EXTERN, NULL },
	{ SMA_MEMBER_AT(ib_port_info, pkey_violations), SMA_LID_PORT, choose_violations },
	{ SMA_MEMBER_AT(ib_port_info, qkey_violations), SMA_LID_PORT, choose_violations },
	{ ib_port_info_client_reregister_at, SMA_LID_PORT, choose_reregister },
	{ ib_port_info_mcast_pkey_trap_suppress_at, SMA_LID_PORT, choose_trap_suppress },
	{ ib_port_info_subnet_timeout_at, SMA_LID_PORT, NULL },
	{ ib_port_info_local_phy_errors_at, SMA_LINK_PORT, NULL },
	{ ib_port_info_overrun_errors_at, SMA_LINK_PORT, NULL },
};

/* ------------------------------------------------------- rules of several fields */

/* A port answers 2^LMC LIDs, of which the base LID has no LMC bit set and the last is still
 * unicast. */
static bool lid_range_is_good(const struct ib_port_info *info)
{
	uint32_t first = ib_be16_get(info->lid), count = 1u << ib_port_info_lmc(info);

	return !(first & (count - 1)) && first + count - 1 <= IB_LID_UNICAST_LAST;
}

/* IBTA 7.2.7: which transition of the port state a subnet manager may make. */
static bool may_go(uint32_t now, uint32_t to)
{
	switch (to) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return now == IB_PORT_INIT;
	case IB_PORT_ACTIVE:
		return now == IB_PORT_ARMED;
	default:
		return false;
	}
}

/* Puts the transitions that the request asks for into *next. */
static uint16_t merge_states(const struct sma_change *change, struct ib_port_info *next)
{
	uint32_t state = ib_port_info_port_state(change->want);
	uint32_t phys_state = ib_port_info_phys_state(change->want);

	if (!(change->role & SMA_LANE_PORT))
		state = IB_PORT_NOP;
	if (!(change->role & SMA_LINK_PORT))
		phys_state = IB_PHYS_NOP;
	if (!may_go(ib_port_info_port_state(change->now), state) || phys_state > IB_PHYS_DISABLED)
		return IB_MAD_STATUS_BAD_FIELD;
	if (phys_state != IB_PHYS_NOP && state != IB_PORT_NOP && state != IB_PORT_DOWN)
		return IB_MAD_STATUS_BAD_FIELD;
	ib_port_info_set_port_state(next, state);
	ib_port_info_set_phys_state(next, phys_state);
	return IB_MAD_STATUS_OK;
}

static uint16_t merge_port_info(const struct sma_change *change, struct ib_port_info *next)
{
	const struct ib_port_info *now = change->now, *want = change->want;
	uint16_t status = sma_merge(change, fields, sizeof(fields) / sizeof(*fields), next);

	if (status)
		return status;
	if (change->role & SMA_LID_PORT)
		next->gid_prefix = want->gid_prefix;
	if ((ib_be16_get(next->lid) != ib_be16_get(now->lid) ||
	     ib_port_info_lmc(next) != ib_port_info_lmc(now)) &&
	    !lid_range_is_good(next))
		return IB_MAD_STATUS_BAD_FIELD;
	return merge_states(change, next);
}

/* ------------------------------------------------------------- the agent's members */

static void clear_keys(struct ib_port_info *info)
{
	info->mkey = ib_be64_of(0);
	info->mkey_lease_period = ib_be16_of(0);
	info->mkey_violations = ib_be16_of(0);
	ib_port_info_set_mkey_protect(info, 0);
}

/* Fills in the members that the agent keeps. The M_Key is shown to a request that has it, and below
 * protection level 1. */
static void overlay(const struct sma_call *call, uint8_t port, struct ib_port_info *info)
{
	const struct sma_port *keeper = sma_keeper(call->node, port);
	bool set = call->in.method == IB_METHOD_SET;

	clear_keys(info);
	info->local_port_num = call->in_port;
	if (sma_is_switch(call->node) && port)
		return;
	if (set || !keeper->mkey_protect || ib_be64_get(call->in.mkey) == keeper->mkey)
		info->mkey = ib_be64_of(keeper->mkey);
	info->mkey_lease_period = ib_be16_of(keeper->mkey_lease_period);
	info->mkey_violations = ib_be16_of(keeper->mkey_violations);
	ib_port_info_set_mkey_protect(info, keeper->mkey_protect);
}

static void take_keys(struct sma_port *keeper, const struct ib_port_info *want)
{
	keeper->mkey = ib_be64_get(want->mkey);
	keeper->mkey_protect = (uint8_t)ib_port_info_mkey_protect(want);
	keeper->mkey_lease_period = ib_be16_get(want->mkey_lease_period);
	if (!ib_be16_get(want->mkey_violations))
		keeper->mkey_violations = 0;
}

/* ------------------------------------------------------------------------ PortInfo */

static uint16_t role_of(const struct sma_node *node, uint8_t port, enum sma_role *role)
{
	struct ib_switch_info info;
	uint16_t status;

	*role = sma_is_switch(node) ? SMA_EXTERN : SMA_CA;
	if (port || !sma_is_switch(node))
		return IB_MAD_STATUS_OK;
	status = sma_hardware_switch_info(node, &info);
	*role = ib_switch_info_enhanced_port0(&info) ? SMA_ENH_0 : SMA_BASE_0;
	return status;
}

uint16_t sma_get_port_info(struct sma_call *call)
{
	struct ib_port_info info;
	uint8_t port;
	uint16_t status = sma_port_of_modifier(call, IB_PORT_INFO_MOD_EXT_SPEEDS, &port);

	if (!status)
		status = sma_hardware_port_info(call->node, port, &info);
	if (status)
		return status;
	overlay(call, port, &info);
	memcpy(call->data, &info, sizeof(info));
	return IB_MAD_STATUS_OK;
}

/* Describes a Set of a port, whose current PortInfo goes to *now. */
static uint16_t prepare(const struct sma_call *call, uint8_t port, struct ib_port_info *now,
			struct sma_change *change)
{
	struct ib_port_info base = { 0 };
	uint16_t status = sma_hardware_port_info(call->node, port, now);

	if (!status)
		status = sma_hardware_port_info(call->node, sma_is_switch(call->node) ? 0 : port,
						&base);
	*change = (struct sma_change){
		.node = call->node,
		.now = now,
		.want = call->in.data,
		.extended_speeds = call->attr_mod & IB_PORT_INFO_MOD_EXT_SPEEDS,
	};
	if (status)
		return status;
	change->cap_mask = ib_be32_get(base.cap_mask);
	change->cap_mask2 = ib_be16_get(base.cap_mask2);
	return role_of(call->node, port, &change->role);
}

uint16_t sma_set_port_info(struct sma_call *call)
{
	const struct ib_port_info *want = (const struct ib_port_info *)call->in.data;
	struct ib_port_info now, next;
	struct sma_change change;
	uint8_t port;
	uint16_t status = sma_port_of_modifier(call, IB_PORT_INFO_MOD_EXT_SPEEDS, &port);

	if (!status)
		status = prepare(call, port, &now, &change);
	if (status)
		return status;
	next = now;
	clear_keys(&next);
	status = merge_port_info(&change, &next);
	if (!status)
		status = sma_hardware(call->node, port, IB_METHOD_SET, IB_SMP_PORT_INFO, port,
				      &next);
	if (!status && change.role & SMA_LID_PORT)
		take_keys(sma_keeper(call->node, port), want);
	if (status)
		next = now; /* a refused Set is answered with the values that stay */
	overlay(call, port, &next);
	if (!status && change.cap_mask & IB_PORT_CAP_CLIENT_REREG && change.role & SMA_LID_PORT)
		ib_port_info_set_client_reregister(&next, ib_port_info_client_reregister(want));
	memcpy(call->data, &next, sizeof(next));
	return status;
}

/* ---------------------------------------------------------------- PortInfoExtended */

/* FEC modes that are enabled must be supported. */
#define FEC_CHOICE(name)                                                               \
	static bool choose_##name##_fec(const struct sma_change *change, uint32_t now, \
					uint32_t *value)                               \
	{                                                                              \
		const struct ib_port_info_ext *info = change->now;                     \
                                                                                       \
		(void)now;                                                             \
		return !(*value & ~(uint32_t)ib_be16_get(info->name##_fec_supported)); \
	}
FEC_CHOICE(fdr)
FEC_CHOICE(edr)
FEC_CHOICE(hdr)
FEC_CHOICE(ndr)

static const struct sma_field ext_fields[] = {
	{ SMA_MEMBER_AT(ib_port_info_ext, fdr_fec_enabled), SMA_LINK_PORT, choose_fdr_fec },
	{ SMA_MEMBER_AT(ib_port_info_ext, edr_fec_enabled), SMA_LINK_PORT, choose_edr_fec },
	{ SMA_MEMBER_AT(ib_port_info_ext, hdr_fec_enabled), SMA_LINK_PORT, choose_hdr_fec },
	{ SMA_MEMBER_AT(ib_port_info_ext, ndr_fec_enabled), SMA_LINK_PORT, choose_ndr_fec },
};

uint16_t sma_get_port_info_ext(struct sma_call *call)
{
	uint8_t port;
	uint16_t status = sma_port_of_modifier(call, 0, &port);

	if (status)
		return status;
	return sma_hardware(call->node, port, IB_METHOD_GET, IB_SMP_PORT_INFO_EXT, port,
			    call->data);
}

uint16_t sma_set_port_info_ext(struct sma_call *call)
{
	struct ib_port_info_ext now = { 0 }, next;
	struct sma_change change = { .node = call->node, .now = &now, .want = call->in.data };
	uint8_t port;
	uint16_t status = sma_port_of_modifier(call, 0, &port);

	if (!status)
		status = sma_hardware(call->node, port, IB_METHOD_GET, IB_SMP_PORT_INFO_EXT, port,
				      &now);
	if (!status)
		status = role_of(call->node, port, &change.role);
	if (status)
		return status;
	next = now;
	status = sma_merge(&change, ext_fields, sizeof(ext_fields) / sizeof(*ext_fields), &next);
	if (!status)
		status = sma_hardware(call->node, port, IB_METHOD_SET, IB_SMP_PORT_INFO_EXT, port,
				      &next);
	memcpy(call->data, status ? &now : &next, sizeof(now));
	return status;
}
