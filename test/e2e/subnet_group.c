/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A multicast group of a managed subnet, for sa.sh. The HCAs of an agent join and leave the group
 * at the subnet's administrator, which has the switches' multicast tables set.
 *
 *     subnet_group --client NAME HCAS SOCKET
 *
 *     join    the HCAs join, which may be members already. Then each member sends to the group, and
 *             each member receives each datagram once, and no other HCA does. Memberships stay when
 *             the program ends
 *     leave   the HCAs leave
 *
 * HCAS is a number whose bit n stands for the n-th HCA. All HCAs attach a queue pair to the group,
 * so that an HCA which is no member would receive what a switch sends there.
 */
#include "test/e2e/agent.h"

#include <iba/ib_mad.h>

#define MAX_ENDS   16
#define QKEY       0x1ee7u
#define RECEIVES   32u
#define AGAIN      5 /* rounds of each member */
#define MAX_ROUNDS 1024
#define ROOM       (IB_GRH_BYTES + sizeof(struct datagram))
#define SEND_AT    (RECEIVES * ROOM)

static const ib_gid group = { { 0xff, 0x12, 0x1b, 0xa1, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x12,
				0x34 } };
static uint16_t mlid; /* of the group, as the administrator tells */

/* A datagram to the group, or to one HCA after that: the sender and the round's number. */
struct datagram {
	uint32_t from, round, ends_round;
	uint8_t bytes[52];
};

static struct test_end ends[MAX_ENDS];
static struct ib_port_attr ports[MAX_ENDS];
static ib_gid gids[MAX_ENDS];
static unsigned int num_ends;

static bool is_in(int set, unsigned int i)
{
	return set >> i & 1;
}

/* ------------------------------------------------------------- the administrator */

static struct ib_sa_mad answer;
static al_status outcome;
static sem_t answered;

static void got(void *context, const struct al_mad_event *event)
{
	(void)context;
	outcome = event->status;
	if (event->mad)
		memcpy(&answer, event->mad, sizeof(answer));
	sem_post(&answered);
}

#define COMPONENT(name) (UINT64_C(1) << IB_MCMEMBER_##name)

/* Joins (IB_METHOD_SET) or leaves (IB_METHOD_DELETE). The first one to join makes the group. */
static struct ib_mcmember_record ask(unsigned int i, uint8_t method)
{
	const struct al_mad_svc_init init = { .port_num = 1,
					      .mgmt_class = IB_CLASS_SUBN_ADM,
					      .class_version = IB_SA_CLASS_VERSION };
	struct ib_mcmember_record record = { .mgid = group,
					     .port_gid = gids[i],
					     .qkey = ib_be32_of(QKEY),
					     .pkey = ib_be16_of(IB_PKEY_DEFAULT) };
	struct ib_sa_mad mad = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
					  .mgmt_class = IB_CLASS_SUBN_ADM,
					  .class_version = IB_SA_CLASS_VERSION,
					  .method = method,
					  .attr_id = ib_be16_of(IB_SA_MCMEMBER_RECORD) },
				 .comp_mask = ib_be64_of(COMPONENT(MGID) | COMPONENT(PORT_GID) |
							 COMPONENT(JOIN_STATE)) };
	const struct al_mad_send send = { .mad = &mad,
					  .length = sizeof(mad),
					  .remote_qpn = 1,
					  .remote_qkey = IB_QKEY_WELL_KNOWN,
					  .timeout_ms = 1000,
					  .retries = 10,
					  .path = { .dlid = ports[i].sm_lid, .port_num = 1 } };
	al_mad_svc_h svc;

	ib_mcmember_record_set_scope(&record, 2);
	ib_mcmember_record_set_join_state(&record, IB_JOIN_FULL);
	memcpy(mad.data, &record, sizeof(record));
	if (method == IB_METHOD_SET)
		mad.comp_mask =
			ib_be64_of(ib_be64_get(mad.comp_mask) | COMPONENT(QKEY) | COMPONENT(PKEY) |
				   COMPONENT(SL) | COMPONENT(TCLASS) | COMPONENT(FLOW_LABEL));
	ck_ok(al_reg_mad_svc(ends[i].ca, &init, NULL, got, &svc));
	ck_ok(al_send_mad(svc, &send));
	test_wait(&answered);
	ck_ok(outcome);
	ck_assert_msg(!ib_be16_get(answer.hdr.status), "HCA %u: status %#x", i,
		      ib_be16_get(answer.hdr.status));
	ck_ok(al_dereg_mad_svc(svc, AL_DESTROY_SYNC, NULL));
	memcpy(&record, answer.data, sizeof(record));
	ck_assert_mem_eq(&record.mgid, &group, sizeof(group));
	ck_assert_mem_eq(&record.port_gid, &gids[i], sizeof(gids[i]));
	return record;
}

/* ------------------------------------------------------------------------- data */

static void make_ends(al_h al)
{
	struct ib_qp_attr attr = { .port_num = 1, .qkey = QKEY };
	uint64_t guids[MAX_ENDS];
	size_t num = MAX_ENDS;

	sem_init(&answered, 0, 0);
	ck_ok(al_get_ca_guids(al, guids, &num));
	num_ends = (unsigned int)num;
	for (unsigned int i = 0; i < num_ends; i++) {
		test_make_end(&ends[i], al, guids[i], IB_QPT_UD);
		ck_ok(al_query_port(ends[i].ca, 1, &ports[i]));
		ck_ok(al_query_gid(ends[i].ca, 1, 0, &gids[i]));
		ck_ok(test_modify(ends[i].qp, IB_QPS_INIT, attr,
				  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
		ck_ok(test_modify(ends[i].qp, IB_QPS_RTR, attr, IB_QP_STATE));
		ck_ok(test_modify(ends[i].qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_SQ_PSN));
		for (unsigned int r = 0; r < RECEIVES; r++)
			ck_ok(test_post_recv(&ends[i], r, (uint32_t)(r * ROOM), ROOM));
	}
}

static struct datagram datagram_of(unsigned int from, uint32_t round, bool ends_round)
{
	struct datagram d = { .from = from, .round = round, .ends_round = ends_round };

	for (unsigned int i = 0; i < sizeof(d.bytes); i++)
		d.bytes[i] = (uint8_t)(from * 37 + round * 11 + i * 5 + ends_round);
	return d;
}

/* to NULL: to the group. The queue takes 64 datagrams, and each has a place of its own. */
static void send_one(unsigned int from, const struct test_end *to, struct datagram d)
{
	static unsigned int sent;
	struct ib_ah_attr attr = { .port_num = 1, .dlid = to ? to->lid : mlid };
	uint8_t *place = ends[from].mem + SEND_AT + sent++ % 64 * sizeof(d);
	struct ib_sge sge = { .addr = (uintptr_t)place,
			      .length = sizeof(d),
			      .lkey = ends[from].lkey };
	struct ib_send_wr wr = { .wr_id = RECEIVES,
				 .opcode = IB_WR_SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;
	al_ah_h ah;

	if (!to) {
		attr.is_global = true;
		attr.grh.dgid = group;
		attr.grh.hop_limit = 1;
	}
	ck_ok(al_create_ah(ends[from].pd, &attr, &ah));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to ? to->qpn : IB_QPN_MULTICAST;
	wr.wr.ud.remote_qkey = QKEY;
	memcpy(place, &d, sizeof(d));
	ck_ok(al_post_send(ends[from].qp, &wr, &bad));
	ck_ok(al_destroy_ah(ah, NULL, NULL));
}

/* Of each HCA: how many datagrams of a round have come to the group, and to the HCA itself. */
static unsigned int counts[MAX_ENDS][MAX_ROUNDS], own[MAX_ENDS][MAX_ROUNDS];

static void take(unsigned int i, const struct ib_wc *wc)
{
	const uint8_t *at = ends[i].mem + wc->wr_id * ROOM;
	struct datagram d, want;

	ck_assert_int_eq(wc->status, IB_WC_SUCCESS);
	if (wc->opcode != IB_WC_RECV) /* a completion of send_one() */
		return;
	ck_assert_uint_eq(wc->byte_len, ROOM);
	memcpy(&d, at + IB_GRH_BYTES, sizeof(d));
	ck_assert_uint_lt(d.from, num_ends);
	ck_assert_uint_lt(d.round, MAX_ROUNDS);
	want = datagram_of(d.from, d.round, d.ends_round);
	ck_assert_mem_eq(&d, &want, sizeof(d));
	ck_assert_uint_eq(wc->slid, ends[d.from].lid);
	if (!d.ends_round) {
		ck_assert(wc->wc_flags & IB_WC_GRH);
		ck_assert_mem_eq(at + 24, group.raw, sizeof(group.raw)); /* GRH.DGID */
	}
	ck_assert_msg(!(d.ends_round ? own : counts)[i][d.round]++, "HCA %u gets a datagram twice",
		      i);
	ck_ok(test_post_recv(&ends[i], wc->wr_id, (uint32_t)(wc->wr_id * ROOM), ROOM));
}

/* True: each HCA of the set has had its datagram of the round. */
static bool have(unsigned int table[MAX_ENDS][MAX_ROUNDS], int set, uint32_t round)
{
	for (unsigned int i = 0; i < num_ends; i++)
		if (is_in(set, i) && !table[i][round])
			return false;
	return true;
}

/* Takes what comes, until each HCA of the set has had its datagram, or the time is over. */
static bool wait_for_all(unsigned int table[MAX_ENDS][MAX_ROUNDS], int set, uint32_t round,
			 const struct timespec *limit)
{
	struct ib_wc wc;
	uint32_t num;

	while (!have(table, set, round)) {
		if (test_expired(limit))
			return false;
		for (unsigned int i = 0; i < num_ends; i++) {
			ck_ok(al_poll_cq(ends[i].cq, 1, &wc, &num));
			if (num)
				take(i, &wc);
		}
	}
	return true;
}

/* The switches' tables are set after the administrator's answer: sends until all members get a
 * member's datagram. Returns the next round. */
static uint32_t settle(int members, unsigned int from, uint32_t round)
{
	struct timespec limit = test_deadline(), soon;

	do {
		ck_assert_msg(!test_expired(&limit) && round < MAX_ROUNDS - MAX_ENDS * AGAIN,
			      "datagrams of HCA %u do not reach all members", from);
		clock_gettime(CLOCK_MONOTONIC, &soon);
		test_add_ms(&soon, test_scaled_ms(100));
		send_one(from, NULL, datagram_of(from, round, false));
	} while (!wait_for_all(counts, members, round++, &soon));
	return round;
}

static void send_rounds(int members)
{
	const int all = (1 << num_ends) - 1;
	struct timespec limit;
	uint32_t first = 0, round;

	for (unsigned int i = 0; i < num_ends; i++)
		if (is_in(members, i))
			first = settle(members, i, first);
	limit = test_deadline();
	round = first;
	for (int again = 0; again < AGAIN; again++)
		for (unsigned int i = 0; i < num_ends; i++) {
			if (!is_in(members, i))
				continue;
			send_one(i, NULL, datagram_of(i, round, false));
			for (unsigned int to = 0; to < num_ends; to++)
				send_one(i, &ends[to], datagram_of(i, round, true));
			ck_assert(wait_for_all(counts, members, round, &limit));
			ck_assert(wait_for_all(own, all, round, &limit));
			round++;
		}
	for (; first < round; first++)
		for (unsigned int i = 0; i < num_ends; i++)
			ck_assert_msg(counts[i][first] == is_in(members, i),
				      "HCA %u gets %u datagrams", i, counts[i][first]);
}

static void join(int members)
{
	al_h al = agent_open();

	make_ends(al);
	ck_assert_int_gt(members, 0);
	for (unsigned int i = 0; i < num_ends; i++)
		if (is_in(members, i)) {
			mlid = ib_be16_get(ask(i, IB_METHOD_SET).mlid);
			ck_assert_uint_ge(mlid, IB_LID_MULTICAST_FIRST);
		}
	for (unsigned int i = 0; i < num_ends; i++)
		ck_ok(al_attach_mcast(ends[i].qp, &group, mlid));
	send_rounds(members);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void leave(int members)
{
	al_h al = agent_open();

	make_ends(al);
	for (unsigned int i = 0; i < num_ends; i++)
		if (is_in(members, i))
			ask(i, IB_METHOD_DELETE);
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

int main(int argc, char **argv)
{
	static const struct agent_client clients[] = { { "join", join },
						       { "leave", leave },
						       { NULL, NULL } };

	agent_be_client(argc, argv, clients);
	return EXIT_FAILURE;
}
