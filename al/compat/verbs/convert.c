/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Permissions and addresses, in both interfaces. */
#include <string.h>

#include "al/compat/verbs/verbs.h"

/* The permissions whose bits are the same in both interfaces. */
#define SAME_ACCESS                                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |             \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED)
_Static_assert((int)IBV_ACCESS_LOCAL_WRITE == IB_ACCESS_LOCAL_WRITE &&
		       (int)IBV_ACCESS_REMOTE_WRITE == IB_ACCESS_REMOTE_WRITE &&
		       (int)IBV_ACCESS_REMOTE_READ == IB_ACCESS_REMOTE_READ &&
		       (int)IBV_ACCESS_REMOTE_ATOMIC == IB_ACCESS_REMOTE_ATOMIC &&
		       (int)IBV_ACCESS_MW_BIND == IB_ACCESS_MW_BIND &&
		       (int)IBV_ACCESS_ZERO_BASED == IB_ACCESS_ZERO_BASED,
	       "permissions have the same bits");

bool access_to_al(unsigned int access, uint32_t *al)
{
	*al = access & SAME_ACCESS;
	if (access & IBV_ACCESS_RELAXED_ORDERING)
		*al |= IB_ACCESS_RELAXED_ORDERING;
	return !(access & ~(unsigned int)(SAME_ACCESS | IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE));
}

unsigned int access_from_al(uint32_t al)
{
	return (al & SAME_ACCESS) |
	       (al & IB_ACCESS_RELAXED_ORDERING ? (unsigned int)IBV_ACCESS_RELAXED_ORDERING : 0);
}

struct ib_ah_attr ah_to_al(const struct ibv_ah_attr *attr)
{
	struct ib_ah_attr al = {
		.dlid = attr->dlid,
		.sl = attr->sl,
		.src_path_bits = attr->src_path_bits,
		.static_rate = (ib_rate)attr->static_rate,
		.is_global = attr->is_global != 0,
		.port_num = attr->port_num,
	};

	if (!attr->is_global)
		return al;
	al.grh.flow_label = attr->grh.flow_label & 0xfffff; /* UCX sets all 32 bits, and adapters send 20 */
	al.grh.sgid_index = attr->grh.sgid_index;
	al.grh.hop_limit = attr->grh.hop_limit;
	al.grh.traffic_class = attr->grh.traffic_class;
	memcpy(al.grh.dgid.raw, attr->grh.dgid.raw, sizeof(al.grh.dgid.raw));
	return al;
}

struct ibv_ah_attr ah_from_al(const struct ib_ah_attr *al)
{
	struct ibv_ah_attr attr = {
		.dlid = al->dlid,
		.sl = al->sl,
		.src_path_bits = al->src_path_bits,
		.static_rate = (uint8_t)al->static_rate,
		.is_global = al->is_global,
		.port_num = al->port_num,
	};

	if (!al->is_global)
		return attr;
	attr.grh.flow_label = al->grh.flow_label;
	attr.grh.sgid_index = (uint8_t)al->grh.sgid_index;
	attr.grh.hop_limit = al->grh.hop_limit;
	attr.grh.traffic_class = al->grh.traffic_class;
	memcpy(attr.grh.dgid.raw, al->grh.dgid.raw, sizeof(attr.grh.dgid.raw));
	return attr;
}
