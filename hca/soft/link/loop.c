/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The loop link connects ports of one process. The loop link puts a packet itself, not a copy,
 * directly into the far queue pair's inbox. Code common to all links is in link.c.
 */
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/link.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* A port has 2^LMC consecutive LIDs. */
static bool has_lid(const struct soft_port *port, uint16_t lid)
{
	return lid >= port->lid && lid - port->lid < 1 << port->lmc;
}

static void loop_resolve(const struct soft_port *from, const struct route *route, struct path *path)
{
	const struct soft_port *to;

	*path = (struct path){ 0 };
	if (has_lid(from, route->dlid))
		to = from;
	else if (has_lid(from->cable, route->dlid) || route->dlid == IB_LID_PERMISSIVE)
		to = from->cable;
	else
		return;
	path->to = (void *)to;
	path->lid = to->lid;
	path->lid_mask = (uint16_t) ~((1u << to->lmc) - 1);
}

static struct actor *path_actor(const struct path *path, uint32_t qpn)
{
	const struct soft_port *to = path->to;

	return to ? port_actor(to, qpn) : NULL;
}

static bool loop_send(struct runner *r, const struct path *path, struct packet *pkt)
{
	return LIKELY(path->to) && link_receive(r, path->to, pkt);
}

static bool loop_count_receive_error(const struct path *path)
{
	if (!path->to)
		return false;
	port_count(path->to, CNT_RCV_ERRORS, 1);
	return true;
}

/* On the loop link nothing lies between the two queue pairs while the far port is Active. */
static struct actor *loop_near(const struct path *path, uint32_t qpn)
{
	const struct soft_port *to = path->to;

	return to && port_state(to) == IB_PORT_ACTIVE ? path_actor(path, qpn) : NULL;
}

/*
 * A queue pair that is reset recalls its packets, which then go back to recall->home. This function takes them out of the
 * far queue pair's inbox and backlog. The far queue pair processes the other
 * packets of its inbox as if there had been no recall.
 */
static void loop_recall(const struct path *path, uint32_t qpn, const struct recall *recall)
{
	struct actor *a = path_actor(path, qpn);
	struct packet *inbox, *recalled, *next;
	struct runner r;

	if (!a || !actor_claim(a))
		return;
	runner_start(&r);
	inbox = actor_take(a);
	recalled = packets_recall(&inbox, recall);
	packets_append(&recalled, a->ops->recall(a, recall));
	a->ops->receive(&r, a, inbox);
	runner_add(&r, a); /* runner_run() releases the claimed actor */
	for (; recalled; recalled = next) {
		next = recalled->next;
		recalled->kind = PKT_NONE; /* a node that comes back unused */
		/* never fails: a queue pair ends only when it has all of its nodes (its own packets) back */
		actor_push(&r, recall->home, recalled);
	}
	runner_run(&r);
}

const struct link_ops link_loop = {
	.name = "loop",
	.resolve = loop_resolve,
	.send = loop_send,
	.recall = loop_recall,
	.count_receive_error = loop_count_receive_error,
	.near = loop_near,
};
