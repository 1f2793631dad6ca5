/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The trace: a line for each step that a component takes, for whoever wants to see the layers at
 * work (`IBAL_TRACE`). Six fields, separated by blanks, the last of them a sentence: time
 * (CLOCK_MONOTONIC), process, thread, thread's name, actor, step.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ci/internal.h"

bool ib_trace_on;
static int trace_fd = STDERR_FILENO;

void ci_trace_start(const char *where)
{
	if (!where || !*where || !strcmp(where, "0"))
		return;
	if (strcmp(where, "1") && strcmp(where, "stderr")) {
		trace_fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
		if (trace_fd < 0) {
			ib_log(IB_LOG_ERROR, "trace",
			       "IBAL_TRACE=%s: %m: give a file that can be written, or \"stderr\"",
			       where);
			return;
		}
	}
	ib_trace_on = true;
}

static void thread_name(char name[17])
{
	memset(name, 0, 17);
	prctl(PR_GET_NAME, name);
	for (char *c = name; *c; c++)
		if (*c == ' ' || *c == '\n')
			*c = '_';
	if (!*name)
		name[0] = '-';
}

void ib_trace(const char *actor, const char *fmt, ...)
{
	int saved_errno = errno;
	struct timespec now;
	char line[512], name[17];
	va_list ap;
	int len;

	if (!ib_trace_on)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	thread_name(name);
	len = snprintf(line, sizeof(line), "%lld.%09ld %d %ld %s %.64s ", (long long)now.tv_sec,
		       now.tv_nsec, (int)getpid(), syscall(SYS_gettid), name, actor);
	va_start(ap, fmt);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, ap);
	va_end(ap);
	if ((size_t)len > sizeof(line) - 1)
		len = sizeof(line) - 1;
	/* A step is a line, whatever name from outside it repeats. */
	for (int i = 0; i < len; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[len++] = '\n';
	/* One write per step. What can not be written is lost: a trace is no reason to stop. */
	(void)!write(trace_fd, line, (size_t)len);
	errno = saved_errno;
}
