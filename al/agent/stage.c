/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams that come from a client in several records. */
#include "al/agent/stage.h"

#include <string.h>

#include <iba/ib_hca.h>

static al_status begin(struct stage *stage, uint32_t length)
{
	al_status status;

	stage_drop(stage);
	status = account_charge(stage->account, AL_RESOURCE_RINGS, length);
	if (status)
		return status;
	stage->bytes = al_alloc(length);
	if (!stage->bytes) {
		account_return(stage->account, AL_RESOURCE_RINGS, length);
		return AL_INSUFFICIENT_MEMORY;
	}
	stage->length = length;
	return AL_SUCCESS;
}

al_status stage_add(struct stage *stage, uint32_t length, uint32_t offset, const void *bytes,
		    uint32_t num)
{
	al_status status = AL_SUCCESS;

	if (!num || num > length || offset > length - num)
		return AL_INVALID_PARAMETER;
	if (!offset)
		status = begin(stage, length);
	else if (!stage->bytes || stage->length != length || stage->have != offset)
		status = AL_INVALID_PARAMETER;
	if (status)
		return status;
	memcpy(stage->bytes + offset, bytes, num);
	stage->have += num;
	return AL_SUCCESS;
}

void stage_drop(struct stage *stage)
{
	if (stage->bytes)
		account_return(stage->account, AL_RESOURCE_RINGS, stage->length);
	al_free(stage->bytes);
	stage->bytes = NULL;
	stage->length = stage->have = 0;
}
