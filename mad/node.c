/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The management agents of one node together. See node.h. */
#include "mad/node.h"

#include <string.h>

/* Response time of the performance management agent: 4.096 us * 2^18, about one second */
#define RESP_TIME 18

void mad_node_init(struct mad_node *node, const struct ib_ca_attr *attr, uint16_t partition_cap)
{
	const bool is_switch = attr->node_type == IB_NODE_SWITCH;
	const uint8_t num_ports = (uint8_t)attr->num_ports;

	node->shape = (struct smi_node){ .is_switch = is_switch, .num_ports = num_ports };
	node->sma = (struct sma_node){
		.type = attr->node_type,
		.num_ports = num_ports,
		.partition_cap = partition_cap,
		.device_id = (uint16_t)attr->vendor_part_id,
		.vendor_id = attr->vendor_id & 0xffffff,
		.revision = attr->hw_ver,
		.node_guid = attr->node_guid,
		.sys_image_guid = attr->sys_image_guid,
		.next_tid = ((uint64_t)MAD_TID_TRAPS << 32) + 1,
	};
	memcpy(&node->sma.desc, attr->node_desc, sizeof(node->sma.desc));
	node->pma = (struct pma_node){ .is_switch = is_switch,
				       .num_ports = num_ports,
				       .resp_time = RESP_TIME };
}
