/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What rpc_echo and rpc_glib share: a connection, by which a client calls and a server answers with
 * the same bytes. Each program of the one understands those of the other.
 */
#ifndef EXAMPLE_RPC_H
#define EXAMPLE_RPC_H

#include "join.h"

enum { CLIENTS = 64, SLOTS = 2, BYTES = 64 };

/* A connection. While one slot's bytes are on their way, a receive waits in the other slot. */
struct line {
	al_qp_h qp;
	int fd; /* where the two programs have met: readable when the other one has gone */
};

static struct end end;
static struct line lines[CLIENTS]; /* without a queue pair: not in use; a client uses the first */

static inline char *bytes_of(const struct line *line, uint64_t slot)
{
	return end.memory + ((uint64_t)(line - lines) * SLOTS + slot) * BYTES;
}

static inline al_status post(struct line *line, bool send, uint64_t slot)
{
	struct ib_sge sge = { (uintptr_t)bytes_of(line, slot), BYTES, end.lkey };
	struct ib_send_wr out = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };
	struct ib_recv_wr in = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	return send ? al_post_send(line->qp, &out, NULL) : al_post_recv(line->qp, &in, NULL);
}

/* Connects by fd; then a receive waits at both ends. While a client says nothing, the server waits
 * for it, at most LIMIT ms: a server of strangers would watch the client's descriptor instead. */
static inline al_status begin(struct line *line, int fd)
{
	struct hello theirs;
	al_status status;

	line->fd = fd;
	must(make_qp(&end, IB_QPT_RC, SLOTS, line, &line->qp), "al_create_qp");
	status = join(&end, line->qp, fd, 0, &theirs);
	if (!status)
		status = post(line, false, 0);
	return status ? status : agree(fd);
}

/* Answers the calls that have come. A receive waits in the other slot before the answer leaves, so
 * that the next call finds it. A request fails if its client has gone: the client's fd tells. */
static inline void answer(void)
{
	struct ib_wc wc;
	uint32_t count;

	do {
		must(al_poll_cq(end.cq, 1, &wc, &count), "al_poll_cq");
		if (count && wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RECV &&
		    (post(wc.qp_context, false, !wc.wr_id) || post(wc.qp_context, true, wc.wr_id)))
			fprintf(stderr, "a client is not answered: %s\n", al_reason());
	} while (count);
}

static inline void end_line(struct line *line)
{
	must(al_destroy_qp(line->qp, AL_DESTROY_SYNC, NULL), "al_destroy_qp");
	close(line->fd);
	line->qp = NULL;
}

#endif /* EXAMPLE_RPC_H */
