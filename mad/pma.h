/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The performance management agent of a node (IBTA 16.1): ClassPortInfo, PortCounters,
 * PortCountersExtended and samples. Pure code, as the subnet management agent (sma.h): the caller
 * serialises all calls for a node and passes the time.
 *
 * The hardware counts with 64 bits from the time at which a port came up, and nothing resets its
 * counters. The agent keeps two views of them, PortCounters and PortCountersExtended. A Set in one
 * view does not change the other. A counter of either view stops at its maximum.
 *
 * An HCA has an agent per port, a switch has one. Each agent has one sampling mechanism, which
 * samples any port of the node.
 */
#ifndef IBAL_MAD_PMA_H
#define IBAL_MAD_PMA_H

#include <stdbool.h>

#include <iba/ib_mad.h>

#define PMA_NEVER    UINT64_MAX
#define PMA_COUNTERS 21 /* counters of the hardware that the views show */
#define PMA_SAMPLES  15 /* counters of a sample */
/* Ticks of samples: PMA_TICK + 1 periods of 4 ns, the symbol time of a 1X link at 2.5 Gb/s, are a
 * microsecond. */
#define PMA_TICK    249
#define PMA_TICK_NS 1000

struct pma_ops {
	/* Counters of a port since the port came up. false: the port has none (a switch's port 0
	 * may have none). */
	bool (*counters)(void *hw, uint8_t port, struct ib_port_counters *to);
};

/* The views of a port's counters. */
enum pma_view_of {
	PMA_COUNTERS_VIEW, /* PortCounters */
	PMA_EXTENDED_VIEW, /* PortCountersExtended */
	PMA_VIEWS,
};

/* A view's counter is start + (hardware's counter - base). */
struct pma_view {
	uint64_t base[PMA_COUNTERS];
	uint64_t start[PMA_COUNTERS];
};

/* The sampling mechanism. All zero is a mechanism that no request has used. */
struct pma_sampler {
	uint8_t port;   /* port that is sampled */
	uint8_t status; /* enum ib_sample_status */
	uint16_t tag;
	uint32_t start;               /* ticks */
	uint32_t interval;            /* ticks */
	uint16_t select[PMA_SAMPLES]; /* enum ib_sample_counter, or 0 */
	uint64_t start_ns;
	uint64_t end_ns;
	struct ib_port_counters first; /* counters at start_ns */
	uint32_t result[PMA_SAMPLES];
};

/* A port's part of the agent's state. All zero is a port that no request has named. */
struct pma_port {
	struct pma_view view[PMA_VIEWS]; /* by enum pma_view_of */
	struct ib_class_port_info traps; /* the members trap_*; switch: of port 0 */
	struct pma_sampler sampler;      /* switch: of port 0 */
};

/* A node. */
struct pma_node {
	const struct pma_ops *ops;
	void *hw; /* passed to ops */
	bool is_switch;
	uint8_t num_ports;      /* physical ports, 1 to 254 */
	uint8_t resp_time;      /* responses come within 4.096 us * 2^n */
	struct pma_port *ports; /* [0] to [num_ports]; an HCA does not use [0] */
};

/*
 * Answers a datagram of class performance management that came in by a port (switch: also 0). true:
 * *out is the response. *out may be the datagram itself; without a response *out is undefined.
 */
bool pma_answer(struct pma_node *node, uint8_t in_port, const struct ib_mad *in, uint64_t now_ns,
		struct ib_mad *out);

/* Time at which pma_poll() has something to do for the agent of a port (switch: 0), or PMA_NEVER.
 */
uint64_t pma_due(const struct pma_node *node, uint8_t port);

/* Starts or ends the sample that is due. A sample is as exact as the caller's timer. */
void pma_poll(struct pma_node *node, uint8_t port, uint64_t now_ns);

#endif
