/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query topology: the subnet behind a port, or of a file, as text, picture or JSON, and the
 * differences between two subnets. The sweep is in sweep.c, the forms are in net_*.c.
 */
#include <stdio.h>
#include <string.h>

#include "al/tools/query.h"
#include "al/tools/sweep.h"

#define SWEEP_SECONDS 60.0 /* without --timeout */

/* ------------------------------------------------------------- where to begin */

static gboolean can_ask(const struct ib_port_attr *attr)
{
	return attr->link_layer == IB_LINK_LAYER_INFINIBAND && attr->state >= IB_PORT_INIT;
}

/* The port of --port, or the first one whose link is up; 0: there is none. */
static guint8 choose_port(const struct query *q, const struct al_snap_ca *snap, al_ca_h ca)
{
	struct ib_port_attr attr;

	for (guint num = 1; num <= snap->attr.num_ports; num++) {
		if (q->port ? (guint)q->port == num
			    : (!al_query_port(ca, (uint8_t)num, &attr) && can_ask(&attr)))
			return (guint8)num;
	}
	return 0;
}

static gboolean try_ca(struct query *q, const struct al_snap_ca *snap, al_ca_h *ca, guint8 *port,
		       al_status *st)
{
	*st = al_open_ca(q->al, snap->guid, NULL, ca);
	if (*st)
		return FALSE;
	*port = choose_port(q, snap, *ca);
	if (*port)
		return TRUE;
	al_close_ca(*ca, AL_DESTROY_SYNC, NULL);
	return FALSE;
}

/* Opens port 0 of the switch whose GUID --ca has. Switches are not among the HCAs of a snapshot. */
static gboolean open_switch(const struct query *q, al_ca_h *ca, guint8 *port)
{
	guint64 guid;

	if (!q->ca || !tool_parse_guid(q->ca, &guid))
		return FALSE;
	for (size_t i = 0; i < q->snap->num_cas; i++)
		if (q->snap->cas[i].guid == guid)
			return FALSE;
	*port = 0;
	return !al_open_ca(q->al, guid, NULL, ca);
}

gboolean query_open_port(struct query *q, al_ca_h *ca, guint8 *port)
{
	const struct al_snap_ca *only;
	al_status st = AL_SUCCESS, last = AL_SUCCESS;

	query_report_modules(q);
	if (open_switch(q, ca, port))
		return TRUE;
	only = q->ca ? query_find_ca(q, q->ca) : NULL;
	if (q->ca && !only)
		return FALSE;
	for (size_t i = 0; i < q->snap->num_cas; i++) {
		if (only && only != &q->snap->cas[i])
			continue;
		if (try_ca(q, &q->snap->cas[i], ca, port, &st))
			return TRUE;
		last = st ? st : last;
	}
	if (last)
		query_error(q, TOOL_FAILED, "an HCA cannot be opened: %s", al_status_str(last));
	else if (q->port)
		query_error(q, TOOL_USAGE,
			    "there is no port %d; \"al_query port\" shows those that are there",
			    q->port);
	else if (q->snap->num_cas)
		query_error(q, TOOL_FAILED,
			    "no InfiniBand port has a link; \"al_query port\" shows the ports");
	else
		query_error(q, TOOL_FAILED,
			    "no HCA is here; \"al_query doctor\" says what is missing");
	return FALSE;
}

static gdouble seconds_of(const struct query *q)
{
	return q->timeout > 0 ? q->timeout : SWEEP_SECONDS;
}

/* Makes errors of the answer of a subnet's problems, from one on. */
static void report_problems(struct query *q, const struct net *net, guint first)
{
	for (guint i = first; i < net->problems->len; i++)
		query_error(q, TOOL_FAILED, "%s",
			    (const char *)g_ptr_array_index(net->problems, i));
}

static struct net *sweep_from(struct query *q, al_ca_h ca, guint8 number, gboolean counters)
{
	const struct sweep_options options = {
		.port = number, .counters = counters, .m_key = q->m_key, .seconds = seconds_of(q)
	};
	g_autoptr(GError) err = NULL;
	struct sweep_port *port = sweep_port_open(ca, number, &err);
	struct net *net = NULL;

	if (port) {
		net = sweep_subnet(sweep_port_line(port), &options, &err);
		sweep_port_close(port);
	}
	if (net)
		report_problems(q, net, 0);
	else
		query_error(q, TOOL_FAILED, "%s", err->message);
	return net;
}

struct net *query_sweep(struct query *q, gboolean counters)
{
	struct net *net = NULL;
	al_ca_h ca;
	guint8 number;

	if (!query_open_port(q, &ca, &number))
		return NULL;
	net = sweep_from(q, ca, number, counters);
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	return net;
}

gboolean query_reset(struct query *q, struct net *net)
{
	const guint before = net->problems->len;
	g_autoptr(GError) err = NULL;
	struct sweep_port *port;
	guint8 number;
	al_ca_h ca;

	if (!query_open_port(q, &ca, &number))
		return FALSE;
	port = sweep_port_open(ca, number, &err);
	if (port) {
		sweep_reset_counters(sweep_port_line(port), net, seconds_of(q));
		sweep_port_close(port);
		report_problems(q, net, before);
	} else {
		query_error(q, TOOL_FAILED, "no counter is reset: %s", err->message);
	}
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
	return port && net->problems->len == before;
}

static struct net *sweep(struct query *q, gboolean counters)
{
	struct net *net = NULL;
	al_status st;

	if (!query_open(q))
		return NULL;
	st = al_snapshot(q->al, &q->snap);
	if (st) {
		query_error(q, TOOL_FAILED, "the HCAs cannot be listed: %s", al_status_str(st));
	} else {
		net = query_sweep(q, counters);
		al_free_snapshot(q->snap);
		q->snap = NULL;
	}
	al_close(q->al, AL_DESTROY_SYNC, NULL);
	return net;
}

static struct net *read_file(struct query *q, const char *path)
{
	g_autoptr(GError) err = NULL;
	struct net *net = net_read_file(path, &err);

	if (!net)
		query_error(q, TOOL_USAGE, "%s", err->message);
	return net;
}

/* ------------------------------------------------------------------------ JSON */

static void add_peer(JsonObject *row, const struct net_port *port)
{
	JsonObject *peer;

	if (!port->peer) {
		json_object_set_null_member(row, "peer");
		return;
	}
	peer = json_object_new();
	member_guid(peer, "guid", port->peer->node->guid);
	json_object_set_string_member(peer, "name", port->peer->node->name);
	json_object_set_int_member(peer, "port", port->peer->number);
	json_object_set_object_member(row, "peer", peer);
}

static void add_errors(JsonObject *row, const struct net_port *port)
{
	JsonObject *errors = json_object_new();

	for (guint i = 0; i < PORT_ERRORS; i++)
		json_object_set_int_member(errors, port_error_kinds[i].name,
					   (gint64)port->errors[i]);
	json_object_set_object_member(row, "errors", errors);
}

static void add_net_port(JsonArray *to, const struct net_port *port)
{
	JsonObject *row = json_object_new();
	g_autofree char *rate = net_rate_text(port);

	json_array_add_object_element(to, row);
	json_object_set_int_member(row, "port", port->number);
	if (port->state) {
		json_object_set_string_member(row, "state", al_port_state_str(port->state));
		json_object_set_string_member(row, "phys_state",
					      al_phys_state_str(port->phys_state));
		json_object_set_int_member(row, "mtu", port->mtu);
	}
	if (port->number) {
		json_object_set_string_member(row, "rate", rate);
		json_object_set_int_member(row, "rate_mbps",
					   tool_rate_mbps(port->width, port->speed));
	}
	if (port->node->type != IB_NODE_SWITCH || !port->number) {
		json_object_set_int_member(row, "lid", port->lid);
		json_object_set_int_member(row, "lmc", port->lmc);
		member_guid(row, "guid", port->guid);
	}
	if (port->number)
		add_peer(row, port);
	if (port->counted)
		add_errors(row, port);
}

static void add_net_node(JsonArray *to, const struct net_node *node)
{
	JsonObject *row = json_object_new();
	JsonArray *ports = json_array_new();

	json_array_add_object_element(to, row);
	member_guid(row, "guid", node->guid);
	json_object_set_string_member(row, "type", al_node_type_str(node->type));
	json_object_set_string_member(row, "name", node->name);
	member_guid(row, "sys_image_guid", node->system_guid);
	member_hex(row, "vendor_id", node->vendor);
	member_hex(row, "device_id", node->device);
	if (node->type == IB_NODE_SWITCH)
		json_object_set_boolean_member(row, "enhanced_port_0", node->enhanced);
	json_object_set_int_member(row, "num_ports", node->num_ports);
	json_object_set_array_member(row, "ports", ports);
	for (guint p = node->type == IB_NODE_SWITCH ? 0 : 1; p <= node->num_ports; p++)
		if (node->ports[p].known || node->ports[p].peer)
			add_net_port(ports, &node->ports[p]);
}

static void fill_answer(struct query *q, const struct net *net)
{
	JsonArray *nodes = query_array(q, "nodes");

	if (net->from_node)
		member_guid(q->out, "from_node", net->from_node);
	if (net->from_port)
		member_guid(q->out, "from_port", net->from_port);
	if (net->no_counters)
		json_object_set_string_member(q->out, "no_error_counters", net->no_counters);
	for (guint i = 0; i < net->nodes->len; i++)
		add_net_node(nodes, g_ptr_array_index(net->nodes, i));
}

/* ------------------------------------------------------------------- the answer */

static char *write_text(const struct net *net)
{
	return net_write_text(net, NULL);
}

static const struct form {
	const char *name;
	char *(*write)(const struct net *net); /* NULL: JSON */
	gboolean counters;                     /* the form shows error counters */
} forms[] = {
	{ "text", write_text, FALSE },
	{ "dot", net_write_dot, TRUE },
	{ "svg", net_write_svg, TRUE },
	{ "json", NULL, TRUE },
};

static const struct form *find_form(struct query *q)
{
	const char *name = q->format ? q->format : q->json ? "json" : "text";

	for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	query_error(q, TOOL_USAGE, "--format %s: it must be text, dot, svg or json", name);
	return NULL;
}

static void answer_net(struct query *q, const struct form *form)
{
	struct net *net = *q->args ? read_file(q, *q->args) : sweep(q, form->counters);
	g_autofree char *text = NULL;

	if (!net)
		return;
	if (form->write) {
		text = form->write(net);
		fputs(text, stdout);
	} else {
		fill_answer(q, net);
	}
	net_free(net);
}

static void show_changes(struct query *q, const GPtrArray *changes)
{
	JsonArray *rows = query_array(q, "differences");

	for (guint i = 0; i < changes->len; i++) {
		const struct net_change *change = g_ptr_array_index(changes, i);
		JsonObject *row = json_object_new();

		json_array_add_object_element(rows, row);
		json_object_set_string_member(row, "kind", net_change_word(change->kind));
		member_guid(row, "guid", change->guid);
		json_object_set_int_member(row, "port", change->port);
		json_object_set_string_member(row, "text", change->text);
		if (!q->json)
			printf("%-8s %s\n", net_change_word(change->kind), change->text);
	}
	if (!changes->len && !q->json)
		puts("The two do not differ.");
	if (changes->len)
		q->status = MAX(q->status, TOOL_WARNING);
}

static void answer_diff(struct query *q)
{
	struct net *before = NULL, *after = NULL;
	GPtrArray *changes;

	if (!*q->args) {
		query_error(
			q, TOOL_USAGE,
			"--diff needs a file that \"al_query topology\" or ibnetdiscover has written, "
			"such as \"al_query topology --diff FILE\"");
		return;
	}
	before = read_file(q, q->args[0]);
	if (before)
		after = q->args[1] ? read_file(q, q->args[1]) : sweep(q, FALSE);
	if (after) {
		changes = net_diff(before, after);
		show_changes(q, changes);
		g_ptr_array_unref(changes);
	}
	net_free(before);
	net_free(after);
}

void run_topology(struct query *q)
{
	const struct form *form = find_form(q);

	if (!form)
		return;
	q->json = !form->write;
	if (!q->diff && *q->args && q->args[1])
		query_error(q, TOOL_USAGE, "topology takes two files only with --diff");
	else if (q->diff && form->write && form->write != write_text)
		query_error(q, TOOL_USAGE, "--diff has the forms text and json only");
	else if (q->diff)
		answer_diff(q);
	else
		answer_net(q, form);
	if (q->json)
		query_print_answer(q);
}
