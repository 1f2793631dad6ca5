/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory that this process shares with agents, in memfds that an agent can map. The memory belongs
 * to the process, not to an HCA: it exists until shared_free(), even when the agent is lost.
 * Mapping the memory is the agent's part.
 */
#ifndef AL_OBJECT_SHARED_H
#define AL_OBJECT_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_types.h>

/* Allocates zeroed memory in whole pages. NULL: no memory or no file descriptor is left. */
void *shared_alloc(uint64_t length);
/* Frees memory of shared_alloc(). False: shared_alloc() did not return addr, and nothing is
 * freed. */
bool shared_free(void *addr);
/*
 * Finds the memfd that contains the range. *fd becomes a duplicate of its descriptor, which the
 * caller closes, and *offset the range's offset. *fd becomes -1 if no memfd contains the whole
 * range. AL_INSUFFICIENT_RESOURCES: the process is at its limit of descriptors.
 */
al_status shared_find(const void *addr, uint64_t length, int *fd, uint64_t *offset);
/* Makes the lock usable in a forked child. The child inherits the memory. */
void shared_after_fork(void);

#endif
