/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The functions of ib_hca.h that modules have inline. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_hca.h>

/* The members that a bit of the mask names. */
static const struct {
	uint32_t bit;
	size_t at, size;
} members[] = {
#define MEMBER(bit, name)                                                                                      \
	{                                                                                                      \
		bit, offsetof(struct ib_qp_attr, name), sizeof(((struct ib_qp_attr *)0)->name)                 \
	}
	MEMBER(IB_QP_STATE, qp_state),
	MEMBER(IB_QP_STATE, cur_qp_state),
	MEMBER(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify),
	MEMBER(IB_QP_ACCESS_FLAGS, qp_access_flags),
	MEMBER(IB_QP_PKEY_INDEX, pkey_index),
	MEMBER(IB_QP_PORT, port_num),
	MEMBER(IB_QP_QKEY, qkey),
	MEMBER(IB_QP_AV, ah_attr),
	MEMBER(IB_QP_PATH_MTU, path_mtu),
	MEMBER(IB_QP_TIMEOUT, timeout),
	MEMBER(IB_QP_RETRY_CNT, retry_cnt),
	MEMBER(IB_QP_RNR_RETRY, rnr_retry),
	MEMBER(IB_QP_RQ_PSN, rq_psn),
	MEMBER(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	MEMBER(IB_QP_ALT_PATH, alt_ah_attr),
	MEMBER(IB_QP_ALT_PATH, alt_port_num),
	MEMBER(IB_QP_ALT_PATH, alt_pkey_index),
	MEMBER(IB_QP_ALT_PATH, alt_timeout),
	MEMBER(IB_QP_MIN_RNR_TIMER, min_rnr_timer),
	MEMBER(IB_QP_SQ_PSN, sq_psn),
	MEMBER(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	MEMBER(IB_QP_PATH_MIG_STATE, path_mig_state),
	MEMBER(IB_QP_CAP, cap),
	MEMBER(IB_QP_DEST_QPN, dest_qp_num),
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))

/* _i: number of the bit. Every byte of the attributes is 1, and 0 before. */
START_TEST(each_bit_copies_its_members_and_no_other)
{
	struct ib_qp_attr from, to, want;

	memset(&from, 1, sizeof(from));
	memset(&to, 0, sizeof(to));
	memset(&want, 0, sizeof(want));
	for (size_t i = 0; i < MEMBERS; i++)
		if (members[i].bit == 1u << _i)
			memset((char *)&want + members[i].at, 1, members[i].size);
	ib_qp_attr_update(&to, &from, 1u << _i);
	ck_assert_mem_eq(&to, &want, sizeof(to));
}
END_TEST

/* IB_QP_CUR_STATE (bit 1) is a condition, and changes nothing; every other bit of the list names members. */
START_TEST(every_bit_of_the_mask_is_known)
{
	uint32_t known = IB_QP_CUR_STATE;

	for (size_t i = 0; i < MEMBERS; i++)
		known |= members[i].bit;
#define BIT(name, bit, members) ck_assert_msg(known & name, "%s", #name);
	IB_QP_ATTR_LIST(BIT)
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("include/iba/ib_hca");
	TCase *tc = tcase_create("inline");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, each_bit_copies_its_members_and_no_other, 0, 21);
	tcase_add_test(tc, every_bit_of_the_mask_is_known);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
