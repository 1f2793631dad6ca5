/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Arbitration between the data lanes of a port. What waits on the lanes is in output.c. */
#include "hca/soft/fabric/arbiter.h"

#define UNIT      64u   /* bytes of one unit of weight */
#define HIGH_UNIT 4096u /* bytes of one unit of PortInfo.VLHighLimit */
#define UNLIMITED 255u  /* VLHighLimit: the high table may send for ever */
#define NO_TABLE  2u    /* arbiter.priority: the lane is in no table */

static uint32_t entry_of(const struct lanes *lanes, uint32_t priority, uint32_t i)
{
	return atomic_load_explicit(&lanes->weight[priority][i], memory_order_relaxed);
}

static uint32_t lane_bit(uint32_t entry)
{
	return 1u << (entry & 15);
}

static int32_t entry_bytes(uint32_t entry)
{
	return (int32_t)((entry >> 8) * UNIT);
}

/* Returns a bit for each lane that a table lists with a weight. */
static uint32_t listed(const struct lanes *lanes, uint32_t priority)
{
	uint32_t bits = 0, i, entry;

	for (i = 0; i < LANE_WEIGHTS; i++) {
		entry = entry_of(lanes, priority, i);
		if (entry_bytes(entry))
			bits |= lane_bit(entry);
	}
	return bits;
}

/* Goes on in a table to an entry whose lane is ready and may still send, and returns the lane.
 * LANE_NONE: there is none, since the table has changed meanwhile. */
static uint8_t take_turn(struct arbiter *a, const struct lanes *lanes, uint32_t priority,
			 uint32_t ready)
{
	uint32_t entry = entry_of(lanes, priority, a->turn[priority].entry), i;

	for (i = 0; i <= LANE_WEIGHTS; i++) {
		if (a->turn[priority].left > 0 && lane_bit(entry) & ready)
			return (uint8_t)(entry & 15);
		a->turn[priority].entry = (a->turn[priority].entry + 1) % LANE_WEIGHTS;
		entry = entry_of(lanes, priority, a->turn[priority].entry);
		a->turn[priority].left = entry_bytes(entry);
	}
	return LANE_NONE;
}

/* Returns the first lane that is ready behind the lane that has sent last. */
static uint8_t next_lane(const struct arbiter *a, uint32_t ready)
{
	const uint32_t behind = ready & ~((2u << a->lane) - 1);

	return (uint8_t)__builtin_ctz(behind ? behind : ready);
}

/* Chooses a table. The high table keeps the port until its limit is reached, and then gives the low
 * table the chance to send one packet. */
static uint8_t choose_table(struct arbiter *a, const struct lanes *lanes, uint32_t low,
			    uint32_t high)
{
	const uint32_t limit = atomic_load_explicit(&lanes->high_limit, memory_order_relaxed);
	/* a limit of 0 is one packet, however short */
	const int32_t budget = limit ? (int32_t)(limit * HIGH_UNIT) : 1;

	if (a->high_left > budget) /* the limit has been lowered */
		a->high_left = budget;
	if (high && (limit == UNLIMITED || a->high_left > 0))
		return PRIORITY_HIGH;
	if (!low && !high)
		return NO_TABLE;
	a->high_left = budget;
	return low ? PRIORITY_LOW : PRIORITY_HIGH;
}

uint8_t arbiter_choose(struct arbiter *a, const struct lanes *lanes, uint32_t ready)
{
	uint32_t low, high;

	a->priority = NO_TABLE;
	if (lanes) {
		low = listed(lanes, PRIORITY_LOW) & ready;
		high = listed(lanes, PRIORITY_HIGH) & ready;
		a->priority = choose_table(a, lanes, low, high);
	}
	if (a->priority != NO_TABLE) {
		a->lane = take_turn(a, lanes, a->priority, ready);
		if (a->lane != LANE_NONE)
			return a->lane;
		a->priority = NO_TABLE;
	}
	a->lane = next_lane(a, ready);
	return a->lane;
}

void arbiter_charge(struct arbiter *a, uint32_t bytes)
{
	if (a->priority == NO_TABLE)
		return;
	a->turn[a->priority].left -= (int32_t)((bytes + UNIT - 1) / UNIT * UNIT);
	/* without a limit nothing renews high_left */
	if (a->priority == PRIORITY_HIGH && a->high_left > 0)
		a->high_left -= (int32_t)bytes;
}
