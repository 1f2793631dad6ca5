/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Compares topologies, for unit tests and the fuzz target. */
#ifndef TEST_TOPO_SAME_H
#define TEST_TOPO_SAME_H

#include <stdlib.h>
#include <string.h>

#include "topo/topology.h"

static inline bool same_node(const struct topology_node *a, const struct topology_node *b)
{
	return a->guid == b->guid && a->system_guid == b->system_guid && a->vendor == b->vendor &&
	       a->device == b->device && a->first_port == b->first_port && a->type == b->type &&
	       a->num_ports == b->num_ports && a->enhanced == b->enhanced &&
	       !strcmp(a->description, b->description);
}

static inline bool same_port(const struct topology_port *a, const struct topology_port *b)
{
	return a->guid == b->guid && a->node == b->node && a->peer == b->peer && a->lid == b->lid &&
	       a->lmc == b->lmc && a->number == b->number && a->width == b->width &&
	       a->speed == b->speed;
}

static inline bool same_topology(const struct topology *a, const struct topology *b)
{
	uint32_t i;

	if (a->num_nodes != b->num_nodes || a->num_ports != b->num_ports)
		return false;
	for (i = 0; i < a->num_nodes; i++)
		if (!same_node(&a->nodes[i], &b->nodes[i]))
			return false;
	for (i = 0; i < a->num_ports; i++)
		if (!same_port(&a->ports[i], &b->ports[i]))
			return false;
	return true;
}

/* Returns the text of a topology, to be freed, or NULL. */
static inline char *text_of(const struct topology *t, size_t *length)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, length);
	al_status status = to ? topology_write(t, to) : AL_INSUFFICIENT_MEMORY;

	if (to)
		fclose(to);
	if (!status)
		return text;
	free(text);
	return NULL;
}

/* True: the text of a topology is read as an equal topology. */
static inline bool is_read_as_same(const struct topology *t, enum topology_use use)
{
	struct topology_error error;
	struct topology again;
	size_t length;
	char *text = text_of(t, &length);
	bool same = text && !topology_parse(&again, use, "again", text, length, &error) &&
		    same_topology(t, &again);

	if (text)
		topology_free(&again);
	free(text);
	return same;
}

#endif
