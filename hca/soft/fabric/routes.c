/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Gives LIDs, and fills forwarding tables: a breadth-first search from each switch, over switches
 * only. The time is the number of switches by the number of their cables, and the number of LIDs by
 * that of switches.
 */

#include "hca/soft/fabric/routes.h"

#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- LIDs */

struct lids {
	struct routes *r;
	const struct topology *t;
	uint32_t next[8]; /* by LMC: no free LIDs of that LMC are below this one */
};

static bool are_free(const struct lids *l, uint32_t lid, uint32_t lmc)
{
	uint32_t i, count = 1u << lmc;

	if (lid < IB_LID_UNICAST_FIRST || lid + count - 1 > IB_LID_UNICAST_LAST || lid % count)
		return false;
	for (i = 0; i < count; i++)
		if (l->r->port_of[lid + i] != TOPOLOGY_NONE)
			return false;
	return true;
}

static void take_lids(struct lids *l, uint32_t port, uint32_t lid, uint32_t lmc)
{
	uint32_t i;

	l->r->lid[port] = (uint16_t)lid;
	l->r->lmc[port] = (uint8_t)lmc;
	for (i = 0; i < 1u << lmc; i++)
		l->r->port_of[lid + i] = port;
	if (lid + i - 1 > l->r->top_lid)
		l->r->top_lid = lid + i - 1;
}

static bool needs_lid(const struct topology *t, uint32_t port)
{
	return topology_is_end_port(t, port) &&
	       (!t->ports[port].number || t->ports[port].peer != TOPOLOGY_NONE);
}

static uint32_t lmc_of(const struct topology *t, uint32_t port)
{
	const struct topology_node *node = &t->nodes[t->ports[port].node];

	return node->type == IB_NODE_SWITCH && !node->enhanced ? 0 : t->ports[port].lmc;
}

/* Gives a port the lowest free LIDs. */
static al_status give_lids(struct lids *l, uint32_t port)
{
	uint32_t lmc = lmc_of(l->t, port), *next = &l->next[lmc];

	while (*next <= IB_LID_UNICAST_LAST && !are_free(l, *next, lmc))
		*next += 1u << lmc;
	if (*next > IB_LID_UNICAST_LAST)
		return AL_LIMIT_EXCEEDED;
	take_lids(l, port, *next, lmc);
	return AL_SUCCESS;
}

/* The LIDs of the text come first, so that a port without a LID never takes one of them. */
static al_status make_lids(struct routes *r, const struct topology *t)
{
	struct lids l = { .r = r, .t = t };
	al_status status = AL_SUCCESS;
	uint32_t i;

	for (i = 0; i < 8; i++)
		l.next[i] = 1u << i;
	memset(r->port_of, 0xff, (IB_LID_UNICAST_LAST + 1) * sizeof(*r->port_of));
	for (i = 0; i < t->num_ports; i++)
		if (needs_lid(t, i) && are_free(&l, t->ports[i].lid, lmc_of(t, i)))
			take_lids(&l, i, t->ports[i].lid, lmc_of(t, i));
	for (i = 0; i < t->num_ports && !status; i++)
		if (needs_lid(t, i) && !r->lid[i])
			status = give_lids(&l, i);
	return status;
}

/* -------------------------------------------------------------- the search */

/* A cable from one switch to another, seen from the first. */
struct edge {
	uint32_t to;   /* row of the other switch */
	uint32_t load; /* LIDs of HCAs that the first switch forwards here */
	uint8_t port;  /* of the first switch */
};

struct search {
	struct routes *r;
	const struct topology *t;
	uint32_t *node;  /* by row: the switch's index in nodes[] */
	uint32_t *first; /* by row: index of the switch's first edge; one more at the end */
	struct edge *edges;
	uint32_t *distance; /* by row: hops to the destination, or TOPOLOGY_NONE */
	uint32_t *queue;    /* rows in the order of distance, the destination first */
};

static al_status search_make(struct search *s, struct routes *r, const struct topology *t)
{
	uint32_t n = r->num_switches;

	*s = (struct search){ .r = r, .t = t };
	s->node = calloc(n + 1, sizeof(*s->node));
	s->first = calloc(n + 1, sizeof(*s->first));
	s->edges = calloc(t->num_ports + 1, sizeof(*s->edges));
	s->distance = calloc(n + 1, sizeof(*s->distance));
	s->queue = calloc(n + 1, sizeof(*s->queue));
	return s->node && s->first && s->edges && s->distance && s->queue ? AL_SUCCESS
									  : AL_INSUFFICIENT_MEMORY;
}

static void search_free(struct search *s)
{
	free(s->node);
	free(s->first);
	free(s->edges);
	free(s->distance);
	free(s->queue);
}

/* Returns the row of the switch at the other end of a port's cable, or TOPOLOGY_NONE. */
static uint32_t far_row(const struct search *s, const struct topology_port *p)
{
	return p->peer == TOPOLOGY_NONE ? TOPOLOGY_NONE : s->r->row[s->t->ports[p->peer].node];
}

/* Lists the switches and their cables to other switches. */
static void list_edges(struct search *s)
{
	const struct topology_node *node;
	const struct topology_port *p;
	uint32_t i, row = 0, n = 0, to;

	for (i = 0; i < s->t->num_nodes; i++) {
		node = &s->t->nodes[i];
		if (node->type != IB_NODE_SWITCH)
			continue;
		s->node[row] = i;
		s->first[row++] = n;
		for (p = &s->t->ports[node->first_port];
		     p < &s->t->ports[node->first_port + topology_port_count(node)]; p++) {
			to = far_row(s, p);
			if (to != TOPOLOGY_NONE)
				s->edges[n++] = (struct edge){ .to = to, .port = p->number };
		}
	}
	s->first[row] = n;
}

/*
 * Measures the distance of each switch to the destination, and lists the switches that reach the
 * destination. Returns their number. A cable counts in both directions or not at all, so the search
 * may go along cables backwards.
 */
static uint32_t measure(struct search *s, uint32_t destination)
{
	uint32_t head = 0, tail = 0, row, e;

	memset(s->distance, 0xff, s->r->num_switches * sizeof(*s->distance));
	s->distance[destination] = 0;
	s->queue[tail++] = destination;
	while (head < tail) {
		row = s->queue[head++];
		for (e = s->first[row]; e < s->first[row + 1]; e++) {
			if (s->distance[s->edges[e].to] != TOPOLOGY_NONE)
				continue;
			s->distance[s->edges[e].to] = s->distance[row] + 1;
			s->queue[tail++] = s->edges[e].to;
		}
	}
	return tail;
}

/*
 * Returns the edge of a switch by which a packet comes one hop nearer to the destination, and which
 * has the least load. *choices becomes the number of edges that come nearer.
 */
static struct edge *choose_edge(const struct search *s, uint32_t row, uint32_t *choices)
{
	struct edge *e, *best = NULL;

	*choices = 0;
	for (e = s->edges + s->first[row]; e < s->edges + s->first[row + 1]; e++) {
		if (s->distance[e->to] >= s->distance[row])
			continue;
		++*choices;
		if (!best || e->load < best->load)
			best = e;
	}
	return best;
}

/*
 * Fills in the entries of an end port's LIDs: at the switch that the port belongs to or is joined
 * to, and at those others that have one way to that switch, or (`choice`) several ways.
 */
static void route(struct search *s, uint32_t reached, uint32_t end_port, uint32_t last_port,
		  bool choice)
{
	uint32_t lid, i, row, choices, count = 1u << s->r->lmc[end_port];
	uint32_t width = s->r->top_lid + 1;
	struct edge *e;

	for (lid = s->r->lid[end_port]; count--; lid++) {
		s->r->tables[(size_t)s->queue[0] * width + lid] = (uint8_t)last_port;
		for (i = 1; i < reached; i++) {
			row = s->queue[i];
			e = choose_edge(s, row, &choices);
			if ((choices > 1) != choice)
				continue;
			s->r->tables[(size_t)row * width + lid] = e->port;
			e->load += last_port != 0; /* switches get few packets */
		}
	}
}

/* Fills in the entries of all LIDs behind a switch: its own, and those of the HCAs that are joined
 * to the switch. */
static void route_switch(struct search *s, uint32_t destination, bool choice)
{
	const struct topology_node *node = &s->t->nodes[s->node[destination]];
	uint32_t i, peer, reached = measure(s, destination);

	route(s, reached, node->first_port, 0, choice);
	for (i = 1; i <= node->num_ports; i++) {
		peer = s->t->ports[node->first_port + i].peer;
		if (peer != TOPOLOGY_NONE && i != ROUTES_UNREACHABLE &&
		    s->t->nodes[s->t->ports[peer].node].type != IB_NODE_SWITCH)
			route(s, reached, peer, i, choice);
	}
}

/* Entries without a choice come first, so that the choices even the loads out. */
static void fill_tables(struct search *s)
{
	uint32_t i;

	list_edges(s);
	for (i = 0; i < s->r->num_switches; i++)
		route_switch(s, i, false);
	for (i = 0; i < s->r->num_switches; i++)
		route_switch(s, i, true);
}

static al_status make_tables(struct routes *r, const struct topology *t)
{
	uint64_t bytes = (uint64_t)r->num_switches * (r->top_lid + 1);
	struct search s;
	al_status status;

	if (bytes > ROUTES_MAX_TABLES)
		return AL_LIMIT_EXCEEDED;
	r->tables = malloc(bytes + 1);
	status = search_make(&s, r, t);
	if (!r->tables)
		status = AL_INSUFFICIENT_MEMORY;
	if (!status) {
		memset(r->tables, ROUTES_UNREACHABLE, bytes);
		fill_tables(&s);
	}
	search_free(&s);
	return status;
}

/* ------------------------------------------------------------------ routes */

static al_status make(struct routes *r, const struct topology *t)
{
	al_status status;
	uint32_t i;

	r->lid = calloc(t->num_ports + 1, sizeof(*r->lid));
	r->lmc = calloc(t->num_ports + 1, sizeof(*r->lmc));
	r->port_of = calloc(IB_LID_UNICAST_LAST + 1, sizeof(*r->port_of));
	r->row = calloc(t->num_nodes + 1, sizeof(*r->row));
	if (!r->lid || !r->lmc || !r->port_of || !r->row)
		return AL_INSUFFICIENT_MEMORY;
	for (i = 0; i < t->num_nodes; i++)
		r->row[i] = t->nodes[i].type == IB_NODE_SWITCH ? r->num_switches++ : TOPOLOGY_NONE;
	status = make_lids(r, t);
	return status ? status : make_tables(r, t);
}

al_status routes_make(struct routes *r, const struct topology *t)
{
	al_status status;

	memset(r, 0, sizeof(*r));
	status = make(r, t);
	if (status)
		routes_free(r);
	return status;
}

void routes_free(struct routes *r)
{
	free(r->lid);
	free(r->lmc);
	free(r->port_of);
	free(r->row);
	free(r->tables);
	memset(r, 0, sizeof(*r));
}
