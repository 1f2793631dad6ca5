/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Links: how packets leave a port, and how packets come in at a port (link.c). Port states and addresses are in
 * port/.
 */
#ifndef SOFT_LINK_H
#define SOFT_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <iba/ib_types.h>

#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"

struct source;

/* A resolved route from a port to the far port. */
struct path {
	void *to;          /* the far port, in the link's own form; NULL: no port has the route's destination LID */
	uint16_t lid;      /* base LID of the far port */
	/* the bits in which a source LID of the far port equals `lid`; the other bits are path bits */
	uint16_t lid_mask;
	uint32_t moves; /* of a connection's path: port_moves when the path was resolved */
};

struct link_ops {
	const char *name;
	/* attach sets soft_port.link_state, and detach frees that state. NULL: the link keeps no state for ports. */
	al_status (*attach)(struct soft_port *port, struct engine *engine);
	void (*detach)(struct soft_port *port);
	/* Fills *path for packets that leave `from` by a route. */
	void (*resolve)(const struct soft_port *from, const struct route *route, struct path *path);
	/*
	 * Fills *path for multicast datagrams that leave `from` by a route: the path to the other ports that want the
	 * group's datagrams. NULL: the link leads no multicast, and only members at `from` get copies.
	 */
	void (*resolve_group)(const struct soft_port *from, const struct route *route,
			      struct path *path);
	/*
	 * Returns how many packets of a flow the source may send now. 0: none; the link kicks the source's actor when
	 * the link has room again. NULL: a sender never waits for the link.
	 */
	uint32_t (*room)(const struct source *src, enum flow_index flow);
	/*
	 * Sends a packet. True: the link owns the packet, and the packet goes home later. False: the packet is still
	 * the caller's, because the link has sent copies by value, or because the path leads nowhere.
	 */
	bool (*send)(struct runner *r, const struct path *path, struct packet *pkt);
	/*
	 * Takes packets out of the port's queue and hands each packet to link_receive(), until the
	 * queue is empty or the runner's budget is spent. True: the queue holds more packets. NULL:
	 * the link needs no poller.
	 */
	bool (*poll)(struct runner *r, struct soft_port *port);
	/*
	 * Takes back the packets of the recall that were sent from a port to far queue pairs with
	 * the number `qpn`, wherever the LIDs have led, and that those have not executed. Sends the
	 * packets home. May sleep.
	 */
	void (*recall)(const struct soft_port *from, uint32_t qpn, const struct recall *recall);
	/*
	 * Counts a packet that was damaged on the path as a receive error of the far port. False: the path leads
	 * nowhere.
	 */
	bool (*count_receive_error)(const struct path *path);
	/*
	 * Returns the actor of the far queue pair `qpn` if that queue pair is near: in this process, reached without
	 * any queue, at an Active port. The caller may then access the far queue pair's memory directly
	 * (transport/shortcut.c). NULL: the caller must send packets.
	 */
	struct actor *(*near)(const struct path *path, uint32_t qpn);
};

extern const struct link_ops link_loop;
/* The link of every port that is made from now on. The default is link_loop; a test may set another link. */
extern const struct link_ops *link_of_ports;

/* Fills *path for a packet that leaves `from` by the packet's own route. */
void link_resolve(const struct soft_port *from, const struct packet *pkt, struct path *path);
/*
 * Sends a packet from a port, by the packet's own route. Returns what link_ops.send() returns. The
 * members of a multicast datagram's group at `from` get their copies.
 */
bool link_pass(struct runner *r, struct soft_port *from, struct packet *pkt);
/*
 * Hands a packet that has come in at a port to the destination queue pair. False: the port is not
 * Active, no queue pair has the number, or the packet is a multicast datagram or one for the port's
 * own agents, of which each member or the agents have got a copy. The packet is then still the
 * caller's.
 */
bool link_receive(struct runner *r, struct soft_port *port, struct packet *pkt);
/* Hands a packet over likewise, to a port in any state, whatever port the packet has come in by:
 * port 0 of a switch. */
bool link_hand_over(struct runner *r, struct soft_port *port, struct packet *pkt);

/*
 * The actor that polls a port whose link has a queue. A sender kicks the poller after the sender has queued a packet.
 */
struct poller {
	struct actor actor;
	struct soft_port *port;
};

void poller_start(struct poller *poller, struct soft_port *port, struct engine *engine);
/* Makes the poller look at the port's queue. */
void poller_kick(struct runner *r, struct poller *poller);
/* Ends the poller: waits until no thread runs the poller, which never runs again. May sleep. */
void poller_stop(struct poller *poller);

/* Returns the actor of a port's queue pair by the queue pair's number. NULL: the HCA never had such
 * a queue pair. */
static inline struct actor *port_actor(const struct soft_port *port, uint32_t qpn)
{
	return UNLIKELY(qpn < SPECIAL_QPS) ? &port->special[qpn]
					   : table_find(port->ports->actors, qpn);
}

/* True: a packet with this source LID may come from the path's far port. */
static inline bool path_is_from(const struct path *path, uint16_t slid)
{
	return path->to && !((slid ^ path->lid) & path->lid_mask);
}

#endif
