/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Notices and traps of the subnet management agent (IBTA 13.4.8, 13.4.9, 14.2.5.1). */
#include <string.h>

#include "al/mgmt/sma_private.h"

/* -------------------------------------------------------------------- formats */

static void begin(struct ib_notice *notice, enum ib_notice_type type, ib_trap trap)
{
	memset(notice, 0, sizeof(*notice));
	ib_notice_set_is_generic(notice, 1);
	ib_notice_set_type(notice, type);
	notice->trap_num = ib_be16_of((uint16_t)trap);
}

void sma_notice_link_state(struct ib_notice *notice, uint16_t lid)
{
	begin(notice, IB_NOTICE_URGENT, IB_TRAP_LINK_STATE);
	notice->details.link_state.lid = ib_be16_of(lid);
}

void sma_notice_port(struct ib_notice *notice, ib_trap trap, uint16_t lid, uint8_t port)
{
	begin(notice, IB_NOTICE_URGENT, trap);
	notice->details.port.lid = ib_be16_of(lid);
	notice->details.port.port_num = port;
}

void sma_notice_local_change(struct ib_notice *notice, uint16_t lid, uint32_t cap_mask,
			     uint16_t cap_mask2, uint16_t changes)
{
	struct ib_trap_local_change *details = &notice->details.local_change;

	begin(notice, IB_NOTICE_INFO, IB_TRAP_LOCAL_CHANGE);
	details->lid = ib_be16_of(lid);
	details->other_changes = changes ? 1 : 0;
	details->cap_mask = ib_be32_of(cap_mask);
	details->changes = ib_be16_of(changes);
	details->cap_mask2 = ib_be16_of(cap_mask2);
}

void sma_notice_sys_image(struct ib_notice *notice, uint16_t lid, uint64_t sys_image_guid)
{
	begin(notice, IB_NOTICE_INFO, IB_TRAP_SYS_IMAGE_GUID);
	notice->details.sys_image.lid = ib_be16_of(lid);
	notice->details.sys_image.sys_image_guid = ib_be64_of(sys_image_guid);
}

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

	begin(notice, IB_NOTICE_SECURITY, IB_TRAP_BAD_MKEY);
	details->lid = ib_be16_of(slid);
	details->method = smp->method;
	details->attr_id = smp->attr_id;
	details->attr_mod = smp->attr_mod;
	details->mkey = smp->mkey;
	if (smp->mgmt_class == IB_CLASS_SUBN_DIR)
		add_route(details, smp);
}

static ib_be32 sl_and_qp(const struct sma_bad_key *bad)
{
	return ib_be32_of((uint32_t)(bad->sl & 0xf) << 28 | (bad->src_qp & 0xffffff));
}

void sma_notice_bad_key(struct ib_notice *notice, ib_trap trap, const struct sma_bad_key *bad)
{
	struct ib_trap_bad_key *details = &notice->details.bad_key;

	begin(notice, IB_NOTICE_SECURITY, trap);
	details->lid1 = ib_be16_of(bad->slid);
	details->lid2 = ib_be16_of(bad->dlid);
	details->key = ib_be32_of(bad->key);
	details->sl_qp1 = sl_and_qp(bad);
	details->qp2 = ib_be32_of(bad->dst_qp & 0xffffff);
	if (bad->sgid)
		details->gid1 = *bad->sgid;
	if (bad->dgid)
		details->gid2 = *bad->dgid;
}

/* Bits of ib_trap_switch_bad_pkey.valid: LIDs, P_Key, service level and queue pairs; GIDs. */
enum { VALID_LOCAL = 0x003f, VALID_GIDS = 0x00c0 };

void sma_notice_switch_bad_pkey(struct ib_notice *notice, uint16_t lid, uint8_t port,
				const struct sma_bad_key *bad)
{
	struct ib_trap_switch_bad_pkey *details = &notice->details.switch_bad_pkey;

	begin(notice, IB_NOTICE_SECURITY, IB_TRAP_SWITCH_BAD_PKEY);
	details->lid1 = ib_be16_of(bad->slid);
	details->lid2 = ib_be16_of(bad->dlid);
	details->pkey = ib_be16_of((uint16_t)bad->key);
	details->sl_qp1 = sl_and_qp(bad);
	details->qp2 = ib_be32_of(bad->dst_qp & 0xffffff);
	details->sw_lid = ib_be16_of(lid);
	details->port_num = port;
	details->valid = ib_be16_of(VALID_LOCAL);
	if (!bad->sgid || !bad->dgid)
		return;
	details->valid = ib_be16_of(VALID_LOCAL | VALID_GIDS);
	details->gid1 = *bad->sgid;
	details->gid2 = *bad->dgid;
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
