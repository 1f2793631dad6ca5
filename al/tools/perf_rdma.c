/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The channel driver of al_perf. Both ends are in this process and served by one thread: the near
 * end posts, and the far end, where an operation takes its part, posts receives. A row has queue
 * pairs and buffers of its own.
 *
 * Each end has two areas per queue pair, out and in, of slots for messages. A send or write goes
 * from the out area of who posts it to the in area of the peer; a read or atomic brings the peer's
 * out area into the poster's in area.
 */
#include "al/tools/perf.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define POLL_BATCH 16
#define PLAIN_BYTES \
	(4u << 20) /* of an area whose messages nobody looks at: slots are used over and over */
#define SPINS_PER_LOOK 1024 /* polls in vain before signals and lost messages are looked for */
#define LOST_NS        2000000000ull /* so long nothing has come: what is under way is lost (UC, UD) */
#define QKEY           0x1ba1u
#define IMM            0x5ca1ab1eu

enum { NEAR, FAR };

const struct perf_op perf_ops[PERF_OPS] = {
	{ "send", IB_WR_SEND, 1 << IB_QPT_RC | 1 << IB_QPT_UC | 1 << IB_QPT_UD, .receives = TRUE },
	{ "send-imm", IB_WR_SEND_WITH_IMM, 1 << IB_QPT_RC | 1 << IB_QPT_UC | 1 << IB_QPT_UD,
	  .receives = TRUE },
	{ "write", IB_WR_RDMA_WRITE, 1 << IB_QPT_RC | 1 << IB_QPT_UC, IB_ACCESS_REMOTE_WRITE },
	{ "write-imm", IB_WR_RDMA_WRITE_WITH_IMM, 1 << IB_QPT_RC | 1 << IB_QPT_UC,
	  IB_ACCESS_REMOTE_WRITE, .receives = TRUE },
	{ "read", IB_WR_RDMA_READ, 1 << IB_QPT_RC, IB_ACCESS_REMOTE_READ, .fetches = TRUE },
	{ "cas", IB_WR_ATOMIC_CMP_AND_SWP, 1 << IB_QPT_RC, IB_ACCESS_REMOTE_ATOMIC, .fetches = TRUE,
	  .atomic = TRUE },
	{ "fadd", IB_WR_ATOMIC_FETCH_AND_ADD, 1 << IB_QPT_RC, IB_ACCESS_REMOTE_ATOMIC,
	  .fetches = TRUE, .atomic = TRUE },
};

/* One end of a queue pair. Messages are numbered from 0. */
struct half {
	al_qp_h qp;
	guint32 qpn;
	al_ah_h ah;              /* UD: to the other one */
	guint8 *base;            /* the out area, then the in area */
	guint64 sent, done;      /* messages posted, and those that a completion says are done */
	guint64 quota;           /* how many are to be posted; the last completes visibly */
	guint64 received;        /* messages that have come: by their receives */
	guint64 arrived;         /* messages of the peer that have come or are taken for lost */
	guint64 lost;            /* those of them that are */
	guint32 slot, recv_slot; /* of the next message, of the next receive posted */
	guint32 unsignalled;     /* messages since the last visible one */
	struct ib_send_wr *wr;   /* chain of them, with all that does not change */
	struct ib_sge *sge;
};

/* A queue pair with its peer. */
struct flow {
	struct half half[2];
	guint64 checked; /* messages that were compared */
	guint64 *remote; /* atomics with check: what the far end's slots must hold */
};

/* The measurement of one row. */
struct run {
	struct perf_job *job;
	struct perf_row *row;
	const struct perf_op *op;
	struct pair_end *end[2];
	al_channel_h channel;
	al_cq_h cq[2];
	al_mr_h mr[2];
	guint8 *memory[2];
	gsize bytes; /* of each memory */
	guint32 lkey[2], rkey[2];
	gsize stride;       /* from slot to slot */
	guint32 slots;      /* of an area */
	guint32 grh;        /* bytes before a received message */
	guint32 flags;      /* of every request */
	guint32 signal;     /* every n-th completes visibly */
	struct flow *flow;  /* qps of them */
	guint spins;        /* polls in vain */
	guint64 idle_since; /* when that was noticed; 0: not yet */
	gboolean given_up;  /* what is under way will not come any more (UC, UD) */
};

guint64 perf_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (guint64)ts.tv_sec * 1000000000u + (guint64)ts.tv_nsec;
}

/* ---------------------------------------------------------------- preparation */

static guint8 *out_slot(const struct run *r, const struct half *h, guint64 slot)
{
	return h->base + slot * r->stride;
}

static guint8 *in_slot(const struct run *r, const struct half *h, guint64 slot)
{
	return h->base + (r->slots + slot) * r->stride;
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
	r->memory[i] =
		mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->memory[i] == MAP_FAILED) {
		r->memory[i] = NULL;
		return tool_fail(err,
				 "there is no memory for %" G_GSIZE_FORMAT
				 " bytes; use a smaller --depth or --size",
				 r->bytes);
	}
	init.addr = r->memory[i];
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
		.peer_qpn = f->half[!i].qpn,
		.access = r->op->access,
		.qkey = QKEY,
		.rd_atomic = rd_atomic(r),
		.mtu = mtu_of(r->job->mtu),
		.rnr_retry = 7,
	};
	struct ib_ah_attr ah;

	if (!pair_connect(f->half[i].qp, r->end[i], r->end[!i], &path, err))
		return FALSE;
	if (r->job->type != IB_QPT_UD)
		return TRUE;
	return pair_address(r->end[i], r->end[!i], &ah, err) &&
	       pair_worked(al_create_ah(r->end[i]->pd, &ah, &f->half[i].ah), r->end[i],
			   "no address handle", err);
}

/* What is the same in all requests of an end. */
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

/* The next receives of an end, at most POLL_BATCH. A write has its place already. */
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
			.addr = (guintptr)in_slot(r, h, h->recv_slot),
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

static gboolean make_flow(struct run *r, guint index, GError **err)
{
	struct flow *f = &r->flow[index];

	f->remote = g_new0(guint64, r->slots);
	for (guint i = NEAR; i <= FAR; i++) {
		f->half[i].base = r->memory[i] + (gsize)index * 2 * r->slots * r->stride;
		if (!make_qp(r, i, f, err))
			return FALSE;
	}
	for (guint i = NEAR; i <= FAR; i++) {
		if (!connect_half(r, i, f, err))
			return FALSE;
		prepare_requests(r, i, f);
		/* Before the peer can send. */
		for (guint32 n = 0; r->op->receives && n < r->job->depth; n += POLL_BATCH)
			if (!post_receives(r, i, f, MIN(POLL_BATCH, r->job->depth - n), err))
				return FALSE;
	}
	return TRUE;
}

static gboolean make_run(struct run *r, GError **err)
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
	/* Where no further chain fits, one that is under way must say that it is done. */
	r->signal =
		r->row->test == PERF_LATENCY ? 1 : MIN(job->signal, job->depth - job->chain + 1);
	r->flow = g_new0(struct flow, job->qps);
	if (job->events && !pair_worked(al_create_channel(job->al, NULL, &r->channel), r->end[NEAR],
					"no channel for its completions", err))
		return FALSE;
	for (guint i = NEAR; i <= FAR; i++)
		if (!make_memory(r, i, err) || !make_cq(r, i, err))
			return FALSE;
	for (guint i = 0; i < job->qps; i++)
		if (!make_flow(r, i, err))
			return FALSE;
	return TRUE;
}

/* In reverse order; what was not made is skipped. */
static void end_run(struct run *r)
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
	for (guint i = NEAR; i <= FAR; i++) {
		if (r->cq[i])
			al_destroy_cq(r->cq[i], AL_DESTROY_SYNC, NULL);
		if (r->mr[i])
			al_dereg_mr(r->mr[i], AL_DESTROY_SYNC, NULL);
		if (r->memory[i])
			munmap(r->memory[i], r->bytes);
	}
	if (r->channel)
		al_destroy_channel(r->channel, AL_DESTROY_SYNC, NULL);
}

/* ------------------------------------------------------------------- checking */

/* Bytes that no other message has, as far as there are so many. */
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

static gboolean waits_for_memory(const struct run *r)
{
	return r->row->mode == PERF_PING_PONG && !r->op->receives;
}

/* The last byte of a message whose arrival shows in memory only: not that of the message before. */
static guint8 tag_of(guint64 number)
{
	return (guint8)(number + 1);
}

/* Writes what the next message, the ahead-th from here, is to carry, if anybody will look at it. */
static void dress(struct run *r, guint from, struct flow *f, guint ahead)
{
	const struct half *h = &f->half[from];
	guint64 number = h->sent + ahead;
	guint64 slot = (h->slot + ahead) % r->slots;
	guint8 *data = out_slot(r, &f->half[r->op->fetches ? !from : from], slot);

	if (r->op->atomic) {
		h->wr[ahead].wr.atomic.compare_add = number + 1;
		if (r->op->opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
			h->wr[ahead].wr.atomic.compare_add = f->remote[slot];
			h->wr[ahead].wr.atomic.swap = f->remote[slot] + number + 1;
		}
		return;
	}
	if (r->job->check)
		fill(data, r->row->size, number);
	if (waits_for_memory(r))
		data[r->row->size - 1] = tag_of(number);
}

/*
 * Memory that an HCA may be writing to at this moment, as one does that polls it. That is no data
 * race: no sanitizer is to take it for one, nor the compiler to look only once.
 */
__attribute__((no_sanitize("thread"), noinline)) static gboolean
same_bytes(const volatile guint8 *a, const volatile guint8 *b, gsize size)
{
	for (gsize i = 0; i < size; i++)
		if (a[i] != b[i])
			return FALSE;
	return TRUE;
}

/* For tests: the first message that is looked at gets a wrong byte. */
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

/* The atomic has brought what was there before, and left what it was to leave. */
static gboolean atomic_is_right(struct run *r, struct flow *f, guint64 number)
{
	guint64 slot = number % r->slots, after = f->remote[slot] + number + 1;
	guint8 *data = in_slot(r, &f->half[NEAR], slot);

	spoil(r, data);
	if (memcmp(data, &f->remote[slot], 8) ||
	    memcmp(out_slot(r, &f->half[FAR], slot), &after, 8))
		return FALSE;
	f->remote[slot] = after;
	return TRUE;
}

/* A read, a write or an atomic is done: its bytes are there. With UC they may come later, or never.
 */
static gboolean check_done(struct run *r, guint from, struct flow *f, guint64 number, GError **err)
{
	guint64 slot = number % r->slots, start = 0;
	const guint8 *source = out_slot(r, &f->half[r->op->fetches ? !from : from], slot);
	guint8 *dest = in_slot(r, &f->half[r->op->fetches ? from : !from], slot);

	f->checked++;
	if (r->op->atomic)
		return atomic_is_right(r, f, number) || differs(r, number, err);
	spoil(r, dest);
	if (r->job->type == IB_QPT_RC)
		return !memcmp(dest, source, r->row->size) || differs(r, number, err);
	while (!same_bytes(dest, source, r->row->size)) {
		if (!start)
			start = perf_now();
		if (perf_now() - start > LOST_NS) {
			f->half[!from].lost++;
			break;
		}
		sched_yield();
	}
	return TRUE;
}

/*
 * A receive says that a message has come. It is the next one; or, when the service may lose some, a
 * later one: then it is known by what it carries.
 */
static gboolean check_received(struct run *r, guint at, struct flow *f, GError **err)
{
	struct half *h = &f->half[at], *peer = &f->half[!at];
	guint64 limit = r->job->type == IB_QPT_RC ? h->arrived + 1 : peer->sent;

	f->checked++;
	for (guint64 number = h->arrived; number < limit; number++) {
		guint64 slot = r->op->opcode == IB_WR_RDMA_WRITE_WITH_IMM ? number : h->received;
		guint8 *dest = in_slot(r, h, slot % r->slots) + r->grh;

		spoil(r, dest);
		if (memcmp(dest, out_slot(r, peer, number % r->slots), r->row->size))
			continue;
		h->lost += number - h->arrived;
		h->arrived = number;
		return TRUE;
	}
	return differs(r, h->arrived, err);
}

/* -------------------------------------------------------- posting and polling */

/* The next count messages of an end, at most job->chain, as one chain. */
static gboolean post(struct run *r, guint from, struct flow *f, guint count, GError **err)
{
	struct half *h = &f->half[from], *peer = &f->half[!from];
	const struct ib_send_wr *bad;

	for (guint i = 0; i < count; i++) {
		struct ib_send_wr *wr = &h->wr[i];
		guint8 *ours = r->op->fetches ? in_slot(r, h, h->slot) : out_slot(r, h, h->slot);
		guint8 *theirs =
			r->op->fetches ? out_slot(r, peer, h->slot) : in_slot(r, peer, h->slot);

		h->sge[i].addr = (guintptr)ours;
		if (r->op->atomic)
			wr->wr.atomic.remote_addr = (guintptr)theirs;
		else if (r->job->type != IB_QPT_UD)
			wr->wr.rdma.remote_addr = (guintptr)theirs;
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

/* A completion says that all earlier requests of its queue are done too. */
static gboolean finish(struct run *r, guint i, struct flow *f, guint64 number, GError **err)
{
	struct half *h = &f->half[i];

	for (; r->job->check && !r->op->receives && h->done < number; h->done++)
		if (!check_done(r, i, f, h->done, err))
			return FALSE;
	if (r->job->check && !r->op->receives && !check_done(r, i, f, number, err))
		return FALSE;
	h->done = number + 1;
	return TRUE;
}

static gboolean arrive(struct run *r, guint at, struct flow *f, GError **err)
{
	struct half *h = &f->half[at];

	if (h->arrived == f->half[!at].sent && h->lost) {
		h->lost--; /* it was only late */
		h->received++;
		return TRUE;
	}
	if (r->job->check && !check_received(r, at, f, err))
		return FALSE;
	h->arrived++;
	h->received++;
	return TRUE;
}

static gboolean failed(struct run *r, guint i, const struct ib_wc *wc, GError **err)
{
	return tool_fail(err,
			 "%s of %" G_GUINT64_FORMAT " bytes from HCA 0x%016" G_GINT64_MODIFIER
			 "x to HCA 0x%016" G_GINT64_MODIFIER
			 "x: %s; \"al_query port\" shows whether both are up",
			 r->op->name, r->row->size, r->end[i]->guid, r->end[!i]->guid,
			 al_wc_status_str(wc->status));
}

/* Takes what there is, up to a batch. Receives are posted again before anybody sends. */
static gboolean poll_end(struct run *r, guint i, guint *handled, GError **err)
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
		if (!arrive(r, i, f, err))
			return FALSE;
	}
	return post_receives(r, i, last, again, err);
}

/* Nothing was there: sleeps with --events. FALSE without an error: interrupted, and nothing will
 * come any more. */
static gboolean idle(struct run *r, GError **err)
{
	guint64 now;

	if (r->job->events && !pair_wait(r->channel, r->cq[NEAR], r->cq[FAR], r->end[NEAR], err))
		return FALSE;
	if (!r->job->events && ++r->spins < SPINS_PER_LOOK)
		return TRUE;
	r->spins = 0;
	sched_yield();
	now = perf_now();
	if (!r->idle_since)
		r->idle_since = now;
	if (now - r->idle_since < LOST_NS)
		return TRUE;
	r->given_up = r->job->type != IB_QPT_RC;
	return r->given_up || !tool_interrupted;
}

static void not_idle(struct run *r)
{
	r->spins = 0;
	r->idle_since = 0;
}

/* What is under way is lost. */
static void give_up(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		for (guint i = NEAR; i <= FAR; i++) {
			struct half *h = &r->flow[n].half[i];

			h->lost += r->flow[n].half[!i].sent - h->arrived;
			h->arrived = r->flow[n].half[!i].sent;
		}
	}
	r->given_up = FALSE;
	not_idle(r);
}

/* -------------------------------------------------------------------- latency */

static gboolean has_arrived(const struct run *r, guint at, const struct flow *f, guint64 number)
{
	const struct half *h = &f->half[at];
	guint8 tag;

	if (!waits_for_memory(r))
		return h->arrived > number;
	tag = tag_of(number);
	return same_bytes(in_slot(r, h, 0) + r->row->size - 1, &tag, 1);
}

/* Polls an end until its message number is done, or that of its peer has come; or it is given up.
 */
static gboolean wait_for(struct run *r, guint i, struct flow *f, guint64 number, gboolean arrival,
			 GError **err)
{
	while (!r->given_up &&
	       (arrival ? !has_arrived(r, i, f, number) : f->half[i].done <= number)) {
		guint handled = 0;

		if (!poll_end(r, i, &handled, err))
			return FALSE;
		if (handled) {
			not_idle(r);
			continue;
		}
		if (!idle(r, err))
			return FALSE;
		/* The sender may have something to say about what does not come. */
		if (!r->spins && arrival && !poll_end(r, !i, &handled, err))
			return FALSE;
	}
	return TRUE;
}

/* One message, until it has come and its sender knows that it is done. */
static gboolean leg(struct run *r, guint from, struct flow *f, GError **err)
{
	guint64 number = f->half[from].sent;

	return post(r, from, f, 1, err) &&
	       (r->row->mode != PERF_PING_PONG || wait_for(r, !from, f, number, TRUE, err)) &&
	       wait_for(r, from, f, number, FALSE, err);
}

/* One sample. What a given-up one took is none. */
static gboolean sample(struct run *r, struct flow *f, gboolean counts, GError **err)
{
	gboolean ping_pong = r->row->mode == PERF_PING_PONG;
	guint64 number = f->half[NEAR].sent, start, ns;

	if (r->job->check || waits_for_memory(r)) {
		dress(r, NEAR, f, 0);
		if (ping_pong)
			dress(r, FAR, f, 0);
	}
	start = perf_now();
	if (!leg(r, NEAR, f, err) || (ping_pong && !r->given_up && !leg(r, FAR, f, err)))
		return FALSE;
	ns = perf_now() - start;
	if (!ping_pong && r->op->receives && !wait_for(r, FAR, f, number, TRUE, err))
		return FALSE;
	if (r->given_up)
		give_up(r);
	else if (counts)
		perf_hist_add(&r->row->hist, ping_pong ? ns / 2 : ns);
	return TRUE;
}

/* Queue pairs take turns. */
static gboolean samples(struct run *r, guint64 count, guint64 deadline, gboolean counts,
			GError **err)
{
	for (guint64 i = 0; (deadline ? perf_now() < deadline : i < count) && !tool_interrupted;
	     i++)
		if (!sample(r, &r->flow[i % r->job->qps], counts, err))
			return FALSE;
	return TRUE;
}

/* ------------------------------------------------------------------ bandwidth */

/* Messages whose slots are free again, at both ends. */
static guint64 finished(const struct run *r, const struct flow *f)
{
	return r->op->receives ? MIN(f->half[NEAR].done, f->half[FAR].arrived) : f->half[NEAR].done;
}

static gboolean post_what_fits(struct run *r, struct flow *f, GError **err)
{
	struct half *h = &f->half[NEAR];
	guint64 end = finished(r, f) + r->job->depth;

	while (h->sent < h->quota) {
		guint count = (guint)MIN(r->job->chain, h->quota - h->sent);

		if (h->sent + count > end)
			break;
		for (guint i = 0; r->job->check && i < count; i++)
			dress(r, NEAR, f, i);
		if (!post(r, NEAR, f, count, err))
			return FALSE;
	}
	return TRUE;
}

/* No more messages; where the last would not say that it is done, one more that does. */
static void stop_posting(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		struct half *h = &r->flow[n].half[NEAR];

		h->quota = MIN(h->quota, h->sent + (h->unsignalled ? 1 : 0));
	}
}

/* Sends count messages, or until the deadline, and waits until all are done and have come. */
static gboolean stream(struct run *r, guint64 count, guint64 deadline, GError **err)
{
	gboolean stopped = FALSE, busy = TRUE;
	const guint qps = r->job->qps;

	for (guint n = 0; n < qps; n++)
		r->flow[n].half[NEAR].quota =
			deadline ? G_MAXUINT64
				 : r->flow[n].half[NEAR].sent + count / qps + (n < count % qps);
	while (busy) {
		guint handled = 0;

		if (!stopped && (tool_interrupted || (deadline && perf_now() >= deadline))) {
			stop_posting(r);
			stopped = TRUE;
		}
		busy = FALSE;
		for (guint n = 0; n < qps; n++) {
			struct flow *f = &r->flow[n];

			if (!post_what_fits(r, f, err))
				return FALSE;
			busy |= finished(r, f) < f->half[NEAR].quota;
		}
		if (!poll_end(r, NEAR, &handled, err) ||
		    (r->op->receives && !poll_end(r, FAR, &handled, err)))
			return FALSE;
		if (handled)
			not_idle(r);
		else if (busy && !idle(r, err))
			return FALSE;
		if (r->given_up)
			give_up(r);
	}
	return TRUE;
}

/* ------------------------------------------------------------------------ rows */

/* What came before does not count. */
static void start_counting(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		struct flow *f = &r->flow[n];

		r->row->messages -= f->half[NEAR].sent + f->half[FAR].sent;
		f->half[NEAR].lost = f->half[FAR].lost = f->checked = 0;
	}
}

static void count(struct run *r)
{
	for (guint n = 0; n < r->job->qps; n++) {
		const struct flow *f = &r->flow[n];

		r->row->messages += f->half[NEAR].sent + f->half[FAR].sent;
		r->row->lost += f->half[NEAR].lost + f->half[FAR].lost;
		r->row->checked += f->checked;
	}
}

static gboolean measure_in(struct run *r, GError **err)
{
	const struct perf_job *job = r->job;
	gboolean latency = r->row->test == PERF_LATENCY;
	guint64 start, deadline;
	gboolean good;

	if (!(latency ? samples(r, job->warmup, 0, FALSE, err) : stream(r, job->warmup, 0, err)))
		return FALSE;
	start_counting(r);
	start = perf_now();
	deadline = job->duration > 0 ? start + (guint64)(job->duration * 1e9) : 0;
	good = latency ? samples(r, job->iters, deadline, TRUE, err)
		       : stream(r, job->iters, deadline, err);
	r->row->seconds = (double)(perf_now() - start) / 1e9;
	count(r);
	r->row->interrupted = tool_interrupted != 0;
	return good;
}

/* Threads of the library that start meanwhile would inherit it, so only while measuring. */
static gboolean measure_on_cpu(struct run *r, GError **err)
{
	cpu_set_t before, here;
	gboolean good;

	if (r->job->cpu < 0)
		return measure_in(r, err);
	CPU_ZERO(&here);
	CPU_SET((size_t)r->job->cpu, &here);
	if (sched_getaffinity(0, sizeof(before), &before) ||
	    sched_setaffinity(0, sizeof(here), &here))
		return tool_misuse(err, "--cpu %d: this process cannot run there: %s", r->job->cpu,
				   g_strerror(errno));
	good = measure_in(r, err);
	sched_setaffinity(0, sizeof(before), &before);
	return good;
}

/* By memory alone a far end that sleeps is not woken. */
static enum perf_mode mode_of(const struct perf_job *job, const struct perf_op *op,
			      enum perf_test test)
{
	if (test == PERF_BANDWIDTH)
		return PERF_STREAM;
	if (job->completion || op->fetches || (job->events && !op->receives))
		return PERF_COMPLETION;
	return PERF_PING_PONG;
}

static gboolean measure(struct perf_job *job, enum perf_test test, const struct perf_op *op,
			guint64 size, GError **err)
{
	struct perf_row *row = g_new0(struct perf_row, 1);
	struct run r = { .job = job, .row = row, .op = op, .end = { &job->near, &job->far } };
	gboolean good;

	row->op = op;
	row->test = test;
	row->mode = mode_of(job, op, test);
	row->size = size;
	good = make_run(&r, err) && measure_on_cpu(&r, err);
	end_run(&r);
	/* A row without a sample says nothing. */
	if (!good || !row->messages) {
		g_free(row);
		return FALSE;
	}
	g_ptr_array_add(job->rows, row);
	job->measured(job, row);
	return !tool_interrupted;
}

/* ------------------------------------------------------------------------- job */

/* What the HCAs cannot do is said before anything is measured. */
static gboolean check_type(const struct perf_job *job, const struct pair_end *end, GError **err)
{
	static const guint32 cap[IB_QPT_COUNT] = {
		[IB_QPT_UC] = IB_CA_CAP_UC, [IB_QPT_UD] = IB_CA_CAP_UD
	};

	if ((end->attr.caps & cap[job->type]) == cap[job->type])
		return TRUE;
	return tool_misuse(err,
			   "HCA 0x%016" G_GINT64_MODIFIER
			   "x does not offer %s (%s); \"al_query caps\" shows what it does",
			   end->guid, al_qp_type_str(job->type), al_ca_cap_str(cap[job->type]));
}

static gboolean check_limits(const struct perf_job *job, const struct pair_end *end, GError **err)
{
	const struct ib_ca_attr *attr = &end->attr;
	const struct {
		const char *option;
		guint64 value, most;
	} limits[] = {
		{ "--depth", job->depth, attr->max_qp_wr },
		{ "--inline", job->inline_max, attr->max_inline_data },
		{ "--qps", job->qps, attr->max_qp },
		{ "--mtu", job->mtu, ib_mtu_bytes(end->port.active_mtu) },
	};

	for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
		if (limits[i].value > limits[i].most)
			return tool_misuse(err,
					   "%s %" G_GUINT64_FORMAT ": HCA 0x%016" G_GINT64_MODIFIER
					   "x can do at most %" G_GUINT64_FORMAT,
					   limits[i].option, limits[i].value, end->guid,
					   limits[i].most);
	for (guint i = 0; i < job->num_ops; i++)
		if (job->ops[i]->atomic && attr->atomic_cap == IB_ATOMIC_NONE)
			return tool_misuse(
				err, "HCA 0x%016" G_GINT64_MODIFIER "x has no atomics: not %s",
				end->guid, job->ops[i]->name);
	return TRUE;
}

static guint64 largest_message(const struct perf_job *job)
{
	guint32 mtu = ib_mtu_bytes(MIN(job->near.port.active_mtu, job->far.port.active_mtu));

	if (job->type == IB_QPT_UD)
		return job->mtu ? MIN(job->mtu, mtu) : mtu;
	return MIN(job->near.port.max_msg_size, job->far.port.max_msg_size);
}

static gboolean check_sizes(struct perf_job *job, GError **err)
{
	guint64 most = largest_message(job);

	for (guint i = 0; i < job->sizes->len; i++) {
		if (g_array_index(job->sizes, guint64, i) <= most)
			continue;
		if (!job->all_sizes)
			return tool_misuse(err,
					   "--size %" G_GUINT64_FORMAT
					   ": a message of %s has at most %" G_GUINT64_FORMAT
					   " bytes here",
					   g_array_index(job->sizes, guint64, i),
					   al_qp_type_str(job->type), most);
		g_array_set_size(job->sizes, i);
	}
	return TRUE;
}

/* The clock's own part in what it measures. */
static double cost_of_clock(void)
{
	g_autofree struct perf_hist *hist = g_new0(struct perf_hist, 1);

	for (guint i = 0; i < 1000; i++) {
		guint64 start = perf_now();

		perf_hist_add(hist, perf_now() - start);
	}
	return (double)perf_hist_percentile(hist, 50);
}

static gboolean measure_all(struct perf_job *job, GError **err)
{
	static const guint64 atomic_size = 8;

	for (guint test = PERF_LATENCY; test <= PERF_BANDWIDTH; test <<= 1)
		for (guint i = 0; job->tests & test && i < job->num_ops; i++) {
			const struct perf_op *op = job->ops[i];
			guint num = op->atomic ? 1 : job->sizes->len;

			for (guint j = 0; j < num; j++)
				if (!measure(job, test, op,
					     op->atomic ? atomic_size
							: g_array_index(job->sizes, guint64, j),
					     err))
					return FALSE;
		}
	return TRUE;
}

gboolean perf_run(struct perf_job *job, GError **err)
{
	al_status st = al_open(NULL, &job->al);
	gboolean good;

	if (st)
		return tool_fail(
			err, "the Access Layer cannot be opened: %s; \"al_query doctor\" says more",
			al_status_str(st));
	job->clock_ns = cost_of_clock();
	good = pair_choose(job->al, &job->near, &job->far, err) &&
	       pair_open(job->al, &job->near, err) && pair_open(job->al, &job->far, err) &&
	       check_type(job, &job->near, err) && check_type(job, &job->far, err) &&
	       check_limits(job, &job->near, err) && check_limits(job, &job->far, err) &&
	       check_sizes(job, err) && measure_all(job, err);
	pair_close(&job->far);
	pair_close(&job->near);
	al_close(job->al, AL_DESTROY_SYNC, NULL);
	return good;
}
