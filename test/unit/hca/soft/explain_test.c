/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rules of faults, explained: the meaning of each rule in words, and the position at which a wrong text goes wrong. */
#include <stdio.h>

#include "harness.h"

static struct soft_fault_text in;
static struct soft_fault_words out;

static void explain(const char *text)
{
	struct ci_vendor_call call = { .code = SOFT_FAULT_EXPLAIN,
				       .in = &in,
				       .in_len = sizeof(in),
				       .out = &out,
				       .out_len = sizeof(out) };

	snprintf(in.text, sizeof(in.text), "%s", text);
	ck_assert_int_eq(ops->vendor_call(hca[0].ca, &call, NULL), AL_SUCCESS);
}

static const struct {
	const char *text, *words;
} good[] = {
	{ "drop", "each packet of each flow is lost" },
	{ "drop,n=3", "packet 3 of each flow is lost" },
	{ "drop,n=3,count=0,flow=response",
	  "each packet from number 3 on of each flow of responses is lost" },
	{ "duplicate,n=2,count=5,chance=0.1%",
	  "each of the 5 packets from number 2 on of each flow arrives twice, by a chance of 0.1 %" },
	{ "drop,chance=0", "each packet of each flow is lost, but never: the chance is 0" },
	{ "hold", "each packet of each flow arrives after 1 later packet of its flow" },
	{ "reorder,by=3,qp=0x12,flow=request",
	  "each packet of the flow of requests of queue pair 0x12 arrives after 3 later packets of its flow" },
	{ "delay,time=1500us,chance=5,seed=9",
	  "each packet of each flow arrives later by 1500 us, by a chance of 0.0005 % drawn from seed 9" },
	{ "delay,time=86400s", "each packet of each flow arrives later by 86400 s" },
	{ "corrupt,opcode=rc-ack,psn=5,port=1",
	  "each packet of each flow by port 1, with opcode RC_ACK and PSN 0x5 arrives with wrong bits, and is dropped there" },
	{ "nak,code=rnr:14,psn=0",
	  "each packet of each flow, with PSN 0 is refused, if a request of RC: NAK RNR, of timer code 14" },
	{ "nak,code=access",
	  "each packet of each flow is refused, if a request of RC: NAK access" },
	{ "port-down,hca=1,n=9", "HCA 1: packet 9 of each flow pulls its port's cable" },
	{ "port-up", "each packet of each flow puts its port's cable back" },
	{ "remove,n=1", "packet 1 of each flow removes its HCA" },
	{ "raise,event=device-fatal", "each packet of each flow raises IB_EVENT_DEVICE_FATAL" },
	{ "cq-overflow",
	  "each packet of each flow has its queue pair's send completion queue overflow" },
	{ "alloc,n=2", "allocation 2 fails" },
	{ "drop,opcode=255", "each packet of each flow, with opcode that nobody sends is lost" },
};

START_TEST(each_rule_is_said_in_words)
{
	explain(good[_i].text);
	ck_assert_str_eq(out.why, "");
	ck_assert_uint_eq(out.num, 1);
	ck_assert_str_eq(out.words[0], good[_i].words);
}
END_TEST

static const struct {
	const char *text, *why;
	uint32_t at, num;
} bad[] = {
	{ "explode", "begins with one of drop", 0, 0 },
	{ "drop;explode", "begins with one of drop", 5, 1 },
	{ "drop,n=none", "from 1", 7, 0 },
	{ "drop; delay , time = 5", "unit", 21, 1 },
	{ "drop,colour=red",
	  "drop has no key colour=; its keys are n=, count=, chance=, seed=, flow=, qp=, port=, "
	  "opcode=, psn=, hca= and switch=",
	  5, 0 },
	{ "drop,by=2", "drop has no key by=", 5, 0 },
	{ "alloc,qp=5", "alloc has no key qp=; its keys are n=, count=, chance=, seed=, hca=", 6,
	  0 },
	{ "drop,n", "n needs a value", 5, 0 },
	{ "drop,n=", "n= needs a value", 5, 0 },
	{ "drop,count=3", "needs n=", 5, 0 },
	{ "explode",
	  "drop, duplicate, hold, reorder, delay, corrupt, nak, port-down, port-up, remove, raise, "
	  "cq-overflow, alloc, slow, mark, overrun, recover, flap",
	  0, 0 },
	{ "drop;  delay,n=5", "time=5ms", 7, 1 },
	{ "drop, hca=7", "no such HCA", 10, 1 },
	{ "drop,hca=0,port=2;drop", "no such port", 16, 2 },
	{ "drop;drop,n=1,port=2,count=1", "no such port", 19, 2 },
	{ "drop,port=9", "from 1 to 8", 10, 0 },
	{ "drop,port=255,switch=1", "254", 10, 0 },
	{ "drop,port=1,switch=1", "no topology here", 19, 1 },
	{ "drop,switch=0", "GUID of a switch, such as 0x", 12, 0 },
	{ "drop,switch=1,hca=0", "an HCA or for a switch", 14, 0 },
	{ "drop,hca=0,switch=1", "an HCA or for a switch", 11, 0 },
	{ "slow,rate=10MB", "a cable at a switch", 0, 0 },
	{ "flap", "a cable at a switch", 0, 0 },
	{ "mark,switch=1,rate=10MB", "mark has no key rate=", 14, 0 },
	{ "slow,switch=1", "needs the rate", 0, 0 },
	{ "slow,switch=1,rate=10", "bytes per second with its unit", 19, 0 },
	{ "slow,switch=1,rate=0MB", "from 1KB", 19, 0 },
	{ "slow,switch=1,rate=999B", "from 1KB", 19, 0 },
	{ "slow,switch=1,rate=1001GB", "to 1000GB", 19, 0 },
	{ "slow,switch=1,rate=1MB,n=2", "for all packets", 23, 0 },
	{ "slow,switch=1,chance=1%,rate=1MB", "for all packets", 14, 0 },
	{ "hold,switch=1", "drop, delay, corrupt, slow, mark, overrun, recover, flap", 0, 0 },
	{ "drop,switch=1,qp=2", "no flows", 14, 0 },
	{ "drop,psn=1,switch=1", "no flows", 5, 0 },
	{ "raise,n=3,event=srq-err", "raise needs", 10, 0 },
};

/* The rule that takes all that the last rule could meet, from 1; 0: none. */
static const struct {
	const char *text;
	uint32_t taken_by;
} vain[] = {
	{ "delay,time=1ms;drop", 1 },
	{ "drop,chance=100%;drop", 1 },
	{ "drop,chance=99%;drop", 0 },
	{ "drop,chance=0;drop", 0 },
	{ "drop,n=2;delay,time=1ms;corrupt,chance=1%", 2 },
	{ "drop,n=1,count=0;drop", 1 },
	{ "drop,n=2,count=0;drop", 0 },
	{ "drop,n=2,count=0;drop,n=3,count=0", 1 },
	{ "drop,n=2,count=3;drop,n=2,count=3", 1 },
	{ "drop,n=2,count=3;drop,n=3,count=2", 1 },
	{ "drop,n=2,count=3;drop,n=3,count=3", 0 },
	{ "drop,n=2,count=3;drop,n=3,count=0", 0 },
	{ "drop,n=2,count=3;drop,n=1", 0 },
	{ "drop,hca=0;drop", 0 },
	{ "drop,hca=0;drop,hca=1", 0 },
	{ "drop;drop,hca=1", 1 },
	{ "drop,hca=1;drop,hca=1,port=1", 1 },
	{ "drop,port=1;drop", 0 },
	{ "drop,flow=request;drop,flow=response", 0 },
	{ "drop,flow=request;drop,flow=request,qp=2", 1 },
	{ "drop,qp=1;drop,qp=2", 0 },
	{ "drop,opcode=4;drop,opcode=5", 0 },
	{ "drop,opcode=4;drop,opcode=4,psn=0", 1 },
	{ "drop,psn=0;drop", 0 },
	{ "drop,psn=0;drop,psn=1", 0 },
	{ "nak,code=rnr;drop", 0 },
	{ "nak,code=rnr;nak,code=access", 1 },
	{ "drop;nak,code=access", 1 },
	/* a port's own agents send packets without a queue pair */
	{ "cq-overflow;drop", 0 },
	{ "raise,event=qp-fatal;drop", 0 },
	{ "raise,event=port-down;drop", 1 },
	{ "cq-overflow;raise,event=qp-fatal", 1 },
	{ "drop;alloc", 0 },
	{ "alloc;drop", 0 },
	{ "alloc;alloc,n=3", 1 },
};

START_TEST(a_rule_in_vain_is_told)
{
	char words[80] = "before";
	bool told;

	if (vain[_i].taken_by)
		snprintf(words, sizeof(words), ", but never: rule %u takes each of them before",
			 vain[_i].taken_by);
	explain(vain[_i].text);
	ck_assert_str_eq(out.why, "");
	told = strstr(out.words[out.num - 1], words) != NULL;
	ck_assert_msg(told == !!vain[_i].taken_by, "%s: %s", vain[_i].text, out.words[out.num - 1]);
	ck_assert_ptr_null(strstr(out.words[0], "before"));
}
END_TEST

START_TEST(what_is_wrong_is_found_where_it_is)
{
	explain(bad[_i].text);
	ck_assert_msg(strstr(out.why, bad[_i].why) != NULL, "%s: %s", bad[_i].text, out.why);
	ck_assert_uint_eq(out.at, bad[_i].at);
	ck_assert_uint_eq(out.num, bad[_i].num);
}
END_TEST

START_TEST(an_explanation_changes_nothing)
{
	struct pair p;

	explain("drop");
	pair_up(&p, NULL, 4096);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_uint_eq(fault_met(&hca[0]), 0);
	pair_down(&p);
}
END_TEST

START_TEST(a_text_without_an_end_is_refused)
{
	memset(in.text, ' ', sizeof(in.text));
	ck_assert_int_eq(vendor(&hca[0], SOFT_FAULT_EXPLAIN, &in, sizeof(in)), AL_BUFFER_TOO_SMALL);
	ck_assert_int_eq(ops->vendor_call(hca[0].ca,
					  &(struct ci_vendor_call){ .code = SOFT_FAULT_EXPLAIN,
								    .in = &in,
								    .in_len = sizeof(in),
								    .out = &out,
								    .out_len = sizeof(out) },
					  NULL),
			 AL_INVALID_PARAMETER);
}
END_TEST

static void setup(void)
{
	up("");
}

int main(void)
{
	Suite *s = suite_create("soft: faults explained");
	TCase *t = tcase_create("explained");

	tcase_add_checked_fixture(t, setup, down);
	tcase_add_loop_test(t, each_rule_is_said_in_words, 0, sizeof(good) / sizeof(*good));
	tcase_add_loop_test(t, what_is_wrong_is_found_where_it_is, 0, sizeof(bad) / sizeof(*bad));
	tcase_add_loop_test(t, a_rule_in_vain_is_told, 0, sizeof(vain) / sizeof(*vain));
	tcase_add_test(t, an_explanation_changes_nothing);
	tcase_add_test(t, a_text_without_an_end_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
