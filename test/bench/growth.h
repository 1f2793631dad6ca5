/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the parts of test/bench/growth share. */
#ifndef IBAL_TEST_BENCH_GROWTH_H
#define IBAL_TEST_BENCH_GROWTH_H

#include <sys/types.h>

#define GROWTH_SIZES 4

/* A cost, and what it must not grow with. */
struct growth {
	const char *name;
	const char *of;                    /* what the sizes count */
	const char *unit;                  /* of the cost */
	unsigned int sizes[GROWTH_SIZES];  /* ascending; 0: no more */
	double (*cost)(unsigned int size); /* measures the cost of one unit of work beside, or of,
					      `size` */
};

/* growth_region.c */
extern const struct growth growth_region_own, growth_region_one;
/* growth_close.c */
extern const struct growth growth_close_beside, growth_close_own;
/* growth_idle.c */
extern const struct growth growth_idle_clients, growth_killed_clients;
/* A client that makes objects and then does nothing: a process of its own. */
void growth_idle_client(const char *agent, unsigned int objects) __attribute__((noreturn));
/* Starts such clients, and ends them. */
void growth_start_clients(const char *agent, pid_t *pids, unsigned int num, unsigned int objects);
void growth_end_clients(const pid_t *pids, unsigned int num);

#endif
