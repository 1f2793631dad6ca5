/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The memory that a client shares with the software HCA (hca/soft/shared/ring.h): the input writes any bytes there,
 * at any moment, besides correct requests, bells, steps, and changes of state. For every input the module stays
 * consistent, accesses no memory but that which the keys permit, and leaves nothing behind.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "hca/soft/shared/ring.h"
#include "test/unit/hca/soft/harness.h"

#define DEPTH  16u
#define ROUNDS 200
#define SIZE   4096u
#define QKEY   7u

struct input {
	const uint8_t *at;
	size_t left;
};

static const struct ib_qp_cap cap = { DEPTH, DEPTH, 2, 2, 64 };
static struct ci_client *const me = (struct ci_client *)"a client";
static struct ring_door *door;
static struct ring_cq *cring;
static struct ring_qp *qring;
static uint32_t bell;
static struct qp *qp, *peer;
static struct cq *cq, *pcq;
static struct mr *mr, *pmr, *guard;
static struct ci_pd *guard_pd;
static struct qp_options options;
static uint64_t next_id;

/* Little endian; bytes beyond the input's end are zero. */
static uint32_t draw(struct input *in, uint32_t bytes)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < bytes && in->left; i++, in->left--)
		value |= (uint32_t)*in->at++ << 8 * i;
	return value;
}

/* ------------------------------------------------------------- objects of a provider */

static int shared_file(size_t bytes, void **mem)
{
	int fd = memfd_create("rings_fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		abort();
	*mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*mem == MAP_FAILED)
		abort();
	return fd;
}

static void *open_door(void)
{
	const struct ring_open said = { .version = RING_VERSION };
	struct ring_opened heard;
	struct ci_udata udata = { .client = me, .in = &said, .in_len = sizeof(said), .out = &heard,
				  .out_len = sizeof(heard), .num_fds = 1 };
	int fd = shared_file(sizeof(*door), (void **)&door);
	void *um_ctx;

	udata.fds = &fd;
	if (ops->um_open_ca(hca[0].ca, &um_ctx, &udata))
		abort();
	close(fd);
	return um_ctx;
}

static void make_cq(void)
{
	const struct ring_make said = { .bytes = ring_cq_bytes(4 * DEPTH) };
	struct ci_udata udata = { .client = me, .in = &said, .in_len = sizeof(said), .num_fds = 1 };
	struct ci_cq_init init = { .cqe = 4 * DEPTH };
	int fd = shared_file(said.bytes, (void **)&cring);

	udata.fds = &fd;
	cq = calloc(1, sizeof(*cq));
	cq->ci = al_alloc_aligned(64, ops->obj_size[CI_OBJ_CQ]);
	cq->ci->ctx = cq;
	cq->ci->pd = hca[0].pd;
	if (ops->create_cq(cq->ci, &init, &udata))
		abort();
	close(fd);
}

static void resize_cq(uint32_t cqe)
{
	const struct ring_make said = { .bytes = ring_wc_bytes(ring_cqe(cqe)) };
	struct ci_udata udata = { .client = me, .in = &said, .in_len = sizeof(said), .num_fds = 1 };
	void *mem;
	int fd = shared_file(said.bytes, &mem);

	udata.fds = &fd;
	ops->resize_cq(cq->ci, &cqe, &udata);
	munmap(mem, said.bytes);
	close(fd);
}

static void make_qp(void)
{
	const struct ring_make said = { .bytes = ring_layout(&cap).bytes };
	struct al_qp_init attr = { .qp_type = options.type };
	struct ci_qp_init init = { .attr = &attr, .cap = cap };
	struct ring_made heard = { 0 };
	struct ci_udata udata = { .client = me, .in = &said, .in_len = sizeof(said), .out = &heard,
				  .out_len = sizeof(heard), .num_fds = 1 };
	int fd = shared_file(said.bytes, (void **)&qring);

	udata.fds = &fd;
	qp = calloc(1, sizeof(*qp));
	qp->hca = &hca[0];
	qp->ci = al_alloc_aligned(64, ops->obj_size[CI_OBJ_QP]);
	qp->ci->ctx = qp;
	qp->ci->pd = hca[0].pd;
	qp->ci->send_cq = qp->ci->recv_cq = cq->ci;
	qp->ci->qp_type = options.type;
	if (ops->create_qp(qp->ci, &init, &udata))
		abort();
	bell = heard.bell;
	close(fd);
}

/* -------------------------------------------------------------------- operations */

static void ring_bell(uint32_t number)
{
	atomic_fetch_or(&door->bells[number / 64], 1ull << number % 64);
	atomic_fetch_or(&door->rung, 1ull << number / 64);
}

static struct ib_sge piece(struct input *in)
{
	uint32_t what = draw(in, 1), length = draw(in, 2) % 600;
	struct ib_sge sge = sge_of(mr, (what & 63) * 8u, length);

	if (what & 64)
		sge.lkey = guard->ci->lkey;
	if (what == 0xff)
		sge.addr = UINT64_MAX - 3;
	return sge;
}

/* Posts a request that is correct except for its pieces, and advances the index. */
static void post_send(struct input *in)
{
	const struct ring_layout at = ring_layout(&cap);
	uint32_t prod = atomic_load(&qring->sq_prod), what = draw(in, 1);
	struct ib_flat_send *to = (void *)((char *)qring + at.sq + (prod & at.sq_mask) * at.sq_stride);

	*to = (struct ib_flat_send){ .wr_id = next_id++, .opcode = what & 7, .flags = what >> 3 & 7 };
	if (options.type == IB_QPT_UD) {
		to->key = peer->ci->qp_num;
		to->path = (struct ib_flat_path){ .qkey = QKEY, .port_num = 1, .dlid = 2 };
	} else if (ib_flat_form_of(to->opcode) != IB_FLAT_PLAIN) {
		to->remote.addr = (uintptr_t)pmr->buf + draw(in, 1) * 8;
		to->key = pmr->ci->rkey;
	} else {
		draw(in, 1);
	}
	to->num_sge = what >> 6 & 1;
	*ib_flat_tail(to) = piece(in);
	to->length = to->num_sge ? ib_flat_tail(to)->length : 0;
	draw(in, 1);
	atomic_store(&qring->sq_prod, prod + 1);
	ring_bell(bell);
}

static void post_receive(struct input *in)
{
	const struct ring_layout at = ring_layout(&cap);
	uint32_t prod = atomic_load(&qring->rq_prod);
	struct ib_flat_recv *to = (void *)((char *)qring + at.rq + (prod & at.rq_mask) * at.rq_stride);

	*to = (struct ib_flat_recv){ .wr_id = next_id++, .num_sge = 1 };
	*ib_flat_recv_list(to) = piece(in);
	to->length = ib_flat_recv_list(to)->length;
	atomic_store(&qring->rq_prod, prod + 1);
}

/* Writes any bytes anywhere. */
static void scribble(struct input *in)
{
	uint32_t what = draw(in, 1), offset = draw(in, 2), length = draw(in, 1) % 64;
	char *mem = what % 4 == 0 ? (char *)door : what % 4 == 1 ? (char *)cring : (char *)qring;
	size_t bytes = what % 4 == 0   ? sizeof(*door)
		       : what % 4 == 1 ? ring_cq_bytes(4 * DEPTH)
				       : ring_layout(&cap).bytes;

	if (what % 4 == 1) /* the head of the ring, and then its entries, without the bytes between */
		bytes -= RING_CQ_HEAD - sizeof(struct ring_cq);
	for (offset %= (uint32_t)bytes; length-- && in->left && offset < bytes; offset++)
		mem[what % 4 == 1 && offset >= sizeof(struct ring_cq) ? offset + RING_CQ_HEAD - sizeof(struct ring_cq)
								      : offset] = (char)draw(in, 1);
}

static void peer_posts(struct input *in)
{
	uint32_t what = draw(in, 1);
	struct ib_sge sge = sge_of(pmr, 0, draw(in, 2) % 600);
	struct ib_recv_wr recv = { .wr_id = next_id++, .sg_list = &sge, .num_sge = 1 };
	struct ib_send_wr wr = send_wr(next_id++, what & 2 ? IB_WR_RDMA_READ : IB_WR_SEND, &sge, IB_SEND_SIGNALED);
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad;

	if (what & 1) {
		ops->post_recv(peer->ci, &recv, &bad_recv);
	} else if (options.type != IB_QPT_UD) {
		wr.wr.rdma.remote_addr = (uintptr_t)(what & 4 ? guard : mr)->buf;
		wr.wr.rdma.rkey = mr->ci->rkey;
		ops->post_send(peer->ci, &wr, &bad);
	}
}

static void change_state(struct input *in)
{
	uint32_t what = draw(in, 1);

	if (what & 1)
		modify(qp, IB_QPS_ERR, 0, NULL);
	if (what & 2) {
		modify(qp, IB_QPS_RESET, 0, NULL);
		modify(peer, IB_QPS_RESET, 0, NULL);
		if (what & 4) {
			atomic_store(&qring->sq_prod, 0);
			atomic_store(&qring->rq_prod, 0);
		}
		connect_qps(qp, peer, &options);
	}
}

static void do_one(struct input *in)
{
	uint32_t what = draw(in, 1), count;
	struct ib_wc wc[8];

	switch (what & 7) {
	case 0:
		scribble(in);
		break;
	case 1:
		post_send(in);
		break;
	case 2:
		post_receive(in);
		break;
	case 3:
		ring_bell(what & 8 ? bell : draw(in, 2) % RING_BELLS);
		break;
	case 4:
		peer_posts(in);
		break;
	case 5:
		change_state(in);
		break;
	case 6:
		if (what & 0x80)
			resize_cq(1 + draw(in, 1));
		atomic_store(&cring->cons, atomic_load(&cring->prod));
		atomic_store(&cring->arm, what >> 3);
		atomic_store(&cring->arm_n, what >> 4);
		break;
	default:
		for (uint32_t i = 0; i < (what >> 3); i++)
			step();
	}
	ops->poll_cq(pcq->ci, 8, wc, &count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC, IB_QPT_UD };
	struct input in = { data, size };
	void *um_ctx;

	options = (struct qp_options){ .type = types[draw(&in, 1) % 3], .qkey = QKEY, .timeout = 10, .retry_cnt = 1 };
	next_id = 0;
	up("progress=manual seed=1");
	um_ctx = open_door();
	make_cq();
	make_qp();
	pcq = new_cq(&hca[1], 1024, AL_CQ_NOTIFY_NEXT);
	peer = new_qp(&hca[1], pcq, pcq, &options);
	mr = new_mr(&hca[0], SIZE, 0);
	pmr = new_mr(&hca[1], SIZE, 0);
	guard_pd = new_pd(&hca[0]);
	guard = calloc(1, sizeof(*guard));
	if (try_mr(guard, &hca[0], guard_pd, SIZE, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE))
		abort();
	memset(guard->buf, 0x5a, SIZE);
	connect_qps(qp, peer, &options);
	for (uint32_t i = 0; in.left && i < ROUNDS; i++)
		do_one(&in);
	for (uint32_t i = 0; i < SIZE; i++)
		if (guard->buf[i] != 0x5a)
			abort(); /* memory of another domain was written */
	free_qp(qp);
	free_qp(peer);
	free_cq(cq);
	free_cq(pcq);
	free_mr(mr);
	free_mr(pmr);
	free_mr(guard);
	free_pd(guard_pd);
	ops->um_close_ca(hca[0].ca, um_ctx);
	close(given_fd);
	munmap(door, sizeof(*door));
	munmap(cring, ring_cq_bytes(4 * DEPTH));
	munmap(qring, ring_layout(&cap).bytes);
	down();
	return 0;
}
