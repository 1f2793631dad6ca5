/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operations of ports. States, registers and counters of a port are in port/. */
#include <string.h>

#include "hca/soft/object/hca.h"
#include "hca/soft/port/port.h"

/* Returns the speed in use. A speed from FDR on has a code of its own. */
static ib_speed speed_of(const struct ib_port_info *info)
{
	uint32_t ext = ib_port_info_link_speed_ext_active(info);

	return (ib_speed)(ext ? ext << 4 : ib_port_info_link_speed_active(info));
}

al_status soft_query_port(struct ci_ca *ca, uint8_t num, struct ib_port_attr *attr)
{
	struct soft_port *port = hca_port(ca_hca(ca), num);
	struct ib_port_info info;

	port_info_read(port, &info);
	*attr = (struct ib_port_attr){
		.port_guid = port->guid,
		.subnet_prefix = ib_be64_get(info.gid_prefix),
		.state = (ib_port_state)ib_port_info_port_state(&info),
		.phys_state = (ib_phys_state)ib_port_info_phys_state(&info),
		.link_layer = port->ethernet ? IB_LINK_LAYER_ETHERNET : IB_LINK_LAYER_INFINIBAND,
		.max_mtu = IB_MTU_4096,
		.active_mtu = (ib_mtu)ib_port_info_neighbor_mtu(&info),
		.active_width = (ib_width)info.link_width_active,
		.active_speed = speed_of(&info),
		.cap_mask = ib_be32_get(info.cap_mask),
		.max_msg_size = SOFT_MAX_MSG,
		.gid_tbl_len = port_is_external(port) ? 0 : SOFT_MAX_GIDS,
		.pkey_tbl_len = port->ethernet ? 1 : SOFT_MAX_PKEYS,
		.bad_pkey_cntr = (uint32_t)atomic_load_explicit(&port->count[CNT_BAD_PKEY],
								memory_order_relaxed),
		.qkey_viol_cntr = (uint32_t)atomic_load_explicit(&port->count[CNT_BAD_QKEY],
								 memory_order_relaxed),
		.lid = ib_be16_get(info.lid),
		.sm_lid = ib_be16_get(info.master_sm_lid),
		.lmc = (uint8_t)ib_port_info_lmc(&info),
		.sm_sl = (uint8_t)ib_port_info_master_sm_sl(&info),
		.subnet_timeout = (uint8_t)ib_port_info_subnet_timeout(&info),
		.max_vl_num = LANES_CAP,
		.init_type_reply = (uint8_t)ib_port_info_init_type_reply(&info),
		.ci_caps = port->ports->agents == SOFT_AGENTS_AL && !port_is_external(port)
				   ? CI_PORT_SMA_IN_AL | CI_PORT_PMA_IN_AL | CI_PORT_MAD_ANY_CONTEXT
				   : 0,
	};
	counters_read(port, &attr->counters);
	return AL_SUCCESS;
}

al_status soft_local_mad(struct ci_ca *ca, uint8_t num, const struct ib_ah_attr *src,
			 const struct ci_local_mad_in *in, struct ci_local_mad_out *out)
{
	(void)src;
	if (in->mgmt_class != IB_CLASS_SUBN_LID) {
		out->status = IB_MAD_STATUS_BAD_VERSION;
		return AL_SUCCESS;
	}
	memcpy(out->data, in->data, IB_SMP_DATA_BYTES);
	out->length = IB_SMP_DATA_BYTES;
	out->status = port_attr(hca_port(ca_hca(ca), num), in->attr_id, in->attr_mod,
				in->method == IB_METHOD_SET, out->data);
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

	if (mask & IB_PORT_MODIFY_INIT_TYPE)
		return AL_UNSUPPORTED;
	if (mask & IB_PORT_MODIFY_RESET_PKEY_CNTR)
		atomic_store(&port->count[CNT_BAD_PKEY], 0);
	if (mask & IB_PORT_MODIFY_RESET_QKEY_CNTR)
		atomic_store(&port->count[CNT_BAD_QKEY], 0);
	if (mask & IB_PORT_MODIFY_CAP_MASK)
		port_set_caps(port, attr->set_caps, attr->clear_caps);
	if (mask & (IB_PORT_MODIFY_SHUTDOWN | IB_PORT_MODIFY_BRING_UP))
		port_shut(port, !(mask & IB_PORT_MODIFY_BRING_UP));
	return AL_SUCCESS;
}
