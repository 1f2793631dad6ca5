/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Log messages of the library and of modules: to standard error, or to the function given to
 * al_set_log(). Also texts of statuses and small helpers for texts. The trace is ci/trace.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ci/internal.h"

static const char *const level_names[] = {
	[IB_LOG_ERROR] = "error",
	[IB_LOG_WARNING] = "warning",
	[IB_LOG_INFO] = "info",
	[IB_LOG_DEBUG] = "debug",
};

/*
 * The function that gets the messages; cb NULL: messages go to standard error. The lock guards the
 * pair cb and ctx. The lock is a leaf, and is not held while cb runs.
 */
static struct {
	pthread_mutex_t lock;
	void (*cb)(void *ctx, ib_log_level level, const char *text);
	void *ctx;
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Highest level that is written to standard error. A function of al_set_log() gets messages of
 * every level. */
static _Atomic ib_log_level stderr_level = IB_LOG_WARNING;

bool ci_log_level_parse(const char *text, ib_log_level *level)
{
	for (int i = IB_LOG_ERROR; i <= IB_LOG_DEBUG; i++) {
		if (strcmp(text, level_names[i]))
			continue;
		*level = (ib_log_level)i;
		return true;
	}
	return false;
}

void ci_log_set_level(ib_log_level level)
{
	atomic_store_explicit(&stderr_level, level, memory_order_relaxed);
}

bool ci_log_wanted(ib_log_level level)
{
	bool wanted;

	if (level <= atomic_load_explicit(&stderr_level, memory_order_relaxed))
		return true;
	pthread_mutex_lock(&sink.lock);
	wanted = sink.cb;
	pthread_mutex_unlock(&sink.lock);
	return wanted;
}

void ci_log_set_sink(void (*cb)(void *ctx, ib_log_level level, const char *text), void *ctx)
{
	pthread_mutex_lock(&sink.lock);
	sink.cb = cb;
	sink.ctx = ctx;
	pthread_mutex_unlock(&sink.lock);
}

void ci_log_after_fork(void)
{
	/* Another thread of the parent may have held the lock during the fork. */
	pthread_mutex_init(&sink.lock, NULL);
}

static void write_to_stderr(ib_log_level level, const char *who, const char *line, size_t length)
{
	(void)level;
	(void)who;
	(void)!write(STDERR_FILENO, line,
		     length); /* a failure to write the log can not be logged */
}

static void (*_Atomic writer)(ib_log_level level, const char *who, const char *line,
			      size_t length) = write_to_stderr;

void ci_log_set_writer(void (*write_line)(ib_log_level level, const char *who, const char *line,
					  size_t length))
{
	atomic_store(&writer, write_line);
}

/* Writes a message as one line at once, so that lines of several threads and processes do not mix.
 */
static void write_line(ib_log_level level, const char *who, const char *text)
{
	char line[1200];
	int len = snprintf(line, sizeof(line) - 1, "ibal: %s: %s", level_names[level], text);
	size_t end = (size_t)len < sizeof(line) - 1 ? (size_t)len : sizeof(line) - 2;

	line[end++] = '\n';
	atomic_load (&writer)(level, who, line, end);
}

void ib_log(ib_log_level level, const char *who, const char *fmt, ...)
{
	void (*cb)(void *ctx, ib_log_level level, const char *text);
	int saved_errno = errno;
	char text[1024];
	size_t len = 0;
	va_list ap;
	void *ctx;

	if (level < IB_LOG_ERROR || level > IB_LOG_DEBUG)
		level = IB_LOG_ERROR;
	pthread_mutex_lock(&sink.lock);
	cb = sink.cb;
	ctx = sink.ctx;
	pthread_mutex_unlock(&sink.lock);
	if (!cb && level > atomic_load_explicit(&stderr_level, memory_order_relaxed))
		return;

	if (who && *who)
		len = (size_t)snprintf(text, sizeof(text), "%.64s: ", who);
	errno = saved_errno; /* for %m */
	va_start(ap, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
	/* A message stays one line, even if an argument (a file name, a client's name) contains
	 * line breaks. */
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';

	if (cb)
		cb(ctx, level, text);
	else
		write_line(level, who, text);
	errno = saved_errno;
}

bool ci_status_known(al_status st)
{
	switch (st) {
#define KNOWN(name, value, text) case name:
		AL_STATUS_LIST(KNOWN)
#undef KNOWN
		return true;
	}
	return false;
}

al_status ci_module_status(al_status st)
{
	return ci_status_known(st) ? st : AL_MODULE_FAILED;
}

const char *ci_status_text(al_status st)
{
	static _Thread_local char unknown[40];

	switch (st) {
#define NAME(name, value, text) \
	case name:              \
		return #name;
		AL_STATUS_LIST(NAME)
#undef NAME
	}
	snprintf(unknown, sizeof(unknown), "%d, which is no status", (int)st);
	return unknown;
}

void ci_copy(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

void ci_set_text(char text[CI_TEXT_MAX], const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, CI_TEXT_MAX, fmt, ap);
	va_end(ap);
	if (len >= CI_TEXT_MAX)
		memcpy(text + CI_TEXT_MAX - 4, "...", 4);
}
