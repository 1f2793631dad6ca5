/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An example of the reference: a datagram, and the answer to its sender. */
#include "must.h"

#include <poll.h>
#include <string.h>

#define QKEY 0x1234u
#define ROOM (IB_GRH_BYTES + 64) /* a datagram follows an area for its global route header */

struct end {
	al_ca_h ca;
	al_pd_h pd;
	al_channel_h channel;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;
	uint32_t lkey, qpn;
	uint16_t lid;
	char buffer[2][ROOM]; /* received, sent */
};

static void open_end(struct end *end, al_h al, uint64_t guid)
{
	struct al_mr_init mr = { .addr = end->buffer,
				 .length = sizeof(end->buffer),
				 .access = IB_ACCESS_LOCAL_WRITE };
	struct al_cq_init cq = { .cqe = 8 };
	struct al_qp_init qp = { .qp_type = IB_QPT_UD, .cap = { 2, 2, 1, 1, 0 } };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ib_port_attr port;
	uint32_t rkey;

	must(al_open_ca(al, guid, NULL, &end->ca), "al_open_ca");
	must(al_query_port(end->ca, 1, &port), "al_query_port");
	end->lid = port.lid;
	must(al_alloc_pd(end->ca, NULL, &end->pd), "al_alloc_pd");
	must(al_reg_mr(end->pd, &mr, NULL, &end->lkey, &rkey, &end->mr), "al_reg_mr");
	must(al_create_channel(al, NULL, &end->channel), "al_create_channel");
	cq.channel = end->channel;
	must(al_create_cq(end->pd, &cq, NULL, NULL, NULL, &end->cq), "al_create_cq");
	qp.send_cq = qp.recv_cq = end->cq;
	must(al_create_qp(end->pd, &qp, NULL, NULL, &end->qp), "al_create_qp");
	must(al_qp_num(end->qp, &end->qpn), "al_qp_num");
	must(al_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_QKEY),
	     "al_modify_qp to Init");
	attr.qp_state = IB_QPS_RTR;
	must(al_modify_qp(end->qp, &attr, IB_QP_STATE), "al_modify_qp to RTR");
	attr.qp_state = IB_QPS_RTS;
	must(al_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN), "al_modify_qp to RTS");
}

static void receive(struct end *end)
{
	struct ib_sge sge = { (uintptr_t)end->buffer[0], ROOM, end->lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	must(al_post_recv(end->qp, &wr, &bad), "al_post_recv");
}

/* [address] */
static void send_to(struct end *end, al_ah_h ah, uint32_t qpn, const char *text)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->buffer[1], .lkey = end->lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	const struct ib_send_wr *bad;

	sge.length = (uint32_t)snprintf(end->buffer[1], ROOM, "%s", text) + 1;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = QKEY;
	must(al_post_send(end->qp, &wr, &bad), "al_post_send");
	must(al_destroy_ah(ah, NULL, NULL),
	     "al_destroy_ah"); /* the posted request keeps the path */
}

static void ask(struct end *end, uint16_t lid, uint32_t qpn)
{
	struct ib_ah_attr path = { .dlid = lid, .port_num = 1 };
	al_ah_h ah;

	must(al_create_ah(end->pd, &path, &ah), "al_create_ah");
	send_to(end, ah, qpn, "ping");
}
/* [address] */

/* [answer] */
static void answer(struct end *end, const struct ib_wc *wc)
{
	al_ah_h back;

	/* The first argument after the completion is the receive buffer from its first byte. */
	must(al_create_ah_from_wc(end->pd, wc, end->buffer[0], wc->port_num, &back),
	     "al_create_ah_from_wc");
	send_to(end, back, wc->src_qp, "pong");
}
/* [answer] */

static void wait_for(struct end *end, struct ib_wc *wc)
{
	struct pollfd pfd = { .events = POLLIN };
	struct al_channel_event event;
	uint32_t count;

	must(al_channel_fd(end->channel, &pfd.fd), "al_channel_fd");
	for (;;) {
		must(al_arm_cq(end->cq, AL_ARM_ANY, NULL), "al_arm_cq");
		must(al_poll_cq(end->cq, 1, wc, &count), "al_poll_cq");
		if (count)
			break;
		poll(&pfd, 1, -1);
		while (al_channel_next(end->channel, &event) == AL_SUCCESS)
			;
	}
	if (wc->status != IB_WC_SUCCESS)
		exit(EXIT_FAILURE);
	printf("%s\n", end->buffer[0] + IB_GRH_BYTES);
}

static void close_end(struct end *end)
{
	must(al_destroy_qp(end->qp, NULL, NULL), "al_destroy_qp");
	must(al_dereg_mr(end->mr, NULL, NULL), "al_dereg_mr");
	must(al_destroy_cq(end->cq, NULL, NULL), "al_destroy_cq");
	must(al_destroy_channel(end->channel, NULL, NULL), "al_destroy_channel");
	must(al_dealloc_pd(end->pd, NULL, NULL), "al_dealloc_pd");
	must(al_close_ca(end->ca, AL_DESTROY_SYNC, NULL), "al_close_ca");
}

int main(void)
{
	static struct end ends[2];
	uint64_t guids[2];
	size_t count = 2;
	struct ib_wc wc;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	must(al_get_ca_guids(al, guids, &count), "al_get_ca_guids");
	for (size_t i = 0; i < 2; i++) {
		open_end(&ends[i], al, guids[i % count]);
		receive(&ends[i]);
	}
	ask(&ends[0], ends[1].lid, ends[1].qpn);
	wait_for(&ends[1], &wc);
	answer(&ends[1], &wc);
	wait_for(&ends[0], &wc);
	for (size_t i = 0; i < 2; i++)
		close_end(&ends[i]);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return strcmp(ends[0].buffer[0] + IB_GRH_BYTES, "pong") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
