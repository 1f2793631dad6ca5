/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The cost of an agent in between: an ald of the benchmark's own. The far end of the bandwidth test is another
 * process, which runs this program too. The cost of the clients' data path is in user.c.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define CALLS   200
#define RECORD  64 /* bytes in each direction */
#define GIB     (1ull << 30)
#define SIZE    (1u << 20)
#define BUFFERS 4
#define WINDOW  4

static const char *path; /* of the agent's socket */

/* ----------------------------------------------------------------- round trips */

struct round_trip {
	const struct bench_link *link;
	int echo;
};

/* Starts a process that returns each message, until the other end is closed. */
static int start_echo(pid_t *pid)
{
	char record[RECORD];
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		bench_fatal("socketpair: %m");
	*pid = fork();
	if (!*pid) {
		close(fd[0]);
		while (recv(fd[1], record, sizeof(record), 0) == sizeof(record) &&
		       send(fd[1], record, sizeof(record), MSG_NOSIGNAL) == sizeof(record))
			;
		_exit(0);
	}
	close(fd[1]);
	return fd[0];
}

static double bare_round_trip(void *arg, unsigned int n)
{
	const struct round_trip *t = arg;
	char record[RECORD] = { 0 };
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		if (send(t->echo, record, sizeof(record), 0) != sizeof(record) ||
		    recv(t->echo, record, sizeof(record), 0) != sizeof(record))
			bench_fatal("the echo has gone");
	return (bench_now() - start) / n;
}

static double control_verb(void *arg, unsigned int n)
{
	const struct round_trip *t = arg;
	struct al_cq_attr attr;
	double start = bench_now();

	for (unsigned int i = 0; i < n; i++)
		bench_must(al_query_cq(t->link->side[0].cq, &attr));
	return (bench_now() - start) / n;
}

/* The other end, an agent or the echo, on this thread's processor or on another one. */
static void report_control(const char *name, const struct bench_link *link, bool apart,
			   enum bench_target kind)
{
	struct round_trip t = { link, -1 };
	struct bench_pair pair = { control_verb, bare_round_trip, &t, CALLS, CALLS };
	struct bench_result result;
	pid_t echo;

	if (!bench_wanted(name))
		return;
	bench_place(0, bench_cpu(0));
	t.echo = start_echo(&echo);
	bench_place(echo, bench_cpu(apart));
	bench_place(bench_agent_pid(), bench_cpu(apart));
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, result.value, "ns", result.reference, result.ratio,
					  kind, 1.5, bench_where(apart) });
	bench_place(bench_agent_pid(), -1);
	bench_place(0, -1);
	close(t.echo);
	waitpid(echo, NULL, 0);
}

/* ---------------------------------------------------------- opening, registration */

/*
 * Times an opening in a process that has no connection to the agent yet: a new process of this program, which reports
 * the time.
 */
static double open_anew(void *arg, unsigned int n)
{
	double sum = 0, took;
	pid_t pid;
	int fd[2];

	for (unsigned int i = 0; i < n; i++) {
		if (pipe(fd))
			bench_fatal("pipe: %m");
		pid = fork();
		if (!pid) {
			dup2(fd[1], 1);
			execl("/proc/self/exe", "bench", "--agent", (const char *)arg, NULL);
			_exit(127);
		}
		close(fd[1]);
		if (read(fd[0], &took, sizeof(took)) != sizeof(took))
			bench_fatal("a process that was to open the Access Layer did not");
		close(fd[0]);
		waitpid(pid, NULL, 0);
		sum += took;
	}
	return sum / n;
}

void bench_agent_open(const char *agent)
{
	const struct al_open_attr attr = { .agent = agent };
	double took = bench_now();
	al_h al;

	bench_must(al_open(&attr, &al));
	took = bench_now() - took;
	_exit(write(1, &took, sizeof(took)) == sizeof(took) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void report_open(void)
{
	struct bench_pair pair = { open_anew, NULL, (void *)path, 1, 0 };
	unsigned int reps = bench_reps;
	struct bench_result result;

	if (!bench_wanted("agent.open"))
		return;
	bench_reps = reps < 41 ? reps : 41;
	bench_compare(&pair, &result);
	bench_reps = reps;
	bench_report(&(struct bench_row){ "agent.open", result.value / 1e3, "us", NAN, NAN,
					  TARGET_NONE, 0, BENCH_FREE });
}

struct registration {
	al_pd_h pd[2];
	void *mem;
};

static double register_one(const struct registration *r, int which)
{
	struct al_mr_init init = { .addr = r->mem, .length = GIB, .access = IB_ACCESS_LOCAL_WRITE };
	double start = bench_now();
	uint32_t lkey, rkey;
	al_mr_h mr;

	bench_must(al_reg_mr(r->pd[which], &init, NULL, &lkey, &rkey, &mr));
	start = bench_now() - start;
	bench_destroy(al_dereg_mr, mr);
	return start;
}

static double register_by_agent(void *arg, unsigned int n)
{
	(void)n;
	return register_one(arg, 0);
}

static double register_here(void *arg, unsigned int n)
{
	(void)n;
	return register_one(arg, 1);
}

/* All pages of the 1 GiB are in memory. */
static void report_registration(const struct bench_link *link, const struct bench_link *plain)
{
	struct registration r = { { link->side[0].pd, plain->side[0].pd }, NULL };
	struct bench_pair pair = { register_by_agent, register_here, &r, 1, 1 };
	unsigned int reps = bench_reps;
	struct bench_result result;

	if (!bench_wanted("agent.reg.1GiB"))
		return;
	r.mem = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r.mem == MAP_FAILED)
		bench_fatal("1 GiB: %m");
	bench_reps = reps < 9 ? reps : 9;
	bench_compare(&pair, &result);
	bench_reps = reps;
	bench_report(&(struct bench_row){ "agent.reg.1GiB", result.value / 1e3, "us",
					  result.reference / 1e3, result.ratio, TARGET_NONE, 0,
					  BENCH_AGENT });
	munmap(r.mem, GIB);
}

/* ------------------------------------------------------------------- bandwidth */

/* The numbers that the two ends exchange. */
struct place {
	uint64_t addr;
	uint32_t rkey, qpn;
	uint16_t lid;
};

struct end {
	struct bench_link link;
	struct bench_side side; /* the HCA in use */
	uint64_t dma;
	al_qp_h qp;
	al_mr_h mr;
	uint8_t *mem;
	uint32_t lkey;
	struct place there;
};

/*
 * One end, on HCA `which`, connected with the end at the other side of the socket. Both the process
 * and the agent map shared memory. Private memory is the process's, and the agent copies from one
 * process to the other.
 */
static void make_end(struct end *end, const char *agent, unsigned int which, bool private, int fd)
{
	struct al_mr_init mr = { .length = BUFFERS * SIZE, .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE };
	struct place here = { 0 };
	void *mem;

	bench_link_open_as(&end->link, &(struct al_open_attr){ .agent = agent }, 4 * WINDOW);
	end->side = end->link.side[which];
	if (private)
		mem = aligned_alloc(4096, mr.length);
	else
		bench_must(al_dma_alloc_coherent(end->side.ca, mr.length, &mem, &end->dma));
	if (!mem)
		bench_fatal("out of memory");
	memset(mem, 0x5a, mr.length);
	end->mem = mr.addr = mem;
	bench_must(al_reg_mr(end->side.pd, &mr, NULL, &end->lkey, &here.rkey, &end->mr));
	end->qp = bench_make_qp(&end->side, WINDOW, &here.qpn);
	here.addr = (uintptr_t)mem;
	here.lid = end->side.lid;
	if (send(fd, &here, sizeof(here), 0) != sizeof(here) || recv(fd, &end->there, sizeof(here), MSG_WAITALL) != sizeof(here))
		bench_fatal("the far end has gone");
	bench_to_rts(end->qp, end->there.qpn, end->there.lid);
}

void bench_agent_far(const char *agent, int fd)
{
	struct end end;
	char byte;

	if (recv(fd, &byte, 1, 0) != 1)
		bench_fatal("the near end has gone");
	make_end(&end, agent, 1, byte, fd);
	/* each byte received asks for a check; the closed socket ends the loop */
	while (send(fd, "", 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1)
		for (unsigned int i = 0; i < BUFFERS; i++)
			if (end.mem[(i + 1) * SIZE - 1] != (uint8_t)byte)
				bench_fatal("message %u has not arrived whole", i);
	_exit(0);
}

struct two {
	struct end end;
	uint8_t *target; /* target of the copy */
	uint8_t round;
	int fd;
};

static void stamp(struct two *t)
{
	t->round++;
	for (unsigned int i = 0; i < BUFFERS; i++)
		memset(t->end.mem + (i + 1) * SIZE - 8, t->round, 8);
}

static double copy(void *arg, unsigned int n)
{
	struct two *t = arg;
	double start;

	stamp(t);
	start = bench_now();
	for (unsigned int i = 0; i < n; i++) {
		memcpy(t->target + i % BUFFERS * SIZE, t->end.mem + i % BUFFERS * SIZE, SIZE);
		__asm__ volatile("" ::: "memory"); /* the compiler must not omit a copy */
	}
	return (bench_now() - start) / n;
}

static double write_to_other(void *arg, unsigned int n)
{
	struct two *t = arg;
	unsigned int sent = 0, done = 0;
	double start;
	char byte;

	stamp(t);
	start = bench_now();
	while (done < n) {
		struct ib_wc wc[WINDOW];
		uint32_t count;

		for (; sent < n && sent - done < WINDOW; sent++) {
			size_t at = (size_t)(sent % BUFFERS) * SIZE;
			struct ib_sge sge = { (uintptr_t)t->end.mem + at, SIZE, t->end.lkey };
			struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE,
						 .send_flags = IB_SEND_SIGNALED,
						 .wr.rdma = { t->end.there.addr + at, t->end.there.rkey } };
			const struct ib_send_wr *bad;

			bench_must(al_post_send(t->end.qp, &wr, &bad));
		}
		bench_must(al_poll_cq(t->end.side.cq, WINDOW, wc, &count));
		for (uint32_t i = 0; i < count; i++)
			if (wc[i].status != IB_WC_SUCCESS)
				bench_fatal("completion: %s", al_wc_status_str(wc[i].status));
		done += count;
	}
	start = bench_now() - start;
	if (send(t->fd, &t->round, 1, 0) != 1 || recv(t->fd, &byte, 1, 0) != 1)
		bench_fatal("the far end has gone");
	return start / n;
}

static pid_t start_far(int *fd)
{
	char number[16];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		bench_fatal("socketpair: %m");
	snprintf(number, sizeof(number), "%d", ends[1]);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fcntl(ends[1], F_SETFD, 0);
		execl("/proc/self/exe", "bench", "--far", number, "--agent", path, NULL);
		_exit(127);
	}
	close(ends[1]);
	*fd = ends[0];
	return pid;
}

static void report_two_clients(const char *name, bool private)
{
	struct bench_pair pair = { write_to_other, copy, NULL, BUFFERS, BUFFERS };
	struct bench_result result;
	struct two t = { 0 };
	pid_t far;
	char byte = private;

	if (!bench_wanted(name))
		return;
	far = start_far(&t.fd);
	if (send(t.fd, &byte, 1, 0) != 1)
		bench_fatal("the far end has gone");
	make_end(&t.end, path, 0, private, t.fd);
	if (recv(t.fd, &byte, 1, 0) != 1)
		bench_fatal("the far end has gone");
	t.target = aligned_alloc(4096, BUFFERS * SIZE);
	if (!t.target)
		bench_fatal("out of memory");
	memset(t.target, 0x5a, BUFFERS * SIZE);
	pair.arg = &t;
	bench_compare(&pair, &result);
	bench_report(&(struct bench_row){ name, SIZE / result.value, "GB/s",
					  SIZE / result.reference, 1 / result.ratio, TARGET_NONE, 0,
					  BENCH_AGENT });
	free(t.target);
	close(t.fd);
	waitpid(far, NULL, 0);
	bench_destroy(al_destroy_qp, t.end.qp);
	bench_destroy(al_dereg_mr, t.end.mr);
	if (private)
		free(t.end.mem);
	else
		bench_must(
			al_dma_free_coherent(t.end.side.ca, BUFFERS * SIZE, t.end.mem, t.end.dma));
	bench_link_close(&t.end.link);
}

void bench_agent(void)
{
	struct bench_link link, plain;

	if (!bench_wanted("agent.control.1cpu") && !bench_wanted("agent.control.2cpus") &&
	    !bench_wanted("agent.open") && !bench_wanted("agent.reg.1GiB") &&
	    !bench_wanted("agent.write.1MiB") && !bench_wanted("agent.write.1MiB.private"))
		return;
	path = bench_agent_start();
	report_open();
	bench_link_open_as(&link, &(struct al_open_attr){ .agent = path }, 16);
	bench_link_open_as(&plain, &(struct al_open_attr){ .agent = "off" }, 16);
	report_control("agent.control.1cpu", &link, false, TARGET_RATIO_MOST);
	report_control("agent.control.2cpus", &link, true, TARGET_NONE);
	report_registration(&link, &plain);
	bench_link_close(&plain);
	bench_link_close(&link);
	report_two_clients("agent.write.1MiB", false);
	report_two_clients("agent.write.1MiB.private", true);
	bench_agent_stop();
}
