/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loop link connects ports of one process. It passes packets by reference, directly into the peer's inbox. */
#include "hca/soft/base/table.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/link.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* A port has 2^LMC consecutive LIDs. */
static bool answers(const struct soft_port *port, uint16_t dlid)
{
	return dlid >= port->lid && dlid - port->lid < 1 << port->lmc;
}

static void loop_resolve(const struct soft_port *from, const struct route *route, struct path *path)
{
	const struct soft_port *to = answers(from, route->dlid)		 ? from
				     : answers(from->cable, route->dlid) ? from->cable
									 : NULL;

	*path = (struct path){ .to = (void *)to };
	if (!to)
		return;
	path->lid = to->lid;
	path->lid_mask = (uint16_t) ~((1u << to->lmc) - 1);
}

static struct actor *path_actor(const struct path *path, uint32_t qpn)
{
	const struct soft_port *to = path->to;

	return to ? table_find(to->ports->actors, qpn) : NULL;
}

static bool loop_send(struct runner *r, const struct path *path, struct packet *pkt)
{
	return LIKELY(path->to) && link_receive(r, path->to, pkt);
}

static bool loop_spoil(const struct path *path)
{
	if (!path->to)
		return false;
	port_count(path->to, CNT_RCV_ERRORS, 1);
	return true;
}

static struct actor *loop_near(const struct path *path, uint32_t qpn)
{
	const struct soft_port *to = path->to;

	return to && port_state(to) == IB_PORT_ACTIVE ? path_actor(path, qpn) : NULL;
}

/* What the peer keeps goes on as if nothing had been: it is handed back to the peer, which is then run. */
static void loop_recall(const struct path *path, uint32_t qpn, const struct recall *what)
{
	struct actor *a = path_actor(path, qpn);
	struct packet *list, *back, *next;
	struct runner r;

	if (!a || !actor_claim(a))
		return;
	runner_start(&r);
	list = actor_take(a);
	back = packets_recall(&list, what);
	*packets_end(&back) = a->ops->recall(a, what);
	a->ops->receive(&r, a, list);
	runner_add(&r, a);
	for (; back; back = next) {
		next = back->next;
		back->kind = PKT_NONE; /* only a node; its home is alive until it has all of them */
		actor_push(&r, what->home, back);
	}
	runner_run(&r);
}

const struct link_ops link_loop = {
	.name = "loop",
	.resolve = loop_resolve,
	.send = loop_send,
	.recall = loop_recall,
	.spoil = loop_spoil,
	.near = loop_near,
};
