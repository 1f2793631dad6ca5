/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An agent of the benchmark's own: its start and its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

static char dir[] = "/tmp/ibal-bench-XXXXXX", path[64];
static pid_t ald;

const char *bench_agent_start(void)
{
	char word[64];
	int out[2];

	if (!*path) {
		if (!mkdtemp(dir))
			bench_fatal("%s: %m", dir);
		snprintf(path, sizeof(path), "%s/socket", dir);
	}
	if (pipe(out))
		bench_fatal("pipe: %m");
	ald = fork();
	if (!ald) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execl(ALD, "ald", "--socket", path, "--max-bytes", "4294967296", NULL);
		_exit(127);
	}
	close(out[1]);
	if (ald < 0 || read(out[0], word, sizeof(word)) <= 0)
		bench_fatal("%s does not serve", ALD);
	close(out[0]);
	return path;
}

pid_t bench_agent_pid(void)
{
	return ald;
}

void bench_agent_stop(void)
{
	kill(ald, SIGTERM);
	waitpid(ald, NULL, 0);
	unlink(path);
	rmdir(dir);
	*path = '\0';
	memcpy(strrchr(dir, '-'), "-XXXXXX", 7);
}
