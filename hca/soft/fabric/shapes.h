/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Topologies of well-known shapes. All cables are 4X EDR, all ports 0 of switches are enhanced, no
 * port has a LID. Switches come before HCAs. Node i has the GUID base + 256 * i, and port p of an
 * HCA that GUID plus p.
 *
 * Each function makes *t anew. AL_INVALID_PARAMETER: the shape does not exist, or base is 0 or too
 * large; *t is then empty. AL_INSUFFICIENT_MEMORY, AL_LIMIT_EXCEEDED: likewise.
 */
#ifndef SOFT_SHAPES_H
#define SOFT_SHAPES_H

#include "topo/topology.h"

/* Two HCAs of one port each, and a cable between them. */
al_status shape_back_to_back(struct topology *t, uint64_t base);
/* A switch with 1 to 254 HCAs of one port each. */
al_status shape_star(struct topology *t, uint32_t hcas, uint64_t base);

/* A fat tree. Leaf switches have HCAs at their first ports. */
struct fat_tree {
	uint32_t levels; /* 2: leaves and spines; 3: pods of leaves and spines, joined by cores */
	uint32_t radix;  /* ports of each switch, even, from 2 to 254 */
	uint32_t hcas;   /* HCAs of one port each, at least 1, at most what the tree has room for */
	uint32_t down;   /* HCAs at a leaf; 0: radix / 2 */
	uint32_t up;     /* cables from a leaf to spines; 0: radix / 2 */
};

/*
 * Makes a fat tree with as few switches as the cables need. Two levels have room for radix leaves;
 * three levels for radix pods of radix / 2 leaves each.
 */
al_status shape_fat_tree(struct topology *t, const struct fat_tree *tree, uint64_t base);
/* At least 2 switches in a ring, each with `hcas` HCAs of one port. Ports 1 and 2 of a switch are
 * the ring's. */
al_status shape_ring(struct topology *t, uint32_t switches, uint32_t hcas, uint64_t base);
/* A torus of x by y switches, each at least 2, with `hcas` HCAs of one port at each switch. Ports 1
 * to 4 are the torus's. */
al_status shape_torus(struct topology *t, uint32_t x, uint32_t y, uint32_t hcas, uint64_t base);

#endif
