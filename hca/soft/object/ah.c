/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Operations of address handles, and conversion of address vectors. The Access Layer has checked the ranges of the
 * attributes. A post reads an address handle in transport/ud.c.
 */
#include "hca/soft/object/hca.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/lock.h"
#include "hca/soft/shared/wr.h"

al_status ah_check(const struct soft_port *port, const struct ib_ah_attr *attr)
{
	return wr_check_address(attr, port_gid_count(port), port_lids(port).lmc);
}

void address_set(struct address *to, const struct ib_ah_attr *attr)
{
	*to = (struct address){
		.dlid = attr->dlid,
		.src_path_bits = attr->src_path_bits,
		.sl = attr->sl,
		.global = attr->is_global,
	};
	if (!attr->is_global)
		return;
	to->dgid = attr->grh.dgid;
	to->class_flow = (uint32_t)attr->grh.traffic_class << 20 | attr->grh.flow_label;
	to->sgid_index = (uint8_t)attr->grh.sgid_index;
	to->hop_limit = attr->grh.hop_limit;
}

al_status soft_modify_ah(struct ci_ah *ci, const struct ib_ah_attr *attr)
{
	struct soft_ah *ah = (struct soft_ah *)ci;
	al_status status = ah_check(hca_port(pd_hca(ci->pd), attr->port_num), attr);
	struct ib_flat_path path;

	if (!status)
		status = ib_flat_pack_path(&path, attr);
	if (status)
		return status;
	fmutex_lock(&ah->lock);
	ah->attr = *attr;
	ah->path = path;
	fmutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

al_status soft_create_ah(struct ci_ah *ci, const struct ib_ah_attr *attr, struct ci_udata *udata)
{
	(void)udata;
	return soft_modify_ah(ci, attr);
}

al_status soft_query_ah(struct ci_ah *ci, struct ib_ah_attr *attr)
{
	struct soft_ah *ah = (struct soft_ah *)ci;

	fmutex_lock(&ah->lock);
	*attr = ah->attr;
	fmutex_unlock(&ah->lock);
	return AL_SUCCESS;
}

void soft_destroy_ah(struct ci_ah *ci)
{
	(void)ci;
}
