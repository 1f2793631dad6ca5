/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The usual mistakes of a channel driver, each with the status of the refused call and the exact
 * sentence of al_reason(), through the whole stack on the software HCA. In every role the sentences
 * are the same, whether the library, the module or the agent refuses.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include <iba/ib_hca.h>
#include <iba/ib_mad.h>

#include "test/unit/al/al_test.h"

static al_h al;
static struct test_end end[2]; /* a connected RC pair */
static struct ib_ca_attr limits;
static struct ib_port_attr port;
static uint64_t guids[2];
static char want[256]; /* the sentence */

static void expect(const char *fmt, ...) IB_PRINTF(1, 2);
static void expect(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(want, sizeof(want), fmt, ap);
	va_end(ap);
}

/* ----------------------------------------------------------- objects for mistakes */

static al_qp_h make_qp(ib_qp_type type)
{
	struct al_qp_init init = {
		.qp_type = type,
		.send_cq = end[0].cq,
		.recv_cq = end[0].cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2 },
	};
	al_qp_h qp;

	ck_ok(al_create_qp(end[0].pd, &init, NULL, NULL, &qp));
	return qp;
}

static al_qp_h make_ud(void)
{
	struct ib_qp_attr attr = { .port_num = 1, .qkey = 7 };
	al_qp_h qp = make_qp(IB_QPT_UD);

	ck_ok(test_modify(qp, IB_QPS_INIT, attr,
			  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	ck_ok(test_modify(qp, IB_QPS_RTR, attr, IB_QP_STATE));
	ck_ok(test_modify(qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_SQ_PSN));
	return qp;
}

static al_ah_h make_ah(al_pd_h pd)
{
	struct ib_ah_attr attr = { .dlid = end[1].lid, .port_num = 1 };
	al_ah_h ah;

	ck_ok(al_create_ah(pd, &attr, &ah));
	return ah;
}

static al_status send_wr(al_qp_h qp, struct ib_send_wr wr)
{
	const struct ib_send_wr *bad;

	return al_post_send(qp, &wr, &bad);
}

static struct ib_send_wr datagram(al_ah_h ah, uint32_t qpn)
{
	return (struct ib_send_wr){ .opcode = IB_WR_SEND,
				    .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = 7 } };
}

/* ---------------------------------------------------------------- transitions */

static al_status attributes_missing(void)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);

	expect("Reset to Init of RC queue pairs requires attributes that the mask lacks: "
	       "qp_access_flags, pkey_index");
	return test_modify(make_qp(IB_QPT_RC), IB_QPS_INIT, attr, IB_QP_STATE | IB_QP_PORT);
}

static al_status attribute_not_taken(void)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);

	expect("Reset to Init of RC queue pairs does not take attributes that the mask names: qkey");
	return test_modify(make_qp(IB_QPT_RC), IB_QPS_INIT, attr, TEST_RC_INIT | IB_QP_QKEY);
}

static al_status no_transition(void)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);

	expect("RC queue pairs have no transition from Reset to RTS; from Reset they go to Init, Reset or Error");
	return test_modify(make_qp(IB_QPT_RC), IB_QPS_RTS, attr, TEST_RC_RTS);
}

static al_status no_change_in_state(void)
{
	struct ib_qp_attr attr = { 0 };

	expect("no attribute of RC queue pairs can change in the state Reset; "
	       "the mask lacks IB_QP_STATE, so the state stays as it is");
	return al_modify_qp(make_qp(IB_QPT_RC), &attr, IB_QP_PORT);
}

static al_status attributes_of_another_state(void)
{
	const struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	al_qp_h qp = make_qp(IB_QPT_UD);

	expect("Init to Init of UD queue pairs does not take attributes that the mask names: sq_psn; "
	       "the mask lacks IB_QP_STATE, so the state stays as it is");
	ck_ok(test_modify(qp, IB_QPS_INIT, attr,
			  IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY));
	return al_modify_qp(qp, &attr, IB_QP_SQ_PSN);
}

static al_status error_with_attributes(void)
{
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);

	expect("RTS to Error of RC queue pairs does not take attributes that the mask names: port_num");
	return test_modify(end[0].qp, IB_QPS_ERR, attr, IB_QP_STATE | IB_QP_PORT);
}

static al_status another_current_state(void)
{
	struct ib_qp_attr attr = { .cur_qp_state = IB_QPS_SQD };

	expect("cur_qp_state is SQD, and the queue pair is in RTS");
	return test_modify(end[0].qp, IB_QPS_RTS, attr, IB_QP_STATE | IB_QP_CUR_STATE);
}

static al_status no_mask(void)
{
	struct ib_qp_attr attr = { 0 };

	expect("attr is NULL, or mask is 0");
	return al_modify_qp(end[0].qp, &attr, 0);
}

static al_status mask_unknown(void)
{
	struct ib_qp_attr attr = { 0 };

	expect("mask has the bits 0x200000, which name no attribute");
	return al_modify_qp(end[0].qp, &attr, IB_QP_STATE | 1u << 21);
}

static al_status reserved_used(void)
{
	struct ib_qp_attr attr = { .reserved = { 0, 0, 1 } };

	expect("a word of the member reserved is not zero");
	return al_modify_qp(end[0].qp, &attr, IB_QP_STATE);
}

/* A step of a connection with one wrong value. */
#define STEP(name, state, mask, change, ...)                                     \
	static al_status name(void)                                              \
	{                                                                        \
		struct ib_qp_attr attr = test_attr(end[1].lid, 5, IB_MTU_1024);  \
		al_qp_h qp = make_qp(IB_QPT_RC);                                 \
                                                                                 \
		if (state != IB_QPS_INIT)                                        \
			ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT)); \
		if (state == IB_QPS_RTS)                                         \
			ck_ok(test_modify(qp, IB_QPS_RTR, attr, TEST_RC_RTR));   \
		attr.change;                                                     \
		expect(__VA_ARGS__);                                             \
		return test_modify(qp, state, attr, mask);                       \
	}
STEP(wrong_port, IB_QPS_INIT, TEST_RC_INIT, port_num = 9, "port_num is 9, and the HCA's ports are 1 to %u",
     limits.num_ports)
STEP(wrong_pkey_index, IB_QPS_INIT, TEST_RC_INIT, pkey_index = 999,
     "pkey_index is 999, and the P_Key table of port 1 has %u entries", port.pkey_tbl_len)
STEP(wrong_access, IB_QPS_INIT, TEST_RC_INIT, qp_access_flags = 0x40,
     "qp_access_flags has the bits 0x40, which are no access of queue pairs")
STEP(wrong_mtu, IB_QPS_RTR, TEST_RC_RTR, path_mtu = (ib_mtu)9,
     "path_mtu is 9, which is no MTU; IB_MTU_256 (1) to IB_MTU_4096 (5) are, up to ib_port_attr.active_mtu")
STEP(no_mtu, IB_QPS_RTR, TEST_RC_RTR, path_mtu = (ib_mtu)0,
     "path_mtu is 0, which is no MTU; IB_MTU_256 (1) to IB_MTU_4096 (5) are, up to ib_port_attr.active_mtu")
STEP(no_lid, IB_QPS_RTR, TEST_RC_RTR, ah_attr.dlid = 0,
     "dlid is 0, which is no port's LID; ib_port_attr.lid of the peer's port, or a path record, has the LID")
STEP(wrong_path_port, IB_QPS_RTR, TEST_RC_RTR, ah_attr.port_num = 0,
     "port_num of the path is 0, and the HCA's ports are 1 to %u", limits.num_ports)
STEP(wrong_level, IB_QPS_RTR, TEST_RC_RTR, ah_attr.sl = 16, "sl is 16, and the most is 15")
STEP(wrong_path_bits, IB_QPS_RTR, TEST_RC_RTR, ah_attr.src_path_bits = 3,
     "src_path_bits is 3, and the port's LMC is 0")
STEP(wrong_qpn, IB_QPS_RTR, TEST_RC_RTR, dest_qp_num = 0x1000000,
     "dest_qp_num is 16777216, and the most is 16777215")
STEP(wrong_reads, IB_QPS_RTR, TEST_RC_RTR, max_dest_rd_atomic = 255,
     "max_dest_rd_atomic is 255, and the most is %u", limits.max_qp_rd_atom)
STEP(wrong_timeout, IB_QPS_RTS, TEST_RC_RTS, timeout = 32, "timeout is 32, and the most is 31")
STEP(wrong_retries, IB_QPS_RTS, TEST_RC_RTS, retry_cnt = 8, "retry_cnt is 8, and the most is 7")

/* ------------------------------------------------------------------- creation */

static al_status create_qp(struct al_qp_init init)
{
	al_qp_h qp;

	if (!init.send_cq)
		init.send_cq = end[0].cq;
	if (!init.recv_cq)
		init.recv_cq = end[0].cq;
	return al_create_qp(end[0].pd, &init, NULL, NULL, &qp);
}

static al_status no_type(void)
{
	expect("qp_type is 0, which is no type of queue pairs");
	return create_qp((struct al_qp_init){ 0 });
}

static al_status type_not_offered(void)
{
	expect("the HCA has no queue pairs of the type RD");
	return create_qp((struct al_qp_init){ .qp_type = IB_QPT_RD });
}

static al_status port_at_creation(void)
{
	expect("port_num is 1, and al_create_qp() takes 0 for the type RC, which gets its port by al_modify_qp()");
	return create_qp((struct al_qp_init){ .qp_type = IB_QPT_RC, .port_num = 1 });
}

static al_status queue_too_long(void)
{
	expect("max_send_wr is 4000000000, and the HCA's limit is %u", limits.max_qp_wr);
	return create_qp((struct al_qp_init){ .qp_type = IB_QPT_RC,
					      .cap.max_send_wr = 4000000000u });
}

static al_status cq_of_another_hca(void)
{
	expect("the cq is on HCA 0x%016llx, and the new qp is on HCA 0x%016llx",
	       (unsigned long long)guids[1], (unsigned long long)guids[0]);
	return create_qp((struct al_qp_init){ .qp_type = IB_QPT_RC, .recv_cq = end[1].cq });
}

static al_status pd_as_cq(void)
{
	expect("the handle %#llx is of a pd, not of a cq", (unsigned long long)(uintptr_t)end[0].pd);
	return create_qp((struct al_qp_init){ .qp_type = IB_QPT_RC,
					      .recv_cq = (al_cq_h)(void *)end[0].pd });
}

static al_status create_cq(struct al_cq_init init, al_comp_cb cb)
{
	al_cq_h cq;

	return al_create_cq(end[0].pd, &init, NULL, cb, NULL, &cq);
}

static al_status no_entries(void)
{
	expect("cqe is 0; a completion queue has at least one entry");
	return create_cq((struct al_cq_init){ 0 }, NULL);
}

static al_status too_many_entries(void)
{
	expect("cqe is 4000000000, and the most is %u", limits.max_cqe);
	return create_cq((struct al_cq_init){ .cqe = 4000000000u }, NULL);
}

static al_status wrong_vector(void)
{
	expect("comp_vector is 5000, and the most is %u", limits.num_comp_vectors - 1);
	return create_cq((struct al_cq_init){ .cqe = 1, .comp_vector = 5000 }, NULL);
}

static al_status resized_too_far(void)
{
	uint32_t cqe = 4000000000u;

	expect("cqe is 4000000000, and the most is %u", limits.max_cqe);
	return al_resize_cq(end[0].cq, &cqe);
}

/* --------------------------------------------------------------------- memory */

static al_status reg_mr(struct al_mr_init init)
{
	uint32_t lkey, rkey;
	al_mr_h mr;

	return al_reg_mr(end[0].pd, &init, NULL, &lkey, &rkey, &mr);
}

static al_status region_of_nothing(void)
{
	expect("length is 0");
	return reg_mr((struct al_mr_init){ .addr = end[0].mem });
}

static al_status remote_write_only(void)
{
	expect("access has remote write or remote atomic, which need IB_ACCESS_LOCAL_WRITE, too");
	return reg_mr((struct al_mr_init){
		.addr = end[0].mem, .length = 8, .access = IB_ACCESS_REMOTE_WRITE });
}

static al_status unknown_access(void)
{
	expect("access has the bits 0x400, which are no access of regions");
	return reg_mr((struct al_mr_init){ .addr = end[0].mem, .length = 8, .access = 1u << 10 });
}

static al_status unmapped_memory(void)
{
	void *mem = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect("a page of the 8192 bytes at %p is not mapped, or may not be written", mem);
	return reg_mr((struct al_mr_init){
		.addr = mem, .length = 8192, .access = IB_ACCESS_LOCAL_WRITE });
}

static al_status memory_past_the_end(void)
{
	expect("addr or iova and length go past the last address");
	return reg_mr((struct al_mr_init){ .addr = (void *)UINTPTR_MAX, .length = 4096 });
}

static al_status iova_off_the_page(void)
{
	expect("iova 0x1 and addr %p have different offsets in their pages",
	       (void *)(end[0].mem - (uintptr_t)end[0].mem % 4096 + 4096));
	return reg_mr((struct al_mr_init){ .addr = end[0].mem - (uintptr_t)end[0].mem % 4096 + 4096,
					   .length = 8,
					   .use_iova = true,
					   .iova = 1 });
}

/* ------------------------------------------------------------------- requests */

static al_status send_in_reset(void)
{
	expect("the send queue takes no requests in the state Reset");
	return send_wr(make_qp(IB_QPT_RC), (struct ib_send_wr){ .opcode = IB_WR_SEND });
}

static al_status receive_in_reset(void)
{
	struct ib_recv_wr wr = { 0 };
	const struct ib_recv_wr *bad;

	expect("the receive queue takes no requests in the state Reset");
	return al_post_recv(make_qp(IB_QPT_RC), &wr, &bad);
}

static al_status too_many_elements(void)
{
	struct ib_sge sge[5] = { { 0 } };

	expect("num_sge is 5, and the queue was created for 4 elements");
	return send_wr(end[0].qp,
		       (struct ib_send_wr){ .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 5 });
}

static al_status no_list(void)
{
	expect("num_sge is 1, and sg_list is NULL");
	return send_wr(end[0].qp, (struct ib_send_wr){ .opcode = IB_WR_SEND, .num_sge = 1 });
}

static al_status lengths_overflow(void)
{
	struct ib_sge sge[2] = { { .length = UINT32_MAX }, { .length = 1 } };

	expect("the lengths of sg_list are more than 4 GiB together");
	return send_wr(end[0].qp,
		       (struct ib_send_wr){ .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 2 });
}

static al_status inline_too_long(void)
{
	struct ib_sge sge = { .addr = (uintptr_t)end[0].mem, .length = 4000 };
	struct ib_qp_attr attr;

	ck_ok(al_query_qp(end[0].qp, &attr, NULL));
	expect("4000 bytes are inline, and the queue was created for %u (max_inline_data)",
	       attr.cap.max_inline_data);
	return send_wr(end[0].qp, (struct ib_send_wr){ .opcode = IB_WR_SEND,
						       .send_flags = IB_SEND_INLINE,
						       .sg_list = &sge,
						       .num_sge = 1 });
}

static al_status unknown_opcode(void)
{
	expect("opcode is 99, which is no operation");
	return send_wr(end[0].qp, (struct ib_send_wr){ .opcode = (ib_wr_opcode)99 });
}

static al_status unknown_send_flags(void)
{
	expect("send_flags has the bits 0x80000000, which are no flags");
	return send_wr(end[0].qp,
		       (struct ib_send_wr){ .opcode = IB_WR_SEND, .send_flags = 1u << 31 });
}

static al_status write_by_datagram(void)
{
	struct ib_send_wr wr = datagram(make_ah(end[0].pd), 5);

	wr.opcode = IB_WR_RDMA_WRITE;
	expect("opcode is \"RDMA write\", which a queue pair of this type (UD) has not");
	return send_wr(make_ud(), wr);
}

static al_status send_queue_full(void)
{
	struct ib_qp_attr attr;
	al_status status;

	/* the peer has no receive, so the requests stay */
	ck_ok(al_query_qp(end[0].qp, &attr, NULL));
	expect("the send queue holds %u requests, as many as it was created for", attr.cap.max_send_wr);
	do {
		status = test_post_send(&end[0], 1, 0, 8);
	} while (!status);
	return status;
}

static al_status receive_queue_full(void)
{
	struct ib_qp_attr attr;
	al_status status;

	ck_ok(al_query_qp(end[0].qp, &attr, NULL));
	expect("the receive queue holds %u requests, as many as it was created for",
	       attr.cap.max_recv_wr);
	do {
		status = test_post_recv(&end[0], 1, 0, 8);
	} while (!status);
	return status;
}

static al_status datagram_without_ah(void)
{
	expect(strcmp(test_role(), "user")
		       ? "ah is no address handle of the queue pair's HCA and opening"
		       : "the handle of the ah is NULL");
	return send_wr(make_ud(), datagram(NULL, 5));
}

static al_status datagram_of_another_domain(void)
{
	al_pd_h pd;

	ck_ok(al_alloc_pd(end[0].ca, NULL, &pd));
	expect("ah and the queue pair belong to different protection domains");
	return send_wr(make_ud(), datagram(make_ah(pd), 5));
}

static al_status datagram_to_a_long_number(void)
{
	expect("remote_qpn is 0x1000000, and numbers have 24 bits");
	return send_wr(make_ud(), datagram(make_ah(end[0].pd), 0x1000000));
}

/* -------------------------------------------------------------------- handles */

static al_status busy_domain(void)
{
	expect("the pd is in use by 1 mr, 1 cq, 1 qp; destroy these first");
	return al_dealloc_pd(end[0].pd, NULL, NULL);
}

static al_status busy_queue(void)
{
	make_qp(IB_QPT_UD);
	expect("the cq is in use by 2 qp; destroy these first");
	return al_destroy_cq(end[0].cq, AL_DESTROY_SYNC, NULL);
}

static al_status busy_channel(void)
{
	struct al_cq_init init = { .cqe = 1 };
	al_channel_h channel;
	al_cq_h cq;

	ck_ok(al_create_channel(al, NULL, &channel));
	init.channel = channel;
	ck_ok(al_create_cq(end[0].pd, &init, NULL, NULL, NULL, &cq));
	expect("the channel is in use by 1 cq; destroy these first");
	return al_destroy_channel(channel, AL_DESTROY_SYNC, NULL);
}

static al_status stale_handle(void)
{
	al_qp_h qp = make_qp(IB_QPT_RC);
	struct ib_qp_attr attr;

	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	expect("the handle %#llx is of no qp: it was destroyed, or never was one",
	       (unsigned long long)(uintptr_t)qp);
	return al_query_qp(qp, &attr, NULL);
}

static al_status destroyed_twice(void)
{
	al_qp_h qp = make_qp(IB_QPT_RC);

	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	expect("the handle %#llx is of no qp: it was destroyed, or never was one",
	       (unsigned long long)(uintptr_t)qp);
	return al_destroy_qp(qp, AL_DESTROY_SYNC, NULL);
}

static al_status null_handle(void)
{
	al_pd_h pd;

	expect("the handle of the ca is NULL");
	return al_alloc_pd(NULL, NULL, &pd);
}

static al_status post_to_a_cq(void)
{
	expect("the handle %#llx is of a cq, not of a qp", (unsigned long long)(uintptr_t)end[0].cq);
	return send_wr((al_qp_h)(void *)end[0].cq, (struct ib_send_wr){ .opcode = IB_WR_SEND });
}

static al_status poll_nothing(void)
{
	struct ib_wc wc;
	uint32_t count;

	expect("num is 0, and wc has at least one element");
	return al_poll_cq(end[0].cq, 0, &wc, &count);
}

static al_status unknown_arm(void)
{
	expect("type is 9, which is no arm type");
	return al_arm_cq(end[0].cq, (al_arm)9, NULL);
}

static al_status arm_for_none(void)
{
	struct al_cq_attr attr;

	ck_ok(al_query_cq(end[0].cq, &attr));
	expect("num is 0, and the completion queue has 1 to %u entries to count", attr.cqe);
	return al_arm_cq_n(end[0].cq, 0);
}

static al_status overflowed(void)
{
	struct al_cq_init init = { .cqe = 1 };
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { .max_recv_wr = 4000 } };
	struct timespec deadline = test_deadline();
	const struct ib_recv_wr *bad;
	struct ib_recv_wr wr = { 0 };
	struct ib_wc wc;
	uint32_t count;
	al_status status;
	al_cq_h cq;
	al_qp_h qp;

	ck_ok(al_create_cq(end[0].pd, &init, NULL, NULL, NULL, &cq));
	qp_init.send_cq = qp_init.recv_cq = cq;
	ck_ok(al_create_qp(end[0].pd, &qp_init, NULL, NULL, &qp));
	ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	for (uint32_t i = 0; i < init.cqe + 1; i++)
		ck_ok(al_post_recv(qp, &wr, &bad));
	ck_ok(test_modify(qp, IB_QPS_ERR, attr, IB_QP_STATE)); /* flushes one receive too many */
	expect("the completion queue has overflowed: a completion found it full; create a larger one (cqe)");
	do {
		status = al_poll_cq(cq, 1, &wc, &count);
		ck_assert(!test_expired(&deadline));
	} while (!status);
	return status;
}

/* --------------------------------------------------------- HCAs, ports, addresses */

static al_status unknown_hca(void)
{
	al_ca_h ca;

	expect("no HCA of GUID 0x0000000000000123 is here");
	return al_open_ca(al, 0x123, NULL, &ca);
}

static al_status unknown_port(void)
{
	expect("port is 77, and the HCA's ports are 1 to %u", limits.num_ports);
	return al_query_port(end[0].ca, 77, &(struct ib_port_attr){ 0 });
}

static al_status gid_index_beyond(void)
{
	expect("index is 5000, and the GID table of port 1 has %u entries", port.gid_tbl_len);
	return al_query_gid(end[0].ca, 1, 5000, &(ib_gid){ { 0 } });
}

static al_status unknown_gid(void)
{
	uint8_t at;
	uint32_t index;

	expect("the GID is in no GID table of the HCA");
	return al_find_gid(end[0].ca, &(ib_gid){ { 1, 2, 3 } }, &at, &index);
}

static al_status unknown_pkey(void)
{
	uint32_t index;

	expect("the P_Key 0x1234 is not in the P_Key table of port 1");
	return al_find_pkey(end[0].ca, 1, 0x1234, &index);
}

static al_status flow_label_too_long(void)
{
	struct ib_ah_attr attr = {
		.dlid = 1, .port_num = 1, .is_global = true, .grh.flow_label = 1u << 20
	};
	al_ah_h ah;

	expect("flow_label is 1048576, and the most is 1048575");
	return al_create_ah(end[0].pd, &attr, &ah);
}

static al_status path_without_lid(void)
{
	struct ib_ah_attr attr = { .port_num = 1 };
	al_ah_h ah;

	expect("dlid is 0, which is no port's LID; ib_port_attr.lid of the peer's port, or a path record, has the LID");
	return al_create_ah(end[0].pd, &attr, &ah);
}

static al_status answer_to_a_send(void)
{
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_SEND };
	struct ib_ah_attr attr;

	expect("wc is not of a successful receive: its status is \"%s\", its opcode \"%s\"",
	       al_wc_status_str(IB_WC_SUCCESS), al_wc_opcode_str(IB_WC_SEND));
	return al_init_ah_from_wc(end[0].ca, 1, &wc, NULL, &attr);
}

static al_status description_without_end(void)
{
	struct ib_ca_attr attr;

	memset(&attr, 'x', sizeof(attr));
	expect("node_desc has no zero byte at its end");
	return al_modify_ca(end[0].ca, IB_CA_MODIFY_NODE_DESC, &attr);
}

/* ----------------------------------------------------- multicast, events, datagrams */

static const ib_gid group = { { 0xff, 0x12, 0, 1 } };

static al_status multicast_of_rc(void)
{
	expect("multicast is for queue pairs of the type UD, and the queue pair's is RC");
	return al_attach_mcast(end[0].qp, &group, 0xc001);
}

static al_status multicast_to_unicast(void)
{
	expect("mlid is 0x5, and multicast LIDs are 0xc000 to 0xfffe");
	return al_attach_mcast(make_ud(), &group, 5);
}

static al_status leave_without_join(void)
{
	expect("the queue pair is no member of the group");
	return al_detach_mcast(make_ud(), &group, 0xc001);
}

static al_status pnp_without_callback(void)
{
	al_pnp_h pnp;

	expect("a registration has either a callback or a channel");
	return al_reg_pnp(al, NULL, NULL, NULL, &pnp);
}

static al_status handler_without_callback(void)
{
	al_event_handler_h handler;

	expect("a handler has either a callback or a channel");
	return al_reg_event_handler(end[0].ca, NULL, NULL, NULL, &handler);
}

static al_status service_of_no_class(void)
{
	struct al_mad_svc_init init = { .port_num = 1, .class_version = 1 };
	al_mad_svc_h svc;

	expect("mgmt_class is 0, which is no class");
	return al_reg_mad_svc(end[0].ca, &init, NULL, test_ignore_mad, &svc);
}

static al_status service_twice(void)
{
	struct al_mad_svc_init init = {
		.port_num = 1, .mgmt_class = 0x30, .class_version = 1, .oui = { 1, 2, 3 }, .methods = { 2 }
	};
	al_mad_svc_h svc;

	ck_ok(al_reg_mad_svc(end[0].ca, &init, NULL, test_ignore_mad, &svc));
	expect("a service of %.15s[%d] takes the same methods of class 0x30 version 1 already",
	       program_invocation_short_name, (int)getpid());
	return al_reg_mad_svc(end[0].ca, &init, NULL, test_ignore_mad, &svc);
}

static al_status datagram_of_another_class(void)
{
	struct al_mad_svc_init init = {
		.port_num = 1, .mgmt_class = 0x09, .class_version = 1
	};
	struct ib_mad mad = { .hdr = { .base_version = 1, .mgmt_class = 0x0a, .class_version = 1 } };
	struct al_mad_send send = { .mad = &mad,
				    .length = sizeof(mad),
				    .path = { .dlid = end[1].lid, .port_num = 1 },
				    .remote_qpn = 1,
				    .remote_qkey = IB_QKEY_WELL_KNOWN };
	al_mad_svc_h svc;

	ck_ok(al_reg_mad_svc(end[0].ca, &init, NULL, test_ignore_mad, &svc));
	expect("the datagram's class is 0xa, and the service's is 0x9");
	return al_send_mad(svc, &send);
}

static struct {
	sem_t done;
	al_status status;
	char reason[256];
} in_callback;

static void sleep_in_callback(void *context)
{
	al_pd_h pd;

	(void)context;
	in_callback.status = al_alloc_pd(end[0].ca, NULL, &pd);
	snprintf(in_callback.reason, sizeof(in_callback.reason), "%s", al_reason());
	sem_post(&in_callback.done);
}

/* ---------------------------------------------------------------------- table */

#define MISTAKE(function, status) { function, #function, status }
static const struct {
	al_status (*make)(void);
	const char *name;
	al_status status;
} mistakes[] = {
	MISTAKE(attributes_missing, AL_MISSING_ATTRIBUTE),
	MISTAKE(attribute_not_taken, AL_INVALID_ATTRIBUTE),
	MISTAKE(no_transition, AL_INVALID_TRANSITION),
	MISTAKE(no_change_in_state, AL_INVALID_TRANSITION),
	MISTAKE(attributes_of_another_state, AL_INVALID_ATTRIBUTE),
	MISTAKE(error_with_attributes, AL_INVALID_ATTRIBUTE),
	MISTAKE(another_current_state, AL_INVALID_TRANSITION),
	MISTAKE(no_mask, AL_INVALID_PARAMETER),
	MISTAKE(mask_unknown, AL_INVALID_PARAMETER),
	MISTAKE(reserved_used, AL_INVALID_PARAMETER),
	MISTAKE(wrong_port, AL_INVALID_PORT),
	MISTAKE(wrong_pkey_index, AL_INVALID_PKEY_INDEX),
	MISTAKE(wrong_access, AL_INVALID_PARAMETER),
	MISTAKE(wrong_mtu, AL_INVALID_PARAMETER),
	MISTAKE(no_mtu, AL_INVALID_PARAMETER),
	MISTAKE(no_lid, AL_INVALID_PARAMETER),
	MISTAKE(path_without_lid, AL_INVALID_PARAMETER),
	MISTAKE(wrong_path_port, AL_INVALID_PORT),
	MISTAKE(wrong_level, AL_INVALID_PARAMETER),
	MISTAKE(wrong_path_bits, AL_INVALID_PARAMETER),
	MISTAKE(wrong_qpn, AL_INVALID_PARAMETER),
	MISTAKE(wrong_reads, AL_LIMIT_EXCEEDED),
	MISTAKE(wrong_timeout, AL_INVALID_PARAMETER),
	MISTAKE(wrong_retries, AL_INVALID_PARAMETER),
	MISTAKE(no_type, AL_INVALID_PARAMETER),
	MISTAKE(type_not_offered, AL_UNSUPPORTED),
	MISTAKE(port_at_creation, AL_INVALID_PARAMETER),
	MISTAKE(queue_too_long, AL_LIMIT_EXCEEDED),
	MISTAKE(cq_of_another_hca, AL_INVALID_CA),
	MISTAKE(pd_as_cq, AL_INVALID_HANDLE),
	MISTAKE(no_entries, AL_INVALID_PARAMETER),
	MISTAKE(too_many_entries, AL_LIMIT_EXCEEDED),
	MISTAKE(wrong_vector, AL_INVALID_PARAMETER),
	MISTAKE(resized_too_far, AL_LIMIT_EXCEEDED),
	MISTAKE(region_of_nothing, AL_INVALID_PARAMETER),
	MISTAKE(remote_write_only, AL_INVALID_PARAMETER),
	MISTAKE(unknown_access, AL_INVALID_PARAMETER),
	MISTAKE(unmapped_memory, AL_INVALID_ADDRESS),
	MISTAKE(memory_past_the_end, AL_INVALID_PARAMETER),
	MISTAKE(iova_off_the_page, AL_INVALID_PARAMETER),
	MISTAKE(send_in_reset, AL_INVALID_STATE),
	MISTAKE(receive_in_reset, AL_INVALID_STATE),
	MISTAKE(too_many_elements, AL_INVALID_SGE),
	MISTAKE(no_list, AL_INVALID_SGE),
	MISTAKE(lengths_overflow, AL_INVALID_SGE),
	MISTAKE(inline_too_long, AL_INVALID_SGE),
	MISTAKE(unknown_opcode, AL_INVALID_OPCODE),
	MISTAKE(unknown_send_flags, AL_INVALID_OPCODE),
	MISTAKE(write_by_datagram, AL_INVALID_OPCODE),
	MISTAKE(send_queue_full, AL_QUEUE_FULL),
	MISTAKE(receive_queue_full, AL_QUEUE_FULL),
	MISTAKE(datagram_without_ah, AL_INVALID_HANDLE),
	MISTAKE(datagram_of_another_domain, AL_INVALID_PD),
	MISTAKE(datagram_to_a_long_number, AL_INVALID_PARAMETER),
	MISTAKE(busy_domain, AL_RESOURCE_BUSY),
	MISTAKE(busy_queue, AL_RESOURCE_BUSY),
	MISTAKE(busy_channel, AL_RESOURCE_BUSY),
	MISTAKE(stale_handle, AL_INVALID_HANDLE),
	MISTAKE(destroyed_twice, AL_INVALID_HANDLE),
	MISTAKE(null_handle, AL_INVALID_HANDLE),
	MISTAKE(post_to_a_cq, AL_INVALID_HANDLE),
	MISTAKE(poll_nothing, AL_INVALID_PARAMETER),
	MISTAKE(unknown_arm, AL_INVALID_PARAMETER),
	MISTAKE(arm_for_none, AL_INVALID_PARAMETER),
	MISTAKE(overflowed, AL_CQ_ERROR),
	MISTAKE(unknown_hca, AL_NOT_FOUND),
	MISTAKE(unknown_port, AL_INVALID_PORT),
	MISTAKE(gid_index_beyond, AL_INVALID_GID_INDEX),
	MISTAKE(unknown_gid, AL_NOT_FOUND),
	MISTAKE(unknown_pkey, AL_NOT_FOUND),
	MISTAKE(flow_label_too_long, AL_INVALID_PARAMETER),
	MISTAKE(answer_to_a_send, AL_INVALID_PARAMETER),
	MISTAKE(description_without_end, AL_INVALID_PARAMETER),
	MISTAKE(multicast_of_rc, AL_INVALID_QP_TYPE),
	MISTAKE(multicast_to_unicast, AL_INVALID_PARAMETER),
	MISTAKE(leave_without_join, AL_NOT_FOUND),
	MISTAKE(pnp_without_callback, AL_INVALID_PARAMETER),
	MISTAKE(handler_without_callback, AL_INVALID_PARAMETER),
	MISTAKE(service_of_no_class, AL_INVALID_PARAMETER),
	MISTAKE(service_twice, AL_DUPLICATE),
	MISTAKE(datagram_of_another_class, AL_INVALID_PARAMETER),
};
#define MISTAKES ((int)(sizeof(mistakes) / sizeof(mistakes[0])))

static void set_up(void)
{
	al = test_open();
	test_guids(al, guids, 2);
	test_make_pair(al, end);
	ck_ok(al_query_ca(end[0].ca, &limits));
	ck_ok(al_query_port(end[0].ca, 1, &port));
	al_set_log(test_ignore_log, NULL);
}

static void tear_down(void)
{
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
	al_set_log(NULL, NULL);
}

START_TEST(every_mistake_is_refused_with_its_sentence)
{
	al_status status = mistakes[_i].make();

	ck_assert_msg(status == mistakes[_i].status, "%s: %s, expected %s: %s", mistakes[_i].name,
		      al_status_name(status), al_status_name(mistakes[_i].status), al_reason());
	ck_assert_msg(!strcmp(al_reason(), want), "%s:\n  %s\nexpected:\n  %s", mistakes[_i].name,
		      al_reason(), want);
}
END_TEST

START_TEST(a_call_that_sleeps_is_refused_in_a_callback_with_its_sentence)
{
	struct al_cq_init init = { .cqe = 16 };
	struct ib_qp_attr attr = test_attr(1, 1, IB_MTU_1024);
	struct al_qp_init qp_init = { .qp_type = IB_QPT_RC, .cap = { .max_recv_wr = 4 } };
	const struct ib_recv_wr *bad;
	struct ib_recv_wr wr = { 0 };
	al_cq_h cq;
	al_qp_h qp;

	sem_init(&in_callback.done, 0, 0);
	ck_ok(al_create_cq(end[0].pd, &init, NULL, sleep_in_callback, NULL, &cq));
	qp_init.send_cq = qp_init.recv_cq = cq;
	ck_ok(al_create_qp(end[0].pd, &qp_init, NULL, NULL, &qp));
	ck_ok(al_arm_cq(cq, AL_ARM_ANY, NULL));
	ck_ok(test_modify(qp, IB_QPS_INIT, attr, TEST_RC_INIT));
	ck_ok(al_post_recv(qp, &wr, &bad));
	ck_ok(test_modify(qp, IB_QPS_ERR, attr, IB_QP_STATE));
	test_wait(&in_callback.done);
	ck_status(in_callback.status, AL_INVALID_CONTEXT);
	ck_assert_str_eq(in_callback.reason,
			 "the call may sleep, and the thread is in a callback that must not; "
			 "make the call in another thread");
	ck_assert_str_eq(al_reason(), ""); /* the reason is the callback's thread's */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("e2e/mistakes");
	TCase *tc = tcase_create("mistakes");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_mistake_is_refused_with_its_sentence, 0, MISTAKES);
	tcase_add_test(tc, a_call_that_sleeps_is_refused_in_a_callback_with_its_sentence);
	suite_add_tcase(s, tc);
	return test_run(s);
}
