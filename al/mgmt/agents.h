/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agents of an HCA whose ports have them in the Access Layer (CI_PORT_SMA_IN_AL,
 * CI_PORT_PMA_IN_AL): the subnet management interface (smi.h), the subnet management agent (sma.h)
 * and the performance management agent (pma.h), joined to the MAD services of the HCA's ports. A
 * port without these capabilities has agents of its own, which handle directed routes as well: its
 * datagrams pass as they are.
 *
 * A datagram that arrives goes to the agents first if it is a subnet management packet, and to the
 * services first if it is any other.
 */
#ifndef IBAL_AL_MGMT_AGENTS_H
#define IBAL_AL_MGMT_AGENTS_H

#include <pthread.h>

#include "mad/node.h"

struct al_dev;
struct mgmt_port;
struct mgmt_received;

#define AGENTS_NOTICES 16 /* notices of the HCA's module that the management thread has not taken \
			   */

/* A notice that the HCA's module has raised. */
struct agents_notice {
	uint8_t port_num;
	struct ib_notice notice;
};

struct agents {
	_Atomic uint32_t refs; /* one for each port of the HCA that is served */

	/* Guards all below but the notices. Outside mgmt_port.lock. */
	pthread_mutex_t lock;
	struct mad_node node;         /* node.shape is constant */
	struct mgmt_port *port;       /* port for which the agents work now: sma_ops, pma_ops */
	const struct ib_ah_attr *src; /* path to the sender of the request; NULL: there is none */

	pthread_mutex_t notices_lock; /* leaf */
	struct agents_notice notices[AGENTS_NOTICES];
	uint32_t num_notices;
};

/* How a datagram leaves the node (IBTA 14.2.2). */
struct agents_way {
	bool to_self;     /* the datagram stays in the node */
	uint8_t out_port; /* external port of a switch; 0: by the destination LID */
	uint16_t dlid;    /* destination LID */
};

/* Makes the agents of an HCA, with one reference. NULL: there is no memory. */
struct agents *agents_new(const struct al_dev *dev);
struct agents *agents_get(struct agents *agents);
void agents_put(struct agents *agents);

/*
 * Finds the way of a datagram that a service or an agent sends from a port to a LID, and updates a
 * directed route. AL_INVALID_PARAMETER: the directed route does not begin at the port.
 */
al_status agents_route(const struct mgmt_port *port, struct ib_mad *mad, uint16_t dlid,
		       struct agents_way *way);
/* Answers a request as al_local_mad(). AL_NOT_FOUND, AL_UNSUPPORTED. May sleep. */
al_status agents_ask(struct mgmt_port *port, const struct ib_mad *request, struct ib_mad *response);
/* Takes a datagram that has come in at a port. By the thread that handles completions. */
void agents_received(struct mgmt_port *port, const struct mgmt_received *r);
/* Lets the management thread raise a notice at a port that has its subnet management agent here.
 * Any context. */
void agents_raise(struct mgmt_port *port, const struct ib_notice *notice);
/* Takes what the node has sent to itself by the port, sends the port's traps and moves its samples
 * whose time has come. On the management thread. */
void agents_run(struct mgmt_port *port, uint64_t now);

#endif
