/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory for the library and its modules: calloc() with a failure that a test can order. When an
 * object's memory may be freed (a grace period after its destroy) is the Access Layer's concern.
 */
#include <stdlib.h>
#include <string.h>

#include <iba/ib_hca.h>

/* Number of this thread's allocations up to the allocation that fails; 0: no allocation is made to
 * fail. */
static _Thread_local uint64_t countdown;

uint64_t al_fail_alloc(uint64_t nth)
{
	uint64_t left = countdown;

	countdown = nth;
	return left;
}

static bool fails_now(void)
{
	return __builtin_expect(countdown != 0, 0) && --countdown == 0;
}

void *al_alloc(size_t size)
{
	return fails_now() ? NULL : calloc(1, size);
}

void *al_alloc_aligned(size_t align, size_t size)
{
	void *mem;

	if (fails_now() ||
	    posix_memalign(&mem, align < sizeof(void *) ? sizeof(void *) : align, size))
		return NULL;
	return memset(mem, 0, size);
}

void al_free(void *mem)
{
	free(mem);
}
