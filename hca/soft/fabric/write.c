/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A topology as text, in the words and columns of ibnetdiscover: others' readers of that text count
 * on them. */

#include "hca/soft/fabric/text.h"

static void write_name(const struct topology_node *node, FILE *to)
{
	fprintf(to, "\"%c-%016llx\"", node->type == IB_NODE_SWITCH ? 'S' : 'H',
		(unsigned long long)node->guid);
}

static void write_node(const struct topology *t, const struct topology_node *node, FILE *to)
{
	const struct topology_port *port = &t->ports[node->first_port];
	bool is_switch = node->type == IB_NODE_SWITCH;

	fprintf(to, "\nvendid=%#x\ndevid=%#x\n", node->vendor, node->device);
	if (node->system_guid)
		fprintf(to, "sysimgguid=%#llx\n", (unsigned long long)node->system_guid);
	fprintf(to, "%s=%#llx", is_switch ? "switchguid" : "caguid",
		(unsigned long long)node->guid);
	if (is_switch)
		fprintf(to, "(%llx)", (unsigned long long)port->guid);
	fprintf(to, "\n%s\t%u ", is_switch ? "Switch" : "Ca", node->num_ports);
	write_name(node, to);
	fprintf(to, "\t\t# \"%s\"", node->description);
	if (is_switch)
		fprintf(to, " %s port 0 lid %u lmc %u", node->enhanced ? "enhanced" : "base",
			port->lid, port->lmc);
	fputc('\n', to);
}

static void write_port(const struct topology *t, const struct topology_port *port, FILE *to)
{
	const struct topology_port *peer = &t->ports[port->peer];
	const struct topology_node *far = &t->nodes[peer->node];
	bool is_hca = t->nodes[port->node].type == IB_NODE_CA;

	fprintf(to, "[%u]", port->number);
	if (is_hca)
		fprintf(to, "(%llx) ", (unsigned long long)port->guid);
	fputc('\t', to);
	write_name(far, to);
	fprintf(to, "[%u]", peer->number);
	if (far->type == IB_NODE_CA)
		fprintf(to, "(%llx) ", (unsigned long long)peer->guid);
	fputs("\t\t# ", to);
	if (is_hca)
		fprintf(to, "lid %u lmc %u ", port->lid, port->lmc);
	fprintf(to, "\"%s\" lid %u ", far->description,
		t->ports[topology_end_port(t, port->peer)].lid);
	if (port->width)
		fprintf(to, "%ux", width_lanes(port->width));
	else
		fputs("??", to);
	/* ibnetdiscover prints question marks for an unknown width or speed. */
	fprintf(to, "%s\n", speed_name(port->speed) ? speed_name(port->speed) : "???");
}

al_status topology_write(const struct topology *t, FILE *to)
{
	const struct topology_node *node;
	uint32_t i;

	fputs("#\n# Topology file: written by the software HCA\n#\n", to);
	for (node = t->nodes; node < t->nodes + t->num_nodes; node++) {
		write_node(t, node, to);
		for (i = 0; i < topology_port_count(node); i++)
			if (t->ports[node->first_port + i].peer != TOPOLOGY_NONE)
				write_port(t, &t->ports[node->first_port + i], to);
	}
	return fflush(to) || ferror(to) ? AL_IO_ERROR : AL_SUCCESS;
}
