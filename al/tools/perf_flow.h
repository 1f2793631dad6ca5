/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The messages of one row of al_perf: queue pairs, buffers, posting, polling and checking. The
 * measurement is in perf_rdma.c, and that of a far end in a process of its own in perf_far.c.
 */
#ifndef AL_TOOLS_PERF_FLOW_H
#define AL_TOOLS_PERF_FLOW_H

#include "al/tools/perf.h"

enum { NEAR, FAR };

#define SPINS_PER_LOOK 1024 /* empty polls between two looks for signals, lost messages and the other process */

/* One end of a queue pair. Messages are numbered from 0. A half of an end in another process has no
 * objects; its counts are set as far as this process knows them. */
struct half {
	al_qp_h qp;
	guint32 qpn;
	al_ah_h ah;              /* UD: of the other half */
	guint8 *base;            /* the out area, then the in area */
	guint64 sent, done;      /* number of messages posted, and of messages completed */
	guint64 quota;           /* number of messages to post; the last is signalled */
	guint64 received;        /* number of completed receives */
	guint64 arrived;         /* number of the peer's messages that have come or are taken for lost */
	guint64 lost;            /* number of the peer's messages that are taken for lost */
	guint64 credited;            /* far end in its own process: number of received messages with a credit or an
				      * answer */
	guint32 slot, recv_slot; /* of the next message to post, and of the next receive to post */
	guint32 unsignalled;     /* messages since the last signalled message */
	struct ib_send_wr *wr;   /* job->chain requests, with the fields that never change */
	struct ib_sge *sge;
};

/* A queue pair with its peer. */
struct flow {
	struct half half[2];
	guint64 checked; /* number of messages compared */
	guint64 *remote; /* atomics with check: what the far end's slots must hold */
};

/* The measurement of one row. */
struct run {
	struct perf_job *job;
	struct perf_row *row;
	const struct perf_op *op;
	struct pair_end *end[2];
	gboolean here[2], both; /* which ends are in this process */
	int peer;               /* connection to the other process; -1: both ends are in this process */
	al_channel_h channel;
	al_cq_h cq[2];
	al_mr_h mr[2];
	guint8 *memory[2], *expected; /* expected: the right bytes of one message */
	guint64 dma[2];               /* of each memory */
	guint64 addr[2];
	struct perf_hist *hist;
	gsize bytes; /* of each memory */
	guint32 lkey[2], rkey[2];
	gsize stride;       /* bytes from slot to slot */
	guint32 slots;      /* number of slots of an area */
	guint32 grh;        /* bytes of a GRH before a received message */
	guint32 flags;      /* send_flags of every request */
	guint32 signal;     /* every n-th request is signalled */
	struct flow *flow;  /* job->qps queue pairs */
	guint spins;        /* number of empty polls */
	guint64 idle_since; /* time of the first look that found no message; 0: none */
	gboolean given_up;  /* the messages under way are taken for lost (UC, UD) */
	guint losses;       /* how often messages were taken for lost */
	guint64 longest;    /* nanoseconds of the longest silence that a message has ended */
	guint64 silence; /* nanoseconds of the silences after which messages were taken for lost */
	gboolean heard;  /* a message has come */
	guint64 unheard; /* number of lost messages, also those of the warm-up */
};

guint8 *run_in_slot(const struct run *r, const struct half *h, guint64 slot);
/* Makes and connects the queue pairs of the ends in this process. The caller calls run_end() also
 * after a failure. */
gboolean run_make(struct run *r, GError **err);
/* Destroys the row's objects in reverse order; an object that was not made is NULL, and skipped. */
void run_end(struct run *r);
/* TRUE: the arrival of a message shows in its last byte only (ping-pong by plain writes). */
gboolean run_waits_for_memory(const struct run *r);
/* The last byte of a message for run_waits_for_memory(): differs from the last byte of the message
 * before. */
guint8 run_tag(guint64 number);
/* Sends a credit, by which the far end tells a near end in another process how many messages have
 * come. */
gboolean run_post_credit(struct run *r, struct flow *f, GError **err);
/* Reads the tag of the last message in the end's first slot, which an HCA may be writing at this
 * moment. */
guint8 run_last_tag(const struct run *r, const struct half *h);
/* Compares a message with the bytes that it must have. Waits for a message that may still be under
 * way; counts a lost message (UC). FALSE, with an error: the message differs. */
gboolean run_check_placed(struct run *r, guint at, struct flow *f, guint64 number, GError **err);
/* Writes the bytes of the message that is `ahead` messages after the next message to post. */
void run_fill_message(struct run *r, guint from, struct flow *f, guint ahead);
/*
 * Compares memory that an HCA may be writing at this moment, as a program does that polls memory.
 * volatile: the compiler reads each byte at each call. The function is exempt from ThreadSanitizer.
 */
gboolean run_same_bytes(const volatile guint8 *a, const volatile guint8 *b, gsize size);
/* Posts the next count messages of an end, at most job->chain, as one chain. */
gboolean run_post(struct run *r, guint from, struct flow *f, guint count, GError **err);
/* Polls an end's queue once, and handles the completions. Posts a new receive for each completed
 * receive. */
gboolean run_poll(struct run *r, guint i, guint *handled, GError **err);
/* After an empty poll: sleeps with --events, and now and then looks for the peer and for lost
 * messages. FALSE without an error: interrupted, and no message has come for long. */
gboolean run_idle(struct run *r, GError **err);
void run_not_idle(struct run *r);
/* Counts the messages under way as lost. FALSE, with an error: many are lost, and none has come. */
gboolean run_give_up(struct run *r, GError **err);
/* Makes the error of a row whose messages are all lost. Returns FALSE. */
gboolean run_nothing_comes(const struct run *r, guint64 lost, GError **err);

#endif
