/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Helpers for tests of unreliable datagrams: a pair with an address handle, and sends over it. */
#ifndef TEST_SOFT_UD_H
#define TEST_SOFT_UD_H

#include "harness.h"

#define MTU  4096
#define GRH  40
#define SIZE (1u << 20)
#define QKEY 0x11223344u

static struct pair p;
static struct ci_ah *ah; /* from a to b */

static inline struct ib_ah_attr path_to(const struct hca *h, uint8_t port)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(h->ca, port, &attr), AL_SUCCESS);
	return (struct ib_ah_attr){ .dlid = attr.lid, .port_num = 1 };
}

static inline void start(const char *settings, const struct qp_options *o)
{
	struct qp_options ud = o ? *o : (struct qp_options){ 0 };
	struct ib_ah_attr path;

	up(settings);
	ud.type = IB_QPT_UD;
	ud.qkey = QKEY;
	pair_up(&p, &ud, SIZE);
	fill(p.am->buf, SIZE / 2, 1);
	path = path_to(&hca[hcas - 1], 1);
	ah = new_ah(&hca[0], NULL, &path);
}

static inline void finish(void)
{
	pair_down(&p);
	free_ah(ah);
	down();
}

static inline struct ib_send_wr datagram(uint64_t wr_id, struct ib_sge *sge, uint32_t flags)
{
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_SEND, sge, flags);

	wr.wr.ud.ah = (al_ah_h)ah;
	wr.wr.ud.remote_qpn = p.b->ci->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	return wr;
}

/* Posts a signalled send from the start of a's region. */
static inline void send(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.am, 0, length);
	struct ib_send_wr wr = datagram(wr_id, &sge, IB_SEND_SIGNALED);

	post(p.a, &wr);
	ck_assert_int_eq(expect_wc(p.acq, wr_id, IB_WC_SUCCESS).opcode, IB_WC_SEND);
}

/* Reads a number of a received header, of so many bytes. */
static inline uint32_t be(const char *at, int bytes)
{
	uint32_t value = 0;

	for (; bytes; bytes--)
		value = value << 8 | (uint8_t)*at++;
	return value;
}

static inline void receive(uint64_t wr_id, uint32_t length)
{
	struct ib_sge sge = sge_of(p.bm, 0, length);

	post_recv(p.b, wr_id, &sge, 1);
}

/*
 * Expects that no side has an event or completion, that both still work, and that b's port has dropped so many
 * packets.
 */
static inline void check_silence(uint64_t dropped)
{
	expect_empty(p.acq);
	expect_empty(p.bcq);
	ck_assert_uint_eq(p.a->events | p.b->events, 0);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	ck_assert_uint_eq(counters(&hca[hcas - 1]).rcv_dropped, dropped);
}

static inline struct ib_port_attr port_of(const struct hca *h, uint8_t num)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(h->ca, num, &attr), AL_SUCCESS);
	return attr;
}

#endif
