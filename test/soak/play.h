/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Episodes: a module's life, played from a list of operations. The effect of an operation follows from its own number
 * and from the state that it finds, so any part of the list can be played too, which is how a failure is minimised.
 */
#ifndef SOAK_PLAY_H
#define SOAK_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum op_kind {
	OP_SEND,
	OP_RECV,
	OP_STEP,
	OP_POLL,
	OP_REST,
	OP_ARM,
	OP_FAULT,
	OP_CLEAR,
	OP_PORT,
	OP_SQD,
	OP_DEREGISTER,
	OP_ERROR,
	OP_RESET,
	OP_DESTROY,
	OP_RECOVER,
	OP_KINDS
};

struct op {
	uint64_t seed;
	uint32_t kind;
	uint32_t number;   /* number in the complete list */
};

struct episode {
	uint64_t seed;     /* for all draws outside operations */
	uint32_t hcas;
	bool wide;         /* also several ports, GRHs, queue pairs with themselves, forced NAKs, overflows, failing
			    * allocations; wrong requests, deregistrations and recovery from SQE with UC and UD */
	bool resize;       /* completion queues are resized before some operations */
	uint32_t num;
	struct op *op;     /* num of them */
};

struct outcome {
	char error[640];   /* empty: none */
	uint32_t at;       /* operation */
	uint64_t packets;
	uint64_t completions;
	uint64_t trace;    /* hash of everything observed */
};

/* Returns a random number; the generator's state is its seed. */
static inline uint64_t draw(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Returns a number from 0 to n - 1. */
static inline uint32_t below(uint64_t *x, uint32_t n)
{
	return (uint32_t)((draw(x) >> 32) * n >> 32);
}

/* For a draw that only wide episodes make: the draws after it stay the same. */
static inline uint64_t aside(uint64_t x)
{
	return draw(&x) ^ 0x5bd1e995a5a5a5a5ull;
}

static inline bool one_in(uint64_t *x, uint32_t n)
{
	return !below(x, n);
}

/* Draws the operations of an episode. The caller frees op. */
void plan(struct episode *e, uint64_t seed, uint32_t hcas, bool wide);
/* Plays an episode. verbose: prints each operation. */
void play(const struct episode *e, bool verbose, struct outcome *o);

#endif
