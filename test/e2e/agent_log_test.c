/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The agent's log: nobody who does not read it holds the agent, and no client fills it. */
#include "test/e2e/agent.h"

#include <fcntl.h>
#include <time.h>

#include "al/agent/log.h"

static int log_fd[2]; /* of the agent's standard error: what it wrote is read from the first */
static char text[1 << 20];
static size_t length;

static void start(void)
{
	int mine = dup(2);

	ck_assert_int_eq(pipe2(log_fd, O_CLOEXEC), 0);
	ck_assert_int_eq(fcntl(log_fd[0], F_SETFL, O_NONBLOCK), 0);
	dup2(log_fd[1], 2);
	agent_start(NULL, NULL);
	dup2(mine, 2);
	close(mine);
	length = 0;
}

/* Reads what the log has now. */
static void read_log(void)
{
	ssize_t n;

	while ((n = read(log_fd[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)n;
	text[length] = '\0';
}

static size_t lines_with(const char *words)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, words)); at++)
		count++;
	return count;
}

/* A completion queue of this client overflows, of which the software HCA writes an error. */
static void overflow_one(al_h al)
{
	struct al_cq_init init = { .cqe = 1 };
	struct al_cq_attr attr;
	struct test_end end[2];
	struct al_qp_init qp_init = {
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 64, .max_send_sge = 1, .max_recv_wr = 1 }
	};
	struct ib_qp_attr to = { .qkey = 1, .port_num = 1 };
	struct ib_ah_attr path = { .dlid = 0xbfff, .port_num = 1 };
	al_cq_h cq;
	al_qp_h qp;
	al_ah_h ah;

	test_make_pair(al, end);
	ck_ok(al_create_cq(end[0].pd, &init, NULL, NULL, NULL, &cq));
	qp_init.send_cq = qp_init.recv_cq = cq;
	ck_ok(al_create_qp(end[0].pd, &qp_init, NULL, NULL, &qp));
	ck_ok(test_modify(qp, IB_QPS_INIT, to,
			  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	ck_ok(test_modify(qp, IB_QPS_RTR, to, IB_QP_STATE));
	ck_ok(test_modify(qp, IB_QPS_RTS, to, IB_QP_STATE | IB_QP_SQ_PSN));
	ck_ok(al_create_ah(end[0].pd, &path, &ah));
	for (int i = 0; i < 64; i++) {
		struct ib_sge sge = { (uintptr_t)end[0].mem, 8, end[0].lkey };
		struct ib_send_wr wr = { .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IB_WR_SEND,
					 .send_flags = IB_SEND_SIGNALED,
					 .wr.ud = { .ah = ah, .remote_qpn = 2, .remote_qkey = 1 } };
		const struct ib_send_wr *bad;

		ck_ok(al_post_send(qp, &wr, &bad));
	}
	do
		ck_ok(al_query_cq(cq, &attr));
	while (!attr.overflowed);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
}

START_TEST(a_log_that_nobody_reads_does_not_hold_the_agent)
{
	char path[64], junk[4096] = { 0 };
	int mine;
	al_h al;

	start();
	al = agent_open();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", log_fd[1]);
	mine = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(mine, 0);
	while (write(mine, junk, sizeof(junk)) > 0)
		;
	while (write(mine, junk, 1) > 0)
		;
	for (int i = 0; i < 3; i++)
		overflow_one(al); /* it is served while the log is full */
	while (read(log_fd[0], junk, sizeof(junk)) > 0)
		;
	overflow_one(al);
	read_log();
	ck_assert_msg(strstr(text, "3 messages are missing here, since nobody read the log\n") !=
			      NULL,
		      "%s", text);
	ck_assert_uint_eq(lines_with("has overflowed"), 1);
	close(mine);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

START_TEST(no_client_fills_the_log)
{
	struct timespec began, now;
	unsigned int windows;
	al_h al;

	start();
	al = agent_open();
	clock_gettime(CLOCK_MONOTONIC, &began);
	for (int i = 0; i < LOG_MOST + 20; i++) {
		overflow_one(al);
		read_log();
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	windows = (unsigned int)(now.tv_sec - began.tv_sec) / LOG_SECONDS +
		  2; /* that may have begun since */
	if (windows == 2 && !strstr(text, "were not logged"))
		ck_assert_uint_eq(lines_with("has overflowed"), LOG_MOST);
	ck_assert_uint_le(lines_with("has overflowed"), windows * LOG_MOST);
	/* no wait for an event: the time is over when it is over, and the next message tells what
	 * was left out */
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_sec = LOG_SECONDS + 1 }, NULL);
	overflow_one(al);
	read_log();
	if (windows == 2)
		ck_assert_msg(
			strstr(text,
			       "more messages of \"soft\" were not logged: at most 100 in 10 seconds are\n") !=
				NULL,
			"%s", text);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/agent_log");
	TCase *tcase = tcase_create("log");

	tcase_add_test(tcase, a_log_that_nobody_reads_does_not_hold_the_agent);
	tcase_add_test(tcase, no_client_fills_the_log);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
