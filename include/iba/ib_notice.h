/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file
 * Notices of subnet management (IBTA 14.2.5.1), for vendors' modules that raise traps with
 * ib_port_trap(). Each function fills in type, trap number and details of *notice. The Access Layer
 * adds producer, issuer, toggle and count. Context: any.
 */
#ifndef IBA_IB_NOTICE_H
#define IBA_IB_NOTICE_H

#include <string.h>

#include <iba/ib_mad_base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup ibal_notices HCA modules: notices
 * Functions that fill in a notice of subnet management (IBTA 14.2.5.1), which a vendor's module raises as a trap by
 * ib_port_trap(). Each function fills in type, trap number and details. The Access Layer adds producer, issuer, toggle
 * and count. Every context may call them.
 * @{
 */

/** A packet with a wrong P_Key or Q_Key. */
struct ib_bad_key {
	uint16_t slid;      /**< LRH */
	uint16_t dlid;      /**< LRH */
	uint32_t key;       /**< the bad Q_Key, or P_Key */
	uint8_t sl;         /**< LRH, 0 to 15 */
	uint8_t pad[3];     /**< zero */
	uint32_t src_qp;    /**< 24 bits; 0: the packet does not say */
	uint32_t dst_qp;    /**< 24 bits */
	uint32_t pad2;      /**< zero */
	const ib_gid *sgid; /**< GRH; NULL: the packet has no GRH */
	const ib_gid *dgid; /**< as sgid */
};

/** Begins a notice of IBTA's. */
static inline void ib_notice_begin(struct ib_notice *notice, enum ib_notice_type type, ib_trap trap)
{
	memset(notice, 0, sizeof(*notice));
	ib_notice_set_is_generic(notice, 1);
	ib_notice_set_type(notice, (uint32_t)type);
	notice->trap_num = ib_be16_of((uint16_t)trap);
}

/** Trap 128: the state of a switch's link has changed. lid: of the switch. */
static inline void ib_notice_link_state(struct ib_notice *notice, uint16_t lid)
{
	ib_notice_begin(notice, IB_NOTICE_URGENT, IB_TRAP_LINK_STATE);
	notice->details.link_state.lid = ib_be16_of(lid);
}

/**
 * Traps 129 to 131. trap: #IB_TRAP_LINK_INTEGRITY, #IB_TRAP_BUFFER_OVERRUN or #IB_TRAP_WATCHDOG.
 * lid: of the port, or of the switch.
 */
static inline void ib_notice_port(struct ib_notice *notice, ib_trap trap, uint16_t lid,
				  uint8_t port_num)
{
	ib_notice_begin(notice, IB_NOTICE_URGENT, trap);
	notice->details.port.lid = ib_be16_of(lid);
	notice->details.port.port_num = port_num;
}

/** Trap 144. changes: enum ib_local_change; 0: only the capability mask has changed. */
static inline void ib_notice_local_change(struct ib_notice *notice, uint16_t lid, uint32_t cap_mask,
					  uint16_t cap_mask2, uint16_t changes)
{
	struct ib_trap_local_change *details = &notice->details.local_change;

	ib_notice_begin(notice, IB_NOTICE_INFO, IB_TRAP_LOCAL_CHANGE);
	details->lid = ib_be16_of(lid);
	details->other_changes = changes ? 1 : 0;
	details->cap_mask = ib_be32_of(cap_mask);
	details->changes = ib_be16_of(changes);
	details->cap_mask2 = ib_be16_of(cap_mask2);
}

/** Trap 145: the system image GUID has changed. */
static inline void ib_notice_sys_image(struct ib_notice *notice, uint16_t lid,
				       uint64_t sys_image_guid)
{
	ib_notice_begin(notice, IB_NOTICE_INFO, IB_TRAP_SYS_IMAGE_GUID);
	notice->details.sys_image.lid = ib_be16_of(lid);
	notice->details.sys_image.sys_image_guid = ib_be64_of(sys_image_guid);
}

/** Service level and source queue pair of a packet, as traps 257 to 259 have them. */
static inline ib_be32 ib_bad_key_sl_qp(const struct ib_bad_key *bad)
{
	return ib_be32_of((uint32_t)(bad->sl & 0xf) << 28 | (bad->src_qp & 0xffffff));
}

/** Traps 257 and 258, of an end port. trap: #IB_TRAP_BAD_PKEY or #IB_TRAP_BAD_QKEY. */
static inline void ib_notice_bad_key(struct ib_notice *notice, ib_trap trap,
				     const struct ib_bad_key *bad)
{
	struct ib_trap_bad_key *details = &notice->details.bad_key;

	ib_notice_begin(notice, IB_NOTICE_SECURITY, trap);
	details->lid1 = ib_be16_of(bad->slid);
	details->lid2 = ib_be16_of(bad->dlid);
	details->key = ib_be32_of(bad->key);
	details->sl_qp1 = ib_bad_key_sl_qp(bad);
	details->qp2 = ib_be32_of(bad->dst_qp & 0xffffff);
	if (bad->sgid)
		details->gid1 = *bad->sgid;
	if (bad->dgid)
		details->gid2 = *bad->dgid;
}

/** Bits of ib_trap_switch_bad_pkey.valid. */
enum ib_switch_bad_pkey_valid {
	IB_BAD_PKEY_LOCAL = 0x003f, /**< LIDs, P_Key, service level, queue pairs */
	IB_BAD_PKEY_GIDS = 0x00c0,  /**< GIDs */
};

/** Trap 259: a port of a switch that enforces partitions has dropped a packet. lid, port_num: of
 * the switch. */
static inline void ib_notice_switch_bad_pkey(struct ib_notice *notice, uint16_t lid,
					     uint8_t port_num, const struct ib_bad_key *bad)
{
	struct ib_trap_switch_bad_pkey *details = &notice->details.switch_bad_pkey;

	ib_notice_begin(notice, IB_NOTICE_SECURITY, IB_TRAP_SWITCH_BAD_PKEY);
	details->lid1 = ib_be16_of(bad->slid);
	details->lid2 = ib_be16_of(bad->dlid);
	details->pkey = ib_be16_of((uint16_t)bad->key);
	details->sl_qp1 = ib_bad_key_sl_qp(bad);
	details->qp2 = ib_be32_of(bad->dst_qp & 0xffffff);
	details->sw_lid = ib_be16_of(lid);
	details->port_num = port_num;
	details->valid = ib_be16_of(IB_BAD_PKEY_LOCAL);
	if (!bad->sgid || !bad->dgid)
		return;
	details->valid = ib_be16_of(IB_BAD_PKEY_LOCAL | IB_BAD_PKEY_GIDS);
	details->gid1 = *bad->sgid;
	details->gid2 = *bad->dgid;
}

/** @} */

#ifdef __cplusplus
}
#endif

#endif
