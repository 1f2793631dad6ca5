/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* HCAs: listing, opening, querying and modifying HCAs and their ports. Arrival and removal are
 * al/object/device.c's. */
#include <string.h>

#include "al/verbs/verbs.h"

/* ------------------------------------------------------------ open, close */

/* True: the opening al sees the HCA in lists. Under tree_lock. */
static bool is_visible(const struct al_obj *al, const struct al_dev *dev)
{
	return !dev->removing && dev->agent == obj_agent(al) && !dev_is_switch(dev);
}

al_status al_get_ca_guids(al_h al, uint64_t *guids, size_t *count)
{
	struct al_call call;
	size_t room, visible = 0;
	al_status status;

	if (!count)
		return REFUSE(AL_INVALID_PARAMETER,
			      "count is NULL, and *count is the room of guids");
	if (*count && !guids)
		return REFUSE(AL_INVALID_PARAMETER, "guids is NULL, and *count is %zu", *count);
	status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return SETTLED(status);
	room = *count;
	pthread_mutex_lock(&tree_lock);
	for (struct al_dev *dev = dev_first(); dev; dev = dev->next)
		if (is_visible(call.obj, dev))
			visible++;
	if (visible <= room) {
		visible = 0;
		for (struct al_dev *dev = dev_first(); dev; dev = dev->next)
			if (is_visible(call.obj, dev))
				guids[visible++] = dev->guid;
	}
	pthread_mutex_unlock(&tree_lock);
	*count = visible;
	if (visible > room)
		status = ib_refuse(AL_BUFFER_TOO_SMALL, "*count is %zu, and there are %zu HCAs",
				   room, visible);
	return CALL_FINISH(&call, status);
}

/* Calls um_open_ca for a client of the agent that opens the HCA. A module without um_open_ca needs
 * no call. */
static al_status um_open(struct al_ca *ca, const struct ci_interface *ops)
{
	al_status status = AL_UNSUPPORTED;

	if (acting_for)
		status = check_status(ca->obj.dev, "um_open_ca",
				      ops->um_open_ca(ca->obj.ci, &ca->um_context, acting_for));
	if (status == AL_SUCCESS)
		ca->um_open = true;
	return status == AL_UNSUPPORTED ? AL_SUCCESS : status;
}

/* ------------------------------------------------- the capability IsSM (IBTA 14.2.5.6) */

/*
 * A port has IB_PORT_CAP_SM as long as an HCA handle has set the capability and not cleared it. So
 * the capability ends with the process that manages the subnet, also if the process is killed.
 */
static pthread_mutex_t managers_lock = PTHREAD_MUTEX_INITIALIZER;

/* Counts the handle as a manager of the port, or no longer. True: the port's capability changes.
 * Under managers_lock. */
static bool count_manager(struct al_ca *ca, uint8_t port, bool manages)
{
	const uint64_t bit = UINT64_C(1) << port % 64;
	uint32_t *managers = &ca->obj.dev->ports[port].managers;

	if (!(ca->manages[port / 64] & bit) != manages)
		return false;
	ca->manages[port / 64] ^= bit;
	*managers += manages ? 1 : UINT32_MAX;
	return *managers == manages;
}

/* Modifies a port, with IB_PORT_CAP_SM as the handle's. */
static al_status modify_port(struct al_call *call, uint8_t port, uint32_t mask,
			     const struct ib_port_modify *attr)
{
	struct al_ca *ca = (struct al_ca *)call->obj;
	const bool sets = mask & IB_PORT_MODIFY_CAP_MASK && attr->set_caps & IB_PORT_CAP_SM;
	const bool clears = mask & IB_PORT_MODIFY_CAP_MASK && attr->clear_caps & IB_PORT_CAP_SM;
	struct ib_port_modify change = *attr;
	uint64_t before;
	al_status status;

	if ((!sets && !clears) || call->obj->dev->agent) /* the agent's handle counts */
		return CALL_MODULE(call, modify_port, call->obj->ci, port, mask, attr);
	pthread_mutex_lock(&managers_lock);
	before = ca->manages[port / 64];
	if (!count_manager(ca, port, !clears)) {
		change.set_caps &= ~(uint32_t)IB_PORT_CAP_SM;
		change.clear_caps &= ~(uint32_t)IB_PORT_CAP_SM;
	}
	status = CALL_MODULE(call, modify_port, call->obj->ci, port, mask, &change);
	if (status && ca->manages[port / 64] != before)
		count_manager(ca, port, clears);
	pthread_mutex_unlock(&managers_lock);
	return status;
}

/* The handle ends, and with the handle the capability of the ports that it manages. */
static void end_managing(struct al_ca *ca, const struct ci_interface *ops)
{
	const struct ib_port_modify clear = { .clear_caps = IB_PORT_CAP_SM };

	pthread_mutex_lock(&managers_lock);
	for (uint32_t port = 0; port <= ca->obj.dev->attr.num_ports; port++)
		if (count_manager(ca, (uint8_t)port, false))
			ops->modify_port(ca->obj.ci, (uint8_t)port, IB_PORT_MODIFY_CAP_MASK,
					 &clear);
	pthread_mutex_unlock(&managers_lock);
}

static bool is_manager(const struct al_ca *ca)
{
	return ca->manages[0] | ca->manages[1] | ca->manages[2] | ca->manages[3];
}

/* Closes the HCA handle: um_close_ca if um_open_ca was called, and the handle's reference on the
 * module. */
static void destroy(struct al_obj *obj, const struct ci_interface *ops)
{
	struct al_ca *ca = (struct al_ca *)obj;

	if (is_manager(ca))
		end_managing(ca, ops);
	if (ca->um_open)
		ops->um_close_ca(obj->ci, ca->um_context);
	if (!obj_internal(obj))
		ci_module_put(obj->dev->reg->module);
}

static const struct obj_type ca_type = {
	.id = AL_OBJ_CA,
	.size = sizeof(struct al_ca),
	.ci = OBJ_NO_CI,
	.rank = RANK_CA,
	.cascades = true,
	.destroy = destroy,
};

/* Opens dev. The caller is inside a call on dev (dev_enter()), which keeps dev->reg. The library's
 * own handle keeps no module loaded: al/mgmt closes the handle when the HCA is removed. */
static al_status open_dev(struct al_obj *al, struct al_dev *dev, const struct ci_interface *ops,
			  void *context, al_ca_h *ca)
{
	struct al_obj *obj;
	al_status status = obj_new(&ca_type, al, dev, context, &obj);

	if (status)
		return status;
	if (!obj_internal(obj) && !ci_module_get(dev->reg->module)) {
		status = ib_refuse(AL_NOT_FOUND, "the HCA's module is being unloaded");
		goto err;
	}
	obj->ci = dev->reg->ca;
	status = um_open((struct al_ca *)obj, ops);
	if (!status)
		status = obj_publish(obj, ca);
	if (!status)
		return AL_SUCCESS;
	destroy(obj, ops);
err:
	obj_abort(obj);
	return status;
}

al_status ca_open(struct al_obj *al, struct al_dev *dev, void *context, al_ca_h *ca)
{
	const struct ci_interface *ops = dev_enter(dev);
	al_status status = ops_dead(ops) ? ib_refuse(AL_NOT_FOUND, "the HCA has been removed")
					 : open_dev(al, dev, ops, context, ca);

	dev_leave(dev, ops);
	return status;
}

static ca_finder find_remote;

void ca_set_finder(ca_finder find)
{
	find_remote = find;
}

/* Finds the HCA or switch of an opening, and takes a reference. A client of an agent registers a
 * switch when a program asks for the switch by its GUID. */
static al_status find_dev(const struct al_obj *al, uint64_t guid, struct al_dev **dev)
{
	void *agent = ((const struct al_instance *)al)->agent;
	al_status status;

	*dev = dev_find(agent, guid);
	if (*dev)
		return AL_SUCCESS;
	status = agent ? find_remote(agent, guid) : AL_NOT_FOUND;
	if (!status)
		*dev = dev_find(agent, guid);
	if (!*dev && (!status || status == AL_NOT_FOUND))
		return ib_refuse(AL_NOT_FOUND, "no HCA of GUID 0x%016llx is here",
				 (unsigned long long)guid);
	return status;
}

al_status al_open_ca(al_h al, uint64_t guid, void *context, al_ca_h *ca)
{
	struct al_call call;
	struct al_dev *dev;
	al_status status;

	if (!ca)
		return REFUSE(AL_INVALID_PARAMETER, "ca is NULL");
	status = call_begin(&call, al, AL_OBJ_AL);
	if (status)
		return SETTLED(status);
	status = find_dev(call.obj, guid, &dev);
	if (!status) {
		status = ca_open(call.obj, dev, context, ca);
		dev_put(dev);
	}
	return CALL_FINISH(&call, status);
}

al_status al_close_ca(al_ca_h ca, al_destroyed_cb cb, void *context)
{
	return obj_destroy(ca, AL_OBJ_CA, cb, context);
}

/* ---------------------------------------------------------------- queries */

static al_status begin_port(struct al_call *call, al_ca_h ca, uint8_t port)
{
	al_status status = call_begin(call, ca, AL_OBJ_CA);

	if (status)
		return status;
	status = check_port(call->obj->dev, "port", port);
	if (status)
		call_end(call);
	return status;
}

al_status al_query_ca(al_ca_h ca, struct ib_ca_attr *attr)
{
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = query_ca_checked(&call, attr);
	return CALL_FINISH(&call, status);
}

al_status al_query_port(al_ca_h ca, uint8_t port, struct ib_port_attr *attr)
{
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	status = begin_port(&call, ca, port);
	if (status)
		return SETTLED(status);
	status = query_port_checked(&call, port, attr);
	return CALL_FINISH(&call, status);
}

al_status al_query_gid(al_ca_h ca, uint8_t port, uint32_t index, ib_gid *gid)
{
	ib_gid found = { { 0 } };
	struct al_call call;
	al_status status;

	if (!gid)
		return REFUSE(AL_INVALID_PARAMETER, "gid is NULL");
	status = begin_port(&call, ca, port);
	if (status)
		return SETTLED(status);
	status = check_gid_index(call.obj->dev, "index", port, index);
	if (!status)
		status = CALL_MODULE(&call, query_gid, call.obj->ci, port, index, &found);
	if (!status)
		*gid = found;
	return CALL_FINISH(&call, status);
}

al_status al_query_gid_type(al_ca_h ca, uint8_t port, uint32_t index, ib_gid_type *type)
{
	struct al_call call;
	al_status status;

	if (!type)
		return REFUSE(AL_INVALID_PARAMETER, "type is NULL");
	status = begin_port(&call, ca, port);
	if (status)
		return SETTLED(status);
	status = check_gid_index(call.obj->dev, "index", port, index);
	if (!status && ops_dead(call.ops))
		status = ops_dead_status(call.ops);
	if (!status)
		*type = call.obj->dev->ports[port].link_layer == IB_LINK_LAYER_ETHERNET ? IB_GID_TYPE_ROCE_V2
							       : IB_GID_TYPE_IB;
	return CALL_FINISH(&call, status);
}

al_status al_query_pkey(al_ca_h ca, uint8_t port, uint32_t index, uint16_t *pkey)
{
	struct al_call call;
	uint16_t found = 0;
	al_status status;

	if (!pkey)
		return REFUSE(AL_INVALID_PARAMETER, "pkey is NULL");
	status = begin_port(&call, ca, port);
	if (status)
		return SETTLED(status);
	status = check_pkey_index(call.obj->dev, "index", port, index);
	if (!status)
		status = CALL_MODULE(&call, query_pkey, call.obj->ci, port, index, &found);
	if (!status)
		*pkey = found;
	return CALL_FINISH(&call, status);
}

al_status al_find_gid(al_ca_h ca, const ib_gid *gid, uint8_t *port, uint32_t *index)
{
	struct al_call call;
	struct al_dev *dev;
	al_status status;
	ib_gid found;

	if (!gid || !port || !index)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL",
			      !gid    ? "gid"
			      : !port ? "port"
				      : "index");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	dev = call.obj->dev;
	for (uint32_t p = ci_first_port(&dev->attr); p <= dev->attr.num_ports; p++)
		for (uint32_t i = 0; i < dev->ports[p].gid_tbl_len; i++) {
			status = CALL_MODULE(&call, query_gid, call.obj->ci, (uint8_t)p, i, &found);
			if (status)
				goto out;
			if (memcmp(&found, gid, sizeof(found)))
				continue;
			*port = (uint8_t)p;
			*index = i;
			goto out;
		}
	status = ib_refuse(AL_NOT_FOUND, "the GID is in no GID table of the HCA");
out:
	return CALL_FINISH(&call, status);
}

al_status al_find_pkey(al_ca_h ca, uint8_t port, uint16_t pkey, uint32_t *index)
{
	uint32_t limited = UINT32_MAX;
	struct al_call call;
	al_status status;
	uint16_t found;

	if (!index)
		return REFUSE(AL_INVALID_PARAMETER, "index is NULL");
	status = begin_port(&call, ca, port);
	if (status)
		return SETTLED(status);
	for (uint32_t i = 0; i < call.obj->dev->ports[port].pkey_tbl_len; i++) {
		status = CALL_MODULE(&call, query_pkey, call.obj->ci, port, i, &found);
		if (status)
			goto out;
		if (!(pkey & IB_PKEY_VALUE_MASK) || (found ^ pkey) & IB_PKEY_VALUE_MASK)
			continue;
		if (found & IB_PKEY_FULL_MEMBER) {
			*index = i;
			goto out;
		}
		if (limited == UINT32_MAX)
			limited = i;
	}
	if (limited == UINT32_MAX)
		status = ib_refuse(AL_NOT_FOUND,
				   "the P_Key %#06x is not in the P_Key table of port %u", pkey,
				   port);
	else
		*index = limited;
out:
	return CALL_FINISH(&call, status);
}

al_status al_port_link_layer(al_ca_h ca, uint8_t port, ib_link_layer *layer)
{
	struct ib_port_attr attr;
	al_status status;

	if (!layer)
		return REFUSE(AL_INVALID_PARAMETER, "layer is NULL");
	status = al_query_port(ca, port, &attr);
	if (!status)
		*layer = attr.link_layer;
	return status;
}

/* ---------------------------------------------------------------- changes */

al_status al_modify_ca(al_ca_h ca, uint32_t mask, const struct ib_ca_attr *attr)
{
	const uint32_t known = IB_CA_MODIFY_SYS_IMAGE_GUID | IB_CA_MODIFY_NODE_DESC;
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	if (mask & ~known)
		return REFUSE(AL_INVALID_PARAMETER,
			      "mask has the bits %#x, which name no attribute", mask & ~known);
	if (!memchr(attr->node_desc, 0, sizeof(attr->node_desc)))
		return REFUSE(AL_INVALID_PARAMETER, "node_desc has no zero byte at its end");
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = CALL_MODULE(&call, modify_ca, call.obj->ci, mask, attr);
	return CALL_FINISH(&call, status);
}

al_status al_modify_port(al_ca_h ca, uint8_t port, uint32_t mask, const struct ib_port_modify *attr)
{
	const uint32_t known = IB_PORT_MODIFY_BRING_UP * 2 - 1;
	struct al_call call;
	al_status status;

	if (!attr)
		return REFUSE(AL_INVALID_PARAMETER, "attr is NULL");
	if (mask & ~known)
		return REFUSE(AL_INVALID_PARAMETER,
			      "mask has the bits %#x, which name no attribute", mask & ~known);
	if (!RESERVED_IS_ZERO(attr))
		return REFUSE(AL_INVALID_PARAMETER, RESERVED_NOT_ZERO);
	status = begin_port(&call, ca, port);
	if (status)
		return SETTLED(status);
	status = modify_port(&call, port, mask, attr);
	return CALL_FINISH(&call, status);
}

al_status al_vendor_call(al_ca_h ca, uint32_t code, const void *in, uint32_t in_len, void *out,
			 uint32_t *out_len)
{
	struct ci_vendor_call vendor = { .code = code, .in = in, .in_len = in_len, .out = out };
	struct al_call call;
	al_status status;

	if (in_len && !in)
		return REFUSE(AL_INVALID_PARAMETER, "in is NULL, and in_len is %u", in_len);
	if ((out && !out_len) || (out_len && *out_len && !out))
		return REFUSE(AL_INVALID_PARAMETER,
			      "one of out and out_len is given without the other");
	vendor.out_len = out_len ? *out_len : 0;
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	status = CALL_MODULE(&call, vendor_call, call.obj->ci, &vendor, acting_for);
	if (!status && vendor.out_len > (out_len ? *out_len : 0))
		status = report_module_error(
			call.obj->dev, "vendor_call of code %#x wrote %u bytes to a buffer of %u",
			code, vendor.out_len, out_len ? *out_len : 0);
	if (!status && out_len)
		*out_len = vendor.out_len;
	return CALL_FINISH(&call, status);
}
