/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PortInfo in words (port_info.h). A value that IBTA does not define is shown as its number. */
#include "al/tools/port_info.h"

#include <string.h>

/* ------------------------------------------------------------------- names of bits */

struct bit_name {
	guint bit; /* a mask of one bit */
	const char *text;
};

static const struct bit_name capabilities[] = {
	{ IB_PORT_CAP_SM, "subnet manager" },
	{ IB_PORT_CAP_NOTICE, "notices" },
	{ IB_PORT_CAP_TRAP, "traps" },
	{ IB_PORT_CAP_OPTIONAL_IPD, "optional inter-packet delays" },
	{ IB_PORT_CAP_APM, "automatic path migration" },
	{ IB_PORT_CAP_SL_MAP, "SL to VL mapping" },
	{ IB_PORT_CAP_MKEY_NVRAM, "M_Key in NVRAM" },
	{ IB_PORT_CAP_PKEY_NVRAM, "P_Keys in NVRAM" },
	{ IB_PORT_CAP_LED_INFO, "LED" },
	{ IB_PORT_CAP_SM_DISABLED, "subnet manager disabled" },
	{ IB_PORT_CAP_SYS_IMAGE_GUID, "system image GUID" },
	{ IB_PORT_CAP_SWITCH_PKEY_TRAP, "P_Key trap of switch ports" },
	{ IB_PORT_CAP_EXT_SPEEDS, "extended speeds" },
	{ IB_PORT_CAP_CAP_MASK2, "second capability mask" },
	{ IB_PORT_CAP_CM, "communication management" },
	{ IB_PORT_CAP_SNMP_TUNNEL, "SNMP tunneling" },
	{ IB_PORT_CAP_REINIT, "reinitialisation" },
	{ IB_PORT_CAP_DEVICE_MGMT, "device management" },
	{ IB_PORT_CAP_VENDOR_CLASS, "vendor class" },
	{ IB_PORT_CAP_DR_NOTICE, "notices of directed routes" },
	{ IB_PORT_CAP_CAP_MASK_NOTICE, "notice of capability changes" },
	{ IB_PORT_CAP_BOOT_MGMT, "boot management" },
	{ IB_PORT_CAP_LINK_LATENCY, "link latency" },
	{ IB_PORT_CAP_CLIENT_REREG, "client reregistration" },
	{ IB_PORT_CAP_OTHER_CHANGES_NOTICE, "notice of other changes" },
	{ IB_PORT_CAP_MCAST_PKEY_TRAP_SUPPRESS, "suppression of multicast P_Key traps" },
	{ IB_PORT_CAP_MCAST_FDB_TOP, "top of the multicast forwarding table" },
};

static const struct bit_name capabilities2[] = {
	{ IB_PORT_CAP2_SET_NODE_DESC, "Set(NodeDescription)" },
	{ IB_PORT_CAP2_PORT_INFO_EXT, "PortInfoExtended" },
	{ IB_PORT_CAP2_VIRTUALIZATION, "virtual ports" },
	{ IB_PORT_CAP2_SWITCH_PORT_STATE_TABLE, "SwitchPortStateTable" },
	{ IB_PORT_CAP2_LINK_WIDTH_2X, "width 2X" },
	{ IB_PORT_CAP2_LINK_SPEED_HDR, "speed HDR" },
	{ IB_PORT_CAP2_LINK_SPEED_NDR, "speed NDR" },
};

static const struct bit_name widths[] = {
#define BIT_NAME(name, value, text) { value, text },
	IB_WIDTH_LIST(BIT_NAME)
};

static const struct bit_name speeds[] = { IB_SPEED_LIST(BIT_NAME) };

/* PortInfo.InitType and InitTypeReply, IBTA 14.2.5.6. */
static const struct bit_name init_types[] = {
	{ 1, "no load" },
	{ 2, "preserve content" },
	{ 4, "preserve presence" },
	{ 8, "do not resuscitate" },
};

static void add_bits(JsonObject *to, const char *name, guint value, const struct bit_name *names,
		     gsize count)
{
	JsonArray *list = json_array_new();

	for (gsize i = 0; i < count; i++)
		if (value & names[i].bit) {
			json_array_add_string_element(list, names[i].text);
			value &= ~names[i].bit;
		}
	for (guint bit = 0; bit < 32; bit++)
		if (value >> bit & 1) {
			g_autofree char *text = g_strdup_printf("bit %u", bit);

			json_array_add_string_element(list, text);
		}
	json_object_set_array_member(to, name, list);
}

#define ADD_BITS(to, name, value, names) add_bits(to, name, value, names, G_N_ELEMENTS(names))

/* ------------------------------------------------------------------ names of values */

/* The name of a value, or its number. */
static void add_name(JsonObject *to, const char *name, guint value, const char *const *names,
		     gsize count)
{
	g_autofree char *number = g_strdup_printf("%u", value);

	json_object_set_string_member(to, name,
				      value < count && names[value] ? names[value] : number);
}

#define ADD_NAME(to, name, value, names) add_name(to, name, value, names, G_N_ELEMENTS(names))

static const char *const mkey_protection[] = {
	"Set needs the M_Key; Get shows it",
	"Set needs the M_Key; Get hides it",
	"Get and Set need the M_Key",
	"Get and Set need the M_Key",
};

static const char *const lanes[] = { "none", "VL0", "VL0-1", "VL0-3", "VL0-7", "VL0-14" };
static const char *const down_defaults[] = { "NoChange", "Sleep", "Polling" };

static const char *const port_states[] = {
#define VALUE_NAME(name, value, text) [value] = text,
	IB_PORT_STATE_LIST(VALUE_NAME)
};

static const char *const phys_states[] = { IB_PHYS_STATE_LIST(VALUE_NAME) };

/* --------------------------------------------------------------------- the fields */

/* 4.096 us * 2^n */
static void add_time(JsonObject *to, const char *name, guint exponent)
{
	json_object_set_int_member(to, name, (gint64)4096 << exponent);
}

static guint speeds_of(guint base, guint extended)
{
	/* IB_SPEED_FDR is the first of the extended speeds. */
	return base | (extended & 0xf) * IB_SPEED_FDR;
}

static void add_link(JsonObject *to, const struct ib_port_info *info)
{
	guint base = ib_port_info_link_speed_enabled(info),
	      extended = ib_port_info_link_speed_ext_enabled(info);
	guint width = info->link_width_enabled;

	ADD_BITS(to, "link_width_enabled", width == 255 ? info->link_width_supported : width,
		 widths);
	ADD_BITS(to, "link_width_supported", info->link_width_supported, widths);
	ADD_BITS(to, "link_width_active", info->link_width_active, widths);
	/* 15, 31 and 30 are no bits: all that is supported, and none. */
	base = base == 15 ? ib_port_info_link_speed_supported(info) : base;
	extended = extended == 31   ? ib_port_info_link_speed_ext_supported(info)
		   : extended == 30 ? 0
				    : extended;
	ADD_BITS(to, "link_speed_enabled", speeds_of(base, extended), speeds);
	ADD_BITS(to, "link_speed_supported",
		 speeds_of(ib_port_info_link_speed_supported(info),
			   ib_port_info_link_speed_ext_supported(info)),
		 speeds);
	extended = ib_port_info_link_speed_ext_active(info);
	ADD_BITS(to, "link_speed_active",
		 extended ? speeds_of(0, extended) : ib_port_info_link_speed_active(info), speeds);
}

static void add_lanes(JsonObject *to, const struct ib_port_info *info)
{
	ADD_NAME(to, "vl_cap", ib_port_info_vl_cap(info), lanes);
	ADD_NAME(to, "operational_vls", ib_port_info_operational_vls(info), lanes);
	json_object_set_int_member(to, "vl_high_limit", info->vl_high_limit);
	json_object_set_int_member(to, "vl_arb_high_cap", info->vl_arb_high_cap);
	json_object_set_int_member(to, "vl_arb_low_cap", info->vl_arb_low_cap);
	json_object_set_int_member(to, "vl_stall_count", ib_port_info_vl_stall_count(info));
	if (ib_port_info_hoq_life(info) > 19) /* IBTA: no limit */
		json_object_set_null_member(to, "hoq_life_ns");
	else
		add_time(to, "hoq_life_ns", ib_port_info_hoq_life(info));
}

static void add_filters(JsonObject *to, const struct ib_port_info *info)
{
	json_object_set_boolean_member(to, "partition_enforcement_inbound",
				       ib_port_info_enforce_inbound(info));
	json_object_set_boolean_member(to, "partition_enforcement_outbound",
				       ib_port_info_enforce_outbound(info));
	json_object_set_boolean_member(to, "filter_raw_inbound",
				       ib_port_info_filter_raw_inbound(info));
	json_object_set_boolean_member(to, "filter_raw_outbound",
				       ib_port_info_filter_raw_outbound(info));
}

static void add_keys(JsonObject *to, const struct ib_port_info *info)
{
	member_guid(to, "m_key", ib_be64_get(info->mkey));
	ADD_NAME(to, "m_key_protect", ib_port_info_mkey_protect(info), mkey_protection);
	json_object_set_int_member(to, "m_key_lease_period_s",
				   ib_be16_get(info->mkey_lease_period));
	json_object_set_int_member(to, "m_key_violations", ib_be16_get(info->mkey_violations));
	json_object_set_int_member(to, "p_key_violations", ib_be16_get(info->pkey_violations));
	json_object_set_int_member(to, "q_key_violations", ib_be16_get(info->qkey_violations));
}

void port_info_fill(JsonObject *to, const struct ib_port_info *info)
{
	json_object_set_int_member(to, "local_port_num", info->local_port_num);
	ADD_NAME(to, "port_state", ib_port_info_port_state(info), port_states);
	ADD_NAME(to, "port_physical_state", ib_port_info_phys_state(info), phys_states);
	ADD_NAME(to, "link_down_default_state", ib_port_info_link_down_default(info),
		 down_defaults);
	member_guid(to, "gid_prefix", ib_be64_get(info->gid_prefix));
	json_object_set_int_member(to, "lid", ib_be16_get(info->lid));
	json_object_set_int_member(to, "lmc", ib_port_info_lmc(info));
	json_object_set_int_member(to, "master_sm_lid", ib_be16_get(info->master_sm_lid));
	json_object_set_int_member(to, "master_sm_sl", ib_port_info_master_sm_sl(info));
	ADD_BITS(to, "capability_mask", ib_be32_get(info->cap_mask), capabilities);
	ADD_BITS(to, "capability_mask2", ib_be16_get(info->cap_mask2), capabilities2);
	member_hex(to, "diag_code", ib_be16_get(info->diag_code));
	add_keys(to, info);
	add_link(to, info);
	json_object_set_int_member(to, "neighbor_mtu",
				   ib_mtu_bytes(ib_port_info_neighbor_mtu(info)));
	json_object_set_int_member(to, "mtu_cap", ib_mtu_bytes(ib_port_info_mtu_cap(info)));
	add_lanes(to, info);
	ADD_BITS(to, "init_type", ib_port_info_init_type(info), init_types);
	ADD_BITS(to, "init_type_reply", ib_port_info_init_type_reply(info), init_types);
	add_filters(to, info);
	json_object_set_int_member(to, "guid_cap", info->guid_cap);
	json_object_set_boolean_member(to, "client_reregister",
				       ib_port_info_client_reregister(info));
	json_object_set_int_member(to, "multicast_pkey_trap_suppression",
				   ib_port_info_mcast_pkey_trap_suppress(info));
	add_time(to, "subnet_timeout_ns", ib_port_info_subnet_timeout(info));
	add_time(to, "resp_time_ns", ib_port_info_resp_time_value(info));
	json_object_set_int_member(to, "local_phy_errors", ib_port_info_local_phy_errors(info));
	json_object_set_int_member(to, "overrun_errors", ib_port_info_overrun_errors(info));
	json_object_set_int_member(to, "max_credit_hint", ib_be16_get(info->max_credit_hint));
	json_object_set_int_member(to, "link_round_trip_latency",
				   ib_port_info_link_round_trip(info));
}

/* ------------------------------------------------------------------------- as text */

static char *format_list(JsonNode *value)
{
	JsonArray *list = json_node_get_array(value);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < json_array_get_length(list); i++)
		g_string_append_printf(text, "%s%s", i ? ", " : "",
				       json_array_get_string_element(list, i));
	return g_string_free(text->len ? text : g_string_append_c(text, '-'), FALSE);
}

static char *format_time(JsonNode *value)
{
	double us;

	if (JSON_NODE_HOLDS_NULL(value))
		return g_strdup("no limit");
	us = (double)json_node_get_int(value) / 1e3;
	if (us < 1000)
		return g_strdup_printf("%.4g us", us);
	return us < 1e6 ? g_strdup_printf("%.4g ms", us / 1e3)
			: g_strdup_printf("%.4g s", us / 1e6);
}

const struct query_column port_info_columns[] = {
	{ "local_port_num", "LocalPortNum", NULL, NULL },
	{ "port_state", "PortState", NULL, colour_state },
	{ "port_physical_state", "PortPhysicalState", NULL, NULL },
	{ "link_down_default_state", "LinkDownDefaultState", NULL, NULL },
	{ "gid_prefix", "GIDPrefix", NULL, NULL },
	{ "lid", "LID", NULL, NULL },
	{ "lmc", "LMC", NULL, NULL },
	{ "master_sm_lid", "MasterSMLID", NULL, NULL },
	{ "master_sm_sl", "MasterSMSL", NULL, NULL },
	{ "capability_mask", "CapabilityMask", format_list, NULL },
	{ "capability_mask2", "CapabilityMask2", format_list, NULL },
	{ "diag_code", "DiagCode", NULL, NULL },
	{ "m_key", "M_Key", NULL, NULL },
	{ "m_key_protect", "M_KeyProtectBits", NULL, NULL },
	{ "m_key_lease_period_s", "M_KeyLeasePeriod (s)", NULL, NULL },
	{ "m_key_violations", "M_KeyViolations", NULL, NULL },
	{ "p_key_violations", "P_KeyViolations", NULL, NULL },
	{ "q_key_violations", "Q_KeyViolations", NULL, NULL },
	{ "link_width_enabled", "LinkWidthEnabled", format_list, NULL },
	{ "link_width_supported", "LinkWidthSupported", format_list, NULL },
	{ "link_width_active", "LinkWidthActive", format_list, NULL },
	{ "link_speed_enabled", "LinkSpeedEnabled", format_list, NULL },
	{ "link_speed_supported", "LinkSpeedSupported", format_list, NULL },
	{ "link_speed_active", "LinkSpeedActive", format_list, NULL },
	{ "neighbor_mtu", "NeighborMTU", NULL, NULL },
	{ "mtu_cap", "MTUCap", NULL, NULL },
	{ "vl_cap", "VLCap", NULL, NULL },
	{ "operational_vls", "OperationalVLs", NULL, NULL },
	{ "vl_high_limit", "VLHighLimit", NULL, NULL },
	{ "vl_arb_high_cap", "VLArbitrationHighCap", NULL, NULL },
	{ "vl_arb_low_cap", "VLArbitrationLowCap", NULL, NULL },
	{ "vl_stall_count", "VLStallCount", NULL, NULL },
	{ "hoq_life_ns", "HOQLife", format_time, NULL },
	{ "init_type", "InitType", format_list, NULL },
	{ "init_type_reply", "InitTypeReply", format_list, NULL },
	{ "partition_enforcement_inbound", "PartitionEnforcementInbound", NULL, NULL },
	{ "partition_enforcement_outbound", "PartitionEnforcementOutbound", NULL, NULL },
	{ "filter_raw_inbound", "FilterRawInbound", NULL, NULL },
	{ "filter_raw_outbound", "FilterRawOutbound", NULL, NULL },
	{ "guid_cap", "GUIDCap", NULL, NULL },
	{ "client_reregister", "ClientReregister", NULL, NULL },
	{ "multicast_pkey_trap_suppression", "MulticastPKeyTrapSuppression", NULL, NULL },
	{ "subnet_timeout_ns", "SubnetTimeOut", format_time, NULL },
	{ "resp_time_ns", "RespTimeValue", format_time, NULL },
	{ "local_phy_errors", "LocalPhyErrors", NULL, NULL },
	{ "overrun_errors", "OverrunErrors", NULL, NULL },
	{ "max_credit_hint", "MaxCreditHint (64 bytes)", NULL, NULL },
	{ "link_round_trip_latency", "LinkRoundTripLatency (4 ns)", NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};
