/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The channel driver of al_perf: its queue pairs and messages. The near end posts requests; the far
 * end posts receives, if the operation needs them. If both ends are in this process, one thread
 * serves them. A row has queue pairs and buffers of its own. perf_rdma.c and perf_far.c have the
 * measured transfers.
 *
 * Each end has two areas per queue pair, out and in, of slots for messages. A send or write goes
 * from the poster's out area to the peer's in area; a read or atomic brings the peer's out area
 * into the poster's in area.
 */
#include "al/tools/perf_meet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_BATCH 16
#define PLAIN_BYTES \
	(4u << 20) /* bytes of an area without --check: messages share slots */
#define UNHEARD 100        /* so many lost messages without one that has come end the row */
#define GONE_MS 1000 /* most time between the end of a killed peer's queue pairs and the end of its socket */
#define SEARCH  16   /* how far ahead a message that follows lost messages is searched for, in depths */
#define QKEY    0x1ba1u
#define IMM     0x5ca1ab1eu

/* ---------------------------------------------------------------- preparation */

static guint8 *out_slot(const struct run *r, const struct half *h, guint64 slot)
{
	return h->base + slot * r->stride;
}

guint8 *run_in_slot(const struct run *r, const struct half *h, guint64 slot)
{
	return h->base + (r->slots + slot) * r->stride;
}

/* Memory as programs have it that know nothing of agents. NULL: err says why. */
static void *ordinary_memory(const struct run *r, GError **err)
{
	void *memory = NULL;

	if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), r->bytes)) {
		pair_no_memory(r->bytes, "--depth or --size", err);
		return NULL;
	}
	return memset(memory, 0, r->bytes);
}

static void free_memory(const struct run *r, guint i)
{
	if (r->job->from_malloc)
		free(r->memory[i]);
	else
		pair_free_memory(r->end[i], r->memory[i], r->bytes, r->dma[i]);
}

static gboolean make_memory(struct run *r, guint i, GError **err)
{
	struct al_mr_init init = {
		.length = r->bytes,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	};
	struct pair_end *end = r->end[i];

	if (r->op->atomic)
		init.access |= IB_ACCESS_REMOTE_ATOMIC;
	r->memory[i] = r->job->from_malloc
			       ? ordinary_memory(r, err)
			       : pair_memory(end, r->bytes, &r->dma[i], "--depth or --size", err);
	if (!r->memory[i])
		return FALSE;
	init.addr = r->memory[i];
	r->addr[i] = (guintptr)r->memory[i];
	return pair_worked(al_reg_mr(end->pd, &init, NULL, &r->lkey[i], &r->rkey[i], &r->mr[i]),
			   end, "the buffers cannot be registered", err);
}

static gboolean make_cq(struct run *r, guint i, GError **err)
{
	struct al_cq_init init = {
		.cqe = r->job->qps * (2 * r->job->depth + 2),
		.channel = r->job->events ? r->channel : NULL,
	};

	return pair_worked(al_create_cq(r->end[i]->pd, &init, NULL, NULL, NULL, &r->cq[i]),
			   r->end[i], "no completion queue", err);
}

static gboolean make_qp(struct run *r, guint i, struct flow *f, GError **err)
{
	const struct perf_job *job = r->job;
	struct al_qp_init init = {
		.qp_type = job->type,
		.cap = {
			.max_send_wr = job->depth,
			.max_recv_wr = job->depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = job->inline_max,
		},
		.send_cq = r->cq[i],
		.recv_cq = r->cq[i],
	};
	struct half *h = &f->half[i];

	return pair_worked(al_create_qp(r->end[i]->pd, &init, f, NULL, &h->qp), r->end[i],
			   "no queue pair", err) &&
	       pair_worked(al_qp_num(h->qp, &h->qpn), r->end[i], "no queue pair number", err);
}

static ib_mtu mtu_of(guint32 bytes)
{
	guint mtu = IB_MTU_256;

	while (bytes && ib_mtu_bytes(mtu) != bytes)
		mtu++;
	return bytes ? (ib_mtu)mtu : 0;
}

static guint8 rd_atomic(const struct run *r)
{
	guint32 most = 16;

	for (guint i = NEAR; i <= FAR; i++)
		most = MIN(most, MIN(r->end[i]->attr.max_qp_init_rd_atom,
				     r->end[i]->attr.max_qp_rd_atom));
	return (guint8)most;
}

static gboolean connect_half(struct run *r, guint i, struct flow *f, GError **err)
{
	struct pair_path path = {
		.type = r->job->type,
		.qpn = f->half[i].qpn,
		.peer_qpn = f->half[!i].qpn,
		.access = r->op->access,
		.qkey = QKEY,
		.rd_atomic = rd_atomic(r),
		.mtu = mtu_of(r->job->mtu),
		.rnr_retry = 7,
	};

	if (!pair_connect(f->half[i].qp, r->end[i], r->end[!i], &path, err))
		return FALSE;
	if (r->job->type != IB_QPT_UD)
		return TRUE;
	return pair_address(&f->half[i].ah, r->end[i], r->end[!i], &path, err);
}

/* Fills in the fields that are the same in all requests of an end. */
static void prepare_requests(struct run *r, guint i, struct flow *f)
{
	struct half *h = &f->half[i], *peer = &f->half[!i];

	h->wr = g_new0(struct ib_send_wr, r->job->chain);
	h->sge = g_new0(struct ib_sge, r->job->chain);
	for (guint j = 0; j < r->job->chain; j++) {
		struct ib_send_wr *wr = &h->wr[j];

		h->sge[j] = (struct ib_sge){ .length = (guint32)r->row->size, .lkey = r->lkey[i] };
		wr->sg_list = &h->sge[j];
		wr->num_sge = 1;
		wr->opcode = r->op->opcode;
		wr->ex.imm_data = IMM;
		if (r->job->type == IB_QPT_UD) {
			wr->wr.ud.ah = h->ah;
			wr->wr.ud.remote_qpn = peer->qpn;
			wr->wr.ud.remote_qkey = QKEY;
		} else if (r->op->atomic) {
			wr->wr.atomic.rkey = r->rkey[!i];
			wr->wr.atomic.compare_add = r->op->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
		} else {
			wr->wr.rdma.rkey = r->rkey[!i];
		}
	}
}

/* Posts the next receives of an end, at most POLL_BATCH. The receive of a write with immediate data
 * needs no memory. */
static gboolean post_receives(struct run *r, guint at, struct flow *f, guint count, GError **err)
{
	struct half *h;
	struct ib_recv_wr wr[POLL_BATCH];
	struct ib_sge sge[POLL_BATCH];
	const struct ib_recv_wr *bad;

	if (!count)
		return TRUE;
	h = &f->half[at];
	for (guint i = 0; i < count; i++) {
		sge[i] = (struct ib_sge){
			.addr = (guintptr)run_in_slot(r, h, h->recv_slot),
			.length = (guint32)r->row->size + r->grh,
			.lkey = r->lkey[at],
		};
		wr[i] = (struct ib_recv_wr){
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = r->op->opcode != IB_WR_RDMA_WRITE_WITH_IMM,
		};
		if (++h->recv_slot == r->slots)
			h->recv_slot = 0;
	}
	return pair_worked(al_post_recv(h->qp, wr, &bad), r->end[at], "a receive cannot be posted",
			   err);
}

/* Fills a message with bytes that depend on its number. */
static void fill(guint8 *to, gsize size, guint64 number)
{
	guint64 word = (number + 1) * 0x9e3779b97f4a7c15u;

	for (gsize i = 0; i < size; i += sizeof(word)) {
		word ^= word >> 29;
		word *= 0xbf58476d1ce4e5b9u;
		memcpy(to + i, &word, MIN(sizeof(word), size - i));
		word += number;
	}
}

/* Offset of a queue pair's areas from the first queue pair's areas. */
static gsize offset_of(const struct run *r, const struct flow *f)
{
	return (gsize)(f - r->flow) * 2 * r->slots * r->stride;
}

static gboolean make_end(struct run *r, guint i, GError **err)
{
	if (!make_memory(r, i, err) || !make_cq(r, i, err))
		return FALSE;
	for (guint n = 0; n < r->job->qps; n++) {
		r->flow[n].half[i].base = r->memory[i] + offset_of(r, &r->flow[n]);
		if (!make_qp(r, i, &r->flow[n], err))
			return FALSE;
	}
	return TRUE;
}

/* If the near end is in another process, it cannot write the bytes that its next read is to bring.
 * So each slot of the far end has fixed bytes. */
static void fill_for_reads(const struct run *r, const struct flow *f)
{
	for (guint32 slot = 0; slot < r->slots; slot++)
		fill(out_slot(r, &f->half[FAR], slot), r->row->size, slot);
}

static gboolean connect_end(struct run *r, guint i, GError **err)
{
	for (guint n = 0; n < r->job->qps; n++) {
		struct flow *f = &r->flow[n];

		if (!connect_half(r, i, f, err))
			return FALSE;
		prepare_requests(r, i, f);
		/* Receives are posted before the peer can send. */
		for (guint32 k = 0; r->op->receives && k < r->job->depth; k += POLL_BATCH)
			if (!post_receives(r, i, f, MIN(POLL_BATCH, r->job->depth - k), err))
				return FALSE;
		if (i == FAR && !r->both && r->op->fetches && !r->op->atomic && r->job->check)
			fill_for_reads(r, f);
	}
	return TRUE;
}

gboolean run_make(struct run *r, GError **err)
{
	const struct perf_job *job = r->job;
	gsize fit;

	r->grh = job->type == IB_QPT_UD ? IB_GRH_BYTES : 0;
	r->stride = ((gsize)r->row->size + r->grh + 63) & ~(gsize)63;
	fit = MAX(PLAIN_BYTES / r->stride, 1);
	r->slots = job->check ? job->depth : (guint32)MIN(job->depth, fit);
	if (r->row->test == PERF_LATENCY)
		r->slots = 1;
	r->bytes = (gsize)job->qps * 2 * r->slots * r->stride;
	r->flags = r->row->size <= job->inline_max && !r->op->fetches ? IB_SEND_INLINE : 0;
	/* When the depth has no room for another chain, a request that is under way must be
	 * signalled. */
	r->signal =
		r->row->test == PERF_LATENCY ? 1 : MIN(job->signal, job->depth - job->chain + 1);
	r->flow = g_new0(struct flow, job->qps);
	for (guint i = 0; i < job->qps; i++)
		r->flow[i].remote = g_new0(guint64, r->slots);
	r->expected = g_malloc0(job->check ? r->row->size : 1);
	r->hist = g_new0(struct perf_hist, 1);
	if (job->events && !pair_worked(al_create_channel(job->al, NULL, &r->channel), r->end[NEAR],
					"no channel for its completions", err))
		return FALSE;
	for (guint i = NEAR; i <= FAR; i++)
		if (r->here[i] && !make_end(r, i, err))
			return FALSE;
	if (!r->both && !perf_receive_place(r, err))
		return FALSE;
	for (guint i = NEAR; i <= FAR; i++)
		if (r->here[i] && !connect_end(r, i, err))
			return FALSE;
	/* The far end is ready to receive before it sends its place. */
	return r->here[NEAR] || perf_send_place(r, NULL, err);
}

void run_end(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		for (guint i = NEAR; i <= FAR; i++) {
			struct half *h = &r->flow[n].half[i];

			if (h->ah)
				al_destroy_ah(h->ah, AL_DESTROY_SYNC, NULL);
			if (h->qp)
				al_destroy_qp(h->qp, AL_DESTROY_SYNC, NULL);
			g_free(h->wr);
			g_free(h->sge);
		}
		g_free(r->flow[n].remote);
	}
	g_free(r->flow);
	g_free(r->expected);
	g_free(r->hist);
	for (guint i = NEAR; i <= FAR; i++) {
		if (r->cq[i])
			al_destroy_cq(r->cq[i], AL_DESTROY_SYNC, NULL);
		if (r->mr[i])
			al_dereg_mr(r->mr[i], AL_DESTROY_SYNC, NULL);
		free_memory(r, i);
	}
	if (r->channel)
		al_destroy_channel(r->channel, AL_DESTROY_SYNC, NULL);
}

/* ------------------------------------------------------------------- checking */

gboolean run_waits_for_memory(const struct run *r)
{
	return r->row->mode == PERF_PING_PONG && !r->op->receives;
}

guint8 run_tag(guint64 number)
{
	return (guint8)(number + 1);
}

/* The bytes of a message with --check. */
static const guint8 *expected(struct run *r, guint64 number)
{
	if (r->op->fetches && !r->both)
		number %= r->slots;
	fill(r->expected, r->row->size, number);
	if (run_waits_for_memory(r))
		r->expected[r->row->size - 1] = run_tag(number);
	return r->expected;
}

void run_fill_message(struct run *r, guint from, struct flow *f, guint ahead)
{
	const struct half *h = &f->half[from];
	guint64 number = h->sent + ahead;
	guint64 slot = (h->slot + ahead) % r->slots;
	guint8 *data;

	if (r->op->atomic) {
		h->wr[ahead].wr.atomic.compare_add = number + 1;
		if (r->op->opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
			h->wr[ahead].wr.atomic.compare_add = f->remote[slot];
			h->wr[ahead].wr.atomic.swap = f->remote[slot] + number + 1;
		}
		return;
	}
	if (r->op->fetches &&
	    !r->both) { /* clears the slot, so that the bytes of an earlier read do not pass for this read's */
		memset(run_in_slot(r, h, slot), 0, r->row->size);
		return;
	}
	data = out_slot(r, &f->half[r->op->fetches ? !from : from], slot);
	if (r->job->check)
		fill(data, r->row->size, number);
	if (run_waits_for_memory(r))
		data[r->row->size - 1] = run_tag(number);
}

__attribute__((no_sanitize("thread"), noinline)) guint8 run_last_tag(const struct run *r,
								     const struct half *h)
{
	const volatile guint8 *last = run_in_slot(r, h, 0) + r->row->size - 1;

	return *last;
}

__attribute__((no_sanitize("thread"), noinline)) gboolean
run_same_bytes(const volatile guint8 *a, const volatile guint8 *b, gsize size)
{
	for (gsize i = 0; i < size; i++)
		if (a[i] != b[i])
			return FALSE;
	return TRUE;
}

/* For tests: gives the first message that is checked a wrong byte. */
static void spoil(struct run *r, guint8 *data)
{
	if (r->job->flip < 0 || (guint64)r->job->flip >= r->row->size)
		return;
	data[r->job->flip] ^= 1;
	r->job->flip = -1;
}

static gboolean differs(struct run *r, guint64 number, GError **err)
{
	return tool_fail(err,
			 "%s of %" G_GUINT64_FORMAT " bytes: message %" G_GUINT64_FORMAT
			 " is not what was sent",
			 r->op->name, r->row->size, number);
}

/* TRUE: the atomic has brought the slot's earlier value, and has left the right new value. */
static gboolean atomic_is_right(struct run *r, struct flow *f, guint64 number)
{
	guint64 slot = number % r->slots, after = f->remote[slot] + number + 1;
	guint8 *data = run_in_slot(r, &f->half[NEAR], slot);

	spoil(r, data);
	if (memcmp(data, &f->remote[slot], 8) ||
	    (r->both && memcmp(out_slot(r, &f->half[FAR], slot), &after, 8)))
		return FALSE;
	f->remote[slot] = after;
	return TRUE;
}

gboolean run_check_placed(struct run *r, guint at, struct flow *f, guint64 number, GError **err)
{
	const guint8 *source = expected(r, number);
	guint8 *dest = run_in_slot(r, &f->half[at], number % r->slots);
	gboolean is_done = r->job->type == IB_QPT_RC && (r->both || !run_waits_for_memory(r));
	guint64 start = perf_now();

	f->checked++;
	spoil(r, dest);
	while (!run_same_bytes(dest, source, r->row->size)) {
		if (is_done ||
		    (r->job->type == IB_QPT_RC && perf_now() - start > PERF_PATIENCE_MAX))
			return differs(r, number, err);
		if (perf_now() - start > perf_patience(r->losses, r->longest)) {
			f->half[at].lost++;
			r->losses++;
			break;
		}
		sched_yield();
	}
	return TRUE;
}

/* Checks a message whose request has completed. With UC the bytes may come later than the
 * completion, or never. */
static gboolean check_done(struct run *r, guint from, struct flow *f, guint64 number, GError **err)
{
	if (!r->op->atomic)
		return run_check_placed(r, r->op->fetches ? from : !from, f, number, err);
	f->checked++;
	return atomic_is_right(r, f, number) || differs(r, number, err);
}

/*
 * Checks the message of a receive. With RC it is the next message. With UC and UD messages may be
 * lost, and it may be a later message, which its bytes tell.
 */
static gboolean check_received(struct run *r, guint at, struct flow *f, GError **err)
{
	struct half *h = &f->half[at], *peer = &f->half[!at];
	guint64 limit = r->job->type == IB_QPT_RC ? h->arrived + 1
			: r->here[!at]            ? peer->sent
						  : h->arrived + (guint64)SEARCH * r->job->depth;

	f->checked++;
	for (guint64 number = h->arrived; number < limit; number++) {
		guint64 slot = r->op->opcode == IB_WR_RDMA_WRITE_WITH_IMM ? number : h->received;
		guint8 *dest = run_in_slot(r, h, slot % r->slots) + r->grh;

		spoil(r, dest);
		if (memcmp(dest, expected(r, number), r->row->size))
			continue;
		h->lost += number - h->arrived;
		h->arrived = number;
		return TRUE;
	}
	return differs(r, h->arrived, err);
}

/* -------------------------------------------------------- posting and polling */

gboolean run_post(struct run *r, guint from, struct flow *f, guint count, GError **err)
{
	struct half *h = &f->half[from];
	const struct ib_send_wr *bad;
	const guint64 theirs = r->addr[!from] + offset_of(r, f) +
			       (r->op->fetches ? 0 : (gsize)r->slots * r->stride);

	for (guint i = 0; i < count; i++) {
		struct ib_send_wr *wr = &h->wr[i];
		guint8 *ours =
			r->op->fetches ? run_in_slot(r, h, h->slot) : out_slot(r, h, h->slot);
		guint64 to = theirs + h->slot * r->stride;

		h->sge[i].addr = (guintptr)ours;
		if (r->op->atomic)
			wr->wr.atomic.remote_addr = to;
		else if (r->job->type != IB_QPT_UD)
			wr->wr.rdma.remote_addr = to;
		wr->wr_id = h->sent++;
		wr->send_flags = r->flags;
		if (++h->unsignalled == r->signal || h->sent == h->quota) {
			wr->send_flags |= IB_SEND_SIGNALED;
			h->unsignalled = 0;
		}
		wr->next = i + 1 < count ? &h->wr[i + 1] : NULL;
		if (++h->slot == r->slots)
			h->slot = 0;
	}
	return pair_worked(al_post_send(h->qp, h->wr, &bad), r->end[from],
			   "a request cannot be posted", err);
}

gboolean run_post_credit(struct run *r, struct flow *f, GError **err)
{
	struct half *h = &f->half[FAR];
	struct ib_send_wr wr = h->wr[0];
	const struct ib_send_wr *bad;

	wr.next = NULL;
	wr.num_sge = 0;
	wr.opcode = IB_WR_SEND_WITH_IMM;
	wr.send_flags = IB_SEND_SIGNALED;
	wr.ex.imm_data = (guint32)h->received;
	wr.wr_id = h->sent++;
	h->credited = h->received;
	return pair_worked(al_post_send(h->qp, &wr, &bad), r->end[FAR],
			   "a request cannot be posted", err);
}

/* Handles the completion of a request, which stands for all earlier requests of its queue. */
static gboolean finish(struct run *r, guint i, struct flow *f, guint64 number, GError **err)
{
	struct half *h = &f->half[i];

	if (r->job->check && !r->op->receives && (r->both || r->op->fetches)) {
		for (guint64 n = h->done; n <= number; n++)
			if (!check_done(r, i, f, n, err))
				return FALSE;
	} else if (r->job->check && !r->op->receives && !run_waits_for_memory(r)) {
		if (!perf_ask_check(r, f, number + 1, err))
			return FALSE;
	}
	h->done = number + 1;
	return TRUE;
}

/* Handles the arrival of a message. */
static gboolean arrive(struct run *r, guint at, struct flow *f, GError **err)
{
	struct half *h = &f->half[at];

	r->heard = TRUE;
	if (h->arrived == f->half[!at].sent && h->lost) {
		h->lost--; /* a message that was taken for lost has come late */
		h->received++;
		return TRUE;
	}
	if (r->job->check && r->here[at] && !check_received(r, at, f, err))
		return FALSE;
	h->arrived++;
	h->received++;
	return TRUE;
}

/* Handles a credit of a far end in another process: the number of messages that it has received. */
static gboolean take_credit(struct run *r, struct flow *f, guint32 received, GError **err)
{
	struct half *far = &f->half[FAR];
	guint32 news = received - (guint32)far->received;

	if (news > f->half[NEAR].sent - far->received)
		return tool_fail(err, "the other end reports more messages than this end has sent");
	while (news--)
		if (!arrive(r, FAR, f, err))
			return FALSE;
	return TRUE;
}

static gboolean failed(struct run *r, guint i, const struct ib_wc *wc, GError **err)
{
	char lane[80] = "";

	/* A peer that has gone takes its queue pairs with it. Its end is a better message than the
	 * completion's status, and is seen a moment later. */
	if (r->peer >= 0 && meet_has_input(r->peer, GONE_MS) && !meet_check_peer(r->peer, err))
		return FALSE;
	if (r->end[i]->sl)
		g_snprintf(lane, sizeof(lane),
			   ", and \"smpquery sl2vl\" whether service level %u has a lane",
			   r->end[i]->sl);
	return tool_fail(err,
			 "%s of %" G_GUINT64_FORMAT " bytes from HCA 0x%016" G_GINT64_MODIFIER
			 "x to HCA 0x%016" G_GINT64_MODIFIER
			 "x: %s; \"al_query port\" shows whether both are up%s",
			 r->op->name, r->row->size, r->end[i]->guid, r->end[!i]->guid,
			 al_wc_status_str(wc->status), lane);
}

gboolean run_poll(struct run *r, guint i, guint *handled, GError **err)
{
	struct ib_wc wc[POLL_BATCH];
	struct flow *last = NULL;
	guint again = 0;
	guint32 n;

	if (!pair_worked(al_poll_cq(r->cq[i], POLL_BATCH, wc, &n), r->end[i],
			 "completions cannot be polled", err))
		return FALSE;
	*handled += n;
	for (guint32 k = 0; k < n; k++) {
		struct flow *f = wc[k].qp_context;

		g_assert(f); /* make_qp() has given the queue pair this context */
		if (wc[k].status != IB_WC_SUCCESS)
			return failed(r, i, &wc[k], err);
		if (wc[k].opcode < IB_WC_RECV) {
			if (!finish(r, i, f, wc[k].wr_id, err))
				return FALSE;
			continue;
		}
		if (f != last && !post_receives(r, i, last, again, err))
			return FALSE;
		again = f == last ? again + 1 : 1;
		last = f;
		if (!(r->both || i == FAR || r->row->mode == PERF_PING_PONG
			      ? arrive(r, i, f, err)
			      : take_credit(r, f, wc[k].imm_data, err)))
			return FALSE;
	}
	return post_receives(r, i, last, again, err);
}

gboolean run_idle(struct run *r, GError **err)
{
	guint64 now;

	if (r->job->events &&
	    !pair_wait(r->channel, r->cq[NEAR], r->cq[FAR], r->peer, r->end[NEAR], err))
		return FALSE;
	if (!r->job->events && ++r->spins < SPINS_PER_LOOK)
		return TRUE;
	r->spins = 0;
	sched_yield();
	if (r->peer >= 0 && r->here[NEAR] && !meet_check_peer(r->peer, err))
		return FALSE;
	now = perf_now();
	if (!r->idle_since)
		r->idle_since = now;
	if (now - r->idle_since < perf_patience(r->losses, r->longest))
		return TRUE;
	r->given_up = r->job->type != IB_QPT_RC;
	return r->given_up || !tool_interrupted;
}

void run_not_idle(struct run *r)
{
	r->spins = 0;
	if (r->idle_since)
		r->longest = MAX(r->longest, perf_now() - r->idle_since);
	r->idle_since = 0;
}

gboolean run_nothing_comes(const struct run *r, guint64 lost, GError **err)
{
	return tool_fail(err,
			 "%s of %" G_GUINT64_FORMAT " bytes from HCA 0x%016" G_GINT64_MODIFIER
			 "x to HCA 0x%016" G_GINT64_MODIFIER "x: all %" G_GUINT64_FORMAT
			 " messages are lost; \"al_query port\" shows whether both are up, and "
			 "\"smpquery sl2vl\" whether service level %u has a lane",
			 r->op->name, r->row->size, r->end[NEAR]->guid, r->end[FAR]->guid, lost,
			 r->end[NEAR]->sl);
}

gboolean run_give_up(struct run *r, GError **err)
{
	r->silence += perf_now() - r->idle_since;
	r->losses++;
	for (guint n = 0; n < r->job->qps; n++) {
		for (guint i = NEAR; i <= FAR; i++) {
			struct half *h = &r->flow[n].half[i];

			const guint64 sent = r->flow[n].half[!i].sent;
			const guint64 lost = sent - MIN(h->arrived, sent); /* some may come twice */

			h->lost += lost;
			h->arrived = sent;
			r->unheard += lost;
		}
	}
	r->given_up = FALSE;
	r->idle_since = 0; /* this silence is not one that a message has ended */
	r->spins = 0;
	return r->heard || r->unheard < UNHEARD || run_nothing_comes(r, r->unheard, err);
}
