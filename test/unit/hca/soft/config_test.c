/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Settings: each key has the effect that ibal-soft(5) documents, and a wrong setting is refused with a message that
 * names the setting.
 */
#include "harness.h"

static struct ib_port_attr port_of(int i, uint8_t port)
{
	struct ib_port_attr attr;

	ck_assert_int_eq(ops->query_port(hca[i].ca, port, &attr), AL_SUCCESS);
	return attr;
}

START_TEST(limits_are_as_asked)
{
	const struct ib_ca_attr *a = &hca[0].attr;

	up("vectors=3 max_qp=10 max_qp_wr=20 max_sge=3 max_inline=64 max_cq=5 max_cqe=100 max_mr=7 max_mr_size=65536 "
	   "max_pd=4 max_ah=6 max_rd_atomic=2");
	ck_assert_uint_eq(a->num_comp_vectors, 3);
	ck_assert_uint_eq(a->max_qp, 10);
	ck_assert_uint_eq(a->max_qp_wr, 20);
	ck_assert_uint_eq(a->max_send_sge, 3);
	ck_assert_uint_eq(a->max_recv_sge, 3);
	ck_assert_uint_eq(a->max_inline_data, 64);
	ck_assert_uint_eq(a->max_cq, 5);
	ck_assert_uint_eq(a->max_cqe, 100);
	ck_assert_uint_eq(a->max_mr, 7);
	ck_assert_uint_eq(a->max_mr_size, 65536);
	ck_assert_uint_eq(a->max_pd, 4);
	ck_assert_uint_eq(a->max_ah, 6);
	ck_assert_uint_eq(a->max_qp_rd_atom, 2);
	ck_assert_uint_eq(a->max_qp_init_rd_atom, 2);
	ck_assert_uint_eq(hca[1].attr.max_qp, 10);
	down();
}
END_TEST

START_TEST(one_more_than_the_limit_is_refused)
{
	struct mr mr[8];
	int i;

	up("max_mr=7");
	for (i = 0; i < 7; i++)
		ck_assert_int_eq(try_mr(&mr[i], &hca[0], NULL, 64, 0), AL_SUCCESS);
	ck_assert_int_eq(try_mr(&mr[7], &hca[0], NULL, 64, 0), AL_LIMIT_EXCEEDED);
	for (i = 0; i < 7; i++) {
		end_mr(&mr[i]);
	}
	ck_assert_int_eq(try_mr(&mr[7], &hca[0], NULL, 64, 0), AL_SUCCESS);
	end_mr(&mr[7]);
	down();
}
END_TEST

START_TEST(an_hca_has_settings_of_its_own_and_a_name)
{
	uint16_t pkey;

	up("hcas=3 mtu=1024 [hca left] ports=2 lid=0x10 mtu=2048 pkeys=0xffff,0x1 guid=0x0212340000000000 [hca 2] mtu=256");
	ck_assert_uint_eq(hcas, 3);
	ck_assert_str_eq(hca[0].attr.node_desc, "soft HCA left");
	ck_assert_uint_eq(hca[0].attr.num_ports, 2);
	ck_assert_uint_eq(hca[0].attr.node_guid, 0x0212340000000000ull);
	ck_assert_uint_eq(port_of(0, 1).port_guid, 0x0212340000000001ull);
	ck_assert_uint_eq(port_of(0, 2).port_guid, 0x0212340000000002ull);
	ck_assert_uint_eq(port_of(0, 1).lid, 0x10);
	ck_assert_uint_eq(port_of(0, 2).lid, 0x11);
	ck_assert_uint_eq(port_of(1, 1).lid, 0x12); /* LIDs continue from HCA to HCA */
	ck_assert_int_eq(port_of(0, 1).active_mtu, IB_MTU_2048);
	ck_assert_int_eq(port_of(1, 1).active_mtu, IB_MTU_1024);
	ck_assert_int_eq(port_of(2, 1).active_mtu, IB_MTU_256);
	ck_assert_int_eq(ops->query_pkey(hca[0].ca, 2, 1, &pkey), AL_SUCCESS);
	ck_assert_uint_eq(pkey, 1);
	down();
}
END_TEST

static ib_wc_status status_of_atomic(const char *settings)
{
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct pair p;
	ib_wc_status status;

	up(settings);
	pair_up(&p, &(struct qp_options){ 0 }, 4096);
	sge = sge_of(p.am, 0, 8);
	wr = send_wr(1, IB_WR_ATOMIC_FETCH_AND_ADD, &sge, IB_SEND_SIGNALED);
	wr.wr.atomic.remote_addr = (uintptr_t)p.bm->buf;
	wr.wr.atomic.rkey = p.bm->ci->rkey;
	post(p.a, &wr);
	status = wait_wc(p.acq).status;
	pair_down(&p);
	down();
	return status;
}

/* An atomic is refused at the post, and at its arrival. */
START_TEST(an_hca_without_atomics_has_none)
{
	ck_assert_int_eq(status_of_atomic("[hca 0] atomics=1"), IB_WC_SUCCESS);
	ck_assert_int_eq(status_of_atomic("[hca 0] atomics=0"), IB_WC_LOC_QP_OP_ERR);
	ck_assert_int_eq(status_of_atomic("[hca 1] atomics=0"), IB_WC_REM_INV_REQ_ERR);
	up("[hca 1] atomics=0");
	ck_assert_int_eq(hca[0].attr.atomic_cap, IB_ATOMIC_GLOBAL);
	ck_assert_int_eq(hca[1].attr.atomic_cap, IB_ATOMIC_NONE);
	down();
}
END_TEST

START_TEST(an_mtu_beyond_the_port_is_refused)
{
	struct ib_qp_attr attr = { .path_mtu = IB_MTU_2048, .ah_attr = { .dlid = 2 } };
	struct qp_options o = { 0 };
	struct cq *cq;
	struct qp *qp;

	up("mtu=1024");
	cq = new_cq(&hca[0], 16, AL_CQ_NOTIFY_PENDING);
	qp = new_qp(&hca[0], cq, cq, &o);
	to_init(qp, &o);
	ck_assert_int_eq(modify(qp, IB_QPS_RTR, IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN, &attr),
			 AL_INVALID_PARAMETER);
	ck_assert_int_eq(state_of(qp), IB_QPS_INIT);
	free_qp(qp);
	free_cq(cq);
	down();
}
END_TEST

START_TEST(lmc_gives_a_port_several_lids)
{
	struct pair p;

	up("lmc=2");
	ck_assert_uint_eq(port_of(0, 1).lid, 4);
	ck_assert_uint_eq(port_of(1, 1).lid, 8);
	ck_assert_uint_eq(port_of(1, 1).lmc, 2);
	pair_up(&p, &(struct qp_options){ .dlid = 11 },
		4096); /* a LID of HCA 1, and a LID that no port has */
	ck_assert_int_eq(modify(p.b, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	to_init(p.b, &(struct qp_options){ 0 });
	to_rtr(p.b, p.a, &(struct qp_options){ .dlid = 6 });
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 8);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	pair_down(&p);
	down();
}
END_TEST

START_TEST(links_are_laid_as_asked)
{
	uint32_t port = 1;

	up("hcas=3 [link x] ports=0:1,2:1");
	ck_assert_int_eq(vendor(&hca[2], SOFT_PORT_DOWN, &port, sizeof(port)), AL_SUCCESS);
	ck_assert_int_eq(port_of(0, 1).state, IB_PORT_DOWN);
	ck_assert_int_eq(port_of(1, 1).state, IB_PORT_ACTIVE); /* HCA 1 has no cable in this link, and is on its own */
	down();
}
END_TEST

START_TEST(faults_can_be_configured)
{
	struct pair p;

	up("[hca 0] fault=drop,n=2,flow=request,port=1;duplicate,n=4,count=2;hold,n=7,by=2 seed=5");
	pair_up(&p, &(struct qp_options){ .timeout = 12 }, 4096);
	fill(p.am->buf, 2560, 1);
	rdma(&p, IB_WR_RDMA_WRITE, 1, 0, 0, 2560);
	expect_wc(p.acq, 1, IB_WC_SUCCESS);
	ck_assert_mem_eq(p.bm->buf, p.am->buf, 2560);
	ck_assert_uint_eq(fault_met(&hca[0]), 4);
	ck_assert_uint_eq(fault_met(&hca[1]), 0);
	pair_down(&p);
	down();
}
END_TEST

/* A setting of one HCA is not checked against other HCAs. */
START_TEST(a_fault_of_one_hca_may_name_a_port_that_others_lack)
{
	up("ports=1 [hca 0] ports=2 [] fault=drop,hca=0,port=2");
	ck_assert_uint_eq(hca[0].attr.num_ports, 2);
	ck_assert_uint_eq(hca[1].attr.num_ports, 1);
	down();
}
END_TEST

START_TEST(a_number_that_begins_with_0_is_decimal)
{
	up("max_qp=0100 max_cq=0x10 max_mr=09");
	ck_assert_uint_eq(hca[0].attr.max_qp, 100);
	ck_assert_uint_eq(hca[0].attr.max_cq, 16);
	ck_assert_uint_eq(hca[0].attr.max_mr, 9);
	down();
}
END_TEST

static const struct {
	const char *settings, *names; /* words that the message must have */
} wrong[] = {
	{ "colour=red", "colour" },
	{ "hcas=0", "hcas" },
	{ "hcas=65", "1 to 64" },
	{ "hcas=two", "hcas" },
	{ "hcas=2x", "hcas" },
	{ "hcas=0x", "hcas" },
	{ "hcas=-1", "hcas" },
	{ "ports=9", "1 to 8" },
	{ "mtu=1500", "256, 512, 1024, 2048 or 4096" },
	{ "vectors=0", "vectors" },
	{ "max_qp=99999999999999999999999", "max_qp" },
	{ "progress=later", "auto or manual" },
	{ "agents=hca", "al, hardware or none" },
	{ "[hca 1] agents=", "al, hardware or none" },
	{ "[hca 0] progress=manual", "in [soft]" },
	{ "lid=5", "soft hca NAME" },
	{ "guid=5", "soft hca NAME" },
	{ "pkeys=", "P_Key" },
	{ "pkeys=0x8000", "P_Key" },
	{ "pkeys=0x10000", "P_Key" },
	{ "[hca 0] lid=0", "lid" },
	{ "[hca 0] lid=0xc000", "lid" },
	{ "[hca 0] lid=0xbfff ports=2", "LIDs" },
	{ "[hca 0] lmc=2 lid=5", "multiple" },
	{ "[hca 7] mtu=256", "hcas" },
	{ "[hca a] mtu=256 [hca b] mtu=256 [hca c] mtu=256", "hcas" },
	{ "[box 1] mtu=256", "sections" },
	{ "[link x] mtu=256", "ports" },
	{ "[link x] ports=0:1", "two ends" },
	{ "[link x] ports=0:1,1:1,1:1", "two ends" },
	{ "[link x] ports=0:1,9:1", "no such HCA" },
	{ "[link x] ports=0:1,1:2", "no such port" },
	{ "[link x] ports=0:1,1:1 [link y] ports=0:1,1:1", "another link" },
	{ "link_layer=token", "infiniband or ethernet" },
	{ "mac=02:00:00:00:00:01", "soft hca NAME" },
	{ "ip=10.0.0.1", "soft hca NAME" },
	{ "link_layer=ethernet [hca 0] mac=03:00:00:00:00:01", "no group's" },
	{ "link_layer=ethernet [hca 0] mac=00:00:00:00:00:00", "not 0" },
	{ "link_layer=ethernet [hca 0] mac=02:00:00:00:01", "six bytes" },
	{ "link_layer=ethernet [hca 0] mac=02:00:00:00:00:001", "six bytes" },
	{ "link_layer=ethernet [hca 0] mac=02-00-00-00-00-01", "six bytes" },
	{ "link_layer=ethernet [hca 0] ip=10.0.0", "of one host" },
	{ "link_layer=ethernet [hca 0] ip=239.0.0.1", "of one host" },
	{ "link_layer=ethernet [hca 0] ip=ff02::1", "of one host" },
	{ "link_layer=ethernet [hca 0] ip=2001:db8::", "of one host" },
	{ "link_layer=ethernet [hca 0] ip=10.0.0.1,10.0.0.1", "twice" },
	{ "link_layer=ethernet [hca 0] ip=::1,::2,::3,::4,::5,::6,::7,::8", "at most 7" },
	{ "fault=explode,n=1", "begins with" },
	{ "[hca 0] fault=drop,hca=1", "the section names" },
	{ "fault=drop,hca=7", "no such HCA" },
	{ "fault=drop,port=2", "no such port" },
};

/* Keys that contradict each other, perhaps of different origins. */
static const struct {
	const char *settings, *names;
} contradictions[] = {
	{ "[hca 0] mac=02:00:00:00:00:01", "mac does not go with link_layer=infiniband" },
	{ "[hca 0] ip=10.0.0.1", "ip does not go with link_layer=infiniband" },
	{ "link_layer=ethernet [hca 0] ip=10.0.0.1 [hca 1] ip=10.0.0.1", "HCA 0 has one of its addresses" },
	{ "link_layer=ethernet ports=2 [hca 0] ip=10.0.0.1 [hca 1] ip=10.0.0.2", "HCA 0 has one of its addresses" },
	{ "link_layer=ethernet subnet=managed", "subnet=managed does not go with" },
	{ "link_layer=ethernet agents=al", "agents does not go with" },
	{ "link_layer=ethernet lmc=1", "lmc does not go with" },
	{ "link_layer=ethernet gids=2", "gids does not go with" },
	{ "link_layer=ethernet pkeys=0xffff,1", "pkeys does not go with" },
	{ "link_layer=ethernet [hca 0] lid=5", "lid does not go with" },
	{ "[hca 0] link_layer=ethernet [link x] ports=0:1,1:1", "one link layer" },
};

START_TEST(keys_that_contradict_each_other_are_refused)
{
	ck_assert_int_eq(try_up(contradictions[_i].settings), AL_BAD_CONFIG);
	ck_assert_msg(strstr(last_log, contradictions[_i].names), "%s: %s", contradictions[_i].settings, last_log);
	ck_assert_uint_eq(hcas, 0);
	ck_assert_uint_eq(live_allocs, 0);
}
END_TEST

START_TEST(what_is_wrong_is_refused_by_name)
{
	const char *key = strrchr(wrong[_i].settings, '[');

	ck_assert_int_eq(try_up(wrong[_i].settings), AL_BAD_CONFIG);
	ck_assert_msg(strstr(last_log, wrong[_i].names), "%s: %s", wrong[_i].settings, last_log);
	if (!strstr(wrong[_i].names, "LIDs") && !strstr(wrong[_i].names, "multiple") &&
	    !strstr(wrong[_i].names, "no such")) /* of one key each */
		ck_assert_msg(strstr(last_log, "the test"), "no origin in: %s", last_log);
	if (key && strstr(last_log, "see ibal-soft"))
		ck_assert_ptr_nonnull(strstr(last_log, "[soft "));
	ck_assert_uint_eq(hcas, 0);
	ck_assert_uint_eq(live_allocs, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: config");
	TCase *t = tcase_create("config");

	tcase_add_test(t, limits_are_as_asked);
	tcase_add_test(t, one_more_than_the_limit_is_refused);
	tcase_add_test(t, an_hca_has_settings_of_its_own_and_a_name);
	tcase_add_test(t, an_hca_without_atomics_has_none);
	tcase_add_test(t, an_mtu_beyond_the_port_is_refused);
	tcase_add_test(t, lmc_gives_a_port_several_lids);
	tcase_add_test(t, links_are_laid_as_asked);
	tcase_add_test(t, faults_can_be_configured);
	tcase_add_test(t, a_fault_of_one_hca_may_name_a_port_that_others_lack);
	tcase_add_test(t, a_number_that_begins_with_0_is_decimal);
	tcase_add_loop_test(t, keys_that_contradict_each_other_are_refused, 0,
			    sizeof(contradictions) / sizeof(*contradictions));
	tcase_add_loop_test(t, what_is_wrong_is_refused_by_name, 0, sizeof(wrong) / sizeof(*wrong));
	suite_add_tcase(s, t);
	return run_suite(s);
}
