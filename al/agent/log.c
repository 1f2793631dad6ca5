/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "al/agent/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "al/library/private.h"

struct source {
	char name[16];
	uint32_t written, left_out; /* since `since` */
};

static struct {
	pthread_mutex_t
		lock; /* guards all. Leaf; nothing under it waits for a reader of the log. */
	int fd;
	bool socket;
	struct source source[8]; /* of components; the last: of all that have no other */
	time_t since;
	uint64_t lost; /* messages that found no room, since the last that did */
} ours = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO };

/* False: there is no room for the line now. A line that fails otherwise can not be logged. */
static bool put(const char *line, size_t length)
{
	ssize_t n = ours.socket ? send(ours.fd, line, length, MSG_DONTWAIT | MSG_NOSIGNAL)
				: write(ours.fd, line, length);

	return n >= 0 || errno != EAGAIN;
}

/* Under the lock. A line of the log itself. */
static bool say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool say(const char *format, ...)
{
	char line[256] = "ibal: warning: ald: ";
	size_t length = strlen(line);
	va_list args;

	va_start(args, format);
	length += (size_t)vsnprintf(line + length, sizeof(line) - length, format, args);
	va_end(args);
	return put(line, length);
}

/* Under the lock. */
static void put_or_count(const char *line, size_t length)
{
	if (ours.lost && say("%llu messages are missing here, since nobody read the log\n",
			     (unsigned long long)ours.lost))
		ours.lost = 0;
	if (ours.lost || !put(line, length))
		ours.lost++;
}

/* Under the lock. */
static struct source *source_of(const char *who)
{
	const size_t last = sizeof(ours.source) / sizeof(ours.source[0]) - 1;
	size_t i;

	for (i = 0; i < last && *ours.source[i].name; i++)
		if (!strncmp(ours.source[i].name, who, sizeof(ours.source[i].name) - 1))
			return &ours.source[i];
	if (i < last)
		strncpy(ours.source[i].name, who, sizeof(ours.source[i].name) - 1);
	return &ours.source[i];
}

/* Under the lock. Begins the next LOG_SECONDS, and tells what the last ones left out. */
static void turn_page(time_t now)
{
	ours.since = now;
	for (size_t i = 0; i < sizeof(ours.source) / sizeof(ours.source[0]); i++) {
		struct source *source = &ours.source[i];

		if (source->left_out)
			say("%u more messages of \"%s\" were not logged: at most %d in %d seconds are\n",
			    source->left_out, *source->name ? source->name : "others", LOG_MOST,
			    LOG_SECONDS);
		source->written = source->left_out = 0;
	}
}

static void write_line(ib_log_level level, const char *who, const char *line, size_t length)
{
	struct source *source;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&ours.lock);
	if (now.tv_sec - ours.since >= LOG_SECONDS)
		turn_page(now.tv_sec);
	source = source_of(who ? who : "");
	/* who asks for further levels wants them all */
	if (level <= IB_LOG_WARNING && source->written == LOG_MOST) {
		source->left_out++;
	} else {
		source->written += level <= IB_LOG_WARNING;
		put_or_count(line, length);
	}
	pthread_mutex_unlock(&ours.lock);
}

/*
 * Pipes and terminals are opened once more, since O_NONBLOCK is a flag of the open file, which
 * other processes use too. If they can not be, or for a file, a write is as it was.
 */
void log_start(void)
{
	struct stat st;
	int fd;

	if (!fstat(STDERR_FILENO, &st)) {
		ours.socket = S_ISSOCK(st.st_mode);
		if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
			fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
			if (fd >= 0)
				ours.fd = fd;
		}
	}
	al_set_log_writer(write_line);
}
