/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registration of MAD services, and the rules by which datagrams find their service and their
 * request, against a subnet that the test plays.
 */
#include "test/unit/al/mgmt/match_bed.h"

/* ------------------------------------------------------------ registration */

static al_status try_register(struct al_mad_svc_init init, al_mad_cb cb)
{
	al_mad_svc_h svc = NULL;
	al_status status = al_reg_mad_svc(ca, &init, NULL, cb, &svc);

	if (status)
		ck_assert_ptr_null(svc);
	else
		ck_ok(al_dereg_mad_svc(svc, AL_DESTROY_SYNC, NULL));
	return status;
}

START_TEST(a_registration_that_makes_no_sense_is_refused)
{
	struct al_mad_svc_init init = svc_init(VENDOR), bad;
	al_mad_svc_h svc;

	ck_status(al_reg_mad_svc(ca, NULL, NULL, side_event, &svc), AL_INVALID_PARAMETER);
	ck_status(al_reg_mad_svc(ca, &init, NULL, side_event, NULL), AL_INVALID_PARAMETER);
	ck_status(try_register(init, NULL), AL_INVALID_PARAMETER);
#define BAD(member, value, status)                                \
	do {                                                      \
		bad = init;                                       \
		bad.member = value;                               \
		ck_status(try_register(bad, side_event), status); \
	} while (0)
	BAD(port_num, 0, AL_INVALID_PORT);
	BAD(port_num, 3, AL_INVALID_PORT);
	BAD(mgmt_class, 0, AL_INVALID_PARAMETER);
	BAD(mgmt_class, 0x50, AL_INVALID_PARAMETER);
	BAD(mgmt_class, 0x80, AL_INVALID_PARAMETER);
	BAD(mgmt_class, 0x82, AL_INVALID_PARAMETER);
	BAD(class_version, 0, AL_INVALID_PARAMETER);
	BAD(oui[2], 1, AL_INVALID_PARAMETER);
	BAD(pad, 1, AL_INVALID_PARAMETER);
	BAD(reserved[3], 1, AL_INVALID_PARAMETER);
	BAD(rmpp, true, AL_INVALID_PARAMETER);
	for (unsigned int c = 1; c <= 0x4f; c++)
		BAD(mgmt_class, (uint8_t)c, AL_SUCCESS);
	BAD(mgmt_class, IB_CLASS_SUBN_DIR, AL_SUCCESS);
	init.mgmt_class = VENDOR_2;
	BAD(oui[2], 1, AL_SUCCESS);
}
END_TEST

START_TEST(two_services_do_not_want_the_same_datagrams)
{
	struct al_mad_svc_init init = svc_init(VENDOR_2);

	init.oui[0] = 5;
	side_register(&side, &init);
	ck_status(try_register(init, side_event), AL_DUPLICATE);
	init.methods[0] = UINT64_C(1) << IB_METHOD_TRAP;
	ck_status(try_register(init, side_event), AL_DUPLICATE);
	init.methods[0] = UINT64_C(1) << 63;
	ck_status(try_register(init, side_event), AL_SUCCESS);
	init = svc_init(VENDOR_2);
	init.oui[0] = 5;
	init.oui[2] = 1;
	ck_status(try_register(init, side_event), AL_SUCCESS);
	init.oui[2] = 0;
	init.class_version = 2;
	ck_status(try_register(init, side_event), AL_SUCCESS);
	init.class_version = 1;
	init.port_num = 2;
	ck_status(try_register(init, side_event), AL_SUCCESS);
	init.port_num = 1;
	init.methods[0] = 0;
	ck_status(try_register(init, side_event), AL_SUCCESS);
	/* the place is free again after the service's end */
	ck_ok(al_dereg_mad_svc(side.svc, AL_DESTROY_SYNC, NULL));
	init.methods[0] = 1;
	ck_status(try_register(init, side_event), AL_SUCCESS);
	if (test_in_user_role())
		return;
	/* on an HCA of this process the place is free when the call returns */
	side_register(&side, &init);
	ck_ok(al_dereg_mad_svc(side.svc, NULL, NULL));
	ck_status(try_register(init, side_event), AL_SUCCESS);
}
END_TEST

/* The library refuses, and does not ask the module, which would agree. */
START_TEST(a_channel_driver_does_not_get_the_librarys_queue_pairs)
{
	static const ib_qp_type types[] = { IB_QPT_SMI, IB_QPT_GSI };
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct al_qp_init qp = { .cap = { 1, 1, 1, 1, 0 } };
	struct al_cq_init cq = { .cqe = 4 };
	al_qp_h made;
	al_pd_h pd;

	ck_ok(al_alloc_pd(ca, NULL, &pd));
	ck_ok(al_create_cq(pd, &cq, NULL, NULL, NULL, &qp.send_cq));
	qp.recv_cq = qp.send_cq;
	side_register(&side, &init);
	for (int i = 0; i < 2; i++) {
		qp.qp_type = types[i];
		qp.port_num = 1;
		ck_status(al_create_qp(pd, &qp, NULL, NULL, &made), AL_RESOURCE_BUSY);
		qp.port_num = 2; /* a port that the library does not serve */
		ck_ok(al_create_qp(pd, &qp, NULL, NULL, &made));
		ck_ok(al_destroy_qp(made, AL_DESTROY_SYNC, NULL));
	}
}
END_TEST

/* When a step of a port's first service fails, nothing is left of the service, and the next attempt succeeds. */
START_TEST(a_service_that_can_not_begin_leaves_nothing)
{
	static const enum fake_op ops[] = { FAKE_allocate_pd, FAKE_create_cq,     FAKE_register_mr,
					    FAKE_arm_cq,      FAKE_create_spl_qp, FAKE_create_qp,
					    FAKE_modify_qp };
	struct al_mad_svc_init init = svc_init(VENDOR);
	unsigned int qps, pds;

	al_set_log(test_ignore_log, NULL);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		fake->fail[ops[i]] = AL_IO_ERROR;
		ck_status(try_register(init, side_event), AL_IO_ERROR);
		fake->fail[ops[i]] = AL_SUCCESS;
	}
	side_register(&side, &init);
	expect_marker(&side, &init, IB_METHOD_GET);
	/* the destroys of failed attempts are asynchronous; one create of each kind has failed */
	for (struct timespec limit = test_deadline();;) {
		qps = fake->calls[FAKE_create_qp] - fake->calls[FAKE_destroy_qp] - 1;
		pds = fake->calls[FAKE_allocate_pd] - fake->calls[FAKE_deallocate_pd] - 1;
		if (qps == 2 && pds == 1)
			break;
		ck_assert_msg(!test_expired(&limit), "%u queue pairs and %u domains are left", qps,
			      pds);
	}
}
END_TEST

START_TEST(without_any_of_its_allocations_a_call_fails_and_leaves_nothing)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 1, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, 0, 1);
	al_mad_svc_h svc;
	al_status status;
	uint64_t left, nth = 0;

	al_set_log(test_ignore_log, NULL);
	do {
		al_fail_alloc(++nth);
		status = al_reg_mad_svc(ca, &init, &side, side_event, &svc);
		left = al_fail_alloc(0);
		ck_assert(left || status == AL_INSUFFICIENT_MEMORY);
	} while (!left);
	ck_ok(status);
	ck_assert_uint_gt(nth,
			  test_in_user_role() ? 1 : 8); /* the agent's allocations do not fail */
	nth = 0;
	do {
		al_fail_alloc(++nth);
		status = al_send_mad(svc, &send);
		left = al_fail_alloc(0);
		ck_assert(left || status == AL_INSUFFICIENT_MEMORY);
	} while (!left);
	ck_ok(status);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	ck_assert_uint_eq(side.num, 1);
}
END_TEST

/* ------------------------------------------------------- unsolicited datagrams */

#define OUI_AT (offsetof(struct ib_vendor_mad, oui) - sizeof(struct ib_mad_hdr))

/* A vendor's OUI with one byte that is not zero. */
static void set_oui(struct ib_mad *mad, unsigned int index, uint8_t value)
{
	memset(mad->data + OUI_AT, 0, 3);
	mad->data[OUI_AT + index] = value;
}

START_TEST(an_unsolicited_datagram_goes_to_the_service_that_wants_it)
{
	struct al_mad_svc_init init = svc_init(VENDOR_2), rest = svc_init(VENDOR_2);
	struct ib_mad mad;
	struct packet p;
	unsigned int got;

	/* every method that is no response, except 5: method 5 is the other service's */
	init.methods[0] = ~(UINT64_C(1) << 5);
	init.methods[1] = UINT64_MAX;
	init.oui[1] = 7;
	rest.methods[0] = UINT64_C(1) << 5;
	rest.oui[1] = 7;
	side_register(&side, &init);
	side_register(&other, &rest);
	for (unsigned int method = 0; method < 256; method++) {
		mad = mad_of(VENDOR_2, (uint8_t)method, method, 0);
		set_oui(&mad, 1, 7);
		p = packet_of(&mad);
		put_in(&p);
		if (method >= 0x80 || method == IB_METHOD_TRAP_REPRESS)
			continue; /* responses answer no request */
		if (method == 5) {
			side_next(&other, AL_MAD_RECEIVED, AL_SUCCESS);
			continue;
		}
		got = side_next(&side, AL_MAD_RECEIVED, AL_SUCCESS);
		ck_assert_uint_eq(side.got[got].mad.hdr.method, method);
	}
	ck_assert_uint_eq(side.num, 126);
	ck_assert_uint_eq(other.num, 1);
}
END_TEST

START_TEST(a_datagram_that_no_service_wants_is_dropped)
{
	struct al_mad_svc_init init = svc_init(VENDOR_2), marker = svc_init(VENDOR);
	struct ib_mad good = mad_of(VENDOR_2, IB_METHOD_GET, 1, 0), mad;
	struct packet p;

	init.oui[0] = 1;
	side_register(&side, &init);
	side_register(&other, &marker);
	set_oui(&good, 0, 1);
#define NOT_WANTED(change)           \
	do {                         \
		mad = good;          \
		change;              \
		p = packet_of(&mad); \
		put_in(&p);          \
	} while (0)
	NOT_WANTED(mad.hdr.mgmt_class = VENDOR_2 + 1);
	NOT_WANTED(mad.hdr.class_version = 2);
	NOT_WANTED(mad.hdr.method = IB_METHOD_GET_TABLE);
	NOT_WANTED(mad.data[OUI_AT + 2] = 9);
	expect_marker(&other, &marker, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 0);
	NOT_WANTED((void)0);
	side_next(&side, AL_MAD_RECEIVED, AL_SUCCESS);
}
END_TEST

START_TEST(a_malformed_datagram_is_dropped_at_the_door)
{
	struct al_mad_svc_init init = svc_init(VENDOR), smp = svc_init(IB_CLASS_SUBN_LID);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 1, 0);
	struct ib_mad sm = mad_of(IB_CLASS_SUBN_LID, IB_METHOD_GET, 1, 0);
	struct packet p;

	side_register(&side, &init);
	side_register(&other, &smp);
#define MALFORMED(of, change)       \
	do {                        \
		p = packet_of(&of); \
		change;             \
		put_in(&p);         \
	} while (0)
	MALFORMED(mad, p.byte_len = IB_GRH_BYTES + IB_MAD_BYTES - 1);
	MALFORMED(mad, p.byte_len = IB_GRH_BYTES);
	MALFORMED(mad, p.byte_len = 0);
	MALFORMED(mad, p.byte_len = UINT32_MAX);
	MALFORMED(mad, p.mad.hdr.base_version = 2);
	MALFORMED(mad, p.qpn = 0);
	MALFORMED(sm, p.qpn = 1);
	MALFORMED(sm, p.src_qp = 1);
	MALFORMED(sm, p.mad.hdr.base_version = 0x80);
	expect_marker(&side, &init, IB_METHOD_GET);
	expect_marker(&other, &smp, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 1);
	ck_assert_uint_eq(other.num, 1);
}
END_TEST

START_TEST(the_path_back_is_by_gid_where_the_datagram_has_one)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 1, 0);
	struct packet p = packet_of(&mad);
	const struct al_mad_event *event;

	side_register(&side, &init);
	p.grh = true;
	p.src_qp = 0x123;
	memset(p.sgid, 0xab, sizeof(p.sgid));
	put_in(&p);
	event = &side.got[side_next(&side, AL_MAD_RECEIVED, AL_SUCCESS)].event;
	ck_assert(event->path.is_global);
	ck_assert_uint_eq(event->path.dlid, PEER_LID);
	ck_assert_uint_eq(event->src_qp, 0x123);
	ck_assert_mem_eq(event->path.grh.dgid.raw, p.sgid, 16);
}
END_TEST

/* ------------------------------------------------------------------ answers */

START_TEST(the_library_owns_half_of_the_transaction_identifier)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	const uint64_t tid = 0xaaaaaaaa00000005;
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, tid, 0), first, second;
	struct packet p;
	unsigned int got;

	side_register(&side, &init);
	first = ask(&side, &mad, 1);
	second = ask(&side, &mad, 2);
	ck_assert_uint_eq((uint32_t)ib_be64_get(first.hdr.tid), 5);
	ck_assert_uint_eq((uint32_t)ib_be64_get(second.hdr.tid), 5);
	ck_assert_uint_ne(ib_be64_get(first.hdr.tid) >> 32, ib_be64_get(second.hdr.tid) >> 32);
	/* the responses come in the reverse order */
	second.hdr.method = first.hdr.method = IB_METHOD_GET_RESP;
	p = packet_of(&second);
	put_in(&p);
	got = side_next(&side, AL_MAD_ANSWERED, AL_SUCCESS);
	ck_assert_uint_eq(side.got[got].event.id, 2);
	ck_assert_uint_eq(ib_be64_get(side.got[got].mad.hdr.tid), tid);
	p = packet_of(&first);
	put_in(&p);
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_ANSWERED, AL_SUCCESS)].event.id, 1);
	/* a second response to the same request is unsolicited */
	put_in(&p);
	expect_marker(&side, &init, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 3);
}
END_TEST

START_TEST(a_response_sent_and_a_request_without_answer_keep_their_identifier)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad =
		mad_of(VENDOR, _i ? IB_METHOD_GET_RESP : IB_METHOD_SEND, 0x1234567890abcdef, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, 0, 1);
	struct posted p;

	side_register(&side, &init);
	send.remote_qpn = 0x77;
	send.remote_qkey = 0x8888;
	send.length = 100;
	ck_ok(al_send_mad(side.svc, &send));
	p = next_sent(1);
	ck_assert_mem_eq(&p.mad, &mad, 100);
	for (int i = 100; i < IB_MAD_BYTES; i++)
		ck_assert_uint_eq(((const uint8_t *)&p.mad)[i], 0);
	ck_assert_uint_eq(p.qpn, 0x77);
	ck_assert_uint_eq(p.qkey, 0x8888);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
}
END_TEST

/* A request with a time-out of 0 expects no response, and a response to it is dropped. Repetitions
 * need a time-out. */
START_TEST(a_time_out_of_0_is_no_wait_for_a_response)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 0x1234567890abcdef, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, 0, 1);
	struct packet p;

	side_register(&side, &init);
	ck_ok(al_send_mad(side.svc, &send));
	mad = next_sent(1).mad;
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	mad.hdr.method = IB_METHOD_GET_RESP;
	p = packet_of(&mad);
	put_in(&p);
	expect_marker(&side, &init, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 2);
	ck_status(al_cancel_mad(side.svc, 1), AL_NOT_FOUND);
	send.retries = 1;
	ck_status(al_send_mad(side.svc, &send), AL_INVALID_PARAMETER);
}
END_TEST

START_TEST(what_only_looks_like_the_answer_is_dropped)
{
	struct al_mad_svc_init init = svc_init(VENDOR), near = svc_init(VENDOR + 1);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0), good;
	struct packet p;
	uint64_t tid;

	side_register(&side, &init);
	side_register(&other, &near);
	good = ask(&side, &mad, 1);
	tid = ib_be64_get(good.hdr.tid);
	good.hdr.method = IB_METHOD_GET_RESP;
#define NO_ANSWER(change)             \
	do {                          \
		p = packet_of(&good); \
		change;               \
		put_in(&p);           \
	} while (0)
	NO_ANSWER(p.mad.hdr.tid = ib_be64_of((uint32_t)tid));
	NO_ANSWER(p.mad.hdr.tid = ib_be64_of(tid ^ 1));
	NO_ANSWER(p.mad.hdr.tid = ib_be64_of(tid ^ UINT64_C(1) << 63));
	NO_ANSWER(p.mad.hdr.tid = ib_be64_of(tid + (UINT64_C(256) << 32))); /* an identifier of the same hash bucket */
	NO_ANSWER(p.mad.hdr.mgmt_class = VENDOR + 1);
	NO_ANSWER(p.slid = PEER_LID + 1);
	NO_ANSWER(p.src_qp = 2);
	NO_ANSWER(p.mad.hdr.method = IB_METHOD_TRAP_REPRESS);
	NO_ANSWER(p.port = 1; p.qpn = 0); /* on the wrong queue pair, too */
	expect_marker(&other, &near, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 0);
	NO_ANSWER((void)0);
	side_next(&side, AL_MAD_ANSWERED, AL_SUCCESS);
}
END_TEST

START_TEST(a_request_by_gid_is_answered_from_that_gid)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0), wire_mad;
	struct al_mad_send send = send_of(&mad, PEER_LID, LONG_MS, 1);
	struct packet p;

	side_register(&side, &init);
	send.path.is_global = true;
	memset(send.path.grh.dgid.raw, 0xab, 16);
	ck_ok(al_send_mad(side.svc, &send));
	wire_mad = next_sent(1).mad;
	wire_mad.hdr.method = IB_METHOD_GET_RESP;
	p = packet_of(&wire_mad);
	put_in(&p); /* no GID */
	p.grh = true;
	memset(p.sgid, 0xac, 16);
	put_in(&p); /* another GID */
	expect_marker(&side, &init, IB_METHOD_GET);
	memset(p.sgid, 0xab, 16);
	put_in(&p);
	side_next(&side, AL_MAD_ANSWERED, AL_SUCCESS);
}
END_TEST

START_TEST(a_directed_route_is_answered_from_any_lid)
{
	struct al_mad_svc_init init = svc_init(IB_CLASS_SUBN_DIR);
	struct ib_mad mad = mad_of(IB_CLASS_SUBN_DIR, IB_METHOD_GET, 5, 0), wire_mad;
	struct packet p;

	side_register(&side, &init);
	wire_mad = ask(&side, &mad, 1);
	wire_mad.hdr.method = IB_METHOD_GET_RESP;
	p = packet_of(&wire_mad);
	p.slid = IB_LID_PERMISSIVE;
	put_in(&p);
	side_next(&side, AL_MAD_ANSWERED, AL_SUCCESS);
}
END_TEST

START_TEST(trap_repress_ends_a_trap_and_nothing_else)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad trap = mad_of(VENDOR, IB_METHOD_TRAP, 5, 0);
	struct packet p;

	side_register(&side, &init);
	trap = ask(&side, &trap, 1);
	p = packet_of(&trap);
	p.mad.hdr.method = IB_METHOD_GET_RESP;
	put_in(&p);
	expect_marker(&side, &init, IB_METHOD_GET);
	p.mad.hdr.method = IB_METHOD_TRAP_REPRESS;
	put_in(&p);
	side_next(&side, AL_MAD_ANSWERED, AL_SUCCESS);
	put_in(&p);
	expect_marker(&side, &init, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 3);
}
END_TEST

/* ------------------------------------------------------- arrival and removal */

static al_status local_mad(struct ci_ca *hca, uint8_t port, const struct ib_ah_attr *src,
			   const struct ci_local_mad_in *in, struct ci_local_mad_out *out)
{
	(void)hca;
	(void)port;
	(void)src;
	(void)in;
	(void)out;
	return AL_UNSUPPORTED;
}

START_TEST(a_port_whose_agents_are_in_the_library_is_served_from_the_arrival_on)
{
	fake->hcas = 1;
	fake->port_attr.ci_caps = CI_PORT_SMA_IN_AL;
	fake->ops.local_mad = local_mad;
	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	ck_assert_uint_eq(fake->calls[FAKE_create_spl_qp], 0);
	ck_ok(fake->announce(0));
	ck_assert_uint_eq(fake->calls[FAKE_create_spl_qp], 4);
	/* and the service leaves nothing behind */
	fake->withdraw(0, 0);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_qp], 4);
	ck_assert_uint_eq(fake->calls[FAKE_destroy_cq], 2);
	ck_assert_uint_eq(fake->calls[FAKE_deregister_mr], 2);
	ck_assert_uint_eq(fake->calls[FAKE_deallocate_pd], 2);
	/* the library refuses an HCA with a port that the library can not serve */
	fake->fail[FAKE_create_spl_qp] = AL_IO_ERROR;
	ck_status(fake->announce(0), AL_IO_ERROR);
	fake->fail[FAKE_create_spl_qp] = AL_SUCCESS;
	ck_ok(fake->announce(0));
}
END_TEST

/* ------------------------------------------- the thread that handles completions */

static pthread_t asked_in; /* thread that has asked the module for an attribute */
static sem_t asked;
static struct packet on_the_way; /* comes in when port 1 sends by QP1 */

static al_status note_thread(struct ci_ca *hca, uint8_t port, const struct ib_ah_attr *src,
			     const struct ci_local_mad_in *in, struct ci_local_mad_out *out)
{
	asked_in = pthread_self();
	sem_post(&asked);
	return local_mad(hca, port, src, in, out);
}

static al_status post_and_receive(struct ci_qp *qp, const struct ib_send_wr *wr,
				  const struct ib_send_wr **bad)
{
	const bool by_qp1 = qp->qp_type == IB_QPT_GSI;
	al_status status = post_send(qp, wr, bad);

	if (by_qp1)
		put_in(&on_the_way);
	return status;
}

/* Serves port 1 with agents in the library, whose requests come in while a datagram is sent. */
static void serve_agents(uint32_t caps)
{
	struct ib_mad get = mad_of(IB_CLASS_SUBN_LID, IB_METHOD_GET, 1, 0);
	struct al_mad_svc_init init = svc_init(VENDOR);

	get.hdr.attr_id = ib_be16_of(IB_SMP_PORT_INFO);
	get.hdr.attr_mod = ib_be32_of(1);
	on_the_way = packet_of(&get);
	sem_init(&asked, 0, 0);
	fake->hcas = 1;
	fake->port_attr.ci_caps = caps;
	fake->ops.local_mad = note_thread;
	fake->ops.post_send = post_and_receive;
	al_set_log(test_ignore_log, NULL);
	fake->withdraw(0, 0);
	ck_ok(fake->announce(0));
	side_init(&side, test_open_ca(al, FAKE_GUID));
	side_register(&side, &init);
}

/* Sends, and waits until the agents have taken the request. True: they did so in this thread. */
static bool sender_is_asked(uint64_t id)
{
	const struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, id, 1);
	struct al_mad_send send = send_of(&mad, PEER_LID, 0, id);

	ck_ok(al_send_mad(side.svc, &send));
	test_wait(&asked);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	return pthread_equal(asked_in, pthread_self());
}

START_TEST(a_module_that_may_sleep_is_not_asked_by_a_thread_that_sends)
{
	serve_agents(CI_PORT_SMA_IN_AL);
	for (uint64_t id = 1; id < 50; id++)
		ck_assert(!sender_is_asked(id));
}
END_TEST

START_TEST(a_thread_that_sends_does_what_its_datagram_makes)
{
	struct timespec limit = test_deadline();
	uint64_t id = 1;

	serve_agents(CI_PORT_SMA_IN_AL | CI_PORT_MAD_ANY_CONTEXT);
	/* the management thread may be at work still, and then it does this too */
	while (!sender_is_asked(id++))
		ck_assert(!test_expired(&limit));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("match");
	TCase *tc = tcase_create("against a subnet that the test plays");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_registration_that_makes_no_sense_is_refused);
	tcase_add_test(tc, two_services_do_not_want_the_same_datagrams);
	tcase_add_test(tc, a_channel_driver_does_not_get_the_librarys_queue_pairs);
	tcase_add_test(tc, a_service_that_can_not_begin_leaves_nothing);
	tcase_add_test(tc, without_any_of_its_allocations_a_call_fails_and_leaves_nothing);
	tcase_add_test(tc, an_unsolicited_datagram_goes_to_the_service_that_wants_it);
	tcase_add_test(tc, a_datagram_that_no_service_wants_is_dropped);
	tcase_add_test(tc, a_malformed_datagram_is_dropped_at_the_door);
	tcase_add_test(tc, the_path_back_is_by_gid_where_the_datagram_has_one);
	tcase_add_test(tc, the_library_owns_half_of_the_transaction_identifier);
	tcase_add_loop_test(tc, a_response_sent_and_a_request_without_answer_keep_their_identifier,
			    0, 2);
	tcase_add_test(tc, what_only_looks_like_the_answer_is_dropped);
	tcase_add_test(tc, a_time_out_of_0_is_no_wait_for_a_response);
	tcase_add_test(tc, a_request_by_gid_is_answered_from_that_gid);
	tcase_add_test(tc, a_directed_route_is_answered_from_any_lid);
	tcase_add_test(tc, trap_repress_ends_a_trap_and_nothing_else);
	tcase_add_test(tc, a_port_whose_agents_are_in_the_library_is_served_from_the_arrival_on);
	tcase_add_test(tc, a_module_that_may_sleep_is_not_asked_by_a_thread_that_sends);
	tcase_add_test(tc, a_thread_that_sends_does_what_its_datagram_makes);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
