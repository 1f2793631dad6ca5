/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: transitions and attributes that the library checks before the module sees them. */
#include "test/unit/al/verbs/qp_test.h"

/* ------------------------------------------------------------------- states */

/*
 * The attribute table has a test of its own (qp_table_test.c). This test holds al_modify_qp() to the table; a refusal
 * changes nothing.
 */
START_TEST(every_transition_is_permitted_or_refused_before_the_module_sees_it)
{
	static const struct {
		ib_qp_state from, to;
		uint32_t mask;
	} rc_permitted[] = {
		{ IB_QPS_RESET, IB_QPS_INIT, TEST_RC_INIT }, { IB_QPS_INIT, IB_QPS_INIT, IB_QP_STATE },
		{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR },    { IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS },
		{ IB_QPS_RTS, IB_QPS_RTS, IB_QP_STATE },     { IB_QPS_RTS, IB_QPS_SQD, IB_QP_STATE },
		{ IB_QPS_SQD, IB_QPS_RTS, IB_QP_STATE },     { IB_QPS_SQD, IB_QPS_SQD, IB_QP_STATE },
	};
	struct ib_qp_attr values = test_attr(1, 1, IB_MTU_1024), before, after;
	ib_qp_state from = (ib_qp_state)(_i / IB_QPS_COUNT), to = (ib_qp_state)(_i % IB_QPS_COUNT);
	uint32_t mask = IB_QP_STATE;
	bool permitted = to == IB_QPS_RESET || to == IB_QPS_ERR;
	al_qp_h qp = make(IB_QPT_RC);
	unsigned int calls;

	for (size_t i = 0; i < sizeof(rc_permitted) / sizeof(rc_permitted[0]); i++)
		if (rc_permitted[i].from == from && rc_permitted[i].to == to) {
			permitted = true;
			mask = rc_permitted[i].mask;
		}
	/* The module knows the state, which may have changed without a call. */
	fake->last_qp->attr.qp_state = from;
	fake->last_qp->attr.port_num = from == IB_QPS_RESET ? 0 : 1;
	fake->last_qp->attr.dest_qp_num = 77;
	ck_ok(al_query_qp(qp, &before, NULL));
	calls = fake->calls[FAKE_modify_qp];
	ck_status(test_modify(qp, to, values, mask), permitted ? AL_SUCCESS : AL_INVALID_TRANSITION);
	ck_assert_uint_eq(fake->calls[FAKE_modify_qp], calls + permitted);
	ck_ok(al_query_qp(qp, &after, NULL));
	if (permitted)
		ck_assert_int_eq(after.qp_state, to);
	else
		ck_assert_mem_eq(&after, &before, sizeof(after));
}
END_TEST

START_TEST(a_wrong_belief_about_the_state_is_refused)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	al_qp_h qp = make(IB_QPT_RC);

	test_to_rts(qp, 1, 1, IB_MTU_1024);
	attr.cur_qp_state = IB_QPS_SQD;
	ck_status(test_modify(qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_CUR_STATE), AL_INVALID_TRANSITION);
	attr.cur_qp_state = IB_QPS_RTS;
	ck_ok(test_modify(qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_CUR_STATE));
}
END_TEST

START_TEST(attributes_change_only_when_drained)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	al_qp_h qp = make(IB_QPT_RC);

	test_to_rts(qp, 1, 1, IB_MTU_1024);
	ck_ok(test_modify(qp, IB_QPS_SQD, attr, IB_QP_STATE));
	fake->last_qp->attr.sq_draining = true;
	ck_status(test_modify(qp, IB_QPS_SQD, attr, IB_QP_STATE | IB_QP_TIMEOUT), AL_INVALID_STATE);
	ck_status(test_modify(qp, IB_QPS_RTS, attr, IB_QP_STATE), AL_INVALID_STATE);
	fake->last_qp->attr.sq_draining = false;
	ck_ok(test_modify(qp, IB_QPS_SQD, attr, IB_QP_STATE | IB_QP_TIMEOUT));
	fake->last_qp->attr.qp_state = IB_QPS_SQD;
	fake->last_qp->attr.sq_draining = true;
	ck_ok(test_modify(qp, IB_QPS_ERR, attr, IB_QP_STATE));
}
END_TEST

/* ------------------------------------------------------------------- values */

#define FIELD(member, value)                         \
	static void set_##member(struct ib_qp_attr *a) \
	{                                            \
		a->member = value;                   \
	}
FIELD(qp_access_flags, 1u << 6)
FIELD(path_mtu, (ib_mtu)(IB_MTU_2048 + 1))
FIELD(rq_psn, IB_PSN_MASK + 1)
FIELD(sq_psn, IB_PSN_MASK + 1)
FIELD(dest_qp_num, IB_QPN_MASK + 1)
FIELD(timeout, 32)
FIELD(retry_cnt, 8)
FIELD(rnr_retry, 8)
FIELD(min_rnr_timer, 32)
FIELD(max_rd_atomic, 17)
FIELD(max_dest_rd_atomic, 17)
FIELD(pkey_index, 3)
FIELD(port_num, 3)
static void set_no_port(struct ib_qp_attr *a)
{
	a->port_num = 0;
}
static void set_no_mtu(struct ib_qp_attr *a)
{
	a->path_mtu = (ib_mtu)0;
}
static void set_sl(struct ib_qp_attr *a)
{
	a->ah_attr.sl = 16;
}
static void set_ah_port(struct ib_qp_attr *a)
{
	a->ah_attr.port_num = 3;
}
static void set_other_ah_port(struct ib_qp_attr *a)
{
	a->ah_attr.port_num = 2;
}
static void set_ah_reserved(struct ib_qp_attr *a)
{
	a->ah_attr.reserved[3] = 1;
}
static void set_rate(struct ib_qp_attr *a)
{
	a->ah_attr.static_rate = IB_RATE_600_GBPS + 1;
}
static void set_sgid(struct ib_qp_attr *a)
{
	a->ah_attr.is_global = true;
	a->ah_attr.grh.sgid_index = 2;
}
static void set_flow_label(struct ib_qp_attr *a)
{
	a->ah_attr.is_global = true;
	a->ah_attr.grh.flow_label = 1u << 20;
}
static void set_reserved(struct ib_qp_attr *a)
{
	a->reserved[0] = 1;
}
static void set_alt_port(struct ib_qp_attr *a)
{
	a->alt_port_num = 3;
}
static void set_alt_timeout(struct ib_qp_attr *a)
{
	a->alt_timeout = 32;
}
static void set_alt_pkey(struct ib_qp_attr *a)
{
	a->alt_pkey_index = 3;
}
static void set_mig(struct ib_qp_attr *a)
{
	a->path_mig_state = (ib_mig_state)(IB_MIG_ARMED + 1);
}

/* An attribute value out of its range, in a transition that takes the attribute. */
static const struct range {
	ib_qp_state from, to;
	uint32_t mask;
	void (*set)(struct ib_qp_attr *attr);
	al_status want;
} ranges[] = {
	{ IB_QPS_RESET, IB_QPS_INIT, TEST_RC_INIT, set_qp_access_flags, AL_INVALID_PARAMETER },
	{ IB_QPS_RESET, IB_QPS_INIT, TEST_RC_INIT, set_pkey_index, AL_INVALID_PKEY_INDEX },
	{ IB_QPS_RESET, IB_QPS_INIT, TEST_RC_INIT, set_port_num, AL_INVALID_PORT },
	{ IB_QPS_RESET, IB_QPS_INIT, TEST_RC_INIT, set_no_port, AL_INVALID_PORT },
	{ IB_QPS_RESET, IB_QPS_INIT, TEST_RC_INIT, set_reserved, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_path_mtu, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_no_mtu, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_rq_psn, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_dest_qp_num, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_max_dest_rd_atomic, AL_LIMIT_EXCEEDED },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_min_rnr_timer, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_sl, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_ah_port, AL_INVALID_PORT },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_other_ah_port, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_ah_reserved, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_rate, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_sgid, AL_INVALID_GID_INDEX },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR, set_flow_label, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR | IB_QP_ALT_PATH, set_alt_port, AL_INVALID_PORT },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR | IB_QP_ALT_PATH, set_alt_timeout, AL_INVALID_PARAMETER },
	{ IB_QPS_INIT, IB_QPS_RTR, TEST_RC_RTR | IB_QP_ALT_PATH, set_alt_pkey, AL_INVALID_PKEY_INDEX },
	{ IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS, set_sq_psn, AL_INVALID_PARAMETER },
	{ IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS, set_timeout, AL_INVALID_PARAMETER },
	{ IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS, set_retry_cnt, AL_INVALID_PARAMETER },
	{ IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS, set_rnr_retry, AL_INVALID_PARAMETER },
	{ IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS, set_max_rd_atomic, AL_LIMIT_EXCEEDED },
	{ IB_QPS_RTR, IB_QPS_RTS, TEST_RC_RTS | IB_QP_PATH_MIG_STATE, set_mig, AL_INVALID_PARAMETER },
};
#define RANGES (sizeof(ranges) / sizeof(ranges[0]))

/* The largest value of each attribute. */
static struct ib_qp_attr largest(void)
{
	struct ib_qp_attr attr = test_attr(IB_LID_UNICAST_LAST, IB_QPN_MASK, IB_MTU_2048);

	attr.rq_psn = attr.sq_psn = IB_PSN_MASK;
	attr.timeout = attr.alt_timeout = attr.min_rnr_timer = 31;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
	attr.pkey_index = attr.alt_pkey_index = 2;
	attr.ah_attr.sl = 15;
	attr.ah_attr.is_global = true;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.flow_label = 0xfffff;
	attr.ah_attr.static_rate = IB_RATE_600_GBPS;
	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_ah_attr.port_num = attr.alt_port_num = 2;
	attr.path_mig_state = IB_MIG_ARMED;
	return attr;
}

START_TEST(a_value_out_of_its_range_is_refused_and_changes_nothing)
{
	const struct range *r = &ranges[_i];
	struct ib_qp_attr attr = largest(), before, after;
	al_qp_h qp = make(IB_QPT_RC);
	unsigned int calls;

	fake->last_qp->attr = attr;
	fake->last_qp->attr.qp_state = r->from;
	ck_ok(al_query_qp(qp, &before, NULL));
	r->set(&attr);
	calls = fake->calls[FAKE_modify_qp];
	ck_status(test_modify(qp, r->to, attr, r->mask), r->want);
	ck_assert_uint_eq(fake->calls[FAKE_modify_qp], calls);
	ck_ok(al_query_qp(qp, &after, NULL));
	ck_assert_mem_eq(&after, &before, sizeof(after));
	/* the largest value is accepted */
	ck_ok(test_modify(qp, r->to, largest(), r->mask));
}
END_TEST

START_TEST(a_mask_of_nothing_or_of_unknown_bits_is_refused)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	al_qp_h qp = make(IB_QPT_RC);

	ck_status(al_modify_qp(qp, &attr, 0), AL_INVALID_PARAMETER);
	ck_status(al_modify_qp(qp, &attr, TEST_RC_INIT | 1u << 21), AL_INVALID_PARAMETER);
	ck_status(al_modify_qp(qp, NULL, IB_QP_STATE), AL_INVALID_PARAMETER);
	ck_status(test_modify(qp, IB_QPS_COUNT, attr, IB_QP_STATE), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(what_the_module_refuses_is_passed_on)
{
	al_qp_h qp = make(IB_QPT_RC);
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);

	fake->fail[FAKE_modify_qp] = AL_IO_ERROR;
	ck_status(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT), AL_IO_ERROR);
	fake->fail[FAKE_query_qp] = AL_CA_ERROR;
	ck_status(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT), AL_CA_ERROR);
}
END_TEST

/* ------------------------------------------------- two calls at the same time */

static void *to_init(void *qp)
{
	return (void *)(uintptr_t)test_modify(qp, IB_QPS_INIT, test_attr(1, 1, IB_MTU_1024), TEST_RC_INIT);
}

static void *to_rtr(void *qp)
{
	return (void *)(uintptr_t)test_modify(qp, IB_QPS_RTR, test_attr(1, 1, IB_MTU_1024), TEST_RC_RTR);
}

START_TEST(two_modifies_of_one_qp_do_not_interleave)
{
	pthread_t first, second;
	al_qp_h qp = make(IB_QPT_RC);
	void *result;

	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	fake->hook[FAKE_modify_qp] = stay_a_while;
	ck_assert(!pthread_create(&first, NULL, to_init, qp));
	test_wait(&inside);
	ck_assert(!pthread_create(&second, NULL, to_rtr, qp));
	sem_post(&go_on);
	sem_post(&go_on);
	ck_assert(!pthread_join(first, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	/* In the order of their begin, not of their end: from Reset the second modification would be refused. */
	ck_assert(!pthread_join(second, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	ck_assert_int_eq(most, 1);
	ck_assert_int_eq(test_state(qp), IB_QPS_RTR);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/qp_modify");
	TCase *tcase = tcase_create("modify");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, every_transition_is_permitted_or_refused_before_the_module_sees_it, 0,
			    IB_QPS_COUNT * IB_QPS_COUNT);
	tcase_add_test(tcase, a_wrong_belief_about_the_state_is_refused);
	tcase_add_test(tcase, attributes_change_only_when_drained);
	tcase_add_loop_test(tcase, a_value_out_of_its_range_is_refused_and_changes_nothing, 0, RANGES);
	tcase_add_test(tcase, a_mask_of_nothing_or_of_unknown_bits_is_refused);
	tcase_add_test(tcase, what_the_module_refuses_is_passed_on);
	tcase_add_test(tcase, two_modifies_of_one_qp_do_not_interleave);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
