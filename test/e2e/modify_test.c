/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every attribute out of its range, in every modification that takes the attribute, through the
 * whole stack on the software HCA: the right error, and no change; with a value at the end of its
 * range the modification succeeds. Which modification takes which attribute is in qp_table_test.c.
 */
#include "test/unit/al/al_test.h"

static al_h al;
static struct test_end end;
static struct ib_ca_attr limits;
static struct ib_port_attr port;

/* ---------------------------------------------------------------------- values */

#define VALUE(name, member, good, bad)                     \
	static void name(struct ib_qp_attr *a, bool wrong) \
	{                                                  \
		a->member = wrong ? (bad) : (good);        \
	}
#define GLOBAL(name, member, good, bad)                         \
	static void name(struct ib_qp_attr *a, bool wrong)      \
	{                                                       \
		a->ah_attr.is_global = true;                    \
		a->ah_attr.grh.member = wrong ? (bad) : (good); \
	}
VALUE(access_flags, qp_access_flags, TEST_ALL_ACCESS, 1u << 6)
VALUE(pkey, pkey_index, (uint16_t)(port.pkey_tbl_len - 1), (uint16_t)port.pkey_tbl_len)
VALUE(no_port, port_num, 1, 0)
VALUE(port_beyond, port_num, 1, (uint8_t)(limits.num_ports + 1))
VALUE(no_mtu, path_mtu, IB_MTU_256, (ib_mtu)0)
VALUE(large_mtu, path_mtu, port.max_mtu, (ib_mtu)(port.max_mtu + 1))
VALUE(rq_psn, rq_psn, IB_PSN_MASK, IB_PSN_MASK + 1)
VALUE(sq_psn, sq_psn, IB_PSN_MASK, IB_PSN_MASK + 1)
VALUE(dest_qpn, dest_qp_num, IB_QPN_MASK, IB_QPN_MASK + 1)
VALUE(timeout, timeout, 31, 32)
VALUE(retries, retry_cnt, 7, 8)
VALUE(rnr_retries, rnr_retry, 7, 8)
VALUE(rnr_timer, min_rnr_timer, 31, 32)
VALUE(initiated, max_rd_atomic, (uint8_t)limits.max_qp_init_rd_atom,
      (uint8_t)(limits.max_qp_init_rd_atom + 1))
VALUE(answered, max_dest_rd_atomic, (uint8_t)limits.max_qp_rd_atom,
      (uint8_t)(limits.max_qp_rd_atom + 1))
VALUE(level, ah_attr.sl, 15, 16)
VALUE(rate, ah_attr.static_rate, IB_RATE_600_GBPS, IB_RATE_600_GBPS + 1)
VALUE(no_path_port, ah_attr.port_num, 1, 0)
VALUE(path_port, ah_attr.port_num, 1, (uint8_t)(limits.num_ports + 1))
VALUE(path_reserved, ah_attr.reserved[3], 0, 1)
VALUE(path_bits, ah_attr.src_path_bits, (uint8_t)((1u << port.lmc) - 1), (uint8_t)(1u << port.lmc))
GLOBAL(gid_beyond, sgid_index, 0, (uint8_t)port.gid_tbl_len)
GLOBAL(gid_empty, sgid_index, 0, (uint8_t)(port.gid_tbl_len - 1))
GLOBAL(flow_label, flow_label, 0xfffff, 0x100000)
VALUE(reserved, reserved[0], 0, 1)
VALUE(migration, path_mig_state, IB_MIG_ARMED, (ib_mig_state)(IB_MIG_ARMED + 1))
VALUE(alternate_port, alt_port_num, 1, 0)
VALUE(alternate_timeout, alt_timeout, 31, 32)

static const struct {
	const char *name;
	uint32_t bit;
	void (*set)(struct ib_qp_attr *a, bool wrong);
	al_status want;
} values[] = {
	{ "access flags", IB_QP_ACCESS_FLAGS, access_flags, AL_INVALID_PARAMETER },
	{ "P_Key index", IB_QP_PKEY_INDEX, pkey, AL_INVALID_PKEY_INDEX },
	{ "no port", IB_QP_PORT, no_port, AL_INVALID_PORT },
	{ "port", IB_QP_PORT, port_beyond, AL_INVALID_PORT },
	{ "no MTU", IB_QP_PATH_MTU, no_mtu, AL_INVALID_PARAMETER },
	{ "MTU", IB_QP_PATH_MTU, large_mtu, AL_INVALID_PARAMETER },
	{ "receive PSN", IB_QP_RQ_PSN, rq_psn, AL_INVALID_PARAMETER },
	{ "send PSN", IB_QP_SQ_PSN, sq_psn, AL_INVALID_PARAMETER },
	{ "destination", IB_QP_DEST_QPN, dest_qpn, AL_INVALID_PARAMETER },
	{ "time-out", IB_QP_TIMEOUT, timeout, AL_INVALID_PARAMETER },
	{ "retries", IB_QP_RETRY_CNT, retries, AL_INVALID_PARAMETER },
	{ "RNR retries", IB_QP_RNR_RETRY, rnr_retries, AL_INVALID_PARAMETER },
	{ "RNR timer", IB_QP_MIN_RNR_TIMER, rnr_timer, AL_INVALID_PARAMETER },
	{ "outstanding reads", IB_QP_MAX_QP_RD_ATOMIC, initiated, AL_LIMIT_EXCEEDED },
	{ "answered reads", IB_QP_MAX_DEST_RD_ATOMIC, answered, AL_LIMIT_EXCEEDED },
	{ "service level", IB_QP_AV, level, AL_INVALID_PARAMETER },
	{ "rate", IB_QP_AV, rate, AL_INVALID_PARAMETER },
	{ "no port of the path", IB_QP_AV, no_path_port, AL_INVALID_PORT },
	{ "port of the path", IB_QP_AV, path_port, AL_INVALID_PORT },
	{ "reserved of the path", IB_QP_AV, path_reserved, AL_INVALID_PARAMETER },
	{ "path bits", IB_QP_AV, path_bits, AL_INVALID_PARAMETER },
	{ "GID index", IB_QP_AV, gid_beyond, AL_INVALID_GID_INDEX },
	{ "GID index of none", IB_QP_AV, gid_empty, AL_INVALID_GID_INDEX },
	{ "flow label", IB_QP_AV, flow_label, AL_INVALID_PARAMETER },
	{ "reserved", 0, reserved, AL_INVALID_PARAMETER },
	/* the software HCA does not migrate, so a valid value is unsupported */
	{ "migration state", IB_QP_PATH_MIG_STATE, migration, AL_INVALID_PARAMETER },
	{ "alternate port", IB_QP_ALT_PATH, alternate_port, AL_INVALID_PORT },
	{ "alternate time-out", IB_QP_ALT_PATH, alternate_timeout, AL_INVALID_PARAMETER },
};
#define VALUES    (sizeof(values) / sizeof(values[0]))
#define MIGRATION (IB_QP_PATH_MIG_STATE | IB_QP_ALT_PATH)

/* ----------------------------------------------------------------------- states */

static const ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };

/* Returns the attributes that a modification requires, by type; a modification that is not allowed
 * requires none. */
static uint32_t required(int type, ib_qp_state from, ib_qp_state to)
{
	static const uint32_t masks[3][3] = {
		{ TEST_RC_INIT, TEST_RC_RTR, TEST_RC_RTS },
		{ TEST_RC_INIT, IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN,
		  IB_QP_SQ_PSN },
		{ IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0, IB_QP_SQ_PSN },
	};

	return IB_QP_STATE | (to == from + 1 && to <= IB_QPS_RTS ? masks[type][from] : 0);
}

static const struct {
	ib_qp_state from, to;
} steps[] = {
	{ IB_QPS_RESET, IB_QPS_INIT }, { IB_QPS_INIT, IB_QPS_INIT }, { IB_QPS_INIT, IB_QPS_RTR },
	{ IB_QPS_RTR, IB_QPS_RTS },    { IB_QPS_RTS, IB_QPS_RTS },   { IB_QPS_RTS, IB_QPS_SQD },
	{ IB_QPS_SQD, IB_QPS_RTS },    { IB_QPS_SQD, IB_QPS_SQD },   { IB_QPS_SQE, IB_QPS_RTS },
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static struct ib_qp_attr usual(void)
{
	struct ib_qp_attr attr = test_attr(end.lid, end.qpn, IB_MTU_256);

	attr.alt_port_num = 1;
	attr.alt_ah_attr = attr.ah_attr;
	return attr;
}

/* A send with an unknown key stops the send queue of an unreliable type. */
static void make_sqe(int type)
{
	struct ib_sge sge = { .addr = (uintptr_t)end.mem,
			      .length = 8,
			      .lkey = end.lkey ^ 0x5a5a5a };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_ah_attr path = { .dlid = end.lid, .port_num = 1 };
	const struct ib_send_wr *bad;
	al_ah_h ah = NULL;

	if (types[type] == IB_QPT_UD) {
		ck_ok(al_create_ah(end.pd, &path, &ah));
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = end.qpn;
	}
	ck_ok(al_post_send(end.qp, &wr, &bad));
	ck_assert_int_eq(test_poll(end.cq).status, IB_WC_LOC_PROT_ERR);
	ck_assert_int_eq(test_state(end.qp), IB_QPS_SQE);
	if (ah)
		ck_ok(al_destroy_ah(ah, NULL, NULL));
}

static void bring_to(int type, ib_qp_state state)
{
	static const ib_qp_state way[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct timespec deadline = test_deadline();
	struct ib_qp_attr now;
	ib_qp_state from = IB_QPS_RESET;

	ck_ok(test_modify(end.qp, IB_QPS_RESET, usual(), IB_QP_STATE));
	for (int i = 0; i < 3 && from < state; from = way[i++])
		ck_ok(test_modify(end.qp, way[i], usual(), required(type, from, way[i])));
	if (state == IB_QPS_SQE)
		make_sqe(type);
	if (state != IB_QPS_SQD)
		return;
	ck_ok(test_modify(end.qp, IB_QPS_SQD, usual(), IB_QP_STATE));
	do {
		ck_assert(!test_expired(&deadline));
		ck_ok(al_query_qp(end.qp, &now, NULL));
	} while (now.sq_draining);
}

static void check_same(const struct ib_qp_attr *a, const struct ib_qp_attr *b)
{
	ck_assert_int_eq(a->qp_state, b->qp_state);
	ck_assert_int_eq(a->path_mtu, b->path_mtu);
	ck_assert_uint_eq(a->rq_psn, b->rq_psn);
	ck_assert_uint_eq(a->sq_psn, b->sq_psn);
	ck_assert_uint_eq(a->dest_qp_num, b->dest_qp_num);
	ck_assert_uint_eq(a->qp_access_flags, b->qp_access_flags);
	ck_assert_uint_eq(a->ah_attr.dlid, b->ah_attr.dlid);
	ck_assert_uint_eq(a->ah_attr.sl, b->ah_attr.sl);
	ck_assert_uint_eq(a->ah_attr.port_num, b->ah_attr.port_num);
	ck_assert_uint_eq(a->ah_attr.src_path_bits, b->ah_attr.src_path_bits);
	ck_assert_uint_eq(a->ah_attr.is_global, b->ah_attr.is_global);
	ck_assert_uint_eq(a->pkey_index, b->pkey_index);
	ck_assert_uint_eq(a->port_num, b->port_num);
	ck_assert_uint_eq(a->max_rd_atomic, b->max_rd_atomic);
	ck_assert_uint_eq(a->max_dest_rd_atomic, b->max_dest_rd_atomic);
	ck_assert_uint_eq(a->min_rnr_timer, b->min_rnr_timer);
	ck_assert_uint_eq(a->timeout, b->timeout);
	ck_assert_uint_eq(a->retry_cnt, b->retry_cnt);
	ck_assert_uint_eq(a->rnr_retry, b->rnr_retry);
}

/* ------------------------------------------------------------------------ tests */

static void set_up(void)
{
	uint64_t guid;

	ck_assert(!setenv("IBAL_SOFT", "pkeys=0xffff,0x8001", 1));
	al = test_open();
	test_guids(al, &guid, 1);
	memset(&limits, 0, sizeof(limits));
}

static void make(int type)
{
	uint64_t guid;

	test_guids(al, &guid, 1);
	test_make_end(&end, al, guid, types[type]);
	ck_ok(al_query_ca(end.ca, &limits));
	ck_ok(al_query_port(end.ca, 1, &port));
}

static void tear_down(void)
{
	test_free_end(&end);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* True: the modification takes the attribute; then a wrong value is refused. */
static bool check_value(int type, size_t step, size_t value)
{
	ib_qp_state from = steps[step].from, to = steps[step].to;
	uint32_t mask = required(type, from, to) | values[value].bit;
	struct ib_qp_attr good = usual(), bad = usual(), before, after;
	al_status status;

	values[value].set(&good, false);
	values[value].set(&bad, true);
	bring_to(type, from);
	status = test_modify(end.qp, to, good, mask);
	if (status == AL_INVALID_ATTRIBUTE)
		return false;
	ck_assert_msg(status == (values[value].bit & MIGRATION ? AL_UNSUPPORTED : AL_SUCCESS),
		      "%s, type %d, %d to %d: %s", values[value].name, type, from, to,
		      al_status_name(status));
	bring_to(type, from);
	ck_ok(al_query_qp(end.qp, &before, NULL));
	status = test_modify(end.qp, to, bad, mask);
	ck_assert_msg(status == values[value].want, "%s, type %d, %d to %d: %s", values[value].name,
		      type, from, to, al_status_name(status));
	ck_ok(al_query_qp(end.qp, &after, NULL));
	check_same(&before, &after);
	return true;
}

/* _i: type. taken: number of attributes that the type's modifications take in all. */
START_TEST(a_value_out_of_its_range_is_refused_in_every_modification_and_changes_nothing)
{
	static const uint32_t taken[] = { 77, 62, 18 };
	uint32_t count = 0;

	make(_i);
	for (size_t step = 0; step < STEPS; step++)
		for (size_t value = 0; value < VALUES; value++)
			if (steps[step].from != IB_QPS_SQE || types[_i] != IB_QPT_RC)
				count += check_value(_i, step, value);
	ck_assert_uint_eq(count, taken[_i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/modify");
	TCase *tcase = tcase_create("modify");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
		tcase,
		a_value_out_of_its_range_is_refused_in_every_modification_and_changes_nothing, 0,
		3);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
