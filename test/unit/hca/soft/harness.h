/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The upper half that the software HCA's tests put above it: objects made and events kept by hand, operations called
 * directly. It stands for libibal, which is not linked; here a test sees what the module does, and nothing else.
 */
#ifndef TEST_SOFT_HARNESS_H
#define TEST_SOFT_HARNESS_H

#include <check.h>
#include <iba/ib_hca.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_soft.h>

#define MAX_HCAS 256
#define ops (&test_ops)

/* One HCA as the harness sees it registered. */
struct hca {
	struct ci_ca *ca;
	struct ib_ca_attr attr;
	struct ci_pd *pd;       /* one of each HCA's own */
	bool present;
	_Atomic bool in_use;    /* objects are left: its withdrawal waits for them */
};

/* A completion queue: what was notified. */
struct cq {
	struct ci_cq *ci;
	_Atomic uint32_t notified;
};

/* A queue pair and its events: one bit per ib_event_type. */
struct qp {
	struct ci_qp *ci;
	struct hca *hca;
	struct cq *send_cq, *recv_cq;
	_Atomic uint32_t events;
	_Atomic uint32_t event_count;
};

struct mr {
	struct ci_mr *ci;
	char *buf;
	size_t size;
};

extern struct ci_interface test_ops; /* of the module, once up() */
extern struct hca hca[MAX_HCAS];
extern uint32_t hcas;
extern int given_fd;                  /* to a client, the last one; the test closes it */
extern char last_log[1024];           /* the last message */
extern _Atomic uint64_t live_allocs;  /* not yet freed */
extern _Atomic uint32_t port_events[MAX_HCAS][4]; /* by HCA and port: bits */
extern char port_ladder[MAX_HCAS][256]; /* port 1's events, a letter each: D I R(armed) A */

/* Starts the module with settings as in IBAL_SOFT, and the HCAs' domains. */
al_status try_up(const char *settings);
void up(const char *settings);
/* Ends it; nothing may be left. */
void down(void);

/* Called at each notification, where it is made; NULL: nothing is. */
extern void (*on_notify)(struct cq *cq);

struct cq *new_cq(struct hca *h, uint32_t cqe, al_cq_notify notify);
void free_cq(struct cq *cq);
/* A region of memory of its own, in the caller's mr, whom end_mr() frees of it; or a new one, which goes by free_mr(). */
al_status try_mr(struct mr *mr, struct hca *h, struct ci_pd *pd, size_t size, uint32_t access);
void end_mr(const struct mr *mr);
struct mr *new_mr(struct hca *h, size_t size, uint32_t access);
void free_mr(struct mr *mr);
struct ci_pd *new_pd(struct hca *h);
void free_pd(struct ci_pd *pd);

/* What queue pairs are made and connected with; zero: the default. */
struct qp_options {
	ib_qp_type type;       /* RC */
	uint32_t depth;        /* 16 */
	uint32_t sge;          /* 4 */
	uint32_t inline_data;
	bool sig_all;
	uint32_t mtu;          /* ib_mtu: 256 */
	uint32_t access;       /* all remote ones */
	uint32_t no_access;    /* taken from them */
	uint32_t psn;          /* first, of both sides */
	uint8_t timeout;       /* 14 */
	uint8_t retry_cnt;     /* 7; 0xff: 0 */
	uint8_t rnr_retry;     /* 7; 0xff: 0 */
	uint8_t rnr_timer;     /* 1: 10 us */
	uint8_t rd_atomic;     /* 4; 0xff: 0 */
	uint8_t dest_rd_atomic; /* as rd_atomic */
	uint16_t pkey_index;
	uint16_t dlid;         /* the peer's */
	uint8_t port;          /* 1 */
	uint32_t qkey;         /* datagrams */
	bool blocks_own;       /* block_mcast_loopback */
	struct ci_pd *pd;      /* the HCA's */
};

al_status try_qp(struct hca *h, struct cq *send_cq, struct cq *recv_cq, const struct qp_options *o,
		 struct qp **made);
struct qp *new_qp(struct hca *h, struct cq *send_cq, struct cq *recv_cq, const struct qp_options *o);
void free_qp(struct qp *qp);
al_status modify(struct qp *qp, ib_qp_state state, uint32_t mask, struct ib_qp_attr *attr);
void to_init(struct qp *qp, const struct qp_options *o);
void to_rtr(struct qp *qp, const struct qp *peer, const struct qp_options *o);
void to_rts(struct qp *qp, const struct qp_options *o);
void connect_qps(struct qp *a, struct qp *b, const struct qp_options *o);
ib_qp_state state_of(struct qp *qp);

/* An address handle; its handle in requests is (al_ah_h)ah. */
struct ci_ah *new_ah(struct hca *h, struct ci_pd *pd, const struct ib_ah_attr *attr);
void free_ah(struct ci_ah *ah);

/* Two connected queue pairs with a completion queue and a region each: a on HCA 0, b on the last. */
struct pair {
	struct qp *a, *b;
	struct cq *acq, *bcq;
	struct mr *am, *bm;
	struct qp_options o;
};

void pair_up(struct pair *p, const struct qp_options *o, size_t size);
void pair_down(struct pair *p);

/* Requests. They are posted at once and must be taken. */
struct ib_send_wr send_wr(uint64_t wr_id, ib_wr_opcode opcode, struct ib_sge *sge, uint32_t flags);
struct ib_sge sge_of(const struct mr *mr, uint64_t offset, uint32_t length);
void post(struct qp *qp, const struct ib_send_wr *wr);
void post_recv(struct qp *qp, uint64_t wr_id, struct ib_sge *sge, uint32_t num);
/* Signalled, between two offsets of the pair's regions. */
void rdma(struct pair *p, ib_wr_opcode opcode, uint64_t wr_id, uint64_t from, uint64_t to, uint32_t length);

/* Waits for one completion, and checks its request and status. */
struct ib_wc wait_wc(struct cq *cq);
struct ib_wc expect_wc(struct cq *cq, uint64_t wr_id, ib_wc_status status);
void expect_empty(struct cq *cq);
/* Waits until all bits are there. */
void wait_bits(_Atomic uint32_t *word, uint32_t bits);
void wait_state(struct qp *qp, ib_qp_state state);

/* A fault on an HCA's packets. */
void fault(struct hca *h, struct soft_fault rule);
uint64_t fault_met(struct hca *h);
al_status vendor(struct hca *h, uint32_t code, const void *in, uint32_t in_len);
struct ib_port_counters counters(struct hca *h);

/* With progress=manual: one step; with a choice of what is run. Every wait above makes steps, too. */
struct soft_step step(void);
struct soft_step step_choice(uint64_t choice);
/* Steps until there is nothing to do. */
void run_all(void);
/* The module's clock, in ns. */
uint64_t soft_clock(void);

/* Waits until a port has received so many bytes; polls nothing. */
void wait_received(struct hca *h, uint64_t bytes);

void fill(char *mem, size_t size, uint32_t seed);
uint64_t now_ms(void);
/* Long runs (IBAL_TEST_LONG) do so many times more. */
uint32_t effort(void);
int run_suite(Suite *s);

#endif
