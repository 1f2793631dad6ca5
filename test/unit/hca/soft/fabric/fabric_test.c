/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The fabric link: HCAs of a topology communicate through virtual switches, by LID, and no other HCA gets their
 * packets.
 */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "../harness.h"
#include "hca/soft/fabric/shapes.h"

#define GRH  40u
#define QKEY 0x11223344u
#define SIZE 8192u

/* --------------------------------------------------------------------- subnets */

static char path[] = "/tmp/ibal-fabric-XXXXXX";

/* Brings up the HCAs of a topology, and frees the topology. */
static void up_with(struct topology *t, const char *settings)
{
	char text[256];
	FILE *file;
	int fd;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	file = fdopen(fd, "w");
	ck_assert_int_eq(topology_write(t, file), AL_SUCCESS);
	ck_assert_int_eq(fclose(file), 0);
	topology_free(t);
	snprintf(text, sizeof(text), "topology=%s %s", path, settings);
	up(text);
	unlink(path);
}

static void star(uint32_t leaves, const char *settings)
{
	struct topology t;

	ck_assert_int_eq(shape_star(&t, leaves, 0x100), AL_SUCCESS);
	up_with(&t, settings);
	ck_assert_uint_eq(hcas, leaves);
}

static void tree(uint32_t radix, uint32_t leaves, const char *settings)
{
	struct topology t;

	ck_assert_int_eq(
		shape_fat_tree(&t,
			       &(struct fat_tree){ .levels = 2, .radix = radix, .hcas = leaves },
			       0x100),
		AL_SUCCESS);
	up_with(&t, settings);
	ck_assert_uint_eq(hcas, leaves);
}

static struct ib_port_attr port_of(uint32_t i)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(hca[i].ca, 1, &attr), AL_SUCCESS);
	return attr;
}

/* -------------------------------------------------------------------- datagrams */

/* A datagram queue pair on each HCA. */
struct member {
	struct cq *cq;
	struct qp *qp;
	struct mr *mr;
};
static struct member member[MAX_HCAS];

static void members_up(const struct qp_options *o)
{
	for (uint32_t i = 0; i < hcas; i++) {
		member[i].cq = new_cq(&hca[i], 64, AL_CQ_NOTIFY_NEXT);
		member[i].qp = new_qp(&hca[i], member[i].cq, member[i].cq, o);
		member[i].mr = new_mr(&hca[i], SIZE, IB_ACCESS_LOCAL_WRITE);
		to_init(member[i].qp, o);
		to_rtr(member[i].qp, NULL, o);
		to_rts(member[i].qp, o);
	}
}

static void members_down(void)
{
	for (uint32_t i = 0; i < hcas; i++) {
		free_qp(member[i].qp);
		free_mr(member[i].mr);
		free_cq(member[i].cq);
	}
	down();
}

/* Sends a datagram of its own bytes, and waits until the send has completed. */
static void send_to(uint32_t from, uint32_t to, uint16_t dlid, uint32_t length)
{
	const struct ib_ah_attr attr = { .dlid = dlid, .port_num = 1 };
	struct ci_ah *ah = new_ah(&hca[from], NULL, &attr);
	struct ib_sge sge = sge_of(member[from].mr, 0, length);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED);

	fill(member[from].mr->buf, length, from * 1000 + to);
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = member[to].qp->ci->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	post(member[from].qp, &wr);
	expect_wc(member[from].cq, 1, IB_WC_SUCCESS);
	free_ah(ah);
}

static void receive(uint32_t at)
{
	struct ib_sge sge = sge_of(member[at].mr, SIZE / 2, SIZE / 2);

	post_recv(member[at].qp, 2, &sge, 1);
}

static void expect_from(uint32_t to, uint32_t from, uint32_t length)
{
	struct ib_wc wc = expect_wc(member[to].cq, 2, IB_WC_SUCCESS);

	ck_assert_uint_eq(wc.byte_len, GRH + length);
	ck_assert_uint_eq(wc.slid, port_of(from).lid);
	ck_assert_uint_eq(wc.src_qp, member[from].qp->ci->qp_num);
	ck_assert_mem_eq(member[to].mr->buf + SIZE / 2 + GRH, member[from].mr->buf, length);
}

/* _i: back to back, a switch with 5 HCAs, a fat tree with 18; and HCAs that send to themselves. */
START_TEST(datagrams_go_from_every_port_to_every_port)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };
	struct topology t;
	uint32_t a, b, i;

	if (_i == 0) {
		ck_assert_int_eq(shape_back_to_back(&t, 0x100), AL_SUCCESS);
		up_with(&t, "");
	} else if (_i == 1) {
		star(5, "");
	} else {
		tree(6, 18, "");
	}
	members_up(&ud);
	for (a = 0; a < hcas; a++)
		for (b = 0; b < hcas; b++) {
			receive(b);
			send_to(a, b, port_of(b).lid, (a * 37 + b) % 2000);
			expect_from(b, a, (a * 37 + b) % 2000);
			for (i = 0; i < hcas; i++)
				expect_empty(member[i].cq);
		}
	members_down();
}
END_TEST

START_TEST(a_packet_for_a_lid_that_no_port_has_is_dropped_by_the_switch)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };

	star(3, "");
	members_up(&ud);
	receive(1);
	send_to(0, 1, 0x1234, 100);
	send_to(0, 1, IB_LID_PERMISSIVE, 100);
	send_to(0, 1, port_of(1).lid, 100);
	expect_from(1, 0, 100);
	expect_empty(member[1].cq);
	members_down();
}
END_TEST

/* In a static subnet, too, whose switches answer no query of counters. _i: lost, or damaged. */
START_TEST(a_bad_cable_of_a_switch_loses_packets)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };
	uint32_t i;

	star(3,
	     _i ? "fault=corrupt,switch=0x100,port=2,n=1" : "fault=drop,switch=0x100,port=2,n=1");
	members_up(&ud);
	receive(1);
	receive(2);
	for (i = 1; i < 3; i++)
		send_to(0, i, port_of(i).lid, 100);
	expect_from(2, 0, 100);
	expect_empty(member[1].cq);
	ck_assert_uint_eq(counters(&hca[1]).symbol_errors, 1);
	ck_assert_uint_eq(counters(&hca[1]).rcv_errors, _i);
	send_to(0, 1, port_of(1).lid, 100);
	expect_from(1, 0, 100);
	members_down();
}
END_TEST

/* The switch has no ports that could count or go down, and no agent that could raise a trap. */
START_TEST(in_a_static_subnet_the_hca_knows_what_its_cable_does)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };
	struct ib_port_counters c;
	uint32_t i;

	star(3, "fault=corrupt,switch=0x100,port=2,n=1,count=9;mark,switch=0x100,port=2,n=10;"
		"overrun,switch=0x100,port=2,n=11;recover,switch=0x100,port=2,n=12;"
		"flap,switch=0x100,port=2,n=13");
	members_up(&ud);
	receive(1);
	for (i = 1; i <= 13; i++)
		send_to(0, 1, port_of(1).lid, 100);
	while (!counters(&hca[1]).link_downed)
		sched_yield();
	expect_empty(member[1].cq);
	c = counters(&hca[1]);
	ck_assert_uint_eq(c.rcv_errors, 10);
	ck_assert_uint_eq(c.link_integrity_errors, 1);
	ck_assert_uint_eq(c.rcv_remote_phys_errors, 1);
	ck_assert_uint_eq(c.link_error_recovery, 2);
	ck_assert_uint_eq(c.link_downed, 1);
	ck_assert_int_eq(port_of(1).state, IB_PORT_ACTIVE);
	send_to(0, 1, port_of(1).lid, 100);
	expect_from(1, 0, 100);
	members_down();
}
END_TEST

/* QP0, on virtual lane 15, by LID. */
START_TEST(subnet_management_packets_pass_switches_by_lid)
{
	const struct qp_options smi = { .type = IB_QPT_SMI };

	star(3, "");
	members_up(&smi);
	receive(2);
	send_to(0, 2, port_of(2).lid, 256);
	expect_from(2, 0, 256);
	members_down();
}
END_TEST

/* -------------------------------------------------------------------- multicast */

static const ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, [15] = 1 } };
#define MLID 0xc003

static void send_to_group(uint32_t from)
{
	const struct ib_ah_attr attr = { .dlid = MLID,
					 .port_num = 1,
					 .is_global = true,
					 .grh = { .dgid = mgid, .hop_limit = 1 } };
	struct ci_ah *ah = new_ah(&hca[from], NULL, &attr);
	struct ib_sge sge = sge_of(member[from].mr, 0, 100);
	struct ib_send_wr wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED);

	fill(member[from].mr->buf, 100, from);
	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	wr.wr.ud.remote_qkey = QKEY;
	post(member[from].qp, &wr);
	expect_wc(member[from].cq, 1, IB_WC_SUCCESS);
	free_ah(ah);
}

/* Every second HCA is a member. _i: a switch, a ring of switches, a tree with several spines. */
START_TEST(multicast_reaches_each_member_once_and_no_other_queue_pair)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };
	struct topology t;
	uint32_t from, i;

	if (_i == 0) {
		star(5, "");
	} else if (_i == 1) {
		ck_assert_int_eq(shape_ring(&t, 4, 2, 0x100), AL_SUCCESS);
		up_with(&t, "");
	} else {
		tree(6, 18, "");
	}
	members_up(&ud);
	for (i = 0; i < hcas; i += 2)
		ck_assert_int_eq(ops->attach_mcast(member[i].qp->ci, &mgid, MLID), AL_SUCCESS);
	for (i = 1; i < hcas; i += 2)
		receive(i); /* what nobody sends to */
	for (from = 0; from < hcas; from++) {
		for (i = 0; i < hcas; i += 2)
			receive(i);
		send_to_group(from);
		for (i = 0; i < hcas; i += 2)
			expect_from(i, from, 100);
		for (i = 0; i < hcas; i++)
			expect_empty(member[i].cq);
	}
	for (i = 0; i < hcas; i++)
		ck_assert_uint_eq(counters(&hca[i]).rcv_dropped, 0);
	members_down();
}
END_TEST

START_TEST(the_hcas_are_the_topologys)
{
	struct topology t;

	ck_assert_int_eq(shape_star(&t, 3, 0x5500), AL_SUCCESS);
	snprintf(t.nodes[2].description, sizeof(t.nodes[2].description), "the second one");
	t.ports[topology_port_index(&t.nodes[0], 1)].peer = TOPOLOGY_NONE;
	t.ports[topology_port_index(&t.nodes[1], 1)].peer =
		TOPOLOGY_NONE; /* the first HCA has no cable */
	up_with(&t, "");
	ck_assert_uint_eq(hcas, 3);
	for (uint32_t i = 0; i < hcas; i++) {
		ck_assert_uint_eq(hca[i].attr.node_guid, 0x5600 + 0x100 * i);
		ck_assert_uint_eq(port_of(i).port_guid, 0x5601 + 0x100 * i);
	}
	ck_assert_str_eq(hca[1].attr.node_desc, "the second one");
	ck_assert_int_eq(port_of(0).state, IB_PORT_DOWN);
	ck_assert_uint_eq(port_of(0).lid, 0);
	ck_assert_int_eq(port_of(1).state, IB_PORT_ACTIVE);
	ck_assert_uint_ne(port_of(1).lid, port_of(2).lid);
	down();
}
END_TEST

/* Static subnets have one state machine for both ends, too. */
START_TEST(a_cable_between_two_hcas_goes_down_and_up_at_both_ends)
{
	const uint32_t port = 1;
	struct topology t;

	ck_assert_int_eq(shape_back_to_back(&t, 0x100), AL_SUCCESS);
	up_with(&t, "");
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_DOWN, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_int_eq(port_of(0).state, IB_PORT_DOWN);
	ck_assert_int_eq(port_of(1).state, IB_PORT_DOWN);
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_UP, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_int_eq(port_of(1).state, IB_PORT_ACTIVE);
	down();
}
END_TEST

/* ------------------------------------------------------------------ connections */

/* Writes, reads and atomics between the first and the last HCA of a tree. _i: settings. */
START_TEST(connections_work_through_switches)
{
	static const char *const settings[] = { "", "progress=manual seed=5",
						"fault=drop,chance=2%;duplicate,chance=2%" };
	static struct pair p;
	int i;

	tree(4, 8, settings[_i]);
	pair_up(&p, &(struct qp_options){ .mtu = IB_MTU_1024, .timeout = 12 }, 1 << 20);
	fill(p.am->buf, 1 << 20, 7);
	for (i = 0; i < 20; i++) {
		uint32_t length = (uint32_t)(i * 9973) % 60000 + 1;

		rdma(&p, IB_WR_RDMA_WRITE, 1, (uint64_t)i * 100, 1000, length);
		ck_assert_int_eq(wait_wc(p.acq).status, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.bm->buf + 1000, p.am->buf + i * 100, length);
		rdma(&p, IB_WR_RDMA_READ, 2, 700000, 1000, length);
		ck_assert_int_eq(wait_wc(p.acq).status, IB_WC_SUCCESS);
		ck_assert_mem_eq(p.am->buf + 700000, p.bm->buf + 1000, length);
	}
	pair_down(&p);
	down();
}
END_TEST

/* Steps until both queues have the wanted number of completions, each with status success. */
static void step_until(struct cq *one, struct cq *other, uint32_t wanted)
{
	struct ib_wc wc[16];
	uint32_t count, i, got = 0, idle = 0;

	while (got < wanted && idle < 1000) {
		idle = step().did ? 0 : idle + 1;
		for (int side = 0; side < 2; side++) {
			ck_assert_int_eq(ops->poll_cq((side ? other : one)->ci, 16, wc, &count),
					 AL_SUCCESS);
			for (i = 0; i < count; i++)
				ck_assert_int_eq(wc[i].status, IB_WC_SUCCESS);
			got += count;
		}
	}
	ck_assert_uint_eq(got, wanted);
}

/*
 * Both ends send more at the same time than their ports have packets for: reads, whose responses need packets, and
 * writes.
 */
START_TEST(two_ports_full_of_requests_do_not_wait_for_each_other)
{
	static struct pair p;
	struct ib_send_wr wr;
	struct ib_sge sge;
	uint64_t i;

	star(2, "progress=manual seed=9");
	pair_up(&p, &(struct qp_options){ .depth = 64, .timeout = 20 }, 1 << 20);
	fill(p.am->buf, 1 << 20, 7);
	for (i = 0; i < 30; i++) {
		rdma(&p, i & 1 ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ, i, i * 8192, i * 8192, 8192);
		sge = sge_of(p.bm, (i + 30) * 8192, 8192);
		wr = send_wr(i, i & 1 ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ, &sge, IB_SEND_SIGNALED);
		wr.wr.rdma.remote_addr = (uintptr_t)p.am->buf + (i + 30) * 8192;
		wr.wr.rdma.rkey = p.am->ci->rkey;
		post(p.b, &wr);
	}
	step_until(p.acq, p.bcq, 60);
	for (i = 1; i < 30; i += 2)
		ck_assert_mem_eq(p.bm->buf + i * 8192, p.am->buf + i * 8192, 8192);
	for (i = 30; i < 60; i += 2)
		ck_assert_mem_eq(p.bm->buf + i * 8192, p.am->buf + i * 8192, 8192);
	pair_down(&p);
	down();
}
END_TEST

START_TEST(a_sender_of_datagrams_that_found_no_room_goes_on_when_there_is_room)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY, .depth = 64 };
	struct ib_send_wr wr;
	struct ib_sge sge;
	struct ci_ah *ah;
	uint32_t i;

	star(2, "progress=manual seed=9");
	members_up(&ud);
	ah = new_ah(&hca[0], NULL, &(struct ib_ah_attr){ .dlid = port_of(1).lid, .port_num = 1 });
	sge = sge_of(member[0].mr, 0, 64);
	for (i = 0; i < 60; i++) {
		wr = send_wr(1, IB_WR_SEND, &sge, IB_SEND_SIGNALED);
		wr.wr.ud.ah = (al_ah_h)ah;
		wr.wr.ud.remote_qpn = member[1].qp->ci->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
		receive(1);
		post(member[0].qp, &wr);
	}
	step_until(member[0].cq, member[1].cq, 120);
	free_ah(ah);
	members_down();
}
END_TEST

/* ------------------------------------------------------------------------ size */

/* The shape of a cluster: a fat tree of 36 switches and 216 HCAs. Each HCA sends to seven others.
 */
START_TEST(two_hundred_and_sixteen_hcas_talk)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = QKEY };
	struct topology t;
	uint32_t a, b, k;

	ck_assert_int_eq(
		shape_fat_tree(&t,
			       &(struct fat_tree){
				       .levels = 2, .radix = 24, .hcas = 216, .down = 9, .up = 12 },
			       0x10000),
		AL_SUCCESS);
	up_with(&t, "");
	ck_assert_uint_eq(hcas, 216);
	members_up(&ud);
	for (a = 0; a < hcas; a++)
		for (k = 1; k < 8; k++) {
			b = (a + k * 29) % hcas;
			receive(b);
			send_to(a, b, port_of(b).lid, 64);
			expect_from(b, a, 64);
		}
	members_down();
}
END_TEST

/* ------------------------------------------------------------------------ errors */

/* A wrong topology, and a word of the message. */
START_TEST(a_topology_that_does_not_fit_is_refused_with_its_reason)
{
	static const struct {
		const char *settings, *word;
	} wrong[] = {
		{ "topology=/no/such/file", "/no/such/file" },
		{ "topology=/dev/null", "regular file" },
		{ "topology=/dev/null hcas=3", "comes from the file" },
		{ "topology=/dev/null ports=2", "comes from the file" },
		{ "fault=drop,switch=0x100",
		  "switch=0x0000000000000100: there is no topology here" },
		{ "[hca 0] fault=drop,switch=0x100", "section names an HCA" },
	};

	ck_assert_int_ne(try_up(wrong[_i].settings), AL_SUCCESS);
	ck_assert_msg(strstr(last_log, wrong[_i].word), "%s", last_log);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: fabric");
	TCase *t = tcase_create("fabric");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, datagrams_go_from_every_port_to_every_port, 0, 3);
	tcase_add_test(t, a_packet_for_a_lid_that_no_port_has_is_dropped_by_the_switch);
	tcase_add_loop_test(t, a_bad_cable_of_a_switch_loses_packets, 0, 2);
	tcase_add_test(t, in_a_static_subnet_the_hca_knows_what_its_cable_does);
	tcase_add_test(t, subnet_management_packets_pass_switches_by_lid);
	tcase_add_loop_test(t, multicast_reaches_each_member_once_and_no_other_queue_pair, 0, 3);
	tcase_add_test(t, the_hcas_are_the_topologys);
	tcase_add_test(t, a_cable_between_two_hcas_goes_down_and_up_at_both_ends);
	tcase_add_loop_test(t, connections_work_through_switches, 0, 3);
	tcase_add_test(t, two_ports_full_of_requests_do_not_wait_for_each_other);
	tcase_add_test(t, a_sender_of_datagrams_that_found_no_room_goes_on_when_there_is_room);
	tcase_add_test(t, two_hundred_and_sixteen_hcas_talk);
	tcase_add_loop_test(t, a_topology_that_does_not_fit_is_refused_with_its_reason, 0, 6);
	suite_add_tcase(s, t);
	return run_suite(s);
}
