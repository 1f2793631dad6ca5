/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports (port.c), their counters (counters.c) and errors of their links (errors.c). How packets
 * leave a port and come in at a port is in link/link.h. */
#ifndef SOFT_PORT_H
#define SOFT_PORT_H

#include <stdatomic.h>
#include <string.h>
#include <iba/ib_hca.h>

#include "hca/soft/base/config.h"
#include "hca/soft/port/info.h"
#include "hca/soft/port/lanes.h"
#include "hca/soft/port/mcast.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/lock.h"

struct actor;
struct address;
struct ci_ca;
struct firmware;
struct ib_notice;
struct link_ops;
struct packet;
struct route;
struct runner;
struct table;

/*
 * Counts the changes of LIDs of all ports. A queue pair resolves its path again when the count has
 * changed (qp_follow_path()).
 */
extern _Atomic uint32_t port_moves __attribute__((visibility("hidden")));

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
	CNT_MULTICAST_XMIT, /* of the packets sent in struct traffic: multicast */
	/* multicast packets that have come in, and their bytes: no queue pair counts them, since
	   several get copies */
	CNT_MULTICAST_RCV,
	CNT_MULTICAST_RCV_BYTES,
	CNT_LINK_DOWNED,
	CNT_VL15_DROPPED, /* of the packets dropped: on virtual lane 15, for want of a buffer */
	CNT_RELAY_ERRORS, /* at a switch: packets that came in and could not be forwarded */
	/* at a switch: packets that were dropped for their P_Key as they came in, or before they
	   were sent */
	CNT_RCV_CONSTRAINT,
	CNT_XMIT_CONSTRAINT,
	CNT_SYMBOL_ERRORS, /* packets that a cable has damaged or lost, counted where they come in
			    */
	CNT_REMOTE_ERRORS, /* packets that have come in with the mark that they are bad */
	CNT_LINK_RECOVERIES,
	/* times that damaged packets, or overruns, have passed their threshold */
	CNT_LINK_INTEGRITY,
	CNT_BUFFER_OVERRUNS,
	CNT_XMIT_WAIT, /* ticks for which a queue pair has waited for room */
	PORT_COUNTERS
};

/* Directions in which a port of a switch checks P_Keys (PortInfo.PartitionEnforcementInbound,
 * -Outbound). */
enum port_enforce {
	ENFORCE_IN = 1 << 0,
	ENFORCE_OUT = 1 << 1,
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

/*
 * Management agents of the ports' own (firmware/), as the layers below them call them. The agents
 * stand between the ports and the special queue pairs.
 */
struct port_agents {
	/* Takes a packet that has come in at a port for a special queue pair, by a copy. False: the
	 * packet is not for the agents. */
	bool (*take)(struct runner *r, struct soft_port *port, struct packet *pkt);
	/* Takes a packet that QP0 of a port sends, by a copy. False: the packet leaves as it is. */
	bool (*send)(struct runner *r, struct soft_port *port, struct packet *pkt);
	/* Raises a trap of a port. Any context, ports_lock included. */
	void (*raise)(struct soft_port *port, const struct ib_notice *notice);
	/* A request that the agents execute has set registers of a port, which the agents tell the
	 * Access Layer by ib_mad_seen() before the request's step of the port state. */
	void (*carried_out)(struct soft_port *port);
};

/* The ports of one HCA or switch, and the settings common to them. */
struct ports {
	struct soft_port *port; /* port number n is port[n - first] */
	uint32_t num;           /* ports at `port` */
	uint8_t first;          /* number of the first port: 1, of a switch 0 */
	/* set when the state machine of a link changes a port's state (SwitchInfo.PortStateChange);
	 * NULL: an HCA */
	_Atomic bool *state_change;
	uint32_t gids;          /* entries of each port's GID table that are filled at the start */
	uint32_t mtu;           /* bytes */
	uint32_t hca;           /* the HCA's index, for the names of captured ports */
	bool managed; /* a subnet manager makes ports Active; else each port is Active when its link
			 is up */
	/* AL: CI_PORT_SMA_IN_AL and CI_PORT_PMA_IN_AL; HARDWARE: own is set */
	enum soft_agents agents;
	const struct port_agents *own; /* the ports' own agents; NULL: none */
	struct firmware *firmware;     /* state of the ports' own agents */
	const char *name;       /* the HCA's name, for messages */
	struct table *actors;   /* the HCA's actors by queue pair number, for packets that come in */
	/* the opened HCA that port events are raised for; NULL: not open. Guarded by ports_lock (port.c) */
	struct ci_ca *ca;
	struct mcast mcast; /* multicast groups of the HCA */
};

/* Overruns of a port's buffers (port_overrun()). */
struct overruns {
	uint64_t period; /* flow control period of the last overrun, from 1; 0: none */
	uint32_t run; /* flow control periods with an overrun, without a gap, up to that period */
};

#define SOFT_PREFIX 0xfe80000000000000ull /* the subnet prefix at the start */
#define SPECIAL_QPS 2 /* queue pair numbers 0 and 1, which each port has of its own (IBTA 3.9.3) \
		       */

struct soft_port {
	struct ports *ports;
	struct soft_port *cable;     /* the other end of the cable; a loopback plug makes that the port itself */
	const struct link_ops *link;
	void *link_state;            /* the link's own state of the port */
	struct actor *special;       /* actors of the special queue pairs, by number: QP0 and QP1 */
	_Atomic bool special_used[SPECIAL_QPS]; /* the special queue pair exists */
	/* port number, from 1; 0: the switch itself, which has no link and is Active always */
	uint8_t number;
	uint64_t guid;
	bool ethernet;  /* link layer; constant. The port has no LIDs, and GIDs alone name its peers */
	uint8_t mac[6]; /* of an Ethernet port; constant */
	/* ib_width and ib_speed of the link; 0: the default, 4X and EDR. Constant */
	uint8_t width, speed;
	/*
	 * Addresses, which a subnet manager changes while packets pass: port_set_lids() and its
	 * neighbours write them under ports_lock (port.c). A reader sees the old or the new value
	 * of LID and LMC together, of a GID, and of a P_Key.
	 */
	_Atomic uint32_t lids;   /* base LID, and the LMC from bit 16 on */
	_Atomic uint64_t prefix; /* subnet prefix */
	_Atomic uint16_t pkeys[SOFT_MAX_PKEYS];
	_Atomic uint32_t
		gid_changes; /* sequence lock of gids: odd while a writer changes the table */
	_Atomic uint64_t
		gids[SOFT_MAX_GIDS][2]; /* the bytes of each entry; an empty entry is zero */
	_Atomic uint32_t state;      /* ib_port_state */
	_Atomic bool faulty;         /* a fault rule may meet packets that leave by this port */
	_Atomic uint8_t phy_errors;  /* port_take_damaged(); written under ports_lock */
	bool plugged;                /* the cable is in; guarded by ports_lock (port.c) */
	bool shutdown;               /* modify_port has shut the port down; guarded by ports_lock (port.c) */
	uint8_t phys_asked; /* Polling, Sleep or Disabled, as a subnet manager has set; guarded by
			       ports_lock */
	struct port_info regs;      /* registers of subnet management; guarded by ports_lock */
	struct overruns overruns;   /* guarded by ports_lock */
	struct lanes lanes;
	_Atomic uint8_t enforce; /* of an external port: enum port_enforce, as regs.info has them */
	_Atomic uint32_t cap_mask;
	_Atomic uint64_t count[PORT_COUNTERS];
	/* capture of the port's packets; NULL: none. Guarded by the lock of captures (capture.c) */
	struct capture *capture;
	uint32_t capture_interface;  /* the port's interface number in the capture; guarded by the lock of captures */
	struct fmutex traffic_lock;  /* guards the fields below */
	struct traffic_link *traffic; /* traffic of the queue pairs that are at this port */
	uint64_t tx_bytes, tx_packets, rx_bytes, rx_packets; /* traffic of queue pairs that have left the port */
};

/* True: an external port of a switch, which has no addresses and no queue pairs. */
static inline bool port_is_external(const struct soft_port *port)
{
	return port->number && !port->ports->first;
}

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
	return port - port->number + num;
}

/* The base LID and the LMC of a port, as they are at one time. */
struct port_lids {
	uint16_t base;
	uint8_t lmc;
};

static inline struct port_lids port_lids(const struct soft_port *port)
{
	/* acquire: pairs with the release in port_set_lids() */
	uint32_t lids = atomic_load_explicit(&port->lids, memory_order_acquire);

	return (struct port_lids){ (uint16_t)lids, (uint8_t)(lids >> 16) };
}

static inline uint16_t port_lid(const struct soft_port *port)
{
	return port_lids(port).base;
}

/* True: the LID is one of the port's 2^LMC consecutive LIDs. */
static inline bool port_has_lid(const struct soft_port *port, uint16_t lid)
{
	const struct port_lids own = port_lids(port);

	return lid >= own.base && lid - own.base < 1 << own.lmc;
}

/* Returns an entry of the port's P_Key table. */
static inline uint16_t port_pkey(const struct soft_port *port, uint32_t index)
{
	return atomic_load_explicit(&port->pkeys[index], memory_order_relaxed);
}

/* Returns the index of the first P_Key in the port's table that matches a packet's. -1: none
 * matches. */
static inline int port_find_pkey(const struct soft_port *port, uint16_t pkey)
{
	int i;

	for (i = 0; i < SOFT_MAX_PKEYS; i++)
		if (pkey_matches(port_pkey(port, (uint32_t)i), pkey))
			return i;
	return -1;
}

/* Adds to a counter that has one writer, which is the caller. */
static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Initializes the state common to all ports, before the first HCA is made. */
void port_start(void);
/*
 * Sets the port's first state, with `gids` GIDs of the port's GUID; 0 for a port that has none, or those of
 * port_init_ethernet(). plugged: the port has a cable, and is Active or (managed) Init; else the port is Down. Nobody
 * else uses the port yet.
 */
void port_init(struct soft_port *port, uint32_t gids, bool plugged);
/*
 * Makes a port one of Ethernet, before port_init(): its address, and `num` GIDs of IP addresses that
 * follow the GID of the link-local address.
 */
void port_init_ethernet(struct soft_port *port, uint64_t mac, const ib_gid *ips, uint32_t num);
/* Does the module raise the event of a change? */
enum port_tell {
	PORT_TELLS, /* yes, if the value has changed */
	PORT_QUIET, /* no: the port's own agents tell the Access Layer by ib_mad_seen() */
};
/*
 * Changes what a subnet manager assigns. Any thread may call. guid of port_set_guid(): lower half
 * of the GID at an index from 1 on, big-endian value; 0: empty.
 */
void port_set_lids(struct soft_port *port, uint16_t lid, uint8_t lmc, enum port_tell tell);
void port_set_prefix(struct soft_port *port, uint64_t prefix, enum port_tell tell);
void port_set_guid(struct soft_port *port, uint32_t index, uint64_t guid, enum port_tell tell);
void port_set_pkeys(struct soft_port *port, uint32_t first, uint32_t num, const uint16_t *pkeys,
		    enum port_tell tell);
/*
 * Sets and clears bits of the capability mask (enum ib_port_cap). If the mask changes, trap 144
 * tells the subnet manager, for which the port must be Armed or Active: the mask of a port that is
 * not is read when the subnet manager brings the port up.
 */
void port_set_caps(struct soft_port *port, uint32_t set, uint32_t clear);
/* Raises an event of the port, or of the port's HCA. */
void port_raise(struct soft_port *port, ib_event_type type);
/*
 * Counts a packet with a bad P_Key or Q_Key (CNT_BAD_PKEY, CNT_BAD_QKEY), and raises trap 257 or
 * 258 if the port has a subnet management agent. dest_qpn: queue pair that refused the packet.
 */
void port_bad_key(struct soft_port *port, enum port_counter counter, const struct packet *pkt,
		  uint32_t dest_qpn);
/* Raises a trap of a port with the port's subnet management agent, if any. Under ports_lock. */
void port_notice(struct soft_port *port, const struct ib_notice *notice);
/* Tells the Access Layer of a request that a port's own agents have carried out (ib_mad_seen()). */
void port_seen(struct soft_port *port, const void *mad, uint32_t length);
/*
 * Compares the P_Key of a data packet with the table of an external port of a switch, for a
 * direction in which the port enforces partitions (IBTA 10.9.6): in by the P_Key without its
 * membership, out by IBTA 10.9.3. False: the packet is not to pass.
 * Then the packet is counted, and trap 259 is raised at port 0.
 */
bool port_pkey_passes(struct soft_port *port, enum port_enforce direction,
		      const struct packet *pkt);
/* Names the opened HCA that port events are raised for; NULL: none. */
void port_tell(struct ports *ports, struct ci_ca *ca);
/* Puts the cable in or pulls it out, at this end. */
void port_plug(struct soft_port *port, bool in);
/* Take and release ports_lock, which guards the members that say so. */
void port_lock(void);
void port_unlock(void);
/* Returns the physical state of the port. Under ports_lock. */
ib_phys_state port_phys_state(const struct soft_port *port);
/*
 * Takes the steps that a Set(PortInfo) asks for: physical state (Sleep, Polling, Disabled) and
 * logical state (Down, Armed, Active); 0: no step. False: the state does not lead there, or is none
 * of these; nothing has changed.
 */
bool port_set_state(struct soft_port *port, ib_phys_state phys, ib_port_state state);
/* Makes an Armed port Active, since a data packet has come in (IBTA 7.2.7). */
void port_activate(struct soft_port *port);
/* Takes the link of a port down, and lets the link train again. */
void port_flap(struct soft_port *port);
/* Shuts the port down, or brings it up again, as modify_port asks. */
void port_shut(struct soft_port *port, bool down);
/* Fills the LRH and GRH fields of packets that leave the port for an address. */
void port_route(const struct soft_port *port, const struct address *to, struct route *route);
/* Returns an entry of the port's GID table. An empty entry is all zero. */
ib_gid port_gid(const struct soft_port *port, uint32_t index);
/* Returns the number of entries of the port's GID table up to the last one that is not empty. */
uint32_t port_gid_count(const struct soft_port *port);
bool port_has_gid(const struct soft_port *port, const ib_gid *gid);
/*
 * True: the port has the destination address of a route, or the source address: the LID, or at an
 * Ethernet port the GID. IPv4 and IPv6 do not meet.
 */
bool port_is_destination(const struct soft_port *port, const struct route *route);
bool port_is_source(const struct soft_port *port, const struct route *route);
/* Writes the Ethernet address to which a GID leads from a port: one of a group, of the port itself,
 * of the far port, or (the GID is nobody's) the one that a link-local address is made from. */
void port_mac_of(const struct soft_port *port, const ib_gid *gid, uint8_t mac[6]);

/* Counts a successful recovery of the link at both of its ends. */
void port_recover_link(struct soft_port *port);
/*
 * Counts a packet that has come in damaged (IBTA 7.8, 16.1.3.5). The port counts damaged packets up
 * and good packets down. If the count passes PortInfo.LocalPhyErrors, that is an error of the
 * link's integrity: the count begins again, the port raises trap 129, and the link recovers.
 */
void port_take_damaged(struct soft_port *port);
/* The count of port_take_damaged(). */
static inline uint8_t port_phy_errors(const struct soft_port *port)
{
	return atomic_load_explicit(&port->phy_errors, memory_order_relaxed);
}
void port_forget_phy_error(struct soft_port *port);
/* Notes a packet that has come in well. */
static inline void port_take_good(struct soft_port *port)
{
	if (UNLIKELY(port_phy_errors(port)))
		port_forget_phy_error(port);
}
/*
 * Counts a packet for which the port had no buffer. If PortInfo.OverrunErrors flow control periods
 * with such packets follow each other, that is an excessive overrun: the port raises trap 130, and
 * the link recovers.
 */
void port_overrun(struct soft_port *port, bool vl15);

/* Adds a queue pair's traffic to the port's list, so that queries of the port count the traffic. */
void counters_join(struct soft_port *port, struct traffic_link *link, struct traffic *traffic);
/* Takes a queue pair's traffic off the port's list. The port keeps the counts, and the traffic begins again at 0. */
void counters_retire(struct soft_port *port, struct traffic_link *link);
void counters_read(struct soft_port *port, struct ib_port_counters *to);

#endif
