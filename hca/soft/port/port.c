/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports: addresses, tables, states and what they do to the other end of the cable. */

#include "hca/soft/port/port.h"

#include <string.h>

#include "hca/soft/base/config.h"
#include "hca/soft/object/hca.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

/*
 * Guards plugged and shutdown of all ports, and whom an HCA's events go to. Events are raised with
 * it held, so that two changes are told in their order; that is no danger, since an upcall waits
 * for nothing.
 */
static struct fmutex ports_lock;

static void port_event(struct soft_port *port, ib_event_type type)
{
	struct ci_ca *ca = port->hca->ca;
	struct ci_event event = { .type = type, .port_num = port->num };

	if (!ca)
		return;
	event.object_ctx = ca->ctx;
	ib_dispatch_event(&event);
}

void port_start(void)
{
	ports_lock = (struct fmutex){ 0 };
}

void port_tell(struct soft_hca *hca, struct ci_ca *ca)
{
	fmutex_lock(&ports_lock);
	hca->ca = ca;
	fmutex_unlock(&ports_lock);
}

void port_raise(struct soft_port *port, ib_event_type type)
{
	fmutex_lock(&ports_lock);
	port_event(port, type);
	fmutex_unlock(&ports_lock);
}

void port_init(struct soft_port *port)
{
	port->plugged = true;
	atomic_store(&port->state, IB_PORT_ACTIVE);
}

/* What a port is told when it comes up, step by step. */
static const ib_event_type up_events[] = { IB_EVENT_PORT_INIT, IB_EVENT_PORT_ARMED,
					   IB_EVENT_PORT_ACTIVE };

static void set_state(struct soft_port *port, bool up)
{
	ib_port_state state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	size_t i;

	if (port_state(port) == state)
		return;
	atomic_store(&port->state, state);
	if (!up)
		port_event(port, IB_EVENT_PORT_DOWN);
	else
		for (i = 0; i < sizeof(up_events) / sizeof(*up_events); i++)
			port_event(port, up_events[i]);
}

/* Makes the states of both ends of a cable what plugs and shutdowns say. */
static void update(struct soft_port *port)
{
	struct soft_port *far = port->cable;
	bool up = port->plugged && far->plugged && !port->shutdown && !far->shutdown;

	set_state(port, up);
	set_state(far, up);
}

void port_plug(struct soft_port *port, bool in)
{
	fmutex_lock(&ports_lock);
	port->plugged = in;
	update(port);
	fmutex_unlock(&ports_lock);
}

void port_route(const struct soft_port *port, const struct address *to, struct route *route)
{
	route->slid = (uint16_t)(port->lid | (to->src_path_bits & ((1u << port->lmc) - 1)));
	route->dlid = to->dlid;
	route->sl = to->sl;
	route->global = to->global;
	if (LIKELY(!to->global))
		return;
	route->hop_limit = to->hop_limit;
	route->class_flow = to->class_flow;
	route->sgid = port_gid(port, to->sgid_index);
	route->dgid = to->dgid;
}

/* ------------------------------------------------------------- operations */

static ib_mtu mtu_code(uint32_t bytes)
{
	unsigned int code;

	for (code = IB_MTU_256; ib_mtu_bytes(code) < bytes; code++)
		;
	return (ib_mtu)code;
}

al_status port_query(struct ci_ca *ca, uint8_t num, struct ib_port_attr *attr)
{
	struct soft_port *port = hca_port(ca_hca(ca), num);
	bool up = port_state(port) == IB_PORT_ACTIVE;

	*attr = (struct ib_port_attr){
		.port_guid = port->guid,
		.subnet_prefix = port->prefix,
		.state = port_state(port),
		.phys_state = up ? IB_PHYS_LINK_UP : IB_PHYS_POLLING,
		.link_layer = IB_LINK_LAYER_INFINIBAND,
		.max_mtu = IB_MTU_4096,
		.active_mtu = mtu_code(port->hca->conf.mtu),
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
		.lid = port->lid,
		.lmc = port->lmc,
		.subnet_timeout = 18,
		.max_vl_num = 1,
	};
	counters_read(port, &attr->counters);
	return AL_SUCCESS;
}

static void put_be64(uint8_t *to, uint64_t value)
{
	int i;

	for (i = 7; i >= 0; i--, value >>= 8)
		to[i] = (uint8_t)value;
}

ib_gid port_gid(const struct soft_port *port, uint32_t index)
{
	ib_gid gid = { { 0 } };

	if (index >= port->hca->conf.gids)
		return gid;
	put_be64(gid.raw, port->prefix);
	put_be64(gid.raw + 8, port->guid + ((uint64_t)index << 4));
	return gid;
}

bool port_has_gid(const struct soft_port *port, const ib_gid *gid)
{
	uint32_t i;
	ib_gid own;

	for (i = 0; i < port->hca->conf.gids; i++) {
		own = port_gid(port, i);
		if (!memcmp(&own, gid, sizeof(own)))
			return true;
	}
	return false;
}

al_status port_query_gid(struct ci_ca *ca, uint8_t num, uint32_t index, ib_gid *gid)
{
	*gid = port_gid(hca_port(ca_hca(ca), num), index);
	return AL_SUCCESS;
}

al_status port_query_pkey(struct ci_ca *ca, uint8_t num, uint32_t index, uint16_t *pkey)
{
	*pkey = hca_port(ca_hca(ca), num)->pkeys[index];
	return AL_SUCCESS;
}

al_status port_modify(struct ci_ca *ca, uint8_t num, uint32_t mask,
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
	if (mask & (IB_PORT_MODIFY_SHUTDOWN | IB_PORT_MODIFY_BRING_UP)) {
		fmutex_lock(&ports_lock);
		port->shutdown = !(mask & IB_PORT_MODIFY_BRING_UP);
		update(port);
		fmutex_unlock(&ports_lock);
	}
	return AL_SUCCESS;
}
