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

/* ---------------------------------------------------------------- addresses */

_Atomic uint32_t port_moves;

void port_set_lids(struct soft_port *port, uint16_t lid, uint8_t lmc)
{
	const uint32_t lids = lid | (uint32_t)lmc << 16;

	fmutex_lock(&ports_lock);
	if (atomic_load_explicit(&port->lids, memory_order_relaxed) != lids) {
		/* release: pairs with the acquire in port_lids() */
		atomic_store_explicit(&port->lids, lids, memory_order_release);
		/* release: pairs with the acquire in qp_follow_path(), which then sees the new LIDs
		 */
		atomic_fetch_add_explicit(&port_moves, 1, memory_order_release);
		port_event(port, IB_EVENT_LID_CHANGE);
	}
	fmutex_unlock(&ports_lock);
}

void port_set_pkeys(struct soft_port *port, uint32_t first, uint32_t num, const uint16_t *pkeys)
{
	bool changed = false;
	uint32_t i;

	fmutex_lock(&ports_lock);
	for (i = 0; i < num; i++)
		if (atomic_exchange(&port->pkeys[first + i], pkeys[i]) != pkeys[i])
			changed = true;
	if (changed)
		port_event(port, IB_EVENT_PKEY_CHANGE);
	fmutex_unlock(&ports_lock);
}

static uint64_t load_be64(const uint8_t *from)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | from[i];
	return value;
}

static uint64_t bytes_of(uint64_t value)
{
	uint8_t bytes[8];
	uint64_t word;
	int i;

	for (i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = (uint8_t)value;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* release: an odd gid_changes is seen with any word of the change; pairs with the acquires in
 * port_gid() */
static void store_gid(struct soft_port *port, uint32_t index, uint64_t prefix, uint64_t guid)
{
	atomic_store_explicit(&port->gids[index][0], guid ? bytes_of(prefix) : 0,
			      memory_order_release);
	atomic_store_explicit(&port->gids[index][1], bytes_of(guid), memory_order_release);
}

/* Begins a change of the GID table, which gids_changed() ends: port_gid() reads again meanwhile.
 * Under ports_lock. */
static void change_gids(struct soft_port *port)
{
	atomic_fetch_add_explicit(&port->gid_changes, 1, memory_order_relaxed);
}

static void gids_changed(struct soft_port *port)
{
	/* release: pairs with the acquire in port_gid() */
	atomic_fetch_add_explicit(&port->gid_changes, 1, memory_order_release);
	port_event(port, IB_EVENT_GID_CHANGE);
}

/* Returns the lower half of an entry. */
static uint64_t gid_guid(const struct soft_port *port, uint32_t index)
{
	ib_gid gid = port_gid(port, index);

	return load_be64(gid.raw + 8);
}

void port_set_prefix(struct soft_port *port, uint64_t prefix)
{
	uint32_t i;

	fmutex_lock(&ports_lock);
	if (atomic_exchange(&port->prefix, prefix) != prefix) {
		change_gids(port);
		for (i = 0; i < SOFT_MAX_GIDS; i++)
			store_gid(port, i, prefix, bytes_of(atomic_load(&port->gids[i][1])));
		gids_changed(port);
	}
	fmutex_unlock(&ports_lock);
}

void port_set_guid(struct soft_port *port, uint32_t index, uint64_t guid)
{
	fmutex_lock(&ports_lock);
	if (gid_guid(port, index) != guid) {
		change_gids(port);
		store_gid(port, index, atomic_load(&port->prefix), guid);
		gids_changed(port);
	}
	fmutex_unlock(&ports_lock);
}

ib_gid port_gid(const struct soft_port *port, uint32_t index)
{
	uint32_t before, after;
	uint64_t words[2];
	ib_gid gid = { { 0 } };

	if (index >= SOFT_MAX_GIDS)
		return gid;
	do {
		/* acquire: pairs with the release in gids_changed() */
		before = atomic_load_explicit(&port->gid_changes, memory_order_acquire);
		/* acquire: pairs with the releases in store_gid(); the count is read again after
		 * the words */
		words[0] = atomic_load_explicit(&port->gids[index][0], memory_order_acquire);
		words[1] = atomic_load_explicit(&port->gids[index][1], memory_order_acquire);
		after = atomic_load_explicit(&port->gid_changes, memory_order_relaxed);
	} while (UNLIKELY(before != after || before & 1));
	memcpy(gid.raw, words, sizeof(words));
	return gid;
}

void port_init(struct soft_port *port, uint32_t gids, bool plugged)
{
	uint32_t i;

	port->plugged = plugged;
	port->phys_asked = IB_PHYS_POLLING;
	if (!plugged)
		atomic_store(&port->state, IB_PORT_DOWN);
	else
		atomic_store(&port->state, port->ports->managed ? IB_PORT_INIT : IB_PORT_ACTIVE);
	port_info_init(port, port->ports->mtu);
	for (i = 0; i < gids; i++)
		store_gid(port, i, atomic_load(&port->prefix), port->guid + ((uint64_t)i << 4));
}

/* ------------------------------------------------------------------- states */

void port_lock(void)
{
	fmutex_lock(&ports_lock);
}

void port_unlock(void)
{
	fmutex_unlock(&ports_lock);
}

/* The event of each state. */
static const ib_event_type state_event[] = {
	[IB_PORT_DOWN] = IB_EVENT_PORT_DOWN,
	[IB_PORT_INIT] = IB_EVENT_PORT_INIT,
	[IB_PORT_ARMED] = IB_EVENT_PORT_ARMED,
	[IB_PORT_ACTIVE] = IB_EVENT_PORT_ACTIVE,
};

/* Changes the state, and raises the events of the states on the way up. A fall leads to Down only.
 */
static void set_state(struct soft_port *port, ib_port_state state)
{
	ib_port_state from = port_state(port);
	unsigned int step;

	if (from == state)
		return;
	atomic_store(&port->state, state);
	if (state == IB_PORT_DOWN)
		port_event(port, IB_EVENT_PORT_DOWN);
	else
		for (step = from + 1u; step <= (unsigned int)state; step++)
			port_event(port, state_event[step]);
}

/* True: nothing at this end keeps the link down. */
static bool is_ready(const struct soft_port *port)
{
	return port->plugged && !port->shutdown && port->phys_asked == IB_PHYS_POLLING;
}

/* A link has come up: the port waits in Init for its subnet manager, or is Active if the subnet has
 * none. */
static void come_up(struct soft_port *port)
{
	if (port_state(port) == IB_PORT_DOWN)
		set_state(port, port->ports->managed ? IB_PORT_INIT : IB_PORT_ACTIVE);
}

/* Sets the states of both ends of a cable: up if both ends are ready, else Down. */
static void update(struct soft_port *port)
{
	struct soft_port *far = port->cable;

	if (is_ready(port) && is_ready(far)) {
		come_up(port);
		come_up(far);
		return;
	}
	set_state(port, IB_PORT_DOWN);
	set_state(far, IB_PORT_DOWN);
}

ib_phys_state port_phys_state(const struct soft_port *port)
{
	if (port_state(port) != IB_PORT_DOWN)
		return IB_PHYS_LINK_UP;
	return port->shutdown ? IB_PHYS_DISABLED : (ib_phys_state)port->phys_asked;
}

/* True: a Set may ask for the logical state (IBTA 14.2.5.6, 7.2.7). */
static bool leads_to(ib_port_state from, ib_port_state to)
{
	switch (to) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return from == IB_PORT_INIT || from == IB_PORT_ARMED;
	case IB_PORT_ACTIVE:
		return from == IB_PORT_ARMED || from == IB_PORT_ACTIVE;
	default:
		return false;
	}
}

bool port_set_state(struct soft_port *port, ib_phys_state phys, ib_port_state state)
{
	bool legal;

	fmutex_lock(&ports_lock);
	legal = phys <= IB_PHYS_DISABLED && leads_to(port_state(port), state);
	if (legal && phys != IB_PHYS_NOP)
		port->phys_asked = (uint8_t)phys;
	if (legal && (phys != IB_PHYS_NOP || state == IB_PORT_DOWN)) {
		/* the link goes down, and trains again */
		set_state(port, IB_PORT_DOWN);
		set_state(port->cable, IB_PORT_DOWN);
		update(port);
	} else if (legal && state != IB_PORT_NOP) {
		set_state(port, state);
	}
	fmutex_unlock(&ports_lock);
	return legal;
}

void port_activate(struct soft_port *port)
{
	fmutex_lock(&ports_lock);
	if (port_state(port) == IB_PORT_ARMED)
		set_state(port, IB_PORT_ACTIVE);
	fmutex_unlock(&ports_lock);
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
	const struct port_lids own = port_lids(port);

	route->slid = (uint16_t)(own.base | (to->src_path_bits & ((1u << own.lmc) - 1)));
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

uint32_t port_gid_count(const struct soft_port *port)
{
	uint32_t count = SOFT_MAX_GIDS;

	while (count && !gid_guid(port, count - 1))
		count--;
	return count;
}

bool port_has_gid(const struct soft_port *port, const ib_gid *gid)
{
	uint32_t i;
	ib_gid own;

	for (i = 0; i < SOFT_MAX_GIDS; i++) {
		own = port_gid(port, i);
		if (!memcmp(&own, gid, sizeof(own)))
			return true;
	}
	return false;
}
