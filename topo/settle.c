/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A topology's lines against each other: names become indices, both ends of a cable must agree,
 * GUIDs are unique. Sorting and binary search keep the time at n log n for every text.
 */

#include "topo/text.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- names */

struct named {
	struct node_name name;
	uint32_t node;
};

static int compare_spans(struct span a, struct span b)
{
	uint32_t common = a.length < b.length ? a.length : b.length;
	int order = common ? memcmp(a.at, b.at, common) : 0;

	return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_names(const struct node_name *a, const struct node_name *b)
{
	int order = compare_spans(a->module, b->module);

	return order ? order : compare_spans(a->name, b->name);
}

/* For qsort(): by name, nodes of one name by index. */
static int compare_named(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = compare_names(&a->name, &b->name);

	return order ? order : (a->node > b->node) - (a->node < b->node);
}

/* Makes a sorted array of all nodes. Two nodes have one name: refused. */
static al_status sort_names(const struct topology_text *text, struct named **sorted)
{
	uint32_t i, n = text->t->num_nodes;
	struct named *all = calloc(n, sizeof(*all));

	if (!all)
		return AL_INSUFFICIENT_MEMORY;
	*sorted = all;
	for (i = 0; i < n; i++)
		all[i] = (struct named){ text->nodes[i].name, i };
	qsort(all, n, sizeof(*all), compare_named);
	for (i = 1; i < n; i++)
		if (!compare_names(&all[i - 1].name, &all[i].name))
			return REFUSE_LINE(
				text, text->nodes[all[i].node].line,
				"node " NAME_FORMAT
				" is in line %u already: remove or rename one of the two",
				NAME(all[i].name), text->nodes[all[i - 1].node].line);
	return AL_SUCCESS;
}

/* Returns a node's index by name, or TOPOLOGY_NONE. */
static uint32_t find_node(const struct named *sorted, uint32_t n, const struct node_name *name)
{
	uint32_t low = 0, high = n, middle;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		order = compare_names(&sorted[middle].name, name);
		if (!order)
			return sorted[middle].node;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return TOPOLOGY_NONE;
}

/* ------------------------------------------------------------------ cables */

/* Writes "port 3 of "NAME"" for messages. */
static const char *port_words(const struct topology_text *text, uint32_t port, char words[192])
{
	const struct topology_port *p = &text->t->ports[port];

	snprintf(words, 192, "port %u of " NAME_FORMAT, p->number, NAME(text->nodes[p->node].name));
	return words;
}

/* Sets the peer of a port that the text has a line of. */
static al_status find_peer(const struct topology_text *text, const struct named *sorted,
			   uint32_t port)
{
	const struct port_text *said = &text->ports[port];
	const struct topology *t = text->t;
	const struct topology_node *node;
	uint32_t index = find_node(sorted, t->num_nodes, &said->peer);

	if (index == TOPOLOGY_NONE)
		return REFUSE_LINE(text, said->line,
				   "there is no node " NAME_FORMAT
				   ": add that node's record, or remove this line",
				   NAME(said->peer));
	node = &t->nodes[index];
	if (said->peer_number > node->num_ports)
		return REFUSE_LINE(text, said->line,
				   "port %u of " NAME_FORMAT
				   ", which has ports 1 to %u: correct one of the two",
				   said->peer_number, NAME(said->peer), node->num_ports);
	t->ports[port].peer = topology_port_index(node, said->peer_number);
	if (t->ports[port].peer == port)
		return REFUSE_LINE(
			text, said->line,
			"a cable from the port to itself: name another port, or remove this line");
	return AL_SUCCESS;
}

/* Gives the peer what the port's line says of the peer. */
static al_status tell_peer(const struct topology_text *text, uint32_t port)
{
	const struct port_text *said = &text->ports[port];
	struct topology_port *peer = &text->t->ports[text->t->ports[port].peer];
	struct topology_port *end =
		&text->t->ports[topology_end_port(text->t, text->t->ports[port].peer)];
	char words[192];

	if (said->peer_guid && text->t->nodes[peer->node].type != IB_NODE_SWITCH) {
		if (peer->guid && peer->guid != said->peer_guid)
			return REFUSE_LINE(
				text, said->line,
				"%s has the GUID %#llx here, and %#llx elsewhere: correct one of them",
				port_words(text, text->t->ports[port].peer, words),
				(unsigned long long)said->peer_guid,
				(unsigned long long)peer->guid);
		peer->guid = said->peer_guid;
	}
	if (said->peer_lid) {
		if (end->lid && end->lid != said->peer_lid)
			return REFUSE_LINE(
				text, said->line,
				"%s has LID %u here, and %u elsewhere: correct one of them",
				port_words(text, (uint32_t)(end - text->t->ports), words),
				said->peer_lid, end->lid);
		end->lid = said->peer_lid;
	}
	return AL_SUCCESS;
}

/* Refuses a port's cable, since the other end has another one. */
static al_status refuse_cable(const struct topology_text *text, uint32_t port, uint32_t peer)
{
	uint32_t other = text->t->ports[peer].peer;
	char a[192], b[192];

	return REFUSE_LINE(text, text->ports[port].line,
			   "a cable to %s, which line %u joins to %s: correct one of the two lines",
			   port_words(text, peer, a),
			   text->ports[peer].line ? text->ports[peer].line
						  : text->ports[other].line,
			   port_words(text, other, b));
}

/* The lesser of two values, of which 0 is not known. */
static uint8_t lesser(uint32_t a, uint32_t b, bool a_is_less)
{
	return (uint8_t)(!b || (a && a_is_less) ? a : b);
}

/* Gives the other end of a cable what a port's line says of the cable. */
static void tell_rate(const struct topology_text *text, struct topology_port *p,
		      struct topology_port *q)
{
	if (text->use == TOPOLOGY_TO_SIMULATE) {
		p->width = q->width = lesser(p->width, q->width,
					     ib_width_lanes(p->width) < ib_width_lanes(q->width));
		p->speed = q->speed = lesser(p->speed, q->speed, p->speed < q->speed);
	} else if (!text->ports[p->peer].line) {
		q->width = p->width;
		q->speed = p->speed;
	}
}

/* Joins both ends of a port's cable. */
static al_status join(const struct topology_text *text, uint32_t port)
{
	struct topology_port *p = &text->t->ports[port], *q = &text->t->ports[p->peer];

	if (q->peer == TOPOLOGY_NONE)
		q->peer = port;
	if (q->peer != port)
		return refuse_cable(text, port, p->peer);
	tell_rate(text, p, q);
	return tell_peer(text, port);
}

static al_status settle_cables(const struct topology_text *text, const struct named *sorted)
{
	al_status status = AL_SUCCESS;
	uint32_t i;

	for (i = 0; i < text->t->num_ports && !status; i++)
		if (text->ports[i].line)
			status = find_peer(text, sorted, i);
	for (i = 0; i < text->t->num_ports && !status; i++)
		if (text->ports[i].line)
			status = join(text, i);
	return status;
}

/* ------------------------------------------------------------------- GUIDs */

struct guid {
	uint64_t guid;
	uint32_t index; /* of the node or port */
};

static int compare_guids(const void *left, const void *right)
{
	const struct guid *a = left, *b = right;

	if (a->guid != b->guid)
		return a->guid > b->guid ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

/* Sorts, and returns the second of two elements with one GUID, or NULL. */
static const struct guid *find_twice(struct guid *all, uint32_t n)
{
	uint32_t i;

	qsort(all, n, sizeof(*all), compare_guids);
	for (i = 1; i < n; i++)
		if (all[i - 1].guid == all[i].guid)
			return &all[i];
	return NULL;
}

static al_status check_node_guids(const struct topology_text *text, struct guid *all)
{
	const struct guid *twice;
	uint32_t i;

	for (i = 0; i < text->t->num_nodes; i++)
		all[i] = (struct guid){ text->t->nodes[i].guid, i };
	twice = find_twice(all, i);
	if (!twice)
		return AL_SUCCESS;
	return REFUSE_LINE(text, text->nodes[twice->index].line,
			   "node " NAME_FORMAT " has the GUID %#llx of node " NAME_FORMAT
			   " in line %u: change one of them",
			   NAME(text->nodes[twice->index].name), (unsigned long long)twice->guid,
			   NAME(text->nodes[twice[-1].index].name),
			   text->nodes[twice[-1].index].line);
}

static al_status check_port_guids(const struct topology_text *text, struct guid *all)
{
	const struct topology *t = text->t;
	const struct guid *twice;
	uint32_t i, n = 0, line;
	char a[192], b[192];

	for (i = 0; i < t->num_ports; i++)
		if (topology_is_end_port(t, i))
			all[n++] = (struct guid){ t->ports[i].guid, i };
	twice = find_twice(all, n);
	if (!twice)
		return AL_SUCCESS;
	line = text->ports[twice->index].line;
	return REFUSE_LINE(
		text, line ? line : text->nodes[t->ports[twice->index].node].line,
		"%s has the GUID %#llx of %s: write another one behind the port's number, in "
		"parentheses",
		port_words(text, twice->index, a), (unsigned long long)twice->guid,
		port_words(text, twice[-1].index, b));
}

/* Gives the ports of HCAs that have none a GUID. */
static void give_port_guids(const struct topology *t)
{
	struct topology_port *p;

	for (p = t->ports; p < t->ports + t->num_ports; p++)
		if (t->nodes[p->node].type == IB_NODE_CA && !p->guid)
			p->guid = t->nodes[p->node].guid + p->number;
}

/* Refuses GUIDs that are there twice. */
static al_status settle_guids(const struct topology_text *text)
{
	struct guid *all = calloc(text->t->num_ports, sizeof(*all));
	al_status status;

	if (!all)
		return AL_INSUFFICIENT_MEMORY;
	status = check_node_guids(text, all);
	if (!status && text->use == TOPOLOGY_TO_SIMULATE) {
		give_port_guids(text->t);
		status = check_port_guids(text, all);
	}
	free(all);
	return status;
}

al_status text_settle(struct topology_text *text)
{
	struct named *sorted = NULL;
	al_status status = sort_names(text, &sorted);

	if (!status)
		status = settle_cables(text, sorted);
	free(sorted);
	return status ? status : settle_guids(text);
}
