/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Notices and traps of the subnet management agent (IBTA 13.4.8, 13.4.9, 14.2.5.1). */
#include <string.h>

#include "mad/sma_private.h"

/* -------------------------------------------------------------------- trap 256 */

/* Trap 256 has room for the first 30 hops of a return path. */
static void add_route(struct ib_trap_bad_mkey *details, const struct ib_smp *smp)
{
	size_t hops = smp->hop_count & 0x3f, room = sizeof(details->dr_path);

	details->dr_slid = smp->dr_slid;
	details->dr_hops = (uint8_t)(0x80 | (hops > room ? 0x40 : 0) | hops);
	memcpy(details->dr_path, smp->return_path + 1, hops < room ? hops : room);
}

void sma_notice_bad_mkey(struct ib_notice *notice, uint16_t slid, const struct ib_smp *smp)
{
	struct ib_trap_bad_mkey *details = &notice->details.bad_mkey;

	ib_notice_begin(notice, IB_NOTICE_SECURITY, IB_TRAP_BAD_MKEY);
	details->lid = ib_be16_of(slid);
	details->method = smp->method;
	details->attr_id = smp->attr_id;
	details->attr_mod = smp->attr_mod;
	details->mkey = smp->mkey;
	if (smp->mgmt_class == IB_CLASS_SUBN_DIR)
		add_route(details, smp);
}

/* --------------------------------------------------------------- Get, Set of Notice */

static void show_notice(const struct sma_port *keeper, uint8_t *data)
{
	struct ib_notice notice;

	memset(&notice, 0, sizeof(notice));
	if (keeper->num_notices)
		notice = keeper->notice[0];
	else
		ib_notice_set_type(&notice, IB_NOTICE_EMPTY);
	ib_notice_set_toggle(&notice, keeper->notice_toggle);
	ib_notice_set_count(&notice, keeper->num_notices);
	memcpy(data, &notice, IB_SMP_DATA_BYTES);
}

uint16_t sma_get_notice(struct sma_call *call)
{
	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	show_notice(sma_keeper(call->node, call->in_port), call->data);
	return IB_MAD_STATUS_OK;
}

/* A Set with the toggle of the oldest notice removes that notice; with the other toggle the Set
 * comes too late. */
uint16_t sma_set_notice(struct sma_call *call)
{
	struct sma_port *keeper = sma_keeper(call->node, call->in_port);
	struct ib_notice want = { 0 };

	if (call->attr_mod)
		return IB_MAD_STATUS_BAD_FIELD;
	memcpy(&want, call->in.data, sizeof(call->in.data));
	if (keeper->num_notices && ib_notice_toggle(&want) == keeper->notice_toggle) {
		keeper->num_notices--;
		keeper->notice_toggle = !keeper->notice_toggle;
		memmove(keeper->notice, keeper->notice + 1,
			keeper->num_notices * sizeof(keeper->notice[0]));
	}
	show_notice(keeper, call->data);
	return IB_MAD_STATUS_OK;
}

/* ----------------------------------------------------------------------- queues */

static uint64_t later(uint64_t now_ns, uint64_t ns)
{
	return now_ns > SMA_NEVER - 1 - ns ? SMA_NEVER - 1 : now_ns + ns;
}

static void queue_notice(struct sma_port *keeper, const struct ib_notice *notice)
{
	if (keeper->num_notices < SMA_NOTICES_MAX)
		keeper->notice[keeper->num_notices++] = *notice;
}

static bool same_event(const struct ib_notice *a, const struct ib_notice *b)
{
	return ib_be16_get(a->trap_num) == ib_be16_get(b->trap_num) &&
	       !memcmp(a->details.bytes, b->details.bytes, sizeof(a->details.bytes));
}

static void queue_trap(struct sma_node *node, struct sma_port *keeper,
		       const struct ib_notice *notice, uint64_t now_ns)
{
	for (unsigned int i = 0; i < keeper->num_traps; i++)
		if (same_event(&keeper->trap[i].notice, notice))
			return;
	if (keeper->num_traps == SMA_TRAPS_MAX) {
		if (keeper->traps_dropped < UINT32_MAX)
			keeper->traps_dropped++;
		return;
	}
	keeper->trap[keeper->num_traps++] =
		(struct sma_trap){ .notice = *notice, .tid = node->next_tid++, .due_ns = now_ns };
}

void sma_raise(struct sma_node *node, uint8_t port, const struct ib_notice *notice, uint64_t now_ns)
{
	struct sma_port *keeper = sma_keeper(node, port);
	struct ib_notice issued = *notice;
	struct ib_port_info info;

	if (sma_hardware_port_info(node, port, &info))
		return;
	issued.producer = ib_be24_of((uint32_t)node->type);
	issued.issuer_lid = info.lid;
	if (ib_be32_get(info.cap_mask) & IB_PORT_CAP_NOTICE)
		queue_notice(keeper, &issued);
	if (ib_be32_get(info.cap_mask) & IB_PORT_CAP_TRAP)
		queue_trap(node, keeper, &issued, now_ns);
	if (node->ops->notice)
		node->ops->notice(node->hw, port, &issued);
}

/* The trap that is due first, or NULL. */
static struct sma_trap *first_trap(struct sma_port *keeper)
{
	struct sma_trap *first = NULL;

	for (unsigned int i = 0; i < keeper->num_traps; i++)
		if (!first || keeper->trap[i].due_ns < first->due_ns)
			first = &keeper->trap[i];
	return first;
}

uint64_t sma_trap_due(const struct sma_node *node, uint8_t port)
{
	struct sma_port *keeper = sma_keeper(node, port);
	const struct sma_trap *first = first_trap(keeper);

	if (!first)
		return SMA_NEVER;
	return first->due_ns > keeper->trap_not_before_ns ? first->due_ns
							  : keeper->trap_not_before_ns;
}

static bool can_send(const struct ib_port_info *info)
{
	uint16_t sm_lid = ib_be16_get(info->master_sm_lid);

	return ib_port_info_port_state(info) == IB_PORT_ACTIVE && sm_lid >= IB_LID_UNICAST_FIRST &&
	       sm_lid <= IB_LID_UNICAST_LAST;
}

bool sma_trap_next(struct sma_node *node, uint8_t port, uint64_t now_ns, struct ib_smp *out,
		   struct sma_destination *to)
{
	struct sma_port *keeper = sma_keeper(node, port);
	struct sma_trap *trap = first_trap(keeper);
	struct ib_port_info info;
	uint64_t spacing;

	if (!trap || sma_trap_due(node, port) > now_ns)
		return false;
	if (sma_hardware_port_info(node, port, &info) || !can_send(&info)) {
		keeper->trap_not_before_ns = later(now_ns, SMA_TRAP_REPEAT_NS);
		return false;
	}
	spacing = UINT64_C(4096) << ib_port_info_subnet_timeout(&info);
	keeper->trap_not_before_ns = later(now_ns, spacing);
	trap->due_ns = later(now_ns, spacing > SMA_TRAP_REPEAT_NS ? spacing : SMA_TRAP_REPEAT_NS);
	*to = (struct sma_destination){ .dlid = ib_be16_get(info.master_sm_lid),
					.sl = (uint8_t)ib_port_info_master_sm_sl(&info) };
	*out = (struct ib_smp){
		.base_version = IB_MAD_BASE_VERSION,
		.mgmt_class = IB_CLASS_SUBN_LID,
		.class_version = IB_SMP_CLASS_VERSION,
		.method = IB_METHOD_TRAP,
		.tid = ib_be64_of(trap->tid),
		.attr_id = ib_be16_of(IB_SMP_NOTICE),
	};
	trap->notice.issuer_lid = info.lid; /* may have changed since the notice was raised */
	memcpy(out->data, &trap->notice, sizeof(out->data));
	return true;
}

bool sma_trap_repress(struct sma_node *node, uint8_t port, uint64_t tid)
{
	struct sma_port *keeper = sma_keeper(node, port);

	for (unsigned int i = 0; i < keeper->num_traps; i++)
		if (keeper->trap[i].tid == tid) {
			keeper->num_traps--;
			memmove(&keeper->trap[i], &keeper->trap[i + 1],
				(keeper->num_traps - i) * sizeof(keeper->trap[0]));
			return true;
		}
	return false;
}
