/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why an access to memory is refused, in words. The check itself is in mr.c. */
#include <stdio.h>

#include "hca/soft/base/reading.h"
#include "hca/soft/memory/mr.h"

static bool explain(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		    char *text, size_t size)
{
	const struct mr_slot *slot = table_find(&view->memory->keys, key >> 8);
	const char *missing = view->access & IB_ACCESS_REMOTE_WRITE    ? "remote writes"
			      : view->access & IB_ACCESS_REMOTE_READ   ? "remote reads"
			      : view->access & IB_ACCESS_REMOTE_ATOMIC ? "remote atomics"
								       : "local writes";
	char *mem;

	if (mr_find(view, key, addr, length, &mem))
		return false;
	if (!slot || !atomic_load_explicit(&slot->live, memory_order_acquire) || slot->key != key)
		snprintf(text, size, "is of no region");
	else if (slot->pd != view->pd)
		snprintf(text, size, "is of a region in another protection domain");
	else if ((slot->access & view->access) != view->access)
		snprintf(text, size, "is of a region that does not permit %s", missing);
	else
		snprintf(
			text, size,
			"is of a region of %llu bytes at %#llx, and the access is of %llu at %#llx",
			(unsigned long long)slot->length, (unsigned long long)slot->iova,
			(unsigned long long)length, (unsigned long long)addr);
	return true;
}

bool mr_explain(const struct mem_view *view, uint32_t key, uint64_t addr, uint64_t length,
		char *text, size_t size)
{
	bool refuses;

	reading_begin();
	refuses = explain(view, key, addr, length, text, size);
	reading_end();
	return refuses;
}
