/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A subnet manager that knows the subnet, and so needs no sweep. */
#include "test/bench/manage.h"

#include <string.h>

#include <iba/ib_mad.h>

#include "test/bench/bench.h"

/* The agents of a node serve the attributes of all its ports at port 1 of an HCA and port 0 of a
 * switch. */
static uint8_t own_port(al_ca_h node)
{
	struct ib_ca_attr attr;

	bench_must(al_query_ca(node, &attr));
	return attr.node_type == IB_NODE_SWITCH ? 0 : 1;
}

static void ask(al_ca_h node, ib_mad_method method, ib_smp_attr attr, uint32_t mod, void *data,
		size_t size)
{
	struct ib_smp smp = {
		.base_version = IB_MAD_BASE_VERSION,
		.mgmt_class = IB_CLASS_SUBN_LID,
		.class_version = IB_SMP_CLASS_VERSION,
		.method = (uint8_t)method,
		.attr_id = ib_be16_of((uint16_t)attr),
		.attr_mod = ib_be32_of(mod),
	};

	memcpy(smp.data, data, size);
	bench_must(al_local_mad(node, own_port(node), (const struct ib_mad *)&smp,
				(struct ib_mad *)&smp));
	if (ib_be16_get(smp.status))
		bench_fatal("attribute %#x: status %#x", attr, ib_be16_get(smp.status));
	memcpy(data, smp.data, size);
}

static struct ib_port_info port_info(al_ca_h node, uint8_t port)
{
	struct ib_port_info info = { 0 };

	ask(node, IB_METHOD_GET, IB_SMP_PORT_INFO, port, &info, sizeof(info));
	ib_port_info_set_port_state(&info, IB_PORT_NOP);
	ib_port_info_set_phys_state(&info, IB_PHYS_NOP);
	return info;
}

void manage_lid(al_ca_h node, uint8_t port, uint16_t lid)
{
	struct ib_port_info info = port_info(node, port);

	info.lid = ib_be16_of(lid);
	info.master_sm_lid = ib_be16_of(lid);
	ask(node, IB_METHOD_SET, IB_SMP_PORT_INFO, port, &info, sizeof(info));
}

void manage_table(al_ca_h sw, const uint8_t *ports, uint32_t num)
{
	struct ib_switch_info info = { 0 };
	struct ib_lft_block block;

	memset(&block, 0xff, sizeof(block));
	memcpy(block.port, ports, num);
	ask(sw, IB_METHOD_SET, IB_SMP_LFT, 0, &block, sizeof(block));
	ask(sw, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info));
	info.linear_fdb_top = ib_be16_of((uint16_t)(num - 1));
	ask(sw, IB_METHOD_SET, IB_SMP_SWITCH_INFO, 0, &info, sizeof(info));
}

void manage_step(al_ca_h node, uint8_t port, ib_port_state state)
{
	struct ib_port_info info = port_info(node, port);

	ib_port_info_set_port_state(&info, state);
	ask(node, IB_METHOD_SET, IB_SMP_PORT_INFO, port, &info, sizeof(info));
}
