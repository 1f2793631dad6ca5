/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the examples rpc_echo, rpc_glib, datagram and write_read share: an HCA that is opened with a
 * protection domain, a completion queue and memory, and a wait for completions.
 */
#ifndef EXAMPLE_END_H
#define EXAMPLE_END_H

#include <iba/ib_connect.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PORT = 1, LIMIT = 5000 /* ms that one program waits for the other */ };

struct end {
	al_h al;
	al_ca_h ca;
	al_pd_h pd;
	al_channel_h channel;
	al_cq_h cq; /* of all queue pairs, for sends and receives */
	al_mr_h mr;
	char *memory; /* registered: peers may read and write it */
	uint32_t lkey, rkey;
};

static inline _Noreturn void give_up(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(EXIT_FAILURE);
}

/* Ends the program if a call was refused. */
static inline void must(al_status status, const char *call)
{
	if (status == AL_SUCCESS)
		return;
	fprintf(stderr, "%s: %s: %s\n", call, al_status_str(status), al_reason());
	exit(EXIT_FAILURE);
}

/* Opens an HCA with memory. number: programs of one machine that use other numbers use other HCAs,
 * as far as there are so many. completions: most that are in the queue at once. */
static inline void open_end(struct end *end, size_t number, uint32_t bytes, uint32_t completions)
{
	struct al_mr_init mr = { .length = bytes,
				 .access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
					   IB_ACCESS_REMOTE_READ };
	struct al_cq_init cq = { .cqe = completions };
	uint64_t guids[64] = { 0 }, dma;
	size_t count = 64;

	must(al_open(NULL, &end->al), "al_open");
	must(al_get_ca_guids(end->al, guids, &count), "al_get_ca_guids");
	must(al_open_ca(end->al, guids[count ? number % count : 0], NULL, &end->ca), "al_open_ca");
	must(al_alloc_pd(end->ca, NULL, &end->pd), "al_alloc_pd");
	/* Memory of any kind can be registered; an agent's HCA reaches this kind without a copy. */
	must(al_dma_alloc_coherent(end->ca, bytes, &mr.addr, &dma), "al_dma_alloc_coherent");
	must(al_reg_mr(end->pd, &mr, NULL, &end->lkey, &end->rkey, &end->mr), "al_reg_mr");
	must(al_create_channel(end->al, NULL, &end->channel), "al_create_channel");
	cq.channel = end->channel;
	must(al_create_cq(end->pd, &cq, NULL, NULL, NULL, &end->cq), "al_create_cq");
	end->memory = mr.addr;
}

/* The program has destroyed its queue pairs. Destroys take effect in their order. */
static inline void close_end(struct end *end)
{
	must(al_dereg_mr(end->mr, NULL, NULL), "al_dereg_mr");
	must(al_destroy_cq(end->cq, NULL, NULL), "al_destroy_cq");
	must(al_destroy_channel(end->channel, NULL, NULL), "al_destroy_channel");
	must(al_dealloc_pd(end->pd, NULL, NULL), "al_dealloc_pd");
	must(al_close_ca(end->ca, AL_DESTROY_SYNC, NULL), "al_close_ca");
	must(al_close(end->al, AL_DESTROY_SYNC, NULL), "al_close");
}

/* context: comes back in each completion of the queue pair. */
static inline al_status make_qp(struct end *end, ib_qp_type type, uint32_t requests, void *context,
				al_qp_h *qp)
{
	struct al_qp_init init = {
		.qp_type = type,
		.sq_sig_all = true, /* every request has a completion */
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { requests, requests, 1, 1, 0 }, /* each of one piece of memory */
	};

	return al_create_qp(end->pd, &init, context, NULL, qp);
}

/* Sleeps until a completion comes, or one of the descriptors has input (pfd[0] is for the channel),
 * or so many ms have passed (-1: no limit). Returns the number of descriptors with input. The
 * program polls all completions before: one that has come since satisfies the arm. */
static inline int wait_for(struct end *end, struct pollfd *pfd, nfds_t count, int ms)
{
	struct al_channel_event event;
	int ready;

	must(al_channel_fd(end->channel, &pfd[0].fd), "al_channel_fd");
	pfd[0].events = POLLIN;
	must(al_arm_cq(end->cq, AL_ARM_ANY, NULL), "al_arm_cq");
	ready = poll(pfd, count, ms);
	while (al_channel_next(end->channel, &event) == AL_SUCCESS)
		;
	return ready;
}

#endif /* EXAMPLE_END_H */
