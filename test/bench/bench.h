/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the parts of the benchmark share: how two things are compared, how a row is reported, and queue pairs to measure
 * on. What is measured is in the files of their own: cost, message, bandwidth, object, many,
 * agent, user.
 */
#ifndef IBAL_TEST_BENCH_H
#define IBAL_TEST_BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <iba/ib_al.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ----------------------------------------------------------------- comparing */

/* Does something n times and returns what one took, in ns. */
typedef double (*bench_fn)(void *arg, unsigned int n);

/* Something to measure and what it is compared with. */
struct bench_pair {
	bench_fn value;
	bench_fn reference; /* NULL: nothing */
	void *arg;          /* for both */
	unsigned int n;     /* times per repetition: short against the time slice of a busy machine */
	unsigned int ref_n; /* the same for the reference */
};

/* Medians: the ratio and the difference are those of neighbouring repetitions, so that what slows both cancels out. */
struct bench_result {
	double value, reference, ratio, difference;
};

/* Takes value and reference in turn, many times, on one processor. */
void bench_compare(const struct bench_pair *pair, struct bench_result *result);
double bench_median(double *v, unsigned int count);

/* Repetitions of bench_compare(), and whether --quick asks only for a proof that everything runs. */
extern unsigned int bench_reps;
extern bool bench_quick;

/* Keeps this thread on one processor, and lets it go again: threads started in between would inherit it. */
void bench_pin(int cpu);
void bench_unpin(void);

double bench_now(void); /* ns */

/* The reference of small operations: an uncontended locked read-modify-write, a compare-and-swap. */
double bench_locked_rmw(void *arg, unsigned int n);

/* ----------------------------------------------------------------- reporting */

/* What the target is a limit of. */
enum bench_target {
	TARGET_NONE,
	TARGET_RATIO_MOST,
	TARGET_RATIO_LEAST,
	TARGET_VALUE_MOST,
};

struct bench_row {
	const char *name;
	double value;
	const char *unit;
	double reference; /* in the same unit; NAN: none */
	double ratio;     /* NAN: none */
	enum bench_target kind;
	double target;
};

/* Is this row asked for (--only)? Parts that cost time ask before they begin. */
bool bench_wanted(const char *name);
void bench_report(const struct bench_row *row);

/* Ends the program when a call fails: then there is nothing to measure. */
#define bench_must(call) bench_check((call), #call)
void bench_check(al_status status, const char *call);
void bench_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ------------------------------------------------------------------ fixtures */

/* One HCA with what a queue pair needs. */
struct bench_side {
	al_ca_h ca;
	al_pd_h pd;
	al_cq_h cq;
	uint16_t lid;
};

/* Two HCAs whose first ports see each other by the loop link. */
struct bench_link {
	al_h al;
	struct bench_side side[2];
};

void bench_link_open(struct bench_link *link, uint32_t cqe);
void bench_link_open_as(struct bench_link *link, const struct al_open_attr *attr, uint32_t cqe);
void bench_link_close(struct bench_link *link);

/* A connected pair in RTS, both with depth requests on each queue. qp[i] is on side[i]. */
void bench_connect(struct bench_link *link, uint32_t depth, al_qp_h qp[2]);

/* The halves of that, for whom the other side is not here. */
al_qp_h bench_make_qp(const struct bench_side *side, uint32_t depth, uint32_t *qpn);
void bench_to_rts(al_qp_h qp, uint32_t peer_qpn, uint16_t peer_lid);

/* An agent of the benchmark's own, one at a time; the path of its socket. */
const char *bench_agent_start(void);
void bench_agent_stop(void);

/* A registered buffer. */
struct bench_buf {
	uint8_t *addr;
	size_t length;
	uint32_t lkey, rkey;
	al_mr_h mr;
};

/* All permissions; its bytes are written once, so that they are there. */
void bench_buf_make(al_pd_h pd, size_t length, struct bench_buf *buf);
void bench_buf_free(struct bench_buf *buf);

/* Polls until num completions of a queue have come; each must be a success. */
void bench_drain(al_cq_h cq, unsigned int num);

/* Destroys something and waits. */
#define bench_destroy(fn, handle) bench_must(fn((handle), AL_DESTROY_SYNC, NULL))

/* --------------------------------------------------------------------- parts */

void bench_many(void);
void bench_cost(void);
void bench_message(void);
void bench_bandwidth(void);
void bench_object(void);
void bench_agent(void);
/* Is the far end of bench_agent()'s, a process of its own, to whom the descriptor leads. */
void bench_agent_far(const char *agent, int fd) __attribute__((noreturn));
/* Opens the Access Layer by the agent, and writes what that took to standard output. */
void bench_agent_open(const char *agent) __attribute__((noreturn));
void bench_user(void);
/* Is bench_user()'s client without a provider, a process of its own, which the descriptor leads to. */
void bench_user_plain(const char *agent, int fd) __attribute__((noreturn));

#endif /* IBAL_TEST_BENCH_H */
