/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An HCA's ports: their sizes, and the events of each that wait to be delivered. al/event delivers them. */
#ifndef AL_OBJECT_PORT_H
#define AL_OBJECT_PORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <iba/ib_verbs.h>

/*
 * State of a port as a ladder: what is told next follows from what was told last and what is now; a fall through Down
 * is never merged away. Set by one side (any context), walked by the other.
 */
struct ladder {
	_Atomic uint32_t now;  /* enum ib_port_state, and LADDER_FELL */
	_Atomic uint32_t told; /* written by the walker */
};
#define LADDER_FELL 0x100u

/*
 * Where it stands at first, which is no news; an event that came before wins. Before anybody walks. Who follows another
 * ladder's walker starts from what that one told last: from what is now, the steps still to come would be a fall.
 */
void ladder_init(struct ladder *l, ib_port_state state);
void ladder_set(struct ladder *l, ib_port_state state);
/* The next step to tell, or IB_PORT_NOP. */
ib_port_state ladder_step(struct ladder *l);

/* Events that are steps of the ladder, 1 << enum ib_event_type. */
#define PORT_STATES                                                                        \
	(1u << IB_EVENT_PORT_DOWN | 1u << IB_EVENT_PORT_INIT | 1u << IB_EVENT_PORT_ARMED | \
	 1u << IB_EVENT_PORT_ACTIVE)

struct dev_port {
	_Atomic uint32_t pending; /* 1 << enum ib_event_type, but the port states */
	struct ladder ladder;
	uint32_t gid_tbl_len, pkey_tbl_len; /* constant */
	ib_mtu max_mtu;                     /* constant */
	ib_gid *gids;                       /* of al_dev's ports: see dev_find_gid() */
};

/* A port's event: any context. */
void port_set(struct dev_port *port, ib_event_type type);
/* The next event of ports 0 to num_ports, in the order of the ports; false: none. For one walker at a time. */
bool port_take(struct dev_port *ports, uint32_t num_ports, ib_event_type *type, uint32_t *port);
/* Would port_take() find one? */
bool port_waits(const struct dev_port *ports, uint32_t num_ports);

#endif
