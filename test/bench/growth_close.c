/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The cost of closing an opening: beside objects of other openings, and for each object of its own.
 */
#include <stdlib.h>

#include "test/bench/bench.h"
#include "test/bench/growth.h"

#define OWN 1000 /* objects of the opening that is closed beside others */

struct opening {
	al_h al;
	al_ca_h ca;
	al_pd_h pd;
};

static void open_with_objects(struct opening *o, unsigned int num)
{
	const struct ib_ah_attr attr = { .dlid = 1, .port_num = 1 };
	uint64_t guids[16];
	size_t count = ARRAY_SIZE(guids);
	al_ah_h ah;

	bench_must(al_open(NULL, &o->al));
	bench_must(al_get_ca_guids(o->al, guids, &count));
	bench_must(al_open_ca(o->al, guids[0], NULL, &o->ca));
	bench_must(al_alloc_pd(o->ca, NULL, &o->pd));
	while (num--)
		bench_must(al_create_ah(o->pd, &attr, &ah));
}

/* Closes an opening with num objects, and returns the time of each object, in ns. */
static double close_opening(unsigned int num)
{
	struct opening o;
	double start;

	open_with_objects(&o, num);
	start = bench_now();
	bench_destroy(al_close, o.al);
	return (bench_now() - start) / num;
}

static double close_beside(unsigned int others)
{
	struct opening other;
	double took;

	open_with_objects(&other, others);
	took = close_opening(OWN);
	bench_destroy(al_close, other.al);
	return took;
}

const struct growth growth_close_beside = {
	"close.beside", "objects of others", "ns", { 1000, 10000, 100000, 1000000 }, close_beside
};
const struct growth growth_close_own = {
	"close.own", "objects of its own", "ns", { 1000, 10000, 100000 }, close_opening
};
