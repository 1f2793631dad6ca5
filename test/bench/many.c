/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Many queue pairs: the memory of an idle queue pair, and the time of a post among many. Two
 * processes, one with ten queue pairs and one with a hundred thousand, are measured in turn on the
 * same processor, so that both see the same disturbances.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/worker.h"

#define FEW 10
#define MANY 100000
#define QUICK_MANY 200
#define DEPTH 16
#define BATCH 64    /* posts between two drains */
#define BATCHES 16  /* per repetition */
#define BYTES 8
#define COLD_LINES 5

#define CHASE_LINES (1u << 22) /* 256 MiB: more than any cache holds */
#define CHASES 2000            /* per repetition */

enum command {
	MEMORY,   /* bytes per idle queue pair */
	POST_FEW, /* ns per post, FEW queue pairs in turn */
	POST_ALL, /* ns per post, all of them in turn */
	CHASE,    /* ns per access to a line that no cache holds */
};

/* --------------------------------------------------------- within the process */

struct line {
	struct line *next;
	char pad[56];
};

struct many {
	struct bench_link link;
	unsigned int num;  /* queue pairs */
	unsigned int turn; /* next queue pair of POST_ALL */
	struct bench_buf buf[2];
	double memory;
	struct line *lines, *at;
	struct end {
		al_qp_h qp;
		unsigned int side;
	} *end;            /* in random order; both ends of the first FEW connections are among the first */
};

static double resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!f || fscanf(f, "%*s %ld", &pages) != 1)
		bench_fatal("/proc/self/statm can not be read");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Idle queue pairs were never used: they are in RTS, without one request posted. */
static void connect_all(struct many *m)
{
	double before;

	m->end = calloc(m->num, sizeof(*m->end));
	if (!m->end)
		bench_fatal("out of memory");
	for (unsigned int i = 0; i < m->num; i++)
		m->end[i].side = i % 2;
	before = resident();
	for (unsigned int i = 0; i < m->num; i += 2) {
		al_qp_h qp[2];

		bench_connect(&m->link, DEPTH, qp);
		m->end[i].qp = qp[0];
		m->end[i + 1].qp = qp[1];
	}
	m->memory = (resident() - before) / m->num;
}

static void shuffle(struct many *m)
{
	uint64_t seed = 1;

	for (unsigned int i = m->num; i-- > FEW + 1;) {
		unsigned int j;
		struct end end = m->end[i];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		j = FEW + (unsigned int)((seed >> 33) % (i + 1 - FEW));
		m->end[i] = m->end[j];
		m->end[j] = end;
	}
}

/* Links all lines into one cycle, in a multiplicative order, which no prefetcher follows. */
static void lines_make(struct many *m)
{
	uint32_t at = 0;

	m->lines = aligned_alloc(4096, CHASE_LINES * sizeof(*m->lines));
	if (!m->lines)
		bench_fatal("out of memory");
	for (uint32_t i = 0; i < CHASE_LINES; i++) {
		uint32_t next = (at * 1664525u + 1013904223u) % CHASE_LINES;

		m->lines[at].next = &m->lines[next];
		at = next;
	}
	m->at = m->lines;
}

static double chase(struct many *m)
{
	double start;

	if (!m->lines)
		lines_make(m);
	start = bench_now();
	for (unsigned int i = 0; i < CHASES; i++)
		m->at = *(struct line *volatile *)&m->at->next;
	return (bench_now() - start) / CHASES;
}

static void post_one(struct many *m, const struct end *end)
{
	struct bench_buf *local = &m->buf[end->side], *remote = &m->buf[!end->side];
	struct ib_sge sge = { (uintptr_t)local->addr, BYTES, local->lkey };
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)remote->addr, remote->rkey },
	};
	const struct ib_send_wr *bad;

	bench_must(al_post_send(end->qp, &wr, &bad));
}

/* Times only the posts; between two batches all requests complete. */
static double post(struct many *m, unsigned int num, unsigned int *turn)
{
	double taken = 0;

	for (unsigned int batch = 0; batch < BATCHES; batch++) {
		unsigned int on[2] = { 0, 0 };
		double start = bench_now();

		for (unsigned int i = 0; i < BATCH; i++) {
			const struct end *end = &m->end[*turn];

			*turn = *turn + 1 < num ? *turn + 1 : 0;
			on[end->side]++;
			post_one(m, end);
		}
		taken += bench_now() - start;
		for (unsigned int i = 0; i < 2; i++)
			bench_drain(m->link.side[i].cq, on[i]);
	}
	return taken / (BATCHES * BATCH);
}

static double answer(void *context, unsigned int command, unsigned int unused)
{
	struct many *m = context;
	unsigned int turn = 0;

	(void)unused;
	switch (command) {
	case MEMORY:
		return m->memory;
	case POST_FEW:
		post(m, FEW, &turn); /* warms the caches, which the other process has used */
		return post(m, FEW, &turn);
	case POST_ALL:
		post(m, FEW, &turn);
		return post(m, m->num, &m->turn);
	case CHASE:
		return chase(m);
	default:
		bench_fatal("command %d is none", command);
	}
}

static void serve(const struct worker *w, const void *num)
{
	struct many m = { .num = *(const unsigned int *)num };

	bench_link_open(&m.link, 4 * BATCH);
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_make(m.link.side[i].pd, BYTES, &m.buf[i]);
	connect_all(&m);
	shuffle(&m);
	worker_serve(w, answer, &m);
}

/* ---------------------------------------------------------------------- rows */

struct processes {
	struct worker few, many;
};

static double many_post(void *arg, unsigned int n)
{
	(void)n;
	return worker_ask(&((struct processes *)arg)->many, POST_FEW, 0);
}

static double few_post(void *arg, unsigned int n)
{
	(void)n;
	return worker_ask(&((struct processes *)arg)->few, POST_FEW, 0);
}

static double many_post_all(void *arg, unsigned int n)
{
	(void)n;
	return worker_ask(&((struct processes *)arg)->many, POST_ALL, 0);
}

static double few_post_and_misses(void *arg, unsigned int n)
{
	struct processes *p = arg;

	return few_post(p, n) + COLD_LINES * worker_ask(&p->many, CHASE, 0);
}

static void report(const char *name, struct processes *p, bench_fn value, bench_fn reference, double target)
{
	struct bench_pair pair = { value, reference, p, 1, 1 };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio, TARGET_RATIO_MOST,
					  target });
}

void bench_many(void)
{
	const unsigned int few = FEW, many = bench_quick ? QUICK_MANY : MANY;
	struct processes p;

	if (!bench_wanted("qp.idle.memory") && !bench_wanted("qp.many.post") && !bench_wanted("qp.many.post_all"))
		return;
	worker_start(&p.few, serve, &few);
	worker_start(&p.many, serve, &many);
	bench_report(&(struct bench_row){ "qp.idle.memory", worker_ask(&p.many, MEMORY, 0), "B",
					  NAN, NAN, TARGET_VALUE_MOST, 4095 });
	report("qp.many.post", &p, many_post, few_post, 1.1);
	report("qp.many.post_all", &p, many_post_all, few_post_and_misses, 1);
	worker_stop(&p.few);
	worker_stop(&p.many);
}
