/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Many threads at the same time: random traffic whose bytes and completions are checked, while other threads destroy,
 * reset and deregister. Best under ThreadSanitizer.
 */
#include "harness.h"

#include <sched.h>

static void setup(void)
{
	up("");
}

static void teardown(void)
{
	down();
}

static uint32_t next(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

/* ------------------------------------------------------------ random traffic */

#define WINDOW 8
#define SLOT 4096

/*
 * Writes a slot, reads it back into another slot, and adds to a counter. Each request completes exactly once, in the
 * order of posting.
 */
static void *traffic(void *arg)
{
	struct pair *p = arg;
	uint32_t x = 88172645u + p->a->ci->qp_num, rounds = 300 * effort(), i, slot, length;
	uint64_t posted = 0, done = 0, *counter = (uint64_t *)(p->bm->buf + WINDOW * SLOT);

	for (i = 0; i < rounds; i++) {
		slot = i % WINDOW * SLOT;
		length = next(&x) % SLOT;
		fill(p->am->buf + slot, length, i);
		rdma(p, IB_WR_RDMA_WRITE, posted++, slot, slot, length);
		rdma(p, IB_WR_RDMA_READ, posted++, WINDOW * SLOT + slot, slot, length);
		if (next(&x) % 2) {
			struct ib_sge sge = sge_of(p->am, 2 * WINDOW * SLOT, 8);
			struct ib_send_wr wr = send_wr(posted++, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);

			wr.wr.atomic.remote_addr = (uintptr_t)counter;
			wr.wr.atomic.rkey = p->bm->ci->rkey;
			wr.wr.atomic.compare_add = 1;
			post(p->a, &wr);
		}
		while (done < posted && (posted - done > 10 || next(&x) % 2))
			expect_wc(p->acq, done++, IB_WC_SUCCESS);
		if (done == posted)
			ck_assert_mem_eq(p->am->buf + WINDOW * SLOT + slot, p->am->buf + slot, length);
	}
	while (done < posted)
		expect_wc(p->acq, done++, IB_WC_SUCCESS);
	expect_empty(p->acq);
	ck_assert_uint_eq(*counter, posted - 2 * rounds);
	return NULL;
}

#define PAIRS 4

START_TEST(random_traffic_on_many_threads_is_exact)
{
	struct pair p[PAIRS];
	pthread_t thread[PAIRS];
	int i;

	for (i = 0; i < PAIRS; i++)
		pair_up(&p[i], &(struct qp_options){ .depth = 64, .timeout = 18 }, (3 * WINDOW + 1) * SLOT);
	for (i = 0; i < PAIRS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, traffic, &p[i]), 0);
	for (i = 0; i < PAIRS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < PAIRS; i++)
		pair_down(&p[i]);
}
END_TEST

/* ----------------------------------------------- many threads on one queue pair */

#define POSTERS 3
#define EACH 400

struct poster {
	struct pair *p;
	uint64_t base;
	pthread_t thread;
};

static _Atomic uint32_t outstanding;

static void *post_sends(void *arg)
{
	struct poster *me = arg;
	uint32_t i;

	for (i = 0; i < EACH; i++) {
		struct ib_sge sge = sge_of(me->p->am, (me->base + i) % 64 * 64, 64);
		struct ib_send_wr wr = send_wr(me->base + i, IB_WR_SEND_WITH_IMM, &sge, IB_SEND_SIGNALED);

		wr.ex.imm_data = (uint32_t)(me->base + i);
		while (atomic_fetch_add(&outstanding, 1) >= 64) {
			atomic_fetch_sub(&outstanding, 1);
			sched_yield();
		}
		post(me->p->a, &wr);
	}
	return NULL;
}

/* Each thread's requests keep their order; none is lost or duplicated. */
START_TEST(many_threads_post_to_one_queue_pair)
{
	struct pair p;
	struct poster poster[POSTERS];
	uint32_t i, who, sent[POSTERS] = { 0 }, received[POSTERS] = { 0 };
	struct ib_wc wc;

	atomic_store(&outstanding, 0);
	pair_up(&p, &(struct qp_options){ .depth = 128, .timeout = 18 }, 64 * 64);
	for (i = 0; i < 100; i++)
		post_recv(p.b, i, &(struct ib_sge){ (uintptr_t)p.bm->buf, 64, p.bm->ci->lkey }, 1);
	for (i = 0; i < POSTERS; i++) {
		poster[i] = (struct poster){ .p = &p, .base = i * 100000ull };
		ck_assert_int_eq(pthread_create(&poster[i].thread, NULL, post_sends, &poster[i]), 0);
	}
	for (i = 0; i < POSTERS * EACH; i++) {
		wc = wait_wc(p.bcq);
		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		who = wc.imm_data / 100000;
		ck_assert_uint_eq(wc.imm_data % 100000, received[who]++);
		post_recv(p.b, i, &(struct ib_sge){ (uintptr_t)p.bm->buf, 64, p.bm->ci->lkey }, 1);
		wc = wait_wc(p.acq);
		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		who = (uint32_t)(wc.wr_id / 100000);
		ck_assert_uint_eq(wc.wr_id % 100000, sent[who]++);
		atomic_fetch_sub(&outstanding, 1);
	}
	for (i = 0; i < POSTERS; i++)
		pthread_join(poster[i].thread, NULL);
	expect_empty(p.acq);
	expect_empty(p.bcq);
	pair_down(&p);
}
END_TEST

/* Several threads poll one queue: together they get each completion once. */
static _Atomic uint32_t seen[4 * EACH];
static _Atomic uint32_t total;

static void *poll_all(void *arg)
{
	struct pair *p = arg;
	struct ib_wc wc[5];
	uint32_t count, i;

	while (atomic_load(&total) < 4 * EACH) {
		ck_assert_int_eq(ops->poll_cq(p->acq->ci, 5, wc, &count), AL_SUCCESS);
		for (i = 0; i < count; i++)
			atomic_fetch_add(&seen[wc[i].wr_id], 1);
		atomic_fetch_add(&total, count);
		atomic_fetch_sub(&outstanding, count);
		if (!count)
			sched_yield();
	}
	return NULL;
}

START_TEST(parallel_polls_lose_and_repeat_nothing)
{
	pthread_t thread[3];
	struct pair p;
	int i;

	atomic_store(&outstanding, 0);
	atomic_store(&total, 0);
	pair_up(&p, &(struct qp_options){ .depth = 128, .timeout = 18 }, 4096);
	for (i = 0; i < 4 * EACH; i++)
		atomic_store(&seen[i], 0);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, poll_all, &p), 0);
	for (i = 0; i < 4 * EACH; i++) {
		while (atomic_fetch_add(&outstanding, 1) >= 100) {
			atomic_fetch_sub(&outstanding, 1);
			sched_yield();
		}
		rdma(&p, IB_WR_RDMA_WRITE, (uint64_t)i, 0, 0, 16);
	}
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 4 * EACH; i++)
		ck_assert_uint_eq(seen[i], 1);
	pair_down(&p);
}
END_TEST

/* -------------------------------------------------------- destroys under traffic */

static _Atomic bool stopped;

/* Keeps a queue pair busy in every state. */
static void *keep_busy(void *arg)
{
	struct pair *p = arg;
	struct ib_sge sge = sge_of(p->am, 0, 3000), in = sge_of(p->am, 8192, 3000);
	struct ib_send_wr wr[3];
	struct ib_recv_wr rwr = { .sg_list = &in, .num_sge = 1 };
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *rbad;
	struct ib_wc wc[16];
	uint32_t count;
	int i;

	wr[0] = send_wr(1, IB_WR_RDMA_WRITE, &sge, IB_SEND_SIGNALED);
	wr[1] = send_wr(2, IB_WR_RDMA_READ, &in, IB_SEND_SIGNALED);
	wr[2] = send_wr(3, IB_WR_SEND, &sge, 0);
	for (i = 0; i < 3; i++) {
		wr[i].wr.rdma.remote_addr = (uintptr_t)p->bm->buf;
		wr[i].wr.rdma.rkey = p->bm->ci->rkey;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	while (!atomic_load(&stopped)) {
		ops->post_send(p->a->ci, wr, &bad);
		ops->post_recv(p->a->ci, &rwr, &rbad);
		ops->poll_cq(p->acq->ci, 16, wc, &count);
	}
	return NULL;
}

/* The peer of busy queue pairs is reset, put into Error, connected and destroyed, repeatedly. */
START_TEST(the_peer_of_a_busy_queue_pair_goes_and_comes)
{
	struct qp_options o = { .timeout = 3, .retry_cnt = 7 };
	struct pair p;
	pthread_t thread;
	uint32_t i, x = 5;

	pair_up(&p, &o, 16384);
	atomic_store(&stopped, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, keep_busy, &p), 0);
	for (i = 0; i < 100 * effort(); i++) {
		struct ib_sge in = sge_of(p.bm, 8192, 3000);

		switch (next(&x) % 3) {
		case 0:
			ck_assert_int_eq(modify(p.b, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
			ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			break;
		case 1:
			ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			break;
		case 2:
			free_qp(p.b);
			p.b = new_qp(&hca[1], p.bcq, p.bcq, &o);
			break;
		}
		ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
		connect_qps(p.a, p.b, &o);
		post_recv(p.b, 1, &in, 1);
		sched_yield();
	}
	atomic_store(&stopped, true);
	pthread_join(thread, NULL);
	pair_down(&p);
}
END_TEST

/* Two threads destroy two connected queue pairs at the same time, in the middle of their traffic. */
static void *destroy_one(void *arg)
{
	free_qp(arg);
	return NULL;
}

START_TEST(both_ends_are_destroyed_at_once)
{
	struct pair p;
	pthread_t thread;
	uint32_t i, j;

	for (i = 0; i < 100 * effort(); i++) {
		pair_up(&p, &(struct qp_options){ .timeout = 3 }, 1 << 20);
		for (j = 0; j < 8; j++) {
			rdma(&p, j % 2 ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ, j, 0, 0, (1 << 20) - j);
		}
		ck_assert_int_eq(pthread_create(&thread, NULL, destroy_one, p.b), 0);
		free_qp(p.a);
		pthread_join(thread, NULL);
		free_cq(p.acq);
		free_cq(p.bcq);
		free_mr(p.am); /* no thread uses the memory any more: sanitizers would report a use */
		free_mr(p.bm);
	}
}
END_TEST

/* A region is deregistered while peers write to it: the writes fail, and after the call no thread uses the memory. */
START_TEST(deregistration_waits_for_the_copies_that_use_the_memory)
{
	struct pair p;
	struct mr *spare;
	pthread_t thread;
	uint32_t i;

	for (i = 0; i < 60 * effort(); i++) {
		pair_up(&p, &(struct qp_options){ .timeout = 3 }, 1 << 16);
		atomic_store(&stopped, false);
		ck_assert_int_eq(pthread_create(&thread, NULL, keep_busy, &p), 0);
		sched_yield();
		spare = p.bm;
		ops->deregister_mr(spare->ci);
		memset(spare->buf, 0x5a, spare->size); /* would race with a copy that still runs */
		ck_assert_int_eq(spare->buf[100], 0x5a);
		atomic_store(&stopped, true);
		pthread_join(thread, NULL);
		ck_assert_int_eq(spare->buf[100], 0x5a);
		al_free(spare->ci);
		free(spare->buf);
		free(spare);
		free_qp(p.a);
		free_qp(p.b);
		free_cq(p.acq);
		free_cq(p.bcq);
		free_mr(p.am);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: load");
	TCase *t = tcase_create("load");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, random_traffic_on_many_threads_is_exact);
	tcase_add_test(t, many_threads_post_to_one_queue_pair);
	tcase_add_test(t, parallel_polls_lose_and_repeat_nothing);
	tcase_add_test(t, the_peer_of_a_busy_queue_pair_goes_and_comes);
	tcase_add_test(t, both_ends_are_destroyed_at_once);
	tcase_add_test(t, deregistration_waits_for_the_copies_that_use_the_memory);
	suite_add_tcase(s, t);
	return run_suite(s);
}
