/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The door of the subnet management agent: method, versions, M_Key and attribute of a packet, and
 * the response. The attributes are in sma_port_info.c, sma_table.c and sma_trap.c.
 */
#include <string.h>

#include "mad/sma_private.h"
#include "mad/smi.h"

#define NS_PER_S UINT64_C(1000000000)

/* -------------------------------------------------------- the hardware's half */

uint16_t sma_hardware(const struct sma_node *node, uint8_t port, ib_mad_method method,
		      ib_smp_attr attr, uint32_t attr_mod, void *data)
{
	struct ci_local_mad_in in = {
		.mgmt_class = IB_CLASS_SUBN_LID,
		.method = (uint8_t)method,
		.attr_id = (uint16_t)attr,
		.attr_mod = attr_mod,
		.length = IB_SMP_DATA_BYTES,
	};
	struct ci_local_mad_out out = { 0 };
	al_status status;

	memcpy(in.data, data, IB_SMP_DATA_BYTES);
	status = node->ops->local_mad(node->hw, port, &in, &out);
	if (status == AL_UNSUPPORTED)
		return IB_MAD_STATUS_BAD_METHOD_ATTR;
	if (status != AL_SUCCESS)
		return IB_MAD_STATUS_BUSY;
	if (!(out.status & (IB_MAD_STATUS_CODE_MASK | IB_MAD_STATUS_BUSY))) {
		memset(data, 0, IB_SMP_DATA_BYTES);
		memcpy(data, out.data,
		       out.length < IB_SMP_DATA_BYTES ? out.length : IB_SMP_DATA_BYTES);
	}
	return out.status & (IB_MAD_STATUS_CODE_MASK | IB_MAD_STATUS_BUSY);
}

uint16_t sma_hardware_port_info(const struct sma_node *node, uint8_t port, struct ib_port_info *to)
{
	*to = (struct ib_port_info){ 0 };
	return sma_hardware(node, port, IB_METHOD_GET, IB_SMP_PORT_INFO, port, to);
}

uint16_t sma_hardware_switch_info(const struct sma_node *node, struct ib_switch_info *to)
{
	uint8_t data[IB_SMP_DATA_BYTES] = { 0 };
	uint16_t status = sma_hardware(node, 0, IB_METHOD_GET, IB_SMP_SWITCH_INFO, 0, data);

	memcpy(to, data, sizeof(*to));
	return status;
}

/* ----------------------------------------------------------- fields, modifiers */

uint16_t sma_merge(const struct sma_change *change, const struct sma_field *fields, size_t count,
		   void *next)
{
	for (size_t i = 0; i < count; i++) {
		const struct sma_field *field = &fields[i];
		unsigned int offset = field->at >> 8, width = field->at & 0xff;
		uint32_t now = ib_bits_get(change->now, offset, width);
		uint32_t value = ib_bits_get(change->want, offset, width);

		if (!(field->roles & change->role) || value == now)
			continue;
		if (field->choose && !field->choose(change, now, &value))
			return IB_MAD_STATUS_BAD_FIELD;
		ib_bits_set(next, offset, width, value);
	}
	return IB_MAD_STATUS_OK;
}

uint16_t sma_port_of_modifier(const struct sma_call *call, uint32_t others, uint8_t *port)
{
	uint32_t value = call->attr_mod & ~others;

	if (value > call->node->num_ports)
		return IB_MAD_STATUS_BAD_FIELD;
	*port = !value && !sma_is_switch(call->node) ? call->in_port : (uint8_t)value;
	return IB_MAD_STATUS_OK;
}

/* --------------------------------------------------------------- the node's own */

static uint16_t get_node_desc(struct sma_call *call)
{
	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(call->data, &call->node->desc, sizeof(call->data));
	return IB_MAD_STATUS_OK;
}

static uint16_t set_node_desc(struct sma_call *call)
{
	struct sma_node *node = call->node;

	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(&node->desc, call->in.data, sizeof(node->desc));
	if (node->ops->node_desc)
		node->ops->node_desc(node->hw, &node->desc);
	return IB_MAD_STATUS_OK;
}

static uint16_t get_node_info(struct sma_call *call)
{
	const struct sma_node *node = call->node;
	struct ib_node_info info = {
		.base_version = IB_MAD_BASE_VERSION,
		.class_version = IB_SMP_CLASS_VERSION,
		.node_type = (uint8_t)node->type,
		.num_ports = node->num_ports,
		.sys_image_guid = ib_be64_of(node->sys_image_guid),
		.node_guid = ib_be64_of(node->node_guid),
		.port_guid = ib_be64_of(sma_keeper(node, call->in_port)->guid),
		.partition_cap = ib_be16_of(node->partition_cap),
		.device_id = ib_be16_of(node->device_id),
		.revision = ib_be32_of(node->revision),
		.local_port_num = call->in_port,
		.vendor_id = ib_be24_of(node->vendor_id),
	};

	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	memset(call->data, 0, sizeof(call->data));
	memcpy(call->data, &info, sizeof(info));
	return IB_MAD_STATUS_OK;
}

/* ------------------------------------------------------------------- attributes */

/* Attributes of the agent. An attribute that is not here is answered as unsupported. */
static const struct attribute {
	ib_smp_attr id;
	bool switch_only;
	uint32_t cap;         /* enum ib_port_cap that the port needs */
	uint16_t cap2;        /* enum ib_port_cap2, as cap */
	uint16_t cap2_of_set; /* as cap2, for Set only */
	sma_handler get;
	sma_handler set; /* NULL: read-only */
} attributes[] = {
	{ IB_SMP_NOTICE, .cap = IB_PORT_CAP_NOTICE, .get = sma_get_notice, .set = sma_set_notice },
	{ IB_SMP_NODE_DESC, .cap2_of_set = IB_PORT_CAP2_SET_NODE_DESC, .get = get_node_desc,
	  .set = set_node_desc },
	{ IB_SMP_NODE_INFO, .get = get_node_info },
	{ IB_SMP_SWITCH_INFO, .switch_only = true, .get = sma_get_switch_info,
	  .set = sma_set_switch_info },
	{ IB_SMP_GUID_INFO, .get = sma_guid_info, .set = sma_guid_info },
	{ IB_SMP_PORT_INFO, .get = sma_get_port_info, .set = sma_set_port_info },
	{ IB_SMP_PKEY_TABLE, .get = sma_pkey_table, .set = sma_pkey_table },
	{ IB_SMP_SL_TO_VL, .cap = IB_PORT_CAP_SL_MAP, .get = sma_sl_to_vl, .set = sma_sl_to_vl },
	{ IB_SMP_VL_ARB, .get = sma_vl_arb, .set = sma_vl_arb },
	{ IB_SMP_LFT, .switch_only = true, .get = sma_lft, .set = sma_lft },
	{ IB_SMP_MFT, .switch_only = true, .get = sma_mft, .set = sma_mft },
	{ IB_SMP_LED_INFO, .cap = IB_PORT_CAP_LED_INFO, .get = sma_led_info, .set = sma_led_info },
	{ IB_SMP_PORT_INFO_EXT, .cap2 = IB_PORT_CAP2_PORT_INFO_EXT, .get = sma_get_port_info_ext,
	  .set = sma_set_port_info_ext },
};

static const struct attribute *find_attribute(uint16_t id)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (attributes[i].id == id)
			return &attributes[i];
	return NULL;
}

/* Has the port (a switch's port 0) these capabilities? Capability mask 2 counts only if the
 * capability mask says so. */
static uint16_t need_capability(const struct sma_call *call, uint32_t cap, uint16_t cap2)
{
	struct ib_port_info info;
	uint16_t status;

	if (!cap && !cap2)
		return IB_MAD_STATUS_OK;
	if (cap2)
		cap |= IB_PORT_CAP_CAP_MASK2;
	status = sma_hardware_port_info(call->node, sma_is_switch(call->node) ? 0 : call->in_port,
					&info);
	if (status)
		return status;
	if ((ib_be32_get(info.cap_mask) & cap) != cap ||
	    (ib_be16_get(info.cap_mask2) & cap2) != cap2)
		return IB_MAD_STATUS_BAD_METHOD_ATTR;
	return IB_MAD_STATUS_OK;
}

/* Get or Set of an attribute. Returns the response's status. */
static uint16_t serve(struct sma_call *call)
{
	const struct attribute *attribute = find_attribute(ib_be16_get(call->in.attr_id));
	bool set = call->in.method == IB_METHOD_SET;
	uint16_t status;

	if (!attribute || (attribute->switch_only && !sma_is_switch(call->node)) ||
	    (set && !attribute->set))
		return IB_MAD_STATUS_BAD_METHOD_ATTR;
	status = need_capability(call, attribute->cap,
				 attribute->cap2 | (set ? attribute->cap2_of_set : 0));
	if (status)
		return status;
	return set ? attribute->set(call) : attribute->get(call);
}

/* ------------------------------------------------------------------------ M_Key */

/* Counts a violation, starts the lease timer, and raises trap 256. */
static void refuse_key(struct sma_call *call, uint8_t port)
{
	struct sma_port *keeper = sma_keeper(call->node, port);
	struct ib_notice notice;

	if (keeper->mkey_violations < UINT16_MAX)
		keeper->mkey_violations++;
	if (!keeper->lease_end_ns && keeper->mkey_lease_period)
		keeper->lease_end_ns = call->now_ns + keeper->mkey_lease_period * NS_PER_S;
	sma_notice_bad_mkey(&notice, call->slid, &call->in);
	sma_raise(call->node, sma_is_switch(call->node) ? 0 : port, &notice, call->now_ns);
}

/* IBTA 14.2.4: is the M_Key of a Get, Set or TrapRepress good enough for a port? */
static bool key_admits(struct sma_call *call, uint8_t port)
{
	struct sma_port *keeper = sma_keeper(call->node, port);

	if (keeper->lease_end_ns && call->now_ns >= keeper->lease_end_ns) {
		keeper->lease_end_ns = 0;
		keeper->mkey_protect = 0;
	}
	if (!keeper->mkey || ib_be64_get(call->in.mkey) == keeper->mkey) {
		keeper->lease_end_ns = 0;
		return true;
	}
	if (call->in.method == IB_METHOD_GET && keeper->mkey_protect < 2)
		return true;
	refuse_key(call, port);
	return false;
}

/* PortInfo of an HCA's other port needs that port's M_Key, too. */
static bool key_admits_to_target(struct sma_call *call)
{
	uint8_t port;

	if (!key_admits(call, call->in_port))
		return false;
	if (sma_is_switch(call->node) || call->in.method == IB_METHOD_TRAP_REPRESS)
		return true;
	if (ib_be16_get(call->in.attr_id) != IB_SMP_PORT_INFO &&
	    ib_be16_get(call->in.attr_id) != IB_SMP_PORT_INFO_EXT)
		return true;
	port = (uint8_t)call->attr_mod;
	return !port || port > call->node->num_ports || port == call->in_port ||
	       key_admits(call, port);
}

/* --------------------------------------------------------------------- packets */

/* The outcome for a packet by its method alone: SMA_REPLY means that the method has a response.
 */
static enum sma_verdict sort_method(uint8_t method)
{
	if (method & IB_METHOD_RESP || method == IB_METHOD_TRAP)
		return SMA_FOR_MANAGER;
	if (method == IB_METHOD_SEND || method == IB_METHOD_REPORT)
		return SMA_DROP;
	return method == IB_METHOD_TRAP_REPRESS ? SMA_CONSUMED : SMA_REPLY;
}

static enum sma_verdict reply(const struct sma_call *call, uint16_t status, struct ib_smp *out)
{
	*out = call->in;
	out->method = call->in.method == IB_METHOD_SET ? IB_METHOD_GET_RESP
						       : call->in.method | IB_METHOD_RESP;
	out->base_version = IB_MAD_BASE_VERSION;
	memcpy(out->data, call->data, sizeof(out->data));
	if (out->mgmt_class == IB_CLASS_SUBN_DIR)
		status |= IB_SMP_DIRECTION;
	out->status = ib_be16_of(status);
	return SMA_REPLY;
}

static bool is_for_subnet_manager(const struct sma_call *call)
{
	return ib_be16_get(call->in.attr_id) == IB_SMP_SM_INFO &&
	       call->in.method != IB_METHOD_TRAP_REPRESS &&
	       need_capability(call, IB_PORT_CAP_SM, 0) == IB_MAD_STATUS_OK;
}

static enum sma_verdict answer(struct sma_call *call, struct ib_smp *out)
{
	const struct ib_smp *in = &call->in;
	enum sma_verdict verdict = sort_method(in->method);

	if (in->base_version != IB_MAD_BASE_VERSION || in->class_version != IB_SMP_CLASS_VERSION)
		return verdict == SMA_REPLY ? reply(call, IB_MAD_STATUS_BAD_VERSION, out)
					    : SMA_DROP;
	if (verdict == SMA_DROP || verdict == SMA_FOR_MANAGER)
		return verdict;
	if (verdict == SMA_REPLY && in->method != IB_METHOD_GET && in->method != IB_METHOD_SET)
		return reply(call, IB_MAD_STATUS_BAD_METHOD, out);
	if (is_for_subnet_manager(call))
		return SMA_FOR_MANAGER;
	if (!key_admits_to_target(call))
		return SMA_DROP;
	if (verdict == SMA_REPLY)
		return reply(call, serve(call), out);
	sma_trap_repress(call->node, sma_is_switch(call->node) ? 0 : call->in_port,
			 ib_be64_get(in->tid));
	return SMA_CONSUMED;
}

enum sma_verdict sma_answer(struct sma_node *node, uint8_t in_port, uint16_t slid,
			    const struct ib_smp *in, uint64_t now_ns, struct ib_smp *out)
{
	struct sma_call call = {
		.node = node,
		.in_port = in_port,
		.slid = slid,
		.now_ns = now_ns,
		.attr_mod = ib_be32_get(in->attr_mod),
		.in = *in,
	};

	if (in_port > node->num_ports || (!in_port && !sma_is_switch(node)))
		return SMA_DROP;
	if (in->mgmt_class != IB_CLASS_SUBN_LID && in->mgmt_class != IB_CLASS_SUBN_DIR)
		return SMA_DROP;
	/* only responses come back on a directed route */
	if (in->mgmt_class == IB_CLASS_SUBN_DIR && smi_returning(in) &&
	    !(in->method & IB_METHOD_RESP))
		return SMA_DROP;
	memcpy(call.data, in->data, sizeof(call.data));
	return answer(&call, out);
}
