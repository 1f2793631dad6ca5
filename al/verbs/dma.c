/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Coherent memory, which an application and an HCA share. The memfds that an agent maps are
 * al/object/shared.c's. */
#include "al/object/shared.h"
#include "al/verbs/verbs.h"

al_status al_dma_alloc_coherent(al_ca_h ca, uint64_t length, void **addr, uint64_t *dma)
{
	struct al_call call;
	al_status status;
	uint64_t at = 0;
	void *mem;

	if (!addr || !dma)
		return REFUSE(AL_INVALID_PARAMETER, "%s is NULL", addr ? "dma" : "addr");
	if (!length || length > INT64_MAX)
		return REFUSE(AL_INVALID_PARAMETER, "length is %llu, and must be from 1 to %lld",
			      (unsigned long long)length, (long long)INT64_MAX);
	status = call_begin(&call, ca, AL_OBJ_CA);
	if (status)
		return SETTLED(status);
	mem = call.ops->dma_alloc_coherent(call.obj->ci, length, &at);
	if (mem) {
		*addr = mem;
		*dma = at;
	} else if (ops_dead(call.ops)) {
		status = ops_dead_status(call.ops);
	} else {
		status = AL_INSUFFICIENT_MEMORY;
	}
	return CALL_FINISH(&call, status);
}

al_status al_dma_free_coherent(al_ca_h ca, uint64_t length, void *addr, uint64_t dma)
{
	struct al_call call;
	al_status status = call_begin(&call, ca, AL_OBJ_CA);

	if (status)
		return SETTLED(status);
	/* shared_free() frees memory that the process shares with an agent; other memory is the
	 * module's */
	if (addr && !shared_free(addr))
		call.ops->dma_free_coherent(call.obj->ci, length, addr, dma);
	call_end(&call);
	return AL_SUCCESS;
}
