/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The software HCA's user-mode provider: the caller's view of queues that are rings in shared
 * memory. Each test also runs embedded, and without a provider: statuses, completions and
 * notifications must be the same.
 */
#include "test/e2e/agent_uvp.h"

#include <pthread.h>
#include <stdatomic.h>

static void expect_flushed(al_cq_h cq, uint64_t wr_id)
{
	struct ib_wc wc = test_poll(cq);

	ck_assert_uint_eq(wc.wr_id, wr_id);
	ck_assert_int_eq(wc.status, IB_WC_WR_FLUSH_ERR);
}

/* ------------------------------------------------------------------- traffic */

static void fill(uint8_t *mem, uint32_t length, uint32_t seed)
{
	for (uint32_t i = 0; i < length; i++)
		mem[i] = (uint8_t)(seed * 31 + i * 7 + i / 251);
}

/* More messages than the rings have places, two at a time and with two elements, some inline, few
 * signaled. */
START_TEST(many_messages_of_every_length_arrive_in_order)
{
	enum { ROUNDS = 300, LENGTH = 96 };
	uint32_t sent = 0;

	begin_pair(_i);
	expect_empty(end[0].cq);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t length = n % LENGTH, first = length / 3, at = n % 5 * 1000;
		struct ib_sge from[2] = { sge_of(&end[0], at, first), sge_of(&end[0], at + first, length - first) };
		struct ib_sge to[2] = { sge_of(&end[1], at, length / 2), sge_of(&end[1], at + length / 2, LENGTH) };
		bool data = length <= 32 && n % 2, imm = n % 3 == 0;
		struct ib_recv_wr recv = { .wr_id = n, .sg_list = to, .num_sge = 2 };
		struct ib_send_wr send = { .wr_id = n, .sg_list = from, .num_sge = 2,
					   .opcode = imm ? IB_WR_SEND_WITH_IMM : IB_WR_SEND,
					   .send_flags = (data ? IB_SEND_INLINE : 0u) | (n % 7 ? 0u : IB_SEND_SIGNALED),
					   .ex.imm_data = imm ? n : 0 };
		const struct ib_recv_wr *bad_recv;
		const struct ib_send_wr *bad;
		struct ib_wc wc;

		fill(end[0].mem + at, length, n);
		ck_ok(al_post_recv(end[1].qp, &recv, &bad_recv));
		ck_ok(al_post_send(end[0].qp, &send, &bad));
		wc = test_poll_ok(end[1].cq, n);
		ck_assert_ptr_eq(wc.qp_context, &end[1]);
		ck_assert_uint_eq(wc.byte_len, length);
		ck_assert_uint_eq(wc.imm_data, imm ? n : 0);
		ck_assert_mem_eq(end[1].mem + at, end[0].mem + at, length);
		if (send.send_flags & IB_SEND_SIGNALED) {
			ck_assert_ptr_eq(test_poll_ok(end[0].cq, n).qp_context, &end[0]);
			sent++;
		}
	}
	ck_assert_uint_eq(sent, (ROUNDS + 6) / 7);
	expect_empty(end[0].cq);
	expect_empty(end[1].cq);
	finish_pair();
}
END_TEST

START_TEST(reads_writes_and_atomics)
{
	static const uint32_t at[4] = { 0, 30000, 60000, 60008 };
	struct ib_sge sge[4];
	struct ib_send_wr wr[4];
	const struct ib_send_wr *bad;
	uint64_t *counter;

	begin_pair(_i);
	for (int i = 0; i < 4; i++)
		sge[i] = sge_of(&end[0], at[i], i < 2 ? 20000 : 8);
	counter = (uint64_t *)(end[1].mem + 60000);
	*counter = 40;
	fill(end[0].mem, 20000, 1);
	wr[0] = (struct ib_send_wr){ .next = &wr[1], .wr_id = 1, .sg_list = &sge[0], .num_sge = 1,
				     .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
				     .wr.rdma = { (uintptr_t)end[1].mem, end[1].rkey } };
	wr[1] = (struct ib_send_wr){ .next = &wr[2], .wr_id = 2, .sg_list = &sge[1], .num_sge = 1,
				     .opcode = IB_WR_RDMA_READ, .send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
				     .wr.rdma = { (uintptr_t)end[1].mem, end[1].rkey } };
	wr[2] = (struct ib_send_wr){ .next = &wr[3], .wr_id = 3, .sg_list = &sge[2], .num_sge = 1,
				     .opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IB_SEND_SIGNALED,
				     .wr.atomic = { .remote_addr = (uintptr_t)counter, .compare_add = 2, .rkey = end[1].rkey } };
	wr[3] = (struct ib_send_wr){ .wr_id = 4, .sg_list = &sge[3], .num_sge = 1,
				     .opcode = IB_WR_ATOMIC_CMP_AND_SWP, .send_flags = IB_SEND_SIGNALED,
				     .wr.atomic = { .remote_addr = (uintptr_t)counter, .compare_add = 42, .swap = 99, .rkey = end[1].rkey } };
	ck_ok(al_post_send(end[0].qp, wr, &bad));
	for (uint64_t id = 1; id <= 4; id++)
		test_poll_ok(end[0].cq, id);
	ck_assert_mem_eq(end[1].mem, end[0].mem, 20000);
	ck_assert_mem_eq(end[0].mem + 30000, end[0].mem, 20000);
	ck_assert_uint_eq(*(uint64_t *)(end[0].mem + 60000), 40);
	ck_assert_uint_eq(*(uint64_t *)(end[0].mem + 60008), 42);
	ck_assert_uint_eq(*counter, 99);
	finish_pair();
}
END_TEST

static void make_ud(struct test_end *e, uint64_t guid)
{
	test_make_end(e, al, guid, IB_QPT_UD);
	ck_ok(test_modify(e->qp, IB_QPS_INIT, (struct ib_qp_attr){ .port_num = 1, .qkey = 5 },
			  IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_QKEY));
	ck_ok(test_modify(e->qp, IB_QPS_RTR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	ck_ok(test_modify(e->qp, IB_QPS_RTS, (struct ib_qp_attr){ .sq_psn = 1 }, IB_QP_STATE | IB_QP_SQ_PSN));
}

static al_status send_datagram(struct test_end *from, al_ah_h ah, uint32_t qpn, uint32_t qkey)
{
	struct ib_sge sge = sge_of(from, 0, 200);
	struct ib_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
				 .send_flags = IB_SEND_SIGNALED, .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey } };
	const struct ib_send_wr *bad = NULL;
	al_status status = al_post_send(from->qp, &wr, &bad);

	ck_assert_ptr_eq(bad, status ? &wr : NULL);
	return status;
}

START_TEST(datagrams_go_by_the_path_as_it_is_when_posted)
{
	struct ib_ah_attr path = { .port_num = 1 };
	al_ah_h ah, foreign;
	uint64_t guids[2];
	al_pd_h pd;
	ib_gid gid;

	begin(_i);
	test_guids(al, guids, 2);
	make_ud(&end[0], guids[0]);
	make_ud(&end[1], guids[1]);
	path.dlid = end[1].lid;
	ck_ok(al_create_ah(end[0].pd, &path, &ah));
	fill(end[0].mem, 200, 3);
	ck_ok(test_post_recv(&end[1], 2, 0, 240));
	ck_ok(send_datagram(&end[0], ah, end[1].qpn, 5));
	test_poll_ok(end[0].cq, 1);
	ck_assert_uint_eq(test_poll_ok(end[1].cq, 2).byte_len, 240);
	ck_assert_mem_eq(end[1].mem + 40, end[0].mem, 200);
	/* with a GRH, and to the sender's own port */
	ck_ok(al_query_gid(end[0].ca, 1, 0, &gid));
	path.dlid = end[0].lid;
	path.is_global = true;
	path.grh = (struct ib_global_route){ .dgid = gid, .flow_label = 0xabcde, .hop_limit = 9, .traffic_class = 0x77 };
	ck_ok(al_modify_ah(ah, &path));
	ck_ok(test_post_recv(&end[0], 3, 1000, 240));
	ck_ok(send_datagram(&end[0], ah, end[0].qpn, 0x80000000u));
	for (int i = 0; i < 2; i++) {
		struct ib_wc wc = test_poll(end[0].cq);

		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		if (wc.wr_id == 3)
			ck_assert_uint_eq(wc.wc_flags & IB_WC_GRH, IB_WC_GRH);
	}
	ck_assert_mem_eq(end[0].mem + 1000 + 24, gid.raw, 16);
	ck_assert_mem_eq(end[0].mem + 1040, end[0].mem, 200);
	/* wrong destinations of a datagram */
	ck_ok(al_alloc_pd(end[0].ca, NULL, &pd));
	ck_ok(al_create_ah(pd, &path, &foreign));
	ck_status(send_datagram(&end[0], foreign, end[1].qpn, 5), AL_INVALID_PD);
	ck_status(send_datagram(&end[0], ah, 1u << 24, 5), AL_INVALID_PARAMETER);
	ck_ok(al_destroy_ah(ah, AL_DESTROY_SYNC, NULL));
	ck_status(send_datagram(&end[0], ah, end[1].qpn, 5), AL_INVALID_HANDLE);
	if (_i != WITHOUT) { /* without a provider the agent finds the error when the request is posted */
		path.grh.sgid_index = 7; /* within the GID table, and empty */
		ck_status(al_create_ah(pd, &path, &ah), AL_INVALID_GID_INDEX);
		path = (struct ib_ah_attr){ .port_num = 1, .dlid = 1, .src_path_bits = 1 };
		ck_status(al_create_ah(pd, &path, &ah), AL_INVALID_PARAMETER);
	}
	expect_empty(end[0].cq);
	finish_pair();
}
END_TEST

/* -------------------------------------------------------------- wrong requests */

START_TEST(of_a_chain_the_wrong_request_is_named_and_those_before_are_taken)
{
	static const struct {
		ib_wr_opcode opcode;
		uint32_t flags, num_sge, length;
		al_status status;
	} wrong[] = {
		{ (ib_wr_opcode)99, 0, 1, 8, AL_INVALID_OPCODE },
		{ IB_WR_SEND, 1u << 15, 1, 8, AL_INVALID_OPCODE },
		{ IB_WR_SEND, 1u << 16, 1, 8, AL_INVALID_OPCODE },
		{ IB_WR_RDMA_READ, IB_SEND_INLINE, 1, 8, AL_INVALID_OPCODE },
		{ IB_WR_LOCAL_INV, 0, 0, 0, AL_UNSUPPORTED },
		{ IB_WR_SEND, 0, 5, 8, AL_INVALID_SGE },
		{ IB_WR_SEND, 0, 2, 0x80000000u, AL_INVALID_SGE },
		{ IB_WR_SEND, IB_SEND_INLINE, 1, 33, AL_INVALID_SGE },
	};
	static uint8_t there[256];

	begin_pair(_i);
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ib_sge good = sge_of(&end[0], 0, 16), list[5];
		struct ib_send_wr wr[3];
		const struct ib_send_wr *bad = NULL;

		for (int k = 0; k < 5; k++)
			list[k] = (struct ib_sge){ (uintptr_t)there, wrong[i].length, end[0].lkey };
		wr[0] = (struct ib_send_wr){ .next = &wr[1], .wr_id = i, .sg_list = &good, .num_sge = 1,
					     .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED,
					     .wr.rdma = { (uintptr_t)end[1].mem, end[1].rkey } };
		wr[1] = (struct ib_send_wr){ .next = &wr[2], .sg_list = list, .num_sge = wrong[i].num_sge,
					     .opcode = wrong[i].opcode, .send_flags = wrong[i].flags };
		wr[2] = wr[0];
		wr[2].next = NULL;
		ck_status(al_post_send(end[0].qp, wr, &bad), wrong[i].status);
		ck_assert_ptr_eq(bad, &wr[1]);
		test_poll_ok(end[0].cq, i);
		expect_empty(end[0].cq);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct ib_sge list[5] = { [0] = { 0, i ? 0x80000000u : 8, 0 }, [1] = { 0, 0x80000000u, 0 } };
		struct ib_recv_wr wr[2] = { { .next = &wr[1], .num_sge = 0 },
					    { .sg_list = list, .num_sge = i ? 2 : 5 } };
		const struct ib_recv_wr *bad = NULL;

		ck_status(al_post_recv(end[0].qp, wr, &bad), AL_INVALID_SGE);
		ck_assert_ptr_eq(bad, &wr[1]);
	}
	finish_pair();
}
END_TEST

START_TEST(a_post_is_refused_and_flushed_as_the_state_says)
{
	struct test_end e;
	uint64_t guids[1];

	begin(_i);
	test_guids(al, guids, 1);
	test_make_end(&e, al, guids[0], IB_QPT_RC);
	ck_status(test_post_send(&e, 1, 0, 8), AL_INVALID_STATE);
	ck_status(test_post_recv(&e, 2, 0, 8), AL_INVALID_STATE);
	ck_ok(test_modify(e.qp, IB_QPS_INIT, (struct ib_qp_attr){ .port_num = 1 },
			  IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS));
	ck_status(test_post_send(&e, 3, 0, 8), AL_INVALID_STATE);
	ck_ok(test_post_recv(&e, 4, 0, 8));
	ck_ok(test_modify(e.qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	expect_flushed(e.cq, 4);
	for (uint64_t id = 5; id < 150; id += 2) { /* more than the queue has room for */
		ck_ok(test_post_recv(&e, id, 0, 8));
		expect_flushed(e.cq, id);
		ck_ok(test_post_send(&e, id + 1, 0, 8));
		expect_flushed(e.cq, id + 1);
	}
	ck_ok(test_modify(e.qp, IB_QPS_RESET, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	ck_status(test_post_send(&e, 1, 0, 8), AL_INVALID_STATE);
	ck_status(test_post_recv(&e, 2, 0, 8), AL_INVALID_STATE);
	expect_empty(e.cq);
	test_free_end(&e);
	finish();
}
END_TEST

START_TEST(full_queues_say_so_and_have_room_again)
{
	enum { SIZE = 64 };

	begin_pair(_i);
	/* the peer has no receive, so the requests wait */
	for (uint64_t id = 0; id < SIZE; id++)
		ck_ok(test_post_send(&end[0], id, 0, 8));
	ck_status(test_post_send(&end[0], 999, 0, 8), AL_QUEUE_FULL);
	for (uint64_t id = 0; id < SIZE; id++)
		ck_ok(test_post_recv(&end[1], id, 1000, 8));
	for (uint64_t id = 0; id < SIZE; id++) {
		test_poll_ok(end[1].cq, id);
		test_poll_ok(end[0].cq, id);
	}
	for (uint64_t id = 0; id < SIZE; id++)
		ck_ok(test_post_recv(&end[1], id, 1000, 8));
	ck_status(test_post_recv(&end[1], 999, 0, 8), AL_QUEUE_FULL);
	for (uint64_t id = 0; id < SIZE; id++)
		ck_ok(test_post_send(&end[0], id, 0, 8));
	for (uint64_t id = 0; id < SIZE; id++) {
		test_poll_ok(end[1].cq, id);
		test_poll_ok(end[0].cq, id);
	}
	finish_pair();
}
END_TEST

/* ---------------------------------------------------------- completion queues */

/* Two queue pairs complete four requests each, in turn; then one queue pair is reset, or
 * destroyed. */
START_TEST(completions_of_a_queue_pair_go_with_it)
{
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 64, 64, 4, 4, 0 } };
	struct test_end other;

	begin_pair(_i);
	init.send_cq = init.recv_cq = end[0].cq;
	other = end[0];
	ck_ok(al_create_qp(end[0].pd, &init, &other, NULL, &other.qp));
	ck_ok(al_qp_num(other.qp, &other.qpn));
	for (int how = 0; how < 2; how++) {
		ck_ok(test_modify(other.qp, IB_QPS_INIT, (struct ib_qp_attr){ .port_num = 1 },
				  IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS));
		ck_ok(test_modify(other.qp, IB_QPS_ERR, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
		for (uint64_t id = 0; id < 4; id++) {
			ck_ok(test_post_recv(&end[1], id, 0, 8));
			ck_ok(test_post_send(&end[0], id, 0, 8));
			test_poll_ok(end[1].cq, id);
			expect_count(end[0].cq, 2 * (uint32_t)id + 1);
			ck_ok(test_post_recv(&other, 50 + id, 0, 8));
			expect_count(end[0].cq, 2 * (uint32_t)id + 2);
		}
		if (how)
			ck_ok(al_destroy_qp(other.qp, AL_DESTROY_SYNC, NULL));
		else
			ck_ok(test_modify(other.qp, IB_QPS_RESET, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
		expect_count(end[0].cq, 4);
		for (uint64_t id = 0; id < 4; id++)
			test_poll_ok(end[0].cq, id);
		expect_empty(end[0].cq);
	}
	finish_pair();
}
END_TEST

START_TEST(a_completion_queue_that_overflows_says_so_last)
{
	struct al_cq_init small = { .cqe = 1 };
	struct ib_sge sge;
	struct ib_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED };
	struct al_qp_init init = { .qp_type = IB_QPT_RC, .cap = { 64, 64, 4, 4, 0 } };
	const struct ib_send_wr *bad;
	struct timespec deadline;
	struct al_cq_attr attr;
	struct ib_wc wc[8];
	uint32_t count = 7;

	begin_pair(_i);
	ck_ok(al_destroy_qp(end[0].qp, AL_DESTROY_SYNC, NULL));
	ck_ok(al_create_cq(end[0].pd, &small, NULL, NULL, NULL, &init.send_cq));
	ck_assert_uint_eq(small.cqe, 16);
	ck_ok(al_query_cq(init.send_cq, &attr));
	ck_assert_uint_eq(attr.cqe, 16);
	init.recv_cq = init.send_cq;
	ck_ok(al_create_qp(end[0].pd, &init, NULL, NULL, &end[0].qp));
	ck_ok(al_qp_num(end[0].qp, &end[0].qpn));
	ck_ok(test_modify(end[1].qp, IB_QPS_RESET, (struct ib_qp_attr){ 0 }, IB_QP_STATE));
	test_connect(&end[0], &end[1]);
	sge = sge_of(&end[0], 0, 8);
	wr.wr.rdma.remote_addr = (uintptr_t)end[1].mem;
	wr.wr.rdma.rkey = end[1].rkey;
	for (wr.wr_id = 0; wr.wr_id < 3; wr.wr_id++) /* so that the ring has wrapped */
		ck_ok(al_post_send(end[0].qp, &wr, &bad));
	for (uint64_t id = 0; id < 3; id++)
		test_poll_ok(init.send_cq, id);
	for (wr.wr_id = 10; wr.wr_id < 10 + 16 + 2; wr.wr_id++)
		ck_ok(al_post_send(end[0].qp, &wr, &bad));
	do
		ck_ok(al_query_cq(init.send_cq, &attr));
	while (!attr.overflowed);
	for (uint64_t id = 10; id < 10 + 16; id++)
		test_poll_ok(init.send_cq, id);
	wc[0] = test_poll(init.send_cq);
	ck_assert_int_eq(wc[0].status, IB_WC_CQ_OVERFLOW_ERR);
	ck_status(al_poll_cq(init.send_cq, 8, wc, &count), AL_CQ_ERROR);
	ck_status(al_arm_cq(init.send_cq, AL_ARM_ANY, NULL), AL_CQ_ERROR);
	ck_status(al_arm_cq_n(init.send_cq, 1), AL_CQ_ERROR);
	for (deadline = test_deadline(); test_state(end[0].qp) != IB_QPS_ERR;)
		ck_assert_msg(!test_expired(&deadline), "its queue pair goes on");
	finish_pair();
}
END_TEST

/* --------------------------------------------------------------------- threads */

static _Atomic uint32_t posted, completed;
#define MESSAGES 2000u

static void *post_some(void *arg)
{
	(void)arg;
	while (atomic_fetch_add(&posted, 1) < MESSAGES) {
		al_status status;

		/* no more than the completion queues hold */
		while (atomic_load(&posted) > atomic_load(&completed) / 2 + 60)
			;

		do
			status = test_post_recv(&end[1], 1, 0, 8);
		while (status == AL_QUEUE_FULL);
		if (status)
			return "a receive was refused";
		do
			status = test_post_send(&end[0], 2, 0, 8);
		while (status == AL_QUEUE_FULL);
		if (status)
			return "a send was refused";
	}
	return NULL;
}

static void *poll_some(void *arg)
{
	struct timespec deadline = test_deadline();

	(void)arg;
	deadline.tv_sec += 30;
	while (atomic_load(&completed) < 2 * MESSAGES) {
		for (int i = 0; i < 2; i++) {
			struct ib_wc wc[3];
			uint32_t count;

			if (al_poll_cq(end[i].cq, 3, wc, &count))
				return "a poll failed";
			for (uint32_t k = 0; k < count; k++)
				if (wc[k].status || wc[k].wr_id != (i ? 1 : 2) || wc[k].qp_context != &end[i])
					return "a wrong completion";
			atomic_fetch_add(&completed, count);
		}
		if (test_expired(&deadline))
			return "completions are missing";
	}
	return NULL;
}

START_TEST(threads_post_and_poll_at_once)
{
	pthread_t thread[4];
	void *wrong;

	begin_pair(_i);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, i % 2 ? poll_some : post_some, NULL), 0);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(thread[i], &wrong), 0);
		ck_assert_msg(!wrong, "%s", (char *)wrong);
	}
	ck_assert_uint_eq(atomic_load(&completed), 2 * MESSAGES);
	finish_pair();
}
END_TEST

/* -------------------------------------------------------------------- processes */

static void pass_one(uint64_t id)
{
	ck_ok(test_post_recv(&end[1], id, 1000, 64));
	ck_ok(test_post_send(&end[0], id, 0, 64));
	test_poll_ok(end[0].cq, id);
	test_poll_ok(end[1].cq, id);
}

/* The child has no access to the parent's shared memory, and may create its own. */
START_TEST(a_forked_child_has_rings_of_its_own)
{
	pid_t pid;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("SKIP a_forked_child_has_rings_of_its_own: ASan's allocator may be locked in a child, and TSan lets it start no thread\n");
	return;
#endif
	begin_pair(WITH_PROVIDER);
	pass_one(1);
	pid = fork();
	if (!pid) {
		if (shared_files())
			_exit(1);
		free(end[0].mem); /* the child's copies */
		free(end[1].mem);
		al = agent_open();
		test_make_pair(al, end);
		if (shared_files() != 6)
			_exit(2);
		pass_one(2);
		_exit(0);
	}
	pass_one(3);
	ck_assert_int_eq(wait_for(pid), 0);
	pass_one(4);
	finish_pair();
}
END_TEST

/* Each close frees everything, and the next opening creates everything anew. */
START_TEST(openings_come_and_go)
{
	struct timespec deadline;
	int fds;

	begin_pair(WITH_PROVIDER);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	fds = agent_entries("fd");
	for (uint64_t round = 0; round < 5; round++) {
		test_make_pair(al, end);
		ck_assert_int_eq(shared_files(), 6);
		pass_one(round);
		for (int i = 0; i < 2; i++)
			test_free_end(&end[i]);
		ck_assert_int_eq(shared_files(), 2);
	}
	for (deadline = test_deadline(); agent_entries("fd") > fds;) /* the agent closes on threads of its own */
		ck_assert_msg(!test_expired(&deadline), "%d descriptors, not %d", agent_entries("fd"), fds);
	finish();
}
END_TEST

/* Number of the agent's threads that answer the bells of rings. */
static int ring_threads(void)
{
	char path[64], name[32];
	struct dirent *entry;
	int count = 0;
	FILE *comm;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)agent_pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.10s/comm", (int)agent_pid,
			 entry->d_name);
		comm = fopen(path, "re");
		if (!comm) /* "." and "..", and a thread that has ended */
			continue;
		count += fgets(name, sizeof(name), comm) && !strcmp(name, "soft-rings\n");
		fclose(comm);
	}
	closedir(dir);
	return count;
}

/* A program that only looks at HCAs, as a subnet manager does at a thousand, costs no threads. */
START_TEST(the_agent_has_a_thread_for_rings_when_a_client_has_made_queue_pairs)
{
	begin(WITH_PROVIDER);
	test_guids(al, (uint64_t[2]){ 0 }, 2);
	ck_assert_int_eq(shared_files(), 2); /* the doors */
	ck_assert_int_eq(ring_threads(), 0);
	test_make_pair(al, end);
	ck_assert_int_eq(ring_threads(), 2);
	pass_one(1);
	finish_pair();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/uvp_soft");
	TCase *tcase = tcase_create("rings");

	tcase_add_loop_test(tcase, many_messages_of_every_length_arrive_in_order, 0, ROLES);
	tcase_add_loop_test(tcase, reads_writes_and_atomics, 0, ROLES);
	tcase_add_loop_test(tcase, datagrams_go_by_the_path_as_it_is_when_posted, 0, ROLES);
	tcase_add_loop_test(tcase, of_a_chain_the_wrong_request_is_named_and_those_before_are_taken, 0, ROLES);
	tcase_add_loop_test(tcase, a_post_is_refused_and_flushed_as_the_state_says, 0, ROLES);
	tcase_add_loop_test(tcase, full_queues_say_so_and_have_room_again, 0, ROLES);
	tcase_add_loop_test(tcase, completions_of_a_queue_pair_go_with_it, 0, ROLES);
	tcase_add_loop_test(tcase, a_completion_queue_that_overflows_says_so_last, 0, ROLES);
	tcase_add_loop_test(tcase, threads_post_and_poll_at_once, 0, ROLES);
	tcase_add_test(tcase, a_forked_child_has_rings_of_its_own);
	tcase_add_test(tcase, openings_come_and_go);
	tcase_add_test(tcase, the_agent_has_a_thread_for_rings_when_a_client_has_made_queue_pairs);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
