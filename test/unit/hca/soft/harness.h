/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The upper half that the software HCA's tests put above the HCA: objects and events kept by hand, and direct calls
 * of operations. The harness replaces libibal, which is not linked, so that a test sees the module alone.
 */
#ifndef TEST_SOFT_HARNESS_H
#define TEST_SOFT_HARNESS_H

#include <check.h>
#include <iba/ib_hca.h>
#include <iba/ib_mad.h>
#include <iba/ib_notice.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_soft.h>

#define MAX_HCAS 256
#define MAX_PORTS 40 /* ports of an HCA or switch whose events are kept */
#define ops (&test_ops)

/* One HCA, or a switch of a managed topology, as the harness sees it registered. Switches come
 * behind the HCAs. */
struct hca {
	const struct ci_interface *ci; /* its own table; test_ops has an HCA's */
	struct ci_ca *ca;
	struct ib_ca_attr attr;
	struct ci_pd *pd;       /* a protection domain on each HCA */
	bool present;
	_Atomic bool in_use;    /* objects are left: the HCA's withdrawal waits for them */
};

/* A completion queue and its notifications. */
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

extern struct ci_interface test_ops; /* the module's table, set by up() */
extern struct hca hca[MAX_HCAS];
extern uint32_t hcas;
extern int given_fd;                  /* the descriptor passed to a client last; the test closes it */
extern char last_log[1024];           /* the last message */
extern _Atomic uint64_t live_allocs;  /* not yet freed */
extern _Atomic uint32_t port_events[MAX_HCAS][MAX_PORTS]; /* by HCA and port: bits of events */
/* port 1's events, a letter each: D I R (Armed) A, and s for a call of ib_mad_seen() */
extern char port_ladder[MAX_HCAS][256];
/* The last call of ib_mad_seen(), which the module makes under a lock. */
extern struct last_seen {
	_Atomic uint32_t num; /* calls */
	struct hca *h;
	uint8_t port;
	struct ib_smp mad;
} last_seen;

/* The trap that a port has raised last. Tests that look at it step by hand, so no other thread
 * writes. */
extern struct last_trap {
	uint32_t number; /* of traps so far */
	uint8_t port;
	struct ib_notice notice;
} last_trap;

/* Starts the module with settings as in IBAL_SOFT, and allocates a protection domain on each HCA. */
al_status try_up(const char *settings);
void up(const char *settings);
/* Ends the module; nothing may be left. */
void down(void);

/* Called within each notification; NULL: no function. */
extern void (*on_notify)(struct cq *cq);

struct cq *new_cq(struct hca *h, uint32_t cqe, al_cq_notify notify);
void free_cq(struct cq *cq);
/*
 * try_mr() registers a new area in the caller's mr, and end_mr() ends the region; new_mr() allocates the mr too, and
 * free_mr() frees it.
 */
al_status try_mr(struct mr *mr, struct hca *h, struct ci_pd *pd, size_t size, uint32_t access);
void end_mr(const struct mr *mr);
struct mr *new_mr(struct hca *h, size_t size, uint32_t access);
void free_mr(struct mr *mr);
struct ci_pd *new_pd(struct hca *h);
void free_pd(struct ci_pd *pd);

/* Options of a queue pair and its connection; zero: the default. */
struct qp_options {
	ib_qp_type type;       /* default RC */
	uint32_t depth;        /* default 16 */
	uint32_t sge;          /* default 4 */
	uint32_t inline_data;
	bool sig_all;
	uint32_t mtu;          /* ib_mtu; default 256 */
	uint32_t access;       /* default all remote permissions */
	uint32_t no_access;    /* permissions removed from access */
	uint32_t psn;          /* first PSN of both sides */
	uint8_t timeout;       /* default 14 */
	uint8_t retry_cnt;     /* default 7; 0xff: 0 */
	uint8_t rnr_retry;     /* default 7; 0xff: 0 */
	uint8_t rnr_timer;     /* default 1: 10 us */
	uint8_t rd_atomic;     /* default 4; 0xff: 0 */
	uint8_t dest_rd_atomic; /* default: rd_atomic */
	uint16_t pkey_index;
	uint16_t dlid;         /* default: the peer's LID */
	uint8_t port;          /* default 1 */
	uint8_t gid;           /* of Ethernet: entry of both sides' GID tables; default 0 */
	uint32_t qkey;         /* for datagrams */
	bool blocks_own;       /* block_mcast_loopback */
	struct ci_pd *pd;      /* default: the HCA's */
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

/* Creates an address handle; requests name it as (al_ah_h)ah. */
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

/* Work requests. A post takes effect at once and must succeed. */
struct ib_send_wr send_wr(uint64_t wr_id, ib_wr_opcode opcode, struct ib_sge *sge, uint32_t flags);
struct ib_sge sge_of(const struct mr *mr, uint64_t offset, uint32_t length);
void post(struct qp *qp, const struct ib_send_wr *wr);
void post_recv(struct qp *qp, uint64_t wr_id, struct ib_sge *sge, uint32_t num);
/* Posts a signalled request between two offsets of the pair's regions. */
void rdma(struct pair *p, ib_wr_opcode opcode, uint64_t wr_id, uint64_t from, uint64_t to, uint32_t length);

/* Waits for one completion, and checks its request and status. */
struct ib_wc wait_wc(struct cq *cq);
struct ib_wc expect_wc(struct cq *cq, uint64_t wr_id, ib_wc_status status);
void expect_empty(struct cq *cq);
/* Waits until the word has all bits. */
void wait_bits(_Atomic uint32_t *word, uint32_t bits);
void wait_state(struct qp *qp, ib_qp_state state);

/* Adds a rule of faults to an HCA's packets. */
void fault(struct hca *h, struct soft_fault rule);
uint64_t fault_met(struct hca *h);
/* Returns the rules in force from index first on. The list is valid until the next call. */
const struct soft_fault_list *rules_in_force(struct hca *h, uint32_t first);
al_status vendor(struct hca *h, uint32_t code, const void *in, uint32_t in_len);
struct ib_port_counters counters(struct hca *h);

/* Lets a packet of these bytes come in at port 1, as a cable brings it (SOFT_INJECT). */
struct soft_injected inject_bytes(struct hca *h, const void *bytes, size_t len);

/* With progress=manual: makes one step; step_choice() says what runs. Every wait above makes steps, too. */
struct soft_step step(void);
struct soft_step step_choice(uint64_t choice);
/* Steps until nothing is left to do. */
void run_all(void);
/* The module's clock, in ns. */
uint64_t soft_clock(void);

/* Waits until a port has received so many bytes, without polling a completion queue. */
void wait_received(struct hca *h, uint64_t bytes);

void fill(char *mem, size_t size, uint32_t seed);
uint64_t now_ms(void);
/* Factor of repetitions: 1, or more for long runs (IBAL_TEST_LONG). */
uint32_t effort(void);
int run_suite(Suite *s);

#endif
