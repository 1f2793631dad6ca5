/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions and types that play.c, pair.c and post.c share. */
#ifndef SOAK_PLAY_INTERNAL_H
#define SOAK_PLAY_INTERNAL_H

#include "bed.h"
#include "model.h"
#include "play.h"

enum { CQS = 2 }; /* completion queues of each HCA */

#define SOAK_QKEY 0x11223344

struct queue {
	struct bed_cq bed;
	al_arm armed;   /* the arm that no polled completion has satisfied yet */
	bool satisfied;
	uint32_t cqe;
	bool over;      /* the queue has overflowed: `left` completions are left, the last of which reports that */
	uint32_t left;
	bool unsure;    /* resets have removed some of these completions since */
};

/* One end of a connection. */
struct end {
	struct m_qp *m;
	struct ci_qp *ci;
	uint32_t hca;
	struct queue *send_cq, *recv_cq;
	struct ci_mr *mr[AREAS];
	/* regions of the target area: of another PD, without a permission */
	struct ci_mr *foreign, *write_only, *read_only;
	uint32_t stale_key[AREAS]; /* key of the region that was deregistered last; 0: none */
	uint32_t depth, recv_depth, sges, inline_data;
	uint32_t max_message;      /* of sends to this end */
	uint32_t at[AREAS];        /* place of the next piece */
	uint32_t sent, received;   /* numbers of the newest request and receive */
	uint32_t read_at, read_length; /* place of the newest read's result */
	uint32_t silent;           /* requests posted in a row without a signal */
	/* attributes of the connection */
	struct m_attr attr; /* its type is the queue pair's type */
	struct ci_ah *ah;   /* datagrams: to the peer */
	uint32_t peer_qpn;
	uint16_t lid, peer_lid;
	uint8_t port, sl;
	struct ib_global_route grh; /* of a path with a GRH; the destination is the peer's GID */
	ib_mtu mtu;
	uint32_t psn;
	uint8_t timeout, rnr_timer, dest_rd_atomic;
};

struct play {
	struct model m;
	struct end end[MAX_MODELS];
	struct queue cq[BED_HCAS][CQS];
	uint32_t rules[BED_HCAS];  /* number of rules of faults */
	uint32_t no_memory[BED_HCAS]; /* allocations that may fail */
	uint32_t wrong;            /* one request in so many is wrong; 0: none */
	uint32_t ports;            /* number of ports of each HCA */
	uint64_t steps;
	uint64_t trace;
	bool wide;                 /* see struct episode */
	bool resize;               /* see struct episode */
	bool eager;                /* completions are polled after each step */
	bool cleaned;              /* a reset may have removed completions */
	bool verbose;
};

void say(struct play *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void must(struct play *p, al_status status, const char *what);
/* Adds a value to the trace. */
void note(struct play *p, uint64_t value);

/* Functions of pair.c. */
extern const uint32_t area_access[AREAS];
struct end *peer_of(struct play *p, const struct end *e);
struct ci_mr *new_mr(struct play *p, struct ci_pd *pd, void *addr, uint64_t length, uint32_t access);
void free_mr(struct ci_mr *mr);
al_status modify(struct end *e, ib_qp_state state, struct ib_qp_attr *attr, uint32_t mask);
/* True if an operation on objects of this PD failed because memory had to be short, and is tried
 * again. */
bool no_memory(struct play *p, const struct ci_pd *pd, al_status status);
/* True if this is the first of the two ends of a connection, or the only end. */
bool is_first(struct play *p, const struct end *e);
void free_qp(struct end *e);
/* A reset has removed the queue pair's completions. */
void cleaned(struct end *e);
void new_cq(struct play *p, uint32_t hca, struct queue *q, uint64_t *x);
void free_cq(struct queue *q);
void connect_pair(struct play *p, struct end *a, uint64_t *x);
void end_pair(struct play *p, struct end *a, uint64_t *x);
void set_up(struct play *p, uint64_t *x);
void take_down(struct play *p, uint64_t *x);

/* Functions of post.c: post a chain of random requests; num receives, or as many as there is room for. */
void post_sends(struct play *p, struct end *e, uint64_t *x);
void post_recvs(struct play *p, struct end *e, uint32_t num, uint64_t *x);

#endif
