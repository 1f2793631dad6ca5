/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A hook by which a test has an HCA's allocations fail. */
#ifndef SOFT_ALLOC_H
#define SOFT_ALLOC_H

#include <stdbool.h>

/* All zero: none fails. */
struct alloc_gate {
	bool (*fails)(struct alloc_gate *gate);
};

/* An allocation begins: shall it fail? */
static inline bool alloc_fails(struct alloc_gate *gate)
{
	return gate->fails && gate->fails(gate);
}

#endif
