/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Objects created and destroyed in every order: which destroys return AL_RESOURCE_BUSY, and the order of destroyed
 * callbacks.
 */
#include "test/unit/al/al_test.h"

#include <pthread.h>

enum kind { PD, CQ, MR, AH, QP, KINDS };
#define ORDERS 120 /* of five */

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;
static al_mr_h mr;
static al_ah_h ah;
static al_qp_h qp;
static sem_t gone;

/* The objects whose destroyed callback has come, in order. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum kind told[KINDS];
static unsigned int num_told;

static void set_up(void)
{
	sem_init(&gone, 0, 0);
	fake = test_fake();
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
}

static void tear_down(void)
{
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void make_all(void)
{
	static char memory[64];
	struct al_cq_init cq_init = { .cqe = 4 };
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct al_mr_init mr_init = { .addr = memory, .length = sizeof(memory) };
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	uint32_t lkey, rkey;

	num_told = 0;
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &cq));
	ck_ok(al_reg_mr(pd, &mr_init, NULL, &lkey, &rkey, &mr));
	ck_ok(al_create_ah(pd, &path, &ah));
	qp_init.send_cq = qp_init.recv_cq = cq;
	ck_ok(al_create_qp(pd, &qp_init, NULL, NULL, &qp));
}

static void tell(void *kind)
{
	pthread_mutex_lock(&lock);
	told[num_told++] = (enum kind)(uintptr_t)kind;
	pthread_mutex_unlock(&lock);
	sem_post(&gone);
}

static al_status destroy(enum kind kind, al_destroyed_cb cb)
{
	void *context = (void *)(uintptr_t)kind;

	switch (kind) {
	case PD:
		return al_dealloc_pd(pd, cb, context);
	case CQ:
		return al_destroy_cq(cq, cb, context);
	case MR:
		return al_dereg_mr(mr, cb, context);
	case AH:
		return al_destroy_ah(ah, cb, context);
	case QP:
		return al_destroy_qp(qp, cb, context);
	default:
		ck_abort();
	}
	return AL_SUCCESS;
}

/* Checks that a live object still works. */
static void check_works(enum kind kind, const bool live[KINDS])
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct ib_wc wc;
	uint32_t count;
	al_ah_h child;

	switch (kind) {
	case PD:
		ck_ok(al_create_ah(pd, &path, &child));
		ck_ok(al_destroy_ah(child, AL_DESTROY_SYNC, NULL));
		break;
	case CQ:
		ck_ok(al_poll_cq(cq, 1, &wc, &count));
		break;
	default:
		ck_assert(live[kind]);
		break;
	}
}

/* The n-th permutation. */
static void permute(unsigned int n, enum kind order[KINDS])
{
	enum kind left[KINDS] = { PD, CQ, MR, AH, QP };

	for (unsigned int i = 0; i < KINDS; i++) {
		unsigned int pick = n % (KINDS - i);

		n /= KINDS - i;
		order[i] = left[pick];
		memmove(&left[pick], &left[pick + 1], (KINDS - 1 - pick) * sizeof(*left));
	}
}

static bool is_busy(enum kind kind, const bool live[KINDS])
{
	if (kind == PD)
		return live[CQ] || live[MR] || live[AH] || live[QP];
	return kind == CQ && live[QP];
}

/* Destroys the objects that can be destroyed, in as many passes as that takes. */
static void destroy_in_order(const enum kind order[KINDS], al_destroyed_cb cb)
{
	bool live[KINDS] = { true, true, true, true, true };
	unsigned int left = KINDS;

	for (int pass = 0; left; pass++) {
		ck_assert_int_lt(pass, 3); /* a queue pair, its CQ, their PD */
		for (int i = 0; i < KINDS; i++) {
			enum kind kind = order[i];

			if (!live[kind])
				continue;
			if (is_busy(kind, live)) {
				ck_status(destroy(kind, cb), AL_RESOURCE_BUSY);
				check_works(kind, live);
				continue;
			}
			ck_ok(destroy(kind, cb));
			live[kind] = false;
			left--;
			ck_status(destroy(kind, cb), AL_INVALID_HANDLE);
		}
	}
}

static void check_destroyed_once(unsigned int times)
{
	static const enum fake_op ops[] = { FAKE_deallocate_pd, FAKE_destroy_cq, FAKE_deregister_mr, FAKE_destroy_qp };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		ck_assert_uint_eq(fake->calls[ops[i]], times);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_ah], fake->calls[FAKE_create_ah]);
	test_expect_count(al, 2, 0); /* the opening and the HCA */
}

START_TEST(destroyed_in_any_order_synchronously)
{
	enum kind order[KINDS];

	for (unsigned int n = 0; n < ORDERS; n++) {
		make_all();
		permute(n, order);
		destroy_in_order(order, AL_DESTROY_SYNC);
		check_destroyed_once(n + 1);
	}
}
END_TEST

static unsigned int place(enum kind kind)
{
	for (unsigned int i = 0; i < num_told; i++)
		if (told[i] == kind)
			return i;
	ck_abort_msg("never told");
	return 0;
}

START_TEST(destroyed_in_any_order_and_told_of_children_and_users_first)
{
	enum kind order[KINDS];

	for (unsigned int n = 0; n < ORDERS; n++) {
		make_all();
		permute(n, order);
		destroy_in_order(order, tell);
		for (int i = 0; i < KINDS; i++)
			test_wait(&gone);
		ck_assert_int_eq(sem_trywait(&gone), -1);
		ck_assert_uint_eq(num_told, KINDS);
		ck_assert_uint_lt(place(QP), place(CQ));
		ck_assert_uint_eq(place(PD), KINDS - 1);
	}
}
END_TEST

START_TEST(without_a_callback_nothing_is_told_and_all_goes)
{
	enum kind order[KINDS];

	for (unsigned int n = 0; n < ORDERS; n++) {
		make_all();
		permute(n, order);
		destroy_in_order(order, NULL);
	}
	/* Waits for the destroys before: closing destroys all objects of the opening. */
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(fake->calls[FAKE_destroy_qp], ORDERS);
	ck_assert_uint_eq(fake->calls[FAKE_deallocate_pd], ORDERS);
	ck_assert_uint_eq(num_told, 0);
}
END_TEST

/* A cascade ends users before the objects that they use, and children before parents. */
static enum fake_op ended[4 * KINDS];
static unsigned int num_ended;
#define ALL_ENDED (KINDS - 1 + test_ah_calls(1))

#define END(op)                              \
	static void end_##op(void *object)   \
	{                                    \
		(void)object;                \
		ended[num_ended++] = FAKE_##op; \
	}
END(deallocate_pd)
END(destroy_cq)
END(deregister_mr)
END(destroy_ah)
END(destroy_qp)

static void hook_ends(void)
{
	fake->hook[FAKE_deallocate_pd] = end_deallocate_pd;
	fake->hook[FAKE_destroy_cq] = end_destroy_cq;
	fake->hook[FAKE_deregister_mr] = end_deregister_mr;
	fake->hook[FAKE_destroy_ah] = end_destroy_ah;
	fake->hook[FAKE_destroy_qp] = end_destroy_qp;
}

static void check_cascade(void)
{
	unsigned int qp_at = KINDS, cq_at = KINDS, pd_at = KINDS;

	ck_assert_uint_eq(num_ended, ALL_ENDED);
	for (unsigned int i = 0; i < KINDS; i++) {
		qp_at = ended[i] == FAKE_destroy_qp ? i : qp_at;
		cq_at = ended[i] == FAKE_destroy_cq ? i : cq_at;
		pd_at = ended[i] == FAKE_deallocate_pd ? i : pd_at;
	}
	ck_assert_uint_lt(qp_at, cq_at);
	ck_assert_uint_eq(pd_at, ALL_ENDED - 1);
}

START_TEST(closing_the_hca_ends_what_is_left_in_order)
{
	make_all();
	hook_ends();
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close_ca(ca, AL_DESTROY_SYNC, NULL));
	check_cascade();
	ck_status(destroy(QP, NULL), AL_INVALID_HANDLE);
	ck_status(destroy(PD, NULL), AL_INVALID_HANDLE);
}
END_TEST

START_TEST(removing_the_hca_ends_what_is_left_in_order)
{
	make_all();
	hook_ends();
	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	check_cascade();
	/* the handles stay until their owner destroys them, without a call of the module */
	ck_status(destroy(PD, AL_DESTROY_SYNC), AL_RESOURCE_BUSY);
	ck_ok(destroy(QP, AL_DESTROY_SYNC));
	ck_ok(destroy(MR, AL_DESTROY_SYNC));
	ck_ok(destroy(AH, AL_DESTROY_SYNC));
	ck_ok(destroy(CQ, AL_DESTROY_SYNC));
	ck_ok(destroy(PD, AL_DESTROY_SYNC));
	ck_assert_uint_eq(num_ended, ALL_ENDED);
	test_expect_count(al, 2, 0);
}
END_TEST

/* -------------------------------------------------- HCAs closed meanwhile */

static void close_ca_meanwhile(void *object)
{
	(void)object;
	ck_ok(al_close_ca(ca, NULL, NULL));
}

static al_status make_again(enum kind kind)
{
	static char memory[64];
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { 1, 1, 1, 1, 0 }, .send_cq = cq, .recv_cq = cq };
	uint32_t lkey, rkey;
	void *made;

	switch (kind) {
	case PD:
		return al_alloc_pd(ca, NULL, (al_pd_h *)&made);
	case CQ:
		return al_create_cq(pd, &(struct al_cq_init){ .cqe = 4 }, NULL, NULL, NULL, (al_cq_h *)&made);
	case MR:
		return al_reg_mr(pd, &(struct al_mr_init){ .addr = memory, .length = 64 }, NULL, &lkey, &rkey,
				 (al_mr_h *)&made);
	case AH:
		return al_create_ah(pd, &(struct ib_ah_attr){ .dlid = 1, .port_num = 1 }, (al_ah_h *)&made);
	default:
		return al_create_qp(pd, &qp_init, NULL, NULL, (al_qp_h *)&made);
	}
}

static void close_while_making(enum kind kind)
{
	static const enum fake_op create[KINDS] = { FAKE_allocate_pd, FAKE_create_cq, FAKE_register_mr, FAKE_create_ah,
						    FAKE_create_qp };
	static const enum fake_op end[KINDS] = { FAKE_deallocate_pd, FAKE_destroy_cq, FAKE_deregister_mr,
						 FAKE_destroy_ah, FAKE_destroy_qp };

	al_set_log(test_ignore_log, NULL);
	make_all();
	fake->hook[create[kind]] = close_ca_meanwhile;
	ck_status(make_again(kind), AL_INVALID_HANDLE);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	ck_assert_uint_eq(fake->calls[create[kind]], 2);
	for (int i = 0; i < KINDS; i++)
		ck_assert_uint_eq(fake->calls[end[i]], fake->calls[create[i]]);
	al = test_open();
	test_expect_count(al, 1, 0);
}

START_TEST(what_is_made_while_its_hca_is_closed_undoes_itself)
{
	static const enum kind kinds[] = { PD, CQ, MR, QP };

	close_while_making(kinds[_i]);
}
END_TEST

START_TEST(an_address_made_while_its_hca_is_closed_undoes_itself)
{
	close_while_making(AH);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/object/order");
	TCase *tcase = tcase_create("orders");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, destroyed_in_any_order_synchronously);
	tcase_add_test(tcase, destroyed_in_any_order_and_told_of_children_and_users_first);
	tcase_add_test(tcase, without_a_callback_nothing_is_told_and_all_goes);
	tcase_add_test(tcase, closing_the_hca_ends_what_is_left_in_order);
	tcase_add_test(tcase, removing_the_hca_ends_what_is_left_in_order);
	tcase_add_loop_test(tcase, what_is_made_while_its_hca_is_closed_undoes_itself, 0, KINDS - 1);
	tcase_add_test(tcase, an_address_made_while_its_hca_is_closed_undoes_itself);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
