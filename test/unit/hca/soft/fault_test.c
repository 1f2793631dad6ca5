/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults on purpose: the effect of each action, the packets that a rule meets, and that these depend only on the
 * seed, the flow and the packet's number. RC with lost and duplicated packets is in loss_test.c.
 */
#include "harness.h"

#include <stdio.h>

#include "hca/soft/base/config.h"
#include "hca/soft/shared/opcode.h"

#define MTU 256

static struct pair p;

static void start(const char *settings, const struct qp_options *o)
{
	up(settings);
	pair_up(&p, o, 1 << 16);
	fill(p.am->buf, 1 << 15, 1);
}

static void stop(void)
{
	pair_down(&p);
	down();
}

static void write_and_check(uint32_t packets)
{
	memset(p.bm->buf, 0, packets * MTU);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, packets * MTU);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, packets * MTU);
}

static void post_send_one(uint64_t wr_id)
{
	struct ib_send_wr wr = send_wr(wr_id, IB_WR_SEND, NULL, IB_SEND_SIGNALED);

	post(p.a, &wr);
}

/* Steps until only timers are left. */
static void run_until_idle(void)
{
	struct soft_step s;
	uint64_t now = soft_clock();

	do
		s = step();
	while (s.did == SOFT_STEP_QP);
	ck_assert(s.did == SOFT_STEP_NOTHING || s.now_ns > now);
}

/* ------------------------------------------------------------------- actions */

START_TEST(a_dropped_packet_counts_as_discarded)
{
	start("progress=manual [hca 0] fault=drop,n=2,flow=request", NULL);
	write_and_check(4);
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 1);
	stop();
}
END_TEST

START_TEST(a_corrupted_packet_counts_as_an_error_of_the_far_port)
{
	start("progress=manual [hca 0] fault=corrupt,n=2,count=2,flow=request", NULL);
	write_and_check(4);
	ck_assert_uint_eq(fault_met(&hca[0]), 2);
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 0);
	ck_assert_uint_eq(counters(&hca[1]).rcv_errors, 2);
	stop();
}
END_TEST

/* The first of three writes is delayed by 10 ms: it arrives at exactly that time, and is a duplicate by then. */
START_TEST(a_delayed_packet_arrives_when_its_time_has_come)
{
	const uint64_t delay = 10000000;
	uint64_t *target, *result;
	struct ib_sge sge;
	struct ib_send_wr wr;

	start("progress=manual [hca 0] fault=delay,n=1,time=10ms,flow=request", &(struct qp_options){ .timeout = 31 });
	target = (uint64_t *)p.bm->buf;
	result = (uint64_t *)p.am->buf;
	sge = sge_of(p.am, 0, 8);
	wr = send_wr(1, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);
	wr.wr.atomic.remote_addr = (uintptr_t)target;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	wr.wr.atomic.compare_add = 5;
	*target = 7;
	post(p.a, &wr);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_ge(soft_clock(), delay);
	ck_assert_uint_lt(soft_clock(), delay + 4096);
	ck_assert_uint_eq(*result, 7);
	ck_assert_uint_eq(*target, 12);
	stop();
}
END_TEST

/* A delayed packet that has been sent again meanwhile is executed once. */
START_TEST(delayed_packets_come_in_the_order_of_their_times)
{
	const char *settings = "progress=manual [hca 0] fault=delay,n=1,time=3ms;delay,n=2,time=1ms;delay,n=3,time=2ms";
	struct ib_sge to;
	int i;

	start(settings, &(struct qp_options){ .timeout = 9 }); /* time-out of 2 ms, then a retry */
	for (i = 0; i < 3; i++) {
		to = sge_of(p.bm, 0, 64);
		post_recv(p.b, (uint64_t)i, &to, 1);
		post_send_one(10 + (uint64_t)i);
	}
	for (i = 0; i < 3; i++) {
		expect_wc(p.acq, 10 + (uint64_t)i, IB_WC_SUCCESS);
		expect_wc(p.bcq, (uint64_t)i, IB_WC_SUCCESS);
	}
	run_all();
	expect_empty(p.bcq);
	ck_assert_uint_eq(fault_met(&hca[0]), 3);
	stop();
}
END_TEST

/* In real time the engine delivers a delayed packet. */
START_TEST(a_delay_needs_no_polls)
{
	start("[hca 0] fault=delay,time=1ms,n=1,flow=request", &(struct qp_options){ .timeout = 20 });
	post_recv(p.b, 1, NULL, 0);
	post_send_one(1);
	wait_received(&hca[1], 1);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	stop();
}
END_TEST

/* A queue pair's delayed packets are dropped when it is reset, and no timer is left. */
START_TEST(a_reset_drops_what_is_delayed)
{
	start("progress=manual [hca 0] fault=delay,time=1s,n=1", &(struct qp_options){ .timeout = 31 });
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	run_until_idle();
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	while (step().did == SOFT_STEP_QP)
		;
	ck_assert_uint_eq(step().did, SOFT_STEP_NOTHING);
	stop();
}
END_TEST

START_TEST(a_held_packet_is_overtaken)
{
	start("progress=manual [hca 0] fault=reorder,n=2,by=2,flow=request", NULL);
	write_and_check(6);
	ck_assert_uint_eq(counters(&hca[1]).seq_naks, 1);
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 0);
	stop();
}
END_TEST

static const struct {
	const char *code;
	ib_wc_status status;
	int event; /* the event of the responder */
} naks[] = {
	{ "invalid-request", IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR },
	{ "access", IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "operation", IB_WC_REM_OP_ERR, -1 },
};

START_TEST(a_forced_nak_refuses_the_request)
{
	char settings[128];

	snprintf(settings, sizeof(settings), "progress=manual [hca 0] fault=nak,code=%s,n=2", naks[_i].code);
	start(settings, NULL);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 3 * MTU);
	expect_wc(p.acq, 1, naks[_i].status);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, MTU);
	ck_assert_int_eq(p.bm->buf[MTU], 0);
	ck_assert_int_eq(state_of(p.b), IB_QPS_ERR);
	if (naks[_i].event >= 0)
		ck_assert_uint_eq(p.b->events, 1u << naks[_i].event);
	stop();
}
END_TEST

START_TEST(a_forced_rnr_nak_asks_for_its_pause)
{
	start("progress=manual [hca 0] fault=nak,code=rnr:28,n=1", NULL);
	post_recv(p.b, 1, NULL, 0);
	post_send_one(2);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	expect_wc(p.bcq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(counters(&hca[1]).rnr_naks, 1);
	ck_assert_uint_ge(soft_clock(), rnr_timer[28] * 10000ull);
	ck_assert_uint_lt(soft_clock(), rnr_timer[28] * 10000ull + 4096);
	stop();
}
END_TEST

START_TEST(forced_rnr_naks_without_end_are_the_rnr_error)
{
	start("progress=manual [hca 0] fault=nak,code=rnr", &(struct qp_options){ .rnr_retry = 2 });
	post_recv(p.b, 1, NULL, 0);
	post_send_one(2);
	expect_wc(p.acq, 2, IB_WC_RNR_RETRY_EXC_ERR);
	ck_assert_uint_eq(fault_met(&hca[0]), 3);
	stop();
}
END_TEST

START_TEST(a_forced_sequence_nak_has_it_sent_again)
{
	start("progress=manual [hca 0] fault=nak,code=sequence,n=3", NULL);
	write_and_check(4);
	ck_assert_uint_eq(counters(&hca[1]).seq_naks, 1);
	ck_assert_uint_ge(counters(&hca[0]).retransmits, 1);
	stop();
}
END_TEST

/* The cable is unplugged from packet 5 to packet 20, in the middle of a message. */
START_TEST(a_port_goes_down_and_comes_up_under_traffic)
{
	start("progress=manual [hca 0] fault=port-down,n=5;port-up,n=20", NULL);
	write_and_check(40);
	ck_assert_str_eq(port_ladder[0], "DIRA");
	ck_assert_str_eq(port_ladder[1], "DIRA");
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 15);
	stop();
}
END_TEST

START_TEST(an_hca_is_removed_under_traffic)
{
	start("[hca 0] fault=remove,n=3", &(struct qp_options){ .timeout = 5, .retry_cnt = 1 });
	atomic_store(&hca[0].in_use, true);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8 * MTU);
	wait_bits(&port_events[1][1], 1u << IB_EVENT_PORT_DOWN);
	expect_wc(p.acq, 1, IB_WC_RETRY_EXC_ERR);
	pair_down(&p);
	free_pd(hca[0].pd);
	hca[0].pd = NULL;
	atomic_store(&hca[0].in_use, false);
	down();
	ck_assert(!hca[0].present);
}
END_TEST

static const struct {
	const char *event;
	ib_event_type type;
} raised[] = {
	{ "qp-fatal", IB_EVENT_QP_FATAL },
	{ "PATH_MIG", IB_EVENT_PATH_MIG },
	{ "sq-drained", IB_EVENT_SQ_DRAINED },
	{ "lid-change", IB_EVENT_LID_CHANGE },
	{ "client-reregister", IB_EVENT_CLIENT_REREGISTER },
	{ "device-fatal", IB_EVENT_DEVICE_FATAL },
	{ "cq-err", IB_EVENT_CQ_ERR },
};

START_TEST(any_event_can_be_raised)
{
	char settings[128];

	snprintf(settings, sizeof(settings), "progress=manual [hca 0] fault=raise,n=2,event=%s", raised[_i].event);
	start(settings, NULL);
	write_and_check(4);
	if (raised[_i].type == IB_EVENT_CQ_ERR)
		ck_assert_uint_eq(p.acq->notified >> 16, 1);
	else if (raised[_i].type < IB_EVENT_PORT_DOWN)
		ck_assert_uint_eq(p.a->events, 1u << raised[_i].type);
	else
		ck_assert_uint_eq(port_events[0][1], 1u << raised[_i].type);
	stop();
}
END_TEST

START_TEST(a_completion_queue_overflows_on_purpose)
{
	uint32_t count;
	struct ib_wc wc;

	start("progress=manual [hca 0] fault=cq-overflow,n=2", NULL);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 4 * MTU);
	wait_state(p.a, IB_QPS_ERR);
	ck_assert_uint_eq(p.acq->notified >> 16, 1);
	ck_assert_int_eq(wait_wc(p.acq).status, IB_WC_CQ_OVERFLOW_ERR);
	ck_assert_int_eq(ops->poll_cq(p.acq->ci, 1, &wc, &count), AL_CQ_ERROR);
	stop();
}
END_TEST

/* _i: the allocation that fails */
START_TEST(the_nth_allocation_fails)
{
	struct soft_fault rule = { .action = SOFT_FAULT_ALLOC, .n = (uint64_t)_i, .count = 1 };
	struct mr mr;
	uint32_t failed = 0, i;

	up("");
	fault(&hca[0], rule);
	for (i = 1; i < 5; i++)
		if (try_mr(&mr, &hca[0], NULL, 64, IB_ACCESS_LOCAL_WRITE) == AL_SUCCESS) {
			end_mr(&mr);
		} else {
			failed = failed ? 99 : i;
		}
	ck_assert_uint_eq(failed, (uint32_t)_i);
	ck_assert_uint_eq(fault_met(&hca[0]), 1);
	ck_assert_uint_eq(rules_in_force(&hca[0], 0)->rules[0].met, 1);
	down();
}
END_TEST

START_TEST(an_allocation_of_each_kind_fails)
{
	static const struct qp_options o;
	struct soft_fault all = { .action = SOFT_FAULT_ALLOC };
	struct ib_qp_attr attr = { .port_num = 1 };
	struct ci_cq_init init = { .cqe = 8 };
	struct soft_fault none = { .action = SOFT_FAULT_ALLOC, .chance = SOFT_NEVER };
	struct cq *cq;
	struct qp *qp;
	struct ci_cq *ci;

	up("");
	fault(&hca[0], none);
	cq = new_cq(&hca[0], 8, AL_CQ_NOTIFY_PENDING);
	qp = new_qp(&hca[0], cq, cq, &o);
	fault(&hca[0], all);
	ck_assert_int_eq(modify(qp, IB_QPS_INIT, IB_QP_PORT | IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS, &attr),
			 AL_INSUFFICIENT_MEMORY);
	ck_assert_int_eq(state_of(qp), IB_QPS_RESET);
	ci = al_alloc_aligned(64, ops->obj_size[CI_OBJ_CQ]);
	ci->pd = hca[0].pd;
	ck_assert_int_eq(ops->create_cq(ci, &init, NULL), AL_INSUFFICIENT_MEMORY);
	al_free(ci);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	to_init(qp, &o);
	free_qp(qp);
	free_cq(cq);
	down();
}
END_TEST

/* ------------------------------------------------------------------ matching */

static const struct {
	const char *which;
	uint32_t met; /* packets met of a write of 5 packets and a read of 3 */
	uint32_t met_far; /* packets met of their responses: each train of the write has one ACK */
} matches[] = {
	{ "n=1,count=0", 6, 8 },
	{ "", 6, 8 },
	{ "flow=request", 6, 0 },
	{ "flow=response", 0, 4 },
	{ "opcode=rc-write-middle", 3, 0 },
	{ "opcode=RC_WRITE_LAST", 1, 0 },
	{ "opcode=0x0c", 1, 0 },
	{ "opcode=rc-read-response-first", 0, 1 },
	{ "opcode=rc-ack", 0, 1 },
	{ "psn=2", 1, 1 },
	{ "psn=6", 0, 1 },
	{ "n=3,count=2", 2, 2 },
	{ "n=3,count=2,opcode=rc-write-middle", 2, 0 },
	{ "port=1", 6, 8 },
	{ "hca=1", 0, 4 },
	{ "chance=0", 0, 0 },
	{ "chance=100%", 6, 8 },
	{ "chance=0.0000%", 0, 0 },
};

/* The action raises SQ_DRAINED for each packet met; the packets pass unchanged. */
START_TEST(a_rule_meets_the_packets_that_match)
{
	char settings[256];

	snprintf(settings, sizeof(settings), "progress=manual fault=raise,event=sq-drained,%s", matches[_i].which);
	start(settings, NULL);
	write_and_check(5);
	rdma(&p, IB_WR_RDMA_READ, 2, 0, 0, 3 * MTU);
	expect_wc(p.acq, 2, IB_WC_SUCCESS);
	ck_assert_uint_eq(fault_met(&hca[0]), matches[_i].met);
	ck_assert_uint_eq(p.a->event_count, matches[_i].met);
	ck_assert_uint_eq(fault_met(&hca[1]), matches[_i].met_far);
	stop();
}
END_TEST

START_TEST(a_rule_may_be_about_one_queue_pair)
{
	struct pair q;

	start("", NULL);
	pair_up(&q, NULL, 4096);
	fault(&hca[0], (struct soft_fault){ .action = SOFT_FAULT_RAISE, .code = IB_EVENT_SQ_DRAINED,
					    .qpn = q.a->ci->qp_num });
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	rdma(&q, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	expect_wc(q.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(p.a->event_count, 0);
	ck_assert_uint_eq(q.a->event_count, 1);
	pair_down(&q);
	stop();
}
END_TEST

START_TEST(the_first_rule_that_meets_a_packet_decides)
{
	start("progress=manual [hca 0] fault=raise,event=path-mig,n=2;drop,n=2,count=1;raise,event=sq-drained,n=3", NULL);
	write_and_check(4);
	ck_assert_uint_eq(p.a->events, 1u << IB_EVENT_PATH_MIG | 1u << IB_EVENT_SQ_DRAINED);
	ck_assert_uint_eq(counters(&hca[0]).xmit_discards, 0);
	stop();
}
END_TEST

/* A train is split at a packet that a rule meets, and nowhere else. */
START_TEST(trains_are_split_only_where_a_packet_is_met)
{
	uint32_t steps = 0;

	start("progress=manual [hca 0] fault=raise,event=sq-drained,n=20", NULL);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 64 * MTU);
	while (step().did == SOFT_STEP_QP)
		steps++;
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(p.a->event_count, 1);
	/* trains of 19, 1 and 44 packets, an ACK for each, and the runs of both queue pairs */
	ck_assert_uint_le(steps, 3 * 4);
	stop();
}
END_TEST

/* ------------------------------------------------------------------ decisions */

struct decisions {
	uint64_t met;
	uint32_t pattern[2]; /* of the first 32 messages: the packets met */
};

/* Two pairs write one packet at a time; the events show which packets the rule met. */
static void decide(const char *settings, struct decisions *d, bool threads)
{
	struct pair q[2];
	uint32_t i, n, before;

	up(settings);
	for (i = 0; i < 2; i++)
		pair_up(&q[i], NULL, 4096);
	for (n = 0; n < 32; n++)
		for (i = 0; i < 2; i++) {
			uint32_t k = threads ? 1 - i : i;

			before = q[k].a->event_count;
			rdma(&q[k], IB_WR_RDMA_WRITE, n, 0, 0, 8);
			expect_wc(q[k].acq, n, IB_WC_SUCCESS);
			d->pattern[k] = d->pattern[k] << 1 | (q[k].a->event_count != before);
		}
	d->met = fault_met(&hca[0]);
	for (i = 0; i < 2; i++)
		pair_down(&q[i]);
	down();
}

#define HALF "fault=raise,event=sq-drained,chance=50%,flow=request"

START_TEST(decisions_depend_on_seed_flow_and_number_alone)
{
	struct decisions d[6] = { 0 };

	decide(HALF, &d[0], false);
	decide(HALF, &d[1], true); /* in the reverse order */
	decide("progress=manual " HALF, &d[2], false);
	decide("seed=1 " HALF, &d[3], false);
	decide(HALF ",seed=1", &d[4], false);
	decide("fault=drop,n=1000;raise,event=sq-drained,chance=50%,flow=request", &d[5], false);
	ck_assert_mem_eq(&d[0], &d[1], sizeof(d[0]));
	ck_assert_mem_eq(&d[0], &d[2], sizeof(d[0]));
	ck_assert(d[0].pattern[0] != d[0].pattern[1]);
	ck_assert(d[0].pattern[0] != d[3].pattern[0]);
	ck_assert(d[0].pattern[0] != d[4].pattern[0]);
	ck_assert(d[0].pattern[0] != d[5].pattern[0]);
	ck_assert_uint_gt(d[0].met, 16);
	ck_assert_uint_lt(d[0].met, 48);
}
END_TEST

/* Returns which of num writes met the rule, one bit each. Without manual progress the writes take the short way. */
static void met_writes(const char *settings, uint8_t *met, uint32_t num)
{
	uint32_t n, before;

	start(settings, NULL);
	for (n = 0; n < num; n++) {
		before = p.a->event_count;
		rdma(&p, IB_WR_RDMA_WRITE, n, 0, 0, n % 3 * MTU + 8);
		expect_wc(p.acq, n, IB_WC_SUCCESS);
		met[n / 8] |= (uint8_t)((p.a->event_count != before) << n % 8);
	}
	stop();
}

/* The HCA draws chances some packets in advance; chances that are rare, and packet numbers, are among them. */
START_TEST(what_is_drawn_ahead_is_as_drawn_in_its_turn)
{
	static const char *const rules[] = { "chance=1%", "chance=5%,n=100,count=300", "n=130", "n=64,count=2",
					     "opcode=rc-write-last", "psn=70" };
	uint8_t in_short[128] = { 0 }, by_packets[128] = { 0 }, none[128] = { 0 };
	char settings[256];

	snprintf(settings, sizeof(settings), "progress=manual fault=raise,event=sq-drained,flow=request,%s", rules[_i]);
	met_writes(settings, by_packets, 1000);
	met_writes(settings + strlen("progress=manual "), in_short, 1000);
	ck_assert_mem_eq(in_short, by_packets, sizeof(in_short));
	ck_assert_mem_ne(in_short, none, sizeof(none));
}
END_TEST

/* A rule that is added, removed or replaced takes effect with the very next packet, and a reset counts packets anew. */
START_TEST(no_rule_waits_for_what_was_drawn_ahead)
{
	struct soft_fault rule = { .action = SOFT_FAULT_RAISE, .code = IB_EVENT_SQ_DRAINED, .chance = SOFT_NEVER,
				   .flow = SOFT_FLOW_REQUEST };
	uint32_t i;

	start("", NULL);
	fault(&hca[0], rule);
	write_and_check(1);
	ck_assert_uint_eq(p.a->event_count, 0);
	rule.chance = 0;
	rule.n = 3;
	rule.count = 1;
	fault(&hca[0], rule); /* the second of two */
	write_and_check(1);
	ck_assert_uint_eq(p.a->event_count, 0);
	write_and_check(1);
	ck_assert_uint_eq(p.a->event_count, 1);
	write_and_check(1);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	rule.n = 5;
	fault(&hca[0], rule);
	write_and_check(1);
	write_and_check(1); /* no further packet is met for long */
	ck_assert_uint_eq(p.a->event_count, 2);
	ck_assert_int_eq(modify(p.a, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	connect_qps(p.a, p.b, &p.o);
	for (i = 1; i <= 6; i++) {
		write_and_check(1);
		ck_assert_uint_eq(p.a->event_count, i < 5 ? 2 : 3);
	}
	stop();
}
END_TEST

struct writer {
	struct pair pair;
	pthread_t thread;
};

static void *write_many(void *arg)
{
	struct writer *w = arg;
	uint32_t n;

	for (n = 0; n < 500; n++) {
		rdma(&w->pair, IB_WR_RDMA_WRITE, n, 0, 0, 700);
		expect_wc(w->pair.acq, n, IB_WC_SUCCESS);
	}
	return NULL;
}

/*
 * The packets that each flow's rules meet are the same whether the flows run one after the other or at the same time.
 */
START_TEST(threads_change_no_decision)
{
	struct writer w[4];
	uint32_t counts[2][4], round, i;

	for (round = 0; round < 2; round++) {
		up("fault=raise,event=sq-drained,chance=10%");
		for (i = 0; i < 4; i++)
			pair_up(&w[i].pair, NULL, 4096);
		for (i = 0; i < 4; i++) {
			if (round)
				ck_assert_int_eq(pthread_create(&w[i].thread, NULL, write_many, &w[i]), 0);
			else
				write_many(&w[i]);
		}
		for (i = 0; i < 4; i++) {
			if (round)
				pthread_join(w[i].thread, NULL);
			counts[round][i] = w[i].pair.a->event_count;
			ck_assert_uint_gt(counts[round][i], 50);
		}
		for (i = 0; i < 4; i++)
			pair_down(&w[i].pair);
		down();
	}
	ck_assert_mem_eq(counts[0], counts[1], sizeof(counts[0]));
}
END_TEST

/* Rules are added and removed while packets are sent. */
START_TEST(rules_may_change_under_traffic)
{
	struct soft_fault rule = { .action = SOFT_FAULT_DUPLICATE, .chance = 100000 };
	struct writer w[2];
	uint32_t i;

	up("");
	for (i = 0; i < 2; i++) {
		pair_up(&w[i].pair, NULL, 4096);
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, write_many, &w[i]), 0);
	}
	for (i = 0; i < 200; i++) {
		fault(&hca[0], rule);
		fault(&hca[1], rule);
		ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
		ck_assert_int_eq(vendor(&hca[1], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	}
	for (i = 0; i < 2; i++) {
		pthread_join(w[i].thread, NULL);
		pair_down(&w[i].pair);
	}
	down();
}
END_TEST

START_TEST(all_packet_faults_together_lose_nothing)
{
	uint32_t i;

	start("progress=manual fault=drop,chance=1%;duplicate,chance=1%;hold,chance=1%;delay,chance=1%,time=100us;"
	      "corrupt,chance=1%;nak,code=rnr,chance=1%;nak,code=sequence,chance=1%",
	      &(struct qp_options){ .timeout = 8 });
	for (i = 0; i < 300; i++) {
		fill(p.am->buf, 20 * MTU, i);
		write_and_check(20);
	}
	ck_assert_uint_gt(fault_met(&hca[0]), 300);
	stop();
}
END_TEST

/* ---------------------------------------------------------------- rules in force */

START_TEST(rules_in_force_are_listed_with_what_they_have_met)
{
	const struct soft_fault_list *list;

	start("progress=manual [hca 0] fault=drop,n=2,flow=request;delay,n=3,count=2,time=1us;drop,n=90 "
	      "[hca 1] fault=corrupt,chance=0",
	      NULL);
	write_and_check(4);
	list = rules_in_force(&hca[1], 0);
	ck_assert_uint_eq(list->num, 4);
	ck_assert_uint_eq(list->rules[0].met, 1);
	ck_assert_uint_eq(list->rules[1].met, 2);
	ck_assert_uint_eq(list->rules[2].met, 0);
	ck_assert_uint_eq(list->rules[1].fault.delay_ns, 1000);
	ck_assert_uint_eq(list->rules[2].guid, hca[0].attr.node_guid);
	ck_assert_uint_eq(list->rules[3].guid, hca[1].attr.node_guid);
	ck_assert_str_eq(list->rules[0].words, "HCA 0: packet 2 of each flow of requests is lost");
	ck_assert_str_eq(
		list->rules[3].words,
		"HCA 1: each packet of each flow arrives with wrong bits, and is dropped there, "
		"but never: the chance is 0");
	stop();
}
END_TEST

/* A rule that comes leaves the counts of the others. */
START_TEST(rules_come_and_go_on_the_list)
{
	const struct soft_fault rule = { .action = SOFT_FAULT_DUPLICATE,
					 .flow = SOFT_FLOW_REQUEST };
	const struct soft_fault alloc = { .action = SOFT_FAULT_ALLOC, .n = 9 };
	const struct soft_fault_list *list;
	uint32_t i;

	start("", NULL);
	ck_assert_uint_eq(rules_in_force(&hca[0], 0)->num, 0);
	fault(&hca[0], rule);
	write_and_check(4);
	for (i = 0; i < SOFT_FAULT_RULES; i++)
		fault(&hca[0], alloc);
	list = rules_in_force(&hca[0], 0);
	ck_assert_uint_eq(list->num, SOFT_FAULT_RULES + 1);
	ck_assert_uint_eq(list->rules[0].met, 4);
	ck_assert_uint_eq(list->rules[SOFT_FAULT_RULES - 1].fault.action, SOFT_FAULT_ALLOC);
	list = rules_in_force(&hca[0], SOFT_FAULT_RULES);
	ck_assert_uint_eq(list->num, SOFT_FAULT_RULES + 1);
	ck_assert_str_eq(list->rules[0].words, "HCA 0: each allocation from number 9 on fails");
	ck_assert_uint_eq(list->rules[1].guid, 0);
	ck_assert_uint_eq(rules_in_force(&hca[0], UINT32_MAX)->num, SOFT_FAULT_RULES + 1);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_CLEAR, NULL, 0), AL_SUCCESS);
	ck_assert_uint_eq(rules_in_force(&hca[0], 0)->num, 0);
	fault(&hca[0], rule);
	ck_assert_uint_eq(rules_in_force(&hca[0], 0)->rules[0].met, 0);
	stop();
}
END_TEST

/* -------------------------------------------------------------------- the text */

static const struct {
	const char *text;
	struct soft_fault fault;
} good[] = {
	{ "drop", { .action = SOFT_FAULT_DROP } },
	{ " drop , n = 3 ", { .action = SOFT_FAULT_DROP, .n = 3, .count = 1 } },
	{ "drop,n=3,count=0", { .action = SOFT_FAULT_DROP, .n = 3 } },
	{ "drop,count=7,n=3", { .action = SOFT_FAULT_DROP, .n = 3, .count = 7 } },
	{ "duplicate,chance=0.5%", { .action = SOFT_FAULT_DUPLICATE, .chance = 5000 } },
	{ "duplicate,chance=12.3456%", { .action = SOFT_FAULT_DUPLICATE, .chance = 123456 } },
	{ "drop,chance=0", { .action = SOFT_FAULT_DROP, .chance = SOFT_NEVER } },
	{ "hold", { .action = SOFT_FAULT_HOLD, .by = 1 } },
	{ "reorder,by=3,qp=0x12", { .action = SOFT_FAULT_HOLD, .by = 3, .qpn = 0x12 } },
	{ "delay,time=3us", { .action = SOFT_FAULT_DELAY, .delay_ns = 3000 } },
	{ "delay,time=2s,seed=9", { .action = SOFT_FAULT_DELAY, .delay_ns = 2000000000, .seed = 9 } },
	{ "corrupt,opcode=rc-ack", { .action = SOFT_FAULT_CORRUPT, .match = SOFT_MATCH_OPCODE, .opcode = 0x11 } },
	{ "nak,code=access,psn=0", { .action = SOFT_FAULT_NAK, .code = 0x62, .match = SOFT_MATCH_PSN } },
	{ "nak,code=rnr:31", { .action = SOFT_FAULT_NAK, .code = 0x3f } },
	{ "raise,event=cq-err", { .action = SOFT_FAULT_RAISE, .code = IB_EVENT_CQ_ERR } },
	{ "port-down,port=1,flow=response", { .action = SOFT_FAULT_PORT_DOWN, .port = 1, .flow = SOFT_FLOW_RESPONSE } },
	{ "alloc,n=2", { .action = SOFT_FAULT_ALLOC, .n = 2, .count = 1 } },
	{ "remove,n=9", { .action = SOFT_FAULT_REMOVE, .n = 9, .count = 1 } },
};

START_TEST(text_says_what_is_meant)
{
	struct fault_rule_text rule;
	struct fault_error error;
	uint32_t num = 0;

	ck_assert_msg(fault_read(good[_i].text, &rule, 1, &num, &error), "%s: %s", good[_i].text,
		      error.why);
	ck_assert_uint_eq(num, 1);
	ck_assert_mem_eq(&rule.fault, &good[_i].fault, sizeof(rule.fault));
}
END_TEST

static const struct {
	const char *text, *why; /* words that the message must have */
} bad[] = {
	{ "explode", "begins with one of drop" },
	{ "n=1", "begins with one of drop" },
	{ "drop,n", "n=3" },
	{ "drop,n=", "n= needs a value" },
	{ "drop,n=0", "from 1" },
	{ "drop,n=-1", "from 1" },
	{ "drop,n=1x", "from 1" },
	{ "drop,colour=red", "its keys are" },
	{ "drop,count=3", "needs n=" },
	{ "drop,chance=1000001", "million" },
	{ "drop,chance=101%", "million" },
	{ "drop,chance=%", "million" },
	{ "drop,chance=1.23456%", "million" },
	{ "drop,chance=1%%", "million" },
	{ "drop,chance=x%", "million" },
	{ "drop,flow=up", "request, response" },
	{ "drop,qp=0", "queue pair" },
	{ "drop,qp=0x1000000", "queue pair" },
	{ "drop,port=9", "1 to 8" },
	{ "drop,psn=0x1000000", "24 bits" },
	{ "drop,opcode=rc-nothing", "BTH" },
	{ "drop,opcode=256", "BTH" },
	{ "drop,by=2", "drop has no key by=" },
	{ "drop,time=5ms", "drop has no key time=" },
	{ "drop,event=qp-fatal", "drop has no key event=" },
	{ "drop,hca=", "hca= needs a value" },
	{ "drop,hca=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "name of an HCA" },
	{ "delay", "time=5ms" },
	{ "delay,time=5", "unit" },
	{ "delay,time=ms", "unit" },
	{ "delay,time=0ms", "unit" },
	{ "delay,time=99999999999999999999s", "unit" },
	{ "delay,time=90000s", "a day" },
	{ "hold,by=0", "from 1" },
	{ "nak", "code=rnr" },
	{ "nak,code=ack", "rnr" },
	{ "nak,code=rnr:32", "31" },
	{ "raise", "event=" },
	{ "raise,event=nothing", "asynchronous" },
	{ "raise,event=srq-err", "raise needs" },
	{ "alloc,qp=5", "alloc has no key qp=" },
	{ "drop;;explode", "begins with" },
};

START_TEST(wrong_text_is_refused_with_a_reason)
{
	struct fault_rule_text rules[4];
	struct fault_error error;
	uint32_t num;

	ck_assert_msg(!fault_read(bad[_i].text, rules, 4, &num, &error), "%s was taken",
		      bad[_i].text);
	ck_assert_msg(strstr(error.why, bad[_i].why) != NULL, "%s: %s", bad[_i].text, error.why);
}
END_TEST

/* Any text is accepted or refused without harm. */
START_TEST(no_text_does_harm)
{
	static const char letters[] = "abdehlnoprtuy=,;:%.0123456789- x";
	struct fault_rule_text rules[2];
	struct fault_error error;
	uint32_t i, num, round;
	char text[64];
	char *longest = malloc(9000);

	memset(longest, 'a', 8999);
	longest[8999] = 0;
	ck_assert(!fault_read(longest, rules, 2, &num, &error));
	ck_assert_ptr_nonnull(strstr(error.why, "too long"));
	free(longest);
	ck_assert(!fault_read("drop;drop;drop", rules, 2, &num, &error));
	ck_assert_str_eq(error.why, "at most 32 faults");
	for (round = 0; round < 20000; round++) {
		strcpy(text, good[round % (sizeof(good) / sizeof(*good))].text);
		fill((char *)&i, sizeof(i), round);
		text[i % strlen(text)] = letters[i / 64 % (sizeof(letters) - 1)];
		if (fault_read(text, rules, 2, &num, &error))
			for (i = 0; i < num; i++)
				ck_assert_ptr_null(fault_wrong(&rules[i].fault));
	}
}
END_TEST

START_TEST(the_environment_gives_faults_to_all_hcas)
{
	setenv("IBAL_FAULT", "raise,event=sq-drained,n=2; drop,hca=1,n=1", 1);
	start("progress=manual [hca 0] fault=raise,event=path-mig,n=1", NULL);
	write_and_check(4);
	ck_assert_uint_eq(p.a->events, 1u << IB_EVENT_PATH_MIG | 1u << IB_EVENT_SQ_DRAINED);
	ck_assert_uint_eq(counters(&hca[1]).xmit_discards, 1);
	stop();
	setenv("IBAL_FAULT", "drop,n=none", 1);
	ck_assert_int_eq(try_up(""), AL_BAD_CONFIG);
	ck_assert_msg(strstr(last_log, "IBAL_FAULT=drop,n=none: at character 8: n= is a number from 1") != NULL, "%s", last_log);
	setenv("IBAL_FAULT", "drop,hca=9", 1);
	ck_assert_int_eq(try_up(""), AL_BAD_CONFIG);
	ck_assert_msg(strstr(last_log, "no such HCA") != NULL, "%s", last_log);
	unsetenv("IBAL_FAULT");
}
END_TEST

/* The vendor call refuses a rule without meaning, as the text does. */
START_TEST(rules_without_a_meaning_are_refused)
{
	static const struct soft_fault wrong[] = {
		{ .action = 0 },
		{ .action = SOFT_FAULT_ALLOC + 1 },
		{ .action = SOFT_FAULT_DROP, .flow = 3 },
		{ .action = SOFT_FAULT_DROP, .port = 2 },
		{ .action = SOFT_FAULT_DROP, .chance = 1000001 },
		{ .action = SOFT_FAULT_DROP, .by = 1 },
		{ .action = SOFT_FAULT_DROP, .delay_ns = 1 },
		{ .action = SOFT_FAULT_DROP, .match = 4 },
		{ .action = SOFT_FAULT_DROP, .opcode = 256 },
		{ .action = SOFT_FAULT_DROP, .psn = 1 << 24 },
		{ .action = SOFT_FAULT_HOLD },
		{ .action = SOFT_FAULT_DELAY },
		{ .action = SOFT_FAULT_DELAY, .delay_ns = SOFT_MAX_DELAY + 1 },
		{ .action = SOFT_FAULT_NAK },
		{ .action = SOFT_FAULT_NAK, .code = NAK_REMOTE_OPERATION + 1 },
		{ .action = SOFT_FAULT_NAK, .code = 0x140 },
		{ .action = SOFT_FAULT_RAISE, .code = IB_EVENT_SRQ_ERR },
		{ .action = SOFT_FAULT_RAISE, .code = 13 },
		{ .action = SOFT_FAULT_ALLOC, .flow = 1 },
	};
	size_t i;

	up("");
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_ADD, &wrong[i], sizeof(wrong[i])), AL_INVALID_PARAMETER);
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_ADD, &wrong[0], 4), AL_INVALID_PARAMETER);
	down();
}
END_TEST

#define LOOP(t, test, array) tcase_add_loop_test(t, test, 0, (int)(sizeof(array) / sizeof(*(array))))

int main(void)
{
	Suite *s = suite_create("soft: faults");
	TCase *t = tcase_create("faults");

	tcase_add_test(t, a_dropped_packet_counts_as_discarded);
	tcase_add_test(t, a_corrupted_packet_counts_as_an_error_of_the_far_port);
	tcase_add_test(t, a_delayed_packet_arrives_when_its_time_has_come);
	tcase_add_test(t, delayed_packets_come_in_the_order_of_their_times);
	tcase_add_test(t, a_delay_needs_no_polls);
	tcase_add_test(t, a_reset_drops_what_is_delayed);
	tcase_add_test(t, a_held_packet_is_overtaken);
	LOOP(t, a_forced_nak_refuses_the_request, naks);
	tcase_add_test(t, a_forced_rnr_nak_asks_for_its_pause);
	tcase_add_test(t, forced_rnr_naks_without_end_are_the_rnr_error);
	tcase_add_test(t, a_forced_sequence_nak_has_it_sent_again);
	tcase_add_test(t, a_port_goes_down_and_comes_up_under_traffic);
	tcase_add_test(t, an_hca_is_removed_under_traffic);
	LOOP(t, any_event_can_be_raised, raised);
	tcase_add_test(t, a_completion_queue_overflows_on_purpose);
	tcase_add_loop_test(t, the_nth_allocation_fails, 1, 5);
	tcase_add_test(t, an_allocation_of_each_kind_fails);
	LOOP(t, a_rule_meets_the_packets_that_match, matches);
	tcase_add_test(t, a_rule_may_be_about_one_queue_pair);
	tcase_add_test(t, the_first_rule_that_meets_a_packet_decides);
	tcase_add_test(t, trains_are_split_only_where_a_packet_is_met);
	tcase_add_test(t, decisions_depend_on_seed_flow_and_number_alone);
	tcase_add_loop_test(t, what_is_drawn_ahead_is_as_drawn_in_its_turn, 0, 6);
	tcase_add_test(t, no_rule_waits_for_what_was_drawn_ahead);
	tcase_add_test(t, threads_change_no_decision);
	tcase_add_test(t, rules_may_change_under_traffic);
	tcase_add_test(t, all_packet_faults_together_lose_nothing);
	tcase_add_test(t, rules_in_force_are_listed_with_what_they_have_met);
	tcase_add_test(t, rules_come_and_go_on_the_list);
	LOOP(t, text_says_what_is_meant, good);
	LOOP(t, wrong_text_is_refused_with_a_reason, bad);
	tcase_add_test(t, no_text_does_harm);
	tcase_add_test(t, the_environment_gives_faults_to_all_hcas);
	tcase_add_test(t, rules_without_a_meaning_are_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
