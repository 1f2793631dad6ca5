/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The cost of a message beside threads that send as well: each thread with regions of its own, or
 * all with one. */
#include <pthread.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "test/bench/bench.h"
#include "test/bench/growth.h"

#define BYTES        8
#define LINE         64 /* bytes: no two writers write to one cache line */
#define DEPTH        64
#define SIGNAL_EVERY 16
#define MAX_WRITERS  16

/* A thread that writes by a connection of its own. */
struct writer {
	struct bench_link link; /* with completion queues of its own */
	al_qp_h qp[2];
	const struct bench_buf *buf[2]; /* of the two sides */
	unsigned int number; /* says on which processor and to which line the writer writes */
	unsigned int messages;
	pthread_barrier_t *begin;
	pthread_t thread;
	double took; /* processor time of each message, ns */
};

/* Time in which this thread had a processor, in ns: other programs do not count. */
static double processor_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void *write_all(void *arg)
{
	struct writer *w = arg;
	const uint64_t offset = w->number * LINE;
	struct ib_sge sge = { (uintptr_t)w->buf[0]->addr + offset, BYTES, w->buf[0]->lkey };
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)w->buf[1]->addr + offset, w->buf[1]->rkey },
	};
	const struct ib_send_wr *bad;
	cpu_set_t here;
	double start;

	CPU_ZERO(&here);
	CPU_SET(w->number % (unsigned int)get_nprocs(), &here);
	pthread_setaffinity_np(pthread_self(), sizeof(here), &here);
	pthread_barrier_wait(w->begin);
	start = processor_time();
	for (unsigned int sent = 0; sent < w->messages;) {
		for (unsigned int i = 0; i < DEPTH / 2; i++) {
			wr.send_flags = ++sent % SIGNAL_EVERY ? 0 : IB_SEND_SIGNALED;
			bench_must(al_post_send(w->qp[0], &wr, &bad));
		}
		bench_drain(w->link.side[0].cq, DEPTH / 2 / SIGNAL_EVERY);
	}
	w->took = (processor_time() - start) / w->messages;
	return NULL;
}

static void writer_make(struct writer *w, const struct bench_link *link)
{
	struct al_cq_init cq = { .cqe = 2 * DEPTH };

	w->link = *link;
	for (unsigned int i = 0; i < 2; i++)
		bench_must(
			al_create_cq(link->side[i].pd, &cq, NULL, NULL, NULL, &w->link.side[i].cq));
	bench_connect(&w->link, DEPTH, w->qp);
}

static void writer_end(const struct writer *w)
{
	for (unsigned int i = 0; i < 2; i++)
		bench_destroy(al_destroy_qp, w->qp[i]);
	for (unsigned int i = 0; i < 2; i++)
		bench_destroy(al_destroy_cq, w->link.side[i].cq);
}

/* The mean of the writers' processor times for a message. */
static double write_together(unsigned int num, bool shared)
{
	struct bench_buf buf[MAX_WRITERS][2];
	struct writer writer[MAX_WRITERS] = { 0 };
	pthread_barrier_t begin;
	struct bench_link link;
	double sum = 0;

	bench_link_open(&link, 2);
	pthread_barrier_init(&begin, NULL, num);
	for (unsigned int i = 0; i < num; i++) {
		for (unsigned int j = 0; j < 2; j++)
			bench_buf_make(link.side[j].pd, MAX_WRITERS * LINE, &buf[i][j]);
		writer_make(&writer[i], &link);
		writer[i].begin = &begin;
		writer[i].messages = bench_quick ? 1u << 10 : 1u << 19;
		writer[i].number = i;
		for (unsigned int j = 0; j < 2; j++)
			writer[i].buf[j] = &buf[shared ? 0 : i][j];
	}
	for (unsigned int i = 0; i < num; i++)
		if (pthread_create(&writer[i].thread, NULL, write_all, &writer[i]))
			bench_fatal("a thread can not be started");
	for (unsigned int i = 0; i < num; i++) {
		pthread_join(writer[i].thread, NULL);
		sum += writer[i].took;
	}
	for (unsigned int i = 0; i < num; i++) {
		writer_end(&writer[i]);
		for (unsigned int j = 0; j < 2; j++)
			bench_buf_free(&buf[i][j]);
	}
	pthread_barrier_destroy(&begin);
	bench_link_close(&link);
	return sum / num;
}

static double own(unsigned int num)
{
	return write_together(num, false);
}

static double one(unsigned int num)
{
	return write_together(num, true);
}

const struct growth growth_region_own = { "region.own", "threads", "ns", { 1, 2 }, own };
const struct growth growth_region_one = { "region.one", "threads", "ns", { 1, 2 }, one };
