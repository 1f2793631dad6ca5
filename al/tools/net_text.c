/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Writes a subnet as text in the words and columns of ibnetdiscover, since other programs (ibsim,
 * the software HCA) load that text; and reads such a text. The reader knows the lines that the
 * writer makes, and skips other lines of ibnetdiscover.
 *
 * hca/soft/fabric/{read,write,text}.c read and write the same text for the software HCA. A tool may
 * include no file of an HCA module, and the software HCA keeps other members of a node, so each has
 * a reader and a writer of its own.
 */
#include <string.h>

#include "al/tools/net.h"
#include "al/tools/tool.h"

/* --------------------------------------------------------------------- writing */

static const struct {
	const char *guid, *node; /* words of the text */
	char letter;
} words[] = {
	[IB_NODE_CA] = { "caguid", "Ca", 'H' },
	[IB_NODE_SWITCH] = { "switchguid", "Switch", 'S' },
	[IB_NODE_ROUTER] = { "rtguid", "Rt", 'R' },
};

static void write_node(GString *to, const struct net_node *node)
{
	g_autofree char *id = net_id_text(node);

	g_string_append_printf(to, "\nvendid=0x%x\ndevid=0x%x\n", node->vendor, node->device);
	if (node->system_guid)
		g_string_append_printf(to, "sysimgguid=0x%" G_GINT64_MODIFIER "x\n",
				       node->system_guid);
	g_string_append_printf(to, "%s=0x%" G_GINT64_MODIFIER "x", words[node->type].guid,
			       node->guid);
	if (node->type == IB_NODE_SWITCH)
		g_string_append_printf(to, "(%" G_GINT64_MODIFIER "x)", node->ports[0].guid);
	g_string_append_printf(to, "\n%s\t%u \"%s\"\t\t# \"%s\"", words[node->type].node,
			       node->num_ports, id, node->name);
	if (node->type == IB_NODE_SWITCH)
		g_string_append_printf(to, " %s port 0 lid %u lmc %u",
				       node->enhanced ? "enhanced" : "base", node->ports[0].lid,
				       node->ports[0].lmc);
	g_string_append_c(to, '\n');
}

static void write_port(GString *to, struct net_port *port)
{
	struct net_port *peer = port->peer;
	g_autofree char *id = net_id_text(peer->node), *rate = net_rate_text(port);
	gboolean is_switch = port->node->type == IB_NODE_SWITCH,
		 far_switch = peer->node->type == IB_NODE_SWITCH;

	g_string_append_printf(to, "[%u]", port->number);
	if (!is_switch)
		g_string_append_printf(to, "(%" G_GINT64_MODIFIER "x) ", port->guid);
	g_string_append_printf(to, "\t\"%s\"[%u]", id, peer->number);
	/* ibnetdiscover has a blank before the GUID between two HCAs, and none behind a switch. */
	if (!far_switch)
		g_string_append_printf(to,
				       is_switch ? "(%" G_GINT64_MODIFIER "x) "
						 : " (%" G_GINT64_MODIFIER "x) ",
				       peer->guid);
	g_string_append(to, "\t\t# ");
	if (!is_switch)
		g_string_append_printf(to, "lid %u lmc %u ", port->lid, port->lmc);
	g_string_append_printf(to, "\"%s\" lid %u %s\n", peer->node->name, net_lid_port(peer)->lid,
			       rate);
}

char *net_write_text(const struct net *net, const char *date)
{
	static const guint order[] = { IB_NODE_SWITCH, IB_NODE_CA, IB_NODE_ROUTER };
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree char *today = date ? g_strdup(date) : g_date_time_format(now, "%a %b %e %T %Y");
	GString *to = g_string_new(NULL);

	g_string_append_printf(to, "#\n# Topology file: generated on %s\n#\n", today);
	if (net->from_node)
		g_string_append_printf(to,
				       "# Initiated from node %016" G_GINT64_MODIFIER
				       "x port %016" G_GINT64_MODIFIER "x\n",
				       net->from_node, net->from_port);
	for (guint o = 0; o < G_N_ELEMENTS(order); o++)
		for (guint i = 0; i < net->nodes->len; i++) {
			const struct net_node *node = g_ptr_array_index(net->nodes, i);

			if (node->type != order[o])
				continue;
			write_node(to, node);
			for (guint p = 1; p <= node->num_ports; p++)
				if (node->ports[p].peer)
					write_port(to, &node->ports[p]);
		}
	return g_string_free(to, FALSE);
}

/* --------------------------------------------------------------------- reading */

/* A line of a port whose other end may be a node that the text has further down. */
struct end {
	struct net_port *port;
	guint64 peer;
	guint peer_port, line;
	guint64 peer_guid; /* of the peer's port; 0: not told */
};

struct reading {
	const char *file;
	guint line;
	struct net *net;
	struct net_node *node; /* to which the lines of ports belong; NULL: none */
	guint64 vendor, device, system_guid, guid0; /* for the next node */
	GRegex *value, *node_line, *port_line;
	GArray *ends;
};

static gboolean refuse(const struct reading *r, guint line, GError **err, const char *text)
{
	return tool_misuse(err, "%s:%u: %s", r->file, line, text);
}

static guint64 group_number(const GMatchInfo *match, const char *name, guint base)
{
	g_autofree char *text = g_match_info_fetch_named(match, name);

	return text && *text ? g_ascii_strtoull(text, NULL, base) : 0;
}

/* A LID that is none counts as none. */
static guint16 group_lid(const GMatchInfo *match)
{
	guint64 lid = group_number(match, "lid", 10);

	return lid <= IB_LID_UNICAST_LAST ? (guint16)lid : 0;
}

/* vendid=0x2c9, and others of the node that follows */
static void read_value(struct reading *r, const GMatchInfo *match)
{
	g_autofree char *key = g_match_info_fetch_named(match, "key");
	guint64 value = group_number(match, "value", 16);

	r->node = NULL;
	if (!strcmp(key, "vendid"))
		r->vendor = value;
	else if (!strcmp(key, "devid"))
		r->device = value;
	else if (!strcmp(key, "sysimgguid"))
		r->system_guid = value;
	else
		r->guid0 = group_number(match, "port", 16);
}

static gboolean read_node(struct reading *r, const GMatchInfo *match, GError **err)
{
	g_autofree char *word = g_match_info_fetch_named(match, "word"),
			*name = g_match_info_fetch_named(match, "name"),
			*rest = g_match_info_fetch_named(match, "rest");
	guint64 guid = group_number(match, "guid", 16);
	guint type = *word == 'S' ? IB_NODE_SWITCH : *word == 'C' ? IB_NODE_CA : IB_NODE_ROUTER;

	if (net_find(r->net, guid))
		return refuse(
			r, r->line, err,
			"a node with this GUID is in the text already: remove one of the two");
	r->node = net_add(r->net, guid, type, (guint)group_number(match, "ports", 10));
	if (!r->node)
		return refuse(
			r, r->line, err,
			"no such node: its GUID is 0, it has not from 1 to 254 ports, or there are too many nodes");
	r->node->vendor = (guint32)r->vendor;
	r->node->device = (guint16)r->device;
	r->node->system_guid = r->system_guid;
	r->node->enhanced = rest && strstr(rest, "enhanced") != NULL;
	if (name)
		net_set_name(r->node, name, -1);
	if (type == IB_NODE_SWITCH) {
		struct net_port *zero = &r->node->ports[0];

		zero->known = TRUE;
		zero->guid = r->guid0;
		zero->lid = group_lid(match);
		zero->lmc = (guint8)(group_number(match, "lmc", 10) & 7);
	}
	r->vendor = r->device = r->system_guid = r->guid0 = 0;
	return TRUE;
}

static void read_rate(struct net_port *port, const GMatchInfo *match)
{
	g_autofree char *rate = g_match_info_fetch_named(match, "rate");

	/* The same table as the writing: the value whose text this is. */
	for (guint width = 1; rate && width <= IB_WIDTH_2X; width <<= 1)
		for (guint speed = 1; speed <= IB_SPEED_NDR; speed <<= 1) {
			struct net_port tried = { .width = width, .speed = speed };
			g_autofree char *text = net_rate_text(&tried);

			if (strcmp(text, rate))
				continue;
			port->width = width;
			port->speed = speed;
			return;
		}
}

static gboolean read_port(struct reading *r, const GMatchInfo *match, GError **err)
{
	guint64 number = group_number(match, "number", 10);
	struct end end = { .line = r->line };

	if (!r->node)
		return refuse(r, r->line, err, "a port without a node before it");
	if (!number || number > r->node->num_ports)
		return refuse(r, r->line, err, "the node has no such port");
	end.port = &r->node->ports[number];
	if (end.port->known)
		return refuse(r, r->line, err, "the node has this port twice");
	end.port->known = TRUE;
	end.port->guid = group_number(match, "own", 16);
	end.port->lid = group_lid(match);
	end.port->lmc = (guint8)(group_number(match, "lmc", 10) & 7);
	read_rate(end.port, match);
	end.peer = group_number(match, "guid", 16);
	end.peer_port = (guint)MIN(group_number(match, "peer", 10), G_MAXUINT);
	end.peer_guid = group_number(match, "far", 16);
	g_array_append_val(r->ends, end);
	return TRUE;
}

static gboolean read_line(struct reading *r, const char *line, GError **err)
{
	g_autoptr(GMatchInfo) value = NULL, node = NULL, port = NULL;

	if (g_regex_match(r->port_line, line, 0, &port))
		return read_port(r, port, err);
	if (g_regex_match(r->node_line, line, 0, &node))
		return read_node(r, node, err);
	if (g_regex_match(r->value, line, 0, &value))
		read_value(r, value);
	else if (*line == '[' || g_str_has_prefix(line, "Switch") ||
		 g_str_has_prefix(line, "Ca\t") || g_str_has_prefix(line, "Rt\t"))
		return refuse(r, r->line, err, "this is not a line as ibnetdiscover prints it");
	return TRUE;
}

/* Joins the ports when all nodes are known. A cable that the text has at one end only is a cable.
 */
static gboolean join(struct reading *r, GError **err)
{
	for (guint i = 0; i < r->ends->len; i++) {
		struct end *end = &g_array_index(r->ends, struct end, i);
		struct net_node *node = net_find(r->net, end->peer);
		struct net_port *peer;

		if (!node || !end->peer_port || end->peer_port > node->num_ports)
			return refuse(r, end->line, err,
				      "the other end of the cable is not in the text");
		peer = &node->ports[end->peer_port];
		if (!net_connect(end->port, peer))
			return refuse(r, end->line, err,
				      "one of the two ports has another cable already");
		if (!peer->guid)
			peer->guid = end->peer_guid;
		if (!peer->width && !peer->known) {
			peer->width = end->port->width;
			peer->speed = end->port->speed;
		}
	}
	return TRUE;
}

static gboolean read_lines(struct reading *r, const char *text, GError **err)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++) {
		r->line++;
		if (!read_line(r, *line, err))
			return FALSE;
	}
	if (r->net->nodes->len)
		return join(r, err);
	return tool_misuse(
		err,
		"%s: no node is in this file; a topology file is what \"al_query topology\" or ibnetdiscover prints",
		r->file);
}

struct net *net_read_text(const char *file, const char *text, GError **err)
{
	struct reading r = { .file = file, .net = net_new() };
	gboolean good;

	if (!g_utf8_validate(text, -1, NULL)) {
		net_free(r.net);
		tool_misuse(err, "%s: this is no text in UTF-8", file);
		return NULL;
	}
	r.value = g_regex_new(
		"^(?<key>vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(?:0x)?(?<value>[0-9a-fA-F]{1,16})"
		"(?:\\((?<port>[0-9a-fA-F]{1,16})\\))?",
		0, 0, NULL);
	r.node_line = g_regex_new(
		"^(?<word>Switch|Ca|Rt)\\s+(?<ports>[0-9]{1,3})\\s+\"[HSR]-(?<guid>[0-9a-fA-F]{1,16})\"\\s*"
		"(?:#\\s*\"(?<name>.*)\"(?<rest>(?:[^\"]*\\blid (?<lid>[0-9]{1,5}) lmc (?<lmc>[0-9]))?[^\"]*))?$",
		0, 0, NULL);
	r.port_line = g_regex_new(
		"^\\[(?<number>[0-9]{1,3})\\](?:\\((?<own>[0-9a-fA-F]{1,16})\\))?\\s+"
		"\"[HSR]-(?<guid>[0-9a-fA-F]{1,16})\"\\[(?<peer>[0-9]{1,3})\\]\\s*(?:\\((?<far>[0-9a-fA-F]{1,16})\\))?\\s*"
		"(?:#(?:\\s*lid (?<lid>[0-9]{1,5}) lmc (?<lmc>[0-9]))?.*?(?<rate>[0-9?]+x?[A-Z?]+[0-9]*)?\\s*)?$",
		0, 0, NULL);
	r.ends = g_array_new(FALSE, FALSE, sizeof(struct end));
	good = read_lines(&r, text, err);
	g_regex_unref(r.value);
	g_regex_unref(r.node_line);
	g_regex_unref(r.port_line);
	g_array_unref(r.ends);
	if (good)
		return r.net;
	net_free(r.net);
	return NULL;
}

struct net *net_read_file(const char *path, GError **err)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) why = NULL;
	gsize length;

	if (!g_file_get_contents(path, &text, &length, &why)) {
		tool_misuse(err, "%s", why->message);
		return NULL;
	}
	if (strlen(text) != length) {
		tool_misuse(err, "%s: this is no text: it has a zero byte", path);
		return NULL;
	}
	return net_read_text(path, text, err);
}
