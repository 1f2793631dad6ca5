/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast: the receivers of a datagram, each of which gets the datagram once, and the limits of
 * groups. */
#include "hca/soft/port/mcast.h"
#include "mcast_bed.h"

/* --------------------------------------------------- receivers of a datagram */

static const uint32_t counts[] = { 1, 2, 20 };

START_TEST(each_member_and_no_other_queue_pair_gets_each_datagram_once)
{
	struct member *lid, *gid;
	uint32_t i;

	start_group("progress=manual lmc=1", NULL);
	receive(1, SLOT);
	for (i = 0; i < counts[_i]; i++)
		add_member(&hca[(i + 1) % 2], NULL);
	lid = add(&hca[0], NULL);
	gid = add(&hca[1], NULL);
	add(&hca[0], NULL);
	add(&hca[1], NULL);
	ck_assert_int_eq(ops->attach_mcast(lid->qp->ci, &mgid, OTHER_LID), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(gid->qp->ci, &other_gid, MLID), AL_SUCCESS);
	post_groups(0, RECVS);
	run_all();
	for (i = 0; i < members; i++)
		expect_datagrams(&member[i], 0, i < counts[_i] ? RECVS : 0);
	expect_empty(p.bcq);
	ck_assert_uint_eq(counters(&hca[0]).rcv_dropped + counters(&hca[1]).rcv_dropped, 0);
	finish_group();
}
END_TEST

/* The rules with threads in place of manual steps. */
START_TEST(threads_deliver_as_well)
{
	uint32_t i, n;

	start_group("", NULL);
	for (i = 0; i < 6; i++)
		add_member(&hca[i % 2], NULL);
	for (n = 0; n < RECVS; n++) {
		post_group(n);
		for (i = 0; i < 6; i++)
			expect_datagram(&member[i], n);
	}
	for (i = 0; i < 6; i++)
		expect_empty(member[i].cq);
	finish_group();
}
END_TEST

/* One post, of more copies than the pool has: members at the sender's port receive while the sender
 * sends. */
START_TEST(a_long_chain_reaches_each_member)
{
	enum { CHAIN = MCAST_COPIES / 10 + 1 };
	const struct qp_options deep = { .type = IB_QPT_UD, .qkey = QKEY, .depth = CHAIN };
	static struct ib_send_wr wr[CHAIN];
	struct ib_sge sge;
	uint32_t i, n;

	start_group("", &deep);
	for (i = 0; i < 10; i++)
		add_member(&hca[0], &deep);
	sge = sge_of(p.am, 0, 64);
	for (n = 0; n < CHAIN; n++) {
		wr[n].next = NULL;
		wr[n] = datagram(n, &sge, 0);
		wr[n].wr.ud.remote_qpn = IB_QPN_MULTICAST;
		if (n)
			wr[n - 1].next = &wr[n];
	}
	post(p.a, wr);
	for (i = 0; i < 10; i++) {
		for (n = 0; n < CHAIN; n++)
			expect_wc(member[i].cq, n, IB_WC_SUCCESS);
		ck_assert_mem_eq(member[i].mr->buf + (CHAIN - 1) * SLOT + GRH, p.am->buf, 64);
	}
	ck_assert_uint_eq(counters(&hca[0]).rcv_dropped, 0);
	finish_group();
}
END_TEST

START_TEST(immediate_and_solicited_arrive_at_each_member)
{
	struct ib_send_wr wr;
	struct ib_wc wc;
	int i;

	start_group("", NULL);
	for (i = 0; i < 2; i++) {
		add_member(&hca[i], NULL);
		ck_assert_int_eq(ops->arm_cq(member[i].cq->ci, AL_ARM_SOLICITED, NULL), AL_SUCCESS);
	}
	wr = datagram(1, NULL, IB_SEND_SOLICITED);
	wr.opcode = IB_WR_SEND_WITH_IMM;
	wr.ex.imm_data = 0x12345678;
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	post(p.a, &wr);
	for (i = 0; i < 2; i++) {
		wc = expect_wc(member[i].cq, 0, IB_WC_SUCCESS);
		ck_assert_uint_eq(wc.wc_flags, IB_WC_GRH | IB_WC_WITH_IMM | IB_WC_SOLICITED);
		ck_assert_uint_eq(wc.imm_data, 0x12345678);
		ck_assert_uint_eq(member[i].cq->notified, 1);
	}
	finish_group();
}
END_TEST

/* _i: a member blocks its own datagrams. */
START_TEST(a_sender_gets_its_own_datagram_unless_it_blocks_that)
{
	struct qp_options o = datagrams;
	struct member *sender, *blocks;
	struct ib_send_wr wr;

	start_group("progress=manual", NULL);
	o.blocks_own = _i;
	sender = add_member(&hca[0], &o);
	o.blocks_own = true;
	blocks = add_member(&hca[0], &o);
	wr = datagram(77, NULL, IB_SEND_SIGNALED);
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	post(sender->qp, &wr);
	run_all();
	/* the copy is in the inbox only when the send has completed */
	expect_wc(sender->cq, 77, IB_WC_SUCCESS);
	if (!_i)
		expect_wc(sender->cq, 0, IB_WC_SUCCESS);
	expect_empty(sender->cq);
	expect_wc(blocks->cq, 0, IB_WC_SUCCESS);
	expect_empty(blocks->cq);
	finish_group();
}
END_TEST

START_TEST(a_datagram_stays_at_the_cable_of_the_senders_port)
{
	struct qp_options second = datagrams;
	struct member *here, *there;

	second.port = 2;
	/* _i: a cable between both ports of one HCA; else each port has a loopback plug */
	start_group(_i ? "progress=manual hcas=1 ports=2 [link x] ports=0:1,0:2"
		       : "progress=manual hcas=1 ports=2",
		    NULL);
	here = add_member(&hca[0], NULL);
	there = add_member(&hca[0], &second);
	post_groups(0, 3);
	run_all();
	expect_datagrams(here, 0, 3);
	expect_datagrams(there, 0, _i ? 3 : 0);
	ck_assert_uint_eq(counters(&hca[0]).rcv_dropped, 0);
	finish_group();
}
END_TEST

START_TEST(keys_count_for_each_member)
{
	struct qp_options q = datagrams, k = datagrams;
	struct member *good;

	start_group("progress=manual pkeys=0xffff,0x8123", NULL);
	q.qkey = QKEY + 1;
	k.pkey_index = 1;
	add_member(&hca[1], &q);
	add_member(&hca[1], &k);
	good = add_member(&hca[1], NULL);
	post_groups(0, 2);
	run_all();
	expect_empty(member[0].cq);
	expect_empty(member[1].cq);
	expect_datagrams(good, 0, 2);
	ck_assert_uint_eq(port_of(&hca[1], 1).qkey_viol_cntr, 2);
	ck_assert_uint_eq(port_of(&hca[1], 1).bad_pkey_cntr, 2);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 4);
	finish_group();
}
END_TEST

/* A datagram is received only if its multicast LID, multicast GID and queue pair number match together. */
START_TEST(half_of_a_multicast_address_reaches_no_member)
{
	struct ib_ah_attr path = group_path();
	struct ib_send_wr wr;

	start_group("progress=manual", NULL);
	add_member(&hca[0], NULL);
	add_member(&hca[1], NULL);
	wr = datagram(1, NULL, IB_SEND_SIGNALED);
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	switch (_i) {
	case 0:
		path.is_global = false;
		break;
	case 1:
		path.grh.dgid.raw[0] = 0xfe;
		break;
	case 2:
		path.dlid = port_of(&hca[1], 1).lid;
		break;
	case 3:
		path.dlid = IB_LID_PERMISSIVE;
		break;
	case 4:
		wr.wr.ud.remote_qpn = member[1].qp->ci->qp_num;
		break;
	}
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
	post(p.a, &wr);
	run_all();
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_empty(member[0].cq);
	expect_empty(member[1].cq);
	ck_assert_uint_eq(counters(&hca[0]).xmit_packets, 1);
	ck_assert_uint_eq(counters(&hca[0]).multicast_xmit_packets, 0);
	finish_group();
}
END_TEST

START_TEST(a_member_has_to_be_ready)
{
	struct member *m;

	start_group("progress=manual", NULL);
	m = add_member(&hca[1], NULL);
	ck_assert_int_eq(modify(m->qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	post_groups(0, 2);
	run_all();
	expect_empty(m->cq);
	/* no queue pair of the port is a member, and the port is not sent to */
	ck_assert_uint_eq(counters(&hca[1]).multicast_rcv_packets, 0);
	to_init(m->qp, &datagrams);
	post_receives(m, RECVS);
	post_group(2);
	run_all();
	expect_empty(m->cq);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 1);
	to_rtr(m->qp, NULL, &datagrams);
	post_group(3);
	run_all();
	expect_datagrams(m, 3, 1);
	ck_assert_int_eq(modify(m->qp, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	post_group(4);
	run_all();
	expect_wc(m->cq, 1, IB_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 2);
	finish_group();
}
END_TEST

START_TEST(a_member_without_a_receive_loses_the_datagram_alone)
{
	struct qp_options o = datagrams;
	struct member *with, *without;

	start_group("progress=manual", NULL);
	with = add_member(&hca[1], NULL);
	without = &member[members++];
	*without = (struct member){ .cq = new_cq(&hca[1], 16, AL_CQ_NOTIFY_PENDING),
				    .mr = new_mr(&hca[1], SLOT, 0) };
	without->qp = new_qp(&hca[1], without->cq, without->cq, &o);
	to_init(without->qp, &o);
	to_rtr(without->qp, NULL, &o);
	ck_assert_int_eq(attach(without), AL_SUCCESS);
	post_group(0);
	run_all();
	expect_datagrams(with, 0, 1);
	expect_empty(without->cq);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 1);
	finish_group();
}
END_TEST

/* limit of members of a group */

START_TEST(a_second_attach_gives_one_copy_and_one_detach_ends_it)
{
	struct member *m;

	start_group("progress=manual", NULL);
	m = add_member(&hca[1], NULL);
	ck_assert_int_eq(attach(m), AL_SUCCESS);
	post_group(0);
	run_all();
	expect_datagrams(m, 0, 1);
	ck_assert_int_eq(ops->detach_mcast(m->qp->ci, &mgid, MLID + 1), AL_NOT_FOUND);
	ck_assert_int_eq(ops->detach_mcast(m->qp->ci, &other_gid, MLID), AL_NOT_FOUND);
	ck_assert_int_eq(ops->detach_mcast(p.b->ci, &mgid, MLID), AL_NOT_FOUND);
	ck_assert_int_eq(detach(m), AL_SUCCESS);
	ck_assert_int_eq(detach(m), AL_NOT_FOUND);
	post_group(1);
	run_all();
	expect_empty(m->cq);
	ck_assert_int_eq(attach(m), AL_SUCCESS);
	post_group(2);
	run_all();
	expect_datagrams(m, 2, 1);
	finish_group();
}
END_TEST

START_TEST(limits_are_exact)
{
	static const ib_gid third = { { 0xff, 9 } };

	start_group("max_mcast_grp=2 max_mcast_qp_attach=2 max_total_mcast_qp_attach=3", NULL);
	ck_assert_uint_ne(hca[0].attr.caps & IB_CA_CAP_MCAST, 0);
	ck_assert_uint_eq(hca[0].attr.max_mcast_grp, 2);
	ck_assert_uint_eq(hca[0].attr.max_mcast_qp_attach, 2);
	ck_assert_uint_eq(hca[0].attr.max_total_mcast_qp_attach, 3);
	add_member(&hca[0], NULL);
	add_member(&hca[0], NULL);
	add(&hca[0], NULL);
	ck_assert_int_eq(attach(&member[2]), AL_LIMIT_EXCEEDED); /* already a member */
	ck_assert_int_eq(attach(&member[1]), AL_SUCCESS);        /* limit of members of all groups */
	ck_assert_int_eq(ops->attach_mcast(member[2].qp->ci, &mgid, MLID + 1), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(member[1].qp->ci, &mgid, MLID + 1),
			 AL_LIMIT_EXCEEDED); /* limit of groups */
	ck_assert_int_eq(detach(&member[1]), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(member[2].qp->ci, &third, MLID),
			 AL_LIMIT_EXCEEDED);              /* of the groups */
	ck_assert_int_eq(detach(&member[0]), AL_SUCCESS); /* the first group has no member left */
	ck_assert_int_eq(ops->attach_mcast(member[2].qp->ci, &third, MLID), AL_SUCCESS);
	free_qp(member[2].qp); /* ends both memberships of the queue pair */
	member[2].qp = NULL;
	ck_assert_int_eq(attach(&member[0]), AL_SUCCESS);
	ck_assert_int_eq(attach(&member[1]), AL_SUCCESS);
	ck_assert_int_eq(ops->attach_mcast(member[0].qp->ci, &third, MLID), AL_SUCCESS);
	finish_group();
}
END_TEST

/* Many groups and members: each group reaches its own members. */
START_TEST(many_groups_do_not_meet)
{
	struct ib_ah_attr path = group_path();
	uint32_t i, g;

	start_group("progress=manual", NULL);
	for (i = 0; i < 3; i++)
		add(&hca[1], NULL);
	for (g = 0; g < 600; g++) {
		path.grh.dgid.raw[14] = (uint8_t)(g >> 8);
		path.grh.dgid.raw[15] = (uint8_t)g;
		ck_assert_int_eq(ops->attach_mcast(member[g % 3].qp->ci, &path.grh.dgid,
						   (uint16_t)(0xc000 + g / 2)),
				 AL_SUCCESS);
	}
	for (g = 0; g < 600; g += 7) {
		path.grh.dgid.raw[14] = (uint8_t)(g >> 8);
		path.grh.dgid.raw[15] = (uint8_t)g;
		path.dlid = (uint16_t)(0xc000 + g / 2);
		ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
		post_group(0);
		run_all();
		expect_wc(member[g % 3].cq, member[g % 3].got++, IB_WC_SUCCESS);
		for (i = 0; i < 3; i++)
			expect_empty(member[i].cq);
	}
	finish_group();
}
END_TEST

START_TEST(an_attach_without_memory_changes_nothing)
{
	/* allocation that fails: of the pool; of pool and member; of member and group */
	static const uint32_t nth[] = { 1, 2, 2 };
	int n;

	start_group("progress=manual", NULL);
	add(&hca[0], NULL);
	for (n = 0; n < 3; n++) {
		al_fail_alloc(nth[n]);
		ck_assert_int_eq(attach(&member[0]), AL_INSUFFICIENT_MEMORY);
	}
	al_fail_alloc(0);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_ALLOC, .n = 1, .count = 1 });
	ck_assert_int_eq(attach(&member[0]), AL_INSUFFICIENT_MEMORY);
	ck_assert_int_eq(detach(&member[0]), AL_NOT_FOUND);
	ck_assert_int_eq(attach(&member[0]), AL_SUCCESS);
	post_group(0);
	run_all();
	expect_datagrams(&member[0], 0, 1);
	finish_group();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("multicast");
	TCase *t = tcase_create("multicast");

	tcase_add_loop_test(t, each_member_and_no_other_queue_pair_gets_each_datagram_once, 0, 3);
	tcase_add_test(t, threads_deliver_as_well);
	tcase_add_test(t, a_long_chain_reaches_each_member);
	tcase_add_test(t, immediate_and_solicited_arrive_at_each_member);
	tcase_add_loop_test(t, a_sender_gets_its_own_datagram_unless_it_blocks_that, 0, 2);
	tcase_add_loop_test(t, a_datagram_stays_at_the_cable_of_the_senders_port, 0, 2);
	tcase_add_test(t, keys_count_for_each_member);
	tcase_add_loop_test(t, half_of_a_multicast_address_reaches_no_member, 0, 5);
	tcase_add_test(t, a_member_has_to_be_ready);
	tcase_add_test(t, a_member_without_a_receive_loses_the_datagram_alone);
	tcase_add_test(t, a_second_attach_gives_one_copy_and_one_detach_ends_it);
	tcase_add_test(t, limits_are_exact);
	tcase_add_test(t, many_groups_do_not_meet);
	tcase_add_test(t, an_attach_without_memory_changes_nothing);
	suite_add_tcase(s, t);
	return run_suite(s);
}
