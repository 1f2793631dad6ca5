/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A subnet as a graph for graphviz: dot(1), neato(1) and others. */
#include "al/tools/net.h"

/* The text within double quotes of DOT: names have no quotes, and a backslash is doubled. */
static char *quoted(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "\\", -1);

	return g_strjoinv("\\\\", parts);
}

static const char *cable_colour(const struct net_port *port)
{
	guint state = MIN(port->state, port->peer->state);

	if (!state)
		return "gray50";
	return state == IB_PORT_ACTIVE ? "#009e73" : state == IB_PORT_DOWN ? "#d55e00" : "#e69f00";
}

static void write_node(GString *to, const struct net_node *node)
{
	g_autofree char *id = net_id_text(node), *name = quoted(node->name);

	g_string_append_printf(
		to,
		"\t\"%s\" [label=\"%s\", shape=%s, tooltip=\"0x%016" G_GINT64_MODIFIER
		"x, %u ports\"]\n",
		id, name,
		node->type == IB_NODE_SWITCH ? "box, style=filled, fillcolor=\"#dbe9f6\""
					     : "ellipse",
		node->guid, node->num_ports);
}

static void write_cable(GString *to, const struct net_port *port)
{
	g_autofree char *id = net_id_text(port->node), *peer = net_id_text(port->peer->node),
			*rate = net_rate_text(port);
	gboolean errors = (port->counted && port_errors_are_many(port->errors)) ||
			  (port->peer->counted && port_errors_are_many(port->peer->errors));

	g_string_append_printf(
		to,
		"\t\"%s\" -- \"%s\" [taillabel=\"%u\", headlabel=\"%u\", color=\"%s\", tooltip=\"%s\"%s]\n",
		id, peer, port->number, port->peer->number, cable_colour(port), rate,
		errors ? ", style=dashed, label=\"errors\"" : "");
}

char *net_write_dot(const struct net *net)
{
	GString *to = g_string_new(
		"graph subnet {\n\tgraph [overlap=false, splines=true, ranksep=1.5]\n"
		"\tnode [fontname=\"sans-serif\", fontsize=10]\n\tedge [fontname=\"sans-serif\", fontsize=8]\n");

	for (guint i = 0; i < net->nodes->len; i++)
		write_node(to, g_ptr_array_index(net->nodes, i));
	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++)
			/* The switch is the tail, which dot draws above. */
			if (net_is_tail(&node->ports[p]))
				write_cable(to, &node->ports[p]);
	}
	g_string_append(to, "}\n");
	return g_string_free(to, FALSE);
}
