/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Large writes on the loop link, compared with memcpy of the same buffers in the same order, so that both find the
 * caches alike. The sources are written between repetitions, so that no copy is of unchanged data.
 */
#include <stdio.h>
#include <string.h>

#include "test/bench/bench.h"

#define BUFFERS      4   /* up to 8 MiB in all: a cache holds them */
#define COLD_BUFFERS 128 /* 256 MiB in all: no cache holds them */
#define WINDOW 4 /* outstanding messages */

struct bandwidth {
	struct bench_link link;
	al_qp_h qp[2];
	struct bench_buf buf[2]; /* `buffers` of size bytes each */
	unsigned int buffers;
	size_t size;
	uint8_t round;
};

static void stamp(struct bandwidth *b)
{
	b->round++;
	for (unsigned int i = 0; i < b->buffers; i++)
		memset(b->buf[0].addr + (i + 1) * b->size - 8, b->round, 8);
}

static void must_have_arrived(const struct bandwidth *b)
{
	for (unsigned int i = 0; i < b->buffers; i++)
		if (b->buf[1].addr[(i + 1) * b->size - 1] != b->round)
			bench_fatal("message %u has not arrived whole", i);
}

static double copy(void *arg, unsigned int n)
{
	struct bandwidth *b = arg;
	double start;

	stamp(b);
	start = bench_now();
	for (unsigned int i = 0; i < n; i++) {
		size_t at = i % b->buffers * b->size;

		memcpy(b->buf[1].addr + at, b->buf[0].addr + at, b->size);
		__asm__ volatile("" ::: "memory"); /* the compiler must not omit a copy */
	}
	start = bench_now() - start;
	must_have_arrived(b);
	return start / n;
}

static double write_large(void *arg, unsigned int n)
{
	struct bandwidth *b = arg;
	unsigned int sent = 0, done = 0;
	double start;

	stamp(b);
	start = bench_now();
	while (done < n) {
		struct ib_wc wc[WINDOW];
		uint32_t count;

		for (; sent < n && sent - done < WINDOW; sent++) {
			size_t at = sent % b->buffers * b->size;
			struct ib_sge sge = { (uintptr_t)b->buf[0].addr + at, (uint32_t)b->size, b->buf[0].lkey };
			struct ib_send_wr wr = {
				.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
				.wr.rdma = { (uintptr_t)b->buf[1].addr + at, b->buf[1].rkey },
			};
			const struct ib_send_wr *bad;

			bench_must(al_post_send(b->qp[0], &wr, &bad));
		}
		bench_must(al_poll_cq(b->link.side[0].cq, WINDOW, wc, &count));
		for (uint32_t i = 0; i < count; i++)
			if (wc[i].status != IB_WC_SUCCESS)
				bench_fatal("completion: %s", al_wc_status_str(wc[i].status));
		done += count;
	}
	start = bench_now() - start;
	must_have_arrived(b);
	return start / n;
}

static void report(const char *name, struct bandwidth *b, size_t size, unsigned int buffers,
		   enum bench_target kind, double target)
{
	unsigned int n = size < 1u << 20 ? 16 * buffers : buffers;
	struct bench_pair pair = { write_large, copy, b, n, n };
	struct bench_result result;
	double bytes = (double)size;

	if (!bench_wanted(name))
		return;
	b->size = size;
	b->buffers = buffers;
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_make(b->link.side[i].pd, buffers * size, &b->buf[i]);
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, bytes / result.value, "GB/s",
					  bytes / result.reference, 1 / result.ratio, kind,
					  target });
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_free(&b->buf[i]);
}

void bench_bandwidth(void)
{
	struct bandwidth b = { 0 };

	if (!bench_wanted("loop.write.64KiB") && !bench_wanted("loop.write.1MiB") &&
	    !bench_wanted("loop.write.1MiB.cold"))
		return;
	bench_link_open(&b.link, 4 * WINDOW);
	bench_connect(&b.link, WINDOW, b.qp);
	report("loop.write.64KiB", &b, 64 << 10, BUFFERS, TARGET_RATIO_LEAST, 0.7);
	report("loop.write.1MiB", &b, 1 << 20, BUFFERS, TARGET_RATIO_LEAST, 0.9);
	report("loop.write.1MiB.cold", &b, 1 << 20, COLD_BUFFERS, TARGET_NONE, 0);
	for (unsigned int i = 0; i < 2; i++)
		bench_destroy(al_destroy_qp, b.qp[i]);
	bench_link_close(&b.link);
}
