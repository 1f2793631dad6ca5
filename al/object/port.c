/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port events: the ladder of a port's states, and the merging of all other events. */
#include "al/object/port.h"

/* What a module says, within what can be told. */
static ib_port_state sane(ib_port_state state)
{
	return state > IB_PORT_ACTIVE ? IB_PORT_ACTIVE : state;
}

void ladder_init(struct ladder *l, ib_port_state state)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong(&l->now, &none, sane(state));
	atomic_store(&l->told, atomic_fetch_and(&l->now, ~LADDER_FELL) & ~LADDER_FELL);
}

void ladder_set(struct ladder *l, ib_port_state state)
{
	uint32_t now = atomic_load_explicit(&l->now, memory_order_relaxed), next;

	do {
		next = state | (now & LADDER_FELL);
		/* the only way down the ladder is through Down */
		if (state == IB_PORT_DOWN || state < (now & ~LADDER_FELL))
			next |= LADDER_FELL;
	} while (!atomic_compare_exchange_weak(&l->now, &now, next));
}

ib_port_state ladder_step(struct ladder *l)
{
	uint32_t now = atomic_fetch_and(&l->now, ~LADDER_FELL);
	uint32_t state = now & ~LADDER_FELL;
	uint32_t told = atomic_load(&l->told);

	if (told == IB_PORT_NOP) /* a newcomer: from Down upwards, or Down itself */
		told = state > IB_PORT_DOWN ? IB_PORT_DOWN : IB_PORT_NOP;
	else if (now & LADDER_FELL && told != IB_PORT_DOWN)
		told = IB_PORT_NOP;
	if (told >= state)
		return IB_PORT_NOP;
	atomic_store(&l->told, told + 1);
	return (ib_port_state)(told + 1);
}

static bool ladder_waits(const struct ladder *l)
{
	uint32_t now = atomic_load(&l->now), told = atomic_load(&l->told);

	return told < (now & ~LADDER_FELL) || (now & LADDER_FELL && told != IB_PORT_DOWN);
}

void port_set(struct dev_port *port, ib_event_type type)
{
	if (PORT_STATES & 1u << type)
		ladder_set(&port->ladder,
			   (ib_port_state)(type - IB_EVENT_PORT_DOWN + IB_PORT_DOWN));
	else
		atomic_fetch_or(&port->pending, 1u << type);
}

bool port_take(struct dev_port *ports, uint32_t num_ports, ib_event_type *type, uint32_t *port)
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

bool port_waits(const struct dev_port *ports, uint32_t num_ports)
{
	for (uint32_t i = 0; i <= num_ports; i++)
		if (atomic_load(&ports[i].pending) || ladder_waits(&ports[i].ladder))
			return true;
	return false;
}
