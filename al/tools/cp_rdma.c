/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* clang-format off */
/*
 * The channel driver of al_cp: copies a file from one HCA to another. Both ends use one protocol over a connected pair of queue
 * pairs, whether they are in one process or in two:
 *
 *     near end                                       far end
 *     reads a chunk of the file into a slot: digest
 *     RDMA write with immediate (the slot)  ------>  takes the chunk from its own slot: digest, file
 *     may use the slot again                <------  send with immediate: a credit
 *     send with immediate: a hole's bytes   ------>  leaves the hole: digest of zeros; a credit too
 *     send: the trailer (size and digest)   ------>  compares it with its own
 *                                           <------  send with immediate: the verdict
 *
 * This process has both ends, or one of them. Ends in two processes find each other by cp_meet.c. Files are in cp_file.c, the
 * command line is in al_cp.c.
 */
/* clang-format on */
#include <iba/ib_al.h>

#include <string.h>

#include "al/tools/cp_meet.h"
#include "al/tools/cp_rdma.h"
#include "al/tools/tool.h"

/* Immediate data of the far end's answers. */
enum { CREDIT, GOOD, BAD };

/* Most bytes of a hole in one message. The far end computes their digest, and looks for signals
 * only between two messages. */
#define HOLE_MAX (16u << 20)

/* The near end's last message, by which the far end checks the copy without the file. */
struct trailer {
	guint64 size;    /* big endian */
	char sha256[64]; /* hexadecimal, no zero byte */
};

/* One end: an HCA, a ring of slots followed by memory for a trailer, and a queue pair. Of an end in
 * another process only addr, rkey and qpn are set. */
struct end {
	struct cp_side *side;
	al_mr_h mr;
	al_cq_h cq;
	al_qp_h qp;
	guint8 *ring;
	guint64 dma;  /* bus address of the ring */
	guint64 addr; /* address of the ring in the peer's writes */
	guint32 lkey, rkey, qpn;
	guint64 sent; /* number of requests posted to the send queue, and wr_id of the last */
	guint64 done; /* number of those requests that have completed */
	struct cp_digest *digest; /* of the ring's memory: a piece for each message but the trailer */
};

struct copy {
	struct cp_job *job;
	al_h al;
	al_channel_h channel;
	struct end near, far;
	gsize chunk, window; /* of the job */
	/* The fields of the near end. */
	guint64 offset;   /* bytes of the file that were written to the far end */
	guint64 credited; /* messages that the far end has answered */
	guint64 digested; /* messages in the near end's digest when send_what_fits() looked last */
	gboolean ended;   /* the trailer was sent */
	guint64 *ends;    /* by slot of the window: offset in the file after the bytes of the message */
	guint32 verdict;  /* the far end's GOOD or BAD; 0 until it has come */
	/* The fields of the far end. */
	guint64 taken;     /* number of messages that have come */
	guint64 answered;  /* number of messages that this end has answered */
	guint32 judgement; /* GOOD or BAD; 0 until the trailer has come */
};

/* -------------------------------------------------------------- preparation */

static gsize trailer_offset(const struct copy *c)
{
	return (c->chunk * c->window + 7) & ~(gsize)7;
}

static gsize ring_bytes(const struct copy *c)
{
	return trailer_offset(c) + sizeof(struct trailer);
}

static struct trailer *trailer_of(const struct copy *c, const struct end *end)
{
	return (struct trailer *)(end->ring + trailer_offset(c));
}

static gboolean open_end(struct copy *c, struct end *end, guint32 access, GError **err)
{
	struct pair_end *at = &end->side->end;
	/* Each message has one request at each end. Its answer may come before the completion of
	 * the request. */
	struct al_cq_init cq = { .cqe = (guint32)(4 * c->window + 4), .channel = c->channel };
	struct al_mr_init mr = { .length = ring_bytes(c), .access = access };
	struct al_qp_init qp = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = (guint32)(2 * c->window + 2),
			 .max_recv_wr = (guint32)(c->window + 1),
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (!pair_open(c->al, at, err))
		return FALSE;
	if (c->chunk > at->port.max_msg_size)
		return tool_fail(err,
				 "HCA 0x%016" G_GINT64_MODIFIER
				 "x: a message has at most %u bytes; use a smaller --chunk",
				 at->guid, at->port.max_msg_size);
	end->ring = pair_memory(at, ring_bytes(c), &end->dma, "--window or --chunk", err);
	if (!end->ring)
		return FALSE;
	mr.addr = end->ring;
	end->addr = (guintptr)end->ring;
	if (!pair_worked(al_reg_mr(at->pd, &mr, end, &end->lkey, &end->rkey, &end->mr), at,
			 "the window cannot be registered", err) ||
	    !pair_worked(al_create_cq(at->pd, &cq, end, NULL, NULL, &end->cq), at,
			 "no completion queue", err))
		return FALSE;
	qp.send_cq = qp.recv_cq = end->cq;
	return pair_worked(al_create_qp(at->pd, &qp, end, NULL, &end->qp), &end->side->end,
			   "no queue pair", err) &&
	       pair_worked(al_qp_num(end->qp, &end->qpn), &end->side->end, "no queue pair number",
			   err) &&
	       (end->digest = cp_digest_start(2 * c->window, err)) != NULL;
}

/* Destroys the end's objects in reverse order; an object that was not made is NULL, and skipped. */
static void close_end(struct copy *c, struct end *end)
{
	if (end->qp)
		al_destroy_qp(end->qp, AL_DESTROY_SYNC, NULL);
	if (end->cq)
		al_destroy_cq(end->cq, AL_DESTROY_SYNC, NULL);
	if (end->mr)
		al_dereg_mr(end->mr, AL_DESTROY_SYNC, NULL);
	cp_digest_free(end->digest); /* before the memory that it reads */
	pair_free_memory(&end->side->end, end->ring, ring_bytes(c), end->dma);
	pair_close(&end->side->end);
}

/* ------------------------------------------------------------------ posting */

/* Any receive at the far end may get the trailer, so each has memory for it. A chunk goes to its
 * slot by RDMA write, and an answer has no data. */
static gboolean post_recv(struct copy *c, struct end *end, GError **err)
{
	struct ib_sge sge = { (guintptr)trailer_of(c, end), sizeof(struct trailer), end->lkey };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = end == &c->far };
	const struct ib_recv_wr *bad;

	return pair_worked(al_post_recv(end->qp, &wr, &bad), &end->side->end,
			   "a receive cannot be posted", err);
}

/* A completion stands for all earlier requests of its queue. So one request in each quarter of the
 * window is signalled, and the last request. */
static gboolean post_send(struct copy *c, struct end *end, struct ib_send_wr *wr, gboolean last,
			  GError **err)
{
	const struct ib_send_wr *bad;

	wr->wr_id = ++end->sent;
	wr->send_flags = last || !(wr->wr_id % MAX(c->window / 4, 1)) ? IB_SEND_SIGNALED : 0;
	return pair_worked(al_post_send(end->qp, wr, &bad), &end->side->end,
			   "a request cannot be posted", err);
}

static gboolean send_chunk(struct copy *c, gsize len, GError **err)
{
	guint32 slot = (guint32)(c->near.sent % c->window);
	guint8 *from = c->near.ring + slot * c->chunk;
	struct ib_sge sge = { (guintptr)from, (guint32)len, c->near.lkey };
	struct ib_send_wr wr = {
		.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = &sge,
		.num_sge = 1,
		.ex.imm_data = slot,
		.wr.rdma = { c->far.addr + slot * c->chunk, c->far.rkey },
	};
	gint64 start = g_get_monotonic_time();

	if (!cp_source_read(&c->job->src, c->offset, from, len, err))
		return FALSE;
	c->job->files_us += g_get_monotonic_time() - start;
	c->job->carried += len;
	c->offset += len;
	cp_digest_add(c->near.digest, from, len);
	return post_send(c, &c->near, &wr, FALSE, err);
}

/* Announces a hole of the file: only its length is sent. */
static gboolean send_hole(struct copy *c, guint32 len, GError **err)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_IMM, .ex.imm_data = len };

	c->offset += len;
	cp_digest_add(c->near.digest, NULL, len);
	return post_send(c, &c->near, &wr, FALSE, err);
}

static gboolean send_trailer(struct copy *c, GError **err)
{
	struct trailer *trailer = trailer_of(c, &c->near);
	struct ib_sge sge = { (guintptr)trailer, sizeof(*trailer), c->near.lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	const char *sha256 = cp_digest_text(c->near.digest, err);

	if (!sha256 || !cp_source_check(&c->job->src, sha256, err))
		return FALSE;
	trailer->size = GUINT64_TO_BE(c->job->src.size);
	memcpy(trailer->sha256, sha256, sizeof(trailer->sha256));
	c->ended = TRUE;
	return post_send(c, &c->near, &wr, TRUE, err);
}

static gboolean send_next(struct copy *c, GError **err)
{
	guint64 *end = &c->ends[c->near.sent % c->window];
	gboolean hole, sent;
	guint64 len;

	if (c->offset == c->job->src.size) {
		sent = send_trailer(c, err);
	} else {
		len = cp_source_extent(&c->job->src, c->offset, &hole);
		sent = hole ? send_hole(c, (guint32)MIN(len, HOLE_MAX), err)
			    : send_chunk(c, MIN(len, c->chunk), err);
	}
	*end = c->offset;
	return sent;
}

/* True: all of the file was sent, but not its trailer. */
static gboolean has_sent_all(const struct copy *c)
{
	return c->near.side->here && c->offset == c->job->src.size && !c->ended;
}

/*
 * A slot of the ring is free when the far end has answered its message, the near HCA has completed
 * its request, and its bytes are in the digest. The trailer needs the whole digest.
 */
static gboolean send_what_fits(struct copy *c, GError **err)
{
	c->digested = cp_digest_pieces(c->near.digest);
	while (!c->ended &&
	       c->near.sent - MIN(MIN(c->credited, c->near.done), c->digested) < c->window) {
		if (has_sent_all(c) && c->digested < c->near.sent)
			break;
		if (!send_next(c, err))
			return FALSE;
	}
	return TRUE;
}

/* The number of messages that the far end may answer: their memory is in the file and in the
 * digest. */
static guint64 settled(const struct copy *c)
{
	return c->judgement ? c->taken : cp_digest_pieces(c->far.digest);
}

/* True: the far end's send queue has room. */
static gboolean can_answer(const struct copy *c)
{
	return c->far.sent - c->far.done < 2 * c->window;
}

/* Posts the far end's answers, as many as its send queue has room for. The answer to the trailer is
 * the verdict. */
static gboolean post_answers(struct copy *c, GError **err)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_IMM };
	const guint64 ready = settled(c);

	for (; c->answered < ready && can_answer(c); c->answered++) {
		wr.ex.imm_data = c->answered + 1 == c->taken ? c->judgement : CREDIT;
		if (!post_send(c, &c->far, &wr, wr.ex.imm_data != CREDIT, err))
			return FALSE;
	}
	return TRUE;
}

/* -------------------------------------------------------------- completions */

/* Checks that the near end does not send more bytes than the file has. */
static gboolean fits(const struct copy *c, guint32 len, GError **err)
{
	return len <= c->job->src.size - c->job->received ||
	       tool_fail(err, "more comes than the %" G_GUINT64_FORMAT " bytes of %s",
			 c->job->src.size, c->job->src.name);
}

static gboolean take_hole(struct copy *c, guint32 len, GError **err)
{
	gint64 start = g_get_monotonic_time();

	if (len > HOLE_MAX)
		return tool_fail(err, "the near end announces a hole of %u bytes in one message, which is more than the protocol allows", len);
	if (!fits(c, len, err))
		return FALSE;
	cp_digest_add(c->far.digest, NULL, len);
	if (!cp_dest_skip(&c->job->dest, len, err))
		return FALSE;
	c->job->received += len;
	c->job->files_us += g_get_monotonic_time() - start;
	return TRUE;
}

/* The near end has written a chunk into the far end's memory. Digest and file are made of that
 * memory alone. */
static gboolean take_chunk(struct copy *c, const struct ib_wc *wc, GError **err)
{
	guint8 *data = c->far.ring + wc->imm_data * c->chunk;
	gint64 start = g_get_monotonic_time();

	if (wc->imm_data >= c->window || wc->byte_len > c->chunk)
		return tool_fail(
			err,
			"the near end announces slot %u with %u bytes, which the far end does not have",
			wc->imm_data, wc->byte_len);
	if (!fits(c, wc->byte_len, err))
		return FALSE;
	if (c->job->flip >= (gint64)c->job->received &&
	    c->job->flip < (gint64)(c->job->received + wc->byte_len))
		data[c->job->flip - (gint64)c->job->received] ^= 1;
	cp_digest_add(c->far.digest, data, wc->byte_len);
	if (!cp_dest_write(&c->job->dest, data, wc->byte_len, err))
		return FALSE;
	c->job->received += wc->byte_len;
	if (!c->near.side->here)
		c->job->carried += wc->byte_len;
	c->job->files_us += g_get_monotonic_time() - start;
	return TRUE;
}

static gboolean judge(struct copy *c, GError **err)
{
	const struct trailer *trailer = trailer_of(c, &c->far);
	const char *sha256 = cp_digest_text(c->far.digest, err);

	if (!sha256)
		return FALSE;
	c->judgement = GUINT64_FROM_BE(trailer->size) == c->job->received &&
				       !memcmp(trailer->sha256, sha256, sizeof(trailer->sha256)) ?
			       GOOD :
			       BAD;
	return TRUE;
}

static gboolean handle(struct copy *c, struct end *end, const struct ib_wc *wc, GError **err)
{
	const struct end *peer = end == &c->near ? &c->far : &c->near;

	if (wc->status != IB_WC_SUCCESS) {
		/* A peer that has gone takes its memory with it; its end is a better message than
		 * the completion's status. */
		if (c->job->peer >= 0 && !meet_check_peer(c->job->peer, err))
			return FALSE;
		return tool_fail(
			err,
			"HCA 0x%016" G_GINT64_MODIFIER
			"x could not reach HCA 0x%016" G_GINT64_MODIFIER "x: %s; "
			"\"al_query port\" shows whether both are up, --from and --to choose others",
			end->side->end.guid, peer->side->end.guid, al_wc_status_str(wc->status));
	}
	if (wc->opcode < IB_WC_RECV) {
		end->done = wc->wr_id;
		return TRUE;
	}
	if (!post_recv(c, end, err)) /* before the answer, after which the peer may send again */
		return FALSE;
	if (end == &c->near) {
		c->credited++;
		if (!c->far.side->here)
			c->job->received = c->ends[(c->credited - 1) % c->window];
		c->verdict = wc->imm_data;
		return TRUE;
	}
	c->taken++;
	if (c->judgement)
		return tool_fail(err, "the near end sends more after the end of %s", c->job->src.name);
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		return take_chunk(c, wc, err);
	if (wc->wc_flags & IB_WC_WITH_IMM)
		return take_hole(c, wc->imm_data, err);
	return judge(c, err);
}

static gboolean poll_end(struct copy *c, struct end *end, guint *handled, GError **err)
{
	struct ib_wc wc[16];
	guint32 n;

	do {
		if (!pair_worked(al_poll_cq(end->cq, G_N_ELEMENTS(wc), wc, &n), &end->side->end,
				 "completions cannot be polled", err))
			return FALSE;
		for (guint32 i = 0; i < n; i++)
			if (!handle(c, end, &wc[i], err))
				return FALSE;
		*handled += n;
	} while (n == G_N_ELEMENTS(wc));
	return TRUE;
}

/* Posts all sends that the credits allow, and handles all completions. */
static gboolean make_progress(struct copy *c, guint *handled, GError **err)
{
	if (c->near.side->here && !send_what_fits(c, err))
		return FALSE;
	if (c->far.side->here && (!poll_end(c, &c->far, handled, err) || !post_answers(c, err)))
		return FALSE;
	return !c->near.side->here || poll_end(c, &c->near, handled, err);
}

/* True: the near end has the verdict; or, if only the far end is in this process, the verdict's
 * send has completed. */
static gboolean is_over(const struct copy *c)
{
	if (c->near.side->here)
		return c->verdict;
	return c->judgement && c->answered == c->taken && c->far.done == c->far.sent;
}

/* After a BAD the far end's error names both digests. A near end without the far end in its process
 * receives that error. */
static gboolean check_verdict(struct copy *c, GError **err)
{
	if ((c->near.side->here ? c->verdict : c->judgement) == GOOD)
		return TRUE;
	if (!c->far.side->here) {
		if (meet_receive(c->job->peer, NULL, 0, err))
			tool_fail(err, "the far end has refused %s", c->job->src.name);
		return FALSE;
	}
	return tool_fail(
		err,
		"the far HCA's memory does not hold what %s does: its SHA-256 is %s, the file's %.64s; %s was "
		"not made. If no process wrote to the file meanwhile, copy it again",
		c->job->src.name, cp_digest_text(c->far.digest, NULL), trailer_of(c, &c->far)->sha256,
		c->job->dest.name);
}

/* Bytes of the file that have arrived and are in the digests of this process's ends. */
static guint64 checked(const struct copy *c)
{
	guint64 bytes = c->job->received;

	if (c->near.digest)
		bytes = MIN(bytes, cp_digest_bytes(c->near.digest));
	if (c->far.digest)
		bytes = MIN(bytes, cp_digest_bytes(c->far.digest));
	return bytes;
}

/* Waits for the digest on which the next message depends. FALSE: none does. */
static gboolean wait_for_digest(struct copy *c)
{
	gint64 start = g_get_monotonic_time();

	if (c->answered < c->taken && can_answer(c))
		cp_digest_wait(c->far.digest, c->answered);
	else if (c->digested < (has_sent_all(c) ? c->credited : MIN(c->credited, c->near.done)))
		cp_digest_wait(c->near.digest, c->digested);
	else
		return FALSE;
	c->job->files_us += g_get_monotonic_time() - start;
	return TRUE;
}

static gboolean transfer(struct copy *c, GError **err)
{
	const struct end *end = c->near.side->here ? &c->near : &c->far;

	while (!is_over(c)) {
		guint handled = 0;

		if (cp_is_interrupted(c->job->dest.name, err) || !make_progress(c, &handled, err))
			return FALSE;
		c->job->checked = checked(c);
		c->job->progress(c->job);
		if (handled || is_over(c))
			continue;
		if (c->job->peer >= 0 && !meet_check_peer(c->job->peer, err))
			return FALSE;
		if (wait_for_digest(c))
			continue;
		if (!pair_wait(c->channel, c->near.cq, c->far.cq, c->job->peer, &end->side->end,
			       err))
			return FALSE;
	}
	return check_verdict(c, err);
}

static gboolean count_traffic(struct cp_side *side, GError **err)
{
	struct ib_port_counters *before = &side->end.port.counters;
	struct ib_port_attr now;

	if (!pair_worked(al_query_port(side->end.ca, side->end.port_num, &now), &side->end,
			 "its port cannot be read", err))
		return FALSE;
	side->xmit_bytes = now.counters.xmit_bytes - before->xmit_bytes;
	side->rcv_bytes = now.counters.rcv_bytes - before->rcv_bytes;
	return TRUE;
}

/* Checks by the ports' counters that the file's data went over the ports. */
static gboolean check_counters(struct cp_job *job, GError **err)
{
	if ((job->near.here && !count_traffic(&job->near, err)) ||
	    (job->far.here && !count_traffic(&job->far, err)))
		return FALSE;
	if ((!job->near.here || job->near.xmit_bytes >= job->carried) &&
	    (!job->far.here || job->far.rcv_bytes >= job->carried))
		return TRUE;
	return tool_fail(
		err,
		"the ports did not count the file's %" G_GUINT64_FORMAT
		" bytes of data (%" G_GUINT64_FORMAT " sent, %" G_GUINT64_FORMAT
		" received): it went another way, or the HCA counts wrongly; %s was not made",
		job->carried, job->near.xmit_bytes, job->far.rcv_bytes, job->dest.name);
}

static gboolean connect_end(struct end *end, const struct end *peer, GError **err)
{
	/* rnr_retry stays 0: an end with a credit has a receive posted at its peer. */
	struct pair_path path = { .type = IB_QPT_RC,
				  .qpn = end->qpn,
				  .peer_qpn = peer->qpn,
				  .access = IB_ACCESS_REMOTE_WRITE };

	return pair_connect(end->qp, &end->side->end, &peer->side->end, &path, err);
}

static gboolean post_receives(struct copy *c, struct end *end, GError **err)
{
	for (guint i = 0; i <= c->window; i++)
		if (!post_recv(c, end, err))
			return FALSE;
	return TRUE;
}

static gboolean start_end(struct copy *c, struct end *end, const struct end *peer, GError **err)
{
	return connect_end(end, peer, err) && post_receives(c, end, err);
}

/* Only the near end is in this process. */
static gboolean start_near(struct copy *c, GError **err)
{
	struct cp_place place;

	if (!open_end(c, &c->near, 0, err) || !cp_send_offer(c->job, c->near.qpn, err) ||
	    !cp_receive_place(c->al, c->job, &place, err))
		return FALSE;
	c->far.qpn = place.card.qpn;
	c->far.addr = place.addr;
	c->far.rkey = place.rkey;
	return start_end(c, &c->near, &c->far, err);
}

static gboolean open_far(struct copy *c, GError **err)
{
	struct cp_job *job = c->job;

	return cp_dest_open(&job->dest, job->dest_path, &job->src, job->peer, job->quiet, err) &&
	       open_end(c, &c->far, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, err);
}

/* Only the far end is in this process. It is ready to receive before it sends its place. */
static gboolean start_far(struct copy *c, GError **err)
{
	struct cp_job *job = c->job;

	job->peer = meet_accept(c->al, job->listener, job->meet_name, job->any_user, err);
	if (job->peer < 0 || !cp_receive_offer(c->al, job, &c->near.qpn, err))
		return FALSE;
	c->chunk = job->chunk;
	c->window = job->window;
	return open_far(c, err) && start_end(c, &c->far, &c->near, err) &&
	       cp_send_place(job, c->far.qpn, c->far.addr, c->far.rkey, err);
}

static gboolean start_both(struct copy *c, GError **err)
{
	return open_far(c, err) && open_end(c, &c->near, 0, err) &&
	       start_end(c, &c->near, &c->far, err) && start_end(c, &c->far, &c->near, err);
}

static gboolean prepare(struct copy *c, GError **err)
{
	struct cp_side *any = c->near.side->here ? c->near.side : c->far.side;

	if (!pair_worked(al_create_channel(c->al, NULL, &c->channel), &any->end,
			 "no channel for its completions", err))
		return FALSE;
	if (!c->near.side->here)
		return start_far(c, err);
	return c->far.side->here ? start_both(c, err) : start_near(c, err);
}

/* The destination gets its name before the near end receives the outcome. */
static gboolean conclude(struct copy *c, GError **err)
{
	struct cp_job *job = c->job;

	if (!check_counters(job, err))
		return FALSE;
	if (!job->far.here)
		return cp_receive_outcome(job, err);
	job->sha256 = g_strdup(cp_digest_text(c->far.digest, err));
	if (!cp_dest_commit(&job->dest, &job->src, err))
		return FALSE;
	if (c->job->peer >= 0)
		cp_send_outcome(job, NULL); /* if the near end has gone, the copy is good all the same */
	return TRUE;
}

gboolean cp_transfer(struct cp_job *job, GError **err)
{
	struct copy c = { .job = job,
			  .chunk = job->chunk,
			  .window = job->window,
			  .near.side = &job->near,
			  .far.side = &job->far };
	al_status st = al_open(NULL, &c.al);
	gboolean copied = FALSE;
	GError *why = NULL;

	if (st)
		return tool_fail(
			err, "the Access Layer cannot be opened: %s; \"al_query doctor\" says more",
			al_status_str(st));
	c.ends = g_new0(guint64, c.window);
	if (!pair_choose(c.al, &job->near.end, &job->far.end, &why) || !prepare(&c, &why))
		goto out;
	job->start_us = g_get_monotonic_time();
	copied = transfer(&c, &why) && conclude(&c, &why);
	if (copied) {
		job->compared = TRUE;
		job->progress(job);
	}
	job->seconds = (double)(g_get_monotonic_time() - job->start_us) / 1e6;
out:
	if (why && c.job->peer >= 0)
		meet_send_failure(c.job->peer, why);
	if (why)
		g_propagate_error(err, why);
	close_end(&c, &c.far);
	close_end(&c, &c.near);
	if (c.channel)
		al_destroy_channel(c.channel, AL_DESTROY_SYNC, NULL);
	al_close(c.al, AL_DESTROY_SYNC, NULL);
	g_free(c.ends);
	return copied;
}
