/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Functions that the tools share: exit codes, signals, errors, reading the values of options, and
 * writing numbers for people. No function of this file calls the library.
 */
#ifndef AL_TOOLS_TOOL_H
#define AL_TOOLS_TOOL_H

#include <glib.h>
#include <iba/ib_types.h>
#include <signal.h>

/* Exit codes of every tool, stable: al_query(1) and al_cp(1) say what they mean. */
enum {
	TOOL_OK = 0,
	TOOL_USAGE = 1,   /* the command line is wrong, or names an HCA, port or file that does not exist */
	TOOL_FAILED = 2,  /* the library did not open, or a part of the answer is missing */
	TOOL_WARNING = 3, /* doctor: a finding is a warning, none is an error */
	TOOL_BROKEN = 4,  /* doctor: a finding is an error */
};

/* The version of every tool's JSON. It rises when a member changes its meaning or is removed. */
#define TOOL_SCHEMA 1

/* Sets a GError whose code is TOOL_FAILED; returns FALSE, so that a caller can say "return
 * tool_fail(...)". */
gboolean tool_fail(GError **err, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Sets a GError whose code is TOOL_USAGE; returns FALSE. */
gboolean tool_misuse(GError **err, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * The first call of main(). Opens a closed standard descriptor on /dev/null, so that no file or
 * socket of the program takes its number. At exit, also at an exit() within GLib after --help,
 * standard output is closed. If any output could not be written, a message says so, and the exit
 * status is TOOL_FAILED unless it is another failure already. name: the program; the caller keeps
 * the string.
 */
void tool_begin(const char *name);

/* Set by a signal after tool_catch_signals(). Every loop that may wait reads it, and ends. */
extern volatile sig_atomic_t tool_interrupted;

/* Catches SIGINT, SIGTERM and SIGHUP, but for a signal that the caller of the program ignores, as
 * nohup does. Ignores SIGPIPE and SIGXFSZ, which write() reports as errors. */
void tool_catch_signals(void);

/* Each reads the whole text. FALSE: the text is wrong, and the result is unchanged. */
gboolean tool_parse_number(const char *text, guint64 min, guint64 max, guint64 *result);
gboolean tool_parse_size(const char *text, guint64 min, guint64 max, guint64 *bytes); /* 4096, 64K, 1M, 2G */
gboolean tool_parse_guid(const char *text, guint64 *guid);             /* 16 hexadecimal digits; 0x and colons may be
									* there */
gboolean tool_parse_range(const char *text, guint64 max, guint64 *first, guint64 *last); /* "A-B", "A", "A-" */

/* The caller frees the text. */
char *tool_guid_text(guint64 guid);       /* 0x0011223344556677 */
char *tool_gid_text(const ib_gid *gid);   /* as an IPv6 address, shortened */
char *tool_bytes_text(double bytes);      /* "1.5 GB": powers of 1000, as rates are given */
char *tool_age_text(guint64 ns);          /* "12 ms", "3.2 s", "2 h 5 min" */
char *tool_clean(const char *text);       /* valid UTF-8 without control characters: fit for a terminal and for JSON */

/* The number of columns that the text takes on a terminal. */
int tool_width(const char *text);

/* TRUE: fd is a terminal that is not dumb, and NO_COLOR is not set. */
gboolean tool_wants_colour(int fd);

/* Rate of a port in Mb/s after coding, from lanes and speed; 0 if either is unknown. */
guint tool_rate_mbps(ib_width width, ib_speed speed);

#endif
