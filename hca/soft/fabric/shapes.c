/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Builds topologies of well-known shapes. */

#include "hca/soft/fabric/shapes.h"

#include <stdlib.h>
#include <string.h>

#define GUIDS_OF_NODE \
	256 /* a node has at most 254 ports, and the GUIDs of ports follow the node's */

/* Adds `count` switches or HCAs, numbered from 0 in their descriptions. */
static al_status add_nodes(struct topology *t, ib_node_type type, uint32_t count, uint32_t ports,
			   const char *name, uint64_t base)
{
	struct topology_node *node;
	uint32_t i, j, index;

	if (count > TOPOLOGY_MAX_NODES - t->num_nodes ||
	    (uint64_t)count * (ports + 1) > TOPOLOGY_MAX_PORTS - t->num_ports)
		return AL_LIMIT_EXCEEDED;
	for (i = 0; i < count; i++) {
		index = topology_add_node(t, type, ports);
		if (index == TOPOLOGY_NONE)
			return AL_INSUFFICIENT_MEMORY;
		node = &t->nodes[index];
		node->guid = node->system_guid = base + (uint64_t)index * GUIDS_OF_NODE;
		node->enhanced = type == IB_NODE_SWITCH;
		snprintf(node->description, sizeof(node->description), "%s %u", name, i);
		for (j = 0; j < topology_port_count(node); j++)
			if (topology_is_end_port(t, node->first_port + j))
				t->ports[node->first_port + j].guid =
					node->guid + t->ports[node->first_port + j].number;
	}
	return AL_SUCCESS;
}

/* Joins port a of one node and port b of another. */
static void join(struct topology *t, uint32_t node_a, uint32_t a, uint32_t node_b, uint32_t b)
{
	uint32_t port[2] = { topology_port_index(&t->nodes[node_a], a),
			     topology_port_index(&t->nodes[node_b], b) };
	int i;

	topology_connect(t, port[0], port[1]);
	for (i = 0; i < 2; i++) {
		t->ports[port[i]].width = IB_WIDTH_4X;
		t->ports[port[i]].speed = IB_SPEED_EDR;
	}
}

/* Adds HCAs, and joins them to switches: `each` of them to each switch from index 0 on, at ports
 * from `first` on. */
static al_status add_hcas(struct topology *t, uint32_t hcas, uint32_t each, uint32_t first,
			  uint64_t base)
{
	uint32_t i, hca = t->num_nodes;
	al_status status = add_nodes(t, IB_NODE_CA, hcas, 1, "HCA", base);

	for (i = 0; i < hcas && !status; i++)
		join(t, i / each, first + i % each, hca + i, 1);
	return status;
}

static bool is_base(uint64_t base)
{
	return base && base <= UINT64_MAX - (uint64_t)TOPOLOGY_MAX_NODES * GUIDS_OF_NODE;
}

/* Leaves nothing of a topology that could not be completed. */
static al_status finish(struct topology *t, al_status status)
{
	if (status)
		topology_free(t);
	return status;
}

al_status shape_back_to_back(struct topology *t, uint64_t base)
{
	al_status status;

	memset(t, 0, sizeof(*t));
	if (!is_base(base))
		return AL_INVALID_PARAMETER;
	status = add_nodes(t, IB_NODE_CA, 2, 1, "HCA", base);
	if (!status)
		join(t, 0, 1, 1, 1);
	return finish(t, status);
}

al_status shape_star(struct topology *t, uint32_t hcas, uint64_t base)
{
	al_status status;

	memset(t, 0, sizeof(*t));
	if (!is_base(base) || !hcas || hcas > TOPOLOGY_MAX_NODE_PORTS)
		return AL_INVALID_PARAMETER;
	status = add_nodes(t, IB_NODE_SWITCH, 1, hcas, "switch", base);
	if (!status)
		status = add_hcas(t, hcas, hcas, 1, base);
	return finish(t, status);
}

/* ---------------------------------------------------------------- fat trees */

static uint32_t divide_up(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* Switches of one level, and the ones above that their cables go to. */
struct level {
	uint32_t first, stride, count; /* the lower switches: first, first + stride, ... */
	uint32_t up_port,
		up; /* a lower switch's first port upwards, and the number of such ports */
	uint32_t upper, uppers; /* the first upper switch, and their number */
};

/* Deals the cables of the lower switches out to the upper switches in turn. */
static void join_up(struct topology *t, const struct level *l)
{
	uint32_t i, j, n = 0;

	for (i = 0; i < l->count; i++)
		for (j = 0; j < l->up; j++, n++)
			join(t, l->first + i * l->stride, l->up_port + j, l->upper + n % l->uppers,
			     1 + n / l->uppers);
}

static al_status two_levels(struct topology *t, const struct fat_tree *f, uint64_t base)
{
	uint32_t leaves = divide_up(f->hcas, f->down);
	uint32_t spines = divide_up(leaves * f->up, f->radix);
	struct level level = { 0, 1, leaves, f->down + 1, f->up, leaves, spines };
	al_status status;

	if (leaves > f->radix)
		return AL_INVALID_PARAMETER;
	status = add_nodes(t, IB_NODE_SWITCH, leaves, f->radix, "leaf", base);
	if (!status)
		status = add_nodes(t, IB_NODE_SWITCH, spines, f->radix, "spine", base);
	if (!status)
		join_up(t, &level);
	return status;
}

/*
 * Spine number j of a pod has one cable to each leaf of the pod, and radix / 2 cables to the cores
 * of group j. So each pod has as many spines as a leaf has cables upwards, and there are as many
 * groups of cores.
 */
static al_status three_levels(struct topology *t, const struct fat_tree *f, uint64_t base)
{
	uint32_t half = f->radix / 2, leaves = divide_up(f->hcas, f->down);
	uint32_t pods = divide_up(leaves, half), spines = pods * f->up;
	uint32_t group = divide_up(pods * half, f->radix); /* cores of one group */
	struct level level;
	al_status status;
	uint32_t i;

	if (pods > f->radix)
		return AL_INVALID_PARAMETER;
	status = add_nodes(t, IB_NODE_SWITCH, leaves, f->radix, "leaf", base);
	if (!status)
		status = add_nodes(t, IB_NODE_SWITCH, spines, f->radix, "spine", base);
	if (!status)
		status = add_nodes(t, IB_NODE_SWITCH, f->up * group, f->radix, "core", base);
	for (i = 0; i < pods && !status; i++) {
		level = (struct level){
			i * half,    1,     leaves - i * half < half ? leaves - i * half : half,
			f->down + 1, f->up, leaves + i * f->up,
			f->up
		};
		join_up(t, &level);
	}
	for (i = 0; i < f->up && !status; i++) {
		level = (struct level){ leaves + i, f->up, pods,
					half + 1,   half,  leaves + spines + i * group,
					group };
		join_up(t, &level);
	}
	return status;
}

al_status shape_fat_tree(struct topology *t, const struct fat_tree *tree, uint64_t base)
{
	struct fat_tree f = *tree;
	al_status status;

	memset(t, 0, sizeof(*t));
	f.down = f.down ? f.down : f.radix / 2;
	f.up = f.up ? f.up : f.radix / 2;
	if (!is_base(base) || f.radix < 2 || f.radix > 254 || f.radix % 2 || !f.hcas ||
	    f.hcas > TOPOLOGY_MAX_NODES || f.down >= f.radix || f.up > f.radix - f.down)
		return AL_INVALID_PARAMETER;
	if (f.levels != 2 && f.levels != 3)
		return AL_INVALID_PARAMETER;
	status = f.levels == 2 ? two_levels(t, &f, base) : three_levels(t, &f, base);
	if (!status)
		status = add_hcas(t, f.hcas, f.down, 1, base);
	return finish(t, status);
}

/* ----------------------------------------------------------- ring and torus */

al_status shape_ring(struct topology *t, uint32_t switches, uint32_t hcas, uint64_t base)
{
	al_status status;
	uint32_t i;

	memset(t, 0, sizeof(*t));
	if (!is_base(base) || switches < 2 || switches > TOPOLOGY_MAX_NODES ||
	    hcas > TOPOLOGY_MAX_NODE_PORTS - 2)
		return AL_INVALID_PARAMETER;
	status = add_nodes(t, IB_NODE_SWITCH, switches, 2 + hcas, "switch", base);
	for (i = 0; i < switches && !status; i++)
		join(t, i, 1, (i + 1) % switches, 2);
	if (!status && hcas)
		status = add_hcas(t, switches * hcas, hcas, 3, base);
	return finish(t, status);
}

al_status shape_torus(struct topology *t, uint32_t x, uint32_t y, uint32_t hcas, uint64_t base)
{
	al_status status;
	uint32_t i;

	memset(t, 0, sizeof(*t));
	if (!is_base(base) || x < 2 || y < 2 || x > TOPOLOGY_MAX_NODES / y ||
	    hcas > TOPOLOGY_MAX_NODE_PORTS - 4)
		return AL_INVALID_PARAMETER;
	status = add_nodes(t, IB_NODE_SWITCH, x * y, 4 + hcas, "switch", base);
	for (i = 0; i < x * y && !status; i++) {
		join(t, i, 1, i / x * x + (i + 1) % x, 2);
		join(t, i, 3, (i + x) % (x * y), 4);
	}
	if (!status && hcas)
		status = add_hcas(t, x * y * hcas, hcas, 5, base);
	return finish(t, status);
}
