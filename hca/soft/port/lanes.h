/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Virtual lanes of a port (lanes.c): which lane a packet of a service level leaves on, how many
 * lanes operate, and the weights of the lanes (IBTA 7.6). A subnet manager writes these registers
 * while packets pass; a reader sees the old or the new value of each. The packets that wait on
 * lanes are in fabric/output.c.
 */
#ifndef SOFT_LANES_H
#define SOFT_LANES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_mad.h>

#include "hca/soft/packet/packet.h"

#define LANES_CAP_CODE 4 /* PortInfo.VLCap: eight data lanes */
#define LANES_CAP      8u
#define LANE_WEIGHTS   8u /* entries of each table of weights (VLArbitrationHighCap, -LowCap) */

/* Tables of weights, as indices. */
enum lane_priority { PRIORITY_LOW, PRIORITY_HIGH };

struct lanes {
	/* the SLtoVLMappingTable of an HCA's port, as the big-endian number that the wire has */
	_Atomic uint64_t of_sl;
	/* data lanes that operate: lanes 0 to num - 1 */
	_Atomic uint8_t num;
	/* PortInfo.VLHighLimit: units of 4096 bytes; 255: no limit */
	_Atomic uint8_t high_limit;
	/* PortInfo.HOQLife: packets stay at the head of a lane for 4.096 us * 2^hoq_life; from 20
	 * on: without limit */
	_Atomic uint8_t hoq_life;
	/* PortInfo.VLStallCount: a lane stalls when so many packets in a row were too long at its
	 * head; 0: never */
	_Atomic uint8_t stall_count;
	/* entries of the VLArbitrationTable: lane in the low byte, weight in units of 64 bytes in
	 * the high byte */
	_Atomic uint16_t weight[2][LANE_WEIGHTS];
};

/*
 * Sets the registers of a port that no subnet manager has seen: all lanes operate, all service
 * levels are on lane 0, and no lane has a weight. (If fewer lanes operated, OpenSM would take each
 * link down once, to have more of them.)
 */
void lanes_init(struct lanes *lanes);
/* Takes over what a Set(PortInfo) has written. */
void lanes_set_info(struct lanes *lanes, const struct ib_port_info *info);
/* Reads or writes a part of the VLArbitrationTable. False: there is no such part. */
bool lanes_weights_attr(struct lanes *lanes, uint32_t part, bool set, uint8_t *data);

/* Returns the lane of a service level in an SLtoVLMappingTable; LANE_NONE: none (IBTA 7.6.6). */
static inline uint8_t lane_of_sl(uint64_t table, unsigned int sl)
{
	return (uint8_t)(table >> (60 - 4 * (sl & 15))) & 15;
}

static inline bool lane_operates(const struct lanes *lanes, uint8_t lane)
{
	return lane < atomic_load_explicit(&lanes->num, memory_order_relaxed);
}

/* Returns the lane on which packets of a service level leave; LANE_NONE: none that operates. */
static inline uint8_t lanes_choose(const struct lanes *lanes, unsigned int sl)
{
	const uint8_t lane =
		lane_of_sl(atomic_load_explicit(&lanes->of_sl, memory_order_relaxed), sl);

	return lane_operates(lanes, lane) ? lane : LANE_NONE;
}

#endif
