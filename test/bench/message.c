/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Small messages on the loop link, posted and polled by one thread: rate and latency. */
#include <string.h>

#include <iba/ib_soft.h>
#include "test/bench/bench.h"

#define WINDOW 64       /* outstanding messages */
#define SIGNAL_EVERY 16
#define BYTES 8
#define MESSAGES 1024   /* per repetition, a multiple of SIGNAL_EVERY */
#define ROUND_TRIPS 256 /* per repetition */
#define RMWS 20000

struct message {
	struct bench_link link;
	al_qp_h qp[2];
	struct bench_buf buf[2]; /* sent from buf[i] + 0, received in buf[i] + BYTES */
	struct ib_sge sge[2];
	struct ib_send_wr wr[2]; /* of qp[i], written once, as a sender of equal messages does */
	uint64_t counter;        /* content of the next message */
};

static void prepare(struct message *m)
{
	for (unsigned int i = 0; i < 2; i++) {
		m->sge[i] = (struct ib_sge){ (uintptr_t)m->buf[i].addr, BYTES, m->buf[i].lkey };
		m->wr[i] = (struct ib_send_wr){
			.sg_list = &m->sge[i], .num_sge = 1,
			.wr.rdma = { (uintptr_t)m->buf[!i].addr + BYTES, m->buf[!i].rkey },
		};
	}
}

static void post(struct message *m, unsigned int from, ib_wr_opcode opcode, uint32_t flags)
{
	const struct ib_send_wr *bad;

	m->wr[from].opcode = opcode;
	m->wr[from].send_flags = flags;
	bench_must(al_post_send(m->qp[from], &m->wr[from], &bad));
}

/* Posts num receives, all with the same target. */
static void post_receives(struct message *m, unsigned int at, unsigned int num)
{
	struct ib_sge sge = { (uintptr_t)m->buf[at].addr + BYTES, BYTES, m->buf[at].lkey };
	struct ib_recv_wr wr[WINDOW];
	const struct ib_recv_wr *bad;

	for (unsigned int i = 0; i < num; i++)
		wr[i] = (struct ib_recv_wr){ i + 1 < num ? &wr[i + 1] : NULL, 0, &sge, 1, 0 };
	if (num)
		bench_must(al_post_recv(m->qp[at], wr, &bad));
}

static uint32_t poll(struct message *m, unsigned int at, uint32_t num)
{
	struct ib_wc wc[SIGNAL_EVERY];
	uint32_t count;

	bench_must(al_poll_cq(m->link.side[at].cq, num, wc, &count));
	for (uint32_t i = 0; i < count; i++)
		if (wc[i].status != IB_WC_SUCCESS)
			bench_fatal("completion: %s", al_wc_status_str(wc[i].status));
	return count;
}

static void must_have_arrived(const struct message *m, unsigned int at)
{
	if (memcmp(m->buf[at].addr + BYTES, m->buf[!at].addr, BYTES))
		bench_fatal("the last message has not arrived");
}

/* Chains of one write. The peer does nothing, as is usual for RDMA writes. */
static double write_rate(void *arg, unsigned int n)
{
	struct message *m = arg;
	unsigned int sent = 0, done = 0;
	double start;

	memcpy(m->buf[0].addr, &m->counter, sizeof(m->counter));
	m->counter++;
	start = bench_now();
	while (done < n) {
		while (sent < n && sent - done < WINDOW)
			post(m, 0, IB_WR_RDMA_WRITE, ++sent % SIGNAL_EVERY ? 0 : IB_SEND_SIGNALED);
		done += SIGNAL_EVERY * poll(m, 0, WINDOW / SIGNAL_EVERY);
	}
	start = bench_now() - start;
	must_have_arrived(m, 1);
	return start / n;
}

/* The receiver reposts each completed receive; WINDOW receives are posted before and after. */
static double send_rate(void *arg, unsigned int n)
{
	struct message *m = arg;
	unsigned int sent = 0, done = 0, received = 0;
	double start;

	memcpy(m->buf[0].addr, &m->counter, sizeof(m->counter));
	m->counter++;
	start = bench_now();
	while (done < n || received < n) {
		uint32_t count;

		while (sent < n && sent - done < WINDOW && sent - received < WINDOW)
			post(m, 0, IB_WR_SEND, ++sent % SIGNAL_EVERY ? 0 : IB_SEND_SIGNALED);
		done += SIGNAL_EVERY * poll(m, 0, WINDOW / SIGNAL_EVERY);
		count = poll(m, 1, SIGNAL_EVERY);
		post_receives(m, 1, count);
		received += count;
	}
	start = bench_now() - start;
	must_have_arrived(m, 1);
	return start / n;
}

/* One direction of a ping-pong: the writer polls its completion, and the other side polls its memory. */
static double write_latency(void *arg, unsigned int n)
{
	struct message *m = arg;
	double start = bench_now();

	for (unsigned int i = 0; i < 2 * n; i++) {
		unsigned int from = i % 2;

		memcpy(m->buf[from].addr, &m->counter, sizeof(m->counter));
		m->counter++;
		post(m, from, IB_WR_RDMA_WRITE, IB_SEND_SIGNALED);
		while (!poll(m, from, 1))
			;
		must_have_arrived(m, !from);
	}
	return (bench_now() - start) / (2 * n);
}

/* A ping-pong of sends: the other side polls its receive, and posts the next receive before it answers. */
static double send_latency(void *arg, unsigned int n)
{
	struct message *m = arg;
	double start = bench_now();

	for (unsigned int i = 0; i < 2 * n; i++) {
		unsigned int from = i % 2;

		memcpy(m->buf[from].addr, &m->counter, sizeof(m->counter));
		m->counter++;
		post(m, from, IB_WR_SEND, IB_SEND_SIGNALED);
		while (!poll(m, !from, 1))
			;
		must_have_arrived(m, !from);
		post_receives(m, !from, 1);
		while (!poll(m, from, 1))
			;
	}
	return (bench_now() - start) / (2 * n);
}

/* The rate while each port has a rule of faults for all its packets, which never meets a packet. */
static double write_rate_with_faults(void *arg, unsigned int n)
{
	const struct soft_fault never = { .action = SOFT_FAULT_DROP, .chance = SOFT_NEVER };
	struct message *m = arg;
	uint32_t none = 0;
	double each;

	for (unsigned int i = 0; i < 2; i++)
		bench_must(al_vendor_call(m->link.side[i].ca, SOFT_FAULT_ADD, &never, sizeof(never), NULL, &none));
	each = write_rate(m, n);
	for (unsigned int i = 0; i < 2; i++)
		bench_must(al_vendor_call(m->link.side[i].ca, SOFT_FAULT_CLEAR, NULL, 0, NULL, &none));
	return each;
}

/* The cost of rules with probability 0, compared with no rules. */
static void report_faults(struct message *m)
{
	const char *name = "loop.write.8B.faults";
	struct bench_pair pair = { write_rate_with_faults, write_rate, m, MESSAGES, MESSAGES };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio, TARGET_RATIO_MOST,
					  1.2 });
}

static void report(const char *name, struct message *m, bench_fn fn, unsigned int n, enum bench_target kind)
{
	struct bench_pair pair = { fn, bench_locked_rmw, m, n, RMWS };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio,
					  kind, 12 });
}

void bench_message(void)
{
	struct message m = { 0 };

	if (!bench_wanted("loop.write.8B.faults") && !bench_wanted("loop.write.8B.rate") && !bench_wanted("loop.send.8B.rate") &&
	    !bench_wanted("loop.write.8B.latency") && !bench_wanted("loop.send.8B.latency"))
		return;
	bench_link_open(&m.link, 4 * WINDOW);
	bench_connect(&m.link, WINDOW, m.qp);
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_make(m.link.side[i].pd, 2 * BYTES, &m.buf[i]);
	prepare(&m);
	for (unsigned int i = 0; i < 2; i++)
		post_receives(&m, i, WINDOW);

	/* the design has a target for the write only */
	report("loop.write.8B.rate", &m, write_rate, MESSAGES, TARGET_RATIO_MOST);
	report_faults(&m);
	report("loop.send.8B.rate", &m, send_rate, MESSAGES, TARGET_NONE);
	report("loop.write.8B.latency", &m, write_latency, ROUND_TRIPS, TARGET_NONE);
	report("loop.send.8B.latency", &m, send_latency, ROUND_TRIPS, TARGET_NONE);

	for (unsigned int i = 0; i < 2; i++)
		bench_destroy(al_destroy_qp, m.qp[i]);
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_free(&m.buf[i]);
	bench_link_close(&m.link);
}
