/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent's processor time for an 8-byte write of a client with the software HCA's provider,
 * beside other such clients, which have a queue pair each and do nothing. Each idle client is
 * another process of this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <signal.h>

#include "test/bench/bench.h"
#include "test/bench/growth.h"

#define OBJECTS (bench_quick ? 100u : 1000u) /* of a client that is killed */
#define WRITES (bench_quick ? 100u : 5000u)

void growth_idle_client(const char *agent, unsigned int objects)
{
	const struct al_open_attr attr = { .agent = agent };
	struct al_cq_init cq = { .cqe = 1 };
	struct bench_side side;
	al_cq_h extra;
	uint32_t qpn;
	al_h al;

	bench_must(al_open(&attr, &al));
	bench_sides_open(al, &side, 1, 2);
	bench_make_qp(&side, 1, &qpn);
	for (unsigned int i = 0; i < objects; i++)
		bench_must(al_create_cq(side.pd, &cq, NULL, NULL, NULL, &extra));
	if (write(STDOUT_FILENO, "", 1) != 1)
		bench_fatal("the benchmark has gone");
	for (;;)
		pause();
}

void growth_start_clients(const char *agent, pid_t *pids, unsigned int num, unsigned int objects)
{
	char ready, text[16];
	int fd[2];

	snprintf(text, sizeof(text), "%u", objects);
	if (pipe(fd))
		bench_fatal("pipe: %m");
	for (unsigned int i = 0; i < num; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			dup2(fd[1], STDOUT_FILENO);
			execl("/proc/self/exe", "growth", "--objects", text, "--idle", agent, NULL);
			_exit(127);
		}
		if (pids[i] < 0 || read(fd[0], &ready, 1) != 1)
			bench_fatal("idle client %u does not start", i);
	}
	close(fd[0]);
	close(fd[1]);
}

void growth_end_clients(const pid_t *pids, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* ns */
static double processor_time_of(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		bench_fatal("the agent's processor time can not be read");
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double write_beside(unsigned int idle)
{
	const char *agent = bench_agent_start();
	struct bench_buf buf[2];
	struct bench_link link;
	struct ib_sge sge;
	struct ib_send_wr wr = { .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IB_WR_RDMA_WRITE,
				 .send_flags = IB_SEND_SIGNALED };
	const unsigned int num = WRITES;
	const struct ib_send_wr *bad;
	pid_t *pids = calloc(idle, sizeof(*pids));
	al_qp_h qp[2];
	double took;

	if (!pids)
		bench_fatal("out of memory");
	setenv("IBAL_UVP_PATH", UVP_DIR, 1);
	growth_start_clients(agent, pids, idle, 0);
	bench_link_open_as(&link, &(struct al_open_attr){ .agent = agent }, 4);
	bench_connect(&link, 2, qp);
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_make(link.side[i].pd, 4096, &buf[i]);
	sge = (struct ib_sge){ (uintptr_t)buf[0].addr, 8, buf[0].lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)buf[1].addr;
	wr.wr.rdma.rkey = buf[1].rkey;
	took = processor_time_of(bench_agent_pid());
	for (unsigned int i = 0; i < num; i++) {
		bench_must(al_post_send(qp[0], &wr, &bad));
		bench_drain(link.side[0].cq, 1);
	}
	took = (processor_time_of(bench_agent_pid()) - took) / num;
	for (unsigned int i = 0; i < 2; i++) {
		bench_destroy(al_destroy_qp, qp[i]);
		bench_buf_free(&buf[i]);
	}
	bench_link_close(&link);
	growth_end_clients(pids, idle);
	free(pids);
	bench_agent_stop();
	return took;
}

/* The completion queues of all clients. */
static uint32_t count_cqs(const struct al_snapshot *snap)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < snap->num_cas; i++)
		for (uint32_t j = 0; j < snap->cas[i].num_counts; j++)
			if (snap->cas[i].counts[j].type == AL_OBJ_CQ)
				sum += snap->cas[i].counts[j].now;
	return sum;
}

/*
 * The agent's processor time for each object of clients that are killed at once: from the kill
 * until none of their objects is left, while this process makes and destroys objects of its own.
 */
static double kill_at_once(unsigned int num)
{
	const char *agent = bench_agent_start();
	const struct al_open_attr attr = { .agent = agent };
	pid_t *pids = calloc(num, sizeof(*pids));
	struct al_snapshot *snap;
	double took, longest = 0, start;
	struct bench_side side;
	uint32_t left;
	al_pd_h pd;
	al_h al;

	if (!pids)
		bench_fatal("out of memory");
	setenv("IBAL_UVP_PATH", "", 1);
	growth_start_clients(agent, pids, num, OBJECTS);
	bench_must(al_open(&attr, &al));
	bench_sides_open(al, &side, 1, 2);
	took = processor_time_of(bench_agent_pid());
	for (unsigned int i = 0; i < num; i++)
		kill(pids[i], SIGKILL);
	do {
		start = bench_now();
		bench_must(al_alloc_pd(side.ca, NULL, &pd));
		start = bench_now() - start;
		longest = start > longest ? start : longest;
		bench_destroy(al_dealloc_pd, pd);
		bench_must(al_snapshot(al, &snap));
		left = count_cqs(snap);
		al_free_snapshot(snap);
	} while (left > 1);
	took = (processor_time_of(bench_agent_pid()) - took) / num / OBJECTS;
	for (unsigned int i = 0; i < num; i++)
		waitpid(pids[i], NULL, 0);
	printf("# meanwhile a create took %.1f ms at most\n", longest / 1e6);
	free(pids);
	bench_destroy(al_close, al);
	bench_agent_stop();
	return took;
}

const struct growth growth_idle_clients = {
	"clients.idle", "idle clients", "ns", { 1, 10, 100, 900 }, write_beside
};
const struct growth growth_killed_clients = {
	"clients.killed", "clients at once", "ns", { 1, 10, 100 }, kill_at_once
};
