/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What must not grow, at one larger size beside the smallest: threads that send, with regions of
 * their own and with one region, and idle clients. And the agent's memory for an idle client.
 * test/bench/growth has these costs at more sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/growth.h"

#define CLIENTS (bench_quick ? 5u : 100u)

/* KiB of a process that are in memory. */
static double resident(pid_t pid)
{
	char path[64];
	long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*s %ld", &pages) != 1)
		bench_fatal("%s can not be read", path);
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* An idle client has both a queue pair, with the software HCA's provider, and what that needs. */
static void report_memory(void)
{
	const unsigned int num = CLIENTS;
	pid_t pids[100], first;
	const char *agent;
	double before;

	if (!bench_wanted("agent.client.memory"))
		return;
	setenv("IBAL_UVP_PATH", UVP_DIR, 1);
	agent = bench_agent_start();
	growth_start_clients(agent, &first, 1, 0); /* what the agent needs once is there */
	before = resident(bench_agent_pid());
	growth_start_clients(agent, pids, num, 0);
	bench_report(&(struct bench_row){ "agent.client.memory",
					  (resident(bench_agent_pid()) - before) / num, "KiB", NAN,
					  NAN, TARGET_NONE, 0, BENCH_FREE });
	growth_end_clients(pids, num);
	growth_end_clients(&first, 1);
	bench_agent_stop();
}

/* A cost at `size`, beside the same at size 1. */
static void report(const char *name, const struct growth *growth, unsigned int size, double most,
		   const char *where)
{
	double value, reference;

	if (!bench_wanted(name))
		return;
	reference = growth->cost(1);
	value = growth->cost(size);
	bench_report(&(struct bench_row){ name, value, growth->unit, reference, value / reference,
					  TARGET_RATIO_MOST, most, where });
}

void bench_client(void)
{
	report("threads.own_region", &growth_region_own, 2, 1.5, bench_where(true));
	report("threads.one_region", &growth_region_one, 2, 1.5, bench_where(true));
	report("clients.idle", &growth_idle_clients, CLIENTS, 1.5, BENCH_FREE);
	report_memory();
}
