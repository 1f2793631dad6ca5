/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The management agents of a node, with any sequence of datagrams. The first byte describes the node. Each step has
 * four bytes and a piece of a datagram: the action, port, offset and length of the piece. The piece is written over
 * the datagram of the step before, so that an input changes a few bytes at a time, and the agents' state lasts.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mad/gsi.h"
#include "mad/pma.h"
#include "mad/sma.h"
#include "mad/smi.h"
#include "fuzz.h"

#define PORTS 4

/* Bits of the first byte. */
enum { IS_SWITCH = 1, HAS_KEY = 2, PROTECT_AT = 2, CAPABLE = 16, ENHANCED = 32 };

/* The action of a step: the low bits of its first byte; the other bits advance the time. */
enum { SM_RECEIVE, SM_SEND, SM_ANSWER, PERF, UNSERVED, TIME, RAISE, REPRESS, STEPS };

struct world {
	struct sma_node sma;
	struct sma_port sma_port[PORTS + 1];
	struct pma_node pma;
	struct pma_port pma_port[PORTS + 1];
	struct smi_node smi;
	struct ib_port_info info[PORTS + 1];
	struct ib_switch_info switch_info;
	unsigned int sets;
	uint64_t now_ns;
	struct ib_mad mad;
};

static void check(bool good)
{
	if (!good)
		abort();
}

/* ------------------------------------------------------------------ the hardware */

static bool lid_is_unicast(ib_be16 lid)
{
	return ib_be16_get(lid) >= IB_LID_UNICAST_FIRST && ib_be16_get(lid) <= IB_LID_UNICAST_LAST;
}

/* The agent's guarantees about a PortInfo that the hardware gets. */
static void take_port_info(struct ib_port_info *now, const struct ib_port_info *set)
{
	uint32_t state = ib_port_info_port_state(set), old = ib_port_info_port_state(now);
	uint32_t phys = ib_port_info_phys_state(set), lmc = ib_port_info_lmc(set);

	check(!memcmp(&set->lid, &now->lid, 2) || lid_is_unicast(set->lid));
	check(!memcmp(&set->master_sm_lid, &now->master_sm_lid, 2) ||
	      lid_is_unicast(set->master_sm_lid));
	check(!(ib_be16_get(set->lid) & ((1u << lmc) - 1)));
	check(set->link_width_enabled && !(set->link_width_enabled & ~now->link_width_supported));
	check(!(ib_port_info_link_speed_enabled(set) & ~ib_port_info_link_speed_supported(now)));
	check(ib_port_info_neighbor_mtu(set) &&
	      ib_port_info_neighbor_mtu(set) <= ib_port_info_mtu_cap(now));
	check(ib_port_info_operational_vls(set) &&
	      ib_port_info_operational_vls(set) <= ib_port_info_vl_cap(now));
	check(state <= 1 || (state == 3 && old == 2) || (state == 4 && old == 3));
	check(phys <= 3 && (!phys || state <= 1));
	check(!ib_be64_get(set->mkey) && !ib_port_info_mkey_protect(set));
	check(!memcmp(&set->cap_mask, &now->cap_mask, 4) && set->guid_cap == now->guid_cap);
	*now = *set;
	/* so that every state is reached: Down becomes Initialize */
	ib_port_info_set_port_state(now, state == 0 ? old : state == 1 ? 2 : state);
	ib_port_info_set_phys_state(now, phys ? phys : IB_PHYS_LINK_UP);
	ib_port_info_set_client_reregister(now, 0);
}

static void take_switch_info(struct ib_switch_info *now, const struct ib_switch_info *set)
{
	check(ib_be16_get(set->linear_fdb_top) < ib_be16_get(now->linear_fdb_cap));
	check(!memcmp(&set->linear_fdb_cap, &now->linear_fdb_cap, 6));
	*now = *set;
}

static al_status local_mad(void *hw, uint8_t port, const struct ci_local_mad_in *in,
			   struct ci_local_mad_out *out)
{
	struct world *w = hw;
	bool set = in->method == IB_METHOD_SET;
	void *data = NULL;
	size_t length = 0;

	check(port <= PORTS && (port || w->smi.is_switch) && in->length == IB_SMP_DATA_BYTES);
	check(set || in->method == IB_METHOD_GET);
	w->sets += set;
	out->length = IB_SMP_DATA_BYTES;
	memcpy(out->data, in->data, IB_SMP_DATA_BYTES);
	if (in->attr_id == IB_SMP_PORT_INFO) {
		check(in->attr_mod == port);
		if (set)
			take_port_info(&w->info[port], (const struct ib_port_info *)in->data);
		data = &w->info[port];
		length = sizeof(w->info[port]);
	}
	if (in->attr_id == IB_SMP_SWITCH_INFO) {
		check(w->smi.is_switch && !port);
		if (set)
			take_switch_info(&w->switch_info, (const struct ib_switch_info *)in->data);
		data = &w->switch_info;
		length = sizeof(w->switch_info);
	}
	check(in->attr_id != IB_SMP_LFT || in->attr_mod < 4);
	check(in->attr_id != IB_SMP_MFT || in->attr_mod < 2);
	check(in->attr_id != IB_SMP_GUID_INFO || in->attr_mod < 2);
	if (data)
		memcpy(out->data, data, length);
	return AL_SUCCESS;
}

static bool count(void *hw, uint8_t port, struct ib_port_counters *to)
{
	const struct world *w = hw;

	check(port <= PORTS);
	*to = (struct ib_port_counters){ .rcv_packets = w->now_ns,
					 .xmit_bytes = w->now_ns * 3,
					 .link_downed = 300 };
	return port != 0;
}

static const struct sma_ops sma_ops = { .local_mad = local_mad };
static const struct pma_ops pma_ops = { .counters = count };

static void set_up_port(struct ib_port_info *info, uint8_t what)
{
	info->lid = ib_be16_of(8);
	info->master_sm_lid = ib_be16_of(1);
	info->cap_mask = ib_be32_of(what & CAPABLE ? UINT32_MAX : 0);
	info->cap_mask2 = ib_be16_of(what & CAPABLE ? UINT16_MAX : 0);
	info->link_width_enabled = info->link_width_supported = 3;
	ib_port_info_set_link_speed_supported(info, 7);
	ib_port_info_set_link_speed_enabled(info, 7);
	ib_port_info_set_port_state(info, IB_PORT_ACTIVE);
	ib_port_info_set_mtu_cap(info, IB_MTU_4096);
	ib_port_info_set_neighbor_mtu(info, IB_MTU_2048);
	ib_port_info_set_vl_cap(info, 4);
	ib_port_info_set_operational_vls(info, 1);
	info->vl_arb_high_cap = 40;
	info->vl_arb_low_cap = 8;
	info->guid_cap = 10;
}

static void set_up(struct world *w, uint8_t what)
{
	w->smi = (struct smi_node){ .is_switch = what & IS_SWITCH, .num_ports = PORTS };
	w->sma = (struct sma_node){ .ops = &sma_ops,
				    .hw = w,
				    .type = what & IS_SWITCH ? IB_NODE_SWITCH : IB_NODE_CA,
				    .num_ports = PORTS,
				    .partition_cap = 40,
				    .ports = w->sma_port };
	w->pma = (struct pma_node){ .ops = &pma_ops,
				    .hw = w,
				    .is_switch = what & IS_SWITCH,
				    .num_ports = PORTS,
				    .ports = w->pma_port };
	for (int i = 0; i <= PORTS; i++) {
		set_up_port(&w->info[i], what);
		w->sma_port[i].mkey = what & HAS_KEY ? 0x4141414141414141 : 0;
		w->sma_port[i].mkey_protect = what >> PROTECT_AT & 3;
		w->sma_port[i].mkey_lease_period = 2;
	}
	w->switch_info.linear_fdb_cap = ib_be16_of(0x100);
	w->switch_info.mcast_fdb_cap = ib_be16_of(0x40);
	w->switch_info.enforcement_cap = ib_be16_of(0x20);
	ib_switch_info_set_enhanced_port0(&w->switch_info, !!(what & ENHANCED));
	w->mad.hdr.base_version = w->mad.hdr.class_version = 1;
}

/* ------------------------------------------------------------------------- steps */

static void check_way(const struct world *w, enum smi_verdict verdict, const struct smi_way *way)
{
	const struct ib_smp *smp = (const struct ib_smp *)&w->mad;

	check((verdict == SMI_FORWARD) == (way->port != 0) || verdict == SMI_DROP);
	check(way->port <= PORTS);
	if (verdict != SMI_DROP && smp->mgmt_class == IB_CLASS_SUBN_DIR)
		check(smp->hop_count <= IB_SMP_HOPS_MAX && smp->hop_ptr <= smp->hop_count + 1);
}

static void answer(struct world *w, uint8_t port)
{
	const struct ib_smp *smp = (const struct ib_smp *)&w->mad;
	const struct sma_port *keeper = &w->sma_port[w->smi.is_switch ? 0
						     : port <= PORTS  ? port
								      : 1];
	bool refused = keeper->mkey && ib_be64_get(smp->mkey) != keeper->mkey;
	unsigned int sets = w->sets;
	struct ib_smp out;
	enum sma_verdict verdict = sma_answer(&w->sma, port, 9, smp, w->now_ns, &out);

	check(!refused || w->sets == sets);
	check(keeper->mkey_protect <= 3 && keeper->num_traps <= SMA_TRAPS_MAX &&
	      keeper->num_notices <= SMA_NOTICES_MAX);
	if (verdict != SMA_REPLY)
		return;
	check(out.method & IB_METHOD_RESP && !(smp->method & IB_METHOD_RESP));
	check(!memcmp(&out.tid, &smp->tid, sizeof(out.tid)) &&
	      !memcmp(&out.attr_id, &smp->attr_id, 8));
	check(smi_returning(&out) == (smp->mgmt_class == IB_CLASS_SUBN_DIR));
	check(!(ib_be16_get(out.status) & ~(IB_SMP_DIRECTION | IB_MAD_STATUS_CODE_MASK)));
	memcpy(&w->mad, &out, sizeof(out));
}

static void send_trap(struct world *w, uint8_t port)
{
	uint64_t due = sma_trap_due(&w->sma, port);
	struct sma_destination to;
	struct ib_smp trap;
	bool sent = sma_trap_next(&w->sma, port, w->now_ns, &trap, &to);

	check(!sent ||
	      (due <= w->now_ns && to.dlid && to.dlid <= IB_LID_UNICAST_LAST && trap.method == 5));
	check(!sent || sma_trap_due(&w->sma, port) > w->now_ns);
}

static void raise_trap(struct world *w, uint8_t port)
{
	struct ib_notice notice;

	memcpy(&notice, &w->mad, sizeof(notice));
	sma_raise(&w->sma, port, &notice, w->now_ns);
}

static void step(struct world *w, unsigned int what, uint8_t port)
{
	uint8_t own = w->smi.is_switch ? 0 : (uint8_t)(1 + port % PORTS);
	struct ib_smp *smp = (struct ib_smp *)&w->mad;
	struct smi_way way;

	switch (what) {
	case SM_RECEIVE:
		check_way(w, smi_receive(&w->smi, port, smp, &way), &way);
		break;
	case SM_SEND:
		check_way(w, smi_send(&w->smi, port, 5, smp, &way), &way);
		break;
	case SM_ANSWER:
		answer(w, port);
		break;
	case PERF:
		pma_answer(&w->pma, port, &w->mad, w->now_ns, &w->mad);
		break;
	case UNSERVED:
		gsi_answer_unserved(&w->mad, &w->mad);
		break;
	case TIME:
		send_trap(w, own);
		pma_poll(&w->pma, own, w->now_ns);
		break;
	case RAISE:
		raise_trap(w, own);
		break;
	default:
		sma_trap_repress(&w->sma, own, ib_be64_get(w->mad.hdr.tid));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w;

	if (!size)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return 0;
	set_up(w, *data++);
	for (size--; size >= 4;) {
		unsigned int what = data[0] % STEPS, port = data[1], at = data[2], length = data[3];

		w->now_ns += UINT64_C(1) << data[0] / STEPS;
		data += 4;
		size -= 4;
		length = length > size ? (unsigned int)size : length;
		length = length > IB_MAD_BYTES - at ? IB_MAD_BYTES - at : length;
		memcpy((uint8_t *)&w->mad + at, data, length);
		data += length;
		size -= length;
		step(w, what, (uint8_t)port);
	}
	free(w);
	return 0;
}
