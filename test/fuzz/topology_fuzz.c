/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The text of a topology. A refused text leaves nothing. An accepted text gives a topology whose
 * indices are valid, and whose text is read as the same topology; if the topology is to be
 * simulated, it has routes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hca/soft/fabric/routes.h"
#include "test/unit/topo/same.h"

static void must(bool good)
{
	if (!good)
		abort();
}

static void check_indices(const struct topology *t, bool simulated)
{
	const struct topology_port *p;
	uint32_t i, index = 0;

	for (i = 0; i < t->num_nodes; i++) {
		must(t->nodes[i].first_port == index && t->nodes[i].num_ports && t->nodes[i].guid);
		index += topology_port_count(&t->nodes[i]);
	}
	must(index == t->num_ports);
	for (i = 0; i < t->num_ports; i++) {
		p = &t->ports[i];
		must(p->node < t->num_nodes &&
		     topology_port_index(&t->nodes[p->node], p->number) == i);
		must(!simulated || !topology_is_end_port(t, i) || p->guid);
		must(p->peer == TOPOLOGY_NONE ||
		     (p->peer < t->num_ports && p->peer != i && t->ports[p->peer].peer == i));
		must(p->peer == TOPOLOGY_NONE || !simulated ||
		     (t->ports[p->peer].width == p->width && t->ports[p->peer].speed == p->speed));
	}
}

/* Each switch forwards to a port that has a cable, or to itself, or drops. */
static void check_routes(const struct topology *t)
{
	uint32_t lid, i, out;
	struct routes r;

	if (routes_make(&r, t))
		return;
	for (i = 0; i < t->num_nodes; i++)
		for (lid = 0; t->nodes[i].type == IB_NODE_SWITCH && lid <= r.top_lid; lid++) {
			out = routes_lookup(&r, i, lid);
			must(out == ROUTES_UNREACHABLE || out <= t->nodes[i].num_ports);
			must(out == ROUTES_UNREACHABLE || !out ||
			     t->ports[t->nodes[i].first_port + out].peer != TOPOLOGY_NONE);
		}
	routes_free(&r);
}

static void fuzz(enum topology_use use, const char *text, size_t size)
{
	const bool simulated = use == TOPOLOGY_TO_SIMULATE;
	struct topology_error error;
	struct topology t;

	if (topology_parse(&t, use, "fuzz", text, size, &error)) {
		must(!t.nodes && !t.ports && !t.num_nodes && !t.num_ports && *error.text);
	} else {
		check_indices(&t, simulated);
		must(is_read_as_same(&t, use));
		if (simulated && t.num_ports < 4096)
			check_routes(&t);
	}
	topology_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(
		size + 1); /* exactly the text's size, so that a sanitizer sees a read beyond */

	if (!text)
		return 0;
	memcpy(text + 1, data, size);
	fuzz(TOPOLOGY_TO_SIMULATE, text + 1, size);
	fuzz(TOPOLOGY_TO_SHOW, text + 1, size);
	free(text);
	return 0;
}
