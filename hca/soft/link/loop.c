/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The loop link connects ports of one process. The loop link puts a packet itself, not a copy,
 * directly into the far queue pair's inbox. Code common to all links is in link.c.
 */
#include "hca/soft/base/reading.h"
#include "hca/soft/engine/engine.h"
#include "hca/soft/link/link.h"
#include "hca/soft/packet/packet.h"
#include "hca/soft/port/port.h"
#include "hca/soft/shared/base.h"
#include "hca/soft/shared/opcode.h"

/* Makes a path to a port. */
static void lead_to(const struct soft_port *to, struct path *path)
{
	const struct port_lids lids = port_lids(to);

	path->to = (void *)to;
	path->lid = lids.base;
	path->lid_mask = (uint16_t) ~((1u << lids.lmc) - 1);
}

static void loop_resolve(const struct soft_port *from, const struct route *route, struct path *path)
{
	*path = (struct path){ 0 };
	if (port_is_destination(from, route))
		lead_to(from, path);
	else if (port_is_destination(from->cable, route) || route->dlid == IB_LID_PERMISSIVE)
		lead_to(from->cable, path);
}

/* To attach a queue pair is to join: the cable leads multicast to a port that has a member. */
static void loop_resolve_group(const struct soft_port *from, const struct route *route,
			       struct path *path)
{
	const struct soft_port *to = from->cable;

	*path = (struct path){ 0 };
	/* a loopback plug leads no multicast back: members at this port get theirs in the HCA */
	if (to != from && mcast_is_wanted(&to->ports->mcast, to->number, &route->dgid, route->dlid))
		lead_to(to, path);
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

	return to && port_state(to) == IB_PORT_ACTIVE ? port_actor(to, qpn) : NULL;
}

/* Takes recalled packets out of the inbox and the backlog of a port's queue pair, which keeps the
 * others. */
static void recall_at(const struct soft_port *port, uint32_t qpn, const struct recall *recall)
{
	struct actor *a = port_actor(port, qpn);
	struct packet *inbox, *recalled, *next;
	struct runner r;

	if (!a || !actor_claim(a))
		return;
	runner_start(&r);
	inbox = actor_take(a);
	recalled = packets_recall(&inbox, recall);
	packets_append(&recalled, a->ops->recall(a, recall));
	reading_begin(); /* the inbox may have responses, whose payload is copied now */
	a->ops->receive(&r, a, inbox);
	reading_end();
	runner_add(&r, a); /* runner_run() releases the claimed actor */
	for (; recalled; recalled = next) {
		next = recalled->next;
		recalled->kind = PKT_NONE; /* a node that comes back unused */
		/* never fails: a queue pair ends only when it has all of its nodes (its own packets) back */
		actor_push(&r, recall->home, recalled);
	}
	runner_run(&r);
}

/* Both ends of the cable are asked: the LIDs may have changed since the packets were sent. */
static void loop_recall(const struct soft_port *from, uint32_t qpn, const struct recall *recall)
{
	recall_at(from->cable, qpn, recall);
	if (from->cable != from)
		recall_at(from, qpn, recall);
}

const struct link_ops link_loop = {
	.name = "loop",
	.resolve = loop_resolve,
	.resolve_group = loop_resolve_group,
	.send = loop_send,
	.recall = loop_recall,
	.count_receive_error = loop_count_receive_error,
	.near = loop_near,
};
