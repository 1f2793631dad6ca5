/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The fabric: ports of HCAs and virtual switches, joined by the cables of a topology. Packets
 * travel by value: a sender copies each packet into a packet of its port's pool, and that packet
 * passes from node to node by its LRH until an HCA has executed it or a node has dropped it. No
 * node waits for room at the next node: the pools of the senders bound the packets that are under
 * way.
 *
 * In a static fabric a switch forwards by the routes of the topology. In a managed fabric each
 * switch is a node with ports (struct soft_port) and registers, which a subnet manager reads and
 * sets: the switch forwards by its own tables, and port 0 has queue pairs.
 *
 * fabric.c has the fabric and the operations of the link, switch.c the forwarding, cable.c the
 * faults of cables, output.c the packets that wait for a cable with a rate.
 */
#ifndef SOFT_FABRIC_H
#define SOFT_FABRIC_H

#include "hca/soft/engine/engine.h"
#include "hca/soft/fabric/output.h"
#include "hca/soft/fabric/registers.h"
#include "hca/soft/fabric/routes.h"
#include "hca/soft/fabric/topology.h"
#include "hca/soft/link/link.h"
#include "hca/soft/link/waiting.h"
#include "hca/soft/packet/pool.h"
#include "hca/soft/shared/lock.h"

struct cable_rules;
struct fabric;
struct fabric_switch;
struct tally;

/*
 * Packets that the owner of a node's actor has taken out of the actor's inbox. Those on virtual
 * lane 15 go first. Only the owner uses the lists.
 */
struct arrivals {
	struct {
		struct packet *first, **last;
	} lane[2]; /* data, virtual lane 15 */
};

/* One end of a cable, or a port without a cable. */
struct fabric_end {
	struct fabric *fabric;
	struct fabric_end *peer;  /* the other end; NULL: no cable */
	struct fabric_switch *sw; /* the switch that has the port; NULL: an HCA has */
	struct soft_port
		*port; /* NULL: the HCA does not exist (yet), or a switch of a static fabric */
	uint8_t number;           /* port number */
	bool in_tree; /* of a static fabric: the cable joins two switches and is of the tree that
			 multicast takes */
	/* of a switch's port: written by the owner of the switch's actor, or, where there is an
	   output, under the output's lock; read by anybody */
	struct traffic traffic;
	struct traffic_link counted; /* membership of `traffic` in the counters of `port` */
	/* of a switch's port: faults of the packets that leave (cable.c); NULL: none */
	_Atomic(struct cable_rules *) rules;
	/* packets that wait for a cable with a rate (output.c); NULL: each packet leaves at once */
	_Atomic(struct output *) output;
};

struct fabric_switch {
	struct actor actor;
	struct fabric *fabric;
	struct arrivals arrivals;
	uint32_t node;          /* index in the topology */
	struct fabric_end *end; /* the ends of ports 0 to num_ports */
	uint8_t num_ports;
	struct switch_registers registers; /* of a managed fabric */
	_Atomic uint64_t met;              /* packets that a fault of a cable has met */
	/* while fabric_create() grows the tree */
	bool reached;
	struct fabric_switch *next;
};

struct fabric {
	struct topology topology;
	struct routes routes;
	struct engine engine;    /* runs the switches when no sender does */
	struct fabric_end *ends; /* by index of the port in the topology */
	struct fabric_switch *switches;
	uint32_t num_switches;
	bool managed;
	struct pool copies; /* of multicast packets that a switch sends out of several ports */
	uint64_t seed;      /* of faults of cables; constant once packets pass */
	struct timer timer; /* runs out at the time of the first packet of `late` */
	struct fmutex lock; /* guards the fields below */
	struct pooled *late;       /* packets that arrive at a later time, the earliest first */
	struct cable_rules *rules; /* all that have been in force */
	struct tally *tallies;     /* of the rules */
	struct output *outputs;    /* all of the fabric */
};

/*
 * Makes the switches and ends of a topology, and takes over topology and routes, whatever the
 * outcome. routes: of a static fabric; NULL: the fabric is managed, and its switches forward
 * nothing yet. AL_INSUFFICIENT_MEMORY, AL_INSUFFICIENT_RESOURCES.
 */
al_status fabric_create(struct fabric **fabric, struct topology *topology, struct routes *routes);
/* Drops all packets under way, and ends the switches. No port sends any more. */
void fabric_stop(struct fabric *fabric);
/* Frees a stopped fabric. Its ports are detached. NULL: nothing. */
void fabric_destroy(struct fabric *fabric);
/*
 * Gives a port of an HCA, or of a switch of a managed fabric, its place in the topology, and its
 * end of the cable. The port is attached to link_fabric, unless the port is an external port of a
 * switch.
 */
void fabric_join(struct fabric *fabric, uint32_t index, struct soft_port *port);

extern const struct link_ops link_fabric;

/* Puts a packet into the inbox of the node at an end. A packet for which there is no node goes
 * home. */
void fabric_arrive(struct runner *r, struct fabric_end *at, struct pooled *p);
void arrivals_init(struct arrivals *a);
/*
 * Takes the inbox of the actor that has the arrivals, and returns the oldest packet of lane 15,
 * else the oldest of data. NULL: there is none. The caller owns the actor.
 */
struct pooled *arrivals_take(struct arrivals *a, struct actor *owned);
bool arrivals_empty(const struct arrivals *a);
/* Waits until no thread runs the actor that has the arrivals, which never runs again, and sends the
 * packets that have come in home. May sleep. */
void arrivals_end(struct arrivals *a, struct actor *actor);

/* Starts a switch, whose end, fabric and node are set. */
void switch_start(struct fabric_switch *sw);
/* Waits until no thread runs the switch, which never runs again, and sends the packets that have
 * come in home. May sleep. */
void switch_stop(struct fabric_switch *sw);

/*
 * Adds a rule for the packets that leave a switch by one of its ports, or (port 0) by each. A rate
 * is one of the cable, for both directions.
 * AL_INVALID_PARAMETER: the rule contradicts itself or is none for a switch, or the switch has no
 * such port. AL_LIMIT_EXCEEDED: a port has SOFT_FAULT_RULES rules. AL_INSUFFICIENT_MEMORY.
 */
al_status cable_add_fault(struct fabric_switch *sw, const struct soft_fault *fault);
/*
 * Reads the rule of a port at an index, and how many packets it has met (SOFT_NOT_COUNTED: of a
 * rate). False: there are fewer rules.
 */
bool cable_get_fault(const struct fabric_switch *sw, uint32_t port, uint32_t index,
		     struct soft_fault *fault, uint64_t *met);
/* Removes all rules of a switch. Packets that are late arrive at their time. */
void cable_clear_faults(struct fabric_switch *sw);
/* Counts a packet that leaves by an end. The caller is the writer of the end's traffic. */
static inline void cable_count(struct fabric_end *out, struct pooled *p)
{
	if (!out->sw) /* the queue pairs of an HCA count their packets */
		return;
	counter_add(&out->traffic.tx_packets, 1);
	counter_add(&out->traffic.tx_bytes, p->wire_bytes);
	p->number = atomic_load_explicit(&out->traffic.tx_packets, memory_order_relaxed);
}
/*
 * Executes the first rule that meets a packet which has left by a port that has rules. False: the
 * packet does not arrive now.
 */
bool cable_passes(struct runner *r, struct fabric_end *out, struct pooled *p);
/* Takes a packet that has been counted over the cable. */
static inline void cable_cross(struct runner *r, struct fabric_end *out, struct pooled *p)
{
	if (LIKELY(!atomic_load_explicit(&out->rules, memory_order_relaxed)) ||
	    cable_passes(r, out, p))
		fabric_arrive(r, out->peer, p);
}
/* Counts a packet that has come in and is bad. marked: the other end has marked the packet; else
 * the VCRC is wrong (IBTA 7.8, 16.1.3.5). */
void cable_bad(struct fabric_end *at, bool marked);
void cables_start(struct fabric *f);
/* Drops the packets that are late or wait for a cable. No switch runs any more. */
void cables_stop(struct fabric *f);
void cables_destroy(struct fabric *f);

#endif
