/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address handles: everything here may be called from any context. */
#include "al/verbs/verbs.h"

al_status ah_attr_check(const struct al_dev *dev, const struct ib_ah_attr *attr)
{
	if (!RESERVED_IS_ZERO(attr) || attr->pad || attr->sl > 15 ||
	    attr->static_rate > IB_RATE_600_GBPS || attr->static_rate == 1)
		return AL_INVALID_PARAMETER;
	if (!attr->port_num || attr->port_num > dev->attr.num_ports)
		return AL_INVALID_PORT;
	if (attr->is_global && attr->grh.flow_label >> 20)
		return AL_INVALID_PARAMETER;
	if (attr->is_global && attr->grh.sgid_index >= dev->ports[attr->port_num].gid_tbl_len)
		return AL_INVALID_GID_INDEX;
	return AL_SUCCESS;
}

al_status al_create_ah(al_pd_h pd, const struct ib_ah_attr *attr, al_ah_h *ah)
{
	struct al_call call;
	struct al_obj *obj;
	struct ci_ah *ci;
	al_status status;

	if (!attr || !ah)
		return AL_INVALID_PARAMETER;
	status = call_begin_any(&call, pd, AL_OBJ_PD);
	if (status)
		return status;
	status = ah_attr_check(call.obj->dev, attr);
	if (status)
		goto out;
	status = obj_new(AL_OBJ_AH, call.obj, call.obj->dev, NULL, &obj);
	if (status)
		goto out;
	ci = obj->ci;
	ci->pd = call.obj->ci;
	status = call.ops->create_ah(ci, attr, NULL);
	if (status)
		goto err;
	status = obj_publish(obj, ah);
	if (!status)
		goto out;
	call.ops->destroy_ah(ci);
err:
	obj_abort(obj);
out:
	call_end(&call);
	return status;
}

al_status al_modify_ah(al_ah_h ah, const struct ib_ah_attr *attr)
{
	struct al_call call;
	al_status status;

	if (!attr)
		return AL_INVALID_PARAMETER;
	status = call_begin_any(&call, ah, AL_OBJ_AH);
	if (status)
		return status;
	status = ah_attr_check(call.obj->dev, attr);
	if (!status)
		status = call.ops->modify_ah(call.obj->ci, attr);
	call_end(&call);
	return status;
}

al_status al_query_ah(al_ah_h ah, struct ib_ah_attr *attr)
{
	struct ib_ah_attr found = { 0 };
	struct al_call call;
	al_status status;

	if (!attr)
		return AL_INVALID_PARAMETER;
	status = call_begin_any(&call, ah, AL_OBJ_AH);
	if (status)
		return status;
	status = call.ops->query_ah(call.obj->ci, &found);
	if (!status)
		*attr = found;
	call_end(&call);
	return status;
}

al_status al_destroy_ah(al_ah_h ah, al_destroyed_cb cb, void *context)
{
	return obj_destroy(ah, AL_OBJ_AH, cb, context);
}

void ah_destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	ops->destroy_ah(obj->ci);
}
