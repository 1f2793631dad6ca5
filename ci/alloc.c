/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory for the library and its modules: calloc() that a test can make fail. Objects' own rules of
 * freeing (a grace period after their destroy) are the Access Layer's.
 */
#include <stdlib.h>
#include <string.h>

#include <iba/ib_hca.h>

/* Allocations of this thread until the one that fails; 0: none is to fail. */
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
