/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The records that the two ends of al_perf exchange if they are two processes. The near end's
 * command line chooses the measurements; each row has queue pairs and memory of its own at both
 * ends:
 *
 *     near end                                       far end
 *     hello: the settings, its end               ->  opens its end, checks the settings
 *                                                <-  welcome: its end
 *     row: what, and where (and queue pairs)     ->  makes and connects its part
 *     connects, warms up                         <-  place: where (and queue pairs)
 *     count                                      ->  begins to count
 *     check: number of messages written          ->  compares them (--check, without receives)
 *     over: the near end's figures               ->  its own figures; ends its part
 *     ... the next row ...
 *     bye                                        ->
 *
 * Each request but bye has an answer. The measured messages go over the queue pairs, and so do the
 * far end's credits (perf_far.c).
 */
#ifndef AL_TOOLS_PERF_MEET_H
#define AL_TOOLS_PERF_MEET_H

#include "al/tools/meet.h"
#include "al/tools/perf_flow.h"

enum perf_step { PERF_ROW = 1, PERF_COUNT, PERF_CHECK, PERF_OVER, PERF_BYE };

/* A request of the near end. Fields that the step does not use are zero. */
struct perf_request {
	guint32 step; /* enum perf_step */
	/* The fields of PERF_ROW. */
	guint32 op; /* index of perf_ops */
	guint32 test, mode;
	guint64 size;
	guint64 addr;
	guint32 rkey;
	/* The fields of PERF_CHECK: the messages of a queue pair before a number. */
	guint32 flow;
	guint64 number;
	/* The fields of PERF_OVER. */
	guint64 messages, lost, checked;
	guint32 interrupted, pad;
	double seconds;
	struct perf_latency latency;
};

/* An answer of the far end. */
struct perf_answer {
	guint64 addr; /* of the far end's memory; PERF_ROW */
	guint32 rkey, pad;
	guint64 checked, lost; /* PERF_CHECK: lost messages of the queue pair; PERF_OVER: checked messages of all queue
				* pairs */
};

/* Near end. Each sends a request and receives the answer. FALSE, with an error: the far end
 * refuses, or has gone. */
gboolean perf_exchange_hello(struct perf_job *job, GError **err);
gboolean perf_ask_count(struct run *r, GError **err);
gboolean perf_ask_check(struct run *r, struct flow *f, guint64 number, GError **err);
gboolean perf_ask_over(struct run *r, GError **err); /* sends the row's figures, and adds the far end's to the row */
gboolean perf_send_bye(const struct perf_job *job, GError **err);

/* Far end. */
gboolean perf_receive_hello(struct perf_job *job, GError **err); /* fills in the settings and the near end */
gboolean perf_send_welcome(const struct perf_job *job, GError **err);
gboolean perf_receive_request(const struct perf_job *job, struct perf_request *request, GError **err);
gboolean perf_answer(const struct perf_job *job, const struct perf_answer *answer, GError **err);

/* Both ends, for run_make(): the near end sends its place; then the end receives the other end's
 * place. */
gboolean perf_receive_place(struct run *r, GError **err);
/* Sends this end's place. request: the near end's PERF_ROW; NULL at the far end. */
gboolean perf_send_place(struct run *r, struct perf_request *request, GError **err);

/* Far end: waits for a near end, and serves its rows until its bye. */
gboolean perf_serve(struct perf_job *job, GError **err);

/* Both ends. perf_on_cpu() runs what() on the processor of --cpu. */
struct run perf_new_run(struct perf_job *job, struct perf_row *row);
gboolean perf_on_cpu(struct run *r, gboolean (*what)(struct run *r, GError **err), GError **err);

#endif
