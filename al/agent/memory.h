/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory that clients share with the agent, mapped here for as long as a region of it is there. */
#ifndef AL_AGENT_MEMORY_H
#define AL_AGENT_MEMORY_H

#include "al/protocol/protocol.h"

struct mapping {
	void *addr; /* NULL: nothing is mapped */
	size_t bytes;
};

/* Maps the memory that the request names in the file; *addr is that of its first byte. Worker. */
al_status memory_map(struct mapping *mapping, int fd, const struct REG_MR_request *request, void **addr);
/* If this is the last reference to a large file it takes a while: on a worker. */
void memory_unmap(const struct mapping *mapping);

#endif
