/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The latency of a notification: from the post of a send to the moment when another thread, which
 * sleeps on a channel's descriptor, has taken the event. The reference is the same way by an
 * eventfd(2).
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define BYTES 8
#define TIMES 50 /* per repetition */

struct notify {
	struct bench_link link;
	al_channel_h channel;
	al_cq_h cq; /* of side 1's receives, with notifications by the channel */
	al_qp_h qp[2];
	struct bench_buf buf[2];
	int channel_fd, bell, back; /* the two last: eventfds to the sleeper, and from it */
	bool by_bell;
	_Atomic double woken; /* when the sleeper had its event */
	atomic_bool over;
};

static void ring(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		bench_fatal("eventfd: %m");
}

static void hear(int fd)
{
	uint64_t times;

	if (read(fd, &times, sizeof(times)) != sizeof(times))
		bench_fatal("eventfd: %m");
}

static void post_receive(struct notify *n)
{
	struct ib_sge sge = { (uintptr_t)n->buf[1].addr, BYTES, n->buf[1].lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	bench_must(al_post_recv(n->qp[1], &wr, &bad));
}

/* Takes the event, its completion, and makes ready for the next. */
static void take_event(struct notify *n)
{
	struct al_channel_event event;

	bench_must(al_channel_next(n->channel, &event));
	n->woken = bench_now();
	bench_drain(n->cq, 1);
	post_receive(n);
	bench_must(al_arm_cq(n->cq, AL_ARM_ANY, NULL));
}

static void *sleeper(void *arg)
{
	struct notify *n = arg;
	struct pollfd fds[] = { { n->channel_fd, POLLIN, 0 }, { n->bell, POLLIN, 0 } };

	bench_place(0, bench_cpu(0));
	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			bench_fatal("poll: %m");
		if (fds[0].revents) {
			take_event(n);
		} else {
			hear(n->bell);
			n->woken = bench_now();
			if (n->over)
				return NULL;
		}
		ring(n->back);
	}
}

static double latency(void *arg, unsigned int times)
{
	struct notify *n = arg;
	struct ib_sge sge = { (uintptr_t)n->buf[0].addr, BYTES, n->buf[0].lkey };
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED
	};
	const struct ib_send_wr *bad;
	double sum = 0;

	for (unsigned int i = 0; i < times; i++) {
		double start = bench_now();

		bench_must(al_post_send(n->qp[0], &wr, &bad));
		hear(n->back);
		sum += n->woken - start;
		bench_drain(n->link.side[0].cq, 1);
	}
	return sum / times;
}

static double bare_latency(void *arg, unsigned int times)
{
	struct notify *n = arg;
	double sum = 0;

	for (unsigned int i = 0; i < times; i++) {
		double start = bench_now();

		ring(n->bell);
		hear(n->back);
		sum += n->woken - start;
	}
	return sum / times;
}

static void report(const char *name, struct notify *n, bool apart)
{
	struct bench_pair pair = { latency, bare_latency, n, TIMES, TIMES };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	bench_place(0, bench_cpu(apart));
	bench_compare(&pair, &result);
	bench_place(0, -1);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio,
					  TARGET_RATIO_MOST, 2, bench_where(apart) });
}

static void make(struct notify *n)
{
	struct al_cq_init cq = { .cqe = 4 };
	uint32_t qpn[2];

	bench_link_open(&n->link, 4);
	bench_must(al_create_channel(n->link.al, NULL, &n->channel));
	bench_must(al_channel_fd(n->channel, &n->channel_fd));
	cq.channel = n->channel;
	bench_must(al_create_cq(n->link.side[1].pd, &cq, NULL, NULL, NULL, &n->cq));
	n->qp[0] = bench_make_qp(&n->link.side[0], 2, &qpn[0]);
	n->qp[1] = bench_make_qp(&(struct bench_side){ .pd = n->link.side[1].pd, .cq = n->cq }, 2,
				 &qpn[1]);
	for (unsigned int i = 0; i < 2; i++) {
		bench_to_rts(n->qp[i], qpn[!i], n->link.side[!i].lid);
		bench_buf_make(n->link.side[i].pd, BYTES, &n->buf[i]);
	}
	n->bell = eventfd(0, EFD_CLOEXEC);
	n->back = eventfd(0, EFD_CLOEXEC);
	if (n->bell < 0 || n->back < 0)
		bench_fatal("eventfd: %m");
	post_receive(n);
	bench_must(al_arm_cq(n->cq, AL_ARM_ANY, NULL));
}

void bench_notify(void)
{
	struct notify n = { 0 };
	pthread_t thread;

	if (!bench_wanted("notify.1cpu") && !bench_wanted("notify.2cpus"))
		return;
	make(&n);
	if (pthread_create(&thread, NULL, sleeper, &n))
		bench_fatal("a thread can not be started");
	report("notify.1cpu", &n, false);
	report("notify.2cpus", &n, true);
	n.over = true;
	ring(n.bell);
	pthread_join(thread, NULL);
	close(n.bell);
	close(n.back);
	for (unsigned int i = 0; i < 2; i++) {
		bench_destroy(al_destroy_qp, n.qp[i]);
		bench_buf_free(&n.buf[i]);
	}
	bench_destroy(al_destroy_cq, n.cq);
	bench_destroy(al_destroy_channel, n.channel);
	bench_link_close(&n.link);
}
