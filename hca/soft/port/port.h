/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports (port.c) and their counters (counters.c). How packets leave a port and come in at a port is in link/link.h. */
#ifndef SOFT_PORT_H
#define SOFT_PORT_H

#include <stdatomic.h>
#include <iba/ib_hca.h>

#include "hca/soft/base/config.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

struct actor;
struct address;
struct ci_ca;
struct link_ops;
struct route;
struct table;

/* Counters of rare events. Bytes and packets are counted in struct traffic. */
enum port_counter {
	CNT_XMIT_DISCARDS,
	CNT_RCV_ERRORS,
	CNT_RCV_DROPPED,
	CNT_RETRANSMITS,
	CNT_RNR_NAKS,
	CNT_SEQ_NAKS,
	CNT_BAD_PKEY,
	CNT_BAD_QKEY,
	PORT_COUNTERS
};

/* The traffic of one queue pair. Each counter has one writer, the queue pair's owner; a port sums the counters up. */
struct traffic {
	_Atomic uint64_t tx_bytes, tx_packets, rx_bytes, rx_packets;
};

/* The membership of a queue pair's traffic in its port's list. */
struct traffic_link {
	struct traffic_link *next, **pprev; /* guarded by the port's traffic_lock */
	struct traffic *traffic;
};

/* The ports of one HCA, and the settings common to them. */
struct ports {
	struct soft_port *port; /* port number n is port[n - 1] */
	uint32_t num;           /* ports at `port` */
	uint32_t gids;          /* entries of each port's GID table that are filled */
	uint32_t mtu;           /* bytes */
	uint32_t hca;           /* the HCA's index, for the names of captured ports */
	const char *name;       /* the HCA's name, for messages */
	struct table *actors;   /* the HCA's actors by queue pair number, for packets that come in */
	/* the opened HCA that port events are raised for; NULL: not open. Guarded by ports_lock (port.c) */
	struct ci_ca *ca;
};

#define SPECIAL_QPS 2 /* queue pair numbers 0 and 1, which each port has of its own (IBTA 3.9.3) \
		       */

struct soft_port {
	struct ports *ports;
	struct soft_port *cable;     /* the other end of the cable; a loopback plug makes that the port itself */
	const struct link_ops *link;
	void *link_state;            /* the link's own state of the port */
	struct actor *special;       /* actors of the special queue pairs, by number: QP0 and QP1 */
	_Atomic bool special_used[SPECIAL_QPS]; /* the special queue pair exists */
	uint8_t num;                 /* port number, from 1 */
	uint8_t lmc;
	uint16_t lid;
	uint64_t guid;
	uint64_t prefix;
	uint16_t pkeys[SOFT_MAX_PKEYS];
	_Atomic uint32_t state;      /* ib_port_state */
	_Atomic bool faulty;         /* a fault rule may meet packets that leave by this port */
	bool plugged;                /* the cable is in; guarded by ports_lock (port.c) */
	bool shutdown;               /* modify_port has shut the port down; guarded by ports_lock (port.c) */
	_Atomic uint32_t cap_mask;
	_Atomic uint64_t count[PORT_COUNTERS];
	/* capture of the port's packets; NULL: none. Guarded by the lock of captures (capture.c) */
	struct capture *capture;
	uint32_t capture_interface;  /* the port's interface number in the capture; guarded by the lock of captures */
	struct fmutex traffic_lock;  /* guards the fields below */
	struct traffic_link *traffic; /* traffic of the queue pairs that are at this port */
	uint64_t tx_bytes, tx_packets, rx_bytes, rx_packets; /* traffic of queue pairs that have left the port */
};

static inline void port_count(struct soft_port *port, enum port_counter counter, uint64_t n)
{
	atomic_fetch_add_explicit(&port->count[counter], n, memory_order_relaxed);
}

/* Reports whether two P_Keys belong to one partition, one of both as a full member (IBTA 10.9.3).
 */
static inline bool pkey_matches(uint16_t a, uint16_t b)
{
	/* the value 0 marks an empty entry of a P_Key table, and names no partition (IBTA 10.9.1.1)
	 */
	return !((a ^ b) & IB_PKEY_VALUE_MASK) && a & IB_PKEY_VALUE_MASK &&
	       (a | b) & IB_PKEY_FULL_MEMBER;
}

static inline bool port_faulty(const struct soft_port *port)
{
	return atomic_load_explicit(&port->faulty, memory_order_relaxed);
}

static inline ib_port_state port_state(const struct soft_port *port)
{
	return (ib_port_state)atomic_load_explicit(&port->state, memory_order_acquire);
}

/*
 * True: the port sends packets, by the port's state (IBTA 7.2.7). vl15: packets on virtual lane 15,
 * which only QP0 uses and which pass before a subnet manager has made the port Active.
 */
static inline bool port_sends(const struct soft_port *port, bool vl15)
{
	return LIKELY(port_state(port) == IB_PORT_ACTIVE) ||
	       (vl15 && port_state(port) >= IB_PORT_INIT);
}

/* True: the port takes packets that come in. An Armed port takes data, and sends none. */
static inline bool port_takes(const struct soft_port *port, bool vl15)
{
	return LIKELY(port_state(port) == IB_PORT_ACTIVE) ||
	       port_state(port) >= (vl15 ? IB_PORT_INIT : IB_PORT_ARMED);
}

/* Returns the port with a number, of the HCA that has `port`. */
static inline struct soft_port *port_of_hca(struct soft_port *port, uint8_t num)
{
	return port - port->num + num;
}

/* Adds to a counter that has one writer, which is the caller. */
static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Initializes the state common to all ports, before the first HCA is made. */
void port_start(void);
/* Makes a port plugged and Active. */
void port_init(struct soft_port *port);
/* Raises an event of the port, or of the port's HCA. */
void port_raise(struct soft_port *port, ib_event_type type);
/* Names the opened HCA that port events are raised for; NULL: none. */
void port_tell(struct ports *ports, struct ci_ca *ca);
/* Puts the cable in or pulls it out, at this end. */
void port_plug(struct soft_port *port, bool in);
/* Shuts the port down, or brings it up again, as modify_port asks. */
void port_shut(struct soft_port *port, bool down);
/* Fills the LRH and GRH fields of packets that leave the port for an address. */
void port_route(const struct soft_port *port, const struct address *to, struct route *route);
/* Returns an entry of the port's GID table. An empty entry is all zero. */
ib_gid port_gid(const struct soft_port *port, uint32_t index);
bool port_has_gid(const struct soft_port *port, const ib_gid *gid);

/* Adds a queue pair's traffic to the port's list, so that queries of the port count the traffic. */
void counters_join(struct soft_port *port, struct traffic_link *link, struct traffic *traffic);
/* Takes a queue pair's traffic off the port's list. The port keeps the counts, and the traffic begins again at 0. */
void counters_retire(struct soft_port *port, struct traffic_link *link);
void counters_read(struct soft_port *port, struct ib_port_counters *to);

#endif
