/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the benchmarks share: the clock, how two things are compared, and the end after a failure.
 */
#include "test/bench/bench.h"

#include <dirent.h>
#include <pthread.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define REPS 201

unsigned int bench_reps = REPS;
bool bench_quick;

void bench_fatal(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("bench: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(EXIT_FAILURE);
}

void bench_check(al_status status, const char *call)
{
	if (status != AL_SUCCESS)
		bench_fatal("%s: %s", call, al_status_str(status));
}

double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* ----------------------------------------------------------------- comparing */

static cpu_set_t everywhere;

void bench_pin(int cpu)
{
	cpu_set_t here;

	if (sched_getaffinity(0, sizeof(everywhere), &everywhere))
		bench_fatal("sched_getaffinity: %m");
	CPU_ZERO(&here);
	CPU_SET((size_t)cpu, &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		bench_fatal("sched_setaffinity: %m");
}

void bench_unpin(void)
{
	sched_setaffinity(0, sizeof(everywhere), &everywhere);
}

/* ----------------------------------------------------------------- placement */

static cpu_set_t at_start;

static void read_allowed(void)
{
	if (sched_getaffinity(getpid(), sizeof(at_start), &at_start))
		bench_fatal("sched_getaffinity: %m");
}

/* The processors that this program had at its start. Any thread. */
static const cpu_set_t *allowed(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_allowed);
	return &at_start;
}

int bench_cpu(unsigned int i)
{
	const cpu_set_t *set = allowed();
	int cpu = -1;

	i %= (unsigned int)CPU_COUNT(set);
	do
		while (!CPU_ISSET((size_t)++cpu, set))
			;
	while (i--);
	return cpu;
}

void bench_place(pid_t pid, int cpu)
{
	cpu_set_t here = *allowed();
	const struct dirent *entry;
	char path[64];
	DIR *tasks;

	if (cpu >= 0) {
		CPU_ZERO(&here);
		CPU_SET((size_t)cpu, &here);
	}
	if (!pid) {
		if (sched_setaffinity(0, sizeof(here), &here))
			bench_fatal("sched_setaffinity: %m");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		bench_fatal("%s: %m", path);
	while ((entry = readdir(tasks)))
		if (atoi(entry->d_name) &&
		    sched_setaffinity(atoi(entry->d_name), sizeof(here), &here) && errno != ESRCH)
			bench_fatal("sched_setaffinity of %s: %m", entry->d_name);
	closedir(tasks);
}

const char *bench_where(bool apart)
{
	return apart && bench_cpu(0) != bench_cpu(1) ? BENCH_APART : BENCH_TOGETHER;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *v, unsigned int count)
{
	qsort(v, count, sizeof(*v), by_value);
	return count % 2 ? v[count / 2] : (v[count / 2 - 1] + v[count / 2]) / 2;
}

void bench_compare(const struct bench_pair *pair, struct bench_result *result)
{
	double value[REPS] = { 0 }, reference[REPS] = { 0 }, ratio[REPS] = { 0 };
	double difference[REPS] = { 0 };

	bench_pin(sched_getcpu());
	for (unsigned int i = 0; i < bench_reps; i++) {
		value[i] = pair->value(pair->arg, pair->n);
		reference[i] = pair->reference ? pair->reference(pair->arg, pair->ref_n) : NAN;
		ratio[i] = value[i] / reference[i];
		difference[i] = value[i] - reference[i];
	}
	bench_unpin();
	result->value = bench_median(value, bench_reps);
	result->reference = bench_median(reference, bench_reps);
	result->ratio = bench_median(ratio, bench_reps);
	result->difference = bench_median(difference, bench_reps);
}

double bench_locked_rmw(void *arg, unsigned int n)
{
	static _Atomic uint64_t line __attribute__((aligned(64)));
	double start = bench_now();

	(void)arg;
	for (unsigned int i = 0; i < n; i++) {
		uint64_t seen = atomic_load_explicit(&line, memory_order_relaxed);

		atomic_compare_exchange_strong(&line, &seen, seen + 1);
	}
	return (bench_now() - start) / n;
}
