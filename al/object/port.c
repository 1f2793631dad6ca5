/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port events: the ladder of a port's states, and the merging of all other events. */
#include "al/object/port.h"

/* Limits a state that a module reports to the highest state of the ladder. */
static ib_port_state clamp_state(ib_port_state state)
{
	return state > IB_PORT_ACTIVE ? IB_PORT_ACTIVE : state;
}

void ladder_init(struct ladder *l, ib_port_state state)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong(&l->state, &none, clamp_state(state));
	atomic_store(&l->reported, atomic_fetch_and(&l->state, ~LADDER_FELL) & ~LADDER_FELL);
}

void ladder_set(struct ladder *l, ib_port_state state)
{
	uint32_t now = atomic_load_explicit(&l->state, memory_order_relaxed), next;

	do {
		next = state | (now & LADDER_FELL);
		/* a change to a lower state counts as a fall through Down */
		if (state == IB_PORT_DOWN || state < (now & ~LADDER_FELL))
			next |= LADDER_FELL;
	} while (!atomic_compare_exchange_weak(&l->state, &now, next));
}

ib_port_state ladder_step(struct ladder *l)
{
	uint32_t now = atomic_fetch_and(&l->state, ~LADDER_FELL);
	uint32_t state = now & ~LADDER_FELL;
	uint32_t reported = atomic_load(&l->reported);

	if (reported == IB_PORT_NOP) /* nothing was reported yet: begin with Down, or above Down if
					the port is up */
		reported = state > IB_PORT_DOWN ? IB_PORT_DOWN : IB_PORT_NOP;
	else if (now & LADDER_FELL && reported != IB_PORT_DOWN)
		reported = IB_PORT_NOP;
	if (reported >= state)
		return IB_PORT_NOP;
	atomic_store(&l->reported, reported + 1);
	return (ib_port_state)(reported + 1);
}

static bool ladder_has_step(const struct ladder *l)
{
	uint32_t now = atomic_load(&l->state), reported = atomic_load(&l->reported);

	return reported < (now & ~LADDER_FELL) || (now & LADDER_FELL && reported != IB_PORT_DOWN);
}

void port_add_event(struct dev_port *port, ib_event_type type)
{
	if (PORT_STATES & 1u << type)
		ladder_set(&port->ladder,
			   (ib_port_state)(type - IB_EVENT_PORT_DOWN + IB_PORT_DOWN));
	else
		atomic_fetch_or(&port->pending, 1u << type);
}

bool port_take_event(struct dev_port *ports, uint32_t num_ports, ib_event_type *type,
		     uint32_t *port)
{
	for (uint32_t i = 0; i <= num_ports; i++) {
		ib_port_state step = ladder_step(&ports[i].ladder);
		uint32_t pending = atomic_load(&ports[i].pending);

		*port = i;
		if (step != IB_PORT_NOP) {
			*type = (ib_event_type)(step - IB_PORT_DOWN + IB_EVENT_PORT_DOWN);
			return true;
		}
		if (pending) {
			*type = (ib_event_type)__builtin_ctz(pending);
			atomic_fetch_and(&ports[i].pending, ~(pending & -pending));
			return true;
		}
	}
	return false;
}

bool port_has_event(const struct dev_port *ports, uint32_t num_ports)
{
	for (uint32_t i = 0; i <= num_ports; i++)
		if (atomic_load(&ports[i].pending) || ladder_has_step(&ports[i].ladder))
			return true;
	return false;
}
