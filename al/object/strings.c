/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts of statuses and enums, from the lists in ib_types.h, ib_verbs.h and ib_al.h; and the
 * version of the library. */
#include "config.h"

#include <iba/ib_al.h>

#define TEXT_CASE(name, value, text) \
	case name:                   \
		return text;
#define TEXT_CASE_4(name, value, text, more) TEXT_CASE(name, value, text)
#define NAME_CASE(name, value, text)         TEXT_CASE(name, value, #name)

/* The switch has no default label, so the compiler warns when a list and its enum differ. */
#define TEXT_OF(function, type, list, one) \
	const char *function(type v)       \
	{                                  \
		switch ((int)v) {          \
			list(one)          \
		}                          \
		return "unknown";          \
	}

TEXT_OF(al_status_str, al_status, AL_STATUS_LIST, TEXT_CASE)
TEXT_OF(al_status_name, al_status, AL_STATUS_LIST, NAME_CASE)
TEXT_OF(al_object_type_str, al_object_type, AL_OBJECT_LIST, TEXT_CASE_4)
TEXT_OF(al_arm_str, al_arm, AL_ARM_LIST, TEXT_CASE)
TEXT_OF(al_cq_notify_str, al_cq_notify, AL_CQ_NOTIFY_LIST, TEXT_CASE)
TEXT_OF(al_pnp_type_str, al_pnp_type, AL_PNP_LIST, TEXT_CASE)
TEXT_OF(al_channel_event_type_str, al_channel_event_type, AL_CHANNEL_EVENT_LIST, TEXT_CASE)
TEXT_OF(al_mad_event_type_str, al_mad_event_type, AL_MAD_EVENT_LIST, TEXT_CASE)
TEXT_OF(al_resource_str, al_resource, AL_RESOURCE_LIST, TEXT_CASE)
TEXT_OF(al_event_type_str, ib_event_type, IB_EVENT_LIST, TEXT_CASE_4)
TEXT_OF(al_link_layer_str, ib_link_layer, IB_LINK_LAYER_LIST, TEXT_CASE)
TEXT_OF(al_gid_type_str, ib_gid_type, IB_GID_TYPE_LIST, TEXT_CASE)
TEXT_OF(al_port_state_str, ib_port_state, IB_PORT_STATE_LIST, TEXT_CASE)
TEXT_OF(al_phys_state_str, ib_phys_state, IB_PHYS_STATE_LIST, TEXT_CASE)
TEXT_OF(al_mtu_str, ib_mtu, IB_MTU_LIST, TEXT_CASE)
TEXT_OF(al_width_str, ib_width, IB_WIDTH_LIST, TEXT_CASE)
TEXT_OF(al_speed_str, ib_speed, IB_SPEED_LIST, TEXT_CASE)
TEXT_OF(al_rate_str, ib_rate, IB_RATE_LIST, TEXT_CASE)
TEXT_OF(al_node_type_str, ib_node_type, IB_NODE_TYPE_LIST, TEXT_CASE)
TEXT_OF(al_atomic_cap_str, ib_atomic_cap, IB_ATOMIC_CAP_LIST, TEXT_CASE)
TEXT_OF(al_mw_type_str, ib_mw_type, IB_MW_TYPE_LIST, TEXT_CASE)
TEXT_OF(al_dma_direction_str, ib_dma_direction, IB_DMA_DIRECTION_LIST, TEXT_CASE)
TEXT_OF(al_wc_status_str, ib_wc_status, IB_WC_STATUS_LIST, TEXT_CASE)
TEXT_OF(al_wc_opcode_str, ib_wc_opcode, IB_WC_OPCODE_LIST, TEXT_CASE)
TEXT_OF(al_wr_opcode_str, ib_wr_opcode, IB_WR_OPCODE_LIST, TEXT_CASE)
TEXT_OF(al_qp_type_str, ib_qp_type, IB_QP_TYPE_LIST, TEXT_CASE)
TEXT_OF(al_qp_state_str, ib_qp_state, IB_QP_STATE_LIST, TEXT_CASE)
TEXT_OF(al_mig_state_str, ib_mig_state, IB_MIG_STATE_LIST, TEXT_CASE)
TEXT_OF(al_srq_type_str, ib_srq_type, IB_SRQ_TYPE_LIST, TEXT_CASE)

const char *al_ca_cap_str(unsigned int bit)
{
	switch (bit) {
#define CAP_CASE(name, position, text) \
	case 1u << (position):         \
		return text;
		IB_CA_CAP_LIST(CAP_CASE)
	}
	return "unknown";
}

const char *al_version(void)
{
	return PACKAGE_VERSION;
}
