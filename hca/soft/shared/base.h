/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What every file of the software HCA uses: its limits, PSN arithmetic, hints for the compiler. */
#ifndef SOFT_BASE_H
#define SOFT_BASE_H

#include <iba/ib_verbs.h>

#define SOFT_VERSION "0.1.0"
#define SOFT_TRAIN_BYTES (256u << 10) /* payload of one train, at most, unless one packet is more */
#define SOFT_REQUEST_NODES 4          /* trains of requests that a queue pair may have on their way */
#define SOFT_RESPONSE_NODES 2         /* and of responses, beside those that ride home */
/* A message of so many bytes, at the smallest MTU, beyond the window: still less than half of the PSNs (IBTA 9.7.2). */
#define SOFT_MAX_MSG (1u << 30)
#define SOFT_PSN_WINDOW (1 << 21) /* packets not answered beyond which no element is started */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & IB_PSN_MASK;
}

static inline uint32_t psn_sub(uint32_t psn, uint32_t n)
{
	return (psn - n) & IB_PSN_MASK;
}

/* Returns by how many PSNs a comes after b, on the circle of 24 bits; negative: a comes before b. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
