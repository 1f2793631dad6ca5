/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A client's thread that reads the agent's events is late: events that it has not read yet do no
 * harm. The test holds this thread in the log, to which the thread writes that the agent is about
 * to end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "al/protocol/protocol.h"
#include "test/e2e/agent.h"

static sem_t held, go_on;

static void hold(void *context, ib_log_level level, const char *text)
{
	(void)context;
	(void)level;
	if (!strstr(text, "is about to end"))
		return;
	sem_post(&held);
	test_wait(&go_on);
}

static al_h al;
static al_ca_h ca;
static al_pd_h pd;

static al_ca_h open_first(al_h opening)
{
	uint64_t guid;

	test_guids(opening, &guid, 1);
	return test_open_ca(opening, guid);
}

/* The agent ends when this process has no object left. */
static void hold_event_thread(void)
{
	sem_init(&held, 0, 0);
	sem_init(&go_on, 0, 0);
	agent_start("--drain", "600");
	al = agent_open();
	ca = open_first(al);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	al_set_log(hold, NULL);
	ck_assert_int_eq(kill(agent_pid, SIGTERM), 0);
	test_wait(&held);
}

START_TEST(an_agent_whose_end_was_not_heard_yet_is_not_taken_for_the_next_one)
{
	struct ib_port_attr port;
	al_ca_h next_ca;
	al_pd_h next_pd;
	al_h next;

	hold_event_thread();
	agent_kill(SIGKILL);
	agent_start(NULL, NULL);
	next = agent_open();
	next_ca = open_first(next);
	ck_ok(al_alloc_pd(next_ca, NULL, &next_pd));
	ck_status(al_query_port(ca, 1, &port), AL_AGENT_LOST);
	sem_post(&go_on);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_ok(al_query_port(next_ca, 1, &port));
	ck_ok(al_close(next, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

struct queue {
	al_cq_h cq;
	al_qp_h qp;
	atomic_int told;
	sem_t sem;
};

static void count(void *context)
{
	struct queue *q = context;

	q->told++;
	sem_post(&q->sem);
}

static void make_on(struct queue *q, al_cq_h cq)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_RC, .cap = { 4, 4, 1, 1, 0 }, .send_cq = cq, .recv_cq = cq
	};

	q->cq = cq;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &q->qp));
}

static void make(struct queue *q)
{
	struct al_cq_init cq_init = { .cqe = 16 };

	sem_init(&q->sem, 0, 0);
	ck_ok(al_create_cq(pd, &cq_init, q, count, NULL, &q->cq));
	make_on(q, q->cq);
}

/* A receive is flushed, and so completes. */
static void complete(struct queue *q)
{
	struct ib_recv_wr wr = { .wr_id = 1 };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	const struct ib_recv_wr *bad;

	ck_ok(test_modify(q->qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT));
	ck_ok(al_post_recv(q->qp, &wr, &bad));
	ck_ok(al_arm_cq(q->cq, AL_ARM_ANY, NULL));
	ck_ok(al_modify_qp(q->qp, &attr, IB_QP_STATE));
}

/*
 * Waits until an event waits to be read: this process has no other sockets than those of the
 * connection, and no other of these has data.
 */
static void until_event_waits(void)
{
	struct timespec deadline = test_deadline();
	int bytes = 0;

	while (!bytes) {
		ck_assert(!test_expired(&deadline));
		for (int fd = 3; fd < 1024 && !bytes; fd++)
			if (ioctl(fd, FIONREAD, &bytes))
				bytes = 0;
	}
}

START_TEST(an_event_that_comes_late_is_not_for_what_came_in_its_objects_place)
{
	struct queue old = { 0 }, new = { 0 }, last = { 0 };

	hold_event_thread();
	make(&last);
	make(&old);
	complete(&old);
	until_event_waits();
	ck_ok(al_destroy_qp(old.qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(old.cq, AL_DESTROY_SYNC, NULL));
	make(&new);
	complete(&last);
	sem_post(&go_on);
	test_wait(&last.sem); /* delivered after the earlier events, by the same thread */
	ck_assert_int_eq(old.told, 0);
	ck_assert_int_eq(new.told, 0);
	complete(&new);
	test_wait(&new.sem);
	ck_assert_int_eq(new.told, 1);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
	ck_assert_int_eq(wait_for(agent_pid), 0);
	agent_pid = 0;
	agent_stop();
}
END_TEST

/* More events than the client's first buffer has room for, twice. */
START_TEST(an_object_is_told_of_its_events_however_many_came_after_it)
{
	struct al_cq_init init = { .cqe = 16 };
	struct queue first = { 0 }, last = { 0 };
	al_cq_h more[200];

	agent_start(NULL, NULL);
	al = agent_open();
	ca = open_first(al);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	make(&first);
	for (int i = 0; i < 200; i++)
		ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &more[i]));
	make(&last);
	complete(&first);
	test_wait(&first.sem);
	ck_assert_int_eq(last.told, 0);
	complete(&last);
	test_wait(&last.sem);
	ck_assert_int_eq(first.told, 1);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

static _Thread_local bool hold_answer, no_handle;
static _Thread_local uint64_t other_object;

/* Makes one answer of the agent wrong: no handle in place of a handle; a completion for another
 * object. */
static void lie(const struct msghdr *msg)
{
	struct made_answer *made =
		(void *)((char *)msg->msg_iov[0].iov_base + sizeof(struct agent_answer));
	struct ib_wc *wc = msg->msg_iov[1].iov_base;

	if (no_handle)
		made->handle = 0;
	no_handle = false;
	if (other_object)
		wc->qp_context = (void *)(uintptr_t)other_object;
	other_object = 0;
}

/* Replaces the C library's function: holds or falsifies one answer to this thread, if the test
 * wants that. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t n = syscall(SYS_recvmsg, fd, msg, flags);

	if (no_handle || other_object)
		lie(msg);
	if (hold_answer) {
		hold_answer = false;
		sem_post(&held);
		test_wait(&go_on);
	}
	return n;
}

static void *poll_one(void *arg)
{
	struct queue *q = arg;
	uint32_t count = 0, qpn;
	struct ib_wc wc;

	hold_answer = true;
	ck_ok(al_poll_cq_ex(q->cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 1);
	ck_ok(al_qp_num(q->qp, &qpn));
	ck_assert_uint_eq(wc.qp_num, qpn);
	return NULL;
}

START_TEST(a_poll_that_meets_completions_of_the_gone_alone_goes_on_to_the_next)
{
	struct queue gone = { 0 }, stays = { 0 };
	pthread_t thread;

	sem_init(&held, 0, 0);
	sem_init(&go_on, 0, 0);
	agent_start(NULL, NULL);
	al = agent_open();
	ca = open_first(al);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	make(&stays);
	make_on(&gone, stays.cq);
	complete(&gone);
	complete(&stays);
	ck_assert(!pthread_create(&thread, NULL, poll_one, &stays));
	test_wait(&held);
	ck_ok(al_destroy_qp(gone.qp, AL_DESTROY_SYNC, NULL));
	sem_post(&go_on);
	ck_assert(!pthread_join(thread, NULL));
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

static atomic_int send_error;
static _Thread_local uint64_t cookie; /* cookie of the thread's last completion queue */

/* Replaces the C library's function: one message of this thread is not sent, for a reason. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	const struct agent_head *head = msg->msg_iov[0].iov_base;
	int error = atomic_exchange(&send_error, 0);

	if (head->command == AGENT_CREATE_CQ)
		cookie = ((const struct CREATE_CQ_request *)(head + 1))->cookie;
	if (!error)
		return syscall(SYS_sendmsg, fd, msg, flags);
	errno = error;
	return -1;
}

/* _i: the reason. The agent would keep the region, and would let other clients write into it. */
START_TEST(a_destroy_that_can_not_be_sent_ends_the_session)
{
	static const int errors[] = { ENOBUFS, ENOMEM };
	static char memory[4096];
	const struct al_mr_init init = { .addr = memory,
					 .length = sizeof(memory),
					 .access = IB_ACCESS_LOCAL_WRITE };
	struct ib_port_attr port;
	uint32_t lkey, rkey;
	al_mr_h mr;

	agent_start(NULL, NULL);
	al = agent_open();
	ca = open_first(al);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_reg_mr(pd, &init, NULL, &lkey, &rkey, &mr));
	/* any other request reports the error, and has had no effect */
	atomic_store(&send_error, errors[_i]);
	ck_status(al_query_port(ca, 1, &port), AL_INSUFFICIENT_MEMORY);
	ck_ok(al_query_port(ca, 1, &port));
	atomic_store(&send_error, errors[_i]);
	ck_ok(al_dereg_mr(mr, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(atomic_load(&send_error), 0);
	ck_status(al_query_port(ca, 1, &port), AL_AGENT_LOST);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* An event of the agent concerns only an object of the event's type, and no destroyed object. */
START_TEST(an_agent_that_lies_brings_nothing_of_another_object)
{
	struct al_cq_init init = { .cqe = 16 };
	struct queue q = { 0 };
	uint64_t first;
	uint32_t count;
	struct ib_wc wc;
	al_cq_h cq;

	agent_start(NULL, NULL);
	al = agent_open();
	ca = open_first(al);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	no_handle = true;
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
	ck_assert(!no_handle);
	first = cookie;
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL));
	make(&q);
	/* a new object in the same place, which was freed */
	ck_assert_uint_eq((uint32_t)cookie, (uint32_t)first);
	ck_assert_uint_ne(cookie, first);
	complete(&q);
	other_object = cookie;
	ck_ok(al_poll_cq_ex(q.cq, 1, &wc, &count));
	ck_assert_uint_eq(other_object, 0);
	ck_assert_uint_eq(count, 0);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

static void *query_once(void *arg)
{
	bool *answered = arg;
	struct ib_port_attr port;

	hold_answer = true;
	*answered = !al_query_port(ca, 1, &port);
	return NULL;
}

START_TEST(a_call_that_crosses_is_not_cut_short_by_the_cancelling_of_its_thread)
{
	bool answered = false;
	pthread_t thread;

	sem_init(&held, 0, 0);
	sem_init(&go_on, 0, 0);
	agent_start(NULL, NULL);
	al = agent_open();
	ca = open_first(al);
	ck_assert(!pthread_create(&thread, NULL, query_once, &answered));
	test_wait(&held);
	ck_assert(!pthread_cancel(thread));
	sem_post(&go_on);
	ck_assert(!pthread_join(thread, NULL));
	ck_assert(answered); /* else the connection, and its hold on the HCA, would be lost */
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/late");
	TCase *tcase = tcase_create("late");

	tcase_add_test(tcase, an_agent_whose_end_was_not_heard_yet_is_not_taken_for_the_next_one);
	tcase_add_test(tcase, an_event_that_comes_late_is_not_for_what_came_in_its_objects_place);
	tcase_add_test(tcase, an_object_is_told_of_its_events_however_many_came_after_it);
	tcase_add_test(tcase, a_poll_that_meets_completions_of_the_gone_alone_goes_on_to_the_next);
	tcase_add_loop_test(tcase, a_destroy_that_can_not_be_sent_ends_the_session, 0, 2);
	tcase_add_test(tcase, an_agent_that_lies_brings_nothing_of_another_object);
	tcase_add_test(tcase, a_call_that_crosses_is_not_cut_short_by_the_cancelling_of_its_thread);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
