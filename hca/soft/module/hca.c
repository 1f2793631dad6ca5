/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Puts the parts of an HCA together, and holds the HCA's table of operations. The operations themselves are in
 * object/.
 */
#include <stdio.h>
#include <string.h>

#include "hca/soft/base/config.h"
#include "hca/soft/base/table.h"
#include "hca/soft/client/rings.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/firmware/firmware.h"
#include "hca/soft/lab/fault.h"
#include "hca/soft/link/link.h"
#include "hca/soft/memory/mr.h"
#include "hca/soft/module/module.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/qp.h"

/* Sets what the topology says of the node. */
static void fill_placed_attr(struct ib_ca_attr *attr, const struct hca_config *conf)
{
	memcpy(attr->node_desc, conf->description, sizeof(attr->node_desc));
	if (conf->system_guid)
		attr->sys_image_guid = conf->system_guid;
	if (conf->vendor)
		attr->vendor_id = conf->vendor;
	if (conf->device)
		attr->vendor_part_id = conf->device;
}

static void fill_attr(struct soft_hca *hca)
{
	const struct hca_config *conf = &hca->conf;
	struct ib_ca_attr *attr = &hca->attr;

	*attr = (struct ib_ca_attr){
		.node_guid = hca->guid,
		.sys_image_guid = hca->guid & ~0xffffull,
		.vendor_id = (uint32_t)(hca->guid >> 40),
		.vendor_part_id = 1,
		.num_ports = conf->ports,
		.node_type = IB_NODE_CA,
		.num_comp_vectors = conf->vectors,
		.caps = IB_CA_CAP_UC | IB_CA_CAP_UD | IB_CA_CAP_BAD_QKEY_CNTR | IB_CA_CAP_CQ_ARM_N |
			IB_CA_CAP_CQ_RESIZE | IB_CA_CAP_CQ_MODERATION | IB_CA_CAP_BAD_PKEY_CNTR |
			IB_CA_CAP_PORT_ACTIVE_EVENT | IB_CA_CAP_SYS_IMAGE_GUID | IB_CA_CAP_RNR_NAK |
			IB_CA_CAP_MCAST,
		.atomic_cap = conf->atomics ? IB_ATOMIC_GLOBAL : IB_ATOMIC_NONE,
		.masked_atomic_cap = IB_ATOMIC_NONE,
		.fw_ver = SOFT_VERSION,
		.location = "software",
		.page_size_cap = 4096,
		.max_mr_size = conf->max_mr_size,
		.max_mr = conf->max_mr,
		.max_pd = conf->max_pd,
		.max_ah = conf->max_ah,
		.max_qp = conf->max_qp,
		.max_qp_wr = conf->max_qp_wr,
		.max_send_sge = conf->max_sge,
		.max_recv_sge = conf->max_sge,
		.max_read_sge = conf->max_sge,
		.max_inline_data = conf->max_inline,
		.max_qp_rd_atom = conf->max_rd_atomic,
		.max_qp_init_rd_atom = conf->max_rd_atomic,
		.max_res_rd_atom = conf->max_rd_atomic * conf->max_qp,
		.max_cq = conf->max_cq,
		.max_cqe = conf->max_cqe,
		.max_mcast_grp = conf->max_mcast_grp,
		.max_mcast_qp_attach = conf->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = conf->max_total_mcast_qp_attach,
		.max_pkeys = SOFT_MAX_PKEYS,
		.local_ca_ack_delay = 15,
	};
	if (conf->placed)
		fill_placed_attr(attr, conf);
	else
		snprintf(attr->node_desc, sizeof(attr->node_desc), "soft HCA %s", conf->name);
	if (!hca->sw)
		return;
	attr->node_type = IB_NODE_SWITCH;
	attr->caps &=
		~(uint32_t)(IB_CA_CAP_UC | IB_CA_CAP_UD | IB_CA_CAP_RNR_NAK | IB_CA_CAP_MCAST);
}

/* Returns what soft_port.lids is at the start. */
static uint32_t first_lids(const struct hca_config *conf, uint32_t i)
{
	if (conf->placed)
		return conf->place[i].lid | (uint32_t)conf->place[i].lmc << 16;
	return (uint16_t)(conf->lid + (i << conf->lmc)) | conf->lmc << 16;
}

/* What a subnet manager finds in PortInfo of a port with agents. */
#define AGENTS_CAPS                                                                          \
	(IB_PORT_CAP_NOTICE | IB_PORT_CAP_TRAP | IB_PORT_CAP_SL_MAP | IB_PORT_CAP_LED_INFO | \
	 IB_PORT_CAP_SYS_IMAGE_GUID | IB_PORT_CAP_EXT_SPEEDS | IB_PORT_CAP_CLIENT_REREG |    \
	 IB_PORT_CAP_CAP_MASK_NOTICE)

/* The address of port n is that of port 1 and n - 1; by default it is locally administered, and made
 * from the port's GUID. */
static void fill_ethernet_port(const struct hca_config *conf, struct soft_port *port, uint32_t i)
{
	const uint64_t mac = conf->mac ? conf->mac + i
				       : 0x020000000000ull | (port->guid & 0xffffffffffull);
	ib_gid ips[SOFT_MAX_GIDS - 1];
	uint32_t n;

	for (n = 0; n < conf->num_ips; n++)
		ips[n] = config_ip(conf, n, i);
	port_init_ethernet(port, mac, ips, conf->num_ips);
}

static void fill_hca_port(const struct soft_hca *hca, struct soft_port *port, uint32_t i)
{
	const struct hca_config *conf = &hca->conf;

	port->guid = conf->placed ? conf->place[i].guid : hca->guid + i + 1;
	if (conf->placed) {
		port->width = conf->place[i].width;
		port->speed = conf->place[i].speed;
	}
	if (!hca->ports.managed && conf->link_layer == IB_LINK_LAYER_INFINIBAND)
		/* of a managed subnet the subnet manager assigns LIDs */
		port->lids = first_lids(conf, i);
	if (conf->link_layer == IB_LINK_LAYER_ETHERNET)
		fill_ethernet_port(conf, port, i);
	port_init(port, port->ethernet ? 0 : conf->gids, !conf->placed || conf->place[i].cabled);
}

static al_status fill_port(struct soft_hca *hca, uint32_t i)
{
	struct soft_port *port = &hca->ports.port[i];
	const struct hca_config *conf = &hca->conf;
	uint32_t n;

	port->ports = &hca->ports;
	port->cable = port; /* a port without a cable has a loopback plug */
	port->link = link_of_ports;
	port->number = (uint8_t)(hca->ports.first + i);
	for (n = 0; n < SOFT_MAX_PKEYS; n++)
		port->pkeys[n] = conf->pkeys[n];
	if (port_is_external(port)) {
		switch_fill_port(hca, port);
		return AL_SUCCESS;
	}
	port->special = &hca->special[(size_t)i * SPECIAL_QPS];
	port->prefix = SOFT_PREFIX;
	if (hca->ports.agents != SOFT_AGENTS_NONE)
		port->cap_mask = AGENTS_CAPS;
	if (hca->sw)
		switch_fill_port(hca, port);
	else
		fill_hca_port(hca, port, i);
	return port->link->attach ? port->link->attach(port, hca->engine) : AL_SUCCESS;
}

/* Reads or writes an attribute of an HCA: firmware_attr. */
static uint16_t node_attr(struct ports *ports, uint8_t num, uint16_t attr_id, uint32_t attr_mod,
			  bool set, uint8_t *data)
{
	return port_attr(&ports->port[num - ports->first], attr_id, attr_mod, set, data);
}

al_status hca_create(struct soft_hca *hca, uint32_t random)
{
	const struct hca_config *conf = &hca->conf;
	const uint32_t numbers = 1u << TABLE_BITS;
	/* a switch has a port 0, and special queue pairs there only */
	const uint32_t num_ports = conf->ports + (hca->sw ? 1 : 0);
	const uint32_t special_ports = hca->sw ? 1 : conf->ports;
	al_status status;
	uint32_t i;

	hca->remove = module_remove_hca;
	status = fault_create(hca);
	if (!status)
		status = rings_create(hca);
	if (status)
		return status;
	/* no key has number 0, and no queue pair has one of the special numbers 0 and 1 */
	status = table_create(&hca->qps, sizeof(struct actor), conf->max_qp,
			      2 + random % (numbers - 2 - conf->max_qp));
	if (!status)
		status = memory_create(&hca->memory, conf->max_mr,
				       1 + (random >> 4) % (numbers - 1 - conf->max_mr), random);
	if (status)
		return status;
	hca->ports = (struct ports){
		.port = al_alloc_aligned(64, (size_t)num_ports * sizeof(*hca->ports.port)),
		.num = num_ports,
		.first = hca->sw ? 0 : 1,
		.state_change = hca->sw ? &hca->sw->registers.state_change : NULL,
		.gids = conf->gids,
		.mtu = conf->mtu,
		.hca = hca->index,
		.managed = conf->managed,
		.agents = conf->agents,
		.name = conf->name,
		.actors = &hca->qps,
		.mcast.limits = { conf->max_mcast_grp, conf->max_mcast_qp_attach,
				  conf->max_total_mcast_qp_attach },
	};
	hca->special =
		al_alloc_aligned(64, (size_t)special_ports * SPECIAL_QPS * sizeof(*hca->special));
	if (!hca->ports.port || !hca->special)
		return AL_INSUFFICIENT_MEMORY;
	fill_attr(hca);
	for (i = 0; i < num_ports && !status; i++)
		status = fill_port(hca, i);
	if (conf->agents == SOFT_AGENTS_HARDWARE && !status)
		status = firmware_create(&hca->ports, &hca->attr, hca->engine,
					 hca->sw ? switch_node_attr : node_attr);
	for (i = 0; i < conf->num_faults && !status; i++)
		status = fault_add(hca, &conf->faults[i].fault);
	if (*conf->capture && !status)
		status = vendor_start_capture(hca, conf->capture_port, conf->capture);
	return status;
}

void hca_destroy(struct soft_hca *hca)
{
	uint32_t i;

	if (hca->ports.port)
		vendor_stop_capture(hca, 0);
	if (!hca->engine) /* hca_create() was not called for this HCA */
		return;
	firmware_destroy(&hca->ports);
	for (i = 0; hca->ports.port && i < hca->ports.num; i++)
		if (hca->ports.port[i].link_state)
			hca->ports.port[i].link->detach(&hca->ports.port[i]);
	fault_destroy(hca);
	mcast_destroy(&hca->ports.mcast);
	table_destroy(&hca->qps);
	memory_destroy(&hca->memory);
	al_free(hca->ports.port);
	hca->ports.port = NULL;
	al_free(hca->special);
	hca->special = NULL;
	rings_destroy(hca);
}

const struct ci_interface soft_interface = {
	SOFT_COMMON_INTERFACE,
	.flags = CI_CLIENT_MEMORY,
	.local_mad = soft_local_mad,
	.um_open_ca = rings_open,
	.um_close_ca = rings_close,
	.create_qp = soft_create_qp,
	.attach_mcast = soft_attach_mcast,
	.detach_mcast = soft_detach_mcast,
};
