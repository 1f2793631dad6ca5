/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An HCA's ports: the sizes of their tables, and the events of each port that are still to be told.
 * al/event delivers the events.
 */
#ifndef AL_OBJECT_PORT_H
#define AL_OBJECT_PORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <iba/ib_verbs.h>

/*
 * The events of a port that its client was told, and the events that the client is still to be
 * told: the state of the port, and the changes of the port's tables and subnet manager (the events
 * IB_EVENT_LID_CHANGE to IB_EVENT_DEVICE_FATAL). The client of a ladder takes the ladder's events.
 * A client is the async dispatcher, a handler's channel, a PnP registration, or the agent for one
 * of its clients. Events are added in any context, lock-free and without an allocation: the ladder
 * is one word.
 *
 * The states are the rungs of a ladder: Down, Initialize, Armed, Active. A change to a lower state
 * is a fall through Down. A slow client is told the shortest legal sequence from the state that it
 * was told last to the state of the port:
 *
 * - Each state told is Down, or one rung above the state told before. A port of Ethernet has the
 *   rungs Down and Active only (ladder_skip_steps()).
 * - A fall is told unless Down is the last state told. Falls that are not told yet merge into one
 *   Down, which stands for the last of them. The climb before a fall is left out as far as the
 *   client was not told of it.
 * - A change is told after every step that came before the change, and before every step that came
 *   after it. So a change between Initialize and Armed is told between those two steps, also if the
 *   client has been told neither. A change before a fall that is not told yet is told before Down,
 *   and so is a change in a climb that is left out; if Down is the last state told, the change in a
 *   climb that is left out is told before Initialize.
 * - Changes of one type merge if no step is told between them. A change before a fall and a change
 *   of the same type after the fall are told both: the first one alone would be told before the
 *   second one happened, and the second one alone after the fall that the first one preceded.
 * - Changes between the same two steps are told in the order of enum ib_event_type.
 *
 * A ladder whose input is the output of another ladder keeps these rules for the input of the other
 * ladder.
 */
struct ladder {
	_Atomic uint64_t word;
};

/* Sets that the port has the states Down and Active only, as an Ethernet port: no step between them
 * is told. Called before ladder_init(). */
void ladder_skip_steps(struct ladder *l);
/* True: ladder_skip_steps() was called, or ladder_follow() has seen that the port is such a port. */
bool ladder_skips_steps(const struct ladder *l);

/*
 * Sets the state of a new ladder, and counts the state as told. A state that was added before takes
 * precedence. Called before the first ladder_take().
 */
void ladder_init(struct ladder *l, ib_port_state state);
/*
 * Sets the state of a new ladder that no other thread uses yet: the client is to be told the steps
 * from Down to the state, or Down if that is the state. The ladder has the rungs of another one.
 */
void ladder_replay(struct ladder *l, const struct ladder *of, ib_port_state state);
/* Adds an event of a port. Any context. */
void ladder_add(struct ladder *l, ib_event_type type);
/*
 * Adds an event that another ladder has told. The first state shows which state the other ladder
 * told before: the rung below, or any rung above Down. So the client of a ladder that begins with
 * ladder_follow() counts as told what the other ladder has told already. A step from Down to Active
 * shows that the other ladder skips steps. One thread at a time.
 */
void ladder_follow(struct ladder *l, ib_event_type type);
/* Takes the next event, and counts the event as told. False: nothing is left to tell. */
bool ladder_take(struct ladder *l, ib_event_type *type);
/* True: ladder_take() would take an event. */
bool ladder_has_event(const struct ladder *l);
/* The state that was told last; IB_PORT_NOP: none. */
ib_port_state ladder_told(const struct ladder *l);

/* The port events that set a ladder's state, 1 << enum ib_event_type. */
#define PORT_STATES                                                                        \
	(1u << IB_EVENT_PORT_DOWN | 1u << IB_EVENT_PORT_INIT | 1u << IB_EVENT_PORT_ARMED | \
	 1u << IB_EVENT_PORT_ACTIVE)

struct dev_port {
	struct ladder ladder; /* of port 0: changes of the HCA itself; of a switch also the states
				 of port 0 */
	uint32_t gid_tbl_len, pkey_tbl_len; /* number of entries; constant */
	ib_mtu max_mtu;                     /* constant */
	ib_link_layer link_layer;           /* constant */
	uint64_t port_guid;                 /* constant */
	uint32_t ci_caps;                   /* enum ci_port_cap; constant */
	uint32_t managers; /* HCA handles by which IB_PORT_CAP_SM is set; in al_dev.ports only,
			      guarded by the lock of al/verbs/ca.c */
	_Atomic bool spl_qps_held;          /* the library owns QP0 and QP1 of the port; in al_dev.ports only, written
					     * by al/mgmt */
	/* addresses of the last Set(PortInfo) that the port's own agents have carried out, in
	 * al_dev.ports only: al/event/seen.c; 0: unknown */
	_Atomic uint64_t seen;
	_Atomic uint64_t seen_prefix;       /* counts if seen is not 0 */
	ib_gid *gids;                       /* copy of the GID table, in al_dev.ports only: dev_find_gid() */
};

/*
 * Takes the next event of the first of the ports 0 to num_ports that has one: ports are in no
 * order. False: no port has an event.
 */
bool port_take_event(struct dev_port *ports, uint32_t num_ports, ib_event_type *type, uint32_t *port);
/* True: port_take_event() would take an event. */
bool port_has_event(const struct dev_port *ports, uint32_t num_ports);

#endif
