/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Outputs: the ends of cables that have a rate (output.c). The packets that leave by such an end
 * wait on virtual lanes, the port's arbiter chooses between the lanes, and each packet occupies the
 * cable for the time that its bytes take. An end without an output sends each packet at once.
 */
#ifndef SOFT_OUTPUT_H
#define SOFT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_types.h>

struct fabric;
struct fabric_end;
struct pooled;
struct runner;

/*
 * Sets the rate of the packets that leave by an end, in bytes per second; 0: none. Packets that
 * wait leave at the new rate. AL_INSUFFICIENT_MEMORY.
 */
al_status output_set_rate(struct fabric_end *end, uint64_t rate);
/* Returns the rate; 0: none. */
uint64_t output_rate(const struct fabric_end *end);
/* Sends a packet out of an end that has an output. */
void output_send(struct runner *r, struct fabric_end *out, struct pooled *p);
/* Returns the count of copies of multicast packets that an end holds (pool_may_hold()). NULL: the
 * end has no output. */
uint32_t *output_copies(const struct fabric_end *out);
/* Drops the packets that wait. No node of the fabric runs any more. */
void outputs_stop(struct fabric *f);
void outputs_destroy(struct fabric *f);

#endif
