/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The data path of a client whose provider implements some operations (direct hooks) and leaves the
 * others to the agent.
 */
#include <pthread.h>

#include "al/object/rcu.h"
#include "test/e2e/agent.h"
#include "test/e2e/provider.h"

START_TEST(a_direct_hook_takes_the_operations_place)
{
	al_cq_h cq;
	uint32_t count = 0;
	struct ib_wc wc;

	begin(NULL, NULL);
	open_all();
	ck_ok(try_cq(8, &cq));
	ck_ok(al_peek_cq(cq, 100, &count));
	ck_assert_uint_eq(count, PROVIDER_PEEK);
	/* An operation that the provider lacks goes to the agent. */
	ck_ok(al_poll_cq_ex(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
	end();
}
END_TEST

static bool in_section;

static void look(void)
{
	in_section = urcu_bp_read_ongoing();
}

START_TEST(a_direct_hook_is_called_in_a_read_section_whatever_crosses_beside_it)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ib_send_wr wr = { 0 };
	const struct ib_send_wr *bad;
	uint32_t count;
	al_cq_h cq;
	al_qp_h qp;

	begin(NULL, NULL);
	open_all();
	ck_ok(try_cq(8, &cq));
	init.send_cq = init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	provider->find_ah = ci_wr_ah;
	provider->direct = look;
	ck_ok(al_peek_cq(cq, 100, &count));
	ck_assert(in_section);
	in_section = false;
	ck_status(al_post_send(qp, &wr, &bad), AL_INVALID_HANDLE);
	ck_assert(in_section);
	end();
}
END_TEST

/* Waits until a thread of this process sleeps, in a call that waits for the agent. */
static void until_asleep(pid_t thread)
{
	struct timespec deadline = test_deadline();
	char path[64], state = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	do {
		ck_assert(!test_expired(&deadline));
		stat = fopen(path, "re");
		ck_assert_ptr_nonnull(stat);
		ck_assert_int_eq(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
		fclose(stat);
	} while (state != 'S');
}

struct waiter {
	int call;
	al_cq_h cq;
	al_qp_h qp;
	sem_t begun;
	pid_t thread;
	al_status status;
};

/* The calls that go to the agent although they are atomic. */
enum { CALLS = 5 };

static void *wait_for_agent(void *arg)
{
	const struct ib_send_wr send = { 0 }, *bad_send;
	const struct ib_recv_wr recv = { 0 }, *bad_recv;
	struct waiter *w = arg;
	struct ib_wc wc;
	uint32_t count;

	w->thread = gettid();
	sem_post(&w->begun);
	switch (w->call) {
	case 0:
		w->status = al_poll_cq(w->cq, 1, &wc, &count);
		break;
	case 1:
		w->status = al_arm_cq(w->cq, AL_ARM_ANY, NULL);
		break;
	case 2:
		w->status = al_peek_cq(w->cq, 1, &count);
		break;
	case 3:
		w->status = al_post_recv(w->qp, &recv, &bad_recv);
		break;
	default:
		w->status = al_post_send(w->qp, &send, &bad_send);
	}
	return NULL;
}

/* The destroy of an address handle sends no request, but waits for read sections. */
START_TEST(a_call_that_waits_for_a_stalled_agent_holds_up_no_destroy)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct waiter w = { .call = _i };
	pthread_t thread;
	al_ah_h ah;

	ck_assert(!setenv("IBAL_MODULE_PATH", FAKE_DIR, 1));
	agent_start(NULL, NULL);
	al = agent_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(try_cq(8, &w.cq));
	init.send_cq = init.recv_cq = w.cq;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &w.qp));
	ck_ok(al_create_ah(pd, &path, &ah));
	sem_init(&w.begun, 0, 0);
	agent_pause();
	ck_assert(!pthread_create(&thread, NULL, wait_for_agent, &w));
	test_wait(&w.begun);
	until_asleep(w.thread);
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
	ck_assert_int_eq(kill(agent_pid, SIGCONT), 0);
	ck_assert(!pthread_join(thread, NULL));
	ck_status(w.status, _i < 2 ? AL_SUCCESS : _i == 2 ? AL_UNSUPPORTED : AL_INVALID_STATE);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	agent_stop();
}
END_TEST

/* Poll, arm and receives go to the agent, so these operations may block; posting sends does not. */
START_TEST(a_provider_that_only_posts_sends_datagrams)
{
	struct al_qp_init init = { .qp_type = IB_QPT_UD, .cap = { 4, 4, 1, 1, 0 } };
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct ib_send_wr wr[2] = { { .next = &wr[1], .opcode = IB_WR_SEND }, { .opcode = IB_WR_SEND } };
	const struct ib_send_wr *bad;
	struct ib_wc wc;
	uint32_t count;
	al_ah_h ah[2];
	al_qp_h qp;
	al_cq_h cq;

	begin(NULL, NULL);
	open_all();
	ck_ok(try_cq(8, &cq));
	init.send_cq = init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	for (int i = 0; i < 2; i++) {
		ck_ok(al_create_ah(pd, &path, &ah[i]));
		wr[i].wr.ud.ah = ah[i];
	}
	provider->find_ah = ci_wr_ah;
	ck_ok(al_post_send(qp, wr, &bad));
	ck_assert_uint_eq(provider->sent, 2);
	ck_assert_ptr_eq(provider->sent_to, provider->last_ah);
	ck_ok(al_destroy_ah(ah[1], AL_DESTROY_SYNC, NULL));
	ck_status(al_post_send(qp, wr, &bad), AL_INVALID_HANDLE);
	ck_assert_ptr_eq(bad, &wr[1]);
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	ck_ok(al_poll_cq(cq, 1, &wc, &count));
	ck_assert_uint_eq(count, 0);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/provider_path");
	TCase *tcase = tcase_create("data path");

	tcase_add_test(tcase, a_direct_hook_takes_the_operations_place);
	tcase_add_test(tcase, a_direct_hook_is_called_in_a_read_section_whatever_crosses_beside_it);
	tcase_add_loop_test(tcase, a_call_that_waits_for_a_stalled_agent_holds_up_no_destroy, 0, CALLS);
	tcase_add_test(tcase, a_provider_that_only_posts_sends_datagrams);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
