/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Links: how packets leave a port, and how they come in at one. */
#ifndef SOFT_LINK_H
#define SOFT_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct actor;
struct packet;
struct recall;
struct route;
struct runner;
struct soft_port;

/* Where a route leads from a port, as the port's link has found. */
struct path {
	void *to;               /* the link's own; NULL: nobody answers there */
	uint16_t lid, lid_mask; /* packets that come back have a source LID that is the first, in the bits of the second */
};

struct link_ops {
	const char *name;
	void (*resolve)(const struct soft_port *from, const struct route *route, struct path *path);
	/* Takes the packet over; false: nobody is there, the packet is still the caller's. */
	bool (*send)(struct runner *r, const struct path *path, struct packet *pkt);
	/* Takes back what has been sent that way to a queue pair and not been looked at. It goes home. May sleep. */
	void (*recall)(const struct path *path, uint32_t qpn, const struct recall *what);
	/* A packet was changed on its way: the far port counts it. False: nobody is there. */
	bool (*spoil)(const struct path *path);
	/*
	 * The queue pair itself, where nothing lies between it and whoever asks, so that what packets would do may be
	 * done at once; NULL: packets must go.
	 */
	struct actor *(*near)(const struct path *path, uint32_t qpn);
};

extern const struct link_ops link_loop;

/*
 * A packet comes in at a port, which hands it to the queue pair that it is for. False: the port is not Active or there is no such
 * queue pair; the packet is still the caller's.
 */
bool link_receive(struct runner *r, struct soft_port *port, struct packet *pkt);

static inline bool path_is_from(const struct path *path, uint16_t slid)
{
	return path->to && !((slid ^ path->lid) & path->lid_mask);
}

#endif
