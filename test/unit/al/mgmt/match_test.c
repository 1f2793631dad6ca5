/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MAD services over the module fake.so, whose special queue pairs this test serves: the test is the subnet. The test
 * sees each datagram that is sent, completes the send when it likes, and delivers any datagram. So the rules by which
 * datagrams find their service and their request, the turns at the send queue, and all failures are tested here.
 */
#include "test/unit/al/mgmt/mad_bed.h"

#define OWN_LID  1
#define PEER_LID 0x20

/* ---------------------------------------------------------- the far side */

struct posted {
	uint64_t wr_id;
	struct ib_mad mad;
	uint32_t qpn, qkey;
	uint16_t pkey_index;
};

/* A special queue pair of the fake. */
struct special {
	struct fake_qp *qp;
	uint64_t wr_id[256], addr[256]; /* receives, in a ring */
	unsigned int head, num;
	struct posted sent[2048];
	unsigned int num_sent, num_completed;
	unsigned int seen; /* number of sends that next_sent() has returned */
};

static struct fake *fake;
static struct special specials[3][2]; /* by port and number of the queue pair */
static pthread_mutex_t wire = PTHREAD_MUTEX_INITIALIZER;
static bool hold; /* sends complete only by complete_one() */
static sem_t posted;
static al_status fail_post;
static al_h al;
static al_ca_h ca;
static struct side side, other;
static al_status (*ordinary_create)(struct ci_qp *, struct ci_qp_init *, struct ci_udata *);
static al_status (*ordinary_post_recv)(struct ci_qp *, const struct ib_recv_wr *,
				       const struct ib_recv_wr **);

static struct special *special_of(const struct ci_qp *qp)
{
	for (int port = 1; port <= 2; port++)
		for (int i = 0; i < 2; i++)
			if (specials[port][i].qp == (const struct fake_qp *)qp)
				return &specials[port][i];
	return NULL;
}

static al_status create_special(struct ci_qp *qp, uint8_t port, struct ci_qp_init *init,
				struct ci_udata *udata)
{
	struct special *s = &specials[port][qp->qp_type == IB_QPT_GSI];
	al_status status;

	atomic_fetch_add(&fake->calls[FAKE_create_spl_qp], 1);
	if (fake->fail[FAKE_create_spl_qp])
		return fake->fail[FAKE_create_spl_qp];
	status = ordinary_create(qp, init, udata);
	if (status)
		return status;
	memset(s, 0, sizeof(*s));
	qp->qp_num = qp->qp_type == IB_QPT_GSI;
	s->qp = (struct fake_qp *)qp;
	return AL_SUCCESS;
}

static al_status post_recv(struct ci_qp *qp, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	struct special *s = special_of(qp);
	unsigned int at;

	if (!s)
		return ordinary_post_recv(qp, wr, bad);
	pthread_mutex_lock(&wire);
	at = (s->head + s->num++) % 256;
	s->wr_id[at] = wr->wr_id;
	s->addr[at] = wr->sg_list->addr;
	pthread_mutex_unlock(&wire);
	return AL_SUCCESS;
}

static void complete_send(struct special *s, ib_wc_status status)
{
	const struct ib_wc wc = { .wr_id = s->sent[s->num_completed++].wr_id,
				  .qp_num = s->qp->qp.qp_num,
				  .status = status };

	fake->complete((struct fake_cq *)s->qp->qp.send_cq, &wc);
}

static al_status post_send(struct ci_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct special *s = special_of(qp);
	struct posted *p;

	*bad = wr;
	if (!s || fail_post)
		return fail_post ? fail_post : AL_INVALID_STATE;
	pthread_mutex_lock(&wire);
	p = &s->sent[s->num_sent++];
	p->wr_id = wr->wr_id;
	memcpy(&p->mad, (const void *)(uintptr_t)wr->sg_list->addr, IB_MAD_BYTES);
	p->qpn = wr->wr.ud.remote_qpn;
	p->qkey = wr->wr.ud.remote_qkey;
	p->pkey_index = wr->wr.ud.pkey_index;
	if (!hold)
		complete_send(s, IB_WC_SUCCESS);
	pthread_mutex_unlock(&wire);
	sem_post(&posted);
	return AL_SUCCESS;
}

/* Completes the oldest send that is not completed. */
static void complete_one(unsigned int qpn, ib_wc_status status)
{
	pthread_mutex_lock(&wire);
	ck_assert_uint_lt(specials[1][qpn].num_completed, specials[1][qpn].num_sent);
	complete_send(&specials[1][qpn], status);
	pthread_mutex_unlock(&wire);
}

/* The next datagram that port 1 sends, which has to come. */
static struct posted next_sent(unsigned int qpn)
{
	struct special *s = &specials[1][qpn];
	struct posted p;

	test_wait(&posted);
	pthread_mutex_lock(&wire);
	ck_assert_uint_lt(s->seen, s->num_sent);
	p = s->sent[s->seen++];
	pthread_mutex_unlock(&wire);
	return p;
}

/* A datagram on its way to a port of the fake. */
struct packet {
	uint8_t port;
	unsigned int qpn;
	struct ib_mad mad;
	uint32_t src_qp, byte_len;
	uint16_t slid;
	bool grh;
	uint8_t sgid[16];
};

static struct packet packet_of(const struct ib_mad *mad)
{
	bool qp0 = mad->hdr.mgmt_class == IB_CLASS_SUBN_LID ||
		   mad->hdr.mgmt_class == IB_CLASS_SUBN_DIR;

	return (struct packet){ .port = 1,
				.qpn = !qp0,
				.mad = *mad,
				.src_qp = !qp0,
				.byte_len = IB_GRH_BYTES + IB_MAD_BYTES,
				.slid = PEER_LID };
}

static void put_in(const struct packet *p)
{
	struct special *s = &specials[p->port][p->qpn];
	struct ib_wc wc = { .opcode = IB_WC_RECV,
			    .byte_len = p->byte_len,
			    .src_qp = p->src_qp,
			    .slid = p->slid,
			    .port_num = p->port,
			    .qp_num = p->qpn,
			    .wc_flags = p->grh ? IB_WC_GRH : 0 };
	uint8_t *to;

	/* the library reposts a receive some time after its completion */
	for (struct timespec limit = test_deadline();;) {
		pthread_mutex_lock(&wire);
		if (s->num > 0)
			break;
		pthread_mutex_unlock(&wire);
		ck_assert_msg(!test_expired(&limit), "no receive is posted");
	}
	wc.wr_id = s->wr_id[s->head];
	to = (uint8_t *)(uintptr_t)s->addr[s->head];
	s->head = (s->head + 1) % 256;
	s->num--;
	memset(to, 0, IB_GRH_BYTES);
	if (p->grh) {
		to[0] = 0x60;
		memcpy(to + 8, p->sgid, 16);
		/* to the port's own GID */
		for (int i = 0; i < 8; i++) {
			to[24 + i] = (uint8_t)(fake->port_attr.subnet_prefix >> (56 - 8 * i));
			to[32 + i] = (uint8_t)((FAKE_GUID + p->port) >> (56 - 8 * i));
		}
	}
	memcpy(to + IB_GRH_BYTES, &p->mad, IB_MAD_BYTES);
	fake->complete((struct fake_cq *)s->qp->qp.recv_cq, &wc);
	pthread_mutex_unlock(&wire);
}

/* ---------------------------------------------------------------- fixture */

static void set_up(void)
{
	fake = test_fake();
	ordinary_create = fake->ops.create_qp;
	ordinary_post_recv = fake->ops.post_recv;
	fake->ca_attr.num_ports = 2;
	fake->ops.create_spl_qp = create_special;
	fake->ops.post_recv = post_recv;
	fake->ops.post_send = post_send;
	hold = false;
	fail_post = AL_SUCCESS;
	memset(specials, 0, sizeof(specials));
	sem_init(&posted, 0, 0);
	al = test_open();
	ca = test_open_ca(al, FAKE_GUID);
	side_init(&side, ca);
	side_init(&other, ca);
}

static void tear_down(void)
{
	al_set_log(test_ignore_log, NULL);
	ck_ok(al_close(al, AL_DESTROY_SYNC, NULL));
}

/*
 * Delivers a datagram for the service, and waits for it. Datagrams come in order, so an earlier datagram that the
 * service has not got by then was not delivered.
 */
static void expect_marker(struct side *s, const struct al_mad_svc_init *init, uint8_t method)
{
	struct ib_mad mad = mad_of(init->mgmt_class, method, 0x6d61726b, 1);
	struct packet p;
	unsigned int got;

	mad.hdr.class_version = init->class_version;
	p = packet_of(&mad);
	put_in(&p);
	got = side_next(s, AL_MAD_RECEIVED, AL_SUCCESS);
	ck_assert_uint_eq(ib_be64_get(s->got[got].mad.hdr.tid), 0x6d61726b);
}

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
}
END_TEST

/* The library refuses, whatever the module would answer. */
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
	unsigned int alive;

	al_set_log(test_ignore_log, NULL);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		fake->fail[ops[i]] = AL_IO_ERROR;
		ck_status(try_register(init, side_event), AL_IO_ERROR);
		fake->fail[ops[i]] = AL_SUCCESS;
	}
	side_register(&side, &init);
	expect_marker(&side, &init, IB_METHOD_GET);
	/* the destroys of failed attempts are asynchronous */
	for (struct timespec limit = test_deadline();;) {
		alive = fake->calls[FAKE_create_qp] - fake->calls[FAKE_destroy_qp] -
			1; /* one create_qp has failed */
		if (alive == 2)
			break;
		ck_assert(!test_expired(&limit));
	}
	ck_assert_uint_eq(fake->calls[FAKE_allocate_pd] - fake->calls[FAKE_deallocate_pd], 1 + 1);
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

START_TEST(a_datagram_that_nobody_wants_is_dropped)
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

/* Sends a request that expects a response, and returns the request as it was on the wire. */
static struct ib_mad ask(struct side *s, const struct ib_mad *mad, uint64_t id)
{
	struct al_mad_send send = send_of(mad, PEER_LID, LONG_MS, id);

	ck_ok(al_send_mad(s->svc, &send));
	return next_sent(mad->hdr.mgmt_class != IB_CLASS_SUBN_LID &&
			 mad->hdr.mgmt_class != IB_CLASS_SUBN_DIR)
		.mad;
}

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

/* --------------------------------------------------------------------- sends */

START_TEST(a_send_that_makes_no_sense_is_refused)
{
	struct al_mad_svc_init init = svc_init(VENDOR), smp = svc_init(IB_CLASS_SUBN_LID);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0);
	struct ib_mad response = mad_of(VENDOR, IB_METHOD_GET_RESP, 5, 0);
	struct ib_mad repress = mad_of(VENDOR, IB_METHOD_TRAP_REPRESS, 5, 0);
	struct ib_mad sm = mad_of(IB_CLASS_SUBN_LID, IB_METHOD_GET, 5, 0);
	struct al_mad_send good = send_of(&mad, PEER_LID, 0, 1), bad;

	side_register(&side, &init);
	side_register(&other, &smp);
	ck_status(al_send_mad(side.svc, NULL), AL_INVALID_PARAMETER);
#define REFUSED(member, value, status)                          \
	do {                                                    \
		bad = good;                                     \
		bad.member = value;                             \
		ck_status(al_send_mad(side.svc, &bad), status); \
	} while (0)
	REFUSED(mad, NULL, AL_INVALID_PARAMETER);
	REFUSED(mad, &sm, AL_INVALID_PARAMETER);
	REFUSED(length, 23, AL_INVALID_PARAMETER);
	REFUSED(length, 0, AL_INVALID_PARAMETER);
	REFUSED(length, 257, AL_INVALID_PARAMETER);
	REFUSED(length, UINT32_MAX, AL_INVALID_PARAMETER);
	REFUSED(remote_qpn, 0, AL_INVALID_PARAMETER);
	REFUSED(remote_qpn, 1 << 24, AL_INVALID_PARAMETER);
	REFUSED(retries, 1, AL_INVALID_PARAMETER);
	REFUSED(pad, 1, AL_INVALID_PARAMETER);
	REFUSED(reserved[0], 1, AL_INVALID_PARAMETER);
	REFUSED(path.port_num, 2, AL_INVALID_PORT);
	REFUSED(path.port_num, 0, AL_INVALID_PORT);
	REFUSED(path.sl, 16, AL_INVALID_PARAMETER);
	REFUSED(pkey_index, UINT16_MAX, AL_INVALID_PKEY_INDEX);
	good.timeout_ms = SHORT_MS;
	REFUSED(mad, &response, AL_INVALID_PARAMETER);
	REFUSED(mad, &repress, AL_INVALID_PARAMETER);
	good.timeout_ms = 0;
	good.path.is_global = true;
	REFUSED(path.grh.sgid_index, UINT16_MAX, AL_INVALID_GID_INDEX);
	good = send_of(&sm, PEER_LID, 0, 1);
	good.remote_qpn = 1;
	ck_status(al_send_mad(other.svc, &good), AL_INVALID_PARAMETER);
	fail_post = AL_QUEUE_FULL;
	good.remote_qpn = 0;
	ck_ok(al_send_mad(other.svc, &good));
	side_next(&other, AL_MAD_FAILED, AL_QUEUE_FULL);
	ck_assert_uint_eq(side.num, 0);
}
END_TEST

/* With as many sends posted as QP1 has slots, further sends wait: in order, and services take turns. */
START_TEST(services_take_turns_at_a_full_send_queue)
{
	struct al_mad_svc_init init = svc_init(VENDOR), second = svc_init(VENDOR + 1);
	struct ib_mad mine = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct ib_mad theirs = mad_of(VENDOR + 1, IB_METHOD_SEND, 0, 0);
	struct al_mad_send send;
	unsigned int slots;
	struct posted p;

	hold = true;
	side_register(&side, &init);
	side_register(&other, &second);
	for (uint64_t i = 0; i < 300; i++) {
		mine.hdr.tid = ib_be64_of(i);
		send = send_of(&mine, PEER_LID, 0, i);
		ck_ok(al_send_mad(side.svc, &send));
	}
	for (uint64_t i = 0; i < 20; i++) {
		theirs.hdr.tid = ib_be64_of(i);
		send = send_of(&theirs, PEER_LID, 0, i);
		ck_ok(al_send_mad(other.svc, &send));
	}
	slots = specials[1][1].num_sent;
	ck_assert_uint_lt(slots, 250);
	for (unsigned int i = 0; i < slots; i++)
		ck_assert_uint_eq(ib_be64_get(next_sent(1).mad.hdr.tid), i);
	/* from here on the services alternate, although the second service has come 200 datagrams later */
	for (unsigned int i = 0; i < 40; i++) {
		complete_one(1, IB_WC_SUCCESS);
		p = next_sent(1);
		ck_assert_uint_eq(p.mad.hdr.mgmt_class, i % 2 ? VENDOR + 1 : VENDOR);
		ck_assert_uint_eq(ib_be64_get(p.mad.hdr.tid), i % 2 ? i / 2 : slots + i / 2);
	}
}
END_TEST

START_TEST(the_number_of_sends_is_bounded)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, 0, 1);

	hold = true;
	side_register(&side, &init);
	for (unsigned int i = 0; i < AL_MAD_SENDS_MAX; i++)
		ck_ok(al_send_mad(side.svc, &send));
	ck_status(al_send_mad(side.svc, &send), AL_QUEUE_FULL);
	complete_one(1, IB_WC_SUCCESS);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	for (struct timespec limit = test_deadline(); al_send_mad(side.svc, &send);)
		ck_assert(!test_expired(&limit));
	ck_status(al_send_mad(side.svc, &send), AL_QUEUE_FULL);
}
END_TEST

START_TEST(a_cancelled_send_ends_once)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0), first;
	struct al_mad_send send = send_of(&mad, PEER_LID, LONG_MS, 2);
	struct packet p;

	side_register(&side, &init);
	ck_status(al_cancel_mad(side.svc, 1), AL_NOT_FOUND);
	/* cancel a request that waits for its response */
	first = ask(&side, &mad, 1);
	ck_ok(al_cancel_mad(side.svc, 1));
	ck_status(al_cancel_mad(side.svc, 1), AL_NOT_FOUND);
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_CANCELLED)].event.id, 1);
	first.hdr.method = IB_METHOD_GET_RESP;
	p = packet_of(&first);
	put_in(&p);
	/* cancel a request whose send has not completed; the completion comes afterwards */
	hold = true;
	ck_ok(al_send_mad(side.svc, &send));
	ck_ok(al_cancel_mad(side.svc, 2));
	side_next(&side, AL_MAD_FAILED, AL_CANCELLED);
	complete_one(1, IB_WC_SUCCESS);
	/* cancel a send that is not posted yet */
	send.timeout_ms = 0;
	for (send.id = 10; send.id < 210; send.id++)
		ck_ok(al_send_mad(side.svc, &send));
	ck_ok(al_cancel_mad(side.svc, 209));
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_CANCELLED)].event.id, 209);
	/* cancel one of two sends with the same identifier: the older one */
	ck_ok(al_cancel_mad(side.svc, 10));
	side_next(&side, AL_MAD_FAILED, AL_CANCELLED);
	/* the HCA has not completed the posted sends, so no other send ends */
	expect_marker(&side, &init, IB_METHOD_GET);
	ck_assert_uint_eq(side.num, 5);
}
END_TEST

static void cancel_next(struct side *s, const struct al_mad_event *event)
{
	(void)event;
	if (s->num < 3)
		al_cancel_mad(s->svc, s->num + 1);
}

START_TEST(a_callback_may_cancel_and_send)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 5, 0);

	side.then = cancel_next;
	side_register(&side, &init);
	for (uint64_t id = 1; id <= 3; id++)
		ask(&side, &mad, id);
	ck_ok(al_cancel_mad(side.svc, 1));
	for (uint64_t id = 1; id <= 3; id++)
		ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_CANCELLED)].event.id,
				  id);
}
END_TEST

/* A send in error puts the queue pair into SQE: that send fails, and the sends behind it are posted again. */
START_TEST(a_failed_send_stops_no_other)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct al_mad_send send;

	hold = true;
	side_register(&side, &init);
	for (uint64_t i = 0; i < 3; i++) {
		mad.hdr.tid = ib_be64_of(i);
		send = send_of(&mad, PEER_LID, 0, i);
		ck_ok(al_send_mad(side.svc, &send));
		next_sent(1);
	}
	specials[1][1].qp->attr.qp_state = IB_QPS_SQE;
	complete_one(1, IB_WC_LOC_QP_OP_ERR);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(side.got[side_next(&side, AL_MAD_FAILED, AL_IO_ERROR)].event.id, 0);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	/* both sends are posted again */
	next_sent(1);
	next_sent(1);
	complete_one(1, IB_WC_SUCCESS);
	complete_one(1, IB_WC_SUCCESS);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	side_next(&side, AL_MAD_SENT, AL_SUCCESS);
	ck_assert_int_eq(specials[1][1].qp->attr.qp_state, IB_QPS_RTS);
}
END_TEST

START_TEST(a_queue_pair_in_error_fails_its_sends)
{
	struct al_mad_svc_init init = svc_init(VENDOR);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_GET, 0, 0);
	struct al_mad_send send = send_of(&mad, PEER_LID, LONG_MS, 1);

	hold = true;
	side_register(&side, &init);
	ck_ok(al_send_mad(side.svc, &send));
	send.id = 2;
	ck_ok(al_send_mad(side.svc, &send));
	specials[1][1].qp->attr.qp_state = IB_QPS_ERR;
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	complete_one(1, IB_WC_WR_FLUSH_ERR);
	side_next(&side, AL_MAD_FAILED, AL_CA_ERROR);
	side_next(&side, AL_MAD_FAILED, AL_CA_ERROR);
	ck_status(al_send_mad(side.svc, &send), AL_CA_ERROR);
}
END_TEST

/* -------------------------------------------------- services that do not read */

/* A service whose client does not read its channel. */
static al_mad_svc_h register_unread(const struct al_mad_svc_init *like)
{
	struct al_mad_svc_init init = *like;
	al_mad_svc_h svc;

	ck_ok(al_create_channel(al, NULL, &init.channel));
	ck_ok(al_reg_mad_svc(ca, &init, NULL, NULL, &svc));
	return svc;
}

/* Reads all events of a service. Returns the number of datagrams from the LID. */
static unsigned int read_all(al_mad_svc_h svc, uint16_t lid)
{
	struct al_mad_event event;
	unsigned int num = 0;
	struct ib_mad mad;

	while (!al_mad_next(svc, &mad, sizeof(mad), &event))
		num += event.path.dlid == lid;
	return num;
}

START_TEST(a_flood_takes_room_from_no_other_sender_or_service)
{
	struct al_mad_svc_init init = svc_init(VENDOR), second = svc_init(VENDOR + 1);
	struct ib_mad mad = mad_of(VENDOR, IB_METHOD_SEND, 0, 0);
	struct packet p = packet_of(&mad);
	al_mad_svc_h svc;

	svc = register_unread(&init);
	side_register(&side, &second);
	for (int i = 0; i < 1000; i++)
		put_in(&p);
	p.slid = PEER_LID + 1;
	for (int i = 0; i < 1000; i++)
		put_in(&p);
	p.slid = PEER_LID + 2; /* no event is left */
	put_in(&p);
	expect_marker(&side, &second, IB_METHOD_GET);
	ck_assert_uint_eq(read_all(svc, PEER_LID), AL_MAD_RECEIVES_MAX / 2);
	p.slid = PEER_LID;
	put_in(&p);
	p.slid = PEER_LID + 1;
	for (int i = 0; i < 1000; i++)
		put_in(&p);
	expect_marker(&side, &second, IB_METHOD_GET);
	ck_assert_uint_eq(read_all(svc, PEER_LID + 1), AL_MAD_RECEIVES_MAX / 2);
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
	tcase_add_test(tc, a_datagram_that_nobody_wants_is_dropped);
	tcase_add_test(tc, a_malformed_datagram_is_dropped_at_the_door);
	tcase_add_test(tc, the_path_back_is_by_gid_where_the_datagram_has_one);
	tcase_add_test(tc, the_library_owns_half_of_the_transaction_identifier);
	tcase_add_loop_test(tc, a_response_sent_and_a_request_without_answer_keep_their_identifier,
			    0, 2);
	tcase_add_test(tc, what_only_looks_like_the_answer_is_dropped);
	tcase_add_test(tc, a_request_by_gid_is_answered_from_that_gid);
	tcase_add_test(tc, a_directed_route_is_answered_from_any_lid);
	tcase_add_test(tc, trap_repress_ends_a_trap_and_nothing_else);
	tcase_add_test(tc, a_send_that_makes_no_sense_is_refused);
	tcase_add_test(tc, services_take_turns_at_a_full_send_queue);
	tcase_add_test(tc, the_number_of_sends_is_bounded);
	tcase_add_test(tc, a_cancelled_send_ends_once);
	tcase_add_test(tc, a_callback_may_cancel_and_send);
	tcase_add_test(tc, a_failed_send_stops_no_other);
	tcase_add_test(tc, a_queue_pair_in_error_fails_its_sends);
	tcase_add_test(tc, a_flood_takes_room_from_no_other_sender_or_service);
	tcase_add_test(tc, a_port_whose_agents_are_in_the_library_is_served_from_the_arrival_on);
	suite_add_tcase(suite, tc);
	return test_run(suite);
}
