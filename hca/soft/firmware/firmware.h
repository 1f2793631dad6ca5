/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Management agents of the ports' own (agents = hardware), as the firmware of an adapter has them:
 * subnet management interface and agent, and performance management agent, at queue pairs 0 and 1
 * of each port (firmware.c). mad/ has the agents' responses; the Access Layer takes no part.
 *
 * The agents stand between a port and its special queue pairs. They take the datagrams for
 * themselves, and hand all others over to the special queue pair: responses, traps and SMInfo for a
 * local subnet manager, and datagrams of other classes. While a port has no QP1 of a client's, the
 * agents answer that such a class is not supported. A packet that QP0 sends on a directed route
 * goes to the agents, too, which answer a route of no hop and make the first step of any other. A
 * packet that QP0 routes by LID leaves as it is; if it is for the port itself, it comes back by the
 * link.
 *
 * The agents of a node are one actor. Packets come to the actor as copies, so no sender waits for
 * the agents. What the agents send from a port leaves like the packets of queue pairs
 * (link/source.h), so fault rules meet it.
 */
#ifndef SOFT_FIRMWARE_H
#define SOFT_FIRMWARE_H

#include <iba/ib_types.h>

#include "hca/soft/port/port.h"

struct engine;

/* Reads or writes an attribute of a node, as port_attr() does. num: port that the attribute belongs
 * to. */
typedef uint16_t (*firmware_attr)(struct ports *ports, uint8_t num, uint16_t attr_id,
				  uint32_t attr_mod, bool set, uint8_t *data);

/*
 * Makes the agents of a node's ports, and sets ports->own. The ports have their numbers and GUIDs.
 * engine: runs the agents. AL_INSUFFICIENT_MEMORY.
 */
al_status firmware_create(struct ports *ports, const struct ib_ca_attr *attr, struct engine *engine,
			  firmware_attr read_or_write);
/* Ends the agents, if any. The engine is stopped, and no queue pair is left. */
void firmware_destroy(struct ports *ports);

#endif
