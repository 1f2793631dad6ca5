/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ethernet ports (RoCEv2) through the whole stack, by the public API: connections and datagrams by GID, answers to
 * datagrams on IPv4 and IPv6, groups, and what such ports have not. The software HCA alone: test/unit/hca/soft/roce_test.c.
 */
#include <iba/ib_connect.h>
#include <iba/ib_mad.h>

#include "test/unit/al/al_test.h"

#define QKEY 0x4242u
#define AT 8192u /* offset of the messages to send in an end's memory */

static al_h al;
static struct test_end end[2];

static void make(ib_qp_type type)
{
	uint64_t guids[2];

	al = test_open();
	test_guids(al, guids, 2);
	for (int i = 0; i < 2; i++)
		test_make_end(&end[i], al, guids[i], type);
}

static void finish(void)
{
	al_set_log(test_ignore_log, NULL);
	for (int i = 0; i < 2; i++)
		test_free_end(&end[i]);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/* Connects both ends, or makes them ready for datagrams. */
static void connect_ends(ib_qp_type type, uint32_t gid_index)
{
	const struct al_connect_opt opt = { .gid_index = gid_index, .qkey = type == IB_QPT_UD ? QKEY : 0 };
	struct al_qp_card card[2];

	for (int i = 0; i < 2; i++)
		ck_ok(al_qp_card(end[i].ca, 1, end[i].qp, &opt, &card[i]));
	for (int i = 0; i < 2; i++)
		ck_ok(al_connect_qp(end[i].qp, &card[i], &card[!i], &opt));
}

START_TEST(a_port_has_gids_of_roce)
{
	struct ib_port_attr port;
	ib_link_layer layer;
	ib_gid_type type;
	uint32_t index;
	uint8_t num;
	ib_gid gid;

	make(IB_QPT_RC);
	ck_ok(al_query_port(end[0].ca, 1, &port));
	ck_assert_int_eq(port.link_layer, IB_LINK_LAYER_ETHERNET);
	ck_assert_uint_eq(port.lid, 0);
	ck_assert_uint_eq(port.pkey_tbl_len, 1);
	ck_ok(al_port_link_layer(end[0].ca, 1, &layer));
	ck_assert_int_eq(layer, IB_LINK_LAYER_ETHERNET);
	for (uint32_t i = 0; i < port.gid_tbl_len; i++) {
		ck_ok(al_query_gid_type(end[0].ca, 1, i, &type));
		ck_assert_int_eq(type, IB_GID_TYPE_ROCE_V2);
	}
	ck_status(al_query_gid_type(end[0].ca, 1, port.gid_tbl_len, &type), AL_INVALID_GID_INDEX);
	ck_status(al_query_gid_type(end[0].ca, 2, 0, &type), AL_INVALID_PORT);
	ck_ok(al_query_gid(end[0].ca, 1, 1, &gid));
	ck_ok(al_find_gid(end[0].ca, &gid, &num, &index));
	ck_assert_uint_eq(index, 1);
	finish();
}
END_TEST

/* _i: entry of the tables. */
START_TEST(a_connection_leads_by_gid)
{
	struct ib_qp_attr attr;

	make(IB_QPT_RC);
	connect_ends(IB_QPT_RC, (uint32_t)_i);
	for (int i = 0; i < 20; i++) {
		end[0].mem[AT + 99] = (uint8_t)i;
		ck_ok(test_post_recv(&end[1], 1, 0, 100));
		ck_ok(test_post_send(&end[0], 2, AT, 100));
		test_poll_ok(end[0].cq, 2);
		test_poll_ok(end[1].cq, 1);
		ck_assert_mem_eq(end[1].mem, end[0].mem + AT, 100);
	}
	ck_ok(al_query_qp(end[0].qp, &attr, NULL));
	ck_assert(attr.ah_attr.is_global);
	ck_assert_uint_eq(attr.ah_attr.dlid, 0);
	finish();
}
END_TEST

static void send_one(struct test_end *from, al_ah_h ah, uint32_t qpn)
{
	struct ib_sge sge = { .addr = (uintptr_t)from->mem + AT, .length = 60, .lkey = from->lkey };
	const struct ib_send_wr wr = { .wr_id = 1,
				       .opcode = IB_WR_SEND,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .send_flags = IB_SEND_SIGNALED,
				       .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY } };

	ck_ok(al_post_send(from->qp, &wr, NULL));
	test_poll_ok(from->cq, 1);
}

/* _i: entry of the tables: IPv6, IPv4. */
START_TEST(a_datagram_is_answered_to_the_address_it_came_from)
{
	struct ib_ah_attr path = { .is_global = true, .port_num = 1 }, answer;
	al_ah_h there, back;
	struct ib_wc wc;
	ib_gid own;

	make(IB_QPT_UD);
	connect_ends(IB_QPT_UD, (uint32_t)_i);
	path.grh.sgid_index = (uint16_t)_i;
	ck_ok(al_query_gid(end[0].ca, 1, (uint32_t)_i, &own));
	ck_ok(al_query_gid(end[1].ca, 1, (uint32_t)_i, &path.grh.dgid));
	ck_ok(al_create_ah(end[0].pd, &path, &there));
	memcpy(end[0].mem + AT, "question", 9);
	memcpy(end[1].mem + AT, "answer", 7);
	ck_ok(test_post_recv(&end[0], 10, 0, 200));
	ck_ok(test_post_recv(&end[1], 11, 0, 200));
	send_one(&end[0], there, end[1].qpn);
	wc = test_poll_ok(end[1].cq, 11);
	ck_assert_uint_eq(wc.wc_flags, IB_WC_GRH | (uint32_t)(_i ? IB_WC_IP4 : IB_WC_IP6));
	ck_assert_uint_eq(wc.slid, 0);
	ck_assert_mem_eq(end[1].mem + IB_GRH_BYTES, "question", 9);
	ck_ok(al_init_ah_from_wc(end[1].ca, 1, &wc, end[1].mem, &answer));
	ck_assert_mem_eq(answer.grh.dgid.raw, own.raw, 16);
	ck_assert_uint_eq(answer.grh.sgid_index, (uint32_t)_i);
	ck_ok(al_create_ah_from_wc(end[1].pd, &wc, end[1].mem, 1, &back));
	send_one(&end[1], back, wc.src_qp);
	test_poll_ok(end[0].cq, 10);
	ck_assert_mem_eq(end[0].mem + IB_GRH_BYTES, "answer", 7);
	finish();
}
END_TEST

/* _i: the LID that programs give with a group: none, or that of InfiniBand's. */
START_TEST(a_group_is_joined_with_any_lid)
{
	static const ib_gid group = { .raw = { 0xff, 0x0e, [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	const uint16_t mlid = _i ? 0xc001 : 0;
	struct ib_ah_attr path = { .is_global = true, .port_num = 1, .grh = { .dgid = group, .sgid_index = 1 } };
	al_ah_h there;

	make(IB_QPT_UD);
	connect_ends(IB_QPT_UD, 1);
	ck_status(al_attach_mcast(end[1].qp, &group, 5), AL_INVALID_PARAMETER);
	ck_assert(strstr(al_reason(), "and 0 at Ethernet ports"));
	ck_ok(al_attach_mcast(end[1].qp, &group, mlid));
	ck_ok(al_create_ah(end[0].pd, &path, &there));
	memcpy(end[0].mem + AT, "to all", 7);
	ck_ok(test_post_recv(&end[1], 11, 0, 200));
	send_one(&end[0], there, IB_QPN_MULTICAST);
	test_poll_ok(end[1].cq, 11);
	ck_assert_mem_eq(end[1].mem + IB_GRH_BYTES, "to all", 7);
	ck_ok(al_detach_mcast(end[1].qp, &group, mlid));
	finish();
}
END_TEST

START_TEST(a_path_without_a_grh_is_refused)
{
	const struct ib_ah_attr path = { .dlid = 2, .port_num = 1 };
	al_ah_h ah;

	make(IB_QPT_UD);
	ck_status(al_create_ah(end[0].pd, &path, &ah), AL_INVALID_PARAMETER);
	ck_assert(strstr(al_reason(), "the port is Ethernet"));
	finish();
}
END_TEST

/* Ethernet has no queue pair 0; queue pair 1 is for connection management. */
START_TEST(there_is_no_subnet_management)
{
	struct al_mad_svc_init init = { .port_num = 1,
					.mgmt_class = IB_CLASS_SUBN_LID,
					.class_version = 1 };
	al_mad_svc_h svc;
	al_qp_h qp;

	make(IB_QPT_RC);
	ck_status(al_get_spl_qp(end[0].ca, 1, IB_QPT_SMI, NULL, test_ignore_event, &qp), AL_UNSUPPORTED);
	ck_assert(strstr(al_reason(), "no queue pair QP0"));
	ck_status(al_reg_mad_svc(end[0].ca, &init, NULL, test_ignore_mad, &svc), AL_UNSUPPORTED);
	ck_assert(strstr(al_reason(), "no subnet management"));
	ck_ok(al_get_spl_qp(end[0].ca, 1, IB_QPT_GSI, NULL, test_ignore_event, &qp));
	ck_ok(al_destroy_qp(qp, AL_DESTROY_SYNC, NULL));
	init.mgmt_class = 0x30; /* a vendor's */
	ck_ok(al_reg_mad_svc(end[0].ca, &init, NULL, test_ignore_mad, &svc));
	ck_ok(al_dereg_mad_svc(svc, AL_DESTROY_SYNC, NULL));
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("e2e/roce");
	TCase *tcase = tcase_create("public API");

	if (setenv("IBAL_SOFT", "link_layer=ethernet", 1))
		return 1;
	tcase_add_test(tcase, a_port_has_gids_of_roce);
	tcase_add_loop_test(tcase, a_connection_leads_by_gid, 0, 2);
	tcase_add_loop_test(tcase, a_datagram_is_answered_to_the_address_it_came_from, 0, 2);
	tcase_add_loop_test(tcase, a_group_is_joined_with_any_lid, 0, 2);
	tcase_add_test(tcase, a_path_without_a_grh_is_refused);
	tcase_add_test(tcase, there_is_no_subnet_management);
	suite_add_tcase(suite, tcase);
	return test_run(suite);
}
