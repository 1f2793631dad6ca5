/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sets the error counters of a subnet's ports to zero by performance management (sweep.h). */
#include <stddef.h>
#include <string.h>

#include "al/tools/sweep.h"

/*
 * The attributes whose error counters are set to zero, and PortXmitWait. A port keeps two sets of
 * counters, and a Set of one attribute leaves the set of the other alone (IBTA 16.1). perfquery(8)
 * prints the first, ibqueryerrors(8) prints the second of a port that has the second.
 */
static const struct attribute {
	uint16_t id;
	uint16_t select_at, select;  /* the counters' selection: byte, bits */
	uint8_t select2_at, select2; /* the same of one byte; 0: none */
	gboolean optional;
} attributes[] = {
	{ IB_PERF_PORT_COUNTERS, offsetof(struct ib_perf_port_counters, counter_select), 0x0fff,
	  offsetof(struct ib_perf_port_counters, counter_select2), 0x01, FALSE },
	/* the lower half of CounterSelect2 */
	{ IB_PERF_PORT_COUNTERS_EXT,
	  offsetof(struct ib_perf_port_counters_ext, counter_select2) + 2, 0x1fff, 0, 0, TRUE },
};
_Static_assert(offsetof(struct ib_perf_port_counters, port_select) ==
		       offsetof(struct ib_perf_port_counters_ext, port_select),
	       "both attributes begin alike");

/* A request: the id is the port's place in ports, times the number of attributes, plus the
 * attribute's place. */
struct reset {
	const struct sweep_line *line;
	struct net *net;
	GPtrArray *ports;
	guint under_way;
};

static GPtrArray *counted_ports(const struct net *net)
{
	GPtrArray *ports = g_ptr_array_new();

	for (guint i = 0; i < net->nodes->len; i++) {
		const struct net_node *node = g_ptr_array_index(net->nodes, i);

		for (guint p = 1; p <= node->num_ports; p++)
			if (node->ports[p].counted)
				g_ptr_array_add(ports, &node->ports[p]);
	}
	return ports;
}

static struct net_port *port_of(const struct reset *reset, guint64 id)
{
	return g_ptr_array_index(reset->ports, (guint)(id / G_N_ELEMENTS(attributes)));
}

static const struct attribute *attribute_of(guint64 id)
{
	return &attributes[id % G_N_ELEMENTS(attributes)];
}

static void report(const struct reset *reset, guint64 id, const char *why)
{
	g_autofree char *where = net_port_text(port_of(reset, id));

	net_problem(reset->net, "%s: its counters are not reset: %s", where, why);
}

static void send_reset(struct reset *reset, guint64 id)
{
	const struct attribute *attribute = attribute_of(id);
	const ib_be16 select = ib_be16_of(attribute->select);
	struct net_port *port = port_of(reset, id);
	struct ib_perf_mad perf = {
		.hdr = { .base_version = IB_MAD_BASE_VERSION,
			 .mgmt_class = IB_CLASS_PERF,
			 .class_version = IB_PERF_CLASS_VERSION,
			 .method = IB_METHOD_SET,
			 .tid = ib_be64_of(id & G_MAXUINT32),
			 .attr_id = ib_be16_of(attribute->id) },
	};
	struct ib_mad mad;
	al_status st;

	perf.data[offsetof(struct ib_perf_port_counters, port_select)] = port->number;
	memcpy(perf.data + attribute->select_at, &select, sizeof(select));
	perf.data[attribute->select2_at] |= attribute->select2;
	memcpy(&mad, &perf, sizeof(mad));
	st = reset->line->send(reset->line->context, &mad, net_lid_port(port)->lid, id);
	if (st)
		report(reset, id, al_status_str(st));
	else
		reset->under_way++;
}

/* Takes an answer, and sends the port the next attribute's request if the answer is well. */
static void take(struct reset *reset, const struct sweep_answer *answer)
{
	const struct ib_mad_hdr *hdr = &answer->mad.hdr;
	const struct attribute *attribute = attribute_of(answer->id);
	guint status = ib_be16_get(hdr->status);
	g_autofree char *refused = g_strdup_printf("refused with status 0x%04x", status);

	reset->under_way--;
	if (answer->status == AL_TIMEOUT)
		report(reset, answer->id, "no answer");
	else if (answer->status)
		report(reset, answer->id, al_status_str(answer->status));
	else if (hdr->method != IB_METHOD_GET_RESP)
		report(reset, answer->id, "the answer is to another question");
	else if (status && !(attribute->optional && status == IB_MAD_STATUS_BAD_METHOD_ATTR))
		report(reset, answer->id, refused);
	else if (attribute + 1 < attributes + G_N_ELEMENTS(attributes))
		send_reset(reset, answer->id + 1);
}

void sweep_reset_counters(const struct sweep_line *line, struct net *net, gdouble seconds)
{
	const gint64 until = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
	g_autoptr(GPtrArray) ports = counted_ports(net);
	struct reset reset = { .line = line, .net = net, .ports = ports };
	struct sweep_answer answer;
	guint next = 0;

	while (next < ports->len || reset.under_way) {
		if (next < ports->len && reset.under_way < SWEEP_WINDOW) {
			send_reset(&reset, next++ * G_N_ELEMENTS(attributes));
		} else if (line->next(line->context, &answer, until)) {
			take(&reset, &answer);
		} else {
			net_problem(net, "after %g seconds the counters of %u ports are not reset",
				    seconds, ports->len - next + reset.under_way);
			return;
		}
	}
}
