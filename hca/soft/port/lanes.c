/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registers of the virtual lanes of a port. The other registers of a port are in info.c. */
#include "hca/soft/port/lanes.h"

#include <string.h>

void lanes_init(struct lanes *lanes)
{
	uint32_t priority, i;

	atomic_store_explicit(&lanes->of_sl, 0, memory_order_relaxed);
	atomic_store_explicit(&lanes->num, LANES_CAP, memory_order_relaxed);
	atomic_store_explicit(&lanes->high_limit, 0, memory_order_relaxed);
	atomic_store_explicit(&lanes->hoq_life, 0, memory_order_relaxed);
	atomic_store_explicit(&lanes->stall_count, 0, memory_order_relaxed);
	for (priority = PRIORITY_LOW; priority <= PRIORITY_HIGH; priority++)
		for (i = 0; i < LANE_WEIGHTS; i++)
			atomic_store_explicit(&lanes->weight[priority][i], 0, memory_order_relaxed);
}

void lanes_set_info(struct lanes *lanes, const struct ib_port_info *info)
{
	static const uint8_t num[] = { 1, 1, 2, 4, 8, 15 }; /* by PortInfo.OperationalVLs */
	const uint32_t code = ib_port_info_operational_vls(info);

	atomic_store_explicit(&lanes->num, num[code < sizeof(num) ? code : 1],
			      memory_order_relaxed);
	atomic_store_explicit(&lanes->high_limit, info->vl_high_limit, memory_order_relaxed);
	atomic_store_explicit(&lanes->hoq_life, (uint8_t)ib_port_info_hoq_life(info),
			      memory_order_relaxed);
	atomic_store_explicit(&lanes->stall_count, (uint8_t)ib_port_info_vl_stall_count(info),
			      memory_order_relaxed);
}

bool lanes_weights_attr(struct lanes *lanes, uint32_t part, bool set, uint8_t *data)
{
	struct ib_vl_arb_table table = { 0 };
	_Atomic uint16_t *weight;
	uint32_t i;

	/* the second parts begin at entry 32, which no port has */
	if (part != IB_VL_ARB_LOW_1 && part != IB_VL_ARB_HIGH_1)
		return false;
	weight = lanes->weight[part == IB_VL_ARB_HIGH_1 ? PRIORITY_HIGH : PRIORITY_LOW];
	if (set)
		memcpy(&table, data, sizeof(table));
	for (i = 0; set && i < LANE_WEIGHTS; i++)
		atomic_store_explicit(&weight[i],
				      (uint16_t)(table.entry[i].vl | table.entry[i].weight << 8),
				      memory_order_relaxed);
	memset(&table, 0, sizeof(table));
	for (i = 0; i < LANE_WEIGHTS; i++) {
		const uint16_t entry = atomic_load_explicit(&weight[i], memory_order_relaxed);

		table.entry[i].vl = (uint8_t)entry;
		table.entry[i].weight = (uint8_t)(entry >> 8);
	}
	memcpy(data, &table, sizeof(table));
	return true;
}
