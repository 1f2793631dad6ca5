/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Helpers for tests of the software HCA's provider. Each test runs embedded, with the provider, and
 * without a provider.
 */
#ifndef IBAL_TEST_AGENT_UVP_H
#define IBAL_TEST_AGENT_UVP_H

#include "test/e2e/agent.h"

enum role { EMBEDDED, WITH_PROVIDER, WITHOUT, ROLES };

static al_h al;
static struct test_end end[2];

/* Number of files that this process shares with the agent's module. */
static inline int shared_files(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:ibal-soft") != NULL;
	fclose(maps);
	return count;
}

static inline void begin(int role)
{
	if (role == EMBEDDED) {
		al = test_open();
		return;
	}
	ck_assert(!setenv("IBAL_UVP_PATH", role == WITHOUT ? "" : UVP_DIR, 1));
	agent_start("--mode", "666");
	al = agent_open();
}

static inline void begin_pair(int role)
{
	begin(role);
	test_make_pair(al, end);
	/* two doors; a completion queue and a queue pair of each end */
	ck_assert_int_eq(shared_files(), role == WITH_PROVIDER ? 6 : 0);
}

static inline void finish(void)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}

static inline void finish_pair(void)
{
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	finish();
}

static inline struct ib_sge sge_of(const struct test_end *e, uint32_t offset, uint32_t length)
{
	return (struct ib_sge){ (uintptr_t)e->mem + offset, length, e->lkey };
}

static inline void expect_empty(al_cq_h cq)
{
	struct ib_wc wc;
	uint32_t count = 7;

	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
	count = 7;
	ck_ok(al_peek_cq(cq, 5, &count));
	ck_assert_uint_eq(count, 0);
}

static inline void expect_count(al_cq_h cq, uint32_t want)
{
	struct timespec deadline = test_deadline();
	struct al_cq_attr attr;
	uint32_t count;

	do {
		ck_ok(al_peek_cq(cq, 1000, &count));
		ck_assert_msg(count == want || !test_expired(&deadline), "%u completions, not %u", count, want);
	} while (count != want);
	ck_ok(al_query_cq(cq, &attr));
	ck_assert_uint_eq(attr.count, want);
	ck_ok(al_peek_cq(cq, want - 1, &count));
	ck_assert_uint_eq(count, want - 1);
}

/* --------------------------------------------------------------- notifications */

static sem_t told;

static inline void on_completion(void *context)
{
	(void)context;
	sem_post(&told);
}

static inline void expect_told(int times)
{
	int value;

	while (times--)
		test_wait(&told);
	ck_assert(!sem_getvalue(&told, &value));
	ck_assert_int_eq(value, 0);
}

static inline al_arm armed(al_cq_h cq)
{
	struct al_cq_attr attr;

	ck_ok(al_query_cq(cq, &attr));
	return attr.armed;
}

/* Makes a second queue pair of end 0, whose completions are flushed receives or messages of end
 * 1. */
static inline al_cq_h make_watched(al_cq_notify how)
{
	struct al_cq_init init = { .cqe = 64, .notify = how };
	struct al_qp_init qp = { .qp_type = IB_QPT_RC, .cap = { 64, 64, 4, 4, 0 } };
	al_cq_h cq;

	sem_init(&told, 0, 0);
	ck_ok(al_destroy_qp(end[0].qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_cq(end[0].pd, &init, NULL, on_completion, NULL, &cq));
	qp.send_cq = qp.recv_cq = cq;
	ck_ok(al_create_qp(end[0].pd, &qp, NULL, NULL, &end[0].qp));
	ck_ok(al_qp_num(end[0].qp, &end[0].qpn));
	ck_ok(test_modify(end[1].qp, IB_QPS_RESET, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	test_connect(&end[0], &end[1]);
	for (uint64_t id = 0; id < 32; id++)
		ck_ok(test_post_recv(&end[0], id, 0, 8));
	return cq;
}

static inline void message(uint32_t flags)
{
	struct ib_sge sge = sge_of(&end[1], 0, 8);
	struct ib_send_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
				 .send_flags = IB_SEND_SIGNALED | flags };
	const struct ib_send_wr *bad;

	ck_ok(al_post_send(end[1].qp, &wr, &bad));
	test_poll_ok(end[1].cq, 7); /* received, then */
}

#endif
