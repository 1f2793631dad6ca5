/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the tools share: reading what a user types, and writing numbers as people read them. Nothing here
 * calls the library.
 */
#ifndef AL_TOOLS_TOOL_H
#define AL_TOOLS_TOOL_H

#include <glib.h>
#include <iba/ib_types.h>
#include <signal.h>

/* Exit codes of every tool, stable: al_query(1) and al_cp(1) say what they mean. */
enum {
	TOOL_OK = 0,
	TOOL_USAGE = 1,   /* the command line is wrong, or names what is not there */
	TOOL_FAILED = 2,  /* the library did not open, or a part of the answer is missing */
	TOOL_WARNING = 3, /* doctor: something to look at */
	TOOL_BROKEN = 4,  /* doctor: something does not work */
};

/* The version of every tool's JSON; raised when a member changes its meaning or goes. */
#define TOOL_SCHEMA 1

/* Sets a GError whose code is TOOL_FAILED; returns FALSE, so that a caller can say "return tool_fail(...)". */
gboolean tool_fail(GError **err, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The same with TOOL_USAGE: what the user asked for is wrong, or is not there. */
gboolean tool_misuse(GError **err, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * The first call of main(). A standard descriptor that is closed is occupied, so that no file or socket of the program takes
 * its number; and at exit standard output is closed: when anything that was printed did not get there, a sentence says so,
 * and the exit status is TOOL_FAILED unless it is another failure already. This holds for exits within a library too, as
 * that of --help. name: the program; stays the caller's.
 */
void tool_begin(const char *name);

/* Set by a signal after tool_catch_signals(): the work is to end. Whatever may wait looks at it. */
extern volatile sig_atomic_t tool_interrupted;

/* SIGINT, SIGTERM and SIGHUP; who had one ignored, as nohup does, has that. What write() can say is no signal. */
void tool_catch_signals(void);

/* Each reads the whole of text and writes *result only when it is right. */
gboolean tool_parse_number(const char *text, guint64 min, guint64 max, guint64 *result);
gboolean tool_parse_size(const char *text, guint64 min, guint64 max, guint64 *bytes); /* 4096, 64K, 1M, 2G */
gboolean tool_parse_guid(const char *text, guint64 *guid);             /* 16 hexadecimal digits; 0x and colons may be there */
gboolean tool_parse_range(const char *text, guint64 max, guint64 *first, guint64 *last); /* "A-B", "A", "A-" */

/* Owned by the caller. */
char *tool_guid_text(guint64 guid);       /* 0x0011223344556677 */
char *tool_gid_text(const ib_gid *gid);   /* as an IPv6 address, shortened */
char *tool_bytes_text(double bytes);      /* "1.5 GB": powers of 1000, as rates are given */
char *tool_age_text(guint64 ns);          /* "12 ms", "3.2 s", "2 h 5 min" */
char *tool_clean(const char *text);       /* valid UTF-8 without control characters: fit for a terminal and for JSON */

/* Columns that the text takes on a terminal. */
int tool_width(const char *text);

/* Colour is for terminals, and not for those who set NO_COLOR or whose terminal is dumb. */
gboolean tool_wants_colour(int fd);

/* Rate of a port in Mb/s after coding, from lanes and speed; 0 if either is unknown. */
guint tool_rate_mbps(ib_width width, ib_speed speed);

#endif
