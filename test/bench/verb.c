/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rate of small messages that message.c does not measure, on the loop link: RDMA reads,
 * atomics, datagrams. */
#include "test/bench/bench.h"

#define WINDOW       64
#define SIGNAL_EVERY 16
#define BYTES        8
#define GRH          40
#define QKEY         17
#define MESSAGES     1024 /* per repetition, a multiple of WINDOW */
#define RMWS         20000

struct verb {
	struct bench_link link;
	al_qp_h rc[2], ud[2];
	al_ah_h ah; /* of side 1 */
	uint32_t ud_qpn;
	struct bench_buf buf[2];
	ib_wr_opcode opcode;
};

static void post_receives(struct verb *v)
{
	struct ib_sge sge = { (uintptr_t)v->buf[1].addr, GRH + BYTES, v->buf[1].lkey };
	struct ib_recv_wr wr[WINDOW];
	const struct ib_recv_wr *bad;

	for (unsigned int i = 0; i < WINDOW; i++)
		wr[i] = (struct ib_recv_wr){ i + 1 < WINDOW ? &wr[i + 1] : NULL, 0, &sge, 1, 0 };
	bench_must(al_post_recv(v->ud[1], wr, &bad));
}

/* Windows of messages. All receives of a window of datagrams complete before the next window is
 * posted. */
static double rate(void *arg, unsigned int n)
{
	struct verb *v = arg;
	const bool ud = v->opcode == IB_WR_SEND;
	struct ib_sge sge = { (uintptr_t)v->buf[0].addr, BYTES, v->buf[0].lkey };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = v->opcode };
	const struct ib_send_wr *bad;
	double start = bench_now();

	if (ud) {
		wr.wr.ud.ah = v->ah;
		wr.wr.ud.remote_qpn = v->ud_qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (v->opcode == IB_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = (uintptr_t)v->buf[1].addr;
		wr.wr.rdma.rkey = v->buf[1].rkey;
	} else {
		wr.wr.atomic.remote_addr = (uintptr_t)v->buf[1].addr;
		wr.wr.atomic.rkey = v->buf[1].rkey;
		wr.wr.atomic.compare_add = 1;
	}
	for (unsigned int sent = 0; sent < n;) {
		if (ud)
			post_receives(v);
		for (unsigned int i = 0; i < WINDOW; i++) {
			wr.send_flags = ++sent % SIGNAL_EVERY ? 0 : IB_SEND_SIGNALED;
			bench_must(al_post_send(ud ? v->ud[0] : v->rc[0], &wr, &bad));
		}
		bench_drain(v->link.side[0].cq, WINDOW / SIGNAL_EVERY);
		if (ud)
			bench_drain(v->link.side[1].cq, WINDOW);
	}
	return (bench_now() - start) / n;
}

static void report(const char *name, struct verb *v, ib_wr_opcode opcode)
{
	struct bench_pair pair = { rate, bench_locked_rmw, v, MESSAGES, RMWS };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	v->opcode = opcode;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio,
					  TARGET_NONE, 0 });
}

void bench_verb(void)
{
	struct ib_ah_attr to = { .port_num = 1 };
	struct verb v = { 0 };
	uint32_t near_qpn;

	if (!bench_wanted("loop.read.8B.rate") && !bench_wanted("loop.atomic.8B.rate") &&
	    !bench_wanted("loop.ud.8B.rate"))
		return;
	bench_link_open(&v.link, 4 * WINDOW);
	bench_connect(&v.link, WINDOW, v.rc);
	v.ud[0] = bench_make_ud(&v.link.side[0], WINDOW, QKEY, &near_qpn);
	v.ud[1] = bench_make_ud(&v.link.side[1], WINDOW, QKEY, &v.ud_qpn);
	to.dlid = v.link.side[1].lid;
	bench_must(al_create_ah(v.link.side[0].pd, &to, &v.ah));
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_make(v.link.side[i].pd, GRH + BYTES, &v.buf[i]);
	report("loop.read.8B.rate", &v, IB_WR_RDMA_READ);
	report("loop.atomic.8B.rate", &v, IB_WR_ATOMIC_FETCH_AND_ADD);
	report("loop.ud.8B.rate", &v, IB_WR_SEND);
	bench_must(al_destroy_ah(v.ah, NULL, NULL));
	for (unsigned int i = 0; i < 2; i++) {
		bench_destroy(al_destroy_qp, v.rc[i]);
		bench_destroy(al_destroy_qp, v.ud[i]);
		bench_buf_free(&v.buf[i]);
	}
	bench_link_close(&v.link);
}
