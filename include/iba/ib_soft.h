/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/**
 * @file ib_soft.h
 * The software HCA's own calls, for tests and tools: faults on purpose, captures, injected packets, ports, hot removal,
 * manual progress. Each is one al_vendor_call() on an HCA whose module is `soft`, with the struct that its code names in
 * `in` or `out`, of exactly that size. AL_UNSUPPORTED: the HCA is another module's, or knows no such code.
 * AL_INVALID_PARAMETER: the size is wrong. AL_BUFFER_TOO_SMALL: `out` is. Through an agent a call needs the right *test*
 * (AL_PERMISSION). What a packet fault means is in ibal-soft(5).
 */
#ifndef IB_SOFT_H
#define IB_SOFT_H

#include <stdint.h>

/** Codes of ci_vendor_call.code. */
enum soft_vendor_code {
	SOFT_FAULT_ADD = 1,   /**< in: struct soft_fault */
	SOFT_FAULT_CLEAR = 2, /**< removes all; packets held back are dropped */
	SOFT_PORT_DOWN = 3,   /**< in: uint32_t port: pulls the cable */
	SOFT_PORT_UP = 4,     /**< in: uint32_t port: puts it back */
	SOFT_REMOVE = 5,      /**< in: uint32_t enum ci_deregister_flags: the HCA is withdrawn, soon after the return; with
			       * CI_HCA_GONE its cables are out at once */
	SOFT_FAULT_COUNT = 6, /**< out: uint64_t packets that a fault has met so far */
	SOFT_STEP = 7,        /**< in: nothing, or uint64_t choice; out: struct soft_step. progress = manual only */
	SOFT_CLOCK = 8,       /**< out: uint64_t ns: the module's clock; with progress = manual the virtual one */
	SOFT_CAPTURE_START = 16, /**< in: struct soft_capture */
	SOFT_CAPTURE_STOP = 17,  /**< in: uint32_t port; 0: all of the HCA's */
	SOFT_INJECT = 18,        /**< in: struct soft_inject; out: struct soft_injected */
	SOFT_FAULT_EXPLAIN = 19, /**< in: struct soft_fault_text; out: struct soft_fault_words. Nothing is changed */
};

/** What a step did. */
enum soft_step_did {
	SOFT_STEP_NOTHING = 0, /**< there is nothing to do, and no timer runs */
	SOFT_STEP_QP = 1,      /**< one pass of one queue pair: at most one train of packets was sent or executed */
	SOFT_STEP_TIMER = 2,   /**< no queue pair was runnable: the clock has jumped to the next timer, which ran out */
};

/**
 * Manual progress. Without it the module's threads and those that post and poll do the work; with `progress=manual`
 * (section [soft]) nothing moves but by SOFT_STEP, called on any HCA of the module for all of them. Posts, polls and
 * modifies only queue; Reset, destroy, deregistration and removal do at once what is theirs. One thread calls everything.
 * What clients of an agent have put in rings that they share with the module, a step takes out.
 * Then what happens, the numbers and keys of objects, the events and the trace (IBAL_TRACE; its times, processes and
 * threads aside) depend on the calls and the setting `seed` alone.
 *
 * Without a choice HCAs take turns, and so do the runnable queue pairs of each; with one, runnable queue pair number
 * choice % (all that are runnable) is run.
 */
struct soft_step {
	uint64_t now_ns; /**< the virtual clock, from 0 */
	uint32_t did;    /**< enum soft_step_did */
};

/**
 * A capture: the packets that a port sends and receives, in a file of the form pcapng, which is complete once the last
 * port that is captured there has stopped, or the process has ended.
 */
struct soft_capture {
	uint32_t port;   /**< 0: all of the HCA's that are not captured yet */
	char path[1020]; /**< ends with 0; "%p" becomes the process's number */
};

#define SOFT_INJECT_BYTES 4500 /**< more than any packet has */

/** A packet as if it had come off a port's cable: the bytes from the LRH to the VCRC. */
struct soft_inject {
	uint32_t port;   /**< by which it comes in, from 1 */
	uint32_t length; /**< of bytes, at most #SOFT_INJECT_BYTES */
	uint8_t bytes[SOFT_INJECT_BYTES]; /**< the packet */
};

/** How far it came. */
enum soft_inject_outcome {
	SOFT_INJECT_DELIVERED = 0, /**< to its queue pair, which takes it or drops it */
	SOFT_INJECT_MALFORMED = 1, /**< it is no packet: counted in rcv_errors */
	SOFT_INJECT_STRAY = 2,     /**< not for this port, or from a LID that nobody has: counted in rcv_dropped */
	SOFT_INJECT_NO_QP = 3,     /**< there is no such queue pair: counted in rcv_dropped */
	SOFT_INJECT_NO_ROOM = 4,   /**< too many are on their way */
	SOFT_INJECT_DOWN = 5,      /**< the port is not Active */
};

/** What became of it. */
struct soft_injected {
	uint32_t outcome; /**< enum soft_inject_outcome */
	uint32_t refusal; /**< malformed: which rule, by number; IBAL_TRACE has its text */
};

/** What happens to a packet. */
enum soft_fault_action {
	SOFT_FAULT_DROP = 1,      /**< it is lost */
	SOFT_FAULT_DUPLICATE = 2, /**< it arrives twice */
	SOFT_FAULT_HOLD = 3,      /**< it arrives after `by` later packets of its flow */
	SOFT_FAULT_DELAY = 4,     /**< it arrives `delay_ns` later */
	SOFT_FAULT_CORRUPT = 5,   /**< some of its bits change: the far port finds a wrong CRC, and drops and counts it */
	SOFT_FAULT_NAK = 6,       /**< a request of an RC queue pair: the responder does not execute it, but answers with `code`; but for
				   * RNR and sequence it also goes to the Error state, as after a NAK for a reason of its own */
	/* These let the packet go on, after they have happened. */
	SOFT_FAULT_PORT_DOWN = 7,    /**< the port's cable is pulled at this end */
	SOFT_FAULT_PORT_UP = 8,      /**< and put back */
	SOFT_FAULT_REMOVE = 9,       /**< the HCA is gone, without notice */
	SOFT_FAULT_RAISE = 10,       /**< the event `code` of the queue pair, its send completion queue, the port or HCA */
	SOFT_FAULT_CQ_OVERFLOW = 11, /**< its send completion queue overflows */
	/* And this is about no packets. */
	SOFT_FAULT_ALLOC = 12, /**< an allocation fails: of a completion queue, queue pair, its rings or responder
				* resources, or region; counted from 1 since there is such a rule */
};

/** Whose packets: those that a queue pair sends as requester or as responder are a flow each. */
enum soft_fault_flow {
	SOFT_FLOW_ANY = 0,
	SOFT_FLOW_REQUEST = 1,
	SOFT_FLOW_RESPONSE = 2,
};

/** What else must be so: bits. */
enum soft_fault_match {
	SOFT_MATCH_OPCODE = 1 << 0,
	SOFT_MATCH_PSN = 1 << 1,
};

#define SOFT_NEVER UINT32_MAX /**< a chance: none at all */

/**
 * A rule. It meets the packets number n to n + count - 1 of a flow, counted from 1 since the queue pair left Reset, that
 * match everything said. The first rule that meets a packet decides, and so does the seed: chances are drawn from the
 * seeds of rule and HCA, the HCA's number, the place of the rule, the flow (the queue pair, counted in order of creation,
 * and which of its flows) and the packet's number, and from nothing else.
 */
struct soft_fault {
	uint32_t action;  /**< enum soft_fault_action */
	uint32_t flow;    /**< enum soft_fault_flow */
	uint32_t port;    /**< port that sends; 0: any */
	uint32_t qpn;     /**< queue pair that sends; 0: any */
	uint64_t n;       /**< first packet, from 1; 0: any */
	uint64_t count;   /**< packets; 0: all that follow */
	uint32_t by;      /**< hold: later packets that overtake it, at least 1 */
	uint32_t chance;  /**< of 1,000,000; 0: always; #SOFT_NEVER */
	uint64_t delay_ns; /**< delay: at least 1, at most a day */
	uint64_t seed;    /**< of this rule's chances, beside the HCA's */
	uint32_t match;   /**< enum soft_fault_match */
	uint32_t opcode;  /**< of the BTH */
	uint32_t psn;     /**< of the BTH */
	uint32_t code;    /**< nak: AETH syndrome of a NAK or RNR NAK; raise: ib_event_type */
};

#define SOFT_FAULT_TEXT 4096 /**< bytes of rules as text, with the 0 at the end */
#define SOFT_FAULT_RULES 32 /**< of an HCA's settings */

/** Rules as in IBAL_FAULT (ibal-soft(5)), of all HCAs. */
struct soft_fault_text {
	char text[SOFT_FAULT_TEXT]; /**< ends with 0 */
};

/** What they mean. */
struct soft_fault_words {
	uint32_t num;  /**< rules that were understood */
	uint32_t at;   /**< where in the text it goes wrong, from 0; if it does */
	char why[256]; /**< what is wrong there and what would be right; empty: nothing */
	char words[SOFT_FAULT_RULES][256]; /**< num of them, a sentence each */
};

#endif
