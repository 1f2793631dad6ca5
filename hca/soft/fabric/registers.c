/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registers of a switch (IBTA 14.2.5.4, 14.2.5.8, 14.2.5.10 and 14.2.5.12). */
#include "hca/soft/fabric/registers.h"

#include <string.h>

#include <iba/ib_hca.h>

#include "hca/soft/shared/base.h"

#define LINEAR_BLOCK 64u /* entries of a block */
#define MCAST_BLOCK  32u
#define LIFE_TIME    18 /* 4.096 us * 2^18: about one second */

static size_t ports_with_0(const struct switch_registers *r)
{
	return r->num_ports + 1u;
}

void switch_registers_reset(struct switch_registers *r)
{
	const bool enhanced = ib_switch_info_enhanced_port0(&r->info);
	uint32_t i;

	fmutex_lock(&r->lock);
	r->info = (struct ib_switch_info){
		.linear_fdb_cap = ib_be16_of(SWITCH_LINEAR_CAP),
		.mcast_fdb_cap = ib_be16_of(SWITCH_MCAST_CAP),
		.default_port = SWITCH_DROPS,
		.default_mcast_primary = SWITCH_DROPS,
		.default_mcast_not_primary = SWITCH_DROPS,
		.lids_per_port = ib_be16_of(1),
		.enforcement_cap = ib_be16_of(SWITCH_PKEYS),
	};
	ib_switch_info_set_enhanced_port0(&r->info, enhanced);
	fmutex_unlock(&r->lock);
	atomic_store_explicit(&r->life_time, LIFE_TIME, memory_order_relaxed);
	for (i = 0; i < ports_with_0(r) * ports_with_0(r); i++)
		atomic_store_explicit(&r->sl_to_vl[i], 0, memory_order_relaxed);
	atomic_store_explicit(&r->linear_top, 0, memory_order_relaxed);
	atomic_store_explicit(&r->mcast_top, 0, memory_order_relaxed);
	atomic_store_explicit(&r->state_change, false, memory_order_relaxed);
	for (i = 0; i < SWITCH_LINEAR_CAP; i++)
		atomic_store_explicit(&r->linear[i], SWITCH_DROPS, memory_order_relaxed);
	for (i = 0; i < SWITCH_MCAST_CAP * r->positions; i++)
		atomic_store_explicit(&r->mcast[i], 0, memory_order_relaxed);
}

al_status switch_registers_create(struct switch_registers *r, uint8_t num_ports, bool enhanced)
{
	memset(r, 0, sizeof(*r));
	r->num_ports = num_ports;
	r->positions = (uint8_t)(num_ports / 16 + 1);
	ib_switch_info_set_enhanced_port0(&r->info, enhanced);
	r->linear = al_alloc(SWITCH_LINEAR_CAP * sizeof(*r->linear));
	r->mcast = al_alloc((size_t)SWITCH_MCAST_CAP * r->positions * sizeof(*r->mcast));
	r->sl_to_vl = al_alloc(ports_with_0(r) * ports_with_0(r) * sizeof(*r->sl_to_vl));
	if (!r->linear || !r->mcast || !r->sl_to_vl) {
		switch_registers_destroy(r);
		return AL_INSUFFICIENT_MEMORY;
	}
	switch_registers_reset(r);
	return AL_SUCCESS;
}

void switch_registers_destroy(struct switch_registers *r)
{
	al_free(r->linear);
	al_free(r->mcast);
	al_free(r->sl_to_vl);
	memset(r, 0, sizeof(*r));
}

/* ------------------------------------------------------------------ attributes */

/* Writes the members of SwitchInfo that a Set may change. Under the lock. */
static void write_info(struct switch_registers *r, const struct ib_switch_info *from)
{
	r->info.default_port = from->default_port;
	r->info.default_mcast_primary = from->default_mcast_primary;
	r->info.default_mcast_not_primary = from->default_mcast_not_primary;
	atomic_store_explicit(&r->life_time, (uint8_t)ib_switch_info_life_time(from),
			      memory_order_relaxed);
	atomic_store_explicit(&r->linear_top, ib_be16_get(from->linear_fdb_top),
			      memory_order_relaxed);
	atomic_store_explicit(&r->mcast_top, ib_be16_get(from->mcast_fdb_top),
			      memory_order_relaxed);
	if (ib_switch_info_state_change(from))
		atomic_store_explicit(&r->state_change, false, memory_order_relaxed);
}

static uint16_t info_attr(struct switch_registers *r, uint32_t attr_mod, bool set, uint8_t *data)
{
	struct ib_switch_info info;

	(void)attr_mod; /* the agent has checked that the modifier is 0 */
	memcpy(&info, data, sizeof(info));
	if (set && ib_be16_get(info.linear_fdb_top) >= SWITCH_LINEAR_CAP)
		return IB_MAD_STATUS_BAD_FIELD;
	fmutex_lock(&r->lock);
	if (set)
		write_info(r, &info);
	info = r->info;
	info.linear_fdb_top = ib_be16_of((uint16_t)atomic_load(&r->linear_top));
	info.mcast_fdb_top = ib_be16_of((uint16_t)atomic_load(&r->mcast_top));
	ib_switch_info_set_state_change(&info, atomic_load(&r->state_change));
	ib_switch_info_set_life_time(&info, atomic_load(&r->life_time));
	fmutex_unlock(&r->lock);
	memset(data, 0, IB_SMP_DATA_BYTES);
	memcpy(data, &info, sizeof(info));
	return IB_MAD_STATUS_OK;
}

static uint16_t linear_attr(struct switch_registers *r, uint32_t attr_mod, bool set, uint8_t *data)
{
	struct ib_lft_block block;
	uint32_t i;

	_Static_assert(sizeof(block.port) == LINEAR_BLOCK, "a block has another size");
	if (attr_mod >= SWITCH_LINEAR_CAP / LINEAR_BLOCK)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(&block, data, sizeof(block));
	for (i = 0; i < LINEAR_BLOCK; i++) {
		_Atomic uint8_t *entry = &r->linear[attr_mod * LINEAR_BLOCK + i];

		if (set)
			atomic_store_explicit(entry, block.port[i], memory_order_relaxed);
		block.port[i] = atomic_load_explicit(entry, memory_order_relaxed);
	}
	memcpy(data, &block, sizeof(block));
	return IB_MAD_STATUS_OK;
}

static uint16_t mcast_attr(struct switch_registers *r, uint32_t attr_mod, bool set, uint8_t *data)
{
	const uint32_t at = attr_mod & 0x1ff, position = attr_mod >> 28;
	struct ib_mft_block block;
	uint32_t i;

	if (at >= SWITCH_MCAST_CAP / MCAST_BLOCK || position >= r->positions)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(&block, data, sizeof(block));
	for (i = 0; i < MCAST_BLOCK; i++) {
		_Atomic uint16_t *entry =
			&r->mcast[(at * MCAST_BLOCK + i) * r->positions + position];

		if (set)
			atomic_store_explicit(entry, ib_be16_get(block.ports[i]),
					      memory_order_relaxed);
		block.ports[i] = ib_be16_of(atomic_load_explicit(entry, memory_order_relaxed));
	}
	memcpy(data, &block, sizeof(block));
	return IB_MAD_STATUS_OK;
}

static uint16_t sl_to_vl_attr(struct switch_registers *r, uint32_t attr_mod, bool set,
			      uint8_t *data)
{
	const uint32_t in = attr_mod >> 8, out = attr_mod & 0xff;
	_Atomic uint64_t *entry;
	ib_be64 table;

	if (in > r->num_ports || out > r->num_ports)
		return IB_MAD_STATUS_BAD_FIELD;
	entry = &r->sl_to_vl[in * ports_with_0(r) + out];
	memcpy(&table, data, sizeof(table));
	if (set)
		atomic_store_explicit(entry, ib_be64_get(table), memory_order_relaxed);
	table = ib_be64_of(atomic_load_explicit(entry, memory_order_relaxed));
	memset(data, 0, IB_SMP_DATA_BYTES);
	memcpy(data, &table, sizeof(table));
	return IB_MAD_STATUS_OK;
}

uint16_t switch_attr(struct switch_registers *r, uint16_t attr_id, uint32_t attr_mod, bool set,
		     uint8_t *data)
{
	static const struct {
		uint16_t id;
		uint16_t (*attr)(struct switch_registers *r, uint32_t attr_mod, bool set,
				 uint8_t *data);
	} attrs[] = {
		{ IB_SMP_SWITCH_INFO, info_attr },
		{ IB_SMP_LFT, linear_attr },
		{ IB_SMP_MFT, mcast_attr },
		{ IB_SMP_SL_TO_VL, sl_to_vl_attr },
	};
	size_t i;

	for (i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		if (attrs[i].id == attr_id)
			return attrs[i].attr(r, attr_mod, set, data);
	return IB_MAD_STATUS_BAD_METHOD_ATTR;
}
