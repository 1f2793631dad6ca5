/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A datagram that comes from a client in several records. All calls are on the loop. */
#ifndef AL_AGENT_STAGE_H
#define AL_AGENT_STAGE_H

#include "al/agent/account.h"

struct stage {
	struct account *account; /* pays for the memory, as for rings */
	uint8_t *bytes;          /* NULL: no datagram is under way */
	uint32_t length;         /* bytes of the whole datagram */
	uint32_t have;           /* bytes that have come */
};

/*
 * Adds bytes at offset, which is where the bytes before have ended; offset 0 begins a datagram of
 * that length, in place of one that is under way. AL_INVALID_PARAMETER: there is no such place.
 * AL_LIMIT_EXCEEDED. AL_INSUFFICIENT_MEMORY.
 */
al_status stage_add(struct stage *stage, uint32_t length, uint32_t offset, const void *bytes,
		    uint32_t num);
/* Forgets the datagram that is under way, if any. */
void stage_drop(struct stage *stage);
static inline bool stage_whole(const struct stage *stage)
{
	return stage->bytes && stage->have == stage->length;
}

#endif
