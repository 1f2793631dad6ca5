/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory that clients share with the agent: the agent maps it while a memory region of it is
 * registered. */
#ifndef AL_AGENT_MEMORY_H
#define AL_AGENT_MEMORY_H

#include "al/protocol/protocol.h"

struct mapping {
	void *addr; /* NULL: nothing is mapped */
	size_t bytes;
};

/*
 * Maps the part of the file fd that the request names; *addr is the address of its first byte.
 * AL_INVALID_DESCRIPTOR: fd is no memfd sealed against shrinking. The caller keeps fd. Off the
 * loop.
 */
al_status memory_map(struct mapping *mapping, int fd, const struct REG_MR_request *request, void **addr);
/* Off the loop, since freeing a large file takes a while. */
void memory_unmap(const struct mapping *mapping);

#endif
