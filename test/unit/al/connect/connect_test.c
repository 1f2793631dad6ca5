/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cards of queue pairs, and queue pairs that are connected by them, on the software HCA. */
#include <iba/ib_connect.h>

#include "test/unit/al/al_test.h"

static al_h al;
static struct test_end end[2];
static struct al_qp_card card[2];

static void make(ib_qp_type type, const struct al_connect_opt *opt)
{
	uint64_t guids[2];

	al_set_log(test_ignore_log, NULL); /* objects that are left to al_close_ca() */
	al = test_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++) {
		test_make_end(&end[i], al, guids[i], type);
		ck_ok(al_qp_card(end[i].ca, 1, end[i].qp, opt, &card[i]));
	}
}

static void finish(void)
{
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

static void says(const char *words)
{
	ck_assert_msg(strstr(al_reason(), words) != NULL, "\"%s\" is not in: %s", words,
		      al_reason());
}

/* A message from one end to the other. */
static void transfer(void)
{
	ck_ok(test_post_recv(&end[1], 1, 0, 64));
	strcpy((char *)end[0].mem, "hello");
	ck_ok(test_post_send(&end[0], 2, 0, 6));
	test_poll_ok(end[0].cq, 2);
	test_poll_ok(end[1].cq, 1);
	ck_assert_str_eq((char *)end[1].mem, "hello");
}

/* ---------------------------------------------------------------------- cards */

START_TEST(a_card_says_what_the_peer_needs)
{
	struct ib_port_attr port;
	struct ib_ca_attr attr;
	ib_gid gid;

	make(IB_QPT_RC, NULL);
	ck_ok(al_query_ca(end[0].ca, &attr));
	ck_ok(al_query_port(end[0].ca, 1, &port));
	ck_ok(al_query_gid(end[0].ca, 1, 0, &gid));
	ck_assert_uint_eq(card[0].node_guid, attr.node_guid);
	ck_assert_mem_eq(&card[0].gid, &gid, sizeof(gid));
	ck_assert_int_eq(card[0].qp_type, IB_QPT_RC);
	ck_assert_int_eq(card[0].mtu, port.active_mtu);
	ck_assert_int_eq(card[0].link_layer, port.link_layer);
	ck_assert_uint_eq(card[0].qpn, end[0].qpn);
	ck_assert_uint_eq(card[0].qkey, 0);
	ck_assert_uint_eq(card[0].max_msg_size, port.max_msg_size);
	ck_assert_uint_eq(card[0].lid, port.lid);
	ck_assert_uint_eq(card[0].pkey, IB_PKEY_DEFAULT);
	ck_assert_uint_eq(card[0].port_num, 1);
	ck_assert_uint_le(card[0].initiator_depth, AL_CONNECT_RD_ATOMIC);
	ck_assert_uint_gt(card[0].responder_resources, 0);
	finish();
}
END_TEST

START_TEST(first_psns_and_q_keys_are_random)
{
	struct al_qp_card other;

	make(IB_QPT_UD, NULL);
	ck_assert_uint_ne(card[0].qkey, 0);
	ck_assert_uint_lt(card[0].qkey, 1u << 31);
	ck_assert_uint_ne(card[0].qkey, card[1].qkey);
	for (int i = 0; i < 3; i++) { /* equal once in 2^72 */
		ck_ok(al_qp_card(end[0].ca, 1, end[0].qp, NULL, &other));
		ck_assert_uint_le(other.psn, IB_PSN_MASK);
		if (other.psn != card[0].psn)
			break;
		ck_assert_int_lt(i, 2);
	}
	finish();
}
END_TEST

START_TEST(a_card_comes_back_from_the_wire)
{
	uint8_t wire[AL_CARD_BYTES], again[AL_CARD_BYTES];
	struct al_qp_card back;

	make(IB_QPT_UD, NULL);
	al_card_encode(&card[0], wire);
	ck_assert_mem_eq(wire, "ibqc\0\1\4\1", 8);
	ck_assert_uint_eq(wire[32], 0);
	ck_assert_uint_eq(wire[35], card[0].qpn & 0xff); /* network byte order */
	ck_ok(al_card_decode(wire, &back));
	al_card_encode(&back, again);
	ck_assert_mem_eq(wire, again, sizeof(wire));
	ck_assert_uint_eq(back.qkey, card[0].qkey);
	ck_assert_uint_eq(back.node_guid, card[0].node_guid);
	finish();
}
END_TEST

/* A value of a card that is none, and the words of the reason. */
static const struct bad {
	size_t at; /* byte of the encoded card */
	size_t bytes;
	uint64_t value;
	const char *words;
} bad[] = {
	{ 0, 4, 0, "no card" },
	{ 4, 2, 2, "version 2" },
	{ 6, 1, 0, "qp_type is 0" },
	{ 6, 1, IB_QPT_GSI, "qp_type is 11" },
	{ 7, 1, 0, "port_num is 0" },
	{ 8, 8, 0, "node_guid is 0" },
	{ 16, 1, 0xff, "a multicast GID" },
	{ 32, 4, 0, "qpn is 0" },
	{ 32, 4, 1, "qpn is 0x1" },
	{ 32, 4, IB_QPN_MULTICAST, "qpn is 0xffffff" },
	{ 36, 4, 1u << 24, "psn is 0x1000000" },
	{ 44, 4, 0, "max_msg_size is 0" },
	{ 44, 4, 0x80000001, "max_msg_size is 0x80000001" },
	{ 48, 2, 0, "lid is 0" },
	{ 48, 2, IB_LID_MULTICAST_FIRST, "lid is 0xc000" },
	{ 50, 2, IB_PKEY_FULL_MEMBER, "pkey is 0" },
	{ 52, 1, 0, "mtu is 0" },
	{ 52, 1, 6, "mtu is 0x6" },
	{ 53, 1, 0, "link_layer is 0" },
	{ 53, 1, 3, "link_layer is 0x3" },
	{ 53, 1, IB_LINK_LAYER_ETHERNET, "must be 0 on Ethernet" },
	{ 63, 1, 1, "reserved is not zero" },
};
#define BAD (sizeof(bad) / sizeof(bad[0]))

START_TEST(each_wrong_value_of_a_card_is_refused_and_named)
{
	struct al_qp_card got, before;
	uint8_t wire[AL_CARD_BYTES];

	make(IB_QPT_RC, NULL);
	al_card_encode(&card[1], wire);
	for (size_t i = 0; i < bad[_i].bytes; i++)
		wire[bad[_i].at + i] = (uint8_t)(bad[_i].value >> 8 * (bad[_i].bytes - 1 - i));
	memset(&got, 0x5a, sizeof(got));
	before = got;
	ck_status(al_card_decode(wire, &got), AL_INVALID_PARAMETER);
	says(bad[_i].words);
	ck_assert_mem_eq(&got, &before, sizeof(got));
	finish();
}
END_TEST

START_TEST(any_bytes_are_a_valid_card_or_refused)
{
	uint64_t random = 0x9e3779b97f4a7c15;
	uint8_t wire[AL_CARD_BYTES], again[AL_CARD_BYTES];
	struct al_qp_card got;

	make(IB_QPT_RC, NULL);
	for (int i = 0; i < 20000; i++) {
		al_card_encode(&card[0], wire);
		for (int n = 0; n < 1 + i % 3; n++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			wire[(random >> 40) % AL_CARD_BYTES] = (uint8_t)(random >> 56);
		}
		if (al_card_decode(wire, &got))
			continue;
		al_card_encode(&got, again);
		ck_assert_mem_eq(wire, again, sizeof(wire));
		/* What the decoder takes, the queue pair and the path take or refuse with a reason.
		 */
		if (!al_card_address(&card[1], &got, NULL, &(struct ib_ah_attr){ 0 }))
			ck_assert_int_eq(got.qp_type, IB_QPT_RC);
	}
	finish();
}
END_TEST

START_TEST(a_card_needs_an_active_port_and_a_queue_pair_that_connects)
{
	struct al_connect_opt opt = { .gid_index = 60000 };
	al_qp_h alias;

	make(IB_QPT_RC, NULL);
	ck_status(al_qp_card(end[0].ca, 1, end[0].qp, NULL, NULL), AL_INVALID_PARAMETER);
	ck_status(al_qp_card(end[0].ca, 99, end[0].qp, NULL, &card[0]), AL_INVALID_PORT);
	ck_status(al_qp_card(end[0].ca, 1, end[0].qp, &opt, &card[0]), AL_INVALID_GID_INDEX);
	opt = (struct al_connect_opt){ .pkey_index = 60000 };
	ck_status(al_qp_card(end[0].ca, 1, end[0].qp, &opt, &card[0]), AL_INVALID_PKEY_INDEX);
	ck_ok(al_get_spl_qp(end[0].ca, 1, IB_QPT_GSI, NULL, NULL, &alias));
	ck_status(al_qp_card(end[0].ca, 1, alias, NULL, &card[0]), AL_INVALID_QP_TYPE);
	says("of type GSI");
	ck_ok(al_destroy_qp(alias, AL_DESTROY_SYNC, NULL));
	if (!test_in_user_role()) {
		ck_ok(al_modify_port(end[0].ca, 1, IB_PORT_MODIFY_SHUTDOWN,
				     &(struct ib_port_modify){ 0 }));
		ck_status(al_qp_card(end[0].ca, 1, end[0].qp, NULL, &card[0]), AL_PORT_DOWN);
		says("port 1 is Down");
	}
	finish();
}
END_TEST

/* -------------------------------------------------------------------- options */

static const struct {
	struct al_connect_opt opt;
	const char *words;
} wrong[] = {
	{ { .mtu = (ib_mtu)6 }, "mtu of the options is 6" },
	{ { .gid_index = 65536 }, "gid_index of the options is 65536" },
	{ { .sl = 16 }, "sl of the options is 16" },
	{ { .timeout = 32 }, "timeout of the options is 32" },
	{ { .retry_cnt = 8 }, "retry_cnt of the options is 8" },
	{ { .rnr_retry = 8 }, "rnr_retry of the options is 8" },
	{ { .min_rnr_timer = 32 }, "min_rnr_timer of the options is 32" },
	{ { .access = IB_ACCESS_MW_BIND }, "bits 0x10" },
	{ { .reserved = { 0, 0, 0, 1 } }, "reserved" },
	{ { .pad2 = 1 }, "reserved" },
};
#define WRONG (sizeof(wrong) / sizeof(wrong[0]))

START_TEST(each_wrong_option_is_refused_and_named)
{
	struct ib_ah_attr path;

	make(IB_QPT_RC, NULL);
	ck_status(al_qp_card(end[0].ca, 1, end[0].qp, &wrong[_i].opt, &card[0]),
		  AL_INVALID_PARAMETER);
	says(wrong[_i].words);
	ck_status(al_connect_qp(end[0].qp, &card[0], &card[1], &wrong[_i].opt),
		  AL_INVALID_PARAMETER);
	says(wrong[_i].words);
	ck_status(al_card_address(&card[0], &card[1], &wrong[_i].opt, &path), AL_INVALID_PARAMETER);
	says(wrong[_i].words);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RESET);
	finish();
}
END_TEST

START_TEST(options_reach_the_queue_pair)
{
	const struct al_connect_opt opt = {
		.access = IB_ACCESS_REMOTE_READ,
		.mtu = IB_MTU_512,
		.rd_atomic = 2,
		.sl = 3,
		.timeout = 17,
		.retry_cnt = 5,
		.rnr_retry = AL_CONNECT_NONE,
		.min_rnr_timer = 9,
		.hop_limit = 7,
		.traffic_class = 4,
		.global = true,
	};
	struct ib_qp_attr attr;

	make(IB_QPT_RC, &opt);
	card[1].responder_resources = 1; /* the peer serves fewer */
	card[1].mtu = IB_MTU_256;
	ck_ok(al_connect_qp(end[0].qp, &card[0], &card[1], &opt));
	ck_ok(al_query_qp(end[0].qp, &attr, NULL));
	ck_assert_int_eq(attr.qp_state, IB_QPS_RTS);
	ck_assert_int_eq(attr.path_mtu, IB_MTU_256);
	ck_assert_uint_eq(attr.qp_access_flags, IB_ACCESS_REMOTE_READ);
	ck_assert_uint_eq(attr.max_rd_atomic, 1);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 2);
	ck_assert_uint_eq(attr.timeout, 17);
	ck_assert_uint_eq(attr.retry_cnt, 5);
	ck_assert_uint_eq(attr.rnr_retry, 0);
	ck_assert_uint_eq(attr.min_rnr_timer, 9);
	ck_assert_uint_eq(attr.dest_qp_num, card[1].qpn);
	ck_assert_uint_eq(attr.ah_attr.sl, 3);
	ck_assert(attr.ah_attr.is_global);
	ck_assert_uint_eq(attr.ah_attr.grh.hop_limit, 7);
	ck_assert_uint_eq(attr.ah_attr.grh.traffic_class, 4);
	ck_assert_mem_eq(&attr.ah_attr.grh.dgid, &card[1].gid, sizeof(ib_gid));
	finish();
}
END_TEST

/* ----------------------------------------------------------------- connecting */

START_TEST(two_cards_connect_two_queue_pairs)
{
	struct ib_qp_attr attr;

	make(_i ? IB_QPT_UC : IB_QPT_RC, NULL);
	for (int i = 0; i < 2; i++)
		ck_ok(al_connect_qp(end[i].qp, &card[i], &card[!i], NULL));
	ck_ok(al_query_qp(end[0].qp, &attr, NULL));
	ck_assert_uint_eq(attr.rq_psn, card[1].psn);
	ck_assert(!attr.ah_attr.is_global);
	transfer();
	finish();
}
END_TEST

START_TEST(a_queue_pair_in_init_keeps_its_receives)
{
	struct ib_qp_attr init = { .port_num = 1, .qp_access_flags = IB_ACCESS_REMOTE_WRITE };

	make(IB_QPT_UC, NULL);
	ck_ok(test_modify(end[1].qp, IB_QPS_INIT, init, TEST_RC_INIT));
	ck_ok(test_post_recv(&end[1], 7, 0, 64));
	for (int i = 0; i < 2; i++)
		ck_ok(al_connect_qp(end[i].qp, &card[i], &card[!i], NULL));
	strcpy((char *)end[0].mem, "first");
	ck_ok(test_post_send(&end[0], 2, 0, 6));
	test_poll_ok(end[1].cq, 7);
	ck_assert_str_eq((char *)end[1].mem, "first");
	finish();
}
END_TEST

START_TEST(a_datagram_goes_where_a_card_leads)
{
	const struct al_connect_opt opt = { .global = _i };
	const struct ib_send_wr *bad_wr;
	struct ib_ah_attr path;
	al_ah_h ah;

	make(IB_QPT_UD, NULL);
	for (int i = 0; i < 2; i++)
		ck_ok(al_connect_qp(end[i].qp, &card[i], NULL, NULL));
	ck_ok(al_card_address(&card[0], &card[1], &opt, &path));
	ck_ok(al_create_ah(end[0].pd, &path, &ah));
	ck_ok(test_post_recv(&end[1], 1, 0, 128));
	strcpy((char *)end[0].mem, "datagram");
	struct ib_sge sge = { (uintptr_t)end[0].mem, 9, end[0].lkey };
	struct ib_send_wr wr = { .wr_id = 2,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IB_SEND_SIGNALED,
				 .wr.ud = { ah, card[1].qpn, card[1].qkey, 0, 0 } };
	ck_ok(al_post_send(end[0].qp, &wr, &bad_wr));
	test_poll_ok(end[0].cq, 2);
	ck_assert_uint_eq(!!(test_poll_ok(end[1].cq, 1).wc_flags & IB_WC_GRH), _i);
	ck_assert_str_eq((char *)end[1].mem + IB_GRH_BYTES, "datagram");
	ck_ok(al_destroy_ah(ah, NULL, NULL));
	finish();
}
END_TEST

START_TEST(an_ethernet_port_is_reached_by_its_gid)
{
	struct ib_ah_attr path;

	make(IB_QPT_RC, NULL);
	for (int i = 0; i < 2; i++) {
		card[i].link_layer = IB_LINK_LAYER_ETHERNET;
		card[i].lid = 0;
	}
	ck_ok(al_card_address(&card[0], &card[1], NULL, &path));
	ck_assert(path.is_global);
	ck_assert_uint_eq(path.dlid, 0);
	ck_assert_uint_eq(path.grh.hop_limit, 64);
	ck_assert_mem_eq(&path.grh.dgid, &card[1].gid, sizeof(ib_gid));
	finish();
}
END_TEST

START_TEST(ends_that_do_not_fit_are_refused_and_nothing_changes)
{
	struct al_qp_card other;

	make(IB_QPT_RC, NULL);
	other = card[1];
	other.qp_type = IB_QPT_UC;
	ck_status(al_connect_qp(end[0].qp, &card[0], &other, NULL), AL_INVALID_PARAMETER);
	says("is of type UC, and this one of type RC");
	ck_status(al_connect_qp(end[0].qp, &other, &other, NULL), AL_INVALID_QP_TYPE);
	says("of type RC, and its card of type UC");
	other = card[1];
	other.link_layer = IB_LINK_LAYER_ETHERNET;
	other.lid = 0;
	ck_status(al_connect_qp(end[0].qp, &card[0], &other, NULL), AL_INVALID_PARAMETER);
	says("link layer is Ethernet");
	other = card[1];
	other.pkey = 0x8123;
	ck_status(al_connect_qp(end[0].qp, &card[0], &other, NULL), AL_INVALID_PARAMETER);
	says("the peer is in partition 0x123");
	other.pkey = 0x7fff;
	ck_status(al_connect_qp(end[0].qp, &other, &other, NULL), AL_INVALID_PARAMETER);
	says("limited members");
	other = card[1];
	other.qpn = 0;
	ck_status(al_connect_qp(end[0].qp, &card[0], &other, NULL), AL_INVALID_PARAMETER);
	says("the peer's card: qpn");
	ck_status(al_connect_qp(end[0].qp, &other, &card[1], NULL), AL_INVALID_PARAMETER);
	says("the queue pair's card: qpn");
	ck_status(al_connect_qp(end[0].qp, &card[0], NULL, NULL), AL_INVALID_PARAMETER);
	ck_status(al_connect_qp(end[0].qp, NULL, &card[1], NULL), AL_INVALID_PARAMETER);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RESET);
	finish();
}
END_TEST

START_TEST(a_step_that_fails_is_named_and_undone)
{
	struct ib_qp_attr init = { .port_num = 1, .qp_access_flags = IB_ACCESS_REMOTE_WRITE };

	make(IB_QPT_RC, NULL);
	card[0].responder_resources = 255; /* more than the HCA has: refused by the step to RTR */
	ck_status(al_connect_qp(end[0].qp, &card[0], &card[1], NULL), AL_LIMIT_EXCEEDED);
	says("the step to RTR fails: max_dest_rd_atomic is 255");
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RESET);
	ck_ok(test_modify(end[0].qp, IB_QPS_INIT, init, TEST_RC_INIT));
	ck_status(al_connect_qp(end[0].qp, &card[0], &card[1], NULL), AL_LIMIT_EXCEEDED);
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_INIT);
	card[0].responder_resources = 1;
	card[0].initiator_depth = card[1].responder_resources = 255; /* by the step to RTS */
	ck_status(al_connect_qp(end[0].qp, &card[0], &card[1], NULL), AL_LIMIT_EXCEEDED);
	says("the step to RTS fails: max_rd_atomic is 255");
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RESET);
	card[0].port_num = 9;
	ck_status(al_connect_qp(end[0].qp, &card[0], &card[1], NULL), AL_INVALID_PORT);
	says("the step to Init fails");
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RESET);
	finish();
}
END_TEST

START_TEST(a_connected_queue_pair_is_not_connected_again)
{
	make(IB_QPT_RC, NULL);
	ck_ok(al_connect_qp(end[0].qp, &card[0], &card[1], NULL));
	ck_status(al_connect_qp(end[0].qp, &card[0], &card[1], NULL), AL_INVALID_TRANSITION);
	says("in the state RTS");
	ck_assert_int_eq(test_state(end[0].qp), IB_QPS_RTS);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("al/connect/connect");
	TCase *tc = tcase_create("cards"), *opt = tcase_create("options"),
	      *qp = tcase_create("queue pairs");

	tcase_add_test(tc, a_card_says_what_the_peer_needs);
	tcase_add_test(tc, first_psns_and_q_keys_are_random);
	tcase_add_test(tc, a_card_comes_back_from_the_wire);
	tcase_add_loop_test(tc, each_wrong_value_of_a_card_is_refused_and_named, 0, BAD);
	tcase_add_test(tc, any_bytes_are_a_valid_card_or_refused);
	tcase_add_test(tc, a_card_needs_an_active_port_and_a_queue_pair_that_connects);
	suite_add_tcase(suite, tc);
	tcase_add_loop_test(opt, each_wrong_option_is_refused_and_named, 0, WRONG);
	tcase_add_test(opt, options_reach_the_queue_pair);
	suite_add_tcase(suite, opt);
	tcase_add_loop_test(qp, two_cards_connect_two_queue_pairs, 0, 2);
	tcase_add_test(qp, a_queue_pair_in_init_keeps_its_receives);
	tcase_add_loop_test(qp, a_datagram_goes_where_a_card_leads, 0, 2);
	tcase_add_test(qp, an_ethernet_port_is_reached_by_its_gid);
	tcase_add_test(qp, ends_that_do_not_fit_are_refused_and_nothing_changes);
	tcase_add_test(qp, a_step_that_fails_is_named_and_undone);
	tcase_add_test(qp, a_connected_queue_pair_is_not_connected_again);
	suite_add_tcase(suite, qp);
	return test_run(suite);
}
