/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The topology that the software HCA simulates, from a file. shapes.h makes topologies without a
 * text; routes.h gives LIDs and forwarding tables.
 */
#ifndef SOFT_TOPOLOGY_H
#define SOFT_TOPOLOGY_H

#include "topo/topology.h"

/* Reads a file as topology_parse() reads its text, to simulate. AL_IO_ERROR: the file cannot be
 * read, and *error says why. */
al_status topology_read(struct topology *t, const char *path, struct topology_error *error);

#endif
