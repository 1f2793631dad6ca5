/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs to measure on: two HCAs on the loop link, connected pairs, registered buffers. This file measures
 * nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "test/bench/bench.h"

#define REMOTE_ALL (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

void bench_link_open(struct bench_link *link, uint32_t cqe)
{
	bench_link_open_as(link, NULL, cqe);
}

void bench_sides_open(al_h al, struct bench_side *sides, unsigned int num, uint32_t cqe)
{
	uint64_t guids[16];
	size_t count = ARRAY_SIZE(guids);

	bench_must(al_get_ca_guids(al, guids, &count));
	if (count < num)
		bench_fatal(
			"%s HCAs are needed, %zu are there: is IBAL_MODULE_PATH the build's hca/soft/.libs?",
			num == 2 ? "two" : "three", count);
	for (unsigned int i = 0; i < num; i++) {
		struct bench_side *side = &sides[i];
		struct al_cq_init cq = { .cqe = cqe };
		struct ib_port_attr port;

		bench_must(al_open_ca(al, guids[i], NULL, &side->ca));
		bench_must(al_query_port(side->ca, 1, &port));
		if (port.state != IB_PORT_ACTIVE)
			bench_fatal("port 1 of HCA %u is %s", i, al_port_state_str(port.state));
		side->lid = port.lid;
		bench_must(al_alloc_pd(side->ca, NULL, &side->pd));
		bench_must(al_create_cq(side->pd, &cq, NULL, NULL, NULL, &side->cq));
	}
}

void bench_link_open_as(struct bench_link *link, const struct al_open_attr *attr, uint32_t cqe)
{
	bench_must(al_open(attr, &link->al));
	bench_sides_open(link->al, link->side, ARRAY_SIZE(link->side), cqe);
}

void bench_link_close(struct bench_link *link)
{
	for (unsigned int i = 0; i < 2; i++) {
		bench_destroy(al_destroy_cq, link->side[i].cq);
		bench_destroy(al_dealloc_pd, link->side[i].pd);
		bench_destroy(al_close_ca, link->side[i].ca);
	}
	bench_destroy(al_close, link->al);
}

void bench_to_rts(al_qp_h qp, uint32_t peer_qpn, uint16_t peer_lid)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1, .qp_access_flags = REMOTE_ALL,
		.path_mtu = IB_MTU_4096, .dest_qp_num = peer_qpn,
		.ah_attr = { .dlid = peer_lid, .port_num = 1 },
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.timeout = 18, .retry_cnt = 7, .rnr_retry = 7,
	};

	bench_must(al_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS));
	attr.qp_state = IB_QPS_RTR;
	bench_must(al_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
						   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER));
	attr.qp_state = IB_QPS_RTS;
	bench_must(al_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
						   IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC));
}

al_qp_h bench_make_qp(const struct bench_side *side, uint32_t depth, uint32_t *qpn)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_RC, .send_cq = side->cq, .recv_cq = side->cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	al_qp_h qp;

	bench_must(al_create_qp(side->pd, &init, NULL, NULL, &qp));
	bench_must(al_qp_num(qp, qpn));
	return qp;
}

void bench_connect(struct bench_link *link, uint32_t depth, al_qp_h qp[2])
{
	uint32_t qpn[2];

	for (unsigned int i = 0; i < 2; i++)
		qp[i] = bench_make_qp(&link->side[i], depth, &qpn[i]);
	for (unsigned int i = 0; i < 2; i++)
		bench_to_rts(qp[i], qpn[!i], link->side[!i].lid);
}

void bench_buf_make(al_pd_h pd, size_t length, struct bench_buf *buf)
{
	struct al_mr_init init = { .length = length, .access = IB_ACCESS_LOCAL_WRITE | REMOTE_ALL };

	buf->length = length;
	buf->addr = aligned_alloc(4096, (length + 4095) & ~(size_t)4095);
	if (!buf->addr)
		bench_fatal("out of memory");
	memset(buf->addr, 0x5a, length);
	init.addr = buf->addr;
	bench_must(al_reg_mr(pd, &init, NULL, &buf->lkey, &buf->rkey, &buf->mr));
}

void bench_buf_free(struct bench_buf *buf)
{
	bench_destroy(al_dereg_mr, buf->mr);
	free(buf->addr);
}

void bench_drain(al_cq_h cq, unsigned int num)
{
	struct ib_wc wc[16];
	uint32_t count;

	while (num) {
		bench_must(al_poll_cq(cq, num < ARRAY_SIZE(wc) ? num : ARRAY_SIZE(wc), wc, &count));
		for (uint32_t i = 0; i < count; i++)
			if (wc[i].status != IB_WC_SUCCESS)
				bench_fatal("completion: %s", al_wc_status_str(wc[i].status));
		num -= count;
	}
}

al_qp_h bench_make_ud(const struct bench_side *side, uint32_t depth, uint32_t qkey, uint32_t *qpn)
{
	struct al_qp_init init = {
		.qp_type = IB_QPT_UD,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = { .max_send_wr = depth,
			 .max_recv_wr = depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1, .qkey = qkey };
	al_qp_h qp;

	bench_must(al_create_qp(side->pd, &init, NULL, NULL, &qp));
	bench_must(al_qp_num(qp, qpn));
	bench_must(
		al_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	attr.qp_state = IB_QPS_RTR;
	bench_must(al_modify_qp(qp, &attr, IB_QP_STATE));
	attr.qp_state = IB_QPS_RTS;
	bench_must(al_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN));
	return qp;
}
