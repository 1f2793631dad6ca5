/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's provider by itself: the test is the Access Layer and the agent's module, reads what is put into the shared
 * memory (hca/soft/shared/ring.h), and writes there what the module would.
 */
#include "uvp/soft/provider.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct uvp_module uvp_module;
static const struct uvp_interface *ops;

/* ------------------------------------------------------- what the Access Layer does */

static _Atomic uint32_t told; /* notifications that the provider has given itself */
bool ib_trace_on;

void ib_cq_notify(void *cq_ctx)
{
	ck_assert_ptr_eq(cq_ctx, &told);
	atomic_fetch_add(&told, 1);
}

void ib_log(ib_log_level level, const char *who, const char *fmt, ...)
{
	(void)level, (void)who, (void)fmt;
}

void ib_trace(const char *actor, const char *fmt, ...)
{
	(void)actor, (void)fmt;
}

/* Handles are pointers here. */
struct ci_ah *ci_wr_ah(const struct ci_qp *qp, al_ah_h ah)
{
	(void)qp;
	return (struct ci_ah *)ah;
}

static struct uvp_call call;
static uint64_t call_in[UVP_MAX_DATA / 8];

static struct uvp_call *begin_call(void)
{
	memset(call_in, 0, sizeof(call_in));
	call = (struct uvp_call){ .in = call_in };
	return &call;
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int shared_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:" RING_NAME) != NULL;
	fclose(maps);
	return count;
}

/* ------------------------------------------------------------------- the module */

static struct provider_ca ca;
static struct ring_door *door;
static int wake, fds_before;

/* What the call offers, as the module maps it. */
static void *accept_file(size_t bytes)
{
	int fd = call.in_fds[0];
	void *mem;

	ck_assert_uint_eq(call.num_in_fds, 1);
	ck_assert_int_ge(lseek(fd, 0, SEEK_END), 0);
	ck_assert_uint_eq((uint64_t)lseek(fd, 0, SEEK_END), bytes);
	ck_assert_int_eq(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(mem != MAP_FAILED);
	return mem;
}

static al_status open_ca(const struct ring_opened *answer, uint32_t length, uint32_t num_fds)
{
	const struct ring_open *said = (const void *)call_in;

	memset(&ca, 0, sizeof(ca));
	ck_assert_int_eq(ops->pre_open_ca(&ca.ca, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(call.in_len, sizeof(*said));
	ck_assert_uint_eq(said->version, RING_VERSION);
	ck_assert_uint_ge(call.out_room, sizeof(*answer));
	door = accept_file(sizeof(*door));
	call.out = answer;
	call.out_len = length;
	call.num_out_fds = num_fds;
	for (uint32_t i = 0; i < num_fds; i++)
		call.out_fds[i] = wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ops->post_open_ca(&ca.ca, AL_SUCCESS, &call);
}

static void setup(void)
{
	const struct ring_opened answer = { .version = RING_VERSION, .gids = 4, .lmc = 1 };

	ops = uvp_module.ops;
	atomic_store(&told, 0);
	fds_before = entries("/proc/self/fd");
	ck_assert_int_eq(open_ca(&answer, sizeof(answer), 1), AL_SUCCESS);
	ck_assert_int_eq(entries("/proc/self/fd"), fds_before + 1);
}

static void teardown(void)
{
	ops->post_close_ca(&ca.ca, begin_call());
	munmap(door, sizeof(*door));
	ck_assert_int_eq(entries("/proc/self/fd"), fds_before);
	ck_assert_int_eq(shared_maps(), 0);
}

static bool woken(void)
{
	uint64_t count;

	if (read(wake, &count, sizeof(count)) < 0) {
		ck_assert_int_eq(errno, EAGAIN);
		return false;
	}
	ck_assert_uint_eq(count, 1);
	return true;
}

static uint64_t bells(uint32_t word)
{
	return atomic_exchange(&door->rung, 0) >> word & 1 ? atomic_exchange(&door->bells[word], 0) : 0;
}

static struct ci_pd pd = { .ca = &ca.ca };

struct cq {
	struct provider_cq p;
	struct ring_cq *ring;
	struct ib_wc *wc; /* entries that the module uses */
	uint32_t mask;
};

#define CQE 20

static void make_cq(struct cq *cq, al_cq_notify notify)
{
	struct ci_cq_init init = { .cqe = CQE, .notify = notify };
	const struct ring_make *said = (const void *)call_in;

	memset(cq, 0, sizeof(*cq));
	cq->p.cq.pd = &pd;
	cq->p.cq.ctx = &told;
	cq->p.cq.notify = notify;
	ck_assert_int_eq(ops->pre_create_cq(&cq->p.cq, &init, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(said->bytes, ring_cq_bytes(CQE));
	cq->ring = accept_file(said->bytes);
	cq->wc = (struct ib_wc *)((char *)cq->ring + RING_CQ_HEAD);
	cq->mask = ring_cq_slots(CQE) - 1;
	cq->p.cq.cqe = CQE;
	ck_assert_int_eq(ops->post_create_cq(&cq->p.cq, &init, AL_SUCCESS, &call), AL_SUCCESS);
}

static void free_cq(struct cq *cq)
{
	munmap(cq->ring, ring_cq_bytes(CQE));
	ops->post_destroy_cq(&cq->p.cq, begin_call());
}

/* A completion comes, and is told of if it satisfies an arm: as ring_cq_told() does. */
static bool complete(struct cq *cq, uint64_t wr_id, uint32_t qp_num, al_arm kind)
{
	struct ring_cq *ring = cq->ring;
	uint32_t prod = atomic_load(&ring->prod), n;
	bool tell = false;

	cq->wc[prod & cq->mask] = (struct ib_wc){ .wr_id = wr_id, .qp_num = qp_num };
	atomic_store(&ring->prod, prod + 1);
	if ((atomic_load(&ring->arm) & 3) >= kind) {
		atomic_store(&ring->notified, prod + 1);
		tell = atomic_exchange(&ring->arm, AL_ARM_NONE) & 3;
	}
	n = atomic_load(&ring->arm_n);
	if (n && prod + 1 - atomic_load(&ring->cons) >= n) {
		atomic_store(&ring->notified, prod + 1);
		tell |= atomic_exchange(&ring->arm_n, 0) != 0;
	}
	return tell;
}

static uint32_t poll_all(struct cq *cq, struct ib_wc *wc)
{
	uint32_t count;

	ck_assert_int_eq(ops->poll_cq(&cq->p.cq, 64, wc, &count), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&cq->ring->cons), atomic_load(&cq->ring->prod));
	return count;
}

struct qp {
	struct provider_qp p;
	struct ring_qp *ring;
	struct cq *cq;
};

#define BELL 130
static const struct ib_qp_cap cap = { .max_send_wr = 5, .max_recv_wr = 3, .max_send_sge = 2, .max_recv_sge = 2,
				      .max_inline_data = 40 };

static al_status try_qp(struct qp *qp, struct cq *cq, ib_qp_type type, const struct ring_made *answer, uint32_t length,
			al_status status)
{
	struct ci_qp_init init = { .cap = cap };
	const struct ring_make *said = (const void *)call_in;

	memset(qp, 0, sizeof(*qp));
	qp->cq = cq;
	qp->p.qp = (struct ci_qp){ .pd = &pd, .send_cq = &cq->p.cq, .recv_cq = &cq->p.cq, .qp_type = type, .cap = cap,
				   .owner_context = (void *)0x1234, .qp_num = 7 };
	ck_assert_int_eq(ops->pre_create_qp(&qp->p.qp, &init, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(said->bytes, ring_layout(&cap).bytes);
	ck_assert_uint_eq(said->context, 0x1234);
	ck_assert_uint_ge(call.out_room, sizeof(*answer));
	qp->ring = accept_file(said->bytes);
	call.out = answer;
	call.out_len = length;
	status = ops->post_create_qp(&qp->p.qp, &init, status, &call);
	return status;
}

static void make_qp(struct qp *qp, struct cq *cq, ib_qp_type type, ib_qp_state state)
{
	const struct ring_made answer = { .bell = BELL };

	ck_assert_int_eq(try_qp(qp, cq, type, &answer, sizeof(answer), AL_SUCCESS), AL_SUCCESS);
	atomic_store(&qp->ring->state, state);
}

static void free_qp(struct qp *qp)
{
	munmap(qp->ring, ring_layout(&cap).bytes);
	ops->post_destroy_qp(&qp->p.qp, begin_call());
}

static const struct ib_flat_send *send_slot(const struct qp *qp, uint32_t index)
{
	const struct ring_layout at = ring_layout(&cap);

	return (const void *)((const char *)qp->ring + at.sq + (index & at.sq_mask) * at.sq_stride);
}

static const struct ib_flat_recv *recv_slot(const struct qp *qp, uint32_t index)
{
	const struct ring_layout at = ring_layout(&cap);

	return (const void *)((const char *)qp->ring + at.rq + (index & at.rq_mask) * at.rq_stride);
}

/* ---------------------------------------------------------------------- opening */

/* _i: none, too short, too long, another version, without its descriptor, with one too many. Nothing is left of it. */
START_TEST(a_module_of_another_kind_is_refused_and_nothing_is_left)
{
	struct ring_opened answer[2] = { { .version = RING_VERSION } };
	static const uint32_t length[] = { 0, 15, 17, 16, 16, 16 }, num[] = { 1, 1, 1, 1, 0, 2 };
	int fds, maps;

	ops = uvp_module.ops;
	fds = entries("/proc/self/fd");
	maps = shared_maps();
	if (_i == 3)
		answer->version++;
	ck_assert_int_eq(open_ca(_i ? answer : NULL, length[_i], num[_i]), AL_MODULE_ABI);
	munmap(door, sizeof(*door));
	ck_assert_int_eq(entries("/proc/self/fd"), fds);
	ck_assert_int_eq(shared_maps(), maps);
}
END_TEST

START_TEST(as_many_queue_pairs_are_offered_as_there_are_bells)
{
	struct ib_ca_attr attr = { .max_qp = RING_BELLS + 1 };

	ops->post_query_ca(&ca.ca, &attr, AL_CA_REMOVED, begin_call());
	ck_assert_uint_eq(attr.max_qp, RING_BELLS + 1);
	ops->post_query_ca(&ca.ca, &attr, AL_SUCCESS, begin_call());
	ck_assert_uint_eq(attr.max_qp, RING_BELLS);
	attr.max_qp = 12;
	ops->post_query_ca(&ca.ca, &attr, AL_SUCCESS, begin_call());
	ck_assert_uint_eq(attr.max_qp, 12);
}
END_TEST

/* A creation that fails, there or by an answer that is none, keeps neither descriptor nor mapping. */
START_TEST(what_is_not_created_leaves_nothing)
{
	struct ring_made made[2] = { { .bell = BELL } };
	struct ci_cq_init init = { .cqe = 1 };
	struct provider_cq none = { .cq.pd = &pd };
	struct cq cq;
	struct qp qp;
	int fds, maps;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	fds = entries("/proc/self/fd");
	maps = shared_maps();
	for (int how = 0; how < 5; how++) {
		made->bell = how == 3 ? RING_BELLS : BELL;
		ck_assert_int_eq(try_qp(&qp, &cq, IB_QPT_RC, how == 1 ? NULL : made, how == 2 ? 7 : 8,
					how ? AL_SUCCESS : AL_LIMIT_EXCEEDED),
				 how == 0 || how == 4 ? AL_SUCCESS : AL_MODULE_ABI);
		munmap(qp.ring, ring_layout(&cap).bytes);
		if (how == 4)
			ops->post_destroy_qp(&qp.p.qp, begin_call());
		ck_assert_int_eq(entries("/proc/self/fd"), fds);
		ck_assert_int_eq(shared_maps(), maps);
	}
	ck_assert_int_eq(ops->pre_create_cq(&none.cq, &init, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(*(uint64_t *)call_in, ring_cq_bytes(16));
	ops->post_create_cq(&none.cq, &init, AL_LIMIT_EXCEEDED, &call);
	ck_assert_int_eq(entries("/proc/self/fd"), fds);
	ck_assert_int_eq(shared_maps(), maps);
	free_cq(&cq);
}
END_TEST

/* An agent that answers with more than was asked for, and than the file has room for. */
START_TEST(queues_that_are_longer_than_their_file_are_refused)
{
	static const struct ib_qp_cap most = { .max_send_wr = 8, .max_recv_wr = 4, .max_send_sge = 3,
					       .max_recv_sge = 2, .max_inline_data = 48 };
	const struct ring_made made = { .bell = BELL };
	const uint32_t cqes[] = { ring_cq_slots(CQE) - 1, ring_cq_slots(CQE), UINT32_MAX / 2 + 2, UINT32_MAX };
	int fds = entries("/proc/self/fd"), maps = shared_maps();

	for (int i = 0; i < 4; i++) {
		struct provider_cq cq = { .cq.pd = &pd };
		struct ci_cq_init init = { .cqe = CQE };

		ck_assert_int_eq(ops->pre_create_cq(&cq.cq, &init, begin_call()), AL_SUCCESS);
		init.cqe = cq.cq.cqe = cqes[i];
		ck_assert_int_eq(ops->post_create_cq(&cq.cq, &init, AL_SUCCESS, &call),
				 i ? AL_MODULE_ABI : AL_SUCCESS);
		if (!i)
			ops->post_destroy_cq(&cq.cq, begin_call());
		ck_assert_int_eq(entries("/proc/self/fd"), fds);
		ck_assert_int_eq(shared_maps(), maps);
	}
	/* each maximum by itself: by one, and by as much as there can be */
	for (int i = 0; i <= 10; i++) {
		struct ci_qp_init init = { .cap = { 5, 3, 3, 2, 40 } };
		struct provider_cq cq = { .cq.pd = &pd };
		struct provider_qp qp = { .qp = { .pd = &pd, .send_cq = &cq.cq, .recv_cq = &cq.cq } };
		uint32_t *const caps[] = { &init.cap.max_send_wr, &init.cap.max_recv_wr, &init.cap.max_send_sge,
					   &init.cap.max_recv_sge, &init.cap.max_inline_data };

		ck_assert_int_eq(ops->pre_create_qp(&qp.qp, &init, begin_call()), AL_SUCCESS);
		init.cap = most;
		if (i)
			*caps[(i - 1) / 2] = i % 2 ? *caps[(i - 1) / 2] + 1 : UINT32_MAX;
		call.out = &made;
		call.out_len = sizeof(made);
		ck_assert_int_eq(ops->post_create_qp(&qp.qp, &init, AL_SUCCESS, &call),
				 i ? AL_MODULE_ABI : AL_SUCCESS);
		if (!i)
			munmap(qp.file.mem, qp.file.bytes);
		ck_assert_int_eq(entries("/proc/self/fd"), fds);
		ck_assert_int_eq(shared_maps(), maps);
	}
}
END_TEST

/* -------------------------------------------------------------------- requests */

START_TEST(a_request_is_in_its_slot_whole)
{
	struct ib_sge sge[3] = { { 0x1000, 10, 21 }, { 0x2000, 20, 22 } };
	struct ib_send_wr wr = { .wr_id = 5, .sg_list = sge, .num_sge = 2, .opcode = IB_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED, .ex.imm_data = 99,
				 .wr.rdma = { 0xabcdef, 77 } };
	const struct ib_send_wr *bad = NULL;
	const struct ib_flat_send *slot;
	char data[40];
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	slot = send_slot(&qp, 0);
	ck_assert_uint_eq(slot->wr_id, 5);
	ck_assert_uint_eq(slot->opcode, IB_WR_RDMA_WRITE_WITH_IMM);
	ck_assert_uint_eq(slot->flags, IB_SEND_SIGNALED | IB_SEND_SOLICITED);
	ck_assert_uint_eq(slot->ex, 99);
	ck_assert_uint_eq(slot->remote.addr, 0xabcdef);
	ck_assert_uint_eq(slot->key, 77);
	ck_assert_uint_eq(slot->num_sge, 2);
	ck_assert_uint_eq(slot->length, 30);
	ck_assert_mem_eq(slot + 1, sge, 2 * sizeof(*sge));
	wr = (struct ib_send_wr){ .wr_id = 6, .sg_list = sge, .num_sge = 1, .opcode = IB_WR_ATOMIC_CMP_AND_SWP,
				  .wr.atomic = { .remote_addr = 1, .compare_add = 2, .swap = 3, .rkey = 4 } };
	sge[0].length = 8;
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	slot = send_slot(&qp, 1);
	ck_assert_uint_eq(slot->remote.addr, 1);
	ck_assert_uint_eq(slot->remote.compare_add, 2);
	ck_assert_uint_eq(slot->remote.swap, 3);
	ck_assert_uint_eq(slot->key, 4);
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i + 1);
	sge[0] = (struct ib_sge){ (uintptr_t)data, 15, 0 };
	sge[1] = (struct ib_sge){ 0, 0, 0 }; /* without a byte: no address either */
	wr = (struct ib_send_wr){ .wr_id = 7, .sg_list = sge, .num_sge = 2, .opcode = IB_WR_SEND,
				  .send_flags = IB_SEND_INLINE };
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	slot = send_slot(&qp, 2);
	ck_assert_uint_eq(slot->length, 15);
	ck_assert_mem_eq(slot + 1, data, 15);
	sge[1] = (struct ib_sge){ (uintptr_t)data + 15, 25, 0 };
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	slot = send_slot(&qp, 3);
	ck_assert_uint_eq(slot->length, 40);
	ck_assert_mem_eq(slot + 1, data, 40);
	free_qp(&qp);
	free_cq(&cq);
}
END_TEST

START_TEST(a_datagram_takes_its_path_along)
{
	struct ib_ah_attr attr = { .dlid = 5, .src_path_bits = 1, .sl = 3, .port_num = 2, .is_global = true,
				   .grh = { .flow_label = 0xabcde, .sgid_index = 3, .hop_limit = 9, .traffic_class = 0x77 } };
	struct provider_ah ah = { .ah.pd = &pd };
	struct ci_pd other = { .ca = &ca.ca };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .wr.ud = { (al_ah_h)&ah, 0x4567, 0x89 } };
	const struct ib_send_wr *bad = NULL;
	const struct ib_flat_path *path;
	struct cq cq;
	struct qp qp;

	memset(&attr.grh.dgid, 0x5a, sizeof(attr.grh.dgid));
	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_UD, IB_QPS_RTS);
	ck_assert_int_eq(ops->pre_create_ah(&ah.ah, &attr, begin_call()), AL_SUCCESS);
	/* the path is of another port, and a change that was refused makes it no other */
	ops->post_modify_qp(&qp.p.qp, &(struct ib_qp_attr){ .port_num = 1 }, IB_QP_PORT, AL_SUCCESS, begin_call());
	ops->post_modify_qp(&qp.p.qp, &(struct ib_qp_attr){ .port_num = 2 }, IB_QP_PORT, AL_INVALID_STATE, begin_call());
	ck_assert_int_ne(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	ck_assert_ptr_eq(bad, &wr);
	ops->post_modify_qp(&qp.p.qp, &(struct ib_qp_attr){ .port_num = 2 }, IB_QP_PORT, AL_SUCCESS, begin_call());
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	path = &send_slot(&qp, 0)->path;
	ck_assert_uint_eq(send_slot(&qp, 0)->key, 0x4567);
	ck_assert_uint_eq(path->qkey, 0x89);
	ck_assert_uint_eq(path->dlid, 5);
	ck_assert_uint_eq(path->src_path_bits, 1);
	ck_assert_uint_eq(path->sl, 3);
	ck_assert_uint_eq(path->port_num, 2);
		ck_assert_mem_eq(&path->dgid, &attr.grh.dgid, 16);
	ck_assert_uint_eq(path->grh_word, 0x677abcde);
	ck_assert_uint_eq(path->sgid_index, 3);
	ck_assert_uint_eq(path->hop_limit, 9);
	attr.is_global = false;
	attr.dlid = 6;
	ck_assert_int_eq(ops->pre_modify_ah(&ah.ah, &attr, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(path->dlid, 5); /* the request has its own */
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	ck_assert_uint_eq(send_slot(&qp, 1)->path.dlid, 6);
	ck_assert_uint_eq(send_slot(&qp, 1)->path.grh_word, 0);
	/* what a wrong attribute would have changed */
	attr.src_path_bits = 2;
	ck_assert_int_ne(ops->pre_modify_ah(&ah.ah, &attr, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(ah.path.src_path_bits, 1);
	wr.wr.ud.ah = NULL;
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_INVALID_HANDLE);
	wr.wr.ud.ah = (al_ah_h)&ah;
	ah.ah.pd = &other;
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_INVALID_PD);
	ck_assert_uint_eq(atomic_load(&qp.ring->sq_prod), 2);
	free_qp(&qp);
	free_cq(&cq);
}
END_TEST

/* Of a chain one bell; the module's thread is woken when it sleeps, and then once. */
START_TEST(a_chain_rings_once_and_wakes_who_sleeps)
{
	struct ib_send_wr wr[4];
	const struct ib_send_wr *bad = NULL;
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	for (uint32_t i = 0; i < 4; i++)
		wr[i] = (struct ib_send_wr){ .wr_id = i, .opcode = IB_WR_SEND, .next = i < 3 ? &wr[i + 1] : NULL };
	ck_assert_int_eq(ops->post_send(&qp.p.qp, wr, &bad), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&qp.ring->sq_prod), 4);
	ck_assert_uint_eq(bells(BELL / 64), 1ull << BELL % 64);
	ck_assert(!woken());
	atomic_store(&door->asleep, 1);
	atomic_store(&qp.ring->sq_cons, 4);
	ck_assert_int_eq(ops->post_send(&qp.p.qp, wr, &bad), AL_SUCCESS);
	ck_assert(woken());
	ck_assert_uint_eq(atomic_load(&door->asleep), 0);
	ck_assert_uint_eq(bells(BELL / 64), 1ull << BELL % 64);
	/* nothing taken: no bell */
	wr[0].opcode = IB_WR_OPCODES;
	atomic_store(&door->asleep, 1);
	ck_assert_int_eq(ops->post_send(&qp.p.qp, wr, &bad), AL_INVALID_OPCODE);
	ck_assert_ptr_eq(bad, &wr[0]);
	ck_assert_uint_eq(atomic_load(&door->rung), 0);
	ck_assert(!woken());
	free_qp(&qp);
	free_cq(&cq);
}
END_TEST

START_TEST(queues_are_as_long_as_asked_and_slots_come_round)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = { 0 };
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	for (uint32_t i = 0; i < 40; i++) {
		wr.wr_id = recv.wr_id = i;
		if (i >= cap.max_send_wr) {
			ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_QUEUE_FULL);
			ck_assert_ptr_eq(bad, &wr);
			atomic_store(&qp.ring->sq_cons, i - cap.max_send_wr + 1);
		}
		if (i >= cap.max_recv_wr) {
			ck_assert_int_eq(ops->post_recv(&qp.p.qp, &recv, &bad_recv), AL_QUEUE_FULL);
			ck_assert_ptr_eq(bad_recv, &recv);
			atomic_store(&qp.ring->rq_cons, i - cap.max_recv_wr + 1);
		}
		ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
		ck_assert_int_eq(ops->post_recv(&qp.p.qp, &recv, &bad_recv), AL_SUCCESS);
		ck_assert_uint_eq(send_slot(&qp, i)->wr_id, i);
		ck_assert_uint_eq(recv_slot(&qp, i)->wr_id, i);
		ck_assert_uint_eq(atomic_load(&qp.ring->sq_prod), i + 1);
		ck_assert_uint_eq(atomic_load(&qp.ring->rq_prod), i + 1);
	}
	/* Reset: both begin with their first slot again */
	atomic_store(&qp.ring->sq_cons, 0);
	atomic_store(&qp.ring->rq_cons, 0);
	ops->post_modify_qp(&qp.p.qp, &(struct ib_qp_attr){ .qp_state = IB_QPS_RESET }, IB_QP_STATE, AL_INVALID_STATE,
			    begin_call());
	ck_assert_uint_eq(atomic_load(&qp.ring->sq_prod), 40);
	ops->post_modify_qp(&qp.p.qp, &(struct ib_qp_attr){ .qp_state = IB_QPS_RESET }, IB_QP_STATE, AL_SUCCESS,
			    begin_call());
	ck_assert_uint_eq(atomic_load(&qp.ring->sq_prod), 0);
	ck_assert_uint_eq(atomic_load(&qp.ring->rq_prod), 0);
	wr.wr_id = recv.wr_id = 70;
	for (uint32_t i = 0; i < cap.max_recv_wr; i++, wr.wr_id = ++recv.wr_id) {
		ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
		ck_assert_int_eq(ops->post_recv(&qp.p.qp, &recv, &bad_recv), AL_SUCCESS);
		ck_assert_uint_eq(send_slot(&qp, i)->wr_id, 70 + i);
		ck_assert_uint_eq(recv_slot(&qp, i)->wr_id, 70 + i);
	}
	free_qp(&qp);
	free_cq(&cq);
}
END_TEST

/* _i: the state */
START_TEST(posts_are_refused_and_rung_for_as_the_state_says)
{
	bool send = _i >= IB_QPS_RTS, recv = _i != IB_QPS_RESET;
	struct ib_sge sge[2] = { { 0x1000, 10, 21 }, { 0x2000, 20, 22 } };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct ib_recv_wr rwr[2] = { { .wr_id = 8, .sg_list = sge, .num_sge = 2, .next = &rwr[1] }, { .num_sge = 3 } };
	const struct ib_send_wr *bad = NULL;
	const struct ib_recv_wr *bad_recv = NULL;
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_RC, (ib_qp_state)_i);
	ck_assert_int_eq(ops->post_recv(&qp.p.qp, rwr, &bad_recv), recv ? AL_INVALID_SGE : AL_INVALID_STATE);
	ck_assert_ptr_eq(bad_recv, &rwr[recv]);
	ck_assert_uint_eq(atomic_load(&qp.ring->rq_prod), recv);
	if (recv) {
		ck_assert_uint_eq(recv_slot(&qp, 0)->wr_id, 8);
		ck_assert_uint_eq(recv_slot(&qp, 0)->num_sge, 2);
		ck_assert_mem_eq(recv_slot(&qp, 0) + 1, sge, sizeof(sge));
	}
	/* in the Error state the module is to flush it; else a message fetches it */
	ck_assert_uint_eq(bells(BELL / 64), _i == IB_QPS_ERR ? 1ull << BELL % 64 : 0);
	rwr[0].next = NULL;
	ck_assert_int_eq(ops->post_recv(&qp.p.qp, rwr, &bad_recv), recv ? AL_SUCCESS : AL_INVALID_STATE);
	ck_assert_uint_eq(bells(BELL / 64), _i == IB_QPS_ERR ? 1ull << BELL % 64 : 0);
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), send ? AL_SUCCESS : AL_INVALID_STATE);
	ck_assert_ptr_eq(bad, send ? NULL : &wr);
	ck_assert_uint_eq(atomic_load(&qp.ring->sq_prod), send);
	ck_assert_uint_eq(bells(BELL / 64), send ? 1ull << BELL % 64 : 0);
	free_qp(&qp);
	free_cq(&cq);
}
END_TEST

/* The module's thread has seen no bell, and goes to sleep at the very moment at which the bell is about to be set. */
static void go_to_sleep(int sig)
{
	(void)sig;
	mprotect(ca.door.mem, ca.door.bytes, PROT_READ | PROT_WRITE);
	atomic_store(&door->asleep, 1);
}

START_TEST(no_bell_is_slept_through)
{
	struct sigaction action = { .sa_handler = go_to_sleep }, before;

	ck_assert(!sigaction(SIGSEGV, &action, &before));
	ck_assert(!mprotect(ca.door.mem, ca.door.bytes, PROT_READ));
	door_ring(&ca, BELL);
	ck_assert(!sigaction(SIGSEGV, &before, NULL));
	ck_assert_uint_eq(bells(BELL / 64), 1ull << BELL % 64);
	ck_assert(woken());
	ck_assert_uint_eq(atomic_load(&door->asleep), 0);
}
END_TEST

/* ------------------------------------------------------------- completion queues */

START_TEST(completions_are_polled_in_order_around_the_ring)
{
	struct ib_wc wc[CQE + 2];
	uint64_t next = 0, got = 0;
	uint32_t count;
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	for (uint32_t round = 0; round < 40; round++) {
		uint32_t n = round % (CQE + 1);

		for (uint32_t i = 0; i < n; i++)
			complete(&cq, next++, 7, AL_ARM_ANY);
		ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 100, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, n);
		ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 5, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, n < 5 ? n : 5);
		ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 3, wc, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, n < 3 ? n : 3);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_uint_eq(wc[i].wr_id, got++);
		ck_assert_uint_eq(atomic_load(&cq.ring->cons), got);
		count = poll_all(&cq, wc);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_uint_eq(wc[i].wr_id, got++);
		ck_assert_uint_eq(got, next);
	}
	free_cq(&cq);
}
END_TEST

START_TEST(an_overflow_is_told_after_the_last_completion)
{
	struct ib_wc wc[CQE + 2];
	uint32_t count;
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	for (uint32_t i = 0; i < CQE + 1; i++)
		complete(&cq, i, 7, AL_ARM_ANY);
	atomic_store(&cq.ring->overflowed, 1);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_CQ_ERROR);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 1), AL_CQ_ERROR);
	ck_assert_uint_eq(poll_all(&cq, wc), CQE + 1);
	ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 8, wc, &count), AL_CQ_ERROR);
	ck_assert_uint_eq(atomic_load(&told), 0);
	free_cq(&cq);
}
END_TEST

/* Somebody has written over the index: nothing that is no completion is given. */
START_TEST(an_index_that_can_not_be_brings_nothing)
{
	struct ib_wc wc[4];
	uint32_t count;
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	atomic_store(&cq.ring->prod, CQE + 2);
	ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 4, wc, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 0);
	atomic_store(&cq.ring->prod, UINT32_MAX);
	ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 4, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 0);
	atomic_store(&cq.ring->prod, 0);
	free_cq(&cq);
}
END_TEST

/* ------------------------------------------------------------------- notification */

static const al_arm arms[] = { AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED };
/* Seed 001's table: rows the first arm, columns the second. */
static const al_arm merged[3][3] = {
	{ AL_ARM_ANY, AL_ARM_ANY, AL_ARM_ANY },
	{ AL_ARM_ANY, AL_ARM_ERRORS, AL_ARM_SOLICITED },
	{ AL_ARM_ANY, AL_ARM_SOLICITED, AL_ARM_SOLICITED },
};

static al_arm armed(struct cq *cq)
{
	struct al_cq_attr attr = { 0 };

	ops->post_query_cq(&cq->p.cq, &attr, AL_SUCCESS, begin_call());
	ck_assert_uint_eq(attr.count, atomic_load(&cq->ring->prod) - atomic_load(&cq->ring->cons));
	return attr.armed;
}

/* _i: notify mode, first arm, second arm, kind of the completion. */
START_TEST(arms_merge_as_seed_001_says)
{
	al_cq_notify mode = _i / 27 ? AL_CQ_NOTIFY_NEXT : AL_CQ_NOTIFY_PENDING;
	int first = _i / 9 % 3, second = _i / 3 % 3;
	al_arm kind = arms[_i % 3], both = merged[first][second];
	bool present = true;
	struct cq cq;

	make_cq(&cq, mode);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, arms[first], &present), AL_SUCCESS);
	ck_assert(!present);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, arms[second], NULL), AL_SUCCESS);
	ck_assert_int_eq(armed(&cq), both);
	ck_assert_int_eq(complete(&cq, 1, 7, kind), kind <= both);
	ck_assert_int_eq(armed(&cq), kind <= both ? AL_ARM_NONE : both);
	ck_assert_uint_eq(atomic_load(&told), 0);
	free_cq(&cq);
}
END_TEST

/* _i: pending, next. Those that the module has told of are no news, and neither are those that we have told of. */
START_TEST(completions_that_are_there_satisfy_an_arm_once_if_they_are_news)
{
	bool pending = !_i, present;
	struct ib_wc wc[8];
	struct cq cq;

	make_cq(&cq, _i ? AL_CQ_NOTIFY_NEXT : AL_CQ_NOTIFY_PENDING);
	complete(&cq, 1, 7, AL_ARM_ANY);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ERRORS, &present), AL_SUCCESS);
	ck_assert(present);
	ck_assert_uint_eq(atomic_load(&told), pending);
	ck_assert_int_eq(armed(&cq), pending ? AL_ARM_NONE : AL_ARM_ERRORS);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), pending); /* no news */
	ck_assert_int_eq(armed(&cq), AL_ARM_ANY);
	ck_assert(complete(&cq, 2, 7, AL_ARM_ANY)); /* the module tells */
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), pending);
	ck_assert_int_eq(armed(&cq), AL_ARM_ANY);
	ck_assert_uint_eq(poll_all(&cq, wc), 2);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, &present), AL_SUCCESS);
	ck_assert(!present);
	ck_assert_uint_eq(atomic_load(&told), pending);
	free_cq(&cq);
}
END_TEST

START_TEST(an_arm_for_so_many_is_the_smaller_of_two)
{
	struct ib_wc wc[8];
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 0), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, CQE + 1), AL_INVALID_PARAMETER);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, CQE), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 2), AL_SUCCESS);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 3), AL_SUCCESS);
	ck_assert(!complete(&cq, 1, 7, AL_ARM_ANY));
	ck_assert(complete(&cq, 2, 7, AL_ARM_ANY));
	ck_assert_uint_eq(atomic_load(&told), 0);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 3), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), 0);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 2), AL_SUCCESS); /* they are there */
	ck_assert_uint_eq(atomic_load(&told), 1);
	ck_assert_uint_eq(atomic_load(&cq.ring->arm_n), 0);
	ck_assert_uint_eq(poll_all(&cq, wc), 2);
	/* one more than there are waits */
	complete(&cq, 3, 7, AL_ARM_ANY);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 2), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), 1);
	ck_assert(complete(&cq, 4, 7, AL_ARM_ANY));
	free_cq(&cq);
}
END_TEST

/* Completions 0 to 9 of queue pairs 7 and 8 in turn. _i: so many have been told of. */
START_TEST(a_queue_pair_that_goes_takes_its_completions_and_leaves_the_news)
{
	struct ib_wc wc[16];
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	for (uint32_t i = 0; i < 30; i++) /* around the ring */
		complete(&cq, 99, 8, AL_ARM_ANY), poll_all(&cq, wc);
	for (uint32_t i = 0; i < 10; i++) {
		complete(&cq, i, 7 + i % 2, AL_ARM_ANY);
		if (i + 1 == (uint32_t)_i)
			ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	}
	ck_assert_uint_eq(atomic_load(&told), _i > 0);
	free_qp(&qp);
	/* the newest, 9, is news unless all have been told of */
	atomic_store(&told, 0);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), _i != 10);
	ck_assert_uint_eq(poll_all(&cq, wc), 5);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_uint_eq(wc[i].wr_id, 2 * i + 1);
		ck_assert_uint_eq(wc[i].qp_num, 8);
	}
	free_cq(&cq);
}
END_TEST

/* What is there is old; then the newest goes with its queue pair: what is left is no news. */
START_TEST(old_completions_are_no_news_when_newer_ones_have_gone)
{
	struct ib_wc wc[4];
	struct cq cq;
	struct qp qp;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert(complete(&cq, 1, 8, AL_ARM_ANY));
	complete(&cq, 2, 7, AL_ARM_ANY);
	free_qp(&qp);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), 0);
	ck_assert_uint_eq(poll_all(&cq, wc), 1);
	ck_assert_uint_eq(wc[0].wr_id, 1);
	free_cq(&cq);
}
END_TEST

/* The module has taken the arm as soon as it was there, and tells of it itself: so it is as if none had been set. */
START_TEST(an_arm_that_the_module_has_taken_is_not_told_of_again)
{
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_PENDING);
	complete(&cq, 1, 7, AL_ARM_ANY);
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_NONE, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), 0);
	/* nor does it count as told of by us */
	ck_assert_int_eq(ops->arm_cq(&cq.p.cq, AL_ARM_ANY, NULL), AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), 1);
	poll_all(&cq, (struct ib_wc[4]){ 0 });
	free_cq(&cq);
}
END_TEST

/* --------------------------------------------------------------------------- resize */

static struct ib_wc *next_wc; /* entries that the provider offers */

static void ask_resize(struct cq *cq, uint32_t cqe)
{
	const struct ring_make *said = (const void *)call_in;

	ck_assert_int_eq(ops->pre_resize_cq(&cq->p.cq, &cqe, begin_call()), AL_SUCCESS);
	ck_assert_uint_eq(said->bytes, ring_wc_bytes(cqe));
	next_wc = accept_file(said->bytes);
	ck_assert_uint_eq(atomic_load(&cq->ring->moved), 0);
}

/* The module begins with the new entries: as ring_cq_moved() does. */
static void move(struct cq *cq, uint32_t cqe)
{
	cq->wc = next_wc;
	cq->mask = ring_cq_slots(cqe) - 1;
	atomic_store(&cq->ring->moved_at, atomic_load(&cq->ring->prod));
	atomic_store(&cq->ring->moved, 1);
}

static void end_resize(struct cq *cq, uint32_t cqe, al_status status)
{
	ops->post_resize_cq(&cq->p.cq, &cqe, status, &call);
}

static void expect(struct cq *cq, uint64_t first, uint32_t num)
{
	struct ib_wc wc[1];
	uint32_t count;

	for (; num--; first++) {
		ck_assert_int_eq(ops->poll_cq(&cq->p.cq, 1, wc, &count), AL_SUCCESS);
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(wc->wr_id, first);
	}
}

static void fill_cq(struct cq *cq, uint64_t first, uint32_t num)
{
	while (num--)
		complete(cq, first++, 7, AL_ARM_ANY);
}

/* _i: so many have gone through before, around the end of old and new entries. Polls find all, before, during and after. */
START_TEST(while_a_queue_is_resized_all_completions_are_there)
{
	const uint32_t first = (uint32_t)_i;
	int maps, fds;
	struct cq cq;
	struct ib_wc wc[8];
	uint32_t count;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	for (uint32_t i = 0; i < first; i++)
		fill_cq(&cq, i, 1), expect(&cq, i, 1);
	fds = entries("/proc/self/fd");
	maps = shared_maps();
	fill_cq(&cq, first, 10);
	ask_resize(&cq, 40);
	expect(&cq, first, 2);
	fill_cq(&cq, first + 10, 4);
	move(&cq, 40);
	fill_cq(&cq, first + 14, 20);
	ck_assert_int_eq(ops->peek_cq(&cq.p.cq, 100, &count), AL_SUCCESS);
	ck_assert_uint_eq(count, 32);
	expect(&cq, first + 2, 7);
	ck_assert_int_eq(ops->poll_cq(&cq.p.cq, 8, wc, &count), AL_SUCCESS); /* of both */
	ck_assert_uint_eq(count, 8);
	for (uint32_t i = 0; i < 8; i++)
		ck_assert_uint_eq(wc[i].wr_id, first + 9 + i);
	ck_assert_uint_eq(atomic_load(&cq.ring->cons), first + 17);
	end_resize(&cq, 40, AL_SUCCESS);
	ck_assert_int_eq(entries("/proc/self/fd"), fds);
	fill_cq(&cq, first + 34, 23);
	expect(&cq, first + 17, 40);
	/* and back, with some that are older than the move */
	fill_cq(&cq, first + 57, 15);
	munmap(next_wc, ring_wc_bytes(40));
	ask_resize(&cq, CQE);
	move(&cq, CQE);
	fill_cq(&cq, first + 72, 5);
	end_resize(&cq, CQE, AL_SUCCESS);
	expect(&cq, first + 57, 20);
	munmap(next_wc, ring_wc_bytes(CQE));
	ck_assert_int_eq(shared_maps(), maps + 1); /* the first file's head, and the entries */
	free_cq(&cq);
}
END_TEST

START_TEST(a_resize_that_is_refused_leaves_the_queue_and_nothing_else)
{
	struct cq cq;
	int maps, fds;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	fill_cq(&cq, 0, 10);
	fds = entries("/proc/self/fd");
	maps = shared_maps();
	ask_resize(&cq, 40);
	munmap(next_wc, ring_wc_bytes(40));
	end_resize(&cq, 40, AL_TOO_SMALL);
	ck_assert_int_eq(entries("/proc/self/fd"), fds);
	ck_assert_int_eq(shared_maps(), maps);
	fill_cq(&cq, 10, 10);
	expect(&cq, 0, 20);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, CQE + 1), AL_INVALID_PARAMETER);
	free_cq(&cq);
}
END_TEST

/* The agent was lost before it answered; the module may still have moved, and what it has put in is not lost. */
START_TEST(where_the_module_puts_completions_is_what_counts)
{
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	ask_resize(&cq, 40);
	move(&cq, 40);
	fill_cq(&cq, 0, 30);
	end_resize(&cq, 40, AL_AGENT_LOST);
	expect(&cq, 0, 30);
	munmap(next_wc, ring_wc_bytes(40));
	free_cq(&cq);
}
END_TEST

START_TEST(a_queue_pair_that_goes_meanwhile_takes_its_completions_from_both)
{
	struct cq cq;
	struct qp qp;
	struct ib_wc wc[16];

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	make_qp(&qp, &cq, IB_QPT_RC, IB_QPS_RTS);
	for (uint32_t i = 0; i < 5; i++)
		complete(&cq, i, 7 + i % 2, AL_ARM_ANY);
	ask_resize(&cq, 40);
	move(&cq, 40);
	for (uint32_t i = 5; i < 10; i++)
		complete(&cq, i, 7 + i % 2, AL_ARM_ANY);
	free_qp(&qp);
	end_resize(&cq, 40, AL_SUCCESS);
	ck_assert_uint_eq(poll_all(&cq, wc), 5);
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(wc[i].wr_id, 2 * i + 1);
	munmap(next_wc, ring_wc_bytes(40));
	free_cq(&cq);
}
END_TEST

/* _i: so many are there. */
START_TEST(an_arm_for_more_than_fit_in_is_for_a_full_queue)
{
	struct cq cq;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 20), AL_SUCCESS);
	fill_cq(&cq, 0, (uint32_t)_i);
	ask_resize(&cq, 17);
	move(&cq, 17);
	end_resize(&cq, 17, AL_SUCCESS);
	ck_assert_uint_eq(atomic_load(&told), _i == 17);
	ck_assert_uint_eq(atomic_load(&cq.ring->arm_n), _i == 17 ? 0 : 17);
	ck_assert_int_eq(ops->arm_cq_n(&cq.p.cq, 18), AL_INVALID_PARAMETER);
	munmap(next_wc, ring_wc_bytes(17));
	free_cq(&cq);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("uvp: soft");
	TCase *tcase = tcase_create("provider");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, as_many_queue_pairs_are_offered_as_there_are_bells);
	tcase_add_test(tcase, what_is_not_created_leaves_nothing);
	tcase_add_test(tcase, queues_that_are_longer_than_their_file_are_refused);
	tcase_add_test(tcase, a_request_is_in_its_slot_whole);
	tcase_add_test(tcase, a_datagram_takes_its_path_along);
	tcase_add_test(tcase, a_chain_rings_once_and_wakes_who_sleeps);
	tcase_add_test(tcase, queues_are_as_long_as_asked_and_slots_come_round);
	tcase_add_loop_test(tcase, posts_are_refused_and_rung_for_as_the_state_says, 0, IB_QPS_ERR + 1);
	tcase_add_test(tcase, no_bell_is_slept_through);
	tcase_add_test(tcase, completions_are_polled_in_order_around_the_ring);
	tcase_add_test(tcase, an_overflow_is_told_after_the_last_completion);
	tcase_add_test(tcase, an_index_that_can_not_be_brings_nothing);
	tcase_add_loop_test(tcase, arms_merge_as_seed_001_says, 0, 54);
	tcase_add_loop_test(tcase, completions_that_are_there_satisfy_an_arm_once_if_they_are_news, 0, 2);
	tcase_add_test(tcase, an_arm_for_so_many_is_the_smaller_of_two);
	tcase_add_loop_test(tcase, a_queue_pair_that_goes_takes_its_completions_and_leaves_the_news, 0, 11);
	tcase_add_test(tcase, old_completions_are_no_news_when_newer_ones_have_gone);
	tcase_add_test(tcase, an_arm_that_the_module_has_taken_is_not_told_of_again);
	tcase_add_loop_test(tcase, while_a_queue_is_resized_all_completions_are_there, 0, 66);
	tcase_add_test(tcase, a_resize_that_is_refused_leaves_the_queue_and_nothing_else);
	tcase_add_test(tcase, where_the_module_puts_completions_is_what_counts);
	tcase_add_test(tcase, a_queue_pair_that_goes_meanwhile_takes_its_completions_from_both);
	tcase_add_loop_test(tcase, an_arm_for_more_than_fit_in_is_for_a_full_queue, 16, 18);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("versions");
	tcase_add_loop_test(tcase, a_module_of_another_kind_is_refused_and_nothing_is_left, 0, 6);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
