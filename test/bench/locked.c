/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Locked operations of an 8-byte write on the loop link, counted and not timed: a child makes the
 * writes one instruction at a time, and this process looks at each instruction. Post and poll are
 * counted, with a completion for every 16th write. Counted on x86-64 only: on arm64 an atomic
 * operation may be a loop that never ends when each of its instructions is a stop.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"

#define NAME         "loop.write.8B.locked"
#define MOST         12 /* locked operations of a write */
#define BYTES        8
#define WINDOW       64
#define SIGNAL_EVERY 16
#define WARM_UP      1024
#define WRITES       160 /* that are counted */

#ifdef __x86_64__

struct writer {
	struct bench_link link;
	al_qp_h qp[2];
	struct bench_buf buf[2];
};

/* The child calls these around what is counted. */
static __attribute__((noinline)) void begin_counting(void)
{
	__asm__ volatile("");
}

static __attribute__((noinline)) void end_counting(void)
{
	__asm__ volatile(" ");
}

static void write_some(const struct writer *w, unsigned int n)
{
	struct ib_sge sge = { (uintptr_t)w->buf[0].addr, BYTES, w->buf[0].lkey };
	struct ib_send_wr wr = { .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IB_WR_RDMA_WRITE,
				 .wr.rdma = { (uintptr_t)w->buf[1].addr, w->buf[1].rkey } };
	const struct ib_send_wr *bad;

	for (unsigned int sent = 0; sent < n;) {
		wr.send_flags = ++sent % SIGNAL_EVERY ? 0 : IB_SEND_SIGNALED;
		bench_must(al_post_send(w->qp[0], &wr, &bad));
		if (!(sent % SIGNAL_EVERY))
			bench_drain(w->link.side[0].cq, 1);
	}
}

static void be_counted(void)
{
	struct writer w;

	bench_link_open(&w.link, 2 * WINDOW);
	bench_connect(&w.link, WINDOW, w.qp);
	for (unsigned int i = 0; i < 2; i++)
		bench_buf_make(w.link.side[i].pd, BYTES, &w.buf[i]);
	write_some(&w, WARM_UP);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(EXIT_FAILURE);
	raise(SIGSTOP);
	begin_counting();
	write_some(&w, WRITES);
	end_counting();
	_exit(EXIT_SUCCESS);
}

/* A lock prefix, an exchange with memory, which locks without one, or a full fence. */
static bool is_locked(const uint8_t code[16])
{
	bool lock = false;
	unsigned int i = 0;

	for (; i < 8; i++) {
		lock |= code[i] == 0xf0;
		if (code[i] != 0xf0 && code[i] != 0x66 && code[i] != 0x67 && code[i] != 0xf2 &&
		    code[i] != 0xf3 && code[i] != 0x2e && code[i] != 0x3e && code[i] != 0x64 &&
		    code[i] != 0x65)
			break;
	}
	if ((code[i] & 0xf0) == 0x40) /* REX */
		i++;
	if ((code[i] == 0x86 || code[i] == 0x87) && code[i + 1] < 0xc0)
		return true;
	return lock || (code[i] == 0x0f && code[i + 1] == 0xae && code[i + 2] == 0xf0);
}

/* Lets the child make one instruction. False: the child has ended. */
static bool step(pid_t child)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) || waitpid(child, &status, 0) != child)
		bench_fatal("a process can not be stepped through: %m");
	return WIFSTOPPED(status);
}

/* The locked operations from begin_counting() to end_counting(). */
static unsigned int count(pid_t child)
{
	struct user_regs_struct regs;
	unsigned int locked = 0;
	bool counting = false;
	uint8_t code[16];

	while (step(child)) {
		struct iovec here = { code, sizeof(code) }, there = { NULL, sizeof(code) };

		if (ptrace(PTRACE_GETREGS, child, NULL, &regs))
			bench_fatal("registers can not be read: %m");
		if (regs.rip == (uintptr_t)end_counting)
			return locked;
		counting |= regs.rip == (uintptr_t)begin_counting;
		if (!counting)
			continue;
		there.iov_base = (void *)(uintptr_t)regs.rip;
		if (process_vm_readv(child, &here, 1, &there, 1, 0) <= 0)
			bench_fatal("an instruction can not be read: %m");
		locked += is_locked(code);
	}
	bench_fatal("the process that is counted has failed");
}

void bench_locked(void)
{
	unsigned int locked;
	pid_t child;
	int status;

	if (!bench_wanted(NAME))
		return;
	fflush(NULL);
	child = fork();
	if (!child)
		be_counted();
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		bench_fatal("the process that is to be counted does not start");
	locked = count(child);
	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	bench_report(&(struct bench_row){ NAME, (double)locked / WRITES, "ops", NAN, NAN,
					  TARGET_VALUE_MOST, MOST });
}

#else

void bench_locked(void)
{
	if (bench_wanted(NAME))
		puts("# " NAME ": locked operations are counted on x86-64 only");
}

#endif
