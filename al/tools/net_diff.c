/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The differences between two states of a subnet. Nodes are compared by their GUIDs, cables by the
 * two ports that they join. A port whose cable leads to another port than before has moved. Each
 * cable appears in one difference only.
 */
#include <string.h>

#include "al/tools/net.h"

static void free_change(void *arg)
{
	struct net_change *change = arg;

	g_free(change->text);
	g_free(change);
}

static void add(GPtrArray *to, enum net_change_kind kind, const struct net_node *node, guint port,
		char *text)
{
	struct net_change *change = g_new0(struct net_change, 1);

	change->kind = kind;
	change->guid = node->guid;
	change->port = (guint8)port;
	change->text = text;
	g_ptr_array_add(to, change);
}

static const char *type_word(const struct net_node *node)
{
	static const char *const type_words[] = { "node", "HCA", "switch", "router" };

	return type_words[node->type];
}

static void add_node(GPtrArray *to, enum net_change_kind kind, const struct net_node *node)
{
	add(to, kind, node, 0,
	    g_strdup_printf("%s %s (0x%016" G_GINT64_MODIFIER "x)", type_word(node), node->name,
			    node->guid));
}

static void add_cable(GPtrArray *to, enum net_change_kind kind, const struct net_port *port)
{
	g_autofree char *here = net_port_text(port), *there = net_port_text(port->peer);

	add(to, kind, port->node, port->number,
	    g_strdup_printf("cable from %s to %s", here, there));
}

/* The port of the same node and number in another subnet; NULL: there is none. */
static struct net_port *same_port(const struct net *net, const struct net_port *port)
{
	struct net_node *node = net_find(net, port->node->guid);

	return node && port->number <= node->num_ports ? &node->ports[port->number] : NULL;
}

static gboolean is_same(const struct net_port *a, const struct net_port *b)
{
	return a && b && a->node->guid == b->node->guid && a->number == b->number;
}

static void diff_node(GPtrArray *to, const struct net_node *a, const struct net_node *b)
{
	if (a->type != b->type || a->num_ports != b->num_ports)
		add(to, NET_CHANGED, b, 0,
		    g_strdup_printf(
			    "%s %s: was of type %s with %u ports, is of type %s with %u ports",
			    type_word(b), b->name, type_word(a), a->num_ports, type_word(b),
			    b->num_ports));
	if (strcmp(a->name, b->name))
		add(to, NET_CHANGED, b, 0,
		    g_strdup_printf("%s 0x%016" G_GINT64_MODIFIER "x: was named %s, is named %s",
				    type_word(b), b->guid, a->name, b->name));
}

/* A cable of `before`: is there, has moved, or is missing. A cable both of whose ports have moved
 * is told at its first one. */
static void diff_cable(GPtrArray *to, const struct net_port *old, const struct net *after)
{
	const struct net_port *here = same_port(after, old), *there = same_port(after, old->peer);
	const struct net_port *moved = here && here->peer     ? here
				       : there && there->peer ? there
							      : NULL;
	g_autofree char *port = NULL, *was = NULL, *is = NULL, *rate_before = net_rate_text(old),
			*rate_after = NULL;

	if (here && is_same(here->peer, old->peer)) {
		rate_after = net_rate_text(here);
		if (old->width && here->width && strcmp(rate_before, rate_after)) {
			port = net_port_text(here);
			is = net_port_text(here->peer);
			add(to, NET_CHANGED, here->node, here->number,
			    g_strdup_printf("cable from %s to %s: was %s, is %s", port, is,
					    rate_before, rate_after));
		}
		return;
	}
	if (!moved) {
		add_cable(to, NET_MISSING, old);
		return;
	}
	port = net_port_text(moved);
	was = net_port_text(moved == here ? old->peer : old);
	is = net_port_text(moved->peer);
	add(to, NET_MOVED, moved->node, moved->number,
	    g_strdup_printf("%s: was at %s, is at %s", port, was, is));
}

/* A cable of `after` is new if neither of its ports had a cable: otherwise its port has moved, and
 * was told. */
static void diff_new_cable(GPtrArray *to, const struct net_port *port, const struct net *before)
{
	const struct net_port *here = same_port(before, port),
			      *there = same_port(before, port->peer);

	if (!(here && here->peer) && !(there && there->peer))
		add_cable(to, NET_NEW, port);
}

static void each_cable(GPtrArray *to, const struct net *net, const struct net *other,
		       void (*fn)(GPtrArray *to, const struct net_port *port,
				  const struct net *other))
{
	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++)
			if (net_is_tail(&node->ports[p]))
				fn(to, &node->ports[p], other);
	}
}

GPtrArray *net_diff(const struct net *before, const struct net *after)
{
	GPtrArray *changes = g_ptr_array_new_with_free_func(free_change);

	for (guint i = 0; i < before->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(before->nodes, i),
				      *now = net_find(after, node->guid);

		if (now)
			diff_node(changes, node, now);
		else
			add_node(changes, NET_MISSING, node);
	}
	for (guint i = 0; i < after->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(after->nodes, i);

		if (!net_find(before, node->guid))
			add_node(changes, NET_NEW, node);
	}
	each_cable(changes, before, after, diff_cable);
	each_cable(changes, after, before, diff_new_cable);
	return changes;
}

const char *net_change_word(enum net_change_kind kind)
{
	static const char *const kinds[] = {
		[NET_MISSING] = "missing",
		[NET_NEW] = "new",
		[NET_MOVED] = "moved",
		[NET_CHANGED] = "changed",
	};

	return kinds[kind];
}
