/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_soft.h
 * The vendor calls of the software HCA, for tests and tools: injected faults, captures, injected packets, ports, hot
 * removal, manual progress. Each call is an al_vendor_call() on an HCA whose module is `soft`. `in` or `out` is the
 * struct that the code's comment names, of exactly its size. AL_UNSUPPORTED: the HCA is another module's, or the module
 * does not know the code. AL_INVALID_PARAMETER: the size of `in` is wrong. AL_BUFFER_TOO_SMALL: `out` is too small.
 * Through an agent a call needs the right *test* (AL_PERMISSION). The faults are described in ibal-soft(5).
 */
#ifndef IB_SOFT_H
#define IB_SOFT_H

#include <stdint.h>

/**
 * @defgroup ibal_soft Software HCA: vendor calls
 * What al_vendor_call() does on an HCA whose module is `soft`, for tests and tools: injected faults, captures, injected
 * packets, ports, hot removal, manual progress. enum soft_vendor_code has the calls, each with the struct that is its
 * input or output. ibal-soft(5) describes the faults.
 * @{
 */

/** Codes of ci_vendor_call.code. */
enum soft_vendor_code {
	SOFT_FAULT_ADD = 1,   /**< in: struct soft_fault; of a switch: see there */
	SOFT_FAULT_CLEAR = 2, /**< removes all faults; packets held back are dropped */
	SOFT_PORT_DOWN = 3,   /**< in: uint32_t port: pulls the port's cable */
	SOFT_PORT_UP = 4,     /**< in: uint32_t port: plugs the port's cable in */
	SOFT_REMOVE = 5, /**< in: uint32_t enum ci_deregister_flags: the HCA is withdrawn soon after
			  * the return; with CI_HCA_GONE its cables are pulled at once */
	SOFT_FAULT_COUNT =
		6,      /**< out: uint64_t number of packets that faults have affected so far */
	SOFT_STEP = 7,  /**< in: nothing, or uint64_t choice; out: struct soft_step. progress =
			   manual only */
	SOFT_CLOCK = 8, /**< out: uint64_t ns: the module's clock; with progress = manual the
			   virtual one */
	SOFT_REBOOT =
		9, /**< of a switch only: its ports go down, what a subnet manager has set is
		    * lost, and the ports come up. A switch also takes SOFT_PORT_DOWN and
		    * SOFT_PORT_UP (external ports), SOFT_FAULT_ADD, SOFT_FAULT_CLEAR and
		    * SOFT_FAULT_COUNT, SOFT_FAULT_LIST, SOFT_REMOVE, SOFT_STEP and SOFT_CLOCK */
	SOFT_CAPTURE_START = 16, /**< in: struct soft_capture */
	SOFT_CAPTURE_STOP = 17,  /**< in: uint32_t port; 0: all ports of the HCA */
	SOFT_INJECT = 18,        /**< in: struct soft_inject; out: struct soft_injected */
	SOFT_FAULT_EXPLAIN = 19, /**< in: struct soft_fault_text; out: struct soft_fault_words.
				    Explains rules and changes nothing */
	SOFT_FAULT_LIST =
		20,          /**< in: uint32_t first; out: struct soft_fault_list: the rules in
				force of all HCAs and switches of the module, from index first on */
	SOFT_FAULT_SET = 21, /**< in: struct soft_fault_text; out: struct soft_fault_words. Replaces
				all rules of all HCAs and switches of the module by those of the
				text; if the words have an error, nothing changes.
				AL_INSUFFICIENT_MEMORY: no rule is in force */
};

/** The work that a step did. */
enum soft_step_did {
	SOFT_STEP_NOTHING = 0, /**< no queue pair is runnable, and no timer runs */
	SOFT_STEP_QP = 1,      /**< one pass of one queue pair: at most one train of packets was sent or executed */
	SOFT_STEP_TIMER = 2,   /**< no queue pair was runnable: the clock has advanced to the next timer, which
				* expired */
};

/**
 * The result of a step with manual progress. Without manual progress, the module's threads and the threads that post
 * and poll do the work. With `progress=manual` (section [soft]) only SOFT_STEP makes progress, called on any HCA of the
 * module for all its HCAs. Posts, polls and modifications only queue work; Reset, destroy, deregistration and removal
 * take effect at once. One thread makes all calls. A step takes the requests out of rings that clients of an agent
 * share with the module. So the sequence of events, the numbers and keys of objects, and the trace (IBAL_TRACE, except
 * times, processes and threads) depend only on the calls and the setting `seed`.
 *
 * Without a choice, HCAs take turns, and the runnable queue pairs of an HCA take turns. With a choice, the runnable
 * queue pair number choice % (number of runnable queue pairs) runs.
 */
struct soft_step {
	uint64_t now_ns; /**< time of the virtual clock, which starts at 0 */
	uint32_t did;    /**< enum soft_step_did */
};

/**
 * A capture: the packets that a port sends and receives, in a file of the format pcapng. The file is complete when the
 * capture of its last port has stopped, or the process has ended.
 */
struct soft_capture {
	uint32_t port;   /**< port; 0: all ports of the HCA that are not captured yet */
	char path[1020]; /**< path of the file, ends with 0; "%p" is replaced by the process id */
};

#define SOFT_INJECT_BYTES 4500 /**< room for the largest packet */

/** A packet that is injected as if a port's cable had delivered it: the bytes from the LRH to the VCRC; of an Ethernet
 * port from the MAC addresses to the ICRC. */
struct soft_inject {
	uint32_t port;   /**< port that receives the packet, from 1 */
	uint32_t length; /**< bytes of the packet, at most #SOFT_INJECT_BYTES */
	uint8_t bytes[SOFT_INJECT_BYTES]; /**< the packet */
};

/** The outcome of an injected packet. */
enum soft_inject_outcome {
	SOFT_INJECT_DELIVERED = 0, /**< the packet reached its queue pair, which accepts or drops it */
	SOFT_INJECT_MALFORMED = 1, /**< the bytes are no valid packet: counted in rcv_errors */
	SOFT_INJECT_STRAY = 2,     /**< the packet has another port's destination, or an unknown source LID or GID: counted in
				    * rcv_dropped */
	SOFT_INJECT_NO_QP = 3,     /**< no such queue pair, or the multicast group has no member at the port: counted in
				    * rcv_dropped */
	SOFT_INJECT_NO_ROOM = 4,   /**< the link holds as many packets as it can */
	SOFT_INJECT_DOWN = 5,      /**< the port is not Active */
};

/** The result of an injection. */
struct soft_injected {
	uint32_t outcome; /**< enum soft_inject_outcome */
	uint32_t refusal; /**< malformed: number of the violated rule; IBAL_TRACE has its text */
};

/** The effect of a fault on a packet. */
enum soft_fault_action {
	SOFT_FAULT_DROP = 1,      /**< the packet is lost */
	SOFT_FAULT_DUPLICATE = 2, /**< the packet arrives twice */
	SOFT_FAULT_HOLD = 3,      /**< the packet arrives after `by` later packets of its flow */
	SOFT_FAULT_DELAY = 4,     /**< the packet arrives `delay_ns` later */
	SOFT_FAULT_CORRUPT = 5, /**< some bits of the packet change: the far port finds a wrong CRC,
				 * drops the packet and counts it; at a cable of a switch also
				 * against PortInfo.LocalPhyErrors (trap 129) */
	SOFT_FAULT_NAK =
		6, /**< a request of an RC queue pair: the responder does not execute the request
		    * and answers with `code`. Unless `code` is RNR or a sequence error, the
		    * responder also changes to Error, as after a NAK of its own */
	/* With the following actions the packet itself arrives. */
	SOFT_FAULT_PORT_DOWN = 7, /**< the port's cable is pulled at this end */
	SOFT_FAULT_PORT_UP = 8,   /**< the port's cable is plugged in again */
	SOFT_FAULT_REMOVE = 9,    /**< the HCA disappears without notice */
	SOFT_FAULT_RAISE = 10, /**< the event `code` of the queue pair, its send completion queue,
				* the port or HCA is raised */
	SOFT_FAULT_CQ_OVERFLOW = 11, /**< the queue pair's send completion queue overflows */
	/* The following action concerns no packet. */
	SOFT_FAULT_ALLOC = 12, /**< an allocation fails: of a completion queue, queue pair, its
				* rings or responder resources, or region. Allocations are counted
				* from 1 since the rule was added */
	/* The following action concerns all packets, and is for a switch only. */
	SOFT_FAULT_SLOW = 13, /**< the port's cable carries `rate` bytes per second in each
			       * direction. Packets wait for the cable on virtual lanes, by the
			       * weights of the VLArbitrationTables */
	/* The following actions are for a switch only. The packet does not arrive. */
	SOFT_FAULT_MARK = 14, /**< the switch marks the packet as bad (delimiter EBP), as a switch
			       * does that finds a packet damaged when it has begun to send the
			       * packet; the next port counts and drops the packet */
	SOFT_FAULT_OVERRUN = 15, /**< the next port has no buffer for the packet, and counts that
				  * against PortInfo.OverrunErrors (trap 130) */
	SOFT_FAULT_RECOVER = 16, /**< the cable fails for a moment: both ports count a recovery of
				  * the link */
	SOFT_FAULT_FLAP = 17,    /**< the cable fails: the link goes down, and trains again */
};

/** Flow of packets: a queue pair's packets as requester are one flow, its packets as responder another. */
enum soft_fault_flow {
	SOFT_FLOW_ANY = 0,      /**< packets of both flows */
	SOFT_FLOW_REQUEST = 1,  /**< packets that a queue pair sends as requester */
	SOFT_FLOW_RESPONSE = 2, /**< packets that a queue pair sends as responder */
};

/** Further conditions of a rule: bits. */
enum soft_fault_match {
	SOFT_MATCH_OPCODE = 1 << 0, /**< the packet has soft_fault.opcode */
	SOFT_MATCH_PSN = 1 << 1,    /**< the packet has soft_fault.psn */
};

#define SOFT_NEVER UINT32_MAX /**< value of soft_fault.chance: the rule never applies */

/**
 * A fault rule. The rule applies to the packets number n to n + count - 1 of a flow that fulfil all
 * conditions; packets are counted from 1 since the queue pair left Reset. The first rule that
 * applies to a packet takes effect. Whether a rule with a chance applies depends only on the seeds
 * of rule and HCA, the HCA's number, the rule's position, the flow (the queue pair's number in the
 * order of creation, and which of its two flows) and the packet's number.
 *
 * A rule of a switch is a fault of the cables at its external ports, in the direction from the
 * switch. It drops, delays or corrupts packets that leave by the port (0: by each port), or is of
 * the actions for switches only; a cable knows no queue pairs, so flow, qpn and match are 0. A rule
 * that slows a cable replaces the one before, and has no packets to choose: n, count, chance and
 * seed are 0. Packets are counted from 1 since the rule was added. AL_INVALID_PARAMETER: the rule
 * is none for a switch, or the switch has no such port. AL_LIMIT_EXCEEDED: the port has
 * #SOFT_FAULT_RULES rules.
 */
struct soft_fault {
	uint32_t action;  /**< enum soft_fault_action */
	uint32_t flow;    /**< enum soft_fault_flow */
	uint32_t port;    /**< port that sends; 0: any */
	uint32_t qpn;     /**< queue pair that sends; 0: any */
	uint64_t n;       /**< number of the first packet, from 1; 0: any */
	uint64_t count;   /**< number of packets; 0: all further packets */
	uint32_t by;      /**< hold: number of later packets that overtake the packet, at least 1 */
	uint32_t chance;  /**< probability in millionths; 0: always; #SOFT_NEVER */
	uint64_t delay_ns; /**< delay: at least 1, at most a day */
	uint64_t seed;    /**< seed of this rule's chances, beside the HCA's seed */
	uint32_t match;   /**< enum soft_fault_match */
	uint32_t opcode;  /**< opcode of the BTH, with SOFT_MATCH_OPCODE */
	uint32_t psn;     /**< PSN of the BTH, with SOFT_MATCH_PSN */
	uint32_t code;    /**< nak: AETH syndrome of a NAK or RNR NAK; raise: ib_event_type */
	uint64_t rate;    /**< slow: bytes per second, at least 1000, at most 10^12 */
};

#define SOFT_FAULT_TEXT 4096 /**< size of the text of rules, with the 0 at the end */
#define SOFT_FAULT_RULES 32 /**< most rules in the settings of an HCA */

/** The text of rules for all HCAs, as in IBAL_FAULT (ibal-soft(5)). */
struct soft_fault_text {
	char text[SOFT_FAULT_TEXT]; /**< the rules; ends with 0 */
};

/** The explanation of rules. */
struct soft_fault_words {
	uint32_t num;  /**< number of valid rules */
	uint32_t at;   /**< offset of the error in the text, if why is not empty */
	char why[256]; /**< the error, and a correction; empty: no error */
	char words[SOFT_FAULT_RULES][256]; /**< a sentence for each of the num rules */
};

#define SOFT_NOT_COUNTED UINT64_MAX /**< value of soft_fault_state.met */

/** A rule in force. A rule for each port of a switch is a rule of each of these ports. */
struct soft_fault_state {
	uint64_t guid; /**< node GUID of the HCA or switch */
	uint64_t met;  /**< number of packets or allocations that the rule has affected so far;
			* #SOFT_NOT_COUNTED: slow, which concerns all packets */
	struct soft_fault fault; /**< the rule */
	char words[256];         /**< a sentence for the rule */
};

/** Rules in force: HCAs in their order, then switches by their ports. */
struct soft_fault_list {
	uint32_t num; /**< number of all rules; those from first on, at most #SOFT_FAULT_RULES, are
			 in `rules` */
	uint32_t reserved;                               /**< 0 */
	struct soft_fault_state rules[SOFT_FAULT_RULES]; /**< the rules */
};

/** @} */

#endif
