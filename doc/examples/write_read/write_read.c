/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program lends its memory to another one, which writes to it, reads it back and compares, by
 * RDMA: the lender's processor has no part in it. At the end the lender looks, too.
 *
 *     write_read lend tcp::7000 &
 *     write_read use tcp:localhost:7000
 *
 * write_read both PLACE does both in one process, in two threads.
 */
#include "join.h"

#include <pthread.h>

enum { BYTES = 1 << 20 };

/* The bytes that the user writes, and that both check. */
static char pattern(size_t at)
{
	return (char)(at * 31 + at / 251);
}

static int differs(const char *memory)
{
	size_t at = 0;

	while (at < BYTES && memory[at] == pattern(at))
		at++;
	return at < BYTES;
}

/* Waits for the completion of a request. */
static void complete(struct end *end)
{
	struct pollfd pfd;
	struct ib_wc wc;
	uint32_t count;

	for (;;) {
		must(al_poll_cq(end->cq, 1, &wc, &count), "al_poll_cq");
		if (count)
			break;
		wait_for(end, &pfd, 1, -1);
	}
	if (wc.status == IB_WC_SUCCESS)
		return;
	fprintf(stderr, "the request fails: %s\n", al_wc_status_str(wc.status));
	exit(EXIT_FAILURE);
}

/* Writes the second half of this program's memory to the peer's, or reads the peer's into the first
 * half. The memory's address and rkey are what the peer has told. */
static void transfer(struct end *end, al_qp_h qp, ib_wr_opcode opcode, const struct hello *peer)
{
	char *half = end->memory + (opcode == IB_WR_RDMA_WRITE ? BYTES : 0);
	struct ib_sge sge = { (uintptr_t)half, BYTES, end->lkey };
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	wr.wr.rdma.remote_addr = be64toh(peer->addr);
	wr.wr.rdma.rkey = be32toh(peer->rkey);
	must(al_post_send(qp, &wr, NULL), "al_post_send");
	complete(end);
}

static void use(const char *place)
{
	struct end end;
	struct hello peer;
	al_qp_h qp;
	int fd;

	open_end(&end, 1, 2 * BYTES, 4);
	must(al_meet_connect(place, 0, LIMIT, &fd), "al_meet_connect");
	must(make_qp(&end, IB_QPT_RC, 1, NULL, &qp), "al_create_qp");
	must(join(&end, qp, fd, 0, &peer), "the connection");
	must(agree(fd), "the other end"); /* both ends are connected */
	if (be32toh(peer.bytes) < BYTES)
		give_up("the peer lends less memory");
	for (size_t i = 0; i < BYTES; i++)
		end.memory[BYTES + i] = pattern(i);
	transfer(&end, qp, IB_WR_RDMA_WRITE, &peer);
	transfer(&end, qp, IB_WR_RDMA_READ, &peer);
	if (differs(end.memory))
		give_up("other bytes come back than were written");
	printf("written and read back: %d bytes\n", BYTES);
	must(agree(fd), "the other end"); /* the lender may look now */
	must(al_destroy_qp(qp, NULL, NULL), "al_destroy_qp");
	close(fd);
	close_end(&end);
}

static void lend(int listener)
{
	struct end end;
	struct hello peer;
	al_qp_h qp;
	int fd;

	open_end(&end, 0, BYTES, 4);
	must(al_meet_accept(listener, 0, -1, &fd), "al_meet_accept");
	must(make_qp(&end, IB_QPT_RC, 1, NULL, &qp), "al_create_qp");
	must(join(&end, qp, fd, BYTES, &peer), "the connection");
	must(agree(fd), "the other end");
	must(agree(fd), "the other end");
	if (differs(end.memory))
		give_up("the memory has other bytes than were written");
	printf("the lender finds them in its memory\n");
	must(al_destroy_qp(qp, NULL, NULL), "al_destroy_qp");
	close(fd);
	close_end(&end);
}

static void *lend_in_thread(void *listener)
{
	lend(*(int *)listener);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *role = argc == 3 ? argv[1] : "";
	const bool both = !strcmp(role, "both"), lends = both || !strcmp(role, "lend");
	pthread_t lender;
	int listener = -1;

	if (!lends && strcmp(role, "use"))
		give_up("usage: write_read lend|use|both PLACE");
	if (lends)
		must(al_meet_listen(argv[2], &listener), "al_meet_listen");
	if (both && pthread_create(&lender, NULL, lend_in_thread, &listener))
		give_up("there is no thread for the lender");
	if (lends && !both)
		lend(listener);
	else
		use(argv[2]);
	if (both)
		pthread_join(lender, NULL);
	if (lends)
		must(al_meet_end(listener), "al_meet_end");
	return EXIT_SUCCESS;
}
