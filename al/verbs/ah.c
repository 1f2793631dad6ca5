/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles, and the path back to a datagram's sender. Every call here but al_destroy_ah()
 * with AL_DESTROY_SYNC may be made in any context. */
#include <string.h>

#include "al/verbs/verbs.h"

#define IP4_BYTES 20 /* of an IPv4 header without options */

static void destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	ops->destroy_ah(obj->ci);
}

static const struct obj_type ah_type = {
	.id = AL_OBJ_AH,
	.size = sizeof(struct al_obj),
	.ci = CI_OBJ_AH,
	.rank = RANK_FIRST,
	.destroy = destroy,
};

al_status ah_attr_check(const struct al_dev *dev, const struct ib_ah_attr *attr)
{
	al_status status;

	if (!RESERVED_IS_ZERO(attr) || attr->pad)
		return ib_refuse(AL_INVALID_PARAMETER, "reserved or pad of the path is not zero");
	if (attr->static_rate > IB_RATE_600_GBPS || attr->static_rate == 1)
		return ib_refuse(AL_INVALID_PARAMETER, "static_rate is %u, which is no rate",
				 (unsigned int)attr->static_rate);
	status = check_most(AL_INVALID_PARAMETER, "sl", attr->sl, 15);
	if (!status)
		status = check_end_port(dev, "port_num of the path", attr->port_num);
	if (!status && !attr->dlid && dev->ports[attr->port_num].link_layer == IB_LINK_LAYER_INFINIBAND)
		status = ib_refuse(
			AL_INVALID_PARAMETER,
			"dlid is 0, which is no port's LID; ib_port_attr.lid of the peer's port, or a path record, has the LID");
	if (!status && !attr->is_global && dev->ports[attr->port_num].link_layer == IB_LINK_LAYER_ETHERNET)
		status = ib_refuse(
			AL_INVALID_PARAMETER,
			"is_global is false, and the port is Ethernet, where the GID of grh alone names the peer (al_query_gid() at the peer)");
	if (status || !attr->is_global)
		return status;
	status = check_most(AL_INVALID_PARAMETER, "flow_label", attr->grh.flow_label,
			    (1u << 20) - 1);
	return status ? status
		      : check_gid_index(dev, "sgid_index", attr->port_num, attr->grh.sgid_index);
}

al_status al_create_ah(al_pd_h pd, const struct ib_ah_attr *attr, al_ah_h *ah)
{
	struct al_call call;
	struct al_obj *obj;
	struct ci_ah *ci;
	al_status status;

	if (!attr || !ah)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", attr ? "ah" : "attr");
	status = call_begin_any(&call, pd, AL_OBJ_PD);
	if (status)
		return SETTLED(status);
	status = ah_attr_check(call.obj->dev, attr);
	if (status)
		goto out;
	status = obj_new(&ah_type, call.obj, call.obj->dev, NULL, &obj);
	if (status)
		goto out;
	ci = obj->ci;
	ci->pd = call.obj->ci;
	status = CALL_MODULE(&call, create_ah, ci, attr, acting_for);
	if (status)
		goto err;
	status = obj_publish(obj, ah);
	if (!status)
		goto out;
	call.ops->destroy_ah(ci);
err:
	obj_abort(obj);
out:
	return CALL_FINISH(&call, status);
}

al_status al_modify_ah(al_ah_h ah, const struct ib_ah_attr *attr)
{
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	status = call_begin_any(&call, ah, AL_OBJ_AH);
	if (status)
		return SETTLED(status);
	status = ah_attr_check(call.obj->dev, attr);
	if (!status)
		status = CALL_MODULE(&call, modify_ah, call.obj->ci, attr);
	return CALL_FINISH(&call, status);
}

al_status al_query_ah(al_ah_h ah, struct ib_ah_attr *attr)
{
	struct ib_ah_attr found = { 0 };
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	status = call_begin_any(&call, ah, AL_OBJ_AH);
	if (status)
		return SETTLED(status);
	status = CALL_MODULE(&call, query_ah, call.obj->ci, &found);
	if (!status)
		*attr = found;
	return CALL_FINISH(&call, status);
}

al_status al_destroy_ah(al_ah_h ah, al_destroyed_cb cb, void *context)
{
	return obj_destroy(ah, AL_OBJ_AH, cb, context);
}

/* ---------------------------------------- path back to a datagram's sender */

/* Finds the index of the GID to which a GRH was addressed, in the port's GID table. AL_NOT_FOUND.
 */
static al_status find_sgid(const struct al_call *call, uint8_t port, const uint8_t *dgid,
			   uint16_t *index)
{
	al_status status;

	if (ops_dead(call->ops))
		return ops_dead_status(call->ops);
	*index = 0;
	if (dgid[0] ==
	    0xff) /* dgid is a multicast GID: the reply has the port's own GID, at index 0 */
		return AL_SUCCESS;
	status = dev_find_gid(call->obj->dev, port, dgid, index);
	return status == AL_NOT_FOUND
		       ? ib_refuse(status,
				   "the GRH's destination GID is not in the GID table of port %u",
				   port)
		       : status;
}

/* True: the place of a GRH has an IPv4 header in its last 20 bytes, with the right checksum (IBTA
 * A17.4.5.1). The first 20 bytes may have any contents then. */
static bool is_ip4(const uint8_t *grh)
{
	const uint8_t *ip = grh + IB_GRH_BYTES - IP4_BYTES;
	uint32_t sum = 0;

	for (int i = 0; i < IP4_BYTES; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	return ip[0] == 0x45 && (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static al_status reverse_ip4(const struct al_call *call, const uint8_t *ip, struct ib_ah_attr *path)
{
	const ib_gid dgid = ib_gid_of_ip4(ip + 16);

	path->is_global = true;
	path->grh.traffic_class = ip[1];
	path->grh.hop_limit = 0xff;
	path->grh.dgid = ib_gid_of_ip4(ip + 12);
	return find_sgid(call, path->port_num, dgid.raw, &path->grh.sgid_index);
}

/* Fills path->grh with the reverse of a received GRH (IBTA 8.3). */
static al_status reverse_route(const struct al_call *call, const uint8_t *grh,
			       struct ib_ah_attr *path)
{
	struct ib_global_route *to = &path->grh;

	if (!grh)
		return ib_refuse(AL_INVALID_PARAMETER,
				 "grh is NULL, and the completion says that a GRH was received");
	if (call->obj->dev->ports[path->port_num].link_layer == IB_LINK_LAYER_ETHERNET && is_ip4(grh))
		return reverse_ip4(call, grh + IB_GRH_BYTES - IP4_BYTES, path);
	if (grh[0] >> 4 != 6)
		return ib_refuse(AL_INVALID_PARAMETER, "grh is no GRH: its IP version is %u, not 6",
				 grh[0] >> 4);
	path->is_global = true;
	to->traffic_class = (uint8_t)(grh[0] << 4 | grh[1] >> 4);
	to->flow_label = (uint32_t)(grh[1] & 0xf) << 16 | (uint32_t)grh[2] << 8 | grh[3];
	to->hop_limit = 0xff;
	memcpy(to->dgid.raw, grh + 8, sizeof(to->dgid.raw));
	return find_sgid(call, path->port_num, grh + 24, &to->sgid_index);
}

static al_status reverse_path(const struct al_call *call, uint8_t port, const struct ib_wc *wc,
			      const void *grh, struct ib_ah_attr *attr)
{
	struct ib_ah_attr path = {
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port,
	};
	al_status status = AL_SUCCESS;

	status = check_end_port(call->obj->dev, "port", port);
	if (status)
		return status;
	if (wc->status != IB_WC_SUCCESS || !(wc->opcode & IB_WC_RECV))
		return ib_refuse(
			AL_INVALID_PARAMETER,
			"wc is not of a successful receive: its status is \"%s\", its opcode \"%s\"",
			al_wc_status_str(wc->status), al_wc_opcode_str(wc->opcode));
	if (wc->wc_flags & IB_WC_GRH)
		status = reverse_route(call, grh, &path);
	if (!status)
		status = ah_attr_check(call->obj->dev, &path);
	if (!status)
		*attr = path;
	return status;
}

al_status al_init_ah_from_wc(al_ca_h ca, uint8_t port, const struct ib_wc *wc, const void *grh,
			     struct ib_ah_attr *attr)
{
	struct al_call call;
	al_status status;

	if (!wc || !attr)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", wc ? "attr" : "wc");
	status = call_begin_any(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = reverse_path(&call, port, wc, grh, attr);
	return CALL_FINISH(&call, status);
}

al_status al_create_ah_from_wc(al_pd_h pd, const struct ib_wc *wc, const void *grh, uint8_t port,
			       al_ah_h *ah)
{
	struct ib_ah_attr attr;
	struct al_call call;
	al_status status;

	if (!wc || !ah)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", wc ? "ah" : "wc");
	status = call_begin_any(&call, pd, AL_OBJ_PD);
	if (status)
		return SETTLED(status);
	status = reverse_path(&call, port, wc, grh, &attr);
	CALL_FINISH(&call, status);
	return status ? status : al_create_ah(pd, &attr, ah);
}
