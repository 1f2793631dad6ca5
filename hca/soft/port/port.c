/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports: addresses, tables, and the states of both ends of a cable. Counters are in counters.c. */
#include "hca/soft/port/port.h"

#include <string.h>

#include "hca/soft/packet/packet.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

/*
 * Guards plugged and shutdown of all ports, and ports.ca of all HCAs. A thread that changes a port raises the port's
 * event with this lock held, so events have the order of the changes. The lock can not deadlock there, since an
 * upcall waits for nothing.
 */
static struct fmutex ports_lock;

static void port_event(struct soft_port *port, ib_event_type type)
{
	struct ci_ca *ca = port->ports->ca;
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

void port_tell(struct ports *ports, struct ci_ca *ca)
{
	fmutex_lock(&ports_lock);
	ports->ca = ca;
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

/* The events of a port that comes up, in order. */
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

/* Sets the states of both ends of a cable: Active if both ends are plugged and not shut down, else Down. */
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

void port_shut(struct soft_port *port, bool down)
{
	fmutex_lock(&ports_lock);
	port->shutdown = down;
	update(port);
	fmutex_unlock(&ports_lock);
}

void port_route(const struct soft_port *port, const struct address *to, struct route *route)
{
	route->slid = (uint16_t)(port->lid | (to->src_path_bits & ((1u << port->lmc) - 1)));
	route->dlid = to->dlid;
	if (UNLIKELY(to->dlid == IB_LID_PERMISSIVE)) /* directed route: the far port may not know
							our LID (IBTA 14.2.2.1) */
		route->slid = IB_LID_PERMISSIVE;
	route->sl = to->sl;
	route->global = to->global;
	if (LIKELY(!to->global))
		return;
	route->hop_limit = to->hop_limit;
	route->class_flow = to->class_flow;
	route->sgid = port_gid(port, to->sgid_index);
	route->dgid = to->dgid;
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

	if (index >= port->ports->gids)
		return gid;
	put_be64(gid.raw, port->prefix);
	put_be64(gid.raw + 8, port->guid + ((uint64_t)index << 4));
	return gid;
}

bool port_has_gid(const struct soft_port *port, const ib_gid *gid)
{
	uint32_t i;
	ib_gid own;

	for (i = 0; i < port->ports->gids; i++) {
		own = port_gid(port, i);
		if (!memcmp(&own, gid, sizeof(own)))
			return true;
	}
	return false;
}
