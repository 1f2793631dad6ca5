/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A topology as text, in the words and columns of ibnetdiscover: others' readers of that text count
 * on them. */

#include "topo/text.h"

void topology_name_text(ib_node_type type, uint64_t guid, char text[TOPOLOGY_NAME_BYTES])
{
	snprintf(text, TOPOLOGY_NAME_BYTES, "%c-%016llx", node_words[type].letter,
		 (unsigned long long)guid);
}

void topology_rate_text(uint32_t width, uint32_t speed, char text[TOPOLOGY_RATE_BYTES])
{
	const char *name = speed_name(speed);
	char lanes[12] = "??";

	if (ib_width_lanes(width))
		snprintf(lanes, sizeof(lanes), "%ux", ib_width_lanes(width));
	snprintf(text, TOPOLOGY_RATE_BYTES, "%s%s", lanes, name ? name : "???");
}

static void write_name(const struct topology_node *node, FILE *to)
{
	char name[TOPOLOGY_NAME_BYTES];

	topology_name_text((ib_node_type)node->type, node->guid, name);
	fprintf(to, "\"%s\"", name);
}

/* Writes "(GUID)", or nothing if the GUID is not known. */
static void write_guid(uint64_t guid, FILE *to)
{
	if (guid)
		fprintf(to, "(%llx)", (unsigned long long)guid);
}

static void write_node(const struct topology *t, const struct topology_node *node, FILE *to)
{
	const struct topology_port *port = &t->ports[node->first_port];
	bool is_switch = node->type == IB_NODE_SWITCH;

	fprintf(to, "\nvendid=0x%x\ndevid=0x%x\n", node->vendor, node->device);
	if (node->system_guid)
		fprintf(to, "sysimgguid=%#llx\n", (unsigned long long)node->system_guid);
	fprintf(to, "%s=%#llx", node_words[node->type].guid, (unsigned long long)node->guid);
	if (is_switch)
		write_guid(port->guid, to);
	fprintf(to, "\n%s\t%u ", node_words[node->type].node, node->num_ports);
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
	bool is_end = t->nodes[port->node].type != IB_NODE_SWITCH;
	char rate[TOPOLOGY_RATE_BYTES];

	fprintf(to, "[%u]", port->number);
	if (is_end) {
		write_guid(port->guid, to);
		fputc(' ', to);
	}
	fputc('\t', to);
	write_name(far, to);
	fprintf(to, "[%u]", peer->number);
	if (far->type != IB_NODE_SWITCH) {
		/* ibnetdiscover has this blank between two HCAs, and not in a switch's line. */
		fputs(is_end ? " " : "", to);
		write_guid(peer->guid, to);
		fputc(' ', to);
	}
	fputs("\t\t# ", to);
	if (is_end)
		fprintf(to, "lid %u lmc %u ", port->lid, port->lmc);
	topology_rate_text(port->width, port->speed, rate);
	fprintf(to, "\"%s\" lid %u %s\n", far->description,
		t->ports[topology_end_port(t, port->peer)].lid, rate);
}

al_status topology_write(const struct topology *t, FILE *to)
{
	const struct topology_node *node;
	uint32_t i;

	for (node = t->nodes; node < t->nodes + t->num_nodes; node++) {
		write_node(t, node, to);
		for (i = 0; i < topology_port_count(node); i++)
			if (t->ports[node->first_port + i].peer != TOPOLOGY_NONE)
				write_port(t, &t->ports[node->first_port + i], to);
	}
	return fflush(to) || ferror(to) ? AL_IO_ERROR : AL_SUCCESS;
}
