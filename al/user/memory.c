/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Coherent memory of an HCA behind an agent: shared memory (al/object/shared.c), which the agent
 * can map. */
#include "al/object/shared.h"
#include "al/user/user.h"

void *user_dma_alloc_coherent(struct ci_ca *ca, uint64_t length, uint64_t *dma)
{
	void *addr = shared_alloc(length);

	(void)ca;
	if (addr)
		*dma = (uintptr_t)addr;
	return addr;
}

void user_dma_free_coherent(struct ci_ca *ca, uint64_t length, void *addr, uint64_t dma)
{
	(void)ca;
	(void)length;
	(void)dma;
	shared_free(addr);
}
