/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query prom: the answers of ca, res, modules and clients as one, and its text form in
 * Prometheus' exposition format. Names follow Prometheus' conventions: the prefix ibal_, base
 * units, and _total for counters.
 */
#include <stdio.h>
#include <string.h>

#include "al/tools/errors.h"
#include "al/tools/query.h"

void collect_prom(struct query *q)
{
	collect_ca(q);
	collect_counts(q);
	collect_modules(q);
	if (!json_object_has_member(q->out, "clients"))
		collect_clients(q);
}

/* ---------------------------------------------------------------------- text */

/* Appends a label with its value, in which backslashes, quotes and line feeds are escaped. */
static void add_label(GString *labels, const char *name, const char *value)
{
	g_string_append_printf(labels, "%s%s=\"", labels->len ? "," : "", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			g_string_append_c(labels, '\\');
		if (*value == '\n')
			g_string_append(labels, "\\n");
		else
			g_string_append_c(labels, *value);
	}
	g_string_append_c(labels, '"');
}

static void add_number_label(GString *labels, const char *name, gint64 value)
{
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);

	add_label(labels, name, text);
}

/* Adds the members of that name as labels of the same name. NULL ends the names. */
static void add_labels(GString *labels, JsonObject *obj, const char *const *names)
{
	for (; *names; names++)
		if (json_object_has_member(obj, *names))
			add_label(labels, *names, json_object_get_string_member(obj, *names));
}

static guint64 number_of(JsonObject *obj, const char *name)
{
	return member_number(json_object_get_member(obj, name));
}

/* The metrics by name, in the order of their first samples. */
struct exposition {
	GPtrArray *order; /* of struct metric; owns them */
	GHashTable *by_name;
};

struct metric {
	char *name;
	const char *type;
	char *help;
	GString *samples;
};

static void free_metric(gpointer data)
{
	struct metric *metric = data;

	g_free(metric->name);
	g_free(metric->help);
	g_string_free(metric->samples, TRUE);
	g_free(metric);
}

static void add_sample(struct exposition *to, const char *name, const char *help,
		       const GString *labels, const char *value)
{
	struct metric *metric = g_hash_table_lookup(to->by_name, name);

	if (!metric) {
		metric = g_new0(struct metric, 1);
		metric->name = g_strdup(name);
		metric->type = g_str_has_suffix(name, "_total") ? "counter" : "gauge";
		metric->help = g_strdup(help);
		metric->samples = g_string_new(NULL);
		g_hash_table_insert(to->by_name, metric->name, metric);
		g_ptr_array_add(to->order, metric);
	}
	g_string_append(metric->samples, name);
	if (labels->len)
		g_string_append_printf(metric->samples, "{%s}", labels->str);
	g_string_append_printf(metric->samples, " %s\n", value);
}

static void add_value(struct exposition *to, const char *name, const char *help,
		      const GString *labels, guint64 value)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);

	add_sample(to, name, help, labels, text);
}

/* ---------------------------------------------------------------- of the ports */

static void add_counter(struct exposition *to, const GString *labels, JsonObject *counters,
			const char *name, const char *help)
{
	g_autofree char *metric = NULL, *seconds = NULL;
	guint64 value = number_of(counters, name);

	if (!strcmp(name, "xmit_wait")) { /* the only counter of time; it has microseconds */
		seconds = g_strdup_printf("%" G_GUINT64_FORMAT ".%06u", value / 1000000,
					  (guint)(value % 1000000));
		add_sample(to, "ibal_port_xmit_wait_seconds_total", help, labels, seconds);
		return;
	}
	metric = g_strdup_printf("ibal_port_%s_total", name);
	add_value(to, metric, help, labels, value);
}

static void add_states(struct exposition *to, const GString *labels, const char *state)
{
#define STATE_TEXT(name, value, text) text,
	static const char *const states[] = { IB_PORT_STATE_LIST(STATE_TEXT) };

	for (gsize i = 1; i < G_N_ELEMENTS(states); i++) { /* the first is no state of a port */
		g_autoptr(GString) with = g_string_new(labels->str);

		add_label(with, "state", states[i]);
		add_value(to, "ibal_port_state",
			  "1 for the state that the port is in, 0 for each other.", with,
			  !strcmp(states[i], state));
	}
}

static void add_port(struct exposition *to, const char *ca_guid, JsonObject *port)
{
	static const char *const info[] = {
		"port_guid", "gid", "link_layer", "width", "speed", NULL
	};
	JsonObject *counters = json_object_get_object_member(port, "counters");
	g_autoptr(GString) labels = g_string_new(NULL), more = NULL;

	add_label(labels, "ca_guid", ca_guid);
	add_number_label(labels, "port", json_object_get_int_member(port, "port"));
	more = g_string_new(labels->str);
	add_labels(more, port, info);
	add_value(to, "ibal_port_info", "What the port is; the value is 1.", more, 1);
	add_states(to, labels, json_object_get_string_member(port, "state"));
	add_value(to, "ibal_port_lid", "The port's LID; 0: it has none.", labels,
		  number_of(port, "lid"));
	add_value(to, "ibal_port_rate_bytes_per_second",
		  "The link's rate after coding, from lanes and speed.", labels,
		  number_of(port, "rate_mbps") * 125000);
	add_value(to, "ibal_port_mtu_bytes", "The port's active MTU.", labels,
		  number_of(port, "mtu"));
#define TRAFFIC(name, text)                            add_counter(to, labels, counters, #name, "Number of " text ".");
#define WAITING(name, text)                            add_counter(to, labels, counters, #name, "Time in which " text ".");
#define ERRORS(name, warning, critical, text, way_out) TRAFFIC(name, text)
	PORT_TRAFFIC_LIST(TRAFFIC, WAITING)
	PORT_ERROR_LIST(ERRORS)
	add_value(to, "ibal_port_bad_pkeys_total", "Number of packets with a wrong P_Key.", labels,
		  number_of(port, "bad_pkeys"));
	add_value(to, "ibal_port_qkey_violations_total", "Number of packets with a wrong Q_Key.",
		  labels, number_of(port, "qkey_violations"));
}

static void add_ca(struct exposition *to, JsonObject *ca)
{
	static const char *const info[] = { "description", "module", "module_version",
					    "location",    "fw_ver", NULL };
	const char *guid = json_object_get_string_member(ca, "guid");
	JsonArray *ports = json_object_get_array_member(ca, "ports");
	g_autoptr(GString) labels = g_string_new(NULL), more = NULL;

	add_label(labels, "ca_guid", guid);
	more = g_string_new(labels->str);
	add_labels(more, ca, info);
	add_value(to, "ibal_ca_info", "What the HCA is; the value is 1.", more, 1);
	add_value(to, "ibal_ca_opens", "Number of open handles of the HCA.", labels,
		  number_of(ca, "opens"));
	for (guint i = 0; i < json_array_get_length(ports); i++)
		add_port(to, guid, json_array_get_object_element(ports, i));
}

/* ------------------------------------------------- of objects, modules, clients */

static void add_count(struct exposition *to, JsonObject *count)
{
	static const char *const names[] = { "ca_guid", "type", NULL };
	g_autoptr(GString) labels = g_string_new(NULL);

	add_labels(labels, count, names);
	add_value(to, "ibal_ca_objects", "Number of objects of the HCA, by kind.", labels,
		  number_of(count, "now"));
	add_value(to, "ibal_ca_objects_highest", "Highest number of objects so far.", labels,
		  number_of(count, "high"));
	if (!json_object_get_null_member(count, "max"))
		add_value(to, "ibal_ca_objects_limit", "The HCA's limit; absent: there is none.",
			  labels, number_of(count, "max"));
}

static void add_module(struct exposition *to, JsonObject *module)
{
	static const char *const names[] = { "name", "version", "path", "status", NULL };
	g_autoptr(GString) labels = g_string_new(NULL);

	add_labels(labels, module, names);
	add_value(to, "ibal_module_loaded", "1: the HCA module is loaded; 0: it has failed.",
		  labels, !strcmp(json_object_get_string_member(module, "status"), "AL_SUCCESS"));
}

/* A process may have opened the library several times: counts its clients up to this one. */
static gint64 opening_of(JsonArray *clients, JsonObject *client)
{
	const gint64 pid = json_object_get_int_member(client, "pid");
	gint64 opening = 1;

	for (guint i = 0; json_array_get_object_element(clients, i) != client; i++)
		if (json_object_get_int_member(json_array_get_object_element(clients, i), "pid") ==
		    pid)
			opening++;
	return opening;
}

/* of: "client" or "user", which is the prefix of the metrics. clients: all clients. */
static void add_account(struct exposition *to, const char *of, JsonArray *clients,
			JsonObject *account)
{
	static const char *const names[] = { "command", "user", NULL };
	JsonObject *use = json_object_get_object_member(account, "use");
	g_autoptr(GString) labels = g_string_new(NULL);
	g_autofree char *refused = g_strdup_printf("ibal_%s_refused_total", of);
	g_autofree char *used = g_strdup_printf("ibal_%s_resources", of);
	g_autofree char *highest = g_strdup_printf("ibal_%s_resources_highest", of);
	g_autofree char *limit = g_strdup_printf("ibal_%s_resources_limit", of);
	g_autoptr(GList) resources = json_object_get_members(use);

	if (json_object_has_member(account, "pid")) {
		add_number_label(labels, "pid", json_object_get_int_member(account, "pid"));
		add_number_label(labels, "opening", opening_of(clients, account));
	}
	add_labels(labels, account, names);
	add_number_label(labels, "uid", json_object_get_int_member(account, "uid"));
	add_value(to, refused, "Number of requests refused for a limit.", labels,
		  number_of(account, "refused"));
	for (GList *r = resources; r; r = r->next) {
		JsonObject *of_one = json_object_get_object_member(use, r->data);
		g_autoptr(GString) more = g_string_new(labels->str);

		add_label(more, "resource", r->data);
		add_value(to, used, "Amount of the agent's resource in use.", more,
			  number_of(of_one, "now"));
		add_value(to, highest, "Highest amount so far.", more, number_of(of_one, "high"));
		if (!json_object_get_null_member(of_one, "limit"))
			add_value(to, limit, "Amount beyond which requests are refused.", more,
				  number_of(of_one, "limit"));
	}
}

static char *expose(struct query *q)
{
	struct exposition e = { g_ptr_array_new_with_free_func(free_metric),
				g_hash_table_new(g_str_hash, g_str_equal) };
	g_autoptr(GString) none = g_string_new(NULL), version = g_string_new(NULL);
	GString *text = g_string_new(NULL);
	JsonArray *rows;

	add_label(version, "version", al_version());
	add_value(&e, "ibal_info", "The version of the Access Layer; the value is 1.", version, 1);
	add_value(&e, "ibal_answer_errors", "Number of parts that this answer lacks.", none,
		  json_object_has_member(q->out, "errors")
			  ? json_array_get_length(json_object_get_array_member(q->out, "errors"))
			  : 0);
#define EACH(name, call)                                                  \
	rows = json_object_get_array_member(q->out, name);                \
	for (guint i = 0; i < json_array_get_length(rows); i++) {         \
		JsonObject *row = json_array_get_object_element(rows, i); \
		call;                                                     \
	}
	EACH("cas", add_ca(&e, row))
	EACH("counts", add_count(&e, row))
	EACH("modules", add_module(&e, row))
	EACH("clients", add_account(&e, "client", rows, row))
	EACH("users", add_account(&e, "user", NULL, row))
	for (guint i = 0; i < e.order->len; i++) {
		const struct metric *m = g_ptr_array_index(e.order, i);

		g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n%s", m->name, m->help,
				       m->name, m->type, m->samples->str);
	}
	g_hash_table_unref(e.by_name);
	g_ptr_array_unref(e.order);
	return g_string_free(text, FALSE);
}

void show_prom(struct query *q)
{
	g_autofree char *text = expose(q);
	g_autoptr(GError) err = NULL;

	/* The file is replaced in one step, since a collector may read it at any moment. */
	if (!q->output)
		fputs(text, stdout);
	else if (!g_file_set_contents_full(q->output, text, -1, G_FILE_SET_CONTENTS_CONSISTENT,
					   0644, &err))
		query_error(q, TOOL_FAILED, "--output %s: %s; name a file that can be made, such as ibal.prom", q->output,
			    err->message);
}
