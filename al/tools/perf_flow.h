/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The messages of one row of al_perf: queue pairs, buffers, posting, polling and checking. What is measured with them is
 * perf_rdma.c's, and perf_far.c's where the far end is alone.
 */
#ifndef AL_TOOLS_PERF_FLOW_H
#define AL_TOOLS_PERF_FLOW_H

#include "al/tools/perf.h"

enum { NEAR, FAR };

#define SPINS_PER_LOOK 1024 /* polls in vain before signals, lost messages and the other process are looked for */

/* One end of a queue pair. Messages are numbered from 0. Of an end in another process there are the numbers only, as far as
 * they are known here, and no objects. */
struct half {
	al_qp_h qp;
	guint32 qpn;
	al_ah_h ah;              /* UD: to the other one */
	guint8 *base;            /* the out area, then the in area */
	guint64 sent, done;      /* messages posted, and those that a completion says are done */
	guint64 quota;           /* how many are to be posted; the last completes visibly */
	guint64 received;        /* messages that have come: by their receives */
	guint64 arrived;         /* messages of the peer that have come or are taken for lost */
	guint64 lost;            /* those of them that are */
	guint64 told;            /* far end alone: those received that the near end has been told of, or has an answer to */
	guint32 slot, recv_slot; /* of the next message, of the next receive posted */
	guint32 unsignalled;     /* messages since the last visible one */
	struct ib_send_wr *wr;   /* chain of them, with all that does not change */
	struct ib_sge *sge;
};

/* A queue pair with its peer. */
struct flow {
	struct half half[2];
	guint64 checked; /* messages that were compared */
	guint64 *remote; /* atomics with check: what the far end's slots must hold */
};

/* The measurement of one row. */
struct run {
	struct perf_job *job;
	struct perf_row *row;
	const struct perf_op *op;
	struct pair_end *end[2];
	gboolean here[2], both; /* which ends are in this process */
	int peer;               /* the other process, if there is one; else -1 */
	al_channel_h channel;
	al_cq_h cq[2];
	al_mr_h mr[2];
	guint8 *memory[2], *expected; /* expected: room for one message */
	guint64 dma[2];               /* of each memory */
	guint64 addr[2];
	struct perf_hist *hist;
	gsize bytes; /* of each memory */
	guint32 lkey[2], rkey[2];
	gsize stride;       /* from slot to slot */
	guint32 slots;      /* of an area */
	guint32 grh;        /* bytes before a received message */
	guint32 flags;      /* of every request */
	guint32 signal;     /* every n-th completes visibly */
	struct flow *flow;  /* qps of them */
	guint spins;        /* polls in vain */
	guint64 idle_since; /* when that was noticed; 0: not yet */
	gboolean given_up;  /* what is under way will not come any more (UC, UD) */
};

guint8 *run_in_slot(const struct run *r, const struct half *h, guint64 slot);
gboolean run_make(struct run *r, GError **err);
/* In reverse order; what was not made is skipped. */
void run_end(struct run *r);
gboolean run_waits_for_memory(const struct run *r);
/* The last byte of a message whose arrival shows in memory only: not that of the message before. */
guint8 run_tag(guint64 number);
/* A far end's news of how many have come, which a near end alone takes as such. */
gboolean run_post_credit(struct run *r, struct flow *f, GError **err);
/* What an HCA may be writing meanwhile: the tag of the message that was last to come to the end's first slot. */
guint8 run_last_tag(const struct run *r, const struct half *h);
/* Does a message lie where it was written to? One that nothing has told of may still be on its way, or lost (UC). */
gboolean run_check_placed(struct run *r, guint at, struct flow *f, guint64 number, GError **err);
/* Writes what the next message, the ahead-th from here, is to carry, if anybody will look at it. */
void run_dress(struct run *r, guint from, struct flow *f, guint ahead);
/*
 * Memory that an HCA may be writing to at this moment, as one does that polls it. That is no data
 * race: no sanitizer is to take it for one, nor the compiler to look only once.
 */
gboolean run_same_bytes(const volatile guint8 *a, const volatile guint8 *b, gsize size);
/* The next count messages of an end, at most job->chain, as one chain. */
gboolean run_post(struct run *r, guint from, struct flow *f, guint count, GError **err);
/* Takes what there is, up to a batch. Receives are posted again before anybody sends. */
gboolean run_poll(struct run *r, guint i, guint *handled, GError **err);
/* Nothing was there: sleeps with --events. FALSE without an error: interrupted, and nothing will come any more. */
gboolean run_idle(struct run *r, GError **err);
void run_not_idle(struct run *r);
/* What is under way is lost. */
void run_give_up(struct run *r);

#endif
