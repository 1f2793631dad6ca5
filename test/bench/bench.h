/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Functions that the parts of the benchmark share: comparing, reporting a row, and queue pairs to
 * measure on. The measurements are in cost, layer, message, locked, verb, bandwidth, notify, fabric,
 * object, many, agent, pair, client and user.
 */
#ifndef IBAL_TEST_BENCH_H
#define IBAL_TEST_BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <iba/ib_al.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ----------------------------------------------------------------- comparing */

/* Makes an operation n times and returns the time of one, in ns. */
typedef double (*bench_fn)(void *arg, unsigned int n);

/* Two operations to compare. */
struct bench_pair {
	bench_fn value;
	bench_fn reference; /* NULL: no reference */
	void *arg;          /* argument of both */
	unsigned int n;     /* n per repetition: short compared with the time slice of a busy machine */
	unsigned int ref_n; /* of the reference, per repetition */
};

/*
 * Medians. The ratio and the difference are those of neighbouring repetitions, so that a disturbance of both cancels
 * out.
 */
struct bench_result {
	double value, reference, ratio, difference;
};

/* Runs value and reference in turn, many times, on one processor. */
void bench_compare(const struct bench_pair *pair, struct bench_result *result);
double bench_median(double *v, unsigned int count);

/* Repetitions of bench_compare(); bench_quick: --quick was given, which only proves that everything runs. */
extern unsigned int bench_reps;
extern bool bench_quick;

/* Keeps this thread on one processor, or releases it: threads started in between would inherit the processor. */
void bench_pin(int cpu);
void bench_unpin(void);

/* The i-th processor that this program may use; the first ones again if there are fewer. */
int bench_cpu(unsigned int i);
/* Keeps all threads of a process on one processor; cpu -1: on any that this program may use. pid 0:
 * this thread only. */
void bench_place(pid_t pid, int cpu);
/* The text for two threads, on processors bench_cpu(0) and bench_cpu(1) if apart. */
const char *bench_where(bool apart);

double bench_now(void); /* ns */

/* The reference of small operations: an uncontended locked read-modify-write, a compare-and-swap. */
double bench_locked_rmw(void *arg, unsigned int n);

/* ----------------------------------------------------------------- reporting results */

/* The quantity that the target limits. */
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
	double reference; /* in the unit of the value; NAN: none */
	double ratio;     /* NAN: none */
	enum bench_target kind;
	double target;
	const char *where; /* a text of those below; NULL: BENCH_ALONE */
};

/* Where the threads of a row ran: THREADS/PROCESSORS. The agent is counted where its processor is
 * chosen. */
#define BENCH_ALONE "1thread/1cpu" /* bench_compare()'s */
#define BENCH_AGENT                                                                              \
	"1thread/1cpu+ald" /* the thread on one processor, the agent where the scheduler puts it \
			    */
#define BENCH_TOGETHER "2threads/1cpu"
#define BENCH_APART    "2threads/2cpus"
#define BENCH_FREE     "free" /* all threads where the scheduler puts them */

/* True if this row is to be measured (--only). Parts that take long check this before they begin. */
bool bench_wanted(const char *name);
void bench_report(const struct bench_row *row);

/* Ends the program if a call fails, because nothing can be measured then. */
#define bench_must(call) bench_check((call), #call)
void bench_check(al_status status, const char *call);
void bench_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ------------------------------------------------------------------ shared objects */

/* One HCA with the objects that a queue pair needs. */
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
/* Opens the first two or three HCAs. */
void bench_sides_open(al_h al, struct bench_side *sides, unsigned int num, uint32_t cqe);

/* Makes a connected pair in RTS, with room for depth requests on each queue. qp[i] is on side[i]. */
void bench_connect(struct bench_link *link, uint32_t depth, al_qp_h qp[2]);

/* The two parts of bench_connect(), for a process that has one side only. */
al_qp_h bench_make_qp(const struct bench_side *side, uint32_t depth, uint32_t *qpn);
/* Makes a UD queue pair with this Q_Key, in RTS, whose both queues have depth requests. */
al_qp_h bench_make_ud(const struct bench_side *side, uint32_t depth, uint32_t qkey, uint32_t *qpn);
void bench_to_rts(al_qp_h qp, uint32_t peer_qpn, uint16_t peer_lid);

/* Starts an agent of the benchmark's own, one at a time; returns the path of its socket. */
const char *bench_agent_start(void);
void bench_agent_stop(void);
pid_t bench_agent_pid(void);

/* A registered buffer. */
struct bench_buf {
	uint8_t *addr;
	size_t length;
	uint32_t lkey, rkey;
	al_mr_h mr;
};

/* All permissions; all bytes are written once, so that the pages are in memory. */
void bench_buf_make(al_pd_h pd, size_t length, struct bench_buf *buf);
void bench_buf_free(struct bench_buf *buf);

/* Polls until num completions of a queue have come; each must be a success. */
void bench_drain(al_cq_h cq, unsigned int num);

/* Destroys an object and waits for its end. */
#define bench_destroy(fn, handle) bench_must(fn((handle), AL_DESTROY_SYNC, NULL))

/* --------------------------------------------------------------------- parts */

void bench_many(void);
void bench_cost(void);
/* Reports a row: what a call costs more than the bare call, in ns, of which the target is the most. */
void bench_report_cost(const char *name, void *arg, bench_fn with, bench_fn bare, double target);
/* A part of bench_cost(): libibverbs over the Access Layer's queues of the same HCA. */
void bench_layer(al_qp_h qp, al_cq_h cq);
void bench_message(void);
void bench_locked(void);
void bench_verb(void);
void bench_notify(void);
void bench_bandwidth(void);
void bench_pair(void);
/* The far end of bench_pair(): a process of its own; fd leads to the near end. */
void bench_pair_far(const char *agent, int fd) __attribute__((noreturn));
void bench_client(void);
void bench_fabric(void);
void bench_object(void);
void bench_agent(void);
/* The far end of bench_agent()'s bandwidth: a process of its own; fd leads to the near end. */
void bench_agent_far(const char *agent, int fd) __attribute__((noreturn));
/* Opens the Access Layer through the agent, and writes the time to standard output. */
void bench_agent_open(const char *agent) __attribute__((noreturn));
void bench_user(void);
/* bench_user()'s client without a provider: a process of its own; fd leads to bench_user(). */
void bench_user_plain(const char *agent, int fd) __attribute__((noreturn));

#endif /* IBAL_TEST_BENCH_H */
