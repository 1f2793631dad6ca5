/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The arbiter of a port: which data lane sends the next packet, by the port's tables of weights
 * (arbiter.c, IBTA 7.6.9). Lane 15 is not the arbiter's: its packets go before all others.
 */
#ifndef SOFT_ARBITER_H
#define SOFT_ARBITER_H

#include <stdint.h>

#include "hca/soft/port/lanes.h"

struct arbiter {
	/* by enum lane_priority: the entry of the table whose turn it is, and the bytes that the
	 * entry's lane may still send in this turn */
	struct {
		uint32_t entry;
		int32_t left;
	} turn[2];
	int32_t high_left; /* bytes that the high table may send before the low table has its chance
			    */
	uint8_t lane;      /* lane that arbiter_choose() has returned last */
	uint8_t priority;  /* table that has chosen the lane; NO_TABLE */
};

/*
 * Returns the lane that sends next. ready: a bit for each data lane that has a packet; at least one
 * is set. lanes: the port's registers; NULL: a port without registers, whose lanes take turns. A
 * lane that no table lists sends when no other lane is ready.
 */
uint8_t arbiter_choose(struct arbiter *a, const struct lanes *lanes, uint32_t ready);
/* Charges the lane that arbiter_choose() has returned with the bytes of the packet that it sends.
 */
void arbiter_charge(struct arbiter *a, uint32_t bytes);

#endif
