/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* al_query ca, port, gid, pkey, counters: HCAs, their ports, the ports' tables and counters.
 * Capabilities are in query_caps.c. */
#include <stdio.h>
#include <string.h>

#include "al/tools/errors.h"
#include "al/tools/port_info.h"
#include "al/tools/query.h"
#include "al/tools/sweep.h"

/* ------------------------------------------------------------------- ports */

/* An open HCA while its ports are read. */
struct visit {
	const struct al_snap_ca *snap;
	al_ca_h ca;
	gint64 index;
};

typedef void (*port_fn)(struct query *q, const struct visit *visit, guint8 num, const struct ib_port_attr *port, JsonArray *to);

static void missing(struct query *q, const struct visit *visit, const char *what, guint num, al_status st)
{
	query_error(q, TOOL_FAILED, "HCA 0x%016" G_GINT64_MODIFIER "x, port %u: %s: %s; the rest is shown", visit->snap->guid, num,
		    what, al_status_str(st));
}

/* Calls fn for each port that --port and --state select. After a port that cannot be queried the
 * other ports follow. */
static void each_port(struct query *q, const struct visit *visit, port_fn fn, JsonArray *to)
{
	for (guint num = 1; num <= visit->snap->attr.num_ports; num++) {
		struct ib_port_attr port;
		al_status st;

		if (q->port && (guint)q->port != num)
			continue;
		st = al_query_port(visit->ca, (uint8_t)num, &port);
		if (st)
			missing(q, visit, "its attributes cannot be read", num, st);
		else if (query_state_passes(q, al_port_state_str(port.state)))
			fn(q, visit, (guint8)num, &port, to);
	}
}

static gboolean visit_begin(struct query *q, struct visit *visit, const struct al_snap_ca *snap, gint64 index)
{
	al_status st = al_open_ca(q->al, snap->guid, NULL, &visit->ca);

	visit->snap = snap;
	visit->index = index;
	if (!st)
		return TRUE;
	query_error(q, TOOL_FAILED, "HCA 0x%016" G_GINT64_MODIFIER "x cannot be opened: %s; the rest is shown", snap->guid,
		    al_status_str(st));
	return FALSE;
}

static void visit_end(const struct visit *visit)
{
	al_close_ca(visit->ca, AL_DESTROY_SYNC, NULL);
}

struct each {
	port_fn fn;
	JsonArray *to;
};

static void visit_ca(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg)
{
	const struct each *each = arg;
	struct visit visit;

	if (!visit_begin(q, &visit, snap, index))
		return;
	each_port(q, &visit, each->fn, each->to);
	visit_end(&visit);
}

/* Reports a --port that no HCA has. */
static void check_port_found(struct query *q)
{
	for (size_t i = 0; i < q->snap->num_cas; i++)
		if ((guint)q->port <= q->snap->cas[i].attr.num_ports)
			return;
	if (q->port)
		query_error(q, TOOL_USAGE, "no HCA has a port %d; \"al_query port\" shows those that are there", q->port);
}

/* Collects an array, to which fn adds for each port of each HCA. */
static void collect_of_ports(struct query *q, const char *name, port_fn fn)
{
	struct each each = { fn, query_array(q, name) };

	query_each_ca(q, visit_ca, &each);
	check_port_found(q);
}

/* Adds the HCA and the port of a row. */
static JsonObject *new_row(const struct visit *visit, guint8 num, JsonArray *to)
{
	JsonObject *row = json_object_new();

	json_array_add_object_element(to, row);
	json_object_set_int_member(row, "ca", visit->index);
	member_guid(row, "ca_guid", visit->snap->guid);
	json_object_set_int_member(row, "port", num);
	return row;
}

static void add_gid(struct query *q, const struct visit *visit, guint8 num, JsonObject *row)
{
	g_autofree char *text = NULL;
	ib_gid gid;
	al_status st = al_query_gid(visit->ca, num, 0, &gid);

	if (st) {
		missing(q, visit, "GID 0 cannot be read", num, st);
		return;
	}
	text = tool_gid_text(&gid);
	json_object_set_string_member(row, "gid", text);
}

static void add_counters(JsonObject *row, const struct ib_port_counters *c)
{
	JsonObject *to = json_object_new();

#define COUNTER(name, ...) member_u64(to, #name, c->name);
	PORT_TRAFFIC_LIST(COUNTER, COUNTER)
	PORT_ERROR_LIST(COUNTER)
#undef COUNTER
	json_object_set_object_member(row, "counters", to);
}

/* Asks the port's agent, which may be the Access Layer in this process, or else by a subnet
 * management packet to the port itself. */
static gboolean read_port_info(const struct query *q, const struct visit *visit, guint8 num,
			       struct ib_port_info *info, GError **err)
{
	struct ib_smp smp = {
		.base_version = IB_MAD_BASE_VERSION,
		.mgmt_class = IB_CLASS_SUBN_LID,
		.class_version = IB_SMP_CLASS_VERSION,
		.method = IB_METHOD_GET,
		.attr_id = ib_be16_of(IB_SMP_PORT_INFO),
		.mkey = ib_be64_of(q->m_key),
	};
	struct sweep_port *port;
	struct ib_mad mad;
	gboolean good;

	memcpy(&mad, &smp, sizeof(mad));
	if (!al_local_mad(visit->ca, num, &mad, &mad)) {
		memcpy(&smp, &mad, sizeof(smp));
		if (!ib_be16_get(smp.status)) {
			memcpy(info, smp.data, sizeof(*info));
			return TRUE;
		}
	}
	port = sweep_port_open(visit->ca, num, err);
	if (!port)
		return FALSE;
	good = sweep_own_port_info(sweep_port_line(port), q->m_key, info, err);
	sweep_port_close(port);
	return good;
}

/*
 * Adds all of PortInfo. Without --long only where the Access Layer itself answers for the port:
 * another port may have no agent, and the wait for it would make each answer slow.
 */
static void add_port_info(struct query *q, const struct visit *visit, guint8 num,
			  const struct ib_port_attr *port, JsonObject *row)
{
	g_autoptr(GError) err = NULL;
	struct ib_port_info info;
	JsonObject *to;

	if (!q->all && !(q->json && port->ci_caps & CI_PORT_SMA_IN_AL))
		return;
	if (port->link_layer == IB_LINK_LAYER_ETHERNET) {
		json_object_set_string_member(row, "no_port_info",
					      "the port is Ethernet, which has no subnet management");
		return;
	}
	if (read_port_info(q, visit, num, &info, &err)) {
		to = json_object_new();
		port_info_fill(to, &info);
		json_object_set_object_member(row, "port_info", to);
		return;
	}
	json_object_set_string_member(row, "no_port_info", err->message);
	if (q->all)
		query_error(q, TOOL_FAILED,
			    "HCA 0x%016" G_GINT64_MODIFIER
			    "x, port %u: its PortInfo cannot be read: %s; the rest is shown",
			    visit->snap->guid, num, err->message);
}

static void add_port(struct query *q, const struct visit *visit, guint8 num, const struct ib_port_attr *port, JsonArray *to)
{
	JsonObject *row = new_row(visit, num, to);

	json_object_set_string_member(row, "state", al_port_state_str(port->state));
	json_object_set_string_member(row, "phys_state", al_phys_state_str(port->phys_state));
	json_object_set_int_member(row, "lid", port->lid);
	json_object_set_int_member(row, "lmc", port->lmc);
	json_object_set_int_member(row, "sm_lid", port->sm_lid);
	json_object_set_int_member(row, "sm_sl", port->sm_sl);
	json_object_set_string_member(row, "width", al_width_str(port->active_width));
	json_object_set_string_member(row, "speed", al_speed_str(port->active_speed));
	json_object_set_int_member(row, "rate_mbps", tool_rate_mbps(port->active_width, port->active_speed));
	json_object_set_int_member(row, "mtu", ib_mtu_bytes(port->active_mtu));
	json_object_set_int_member(row, "max_mtu", ib_mtu_bytes(port->max_mtu));
	json_object_set_int_member(row, "max_msg_size", port->max_msg_size);
	json_object_set_string_member(row, "link_layer", al_link_layer_str(port->link_layer));
	member_guid(row, "port_guid", port->port_guid);
	member_guid(row, "subnet_prefix", port->subnet_prefix);
	add_gid(q, visit, num, row);
	json_object_set_int_member(row, "gid_table_length", port->gid_tbl_len);
	json_object_set_int_member(row, "pkey_table_length", port->pkey_tbl_len);
	member_hex(row, "cap_mask", port->cap_mask);
	add_port_info(q, visit, num, port, row);
	json_object_set_int_member(row, "bad_pkeys", port->bad_pkey_cntr);
	json_object_set_int_member(row, "qkey_violations", port->qkey_viol_cntr);
	add_counters(row, &port->counters);
}

static void add_rates(struct query *q);
static char *format_rate(JsonNode *value);

void collect_port(struct query *q)
{
	if (*q->args && !query_set_port(q)) {
		query_array(q, "ports");
		return;
	}
	collect_of_ports(q, "ports", add_port);
	add_rates(q);
}

/* Prints a sheet for each port: the attributes that PortInfo has not, then PortInfo. */
static void show_long(const struct query *q, JsonArray *ports)
{
	static const struct query_column columns[] = {
		{ "ca_guid", "HCA", NULL, NULL },
		{ "port", "Port", NULL, NULL },
		{ "port_guid", "GUID", NULL, NULL },
		{ "gid", "GID 0", NULL, NULL },
		{ "rate_mbps", "Rate", format_mbps, NULL },
		{ "link_layer", "Link layer", NULL, NULL },
		{ "max_msg_size", "Largest message", NULL, NULL },
		{ "gid_table_length", "GID table", NULL, NULL },
		{ "pkey_table_length", "P_Key table", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	/* the port's attributes that are known without PortInfo */
	static const struct query_column instead[] = {
		{ "state", "State", NULL, NULL },
		{ "phys_state", "Physical state", NULL, NULL },
		{ "mtu", "MTU", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};

	for (guint i = 0; i < json_array_get_length(ports); i++) {
		JsonObject *row = json_array_get_object_element(ports, i);

		if (i)
			putchar('\n');
		query_sheet(q, row, columns);
		if (json_object_has_member(row, "port_info")) {
			query_sheet(q, json_object_get_object_member(row, "port_info"),
				    port_info_columns);
			continue;
		}
		query_sheet(q, row, instead);
		printf("No PortInfo: %s\n", json_object_get_string_member(row, "no_port_info"));
	}
}

void show_port(struct query *q)
{
	static const struct query_column columns[] = {
		{ "ca", "HCA", NULL, NULL },
		{ "port", "Port", NULL, NULL },
		{ "state", "State", NULL, colour_state },
		{ "phys_state", "Physical", NULL, NULL },
		{ "lid", "LID", NULL, NULL },
		{ "lmc", "LMC", NULL, NULL },
		{ "sm_lid", "SM", NULL, NULL },
		{ "width", "Width", NULL, NULL },
		{ "speed", "Speed", NULL, NULL },
		{ "mtu", "MTU", NULL, NULL },
		{ "port_guid", "GUID", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	static const struct query_column traffic[] = {
		{ "xmit_bytes", "Bytes sent", NULL, NULL },
		{ "rcv_bytes", "received", NULL, NULL },
		{ "xmit_packets", "Packets sent", NULL, NULL },
		{ "rcv_packets", "received", NULL, NULL },
		{ "retransmits", "Sent again", NULL, NULL },
		{ "rcv_dropped", "Dropped", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	static const struct query_column speed[] = {
		{ "xmit_bytes", "Bytes sent", format_rate, NULL },
		{ "rcv_bytes", "received", format_rate, NULL },
		{ "xmit_packets", "Packets sent", format_rate, NULL },
		{ "rcv_packets", "received", format_rate, NULL },
		{ "retransmits", "Sent again", format_rate, NULL },
		{ "rcv_dropped", "Dropped", format_rate, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	g_autoptr(JsonArray) rates = json_array_new();
	JsonArray *ports = json_object_get_array_member(q->out, "ports");
	g_autoptr(JsonArray) counters = json_array_new();

	if (!json_array_get_length(ports)) {
		puts("No such port.");
		return;
	}
	if (q->all) {
		show_long(q, ports);
		return;
	}
	query_table(q, "", ports, columns);
	for (guint i = 0; i < json_array_get_length(ports); i++) {
		JsonObject *row = json_object_get_object_member(json_array_get_object_element(ports, i), "counters");

		json_array_add_object_element(counters, json_object_ref(row));
	}
	puts("\nTraffic, in the same order:");
	query_table(q, "", counters, traffic);
	for (guint i = 0; i < json_array_get_length(ports); i++) {
		JsonObject *port = json_array_get_object_element(ports, i);

		json_array_add_object_element(
			rates, json_object_has_member(port, "rates") ?
				       json_object_ref(json_object_get_object_member(port, "rates")) :
				       json_object_new());
	}
	if (q->before) {
		puts("\nPer second:");
		query_table(q, "", rates, speed);
	}
}

static void add_port_counters(struct query *q, const struct visit *visit, guint8 num, const struct ib_port_attr *port,
			      JsonArray *to)
{
	JsonObject *row = new_row(visit, num, to), *counters;

	(void)q;
	add_counters(row, &port->counters);
	counters = json_object_get_object_member(row, "counters");
	json_object_set_int_member(counters, "bad_pkeys", port->bad_pkey_cntr);
	json_object_set_int_member(counters, "qkey_violations", port->qkey_viol_cntr);
}

/* ------------------------------------------------------------- rates of --watch */

static JsonObject *find_port(JsonArray *ports, JsonObject *like)
{
	for (guint i = 0; i < json_array_get_length(ports); i++) {
		JsonObject *port = json_array_get_object_element(ports, i);

		if (json_object_get_int_member(port, "port") ==
			    json_object_get_int_member(like, "port") &&
		    !strcmp(json_object_get_string_member(port, "ca_guid"),
			    json_object_get_string_member(like, "ca_guid")))
			return port;
	}
	return NULL;
}

/* The growth of a counter per second; a counter that was reset has grown from 0. */
static double rate_of(JsonNode *now, JsonNode *before, double seconds)
{
	guint64 from = member_number(before), to = member_number(now);

	return (double)(to >= from ? to - from : to) / seconds;
}

/* Adds "rates" to each port that the answer before has too. */
static void add_rates(struct query *q)
{
	const double seconds = (double)MAX(q->out_us - q->before_us, 1) / G_USEC_PER_SEC;
	JsonArray *ports = json_object_get_array_member(q->out, "ports");

	if (!q->watch || !q->before || !json_object_has_member(q->before, "ports"))
		return;
	for (guint i = 0; i < json_array_get_length(ports); i++) {
		JsonObject *port = json_array_get_object_element(ports, i), *rates;
		JsonObject *before =
			find_port(json_object_get_array_member(q->before, "ports"), port);
		JsonObject *counters = json_object_get_object_member(port, "counters"), *old;
		g_autoptr(GList) names = json_object_get_members(counters);

		if (!before)
			continue;
		old = json_object_get_object_member(before, "counters");
		rates = json_object_new();
		for (GList *name = names; name; name = name->next)
			json_object_set_double_member(
				rates, name->data,
				rate_of(json_object_get_member(counters, name->data),
					json_object_get_member(old, name->data), seconds));
		json_object_set_object_member(port, "rates", rates);
	}
}

static char *format_rate(JsonNode *value)
{
	return g_strdup_printf("%.1f", json_node_get_double(value));
}

void collect_counters(struct query *q)
{
	collect_of_ports(q, "ports", add_port_counters);
	add_rates(q);
}

/* Prints a line for each counter and a column for each port. */
void show_counters(struct query *q)
{
	JsonArray *ports = json_object_get_array_member(q->out, "ports");
	guint num = json_array_get_length(ports);
	const guint step = q->before ? 2 : 1; /* columns of a port: the totals, and their rates */
	g_autofree struct query_column *columns = NULL;
	g_autoptr(GPtrArray) headings = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(JsonArray) rows = json_array_new();
	g_autoptr(GList) names = NULL;

	if (!num) {
		puts("No such port.");
		return;
	}
	columns = g_new0(struct query_column, 2 * num + 2);
	columns[0] = (struct query_column){ "counter", "Counter", NULL, NULL };
	for (guint i = 0; i < num; i++) {
		JsonObject *port = json_array_get_object_element(ports, i);
		char *heading = g_strdup_printf("%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, json_object_get_int_member(port, "ca"),
						json_object_get_int_member(port, "port"));

		g_ptr_array_add(headings, heading);
		columns[step * i + 1] = (struct query_column){ heading, heading, NULL, NULL };
		if (step == 1)
			continue;
		heading = g_strdup_printf("%s/s", heading);
		g_ptr_array_add(headings, heading);
		columns[step * i + 2] = (struct query_column){ heading, "per s", format_rate, NULL };
	}
	names = json_object_get_members(json_object_get_object_member(json_array_get_object_element(ports, 0), "counters"));
	for (GList *name = names; name; name = name->next) {
		JsonObject *row = json_object_new();

		json_object_set_string_member(row, "counter", name->data);
		for (guint i = 0; i < num; i++) {
			JsonObject *port = json_array_get_object_element(ports, i);
			JsonObject *counters = json_object_get_object_member(port, "counters");

			json_object_set_member(row, columns[step * i + 1].key,
					       json_object_dup_member(counters, name->data));
			if (step > 1 && json_object_has_member(port, "rates"))
				json_object_set_member(
					row, columns[step * i + 2].key,
					json_object_dup_member(
						json_object_get_object_member(port, "rates"),
						name->data));
		}
		json_array_add_object_element(rows, row);
	}
	query_table(q, "", rows, columns);
}

/* --------------------------------------------------------------------- HCAs */

static void add_ca(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg)
{
	const struct ib_ca_attr *attr = &snap->attr;
	JsonObject *row = json_object_new();
	JsonArray *ports = json_array_new();
	struct visit visit;

	json_array_add_object_element(arg, row);
	json_object_set_int_member(row, "index", index);
	member_guid(row, "guid", snap->guid);
	member_text(row, "name", attr->name);
	member_text(row, "description", attr->node_desc);
	member_text(row, "module", snap->module);
	member_text(row, "module_version", snap->module_version);
	member_text(row, "location", attr->location);
	member_text(row, "fw_ver", attr->fw_ver);
	member_hex(row, "vendor_id", attr->vendor_id);
	member_hex(row, "vendor_part_id", attr->vendor_part_id);
	member_hex(row, "hw_ver", attr->hw_ver);
	member_guid(row, "sys_image_guid", attr->sys_image_guid);
	json_object_set_int_member(row, "num_ports", attr->num_ports);
	json_object_set_int_member(row, "num_comp_vectors", attr->num_comp_vectors);
	json_object_set_int_member(row, "opens", snap->opens);
	json_object_set_array_member(row, "ports", ports);
	if (!visit_begin(q, &visit, snap, index))
		return;
	each_port(q, &visit, add_port, ports);
	visit_end(&visit);
}

void collect_ca(struct query *q)
{
	query_each_ca(q, add_ca, query_array(q, "cas"));
	check_port_found(q);
	/* The clients of the HCAs: only if an agent has the HCAs, and no option narrows the
	 * answer. */
	if (q->snap->num_clients && !q->cas && !q->port && !q->state)
		collect_clients(q);
}

static void show_one_ca(struct query *q, JsonObject *ca)
{
	static const struct query_column columns[] = {
		{ "port", "Port", NULL, NULL },
		{ "state", "State", NULL, colour_state },
		{ "lid", "LID", NULL, NULL },
		{ "rate_mbps", "Rate", format_mbps, NULL },
		{ "mtu", "MTU", NULL, NULL },
		{ "link_layer", "Link", NULL, NULL },
		{ "gid", "GID 0", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	JsonArray *ports = json_object_get_array_member(ca, "ports");

	printf("%sHCA %" G_GINT64_FORMAT "  %s%s\n", q->colour ? COLOUR_BOLD : "", json_object_get_int_member(ca, "index"),
	       json_object_get_string_member(ca, "description"), q->colour ? COLOUR_OFF : "");
	printf("  GUID %s  name %s  module %s %s  at %s\n",
	       json_object_get_string_member(ca, "guid"), json_object_get_string_member(ca, "name"),
	       json_object_get_string_member(ca, "module"), json_object_get_string_member(ca, "module_version"),
	       json_object_get_string_member(ca, "location"));
	if (json_array_get_length(ports))
		query_table(q, "  ", ports, columns);
	else
		puts("  no such port");
}

void show_ca(struct query *q)
{
	JsonArray *cas = json_object_get_array_member(q->out, "cas");

	for (guint i = 0; i < json_array_get_length(cas); i++) {
		if (i)
			putchar('\n');
		show_one_ca(q, json_array_get_object_element(cas, i));
	}
	if (!json_array_get_length(cas))
		puts("No HCA is here. \"al_query doctor\" says what is missing.");
	if (json_object_has_member(q->out, "clients")) {
		putchar('\n');
		show_clients(q);
	}
}

/* ------------------------------------------------------------------- tables */

static gboolean is_empty(const ib_gid *gid)
{
	static const ib_gid zero;

	for (gsize i = 0; i < sizeof(gid->raw); i++)
		if (gid->raw[i] != zero.raw[i])
			return FALSE;
	return TRUE;
}

static void add_gids(struct query *q, const struct visit *visit, guint8 num, const struct ib_port_attr *port, JsonArray *to)
{
	for (guint32 i = 0; i < port->gid_tbl_len; i++) {
		g_autofree char *text = NULL;
		JsonObject *row;
		ib_gid gid;
		ib_gid_type type = IB_GID_TYPE_IB;
		al_status st = al_query_gid(visit->ca, num, i, &gid);

		if (!st)
			st = al_query_gid_type(visit->ca, num, i, &type);
		if (st) {
			missing(q, visit, "its GID table cannot be read", num, st);
			return;
		}
		if (is_empty(&gid))
			continue;
		row = new_row(visit, num, to);
		json_object_set_int_member(row, "index", i);
		text = tool_gid_text(&gid);
		json_object_set_string_member(row, "gid", text);
		json_object_set_string_member(row, "type", al_gid_type_str(type));
	}
}

void collect_gid(struct query *q)
{
	collect_of_ports(q, "gids", add_gids);
}

void show_gid(struct query *q)
{
	static const struct query_column columns[] = {
		{ "ca", "HCA", NULL, NULL },
		{ "port", "Port", NULL, NULL },
		{ "index", "Index", NULL, NULL },
		{ "gid", "GID", NULL, NULL },
		{ "type", "Type", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};

	query_table(q, "", json_object_get_array_member(q->out, "gids"), columns);
}

static void add_pkeys(struct query *q, const struct visit *visit, guint8 num, const struct ib_port_attr *port, JsonArray *to)
{
	for (guint32 i = 0; i < port->pkey_tbl_len; i++) {
		JsonObject *row;
		uint16_t pkey;
		al_status st = al_query_pkey(visit->ca, num, i, &pkey);

		if (st) {
			missing(q, visit, "its P_Key table cannot be read", num, st);
			return;
		}
		if (!(pkey & IB_PKEY_VALUE_MASK))
			continue;
		row = new_row(visit, num, to);
		json_object_set_int_member(row, "index", i);
		member_hex(row, "pkey", pkey);
		json_object_set_string_member(row, "member", pkey & IB_PKEY_FULL_MEMBER ? "full" : "limited");
	}
}

void collect_pkey(struct query *q)
{
	collect_of_ports(q, "pkeys", add_pkeys);
}

void show_pkey(struct query *q)
{
	static const struct query_column columns[] = {
		{ "ca", "HCA", NULL, NULL },
		{ "port", "Port", NULL, NULL },
		{ "index", "Index", NULL, NULL },
		{ "pkey", "P_Key", NULL, NULL },
		{ "member", "Member", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};

	query_table(q, "", json_object_get_array_member(q->out, "pkeys"), columns);
}
