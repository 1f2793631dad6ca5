/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Address handles of a port's sends. To make and destroy a handle for each datagram costs more than
 * to send the datagram, and most go where another has just gone: all directed routes have one
 * address. So a port keeps the handles that were used last.
 */
#ifndef AL_MGMT_PATH_H
#define AL_MGMT_PATH_H

#include <pthread.h>
#include <stdint.h>

#include <iba/ib_al.h>

#define MGMT_PATHS 8 /* address handles that a port keeps */

/* An address handle that sends share. Guarded by mgmt_paths.lock. */
struct mgmt_path {
	struct ib_ah_attr attr;
	al_ah_h ah;         /* NULL: the entry is free */
	uint32_t sends;     /* sends with the handle; an entry without sends may be replaced */
	uint64_t last_used; /* mgmt_paths.uses at that time */
};

/* The handles that a port keeps. They end with the port's protection domain. */
struct mgmt_paths {
	pthread_mutex_t lock; /* leaf, within mgmt_port.lock */
	uint64_t uses;
	struct mgmt_path path[MGMT_PATHS];
};

/* A send's hold of an address handle. */
struct mgmt_hold {
	al_ah_h ah;
	struct mgmt_path *shared; /* NULL: the handle is the send's own */
};

void paths_init(struct mgmt_paths *paths);
void paths_end(struct mgmt_paths *paths);
/* Finds or makes an address handle for a path. Statuses of al_create_ah(). */
al_status paths_take(struct mgmt_paths *paths, al_pd_h pd, const struct ib_ah_attr *attr,
		     struct mgmt_hold *hold);
/* Ends a hold. A posted request keeps its path. */
void paths_drop(struct mgmt_paths *paths, const struct mgmt_hold *hold);

#endif
