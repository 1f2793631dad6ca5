/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attributes of devices and ports, GIDs and P_Keys. */
#include <arpa/inet.h>
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "al/compat/verbs/verbs.h"

/* A number that programs have as an int. */
static int at_most_int(uint32_t value)
{
	return value > INT_MAX ? INT_MAX : (int)value;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* -------------------------------------------------------------------- devices */

static unsigned int device_caps(uint32_t al)
{
	static const struct {
		uint32_t al;
		unsigned int ibv;
	} caps[] = {
		{ IB_CA_CAP_BAD_PKEY_CNTR, IBV_DEVICE_BAD_PKEY_CNTR },
		{ IB_CA_CAP_BAD_QKEY_CNTR, IBV_DEVICE_BAD_QKEY_CNTR },
		{ IB_CA_CAP_MULTI_PATH, IBV_DEVICE_AUTO_PATH_MIG },
		{ IB_CA_CAP_PORT_ACTIVE_EVENT, IBV_DEVICE_PORT_ACTIVE_EVENT },
		{ IB_CA_CAP_SYS_IMAGE_GUID, IBV_DEVICE_SYS_IMAGE_GUID },
		{ IB_CA_CAP_RNR_NAK, IBV_DEVICE_RC_RNR_NAK_GEN },
	};
	unsigned int ibv = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SHUTDOWN_PORT;

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (al & caps[i].al)
			ibv |= caps[i].ibv;
	return ibv;
}

/* What the replacement does not offer (shared receive queues, windows, ...) has no number. */
static void fill_device(struct ibv_device_attr *attr, const struct ib_ca_attr *al)
{
	*attr = (struct ibv_device_attr){
		.node_guid = htobe64(al->node_guid),
		.sys_image_guid = htobe64(al->sys_image_guid),
		.max_mr_size = al->max_mr_size,
		.page_size_cap = al->page_size_cap,
		.vendor_id = al->vendor_id,
		.vendor_part_id = al->vendor_part_id,
		.hw_ver = al->hw_ver,
		.max_qp = at_most_int(al->max_qp),
		.max_qp_wr = at_most_int(al->max_qp_wr),
		.device_cap_flags = device_caps(al->caps),
		.max_sge = at_most_int(least(al->max_send_sge, al->max_recv_sge)),
		.max_sge_rd = at_most_int(al->max_read_sge),
		.max_cq = at_most_int(al->max_cq),
		.max_cqe = at_most_int(al->max_cqe),
		.max_mr = at_most_int(al->max_mr),
		.max_pd = at_most_int(al->max_pd),
		.max_qp_rd_atom = at_most_int(al->max_qp_rd_atom),
		.max_res_rd_atom = at_most_int(al->max_res_rd_atom),
		.max_qp_init_rd_atom = at_most_int(al->max_qp_init_rd_atom),
		.atomic_cap = (unsigned int)al->atomic_cap,
		.max_mcast_grp = at_most_int(al->max_mcast_grp),
		.max_mcast_qp_attach = at_most_int(al->max_mcast_qp_attach),
		.max_total_mcast_qp_attach = at_most_int(al->max_total_mcast_qp_attach),
		.max_ah = at_most_int(al->max_ah),
		.max_pkeys = (uint16_t)least(al->max_pkeys, UINT16_MAX),
		.local_ca_ack_delay = (uint8_t)al->local_ca_ack_delay,
		.phys_port_cnt = (uint8_t)least(al->num_ports, UINT8_MAX),
	};
	memcpy(attr->fw_ver, al->fw_ver, sizeof(al->fw_ver));
}

LATEST(int, ibv_query_device)(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct ib_ca_attr al;
	const int error = verbs_result(al_query_ca(context_of(context)->ca, &al));

	if (!error)
		fill_device(attr, &al);
	return error;
}

/* bytes: of the program's struct, which may be of an older or a newer version. */
int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t bytes)
{
	struct ibv_device_attr_ex all;
	struct ib_ca_attr al;
	int error;

	if ((input && input->comp_mask) || bytes < sizeof(attr->orig_attr))
		return verbs_fail(EINVAL);
	error = verbs_result(al_query_ca(context_of(context)->ca, &al));
	if (error)
		return error;
	memset(&all, 0, sizeof(all));
	fill_device(&all.orig_attr, &al);
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	all.phys_port_cnt_ex = al.num_ports;
	if (al.caps & IB_CA_CAP_CQ_MODERATION)
		all.cq_mod_caps.max_cq_count = all.cq_mod_caps.max_cq_period = UINT16_MAX;
	memset(attr, 0, bytes);
	memcpy(attr, &all, bytes < sizeof(all) ? bytes : sizeof(all));
	return 0;
}

/* The clock of completions, which are not stamped. */
int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	values->comp_mask = 0;
	return verbs_fail(EOPNOTSUPP);
}

/* ---------------------------------------------------------------------- ports */

/* The code of a number of data virtual lanes, PortInfo.VLCap (IBTA 14.2.5.6). */
static uint8_t vl_code(uint8_t lanes)
{
	static const uint8_t codes[16] = { [1] = 1, [2] = 2, [4] = 3, [8] = 4, [15] = 5 };

	return lanes < sizeof(codes) ? codes[lanes] : 0;
}

int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		     size_t bytes)
{
	struct ib_port_attr al;
	struct ibv_port_attr all;
	const int error =
		verbs_result(al_query_port(context_of(context)->ca, port_num, &al));

	if (error)
		return error;
	all = (struct ibv_port_attr){
		.state = (unsigned int)al.state,
		.max_mtu = (unsigned int)al.max_mtu,
		.active_mtu = (unsigned int)al.active_mtu,
		.gid_tbl_len = at_most_int(al.gid_tbl_len),
		.port_cap_flags = al.cap_mask,
		.max_msg_sz = al.max_msg_size,
		.bad_pkey_cntr = al.bad_pkey_cntr,
		.qkey_viol_cntr = al.qkey_viol_cntr,
		.pkey_tbl_len = (uint16_t)least(al.pkey_tbl_len, UINT16_MAX),
		.lid = al.lid,
		.sm_lid = al.sm_lid,
		.lmc = al.lmc,
		.max_vl_num = vl_code(al.max_vl_num),
		.sm_sl = al.sm_sl,
		.subnet_timeout = al.subnet_timeout,
		.init_type_reply = al.init_type_reply,
		.active_width = (uint8_t)al.active_width,
		.active_speed = (uint8_t)al.active_speed,
		.phys_state = (uint8_t)al.phys_state,
		.link_layer = (uint8_t)al.link_layer,
		.flags = al.link_layer == IB_LINK_LAYER_ETHERNET ? IBV_QPF_GRH_REQUIRED : 0,
	};
	memset(attr, 0, bytes);
	memcpy(attr, &all, bytes < sizeof(all) ? bytes : sizeof(all));
	return 0;
}

/* For programs that were compiled before the struct had port_cap_flags2. */
LATEST(int, ibv_query_port)(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr)
{
	return verbs_query_port(context, port_num, attr,
				offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* ----------------------------------------------------------------------- GIDs */

LATEST(int, ibv_query_gid)(struct ibv_context *context, uint8_t port_num, int index,
			 union ibv_gid *gid)
{
	ib_gid al;

	/* The result of this function is -1, not errno. */
	if (index < 0) {
		errno = EINVAL;
		return -1;
	}
	if (verbs_result(al_query_gid(context_of(context)->ca, port_num, (uint32_t)index, &al)))
		return -1;
	memcpy(gid->raw, al.raw, sizeof(gid->raw));
	return 0;
}

static uint32_t gid_type(ib_gid_type type)
{
	return type == IB_GID_TYPE_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
}

/* Fills in an entry of bytes bytes, which may be those of another version. */
static void fill_entry(void *entry, size_t bytes, const ib_gid *gid, uint32_t index, uint32_t port,
		       ib_gid_type type)
{
	struct ibv_gid_entry all = { .gid_index = index, .port_num = port, .gid_type = gid_type(type) };

	memcpy(all.gid.raw, gid->raw, sizeof(all.gid.raw));
	memset(entry, 0, bytes);
	memcpy(entry, &all, bytes < sizeof(all) ? bytes : sizeof(all));
}

static bool is_empty(const ib_gid *gid)
{
	static const ib_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
	al_ca_h ca = context_of(context)->ca;
	ib_gid_type type;
	ib_gid gid;
	int error;

	if (flags || port_num > UINT8_MAX || !bytes)
		return verbs_fail(EINVAL);
	error = verbs_result(al_query_gid(ca, (uint8_t)port_num, gid_index, &gid));
	if (!error)
		error = verbs_result(al_query_gid_type(ca, (uint8_t)port_num, gid_index, &type));
	if (error)
		return error;
	if (is_empty(&gid))
		return verbs_fail(ENODATA);
	fill_entry(entry, bytes, &gid, gid_index, port_num, type);
	return 0;
}

/* Adds the GIDs of a port to a table that has num entries of room. Returns the new number of
 * entries; -1: errno says why not. */
static ssize_t add_gids(al_ca_h ca, uint8_t port_num, char *table, ssize_t num, size_t room,
			size_t bytes)
{
	struct ib_port_attr port;
	ib_gid_type type;
	ib_gid gid;

	if (verbs_result(al_query_port(ca, port_num, &port)))
		return -1;
	for (uint32_t i = 0; i < port.gid_tbl_len; i++) {
		if (al_query_gid(ca, port_num, i, &gid) || is_empty(&gid) ||
		    al_query_gid_type(ca, port_num, i, &type))
			continue;
		if ((size_t)num == room) {
			errno = EINVAL;
			return -1;
		}
		fill_entry(table + (size_t)num * bytes, bytes, &gid, i, port_num, type);
		num++;
	}
	return num;
}

/* The result is negative on failure: the number of errno. */
EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				    size_t room, uint32_t flags, size_t bytes)
{
	al_ca_h ca = context_of(context)->ca;
	struct ib_ca_attr attr;
	ssize_t num = 0;

	if (flags || !bytes)
		return -verbs_fail(EINVAL);
	if (verbs_result(al_query_ca(ca, &attr)))
		return -errno;
	for (uint32_t port = 1; port <= attr.num_ports && num >= 0; port++)
		num = add_gids(ca, (uint8_t)port, (char *)entries, num, room, bytes);
	return num < 0 ? -errno : num;
}

/* A private function of the interface, which ibv_devinfo and pyverbs use. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			      int *type)
{
	ib_gid_type al;

	if (verbs_result(al_query_gid_type(context_of(context)->ca, port_num, index, &al)))
		return -1;
	*type = al == IB_GID_TYPE_ROCE_V2 ? IBV_GID_TYPE_SYSFS_ROCE_V2 :
					    IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

/* --------------------------------------------------------------------- P_Keys */

LATEST(int, ibv_query_pkey)(struct ibv_context *context, uint8_t port_num, int index, be16 *pkey)
{
	uint16_t al;

	if (index < 0) {
		errno = EINVAL;
		return -1;
	}
	if (verbs_result(al_query_pkey(context_of(context)->ca, port_num, (uint32_t)index, &al)))
		return -1;
	*pkey = htons(al);
	return 0;
}

/* Unlike al_find_pkey(), the whole key counts. */
EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, be16 pkey)
{
	uint16_t al;

	for (uint32_t i = 0; i <= UINT16_MAX; i++) {
		if (verbs_result(al_query_pkey(context_of(context)->ca, port_num, i, &al)))
			return -1;
		if (al == ntohs(pkey))
			return (int)i;
	}
	return -1;
}
