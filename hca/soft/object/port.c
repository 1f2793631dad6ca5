/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operations of ports. States and counters of a port are in port/. */
#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"

/* Returns the code of the smallest MTU that holds so many bytes. */
static ib_mtu mtu_code(uint32_t bytes)
{
	unsigned int code;

	for (code = IB_MTU_256; ib_mtu_bytes(code) < bytes; code++)
		;
	return (ib_mtu)code;
}

al_status soft_query_port(struct ci_ca *ca, uint8_t num, struct ib_port_attr *attr)
{
	struct soft_port *port = hca_port(ca_hca(ca), num);
	const struct port_lids lids = port_lids(port);
	bool up = port_state(port) == IB_PORT_ACTIVE;

	*attr = (struct ib_port_attr){
		.port_guid = port->guid,
		.subnet_prefix = atomic_load_explicit(&port->prefix, memory_order_relaxed),
		.state = port_state(port),
		.phys_state = up ? IB_PHYS_LINK_UP : IB_PHYS_POLLING,
		.link_layer = IB_LINK_LAYER_INFINIBAND,
		.max_mtu = IB_MTU_4096,
		.active_mtu = mtu_code(port->ports->mtu),
		.active_width = IB_WIDTH_4X,
		.active_speed = IB_SPEED_EDR,
		.cap_mask = atomic_load_explicit(&port->cap_mask, memory_order_relaxed),
		.max_msg_size = SOFT_MAX_MSG,
		.gid_tbl_len = SOFT_MAX_GIDS,
		.pkey_tbl_len = SOFT_MAX_PKEYS,
		.bad_pkey_cntr = (uint32_t)atomic_load_explicit(&port->count[CNT_BAD_PKEY],
								memory_order_relaxed),
		.qkey_viol_cntr = (uint32_t)atomic_load_explicit(&port->count[CNT_BAD_QKEY],
								 memory_order_relaxed),
		.lid = lids.base,
		.lmc = lids.lmc,
		.subnet_timeout = 18,
		.max_vl_num = 1,
	};
	counters_read(port, &attr->counters);
	return AL_SUCCESS;
}

al_status soft_query_gid(struct ci_ca *ca, uint8_t num, uint32_t index, ib_gid *gid)
{
	*gid = port_gid(hca_port(ca_hca(ca), num), index);
	return AL_SUCCESS;
}

al_status soft_query_pkey(struct ci_ca *ca, uint8_t num, uint32_t index, uint16_t *pkey)
{
	*pkey = port_pkey(hca_port(ca_hca(ca), num), index);
	return AL_SUCCESS;
}

al_status soft_modify_port(struct ci_ca *ca, uint8_t num, uint32_t mask,
			   const struct ib_port_modify *attr)
{
	struct soft_port *port = hca_port(ca_hca(ca), num);
	uint32_t caps;

	if (mask & IB_PORT_MODIFY_INIT_TYPE)
		return AL_UNSUPPORTED;
	if (mask & IB_PORT_MODIFY_RESET_PKEY_CNTR)
		atomic_store(&port->count[CNT_BAD_PKEY], 0);
	if (mask & IB_PORT_MODIFY_RESET_QKEY_CNTR)
		atomic_store(&port->count[CNT_BAD_QKEY], 0);
	if (mask & IB_PORT_MODIFY_CAP_MASK) {
		caps = atomic_load(&port->cap_mask);
		while (!atomic_compare_exchange_weak(&port->cap_mask, &caps,
						     (caps | attr->set_caps) & ~attr->clear_caps))
			;
	}
	if (mask & (IB_PORT_MODIFY_SHUTDOWN | IB_PORT_MODIFY_BRING_UP))
		port_shut(port, !(mask & IB_PORT_MODIFY_BRING_UP));
	return AL_SUCCESS;
}
