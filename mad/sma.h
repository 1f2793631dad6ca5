/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet management agent of a node (IBTA 14.2 to 14.3): answers subnet management packets,
 * checks M_Keys, and raises traps. The agent is pure code: no threads, no locks, no clock, no
 * allocation. The caller serialises all calls for a node and passes the time, in nanoseconds of a
 * clock that never goes back.
 *
 * Division of labour. The agent validates each packet, keeps the M_Key with its protection, lease
 * and violations, the node description and the queues of notices and traps, and builds responses.
 * The hardware (sma_ops.local_mad) keeps all the rest and gets valid values only:
 *
 * - Get of an attribute: the current value. In PortInfo the agent fills in M_Key, protection bits,
 * lease period, M_Key violations and LocalPortNum.
 * - Set(PortInfo): the whole PortInfo as it is to be. Values that mean "no change" or "all
 * supported" are resolved, but for these: PortState and PortPhysicalState are 0 or the transition
 * to make, ClientReregister is 1 if clients are to register again, LinkSpeedExtEnabled 30 switches
 * extended speeds off. The M_Key's members are 0.
 * - Set(SwitchInfo): the whole SwitchInfo. PortStateChange is 1 to clear the bit, 0 to leave the
 * bit.
 * - Set of a table: one block. Entries beyond the table's capacity are 0.
 *
 * ci_local_mad_in.attr_mod is the attribute modifier without reserved bits. For PortInfo,
 * PortInfoExtended and LedInfo attr_mod is the port, as is the port that local_mad gets.
 */
#ifndef IBAL_MAD_SMA_H
#define IBAL_MAD_SMA_H

#include <stdbool.h>

#include <iba/ib_mad.h>
#include <iba/ib_notice.h>

#define SMA_TRAPS_MAX   8 /* traps of a port that wait for their TrapRepress */
#define SMA_NOTICES_MAX 8 /* notices of a port that wait for Set(Notice) */
#define SMA_NEVER       UINT64_MAX
/* A trap is repeated no sooner than this, however short SubnetTimeOut is. */
#define SMA_TRAP_REPEAT_NS UINT64_C(100000000)

enum sma_verdict {
	SMA_DROP,        /* no response: malformed, M_Key refused, or a method without a response */
	SMA_REPLY,       /* *out is the response, which goes back the way that the request came */
	SMA_CONSUMED,    /* done, no response: TrapRepress */
	SMA_FOR_MANAGER, /* for a local manager: responses, traps, and SMInfo if the port hosts a
			    subnet manager */
};

struct sma_ops {
	/* The hardware's half; as ci_interface.local_mad. */
	al_status (*local_mad)(void *hw, uint8_t port, const struct ci_local_mad_in *in,
			       struct ci_local_mad_out *out);
	/* Optional: the agent has queued a notice, so that sma_trap_due() of this port may have
	 * changed. */
	void (*notice)(void *hw, uint8_t port, const struct ib_notice *notice);
	/* Optional: a subnet manager has set the node description. */
	void (*node_desc)(void *hw, const struct ib_node_desc *desc);
};

/* A trap that is sent again until its TrapRepress. */
struct sma_trap {
	struct ib_notice notice;
	uint64_t tid;
	uint64_t due_ns; /* next transmission */
};

/* A port's part of the agent's state. All zero but guid is a port without an M_Key. */
struct sma_port {
	uint64_t guid;
	uint64_t mkey;
	uint64_t lease_end_ns;      /* the M_Key's lease ends; 0: the lease timer does not run */
	uint16_t mkey_lease_period; /* seconds; 0: for ever */
	uint16_t mkey_violations;
	uint8_t mkey_protect; /* 0 to 3 */
	uint8_t num_traps;
	uint8_t num_notices;
	bool notice_toggle;          /* of notice[0] */
	uint32_t traps_dropped;      /* their queue was full */
	uint64_t trap_not_before_ns; /* distance between two traps */
	struct sma_trap trap[SMA_TRAPS_MAX];
	struct ib_notice notice[SMA_NOTICES_MAX]; /* the oldest first */
};

/* A node. */
struct sma_node {
	const struct sma_ops *ops;
	void *hw; /* passed to ops */
	ib_node_type type;
	uint8_t num_ports; /* physical ports, 1 to 254 */
	uint16_t partition_cap;
	uint16_t device_id;
	uint32_t vendor_id; /* 24 bits */
	uint32_t revision;
	uint64_t node_guid;
	uint64_t sys_image_guid;
	uint64_t next_tid; /* transaction identifier of the next trap */
	struct ib_node_desc desc;
	struct sma_port *ports; /* HCA: [1] to [num_ports]; switch: [0] only, which keeps the M_Key
				   of the whole switch */
};

/* Destination of a trap. */
struct sma_destination {
	uint16_t dlid;
	uint8_t sl;
};

/*
 * Answers a packet that smi_receive() or smi_send() found to be SMI_LOCAL. in_port: port that the
 * packet came in by; on a switch 0 for a packet from the switch itself. slid: source LID of the
 * local route header, for trap 256. *out may be the packet itself; without SMA_REPLY *out is
 * undefined.
 */
enum sma_verdict sma_answer(struct sma_node *node, uint8_t in_port, uint16_t slid,
			    const struct ib_smp *in, uint64_t now_ns, struct ib_smp *out);

/* ------------------------------------------------------------------ notices */

/* Fills in trap 256 but for its issuer, which sma_raise() adds. slid: source LID of the packet. The
 * other notices are made by ib_notice.h. */
void sma_notice_bad_mkey(struct ib_notice *notice, uint16_t slid, const struct ib_smp *smp);

/* -------------------------------------------------------------------- traps */

/*
 * Queues a notice for Get(Notice) and as a trap, as far as the port's capability mask has notices
 * and traps. A notice equal to a trap that waits adds nothing. port: on a switch 0.
 */
void sma_raise(struct sma_node *node, uint8_t port, const struct ib_notice *notice,
	       uint64_t now_ns);

/* Time at which sma_trap_next() has something to do, or SMA_NEVER. */
uint64_t sma_trap_due(const struct sma_node *node, uint8_t port);

/*
 * The trap that is due, as a packet to send from the port to *to. false: nothing is due, or the
 * port cannot send yet (not Active, no LID of a master subnet manager). Afterwards sma_trap_due()
 * has a new value. The caller calls again, since SubnetTimeOut separates two traps.
 */
bool sma_trap_next(struct sma_node *node, uint8_t port, uint64_t now_ns, struct ib_smp *out,
		   struct sma_destination *to);

/* TrapRepress: ends the repetition of the trap with this transaction identifier. false: no such
 * trap waits. */
bool sma_trap_repress(struct sma_node *node, uint8_t port, uint64_t tid);

#endif
