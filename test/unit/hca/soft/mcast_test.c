/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast: the receivers of a datagram, each of which gets the datagram once; limits of groups; copies that are
 * under way when queue pairs come and go. Queue pair a of the pair sends; queue pair b is no member unless a test
 * attaches b.
 */
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/mcast.h"
#include "ud_test.h"

#define MLID    0xc123
#define RECVS   64
#define SLOT    (GRH + MTU)
#define MEMBERS 24

/* Groups of one GID and OTHER_LID, or of one LID and other_gid, have the same hash in port/mcast.c
 * as the group. */
#define OTHER_LID (MLID + 256)
static const ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7 } };
static const ib_gid other_gid = { { 0xff, 0x12, 0x40, 0x1b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
				    232 } };

struct member {
	struct qp *qp;
	struct cq *cq;
	struct mr *mr;
	uint64_t got; /* receives that are completed */
};

static struct member member[MEMBERS];
static uint32_t members;

static const struct qp_options datagrams = { .type = IB_QPT_UD, .qkey = QKEY, .depth = RECVS };

/* Posts a member's receives: number i is for the member's datagram number i. */
static void post_receives(const struct member *m, uint32_t num)
{
	struct ib_sge sge;
	uint32_t i;

	for (i = 0; i < num; i++) {
		sge = sge_of(m->mr, (uint64_t)i * SLOT, SLOT);
		post_recv(m->qp, i, &sge, 1);
	}
}

/* Makes a queue pair in RTS that is in no group, with receives. */
static struct member *add(struct hca *h, const struct qp_options *o)
{
	struct member *m = &member[members++];

	*m = (struct member){ .cq = new_cq(h, 256, AL_CQ_NOTIFY_PENDING),
			      .mr = new_mr(h, (size_t)RECVS * SLOT, 0) };
	m->qp = new_qp(h, m->cq, m->cq, o ? o : &datagrams);
	to_init(m->qp, o ? o : &datagrams);
	to_rtr(m->qp, NULL, o ? o : &datagrams);
	to_rts(m->qp, o ? o : &datagrams);
	post_receives(m, RECVS);
	return m;
}

static al_status attach(const struct member *m)
{
	return ops->attach_mcast(m->qp->ci, &mgid, MLID);
}

static al_status detach(const struct member *m)
{
	return ops->detach_mcast(m->qp->ci, &mgid, MLID);
}

static struct member *add_member(struct hca *h, const struct qp_options *o)
{
	struct member *m = add(h, o);

	ck_assert_int_eq(attach(m), AL_SUCCESS);
	return m;
}

static void end_member(struct member *m)
{
	if (m->qp)
		free_qp(m->qp);
	free_cq(m->cq);
	free_mr(m->mr);
}

static struct ib_ah_attr group_path(void)
{
	return (struct ib_ah_attr){
		.is_global = true,
		.dlid = MLID,
		.port_num = 1,
		.grh = { .dgid = mgid, .hop_limit = 1, .flow_label = 0x12345 },
	};
}

static void start_group(const char *settings, const struct qp_options *o)
{
	struct ib_ah_attr path;

	members = 0;
	start(settings, o ? o : &(struct qp_options){ .depth = RECVS });
	path = group_path();
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
}

static void finish_group(void)
{
	while (members)
		end_member(&member[--members]);
	finish();
}

static uint32_t length_of(uint32_t n)
{
	static const uint32_t lengths[] = { 1, 0, 4, 255, 1000, MTU - 1, MTU, 77 };

	return lengths[n % 8];
}

/* Datagram number n has length and bytes of its own. */
static void post_group(uint32_t n)
{
	struct ib_sge sge = sge_of(p.am, (uint64_t)n * 101, length_of(n));
	struct ib_send_wr wr = datagram(n, &sge, 0);

	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	post(p.a, &wr);
}

static void post_groups(uint32_t from, uint32_t num)
{
	for (; num--; from++)
		post_group(from);
}

/* The member's next completion is datagram number n. */
static void expect_datagram(struct member *m, uint32_t n)
{
	const char *slot = m->mr->buf + m->got * SLOT;
	struct ib_wc wc = expect_wc(m->cq, m->got, IB_WC_SUCCESS);
	ib_gid sgid;

	ck_assert_int_eq(ops->query_gid(hca[0].ca, 1, 0, &sgid), AL_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, GRH + length_of(n));
	ck_assert_uint_eq(wc.wc_flags, IB_WC_GRH);
	ck_assert_uint_eq(wc.src_qp, p.a->ci->qp_num);
	ck_assert_uint_eq(wc.slid, port_of(&hca[0], 1).lid);
	ck_assert_uint_eq(wc.dlid_path_bits, 0);
	ck_assert_uint_eq(wc.qp_num, m->qp->ci->qp_num);
	ck_assert_uint_eq((uint8_t)slot[0] >> 4, 6);
	ck_assert_mem_eq(slot + 8, sgid.raw, sizeof(sgid));
	ck_assert_mem_eq(slot + 24, mgid.raw, sizeof(mgid));
	ck_assert_mem_eq(slot + GRH, p.am->buf + (size_t)n * 101, length_of(n));
	m->got++;
}

static void expect_datagrams(struct member *m, uint32_t from, uint32_t num)
{
	for (; num--; from++)
		expect_datagram(m, from);
	expect_empty(m->cq);
}

/* --------------------------------------------------- receivers of a datagram */

static const uint32_t counts[] = { 1, 2, 20 };

START_TEST(each_member_gets_each_datagram_once_and_nobody_else_does)
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
	struct ib_send_wr wr[RECVS];
	struct ib_sge sge;
	uint32_t i, n;

	start_group("", NULL);
	for (i = 0; i < 10; i++)
		add_member(&hca[0], NULL);
	ck_assert_uint_gt(RECVS * 10, MCAST_COPIES);
	sge = sge_of(p.am, 0, 64);
	for (n = 0; n < RECVS; n++) {
		wr[n] = datagram(n, &sge, 0);
		wr[n].wr.ud.remote_qpn = IB_QPN_MULTICAST;
		if (n)
			wr[n - 1].next = &wr[n];
	}
	post(p.a, wr);
	for (i = 0; i < 10; i++) {
		for (n = 0; n < RECVS; n++)
			expect_wc(member[i].cq, n, IB_WC_SUCCESS);
		ck_assert_mem_eq(member[i].mr->buf + (RECVS - 1) * SLOT + GRH, p.am->buf, 64);
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
START_TEST(half_of_a_multicast_address_reaches_nobody)
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

/* ------------------------------------------------------- copies under way */

/* Runs the sender alone until the sender has sent all that is posted. The members at the sender's
 * port do not run. */
static void run_sender(uint32_t num)
{
	uint32_t i;

	for (i = 0; i <= num; i++)
		step_choice(members); /* the sender is the last of the run queue, and at first the
					 only one */
}

START_TEST(a_detached_queue_pair_gets_nothing_that_was_under_way)
{
	struct member *leaves, *stays;

	start_group("progress=manual", NULL);
	leaves = add_member(&hca[0], NULL);
	stays = add_member(&hca[0], NULL);
	ck_assert_int_eq(ops->attach_mcast(leaves->qp->ci, &other_gid, MLID), AL_SUCCESS);
	run_all();
	post_groups(0, 5);
	run_sender(5);
	expect_empty(leaves->cq);
	ck_assert_int_eq(detach(leaves), AL_SUCCESS);
	run_all();
	expect_empty(leaves->cq);
	expect_datagrams(stays, 0, 5);
	ck_assert_int_eq(attach(leaves), AL_SUCCESS);
	post_groups(5, 2);
	run_sender(2);
	ck_assert_int_eq(ops->detach_mcast(leaves->qp->ci, &other_gid, MLID), AL_SUCCESS);
	run_all();
	expect_datagrams(leaves, 5, 2); /* the end of the other group drops no copy */
	finish_group();
}
END_TEST

/* More copies than the pool has are made and dropped again, by queue pairs that are destroyed. */
START_TEST(a_destroy_gives_copies_back)
{
	struct member *last;
	uint32_t i;

	start_group("progress=manual", NULL);
	add(&hca[0], NULL);
	for (i = 0; i < 12; i++) {
		ck_assert_int_eq(attach(&member[0]), AL_SUCCESS);
		run_all();
		post_groups(0, 40);
		run_sender(40);
		end_member(&member[--members]);
		run_all();
		add(&hca[0], NULL);
	}
	ck_assert_uint_eq(counters(&hca[0]).rcv_dropped, 0);
	last = &member[0];
	ck_assert_int_eq(attach(last), AL_SUCCESS);
	post_groups(0, 10);
	run_all();
	expect_datagrams(last, 0, 10);
	finish_group();
}
END_TEST

/* Copies belong to the members: sender, region and bytes may go before the members run. */
START_TEST(a_reset_of_the_sender_takes_nothing_back)
{
	struct member *m;
	char sent[1024];

	start_group("progress=manual", NULL);
	m = add_member(&hca[0], NULL);
	memcpy(sent, p.am->buf, sizeof(sent));
	run_all();
	post_groups(0, 4);
	run_sender(4);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	memset(p.am->buf, 0xee, p.am->size);
	run_all();
	expect_wc(m->cq, 0, IB_WC_SUCCESS);
	ck_assert_mem_eq(m->mr->buf + GRH, sent, length_of(0));
	expect_wc(m->cq, 1, IB_WC_SUCCESS);
	expect_wc(m->cq, 2, IB_WC_SUCCESS);
	expect_wc(m->cq, 3, IB_WC_SUCCESS);
	ck_assert_mem_eq(m->mr->buf + 3 * SLOT + GRH, sent + 303, length_of(3));
	expect_empty(m->cq);
	finish_group();
}
END_TEST

/* A member that never runs holds a third of the pool; another member still gets its copies. */
START_TEST(a_full_pool_drops_copies_and_counts_them)
{
	struct member *slow, *other;
	uint32_t i, sent = 0, held;

	start_group("progress=manual", NULL);
	slow = add_member(&hca[0], NULL);
	run_all();
	for (i = 0; i < 5; i++, sent += RECVS) {
		post_groups(0, RECVS);
		run_sender(RECVS);
		expect_empty(p.acq);
	}
	held = sent - (uint32_t)counters(&hca[0]).rcv_dropped;
	ck_assert_uint_ge(held, MCAST_COPIES / 3);
	ck_assert_uint_le(held, MCAST_COPIES / 3 + 1);
	other = add_member(&hca[0], NULL);
	post_groups(1, 20);
	run_sender(20);
	ck_assert_uint_eq(counters(&hca[0]).rcv_dropped, sent - held + 20); /* the first one's */
	run_all();
	expect_datagrams(other, 1, 20);
	for (i = 0; i < RECVS; i++) /* a member has fewer receives than copies */
		expect_datagram(slow, i);
	expect_empty(slow->cq);
	post_receives(slow, 1);
	slow->got = 0;
	post_group(9);
	run_all();
	expect_datagrams(slow, 9, 1);
	for (i = 0; i < 4; i++) { /* the copies are returned each time */
		slow->got = 0;
		post_receives(slow, RECVS);
		post_groups(0, RECVS);
		run_all();
		expect_datagrams(slow, 0, RECVS);
	}
	finish_group();
}
END_TEST

static _Atomic bool churn_ends;

static void *churn(void *arg)
{
	const struct ib_send_wr *bad;
	struct ib_sge sge = sge_of(p.am, 0, 64);
	struct ib_send_wr wr = datagram(1, &sge, 0);
	uint32_t count;
	struct ib_wc wc[16];

	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	while (!atomic_load(&churn_ends)) {
		ops->post_send(p.a->ci, &wr, &bad);
		ops->poll_cq(p.acq->ci, 16, wc, &count);
	}
	return arg;
}

static void drain(struct member *m)
{
	uint32_t count, i;
	struct ib_sge sge;
	struct ib_wc wc[16];

	do {
		ck_assert_int_eq(ops->poll_cq(m->cq->ci, 16, wc, &count), AL_SUCCESS);
		for (i = 0; i < count; i++) {
			ck_assert_int_eq(wc[i].status, IB_WC_SUCCESS);
			ck_assert_uint_eq(wc[i].byte_len, GRH + 64);
			ck_assert_mem_eq(m->mr->buf + wc[i].wr_id * SLOT + GRH, p.am->buf, 64);
			sge = sge_of(m->mr, wc[i].wr_id * SLOT, SLOT);
			post_recv(m->qp, wc[i].wr_id, &sge, 1);
		}
	} while (count);
}

/* Detaches while another thread sends, from the sender's port and from the far port. */
START_TEST(after_a_detach_nothing_more_comes)
{
	uint64_t end = now_ms() + 300 * effort();
	uint32_t i, rounds = 0;
	pthread_t thread;

	start_group("", NULL);
	atomic_store(&churn_ends, false);
	add(&hca[0], NULL);
	add(&hca[1], NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, churn, NULL), 0);
	for (; now_ms() < end || rounds < 20; rounds++) {
		for (i = 0; i < 2; i++)
			ck_assert_int_eq(attach(&member[i]), AL_SUCCESS);
		for (i = 0; i < 20; i++)
			drain(&member[i % 2]);
		for (i = 0; i < 2; i++)
			ck_assert_int_eq(detach(&member[i]), AL_SUCCESS);
		for (i = 0; i < 2; i++)
			drain(&member[i]);
		for (i = 0; i < 2; i++)
			expect_empty(member[i].cq);
	}
	/* queue pairs are destroyed under traffic */
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(attach(&member[i]), AL_SUCCESS);
	while (members)
		end_member(&member[--members]);
	atomic_store(&churn_ends, true);
	pthread_join(thread, NULL);
	finish_group();
}
END_TEST

/* -------------------------------------------------- counters, faults, wire */

START_TEST(a_port_counts_a_datagram_once)
{
	struct ib_port_counters from, to;
	int i;

	start_group("progress=manual", NULL);
	for (i = 0; i < 6; i++)
		add_member(&hca[i % 2], NULL);
	receive(0, SLOT);
	post_groups(0, 5);
	run_all();
	from = counters(&hca[0]);
	to = counters(&hca[1]);
	ck_assert_uint_eq(from.multicast_xmit_packets, 5);
	ck_assert_uint_eq(from.unicast_xmit_packets, 0);
	ck_assert_uint_eq(from.xmit_packets, 5);
	ck_assert_uint_eq(from.multicast_rcv_packets, 0); /* copies in the HCA came by no wire */
	ck_assert_uint_eq(from.rcv_packets, 0);
	ck_assert_uint_eq(to.multicast_rcv_packets, 5);
	ck_assert_uint_eq(to.unicast_rcv_packets, 0);
	ck_assert_uint_eq(to.rcv_packets, 5);
	/* LRH, GRH, BTH, DETH, ICRC, VCRC, and the payload with its pad */
	ck_assert_uint_eq(from.xmit_bytes, 5 * (8 + 40 + 12 + 8 + 4 + 2) + 4 + 0 + 4 + 256 + 1000);
	ck_assert_uint_eq(to.rcv_bytes, from.xmit_bytes);
	finish_group();
}
END_TEST

/* A fault meets the datagram as it leaves, for all members: _i 0: lost, 1: doubled, 2: late, 3:
 * damaged. */
START_TEST(a_fault_meets_a_datagram_once)
{
	static const struct soft_fault rules[] = {
		{ .action = SOFT_FAULT_DROP, .n = 1, .count = 1 },
		{ .action = SOFT_FAULT_DUPLICATE, .n = 1, .count = 1 },
		{ .action = SOFT_FAULT_HOLD, .n = 1, .count = 1, .by = 1 },
		{ .action = SOFT_FAULT_CORRUPT, .n = 1, .count = 1 },
	};
	int i;

	start_group("progress=manual", NULL);
	for (i = 0; i < 4; i++)
		add_member(&hca[i % 2], NULL);
	fault(&hca[0], rules[_i]);
	post_groups(0, 2);
	run_all();
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
	for (i = 0; i < 4; i++) {
		if (_i == 1)
			expect_datagram(&member[i], 0);
		if (_i == 1)
			expect_datagram(&member[i], 0);
		expect_datagram(&member[i], 1);
		if (_i == 2)
			expect_datagram(&member[i], 0);
		expect_empty(member[i].cq);
	}
	ck_assert_uint_eq(counters(&hca[1]).rcv_errors, _i == 3);
	finish_group();
}
END_TEST

START_TEST(the_same_run_twice_is_the_same)
{
	uint64_t order[2][4 * 16] = { 0 };
	uint32_t run, i, n, at;
	struct ib_wc wc;

	for (run = 0; run < 2; run++) {
		start_group("progress=manual seed=5 fault=drop,chance=30%", NULL);
		for (i = 0; i < 4; i++)
			add_member(&hca[i % 2], NULL);
		post_groups(0, 16);
		run_all();
		for (i = 0, at = 0; i < 4; i++)
			do {
				ck_assert_int_eq(ops->poll_cq(member[i].cq->ci, 1, &wc, &n),
						 AL_SUCCESS);
				if (n)
					order[run][at++] = wc.byte_len;
			} while (n);
		ck_assert_uint_gt(at, 4);
		ck_assert_uint_lt(at, 64);
		finish_group();
	}
	ck_assert_mem_eq(order[0], order[1], sizeof(order[0]));
}
END_TEST

/* A packet that comes in by the wire. */
static uint32_t inject_group(uint16_t slid, const ib_gid *gid)
{
	struct soft_inject in = { .port = 1 };
	struct soft_injected out = { 0 };
	struct ci_vendor_call call = { .code = SOFT_INJECT,
				       .in = &in,
				       .in_len = sizeof(in),
				       .out = &out,
				       .out_len = sizeof(out) };
	struct wire_packet w = {
		.framing = WIRE_IB,
		.lrh = { .dlid = MLID, .slid = slid, .global = true },
		.bth = { .opcode = 0x64,
			 .pkey = 0xffff,
			 .dest_qpn = IB_QPN_MULTICAST,
			 .migrated = true },
		.deth = { .qkey = QKEY, .src_qpn = 0x77 },
		.payload = (uint8_t *)p.am->buf,
		.length = 1,
	};

	memcpy(w.grh.dgid, gid, sizeof(*gid));
	in.length = (uint32_t)wire_encode(&w, in.bytes, sizeof(in.bytes));
	ck_assert_int_eq(ops->vendor_call(hca[1].ca, &call, NULL), AL_SUCCESS);
	return out.outcome;
}

/*
 * The port drops a datagram of its own that the subnet has returned: the members have got their copies within the
 * HCA.
 */
START_TEST(a_port_takes_no_datagram_from_itself)
{
	struct member *m;

	start_group("progress=manual", NULL);
	m = add_member(&hca[1], NULL);
	ck_assert_uint_eq(inject_group(port_of(&hca[0], 1).lid, &mgid), SOFT_INJECT_DELIVERED);
	run_all();
	ck_assert_uint_eq(expect_wc(m->cq, 0, IB_WC_SUCCESS).src_qp, 0x77);
	ck_assert_uint_eq(inject_group(port_of(&hca[1], 1).lid, &mgid), SOFT_INJECT_NO_QP);
	ck_assert_uint_eq(inject_group(port_of(&hca[0], 1).lid, &other_gid), SOFT_INJECT_NO_QP);
	run_all();
	expect_empty(m->cq);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 2);
	finish_group();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("multicast");
	TCase *t = tcase_create("multicast");

	tcase_add_loop_test(t, each_member_gets_each_datagram_once_and_nobody_else_does, 0, 3);
	tcase_add_test(t, threads_deliver_as_well);
	tcase_add_test(t, a_long_chain_reaches_each_member);
	tcase_add_test(t, immediate_and_solicited_arrive_at_each_member);
	tcase_add_loop_test(t, a_sender_gets_its_own_datagram_unless_it_blocks_that, 0, 2);
	tcase_add_loop_test(t, a_datagram_stays_at_the_cable_of_the_senders_port, 0, 2);
	tcase_add_test(t, keys_count_for_each_member);
	tcase_add_loop_test(t, half_of_a_multicast_address_reaches_nobody, 0, 5);
	tcase_add_test(t, a_member_has_to_be_ready);
	tcase_add_test(t, a_member_without_a_receive_loses_the_datagram_alone);
	tcase_add_test(t, a_second_attach_gives_one_copy_and_one_detach_ends_it);
	tcase_add_test(t, limits_are_exact);
	tcase_add_test(t, many_groups_do_not_meet);
	tcase_add_test(t, an_attach_without_memory_changes_nothing);
	tcase_add_test(t, a_detached_queue_pair_gets_nothing_that_was_under_way);
	tcase_add_test(t, a_destroy_gives_copies_back);
	tcase_add_test(t, a_reset_of_the_sender_takes_nothing_back);
	tcase_add_test(t, a_full_pool_drops_copies_and_counts_them);
	tcase_add_test(t, after_a_detach_nothing_more_comes);
	tcase_add_test(t, a_port_counts_a_datagram_once);
	tcase_add_loop_test(t, a_fault_meets_a_datagram_once, 0, 4);
	tcase_add_test(t, the_same_run_twice_is_the_same);
	tcase_add_test(t, a_port_takes_no_datagram_from_itself);
	suite_add_tcase(s, t);
	return run_suite(s);
}
