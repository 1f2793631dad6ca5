/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports: addresses, tables, and the states of both ends of a cable. Counters are in counters.c. */
#include "hca/soft/port/port.h"

#include <iba/ib_notice.h>
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
	struct ci_event event = { .type = type, .port_num = port->number };

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

void port_seen(struct soft_port *port, const void *mad, uint32_t length)
{
	fmutex_lock(&ports_lock);
	if (port->ports->ca)
		ib_mad_seen(port->ports->ca->ctx, port->number, mad, length);
	fmutex_unlock(&ports_lock);
}

/* ---------------------------------------------------------------- violations */

void port_notice(struct soft_port *port, const struct ib_notice *notice)
{
	const struct ports *ports = port->ports;

	if (ports->own)
		ports->own->raise(port, notice);
	else if (ports->agents == SOFT_AGENTS_AL && ports->ca)
		ib_port_trap(ports->ca->ctx, port->number, notice);
}

/* True: the subnet manager wants no traps about multicast datagrams (IBTA 14.2.5.6). */
static bool is_suppressed(const struct soft_port *port, const struct packet *pkt)
{
	return pkt->route.dlid >= IB_LID_MULTICAST_FIRST &&
	       pkt->route.dlid <= IB_LID_MULTICAST_LAST &&
	       ib_port_info_mcast_pkey_trap_suppress(&port->regs.info);
}

/* What a trap says of a packet with a bad key. */
static struct ib_bad_key bad_key(const struct packet *pkt, uint32_t key, uint32_t dest_qpn)
{
	return (struct ib_bad_key){
		.slid = pkt->route.slid,
		.dlid = pkt->route.dlid,
		.key = key,
		.src_qp = pkt->src_qpn,
		.dst_qp = dest_qpn,
		.sl = pkt->route.sl,
		.sgid = pkt->route.global ? &pkt->route.sgid : NULL,
		.dgid = pkt->route.global ? &pkt->route.dgid : NULL,
	};
}

void port_bad_key(struct soft_port *port, enum port_counter counter, const struct packet *pkt,
		  uint32_t dest_qpn)
{
	const struct ib_bad_key bad =
		bad_key(pkt, counter == CNT_BAD_PKEY ? pkt->pkey : pkt->qkey, dest_qpn);
	struct ib_notice notice;

	port_count(port, counter, counter == CNT_BAD_PKEY ? pkt->num : 1);
	if (port->ports->agents == SOFT_AGENTS_NONE)
		return;
	ib_notice_bad_key(&notice, counter == CNT_BAD_PKEY ? IB_TRAP_BAD_PKEY : IB_TRAP_BAD_QKEY,
			  &bad);
	fmutex_lock(&ports_lock);
	if (!is_suppressed(port, pkt))
		port_notice(port, &notice);
	fmutex_unlock(&ports_lock);
}

/*
 * The table is that of the HCA at the cable: a subnet manager writes the same P_Keys to both
 * (OpenSM: pkey_mgr_update_peer_port()). What comes in is the HCA's own P_Key, so a limited
 * member's packet passes by the limited entry. What goes out is compared as the HCA will compare
 * it.
 */
static bool has_matching_pkey(const struct soft_port *port, enum port_enforce direction,
			      uint16_t pkey)
{
	const uint16_t as_full = direction == ENFORCE_IN ? IB_PKEY_FULL_MEMBER : 0;
	uint32_t i = 0;

	while (i < SOFT_MAX_PKEYS && !pkey_matches(port_pkey(port, i), pkey | as_full))
		i++;
	return i < SOFT_MAX_PKEYS;
}

bool port_pkey_passes(struct soft_port *port, enum port_enforce direction, const struct packet *pkt)
{
	const struct ib_bad_key bad = bad_key(pkt, pkt->pkey, pkt->dest_qpn);
	struct ib_notice notice;

	if (has_matching_pkey(port, direction, pkt->pkey))
		return true;
	port_count(port, direction == ENFORCE_IN ? CNT_RCV_CONSTRAINT : CNT_XMIT_CONSTRAINT, 1);
	ib_notice_switch_bad_pkey(&notice, port_lid(port_of_hca(port, 0)), port->number, &bad);
	fmutex_lock(&ports_lock);
	if (!is_suppressed(port, pkt))
		port_notice(port_of_hca(port, 0), &notice);
	fmutex_unlock(&ports_lock);
	return false;
}

/* ------------------------------------------------------------- capabilities */

void port_set_caps(struct soft_port *port, uint32_t set, uint32_t clear)
{
	uint32_t before, caps;
	struct ib_notice notice;

	fmutex_lock(&ports_lock);
	before = atomic_load_explicit(&port->cap_mask, memory_order_relaxed);
	caps = (before | set) & ~clear;
	atomic_store_explicit(&port->cap_mask, caps, memory_order_relaxed);
	if (caps != before && port_state(port) >= IB_PORT_ARMED) {
		ib_notice_local_change(&notice, port_lid(port), caps,
				       ib_be16_get(port->regs.info.cap_mask2), 0);
		port_notice(port, &notice);
	}
	fmutex_unlock(&ports_lock);
}

/* ---------------------------------------------------------------- addresses */

_Atomic uint32_t port_moves;

/* Raises the event of a change of the port's tables. Under ports_lock. */
static void changed(struct soft_port *port, ib_event_type type, enum port_tell tell)
{
	if (tell == PORT_TELLS)
		port_event(port, type);
}

void port_set_lids(struct soft_port *port, uint16_t lid, uint8_t lmc, enum port_tell tell)
{
	const uint32_t lids = lid | (uint32_t)lmc << 16;

	fmutex_lock(&ports_lock);
	if (atomic_load_explicit(&port->lids, memory_order_relaxed) != lids) {
		/* release: pairs with the acquire in port_lids() */
		atomic_store_explicit(&port->lids, lids, memory_order_release);
		/* release: pairs with the acquire in qp_follow_path(), which then sees the new LIDs
		 */
		atomic_fetch_add_explicit(&port_moves, 1, memory_order_release);
		changed(port, IB_EVENT_LID_CHANGE, tell);
	}
	fmutex_unlock(&ports_lock);
}

void port_set_pkeys(struct soft_port *port, uint32_t first, uint32_t num, const uint16_t *pkeys,
		    enum port_tell tell)
{
	bool any = false;
	uint32_t i;

	fmutex_lock(&ports_lock);
	for (i = 0; i < num; i++)
		if (atomic_exchange(&port->pkeys[first + i], pkeys[i]) != pkeys[i])
			any = true;
	if (any)
		changed(port, IB_EVENT_PKEY_CHANGE, tell);
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

static void gids_changed(struct soft_port *port, enum port_tell tell)
{
	/* release: pairs with the acquire in port_gid() */
	atomic_fetch_add_explicit(&port->gid_changes, 1, memory_order_release);
	changed(port, IB_EVENT_GID_CHANGE, tell);
}

/* Returns the lower half of an entry. */
static uint64_t gid_guid(const struct soft_port *port, uint32_t index)
{
	ib_gid gid = port_gid(port, index);

	return load_be64(gid.raw + 8);
}

void port_set_prefix(struct soft_port *port, uint64_t prefix, enum port_tell tell)
{
	uint32_t i;

	fmutex_lock(&ports_lock);
	if (atomic_exchange(&port->prefix, prefix) != prefix) {
		change_gids(port);
		for (i = 0; i < SOFT_MAX_GIDS; i++)
			store_gid(port, i, prefix, bytes_of(atomic_load(&port->gids[i][1])));
		gids_changed(port, tell);
	}
	fmutex_unlock(&ports_lock);
}

void port_set_guid(struct soft_port *port, uint32_t index, uint64_t guid, enum port_tell tell)
{
	fmutex_lock(&ports_lock);
	if (gid_guid(port, index) != guid) {
		change_gids(port);
		store_gid(port, index, atomic_load(&port->prefix), guid);
		gids_changed(port, tell);
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
		atomic_store(&port->state,
			     port->ports->managed && port->number ? IB_PORT_INIT : IB_PORT_ACTIVE);
	port_info_init(port, port->ports->mtu);
	for (i = 0; i < gids; i++)
		store_gid(port, i, atomic_load(&port->prefix), port->guid + ((uint64_t)i << 4));
}

void port_init_ethernet(struct soft_port *port, uint64_t mac, const ib_gid *ips, uint32_t num)
{
	/* the modified EUI-64 of the address (RFC 4291, appendix A) */
	const uint64_t id = ((mac >> 24 ^ 0x020000) << 40) | 0xfffe000000ull | (mac & 0xffffff);
	uint32_t i;

	port->ethernet = true;
	for (i = 0; i < sizeof(port->mac); i++)
		port->mac[i] = (uint8_t)(mac >> (40 - 8 * i));
	store_gid(port, 0, SOFT_PREFIX, id);
	for (i = 0; i < num; i++)
		store_gid(port, i + 1, load_be64(ips[i].raw), load_be64(ips[i].raw + 8));
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
	if (state == IB_PORT_DOWN) {
		port_count(port, CNT_LINK_DOWNED, 1);
		port_event(port, IB_EVENT_PORT_DOWN);
	} else
		for (step = port->ethernet ? state : from + 1u; step <= (unsigned int)state; step++)
			port_event(port, state_event[step]);
}

/* Sets PortStateChange of a switch, and raises trap 128 of port 0 (IBTA 14.2.5.4, 14.2.5.1). */
static void tell_of_link(const struct soft_port *port)
{
	const struct ports *ports = port->ports;
	struct ib_notice notice;

	if (!ports->state_change)
		return;
	atomic_store(ports->state_change, true);
	ib_notice_link_state(&notice, port_lid(&ports->port[0]));
	port_notice(&ports->port[0], &notice);
}

/* Changes the state as the link asks, and not a Set. */
static void link_sets_state(struct soft_port *port, ib_port_state state)
{
	if (port_state(port) == state)
		return;
	set_state(port, state);
	tell_of_link(port);
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
		link_sets_state(port, port->ports->managed ? IB_PORT_INIT : IB_PORT_ACTIVE);
}

/* Sets the states of both ends of a cable: up if both ends are ready, else Down. */
static void update(struct soft_port *port)
{
	struct soft_port *far = port->cable;

	if (!port->number)
		return;
	if (is_ready(port) && is_ready(far)) {
		come_up(port);
		come_up(far);
		return;
	}
	link_sets_state(port, IB_PORT_DOWN);
	link_sets_state(far, IB_PORT_DOWN);
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

	if (!port->number)
		return true;
	fmutex_lock(&ports_lock);
	legal = phys <= IB_PHYS_DISABLED && leads_to(port_state(port), state);
	if (legal && phys != IB_PHYS_NOP)
		port->phys_asked = (uint8_t)phys;
	if (legal && (phys != IB_PHYS_NOP || state == IB_PORT_DOWN)) {
		/* the link goes down, and trains again */
		set_state(port, IB_PORT_DOWN);
		link_sets_state(port->cable, IB_PORT_DOWN);
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

void port_flap(struct soft_port *port)
{
	fmutex_lock(&ports_lock);
	link_sets_state(port, IB_PORT_DOWN);
	link_sets_state(port->cable, IB_PORT_DOWN);
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

	route->out_port = 0;
	route->slid = (uint16_t)(own.base | (to->src_path_bits & ((1u << own.lmc) - 1)));
	route->dlid = LIKELY(!port->ethernet) ? to->dlid : 0;
	if (UNLIKELY(route->dlid == IB_LID_PERMISSIVE)) /* directed route: the far port may not know
							our LID (IBTA 14.2.2.1) */
		route->slid = IB_LID_PERMISSIVE;
	route->sl = to->sl;
	route->lane = lanes_choose(&port->lanes, to->sl);
	route->global = to->global;
	if (LIKELY(!to->global))
		return;
	route->hop_limit = to->hop_limit;
	if (UNLIKELY(port->ethernet && !to->hop_limit)) /* as hosts of IP begin (RFC 1700) */
		route->hop_limit = 64;
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

bool port_is_destination(const struct soft_port *port, const struct route *route)
{
	if (LIKELY(!port->ethernet))
		return port_has_lid(port, route->dlid);
	return ib_gid_is_ip4(&route->sgid) == ib_gid_is_ip4(&route->dgid) &&
	       port_has_gid(port, &route->dgid);
}

bool port_is_source(const struct soft_port *port, const struct route *route)
{
	return LIKELY(!port->ethernet) ? port_has_lid(port, route->slid)
				       : port_has_gid(port, &route->sgid);
}

void port_mac_of(const struct soft_port *port, const ib_gid *gid, uint8_t mac[6])
{
	const uint8_t *at = gid->raw;

	if (at[0] == 0xff && at[10] == 0xff && at[11] == 0xff) /* a group of IPv4 (RFC 1112) */
		memcpy(mac, (uint8_t[]){ 1, 0, 0x5e, at[13] & 0x7f, at[14], at[15] }, 6);
	else if (at[0] == 0xff) /* a group of IPv6 (RFC 2464) */
		memcpy(mac, (uint8_t[]){ 0x33, 0x33, at[12], at[13], at[14], at[15] }, 6);
	else if (port_has_gid(port, gid))
		memcpy(mac, port->mac, 6);
	else if (port_has_gid(port->cable, gid))
		memcpy(mac, port->cable->mac, 6);
	else
		memcpy(mac, (uint8_t[]){ at[8] ^ 2, at[9], at[10], at[13], at[14], at[15] }, 6);
}
