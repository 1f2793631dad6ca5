/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The arrays of a topology: nodes are added, ports are joined. */

#include "topo/topology.h"

#include <stdlib.h>
#include <string.h>

/* Returns an array with room for `need` elements, or NULL. The room at least doubles, so that
 * adding stays linear. */
static void *with_room(void *array, uint32_t *room, uint32_t need, size_t size)
{
	uint32_t more = need > 2 * *room ? need : 2 * *room;
	void *moved;

	if (need <= *room)
		return array;
	moved = realloc(array, more * size);
	if (moved)
		*room = more;
	return moved;
}

static bool make_room(struct topology *t, uint32_t ports)
{
	struct topology_node *nodes =
		with_room(t->nodes, &t->node_room, t->num_nodes + 1, sizeof(*nodes));
	struct topology_port *all;

	if (!nodes)
		return false;
	t->nodes = nodes;
	all = with_room(t->ports, &t->port_room, t->num_ports + ports, sizeof(*all));
	if (!all)
		return false;
	t->ports = all;
	return true;
}

uint32_t topology_add_node(struct topology *t, ib_node_type type, uint32_t num_ports)
{
	struct topology_node node = {
		.type = (uint8_t)type,
		.num_ports = (uint8_t)num_ports,
		.first_port = t->num_ports,
	};
	uint32_t i, ports = topology_port_count(&node);

	if (!num_ports || num_ports > TOPOLOGY_MAX_NODE_PORTS ||
	    t->num_nodes == TOPOLOGY_MAX_NODES || ports > TOPOLOGY_MAX_PORTS - t->num_ports ||
	    !make_room(t, ports))
		return TOPOLOGY_NONE;
	t->nodes[t->num_nodes] = node;
	for (i = 0; i < ports; i++)
		t->ports[t->num_ports++] = (struct topology_port){
			.node = t->num_nodes,
			.peer = TOPOLOGY_NONE,
			.number = (uint8_t)(i + (type == IB_NODE_SWITCH ? 0 : 1)),
		};
	return t->num_nodes++;
}

void topology_connect(struct topology *t, uint32_t a, uint32_t b)
{
	t->ports[a].peer = b;
	t->ports[b].peer = a;
}

void topology_describe(char description[TOPOLOGY_MAX_DESCRIPTION + 1], const char *from,
		       size_t length)
{
	if (length > TOPOLOGY_MAX_DESCRIPTION)
		for (length = TOPOLOGY_MAX_DESCRIPTION; length && (from[length] & 0xc0) == 0x80;)
			length--;
	memcpy(description, from, length);
	description[length] = 0;
}

void topology_free(struct topology *t)
{
	free(t->nodes);
	free(t->ports);
	memset(t, 0, sizeof(*t));
}
