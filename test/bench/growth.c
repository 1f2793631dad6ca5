/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Costs that must not grow: each cost at several sizes, and its ratio to the cost at the smallest
 * size.
 *
 *     growth [--quick] [--only TEXT]
 *
 * One line per measurement: name size of cost unit ratio. Nothing is asserted: the exit status says
 * only whether everything could be measured. --quick: the two smallest sizes, with few repetitions.
 */
#include "test/bench/growth.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/bench/bench.h"

static const struct growth *const growths[] = {
	&growth_idle_clients, &growth_killed_clients, /* first: they start processes */
	&growth_region_own,   &growth_region_one,     &growth_close_beside, &growth_close_own,
};

/* What is left behind on purpose, and agents that end, are no news here. */
static void log_nothing(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	(void)text;
}

static void measure(const struct growth *g)
{
	const unsigned int num = bench_quick ? 2 : GROWTH_SIZES;
	double cost[GROWTH_SIZES];

	for (unsigned int i = 0; i < num && g->sizes[i]; i++) {
		cost[i] = g->cost(g->sizes[i]);
		printf("%-20s %7u %-22s %12.1f %-3s %8.2f\n", g->name, g->sizes[i], g->of, cost[i],
		       g->unit, cost[i] / cost[0]);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "only", required_argument, NULL, 'o' },
		/* for the benchmark's own processes only */
		{ "objects", required_argument, NULL, 'n' },
		{ "idle", required_argument, NULL, 'i' },
		{ NULL, 0, NULL, 0 },
	};
	const char *only = "";
	unsigned int objects = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (opt == 'q') {
			bench_quick = true;
		} else if (opt == 'o') {
			only = optarg;
		} else if (opt == 'i') {
			growth_idle_client(optarg, objects);
		} else if (opt == 'n') {
			objects = (unsigned int)atoi(optarg);
		} else {
			fputs("usage: growth [--quick] [--only TEXT]\n", stderr);
			return EXIT_FAILURE;
		}
	}
	al_set_log(log_nothing, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(growths); i++)
		if (strstr(growths[i]->name, only))
			measure(growths[i]);
	return EXIT_SUCCESS;
}
