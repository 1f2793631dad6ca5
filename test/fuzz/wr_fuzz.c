/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The checks of work requests and attributes, and the effects of accepted ones: two connected queue pairs in virtual
 * time, chains of hostile requests, and every change of state that the Access Layer's table permits. The input enters
 * by the module's table of operations, where the module relies on the Access Layer for handles, and for nothing else.
 *
 * For every input: a refusal names its request, and a second statement of the rules gives a reason for it; the
 * requests before it are posted, and the request and those behind it are not; an accepted request completes at most
 * once, in order, and some time; a refused modification changes nothing; no memory changes outside the regions, or in
 * a region that the permissions or its domain protect; nothing is left at the end.
 */
#include "al/verbs/verbs.h"

#include "fuzz.h"
#include "test/unit/hca/soft/harness.h"

#define SIZE            4096
#define DEPTH           16
#define INLINE          64
#define CHAIN           4
#define SGES            8 /* more than a request may have */
#define PENDING         1024
#define ROUNDS          200
#define SECRET          0xee
#define MUST(condition) ((condition) ? (void)0 : abort())

struct input {
	const uint8_t *data;
	size_t left;
};

/* An accepted request that has not completed yet. */
struct taken {
	uint64_t wr_id;
	bool speaks; /* it must have a completion */
	bool doomed; /* which must not be a success */
};

struct queue {
	struct taken taken[PENDING];
	uint32_t first, end;
};

/* Regions: one for all operations, one that may only be read, one of another domain. */
enum { ANY, FIXED, FOREIGN, REGIONS };

struct side {
	struct qp *qp;
	struct cq *cq;
	struct ci_pd *foreign;
	struct ci_mr *mr[REGIONS];
	struct ci_ah *ah[4];   /* to the peer; with a GRH to its own port; by port 2; of another domain */
	struct queue queue[2]; /* send, receive */
	uint8_t room[REGIONS][3 * SIZE]; /* the region is the middle one */
};

static struct side side[2];
static const ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };
static uint64_t next_id;

static uint8_t *memory(struct side *s, int region)
{
	return s->room[region] + SIZE;
}

/* ---------------------------------------------------------------------- input */

static uint32_t draw(struct input *in, uint32_t bytes)
{
	uint32_t value = 0;

	for (; bytes; bytes--) {
		value <<= 8;
		if (in->left) {
			value |= *in->data++;
			in->left--;
		}
	}
	return value;
}

/* Mostly valid values, else any value. */
static uint32_t below(struct input *in, uint32_t limit)
{
	uint32_t value = draw(in, 1);

	return value < 0xf0 ? value % limit : draw(in, 4);
}

static int a_region(struct input *in)
{
	uint32_t value = draw(in, 1);

	return value < 0xe0 ? ANY : value < 0xf0 ? FIXED : FOREIGN;
}

static uint64_t an_address(struct input *in, struct side *s, int region)
{
	uint32_t value = draw(in, 2);
	uint64_t start = (uintptr_t)memory(s, region);

	switch (value >> 13) {
	case 0:
		return UINT64_MAX - (value & 0xfff);
	case 1:
		return start + SIZE - 8 + (value & 15);
	case 2:
		return start - 8 + (value & 15);
	default:
		return start + (value & 0xff8);
	}
}

static uint32_t a_key(struct input *in, uint32_t good)
{
	uint32_t value = draw(in, 1);

	return value < 0xf0 ? good : value < 0xfe ? good ^ 1u << (value & 31) : draw(in, 4);
}

static uint32_t a_length(struct input *in)
{
	uint32_t value = draw(in, 1);

	return value < 0xc0 ? value : value < 0xf0 ? draw(in, 2) & 0xfff : draw(in, 4);
}

static uint32_t elements(struct input *in, struct side *s, struct ib_sge *sge)
{
	uint32_t i, num = below(in, 6);
	int region;

	for (i = 0; i < num && i < SGES; i++) {
		region = a_region(in);
		sge[i].addr = an_address(in, s, region);
		sge[i].length = a_length(in);
		sge[i].lkey = a_key(in, s->mr[region]->lkey);
	}
	return num;
}

/* ------------------------------------------------------ expected results */

static bool reads_or_swaps(ib_wr_opcode opcode)
{
	return opcode == IB_WR_RDMA_READ || opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

/* seed 004: the operations of each type */
static al_status check_opcode(ib_qp_type type, const struct ib_send_wr *wr)
{
	if ((uint32_t)wr->opcode >= IB_WR_OPCODES || wr->send_flags > 15)
		return AL_INVALID_OPCODE;
	if (reads_or_swaps(wr->opcode))
		return type != IB_QPT_RC || wr->send_flags & IB_SEND_INLINE ? AL_INVALID_OPCODE
									    : AL_SUCCESS;
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
		return AL_SUCCESS;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return type == IB_QPT_UD ? AL_INVALID_OPCODE : AL_SUCCESS;
	default:
		return AL_UNSUPPORTED;
	}
}

static al_status check_sges(const struct ib_sge *sge, uint32_t num, uint32_t most, uint64_t bytes)
{
	uint64_t sum = 0;
	uint32_t i;

	if (num > most || (num && !sge))
		return AL_INVALID_SGE;
	for (i = 0; i < num; i++)
		sum += sge[i].length;
	return sum > bytes ? AL_INVALID_SGE : AL_SUCCESS;
}

static al_status check_datagram(struct side *s, const struct ib_send_wr *wr)
{
	const struct ci_ah *ah = (struct ci_ah *)wr->wr.ud.ah;
	struct ib_ah_attr path;
	struct ib_qp_attr now;

	if (!ah)
		return AL_INVALID_HANDLE;
	if (ah == s->ah[3])
		return AL_INVALID_PD;
	if (wr->wr.ud.remote_qpn > IB_QPN_MASK)
		return AL_INVALID_PARAMETER;
	MUST(!ops->query_ah((struct ci_ah *)wr->wr.ud.ah, &path));
	MUST(!ops->query_qp(s->qp->ci, &now));
	return now.port_num && now.port_num != path.port_num ? AL_INVALID_PORT : AL_SUCCESS;
}

static al_status check_send(struct side *s, const struct ib_send_wr *wr)
{
	const struct ci_qp *qp = s->qp->ci;
	al_status status = check_opcode(qp->qp_type, wr);

	if (!status)
		status = check_sges(wr->sg_list, wr->num_sge, qp->cap.max_send_sge,
				    wr->send_flags & IB_SEND_INLINE ? qp->cap.max_inline_data
								    : UINT32_MAX);
	return status || qp->qp_type != IB_QPT_UD ? status : check_datagram(s, wr);
}

/* True if an element's key does not permit its range. */
static bool is_doomed(struct side *s, const struct ib_send_wr *wr)
{
	uint32_t i;
	int region;

	for (i = 0; i < wr->num_sge && !(wr->send_flags & IB_SEND_INLINE); i++) {
		const struct ib_sge *sge = &wr->sg_list[i];
		uint64_t start;

		if (!sge->length)
			continue;
		region = sge->lkey == s->mr[ANY]->lkey ? ANY : FIXED;
		start = (uintptr_t)memory(s, region);
		if (sge->lkey != s->mr[region]->lkey || sge->addr < start || sge->length > SIZE ||
		    sge->addr - start > SIZE - sge->length ||
		    (region == FIXED && reads_or_swaps(wr->opcode)))
			return true;
	}
	return false;
}

static void take(struct queue *q, struct taken taken)
{
	MUST(q->end - q->first < PENDING);
	q->taken[q->end++ % PENDING] = taken;
}

static void drain(struct side *s)
{
	struct taken taken;
	struct queue *q;
	struct ib_wc wc;
	uint32_t count;

	for (;;) {
		MUST(!ops->poll_cq(s->cq->ci, 1, &wc, &count));
		if (!count)
			return;
		MUST(wc.qp_num == s->qp->ci->qp_num);
		q = &s->queue[wc.wr_id & 1];
		for (;;) {
			MUST(q->first != q->end);
			taken = q->taken[q->first++ % PENDING];
			if (taken.wr_id == wc.wr_id)
				break;
			MUST(!taken.speaks && !taken.doomed);
		}
		MUST(!taken.doomed || wc.status != IB_WC_SUCCESS);
	}
}

/* ------------------------------------------------------------------ operations */

/* Checks that a refused request has a reason; the requests before it are correct. */
static void check_refusal(struct side *s, const struct queue *q, al_status status, bool is_bad,
			  uint32_t depth, ib_qp_state lowest)
{
	if (status == AL_QUEUE_FULL)
		MUST(q->end - q->first >= depth);
	else if (status == AL_INVALID_STATE)
		MUST(state_of(s->qp) < lowest);
	else
		MUST(is_bad);
}

static void post_sends(struct input *in, struct side *s, struct side *peer)
{
	static struct ib_sge sge[CHAIN][SGES];
	uint32_t i, k, num = draw(in, 1) % CHAIN + 1;
	struct ib_send_wr wr[CHAIN] = { 0 };
	const struct ib_send_wr *bad = NULL;
	struct queue *q = &s->queue[0];
	al_status status, want;
	int region;

	for (i = 0; i < num; i++) {
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
		wr[i].wr_id = next_id += 2;
		wr[i].sg_list = sge[i];
		wr[i].opcode = (ib_wr_opcode)below(in, IB_WR_OPCODES);
		wr[i].send_flags = below(in, 16);
		wr[i].ex.imm_data = draw(in, 1);
		wr[i].num_sge = elements(in, s, sge[i]);
		region = a_region(in);
		if (s->qp->ci->qp_type == IB_QPT_UD) {
			wr[i].wr.ud.ah = (al_ah_h)s->ah[draw(in, 1) % 4];
			wr[i].wr.ud.remote_qpn =
				draw(in, 1) < 0xe0 ? peer->qp->ci->qp_num : draw(in, 4);
			wr[i].wr.ud.remote_qkey = draw(in, 1) & 3;
		} else if (wr[i].opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
			   wr[i].opcode == IB_WR_ATOMIC_FETCH_AND_ADD) {
			wr[i].wr.atomic.remote_addr = an_address(in, peer, region);
			wr[i].wr.atomic.rkey = a_key(in, peer->mr[region]->rkey);
			wr[i].wr.atomic.compare_add = draw(in, 1);
		} else {
			wr[i].wr.rdma.remote_addr = an_address(in, peer, region);
			wr[i].wr.rdma.rkey = a_key(in, peer->mr[region]->rkey);
		}
		if (wr[i].send_flags & IB_SEND_INLINE) /* copied at once, without a check of keys */
			for (k = 0; k < SGES; k++)
				sge[i][k].addr = (uintptr_t)memory(s, ANY);
		if (draw(in, 1) == 0xff)
			wr[i].sg_list = NULL;
	}
	status = ops->post_send(s->qp->ci, wr, &bad);
	MUST(status ? bad >= wr && bad < wr + num : !bad);
	for (i = 0; i < num && &wr[i] != bad; i++) {
		MUST(!check_send(s, &wr[i]));
		take(q, (struct taken){ wr[i].wr_id, wr[i].send_flags & IB_SEND_SIGNALED,
					is_doomed(s, &wr[i]) });
	}
	if (!status)
		return;
	want = check_send(s, bad);
	check_refusal(s, q, status, want == status, s->qp->ci->cap.max_send_wr, IB_QPS_RTS);
}

static void post_receives(struct input *in, struct side *s)
{
	static struct ib_sge sge[CHAIN][SGES];
	uint32_t i, num = draw(in, 1) % CHAIN + 1, most = s->qp->ci->cap.max_recv_sge;
	struct ib_recv_wr wr[CHAIN] = { 0 };
	const struct ib_recv_wr *bad = NULL;
	struct queue *q = &s->queue[1];
	al_status status, want;

	for (i = 0; i < num; i++) {
		wr[i].next = i + 1 < num ? &wr[i + 1] : NULL;
		wr[i].wr_id = (next_id += 2) | 1;
		wr[i].num_sge = elements(in, s, sge[i]);
		wr[i].sg_list = draw(in, 1) == 0xff ? NULL : sge[i];
	}
	status = ops->post_recv(s->qp->ci, wr, &bad);
	MUST(status ? bad >= wr && bad < wr + num : !bad);
	for (i = 0; i < num && &wr[i] != bad; i++) {
		MUST(!check_sges(wr[i].sg_list, wr[i].num_sge, most, UINT32_MAX));
		take(q, (struct taken){ wr[i].wr_id, true, false });
	}
	if (!status)
		return;
	want = check_sges(bad->sg_list, bad->num_sge, most, UINT32_MAX);
	check_refusal(s, q, status, want == status, s->qp->ci->cap.max_recv_wr, IB_QPS_INIT);
}

/* The usual mask of a state; other inputs draw the mask. */
static uint32_t a_mask(struct input *in, ib_qp_type type)
{
	static const uint32_t usual[3][3] = {
		{ IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS,
		  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN |
			  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
		  IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			  IB_QP_MAX_QP_RD_ATOMIC },
		{ IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS,
		  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_RQ_PSN | IB_QP_DEST_QPN, IB_QP_SQ_PSN },
		{ IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_QKEY, 0, IB_QP_SQ_PSN },
	};
	uint32_t choice = draw(in, 1), row = type == IB_QPT_RC ? 0 : type == IB_QPT_UC ? 1 : 2;

	if (choice >= 0xc0)
		return draw(in, 3) & (IB_QP_DEST_QPN * 2u - 1);
	return IB_QP_STATE | (choice % 4 < 3 ? usual[row][choice % 4] : 0);
}

static void check_unchanged(const struct ib_qp_attr *a, const struct ib_qp_attr *b)
{
	MUST(a->qp_state == b->qp_state && a->sq_draining == b->sq_draining);
	MUST(a->path_mtu == b->path_mtu && a->qkey == b->qkey);
	MUST(a->rq_psn == b->rq_psn && a->sq_psn == b->sq_psn);
	MUST(a->dest_qp_num == b->dest_qp_num && a->qp_access_flags == b->qp_access_flags);
	MUST(a->ah_attr.dlid == b->ah_attr.dlid && a->ah_attr.sl == b->ah_attr.sl);
	MUST(a->pkey_index == b->pkey_index && a->port_num == b->port_num);
	MUST(a->max_rd_atomic == b->max_rd_atomic);
	MUST(a->max_dest_rd_atomic == b->max_dest_rd_atomic);
	MUST(a->min_rnr_timer == b->min_rnr_timer && a->timeout == b->timeout);
	MUST(a->retry_cnt == b->retry_cnt && a->rnr_retry == b->rnr_retry);
	MUST(a->en_sqd_async_notify == b->en_sqd_async_notify);
}

/* As the Access Layer does: the table first, then values within their ranges. */
static void modify_one(struct input *in, struct side *s, const struct side *peer)
{
	ib_qp_type type = s->qp->ci->qp_type;
	uint32_t mask = a_mask(in, type), psn = draw(in, 1) ? 0xfffffe : 0;
	struct ib_qp_attr before, now,
		attr = {
			.qp_state = (ib_qp_state)(draw(in, 1) % IB_QPS_COUNT),
			.cur_qp_state = (ib_qp_state)(draw(in, 1) % IB_QPS_COUNT),
			.port_num = (uint8_t)(draw(in, 1) < 0xe0 ? 1 : 2),
			.pkey_index = draw(in, 1) & 1,
			.qkey = draw(in, 1) & 3,
			.path_mtu = (ib_mtu)(IB_MTU_256 + draw(in, 1) % 5),
			.qp_access_flags = draw(in, 1) & 31,
			.dest_qp_num = peer->qp->ci->qp_num,
			.rq_psn = psn,
			.sq_psn = psn,
			.timeout = draw(in, 1) % 32,
			.retry_cnt = draw(in, 1) % 8,
			.rnr_retry = draw(in, 1) % 7, /* 7 would be without limit */
			.min_rnr_timer = draw(in, 1) % 32,
			.max_rd_atomic = draw(in, 1) % 17,
			.max_dest_rd_atomic = draw(in, 1) % 17,
			.en_sqd_async_notify = true,
		};
	struct ib_port_attr port;
	ib_qp_state to;

	MUST(!ops->query_port(peer->qp->hca->ca, attr.port_num, &port));
	attr.ah_attr.dlid = (uint16_t)(draw(in, 1) < 0xf0 ? port.lid : draw(in, 2));
	attr.ah_attr.sl = draw(in, 1) & 15;
	MUST(!ops->query_qp(s->qp->ci, &before));
	attr.ah_attr.port_num = mask & IB_QP_PORT ? attr.port_num : before.port_num;
	to = mask & IB_QP_STATE ? attr.qp_state : before.qp_state;
	if (qp_table_check(type, before.qp_state, to, mask))
		return;
	if (ops->modify_qp(s->qp->ci, &attr, mask, NULL)) {
		MUST(!ops->query_qp(s->qp->ci, &now));
		check_unchanged(&before, &now);
	} else if (to == IB_QPS_RESET) { /* the queue is empty, and its completions are removed */
		s->queue[0].first = s->queue[0].end;
		s->queue[1].first = s->queue[1].end;
	}
}

/* ------------------------------------------------------------------------ the run */

static struct ci_mr *region(struct side *s, int which, struct ci_pd *pd, uint32_t access)
{
	struct ci_mem mem = { .addr = memory(s, which),
			      .iova = (uintptr_t)memory(s, which),
			      .length = SIZE,
			      .fd = -1,
			      .access = access };
	size_t size = test_ops.obj_size[CI_OBJ_MR];
	struct ci_mr *mr = al_alloc_aligned(64, size ? size : sizeof(*mr));

	mr->pd = pd;
	MUST(!ops->register_mr(mr, &mem, NULL));
	return mr;
}

static void make(struct side *s, struct hca *h, struct hca *far, const struct qp_options *o)
{
	const uint32_t all = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			     IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC;
	struct ib_ah_attr path = { .port_num = 1 };
	struct ib_port_attr port;

	memset(s, 0, sizeof(*s));
	memset(s->room[FOREIGN], SECRET, sizeof(s->room[FOREIGN]));
	fill((char *)memory(s, ANY), SIZE, 1);
	s->foreign = new_pd(h);
	s->mr[ANY] = region(s, ANY, h->pd, all);
	s->mr[FIXED] = region(s, FIXED, h->pd, IB_ACCESS_REMOTE_READ);
	s->mr[FOREIGN] = region(s, FOREIGN, s->foreign, all);
	MUST(!ops->query_port(far->ca, 1, &port));
	path.dlid = port.lid;
	s->ah[0] = new_ah(h, NULL, &path);
	s->ah[3] = new_ah(h, s->foreign, &path);
	path.port_num = 2;
	s->ah[2] = new_ah(h, NULL, &path);
	MUST(!ops->query_port(h->ca, 1, &port));
	path = (struct ib_ah_attr){ .port_num = 1, .dlid = port.lid, .is_global = true };
	MUST(!ops->query_gid(h->ca, 1, 0, &path.grh.dgid));
	s->ah[1] = new_ah(h, NULL, &path);
	s->cq = new_cq(h, 256, AL_CQ_NOTIFY_PENDING);
	s->qp = new_qp(h, s->cq, s->cq, o);
}

static bool all_are(const uint8_t *at, size_t size, uint8_t value)
{
	return !size || (*at == value && !memcmp(at, at + 1, size - 1));
}

/* Checks the bytes on both sides of the regions, and memory that no request may write or read. */
static void check_memory(struct side *s)
{
	static const uint8_t secret[16] = { SECRET, SECRET, SECRET, SECRET, SECRET, SECRET,
					    SECRET, SECRET, SECRET, SECRET, SECRET, SECRET,
					    SECRET, SECRET, SECRET, SECRET };

	MUST(all_are(s->room[ANY], SIZE, 0) && all_are(memory(s, ANY) + SIZE, SIZE, 0));
	MUST(all_are(s->room[FIXED], 3 * SIZE, 0));
	MUST(all_are(s->room[FOREIGN], 3 * SIZE, SECRET));
	MUST(!memmem(memory(s, ANY), SIZE, secret, sizeof(secret)));
}

static void unmake(struct side *s)
{
	int i;

	free_qp(s->qp);
	check_memory(s);
	for (i = 0; i < 4; i++)
		free_ah(s->ah[i]);
	for (i = 0; i < REGIONS; i++) {
		ops->deregister_mr(s->mr[i]);
		al_free(s->mr[i]);
	}
	free_cq(s->cq);
	free_pd(s->foreign);
}

/* Every accepted request completes. */
static void end(void)
{
	struct queue *q;
	int i;

	for (i = 0; i < 2; i++)
		MUST(!modify(side[i].qp, IB_QPS_ERR, 0, NULL));
	run_all();
	for (i = 0; i < 2; i++) {
		drain(&side[i]);
		MUST(state_of(side[i].qp) == IB_QPS_ERR);
		MUST(side[i].queue[1].first == side[i].queue[1].end);
		for (q = &side[i].queue[0]; q->first != q->end; q->first++)
			MUST(!q->taken[q->first % PENDING].speaks &&
			     !q->taken[q->first % PENDING].doomed);
	}
}

static void do_one(struct input *in)
{
	uint32_t i, what = draw(in, 1);
	struct side *s = &side[what >> 7], *peer = &side[!(what >> 7)];

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		post_sends(in, s, peer);
		break;
	case 3:
	case 4:
		post_receives(in, s);
		break;
	case 5:
		modify_one(in, s, peer);
		break;
	default:
		for (i = 0; i < (what >> 3 & 15); i++)
			step();
	}
	drain(&side[0]);
	drain(&side[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct qp_options o = { .depth = DEPTH,
				.inline_data = INLINE,
				.timeout = 10,
				.rnr_retry = 3,
				.psn = 0xffffff,
				.qkey = 1 };
	uint32_t rounds, first = draw(&in, 1);

	o.type = types[first % 3];
	next_id = 0;
	up("progress=manual seed=1 ports=2 pkeys=0xffff,0x8001");
	make(&side[0], &hca[0], &hca[1], &o);
	make(&side[1], &hca[1], &hca[0], &o);
	if (first < 0xc0) /* otherwise the queue pairs begin in Reset */
		connect_qps(side[0].qp, side[1].qp, &o);
	for (rounds = 0; in.left && rounds < ROUNDS; rounds++)
		do_one(&in);
	end();
	unmake(&side[0]);
	unmake(&side[1]);
	down();
	return 0;
}
