/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Classes of bugs that users of other software HCAs have reported, each under its name: teardown, arithmetic,
 * protocol, protection. The tests of RC, most of them in virtual time; tests of all types are in
 * bugclass_unreliable_test.c.
 */
#include "hca/soft/shared/opcode.h"

#include "harness.h"

#define MTU           256
#define TIMEOUT(code) (4096ull << (code)) /* a code's time-out in ns: IBTA 9.7.6.1.3 */
#define TICK          4096ull             /* largest delay of a timer in virtual time, in ns */

static struct pair p;

static void setup(void)
{
	up("progress=manual seed=1");
}

static void start(const struct qp_options *o, size_t size)
{
	pair_up(&p, o, size);
	fill(p.am->buf, size, 1);
	fill(p.bm->buf, size, 2);
}

static void teardown(void)
{
	pair_down(&p);
	down();
}

static void drop(struct hca *h, uint32_t flow, uint64_t n, uint64_t count)
{
	fault(h, (struct soft_fault){
			 .action = SOFT_FAULT_DROP, .flow = flow, .n = n, .count = count });
}

static const ib_wr_opcode opcodes[] = { IB_WR_SEND,
					IB_WR_SEND_WITH_IMM,
					IB_WR_RDMA_WRITE,
					IB_WR_RDMA_WRITE_WITH_IMM,
					IB_WR_RDMA_READ,
					IB_WR_ATOMIC_FETCH_AND_ADD,
					IB_WR_ATOMIC_CMP_AND_SWP };
#define OPCODES (int)(sizeof(opcodes) / sizeof(opcodes[0]))

static bool takes_receive(ib_wr_opcode opcode)
{
	return opcode == IB_WR_SEND || opcode == IB_WR_SEND_WITH_IMM ||
	       opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(ib_wr_opcode opcode)
{
	return opcode == IB_WR_ATOMIC_FETCH_AND_ADD || opcode == IB_WR_ATOMIC_CMP_AND_SWP;
}

/* A signalled request whose target is the beginning of b's region; sge NULL: no data. */
static struct ib_send_wr request(uint64_t wr_id, ib_wr_opcode opcode, struct ib_sge *sge)
{
	struct ib_send_wr wr = send_wr(wr_id, opcode, sge, IB_SEND_SIGNALED);

	if (is_atomic(opcode)) {
		wr.wr.atomic.remote_addr = (uintptr_t)p.bm->buf;
		wr.wr.atomic.rkey = p.bm->ci->rkey;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 2;
	} else if (opcode != IB_WR_SEND && opcode != IB_WR_SEND_WITH_IMM) {
		wr.wr.rdma.remote_addr = (uintptr_t)p.bm->buf;
		wr.wr.rdma.rkey = p.bm->ci->rkey;
	}
	return wr;
}

/* ------------------------------------------------------------------- teardown */

/* _i: the queue pair waits for a response, or for a receive. No timer of it is left in the wheel. */
START_TEST(teardown_a_timer_fires_after_destroy)
{
	struct ib_send_wr wr;
	struct qp *a, *b;
	struct soft_step s;

	start(NULL, 4096);
	a = new_qp(&hca[0], p.acq, p.acq, &p.o);
	b = new_qp(&hca[1], p.bcq, p.bcq, &p.o);
	connect_qps(a, b, &p.o);
	if (!_i)
		drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	wr = request(1, IB_WR_SEND, NULL);
	post(a, &wr);
	do
		s = step();
	while (s.did == SOFT_STEP_QP && counters(&hca[1]).rnr_naks == 0 && fault_met(&hca[0]) == 0);
	step(); /* the response */
	free_qp(a);
	free_qp(b);
	run_all();
	ck_assert_uint_eq(soft_clock(), 0);
	expect_empty(p.acq);
}
END_TEST

/* _i: number of steps before one side is destroyed, then the other. AddressSanitizer would report a use after free. */
START_TEST(teardown_use_after_free_of_packets_in_flight)
{
	struct ib_sge sge[OPCODES];
	struct ib_send_wr wr;
	struct qp *a, *b;
	int i;

	start(NULL, 1 << 20);
	a = new_qp(&hca[0], p.acq, p.acq, &p.o);
	b = new_qp(&hca[1], p.bcq, p.bcq, &p.o);
	connect_qps(a, b, &p.o);
	for (i = 0; i < OPCODES; i++) {
		sge[i] = sge_of(p.am, 0, is_atomic(opcodes[i]) ? 8 : 600 << 10);
		wr = request((uint64_t)i, opcodes[i], &sge[i]);
		if (takes_receive(opcodes[i])) {
			struct ib_sge to = sge_of(p.bm, 0, 1 << 20);

			post_recv(b, 9, &to, 1);
		}
		post(a, &wr);
	}
	for (i = 0; i < _i / 2; i++)
		step();
	free_qp(_i % 2 ? a : b);
	for (i = 0; i < 3; i++)
		step();
	if (_i % 2 == 0)
		ck_assert_int_eq(modify(a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
	run_all();
	free_qp(_i % 2 ? b : a);
	run_all();
}
END_TEST

/* The newest recorded responses survive a change to fewer resources; no freed resource is read. */
START_TEST(teardown_responder_resources_freed_under_modify)
{
	static const uint8_t sizes[] = { 1, 0, 8, 2, 4 };
	struct ib_qp_attr attr = { 0 };
	struct ib_sge sge[4];
	struct ib_send_wr wr[4];
	uint64_t value;
	int i;

	start(&(struct qp_options){ .retry_cnt = 1 }, 4096);
	memset(p.bm->buf, 0, 8);
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 4);
	for (i = 0; i < 4; i++) {
		sge[i] = sge_of(p.am, 8 * (uint64_t)i, 8);
		wr[i] = request((uint64_t)i, IB_WR_ATOMIC_FETCH_AND_ADD, &sge[i]);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	post(p.a, wr);
	while (fault_met(&hca[1]) < 4)
		step();
	ck_assert_int_eq(modify(p.b, IB_QPS_SQD, 0, NULL), AL_SUCCESS);
	do
		ck_assert_int_eq(ops->query_qp(p.b->ci, &attr), AL_SUCCESS);
	while (attr.sq_draining && step().did == SOFT_STEP_QP);
	for (i = 0; i < 5; i++) {
		attr.max_dest_rd_atomic = sizes[(i + _i) % 5];
		ck_assert_int_eq(modify(p.b, IB_QPS_SQD, IB_QP_MAX_DEST_RD_ATOMIC, &attr),
				 AL_SUCCESS);
	}
	run_all();
	expect_wc(p.acq, 0, IB_WC_RETRY_EXC_ERR);
	memcpy(&value, p.bm->buf, 8);
	ck_assert_uint_eq(value, 4); /* a duplicate that has no resource any more is not executed */
}
END_TEST

/*
 * Everything is under way at the unload: requests, responses, delayed packets, timers, reads in progress, queue pairs
 * in the Error state.
 */
START_TEST(teardown_a_module_that_will_not_unload)
{
	struct ib_sge sge;
	struct ib_send_wr wr;
	int i;

	for (i = 0; i < 20; i++) {
		start(NULL, 1 << 20);
		fault(&hca[0], (struct soft_fault){
				       .action = SOFT_FAULT_HOLD, .n = 2, .count = 1, .by = 1000 });
		sge = sge_of(p.am, 0, 1 << 20);
		wr = request(1, IB_WR_RDMA_READ, &sge);
		post(p.a, &wr);
		wr = request(2, IB_WR_SEND, &sge);
		post(p.a, &wr);
		while (step().did == SOFT_STEP_QP && (int)counters(&hca[0]).xmit_packets < i)
			;
		if (i % 3 == 1)
			ck_assert_int_eq(modify(p.a, IB_QPS_ERR, 0, NULL), AL_SUCCESS);
		pair_down(&p);
		down(); /* checks that nothing is left */
		setup();
	}
	start(NULL, 64);
}
END_TEST

/* ------------------------------------------------------------------ arithmetic */

/* _i: operation, and local or remote addresses whose sum with the length wraps. */
START_TEST(arithmetic_iova_plus_length_overflows)
{
	ib_wr_opcode opcode = opcodes[2 + _i / 2];
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(NULL, 4096);
	sge = sge_of(p.am, 0, 8);
	if (_i % 2)
		sge.addr = UINT64_MAX - 7;
	if (takes_receive(opcode))
		post_recv(p.b, 9, NULL, 0);
	wr = request(1, opcode, &sge);
	if (!(_i % 2) && is_atomic(opcode))
		wr.wr.atomic.remote_addr = UINT64_MAX - 7;
	else if (!(_i % 2))
		wr.wr.rdma.remote_addr = UINT64_MAX - 3;
	post(p.a, &wr);
	expect_wc(p.acq, 1, _i % 2 ? IB_WC_LOC_PROT_ERR : IB_WC_REM_ACCESS_ERR);
}
END_TEST

/*
 * A read up to the last byte of its region is repeated from every packet on; no response has a byte beyond the
 * region.
 */
START_TEST(arithmetic_range_of_a_duplicate_request)
{
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(NULL, 4096);
	drop(&hca[1], SOFT_FLOW_RESPONSE, (uint64_t)_i, 1);
	sge = sge_of(p.am, 0, 6 * MTU + 1);
	wr = request(1, IB_WR_RDMA_READ, &sge);
	wr.wr.rdma.remote_addr += 4096 - (6 * MTU + 1);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf + 4096 - (6 * MTU + 1), 6 * MTU + 1);
}
END_TEST

/* -------------------------------------------------------------------- protocol */

/* IBTA table 45, in units of 10 us, by code. */
static const uint32_t pauses[32] = { 65536, 1,    2,    3,     4,     6,     8,     12,
				     16,    24,   32,   48,    64,    96,    128,   192,
				     256,   384,  512,  768,   1024,  1536,  2048,  3072,
				     4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152 };

/* _i: code */
START_TEST(protocol_rnr_timer_not_honoured)
{
	uint64_t told = 0, due = pauses[_i] * 10000ull;
	struct ib_send_wr wr;
	uint32_t naks;

	start(&(struct qp_options){ .rnr_timer = _i ? (uint8_t)_i : 0xff }, 4096);
	wr = request(1, IB_WR_SEND, NULL);
	post(p.a, &wr);
	for (naks = 1; naks < 5; naks++) {
		while (counters(&hca[1]).rnr_naks < naks)
			step();
		if (naks > 1) {
			ck_assert_uint_ge(soft_clock() - told, due);
			ck_assert_uint_le(soft_clock() - told, due + 2 * TICK);
		}
		told = soft_clock();
	}
	post_recv(p.b, 2, NULL, 0);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
}
END_TEST

/* Seven RNR retries are without limit, six are six; seven retries are seven. */
START_TEST(protocol_endless_retry)
{
	const uint64_t day = 24 * 3600 * 1000000000ull;
	struct ib_send_wr wr;

	start(&(struct qp_options){ .rnr_retry = _i == 0 ? 7 : 6, .rnr_timer = 0xff }, 4096);
	if (_i == 2)
		drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	wr = request(1, IB_WR_SEND, NULL);
	post(p.a, &wr);
	if (_i == 0) {
		while (soft_clock() < day)
			ck_assert_uint_ne(step().did, SOFT_STEP_NOTHING);
		post_recv(p.b, 2, NULL, 0);
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
	} else {
		run_all();
		ck_assert_uint_le(soft_clock(), day);
		expect_wc(p.acq, 1, _i == 1 ? IB_WC_RNR_RETRY_EXC_ERR : IB_WC_RETRY_EXC_ERR);
		if (_i == 1)
			ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 7);
		else
			ck_assert_uint_eq(fault_met(&hca[0]), 8);
	}
	run_all(); /* and no further retry comes */
}
END_TEST

/* _i: code. A retry comes after one to four time-outs (IBTA 9.7.6.1.3). */
START_TEST(protocol_time_out_out_of_bounds)
{
	uint64_t sent = 0, met = 0;

	start(&(struct qp_options){ .timeout = (uint8_t)_i, .retry_cnt = 7 }, 4096);
	drop(&hca[0], SOFT_FLOW_REQUEST, 1, 0);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	while (met < 8) {
		step();
		if (fault_met(&hca[0]) == met)
			continue;
		met = fault_met(&hca[0]);
		if (met > 1) {
			ck_assert_uint_ge(soft_clock() - sent, TIMEOUT(_i));
			ck_assert_uint_le(soft_clock() - sent, 4 * TIMEOUT(_i));
		}
		sent = soft_clock();
	}
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	ck_assert_uint_ge(soft_clock() - sent, TIMEOUT(_i));
	ck_assert_uint_le(soft_clock() - sent, 4 * TIMEOUT(_i));
}
END_TEST

/* Moves the clock, by a queue pair whose requests get no response. */
static void pass_time(uint64_t ns)
{
	const struct qp_options o = { .dlid = 77, .timeout = 6, .retry_cnt = 7 };
	uint64_t until = soft_clock() + ns;
	struct cq *cq = new_cq(&hca[0], 16, AL_CQ_NOTIFY_PENDING);
	struct ib_send_wr wr = send_wr(1, IB_WR_RDMA_WRITE, NULL, 0);
	uint32_t failed;
	struct qp *qp;

	while (soft_clock() < until) {
		qp = new_qp(&hca[0], cq, cq, &o);
		connect_qps(qp, qp, &o);
		post(qp, &wr);
		do
			ops->peek_cq(cq->ci, 1, &failed);
		while (!failed && step().now_ns < until);
		free_qp(qp);
	}
	free_cq(cq);
}

/*
 * A NAK causes a retry late in the time-out. The retry's packet is lost, and the next time-out counts from the retry.
 */
START_TEST(protocol_time_out_counts_from_the_first_transmission)
{
	struct soft_fault rule = {
		.action = SOFT_FAULT_DROP, .flow = SOFT_FLOW_REQUEST, .n = 1, .count = 1
	};
	struct ib_send_wr wr;
	uint64_t again;

	start(&(struct qp_options){ .timeout = 12, .retry_cnt = 7 }, 4096);
	rule.qpn = p.a->ci->qp_num;
	fault(&hca[0], rule);
	rule.n = 3;
	rule.count = 2;
	fault(&hca[0], rule);
	wr = request(1, IB_WR_RDMA_WRITE, NULL);
	post(p.a, &wr);
	while (!fault_met(&hca[0]))
		step();
	pass_time(TIMEOUT(12) * 9 / 10);
	wr.wr_id = 2;
	post(p.a, &wr);
	while (fault_met(&hca[0]) < 3)
		step();
	again = soft_clock();
	ck_assert_uint_lt(again, TIMEOUT(12));
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_ge(soft_clock() - again, TIMEOUT(12));
	ck_assert_uint_le(soft_clock() - again, 4 * TIMEOUT(12));
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
}
END_TEST

/*
 * _i: kind of atomic, and how often the response is lost. The atomic is executed once, and every response has the
 * same value.
 */
START_TEST(protocol_lost_atomic_response_not_replayed)
{
	ib_wr_opcode opcode = _i % 2 ? IB_WR_ATOMIC_FETCH_AND_ADD : IB_WR_ATOMIC_CMP_AND_SWP;
	uint64_t value = 1;
	struct ib_sge sge;
	struct ib_send_wr wr;

	start(NULL, 4096);
	memcpy(p.bm->buf, &value, 8);
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, (uint64_t)_i / 2 + 1);
	sge = sge_of(p.am, 0, 8);
	wr = request(1, opcode, &sge);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	memcpy(&value, p.am->buf, 8);
	ck_assert_uint_eq(value, 1);
	memcpy(&value, p.bm->buf, 8);
	ck_assert_uint_eq(value, 2); /* 1 + 1, or swapped to 2 */
}
END_TEST

/* _i: with or without the fence, and after a read or an atomic, whose first response is lost. */
START_TEST(protocol_wrong_fencing)
{
	bool fence = _i % 2, atomic = _i / 2;
	struct ib_sge here, same;
	struct ib_send_wr wr[2];
	char before[8];

	start(NULL, 4096);
	memcpy(before, p.am->buf, 8);
	here = same = sge_of(p.am, 0, 8);
	wr[0] = request(1, atomic ? IB_WR_ATOMIC_FETCH_AND_ADD : IB_WR_RDMA_READ, &here);
	wr[1] = request(2, IB_WR_RDMA_WRITE, &same);
	wr[1].wr.rdma.remote_addr += 1024;
	if (fence)
		wr[1].send_flags |= IB_SEND_FENCE;
	wr[0].next = &wr[1];
	if (atomic)
		wr[0].wr.atomic.compare_add = 0;
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 1);
	post(p.a, wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.am->buf, p.bm->buf, 8);
	ck_assert_mem_eq(p.bm->buf + 1024, fence ? p.bm->buf : before, 8);
}
END_TEST

/* _i: operation. For every length the response comes without a time-out. */
START_TEST(protocol_missing_ack)
{
	static const uint32_t lengths[] = { 0,
					    1,
					    MTU - 1,
					    MTU,
					    MTU + 1,
					    5 * MTU,
					    (256 << 10) - 1,
					    256 << 10,
					    (256 << 10) + 1,
					    1 << 20 };
	ib_wr_opcode opcode = opcodes[_i];
	struct ib_sge sge, to;
	struct ib_send_wr wr;
	size_t i;
	int slow;

	start(NULL, 1 << 20);
	to = sge_of(p.bm, 0, 1 << 20);
	for (slow = 0; slow < 2; slow++) {
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			sge = sge_of(p.am, 0, is_atomic(opcode) ? 8 : lengths[i]);
			if (takes_receive(opcode))
				post_recv(p.b, 9, &to, 1);
			wr = request(i, opcode, &sge);
			post(p.a, &wr);
			expect_wc(p.acq, i, IB_WC_SUCCESS);
			if (takes_receive(opcode))
				expect_wc(p.bcq, 9, IB_WC_SUCCESS);
		}
		/* and the same packet by packet, as rules of faults have it: a rule that never meets a packet */
		drop(&hca[0], SOFT_FLOW_REQUEST, 1ull << 60, 1);
		drop(&hca[1], SOFT_FLOW_REQUEST, 1ull << 60, 1);
	}
	ck_assert_uint_eq(soft_clock(), 0);
}
END_TEST

/* _i: operation, and no elements or empty elements with invalid keys. */
START_TEST(protocol_zero_length)
{
	ib_wr_opcode opcode = opcodes[_i / 2];
	struct ib_sge empty[2] = { { 1, 0, 2 }, { 3, 0, 4 } };
	struct ib_send_wr wr;
	struct ib_wc wc;

	start(NULL, 4096);
	wr = request(1, opcode, empty);
	wr.num_sge = _i % 2 ? 2 : 0;
	if (takes_receive(opcode))
		post_recv(p.b, 9, _i % 2 ? empty : NULL, _i % 2 ? 2 : 0);
	if (opcode == IB_WR_RDMA_WRITE || opcode == IB_WR_RDMA_READ ||
	    opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		wr.wr.rdma.rkey = 0xdead;
	drop(&hca[1], SOFT_FLOW_RESPONSE, 1, 1);
	post(p.a, &wr);
	wc = expect_wc(p.acq, 1, IB_WC_SUCCESS);
	if (opcode == IB_WR_RDMA_READ)
		ck_assert_uint_eq(wc.byte_len, 0);
	if (takes_receive(opcode))
		ck_assert_uint_eq(expect_wc(p.bcq, 9, IB_WC_SUCCESS).byte_len, 0);
	expect_empty(p.bcq);
}
END_TEST

/*
 * _i: number of steps before the memory is deregistered. The responses sent before arrive; then the error, without a
 * time-out.
 */
START_TEST(protocol_error_inside_a_read_response)
{
	struct mr *gone;
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct ib_wc wc;
	int i;

	start(&(struct qp_options){ .retry_cnt = 0xff }, 1 << 20);
	gone = new_mr(&hca[1], 1 << 20, 0);
	sge = sge_of(p.am, 0, 1 << 20);
	wr = request(1, IB_WR_RDMA_READ, &sge);
	wr.wr.rdma.remote_addr = (uintptr_t)gone->buf;
	wr.wr.rdma.rkey = gone->ci->rkey;
	post(p.a, &wr);
	for (i = 0; i < _i; i++)
		step();
	free_mr(gone);
	wc = wait_wc(p.acq);
	ck_assert_uint_eq(wc.wr_id, 1);
	if (wc.status != IB_WC_SUCCESS) {
		ck_assert_int_eq(wc.status, IB_WC_REM_ACCESS_ERR);
		ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
		/*
		 * if refused as a new request, the read ends both sides; if refused as a duplicate, only the
		 * requester
		 */
		if (state_of(p.b) == IB_QPS_ERR)
			ck_assert_uint_eq(p.b->events, 1u << IB_EVENT_QP_ACCESS_ERR);
		else
			ck_assert_int_gt(_i, 1);
		ck_assert_uint_eq(soft_clock(), 0);
	} else {
		ck_assert_int_ge(_i, 5); /* all responses had been sent and received */
	}
}
END_TEST

/* A protocol error inside a write, whose source memory is the requester's own. */
START_TEST(protocol_error_inside_a_write)
{
	struct mr *gone;
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct ib_wc wc;
	int i;

	start(&(struct qp_options){ .retry_cnt = 0xff }, 1 << 20);
	gone = new_mr(&hca[0], 1 << 20, 0);
	sge = sge_of(gone, 0, 1 << 20);
	wr = request(1, IB_WR_RDMA_WRITE, &sge);
	post(p.a, &wr);
	for (i = 0; i < _i; i++)
		step();
	free_mr(gone);
	wc = wait_wc(p.acq);
	if (wc.status != IB_WC_SUCCESS) {
		ck_assert_int_eq(wc.status, IB_WC_LOC_PROT_ERR);
		ck_assert_int_eq(state_of(p.a), IB_QPS_ERR);
		ck_assert_int_eq(state_of(p.b), IB_QPS_RTS);
		ck_assert_uint_eq(soft_clock(), 0);
	} else {
		ck_assert_int_ge(_i, 5);
	}
}
END_TEST

/* _i: bytes sent into 1000: one byte too many in the only packet, in the last packet, in a packet before the last. */
START_TEST(protocol_responder_length_checks)
{
	static const struct {
		uint32_t sent, room;
	} cases[] = { { 101, 100 }, { 1001, 1000 }, { 2000, 300 }, { 100, 0 }, { 256, 255 } };
	struct ib_sge sge, to;
	struct ib_send_wr wr;

	start(NULL, 4096);
	sge = sge_of(p.am, 0, cases[_i].sent);
	to = sge_of(p.bm, 0, cases[_i].room);
	post_recv(p.b, 8, &to, 1);
	post_recv(p.b, 9, &to, 1);
	wr = request(1, IB_WR_SEND, &sge);
	fill(p.bm->buf, 4096, 7);
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_REM_INV_REQ_ERR);
	expect_wc(p.bcq, 8, IB_WC_LOC_LEN_ERR);
	expect_wc(p.bcq, 9, IB_WC_WR_FLUSH_ERR);
	fill(p.am->buf, 4096, 7);
	ck_assert_mem_eq(p.bm->buf + cases[_i].room, p.am->buf + cases[_i].room,
			 4096 - cases[_i].room);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
}
END_TEST

/* ------------------------------------------------------------------ protection */

/* _i: operation, and the memory of another protection domain: the requester's, the responder's, the receive's. */
START_TEST(protection_domain_never_checked)
{
	ib_wr_opcode opcode = opcodes[_i / 3];
	struct ci_pd *pd[2] = { new_pd(&hca[0]), new_pd(&hca[1]) };
	struct ib_sge sge, to;
	struct ib_send_wr wr;
	struct mr other[2];
	int i;

	start(NULL, 4096);
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(try_mr(&other[i], &hca[i], pd[i], 64, 0xf), AL_SUCCESS);
	sge = _i % 3 == 0 ? sge_of(&other[0], 0, 8) : sge_of(p.am, 0, 8);
	to = _i % 3 == 2 ? sge_of(&other[1], 0, 8) : sge_of(p.bm, 0, 8);
	wr = request(1, opcode, &sge);
	if (_i % 3 == 1 && is_atomic(opcode)) {
		wr.wr.atomic.remote_addr = (uintptr_t)other[1].buf;
		wr.wr.atomic.rkey = other[1].ci->rkey;
	} else if (_i % 3 == 1) {
		wr.wr.rdma.remote_addr = (uintptr_t)other[1].buf;
		wr.wr.rdma.rkey = other[1].ci->rkey;
	}
	if (takes_receive(opcode))
		post_recv(p.b, 9, &to, 1);
	post(p.a, &wr);
	if (_i % 3 == 0)
		expect_wc(p.acq, 1, IB_WC_LOC_PROT_ERR);
	else if (_i % 3 == 1 && opcode != IB_WR_SEND && opcode != IB_WR_SEND_WITH_IMM)
		expect_wc(p.acq, 1, IB_WC_REM_ACCESS_ERR);
	else if (_i % 3 == 2 && (opcode == IB_WR_SEND || opcode == IB_WR_SEND_WITH_IMM))
		expect_wc(p.acq, 1, IB_WC_REM_OP_ERR);
	else /* the operation does not access that memory */
		expect_wc(p.acq, 1, IB_WC_SUCCESS);
	for (i = 0; i < 64; i++)
		ck_assert_int_eq(other[0].buf[i] | other[1].buf[i], 0);
	for (i = 0; i < 2; i++) {
		end_mr(&other[i]);
		free_pd(pd[i]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: bug classes");
	TCase *t = tcase_create("bug classes");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, teardown_a_timer_fires_after_destroy, 0, 2);
	tcase_add_loop_test(t, teardown_use_after_free_of_packets_in_flight, 0, 40);
	tcase_add_loop_test(t, teardown_responder_resources_freed_under_modify, 0, 5);
	tcase_add_test(t, teardown_a_module_that_will_not_unload);
	tcase_add_loop_test(t, arithmetic_iova_plus_length_overflows, 0, 2 * (OPCODES - 2));
	tcase_add_loop_test(t, arithmetic_range_of_a_duplicate_request, 1, 8);
	tcase_add_loop_test(t, protocol_rnr_timer_not_honoured, 0, 32);
	tcase_add_loop_test(t, protocol_endless_retry, 0, 3);
	tcase_add_loop_test(t, protocol_time_out_out_of_bounds, 1, 32);
	tcase_add_test(t, protocol_time_out_counts_from_the_first_transmission);
	tcase_add_loop_test(t, protocol_lost_atomic_response_not_replayed, 0, 6);
	tcase_add_loop_test(t, protocol_wrong_fencing, 0, 4);
	tcase_add_loop_test(t, protocol_missing_ack, 0, OPCODES);
	tcase_add_loop_test(t, protocol_zero_length, 0, 2 * (OPCODES - 2));
	tcase_add_loop_test(t, protocol_error_inside_a_read_response, 1, 14);
	tcase_add_loop_test(t, protocol_error_inside_a_write, 1, 14);
	tcase_add_loop_test(t, protocol_responder_length_checks, 0, 5);
	tcase_add_loop_test(t, protection_domain_never_checked, 0, 3 * OPCODES);
	suite_add_tcase(s, t);
	return run_suite(s);
}
