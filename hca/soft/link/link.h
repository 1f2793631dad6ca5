/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Links: how packets leave a port, and how they come in at one (link.c). */
#ifndef SOFT_LINK_H
#define SOFT_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <iba/ib_types.h>

#include "hca/soft/engine/engine.h"
#include "hca/soft/packet/packet.h"

struct soft_port;
struct source;

/* Where a route leads from a port, as the port's link has found. */
struct path {
	void *to;               /* the link's own; NULL: nobody answers there */
	uint16_t lid, lid_mask; /* packets that come back have a source LID that is the first, in the bits of the second */
};

struct link_ops {
	const char *name;
	/* Makes and ends what the link keeps for a port (soft_port.link_state). NULL: nothing. */
	al_status (*attach)(struct soft_port *port, struct engine *engine);
	void (*detach)(struct soft_port *port);
	void (*resolve)(const struct soft_port *from, const struct route *route, struct path *path);
	/*
	 * Packets of a flow that the source may send now. 0: none; the link kicks the source's actor when it has room again.
	 * NULL: a sender never waits for the link.
	 */
	uint32_t (*room)(const struct source *src, enum flow_index flow);
	/*
	 * Sends the packet. True: the link has taken it over, and it goes home later. False: the packet is still the caller's,
	 * because the link has sent copies by value, or because nobody is there.
	 */
	bool (*send)(struct runner *r, const struct path *path, struct packet *pkt);
	/*
	 * Takes packets that have come in out of the port's queue and hands each to link_receive(), as far as the runner's
	 * budget goes. True: there are more. NULL: send() hands packets to link_receive() itself.
	 */
	bool (*poll)(struct runner *r, struct soft_port *port);
	/* Takes back what has been sent that way to a queue pair and not been looked at. It goes home. May sleep. */
	void (*recall)(const struct path *path, uint32_t qpn, const struct recall *what);
	/* A packet was changed on its way: the far port counts it. False: nobody is there. */
	bool (*spoil)(const struct path *path);
	/*
	 * The actor of the peer's queue pair, where nothing lies between it and the caller, so that what packets would do may
	 * be done at once; NULL: packets must go.
	 */
	struct actor *(*near)(const struct path *path, uint32_t qpn);
};

extern const struct link_ops link_loop;
/* The link of all ports that are made from now on: link_loop, unless a test puts another one here. */
extern const struct link_ops *link_of_ports;

/*
 * A packet comes in at a port, which hands the packet to the queue pair of its destination. False: the port is not Active or
 * there is no such queue pair; the packet is still the caller's.
 */
bool link_receive(struct runner *r, struct soft_port *port, struct packet *pkt);

/* What polls a port whose link has a queue: an actor of the port's engine, kicked when a packet has been queued. */
struct poller {
	struct actor actor;
	struct soft_port *port;
};

void poller_start(struct poller *poller, struct soft_port *port, struct engine *engine);
/* Packets have been queued for the port. */
void poller_kick(struct runner *r, struct poller *poller);
/* Waits until the poller does not run. It never runs again. May sleep. */
void poller_stop(struct poller *poller);

static inline bool path_is_from(const struct path *path, uint16_t slid)
{
	return path->to && !((slid ^ path->lid) & path->lid_mask);
}

#endif
