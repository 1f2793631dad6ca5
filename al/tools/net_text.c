/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A subnet as the text of ibnetdiscover, and back. topo/ has the text's writer and reader, and a
 * struct topology is between the text and a subnet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "al/tools/net.h"
#include "al/tools/tool.h"

/* --------------------------------------------------------------------- writing */

/* Adds a node, with ports without cables. Returns the node's index. */
static guint32 put_node(struct topology *t, const struct net_node *node)
{
	guint32 index = topology_add_node(t, node->type, node->num_ports);
	struct topology_node *to;

	/* The limits of a topology are those of a subnet. */
	if (index == TOPOLOGY_NONE)
		g_error("out of memory");
	to = &t->nodes[index];
	to->guid = node->guid;
	to->system_guid = node->system_guid;
	to->vendor = node->vendor;
	to->device = node->device;
	to->enhanced = node->enhanced;
	topology_describe(to->description, node->name, strlen(node->name));
	for (guint i = 0; i < topology_port_count(to); i++) {
		struct topology_port *port = &t->ports[to->first_port + i];
		const struct net_port *from = &node->ports[port->number];

		port->guid = from->guid;
		port->lid = from->lid;
		port->lmc = from->lmc;
		port->width = (guint8)from->width;
		port->speed = (guint8)from->speed;
	}
	return index;
}

/* indices: of the topology's nodes, by net_node.index */
static guint32 index_of(const struct topology *t, const struct net_port *port,
			const guint32 *indices)
{
	return topology_port_index(&t->nodes[indices[port->node->index]], port->number);
}

static void put_net(struct topology *t, const struct net *net)
{
	static const guint order[] = { IB_NODE_SWITCH, IB_NODE_CA, IB_NODE_ROUTER };
	g_autofree guint32 *indices = g_new(guint32, net->nodes->len);

	for (guint o = 0; o < G_N_ELEMENTS(order); o++)
		for (guint i = 0; i < net->nodes->len; i++) {
			const struct net_node *node = g_ptr_array_index(net->nodes, i);

			if (node->type == order[o])
				indices[i] = put_node(t, node);
		}
	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++)
			if (net_is_tail(&node->ports[p]))
				topology_connect(t, index_of(t, &node->ports[p], indices),
						 index_of(t, node->ports[p].peer, indices));
	}
}

char *net_write_text(const struct net *net, const char *date)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *today = date ? g_strdup(date) : g_date_time_format(now, "%a %b %e %T %Y");
	GString *text = g_string_new(NULL);
	struct topology t = { 0 };
	char *nodes = NULL;
	size_t length;
	FILE *to = open_memstream(&nodes, &length);

	g_string_append_printf(text, "#\n# Topology file: generated on %s\n#\n", today);
	if (net->from_node)
		g_string_append_printf(text,
				       "# Initiated from node %016" G_GINT64_MODIFIER
				       "x port %016" G_GINT64_MODIFIER "x\n",
				       net->from_node, net->from_port);
	put_net(&t, net);
	if (!to || topology_write(&t, to) || fclose(to))
		g_error("out of memory");
	g_string_append_len(text, nodes, (gssize)length);
	topology_free(&t);
	free(nodes);
	return g_string_free(text, FALSE);
}

/* --------------------------------------------------------------------- reading */

static void take_port(struct net *net, const struct topology *t, const struct topology_port *from)
{
	struct net_node *node = g_ptr_array_index(net->nodes, from->node);
	struct net_port *port = &node->ports[from->number];

	port->known = from->peer != TOPOLOGY_NONE || !from->number;
	port->guid = from->guid;
	port->lid = from->lid <= IB_LID_UNICAST_LAST ? from->lid : 0;
	port->lmc = from->lmc;
	port->width = from->width;
	port->speed = from->speed;
	if (from->peer != TOPOLOGY_NONE) {
		const struct topology_port *peer = &t->ports[from->peer];

		node = g_ptr_array_index(net->nodes, peer->node);
		net_connect(port, &node->ports[peer->number]);
	}
}

/* The nodes have the indices that they have in the topology: its GUIDs differ, and its limits are
 * those of a subnet. */
static struct net *take_topology(const struct topology *t)
{
	struct net *net = net_new();

	for (guint32 i = 0; i < t->num_nodes; i++) {
		const struct topology_node *from = &t->nodes[i];
		struct net_node *node = net_add(net, from->guid, from->type, from->num_ports);

		node->system_guid = from->system_guid;
		node->vendor = from->vendor;
		node->device = (guint16)from->device;
		node->enhanced = from->enhanced;
		net_set_name(node, from->description, -1);
	}
	for (guint32 i = 0; i < t->num_ports; i++)
		take_port(net, t, &t->ports[i]);
	return net;
}

static struct net *read_bytes(const char *file, const char *text, gsize length, GError **err)
{
	struct topology_error error;
	struct topology t;
	struct net *net = NULL;

	if (topology_parse(&t, TOPOLOGY_TO_SHOW, file, text, length, &error)) {
		g_autofree char *clean = tool_clean(error.text);

		tool_misuse(err, "%s", clean);
	} else {
		net = take_topology(&t);
	}
	topology_free(&t);
	return net;
}

struct net *net_read_text(const char *file, const char *text, GError **err)
{
	return read_bytes(file, text, strlen(text), err);
}

struct net *net_read_file(const char *path, GError **err)
{
	g_autoptr(GString) text = g_string_new(NULL);
	FILE *file = fopen(path, "re");
	char block[65536];
	int failed = errno;
	size_t n;

	if (file) {
		while (text->len <= TOPOLOGY_MAX_TEXT && /* more is refused below */
		       (n = fread(block, 1, sizeof(block), file)) > 0)
			g_string_append_len(text, block, (gssize)n);
		failed = ferror(file) ? errno : 0;
		fclose(file);
	}
	if (failed)
		tool_misuse(err, "%s: cannot be read: %s", path, g_strerror(failed));
	return failed ? NULL : read_bytes(path, text->str, text->len, err);
}
