/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast groups: checks of attach and detach, the module's calls, and the end of memberships. */
#include "test/unit/al/verbs/qp_test.h"

#define MLID 0xc001

static const ib_gid gid = { { 0xff, 0x12, 0x40, 0x1b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } };
static const ib_gid other = { { 0xff, 0x12, 0x40, 0x1b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 } };

static atomic_uint attached, detached;
static struct {
	al_status status;
	uint32_t qpn;
	ib_gid gid;
	uint16_t mlid;
} said; /* the status that the module returns, and the module's last call */

static al_status note(const struct ci_qp *qp, const ib_gid *to, uint16_t mlid)
{
	said.qpn = qp->qp_num;
	said.gid = *to;
	said.mlid = mlid;
	return said.status;
}

static al_status attach(struct ci_qp *qp, const ib_gid *to, uint16_t mlid)
{
	atomic_fetch_add(&attached, 1);
	return note(qp, to, mlid);
}

static al_status detach(struct ci_qp *qp, const ib_gid *to, uint16_t mlid)
{
	atomic_fetch_add(&detached, 1);
	return note(qp, to, mlid);
}

static void offer_multicast(void)
{
	struct fake *f = test_fake();

	f->ops.attach_mcast = attach;
	f->ops.detach_mcast = detach;
}

static void set_up_with(void)
{
	caps = IB_CA_CAP_UD | IB_CA_CAP_MCAST;
	offer_multicast();
	set_up();
}

static void set_up_without(void)
{
	caps = IB_CA_CAP_UD;
	set_up();
}

static void expect_calls(uint32_t attaches, uint32_t detaches)
{
	ck_assert_uint_eq(attached, attaches);
	ck_assert_uint_eq(detached, detaches);
}

START_TEST(a_group_comes_to_the_module_once)
{
	al_qp_h qp = make(IB_QPT_UD);
	uint32_t qpn;

	ck_ok(al_qp_num(qp, &qpn));
	ck_ok(al_attach_mcast(qp, &gid, MLID));
	ck_assert_uint_eq(said.qpn, qpn);
	ck_assert_mem_eq(&said.gid, &gid, sizeof(gid));
	ck_assert_uint_eq(said.mlid, MLID);
	expect_calls(1, 0);
	ck_ok(al_attach_mcast(qp, &gid, MLID)); /* a member already */
	expect_calls(1, 0);
	ck_ok(al_attach_mcast(qp, &other, MLID)); /* other groups */
	ck_ok(al_attach_mcast(qp, &gid, MLID + 1));
	expect_calls(3, 0);
	ck_ok(al_detach_mcast(qp, &other, MLID));
	ck_assert_mem_eq(&said.gid, &other, sizeof(gid));
	ck_assert_uint_eq(said.mlid, MLID);
	expect_calls(3, 1);
	ck_status(al_detach_mcast(qp, &other, MLID), AL_NOT_FOUND);
	expect_calls(3, 1);
	ck_ok(al_attach_mcast(qp, &other, MLID));
	ck_ok(al_detach_mcast(qp, &gid, MLID));
	ck_ok(al_detach_mcast(qp, &gid, MLID + 1));
	ck_ok(al_detach_mcast(qp, &other, MLID));
	expect_calls(4, 4);
}
END_TEST

START_TEST(what_is_no_group_does_not_come_to_the_module)
{
	static const ib_gid unicast = { { 0xfe, 0x80 } };
	static const uint16_t lids[] = { 0, 1, 0xbfff, 0xffff };
	al_qp_h qp = make(IB_QPT_UD), rc_qp = make(IB_QPT_RC);

	ck_status(al_attach_mcast(qp, NULL, MLID), AL_INVALID_PARAMETER);
	ck_status(al_detach_mcast(qp, NULL, MLID), AL_INVALID_PARAMETER);
	ck_status(al_attach_mcast(qp, &unicast, MLID), AL_INVALID_PARAMETER);
	ck_status(al_detach_mcast(qp, &unicast, MLID), AL_INVALID_PARAMETER);
	for (int i = 0; i < 4; i++) {
		ck_status(al_attach_mcast(qp, &gid, lids[i]), AL_INVALID_PARAMETER);
		ck_status(al_detach_mcast(qp, &gid, lids[i]), AL_INVALID_PARAMETER);
	}
	ck_status(al_attach_mcast(rc_qp, &gid, MLID), AL_INVALID_QP_TYPE);
	ck_status(al_detach_mcast(rc_qp, &gid, MLID), AL_INVALID_QP_TYPE);
	ck_status(al_detach_mcast(qp, &gid, MLID), AL_NOT_FOUND);
	expect_calls(0, 0);
	ck_ok(al_attach_mcast(qp, &gid, IB_LID_MULTICAST_FIRST));
	ck_ok(al_attach_mcast(qp, &gid, IB_LID_MULTICAST_LAST));
	expect_calls(2, 0);
}
END_TEST

START_TEST(a_refusal_of_the_module_changes_nothing)
{
	al_qp_h qp = make(IB_QPT_UD);

	said.status = AL_LIMIT_EXCEEDED;
	ck_status(al_attach_mcast(qp, &gid, MLID), AL_LIMIT_EXCEEDED);
	ck_status(al_detach_mcast(qp, &gid, MLID), AL_NOT_FOUND);
	said.status = AL_SUCCESS;
	ck_ok(al_attach_mcast(qp, &gid, MLID));
	expect_calls(2, 0);
	said.status = AL_IO_ERROR;
	ck_status(al_detach_mcast(qp, &gid, MLID), AL_IO_ERROR);
	said.status = AL_SUCCESS;
	ck_ok(al_attach_mcast(qp, &gid, MLID)); /* a member still */
	expect_calls(2, 1);
	ck_ok(al_detach_mcast(qp, &gid, MLID));
	al_set_log(test_ignore_log, NULL);
	said.status = (al_status)7777;
	ck_status(al_attach_mcast(qp, &gid, MLID), AL_MODULE_FAILED);
}
END_TEST

START_TEST(a_destroy_ends_memberships_without_a_detach)
{
	al_qp_h qp = make(IB_QPT_UD);

	ck_ok(al_attach_mcast(qp, &gid, MLID));
	ck_ok(al_attach_mcast(qp, &other, MLID));
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	expect_calls(2, 0);
	ck_status(al_attach_mcast(qp, &gid, MLID), AL_INVALID_HANDLE);
	qp = make(IB_QPT_UD); /* nor is a new queue pair a member */
	ck_status(al_detach_mcast(qp, &gid, MLID), AL_NOT_FOUND);
}
END_TEST

START_TEST(of_a_removed_hca_no_queue_pair_attaches)
{
	al_qp_h qp = make(IB_QPT_UD);

	al_set_log(test_ignore_log, NULL);
	ck_ok(al_attach_mcast(qp, &gid, MLID));
	fake->withdraw(0, 0);
	ck_soon(al_attach_mcast(qp, &gid, MLID) ==
		AL_CA_REMOVED); /* the library does not ask the module about this member */
	ck_status(al_attach_mcast(qp, &other, MLID), AL_CA_REMOVED);
	ck_status(al_detach_mcast(qp, &gid, MLID), AL_CA_REMOVED);
	expect_calls(1, 0);
}
END_TEST

START_TEST(an_hca_without_multicast_says_so)
{
	al_qp_h qp = make(IB_QPT_UD);

	ck_status(al_attach_mcast(qp, &gid, MLID), AL_UNSUPPORTED);
	ck_status(al_detach_mcast(qp, &gid, MLID), AL_UNSUPPORTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/verbs/mcast");
	TCase *tcase = tcase_create("groups"), *without = tcase_create("without");

	tcase_add_checked_fixture(tcase, set_up_with, tear_down);
	tcase_add_test(tcase, a_group_comes_to_the_module_once);
	tcase_add_test(tcase, what_is_no_group_does_not_come_to_the_module);
	tcase_add_test(tcase, a_refusal_of_the_module_changes_nothing);
	tcase_add_test(tcase, a_destroy_ends_memberships_without_a_detach);
	tcase_add_test(tcase, of_a_removed_hca_no_queue_pair_attaches);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(without, set_up_without, tear_down);
	tcase_add_test(without, an_hca_without_multicast_says_so);
	suite_add_tcase(suite, without);
	return test_run(suite);
}
