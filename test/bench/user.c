/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A client of an agent with the software HCA's provider, compared with a program that has the HCAs itself, and
 * (.socket) with a client without a provider, whose posts and polls are requests to the agent. A process looks for
 * its providers once, so the latter client is another process of this program, which runs tests when asked, and
 * reports their times.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define POLLS     10000
#define POSTS     64
#define CROSSINGS 100 /* polls that are requests, each of which takes some 10 us */

/* The objects of each role. */
struct bench_role {
	struct bench_link link;
	al_qp_h qp[2];
	struct bench_buf buf[2];
};

struct bench_roles {
	struct bench_role user, own;
	int plain; /* socket to the client without a provider */
};

static void role_make(struct bench_role *role, const char *agent_path)
{
	const struct al_open_attr attr = { .agent = agent_path };

	bench_link_open_as(&role->link, &attr, 4 * POSTS);
	bench_connect(&role->link, POSTS, role->qp);
	for (int i = 0; i < 2; i++)
		bench_buf_make(role->link.side[i].pd, 4096, &role->buf[i]);
}

static void role_end(struct bench_role *role)
{
	for (int i = 0; i < 2; i++) {
		bench_destroy(al_destroy_qp, role->qp[i]);
		bench_buf_free(&role->buf[i]);
	}
	bench_link_close(&role->link);
}

static double poll_empty(const struct bench_role *role, unsigned int n)
{
	struct ib_wc wc;
	uint32_t count;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(al_poll_cq(role->link.side[0].cq, 1, &wc, &count));
	return (bench_now() - start) / n;
}

static double user_poll(void *arg, unsigned int n)
{
	return poll_empty(&((struct bench_roles *)arg)->user, n);
}

static double own_poll(void *arg, unsigned int n)
{
	return poll_empty(&((struct bench_roles *)arg)->own, n);
}

/*
 * Writes of 8 bytes: one after the other (whole), or as many as the queue has room for, of which only the posts are
 * timed.
 */
static double write_some(const struct bench_role *role, unsigned int n, bool whole)
{
	struct ib_sge sge = { (uintptr_t)role->buf[0].addr, 8, role->buf[0].lkey };
	struct ib_send_wr wr = { .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IB_WR_RDMA_WRITE,
				 .send_flags = IB_SEND_SIGNALED,
				 .wr.rdma = { (uintptr_t)role->buf[1].addr, role->buf[1].rkey } };
	const struct ib_send_wr *bad;
	double start = bench_now(), taken;

	for (unsigned int i = 0; i < n; i++) {
		bench_must(al_post_send(role->qp[0], &wr, &bad));
		if (whole)
			bench_drain(role->link.side[0].cq, 1);
	}
	taken = bench_now() - start;
	if (!whole)
		bench_drain(role->link.side[0].cq, n);
	return taken / n;
}

static double user_write(void *arg, unsigned int n)
{
	return write_some(&((struct bench_roles *)arg)->user, n, true);
}

static double own_write(void *arg, unsigned int n)
{
	return write_some(&((struct bench_roles *)arg)->own, n, true);
}

static double user_post(void *arg, unsigned int n)
{
	return write_some(&((struct bench_roles *)arg)->user, n, false);
}

static double own_post(void *arg, unsigned int n)
{
	return write_some(&((struct bench_roles *)arg)->own, n, false);
}

/* --------------------------------------------------------------- without a provider */

struct bench_request {
	enum { POLL, WRITE, POST } what;
	unsigned int n;
};

static double do_one(const struct bench_role *role, const struct bench_request *request)
{
	return request->what == POLL ? poll_empty(role, request->n)
				     : write_some(role, request->n, request->what == WRITE);
}

void bench_user_plain(const char *agent, int fd)
{
	struct bench_request request;
	struct bench_role role;
	double took;

	role_make(&role, agent);
	while (recv(fd, &request, sizeof(request), 0) == sizeof(request)) {
		took = do_one(&role, &request);
		if (send(fd, &took, sizeof(took), MSG_NOSIGNAL) != sizeof(took))
			break;
	}
	role_end(&role);
	exit(EXIT_SUCCESS);
}

/* The caller's environment says that there is no provider. */
static int start_plain(const char *agent, pid_t *pid)
{
	char number[16];
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		bench_fatal("socketpair: %m");
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(number, sizeof(number), "%d", dup(fd[1])); /* this descriptor stays open */
		execl("/proc/self/exe", "bench", "--agent", agent, "--plain", number, NULL);
		_exit(127);
	}
	close(fd[1]);
	return fd[0];
}

static double ask_plain(void *arg, int what, unsigned int n)
{
	const struct bench_request request = { what, n };
	int fd = ((struct bench_roles *)arg)->plain;
	double took;

	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
	    recv(fd, &took, sizeof(took), 0) != sizeof(took))
		bench_fatal("the client without a provider has gone");
	return took;
}

static double plain_poll(void *arg, unsigned int n)
{
	return ask_plain(arg, POLL, n);
}

static double plain_write(void *arg, unsigned int n)
{
	return ask_plain(arg, WRITE, n);
}

static double plain_post(void *arg, unsigned int n)
{
	return ask_plain(arg, POST, n);
}

static void report(const char *name, const struct bench_pair *pair, enum bench_target kind,
		   double target)
{
	struct bench_result result;

	if (!bench_wanted(name))
		return;
	bench_compare(pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio,
					  kind, target, BENCH_AGENT });
}

void bench_user(void)
{
	static const char *const names[] = { "user.poll",           "user.post.8B",
					     "user.write.8B",       "user.poll.socket",
					     "user.post.8B.socket", "user.write.8B.socket" };
	struct bench_roles roles;
	bool wanted = false;
	const char *agent;
	pid_t plain;

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		wanted |= bench_wanted(names[i]);
	if (!wanted)
		return;
	agent = bench_agent_start();
	setenv("IBAL_UVP_PATH", "", 1);
	roles.plain = start_plain(agent, &plain);
	setenv("IBAL_UVP_PATH", UVP_DIR, 1);
	role_make(&roles.user, agent);
	role_make(&roles.own, "off");
	report("user.poll", &(struct bench_pair){ user_poll, own_poll, &roles, POLLS, POLLS },
	       TARGET_RATIO_MOST, 1.5);
	report("user.post.8B", &(struct bench_pair){ user_post, own_post, &roles, POSTS, POSTS },
	       TARGET_NONE, NAN);
	report("user.write.8B", &(struct bench_pair){ user_write, own_write, &roles, POSTS, POSTS },
	       TARGET_NONE, NAN);
	report("user.poll.socket",
	       &(struct bench_pair){ user_poll, plain_poll, &roles, POLLS, CROSSINGS },
	       TARGET_RATIO_MOST, 1);
	report("user.post.8B.socket",
	       &(struct bench_pair){ user_post, plain_post, &roles, POSTS, POSTS },
	       TARGET_RATIO_MOST, 1);
	report("user.write.8B.socket",
	       &(struct bench_pair){ user_write, plain_write, &roles, POSTS, POSTS }, TARGET_NONE,
	       NAN);
	close(roles.plain);
	waitpid(plain, NULL, 0);
	role_end(&roles.user);
	role_end(&roles.own);
	bench_agent_stop();
}
