/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hostile packets: bytes off the cable that no correct peer sends. Each has the effect that IBTA 9.6 and 9.7 specify,
 * or only counts. The packets go to b on the last HCA, as if they came from a.
 */
#include "hca/soft/packet/wire.h"
#include "harness.h"

#define MTU  256
#define QKEY 0x11223344

static struct pair p;
static uint8_t payload[4096];

static void start(const struct qp_options *o)
{
	up("mtu=2048");
	pair_up(&p, o, 1 << 16);
	fill((char *)payload, sizeof(payload), 7);
	memset(p.bm->buf, 0, 1 << 16);
}

static void finish(void)
{
	pair_down(&p);
	down();
}

/* Makes a correct packet for b. */
static struct wire_packet to_b(uint8_t opcode, uint32_t psn, uint32_t length)
{
	struct wire_packet w;

	memset(&w, 0, sizeof(w));
	w.framing = WIRE_IB;
	w.lrh.slid = 1;
	w.lrh.dlid = 2;
	w.bth.opcode = opcode;
	w.bth.migrated = true;
	w.bth.ack_req = true;
	w.bth.pkey = 0xffff;
	w.bth.dest_qpn = p.b->ci->qp_num;
	w.bth.psn = psn;
	w.reth.va = (uintptr_t)p.bm->buf;
	w.reth.rkey = p.bm->ci->rkey;
	w.reth.dma_len = length;
	w.atomic.va = (uintptr_t)p.bm->buf;
	w.atomic.rkey = p.bm->ci->rkey;
	w.deth.qkey = QKEY;
	w.deth.src_qpn = p.a->ci->qp_num;
	w.payload = payload;
	w.length = length;
	return w;
}

static struct wire_packet to_a(uint8_t opcode, uint32_t psn, uint32_t length)
{
	struct wire_packet w = to_b(opcode, psn, length);

	w.lrh.slid = 2;
	w.lrh.dlid = 1;
	w.bth.dest_qpn = p.a->ci->qp_num;
	w.aeth.syndrome = 0x1f;
	return w;
}

static uint32_t inject(struct hca *h, const struct wire_packet *w)
{
	uint8_t bytes[WIRE_MAX_BYTES];
	size_t len = wire_encode(w, bytes, sizeof(bytes));

	ck_assert_uint_ne(len, 0);
	return inject_bytes(h, bytes, len).outcome;
}

static void delivered(struct hca *h, const struct wire_packet *w)
{
	ck_assert_uint_eq(inject(h, w), SOFT_INJECT_DELIVERED);
}

/* Expects that no side has an event or completion, that no memory has changed, and that both sides still work. */
static void nothing_changed(void)
{
	size_t i;

	expect_empty(p.acq);
	expect_empty(p.bcq);
	ck_assert_uint_eq((p.a->events | p.b->events) & ~(1u << IB_EVENT_COMM_EST), 0);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	for (i = 0; i < 1 << 16; i++)
		ck_assert_int_eq(p.bm->buf[i], 0);
}

/* ------------------------------------------------------ packets that arrive */

START_TEST(bytes_that_are_a_packet_are_taken_for_one)
{
	struct wire_packet w;
	struct ib_sge to;
	struct ib_wc wc;

	start(&(struct qp_options){ 0 });
	w = to_b(0x06, 0, 0);
	w.length = MTU;
	w.reth.dma_len = MTU + 5;
	delivered(&hca[1], &w);
	w = to_b(0x08, 1, 5);
	w.payload = payload + MTU;
	delivered(&hca[1], &w);
	ck_assert_mem_eq(p.bm->buf, payload, MTU + 5);
	to = sge_of(p.bm, 1024, 1024);
	post_recv(p.b, 9, &to, 1);
	w = to_b(0x00, 2, MTU);
	delivered(&hca[1], &w);
	w = to_b(0x03, 3, 3);
	w.imm = 0x12345678;
	delivered(&hca[1], &w);
	wc = expect_wc(p.bcq, 9, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, MTU + 3);
	ck_assert_uint_eq(wc.imm_data, 0x12345678);
	ck_assert_mem_eq(p.bm->buf + 1024, payload, MTU);
	ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
	finish();
}
END_TEST

START_TEST(bytes_that_are_none_are_counted)
{
	uint8_t bytes[WIRE_MAX_BYTES] = { 0 };
	struct wire_packet w;
	size_t len, i;

	start(&(struct qp_options){ 0 });
	w = to_b(0x0a, 0, 16);
	len = wire_encode(&w, bytes, sizeof(bytes));
	for (i = 0; i < len; i++) {
		bytes[i] ^= 0x10;
		ck_assert_uint_eq(inject_bytes(&hca[1], bytes, len).outcome, SOFT_INJECT_MALFORMED);
		bytes[i] ^= 0x10;
		ck_assert_uint_eq(inject_bytes(&hca[1], bytes, i).outcome, SOFT_INJECT_MALFORMED);
	}
	ck_assert_uint_eq(counters(&hca[1]).rcv_errors, 2 * len);
	bytes[len - 1] ^= 1;
	ck_assert_uint_eq(inject_bytes(&hca[1], bytes, len).refusal, WIRE_BAD_VCRC);
	w = to_b(0x0a, 0, 4096); /* more than the port's MTU */
	ck_assert_uint_eq(inject(&hca[1], &w), SOFT_INJECT_MALFORMED);
	nothing_changed();
	finish();
}
END_TEST

START_TEST(a_stray_packet_is_dropped)
{
	struct wire_packet w;

	start(&(struct qp_options){ 0 });
	w = to_b(0x0a, 0, 16);
	w.lrh.dlid = 3;
	ck_assert_uint_eq(inject(&hca[1], &w), SOFT_INJECT_STRAY);
	w.lrh.dlid = 2;
	w.lrh.slid = 7; /* the LID of no port */
	ck_assert_uint_eq(inject(&hca[1], &w), SOFT_INJECT_STRAY);
	w.lrh.slid = 2; /* not the peer's LID */
	delivered(&hca[1], &w);
	w.lrh.slid = 1;
	w.bth.dest_qpn = p.b->ci->qp_num + 1;
	ck_assert_uint_eq(inject(&hca[1], &w), SOFT_INJECT_NO_QP);
	w.bth.dest_qpn = p.b->ci->qp_num;
	w.bth.pkey = 0x1234;
	delivered(&hca[1], &w);
	w.bth.pkey = 0xffff;
	w.bth.opcode = 0x2a; /* an opcode of UC */
	delivered(&hca[1], &w);
	w.bth.opcode = 0x64; /* an opcode of UD */
	delivered(&hca[1], &w);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, 7);
	nothing_changed();
	finish();
}
END_TEST

START_TEST(a_queue_pair_that_is_not_ready_hears_nothing)
{
	struct qp_options o = { .mtu = IB_MTU_256 };
	struct wire_packet w;
	struct qp *idle;

	start(&(struct qp_options){ 0 });
	idle = new_qp(&hca[1], p.bcq, p.bcq, &o);
	w = to_b(0x0a, 0, 16);
	w.bth.dest_qpn = idle->ci->qp_num;
	delivered(&hca[1], &w);
	to_init(idle, &o);
	delivered(&hca[1], &w);
	w.bth.opcode = 0x11;
	w.length = 0;
	delivered(&hca[1], &w);
	ck_assert_int_eq(state_of(idle), IB_QPS_INIT);
	nothing_changed();
	free_qp(idle);
	finish();
}
END_TEST

/* --------------------------------------------------------- sequence and duplicates */

START_TEST(a_psn_from_the_future_is_refused_once)
{
	struct wire_packet w;

	start(&(struct qp_options){ 0 });
	w = to_b(0x0a, 5, 16);
	delivered(&hca[1], &w);
	delivered(&hca[1], &w);
	ck_assert_uint_eq(counters(&hca[1]).seq_naks, 1);
	nothing_changed();
	finish();
}
END_TEST

START_TEST(a_psn_from_the_past_is_not_executed)
{
	struct wire_packet w;

	start(&(struct qp_options){ 0 });
	w = to_b(0x0a, 0xfffff0, 16);
	delivered(&hca[1], &w);
	w = to_b(0x14, 0xfffff1, 0); /* a duplicate of an atomic that was never sent */
	delivered(&hca[1], &w);
	w = to_b(0x0c, 0xfffff2, 0);
	w.reth.dma_len = 16;
	delivered(&hca[1], &w);
	nothing_changed();
	finish();
}
END_TEST

/* --------------------------------------------- requests that end the connection */

struct bad_request {
	uint8_t opcode;
	uint32_t length, dma_len;
	uint64_t va;   /* added to the address */
	uint32_t rkey; /* bits changed in the key */
	ib_event_type event;
};

/* IBTA 9.7.4.1, 9.9.3: NAK, and the responder's queue pair in error. */
static const struct bad_request bad_requests[] = {
	{ 0x01, MTU, 0, 0, 0, IB_EVENT_QP_REQ_ERR }, /* a middle packet without a first */
	{ 0x02, 16, 0, 0, 0, IB_EVENT_QP_REQ_ERR },  /* a last packet without a first */
	{ 0x07, MTU, 0, 0, 0, IB_EVENT_QP_REQ_ERR },
	{ 0x08, 16, 0, 0, 0, IB_EVENT_QP_REQ_ERR },
	{ 0x16, 16, 0, 0, 0, IB_EVENT_QP_REQ_ERR }, /* send with invalidate, which the HCA does not offer */
	{ 0x17, 16, 0, 0, 0, IB_EVENT_QP_REQ_ERR },
	{ 0x06, MTU - 4, 1000, 0, 0, IB_EVENT_QP_REQ_ERR },    /* a first packet shorter than the MTU */
	{ 0x0a, MTU + 4, MTU + 4, 0, 0, IB_EVENT_QP_REQ_ERR }, /* more than the path MTU */
	{ 0x0a, 16, 17, 0, 0, IB_EVENT_QP_REQ_ERR },           /* the RETH has another length */
	{ 0x0a, 16, 15, 0, 0, IB_EVENT_QP_REQ_ERR },
	{ 0x0c, 0, 0x80000001, 0, 0, IB_EVENT_QP_REQ_ERR }, /* a read longer than any message */
	{ 0x13, 0, 0, 4, 0, IB_EVENT_QP_REQ_ERR },          /* an unaligned atomic */
	{ 0x14, 0, 0, 1, 0, IB_EVENT_QP_REQ_ERR },
	{ 0x0a, 16, 16, 0, 0x100, IB_EVENT_QP_ACCESS_ERR }, /* keys and ranges */
	{ 0x0a, 16, 16, (1 << 16) - 8, 0, IB_EVENT_QP_ACCESS_ERR },
	{ 0x0a, 16, 16, -(uint64_t)8, 0, IB_EVENT_QP_ACCESS_ERR },
	{ 0x0c, 0, 16, 0, 1, IB_EVENT_QP_ACCESS_ERR },
	{ 0x13, 0, 0, 1 << 16, 0, IB_EVENT_QP_ACCESS_ERR },
};

START_TEST(a_request_that_can_not_be_ends_the_connection)
{
	const struct bad_request *bad = &bad_requests[_i];
	struct wire_packet w;
	struct ib_sge to;

	start(&(struct qp_options){ 0 });
	to = sge_of(p.bm, 0, 4096);
	if (bad->opcode < 6)
		post_recv(p.b, 1, &to, 1);
	w = to_b(bad->opcode, 0, bad->length);
	w.reth.dma_len = bad->dma_len;
	w.reth.va += bad->va;
	w.atomic.va += bad->va;
	w.reth.rkey ^= bad->rkey;
	delivered(&hca[1], &w);
	wait_state(p.b, IB_QPS_ERR);
	wait_bits(&p.b->events, 1u << bad->event);
	ck_assert_int_eq(state_of(p.a), IB_QPS_RTS); /* a has no request outstanding */
	expect_empty(p.acq);
	finish();
}
END_TEST

/* ---------------------------------------------------------- unexpected responses */

START_TEST(a_response_to_no_request_is_ignored)
{
	static const uint8_t opcodes[] = { 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12 };
	static const uint8_t syndromes[] = { 0x1f, 0x00, 0x20, 0x3f, 0x60, 0x61,
					     0x62, 0x63, 0x64, 0x7f, 0x40, 0xff };
	struct wire_packet w;
	size_t i, j;

	start(&(struct qp_options){ 0 });
	for (i = 0; i < sizeof(opcodes); i++)
		for (j = 0; j < sizeof(syndromes); j++) {
			w = to_a(opcodes[i], (uint32_t)(j * 0x155555), opcodes[i] < 0x11 ? MTU : 0);
			w.aeth.syndrome = syndromes[j];
			delivered(&hca[0], &w);
		}
	nothing_changed();
	finish();
}
END_TEST

/* A write's packets are lost, so it waits for its ACK. The packet that comes instead does not answer the write. */
struct bad_answer {
	uint8_t opcode, syndrome;
	uint32_t length;
	ib_wc_status status;
};

static const struct bad_answer bad_answers[] = {
	{ 0x10, 0x1f, 16, IB_WC_BAD_RESP_ERR }, /* a read response */
	{ 0x12, 0x1f, 0, IB_WC_BAD_RESP_ERR },  /* an atomic response */
	{ 0x11, 0x64, 0, IB_WC_BAD_RESP_ERR },  /* reserved NAK codes */
	{ 0x11, 0x40, 0, IB_WC_BAD_RESP_ERR },
	{ 0x11, 0x61, 0, IB_WC_REM_INV_REQ_ERR }, /* valid NAK codes */
	{ 0x11, 0x62, 0, IB_WC_REM_ACCESS_ERR },
	{ 0x11, 0x63, 0, IB_WC_REM_OP_ERR },
};

START_TEST(an_answer_of_the_wrong_kind_is_a_bad_response)
{
	const struct bad_answer *bad = &bad_answers[_i];
	struct wire_packet w;

	start(&(struct qp_options){ .timeout = 20 });
	fault(&hca[0],
	      (struct soft_fault){ .action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST, .n = 1 });
	rdma(&p, IB_WR_RDMA_WRITE, 3, 0, 0, 16);
	w = to_a(bad->opcode, 0, bad->length);
	w.aeth.syndrome = bad->syndrome;
	w.lrh.slid = 1; /* not from the peer's LID */
	delivered(&hca[0], &w);
	expect_empty(p.acq);
	w.lrh.slid = 2;
	delivered(&hca[0], &w);
	expect_wc(p.acq, 3, bad->status);
	wait_state(p.a, IB_QPS_ERR);
	finish();
}
END_TEST

/* ------------------------------------------------------ UC, UD, the vendor call */

START_TEST(unreliable_services_drop_in_silence)
{
	static const uint8_t uc[] = { 0x21, 0x22, 0x27, 0x28, 0x0a, 0x64, 0x11, 0x10, 0x12 };
	struct wire_packet w;
	size_t i;

	start(&(struct qp_options){ .type = IB_QPT_UC });
	for (i = 0; i < sizeof(uc); i++) {
		w = to_b(uc[i], 0, uc[i] == 0x11 || uc[i] == 0x12 ? 0 : MTU);
		delivered(&hca[1], &w);
	}
	nothing_changed();
	finish();
	start(&(struct qp_options){ .type = IB_QPT_UD, .qkey = QKEY });
	w = to_b(0x64, 0, 16); /* b has no receive */
	delivered(&hca[1], &w);
	w.deth.qkey++;
	delivered(&hca[1], &w);
	w.bth.opcode = 0x04;
	delivered(&hca[1], &w);
	w.bth.opcode = 0x11;
	w.length = 0;
	delivered(&hca[1], &w);
	nothing_changed();
	finish();
}
END_TEST

START_TEST(a_datagram_off_the_cable_arrives)
{
	struct wire_packet w;
	struct ib_sge to;
	struct ib_wc wc;

	start(&(struct qp_options){ .type = IB_QPT_UD, .qkey = QKEY });
	to = sge_of(p.bm, 0, 1024);
	post_recv(p.b, 4, &to, 1);
	w = to_b(0x65, 0, 33);
	w.imm = 77;
	w.lrh.sl = 5;
	delivered(&hca[1], &w);
	wc = expect_wc(p.bcq, 4, IB_WC_SUCCESS);
	ck_assert_uint_eq(wc.byte_len, 40 + 33);
	ck_assert_uint_eq(wc.src_qp, p.a->ci->qp_num);
	ck_assert_uint_eq(wc.slid, 1);
	ck_assert_uint_eq(wc.sl, 5);
	ck_assert_uint_eq(wc.imm_data, 77);
	ck_assert_mem_eq(p.bm->buf + 40, payload, 33);
	finish();
}
END_TEST

/* P_Key 0x8000 does not match an empty entry of the table. */
START_TEST(a_pkey_without_a_value_is_of_no_partition)
{
	struct wire_packet w;

	start(&(struct qp_options){ .pkey_index = 1 });
	w = to_b(0x0a, 0, 8);
	w.bth.pkey = 0x8000;
	delivered(&hca[1], &w);
	nothing_changed();
	finish();
}
END_TEST

/* b, of type UC, has taken a UC packet. So only the type of a keeps a's small message from the short way. */
START_TEST(a_peer_of_another_type_takes_nothing_on_any_way)
{
	struct qp_options rc = { .type = IB_QPT_RC, .timeout = 5, .retry_cnt = 0xff };
	struct wire_packet w;

	start(&(struct qp_options){ .type = IB_QPT_UC });
	free_qp(p.a);
	p.a = new_qp(&hca[0], p.acq, p.acq, &rc);
	modify(p.b, IB_QPS_RESET, 0, NULL);
	to_init(p.b, &p.o);
	to_rtr(p.b, p.a, &p.o);
	rc.psn = 1; /* the PSN that b expects */
	to_init(p.a, &rc);
	to_rtr(p.a, p.b, &rc);
	to_rts(p.a, &rc);
	w = to_b(0x2a, 0, 8);
	delivered(&hca[1], &w);
	ck_assert_mem_eq(p.bm->buf, payload, 8);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 64, 8);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	finish();
}
END_TEST

START_TEST(a_wrong_call_is_refused)
{
	struct soft_inject in = { .port = 2 };
	struct soft_injected out;
	struct ci_vendor_call call = { .code = SOFT_INJECT,
				       .in = &in,
				       .in_len = sizeof(in),
				       .out = &out,
				       .out_len = sizeof(out) };

	start(&(struct qp_options){ 0 });
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_INVALID_PORT);
	in.port = 1;
	in.length = SOFT_INJECT_BYTES + 1;
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_INVALID_PARAMETER);
	finish();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostile");
	TCase *t = tcase_create("hostile");

	tcase_add_test(t, bytes_that_are_a_packet_are_taken_for_one);
	tcase_add_test(t, bytes_that_are_none_are_counted);
	tcase_add_test(t, a_stray_packet_is_dropped);
	tcase_add_test(t, a_queue_pair_that_is_not_ready_hears_nothing);
	tcase_add_test(t, a_psn_from_the_future_is_refused_once);
	tcase_add_test(t, a_psn_from_the_past_is_not_executed);
	tcase_add_loop_test(t, a_request_that_can_not_be_ends_the_connection, 0,
			    sizeof(bad_requests) / sizeof(*bad_requests));
	tcase_add_test(t, a_response_to_no_request_is_ignored);
	tcase_add_loop_test(t, an_answer_of_the_wrong_kind_is_a_bad_response, 0,
			    sizeof(bad_answers) / sizeof(*bad_answers));
	tcase_add_test(t, unreliable_services_drop_in_silence);
	tcase_add_test(t, a_datagram_off_the_cable_arrives);
	tcase_add_test(t, a_pkey_without_a_value_is_of_no_partition);
	tcase_add_test(t, a_peer_of_another_type_takes_nothing_on_any_way);
	tcase_add_test(t, a_wrong_call_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
