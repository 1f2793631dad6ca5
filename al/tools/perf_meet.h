/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the two ends of al_perf tell each other when they are two processes. The near end's command line says what is
 * measured; each row has a place of its own at both ends:
 *
 *     near end                                       far end
 *     hello: the settings, its end               ->  opens its end, looks whether it can do that
 *                                                <-  welcome: its end
 *     row: what, and where (and queue pairs)     ->  makes and connects its part
 *     connects, warms up                         <-  place: where (and queue pairs)
 *     count                                      ->  begins to count
 *     check: so many are written                 ->  compares them (--check, messages that no receive tells of)
 *     over: what the near end has measured       ->  what it has compared; ends its part
 *     ... the next row ...
 *     bye                                        ->
 *
 * Each word but bye has an answer. The messages that are measured go by RDMA, and so does the far end's news of how many
 * have come, where the near end would not know (perf_far.c).
 */
#ifndef AL_TOOLS_PERF_MEET_H
#define AL_TOOLS_PERF_MEET_H

#include "al/tools/meet.h"
#include "al/tools/perf_flow.h"

enum perf_step { PERF_ROW = 1, PERF_COUNT, PERF_CHECK, PERF_OVER, PERF_BYE };

/* The near end's. What a step does not need is zero. */
struct perf_word {
	guint32 step; /* enum perf_step */
	/* row */
	guint32 op; /* index of perf_ops */
	guint32 test, mode;
	guint64 size;
	guint64 addr;
	guint32 rkey;
	/* check: messages of a queue pair before a number */
	guint32 flow;
	guint64 number;
	/* over */
	guint64 messages, lost, checked;
	guint32 interrupted, pad;
	double seconds;
	struct perf_latency latency;
};

/* The far end's. */
struct perf_answer {
	guint64 addr; /* row */
	guint32 rkey, pad;
	guint64 checked, lost; /* check: lost of the queue pair; over: checked of all */
};

/* Near end. FALSE: the far end cannot do it, or has gone. */
gboolean perf_greet(struct perf_job *job, GError **err);
gboolean perf_ask_count(struct run *r, GError **err);
gboolean perf_ask_check(struct run *r, struct flow *f, guint64 number, GError **err);
gboolean perf_ask_over(struct run *r, GError **err); /* tells the row, and completes it */
gboolean perf_tell_bye(const struct perf_job *job, GError **err);

/* Far end. */
gboolean perf_hear_hello(struct perf_job *job, GError **err); /* fills in the settings and the near end */
gboolean perf_tell_welcome(const struct perf_job *job, GError **err);
gboolean perf_hear_word(const struct perf_job *job, struct perf_word *word, GError **err);
gboolean perf_answer(const struct perf_job *job, const struct perf_answer *answer, GError **err);

/* Both, for run_make(): tells where this end is, if it is the near end; and hears where the other is. */
gboolean perf_hear_place(struct run *r, GError **err);
/* word: the row, with the near end. */
gboolean perf_tell_place(struct run *r, struct perf_word *word, GError **err);

/* The far end alone: serves rows until the near end takes its leave. */
gboolean perf_serve(struct perf_job *job, GError **err);

/* What both ends do around a row. */
struct run perf_new_run(struct perf_job *job, struct perf_row *row);
gboolean perf_on_cpu(struct run *r, gboolean (*what)(struct run *r, GError **err), GError **err);

#endif
