/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the files of al_query share. A subcommand collects its answer as JSON, once. --json prints
 * that JSON, and the text form prints its members, so both forms have the same content.
 */
#ifndef AL_TOOLS_QUERY_H
#define AL_TOOLS_QUERY_H

#include <iba/ib_al.h>
#include <json-glib/json-glib.h>

#include "al/tools/tool.h"

/* The options that narrow an answer or change its form; each subcommand lists those that it
 * takes. */
enum query_filter {
	QUERY_CA = 1 << 0,
	QUERY_PORT = 1 << 1,
	QUERY_PID = 1 << 2,
	QUERY_TYPE = 1 << 3,
	QUERY_STATE = 1 << 4,
	QUERY_QPN = 1 << 5,
	QUERY_DIFF = 1 << 6,
	QUERY_TIMEOUT = 1 << 7,
	QUERY_WATCH = 1 << 8,
	QUERY_COUNT = 1 << 9,
	QUERY_OUTPUT = 1 << 10,
	QUERY_FORMAT = 1 << 11,
	QUERY_LONG = 1 << 12,
	QUERY_LIMITS = 1 << 13,
	QUERY_SUBNET = 1 << 14,
	QUERY_RESET = 1 << 15,
	QUERY_M_KEY = 1 << 16,
	QUERY_WHERE = 1 << 17,
	QUERY_CAS = 1 << 18, /* --ca may be given several times */
};

struct query {
	/* The command line, checked. */
	char *ca;              /* GUID, index or description; NULL: all; the first of cas */
	char **cas;            /* all that --ca has named; NULL: all HCAs */
	gint port, pid;        /* 0: all */
	char *type;            /* of object; NULL: all */
	char **where;          /* conditions on objects; NULL: none */
	char *state;           /* of port, queue pair or object; NULL: all */
	guint64 qpn_first, qpn_last;
	gboolean json, diff, all; /* all: --long */
	gboolean subnet, reset;
	guint64 m_key;            /* of the subnet's ports; 0: none */
	char *format;             /* of topology; NULL: text */
	char *warning, *critical; /* thresholds of check; NULL: the defaults */
	gint count;            /* events, or repetitions of --watch; 0: no end */
	gdouble timeout;       /* seconds; 0: none */
	gdouble watch;         /* seconds; 0: once */
	char *output;          /* file; NULL: the default */
	char **args;           /* arguments behind the subcommand's name; NULL ends the list */
	gboolean colour;
	const GOptionEntry *options; /* all options, for help */
	/* The answer, while it is collected and shown. */
	al_h al;
	struct al_snapshot *snap;
	GPtrArray *found;      /* objects of the snapshot that the text shows; NULL: none were asked for */
	GHashTable *chosen;    /* GUIDs of the HCAs of --ca, which are the snapshot's; NULL: all */
	JsonObject *out;       /* the answer */
	JsonObject *before;    /* the last answer of --watch; NULL: this is the first */
	gint64 out_us, before_us; /* when the two were collected, monotonic clock */
	int status;            /* exit code of the program */
};

struct query_command {
	const char *name, *args, *help;
	guint max_args;
	unsigned int filters;             /* enum query_filter */
	void (*collect)(struct query *q); /* fills q->out from q->al and q->snap */
	void (*show)(struct query *q);    /* prints q->out as text */
	void (*run)(struct query *q);     /* in place of collect and show; the library is not open */
};

int query_main(int argc, char **argv);

/* ---- for the subcommands (query.c) ---- */

/*
 * Reports a part that the answer lacks, or the reason for no answer: in "errors" of the answer and
 * on standard error. Raises the exit code.
 */
void query_error(struct query *q, int status, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Prints the answer as JSON, and the objects in q->found as its last member. With --watch the
 * answer is one line. */
void query_print_answer(struct query *q);

/* Opens the library. FALSE: query_error() has reported why not. */
gboolean query_open(struct query *q);

/* Reports the modules of the snapshot that were not loaded, if the snapshot has no HCA. */
void query_report_modules(struct query *q);

/* Adds an array to the answer. */
JsonArray *query_array(struct query *q, const char *name);

/* The HCA of the snapshot with this GUID, index or description. NULL: query_error() has reported
 * that there is none. */
const struct al_snap_ca *query_find_ca(struct query *q, const char *name);

/* FALSE: query_error() has reported an HCA of --ca that is not there. */
gboolean query_choose_cas(struct query *q);

/* After query_choose_cas(): TRUE: --ca is not given, or names this HCA. */
gboolean query_ca_passes(const struct query *q, guint64 guid);

/* Calls fn for each HCA, or for those of --ca. */
void query_each_ca(struct query *q, void (*fn)(struct query *q, const struct al_snap_ca *snap, gint64 index, void *arg),
		   void *arg);

/*
 * Opens the HCA and the port from which to ask the subnet: those of --ca and --port, or the first
 * port that is not Down. *port: its number. FALSE: query_error() has reported why not.
 */
gboolean query_open_port(struct query *q, al_ca_h *ca, guint8 *port);

/* Sweeps the subnet from that port. Problems become errors of the answer. NULL: query_error() has
 * reported why not. */
struct net;
struct net *query_sweep(struct query *q, gboolean counters);
/* Resets the error counters that the sweep has read, from that port. FALSE: query_error() has
 * reported the counters that are not reset. */
gboolean query_reset(struct query *q, struct net *net);

/* Brings the port of --ca and --port up or down, as the argument says. FALSE: the command line is
 * wrong. After each failure query_error() has reported it. */
gboolean query_set_port(struct query *q);

/* TRUE: --state is not given, or names this state. */
gboolean query_state_passes(const struct query *q, const char *state);

/* Prints an object as one line of JSON, for subcommands that print until a signal. Takes ownership
 * of obj. */
void query_print_line(JsonObject *obj);

/* The greatest number of JSON that every reader keeps exactly. */
#define MEMBER_MOST (G_GUINT64_CONSTANT(1) << 53)

/* Members of JSON objects, as every subcommand writes them. */
void member_text(JsonObject *obj, const char *name, const char *text); /* by tool_clean() */
void member_u64(JsonObject *obj, const char *name,
		guint64 value);        /* above MEMBER_MOST a hexadecimal string */
guint64 member_number(JsonNode *node); /* the number that member_u64() has written */
void member_guid(JsonObject *obj, const char *name, guint64 value);    /* always a hexadecimal string of 16 digits */
void member_hex(JsonObject *obj, const char *name, guint64 value);     /* a hexadecimal string, such as "0xffff" */

/* ---- tables (query_table.c) ---- */

struct query_column {
	const char *key;     /* member of the row's object */
	const char *heading;
	char *(*format)(JsonNode *value);         /* text of a value, which the caller frees; NULL: the value itself */
	const char *(*colour)(const char *text);  /* escape sequence for a text; NULL, or a result of NULL: no colour */
};

/* Prints an array of objects as a table, a line for each, indented by `indent`. A key of NULL ends
 * the columns. */
void query_table(const struct query *q, const char *indent, JsonArray *rows, const struct query_column *columns);

/* Prints an object as a sheet: a line with heading and value for each column whose member the
 * object has. */
void query_sheet(const struct query *q, JsonObject *obj, const struct query_column *columns);

char *format_mbps(JsonNode *value);
char *format_age(JsonNode *value);
char *format_dash(JsonNode *value); /* "-" for 0, "" and null */
const char *colour_state(const char *text);
const char *colour_level(const char *text);
#define COLOUR_BOLD "\033[1m"
#define COLOUR_OFF "\033[0m"

/* ---- the subcommands ---- */

void collect_ca(struct query *q);
void show_ca(struct query *q);
void collect_port(struct query *q);
void show_port(struct query *q);
void collect_gid(struct query *q);
void show_gid(struct query *q);
void collect_pkey(struct query *q);
void show_pkey(struct query *q);
void collect_caps(struct query *q);
void show_caps(struct query *q);
void collect_res(struct query *q);
void show_res(struct query *q);
void collect_counts(struct query *q); /* of objects by HCA and kind: "counts" of res */
void collect_qp(struct query *q);
void show_qp(struct query *q);
void collect_cq(struct query *q);
void show_cq(struct query *q);
void collect_mr(struct query *q);
void show_mr(struct query *q);
void collect_pd(struct query *q);
void show_pd(struct query *q);
void collect_ah(struct query *q);
void show_ah(struct query *q);
void collect_pci(struct query *q);
void show_pci(struct query *q);
void collect_modules(struct query *q);
void show_modules(struct query *q);
void collect_clients(struct query *q);
void show_clients(struct query *q);
void collect_prom(struct query *q);
void show_prom(struct query *q);
void collect_counters(struct query *q);
void show_counters(struct query *q);
void run_capture(struct query *q);
void run_events(struct query *q);
void run_fault(struct query *q);
void run_doctor(struct query *q);
void run_topology(struct query *q);
#define QUERY_CHECK_UNKNOWN \
	3 /* exit status of check: the ports could not be checked, or the command line is wrong */
void run_check(struct query *q);
void collect_mad(struct query *q);
void show_mad(struct query *q);

#endif
