/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's limits, PSN arithmetic and hints for the compiler, for every file. Limits of settings:
 * base/config.h.
 */
#ifndef SOFT_BASE_H
#define SOFT_BASE_H

#include <iba/ib_verbs.h>

#define SOFT_VERSION "0.1.0"
#define SOFT_TRAIN_BYTES (256u << 10) /* largest payload of a train; a train of one packet may have more */
#define SOFT_REQUEST_NODES 4  /* nodes of a queue pair for trains of requests */
#define SOFT_RESPONSE_NODES 2 /* nodes of a queue pair for trains of responses that do not use the request's node */
#define SOFT_PSN_WINDOW (1 << 21) /* unanswered packets from which on a requester starts no element */
/*
 * Bytes of the longest message. At the smallest MTU, window and message have less than half of the PSNs (IBTA 9.7.2).
 */
#define SOFT_MAX_MSG (1u << 30)

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
