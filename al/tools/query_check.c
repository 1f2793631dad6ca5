/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * al_query check: the ports' states and error counters against thresholds, for programs that watch:
 * a first line and exit status as the plugins of Nagios have them, and a line for each problem with
 * the way out.
 */
#include <stdio.h>
#include <string.h>

#include "al/tools/errors.h"
#include "al/tools/net.h"
#include "al/tools/query.h"

/* The exit status, in the order of the plugins of Nagios. */
enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_CRITICAL, LEVEL_UNKNOWN = QUERY_CHECK_UNKNOWN };

static const char *const level_words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

struct check {
	struct query *q;
	guint64 warning[PORT_ERRORS], critical[PORT_ERRORS]; /* 0: none */
	guint64 sum[PORT_ERRORS];
	guint ports, active, warnings, criticals;
	JsonArray *problems;
	struct net *net; /* with --subnet */
};

/* ------------------------------------------------------------------------ thresholds */

static gint find_error(const char *name)
{
	for (gint i = 0; i < PORT_ERRORS; i++)
		if (!strcmp(port_error_kinds[i].name, name))
			return i;
	return -1;
}

/* Reads one of NAME=VALUE, or a VALUE for all counters. */
static gboolean read_threshold(const char *text, guint64 *thresholds)
{
	const char *equals = strchr(text, '=');
	g_autofree char *name = equals ? g_strndup(text, (gsize)(equals - text)) : NULL;
	gint only = name ? find_error(name) : 0;
	guint64 value;

	if (only < 0 || !tool_parse_number(equals ? equals + 1 : text, 0, G_MAXUINT64, &value))
		return FALSE;
	for (gint i = 0; i < PORT_ERRORS; i++)
		if (!name || i == only)
			thresholds[i] = value;
	return TRUE;
}

static gboolean read_thresholds(struct query *q, const char *option, const char *text,
				guint64 *thresholds)
{
	g_auto(GStrv) parts = g_strsplit(text ? text : "", ",", -1);

	for (char **part = parts; *part; part++)
		if (!read_threshold(*part, thresholds)) {
			query_error(
				q, LEVEL_UNKNOWN,
				"--%s %s: it must be numbers, or names of error counters with numbers, such as "
				"symbol_errors=10,link_downed=1",
				option, *part);
			return FALSE;
		}
	return TRUE;
}

/* --------------------------------------------------------------------------- problems */

static void problem(struct check *c, enum level level, const char *where, const char *what,
		    guint64 value, const char *text, const char *way_out)
{
	JsonObject *row = json_object_new();

	json_array_add_object_element(c->problems, row);
	json_object_set_string_member(row, "level", level_words[level]);
	member_text(row, "where", where);
	json_object_set_string_member(row, "what", what);
	member_u64(row, "value", value);
	json_object_set_string_member(row, "text", text);
	json_object_set_string_member(row, "way_out", way_out);
	if (level == LEVEL_WARNING)
		c->warnings++;
	else
		c->criticals++;
}

/* TRUE: a part of the answer is missing. */
static gboolean is_partial(const struct check *c)
{
	return json_object_has_member(c->q->out, "errors");
}

static void check_state(struct check *c, const char *where, guint state, guint phys_state)
{
	static const struct {
		enum level level;
		const char *text, *way_out;
	} states[] = {
		[IB_PORT_DOWN] = { LEVEL_CRITICAL, "the port is Down",
				   "plug the cable in, and look at the port at its other end; leave out a "
				   "port that has no cable with --ca and --port" },
		[IB_PORT_INIT] = { LEVEL_WARNING,
				   "the port is Init: no subnet manager has set it up",
				   "start a subnet manager, such as "
				   "\"al_run opensm\", or look at the log of the one that runs" },
		[IB_PORT_ARMED] = { LEVEL_WARNING,
				    "the port is Armed: the subnet manager has not finished",
				    "look at the log of the subnet "
				    "manager, if this lasts" },
	};
	g_autofree char *text = NULL;

	c->ports++;
	if (state == IB_PORT_ACTIVE) {
		c->active++;
		return;
	}
	if (state >= G_N_ELEMENTS(states) || !states[state].text) {
		problem(c, LEVEL_CRITICAL, where, "state", state, "the port's state is not known",
			"\"al_query port\" says why");
		return;
	}
	text = g_strdup_printf("%s (%s)", states[state].text,
			       al_phys_state_str((ib_phys_state)phys_state));
	problem(c, states[state].level, where, "state", state, text, states[state].way_out);
}

static void check_errors(struct check *c, const char *where, const guint64 *errors)
{
	for (guint i = 0; i < PORT_ERRORS; i++) {
		const struct port_error_kind *kind = &port_error_kinds[i];
		gboolean critical = c->critical[i] && errors[i] >= c->critical[i];
		g_autofree char *text = NULL;

		c->sum[i] += errors[i];
		if (!critical && !(c->warning[i] && errors[i] >= c->warning[i]))
			continue;
		text = g_strdup_printf("%s %" G_GUINT64_FORMAT ", %s from %" G_GUINT64_FORMAT
				       ": %s",
				       kind->name, errors[i], critical ? "critical" : "warning",
				       critical ? c->critical[i] : c->warning[i], kind->text);
		problem(c, critical ? LEVEL_CRITICAL : LEVEL_WARNING, where, kind->name, errors[i],
			text, kind->way_out);
	}
}

/* ---------------------------------------------------------------------- ports to check */

static void check_port(struct check *c, const struct al_snap_ca *snap, al_ca_h ca, guint num)
{
	g_autofree char *where = g_strdup_printf("HCA 0x%016" G_GINT64_MODIFIER "x (%s), port %u",
						 snap->guid, snap->attr.node_desc, num);
	guint64 errors[PORT_ERRORS];
	struct ib_port_attr attr;
	al_status st = al_query_port(ca, (uint8_t)num, &attr);

	if (st) {
		query_error(c->q, LEVEL_UNKNOWN, "%s: its attributes cannot be read: %s", where,
			    al_status_str(st));
		return;
	}
	check_state(c, where, attr.state, attr.phys_state);
	port_errors_of_attr(errors, &attr.counters);
	check_errors(c, where, errors);
}

static void check_ca(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg)
{
	struct check *c = arg;
	al_ca_h ca;
	al_status st = al_open_ca(q->al, snap->guid, NULL, &ca);

	(void)index;
	if (st) {
		query_error(q, LEVEL_UNKNOWN,
			    "HCA 0x%016" G_GINT64_MODIFIER "x cannot be opened: %s", snap->guid,
			    al_status_str(st));
		return;
	}
	for (guint num = 1; num <= snap->attr.num_ports; num++)
		if (!q->port || (guint)q->port == num)
			check_port(c, snap, ca, num);
	al_close_ca(ca, AL_DESTROY_SYNC, NULL);
}

static void check_cas(struct check *c)
{
	query_report_modules(c->q);
	query_each_ca(c->q, check_ca, c);
	if (c->q->port && !c->ports && !is_partial(c))
		query_error(c->q, LEVEL_UNKNOWN,
			    "there is no port %d; \"al_query port\" shows those that are there",
			    c->q->port);
}

/* TRUE: a port of a switch that is not simply without a cable: the link was up since its counters
 * were reset, or somebody has disabled the port. */
static gboolean has_fallen(const struct net_port *port)
{
	return port->state != IB_PORT_DOWN || port->phys_state == IB_PHYS_DISABLED ||
	       (port->counted && port->errors[PORT_ERROR_link_downed]);
}

/* A port of a subnet: those with a cable, and those that have lost theirs. */
static void check_net_port(struct check *c, const struct net_port *port)
{
	g_autofree char *where = net_port_text(port);

	if (!port->known || (!port->peer && !has_fallen(port)))
		return;
	check_state(c, where, port->state, port->phys_state);
	if (port->no_answer)
		problem(c, LEVEL_CRITICAL, where, "no_answer", 1,
			"the link is up, and nothing behind it answers",
			"look at the cable, then at the node at its other end; if the node has an M_Key, "
			"give it with --m-key");
	if (port->counted)
		check_errors(c, where, port->errors);
}

static void check_net(struct check *c, const struct net *net)
{
	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		if (node->no_answer)
			problem(c, LEVEL_CRITICAL, node->name, "no_answer", 1,
				"the node has stopped answering",
				"look for packets that the cables on the way to the node lose, then at "
				"the node");
		for (guint p = 1; p <= node->num_ports; p++)
			check_net_port(c, &node->ports[p]);
	}
}

static void check_subnet(struct check *c)
{
	c->net = query_sweep(c->q, TRUE);
	if (!c->net)
		return;
	check_net(c, c->net);
	if (c->net->no_counters)
		json_object_set_string_member(c->q->out, "no_error_counters", c->net->no_counters);
}

static void check_all(struct check *c)
{
	al_status st = al_snapshot(c->q->al, &c->q->snap);

	if (st) {
		query_error(c->q, LEVEL_UNKNOWN, "the HCAs cannot be listed: %s",
			    al_status_str(st));
		return;
	}
	if (c->q->subnet)
		check_subnet(c);
	else
		check_cas(c);
}

/* ------------------------------------------------------------------------- the answer */

/* A problem that was found weighs more than a part that is not known. */
static enum level worst(const struct check *c)
{
	if (c->criticals)
		return LEVEL_CRITICAL;
	if (c->warnings)
		return LEVEL_WARNING;
	return is_partial(c) || !c->ports ? LEVEL_UNKNOWN : LEVEL_OK;
}

static char *summary(const struct check *c, enum level level)
{
	if (level == LEVEL_UNKNOWN)
		return g_strdup(c->ports ? "a part of the answer is missing"
					 : "no port could be checked");
	if (level == LEVEL_OK)
		return g_strdup_printf("%u port%s Active, no error counter at its threshold",
				       c->ports, c->ports == 1 ? " is" : "s are");
	return g_strdup_printf("%u problem%s at %u port%s%s", c->warnings + c->criticals,
			       c->warnings + c->criticals == 1 ? "" : "s", c->ports,
			       c->ports == 1 ? "" : "s",
			       is_partial(c) ? "; a part of the answer is missing" : "");
}

static void print_lines(const struct check *c, enum level level, const char *text)
{
	printf("%s - %s | ports=%u active=%u warnings=%u criticals=%u", level_words[level], text,
	       c->ports, c->active, c->warnings, c->criticals);
	for (guint i = 0; i < PORT_ERRORS; i++)
		printf(" %s=%" G_GUINT64_FORMAT "c", port_error_kinds[i].name, c->sum[i]);
	putchar('\n');
	for (guint i = 0; i < json_array_get_length(c->problems); i++) {
		JsonObject *row = json_array_get_object_element(c->problems, i);

		printf("%s: %s: %s. Way out: %s.\n", json_object_get_string_member(row, "level"),
		       json_object_get_string_member(row, "where"),
		       json_object_get_string_member(row, "text"),
		       json_object_get_string_member(row, "way_out"));
	}
}

static void answer(struct check *c)
{
	enum level level = worst(c);
	g_autofree char *text = summary(c, level);

	json_object_set_string_member(c->q->out, "level", level_words[level]);
	json_object_set_string_member(c->q->out, "text", text);
	json_object_set_int_member(c->q->out, "ports", c->ports);
	json_object_set_int_member(c->q->out, "active", c->active);
	if (c->q->json)
		query_print_answer(c->q);
	else
		print_lines(c, level, text);
	c->q->status = (int)level;
}

/* Resets the counters that are printed. A critical problem stays the exit status. */
static void reset_counters(struct check *c)
{
	const int status = c->q->status;

	if (fflush(stdout) || ferror(stdout))
		query_error(c->q, LEVEL_UNKNOWN,
			    "no counter is reset, since the answer could not be written");
	else if (!query_reset(c->q, c->net))
		c->q->status = LEVEL_UNKNOWN;
	if (status == LEVEL_CRITICAL)
		c->q->status = status;
}

static void end_check(struct check *c)
{
	if (c->net)
		net_free(c->net);
	if (c->q->snap)
		al_free_snapshot(c->q->snap);
	c->q->snap = NULL;
	al_close(c->q->al, AL_DESTROY_SYNC, NULL);
}

void run_check(struct query *q)
{
	struct check c = { .q = q, .problems = query_array(q, "problems") };
	gboolean opened = FALSE;

	for (guint i = 0; i < PORT_ERRORS; i++) {
		c.warning[i] = port_error_kinds[i].warning;
		c.critical[i] = port_error_kinds[i].critical;
	}
	if (read_thresholds(q, "warn", q->warning, c.warning) &&
	    read_thresholds(q, "crit", q->critical, c.critical) && query_open(q)) {
		opened = TRUE;
		check_all(&c);
	}
	answer(&c);
	if (q->reset && c.net)
		reset_counters(&c);
	if (opened)
		end_check(&c);
}
