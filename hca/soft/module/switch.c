/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches of a managed fabric as nodes of the Channel Interface. A switch is a soft HCA without an
 * engine of its own, with special queue pairs at port 0 only: the fabric's engine runs them, and
 * packets come to them through the switch's forwarding (fabric/switch.c).
 */
#include <string.h>

#include "hca/soft/client/rings.h"
#include "hca/soft/fabric/fabric.h"
#include "hca/soft/module/module.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/port/info.h"
#include "hca/soft/port/port.h"
#include "hca/soft/queue/cq.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/transport/qp.h"

/* Objects of a switch: those of the Access Layer's agents, and of a few clients that watch port 0
 */
#define MAX_QP 16
#define MAX_CQ 16
#define MAX_PD 16
#define MAX_MR 64

static const struct topology_node *node_of(const struct fabric_switch *sw)
{
	return &sw->fabric->topology.nodes[sw->node];
}

uint32_t switch_port_index(const struct fabric_switch *sw, uint8_t number)
{
	return topology_port_index(node_of(sw), number);
}

void switch_configure(struct soft_hca *hca, struct fabric_switch *sw,
		      const struct hca_config *common, enum soft_agents agents)
{
	const struct topology_node *node = node_of(sw);
	struct hca_config *conf = &hca->conf;

	hca->sw = sw;
	hca->engine = &sw->fabric->engine;
	*conf = *common;
	snprintf(conf->name, sizeof(conf->name), "switch %016llx", (unsigned long long)node->guid);
	module_place(conf, node);
	conf->agents = agents;
	conf->vectors = 1;
	conf->gids = 1;
	conf->max_qp = MAX_QP;
	conf->max_cq = MAX_CQ;
	conf->max_pd = MAX_PD;
	conf->max_mr = MAX_MR;
	conf->max_mcast_grp = conf->max_mcast_qp_attach = conf->max_total_mcast_qp_attach = 0;
	conf->num_faults = 0;
	conf->capture[0] = '\0';
}

void switch_fill_port(struct soft_hca *hca, struct soft_port *port)
{
	const struct topology *t = &hca->sw->fabric->topology;
	const struct topology_port *place = &t->ports[switch_port_index(hca->sw, port->number)];

	port->guid = place->guid;
	port->width = place->width;
	port->speed = place->speed;
	port_init(port, port->number ? 0 : hca->conf.gids,
		  !port->number || place->peer != TOPOLOGY_NONE);
}

/* ---------------------------------------------------------------------- reboot */

/* Sets a port's registers and addresses back. The port is Down, or is port 0. */
static void reset_port(struct soft_hca *hca, struct soft_port *port)
{
	uint32_t i;

	port_set_lids(port, 0, 0, PORT_TELLS);
	port_set_pkeys(port, 0, SOFT_MAX_PKEYS, hca->conf.pkeys, PORT_TELLS);
	if (!port->number)
		port_set_prefix(port, SOFT_PREFIX, PORT_TELLS);
	for (i = 1; i < SOFT_MAX_GIDS; i++)
		port_set_guid(port, i, 0, PORT_TELLS);
	port_set_state(port, IB_PHYS_POLLING, IB_PORT_NOP);
	port_shut(port, false);
	port_lock();
	memset(&port->regs, 0, sizeof(port->regs));
	port_info_init(port, port->ports->mtu);
	port_unlock();
}

void switch_reboot(struct soft_hca *hca)
{
	bool plugged[256] = { false };
	uint32_t i;

	port_lock();
	for (i = 1; i < hca->ports.num; i++)
		plugged[i] = hca->ports.port[i].plugged;
	port_unlock();
	for (i = 1; i < hca->ports.num; i++)
		port_plug(&hca->ports.port[i], false);
	switch_registers_reset(&hca->sw->registers);
	for (i = 0; i < hca->ports.num; i++)
		reset_port(hca, &hca->ports.port[i]);
	for (i = 1; i < hca->ports.num; i++)
		if (plugged[i])
			port_plug(&hca->ports.port[i], true);
}

/* ------------------------------------------------------------------- operations */

uint16_t switch_node_attr(struct ports *ports, uint8_t num, uint16_t attr_id, uint32_t attr_mod,
			  bool set, uint8_t *data)
{
	uint16_t status =
		switch_attr(&port_hca(ports->port)->sw->registers, attr_id, attr_mod, set, data);

	/* an attribute that is not the switch's as a whole is a port's */
	return status == IB_MAD_STATUS_BAD_METHOD_ATTR
		       ? port_attr(&ports->port[num], attr_id, attr_mod, set, data)
		       : status;
}

static al_status switch_local_mad(struct ci_ca *ca, uint8_t num, const struct ib_ah_attr *src,
				  const struct ci_local_mad_in *in, struct ci_local_mad_out *out)
{
	if (in->mgmt_class != IB_CLASS_SUBN_LID)
		return soft_local_mad(ca, num, src, in, out);
	memcpy(out->data, in->data, IB_SMP_DATA_BYTES);
	out->length = IB_SMP_DATA_BYTES;
	out->status = switch_node_attr(&ca_hca(ca)->ports, num, in->attr_id, in->attr_mod,
				       in->method == IB_METHOD_SET, out->data);
	return AL_SUCCESS;
}

const struct ci_interface soft_switch_interface = {
	SOFT_COMMON_INTERFACE,
	.local_mad = switch_local_mad,
};
