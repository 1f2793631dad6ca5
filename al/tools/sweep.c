/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sweep of a subnet (sweep.h). Each answer makes the requests that follow from it: NodeInfo
 * those for a new node, PortInfo of a port whose link is up the NodeInfo of the node behind it. A
 * node is known by its GUID. The answers come from nodes that may be broken or hostile, so every
 * field is checked here, once, before it is used.
 */
#include <string.h>

#include "al/tools/sweep.h"
#include "al/tools/tool.h"

#define OWN_SECONDS G_GINT64_CONSTANT(10) /* for the own port's answer */

enum request_kind { ASK_NODE_INFO, ASK_NODE_DESC, ASK_SWITCH_INFO, ASK_PORT_INFO, ASK_COUNTERS };

/* The ports by which a directed route leaves each node. */
struct route {
	guint8 hops, port[IB_SMP_HOPS_MAX + 1];
};

struct request {
	guint64 id;
	enum request_kind kind;
	struct route route;
	struct net_port *port; /* NodeInfo: behind which the node is, NULL for the first node; else
				  the port that is meant */
};

/* The sweep's own data of a node, besides struct net_node. */
struct visit {
	struct route route;
	gboolean silent; /* a request was not answered: no more are sent */
};

struct sweep {
	const struct sweep_line *line;
	const struct sweep_options *options;
	struct net *net;
	GPtrArray *visits;     /* struct visit, by net_node.index */
	GQueue pending;        /* struct request, not sent */
	GHashTable *under_way; /* struct request, by id */
	guint64 last_id;
	struct net_port *own;
	gboolean too_many, too_far, first_failed;
	GError *error; /* why the first node does not answer */
};

/* -------------------------------------------------------------------- requests */

static const struct {
	guint16 attr;
	const char *name;
} attributes[] = {
	[ASK_NODE_INFO] = { IB_SMP_NODE_INFO, "NodeInfo" },
	[ASK_NODE_DESC] = { IB_SMP_NODE_DESC, "NodeDescription" },
	[ASK_SWITCH_INFO] = { IB_SMP_SWITCH_INFO, "SwitchInfo" },
	[ASK_PORT_INFO] = { IB_SMP_PORT_INFO, "PortInfo" },
	[ASK_COUNTERS] = { IB_PERF_PORT_COUNTERS, "PortCounters" },
};

static struct visit *visit_of(const struct sweep *s, const struct net_node *node)
{
	return g_ptr_array_index(s->visits, node->index);
}

static void ask(struct sweep *s, enum request_kind kind, const struct route *route,
		struct net_port *port)
{
	struct request *request = g_new0(struct request, 1);

	request->id = ++s->last_id;
	request->kind = kind;
	request->route = *route;
	request->port = port;
	g_queue_push_tail(&s->pending, request);
}

static guint32 modifier_of(const struct request *request)
{
	return request->kind == ASK_PORT_INFO ? request->port->number : 0;
}

static void make_smp(const struct request *request, guint64 m_key, struct ib_mad *mad)
{
	struct ib_smp smp = {
		.base_version = IB_MAD_BASE_VERSION,
		.mgmt_class = IB_CLASS_SUBN_DIR,
		.class_version = IB_SMP_CLASS_VERSION,
		.method = IB_METHOD_GET,
		.hop_count = request->route.hops,
		.tid = ib_be64_of(request->id & G_MAXUINT32),
		.attr_id = ib_be16_of(attributes[request->kind].attr),
		.attr_mod = ib_be32_of(modifier_of(request)),
		.mkey = ib_be64_of(m_key),
		.dr_slid = ib_be16_of(IB_LID_PERMISSIVE),
		.dr_dlid = ib_be16_of(IB_LID_PERMISSIVE),
	};

	memcpy(smp.initial_path, request->route.port, sizeof(smp.initial_path));
	memcpy(mad, &smp, sizeof(*mad));
}

static void make_perf(const struct request *request, struct ib_mad *mad)
{
	struct ib_perf_mad perf = {
		.hdr = { .base_version = IB_MAD_BASE_VERSION,
			 .mgmt_class = IB_CLASS_PERF,
			 .class_version = IB_PERF_CLASS_VERSION,
			 .method = IB_METHOD_GET,
			 .tid = ib_be64_of(request->id & G_MAXUINT32),
			 .attr_id = ib_be16_of(IB_PERF_PORT_COUNTERS) },
	};
	struct ib_perf_port_counters counters = { .port_select = request->port->number };

	memcpy(perf.data, &counters, sizeof(counters));
	memcpy(mad, &perf, sizeof(*mad));
}

static al_status send_request(struct sweep *s, const struct request *request)
{
	guint16 dlid = IB_LID_PERMISSIVE;
	struct ib_mad mad;

	if (request->kind == ASK_COUNTERS) {
		make_perf(request, &mad);
		dlid = net_lid_port(request->port)->lid;
	} else {
		make_smp(request, s->options->m_key, &mad);
	}
	return s->line->send(s->line->context, &mad, dlid, request->id);
}

/* ------------------------------------------------------------- failed requests */

/* Why a node may be silent from the beginning: a port that is protected by a key drops what has not
 * the key, and says nothing (IBTA 14.2.4). */
static const char *silence(guint64 m_key)
{
	return m_key ? "no answer; it may have another M_Key than that of --m-key"
		     : "no answer; it may have an M_Key, which --m-key gives";
}

/* "0,1,5": the own port's node, then the ports by which the route leaves each node, as
 * infiniband-diags write it */
static char *route_text(const struct route *route)
{
	GString *text = g_string_new("0");

	for (guint hop = 1; hop <= route->hops; hop++)
		g_string_append_printf(text, ",%u", route->port[hop]);
	return g_string_free(text, FALSE);
}

/* Reports a request that has no answer, or a wrong one. A node is reported once, since the other
 * requests to the node take the same way. */
static void fail(struct sweep *s, const struct request *request, const char *why)
{
	g_autofree char *route = route_text(&request->route), *behind = NULL;

	if (request->kind == ASK_NODE_INFO && !request->port) {
		if (!s->error)
			tool_fail(
				&s->error,
				"the own node does not answer NodeInfo: %s; a software HCA has agents that "
				"answer with subnet=managed, see ibal-soft(5)",
				why);
		return;
	}
	if (request->kind == ASK_NODE_INFO) {
		behind = net_port_text(request->port);
		net_problem(s->net, "behind %s (route %s): NodeInfo: %s", behind, route, why);
		return;
	}
	if (visit_of(s, request->port->node)->silent)
		return;
	visit_of(s, request->port->node)->silent = TRUE;
	if (request->kind == ASK_COUNTERS)
		net_problem(s->net,
			    "%s (LID %u): PortCounters: %s; this node is not asked any more",
			    request->port->node->name, net_lid_port(request->port)->lid, why);
	else
		net_problem(s->net, "%s (route %s): %s: %s; this node is not asked any more",
			    request->port->node->name, route, attributes[request->kind].name, why);
}

/* The same of a request without an answer, which the node or the port keeps in mind. */
static void fail_silent(struct sweep *s, const struct request *request)
{
	fail(s, request, request->kind == ASK_NODE_INFO ? silence(s->options->m_key) : "no answer");
	if (!request->port)
		return;
	if (request->kind == ASK_NODE_INFO)
		request->port->no_answer = TRUE;
	else
		request->port->node->no_answer = TRUE;
}

/* ----------------------------------------------------------------------- answers */

static void ask_behind(struct sweep *s, const struct route *route, struct net_port *port)
{
	struct route next = *route;

	if (route->hops == IB_SMP_HOPS_MAX) {
		if (!s->too_far)
			net_problem(
				s->net,
				"nodes more than %d hops away are not shown, such as behind %s, port %u",
				IB_SMP_HOPS_MAX, port->node->name, port->number);
		s->too_far = TRUE;
		return;
	}
	next.port[++next.hops] = port->number;
	ask(s, ASK_NODE_INFO, &next, port);
}

/* Joins the port from which the request left, and the port by which the node got it. */
static void join(struct sweep *s, const struct request *request, struct net_port *entry)
{
	g_autofree char *near = NULL, *far = NULL, *other = NULL;
	const struct net_port *taken;

	if (!request->port || net_connect(request->port, entry))
		return;
	near = net_port_text(request->port);
	far = net_port_text(entry);
	taken = entry->peer ? entry : request->port;
	if (request->port == entry) {
		net_problem(s->net, "%s answers at the end of its own cable", far);
		return;
	}
	other = net_port_text(taken->peer);
	net_problem(
		s->net,
		"%s seems to be joined with %s, but %s has a cable to %s; two nodes may have the GUID 0x%016" G_GINT64_MODIFIER
		"x",
		near, far, taken == entry ? "that port" : "the former", other, taken->node->guid);
}

static struct net_node *add_node(struct sweep *s, const struct request *request,
				 const struct ib_node_info *info)
{
	struct net_node *node =
		net_add(s->net, ib_be64_get(info->node_guid), info->node_type, info->num_ports);
	struct visit *visit;

	if (!node) {
		if (!s->too_many)
			net_problem(s->net,
				    "more than %u nodes, or %u ports: the others are not shown",
				    s->net->nodes->len, s->net->num_ports);
		s->too_many = TRUE;
		return NULL;
	}
	visit = g_new0(struct visit, 1);
	visit->route = request->route;
	g_ptr_array_add(s->visits, visit);
	node->system_guid = ib_be64_get(info->sys_image_guid);
	node->vendor = ib_be24_get(info->vendor_id);
	node->device = ib_be16_get(info->device_id);
	ask(s, ASK_NODE_DESC, &request->route, &node->ports[info->local_port_num]);
	if (node->type != IB_NODE_SWITCH)
		return node;
	node->ports[0].guid = ib_be64_get(info->port_guid);
	ask(s, ASK_SWITCH_INFO, &request->route, &node->ports[0]);
	for (guint p = 0; p <= node->num_ports; p++)
		ask(s, ASK_PORT_INFO, &request->route, &node->ports[p]);
	return node;
}

/* Why a NodeInfo cannot be right; NULL: it can. */
static const char *node_info_fault(const struct request *request, const struct ib_node_info *info)
{
	guint entry = info->local_port_num;

	if (info->node_type < IB_NODE_CA || info->node_type > IB_NODE_ROUTER)
		return "a type of node that there is not";
	if (!info->num_ports || info->num_ports > TOPOLOGY_MAX_NODE_PORTS)
		return "a node without ports, or with more than 254";
	if (entry > info->num_ports ||
	    (!entry && (request->port || info->node_type != IB_NODE_SWITCH)))
		return "the packet came in by a port that the node has not";
	if (!ib_be64_get(info->node_guid))
		return "the GUID is 0";
	return NULL;
}

static void take_node_info(struct sweep *s, const struct request *request, const void *data)
{
	const struct ib_node_info *info = data;
	struct net_node *node = net_find(s->net, ib_be64_get(info->node_guid));
	const char *fault = node_info_fault(request, info);
	struct net_port *entry;

	if (fault) {
		fail(s, request, fault);
		return;
	}
	if (node && (node->type != info->node_type || node->num_ports != info->num_ports)) {
		fail(s, request, "another node with other ports has the same GUID");
		return;
	}
	if (!node)
		node = add_node(s, request, info);
	if (!node)
		return;
	entry = &node->ports[info->local_port_num];
	if (!request->port)
		s->own = entry;
	join(s, request, entry);
	/* A switch has told all its ports; an HCA tells the port by which it was asked. */
	if (node->type == IB_NODE_SWITCH || entry->known || entry->guid)
		return;
	entry->guid = ib_be64_get(info->port_guid);
	ask(s, ASK_PORT_INFO, &request->route, entry);
}

static void take_node_desc(struct sweep *s, const struct request *request, const void *data)
{
	(void)s;
	net_set_name(request->port->node, data, IB_SMP_DATA_BYTES);
}

static void take_switch_info(struct sweep *s, const struct request *request, const void *data)
{
	(void)s;
	request->port->node->enhanced = ib_switch_info_enhanced_port0(data) != 0;
}

/* CapabilityMask says whether there are extended speeds, but of a switch only that of port 0:
 * without them the field is 0. */
static guint speed_of(const struct ib_port_info *info)
{
	guint extended = ib_port_info_link_speed_ext_active(info);

	/* IB_SPEED_FDR is the first of the extended speeds. */
	return extended ? extended * IB_SPEED_FDR : ib_port_info_link_speed_active(info);
}

static gboolean has_lid(const struct net_port *port)
{
	return port->node->type != IB_NODE_SWITCH || !port->number;
}

static void take_port_info(struct sweep *s, const struct request *request, const void *data)
{
	const struct ib_port_info *info = data;
	struct net_port *port = request->port;
	guint state = ib_port_info_port_state(info), lid = ib_be16_get(info->lid);

	if (state < IB_PORT_DOWN || state > IB_PORT_ACTIVE) {
		g_autofree char *text = net_port_text(port);

		net_problem(s->net, "%s: a port state that there is not (%u)", text, state);
		return;
	}
	port->known = TRUE;
	port->state = (guint8)state;
	port->phys_state = (guint8)ib_port_info_phys_state(info);
	port->mtu = ib_mtu_bytes(ib_port_info_neighbor_mtu(info));
	port->width = info->link_width_active;
	port->speed = speed_of(info);
	if (has_lid(port)) {
		if (lid != IB_LID_PERMISSIVE && lid > IB_LID_UNICAST_LAST)
			net_problem(s->net, "%s, port %u: 0x%04x is no LID of a port",
				    port->node->name, port->number, lid);
		else if (lid != IB_LID_PERMISSIVE)
			port->lid = (guint16)lid;
		port->lmc = (guint8)ib_port_info_lmc(info);
	}
	/* An HCA passes nothing on: only the own one is left by its ports. */
	if (state == IB_PORT_DOWN || !port->number || port->peer ||
	    (port->node->type != IB_NODE_SWITCH && port != s->own))
		return;
	ask_behind(s, &request->route, port);
}

static void take_counters(struct sweep *s, const struct request *request, const void *data)
{
	const struct ib_perf_port_counters *counters = data;

	if (counters->port_select != request->port->number) {
		fail(s, request, "counters of another port");
		return;
	}
	request->port->counted = TRUE;
	port_errors_of_mad(request->port->errors, counters);
}

static void take(struct sweep *s, const struct request *request, const struct sweep_answer *answer)
{
	static void (*const takers[])(struct sweep *, const struct request *, const void *) = {
		[ASK_NODE_INFO] = take_node_info,     [ASK_NODE_DESC] = take_node_desc,
		[ASK_SWITCH_INFO] = take_switch_info, [ASK_PORT_INFO] = take_port_info,
		[ASK_COUNTERS] = take_counters,
	};
	const struct ib_mad_hdr *hdr = &answer->mad.hdr;
	gboolean perf = request->kind == ASK_COUNTERS;
	guint status = ib_be16_get(hdr->status) & ~(perf ? 0u : (guint)IB_SMP_DIRECTION);
	g_autofree char *refused = g_strdup_printf("refused with status 0x%04x", status);

	if (answer->status == AL_TIMEOUT)
		fail_silent(s, request);
	else if (answer->status)
		fail(s, request, al_status_str(answer->status));
	else if (hdr->method != IB_METHOD_GET_RESP ||
		 ib_be16_get(hdr->attr_id) != attributes[request->kind].attr ||
		 ib_be32_get(hdr->attr_mod) != modifier_of(request))
		fail(s, request, "the answer is to another question");
	else if (status)
		fail(s, request, refused);
	else if (perf)
		takers[request->kind](
			s, request, ((const struct ib_perf_mad *)(const void *)&answer->mad)->data);
	else
		takers[request->kind](s, request,
				      ((const struct ib_smp *)(const void *)&answer->mad)->data);
}

/* --------------------------------------------------------------------- the sweep */

/* Sends what the window has room for. */
static void send_pending(struct sweep *s)
{
	struct request *request;
	al_status st;

	while (g_hash_table_size(s->under_way) < SWEEP_WINDOW &&
	       (request = g_queue_pop_head(&s->pending))) {
		if (request->kind != ASK_NODE_INFO && visit_of(s, request->port->node)->silent) {
			g_free(request);
			continue;
		}
		st = send_request(s, request);
		if (!st) {
			g_hash_table_insert(s->under_way, &request->id, request);
			continue;
		}
		fail(s, request,
		     st == AL_PERMISSION ? "the agent demands the right manage for this, see ald(8)"
					 : al_status_str(st));
		g_free(request);
	}
}

/* Sends, and takes answers, until there is nothing left to ask. FALSE: the time is over. */
static gboolean run(struct sweep *s, gint64 until)
{
	struct sweep_answer answer;
	struct request *request;

	for (send_pending(s); g_hash_table_size(s->under_way); send_pending(s)) {
		if (!s->line->next(s->line->context, &answer, until))
			return FALSE;
		request = g_hash_table_lookup(s->under_way, &answer.id);
		if (!request)
			continue;
		take(s, request, &answer);
		g_hash_table_remove(s->under_way, &answer.id);
	}
	return TRUE;
}

/* TRUE: the port's counters can tell something of the subnet: each port of a switch, also one
 * whose cable is pulled, and of an HCA the ports by which the sweep has met the HCA. */
static gboolean counts(const struct sweep *s, const struct net_port *port)
{
	return port->known && (port->peer || port == s->own || port->node->type == IB_NODE_SWITCH);
}

/* TRUE: data reach the port's agent, by the LID that a subnet manager has given. */
static gboolean takes_data(struct net_port *port)
{
	const struct net_node *node = port->node;

	if (!net_lid_port(port)->lid)
		return FALSE;
	if (node->type != IB_NODE_SWITCH)
		return port->state == IB_PORT_ACTIVE &&
		       (!port->peer || port->peer->state == IB_PORT_ACTIVE);
	for (guint p = 1; p <= node->num_ports; p++)
		if (node->ports[p].peer && node->ports[p].state == IB_PORT_ACTIVE)
			return TRUE;
	return FALSE;
}

/* Asks for the counters of each port that has some to tell. */
static void ask_counters(struct sweep *s)
{
	static const struct route none;

	for (guint i = 0; i < s->net->nodes->len; i++) {
		struct net_node *node = g_ptr_array_index(s->net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++) {
			if (!counts(s, &node->ports[p]))
				continue;
			if (s->own->state == IB_PORT_ACTIVE && takes_data(&node->ports[p]))
				ask(s, ASK_COUNTERS, &none, &node->ports[p]);
			else if (node->ports[p].state != IB_PORT_DOWN)
				s->net->no_counters =
					"of ports that are not Active, or have no LID, there are no "
					"error counters: a subnet manager sets both";
		}
	}
}

static void set_origin(struct sweep *s)
{
	s->net->from_node = s->own->node->guid;
	s->net->from_port = net_lid_port(s->own)->guid;
}

struct net *sweep_subnet(const struct sweep_line *line, const struct sweep_options *options,
			 GError **err)
{
	static const struct route here;
	gint64 until = g_get_monotonic_time() + (gint64)(options->seconds * G_USEC_PER_SEC);
	struct sweep s = { .line = line, .options = options, .net = net_new() };
	gboolean complete;

	s.visits = g_ptr_array_new_with_free_func(g_free);
	s.under_way = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	g_queue_init(&s.pending);
	ask(&s, ASK_NODE_INFO, &here, NULL);
	complete = run(&s, until);
	if (complete && s.own && options->counters) {
		ask_counters(&s);
		complete = run(&s, until);
	}
	if (!complete && s.own)
		net_problem(
			s.net,
			"after %g seconds the sweep has ended with %u requests left; --timeout gives it longer",
			options->seconds, g_hash_table_size(s.under_way) + s.pending.length);
	else if (!s.own && !s.error)
		tool_fail(&s.error, "the own node does not answer NodeInfo within %g seconds",
			  options->seconds);
	if (s.own)
		set_origin(&s);
	else
		g_clear_pointer(&s.net, net_free);
	if (s.error)
		g_propagate_error(err, s.error);
	g_ptr_array_unref(s.visits);
	g_hash_table_destroy(s.under_way);
	g_queue_clear_full(&s.pending, g_free);
	return s.net;
}

/* Takes the answer to the only request that is under way. */
static void take_own(struct sweep_answer *answer, const struct sweep_line *line, gint64 until)
{
	answer->status = AL_TIMEOUT;
	while (line->next(line->context, answer, until) && answer->id != 1)
		answer->status = AL_TIMEOUT;
}

gboolean sweep_own_port_info(const struct sweep_line *line, guint64 m_key,
			     struct ib_port_info *info, GError **err)
{
	struct request request = { .id = 1, .kind = ASK_PORT_INFO };
	struct net_port any = { 0 }; /* modifier 0: the port by which the packet came in */
	struct sweep_answer answer = { 0 };
	struct ib_smp *smp = (struct ib_smp *)(void *)&answer.mad;
	struct ib_mad mad;
	al_status st;

	request.port = &any;
	make_smp(&request, m_key, &mad);
	st = line->send(line->context, &mad, IB_LID_PERMISSIVE, request.id);
	if (!st) {
		take_own(&answer, line, g_get_monotonic_time() + OWN_SECONDS * G_USEC_PER_SEC);
		st = answer.status;
	}
	if (st)
		return tool_fail(err, "%s",
				 st == AL_PERMISSION
					 ? "the agent demands the right manage, see ald(8)"
				 : st == AL_TIMEOUT ? silence(m_key)
						    : al_status_str(st));
	if (smp->method != IB_METHOD_GET_RESP || ib_be16_get(smp->attr_id) != IB_SMP_PORT_INFO ||
	    ib_be16_get(smp->status) & ~(guint)IB_SMP_DIRECTION)
		return tool_fail(err, "the port's agent refuses PortInfo with status 0x%04x",
				 ib_be16_get(smp->status));
	memcpy(info, smp->data, sizeof(*info));
	return TRUE;
}
