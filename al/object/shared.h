/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory that this process shares with agents, in memfds that an agent can map. The memory is the process's, not an HCA's:
 * it is there until it is freed, whatever becomes of the agent.
 */
#ifndef AL_OBJECT_SHARED_H
#define AL_OBJECT_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_types.h>

/* Zeroed, in whole pages. NULL: no memory, or no descriptor. */
void *shared_alloc(uint64_t length);
/* False: addr is not from shared_alloc(). */
bool shared_free(void *addr);
/*
 * A duplicate of the descriptor of the shared memory that a range lies in, and the range's offset there; *fd is -1: the range
 * lies in none. AL_INSUFFICIENT_RESOURCES: this process may have no further descriptor.
 */
al_status shared_find(const void *addr, uint64_t length, int *fd, uint64_t *offset);
/* In a forked child. */
void shared_child(void);

#endif
