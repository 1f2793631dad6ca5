/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Helpers for tests of unreliable connections: a pair, and sends over it. */
#ifndef TEST_SOFT_UC_H
#define TEST_SOFT_UC_H

#include "harness.h"

#define MTU  256
#define SIZE (4u << 20)

static struct pair p;

static inline void start(const struct qp_options *o)
{
	struct qp_options uc = o ? *o : (struct qp_options){ 0 };

	uc.type = IB_QPT_UC;
	pair_up(&p, &uc, SIZE);
	fill(p.am->buf, SIZE / 2, 1);
}

static inline void setup(void)
{
	up("");
}

static inline void teardown(void)
{
	pair_down(&p);
	down();
}

static inline void drop(uint64_t n, uint64_t count)
{
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_DROP, .n = n, .count = count });
}

/* Posts a signalled send from the start of a's region. */
static inline void send(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.am, 0, length);
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_SEND, &sge, IB_SEND_SIGNALED);

	post(p.a, &wr);
	expect_wc(p.acq, wr_id, IB_WC_SUCCESS);
}

static inline void receive(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.bm, 0, length);

	post_recv(p.b, wr_id, &sge, 1);
}

/* Expects that no side has an event or completion, and that both still work. */
static inline void check_silence(void)
{
	expect_empty(p.acq);
	expect_empty(p.bcq);
	ck_assert_uint_eq(p.a->events | (p.b->events & ~(1u << IB_EVENT_COMM_EST)), 0);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
}

#endif
