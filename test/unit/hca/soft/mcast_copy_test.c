/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The copies of a multicast datagram: copies that are under way when queue pairs come and go,
 * counters, faults, and datagrams that come in by the wire.
 */
#include "hca/soft/packet/wire.h"
#include "hca/soft/port/mcast.h"
#include "mcast_bed.h"

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
	for (i = 0; i <= MCAST_COPIES / 40; i++) {
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
	uint32_t i, sent, held;

	start_group("progress=manual", NULL);
	slow = add_member(&hca[0], NULL);
	run_all();
	for (sent = 0; sent < MCAST_COPIES / 2; sent += RECVS) {
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

/* A member that runs late has a copy for each of its thousand receives by then. */
START_TEST(a_member_that_is_held_up_loses_no_datagram_that_it_has_a_receive_for)
{
	enum { MANY = 1000 };
	const struct qp_options deep = { .type = IB_QPT_UD, .qkey = QKEY, .depth = MANY };
	struct member *slow;

	start_group("progress=manual", &deep);
	slow = add_member(&hca[0], &deep);
	run_all();
	post_groups(0, MANY);
	run_sender(MANY);
	expect_empty(slow->cq);
	run_all();
	expect_datagrams(slow, 0, MANY);
	ck_assert_uint_eq(counters(&hca[0]).rcv_dropped, 0);
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
	uint8_t bytes[WIRE_MAX_BYTES];
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
	return inject_bytes(&hca[1], bytes, wire_encode(&w, bytes, sizeof(bytes))).outcome;
}

/*
 * The port drops a datagram of its own that the subnet has returned: the members have got their
 * copies within the HCA.
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
	Suite *s = suite_create("copies of multicast");
	TCase *t = tcase_create("multicast");

	tcase_add_test(t, a_detached_queue_pair_gets_nothing_that_was_under_way);
	tcase_add_test(t, a_destroy_gives_copies_back);
	tcase_add_test(t, a_reset_of_the_sender_takes_nothing_back);
	tcase_add_test(t, a_full_pool_drops_copies_and_counts_them);
	tcase_add_test(t, a_member_that_is_held_up_loses_no_datagram_that_it_has_a_receive_for);
	tcase_add_test(t, after_a_detach_nothing_more_comes);
	tcase_add_test(t, a_port_counts_a_datagram_once);
	tcase_add_loop_test(t, a_fault_meets_a_datagram_once, 0, 4);
	tcase_add_test(t, the_same_run_twice_is_the_same);
	tcase_add_test(t, a_port_takes_no_datagram_from_itself);
	suite_add_tcase(s, t);
	return run_suite(s);
}
