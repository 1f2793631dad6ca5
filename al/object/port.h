/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An HCA's ports: the sizes of their tables, and the pending events of each port. al/event delivers the events. */
#ifndef AL_OBJECT_PORT_H
#define AL_OBJECT_PORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <iba/ib_verbs.h>

/*
 * The state of a port and the last state that was reported, as rungs of a ladder: Down, Initialize, Armed, Active. Reports
 * climb one rung at a time, so many changes merge into few reports; but a change to or through Down is always reported. One
 * thread at a time reports with ladder_step(); ladder_set() may be called in any context meanwhile.
 */
struct ladder {
	_Atomic uint32_t state;    /* current state, enum ib_port_state, and the bit LADDER_FELL */
	_Atomic uint32_t reported; /* state reported last; written by ladder_step() */
};
#define LADDER_FELL 0x100u /* the port went Down, or to a lower state, since the last ladder_step() */

/*
 * Sets the state of a new ladder. The state counts as reported already. A ladder_set() that came before takes precedence. Called
 * before the first ladder_step(). A ladder that is fed from another ladder's reports starts with the state which that ladder
 * reported last: with a higher state, the reports still to come would look like a fall.
 */
void ladder_init(struct ladder *l, ib_port_state state);
/* Sets the port's current state. Any context. */
void ladder_set(struct ladder *l, ib_port_state state);
/* Returns the next state to report, and counts it as reported. IB_PORT_NOP: nothing is left to report. */
ib_port_state ladder_step(struct ladder *l);

/* The port events that set the ladder's state, 1 << enum ib_event_type. */
#define PORT_STATES                                                                        \
	(1u << IB_EVENT_PORT_DOWN | 1u << IB_EVENT_PORT_INIT | 1u << IB_EVENT_PORT_ARMED | \
	 1u << IB_EVENT_PORT_ACTIVE)

struct dev_port {
	_Atomic uint32_t pending; /* pending events except PORT_STATES, 1 << enum ib_event_type */
	struct ladder ladder;
	uint32_t gid_tbl_len, pkey_tbl_len; /* number of entries; constant */
	ib_mtu max_mtu;                     /* constant */
	ib_gid *gids;                       /* copy of the GID table, in al_dev.ports only: dev_find_gid() */
};

/* Adds an event to the port's pending events. Any context. */
void port_add_event(struct dev_port *port, ib_event_type type);
/*
 * Takes the first pending event of ports 0 to num_ports, in the order of the ports. False: no event is pending. One thread at
 * a time.
 */
bool port_take_event(struct dev_port *ports, uint32_t num_ports, ib_event_type *type, uint32_t *port);
/* True: port_take_event() would find an event. */
bool port_has_event(const struct dev_port *ports, uint32_t num_ports);

#endif
