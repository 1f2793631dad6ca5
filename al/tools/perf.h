/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The parts of al_perf: al_perf.c reads the command line into a job, perf_rdma.c measures the job
 * row by row, perf_report.c and perf_svg.c show the rows. The near end posts and measures; the far
 * end posts receives and answers, if the operation needs them. Both ends are in this process, or
 * each is in a process of its own: then perf_far.c serves the far end, and perf_meet.c exchanges
 * records between both.
 */
#ifndef AL_TOOLS_PERF_H
#define AL_TOOLS_PERF_H

#include <stdio.h>

#include "al/tools/pair.h"
#include "al/tools/perf_stat.h"
#include "al/tools/tool.h"

/* Maxima of options. */
#define PERF_DEPTH_MAX  (1u << 20)
#define PERF_QPS_MAX    4096
#define PERF_INLINE_MAX (1u << 20)
#define PERF_SL_MAX     15u

/* The figures that can be measured; bits. */
enum perf_test {
	PERF_LATENCY = 1 << 0,
	PERF_BANDWIDTH = 1 << 1,
};

/* The time that a latency stands for. */
enum perf_mode {
	PERF_STREAM,     /* bandwidth */
	PERF_PING_PONG,  /* half the time of a message and its answer */
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
	guint64 messages; /* number of messages sent, without the warm-up */
	guint64 lost;     /* UC, UD: number of messages that did not arrive */
	guint64 checked;  /* number of messages whose bytes were compared */
	double seconds;
	struct perf_latency latency; /* nanoseconds */
	gboolean interrupted;  /* ended by a signal: fewer messages than asked for */
	gboolean told;         /* at a far end in its own process: the figures are the near end's, since the far end can
				* measure none */
};

/* The settings of a run, and its results. */
struct perf_job {
	al_h al;
	struct pair_end near, far;
	gboolean near_here, far_here; /* whether each end is in this process */
	const char *meet_name;        /* the name under which a far end listens (meet.h); NULL: both ends are in this
				       * process */
	int listener, peer;           /* a far end's listening socket, and the connection to the other process; -1:
				       * none */
	gboolean any_user, keep;      /* keep: a far end that serves near ends until a signal */
	ib_qp_type type;
	guint tests; /* enum perf_test */
	const struct perf_op *ops[PERF_OPS];
	guint num_ops;
	guint32 optional;    /* bits of perf_ops that only "all" asks for: an operation that an HCA lacks is left out,
			      * not refused */
	guint32 left_out;    /* bits of optional that are left out */
	GArray *sizes;       /* guint64 */
	gboolean all_sizes;  /* sizes that the HCAs cannot do are left out, not refused */
	guint64 iters;       /* messages, or round trips, of a row; unless duration */
	double duration;     /* seconds of a row; 0: iters counts */
	guint64 warmup;      /* messages before the measurement */
	guint32 depth;       /* messages under way of one queue pair */
	guint32 signal;      /* every n-th request is signalled; at most depth */
	guint32 chain;       /* requests of one post; at most depth */
	guint32 qps;
	guint32 mtu;         /* bytes; 0: the ports' */
	guint32 inline_max;  /* messages up to this size go inline */
	gboolean completion; /* latency is always to completion */
	gboolean events;     /* sleep until a notification instead of polling */
	gboolean check;      /* compare every message, byte for byte */
	gboolean from_malloc; /* the buffers are not shared with an agent, whose HCA copies them */
	int cpu;             /* run on this processor; -1: any */
	gint64 flip;         /* for tests: offset of a byte to spoil in the first message checked; -1: none */
	void (*measured)(const struct perf_job *job, const struct perf_row *row); /* called after each row */
	GPtrArray *rows;     /* struct perf_row */
	gboolean interrupted; /* by a signal: rows are missing */
	double clock_ns;     /* nanoseconds of one call of perf_now(), which every latency contains */
};

/*
 * Measures all rows of the job; after a failure job->rows has the rows until then. FALSE without an
 * error: interrupted. A job whose end is the far end waits for a near end, and serves that near
 * end. If peer is still -1 after an error, no near end has come, and the far end would meet the
 * error with every near end.
 */
gboolean perf_run(struct perf_job *job, GError **err);

/* Checks the job against the HCA of an end. Leaves out optional operations that the HCA lacks.
 * FALSE, with an error: the HCA cannot do the job. */
gboolean perf_check_end(struct perf_job *job, const struct pair_end *end, GError **err);

/* The bit of an operation, and the bits of all operations of a job. */
guint32 perf_op_bit(const struct perf_op *op);
guint32 perf_op_bits(const struct perf_job *job);
/* Leaves an operation out, with a message on standard error. */
void perf_leave_out(struct perf_job *job, const struct perf_op *op, const char *why);

/* Nanoseconds of the monotonic clock. */
guint64 perf_now(void);

/* perf_report.c: the table row by row, and all rows as JSON or CSV. */
void perf_print_row(const struct perf_job *job, const struct perf_row *row);
void perf_print_json(const struct perf_job *job, const GError *err);
void perf_print_csv(const struct perf_job *job);
double perf_bytes_per_second(const struct perf_row *row);
double perf_messages_per_second(const struct perf_row *row);
const char *perf_mode_text(enum perf_mode mode);

/* perf_svg.c: a plot of latency and bandwidth over size. */
char *perf_svg(const struct perf_job *job);

#endif
