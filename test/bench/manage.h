/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet manager of the benchmark (manage.c): it sets the nodes of a managed subnet of this
 * process up by al_local_mad(), each node on its own.
 */
#ifndef BENCH_MANAGE_H
#define BENCH_MANAGE_H

#include <stdint.h>

#include <iba/ib_al.h>

/* Gives port 1 of an HCA, or port 0 of a switch, its LID. */
void manage_lid(al_ca_h node, uint8_t port, uint16_t lid);
/* Sets the first entries of a switch's forwarding table: ports by LID. num: at most 64. */
void manage_table(al_ca_h sw, const uint8_t *ports, uint32_t num);
/* Takes a port from Init to Armed, or from Armed to Active. */
void manage_step(al_ca_h node, uint8_t port, ib_port_state state);

#endif
