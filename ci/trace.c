/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The trace (`IBAL_TRACE`): a line for each step that a component takes. A line has six fields,
 * separated by blanks: time (CLOCK_MONOTONIC), process id, thread id, thread's name, component, and
 * the step as a sentence. Log messages are ci/log.c's.
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
			       "IBAL_TRACE=%s: %m: name a file that this process may write, or \"stderr\"",
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
	/* A step stays one line, even if an argument (a file name, a client's name) contains line
	 * breaks. */
	for (int i = 0; i < len; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[len++] = '\n';
	/* One write() per step keeps lines of several threads whole. A line that can not be written
	 * is lost: a full disk must not stop the program. */
	(void)!write(trace_fd, line, (size_t)len);
	errno = saved_errno;
}
