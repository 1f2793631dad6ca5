/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ends of the software HCA that send and take management datagrams. A datagram lies at the
 * beginning of an end's region, and is received at RECEIVED. */
#ifndef TEST_SOFT_SPECIAL_H
#define TEST_SOFT_SPECIAL_H

#include "harness.h"

#define GRH        40u
#define MAD        256u
#define RECEIVED   2048u
#define WELL_KNOWN 0x80010000u

/* One end: a queue pair with its completion queue and memory, and an address handle to the far end.
 */
struct end {
	struct hca *h;
	struct cq *cq;
	struct qp *qp;
	struct mr *mr;
	struct ci_ah *ah;
};

static inline void end_up(struct end *e, struct hca *h, struct cq *cq, const struct qp_options *o,
			  const struct ib_ah_attr *path)
{
	e->h = h;
	e->cq = cq ? cq : new_cq(h, 64, AL_CQ_NOTIFY_NEXT);
	e->qp = new_qp(h, e->cq, e->cq, o);
	e->mr = new_mr(h, 4096, IB_ACCESS_LOCAL_WRITE);
	e->ah = new_ah(h, NULL, path);
	fill(e->mr->buf, 2048, o->type + h->attr.num_ports);
	to_init(e->qp, o);
	to_rtr(e->qp, NULL, o);
	to_rts(e->qp, o);
}

static inline void end_down(struct end *e, bool cq)
{
	free_ah(e->ah);
	free_qp(e->qp);
	free_mr(e->mr);
	if (cq)
		free_cq(e->cq);
}

static inline struct ib_ah_attr path_by(uint8_t port, uint16_t dlid)
{
	return (struct ib_ah_attr){ .dlid = dlid, .port_num = port };
}

static inline uint16_t lid_of(const struct hca *h, uint8_t port)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(h->ca, port, &attr), AL_SUCCESS);
	return attr.lid;
}

static inline void receive(struct end *e, uint64_t wr_id)
{
	struct ib_sge sge = sge_of(e->mr, RECEIVED, GRH + MAD);

	post_recv(e->qp, wr_id, &sge, 1);
}

static inline struct ib_send_wr mad_to(struct end *e, uint64_t wr_id, struct ib_sge *sge,
				       uint32_t qpn, uint32_t qkey)
{
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_SEND, sge, IB_SEND_SIGNALED);

	wr.wr.ud.ah = (al_ah_h)e->ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return wr;
}

static inline void send_mad(struct end *e, uint64_t wr_id, uint32_t qpn, uint32_t qkey,
			    uint16_t pkey_index)
{
	struct ib_sge sge = sge_of(e->mr, 0, MAD);
	struct ib_send_wr wr = mad_to(e, wr_id, &sge, qpn, qkey);

	wr.wr.ud.pkey_index = pkey_index;
	post(e->qp, &wr);
	expect_wc(e->cq, wr_id, IB_WC_SUCCESS);
}

#endif
