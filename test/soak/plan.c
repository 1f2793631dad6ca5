/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The operations of an episode: each episode has a mood, which weights the operations. */
#include "play.h"

#include <stdlib.h>
#include <string.h>

/* Weights of operations. */
static const uint8_t moods[][OP_KINDS] = {
	/* plain traffic */
	{ [OP_SEND] = 60,
	  [OP_RECV] = 40,
	  [OP_STEP] = 70,
	  [OP_POLL] = 30,
	  [OP_REST] = 3,
	  [OP_ARM] = 4 },
	/* a bad cable */
	{ [OP_SEND] = 60,
	  [OP_RECV] = 40,
	  [OP_STEP] = 70,
	  [OP_POLL] = 30,
	  [OP_REST] = 3,
	  [OP_FAULT] = 3,
	  [OP_CLEAR] = 1 },
	/* slow receivers */
	{ [OP_SEND] = 60,
	  [OP_RECV] = 20,
	  [OP_STEP] = 90,
	  [OP_POLL] = 30,
	  [OP_REST] = 2,
	  [OP_FAULT] = 1 },
	/* owners that change their mind */
	{ [OP_SEND] = 60,
	  [OP_RECV] = 40,
	  [OP_STEP] = 70,
	  [OP_POLL] = 30,
	  [OP_REST] = 5,
	  [OP_SQD] = 6,
	  [OP_ERROR] = 1,
	  [OP_RESET] = 1,
	  [OP_DESTROY] = 1,
	  [OP_ARM] = 2 },
	/* everything */
	{ [OP_SEND] = 60,
	  [OP_RECV] = 40,
	  [OP_STEP] = 70,
	  [OP_POLL] = 30,
	  [OP_REST] = 5,
	  [OP_FAULT] = 3,
	  [OP_CLEAR] = 1,
	  [OP_PORT] = 2,
	  [OP_SQD] = 3,
	  [OP_DEREGISTER] = 1,
	  [OP_ERROR] = 1,
	  [OP_RESET] = 1,
	  [OP_DESTROY] = 1,
	  [OP_ARM] = 2 },
	/* one operation at a time, each of whose effects is seen at once */
	{ [OP_SEND] = 10, [OP_RECV] = 9, [OP_REST] = 10, [OP_FAULT] = 1, [OP_CLEAR] = 1 },
};

/* Weights that wide episodes add. */
static const uint8_t added[OP_KINDS] = { [OP_RECOVER] = 5, [OP_DEREGISTER] = 5 };

void plan(struct episode *e, uint64_t seed, uint32_t hcas, bool wide)
{
	uint8_t mood[OP_KINDS];
	uint64_t x = seed;
	uint32_t i, k, sum = 0, at;

	e->seed = draw(&x);
	e->hcas = hcas;
	e->wide = wide;
	memcpy(mood, moods[below(&x, sizeof(moods) / sizeof(*moods))], sizeof(mood));
	for (k = 0; k < OP_KINDS && wide; k++)
		mood[k] = (uint8_t)(mood[k] + added[k]);
	e->num = 20 + below(&x, one_in(&x, 4) ? 2000 : 400);
	e->op = calloc(e->num, sizeof(*e->op));
	if (!e->op)
		abort();
	for (k = 0; k < OP_KINDS; k++)
		sum += mood[k];
	for (i = 0; i < e->num; i++) {
		at = below(&x, sum);
		for (k = 0; at >= mood[k]; k++)
			at -= mood[k];
		e->op[i] = (struct op){ draw(&x), k, i };
	}
}
