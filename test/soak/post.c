/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Random work requests: made, reported to the model, posted; and requests that the post must refuse. */
#include "play_internal.h"

#include <string.h>

enum { CHAIN = 68 };

/* A chain before its post. */
struct chain {
	uint32_t num;
	struct ib_send_wr wr[CHAIN];
	struct ib_sge sge[CHAIN][MAX_PIECES + 1];
	struct m_send model[CHAIN];
};

static void *address(const struct end *e, uint32_t area, uint32_t offset)
{
	return e->m->area[area].real + offset;
}

static uint32_t draw_length(const struct end *e, uint64_t *x, uint32_t most)
{
	uint32_t mtu = e->attr.mtu, length;

	switch (below(x, 16)) {
	case 0:
		return 0;
	case 1:
	case 2:
	case 3:
	case 4:
		length = 1 + below(x, 64);
		break;
	case 5:
	case 6:
	case 7:
		length = mtu - 1 + below(x, 3);
		break;
	case 8:
	case 9:
	case 10:
		length = (1 + below(x, 8)) * mtu - 1 + below(x, 3);
		break;
	case 11:
		length = 8;
		break;
	case 12:
		length = below(x, 16384);
		break;
	default:
		length = below(x, 4096);
	}
	return length < most ? length : most;
}

/* Finds a piece of memory that no outstanding request uses. False: there is none now. */
static bool take_piece(struct end *e, uint32_t area, uint32_t length, uint32_t *offset)
{
	uint32_t at = e->at[area];

	if (at + length > e->m->area[area].size)
		at = 0;
	if (model_busy(e->m, area, at, length))
		return false;
	*offset = at;
	e->at[area] = at + length;
	return true;
}

/* Splits a range at random into some pieces, of which some may be empty. */
static uint32_t split(const struct end *e, uint64_t *x, uint32_t area, uint32_t offset,
		      uint32_t length, struct piece *piece)
{
	uint32_t num = one_in(x, 2) ? 1 : 1 + below(x, e->sges), i, n;

	for (i = 0; i < num; i++) {
		n = i + 1 == num ? length : one_in(x, 6) ? 0 : below(x, length + 1);
		piece[i] = (struct piece){ area, offset, n };
		offset += n;
		length -= n;
	}
	return num;
}

static bool is_atomic(ib_wr_opcode opcode)
{
	return opcode == IB_WR_ATOMIC_CMP_AND_SWP || opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static ib_wr_opcode draw_opcode(const struct end *e, uint64_t *x)
{
	static const ib_wr_opcode opcodes[] = {
		IB_WR_SEND,
		IB_WR_SEND,
		IB_WR_SEND_WITH_IMM,
		IB_WR_RDMA_WRITE,
		IB_WR_RDMA_WRITE,
		IB_WR_RDMA_WRITE_WITH_IMM,
		IB_WR_RDMA_READ,
		IB_WR_RDMA_READ,
		IB_WR_ATOMIC_CMP_AND_SWP,
		IB_WR_ATOMIC_FETCH_AND_ADD,
	};

	if (e->attr.type != IB_QPT_RC)
		return opcodes[below(x, e->attr.type == IB_QPT_UD ? 3 : 6)];
	/* without responder resources, reads and atomics are wrong, so they are rare then */
	return opcodes[below(x, e->attr.max_rd_atomic || one_in(x, 60) ? 10 : 6)];
}

/* Draws the source or target of the bytes. False: there is no room now. */
static bool draw_local(struct play *p, struct end *e, uint64_t *x, struct m_send *s)
{
	uint32_t offset, i, at;
	bool back = s->opcode == IB_WR_RDMA_READ || is_atomic(s->opcode);

	(void)p;
	if (back) {
		if (!take_piece(e, AREA_RESULT, s->length, &offset))
			return false;
		if (s->opcode == IB_WR_RDMA_READ) {
			e->read_at = offset;
			e->read_length = s->length;
		}
		s->num = (uint8_t)split(e, x, AREA_RESULT, offset, s->length, s->piece);
		return true;
	}
	if (e->read_length && e->read_length <= s->length && one_in(x, 2)) {
		/* the newest read's result, which exists when the read has completed */
		s->length = e->read_length;
		s->flags |= IB_SEND_FENCE;
		s->num = (uint8_t)split(e, x, AREA_RESULT, e->read_at, s->length, s->piece);
		return true;
	}
	s->num = (uint8_t)split(e, x, AREA_SOURCE, 0, s->length, s->piece);
	for (i = 0; i < s->num; i++)
		s->piece[i].offset =
			below(x, e->m->area[AREA_SOURCE].size - s->piece[i].length + 1);
	if (s->length <= e->inline_data && one_in(x, 2)) {
		s->flags |= IB_SEND_INLINE;
		for (i = at = 0; i < s->num; at += s->piece[i++].length)
			memcpy(s->data + at, address(e, AREA_SOURCE, s->piece[i].offset),
			       s->piece[i].length);
	}
	return true;
}

static void draw_remote(const struct end *e, uint64_t *x, struct m_send *s)
{
	uint32_t size = e->m->peer->area[AREA_TARGET].size;

	if (is_atomic(s->opcode)) {
		s->target = below(x, 16) * 8;
		s->compare_add = one_in(x, 3) ? draw(x) : below(x, 3);
		s->swap = below(x, 3);
	} else if (one_in(x, 2)) {
		s->target = below(x, 1024); /* so that atomics meet at the same place */
	} else {
		s->target = below(x, size - s->length + 1);
	}
}

/* ------------------------------------------------------------ wrong requests */

static bool may_be_wrong(const struct play *p, const struct end *e)
{
	return p->wrong && (e->attr.type == IB_QPT_RC || p->wide);
}

static void spoil_remote(struct end *e, struct end *peer, uint64_t *x, struct m_send *s,
			 struct ib_send_wr *wr)
{
	uint64_t addr = (uintptr_t)address(peer, AREA_TARGET, s->target);
	uint32_t key = peer->mr[AREA_TARGET]->rkey;
	uint64_t size = e->m->peer->area[AREA_TARGET].size;

	s->wrong = WRONG_RKEY;
	switch (below(x, is_atomic(s->opcode) ? 6 : 5)) {
	case 0:
		key ^= 1 + below(x, 255); /* the same region under an old key part */
		if (peer->stale_key[AREA_TARGET])
			key = peer->stale_key[AREA_TARGET];
		break;
	case 1:
		key = peer->foreign->rkey;
		break;
	case 2:
		key = s->opcode == IB_WR_RDMA_READ ? peer->write_only->rkey : peer->read_only->rkey;
		break;
	case 3:
		addr = (uintptr_t)address(peer, AREA_TARGET, 0) + size - s->length / 8 * 8 + 8;
		break;
	case 4:
		addr = (uintptr_t)address(peer, AREA_TARGET, 0) - 8;
		break;
	default:
		s->wrong = WRONG_ALIGNMENT;
		addr += 1 + below(x, 7);
	}
	if (is_atomic(s->opcode)) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = key;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = key;
	}
}

static void spoil_local(struct end *e, uint64_t *x, struct m_send *s, struct ib_sge *sge)
{
	uint32_t i = 0;

	while (!sge[i].length) /* the key of an empty piece is not checked */
		i++;
	s->wrong = WRONG_LKEY;
	switch (below(x, 4)) {
	case 0:
		sge[i].lkey ^= 1 + below(x, 255);
		if (s->piece[i].area == AREA_SOURCE && e->stale_key[AREA_SOURCE])
			sge[i].lkey = e->stale_key[AREA_SOURCE];
		break;
	case 1:
		sge[i].lkey = e->foreign->lkey;
		sge[i].addr = (uintptr_t)address(e, AREA_TARGET, 0);
		break;
	case 2:
		sge[i].addr += e->m->area[s->piece[i].area].size;
		break;
	default:
		if (s->opcode == IB_WR_RDMA_READ || is_atomic(s->opcode)) /* the region lacks local write */
			sge[i] = (struct ib_sge){ (uintptr_t)address(e, AREA_SOURCE, 0),
						  sge[i].length, e->mr[AREA_SOURCE]->lkey };
		else
			sge[i].addr = UINT64_MAX - sge[i].length + 1;
	}
}

/* Returns the number of a queue pair on the peer's HCA that takes no datagrams, or a number of no queue pair. */
static uint32_t wrong_qpn(struct play *p, const struct end *peer)
{
	const struct end *e;

	for (e = p->end; e < p->end + p->m.qps; e++)
		if (e->ci && e->hca == peer->hca && e->attr.type != IB_QPT_UD)
			return e->ci->qp_num;
	return peer->ci->qp_num ^ 0x800000;
}

/* Draws a fault that only a datagram can have. */
static bool spoil_datagram(struct play *p, struct end *e, uint64_t *x, struct m_send *s,
			   struct ib_send_wr *wr, struct ib_sge *sge)
{
	switch (below(x, 4)) {
	case 0:
		wr->wr.ud.remote_qkey ^= 1 + below(x, 0x7fffffff);
		s->wrong = WRONG_ADDRESS;
		return true;
	case 1:
		if (!peer_of(p, e)->ci)
			return false;
		wr->wr.ud.remote_qpn = wrong_qpn(p, peer_of(p, e));
		s->wrong = WRONG_ADDRESS;
		return true;
	case 2:
		if (s->flags & IB_SEND_INLINE)
			return false;
		sge[0].length += e->attr.mtu + 1;
		s->wrong = WRONG_LENGTH;
		return true;
	default:
		return false;
	}
}

static void spoil(struct play *p, struct end *e, uint64_t *x, struct m_send *s,
		  struct ib_send_wr *wr, struct ib_sge *sge)
{
	bool remote = s->opcode != IB_WR_SEND && s->opcode != IB_WR_SEND_WITH_IMM;

	if (is_atomic(s->opcode) && one_in(x, 4)) {
		s->wrong = WRONG_LENGTH;
		sge[0].length++;
		return;
	}
	if (e->attr.type == IB_QPT_UD && spoil_datagram(p, e, x, s, wr, sge))
		return;
	if (!s->length)
		return;
	if (remote && one_in(x, 2))
		spoil_remote(e, peer_of(p, e), x, s, wr);
	else if (!(s->flags & IB_SEND_INLINE))
		spoil_local(e, x, s, sge);
}

/* Changes a correct request into one that the post refuses. Returns the expected status. */
static al_status refuse(const struct end *e, uint64_t *x, struct ib_send_wr *wr)
{
	switch (below(x, 4)) {
	case 0:
		wr->opcode = IB_WR_OPCODES;
		return AL_INVALID_OPCODE;
	case 1:
		wr->send_flags |= 1u << 17;
		return AL_INVALID_OPCODE;
	case 2:
		wr->opcode = IB_WR_RDMA_READ;
		wr->send_flags |= IB_SEND_INLINE;
		return AL_INVALID_OPCODE;
	default:
		wr->num_sge = e->sges + 1;
		return AL_INVALID_SGE;
	}
}

/* --------------------------------------------------------------------- sends */

static bool draw_send(struct play *p, struct end *e, uint64_t *x, struct chain *c, bool small)
{
	struct end *peer = peer_of(p, e);
	struct m_send *s = &c->model[c->num];
	struct ib_send_wr *wr = &c->wr[c->num];
	struct ib_sge *sge = c->sge[c->num];
	uint32_t i, most;

	memset(s, 0, offsetof(struct m_send, data));
	memset(wr, 0, sizeof(*wr));
	memset(sge, 0, sizeof(c->sge[c->num]));
	s->opcode = (uint8_t)draw_opcode(e, x);
	s->wr_id = ((uint64_t)(e - p->end) << 32) | e->sent++;
	s->imm = (uint32_t)draw(x);
	s->flags = (one_in(x, 2) ? IB_SEND_SIGNALED : 0) | (one_in(x, 3) ? IB_SEND_SOLICITED : 0) |
		   (one_in(x, 6) ? IB_SEND_FENCE : 0);
	if (++e->silent >= e->depth / 2 || s->flags & IB_SEND_SIGNALED) {
		s->flags |= IB_SEND_SIGNALED;
		e->silent = 0;
	}
	most = s->opcode == IB_WR_SEND || s->opcode == IB_WR_SEND_WITH_IMM ? peer->max_message
									   : 12288;
	if (small && most > 64)
		most = 64;
	s->length = is_atomic(s->opcode) ? 8 : draw_length(e, x, most);
	if (!draw_local(p, e, x, s))
		return false;
	draw_remote(e, x, s);
	for (i = 0; i < s->num; i++) {
		sge[i].addr = (uintptr_t)address(e, s->piece[i].area, s->piece[i].offset);
		sge[i].length = s->piece[i].length;
		sge[i].lkey = s->flags & IB_SEND_INLINE ? 0 : e->mr[s->piece[i].area]->lkey;
	}
	wr->wr_id = s->wr_id;
	wr->sg_list = sge;
	wr->num_sge = s->num;
	wr->opcode = (ib_wr_opcode)s->opcode;
	wr->send_flags = s->flags;
	wr->ex.imm_data = s->imm;
	if (e->attr.type == IB_QPT_UD) {
		wr->wr.ud.ah = (al_ah_h)e->ah;
		wr->wr.ud.remote_qpn = e->peer_qpn;
		wr->wr.ud.remote_qkey = SOAK_QKEY;
	} else if (is_atomic(s->opcode)) {
		wr->wr.atomic.remote_addr = (uintptr_t)address(peer, AREA_TARGET, s->target);
		wr->wr.atomic.rkey = peer->mr[AREA_TARGET]->rkey;
		wr->wr.atomic.compare_add = s->compare_add;
		wr->wr.atomic.swap = s->swap;
	} else {
		wr->wr.rdma.remote_addr = (uintptr_t)address(peer, AREA_TARGET, s->target);
		wr->wr.rdma.rkey = peer->mr[AREA_TARGET]->rkey;
		/* sets no more permissions than the operation needs */
		if (one_in(x, 4))
			wr->wr.rdma.rkey = s->opcode == IB_WR_RDMA_READ ? peer->read_only->rkey
									: peer->write_only->rkey;
	}
	if (may_be_wrong(p, e) && one_in(x, p->wrong))
		spoil(p, e, x, s, wr, sge);
	if (c->num)
		c->wr[c->num - 1].next = wr;
	c->num++;
	return true;
}

/* Inline data belongs to the caller again after the post, so the bytes are overwritten. */
static void scribble(struct end *e, struct chain *c, uint8_t (*scratch)[MAX_INLINE])
{
	uint32_t i, k, at;

	(void)e;
	for (i = 0; i < c->num; i++) {
		if (!(c->model[i].flags & IB_SEND_INLINE))
			continue;
		memcpy(scratch[i], c->model[i].data, MAX_INLINE);
		for (k = at = 0; k < c->model[i].num; at += c->model[i].piece[k++].length)
			c->sge[i][k].addr = (uintptr_t)scratch[i] + at;
	}
}

void post_sends(struct play *p, struct end *e, uint64_t *x)
{
	static uint8_t scratch[CHAIN][MAX_INLINE];
	static struct chain c;
	const struct ib_send_wr *bad = NULL;
	uint32_t room = e->depth - model_sends_out(e->m), want = 1 + below(x, 4), taken, i;
	bool over = !model_sends_out(e->m) && one_in(x, 16), small = over;
	al_status status, expected = AL_SUCCESS;

	if (over)
		want = e->depth + 1; /* one more than the queue has room for */
	else if (want > room)
		want = room;
	c.num = 0;
	while (c.num < want && draw_send(p, e, x, &c, small))
		;
	if (!c.num)
		return;
	taken = c.num;
	if (c.num > e->depth) {
		taken = e->depth;
		expected = AL_QUEUE_FULL;
	} else if (one_in(x, 50)) {
		taken = below(x, c.num);
		expected = refuse(e, x, &c.wr[taken]);
	}
	scribble(e, &c, scratch);
	p->m.faults = bed_faults();
	status = bed_ops.post_send(e->ci, c.wr, &bad);
	memset(scratch, 0xdd, c.num * sizeof(*scratch));
	memset(c.sge, 0xdd, c.num * sizeof(*c.sge));
	if (status != expected || (status && bad != &c.wr[taken])) {
		model_error(
			&p->m,
			"%s: a chain of %u requests was answered with %d, at request %td; %d at %u was right",
			e->m->name, c.num, status, bad ? bad - c.wr : -1, expected, taken);
		return;
	}
	for (i = 0; i < taken; i++) {
		const struct m_send *s = &c.model[i];

		say(p, "  %s: %#llx opcode %u, %u bytes in %u, target %u, flags %#x%s\n",
		    e->m->name, (unsigned long long)s->wr_id, s->opcode, s->length, s->num,
		    s->target, s->flags, s->wrong ? ", wrong" : "");
		*model_new_send(e->m) = *s;
		model_posted_send(e->m);
	}
	if (taken < c.num)
		e->read_length = 0; /* the newest read may have been refused */
}

/* ------------------------------------------------------------------- receives */

void post_recvs(struct play *p, struct end *e, uint32_t num, uint64_t *x)
{
	const struct ib_recv_wr *bad = NULL;
	struct ib_sge sge[MAX_PIECES + 1];
	struct ib_recv_wr wr;
	struct m_recv *r;
	uint32_t offset, i;
	al_status status;

	for (; num && model_recvs_out(e->m) < e->recv_depth; num--) {
		r = model_new_recv(e->m);
		r->length = e->max_message + below(x, 100);
		if (e->attr.type == IB_QPT_UD)
			r->length += IB_GRH_BYTES;
		if (may_be_wrong(p, e) && one_in(x, p->wrong))
			r->length = below(x, r->length);
		if (!take_piece(e, AREA_RECEIVE, r->length, &offset))
			return;
		r->wr_id = 1ull << 63 | (uint64_t)(e - p->end) << 32 | e->received++;
		r->num = (uint8_t)split(e, x, AREA_RECEIVE, offset, r->length, r->piece);
		for (i = 0; i < r->num; i++) {
			sge[i].addr = (uintptr_t)address(e, AREA_RECEIVE, r->piece[i].offset);
			sge[i].length = r->piece[i].length;
			sge[i].lkey = e->mr[AREA_RECEIVE]->lkey;
		}
		if (may_be_wrong(p, e) && one_in(x, p->wrong)) {
			for (i = 0; i < r->num; i++)
				sge[i].lkey ^= 1 + below(x, 255);
			r->wrong = true;
		}
		wr = (struct ib_recv_wr){ .wr_id = r->wr_id, .sg_list = sge, .num_sge = r->num };
		if (one_in(x, 100)) {
			wr.num_sge = e->sges + 1;
			status = bed_ops.post_recv(e->ci, &wr, &bad);
			if (status != AL_INVALID_SGE || bad != &wr)
				model_error(
					&p->m,
					"%s: a receive of too many elements was answered with %d",
					e->m->name, status);
			return;
		}
		status = bed_ops.post_recv(e->ci, &wr, &bad);
		if (status) {
			model_error(&p->m, "%s: post_recv: %d", e->m->name, status);
			return;
		}
		say(p, "  %s: receive %#llx of %u bytes in %u%s\n", e->m->name,
		    (unsigned long long)r->wr_id, r->length, r->num, r->wrong ? ", wrong" : "");
		model_posted_recv(e->m);
	}
}
