/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why an access to memory is refused, in words. The check itself is in mr.c. */
#include <stdio.h>

#include "hca/soft/memory/mr.h"

bool mr_explain(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		char *text, size_t size)
{
	const struct mr_slot *slot = table_find(&view->memory->keys, key >> 8);
	char *mem;
	struct mr_slot *held = mr_get(view, key, addr, length, &mem);
	uint64_t offset;

	if (held) {
		mr_put(held);
		return false;
	}
	if (!slot || slot->key != key || !mr_is_live(slot)) {
		snprintf(text, size, "is of no region");
		return true;
	}
	offset = addr - slot->iova;
	if (slot->pd != view->pd)
		snprintf(text, size, "is of a region in another protection domain");
	else if ((slot->access & view->access) != view->access)
		snprintf(text, size, "is of a region that does not permit %s",
			 view->access & IB_ACCESS_REMOTE_WRITE    ? "remote writes"
			 : view->access & IB_ACCESS_REMOTE_READ   ? "remote reads"
			 : view->access & IB_ACCESS_REMOTE_ATOMIC ? "remote atomics"
								  : "local writes");
	else if (offset > slot->length || length > slot->length - offset)
		snprintf(
			text, size,
			"is of a region of %llu bytes at %#llx, and the access is of %llu at %#llx",
			(unsigned long long)slot->length, (unsigned long long)slot->iova,
			(unsigned long long)length, (unsigned long long)addr);
	else
		snprintf(text, size, "was of another region a moment ago");
	return true;
}
