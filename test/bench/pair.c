/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ping-pong of two programs, clients of one agent with the software HCA's provider, each of which
 * polls: both on one processor, and on two. The agent is where the scheduler puts it. The reference
 * is a ping-pong of the same two programs by a socket, where each sleeps until the other has sent.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define BYTES 8
#define DEPTH 4
#define TURNS 50 /* per repetition */

struct card {
	uint32_t qpn;
	uint16_t lid;
};

struct end {
	struct bench_link link;
	const struct bench_side *side;
	struct bench_buf buf;
	al_qp_h qp;
	int fd;
};

/* What the near end asks the far end for. */
struct request {
	unsigned int turns;
	bool by_socket;
	int cpu;
};

static void send_all(int fd, const void *from, size_t size)
{
	if (send(fd, from, size, MSG_NOSIGNAL) != (ssize_t)size)
		bench_fatal("the other end has gone");
}

static void receive_all(int fd, void *to, size_t size)
{
	if (recv(fd, to, size, 0) != (ssize_t)size)
		bench_fatal("the other end has gone");
}

static void post_receive(const struct end *end)
{
	struct ib_sge sge = { (uintptr_t)end->buf.addr, BYTES, end->buf.lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	bench_must(al_post_recv(end->qp, &wr, &bad));
}

static void make_end(struct end *end, const char *agent, unsigned int which, int fd)
{
	struct card here = { 0 }, there;

	bench_link_open_as(&end->link, &(struct al_open_attr){ .agent = agent }, 4 * DEPTH);
	end->side = &end->link.side[which];
	end->fd = fd;
	bench_buf_make(end->side->pd, BYTES, &end->buf);
	end->qp = bench_make_qp(end->side, DEPTH, &here.qpn);
	here.lid = end->side->lid;
	send_all(fd, &here, sizeof(here));
	receive_all(fd, &there, sizeof(there));
	bench_to_rts(end->qp, there.qpn, there.lid);
	for (unsigned int i = 0; i < DEPTH; i++)
		post_receive(end);
}

/* Polls until the completion of this end's send, if it has sent, and of a receive have come. */
static void await(const struct end *end, bool *sent)
{
	bool received = false;

	while (!received || *sent) {
		struct ib_wc wc;
		uint32_t count;

		bench_must(al_poll_cq(end->side->cq, 1, &wc, &count));
		if (!count)
			continue;
		if (wc.status != IB_WC_SUCCESS)
			bench_fatal("completion: %s", al_wc_status_str(wc.status));
		if (wc.opcode == IB_WC_SEND)
			*sent = false;
		else
			received = true;
	}
	post_receive(end);
}

static void post(const struct end *end)
{
	struct ib_sge sge = { (uintptr_t)end->buf.addr, BYTES, end->buf.lkey };
	struct ib_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED
	};
	const struct ib_send_wr *bad;

	bench_must(al_post_send(end->qp, &wr, &bad));
}

/* One end's part of the turns. */
static void play(const struct end *end, const struct request *request, bool first)
{
	uint64_t ball = 0;
	bool sent = false;

	for (unsigned int i = 0; i < request->turns; i++) {
		if (request->by_socket) {
			if (first)
				send_all(end->fd, &ball, sizeof(ball));
			receive_all(end->fd, &ball, sizeof(ball));
			if (!first)
				send_all(end->fd, &ball, sizeof(ball));
			continue;
		}
		if (first) {
			post(end);
			sent = true;
		}
		await(end, &sent);
		if (!first) {
			post(end);
			sent = true;
		}
	}
	if (sent)
		bench_drain(end->side->cq, 1);
}

void bench_pair_far(const char *agent, int fd)
{
	struct request request;
	struct end end;

	make_end(&end, agent, 1, fd);
	while (recv(fd, &request, sizeof(request), 0) == sizeof(request)) {
		bench_place(0, request.cpu);
		send_all(fd, "", 1);
		play(&end, &request, false);
	}
	_exit(EXIT_SUCCESS);
}

/* ---------------------------------------------------------------------- rows */

struct pair {
	struct end end;
	int far_cpu;
};

static double turns(const struct pair *p, unsigned int n, bool by_socket)
{
	const struct request request = { n, by_socket, p->far_cpu };
	double start;
	char ready;

	send_all(p->end.fd, &request, sizeof(request));
	receive_all(p->end.fd, &ready, 1);
	start = bench_now();
	play(&p->end, &request, true);
	return (bench_now() - start) / (2 * n);
}

static double by_queue_pair(void *arg, unsigned int n)
{
	return turns(arg, n, false);
}

static double by_socket(void *arg, unsigned int n)
{
	return turns(arg, n, true);
}

static pid_t start_far(const char *agent, int *fd)
{
	char number[16];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		bench_fatal("socketpair: %m");
	snprintf(number, sizeof(number), "%d", ends[1]);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fcntl(ends[1], F_SETFD, 0);
		execl("/proc/self/exe", "bench", "--pair", number, "--agent", agent, NULL);
		_exit(127);
	}
	close(ends[1]);
	*fd = ends[0];
	return pid;
}

/* limit: in microseconds, from one program to the other */
static void report(const char *name, struct pair *p, bool apart, double limit)
{
	struct bench_pair pair = { by_queue_pair, by_socket, p, TURNS, TURNS };
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	p->far_cpu = bench_cpu(apart);
	bench_place(0, bench_cpu(0));
	bench_compare(&pair, &result);
	bench_place(0, -1);
	bench_report(&(struct bench_row){ name, result.value / 1e3, "us", result.reference / 1e3,
					  result.ratio, TARGET_VALUE_MOST, limit,
					  bench_where(apart) });
}

void bench_pair(void)
{
	struct pair p = { 0 };
	const char *agent;
	pid_t far;
	int fd;

	if (!bench_wanted("pair.send.8B.1cpu") && !bench_wanted("pair.send.8B.2cpus"))
		return;
	setenv("IBAL_UVP_PATH", UVP_DIR, 1);
	agent = bench_agent_start();
	far = start_far(agent, &fd);
	make_end(&p.end, agent, 0, fd);
	report("pair.send.8B.1cpu", &p, false, 5);
	report("pair.send.8B.2cpus", &p, true, 3);
	close(fd);
	waitpid(far, NULL, 0);
	bench_destroy(al_destroy_qp, p.end.qp);
	bench_buf_free(&p.end.buf);
	bench_link_close(&p.end.link);
	bench_agent_stop();
}
