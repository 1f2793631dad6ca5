/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ports that have management agents of their own (agents = hardware): what the agents take and what
 * they leave to the special queue pairs, and what the Access Layer is told. What the agents answer
 * is test/unit/mad's; whole subnets are agents_test's, fabric_test's and sweep_test's of al/mgmt.
 */
#include <iba/ib_mad.h>
#include <sched.h>
#include <stdio.h>

#include "special.h"

#define OTHER_CLASS 0x0a /* a vendor class */

static struct end a, b; /* on the first HCA and on its neighbour */

/* The permissive LID leads to the other end of the cable. */
static void special_up(struct end *e, struct hca *h, ib_qp_type type)
{
	const struct qp_options o = { .type = type,
				      .qkey = type == IB_QPT_GSI ? WELL_KNOWN : 0,
				      .depth = 128 };
	const struct ib_ah_attr path = path_by(1, IB_LID_PERMISSIVE);

	end_up(e, h, new_cq(h, 512, AL_CQ_NOTIFY_NEXT), &o, &path);
}

static struct ib_smp smp_of(uint8_t method, uint16_t attr_id, uint32_t attr_mod, uint8_t hops)
{
	struct ib_smp smp = { .base_version = IB_MAD_BASE_VERSION,
			      .mgmt_class = IB_CLASS_SUBN_DIR,
			      .class_version = IB_SMP_CLASS_VERSION,
			      .method = method,
			      .hop_count = hops,
			      .tid = ib_be64_of(77),
			      .attr_id = ib_be16_of(attr_id),
			      .attr_mod = ib_be32_of(attr_mod),
			      .dr_slid = ib_be16_of(IB_LID_PERMISSIVE),
			      .dr_dlid = ib_be16_of(IB_LID_PERMISSIVE) };

	smp.initial_path[1] = 1;
	return smp;
}

/* Sends a datagram, whose send completes. */
static void send_this(struct end *e, const void *mad, uint32_t qpn)
{
	struct ib_sge sge = sge_of(e->mr, 0, MAD);
	struct ib_send_wr wr = mad_to(e, 100, &sge, qpn, qpn ? WELL_KNOWN : 0);

	memcpy(e->mr->buf, mad, MAD);
	post(e->qp, &wr);
}

/* Waits for a datagram, and for the completion of the send if there is one. */
static struct ib_wc take(struct end *e, bool sent, void *mad)
{
	struct ib_wc wc, got = { 0 };
	int left;

	for (left = 1 + sent; left; left--) {
		wc = wait_wc(e->cq);
		ck_assert_int_eq(wc.status, IB_WC_SUCCESS);
		if (wc.wr_id == 1)
			got = wc;
	}
	ck_assert_uint_eq(got.wr_id, 1);
	ck_assert_uint_eq(got.byte_len, GRH + MAD);
	memcpy(mad, e->mr->buf + RECEIVED + GRH, MAD);
	return got;
}

/* Asks an agent, and returns the answer. */
static struct ib_smp ask(struct ib_smp smp)
{
	struct ib_smp answer;
	struct ib_wc wc;

	receive(&a, 1);
	send_this(&a, &smp, 0);
	wc = take(&a, true, &answer);
	ck_assert_uint_eq(wc.src_qp, 0);
	ck_assert_uint_eq(wc.port_num, 1);
	ck_assert_uint_eq(wc.slid, IB_LID_PERMISSIVE);
	ck_assert_uint_eq(answer.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(answer.hop_ptr, 0);
	return answer;
}

static struct ib_port_info info_of(const struct ib_smp *smp)
{
	struct ib_port_info info;

	memcpy(&info, smp->data, sizeof(info));
	return info;
}

static struct ib_port_info port_info(uint8_t hops)
{
	const struct ib_smp answer = ask(smp_of(IB_METHOD_GET, IB_SMP_PORT_INFO, 1, hops));

	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION);
	return info_of(&answer);
}

/* Returns a Set that asks for nothing but what PortInfo is. */
static struct ib_smp set_of(const struct ib_port_info *info, uint8_t hops, ib_port_state state)
{
	struct ib_smp smp = smp_of(IB_METHOD_SET, IB_SMP_PORT_INFO, 1, hops);
	struct ib_port_info next = *info;

	ib_port_info_set_port_state(&next, state);
	ib_port_info_set_phys_state(&next, IB_PHYS_NOP);
	memcpy(smp.data, &next, sizeof(next));
	return smp;
}

static void managed_up(const char *more)
{
	char settings[128];

	snprintf(settings, sizeof(settings), "subnet=managed agents=hardware %s", more);
	up(settings);
	special_up(&a, &hca[0], IB_QPT_SMI);
}

static void all_down(bool two)
{
	end_down(&a, true);
	if (two)
		end_down(&b, true);
	down();
}

/* ---------------------------------------------------------------------- the port */

START_TEST(the_access_layer_has_no_part_in_such_a_port)
{
	struct ib_port_attr attr;

	up("subnet=managed agents=hardware");
	ck_assert_int_eq(ops->query_port(hca[0].ca, 1, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.ci_caps, 0);
	ck_assert_uint_eq(attr.cap_mask & IB_PORT_CAP_TRAP, IB_PORT_CAP_TRAP);
	ck_assert_uint_eq(attr.state, IB_PORT_INIT);
	down();
}
END_TEST

/* A manager asks its own port before the cable is in. */
START_TEST(a_route_of_no_hop_needs_no_link)
{
	struct ib_port_info info;
	uint32_t port = 1;

	managed_up("");
	ck_assert_int_eq(vendor(&hca[0], SOFT_PORT_DOWN, &port, sizeof(port)), AL_SUCCESS);
	info = port_info(0);
	ck_assert_uint_eq(ib_port_info_port_state(&info), IB_PORT_DOWN);
	all_down(false);
}
END_TEST

/* _i: hops */
START_TEST(the_neighbour_needs_no_client)
{
	struct ib_node_info info;
	struct ib_smp answer;

	managed_up("");
	answer = ask(smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, (uint8_t)_i));
	memcpy(&info, answer.data, sizeof(info));
	ck_assert_uint_eq(ib_be64_get(info.node_guid), hca[_i].attr.node_guid);
	all_down(false);
}
END_TEST

START_TEST(a_port_of_an_hca_is_asked_by_another_port)
{
	struct ib_smp answer;
	struct ib_port_info info;

	managed_up("ports=2");
	answer = ask(smp_of(IB_METHOD_GET, IB_SMP_PORT_INFO, 2, 1));
	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION);
	ck_assert_uint_eq(info_of(&answer).local_port_num, 1);
	info = info_of(&answer);
	info.lid = ib_be16_of(9);
	answer = set_of(&info, 1, IB_PORT_NOP);
	answer.attr_mod = ib_be32_of(2);
	answer = ask(answer);
	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION);
	ck_assert_uint_eq(lid_of(&hca[1], 1), 0);
	ck_assert_uint_eq(lid_of(&hca[1], 2), 9);
	ck_assert_uint_eq(last_seen.port, 1); /* where the packet came in */
	all_down(false);
}
END_TEST

/* ---------------------------------------------------------------- what is told */

/* The LID is in place, and the Access Layer told of it, before the state that the same Set asks
 * for. What the agents tell is no event besides. */
START_TEST(a_set_is_told_before_its_step_of_the_state)
{
	const uint32_t changes = 1u << IB_EVENT_LID_CHANGE | 1u << IB_EVENT_GID_CHANGE |
				 1u << IB_EVENT_PKEY_CHANGE | 1u << IB_EVENT_SM_CHANGE |
				 1u << IB_EVENT_CLIENT_REREGISTER;
	struct ib_port_info info;
	struct ib_smp smp;

	managed_up("");
	info = port_info(1);
	ck_assert_uint_eq(last_seen.num, 0);
	info.lid = ib_be16_of(0x22);
	info.gid_prefix = ib_be64_of(0xfec0000000000000);
	info.master_sm_lid = ib_be16_of(0x11);
	ib_port_info_set_client_reregister(&info, 1);
	smp = set_of(&info, 1, IB_PORT_ARMED);
	ask(smp);
	ck_assert_str_eq(port_ladder[1], "sR");
	ck_assert_uint_eq(last_seen.num, 1);
	ck_assert_ptr_eq(last_seen.h, &hca[1]);
	ck_assert_uint_eq(last_seen.port, 1);
	ck_assert_mem_eq(last_seen.mad.data, smp.data, sizeof(smp.data));
	ck_assert_uint_eq(last_seen.mad.method, IB_METHOD_SET);
	smp = smp_of(IB_METHOD_SET, IB_SMP_PKEY_TABLE, 0, 1);
	memset(smp.data, 0xff, 2);
	smp.data[3] = 5;
	ask(smp);
	ck_assert_uint_eq(last_seen.num, 2);
	smp = smp_of(IB_METHOD_SET, IB_SMP_GUID_INFO, 0, 1);
	smp.data[15] = 5;
	ask(smp);
	ck_assert_uint_eq(last_seen.num, 3);
	ck_assert_uint_eq(ib_be16_get(last_seen.mad.attr_id), IB_SMP_GUID_INFO);
	ck_assert_uint_eq(port_events[1][1] & changes, 0);
	all_down(false);
}
END_TEST

START_TEST(a_set_that_is_refused_is_not_told)
{
	struct ib_port_info info;
	struct ib_smp smp, answer;

	managed_up("");
	info = port_info(1);
	answer = ask(set_of(&info, 1, IB_PORT_ACTIVE)); /* from Init */
	ck_assert_uint_eq(ib_be16_get(answer.status), IB_SMP_DIRECTION | IB_MAD_STATUS_BAD_FIELD);
	ck_assert_uint_eq(last_seen.num, 0);
	info.mkey = ib_be64_of(5);
	ask(set_of(&info, 1, IB_PORT_NOP));
	ck_assert_uint_eq(last_seen.num, 1);
	info.lid = ib_be16_of(3);
	smp = set_of(&info, 1, IB_PORT_NOP); /* without the M_Key */
	send_this(&a, &smp, 0);
	expect_wc(a.cq, 100, IB_WC_SUCCESS);
	info.lid = ib_be16_of(4);
	smp = set_of(&info, 1, IB_PORT_NOP);
	smp.mkey = ib_be64_of(5);
	ask(smp);
	ck_assert_uint_eq(last_seen.num, 2);
	ck_assert_uint_eq(lid_of(&hca[1], 1), 4);
	all_down(false);
}
END_TEST

/* ------------------------------------------------------ what the agents leave alone */

/* _i: a response, a trap, and SMInfo where a subnet manager is */
START_TEST(what_a_manager_waits_for_reaches_queue_pair_0)
{
	const struct ib_port_modify caps = { .set_caps = IB_PORT_CAP_SM };
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_SM_INFO, 0, 0), got;

	managed_up("");
	special_up(&b, &hca[1], IB_QPT_SMI);
	smp.mgmt_class = IB_CLASS_SUBN_LID;
	smp.method = (uint8_t[]){ IB_METHOD_GET_RESP, IB_METHOD_TRAP, IB_METHOD_GET }[_i];
	if (_i == 2)
		ck_assert_int_eq(ops->modify_port(hca[1].ca, 1, IB_PORT_MODIFY_CAP_MASK, &caps),
				 AL_SUCCESS);
	receive(&b, 1);
	send_this(&a, &smp, 0);
	take(&b, false, &got);
	ck_assert_mem_eq(&got, &smp, sizeof(smp));
	all_down(true);
}
END_TEST

/* What is no subnet management packet is the client's to refuse. */
START_TEST(another_class_on_queue_pair_0_is_the_clients)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 0), got;
	int i;

	managed_up("");
	special_up(&b, &hca[1], IB_QPT_SMI);
	for (i = 0; i < 2; i++) {
		smp.mgmt_class = i ? IB_CLASS_SUBN_LID : OTHER_CLASS;
		smp.base_version = (uint8_t)(1 + i);
		receive(&b, 1);
		send_this(&a, &smp, 0);
		take(&b, false, &got);
		ck_assert_mem_eq(&got, &smp, sizeof(smp));
	}
	all_down(true);
}
END_TEST

/* A route that is impossible at this node, as a manager of a subnet with switches may make one. */
START_TEST(a_route_through_an_hca_ends_there)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 2);
	uint64_t before;

	managed_up("");
	before = counters(&hca[1]).rcv_dropped;
	send_this(&a, &smp, 0);
	expect_wc(a.cq, 100, IB_WC_SUCCESS);
	port_info(1);
	ck_assert_uint_eq(counters(&hca[1]).rcv_dropped, before + 1);
	all_down(false);
}
END_TEST

/* ----------------------------------------------------------------- queue pair 1 */

static struct ib_mad gmp_of(uint8_t mgmt_class, uint8_t method)
{
	struct ib_mad mad = { .hdr = { .base_version = IB_MAD_BASE_VERSION,
				       .mgmt_class = mgmt_class,
				       .class_version = 1,
				       .method = method,
				       .attr_id = ib_be16_of(IB_PERF_CLASS_PORT_INFO) } };

	return mad;
}

/* Both HCAs with QP1 of a client's; the second one's if client is set. */
static void gsi_up_with(const char *settings, bool client)
{
	const struct qp_options o = { .type = IB_QPT_GSI, .qkey = WELL_KNOWN };
	struct ib_ah_attr path;

	up(settings);
	path = path_by(1, lid_of(&hca[1], 1));
	end_up(&a, &hca[0], NULL, &o, &path);
	if (client)
		special_up(&b, &hca[1], IB_QPT_GSI);
}

static void gsi_up(bool client)
{
	gsi_up_with("agents=hardware", client);
}

/* _i: a client has the neighbour's QP1, or not */
START_TEST(the_agent_takes_requests_for_counters)
{
	struct ib_mad mad = gmp_of(IB_CLASS_PERF, IB_METHOD_GET), got;
	struct ib_wc wc;

	gsi_up(_i);
	if (_i)
		receive(&b, 1);
	receive(&a, 1);
	send_this(&a, &mad, 1);
	wc = take(&a, true, &got);
	ck_assert_uint_eq(wc.src_qp, 1);
	ck_assert_uint_eq(wc.slid, lid_of(&hca[1], 1));
	ck_assert_uint_eq(wc.pkey_index, 0);
	ck_assert_uint_eq(wc.wc_flags & IB_WC_GRH, 0);
	ck_assert_uint_eq(got.hdr.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(ib_be16_get(got.hdr.status), IB_MAD_STATUS_OK);
	if (_i)
		expect_empty(b.cq);
	all_down(_i);
}
END_TEST

/* _i: a response about counters, a request of another class */
START_TEST(what_the_agent_does_not_serve_reaches_queue_pair_1)
{
	struct ib_mad mad = gmp_of(_i ? OTHER_CLASS : IB_CLASS_PERF,
				   _i ? IB_METHOD_GET : IB_METHOD_GET_RESP),
		      got;

	gsi_up(true);
	receive(&b, 1);
	send_this(&a, &mad, 1);
	take(&b, false, &got);
	ck_assert_mem_eq(&got, &mad, sizeof(mad));
	all_down(true);
}
END_TEST

START_TEST(without_a_client_a_class_is_answered_as_not_supported)
{
	struct ib_mad mad = gmp_of(OTHER_CLASS, IB_METHOD_GET), got;
	uint64_t before;

	gsi_up(false);
	receive(&a, 1);
	send_this(&a, &mad, 1);
	take(&a, true, &got);
	ck_assert_uint_eq(got.hdr.method, IB_METHOD_GET_RESP);
	ck_assert_uint_eq(ib_be16_get(got.hdr.status), IB_MAD_STATUS_BAD_VERSION);
	before = counters(&hca[1]).rcv_dropped;
	mad.hdr.method = IB_METHOD_SEND;
	send_this(&a, &mad, 1);
	expect_wc(a.cq, 100, IB_WC_SUCCESS);
	while (counters(&hca[1]).rcv_dropped ==
	       before) /* another thread drops if the link has a queue */
		sched_yield();
	expect_empty(a.cq);
	all_down(false);
}
END_TEST

/* _i: with a client at the neighbour's QP1, or without one */
START_TEST(a_wrong_key_is_counted_and_gets_no_answer)
{
	struct ib_mad mad = gmp_of(IB_CLASS_PERF, IB_METHOD_GET);
	struct ib_sge sge;
	struct ib_send_wr wr;
	struct ib_port_attr attr;
	uint64_t before;

	gsi_up(_i);
	before = counters(&hca[1]).rcv_dropped;
	memcpy(a.mr->buf, &mad, MAD);
	sge = sge_of(a.mr, 0, MAD);
	wr = mad_to(&a, 100, &sge, 1, WELL_KNOWN & 0x7fffffff);
	post(a.qp, &wr);
	wr = mad_to(&a, 101, &sge, 1, WELL_KNOWN);
	wr.wr.ud.pkey_index = 3; /* an empty entry */
	post(a.qp, &wr);
	expect_wc(a.cq, 100, IB_WC_SUCCESS);
	expect_wc(a.cq, 101, IB_WC_SUCCESS);
	while (counters(&hca[1]).rcv_dropped < before + 2)
		sched_yield();
	ck_assert_int_eq(ops->query_port(hca[1].ca, 1, &attr), AL_SUCCESS);
	ck_assert_uint_eq(attr.bad_pkey_cntr, 1);
	ck_assert_uint_eq(attr.qkey_viol_cntr, 1);
	expect_empty(a.cq);
	all_down(_i);
}
END_TEST

/* An answer comes from the LID that the request went to. _i: a subnet management packet, or a
 * request about counters */
START_TEST(an_answer_comes_from_the_path_that_was_asked)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 0), got;
	struct ib_mad mad = gmp_of(IB_CLASS_PERF, IB_METHOD_GET);
	const struct qp_options o = { .type = _i ? IB_QPT_GSI : IB_QPT_SMI,
				      .qkey = _i ? WELL_KNOWN : 0 };
	struct ib_ah_attr path;
	struct ib_wc wc;

	up("agents=hardware lmc=2");
	path = path_by(1, (uint16_t)(lid_of(&hca[1], 1) + 3));
	path.src_path_bits = 2;
	end_up(&a, &hca[0], NULL, &o, &path);
	smp.mgmt_class = IB_CLASS_SUBN_LID;
	receive(&a, 1);
	send_this(&a, _i ? (const void *)&mad : &smp, (uint32_t)_i);
	wc = take(&a, true, &got);
	ck_assert_uint_eq(wc.slid, lid_of(&hca[1], 1) + 3);
	ck_assert_uint_eq(wc.dlid_path_bits, 2);
	all_down(false);
}
END_TEST

/* IBTA 10.2.5: any queue pair with the well-known Q_Key may ask, and gets the answer. */
START_TEST(the_answer_goes_to_the_queue_pair_that_has_asked)
{
	const struct qp_options ud = { .type = IB_QPT_UD, .qkey = WELL_KNOWN };
	struct ib_mad mad = gmp_of(IB_CLASS_PERF, IB_METHOD_GET), got;
	struct ib_ah_attr path;

	up("agents=hardware");
	path = path_by(1, lid_of(&hca[1], 1));
	end_up(&a, &hca[0], NULL, &ud, &path);
	receive(&a, 1);
	send_this(&a, &mad, 1);
	ck_assert_uint_eq(take(&a, true, &got).src_qp, 1);
	all_down(false);
}
END_TEST

/* The answer's GIDs are the request's, turned. */
START_TEST(an_answer_has_a_grh_if_its_request_had_one)
{
	struct ib_mad mad = gmp_of(IB_CLASS_PERF, IB_METHOD_GET), got;
	struct ib_ah_attr path;
	struct ib_wc wc;
	ib_gid own;

	gsi_up_with("agents=hardware gids=2", false);
	free_ah(a.ah);
	path = path_by(1, lid_of(&hca[1], 1));
	path.is_global = true;
	path.grh.hop_limit = 1;
	ck_assert_int_eq(ops->query_gid(hca[1].ca, 1, 1, &path.grh.dgid), AL_SUCCESS);
	ck_assert_int_eq(ops->query_gid(hca[0].ca, 1, 0, &own), AL_SUCCESS);
	a.ah = new_ah(&hca[0], NULL, &path);
	receive(&a, 1);
	send_this(&a, &mad, 1);
	wc = take(&a, true, &got);
	ck_assert_uint_eq(wc.wc_flags & IB_WC_GRH, IB_WC_GRH);
	ck_assert_mem_eq(a.mr->buf + RECEIVED + 8, &path.grh.dgid, sizeof(own));
	ck_assert_mem_eq(a.mr->buf + RECEIVED + 24, &own, sizeof(own));
	all_down(false);
}
END_TEST

/* ------------------------------------------------------------------- limits, time */

/* Datagrams of random bytes, but for what the agents look at first. The agents answer, hand over or
 * drop each. _i: queue pair */
START_TEST(random_datagrams_do_no_harm)
{
	static const uint8_t classes[] = { IB_CLASS_SUBN_LID, IB_CLASS_SUBN_DIR, IB_CLASS_PERF,
					   OTHER_CLASS };
	static const uint8_t methods[] = { IB_METHOD_GET, IB_METHOD_SET, IB_METHOD_GET_RESP,
					   IB_METHOD_TRAP, IB_METHOD_TRAP_REPRESS };
	const struct qp_options o = { .type = _i ? IB_QPT_GSI : IB_QPT_SMI,
				      .qkey = _i ? WELL_KNOWN : 0,
				      .depth = 128 };
	struct ib_ah_attr path;
	struct ib_smp smp;
	struct ib_wc wc;
	uint32_t x = 1, i, n, count;

	up("agents=hardware ports=2");
	path = path_by(1, lid_of(&hca[1], 1));
	end_up(&a, &hca[0], new_cq(&hca[0], 512, AL_CQ_NOTIFY_NEXT), &o, &path);
	for (i = 0; i < 5000; i++) {
		for (n = 0; n < sizeof(smp); n++)
			((uint8_t *)&smp)[n] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
		smp.base_version = IB_MAD_BASE_VERSION;
		smp.class_version = 1;
		smp.mgmt_class = classes[_i ? 2 + i % 2 : i % 2];
		smp.method = methods[(x >> 16) % 5];
		smp.mkey = ib_be64_of(0);
		if (i % 4)
			smp.attr_id = ib_be16_of((uint16_t)((x >> 8) % 0x40));
		if (i % 3)
			smp.attr_mod = ib_be32_of((x >> 4) % 3);
		if (i % 8 < 6) {
			smp.hop_ptr = 0;
			smp.hop_count = (x >> 6) & 1;
			smp.status = ib_be16_of(0);
			smp.dr_slid = smp.dr_dlid = ib_be16_of(IB_LID_PERMISSIVE);
			smp.initial_path[1] = 1;
		}
		receive(&a, 1);
		send_this(&a, &smp, (uint32_t)_i);
		do {
			wc = wait_wc(a.cq);
		} while (wc.wr_id != 100);
		for (count = 1; count;) /* the answer, if it is there already */
			ck_assert_int_eq(ops->poll_cq(a.cq->ci, 1, &wc, &count), AL_SUCCESS);
		if (i % 64 == 63) { /* the receives that no answer has taken end */
			ck_assert_int_eq(modify(a.qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
			to_init(a.qp, &o);
			to_rtr(a.qp, NULL, &o);
			to_rts(a.qp, &o);
		}
	}
	all_down(false);
}
END_TEST

/* Sends 100 requests and makes `steps` steps of the first HCA only, then all others. Returns the
 * number of answers. */
static uint32_t flood(uint8_t hops, uint32_t steps)
{
	const struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, hops);
	uint32_t i, answers = 0, sent = 0, count = 1;
	struct ib_wc wc;

	managed_up("progress=manual");
	for (i = 0; i < 100; i++)
		receive(&a, 1);
	for (i = 0; i < 100; i++)
		send_this(&a, &smp, 0);
	for (i = 0; i < steps; i++)
		step_choice(0);
	run_all();
	while (count) {
		ck_assert_int_eq(ops->poll_cq(a.cq->ci, 1, &wc, &count), AL_SUCCESS);
		answers += count && wc.wr_id == 1;
		sent += count && wc.wr_id == 100;
	}
	ck_assert_uint_eq(sent, 100);
	return answers;
}

/* The agents have room for 64 packets, and drop the rest. */
START_TEST(a_flood_from_queue_pair_0_is_dropped)
{
	const uint32_t answers = flood(0, 0);

	ck_assert_uint_ge(answers, 64);
	ck_assert_uint_eq(answers + counters(&hca[0]).xmit_discards, 100);
	ck_assert_uint_eq(counters(&hca[0]).vl15_dropped, 0);
	ask(smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 0));
	all_down(false);
}
END_TEST

START_TEST(a_flood_from_the_subnet_is_dropped)
{
	const uint32_t answers = flood(1, 200);
	const struct ib_port_counters far = counters(&hca[1]);

	ck_assert_uint_eq(answers, 64);
	ck_assert_uint_eq(far.vl15_dropped, 36);
	ck_assert_uint_eq(far.rcv_dropped, 36);
	ask(smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 1));
	all_down(false);
}
END_TEST

/* The agents hold copies, so a queue pair ends while its packets are under way. */
START_TEST(a_queue_pair_ends_without_the_agents)
{
	const struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, (uint8_t)_i);

	managed_up("progress=manual");
	receive(&a, 1);
	send_this(&a, &smp, 0);
	step();
	ck_assert_int_eq(modify(a.qp, IB_QPS_RESET, 0, NULL), AL_SUCCESS);
	end_down(&a, true);
	run_all();
	down();
}
END_TEST

/* ------------------------------------------------------------------------ faults */

/* Asks the neighbour. The number of the request comes back in the answer. */
static void ask_far(uint32_t number)
{
	struct ib_smp smp = smp_of(IB_METHOD_GET, IB_SMP_NODE_INFO, 0, 1);

	smp.tid = ib_be64_of(number);
	send_this(&a, &smp, 0);
	expect_wc(a.cq, 100, IB_WC_SUCCESS);
}

static void expect_answer(uint32_t number)
{
	struct ib_smp got;

	take(&a, false, &got);
	ck_assert_uint_eq(ib_be64_get(got.tid), number);
}

static void faulty_up(uint32_t at, struct soft_fault rule, uint32_t receives)
{
	managed_up("progress=manual");
	fault(&hca[at], rule);
	while (receives--)
		receive(&a, 1);
}

/* _i: the node that loses a packet: the second packet that its agents send, which is a step of the
 * route or an answer
 */
START_TEST(a_packet_of_the_agents_is_lost_by_a_rule)
{
	faulty_up((uint32_t)_i,
		  (struct soft_fault){ .action = SOFT_FAULT_DROP, .n = 2, .count = 1 }, 2);
	ask_far(1);
	expect_answer(1);
	ask_far(2);
	run_all();
	expect_empty(a.cq);
	ask_far(3);
	expect_answer(3);
	ck_assert_uint_eq(fault_met(&hca[_i]), 1);
	ck_assert_uint_eq(counters(&hca[_i]).xmit_discards, 1);
	all_down(false);
}
END_TEST

START_TEST(an_answer_of_the_agents_comes_twice_or_late_or_damaged_by_a_rule)
{
	faulty_up(1, (struct soft_fault){ .action = SOFT_FAULT_DUPLICATE, .n = 1, .count = 1 }, 4);
	fault(&hca[1],
	      (struct soft_fault){
		      .action = SOFT_FAULT_DELAY, .n = 2, .count = 1, .delay_ns = 5000000 });
	fault(&hca[1], (struct soft_fault){ .action = SOFT_FAULT_CORRUPT, .n = 4, .count = 1 });
	ask_far(1);
	expect_answer(1);
	expect_answer(1);
	ck_assert_uint_eq(soft_clock(), 0);
	ask_far(2);
	ask_far(3);
	expect_answer(3);
	expect_answer(2);
	ck_assert_uint_ge(soft_clock(), 5000000);
	ask_far(4);
	run_all();
	expect_empty(a.cq);
	ck_assert_uint_eq(counters(&hca[0]).rcv_errors, 1);
	all_down(false);
}
END_TEST

/* The agents' packets and those of a client's queue pair 0 are two flows. */
START_TEST(a_packet_that_is_held_waits_for_packets_of_the_agents_only)
{
	struct ib_smp other = smp_of(IB_METHOD_SEND, IB_SMP_NODE_INFO, 0, 0), got;
	int i;

	other.mgmt_class = OTHER_CLASS;
	faulty_up(1, (struct soft_fault){ .action = SOFT_FAULT_HOLD, .n = 1, .count = 1, .by = 1 },
		  4);
	special_up(&b, &hca[1], IB_QPT_SMI);
	ask_far(1);
	run_all();
	for (i = 0; i < 2; i++) {
		send_this(&b, &other, 0);
		expect_wc(b.cq, 100, IB_WC_SUCCESS);
	}
	for (i = 0; i < 2; i++) {
		take(&a, false, &got);
		ck_assert_uint_eq(got.mgmt_class, OTHER_CLASS);
	}
	ask_far(2);
	expect_answer(2);
	expect_answer(1);
	all_down(true);
}
END_TEST

START_TEST(a_rule_about_the_sending_queue_pair_meets_no_packet_of_the_agents)
{
	faulty_up(1, (struct soft_fault){ .action = SOFT_FAULT_CQ_OVERFLOW }, 2);
	fault(&hca[1],
	      (struct soft_fault){ .action = SOFT_FAULT_RAISE, .code = IB_EVENT_QP_FATAL });
	ask_far(1);
	expect_answer(1);
	ck_assert_uint_eq(fault_met(&hca[1]), 0);
	fault(&hca[1], (struct soft_fault){ .action = SOFT_FAULT_RAISE,
					    .code = IB_EVENT_CLIENT_REREGISTER });
	ask_far(2);
	expect_answer(2);
	ck_assert_uint_eq(fault_met(&hca[1]), 1);
	all_down(false);
}
END_TEST

/* Samples begin and end by the clock. */
START_TEST(a_sample_ends_at_its_time)
{
	struct ib_perf_samples_control control = { .port_select = 1, .tag = ib_be16_of(7) };
	struct ib_perf_samples_result result;
	struct ib_mad mad = gmp_of(IB_CLASS_PERF, IB_METHOD_SET), got;
	struct ib_perf_mad *perf = (struct ib_perf_mad *)(void *)&mad;
	uint64_t before;

	up("agents=hardware progress=manual");
	special_up(&a, &hca[0], IB_QPT_GSI);
	free_ah(a.ah);
	a.ah = new_ah(&hca[0], NULL,
		      &(struct ib_ah_attr){ .dlid = lid_of(&hca[1], 1), .port_num = 1 });
	control.sample_start = ib_be32_of(1000);
	control.sample_interval = ib_be32_of(5000);
	mad.hdr.attr_id = ib_be16_of(IB_PERF_SAMPLES_CONTROL);
	memcpy(perf->data, &control, sizeof(control));
	before = soft_clock();
	receive(&a, 1);
	send_this(&a, &mad, 1);
	take(&a, true, &got);
	run_all(); /* the clock goes to the timers */
	ck_assert_uint_ge(soft_clock() - before, 6000000);
	mad = gmp_of(IB_CLASS_PERF, IB_METHOD_GET);
	mad.hdr.attr_id = ib_be16_of(IB_PERF_SAMPLES_RESULT);
	receive(&a, 1);
	send_this(&a, &mad, 1);
	take(&a, true, &got);
	memcpy(&result, ((struct ib_perf_mad *)(void *)&got)->data, sizeof(result));
	ck_assert_uint_eq(ib_be16_get(result.tag), 7);
	ck_assert_uint_eq(ib_perf_samples_result_sample_status(&result), IB_SAMPLE_DONE);
	all_down(false);
}
END_TEST

/* _i: allocation that fails */
START_TEST(without_memory_the_module_does_not_start)
{
	al_status status;

	al_fail_alloc((uint64_t)_i + 1);
	status = try_up("agents=hardware");
	if (al_fail_alloc(0))
		ck_assert_int_eq(status, AL_SUCCESS);
	else
		ck_assert_int_eq(status, AL_INSUFFICIENT_MEMORY);
	if (!status)
		down();
	ck_assert_uint_eq(live_allocs, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("soft: ports with agents of their own");
	TCase *t = tcase_create("firmware");

	tcase_add_test(t, the_access_layer_has_no_part_in_such_a_port);
	tcase_add_test(t, a_route_of_no_hop_needs_no_link);
	tcase_add_loop_test(t, the_neighbour_needs_no_client, 0, 2);
	tcase_add_test(t, a_port_of_an_hca_is_asked_by_another_port);
	tcase_add_test(t, a_set_is_told_before_its_step_of_the_state);
	tcase_add_test(t, a_set_that_is_refused_is_not_told);
	tcase_add_loop_test(t, what_a_manager_waits_for_reaches_queue_pair_0, 0, 3);
	tcase_add_test(t, another_class_on_queue_pair_0_is_the_clients);
	tcase_add_test(t, a_route_through_an_hca_ends_there);
	tcase_add_loop_test(t, the_agent_takes_requests_for_counters, 0, 2);
	tcase_add_loop_test(t, what_the_agent_does_not_serve_reaches_queue_pair_1, 0, 2);
	tcase_add_test(t, without_a_client_a_class_is_answered_as_not_supported);
	tcase_add_loop_test(t, a_wrong_key_is_counted_and_gets_no_answer, 0, 2);
	tcase_add_loop_test(t, an_answer_comes_from_the_path_that_was_asked, 0, 2);
	tcase_add_test(t, the_answer_goes_to_the_queue_pair_that_has_asked);
	tcase_add_test(t, an_answer_has_a_grh_if_its_request_had_one);
	tcase_add_loop_test(t, random_datagrams_do_no_harm, 0, 2);
	tcase_add_test(t, a_flood_from_queue_pair_0_is_dropped);
	tcase_add_test(t, a_flood_from_the_subnet_is_dropped);
	tcase_add_loop_test(t, a_queue_pair_ends_without_the_agents, 0, 2);
	tcase_add_loop_test(t, a_packet_of_the_agents_is_lost_by_a_rule, 0, 2);
	tcase_add_test(t, an_answer_of_the_agents_comes_twice_or_late_or_damaged_by_a_rule);
	tcase_add_test(t, a_packet_that_is_held_waits_for_packets_of_the_agents_only);
	tcase_add_test(t, a_rule_about_the_sending_queue_pair_meets_no_packet_of_the_agents);
	tcase_add_test(t, a_sample_ends_at_its_time);
	tcase_add_loop_test(t, without_memory_the_module_does_not_start, 0, 40);
	suite_add_tcase(s, t);
	return run_suite(s);
}
