/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Set-up of the tests of multicast. Queue pair a of the pair sends; queue pair b is no member
 * unless a test attaches b.
 */
#ifndef TEST_SOFT_MCAST_BED_H
#define TEST_SOFT_MCAST_BED_H

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

/* Posts receives of a member: number i is for the member's datagram number i. */
static inline void post_receives(const struct member *m, uint32_t num)
{
	struct ib_sge sge;
	uint32_t i;

	for (i = 0; i < num; i++) {
		sge = sge_of(m->mr, (uint64_t)i * SLOT, SLOT);
		post_recv(m->qp, i, &sge, 1);
	}
}

/* Makes a queue pair in RTS that is in no group, with as many receives as the queue pair may have. */
static inline struct member *add(struct hca *h, const struct qp_options *options)
{
	const struct qp_options *o = options ? options : &datagrams;
	const uint32_t depth = o->depth ? o->depth : RECVS;
	struct member *m = &member[members++];

	*m = (struct member){ .cq = new_cq(h, depth > RECVS ? depth : 4 * RECVS, AL_CQ_NOTIFY_PENDING),
			      .mr = new_mr(h, (size_t)depth * SLOT, 0) };
	m->qp = new_qp(h, m->cq, m->cq, o);
	to_init(m->qp, o);
	to_rtr(m->qp, NULL, o);
	to_rts(m->qp, o);
	post_receives(m, depth);
	return m;
}

static inline al_status attach(const struct member *m)
{
	return ops->attach_mcast(m->qp->ci, &mgid, MLID);
}

static inline al_status detach(const struct member *m)
{
	return ops->detach_mcast(m->qp->ci, &mgid, MLID);
}

static inline struct member *add_member(struct hca *h, const struct qp_options *o)
{
	struct member *m = add(h, o);

	ck_assert_int_eq(attach(m), AL_SUCCESS);
	return m;
}

static inline void end_member(struct member *m)
{
	if (m->qp)
		free_qp(m->qp);
	free_cq(m->cq);
	free_mr(m->mr);
}

static inline struct ib_ah_attr group_path(void)
{
	return (struct ib_ah_attr){
		.is_global = true,
		.dlid = MLID,
		.port_num = 1,
		.grh = { .dgid = mgid, .hop_limit = 1, .flow_label = 0x12345 },
	};
}

static inline void start_group(const char *settings, const struct qp_options *o)
{
	struct ib_ah_attr path;

	members = 0;
	start(settings, o ? o : &(struct qp_options){ .depth = RECVS });
	path = group_path();
	ck_assert_int_eq(ops->modify_ah(ah, &path), AL_SUCCESS);
}

static inline void finish_group(void)
{
	while (members)
		end_member(&member[--members]);
	finish();
}

static inline uint32_t length_of(uint32_t n)
{
	static const uint32_t lengths[] = { 1, 0, 4, 255, 1000, MTU - 1, MTU, 77 };

	return lengths[n % 8];
}

/* Datagram number n has length and bytes of its own. */
static inline void post_group(uint32_t n)
{
	struct ib_sge sge = sge_of(p.am, (uint64_t)n * 101, length_of(n));
	struct ib_send_wr wr = datagram(n, &sge, 0);

	wr.wr.ud.remote_qpn = IB_QPN_MULTICAST;
	post(p.a, &wr);
}

static inline void post_groups(uint32_t from, uint32_t num)
{
	for (; num--; from++)
		post_group(from);
}

/* The member's next completion is datagram number n. */
static inline void expect_datagram(struct member *m, uint32_t n)
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

static inline void expect_datagrams(struct member *m, uint32_t from, uint32_t num)
{
	for (; num--; from++)
		expect_datagram(m, from);
	expect_empty(m->cq);
}

#endif
