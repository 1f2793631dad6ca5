/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The parts of al_perf: the command line asks for a job, perf_rdma.c measures it row by row, and a report shows the rows.
 * al_perf.c is main() and the options. The near end posts and measures; the far end takes part where an operation wants it
 * to. Both are in this process, or the far end is in another, and perf_far.c is what it does there; perf_meet.c is what the
 * two tell each other.
 */
#ifndef AL_TOOLS_PERF_H
#define AL_TOOLS_PERF_H

#include <stdio.h>

#include "al/tools/pair.h"
#include "al/tools/perf_stat.h"
#include "al/tools/tool.h"

/* The most that a command line may ask for. */
#define PERF_DEPTH_MAX  (1u << 20)
#define PERF_QPS_MAX    4096
#define PERF_INLINE_MAX (1u << 20)

/* What can be measured; bits. */
enum perf_test {
	PERF_LATENCY = 1 << 0,
	PERF_BANDWIDTH = 1 << 1,
};

/* What a latency is the time of. */
enum perf_mode {
	PERF_STREAM,     /* bandwidth */
	PERF_PING_PONG,  /* half of a message there and one back */
	PERF_COMPLETION, /* from the post of one request to its completion */
};

/* An operation. */
struct perf_op {
	const char *name; /* on the command line */
	ib_wr_opcode opcode;
	guint32 types;     /* transport types that have it: bits 1 << ib_qp_type */
	guint32 access;    /* what the far end must grant */
	gboolean receives; /* the far end posts receives for it */
	gboolean fetches;  /* data comes from the far end */
	gboolean atomic;   /* of 8 bytes */
};

#define PERF_OPS 7
extern const struct perf_op perf_ops[PERF_OPS];

/* One figure: an operation with one size. */
struct perf_row {
	const struct perf_op *op;
	enum perf_test test;
	enum perf_mode mode;
	guint64 size;
	guint64 messages; /* sent, without the warm-up */
	guint64 lost;     /* UC, UD: those that did not arrive */
	guint64 checked;  /* those whose bytes were compared */
	double seconds;
	struct perf_latency latency; /* nanoseconds */
	gboolean interrupted;  /* ended by a signal: fewer messages than asked for */
	gboolean told;         /* far end alone: it has no part in this that could be measured, and has what the near end told */
};

/* What is asked for, and what came of it. */
struct perf_job {
	al_h al;
	struct pair_end near, far;
	gboolean near_here, far_here; /* one of them, or both, is in this process */
	const char *meet_name;        /* else the name by which the two meet (meet.h), */
	int listener, peer;           /* where a far end is come to, and the other process; -1: none yet */
	gboolean any_user, keep;      /* keep: a far end that serves one after another */
	ib_qp_type type;
	guint tests; /* enum perf_test */
	const struct perf_op *ops[PERF_OPS];
	guint num_ops;
	guint32 optional;    /* bits of perf_ops that only "all" asks for: what an HCA lacks is left out, not refused */
	guint32 left_out;    /* bits of those */
	GArray *sizes;       /* guint64 */
	gboolean all_sizes;  /* sizes that the HCAs cannot do are left out, not refused */
	guint64 iters;       /* messages, or round trips, of a row; unless duration */
	double duration;     /* seconds of a row; 0: iters counts */
	guint64 warmup;      /* messages before it */
	guint32 depth;       /* messages under way of one queue pair */
	guint32 signal;      /* every n-th completes visibly; at most depth */
	guint32 chain;       /* requests of one post; at most depth */
	guint32 qps;
	guint32 mtu;         /* bytes; 0: the ports' */
	guint32 inline_max;  /* messages up to this size go inline */
	gboolean completion; /* latency is always to completion */
	gboolean events;     /* sleep until a notification instead of polling */
	gboolean check;      /* compare every message, byte for byte */
	int cpu;             /* run on this processor; -1: any */
	gint64 flip;         /* for tests: offset of a byte to spoil in the first message checked; -1: none */
	void (*measured)(const struct perf_job *job, const struct perf_row *row); /* called after each */
	GPtrArray *rows;     /* struct perf_row */
	gboolean interrupted; /* by a signal, so that something is missing */
	double clock_ns;     /* what one look at the clock costs, which every latency contains */
};

/*
 * Measures everything; rows are there also after a failure. FALSE without an error: interrupted. A far end waits for
 * somebody to come, unless the error is one of its own that would be the same for all: then peer is still -1.
 */
gboolean perf_run(struct perf_job *job, GError **err);

/* What the HCA of this end cannot do of the job is said before anything is measured: an error, or operations less. */
gboolean perf_check_end(struct perf_job *job, const struct pair_end *end, GError **err);

/* The bit of an operation; of those of a job. */
guint32 perf_op_bit(const struct perf_op *op);
guint32 perf_op_bits(const struct perf_job *job);
/* Leaves an operation out, and says so. */
void perf_leave_out(struct perf_job *job, const struct perf_op *op, const char *why);

/* Nanoseconds of the monotonic clock. */
guint64 perf_now(void);

/* perf_report.c: rows as they come, and all of them. */
void perf_print_row(const struct perf_job *job, const struct perf_row *row);
void perf_print_json(const struct perf_job *job, const GError *err);
void perf_print_csv(const struct perf_job *job);
double perf_bytes_per_second(const struct perf_row *row);
double perf_messages_per_second(const struct perf_row *row);
const char *perf_mode_text(enum perf_mode mode);

/* perf_svg.c: a plot of latency and bandwidth over size. */
char *perf_svg(const struct perf_job *job);

#endif
