/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An example of the reference: connects a queue pair of one HCA with one of another, both in this
 * process, and sends a message.
 */
#include "must.h"

#include <poll.h>
#include <string.h>

/* One end of the connection. */
struct end {
	al_ca_h ca;
	al_pd_h pd;
	al_channel_h channel;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;
	uint32_t lkey;
	uint16_t lid;
	uint32_t qpn;
	char buffer[64];
};

/* [create] */
static void create(struct end *end, al_h al)
{
	struct al_cq_init cq = { .cqe = 16 };
	struct al_qp_init qp = {
		.qp_type = IB_QPT_RC,
		.sq_sig_all = true, /* every send request generates a completion */
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	must(al_create_channel(al, NULL, &end->channel), "al_create_channel");
	cq.channel = end->channel; /* notifications come by the channel, not by a callback */
	must(al_create_cq(end->pd, &cq, end, NULL, NULL, &end->cq), "al_create_cq");
	qp.send_cq = end->cq; /* one queue takes both kinds of completions: 8 + 8 entries */
	qp.recv_cq = end->cq;
	must(al_create_qp(end->pd, &qp, end, NULL, &end->qp), "al_create_qp");
	must(al_qp_num(end->qp, &end->qpn), "al_qp_num"); /* the peer needs the number */
}
/* [create] */

/* [connect] */
static void connect_to(al_qp_h qp, uint16_t peer_lid, uint32_t peer_qpn)
{
	struct ib_qp_attr init = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.pkey_index = 0,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE,
	};
	struct ib_qp_attr rtr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer_qpn,
		.rq_psn = 1, /* the peer's sq_psn */
		.ah_attr = { .dlid = peer_lid, .port_num = 1 },
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};
	struct ib_qp_attr rts = {
		.qp_state = IB_QPS_RTS,
		.sq_psn = 1,
		.timeout = 14, /* 4.096 us * 2^14: 67 ms */
		.retry_cnt = 7,
		.rnr_retry = 7, /* without limit */
		.max_rd_atomic = 1,
	};

	must(al_modify_qp(qp, &init,
			  IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS),
	     "al_modify_qp to Init");
	must(al_modify_qp(qp, &rtr,
			  IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
				  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER),
	     "al_modify_qp to RTR");
	must(al_modify_qp(qp, &rts,
			  IB_QP_STATE | IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				  IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC),
	     "al_modify_qp to RTS");
}
/* [connect] */

/* [receive] */
static void receive(struct end *end)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)end->buffer,
		.length = sizeof(end->buffer),
		.lkey = end->lkey,
	};
	struct ib_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	must(al_post_recv(end->qp, &wr, &bad), "al_post_recv");
}
/* [receive] */

/* [send] */
static void send_text(struct end *end, const char *text)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->buffer, .lkey = end->lkey };
	struct ib_send_wr wr = {
		.wr_id = 2,
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
	};
	const struct ib_send_wr *bad;

	sge.length = (uint32_t)snprintf(end->buffer, sizeof(end->buffer), "%s", text) + 1;
	must(al_post_send(end->qp, &wr, &bad), "al_post_send");
	/* buffer may be changed again when the completion with wr_id 2 has come */
}
/* [send] */

/* [failure] */
/* Tells why a request has failed, and ends the program. */
static void fail(al_qp_h qp, const struct ib_wc *wc)
{
	struct al_qp_failure failure;

	fprintf(stderr, "request %u: %s\n", (unsigned int)wc->wr_id, al_wc_status_str(wc->status));
	/* Of a flushed request there is no reason; through an agent it may come a moment later. */
	if (al_query_failure(qp, &failure) == AL_SUCCESS && failure.wr_id == wc->wr_id)
		fprintf(stderr, "the reason: %s\n", failure.reason);
	exit(EXIT_FAILURE);
}
/* [failure] */

/* [poll] */
/* Takes the completions that are there; returns their number. */
static uint32_t drain(al_cq_h cq)
{
	struct ib_wc wc[4];
	uint32_t count, all = 0;

	do {
		must(al_poll_cq(cq, 4, wc, &count), "al_poll_cq");
		for (uint32_t i = 0; i < count; i++) {
			/* In error, opcode and byte_len mean nothing. */
			if (wc[i].status != IB_WC_SUCCESS)
				fail(((struct end *)wc[i].qp_context)->qp, &wc[i]);
			printf("request %u: %s, %u bytes\n", (unsigned int)wc[i].wr_id,
			       al_wc_opcode_str(wc[i].opcode), wc[i].byte_len);
		}
		all += count;
	} while (count);
	return all;
}
/* [poll] */

/* [arm] */
/* Sleeps until the queue has had a completion. */
static void wait_for_completion(struct end *end)
{
	struct al_channel_event event;
	struct pollfd pfd = { .events = POLLIN };

	must(al_channel_fd(end->channel, &pfd.fd), "al_channel_fd");
	while (!drain(end->cq)) {
		/* A completion that came since the poll satisfies the arm (AL_CQ_NOTIFY_PENDING).
		 */
		must(al_arm_cq(end->cq, AL_ARM_ANY, NULL), "al_arm_cq");
		poll(&pfd, 1, -1);
		while (al_channel_next(end->channel, &event) == AL_SUCCESS)
			; /* event.context is the queue's context */
	}
}
/* [arm] */

static void open_end(struct end *end, al_h al, uint64_t guid)
{
	struct al_mr_init mr = {
		.addr = end->buffer,
		.length = sizeof(end->buffer),
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	struct ib_port_attr port;
	uint32_t rkey;

	must(al_open_ca(al, guid, end, &end->ca), "al_open_ca");
	must(al_query_port(end->ca, 1, &port), "al_query_port");
	end->lid = port.lid;
	must(al_alloc_pd(end->ca, end, &end->pd), "al_alloc_pd");
	must(al_reg_mr(end->pd, &mr, end, &end->lkey, &rkey, &end->mr), "al_reg_mr");
	create(end, al);
}

/* [end] */
/*
 * The destroys of one thread on one HCA take effect in their order: the queue pair no longer uses
 * the region when the region ends, and when the last call returns, all have ended.
 */
static void close_end(struct end *end)
{
	must(al_destroy_qp(end->qp, NULL, NULL), "al_destroy_qp");
	must(al_dereg_mr(end->mr, NULL, NULL), "al_dereg_mr");
	must(al_destroy_cq(end->cq, NULL, NULL), "al_destroy_cq");
	must(al_destroy_channel(end->channel, NULL, NULL), "al_destroy_channel");
	must(al_dealloc_pd(end->pd, NULL, NULL), "al_dealloc_pd");
	must(al_close_ca(end->ca, AL_DESTROY_SYNC, NULL), "al_close_ca");
	/* from here on the memory of the region may be reused */
}
/* [end] */

int main(void)
{
	static struct end ends[2];
	uint64_t guids[2];
	size_t count = 2;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	must(al_get_ca_guids(al, guids, &count), "al_get_ca_guids");
	for (size_t i = 0; i < 2; i++)
		open_end(&ends[i], al, guids[i % count]);
	for (size_t i = 0; i < 2; i++)
		connect_to(ends[i].qp, ends[!i].lid, ends[!i].qpn);
	receive(&ends[1]);
	send_text(&ends[0], "hello");
	wait_for_completion(&ends[1]);
	wait_for_completion(&ends[0]);
	printf("received: %s\n", ends[1].buffer);
	for (size_t i = 0; i < 2; i++)
		close_end(&ends[i]);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return strcmp(ends[1].buffer, "hello") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
