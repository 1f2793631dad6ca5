/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: what the Access Layer checks and keeps, over a module that does what it is told. */
#include "test/unit/al/al_test.h"

#include <pthread.h>

static struct fake *fake;
static al_h al;
static al_ca_h ca;
static al_pd_h pd;
static al_cq_h cq;
static uint32_t caps = IB_CA_CAP_UC | IB_CA_CAP_UD | IB_CA_CAP_RAW_PACKET;

static void set_up(void)
{
	struct al_cq_init init = { .cqe = 64 };

	fake = test_fake();
	fake->hcas = 2;
	fake->ca_attr.num_ports = 2;
	fake->ca_attr.caps = caps;
	fake->port_attr.gid_tbl_len = 2;
	fake->port_attr.pkey_tbl_len = 3;
	fake->port_attr.max_mtu = fake->port_attr.active_mtu = IB_MTU_2048;
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &init, NULL, NULL, NULL, &cq));
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static struct al_qp_init rc(void)
{
	return (struct al_qp_init){ .qp_type = IB_QPT_RC, .cap = { 8, 8, 2, 2, 16 }, .send_cq = cq, .recv_cq = cq };
}

static al_qp_h make(ib_qp_type type)
{
	struct al_qp_init init = rc();
	al_qp_h qp;

	init.qp_type = type;
	ck_ok(al_create_qp(pd, &init, NULL, NULL, &qp));
	return qp;
}

/* Refused, and nothing was changed: no operation of the module, no object, no handle. */
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
	(void)qp;
	(void)udata;
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
	ck_ok(al_destroy_cq(cq, AL_DESTROY_SYNC, NULL)); /* nothing uses it */
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
	ck_assert_uint_eq(fake->calls[FAKE_create_qp], 3); /* of check_refused() */
}
END_TEST

START_TEST(attributes_that_mean_nothing_are_refused)
{
	struct al_qp_init init;

	init = rc();
	init.qp_type = IB_QPT_NONE;
	check_refused(&init, AL_INVALID_PARAMETER);
	init = rc();
	init.qp_type = IB_QPT_COUNT;
	check_refused(&init, AL_INVALID_PARAMETER);
	for (int i = 0; i < 4; i++) {
		init = rc();
		init.reserved[i] = 1;
		check_refused(&init, AL_INVALID_PARAMETER);
	}
	/* a port is for special and raw ones, which must have one */
	init = rc();
	init.port_num = 1;
	check_refused(&init, AL_INVALID_PARAMETER);
	init = rc();
	init.qp_type = IB_QPT_GSI;
	check_refused(&init, AL_INVALID_PORT);
	init.port_num = 3;
	check_refused(&init, AL_INVALID_PORT);
	/* a handle of what the type has not */
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
	/* and they count it as their user */
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
	ck_assert_ptr_eq(fake->last_qp->qp.owner_context, &context);
	ck_assert_ptr_eq(fake->last_qp->qp.recv_cq, &fake->last_cq->cq);
	ck_assert_ptr_ne(fake->last_qp->qp.send_cq, &fake->last_cq->cq);
	ck_assert_ptr_eq(fake->last_qp->qp.pd, fake->last_cq->cq.pd);
	ck_assert_ptr_eq(fake->last_qp->qp.pd->ca->hca, (void *)(uintptr_t)FAKE_GUID);
	ck_assert(fake->last_qp->qp.sq_sig_all);
	ck_assert_int_eq(fake->last_qp->qp.qp_type, IB_QPT_RC);
}
END_TEST

/* ------------------------------------------------------------------- states */

/* The attribute table is tested beside it; here: that al_modify_qp() goes by it, and changes nothing when it refuses. */
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
	/* The state is the module's truth: it may have changed by itself. */
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

/* One value out of its range in the transition that it belongs to. */
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

/* Every value at the end of its range. */
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
	/* with the last value of the range it is taken */
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

/* ------------------------------------------------------- two at the same time */

static sem_t inside, go_on;
static atomic_int in_modify, most;

/* The second modify would find the old state, if it looked before the first has changed it. */
static void stay_a_while(void *object)
{
	int now = atomic_fetch_add(&in_modify, 1) + 1;

	(void)object;
	if (now > atomic_load(&most))
		atomic_store(&most, now);
	sem_post(&inside);
	test_wait(&go_on);
	atomic_fetch_sub(&in_modify, 1);
}

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
	/* By the order of their beginning, not of their ends: from Reset it would be refused. */
	ck_assert(!pthread_join(second, &result));
	ck_assert_ptr_eq(result, (void *)AL_SUCCESS);
	ck_assert_int_eq(most, 1);
	ck_assert_int_eq(test_state(qp), IB_QPS_RTR);
}
END_TEST

/* ----------------------------------------------------------------- requests */

START_TEST(the_first_request_not_taken_is_told)
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
	ck_assert_ptr_eq(bad, &wr[8]); /* room for eight */
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
	struct ib_recv_wr recv = { 0 };
	struct ib_send_wr send = { 0 };
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad_send;
	al_qp_h qp = make(IB_QPT_RC);

	ck_status(al_post_send(qp, NULL, &bad_send), AL_INVALID_PARAMETER);
	ck_status(al_post_send(qp, &send, NULL), AL_INVALID_PARAMETER);
	ck_status(al_post_recv(qp, NULL, &bad_recv), AL_INVALID_PARAMETER);
	ck_status(al_post_recv(qp, &recv, NULL), AL_INVALID_PARAMETER);
	ck_status(al_query_qp(qp, NULL, NULL), AL_INVALID_PARAMETER);
	ck_status(al_qp_num(qp, NULL), AL_INVALID_PARAMETER);
	ck_assert_uint_eq(fake->calls[FAKE_post_send] + fake->calls[FAKE_post_recv], 0);
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
	test_fake()->ops.flags = CI_OP_MAY_BLOCK;
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
	/* This waits for every read section to be left. */
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

/* What ci_wr_ah() and its like make of a handle in a request. */
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
	/* of another PD: it is for the module to compare */
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
	test_fake()->ops.flags = CI_OP_MAY_BLOCK;
	set_up_look_up();
}

START_TEST(where_operations_may_block_no_object_is_lent)
{
	struct ib_ah_attr path = { .dlid = 1, .port_num = 1 };
	al_qp_h qp = make(IB_QPT_UD);
	al_ah_h ah;

	ck_ok(al_create_ah(pd, &path, &ah));
	ck_assert_ptr_null(post_ah(qp, ah));
}
END_TEST

static void add_case(Suite *suite, const char *name, void (*fixture)(void), const TTest *test)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, fixture, tear_down);
	tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	Suite *suite = suite_create("al/verbs/qp");
	TCase *tcase = tcase_create("queue pairs");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, sizes_are_limited_exactly_and_the_limits_written_back, 0, 5);
	tcase_add_loop_test(tcase, a_type_that_the_hca_does_not_offer_is_unsupported, 0, 5);
	tcase_add_test(tcase, attributes_that_mean_nothing_are_refused);
	tcase_add_test(tcase, a_missing_cq_is_an_invalid_handle_and_no_crash);
	tcase_add_test(tcase, a_cq_of_another_hca_is_refused);
	tcase_add_test(tcase, a_cq_of_another_opening_is_refused);
	tcase_add_test(tcase, a_qp_uses_cqs_of_other_pds_of_its_opening);
	tcase_add_test(tcase, what_the_module_is_given_is_translated);
	tcase_add_loop_test(tcase, every_transition_is_permitted_or_refused_before_the_module_sees_it, 0,
			    IB_QPS_COUNT * IB_QPS_COUNT);
	tcase_add_test(tcase, a_wrong_belief_about_the_state_is_refused);
	tcase_add_test(tcase, attributes_change_only_when_drained);
	tcase_add_loop_test(tcase, a_value_out_of_its_range_is_refused_and_changes_nothing, 0, RANGES);
	tcase_add_test(tcase, a_mask_of_nothing_or_of_unknown_bits_is_refused);
	tcase_add_test(tcase, what_the_module_refuses_is_passed_on);
	tcase_add_test(tcase, two_modifies_of_one_qp_do_not_interleave);
	tcase_add_test(tcase, the_first_request_not_taken_is_told);
	tcase_add_test(tcase, with_an_invalid_handle_no_request_is_taken);
	tcase_add_test(tcase, a_missing_request_is_refused);
	tcase_add_test(tcase, of_a_removed_hca_no_request_is_taken);
	suite_add_tcase(suite, tcase);
	add_case(suite, "more than asked", set_up_more, sizes_there_are_written_back_and_shown);
	add_case(suite, "less than asked", set_up_less, limits_that_the_module_finds_are_written_back);
	add_case(suite, "reliable connections only", set_up_rc_only, only_rc_is_offered_by_every_hca);
	add_case(suite, "special", set_up_special, special_and_raw_queue_pairs_are_made_on_their_port);
	add_case(suite, "may block", set_up_blocking, a_post_that_may_block_holds_up_no_destroy);
	add_case(suite, "five at most", set_up_five, as_many_queue_pairs_as_the_limit_says_and_not_one_more);
	add_case(suite, "handles in requests", set_up_look_up, handles_in_requests_are_looked_up_for_the_queue_pair);
	add_case(suite, "handles in requests that may block", set_up_look_up_blocking,
		 where_operations_may_block_no_object_is_lent);
	return test_run(suite);
}
