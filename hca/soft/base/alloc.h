/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The hook by which fault rules make an HCA's allocations fail. The rules themselves are in lab/fault.c. */
#ifndef SOFT_ALLOC_H
#define SOFT_ALLOC_H

#include <stdbool.h>

/* A zeroed gate lets every allocation succeed. */
struct alloc_gate {
	bool (*fails)(struct alloc_gate *gate);
};

/* True: the caller must treat the allocation that the caller is about to make as failed. */
static inline bool alloc_fails(struct alloc_gate *gate)
{
	return gate->fails && gate->fails(gate);
}

#endif
