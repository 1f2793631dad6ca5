/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Workers: processes of the benchmark that measure when they are asked. A worker has a library of
 * its own, with other settings than the benchmark, and measures on the processor of the process
 * that asks, so that workers which are asked in turn see the same disturbances.
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <sys/types.h>

struct worker {
	int to, from; /* pipes */
	pid_t pid;
};

/* Measures. what, which: the words of worker_ask(). */
typedef double (*worker_measure)(void *context, unsigned int what, unsigned int which);

/*
 * Starts a process that calls serve(), and that ends when serve() returns. serve() prepares what is
 * measured, calls worker_serve() with the same worker, and need not free anything.
 */
void worker_start(struct worker *w, void (*serve)(const struct worker *w, const void *arg),
		  const void *arg);
/* In the worker: answers every worker_ask() by measure(), until worker_stop(). */
void worker_serve(const struct worker *w, worker_measure measure, void *context);
/* Has the worker measure, and returns the result. */
double worker_ask(const struct worker *w, unsigned int what, unsigned int which);
/* Ends the worker. */
void worker_stop(struct worker *w);

#endif
