/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a subnet manager reads and sets at a switch as a whole: SwitchInfo, the forwarding tables
 * and the mapping of service levels, in their forms on the wire (registers.c). The Access Layer's
 * subnet management agent has checked a Set (mad/sma.h). What belongs to one port is in
 * port/info.h.
 */
#ifndef SOFT_REGISTERS_H
#define SOFT_REGISTERS_H

#include <stdatomic.h>

#include <iba/ib_mad.h>

#include "hca/soft/port/lanes.h"
#include "hca/soft/shared/lock.h"

#define SWITCH_LINEAR_CAP 49152u /* entries of the linear table: all unicast LIDs */
#define SWITCH_MCAST_CAP  1024u  /* entries of the multicast table: LIDs from 0xc000 on */
#define SWITCH_DROPS      255u   /* in the linear table: the switch drops the packet */
#define SWITCH_PKEYS      32u    /* P_Keys that the switch can enforce at an external port */

/*
 * Lookups take no lock: the entries of both forwarding tables, and how far the tables are valid,
 * are atomics, so a lookup meets the old or the new value of an entry. So are the tables of lanes.
 */
struct switch_registers {
	uint8_t num_ports;     /* external ports; constant */
	uint8_t positions;     /* groups of 16 ports, port 0 counted; constant */
	struct fmutex lock;    /* guards info */
	struct ib_switch_info info; /* but for linear_fdb_top, mcast_fdb_top and the bit state_change */
	/* SLtoVLMappingTables as the wire has them (port/lanes.h), by input port * (num_ports + 1)
	 * + output port */
	_Atomic uint64_t *sl_to_vl;
	_Atomic uint8_t life_time;     /* SwitchInfo.LifeTimeValue */
	_Atomic uint32_t linear_top;   /* packets for LIDs above are dropped */
	_Atomic uint32_t mcast_top;    /* SwitchInfo.MulticastFDBTop; 0: the whole table is valid */
	_Atomic bool state_change;     /* SwitchInfo.PortStateChange */
	_Atomic uint8_t *linear;       /* by LID: the port to leave by */
	_Atomic uint16_t *mcast;       /* by (LID - 0xc000) * positions + position: a bit for each port */
};

/* Allocates the tables, and sets all registers as switch_registers_reset() does. AL_INSUFFICIENT_MEMORY. */
al_status switch_registers_create(struct switch_registers *r, uint8_t num_ports, bool enhanced);
void switch_registers_destroy(struct switch_registers *r);
/* Sets all registers to the values of a switch that no subnet manager has seen: the switch forwards nothing. */
void switch_registers_reset(struct switch_registers *r);
/*
 * Reads or writes SwitchInfo, a block of a forwarding table, or a mapping of service levels. data: the attribute,
 * IB_SMP_DATA_BYTES; after a write the attribute as it is now. Returns an enum ib_mad_status:
 * IB_MAD_STATUS_BAD_METHOD_ATTR if the attribute is none of these, IB_MAD_STATUS_BAD_FIELD if there is no such block or port.
 */
uint16_t switch_attr(struct switch_registers *r, uint16_t attr_id, uint32_t attr_mod, bool set, uint8_t *data);

/* Returns the port by which the switch forwards a unicast LID, or SWITCH_DROPS. */
static inline uint32_t switch_lookup(const struct switch_registers *r, uint32_t lid)
{
	/* linear_top is below SWITCH_LINEAR_CAP */
	if (lid > atomic_load_explicit(&r->linear_top, memory_order_relaxed))
		return SWITCH_DROPS;
	return atomic_load_explicit(&r->linear[lid], memory_order_relaxed);
}

/* Returns a bit for each port 16 * position to 16 * position + 15 to which the switch copies packets for a multicast
 * LID. */
static inline uint32_t switch_lookup_group(const struct switch_registers *r, uint32_t mlid,
					   uint32_t position)
{
	const uint32_t top = atomic_load_explicit(&r->mcast_top, memory_order_relaxed);
	const uint32_t entry = mlid - IB_LID_MULTICAST_FIRST;

	if (entry >= SWITCH_MCAST_CAP || (top && mlid > top))
		return 0;
	return atomic_load_explicit(&r->mcast[entry * r->positions + position],
				    memory_order_relaxed);
}

/* Returns the lane on which packets of a service level leave by a port; LANE_NONE: none. */
static inline uint8_t switch_lane(const struct switch_registers *r, uint32_t in, uint32_t out,
				  unsigned int sl)
{
	return lane_of_sl(atomic_load_explicit(&r->sl_to_vl[in * (r->num_ports + 1u) + out],
					       memory_order_relaxed),
			  sl);
}

/* Notes that the state machine of a link has changed a port's state. */
static inline void switch_state_changed(struct switch_registers *r)
{
	atomic_store_explicit(&r->state_change, true, memory_order_relaxed);
}

#endif
