/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * strace_client --client posts PAIRS SOCKET: a client of the agent at that socket. It posts so many
 * pairs of requests, a receive and a send, and polls their completions, for strace.sh. It prints
 * the number of polls.
 */
#include "test/e2e/agent.h"

#include <inttypes.h>

#define BATCH 50

/* Memory that client and agent share, so that nothing is copied from process to process. */
static void share_memory(struct test_end *end, struct test_end *shared)
{
	struct al_mr_init mr = { .length = TEST_MEM, .access = TEST_ALL_ACCESS };
	uint64_t dma;

	*shared = *end;
	ck_ok(al_dma_alloc_coherent(end->ca, TEST_MEM, &mr.addr, &dma));
	ck_ok(al_reg_mr(end->pd, &mr, NULL, &shared->lkey, &shared->rkey, &shared->mr));
	shared->mem = mr.addr;
}

static void posts(int pairs)
{
	al_h al = agent_open();
	struct test_end made[2], end[2];
	uint32_t count, have;
	uint64_t polls = 0;
	bool good = true;
	struct ib_wc wc;

	test_make_pair(al, made);
	for (int i = 0; i < 2; i++)
		share_memory(&made[i], &end[i]);
	/* no assertions of Check in here, because they make system calls */
	for (int left = pairs; left > 0 && good; left -= BATCH) {
		for (int i = 0; i < BATCH && good; i++)
			good = !test_post_recv(&end[1], 1, 0, 8) &&
			       !test_post_send(&end[0], 2, 64, 8);
		for (have = 0; good && have < 2 * BATCH; have += count) {
			good = !al_poll_cq(end[++polls % 2].cq, 1, &wc, &count);
			good = good && (!count || !wc.status);
		}
	}
	ck_assert(good);
	for (int i = 0; i < 2; i++)
		test_free_end(&made[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	printf("%" PRIu64 "\n", polls);
}

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "posts", posts }, { NULL, NULL } };

	agent_be_client(argc, argv, clients);
	return EXIT_FAILURE;
}
