/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the tools share (tool.h): the exit status, signals, errors, reading numbers, and writing
 * numbers for people. */
#include "al/tools/tool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void close_output(int status, void *name)
{
	gboolean failed = ferror(stdout) != 0;

	errno = 0;
	if (!fclose(stdout) && !failed)
		return;
	fprintf(stderr, "%s: the output could not be written%s%s\n", (const char *)name,
		errno ? ": " : "", errno ? g_strerror(errno) : "");
	_exit(status ? status : TOOL_FAILED);
}

void tool_begin(const char *name)
{
	/* The opposite access mode: a read of standard input or a write to an output fails, as with
	 * a closed descriptor. */
	static const int modes[] = {
		[STDIN_FILENO] = O_WRONLY,
		[STDOUT_FILENO] = O_RDONLY,
		[STDERR_FILENO] = O_RDONLY,
	};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			_exit(TOOL_FAILED);
	on_exit(close_output, (void *)(guintptr)name);
}

/* ------------------------------------------------------------------ signals */

volatile sig_atomic_t tool_interrupted;

/*
 * The first signal sets tool_interrupted, and a signal more than 500 ms later ends the process,
 * which may be waiting for an agent. A signal within 500 ms is a copy of the first: timeout(1), for
 * example, sends a signal to the process and to its group.
 */
static void on_signal(int signo)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!tool_interrupted) {
		first = now;
		tool_interrupted = signo;
	} else if ((now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 > 500) {
		signal(signo, SIG_DFL);
		raise(signo); /* takes effect when the handler returns */
	}
}

void tool_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal }, before;

	/* Each handler blocks the other signals. */
	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
		sigaddset(&action.sa_mask, signals[i]);

	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	/* With these ignored, write() fails with EFBIG or EPIPE. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static void set_error(GError **err, int code, const char *format, va_list args)
{
	g_autofree char *text = g_strdup_vprintf(format, args);

	g_set_error_literal(err, g_quark_from_static_string("tool"), code, text);
}

gboolean tool_fail(GError **err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_error(err, TOOL_FAILED, format, args);
	va_end(args);
	return FALSE;
}

gboolean tool_misuse(GError **err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set_error(err, TOOL_USAGE, format, args);
	va_end(args);
	return FALSE;
}

gboolean tool_parse_number(const char *text, guint64 min, guint64 max, guint64 *result)
{
	const char *digits = g_str_has_prefix(text, "0x") ? text + 2 : text;

	return g_ascii_string_to_unsigned(digits, digits == text ? 10 : 16, min, max, result, NULL);
}

gboolean tool_parse_size(const char *text, guint64 min, guint64 max, guint64 *bytes)
{
	static const char units[] = "KMGT";
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, g_ascii_toupper(text[len - 1])) : NULL;
	g_autofree char *digits = g_strndup(text, unit ? len - 1 : len);
	guint shift = unit ? 10 * (guint)(unit - units + 1) : 0;
	guint64 number;

	if (!g_ascii_string_to_unsigned(digits, 10, 0, G_MAXUINT64 >> shift, &number, NULL))
		return FALSE;
	if (number << shift < min || number << shift > max)
		return FALSE;
	*bytes = number << shift;
	return TRUE;
}

gboolean tool_parse_guid(const char *text, guint64 *guid)
{
	const gboolean prefixed = g_str_has_prefix(text, "0x");
	g_auto(GStrv) parts = g_strsplit(prefixed ? text + 2 : text, ":", -1);
	g_autofree char *digits = g_strjoinv("", parts);
	const size_t length = strlen(digits);

	return (length == 16 || (prefixed && length < 16 && !parts[1])) &&
	       g_ascii_string_to_unsigned(digits, 16, 0, G_MAXUINT64, guid, NULL);
}

gboolean tool_parse_range(const char *text, guint64 max, guint64 *first, guint64 *last)
{
	const char *dash = strchr(text, '-');
	g_autofree char *from = g_strndup(text, dash ? (gsize)(dash - text) : strlen(text));
	guint64 low, high = max;

	if (!tool_parse_number(from, 0, max, &low))
		return FALSE;
	if (!dash)
		high = low;
	else if (dash[1] && !tool_parse_number(dash + 1, low, max, &high))
		return FALSE;
	*first = low;
	*last = high;
	return TRUE;
}

char *tool_guid_text(guint64 guid)
{
	return g_strdup_printf("0x%016" G_GINT64_MODIFIER "x", guid);
}

char *tool_gid_text(const ib_gid *gid)
{
	char text[INET6_ADDRSTRLEN];

	return g_strdup(inet_ntop(AF_INET6, gid->raw, text, sizeof(text)));
}

char *tool_bytes_text(double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	guint unit = 0;

	for (; bytes >= 999.5 && unit + 1 < G_N_ELEMENTS(units); unit++)
		bytes /= 1000;
	return g_strdup_printf("%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes, units[unit]);
}

char *tool_age_text(guint64 ns)
{
	guint64 ms = ns / 1000000, s = ms / 1000;

	if (s < 1)
		return g_strdup_printf("%u ms", (guint)ms);
	if (s < 60)
		return g_strdup_printf("%u.%u s", (guint)s, (guint)(ms / 100 % 10));
	if (s < 3600)
		return g_strdup_printf("%u min %u s", (guint)(s / 60), (guint)(s % 60));
	return g_strdup_printf("%" G_GUINT64_FORMAT " h %u min", s / 3600, (guint)(s / 60 % 60));
}

char *tool_clean(const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	GString *clean = g_string_new(NULL);

	for (const char *c = valid; *c; c = g_utf8_next_char(c)) {
		gunichar u = g_utf8_get_char(c);

		g_string_append_unichar(clean, g_unichar_iscntrl(u) ? '?' : u);
	}
	return g_string_free(clean, FALSE);
}

int tool_width(const char *text)
{
	int width = 0;

	for (const char *c = text; *c; c = g_utf8_next_char(c)) {
		gunichar u = g_utf8_get_char(c);

		if (!g_unichar_iszerowidth(u))
			width += g_unichar_iswide(u) ? 2 : 1;
	}
	return width;
}

gboolean tool_wants_colour(int fd)
{
	const char *no = g_getenv("NO_COLOR");

	return isatty(fd) && !(no && *no) && g_strcmp0(g_getenv("TERM"), "dumb");
}

guint tool_rate_mbps(ib_width width, ib_speed speed)
{
	/* Mb/s of a lane, as the rates of a PathRecord name them. */
	static const struct {
		guint bit, mbps;
	} speeds[] = {
		{ IB_SPEED_SDR, 2500 },    { IB_SPEED_DDR, 5000 },   { IB_SPEED_QDR, 10000 },
		{ IB_SPEED_FDR10, 10000 }, { IB_SPEED_FDR, 14000 },  { IB_SPEED_EDR, 25000 },
		{ IB_SPEED_HDR, 50000 },   { IB_SPEED_NDR, 100000 },
	};
	guint mbps = 0;

	for (guint i = 0; i < G_N_ELEMENTS(speeds); i++)
		if (speeds[i].bit == (guint)speed)
			mbps = speeds[i].mbps;
	return ib_width_lanes(width) * mbps;
}
