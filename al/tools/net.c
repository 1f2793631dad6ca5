/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Nodes, ports and cables of a subnet (net.h). */
#include "al/tools/net.h"

#include <string.h>

#include "al/tools/tool.h"

static void free_node(void *arg)
{
	struct net_node *node = arg;

	g_free(node->name);
	g_free(node->ports);
	g_free(node);
}

struct net *net_new(void)
{
	struct net *net = g_new0(struct net, 1);

	net->nodes = g_ptr_array_new_with_free_func(free_node);
	net->by_guid = g_hash_table_new(g_int64_hash, g_int64_equal);
	net->problems = g_ptr_array_new_with_free_func(g_free);
	return net;
}

void net_free(struct net *net)
{
	if (!net)
		return;
	g_hash_table_destroy(net->by_guid);
	g_ptr_array_unref(net->nodes);
	g_ptr_array_unref(net->problems);
	g_free(net);
}

struct net_node *net_find(const struct net *net, guint64 guid)
{
	return g_hash_table_lookup(net->by_guid, &guid);
}

struct net_node *net_add(struct net *net, guint64 guid, guint type, guint num_ports)
{
	guint ports = num_ports + (type == IB_NODE_SWITCH);
	struct net_node *node;

	if (!guid || net_find(net, guid) || type < IB_NODE_CA || type > IB_NODE_ROUTER ||
	    !num_ports || num_ports > TOPOLOGY_MAX_NODE_PORTS ||
	    net->nodes->len >= TOPOLOGY_MAX_NODES || net->num_ports + ports > TOPOLOGY_MAX_PORTS)
		return NULL;
	node = g_new0(struct net_node, 1);
	node->guid = guid;
	node->type = (guint8)type;
	node->num_ports = (guint8)num_ports;
	node->ports = g_new0(struct net_port, num_ports + 1);
	for (guint i = 0; i <= num_ports; i++) {
		node->ports[i].number = (guint8)i;
		node->ports[i].node = node;
	}
	node->index = net->nodes->len;
	net->num_ports += ports;
	net_set_name(node, "", 0);
	g_ptr_array_add(net->nodes, node);
	g_hash_table_insert(net->by_guid, &node->guid, node);
	return node;
}

void net_set_name(struct net_node *node, const char *text, gssize length)
{
	g_autofree char *copy = length < 0 ? g_strdup(text) : g_strndup(text, (gsize)length);
	/* Other readers of a topology's text know no quote within a name. */
	g_autofree char *clean = g_strdelimit(tool_clean(copy), "\"", '\'');
	char name[TOPOLOGY_MAX_DESCRIPTION + 1];

	/* What is clean may be longer: a replaced character has three bytes. */
	topology_describe(name, clean, strlen(clean));
	g_free(node->name);
	node->name = *name ? g_strdup(name) : net_id_text(node);
}

gboolean net_connect(struct net_port *a, struct net_port *b)
{
	if (a == b || (a->peer && a->peer != b) || (b->peer && b->peer != a))
		return FALSE;
	a->peer = b;
	b->peer = a;
	return TRUE;
}

gboolean net_is_tail(const struct net_port *port)
{
	const struct net_node *a = port->node, *b;

	if (!port->peer)
		return FALSE;
	b = port->peer->node;
	if ((a->type == IB_NODE_SWITCH) != (b->type == IB_NODE_SWITCH))
		return a->type == IB_NODE_SWITCH;
	return a == b ? port->number < port->peer->number : a->index < b->index;
}

void net_problem(struct net *net, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(net->problems, g_strdup_vprintf(format, args));
	va_end(args);
}

struct net_port *net_lid_port(struct net_port *port)
{
	return port->node->type == IB_NODE_SWITCH ? &port->node->ports[0] : port;
}

char *net_rate_text(const struct net_port *port)
{
	char text[TOPOLOGY_RATE_BYTES];

	topology_rate_text(port->width, port->speed, text);
	return g_strdup(text);
}

char *net_id_text(const struct net_node *node)
{
	char text[TOPOLOGY_NAME_BYTES];

	topology_name_text(node->type, node->guid, text);
	return g_strdup(text);
}

char *net_port_text(const struct net_port *port)
{
	return g_strdup_printf("%s, port %u", port->node->name, port->number);
}

guint net_count(const struct net *net, guint type)
{
	guint count = 0;

	for (guint i = 0; i < net->nodes->len; i++)
		count += ((struct net_node *)g_ptr_array_index(net->nodes, i))->type == type;
	return count;
}

guint net_count_cables(const struct net *net)
{
	guint ends = 0;

	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++)
			ends += node->ports[p].peer != NULL;
	}
	return ends / 2;
}
