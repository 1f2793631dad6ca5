/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sets the error counters of a subnet's ports to zero by performance management (sweep.h). */
#include <string.h>

#include "al/tools/sweep.h"

/* Bits of CounterSelect, IBTA 16.1.3.5: the error counters, which come before those of data. */
#define SELECT_ERRORS 0x0fff

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

static al_status send_reset(const struct sweep_line *line, struct net_port *port, guint64 id)
{
	struct ib_perf_mad perf = {
		.hdr = { .base_version = IB_MAD_BASE_VERSION,
			 .mgmt_class = IB_CLASS_PERF,
			 .class_version = IB_PERF_CLASS_VERSION,
			 .method = IB_METHOD_SET,
			 .tid = ib_be64_of(id & G_MAXUINT32),
			 .attr_id = ib_be16_of(IB_PERF_PORT_COUNTERS) },
	};
	const struct ib_perf_port_counters zero = { .port_select = port->number,
						    .counter_select = ib_be16_of(SELECT_ERRORS) };
	struct ib_mad mad;

	memcpy(perf.data, &zero, sizeof(zero));
	memcpy(&mad, &perf, sizeof(mad));
	return line->send(line->context, &mad, net_lid_port(port)->lid, id);
}

static void report(struct net *net, const struct net_port *port, const char *why)
{
	g_autofree char *where = net_port_text(port);

	net_problem(net, "%s: its counters are not reset: %s", where, why);
}

static void take(struct net *net, const struct net_port *port, const struct sweep_answer *answer)
{
	const struct ib_mad_hdr *hdr = &answer->mad.hdr;
	guint status = ib_be16_get(hdr->status);
	g_autofree char *refused = g_strdup_printf("refused with status 0x%04x", status);

	if (answer->status == AL_TIMEOUT)
		report(net, port, "no answer");
	else if (answer->status)
		report(net, port, al_status_str(answer->status));
	else if (hdr->method != IB_METHOD_GET_RESP)
		report(net, port, "the answer is to another question");
	else if (status)
		report(net, port, refused);
}

void sweep_reset_counters(const struct sweep_line *line, struct net *net, gdouble seconds)
{
	const gint64 until = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
	g_autoptr(GPtrArray) ports = counted_ports(net);
	struct sweep_answer answer;
	guint next = 0, under_way = 0;
	al_status st;

	while (next < ports->len || under_way) {
		if (next < ports->len && under_way < SWEEP_WINDOW) {
			st = send_reset(line, g_ptr_array_index(ports, next), next);
			if (st)
				report(net, g_ptr_array_index(ports, next), al_status_str(st));
			else
				under_way++;
			next++;
		} else if (line->next(line->context, &answer, until)) {
			take(net, g_ptr_array_index(ports, (guint)answer.id), &answer);
			under_way--;
		} else {
			net_problem(net, "after %g seconds the counters of %u ports are not reset",
				    seconds, ports->len - next + under_way);
			return;
		}
	}
}
