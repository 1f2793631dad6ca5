/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An example of the reference: two programs meet, connect their queue pairs, and the one writes to
 * the other's memory. Here both are threads of one process.
 */
#include "must.h"

#include <iba/ib_connect.h>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define PLACE "file:connect.socket"
#define LIMIT 10000 /* ms that an end waits for the other */

/* One end of the connection. */
struct end {
	int listener; /* of the end that listens */
	al_ca_h ca;
	al_pd_h pd;
	al_channel_h channel;
	al_cq_h cq;
	al_qp_h qp;
	al_mr_h mr;
	uint32_t lkey, rkey;
	char buffer[64];
};

/* [meet] */
/* What this program tells its peer. Both programs run on machines of one byte order; the card has
 * one of its own. */
struct hello {
	uint8_t card[AL_CARD_BYTES];
	uint64_t addr; /* of the buffer */
	uint32_t rkey;
	uint32_t length;
};

static void exchange(int fd, const struct hello *mine, struct hello *peers)
{
	uint32_t size = sizeof(*peers);

	must(al_meet_send(fd, mine, sizeof(*mine), LIMIT), "al_meet_send");
	must(al_meet_receive(fd, peers, &size, LIMIT), "al_meet_receive");
	if (size == sizeof(*peers))
		return;
	fprintf(stderr, "the other end is of another version\n");
	exit(EXIT_FAILURE);
}
/* [meet] */

/* [connect] */
/* Connects the queue pair with that of the program at the other end of fd. */
static void connect_by(int fd, struct end *end, struct hello *peers)
{
	struct hello mine = { .addr = (uintptr_t)end->buffer,
			      .rkey = end->rkey,
			      .length = sizeof(end->buffer) };
	struct al_qp_card card, peer;

	must(al_qp_card(end->ca, 1, end->qp, NULL, &card), "al_qp_card");
	al_card_encode(&card, mine.card);
	exchange(fd, &mine, peers);
	must(al_card_decode(peers->card, &peer), "al_card_decode");
	must(al_connect_qp(end->qp, &card, &peer, NULL), "al_connect_qp");
	exchange(fd, &mine, peers); /* now both queue pairs are connected */
}
/* [connect] */

static void open_end(struct end *end, al_h al, uint64_t guid, ib_qp_type type)
{
	struct al_mr_init mr = { .addr = end->buffer,
				 .length = sizeof(end->buffer),
				 .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE };
	struct al_cq_init cq = { .cqe = 4 };
	struct al_qp_init qp = { .qp_type = type, .sq_sig_all = true, .cap = { 2, 2, 1, 1, 0 } };

	must(al_open_ca(al, guid, end, &end->ca), "al_open_ca");
	must(al_alloc_pd(end->ca, end, &end->pd), "al_alloc_pd");
	must(al_reg_mr(end->pd, &mr, end, &end->lkey, &end->rkey, &end->mr), "al_reg_mr");
	must(al_create_channel(al, NULL, &end->channel), "al_create_channel");
	cq.channel = end->channel;
	must(al_create_cq(end->pd, &cq, end, NULL, NULL, &end->cq), "al_create_cq");
	qp.send_cq = qp.recv_cq = end->cq;
	must(al_create_qp(end->pd, &qp, end, NULL, &end->qp), "al_create_qp");
}

static void wait_for_completion(struct end *end)
{
	struct pollfd pfd = { .events = POLLIN };
	struct al_channel_event event;
	struct ib_wc wc;
	uint32_t count;

	must(al_channel_fd(end->channel, &pfd.fd), "al_channel_fd");
	for (;;) {
		must(al_arm_cq(end->cq, AL_ARM_ANY, NULL), "al_arm_cq");
		must(al_poll_cq(end->cq, 1, &wc, &count), "al_poll_cq");
		if (count)
			break;
		poll(&pfd, 1, -1);
		while (al_channel_next(end->channel, &event) == AL_SUCCESS)
			;
	}
	if (wc.status != IB_WC_SUCCESS)
		exit(EXIT_FAILURE);
}

static void write_to(struct end *end, const struct hello *peers, const char *text)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->buffer, .lkey = end->lkey };
	struct ib_send_wr wr = {
		.opcode = IB_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = peers->addr, .rkey = peers->rkey },
	};

	sge.length = (uint32_t)snprintf(end->buffer, sizeof(end->buffer), "%s", text) + 1;
	must(al_post_send(end->qp, &wr, NULL), "al_post_send");
	wait_for_completion(end);
}

/* The program that listens: the other one writes to its memory, and then says so. */
static void *listen_there(void *context)
{
	struct end *end = context;
	struct hello peers;
	int fd;

	must(al_meet_accept(end->listener, 0, LIMIT, &fd), "al_meet_accept");
	connect_by(fd, end, &peers);
	exchange(fd, &peers, &peers); /* the write has completed */
	close(fd);
	return NULL;
}

/* The program that connects. */
static void connect_there(struct end *end)
{
	struct hello peers;
	int fd;

	must(al_meet_connect(PLACE, 0, LIMIT, &fd), "al_meet_connect");
	connect_by(fd, end, &peers);
	write_to(end, &peers, "written by the peer");
	exchange(fd, &peers, &peers);
	close(fd);
}

/* [address] */
/* Sends a datagram to the queue pair of a card. */
static void send_datagram(struct end *end, const struct al_qp_card *mine,
			  const struct al_qp_card *peer)
{
	struct ib_sge sge = { .addr = (uintptr_t)end->buffer, .length = 5, .lkey = end->lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ib_ah_attr path;

	must(al_card_address(mine, peer, NULL, &path), "al_card_address");
	must(al_create_ah(end->pd, &path, &wr.wr.ud.ah), "al_create_ah");
	wr.wr.ud.remote_qpn = peer->qpn;
	wr.wr.ud.remote_qkey = peer->qkey;
	must(al_post_send(end->qp, &wr, NULL), "al_post_send");
	must(al_destroy_ah(wr.wr.ud.ah, NULL, NULL), "al_destroy_ah");
}
/* [address] */

/* Two UD queue pairs need their cards, and no connection. */
static void datagram(struct end *from, struct end *to)
{
	struct ib_sge sge = { .addr = (uintptr_t)to->buffer,
			      .length = sizeof(to->buffer),
			      .lkey = to->lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct al_qp_card mine, peer;

	must(al_qp_card(from->ca, 1, from->qp, NULL, &mine), "al_qp_card");
	must(al_qp_card(to->ca, 1, to->qp, NULL, &peer), "al_qp_card");
	must(al_connect_qp(from->qp, &mine, NULL, NULL), "al_connect_qp");
	must(al_connect_qp(to->qp, &peer, NULL, NULL), "al_connect_qp");
	must(al_post_recv(to->qp, &wr, NULL), "al_post_recv");
	snprintf(from->buffer, sizeof(from->buffer), "ping");
	send_datagram(from, &mine, &peer);
	wait_for_completion(to);
	printf("datagram: %s\n", to->buffer + IB_GRH_BYTES);
}

static void open_ends(struct end ends[2], al_h al, ib_qp_type type)
{
	uint64_t guids[2];
	size_t count = 2;

	must(al_get_ca_guids(al, guids, &count), "al_get_ca_guids");
	for (size_t i = 0; i < 2; i++)
		open_end(&ends[i], al, guids[i % count], type);
}

static void close_ends(struct end ends[2])
{
	for (size_t i = 0; i < 2; i++) {
		must(al_destroy_qp(ends[i].qp, NULL, NULL), "al_destroy_qp");
		must(al_dereg_mr(ends[i].mr, NULL, NULL), "al_dereg_mr");
		must(al_destroy_cq(ends[i].cq, NULL, NULL), "al_destroy_cq");
		must(al_destroy_channel(ends[i].channel, NULL, NULL), "al_destroy_channel");
		must(al_dealloc_pd(ends[i].pd, NULL, NULL), "al_dealloc_pd");
		must(al_close_ca(ends[i].ca, AL_DESTROY_SYNC, NULL), "al_close_ca");
	}
}

int main(void)
{
	static struct end ends[2];
	pthread_t thread;
	al_h al;

	must(al_open(NULL, &al), "al_open");
	open_ends(ends, al, IB_QPT_RC);
	must(al_meet_listen(PLACE, &ends[0].listener), "al_meet_listen");
	if (pthread_create(&thread, NULL, listen_there, &ends[0]))
		return EXIT_FAILURE;
	connect_there(&ends[1]);
	pthread_join(thread, NULL);
	must(al_meet_end(ends[0].listener), "al_meet_end");
	printf("memory: %s\n", ends[0].buffer);
	close_ends(ends);
	open_ends(ends, al, IB_QPT_UD);
	datagram(&ends[0], &ends[1]);
	close_ends(ends);
	al_close(al, AL_DESTROY_SYNC, NULL);
	return EXIT_SUCCESS;
}
