/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Processes of the benchmark that measure. See worker.h. */
#include "test/bench/worker.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define QUIT UINT_MAX /* no answer: the process ends */

struct request {
	unsigned int what, which;
	int cpu; /* processor to run on */
};

void worker_start(struct worker *w, void (*serve)(const struct worker *w, const void *arg),
		  const void *arg)
{
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		bench_fatal("pipe: %m");
	fflush(NULL);
	w->pid = fork();
	if (w->pid < 0)
		bench_fatal("fork: %m");
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the process ends with its parent */
		close(in[1]);
		close(out[0]);
		w->from = in[0];
		w->to = out[1];
		serve(w, arg);
		_exit(EXIT_SUCCESS); /* its objects end with it */
	}
	close(in[0]);
	close(out[1]);
	w->to = in[1];
	w->from = out[0];
}

void worker_serve(const struct worker *w, worker_measure measure, void *context)
{
	struct request request;
	double result;

	while (read(w->from, &request, sizeof(request)) == sizeof(request) &&
	       request.what != QUIT) {
		bench_pin(request.cpu);
		result = measure(context, request.what, request.which);
		bench_unpin();
		if (write(w->to, &result, sizeof(result)) != sizeof(result))
			break;
	}
}

static void tell(const struct worker *w, unsigned int what, unsigned int which)
{
	const struct request request = { what, which, sched_getcpu() };

	if (write(w->to, &request, sizeof(request)) != sizeof(request))
		bench_fatal("a process that measures has failed");
}

double worker_ask(const struct worker *w, unsigned int what, unsigned int which)
{
	double result;

	tell(w, what, which);
	if (read(w->from, &result, sizeof(result)) != sizeof(result))
		bench_fatal("a process that measures has failed");
	return result;
}

void worker_stop(struct worker *w)
{
	tell(w, QUIT, 0);
	close(w->to);
	close(w->from);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
