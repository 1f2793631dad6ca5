/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The HCA and the queue pairs of the software HCA's provider: the content of the shared memory
 * (hca/soft/shared/ring.h). The test replaces the library and the agent's module (support.h). Completion queues are
 * in cq_test.c.
 */
#include "test/unit/uvp/soft/support.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

extern const struct uvp_module uvp_module;

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

/* _i: the answer is missing, too short, too long, of another version, without its descriptor, with a second descriptor. Neither
 * descriptor nor mapping is left. */
START_TEST(a_module_of_another_kind_is_refused_and_nothing_is_left)
{
	struct ring_opened answer[2] = { { .version = RING_VERSION } };
	static const uint32_t length[] = { 0, 15, 17, 16, 16, 16 }, num[] = { 1, 1, 1, 1, 0, 2 };
	int fds, maps;

	ops = uvp_module.ops;
	fds = count_entries("/proc/self/fd");
	maps = count_shared_maps();
	if (_i == 3)
		answer->version++;
	ck_assert_int_eq(open_ca(_i ? answer : NULL, length[_i], num[_i]), AL_MODULE_ABI);
	munmap(door, sizeof(*door));
	ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
	ck_assert_int_eq(count_shared_maps(), maps);
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

/* A creation that fails at the agent, or because of a wrong answer, leaves neither descriptor nor mapping. */
START_TEST(a_queue_pair_that_is_not_created_leaves_nothing)
{
	struct ring_made made[2] = { { .bell = BELL } };
	struct cq cq;
	struct qp qp;
	int fds, maps;

	make_cq(&cq, AL_CQ_NOTIFY_NEXT);
	fds = count_entries("/proc/self/fd");
	maps = count_shared_maps();
	for (int how = 0; how < 5; how++) {
		made->bell = how == 3 ? RING_BELLS : BELL;
		ck_assert_int_eq(try_qp(&qp, &cq, IB_QPT_RC, how == 1 ? NULL : made, how == 2 ? 7 : 8,
					how ? AL_SUCCESS : AL_LIMIT_EXCEEDED),
				 how == 0 || how == 4 ? AL_SUCCESS : AL_MODULE_ABI);
		munmap(qp.ring, ring_layout(&cap).bytes);
		if (how == 4)
			ops->post_destroy_qp(&qp.p.qp, begin_call());
		ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
		ck_assert_int_eq(count_shared_maps(), maps);
	}
	free_cq(&cq);
}
END_TEST

/* An agent answers with larger maxima than the library has asked for and than the file has room for. */
START_TEST(a_queue_pair_that_is_longer_than_its_file_is_refused)
{
	static const struct ib_qp_cap most = { .max_send_wr = 8, .max_recv_wr = 4, .max_send_sge = 3,
					       .max_recv_sge = 2, .max_inline_data = 48 };
	const struct ring_made made = { .bell = BELL };
	int fds = count_entries("/proc/self/fd"), maps = count_shared_maps();

	/* each maximum alone: too large by one, and UINT32_MAX */
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
		ck_assert_int_eq(count_entries("/proc/self/fd"), fds);
		ck_assert_int_eq(count_shared_maps(), maps);
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
	sge[1] = (struct ib_sge){ 0, 0, 0 }; /* a piece of no bytes needs no address */
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
	/* the path is of another port than the queue pair, also after a change of the port that was refused */
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
	ck_assert_uint_eq(path->dlid, 5); /* the posted request keeps its path */
	ck_assert_int_eq(ops->post_send(&qp.p.qp, &wr, &bad), AL_SUCCESS);
	ck_assert_uint_eq(send_slot(&qp, 1)->path.dlid, 6);
	ck_assert_uint_eq(send_slot(&qp, 1)->path.grh_word, 0);
	/* a wrong attribute changes nothing */
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

/* A chain sets the bell once. The module's thread is woken only if it sleeps, and once. */
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
	/* no request is posted, so no bell is set */
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
	/* after Reset both queues begin at their first slot */
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

/* _i: state of the queue pair */
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
	/* In the Error state the bell makes the module flush the receive. In other states a message fetches the receive, without a bell. */
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

/* The module's thread has seen no bell, and goes to sleep just before the provider sets the bell. */
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

int main(void)
{
	TCase *cases[] = { tcase_create("queue pairs"), tcase_create("versions") };
	TCase *tcase = cases[0];

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, as_many_queue_pairs_are_offered_as_there_are_bells);
	tcase_add_test(tcase, a_queue_pair_that_is_not_created_leaves_nothing);
	tcase_add_test(tcase, a_queue_pair_that_is_longer_than_its_file_is_refused);
	tcase_add_test(tcase, a_request_is_in_its_slot_whole);
	tcase_add_test(tcase, a_datagram_takes_its_path_along);
	tcase_add_test(tcase, a_chain_rings_once_and_wakes_who_sleeps);
	tcase_add_test(tcase, queues_are_as_long_as_asked_and_slots_come_round);
	tcase_add_loop_test(tcase, posts_are_refused_and_rung_for_as_the_state_says, 0, IB_QPS_ERR + 1);
	tcase_add_test(tcase, no_bell_is_slept_through);
	tcase_add_loop_test(cases[1], a_module_of_another_kind_is_refused_and_nothing_is_left, 0, 6);
	return run_cases(cases, 2);
}
