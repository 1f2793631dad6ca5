/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: the Access Layer's part in posting. The requests themselves are in wr_test.c. */
#include "test/unit/al/verbs/qp_test.h"

/* ----------------------------------------------------------------- requests */

START_TEST(the_first_request_that_was_not_posted_is_reported)
{
	struct ib_recv_wr wr[10] = { 0 };
	const struct ib_recv_wr *bad = NULL;
	al_qp_h qp = make(IB_QPT_RC);

	for (int i = 0; i < 9; i++)
		wr[i].next = &wr[i + 1];
	ck_status(al_post_recv(qp, wr, &bad), AL_INVALID_STATE);
	ck_assert_ptr_eq(bad, &wr[0]);
	ck_ok(test_modify(qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT));
	bad = NULL;
	ck_status(al_post_recv(qp, wr, &bad), AL_QUEUE_FULL);
	ck_assert_ptr_eq(bad, &wr[8]); /* the queue has room for eight */
}
END_TEST

START_TEST(with_an_invalid_handle_no_request_is_taken)
{
	struct ib_recv_wr recv = { 0 };
	struct ib_send_wr send = { 0 };
	const struct ib_recv_wr *bad_recv = NULL;
	const struct ib_send_wr *bad_send = NULL;

	ck_status(al_post_recv((al_qp_h)cq, &recv, &bad_recv), AL_INVALID_HANDLE);
	ck_assert_ptr_eq(bad_recv, &recv);
	ck_status(al_post_send((al_qp_h)cq, &send, &bad_send), AL_INVALID_HANDLE);
	ck_assert_ptr_eq(bad_send, &send);
}
END_TEST

START_TEST(a_missing_request_is_refused)
{
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad_send;
	al_qp_h qp = make(IB_QPT_RC);

	ck_status(al_post_send(qp, NULL, &bad_send), AL_INVALID_PARAMETER);
	ck_status(al_post_recv(qp, NULL, &bad_recv), AL_INVALID_PARAMETER);
	ck_status(al_query_qp(qp, NULL, NULL), AL_INVALID_PARAMETER);
	ck_status(al_qp_num(qp, NULL), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(fake->calls[FAKE_post_send] + fake->calls[FAKE_post_recv], 0);
}
END_TEST

START_TEST(a_caller_need_not_ask_for_the_bad_request)
{
	struct ib_recv_wr recv = { 0 };
	struct ib_send_wr send = { 0 };
	al_qp_h qp = make(IB_QPT_RC);

	ck_status(al_post_send(qp, &send, NULL), AL_INVALID_STATE);
	ck_status(al_post_recv(qp, &recv, NULL), AL_INVALID_STATE);
	ck_status(al_post_send((al_qp_h)cq, &send, NULL), AL_INVALID_HANDLE);
	ck_status(al_post_recv((al_qp_h)cq, &recv, NULL), AL_INVALID_HANDLE);
}
END_TEST

START_TEST(of_a_removed_hca_no_request_is_taken)
{
	struct ib_recv_wr recv = { 0 };
	struct ib_send_wr send = { 0 };
	const struct ib_recv_wr *bad_recv = NULL;
	const struct ib_send_wr *bad_send = NULL;
	al_qp_h qp = make(IB_QPT_RC);

	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	ck_status(al_post_recv(qp, &recv, &bad_recv), AL_CA_REMOVED);
	ck_assert_ptr_eq(bad_recv, &recv);
	ck_status(al_post_send(qp, &send, &bad_send), AL_CA_REMOVED);
	ck_assert_ptr_eq(bad_send, &send);
}
END_TEST

static void set_up_blocking(void)
{
	test_fake()->ops.may_block = CI_MAY_BLOCK(post_send) | CI_MAY_BLOCK(post_recv);
	set_up();
}

static void *send_one(void *qp)
{
	struct ib_send_wr wr = { .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;

	return (void *)(uintptr_t)al_post_send(qp, &wr, &bad);
}

static void *recv_one(void *qp)
{
	struct ib_recv_wr wr = { 0 };
	const struct ib_recv_wr *bad;

	return (void *)(uintptr_t)al_post_recv(qp, &wr, &bad);
}

START_TEST(a_post_that_may_block_holds_up_no_destroy)
{
	al_qp_h qp = make(IB_QPT_RC);
	pthread_t sender, receiver;
	al_pd_h other;
	void *result;

	test_to_rts(qp, 1, 1, IB_MTU_1024);
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	fake->hook[FAKE_post_send] = fake->hook[FAKE_post_recv] = stay_a_while;
	ck_assert(!pthread_create(&sender, NULL, send_one, qp));
	ck_assert(!pthread_create(&receiver, NULL, recv_one, qp));
	test_wait(&inside);
	test_wait(&inside);
	/* Waits until every read section has been left. */
	ck_ok(al_alloc_pd(ca, NULL, &other));
	ck_ok(al_dealloc_pd(other, AL_DESTROY_SYNC, NULL));
	sem_post(&go_on);
	sem_post(&go_on);
	ck_assert(!pthread_join(sender, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	ck_assert(!pthread_join(receiver, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	test_poll_ok(cq, 0);
}
END_TEST

/* ci_wr_ah() and its like: the object that a handle in a request names. */
static struct ci_ah *found_ah;
static struct ci_mr *found_mr;

static al_status look_up(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	*bad = wr;
	if (wr->opcode == IB_WR_REG_MR)
		found_mr = ci_wr_mr(qp, wr->wr.reg_mr.mr);
	else
		found_ah = ci_wr_ah(qp, wr->wr.ud.ah);
	return AL_SUCCESS;
}

static void set_up_look_up(void)
{
	test_fake()->ops.post_send = look_up;
	set_up();
}

static struct ci_ah *post_ah(al_qp_h qp, al_ah_h ah)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .wr.ud.ah = ah };
	const struct ib_send_wr *bad;

	found_ah = (struct ci_ah *)&wr;
	ck_ok(al_post_send(qp, &wr, &bad));
	return found_ah;
}

static struct ci_mr *post_mr(al_qp_h qp, al_mr_h mr)
{
	struct ib_send_wr wr = { .opcode = IB_WR_REG_MR, .wr.reg_mr.mr = mr };
	const struct ib_send_wr *bad;

	found_mr = (struct ci_mr *)&wr;
	ck_ok(al_post_send(qp, &wr, &bad));
	return found_mr;
}

START_TEST(handles_in_requests_are_looked_up_for_the_queue_pair)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	static char memory[64];
	struct al_mr_init mr_init = { .addr = memory, .length = sizeof(memory) };
	al_qp_h qp = make(IB_QPT_UD);
	al_h other = test_open();
	al_pd_h foreign, second;
	al_ah_h ah, ah_second, ah_hca, ah_opening, ah_gone;
	uint32_t lkey, rkey;
	al_mr_h mr;

	ck_ok(al_create_ah(pd, &path, &ah));
	ck_assert_ptr_nonnull(post_ah(qp, ah));
	ck_assert_ptr_eq(found_ah->pd, fake->last_qp->qp.pd);
	/* an address handle of another PD: the module compares PDs */
	ck_ok(al_alloc_pd(ca, NULL, &second));
	ck_ok(al_create_ah(second, &path, &ah_second));
	ck_assert_ptr_nonnull(post_ah(qp, ah_second));
	ck_assert_ptr_ne(found_ah->pd, fake->last_qp->qp.pd);

	ck_ok(al_alloc_pd(test_open_ca(al, FAKE_GUID + 0x100), NULL, &foreign));
	ck_ok(al_create_ah(foreign, &path, &ah_hca));
	ck_assert_ptr_null(post_ah(qp, ah_hca));
	ck_ok(al_alloc_pd(test_open_ca(other, FAKE_GUID), NULL, &foreign));
	ck_ok(al_create_ah(foreign, &path, &ah_opening));
	ck_assert_ptr_null(post_ah(qp, ah_opening));
	ck_ok(al_create_ah(pd, &path, &ah_gone));
	ck_ok(al_destroy_ah(ah_gone, NULL, NULL));
	ck_assert_ptr_null(post_ah(qp, ah_gone));
	ck_assert_ptr_null(post_ah(qp, NULL));
	ck_assert_ptr_null(post_ah(qp, (al_ah_h)qp));

	ck_ok(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr));
	ck_assert_uint_eq(post_mr(qp, mr)->lkey, lkey);
	ck_assert_ptr_null(post_mr(qp, (al_mr_h)ah));
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

static void set_up_look_up_blocking(void)
{
	test_fake()->ops.may_block = CI_MAY_BLOCK(post_send);
	set_up_look_up();
}

/* More requests than post_send copies at a time, twice. */
#define MANY 40

static struct ci_ah *lent[MANY];

static al_status look_up_chain(struct ci_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	for (uint32_t i = 0; wr; wr = wr->next, i++) {
		lent[i] = ci_wr_ah(qp, wr->wr.ud.ah);
		if (!lent[i]) {
			*bad = wr;
			return AL_INVALID_HANDLE;
		}
	}
	sem_post(&inside);
	test_wait(&go_on);
	return AL_SUCCESS;
}

static void set_up_look_up_chain(void)
{
	test_fake()->ops.may_block = CI_MAY_BLOCK(post_send);
	test_fake()->ops.post_send = look_up_chain;
	set_up();
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
}

struct chain {
	al_qp_h qp;
	al_ah_h ah[MANY];
	struct ib_send_wr wr[MANY];
};

static void make_chain(struct chain *chain)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };

	chain->qp = make(IB_QPT_UD);
	for (int i = 0; i < MANY; i++) {
		ck_ok(al_create_ah(pd, &path, &chain->ah[i]));
		chain->wr[i] = (struct ib_send_wr){ .next = i + 1 < MANY ? &chain->wr[i + 1] : NULL,
						    .opcode = IB_WR_SEND,
						    .wr.ud.ah = chain->ah[i] };
	}
}

static void *post_chain(void *arg)
{
	struct chain *chain = arg;
	const struct ib_send_wr *bad;

	return (void *)(uintptr_t)al_post_send(chain->qp, chain->wr, &bad);
}

START_TEST(an_object_lent_to_a_post_that_may_block_stays_until_it_returns)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct chain chain;
	pthread_t poster;
	void *result;
	al_ah_h last;
	sem_t gone;

	make_chain(&chain);
	ck_ok(al_create_ah(pd, &path, &last));
	sem_init(&gone, 0, 0);
	ck_assert(!pthread_create(&poster, NULL, post_chain, &chain));
	test_wait(&inside);
	for (int i = 0; i < MANY; i++)
		ck_ok(al_destroy_ah(chain.ah[i], test_post, &gone));
	ck_ok(al_destroy_ah(last, AL_DESTROY_SYNC, NULL)); /* on the same thread, after the earlier destroys */
	ck_assert_uint_eq(fake->calls[FAKE_destroy_ah], 1);
	for (int i = 0; i < MANY; i++)
		ck_assert_ptr_eq(lent[i]->pd, fake->last_qp->qp.pd);
	sem_post(&go_on);
	for (int i = 0; i < MANY; i++)
		test_wait(&gone);
	ck_assert(!pthread_join(poster, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_ah], MANY + 1);
}
END_TEST

START_TEST(without_memory_for_what_is_lent_the_request_is_bad_and_nothing_is_kept)
{
	const struct ib_send_wr *bad = NULL;
	struct chain chain;

	make_chain(&chain);
	al_fail_alloc(1);
	ck_status(al_post_send(chain.qp, chain.wr, &bad), AL_INVALID_HANDLE);
	ck_assert_uint_eq(al_fail_alloc(0), 0);
	ck_assert(bad > chain.wr && bad < chain.wr + MANY);
	for (int i = 0; i < MANY; i++)
		ck_ok(al_destroy_ah(chain.ah[i], AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(fake->calls[FAKE_destroy_ah], MANY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/qp_post");
	TCase *tcase = tcase_create("posts");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_first_request_that_was_not_posted_is_reported);
	tcase_add_test(tcase, with_an_invalid_handle_no_request_is_taken);
	tcase_add_test(tcase, a_missing_request_is_refused);
	tcase_add_test(tcase, a_caller_need_not_ask_for_the_bad_request);
	tcase_add_test(tcase, of_a_removed_hca_no_request_is_taken);
	suite_add_tcase(suite, tcase);
	add_case(suite, "may block", set_up_blocking, a_post_that_may_block_holds_up_no_destroy);
	add_case(suite, "handles in requests", set_up_look_up, handles_in_requests_are_looked_up_for_the_queue_pair);
	add_case(suite, "handles in requests that may block", set_up_look_up_blocking,
		 handles_in_requests_are_looked_up_for_the_queue_pair);
	add_case(suite, "objects lent", set_up_look_up_chain,
		 an_object_lent_to_a_post_that_may_block_stays_until_it_returns);
	add_case(suite, "objects not lent", set_up_look_up_chain,
		 without_memory_for_what_is_lent_the_request_is_bad_and_nothing_is_kept);
	return test_run(suite);
}
