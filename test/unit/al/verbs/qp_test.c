/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Creation of queue pairs: the Access Layer's checks and records. */
#include "test/unit/al/verbs/qp_test.h"

/* Expects a refusal without effect: no operation of the module, no object, no handle. */
static void check_refused(struct al_qp_init *init, al_status want)
{
	unsigned int calls = fake->calls[FAKE_create_qp] + fake->calls[FAKE_create_spl_qp];
	size_t objects = test_count(al, AL_OBJ_NONE);
	al_qp_h qp = (al_qp_h)&al;

	ck_status(al_create_qp(pd, init, NULL, NULL, &qp), want);
	ck_assert_ptr_eq(qp, &al);
	ck_assert_uint_eq(fake->calls[FAKE_create_qp] + fake->calls[FAKE_create_spl_qp], calls);
	ck_assert_uint_eq(test_count(al, AL_OBJ_NONE), objects);
	ck_ok(al_destroy_qp(make(IB_QPT_RC), AL_DESTROY_SYNC, NULL));
}

/* --------------------------------------------------------------- creation */

START_TEST(sizes_are_limited_exactly_and_the_limits_written_back)
{
	const struct ib_qp_cap limit = { 1024, 1024, 8, 8, 64 };
	struct al_qp_init init = rc();
	uint32_t *size = (uint32_t *)&init.cap + _i;
	al_qp_h qp;

	*size = *((const uint32_t *)&limit + _i);
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_assert_uint_eq(*size, *((const uint32_t *)&limit + _i));
	++*size;
	check_refused(&init, AL_LIMIT_EXCEEDED);
	ck_assert_mem_eq(&init.cap, &limit, sizeof(limit));
}
END_TEST

static al_status create_more(struct ci_qp *qp, struct ci_qp_init *init, struct ci_udata *udata)
{
	(void)udata;
	qp->qp_num = 2;
	init->cap = (struct ib_qp_cap){ 16, 16, 4, 4, 32 };
	return AL_SUCCESS;
}

static void destroy_nothing(struct ci_qp *qp)
{
	(void)qp;
}

START_TEST(sizes_there_are_written_back_and_shown)
{
	struct ib_qp_attr attr;
	struct al_qp_init init = rc(), shown;
	al_qp_h qp;

	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	ck_assert_uint_eq(init.cap.max_send_wr, 16);
	ck_assert_uint_eq(init.cap.max_inline_data, 32);
	ck_ok(al_query_qp(qp, &attr, &shown));
	ck_assert_mem_eq(&shown.cap, &init.cap, sizeof(init.cap));
	ck_assert_ptr_eq(shown.send_cq, cq);
	ck_assert_ptr_eq(shown.recv_cq, cq);
	ck_assert_int_eq(shown.qp_type, IB_QPT_RC);
}
END_TEST

static void set_up_more(void)
{
	test_fake()->ops.create_qp = create_more;
	test_fake()->ops.destroy_qp = destroy_nothing;
	set_up();
}

static al_status create_less(struct ci_qp *qp, struct ci_qp_init *init, struct ci_udata *udata)
{
	(void)qp;
	(void)udata;
	init->cap = (struct ib_qp_cap){ 4, 4, 1, 1, 0 };
	return AL_LIMIT_EXCEEDED;
}

static void set_up_less(void)
{
	test_fake()->ops.create_qp = create_less;
	set_up();
}

START_TEST(limits_that_the_module_finds_are_written_back)
{
	size_t objects = test_count(al, AL_OBJ_NONE);
	struct al_qp_init init = rc();
	al_qp_h qp;

	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp), AL_LIMIT_EXCEEDED);
	ck_assert_uint_eq(init.cap.max_send_wr, 4);
	ck_assert_uint_eq(test_count(al, AL_OBJ_NONE), objects);
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL)); /* no queue pair uses the completion queue */
}
END_TEST

START_TEST(as_many_queue_pairs_as_the_limit_says_and_not_one_more)
{
	struct al_qp_init init = rc();
	al_qp_h qp[5];

	for (int i = 0; i < 5; i++)
		ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp[i]));
	ck_status(al_create_qp(pd, &init, NULL, NULL, &qp[0]), AL_LIMIT_EXCEEDED);
	ck_ok(al_destroy_qp(qp[4], AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp[4]));
}
END_TEST

static void set_up_five(void)
{
	test_fake()->ca_attr.max_qp = 5;
	set_up();
}

START_TEST(a_type_that_the_hca_does_not_offer_is_unsupported)
{
	static const ib_qp_type missing[] = { IB_QPT_RD, IB_QPT_XRC_INI, IB_QPT_XRC_TGT, IB_QPT_RAW_IPV6,
					      IB_QPT_RAW_ETHERTYPE };
	struct al_qp_init init = rc();

	init.qp_type = missing[_i];
	check_refused(&init, AL_UNSUPPORTED);
}
END_TEST

static void set_up_rc_only(void)
{
	caps = 0;
	set_up();
}

START_TEST(only_rc_is_offered_by_every_hca)
{
	static const ib_qp_type optional[] = { IB_QPT_UC, IB_QPT_UD, IB_QPT_RAW_PACKET };
	struct al_qp_init init = rc();

	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
		init.qp_type = optional[i];
		check_refused(&init, AL_UNSUPPORTED);
	}
}
END_TEST

static uint8_t special_port;

static al_status create_special(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init, struct ci_udata *udata)
{
	(void)udata;
	special_port = port;
	qp->qp_num = 1;
	qp->cap = init->cap;
	return AL_SUCCESS;
}

static void (*destroy_ordinary)(struct ci_qp *qp);

static void destroy_either(struct ci_qp *qp)
{
	if (qp->qp_type == IB_QPT_RC)
		destroy_ordinary(qp);
}

static void set_up_special(void)
{
	destroy_ordinary = test_fake()->ops.destroy_qp;
	test_fake()->ops.create_spl_qp = create_special;
	test_fake()->ops.destroy_qp = destroy_either;
	set_up();
}

START_TEST(special_and_raw_queue_pairs_are_made_on_their_port)
{
	static const ib_qp_type types[] = { IB_QPT_SMI, IB_QPT_GSI, IB_QPT_RAW_PACKET };
	struct al_qp_init init = rc();
	al_qp_h qp;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		init.qp_type = types[i];
		init.port_num = 2;
		special_port = 0;
		ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
		ck_assert_uint_eq(special_port, 2);
		init.port_num = 0;
		check_refused(&init, AL_INVALID_PORT);
	}
	ck_assert_uint_eq(fake->calls[FAKE_create_qp], 3); /* with those of check_refused() */
}
END_TEST

START_TEST(unknown_attributes_are_refused)
{
	struct al_qp_init init;

	init = rc();
	init.qp_type = IB_QPT_NONE;
	check_refused(&init, AL_INVALID_PARAMETER);
	init = rc();
	init.qp_type = IB_QPT_COUNT;
	check_refused(&init, AL_INVALID_PARAMETER);
	for (int i = 0; i < (int)(sizeof(init.reserved) / sizeof(init.reserved[0])); i++) {
		init = rc();
		init.reserved[i] = 1;
		check_refused(&init, AL_INVALID_PARAMETER);
	}
	/* special and raw queue pairs must have a port, all others must not */
	init = rc();
	init.port_num = 1;
	check_refused(&init, AL_INVALID_PARAMETER);
	init = rc();
	init.qp_type = IB_QPT_GSI;
	check_refused(&init, AL_INVALID_PORT);
	init.port_num = 3;
	check_refused(&init, AL_INVALID_PORT);
	/* handles of objects that queue pairs of this type do not use */
	init = rc();
	init.rdd = (al_rdd_h)cq;
	check_refused(&init, AL_INVALID_PARAMETER);
	init = rc();
	init.xrcd = (al_xrcd_h)cq;
	check_refused(&init, AL_INVALID_PARAMETER);
	ck_status(al_create_qp(pd, NULL, NULL, NULL, (al_qp_h *)&init), AL_INVALID_PARAMETER);
	init = rc();
	ck_status(al_create_qp(pd, &init, NULL, NULL, NULL), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(a_missing_cq_is_an_invalid_handle_and_no_crash)
{
	struct al_qp_init init = rc();

	init.recv_cq = NULL;
	check_refused(&init, AL_INVALID_HANDLE);
	init = rc();
	init.send_cq = NULL;
	check_refused(&init, AL_INVALID_HANDLE);
}
END_TEST

START_TEST(a_cq_of_another_hca_is_refused)
{
	struct al_cq_init cq_init = { .cqe = 4 };
	struct al_qp_init init = rc();
	al_pd_h other_pd;

	ck_ok(al_alloc_pd(test_open_ca(al, FAKE_GUID + 0x100), NULL, &other_pd));
	ck_ok(al_create_cq(other_pd, &cq_init, NULL, NULL, NULL, &init.recv_cq));
	check_refused(&init, AL_INVALID_CA);
	init.send_cq = init.recv_cq;
	init.recv_cq = cq;
	check_refused(&init, AL_INVALID_CA);
}
END_TEST

START_TEST(a_cq_of_another_opening_is_refused)
{
	struct al_cq_init cq_init = { .cqe = 4 };
	struct al_qp_init init = rc();
	al_h other = test_open();
	al_pd_h other_pd;

	ck_ok(al_alloc_pd(test_open_ca(other, FAKE_GUID), NULL, &other_pd));
	ck_ok(al_create_cq(other_pd, &cq_init, NULL, NULL, NULL, &init.recv_cq));
	check_refused(&init, AL_INVALID_CA);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(other, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(a_qp_uses_cqs_of_other_pds_of_its_opening)
{
	struct al_cq_init cq_init = { .cqe = 4 };
	struct al_qp_init init = rc();
	al_ca_h again = test_open_ca(al, FAKE_GUID);
	al_pd_h second, third;
	al_qp_h qp;

	ck_ok(al_alloc_pd(ca, NULL, &second));
	ck_ok(al_alloc_pd(again, NULL, &third));
	ck_ok(al_create_cq(second, &cq_init, NULL, NULL, NULL, &init.send_cq));
	ck_ok(al_create_cq(third, &cq_init, NULL, NULL, NULL, &init.recv_cq));
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	/* the objects count the queue pair as a user */
	ck_status(al_destroy_cq(init.send_cq, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	ck_status(al_destroy_cq(init.recv_cq, AL_DESTROY_SYNC, NULL), AL_RESOURCE_BUSY);
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(init.send_cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_destroy_cq(init.recv_cq, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(second, AL_DESTROY_SYNC, NULL));
	ck_ok(al_dealloc_pd(third, AL_DESTROY_SYNC, NULL));
	ck_ok(al_close_ca(again, AL_DESTROY_SYNC, NULL));
}
END_TEST

START_TEST(what_the_module_is_given_is_translated)
{
	struct al_cq_init cq_init = { .cqe = 4 };
	struct al_qp_init init = rc();
	int context;
	al_qp_h qp;
	uint32_t qpn;

	ck_ok(al_create_cq(pd, &cq_init, NULL, NULL, NULL, &init.recv_cq));
	init.sq_sig_all = true;
	ck_ok(al_create_qp(pd, &init, &context, NULL, &qp));
	ck_ok(al_qp_num(qp, &qpn));
	ck_assert_uint_eq(fake->last_qp->qp.qp_num, qpn);
	if (!test_in_user_role()) /* the agent has a handle of its own */
		ck_assert_ptr_eq(fake->last_qp->qp.owner_context, &context);
	ck_assert_ptr_eq(fake->last_qp->qp.recv_cq, &fake->last_cq->cq);
	ck_assert_ptr_ne(fake->last_qp->qp.send_cq, &fake->last_cq->cq);
	ck_assert_ptr_eq(fake->last_qp->qp.pd, fake->last_cq->cq.pd);
	ck_assert_ptr_eq(fake->last_qp->qp.pd->ca->hca, (void *)(uintptr_t)FAKE_GUID);
	ck_assert(fake->last_qp->qp.sq_sig_all);
	ck_assert_int_eq(fake->last_qp->qp.qp_type, IB_QPT_RC);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/qp");
	TCase *tcase = tcase_create("creation");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, sizes_are_limited_exactly_and_the_limits_written_back, 0, 5);
	tcase_add_loop_test(tcase, a_type_that_the_hca_does_not_offer_is_unsupported, 0, 5);
	tcase_add_test(tcase, unknown_attributes_are_refused);
	tcase_add_test(tcase, a_missing_cq_is_an_invalid_handle_and_no_crash);
	tcase_add_test(tcase, a_cq_of_another_hca_is_refused);
	tcase_add_test(tcase, a_cq_of_another_opening_is_refused);
	tcase_add_test(tcase, a_qp_uses_cqs_of_other_pds_of_its_opening);
	tcase_add_test(tcase, what_the_module_is_given_is_translated);
	suite_add_tcase(suite, tcase);
	add_case(suite, "more than asked", set_up_more, sizes_there_are_written_back_and_shown);
	add_case(suite, "less than asked", set_up_less, limits_that_the_module_finds_are_written_back);
	add_case(suite, "reliable connections only", set_up_rc_only, only_rc_is_offered_by_every_hca);
	add_case(suite, "special", set_up_special, special_and_raw_queue_pairs_are_made_on_their_port);
	add_case(suite, "five at most", set_up_five, as_many_queue_pairs_as_the_limit_says_and_not_one_more);
	return test_run(suite);
}
